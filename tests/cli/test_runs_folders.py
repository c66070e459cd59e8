"""Commands that read folders of maps and masks write what Python computes of them."""

import shlex

import cv2
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tests_support import error_line, raises

import salstats as ss
from salstats.cli.app import run
from salstats.errors import ValueRangeError

SHAPE = (24, 36)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The working folder, with `cams` (arrays), `ig maps` (pictures), `jet` (colours) and `masks`."""
    monkeypatch.chdir(tmp_path)
    rows, cols = np.mgrid[: SHAPE[0], : SHAPE[1]]
    for subfolder in ("cams", "ig maps", "jet", "masks"):
        (tmp_path / subfolder).mkdir()
    for number in range(4):
        row, col = 6 + 3 * number, 8 + 5 * number
        squared_distance = (rows - row) ** 2 + (cols - col - number) ** 2
        saliency = np.exp(-squared_distance / 40)
        picture = np.uint8(255 * saliency)
        np.save(f"cams/p{number // 2}_{number}.npy", saliency[::2, ::2])
        Image.fromarray(picture).save(f"ig maps/p{number // 2}_{number}.png")
        cv2.imwrite(f"jet/p{number // 2}_{number}.png", cv2.applyColorMap(picture, cv2.COLORMAP_JET))
        mask = (rows - row) ** 2 + (cols - col) ** 2 < 25
        Image.fromarray(np.uint8(255 * mask)).save(f"masks/p{number // 2}_{number}.PNG")
    pd.DataFrame({"case": ["p0_0", "p1_2"], "x": [8, 0], "y": [6, 0]}).to_csv("points.csv", index=False)
    return tmp_path


BOTH = {"cams": "cams", "ig": "ig maps"}
READINGS = [
    ("--maps cams=cams --maps 'ig=ig maps' --truth masks", {"maps": BOTH, "truth": "masks"}),
    ("--maps cams --truth masks", {"maps": "cams", "truth": "masks"}),
    (
        "--maps cams --maps 'ig maps' --truth masks",
        {"maps": {"cams": "cams", "ig maps": "ig maps"}, "truth": "masks"},
    ),
    (
        r"--masks lime=masks --human masks --points points.csv --truth masks --patient-from '(p\d)_'",
        {
            "masks": {"lime": "masks"},
            "human": "masks",
            "points": "points.csv",
            "truth": "masks",
            "patient_from": r"(p\d)_",
        },
    ),
    (
        "--maps jet --truth masks --images masks --task Edema --colormap jet",
        {"maps": "jet", "truth": "masks", "images": "masks", "task": "Edema", "colormap": "jet"},
    ),
]


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(("options", "reading"), READINGS)
def test_a_command_and_python_score_alike(folders, options, reading):
    assert run(["score", *shlex.split(options), "-o", "scores.csv"]) == 0
    ss.write_frame(ss.score(ss.read_study(**reading)), "expected.csv")
    assert (folders / "scores.csv").read_bytes() == (folders / "expected.csv").read_bytes()


def test_other_commands_read_folders(folders):
    options = ["--maps", "cams", "--truth", "masks"]
    assert run(["features", "--truth", "masks", "-o", "features.csv"]) == 0
    assert run(["tune", *options, "--grid", "0.3,0.5", "-o", "tuned.csv"]) == 0
    assert run(["segment", *options, "--of", "cams", "-o", "masks.json"]) == 0
    assert run(["score", "--masks", "masks.json", "--truth", "masks", "-o", "scores.csv"]) == 0
    assert pd.read_csv("scores.csv")["method"].unique().tolist() == ["masks"]


def test_colormap_of_a_study_still_smooths(folders, capsys):
    (folders / "study" / "maps").mkdir(parents=True)
    (folders / "masks").rename(folders / "study" / "truth")
    (folders / "cams").rename(folders / "study" / "maps" / "cams")
    assert run(["score", "study", "--smooth", "3", "--colormap", "jet", "-o", "scores.csv"]) == 0
    ss.write_frame(ss.score("study", smooth=3, colormap="jet"), "expected.csv")
    assert (folders / "scores.csv").read_bytes() == (folders / "expected.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ("", ["--maps", "--truth"]),
        (".", ["--maps METHOD=MAPS", "--truth MASKS", "--format"]),
        ("cams --truth masks", ["--maps METHOD=cams", "--truth MASKS"]),
        ("--maps cams", ["--truth"]),
        ("--truth masks", ["--maps"]),
        ("--maps a=cams --maps 'a=ig maps' --truth masks", ["--maps", "'a'"]),
        ("--maps a/cams --maps cams --truth masks", ["--maps", "'cams'"]),
        ("--maps jet --truth masks", ["--colormap jet"]),
        ("--maps elsewhere --truth masks", ["elsewhere"]),
    ],
)
def test_an_error_is_one_line_that_says_what_would_do(folders, capsys, options, facts):
    assert run(["score", *shlex.split(options), "-o", "scores.csv"]) == 2
    line = error_line(capsys)
    assert [fact for fact in facts if fact not in line] == []
    assert not (folders / "scores.csv").exists()


@pytest.mark.parametrize(
    ("name", "fact"), [("pointing_game", "'hit'"), ("EBPG", "'energy'"), ("ssim", "two pictures")]
)
def test_a_name_of_the_literature_leads_to_ours_or_to_the_reason(folders, capsys, name, fact):
    with raises(ValueRangeError, option="metrics", value=name.lower()) as caught:
        ss.score(ss.read_study(maps="cams", truth="masks"), metrics=name)
    assert fact in str(caught.value.hint)
    assert run(["score", "--maps", "cams", "--truth", "masks", "--metrics", name]) == 2
    assert str(caught.value.hint) in error_line(capsys)

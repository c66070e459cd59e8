"""The commands that read a study, on a map folder."""

import json

import pandas as pd
import pytest
from map_folders import change, truth, write_codes, write_map_folder
from tests_support import error_line

import salstats as ss
from salstats.cli.app import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a map folder in `study`."""
    monkeypatch.chdir(tmp_path)
    write_map_folder(tmp_path / "study", human=True, patient=True)
    return tmp_path


def test_score_writes_the_frame_of_its_function(capsys, folder):
    assert run(["score", "study", "-o", "scores.csv", "--metrics", "iou,hit,energy"]) == 0
    ss.write_frame(ss.score(ss.read_study("study"), metrics=["iou", "hit", "energy"]), "expected.csv")
    assert (folder / "scores.csv").read_bytes() == (folder / "expected.csv").read_bytes()
    err = capsys.readouterr().err
    assert "energy, gradcam: 5 of 6 images x tasks defined, 1 finding absent" in err
    assert "energy, human: 0 of 6 images x tasks defined, 5 no map, 1 finding absent" in err


@pytest.mark.parametrize(
    "arguments",
    [
        "score study -o study/maps.csv",
        "score study --jobs 2 -o study/../study/maps.csv",
        "tune study --grid 0.2 -o study/maps.csv",
        "features study -o link.csv",
        "features study -o same.csv",
        "segment study --of ig -o study/truth.json",
        "segment study --of ig -o study/human.json",
        "segment study --of ig -o link.json",
        "segment study --of ig -o same.json",
        "score study --truth link.json --threshold t.csv -o t.csv",
        "score study --resume kept -o kept/{kept}",
    ],
)
def test_a_file_of_the_study_is_no_output_under_any_name(capsys, folder, arguments):
    (folder / "t.csv").write_text("task,threshold\nEdema,0.2\nMass,0.2\n")
    for name in ("maps.csv", "truth.json"):
        suffix = name[-4:].lstrip(".")
        (folder / f"link.{suffix}").symlink_to(folder / "study" / name)
        (folder / f"same.{suffix}").hardlink_to(folder / "study" / name)
    if "{kept}" in arguments:
        assert run(["score", "study", "--resume", "kept", "-o", "out.csv"]) == 0
        arguments = arguments.format(kept=min(p.name for p in (folder / "kept").iterdir()))
        capsys.readouterr()
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert run([*arguments.split(), "--overwrite"]) == 2
    assert "this command reads it; choose another file" in error_line(capsys)
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_an_earlier_output_in_the_study_is_replaced(folder):
    for _ in range(2):
        assert run(["features", "study", "-o", "study/features.csv", "--overwrite"]) == 0


def test_features_tune_and_segment(folder):
    assert run(["features", "study", "-o", "features.csv"]) == 0
    found = pd.read_csv("features.csv").set_index(["case", "task"])["area_px"]
    assert found["a", "Mass"] == truth("a", "Mass").sum()
    assert run(["tune", "study", "--grid", "0.2,0.5", "-o", "thresholds.csv"]) == 0
    assert set(pd.read_csv("thresholds.csv")["method"]) == {"gradcam", "ig"}
    assert run(["score", "study", "--threshold", "thresholds.csv", "-o", "scores.csv"]) == 0
    assert run(["segment", "study", "--of", "ig", "-o", "masks.json"]) == 0
    assert set(json.loads((folder / "masks.json").read_text())) == {"a", "b/1", "c"}


def test_options_for_reading(folder):
    (folder / "study" / "human.json").unlink()
    write_codes(folder / "people.json", {("a", "Mass"): truth("a", "Mass")})
    (folder / "study" / "truth.json").rename(folder / "truth.json")
    options = ["--truth", "truth.json", "--human", "people.json", "--tasks", "Mass", "--format", "maps"]
    assert run(["score", "study", *options, "-o", "scores.csv", "--metrics", "iou"]) == 0
    scores = pd.read_csv("scores.csv")
    assert set(scores["task"]) == {"Mass"}
    assert scores.query("method == 'human' and case == 'a'")["score"].to_list() == [1]


def test_an_option_of_another_format_is_one_line(capsys, folder):
    assert run(["score", "study", "--method", "cam", "-o", "scores.csv"]) == 2
    assert "format 'maps' has no option 'method'" in error_line(capsys)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"path": "../study/x.npy"}, "row 2: path '../study/x.npy' leaves the folder"),
        ({"prob": "2"}, "row 2, column 'prob': '2' is not allowed"),
        ({"path": "gone.npy"}, "row 2: path 'gone.npy': no such file in the folder"),
    ],
)
def test_a_damaged_folder_is_one_line_and_writes_nothing(capsys, folder, cells, said):
    change(folder / "study", 2, **cells)
    assert run(["score", "study", "-o", "scores.csv"]) == 2
    assert said in error_line(capsys)
    assert not (folder / "scores.csv").exists()

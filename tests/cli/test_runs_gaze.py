"""The command that scores maps against gaze."""

import shlex

import numpy as np
import pandas as pd
import pytest
from gaze_files import (
    SHAPES,
    fixation_rows,
    metadata_rows,
    recording_id,
    write_fixations,
    write_metadata,
)
from tests_support import error_line

from salstats.cli.app import run
from salstats.files.frame_files import write_frame
from salstats.readers.gaze import read_gaze
from salstats.scoring.gaze import score_gaze
from salstats.scoring.recordings import recordings


@pytest.fixture
def folder(gaze_folder):
    """The working folder, with recordings in `gaze` and maps of them in `maps`."""
    return gaze_folder


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_it_writes_the_frame_of_its_function(folder, suffix):
    arguments = (
        "gaze gaze --maps cam:vgg=maps --metrics auc,nss --metric sauc --truth all --readers 3 "
        f"--min-readers 2 --center-bias others --samples 40 --seed 5 --floor 0.1 -o out.{suffix}"
    )
    assert run(shlex.split(arguments)) == 0
    scores = score_gaze(
        read_gaze("gaze", maps={"cam:vgg": "maps"}), metrics=("auc", "nss", "sauc"), truth="all",
        n_readers=3, center_bias="others", n_samples=40, rng=5, floor=0.1,
    )  # fmt: skip
    write_frame(scores, f"expected.{suffix}")
    assert (folder / f"out.{suffix}").read_bytes() == (folder / f"expected.{suffix}").read_bytes()


def test_every_option_for_reading_reaches_the_reader(folder):
    for name in ("masks", "lungs", "classes"):
        (folder / name).mkdir()
    for image, shape in SHAPES.items():
        mask = np.zeros(shape, bool)
        mask[5:20, 4:18] = mask[6, 22] = True
        np.save(folder / "masks" / f"{image}.npy", mask)
        np.save(folder / "lungs" / f"{image}.npy", mask)
        maps = np.random.default_rng(3).random((2, 7, 7))
        np.savez(folder / "classes" / f"{image}.npz", maps=maps, probs=[0.2, 0.6])
    arguments = (
        "gaze gaze --masks lime=masks --class-maps cam=classes --mixing weighted,uniform --lungs lungs "
        "--no-clean-lungs --padded --phases 1 --metric ncc -o out.csv"
    )
    assert run(shlex.split(arguments)) == 0
    study = read_gaze(
        "gaze", masks={"lime": "masks"}, class_maps={"cam": "classes"}, mixing=("weighted", "uniform"),
        lungs="lungs", clean_lungs=False, padded=True, phases=1,
    )  # fmt: skip
    write_frame(score_gaze(study, metrics="ncc"), "expected.csv")
    assert (folder / "out.csv").read_bytes() == (folder / "expected.csv").read_bytes()
    assert set(pd.read_csv("out.csv")["method"]) == {
        "lime", "cam_weighted", "cam_uniform", "convex", "interobserver",
    }  # fmt: skip


def test_recordings_are_written_beside_the_scores(folder):
    assert run(shlex.split("gaze gaze --metric ncc -o out.csv --recordings looks.csv")) == 0
    write_frame(recordings(read_gaze("gaze")), "expected.csv")
    assert (folder / "looks.csv").read_bytes() == (folder / "expected.csv").read_bytes()


def test_it_says_what_is_left_out_and_why_scores_are_missing(capsys, folder):
    write_metadata(folder / "gaze", metadata_rows(discarded=[recording_id("img-b", 1)]))
    rows = fixation_rows("img-a", 0)
    rows[0][2], rows[1][1], rows[3][1] = -2, rows[1][0], rows[5][1]
    write_fixations(folder / "gaze" / recording_id("img-a", 0), rows)
    np.save(folder / "maps" / "img-a.npy", np.ones((4, 4)))
    (folder / "maps" / "img-c.npy").unlink()
    assert run(shlex.split("gaze gaze --maps cam=maps --metric ncc -o out.csv")) == 0
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert "8 of 9 recordings used, with 48 fixations: 1 outside their image" in lines[0]
    assert lines[0].endswith("1 of no duration, 2 that begin before another has ended")
    assert "ncc, cam: 2 of 8 images x readers defined, 3 constant map, 3 no map" in lines
    assert "ncc, interobserver: 8 of 8 images x readers defined" in lines
    said = "salstats: warning: gaze: 1 of 9 recordings is left out (1 discarded by its file)"
    assert said in lines


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("nowhere", "nowhere: no such folder"),
        ("maps", "maps holds no metadata_phase_*.csv"),
        ("gaze --metric ncd", "metric 'ncd' is unknown; did you mean 'ncc'?"),
        ("gaze --metric iou", "metric 'iou' is not computed from a map and gaze"),
        ("gaze --maps cam=", "--maps 'cam=' should read like"),
        ("gaze --maps cam=none", "none: no such folder"),
        ("gaze --phases one", "--phases takes whole numbers; got 'one'"),
        ("gaze --phases 4", "gaze holds no metadata_phase_4.csv"),
        ("gaze --recordings maps/../out.csv", "--output and --recordings both name"),
        ("gaze --phases -1", "--phases must be a whole number of at least 0, not -1"),
        ("gaze --recordings looks.txt", "its name must end in .csv"),
    ],
)
def test_bad_options_are_one_line_and_no_file(capsys, folder, options, said):
    before = sorted(folder.rglob("*"))
    assert run(["gaze", *shlex.split(options), "-o", "out.csv"]) == 2
    assert said in error_line(capsys)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda file: file.unlink(), "P0R0/fixations.csv: no such file"),
        (lambda file: file.write_text(file.read_text().replace("5.0", "wide", 1)), "'wide'"),
        (lambda file: file.write_bytes(b"\x00\x01"), "fixations.csv"),
    ],
)
def test_damaged_recordings_are_one_line_and_no_file(capsys, folder, damage, said):
    damage(folder / "gaze" / recording_id("img-a", 0) / "fixations.csv")
    assert run(shlex.split("gaze gaze -o out.csv")) == 2
    assert said in error_line(capsys)
    assert not (folder / "out.csv").exists()


def test_recordings_that_exist_are_kept_unless_asked(capsys, folder):
    (folder / "looks.csv").write_text("mine")
    assert run(shlex.split("gaze gaze --metric ncc -o out.csv --recordings looks.csv")) == 2
    assert "--overwrite" in error_line(capsys)
    assert (folder / "looks.csv").read_text() == "mine"
    assert run(shlex.split("gaze gaze --metric ncc -o out.csv --recordings looks.csv --overwrite")) == 0


@pytest.mark.parametrize("option", ["-o", "--recordings"])
@pytest.mark.parametrize(
    "name", ["metadata_phase_1.csv", "P0R0/fixations.csv", "P0R0/chest_bounding_box.csv"]
)
def test_no_recording_is_written_over(capsys, folder, option, name):
    file = folder / "gaze" / name
    before = file.read_bytes()
    assert run(["gaze", "gaze", "--metric", "ncc", option, str(file), "--overwrite"]) == 2
    assert "this command reads it; choose another file" in error_line(capsys)
    assert file.read_bytes() == before
    assert run(["gaze", "gaze", "--metric", "ncc", "-o", str(folder / "gaze" / "out.csv")]) == 0


@pytest.mark.parametrize("command", ["score", "features", "tune"])
def test_other_commands_say_which_one_reads_gaze(capsys, folder, command):
    assert run([command, "gaze", "-o", "out.csv"]) == 2
    assert "recordings of gaze" in (said := error_line(capsys))
    assert "salstats gaze" in said

"""The commands that read a study of maps and annotations."""

import os
import pickle
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from study_files import CASES, write_map, write_study

import salstats as ss
from salstats.checks import InputFileError
from salstats.cli import run

COMMANDS = ("score", "features", "tune")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a study in `study`."""
    monkeypatch.chdir(tmp_path)
    write_study(tmp_path / "study")
    return tmp_path


def error_line(capsys):
    """The one line on stderr; nothing is on stdout."""
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"salstats: error: [^\n]+\n", err), err
    return err


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_of_the_help_runs_as_it_stands(capsys, monkeypatch, folder, command):
    monkeypatch.setenv("COLUMNS", "200")
    run([command, "--help"])
    example = re.search(r"Example: salstats (.*)", capsys.readouterr().out).group(1)
    assert run(shlex.split(example)) == 0
    assert len(list(folder.glob("*.csv"))) == 1


CALLS = {
    "score": (
        [
            "--metrics",
            "iou,dice,hit",
            "--threshold",
            "0.4",
            "--slice",
            "full",
            "--cutoff",
            "0.3",
            "--method",
            "cam",
        ],
        lambda s: ss.score(s, metrics=["iou", "dice", "hit"], threshold=0.4, slice="full", cutoff=0.3),
    ),
    "features": (["--method", "cam"], ss.features),
    "tune": (
        [
            "--what",
            "cutoff",
            "--grid",
            "0.1,0.4",
            "--metric",
            "dice",
            "--threshold",
            "0.5",
            "--method",
            "cam",
        ],
        lambda s: ss.tune(s, what="cutoff", grid=(0.1, 0.4), metric="dice", threshold=0.5),
    ),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_writes_the_frame_of_its_function(folder, command, suffix):
    options, function = CALLS[command]
    assert run([command, "study", *options, "-o", f"out.{suffix}"]) == 0
    ss.write_frame(function(ss.read_study("study", method="cam")), f"expected.{suffix}")
    assert (folder / f"out.{suffix}").read_bytes() == (folder / f"expected.{suffix}").read_bytes()


def test_score_says_how_many_are_defined_and_why_others_are_not(capsys, folder):
    assert run(["score", "study", "-o", "scores.csv"]) == 0
    err = capsys.readouterr().err
    assert "iou: 20 of 24 defined, 4 finding absent" in err
    assert "hit: 20 of 24 defined, 4 finding absent" in err


def test_what_score_writes_the_statistics_read(folder):
    assert run(["score", "study", "-o", "scores.csv"]) == 0
    assert run(["decrease", "scores.csv", "--reference", "human", "--replicates", "20", "-o", "d.csv"]) == 0
    assert pd.read_csv("d.csv")["unit"].unique().tolist() == ["patient"]


def test_what_tune_writes_score_reads(folder):
    for what in ("threshold", "cutoff", "smooth"):
        assert run(["tune", "study", "--what", what, "-o", f"{what}.csv"]) == 0
        assert run(["score", "study", f"--{what}", f"{what}.csv", "-o", f"by_{what}.csv"]) == 0
    chosen = pd.read_csv("threshold.csv").query("chosen").set_index("task")["threshold"].to_dict()
    ss.write_frame(ss.score("study", threshold=chosen), "by_hand.csv")
    assert (folder / "by_hand.csv").read_bytes() == (folder / "by_threshold.csv").read_bytes()


def test_rates_of_the_pixels_that_score_wrote(folder):
    assert run(["score", "study", "--slice", "full", "-o", "scores.csv"]) == 0
    assert run(["rates", "scores.csv", "--by", "method", "-o", "rates.csv"]) == 0
    rates = pd.read_csv("rates.csv").set_index(["metric", "method"])["estimate"]
    pixels = (
        pd.read_csv("scores.csv").query("metric == 'iou'").groupby("method")[["tp", "fp", "fn", "tn"]].sum()
    )
    assert rates["recall", "human"] == pytest.approx(pixels.eval("tp / (tp + fn)")["human"], rel=1e-12)
    assert rates["specificity", "saliency"] == pytest.approx(
        pixels.eval("tn / (tn + fp)")["saliency"], rel=1e-12
    )


def test_maps_of_several_methods_and_networks(folder):
    (folder / "study" / "maps").rename(folder / "other")
    options = ["--maps", "gradcam:densenet=other", "--maps", "gradcam:resnet=other"]
    assert run(["score", "study", *options, "--metrics", "iou", "-o", "scores.csv"]) == 0
    scores = pd.read_csv("scores.csv").fillna({"model": ""})
    assert scores.groupby(["method", "model"]).size().to_dict() == {
        ("gradcam", "densenet"): 12,
        ("gradcam", "resnet"): 12,
        ("human", ""): 12,
    }


class TestBadInput:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_no_study(self, capsys, folder, command):
        assert run([command, "nowhere", "-o", "out.csv"]) == 2
        assert "nowhere" in error_line(capsys)
        assert not (folder / "out.csv").exists()

    @pytest.mark.parametrize("command", COMMANDS)
    def test_an_output_that_exists_is_said_before_any_work(self, capsys, folder, command):
        (folder / "out.csv").write_text("mine")
        assert run([command, "study", "-o", "out.csv"]) == 2
        assert "--overwrite" in error_line(capsys)
        assert (folder / "out.csv").read_text() == "mine"

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--metrics", "iuo"], "metric 'iuo'"),
            (["--threshold", "half"], "threshold must be 'otsu'"),
            (["--threshold", "no.csv"], "no.csv"),
            (["--cutoff", "2"], "cutoff must lie between 0 and 1"),
            (["--slice", "some"], "slice"),
            (["--jobs", "0"], "jobs must be a whole number"),
            (["--maps", "other"], "--maps 'other' should read like"),
        ],
    )
    def test_options(self, capsys, folder, options, said):
        assert run(["score", "study", *options, "-o", "out.csv"]) == 2
        assert said in error_line(capsys)
        assert not (folder / "out.csv").exists()

    @pytest.mark.parametrize("jobs", ["1", "2"])
    def test_a_malicious_map_stops_the_command_and_does_not_run(self, capsys, folder, jobs):
        class Malicious:
            def __reduce__(self):
                return os.system, (f"touch {folder / 'ran'}",)

        path = folder / "study" / "maps" / f"{CASES[3]}_Edema_map.pkl"
        path.write_bytes(pickle.dumps({"map": Malicious()}))
        assert run(["score", "study", "--jobs", jobs, "-o", "out.csv"]) == 2
        said = error_line(capsys)
        assert path.name in said
        assert "system" in said
        assert not (folder / "ran").exists()
        assert not (folder / "out.csv").exists()

    def test_a_truncated_map_stops_the_command(self, capsys, folder):
        path = write_map(folder / "study" / "maps", CASES[0], "Edema")
        path.write_bytes(path.read_bytes()[:-40])
        assert run(["score", "study", "-o", "out.csv"]) == 2
        assert path.name in error_line(capsys)


class TestResuming:
    def test_a_second_run_reads_what_the_first_kept(self, folder):
        first = ss.score("study", resume=folder / "kept")
        files = sorted((folder / "kept").iterdir())
        assert files
        before = {f: f.stat().st_mtime_ns for f in files}
        pd.testing.assert_frame_equal(ss.score("study", resume=folder / "kept"), first)
        assert {f: f.stat().st_mtime_ns for f in sorted((folder / "kept").iterdir())} == before
        pd.testing.assert_frame_equal(ss.score("study"), first)

    def test_a_stopped_run_goes_on(self, folder):
        path = folder / "study" / "maps" / f"{CASES[-1]}_Edema_map.pkl"
        whole, bytes_ = ss.score("study"), path.read_bytes()
        path.write_bytes(b"")
        with pytest.raises(InputFileError, match=path.name):
            ss.score("study", resume=folder / "kept")
        assert list((folder / "kept").iterdir())
        path.write_bytes(bytes_)
        pd.testing.assert_frame_equal(ss.score("study", resume=folder / "kept"), whole)

    def test_a_changed_map_and_another_setting_are_scored_anew(self, folder):
        ss.score("study", resume=folder / "kept")
        n = len(list((folder / "kept").iterdir()))
        pd.testing.assert_frame_equal(
            ss.score("study", threshold=0.4, resume=folder / "kept"), ss.score("study", threshold=0.4)
        )
        assert len(list((folder / "kept").iterdir())) == 2 * n
        write_map(folder / "study" / "maps", CASES[0], "Edema", prob=0.77)
        assert 0.77 in ss.score("study", resume=folder / "kept")["prob"].to_list()

    def test_a_folder_with_other_files_is_left_alone(self, capsys, folder):
        assert run(["score", "study", "--resume", "study", "-o", "out.csv"]) == 2
        assert "name an empty folder" in error_line(capsys)

    def test_predictions_in_memory_cannot_be_kept(self, folder):
        truth = np.eye(4, dtype=bool)
        study = ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): truth * 1.0})
        with pytest.raises(ValueError, match="predictions that are files"):
            ss.score(study, resume=folder / "kept")

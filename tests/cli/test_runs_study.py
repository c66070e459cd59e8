"""The commands that read a study of maps and annotations."""

import json
import os
import pickle
import re
import shlex
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import tiff_files
from study_files import CASES, SHAPE, write_map
from tests_support import error_line, raises

import salstats as ss
from salstats.cli.app import run
from salstats.errors import InputFileError
from salstats.images.thresholds import THRESHOLDS

COMMANDS = ("score", "features", "tune")
#: All that read a study.
READING = (*COMMANDS, "segment")


@pytest.fixture
def folder(study_folder):
    """The working folder, with a study in `study`, and maps and masks in folders."""
    return study_folder


def test_masks_are_written_as_json(capsys, folder):
    assert run(["segment", "study", "-o", "masks.csv"]) == 2
    assert "must end in .json" in error_line(capsys)


CALLS = {
    "score": (
        "--metrics iou,dice,hit --threshold 0.4 --slice full --cutoff 0.3",
        lambda s: ss.score(s, metrics=["iou", "dice", "hit"], threshold=0.4, slice="full", cutoff=0.3),
    ),
    "features": ("", ss.features),
    "tune": (
        "--what cutoff --grid 0.1,0.4 --metric dice --threshold 0.5",
        lambda s: ss.tune(s, what="cutoff", grid=(0.1, 0.4), metric="dice", threshold=0.5),
    ),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_writes_the_frame_of_its_function(folder, command, suffix):
    options, function = CALLS[command]
    assert run([command, "study", *shlex.split(options), "--method", "cam", "-o", f"out.{suffix}"]) == 0
    ss.write_frame(function(ss.read_study("study", method="cam")), f"expected.{suffix}")
    assert (folder / f"out.{suffix}").read_bytes() == (folder / f"expected.{suffix}").read_bytes()


def test_score_says_how_many_are_defined_and_why_others_are_not(capsys, folder):
    assert run(["score", "study", "-o", "scores.csv"]) == 0
    err = capsys.readouterr().err
    assert "iou, saliency: 10 of 12 images x tasks defined, 2 finding absent" in err
    assert "hit, human: 10 of 12 images x tasks defined, 2 finding absent" in err
    assert "not in the truth" not in err


def test_score_says_how_many_images_the_truth_does_not_hold(capsys, folder):
    for name in ("gt_annotations_test.json", "gt_segmentations_test.json"):
        file = folder / "study" / name
        content = json.loads(file.read_text())
        del content[CASES[0]]
        file.write_text(json.dumps(content))
    assert run(["score", "study", "-o", "scores.csv"]) == 0
    assert "1 of 6 images are not in the truth and not scored" in capsys.readouterr().err
    assert run(["score", "study", "--slice", "full", "-o", "full.csv"]) == 0
    assert "not in the truth" not in capsys.readouterr().err
    assert pd.read_csv("full.csv")["case"].nunique() == 6


def test_tune_says_what_it_chose_and_where_the_grid_ends(capsys, folder):
    assert run(["tune", "study", "--grid", "0.2,0.5,0.6", "-o", "t.csv"]) == 0
    err = capsys.readouterr().err
    chosen = pd.read_csv("t.csv").query("chosen").set_index("task")["threshold"]
    for task, value in chosen.items():
        assert f"{task} {value:g}{' (end of the grid)' if value in (0.2, 0.6) else ''}" in err


def test_what_score_writes_the_statistics_read(folder):
    assert run(["score", "study", "-o", "scores.csv"]) == 0
    assert run(["decrease", "scores.csv", "--reference", "human", "--replicates", "20", "-o", "d.csv"]) == 0
    assert pd.read_csv("d.csv")["unit"].unique().tolist() == ["patient"]


@pytest.mark.parametrize("command", [["score"], ["tune", "--what", "cutoff"]])
def test_box_filters_by_method(folder, command):
    files = [folder / "study", "--maps", f"cam={folder / 'study' / 'maps'}"]
    files += ["--maps", f"ig={folder / 'study' / 'maps'}"]
    frames = {}
    for name, size in (("own", "ig=15"), ("all", "15"), ("none", "0")):
        given = [command[0], *map(str, files), *command[1:], "--smooth", size, "-o", f"{name}.csv"]
        assert run(given) == 0
        frame = pd.read_csv(f"{name}.csv")
        frames[name] = (
            frame[frame["metric"] == "iou"].set_index(["task", "method"]).filter(["score", "estimate"])
        )
    for method, whose in (("ig", "all"), ("cam", "none")):
        got, want = (frames[name].xs(method, level="method") for name in ("own", whose))
        pd.testing.assert_frame_equal(got, want)
    assert not frames["all"].equals(frames["none"])


def test_what_tune_writes_score_reads(folder):
    for what in ("threshold", "cutoff", "smooth"):
        assert run(["tune", "study", "--what", what, "-o", f"{what}.csv"]) == 0
        assert run(["score", "study", f"--{what}", f"{what}.csv", "-o", f"by_{what}.csv"]) == 0
    chosen = pd.read_csv("threshold.csv").query("chosen").set_index("task")["threshold"].to_dict()
    ss.write_frame(ss.score("study", threshold=chosen), "by_hand.csv")
    assert (folder / "by_hand.csv").read_bytes() == (folder / "by_threshold.csv").read_bytes()


def test_cases_that_are_named_or_in_a_table_are_read_alone(folder, capsys):
    names = [CASES[0], CASES[3]]
    pd.DataFrame({"case": names, "set": "validation"}).to_csv("validation.csv", index=False)
    ss.write_frame(ss.tune(ss.read_study("study").select(cases=names)), "expected.csv")
    for number, cases in enumerate(["validation.csv", ",".join(names)]):
        assert run(["tune", "study", "--cases", cases, "-o", f"{number}.csv"]) == 0
        assert (folder / f"{number}.csv").read_bytes() == (folder / "expected.csv").read_bytes()
    capsys.readouterr()
    assert run(["score", "study", "--cases", "nobody", "-o", "scores.csv"]) == 2
    assert "nobody" in error_line(capsys)


@pytest.mark.parametrize("word", ["none", "None"])
def test_none_is_said_where_a_parameter_may_be_none(folder, word):
    assert run(["score", "study", "--metric", "iou", "-o", "default.csv"]) == 0
    assert "patient" in pd.read_csv("default.csv")
    options = ["--patient-from", word, "--colormap", word, "--jobs", word]
    assert run(["score", "study", "--metric", "iou", *options, "-o", "scores.csv"]) == 0
    assert "patient" not in pd.read_csv("scores.csv")


class TestBadInput:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_no_study(self, capsys, folder, command):
        assert run([command, "nowhere", "-o", "out.csv"]) == 2
        assert "nowhere" in error_line(capsys)
        assert not (folder / "out.csv").exists()

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--metric", "iuo"], "metric 'iuo' is unknown; did you mean 'iou'?"),
            (["--format", "nifti"], "--format nifti is not known"),
            (["--threshold", "half"], "--threshold must be 'otsu'"),
            (["--threshold", "no.csv"], "no.csv"),
            (["--cutoff", "2"], "cutoff must lie between 0 and 1"),
            (["--slice", "some"], "slice"),
            (["--jobs", "0"], "--jobs must be a whole number"),
            (["--maps", "cam="], "--maps 'cam=' should read like"),
            (["--maps", "other"], "other: no such folder"),
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
        with raises(InputFileError, path=path):
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

    @pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
    def test_other_jobs_and_further_cases_score_nothing_twice(self, folder, jobs):
        study = ss.read_study("study")
        ss.score(study.select(cases=CASES[:4]), resume=folder / "kept")
        before = {f: f.stat().st_mtime_ns for f in (folder / "kept").iterdir()}
        assert len(before) == 4
        pd.testing.assert_frame_equal(ss.score(study, jobs=jobs, resume=folder / "kept"), ss.score(study))
        after = {f: f.stat().st_mtime_ns for f in (folder / "kept").iterdir()}
        assert len(after) == len(CASES)
        assert before.items() <= after.items()

    def test_a_map_replaced_by_one_of_its_size_and_time_is_scored_anew(self, folder):
        path = folder / "study" / "maps" / f"{CASES[0]}_Edema_map.pkl"
        ss.score("study", resume=folder / "kept")
        status = path.stat()
        other = np.random.default_rng(0).random((10, 10)).astype(np.float32)
        write_map(path.parent, CASES[0], "Edema", map=other[None, None])
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert path.stat().st_size == status.st_size
        anew = ss.score("study")
        pd.testing.assert_frame_equal(ss.score("study", resume=folder / "kept"), anew)

    def test_points_of_people_that_change_beside_their_masks_are_scored_anew(self, folder):
        ss.score("study", resume=folder / "kept")
        (folder / "study" / "hb_salient_pts_test.json").write_text(json.dumps({CASES[0]: {}}))
        people = ss.score("study", resume=folder / "kept").query("method == 'human' and metric == 'hit'")
        assert people["score"].dropna().eq(0).all()

    def test_a_stored_mask_that_changes_beside_its_map_is_scored_anew(self, folder):
        truth = json.loads((folder / "study" / "gt_segmentations_test.json").read_text())
        (folder / "masks.json").write_text(json.dumps(truth))
        options = {"maps": {"cam": "study/maps"}, "masks": {"cam": "masks.json"}}
        same = ss.score(ss.read_study("study", **options), metrics="iou", resume=folder / "kept")
        assert same.query("method == 'cam'")["score"].dropna().eq(1).all()
        for tasks in truth.values():
            tasks["Edema"] = {"size": list(SHAPE), "counts": [SHAPE[0] * SHAPE[1] - 1, 1]}
        (folder / "masks.json").write_text(json.dumps(truth))
        other = ss.score(ss.read_study("study", **options), metrics="iou", resume=folder / "kept")
        assert other.query("method == 'cam' and task == 'Edema'")["score"].eq(0).all()

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda file: file.write_bytes(b""), id="empty"),
            pytest.param(lambda file: file.write_bytes(file.read_bytes()[:-9]), id="cut short"),
            pytest.param(lambda file: pd.DataFrame({"case": ["x"]}).to_parquet(file), id="other columns"),
            pytest.param(lambda file: (file.unlink(), file.mkdir()), id="a folder"),
            pytest.param(lambda file: (file.unlink(), file.symlink_to("nowhere")), id="a broken link"),
        ],
    )
    def test_a_kept_case_that_is_damaged_is_named(self, capsys, folder, damage):
        ss.score("study", resume=folder / "kept")
        file = min((folder / "kept").iterdir())
        damage(file)
        assert run(["score", "study", "--resume", "kept", "-o", "out.csv"]) == 2
        said = error_line(capsys)
        assert file.name in said
        assert "delete it" in said

    def test_what_was_kept_of_another_case_is_not_taken(self, folder):
        ss.score("study", resume=folder / "kept")
        files = sorted((folder / "kept").iterdir())
        files[0].write_bytes(files[1].read_bytes())
        with raises(InputFileError, path=files[0]) as caught:
            ss.score("study", resume=folder / "kept")
        # the case that the file should hold
        assert caught.value.value in CASES

    def test_maps_in_memory_are_kept_by_their_content(self, folder):
        truth = np.eye(4, dtype=bool)
        for saliency in (truth * 1.0, 1.0 - truth):
            study = ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): saliency})
            for _ in range(2):
                pd.testing.assert_frame_equal(ss.score(study, resume=folder / "kept"), ss.score(study))
        assert len(list((folder / "kept").iterdir())) == 2


class TestDistances:
    METRICS = "dice,hausdorff,hd95,assd,pdc"

    @pytest.fixture
    def lgg(self, tmp_path, monkeypatch):
        """The working folder, with a study of explanations in `lgg` and a tool's masks in `lime`."""
        monkeypatch.chdir(tmp_path)
        tiff_files.write_study(tmp_path / "lgg")
        tiff_files.write_masks(tmp_path / "lime", shift=3)
        return tmp_path

    def test_score_writes_the_frame_of_its_function(self, lgg):
        options = ["--masks", "lime=lime", "--metrics", self.METRICS, "--undefined", "worst"]
        more = ["--spacing", "0.5x0.25", "--pdc-form", "mean", "--pdc-alpha", "0", "--pdc-beta", "0.5"]
        more += ["--distance-points", "foreground", "--hd95-rule", "pooled"]
        assert run(["score", "lgg", *options, *more, "-o", "out.csv"]) == 0
        made = ss.score(
            ss.read_study("lgg", masks={"lime": "lime"}),
            metrics=self.METRICS.split(","),
            undefined="worst",
            spacing=(0.5, 0.25),
            pdc={"form": "mean", "alpha": 0, "beta": 0.5},
            points="foreground",
            hd95_rule="pooled",
        )
        ss.write_frame(made, "expected.csv")
        assert (lgg / "out.csv").read_bytes() == (lgg / "expected.csv").read_bytes()

    def test_options_of_single_metrics_are_named_with_them(self, lgg, capsys):
        args = ["score", "lgg", "--masks", "lime=lime", "--metrics", "pdc"]
        assert run([*args, "--options", "pdc.form=mean,pdc.alpha=0", "-o", "a.csv"]) == 0
        assert run([*args, "--pdc-form", "mean", "--pdc-alpha", "0", "-o", "b.csv"]) == 0
        assert (lgg / "a.csv").read_bytes() == (lgg / "b.csv").read_bytes()
        capsys.readouterr()
        assert run([*args, "--options", "alpha=0"]) == 2
        assert re.search("--options 'alpha=0' should read like pdc.alpha=0", error_line(capsys))

    @pytest.mark.parametrize("spacing", ["2", "s.csv"])
    def test_spacing_is_a_number_or_a_file(self, lgg, spacing):
        pd.DataFrame({"case": tiff_files.CASES, "row_mm": 2, "col_mm": 2}).to_csv("s.csv", index=False)
        args = ["score", "lgg", "--masks", "lime=lime", "--metrics", "assd", "-o", "out.csv"]
        assert run([*args, "--spacing", spacing]) == 0
        in_mm = pd.read_csv("out.csv")["score"]
        assert run([*args, "--overwrite"]) == 0
        pd.testing.assert_series_equal(in_mm, 2 * pd.read_csv("out.csv")["score"])

    @pytest.mark.parametrize(
        ("option", "content"), [("--spacing", "row_mm,col_mm\n"), ("--predictions", "prob\n")]
    )
    def test_a_file_that_is_read_is_not_written(self, lgg, capsys, option, content):
        (lgg / "own.csv").write_text(f"case,{content}")
        args = f"score lgg --masks lime=lime --metrics assd {option} own.csv -o ./own.csv --overwrite"
        assert run(args.split()) == 2
        assert "cannot write own.csv: this command reads it" in capsys.readouterr().err
        assert (lgg / "own.csv").read_text() == f"case,{content}"

    def test_the_reconstruction_is_said_where_pdc_is_scored(self, capsys, lgg):
        args = ["score", "lgg", "--masks", "lime=lime", "-o", "out.csv", "--overwrite"]
        assert run([*args, "--metrics", "pdc"]) == 0
        err = capsys.readouterr().err
        assert "pdc, lime: 5 of 6 images x tasks defined, 1 finding absent" in err
        assert "is a reconstruction" in err
        assert run(["summarize", "out.csv", "--replicates", "50"]) == 0
        assert "is a reconstruction" in capsys.readouterr().err
        assert run([*args, "--metrics", "assd"]) == 0
        assert "reconstruction" not in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("args", "match"),
        [
            (["--metrics", "assd", "--spacing", "wide"], "--spacing 'wide' should be mm per pixel"),
            (["--metrics", "assd", "--spacing", "0"], "must be positive and finite"),
            (
                ["--metrics", "assd", "--spacing", "0,9"],
                "--spacing .0,9. should be mm per pixel, such as 0.5",
            ),
            (["--metrics", "assd", "--spacing", "gone.csv"], r"gone\.csv: no such file"),
            (["--metrics", "iou", "--spacing", "1"], "--spacing .* hausdorff, hd95, assd"),
            (["--metrics", "assd", "--pdc-alpha", "1"], "options of the metric 'pdc'"),
            (
                ["--metrics", "assd", "--distance-points", "edge"],
                "error: --distance-points edge is not known; choose",
            ),
            (
                ["--metrics", "iou", "--distance-points", "foreground"],
                "--distance-points foreground .* hausdorff",
            ),
            (["--metrics", "hd95", "--hd95-rule", "mean"], "error: --hd95-rule mean is not known"),
            (["--metrics", "assd", "--hd95-rule", "pooled"], "error: --hd95-rule is an option of .* 'hd95'"),
            (["--human", "x.json"], "format 'mrxai2025' has no option"),
        ],
    )
    def test_bad_options_are_one_line_and_nothing_is_written(self, capsys, lgg, args, match):
        assert run(["score", "lgg", "--masks", "lime=lime", *args, "-o", "out.csv"]) == 2
        assert re.search(match, error_line(capsys))
        assert not (lgg / "out.csv").exists()


def test_a_threshold_by_name_is_that_of_the_function_for_all_or_one_method(folder):
    assert run(["score", "study", "--method", "cam", "--threshold", "li", "-o", "all.csv"]) == 0
    assert run(["score", "study", "--method", "cam", "--threshold", "cam=li", "-o", "one.csv"]) == 0
    study = ss.read_study("study", method="cam")
    ss.write_frame(ss.score(study, threshold="li"), "expected.csv")
    assert (folder / "all.csv").read_bytes() == (folder / "expected.csv").read_bytes()
    assert (folder / "one.csv").read_bytes() == (folder / "expected.csv").read_bytes()
    assert set(pd.read_csv("all.csv")["threshold"].dropna()) == {"li"}


def test_help_names_every_threshold(capsys):
    for command in ("score", "segment", "tune"):
        assert run([command, "--help"]) == 0
        words = re.findall(r"\w+", capsys.readouterr().out)
        assert set(THRESHOLDS) <= set(words), command


def test_a_gallery_shows_the_picked_or_the_named_cases(capsys, folder):
    assert run(["score", "study", "--metrics", "iou", "-o", "scores.csv"]) == 0
    scores = ss.read_scores("scores.csv")
    picked = ss.pick_cases(scores, at=["worst", "best"])
    # a method that is not in the study has no column, and picks no row
    other_method = scores.assign(method="other", score=scores["score"].to_numpy()[::-1])
    pd.concat([scores, other_method]).to_csv("scores.csv", index=False)
    gallery = ["gallery", "study", "--scores", "scores.csv"]
    assert run([*gallery, "--at", "worst,best", "--cmap", "viridis", "-o", "picked.svg"]) == 0
    assert run([*gallery, "--cases", CASES[0], "-o", "named.svg"]) == 0
    for name, drawn_cases in (("picked", set(picked["case"])), ("named", {CASES[0]})):
        root = ElementTree.parse(folder / f"{name}.svg").getroot()
        # names of rows stand on several lines
        words = "".join("".join(root.itertext()).split())
        assert {case for case in CASES if case in words} == drawn_cases
    assert (folder / "picked.txt").read_text(encoding="utf-8").startswith("Threshold")


@pytest.mark.parametrize("option", ["--at worst", "--picked-by saliency"])
def test_a_gallery_of_named_cases_picks_none(capsys, folder, option):
    gallery = ["gallery", "study", "--cases", CASES[0], *option.split(), "-o", "gallery.svg"]
    assert run(gallery) == 2
    assert "--cases" in error_line(capsys)


@pytest.mark.parametrize("column", ["task", "method"])
def test_a_gallery_names_the_column_that_its_scores_lack(capsys, folder, column):
    assert run(["score", "study", "--metrics", "iou", "-o", "scores.csv"]) == 0
    ss.read_data("scores.csv").drop(columns=column).to_csv("lacking.csv", index=False)
    capsys.readouterr()
    assert run(["gallery", "study", "--scores", "lacking.csv", "-o", "gallery.svg"]) == 2
    line = error_line(capsys)
    assert "lacking.csv" in line
    assert f"'{column}'" in line


def test_a_gallery_of_folders_draws_the_masks_of_people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mask = np.pad(np.ones((8, 8), bool), 6)
    for subfolder, content in (("cams", mask * 0.5), ("masks", mask), ("people", np.roll(mask, 2, axis=1))):
        (tmp_path / subfolder).mkdir()
        np.save(tmp_path / subfolder / "img1.npy", content)
    gallery = ["gallery", "--maps", "cams", "--truth", "masks", "--cases", "img1"]
    legends = {}
    for name, options in (
        ("maps", []),
        ("people", ["--human", "people", "--methods", "cams", "--with-human"]),
    ):
        assert run([*gallery, *options, "-o", f"{name}.svg"]) == 0
        legends[name] = "".join(ElementTree.parse(f"{name}.svg").getroot().itertext())
    assert "Human benchmark" in legends["people"]
    assert "Human benchmark" not in legends["maps"]


def test_a_gallery_without_cases_or_scores_says_what_chooses_them(capsys, folder):
    assert run(["gallery", "study", "-o", "gallery.png"]) == 2
    line = error_line(capsys)
    assert "--scores" in line
    assert "--cases" in line

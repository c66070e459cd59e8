"""The report as a user meets it: a folder that is complete and true to its frames."""

import hashlib
import json
import re
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from report_text import files, page_text, sentences_of, settings_of

import salstats as ss
from salstats.cli.app import run
from salstats.display.report.analyses import Analyses
from salstats.display.report.composition import composed_report, named_counts, report_labels
from salstats.display.report.methods import reference_by_citation
from salstats.display.report.settings import Settings
from salstats.display.report.wording import LabelSpelling, Wording
from salstats.display.text.labels import Labels
from salstats.errors import ColumnValue, SalstatsError, SalstatsWarning

TABLES = {
    "description", "best", "means", "decrease", "difference", "auroc", "calibration", "correlation",
    "regression",
}  # fmt: skip
FIGURES = {
    "ranking", "flow", "intervals", "scores", "contrasts", "contrasts_by_task", "confidence", "covariates",
    "coefficients", "calibration_curve",
}  # fmt: skip
ANALYSES = {
    "flow", "describe", "means", "best", "decrease", "difference", "auroc", "calibration",
    "calibration_curve", "correlation", "confidence", "covariates", "regression",
}  # fmt: skip


@pytest.fixture(scope="module")
def scores():
    return ss.datasets.load_simulated()


def test_a_report_writes_every_table_figure_and_frame_in_every_format(simulated):
    folder, frames = simulated
    tables = {f"tables/{key}{s}" for key in TABLES for s in (".csv", ".html", ".tex", ".docx")}
    figures = {f"figures/{key}{s}" for key in FIGURES for s in (".pdf", ".png")}
    behind = {f"frames/{key}.csv" for key in TABLES | FIGURES}
    assert files(folder) == tables | figures | behind | {"index.html", "report.json"}
    assert set(frames) == ANALYSES


def test_files_are_of_the_kind_their_names_say(simulated):
    folder, _ = simulated
    assert all(f.read_bytes().startswith(b"%PDF") for f in folder.glob("figures/*.pdf"))
    assert all(f.read_bytes().startswith(b"\x89PNG") for f in folder.glob("figures/*.png"))
    for file in folder.glob("tables/*.docx"):
        with zipfile.ZipFile(file) as archive:
            assert b"<w:tbl>" in archive.read("word/document.xml")
    assert all("\\toprule" in f.read_text() for f in folder.glob("tables/*.tex"))


def test_the_manifest_lists_every_file(simulated):
    folder, _ = simulated
    manifest = json.loads((folder / "report.json").read_text())
    assert set(manifest["files"]) | {"report.json"} == files(folder)
    assert manifest["salstats"] == ss.__version__


@pytest.mark.parametrize("key", ["means", "decrease", "difference", "auroc", "correlation", "regression"])
def test_frames_are_written_in_full_precision(simulated, key):
    folder, frames = simulated
    written = pd.read_csv(folder / "frames" / f"{key}.csv", engine="pyarrow")
    frame = frames[key]
    pd.testing.assert_frame_equal(
        written, frame.astype(written.dtypes.to_dict()), check_exact=True, check_dtype=False
    )


def test_the_frames_are_what_the_public_functions_give(simulated, scores):
    _, frames = simulated
    options = {"reference": "human", "average": "task", "n_replicates": 9_999}
    difference = ss.difference(scores, adjust="holm", **options)
    pd.testing.assert_frame_equal(frames["difference"], difference)
    # a hypothesis is tested once: the decrease has the P values and verdicts of the difference
    decrease = ss.percent_decrease(scores, **options)
    own = [c for c in decrease if c not in ("p_value", "statistic", "df", "verdict")]
    pd.testing.assert_frame_equal(frames["decrease"][own], decrease[own])
    shared = ["metric", "task", "method", "p_value", "p_adjusted", "verdict", "n_tests", "procedure"]
    pd.testing.assert_frame_equal(frames["decrease"][shared], difference[shared])


def test_correlations_rest_on_every_case_with_patients_as_clusters(simulated, scores):
    found = simulated[1]["correlation"].query("x == 'iou' and method == 'gradcam'").set_index("task")
    defined = scores.dropna(subset=["score"]).query("metric == 'iou' and method == 'gradcam'")
    by_task = defined.groupby("task")["patient"]
    assert found["n"].to_dict() == by_task.size().to_dict()
    assert found["n_units"].to_dict() == by_task.nunique().to_dict()


def test_the_page_says_how_the_numbers_came_about(simulated, scores):
    text = page_text(simulated[0])
    for said in ("999", "patient", "Holm", f"salstats {ss.__version__}", "numpy", "CLAIM", "STARD-AI"):
        assert said in text, said
    assert re.search(r"\b[0-9a-f]{64}\b", text)
    absent = scores["score"].isna() & (scores["label"] == 0)
    missing = scores["score"].isna() & ~absent
    # absent findings are no undefined scores
    assert absent.sum() > 1000 > missing.sum() > 0
    counts = f"Cases 194 Patients 140 Tasks 5 Methods 3 Metrics 2 Scores {(~absent).sum():,} "
    assert f"{counts}Undefined scores {missing.sum():,} " in text


def test_the_page_has_no_nan_and_sentences_have_no_raw_names(simulated):
    folder, _ = simulated
    assert not re.search(r"\b(nan|NaN|NaT|inf)\b|<NA>", page_text(folder))
    page = (folder / "index.html").read_text()
    sentences = re.findall(r"<p>([^<]*)</p>|<li>([^<]*)</li>", page)
    assert sentences
    assert not [s for pair in sentences for s in pair if re.search(r"gradcam|area_ratio|n_instances", s)]


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes_and_a_bar_on_a_terminal_only(
    small, tmp_path, capsys, monkeypatch
):
    edema = small[small["task"] == "Edema"]
    for name, terminal in (("one", False), ("two", True)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal, raising=False)
        ss.report(edema, tmp_path / name, n_replicates=199, jobs=1, progress=True)
        said = capsys.readouterr().err
        assert [word in said for word in ("Statistics", "Tables", "Figures", "Page")] == [terminal] * 4
    digests = [
        {f: hashlib.sha256((tmp_path / name / f).read_bytes()).hexdigest() for f in files(tmp_path / name)}
        for name in ("one", "two")
    ]
    assert digests[0] == digests[1]


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_names_that_are_hard_to_show_stay_text(small, tmp_path):
    name = "<b>G&C_1%</b> \\ $x$ * β </script>"
    hard = small.assign(
        method=small["method"].replace("gradcam", name),
        task=small["task"] + " — " + " ".join(["very long name of a finding"] * 4),
        score=np.where(small["task"] == "Edema", np.nan, small["score"]),
    )
    ss.report(hard, tmp_path / "out", n_replicates=199, jobs=1)
    text = page_text(tmp_path / "out")
    assert name in text
    assert "<b>G&C" not in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"\b(nan|NaN|inf)\b", text)
    assert (tmp_path / "out" / "tables" / "means.tex").stat().st_size > 0


def test_warnings_of_the_analyses_are_given_and_on_the_page(small, tmp_path):
    few = small[small["case"].isin(small["case"].unique()[:6])]
    with pytest.warns(ss.errors.SalstatsWarning) as caught:
        ss.report(few.assign(score=few["score"] * 100), tmp_path / "out", n_replicates=199, jobs=1)
    text = page_text(tmp_path / "out")
    wording = Wording(settings_of(few), Labels())
    assert caught
    for record in caught:
        # groups are named as the page names them
        shown = record.message.message.spelled(LabelSpelling(wording))
        assert " ".join(shown.split()) in text
    assert "a percentage? divide by 100" in text
    # once, though every analysis meets these scores
    assert sum("lies outside" in str(w.message) for w in caught) == 1
    # on the first screen and among all warnings
    assert text.count("lies outside") == 2
    assert "metric IoU, method Grad-CAM" in text
    assert "metric iou" not in text


@pytest.mark.slow
def test_what_is_special_about_scores_is_said(small):
    seeds = pd.concat([small.assign(seed=i, score=small["score"] * (1 - 0.02 * i)) for i in (1, 2)])
    assert "scores of several seeds (2 in all)" in sentences_of(seeds)
    assert "scores of several" not in sentences_of(small)
    far = sentences_of(small.assign(metric="hausdorff", distance_unit="mm"))
    assert "Hausdorff distance (mm) (0 or more; smaller is better)" in far
    assert "Penalised Dice is a reconstruction" in sentences_of(small.assign(metric="pdc"))


# the command


@pytest.mark.slow
def test_the_command_writes_the_report_with_every_setting(small, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small.to_csv("scores.csv", index=False)
    arguments = ["report", "scores.csv", "-o", "out", "--replicates", "999", "--label", "gradcam=Grad, new"]
    arguments += [
        "--margin",
        "-0.25:",
        "--test",
        "signflip",
        "--adjust",
        "BH",
        "--style",
        "ama",
        "--seed",
        "7",
        "--level",
        "0.9",
    ]
    assert run([*arguments, "--jobs", "1"]) == 0
    assert "out/index.html" in capsys.readouterr().out
    text = page_text(tmp_path / "out")
    provenance = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))["provenance"]
    assert {"signflip", "Benjamini-Hochberg", "ama", "7", "90%", "999", "patient", "(-0.25, None)"} <= set(
        provenance.values()
    )
    assert all(f"{name} {value}" in text for name, value in provenance.items())
    assert hashlib.sha256((tmp_path / "scores.csv").read_bytes()).hexdigest() in text
    assert "Grad, new" in text
    assert "scores.csv" in text
    assert str(tmp_path) not in (tmp_path / "out" / "index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scores.csv"], "-o"),
        (["scores.csv", "-o", "no/out"], "does not exist"),
        (["scores.csv", "-o", "out", "--reference", "nobody"], "nobody"),
        (["scores.csv", "-o", "out", "--label", "gradcam"], "--label"),
        (["scores.csv", "-o", "out", "--label", "colours:gradcam=bluish"], "'bluish', which is no colour"),
    ],
)
def test_bad_usage_gives_one_line_and_writes_nothing(
    small, tmp_path, capsys, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    small.to_csv("scores.csv", index=False)
    assert run(["report", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_without_a_reference_a_warning_says_what_methods_were_compared_with(small):
    without = small[small["method"] != "human"]
    assert "were compared only with the one that has the best mean" in sentences_of(without)
    one = without[without["method"] == "gradcam"]
    for scores in (one, small):
        assert "No reference was named" not in sentences_of(scores)


# the contents of a page without its sections


def test_counts_are_of_the_columns_that_scores_have_without_absent_findings():
    rows = [("a", "p", 0.5, 1), ("a", "p", None, 1), ("b", "p", None, 0), ("c", "q", 0.25, 1)]
    scores = pd.DataFrame(rows, columns=["case", "patient", "score", "label"])
    scores = scores.assign(method=["cam", "lime", "cam", "cam"], metric="iou")
    numbers = (("Methods", "2"), ("Metrics", "1"), ("Scores", "3"), ("Undefined scores", "1"))
    assert named_counts(scores, Settings(unit="patient")) == (("Cases", "3"), ("Patients", "2"), *numbers)
    assert named_counts(scores, Settings(unit="case")) == (("Cases", "3"), *numbers)
    with_tasks = dict(named_counts(scores.assign(task="Edema"), Settings(unit="patient")))
    assert with_tasks["Tasks"] == "1"


def test_the_reference_is_the_first_label():
    scores = pd.DataFrame({"method": ["cam", "human"], "metric": "iou"})
    labels = report_labels(scores, Settings(reference="human"))
    assert labels.order("method", ["cam", "human"]) == ["human", "cam"]


@pytest.fixture
def contents_of(monkeypatch):
    """A function that returns the contents of a page on two methods, without its sections."""
    monkeypatch.setattr("salstats.display.report.composition.sections_of", lambda contents: ())
    monkeypatch.setattr(
        "salstats.display.report.composition.methods_text", lambda *given: ("See Holm 1979.",)
    )
    scores = pd.DataFrame({"case": "a", "method": ["cam", "lime"], "metric": "iou", "score": 0.5})

    def contents(scores=scores, reference=None, **fields):
        settings = Settings(reference=reference, unit="case", title="Maps")
        return composed_report(scores, Analyses(**fields), Wording(settings, Labels()))

    contents.scores = scores
    return contents


def test_warnings_of_a_page_have_its_labels_and_name_what_is_not_shown(contents_of):
    report = contents_of(
        warnings={"iou": SalstatsWarning("few of ", ColumnValue("metric", "iou"))},
        skipped={"auroc": SalstatsError("one class of ", ColumnValue("method", "cam"))},
        reference="lime",
    )
    assert report.warnings == ("few of metric IoU", "Not shown: auroc. one class of method CAM")
    assert report.title == "Maps"
    assert report.methods == ("See Holm 1979.", reference_by_citation()["Holm 1979"])
    assert report.counts == named_counts(contents_of.scores, Settings(unit="case"))
    assert dict(report.provenance)["Reference"] == "LIME"


def test_methods_that_nothing_is_compared_with_are_said(contents_of):
    [warning] = contents_of().warnings
    assert warning.endswith("methods were not compared.")
    [warning] = contents_of(frames={"best": pd.DataFrame({"method": ["cam"]})}).warnings
    assert warning.endswith("compared only with the one that has the best mean.")
    assert contents_of(scores=contents_of.scores[:1]).warnings == ()

"""The report as a user meets it: a folder that is complete, true to its frames, and nobody else's."""

import hashlib
import json
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.checks import ColumnError, InputFileError, SalstatsError
from salstats.cli.app import run

TABLES = {"description", "means", "decrease", "difference", "auroc", "correlation", "regression"}
FIGURES = {"flow", "intervals", "scores", "decrease_forest", "confidence", "covariates", "coefficients"}
ANALYSES = {
    "flow", "describe", "means", "decrease", "difference", "auroc", "correlation", "confidence",
    "covariates", "regression",
}  # fmt: skip
#: Replicates of reports whose limits nobody reads.
FEW = {"n_replicates": 999}


class Text(HTMLParser):
    """The words of a page, without scripts and styles."""

    def __init__(self):
        super().__init__()
        self.words, self._hidden = [], 0

    def handle_starttag(self, tag, attributes):
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self._hidden:
            self.words.append(data)


def page_text(folder):
    parser = Text()
    parser.feed((folder / "index.html").read_text(encoding="utf-8"))
    return " ".join(" ".join(parser.words).split())


def files(folder):
    return {f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file()}


@pytest.fixture(scope="module")
def scores():
    return ss.datasets.load_simulated()


@pytest.fixture
def small(scores):
    """Two tasks, 70 cases, iou only, no covariates."""
    cases = scores["case"].unique()[:70]
    kept = scores["case"].isin(cases) & scores["task"].isin(["Edema", "Atelectasis"])
    frame = scores[kept & (scores["metric"] == "iou")]
    return frame[["case", "patient", "task", "method", "metric", "score"]].reset_index(drop=True)


def test_a_report_writes_every_table_figure_and_frame_in_every_format(simulated):
    folder, frames = simulated
    tables = {f"tables/{key}{s}" for key in TABLES for s in (".csv", ".html", ".tex", ".docx")}
    figures = {f"figures/{key}{s}" for key in FIGURES for s in (".pdf", ".png")}
    behind = {f"frames/{key}.csv" for key in TABLES | FIGURES}
    assert files(folder) == tables | figures | behind | {"index.html", "report.json"}
    assert set(frames) == ANALYSES


def test_absent_findings_are_no_undefined_scores(simulated, scores):
    absent = scores["score"].isna() & (scores["label"] == 0)
    missing = scores["score"].isna() & ~absent
    assert absent.sum() > 1000 > missing.sum() > 0
    assert f"Scores {(~absent).sum():,} Undefined scores {missing.sum():,} " in page_text(simulated[0])


def test_the_manifest_lists_every_file(simulated):
    folder, _ = simulated
    manifest = json.loads((folder / "report.json").read_text())
    assert set(manifest["files"]) | {"report.json"} == files(folder)
    assert manifest["salstats"] == ss.__version__


@pytest.mark.parametrize("key", ["means", "decrease", "difference", "auroc", "correlation", "regression"])
def test_frames_are_written_in_full_precision(simulated, key):
    folder, frames = simulated
    written = pd.read_csv(folder / "frames" / f"{key}.csv")
    frame = frames[key]
    pd.testing.assert_frame_equal(
        written, frame.astype(written.dtypes.to_dict()), check_exact=True, check_dtype=False
    )


def test_the_frames_are_what_the_public_functions_give(simulated, scores):
    _, frames = simulated
    options = {"reference": "human", "average": "task", "test": "t", "n_replicates": 10_000}
    difference = ss.difference(scores, adjust="holm", **options)
    pd.testing.assert_frame_equal(frames["difference"], difference)
    # a hypothesis is tested once: the decrease has the P values and verdicts of the difference
    decrease = ss.percent_decrease(scores, **options)
    own = [c for c in decrease if c not in ("p_value", "statistic", "df", "verdict")]
    pd.testing.assert_frame_equal(frames["decrease"][own], decrease[own])
    shared = ["metric", "task", "method", "p_value", "p_adjusted", "verdict", "n_tests", "procedure"]
    pd.testing.assert_frame_equal(frames["decrease"][shared], difference[shared])


def test_files_are_of_the_kind_their_names_say(simulated):
    folder, _ = simulated
    assert all(f.read_bytes().startswith(b"%PDF") for f in folder.glob("figures/*.pdf"))
    assert all(f.read_bytes().startswith(b"\x89PNG") for f in folder.glob("figures/*.png"))
    for file in folder.glob("tables/*.docx"):
        with zipfile.ZipFile(file) as archive:
            assert b"<w:tbl>" in archive.read("word/document.xml")
    assert all("\\toprule" in f.read_text() for f in folder.glob("tables/*.tex"))


def test_the_page_needs_nothing_from_the_network(simulated):
    folder, _ = simulated
    page = (folder / "index.html").read_text()
    sources = re.findall(r"""(?:src|srcset|poster|data)=["']([^"']*)""", page)
    assert sources
    assert all(source.startswith("data:") for source in sources)
    assert not re.search(r"""<link\b(?![^>]*href="data:)|@import|url\((?!['"]?data:)""", page)
    linked = {h for h in re.findall(r'href="([^"]*)"', page) if not h.startswith("#")}
    outside = {h for h in linked if "://" in h}
    assert all(h.startswith("https://doi.org/") for h in outside)
    assert linked - outside - {"data:,"} <= files(folder)


def test_the_page_says_how_the_numbers_came_about(simulated, scores):
    folder, _ = simulated
    text = page_text(folder)
    for said in ("10,000", "patient", "Holm", f"salstats {ss.__version__}", "numpy", "CLAIM", "STARD-AI"):
        assert said in text, said
    assert re.search(r"\b[0-9a-f]{64}\b", text)
    assert "194" in text  # cases
    assert "140" in text  # patients
    assert f"{(scores['score'].isna() & (scores['label'] != 0)).sum():,}" in text


def test_every_setting_stands_on_the_page_and_in_the_manifest(small, tmp_path):
    ss.report(small, tmp_path / "out", test="signflip", adjust="BH", style="ama", rng=7, level=0.9, **FEW)
    provenance = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))["provenance"]
    assert {"signflip", "Benjamini-Hochberg", "ama", "7", "90%", "999", "patient"} <= set(provenance.values())
    text = page_text(tmp_path / "out")
    assert all(f"{name} {value}" in text for name, value in provenance.items())


def test_the_page_shows_the_average_decrease_as_the_frame_has_it(simulated):
    folder, frames = simulated
    row = frames["decrease"].query("metric == 'iou' and method == 'gradcam' and task == 'Average'").iloc[0]
    assert f"{row['estimate']:.1f}" in page_text(folder)
    assert f"{row['conf_low']:.1f}, {row['conf_high']:.1f}" in page_text(folder)


def test_the_page_has_no_nan_and_sentences_have_no_raw_names(simulated):
    folder, _ = simulated
    text = page_text(folder)
    assert not re.search(r"\b(nan|NaN|NaT|inf)\b|<NA>", text)
    page = (folder / "index.html").read_text()
    sentences = re.findall(r"<p>([^<]*)</p>|<li>([^<]*)</li>", page)
    assert sentences
    assert not [s for pair in sentences for s in pair if re.search(r"gradcam|area_ratio|n_instances", s)]


@pytest.mark.parametrize("name", ["Average", "Overall"])
def test_a_task_that_is_called_as_the_rows_over_tasks_is_named(small, tmp_path, name):
    with pytest.raises(ColumnError, match=f"column 'task' holds '{name}'"):
        ss.report(small[small["task"] == small["task"].iloc[0]].assign(task=name), tmp_path / "out", **FEW)
    assert list(tmp_path.iterdir()) == []


def test_the_same_input_gives_the_same_bytes(small, tmp_path):
    for name in ("one", "two"):
        ss.report(small, tmp_path / name, **FEW)
    digests = [
        {f: hashlib.sha256((tmp_path / name / f).read_bytes()).hexdigest() for f in files(tmp_path / name)}
        for name in ("one", "two")
    ]
    assert digests[0] == digests[1]


def test_an_earlier_report_is_replaced_only_when_asked_and_other_files_never(small, tmp_path):
    out = tmp_path / "out"
    ss.report(small, out, **FEW)
    with pytest.raises(InputFileError, match="--overwrite"):
        ss.report(small, out, **FEW)
    ss.report(small, out, overwrite=True, title="Second", **FEW)
    assert "Second" in page_text(out)
    (out / "figures" / "thesis.pdf").write_text("mine")
    with pytest.raises(InputFileError, match=r"other files \(figures/thesis.pdf\)"):
        ss.report(small, out, overwrite=True, **FEW)
    assert (out / "figures" / "thesis.pdf").read_text() == "mine"


def test_a_folder_that_no_report_made_is_left_alone(small, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.html").write_text("mine")
    with pytest.raises(InputFileError, match="other files"):
        ss.report(small, tmp_path / "out", overwrite=True, **FEW)
    assert (tmp_path / "out" / "index.html").read_text() == "mine"


def test_a_report_that_fails_leaves_the_earlier_one(small, tmp_path, monkeypatch):
    out = tmp_path / "out"
    ss.report(small, out, **FEW)
    before = files(out)

    def broken(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("salstats.display.report.folder.render_page", broken)
    with pytest.raises(InputFileError, match="No space left"):
        ss.report(small, out, overwrite=True, **FEW)
    assert files(out) == before
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_cannot_be_made_where_its_parent_is_missing(small, tmp_path):
    with pytest.raises(InputFileError, match="does not exist"):
        ss.report(small, tmp_path / "no" / "out", **FEW)


# what a report holds follows from the columns


def test_without_a_reference_there_is_no_comparison(small, tmp_path):
    frames = ss.report(small[small["method"] != "human"], tmp_path / "out", **FEW)
    assert set(frames) == {"flow", "describe", "means"}
    assert not list((tmp_path / "out").glob("*/decrease*"))


def test_human_is_the_reference_unless_another_is_named(small, tmp_path):
    assert set(ss.report(small, tmp_path / "a", **FEW)["decrease"]["reference"]) == {"human"}
    frames = ss.report(small, tmp_path / "b", reference="occlusion", **FEW)
    assert set(frames["decrease"]["reference"]) == {"occlusion"}
    assert "human" in set(frames["decrease"]["method"])


def test_one_method_and_no_task_give_a_report(small, tmp_path):
    one = small[(small["method"] == "gradcam") & (small["task"] == "Edema")].drop(columns="task")
    frames = ss.report(one, tmp_path / "out", **FEW)
    assert len(frames["means"]) == 1
    assert (tmp_path / "out" / "figures" / "intervals.pdf").exists()


def test_a_metric_without_a_true_zero_has_differences_but_no_decrease(small, tmp_path):
    frames = ss.report(small.assign(metric="ncc"), tmp_path / "out", **FEW)
    assert "difference" in frames
    assert "decrease" not in frames


def test_covariates_are_those_that_vary_or_those_named(scores, tmp_path):
    cases = scores["case"].unique()[:60]
    some = scores[scores["case"].isin(cases) & (scores["metric"] == "iou")].assign(constant=1.0)
    frames = ss.report(some, tmp_path / "a", **FEW)
    assert set(frames["regression"]["term"]) == {
        "n_instances",
        "area_ratio",
        "elongation",
        "irrectangularity",
    }
    frames = ss.report(some, tmp_path / "b", covariates=["elongation"], **FEW)
    assert set(frames["regression"]["term"]) == {"elongation"}
    with pytest.raises(ColumnError, match="task"):
        ss.report(some, tmp_path / "c", covariates=["task"], **FEW)


def test_pixels_and_settings_of_the_masks_are_no_covariates(scores, tmp_path):
    some = scores[scores["case"].isin(scores["case"].unique()[:60]) & (scores["metric"] == "iou")]
    case = pd.factorize(some["case"] + some["task"])[0]
    pixels = dict.fromkeys(("tp", "fp", "fn", "tn", "height", "width", "area_px", "perimeter_px"), case % 7)
    made = some.assign(**pixels, threshold=case % 5 / 10, cutoff=case % 3 / 10)
    frames = ss.report(made, tmp_path / "report", **FEW)
    assert set(frames["regression"]["term"]) == {
        "n_instances",
        "area_ratio",
        "elongation",
        "irrectangularity",
    }
    named = ss.report(made, tmp_path / "named", covariates=["area_px"], **FEW)
    assert set(named["regression"]["term"]) == {"area_px"}


def test_several_data_sets_are_reported_one_at_a_time(small, tmp_path):
    both = pd.concat([small.assign(dataset="A"), small.assign(dataset="B", score=small["score"] / 2)])
    with pytest.raises(SalstatsError, match="--only dataset=A"):
        ss.report(both, tmp_path / "out", **FEW)
    frames = ss.report(both, tmp_path / "out", only={"dataset": "B"}, **FEW)
    expected = ss.summarize(small.assign(score=small["score"] / 2), average="task", n_replicates=999)
    pd.testing.assert_frame_equal(frames["means"], expected)
    with pytest.raises(SalstatsError, match="no row has 'C'"):
        ss.report(both, tmp_path / "other", only={"dataset": "C"}, **FEW)


def test_an_unknown_reference_names_the_methods(small, tmp_path):
    with pytest.raises(SalstatsError, match=r"'radiologist'.*'gradcam'.*'human'"):
        ss.report(small, tmp_path / "out", reference="radiologist", **FEW)


def test_a_generator_is_refused_because_the_page_states_a_seed(small, tmp_path):
    with pytest.raises(SalstatsError, match="seed"):
        ss.report(small, tmp_path / "out", rng=np.random.default_rng(0))


# input that is hard to show


@pytest.mark.filterwarnings("ignore::salstats.checks.SalstatsWarning")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s.assign(score=0.5),
        lambda s: s.assign(score=np.where(s["task"] == "Edema", np.nan, s["score"])),
        lambda s: s.assign(score=np.where(s["method"] == "human", np.nan, s["score"])),
        lambda s: s.assign(method=s["method"].replace("gradcam", "<b>G&C_1%</b> \\ $x$ * β " + "é" * 100)),
        lambda s: s.assign(task=s["task"] + " — " + "very long name of a finding " * 4),
    ],
    ids=["all equal", "a task missing", "reference missing", "markup", "long"],
)
def test_hard_input_gives_a_readable_report(small, tmp_path, spoil):
    out = tmp_path / "out"
    ss.report(spoil(small), out, **FEW)
    text = page_text(out)
    assert not re.search(r"\b(nan|NaN|inf)\b", text)
    assert (out / "tables" / "means.tex").stat().st_size > 0


def test_markup_in_a_name_is_text_on_the_page(small, tmp_path):
    name = "<b>G&C_1%</b> \\ $x$ * β </script>"
    ss.report(small.assign(method=small["method"].replace("gradcam", name)), tmp_path / "out", **FEW)
    assert name in page_text(tmp_path / "out")
    assert "<b>G&C" not in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adjust": "bogus"}, "bogus"),
        ({"interval": "wilson"}, "interval"),
        ({"test": "z"}, "test"),
        ({"labels": {"gradcam": "X", "occlusion": "X"}}, "same label"),
        ({"covariates": ["score"]}, "no covariate"),
        ({"inputs": ["nothing.csv"]}, "nothing.csv"),
        ({"title": "a\ud800"}, "title"),
        ({"jobs": 0}, "jobs"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_option_is_refused_before_any_work(small, tmp_path, monkeypatch, options, message):
    monkeypatch.setattr("salstats.display.report.report.run_analyses", None)
    with pytest.raises(SalstatsError, match=message):
        ss.report(small, tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


def test_the_current_folder_and_links_are_not_replaced(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputFileError, match="current folder"):
        ss.report(small, ".", **FEW)
    ss.report(small, tmp_path / "real", **FEW)
    (tmp_path / "real" / "mine").symlink_to(tmp_path)
    with pytest.raises(InputFileError, match=r"other files \(mine\)"):
        ss.report(small, tmp_path / "real", overwrite=True, **FEW)


def test_the_earlier_report_comes_back_where_the_new_one_cannot_take_its_place(small, tmp_path, monkeypatch):
    out = tmp_path / "out"
    ss.report(small, out, **FEW)
    before = files(out)
    rename = Path.rename

    def refusing(self, target):
        if self.name == "made":
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refusing)
    with pytest.raises(InputFileError, match="Input/output"):
        ss.report(small, out, overwrite=True, **FEW)
    assert files(out) == before


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda s: s.assign(score=np.nan), "none of the 420 scores is defined"),
        (lambda s: s[s["case"] == s["case"].iloc[0]].drop(columns="patient"), "one case only"),
        (lambda s: s.assign(patient="p1"), "one patient only"),
    ],
    ids=["all missing", "one case", "one patient"],
)
def test_input_that_says_nothing_of_others_is_refused_in_a_sentence(small, tmp_path, spoil, message):
    with pytest.raises(SalstatsError, match=message):
        ss.report(spoil(small), tmp_path / "out", **FEW)
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore::salstats.checks.SalstatsWarning")
def test_a_method_that_always_fails_is_worse_although_its_decrease_has_no_interval(small, tmp_path):
    hits = small.assign(
        metric="hit", score=(small["score"] > 0.3).astype(float).where(small["score"].notna())
    )
    hits.loc[(hits["method"] == "gradcam") & hits["score"].notna(), "score"] = 0.0
    frames = ss.report(hits, tmp_path / "out", **FEW)
    row = frames["decrease"].query("method == 'gradcam' and task == 'Average'").iloc[0]
    assert row["estimate"] == 100
    assert row["verdict"] == "lower"
    assert "Grad-CAM scored worse than the human benchmark" in page_text(tmp_path / "out")


def test_a_covariate_that_does_not_vary_within_tasks_has_no_slope(scores, tmp_path):
    some = scores[scores["case"].isin(scores["case"].unique()[:60]) & (scores["metric"] == "iou")]
    some = some.assign(prevalence=some["task"].map(lambda t: len(t) / 10))
    with pytest.warns(ss.checks.SalstatsWarning, match="prevalence"):
        frames = ss.report(some, tmp_path / "out", covariates=["prevalence", "elongation"], **FEW)
    slopes = frames["regression"].set_index("term")["estimate"]
    assert slopes["prevalence"].isna().all()
    assert slopes["elongation"].notna().all()


def test_a_row_number_is_no_covariate_and_a_constant_one_is_refused(scores, tmp_path):
    some = scores[scores["case"].isin(scores["case"].unique()[:60]) & (scores["metric"] == "iou")]
    some = some[["case", "patient", "task", "method", "metric", "score"]].reset_index(names="Unnamed: 0")
    assert "regression" not in ss.report(some, tmp_path / "a", **FEW)
    with pytest.raises(ColumnError, match="'dose' does not vary"):
        ss.report(some.assign(dose=1.0), tmp_path / "b", covariates="dose", **FEW)


def test_unknown_metrics_have_differences_and_no_percentages(small, tmp_path):
    frames = ss.report(small.assign(metric="my_score"), tmp_path / "out", **FEW)
    assert "difference" in frames
    assert "decrease" not in frames


def test_correlations_rest_on_one_scored_case_per_patient(scores, tmp_path):
    frames = ss.report(scores, tmp_path / "out", **FEW)
    found = frames["correlation"].query("x == 'iou' and method == 'gradcam'").set_index("task")["n"]
    defined = scores.dropna(subset=["score"]).query("metric == 'iou' and method == 'gradcam'")
    patients = defined.groupby("task")["patient"].nunique()
    assert found.to_dict() == patients.to_dict()


def test_the_t_interval_takes_fieller_for_decreases(small, tmp_path):
    frames = ss.report(small, tmp_path / "out", interval="t", **FEW)
    assert set(frames["means"]["interval"]) == set(frames["difference"]["interval"]) == {"t"}
    assert set(frames["decrease"]["interval"]) == {"fieller"}


@pytest.mark.filterwarnings("ignore::salstats.checks.SalstatsWarning")
def test_sixty_tasks_give_a_readable_report(tmp_path):
    tasks = pd.DataFrame({"task": [f"finding {i:02d}" for i in range(60)]})
    cases = pd.DataFrame({"case": [f"c{i}" for i in range(8)]})
    methods = pd.DataFrame({"method": ["gradcam", "human"]})
    frame = cases.merge(tasks, how="cross").merge(methods, how="cross").assign(metric="iou")
    frame["score"] = np.random.default_rng(0).uniform(size=len(frame)).round(3)
    ss.report(frame, tmp_path / "out", **FEW)
    assert all(f"finding {i:02d}" in page_text(tmp_path / "out") for i in range(60))


def test_warnings_of_the_analyses_are_on_the_page(small, tmp_path):
    few = small[small["case"].isin(small["case"].unique()[:6])]
    with pytest.warns(ss.checks.SalstatsWarning) as caught:
        ss.report(few, tmp_path / "out", **FEW)
    text = page_text(tmp_path / "out")
    assert all(" ".join(str(w.message).split()) in text for w in caught)


def test_scores_out_of_range_are_on_the_page(small, tmp_path):
    with pytest.warns(ss.checks.SalstatsWarning, match="a percentage"):
        ss.report(small.assign(score=small["score"] * 100), tmp_path / "out", **FEW)
    assert "a percentage? divide by 100" in page_text(tmp_path / "out")


def test_several_seeds_are_said_in_the_methods(small, tmp_path):
    seeds = pd.concat([small.assign(seed=i, score=small["score"] * (1 - 0.02 * i)) for i in (1, 2)])
    ss.report(seeds, tmp_path / "out", **FEW)
    assert "Cases had scores of several seeds (2 in all)." in page_text(tmp_path / "out")
    ss.report(small, tmp_path / "one", **FEW)
    assert "Cases had scores of several" not in page_text(tmp_path / "one")


# the command


def test_the_command_writes_the_report_and_names_the_files_digest(small, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small.to_csv("scores.csv", index=False)
    arguments = ["report", "scores.csv", "-o", "out", "--replicates", "999", "--label", "gradcam=Grad, new"]
    assert run(arguments) == 0
    assert "out/index.html" in capsys.readouterr().out
    text = page_text(tmp_path / "out")
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
        (["scores.csv", "-o", "out", "--style", "lancet"], "lancet"),
        (["scores.csv", "-o", "out", "--label", "gradcam"], "--label"),
        (["scores.csv", "-o", "out", "--covariates", "size"], "size"),
        (["none.csv", "-o", "out"], "none.csv"),
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


def test_a_distance_has_its_unit_on_the_page_and_in_the_tables(small, tmp_path):
    far = small.assign(metric="hausdorff", distance_unit="mm")
    ss.report(far, tmp_path / "out", n_replicates=200, jobs=1)
    assert "Hausdorff distance (mm) (0 or more; smaller is better)" in page_text(tmp_path / "out")
    assert "Hausdorff distance (mm)" in (tmp_path / "out" / "tables" / "means.csv").read_text("utf-8-sig")


def test_distances_in_two_units_are_refused(small, tmp_path):
    far = small.assign(metric="hausdorff", distance_unit="mm")
    far.loc[far.index[0], "distance_unit"] = "px"
    with pytest.raises(SalstatsError, match="scores of 'hausdorff' are in mm and px"):
        ss.report(far, tmp_path / "out")


def test_methods_say_that_the_penalised_dice_is_a_reconstruction(small, tmp_path):
    ss.report(small.assign(metric="pdc"), tmp_path / "out", n_replicates=200, jobs=1)
    page = page_text(tmp_path / "out")
    # in Methods, behind the outcome; and in every table's heading, as a CSV has no notes
    assert "larger is better). Penalised Dice is a reconstruction" in page
    assert "Penalised Dice (rebuilt)" in (tmp_path / "out" / "tables" / "means.csv").read_text("utf-8-sig")


# cases to look at


def small_study(cases):
    """A study in which one map of one method covers half of each image."""
    truth = np.zeros((8, 8), dtype=bool)
    truth[2:6, 2:6] = True
    maps = {(case, "Edema", "gradcam"): np.eye(8) for case in cases}
    return ss.study_from_arrays({(case, "Edema"): truth for case in cases}, maps)


def test_a_report_with_a_study_shows_the_worst_the_median_and_the_best_of_its_cases(small, tmp_path):
    edema = small[(small["task"] == "Edema") & (small["method"] == "gradcam")].dropna(subset="score")
    cases = edema["case"].tolist()[:9]
    ss.report(small, tmp_path / "out", study=small_study(cases), jobs=1, **FEW)
    picks = pd.read_csv(tmp_path / "out" / "frames" / "examples.csv")
    there = edema[edema["case"].isin(cases)]["score"]
    assert picks["pick"].tolist() == ["worst", "median", "best"]
    assert picks["score"].tolist() == pytest.approx([there.min(), there.median(), there.max()])
    assert (tmp_path / "out" / "figures" / "examples.png").stat().st_size > 0
    assert "Examples" in page_text(tmp_path / "out")


def test_a_study_of_other_cases_is_said_not_to_be_shown(small, tmp_path):
    ss.report(small, tmp_path / "out", study=small_study(["elsewhere"]), jobs=1, **FEW)
    assert not (tmp_path / "out" / "figures" / "examples.png").exists()
    said = "Not shown: examples. arrays has no map of 'gradcam' that these scores are of"
    assert said in page_text(tmp_path / "out")


def test_what_is_no_study_is_refused_before_anything_is_written(small, tmp_path):
    with pytest.raises(SalstatsError, match="study must be a Study or a folder, not int"):
        ss.report(small, tmp_path / "out", study=5, **FEW)
    assert not (tmp_path / "out").exists()


def test_images_that_are_no_folder_are_refused(small, tmp_path):
    with pytest.raises(InputFileError, match="is not a folder"):
        ss.report(small, tmp_path / "out", study=small_study(["c001"]), images=tmp_path / "none", **FEW)
    assert not (tmp_path / "out").exists()

"""The demo: the digits study, from the scores that come with the package to the report of a paper."""

import ast
import re
from functools import partial
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.cli.demo import (
    ANNOTATOR,
    DEMO_SUBSET,
    METRICS,
    display_labels_of_demo_methods,
    example_calls_with_results,
    first_free_demo_folder,
    run_demo,
)
from salstats.errors import InputFileError

#: Figures beside those of every report: the cases to look at.
EXAMPLES = "examples"


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[Path, dict[str, pd.DataFrame]]:
    """The folder of the demo on a part of its methods and digits, and the frames it returned."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    every = ss.datasets.load_digits_scores()
    part = every["method"].isin(["gradcam", "rise", "human"]) & every["task"].isin(["digit 3", "digit 7"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ss.datasets, "load_digits_scores", lambda: every[part].reset_index(drop=True))
        patch.setattr(ss, "report", partial(ss.report, n_replicates=9_999, jobs=1))
        return folder, run_demo(folder)


@pytest.mark.slow
def test_the_whole_demo_shows_all_methods_of_the_study(tmp_path):
    frames = run_demo(tmp_path / "demo")
    scores = ss.datasets.load_digits_scores()
    assert set(frames["means"]["method"]) == set(scores["method"])


@pytest.fixture(scope="module")
def page(demo) -> str:
    """The words of the demo's page, without pictures and styles."""
    text = (demo[0] / "index.html").read_text(encoding="utf-8")
    text = re.sub(r"<(style|script)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


@pytest.mark.slow
def test_the_demo_says_what_is_real_and_what_is_simulated(page):
    assert "the annotator is simulated" in page
    assert ANNOTATOR in page
    # nobody may take the simulated annotator for people; a guideline speaks of what an author has to add
    said = page.replace("the same for a human benchmark.", "")
    assert not re.search("human benchmark", said, re.IGNORECASE)


def test_the_demo_prints_its_calls_and_that_the_annotator_is_simulated(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("salstats.report", lambda *args, **options: {})
    run_demo(tmp_path / "demo")
    said = capsys.readouterr().out
    assert "simulated" in said
    study = ss.datasets.load_digits_scores().query("dataset == @DEMO_SUBSET['dataset'] and label == 1")
    study = study[study["metric"].isin(METRICS) & (study["model"] == DEMO_SUBSET["model"])]
    # the first scores are shown before anything is computed
    shown, _ = said.split("ss.summarize", 1)
    assert re.findall(r"\bdigit \d\b", shown) == study["task"].head(4).tolist()
    for call in ("ss.summarize", "ss.percent_decrease", "ss.regress", "ss.report"):
        assert call in said
    assert not re.search(r"\bnan\b", said, re.IGNORECASE)


@pytest.mark.slow
def test_the_demo_has_every_analysis_and_cases_to_look_at(demo):
    folder, frames = demo
    calls = re.findall(r'-call"><code>(.*?)</code>', (folder / "index.html").read_text("utf-8"), re.DOTALL)
    assert all(ast.parse(unescape(call)).body for call in calls)
    assert calls
    assert {"flow", "means", "decrease", "difference", "auroc", "correlation", "regression"} <= set(frames)
    assert (folder / "figures" / f"{EXAMPLES}.png").stat().st_size > 0
    picks = pd.read_csv(folder / "frames" / f"{EXAMPLES}.csv")
    assert picks["pick"].tolist() == ["worst", "median", "best"]
    assert picks["score"].is_monotonic_increasing
    there = {c.case for c in ss.read_study(ss.datasets.digits_examples())}
    assert set(picks["case"]) <= there


@pytest.mark.slow
def test_the_printed_p_values_are_those_of_the_report(demo):
    every = ss.datasets.load_digits_scores()
    part = every["method"].isin(["gradcam", "rise", "human"]) & every["task"].isin(["digit 3", "digit 7"])
    for column, value in DEMO_SUBSET.items():
        part &= every[column] == value
    own = every[part].drop(columns="human_label")
    scores = own[own["metric"].isin(METRICS)]
    printed = next(
        frame for call, frame in example_calls_with_results(scores, own) if "percent_decrease" in call
    )
    keys = ["metric", "task", "method"]
    both = printed.merge(demo[1]["decrease"], on=keys, suffixes=("", "_report"))
    assert len(both) == len(printed) > 2
    assert (both["test"] == both["test_report"]).all()
    assert (both["n_tests"] == both["n_tests_report"]).all()
    # the report of the fixture draws other flips
    assert (both["p_adjusted"] - both["p_adjusted_report"]).abs().max() < 0.01


@pytest.mark.slow
def test_all_methods_of_the_study_have_a_label_in_the_demo():
    scores = ss.datasets.load_digits_scores()
    assert set(display_labels_of_demo_methods()["method"]) == set(scores["method"])


def test_the_demo_takes_a_free_folder_where_none_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert first_free_demo_folder().name == "salstats-demo"
    (tmp_path / "salstats-demo").mkdir()
    assert first_free_demo_folder().name == "salstats-demo-2"
    (tmp_path / "salstats-demo-2").write_text("a file")
    assert first_free_demo_folder().name == "salstats-demo-3"
    assert first_free_demo_folder(overwrite=True).name == "salstats-demo"


def test_the_demo_checks_its_folder_before_any_work(tmp_path, capsys):
    with raises(InputFileError, path=tmp_path / "no" / "demo"):
        run_demo(tmp_path / "no" / "demo")
    assert capsys.readouterr().out == ""

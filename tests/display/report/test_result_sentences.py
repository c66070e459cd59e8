"""Result sentences as a whole: the summary, every number, form and claims in every corner."""

import re

import numpy as np
import pytest
from report_frames import SETTINGS, faults, said, simulated_frames
from report_text import composed

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.report.case_counts import count_sentences
from salstats.display.report.result_sentences import result_sentences
from salstats.display.report.wording import Wording
from salstats.display.text.labels import Labels

WORDS = Wording(SETTINGS, Labels())


def test_frames_without_words_and_empty_frames_have_no_sentences():
    means = read_estimates(simulated_frames()["means"])
    assert result_sentences("confidence", read_estimates(simulated_frames()["correlation"]), WORDS) == ()
    assert result_sentences("means", means.subset(np.zeros(len(means))), WORDS) == ()


def sentences_of(key, table):
    """The sentences on one frame of a report."""
    if key == "flow":
        return list(count_sentences(table, WORDS))
    if "estimate" not in table.columns:
        return []
    return result_sentences(key, read_estimates(table, key), WORDS)


def texts_of(values, digits=(0, 1, 2, 3)):
    """A frame's numbers as they may stand in print, without sign, and its P values."""
    numbers = np.abs(values[np.isfinite(values)])
    return {f"{v:.{d}f}" for v in numbers for d in digits}


def test_every_number_of_the_sentences_is_in_the_frames():
    frames = simulated_frames()
    scores = ss.datasets.load_simulated()
    defined, there = scores["score"].notna(), scores["score"].notna() | scores["label"].eq(1)
    undefined = scores[there & ~defined]
    counts = {
        "0.05", "0.5", "0.001", "0.999", "1", "95", "0", f"{100 * len(undefined) / there.sum():.1f}",
        str(there.sum()), str(len(undefined)), str(defined.sum()), str((~there).sum()),
        *(str(scores[c].nunique()) for c in ("case", "patient", "task", "method", "metric")),
        # slopes of scores and of gaps and their family; correlations; contrasts over and in tasks
        "16", "32", "10", "4", "20",
    }  # fmt: skip
    for key, table in frames.items():
        allowed = set(counts)
        for column in ("estimate", "conf_low", "conf_high", "p_value", "p_adjusted", "n_rows"):
            if column in table:
                allowed |= texts_of(table[column].to_numpy(dtype=float))
        if key == "means":
            # undefined scores at 0 or at 1
            lacking = (table["n_missing"] - table.get("n_absent", 0)).to_numpy(float)
            share = lacking / (table["n"] + lacking).to_numpy(float)
            estimates = table["estimate"].to_numpy(float)
            allowed |= texts_of(share * estimates) | texts_of(share * (1 - estimates))
        for text in sentences_of(key, table):
            for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text):
                shown = number.rstrip(",").replace(",", "")
                assert shown in allowed, f"{shown} of {text!r} is in no frame"


def test_the_numbers_of_the_average_are_those_of_its_row():
    table = simulated_frames()["decrease"]
    row = table.query("metric == 'iou' and method == 'gradcam' and task == 'Average'").iloc[0]
    limits = f"95% CI {row['conf_low']:.1f}, {row['conf_high']:.1f}"
    text = f"a percentage decrease of {row['estimate']:.1f}% [{limits}, Holm-adjusted P < "
    assert text.removeprefix("a percentage decrease of ") in said("decrease", table)


CORNERS = (
    "whole", "no reference", "one method", "one task", "few patients", "a distance", "unknown and negative",
    "mixed signs", "undefined tasks", "all equal", "sixty tasks",
)  # fmt: skip
#: Corners of each run; a report on the others is composed by `pytest -m slow`.
ODDEST = ("few patients", "undefined tasks")


def odd_scores(name):
    """The embedded study bent into a corner that a report may meet."""
    scores = ss.datasets.load_simulated()
    iou = scores[scores["metric"] == "iou"]
    bare = [*SETTINGS.covariates, "prob"]
    edema, gradcam = scores["task"] == "Edema", scores["method"] == "gradcam"
    if name == "whole":
        return scores
    if name == "no reference":
        return scores[scores["method"] != "human"].drop(columns=["prob", "label"])
    if name == "one method":
        return scores[gradcam & (scores["metric"] == "iou")]
    if name == "one task":
        return iou[iou["task"] == "Edema"].drop(columns=["task", *SETTINGS.covariates])
    if name == "few patients":
        return scores[scores["patient"].isin(sorted(scores["patient"].unique())[:7])]
    if name == "a distance":
        return iou.assign(metric="hausdorff", score=100 * (1 - iou["score"]))
    if name == "unknown and negative":
        return iou.assign(metric="odd_one", score=iou["score"] - 0.5)
    if name == "mixed signs":
        better = edema & gradcam & scores["score"].notna()
        return scores.assign(score=scores["score"].mask(better, 0.95))
    if name == "undefined tasks":
        zero = scores["score"].mask((scores["task"] == "Atelectasis") & (scores["method"] == "human"), 0.0)
        return scores.assign(score=zero.mask(edema & gradcam))
    if name == "all equal":
        return scores.assign(score=1.0)
    task = np.random.default_rng(3).integers(0, 60, len(iou)).astype(str)
    return iou.assign(task=task).drop_duplicates(["case", "task", "method"]).drop(columns=bare)


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in ODDEST else pytest.mark.slow) for name in CORNERS]
)
def test_sentences_keep_their_form_and_claim_nothing_more_in_every_corner(name):
    report = composed(
        odd_scores(name), covariates=None if name in ("one task", "sixty tasks") else ["elongation"]
    )
    results = [text for section in report.sections for text in section.sentences]
    assert len(results) >= len(report.sections)
    for text in results:
        assert not faults(text), f"{text!r} {faults(text)}"
    # what was done may be told of "no difference"
    for text in (t for t in report.methods if "doi" not in t and "https:" not in t):
        wrong = [f for f in faults(text) if "no difference" not in f]
        assert not wrong, f"{text!r} {wrong}"

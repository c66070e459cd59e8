"""Result sentences as a whole: the summary, every number, form and claims in every corner."""

import re
from dataclasses import replace

import numpy as np
import pytest
from report_frames import SETTINGS, faults, five_tasks, said, simulated_frames
from report_text import composed

import salstats as ss
from salstats.display.report.results import result_sentences, summary_sentences
from salstats.display.report.wording import Words
from salstats.display.text.labels import Labels

WORDS = Words(SETTINGS, Labels())


def test_summary_is_the_counts_two_metrics_and_the_slopes():
    counts, iou, hit, slopes = summary_sentences(simulated_frames(), WORDS)
    assert counts.startswith(
        "The analysis included 4,158 scores (4,080 of them defined) of 194 cases of 140 patients"
    )
    for text, metric in ((iou, "IoU"), (hit, "hit rate")):
        assert text.startswith(f"On {metric}, compared with the human benchmark, averaged over tasks,")
    assert slopes.startswith("Of 16 slopes of scores")


def test_summary_without_a_reference_gives_the_means():
    frames = {k: v for k, v in simulated_frames().items() if k in ("flow", "means")}
    text = summary_sentences(frames, Words(replace(SETTINGS, reference=None), Labels()))
    assert text[1].startswith("On IoU, the mean score averaged over 5 tasks was")


def test_summary_takes_the_difference_where_a_metric_has_no_percentage():
    ncc = five_tasks().assign(metric="ncc", term="difference", estimate=-0.1, conf_low=-0.2, conf_high=-0.05)
    text = summary_sentences({"flow": simulated_frames()["flow"], "difference": ncc}, WORDS)
    assert text[1].startswith("On NCC, compared with the human benchmark, averaged over tasks,")


def test_frames_without_words_and_empty_frames_have_no_sentences():
    assert result_sentences("covariates", simulated_frames()["covariates"], WORDS) == ()
    assert result_sentences("means", simulated_frames()["means"].iloc[:0], WORDS) == ()


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
        # slopes of scores and of gaps and their family; correlations; contrasts
        "16", "32", "10", "24",
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
        for text in result_sentences(key, table, WORDS):
            for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text):
                shown = number.rstrip(",").replace(",", "")
                assert shown in allowed, f"{shown} of {text!r} is in no frame"


def test_the_numbers_of_the_average_are_those_of_its_row():
    table = simulated_frames()["decrease"]
    row = table.query("metric == 'iou' and method == 'gradcam' and task == 'Average'").iloc[0]
    limits = f"95% CI {row['conf_low']:.1f}, {row['conf_high']:.1f}"
    text = f"a percentage decrease of {row['estimate']:.1f}% [{limits}, Holm-adjusted P < "
    assert f"averaged over tasks, it scored worse, with {text}" in said("decrease", table)


CORNERS = (
    "whole", "no reference", "one method", "one task", "few patients", "a distance", "unknown and negative",
    "mixed signs", "undefined tasks", "all equal", "sixty tasks",
)  # fmt: skip


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


@pytest.mark.filterwarnings("ignore::salstats.checks.SalstatsWarning")
@pytest.mark.parametrize("name", CORNERS)
def test_sentences_keep_their_form_and_claim_nothing_more_in_every_corner(name):
    report = composed(
        odd_scores(name), covariates=None if name in ("one task", "sixty tasks") else ["elongation"]
    )
    results = [text for section in report.sections for text in section.sentences]
    assert len(results) >= len(report.sections)
    for text in (*report.summary, *results):
        assert not faults(text), f"{text!r} {faults(text)}"
    # what was done may be told of "no difference"
    for text in (t for t in report.methods if "doi" not in t and "https:" not in t):
        wrong = [f for f in faults(text) if "no difference" not in f]
        assert not wrong, f"{text!r} {wrong}"

"""Facts of estimates, in full and briefly."""

import re

import numpy as np
import pandas as pd
import pytest
from display.frames import STUDIES
from hypothesis import given
from hypothesis import strategies as st

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.facts import (
    IMPOSSIBLE_LIMITS,
    NO_LIMITS,
    adjustment_text,
    bars_sentence,
    clustering_or_independence_sentence,
    confidence_limits_method_sentences,
    count_sentence,
    each_distinct_text_with_groups_or_counts,
    heading_with_interval,
    heading_with_quantile_level,
    interval_caption,
    interval_name_with_level,
    limit_facts,
    limits_and_caution_note,
    metrics_without_scores_sentence,
    not_drawn_sentence,
    p_value_sentence,
    p_value_test_text,
    procedure_name,
    ranks_or_tests_pool_tasks_sentence,
    score_weights_sentence,
    undefined_replicates_sentence,
)
from salstats.display.plots.decrease import significance_rule_text
from salstats.display.tables import notes
from salstats.display.tables.great_table import current_record_of
from salstats.display.text.labels import SUMMARY_LABELS, Labels
from salstats.display.text.vocabulary import INFERENCE_SENTENCES
from salstats.stats.engine.cautions import RECORDS
from salstats.stats.engine.fixed_factors import THESE_READERS
from salstats.stats.engine.weighting import MEMBER_SEPARATOR, UNIT


def read(frame):
    """Estimates of a frame that may say nothing but counts or tests."""
    return read_estimates(frame, required_columns=())


def test_one_score_of_one_case_is_singular():
    frame = pd.DataFrame({"n": [1], "n_units": [1], "unit": ["case"], "n_missing": [0]})
    assert count_sentence(read(frame)) == "1 case; none undefined."
    assert count_sentence(read(frame.assign(n=2))) == "2 scores of 1 case; none undefined."
    assert count_sentence(read(frame), "case") == "1 case; none undefined."
    assert count_sentence(read(frame.drop(columns=["n_missing", "n_units"]))) == "1 score."
    assert count_sentence(read(frame[["unit"]])) == ""
    by_readers = frame.assign(n_readers=3, n_positive=1)
    assert (
        count_sentence(read(by_readers), missing_adjective="lost")
        == "1 case by 3 readers (1 positive); none lost."
    )


def test_averages_are_counted_apart():
    frame = pd.DataFrame({"task": ["a", "b", "Average"], "n": [10, 12, 22], "n_missing": [0, 3, 3]})
    assert count_sentence(read(frame)) == "10 to 12 scores per estimate (Average, 22); 0 to 3 undefined."
    only_averages = read(frame.tail(1))
    assert count_sentence(only_averages) == "22 scores; 3 undefined."
    pairs = frame.assign(n_units=[10, 12, 20], unit="case")
    assert count_sentence(read(pairs), "pair").startswith(
        "10 to 12 cases per estimate (Average, 22 pairs of 20 cases)"
    )
    undefined_average = frame.assign(n=[10, 12, None])
    assert count_sentence(read(undefined_average)) == "10 to 12 scores per estimate; 0 to 3 undefined."


def test_a_mean_of_no_score_does_not_count_in_the_range_of_n():
    frame = pd.DataFrame({"method": ["a", "b", "human"], "n": [18, 17, 0], "n_missing": [0, 1, 18]})
    said = "17 to 18 scores per estimate, where any is defined; 0 to 18 undefined."
    assert count_sentence(read(frame)) == said


def test_the_observations_of_marginal_means_are_those_of_their_model():
    model = {"formula": "dice ~ method + log_area", "average": "grid", "n": 334, "n_missing": 26}
    means = pd.DataFrame({"method": ["gradcam", "human"], "estimate": [0.5, 0.7]}).assign(**model)
    assert count_sentence(read(means)) == "334 observations in the model; 26 incomplete and left out."
    by_task = means.assign(task=["Edema", "Mass"], n=[160, 174], n_missing=[10, 16])[["task", *means.columns]]
    counts = "160 to 174 observations per model; 10 to 16 incomplete and left out."
    assert count_sentence(read(by_task)) == counts
    # the same columns without an average are not of marginal means
    assert count_sentence(read(means.drop(columns="average"))).startswith("334 scores per estimate")


def interval(kind, **columns):
    """Two rows with an interval of a kind."""
    values = {"estimate": 0.5, "conf_low": 0.4, "conf_high": 0.6, "conf_level": 0.95, "interval": kind}
    return pd.DataFrame([values, values]).assign(**columns)


@pytest.mark.parametrize(
    ("kind", "columns", "said"),
    [
        ("percentile", {"unit": "case"}, "percentile bootstrap of cases"),
        ("order", {}, "bootstrap, order statistics of the replicates"),
        ("t", {"unit": "patient", "n": 5, "n_units": 5}, "Student's t"),
        ("wilson", {"unit": "patient", "n": 5, "n_units": 3}, "Wilson score, clustered by patient"),
        ("exact", {}, "Clopper-Pearson"),
        ("delta", {}, "delta method"),
        ("delong", {}, "DeLong"),
        ("fisher", {"unit": "patient", "n": 5, "n_units": 3}, "Fisher z transformation"),
        ("fieller", {"term": "kendall"}, "Fisher z transformation, Fieller standard error"),
        ("my own", {}, "my own"),
    ],
)
def test_each_kind_of_interval_has_a_name(kind, columns, said):
    assert limits_and_caution_note(read(interval(kind, **columns))) == f"95% CI: {said}."


NONE = {"conf_low": None, "conf_high": None}
ADJUSTED = {"p_value": 0.01, "p_adjusted": 0.02, "procedure": "holm"}


def test_a_heading_names_the_interval_that_follows_the_estimate():
    assert heading_with_interval("Mean", read(interval("t"))) == "Mean (95% CI)"
    assert heading_with_interval("Mean", read(interval("t", **NONE))) == "Mean"
    assert interval_name_with_level(read(interval("t", **NONE))) == ""
    adjusted = read(interval("t", **ADJUSTED))
    assert heading_with_interval("Mean", adjusted) == "Mean (95% CI)"
    assert heading_with_interval("Mean", adjusted, beside_p_values=True) == "Mean (95% CI, unadjusted)"
    family = read(interval("t", **ADJUSTED, family_level=0.95))
    assert heading_with_interval("Mean", family, beside_p_values=True) == "Mean (95% CI)"
    quartile = read(interval("t", quantile=0.25))
    assert heading_with_quantile_level("Quantile", quartile) == "25% quantile"
    assert heading_with_interval("IoU, quantile", quartile) == "IoU, 25% quantile (95% CI)"
    assert heading_with_quantile_level("Quantile", read(interval("t", quantile=[0.25, 0.5]))) == "Quantile"


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (interval("wilson", unit="patient_id"), "95% Wilson score intervals, unit: patient"),
        # its name is short already
        (interval("delong"), "95% DeLong intervals"),
        (interval("my own", **ADJUSTED), "unadjusted 95% my own intervals"),
        (interval(None), "95% intervals"),
        (interval("my own", conf_level=None), "my own intervals"),
        (interval("my own").assign(conf_level=[0.9, 0.95]), "90% or 95% my own intervals"),
        (
            interval("wild", conf_level=0.99, family_level=0.9),
            "simultaneous 90% wild cluster bootstrap intervals",
        ),
    ],
)
def test_bars_have_a_level_a_kind_and_a_unit(frame, text):
    assert bars_sentence(read(frame)) == f"Bars: {text}."
    assert bars_sentence(read(frame), mark="Lines") == f"Lines: {text}."
    assert bars_sentence(read(frame.assign(**NONE))) == NO_LIMITS


@pytest.mark.parametrize(
    ("columns", "in_caption", "in_note"),
    [
        ({"conf_low": [0.4, None], "conf_high": [0.6, None]}, "without bar", "stands alone"),
        ({"conf_high": [0.6, np.inf]}, "no limit", "Infinite"),
        ({"metric": "iou", "term": "mean", "conf_high": [0.6, 1.2]}, "impossible", IMPOSSIBLE_LIMITS),
        ({"term": "rank"}, "no confidence interval", "no confidence interval"),
    ],
)
def test_exceptional_limits_are_named_in_captions_and_notes_and_nowhere_else(columns, in_caption, in_note):
    plain = read(interval("t"))
    exceptional = read(interval("t").assign(**columns))
    assert in_caption not in bars_sentence(plain)
    assert in_caption in bars_sentence(exceptional)
    assert in_note not in confidence_limits_method_sentences(plain)
    assert in_note in confidence_limits_method_sentences(exceptional)


def test_limits_of_several_families_hold_together_in_each():
    frame = interval("wild", family_level=0.9).assign(conf_level=[0.98, 0.99], n_tests=[5, 9])
    assert confidence_limits_method_sentences(read(frame)) == (
        "Simultaneous 90% CI: wild cluster bootstrap. Those of a family hold together at 90%, "
        "singly at 98% and 99%."
    )
    limits = limit_facts(read(frame))
    assert (limits.levels, limits.family_level_if_simultaneous, limits.n_without) == ((0.98, 0.99), 0.9, 0)


def test_the_name_of_an_interval_has_covariances_and_clusters():
    clustered = {"unit": "patient", "n": 5, "n_units": 3}
    jackknife = confidence_limits_method_sentences(
        read(interval("wilson", covariance="jackknife", **clustered))
    )
    assert jackknife == "95% CI: Wilson score, jackknife covariances, clustered by patient."
    # a regression names the clusters with its standard errors
    assert (
        confidence_limits_method_sentences(read(interval("wilson", errors="cr2", **clustered)))
        == "95% CI: Wilson score."
    )
    replicates = confidence_limits_method_sentences(
        read(interval("percentile", unit="patient", n_replicates=4000))
    )
    assert replicates == "95% CI: percentile bootstrap of patients, 4,000 replicates."


def test_texts_are_told_apart_by_the_first_column_that_has_one_of_each():
    frame = pd.DataFrame({"task": ["a", "b", "a", "b"], "metric": ["iou", "iou", "hit", "hit"]})
    by_task = read(frame.assign(term="mean"))
    assert each_distinct_text_with_groups_or_counts(by_task, ["x", "y", "x", "y"]) == ["x (a)", "y (b)"]
    by_metric = each_distinct_text_with_groups_or_counts(by_task, ["x", "x", "y", "y"])
    assert by_metric == ["x (IoU)", "y (Hit rate)"]
    assert each_distinct_text_with_groups_or_counts(by_task, ["x"] * 4) == ["x"]
    missing = read(frame.assign(task=["a", None, "a", None], term="mean"))
    texts = each_distinct_text_with_groups_or_counts(missing, ["x", "y", "x", "y"])
    assert texts[0] == "x (2 of 4 estimates)"
    terms = read(pd.DataFrame({"term": ["calibration_slope", "own"]}))
    assert each_distinct_text_with_groups_or_counts(terms, ["x", "y"]) == ["x (calibration slope)", "y (Own)"]
    # six values can be named, seven are counted
    for n, text in ((6, "x (a)"), (7, "x (1 of 7 estimates)")):
        tasks = read(pd.DataFrame({"task": list("abcdefg")[:n], "term": "mean"}))
        assert each_distinct_text_with_groups_or_counts(tasks, ["x", *"y" * (n - 1)])[0] == text


def test_several_kinds_of_intervals_are_all_named():
    frame = pd.concat([interval("delong"), interval("obuchowski").head(1)])
    assert (
        limits_and_caution_note(read(frame))
        == "95% CI: DeLong (2 of 3 estimates) and Obuchowski (1 of 3 estimates)."
    )


def test_metrics_with_another_kind_of_interval_or_test_are_named_by_their_labels():
    frame = pd.DataFrame(
        {"metric": ["hit", "iou", "dice"] * 2, "task": ["a"] * 3 + ["b"] * 3, "estimate": 0.5}
    )
    limits = {"conf_low": 0.4, "conf_high": 0.6, "conf_level": 0.95, "p_value": 0.2}
    kinds = {"interval": ["tango", "t", "t"] * 2, "test": ["score", "t", "t"] * 2}
    several = read(frame.assign(**limits, **kinds))
    labels = Labels({"iou": "Overlap"})
    expected = "Student's t (Overlap and Dice)"
    for text in (limits_and_caution_note(several, labels), interval_caption(several, labels=labels)):
        assert "Tango score" in text
        assert "(Hit rate) and " in text
        assert "(Overlap and Dice)" in text
    assert expected in limits_and_caution_note(several, labels)
    assert "(Hit rate) and " in p_value_test_text(several, labels)
    # by neither metric nor task
    mixed = several.with_columns(interval=["tango", "t", "t", "t", "t", "tango"])
    assert "(2 of 6 estimates) and Student's t (4 of 6 estimates)" in limits_and_caution_note(mixed, labels)


def test_levels_that_differ_are_said_and_adjusted_ones_are_short():
    frame = interval("t").assign(conf_level=[0.95, 0.99])
    assert interval_name_with_level(read(frame)) == "CI"
    assert limits_and_caution_note(read(frame)).startswith("CI levels: 95% and 99%.")
    assert interval_name_with_level(read(interval("t", conf_level=1 - 0.05 / 24))) == "99.79% CI"
    assert interval_name_with_level(read(interval("t", conf_level=0.999))) == "99.9% CI"


def test_readers_who_are_fixed_are_said_once():
    assert INFERENCE_SENTENCES[THESE_READERS] not in limits_and_caution_note(read(interval("t")))
    of_some = interval("t").assign(inference_to=["these readers", None])
    assert limits_and_caution_note(read(of_some)).count(INFERENCE_SENTENCES[THESE_READERS]) == 1
    of_all = interval("t").assign(inference_to="readers and cases")
    assert limits_and_caution_note(read(of_all)).endswith("Intervals apply to readers and cases in general.")


def test_limits_of_a_family_hold_together_and_its_level_is_that_of_the_test():
    family = {"family_level": 0.95, "p_value": 0.001, "p_adjusted": 0.002, "procedure": "max-t", "n_tests": 9}
    frame = interval("wild", **family, test="wild", term="difference").assign(conf_level=0.9931)
    assert interval_name_with_level(read(frame)) == "simultaneous 95% CI"
    assert limits_and_caution_note(read(frame)) == (
        "Simultaneous 95% CI: wild cluster bootstrap. All of them hold together at 95%, singly at 99.31%."
    )
    assert p_value_sentence(read(frame)).endswith("; adjusted (step-down max-t, 9 tests).")
    assert notes.significance_criterion(read(frame)).endswith("significant at the 5% level")
    assert significance_rule_text(read(frame), "nature") == "interval excludes 0 and adjusted P < 0.05"


def test_every_test_of_the_rows_is_named():
    frame = pd.DataFrame({"p_value": [0.2, 0.01, 0.3, None], "test": ["score", "wild", "wild", "cr2"]})
    said = p_value_test_text(read(frame.assign(n_replicates=4000)))
    assert said.count("McNemar's score test") == 1
    assert said.endswith("and wild cluster bootstrap test, mid-P, 4,000 replicates (2 of 3 estimates)")


def test_p_values_name_their_test_and_whether_they_are_adjusted():
    frame = pd.DataFrame({"p_value": [0.2, 0.1], "test": "wild", "n_replicates": 4000})
    source = p_value_test_text(read(frame))
    assert source.endswith("test, mid-P, 4,000 replicates")
    assert p_value_sentence(read(frame)) == f"{source}; not adjusted for multiple tests."
    adjusted = frame.assign(p_adjusted=0.3, procedure="holm", n_tests=2)
    assert p_value_sentence(read(adjusted)) == f"{source}; adjusted (Holm, 2 tests)."
    assert p_value_sentence(read(frame.assign(p_value=np.nan))) == ""
    assert p_value_test_text(read(frame.assign(test="own"))).endswith("two-sided own")
    assert p_value_test_text(read(frame.assign(test=None))).endswith("two-sided")


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"n_tests": [5, 9, 9]}, "families of 5 and 9 tests"),
        ({"n_tests": [5, 7, 9]}, "families of 5 to 9 tests"),
        ({"procedure": "BH"}, "Benjamini-Hochberg"),
        ({"procedure": "own", "n_tests": 1}, "own, 1 test"),
        ({}, "for multiplicity"),
    ],
)
def test_an_adjustment_has_a_procedure_and_sizes_of_families(columns, text):
    assert adjustment_text(read(pd.DataFrame({"p_value": [0.1] * 3}).assign(**columns))) == text
    assert procedure_name("own") == "own"


def test_undefined_replicates_are_counted_where_there_are_any():
    frame = pd.DataFrame({"n_undefined": [0, 1200, np.nan]})
    counted = undefined_replicates_sentence(read(frame.assign(n_replicates=2000)))
    assert counted.startswith("Up to 1,200 of 2,000 replicates of")
    assert undefined_replicates_sentence(read(frame)).startswith("Up to 1,200 replicates of")
    assert undefined_replicates_sentence(read(frame.assign(n_undefined=0))) == ""
    assert undefined_replicates_sentence(read(frame[["n_undefined"]].tail(1))) == ""


def test_what_has_no_score_or_no_estimate_is_named():
    frame = pd.DataFrame(
        {
            "metric": ["iou", "dice", "hit", "energy"],
            "estimate": [0.5, np.nan, np.nan, np.nan],
            "n": [9, 0, 0, 0],
        }
    )
    labels = Labels({"dice": "Overlap", "energy": "Energy"})
    pairs = metrics_without_scores_sentence(read(frame.assign(n_pairs=3)), labels)
    scores = metrics_without_scores_sentence(read(frame), labels)
    assert pairs != scores
    for text in (pairs, scores):
        assert text.endswith(" for Overlap, Hit rate or Energy.")
    assert metrics_without_scores_sentence(read(frame.head(1)), labels) == ""
    assert not_drawn_sentence(read(frame.head(1)), labels, ["metric"]) == ""
    assert not_drawn_sentence(read(frame), labels, ["metric"]).endswith(": Overlap, Hit rate and Energy.")
    two_more = pd.concat([frame, frame.tail(2).assign(metric=["nss", "kl"])])
    assert not_drawn_sentence(read(two_more), labels, ["metric"]).endswith(
        ": Overlap, Hit rate, Energy and 2 more."
    )
    by_task = read(frame.head(2).assign(task=["a", "b"]))
    assert not_drawn_sentence(by_task, labels, ["metric", "task"]).endswith(": Overlap/b.")


def test_weights_of_the_members_of_averages_are_none_of_scores():
    weights = read(pd.DataFrame({"weights": ["area", "area"], "unit": "patient_id"}))
    assert score_weights_sentence(weights) == "Scores are weighted by area."
    members = f"task{MEMBER_SEPARATOR}a 0.2, b 0.8"
    assert score_weights_sentence(weights.with_columns(weights=members)) == ""
    assert score_weights_sentence(weights.with_columns(weights=UNIT)).startswith("Each patient ")


def test_tests_of_calibration_name_the_values_of_perfect_predictions():
    frame = pd.DataFrame({"term": ["calibration_intercept", "calibration_slope"], "p_value": [0.2, 0.3]})
    assert p_value_test_text(read(frame)).endswith("against an intercept of 0 and against a slope of 1")
    assert p_value_test_text(read(frame.tail(1))).endswith("two-sided, against a slope of 1")


def test_a_caption_and_a_note_count_and_warn_alike():
    frame = interval(
        "percentile", unit="patient", n=20, n_units=9, n_missing=[0, 3], inference_to="these readers"
    )
    for text in (interval_caption(read(frame)), limits_and_caution_note(read(frame))):
        assert INFERENCE_SENTENCES[THESE_READERS] in text
    alone = frame.assign(conf_low=None, conf_high=None)
    assert interval_caption(read(alone)) == limits_and_caution_note(read(alone)) == "No confidence intervals."


def test_it_is_said_whether_a_correlation_knows_its_patients():
    frame = interval("cr2", unit="patient", n=20, n_units=9)
    assert clustering_or_independence_sentence(read(frame)) == "Limits and P values are clustered by patient."
    of_pairs = clustering_or_independence_sentence(read(frame.assign(interval="bonett-wright")))
    assert of_pairs == "Pairs of one patient are taken as independent."
    assert clustering_or_independence_sentence(read(frame.assign(n_units=20))) == ""


@given(
    n=st.lists(st.integers(0, 3000), min_size=1, max_size=6),
    average=st.none() | st.integers(1, 9000),
    missing=st.integers(0, 40),
)
def test_every_number_of_a_count_is_one_of_its_frame(n, average, missing):
    tasks = [f"task {letter}" for letter in "abcdef"[: len(n)]]
    rows = pd.DataFrame({"task": tasks, "n": n, "n_missing": missing})
    if average is not None:
        rows.loc[len(rows)] = {"task": "Average", "n": average, "n_missing": missing}
    said = [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", count_sentence(read(rows)))]
    counted = [number for number in n if number] or n
    expected = sorted({min(counted), max(counted)})
    if average is not None:
        expected.append(average)
    if missing:
        expected.append(missing)
    assert said == expected


def test_ranks_and_pairwise_tests_that_pool_tasks_say_so():
    scores = ss.datasets.load_simulated()
    by_task = ["metric", "task"]
    pooled = "Tasks are taken together where there are several."
    ranks = ss.rank_stability(scores, n_replicates=40)
    significance = ss.significance_map(scores, test="t")
    for frame in (ranks, significance, ss.rank_limits(significance)):
        assert ranks_or_tests_pool_tasks_sentence(read_estimates(frame)) == pooled
    ranks_by_task = ss.rank_stability(scores, by=by_task, n_replicates=40)
    significance_by_task = ss.significance_map(scores, test="t", by=by_task)
    means = ss.summarize(scores, n_replicates=40)
    for frame in (ranks_by_task, significance_by_task, means, means.drop(columns="task")):
        assert ranks_or_tests_pool_tasks_sentence(read_estimates(frame)) == ""
    # figures and tables say it
    assert pooled in " ".join(ss.plot_ranks(ranks).labels.caption.split())
    assert pooled in " ".join(ss.plot_significance(significance).labels.caption.split())
    assert pooled in " ".join(ss.table_estimates(ranks).as_raw_html().split())
    assert pooled not in " ".join(ss.plot_ranks(ranks_by_task).labels.caption.split())


# Every number of captions and notes is recomputed from the frame, by other code than the package's.

NUMBER = r"\d[\d,]*(?:\.\d+)?"
KEYS = ["metric", "method", "task", "reference", "x", "y"]


def numbers_in(text):
    """The numbers of a text, in their order."""
    return [float(number.replace(",", "")) for number in re.findall(NUMBER, text)]


def span(values):
    """The smallest and the largest number, once where they are equal."""
    return sorted({float(values.min()), float(values.max())})


def beyond_axis(frame, _):
    """The size of the decrease that is far beyond the others, and of its limits."""
    row = frame.loc[frame["estimate"].abs().idxmax(), ["estimate", "conf_low", "conf_high"]]
    return row.astype(float).abs().round(1).tolist()


def column(frame, name):
    """A column as float, NaN where there is none."""
    return pd.to_numeric(frame.get(name, pd.Series(np.nan, frame.index))).astype(float)


def distinct(frame, name):
    """The distinct numbers of a column, sorted."""
    return sorted(column(frame, name).dropna().unique())


def counts(frame, _):
    """Observations, units, readers, averages, positive and missing ones; of `mrmc` those of the means."""
    if "equal" in frame.get("term", pd.Series()).array:
        frame = frame[frame["term"] == "mean"]
    of_all = pd.DataFrame(
        {name: frame[[k for k in KEYS if k in frame]].eq(name).any(axis=1) for name in SUMMARY_LABELS}
    )
    single = frame[~of_all.any(axis=1)] if not of_all.any(axis=1).all() else frame
    n = column(single, "n")
    some = single[n != 0] if (n != 0).any() else single
    has_units = "n_units" in frame and frame["unit"].nunique() == 1

    def observations(rows):
        units = span(column(rows, "n_units")) if has_units else []
        return units if column(rows, "n").equals(column(rows, "n_units")) else span(column(rows, "n")) + units

    numbers = observations(some)
    are_units = column(some, "n").equals(column(some, "n_units"))
    if "n_readers" in frame and some["n_readers"].notna().any():
        numbers += span(some["n_readers"])
    for name in SUMMARY_LABELS:
        if of_all[name].any() and len(single) < len(frame):
            rows = frame[of_all[name]]
            numbers += observations(rows) if are_units else span(column(rows, "n"))
    if "n_positive" in frame:
        numbers += span(some["n_positive"])
    missing = column(single, "n_missing") - column(single, "n_absent").fillna(0)
    return numbers + (span(missing) if missing.any() else [])


def levels(frame, _):
    """The level of all limits together where they are simultaneous, else those of each."""
    rows = frame[column(frame, "conf_low").notna() | column(frame, "conf_high").notna()]
    families = distinct(rows, "family_level")
    if len(families) == 1 and (column(rows, "conf_level") > families[0] + 1e-9).any():
        return [100 * families[0]]
    return [100 * level for level in distinct(rows, "conf_level")]


def joint_levels(frame, _):
    """The level of a family, then those of its limits."""
    rows = frame[column(frame, "conf_low").notna()]
    return [100 * distinct(rows, "family_level")[0], *(100 * x for x in distinct(rows, "conf_level"))]


def alpha(frame, _):
    """The level of significance of intervals, or of their family."""
    level = min(distinct(frame, "family_level") or distinct(frame, "conf_level"))
    return [1 - level]


def star_levels(frame, text):
    """One of three levels, divided by the number of P values unless they are adjusted."""
    level = numbers_in(text)[0]
    assert level in (0.05, 0.01, 0.001)
    n_tests = column(frame, "p_value").notna().sum()
    is_divided = not distinct(frame, "p_adjusted") and n_tests > 1
    return [level, n_tests] if is_divided else [level]


def margins(frame, _):
    """The bounds of the margin, without their signs."""
    bounds = frame.loc[column(frame, "p_margin").notna(), ["margin_low", "margin_high"]].drop_duplicates()
    return [abs(bound) for bound in bounds.iloc[0] if np.isfinite(bound)]


def families(frame, _):
    """The sizes of families of tests, or the smallest and the largest of several."""
    sizes = distinct(frame, "n_tests")
    return [sizes[0], sizes[-1]] if len(sizes) > 1 else sizes


def cautions(frame, _):
    """The number of estimates with a caution, and of all."""
    return [frame["caution"].fillna("").ne("").sum(), len(frame)]


def shares_of_kinds(frame, text):
    """The number of estimates with one kind of interval, or one test, and of all that have any."""
    limited = frame[column(frame, "conf_low").notna() | column(frame, "conf_high").notna()]
    tested = frame[column(frame, "p_value").notna()]
    shares = []
    for rows, name in ((limited, "interval"), (tested, "test")):
        if name in rows:
            counts_of_kinds = rows[name].value_counts()
            shares += [[count, counts_of_kinds.sum()] for count in counts_of_kinds]
    said = numbers_in(text)
    return said if said in shares else shares


def joint_test(frame, _):
    """Degrees of freedom, statistic and P of the test that all methods are equal."""
    row = frame[frame["term"] == "equal"].iloc[0]
    p_value = max(round(row["p_value"], 3), 0.001)
    residual_df = round(row["df_residual"], 1 if row["df_residual"] < 100 else 0)
    return [row["df"], residual_df, round(row["statistic"], 2), p_value]


#: Sentences with numbers: a pattern, and what gives its numbers from a frame and the matching text.
RULES = {
    r"All equal: .*?, P[^.]*\.\d+": joint_test,
    rf"Up to {NUMBER} of {NUMBER} replicates": lambda frame, _: [
        column(frame, "n_undefined").max(), distinct(frame, "n_replicates")[0]
    ],
    rf"{NUMBER} replicates": lambda frame, _: distinct(frame, "n_replicates"),
    rf"hold together at {NUMBER}%, singly at {NUMBER}%": joint_levels,
    rf"at the {NUMBER}% level": lambda frame, text: [100 * alpha(frame, text)[0]],
    rf"(?:Bars: (?:unadjusted |simultaneous )?|\b){NUMBER}%": levels,
    rf"(?:within|above) −?{NUMBER}(?: to {NUMBER})?": margins,
    rf"(?:tests?, |adjusted )P < {NUMBER}": alpha,
    rf"\bP < {NUMBER}(?:/\d+)?": star_levels,
    rf"Bonferroni, {NUMBER} tests": lambda frame, _: [column(frame, "p_value").notna().sum()],
    rf"adjusted \([^)]*{NUMBER} tests?": families,
    rf"Agreement of {NUMBER} \w+ on {NUMBER} cases": lambda frame, _: [
        *span(frame["n_raters"]), *span(frame["n_cases"])
    ],
    rf"Caution \({NUMBER} of {NUMBER} estimates\)": cautions,
    rf"(?<!Caution )\({NUMBER} of {NUMBER} estimates\)": shares_of_kinds,
    rf"Beyond it: \D*{NUMBER} \(−?{NUMBER}, −?{NUMBER}\)\.": beyond_axis,
    rf"n = {NUMBER}(?: to {NUMBER})?": lambda frame, _: span(column(frame, "n")),
    rf"{NUMBER} of {NUMBER} estimates? (?:is|are) not defined": lambda frame, _: [
        frame["estimate"].isna().sum(), len(frame)
    ],
    # last: it begins with a number, as no other sentence that is left
    rf"{NUMBER} [^.]*": counts,
}  # fmt: skip
#: Texts with numbers that are no results.
NAMES = (
    "CR1", "CR2", "excludes 0", "against 0.5", "95th-percentile", f"salstats {ss.__version__}", "0/1",
    *(caution.note for caution in RECORDS),
)  # fmt: skip


def assert_numbers_are_of_the_frame(text, frame):
    """Each number of a text stands in a sentence that is known, and is that of the frame."""
    for name in sorted(NAMES, key=len, reverse=True):
        text = text.replace(name, "")
    text = re.sub(r"Page \d of \d\.|CR\d|ICC\(\d,.\)", "", text)
    for pattern, expected in RULES.items():
        for match in re.findall(pattern, text):
            assert numbers_in(match) == pytest.approx(expected(frame, match), abs=0.006), match
        text = re.sub(pattern, "", text)
    assert not re.search(r"\d", text), text


def frames_of(scores):
    """Frames of most kinds from a frame of scores."""
    reference = "human" if "human" in set(scores["method"]) else "gradcam"
    options = {"reference": reference, "n_replicates": 40}
    average = "task" if "task" in scores else None
    yield "means", ss.summarize(scores, average=average)
    yield "t intervals", ss.summarize(scores, interval="t", level=0.9)
    yield "means of replicates", ss.summarize(scores, interval="percentile", n_replicates=60)
    yield "medians", ss.medians(scores, n_replicates=40)
    yield "differences", ss.difference(scores, average=average, adjust="holm", **options)
    yield "decreases", ss.percent_decrease(scores, average=average, interval="percentile", **options)
    yield "margins", ss.difference(scores, margin=0.1, **options)
    yield "simultaneous", ss.difference(scores, adjust="max-t", level=0.9, **options)
    yield "ranks", ss.rank_stability(scores, n_replicates=40)


def texts_of(frame):
    """Notes and captions of the tables and figures that show a frame."""
    has_stars = "p_value" in frame
    tables = [ss.table_estimates(frame, stars=has_stars)]
    figures = [ss.plot_intervals(frame), ss.plot_forest(frame)]
    if "verdict" in frame:
        tables.append(ss.table_decrease(frame))
        figures.append(ss.plot_decrease(frame))
    for table in tables:
        yield " ".join(current_record_of(table).notes)
    for figure in figures:
        yield " ".join((figure.labels.caption or "").split())


@pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    "study", [pytest.param(s, marks=() if s == "small" else pytest.mark.slow) for s in STUDIES]
)
def test_every_number_of_captions_and_notes_is_one_of_the_frame(study):
    n_texts = 0
    for _, frame in frames_of(STUDIES[study]()):
        for text in texts_of(frame):
            assert_numbers_are_of_the_frame(text, frame)
            n_texts += 1
    assert n_texts > 30


@pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning")
def test_every_number_below_tables_of_models_and_correlations_is_one_of_the_frame():
    scores = STUDIES["large"]()
    curves_of_readers = scores[(scores["method"] == "human") & (scores["metric"] != "hit")]
    one_reader = scores[scores["reader"] != "r2"]
    tables = [
        (ss.table_correlation, ss.correlate(scores, "iou", "area_ratio", by=["method", "task"])),
        (ss.table_correlation, ss.correlate(one_reader, "hit", "area_ratio", by="method", adjust="holm")),
        (ss.table_regression, ss.regress(one_reader, "iou ~ area_ratio", by="method")),
        (ss.table_regression, ss.regress(one_reader, "hit ~ area_ratio", by="task", adjust="BH")),
        (ss.table_estimates, ss.auroc(one_reader, "iou", "hit", by="method")),
        (ss.table_estimates, ss.agreement(curves_of_readers, by=["metric", "task"])),
    ]
    readings = pd.concat([one_reader.assign(reader=reader) for reader in ("r1", "r2", "r3")])
    readings["score"] += np.random.default_rng(0).normal(0, 0.1, len(readings))
    few = readings[readings["method"].isin(["ig", "lime"]) & readings["task"].eq("Edema")]
    tables.append((ss.table_estimates, ss.mrmc(few[few["metric"] == "energy"])))
    for table, frame in tables:
        shown = frame[frame["term"] != "(Intercept)"] if "term" in frame else frame
        assert_numbers_are_of_the_frame(" ".join(current_record_of(table(frame)).notes), shown)

"""Rows of the study's tables, its interval, and how others compare with it."""

import math
import statistics

import numpy as np
import pandas as pd
import pytest

from salstats.studies.lanfredi2021.layouts import (
    CHANCE_SCORE,
    LABELS,
    LAYOUTS,
    add_width_ratio_and_excludes_chance_columns,
    means_with_published_interval,
    rows_of_table,
)


@pytest.mark.parametrize(
    ("number", "methods", "metrics"),
    [
        # Table 1 has the maps and the interobserver baseline, Tables 3 and 4 have both baselines alone
        ("1", set(LABELS["method"]) - {"convex"}, {"sncc", "sauc"}),
        ("3", {"interobserver", "convex"}, {"ncc", "auc"}),
        ("4", {"interobserver", "convex"}, {"sncc", "sauc"}),
    ],
)
def test_each_table_has_its_methods_and_metrics(number, methods, metrics):
    rows = pd.DataFrame({"method": list(LABELS["method"])}).merge(
        pd.DataFrame({"metric": list(CHANCE_SCORE)}), how="cross"
    )
    kept = rows_of_table(number, rows)
    assert set(zip(kept["method"], kept["metric"], strict=True)) == {(m, k) for m in methods for k in metrics}


def test_only_table_1_marks_the_best_method():
    assert [number for number, layout in LAYOUTS.items() if layout.options["bold"]] == ["1"]


def test_the_interval_has_the_sd_of_all_rows_and_the_number_of_images():
    rng = np.random.default_rng(3)
    # ten rows of four images in one group, three rows of two images in the other
    scores = pd.DataFrame(
        {
            "method": ["a"] * 10 + ["b"] * 3,
            "case": [*"iijjjkklll", *"iij"],
            "score": rng.normal(size=13),
        }
    )
    rows = means_with_published_interval(scores, ["method"], "score", "case").set_index("method")
    assert rows["n_units"].to_dict() == {"a": 4, "b": 2}
    # rows stand in the order of the scores, a group without a name is one too
    unnamed = scores.iloc[::-1].replace({"method": {"a": None}})
    assert means_with_published_interval(unnamed, ["method"], "score", "case")["n_units"].tolist() == [2, 4]
    assert set(rows["unit"]) == {"case"}
    for method, values in scores.groupby("method")["score"]:
        mean = statistics.fmean(values)
        half_width = 1.96 * statistics.stdev(values) / math.sqrt({"a": 4, "b": 2}[method])
        row = rows.loc[method, ["estimate", "conf_low", "conf_high"]]
        assert row.to_list() == pytest.approx([mean, mean - half_width, mean + half_width], rel=1e-12)


def test_one_row_has_no_limits():
    rows = means_with_published_interval(
        pd.DataFrame({"m": ["a"], "case": ["i"], "score": [0.3]}), ["m"], "score", "case"
    )
    assert rows["estimate"].item() == 0.3
    assert rows[["conf_low", "conf_high"]].isna().all(axis=None)


def test_chance_is_0_of_correlations_and_one_half_of_areas():
    intervals = pd.DataFrame(
        {
            "metric": ["sncc", "sauc"],
            "published_conf_low": [0.1, 0.4], "published_conf_high": [0.3, 0.6],
            "conf_low": [-0.1, 0.45], "conf_high": [0.5, 0.55],
        }
    )  # fmt: skip
    rows = add_width_ratio_and_excludes_chance_columns(intervals)
    assert np.isclose(rows["width_ratio"], [3, 0.5]).all()
    assert rows["published_excludes_chance"].tolist() == [True, False]
    assert rows["excludes_chance"].tolist() == [False, False]
    # limits belong to the interval
    at_chance = add_width_ratio_and_excludes_chance_columns(
        intervals.assign(conf_low=[0, 0.4], conf_high=[0.5, 0.5])
    )
    assert at_chance["excludes_chance"].tolist() == [False, False]
    below_chance = add_width_ratio_and_excludes_chance_columns(
        intervals.assign(conf_low=-0.3, conf_high=[-0.1, 0.4])
    )
    assert below_chance["excludes_chance"].tolist() == [True, True]


def test_metrics_that_reward_the_centre_have_the_same_chance():
    limits = {"published_conf_low": -0.1, "published_conf_high": 0.1, "conf_low": 0.4, "conf_high": 0.6}
    rows = add_width_ratio_and_excludes_chance_columns(pd.DataFrame({"metric": ["ncc", "auc"], **limits}))
    assert rows["published_excludes_chance"].tolist() == [False, True]
    assert rows["excludes_chance"].tolist() == [True, False]


def test_a_width_of_zero_has_no_ratio():
    rows = pd.DataFrame(
        {
            "metric": ["sncc"], "published_conf_low": 0.2, "published_conf_high": 0.2,
            "conf_low": 0.1, "conf_high": 0.3,
        }
    )  # fmt: skip
    assert add_width_ratio_and_excludes_chance_columns(rows)["width_ratio"].isna().all()

"""Descriptions against a hand-worked example and NumPy; boxes worked by hand after R's rules."""

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnError
from salstats.stats.descriptions import box_values, density_curves, describe, gaussian_density

# the same sums in another order
ROUNDING = 1e-12


def scores_of(values, metric="iou"):
    return pd.DataFrame(
        {
            "case": [f"c{i}" for i in range(len(values))],
            "method": "gradcam",
            "metric": metric,
            "score": np.array(values, dtype=float),
        }
    )


def test_every_number_is_numpys(drawn_scores):
    result = describe(drawn_scores.sample(frac=1, random_state=1)).set_index(["metric", "method", "task"])
    for key, rows in drawn_scores.groupby(["metric", "method", "task"]):
        values = rows["score"].dropna().to_numpy()
        expected = {
            "n": len(values),
            "n_missing": len(rows) - len(values),
            "n_units": rows.dropna(subset="score")["patient"].nunique(),
            "mean": values.mean(),
            "sd": values.std(ddof=1),
            "median": np.median(values),
            "q1": np.quantile(values, 0.25),
            "q3": np.quantile(values, 0.75),
            "min": values.min(),
            "max": values.max(),
            "n_zero": (values == 0).sum(),
            "share_zero": (values == 0).mean(),
            "n_one": (values == 1).sum(),
            "share_one": (values == 1).mean(),
        }
        for column, value in expected.items():
            np.testing.assert_allclose(
                result.loc[key, column], value, rtol=ROUNDING, err_msg=f"{key} {column}"
            )
        assert result.loc[key, "binary"] == (key[0] == "hit")
        assert result.loc[key, "unit"] == "patient"


def test_a_group_without_defined_scores_stays_as_a_row_of_nan():
    scores = pd.concat([scores_of([np.nan, np.nan], "iou"), scores_of([1.0, 1.0], "hit")])
    result = describe(scores).set_index("metric")
    assert result.loc["iou", ["n", "n_missing", "n_units", "n_zero"]].tolist() == [0, 2, 0, 0]
    assert result.loc["iou", ["mean", "sd", "median", "q1", "q3", "min", "max", "share_one"]].isna().all()
    assert not result.loc["iou", "binary"]
    assert describe(scores_of([np.nan]))["n"].tolist() == [0]


def test_metrics_are_never_mixed_and_methods_only_with_a_warning(drawn_scores):
    with raises(ColumnError, column="metric", value=["iou", "hit"]):
        describe(drawn_scores, by="task")
    hits = drawn_scores[drawn_scores["metric"] == "hit"]
    with warns(column="method", value=["gradcam", "human"]):
        describe(hits, by="task")


def box_scores_of(values, **columns):
    cases = [f"c{i:02d}" for i in range(len(values))]
    return pd.DataFrame({"case": cases, "method": "gradcam", "metric": "hd95", "score": values, **columns})


def test_whiskers_end_at_the_furthest_score_within_one_and_a_half_ranges():
    # quartiles of type 7 are 3.5 and 8.5, so the fences are at -4 and 16
    boxes, outside = box_values(box_scores_of([*map(float, range(1, 11)), 20.0]))
    row = boxes.iloc[0]
    assert row[["whisker_low", "q1", "median", "q3", "whisker_high"]].tolist() == [1, 3.5, 6, 8.5, 10]
    assert row["n_outside"] == 1
    assert outside["score"].tolist() == [20.0]
    assert list(outside.columns) == [*boxes.columns[: boxes.columns.get_loc("n")], "score"]


def test_a_whisker_never_ends_inside_the_box():
    # q3 = 2.5 and the fence 6.25: ggplot2 keeps the whisker at the box although the next score is 0
    boxes, outside = box_values(box_scores_of([0.0, 0.0, 0.0, 10.0]))
    assert boxes["whisker_high"].iloc[0] == boxes["q3"].iloc[0] == 2.5
    assert outside["score"].tolist() == [10.0]


def test_groups_are_those_of_describe():
    scores = ss.datasets.load_simulated()
    boxes, outside = box_values(scores, ["metric", "method"])
    described = ss.describe(scores, by=["metric", "method"])
    pd.testing.assert_frame_equal(boxes[described.columns], described)
    for row in boxes.itertuples():
        group = scores.query("metric == @row.metric and method == @row.method")["score"].dropna()
        beyond = group[(group < row.whisker_low) | (group > row.whisker_high)]
        shown = outside.query("metric == @row.metric and method == @row.method")["score"]
        assert sorted(shown) == sorted(beyond)
        assert row.n_outside == len(beyond)


def test_densities_are_those_of_scipy_with_silvermans_bandwidth():
    values = np.random.default_rng(0).gamma(2.0, size=40)
    quartiles = np.quantile(values, [0.25, 0.75])
    bandwidth = 0.9 * min(values.std(ddof=1), (quartiles[1] - quartiles[0]) / 1.34) * 40**-0.2
    # scipy takes the bandwidth in standard deviations
    expected = gaussian_kde(values, bandwidth / values.std(ddof=1))
    curve = density_curves(pd.DataFrame({"group": "a", "score": values}), "score", ["group"])
    np.testing.assert_allclose(curve["density"], expected(curve["value"]), rtol=1e-12)
    assert (curve["value"].iloc[0], curve["value"].iloc[-1]) == (values.min(), values.max())


def test_equal_values_have_no_density_and_undefined_ones_are_left_out():
    frame = pd.DataFrame({"group": list("aaabbb"), "score": [0.5, 0.5, np.nan, 0.1, 0.9, np.nan]})
    curves = density_curves(frame, "score", ["group"])
    assert set(curves["group"]) == {"b"}
    assert density_curves(frame.iloc[:3], "score", ["group"]).empty


def test_density_of_values_more_than_half_of_which_are_equal_takes_the_standard_deviation():
    values = np.array([0.0] * 8 + [1.0, 2.0])
    bandwidth = 0.9 * values.std(ddof=1) * 10**-0.2
    expected = gaussian_kde(values, bandwidth / values.std(ddof=1))([0.0, 1.5])
    np.testing.assert_allclose(gaussian_density(values, np.array([0.0, 1.5])), expected, rtol=1e-12)


def test_curves_of_groups_stand_in_the_order_of_the_frame():
    rows = pd.DataFrame({"method": list("bbbaaacc"), "score": [0.1, 0.2, 0.4, 0.3, 0.5, np.nan, 0.7, 0.7]})
    curves = density_curves(rows, "score", ["method"])
    assert curves["method"].unique().tolist() == ["b", "a"]
    for method, values in (("b", [0.1, 0.2, 0.4]), ("a", [0.3, 0.5])):
        curve = curves[curves["method"] == method]
        assert (curve["value"].min(), curve["value"].max()) == (min(values), max(values))
        np.testing.assert_array_equal(
            curve["density"], gaussian_density(np.array(values), curve["value"].to_numpy())
        )

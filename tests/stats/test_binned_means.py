"""Means in bins against pandas' quantile bins, and intervals of `summarize`."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError
from salstats.stats.binned_means import binned_means, quantile_bin_numbers


def table(n=60):
    """A tidy table of hits along x."""
    rng = np.random.default_rng(5)
    x = rng.random(n)
    return pd.DataFrame({"x": x, "y": (rng.random(n) < x).astype(float)})


def test_bins_are_those_of_pandas():
    values = np.random.default_rng(0).random(101)
    # pandas' bins are closed above and these below; the values have no ties, but may be borders
    expected = pd.qcut(-values, 5, labels=False)
    np.testing.assert_array_equal(quantile_bin_numbers(values, 5), 4 - expected)


def test_equal_values_are_in_one_bin():
    bins = quantile_bin_numbers(np.array([0.0] * 8 + [1.0, 2.0]), 2)
    assert set(bins[:8]) == {bins[0]}


def test_rates_of_bins_are_means_and_their_intervals_those_of_summarize():
    data = table()
    rates = binned_means(data, "x", "y", panels=[], groups=[], bin_per_distinct_x=False)
    bins = pd.qcut(data["x"], 5, labels=False)
    np.testing.assert_allclose(rates["estimate"], data["y"].groupby(bins).mean())
    np.testing.assert_allclose(rates["x_mean"], data["x"].groupby(bins).mean())
    scores = data.assign(case=range(60), method="a", metric="hit", score=data["y"], bin=bins)
    expected = ss.summarize(scores, by=["method", "metric", "bin"])
    np.testing.assert_allclose(rates[["conf_low", "conf_high"]], expected[["conf_low", "conf_high"]])


def test_groups_may_be_called_x_but_not_as_a_column_of_the_result():
    data = table().rename(columns={"x": "size"}).assign(site=["a", "b"] * 30)
    expected = binned_means(data, "size", "y", panels=["site"], groups=[], bin_per_distinct_x=False)
    rates = binned_means(
        data.rename(columns={"site": "x"}), "size", "y", panels=["x"], groups=[], bin_per_distinct_x=False
    )
    pd.testing.assert_frame_equal(rates.rename(columns={"x": "site"}), expected)
    for name in ("bin", "score", "unit"):
        with raises(ColumnError, column=name):
            binned_means(
                data.assign(**{name: data["site"]}),
                "size",
                "y",
                panels=[name],
                groups=[],
                bin_per_distinct_x=True,
            )


@pytest.mark.parametrize(("n", "n_bins"), [(12, 2), (35, 3), (200, 5)])
def test_fewer_rows_have_fewer_bins(n, n_bins):
    rates = binned_means(table(n), "x", "y", panels=[], groups=[], bin_per_distinct_x=False)
    assert len(rates) == n_bins


def test_the_smallest_group_of_a_panel_decides_how_many_bins_it_has():
    # panel p: one row of method a, and two bins although b has 59; panel q has no rows of a
    data = table(110).assign(task=["p"] * 60 + ["q"] * 50, method=["a"] + ["b"] * 109)
    rates = binned_means(data, "x", "y", panels=["task"], groups=["method"], bin_per_distinct_x=False)
    assert rates.groupby("task")["bin"].nunique().to_dict() == {"p": 2, "q": 5}


def test_methods_share_the_bins_of_a_panel_and_patients_are_the_units():
    scores = ss.datasets.load_simulated()
    rates = binned_means(scores, "prob", "hit", panels=["task"], groups=["method"], bin_per_distinct_x=False)
    assert set(rates["unit"]) == {"patient"}
    assert (rates["n_units"] <= rates["n"]).all()
    hits = scores.query("metric == 'hit'").dropna(subset=["score", "prob"])
    counts = hits.groupby(["task", "method"]).size()
    assert (rates.groupby(["task", "method"])["n"].sum() == counts).all()
    assert "caution" not in rates.columns or not rates["caution"].eq("different cases").any()


def test_each_value_is_a_bin_where_asked():
    data = table().assign(x=lambda frame: (3 * frame["x"]).round())
    rates = binned_means(data, "x", "y", panels=[], groups=[], bin_per_distinct_x=True)
    assert rates["x_mean"].tolist() == sorted(data["x"].unique())


def test_rows_that_repeat_a_case_count_as_one_unit():
    data = table().assign(case=np.repeat([f"c{i}" for i in range(15)], 4))
    rates = binned_means(data, "x", "y", panels=[], groups=[], bin_per_distinct_x=False)
    assert rates["n"].sum() == 60
    assert set(rates["unit"]) == {"case"}
    assert rates["n_units"].max() <= 15

"""Medians against R's quantiles, and their limits against shares whose intervals hold one half."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from tests_support import default_numbers_and_flags, raises, warns

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, ValueRangeError
from salstats.stats.engine.quantile_limits import (
    quantile_limits_by_alpha,
    share_and_variance_at_or_below_distinct_scores,
)

REFERENCE = Path(__file__).parents[1] / "reference" / "quantreg"


@pytest.fixture(scope="module")
def paired():
    wide = pd.read_csv(REFERENCE / "scores.csv")
    long = wide.melt("case", ["a", "b"], var_name="method", value_name="score")
    return long.assign(metric="iou")


@pytest.fixture(scope="module")
def clustered():
    """Scores of two methods with lumps at 0, of patients with one to five cases."""
    rng = np.random.default_rng(11)
    patient = np.repeat(np.arange(24), rng.integers(1, 6, 24))
    own = rng.normal(size=24)[patient]
    rows = []
    for method, shift in (("cam", 0.0), ("human", 0.6)):
        z = own + rng.normal(size=len(patient)) + shift
        score = np.where(z < -0.5, 0.0, np.round(1 / (1 + np.exp(-z)), 3))
        rows.append(pd.DataFrame({"patient": patient, "method": method, "score": score}))
        rows[-1]["case"] = [f"c{i:02d}" for i in range(len(patient))]
    return pd.concat(rows, ignore_index=True).astype({"patient": str}).assign(metric="iou")


@pytest.mark.parametrize("quantile", [0.1, 0.25, 0.5, 0.75, 0.9])
def test_quantiles_are_those_of_r(paired, quantile):
    expected = pd.read_csv(REFERENCE / "quantiles.csv").query("quantile == @quantile").set_index("method")
    ours = ss.medians(paired, by="method", quantile=quantile).set_index("method")
    np.testing.assert_array_equal(ours["estimate"], expected["type2"])
    # regression quantiles of a constant are the same where one score is the quantile
    np.testing.assert_array_equal(ours["estimate"], expected["rq"])
    assert set(ours["term"]) == {"median" if quantile == 0.5 else "quantile"}


@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.75])
def test_limits_of_independent_scores_are_near_those_of_order_statistics(paired, quantile):
    exact = pd.read_csv(REFERENCE / "quantiles.csv").query("quantile == @quantile").set_index("method")
    ours = ss.medians(paired, by="method", quantile=quantile).set_index("method")
    for method in ("a", "b"):
        ordered = np.sort(paired.loc[paired["method"] == method, "score"])
        for column, theirs in {"conf_low": "order_low", "conf_high": "order_high"}.items():
            place = np.searchsorted(ordered, [ours[column][method], exact[theirs][method]])
            # Wilson's interval of a share and Clopper and Pearson's differ by a score or two of 61
            assert abs(int(place[0]) - int(place[1])) <= 2


@pytest.mark.parametrize("quantile", [0.3, 0.5])
def test_limits_are_the_scores_at_which_the_share_may_be_the_probability(clustered, quantile):
    cam = clustered[clustered["method"] == "cam"]
    found = ss.medians(cam, by="method", quantile=quantile).iloc[0]

    def taken_at(value):
        below, tied = cam["score"] < value, cam["score"] == value
        return below + np.clip((len(cam) * quantile - below.sum()) / tied.sum(), 0, 1) * tied

    def squares_at(taken):
        sums = (taken - taken.mean()).groupby(cam["patient"]).sum().to_numpy()
        return sums**2 / (1 - cam.groupby("patient").size().to_numpy() / len(cam))

    values = np.unique(cam["score"])
    shares = np.array([taken_at(v).mean() for v in values])
    squares = squares_at(taken_at(values[np.abs(shares - quantile).argmin()]))
    around = (squares**2).sum() - squares.sum() ** 2 / len(squares)
    kurtosis_df = 2 * squares.sum() ** 2 / around

    def held(taken):
        """Whether Wilson's interval, with CR2's variance written out, holds the probability."""
        n, sizes = len(cam), cam.groupby("patient").size().to_numpy()
        share = taken.mean()
        if share in (0, 1):
            return False
        variance = squares_at(taken).sum() / n**2
        # Satterthwaite's degrees of freedom from the matrix of the quadratic form
        weights = 1 / np.sqrt(1 - sizes / n) / n
        form = np.diag(weights**2 * sizes) - np.outer(weights * sizes, weights * sizes) / n
        df = min(np.trace(form) ** 2 / (form**2).sum(), kurtosis_df)
        z2 = stats.t.ppf(0.975, df) ** 2
        size = share * (1 - share) / variance
        # the values p at which (share - p)^2 = z2 p (1 - p) / size
        reach = lambda p: (share - p) ** 2 - z2 * p * (1 - p) / size  # noqa: E731
        return optimize.brentq(reach, 0, share) <= quantile <= optimize.brentq(reach, share, 1)

    ok = [value for value in values if held(taken_at(value))]
    assert (found["conf_low"], found["conf_high"]) == (min(ok), max(ok))
    assert found["unit"] == "patient"
    assert found["n_units"] == 24


def test_the_difference_combines_both_limits_and_what_units_share(clustered):
    found = ss.median_difference(clustered, reference="human", by="metric").iloc[0]
    both = ss.medians(clustered, by="method").set_index("method")
    wide = clustered.pivot(index=["patient", "case"], columns="method", values="score")
    medians = wide.median()
    assert found["estimate"] == pytest.approx(medians["cam"] - medians["human"], abs=1e-15)
    parts = []
    for method in ("cam", "human"):
        score, median = wide[method], medians[method]
        # of the scores tied with the median as many are below as make a half
        at = np.sort(score)[(len(score) - 1) // 2]
        below, tied = score < at, score == at
        taken = below + np.clip((len(score) / 2 - below.sum()) / tied.sum(), 0, 1) * tied
        parts.append((taken - taken.mean()).groupby(level="patient").sum())
        assert below.mean() <= 0.5 <= (score <= median).mean()
    r = (parts[0] * parts[1]).sum() / np.sqrt((parts[0] ** 2).sum() * (parts[1] ** 2).sum())
    units, alphas = pd.factorize(wide.index.get_level_values("patient"))[0], np.linspace(1, 0.05, 20_001)
    (lx, ux), (ly, uy) = (
        quantile_limits_by_alpha(
            share_and_variance_at_or_below_distinct_scores(wide[m].to_numpy(), units, 24, 0.5, (0.0, 1.0)),
            alphas,
        )
        for m in ("cam", "human")
    )
    x, y = both.loc["cam"], both.loc["human"]
    assert (lx[-1], ux[-1], ly[-1], uy[-1]) == tuple(
        row[c] for row in (x, y) for c in ("conf_low", "conf_high")
    )
    # of this and all lower levels, none of which has a limit on the other side of its median
    for limit, own, other in (
        ("conf_low", x["estimate"] - lx, uy - y["estimate"]),
        ("conf_high", ux - x["estimate"], y["estimate"] - ly),
    ):
        own, other = np.fmax(own, 0), np.fmax(other, 0)
        reach = np.sqrt(own**2 + other**2 - 2 * r * own * other)
        assert abs(found[limit] - found["estimate"]) == pytest.approx(reach.max(), abs=1e-12)
        assert reach[-1] <= reach.max()


def test_equal_scores_do_not_differ(clustered):
    one = clustered[clustered["method"] == "cam"]
    twins = pd.concat([one, one.assign(method="human")], ignore_index=True)
    row = ss.median_difference(twins, reference="human", by="metric").iloc[0]
    assert row["conf_low"] <= row["estimate"] == 0 <= row["conf_high"]
    assert row["p_value"] == pytest.approx(1)
    assert row["verdict"] == "inconclusive"


@pytest.fixture
def constant():
    """Scores of 0.2 and of 0.5 in each of 30 cases."""
    cases = [f"c{i:02d}" for i in range(30)]
    methods = [
        pd.DataFrame({"case": cases, "method": m, "score": s}) for m, s in (("cam", 0.2), ("human", 0.5))
    ]
    return pd.concat(methods, ignore_index=True).assign(metric="iou")


def test_equal_scores_have_limits_of_no_width_and_a_verdict_that_agrees_with_the_p_value(constant):
    row = ss.median_difference(constant, reference="human", by=()).iloc[0]
    assert row["conf_low"] == row["conf_high"] == pytest.approx(-0.3)
    # that all 30 cases are on one side has a share of 0 or 1: t = 0.5 sqrt(30 / 0.25)
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(0.5 * np.sqrt(30 / 0.25), 29))
    assert row["verdict"] == "lower"
    few = constant[constant["case"] < "c05"]
    with warns(option="interval", column="n_units", rows=(0,)):
        row = ss.median_difference(few, reference="human", by=()).iloc[0]
    assert row["p_value"] > 0.05
    assert row["verdict"] == "inconclusive"


@pytest.mark.parametrize("interval", ["percentile", "normal"])
def test_equal_replicates_are_inconclusive(constant, interval):
    options = {"interval": interval, "n_replicates": 100}
    with warns(option="interval", value=interval, column="score", rows=(0,)):
        row = ss.median_difference(constant, reference="human", by=(), **options).iloc[0]
    assert row["conf_low"] == pytest.approx(row["conf_high"])
    assert row["verdict"] == "inconclusive"
    with warns(option="interval", value=interval, column="score", rows=(0, 1)):
        ss.medians(constant, by="method", **options)


def test_p_values_are_adjusted_only_where_the_interval_has_them(clustered):
    options = {"reference": "human", "by": "metric", "adjust": "holm"}
    assert "p_adjusted" in ss.median_difference(clustered, **options)
    with raises(SalstatsError, option="adjust", value="holm", choices=("mover",)):
        ss.median_difference(clustered, interval="percentile", n_replicates=50, **options)


def test_replicates_draw_units_and_count_each_as_often(clustered):
    cam = clustered[clustered["method"] == "cam"]
    rng = np.random.default_rng(4)
    draws = rng.integers(0, 24, (60, 24))
    found = ss.medians(cam, by="method", interval="percentile", level=0.9, draws=draws).iloc[0]
    patients = np.unique(cam["patient"])
    medians = [
        np.median(np.concatenate([cam.loc[cam["patient"] == patients[i], "score"] for i in draw]))
        for draw in draws
    ]
    np.testing.assert_allclose(
        [found["conf_low"], found["conf_high"]], np.quantile(medians, [0.05, 0.95]), rtol=1e-12
    )
    assert found["std_error"] == pytest.approx(np.std(medians, ddof=1), rel=1e-12)


def test_normal_limits_are_shifted_by_the_bias_of_the_replicates(clustered):
    cam = clustered[clustered["method"] == "cam"]
    draws = np.random.default_rng(4).integers(0, 24, (60, 24))
    found = ss.medians(cam, by="method", interval="normal", draws=draws).iloc[0]
    scores_of_patients = [rows.to_numpy() for _, rows in cam.groupby("patient")["score"]]
    medians = [np.median(np.concatenate([scores_of_patients[i] for i in draw])) for draw in draws]
    center = 2 * found["estimate"] - np.mean(medians)
    assert (found["conf_low"] + found["conf_high"]) / 2 == pytest.approx(center, rel=1e-9)


def test_too_few_units_have_the_range_for_limits(clustered):
    few = clustered[(clustered["method"] == "cam") & clustered["patient"].isin(list("12345"))]
    with warns(option="interval", column="n_units", rows=(0,)):
        row = ss.medians(few, by="method").iloc[0]
    assert (row["conf_low"], row["conf_high"]) == (0, 1)
    with warns(option="interval", column="n_units", rows=(0,)):
        row = ss.medians(few.assign(metric="hd95", score=9 * few["score"]), by="method").iloc[0]
    assert (row["conf_low"], row["conf_high"]) == (0, np.inf)


@pytest.mark.parametrize("interval", ["woodruff", "percentile"])
def test_one_unit_has_an_estimate_and_no_limits(clustered, interval):
    one = clustered[(clustered["patient"] == "2") & (clustered["method"] == "cam")]
    with warns(option="interval", value=interval, column="n_units", rows=(0,)):
        row = ss.medians(one, interval=interval, n_replicates=50).iloc[0]
    assert row["estimate"] == np.quantile(one["score"], 0.5, method="averaged_inverted_cdf")
    assert row[["conf_low", "conf_high"]].isna().all()


def test_a_difference_over_units_of_very_unequal_size_is_told(clustered):
    huge = clustered.assign(patient=np.where(clustered["case"] < "c25", "a", clustered["patient"]))
    n_cases = huge.drop_duplicates("case")["patient"].value_counts()
    kish = n_cases.sum() ** 2 / (n_cases**2).sum()
    with warns(column="unit", rows=(0,), value=pytest.approx(kish)):
        ss.median_difference(huge, reference="human", by="metric")


def test_missing_scores_and_pairs_are_counted(clustered):
    scores = clustered.copy()
    scores.loc[[0, 1], "score"] = np.nan
    row = ss.medians(scores[scores["method"] == "cam"], by="method").iloc[0]
    assert (row["n_missing"], row["n"]) == (2, len(scores) // 2 - 2)
    row = ss.median_difference(scores, reference="human", by="metric").iloc[0]
    assert (row["n_missing"], row["n"]) == (2, len(scores) // 2 - 2)
    nothing = scores.assign(score=scores["score"].where(scores["method"] == "human"))
    found = ss.medians(nothing, by="method").set_index("method")
    assert np.isnan(found.loc["cam", ["estimate", "conf_low"]].astype(float)).all()


def test_wrong_options_are_refused(clustered):
    with raises(ValueRangeError, option="quantile"):
        ss.medians(clustered, by="method", quantile=1)
    with raises(ValueRangeError, option="interval", value="mover"):
        ss.medians(clustered, by="method", interval="mover")
    several = pd.concat([clustered, clustered.assign(metric="dice")])
    for function, options in ((ss.medians, {}), (ss.median_difference, {"reference": "human"})):
        with raises(ColumnError, column="metric", value=["iou", "dice"]):
            function(several, by="patient", **options)
    with raises(SalstatsError, option="reference", value="nobody"):
        ss.median_difference(clustered, reference="nobody", by="metric")


def test_tables_and_figures_take_them(clustered):
    medians = ss.medians(clustered, by="method")
    html = ss.table_estimates(medians).as_raw_html()
    assert "Median" in html or "median" in html
    assert "Woodruff" in html or "inverted Wilson" in html
    ss.plot_intervals(medians).draw()
    gap = ss.median_difference(clustered, reference="human", by="metric")
    assert "Difference of medians" in ss.plot_intervals(gap).labels.get("x", "")
    assert "difference of medians" in ss.table_estimates(gap).as_raw_html().lower()


def test_bootstrap_limits_fall_by_what_the_reference_rises(clustered):
    # a metric of an unknown name may have scores above 1
    scores = clustered.assign(metric="gain")
    raised = scores.assign(score=scores["score"] + 0.5 * scores["method"].eq("human"))
    limits = ["estimate", "conf_low", "conf_high"]
    options = {"reference": "human", "by": "metric", "interval": "percentile", "n_replicates": 500}
    before = ss.median_difference(scores, **options)[limits]
    after = ss.median_difference(raised, **options)[limits]
    np.testing.assert_allclose(after, before - 0.5, atol=1e-12)
    mirrored = ss.median_difference(scores, **options | {"reference": "cam"})[limits]
    columns = ["estimate", "conf_high", "conf_low"]
    np.testing.assert_allclose(mirrored, -before[columns], atol=1e-12)


def test_limits_of_an_unknown_metric_end_nowhere_if_either_side_exceeds_1():
    # five cases are too few for limits inside the range
    cases = [f"c{i}" for i in range(5)]
    method = pd.DataFrame({"case": cases, "method": "cam", "metric": "own"})
    method["score"] = np.linspace(0.1, 0.7, 5)
    scores = pd.concat([method, method.assign(method="human", score=np.linspace(2, 6, 5))])
    for reference in ("human", "cam"):
        with pytest.warns(ss.errors.SalstatsWarning):
            found = ss.median_difference(scores, reference=reference)
        assert found[["conf_low", "conf_high"]].to_numpy().tolist() == [[-np.inf, np.inf]]


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.medians) == {
        "quantile": 0.5,
        "level": 0.95,
        "n_replicates": 10_000,
        "rng": 0,
    }
    assert default_numbers_and_flags(ss.median_difference) == {
        "quantile": 0.5,
        "level": 0.95,
        "n_replicates": 10_000,
        "rng": 0,
    }

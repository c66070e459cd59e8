"""Areas under ROC curves against pair-by-pair definitions and a published example."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from salstats.stats.auroc import auroc
from salstats.stats.engine.draws import draw_units
from salstats.stats.engine.roc import (
    area_limits,
    concordant_share_of_each_score,
    exact_p_value_of_separation,
    roc_area_or_difference,
    roc_corners,
    true_positive_rate_replicates,
)

# the example's components are printed to ten digits after the point and divided by 29 and more
PRINTED_COMPONENTS = 1e-11


# the example's results are printed to four digits after the point
PRINTED = 5e-5


# Obuchowski NA, Biometrics 1997;53:567-578, doi:10.2307/2533958: two readers, up to two arteries per patient.
# Below "patient:label reader1 reader2" of the 65 complete records, with the results and components that the
# help page of the author's R function clusteredROC (Cleveland Clinic) prints for them; taken from a public
# transcription of that page.
OBUCHOWSKI_1997 = """
1:1 87 87, 1:1 79 83, 2:1 88 94, 2:1 95 93, 3:1 100 100, 3:1 68 79, 4:1 65 61, 4:1 89 91, 5:1 97 97,
5:1 100 100, 6:1 100 99, 6:1 89 88, 7:1 77 77, 8:1 94 89, 8:0 45 44, 9:1 89 92, 9:0 -11 -17,
10:1 95 91, 10:0 30 14, 11:1 95 95, 11:0 10 -122, 12:1 100 100, 12:0 19 -3, 13:1 75 75, 14:0 70 73,
14:1 70 81, 15:0 26 27, 15:1 86 93, 16:0 0 8, 16:1 65 70, 17:0 6 23, 17:1 100 100, 18:0 76 79,
18:1 96 95, 19:0 44 55, 19:1 100 100, 20:0 73 67, 20:1 97 94, 21:1 85 86, 22:0 58 60, 22:1 100 99,
23:0 -2 -2, 23:1 100 100, 24:0 -3 -14, 24:0 0 -11, 25:0 47 -3, 25:0 -94 -90, 26:0 -16 17, 26:0 75 85,
27:0 5 -22, 27:0 -1 -14, 28:0 -6 -52, 29:0 37 38, 29:0 47 35, 30:0 42 40, 30:0 4 6, 31:0 55 23,
31:0 55 45, 32:0 4 -87, 32:0 -13 -65, 33:0 49 24, 33:0 35 9, 34:0 53 66, 35:0 2 -15, 36:0 -48 -78
"""


@pytest.fixture(scope="module")
def example():
    records = [entry.replace(":", " ").split() for entry in OBUCHOWSKI_1997.split(",")]
    table = pd.DataFrame(records, columns=["patient", "label", "reader1", "reader2"]).astype(int)
    assert len(table) == 65
    assert table["patient"].nunique() == 36
    assert table["label"].sum() == 29
    return table


@pytest.mark.parametrize(
    ("reader", "area", "std_error", "s10", "s01", "s11"),
    [
        ("reader1", 0.9837, 0.0108, 0.0013151307, 0.0022375873, 0.0051785478),
        ("reader2", 0.9852, 0.0097, 0.0009284122, 0.0022598583, -0.0005015760),
    ],
)
def test_clustered_variance_is_the_published_example(example, reader, area, std_error, s10, s01, s11):
    result = auroc(example, reader, "label", unit="patient", interval="obuchowski").loc[0]
    assert result[["n", "n_units", "n_positive", "n_negative"]].tolist() == [65, 36, 29, 36]
    np.testing.assert_allclose(result["estimate"], area, atol=PRINTED)
    np.testing.assert_allclose(result["std_error"], std_error, atol=PRINTED)
    variance = s10 / 29 + s01 / 36 + 2 * s11 / (29 * 36)
    np.testing.assert_allclose(result["std_error"] ** 2, variance, atol=PRINTED_COMPONENTS)


@pytest.mark.slow
def test_clustered_limits_of_few_patients_hold_the_truth():
    """10 patients of 1 to 4 cases with a common label and offset: 1.96 loses more than ten points of 95."""
    rng, n_studies = np.random.default_rng(12), 1000
    truth = stats.norm.cdf(1 / np.sqrt(2))
    covered, with_normal, studies = 0, 0, 0
    while studies < n_studies:
        patients = np.repeat(np.arange(10), rng.integers(1, 5, 10))
        labels = (rng.random(10) < 0.5)[patients]
        scores = labels + rng.normal(0, 0.8, 10)[patients] + rng.normal(0, 0.6, len(patients))
        area = roc_area_or_difference(scores, labels, patients)
        if not area.variance > 0:
            # separated, or too few patients of a class: no limits
            continue
        studies += 1
        distance = abs(area.estimate - truth) / np.sqrt(area.variance)
        covered += distance <= stats.t.ppf(0.975, area.df)
        with_normal += distance <= stats.norm.ppf(0.975)
    # one in 10,000 runs would fall below; the limits are only approximate and may lose five points
    assert covered >= stats.binom.ppf(1e-4, n_studies, 0.9)
    assert with_normal < stats.binom.ppf(1e-4, n_studies, 0.9)


def few_rows(seed=0):
    rng = np.random.default_rng(seed)
    positive = np.arange(14) % 3 == 0
    return rng.integers(0, 6, (2, 14)) + 2.0 * positive, positive


def test_placements_are_the_shares_of_pairs_in_the_right_order():
    (scores, _), positive = few_rows()
    pair_by_pair = (scores[positive][:, None] > scores[~positive]) + 0.5 * (
        scores[positive][:, None] == scores[~positive]
    )
    values = concordant_share_of_each_score(scores, positive)
    np.testing.assert_allclose(values[positive], pair_by_pair.mean(axis=1))
    np.testing.assert_allclose(values[~positive], pair_by_pair.mean(axis=0))


def test_an_area_is_the_mann_whitney_statistic_with_delongs_variance():
    (scores, other), positive = few_rows()
    area = roc_area_or_difference(scores, positive)
    u = stats.mannwhitneyu(scores[positive], scores[~positive]).statistic
    assert area.estimate == pytest.approx(u / (positive.sum() * (~positive).sum()))
    v = concordant_share_of_each_score(scores, positive)
    terms = [v[own].var(ddof=1) / own.sum() for own in (positive, ~positive)]
    assert area.variance == pytest.approx(sum(terms), rel=1e-10)
    # Welch's degrees of freedom
    welch = sum(terms) ** 2 / (terms[0] ** 2 / (positive.sum() - 1) + terms[1] ** 2 / ((~positive).sum() - 1))
    assert area.df == pytest.approx(welch, rel=1e-10)
    assert (area.n_positive, area.n_negative, area.n_rarer) == (5, 9, 5)
    gap = roc_area_or_difference(scores, positive, reference=other)
    assert gap.estimate == pytest.approx(area.estimate - roc_area_or_difference(other, positive).estimate)
    assert gap.reference_area == pytest.approx(roc_area_or_difference(other, positive).estimate)
    difference = v - concordant_share_of_each_score(other, positive)
    expected = sum(difference[own].var(ddof=1) / own.sum() for own in (positive, ~positive))
    assert gap.variance == pytest.approx(expected, rel=1e-10)


def test_obuchowskis_variance_is_its_formula_with_all_three_terms():
    (scores, _), positive = few_rows(1)
    clusters = np.arange(14) % 5
    area = roc_area_or_difference(scores, positive, clusters, obuchowski=True)
    deviation = concordant_share_of_each_score(scores, positive) - area.estimate
    a = np.array([deviation[positive & (clusters == k)].sum() for k in range(5)]) / positive.sum()
    b = np.array([deviation[~positive & (clusters == k)].sum() for k in range(5)]) / (~positive).sum()
    n_a, n_b = (len(np.unique(clusters[own])) for own in (positive, ~positive))
    expected = n_a / (n_a - 1) * (a**2).sum() + n_b / (n_b - 1) * (b**2).sum() + 2 * 5 / 4 * (a * b).sum()
    assert area.variance == pytest.approx(expected, rel=1e-10)
    assert area.df == min(n_a, n_b) - 1


def test_one_class_has_no_area_and_one_cluster_of_a_class_no_variance():
    (scores, _), positive = few_rows()
    assert np.isnan(roc_area_or_difference(scores, np.ones(14, dtype=bool)).estimate)
    clusters = np.where(positive, 99, np.arange(14))
    area = roc_area_or_difference(scores, positive, clusters)
    assert np.isfinite(area.estimate)
    assert np.isnan(area.variance)


def test_the_p_value_of_complete_separation_is_the_exact_one():
    exact = stats.mannwhitneyu([8, 9, 10], [1, 2, 3, 4], method="exact").pvalue
    assert exact_p_value_of_separation(np.array([3]), np.array([4])) == pytest.approx(exact)


def test_limits_of_areas_are_cut_off_or_lie_on_the_scale_of_log_odds():
    area, error = np.array([0.9, 0.5, 1.0, 0.7]), np.array([0.08, 0.1, 0.1, 0.0])
    low, high = area_limits(area, error, 2.0)
    np.testing.assert_allclose(low, [0.74, 0.3, 0.8, np.nan])
    np.testing.assert_allclose(high, [1.0, 0.7, 1.0, np.nan])
    low, high = area_limits(area, error, 2.0, on_logit=True)
    odds = 9 * np.exp(np.array([-2, 2]) * 0.08 / 0.09)
    np.testing.assert_allclose([low[0], high[0]], odds / (1 + odds))
    assert np.isnan([*low[2:], *high[2:]]).all()


def test_corners_of_a_curve_leave_out_points_on_a_line():
    scores = np.array([0.9, 0.8, 0.7, 0.7, 0.4, 0.3])
    positive = np.array([True, True, True, False, False, True])
    corners = roc_corners(scores, positive)
    # two steps up are one line, and a positive and a negative of one score make a slanted step
    assert corners.true_positive_rate.tolist() == [0, 0.5, 0.75, 0.75, 1]
    assert corners.false_positive_rate.tolist() == [0, 0, 0.5, 1, 1]
    assert corners.thresholds.tolist() == [np.inf, 0.8, 0.7, 0.4, 0.3]


def test_replicates_of_a_curve_are_read_where_it_is_highest():
    rng = np.random.default_rng(3)
    scores, positive, clusters = (
        np.round(rng.normal(size=40), 1),
        rng.random(40) < 0.4,
        rng.integers(0, 15, 40),
    )
    rates = np.array([0.0, 0.1, 0.25, 0.5, 1.0])
    found = true_positive_rate_replicates(
        scores, positive, clusters, rates, n_replicates=30, rng=np.random.default_rng(1)
    )
    distinct = np.unique(clusters)
    drawn = draw_units(30, len(distinct), np.random.default_rng(1))
    for replicate, units in zip(found, drawn, strict=True):
        rows = np.concatenate([np.flatnonzero(clusters == distinct[unit]) for unit in units])
        curve = roc_corners(scores[rows], positive[rows])
        for rate, value in zip(rates, replicate, strict=True):
            is_there = np.abs(curve.false_positive_rate - rate) < 1e-9
            if is_there.any():
                expected = curve.true_positive_rate[is_there].max()
            else:
                expected = np.interp(rate, curve.false_positive_rate, curve.true_positive_rate)
            assert value == pytest.approx(expected, abs=1e-9)


def test_a_replicate_of_one_label_has_no_curve():
    found = true_positive_rate_replicates(
        np.array([0.2, 0.8]),
        np.array([False, True]),
        np.arange(2),
        np.array([0.5]),
        40,
        np.random.default_rng(0),
    )
    # half of the draws of two take one row twice
    assert 8 < np.isnan(found).sum() < 32
    assert (found[~np.isnan(found)] == 1).all()


def test_areas_without_variance_have_none():
    separated = roc_area_or_difference(
        np.array([0.9, 0.8, 0.2, 0.1]), np.array([True, True, False, False]), np.arange(4)
    )
    assert (separated.estimate, separated.variance) == (1.0, 0.0)
    assert np.isnan(separated.df)

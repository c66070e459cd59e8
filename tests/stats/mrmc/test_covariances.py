"""Covariances of figures against R, published formulas written out, and what they estimate."""

import itertools

import numpy as np
import pytest
from mrmc_readings import area, readings, some_ratings

from salstats.stats.auroc import roc_area_or_difference
from salstats.stats.mrmc import figures_of_merit
from salstats.stats.mrmc.covariances import BY_NAME, BootstrapOptions, unbiasing_factors_of_cell_pairs
from salstats.stats.mrmc.figures_of_merit import ReaderReadings

ROUNDING = 1e-12
#: R's 15 to 17 digits of numbers near 1e-4.
PRINTED = 1e-15
PATIENTS = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6, 6])
NONE = BootstrapOptions(0, np.random.default_rng(0))


def estimated(name, figure, own, bootstrap_options=NONE):
    return BY_NAME[name].kernel(own, figures_of_merit.BY_NAME[figure], bootstrap_options)


@pytest.fixture(scope="module")
def vandyke(r_data):
    """Two treatments by five readers, 114 cases; cells in the order of R's matrix."""
    table = r_data("vandyke")
    wide = table.pivot(index="case", columns=["treatment", "reader"], values="rating").sort_index(axis=1)
    truth = table.drop_duplicates("case").set_index("case")["truth"].loc[wide.index]
    return readings(wide.to_numpy(), truth.to_numpy() == 1)


@pytest.mark.parametrize("name", ["jackknife", "delong"])
def test_covariances_of_areas_are_those_of_r(name, vandyke, r_expected):
    rows = r_expected("mrmc_cov")
    expected = rows.loc[rows["set"] == f"vandyke_auc_{name}", "cov"].to_numpy().reshape(10, 10)
    np.testing.assert_allclose(estimated(name, "auc", vandyke), expected, atol=PRINTED)


def test_the_jackknife_of_means_is_their_covariance():
    scores, _ = some_ratings()
    np.testing.assert_allclose(
        estimated("jackknife", "mean", readings(scores)), np.cov(scores.T) / 14, atol=ROUNDING
    )


@pytest.mark.parametrize("figure", figures_of_merit.FIGURES)
def test_the_jackknife_leaves_out_a_patient(figure):
    """Efron's formula, over what is left without each of seven patients."""
    scores, positive = some_ratings()

    def values(left):
        own, truth = scores[left], positive[left]
        return [area(c, truth) if figure == "auc" else c.mean() for c in own.T]

    without = np.array([values(PATIENTS != patient) for patient in range(7)])
    expected = 6 / 7 * (without - without.mean(axis=0)).T @ (without - without.mean(axis=0))
    own = readings(scores, positive, PATIENTS)
    np.testing.assert_allclose(estimated("jackknife", figure, own), expected, atol=ROUNDING)


def test_delong_of_patients_is_obuchowskis():
    """Variances of cells and of differences are those of `roc_area_or_difference`, checked on her example."""
    scores, positive = some_ratings()
    found = estimated("delong", "auc", readings(scores, positive, PATIENTS))
    for i, j in itertools.combinations(range(4), 2):
        both = roc_area_or_difference(
            scores[:, i], positive, PATIENTS, reference=scores[:, j], obuchowski=True
        )
        assert found[i, i] + found[j, j] - 2 * found[i, j] == pytest.approx(both.variance, abs=ROUNDING)
        alone = roc_area_or_difference(scores[:, i], positive, PATIENTS, obuchowski=True)
        assert found[i, i] == pytest.approx(alone.variance, abs=ROUNDING)


@pytest.mark.parametrize(("n", "missing"), [(10, 0), (10, 6), (9, 0)])
def test_unbiased_covariances_are_gallas_u_statistics(n, missing):
    """A_c A_d less the mean product of comparisons without a case in common, by loops."""
    scores, positive = some_ratings(n, missing)
    found = estimated("unbiased", "auc", readings(scores, positive))
    cases, others = np.flatnonzero(positive), np.flatnonzero(~positive)

    def won(a, b, cell):
        return float((scores[a, cell] > scores[b, cell]) + (scores[a, cell] == scores[b, cell]) / 2)

    def read(cell, *those):
        return not np.isnan(scores[list(those), cell]).any()

    for c, d in itertools.product(range(4), repeat=2):
        products = [
            won(a, b, c) * won(e, f, d)
            for a, b, e, f in itertools.product(cases, others, cases, others)
            if a != e and b != f and read(c, a, b) and read(d, e, f)
        ]
        areas = area(scores[:, c], positive) * area(scores[:, d], positive)
        assert found[c, d] == pytest.approx(areas - np.mean(products), abs=ROUNDING)


def test_unbiased_covariances_in_blocks_are_the_same(monkeypatch):
    own = readings(*some_ratings(missing=3))
    whole = estimated("unbiased", "auc", own)
    monkeypatch.setattr("salstats.stats.mrmc.figures_of_merit._BLOCK", 1)
    np.testing.assert_allclose(estimated("unbiased", "auc", own), whole, atol=ROUNDING)


def test_the_factor_makes_covariances_of_means_unbiased():
    """Over all samples of 4 of 2-valued pairs, with one reading missing in each cell."""
    values = np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]])
    chances = np.array([0.5, 0.3, 0.2])
    found, truth, mean = 0.0, 0.0, np.zeros(2)
    for sample in itertools.product(range(3), repeat=4):
        scores = values[list(sample)].copy()
        scores[0, 0] = scores[3, 1] = np.nan
        own = ReaderReadings(scores, np.arange(2), np.zeros(2, int), np.arange(4), np.ones(4, bool))
        chance = chances[list(sample)].prod()
        found += chance * estimated("jackknife", "mean", own)[0, 1]
        means = np.nanmean(scores, axis=0)
        truth += chance * means.prod()
        mean += chance * means
    assert found == pytest.approx(truth - mean.prod(), abs=ROUNDING)


def test_cells_without_a_case_in_common_have_no_covariance():
    scores, positive = some_ratings()
    scores[:7, :2] = np.nan
    scores[7:, 2:] = np.nan
    for name, record in BY_NAME.items():
        if name == "bootstrap":
            continue
        own = readings(scores, positive)
        for figure in record.figures:
            found = estimated(name, figure, own)
            assert np.abs(found[:2, 2:]).max() <= ROUNDING, (name, figure)
            assert np.diag(found).sum() > 0


def test_the_factor_of_complete_cells_is_bessels():
    np.testing.assert_allclose(
        unbiasing_factors_of_cell_pairs(np.ones((8, 3), bool)), np.full((3, 3), 8 / 7), atol=ROUNDING
    )


@pytest.mark.parametrize("figure", figures_of_merit.FIGURES)
def test_the_bootstrap_is_the_covariance_of_its_replicates(figure):
    scores, positive = some_ratings(20)
    found = estimated(
        "bootstrap", figure, readings(scores, positive), BootstrapOptions(60, np.random.default_rng(5))
    )
    draws = np.random.default_rng(5).integers(0, 20, size=(60, 20), dtype=np.int32)
    replicates = [[area(c, positive[d]) if figure == "auc" else c.mean() for c in scores[d].T] for d in draws]
    np.testing.assert_allclose(found, np.cov(np.transpose(replicates)), atol=ROUNDING)


def test_replicates_without_positives_are_left_out():
    scores, positive = some_ratings(8)
    few = positive & (np.arange(8) < 4)
    found = estimated(
        "bootstrap", "auc", readings(scores, few), BootstrapOptions(200, np.random.default_rng(5))
    )
    assert np.isfinite(found).all()

import numpy as np
import pytest
from agreement_readings import alone
from scipy import optimize, stats
from statsmodels.stats.inter_rater import cohens_kappa

from salstats.stats.agreement import kappas
from salstats.stats.agreement.readings import coefficients_with_wilson_limits, equal_row_weights

ROUNDING = 1e-12
# irrCAC prints five digits
PRINTED = 6e-6
SETS = [(modality, what) for modality in "AB" for what in ("hit", "rating")]


@pytest.fixture
def given(r_data):
    table = r_data("synth2")

    def of(modality, what):
        own = table[table["modality"] == modality]
        return alone(own.pivot(index="case_id", columns="reader", values=what))

    return of


@pytest.fixture
def expected(r_expected):
    table = r_expected("kappa").set_index(["set", "stat"])
    return lambda name, stat: table.loc[(name, stat)]


@pytest.mark.parametrize(("modality", "what"), SETS)
def test_kappas_of_all_readers_are_those_of_irr(given, expected, modality, what):
    own, name = given(modality, what), f"synth2_{modality}_{what}"
    for kernel, stat in (
        (kappas.fleiss_kappa, "fleiss"),
        (kappas.conger_kappa, "fleiss_conger_exact"),
        (kappas.light_kappa, "light"),
    ):
        assert kernel(own, equal_row_weights(own))[0, 0] == pytest.approx(
            expected(name, stat)["value"], abs=ROUNDING
        ), stat
    for kernel, stat in ((kappas.ac1, "cac_gwet_ac1"), (kappas.conger_kappa, "cac_conger")):
        assert kernel(own, equal_row_weights(own))[0, 0] == pytest.approx(
            expected(name, stat)["value"], abs=PRINTED
        ), stat


def test_fleiss_1971(r_data, r_expected):
    codes = r_data("fleiss_diagnoses").to_numpy(dtype=float)
    # made of factors with their own levels: nobody is depressed (1) to the sixth rater, whose 1 is a 2
    codes[:, 5] += 1
    table = r_expected("kappa").set_index(["set", "stat"])["value"].loc["irr_diagnoses"]
    own = alone(codes)
    assert kappas.fleiss_kappa(own, equal_row_weights(own))[0, 0] == pytest.approx(
        table["fleiss"], abs=ROUNDING
    )
    assert kappas.conger_kappa(own, equal_row_weights(own))[0, 0] == pytest.approx(
        table["fleiss_conger_exact"], abs=ROUNDING
    )


@pytest.mark.parametrize(("modality", "what"), SETS)
def test_fleiss_error_and_test_are_those_of_irr(given, expected, modality, what):
    found, table = (
        kappas.fleiss_kappa_with_normal_limits(given(modality, what), 0.95),
        expected(f"synth2_{modality}_{what}", "fleiss"),
    )
    assert found.std_error[0] == pytest.approx(table["se"], rel=1e-11)
    assert found.statistic[0] == pytest.approx(table["z"], rel=1e-11)
    assert found.p_value[0] == pytest.approx(table["p"], rel=1e-9)


@pytest.mark.parametrize(("modality", "what"), SETS)
@pytest.mark.parametrize(
    ("weighting", "stat"), [("unweighted", "unweighted"), ("linear", "equal"), ("quadratic", "squared")]
)
def test_cohen_is_that_of_irr(given, expected, modality, what, weighting, stat):
    whole = given(modality, what)
    own = alone(whole.values[:, :2])
    table = expected(f"synth2_{modality}_{what}_R1R2", f"cohen_{stat}")
    found = kappas.cohen_kappa_with_normal_limits(own, 0.95, weighting)
    assert kappas.cohen_kappa(own, equal_row_weights(own), weighting)[0, 0] == pytest.approx(
        table["value"], abs=ROUNDING
    )
    assert found.statistic[0] == pytest.approx(table["z"], rel=1e-10)
    assert found.p_value[0] == pytest.approx(table["p"], rel=1e-9)


@pytest.mark.parametrize(("modality", "what"), SETS)
def test_cohen_limits_are_those_of_psych(given, expected, modality, what):
    found = kappas.cohen_kappa_with_normal_limits(alone(given(modality, what).values[:, :2]), 0.95)
    table = expected(f"synth2_{modality}_{what}_R1R2", "psych_cohen_unweighted")
    numbers = [found.std_error[0], found.conf_low[0], found.conf_high[0]]
    np.testing.assert_allclose(numbers, table[["se", "lo", "hi"]].to_numpy(float), atol=ROUNDING)


def test_weights_are_by_the_numbers_of_categories_not_by_their_order():
    # nobody gave a 3: by order 2 and 4 would be neighbours
    values = np.array([(1, 1), (2, 4), (4, 4), (5, 4), (2, 2), (1, 2), (5, 5)], dtype=float)
    table = np.zeros((5, 5))
    for first, second in values.astype(int):
        table[first - 1, second - 1] += 1
    own = alone(values)
    for weighting in ("linear", "quadratic"):
        assert kappas.cohen_kappa(own, equal_row_weights(own), weighting)[0, 0] == pytest.approx(
            cohens_kappa(table, wt=weighting, return_results=False), abs=ROUNDING
        )


def test_agreement_of_gaps_is_that_of_the_readings_there_are(drawn):
    values = drawn("rating").values.copy()
    values[::3, 0], values[1::4, 3] = np.nan, np.nan
    rows = [row[~np.isnan(row)] for row in values]
    pairs = [
        np.mean([a == b for i, a in enumerate(row) for j, b in enumerate(row) if i != j]) for row in rows
    ]
    categories = np.unique(np.concatenate(rows))
    shares = np.mean([[(row == c).mean() for c in categories] for row in rows], axis=0)
    own, seen = alone(values), np.mean(pairs)
    chance = (shares**2).sum()
    assert kappas.fleiss_kappa(own, equal_row_weights(own))[0, 0] == pytest.approx(
        (seen - chance) / (1 - chance), abs=ROUNDING
    )
    chance = (shares * (1 - shares)).sum() / (len(categories) - 1)
    assert kappas.ac1(own, equal_row_weights(own))[0, 0] == pytest.approx(
        (seen - chance) / (1 - chance), abs=ROUNDING
    )


@pytest.mark.parametrize(
    ("kernel", "stat"),
    [(kappas.fleiss_kappa, "cac_fleiss"), (kappas.conger_kappa, "cac_conger"), (kappas.ac1, "cac_gwet_ac1")],
)
@pytest.mark.parametrize(("modality", "what"), SETS)
def test_jackknife_error_lies_near_gwets_linearized_one(given, expected, kernel, stat, modality, what):
    # two estimators of one variance, alike to the order of 1 / cases
    found = coefficients_with_wilson_limits(given(modality, what), kernel, 0.95)
    assert found.std_error[0] == pytest.approx(expected(f"synth2_{modality}_{what}", stat)["se"], rel=3 / 60)


@pytest.mark.parametrize(
    ("pairs", "unknown"),
    [
        ((5, 4, 1, 0), False), ((5, 4, 2, 1), False), ((1, 1, 4, 3), False),
        ((5, 4, 0, 0), True), ((9, 1, 0, 0), True), ((9, 0, 1, 0), True),
    ],
)  # fmt: skip
def test_limits_are_the_kappas_that_a_score_test_of_as_many_cases_does_not_reject(pairs, unknown):
    """Numbers of both no, both yes, and one yes of either rater; kappa itself is statsmodels'.

    No variance is known where all agree, or only one pair has a category.
    """

    def kappa(n):
        return cohens_kappa(np.array([[n[0], n[2]], [n[3], n[1]]], dtype=float), return_results=False)

    n, one = sum(pairs), np.eye(4)
    share = (1 + kappa(pairs)) / 2
    if unknown:
        # one pair more that disagrees
        df, more = n - 1, (1 + kappa(pairs + one[3])) / 2
        size = max(more / (1 - more), 1)
    else:
        less = np.concatenate([np.full(pairs[i], kappa(pairs - one[i])) for i in range(4) if pairs[i]])
        squares = (less - less.mean()) ** 2
        df = np.clip(2 * squares.sum() ** 2 / ((squares**2).sum() - squares.sum() ** 2 / n), 1, n - 1)
        size = share * (1 - share) / ((n - 1) / n * squares.sum() / 4)
    t2 = stats.t.ppf(0.975, df) ** 2
    away = lambda p: (share - p) ** 2 - t2 * p * (1 - p) / size  # noqa: E731
    low = optimize.brentq(away, 0, share - 1e-9, xtol=1e-14)
    high = optimize.brentq(away, share + 1e-9, 1, xtol=1e-14) if share < 1 else 1
    values = np.repeat([[0, 0], [1, 1], [0, 1], [1, 0]], pairs, axis=0)
    found = coefficients_with_wilson_limits(alone(values), kappas.cohen_kappa, 0.95)
    assert found.conf_low[0] == pytest.approx(2 * low - 1, abs=1e-10)
    assert found.conf_high[0] == pytest.approx(2 * high - 1, abs=1e-10)
    assert (found.p_value[0] < 0.05) == (found.conf_low[0] > 0)


def test_undefined_where_all_give_the_same_category():
    own = alone(np.ones((5, 2)))
    for kernel in (
        kappas.cohen_kappa,
        kappas.fleiss_kappa,
        kappas.conger_kappa,
        kappas.light_kappa,
        kappas.ac1,
    ):
        value = kernel(own, equal_row_weights(own))[0, 0]
        # AC1 has no chance to correct for where there is one category
        assert value == 1 if kernel is kappas.ac1 else np.isnan(value)

"""Ranking schemes, significance maps and tau against challengeR's definitions, run in R."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, ValueRangeError
from salstats.stats.engine.inference_options import checked_options
from salstats.stats.engine.rank_schemes import (
    RECORDS,
    SCHEMES,
    TIES,
    GroupScores,
    kendall_tau,
    make_signed_rank_test,
    make_significant_win_share_function,
)
from salstats.stats.engine.rankings import RankingOptions, values_to_rank_methods_by

REFERENCE = Path(__file__).parents[2] / "reference" / "challenger"
#: R prints 15 digits.
EXACT = 1e-12


@pytest.fixture(scope="module")
def scores():
    return pd.read_csv(REFERENCE / "scores.csv")


@pytest.fixture(scope="module")
def draws():
    return pd.read_csv(REFERENCE / "draws.csv", header=None).to_numpy()


@pytest.fixture(scope="module")
def ranks():
    wide, keys = pd.read_csv(REFERENCE / "ranks.csv"), ["task", "scheme", "ties", "draw"]
    return pd.wide_to_long(wide, ["value", "rank"], keys, "method", ".", r"m\d").reset_index()


def frame(values, **columns):
    """A scores frame of an array (case, method)."""
    n_cases, n_methods = np.shape(values)
    index = pd.MultiIndex.from_product([range(n_cases), [f"m{j}" for j in range(n_methods)]])
    rows = index.set_names(["case", "method"]).to_frame(index=False)
    return rows.assign(metric="iou", score=np.ravel(values), **columns)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_values_and_ranks_of_every_draw_are_challengers(scores, draws, ranks, scheme, ties):
    options = checked_options("rank", "percentile", 0.95, 10, 0, draws)
    asked = RankingOptions(["task"], "case", "complete", None, scheme, ties)
    found = values_to_rank_methods_by(scores, asked, options)
    theirs = ranks[(ranks["scheme"] == scheme) & (ranks["ties"] == ties)]
    wide = {
        name: theirs.pivot_table(index="draw", columns=["task", "method"], values=name)
        for name in ("value", "rank")
    }
    assert list(wide["value"].columns) == [*found.keys.itertuples(index=False, name=None)]
    every = np.vstack([found.values, found.drawn_values])
    np.testing.assert_allclose(every, wide["value"], rtol=0, atol=EXACT)
    for group in range(3):
        rows = found.rows_of(group)
        full, drawn = found.ranks_and_replicate_ranks(rows)
        np.testing.assert_array_equal(np.vstack([full, drawn]), wide["rank"].to_numpy()[:, rows])


def test_stability_has_the_ranks_of_the_scheme(scores, draws, ranks):
    found = ss.rank_stability(scores, by="task", draws=draws, scheme="mean-rank", ties="min")
    theirs = ranks.query("scheme == 'mean-rank' and ties == 'min'").sort_values(["task", "method"])
    own = theirs[theirs["draw"] == 0]
    np.testing.assert_array_equal(found["estimate"], own["rank"])
    np.testing.assert_allclose(found["value"], own["value"], atol=EXACT)
    drawn = theirs[theirs["draw"] > 0].groupby(["task", "method"])["rank"]
    np.testing.assert_allclose(found["mean_rank"], drawn.mean(), atol=EXACT)
    np.testing.assert_allclose(found["mean"], scores.groupby(["task", "method"])["score"].mean(), atol=EXACT)


def test_frequencies_count_the_draws(scores, draws, ranks):
    found = ss.rank_frequencies(scores, by="task", draws=draws)
    own = ranks.query("scheme == 'mean' and ties == 'average' and draw > 0")
    counted = own.groupby(["task", "method", "rank"]).size() / len(draws)
    ours = found.set_index(["task", "method", "rank"])["share"]
    pd.testing.assert_series_equal(ours, counted.loc[ours.index], check_names=False)
    assert len(ours) == len(counted)


def test_weights_of_the_signed_rank_test_are_repeated_rows():
    rng = np.random.default_rng(3)
    values = np.round(rng.normal(0.1, 1, 30), 1)
    drawn = rng.integers(0, 30, 30)
    greater, less = make_signed_rank_test(values)(np.bincount(drawn, minlength=30)[None].astype(float))
    for side, found in (("greater", greater), ("less", less)):
        expected = stats.wilcoxon(
            values[drawn], alternative=side, method="asymptotic", correction=True, zero_method="wilcox"
        )
        assert found[0] == pytest.approx(expected.pvalue, rel=1e-10)


def test_a_signed_rank_test_of_equal_methods_says_nothing():
    greater, less = make_signed_rank_test(np.zeros(5))(np.ones((2, 5)))
    assert np.isnan(greater).all()
    assert np.isnan(less).all()


def group_of(values):
    """The scores of an array (unit, method), without those that are NaN."""
    units, methods = np.nonzero(~np.isnan(values))
    return GroupScores(
        rows=np.arange(len(units)),
        scores=values[units, methods],
        methods=methods,
        units=units,
        observations=units,
        n_methods=values.shape[1],
        sign=1,
        alpha=0.05,
    )


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-13])
def test_differences_that_are_rounding_are_ties_whatever_the_size_of_scores(scale):
    # of five units that differ P is 0.03, and with six more that favour the other method it is 0.15
    values = scale * np.array([[0.1 + 0.2, 0.3]] * 6 + [[0.3, 0.5 + 0.01 * i] for i in range(5)])
    shares = make_significant_win_share_function(group_of(values))
    np.testing.assert_array_equal(shares(np.ones((1, 11))), [[0, 1]])


def test_a_method_without_score_of_an_observation_has_no_mean_there():
    values = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, np.nan]])
    found = group_of(values).method_means_and_unit_of_each_observation()
    np.testing.assert_array_equal(found.means, values)


def test_tau_of_rankings_pairwise_is_scipys():
    rng = np.random.default_rng(1)
    one, other = rng.integers(1, 4, (2, 50, 6))
    expected = [stats.kendalltau(a, b).statistic for a, b in zip(one, other, strict=True)]
    np.testing.assert_allclose(kendall_tau(one, other), expected, atol=EXACT, equal_nan=True)


@pytest.mark.parametrize(
    ("call", "error", "fields"),
    [
        (
            lambda s: ss.rank_stability(s, scheme="podium"),
            ValueRangeError,
            {"option": "scheme", "value": "podium", "choices": SCHEMES},
        ),
        (
            lambda s: ss.rank_stability(s, ties="max"),
            ValueRangeError,
            {"option": "ties", "value": "max", "choices": TIES},
        ),
        (
            lambda s: ss.rank_stability(s, scheme="test", pairs="available"),
            ValueRangeError,
            {"option": "scheme", "value": "test", "match": "pairs='complete'"},
        ),
        (lambda s: ss.rank_agreement(s, over="method"), ColumnError, {"option": "over", "value": "method"}),
        (lambda s: ss.rank_agreement(s, over="dataset"), ColumnError, {"column": "dataset"}),
        (
            lambda s: ss.rank_agreement(s[s["task"] == "mass"]),
            ColumnError,
            {"option": "over", "column": "task", "match": "one value"},
        ),
        (
            lambda s: ss.significance_map(s, test="none"),
            ValueRangeError,
            {"option": "test", "value": "none"},
        ),
        (
            lambda s: ss.significance_map(s, test="wilcoxon", level=95),
            ValueRangeError,
            {"option": "level"},
        ),
        (
            lambda s: ss.significance_map(s, adjust="tukey"),
            ValueRangeError,
            {"value": "tukey", "match": "holm"},
        ),
    ],
)
def test_wrong_input_is_an_error_that_names_the_option(scores, call, error, fields):
    with raises(error, **fields):
        call(scores)


#: Sign of the values of a scheme for metrics that are better above, and below.
SIGNS = {
    "mean": (1, -1),
    "median": (1, -1),
    "mean-rank": (-1, -1),
    "median-rank": (-1, -1),
    "test": (1, 1),
}


def test_values_of_ranks_are_better_below_and_those_of_tests_above():
    signs = {name: (scheme.ranking_sign(1), scheme.ranking_sign(-1)) for name, scheme in RECORDS.items()}
    assert signs == SIGNS

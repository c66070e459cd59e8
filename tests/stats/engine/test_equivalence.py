"""Margins: P values against R and tests written out, agreement with the interval, and verdicts in words."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from tests_support import raises, warns

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError
from salstats.stats.engine.equivalence import (
    CLAIMS,
    SIDES,
    is_strictly_below,
    sides_and_claims,
    verdict_texts,
)
from salstats.stats.engine.intervals import RECORDS

# R writes its P values to 17 digits
RTOL = 1e-9
# R's sets are small on purpose
pytestmark = pytest.mark.filterwarnings("ignore:.*fewer than (20|4) gives:salstats.errors.SalstatsWarning")


def as_scores(method, reference, metric="iou"):
    cases = [f"c{i:04d}" for i in range(len(method))]
    return pd.concat(
        pd.DataFrame({"case": cases, "method": m, "metric": metric, "score": v})
        for m, v in (("a", method), ("b", reference))
    )


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(8)
    reference = rng.beta(4, 3, 40)
    gaps = rng.normal(0, 0.1, 40)
    # centred, so that no test finds a difference
    return reference + gaps - gaps.mean() - 0.005, reference


def test_of_t_intervals_it_is_the_tost_of_r(r_data, r_expected):
    sets = dict(iter(r_data("paired_small").groupby("set")))
    tested = 0
    for want in r_expected("tost_paired").itertuples():
        if want.set not in sets:
            continue
        scores = as_scores(*sets[want.set][["x", "y"]].to_numpy().T)
        options = {"reference": "b", "interval": "t"}
        both = ss.difference(scores, margin=want.delta, **options).iloc[0]
        low = ss.difference(scores, margin=(-want.delta, None), **options).iloc[0]
        high = ss.difference(scores, margin=(None, want.delta), **options).iloc[0]
        assert_allclose(
            [both["p_margin"], low["p_margin"], high["p_margin"]],
            [want.p_tost, want.p_noninf_lower, want.p_upper],
            rtol=RTOL,
        )
        assert ("equivalent" in both["verdict"]) == want.equivalent
        tested += want.equivalent + 1
    assert tested > len(sets) * 3


@pytest.mark.parametrize("kind", ["difference", "percent_decrease"])
def test_it_is_shown_where_the_interval_of_the_wider_level_lies_inside(pair, kind):
    tested = 0
    # those of kind "share" are of 0/1 scores
    for record in (r for r in RECORDS if r.tails is not None and kind in r.terms and r.kind != "share"):
        options = {"reference": "b", "interval": record.name, "n_replicates": 4000}
        function = getattr(ss, kind)
        narrow = function(as_scores(*pair), level=0.9, **options).iloc[0]
        # P of a count has 1 added to it, which a quantile does not
        off = 0.02 if record.name == "percentile" else 1e-6
        for place, beyond in (("conf_low", -1), ("conf_high", 1)):
            for step, shown in ((off, True), (-off, False)):
                bound = narrow[place] + beyond * step * (narrow["conf_high"] - narrow["conf_low"])
                margin = (min(bound, -1e-9), None) if beyond < 0 else (None, max(bound, 1e-9))
                got = function(as_scores(*pair), margin=margin, **options).iloc[0]
                assert (got["p_margin"] < 0.05) == shown, (record.name, place, step)
                assert ("not " in got["verdict"]) == shown
                tested += 1
    assert tested >= 16


def test_of_few_units_the_flips_are_listed_one_by_one():
    rng = np.random.default_rng(5)
    own, other = rng.beta(3, 4, 9), rng.beta(3, 4, 9)
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 9)).reshape(9, -1).T

    def one_sided(parts):
        far = signs @ parts
        equal = np.isclose(far, parts.sum(), rtol=0, atol=1e-12)
        return ((far > parts.sum()) & ~equal).mean() + equal.mean() / 2

    scores, low, high = as_scores(own, other), -0.2, 0.3
    p = [one_sided(own - other - low), one_sided(high - (own - other))]
    for margin, expected in (((low, high), max(p)), ((low, None), p[0]), ((None, high), p[1])):
        got = ss.difference(scores, reference="b", interval="wild", margin=margin)
        assert_allclose(got["p_margin"], expected, rtol=1e-12)
    # a decrease of 30 % is own = 0.7 * other, one of -40 % own = 1.4 * other
    p = [one_sided(1.4 * other - own), one_sided(own - 0.7 * other)]
    got = ss.percent_decrease(scores, reference="b", interval="wild", margin=(-40, 30))
    assert_allclose(got["p_margin"], max(p), rtol=1e-12)


def test_of_fieller_sets_it_is_the_t_test_of_the_bound(pair):
    own, other = pair
    got = ss.percent_decrease(as_scores(own, other), reference="b", interval="fieller", margin=(-15, 12))
    p = [
        stats.ttest_1samp(own - 1.15 * other, 0, alternative="less").pvalue,
        stats.ttest_1samp(own - 0.88 * other, 0, alternative="greater").pvalue,
    ]
    assert_allclose(got["p_margin"], max(p), rtol=RTOL)


def test_of_replicates_it_counts_those_beyond(pair):
    draws = np.random.default_rng(1).integers(40, size=(199, 40))
    replicates = (pair[0] - pair[1])[draws].mean(axis=1)
    bound = np.median(replicates) - 0.03
    got = ss.difference(
        as_scores(*pair), reference="b", draws=draws, interval="percentile", margin=(bound, None)
    )
    assert_allclose(got["p_margin"], (1 + (replicates <= bound).sum()) / 200, rtol=1e-12)


@pytest.mark.parametrize(
    ("metric", "kind", "margin", "claim"),
    [
        ("iou", "difference", (-0.2, None), "not inferior"),
        ("iou", "difference", (None, 0.2), "not superior"),
        ("hd95", "difference", (-0.2, None), "not superior"),
        ("hd95", "difference", (None, 0.2), "not inferior"),
        ("iou", "percent_decrease", (None, 60), "not inferior"),
        ("hd95", "percent_decrease", (-60, None), "not inferior"),
        ("mine", "difference", {"mine": (-0.2, None)}, "not inferior"),
        ("mine", "difference", 0.2, "equivalent"),
    ],
)
def test_the_verdict_knows_which_side_is_worse(pair, metric, kind, margin, claim):
    options = {"reference": "b", "margin": margin, "interval": "t" if kind == "difference" else "delta"}
    alike = getattr(ss, kind)(as_scores(*pair, metric), **options)
    assert alike["verdict"].tolist() == [claim]
    lower = getattr(ss, kind)(as_scores(pair[0] - 0.05, pair[1], metric), **options)
    assert lower["verdict"].tolist() == [f"lower, {claim}"]


def test_nothing_is_shown_where_p_is_not_below_the_level(pair):
    # R: mean and SE by hand, margin such that P is just above and below
    gaps = pair[0] - pair[1]
    reach = gaps.mean() - stats.t.ppf([0.951, 0.949], 39) * gaps.std(ddof=1) / np.sqrt(40)
    for bound, verdict in zip(reach, ("not inferior", "inconclusive"), strict=True):
        got = ss.difference(as_scores(*pair), reference="b", interval="t", margin=(bound, None))
        assert got["verdict"].tolist() == [verdict]


def test_each_metric_has_its_margin_and_others_none(pair):
    scores = pd.concat([as_scores(*pair), as_scores(*pair, "dice")])
    got = ss.difference(scores, reference="b", interval="t", margin={"dice": (None, 0.1)}).set_index("metric")
    assert got.loc["dice", ["margin_low", "margin_high"]].tolist() == [-np.inf, 0.1]
    assert got.loc["iou", ["margin_low", "margin_high", "p_margin"]].isna().all()
    assert got.loc["iou", "verdict"] == "inconclusive"
    of_none = ss.difference(scores, reference="b", interval="t", margin={})
    assert of_none[["margin_low", "margin_high", "p_margin"]].isna().all(axis=None)


def test_a_p_value_that_rounding_alone_puts_below_the_level_is_not_below():
    # in floating-point numbers 0.15 / 3 is 0.049999999999999996
    assert is_strictly_below(np.array([0.15 / 3, 0.0499, 0.05, np.nan]), 0.05).tolist() == [
        False, True, False, False,
    ]  # fmt: skip


def test_where_nothing_varies_nothing_is_shown():
    values = np.full(12, 0.4)
    with pytest.warns(ss.errors.SalstatsWarning):
        got = ss.difference(as_scores(values, values), reference="b", interval="cr2", margin=0.1).iloc[0]
    assert np.isnan(got["p_margin"])
    assert got["verdict"] == "inconclusive"


@pytest.mark.parametrize("procedure", ["holm", "BH"])
def test_p_of_margins_are_adjusted_as_a_family_of_their_own(pair, procedure):
    own, other = pair
    scores = pd.concat(
        [as_scores(own + shift, other, f"m{i}") for i, shift in enumerate((0.0, -0.04, -0.03))]
    )
    options = {"reference": "b", "interval": "t", "margin": (-0.08, None)}
    plain, got = (ss.difference(scores, adjust=a, **options) for a in ("none", procedure))
    assert "p_margin_adjusted" not in plain
    # R's p.adjust(c(3 P values), "holm") and "BH", written out
    order = np.argsort(plain["p_margin"])
    p = plain["p_margin"].to_numpy()[order]
    if procedure == "holm":
        wanted = np.maximum.accumulate(p * [3, 2, 1])
    else:
        wanted = np.minimum.accumulate((p * [3, 1.5, 1])[::-1])[::-1]
    assert_allclose(got["p_margin_adjusted"].to_numpy()[order], np.minimum(wanted, 1), rtol=1e-12)
    for row in got.itertuples():
        assert ("not inferior" in row.verdict) == (row.p_margin_adjusted < 0.05)
        assert ("lower" in row.verdict) == (row.p_adjusted < 0.05 and row.conf_high < 0)
    again = ss.adjust(got, procedure="none")
    assert again["verdict"].tolist() == got["verdict"].tolist()


def test_each_verdict_is_split_into_its_side_and_claim():
    pairs = list(product(SIDES, ("", *CLAIMS)))
    sides, claims = zip(*pairs, strict=True)
    texts = verdict_texts(np.array(sides), np.array(claims))
    assert len(set(texts)) == len(pairs)
    assert texts[[0, 1, 8, 11]].tolist() == ["lower", "lower, equivalent", "inconclusive", "not superior"]
    found_sides, found_claims = sides_and_claims(pd.Series(texts))
    assert (found_sides.tolist(), found_claims.tolist()) == (list(sides), list(claims))
    other_sides, other_claims = sides_and_claims(pd.Series(["positive", ""]))
    assert (other_sides.tolist(), other_claims.tolist()) == (["positive", "inconclusive"], ["", ""])


def test_verdicts_in_other_words_stay_as_they_are():
    frame = pd.DataFrame({"p_value": [0.5, 0.01], "verdict": ["positive", "lower"]})
    assert ss.adjust(frame)["verdict"].tolist() == ["positive", "lower"]


@pytest.mark.parametrize(
    "margin", [0, -0.1, np.nan, np.inf, (0.1, 0.2), (None, None), (-0.1,), (0.1, -0.1), "wide", {"iou": 0}]
)
def test_a_margin_that_is_none_is_refused(pair, margin):
    bounds = margin["iou"] if isinstance(margin, dict) else margin
    with raises(ValueRangeError, option="margin", value=bounds):
        ss.difference(as_scores(*pair), reference="b", interval="t", margin=margin)


def test_a_margin_of_another_metric_or_interval_is_refused(pair):
    with raises(ValueRangeError, option="margin", choices=("iou",), column="metric", value="dice"):
        ss.difference(as_scores(*pair), reference="b", interval="t", margin={"dice": 0.1})
    with raises(
        SalstatsError, option="interval", value="bca", choices=("percentile", "t", "cr2", "wild", "tango")
    ):
        ss.difference(as_scores(*pair), reference="b", interval="bca", margin=0.1)


def test_margins_in_the_wrong_units_are_told_of():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"case": [f"c{i}" for i in range(30)], "metric": "iou", "score": rng.uniform(0.4, 0.6, 30)}
    )
    scores = pd.concat(
        [frame.assign(method="human"), frame.assign(method="a", score=rng.uniform(0.4, 0.6, 30))]
    )
    with warns(option="margin", value=0.05, column=None):
        ss.percent_decrease(scores, reference="human", margin=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ss.percent_decrease(scores, reference="human", margin=1)
    with warns(option="margin", value=5, column="metric", rows=(0,)):
        ss.difference(scores, reference="human", margin=5)
    with raises(ValueRangeError, option="margin", value=True):
        ss.difference(scores, reference="human", margin=True)

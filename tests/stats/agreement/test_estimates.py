import warnings

import numpy as np
import pandas as pd
import pytest
from agreement_readings import alone, frame_of
from tests_support import default_numbers_and_flags, raises, warns

import salstats as ss
from salstats.errors import SalstatsWarning, Setting, ValueRangeError
from salstats.frames import ESTIMATE_COLUMNS
from salstats.stats.agreement import bland_altman, icc, kappas, krippendorff
from salstats.stats.agreement.readings import equal_row_weights
from salstats.stats.agreement.records import KINDS

ROUNDING = 1e-12


@pytest.fixture
def ratings():
    rng = np.random.default_rng(4)
    return frame_of(rng.integers(1, 4, (25, 1)) + (rng.random((25, 3)) < 0.3), metric="rating")


def test_a_row_per_group_and_form_in_the_columns_of_an_estimates_frame(scores, values):
    found = ss.agreement(scores)
    assert list(found.columns[:2]) == ["metric", "method"]
    inner = [c for c in found.columns if c in ESTIMATE_COLUMNS]
    assert inner == [c for c in ESTIMATE_COLUMNS if c in inner]
    assert found["method"].to_list() == ["gradcam"] * 6 + ["rise"] * 6
    assert found["term"].to_list() == [*KINDS["icc"].terms] * 2
    own = alone(values)
    np.testing.assert_allclose(
        found["estimate"][:3],
        icc.single_reading_icc1_icc2_icc3(own, equal_row_weights(own))[0],
        rtol=ROUNDING,
    )
    expected = {"unit": "patient", "n": 90, "n_missing": 0, "n_units": 15, "n_cases": 30, "n_raters": 3}
    for column, value in expected.items():
        assert (found[column] == value).all(), column
    assert (found["conf_low"] < found["estimate"]).all()
    assert (found["conf_high"] > found["estimate"]).all()


def test_units_are_left_out_whole(scores, values):
    found = ss.agreement(scores.query("method == 'gradcam'"), form="icc3", interval="jackknife").iloc[0]
    n = 15
    each = []
    for unit in range(n):
        own = alone(np.delete(values, [2 * unit, 2 * unit + 1], axis=0))
        each.append(icc.single_reading_icc1_icc2_icc3(own, equal_row_weights(own))[0, 2])
    assert found["std_error"] == pytest.approx(np.sqrt((n - 1) * np.var(each)), rel=1e-10)


def test_p_is_below_the_level_where_limits_exclude_0(scores):
    rng = np.random.default_rng(0)
    noise = [frame_of(rng.normal(size=(12, 3)), dataset=f"d{i}") for i in range(40)]
    found = ss.agreement(pd.concat(noise), form="icc3", by="dataset", level=0.9)
    outside = (found["conf_low"] > 0) | (found["conf_high"] < 0)
    assert (outside == (found["p_value"] < 0.1)).all()
    assert 0 < outside.sum() < 15


def test_readers_are_fixed_but_for_one_way_and_absolute_agreement(scores):
    found = ss.agreement(scores.query("method == 'rise'")).set_index("term")["inference_to"]
    large = ["icc1", "icc2", "icc1k", "icc2k"]
    assert found[found == "readers and cases"].index.to_list() == large
    assert set(found.drop(large)) == {"these readers"}


def test_pairs_of_readers_in_sorted_order(ratings):
    found = ss.agreement(ratings, kind="cohen", weighting="linear")
    assert found["pair"].to_list() == ["r0 - r1", "r0 - r2", "r1 - r2"]
    assert found["first"].to_list() == ["r0", "r0", "r1"]
    assert found["second"].to_list() == ["r1", "r2", "r2"]
    wide = ratings.pivot(index="case", columns="reader", values="score").to_numpy(float)
    for row, members in zip(found.itertuples(), ([0, 1], [0, 2], [1, 2]), strict=True):
        own = alone(wide[:, members])
        assert row.estimate == pytest.approx(
            kappas.cohen_kappa(own, equal_row_weights(own), "linear")[0, 0], rel=ROUNDING
        )
    assert (found["term"] == "cohen_linear").all()


def test_the_difference_of_a_pair_is_first_less_second(values):
    found = ss.agreement(frame_of(values[:, :2]), kind="bland-altman").set_index("term")
    assert found.loc["bias", "estimate"] == pytest.approx(np.mean(values[:, 0] - values[:, 1]), rel=1e-10)
    assert (
        found.loc["loa_low", "estimate"] < found.loc["bias", "estimate"] < found.loc["loa_high", "estimate"]
    )
    assert found["p_value"].notna().to_list() == [True, False, False]


def test_missing_readings_are_counted_and_the_others_used(values):
    gaps = values.copy()
    gaps[0, 0] = gaps[1, 1] = gaps[2, :2] = np.nan
    scores = frame_of(gaps)
    found = ss.agreement(scores, form="icc2").iloc[0]
    # the third case has one reading left
    assert (found["n"], found["n_missing"], found["n_cases"]) == (27 * 3 + 4, 5, 29)
    own = alone(np.delete(gaps, 2, axis=0))
    assert found["estimate"] == pytest.approx(
        icc.single_reading_icc1_icc2_icc3(own, equal_row_weights(own))[0, 1], rel=ROUNDING
    )
    dropped = ss.agreement(scores.dropna(), form="icc2")
    pd.testing.assert_frame_equal(dropped.drop(columns="n_missing"), found.to_frame().T.astype(
        dropped.dtypes).drop(columns="n_missing"))  # fmt: skip
    with raises(ValueRangeError, option="interval", value="mcgraw-wong", choices=()):
        ss.agreement(scores, interval="mcgraw-wong")


def test_a_warning_of_undefined_agreement_has_the_rows_of_the_frame(scores):
    equal = scores.assign(score=scores["score"].mask(scores["method"] == "rise", 0.5))
    with warns(column="estimate", rows=(6, 7, 8, 9, 10, 11)):
        found = ss.agreement(equal)
    assert np.flatnonzero(found["estimate"].isna()).tolist() == [6, 7, 8, 9, 10, 11]


def test_perfect_agreement_of_categories_has_limits_and_of_scores_none(ratings, values):
    same = ratings.assign(score=ratings["case"].str[-1].astype(int) % 3)
    found = ss.agreement(same, kind="fleiss").iloc[0]
    assert (found["estimate"], found["conf_high"]) == (1, 1)
    assert 0 < found["conf_low"] < 1
    with warns(column="conf_low", rows=(0,)):
        one = ss.agreement(same.assign(patient="p"), kind="ac1", unit="patient").iloc[0]
    assert one["estimate"] == 1
    assert one[["conf_low", "conf_high"]].isna().all()
    with warns(column="conf_low", rows=(0,)):
        found = ss.agreement(frame_of(np.repeat(values[:, :1], 3, axis=1)), form="icc3").iloc[0]
    assert found["estimate"] == pytest.approx(1)
    assert np.isnan(found["conf_low"])
    with warns(column="estimate", rows=(0,)):
        assert np.isnan(ss.agreement(ratings.assign(score=2), kind="fleiss")["estimate"].iloc[0])


def test_limits_of_few_units_are_told_in_every_row_of_their_group(values):
    # a row for each of the six forms of the ICC; the first group has four units and three degrees of freedom
    few = pd.concat([frame_of(values[:4]), frame_of(values, method="rise")], ignore_index=True)
    with warns(column="df", value=3, rows=tuple(range(6))):
        found = ss.agreement(few)
    assert found["conf_low"].notna().all()
    five = pd.concat([frame_of(values[:5]), frame_of(values, method="rise")], ignore_index=True)
    assert len(ss.agreement(five)) == 12


def test_units_of_very_unequal_size_are_told_in_every_row_of_their_group(values):
    units = np.r_[np.zeros(12), np.ones(11), 2:9].astype(str)
    equal = frame_of(values).assign(patient=np.tile([f"p{i}" for i in range(30)], 3))
    huge = frame_of(values, method="rise").assign(case=lambda d: "x" + d["case"], patient=np.tile(units, 3))
    with warns(column="unit", rows=tuple(range(6, 12)), value=pytest.approx(30**2 / 272)):
        ss.agreement(pd.concat([equal, huge], ignore_index=True))


def test_limits_for_independent_cases_warn_of_units(scores):
    with warns(option="interval", value="mcgraw-wong", column="n_units", rows=tuple(range(12))):
        found = ss.agreement(scores, interval="mcgraw-wong")
    assert (found["n_cases"] == 30).all()
    assert (found["n_units"] == 15).all()
    assert found["df_denominator"].notna().all()
    assert (found["interval"] == "mcgraw-wong").all()


def test_units_of_very_unequal_size_are_told(scores, values):
    huge = frame_of(values).assign(patient=np.tile(np.r_[np.zeros(12), np.ones(11), 2:9].astype(str), 3))
    # (12 + 11 + 7)^2 / (144 + 121 + 7) = 3.3 of 9
    with warns(column="unit", rows=(0,), value=pytest.approx(30**2 / 272)):
        ss.agreement(huge, kind="krippendorff")


def test_scores_are_left_as_they_are(scores):
    before = scores.copy()
    for kind in ("icc", "ccc", "bland-altman", "krippendorff"):
        ss.agreement(scores, kind=kind)
    pd.testing.assert_frame_equal(scores, before)


def test_bland_altman_of_a_frame_is_that_of_its_kernel(values):
    found = ss.agreement(frame_of(values[:, :2]), kind="bland-altman", interval="bland-altman")
    expected = bland_altman.bias_and_limits_of_agreement_by_student_t(alone(values[:, :2]), 0.95)
    np.testing.assert_allclose(found["conf_low"], expected.conf_low, rtol=ROUNDING)


@pytest.mark.parametrize(
    ("kind", "kernel"),
    [
        ("fleiss", kappas.fleiss_kappa),
        ("conger", kappas.conger_kappa),
        ("light", kappas.light_kappa),
        ("ac1", kappas.ac1),
    ],
)
def test_kappas_of_a_frame_are_those_of_their_kernels(ratings, kind, kernel):
    own = alone(ratings.pivot(index="case", columns="reader", values="score").to_numpy(float))
    (expected,) = kernel(own, equal_row_weights(own))[0]
    assert ss.agreement(ratings, kind=kind)["estimate"].iloc[0] == pytest.approx(expected, rel=ROUNDING)


def test_normal_limits_of_cohens_kappa_in_a_frame_are_those_of_its_kernel(ratings):
    two = ratings.query("reader != 'r2'")
    own = alone(two.pivot(index="case", columns="reader", values="score").to_numpy(float))
    expected = kappas.cohen_kappa_with_normal_limits(own, 0.95)
    found = ss.agreement(two, kind="cohen", interval="fleiss-cohen-everitt").iloc[0]
    limits = [found["conf_low"], found["conf_high"]]
    np.testing.assert_allclose(limits, [expected.conf_low[0], expected.conf_high[0]], rtol=ROUNDING)


def test_a_rare_category_warns_of_short_limits(ratings):
    rare = ratings.assign(score=0.0)
    rare.loc[rare["case"].isin(["c001", "c002"]), "score"] = 1
    rare.loc[rare["case"].isin(["c003", "c004"]) & (rare["reader"] == "r0"), "score"] = 1
    with warns(column="n_units", rows=(0,), value=4, hint=Setting("kind", "ac1")):
        ss.agreement(rare, kind="fleiss")
    assert ss.agreement(rare, kind="ac1")["conf_low"].notna().all()


def test_agreement_has_a_caution_if_raters_agree_on_no_rarer_reading():
    readings = np.zeros((30, 3))
    readings[:6, 0] = 1.0
    readings[6:12, :2] = 1.0
    readings[12, 1] = np.nan
    with warns(column="n_cases", rows=(0,), value=0, hint=Setting("kind", "ac1")):
        found = ss.agreement(frame_of(readings), kind="fleiss")
    assert found["caution"].tolist() == ["few events"]
    # one case that two raters alone read, and agree on, is enough
    readings[12] = [1.0, np.nan, 1.0]
    assert "caution" not in ss.agreement(frame_of(readings), kind="krippendorff", scale="nominal")


@pytest.mark.parametrize(("n_units", "expected"), [(1, "few events"), (9, "few events"), (10, None)])
@pytest.mark.filterwarnings("ignore:only:salstats.errors.SalstatsWarning")
def test_agreement_has_a_caution_if_fewer_than_ten_units_have_the_rarer_reading(n_units, expected):
    readings = np.zeros((30, 2))
    readings[:n_units, 0] = 1.0
    readings[0] = 1.0
    found = ss.agreement(frame_of(readings), kind="fleiss")
    if expected is None:
        assert "caution" not in found
    else:
        assert found["caution"].tolist() == [expected]


def test_one_way_agreement_of_seeds_is_that_of_their_sd_within_cases(values):
    gaps = values.copy()
    gaps[:7, 2] = np.nan
    seeds = frame_of(gaps).rename(columns={"reader": "seed"})
    expected = ss.within_case_sd(seeds, n_replicates=40)["icc"].iloc[0]
    assert ss.agreement(seeds, over="seed", form="icc1")["estimate"].iloc[0] == pytest.approx(
        expected, rel=1e-10
    )


def test_pairs_are_a_family_for_adjust(ratings):
    found = ss.adjust(ss.agreement(ratings, kind="cohen"), procedure="holm")
    assert (found["p_adjusted"] >= found["p_value"]).all()
    assert (found["n_tests"] == 3).all()


def test_two_cases_have_an_estimate_and_nothing_is_said_of_limits_that_they_have_not():
    two = frame_of(np.array([[1.0, 1.0], [3.0, 3.5]]))
    with warns(column="conf_low", rows=(0,)):
        found = ss.agreement(two, form="icc1")
    # Mean squares between and within cases: 2 * (1.125^2 + 1.125^2) and 2 * 0.25^2 / 2
    between = 4 * 1.125**2
    within = 0.25**2
    assert found["estimate"].item() == pytest.approx((between - within) / (between + within))
    assert found[["n", "n_units", "n_cases"]].to_numpy().tolist() == [[4, 2, 2]]


def test_readings_of_each_pair_are_counted():
    values = np.random.default_rng(2).random((20, 3))
    values[1, 1] = np.nan
    values[[4, 5], 2] = np.nan
    pairs = ss.agreement(frame_of(values), kind="bland-altman").drop_duplicates("pair").set_index("pair")
    # Cases with both readings of a pair
    for pair, n_cases in {"r0 - r1": 19, "r0 - r2": 18, "r1 - r2": 17}.items():
        assert pairs.loc[pair, "n_cases"] == n_cases, pair
        assert pairs.loc[pair, "n"] == 2 * n_cases, pair
        assert pairs.loc[pair, "n_missing"] == 2 * (20 - n_cases), pair


@pytest.mark.parametrize(
    ("kind", "interval", "second_rater"),
    [
        ("bland-altman", "bland-altman", [1.0, 2.0, 3.0, 4.0]),
        ("bland-altman", "bland-altman", [2.0, 3.0, 4.0, 5.0]),
        ("ccc", "lin", [1.0, 2.0, 3.0, 4.0]),
        ("ccc", "lin", [2.0, 2.0, 2.0, 2.0]),
        ("icc", "mcgraw-wong", [1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_textbook_limits_and_tests_are_missing_where_nothing_varies(kind, interval, second_rater):
    ratings = frame_of(np.column_stack([[1.0, 2.0, 3.0, 4.0], second_rater]), metric="rating")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ss.errors.SalstatsWarning)
        found = ss.agreement(ratings, kind=kind, interval=interval)
    assert found["estimate"].notna().all()
    assert found[["statistic", "p_value", "conf_low", "conf_high"]].isna().all(axis=None)


def test_lins_limits_need_three_cases():
    ratings = frame_of(np.array([[0.1, 0.1], [0.2, 0.3]]), metric="rating")
    with warns(column="conf_low", rows=(0,)):
        found = ss.agreement(ratings, kind="ccc", interval="lin")
    assert found[["std_error", "statistic", "p_value", "conf_low", "conf_high"]].isna().all(axis=None)


def test_kappas_of_one_category_are_undefined_without_a_bare_warning():
    ratings = frame_of(np.ones((5, 2)), metric="rating")
    for kind, interval in (("fleiss", "fleiss"), ("cohen", "fleiss-cohen-everitt")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ss.errors.SalstatsWarning)
            assert ss.agreement(ratings, kind=kind, interval=interval)["estimate"].isna().all()


def test_alpha_of_few_continuous_scores_has_no_rare_categories(values):
    assert len(np.unique(values[:6])) == values[:6].size
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "only")
        found = ss.agreement(frame_of(values[:6]), kind="krippendorff")
    assert "caution" not in found or found["caution"].isna().all()


@pytest.mark.parametrize("scale", [None, *krippendorff.SCALES])
def test_alpha_of_a_frame_is_that_of_the_scale(ratings, scale):
    own = alone(ratings.pivot(index="case", columns="reader", values="score").to_numpy(float))
    used = scale or "interval"
    (expected,) = krippendorff.krippendorff_alpha(own, equal_row_weights(own), used)[0]
    found = ss.agreement(ratings, kind="krippendorff", scale=scale)
    assert found["term"].tolist() == [f"krippendorff_{used}"]
    assert found["estimate"].item() == pytest.approx(expected, rel=ROUNDING)


def test_forms_stand_in_the_order_in_which_they_are_asked_for(scores):
    every = ss.agreement(scores, by="method").set_index(["method", "term"])
    found = ss.agreement(scores, by="method", form=["icc3k", "icc1"])
    assert found["term"].tolist() == ["icc3k", "icc1"] * 2
    expected = every.loc[list(zip(found["method"], found["term"], strict=True))]
    for column in ("estimate", "conf_low", "conf_high", "p_value", "n_cases"):
        np.testing.assert_array_equal(found[column], expected[column], err_msg=column)


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"kind": "icc", "linked": False}, {"option": "linked", "value": False, "match": "bland-altman"}),
        (
            {"kind": "ccc", "weighting": "linear"},
            {"option": "weighting", "value": "linear", "match": "cohen"},
        ),
        ({"kind": "fleiss", "scale": "nominal"}, {"option": "scale", "match": "krippendorff"}),
        ({"kind": "cohen", "form": "icc1"}, {"option": "form", "value": "icc1", "match": "'icc'"}),
        ({"kind": "icc", "form": ["icc1", "icc4"]}, {"option": "form", "value": "icc4"}),
        ({"kind": "cohen", "weighting": "cubic"}, {"option": "weighting", "value": "cubic"}),
    ],
)
def test_an_option_of_another_kind_is_an_error(ratings, options, fields):
    with raises(ValueRangeError, **fields):
        ss.agreement(ratings, **options)


def test_unlinked_readings_of_a_case_are_compared_through_their_means(values):
    two = frame_of(values[:, :2]).assign(reader=lambda frame: frame["reader"].replace("r1", "r9"))
    again = two.assign(score=two["score"] + 0.1)
    apart = pd.concat([two.assign(seed=two["reader"] + "a"), again.assign(seed=two["reader"] + "b")])
    with warns(option="linked", column="seed", rows=(0, 1, 2)):
        linked = ss.agreement(apart, kind="bland-altman")
    assert linked["estimate"].isna().all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unlinked = ss.agreement(apart, kind="bland-altman", linked=False).set_index("term")
    assert unlinked.loc["bias", "estimate"] == pytest.approx(np.mean(values[:, 0] - values[:, 1]), rel=1e-10)
    assert (unlinked["n"] == 4 * len(values)).all()


def test_a_pair_of_readers_that_shares_one_case_has_no_estimate(values):
    gaps = values.copy()
    gaps[1:15, 0] = np.nan
    gaps[15:, 1] = np.nan
    with warns(column="estimate", rows=(0, 1, 2)):
        found = ss.agreement(frame_of(gaps), kind="bland-altman")
    assert found.groupby("pair")["estimate"].count().to_dict() == {"r0 - r1": 0, "r0 - r2": 3, "r1 - r2": 3}
    assert found.groupby("pair")["n_cases"].first().to_list() == [1, 16, 15]


@pytest.mark.parametrize("kind", ["cohen", "bland-altman"])
def test_a_pair_of_readers_without_a_case_in_common_is_undefined(kind):
    # r0 and r2 have half of the cases each, r1 has all of them.
    rng = np.random.default_rng(6)
    ratings = rng.integers(0, 3, (24, 3)).astype(float)
    ratings[:12, 0] = np.nan
    ratings[12:, 2] = np.nan
    n_terms = 3 if kind == "bland-altman" else 1
    with pytest.warns(SalstatsWarning) as caught:
        found = ss.agreement(frame_of(ratings), kind=kind)
    undefined = found["estimate"].isna()
    assert found.loc[undefined, "pair"].tolist() == ["r0 - r2"] * n_terms
    assert found.loc[undefined, "n"].tolist() == [0] * n_terms
    (warning,) = [w.message for w in caught if "estimate" in (w.message.column, w.message.option)]
    assert warning.rows == tuple(np.flatnonzero(undefined))
    # There are no readings that another linking would compare.
    assert not any(w.message.option == "linked" for w in caught)


def test_the_rows_of_a_warning_are_those_of_the_undefined_coefficients():
    # Raters who give the same score to every case differ from each other only: ICC(2) is 0, ICC(3) is 0 / 0.
    constant = np.tile([0.25, 0.5, 0.75], (8, 1))
    varying = np.random.default_rng(7).random((8, 3))
    scores = pd.concat([frame_of(varying, method="a"), frame_of(constant, method="b")])
    with pytest.warns(SalstatsWarning) as caught:
        found = ss.agreement(scores, form=["icc2", "icc3"])
    assert found["estimate"].isna().tolist() == [False, False, False, True]
    assert found["estimate"][2] == pytest.approx(0, abs=1e-12)
    (warning,) = [w.message for w in caught if w.message.column == "estimate"]
    assert warning.rows == (3,)


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.agreement) == {"level": 0.95}

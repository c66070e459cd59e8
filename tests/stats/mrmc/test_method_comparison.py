"""mrmc() against R (MRMCaov, RJafroc), its definition, and wrong designs."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from mrmc_readings import area, mrmc_frame, quietly, some_ratings
from scipy import stats
from tests_support import default_numbers_and_flags, warns

import salstats as ss
from salstats.errors import ColumnValue
from salstats.stats.mrmc.covariances import BY_NAME

#: R prints 15 to 17 digits; sums of a few thousand numbers round in the last few.
ROUNDING = 1e-9
#: What is printed of VanDyke has this many digits.
PRINTED = 1e-6
RANDOM = {"RRRC": {}, "FRRC": {"readers": "fixed"}, "RRFC": {"cases": "fixed"}}


def the(found, term):
    """The only row of a term."""
    (row,) = found[found["term"] == term].to_dict("records")
    return row


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"statistic": 4.456319, "df_residual": 15.25967, "p_value": 0.05166569}),
        ({"covariance": "delong"}, {"statistic": 4.484854, "df_residual": 15.06611, "p_value": 0.05123303}),
        ({"covariance": "unbiased"}, {"statistic": 4.489614, "df_residual": 15.03418, "p_value": 0.0511618}),
        ({"readers": "fixed"}, {"statistic": 5.475953, "p_value": 0.01927984}),
        ({"cases": "fixed"}, {"statistic": 8.704, "df_residual": 4, "p_value": 0.04195875}),
    ],
)
def test_vandyke_is_as_published(vandyke, options, expected):
    """What MRMCaov prints of its example, to seven digits."""
    test = the(ss.mrmc(vandyke, figure="auc", label="truth", **options), "equal")
    assert test["df"] == 1
    assert {name: test[name] for name in expected} == pytest.approx(expected, rel=PRINTED)


def test_vandyke_has_the_areas_and_limits_of_mrmcaov(vandyke):
    found = ss.mrmc(vandyke, figure="auc", label="truth")
    means = found.loc[found["term"] == "mean", "estimate"].to_numpy()
    assert means == pytest.approx([0.89703704, 0.94083736], abs=1e-8)
    row = the(found, "difference")
    assert (row["method"], row["reference"]) == ("1", "2")
    assert row["std_error"] == pytest.approx(0.02074862, abs=1e-8)
    assert [row["conf_low"], row["conf_high"]] == pytest.approx([-0.0879594986, 0.0003588544], abs=1e-10)
    assert (row["interval"], row["verdict"]) == ("obuchowski-rockette", "inconclusive")
    other = the(ss.mrmc(vandyke, figure="auc", label="truth", reference="1"), "difference")
    assert (other["method"], other["estimate"]) == ("2", -row["estimate"])


def test_the_bootstrap_of_vandyke_is_near_the_jackknife(vandyke):
    """20,000 replicates have a standard error of 1 % of a variance, and F rests on several."""
    found = ss.mrmc(vandyke, figure="auc", label="truth", covariance="bootstrap", n_replicates=20_000)
    assert the(found, "equal")["statistic"] == pytest.approx(4.456319, rel=0.03)
    assert found["n_replicates"].eq(20_000).all()


@pytest.mark.parametrize("called", RANDOM)
@pytest.mark.parametrize(
    "name",
    ["synth2_score", "synth2_hit", "real_mixing_sncc", "real_mixing_sauc", "real_io_ag_readers", "negcov"],
)
def test_rows_are_those_of_r(name, called, sets, r_expected):
    """R compares the first method with those behind it, by name."""
    scores = sets[name]
    found = quietly(scores, **RANDOM[called])
    names = sorted(scores["method"].unique())
    rows = r_expected("mrmc_diffs")
    expected = rows[(rows["set"] == name) & (rows["analysis"] == called)]
    own = found[found["term"] == "difference"]
    contrast = own["method"] + " - " + own["reference"]
    # what R sorted otherwise has the other sign
    same = expected.set_index("contrast").loc[contrast]
    columns = ["estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high"]
    in_r = same[["estimate", "se", "df", "t", "p", "lo", "hi"]].replace(np.inf, np.nan)
    np.testing.assert_allclose(own[columns].to_numpy(), in_r.to_numpy(), rtol=ROUNDING)

    rows = r_expected("mrmc_single")
    in_r = rows[(rows["set"] == name) & (rows["analysis"] == called)].set_index("modality").loc[names]
    own = found[found["term"] == "mean"]
    np.testing.assert_allclose(
        own[["estimate", "std_error", "df", "conf_low", "conf_high"]].to_numpy(),
        in_r[["estimate", "se", "df", "lo", "hi"]].replace(np.inf, np.nan).to_numpy(),
        rtol=ROUNDING,
    )
    rows = r_expected("mrmc_overall")
    in_r = rows[(rows["set"] == name) & (rows["analysis"] == called)].iloc[0]
    test = the(found, "equal")
    assert test["p_value"] == pytest.approx(in_r["p"], rel=ROUNDING)


def test_what_hillis_puts_to_0_is_said(sets):
    with warns(column="df_residual", message=ColumnValue("metric", "rating")):
        found = ss.mrmc(sets["negcov"])
    # F of random cases is that of fixed ones, as R has it
    assert the(found, "equal")["df_residual"] == pytest.approx(4)
    parts = ss.mrmc_components(sets["negcov"]).set_index("term")
    assert parts.loc["cov2", "estimate"] < 0
    assert parts.loc["cov2", "used"] == parts.loc["cov3", "estimate"]
    assert parts.loc["method:reader", "used"] == 0
    assert parts.loc["method:reader", "sd"] == 0


def test_nested_readers_are_those_of_r(r_data, r_expected):
    expected = r_expected("mrmc_nested").iloc[0]
    found = ss.mrmc(mrmc_frame(r_data("gaze_mrmc_nested_sono_ag_sncc")), reference="sono")
    row = the(found, "difference")
    in_r = expected[["estimate", "se", "df2", "lo", "hi"]].to_numpy(dtype=float)
    columns = ("estimate", "std_error", "df", "conf_low", "conf_high")
    assert [row[c] for c in columns] == pytest.approx(in_r, rel=ROUNDING)
    assert the(found, "equal")["statistic"] == pytest.approx(expected["F"], rel=ROUNDING)
    assert found["design"].eq("readers nested in methods").all()
    assert list(found["n_readers"]) == [5, 5, 10, 10]


def test_one_method_has_its_mean_alone(sets, r_expected):
    scores = sets["synth2_score"]
    found = ss.mrmc(scores[scores["method"] == "A"])
    assert list(found["term"]) == ["mean"]
    expected = r_expected("mrmc_single").iloc[0]
    assert found["std_error"].iloc[0] == pytest.approx(expected["se"], rel=ROUNDING)
    assert list(ss.mrmc_components(scores[scores["method"] == "A"])["term"]) == ["reader", "error", "cov2"]


@pytest.mark.parametrize("figure", ["mean", "auc"])
def test_with_complete_readings_the_variance_is_the_one_shot_u_statistic(figure):
    """Gallas: the squared mean less the mean product of readings that share neither reader nor case."""
    scores, positive = some_ratings(10, seed=4)
    # what readers have in common of a case with a method
    scores += 2 * np.repeat(np.random.default_rng(3).normal(size=(10, 2)), 2, axis=1)
    long = [
        {"case": i, "method": "ab"[k // 2], "reader": f"r{k % 2}", "metric": "x", "score": scores[i, k]}
        for i, k in itertools.product(range(10), range(4))
    ]
    frame = pd.DataFrame(long)
    options = {"figure": "auc", "label": "truth", "covariance": "unbiased"} if figure == "auc" else {}
    frame["truth"] = positive[frame["case"]]
    row = the(quietly(frame, **options), "difference")
    gaps = scores[:, :2] - scores[:, 2:]
    if figure == "mean":
        products = [
            gaps[i, j] * gaps[k, m]
            for (i, j), (k, m) in itertools.product(itertools.product(range(10), range(2)), repeat=2)
            if i != k and j != m
        ]
        mean = gaps.mean()
    else:
        own, other = scores[positive], scores[~positive]
        won = (own[:, None] > other) + (own[:, None] == other) / 2
        gaps = won[..., :2] - won[..., 2:]
        every = list(itertools.product(range(5), range(5), range(2)))
        products = [
            gaps[a] * gaps[b]
            for a, b in itertools.product(every, repeat=2)
            if all(i != j for i, j in zip(a, b, strict=True))
        ]
        mean = gaps.mean()
        assert mean == pytest.approx(
            np.mean([area(scores[:, k], positive) * (1 if k < 2 else -1) for k in range(4)]) * 2
        )
    expected = mean**2 - np.mean(products)
    # here the part of the cases is above 0, so nothing is cut off
    assert row["std_error"] ** 2 == pytest.approx(expected, rel=1e-12)


def test_with_missing_readings_the_variance_of_a_mean_is_unbiased():
    """Over all samples of 3 cases and 2 readers, one reading missing: E(V) is Var of the mean."""
    # what three kinds of case get of two kinds of reader
    table, missing = np.array([[0.0, 1.0], [1.0, 3.0], [3.0, 2.0]]), (2, 1)
    from salstats.stats.mrmc.anova import ANALYSES, anova_table, std_error_of_mean
    from salstats.stats.mrmc.covariances import BootstrapOptions
    from salstats.stats.mrmc.figures_of_merit import BY_NAME as FIGURES
    from salstats.stats.mrmc.figures_of_merit import ReaderReadings

    variances, means = [], []
    for cases in itertools.product(range(3), repeat=3):
        for readers in itertools.product(range(2), repeat=2):
            scores = table[np.ix_(cases, readers)].copy()
            scores[missing] = np.nan
            own = ReaderReadings(scores, np.zeros(2, int), np.arange(2), np.arange(3), np.ones(3, bool))
            covariance = BY_NAME["jackknife"].kernel(
                own, FIGURES["mean"], BootstrapOptions(0, np.random.default_rng(0))
            )
            parts = anova_table(np.nanmean(scores, axis=0), covariance, own.methods, own.readers)
            # without the cut at 0, which is a choice
            variances.append(parts.ms_within / 2 + parts.cov2)
            means.append(parts.means[0])
            if parts.cov2 > 0:
                error, _ = std_error_of_mean(parts, ANALYSES[True, True])
                assert error**2 == pytest.approx(variances[-1], rel=1e-12)
    assert np.mean(variances) == pytest.approx(np.var(means), rel=1e-12)


def test_groups_have_rows_of_their_own(rated, drawn_readings):
    both = pd.concat([rated, mrmc_frame(drawn_readings, "hit", "hit")])
    found = ss.mrmc(both)
    assert list(found.columns[:4]) == ["metric", "method", "reference", "term"]
    # the means of a difference stand in the order of `difference`
    means = [column for column in found.columns if column.endswith("_mean")]
    assert means == ["reference_mean", "method_mean"]
    assert list(found["metric"]) == ["hit"] * 4 + ["rating"] * 4
    alone = ss.mrmc(mrmc_frame(drawn_readings, "hit", "hit"))
    pd.testing.assert_frame_equal(found.head(4), alone)


def test_differences_are_one_family(three_methods):
    plain, found = ss.mrmc(three_methods, cases="fixed"), ss.mrmc(three_methods, cases="fixed", adjust="holm")
    own = found["term"] == "difference"
    expected = ss.adjust(plain[own], procedure="holm")["p_adjusted"]
    assert found.loc[own, "p_adjusted"].to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-12)
    assert found.loc[~own, "p_adjusted"].isna().all()
    assert list(found["term"]) == list(plain["term"])
    assert found.loc[own, "n_tests"].eq(3).all()
    pd.testing.assert_frame_equal(ss.adjust(plain, procedure="holm"), found)


def test_adjusted_verdicts_go_with_adjusted_p_values(three_methods):
    """Of three differences one has P .02 and .06 after Bonferroni's adjustment."""
    plain = ss.mrmc(three_methods)
    p = plain["p_value"].where(plain["term"] == "difference").to_numpy(copy=True)
    p[3:6] = [0.02, 0.001, 0.3]
    found = ss.adjust(plain.assign(p_value=p, verdict=[None] * 3 + ["lower"] * 3 + [None]))
    assert list(found["verdict"][3:6]) == ["inconclusive", "lower", "inconclusive"]
    assert found["verdict"].isna().tolist() == [True, True, True, False, False, False, True]


@pytest.mark.parametrize(("reference", "shift", "verdict"), [("A", 0.5, "higher"), ("B", 0.5, "lower")])
def test_limits_that_exclude_zero_make_a_difference_lower_or_higher(reference, shift, verdict, rated):
    scores = rated.assign(score=rated["score"] + shift * (rated["method"] == "B"))
    found = ss.mrmc(scores, reference=reference)
    row = the(found, "difference")
    assert row["conf_low"] > 0 or row["conf_high"] < 0
    assert row["verdict"] == verdict
    assert row["estimate"] == pytest.approx(row["method_mean"] - row["reference_mean"])
    # Means have limits without 0, and no verdict.
    assert found.loc[found["term"] != "difference", "verdict"].isna().all()


def test_bootstrapped_covariances_leave_adjustment_as_it_is(rated):
    options = {"figure": "auc", "label": "truth", "covariance": "bootstrap", "n_replicates": 50}
    found = ss.mrmc(rated, **options, adjust="holm")
    assert set(found["n_replicates"]) == {50}
    # all methods have the same cases
    assert "n_shared" not in found
    del options["n_replicates"]
    assert set(ss.mrmc(rated, **options)["n_replicates"]) == {10_000}
    assert (
        found["p_adjusted"].dropna().tolist() == found.loc[found["term"] == "difference", "p_value"].tolist()
    )


@pytest.mark.parametrize(
    ("margin", "verdict"), [(0.2, "equivalent"), ((-0.08, None), "not inferior"), (0.01, "inconclusive")]
)
def test_margins_are_tested_by_two_one_sided_tests(margin, verdict, rated):
    row = the(ss.mrmc(rated, margin=margin), "difference")
    assert row["verdict"] == verdict
    narrow = the(ss.mrmc(rated, level=0.9), "difference")
    inside = row["margin_low"] < narrow["conf_low"] and narrow["conf_high"] < row["margin_high"]
    assert inside == (row["p_margin"] < 0.05)


def test_whom_estimates_speak_of_is_said(rated):
    told = [ss.mrmc(rated, **options)["inference_to"].unique().tolist() for options in RANDOM.values()]
    assert told == [["readers and cases"], ["these readers"], ["these cases"]]


def test_scores_are_not_changed_and_their_order_does_not_matter(rated):
    before = rated.copy()
    found = ss.mrmc(rated)
    pd.testing.assert_frame_equal(rated, before)
    pd.testing.assert_frame_equal(found, ss.mrmc(rated.sample(frac=1, random_state=1)), rtol=1e-12)


def test_readings_that_are_all_alike_have_no_limits(rated):
    with warns(column="std_error"):
        found = ss.mrmc(rated.assign(score=0.5))
    assert found[["statistic", "conf_low", "conf_high", "p_value"]].isna().all(axis=None)
    assert found["interval"].isna().all()


def test_a_pair_without_variance_is_warned_about_whichever_pair_it_is(monkeypatch):
    # Of fixed, nested readers the variance of a difference is that of var - cov3 + (r - 1) (cov2 - cov3),
    # which is below 0 only for the methods with few readers.
    def covariance_of_few_readers(readings, figure, bootstrap_options):
        values = np.full((len(readings.methods),) * 2, 1.25)
        values[np.equal.outer(readings.methods, readings.methods)] = 1.35
        np.fill_diagonal(values, 1.0)
        return values

    record = replace(BY_NAME["jackknife"], kernel=covariance_of_few_readers)
    monkeypatch.setitem(BY_NAME, "jackknife", record)
    for n_readers in ([2, 5, 5], [5, 5, 2]):
        methods = np.repeat(["a", "b", "c"], n_readers)
        rows = [
            {"case": case, "method": method, "reader": f"r{reader}", "metric": "x", "score": case + reader**2}
            for case, (reader, method) in itertools.product(range(6), enumerate(methods))
        ]
        with warns(column="std_error") as caught:
            found = ss.mrmc(pd.DataFrame(rows), readers="fixed")
        assert len(caught) == 1
        has_limits = found.loc[found["term"] == "difference", "conf_low"].notna()
        assert has_limits.sum() == 1
        assert has_limits.iloc[-1] == (n_readers[0] == 2)


def test_fixed_cases_with_nested_readers_are_one_way_analysis():
    """Of readers' means, three methods with 3, 4 and 6 readers."""
    rng = np.random.default_rng(2)
    methods = np.repeat(["a", "b", "c"], [3, 4, 6])
    table = rng.normal(size=(20, 13)) + rng.normal(size=13)
    long = [
        {"case": i, "method": methods[j], "reader": f"r{j}", "metric": "x", "score": table[i, j]}
        for i, j in itertools.product(range(20), range(13))
    ]
    test = the(quietly(pd.DataFrame(long), cases="fixed"), "equal")
    groups = [table.mean(axis=0)[methods == m] for m in "abc"]
    expected = stats.f_oneway(*groups)
    assert test["statistic"] == pytest.approx(expected.statistic, rel=1e-12)
    assert test["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)
    assert (test["df"], test["df_residual"]) == (2, 10)


def test_a_margin_may_differ_by_metric_and_that_of_areas_is_called_auc(rated, drawn_readings):
    both = pd.concat([rated, mrmc_frame(drawn_readings, "hit", "hit")])
    found = quietly(both, margin={"hit": 0.1, "rating": 0.2})
    differences = found[found["term"] == "difference"].set_index("metric")
    assert differences["margin_high"].to_dict() == {"hit": 0.1, "rating": 0.2}
    assert found.loc[found["term"] != "difference", "margin_high"].isna().all()
    areas = quietly(rated, figure="auc", label="truth", margin={"auc": 0.15})
    assert the(areas, "difference")["margin_low"] == -0.15


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.mrmc) == {"level": 0.95, "n_replicates": 10_000, "rng": 0}

"""Components and figures of readers against R (MRMCaov, RJafroc)."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import default_numbers_and_flags

import salstats as ss

#: R prints 15 to 17 digits; sums of a few thousand numbers round in the last few.
ROUNDING = 1e-9


def test_components_are_those_of_r(sets, vandyke, r_expected):
    names = ["sigma2_R", "sigma2_TR", "Var", "Cov1", "Cov2", "Cov3"]
    expected = r_expected("mrmc_comp").set_index("set")[names]
    for name, scores in sets.items():
        found = ss.mrmc_components(scores)
        assert list(found["term"]) == ["reader", "method:reader", "error", "cov1", "cov2", "cov3"]
        assert found["estimate"].to_numpy() == pytest.approx(expected.loc[name].to_numpy(), rel=ROUNDING)
    found = ss.mrmc_components(vandyke, figure="auc", label="truth").set_index("term")
    assert found.loc["cov1", "correlation"] == pytest.approx(0.00034661370944 / 0.000802288265572, rel=1e-9)


def test_components_below_zero_are_used_as_zero(sets, r_expected):
    # R gives method:reader -0.00037, and a cov2 below cov3, which takes its place.
    expected = r_expected("mrmc_comp").set_index("set").loc["negcov"]
    found = ss.mrmc_components(sets["negcov"]).set_index("term")
    assert expected["sigma2_TR"] < 0
    assert expected["Cov2"] < expected["Cov3"]
    used = {
        "reader": expected["sigma2_R"],
        "method:reader": 0.0,
        "error": expected["Var"],
        "cov1": expected["Cov1"],
        "cov2": expected["Cov3"],
        "cov3": expected["Cov3"],
    }
    assert found["used"].to_dict() == pytest.approx(used, rel=ROUNDING)
    variances = ["reader", "method:reader", "error"]
    sds = np.sqrt([used[term] for term in variances])
    np.testing.assert_allclose(found.loc[variances, "sd"], sds, rtol=ROUNDING)
    assert found["parameter"].to_dict() == dict.fromkeys(variances, "variance") | dict.fromkeys(
        ["cov1", "cov2", "cov3"], "covariance"
    )
    # The share of the error variance is that of the estimate, for covariances only.
    shares = expected[["Cov1", "Cov2", "Cov3"]].to_numpy(dtype=float) / expected["Var"]
    np.testing.assert_allclose(found.loc[["cov1", "cov2", "cov3"], "correlation"], shares, rtol=ROUNDING)
    assert found.loc[variances, "correlation"].isna().all()
    assert found.loc[["cov1", "cov2", "cov3"], "sd"].isna().all()


def test_components_are_counted_and_cov2_of_one_method_is_not_below_zero(rated):
    scores = rated.assign(patient=pd.factorize(rated["case"])[0] // 2)
    found = ss.mrmc_components(scores, unit="patient").iloc[0]
    n_cases = scores["case"].nunique()
    assert (found["n_methods"], found["n_readers"], found["n_cases"]) == (2, 5, n_cases)
    assert (found["n_units"], found["unit"]) == (scores["patient"].nunique(), "patient")
    assert (found["figure"], found["covariance"], found["design"]) == ("mean", "jackknife", "factorial")
    # Two readers of whom one scores high where the other scores low
    wide = pd.DataFrame({"ann": [0.1, 0.4, 0.9], "bob": [0.8, 0.6, 0.4]}, index=list("abc"))
    table = wide.rename_axis("case").reset_index().melt("case", var_name="reader", value_name="score")
    one_method = ss.mrmc_components(table.assign(method="cam", metric="iou")).set_index("term")
    covariance = np.cov(wide.to_numpy().T)[0, 1] / 3
    assert one_method.loc["cov2", "estimate"] == pytest.approx(covariance)
    assert covariance < 0
    assert one_method.loc["cov2", "used"] == 0


def test_figures_of_readers_are_those_of_r(sets, vandyke, r_expected):
    expected = r_expected("mrmc_fom").set_index("set")
    every = {name: ss.mrmc_readers(scores) for name, scores in sets.items()}
    every["vandyke_auc_jackknife"] = ss.mrmc_readers(vandyke, figure="auc", label="truth")
    every["vandyke_auc_delong"] = ss.mrmc_readers(vandyke, figure="auc", label="truth", covariance="delong")
    for name, found in every.items():
        in_r = expected.loc[name].astype({"modality": "str", "reader": "str"})
        both = found.merge(in_r, left_on=["method", "reader"], right_on=["modality", "reader"])
        assert len(both) == len(found) == len(in_r)
        assert both["estimate"].to_numpy() == pytest.approx(both["fom"].to_numpy(), rel=ROUNDING)
        assert both["std_error"].to_numpy() == pytest.approx(both["jack_se"].to_numpy(), rel=ROUNDING)
        assert found["inference_to"].eq("these readers").all()
        # the limits of a normal distribution, and a table says so
        half = stats.norm.ppf(0.975) * both["std_error"]
        assert both["conf_low"].to_numpy() == pytest.approx(
            (both["estimate"] - half).to_numpy(), rel=ROUNDING
        )
        assert found["interval"].eq("wald").all()
        how = "DeLong" if name.endswith("delong") else "jackknife"
        assert f"95% CI: Wald, {how} covariances." in ss.table_estimates(found).as_raw_html()


@pytest.mark.filterwarnings("ignore:cases lack readings of some reader")
def test_limits_have_the_level_and_counts_are_of_each_reader():
    rng = np.random.default_rng(8)
    scores = pd.DataFrame(
        [
            {"case": f"c{case}", "patient": f"p{case // 2}", "reader": reader, "method": method}
            for case in range(12)
            for reader in ("ann", "bob")
            for method in ("cam", "rise")
        ]
    )
    scores = scores.assign(metric="iou", score=rng.random(len(scores)))
    # ann has no score of the patient p0 with cam, nor of one case of p1.
    is_missing = scores["case"].isin(["c0", "c1", "c2"]) & (scores["reader"] == "ann")
    scores = scores[~(is_missing & (scores["method"] == "cam"))]
    found = ss.mrmc_readers(scores, unit="patient", level=0.8).set_index(["method", "reader"])
    means = scores.groupby(["method", "reader"])["score"].mean()
    np.testing.assert_allclose(found["estimate"], means.loc[found.index], rtol=ROUNDING)
    half_width = stats.norm.ppf(0.9) * found["std_error"]
    np.testing.assert_allclose(found["conf_low"], found["estimate"] - half_width, rtol=ROUNDING)
    np.testing.assert_allclose(found["conf_high"], found["estimate"] + half_width, rtol=ROUNDING)
    assert found["conf_level"].eq(0.8).all()
    assert found["n"].to_dict() == {
        ("cam", "ann"): 9, ("cam", "bob"): 12, ("rise", "ann"): 12, ("rise", "bob"): 12
    }  # fmt: skip
    assert found["n_units"].to_dict() == {
        ("cam", "ann"): 5, ("cam", "bob"): 6, ("rise", "ann"): 6, ("rise", "bob"): 6
    }  # fmt: skip


def test_groups_follow_each_other_with_one_index(rated):
    both = pd.concat([rated, rated.assign(metric="other", score=rated["score"] + 1)])
    for function in (ss.mrmc_readers, ss.mrmc_components):
        found = function(both)
        assert found.index.tolist() == list(range(len(found)))
        assert found["metric"].unique().tolist() == ["other", "rating"]
    # A number added to all scores moves the figures, and nothing else.
    readers = ss.mrmc_readers(both).set_index(["metric", "method", "reader"])
    shift = readers.loc["other", "estimate"] - readers.loc["rating", "estimate"]
    np.testing.assert_allclose(shift, 1)
    std_errors = [readers.loc[metric, "std_error"].to_numpy() for metric in ("other", "rating")]
    np.testing.assert_allclose(*std_errors)


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.mrmc_components) == {"n_replicates": 10_000, "rng": 0}
    assert default_numbers_and_flags(ss.mrmc_readers) == {"level": 0.95, "n_replicates": 10_000, "rng": 0}

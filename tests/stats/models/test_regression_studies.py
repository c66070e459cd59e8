"""Regressions of published studies, to the digits of the scripts and papers."""

import numpy as np
import pandas as pd
import pytest
from regression_oracle import assert_columns_equal
from tests_support import warns

import salstats as ss
from salstats.stats.engine.result_warnings import RepeatedUnitsWarning

# the scripts use statsmodels' OLS by pseudo-inverse, here QR; p-values are as small as 1e-46
SCRIPT_RTOL = 1e-9
# R read the workbook's numbers from a CSV of 17 digits
R_RTOL = 1e-9


@pytest.fixture(scope="module")
def study(shared):
    return shared / "oracles" / "chexlocalize" / "study" / "expected"


def _long(path, value):
    wide = pd.read_csv(path)
    return wide.melt(id_vars="img_id", var_name="task", value_name=value).rename(columns={"img_id": "case"})


@pytest.fixture(scope="module")
def features(study):
    """n_instance, area_ratio, elongation, irrectangularity of every finding, min-max over all of them."""
    frame = _long(study / "features" / "num_instances.csv", "n_instance")
    for name in ("area_ratio", "elongation", "rec_area_ratio"):
        frame = frame.merge(
            _long(study / "features" / f"{name}.csv", name), on=["case", "task"], validate="1:1"
        )
    frame["irrectangularity"] = 1 - frame.pop("rec_area_ratio")
    findings = frame[frame["n_instance"] > 0].reset_index(drop=True)
    assert len(findings) == 630
    return ss.normalize(findings, ["n_instance", "area_ratio", "elongation", "irrectangularity"])


@pytest.fixture(scope="module")
def scores(study, features):
    """The true-positive slice as a scores frame with the features as covariates."""
    parts = [
        _long(study / "eval_tp" / f"{file}_results_per_cxr.csv", "score").assign(method=method, metric=metric)
        for file, method, metric in (
            ("iou", "gradcam", "pred_iou"),
            ("iou_humanbenchmark", "human", "pred_iou"),
            ("hitmiss", "gradcam", "pred_hitmiss"),
            ("hitmiss_humanbenchmark", "human", "pred_hitmiss"),
        )
    ]
    frame = pd.concat(parts, ignore_index=True)
    with warns() as caught:
        # the scripts keep only tasks with a finding, so most scores have no features
        joined = ss.join_features(frame, features)
    assert caught[0].message.rows == tuple(np.flatnonzero(joined["n_instance"].isna()))
    return joined[joined["n_instance"].notna()].reset_index(drop=True)


def _compare(result, expected):
    columns = {"estimate": "mean", "conf_low": "lower", "conf_high": "upper", "p_value": "coef_pval"}
    assert_columns_equal(result, expected, columns, SCRIPT_RTOL)
    assert result["n"].tolist() == expected["n"].tolist()
    assert (result["n"] + result["n_missing"]).tolist() == expected["n_rows"].tolist()


@pytest.mark.parametrize("metric", ["pred_iou", "pred_hitmiss"])
@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.filterwarnings("ignore:units are named by:salstats.errors.SalstatsWarning")
def test_feature_regressions_of_chexlocalize_are_reproduced_unrounded(study, scores, metric, gap):
    expected = pd.read_csv(study / "regression_full_precision.csv")
    outcome = metric.removeprefix("pred_") + "_diff" if gap else metric
    expected = expected[(expected["script"] == "pathology_features") & (expected["y"] == outcome)]
    assert len(expected) == 4
    formulas = [f"{metric} ~ {feature}" for feature in expected["feature"]]
    # the script takes findings of one image as independent
    with pytest.warns(RepeatedUnitsWarning):
        result = ss.regress(
            scores,
            formulas,
            by="method",
            errors="classical",
            reference="human" if gap else None,
            adjust="bonferroni",
        )
    slopes = result[(result["term"] != "(Intercept)") & (result["method"] == "gradcam")]
    _compare(slopes, expected)
    if gap:
        np.testing.assert_allclose(slopes["p_adjusted"], np.minimum(1, 4 * slopes["p_value"]), rtol=1e-12)


@pytest.mark.parametrize(("outcome", "file"), [("iou", "eval_full/iou"), ("hitmiss", "eval_tp/hitmiss")])
@pytest.mark.filterwarnings("ignore:units are named by:salstats.errors.SalstatsWarning")
def test_model_assurance_regressions_of_chexlocalize_are_reproduced_unrounded(study, outcome, file):
    expected = pd.read_csv(study / "regression_full_precision.csv")
    expected = expected[(expected["script"] == "model_assurance") & (expected["y"] == outcome)]
    scores = _long(study / f"{file}_results_per_cxr.csv", outcome)
    prob = pd.read_csv(study / "per_map.csv").rename(columns={"img_id": "case"})[["case", "task", "prob"]]
    table = ss.join_features(scores, prob)
    with pytest.warns(RepeatedUnitsWarning):
        result = ss.regress(table, f"{outcome} ~ prob", by="task", errors="classical", overall=True)
    slopes = result[result["term"] == "prob"]
    assert slopes["task"].tolist() == expected["task"].tolist()
    _compare(slopes, expected)


def test_hit_rate_on_auroc_gives_the_printed_regression_of_saporta_2021(shared):
    table = pd.read_csv(shared / "data" / "published" / "saporta2021_auroc_hit.csv")
    table["hit_rate"] = table["hits"] / table["n"]
    intercept, slope = ss.regress(table, "hit_rate ~ auroc", errors="classical").itertuples()
    assert round(intercept.estimate, 4) == 1.1523
    assert round(intercept.std_error, 3) == 0.415
    assert round(slope.estimate, 4) == -0.8141
    assert round(slope.std_error, 3) == 0.471
    assert round(slope.statistic, 3) == -1.728
    assert round(slope.p_value, 3) == 0.122
    assert (round(slope.conf_low, 3), round(slope.conf_high, 3)) == (-1.900, 0.272)
    fit = ss.fit_statistics(table, "hit_rate ~ auroc", errors="classical").iloc[0]
    assert round(fit["r_squared"], 3) == 0.272
    assert round(fit["statistic"], 3) == 2.987


def test_gaze_scores_on_abnormality_equal_lm_with_sandwich_and_clubsandwich(shared, r_expected):
    sheet = pd.read_excel(
        shared / "data" / "lanfredi2021" / "normal_abnormal_separated.xlsx", sheet_name="results_uniform_df"
    )
    sheet["case"] = "p" + sheet["phase"].astype(str) + "_t" + sheet["trial"].astype(str)
    covariates = ["abnormal_majority", "pleural_majority", "cardiomediastinal_majority"]
    keys = sheet.rename(columns={"index_image": "reader", "model number": "seed"})
    keys = keys[["case", "reader", "seed", "metric", *covariates]]
    scores = pd.concat(
        [keys.assign(method=m, score=sheet[f"score_{m}"]) for m in ("interobserver", "ag")], ignore_index=True
    )
    formulas = [f"{m} ~ {' + '.join(covariates)}" for m in ("sncc", "sauc", "ncc", "auc")]
    expected = r_expected("real_abnormal_regression")
    expected["formula"] = expected["metric"].map(
        dict(zip(("sncc", "sauc", "ncc", "auc"), formulas, strict=True))
    )
    for errors, columns in (
        ("cluster", {"estimate": "estimate", "std_error": "se_cl_hc1"}),
        ("cr2", {"std_error": "se_cr2", "df": "df_cr2", "p_value": "p_cr2"}),
    ):
        result = ss.regress(scores, formulas, errors=errors)
        assert (result["n"] == 2275).all()
        assert (result["n_units"] == 91).all()
        both = result.merge(
            expected.rename(columns={"source": "method", "estimate": "oracle_estimate"}),
            on=["formula", "method", "term"],
            validate="1:1",
        )
        assert len(both) == 32
        columns = {ours: theirs.replace("estimate", "oracle_estimate") for ours, theirs in columns.items()}
        assert_columns_equal(both, both, columns, R_RTOL)

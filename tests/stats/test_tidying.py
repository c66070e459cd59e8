"""Results of statsmodels and of broom become estimates frames."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from regression_oracle import LINEAR, rows_of

import salstats as ss
from salstats.checks import ColumnError, InputFileError, SalstatsError, ValueRangeError

RTOL = 1e-10
NUMBERS = ["estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]


def test_a_csv_of_broom_becomes_the_frame_regress_gives(shared, synth1):
    table = ss.tidy(shared / "oracles" / "r" / "expected" / "lm_tidy.csv")
    assert list(table.columns) == ["model", "term", *NUMBERS, "conf_level"]
    multi = table[table["model"] == "multi|POOLED"].reset_index(drop=True)
    ours = ss.regress(rows_of(synth1, "multi|POOLED"), LINEAR["multi"])
    pd.testing.assert_frame_equal(multi[["term", *NUMBERS]], ours[["term", *NUMBERS]], rtol=RTOL)


def test_a_broom_table_keeps_its_other_columns_and_loses_row_names(tmp_path):
    path = tmp_path / "tidy.csv"
    path.write_text(
        '"","group","term","estimate","std.error","component","p.value"\n'
        '"1","a","(Intercept)",1.5,0.5,"conditional",0.01\n"2","a","size",NA,NA,"conditional",NA\n'
    )
    table = ss.tidy(str(path))
    assert list(table.columns) == ["group", "term", "estimate", "std_error", "p_value", "component"]
    assert np.isnan(table["estimate"][1])
    pd.testing.assert_frame_equal(ss.tidy(table), table)


def test_a_table_of_broom_can_be_adjusted(shared):
    table = ss.tidy(shared / "oracles" / "r" / "expected" / "lm_tidy.csv")
    adjusted = ss.adjust(table, procedure="holm", within="model")
    assert adjusted.loc[adjusted["term"] == "(Intercept)", "p_adjusted"].isna().all()


@pytest.mark.parametrize("errors", ["nonrobust", "HC3"])
def test_statsmodels_ols_becomes_the_frame_regress_gives(synth1, errors):
    rows = rows_of(synth1, "all|POOLED")
    fit = smf.ols("iou ~ prob * C(task)", rows).fit(cov_type=errors, use_t=True)
    ours = ss.regress(rows, "iou ~ prob * C(task)", errors="classical" if errors == "nonrobust" else "hc3")
    theirs = ss.tidy(fit).set_index("term").loc[ours["term"]].reset_index()
    columns = ["term", *NUMBERS, "df", "conf_level", "interval", "n"]
    pd.testing.assert_frame_equal(theirs[columns], ours[columns], rtol=1e-8, check_dtype=False)


def test_statsmodels_glm_from_arrays_becomes_the_frame_regress_gives(synth1):
    rows = rows_of(synth1, "all|POOLED").dropna(subset=["hit", "prob"])
    fit = sm.GLM(rows["hit"], sm.add_constant(rows["prob"]), family=sm.families.Binomial()).fit(tol=1e-14)
    ours = ss.regress(rows, "hit ~ prob", family="binomial", level=0.9)
    theirs = ss.tidy(fit, level=0.9)
    columns = ["term", *NUMBERS, "df", "conf_level", "interval", "n"]
    pd.testing.assert_frame_equal(theirs[columns], ours[columns], rtol=1e-8, check_dtype=False)
    plain = sm.OLS(rows["hit"].to_numpy(), sm.add_constant(rows["prob"].to_numpy())).fit()
    assert ss.tidy(plain)["term"].tolist() == ["(Intercept)", "x1"]


def test_statsmodels_mixed_models_and_gee_are_read_too(synth1):
    rows = synth1.dropna(subset=["iou", "prob"]).assign(iou=lambda d: 10 * d["iou"])
    mixed = smf.mixedlm("iou ~ prob", rows, groups=rows["task"]).fit()
    table = ss.tidy(mixed)
    assert table["term"].tolist() == ["(Intercept)", "prob", "Group Var"]
    np.testing.assert_allclose(table["estimate"], mixed.params, rtol=RTOL)
    assert (table["interval"] == "wald").all()
    gee = smf.gee("iou ~ prob", "patient", rows).fit()
    np.testing.assert_allclose(ss.tidy(gee)["std_error"], gee.bse, rtol=RTOL)


def test_what_cannot_be_tidied_is_refused(tmp_path):
    with pytest.raises(SalstatsError, match="not dict"):
        ss.tidy({})
    with pytest.raises(InputFileError, match="there is no file"):
        ss.tidy(tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputFileError, match="is not a CSV file"):
        ss.tidy(tmp_path / "empty.csv")
    with pytest.raises(ColumnError, match="no column 'estimate'"):
        ss.tidy(pd.DataFrame({"term": ["a"]}))
    with pytest.raises(ColumnError, match="'std_error' of the table holds text"):
        ss.tidy(pd.DataFrame({"term": ["a"], "estimate": [1.0], "std.error": ["small"]}))
    with pytest.raises(ColumnError, match="'p_value' twice"):
        ss.tidy(pd.DataFrame({"term": ["a"], "estimate": [1.0], "p.value": [0.1], "p_value": [0.1]}))
    with pytest.raises(ValueRangeError, match="level"):
        ss.tidy(pd.DataFrame({"term": ["a"], "estimate": [1.0]}), level=95)

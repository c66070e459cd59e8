"""correlate() against R's cor.test, the CheXlocalize scripts and a published example."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy import stats
from tests_support import default_numbers_and_flags, raises, warns

from salstats.errors import ColumnError, ColumnValue, SalstatsWarning, ValueRangeError
from salstats.stats.adjust import adjust
from salstats.stats.correlation import correlate
from salstats.stats.engine.coefficients import TESTS, fisher_limits, fisher_z_std_error
from salstats.stats.engine.influences import pair_influences
from salstats.stats.engine.intervals import interval_names
from salstats.stats.engine.result_warnings import RepeatedUnitsWarning

# R's manifest promises 1e-9; sums over up to 1400 pairs are done in another order than in R
R_AGREES = 1e-9
# the scripts' values were written in full precision by the same SciPy routines on the same doubles
SCRIPTS_AGREE = 1e-9
# a factorial through its logarithm
ROUNDING = 1e-12
# printed to four digits
PRINTED = 5e-5

RELATED = Path(__file__).parents[1] / "reference" / "correlation"
COVARIATES = ("prob", "area_ratio", "elongation", "n_instances", "human_iou")


@pytest.fixture(scope="module")
def pairs(r_data, synth1):
    """The pairs of 20_cor.R, one below the other."""
    small = r_data("cor_small")
    parts = [small.assign(pair="small_" + small["set"])[["pair", "x", "y"]]]
    for task, rows in [*synth1.groupby("task"), ("POOLED", synth1)]:
        for name in COVARIATES:
            parts.append(pd.DataFrame({"pair": f"iou~{name}|{task}", "x": rows[name], "y": rows["iou"]}))
    real = r_data("gaze_case_means_ag_io")
    parts.append(
        pd.DataFrame({"pair": "real_" + real["metric"] + "_io_ag", "x": real["io"], "y": real["ag"]})
    )
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def oracle(r_expected):
    table = r_expected("cor_tests").set_index("pair").sort_index()
    assert len(table) == 47
    return table


def correlated(pairs, oracle, **options):
    result = correlate(pairs, "x", "y", by="pair", **options).set_index("pair")
    assert result.index.tolist() == oracle.index.tolist()
    assert result["n"].tolist() == oracle["n"].tolist()
    return result


def assert_columns_match(result, oracle, columns):
    for ours, theirs in columns.items():
        np.testing.assert_allclose(
            result[ours], oracle[theirs], rtol=R_AGREES, atol=1e-12, err_msg=f"{ours} and R's {theirs}"
        )


def test_pearson_is_r_cor_test(pairs, oracle):
    assert_columns_match(
        correlated(pairs, oracle, test="pearson", interval="fisher"),
        oracle,
        {
            "estimate": "pearson",
            "statistic": "pearson_t",
            "df": "pearson_df",
            "p_value": "pearson_p",
            "conf_low": "pearson_lo",
            "conf_high": "pearson_hi",
        },
    )


@pytest.mark.parametrize(
    ("interval", "prefix"), [("fisher", "sp_fisher"), ("bonett-wright", "sp_bw"), ("fieller", "sp_fieller")]
)
def test_spearman_is_r_cor_test_with_the_t_approximation(pairs, oracle, interval, prefix):
    """R's default p-value is exact (AS 89) where there are no ties; ours is its exact=FALSE at every n."""
    result = correlated(pairs, oracle, interval=interval)
    assert_columns_match(
        result,
        oracle,
        {
            "estimate": "spearman",
            "p_value": "spearman_p_asymp",
            "conf_low": f"{prefix}_lo",
            "conf_high": f"{prefix}_hi",
        },
    )
    untied = ~oracle["ties"]
    assert untied.any()
    assert (result["p_value"] != oracle["spearman_p_default"])[untied].all()
    tied = oracle["ties"]
    np.testing.assert_allclose(
        result["p_value"][tied], oracle["spearman_p_default"][tied], rtol=R_AGREES, atol=1e-12
    )


def test_kendall_is_r_cor_test_without_exact_tables(pairs, oracle):
    result = correlated(pairs, oracle, test="kendall", interval="fieller")
    assert_columns_match(
        result,
        oracle,
        {
            "estimate": "kendall_tau_b",
            "statistic": "kendall_z_asymp",
            "p_value": "kendall_p_asymp",
            "conf_low": "kd_bw_lo",
            "conf_high": "kd_bw_hi",
        },
    )
    assert result["df"].isna().all()


@pytest.mark.parametrize("variable", ["prob", "area_ratio"])
def test_stratified_correlation_is_the_pooled_fisher_z_of_r(synth1, r_expected, variable):
    expected = r_expected("cor_pooled_fisherz").set_index("var").loc[variable]
    table = synth1.drop(columns=["case", "patient"])
    result = correlate(table, "iou", variable, stratified="task", interval="fisher").loc[0]
    for ours, theirs in {
        "estimate": "pooled_r",
        "conf_low": "lo",
        "conf_high": "hi",
        "q": "Q",
        "q_df": "df",
        "q_p_value": "p_Q",
    }.items():
        np.testing.assert_allclose(result[ours], expected[theirs], rtol=R_AGREES, err_msg=ours)
    assert result["n_strata"] == 6


def test_a_stratum_without_a_correlation_is_left_out_and_named():
    table = pd.DataFrame(
        {"task": ["a"] * 6 + ["b"] * 6, "x": [*range(6), *[1.0] * 6], "y": [1, 3, 2, 5, 4, 6] * 2}
    )
    with warns(column="n_strata", rows=(0,), value=["x"], message=ColumnValue("task", "b")):
        result = correlate(table, "x", "y", stratified="task")
    alone = correlate(table[:6], "x", "y")
    assert result["n_strata"].tolist() == [1]
    np.testing.assert_allclose(result["estimate"], alone["estimate"], rtol=R_AGREES)
    np.testing.assert_allclose(result["conf_low"], alone["conf_low"], rtol=R_AGREES)


def test_saporta_2021_area_and_overlap(shared):
    """Saporta et al. 2021 (medRxiv): Spearman of mIoU and AUROC over ten pathologies, -0.5515, p 0.0984."""
    table = pd.read_csv(shared / "data" / "published" / "saporta2021_auroc_hit.csv")
    result = correlate(table, "miou", "auroc", interval="fisher").loc[0]
    np.testing.assert_allclose(result["estimate"], -0.5515, atol=PRINTED)
    np.testing.assert_allclose(result["p_value"], 0.0984, atol=PRINTED)


@pytest.mark.parametrize(("metric", "file"), [("iou", "eval_full/iou"), ("hitmiss", "eval_tp/hitmiss")])
def test_model_assurance_of_the_chexlocalize_scripts(shared, metric, file):
    """Correlation and p-value as they stand; the limits with the scripts' 1.96."""
    folder = shared / "oracles" / "chexlocalize" / "study" / "expected"
    expected = pd.read_csv(folder / "regression_full_precision.csv")
    expected = expected[(expected["script"] == "model_assurance") & (expected["y"] == metric)]
    expected = expected.set_index("task")
    assert len(expected) == 11
    scores = pd.read_csv(folder / f"{file}_results_per_cxr.csv").melt(
        "img_id", var_name="task", value_name="score"
    )
    prob = pd.read_csv(folder / "per_map.csv")[["img_id", "task", "prob"]]
    scores = scores.merge(prob, on=["img_id", "task"], validate="one_to_one")
    scores = scores.rename(columns={"img_id": "case"}).assign(method="gradcam", metric=metric)
    with pytest.warns(RepeatedUnitsWarning) as caught:
        result = correlate(
            scores, metric, "prob", by=("method", "task"), overall=True, unit="case", interval="fisher"
        )
    result = result.set_index("task")
    (repeated,) = [w.message for w in caught if isinstance(w.message, RepeatedUnitsWarning)]
    assert result.index[list(repeated.rows)].tolist() == ["Overall"]
    assert result.index.tolist() == [*sorted(expected.index.drop("Overall")), "Overall"]
    expected = expected.loc[result.index]
    np.testing.assert_array_equal(result["n"], expected["n"])
    np.testing.assert_allclose(result["estimate"], expected["corr"], rtol=SCRIPTS_AGREE)
    np.testing.assert_allclose(result["p_value"], expected["corr_pval"], rtol=SCRIPTS_AGREE)
    r, n = result["estimate"].to_numpy(), result["n"].to_numpy()
    low, high = fisher_limits(r, fisher_z_std_error(r, n, "spearman", "fisher"), 1.96)
    np.testing.assert_allclose(low, expected["corr_lower"], rtol=SCRIPTS_AGREE)
    np.testing.assert_allclose(high, expected["corr_upper"], rtol=SCRIPTS_AGREE)


def test_a_metric_of_a_scores_frame_is_what_its_column_was(drawn_table, drawn_scores):
    options = {"by": "task", "unit": None}
    long = correlate(drawn_scores[drawn_scores["method"] == "gradcam"], "iou", "prob", **options)
    wide = correlate(drawn_table, "iou", "prob", **options)
    pd.testing.assert_frame_equal(long, wide)
    assert long["unit"].unique().tolist() == ["patient"]
    assert (long["n"] + long["n_missing"] == 300).all()


def test_two_metrics_are_paired_by_key_and_not_by_row(drawn_table, drawn_scores):
    shuffled = drawn_scores.sample(frac=1, random_state=3)
    result = correlate(shuffled, "iou", "hit", by=("method", "task"))
    one = result[(result["method"] == "human") & (result["task"] == "Edema")]
    rows = drawn_table[drawn_table["task"] == "Edema"]
    expected = stats.spearmanr(rows["human_iou"], rows["human_hit"], nan_policy="omit")
    np.testing.assert_allclose(one["estimate"], expected.statistic, rtol=R_AGREES)


def test_overall_pools_tasks_and_stands_after_them(drawn_table):
    table = drawn_table.drop(columns=["case", "patient"])
    result = correlate(table, "iou", "prob", by="task", overall=True)
    assert result["task"].tolist() == [*sorted(table["task"].unique()), "Overall"]
    pooled = correlate(table, "iou", "prob", by=())
    assert result["estimate"].iloc[-1] == pooled["estimate"][0]


def test_stratified_counts_the_pairs_that_were_used():
    """20 pairs in two strata that enter; 5 in a constant one and 3 on a line do not, and 2 lack a value."""
    table = pd.DataFrame(
        {
            "case": [f"c{i}" for i in range(30)],
            "task": ["a"] * 10 + ["b"] * 10 + ["flat"] * 5 + ["line"] * 3 + ["a"] * 2,
            "x": [*range(10), *range(10), *[1.0] * 5, 1, 2, 3, np.nan, 1],
            "y": [*[2, 1, 4, 3, 6, 5, 8, 7, 10, 9] * 2, *range(5), 1, 2, 3, 1, np.nan],
        }
    )
    with warns(column="n_strata", rows=(0,), value=["x", None]) as caught:
        result = correlate(table, "x", "y", by=(), stratified="task").loc[0]
    strata = [part for part in caught[0].message.message.parts if isinstance(part, ColumnValue)]
    assert strata == [ColumnValue("task", "flat"), ColumnValue("task", "line")]
    assert result[["n", "n_missing", "n_units", "n_strata"]].tolist() == [20, 10, 20, 2]
    with warns(column="n_strata", rows=(0,), value=[None], message=ColumnValue("task", "line")):
        nothing = correlate(table[25:28], "x", "y", by=(), stratified="task").loc[0]
    assert nothing[["n", "n_missing", "n_units", "n_strata"]].tolist() == [0, 3, 0, 0]
    assert np.isnan(nothing["estimate"])


@pytest.mark.parametrize(
    ("test", "interval"),
    [
        ("spearman", "fisher"),
        ("spearman", "bonett-wright"),
        ("spearman", "fieller"),
        ("kendall", "fieller"),
    ],
)
def test_bonferroni_limits_are_those_made_at_the_corrected_level(drawn_table, test, interval):
    table = drawn_table.drop(columns=["case", "patient"])
    options = {"by": "task", "test": test, "interval": interval}
    widened = adjust(correlate(table, "iou", "prob", **options), procedure="holm", intervals=True)
    expected = correlate(table, "iou", "prob", **options, level=1 - 0.05 / 6)
    for column in ("conf_low", "conf_high", "conf_level"):
        np.testing.assert_allclose(widened[column], expected[column], rtol=1e-10)


@pytest.mark.parametrize("test", ["spearman", "pearson", "kendall"])
def test_constant_input_gives_nan_and_a_warning_that_names_the_group(test):
    table = pd.DataFrame(
        {"method": ["a"] * 5 + ["b"] * 5, "x": [1.0, 2, 3, 4, 5, 7, 7, 7, 7, 7], "y": [2.0, 1, 4, 3, 5] * 2}
    )
    with warns(column="estimate", rows=(1,), value=["x"]):
        result = correlate(table, "x", "y", test=test)
    assert result["estimate"].notna().tolist() == [True, False]
    undefined = result.loc[1, ["estimate", "statistic", "p_value", "conf_low", "conf_high"]]
    assert undefined.isna().all()
    assert result["n"].tolist() == [5, 5]


def test_two_pairs_are_no_correlation_and_three_have_no_limits():
    table = pd.DataFrame({"x": [1.0, 2, 3], "y": [1.0, 3, 2]})
    with warns(column="estimate", rows=(0,), value=[None]):
        assert correlate(table[:2], "x", "y")["estimate"].isna().all()
    with warns(option=None, column="n_units", rows=(0,)):
        three = correlate(table, "x", "y")
    assert three["estimate"].tolist() == [0.5]
    assert three[["statistic", "df", "p_value", "conf_low", "conf_high"]].isna().all(axis=None)
    alone = correlate(table, "x", "y", interval="fisher")
    assert alone[["conf_low", "conf_high"]].isna().all(axis=None)


def test_three_patients_are_too_few_however_many_rows_they_have():
    random = np.random.default_rng(4)
    table = pd.DataFrame({"patient": np.arange(30) % 3, "x": random.random(30), "y": random.random(30)})
    with warns(option=None, column="n_units", rows=(0,)) as said:
        row = correlate(table, "x", "y").loc[0]
    assert len(said) == 1
    assert row[["statistic", "df", "p_value", "conf_low", "conf_high"]].isna().all()
    assert correlate(table.assign(patient=np.arange(30) % 4), "x", "y")["df"].between(1, 3).all()


def test_repeated_units_warn_with_the_numbers():
    table = pd.DataFrame({"case": list("aabbcc"), "x": [1.0, 2, 3, 4, 5, 6], "y": [1.0, 3, 2, 5, 4, 6]})
    with warns(column="case", rows=(0,)):
        result = correlate(table, "x", "y", interval="fisher")
    assert result[["unit", "n", "n_units"]].to_numpy().tolist() == [["case", 6, 3]]


@pytest.mark.filterwarnings("ignore:in 1 of 1 groups rows repeat a patient:salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("interval", interval_names("spearman"))
def test_an_interval_is_the_one_that_was_asked_for_or_an_error(drawn_table, test, interval):
    options = {"by": (), "test": test, "interval": interval, "unit": "patient"}
    if interval not in interval_names(test):
        with raises(ValueRangeError, option="interval", value=interval, choices=interval_names(test)):
            correlate(drawn_table, "iou", "prob", **options)
        return
    row = correlate(drawn_table.head(60), "iou", "prob", **options).loc[0]
    assert row["interval"] == ("cr2" if interval == "recommended" else interval)


def test_bad_input_is_named(drawn_table, drawn_scores):
    # the question comes before the list of all columns
    with raises(ColumnError, column="iuo", match=r"'iou'\?"):
        correlate(drawn_scores, "iuo", "prob")
    with raises(ColumnError, option="by", value="metric"):
        correlate(drawn_scores, "iou", "prob", by="metric")
    with raises(ColumnError, option="stratified", value="task"):
        correlate(drawn_table, "iou", "prob", by="task", stratified="task")
    with raises(ValueRangeError, option="x", value="iou"):
        correlate(drawn_table, "iou", "iou")
    conflicting = drawn_scores.copy()
    conflicting.loc[conflicting["method"] == "human", "prob"] += 0.1
    first = conflicting.sort_values(["case", "task"]).iloc[0]
    is_first = (conflicting["case"] == first["case"]) & (conflicting["task"] == first["task"])
    with raises(ColumnError, column="prob", rows=tuple(np.flatnonzero(is_first))):
        correlate(conflicting, "prob", "area_ratio", by="task")


@pytest.mark.parametrize("test", ["spearman", "pearson", "kendall"])
def test_clustered_correlation_learns_nothing_from_a_case_that_stands_twice(test):
    rng = np.random.default_rng(6)
    x = rng.standard_t(3, 60)
    once = pd.DataFrame(
        {"patient": np.arange(60), "case": np.arange(60), "x": x, "y": x + rng.standard_t(3, 60)}
    )
    twice = pd.concat([once, once.assign(case=once["case"] + 60)], ignore_index=True)
    found = [correlate(f, "x", "y", test=test, interval="cr2", unit="patient").iloc[0] for f in (once, twice)]
    for column in ("estimate", "df", "p_value", "conf_low", "conf_high"):
        if test != "kendall" or column == "df":
            assert found[1][column] == pytest.approx(found[0][column], rel=1e-9)
    # tau-b itself moves with the pairs of a case and its copy
    assert found[1]["conf_low"] == pytest.approx(found[0]["conf_low"], abs=0.02)


def clustered_by_definition(table, test):
    """Fisher's z, its CR2 standard error and degrees of freedom with the matrices written out."""
    x, y, n = table["x"].to_numpy(), table["y"].to_numpy(), len(table)
    r = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}[test](x, y).statistic
    pulls = pair_influences(x, y, test) / (1 - r**2)
    same = table["patient"].to_numpy()[:, None] == table["patient"].unique()
    residual = np.eye(n) - 1 / n
    roots = []
    for rows in same.T:
        values, vectors = np.linalg.eigh(residual[np.ix_(rows, rows)])
        root = np.zeros(n)
        root[rows] = (vectors / np.sqrt(np.where(values > 1e-9, values, np.inf)) @ vectors.T).sum(axis=1) / n
        roots.append(root)
    parts = np.array(roots) @ residual
    variance = ((parts @ pulls) ** 2).sum()
    spread = parts @ parts.T
    satterthwaite = np.trace(spread) ** 2 / (spread**2).sum()
    squares = (parts @ pulls) ** 2
    kurtosis = 2 * squares.sum() ** 2 / ((squares - squares.mean()) ** 2).sum()
    least = np.sqrt((1 + r**2 / 2) / (n - 3) if test == "spearman" else 1 / (n - 3))
    std_error, df = np.sqrt(variance), min(satterthwaite, kurtosis)
    return np.arctanh(r), [(std_error, df), (least, df if same.shape[1] < n else np.inf)]


@pytest.mark.parametrize("test", ["spearman", "pearson"])
@pytest.mark.parametrize("outcome", ["clustered", "rare hit", "rows for themselves", "their rare hit"])
def test_the_default_is_cr2_of_the_influence_function(test, outcome):
    random = np.random.default_rng(8)
    patient = np.repeat(np.arange(12), [9, 1, 2, 3, 4, 2, 1, 2, 6, 1, 1, 2])
    if outcome in ("rows for themselves", "their rare hit"):
        patient = np.arange(len(patient))
    x = random.normal(size=len(patient)) + 2 * random.normal(size=12)[patient % 12]
    y = x + random.normal(size=len(x)) + 3 * random.normal(size=12)[patient % 12]
    y = (y > np.sort(y)[2]).astype(float) if "rare hit" in outcome else y
    table = pd.DataFrame({"patient": patient, "x": x, "y": y})
    row = correlate(table, "x", "y", test=test).loc[0]
    z, candidates = clustered_by_definition(table, test)
    got = row[["statistic", "df", "p_value", "conf_low", "conf_high"]].astype(float)
    # both at once: the larger P value, and the wider limits
    reach = max(stats.t.ppf(0.975, df) * error for error, df in candidates)
    p_value, statistic, df = max((2 * stats.t.sf(abs(z / e), df), z / e, df) for e, df in candidates)
    shown = df if np.isfinite(df) else np.nan
    want = [statistic, shown, p_value, np.tanh(z - reach), np.tanh(z + reach)]
    np.testing.assert_allclose(got, want, rtol=R_AGREES)
    assert row["interval"] == "cr2"
    pd.testing.assert_series_equal(row, correlate(table, "x", "y", test=test, interval="recommended").loc[0])
    assert correlate(table, "x", "y", test=test, level=0.999).loc[0, "p_value"] == row["p_value"]


@pytest.mark.slow
def test_limits_of_a_rare_hit_hold_where_two_patients_have_most_images():
    """50 units of 1 to 5 images, two of 40; nine of ten hit. Rows for themselves lose 25 points of 95."""
    random, n_studies = np.random.default_rng(3), 400
    parts = []
    for study in range(n_studies):
        patient = np.repeat(np.arange(50), np.concatenate([[40, 40], random.integers(1, 6, 48)]))
        x, own = np.sqrt(0.8) * random.normal(size=(2, 50))[:, patient] + np.sqrt(0.2) * random.normal(
            size=(2, len(patient))
        )
        parts.append(
            pd.DataFrame({"study": study, "patient": patient, "x": x, "y": own > stats.norm.ppf(0.1)})
        )
    table = pd.concat(parts, ignore_index=True).astype({"y": float})
    table["patient"] += 50 * table["study"]
    held = correlate(table, "x", "y", by="study")
    alone = correlate(table.drop(columns="patient"), "x", "y", by="study", interval="bonett-wright")
    # one in 10,000 runs would fall below; of a correlation of 0 the limits hold 94 %
    assert ((held["conf_low"] <= 0) & (held["conf_high"] >= 0)).sum() >= stats.binom.ppf(
        1e-4, n_studies, 0.94
    )
    assert ((alone["conf_low"] <= 0) & (alone["conf_high"] >= 0)).mean() < 0.8


@pytest.mark.parametrize("test", ["spearman", "pearson", "kendall"])
def test_clustered_limits_exclude_0_where_p_is_small(test):
    rng = np.random.default_rng(2)
    patient = np.repeat(np.arange(30), 3)
    for slope in (0.0, 0.1, 0.2, 0.4):
        x = rng.normal(size=90) + rng.normal(size=30)[patient]
        table = pd.DataFrame(
            {"patient": patient, "case": np.arange(90), "x": x, "y": slope * x + rng.normal(size=90)}
        )
        row = correlate(table, "x", "y", test=test, interval="cr2").iloc[0]
        assert (row["conf_low"] > 0 or row["conf_high"] < 0) == (row["p_value"] < 0.05)
        assert row["df"] < 30


@pytest.fixture(scope="module")
def related() -> pd.DataFrame:
    """The pairs of tests/reference/correlation, with two covariates and units."""
    return pd.read_csv(RELATED / "pairs.csv")


def assert_rows_match(result, expected, columns=("estimate", "statistic", "df", "p_value")):
    for column in [c for c in (*columns, "conf_low", "conf_high") if c in expected]:
        np.testing.assert_allclose(result[column], expected[column], rtol=R_AGREES, err_msg=column)


def test_estimates_are_those_of_pingouin_whatever_it_rounds(related):
    rows = related[related["set"] == "medium"]
    with warnings.catch_warnings():
        # it calls pandas as earlier versions had it
        warnings.simplefilter("ignore", DeprecationWarning)
        within = pingouin.rm_corr(rows[rows["unit"].duplicated(keep=False)], "x", "y", "unit").iloc[0]
    want = {
        "rm": [within["r"], within["dof"]],
        "percbend": [pingouin.corr(rows["x"], rows["y"], method="percbend")["r"].iloc[0], len(rows) - 2],
        "bicor": [pingouin.corr(rows["x"], rows["y"], method="bicor")["r"].iloc[0], len(rows) - 2],
    }
    partial = pingouin.partial_corr(rows, "x", "y", ["age", "size"])["r"].iloc[0]
    try:
        pingouin.options["round"] = 1
        for test, (r, df) in want.items():
            unit = "unit" if test == "rm" else None
            row = correlate(rows, "x", "y", test=test, unit=unit, interval="fisher").loc[0]
            np.testing.assert_allclose([row["estimate"], row["df"]], [r, df], rtol=R_AGREES)
        row = correlate(rows, "x", "y", test="pearson", covariates=["age", "size"]).loc[0]
        np.testing.assert_allclose(row["estimate"], partial, rtol=R_AGREES)
        assert pingouin.options["round"] == 1
    finally:
        pingouin.set_default_options()


@pytest.mark.parametrize(
    "options", [{"test": "rm"}, {"test": "bicor"}, {"test": "pearson", "covariates": "age"}]
)
def test_strata_overall_and_adjustment_go_with_every_coefficient(related, options):
    table = related[related["set"].isin(["large", "medium"])].rename(columns={"set": "task"})
    table["unit"] = table["task"] + table["unit"].astype(str)
    both = correlate(table, "x", "y", by="task", unit="unit", overall=True, adjust="holm", **options)
    assert both["task"].tolist() == ["large", "medium", "Overall"]
    assert (both["p_adjusted"] >= both["p_value"]).all()
    combined = correlate(table, "x", "y", by=(), stratified="task", unit="unit", **options).loc[0]
    r, n = both["estimate"][:2].to_numpy(), both["n"][:2].to_numpy()
    used = n - both["n_units"][:2].to_numpy() + 1 if options["test"] == "rm" else n - len(options) + 1
    weights = used - 3
    np.testing.assert_allclose(combined["estimate"], np.tanh((weights * np.arctanh(r)).sum() / weights.sum()))
    assert combined["n_strata"] == 2
    assert combined["conf_low"] < combined["estimate"] < combined["conf_high"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"test": "rm"}, {"test": "percbend"}, {"test": "bicor"}, {"test": "spearman", "covariates": "z"}],
)
def test_default_limits_hold_where_slopes_differ_between_patients(options):
    """30 units of 2 to 8 rows; the truth is the correlation of 20,000 units."""
    random, n_studies = np.random.default_rng(5), 400

    def table(n_units, study):
        unit = np.repeat(np.arange(n_units), random.integers(2, 9, n_units))
        level, own = random.normal(size=(3, n_units))[:, unit], random.normal(size=(3, len(unit)))
        z = 0.6 * level[0] + 0.8 * own[0]
        x = z + 0.8 * level[1] + own[1]
        slope = 0.5 + 0.5 * random.normal(size=n_units)[unit]
        return pd.DataFrame(
            {"study": study, "unit": unit, "x": x, "y": z + slope * x + 1.2 * level[2] + own[2], "z": z}
        )

    every = table(20_000, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        truth = correlate(every, "x", "y", unit="unit", interval="fisher", **options)["estimate"][0]
    studies = pd.concat([table(30, study) for study in range(n_studies)], ignore_index=True)
    studies["unit"] += 30 * studies["study"]
    held = correlate(studies, "x", "y", by="study", unit="unit", **options)
    # one in 10,000 runs would fall below
    n_held = ((held["conf_low"] <= truth) & (held["conf_high"] >= truth)).sum()
    assert n_held >= stats.binom.ppf(1e-4, n_studies, 0.94)


def test_values_that_are_nearly_all_equal_have_a_reason_of_their_own():
    frame = pd.DataFrame({"x": [1.0] * 6 + [2.0, 5, 3, 8, 4, 7], "y": np.arange(12.0) % 5})
    with warns(option="test", value="bicor", column="n_units", rows=(0,)):
        found = correlate(frame.assign(case=list("abcdefghijkl")), "x", "y", test="bicor")
    assert np.isfinite(found["estimate"]).all()
    assert found["p_value"].isna().all()


def test_an_absent_finding_counts_once_for_each_score():
    rng = np.random.default_rng(0)
    rows = [
        {"case": f"{case}", "method": "cam", "metric": "iou", "seed": seed, "prob": rng.random(),
         "label": int(case >= 4), "score": np.nan if case < 4 else rng.random()}
        for seed in "01" for case in range(12)
    ]  # fmt: skip
    by_score = correlate(pd.DataFrame(rows), "score", "prob", by=["method", "metric"])
    by_metric = correlate(pd.DataFrame(rows), "iou", "prob", by="method")
    for found in (by_score, by_metric):
        assert found[["n_missing", "n_absent"]].to_numpy().tolist() == [[8, 8]]


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(correlate) == {"level": 0.95, "overall": False}

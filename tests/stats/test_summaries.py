"""Means, their replicates and intervals, and mean curves, against R and the CheXlocalize scripts."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import default_numbers_and_flags, limits, raises, warns, warns_too

import salstats as ss
from salstats.errors import (
    ColumnError,
    ColumnValue,
    SalstatsError,
    SalstatsWarning,
    Setting,
    ShapeError,
    ValueRangeError,
)
from salstats.frames import ESTIMATE_COLUMNS
from salstats.stats.engine.cautions import BASELINE_SHOWS_MUCH, add_caution, row_mask_by_caution
from salstats.stats.summaries import mean_curves

# the oracles and the hand-worked examples are small on purpose; one test shows that this is said
pytestmark = pytest.mark.filterwarnings("ignore:.*fewer than (20|4) gives:salstats.errors.SalstatsWarning")

# the same arithmetic in another order of summation
RTOL = 1e-12
# R prints 15 to 17 digits; its quantiles add a rounding or two
RTOL_LIMITS = 1e-11

# which rows of R's table use NumPy's quantile rule (type 7) and so can be met exactly
SAME_RULE = {
    "percentile": "perc_type7",
    "normal": "norm",
    "bca": "rsample_int_bca",
    "studentized": "rsample_int_t",
}


def scores_of(values, *, metric="iou", cases=None, **columns):
    cases = [f"c{i:03d}" for i in range(len(values))] if cases is None else cases
    return pd.DataFrame({"case": cases, "method": "gradcam", "metric": metric, "score": values, **columns})


@pytest.mark.parametrize(("interval", "row"), SAME_RULE.items())
def test_interval_of_a_mean_equals_r(boot60, boot60_draws, r_expected, interval, row):
    iou = boot60.query("metric == 'iou' and method == 'gradcam'")
    table = r_expected("boot_ci").query("stat == 'mean_iou' and type == @row")
    for level in table["conf"].unique() if not row.startswith("rsample") else [0.95]:
        got = ss.summarize(iou, interval=interval, draws=boot60_draws, level=level)
        want = table[table["conf"] == level][["lo", "hi"]].to_numpy()[0]
        np.testing.assert_allclose(limits(got), want, rtol=RTOL_LIMITS)


def test_basic_interval_mirrors_r_percentile_of_type_7(boot60, boot60_draws, r_expected):
    iou = boot60.query("metric == 'iou' and method == 'gradcam'")
    r = r_expected("boot_ci").query("stat == 'mean_iou' and type == 'perc_type7' and conf == 0.95")
    t0 = r_expected("boot_t0").set_index("stat").loc["mean_iou", "t0"]
    got = ss.summarize(iou, interval="basic", draws=boot60_draws)
    np.testing.assert_allclose(limits(got), 2 * t0 - r[["hi", "lo"]].to_numpy()[0], rtol=RTOL_LIMITS)


def test_standard_error_and_bias_equal_r(boot60, boot60_draws, r_expected):
    got = ss.summarize(boot60.query("metric == 'iou' and method == 'gradcam'"), draws=boot60_draws).iloc[0]
    want = r_expected("boot_t0").set_index("stat").loc["mean_iou"]
    np.testing.assert_allclose([got["estimate"], got["std_error"]], [want["t0"], want["se"]], rtol=RTOL)
    np.testing.assert_allclose(got["bias"], want["bias"], rtol=1e-9)


def test_cluster_replicates_equal_r(synth1_iou, synth1_draws, r_expected):
    want = r_expected("cluster_boot_t")
    gradcam = synth1_iou[synth1_iou["method"] == "gradcam"]
    pooled = ss.bootstrap(gradcam, by="method", draws=synth1_draws)
    np.testing.assert_allclose(pooled["estimate"], want["mean_iou"], rtol=RTOL)
    macro = ss.bootstrap(gradcam, by=["method", "task"], average="task", draws=synth1_draws)
    macro = macro[macro["task"] == "Average"]
    np.testing.assert_allclose(macro["estimate"], want["macro_mean_iou"], rtol=RTOL)


@pytest.mark.parametrize(("interval", "row"), [("percentile", "perc_type7"), ("normal", "norm")])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_cluster_interval_equals_r(synth1_iou, synth1_draws, r_expected, interval, row, level):
    table = r_expected("cluster_boot_ci").query("type == @row and conf == @level").set_index("stat")
    gradcam = synth1_iou[synth1_iou["method"] == "gradcam"]
    options = {"draws": synth1_draws, "interval": interval, "level": level}
    got = ss.summarize(gradcam, by="method", **options)
    np.testing.assert_allclose(
        limits(got), table.loc["mean_iou", ["lo", "hi"]].astype(float), rtol=RTOL_LIMITS
    )
    assert got["unit"].item() == "patient"
    got = ss.summarize(gradcam, by=["method", "task"], average="task", **options).tail(1)
    want = table.loc["macro_mean_iou", ["lo", "hi", "se"]].astype(float)
    np.testing.assert_allclose(limits(got), want[:2], rtol=RTOL_LIMITS)
    np.testing.assert_allclose(got["std_error"], want.iloc[2], rtol=RTOL_LIMITS)


def test_t_interval_equals_clustered_lm_on_the_real_readings(r_data, r_expected):
    table = r_data("gaze_case_means_ag_io").melt(
        id_vars=["metric", "case_id"], value_vars=["ag", "io"], var_name="method", value_name="score"
    )
    got = ss.summarize(table.rename(columns={"case_id": "case"}), interval="t")
    want = r_expected("real_ci_methods").query("mixing == 'uniform'")
    want = want.assign(method=want["source"].map({"ag": "ag", "interobserver": "io"})).dropna(subset="method")
    both = got.merge(want, on=["metric", "method"], validate="one_to_one")
    assert len(both) == 8
    np.testing.assert_allclose(both["conf_low"], both["case_t_lo"], rtol=1e-10)
    np.testing.assert_allclose(both["conf_high"], both["case_t_hi"], rtol=1e-10)


def test_t_interval_equals_the_cluster_robust_intercept_of_statsmodels(drawn_iou):
    import statsmodels.api as sm

    gradcam = drawn_iou[drawn_iou["method"] == "gradcam"].reset_index(drop=True)
    got = ss.summarize(gradcam, by="task", interval="t").set_index("task")
    for task, rows in gradcam.groupby("task"):
        fit = sm.OLS(rows["score"], np.ones(len(rows))).fit(
            cov_type="cluster", cov_kwds={"groups": pd.factorize(rows["patient"])[0]}, use_t=True
        )
        np.testing.assert_allclose(got.loc[task, "std_error"], fit.bse.item(), rtol=RTOL)
        np.testing.assert_allclose(
            got.loc[task, ["conf_low", "conf_high"]].astype(float), fit.conf_int().iloc[0], rtol=1e-10
        )
        assert got.loc[task, "df"] == rows["patient"].nunique() - 1


def chexlocalize(shared, folder, stem="iou"):
    base = shared / "oracles" / "chexlocalize" / "study" / "expected" / folder
    files = [base / f"{stem}_results_per_cxr.csv"]
    human = base / f"{stem}_humanbenchmark_results_per_cxr.csv"
    methods = ["gradcam"]
    if human.exists():
        files.append(human)
        methods.append("human")
    metric = "iou" if stem == "iou" else "hit"
    scores = ss.read_scores(files, wide="task", method=methods, metric=metric, rename={"img_id": "case"})
    return base, scores


def legacy_draws(seed, n):
    random = np.random.RandomState(seed)
    return np.stack([random.randint(0, n, n) for _ in range(1000)])


@pytest.mark.parametrize(
    ("folder", "stem", "seed"),
    [("eval_tp", "iou", 0), ("eval_tp", "hitmiss", 0), ("eval_tp_seed7", "iou", 7)],
)
def test_replicates_equal_the_chexlocalize_scripts(shared, folder, stem, seed):
    base, scores = chexlocalize(shared, folder, stem)
    replicates = ss.bootstrap(scores, draws=legacy_draws(seed, scores["case"].nunique()), unit="case")
    infixes = {"gradcam": "", "human": "_humanbenchmark"}
    for method in scores["method"].unique():
        want = pd.read_csv(base / f"{stem}{infixes[method]}_bootstrap_results_per_cxr.csv")
        got = replicates[replicates["method"] == method].pivot(
            index="replicate", columns="task", values="estimate"
        )
        np.testing.assert_allclose(got[want.columns], want, rtol=RTOL)


@pytest.mark.parametrize(
    ("folder", "stem", "seed"),
    [("eval_tp", "iou", 0), ("eval_tp", "hitmiss", 0), ("eval_tp_seed7", "iou", 7)],
)
@pytest.mark.filterwarnings("ignore:.*interval has width 0.*:salstats.errors.SalstatsWarning")
def test_order_interval_equals_the_chexlocalize_summaries(shared, folder, stem, seed):
    base, scores = chexlocalize(shared, folder, stem)
    draws = legacy_draws(seed, scores["case"].nunique())
    got = ss.summarize(scores, draws=draws, unit="case", interval="order").query("method == 'gradcam'")
    want = pd.read_csv(base / f"{stem}_summary_results.csv").set_index("name")
    got = got.set_index("task").loc[want.index]
    # the scripts print three digits, and the mean of the replicates as their point value
    np.testing.assert_array_equal(got["conf_low"].round(3), want["lower"])
    np.testing.assert_array_equal(got["conf_high"].round(3), want["upper"])
    np.testing.assert_array_equal((got["estimate"] + got["bias"]).round(3), want["mean"])


def test_draws_decide_the_replicates_in_sorted_unit_order():
    # cases sorted: a = 1, b = 2, c = 6; rows deliberately in another order
    scores = scores_of([6.0, 1.0, 2.0], cases=["c", "a", "b"]).assign(metric="hd95")
    got = ss.bootstrap(scores, draws=np.array([[0, 0, 1], [2, 2, 2]]))
    np.testing.assert_allclose(got["estimate"], [4 / 3, 6])
    assert got["replicate"].tolist() == [0, 1]


def test_draws_in_blocks_are_the_draws_at_once(monkeypatch):
    from salstats.stats.engine import draws as resampling

    scores = scores_of(np.linspace(0, 1, 23))
    whole = ss.bootstrap(scores, n_replicates=101)
    monkeypatch.setattr(resampling, "_BLOCK_ROWS", 1)
    monkeypatch.setattr(resampling, "_BLOCK_CELLS", 23 * 7)
    monkeypatch.setattr(resampling, "_CACHE_CELLS", 23 * 2)
    pd.testing.assert_frame_equal(ss.bootstrap(scores, n_replicates=101), whole)


def test_same_seed_same_table_and_generator_accepted(sixty):
    first, second, third = (
        ss.summarize(sixty, interval="percentile", rng=rng) for rng in (0, np.random.default_rng(0), 1)
    )
    pd.testing.assert_frame_equal(first, second)
    assert not third["conf_low"].equals(first["conf_low"])


def test_average_row_is_the_unweighted_mean_over_tasks_and_stands_last(drawn_iou):
    got = ss.summarize(drawn_iou, by=["method", "task"], average="task", overall=True)
    for _, rows in got.groupby("method"):
        assert rows["task"].tolist()[-2:] == ["Overall", "Average"]
        np.testing.assert_allclose(rows["estimate"].iloc[-1], rows["estimate"].iloc[:-2].mean(), rtol=RTOL)
        weighted = np.average(rows["estimate"].iloc[:-2], weights=rows["n"].iloc[:-2])
        np.testing.assert_allclose(rows["estimate"].iloc[-2], weighted, rtol=RTOL)
    assert got.iloc[-1]["task"] == "Average"


def test_overall_row_equals_leaving_task_out_of_by(drawn_iou):
    overall = ss.summarize(drawn_iou, overall=True).query("task == 'Overall'")
    pooled = ss.summarize(drawn_iou, by=["metric", "method"])
    shared_columns = [c for c in pooled.columns if c not in ("metric", "method")]
    pd.testing.assert_frame_equal(
        overall[shared_columns].reset_index(drop=True), pooled[shared_columns], rtol=RTOL, atol=1e-15
    )


def test_interval_of_width_zero_warns_and_names_alternatives():
    recommended = Setting("interval", "recommended")
    with warns_too(option="interval", value="percentile", column="score", rows=(0,), hint=recommended):
        ss.summarize(scores_of(np.ones(9), metric="hit"), interval="percentile")


def test_many_undefined_replicates_warn_and_are_counted():
    values = np.r_[0.3, np.full(9, np.nan)]
    both = pd.concat([scores_of(values), scores_of(np.linspace(0, 1, 10)).assign(method="b")])
    with pytest.warns(SalstatsWarning) as record:
        got = ss.summarize(both, interval="percentile", n_replicates=1000).set_index("method")
    (undefined,) = [w.message for w in record if w.message.column == "n_undefined"]
    assert got.index[list(undefined.rows)].tolist() == ["gradcam"]
    # the one defined case is left out of a resample with probability .9^10
    assert 250 < got.loc["gradcam", "n_undefined"] < 450
    assert got.loc["b", "n_undefined"] == 0


@pytest.mark.filterwarnings("default:.*fewer than (20|4) gives:salstats.errors.SalstatsWarning")
def test_few_units_warn_beside_percentile_limits():
    scores = scores_of(np.linspace(0.2, 0.6, 12))
    with warns(column="n_units", rows=(0,)):
        found = ss.summarize(scores, interval="percentile")
    assert found["n_units"].tolist() == [12]
    ss.summarize(scores)


def test_one_unit_has_no_limits():
    with warns(option="interval", value="wilson_t", column="n_units", rows=(0,)):
        got = ss.summarize(scores_of([0.3, 0.5], cases=["a", "b"], patient="p"))
    assert np.isnan(limits(got)).all()
    assert got["unit"].item() == "patient"


@pytest.mark.parametrize("n_hits", [29, 30])
def test_hits_of_independent_cases_have_the_exact_limits_of_a_proportion(n_hits):
    hits = scores_of((np.arange(30) < n_hits).astype(float), metric="hit")
    got = ss.summarize(hits)
    exact = stats.binomtest(n_hits, 30).proportion_ci(method="exact")
    assert got["interval"].item() == "exact"
    np.testing.assert_allclose(limits(got).ravel(), exact, rtol=RTOL)
    # of two tests at 97.5 %
    wider = ss.adjust(got.assign(p_value=0.01), n_tests=2, intervals=True)
    at_975 = stats.binomtest(n_hits, 30).proportion_ci(0.975, method="exact")
    np.testing.assert_allclose(limits(wider).ravel(), at_975, rtol=RTOL)
    # not by name, of several cases of a patient, or of a metric without bounds
    assert ss.summarize(hits, interval="wilson_t")["interval"].item() == "wilson_t"
    of_patients = hits.assign(patient=[f"p{i // 2}" for i in range(30)])
    assert ss.summarize(of_patients)["interval"].item() == "wilson_t"
    distances = scores_of([0.0, 1.0] * 15, metric="hd95")
    assert ss.summarize(distances)["interval"].item() == "cr2"


def test_limits_beyond_the_range_of_a_metric_are_told():
    scores = scores_of([1.0] * 9 + [0.8])
    with warns(option="interval", value="t", column="conf_high", rows=(0,)):
        beyond = ss.summarize(scores, interval="t")
    assert beyond["conf_high"].item() == pytest.approx(stats.t.interval(0.95, 9, 0.98, 0.02)[1])
    assert ss.summarize(scores, interval="wilson_t")["conf_high"].item() < 1


def test_average_replicate_without_one_of_its_tasks_is_undefined():
    # task c has scores in 3 of 60 cases: some resamples miss them all, and then there is no average
    values = np.random.default_rng(0).normal([[0.3], [0.4], [0.9]], 0.05, (3, 60))
    values[2, 3:] = np.nan
    scores = pd.concat([scores_of(v).assign(task=t) for v, t in zip(values, "abc", strict=True)])
    resampled = {"average": "task", "interval": "percentile", "n_replicates": 2000}
    with warns_too(column="n_undefined", rows=(2, 3)):
        got = ss.summarize(scores, **resampled).set_index("task")
    assert got.index[2:].tolist() == ["c", "Average"]
    expected = 2000 * (57 / 60) ** 60
    assert abs(got.loc["c", "n_undefined"] - expected) < 5 * np.sqrt(expected)
    assert got.loc["Average", "n_undefined"] == got.loc["c", "n_undefined"]
    # no replicate averages two tasks only: these would lie near .35, the others near .53
    assert got.loc["Average", "conf_low"] > 0.5
    # the scripts' rule averages what is there
    with pytest.warns(SalstatsWarning):
        scripts = ss.summarize(scores, average="task", n_replicates=2000, interval="order")
    assert scripts.iloc[-1]["conf_low"] < 0.4


def test_averages_over_different_tasks_warn_and_name_them():
    scores = pd.concat(
        [
            scores_of(np.linspace(0, 1, 30)).assign(task=t, method=m)
            for m, t in (("g", "a"), ("h", "a"), ("h", "b"))
        ]
    )
    with warns(option="average", value="task", rows=(0,), message=ColumnValue("method", "g"), match="b$"):
        ss.summarize(scores, average="task")


@pytest.mark.parametrize("sizes", [[40, 40], [60, 60, 60, 60, 3]])
def test_t_interval_of_an_average_has_satterthwaite_degrees_of_freedom(sizes):
    # tasks on different cases are independent samples: the textbook formulas hold
    rng = np.random.default_rng(1)
    samples = [rng.normal(0.5, 0.1, n) for n in sizes]
    scores = pd.concat(
        [
            scores_of(v, cases=[f"{t}{i:03d}" for i in range(len(v))]).assign(task=f"t{t}")
            for t, v in enumerate(samples)
        ]
    )
    got = ss.summarize(scores, average="task", interval="t").iloc[-1]
    parts = np.array([v.var(ddof=1) / len(v) for v in samples]) / len(sizes) ** 2
    df = parts.sum() ** 2 / (parts**2 / (np.array(sizes) - 1)).sum()
    assert got["std_error"] == pytest.approx(np.sqrt(parts.sum()), rel=1e-12)
    assert got["df"] == pytest.approx(df, rel=1e-12)


@pytest.mark.filterwarnings("ignore:.*limits hold values:salstats.errors.SalstatsWarning")
def test_degrees_of_freedom_of_an_average_know_shared_units():
    # five rare tasks in the same four cases bring four cases' worth of information, not twenty
    rng = np.random.default_rng(2)
    common = rng.normal(0, 0.3, 4)
    tasks = {"t0": rng.normal(0.5, 0.1, 40)}
    tasks |= {f"t{k}": 0.5 + common + rng.normal(0, 0.02, 4) for k in range(1, 6)}
    scores = pd.concat([scores_of(v).assign(task=t, metric="nss") for t, v in tasks.items()])
    got = ss.summarize(scores, average="task", interval="t").iloc[-1]
    assert 3 <= got["df"] < 4
    same = pd.concat([scores_of(rng.random(12)).assign(task=t) for t in "abc"])
    assert ss.summarize(same, average="task", interval="t").iloc[-1]["df"] == pytest.approx(11)


def test_an_average_with_a_task_of_one_case_has_no_limits():
    scores = pd.concat(
        [scores_of(np.linspace(0, 1, 30)).assign(task="a"), scores_of([0.4], cases=["z"]).assign(task="b")]
    )
    for interval in ("t", "percentile", "normal", "bca"):
        with pytest.warns(SalstatsWarning) as said:
            got = ss.summarize(scores, average="task", interval=interval)
        assert any(f"no {interval} limits for" in str(w.message) for w in said)
        assert np.isnan(got.iloc[-1]["conf_low"])


def test_a_few_large_patients_among_many_small_ones_warn():
    patients = ["big"] * 60 + [f"p{i:02d}" for i in range(30)]
    scores = scores_of(np.random.default_rng(0).random(90), patient=patients)
    with warns(column="unit", rows=(0,), value=pytest.approx(90**2 / (60**2 + 30))):
        ss.summarize(scores, interval="t")


@pytest.mark.filterwarnings("ignore:.*limits hold values:salstats.errors.SalstatsWarning")
def test_a_reader_is_one_unit_in_every_data_set():
    frame = pd.concat(
        [scores_of([0.1, 0.3, 0.4], reader=["r1", "r2", "r3"]).assign(dataset=d) for d in ("a", "b")]
    )
    by = ["metric", "method"]
    assert ss.summarize(frame, by=by, unit="reader", interval="t")["n_units"].item() == 3
    assert ss.summarize(frame, by=by, unit="case", interval="t")["n_units"].item() == 6


def test_draws_count_units_in_sorted_order_whatever_the_categories():
    scores = scores_of([6.0, 1.0, 2.0], cases=["c", "a", "b"]).assign(metric="hd95")
    draws = np.array([[0, 0, 1], [2, 2, 2]])
    categorical = scores.assign(case=pd.Categorical(scores["case"], ["c", "b", "a"]))
    pd.testing.assert_frame_equal(ss.bootstrap(scores, draws=draws), ss.bootstrap(categorical, draws=draws))


@pytest.mark.filterwarnings("ignore:.*limits hold values:salstats.errors.SalstatsWarning")
def test_cases_with_more_seeds_than_others_warn():
    frame = pd.concat([scores_of([0.1, 0.2], seed="1"), scores_of([0.4], seed="2")])
    with warns_too(column="case", rows=(0,), value=["seed"], match="1 to 2") as caught:
        ss.summarize(frame, interval="t")
    (first,) = [str(record.message) for record in caught if record.message.column == "case"]
    with warns_too(column="case", rows=(0,), value=["seed"]) as caught:
        ss.summarize(frame, by=["method", "metric"], interval="t")
    # whatever the order of `by`, so that a report says it once
    assert first in [str(record.message) for record in caught]
    ss.summarize(pd.concat([scores_of([0.1, 0.2], seed=s) for s in "12"]), interval="t")
    # an undefined score counts as little as an absent one
    frame = pd.concat([scores_of([0.1, 0.2], seed="1"), scores_of([0.4, np.nan], seed="2")])
    with warns_too(column="case", rows=(0,), value=["seed"], match="1 to 2"):
        ss.summarize(frame, interval="t")


def test_same_case_id_in_two_data_sets_is_two_units():
    frame = pd.concat([scores_of([0.1, 0.3]).assign(dataset=d) for d in ("a", "b")])
    assert ss.summarize(frame, by=["metric", "method"], interval="t")["n_units"].item() == 4


@pytest.mark.filterwarnings("ignore:.*limits hold values:salstats.errors.SalstatsWarning")
def test_data_sets_and_models_that_nobody_asked_to_take_together_are_said():
    parts = [scores_of([0.1, 0.3]).assign(dataset=d, model=m) for d in ("a", "b") for m in ("x", "y", "z")]
    frame = pd.concat(parts)
    separate = Setting("by", ["metric", "method", "dataset", "model"])
    with warns_too(option="by", column="dataset", hint=separate):
        ss.summarize(frame, interval="t")
    ss.summarize(frame, by=["metric", "method"], interval="t")
    ss.summarize(frame[(frame["dataset"] == "a") & (frame["model"] == "x")], interval="t")


def test_columns_follow_the_contract(drawn_iou):
    for interval in ("percentile", "t"):
        columns = list(ss.summarize(drawn_iou, interval=interval).columns)
        assert columns[:3] == ["metric", "method", "task"]
        special = ["n_replicates"] if interval == "percentile" else []
        assert columns[3:] == [*(c for c in ESTIMATE_COLUMNS if c in columns), *special]


@pytest.mark.parametrize(
    ("options", "error", "fields"),
    [
        ({"by": ["method"]}, ColumnError, {"column": "metric", "match": "iou, hit"}),
        ({"average": "task"}, ColumnError, {"option": "average", "choices": ("metric", "method")}),
        ({"overall": True}, ColumnError, {"option": "overall", "value": True, "column": "task"}),
        (
            {"interval": "wilson"},
            ValueRangeError,
            {"option": "interval", "value": "wilson", "column": "score"},
        ),
        ({"interval": "exact", "average": "method"}, SalstatsError, {"option": "interval", "value": "exact"}),
        ({"draws": np.zeros((5, 3), int)}, ShapeError, {"option": "draws", "match": "60"}),
        ({"draws": np.full((5, 60), 60)}, ValueRangeError, {"option": "draws", "match": "59"}),
        ({"draws": np.zeros((5, 60))}, ValueRangeError, {"option": "draws", "match": "float64"}),
    ],
)
def test_bad_arguments_say_what_would_do(sixty, options, error, fields):
    with raises(error, **fields):
        ss.summarize(sixty, **options)


N_CASES, N_STEPS = 30, 4


@pytest.fixture(scope="module")
def curves():
    """Curves of two methods and metrics, two tasks for each case, one of them undefined."""
    rng = np.random.default_rng(0)
    parts = [
        pd.DataFrame(
            {
                "case": f"{case:02d}",
                "task": task,
                "method": method,
                "metric": metric,
                "step": range(N_STEPS + 1),
                "fraction": np.linspace(0, 1, N_STEPS + 1),
                "prob": rng.random(N_STEPS + 1),
                "baseline": {"insertion": "blur", "deletion": "zero"}[metric],
                "n_steps": N_STEPS,
            }
        )
        for case in range(N_CASES)
        for task in ("s", "t")
        for method in ("gradcam", "ig")
        for metric in ("insertion", "deletion")
    ]
    parts[0]["prob"] = np.nan
    return pd.concat(parts, ignore_index=True)


OF_CURVES = ["metric", "method"]


@pytest.mark.parametrize("interval", ["percentile", "bca", "t"])
def test_each_step_is_what_summarize_says_of_it(curves, interval):
    means = mean_curves(curves, by=OF_CURVES, interval=interval, n_replicates=200, rng=4)
    assert len(means) == 4 * (N_STEPS + 1)
    for fraction in (0.0, 0.5, 1.0):
        there = curves[curves["fraction"] == fraction].rename(columns={"prob": "score"})
        expected = ss.summarize(there, by=["metric", "method"], interval=interval, n_replicates=200, rng=4)
        found = means[means["fraction"] == fraction].reset_index(drop=True)
        shared = [c for c in found.columns if c in expected.columns]
        assert {"metric", "method", "estimate", "conf_low", "conf_high", "n", "n_missing"} <= set(shared)
        pd.testing.assert_frame_equal(found[shared], expected[shared])


def test_means_of_curves_have_the_cautions_of_their_metric(curves):
    is_insertion = (curves["metric"] == "insertion").to_numpy()
    means = mean_curves(add_caution(curves, BASELINE_SHOWS_MUCH, is_insertion), by=OF_CURVES)
    rows = row_mask_by_caution(means)[BASELINE_SHOWS_MUCH]
    assert rows.tolist() == (means["metric"] == "insertion").tolist()


def test_rows_stand_by_group_and_fraction(curves):
    means = mean_curves(curves.query("metric == 'deletion'").sample(frac=1, random_state=1), by="method")
    assert list(means.columns[:3]) == ["method", "fraction", "term"]
    assert means["fraction"].tolist() == [0, 0.25, 0.5, 0.75, 1] * 2
    assert means["method"].tolist() == ["gradcam"] * 5 + ["ig"] * 5


def test_it_says_how_the_curves_of_a_metric_were_made(curves):
    means = mean_curves(curves, by=OF_CURVES)
    assert means.groupby("metric")["baseline"].unique().map(list).to_dict() == {
        "insertion": ["blur"],
        "deletion": ["zero"],
    }
    assert set(means["n_steps"]) == {N_STEPS}
    mixed = curves.assign(baseline=np.where(curves["task"] == "s", "mean", curves["baseline"]))
    assert set(mean_curves(mixed, by=OF_CURVES)["baseline"]) == {"several"}


def test_a_blank_image_that_is_the_same_for_all_is_no_reason_to_warn(curves):
    same = curves.assign(prob=curves["prob"].where(curves["fraction"] > 0, 0.1))
    means = mean_curves(same, by=OF_CURVES)
    at_start = means[means["fraction"] == 0]
    np.testing.assert_allclose(at_start["conf_high"], at_start["conf_low"])


def test_curves_of_other_steps_are_refused(curves):
    shorter = (curves["case"] == "07") & (curves["fraction"] == 0.5) & (curves["task"] == "s")
    rest = curves[~shorter]
    is_short = (rest["case"] == "07") & (rest["task"] == "s")
    with raises(SalstatsError, column="fraction", rows=tuple(np.flatnonzero(is_short))):
        mean_curves(rest, by=OF_CURVES)
    with raises(SalstatsError, column="fraction", rows=(0, 1200)):
        mean_curves(pd.concat([curves, curves.head(1)]), by=OF_CURVES)
    # of several repeated points the message names the first
    first = f"fraction {curves['fraction'].iloc[1]};"
    with raises(SalstatsError, column="fraction", rows=(1, 3, 1200, 1201), match=first):
        mean_curves(pd.concat([curves, curves.iloc[[1, 3]]]), by=OF_CURVES)


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.summarize) == {
        "level": 0.95,
        "n_replicates": 10_000,
        "rng": 0,
        "overall": False,
    }
    assert default_numbers_and_flags(ss.bootstrap) == {"n_replicates": 10_000, "rng": 0, "overall": False}
    assert default_numbers_and_flags(mean_curves) == {"level": 0.95, "n_replicates": 10_000, "rng": 0}

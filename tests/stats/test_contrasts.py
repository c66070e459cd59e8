"""Differences and percentage decreases, against R and the CheXlocalize scripts."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import default_numbers_and_flags, limits, r_quantile, raises, warns, warns_too

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, SalstatsWarning, Setting, ValueRangeError
from salstats.stats.engine.intervals import interval_names

# the oracles and the hand-worked examples are small on purpose; one test shows that this is said
pytestmark = pytest.mark.filterwarnings("ignore:.*fewer than (20|4) gives:salstats.errors.SalstatsWarning")

# R prints 15 to 17 digits; its quantiles add a rounding or two
RTOL = 1e-11
SAME_RULE = {"percentile": "perc_type7", "normal": "norm", "studentized": "rsample_int_t"}


def paired_scores(human, saliency, *, metric="iou", **columns):
    cases = [f"c{i:04d}" for i in range(len(human))]
    return pd.concat(
        [
            pd.DataFrame({"case": cases, "method": method, "metric": metric, "score": values, **columns})
            for method, values in (("gradcam", saliency), ("human", human))
        ],
        ignore_index=True,
    )


@pytest.fixture(scope="session")
def oracle_pairs(boot60, synth1, r_data):
    """The paired sets of pctdec.csv, by name: (human, saliency, patient or None)."""
    wide = boot60.pivot(index="case", columns=["metric", "method"], values="score")
    sets = {f"boot60_{m}": (wide[m, "human"], wide[m, "gradcam"], None) for m in ("iou", "hit")}
    for task in ["POOLED", *sorted(synth1["task"].unique())]:
        rows = synth1 if task == "POOLED" else synth1[synth1["task"] == task]
        sets[f"synth1_iou|{task}"] = (rows["human_iou"], rows["iou"], rows["patient"])
        sets[f"synth1_hit|{task}"] = (rows["human_hit"], rows["hit"], rows["patient"])
    means = r_data("gaze_case_means_ag_io")
    for metric, rows in means.groupby("metric"):
        sets[f"real_case_means|{metric}"] = (rows["io"], rows["ag"], None)
        if metric in ("auc", "sauc"):
            sets[f"real_above_chance|{metric}"] = (rows["io"] - 0.5, rows["ag"] - 0.5, None)
    for name, rows in r_data("fieller_unbounded").groupby("set"):
        sets[name] = (rows["h"], rows["s"], None)
    return {k: tuple(None if v is None else v.to_numpy() for v in values) for k, values in sets.items()}


def decrease(human, saliency, **options):
    return ss.percent_decrease(
        paired_scores(human, saliency).assign(metric="gain"), reference="human", test="none", **options
    ).iloc[0]


@pytest.mark.filterwarnings("ignore:Fieller's set is unbounded:salstats.errors.SalstatsWarning")
@pytest.mark.filterwarnings("ignore:.*limits hold values:salstats.errors.SalstatsWarning")
@pytest.mark.filterwarnings("ignore:next to nothing is left:salstats.errors.SalstatsWarning")
def test_delta_and_fieller_equal_r_on_every_set(oracle_pairs, r_expected):
    table = r_expected("pctdec")
    assert set(table["set"]) <= set(oracle_pairs)
    for want in table.itertuples():
        human, saliency, _ = oracle_pairs[want.set]
        got = decrease(human, saliency, interval="delta", level=want.conf, force=True)
        assert got["n_pairs"] == want.n
        np.testing.assert_allclose(
            [got["estimate"], got["std_error"], got["conf_low"], got["conf_high"]],
            [want.pd, want.se_delta, want.delta_t_lo, want.delta_t_hi],
            rtol=1e-9,
            err_msg=want.set,
        )
        got = decrease(human, saliency, interval="fieller", level=want.conf, force=True)
        if want.fieller_t_flag == 0:
            np.testing.assert_allclose(
                [got["conf_low"], got["conf_high"]], [want.fieller_t_lo, want.fieller_t_hi], rtol=1e-8
            )
            assert got["conf_set"] == "bounded"
        else:
            assert want.fieller_t_flag == 2
            assert (got["conf_low"], got["conf_high"]) == (-np.inf, np.inf)
            assert got["conf_set"] == "everything"


def test_fieller_set_outside_a_gap_holds_what_the_paired_t_test_does_not_reject():
    # the oracle has bounded sets and a whole line; here the mean of the reference does not differ from 0 but
    # the pairs do, so that the set turns inside out
    rng = np.random.default_rng(8)
    human = rng.normal(0.12, 0.3, 25)
    saliency = human + rng.normal(0.1, 0.05, 25)
    level = 0.999
    with warns(option="interval", value="fieller", column="reference_mean", rows=(0,)):
        got = decrease(human, saliency, interval="fieller", level=level, force=True)
    assert (got["conf_low"], got["conf_high"]) == (-np.inf, np.inf)
    low, high = (float(v) for v in got["conf_set"].removeprefix("all but ").split(" to "))

    def p_value(percent):
        return stats.ttest_1samp(saliency - (1 - percent / 100) * human, 0).pvalue

    # equal means (a decrease of 0) lie in the gap: excluded, although the set is unbounded
    assert p_value(0) < 1 - level
    assert low < 0 < high
    assert got["verdict"] == ("higher" if saliency.mean() > human.mean() else "lower")
    width = high - low
    for percent in (low + 0.01 * width, (low + high) / 2, high - 0.01 * width):
        assert p_value(percent) < 1 - level
    for percent in (low - 0.01 * width, high + 0.01 * width, low - 10 * width, high + 10 * width):
        assert p_value(percent) > 1 - level


def test_clustered_delta_and_fieller_equal_r(oracle_pairs, r_expected):
    for want in r_expected("pctdec_cluster").itertuples():
        human, saliency, patient = oracle_pairs[f"synth1_iou|{want.set}"]
        scores = paired_scores(human, saliency, patient=patient)
        for interval, prefix in (("delta", "t"), ("fieller", "fieller")):
            got = ss.percent_decrease(
                scores, reference="human", interval=interval, unit="patient", test="none"
            ).iloc[0]
            np.testing.assert_allclose(
                [got["estimate"], got["std_error"], got["conf_low"], got["conf_high"]],
                [want.pd, want.se_cluster, getattr(want, f"{prefix}_lo"), getattr(want, f"{prefix}_hi")],
                rtol=1e-9,
            )
            assert (got["n_units"], got["n_pairs"], got["unit"]) == (want.G, want.n, "patient")


@pytest.mark.parametrize(("interval", "row"), SAME_RULE.items())
@pytest.mark.parametrize(
    ("stat", "function", "metric", "sign"),
    [
        # R's differences are human - saliency, ours method - reference
        ("diff_h_minus_s", "difference", "iou", -1),
        ("pct_decrease", "percent_decrease", "iou", 1),
        ("hitrate_diff", "difference", "hit", -1),
        ("pct_decrease_hit", "percent_decrease", "hit", 1),
    ],
)
def test_paired_bootstrap_interval_equals_r(
    boot60, boot60_draws, r_expected, interval, row, stat, function, metric, sign
):
    table = r_expected("boot_ci").query("stat == @stat and type == @row and conf == 0.95")
    if table.empty:
        # R's oracle has no variance, hence no bootstrap-t, for the hit rates
        assert (metric, interval) == ("hit", "studentized")
        return
    got = getattr(ss, function)(
        boot60[boot60["metric"] == metric], reference="human", interval=interval, draws=boot60_draws
    )
    want = np.sort(sign * table[["lo", "hi"]].to_numpy()[0])
    np.testing.assert_allclose(limits(got), want, rtol=RTOL, atol=1e-13)


@pytest.mark.parametrize("stat", ["diff_h_minus_s", "pct_decrease"])
def test_bca_levels_are_those_of_boot_ci_with_its_jackknife(boot60, boot60_draws, r_expected, stat):
    # rsample centres the jackknife at its mean and boot.ci interpolates on the normal scale; the levels
    # are boot's, read off with boot's rule here
    from salstats.stats.engine import limits as kernels

    wide = boot60[boot60["metric"] == "iou"].pivot(index="case", columns="method", values="score")
    human, saliency = wide["human"].to_numpy(), wide["gradcam"].to_numpy()
    n, h, s = len(human), human.sum(), saliency.sum()
    if stat == "pct_decrease":
        estimate, jackknife = 100 * (1 - s / h), 100 * (1 - (s - saliency) / (h - human))
    else:
        estimate, jackknife = (h - s) / n, (h - s - human + saliency) / (n - 1)
    replicates = r_expected("boot_t")[[stat]].to_numpy()
    levels = kernels.bca_probabilities(replicates, np.array([estimate]), jackknife[:, None], 0.95)
    got = [r_quantile(replicates[:, 0], p) for p in levels[:, 0]]
    want = r_expected("boot_ci").query("stat == @stat and type == 'bca_jack' and conf == 0.95")
    np.testing.assert_allclose(got, want[["lo", "hi"]].to_numpy()[0], rtol=1e-9)
    # and the public function reads the same levels off the same replicates with NumPy's rule
    function = ss.percent_decrease if stat == "pct_decrease" else ss.difference
    sign = 1 if stat == "pct_decrease" else -1
    frame = function(boot60[boot60["metric"] == "iou"], reference="human", interval="bca", draws=boot60_draws)
    expected = np.sort(sign * np.quantile(replicates[:, 0], levels[:, 0]))
    np.testing.assert_allclose(limits(frame), expected, rtol=RTOL)


def test_standard_error_bias_and_p_value_equal_r(boot60, boot60_draws, r_expected):
    want = r_expected("boot_t0").set_index("stat")
    iou = ss.difference(boot60, reference="human", draws=boot60_draws).set_index("metric")
    for metric, stat in (("iou", "diff_h_minus_s"), ("hit", "hitrate_diff")):
        got = iou.loc[metric]
        row = want.loc[stat]
        np.testing.assert_allclose(-got["estimate"], row["t0"], rtol=RTOL)
        np.testing.assert_allclose(got["std_error"], row["se"], rtol=RTOL)
        np.testing.assert_allclose(-got["bias"], row["bias"], rtol=1e-9)
        np.testing.assert_allclose(got["p_value"], row["p_two_sided_zero"], rtol=RTOL)


def test_cluster_bootstrap_of_the_decrease_equals_r(synth1_iou, synth1_draws, r_expected):
    table = r_expected("cluster_boot_ci").query("stat == 'pct_decrease'")
    for want in table[table["type"].isin(["perc_type7", "norm"])].itertuples():
        interval = "percentile" if want.type == "perc_type7" else "normal"
        got = ss.percent_decrease(
            synth1_iou, reference="human", by="metric", draws=synth1_draws, interval=interval, level=want.conf
        )
        np.testing.assert_allclose(limits(got), [want.lo, want.hi], rtol=RTOL)
        np.testing.assert_allclose(got["estimate"].item(), want.t0, rtol=RTOL)


def test_real_bootstrap_intervals_equal_r(r_data, r_expected):
    draws = r_data("real_boot_indices_n91_R1999").drop(columns="rep").to_numpy() - 1
    table = r_data("gaze_case_means_ag_io").melt(
        id_vars=["metric", "case_id"], value_vars=["ag", "io"], var_name="method", value_name="score"
    )
    scores = table.rename(columns={"case_id": "case"})
    r = r_expected("real_boot_ci").query("type == 'norm'").set_index("stat")
    sncc = scores[scores["metric"] == "sncc"]
    sauc = scores[scores["metric"] == "sauc"]
    options = {"draws": draws, "interval": "normal"}
    got = ss.difference(sncc, reference="io", **options)
    np.testing.assert_allclose(
        -limits(got)[::-1], r.loc["mean_io_minus_ag_sncc", ["lo", "hi"]].astype(float), rtol=1e-9
    )
    got = ss.percent_decrease(sauc, reference="io", force=True, **options)
    np.testing.assert_allclose(limits(got), r.loc["pct_decrease_sauc", ["lo", "hi"]].astype(float), rtol=1e-9)
    got = ss.summarize(sncc[sncc["method"] == "ag"], **options)
    np.testing.assert_allclose(limits(got), r.loc["mean_ag_sncc", ["lo", "hi"]].astype(float), rtol=1e-9)


def chexlocalize(shared, stem):
    base = shared / "oracles" / "chexlocalize" / "study" / "expected" / "eval_tp"
    files = [base / f"{stem}_results_per_cxr.csv", base / f"{stem}_humanbenchmark_results_per_cxr.csv"]
    return ss.read_scores(
        files, wide="task", method=["gradcam", "human"], metric="iou", rename={"img_id": "case"}
    )


@pytest.mark.parametrize(
    ("stem", "table"), [("iou", "miou_pct_decrease"), ("hitmiss", "hitrate_pct_decrease")]
)
@pytest.mark.filterwarnings("ignore:.*interval has width 0.*:salstats.errors.SalstatsWarning")
def test_decrease_of_the_chexlocalize_scripts(shared, stem, table):
    scores = chexlocalize(shared, stem)
    n = scores["case"].nunique()
    random = np.random.RandomState(0)
    draws = np.stack([random.randint(0, n, n) for _ in range(1000)])
    options = {"draws": draws, "unit": "case", "pairs": "available", "interval": "order"}
    got = ss.percent_decrease(scores, reference="human", average="task", **options).set_index("task")
    base = shared / "oracles" / "chexlocalize" / "study" / "expected" / "eval_tp"
    want = pd.read_csv(base / f"{table}.csv", index_col=0).loc[got.index]
    tasks = [t for t in want.index if t != "Average"]
    # the scripts round limits of tasks to 3 digits before multiplying by 100
    np.testing.assert_allclose(
        got.loc[tasks, "conf_low"].round(1), want.loc[tasks, "pct_diff_lower"], atol=1e-9
    )
    np.testing.assert_allclose(
        got.loc[tasks, "conf_high"].round(1), want.loc[tasks, "pct_diff_upper"], atol=1e-9
    )
    for ours, theirs in (("conf_low", "pct_diff_lower"), ("conf_high", "pct_diff_upper")):
        assert round(got.loc["Average", ours], 3) == want.loc["Average", theirs]
    # their point value is made of the means of the replicates: hb and pred, per task
    replicates = ss.bootstrap(scores, draws=draws, unit="case")
    means = replicates.groupby(["method", "task"])["estimate"].mean()
    np.testing.assert_allclose(means["human"][tasks], want.loc[tasks, "hb"], rtol=1e-12)
    np.testing.assert_allclose(means["gradcam"][tasks], want.loc[tasks, "pred"], rtol=1e-12)


def test_average_is_the_decrease_of_the_averages_and_task_mean_is_not(drawn_iou):
    # all that is found in one task is found worse
    lower = drawn_iou["score"].where(drawn_iou["task"] != "Edema", drawn_iou["score"] / 4)
    scores = drawn_iou.assign(score=lower)
    options = {"reference": "human", "test": "none"}
    got = ss.percent_decrease(scores, average="task", **options)
    tasks, average = got[got["task"] != "Average"], got.iloc[-1]
    reference, method = tasks["reference_mean"].mean(), tasks["method_mean"].mean()
    assert average["estimate"] == pytest.approx(100 * (reference - method) / reference, rel=1e-12)
    assert (average["reference_mean"], average["method_mean"]) == pytest.approx((reference, method))
    other = ss.percent_decrease(scores, average="task_mean", **options).iloc[-1]
    assert other["estimate"] == pytest.approx(tasks["estimate"].mean(), rel=1e-12)
    assert abs(other["estimate"] - average["estimate"]) > 0.01


@pytest.mark.parametrize("function", ["difference", "percent_decrease"])
@pytest.mark.parametrize("average", ["task", "task_mean"])
def test_analytic_error_of_an_average_agrees_with_the_bootstrap(drawn_iou, function, average):
    # an independent route to the same number: the delta method against 4000 resamples of patients
    analytic = {"difference": "t", "percent_decrease": "delta"}[function]
    call = getattr(ss, function)
    delta = call(drawn_iou, reference="human", average=average, interval=analytic, test="none").iloc[-1]
    drawn = call(drawn_iou, reference="human", average=average, n_replicates=4000).iloc[-1]
    # the SD of 4000 replicates has a relative error of about 1.1 %; five of these
    assert delta["std_error"] == pytest.approx(drawn["std_error"], rel=0.055)


@pytest.mark.filterwarnings("ignore:.*limits hold values:salstats.errors.SalstatsWarning")
def test_pairs_complete_and_available_average_over_different_cases():
    scores = paired_scores([0.8, 0.6, np.nan, 0.4], [0.4, np.nan, 0.9, 0.2])
    options = {"reference": "human", "interval": "t", "test": "t"}
    complete = ss.difference(scores, **options).iloc[0]
    available = ss.difference(scores, pairs="available", **options).iloc[0]
    assert complete[["reference_mean", "method_mean"]].tolist() == pytest.approx([0.6, 0.3])
    assert available[["reference_mean", "method_mean"]].tolist() == pytest.approx([0.6, 0.5])
    for row in (complete, available):
        assert (row["n_pairs"], row["n_missing"]) == (2, 2)
    assert (complete["n"], available["n"]) == (2, 3)


@pytest.mark.parametrize("metric", ["ncc", "sncc", "auc", "sauc"])
def test_decrease_of_a_metric_without_a_true_zero_is_refused(metric):
    scores = paired_scores([0.6, 0.7, 0.5], [0.5, 0.6, 0.7], metric=metric)
    with raises(ValueRangeError, column="metric", value=metric, hint=Setting("force", True)):
        ss.percent_decrease(scores, reference="human")
    assert len(ss.percent_decrease(scores, reference="human", force=True, interval="delta")) == 1


def test_reference_of_zero_leaves_the_decrease_undefined():
    scores = paired_scores([0.0, 0.0, 0.0], [0.1, 0.2, 0.3])
    with warns_too(column="n_undefined"), warns_too(column="reference_mean", rows=(0,)):
        got = ss.percent_decrease(scores, reference="human", interval="percentile", n_replicates=50).iloc[0]
    assert np.isnan(got["estimate"])
    assert got["n_undefined"] == 50
    assert got["verdict"] == "inconclusive"


def tasks_of(means, n=40, seed=0, **options):
    """Scores of several tasks around (human, gradcam) means; None leaves that side undefined."""
    rng = np.random.default_rng(seed)
    parts = []
    for task, (human, saliency) in means.items():
        values = [np.full(n, np.nan) if m is None else rng.normal(m, 0.05, n) for m in (human, saliency)]
        parts.append(paired_scores(*values, **options).assign(task=task))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("pairs", ["complete", "available"])
@pytest.mark.parametrize("third", [(0.2, None), (None, 0.2)])
def test_a_task_with_one_side_only_stays_out_of_average_and_overall(pairs, third):
    # no true difference anywhere; averaging different tasks would make one of .15
    scores = tasks_of({"a": (0.8, 0.8), "b": (0.5, 0.5), "c": third})
    with pytest.warns(SalstatsWarning) as record:
        got = ss.difference(
            scores, reference="human", average="task", overall=True, pairs=pairs, interval="t"
        ).set_index("task")
    (average,) = [w.message for w in record if w.message.option == "average"]
    assert (average.value, average.rows) == ("task", (0,))
    assert str(average).endswith(": c")
    for row in ("Average", "Overall"):
        assert abs(got.loc[row, "estimate"]) < 0.03
        assert got.loc[row, "n_pairs"] == 80
        assert got.loc[row, "reference_mean"] == pytest.approx(0.65, abs=0.03)
    assert got.loc["Average", "n_missing"] == 40


@pytest.mark.filterwarnings(
    "ignore:pairs='available' compares means over different:salstats.errors.SalstatsWarning"
)
def test_overall_of_available_pairs_gives_both_sides_the_same_mix_of_tasks():
    # no true difference in any task; a third of the method's scores is undefined where all score low
    scores = tasks_of({"a": (0.8, 0.8), "b": (0.5, 0.5), "c": (0.2, 0.2)}, n=60)
    lost = (scores["task"] == "c") & (scores["method"] == "gradcam") & (scores.index % 3 == 0)
    scores.loc[lost, "score"] = np.nan
    options = {"reference": "human", "pairs": "available", "interval": "t"}
    got = ss.difference(scores, overall=True, **options).set_index("task")
    means = scores.groupby(["task", "method"])["score"].mean().unstack()
    weights = got["n_pairs"].drop("Overall")
    expected = np.average((means["gradcam"] - means["human"])[weights.index], weights=weights)
    assert got.loc["Overall", "estimate"] == pytest.approx(expected, rel=1e-12)
    assert abs(got.loc["Overall", "estimate"]) < 0.01
    assert got.loc["Overall", "n"] == 160
    with warns_too(option="pairs", value="available", column="task"):
        ss.difference(scores, by="metric", **options)


@pytest.mark.parametrize("test", ["wild", "cr2", "bootstrap", "wilcoxon", "signflip", "t"])
@pytest.mark.filterwarnings("ignore:no wild limits:salstats.errors.SalstatsWarning")
def test_rounding_errors_are_no_differences(test):
    human = np.random.default_rng(0).uniform(0.5, 1, 40)
    saliency = human * (1 + 4 * np.finfo(float).eps)
    got = ss.difference(paired_scores(human, saliency), reference="human", test=test).iloc[0]
    assert not got.get("p_value", np.nan) < 1
    assert got["verdict"] == "inconclusive"


@pytest.mark.filterwarnings(
    "ignore:pairs='available' compares means over different:salstats.errors.SalstatsWarning"
)
def test_available_pairs_take_the_smaller_side_for_degrees_of_freedom():
    human = np.random.default_rng(0).normal(0.6, 0.1, 60)
    saliency = np.r_[0.5, 0.4, 0.45, np.full(57, np.nan)]
    got = ss.difference(
        paired_scores(human, saliency), reference="human", pairs="available", interval="t"
    ).iloc[0]
    assert got["df"] == 2
    assert got["n_units"] == 60


def test_constant_differences_have_no_t_test():
    # R stops with "data are essentially constant"; rounding must not make a p-value of 1e-97
    human = np.linspace(0.3, 0.9, 25)
    with warns(option="interval", value="t", column="score", rows=(0,)):
        got = ss.difference(paired_scores(human, human - 0.1), reference="human", interval="t").iloc[0]
    assert got["std_error"] == 0
    assert "p_value" not in got.index


def test_p_value_of_a_decrease_is_that_of_the_difference_even_from_a_reference_near_0():
    human, saliency = np.r_[1, np.zeros(29)], np.r_[np.ones(6), np.zeros(24)]
    scores = paired_scores(human, saliency, metric="hit")
    with warns(column="n_undefined", rows=(0,)):
        got = ss.percent_decrease(scores, reference="human", interval="percentile").iloc[0]
    gap = ss.difference(scores, reference="human", interval="percentile")
    assert got["p_value"] == gap["p_value"].item()
    # a third of the replicates have no decrease: what is left says nothing about the whole
    assert got["n_undefined"] > 3000
    assert got["verdict"] == "inconclusive"


def test_mean_of_decreases_has_a_test_of_its_own():
    # gains where the reference is small, losses where it is large: the differences cancel, the decreases
    # do not
    scores = tasks_of({"a": (0.2, 0.3), "b": (0.9, 0.8)}, n=60)
    got = ss.percent_decrease(scores, reference="human", average="task_mean", interval="delta").iloc[-1]
    assert got["statistic"] == pytest.approx(got["estimate"] / got["std_error"], rel=1e-12)
    assert got["p_value"] < 0.001
    assert got["verdict"] == "inconclusive" or got["conf_high"] < 0
    flips = ss.percent_decrease(scores, reference="human", average="task_mean", test="signflip")
    assert np.isnan(flips.iloc[-1]["p_value"])
    assert flips.iloc[:-1]["p_value"].notna().all()


@pytest.mark.parametrize(
    ("options", "error", "fields"),
    [
        (
            {"interval": "t"},
            ValueRangeError,
            {"option": "interval", "value": "t", "choices": interval_names("percent_decrease")},
        ),
        (
            {"average": "site"},
            ColumnError,
            {"option": "average", "value": "site", "choices": ("metric", "task", "method")},
        ),
        ({"by": "task"}, ColumnError, {"column": "metric", "match": "2 metrics"}),
        (
            {"average": "task_mean", "interval": "fieller"},
            SalstatsError,
            {"option": "interval", "value": "fieller"},
        ),
        (
            {"test": "signflip", "pairs": "available"},
            SalstatsError,
            {"option": "test", "value": "signflip", "match": "pairs='complete'"},
        ),
    ],
)
def test_bad_arguments_are_named_with_what_would_do(drawn_scores, options, error, fields):
    with raises(error, **fields):
        ss.percent_decrease(drawn_scores, reference="human", **options)


@pytest.mark.parametrize("contrast", [ss.difference, ss.percent_decrease])
def test_people_who_have_no_model_are_the_reference_of_every_model(contrast):
    rng = np.random.default_rng(4)
    cases = [f"c{i}" for i in range(30)]
    human = pd.DataFrame(
        {"case": cases, "method": "human", "metric": "iou", "score": rng.uniform(0.6, 1, 30)}
    )
    nets = [human.assign(method="cam", model=model, score=rng.uniform(0.1, 0.5, 30)) for model in ("a", "b")]
    both = contrast(
        pd.concat([human, *nets]),
        reference="human",
        by=["metric", "model"],
        interval="t" if contrast is ss.difference else "delta",
    )
    assert both["model"].tolist() == ["a", "b"]
    for net, row in zip(nets, both["estimate"], strict=True):
        pair = pd.concat([human, net.drop(columns="model")])
        assert contrast(pair, reference="human", by="metric")["estimate"].item() == pytest.approx(
            row, rel=1e-12
        )


@pytest.mark.filterwarnings("ignore:next to nothing is left:salstats.errors.SalstatsWarning")
def test_where_nothing_varies_there_are_no_limits_but_a_verdict_of_the_test():
    never, half, all_ = np.zeros(12), np.r_[np.full(6, 0.8), np.zeros(6)], np.full(12, 0.8)
    with warns(option="interval", value="wild", column="std_error", rows=(0,)):
        lost = ss.percent_decrease(paired_scores(half, never), reference="human").iloc[0]
    assert np.isnan([lost["conf_low"], lost["conf_high"]]).all()
    # six pairs of twelve differ, all to one side
    assert lost["p_value"] == 2 / 2**6 / 2
    assert lost["verdict"] == "lower"
    with warns(option="interval", value="wild", column="std_error", rows=(0,)):
        same = ss.difference(paired_scores(all_, all_), reference="human").iloc[0]
    assert same["p_value"] == 1
    assert same["verdict"] == "inconclusive"


def test_a_decrease_of_two_units_that_have_any_score_may_be_anything():
    human, saliency = np.r_[0.4, 0.5, np.zeros(10)], np.r_[0.1, 0.3, np.zeros(10)]
    with pytest.warns(SalstatsWarning) as said:
        got = ss.percent_decrease(paired_scores(human, saliency), reference="human").iloc[0]
    assert np.isneginf(got["conf_low"])
    # two units have two patterns up to the sign of all: half of them lie as far
    assert got["p_value"] == pytest.approx(0.25, abs=0.02)
    assert got["verdict"] == "inconclusive"
    unbounded = [w.message for w in said if w.message.column == "reference_mean"]
    assert [warning.rows for warning in unbounded] == [(0,)]


def test_a_family_that_the_signs_of_few_units_cannot_decide_is_warned_of():
    rng = np.random.default_rng(0)
    human = rng.uniform(0.6, 0.9, (10, 7))
    parts = [
        paired_scores(h, h - 0.2 - 0.01 * rng.random(7)).assign(task=f"t{i}") for i, h in enumerate(human)
    ]
    with warns(column="n_replicates", value=0.5 / 64, hint=Setting("adjust", "max-t")):
        got = ss.difference(pd.concat(parts), reference="human", adjust="holm")
    assert (got["p_value"] == 0.5 / 64).all()
    assert (got["n_replicates"] == 64).all()
    jointly = ss.difference(pd.concat(parts), reference="human", adjust="max-t")
    assert (jointly["p_adjusted"] < 0.05).all()


@pytest.mark.parametrize("seed", range(12))
def test_p_value_and_limits_of_sparse_decreases_agree(seed):
    rng = np.random.default_rng(seed)
    human = rng.binomial(1, 0.3, 12) * rng.uniform(0.2, 0.9, 12)
    saliency = rng.binomial(1, 0.3 + 0.3 * (seed % 3), 12) * rng.uniform(0.2, 0.9, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        got = ss.percent_decrease(paired_scores(human, saliency), reference="human").iloc[0]
    if not np.isnan(got["conf_low"]):
        assert (got["p_value"] <= 0.05) == (got["conf_low"] > 0 or got["conf_high"] < 0)


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("metric", ["gain", "dice"])
def test_decrease_of_a_metric_with_scores_below_0_is_refused(metric):
    rng = np.random.default_rng(4)
    human, saliency = rng.normal(0.3, 0.4, 40), rng.normal(0.1, 0.4, 40)
    scores = paired_scores(human, saliency).assign(metric=metric)
    with raises(ValueRangeError, column="score", value=metric, hint=Setting("force", True)):
        ss.percent_decrease(scores, reference="human")
    assert len(ss.percent_decrease(scores, reference="human", force=True)) == 1
    positive = paired_scores(np.abs(human), np.abs(saliency)).assign(metric=metric)
    assert len(ss.percent_decrease(positive, reference="human")) == 1


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.difference) == {
        "level": 0.95,
        "n_replicates": 10_000,
        "rng": 0,
        "overall": False,
    }
    assert default_numbers_and_flags(ss.percent_decrease) == {
        "level": 0.95,
        "n_replicates": 10_000,
        "rng": 0,
        "overall": False,
        "force": False,
    }

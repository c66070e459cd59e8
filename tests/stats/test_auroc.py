"""auroc() against R's pROC, the worked example of Obuchowski (1997), and its definition."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import default_numbers_and_flags, raises, warns

from salstats.errors import ColumnError, SalstatsError, SalstatsWarning, ValueRangeError
from salstats.stats.adjust import adjust
from salstats.stats.auroc import auroc
from salstats.stats.engine.cautions import FEW_EVENTS, INCOMPLETE_PAIRS
from salstats.stats.engine.roc import roc_area_or_difference

# R's manifest promises 1e-9
R_AGREES = 1e-9
# the same sums in another order
ROUNDING = 1e-12
# the example's components are printed to ten digits after the point and divided by 29 and more
PRINTED_COMPONENTS = 1e-11
# the example's results are printed to four digits after the point
PRINTED = 5e-5

# Obuchowski NA, Biometrics 1997;53:567-578, doi:10.2307/2533958: two readers, up to two arteries per patient.
# Below "patient:label reader1 reader2" of the 65 complete records, with the results and components that the
# help page of the author's R function clusteredROC (Cleveland Clinic) prints for them; taken from a public
# transcription of that page.
OBUCHOWSKI_1997 = """
1:1 87 87, 1:1 79 83, 2:1 88 94, 2:1 95 93, 3:1 100 100, 3:1 68 79, 4:1 65 61, 4:1 89 91, 5:1 97 97,
5:1 100 100, 6:1 100 99, 6:1 89 88, 7:1 77 77, 8:1 94 89, 8:0 45 44, 9:1 89 92, 9:0 -11 -17,
10:1 95 91, 10:0 30 14, 11:1 95 95, 11:0 10 -122, 12:1 100 100, 12:0 19 -3, 13:1 75 75, 14:0 70 73,
14:1 70 81, 15:0 26 27, 15:1 86 93, 16:0 0 8, 16:1 65 70, 17:0 6 23, 17:1 100 100, 18:0 76 79,
18:1 96 95, 19:0 44 55, 19:1 100 100, 20:0 73 67, 20:1 97 94, 21:1 85 86, 22:0 58 60, 22:1 100 99,
23:0 -2 -2, 23:1 100 100, 24:0 -3 -14, 24:0 0 -11, 25:0 47 -3, 25:0 -94 -90, 26:0 -16 17, 26:0 75 85,
27:0 5 -22, 27:0 -1 -14, 28:0 -6 -52, 29:0 37 38, 29:0 47 35, 30:0 42 40, 30:0 4 6, 31:0 55 23,
31:0 55 45, 32:0 4 -87, 32:0 -13 -65, 33:0 49 24, 33:0 35 9, 34:0 53 66, 35:0 2 -15, 36:0 -48 -78
"""


@pytest.fixture(scope="module")
def example():
    records = [entry.replace(":", " ").split() for entry in OBUCHOWSKI_1997.split(",")]
    table = pd.DataFrame(records, columns=["patient", "label", "reader1", "reader2"]).astype(int)
    assert len(table) == 65
    assert table["patient"].nunique() == 36
    assert table["label"].sum() == 29
    return table


@pytest.mark.parametrize("score", ["prob", "iou"])
def test_delong_is_proc(synth1, r_expected, score):
    """Rows as 80_auc.R takes them, without the columns that would name patients."""
    table = synth1.dropna(subset=["hit", "prob", "iou"])[["task", "hit", "prob", "iou"]]
    expected = r_expected("auc_delong")
    expected = expected[expected["score"] == score].set_index("set").rename({"POOLED": "Overall"})
    result = auroc(table, score, "hit", overall=True, interval="delong").set_index("task")
    assert set(result.index) == set(expected.index)
    expected = expected.loc[result.index]
    np.testing.assert_array_equal(result["n"], expected["n"])
    np.testing.assert_array_equal(result["n_positive"], expected["n_pos"])
    np.testing.assert_allclose(result["estimate"], expected["auc"], rtol=R_AGREES)
    np.testing.assert_allclose(result["std_error"] ** 2, expected["var_delong"], rtol=R_AGREES)
    np.testing.assert_allclose(result["conf_low"], expected["lo"], rtol=R_AGREES)
    np.testing.assert_allclose(result["conf_high"], expected["hi"], rtol=R_AGREES)
    assert (result["interval"] == "delong").all()


def test_obuchowski_limits_and_p_value_are_those_of_t(example):
    """Degrees of freedom: the fewer of the patients with a positive and those with a negative, less one."""
    with_label = example.groupby("label")["patient"].nunique()
    df = with_label.min() - 1
    result = auroc(example, "reader1", "label", unit="patient", interval="obuchowski").loc[0]
    area, se = result["estimate"], result["std_error"]
    assert result["df"] == df
    np.testing.assert_allclose(result["conf_low"], area - stats.t.ppf(0.975, df) * se, rtol=ROUNDING)
    np.testing.assert_allclose(result["p_value"], 2 * stats.t.sf((area - 0.5) / se, df), rtol=1e-10)
    # rows for themselves stay with DeLong's normal quantile
    alone = auroc(example.drop(columns="patient"), "reader1", "label", interval="obuchowski").loc[0]
    assert np.isnan(alone["df"])


def placement_values(score, label):
    """Share of the other class that each row is on the right side of, pair by pair."""
    above = np.sign(score[label == 1][:, None] - score[label == 0]) / 2 + 0.5
    found = np.empty(len(score))
    found[label == 1], found[label == 0] = above.mean(axis=1), above.mean(axis=0)
    return found


def robust_by_definition(placement, label, unit):
    """CR2 variance of the sum of both class means, and its degrees of freedom, with matrices written out.

    The working model has rows that are independent with the variances of their classes.
    """
    design = np.column_stack([label == 1, label == 0]).astype(float)
    residual = np.eye(len(label)) - design @ np.linalg.inv(design.T @ design) @ design.T
    rows = []
    for one in np.unique(unit):
        own = unit == one
        values, vectors = np.linalg.eigh(residual[np.ix_(own, own)])
        root = np.zeros((len(label), len(label)))
        root[np.ix_(own, own)] = vectors / np.sqrt(values) @ vectors.T
        rows.append((design / design.sum(axis=0)).sum(axis=1) @ root @ residual)
    rows = np.array(rows)
    spread = np.where(label == 1, placement[label == 1].var(ddof=1), placement[label == 0].var(ddof=1))
    under_model = rows * spread @ rows.T
    return ((rows @ placement) ** 2).sum(), np.trace(under_model) ** 2 / (under_model**2).sum()


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_default_is_students_t_on_log_odds_with_cr2(example, level):
    result = auroc(example, "reader1", "label", unit="patient", level=level).loc[0]
    score, label, unit = (example[c].to_numpy() for c in ("reader1", "label", "patient"))
    variance, df = robust_by_definition(placement_values(score, label), label, unit)
    area = result["estimate"]
    np.testing.assert_allclose(result[["std_error", "df"]].astype(float), [variance**0.5, df], rtol=1e-10)
    error = np.sqrt(variance) / (area * (1 - area))
    odds = np.log(area / (1 - area)) + np.array([-1, 1]) * stats.t.ppf((1 + level) / 2, df) * error
    limits = result[["conf_low", "conf_high"]].astype(float)
    np.testing.assert_allclose(limits, 1 / (1 + np.exp(-odds)), rtol=1e-10)
    statistic = np.log(area / (1 - area)) / error
    np.testing.assert_allclose(result["statistic"], statistic, rtol=1e-10)
    np.testing.assert_allclose(result["p_value"], 2 * stats.t.sf(statistic, df), rtol=1e-10)
    assert result["interval"] == "logit"


def test_of_independent_rows_it_is_delongs_variance_with_welchs_degrees_of_freedom(synth1, r_expected):
    table = synth1.dropna(subset=["hit", "prob", "iou"])[["task", "hit", "prob"]]
    expected = r_expected("auc_delong")
    expected = expected[(expected["score"] == "prob") & (expected["set"] != "POOLED")].set_index("set")
    result = auroc(table, "prob", "hit").set_index("task")
    np.testing.assert_allclose(
        result["std_error"] ** 2, expected.loc[result.index, "var_delong"], rtol=R_AGREES
    )
    for task, rows in table.groupby("task"):
        label = rows["hit"].to_numpy()
        values = placement_values(rows["prob"].to_numpy(), label)
        # SciPy's Welch test of two samples whose variances are those of the placement values
        welch = stats.ttest_ind(values[label == 1], values[label == 0], equal_var=False)
        np.testing.assert_allclose(result.loc[task, "df"], welch.df, rtol=R_AGREES)


@pytest.mark.parametrize("shift", [0.0, 0.6, 0.8, 1.0, 3.0])
@pytest.mark.parametrize("reference", [None, "other"])
def test_the_interval_excludes_guessing_where_p_is_small(shift, reference):
    random = np.random.default_rng(4)
    study = np.repeat(np.arange(40), 24)
    table = pd.DataFrame({"task": study, "patient": random.integers(0, 14, len(study)) + 14 * study})
    table["label"] = (random.random(len(study)) < 0.3).astype(float)
    table["other"] = random.normal(size=len(study))
    table["prob"] = shift * table["label"] + random.normal(size=len(study)) + table["other"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        result = auroc(table, "prob", "label", reference=reference)
    null = 0.5 if reference is None else 0.0
    excluded = (result["conf_low"] > null) | (result["conf_high"] < null)
    assert (excluded == (result["p_value"] < 0.05)).all()
    if reference is not None:
        assert ((result["verdict"] == "inconclusive") == ~excluded).all()
    elif shift == 3:
        assert set(result["interval"]) == {"logit", "wilson"}


@pytest.mark.parametrize(
    ("interval", "reference"),
    [("obuchowski", None), ("logit", None), ("cr2", "iou"), ("delong", "iou"), ("obuchowski", "iou")],
)
@pytest.mark.filterwarnings("ignore:interval='delong' treats rows as independent")
def test_bonferroni_limits_are_those_made_at_the_corrected_level(drawn_table, interval, reference):
    options = {"interval": interval, "reference": reference}
    at = {level: auroc(drawn_table, "prob", "hit", level=level, **options) for level in (0.95, 1 - 0.05 / 6)}
    widened = adjust(at[0.95], intervals=True)
    for column in ("conf_low", "conf_high", "conf_level"):
        np.testing.assert_allclose(widened[column], at[1 - 0.05 / 6][column], rtol=1e-10)


def test_covariates_of_a_long_frame_are_used_once_per_case_and_task(drawn_table, drawn_scores):
    labels = drawn_table.set_index(["case", "task"])["hit"]
    keys = pd.MultiIndex.from_frame(drawn_scores[["case", "task"]])
    long = drawn_scores.assign(label=labels.reindex(keys).to_numpy())
    pd.testing.assert_frame_equal(
        auroc(long, "prob", "label"), auroc(drawn_table.rename(columns={"hit": "label"}), "prob", "label")
    )
    assert len(auroc(long, "prob", "label", by=("task", "method"))) == 12


def test_a_metric_can_be_scored_and_a_metric_can_be_the_label(drawn_table, drawn_scores):
    gradcam = drawn_scores[drawn_scores["method"] == "gradcam"]
    long = auroc(gradcam, "iou", "hit")
    wide = auroc(drawn_table, "iou", "hit")
    pd.testing.assert_frame_equal(long.drop(columns="method"), wide)


def test_two_values_for_one_case_are_an_error(drawn_scores):
    long = drawn_scores.assign(label=1.0)
    long.loc[long["method"] == "human", "prob"] += 0.5
    with raises(ColumnError, column="prob", hint="if it depends on method or metric, name that in by"):
        auroc(long, "prob", "label")


def test_one_class_gives_nan_and_a_warning_that_names_the_group():
    table = pd.DataFrame(
        {"task": list("aaabbb"), "prob": [0.1, 0.5, 0.3, 0.2, 0.4, 0.6], "label": [0, 1, 1, 1, 1, 1]}
    )
    table.loc[2, "prob"] = 0
    with pytest.warns(SalstatsWarning) as said:
        result = auroc(table, "prob", "label", interval="logit")
    assert result["task"].tolist() == ["a", "b"]
    # task b has one class, task a one row of a class
    assert [(w.message.column, w.message.rows) for w in said] == [("n_positive", (1,)), ("n_units", (0,))]
    assert result.loc[1, ["estimate", "std_error", "p_value", "conf_low"]].isna().all()
    assert result["n_negative"].tolist() == [1, 0]
    assert result["estimate"][0] == 0.5
    # one negative only: an area, but no variance
    assert result.loc[0, ["std_error", "df"]].isna().all()
    assert result.loc[0, ["statistic", "p_value", "conf_low", "conf_high"]].isna().all()


@pytest.mark.parametrize(("n_positive", "n_negative"), [(2, 2), (3, 5), (1, 4)])
@pytest.mark.parametrize("area", [1, 0])
def test_complete_separation_has_the_exact_p_value_and_no_limits(n_positive, n_negative, area):
    n = n_positive + n_negative
    prob = np.arange(n) if area else -np.arange(n)
    table = pd.DataFrame({"prob": prob, "label": [0] * n_negative + [1] * n_positive})
    with warns(column="estimate", rows=(0,)) as said:
        result = auroc(table, "prob", "label", interval="logit").loc[0]
    assert len(said) == 1
    exact = stats.mannwhitneyu(prob[n_negative:], prob[:n_negative], method="exact").pvalue
    np.testing.assert_allclose(result["p_value"], exact, rtol=ROUNDING)
    assert result["estimate"] == area
    np.testing.assert_equal(result["std_error"], 0 if n_positive > 1 else np.nan)
    assert result[["statistic", "conf_low", "conf_high"]].isna().all()


@pytest.mark.parametrize(("n_positive", "n_negative"), [(3, 7), (1, 9), (20, 4), (15, 15)])
@pytest.mark.parametrize("area", [1, 0])
def test_complete_separation_has_wilsons_limits_of_as_many_cases_as_the_rarer_class(
    n_positive, n_negative, area
):
    n, rarer = n_positive + n_negative, min(n_positive, n_negative)
    prob = np.arange(n) if area else -np.arange(n)
    table = pd.DataFrame({"prob": prob, "label": [0] * n_negative + [1] * n_positive})
    with warns(column="estimate", rows=(0,)) as said:
        result = auroc(table, "prob", "label").loc[0]
    assert len(said) == 1
    q = stats.norm.ppf(0.975)
    bound = rarer / (rarer + q**2)
    limits = [bound, 1] if area else [0, 1 - bound]
    np.testing.assert_allclose(result[["conf_low", "conf_high"]].astype(float), limits, atol=ROUNDING)
    # the score test of one half
    np.testing.assert_allclose(result["p_value"], 2 * stats.norm.sf(np.sqrt(rarer)), rtol=1e-10)
    assert (result["p_value"] < 0.05) == (bound > 0.5)
    assert (result["interval"], result["estimate"]) == ("wilson", area)
    assert np.isnan(result["df"])


def test_of_patients_it_is_as_many_as_have_the_rarer_label():
    table = pd.DataFrame(
        {"patient": list("aaabbccdddee"), "label": [1] * 5 + [0] * 7, "prob": range(12, 0, -1)}
    )
    with warns(column="estimate", rows=(0,)):
        result = auroc(table, "prob", "label").loc[0]
    assert result["interval"] == "wilson"
    assert result["conf_low"] == pytest.approx(2 / (2 + stats.norm.ppf(0.975) ** 2), rel=ROUNDING)


def test_all_scores_tied_is_not_called_separation():
    table = pd.DataFrame({"prob": 0.3, "label": [0, 0, 1, 1, 1]})
    with warns(column="predictor", rows=(0,)) as said:
        result = auroc(table, "prob", "label", interval="logit").loc[0]
    assert len(said) == 1
    assert result[["estimate", "std_error"]].tolist() == [0.5, 0]
    assert result[["statistic", "p_value", "conf_low", "conf_high"]].isna().all()
    with warns(column="predictor", rows=(0,)):
        result = auroc(table, "prob", "label").loc[0]
    assert result["interval"] == "wilson"
    assert result["p_value"] == 1
    assert result["conf_low"] < 0.2 < 0.8 < result["conf_high"]


def test_one_positive_row_and_one_positive_patient_warn_that_there_are_no_limits():
    row = pd.DataFrame({"prob": [1, 3, 2, 4], "label": [0, 0, 1, 0]})
    patient = pd.DataFrame(
        {"patient": list("aabbcc"), "prob": [2, 5, 1, 4, 3, 6], "label": [1, 1, 0, 0, 0, 0]}
    )
    for table, unit in ((row, None), (patient, "patient")):
        with warns(column="n_units", rows=(0,)):
            result = auroc(table, "prob", "label", unit=unit, interval="logit").loc[0]
        assert 0 < result["estimate"] < 1
        assert result[["std_error", "statistic", "df", "p_value", "conf_low", "conf_high"]].isna().all()


@pytest.mark.parametrize("n_patients", [2, 3, 7, 11])
def test_a_clustered_variance_that_cancels_is_no_certainty(n_patients):
    """Patient k scores 2k and, positive, 2k + 1: V10 - A = (k + 1)/K - A is minus V01 - A, the sum is 0."""
    scores = np.arange(2 * n_patients)
    table = pd.DataFrame({"patient": scores // 2, "prob": scores, "label": scores % 2})
    with warns(column="std_error", rows=(0,)):
        result = auroc(table, "prob", "label", unit="patient", interval="obuchowski").loc[0]
    np.testing.assert_allclose(result["estimate"], (n_patients + 1) / (2 * n_patients), rtol=ROUNDING)
    assert result["std_error"] == 0
    assert result[["statistic", "p_value", "conf_low", "conf_high"]].isna().all()
    with warns(column="std_error", rows=(0,)):
        result = auroc(table, "prob", "label", unit="patient").loc[0]
    assert result["interval"] == "wilson"
    assert result["std_error"] == 0
    assert result["conf_low"] < 0.5 < result["conf_high"]


def test_of_a_metric_absent_findings_are_counted_apart():
    rows = np.arange(20)
    absent, lost = rows < 6, rows == 19
    scores = pd.DataFrame({
        "case": rows.astype(str), "task": "a", "method": "cam", "metric": "hit", "label": 1 - absent,
        "score": np.where(absent | lost, np.nan, rows % 3 == 0), "prob": np.sin(rows),
    })  # fmt: skip
    found = auroc(scores, "prob", "hit", interval=None)
    assert found[["n", "n_missing", "n_absent"]].to_numpy().tolist() == [[13, 7, 6]]
    pd.testing.assert_frame_equal(found, auroc(scores, "prob", "hit"))
    # of the finding itself they are the negatives
    assert "n_absent" not in auroc(scores.assign(prob=scores["prob"].where(rows > 0)), "prob", "label")


def test_delong_asked_for_although_patients_repeat_warns(drawn_table):
    with warns(option="interval", value="delong"):
        result = auroc(drawn_table, "prob", "hit", interval="delong")
    without = auroc(drawn_table.drop(columns=["case", "patient"]), "prob", "hit", interval="delong")
    np.testing.assert_array_equal(result["std_error"], without["std_error"])


def test_a_difference_is_procs_paired_test(synth1, r_expected):
    """roc.test(paired=TRUE, method="delong") of 80_auc.R; the default has its standard error."""
    table = synth1.dropna(subset=["hit", "prob", "iou"])[["task", "hit", "prob", "iou"]]
    expected = r_expected("auc_paired_delong").set_index("set").rename({"POOLED": "Overall"})
    delong = auroc(table, "prob", "hit", reference="iou", overall=True, interval="delong").set_index("task")
    expected = expected.loc[delong.index]
    for ours, theirs in {
        "method_area": "auc_prob",
        "reference_area": "auc_iou",
        "statistic": "z",
        "p_value": "p",
        "conf_low": "diff_lo",
        "conf_high": "diff_hi",
    }.items():
        np.testing.assert_allclose(delong[ours], expected[theirs], rtol=R_AGREES, err_msg=ours)
    assert (delong[["method", "reference", "term"]] == ["prob", "iou", "auroc_difference"]).all(axis=None)
    result = auroc(table, "prob", "hit", reference="iou", overall=True).set_index("task")
    np.testing.assert_allclose(result["statistic"], expected["z"], rtol=R_AGREES)
    for task, rows in table.groupby("task"):
        label = rows["hit"].to_numpy()
        values = placement_values(rows["prob"].to_numpy(), label)
        values -= placement_values(rows["iou"].to_numpy(), label)
        welch = stats.ttest_ind(values[label == 1], values[label == 0], equal_var=False)
        row, half = result.loc[task], stats.t.ppf(0.975, welch.df) * result.loc[task, "std_error"]
        got = row[["df", "conf_low", "conf_high"]].astype(float)
        want = [welch.df, row["estimate"] - half, row["estimate"] + half]
        np.testing.assert_allclose(got, want, rtol=1e-8)
    assert (result["interval"] == "cr2").all()


def test_a_clustered_difference_has_obuchowskis_covariance(example):
    """Obuchowski (1997): sums over patients of what each reader's placement values leave, written out."""
    label, patient = example["label"].to_numpy(), example["patient"].to_numpy()
    readers = [placement_values(example[r].to_numpy(), label) for r in ("reader1", "reader2")]
    patients, m, n = np.unique(patient), (label == 1).sum(), (label == 0).sum()
    a, b = (
        [
            [(v - v[label == 1].mean())[(label == one) & (patient == p)].sum() for p in patients]
            for v in readers
        ]
        for one in (1, 0)
    )
    with_positive, with_negative = (len(np.unique(patient[label == one])) for one in (1, 0))
    factor = len(patients) / (len(patients) - 1)

    def covariance(r, s):
        own = with_positive / (with_positive - 1) * np.dot(a[r], a[s]) / m**2
        own += with_negative / (with_negative - 1) * np.dot(b[r], b[s]) / n**2
        return own + factor * (np.dot(a[r], b[s]) + np.dot(a[s], b[r])) / (m * n)

    variance = covariance(0, 0) + covariance(1, 1) - 2 * covariance(0, 1)
    options = {"reference": "reader2", "unit": "patient"}
    row = auroc(example, "reader1", "label", interval="obuchowski", **options).loc[0]
    np.testing.assert_allclose(row["std_error"] ** 2, variance, rtol=1e-10)
    np.testing.assert_allclose(
        row[["method_area", "reference_area"]].astype(float), [0.9837, 0.9852], atol=PRINTED
    )
    df = min(with_positive, with_negative) - 1
    np.testing.assert_allclose(row["p_value"], 2 * stats.t.sf(abs(row["statistic"]), df), rtol=1e-10)
    row = auroc(example, "reader1", "label", **options).loc[0]
    variance, df = robust_by_definition(readers[0] - readers[1], label, patient)
    np.testing.assert_allclose(row[["std_error", "df"]].astype(float), [variance**0.5, df], rtol=1e-10)


def test_a_difference_agrees_with_exchanging_both_scores_of_patients():
    random, n_patients = np.random.default_rng(11), 40
    patient = np.repeat(np.arange(n_patients), random.integers(1, 4, n_patients))
    label = (random.random(len(patient)) < 0.4).astype(float)
    own = random.normal(size=n_patients)[patient]
    first, second = (shift * label + own + random.normal(size=len(label)) for shift in (1.4, 0.5))
    table = pd.DataFrame({"patient": patient, "label": label, "a": first, "b": second})
    row = auroc(table, "a", "label", reference="b").loc[0]
    found = []
    for _ in range(1000):
        turned = (random.random(n_patients) < 0.5)[patient]
        one, other = np.where(turned, second, first), np.where(turned, first, second)
        found.append(
            roc_area_or_difference(one, label, patient).estimate
            - roc_area_or_difference(other, label, patient).estimate
        )
    # 1000 exchanges have a standard error of .007 at P = .05
    assert row["p_value"] == pytest.approx(np.mean(np.abs(found) >= abs(row["estimate"]) - 1e-12), abs=0.03)
    assert 0.005 < row["p_value"] < 0.2


def test_a_method_is_compared_with_a_method_on_the_same_cases(drawn_scores, drawn_table):
    label = drawn_table.set_index(["case", "task"])["n_instances"] > 1
    keys = pd.MultiIndex.from_frame(drawn_scores[["case", "task"]])
    long = drawn_scores.assign(label=label.reindex(keys).to_numpy().astype(float))
    lost = long["case"].iloc[0]
    long = long[(long["case"] != lost) | (long["method"] != "human")].sample(frac=1, random_state=1)
    found = auroc(long, "iou", "label", reference="human")
    wide = drawn_table.assign(label=label.to_numpy().astype(float))
    wide["human_iou"] = wide["human_iou"].where(wide["case"] != lost)
    same = auroc(wide, "iou", "label", reference="human_iou", by="task")
    columns = ["task", "estimate", "std_error", "df", "p_value", "n", "n_missing", "n_units", "verdict"]
    pd.testing.assert_frame_equal(found[columns], same[columns])
    assert (found[["method", "reference"]] == ["gradcam", "human"]).all(axis=None)


@pytest.mark.parametrize(
    ("n_misranked", "is_few"),
    [({"a": 14}, True), ({"a": 16}, False), ({"a": 4, "b": 24}, True), ({"a": 4, "b": 26}, False)],
)
def test_few_misranked_pairs_have_a_caution(n_misranked, is_few):
    # Of 10 x 20 pairs each score misranks some; ten times their share is compared with 0.75, of two scores
    # with 1.25. The first positives are below all negatives but the last, others above all.
    label = np.repeat([1, 0], [10, 20])
    table = pd.DataFrame({"label": label})
    for name, n in n_misranked.items():
        n_below = np.clip(n - 19 * np.arange(10), 0, 19)
        table[name] = np.where(label == 1, 20 - np.resize(n_below, 30) - 0.5, np.arange(30) - 10.0)
    found = auroc(table, "a", "label", reference="b" if "b" in n_misranked else None)
    if "b" not in n_misranked:
        assert found["estimate"].item() == pytest.approx(1 - n_misranked["a"] / 200)
    assert ("caution" in found.columns) == is_few
    if is_few:
        assert found["caution"].tolist() == [FEW_EVENTS.name]


@pytest.mark.parametrize("lacking", ["cam", "human"])
def test_pairs_without_one_of_many_scores_have_a_caution(lacking):
    cases = np.arange(40)
    scores = pd.DataFrame({"case": np.tile(cases, 2), "method": np.repeat(["cam", "human"], 40)})
    scores = scores.assign(metric="iou", score=(7 * np.arange(80)) % 41 / 41, label=np.tile(cases % 2, 2))
    complete = auroc(scores, "iou", "label", reference="human")
    assert "caution" not in complete
    few = scores[(scores["method"] != lacking) | (scores["case"] >= 12)]
    with warns(match="12 of 40"):
        found = auroc(few, "iou", "label", reference="human")
    assert found["caution"].tolist() == [INCOMPLETE_PAIRS.name]
    assert found["n"].tolist() == [28]
    # pairs without a label would enter no area
    unlabelled = few.assign(label=few["label"].where(few["case"] >= 12))
    assert "caution" not in auroc(unlabelled, "iou", "label", reference="human")


def test_scores_that_order_all_alike_have_no_test():
    table = pd.DataFrame({"a": np.arange(8), "b": np.arange(8) ** 2, "label": [0, 0, 1, 0, 1, 1, 0, 1]})
    with warns(column="std_error", rows=(0,)):
        row = auroc(table, "a", "label", reference="b").loc[0]
    assert row["estimate"] == 0
    assert row[["statistic", "df", "p_value", "conf_low", "conf_high"]].isna().all()
    assert row["verdict"] == "inconclusive"


def test_what_cannot_be_compared_is_an_error(drawn_scores, drawn_table):
    with raises(SalstatsError, option="label", value="hit", column="hit"):
        auroc(drawn_scores, "iou", "hit", reference="human")
    with raises(ColumnError, column="humans"):
        auroc(drawn_scores, "iou", "hit", reference="humans")
    with raises(ValueRangeError, option="interval", value="logit"):
        auroc(drawn_table, "iou", "hit", reference="prob", interval="logit")


def test_bad_input_is_named(drawn_table):
    with raises(ValueRangeError, column="grade", rows=tuple(range(len(drawn_table)))):
        auroc(drawn_table.assign(grade=2), "prob", "grade")


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(auroc) == {"level": 0.95, "overall": False}

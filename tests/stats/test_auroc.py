"""auroc() against R's pROC, the worked example of Obuchowski (1997), and its definition."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from salstats.checks import ColumnError, SalstatsWarning, ValueRangeError
from salstats.stats.adjust import adjust
from salstats.stats.auroc import auroc
from salstats.stats.roc import roc_area

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


@pytest.mark.parametrize(
    ("reader", "area", "std_error", "s10", "s01", "s11"),
    [
        ("reader1", 0.9837, 0.0108, 0.0013151307, 0.0022375873, 0.0051785478),
        ("reader2", 0.9852, 0.0097, 0.0009284122, 0.0022598583, -0.0005015760),
    ],
)
def test_clustered_variance_is_the_published_example(example, reader, area, std_error, s10, s01, s11):
    result = auroc(example, reader, "label", unit="patient").loc[0]
    assert result["interval"] == "logit"
    assert result[["n", "n_units", "n_positive", "n_negative"]].tolist() == [65, 36, 29, 36]
    np.testing.assert_allclose(result["estimate"], area, atol=PRINTED)
    np.testing.assert_allclose(result["std_error"], std_error, atol=PRINTED)
    variance = s10 / 29 + s01 / 36 + 2 * s11 / (29 * 36)
    np.testing.assert_allclose(result["std_error"] ** 2, variance, atol=PRINTED_COMPONENTS)


def test_clustered_limits_and_p_value_are_those_of_t(example):
    """Degrees of freedom: the fewer of the patients with a positive and those with a negative, less one."""
    with_label = example.groupby("label")["patient"].nunique()
    df = with_label.min() - 1
    result = auroc(example, "reader1", "label", unit="patient", interval="obuchowski").loc[0]
    area, se = result["estimate"], result["std_error"]
    assert result["df"] == df
    np.testing.assert_allclose(result["conf_low"], area - stats.t.ppf(0.975, df) * se, rtol=ROUNDING)
    np.testing.assert_allclose(result["p_value"], 2 * stats.t.sf((area - 0.5) / se, df), rtol=1e-10)
    on_logit = auroc(example, "reader1", "label", unit="patient").loc[0]
    odds = np.log(area / (1 - area)) - stats.t.ppf(0.975, df) * se / (area * (1 - area))
    np.testing.assert_allclose(on_logit["conf_low"], 1 / (1 + np.exp(-odds)), rtol=1e-10)
    # rows for themselves stay with DeLong's normal quantile
    alone = auroc(example.drop(columns="patient"), "reader1", "label").loc[0]
    assert np.isnan(alone["df"])


@pytest.mark.slow
def test_clustered_limits_of_few_patients_hold_the_truth():
    """10 patients of 1 to 4 cases with a common label and offset: 1.96 loses more than ten points of 95."""
    rng, n_studies = np.random.default_rng(12), 1000
    truth = stats.norm.cdf(1 / np.sqrt(2))
    covered, with_normal, studies = 0, 0, 0
    while studies < n_studies:
        patients = np.repeat(np.arange(10), rng.integers(1, 5, 10))
        labels = (rng.random(10) < 0.5)[patients]
        scores = labels + rng.normal(0, 0.8, 10)[patients] + rng.normal(0, 0.6, len(patients))
        area = roc_area(scores, labels, patients)
        if not area.variance > 0:
            # separated, or too few patients of a class: no limits
            continue
        studies += 1
        distance = abs(area.estimate - truth) / np.sqrt(area.variance)
        covered += distance <= stats.t.ppf(0.975, area.df)
        with_normal += distance <= stats.norm.ppf(0.975)
    # one in 10,000 runs would fall below; the limits are only approximate and may lose five points
    assert covered >= stats.binom.ppf(1e-4, n_studies, 0.9)
    assert with_normal < stats.binom.ppf(1e-4, n_studies, 0.9)


@pytest.mark.parametrize("interval", ["obuchowski", "logit"])
def test_bonferroni_limits_are_those_made_at_the_corrected_level(synth1, interval):
    at = {
        level: auroc(synth1, "prob", "hit", interval=interval, level=level) for level in (0.95, 1 - 0.05 / 6)
    }
    widened = adjust(at[0.95], intervals=True)
    for column in ("conf_low", "conf_high", "conf_level"):
        np.testing.assert_allclose(widened[column], at[1 - 0.05 / 6][column], rtol=1e-10)


def test_covariates_of_a_long_frame_are_used_once_per_case_and_task(synth1, synth1_scores):
    labels = synth1.set_index(["case", "task"])["hit"]
    keys = pd.MultiIndex.from_frame(synth1_scores[["case", "task"]])
    long = synth1_scores.assign(label=labels.reindex(keys).to_numpy())
    pd.testing.assert_frame_equal(
        auroc(long, "prob", "label"), auroc(synth1.rename(columns={"hit": "label"}), "prob", "label")
    )
    assert len(auroc(long, "prob", "label", by=("task", "method"))) == 12


def test_a_metric_can_be_scored_and_a_metric_can_be_the_label(synth1, synth1_scores):
    gradcam = synth1_scores[synth1_scores["method"] == "gradcam"]
    long = auroc(gradcam, "iou", "hit")
    wide = auroc(synth1, "iou", "hit")
    pd.testing.assert_frame_equal(long.drop(columns="method"), wide)


def test_two_values_for_one_case_are_an_error(synth1_scores):
    long = synth1_scores.assign(label=1.0)
    long.loc[long["method"] == "human", "prob"] += 0.5
    with pytest.raises(ColumnError, match=r"'prob' has 2 values for one observation .*name that in by="):
        auroc(long, "prob", "label")


def test_one_class_gives_nan_and_a_warning_that_names_the_group():
    table = pd.DataFrame(
        {"task": list("aaabbb"), "prob": [0.1, 0.5, 0.3, 0.2, 0.4, 0.6], "label": [0, 1, 1, 1, 1, 1]}
    )
    table.loc[2, "prob"] = 0
    with pytest.warns(SalstatsWarning) as said:
        result = auroc(table, "prob", "label")
    assert [str(w.message).rpartition(": ")[2] for w in said] == ["task b", "task a"]
    assert "labels are equal" in str(said[0].message)
    assert result.loc[1, ["estimate", "std_error", "p_value", "conf_low"]].isna().all()
    assert result["n_negative"].tolist() == [1, 0]
    assert result["estimate"][0] == 0.5
    # one negative only: an area, but no variance
    assert result.loc[0, ["std_error", "statistic", "p_value", "conf_low", "conf_high"]].isna().all()


@pytest.mark.parametrize(("n_positive", "n_negative"), [(2, 2), (3, 5), (1, 4)])
@pytest.mark.parametrize("area", [1, 0])
def test_complete_separation_has_the_exact_p_value_and_no_limits(n_positive, n_negative, area):
    n = n_positive + n_negative
    prob = np.arange(n) if area else -np.arange(n)
    table = pd.DataFrame({"prob": prob, "label": [0] * n_negative + [1] * n_positive})
    with pytest.warns(SalstatsWarning, match=r"separates the classes completely.*exact.*: all rows$") as said:
        result = auroc(table, "prob", "label").loc[0]
    assert len(said) == 1
    exact = stats.mannwhitneyu(prob[n_negative:], prob[:n_negative], method="exact").pvalue
    np.testing.assert_allclose(result["p_value"], exact, rtol=ROUNDING)
    assert result["estimate"] == area
    np.testing.assert_equal(result["std_error"], 0 if n_positive > 1 else np.nan)
    assert result[["statistic", "conf_low", "conf_high"]].isna().all()


def test_all_scores_tied_is_not_called_separation():
    table = pd.DataFrame({"prob": 0.3, "label": [0, 0, 1, 1, 1]})
    with pytest.warns(SalstatsWarning, match=r"all scores are tied, .* \(NaN\): all rows$") as said:
        result = auroc(table, "prob", "label").loc[0]
    assert len(said) == 1
    assert result[["estimate", "std_error"]].tolist() == [0.5, 0]
    assert result[["statistic", "p_value", "conf_low", "conf_high"]].isna().all()


def test_one_positive_row_and_one_positive_patient_warn_that_there_are_no_limits():
    row = pd.DataFrame({"prob": [1, 3, 2, 4], "label": [0, 0, 1, 0]})
    patient = pd.DataFrame(
        {"patient": list("aabbcc"), "prob": [2, 5, 1, 4, 3, 6], "label": [1, 1, 0, 0, 0, 0]}
    )
    for table, unit in ((row, None), (patient, "patient")):
        with pytest.warns(SalstatsWarning, match=r"of one row or unit only.*\(NaN\): all rows$"):
            result = auroc(table, "prob", "label", unit=unit).loc[0]
        assert 0 < result["estimate"] < 1
        assert result[["std_error", "statistic", "df", "p_value", "conf_low", "conf_high"]].isna().all()


@pytest.mark.parametrize("n_patients", [2, 3, 7, 11])
def test_a_clustered_variance_that_cancels_is_no_certainty(n_patients):
    """Patient k scores 2k and, positive, 2k + 1: V10 - A = (k + 1)/K - A is minus V01 - A, the sum is 0."""
    scores = np.arange(2 * n_patients)
    table = pd.DataFrame({"patient": scores // 2, "prob": scores, "label": scores % 2})
    with pytest.warns(SalstatsWarning, match="variance is not above 0"):
        result = auroc(table, "prob", "label", unit="patient").loc[0]
    np.testing.assert_allclose(result["estimate"], (n_patients + 1) / (2 * n_patients), rtol=ROUNDING)
    assert result["std_error"] == 0
    assert result[["statistic", "p_value", "conf_low", "conf_high"]].isna().all()


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


def test_delong_asked_for_although_patients_repeat_warns(synth1):
    with pytest.warns(SalstatsWarning, match="takes rows for independent"):
        result = auroc(synth1, "prob", "hit", interval="delong")
    without = auroc(synth1.drop(columns=["case", "patient"]), "prob", "hit")
    np.testing.assert_array_equal(result["std_error"], without["std_error"])


def test_bad_input_is_named(synth1):
    with pytest.raises(ValueRangeError, match="must hold 0 and 1, not 2"):
        auroc(synth1.assign(hit=2), "prob", "hit")

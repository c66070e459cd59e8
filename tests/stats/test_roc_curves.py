"""roc_curve() against scikit-learn, auroc() and the definition of its bands."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from tests_support import default_numbers_and_flags, warns

from salstats.datasets import load_simulated
from salstats.errors import ColumnValue, ValueRangeError
from salstats.stats.auroc import auroc
from salstats.stats.roc_curves import roc_curve

ROUNDING = 1e-12


@pytest.fixture(scope="module")
def tied():
    """Scores with ties, three rows of each patient."""
    rng = np.random.default_rng(5)
    label = np.repeat(rng.integers(0, 2, 40), 3)
    scores = np.round(rng.normal(label, 1.0), 1)
    return pd.DataFrame({"patient": np.repeat(np.arange(40), 3), "prob": scores, "label": label})


def test_the_curve_is_that_of_scikit_learn(tied):
    curve = roc_curve(tied, "prob", "label", n_replicates=20)
    false_rate, true_rate, thresholds = metrics.roc_curve(
        tied["label"], tied["prob"], drop_intermediate=False
    )
    theirs = pd.DataFrame({"threshold": thresholds, "x": false_rate, "y": true_rate})
    both = curve.merge(theirs, on="threshold")
    assert len(both) == len(curve)
    np.testing.assert_allclose(both["false_positive_rate"], both["x"], atol=ROUNDING)
    np.testing.assert_allclose(both["estimate"], both["y"], atol=ROUNDING)
    # points that are left out lie on the lines between the others
    area = np.trapezoid(curve["estimate"], curve["false_positive_rate"])
    np.testing.assert_allclose(area, np.trapezoid(true_rate, false_rate), atol=ROUNDING)


def test_the_area_below_each_curve_is_its_auroc():
    scores = load_simulated()
    curves = roc_curve(scores, "iou", "hit", n_replicates=20)
    areas = auroc(scores, "iou", "hit")
    for key, curve in curves.groupby(["method", "task"]):
        of_curve = areas[(areas["method"] == key[0]) & (areas["task"] == key[1])]
        area = np.trapezoid(curve["estimate"], curve["false_positive_rate"])
        np.testing.assert_allclose(area, of_curve["estimate"].item(), atol=ROUNDING)
        assert curve["n"].unique().tolist() == of_curve["n"].tolist()


def test_bands_are_percentiles_of_curves_of_drawn_patients(tied):
    curve = roc_curve(tied, "prob", "label", n_replicates=60, level=0.8, rng=3)
    draws = np.random.default_rng(3).integers(0, 40, size=(60, 40), dtype=np.int32)
    at = curve["false_positive_rate"].iloc[len(curve) // 2]
    heights = []
    for patients in draws:
        sample = pd.concat([tied[tied["patient"] == patient] for patient in patients])
        x, y, _ = metrics.roc_curve(sample["label"], sample["prob"], drop_intermediate=False)
        heights.append(np.interp(at + ROUNDING, x, y))
    upper_end = curve[curve["false_positive_rate"] == at].iloc[-1]
    limits = upper_end[["conf_low", "conf_high"]].astype(float)
    np.testing.assert_allclose(limits, np.quantile(heights, [0.1, 0.9]), atol=1e-9)


def test_rows_of_one_patient_widen_the_bands(tied):
    first_of_patient = tied.groupby("patient")["prob"].transform("first")
    repeated = tied.assign(prob=first_of_patient)
    by_patient = roc_curve(repeated, "prob", "label", n_replicates=500)
    by_row = roc_curve(repeated.drop(columns="patient"), "prob", "label", n_replicates=500)
    assert by_patient["n_units"].unique() == [40]
    assert by_row["unit"].unique() == ["row"]
    widths = [(frame["conf_high"] - frame["conf_low"]).mean() for frame in (by_patient, by_row)]
    assert widths[0] > 1.3 * widths[1]


def test_below_the_upper_end_of_a_vertical_step_there_are_no_limits(tied):
    curve = roc_curve(tied, "prob", "label", n_replicates=20)
    is_upper_end = np.append(np.diff(curve["false_positive_rate"]) > 0, True)
    assert (curve["conf_low"].notna() == is_upper_end).all()


def test_a_group_of_one_class_has_no_curve(tied):
    table = tied.assign(task=np.where(tied["patient"] < 20, "a", "b"))
    table.loc[table["task"] == "b", "label"] = 1
    with warns(message=ColumnValue("task", "b")):
        curves = roc_curve(table, "prob", "label", n_replicates=20)
    assert curves["task"].unique().tolist() == ["a"]


def test_a_single_patient_with_positives_has_a_curve_without_bands(tied):
    table = tied.assign(label=(tied["patient"] == 3).astype(int))
    assert roc_curve(table, "prob", "label", n_replicates=20)["conf_low"].isna().all()
    of_two = tied.assign(label=tied["patient"].isin([3, 7]).astype(int))
    assert roc_curve(of_two, "prob", "label", n_replicates=20)["conf_low"].iloc[-1] == 1


def test_points_have_the_numbers_and_the_caution_of_their_group(tied):
    few = tied[tied["patient"] < 3].assign(label=[0, 1, 1] * 3, prob=np.arange(9.0))
    few.loc[few.index[0], "prob"] = np.nan
    both = pd.concat([few.assign(arm="few"), tied.assign(arm="many")], ignore_index=True)
    curve = roc_curve(both, "prob", "label", by="arm", n_replicates=20).set_index("arm")
    facts = curve[["n", "n_missing", "n_units", "n_positive", "n_negative"]].drop_duplicates()
    n_positive = int(tied["label"].sum())
    assert facts.to_numpy().tolist() == [[8, 1, 3, 6, 2], [120, 0, 40, n_positive, 120 - n_positive]]
    assert curve.loc["few", "caution"].eq("few units").all()
    assert curve.loc["many", "caution"].isna().all()


def test_labels_must_be_0_and_1(tied):
    with pytest.raises(ValueRangeError):
        roc_curve(tied.assign(label=2), "prob", "label")


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(roc_curve) == {"level": 0.95, "n_replicates": 2000, "rng": 0}

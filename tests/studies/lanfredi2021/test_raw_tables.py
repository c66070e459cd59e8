"""Tables 1 to 4 from scores: both intervals, the split by majority, the mixing in words, methods at hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from salstats.checks import SalstatsWarning
from salstats.studies.lanfredi2021.raw_tables import (
    both_intervals,
    main_method,
    named_rows,
    raw_tables,
    scored,
)

METRICS = ("ncc", "sncc", "auc", "sauc")
# means of the same numbers in another order
SUM_TOLERANCE = 1e-12


def make_scores(methods=("interobserver", "gradcam_wag", "am1"), n_cases=8, n_readers=3, **columns):
    """Scores of every case, reader, method and metric, with a column `mixing` where `columns` has it."""
    rng = np.random.default_rng(4)
    mixing = columns.get("mixing", {})
    rows = [
        {
            "case": f"c{case}", "patient": f"p{case}", "phase": 1, "method": method, "mixing": mix,
            "reader": str(reader), "metric": metric, "score": rng.normal(0.3, 0.1), "reason": None,
        }
        for case in range(n_cases)
        for method in methods
        for mix in mixing.get(method, (None,))
        for reader in range(n_readers)
        for metric in METRICS
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    return frame if mixing else frame.drop(columns="mixing")


def make_labels(abnormal):
    """Majority labels of cases c0, c1, ..."""
    names = [f"c{i}" for i in range(len(abnormal))]
    return pd.DataFrame({"case": names, "abnormal": pd.array(abnormal, dtype="Int64")})


LABELS = make_labels([1, 1, 1, 0, 0, 0, 0, None])


@pytest.fixture
def items():
    """The tables of scores without class maps, by key."""

    def make(scores, labels=LABELS):
        with warnings.catch_warnings():
            # few cases is the point of it
            warnings.simplefilter("ignore", SalstatsWarning)
            return {item.key: item for item in raw_tables(named_rows(scores, labels))}

    return make


def body(item) -> str:
    return item.table.as_raw_html()


def test_both_intervals_are_those_by_hand():
    rows = named_rows(make_scores(), make_labels([1] * 8))
    found = both_intervals(rows).set_index(["method", "metric"])
    own = rows[(rows["method"] == "am1") & (rows["metric"] == "ncc")]
    row = found.loc[("am1", "ncc")]
    mean, half = own["score"].mean(), 1.96 * own["score"].std() / np.sqrt(8)
    means = own.groupby("case")["score"].mean()
    low, high = stats.t.interval(0.95, 7, means.mean(), stats.sem(means))
    expected = {
        "estimate": mean, "study_conf_low": mean - half, "study_conf_high": mean + half,
        "conf_low": low, "conf_high": high, "width_ratio": (high - low) / (2 * half),
    }  # fmt: skip
    for name, value in expected.items():
        assert abs(row[name] - value) < SUM_TOLERANCE, name
    assert row["n"] == 24
    assert row["n_units"] == 8


def test_undefined_scores_are_left_out_of_both_intervals_and_counted():
    scores = make_scores()
    gone = (scores["case"] == "c3") & (scores["method"] == "am1")
    scores.loc[gone, "score"] = np.nan
    with_gaps = both_intervals(named_rows(scores, LABELS)).query("method == 'am1'").reset_index(drop=True)
    without = both_intervals(named_rows(scores[~gone], LABELS)).query("method == 'am1'")
    limits = ["estimate", "conf_low", "conf_high", "study_conf_low", "study_conf_high", "n_units"]
    pd.testing.assert_frame_equal(with_gaps[limits], without[limits].reset_index(drop=True))
    assert (with_gaps["n_missing"] == 3).all()
    assert (with_gaps["n_units"] == 7).all()


def test_a_map_without_classes_is_as_given_and_a_baseline_has_no_mixing():
    methods = ("interobserver", "convex", "am1", "am2", "gradcam_wag", "mine")
    rows = named_rows(make_scores(methods), LABELS).drop_duplicates("method").set_index("method")["mixing"]
    assert rows.to_dict() == {
        "interobserver": "", "convex": "", "am1": "", "am2": "",
        "gradcam_wag": "as given", "mine": "as given",
    }  # fmt: skip


def test_the_mixing_of_class_maps_stays_and_each_is_its_own_row(items):
    scores = make_scores(mixing={"gradcam_wag": ("thresholded", "weighted", "uniform")})
    table = items(scores)["table1"].frame
    own = table[(table["method"] == "gradcam_wag") & (table["metric"] == "sauc")]
    assert own["mixing"].tolist() == ["thresholded", "weighted", "uniform"]
    uniform = scores[(scores["mixing"] == "uniform") & (scores["metric"] == "sauc")]
    assert abs(own["estimate"].iloc[2] - uniform["score"].mean()) < SUM_TOLERANCE
    assert table.loc[table["method"] == "interobserver", "mixing"].isna().all()


def test_tables_have_the_rows_of_the_study_in_its_order(items):
    scores = make_scores(("am2", "convex", "gradcam_wag", "interobserver", "gradcam_woag", "am1"))
    made = items(scores)
    assert list(made) == [
        "means_shuffled", "means_centre", "table1", "table2", "table3", "table4",
    ]  # fmt: skip
    order = ["interobserver", "gradcam_woag", "gradcam_wag", "am1", "am2"]
    assert list(made["table1"].frame["method"].unique()) == order
    for number, metrics in (("3", ["ncc", "auc"]), ("4", ["sncc", "sauc"])):
        table = made[f"table{number}"].frame
        assert list(table["method"].unique()) == ["interobserver", "convex"]
        assert list(table["metric"].unique()) == metrics
    html = body(made["table1"])
    assert html.index("Interobserver (baseline)") < html.index("Grad-CAM (without") < html.index("AM1")
    assert "As the study" in html
    assert "Cases as clusters" in html


def test_table_2_splits_the_cases_by_their_majority(items):
    scores = make_scores()
    item = items(scores)["table2"]
    table = item.frame.set_index(["subset", "method", "metric"])
    assert set(item.frame["method"]) == {"interobserver", "gradcam_wag"}
    for subset, cases in (("abnormal", ["c0", "c1", "c2"]), ("normal", ["c3", "c4", "c5", "c6"])):
        own = scores[scores["case"].isin(cases) & (scores["method"] == "gradcam_wag")]
        row = table.loc[(subset, "gradcam_wag", "sauc")]
        assert abs(row["estimate"] - own.loc[own["metric"] == "sauc", "score"].mean()) < SUM_TOLERANCE
        assert row["n_units"] == len(cases)
    assert item.note == "left out for want of a majority: 1 image"
    assert item.figure is not None


def test_table_2_shows_uniform_mixing_where_there_is_some(items):
    item = items(make_scores(mixing={"gradcam_wag": ("thresholded", "uniform")}))["table2"]
    own = item.frame[item.frame["method"] == "gradcam_wag"]
    assert set(own["mixing"]) == {"uniform"}
    assert item.title.endswith("Grad-CAM (with attention gates), uniform mixing")


def test_without_a_majority_table_2_is_left_out_and_said():
    rows = named_rows(make_scores(), make_labels([None] * 8))
    with pytest.warns(SalstatsWarning, match="Table 2 is left out"):
        keys = [item.key for item in raw_tables(rows)]
    assert "table2" not in keys
    assert "table1" in keys


def test_images_with_too_few_readers_are_not_in_the_tables():
    rows = make_scores()
    rows.loc[rows["case"] == "c0", ["score", "reason"]] = [np.nan, "not 5 readers"]
    rows.loc[rows["case"] == "c1", ["score", "reason"]] = [np.nan, "no map"]
    kept = scored(rows)
    assert "c0" not in set(kept["case"])
    # a map that is missing is an undefined score of an image that counts
    assert "c1" in set(kept["case"])


@pytest.mark.parametrize(
    ("methods", "main"),
    [
        (("interobserver", "gradcam_woag", "gradcam_wag"), "gradcam_wag"),
        (("interobserver", "am1", "mine"), "mine"),
        (("interobserver", "am1"), "am1"),
        (("interobserver",), "interobserver"),
    ],
)
def test_single_results_are_of_the_studys_method_or_the_first_there_is(methods, main):
    assert main_method(named_rows(make_scores(methods), LABELS))[0] == main


def test_only_saliency_maps_compete_for_the_best(items):
    scores = make_scores(("interobserver", "am1", "am2"))
    scores.loc[scores["method"] == "interobserver", "score"] += 1
    html = body(items(scores)["table1"])
    bold = [cell for cell in html.split("<td") if "bold" in cell.split(">")[0]]
    table = items(scores)["table1"].frame.query("metric == 'sauc'").set_index("method")["estimate"]
    best = f"{table[['am1', 'am2']].max():.3f}"
    assert any(best in cell for cell in bold)
    assert not any(f"{table['interobserver']:.3f} " in cell for cell in bold)

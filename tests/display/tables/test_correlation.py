"""Correlations by group and as a triangle."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError


@pytest.fixture(scope="module")
def by_task(scores, quietly):
    return quietly(ss.correlate, scores, "iou", "prob", by=["method", "task"])


@pytest.fixture(scope="module")
def pairs(scores, quietly):
    names = ["iou", "hit", "prob", "elongation"]
    return pd.concat([quietly(ss.correlate, scores, a, b, by="method") for a, b in combinations(names, 2)])


def test_body_is_as_it_was_looked_at(by_task, same_as_snapshot):
    same_as_snapshot(
        ss.table_correlation(by_task, n_tests=1, title="IoU and confidence", stars=True), "correlation"
    )


def test_triangle_is_as_it_was_looked_at(pairs, same_as_snapshot):
    same_as_snapshot(
        ss.table_correlation(pairs.query("method == 'gradcam'"), stars=True), "correlation_triangle"
    )


def test_tasks_are_rows_methods_columns_and_the_note_says_what_is_correlated(by_task, read):
    seen = read(ss.table_correlation(by_task, stars=True))
    assert seen.head[0][-1] == "Spearman's \u03c1 (95% CI)"
    assert seen.head[1] == ["Human benchmark", "Grad-CAM", "Occlusion"]
    assert next(iter(seen.rows)) == "Atelectasis"
    row = by_task.query("task == 'Edema' and method == 'gradcam'").iloc[0]
    expected = f"{row['estimate']:.2f} ({row['conf_low']:.2f}, {row['conf_high']:.2f})"
    assert seen.rows["Edema"][1] == expected.replace("-", "−")
    assert "Correlation of IoU and Model confidence." in seen.note


@pytest.mark.parametrize(
    ("test", "interval", "name", "p_value"),
    [
        ("pearson", "fisher", "Pearson's r", "t test"),
        ("kendall", "fieller", "Kendall's \u03c4-b", "normal approximation"),
        ("pearson", None, "Pearson's r", "t test on Fisher's z scale"),
    ],
)
def test_the_coefficient_and_its_test_are_named(scores, quietly, read, test, interval, name, p_value):
    table = quietly(ss.correlate, scores, "iou", "prob", test=test, interval=interval)
    seen = read(ss.table_correlation(table, stars=True))
    assert seen.head == [["Method", f"{name} (95% CI)"]]
    assert f"P values: two-sided, {p_value}." in seen.note


def test_adjusted_p_values_stand_beside_the_correlations(scores, quietly, read):
    adjusted = quietly(ss.correlate, scores, "iou", "prob", by="task", adjust="holm")
    seen = read(ss.table_correlation(adjusted))
    assert seen.head[-1][-1] == "P, Holm"
    row = adjusted.set_index("task").loc["Edema"]
    p_value = "&gt;0.999" if row["p_adjusted"] > 0.999 else f"{row['p_adjusted']:.3f}"
    assert seen.rows["Edema"][-1] in (p_value, p_value.replace("&gt;", ">"))
    assert "P values: two-sided, " in seen.note
    assert "adjusted (Holm, 5 tests)" in seen.note


def test_levels_of_stars_are_divided_by_the_tests_of_the_table(by_task, read):
    table = by_task.query("task == 'Edema'").assign(p_value=[0.02, 0.01, 0.0001])
    seen = read(ss.table_correlation(table, stars=True))
    stars = [cell.count("*") for cells in seen.rows.values() for cell in cells]
    assert stars == [1, 0, 3]
    assert "(Bonferroni, 3 tests)" in seen.note
    uncorrected = read(ss.table_correlation(table, n_tests=1, stars=True))
    assert [cell.count("*") for cells in uncorrected.rows.values() for cell in cells] == [1, 1, 3]
    assert "not corrected for multiplicity" in uncorrected.note
    none = read(ss.table_correlation(table))
    assert not any("*" in cell for cells in none.rows.values() for cell in cells)
    assert "P < 0.05" not in none.note


def test_variables_are_rows_where_they_vary(scores, quietly, read):
    table = pd.concat([quietly(ss.correlate, scores, "iou", y) for y in ("prob", "elongation")])
    seen = read(ss.table_correlation(table, stars=True))
    assert list(seen.rows) == ["Model confidence", "Elongation"]
    assert "Correlation with IoU." in seen.note


def test_every_pair_of_three_and_more_is_a_lower_triangle_per_group(pairs, read):
    seen = read(ss.table_correlation(pairs, stars=True))
    assert seen.groups == ["Human benchmark", "Grad-CAM", "Occlusion"]
    assert seen.head[1] == ["IoU", "Hit rate", "Model confidence"]
    first = seen.body[:3]
    assert [row[0] for row in first] == ["Hit rate", "Model confidence", "Elongation"]
    assert [[bool(cell) for cell in row[1:]] for row in first] == [
        [True, False, False], [True, True, False], [True, True, True],
    ]  # fmt: skip
    row = pairs.query("x == 'hit' and y == 'elongation' and method == 'human'").iloc[0]
    assert first[2][2].startswith(f"{row['estimate']:.2f}".replace("-", "−"))
    # three variables are the fewest, of two there is one pair
    three = pairs[(pairs["x"] != "prob") & (pairs["y"] != "elongation")]
    assert [len(row) for row in read(ss.table_correlation(three)).body] == [3] * 6
    two = three[three["y"] == "hit"]
    assert read(ss.table_correlation(two)).groups == []


def test_the_triangle_does_not_mind_which_of_a_pair_is_x(pairs, read):
    turned = pairs.copy()
    swap = (turned["x"] == "iou") & (turned["y"] == "elongation")
    turned.loc[swap, ["x", "y"]] = ["elongation", "iou"]
    labels = {"x": ["iou", "hit", "prob", "elongation"]}
    assert (
        read(ss.table_correlation(turned, labels=labels, stars=True)).body
        == read(ss.table_correlation(pairs, stars=True)).body
    )


def test_the_triangle_can_be_asked_for_and_refused(pairs, read):
    some = pairs[~((pairs["x"] == "iou") & (pairs["y"] == "prob"))]
    seen = read(ss.table_correlation(some, matrix=True, stars=True))
    assert [row[0] for row in seen.body[:3]] == ["Hit rate", "Elongation", "Model confidence"]
    assert seen.body[2][1] == "—"
    assert "—, not available." in seen.note
    listed = read(ss.table_correlation(pairs.query("method == 'gradcam'"), matrix=False, stars=True))
    assert listed.head[1] == ["IoU", "Hit rate", "Model confidence"]
    with raises(SalstatsError, option="matrix", value=True):
        ss.table_correlation(some.query("x == 'iou' and y == 'hit'"), matrix=True, stars=True)


def test_named_rows_are_not_overruled_by_a_triangle(pairs, read):
    seen = read(ss.table_correlation(pairs, rows="method"))
    assert list(seen.rows) == ["Human benchmark", "Grad-CAM", "Occlusion"]
    with raises(SalstatsError, option="groups", value="method"):
        ss.table_correlation(pairs, matrix=True, groups="method")


def test_two_correlations_in_one_cell_are_an_error(pairs, by_task):
    with raises(SalstatsError, rows=(0, len(pairs))):
        ss.table_correlation(pd.concat([pairs, pairs.iloc[:1]]), matrix=True, stars=True)
    with raises(SalstatsError, rows=(0, len(by_task))):
        ss.table_correlation(pd.concat([by_task, by_task.iloc[:1]]), stars=True)


def test_notes_say_interval_n_incomplete_pairs_and_what_is_independent(scores, quietly, by_task, read):
    note = read(ss.table_correlation(by_task, stars=True)).note
    assert "95% CI: Fisher z transformation, CR2 standard error" in note
    assert f"{by_task['n'].min()} to {by_task['n'].max()} pairs of 100 to 116 patients per estimate" in note
    assert "0 to 5 incomplete." in note
    assert "independent" not in note
    fisher = quietly(ss.correlate, scores, "iou", "prob", by=["method", "task"], interval="fisher")
    assert (
        "Pairs of one patient are taken as independent."
        in read(ss.table_correlation(fisher, stars=True)).note
    )


def test_stratified_correlations_say_so(scores, quietly, read):
    table = quietly(ss.correlate, scores, "iou", "prob", stratified="task", interval="fisher")
    note = read(ss.table_correlation(table, stars=True)).note
    assert "Within values of Task, combined on Fisher's z scale." in note
    assert "P values: two-sided, z test." in note


def test_an_undefined_correlation_is_a_dash_and_counts_as_no_test(by_task, read):
    table = by_task.query("task == 'Edema'").copy()
    table.loc[table.index[0], ["estimate", "p_value", "conf_low", "conf_high"]] = np.nan
    seen = read(ss.table_correlation(table, stars=True))
    assert seen.rows["Grad-CAM"] == ["—"]
    assert "(Bonferroni, 2 tests)" in seen.note


def test_a_frame_of_means_is_an_error(means):
    with raises(ColumnError, column="x"):
        ss.table_correlation(means, stars=True)


def test_a_partial_correlation_names_what_was_taken_out():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    partial = ss.correlate(scores, "iou", "prob", by="method", covariates="elongation")
    assert "Partial correlation, given Elongation." in ss.table_correlation(partial, stars=True).as_raw_html()
    semi = ss.correlate(scores, "iou", "prob", by="method", covariates="elongation", covariates_of="x")
    assert "Elongation taken out of IoU" in ss.table_correlation(semi, stars=True).as_raw_html()
    within = ss.correlate(scores, "iou", "prob", by="method", test="rm", unit="patient")
    html = ss.table_correlation(within, stars=True).as_raw_html()
    assert "Repeated-measures r" in html
    assert "clustered by patient" in html


def correlations(*terms, **columns):
    """A correlation of each term."""
    frame = pd.DataFrame({"method": list("abc")[: len(terms)], "x": "iou", "y": "prob", "term": list(terms)})
    return frame.assign(estimate=0.3, conf_low=0.1, conf_high=0.5, conf_level=0.95, **columns)


def test_coefficients_of_another_package_are_correlations_without_a_known_test(read):
    seen = read(ss.table_correlation(correlations("own", p_value=0.01), stars=True))
    assert seen.head[-1][-1] == "Correlation (95% CI)"
    assert "P values" not in seen.note
    several = read(ss.table_correlation(correlations("pearson", "spearman", p_value=0.01), rows="method"))
    assert several.head[0][-1] == "Correlation (95% CI)"
    assert len(several.head[1]) == 2


@pytest.mark.parametrize(
    ("interval", "stars", "is_noted"),
    [("cr2", False, False), ("cr2", True, True), ("fisher", False, True), ("fisher", True, True)],
)
def test_clusters_are_noted_unless_the_interval_names_them(read, interval, stars, is_noted):
    clustered = {"unit": "patient", "n": 20, "n_units": 9, "p_value": 0.01, "interval": interval}
    note = read(ss.table_correlation(correlations("pearson", **clustered), stars=stars)).note
    assert (" are clustered by patient." in note or " are taken as independent." in note) == is_noted

"""Contrasts with the reference: columns per method, order, underline, P."""

import re
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from display.frames import large_study
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, ValueRangeError


def test_body_is_as_it_was_looked_at(decrease, same_as_snapshot):
    table = ss.table_decrease(decrease.query("metric == 'iou'"), sort="size", title="Decrease")
    same_as_snapshot(table, "decrease")


def test_body_of_differences_without_tasks_is_as_it_was_looked_at(scores, same_as_snapshot):
    table = ss.difference(scores, reference="human", by="metric", interval="percentile", n_replicates=499)
    same_as_snapshot(ss.table_decrease(table), "decrease_difference")


def test_each_method_has_its_pairs_both_means_the_decrease_and_p(decrease, read):
    seen = read(ss.table_decrease(decrease))
    assert seen.head[0][-2:] == ["Grad-CAM", "Occlusion"]
    assert seen.head[1] == [
        "n", "Human benchmark, mean", "Grad-CAM, mean", "Decrease, % (95% CI)", "P",
        "n", "Human benchmark, mean", "Occlusion, mean", "Decrease, % (95% CI)", "P",
    ]  # fmt: skip
    row = decrease.query("metric == 'iou' and task == 'Edema' and method == 'gradcam'").iloc[0]
    cells = seen.body[[r[0] for r in seen.body].index("Edema")][1:6]
    assert cells == [
        f"{row['n_pairs']}",
        f"{row['reference_mean']:.3f}",
        f"{row['method_mean']:.3f}",
        f"{row['estimate']:.1f} ({row['conf_low']:.1f}, {row['conf_high']:.1f})",
        f"<{row['p_floor']:.3f}",
    ]
    assert row["p_value"] == row["p_floor"]


@pytest.mark.parametrize("kind", ["html", "tex", "docx", "csv"])
def test_every_file_of_a_table_says_that_a_p_value_is_a_bound(decrease, tmp_path, kind):
    one = decrease[decrease["metric"] == "iou"].head(2)
    bounds = one.assign(
        p_value=[0.002, 0.04], p_floor=0.002, p_adjusted=[0.04, 0.5], p_adjusted_floor=[0.04, np.nan]
    )
    file = ss.save_table(ss.table_decrease(bounds), tmp_path / f"table.{kind}")
    text = ZipFile(file).read("word/document.xml") if kind == "docx" else file.read_bytes()
    below = {"html": "&lt;", "docx": "&lt;", "tex": r"\textless{}", "csv": "<"}[kind]
    assert f"{below}0.040".encode() in text
    assert f"{below}0.500".encode() not in text
    assert b"0.500" in text


def test_rows_by_size_start_with_the_furthest_below_and_end_with_the_average(decrease, differences, read):
    iou = decrease.query("metric == 'iou'")
    tasks = iou[iou["task"] != "Average"].groupby("task")["estimate"].mean().sort_values(ascending=False)
    seen = read(ss.table_decrease(iou, sort="size"))
    assert list(seen.rows) == [*tasks.index, "Average"]
    assert seen.apart == ["Average"]
    assert list(read(ss.table_decrease(iou)).rows) == [*sorted(tasks.index), "Average"]
    lower = differences.query("metric == 'iou' and method == 'gradcam'")
    tasks = lower[lower["task"] != "Average"].sort_values("estimate")["task"]
    assert list(read(ss.table_decrease(lower, sort="size")).rows) == [*tasks, "Average"]


def test_undefined_decreases_stand_behind_the_others_by_size(decrease, read):
    iou = decrease.query("metric == 'iou'")
    gone = iou.assign(estimate=iou["estimate"].where(iou["task"] != "Atelectasis"))
    seen = read(ss.table_decrease(gone, sort="size"))
    assert list(seen.rows)[-2:] == ["Atelectasis", "Average"]
    assert seen.rows["Atelectasis"][3] == "—"


@pytest.fixture(scope="module")
def against_margin(scores):
    iou = scores.query("metric == 'iou'")
    return ss.difference(iou, reference="gradcam", by="metric", margin=0.05, interval="cr2")


def test_what_lies_inside_its_margin_has_a_dagger_and_the_p_of_it(against_margin, read):
    row = against_margin.query("method == 'occlusion'").iloc[0]
    assert row["verdict"] == "lower, equivalent"
    seen = read(ss.table_decrease(against_margin))
    human, occlusion = (seen.rows[method] for method in ("Human benchmark", "Occlusion"))
    assert occlusion[-3].endswith(")†")
    assert human[-3].endswith(")")
    assert seen.head[-1][-1] == "P, equivalence"
    assert (occlusion[-1], human[-1]) == (f"{row['p_margin']:.3f}", ">0.999")
    # a difference that is there is significant all the same
    assert not seen.underline
    assert "All are significant" in seen.note
    assert "†Equivalent: shown to lie within −0.05 to 0.05 (two one-sided tests, P < 0.05)." in seen.note


def test_every_two_methods_are_rows(scores, read):
    pairs = ss.difference(scores, reference="all", by="metric", interval="cr2")
    seen = read(ss.table_decrease(pairs.query("metric == 'iou'")))
    assert sorted(seen.rows) == [
        "Human benchmark − Grad-CAM", "Human benchmark − Occlusion", "Occlusion − Grad-CAM",
    ]  # fmt: skip
    assert seen.head[-1][2:4] == ["Reference, mean", "Method, mean"]


def test_pairs_beside_each_other_name_the_reference_and_the_method_of_each(scores, read):
    pairs = ss.difference(scores.query("metric == 'iou'"), reference="all", by="task", interval="cr2")
    seen = read(ss.table_decrease(pairs, wide=True, n=False))
    means = [heading for heading in seen.head[1] if heading.endswith(", mean")]
    expected = []
    for pair in seen.head[0][1:]:
        method, reference = pair.split(" − ")
        expected += [f"{reference}, mean", f"{method}, mean"]
    assert means == expected


@pytest.fixture(scope="module")
def complete_scores():
    """IoU of cases that every method has."""
    iou = ss.datasets.load_simulated().query("metric == 'iou'").dropna(subset="score")
    n_methods = iou.groupby(["task", "case"])["method"].transform("nunique")
    return iou[n_methods == iou["method"].nunique()]


def test_the_reference_has_rows_of_its_own_where_methods_below_each_other_share_it(complete_scores, read):
    found = ss.difference(complete_scores, reference="human", by="task", interval="cr2")
    seen = read(ss.table_decrease(found, wide=False))
    assert seen.head == [["Task", "n", "Mean", "Difference (95% CI)", "P"]]
    assert seen.groups == ["Human benchmark", "Grad-CAM", "Occlusion"]
    means = (
        complete_scores[complete_scores["method"] == "human"].groupby("task")["score"].agg(["size", "mean"])
    )
    expected = [
        [task, str(row["size"].astype(int)), f"{row['mean']:.3f}", "—", "—"] for task, row in means.iterrows()
    ]
    assert seen.body[: len(means)] == expected
    assert "—, reference." in seen.note


def test_percentages_and_differences_in_one_frame_are_each_sorted_and_rounded_as_their_kind(
    decrease, differences, read
):
    percentages = decrease.query("metric == 'iou' and task != 'Average'")
    both = pd.concat([percentages, differences.query("metric == 'iou' and task != 'Average'")])
    table = read(ss.table_decrease(both, sort="size", percent_digits=2))
    assert sum("decrease, % or difference" in heading for heading in table.head[1]) == 2
    furthest_first = percentages.groupby("task")["estimate"].mean().sort_values(ascending=False)
    # the percentages are the first group
    assert [row[0] for row in table.body[: len(furthest_first)]] == list(furthest_first.index)
    row = percentages.query("method == 'gradcam'").set_index("task").loc[furthest_first.index[0]]
    assert f"{row['estimate']:.2f} (" in " ".join(table.body[0])
    assert "A negative decrease" not in table.note
    increases = both.assign(
        estimate=-both["estimate"], conf_low=-both["conf_high"], conf_high=-both["conf_low"]
    )
    assert "A negative decrease is an increase." in read(ss.table_decrease(increases)).note


def test_without_tasks_the_reference_is_the_first_row_whatever_the_order(complete_scores, read):
    found = ss.difference(complete_scores, reference="occlusion", by="metric", interval="cr2")
    for sort in ("label", "size"):
        seen = read(ss.table_decrease(found, sort=sort))
        assert seen.body[0][0] == "Occlusion"
    mean = complete_scores.query("method == 'occlusion'")["score"].mean()
    assert seen.rows["Occlusion"] == [f"{mean:.3f}", "—", "—"]


@pytest.mark.parametrize("column", ["n_pairs", "reference_mean"])
def test_a_reference_of_other_pairs_for_each_method_keeps_its_column(complete_scores, read, column):
    found = ss.difference(complete_scores, reference="human", by="metric", interval="cr2")
    other = found.assign(**{column: found[column] + [0, 1]})
    seen = read(ss.table_decrease(other))
    assert {"Human benchmark, mean", "Method, mean"} < set(seen.head[-1])
    assert list(seen.rows) == ["Grad-CAM", "Occlusion"]


@pytest.mark.parametrize(("options", "average"), [({}, False), ({"average": "task"}, True)])
def test_a_number_of_pairs_that_all_contrasts_have_stands_once_in_the_notes(read, options, average):
    scores = large_study(n_cases=40, n_patients=30).query("metric in ['iou', 'hit'] and reader != 'r2'")
    by = ["metric", "task"]
    found = ss.difference(scores, reference="human", by=by, interval="cr2", **options)
    assert set(found.loc[found["task"] != "Average", "n_pairs"]) == {40}
    seen = read(ss.table_decrease(found))
    assert "n" not in seen.head[-1]
    assert "40 pairs of 30 patients per estimate" in seen.note
    assert ("(Average, 200)" in seen.note) == average
    one_differs = found.assign(n_pairs=found["n_pairs"] - (found.index == 0))
    assert "n" in read(ss.table_decrease(one_differs)).head[-1]


def test_a_metric_without_a_complete_pair_is_named_and_has_no_rows(scores, read, quietly):
    without = scores.assign(score=scores["score"].where(scores["metric"] != "hit"))
    found = quietly(ss.difference, without, reference="human", interval="cr2", average="task")
    assert found.loc[found["metric"] == "hit", "estimate"].isna().all()
    seen = read(ss.table_decrease(found, labels={"hit": "Hits"}))
    assert seen.groups == []
    assert "No pair of scores is complete for Hits." in seen.note
    # where no metric has a pair the rows say so
    of_hits = quietly(ss.table_decrease, found[found["metric"] == "hit"])
    assert {text for row in read(of_hits).body for text in row[1:]} == {"—"}


def test_only_verdicts_are_underlined_and_the_note_says_when(decrease, read):
    iou = decrease.query("metric == 'iou'").assign(verdict="inconclusive")
    iou.loc[iou["task"] == "Edema", "verdict"] = "lower"
    seen = read(ss.table_decrease(iou))
    assert seen.underline == {("Edema", 3), ("Edema", 8)}
    assert "Underlined: significant (95% CI of the decrease excludes 0)." in seen.note
    most = iou.assign(verdict=iou["verdict"].replace({"inconclusive": "lower", "lower": "inconclusive"}))
    seen = read(ss.table_decrease(most))
    assert seen.underline == {("Edema", 3), ("Edema", 8)}
    assert "Underlined: not significant; all others are (95% CI of the decrease excludes 0)." in seen.note
    table_of_none = ss.table_decrease(iou.assign(verdict="inconclusive"))
    none = read(table_of_none)
    assert not none.underline
    assert "None is significant (95% CI of the decrease excludes 0)." in none.note
    # as text a table has no marks, so that only what needs none is explained
    assert "None is significant" in str(table_of_none)
    assert "Underlined" not in str(ss.table_decrease(iou))


@pytest.mark.parametrize(("verdict", "words"), [("lower", "is"), ("inconclusive", "is not")])
def test_a_single_difference_is_significant_or_is_not(decrease, read, verdict, words):
    one = decrease.query("metric == 'iou' and method == 'gradcam' and task == 'Edema'")
    seen = read(ss.table_decrease(one.assign(verdict=verdict)))
    assert f"The difference {words} significant (" in seen.note


def test_without_verdicts_nothing_is_significant_and_a_foreign_term_is_a_difference(decrease, read):
    iou = decrease.query("metric == 'iou'").drop(columns="verdict")
    seen = read(ss.table_decrease(iou.assign(term="own", n_missing=None)))
    assert not seen.underline
    assert "significant" not in seen.note
    assert "IoU, difference (95% CI)" in [heading for row in seen.head for heading in row]
    # whether scores are undefined is not known
    assert "Means are over the cases" in seen.note


def test_methods_too_wide_to_stand_beside_each_other_become_groups(decrease, read):
    iou = decrease.query("metric == 'iou' and task != 'Average'")
    assert read(ss.table_decrease(iou)).groups == []
    wide = read(ss.table_decrease(iou, digits=15, percent_digits=15, style="ama"))
    assert wide.groups[-2:] == ["Grad-CAM", "Occlusion"]
    assert read(ss.table_decrease(iou, digits=15, percent_digits=15, wide=True)).groups == []


def test_a_difference_without_interval_and_p_is_neither_significant_nor_underlined(decrease, read):
    tests = ["conf_low", "conf_high", "p_value", "p_floor"]
    one = decrease.query("metric == 'iou' and method == 'gradcam'").reset_index(drop=True)
    one = one.assign(verdict=["inconclusive", *["lower"] * (len(one) - 1)])
    assert read(ss.table_decrease(one)).underline == {(one["task"].iloc[0], 3)}
    untested = one.copy()
    untested.loc[0, tests] = np.nan
    seen = read(ss.table_decrease(untested))
    assert not seen.underline
    means = one.assign(estimate=one["method_mean"])[["metric", "task", "method", "estimate"]]
    assert read(ss.table_estimates(means, differences=one)).underline == {(one["task"].iloc[0], 0)}
    assert not read(ss.table_estimates(means, differences=untested)).underline


def test_p_is_adjusted_where_the_frame_has_it_and_the_note_names_the_procedure(differences, read):
    row = differences.query("metric == 'iou' and task == 'Edema' and method == 'gradcam'").iloc[0]
    seen = read(ss.table_decrease(differences))
    cells = seen.body[[r[0] for r in seen.body].index("Edema")]
    assert cells[5] == f"<{row['p_adjusted_floor']:.3f}"
    assert "1,999 replicates; adjusted (Holm, families of 4 and 20 tests)." in seen.note
    assert "and adjusted P is significant at the 5% level" in seen.note
    unnamed = read(ss.table_decrease(differences.drop(columns="procedure")))
    assert "adjusted (families of 4 and 20 tests)." in unnamed.note
    named = read(ss.table_decrease(differences.drop(columns="procedure"), adjust="by"))
    assert "adjusted (Benjamini-Yekutieli, families of 4 and 20 tests)." in named.note


def test_without_p_there_is_no_column_and_no_note(scores, read):
    table = ss.difference(scores, reference="human", by="metric", test="none", n_replicates=99)
    seen = read(ss.table_decrease(table))
    assert seen.head[-1][-1] == "Difference (95% CI)"
    assert "P values" not in seen.note
    test = ss.difference(scores, reference="human", by="metric", test="signflip", n_replicates=99)
    said = "P values: two-sided sign-flip permutation test, 99 replicates; not adjusted for multiple tests."
    assert said in read(ss.table_decrease(test)).note


def test_the_average_says_what_is_averaged(scores, decrease, read):
    of_means = read(ss.table_decrease(decrease)).note
    assert "Average: decrease of the unweighted means over tasks." in of_means
    table = ss.percent_decrease(scores, reference="human", average="task_mean", n_replicates=99)
    assert "Average: unweighted mean of the decreases over tasks." in read(ss.table_decrease(table)).note


def test_notes_say_pairs_missing_units_and_replicates(decrease, read):
    seen = read(ss.table_decrease(decrease))
    pairs = decrease.loc[decrease["task"] != "Average", "n_pairs"]
    assert f"{pairs.min()} to {pairs.max()} pairs of " in seen.note
    assert "patients per estimate" in seen.note
    assert "incomplete." in seen.note
    assert "95% CI: percentile bootstrap of patients, 999 replicates." in seen.note
    assert "Means are over the cases where both scores are defined." in seen.note
    assert seen.note.endswith(f"salstats {ss.__version__}.")


def test_more_than_three_methods_are_groups_of_rows(decrease, read):
    iou = decrease.query("metric == 'iou' and method == 'gradcam'")
    many = pd.concat([iou.assign(method=m) for m in ("ig", "lrp", "lime", "rise")])
    seen = read(ss.table_decrease(many))
    assert seen.groups == ["Human benchmark", "Integrated Gradients", "LIME", "LRP", "RISE"]
    assert len(seen.head) == 1
    beside = read(ss.table_decrease(many, wide=True))
    assert beside.head[0][-4:] == seen.groups[1:]
    assert len(beside.body) == len(iou)


def test_without_tasks_methods_are_rows(scores, read):
    seen = read(ss.table_decrease(ss.difference(scores, reference="human", by="metric", n_replicates=99)))
    assert seen.head == [["Method", "n", "Human benchmark, mean", "Method, mean", "Difference (95% CI)", "P"]]
    assert [row[0] for row in seen.body] == ["Grad-CAM", "Occlusion"] * 2
    assert seen.groups == ["IoU", "Hit rate"]


def test_digits_of_means_and_of_percentages_are_apart(decrease, read):
    seen = read(ss.table_decrease(decrease, digits=2, percent_digits=0, style="ama"))
    row = decrease.query("metric == 'iou' and task == 'Edema' and method == 'gradcam'").iloc[0]
    cells = seen.body[[r[0] for r in seen.body].index("Edema")]
    assert cells[2] == f"{row['reference_mean']:.2f}"
    assert cells[4] == f"{row['estimate']:.0f} ({row['conf_low']:.0f} to {row['conf_high']:.0f})"
    assert cells[5] == "<.002"


def test_a_comma_in_the_label_of_methods_stays_out_of_the_heading_of_the_reference(scores, read):
    pairs = ss.difference(scores, reference="human", by="metric")
    labels = {"method": "Method, ours"}
    seen = read(ss.table_decrease(pairs, labels=labels))
    assert "Human benchmark, mean" in seen.head[-1]
    assert "Method, ours, mean" in seen.head[-1]


def test_an_unbounded_set_is_said(decrease, read):
    wild = decrease.assign(interval="fieller", conf_low=-np.inf, conf_high=np.inf)
    seen = read(ss.table_decrease(wild))
    assert seen.body[0][4].endswith("(−∞, ∞)")
    assert "Infinite limits: the set is unbounded." in seen.note
    assert "95% CI: Fieller, clustered by patient." in seen.note


def test_bad_options_are_one_clear_sentence(decrease, means):
    with raises(ValueRangeError, option="sort", value="value"):
        ss.table_decrease(decrease, sort="value")
    with raises(SalstatsError, rows=(0, len(decrease))):
        ss.table_decrease(pd.concat([decrease, decrease.iloc[:1]]))
    with raises(ColumnError, column="reference"):
        ss.table_decrease(means)


def test_differences_of_medians_stand_beside_both_medians():
    scores = ss.datasets.load_simulated().query("metric == 'iou' and task == 'Edema'")
    found = ss.median_difference(scores, reference="human", by=["metric"])
    html = ss.table_decrease(found).as_raw_html()
    assert "IoU, difference of medians (95% CI)" in html
    assert f"{found['reference_median'].iloc[0]:.3f}" in html
    ninth = ss.table_estimates(ss.medians(scores, quantile=0.9)).as_raw_html()
    assert "90% quantile (95% CI)" in ninth


def test_quantiles_say_which_in_tables_and_figures():
    scores = ss.datasets.load_simulated().query("metric == 'iou' and task == 'Edema'")
    lower = ss.medians(scores, by=["metric", "method"], quantile=0.25)
    gap = ss.median_difference(scores, reference="human", by=["metric"], quantile=0.25)
    assert "IoU, difference of 25% quantiles (95% CI)" in ss.table_decrease(gap).as_raw_html()
    for draw in (ss.plot_intervals, ss.plot_forest):
        assert draw(lower).labels.x == "25% quantile, IoU (95% CI)"
        assert draw(gap).labels.x.startswith("Difference of 25% quantiles")
    terms = ss.quantile_regress(scores, "iou ~ area_ratio", quantile=0.25)
    assert ss.plot_regression(terms).labels.x == "Coefficient, IoU, quantile 0.25 (95% CI)"


def test_effect_sizes_stand_beside_the_differences_and_are_named():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    found = ss.difference(scores, reference="human", effect_size="d_av")
    html = ss.table_decrease(found).as_raw_html()
    row = found.iloc[0]
    shown = [f"{abs(row[c]):.2f}" for c in ("effect", "effect_low", "effect_high")]
    assert all(number in html for number in shown)
    assert "Cohen&#x27;s d_av" in html or "Cohen's d_av" in html
    note_of_unit = re.compile(r"d_av: [^.]*clustered by patient")
    assert note_of_unit.search(str(ss.table_decrease(found)))
    of_no_unit = str(ss.table_decrease(found.assign(unit=None)))
    assert not re.search(r"d_av: [^.]*clustered by", of_no_unit)
    without = ss.table_decrease(ss.difference(scores, reference="human")).as_raw_html()
    assert "d_av" not in without


def test_bounds_of_undefined_scores_have_a_column_and_a_note(scores, read):
    found = ss.difference(scores, reference="human", by="metric", interval="cr2")
    bounds = ss.missing_bounds(found)
    seen = read(ss.table_decrease(bounds))
    row = bounds.query("metric == 'iou' and method == 'gradcam'").iloc[0]
    expected = f"{row['bound_low']:.3f}, {row['bound_high']:.3f}".replace("-", "−")
    assert expected in seen.body[0] + seen.body[1]
    assert "Bounds" in seen.head[-1]
    assert "Bounds" in seen.note
    assert "Bounds" not in read(ss.table_decrease(found)).note


def test_what_all_methods_of_a_row_share_stands_once_in_front_of_them(scores, read):
    iou = scores.query("metric == 'iou'").dropna(subset="score")
    in_all = iou.groupby(["task", "case"])["method"].transform("nunique") == iou["method"].nunique()
    seen = read(ss.table_decrease(ss.difference(iou[in_all], reference="human", interval="cr2")))
    headings = [*seen.head[0], *seen.head[1]]
    assert headings.count("n") == headings.count("Human benchmark, mean") == 1
    own = read(ss.table_decrease(ss.difference(iou, reference="human", interval="cr2")))
    headings = [*own.head[0], *own.head[1]]
    assert headings.count("n") == headings.count("Human benchmark, mean") == 2
    # one row suffices in which the means of the reference differ, such as the first
    equal = ss.difference(iou[in_all], reference="human", interval="cr2")
    equal.loc[0, "reference_mean"] += 0.1
    headings = read(ss.table_decrease(equal)).head[1]
    assert headings.count("Human benchmark, mean") == 2


def test_notes_say_which_direction_is_better_only_where_it_is_not_that_of_most_metrics(decrease, read):
    assert "Smaller is better" not in read(ss.table_decrease(decrease)).note
    assert "negative" not in read(ss.table_decrease(decrease)).note
    distances = decrease.query("metric == 'iou'").assign(metric="hd95", estimate=-decrease["estimate"])
    note = read(ss.table_decrease(distances)).note
    assert "Smaller is better: 95th-percentile Hausdorff distance." in note
    assert "A negative decrease is an increase." in note


def test_means_of_pairs_are_explained_only_where_pairs_are_incomplete(complete_scores, read):
    found = ss.difference(complete_scores, reference="human", by="task", interval="cr2")
    assert "Means are over" not in read(ss.table_decrease(found)).note
    incomplete = found.assign(n_missing=found["n_missing"] + 1)
    assert (
        "Means are over the cases where both scores are defined." in read(ss.table_decrease(incomplete)).note
    )

"""Means side by side: where everything stands, what is marked, what the notes say."""

import re

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.display.text.format import p_text
from salstats.errors import Call, ColumnError, SalstatsError, ValueRangeError

BAD = r"<b>x</b> & _a_ *b* 50% $y$ \z {{m^2}}"
TASKS = ["Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Pleural Effusion", "Average"]


def frame(rows, keys=("metric", "method")):
    """An estimates frame of (keys..., estimate) rows."""
    table = pd.DataFrame(rows, columns=[*keys, "estimate"])
    table.insert(len(keys), "term", "mean")
    return table.assign(conf_low=table["estimate"] - 0.1, conf_high=table["estimate"] + 0.1, conf_level=0.95)


def of_metric(metric, **estimates):
    """An estimates frame of methods and their estimates."""
    return frame([(metric, method, value) for method, value in estimates.items()])


@pytest.fixture(scope="module")
def iou(means):
    return means.query("metric == 'iou'")


def test_body_is_as_it_was_looked_at(means, differences, same_as_snapshot):
    table = ss.table_estimates(means, differences=differences, exclude=["human"], title="Means")
    same_as_snapshot(table, "estimates")


def test_body_with_counts_is_as_it_was_looked_at(iou, same_as_snapshot):
    rows = iou[iou["task"].isin(["Edema", "Average"])]
    same_as_snapshot(ss.table_estimates(rows, n=True, style="ama", digits=2), "estimates_n")


def test_tasks_are_rows_methods_columns_and_metrics_groups(means, read):
    seen = read(ss.table_estimates(means))
    assert seen.groups == ["IoU", "Hit rate"]
    assert seen.head[0][-1] == "Mean (95% CI)"
    assert seen.head[1][-3:] == ["Human benchmark", "Grad-CAM", "Occlusion"]
    assert [row[0] for row in seen.body] == TASKS * 2
    assert seen.apart == ["Average", "Average"]
    row = means.query("metric == 'iou' and method == 'human' and task == 'Edema'").iloc[0]
    expected = f"{row['estimate']:.3f} ({row['conf_low']:.3f}, {row['conf_high']:.3f})"
    assert seen.body[TASKS.index("Edema")][1] == expected


def test_without_tasks_methods_are_rows_and_metrics_columns(scores, read):
    table = ss.summarize(scores, by=["metric", "method"], n_replicates=100)
    seen = read(ss.table_estimates(table))
    assert seen.head[1] == ["IoU", "Hit rate"]
    assert list(seen.rows) == ["Human benchmark", "Grad-CAM", "Occlusion"]


def test_one_grouping_column_gives_rows_and_the_heading_names_what_is_shown(scores, read):
    seen = read(ss.table_estimates(ss.auroc(scores, "prob", "label")))
    assert seen.head == [["Task", "AUROC (95% CI)"]]
    assert "AUROC, area under the receiver operating characteristic curve" in seen.note
    assert "DeLong variance on the logit scale, clustered by patient" in seen.note
    assert "131 to 142 positive" in seen.note


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_ranks_have_limits_of_replicates_and_no_confidence_interval(scores, read):
    ranks = ss.rank_stability(scores[scores["metric"] == "iou"], n_replicates=50)
    table, figure = read(ss.table_estimates(ranks)), ss.plot_forest(ranks)
    inline = ss.inline_text(ranks)[0]
    for text in (str(table.head), table.note, figure.labels.x, figure.labels.caption, inline):
        assert "replicates" in text
        assert "CI" not in text
    for text in (table.note, figure.labels.caption):
        assert "no confidence interval for a true rank" in " ".join(text.split())


def test_a_metric_that_does_not_vary_is_said_in_the_heading_and_other_columns_in_a_note(read):
    rows = [("iou", "a", "chexpert", 0.5), ("iou", "b", "chexpert", 0.6)]
    seen = read(ss.table_estimates(frame(rows, ("metric", "method", "dataset"))))
    assert seen.head == [["Method", "IoU, mean (95% CI)"]]
    assert "Dataset: chexpert." in seen.note


def test_other_columns_that_vary_stand_above_the_methods(read):
    rows = [("iou", m, task, data, 0.5) for m in "ab" for task in ("t1", "t2") for data in ("d1", "d2")]
    seen = read(ss.table_estimates(frame(rows, ("metric", "method", "task", "dataset"))))
    assert seen.head[1][-2:] == ["d1", "d2"]
    assert seen.head[2] == ["a", "b", "a", "b"]


def test_rows_columns_and_groups_can_be_chosen(means, read):
    seen = read(ss.table_estimates(means, rows="method", columns=["metric"], groups="task"))
    assert seen.groups == TASKS
    assert seen.head[-1][-2:] == ["IoU", "Hit rate"]
    assert len(seen.body) == 18


def test_labels_give_names_and_order(iou, read):
    labels = {
        "task": ["Pleural Effusion", "Edema"],
        "method": {"occlusion": "Occlusion map", "human": "Radiologists"},
    }
    seen = read(ss.table_estimates(iou, labels=labels))
    assert seen.head[1] == ["Occlusion map", "Radiologists", "Grad-CAM"]
    assert list(seen.rows) == ["Pleural Effusion", "Edema", *TASKS[:3], "Average"]


def test_best_per_metric_is_bold_by_the_direction_of_the_metric_in_whatever_case(read):
    table = frame([("iou", "a", 0.4), ("iou", "b", 0.3), ("hausdorff", "a", 9.0), ("hausdorff", "b", 3.0)])
    seen = read(ss.table_estimates(table))
    assert seen.bold == {("a", 0), ("b", 1)}
    assert "Bold: best estimate per metric (the smallest for Hausdorff distance)." in seen.note
    assert read(ss.table_estimates(of_metric("HD95", a=10.0, b=5.0))).bold == {("b", 0)}


def test_nothing_is_bold_where_nobody_knows_which_score_is_better(read):
    table = of_metric("my metric", a=0.4, b=0.3)
    seen = read(ss.table_estimates(table))
    assert seen.bold == set()
    assert "Which my metric is better is not known, so none is bold." in seen.note
    assert read(ss.table_estimates(table, directions={"my metric": "larger"})).bold == {("a", 0)}
    assert read(ss.table_estimates(table, directions={"my metric": "smaller"})).bold == {("b", 0)}


def test_a_percentage_decrease_is_better_the_smaller_it_is(decrease, read):
    edema = decrease.query("metric == 'iou' and task == 'Edema'")
    best = edema.loc[edema["estimate"].idxmin(), "method"]
    seen = read(ss.table_estimates(edema))
    assert seen.bold == {({"gradcam": "Grad-CAM", "occlusion": "Occlusion"}[best], 0)}


def test_of_sds_within_a_case_the_smallest_is_bold_whatever_is_best_of_the_score(read):
    rng = np.random.default_rng(3)
    keys = pd.MultiIndex.from_product([["iou"], ["steady", "shaky"], [f"c{i}" for i in range(30)], [*"abc"]])
    scores = keys.to_frame(index=False, name=["metric", "method", "case", "seed"])
    spread = scores["method"].map({"steady": 0.01, "shaky": 0.1})
    scores["score"] = 0.5 + spread * rng.normal(size=len(scores))
    seen = read(ss.table_estimates(ss.within_case_sd(scores)))
    assert "SD within a case" in " ".join(seen.head[0])
    assert seen.bold == {("steady", 0)}


def test_best_per_row_is_bold_among_methods_that_may_win(read):
    table = of_metric("iou", human=0.9, a=0.4, b=0.3)
    seen = read(ss.table_estimates(table))
    assert list(seen.rows) == ["Human benchmark", "a", "b"]
    assert seen.bold == {("a", 0)}
    assert "Human benchmark not competing" in seen.note
    seen = read(ss.table_estimates(table, exclude="human", reference="b"))
    assert list(seen.rows) == ["b", "a", "Human benchmark"]
    assert not seen.bold
    named = read(ss.table_estimates(table, labels={"method": ["a", "human"]}))
    assert list(named.rows) == ["a", "Human benchmark", "b"]
    with raises(SalstatsError, option="reference", choices=("a", "b", "human")):
        ss.table_estimates(table, reference="c")


@pytest.mark.parametrize(
    ("estimates", "bold"),
    [
        # compared unrounded
        ({"a": 0.5, "b": 0.5, "c": 0.4999999}, {("a", 0), ("b", 0)}),
        ({"a": np.nan, "b": 0.3, "c": 0.2}, {("b", 0)}),
        ({"a": 0.5}, set()),
    ],
)
def test_ties_are_all_bold_what_is_missing_or_alone_is_not(estimates, bold, read):
    seen = read(ss.table_estimates(of_metric("iou", **estimates)))
    assert seen.bold == bold
    assert ("Bold" in seen.note) is bool(bold)
    missing = bool(np.isnan(estimates["a"]))
    assert ("—, not available." in seen.note, seen.rows["a"] == ["—"]) == (missing, missing)


def test_best_can_be_among_other_columns_and_off(read):
    values = (("a", "u", 0.1), ("a", "v", 0.4), ("b", "u", 0.3), ("b", "v", 0.2))
    table = frame([("iou", *row) for row in values], ("metric", "method", "mixing"))
    assert read(ss.table_estimates(table)).bold == {("b", 0), ("a", 1)}
    assert read(ss.table_estimates(table, bold=["method", "mixing"])).bold == {("a", 1)}
    assert read(ss.table_estimates(table, bold=False)).bold == set()


def test_significant_differences_are_underlined_and_the_note_says_against_what(iou, differences, read):
    edema = differences["task"] == "Edema"
    changed = differences.assign(verdict=differences["verdict"].mask(edema, "inconclusive"))
    seen = read(ss.table_estimates(iou, differences=changed))
    # most of them differ, so that the others are underlined
    assert seen.underline == {("Edema", 1), ("Edema", 2)}
    assert (
        "Underlined: not shown to differ from human benchmark on the same cases; all others differ "
        "(95% CI of the paired difference "
        "excludes 0 and adjusted P (Holm, families of 4 and 20 tests) is significant at the 5% level)."
    ) in seen.note
    few = differences.assign(verdict=differences["verdict"].where(edema, "inconclusive"))
    seen = read(ss.table_estimates(iou, differences=few))
    # as text a table has no marks, so that only what needs none is explained
    assert "Underlined" not in str(ss.table_estimates(iou, differences=few))
    assert seen.underline == {("Edema", 1), ("Edema", 2)}
    assert "Underlined: differs from human benchmark on the same cases (95% CI" in seen.note
    every = read(ss.table_estimates(iou, differences=differences.assign(verdict="lower")))
    assert not every.underline
    assert "All differ from human benchmark on the same cases (95% CI" in every.note
    table_of_none = ss.table_estimates(iou, differences=differences.assign(verdict="inconclusive"))
    assert "No difference from human benchmark" in str(table_of_none)
    none = read(table_of_none)
    assert not none.underline
    assert "No difference from human benchmark on the same cases was shown" in none.note


def test_estimates_inside_their_margin_have_a_dagger(iou, scores, read):
    found = ss.difference(
        scores.query("metric == 'iou'"), reference="gradcam", average="task", interval="cr2", margin=0.05
    )
    inside = found[found["verdict"].str.contains("equivalent")]
    assert 0 < len(inside) < len(found)
    seen = read(ss.table_estimates(iou, differences=found, stars=False))
    marked = {task for task, cells in seen.rows.items() if cells[2].endswith("†")}
    assert marked == set(inside["task"])
    assert not any(cell.endswith("†") for cells in seen.rows.values() for cell in cells[:2])
    assert "†Equivalent: shown to lie within −0.05 to 0.05" in seen.note


def test_contrasts_of_a_fit_have_the_dagger_of_their_own_margin(scores, read):
    fit = ss.fit(scores, "iou ~ method + task", errors="cr2", unit="patient")
    contrasts = fit.contrasts("method", reference="gradcam", margin=0.05)
    seen = read(ss.table_estimates(contrasts))
    assert {m for m, cells in seen.rows.items() if cells[0].endswith("†")} == {"Occlusion"}
    assert "†Equivalent: shown to lie within −0.05 to 0.05" in seen.note


def test_contrasts_of_a_fit_have_their_p_values_and_pairs_a_row_each(scores, read):
    fit = ss.fit(scores, "iou ~ method + task", errors="cr2", unit="patient")
    pairs = fit.contrasts("method", adjust="tukey")
    seen = read(ss.table_estimates(pairs))
    assert seen.head[-1] == ["Method", "Reference level", "IoU, difference (simultaneous 95% CI)", "P, Tukey"]
    assert [row[-1] for row in seen.body] == [p_text(p) for p in pairs["p_adjusted"]]
    assert "adjusted (Tukey, 3 tests)" in seen.note
    # a difference from another level is not better or worse than this one
    assert not seen.bold
    single = fit.contrasts("method", reference="human", adjust="holm")
    seen = read(ss.table_estimates(single))
    assert seen.head[-1][1:] == ["IoU, difference from human benchmark (95% CI, unadjusted)", "P, Holm"]
    assert {label for label, _ in seen.bold} == {"Grad-CAM"}


def test_unadjusted_differences_say_no_correction(means, scores, read):
    found = ss.difference(scores, reference="human", n_replicates=99)
    seen = read(ss.table_estimates(means, differences=found))
    assert "excludes 0); 4 estimates were not compared." in seen.note
    assert "adjusted" not in seen.note


def test_differences_by_other_columns_are_an_error(means, scores, differences):
    found = ss.difference(scores, reference="human", by="metric", n_replicates=99)
    with raises(ColumnError, option="estimates", column="task"):
        ss.table_estimates(means, differences=found)
    pooled = means.query("task == 'Average'").drop(columns="task")
    with raises(ColumnError, option="differences", column="task"):
        ss.table_estimates(pooled, differences=differences)


def test_notes_say_interval_unit_n_missing_and_version(means, read):
    seen = read(ss.table_estimates(means.assign(n_undefined=[3, *[0] * (len(means) - 1)])))
    counted = means[means["task"] != "Average"]
    n, missing = counted["n"], counted["n_missing"] - counted["n_absent"]
    for said in (
        "95% CI: percentile bootstrap of patients, 200 replicates.",
        f"{n.min()} to {n.max()} scores of 100 to 116 patients per estimate",
        f"; {missing.min()} to {missing.max()} undefined.",
        "Up to 3 of 200 replicates of an estimate were undefined.",
        "Average: unweighted mean over tasks.",
        "IoU, intersection over union",
    ):
        assert said in seen.note
    assert seen.note.endswith(f"salstats {ss.__version__}.")


def test_n_stands_once_where_methods_share_it_and_else_before_each(iou, read):
    seen = read(ss.table_estimates(iou, n=True))
    assert seen.head[-1][-6:] == ["n", "IoU, mean (95% CI)"] * 3
    assert seen.rows["Edema"][0::2] == ["127", "130", "128"]
    assert {column for _, column in seen.bold} == {3, 5}
    seen = read(ss.table_estimates(iou.assign(n=1234), n=True))
    assert seen.rows["Edema"][0] == "1,234"
    assert len(seen.rows["Edema"]) == 4


def test_stars_are_for_adjusted_p_values_or_divided_levels(differences, read):
    table = differences[["metric", "task", "method", "term", "estimate", "p_value"]]
    two = table.query("metric == 'iou' and task == 'Edema'").assign(p_value=[0.0004, 0.03])

    def stars(frame, **options):
        seen = read(ss.table_estimates(frame, stars=True, **options))
        return [cells[0].count("*") for cells in seen.rows.values()], seen.note

    counts, note = stars(two)
    assert counts == [3, 0]
    assert "*P < 0.05/2; **P < 0.01/2; ***P < 0.001/2 (Bonferroni, 2 tests)." in note
    assert stars(two, n_tests=1)[0] == [3, 1]
    counts, note = stars(two.assign(p_adjusted=[0.2, 0.004], n_tests=9), adjust="BH")
    assert counts == [0, 2]
    assert "P values adjusted (Benjamini-Hochberg, 9 tests)." in note
    _, note = stars(two.assign(test="wilcoxon"))
    assert "Wilcoxon" in note
    # without a star there is no test to name
    assert "Wilcoxon" not in read(ss.table_estimates(two.assign(test="wilcoxon"))).note


def test_a_table_warns_of_best_means_over_different_numbers_of_cases(iou, read):
    tasks = iou[iou["task"] != "Average"]
    assert "n differs" in read(ss.table_estimates(tasks)).note
    assert "n differs" not in read(ss.table_estimates(tasks.assign(n=100))).note
    assert "n differs" not in read(ss.table_estimates(tasks.drop(columns="n"))).note


def test_markup_in_values_is_literal_everywhere(read):
    keys = ("metric", "method", "task", "dataset")
    rows = [(f"{BAD}1", f"{BAD}m{i}", f"{BAD}t{j}", BAD, 0.5) for i in (1, 2, 3) for j in (1, 2)]
    rows += [(f"{BAD}2", f"{BAD}m1", f"{BAD}t1", BAD, 0.5)]
    known = {f"{BAD}{i}": "larger" for i in (1, 2)}
    seen = read(ss.table_estimates(frame(rows, keys), title=BAD, exclude=[f"{BAD}m2"], directions=known))
    assert seen.title == BAD
    assert seen.groups == [f"{BAD}1", f"{BAD}2"]
    assert seen.head[-1][-3:] == [f"{BAD}m1", f"{BAD}m2", f"{BAD}m3"]
    assert [row[0] for row in seen.body] == [f"{BAD}t1", f"{BAD}t2", f"{BAD}t1"]
    assert f"Dataset: {BAD}." in seen.note
    assert f"{BAD}m2 not competing" in seen.note
    rows = [("iou", m, d, 0.5) for m in "ab" for d in (BAD, f"{BAD}2")]
    table = frame(rows, ("metric", "method", "dataset"))
    assert read(ss.table_estimates(table, rows="method")).head[1][-2:] == [BAD, f"{BAD}2"]


def test_estimates_without_intervals_stand_alone(means, read):
    seen = read(ss.table_estimates(means.drop(columns=["conf_low", "conf_high", "conf_level"])))
    assert seen.head[0][-1] == "Mean"
    assert all(re.fullmatch(r"\d\.\d{3}", cell) for row in seen.body for cell in row[1:])
    absent = read(ss.table_estimates(means.assign(conf_low=None, conf_high=np.nan)))
    assert absent.body == seen.body
    assert "No confidence intervals." in absent.note
    some = means.copy()
    some.loc[0, ["conf_low", "conf_high"]] = np.nan
    assert "An estimate that stands alone has no interval." in read(ss.table_estimates(some)).note


def test_all_missing_gives_dashes(scores, quietly, read):
    one = scores.query("metric == 'iou'").assign(score=np.nan)
    seen = read(ss.table_estimates(quietly(ss.summarize, one, n_replicates=20)))
    assert {cell for row in seen.body for cell in row[1:]} == {"—"}
    assert not seen.bold
    assert "0 patients per estimate; 131 to 142 undefined." in seen.note


def test_a_metric_without_a_defined_score_is_named_and_has_no_rows(scores, quietly, read):
    without = scores.assign(score=scores["score"].where(scores["metric"] != "hit"))
    found = quietly(ss.summarize, without, interval="t")
    assert found.loc[found["metric"] == "hit", "n"].eq(0).all()
    seen = read(ss.table_estimates(found, labels={"hit": "Hits"}))
    assert "No score is defined for Hits." in seen.note
    assert seen.groups == []
    assert "—" not in {text for row in seen.body for text in row}
    caption = " ".join(ss.plot_intervals(found).labels.caption.split())
    assert "No score is defined for Hit rate." in caption
    assert "not defined" not in caption


def test_a_frame_without_grouping_columns_is_one_row(read):
    assert read(ss.table_estimates(pd.DataFrame({"estimate": [0.25]}))).body == [["All", "0.250"]]


def test_sixty_tasks_with_long_and_foreign_names_all_appear(read):
    names = [f"{'β é − 肺炎 ' * 12}{i:02d}"[-120:] for i in range(60)]
    table = frame([("iou", m, t, 0.5) for t in names for m in "ab"], ("metric", "method", "task"))
    assert [row[0] for row in read(ss.table_estimates(table)).body] == [" ".join(n.split()) for n in names]


def test_the_input_is_not_changed(means, differences):
    before, other = means.copy(), differences.copy()
    ss.table_estimates(means, differences=differences, n=True)
    pd.testing.assert_frame_equal(means, before)
    pd.testing.assert_frame_equal(differences, other)


@pytest.mark.parametrize(
    ("change", "options", "error", "expected"),
    [
        ({}, {"style": "natur"}, ValueRangeError, {"option": "style", "value": "natur"}),
        ({}, {"digits": -1}, ValueRangeError, {"option": "digits", "value": -1}),
        ({}, {"bold": "reader"}, ColumnError, {"column": "reader"}),
        ({}, {"labels": ["a"]}, SalstatsError, {"match": "mapping"}),
        ({}, {"labels": {"gradcam": "CAM", "occlusion": "CAM"}}, SalstatsError, {"match": "same label"}),
        ({}, {"exclude": ["humans"]}, ValueRangeError, {"option": "exclude", "value": "humans"}),
        ({}, {"directions": {"iou": "up"}}, ValueRangeError, {"option": "directions", "value": "up"}),
        ({}, {"stars": True}, ColumnError, {"option": "stars", "column": "p_value"}),
        ({}, {"rows": "task", "columns": "task"}, ColumnError, {"option": "rows", "match": "twice: 'task'"}),
        ({}, {"rows": "pathology"}, ColumnError, {"option": "rows", "value": "pathology"}),
        (
            {},
            {"rows": "task", "columns": "method", "groups": []},
            ColumnError,
            {"column": "metric", "match": "2 values"},
        ),
        ({"estimate": "high"}, {}, ColumnError, {"column": "estimate"}),
        ({"estimate": None}, {"n": True}, ColumnError, {"column": "n"}),
        ({"method": "gradcam"}, {}, SalstatsError, {"match": r"rows 0 and"}),
    ],
)
def test_bad_options_are_one_clear_sentence(means, change, options, error, expected):
    table = means.drop(columns="n") if change == {"estimate": None} else means.assign(**change)
    with raises(error, **expected):
        ss.table_estimates(table, **options)


@pytest.mark.parametrize(
    ("table", "error", "expected"),
    [
        ([1, 2], SalstatsError, {"match": "not list"}),
        (pd.DataFrame({"estimate": []}), SalstatsError, {"match": "no rows"}),
        (pd.DataFrame({"mean": [1]}), ColumnError, {"column": "estimate"}),
    ],
)
def test_what_is_no_estimates_frame_is_an_error(table, error, expected):
    with raises(error, **expected):
        ss.table_estimates(table)


def test_agreement_is_called_by_name_and_none_of_it_is_bold():
    scores = ss.datasets.load_simulated()
    found = ss.agreement(scores.query("metric == 'iou'"), over="method", form=["icc2", "icc3"])
    text = ss.table_estimates(found).as_raw_html()
    assert "ICC(2,1), absolute agreement, single reading" in text
    assert "IoU, agreement (95% CI)" in text
    assert "Agreement of 3 methods on" in text
    assert "Bold" not in text
    readers = scores.query("metric == 'iou'").rename(columns={"method": "reader"}).assign(method="any")
    found = ss.agreement(readers, form=["icc2", "icc3"])
    assert "Intervals of ICC(3,1) apply to these readers, the others to readers in general." in (
        ss.table_estimates(found).as_raw_html()
    )


def test_pairs_of_readers_are_rows_of_agreement():
    scores = ss.datasets.load_simulated().query("metric == 'hit'")
    found = ss.agreement(scores, over="method", kind="cohen")
    table = ss.table_estimates(found.query("task == 'Edema'"))
    assert "Cohen's kappa (95% CI)" in table.as_raw_html().replace("&#x27;", "'")


def test_paired_differences_on_other_pairs_are_not_sent_to_paired_differences():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    paired = ss.difference(scores, reference="human", interval="t", test="t")
    assert paired.groupby("task")["n"].nunique().max() == 2
    shown = ss.table_estimates(paired).as_raw_html()
    assert "Bold: best estimate per task." in shown
    assert "of other cases" not in shown


@pytest.mark.filterwarnings("ignore:rows of one case and task that share")
def test_marginal_means_and_contrasts_name_their_outcome_and_their_model():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    fit = ss.fit(scores, "iou ~ method + area_ratio + (1|patient)", by=[])
    model = "Linear mixed regression with random effects of patient, on Method + Relative size; "
    grid = "levels of other factors count alike, numbers are held at their mean; t tests"
    for frame, heading, over in (
        (fit.means("method"), "IoU, mean (95% CI)", grid),
        (fit.contrasts("method", reference="human"), "IoU, difference from human benchmark (95% CI)", grid),
        (
            fit.slopes("area_ratio"),
            "IoU, marginal effect of Relative size (95% CI)",
            "averaged over the rows of the model; t tests",
        ),
    ):
        shown = ss.table_estimates(frame).as_raw_html()
        assert heading in shown
        assert model + over in shown
    assert (
        "Reference level: Human benchmark."
        in ss.table_estimates(fit.contrasts("method", reference="human")).as_raw_html()
    )
    by_metric = ss.fit(ss.datasets.load_simulated(), "score ~ method", by="metric").means("method")
    assert "Mean (95% CI)" in ss.table_estimates(by_metric).as_raw_html()


def test_coefficients_have_the_observations_of_their_model(scores, read):
    iou = scores.query("metric == 'iou'")
    fit = ss.fit(iou, "iou ~ elongation", by="method")
    counts = fit.glance()["nobs"]
    expected = f"{counts.min():.0f} to {counts.max():.0f} observations of 140 patients per model"
    for note in (read(ss.table_estimates(fit.tidy())).note, ss.plot_regression(fit.tidy()).labels.caption):
        note = " ".join(note.split())
        assert expected in note
        assert "incomplete and left out" in note
        assert "score" not in note


@pytest.mark.parametrize("table", [ss.table_decrease, ss.table_regression])
def test_contrasts_of_a_model_in_another_table_are_an_error_that_names_this_one(scores, table):
    fit = ss.fit(scores.query("metric == 'iou'"), "iou ~ method + task", by=())
    with raises(SalstatsError, column="formula", hint=Call("table_estimates")):
        table(fit.contrasts("method", reference="human"))
    with raises(SalstatsError, column="formula", hint=Call("table_regression")):
        ss.table_decrease(fit.tidy())


@pytest.mark.filterwarnings("ignore:rows of one case and task that share")
def test_tables_and_figures_of_means_at_numbers_name_the_variable_and_the_model():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    fit = ss.fit(scores, "iou ~ method + prob + (1|patient)", by=[])
    means = fit.means("method", by="prob", at={"prob": [0.2, 0.8]})
    labels = {"prob": "Confidence"}
    table = ss.table_estimates(means, labels=labels).as_raw_html()
    forest = ss.plot_forest(means, labels=labels)
    intervals = ss.plot_intervals(means, labels=labels)
    for text in ("Confidence = 0.2", "Confidence = 0.8"):
        assert text in table
        assert any(text in row for row in forest.data["row_label"])
        assert text in set(intervals.data["row_label"])
    for note in (table, *(" ".join(figure.labels.caption.split()) for figure in (forest, intervals))):
        assert "Linear mixed regression with random effects of patient, on Method + Confidence" in note
        assert f"{means['n'].iloc[0]:,} observations" in note
        assert "in the model" in note
        assert "held at their mean" not in note


def test_a_figure_of_means_at_one_number_names_it_in_its_caption():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    means = ss.fit(scores, "iou ~ method + prob", by="task").means("method", by="prob", at={"prob": 0.2})
    assert "Model confidence = 0.2." in ss.table_estimates(means).as_raw_html()
    for figure in (ss.plot_forest(means), ss.plot_intervals(means)):
        assert "Model confidence = 0.2." in " ".join(figure.labels.caption.split())


def test_a_significance_map_is_sent_to_its_figure():
    found = ss.significance_map(ss.datasets.load_simulated(), test="t")
    with raises(SalstatsError, column="better", hint=Call("plot_significance")):
        ss.table_estimates(found)


def test_variances_of_random_effects_have_significant_digits(read):
    """The estimate's digits are its limits' too; a correlation, and what is not below 0.1, has decimals."""
    parts = {
        "group": ["case", "case", "case", "reader", "Residual"],
        "term": ["(Intercept)", "methodcam", "(Intercept), methodcam", "(Intercept)", None],
        "parameter": ["variance", "variance", "correlation", "variance", "variance"],
        "estimate": [0.000347, 0.0, 0.0004, 1e-17, 12.3456],
        "conf_low": [0.0, 0.0, -1.0, 0.0, 11.0],
        "conf_high": [0.00213, 0.0123, 1.0, 1e-16, 14.0],
        "conf_level": 0.95,
    }
    seen = read(ss.table_estimates(pd.DataFrame(parts)))
    assert [row[-1] for row in seen.body] == [
        "0.000347 (0.000000, 0.002130)",
        "0.0000 (0.0000, 0.0123)",
        "0.000 (−1.000, 1.000)",
        "0.000 (0.000, 0.000)",
        "12.346 (11.000, 14.000)",
    ]


def test_a_table_of_variances_is_that_of_a_fit(r_data, read):
    """lme4 has .0112052 of cases, .00224279 of readers and .0099794 of the residual."""
    rows = r_data("synth2").rename(columns={"case_id": "case"})
    fit = ss.fit(rows, "score ~ modality + (1|case) + (1|reader)")
    seen = read(ss.table_estimates(fit.variance_components()))
    assert "95% CI: profile likelihood." in seen.note
    assert seen.head[-1][-1] == "Variance (95% CI)"
    shown = {row[0]: row[-1].split()[0] for row in seen.body}
    assert shown == {"case": "0.0112", "reader": "0.00224", "Residual": "0.00998"}


def test_figures_of_marginal_means_and_contrasts_name_their_outcome():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    fit = ss.fit(scores, "iou ~ method + area_ratio", by=[])
    for draw in (ss.plot_intervals, ss.plot_forest):
        assert draw(fit.means("method")).labels.x == "IoU, mean (95% CI)"
        assert (
            draw(fit.contrasts("method", reference="human")).labels.x
            == "IoU, difference from human benchmark (95% CI)"
        )


def test_the_note_on_ranks_says_that_the_smallest_is_best_and_no_metric(scores, read):
    ranks = ss.rank_stability(scores, by="metric", n_replicates=50)
    seen = read(ss.table_estimates(ranks, reference="occlusion"))
    assert list(seen.rows) == ["Occlusion", "Grad-CAM", "Human benchmark"]
    assert seen.bold == {("Human benchmark", 0), ("Human benchmark", 1)}
    assert "Bold: best estimate (the smallest) per metric, Occlusion not competing." in seen.note


def test_metrics_of_both_directions_are_named_in_the_note_on_the_best(read):
    both = pd.concat([of_metric("iou", a=0.1, b=0.2), of_metric("hd95", a=10.0, b=20.0)])
    seen = read(ss.table_estimates(both))
    assert seen.bold == {("b", 0), ("a", 1)}
    assert (
        "Bold: best estimate per metric (the smallest for 95th-percentile Hausdorff distance)." in seen.note
    )


def test_correlations_name_coefficient_and_variables_and_none_is_bold(scores, read):
    iou = scores.query("metric == 'iou'")
    found = ss.correlate_clustered(iou, "iou", "prob", by=["method"])
    seen = read(ss.table_estimates(found))
    assert seen.head[-1][-1] == "Spearman's ρ (95% CI)"
    assert not seen.bold
    assert "Bold" not in seen.note
    assert seen.notes[0] == "Correlation of IoU and Model confidence."
    row = found.query("method == 'gradcam'").iloc[0]
    numbers = [f"{row[column]:.2f}".replace("-", "−") for column in ("estimate", "conf_low", "conf_high")]
    assert seen.rows["Grad-CAM"] == [f"{numbers[0]} ({numbers[1]}, {numbers[2]})"]
    two = pd.concat([found, ss.correlate_clustered(iou, "iou", "area_ratio", by=["method"])])
    seen = read(ss.table_estimates(two))
    assert list(seen.rows) == ["Model confidence", "Relative size"]
    assert "Correlation with IoU." in seen.note


def test_areas_and_calibration_name_predictor_and_outcome(scores, read):
    cases = scores.query("metric == 'iou' and method == 'gradcam'")
    for found in (ss.auroc(cases, "prob", "label"), ss.calibration(cases, "prob", "label")):
        assert (
            "Predictor: Model confidence. Outcome: Finding present." in read(ss.table_estimates(found)).note
        )


@pytest.mark.parametrize("term", ["calibration_slope", "kendall", "tau", "area_ratio"])
def test_what_may_be_better_in_either_direction_is_never_bold(term, read):
    rows = of_metric("iou", a=0.1, b=0.2).drop(columns="metric").assign(term=term)
    if term == "area_ratio":
        rows.insert(1, "formula", "iou ~ area_ratio")
    assert not read(ss.table_estimates(rows)).bold
    # unless the column is named
    assert read(ss.table_estimates(rows, bold="method")).bold


def test_each_pair_of_tasks_stands_once_and_the_other_half_is_blank(scores, quietly, read):
    three = scores[scores["task"].isin(["Edema", "Atelectasis", "Consolidation"])].query("metric == 'iou'")
    found = quietly(ss.rank_agreement, three, n_replicates=100)
    seen = read(ss.table_estimates(found))
    assert [[cell == "" for cell in row] for row in seen.rows.values()] == [[False, False], [True, False]]
    assert "not available" not in seen.note


def test_coefficients_name_their_outcome_and_their_model(scores, read):
    terms = ss.regress(scores.query("metric == 'iou'"), "iou ~ area_ratio", by=["method"])
    seen = read(ss.table_estimates(terms.query("term == 'area_ratio'")))
    assert seen.head[-1][-1] == "IoU, coefficient (95% CI)"
    assert "Linear regression, on Relative size; bias-reduced standard errors" in seen.note
    odds = ss.regress(
        scores.query("metric == 'hit'"),
        "hit ~ area_ratio",
        by=["method"],
        family="binomial",
        exponentiate=True,
    )
    assert "Hit rate, odds ratio (95% CI)" in str(read(ss.table_estimates(odds)).head)


def of_mrmc(*differences):
    """Means of two methods with several readers, and differences as method, reference and verdict."""
    rows = [
        {"term": "equal", "statistic": 4.0, "df": 1.0, "df_residual": 20.0, "p_value": 0.01},
        {"term": "mean", "method": "a", "estimate": 0.5},
        {"term": "mean", "method": "b", "estimate": 0.7},
    ]
    for method, reference, verdict in differences:
        difference = {"estimate": 0.2, "conf_low": 0.1, "conf_high": 0.3, "conf_level": 0.95}
        keys = {"method": method, "reference": reference, "verdict": verdict}
        rows.append({"term": "difference", **keys, **difference})
    columns = ["metric", "method", "reference", "term", "estimate"]
    found = pd.DataFrame(rows).assign(metric="iou")
    return found[[*columns, *found.columns.drop(columns)]]


def test_means_of_several_readers_are_underlined_by_their_differences_from_one_reference(read):
    seen = read(ss.table_estimates(of_mrmc(("b", "a", "higher"))))
    assert seen.rows == {"a": ["0.500"], "b": ["0.700"]}
    assert "All differ from a " in seen.note
    assert "All equal: F(1, 20.0) = 4.00" in seen.note
    assert "No difference from a " in read(ss.table_estimates(of_mrmc(("b", "a", "inconclusive")))).note
    two = read(ss.table_estimates(of_mrmc(("b", "a", "higher"), ("a", "b", "lower"))))
    assert "differ from" not in two.note


def test_areas_under_a_curve_are_better_the_larger_whatever_their_score(read):
    areas = of_metric("hd95", a=0.6, b=0.7)
    assert read(ss.table_estimates(areas.assign(term="mean"))).bold == {("a", 0)}
    seen = read(ss.table_estimates(areas.assign(term="mean", figure="auc")))
    assert seen.bold == {("b", 0)}
    assert "AUROC" in seen.head[0][-1]


def test_differences_from_what_is_no_method_of_the_table_have_their_reference_in_the_note(read):
    means = of_metric("iou", a=0.6, b=0.7)
    differences = pd.DataFrame({"metric": "iou", "method": ["a", "b"], "reference": "c", "estimate": 0.1})
    differences = differences.assign(p_value=0.01, verdict=["lower", "inconclusive"])
    seen = read(ss.table_estimates(means, differences=differences))
    assert seen.underline == {("a", 0)}
    assert "differs from c " in seen.note
    # the reference of differences does not compete, another method does
    assert seen.bold == {("b", 0)}

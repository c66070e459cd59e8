"""Table 1, Fig. 2 and Extended Data 1 to 7: the scripts' numbers as published, else the scores' own."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from saporta_frames import METHOD, long
from scipy.stats import mannwhitneyu
from tests_support import raises

from salstats.errors import ColumnError
from salstats.studies.saporta2022.localisation import (
    auroc_by_task_or_none,
    classifier_auroc_by_model_and_task,
    ensemble_and_checkpoints,
    figure_2_means_of_main_and_people,
    mean_iou_on_full_slice,
    means_by_method_and_model,
    means_with_tuned_thresholds,
    pooled_pixel_rates,
    table_1_means_of_every_method,
)
from salstats.studies.saporta2022.study_frames import (
    CHECKPOINTS,
    FULL_LABELS,
    FULL_PROBABILITIES,
    FULL_SLICE,
    PEOPLE,
    POINTS,
    SEGMENTATIONS,
    SEVERAL_MODELS,
    StudyInference,
    metric_rows,
)

# Edema has 19 patients and two misses
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(rest on|replicates have no correlation):salstats.errors.SalstatsWarning"
)
# sums of the same numbers in another order
ROUNDING = 1e-12


@pytest.mark.parametrize(("metric", "stem"), [("iou", "iou"), ("hit", "hitmiss")])
@pytest.mark.parametrize(("method", "infix"), [(METHOD, ""), ("human", "_humanbenchmark")])
def test_table_1_is_the_scripts_summary_to_the_printed_digit(
    published, expected, metric, stem, method, infix
):
    want = pd.read_csv(expected / "eval_tp" / f"{stem}{infix}_summary_results.csv").set_index("name")
    got = published["table_1"].frame.query("metric == @metric and method == @method").set_index("task")
    assert (got["unit"] == "case").all()
    for ours, theirs in (("conf_low", "lower"), ("estimate", "mean"), ("conf_high", "upper")):
        np.testing.assert_array_equal(got.loc[want.index, ours].round(3), want[theirs])


@pytest.mark.parametrize(("method", "infix"), [(METHOD, ""), ("human", "_humanbenchmark")])
def test_the_full_slice_is_the_scripts_summary_to_the_printed_digit(published, expected, method, infix):
    want = pd.read_csv(expected / "eval_full" / f"iou{infix}_summary_results.csv").set_index("name")
    got = published["extended_data_4"].frame.query("method == @method").set_index("task")
    for ours, theirs in (("conf_low", "lower"), ("estimate", "mean"), ("conf_high", "upper")):
        np.testing.assert_array_equal(got.loc[want.index, ours].round(3), want[theirs])


def test_tuned_thresholds_give_the_scripts_summary_to_the_printed_digit(published, expected):
    want = pd.read_csv(expected / "eval_tp_threshold" / "iou_summary_results.csv").set_index("name")
    got = published["extended_data_1b"].frame.query("method == @METHOD").set_index("task")
    np.testing.assert_array_equal(got.loc[want.index, "estimate"].round(3), want["mean"])


@pytest.mark.parametrize(
    ("key", "file"), [("extended_data_5", "miou_pct_decrease"), ("extended_data_6", "hitrate_pct_decrease")]
)
def test_percentage_decreases_are_the_scripts(published, expected, key, file):
    want = pd.read_csv(expected / "eval_tp" / f"{file}.csv", index_col=0)
    got = published[key].frame.set_index("task")
    assert set(got.index) == set(want.index)
    for ours, theirs in (
        ("reference_mean", "hb"),
        ("method_mean", "pred"),
        ("estimate", "pct_diff"),
        ("conf_low", "pct_diff_lower"),
        ("conf_high", "pct_diff_upper"),
    ):
        np.testing.assert_allclose(got.loc[want.index, ours], want[theirs], rtol=ROUNDING, atol=ROUNDING)


def test_intervals_without_a_script_are_left_out_as_published(drawn_frames, make):
    for as_published in (True, False):
        frames = replace(drawn_frames, inference=StudyInference(as_published, 40))
        rates = make(frames, "extended_data_2")["extended_data_2"].frame
        assert (rates["conf_low"].isna() == as_published).all()


def test_means_are_those_of_the_scores_and_patients_are_resampled(made, expected):
    got = made["table_1"].frame.query("metric == 'iou' and method == @METHOD").set_index("task")
    scores = long(expected / "eval_tp" / "iou_results_per_cxr.csv", "score")
    want = scores.groupby("task")["score"].mean().drop("Pleural Effusion")
    np.testing.assert_allclose(got.loc[want.index, "estimate"], want, rtol=ROUNDING)
    assert got.loc["Average", "estimate"] == pytest.approx(want.mean(), rel=ROUNDING)
    assert set(got["unit"]) == {"patient"}
    assert set(got["interval"]) == {"percentile"}


def test_decreases_are_those_of_complete_pairs(made, expected):
    pair = [
        long(expected / "eval_tp" / f"{stem}_results_per_cxr.csv", name)
        for stem, name in (("iou", "own"), ("iou_humanbenchmark", "human"))
    ]
    pairs = pair[0].merge(pair[1], on=["case", "task"]).dropna()
    means = pairs.groupby("task")[["own", "human"]].mean().drop("Pleural Effusion")
    got = made["extended_data_5"].frame.set_index("task")
    want = 100 * (1 - means["own"] / means["human"])
    np.testing.assert_allclose(got.loc[want.index, "estimate"], want, rtol=ROUNDING)
    average = 100 * (1 - means["own"].mean() / means["human"].mean())
    assert got.loc["Average", "estimate"] == pytest.approx(average, rel=ROUNDING)


def test_pooled_rates_are_those_of_the_script(made, expected):
    got = made["extended_data_2"].frame.pivot(index=["method", "task"], columns="metric", values="estimate")
    for method, stem in ((METHOD, "pred"), ("human", "hb")):
        want = pd.read_csv(expected / "prs" / f"{stem}_precision_recall_specificity.csv")
        want = want.set_index("pathology").drop("Pleural Effusion")
        own = got.loc[method].loc[want.index]
        for ours, theirs in (
            ("precision", "precision"),
            ("recall", "recall/sensitivity"),
            ("specificity",) * 2,
        ):
            np.testing.assert_allclose(own[ours], want[theirs], rtol=ROUNDING)


def test_otsus_threshold_against_the_tuned_one_is_paired(made, expected):
    otsu, tuned = (
        long(expected / folder / "iou_results_per_cxr.csv", name)
        for folder, name in (("eval_tp", "otsu"), ("eval_tp_threshold", "tuned"))
    )
    pairs = otsu.merge(tuned, on=["case", "task"]).dropna()
    want = (pairs["otsu"] - pairs["tuned"]).groupby(pairs["task"]).mean().drop("Pleural Effusion")
    got = made["extended_data_1c"].frame.set_index("task")
    # differences of numbers near 0.3
    np.testing.assert_allclose(got.loc[want.index, "estimate"], want, atol=ROUNDING)
    assert got.loc["Average", "estimate"] == pytest.approx(want.mean(), abs=ROUNDING)


def test_the_threshold_of_the_largest_mean_is_chosen(made, expected):
    sweep = made["extended_data_1a"].frame
    chosen = sweep[sweep["chosen"]].set_index("task")["threshold"]
    want = pd.read_csv(expected / "tune" / "tuning_results.csv").set_index("task")["threshold"]
    np.testing.assert_allclose(chosen, want.drop("Pleural Effusion").loc[chosen.index], rtol=ROUNDING)


def test_figure_2_has_the_classifiers_auroc_in_its_frame(drawn_frames, make):
    item = make(drawn_frames, "figure_2")["figure_2"]
    rows = drawn_frames.uncut.query("method == @METHOD and task == 'Atelectasis'")
    got = item.frame[item.frame["task"] == "Atelectasis"]["auroc"]
    # the share of pairs of a positive and a negative that are ranked rightly, ties counted half
    positive, negative = (rows.loc[rows["label"] == k, "prob"].to_numpy() for k in (1, 0))
    gaps = positive[:, None] - negative
    np.testing.assert_allclose(got, (np.sign(gaps) + 1).mean() / 2, rtol=1e-12)
    assert item.frame.loc[item.frame["task"] == "Average", "auroc"].isna().all()


def test_the_main_methods_surest_losses_lead_extended_data_5_and_6(nine_tasks, make):
    scores = nine_tasks.scores
    other = scores[scores["method"] == METHOD].assign(method="aaa")
    # the other way round from task to task, and first by name
    other["score"] *= np.where(other["task"] < "D", 0.2, 1.0)
    both = replace(nine_tasks, scores=pd.concat([scores, other], ignore_index=True))
    for item in make(both, "extended_data_5", "extended_data_6").values():
        main = item.frame.query("method == @METHOD and task != 'Average'")
        order = main.assign(unsure=main["verdict"] != "lower").sort_values(
            ["unsure", "estimate"], ascending=[True, False]
        )["task"]
        drawn = item.figure.data.sort_values("y", ascending=False)["row_label"].unique()
        assert list(drawn) == [*order, "Average"]


def test_aurocs_of_every_model_stand_in_table_s1(drawn_frames, make):
    rows = drawn_frames.uncut[drawn_frames.uncut["method"] == METHOD]
    worse = rows.assign(model="resnet", prob=1 - rows["prob"])
    own = replace(drawn_frames, uncut=pd.concat([rows.assign(model="densenet"), worse], ignore_index=True))
    item = make(own, "table_s1")["table_s1"]
    wide = item.frame.pivot(index="task", columns="model", values="estimate")
    np.testing.assert_allclose(wide["resnet"], 1 - wide["densenet"], atol=1e-12)


def test_aurocs_may_be_of_patients_with_the_largest_probability_of_their_views(drawn_frames, make):
    own = replace(drawn_frames, inference=StudyInference(False, 40, by_patient=True))
    items = make(own, "table_s1", "figure_2")
    rows = drawn_frames.uncut[drawn_frames.uncut["method"] == METHOD]
    patients = rows.groupby(["task", "patient"])[["prob", "label"]].max()
    assert len(patients) < len(rows)
    got = items["table_s1"].frame.set_index("task")
    for task, values in patients.groupby("task"):
        positive = values["label"] == 1
        ranks = mannwhitneyu(values.loc[positive, "prob"], values.loc[~positive, "prob"])
        assert got.loc[task, "estimate"] == pytest.approx(
            ranks.statistic / (positive.sum() * (~positive).sum())
        )
        assert got.loc[task, "n"] == len(values)
    known = items["figure_2"].frame.drop_duplicates("task").set_index("task")["auroc"]
    pd.testing.assert_series_equal(known.drop("Average"), got["estimate"], check_names=False, check_like=True)
    without = replace(own, uncut=drawn_frames.uncut.drop(columns="patient"))
    with raises(ColumnError, option="views", value="max", column="patient"):
        classifier_auroc_by_model_and_task(without)


def test_table_1_says_which_tasks_have_few_patients(drawn_frames, make):
    scores = drawn_frames.scores
    few = scores["patient"].isin(sorted(scores["patient"].unique())[:12])
    scores = scores[few | (scores["task"] == "Atelectasis")].reset_index(drop=True)
    item = make(replace(drawn_frames, scores=scores), "table_1")["table_1"]
    assert item.note.endswith(
        "with fewer than 20 patients percentile intervals are too short (Airspace Opacity)"
    )


def several_methods_and_models(scores):
    """Two methods of two models, and one checkpoint of the first.

    The second model's IoU is lower by a tenth, the second method's by a half. Hits are lost here and there.
    """
    machine = scores[scores["method"] != "human"]
    place = np.arange(1, len(machine) + 1)
    parts = [
        machine.assign(
            method=method,
            model=model,
            seed=seed,
            score=machine["score"] * np.where(machine["metric"] == "iou", factor, place % every > 0),
        )
        for method, model, seed, factor, every in (
            (METHOD, "densenet", None, 1.0, 1000),
            (METHOD, "resnet", None, 0.9, 9),
            (METHOD, "densenet", "1", 0.7 + 0.2 * (place % 5 > 1), 7),
            ("ig", "densenet", None, 0.5, 2),
            ("ig", "resnet", None, 0.45, 3),
        )
    ]
    human = scores[scores["method"] == "human"]
    return pd.concat([*parts, human], ignore_index=True)


@pytest.mark.parametrize("as_published", [False, True])
def test_methods_and_models_have_their_own_table(make, drawn_frames, as_published):
    several = several_methods_and_models(drawn_frames.scores)
    there = drawn_frames.available | {SEVERAL_MODELS, CHECKPOINTS}
    own = replace(drawn_frames, scores=several, inference=StudyInference(as_published, 50), available=there)
    items = make(own, "extended_data_3", "extended_data_7")
    assert all(("as published" in i.note) == as_published for i in items.values())
    rows = items["extended_data_3"].frame.query("metric == 'iou' and task == 'Atelectasis'")
    means = rows.set_index(["model", "method"])["estimate"]
    assert means["resnet", METHOD] == pytest.approx(0.9 * means["densenet", METHOD], rel=ROUNDING)
    # people stand beside both models
    assert means["resnet", "human"] == means["densenet", "human"]
    # an ensemble is compared with its own checkpoints, not with another architecture
    assert set(items["extended_data_7"].frame["method"]) == {"ensemble", "checkpoint 1"}
    text = items["extended_data_7"].table.as_raw_html()
    assert re.search("differs? from ensemble", text)
    # the reference is never marked as the best, and what is compared with it alone is not either
    row = next(cells for task, cells in cells_of(text) if task == "Atelectasis")
    assert ["bold" in cell for cell in row[:2]].count(True) == 0
    text = items["extended_data_3"].table.as_raw_html()
    assert "differ from human benchmark" in text or "differs from human benchmark" in text
    # the best model of each method: both methods of the first one
    bold = [["bold" in cell for cell in cells] for _, cells in cells_of(text) if cells]
    assert any(sum(b) == 2 for b in bold)


def cells_of(html):
    """The rows of a table: the task, and the cells that hold an interval, with their styles."""
    for row in re.findall(r"<tr>(.*?)</tr>", html, flags=re.DOTALL):
        cells = re.findall(r"<t[dh][^>]*>.*?</t[dh]>", row, flags=re.DOTALL)
        if cells:
            yield re.sub("<[^>]*>", "", cells[0]).strip(), [c for c in cells if re.search(r"\(\d", c)]


def test_maps_without_a_model_are_left_out_beside_those_of_models_and_named(make, drawn_frames):
    several = several_methods_and_models(drawn_frames.scores)
    bare = several["method"].eq("ig") & several["model"].eq("densenet")
    mixed = several.assign(model=several["model"].mask(bare))
    own = replace(
        drawn_frames,
        scores=mixed,
        inference=StudyInference(True, 50),
        available=drawn_frames.available | {SEVERAL_MODELS},
    )
    item = make(own, "extended_data_3")["extended_data_3"]
    shown = item.frame[["method", "model"]].drop_duplicates().itertuples(index=False, name=None)
    assert set(shown) == {
        (METHOD, "densenet"), (METHOD, "resnet"), ("ig", "resnet"), ("human", "densenet"), ("human", "resnet")
    }  # fmt: skip
    assert item.note.endswith("maps without a model are left out (ig)")


@pytest.fixture(scope="module")
def one_task(drawn_frames):
    """The frames of one task, where tuned thresholds give the same masks as Otsu's."""
    frames = drawn_frames.with_tasks(["Atelectasis"])
    return replace(frames, tuned=metric_rows(frames.scores, "iou"))


def test_figure_2_has_the_metrics_that_people_have_and_the_auroc_where_it_is_known(one_task):
    for lacking, metric in ((POINTS, "iou"), (SEGMENTATIONS, "hit")):
        frames = replace(one_task, available=one_task.available - {lacking, FULL_LABELS})
        frame = figure_2_means_of_main_and_people(frames).frame
        assert set(frame["metric"]) == {metric}
        assert set(frame["method"]) == {METHOD, "human"}
        assert "auroc" not in frame


@pytest.mark.parametrize("lacking", [FULL_SLICE, FULL_PROBABILITIES, FULL_LABELS])
def test_an_auroc_needs_probabilities_and_labels_of_both_kinds(one_task, lacking):
    assert auroc_by_task_or_none(one_task)["task"].tolist() == ["Atelectasis"]
    assert auroc_by_task_or_none(replace(one_task, available=one_task.available - {lacking})) is None
    positive = one_task.uncut[one_task.uncut["label"] == 1]
    assert auroc_by_task_or_none(replace(one_task, uncut=positive)) is None
    assert classifier_auroc_by_model_and_task(replace(one_task, uncut=positive)) is None
    assert (
        classifier_auroc_by_model_and_task(replace(one_task, uncut=one_task.uncut.drop(columns="label")))
        is None
    )


def test_the_note_of_tuned_thresholds_says_where_they_come_from_and_what_is_smoothed(one_task):
    notes = {means_with_tuned_thresholds(one_task).note}
    for fields in ({"threshold_source": "given"}, {"smoothed_for_otsu_only": True}):
        notes.add(means_with_tuned_thresholds(replace(one_task, **fields)).note)
    assert len(notes) == 3


def test_without_people_nothing_is_compared(one_task):
    def of_maps(rows):
        return rows[rows["method"] == METHOD].reset_index(drop=True)

    frames = replace(
        one_task, scores=of_maps(one_task.scores), full=of_maps(one_task.full),
        available=one_task.available - {PEOPLE},
    )  # fmt: skip
    for make in (table_1_means_of_every_method, pooled_pixel_rates, mean_iou_on_full_slice):
        item = make(frames)
        assert set(item.frame["method"]) == {METHOD}
        assert "human" not in item.table.as_raw_html()


def test_pixel_rates_of_people_alone_are_compared_with_nothing(one_task):
    is_map = one_task.scores["method"] == METHOD
    scores = one_task.scores.assign(tp=one_task.scores["tp"].mask(is_map))
    item = pooled_pixel_rates(replace(one_task, scores=scores))
    assert set(item.frame["method"]) == {"human"}


def test_methods_without_models_have_a_table_by_method(one_task):
    other = one_task.scores[one_task.scores["method"] == METHOD].assign(method="ig")
    scores = pd.concat([one_task.scores, other], ignore_index=True)
    item = means_by_method_and_model(replace(one_task, scores=scores))
    assert set(item.frame["method"]) == {METHOD, "ig", "human"}
    assert "model" not in item.frame


def test_an_ensemble_is_that_of_the_model_that_comes_first(one_task):
    # one row of each series after the other, case by case
    scores = several_methods_and_models(one_task.scores).sort_values(["metric", "case"], kind="stable")
    assert scores["model"].iloc[:2].tolist() == ["densenet", "resnet"]
    rows = ensemble_and_checkpoints(replace(one_task, scores=scores.reset_index(drop=True))).frame
    means = rows.query("metric == 'iou' and task == 'Atelectasis'").set_index("method")["estimate"]
    assert set(means.index) == {"ensemble", "checkpoint 1"}
    own = scores.query("metric == 'iou' and method == @METHOD and model == 'densenet' and seed.isna()")
    assert means["ensemble"] == pytest.approx(own["score"].mean())

"""The study's tables and figures: as its scripts print them, and with patients as clusters."""

import importlib.util
import inspect
import json
import pickle
import re
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from saporta_frames import METHOD, long, read_oracle, write_part

import salstats as ss
from salstats import datasets
from salstats.checks import SalstatsError, SalstatsWarning
from salstats.readers.pickles import read_pickle
from salstats.studies.items import made_if_possible
from salstats.studies.saporta2022 import items as parts
from salstats.studies.saporta2022.frames import one_model
from salstats.studies.saporta2022.items import missing_parts
from salstats.studies.saporta2022.localisation import (
    ensemble_and_checkpoints,
    several_models,
    tuned_thresholds,
)
from salstats.studies.saporta2022.needs import CHECKPOINTS, POINTS, SEGMENTATIONS, SEVERAL, held_by
from salstats.studies.saporta2022.words import cutoff_note

ROOT = Path(__file__).resolve().parents[2]
# sums of the same numbers in another order
ROUNDING = 1e-12
# statsmodels' pseudo-inverse there, QR here; p-values are as small as 1e-46
REGRESSION = 1e-9
OUTCOMES = {
    "pred_iou": "IoU",
    "pred_hitmiss": "Hit",
    "iou_diff": "Human minus saliency, IoU",
    "hitmiss_diff": "Human minus saliency, hit",
}
OVER_ALL, PER_TASK = "Scaled over all tasks", "Scaled per task"


@pytest.fixture(scope="module")
def script():
    """The script, which lies in no package."""
    spec = importlib.util.spec_from_file_location("saporta2022", ROOT / "analyses" / "saporta2022.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def expected(made_up):
    return made_up / "expected"


@pytest.fixture(scope="module")
def frames(script, expected):
    oracle = read_oracle(expected)
    return script.Frames(
        oracle.scores, oracle.full, oracle.uncut, oracle.features, oracle.tuned, oracle.sweep
    )


def begin_with(patch, script, frames):
    """Let the script begin with frames; there are no maps to show as examples then."""
    patch.setattr(script, "read_data", lambda _: None)
    patch.setattr(script, "make_frames", lambda *_: frames)
    patch.setattr(script, "pictures", lambda *_: [replace(summary(script, frames), key="examples")])


@pytest.fixture(scope="module")
def made(script, frames, tmp_path_factory):
    """The folder that the script writes by default, on the oracle's frames."""
    folder = tmp_path_factory.mktemp("saporta2022") / "out"
    with pytest.MonkeyPatch.context() as patch:
        begin_with(patch, script, frames)
        assert script.main(["--data", "study", "-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def published(script, frames):
    """Its items as published, with the task of six positives that the scripts keep."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        items = script.make_items(frames, script.Choice(True), 1)
        return {i.key: i for i in items}


def frame(made, key):
    """The frame of an item, or of its file."""
    return made[key].frame if isinstance(made, dict) else pd.read_csv(made / "frames" / f"{key}.csv")


# --- as published -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "stem"), [("iou", "iou"), ("hit", "hitmiss")])
@pytest.mark.parametrize(("method", "infix"), [(METHOD, ""), ("human", "_humanbenchmark")])
def test_table_1_is_the_scripts_summary_to_the_printed_digit(
    published, expected, metric, stem, method, infix
):
    want = pd.read_csv(expected / "eval_tp" / f"{stem}{infix}_summary_results.csv").set_index("name")
    got = frame(published, "table_1").query("metric == @metric and method == @method").set_index("task")
    assert (got["unit"] == "case").all()
    for ours, theirs in (("conf_low", "lower"), ("estimate", "mean"), ("conf_high", "upper")):
        np.testing.assert_array_equal(got.loc[want.index, ours].round(3), want[theirs])


@pytest.mark.parametrize(("method", "infix"), [(METHOD, ""), ("human", "_humanbenchmark")])
def test_the_full_slice_is_the_scripts_summary_to_the_printed_digit(published, expected, method, infix):
    want = pd.read_csv(expected / "eval_full" / f"iou{infix}_summary_results.csv").set_index("name")
    got = frame(published, "extended_data_4").query("method == @method").set_index("task")
    for ours, theirs in (("conf_low", "lower"), ("estimate", "mean"), ("conf_high", "upper")):
        np.testing.assert_array_equal(got.loc[want.index, ours].round(3), want[theirs])


def test_leaving_a_task_out_does_not_change_which_cases_people_saw(script, frames):
    from salstats.studies.saporta2022.frames import full_rows

    some = frames.with_tasks(["Edema", "Atelectasis"])
    rows = full_rows(some, script.Choice(True))
    # the rows of the second reader's file, over which the scripts resample
    assert rows.groupby("method")["case"].nunique().to_dict() == {METHOD: 200, "human": 179}


def test_tuned_thresholds_give_the_scripts_summary_to_the_printed_digit(published, expected):
    want = pd.read_csv(expected / "eval_tp_threshold" / "iou_summary_results.csv").set_index("name")
    got = frame(published, "extended_data_1b").query("method == @METHOD").set_index("task")
    np.testing.assert_array_equal(got.loc[want.index, "estimate"].round(3), want["mean"])


@pytest.mark.parametrize(
    ("key", "file"), [("extended_data_5", "miou_pct_decrease"), ("extended_data_6", "hitrate_pct_decrease")]
)
def test_percentage_decreases_are_the_scripts(published, expected, key, file):
    want = pd.read_csv(expected / "eval_tp" / f"{file}.csv", index_col=0)
    got = frame(published, key).set_index("task")
    assert set(got.index) == set(want.index)
    for ours, theirs in (
        ("reference_mean", "hb"),
        ("method_mean", "pred"),
        ("estimate", "pct_diff"),
        ("conf_low", "pct_diff_lower"),
        ("conf_high", "pct_diff_upper"),
    ):
        np.testing.assert_allclose(got.loc[want.index, ours], want[theirs], rtol=ROUNDING, atol=ROUNDING)


def test_the_average_of_decreases_is_said_to_be_that_of_the_means(published):
    assert "decrease of the unweighted means" in published["extended_data_5"].table.as_raw_html()


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_table_2_is_printed_as_the_scripts_print_it(published, expected, outcome):
    want = pd.read_csv(expected / "regression_hb" / f"regression_features_{outcome}.csv")
    got = frame(published, "table_2").query("scale == @OVER_ALL and pool == 'all tasks pooled'")
    got = got[got["outcome"] == OUTCOMES[outcome]]
    assert got["printed"].tolist() == want["Linear regression coefficients"].tolist()


def test_table_2_equals_the_unrounded_regressions(published, expected):
    want = pd.read_csv(expected / "regression_full_precision.csv").query("script == 'pathology_features'")
    want = want.assign(
        outcome=want["y"].map(OUTCOMES), term=want["feature"].replace("n_instance", "n_instances")
    )
    got = frame(published, "table_2").query("scale == @OVER_ALL and pool == 'all tasks pooled'")
    both = got.merge(want, on=["outcome", "term"], suffixes=("", "_want"), validate="1:1")
    assert len(both) == 16
    for ours, theirs in (("estimate", "mean"), ("conf_low", "lower"), ("conf_high", "upper")):
        np.testing.assert_allclose(both[ours], both[theirs], rtol=REGRESSION)
    np.testing.assert_allclose(both["p_value"], both["coef_pval"], rtol=REGRESSION)
    np.testing.assert_array_equal(both["n"], both["n_want"])


@pytest.mark.parametrize(("key", "outcome"), [("table_3", "iou"), ("extended_data_9", "hitmiss")])
def test_confidence_tables_are_printed_as_the_scripts_print_them(published, expected, key, outcome):
    want = pd.read_csv(expected / "assurance" / f"regression_modelprob_{outcome}.csv").set_index("task")
    got = frame(published, key)
    for term, column in (
        ("slope", "Linear regression coefficients"),
        ("spearman", "Spearman correlations"),
    ):
        own = got[got["term"] == term].set_index("task").loc[want.index]
        assert own["printed"].tolist() == want[column].tolist()
        np.testing.assert_array_equal(own["n"], want["n"])


def test_intervals_without_a_script_are_left_out_as_published(published):
    assert frame(published, "extended_data_2")["conf_low"].isna().all()


# --- with patients as clusters ----------------------------------------------------------------------------


def test_means_are_those_of_the_scores_and_patients_are_resampled(made, expected):
    got = frame(made, "table_1").query("metric == 'iou' and method == @METHOD").set_index("task")
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
    got = frame(made, "extended_data_5").set_index("task")
    want = 100 * (1 - means["own"] / means["human"])
    np.testing.assert_allclose(got.loc[want.index, "estimate"], want, rtol=ROUNDING)
    average = 100 * (1 - means["own"].mean() / means["human"].mean())
    assert got.loc["Average", "estimate"] == pytest.approx(average, rel=ROUNDING)


def test_pooled_rates_are_those_of_the_script(made, expected):
    got = frame(made, "extended_data_2").pivot(index=["method", "task"], columns="metric", values="estimate")
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
    got = frame(made, "extended_data_1c").set_index("task")
    # differences of numbers near 0.3
    np.testing.assert_allclose(got.loc[want.index, "estimate"], want, atol=ROUNDING)
    assert got.loc["Average", "estimate"] == pytest.approx(want.mean(), abs=ROUNDING)


def test_the_threshold_of_the_largest_mean_is_chosen(made, expected):
    sweep = frame(made, "extended_data_1a")
    chosen = sweep[sweep["chosen"]].set_index("task")["threshold"]
    want = pd.read_csv(expected / "tune" / "tuning_results.csv").set_index("task")["threshold"]
    np.testing.assert_allclose(chosen, want.drop("Pleural Effusion").loc[chosen.index], rtol=ROUNDING)


def test_a_task_with_few_positives_is_left_out_and_listed_with_n_and_reason(made):
    counts = frame(made, "extended_data_10").set_index("task")
    out = counts[counts["left_out"]]
    assert out.index.tolist() == ["Pleural Effusion"]
    assert out[["n_positive", "reason"]].to_numpy().tolist() == [[6, "fewer than 10 positive cases"]]
    outputs = pd.read_csv(made / "outputs.csv")
    said = outputs.loc[outputs["file"] == "frames/extended_data_10.csv", "note"].item()
    assert "Pleural Effusion (n = 6: fewer than 10 positive cases)" in said
    for key in ("table_1", "extended_data_2", "table_3", "sensitivity"):
        assert "Pleural Effusion" not in frame(made, key).to_string()


def test_summary_counts_are_those_of_the_design(made, made_up):
    design = json.loads((made_up / "inputs" / "study.json").read_text())
    counts = frame(made, "extended_data_10").set_index("task")
    assert counts["n_positive"].to_dict() == design["n_positive"]
    # all images of the study, of which the truth holds fewer
    assert set(counts["n_cases"]) == {design["n"]}
    assert design["n"] > design["n_images_with_gt"]


def test_both_scales_of_features_are_shown_and_they_matter(made):
    slopes = frame(made, "table_2").query("outcome == 'IoU' and pool == 'all tasks pooled'")
    slopes = slopes.set_index(["scale", "term"])["estimate"]
    # the largest and smallest findings of all tasks lie further apart than those of one task
    assert slopes[OVER_ALL, "area_ratio"] == pytest.approx(0.584, abs=0.001)
    assert slopes[PER_TASK, "area_ratio"] < 0.6 * slopes[OVER_ALL, "area_ratio"]
    assert slopes[PER_TASK, "irrectangularity"] > 0 > slopes[OVER_ALL, "irrectangularity"]


def test_a_feature_that_does_not_vary_in_a_task_has_no_scale_there(script):
    from salstats.studies.saporta2022.frames import scaled_features

    findings = pd.DataFrame(
        {
            "case": list("abcd"),
            "task": ["x", "x", "y", "y"],
            "n_instances": [1, 1, 2, 4],
            "area_ratio": [0.1, 0.3, 0.2, 0.4],
            "elongation": [2.0, np.nan, 1.0, 3.0],
            "irrectangularity": 0.5,
        }
    )
    per_task, over_all = (scaled_features(findings, scale) for scale in (PER_TASK, OVER_ALL))
    np.testing.assert_array_equal(per_task["n_instances"], [np.nan, np.nan, 0, 1])
    np.testing.assert_allclose(over_all["n_instances"], [0, 0, 1 / 3, 1])
    np.testing.assert_array_equal(per_task["elongation"], [np.nan, np.nan, 0, 1])
    assert over_all["irrectangularity"].isna().all()


def test_slopes_within_tasks_stand_beside_the_overall_ones(made):
    found = frame(made, "table_3")
    for term in ("slope", "spearman"):
        rows = found[found["term"] == term]
        assert rows["task"].tolist()[-2:] == ["Overall", "Within tasks"]
        assert set(rows["unit"]) == {"patient"}


# --- side by side and sensitivity -------------------------------------------------------------------------


def test_every_headline_number_stands_as_published_and_clustered(made):
    rows = frame(made, "as_published_and_clustered")
    assert rows["item"].value_counts().to_dict() == {
        # 2 metrics x 2 methods x 9 tasks; 2 methods x 9; 2 metrics x (9 and the average); 4 outcomes x 4
        # features; slope and Spearman of 9 tasks, overall and within tasks
        "Table 1": 36,
        "Extended Data 4": 18,
        "Extended Data 5-6": 20,
        "Table 2": 16,
        "Table 3": 22,
        "Extended Data 9": 22,
    }
    slopes = rows[rows["item"].isin(["Table 2"])]
    np.testing.assert_allclose(slopes["estimate"], slopes["published_estimate"], rtol=REGRESSION)
    assert (slopes["width_ratio"] != 1).all()


@pytest.fixture(scope="module")
def choices(script, frames):
    """The sensitivity table with all ten tasks, of which the oracle's README gives numbers."""
    from salstats.studies.saporta2022.sensitivity import sensitivity

    with warnings.catch_warnings():
        # of the two tasks with fewer than 20 patients
        few = ".*(rest on 6 to 19 units|fewer than 20 units|replicates have no correlation)"
        warnings.filterwarnings("ignore", message=few, category=SalstatsWarning)
        return sensitivity(frames, 40)


def test_s1_misses_as_zero_lower_people_more_than_saliency(choices):
    means = choices.query("row == 'S1' and quantity == 'mean IoU'").copy()
    means[["method", "task"]] = means["of"].str.split(", ", expand=True)
    # the published estimate is a mean of replicates: compare with what is left out, over what is there
    frames = {m: f.set_index("task") for m, f in means.groupby("method")}
    drop = {m: f["estimate"] * 1 - f["estimate"] * f["n"] / f["n_published"] for m, f in frames.items()}
    # the README: by up to 0.043 for people and 0.011 for saliency
    assert drop["human"].abs().max() == pytest.approx(0.043, abs=0.0005)
    assert drop[METHOD].abs().max() == pytest.approx(0.011, abs=0.0015)


@pytest.mark.parametrize(
    ("of", "slope", "spearman"),
    [("finding there, with cut-offs", 0.515, 0.520), ("finding there, without cut-offs", 0.348, 0.363)],
)
def test_s2_cut_offs_make_the_slope_steeper(choices, of, slope, spearman):
    rows = choices.query("row == 'S2' and of == @of").set_index("quantity")["estimate"]
    assert round(rows["slope of IoU on confidence"], 3) == slope
    assert round(rows["Spearman correlation of IoU on confidence"], 3) == spearman


def test_s3_task_effects_flatten_the_slope_of_size(choices):
    row = choices.query("row == 'S3' and of == 'IoU, area_ratio'").iloc[0]
    assert (round(row["published_estimate"], 3), round(row["estimate"], 3)) == (0.585, 0.450)
    assert not row["changed"]


def test_s3_takes_a_conclusion_away(choices):
    row = choices.query("row == 'S3' and of == 'IoU, irrectangularity'").iloc[0]
    assert (row["conclusion_published"], row["conclusion"]) == ("negative", "inconclusive")
    assert row["changed"]


def test_a_conclusion_on_features_needs_a_corrected_p_value(choices):
    # -0.315 (-0.609, -0.021), P .036: four tests leave nothing of it, and the scripts print no star
    row = choices.query("row == 'S3' and of == 'Hit, irrectangularity'").iloc[0]
    assert row["published_high"] < 0
    assert row["conclusion_published"] == "inconclusive"


def test_s7_is_the_logit_of_statsmodels(choices, frames):
    import statsmodels.api as sm

    rows = frames.scores.query("method == @METHOD and metric == 'hit' and label == 1")
    fit = sm.GLM(rows["score"], sm.add_constant(rows["prob"]), family=sm.families.Binomial()).fit()
    got = choices.query("row == 'S7' and of == 'prob'").iloc[0]
    # two iterations that stop at 1e-8
    assert got["estimate"] == pytest.approx(fit.params["prob"], rel=1e-7)
    assert len(choices.query("row == 'S7'")) == 5


def test_the_printed_overall_slope_lies_below_every_task(script):
    printed = datasets.load_published("saporta2022_table3").set_index("task")["slope"]
    assert printed["Overall"] == 0.109
    assert (printed.drop("Overall").min(), printed.drop("Overall").max()) == (0.211, 1.974)


# --- several methods and models ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def several(frames):
    """Two methods of two models, and one checkpoint of the first.

    The second model's IoU is lower by a tenth, the second method's by a half. Hits are lost here and there.
    """
    scores = frames.scores[frames.scores["task"].isin(["Atelectasis", "Cardiomegaly"])]
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
def test_methods_and_models_have_their_own_table(script, frames, several, as_published):
    own, choice = replace(frames, scores=several), script.Choice(as_published, 50)
    assert {SEVERAL, CHECKPOINTS} <= own.there
    items = {i.key: i for make in (several_models, ensemble_and_checkpoints) for i in make(own, choice)}
    assert set(items) == {"extended_data_3", "extended_data_7"}
    assert all(("as published" in i.note) == as_published for i in items.values())
    rows = items["extended_data_3"].frame.query("metric == 'iou' and task == 'Cardiomegaly'")
    means = rows.set_index(["model", "method"])["estimate"]
    assert means["resnet", METHOD] == pytest.approx(0.9 * means["densenet", METHOD], rel=ROUNDING)
    # people stand beside both models
    assert means["resnet", "human"] == means["densenet", "human"]
    # an ensemble is compared with its own checkpoints, not with another architecture
    assert set(items["extended_data_7"].frame["method"]) == {"ensemble", "checkpoint 1"}
    text = items["extended_data_7"].table.as_raw_html()
    assert "Underlined: differs from ensemble" in text
    # the ensemble's IoU is the larger everywhere, so it is bold; seven or nine tenths of each score are less
    row = next(cells for task, cells in cells_of(text) if task == "Cardiomegaly")
    assert ["bold" in cell for cell in row[:2]].count(True) == 1
    text = items["extended_data_3"].table.as_raw_html()
    assert "Underlined: differs from Human benchmark" in text
    # the best model of each method: both methods of the first one
    bold = {task: ["bold" in cell for cell in cells] for task, cells in cells_of(text) if cells}
    assert any(sum(b) == 2 for b in bold.values())


def cells_of(html):
    """The rows of a table: the task, and the cells that hold an interval, with their styles."""
    for row in re.findall(r"<tr>(.*?)</tr>", html, flags=re.DOTALL):
        cells = re.findall(r"<t[dh][^>]*>.*?</t[dh]>", row, flags=re.DOTALL)
        if cells:
            yield re.sub("<[^>]*>", "", cells[0]).strip(), [c for c in cells if re.search(r"\(\d", c)]


def test_one_method_alone_has_no_such_table(frames):
    missing = "\n".join(missing_parts(frames.there))
    assert "Extended Data 3: not made, needs maps of several methods" in missing
    assert "Extended Data 7: not made" in missing


def test_maps_without_a_model_are_left_out_beside_those_of_models_and_named(script, frames, several):
    bare = several["method"].eq("ig") & several["model"].eq("densenet")
    mixed = several.assign(model=several["model"].mask(bare))
    (item,) = several_models(replace(frames, scores=mixed), script.Choice(True, 50))
    shown = item.frame[["method", "model"]].drop_duplicates().itertuples(index=False, name=None)
    assert set(shown) == {
        (METHOD, "densenet"), (METHOD, "resnet"), ("ig", "resnet"), ("human", "densenet"), ("human", "resnet")
    }  # fmt: skip
    assert item.note.endswith("maps without a model are left out (ig)")


def test_the_first_model_stands_for_its_method(several):
    rows = one_model(several)
    assert "model" not in rows
    got = rows.query("method == 'ig' and metric == 'iou'")["score"].mean()
    assert got == pytest.approx(
        several.query("model == 'densenet' and method == 'ig' and metric == 'iou'")["score"].mean()
    )
    assert (rows["method"] == "human").sum() == (several["method"] == "human").sum()


# --- files ------------------------------------------------------------------------------------------------


def test_every_file_is_listed_and_every_item_has_frame_and_table(made):
    outputs = pd.read_csv(made / "outputs.csv")
    there = {f.relative_to(made).as_posix() for f in made.rglob("*") if f.is_file()}
    assert there == {*outputs["file"], "outputs.csv", "warnings.txt"}
    for key in {Path(f).stem for f in outputs["file"]}:
        assert (made / "frames" / f"{key}.csv").is_file()
        for suffix in (".html", ".tex", ".docx", ".csv"):
            assert (made / "tables" / f"{key}{suffix}").stat().st_size > 100
    figures = {Path(f).stem for f in outputs["file"] if f.startswith("figures/")}
    assert figures == {Path(f).stem for f in outputs["file"]}
    for key in figures:
        assert (made / "figures" / f"{key}.pdf").read_bytes()[:4] == b"%PDF"


def test_outputs_say_slice_unit_and_interval(made):
    rows = pd.read_csv(made / "outputs.csv").set_index("file")
    said = rows.loc["frames/table_1.csv", ["slice", "unit", "interval"]].tolist()
    assert said == ["true-positive", "patient", "wilson, percentile"]
    assert rows.loc["frames/table_3.csv", "slice"] == "full, tuned probability cut-offs"


def test_as_published_is_said_to_be_so(published):
    assert set(published["table_1"].frame["unit"]) == {"case"}
    assert set(published["table_1"].frame["interval"]) == {"order"}
    assert "as published" in published["table_1"].note


def test_an_output_that_exists_is_kept_unless_overwrite_is_asked_for(
    script, frames, tmp_path, capsys, monkeypatch
):
    begin_with(monkeypatch, script, frames)
    # one quick item is enough here
    monkeypatch.setattr(script, "make_items", lambda *_: [summary(script, frames)])
    arguments = ["--data", "study", "-o", str(tmp_path / "out")]
    assert script.main(arguments) == 0
    first = (tmp_path / "out" / "outputs.csv").read_text()
    assert script.main(arguments) == 2
    assert "pass --overwrite to replace it" in one_line(capsys)
    assert script.main([*arguments, "--overwrite"]) == 0
    assert (tmp_path / "out" / "outputs.csv").read_text() == first
    assert [f.name for f in tmp_path.iterdir()] == ["out"]


def test_somebody_elses_files_are_never_replaced(script, frames, tmp_path, capsys, monkeypatch):
    begin_with(monkeypatch, script, frames)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert script.main(["--data", "study", "-o", str(tmp_path / "out"), "--overwrite"]) == 2
    assert "holds other files (mine.txt)" in one_line(capsys)
    assert [f.name for f in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_nothing_is_left_behind_where_an_item_cannot_be_made(script, frames, tmp_path, capsys, monkeypatch):
    begin_with(monkeypatch, script, frames)
    assert script.main(["--data", "study", "-o", str(tmp_path / "out"), "--min-positives", "121"]) == 2
    assert "no task has 121 positive cases (most: 120)" in one_line(capsys)
    assert list(tmp_path.iterdir()) == []


def test_a_result_that_the_data_do_not_allow_is_named_and_the_others_are_made(
    script, frames, tmp_path, capsys, monkeypatch
):
    same = dict.fromkeys(["n_instances", "area_ratio", "elongation", "irrectangularity"], 0.5)
    some = frames.with_tasks(["Atelectasis", "Edema"])
    begin_with(monkeypatch, script, replace(some, features=some.features.assign(**same)))
    kept = [p for p in parts.PARTS if p.name in ("Table 2", "the sensitivity table")]
    monkeypatch.setattr(parts, "PARTS", kept)
    out = tmp_path / "out"
    assert script.main(["--data", "study", "-o", str(out), "--replicates", "40"]) == 0
    shown, warned = capsys.readouterr().out, (out / "warnings.txt").read_text()
    for said in (shown, warned):
        assert "Table 2, scaled per task: not made, no feature of the findings varies there" in said
        assert "S3 of the sensitivity table: not made" in said
    assert set(pd.read_csv(out / "frames" / "sensitivity.csv")["row"]) == {"S1", "S2"}


def test_an_error_of_the_program_is_none_of_the_data(script, frames, monkeypatch):
    def broken(*_):
        raise KeyError("model")

    monkeypatch.setattr(parts, "PARTS", [parts.Part("Table 1", broken)])
    with pytest.raises(KeyError):
        list(script.make_items(frames, script.Choice(True), 10))


def test_where_nothing_can_be_made_the_reason_is_one_line_and_exit_2(
    script, frames, tmp_path, capsys, monkeypatch
):
    def lacking(*_):
        with made_if_possible("Table 1"):
            raise SalstatsError("there is no score")
        return []

    begin_with(monkeypatch, script, frames)
    monkeypatch.setattr(script, "items_of", lacking)
    assert script.main(["--data", "study", "-o", str(tmp_path / "out")]) == 2
    assert "Table 1: not made, there is no score" in one_line(capsys)
    assert list(tmp_path.iterdir()) == []


def summary(script, frames):
    """One item."""
    from salstats.studies.saporta2022.frames import count_tasks
    from salstats.studies.saporta2022.items import summary_statistics

    return summary_statistics(frames, count_tasks(frames, 10))


def one_line(capsys):
    """What stands on stderr, which is one line."""
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_a_study_that_is_not_there_is_one_line_and_exit_2(script, tmp_path, capsys):
    assert script.main(["--data", str(tmp_path / "none"), "-o", str(tmp_path / "out")]) == 2
    assert "none" in one_line(capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "--data"),
        (["--data", "x", "-o", "y", "--maps", "gradcam="], "'gradcam=' is not METHOD[:MODEL[:SEED]]=DIR"),
        (["--data", "x", "-o", "y", "--replicates", "many"], "invalid int value: 'many'"),
    ],
)
def test_a_wrong_option_is_one_line_and_exit_2(script, capsys, arguments, text):
    with pytest.raises(SystemExit) as stopped:
        script.main(arguments)
    assert stopped.value.code == 2
    assert text in one_line(capsys)


def test_help_shows_an_example(script, capsys):
    with pytest.raises(SystemExit) as stopped:
        script.main(["--help"])
    assert stopped.value.code == 0
    assert "Example: python analyses/saporta2022.py --data" in capsys.readouterr().out


# --- from the files ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_study(made_up, tmp_path_factory):
    """The first 45 annotated cases of the made-up study and two without a finding, as files."""
    folder = tmp_path_factory.mktemp("study")
    return folder, write_part(made_up / "inputs", folder, n_annotated=45, n_absent=2)


@pytest.fixture
def items_of(script, tmp_path, monkeypatch):
    """A function that runs the script on files and returns its items by key, unwritten."""

    def items_of(*arguments):
        kept = {}
        keep = lambda items, *_, **__: kept.update({i.key: i for i in items})  # noqa: E731
        monkeypatch.setattr("salstats.studies.options.write_items", keep)
        options = ["-o", str(tmp_path / "out"), "--replicates", "40", "--min-positives", "20"]
        assert script.main([*options, *arguments]) == 0
        return kept

    return items_of


def test_from_the_files_to_the_tables(items_of, small_study, expected):
    folder, kept = small_study
    items = items_of(
        "--data", str(folder), "--validation", str(folder), "--maps", f"{METHOD}={folder / 'maps'}"
    )  # fmt: skip
    got = items["table_1"].frame.set_index(["metric", "method", "task"])["estimate"]
    for stem, metric in (("iou", "iou"), ("hitmiss", "hit")):
        for infix, method in (("", METHOD), ("_humanbenchmark", "human")):
            scores = long(expected / "eval_tp" / f"{stem}{infix}_results_per_cxr.csv", "score")
            want = scores[scores["case"].isin(kept)].groupby("task")["score"].mean()
            own = got[metric][method].drop("Average")
            assert len(own) >= 3
            # single pixels of masks of some thousand pixels, where an addition is fused there
            np.testing.assert_allclose(own, want.loc[own.index], atol=1e-5)
    assert {"extended_data_1a", "extended_data_1b", "extended_data_1c", "table_3", "sensitivity"} <= set(
        items
    )
    assert items["table_3"].slice == "full, tuned probability cut-offs"


def test_without_a_validation_study_nothing_is_tuned(items_of, small_study):
    items = items_of("--data", str(small_study[0]))
    assert not {k for k in items if k.startswith("extended_data_1") and k != "extended_data_10"}
    assert items["table_3"].slice == "full"
    assert set(items["sensitivity"].frame["row"]) == {"S1", "S3", "S7"}


@pytest.fixture(scope="module")
def release(small_study, tmp_path_factory):
    """As the public release: maps of the validation set only, people's marks of the test set only."""
    folder, (part, _) = tmp_path_factory.mktemp("release"), small_study
    for name, whose in (("gt_annotations", "val"), ("gt_annotations", "test"), ("hb_annotations", "test"),
                        ("hb_salient_pts", "test")):  # fmt: skip
        (folder / f"{name}_{whose}.json").symlink_to(part / f"{name}.json")
    (folder / "gradcam_maps_val").mkdir()
    for file in (part / "maps").iterdir():
        (folder / "gradcam_maps_val" / file.name).symlink_to(file.resolve())
    return ["--data", str(folder), "--validation", str(folder), "--tasks", "Atelectasis,Airspace Opacity"]


def test_maps_without_people_give_what_needs_no_people(items_of, release, capsys):
    items = items_of(*release, "--split", "val")
    assert {f"extended_data_{n}" for n in ("1a", "8", "9")} | {"table_1", "table_2", "table_3"} < set(items)
    assert set(items["table_2"].frame["outcome"]) == {"IoU", "Hit"}
    assert not {"figure_2a", "figure_2b", "extended_data_5", "extended_data_6"} & set(items)
    said = capsys.readouterr().out
    assert "Fig. 2a; Extended Data 5: not made, needs people's segmentations" in said
    assert "Fig. 2b; Extended Data 6: not made, needs people's points" in said


def test_people_without_points_have_no_hits(script, made_up_study, frames):
    hits = frames.scores["metric"].eq("hit") & frames.scores["method"].eq("human")
    lacking = frames.scores.assign(
        score=frames.scores["score"].mask(hits), reason=frames.scores["reason"].mask(hits, "no point")
    )
    assert {SEGMENTATIONS, POINTS} <= frames.there
    assert {SEGMENTATIONS, POINTS} & replace(frames, scores=lacking).there == {SEGMENTATIONS}
    cases = [
        replace(c, predictions=tuple(replace(p, read=partial(without_points, p.read)) for p in c.predictions))
        for c in list(made_up_study)[:3]
    ]
    study = replace(made_up_study, cases=tuple(cases))
    for known, points in ((made_up_study, True), (study, False)):
        there = held_by(known, None, thresholds=False)
        assert SEGMENTATIONS in there
        assert (POINTS in there) == points


def without_points(read):
    """What a series holds, less its points."""
    return replace(read(), points=None)


def test_people_without_maps_give_what_needs_no_maps(items_of, release):
    items = items_of(*release, "--split", "test")
    means = {"table_1", "extended_data_2", "extended_data_4", "as_published_and_clustered"}
    assert set(items) == means | {"extended_data_1a", "extended_data_8", "extended_data_10", "figure_3"}
    assert set(items["table_1"].frame["method"]) == {"human"}


def test_what_is_not_made_is_said_before_anything_is_tuned_or_scored(
    script, release, tmp_path, capsys, monkeypatch
):
    def stop(*_, **__):
        raise OSError("stopped")

    for work in ("tune", "score"):
        monkeypatch.setattr(f"salstats.{work}", stop)
    arguments = [*release, "--split", "val", "-o", str(tmp_path / "out"), "--min-positives"]
    assert script.main([*arguments, "20"]) == 2
    assert "Fig. 2a; Extended Data 5" in capsys.readouterr().out
    assert script.main([*arguments, "45"]) == 2
    assert "no task has 45 positive cases" in capsys.readouterr().err


def test_what_is_tuned_needs_maps_of_the_main_method_only(script, small_study, tmp_path, capsys):
    folder, _ = small_study
    maps = [a for m in ("gradcam", "ig") for a in ("--maps", f"{m}={folder / 'maps'}")]
    own = ["--validation", str(folder), "--validation-maps", f"ig={folder / 'maps'}"]
    assert script.main(["--data", str(folder), "-o", str(tmp_path / "out"), *maps, *own]) == 2
    assert "tuned for 'gradcam'" in one_line(capsys)


def test_too_few_replicates_for_order_statistics_are_said_before_any_work(script, tmp_path, capsys):
    assert script.main(["--data", "nowhere", "-o", str(tmp_path / "out"), "--replicates", "20"]) == 2
    assert "--replicates must be at least 40, not 20" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.*rest on:salstats.checks.SalstatsWarning")
def test_cases_that_are_tuned_on_and_scored_are_said(script, made_up_study, frames):
    study = made_up_study.select(cases=[c.case for c in made_up_study][:5])
    with pytest.warns(SalstatsWarning, match="3 of 5 cases of --data are in --validation too"):
        assert script.warn_shared(study, study.select(cases=[c.case for c in study][2:])) == 3
    own = replace(frames, n_shared=3)
    notes = {i.key: i.note for i in tuned_thresholds(own, script.Choice(False, 40))}
    assert "3 cases stand in both studies" in notes["extended_data_1b"]
    assert "both studies" not in " ".join(i.note for i in tuned_thresholds(frames, script.Choice(False, 40)))


@pytest.fixture(scope="module")
def map_folders(small_study, tmp_path_factory):
    """Folders METHOD_MODEL, all of the same maps."""
    folder, (part, _) = tmp_path_factory.mktemp("maps"), small_study
    for name in ("integrated_gradients_vgg", "gradcam_inception_v4", "gradcam_ensemble"):
        (folder / name).symlink_to(part / "maps")
    (folder / "._gradcam_ensemble").write_bytes(b"")
    return folder


def test_folders_are_read_by_name_and_what_is_given_is_not_tuned(
    items_of, small_study, map_folders, tmp_path
):
    (tmp_path / "cutoffs.csv").write_text("task,cutoff\nAtelectasis,0.5\nAirspace Opacity,0.1\n")
    items = items_of(
        "--data", str(small_study[0]), "--maps", str(map_folders), "--main", "gradcam:ensemble",
        "--tasks", "Atelectasis,Airspace Opacity", "--threshold", "0.5", "--resume", str(tmp_path / "kept"),
        "--cutoff", str(tmp_path / "cutoffs.csv"), "--smooth", "integrated_gradients:vgg=9",
    )  # fmt: skip
    means = items["extended_data_3"].frame.query("metric == 'iou' and task == 'Average'")
    means = means.set_index(["method", "model"])["estimate"]
    assert set(means.index) >= {("gradcam", "ensemble"), ("gradcam", "inception_v4")}
    # the same maps, but for the filter of one method
    assert means["gradcam", "ensemble"] == means["gradcam", "inception_v4"]
    assert means["gradcam", "ensemble"] != means["integrated_gradients", "vgg"]
    assert items["table_3"].slice == "full, given probability cut-offs"
    assert "extended_data_1b" in items
    assert "extended_data_1a" not in items
    assert any((tmp_path / "kept").iterdir())


def test_every_option_that_reading_a_study_may_name_is_there(script):
    names = set(inspect.signature(ss.read_chexlocalize).parameters) - {"folder", "method", "masks"}
    assert names <= set(vars(script.make_parser().parse_args(["--data", "x", "-o", "y"])))


@pytest.mark.filterwarnings("ignore::salstats.checks.SalstatsWarning")
def test_as_published_cut_offs_are_chosen_as_the_scripts_do_and_said(script, small_study, tmp_path):
    part, _ = small_study
    for name in ("gt_annotations", "hb_annotations", "hb_salient_pts"):
        (tmp_path / f"{name}.json").symlink_to(part / f"{name}.json")
    for file in sorted((part / "maps").glob("*_Atelectasis_map.pkl")):
        # on the grid of cut-offs, so that "above" and "from" differ
        held = read_pickle(file)
        (tmp_path / file.name).write_bytes(pickle.dumps(held | {"prob": round(float(held["prob"]), 1)}))
    cutoffs = {}
    for flag in ([], ["--as-published"]):
        given = [
            "--data",
            str(tmp_path),
            "--validation",
            str(tmp_path),
            "--tasks",
            "Atelectasis",
            "-o",
            "out",
        ]
        options = script.make_parser().parse_args([*given, *flag])
        study = script.read_data(options)
        frames = script.make_frames(study, options)
        chosen = ss.tune(study, what="cutoff", as_published=bool(flag)).query("chosen")["cutoff"].item()
        want = ss.score(study, metrics="iou", slice="full", cutoff=chosen)
        np.testing.assert_array_equal(frames.full["score"], want["score"])
        said = cutoff_note(frames, script.Choice(options.as_published))
        assert ("chosen as the scripts do" in said) == bool(flag)
        cutoffs[bool(flag)] = chosen
    assert cutoffs[False] != cutoffs[True]

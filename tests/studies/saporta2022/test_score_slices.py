"""Tables of scores in the place of files: slices, reasons, patients, cut-offs, and what is missing."""

import re

import numpy as np
import pandas as pd
import pytest
from saporta_frames import DRAWN_TASKS, METHOD
from study_scripts import reproduce_items
from tests_support import raises, warns

from salstats.errors import ColumnError, SalstatsError, ValueRangeError
from salstats.studies import declarations, engine
from salstats.studies.saporta2022.file_scoring import iou_rows_with_low_probability_masks_emptied
from salstats.studies.saporta2022.score_slices import full_and_true_positive_scores
from salstats.studies.saporta2022.study_frames import (
    CHECKPOINTS,
    FEATURES,
    FULL_LABELS,
    FULL_PROBABILITIES,
    FULL_SLICE,
    HITS,
    MAPS,
    PEOPLE,
    POINTS,
    PROBABILITIES,
    SEGMENTATIONS,
    SEVERAL_MODELS,
)

pytestmark = pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
TASKS = list(DRAWN_TASKS)
KEYS = ["case", "task", "method", "metric"]
COUNTS = ["tp", "fp", "fn", "tn"]


def options_of(**given):
    """The options of a run on tables."""
    options = engine.parser_of(declarations.declaration_of("saporta2022"), output=False).parse_args([])
    for name, value in given.items():
        setattr(options, name, value)
    return options


def sentences(scores, **given):
    """What is said to be missing before anything is computed."""
    opened = declarations.declaration_of("saporta2022").open_scores(scores, options_of(**given))
    return [str(message) for message in engine.unmet_need_messages(opened.items, opened.available)]


@pytest.fixture(scope="module")
def features(drawn_tables):
    return drawn_tables.features


@pytest.fixture(scope="module")
def scores(drawn_tables):
    """Scores of the true-positive slice with everything beside them."""
    return drawn_tables.scores.merge(drawn_tables.features, on=["case", "task"])


@pytest.fixture(scope="module")
def full(drawn_tables):
    """IoU of the full slice, before cut-offs."""
    return drawn_tables.full


@pytest.fixture(scope="module")
def reproduced(scores, full):
    """Frames of the study from both tables."""
    items = ("table_1", "table_2", "table_3", "table_s1", "extended_data_2")
    return reproduce_items("saporta2022", *items, scores=scores, full_scores=full, replicates=40)


def test_frames_are_those_of_the_tables(scores, full, features):
    given = full_and_true_positive_scores(scores, options_of(full_scores=[full]))
    features = features.sort_values(["case", "task"])
    np.testing.assert_array_equal(given.features[list(FEATURES)], features[list(FEATURES)])
    np.testing.assert_array_equal(given.features["label"], features["area_ratio"] > 0)
    assert given.true_positive["reason"].fillna("").tolist() == scores["reason"].fillna("").tolist()
    np.testing.assert_array_equal(given.full["score"], full["score"])


@pytest.mark.parametrize("known", ["label", "area_ratio", "nothing but scores"])
def test_reasons_are_found_where_the_table_has_none(scores, known):
    given = scores.drop(columns="reason")
    given = given.drop(columns=[c for c in ("label", "area_ratio") if c != known])
    got = full_and_true_positive_scores(given, options_of()).true_positive["reason"]
    assert got.fillna("").tolist() == scores["reason"].fillna("").tolist()


def test_that_undefined_scores_are_taken_for_absent_findings_is_said(scores):
    only = scores.loc[scores["metric"] == "iou", [*KEYS, "score"]].reset_index(drop=True)
    with warns(column="label"):
        full_and_true_positive_scores(only, options_of())


def test_the_true_positive_slice_follows_from_the_full_one_and_its_pixels(scores, full):
    columns = [*KEYS, "score", "patient", "prob", "tp", "fp", "fn"]
    got = full_and_true_positive_scores(full[columns].assign(slice="full"), options_of()).true_positive
    want = scores[scores["metric"] == "iou"]
    both = want.merge(got, on=KEYS, suffixes=("", "_got"), how="outer", indicator=True)
    # cases in which one of these two findings is there
    positive = want.loc[want["label"] == 1, "case"].unique()
    assert (both.loc[both["case"].isin(positive), "_merge"] == "both").all()
    own = both[both["_merge"] == "both"]
    np.testing.assert_array_equal(own["score"], own["score_got"])
    assert own["reason"].fillna("").tolist() == own["reason_got"].fillna("").tolist()


def test_a_case_whose_pixels_are_unknown_is_not_in_the_true_positive_slice(full):
    columns = [*KEYS, "score", "patient", "prob", "tp", "fp", "fn"]
    n_truth_pixels = (full["tp"] + full["fn"]).groupby(full["case"]).sum()
    case = n_truth_pixels[n_truth_pixels == 0].index[0]
    unknown = full[columns].assign(slice="full")
    unknown[["tp", "fn"]] = unknown[["tp", "fn"]].mask(unknown["case"] == case)
    got = full_and_true_positive_scores(unknown, options_of()).true_positive
    assert set(got["case"]) == set(n_truth_pixels[n_truth_pixels > 0].index)


@pytest.mark.slow
def test_slices_are_told_apart_by_a_column_or_by_the_option(scores, full, reproduced):
    together = pd.concat([scores.assign(slice="true-positive"), full.assign(slice="full")])
    items = ("table_1", "table_3", "table_s1", "extended_data_2")
    together = together.reset_index(drop=True)
    by_column = reproduce_items("saporta2022", *items, scores=together, replicates=40)
    assert set(by_column) == set(items)
    for key in items:
        pd.testing.assert_frame_equal(by_column[key], reproduced[key])


@pytest.mark.slow
def test_files_give_what_frames_give(scores, full, reproduced, results, tmp_path):
    beside = scores.drop(columns=list(FEATURES))
    features = scores[["case", "task", *FEATURES]].drop_duplicates(["case", "task"])
    for name, frame in (("scores", beside), ("full", full), ("features", features)):
        frame.rename(columns={"case": "img_id"}).to_csv(tmp_path / f"{name}.csv", index=False)
    made = results(
        "saporta2022", "--scores", tmp_path / "scores.csv", "--full-scores", tmp_path / "full.csv",
        "--features", tmp_path / "features.csv", "--rename", "img_id=case", "--replicates", 40,
        only=("table_1", "table_2", "table_3"),
    )  # fmt: skip
    assert made
    for key, item in made.items():
        pd.testing.assert_frame_equal(item.frame, reproduced[key], check_dtype=False)


def test_a_cut_off_empties_masks_as_scoring_does(scores, full):
    given = full_and_true_positive_scores(scores, options_of(full_scores=[full], cutoff=["0.4"]))
    got = given.frames(options_of()).full
    cutoffs = {(task, METHOD): 0.4 for task in TASKS}
    np.testing.assert_array_equal(
        got["score"], iou_rows_with_low_probability_masks_emptied(full, cutoffs)["score"]
    )
    assert (got["score"].fillna(-1) != full["score"].fillna(-1)).any()
    with raises(ColumnError, option="cutoff", column="tp"):
        full_and_true_positive_scores(
            scores, options_of(full_scores=[full.drop(columns=COUNTS)], cutoff=["0.4"])
        )


def test_a_cut_off_of_a_model_empties_the_masks_of_that_model(scores, full):
    both = pd.concat([full.assign(model="a"), full.assign(model="b")], ignore_index=True)
    given = full_and_true_positive_scores(
        scores, options_of(full_scores=[both], cutoff=[f"{METHOD}=0.1,{METHOD}:b=0.4"])
    )
    got = given.frames(options_of()).full
    for model, cutoff in (("a", 0.1), ("b", 0.4)):
        cutoffs = {(None, METHOD): cutoff}
        expected = iou_rows_with_low_probability_masks_emptied(full, cutoffs)["score"]
        np.testing.assert_array_equal(got.loc[got["model"] == model, "score"], expected)


def test_a_file_of_cut_offs_has_every_task_of_its_methods(scores, full, tmp_path):
    file = tmp_path / "cutoffs.csv"
    file.write_text(f"task,cutoff\n{TASKS[0]},0.4\n")
    for cutoff in (str(file), f"{METHOD}={file}"):
        with raises(
            SalstatsError, option="cutoff", value=TASKS[1], hint=f"it has values for tasks '{TASKS[0]}'"
        ):
            full_and_true_positive_scores(scores, options_of(full_scores=[full], cutoff=[cutoff]))
    of_one_task = full[full["task"] == TASKS[0]].reset_index(drop=True)
    given = full_and_true_positive_scores(scores, options_of(full_scores=[of_one_task], cutoff=[str(file)]))
    assert given.cutoffs == {(TASKS[0], None): 0.4}


@pytest.mark.parametrize(
    ("cutoff", "kind", "value"),
    [
        (["gradcm=0.4"], SalstatsError, "gradcm"),
        ([f"{METHOD}:dense=0.4"], SalstatsError, f"{METHOD}:dense"),
        (["human=0.4"], SalstatsError, "human"),
        ([f"{METHOD}=0.4,lrp=0.2"], SalstatsError, "lrp"),
        ([f"{METHOD}=0.4", f"{METHOD}=0.1"], SalstatsError, f"{METHOD}=0.1"),
        (["40"], ValueRangeError, 40.0),
        (["-1"], ValueRangeError, -1.0),
    ],
)
def test_a_cut_off_of_no_method_or_probability_is_an_error(scores, full, cutoff, kind, value):
    with raises(kind, option="cutoff", value=value):
        full_and_true_positive_scores(scores, options_of(full_scores=[full], cutoff=cutoff))


@pytest.mark.parametrize(
    ("lacking", "sentence"),
    [
        (["prob"], "Extended Data 9: not made, needs the column prob$"),
        (
            list(FEATURES),
            "Extended Data 8; .*: not made, needs features .n_inst.*features='FILE'",
        ),
        (["tn"], "Extended Data 2: not made, needs the pixel counts tp, fp, fn, tn"),
        (["elongation"], "Extended Data 8; Table 2; .*: made in part, needs the column elongation"),
    ],
)
def test_what_is_missing_is_said_by_item_in_words_of_tables(scores, lacking, sentence):
    assert any(re.match(sentence, said) for said in sentences(scores.drop(columns=lacking)))
    assert not any(re.match(sentence, said) for said in sentences(scores))


@pytest.mark.parametrize("as_published", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_without_the_full_slice_or_people_that_is_said_and_the_rest_made(scores, as_published):
    said = sentences(scores[scores["method"] != "human"])
    assert any(s.startswith("Extended Data 4") and "full_scores='FILE'" in s for s in said)
    assert any(s.startswith("Table 3: made in part") and "full_scores='FILE'" in s for s in said)
    assert any(s.startswith("Fig. 2: not made, needs scores of the method human") for s in said)
    of_maps = ("table_1", "table_2", "table_3", "extended_data_9", "figure_3")
    made = reproduce_items(
        "saporta2022",
        *(*of_maps, "figure_2", "extended_data_4", "extended_data_5"),
        scores=scores[scores["method"] != "human"],
        as_published=as_published,
        replicates=40,
    )
    assert set(made) == set(of_maps)
    own = scores[(scores["method"] != "human") & (scores["metric"] == "iou")]
    overall = made["table_3"].query("task == 'Overall' and term == 'slope'")
    assert overall["n"].tolist() == [own["score"].notna().sum()]


@pytest.mark.slow
@pytest.mark.parametrize("as_published", [False, True])
def test_people_with_hits_alone_are_compared_by_hits(scores, as_published):
    hits_of_people = scores[(scores["method"] != "human") | (scores["metric"] == "hit")]
    keys = ("table_1", "as_published_and_clustered", "sensitivity")
    options = {"as_published": as_published, "replicates": 40}
    made = reproduce_items("saporta2022", *keys, scores=hits_of_people, **options)
    assert set(made) == set(keys)
    assert set(made["table_1"].query("method == 'human'")["metric"]) == {"hit"}
    assert set(made["sensitivity"].query("row == 'S1'")["quantity"]) == {"mean IoU"}


def test_the_papers_name_of_a_task_is_that_of_the_release(scores):
    named = scores.assign(task=scores["task"].replace("Airspace Opacity", "Lung Opacity"))
    assert set(full_and_true_positive_scores(named, options_of()).true_positive["task"]) == set(TASKS)


def test_patients_are_found_in_names_or_are_said_to_be_unknown(scores):
    unknown = scores.drop(columns="patient")
    got = full_and_true_positive_scores(unknown, options_of()).true_positive["patient"]
    assert got.tolist() == scores["patient"].tolist()
    other = unknown.assign(case="x" + unknown["case"])
    with warns(option="patient_from", column="case"):
        assert "patient" not in full_and_true_positive_scores(other, options_of()).true_positive
    with raises(ColumnError, option="patient_from", column="case"):
        full_and_true_positive_scores(other, options_of(patient_from=r"^(patient\d+)x"))


def test_the_main_method_is_the_one_that_is_named(scores):
    two = pd.concat([scores, scores[scores["method"] == METHOD].assign(method="rise")], ignore_index=True)
    for options, main in ((options_of(), METHOD), (options_of(main="rise"), "rise")):
        assert full_and_true_positive_scores(two, options).frames(options).main_method == main
    # people are no saliency method, whose maps the items could show
    for other in ("lrp", "human"):
        with raises(SalstatsError, option="main", value=other, choices=("gradcam", "rise")):
            full_and_true_positive_scores(two, options_of(main=other))


@pytest.mark.parametrize(
    ("change", "options", "kind", "fields"),
    [
        (lambda f: f.drop(columns="task"), {}, ColumnError, {"column": "task"}),
        (lambda f: f.assign(metric="dice"), {}, ColumnError, {"column": "metric", "choices": ("iou", "hit")}),
        (
            lambda f: f.assign(slice="predicted-positive"),
            {},
            ColumnError,
            {"column": "slice", "choices": ("true-positive", "full")},
        ),
        (
            lambda f: f.drop(columns=COUNTS).assign(slice="full"),
            {},
            ColumnError,
            {"column": "slice", "match": "tp, fp and fn"},
        ),
        (
            lambda f: f.assign(score=100 * f["score"]),
            {},
            ValueRangeError,
            {"column": "score", "hint": "scale=0.01 makes percentages shares"},
        ),
        (lambda f: f, {"tasks": ["Edema"]}, SalstatsError, {"option": "tasks", "value": "Edema"}),
        (lambda f: f, {"threshold": ["0.5"]}, SalstatsError, {"option": "threshold"}),
        (lambda f: f, {"min_positives": 500}, ValueRangeError, {"option": "min_positives", "value": 500}),
        (lambda f: f.assign(elongation=np.arange(len(f))), {}, ColumnError, {"column": "elongation"}),
    ],
)
def test_what_cannot_be_used_is_one_sentence(scores, change, options, kind, fields):
    with raises(kind, **fields) as caught:
        full_and_true_positive_scores(change(scores), options_of(**options))
    assert "\n" not in str(caught.value)


def test_a_file_of_two_slices_is_named(scores, full, tmp_path, run):
    both = pd.concat([scores.assign(slice="true-positive"), full.assign(slice="full")])
    both.to_csv(tmp_path / "both.csv", index=False)
    code, _, error = run("saporta2022", "--scores", tmp_path / "both.csv", "-o", tmp_path / "out")
    assert (code, "both.csv holds scores of several slices" in error) == (2, True)


def test_without_data_or_scores_both_are_named(run, tmp_path):
    code, _, error = run("saporta2022", "-o", tmp_path / "out")
    assert code == 2
    assert "--data DIR" in error
    assert "--scores FILE" in error


def test_features_with_semicolons_and_decimal_commas_are_read(scores, run, tmp_path):
    keys = ["case", "task", *FEATURES]
    scores.drop(columns=list(FEATURES)).to_csv(tmp_path / "scores.csv", sep=";", decimal=",", index=False)
    features = scores[keys].drop_duplicates(["case", "task"])
    features.to_csv(tmp_path / "features.csv", sep=";", decimal=",", index=False)
    given = ["--scores", tmp_path / "scores.csv", "--features", tmp_path / "features.csv"]
    declared = declarations.declaration_of("saporta2022")
    options = engine.parser_of(declared).parse_args([*map(str, given), "--sep", ";", "--decimal", ","])
    opened = engine.open_study(declared, options)
    messages = engine.unmet_need_messages(opened.items, opened.available)
    assert not any("features" in str(message) for message in messages)
    assert run("saporta2022", *given, "-o", tmp_path / "out")[0] == 2


def few_scores(*, method="cam", **columns):
    """IoU of ten cases."""
    cases = [f"patient{i}_study1_view1" for i in range(10)]
    frame = pd.DataFrame({"case": cases, "task": "Edema", "method": method, "metric": "iou"})
    return frame.assign(score=np.linspace(0.1, 0.9, 10), **columns)


@pytest.mark.parametrize(
    ("seeds", "model", "has_checkpoints"),
    [((None, "1"), "dense", True), (("1", "2"), "dense", False), ((None,), "dense", False)],
)
def test_checkpoints_are_an_ensemble_and_trainings_of_the_main_methods_first_model(
    seeds, model, has_checkpoints
):
    parts = [few_scores(model=model, seed=seed) for seed in seeds]
    # those of another method, or another model, do not count
    parts += [few_scores(method="ig", model="res", seed=seed) for seed in (None, "1")]
    parts += [few_scores(model="res", seed=seed) for seed in (None, "1")]
    given = full_and_true_positive_scores(pd.concat(parts, ignore_index=True), options_of())
    assert (CHECKPOINTS in given.available) == has_checkpoints
    assert SEVERAL_MODELS in given.available


def test_needs_follow_from_the_columns_and_methods_of_scores():
    assert full_and_true_positive_scores(few_scores(), options_of()).available == {MAPS}
    # without the full slice the probabilities are those of the findings
    assert full_and_true_positive_scores(few_scores(prob=0.5), options_of()).available == {
        MAPS, PROBABILITIES, FULL_PROBABILITIES
    }  # fmt: skip
    hits = few_scores(metric="hit")
    people = few_scores(method="human")
    assert full_and_true_positive_scores(pd.concat([few_scores(), hits]), options_of()).available == {
        MAPS,
        HITS,
    }
    both = pd.concat([few_scores(), people], ignore_index=True)
    assert full_and_true_positive_scores(both, options_of()).available == {
        MAPS,
        PEOPLE,
        SEGMENTATIONS,
    }
    both = pd.concat([few_scores(), hits.assign(method="human")], ignore_index=True)
    assert full_and_true_positive_scores(both, options_of()).available == {MAPS, PEOPLE, POINTS}
    full = full_and_true_positive_scores(few_scores(prob=0.5), options_of(full_scores=[few_scores(label=1)]))
    assert full.available == {MAPS, PROBABILITIES, FULL_SLICE, FULL_LABELS}


def test_labels_of_the_full_slice_are_those_of_its_pixels():
    sizes = {"tp": [0, 1] * 5, "fp": 0, "fn": [0, 0, 2, 0, 0] * 2}
    given = full_and_true_positive_scores(few_scores(), options_of(full_scores=[few_scores(**sizes)]))
    assert given.full["label"].tolist() == [0, 1, 1, 1, 0, 1, 0, 1, 0, 1]
    named = few_scores(**sizes, label=1)
    assert set(
        full_and_true_positive_scores(few_scores(), options_of(full_scores=[named])).full["label"]
    ) == {1}


def test_the_full_slice_is_given_once_and_is_full():
    whole = pd.concat([few_scores(), few_scores(slice="full")], ignore_index=True)
    with raises(SalstatsError, option="scores", column="slice"):
        full_and_true_positive_scores(whole, options_of(full_scores=[few_scores()]))
    with raises(SalstatsError, option="full_scores", column="slice"):
        full_and_true_positive_scores(
            few_scores(), options_of(full_scores=[few_scores(slice="true-positive")])
        )
    given = full_and_true_positive_scores(few_scores(), options_of(full_scores=[few_scores(slice="full")]))
    assert len(given.full) == 10


def test_the_main_maps_may_be_of_a_model():
    two = pd.concat([few_scores(model="a"), few_scores(model="b")], ignore_index=True)
    rows = full_and_true_positive_scores(two, options_of(main="cam:b")).true_positive
    assert rows["model"].tolist() == ["b"] * 10 + ["a"] * 10
    for scores, choices in ((two, ("cam:a", "cam:b")), (few_scores(), ("cam",))):
        with raises(SalstatsError, option="main", value="cam:c", choices=choices):
            full_and_true_positive_scores(scores, options_of(main="cam:c"))


def test_scores_of_one_finding_share_its_features_and_the_rows_that_do_not_are_named():
    both = pd.concat([few_scores(area_ratio=0.2), few_scores(method="ig", area_ratio=0.2)], ignore_index=True)
    assert full_and_true_positive_scores(both, options_of()).features["area_ratio"].tolist() == [0.2] * 10
    both.loc[13, "area_ratio"] = 0.3
    with raises(ColumnError, column="area_ratio", rows=(3, 13)):
        full_and_true_positive_scores(both, options_of())


@pytest.mark.parametrize("score", [-0.01, 1.01])
def test_rows_of_scores_outside_0_to_1_are_named(score):
    scores = few_scores()
    scores.loc[[0, 1], "score"] = [0.0, 1.0]
    full_and_true_positive_scores(scores, options_of())
    scores.loc[4, "score"] = score
    with raises(ValueRangeError, column="score", rows=(4,)):
        full_and_true_positive_scores(scores, options_of())


def test_undefined_scores_of_the_full_slice_are_true_negatives():
    full = few_scores()
    full.loc[2, "score"] = np.nan
    reasons = full_and_true_positive_scores(few_scores(), options_of(full_scores=[full])).full["reason"]
    assert reasons.fillna("").tolist() == [""] * 2 + ["true negative"] + [""] * 7


def test_tasks_may_be_chosen_by_either_name():
    both = pd.concat([few_scores(), few_scores(task="Lung Opacity")], ignore_index=True)
    for name in ("Lung Opacity", "Airspace Opacity"):
        rows = full_and_true_positive_scores(both, options_of(tasks=[name])).true_positive
        assert rows["task"].tolist() == ["Airspace Opacity"] * 10

"""Overlap of every two readers' masks, and truths made of readers' masks."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import SalstatsError, Setting, ValueRangeError
from salstats.images.consensus import consensus
from salstats.images.masks import decode, encode
from salstats.metrics import distance, overlap
from salstats.study import HUMAN, Case, Content, Prediction, Series, Study

SHAPE = (12, 10)
TASKS = ("Edema", "Mass")


def drawn_masks(readers=("R1", "R2", "R3"), cases=("a", "b", "c"), seed=1):
    """Masks of every case, task and reader: noisy squares."""
    rng = np.random.default_rng(seed)
    found = {}
    for case in cases:
        for task in TASKS:
            row, col = rng.integers(1, 4, 2)
            for reader in readers:
                mask = np.zeros(SHAPE, bool)
                shift = rng.integers(-1, 2, 2)
                mask[row + shift[0] : row + 5, col + shift[1] : col + 5] = True
                found[case, task, reader] = mask
    return found


def test_each_pair_has_the_score_of_its_masks():
    drawn = drawn_masks()
    study = ss.study_from_arrays({}, {}, readers=drawn)
    found = ss.reader_overlap(study, metrics=["dice", "iou", "precision", "hausdorff"])
    assert len(found) == 3 * 2 * 3 * 4
    for row in found.itertuples():
        pair = drawn[row.case, row.task, row.reader], drawn[row.case, row.task, row.other_reader]
        if row.metric == "hausdorff":
            expected = distance.hausdorff(*pair)
        else:
            expected = getattr(overlap, row.metric)(*pair)
        assert row.score == expected
    pairs = found[["reader", "other_reader"]].drop_duplicates().itertuples(index=False)
    assert [tuple(p) for p in pairs] == [*combinations(("R1", "R2", "R3"), 2)]


def test_dice_of_a_drawn_pair_by_hand():
    one, other = np.array([[1, 1, 1, 0]]), np.array([[0, 1, 1, 1]])
    study = ss.study_from_arrays({}, {}, readers={("a", "E", "x"): one, ("a", "E", "y"): other})
    assert ss.reader_overlap(study)["score"].tolist() == [2 * 2 / (3 + 3)]


def test_empty_masks_are_as_on_the_full_slice():
    nothing, some = np.zeros((4, 4), bool), np.eye(4, dtype=bool)
    drawn = {("a", "E", "x"): nothing, ("a", "E", "y"): nothing, ("a", "E", "z"): some}
    found = ss.reader_overlap(ss.study_from_arrays({}, {}, readers=drawn), metrics=["dice", "hausdorff"])
    dice = found[found["metric"] == "dice"]
    np.testing.assert_array_equal(dice["score"], [np.nan, 0, 0])
    assert dice["reason"].tolist()[0] == "true negative"
    far = found[found["metric"] == "hausdorff"]
    assert far["score"].isna().all()
    assert far["reason"].tolist() == ["true negative", "empty mask", "empty mask"]


def test_readers_of_other_cases_make_no_pair():
    drawn = {k: v for k, v in drawn_masks().items() if not (k[0] == "b" and k[2] == "R3")}
    found = ss.reader_overlap(ss.study_from_arrays({}, {}, readers=drawn))
    assert len(found[found["case"] == "b"]) == 2
    assert set(found.loc[found["case"] == "b", "other_reader"]) == {"R2"}


def test_a_task_without_an_entry_was_marked_by_nothing():
    drawn = drawn_masks(cases=("a",))
    del drawn["a", "Mass", "R1"]
    found = ss.reader_overlap(ss.study_from_arrays({}, {}, readers=drawn)).query("task == 'Mass'")
    assert found["score"].tolist()[:2] == [0, 0]


def test_summaries_take_the_frame():
    found = ss.reader_overlap(ss.study_from_arrays({}, {}, readers=drawn_masks(cases="abcdefgh")))
    means = ss.summarize(found, by=["metric", "reader", "other_reader"], interval="t")
    assert len(means) == 3
    assert (means["n_units"] == 8).all()
    assert (means["inference_to"] == "these readers").all()
    expected = found[(found["reader"] == "R1") & (found["other_reader"] == "R2")]["score"].mean()
    assert means["estimate"].iloc[0] == pytest.approx(expected, abs=1e-15)


def test_jobs_change_nothing():
    study = ss.study_from_arrays({}, {}, readers=drawn_masks())
    pd.testing.assert_frame_equal(ss.reader_overlap(study, jobs=2), ss.reader_overlap(study))


def test_one_reader_is_refused():
    study = ss.study_from_arrays({}, {}, readers=drawn_masks(readers=("R1",)))
    with raises(SalstatsError, option="readers", value=("R1",)):
        ss.reader_overlap(study)


def test_readers_who_share_no_case_are_refused():
    eye = np.eye(3)
    study = ss.study_from_arrays({}, {}, readers={("a", "E", "x"): eye, ("b", "E", "y"): eye})
    with raises(SalstatsError, option="study", value="arrays"):
        ss.reader_overlap(study)


@pytest.mark.parametrize("how", ["majority", "staple"])
def test_a_truth_is_the_consensus_of_the_readers(how):
    drawn = drawn_masks()
    study = ss.study_from_arrays(how, {("a", "Edema", "cam"): np.ones(SHAPE)}, readers=drawn)
    assert [str(s) for s in study.series] == ["cam"]
    for case in study:
        for task in TASKS:
            masks = [drawn[case.case, task, r] for r in ("R1", "R2", "R3")]
            expected = consensus(masks, how).mask
            np.testing.assert_array_equal(decode(case.truths[task].read()), decode(expected))


def test_majority_of_three_is_what_two_mark():
    drawn = drawn_masks(cases=("a",))
    study = ss.study_from_arrays("majority", {}, readers=drawn)
    total = sum(drawn["a", "Edema", r].astype(int) for r in ("R1", "R2", "R3"))
    np.testing.assert_array_equal(decode(study.cases[0].truths["Edema"].read()), total >= 2)


def test_a_reader_who_makes_no_truth_is_scored_against_the_others():
    drawn = drawn_masks()
    study = ss.study_from_arrays({}, {}, readers=drawn)
    scores = ss.score(study.with_truth("majority", readers=["R1", "R2"]), metrics="iou")
    assert set(scores["reader"]) == {"R3"}
    assert set(scores["truth_rule"]) == {"majority"}
    both = drawn["a", "Edema", "R1"] & drawn["a", "Edema", "R2"]
    assert scores["score"].iloc[0] == overlap.iou(drawn["a", "Edema", "R3"], both)


def test_tables_say_whose_truth_it_is():
    study = ss.study_from_arrays("staple", {}, readers=drawn_masks(cases="abcdefgh"))
    human = ss.study_from_arrays({}, {}, readers=drawn_masks(cases="abcdefgh"))
    scores = ss.score(human.with_truth("staple", readers=["R1", "R2"]), metrics="iou")
    means = ss.summarize(scores, interval="t")
    assert set(means["truth_rule"]) == {"staple"} == {study.truth}
    said = ss.table_estimates(means).as_raw_html()
    assert "the truth is the STAPLE consensus of several readers" in said


def test_an_old_truth_is_replaced_and_the_study_stays_as_it_is():
    drawn = drawn_masks(cases=("a",))
    study = ss.study_from_arrays({("a", "Edema"): np.zeros(SHAPE)}, {}, readers=drawn)
    made = study.with_truth("majority")
    assert decode(made.cases[0].truths["Edema"].read()).any()
    assert not decode(study.cases[0].truths["Edema"].read()).any()
    assert len(study.series) == 3


def test_cases_that_nobody_read_are_not_annotated():
    eye = np.eye(6)
    drawn = {("a", "E", "x"): eye, ("a", "E", "y"): eye}
    study = ss.study_from_arrays({("b", "E"): eye}, {("b", "E", "cam"): eye}, readers=drawn)
    assert [c.annotated for c in study.with_truth("majority")] == [True, False]


def test_cases_of_one_reader_are_said():
    eye = np.eye(6)
    drawn = {("a", "E", "x"): eye, ("a", "E", "y"): eye, ("b", "E", "x"): eye}
    with warns(column="case", value=["b"], match=r"\b2\b"):
        ss.study_from_arrays("majority", {}, readers=drawn)


def test_a_study_without_a_truth_names_the_call():
    study = ss.study_from_arrays({}, {("a", "Edema", "cam"): np.ones(SHAPE)}, readers=drawn_masks())
    with raises(SalstatsError, option="truth", hint=Setting("truth", "majority")):
        ss.score(study)


@pytest.mark.parametrize(
    ("how", "readers", "error", "fields"),
    [
        (
            "vote",
            None,
            ValueRangeError,
            {"option": "truth", "value": "vote", "choices": ("majority", "staple")},
        ),
        ("majority", ["R1"], SalstatsError, {"option": "readers", "choices": ()}),
        ("staple", ["R9", "R1"], SalstatsError, {"option": "readers", "value": "R9"}),
    ],
)
def test_a_wrong_consensus_is_refused(how, readers, error, fields):
    study = ss.study_from_arrays({}, {}, readers=drawn_masks())
    with raises(error, **fields):
        study.with_truth(how, readers=readers)


def test_a_reader_of_two_methods_is_refused():
    study = ss.study_from_arrays({}, {}, readers=drawn_masks(readers=("R1", "R2")))
    from dataclasses import replace

    more = replace(study.series[0], method="assisted")
    study = replace(study, series=(*study.series, more))
    with raises(SalstatsError, option="readers", value="R1", choices=()):
        study.with_truth("majority")


def test_human_and_readers_are_not_both():
    drawn = drawn_masks(cases=("a",))
    with raises(SalstatsError, option="human"):
        ss.study_from_arrays({}, {}, readers=drawn, human={("a", "Edema"): np.ones(SHAPE)})


def test_a_mask_that_is_missing_makes_no_pair_comparable():
    mask = encode(np.eye(4, dtype=bool))
    contents = {"R1": Content(mask=mask), "R2": Content(prob=0.5), "R3": Content(mask=mask)}
    series = {reader: Series(HUMAN, reader=reader) for reader in contents}
    predictions = tuple(
        Prediction("Edema", series[reader], lambda content=content: content, "made")
        for reader, content in contents.items()
    )
    case = Case("a", (4, 4), {}, predictions, annotated=False)
    found = ss.reader_overlap(Study((case,), ("Edema",), tuple(series.values())), metrics=["dice"])
    assert found[["reader", "other_reader"]].to_numpy().tolist() == [["R1", "R2"], ["R1", "R3"], ["R2", "R3"]]
    np.testing.assert_array_equal(found["score"], [np.nan, 1, np.nan])
    assert found["reason"].isna().tolist() == [False, True, False]

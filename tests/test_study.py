"""Records of a study: selection, truth by consensus, and what a study of gaze is."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import SalstatsError, ShapeError, ValueRangeError
from salstats.images.center_bias import Box
from salstats.images.masks import decode, encode
from salstats.study import (
    Case,
    Content,
    Prediction,
    Recording,
    Series,
    Study,
    Truth,
    check_gaze,
    returned_unchanged,
    selected_names,
    shape_of,
)

#: Masks of three readers on one row of four pixels: 1, 2 and 3 pixels from the left.
MASKS = {f"R{n}": np.arange(4)[None] < n for n in (1, 2, 3)}


def study_of_readers(**extra):
    readers = {("a", "Edema", name): mask for name, mask in MASKS.items()}
    return ss.study_from_arrays({}, {("a", "Edema", "cam"): np.eye(4)[:1]}, readers=readers, **extra)


@pytest.fixture
def study():
    """Two cases, two tasks, two methods; one method has two models."""
    maps = {}
    for case in ("a", "b"):
        for task in ("Edema", "Nodule"):
            for method in ("gradcam", "lime"):
                maps[case, task, method] = np.eye(3)
    truth = {}
    for case, task in (("a", "Edema"), ("b", "Edema"), ("a", "Nodule")):
        truth[case, task] = np.eye(3) > 0
    return ss.study_from_arrays(truth, maps)


def test_a_selection_keeps_order_truth_and_predictions_of_its_names(study):
    selected = study.select(cases=["b"], tasks="Nodule", methods=["lime"])
    assert [case.case for case in selected] == ["b"]
    assert selected.tasks == ("Nodule",)
    assert [series.method for series in selected.series] == ["lime"]
    [case] = selected.cases
    assert list(case.truths) == []
    assert [(p.task, p.series.method) for p in case.predictions] == [("Nodule", "lime")]
    assert study.select() == study


def test_a_study_counts_and_names_its_content(study):
    assert len(study) == 2
    assert repr(study) == "<Study arrays: 2 cases, 2 tasks, methods: gradcam, lime>"
    assert repr(Study((Case("1", None),))) == "<Study study: 1 cases, 0 tasks, methods: none>"


def test_predictions_of_a_case_are_found_by_task_and_series():
    predictions = [Prediction(task, Series("cam"), dict, "here") for task in ("Edema", "Nodule")]
    case = Case("a", None, predictions=tuple(predictions))
    assert case.answers == {
        ("Edema", Series("cam")): predictions[0],
        ("Nodule", Series("cam")): predictions[1],
    }


def test_a_mask_in_memory_is_a_truth():
    mask = encode(np.eye(2) > 0)
    truth = Truth.of(mask, 3)
    assert truth.read() is mask
    assert (truth.n_instances, Truth.of(mask).n_instances) == (3, None)


def test_predictions_of_gaze_are_of_every_task():
    prediction = Prediction("", Series("cam"), dict, "here")
    study = Study((Case("1", None, predictions=(prediction,)),), ("Edema", "Nodule"), (Series("cam"),))
    assert study.select(tasks="Edema").cases[0].predictions == (prediction,)


def test_a_method_with_its_mixing_selects_the_series_of_that_mixing():
    series = (Series("cam", mixing="max"), Series("cam", mixing="mean"), Series("lime", reader="R1"))
    study = Study((), (), series, source="folder", truth="staple")
    assert study.select(methods="cam_mean").series == series[1:2]
    assert study.select(methods=["cam", "cam_max"]).series == series[:2]
    selected = study.select()
    assert (selected.source, selected.truth) == ("folder", "staple")
    with raises(SalstatsError, option="methods", value="cam_min"):
        study.select(methods="cam_min")


def test_a_method_selects_all_its_series_and_a_full_name_one():
    series = (Series("cam", "a"), Series("cam", "b"), Series("lime"))
    predictions = tuple(Prediction("t", s, dict, "here", has_saliency=s.method == "cam") for s in series)
    study = Study((Case("1", (2, 2), predictions=predictions),), ("t",), series)
    assert study.select(methods="cam").series == series[:2]
    assert study.select(methods=["cam:b", "lime"]).series == series[1:]
    assert study.with_maps() == series[:2]


def test_an_unknown_name_is_an_error_that_lists_near_ones_or_else_the_known(study):
    with raises(SalstatsError, option="tasks", value="Oedema", choices=("Edema", "Nodule")) as caught:
        study.select(tasks=["Edema", "Oedema"])
    assert "'Edema'" in str(caught.value)
    assert "Nodule" not in str(caught.value)
    # both in the message, as none is near
    with raises(SalstatsError, value="Mass", choices=("Edema", "Nodule"), match="'Edema', 'Nodule'"):
        study.select(tasks=["Mass"])
    with raises(SalstatsError, option="tasks", value=None):
        selected_names([], ["Edema"], "task", "study", required=True)
    assert selected_names(None, ["b", "a"], "task", "study") == ("b", "a")
    assert selected_names("a", ["b", "a"], "task", "study") == ("a",)


def test_the_majority_of_readers_becomes_the_truth_and_they_are_scored_no_more():
    study = study_of_readers().with_truth("majority")
    assert study.readers() == ()
    assert study.truth == "majority"
    [case] = study.cases
    # two of three readers mark the second pixel, one the third
    assert decode(case.truths["Edema"].read()).tolist() == [[True, True, False, False]]
    assert [p.series.method for p in case.predictions] == ["cam"]


def test_readers_who_make_no_truth_stay_as_the_benchmark():
    study = study_of_readers().with_truth("majority", readers=["R1", "R3"])
    assert study.readers() == ("R2",)
    assert {series.reader for series in study.series} == {"R2", None}
    # of two readers only pixels that both mark are the truth
    [case] = study.cases
    assert decode(case.truths["Edema"].read()).tolist() == [[True, False, False, False]]


def test_a_consensus_needs_two_readers_with_one_series_each():
    with raises(SalstatsError, option="readers"):
        study_of_readers().with_truth("majority", readers=["R1"])
    with raises(SalstatsError, option="readers", value="R4", choices=("R1", "R2", "R3")):
        study_of_readers().with_truth("majority", readers=["R1", "R4"])
    with raises(ValueRangeError, option="truth", value="mean", choices=("majority", "staple")):
        study_of_readers().with_truth("mean")
    double = Study(
        (), (), (Series("human", reader="R1"), Series("box", reader="R1"), Series("c", reader="R2"))
    )
    with raises(SalstatsError, option="readers", value="R1", choices=()):
        double.with_truth("majority")


def test_cases_of_one_reader_are_counted_in_a_warning():
    readers = {("a", "t", "R1"): MASKS["R1"], ("a", "t", "R2"): MASKS["R2"], ("b", "t", "R1"): MASKS["R1"]}
    maps = {("a", "t", "cam"): np.eye(4)[:1], ("b", "t", "cam"): np.eye(4)[:1]}
    study = ss.study_from_arrays({}, maps, readers=readers)
    with warns(column="case", value=["b"], match=r"\b2\b"):
        study.with_truth("majority")


def test_a_case_that_no_reader_has_read_is_not_annotated():
    study = study_of_readers()
    longer = replace(study, cases=(*study.cases, Case("b", (1, 4)))).with_truth("majority")
    assert [case.annotated for case in longer] == [True, False]


def test_masks_of_several_sizes_are_an_error_that_names_the_case():
    predictions = []
    for reader, width in (("R1", 2), ("R2", 3)):
        mask = encode(np.ones((2, width), bool))
        read = partial(returned_unchanged, Content(mask=mask))
        predictions.append(Prediction("t", Series("human", reader=reader), read, "here"))
    series = tuple(p.series for p in predictions)
    study = Study((Case("a", None, predictions=tuple(predictions)),), ("t",), series)
    truth = study.with_truth("majority").cases[0].truths["t"]
    with raises(ShapeError, option="readers", value=("a", "t")):
        truth.read()
    points = replace(predictions[0], read=partial(returned_unchanged, Content()))
    without_mask = Study((Case("a", None, predictions=(points, predictions[1])),), ("t",), series)
    truth = without_mask.with_truth("majority").cases[0].truths["t"]
    with raises(SalstatsError, match="'a'.*'t'.*R1"):
        truth.read()


def test_a_study_of_gaze_has_recordings(study):
    with raises(SalstatsError, option="study", value="arrays"):
        check_gaze(study)
    with raises(SalstatsError, option="study", value="str"):
        check_gaze("folder")
    recordings = (
        Recording("P1", "0", dict, "here"),
        Recording("P2", None, dict, "here", excluded="discarded"),
    )
    gaze = Study((Case("1", (4, 4), recordings=recordings),))
    assert check_gaze(gaze) is gaze
    assert gaze.cases[0].used == recordings[:1]
    assert "1 recordings" in repr(gaze)


def test_a_case_without_a_size_is_an_error_where_it_is_needed(study):
    assert shape_of(study.cases[0]) == (3, 3)
    with raises(SalstatsError, option="case", value="x"):
        shape_of(Case("x", None))


def test_a_study_can_be_sent_to_another_process(study):
    copy = pickle.loads(pickle.dumps(study))
    truth = copy.cases[0].truths["Edema"]
    assert isinstance(truth, Truth)
    assert truth.read() == study.cases[0].truths["Edema"].read()


def test_the_chest_box_of_a_case_is_the_mean_of_those_of_the_recordings_used():
    def recording(box=None, excluded=None):
        return Recording("a", None, partial(returned_unchanged, None), "a.csv", excluded=excluded, box=box)

    first, second, third = Box(0, 0, 10, 20), Box(2, 4, 14, 30), Box(50, 50, 60, 60)
    recordings = (recording(first), recording(), recording(third, "discarded"), recording(second))
    case = Case("a", (100, 100), recordings=recordings)
    assert case.used == (recordings[0], recordings[1], recordings[3])
    assert case.box == Box(1, 2, 12, 25)
    assert Case("a", (100, 100), recordings=recordings[1:3]).box is None


def test_a_series_is_named_by_its_method_with_the_mixing_and_written_with_all_its_names():
    series = Series("gradcam", "densenet", None, "r1")
    assert (series.name, str(series)) == ("gradcam", "gradcam:densenet:r1")
    assert Series("gradcam", mixing="uniform").name == "gradcam_uniform"

"""Masks that are kept: those of the CheXlocalize scripts, and those that score compares."""

import json

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import InputFileError, SalstatsError
from salstats.images import masks


@pytest.fixture(scope="module")
def some(made_up_study):
    """Twelve cases of the made-up study, with and without findings."""
    return made_up_study.select(cases=[c.case for c in made_up_study][:12])


@pytest.mark.parametrize("name", ["seg_otsu", "seg_otsu_prob", "seg_threshold"])
def test_masks_are_the_scripts_but_for_single_pixels(made_up, some, name):
    tuned = made_up / "expected" / "tune"
    options = {
        "seg_otsu": {},
        "seg_otsu_prob": {"cutoff": tuned / "probability_tuning_results.csv"},
        "seg_threshold": {"threshold": tuned / "tuning_results.csv"},
    }[name]
    theirs = json.loads((made_up / "expected" / f"{name}.json").read_text())
    ours = ss.segment(some, **options)
    assert list(ours) == [c.case for c in some]
    differing = [
        np.count_nonzero(masks.decode(rle) != masks.decode(masks.Rle.from_coco(theirs[case][task])))
        for case, by_task in ours.items()
        for task, rle in by_task.items()
    ]
    assert len(differing) == 120
    # a fused multiply-add in their resize decides single pixels, see tests/images/test_maps
    assert max(differing) <= 2
    assert np.mean(np.array(differing) == 0) > 0.97


def test_what_is_written_scores_as_the_maps_do(drawn_study, drawn_folder, tmp_path):
    file = ss.write_masks(ss.segment(drawn_study), tmp_path / "masks.json")
    stored = ss.read_chexlocalize(drawn_folder, masks={"saliency": file})
    columns = ["case", "task", "method", "score", "tp", "fp", "fn", "tn"]
    one, two = (ss.score(s, metrics="iou")[columns] for s in (drawn_study, stored))
    pd.testing.assert_frame_equal(one, two)


def drawn(saliency, **given):
    truth = np.zeros((8, 8), bool)
    truth[2:5, 2:5] = True
    return ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): saliency}, **given)


def test_below_a_cutoff_and_of_one_value_a_mask_is_empty():
    blob = np.eye(8)
    below = drawn(blob, prob={("a", "Edema"): 0.3})
    assert masks.area(ss.segment(below, cutoff=0.4)["a"]["Edema"]) == 0
    assert masks.area(ss.segment(below, cutoff=0.3)["a"]["Edema"]) > 0
    assert masks.area(ss.segment(drawn(blob), cutoff=0.3)["a"]["Edema"]) == 0
    assert masks.area(ss.segment(drawn(np.ones((8, 8))))["a"]["Edema"]) == 0


def test_a_map_of_nan_has_no_mask():
    assert ss.segment(drawn(np.full((8, 8), np.nan))) == {}


def test_a_method_has_to_be_named_where_there_are_several():
    truth = {("a", "Edema"): np.eye(8, dtype=bool)}
    maps = {("a", "Edema", "cam"): np.eye(8), ("a", "Edema", "ig"): np.eye(8)[::-1]}
    two = ss.study_from_arrays(truth, maps, human={})
    with raises(SalstatsError, option="method", value=None, choices=("cam", "ig")):
        ss.segment(two)
    with raises(SalstatsError, option="method", value="human", choices=("cam", "ig")):
        ss.segment(two, method="human")
    for method in ("cam", "ig"):
        mask = masks.decode(ss.segment(two, method=method)["a"]["Edema"])
        np.testing.assert_array_equal(mask, maps["a", "Edema", method])
    with raises(SalstatsError, option="study", value="arrays"):
        ss.segment(ss.study_from_arrays(truth, {}, human={}))


def test_an_existing_file_is_replaced_only_when_asked(tmp_path):
    made = ss.segment(drawn(np.eye(8)))
    file = ss.write_masks(made, tmp_path / "masks.json")
    with raises(InputFileError, option="overwrite"):
        ss.write_masks({}, file)
    assert list(json.loads(file.read_text())) == ["a"]
    ss.write_masks({}, file, overwrite=True)
    assert json.loads(file.read_text()) == {}
    with raises(InputFileError, choices=(".json",), path=tmp_path / "masks.csv"):
        ss.write_masks(made, tmp_path / "masks.csv")

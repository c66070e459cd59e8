"""The energy of a study's maps: beside other scores, and where it is undefined."""

import cv2
import numpy as np
import pytest
from map_folders import ABSENT, CASES, SHAPE, TASKS, saliency, truth, write_map_folder

import salstats as ss
from salstats.images import masks
from salstats.images.maps import SaliencyOnImage
from salstats.study import Case, Content, Prediction, Series, Study, Truth

#: OpenCV weighs samples in float32, whose spacing below 1 is 6e-8; a few such weights make a ratio.
SINGLE = 1e-6


def plain(array, mask):
    """The share of the resized map's positive part that lies in a mask."""
    values = cv2.resize(np.maximum(array, 0).astype(float), mask.shape[::-1], interpolation=cv2.INTER_LINEAR)
    return values[mask].sum() / values.sum()


def of_arrays(array, finding=None, **content):
    """A study of one case, task and method."""
    drawn = truth("a", "Edema") if finding is None else finding
    held = Content(saliency=None if array is None else np.asarray(array), shape=SHAPE, **content)
    answer = Prediction("Edema", Series("m"), lambda: held, "here", has_saliency=array is not None)
    case = Case("a", SHAPE, {"Edema": Truth(lambda: masks.encode(drawn))}, (answer,))
    return Study((case,), ("Edema",), (Series("m"),))


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """The scores of a map folder with people's masks, energy among them."""
    folder = write_map_folder(tmp_path_factory.mktemp("energy") / "maps", human=True)
    return ss.score(folder, metrics=["iou", "hit", "energy"], threshold=0.4, cutoff=0.3, smooth=3)


def test_it_is_that_of_each_map_and_truth(scored):
    rows = scored.query("metric == 'energy' and method == 'ig'").set_index(["case", "task"])
    for case in CASES:
        for task in TASKS:
            row = rows.loc[(case, task)]
            if (case, task) == ABSENT:
                assert np.isnan(row["score"])
                assert row["reason"] == "finding absent"
            else:
                expected = plain(saliency(case, task, "ig"), truth(case, task))
                assert row["score"] == pytest.approx(expected, abs=SINGLE)
                assert 0 < row["score"] < 1


def test_what_makes_a_mask_neither_changes_it_nor_stands_beside_it(scored, tmp_path):
    rows = scored.query("metric == 'energy'")
    assert rows[["threshold", "cutoff", "smooth", "tp", "fp", "fn", "tn"]].isna().all(axis=None)
    alone = ss.score(write_map_folder(tmp_path / "maps", human=True), metrics="energy")
    assert alone["score"].to_list() == pytest.approx(rows["score"].to_list(), abs=0, nan_ok=True)
    assert not set(alone.columns) & {"threshold", "tp"}


def test_masks_people_and_points_have_none(scored):
    people = scored.query("metric == 'energy' and method == 'human'")
    assert people["score"].isna().all()
    assert people["reason"].value_counts().to_dict() == {"no map": 5, "finding absent": 1}
    for content in ({"mask": masks.empty(SHAPE)}, {"points": np.array([[5.0, 8.0]])}):
        row = ss.score(of_arrays(None, **content), metrics=["energy", "hit"]).iloc[0]
        assert (row["metric"], row["reason"]) == ("energy", "no map")


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_map_that_is_nowhere_positive_is_undefined_or_the_worst(value):
    study = of_arrays(np.full((4, 4), value))
    row = ss.score(study, metrics="energy").iloc[0]
    assert np.isnan(row["score"])
    assert row["reason"] == "nothing positive"
    worst = ss.score(study, metrics="energy", undefined="worst").iloc[0]
    assert worst["score"] == 0
    assert worst["undefined"] == "worst"


def test_where_the_finding_is_absent_it_is_undefined_on_every_slice():
    study = of_arrays(np.ones((4, 4)), np.zeros(SHAPE, bool))
    for chosen in ("true-positive", "full"):
        row = ss.score(study, metrics="energy", slice=chosen, undefined="worst").iloc[0]
        assert np.isnan(row["score"])
        assert row["reason"] == "finding absent"


def test_no_mask_is_made_and_no_peak_is_sought_for_it(monkeypatch):
    def never(*_):
        raise AssertionError("not needed")

    for name in ("_transposed_mask", "_transposed_image_sized_map_from_0_to"):
        monkeypatch.setattr(SaliencyOnImage, name, never)
    monkeypatch.setattr(SaliencyOnImage, "peak", property(never))
    assert ss.score(of_arrays(np.eye(4)), metrics="energy")["score"].notna().all()


def test_on_the_published_maps_it_is_the_plain_steps(shared):
    study = ss.read_chexlocalize(shared / "data" / "chexlocalize_sample")
    found = (
        ss.score(study, metrics="energy").query("method == 'saliency'").set_index(["case", "task"])["score"]
    )
    assert found.notna().sum() >= 4
    for case in study:
        for answer in case.predictions:
            if answer.has_saliency and found.get((case.case, answer.task), np.nan) > 0:
                expected = plain(answer.read().saliency, masks.decode(case.truths[answer.task].read()))
                assert found[case.case, answer.task] == pytest.approx(expected, abs=SINGLE)

"""COCO: annotations as pycocotools reads them, results as masks, maps beside them."""

import contextlib
import io
import json
import math
import warnings

import numpy as np
import pytest
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from tests_support import raises, warns

import salstats as ss
from salstats.errors import InputFileError, SalstatsError
from salstats.images.masks import decode
from salstats.readers.coco import read_coco

SHAPE = (20, 30)
DISC = np.hypot(*np.indices(SHAPE) - np.array([[[8]], [[20]]])) < 5


def coded(mask):
    """A mask as results hold it."""
    rle = coco_mask.encode(np.asfortranarray(mask, dtype=np.uint8))
    return {"size": list(rle["size"]), "counts": rle["counts"].decode()}


def runs(mask):
    """A mask as crowds hold it: run lengths that are not compressed."""
    flat = mask.ravel(order="F").astype(int)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flat, [1 - flat[-1]]])))
    return {"size": list(mask.shape), "counts": np.diff([0, *edges]).tolist()}


@pytest.fixture
def content():
    """Two images, two categories; polygons, a run-length code and a crowd."""
    return {
        "images": [
            {"id": 7, "file_name": "val/b.jpg", "height": 20, "width": 30},
            {"id": 9, "file_name": "a.png", "height": 20, "width": 30},
        ],
        "categories": [{"id": 3, "name": "cat"}, {"id": 1, "name": "dog"}],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 3, "segmentation": [[2.5, 1, 14, 3, 9, 17]]},
            {"id": 2, "image_id": 7, "category_id": 3, "iscrowd": 0, "segmentation": coded(DISC)},
            {
                "id": 3, "image_id": 9, "category_id": 1, "iscrowd": 0,
                "segmentation": [[1, 1, 5, 1, 5, 5], [10, 10, 29, 10, 29, 19, 10, 19]],
            },
            {"id": 4, "image_id": 9, "category_id": 3, "iscrowd": 1, "segmentation": runs(~DISC)},
        ],
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path, content):
    """A folder with annotations and one file of results."""
    results = [
        {"image_id": 7, "category_id": 3, "segmentation": coded(DISC), "score": 0.9},
        {"image_id": 7, "category_id": 3, "segmentation": coded(np.eye(*SHAPE)), "score": 0.6},
        {"image_id": 7, "category_id": 3, "segmentation": coded(np.ones(SHAPE)), "score": 0.2},
        {"image_id": 9, "category_id": 1, "segmentation": coded(DISC), "score": 0.4},
    ]
    (tmp_path / "instances_val.json").write_text(json.dumps(content))
    (tmp_path / "segm_results.json").write_text(json.dumps(results))
    return tmp_path


def test_the_truth_is_what_pycocotools_draws(folder, content):
    with contextlib.redirect_stdout(io.StringIO()):
        oracle = COCO(str(folder / "instances_val.json"))
    study = ss.read_study(folder)
    assert [case.case for case in study] == ["a", "b"]
    assert study.tasks == ("cat", "dog")
    n_marked = 0
    for case, image in zip(study, (9, 7), strict=True):
        for task, category in (("cat", 3), ("dog", 1)):
            own = oracle.loadAnns(oracle.getAnnIds(imgIds=[image], catIds=[category]))
            assert (task in case.truths) == bool(own)
            assert case.labels[task] == bool(own)
            if own:
                with warnings.catch_warnings():
                    # pycocotools' own arrays are behind NumPy
                    warnings.simplefilter("ignore", DeprecationWarning)
                    expected = np.any([oracle.annToMask(each) for each in own], axis=0)
                assert np.array_equal(decode(case.truths[task].read()), expected)
                n_marked += expected.sum()
    assert n_marked > 500
    instances = {(c.case, t): truth.n_instances for c in study for t, truth in c.truths.items()}
    assert instances == {("a", "cat"): None, ("a", "dog"): 1, ("b", "cat"): 2}


def test_results_of_a_score_or_more_are_one_mask(folder):
    a, b = read_coco(folder, method="maskrcnn")
    read = {p.task: p.read() for p in b.predictions}
    assert np.array_equal(decode(read["cat"].mask), DISC | np.eye(*SHAPE, dtype=bool))
    assert read["cat"].prob == 0.9
    assert not decode(read["dog"].mask).any()
    assert np.isnan(read["dog"].prob)
    assert not decode(a.predictions[1].read().mask).any()
    of_all = read_coco(folder, min_score=0).cases[1].predictions[0].read()
    assert decode(of_all.mask).all()


def test_scores_of_results_are_those_of_their_pixels(folder):
    study = read_coco(folder, min_score=0.3)
    scores = ss.score(study, metrics=["iou"], progress=False)
    found = scores.dropna(subset="score").set_index(["case", "task"])["score"].to_dict()
    a, b = ({t: decode(truth.read()) for t, truth in case.truths.items()} for case in study)
    of_cat = DISC | np.eye(*SHAPE, dtype=bool)
    assert found == {
        ("a", "dog"): (a["dog"] & DISC).sum() / (a["dog"] | DISC).sum(),
        ("b", "cat"): (b["cat"] & of_cat).sum() / (b["cat"] | of_cat).sum(),
    }
    assert min(found.values()) > 0.01


def test_maps_lie_beside_the_results_by_category_and_case(folder):
    for category, case in (("cat", "b"), ("dog", "a"), ("dog", "elsewhere")):
        (folder / "cam" / category).mkdir(parents=True, exist_ok=True)
        np.save(folder / "cam" / category / f"{case}.npy", np.eye(4))
    with warns(column="case", value=["elsewhere"], path=folder / "cam"):
        study = read_coco(folder, maps={"gradcam": folder / "cam"})
    assert [str(series) for series in study.series] == ["saliency", "gradcam"]
    held = [(c.case, p.task) for c in study for p in c.predictions if p.has_saliency]
    assert held == [("a", "dog"), ("b", "cat")]


def test_results_and_maps_of_one_name_are_one_answer(folder):
    (folder / "cam" / "dog").mkdir(parents=True)
    np.save(folder / "cam" / "dog" / "a.npy", np.eye(4))
    of_results = read_coco(folder).cases[0]
    with_maps = read_coco(folder, maps=folder / "cam").cases[0]
    assert len(with_maps.predictions) == len(of_results.predictions)
    for key, answer in of_results.answers.items():
        content = with_maps.answers[key].read()
        assert content.mask == answer.read().mask
        np.testing.assert_equal(content.prob, answer.read().prob)
        assert (content.saliency is not None) is (key[0] == "dog")


def test_tasks_choose_categories_in_their_order(folder):
    assert read_coco(folder, tasks=["dog", "cat"]).tasks == ("dog", "cat")
    with raises(SalstatsError, value="cow", choices=("cat", "dog")):
        read_coco(folder, tasks=["cow"])


def changed(content, *places, value):
    """The annotations with one value replaced."""
    inner = content
    for place in places[:-1]:
        inner = inner[place]
    inner[places[-1]] = value
    return content


#: Column and rows of the error of a polygon in the first annotation.
POLYGON = ("segmentation", (0,))


@pytest.mark.parametrize(
    ("places", "value", "column", "rows", "wrong"),
    [
        (("images", 0, "height"), 0, "height", (0,), (0, 30)),
        (("images", 0, "height"), 10**7, "height", (0,), (10**7, 30)),
        pytest.param(*(("images", 0, "height"), 10**290, "height", (0,), (10**290, 30)), id="290 digits"),
        pytest.param(*(("images", 0, "height"), 10**400, "height", (0,), math.inf), id="400 digits"),
        (("annotations", 1, "segmentation", "size"), [20, 10**400], "size", (1,), [20, math.inf]),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 5, 10**400]], *POLYGON, [1, 2, 3, 4, 5, math.inf]),
        # the case
        (("images", 1, "file_name"), "other/b.png", "file_name", (1,), "b"),
        (("images", 1, "id"), 7, "id", (1,), 7),
        (("images",), [], "images", (), None),
        (("images",), {}, "images", (), None),
        (("categories", 1, "name"), "cat", "name", (1,), "cat"),
        (("annotations", 1, "image_id"), 8, "image_id", (1,), 8),
        (("annotations", 1, "category_id"), 8, "category_id", (1,), 8),
        (("annotations", 1, "category_id"), None, "category_id", (1,), None),
        (("annotations", 0, "segmentation"), [], *POLYGON, None),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4]], *POLYGON, [1, 2, 3, 4]),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 5, "x"]], *POLYGON, [1, 2, 3, 4, 5, "x"]),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 5]], *POLYGON, [1, 2, 3, 4, 5]),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 5, 1e9]], *POLYGON, [1, 2, 3, 4, 5, 1e9]),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 75.5, 5]], *POLYGON, [1, 2, 3, 4, 75.5, 5]),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 5, None]], *POLYGON, [1, 2, 3, 4, 5, None]),
        # the pixels of all runs
        (("annotations", 1, "segmentation", "size"), [20, 31], "counts", (1,), 600),
        (("annotations", 1, "segmentation", "counts"), "zz", "counts", (1,), "z"),
        (("annotations", 3, "segmentation", "counts"), [1, 2], "counts", (3,), 3),
        (("annotations", 0), {"image_id": 7}, "category_id", (0,), None),
    ],
)
def test_what_is_wrong_is_named_with_its_place(folder, content, places, value, column, rows, wrong):
    file = folder / "instances_val.json"
    file.write_text(json.dumps(changed(content, *places, value=value)))
    with raises(InputFileError, path=file, column=column, rows=rows, value=wrong):
        read_coco(folder)


@pytest.mark.parametrize("score", [2, None, "x"])
def test_a_result_without_a_score_is_refused(folder, score):
    one = {"image_id": 7, "category_id": 3, "segmentation": coded(DISC), "score": score}
    file = folder / "segm_results.json"
    file.write_text(json.dumps([one]))
    with raises(InputFileError, path=file, column="score", rows=(0,), value=score):
        read_coco(folder)


def test_annotations_that_are_not_there_or_are_several_are_to_be_named(folder, tmp_path):
    (folder / "annotations.json").write_text("{}")
    names = ("annotations.json", "instances_val.json")
    with raises(InputFileError, option="truth", choices=names, path=folder):
        read_coco(folder)
    assert len(read_coco(folder, truth=folder / "instances_val.json")) == 2
    empty_folder = tmp_path / "empty"
    empty_folder.mkdir()
    with raises(InputFileError, option="truth", choices=(), path=empty_folder):
        read_coco(empty_folder)
    file = folder / "segm_results.json"
    with raises(InputFileError, path=file, column="images"):
        read_coco(folder, truth=file)


def test_a_polygon_may_reach_two_sides_from_the_middle_of_its_image(folder, content):
    longest = max(SHAPE)
    polygon = [1, 2, 10, 2, SHAPE[1] / 2 + 2 * longest, 15]
    content["annotations"][0]["segmentation"] = [polygon]
    (folder / "instances_val.json").write_text(json.dumps(content))
    with contextlib.redirect_stdout(io.StringIO()):
        oracle = COCO(str(folder / "instances_val.json"))
    with warnings.catch_warnings():
        # pycocotools' own arrays are behind NumPy
        warnings.simplefilter("ignore", DeprecationWarning)
        expected = oracle.annToMask(oracle.loadAnns([1])[0]) | DISC
    np.testing.assert_array_equal(decode(read_coco(folder).cases[1].truths["cat"].read()), expected)


@pytest.mark.parametrize("shape", [(21, 30), (20, 29), (30, 20)])
def test_a_mask_of_another_size_than_its_image_is_an_error(folder, content, shape):
    file = folder / "instances_val.json"
    other = coded(np.ones(shape))
    file.write_text(json.dumps(changed(content, "annotations", 1, "segmentation", value=other)))
    with raises(InputFileError, path=file, column="size", rows=(1,), value=shape):
        read_coco(folder)

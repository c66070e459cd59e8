"""COCO: annotations as pycocotools reads them, results as masks, maps beside them."""

import contextlib
import io
import json
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


@pytest.mark.parametrize(
    ("places", "value", "message"),
    [
        (("images", 0, "height"), 0, "entry 1 of images: height and width must be two positive"),
        (("images", 0, "height"), 10**7, r"entry 1 of images: .*10000000 x 30 would take"),
        pytest.param(
            *(("images", 0, "height"), 10**290, "entry 1 of images: height and width 1000.* is too large"),
            id="290 digits",
        ),
        pytest.param(
            *(("images", 0, "height"), 10**400, "entry 1 of images: height cannot be inf"), id="400 digits"
        ),
        (("annotations", 1, "segmentation", "size"), [20, 10**400], "entry 2 of annotations: size must be"),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 5, 10**400]], "a polygon .* lies far outside"),
        (("images", 1, "file_name"), "other/b.png", "entry 2 of images.*'b' stands twice"),
        (("images", 1, "id"), 7, "entry 2 of images.*stands twice"),
        (("images",), [], "holds no image"),
        (("images",), {}, "its images are no list"),
        (("categories", 1, "name"), "cat", "entry 2 of categories.*'cat' stands twice"),
        (("annotations", 1, "image_id"), 8, "entry 2 of annotations: image_id 8 is no image"),
        (("annotations", 1, "category_id"), 8, "entry 2 of annotations: category_id 8 is no category"),
        (("annotations", 1, "category_id"), None, "entry 2 of annotations: category_id cannot be None"),
        (("annotations", 0, "segmentation"), [], "entry 1 of annotations: its segmentation is empty"),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4]], "a polygon has fewer than three points"),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 5, "x"]], "a polygon is not x, y"),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 5]], "a polygon is not x, y"),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 5, 1e9]], "a polygon .* lies far outside"),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 75.5, 5]], "a polygon .* lies far outside"),
        (("annotations", 0, "segmentation"), [[1, 2, 3, 4, 5, None]], "a polygon .* lies far outside"),
        (("annotations", 1, "segmentation", "size"), [20, 31], "entry 2 of annotations"),
        (("annotations", 1, "segmentation", "counts"), "zz", "entry 2 of annotations"),
        (("annotations", 3, "segmentation", "counts"), [1, 2], "entry 4 of annotations"),
        (("annotations", 0), {"image_id": 7}, "entry 1 of annotations: no 'category_id'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(folder, content, places, value, message):
    (folder / "instances_val.json").write_text(json.dumps(changed(content, *places, value=value)))
    with pytest.raises(InputFileError, match=message):
        read_coco(folder)


@pytest.mark.parametrize(("score", "message"), [(2, "score 2"), (None, "score None"), ("x", "score 'x'")])
def test_a_result_without_a_score_is_refused(folder, score, message):
    one = {"image_id": 7, "category_id": 3, "segmentation": coded(DISC), "score": score}
    (folder / "segm_results.json").write_text(json.dumps([one]))
    with pytest.raises(InputFileError, match=rf"segm_results\.json, entry 1 of results: {message}"):
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
    with pytest.raises(InputFileError, match="not an object with images"):
        read_coco(folder, truth=folder / "segm_results.json")


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

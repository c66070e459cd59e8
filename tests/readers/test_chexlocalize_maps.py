"""What a map's file holds, and what is said of damaged ones."""

import os
import pickle

import numpy as np
import pytest
from chexlocalize_files import HEIGHT, ONE, TWO, WIDTH, answer, write_map
from tests_support import raises

from salstats.errors import InputFileError
from salstats.images.masks import area, encode
from salstats.readers.chexlocalize import read_chexlocalize
from salstats.readers.chexlocalize_maps import TASKS, empty_mask_of_image_size, read_prediction_content
from salstats.readers.pickles import UnsafePickleError


@pytest.mark.parametrize("shape", [(2, 3), (1, 2, 3), (1, 1, 2, 3)])
@pytest.mark.parametrize("kind", ["f4", "f8", "i8", "u1"])
def test_maps_of_two_to_four_axes_and_any_numbers(folder, shape, kind):
    write_map(folder / "maps", map=np.arange(6, dtype=kind).reshape(shape))
    got = answer(read_chexlocalize(folder)).saliency
    assert got.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert got.dtype.kind == "f"


@pytest.mark.parametrize(
    "prob",
    [
        0.75,
        np.float32(0.75),
        np.array(0.75),
        np.array([[0.75]]),
        [0.75],
        # fourteen classes, of which Edema is the sixth
        np.where(np.arange(14) == 5, 0.75, 0.1),
    ],
    ids=["float", "numpy", "no axis", "two axes", "list", "classes"],
)
def test_a_probability_in_any_of_its_forms(folder, prob):
    write_map(folder / "maps", prob=prob)
    assert answer(read_chexlocalize(folder)).prob == 0.75


def test_the_classes_of_a_vector_stand_in_the_order_of_the_scripts(folder):
    scripts = ["No Finding", *TASKS[:6], "Pneumonia", *TASKS[6:9], "Pleural Other", "Fracture", TASKS[9]]
    assert len(scripts) == 14
    for task in TASKS:
        write_map(folder / "maps", ONE, task, prob=np.arange(14) / 100)
    study = read_chexlocalize(folder)
    for task in TASKS:
        assert answer(study, task=task).prob == scripts.index(task) / 100


def test_what_a_map_does_not_say_is_not_known(folder):
    write_map(folder / "maps", prob=None, gt=None, task="Edema")
    content = answer(read_chexlocalize(folder))
    assert np.isnan(content.prob)
    assert np.isnan(content.label)


@pytest.mark.parametrize("label", [0, 1, np.float32(0), [1]])
def test_the_label_of_an_image_is_0_or_1(folder, label):
    write_map(folder / "maps", gt=label)
    assert answer(read_chexlocalize(folder)).label == np.ravel(label)[0]


def test_a_map_of_nan_is_read_as_it_is(folder):
    write_map(folder / "maps", map=np.full((2, 3), np.nan, "f4"))
    assert np.isnan(answer(read_chexlocalize(folder)).saliency).all()


LOOP: list = []
LOOP += [LOOP, LOOP]


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"map": None}, {"column": "map", "choices": ("prob", "task", "gt", "cxr_dims")}),
        ({"map": np.zeros((2, 2, 3))}, {"value": (2, 2, 3)}),
        ({"map": np.zeros((0, 3))}, {"value": np.dtype(float)}),
        ({"map": np.array([["a"]])}, {"value": np.dtype("U1")}),
        ({"map": LOOP}, {"column": "map", "choices": ()}),
        ({"prob": "high"}, {"column": "prob", "value": None}),
        ({"prob": LOOP}, {"column": "prob", "value": None}),
        ({"prob": 1.0000001}, {"column": "prob", "value": 1.0000001}),
        ({"prob": np.zeros(3)}, {"column": "prob", "value": [0, 0, 0]}),
        ({"gt": 2}, {"column": "gt", "value": 2}),
        # the sizes as (height, width)
        ({"cxr_dims": (WIDTH,)}, {"column": "cxr_dims", "value": [WIDTH]}),
        ({"cxr_dims": (WIDTH, 0)}, {"column": "cxr_dims", "value": [0, WIDTH]}),
        ({"cxr_dims": (2**16, 2**16)}, {"column": "cxr_dims", "value": (2**16, 2**16)}),
        # OpenCV would crash, and the process with it
        ({"cxr_dims": (2**28, 1)}, {"column": "cxr_dims", "value": (1, 2**28)}),
        ({"cxr_dims": (WIDTH, 10**300)}, {"column": "cxr_dims", "value": (int(1e300), WIDTH)}),
        ({"cxr_dims": (WIDTH, 10**400)}, {"column": "cxr_dims", "value": None}),
        ({"prob": -(10**400)}, {"column": "prob", "value": None}),
        ({"gt": [10**400]}, {"column": "gt", "value": None}),
        ({"map": 1 << 20_000}, {"column": "map", "choices": ()}),
        ({"cxr_dims": "30x20"}, {"column": "cxr_dims", "value": None}),
        (
            {"cxr_dims": (HEIGHT, WIDTH)},
            {
                "column": "cxr_dims",
                "value": (WIDTH, HEIGHT),
                "hint": "cxr_dims is (width, height)",
                # the file and the size that stand against it
                "match": r"gt_segmentations_val\.json 20 x 30",
            },
        ),
    ],
)
def test_damaged_maps_are_named_errors(folder, changed, fields):
    file = write_map(folder / "maps", **changed)
    study = read_chexlocalize(folder)
    with raises(InputFileError, path=file, **fields) as caught:
        answer(study)
    assert str(file) in str(caught.value)


def test_a_map_that_says_another_task_than_its_name_is_a_named_error(folder):
    wrong = write_map(folder / "other", ONE, "Cardiomegaly")
    file = wrong.rename(folder / "maps" / f"{ONE}_Edema_map.pkl")
    with raises(InputFileError, path=file, column="task", value="Cardiomegaly"):
        answer(read_chexlocalize(folder))


def test_a_map_whose_image_has_no_size_anywhere_is_a_named_error(folder):
    file = write_map(folder / "maps", TWO, "Edema", cxr_dims=None)
    write_map(folder / "maps", ONE, "Edema", cxr_dims=None)
    study = read_chexlocalize(folder)
    assert answer(study, ONE).shape == (HEIGHT, WIDTH)
    with raises(InputFileError, path=file, column="cxr_dims", value=TWO):
        answer(study, TWO)


def test_a_malicious_map_stops_at_its_name_and_does_not_run(folder, tmp_path_factory):
    hit = tmp_path_factory.mktemp("hit") / "hit"

    class Run:
        def __reduce__(self):
            return os.system, (f"touch {hit}",)

    file = write_map(folder / "maps", cxr_img=Run())
    study = read_chexlocalize(folder)
    with raises(UnsafePickleError, path=file, value="posix.system") as caught:
        answer(study)
    assert str(file) in str(caught.value)
    assert not hit.exists()


def test_a_map_cut_short_or_no_dict_is_a_named_error(folder):
    file = folder / "maps" / f"{ONE}_Edema_map.pkl"
    content = file.read_bytes()
    file.write_bytes(content[:-20])
    study = read_chexlocalize(folder)
    with raises(InputFileError, path=file):
        answer(study)
    file.write_bytes(pickle.dumps([1, 2]))
    with raises(InputFileError, path=file, value="list"):
        answer(study)


def test_a_mask_without_a_map_has_the_size_of_its_image():
    mask = encode(np.eye(HEIGHT, WIDTH, dtype=bool))
    points = np.array([[1.0, 2.0]])
    content = read_prediction_content("Edema", case=ONE, read_mask=lambda: mask, points=points)
    assert (content.mask, content.shape, content.saliency) == (mask, (HEIGHT, WIDTH), None)
    assert content.points is points
    # the size in the file of masks precedes that of the mask
    marked = read_prediction_content("Edema", case=ONE, points=points, shape=(7, 9))
    assert (marked.mask, marked.shape) == (None, (7, 9))


def test_an_image_without_truth_has_an_empty_mask_of_the_size_in_its_map(tmp_path):
    empty_mask = empty_mask_of_image_size(write_map(tmp_path), ONE)
    assert (empty_mask.shape, area(empty_mask)) == ((HEIGHT, WIDTH), 0)
    file = write_map(tmp_path, cxr_dims=None)
    with raises(InputFileError, path=file):
        empty_mask_of_image_size(file, ONE)

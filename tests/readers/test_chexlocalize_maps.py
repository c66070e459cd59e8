"""What a map's file holds, and what is said of damaged ones."""

import os
import pickle

import numpy as np
import pytest
from chexlocalize_files import HEIGHT, ONE, TWO, WIDTH, answer, write_map
from tests_support import raises

from salstats.errors import InputFileError
from salstats.readers.chexlocalize import read_chexlocalize
from salstats.readers.chexlocalize_maps import TASKS
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


def test_a_map_of_nan_is_read_as_it_is(folder):
    write_map(folder / "maps", map=np.full((2, 3), np.nan, "f4"))
    assert np.isnan(answer(read_chexlocalize(folder)).saliency).all()


LOOP: list = []
LOOP += [LOOP, LOOP]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"map": None}, r"no entry 'map' \(entries: prob, task, gt, cxr_dims\)"),
        ({"map": np.zeros((2, 2, 3))}, r"its array has shape \(2, 2, 3\); a map is"),
        ({"map": np.zeros((0, 3))}, r"an array of shape \(0, 3\) .* is no map"),
        ({"map": np.array([["a"]])}, "is no map; it has numbers"),
        ({"map": LOOP}, "its map is a value of type list, not a tensor or array"),
        ({"prob": "high"}, "prob is 'high', not a number"),
        ({"prob": LOOP}, "prob is a value of type list, not a number"),
        ({"prob": 1.0000001}, "prob is 1.0000001, not between 0 and 1"),
        ({"prob": np.zeros(3)}, "prob has 3 entries, not one"),
        ({"gt": 2}, "gt is 2.0, not 0 or 1"),
        ({"cxr_dims": (WIDTH,)}, "cxr_dims, .* must be two positive whole numbers"),
        ({"cxr_dims": (WIDTH, 0)}, r"cxr_dims, here as height x width, .* not \[0, 30\]"),
        ({"cxr_dims": (2**16, 2**16)}, r"cxr_dims.* 65536 x 65536 is too large; a mask holds"),
        # OpenCV would crash, and the process with it
        ({"cxr_dims": (2**28, 1)}, r"cxr_dims.* 1 x 268435456 is too large; a side has"),
        ({"cxr_dims": (WIDTH, 10**300)}, r"cxr_dims.* is too large; a side has"),
        ({"cxr_dims": (WIDTH, 10**400)}, r"cxr_dims holds .*1\.8e308"),
        ({"prob": -(10**400)}, r"prob holds .*1\.8e308"),
        ({"gt": [10**400]}, r"gt holds .*1\.8e308"),
        ({"map": 1 << 20_000}, "its map is a value of type int that is too long to show"),
        ({"cxr_dims": "30x20"}, "cxr_dims is '30x20', not a number"),
        (
            {"cxr_dims": (HEIGHT, WIDTH)},
            r"image is 30 x 20, that of .*gt_seg.* 20 x 30 .*is \(width, height\)",
        ),
    ],
)
def test_damaged_maps_are_named_errors(folder, changed, message):
    file = write_map(folder / "maps", **changed)
    study = read_chexlocalize(folder)
    with pytest.raises(InputFileError, match=message) as caught:
        answer(study)
    assert str(file) in str(caught.value)


def test_a_map_that_says_another_task_than_its_name_is_a_named_error(folder):
    wrong = write_map(folder / "other", ONE, "Cardiomegaly")
    wrong.rename(folder / "maps" / f"{ONE}_Edema_map.pkl")
    with pytest.raises(InputFileError, match=r"'Edema'.*'Cardiomegaly'"):
        answer(read_chexlocalize(folder))


def test_a_map_whose_image_has_no_size_anywhere_is_a_named_error(folder):
    write_map(folder / "maps", TWO, "Edema", cxr_dims=None)
    write_map(folder / "maps", ONE, "Edema", cxr_dims=None)
    study = read_chexlocalize(folder)
    assert answer(study, ONE).shape == (HEIGHT, WIDTH)
    with pytest.raises(InputFileError, match=f"no 'cxr_dims', .* no other file says the size of case {TWO}"):
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
    with pytest.raises(InputFileError, match=r"Edema_map\.pkl: not a pickle, or a damaged one"):
        answer(study)
    file.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(InputFileError, match=r"Edema_map\.pkl: holds a list"):
        answer(study)

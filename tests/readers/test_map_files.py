import json
import os
import re
import warnings

import cv2
import numpy as np
import pytest
from PIL import Image
from tests_support import raises, warns
from torch_pickles import pickle_that_makes_folder

from salstats.errors import InputFileError
from salstats.images import masks
from salstats.memory_limit import LIMIT_VARIABLE
from salstats.readers.image_files import image_shape, read_grey
from salstats.readers.map_files import (
    MAP_SUFFIXES,
    VOLUME_SUFFIXES,
    files_below,
    find_case_files,
    find_files_by_task_and_case,
    read_map,
    read_mask,
    read_rle,
    warn_if_map_has_sides_exchanged,
    warn_of_stretched_maps,
    warn_of_turned_and_stretched_maps,
)
from salstats.readers.pickle_machine import UnsafePickleError

RAMP = np.arange(12).reshape(3, 4)
MASK = np.array([[0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 0, 1]], dtype=bool)


def saved(path, pixels, **options):
    """An image file of these pixels."""
    Image.fromarray(pixels).save(path, **options)
    return path


def test_a_damaged_image_is_one_error_and_no_warning_of_pillow(tmp_path):
    for n_bytes in (20, 60):
        path = saved(tmp_path / "a.tif", MASK.astype(np.uint8))
        path.write_bytes(path.read_bytes()[:n_bytes])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with raises(InputFileError, path=path, value=None, hint=""):
                read_grey(path)


@pytest.mark.parametrize("suffix", [".tif", ".png", ".npy", ".npz"])
def test_a_pipe_is_never_waited_for(tmp_path, suffix):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with raises(InputFileError, path=tmp_path / f"pipe{suffix}", hint="give a file"):
        read_map(tmp_path / f"pipe{suffix}")
    with raises(InputFileError, path=tmp_path / f"folder{suffix}", hint="give a file"):
        read_map(tmp_path / f"folder{suffix}")


class TestFindTaskFiles:
    def test_a_folder_is_a_task(self, tmp_path):
        for name in ("Edema/a.npy", "Edema/b.npy", "Mass/a.npy", ".hidden/a.npy"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        found = find_files_by_task_and_case(tmp_path, MAP_SUFFIXES)
        assert {task: list(files) for task, files in found.items()} == {"Edema": ["a", "b"], "Mass": ["a"]}
        assert find_files_by_task_and_case(tmp_path / "Mass", MAP_SUFFIXES, "x") == {
            "x": {"a": tmp_path / "Mass/a.npy"}
        }
        with raises(InputFileError, path=tmp_path / "Mass" / "a.npy"):
            find_files_by_task_and_case(tmp_path / "Mass", MAP_SUFFIXES)

    @pytest.mark.parametrize("name", [f"a{suffix}" for suffix in VOLUME_SUFFIXES])
    def test_a_volume_says_how_slices_are_scored(self, tmp_path, name):
        (tmp_path / name).touch()
        for find in (find_case_files, find_files_by_task_and_case):
            with raises(InputFileError, path=tmp_path, choices=MAP_SUFFIXES) as caught:
                find(tmp_path, MAP_SUFFIXES)
            assert [setting.option for setting in caught.value.hint.settings()] == ["patient_from"]

    def test_an_array_of_three_axes_is_a_volume_or_colours(self, tmp_path):
        np.save(tmp_path / "a.npy", np.zeros((5, 8, 8)))
        np.save(tmp_path / "b.npy", np.zeros((8, 8, 3)))
        with raises(InputFileError, path=tmp_path / "a.npy", value=(5, 8, 8)) as caught:
            read_map(tmp_path / "a.npy")
        assert [setting.option for setting in caught.value.hint.settings()] == ["patient_from"]
        with raises(InputFileError, path=tmp_path / "b.npy", value=(8, 8, 3)) as caught:
            read_map(tmp_path / "b.npy")
        assert caught.value.hint
        assert not caught.value.hint.settings()


class TestFindCaseFiles:
    def test_the_case_is_the_name_without_its_ending_below_the_folder_too(self, tmp_path):
        (tmp_path / "sub").mkdir()
        for name in ("b.1.png", "a.NPY", "sub/c.tif", ".hidden.png", "notes.txt"):
            (tmp_path / name).touch()
        found = find_case_files(tmp_path)
        assert {case: file.relative_to(tmp_path).as_posix() for case, file in found.items()} == {
            "a": "a.NPY",
            "b.1": "b.1.png",
            "c": "sub/c.tif",
        }
        assert list(found) == ["a", "b.1", "c"]

    def test_two_files_of_a_case_are_named(self, tmp_path):
        for name in ("a.npy", "a.png"):
            (tmp_path / name).touch()
        # the first of the two files
        first_file = re.escape(str(tmp_path / "a.npy"))
        with raises(InputFileError, path=tmp_path / "a.png", value="a", match=first_file):
            find_case_files(tmp_path)

    def test_a_link_to_a_file_is_followed_and_one_to_nothing_is_said(self, tmp_path):
        there = tmp_path / "store"
        there.touch()
        folder = tmp_path / "maps"
        folder.mkdir()
        (folder / "a.npy").symlink_to(there)
        assert list(find_case_files(folder)) == ["a"]
        (folder / "b.npy").symlink_to(tmp_path / "gone")
        with raises(InputFileError, path=folder / "b.npy", value=None):
            find_case_files(folder)

    def test_a_link_to_a_folder_is_not_searched(self, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "b.npy").touch()
        folder = tmp_path / "maps"
        folder.mkdir()
        (folder / "a.npy").touch()
        (folder / "link").symlink_to(tmp_path / "elsewhere")
        with warns(path=folder / "link"):
            assert list(find_case_files(folder)) == ["a"]


class TestReadMap:
    @pytest.mark.parametrize("suffix", [".png", ".tif"])
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    def test_grey_images_keep_their_numbers(self, tmp_path, suffix, dtype):
        pixels = (RAMP * (20 if dtype is np.uint8 else 5000)).astype(dtype)
        found = read_map(saved(tmp_path / f"a{suffix}", pixels))
        assert found.dtype == np.float64
        assert (found == pixels).all()

    @pytest.mark.parametrize("array", [RAMP, RAMP.astype(np.float16), RAMP[None, None] * 1.0, RAMP > 3])
    def test_arrays(self, tmp_path, array):
        np.save(tmp_path / "a.npy", array)
        np.savez_compressed(tmp_path / "b.npz", map=array)
        for name in ("a.npy", "b.npz"):
            found = read_map(tmp_path / name)
            assert found.dtype == np.float64
            assert (found == array.reshape(3, 4)).all()

    def test_nan_is_left_to_those_who_score(self, tmp_path):
        np.save(tmp_path / "a.npy", np.array([[np.nan, 1.0]]))
        assert np.isnan(read_map(tmp_path / "a.npy")[0, 0])

    @pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "P"])
    def test_colour_and_palettes_that_are_grey(self, tmp_path, mode):
        pixels = (RAMP * 20).astype(np.uint8)
        Image.fromarray(pixels).convert(mode).save(tmp_path / "a.png")
        assert (read_map(tmp_path / "a.png") == pixels).all()

    @pytest.mark.parametrize("mode", ["RGB", "P"])
    def test_colour_is_refused(self, tmp_path, mode):
        pixels = np.zeros((2, 2, 3), np.uint8)
        pixels[0, 0, 0] = 200
        Image.fromarray(pixels).convert(mode).save(tmp_path / "a.png")
        with raises(InputFileError, path=tmp_path / "a.png", value=mode):
            read_map(tmp_path / "a.png")

    def test_colour_of_16_bits_is_not_cut_to_8(self, tmp_path):
        cv2.imwrite(str(tmp_path / "a.png"), np.full((2, 2, 3), 300, np.uint16))
        with raises(InputFileError, path=tmp_path / "a.png", value="RGB;16B"):
            read_map(tmp_path / "a.png")

    def test_transparent_pixels_are_refused(self, tmp_path):
        pixels = np.full((2, 2, 2), 255, np.uint8)
        pixels[0, 0, 1] = 0
        saved(tmp_path / "a.png", pixels)
        with raises(InputFileError, path=tmp_path / "a.png", value="transparency"):
            read_map(tmp_path / "a.png")

    def test_an_image_that_is_too_large_is_refused_by_its_header(self, tmp_path, monkeypatch):
        saved(tmp_path / "a.png", RAMP.astype(np.uint8))
        monkeypatch.setenv("SALSTATS_LIMIT_GB", str(12 * 8 / 2**30))
        assert read_map(tmp_path / "a.png").shape == (3, 4)
        monkeypatch.setenv("SALSTATS_LIMIT_GB", str(11 * 8 / 2**30))
        with raises(InputFileError, option="SALSTATS_LIMIT_GB", value=12 * 8):
            read_map(tmp_path / "a.png")

    @pytest.mark.parametrize("suffix", [".npy", ".npz"])
    def test_python_objects_are_refused(self, tmp_path, suffix):
        array = np.array([[{"a": 1}, None]], dtype=object)
        path = tmp_path / f"a{suffix}"
        if suffix == ".npy":
            np.save(path, array)
            error = UnsafePickleError
            # what stands in the place of the array's bytes
            value = "list"
        else:
            np.savez(path, array)
            error = InputFileError
            value = "arr_0"
        with raises(error, path=path, value=value):
            read_map(path)

    @pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
    def test_a_dict_with_one_array_is_that_array(self, tmp_path, dtype):
        array = np.arange(12).reshape(3, 4).astype(dtype)
        np.save(tmp_path / "0.npy", {"np_image": array, "img_path": "a/b.jpg", "trial": 0})
        found = read_map(tmp_path / "0.npy")
        np.testing.assert_array_equal(found, array)
        assert found.dtype == np.float64

    def test_a_dict_with_an_array_beyond_the_limit_of_memory_is_refused(self, tmp_path, monkeypatch):
        file = tmp_path / "0.npy"
        np.save(file, {"np_image": np.ones((300, 400), np.uint8)})
        # eight bytes for each of 120,000 pixels
        monkeypatch.setenv(LIMIT_VARIABLE, str(960_000 / 2**30))
        assert read_map(file).sum() == 120_000
        monkeypatch.setenv(LIMIT_VARIABLE, str(959_999 / 2**30))
        with raises(InputFileError, option=LIMIT_VARIABLE, value=960_000):
            read_map(file)

    @pytest.mark.parametrize(
        ("held", "error", "value"),
        [
            ({"trial": 0}, InputFileError, 0),
            ({"a": np.eye(2), "b": np.eye(2)}, InputFileError, 2),
            ({1, 2}, InputFileError, 0),
            ({"a": np.eye(2), "b": os.system}, UnsafePickleError, "posix.system"),
        ],
    )
    def test_other_objects_are_refused_and_not_run(self, tmp_path, held, error, value):
        np.save(tmp_path / "a.npy", held)
        with raises(error, path=tmp_path / "a.npy", value=value):
            read_map(tmp_path / "a.npy")

    def test_an_archive_must_hold_one_array(self, tmp_path):
        np.savez(tmp_path / "a.npz", one=RAMP, two=RAMP)
        np.savez(tmp_path / "b.npz")
        with raises(InputFileError, path=tmp_path / "a.npz", value=["one", "two"]):
            read_map(tmp_path / "a.npz")
        with raises(InputFileError, path=tmp_path / "b.npz", value=[]):
            read_map(tmp_path / "b.npz")

    @pytest.mark.parametrize(
        ("array", "value"),
        [
            (np.zeros(3), (3,)),
            (np.array([["a", "b"]]), "<U1"),
            (np.array([[1j, 2]]), "complex128"),
        ],
    )
    def test_an_array_that_is_no_map(self, tmp_path, array, value):
        # in an archive, since NumPy maps no empty array into memory
        np.savez(tmp_path / "a.npz", array)
        with raises(InputFileError, path=tmp_path / "a.npz", value=value):
            read_map(tmp_path / "a.npz")

    def test_a_header_that_claims_more_than_the_file_holds(self, tmp_path):
        with (tmp_path / "a.npy").open("wb") as file:
            header = {"descr": "<f8", "fortran_order": False, "shape": (100_000, 100_000)}
            np.lib.format.write_array_header_1_0(file, header)
            file.write(b"\0" * 64)
        with raises(InputFileError, path=tmp_path / "a.npy", option=None) as caught:
            read_map(tmp_path / "a.npy")
        assert caught.value.__cause__ is not None

    @pytest.mark.parametrize("suffix", [".png", ".tif", ".npy", ".npz"])
    def test_a_file_cut_short_is_said_to_be_damaged(self, tmp_path, suffix):
        path = tmp_path / f"a{suffix}"
        big = np.random.default_rng(0).integers(0, 255, (60, 70)).astype(np.uint8)
        if suffix in (".png", ".tif"):
            saved(path, big)
        else:
            np.save(path, big) if suffix == ".npy" else np.savez(path, big)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with raises(InputFileError, path=path, value=None, choices=(), hint="", option=None):
            read_map(path)

    @pytest.mark.parametrize(
        ("suffix", "formats"),
        [(".png", ("PNG", "TIFF")), (".tif", ("PNG", "TIFF")), (".npy", ()), (".npz", ("NPZ",))],
    )
    def test_missing_empty_and_other_files(self, tmp_path, suffix, formats):
        path = tmp_path / f"a{suffix}"
        with raises(InputFileError, path=path, choices=()) as caught:
            read_map(path)
        assert type(caught.value.__cause__) is FileNotFoundError
        path.write_bytes(b"")
        with raises(InputFileError, path=path, choices=()) as caught:
            read_map(path)
        assert caught.value.__cause__ is None
        path.write_text("this is text and nothing else")
        with raises(InputFileError, path=path, choices=formats):
            read_map(path)

    @pytest.mark.parametrize("seed", range(12))
    def test_damaged_bytes_never_raise_anything_else(self, tmp_path, seed):
        rng = np.random.default_rng(seed)
        suffix = (".png", ".tif", ".npy", ".npz")[seed % 4]
        path = tmp_path / f"a{suffix}"
        pixels = rng.integers(0, 255, (9, 7)).astype(np.uint8)
        if suffix in (".png", ".tif"):
            saved(path, pixels)
        else:
            np.save(path, pixels) if suffix == ".npy" else np.savez(path, pixels)
        content = bytearray(path.read_bytes())
        for place in rng.integers(0, len(content), 4):
            content[place] = rng.integers(0, 256)
        path.write_bytes(bytes(content))
        said = ""
        try:
            found = read_map(path)
        except InputFileError as error:
            said = str(error)
        assert f"a{suffix}" in said or found.ndim == 2


class TestReadMask:
    @pytest.mark.parametrize("mark", [1, 255])
    @pytest.mark.parametrize("suffix", [".png", ".tif", ".npy"])
    def test_zero_and_one_other_number(self, tmp_path, mark, suffix):
        path = tmp_path / f"a{suffix}"
        pixels = MASK.astype(np.uint8) * np.uint8(mark)
        np.save(path, pixels) if suffix == ".npy" else saved(path, pixels)
        found = read_mask(path)
        assert found.dtype == bool
        assert (found == MASK).all()
        assert read_rle(path) == masks.encode(MASK)

    def test_one_bit_16_bits_and_bool(self, tmp_path):
        saved(tmp_path / "one.png", MASK)
        saved(tmp_path / "sixteen.tif", MASK.astype(np.uint16) * np.uint16(65535))
        np.save(tmp_path / "bool.npy", MASK)
        for name in ("one.png", "sixteen.tif", "bool.npy"):
            assert (read_mask(tmp_path / name) == MASK).all(), name

    @pytest.mark.parametrize("value", [0, 255])
    def test_empty_and_full_masks(self, tmp_path, value):
        saved(tmp_path / "a.png", np.full((3, 4), value, np.uint8))
        assert (read_mask(tmp_path / "a.png") == bool(value)).all()

    @pytest.mark.parametrize("counts", ["compressed", "runs"])
    def test_a_run_length_code(self, tmp_path, counts):
        coco = masks.encode(MASK).to_coco()
        if counts == "runs":
            flat = MASK.T.ravel()
            edges = np.flatnonzero(np.diff(flat)) + 1
            coco["counts"] = np.diff([0, *edges, flat.size]).tolist()
            assert not flat[0]
        (tmp_path / "a.json").write_text(json.dumps(coco))
        assert (read_mask(tmp_path / "a.json") == MASK).all()
        assert read_rle(tmp_path / "a.json") == masks.encode(MASK)

    def test_a_json_that_holds_no_mask(self, tmp_path):
        (tmp_path / "a.json").write_text('{"case": {"size": [3, 4]}}')
        with raises(InputFileError, path=tmp_path / "a.json", column="size"):
            read_mask(tmp_path / "a.json")

    def test_other_numbers_are_named(self, tmp_path):
        np.save(tmp_path / "a.npy", RAMP)
        with raises(InputFileError, path=tmp_path / "a.npy", value=list(range(12))):
            read_mask(tmp_path / "a.npy")
        np.save(tmp_path / "b.npy", np.array([[0, 1, 255]]))
        with raises(InputFileError, path=tmp_path / "b.npy", value=[0, 1, 255]):
            read_mask(tmp_path / "b.npy")

    def test_a_threshold_makes_a_mask_of_them(self, tmp_path):
        np.save(tmp_path / "a.npy", RAMP)
        assert (read_mask(tmp_path / "a.npy", threshold=4) == (RAMP > 4)).all()
        np.save(tmp_path / "b.npy", np.array([[np.nan, 1.0]]))
        with raises(InputFileError, path=tmp_path / "b.npy", value=1):
            read_mask(tmp_path / "b.npy", threshold=0.5)
        with raises(InputFileError, path=tmp_path / "b.npy") as caught:
            read_mask(tmp_path / "b.npy")
        np.testing.assert_array_equal(caught.value.value, [1, np.nan])


class TestImageShape:
    @pytest.mark.parametrize("pixels", [np.zeros((5, 7), np.uint8), np.zeros((5, 7, 3), np.uint8)])
    @pytest.mark.parametrize("suffix", [".png", ".tif"])
    def test_height_comes_first(self, tmp_path, pixels, suffix):
        assert image_shape(saved(tmp_path / f"a{suffix}", pixels)) == (5, 7)

    def test_a_turned_image_is_refused_since_programs_differ(self, tmp_path):
        exif = Image.Exif()
        exif[0x0112] = 6
        path = saved(tmp_path / "a.tif", np.zeros((5, 7), np.uint8), exif=exif)
        for read in (image_shape, read_grey):
            with raises(InputFileError, path=path, value="Orientation"):
                read(path)


def test_a_nan_of_any_kind_is_read_without_a_warning(tmp_path):
    # a signalling NaN: the bit of quiet ones is not set
    np.save(tmp_path / "a.npy", np.array([[0x7F800001, 0]], "<u4").view("<f4"))
    assert np.isnan(read_map(tmp_path / "a.npy")[0, 0])


@pytest.mark.parametrize("kind", ["f2", "f4", "i1", "u1", "u8"])
def test_numbers_of_any_type_are_held_against_the_marks(tmp_path, kind):
    np.save(tmp_path / "a.npy", np.array([[0, 1]], kind))
    np.save(tmp_path / "b.npy", np.array([[0, 7]], kind))
    assert read_mask(tmp_path / "a.npy").tolist() == [[False, True]]
    with raises(InputFileError, path=tmp_path / "b.npy", value=[0, 7]):
        read_mask(tmp_path / "b.npy")


def test_files_below_a_folder_are_sorted_without_hidden_ones(tmp_path):
    for name in ("b.npy", "a/c.npy", ".hidden.npy", ".folder/d.npy"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert files_below(tmp_path) == [tmp_path / "a" / "c.npy", tmp_path / "b.npy"]
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with warns(path=tmp_path / "link", value=[tmp_path / "link"]):
        assert len(files_below(tmp_path)) == 2


@pytest.mark.parametrize(
    ("names", "value", "match"),
    [
        ([], (), "it is empty"),
        (["a.gif", "b.TXT", "c"], (".gif", ".txt"), "end in .gif, .txt"),
        (["c"], (), "no endings"),
    ],
)
def test_a_folder_without_maps_is_an_error_that_says_what_it_holds(tmp_path, names, value, match):
    for name in names:
        (tmp_path / name).touch()
    with raises(InputFileError, path=tmp_path, choices=MAP_SUFFIXES, match=match) as caught:
        find_case_files(tmp_path, MAP_SUFFIXES)
    assert tuple(caught.value.value) == value


def test_a_pickle_named_as_an_array_is_not_run_to_find_its_shape(tmp_path):
    (tmp_path / "a.npy").write_bytes(pickle_that_makes_folder(tmp_path / "made"))
    warn_of_stretched_maps([("a", tmp_path / "a.npy")], {"a": (50, 100)}, tmp_path)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("shape", "is_turned", "is_stretched"),
    [((5, 10), False, False), ((10, 5), True, False), ((7, 7), False, True), ((1, 5, 10), False, False)],
)
def test_a_map_that_does_not_cover_its_image_is_said(tmp_path, shape, is_turned, is_stretched):
    file = tmp_path / "a.npy"
    np.save(file, np.zeros(shape))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_map_has_sides_exchanged(file, (50, 100), "map a", table_rows=[3])
        warn_of_stretched_maps([("a", file), ("unknown", file)], {"a": (50, 100)}, tmp_path)
    messages = [each.message for each in caught]
    assert len(messages) == is_turned + is_stretched
    if is_turned:
        assert (messages[0].rows, messages[0].path, messages[0].value) == ((3,), file, shape)
    if is_stretched:
        assert (messages[0].column, messages[0].value) == ("case", ["a"])
        assert "7 x 7 on 50 x 100" in str(messages[0])


def test_the_size_of_a_map_is_also_that_of_a_picture_and_unknown_of_a_damaged_file(tmp_path):
    Image.fromarray(np.zeros((7, 7), np.uint8)).save(tmp_path / "a.png")
    (tmp_path / "b.npy").write_bytes(b"damaged")
    (tmp_path / "b.png").write_bytes(b"damaged")
    (tmp_path / "b.npz").write_bytes(b"damaged")
    files = [("a", tmp_path / "a.png"), *(("b", tmp_path / f"b.{end}") for end in ("npy", "png", "npz"))]
    with warns(column="case", value=["a"]):
        warn_of_stretched_maps(files, {"a": (50, 100), "b": (50, 100)}, tmp_path)


def test_files_of_a_task_lie_in_its_folder_or_all_outside_folders(tmp_path):
    (tmp_path / "Mass").mkdir()
    (tmp_path / "a.npy").touch()
    (tmp_path / "Mass" / "notes.txt").touch()
    # a folder without maps is of no task
    assert find_files_by_task_and_case(tmp_path, MAP_SUFFIXES, "x") == {"x": {"a": tmp_path / "a.npy"}}
    (tmp_path / "Mass" / "b.NPY").touch()
    with raises(InputFileError, path=tmp_path / "Mass"):
        find_files_by_task_and_case(tmp_path, MAP_SUFFIXES, "x")


def test_a_folder_that_cannot_be_listed_is_an_error_that_names_it(tmp_path, monkeypatch):
    closed = tmp_path / "closed"
    closed.mkdir()
    (tmp_path / "a.npy").touch()
    scandir = os.scandir

    def refusing(folder):
        if os.fspath(folder) == os.fspath(closed):
            raise PermissionError(13, "Permission denied", os.fspath(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    with raises(InputFileError, path=closed):
        files_below(tmp_path)


@pytest.mark.parametrize(
    ("shapes", "warned"),
    [
        ([(5, 10), (50, 100)], []),
        ([(10, 5), (5, 10)], [["a"]]),
        ([(7, 7), (5, 10)], [["a"]]),
        # turned ones first, and neither among the others
        ([(7, 7), (10, 5)], [["b"], ["a"]]),
        ([(10, 5), (20, 10)], [["a", "b"]]),
    ],
)
def test_turned_and_stretched_maps_are_said_apart(tmp_path, shapes, warned):
    files = []
    for case, shape in zip("ab", shapes, strict=True):
        np.save(tmp_path / f"{case}.npy", np.zeros(shape))
        files.append((case, tmp_path / f"{case}.npy"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_turned_and_stretched_maps(files, dict.fromkeys("ab", (50, 100)), tmp_path)
    assert [(each.message.column, list(each.message.value)) for each in caught] == [
        ("case", cases) for cases in warned
    ]

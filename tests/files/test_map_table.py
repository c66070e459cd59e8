"""The table of a map folder: names and paths of maps, rows as text, and what is no map."""

import csv

import numpy as np
import pytest
from tests_support import raises
from torch_pickles import pickle_that_makes_folder

from salstats.errors import InputFileError, SalstatsError, ShapeError, ValueRangeError
from salstats.files.map_table import (
    COLUMNS,
    MAP_FILE,
    MapKey,
    checked_key,
    checked_label_text,
    checked_map,
    checked_patient_text_empty_for_none,
    checked_prob_text,
    csv_bytes_of_rows_without_header,
    file_inside,
    image_shape_of_row,
    is_nonempty_file_or_complete_npy,
    map_path_of,
    map_row,
    read_header_and_rows,
    read_mask_codes_by_case_and_task,
    read_settings_text_by_settings_key,
    series_or_pair_key,
    write_json,
)
from salstats.study import HUMAN, Series

KEY = MapKey("a", "Edema", "gradcam")


@pytest.fixture
def table(tmp_path):
    """A function that writes a table and returns its file."""

    def write(text):
        file = tmp_path / "maps.csv"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


# names


def test_parts_of_a_key_are_text_and_a_seed_of_3_point_0_is_3():
    assert checked_key(MapKey(7, "Edema", "ig", "resnet", 3.0)) == ("7", "Edema", "ig", "resnet", "3")
    assert checked_key(MapKey("a", "Edema", "ig", seed="3.5")).seed == "3.5"
    assert checked_key(("a", "Edema", "ig")) == MapKey("a", "Edema", "ig")
    assert MapKey("a", "Edema", "ig", "resnet", 3).series == Series("ig", "resnet", "3")


@pytest.mark.parametrize("key", ["aEm", ("a", "Edema"), (*KEY, "one more"), ["a", "Edema", "ig"]])
def test_what_is_no_key_is_an_error(key):
    with raises(SalstatsError, option="key", value=key):
        checked_key(key)


@pytest.mark.parametrize("part", ["case", "task", "method"])
@pytest.mark.parametrize("value", [None, "", " a", "a\n"])
def test_a_name_is_visible_text(part, value):
    with raises(SalstatsError, column=part, value=value):
        checked_key(KEY._replace(**{part: value}))


@pytest.mark.parametrize("part", ["model", "seed"])
@pytest.mark.parametrize("value", ["NA", "NaN", "nan"])
def test_a_model_or_seed_that_tables_have_for_unknown_is_an_error(part, value):
    with raises(SalstatsError, value=value, hint="leave it out"):
        checked_key(KEY._replace(**{part: value}))
    # a case may have such a name
    assert checked_key(KEY._replace(case=value)).case == value


def test_people_draw_no_maps():
    with raises(SalstatsError, value=HUMAN):
        checked_key(KEY._replace(method=HUMAN))


def test_paths_differ_where_keys_do_also_in_what_names_leave_out():
    keys = [
        KEY,
        KEY._replace(case="A"),
        KEY._replace(case="a/"),
        KEY._replace(case="a?"),
        KEY._replace(model="gradcam"),
        KEY._replace(seed="gradcam"),
        KEY._replace(case="x" * 50 + "1"),
        KEY._replace(case="x" * 50 + "2"),
        MapKey("a_Edema", "Edema", "gradcam"),
        MapKey("a", "Edema_Edema", "gradcam"),
    ]
    paths = [map_path_of(key) for key in keys]
    assert len({path.lower() for path in paths}) == len(keys)
    assert all(MAP_FILE.fullmatch(path.rsplit("/", 1)[1]) for path in paths)
    assert all(len(path.rsplit("/", 1)[1]) <= 40 + 1 + 40 + 1 + 16 + 4 for path in paths)


@pytest.mark.parametrize("method", ["con", "NUL.x", "com1", "LPT9", "..", "-", "\u2026"])
def test_the_folder_of_a_series_is_a_name_on_every_system(method):
    folder = map_path_of(KEY._replace(method=method)).split("/")[1]
    assert folder.strip(".-") == folder
    assert folder.split(".")[0].lower() not in {"", "con", "nul", "com1", "lpt9"}


# paths


@pytest.mark.parametrize("path", ["maps/a.npy", "maps\\a.npy", "./maps/a.npy"])
def test_slashes_of_both_kinds_lead_into_the_folder(tmp_path, path):
    assert file_inside(tmp_path, path, "row 2") == tmp_path / "maps" / "a.npy"


@pytest.mark.parametrize("path", ["", "a\n.npy"])
def test_a_path_that_names_no_file_is_an_error(tmp_path, path):
    # the place of the path
    with raises(InputFileError, column="path", value=path, hint="", match="row 2"):
        file_inside(tmp_path, path, "row 2")


@pytest.mark.parametrize("path", ["/etc/a.npy", "C:\\a.npy", "C:a.npy", "\\\\host\\a\\b.npy", "~/a.npy"])
def test_an_absolute_path_is_an_error(tmp_path, path):
    with raises(InputFileError, column="path", value=path):
        file_inside(tmp_path, path, "row 2")


@pytest.mark.parametrize("path", ["../a.npy", "maps/../../a.npy", "..\\a.npy", "maps/../a.npy", "out/a.npy"])
def test_a_path_that_can_leave_the_folder_is_an_error(tmp_path, path):
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    (folder / "in").symlink_to(folder)
    with raises(InputFileError, column="path", value=path, hint="name a file in it"):
        file_inside(folder, path, "row 2")
    assert file_inside(folder, "in/a.npy", "row 2") == folder / "in" / "a.npy"


# rows


def test_rows_are_read_as_they_were_written(table):
    row = map_row(MapKey('a "b", c', "Edema", "ig", seed=2), (40, 50), 0.1 + 0.2, 1, "p")
    plain = map_row(KEY, (4, 5), float("nan"), float("nan"), None)
    header = csv_bytes_of_rows_without_header(COLUMNS, [dict(zip(COLUMNS, COLUMNS, strict=True))])
    names, rows = read_header_and_rows(
        table(header + csv_bytes_of_rows_without_header(COLUMNS, [row, plain]))
    )
    assert tuple(names) == COLUMNS
    assert rows == {MapKey('a "b", c', "Edema", "ig", None, "2"): row, KEY: plain}
    assert float(row["prob"]) == 0.1 + 0.2
    assert [row[column] for column in ("label", "height", "width", "patient")] == ["1", "40", "50", "p"]
    assert [plain[column] for column in ("prob", "label", "model", "seed", "patient")] == [""] * 5


def test_a_byte_order_mark_and_unknown_models_and_seeds_are_read(table):
    file = table("\ufeffcase,task,method,path,model,seed\r\na,Edema,ig,a.npy,NA,nan\r\n")
    assert list(read_header_and_rows(file)[1]) == [MapKey("a", "Edema", "ig")]


@pytest.mark.parametrize("column", ["case", "task", "method", "path"])
def test_a_column_that_is_not_there_is_named(table, column):
    header = [name for name in ("case", "task", "method", "path") if name != column]
    file = table(",".join(header) + "\n")
    with raises(InputFileError, column=column, choices=tuple(header), path=file):
        read_header_and_rows(file)


def test_a_column_that_is_there_twice_is_an_error(table):
    file = table("case,task,method,path,path\n")
    with raises(InputFileError, column=None, path=file, choices=("case", "task", "method", "path", "path")):
        read_header_and_rows(file)


def test_a_row_is_named_by_its_position_from_0(table):
    text = "case,task,method,path\na,Edema,ig,1.npy\nb,Edema,ig,2.npy\n"
    with raises(InputFileError, rows=(2,), column=None, value=3):
        read_header_and_rows(table(text + "c,Edema,ig\n"))
    with raises(InputFileError, rows=(2,), column="task", value=""):
        read_header_and_rows(table(text + "c,,ig,3.npy\n"))
    with raises(InputFileError, rows=(1, 2), hint="remove one of them"):
        read_header_and_rows(table(text + "b,Edema,ig,3.npy\n"))


@pytest.mark.parametrize("text", [b"case,task,method,path\n\xff,a,b,c\n", b'case,task,method,path\n"a\n'])
def test_what_is_no_table_is_an_error(table, text):
    file = table(text)
    with raises(InputFileError, path=file) as caught:
        read_header_and_rows(file)
    assert isinstance(caught.value.__cause__, UnicodeDecodeError | csv.Error)
    with raises(InputFileError, path=file.parent / "none.csv") as caught:
        read_header_and_rows(file.parent / "none.csv")
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_only_a_run_that_goes_on_leaves_out_a_row_that_is_cut(table):
    whole = "case,task,method,path\na,Edema,ig,1.npy\n"
    cut = table(whole + "b,Edema")
    assert [key.case for key in read_header_and_rows(cut, resume=True)[1]] == ["a"]
    with raises(InputFileError, rows=(1,)):
        read_header_and_rows(cut)
    # another program's last row may lack its line break; one that is written here has it
    assert len(read_header_and_rows(table(whole + "b,Edema,ig,2.npy"), resume=True)[1]) == 2
    assert len(read_header_and_rows(table(whole + f"b,Edema,ig,{map_path_of(KEY)}"), resume=True)[1]) == 1
    assert len(read_header_and_rows(table(whole + f"b,Edema,ig,{map_path_of(KEY)}\n"), resume=True)[1]) == 2


@pytest.mark.parametrize(
    ("height", "width", "shape"),
    [
        ("40", "50", (40, 50)),
        ("40.0", "50", (40, 50)),
        ("40.5", "50", None),
        ("", "50", None),
        ("40", "inf", None),
        ("tall", "50", None),
    ],
)
def test_a_size_is_of_whole_numbers(height, width, shape):
    assert image_shape_of_row({"height": height, "width": width}) == shape


# cells


@pytest.mark.parametrize(("prob", "text"), [(0, "0.0"), (1, "1.0"), (0.1 + 0.2, "0.30000000000000004")])
def test_a_probability_reads_back_as_it_was(prob, text):
    assert checked_prob_text(prob, "map") == text
    assert checked_prob_text(float("nan"), "map") == ""


@pytest.mark.parametrize("prob", [-0.01, 1.01, "0.5", None, [0.5]])
def test_another_probability_is_an_error(prob):
    with raises(ValueRangeError, option="prob", value=prob):
        checked_prob_text(prob, "map")


def test_a_label_is_0_1_or_unknown():
    assert [checked_label_text(label, "map") for label in (0, 1.0, True, np.nan)] == ["0", "1", "1", ""]
    for label in (2, -1, 0.5, "1"):
        with raises(ValueRangeError, option="label", value=label):
            checked_label_text(label, "map")


def test_a_patient_is_a_name_or_none():
    assert [checked_patient_text_empty_for_none(patient, "map") for patient in (None, "p 1", 7)] == [
        "",
        "p 1",
        "7",
    ]
    for patient in ("", "NA", " p", "p\n"):
        with raises(ValueRangeError, option="patient", value=patient):
            checked_patient_text_empty_for_none(patient, "map")


def test_a_map_is_stored_in_float32():
    array = checked_map([[1, 2.5], [3, -4]], "map")
    assert array.dtype == np.float32
    assert array.tolist() == [[1, 2.5], [3, -4]]
    assert checked_map(np.asfortranarray(np.eye(3)), "map").flags.c_contiguous
    assert checked_map(np.eye(2, dtype=bool), "map").tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("values", [[1.0, 2.0], [[[1.0]]], np.zeros((0, 3)), [[1.0], [1.0, 2.0]]])
def test_a_map_has_two_dimensions(values):
    with raises(ShapeError):
        checked_map(values, "map")


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e39, 1j])
def test_a_map_is_finite_and_real(bad):
    with raises(ValueRangeError, option="saliency", value="complex128" if bad == 1j else 1):
        checked_map([[0.0, bad]], "map")


# files


def test_a_map_that_is_complete_is_an_array_of_numbers(tmp_path):
    file = tmp_path / "a.npy"
    assert not is_nonempty_file_or_complete_npy(file)
    np.save(file, np.eye(3))
    assert is_nonempty_file_or_complete_npy(file)
    file.write_bytes(file.read_bytes()[:-1])
    assert not is_nonempty_file_or_complete_npy(file)
    np.save(file, np.zeros((1, 1)))
    assert is_nonempty_file_or_complete_npy(file)
    for array in (np.zeros(3), np.zeros((0, 3)), np.array([["a"]]), np.array([[1j]])):
        np.save(file, array)
        assert not is_nonempty_file_or_complete_npy(file)
    picture = tmp_path / "a.png"
    picture.write_bytes(b"")
    assert not is_nonempty_file_or_complete_npy(picture)
    picture.write_bytes(b"x")
    assert is_nonempty_file_or_complete_npy(picture)
    assert not is_nonempty_file_or_complete_npy(tmp_path)


def test_a_pickle_named_as_a_map_is_neither_complete_nor_run(tmp_path):
    (tmp_path / "a.npy").write_bytes(pickle_that_makes_folder(tmp_path / "made"))
    assert not is_nonempty_file_or_complete_npy(tmp_path / "a.npy")
    assert not (tmp_path / "made").exists()


def test_masks_and_settings_read_back_and_are_empty_without_a_file(tmp_path):
    file = tmp_path / "truth.json"
    assert read_mask_codes_by_case_and_task(file) == {}
    assert read_settings_text_by_settings_key(file) == {}
    codes = {"a": {"Edema": {"size": [1, 2], "counts": "x"}}}
    write_json(file, codes)
    assert read_mask_codes_by_case_and_task(file) == codes
    with raises(InputFileError, path=file, value="a"):
        read_settings_text_by_settings_key(file)
    write_json(file, {"ig": "steps=50"})
    assert read_settings_text_by_settings_key(file) == {"ig": "steps=50"}
    with raises(InputFileError, path=file, value="ig"):
        read_mask_codes_by_case_and_task(file)
    write_json(file, ["a"])
    for read in (read_mask_codes_by_case_and_task, read_settings_text_by_settings_key):
        with raises(InputFileError, path=file, value="list"):
            read(file)
    assert [entry.name for entry in tmp_path.iterdir()] == ["truth.json"]


def test_settings_are_of_a_series_or_of_a_task_of_one():
    series = Series("ig", "resnet", "1")
    assert series_or_pair_key(series) == str(series)
    assert series_or_pair_key((series, "Edema")) == f"{series}\tEdema"
    assert series_or_pair_key("ig") == "ig"

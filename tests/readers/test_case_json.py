"""JSON files of masks, outlines and points: what is said of damaged ones."""

import warnings

import numpy as np
import pytest
from chexlocalize_files import (
    BOX,
    BOX_PX,
    HEIGHT,
    ONE,
    TWO,
    WIDTH,
    answer,
    mask,
    write_json,
    write_map,
)
from tests_support import raises, warns

from salstats.errors import InputFileError
from salstats.images.masks import area, decode
from salstats.readers.case_json import read_xy_points_as_row_col
from salstats.readers.chexlocalize import read_chexlocalize
from salstats.study import HUMAN

#: A whole number that no float holds.
LONG = 10**400 - 1


@pytest.mark.parametrize("name", ["gt_segmentations_val.json", "gt_annotations_val.json"])
def test_a_file_cut_short_anywhere_is_a_named_error(folder, name):
    whole = (folder / name).read_text()
    for length in range(1, len(whole)):
        (folder / name).write_text(whole[:length])
        with raises(InputFileError, path=folder / name):
            read_chexlocalize(folder)


@pytest.mark.parametrize(
    ("content", "value", "column"),
    [
        ("", None, None),
        ("case,Edema\n1,2\n", None, None),
        ("[1, 2]", None, None),
        ({ONE: [BOX]}, ONE, None),
        ({ONE: {"Edema": 3}}, (ONE, "Edema"), None),
        ({ONE: {"Edema": [BOX]}}, (ONE, "Edema"), None),
        ({ONE: {"Edema": {"size": [20, 30]}}}, (ONE, "Edema"), None),
        ({ONE: {"Edema": {"size": [20, -30], "counts": ""}}}, (ONE, "Edema"), "size"),
        ({ONE: {"Edema": {"size": [20, LONG], "counts": ""}}}, (ONE, "Edema"), "size"),
        ({ONE: {"Edema": {"size": [20, 10**290], "counts": ""}}}, (ONE, "Edema"), "size"),
        ({ONE: {"Edema": mask(), "Cardiomegaly": mask(shape=(9, 30))}}, (ONE, "Cardiomegaly"), "size"),
        (f'{{"{ONE}": {{}}, "{ONE}": {{}}}}', ONE, None),
        ('{"a": {"Edema": 1, "Edema": 2}}', "Edema", None),
        ({}, None, "case"),
    ],
)
def test_damaged_segmentations_are_named_errors(tmp_path, content, value, column):
    file = write_json(tmp_path / "gt_segmentations.json", content)
    with raises(InputFileError, path=file, value=value, column=column) as caught:
        read_chexlocalize(tmp_path)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(("value", "advises"), [(3, False), ([BOX], True), ({"size": [20, 30]}, False)])
def test_outlines_in_place_of_masks_are_sent_to_the_option_for_them(tmp_path, value, advises):
    write_json(tmp_path / "gt_segmentations.json", {ONE: {"Edema": value}})
    hint = "give the file as annotations (truth) or human_annotations (people)" if advises else ""
    with raises(InputFileError, hint=hint):
        read_chexlocalize(tmp_path)


def test_runs_that_do_not_fill_the_image_are_named_when_they_are_read(folder):
    damaged = mask()
    damaged["counts"] = damaged["counts"][:-1]
    write_json(folder / "gt_segmentations_val.json", {ONE: {"Edema": damaged}})
    study = read_chexlocalize(folder)
    file = folder / "gt_segmentations_val.json"
    with raises(InputFileError, path=file, value=(ONE, "Edema"), column="counts"):
        study.cases[0].truths["Edema"].read()


@pytest.mark.parametrize("of", ["human", "masks", "annotations"])
def test_masks_of_another_size_than_the_truth_are_named_with_both_files(folder, of):
    if of == "annotations":
        other = write_json(folder / "gt_annotations_val.json", {ONE: {"img_size": [WIDTH, HEIGHT]}})
        given = {}
    else:
        other = write_json(folder / "other.json", {ONE: {"Edema": mask(shape=(HEIGHT, WIDTH + 1))}})
        given = {of: other}
    shape = (WIDTH, HEIGHT) if of == "annotations" else (HEIGHT, WIDTH + 1)
    # the file and the size that stand against the error's
    with raises(InputFileError, path=other, value=shape, match=r"20 x 30 .*gt_segmentations_val\.json"):
        read_chexlocalize(folder, **given)


@pytest.mark.parametrize(
    ("value", "rows", "hint"),
    [
        ([[[4, 2]]], (0,), ""),
        ([BOX, []], (1,), ""),
        ([[[4, 2], [float("nan"), 3]]], (0,), ""),
        ([[[4, 2], [9]]], (0,), ""),
        ("polygon", (0,), ""),
        (3, (), ""),
        ({"points": BOX}, (), ""),
        (mask(), (), "give the file as truth or human (people)"),
    ],
)
def test_damaged_outlines_are_named_errors(tmp_path, value, rows, hint):
    file = write_json(tmp_path / "gt_annotations.json", {ONE: {"img_size": [HEIGHT, WIDTH], "Edema": value}})
    with raises(InputFileError, path=file, value=(ONE, "Edema"), rows=rows, hint=hint):
        read_chexlocalize(tmp_path)


def test_outlines_without_the_size_of_the_image_are_a_named_error(tmp_path):
    file = write_json(tmp_path / "gt_annotations.json", {ONE: {"Edema": [BOX]}})
    with raises(InputFileError, path=file, value=(ONE, "Edema"), column="img_size"):
        read_chexlocalize(tmp_path)


def test_outlines_beyond_the_image_are_cut_off_with_one_warning(tmp_path):
    partly = [[25, 15], [60, 15], [60, 40], [25, 40]]
    outside = [[-9, -9], [-3, -9], [-3, -3]]
    sizes = {"img_size": [HEIGHT, WIDTH]}
    file = write_json(
        tmp_path / "gt_annotations.json",
        {ONE: sizes | {"Edema": [BOX, partly]}, TWO: sizes | {"Edema": [outside]}},
    )
    with warns(path=file, value=[(ONE, "Edema"), (TWO, "Edema")]):
        study = read_chexlocalize(tmp_path)
    drawn = decode(study.cases[0].truths["Edema"].read())
    # columns 25 to 29 of rows 15 to 19, beside the box
    assert np.count_nonzero(drawn) == BOX_PX + 25
    assert drawn[15:, 25:].all()
    assert area(study.cases[1].truths["Edema"].read()) == 0
    assert study.cases[1].truths["Edema"].n_instances == 1


@pytest.mark.parametrize("value", [[5, 3], [[5, 3, 1]], [["5", "3"]], [[5, float("nan")]], {"x": 5}])
def test_damaged_points_are_named_errors(folder, value):
    file = write_json(folder / "hb_salient_pts_val.json", {ONE: {"Edema": value}})
    with raises(InputFileError, path=file, value=(ONE, "Edema")):
        read_chexlocalize(folder)


def test_points_outside_the_image_stay_with_one_warning(folder):
    points = {ONE: {"Edema": [[WIDTH, 3], [5, 3]], "Cardiomegaly": [[3, -1]]}}
    file = write_json(folder / "hb_salient_pts_val.json", points)
    with warns(path=file, value=[(ONE, "Edema"), (ONE, "Cardiomegaly")]):
        study = read_chexlocalize(folder)
    assert answer(study, method=HUMAN).points.tolist() == [[3, WIDTH], [3, 5]]


def test_a_point_cut_off_to_the_first_row_is_inside(folder):
    points = {ONE: {"Edema": [[3, -0.5]]}}
    write_json(folder / "hb_salient_pts_val.json", points)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "points")
        read_chexlocalize(folder)


def test_people_who_marked_no_case_of_unknown_size_are_asked_for_it(folder):
    write_json(folder / "hb_segmentations_val.json", {ONE: {"Edema": mask()}})
    for file in (folder / "maps").glob(f"{TWO}*"):
        write_map(folder / "maps", TWO, file.name.split("_")[-2], cxr_dims=None)
    study = read_chexlocalize(folder)
    map_file = folder / "maps" / f"{TWO}_Edema_map.pkl"
    with raises(InputFileError, path=map_file, column="cxr_dims", value=TWO):
        answer(study, TWO, method=HUMAN)


def test_points_are_rows_and_columns_and_an_empty_list_has_none(tmp_path):
    content = {ONE: {"Edema": [[5, 3], [7.5, 2]], "Cardiomegaly": []}}
    points = read_xy_points_as_row_col(write_json(tmp_path / "points.json", content), str).values[ONE]
    assert points["Edema"].tolist() == [[3, 5], [2, 7.5]]
    assert points["Cardiomegaly"].shape == (0, 2)


@pytest.mark.parametrize("value", [[[5, 3], [1]], [[]], [[[5, 3]]], "", None])
def test_what_is_no_list_of_pairs_is_no_list_of_points(tmp_path, value):
    file = write_json(tmp_path / "points.json", {ONE: {"Edema": value}})
    with raises(InputFileError, path=file, value=(ONE, "Edema")):
        read_xy_points_as_row_col(file, str)

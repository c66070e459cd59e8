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
from tests_support import raises

from salstats.errors import InputFileError, SalstatsWarning
from salstats.images.masks import area, decode
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
    ("content", "message"),
    [
        ("", "is empty"),
        ("case,Edema\n1,2\n", "not JSON, damaged"),
        ("[1, 2]", "not an object of cases but"),
        ({ONE: [BOX]}, "frontal: not an object of tasks but"),
        ({ONE: {"Edema": 3}}, "task Edema: not a mask with size and counts but 3"),
        ({ONE: {"Edema": [BOX]}}, "a list of outlines"),
        ({ONE: {"Edema": {"size": [20, 30]}}}, "task Edema: not a mask with size and counts"),
        ({ONE: {"Edema": {"size": [20, -30], "counts": ""}}}, "task Edema: size must be"),
        ({ONE: {"Edema": {"size": [20, LONG], "counts": ""}}}, f"case {ONE}, task Edema: size must be"),
        ({ONE: {"Edema": {"size": [20, 10**290], "counts": ""}}}, "task Edema: size 20 x 1000.* too large"),
        (
            {ONE: {"Edema": mask(), "Cardiomegaly": mask(shape=(9, 30))}},
            "its mask is 9 x 30, another .* 20 x 30",
        ),
        (f'{{"{ONE}": {{}}, "{ONE}": {{}}}}', f"'{ONE}' stands twice in one object"),
        ('{"a": {"Edema": 1, "Edema": 2}}', "'Edema' stands twice in one object"),
        ({}, "holds no case"),
    ],
)
def test_damaged_segmentations_are_named_errors(tmp_path, content, message):
    file = write_json(tmp_path / "gt_segmentations.json", content)
    with pytest.raises(InputFileError, match=f"gt_segmentations.json.*{message}") as caught:
        read_chexlocalize(tmp_path)
    assert str(file) in str(caught.value)


def test_runs_that_do_not_fill_the_image_are_named_when_they_are_read(folder):
    damaged = mask()
    damaged["counts"] = damaged["counts"][:-1]
    write_json(folder / "gt_segmentations_val.json", {ONE: {"Edema": damaged}})
    study = read_chexlocalize(folder)
    with pytest.raises(InputFileError, match=rf"gt_segmentations_val\.json, case {ONE}, task Edema: counts"):
        study.cases[0].truths["Edema"].read()


@pytest.mark.parametrize("of", ["human", "masks", "annotations"])
def test_masks_of_another_size_than_the_truth_are_named_with_both_files(folder, of):
    if of == "annotations":
        other = write_json(folder / "gt_annotations_val.json", {ONE: {"img_size": [WIDTH, HEIGHT]}})
        given = {}
    else:
        other = write_json(folder / "other.json", {ONE: {"Edema": mask(shape=(HEIGHT, WIDTH + 1))}})
        given = {of: other}
    with pytest.raises(
        InputFileError, match=r"frontal is 20 x 30 \(height x width\) in .*gt_seg.* and (20|30) x"
    ):
        read_chexlocalize(folder, **given)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[[4, 2]]], "task Edema: polygon 1 of 1 has fewer than two vertices"),
        ([BOX, []], "task Edema: polygon 2 of 2"),
        ([[[4, 2], [float("nan"), 3]]], "has a vertex at"),
        ([[[4, 2], [9]]], "must be a list of points"),
        ("polygon", "task Edema:|task Edema must be"),
        (mask(), "a mask where outlines"),
    ],
)
def test_damaged_outlines_are_named_errors(tmp_path, value, message):
    write_json(tmp_path / "gt_annotations.json", {ONE: {"img_size": [HEIGHT, WIDTH], "Edema": value}})
    with pytest.raises(InputFileError, match=rf"gt_annotations\.json, case {ONE}.*{message}"):
        read_chexlocalize(tmp_path)


def test_outlines_without_the_size_of_the_image_are_a_named_error(tmp_path):
    write_json(tmp_path / "gt_annotations.json", {ONE: {"Edema": [BOX]}})
    with pytest.raises(InputFileError, match="task Edema: the case has no 'img_size'"):
        read_chexlocalize(tmp_path)


def test_outlines_beyond_the_image_are_cut_off_with_one_warning(tmp_path):
    partly = [[25, 15], [60, 15], [60, 40], [25, 40]]
    outside = [[-9, -9], [-3, -9], [-3, -3]]
    sizes = {"img_size": [HEIGHT, WIDTH]}
    write_json(
        tmp_path / "gt_annotations.json",
        {ONE: sizes | {"Edema": [BOX, partly]}, TWO: sizes | {"Edema": [outside]}},
    )
    with pytest.warns(SalstatsWarning) as caught:
        study = read_chexlocalize(tmp_path)
    assert len(caught) == 1
    message = f"{ONE}, task Edema (and 1 more): outlines reach beyond their image and are cut off at its edge"
    assert message in str(caught[0].message)
    drawn = decode(study.cases[0].truths["Edema"].read())
    # columns 25 to 29 of rows 15 to 19, beside the box
    assert np.count_nonzero(drawn) == BOX_PX + 25
    assert drawn[15:, 25:].all()
    assert area(study.cases[1].truths["Edema"].read()) == 0
    assert study.cases[1].truths["Edema"].n_instances == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([5, 3], "not a list of points"),
        ([[5, 3, 1]], "not a list of points"),
        ([["5", "3"]], "not a list of points"),
        ([[5, float("nan")]], "not a list of points"),
        ({"x": 5}, "not a list of points"),
    ],
)
def test_damaged_points_are_named_errors(folder, value, message):
    write_json(folder / "hb_salient_pts_val.json", {ONE: {"Edema": value}})
    with pytest.raises(
        InputFileError, match=rf"hb_salient_pts_val\.json, case {ONE}, task Edema: .*({message})"
    ):
        read_chexlocalize(folder)


def test_points_outside_the_image_stay_with_one_warning(folder):
    points = {ONE: {"Edema": [[WIDTH, 3], [5, 3]], "Cardiomegaly": [[3, -1]]}}
    write_json(folder / "hb_salient_pts_val.json", points)
    with pytest.warns(
        SalstatsWarning, match=r"task Edema \(and 1 more\): points lie outside their image"
    ) as caught:
        study = read_chexlocalize(folder)
    assert len(caught) == 1
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
    with pytest.raises(InputFileError, match=f"no other file says the size of case {TWO} "):
        answer(study, TWO, method=HUMAN)

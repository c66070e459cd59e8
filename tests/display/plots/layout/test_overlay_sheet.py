"""Positions of pictures, names, titles and texts on a sheet."""

import pytest

from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.overlay_sheet import (
    GAP_MM,
    STACK_GAP_MM,
    TEXT_GAP_MM,
    Band,
    PictureSheet,
    PlacedPicture,
    lines_height_mm,
    sheet_tables,
)


def placed(row, column, text="", shape=(100, 100)):
    picture = Picture(row, "Edema", column, (), shape, shape, None, None, {}, {})
    return PlacedPicture(picture, row, column, text)


def sheet(stacks, **options):
    values = {
        "width": 183.0,
        "box": (20.0, 30.0),
        "column_mm": 20.0,
        "rows": {"a": "case a", "b": "case b"},
        "columns": {"x": "", "y": ""},
        "names_mm": 15.0,
    }
    return PictureSheet(**(values | options), stacks=stacks)


BANDS = [Band("a", ("x", "y")), Band("b", ("x", "y"))]
FOUR = [placed(row, column) for row in "ab" for column in "xy"]


def test_pictures_stand_beside_and_below_each_other_with_gaps():
    pictures = sheet_tables(FOUR, sheet([BANDS])).pictures.set_index(["row", "column"])
    assert pictures.loc[("a", "x"), ["left", "right", "top", "bottom"]].tolist() == [15.0, 35.0, 0.0, -20.0]
    assert pictures.loc[("a", "y"), "left"] == 35.0 + GAP_MM
    assert pictures.loc[("b", "x"), "top"] == pytest.approx(-20.0 - GAP_MM)


def test_titles_stand_above_the_first_band_only_and_push_it_down():
    titled = sheet([BANDS], columns={"x": "Grad-CAM", "y": "LIME"})
    tables = sheet_tables(FOUR, titled)
    assert tables.texts.query("kind == 'title'")["label"].tolist() == ["Grad-CAM", "LIME"]
    assert tables.pictures["top"].max() == pytest.approx(-lines_height_mm("Grad-CAM") - TEXT_GAP_MM)


def test_each_row_is_named_once():
    lines = [Band("a", ("x",)), Band("a", ("y",)), Band("b", ("x",))]
    texts = sheet_tables(FOUR, sheet([lines])).texts
    assert texts.query("kind == 'name'")["label"].tolist() == ["case a", "case b"]


def test_stacks_stand_side_by_side_and_the_highest_gives_the_height():
    tables = sheet_tables(FOUR, sheet([BANDS[:1], BANDS[1:]]))
    pictures = tables.pictures.set_index(["row", "column"])
    stack_mm = 15.0 + 2 * (20.0 + GAP_MM) - GAP_MM + STACK_GAP_MM
    assert pictures.loc[("b", "x"), "left"] == pytest.approx(stack_mm + 15.0)
    assert tables.height == pytest.approx(20.0)


def test_a_text_below_a_picture_takes_room_and_an_empty_one_none():
    with_text = [placed("a", "x", "IoU 0.25"), placed("a", "y")]
    tables = sheet_tables(with_text, sheet([BANDS[:1]]))
    assert tables.texts.query("kind == 'tag'")["label"].tolist() == ["IoU 0.25"]
    assert tables.height == pytest.approx(20.0 + TEXT_GAP_MM + lines_height_mm("IoU 0.25", 6.0))


def test_a_text_is_as_high_as_its_lines():
    assert lines_height_mm("") == 0.0
    assert lines_height_mm("a\nb") == pytest.approx(2 * lines_height_mm("a"))

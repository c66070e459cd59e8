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
    picture_and_text_tables_and_height,
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
    pictures = picture_and_text_tables_and_height(FOUR, sheet([BANDS])).pictures.set_index(["row", "column"])
    assert pictures.loc[("a", "x"), ["left", "right", "top", "bottom"]].tolist() == [15.0, 35.0, 0.0, -20.0]
    assert pictures.loc[("a", "y"), "left"] == 35.0 + GAP_MM
    assert pictures.loc[("b", "x"), "top"] == pytest.approx(-20.0 - GAP_MM)


def test_titles_stand_above_the_first_band_only_and_push_it_down():
    titled = sheet([BANDS], columns={"x": "Grad-CAM", "y": "LIME"})
    tables = picture_and_text_tables_and_height(FOUR, titled)
    assert tables.texts.query("kind == 'title'")["label"].tolist() == ["Grad-CAM", "LIME"]
    assert tables.pictures["top"].max() == pytest.approx(-lines_height_mm("Grad-CAM") - TEXT_GAP_MM)


def test_each_row_is_named_once():
    lines = [Band("a", ("x",)), Band("a", ("y",)), Band("b", ("x",))]
    texts = picture_and_text_tables_and_height(FOUR, sheet([lines])).texts
    assert texts.query("kind == 'name'")["label"].tolist() == ["case a", "case b"]


def test_stacks_stand_side_by_side_and_the_highest_gives_the_height():
    tables = picture_and_text_tables_and_height(FOUR, sheet([BANDS[:1], BANDS[1:]]))
    pictures = tables.pictures.set_index(["row", "column"])
    stack_mm = 15.0 + 2 * (20.0 + GAP_MM) - GAP_MM + STACK_GAP_MM
    assert pictures.loc[("b", "x"), "left"] == pytest.approx(stack_mm + 15.0)
    assert tables.height == pytest.approx(20.0)


def test_a_text_below_a_picture_takes_room_and_an_empty_one_none():
    with_text = [placed("a", "x", "IoU 0.25"), placed("a", "y")]
    tables = picture_and_text_tables_and_height(with_text, sheet([BANDS[:1]]))
    assert tables.texts.query("kind == 'tag'")["label"].tolist() == ["IoU 0.25"]
    assert tables.height == pytest.approx(20.0 + TEXT_GAP_MM + lines_height_mm("IoU 0.25", 6.0))


def test_a_text_is_as_high_as_its_lines():
    assert lines_height_mm("") == 0.0
    assert lines_height_mm("a\nb") == pytest.approx(2 * lines_height_mm("a"))


def test_a_name_higher_than_its_pictures_pushes_the_next_row_down_but_not_bands_of_its_own():
    name = "\n".join(["line"] * 12)
    bands = [Band("a", ("x",)), Band("a", ("y",)), Band("b", ("x",))]
    tables = picture_and_text_tables_and_height(
        FOUR[:3], sheet([bands], box=(5.0, 5.0), rows={"a": name, "b": "b"})
    )
    tops = tables.pictures.set_index(["row", "column"])["top"]
    assert tops["a", "y"] == pytest.approx(-5.0 - GAP_MM)
    assert tops["b", "x"] == pytest.approx(-lines_height_mm(name) - GAP_MM)
    names = tables.texts.query("kind == 'name'")
    assert names["x"].tolist() == [0.0, 0.0]
    assert names["y"].tolist() == pytest.approx([0.0, tops["b", "x"]])
    # a name at the foot of a sheet is on the sheet
    last = picture_and_text_tables_and_height(FOUR[:1], sheet([bands[:1]], box=(5.0, 5.0), rows={"a": name}))
    assert last.height == pytest.approx(lines_height_mm(name))


def test_bands_of_other_columns_have_titles_of_their_own_just_above_their_pictures():
    titles = {"x": "Grad-CAM", "y": "LIME\nof a patch"}
    bands = [Band("a", ("x",)), Band("a", ("y",)), Band("b", ("y",))]
    tables = picture_and_text_tables_and_height(FOUR, sheet([bands], columns=titles))
    tops = tables.pictures.set_index(["row", "column"])["top"]
    of_columns = tables.texts.query("kind == 'title'")
    assert of_columns["label"].tolist() == list(titles.values())
    expected = [tops["a", "x"] + TEXT_GAP_MM, tops["a", "y"] + TEXT_GAP_MM]
    assert of_columns["y"].tolist() == pytest.approx(expected)
    below = lines_height_mm(titles["x"]) + TEXT_GAP_MM + 20.0 + GAP_MM
    assert tops["a", "y"] == pytest.approx(-below - lines_height_mm(titles["y"]) - TEXT_GAP_MM)


def test_pictures_keep_their_order_shape_and_numbers_whatever_the_bands():
    pictures = [placed("b", "x", shape=(50, 100)), placed("a", "y", "IoU 0.5"), placed("a", "x")]
    tables = picture_and_text_tables_and_height(pictures, sheet([BANDS[:1], BANDS[1:]]))
    table = tables.pictures
    assert table["picture"].tolist() == ["0", "1", "2"]
    assert table["row"].tolist() == ["b", "a", "a"]
    # half as high as wide in a box of 20 mm
    assert (table["top"] - table["bottom"]).tolist() == pytest.approx([10.0, 20.0, 20.0])
    assert table["mm_per_pixel"].tolist() == pytest.approx([0.2] * 3)
    [tag] = tables.texts.query("kind == 'tag'").itertuples()
    assert (tag.x, tag.y) == pytest.approx((table["left"][1], -20.0 - TEXT_GAP_MM))
    assert tables.height == pytest.approx(20.0 + TEXT_GAP_MM + lines_height_mm("IoU 0.5", 6.0))

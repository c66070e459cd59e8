"""Layers over pictures: outlines and marks on paper, and the lengths of scale bars."""

import numpy as np
import pandas as pd
import pytest

from salstats.display.plots.layout.overlay_layers import (
    mark_rows,
    points_with_line_numbers,
    scale_bar_layers,
    scale_bar_length,
)
from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.overlay_sheet import Band, PictureSheet, PlacedPicture, sheet_tables
from salstats.display.text.labels import Labels


def picture(points):
    return Picture(
        case="a",
        task="Edema",
        method=None,
        series=(),
        shape=(50, 100),
        printed_shape=(50, 100),
        grey=None,
        saliency=None,
        outlines={},
        points=points,
    )


def placed_picture(points):
    placed = [PlacedPicture(picture(points), row="", column="", text="")]
    bands = [Band("", ("",))]
    sheet = PictureSheet(
        width=53.0,
        box=(50.0, 50.0),
        column=50.0,
        rows={"": ""},
        columns={"": ""},
        names_mm=0.0,
        stacks=[bands],
    )
    return placed, sheet_tables(placed, sheet).pictures


def test_marks_stand_at_their_pixels_in_mm_and_outside_the_image_there_is_none():
    placed, table = placed_picture({"peak": np.array([[10.0, 20.0], [60.0, 20.0]])})
    marks = mark_rows(table, placed)
    # a pixel is half a mm, and rows go down
    assert marks[["x", "y"]].to_dict("list") == {"x": [10.0], "y": [-5.0]}
    outside, table = placed_picture({"peak": np.array([[-1.0, 20.0]])})
    assert mark_rows(table, outside) is None


@pytest.mark.parametrize(
    ("width", "per_unit", "length"),
    [(100, 1.0, 20.0), (200, 1.0, 50.0), (100, 2.0, 10.0), (40, 8.0, 1.0), (10, 300.00000000000006, 0.005)],
)
def test_a_scale_bar_is_a_round_number_of_at_most_three_tenths_of_the_image(width, per_unit, length):
    assert scale_bar_length(width, per_unit) == length
    assert length * per_unit <= 0.3 * width


def test_a_single_picture_has_a_bar_in_pixels_and_several_only_bars_of_known_length():
    _, one = placed_picture({})
    layers, note = scale_bar_layers(one, None, Labels())
    assert layers[-1].data["label"].tolist() == ["20 px"]
    assert note == ""
    # 20 of 100 pixels of a picture that is 50 mm wide, which ends within the picture
    bar = layers[0].data.iloc[0]
    assert bar["x1"] - bar["x0"] == pytest.approx(10)
    assert 0 < bar["x0"] < bar["x1"] < 50
    assert -25 < bar["y0"] < bar["text_y"] < 0
    two = pd.concat([one, one.assign(case="b")], ignore_index=True)
    assert scale_bar_layers(two, None, Labels()) == ([], "")
    _, note = scale_bar_layers(two, {"a": 0.5, "b": 1.0}, Labels())
    assert note == "Bars: 10 mm (a); 20 mm (b)."


def test_points_of_lines_are_joined_with_the_number_of_their_line():
    points, numbers = points_with_line_numbers([np.zeros((2, 2)), np.ones((3, 2))])
    assert numbers.tolist() == [0, 0, 1, 1, 1]
    assert points.sum() == 6
    assert points_with_line_numbers([])[0].shape == (0, 2)

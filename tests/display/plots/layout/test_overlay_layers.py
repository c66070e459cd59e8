"""Layers over pictures: outlines and marks on paper, and the lengths of scale bars."""

import numpy as np
import pandas as pd
import pytest

from salstats.display.plots.layout.overlay_layers import (
    map_colour_bar_layers,
    mark_layers,
    mark_rows,
    mm_or_px_bar_layers_and_note,
    outline_layers,
    outline_rows,
    points_with_line_numbers,
    scale_bar_length,
    sheet_text_layers,
)
from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.overlay_sheet import (
    Band,
    PictureSheet,
    PlacedPicture,
    picture_and_text_tables_and_height,
)
from salstats.display.plots.layout.picture_layer import DEFAULT_STYLE, MapStyle
from salstats.display.text.labels import Labels


def picture(points, outlines=None):
    return Picture(
        case="a",
        task="Edema",
        method=None,
        series=(),
        shape=(50, 100),
        printed_shape=(50, 100),
        grey=None,
        saliency=None,
        outlines=outlines or {},
        points=points,
    )


def placed_picture(points, outlines=None):
    placed = [PlacedPicture(picture(points, outlines), row="", column="", text="")]
    bands = [Band("", ("",))]
    sheet = PictureSheet(
        width=53.0,
        box=(50.0, 50.0),
        column_mm=50.0,
        rows={"": ""},
        columns={"": ""},
        names_mm=0.0,
        stacks=[bands],
    )
    return placed, picture_and_text_tables_and_height(placed, sheet).pictures


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
    layers, note = mm_or_px_bar_layers_and_note(one, None, Labels())
    assert layers[-1].data["label"].tolist() == ["20 px"]
    assert note == ""
    # 20 of 100 pixels of a picture that is 50 mm wide, which ends within the picture
    bar = layers[0].data.iloc[0]
    assert bar["x1"] - bar["x0"] == pytest.approx(10)
    assert 0 < bar["x0"] < bar["x1"] < 50
    assert -25 < bar["y0"] < bar["text_y"] < 0
    two = pd.concat([one, one.assign(case="b")], ignore_index=True)
    assert mm_or_px_bar_layers_and_note(two, None, Labels()) == ([], "")
    _, note = mm_or_px_bar_layers_and_note(two, {"a": 0.5, "b": 1.0}, Labels())
    assert note == "Bars: 10 mm (a); 20 mm (b)."


def test_points_of_lines_are_joined_with_the_number_of_their_line():
    points, numbers = points_with_line_numbers([np.zeros((2, 2)), np.ones((3, 2))])
    assert numbers.tolist() == [0, 0, 1, 1, 1]
    assert points.sum() == 6
    assert points_with_line_numbers([])[0].shape == (0, 2)


def test_outlines_are_lines_in_mm_with_the_truth_at_the_bottom_on_a_wider_casing():
    corner, middle = np.array([[0.0, 0.0], [10.0, 20.0]]), np.array([[25.0, 50.0], [50.0, 100.0]])
    placed, table = placed_picture({}, {"human": [corner, middle], "truth": [middle]})
    lines = outline_rows(table, placed)
    assert list(lines["kind"].cat.categories) == ["truth", "human"]
    assert lines.groupby("line").size().tolist() == [2, 2, 2]
    human = lines[lines["kind"] == "human"]
    assert human["x"].tolist() == [0, 10, 25, 50]
    assert human["y"].tolist() == [0, -5, -12.5, -25]
    assert outline_rows(table, placed_picture({})[0]) is None

    layers = outline_layers(lines, {"truth": "Truth", "human": "Reader $1"}, 0.5, 2)
    paths = layers[:4]
    assert [set(path.data["kind"]) for path in paths] == [{"truth"}, {"truth"}, {"human"}, {"human"}]
    casing, line = (path.aes_params["size"] for path in paths[:2])
    assert casing > line == 0.5
    colours, types = layers[4:6]
    for scale in (colours, types):
        assert list(scale.limits) == ["truth", "human"]
        assert scale.labels == ["Truth", r"Reader \$1"]
    assert [scale.aesthetics[0] for scale in (colours, types)] == ["color", "linetype"]
    assert len(set(colours.palette(2))) == 2


def test_marks_lie_on_larger_ones_and_have_a_shape_for_each_kind():
    placed, table = placed_picture(
        {"marked": np.array([[10.0, 20.0]]), "peak": np.array([[0.0, 0.0], [50.0, 100.0]])}
    )
    marks = mark_rows(table, placed)
    # points at the edges are in the image
    assert marks["kind"].tolist() == ["marked", "peak", "peak"]
    casing, mark, scale, _ = mark_layers(marks, {"peak": "Peak", "marked": "Marked $"}, 2.0)
    assert casing.aes_params["size"] > mark.aes_params["size"] == 2.0
    assert list(scale.limits) == ["peak", "marked"]
    assert scale.labels == ["Peak", r"Marked \$"]


def test_the_colour_scale_goes_from_zero_to_one_or_shows_the_limits_that_all_maps_share():
    _, table = placed_picture({})
    for style, texts in ((DEFAULT_STYLE, ["0", "0.5", "1"]), (MapStyle(limits=(-1, 3)), ["-1", "1", "3"])):
        ends, scale, _ = map_colour_bar_layers(table, style)
        assert ends.data["value"].tolist() == [0, 1]
        # two points at the corner of the sheet, which stay out of the pictures and do not enlarge it
        assert ends.data[["x", "y"]].to_numpy().tolist() == [[0, 0], [0, 0]]
        assert dict(ends.mapping) == {"xmin": "x", "xmax": "x", "ymin": "y", "ymax": "y", "fill": "value"}
        assert scale.labels == texts
        assert list(scale.limits) == [0, 1]
        assert scale.breaks == [0, 0.5, 1]


def test_names_of_rows_are_plain_titles_bold_and_tags_small_each_where_it_stands():
    texts = pd.DataFrame(
        {
            "kind": ["tag", "name", "title"],
            "x": [1.0, 0.0, 1.0],
            "y": [-9.0, 0.0, 1.0],
            "label": ["t", "n", "c"],
        }
    )
    name, title, tag = sheet_text_layers(texts)
    assert [layer.data["label"].tolist() for layer in (name, title, tag)] == [["n"], ["c"], ["t"]]
    assert [layer.aes_params["va"] for layer in (name, title, tag)] == ["top", "bottom", "top"]
    assert title.aes_params["fontweight"] == "bold"
    assert tag.aes_params["size"] < name.aes_params["size"] == title.aes_params["size"]
    assert len(sheet_text_layers(texts.head(1))) == 1


def test_bars_of_equal_length_are_named_once_and_a_case_without_a_pixel_size_has_none():
    _, one = placed_picture({})
    two = pd.concat([one, one.assign(case="b")], ignore_index=True)
    layers, note = mm_or_px_bar_layers_and_note(two, {"b": 0.1}, Labels())
    assert note == "Bars: 2 mm."
    assert layers[0].data["case"].tolist() == ["b"]
    layers, note = mm_or_px_bar_layers_and_note(two, 0.1, Labels())
    assert note == "Bars: 2 mm."
    casing, bar = layers
    assert casing.data["case"].tolist() == ["a", "b"]
    assert casing.aes_params["size"] > bar.aes_params["size"]
    # a label of a single picture in mm
    assert mm_or_px_bar_layers_and_note(one, 0.1, Labels())[0][-1].data["label"].tolist() == ["2 mm"]

"""The overlay of one case: what is drawn where, what is said, and where its image comes from."""

from dataclasses import replace

import numpy as np
import pytest
from display.plots.estimate_figures import caption, drawn_texts, layers, scale
from display.plots.overlay_study import GRADCAM, SHAPE, answer, box, hill, study
from tests_support import raises

from salstats.display.plots.layout.overlay_layers import scale_bar_length
from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.overlay_sheet import EDGE_MM, GAP_MM
from salstats.display.plots.layout.theme import COLUMN_MM, MM_PER_INCH, PAGE_MM
from salstats.display.plots.overlay import (
    findings_absent_in_truth_note,
    method_label,
    missing_images_note,
    number_of_readers_note,
    predicted_mask_legend_text_by_kind,
    threshold_note,
)
from salstats.display.text.labels import Labels
from salstats.errors import InputFileError, SalstatsError, ShapeError, ValueRangeError
from salstats.images.masks import encode
from salstats.scoring.overlay_figures import plot_overlay
from salstats.study import Case, Series, Study

STUDY = study()


def points_of(figure, geom, kind, number=1):
    """The points (row, col) of one kind in a figure of a single panel, back from paper to pixels."""
    data = [layer._data for layer in layers(figure, geom) if "kind" in str(layer.mapping)]
    rows = next(d[d["kind"] == kind] for d in data if (d["kind"] == kind).any())
    panel = figure.data.iloc[0]
    row = (panel["top"] - rows["y"]) / panel["mm_per_pixel"]
    return np.column_stack([row, (rows["x"] - panel["left"]) / panel["mm_per_pixel"]])


def kinds(figure):
    """The kinds of outlines and of marks that the legends name."""
    found = (scale(figure, aesthetic) for aesthetic in ("color", "shape"))
    return [list(s.limits) if s is not None else [] for s in found]


def picture(figure):
    """The picture of a single panel."""
    (only,) = layers(figure, "geom_picture")[0].geom.params["pictures"].values()
    return only


def extent(points):
    """Top, bottom, left and right of some points."""
    (top, left), (bottom, right) = points.min(axis=0), points.max(axis=0)
    return [top, bottom, left, right]


def test_outlines_stand_where_their_masks_are():
    figure = plot_overlay(STUDY, "a", "Edema", threshold=0.5)
    assert kinds(figure) == [["truth", "human", "mask"], ["peak", "marked"]]
    # half open rectangles, outlined through the middles of their outermost pixels
    np.testing.assert_allclose(extent(points_of(figure, "geom_path", "truth")), [20.5, 39.5, 30.5, 59.5])
    np.testing.assert_allclose(extent(points_of(figure, "geom_path", "human")), [22.5, 43.5, 28.5, 57.5])
    top, bottom, left, right = extent(points_of(figure, "geom_path", "mask"))
    # the map is largest around (34.5, 44.5), and falls by a third of its height in 10 pixels
    assert (top + bottom) / 2 == pytest.approx(35, abs=0.5)
    assert (left + right) / 2 == pytest.approx(45, abs=0.5)


def test_the_peak_is_the_first_largest_pixel_and_points_are_people_s():
    figure = plot_overlay(STUDY, "a", "Edema")
    # the middle of the map's pixel (3, 4) lies between the image's pixels 34 and 35, and 44 and 45
    np.testing.assert_allclose(points_of(figure, "geom_point", "peak"), [[34.5, 44.5]])
    np.testing.assert_allclose(points_of(figure, "geom_point", "marked"), [[30, 40]])


def test_the_map_is_laid_over_the_image_where_it_is_large():
    image = np.full(SHAPE, 128, dtype=np.uint8)
    shown = picture(plot_overlay(STUDY, "a", "Edema", images={"a": image})).astype(int)
    assert shown.shape == (*SHAPE, 3)
    assert np.ptp(shown[0, 0]) == 0
    assert np.ptp(shown[34, 44]) > 50


def test_an_outline_is_told_from_the_others_without_colour():
    figure = plot_overlay(STUDY, "a", "Edema")
    assert len(set(map(str, scale(figure, "linetype").palette(3)))) == 3
    assert len(set(scale(figure, "shape").palette(2))) == 2


def test_people_may_be_left_out_or_stand_alone():
    assert kinds(plot_overlay(STUDY, "a", "Edema", human=False)) == [["truth", "mask"], ["peak"]]
    alone = plot_overlay(STUDY, "a", "Edema", method="human", human=False)
    assert kinds(alone) == [["truth", "human"], ["marked"]]
    assert np.ptp(picture(alone).astype(int), axis=2).max() == 0


def test_a_study_without_maps_shows_people_and_truth():
    figure = plot_overlay(STUDY.select(methods=["human"]), "a", "Edema")
    assert kinds(figure) == [["truth", "human"], ["marked"]]
    assert caption(figure) == "a, Edema. Grey ground: no image was given."


@pytest.mark.parametrize(
    ("case", "task", "note"),
    [
        ("b", "Edema", "no map"),
        ("b", "Nodule", "constant map"),
        ("b", "Fracture", "map is not finite"),
        ("a", "Edema", ""),
    ],
)
def test_what_is_missing_is_said(case, task, note):
    figure = plot_overlay(STUDY, case, task)
    assert figure.data["note"].item() == note
    assert (f"Grad-CAM: {note}." if note else "Grad-CAM. Threshold") in caption(figure)
    assert f"{case}, {task}, Grad-CAM" in caption(figure)
    drawn_texts(figure)


def test_an_empty_mask_is_said():
    figure = plot_overlay(STUDY, "a", "Edema", threshold=1)
    assert figure.data["note"].item() == "empty mask"
    assert kinds(figure) == [["truth", "human"], ["peak", "marked"]]
    nobody = plot_overlay(STUDY, "b", "Edema", method="human")
    assert "b, Edema, Human benchmark: empty mask." in caption(nobody)
    assert kinds(nobody)[0] == ["truth"]


def test_a_mask_without_a_map_has_no_colours_and_no_peak():
    masked = Series("masked")
    cases = (replace(STUDY.cases[0], predictions=(answer("Edema", masked, mask=encode(box(1, 9, 1, 9))),)),)
    figure = plot_overlay(Study(cases, STUDY.tasks, (masked,)), "a", "Edema")
    assert kinds(figure) == [["truth", "mask"], []]
    assert scale(figure, "fill") is None
    assert "Predicted mask" in drawn_texts(figure)
    assert "Threshold" not in caption(figure)


def test_legend_scale_and_caption_say_what_is_seen():
    found = drawn_texts(plot_overlay(STUDY, "a", "Edema", threshold={"Edema": 0.4}, smooth=5))
    expected = {
        "Truth",
        "Human benchmark",
        "Thresholded map",
        "Peak",
        "Marked point",
        "0",
        "0.5",
        "1",
        "20 px",
    }
    assert expected <= set(found)
    text = " ".join(found).replace("\n", " ")
    assert "Saliency (0 to 1 in each map)" in text
    assert "Threshold: 0.4, of means over 5 x 5 pixels." in text
    assert "Grey ground: no image was given." in text
    renamed = {"truth": "Radiologist 1", "human": "Radiologist 2", "peak": "Maximum"}
    assert set(renamed.values()) <= set(drawn_texts(plot_overlay(STUDY, "a", "Edema", labels=renamed)))


@pytest.mark.parametrize("width", [COLUMN_MM, PAGE_MM])
def test_a_figure_keeps_its_width_and_the_form_of_the_image(width):
    figure = plot_overlay(STUDY, "b", "Edema", width=width)
    wide, high = (side * MM_PER_INCH for side in figure.theme.getp("figure_size"))
    assert wide == pytest.approx(width)
    panel = figure.data.iloc[0]
    assert (panel["top"] - panel["bottom"]) / (panel["right"] - panel["left"]) == pytest.approx(80 / 60)
    assert high > panel["top"]


def test_no_figure_holds_more_pixels_than_are_printed():
    shape = (2400, 3000)
    case = Case("big", shape, {}, (answer("Edema", saliency=hill(3, 4)),))
    large = Study((case,), ("Edema",), (GRADCAM,))
    image = np.zeros(shape, dtype=np.uint8)
    assert picture(plot_overlay(large, "big", "Edema", images={"big": image}, width=PAGE_MM)).shape == (
        800,
        1000,
        3,
    )
    small = plot_overlay(large, "big", "Edema", images={"big": image}, width=44)
    # 41 mm within the edges, at 300 dots per inch
    assert picture(small).shape == (387, 484, 3)
    path = layers(small, "geom_path")[0]._data
    assert len(path) < 200


def test_an_image_that_cannot_be_is_named(tmp_path):
    (tmp_path / "a.png").write_bytes(b"no image")
    with raises(InputFileError, option="images", value="a", path=tmp_path / "a.png"):
        plot_overlay(STUDY, "a", "Edema", images=tmp_path)
    with raises(InputFileError, option="images", value="b", path=tmp_path, message="b.jpg"):
        plot_overlay(STUDY, "b", "Edema", images=tmp_path)
    with raises(InputFileError, option="images", path=tmp_path / "nowhere"):
        plot_overlay(STUDY, "a", "Edema", images=tmp_path / "nowhere")
    with raises(SalstatsError, option="images"):
        plot_overlay(STUDY, "a", "Edema", images=3)
    with raises(ShapeError, option="images", value="a", message="80 x 60") as caught:
        plot_overlay(STUDY, "a", "Edema", images={"a": np.zeros((80, 60), dtype=np.uint8)})
    assert "60 x 80" in caught.value.message.parts
    with raises(ValueRangeError, option="images", value="a"):
        plot_overlay(STUDY, "a", "Edema", images={"a": np.full(SHAPE, np.nan)})
    with raises(ShapeError, option="images", value="a", message="(60,)"):
        plot_overlay(STUDY, "a", "Edema", images={"a": np.zeros(60)})


def test_a_finding_that_is_absent_is_said():
    assert "Absent in the truth: Nodule of b." in caption(plot_overlay(STUDY, "b", "Nodule"))
    assert "Absent" not in caption(plot_overlay(STUDY, "a", "Nodule"))


def test_a_stored_mask_stands_before_one_made_of_the_map():
    stored = answer("Edema", saliency=hill(3, 4), mask=encode(box(0, 10, 0, 10)))
    case = replace(STUDY.cases[0], predictions=(stored,))
    figure = plot_overlay(replace(STUDY, cases=(case,)), "a", "Edema")
    np.testing.assert_allclose(extent(points_of(figure, "geom_path", "mask")), [0.5, 9.5, 0.5, 9.5])


@pytest.mark.parametrize(
    ("width", "per_unit", "length"),
    [(2828, 1, 500), (300, 1, 50), (80, 1, 20), (2828, 1 / 0.139, 100), (2, 1, 0.5)],
)
def test_a_scale_bar_is_a_round_number_of_about_a_quarter_of_the_width(width, per_unit, length):
    assert scale_bar_length(width, per_unit) == pytest.approx(length)
    assert 0.1 < length * per_unit / width <= 0.3


LRP = Series("lrp", model="resnet", seed="1")


def pictured(case="a", task="Edema", series=(GRADCAM,), **content):
    """A picture with a map, as far as notes read one."""
    values = {
        "case": case, "task": task, "method": "gradcam", "series": series, "shape": SHAPE,
        "printed_shape": (6, 8), "grey": np.zeros((6, 8)), "saliency": np.ones((6, 8)),
        "outlines": {"truth": []}, "points": {}, "threshold": 0.5,
    }  # fmt: skip
    return Picture(**(values | content))


def test_one_threshold_is_said_once_and_a_few_with_their_tasks_and_methods():
    labels = Labels()
    assert threshold_note([pictured(), pictured("b")], labels) == "Threshold: 0.5."
    tasks = [pictured(), pictured(task="Nodule", threshold=0.25)]
    assert threshold_note(tasks, labels) == "Threshold: 0.5 (Edema) and 0.25 (Nodule)."
    methods = [pictured(), pictured(series=(LRP,), threshold=0.25)]
    assert (
        threshold_note(methods, labels)
        == "Threshold: 0.5 (Edema, Grad-CAM) and 0.25 (Edema, LRP, resnet, 1)."
    )
    assert threshold_note([pictured(threshold=None)], labels) == ""


def test_many_thresholds_are_a_range_with_the_rules_among_them():
    levels = [0.2, 0.6, 0.4, 0.3, 0.5, 0.25, 0.35, 0.45]
    pictures = [pictured(task=f"t{level}", threshold=level) for level in levels]
    assert threshold_note(pictures, Labels()) == "Threshold: 0.2 to 0.6, by task and method."
    with_rule = [*pictures, pictured(task="Otsu", threshold="otsu")]
    assert threshold_note(with_rule, Labels()) == (
        "Threshold: 0.2 to 0.6 or Otsu's level, by task and method."
    )


def test_smoothing_colours_and_cut_off_of_masks_are_said():
    averaged = [pictured(smooth=5), pictured(task="Nodule", smooth=3)]
    assert threshold_note(averaged, Labels()) == "Threshold: 0.5, of means over 3 x 3 and 5 x 5 pixels."
    assert "of the grey levels of its colours" in threshold_note([pictured(colormap="jet")], Labels())
    assert "below the probability cut-off" in threshold_note([pictured(cutoff=0.0)], Labels())


def test_a_method_is_named_with_what_tells_its_series_apart():
    assert method_label(Labels(), [LRP]) == "LRP, resnet, 1"
    assert method_label(Labels(), [LRP], omitted_columns=("model",)) == "LRP, 1"
    assert method_label(Labels(), [LRP, replace(LRP, seed="2")]) == "LRP"
    labels = Labels({"resnet": "ResNet-50", "seed": {"1": "first"}})
    assert method_label(labels, [LRP]) == "LRP, ResNet-50, first"


def test_absent_findings_are_named_up_to_a_few_and_each_once():
    absent = [pictured(str(number), outlines={}) for number in range(20)]
    assert findings_absent_in_truth_note([absent[0], absent[0], pictured()], Labels()) == (
        "Absent in the truth: Edema of 0."
    )
    assert findings_absent_in_truth_note(absent, Labels()) == "Absent in the truth: 20 of the findings shown."
    assert findings_absent_in_truth_note([pictured()], Labels()) == ""


def test_the_number_of_readers_is_said_where_it_is_not_one():
    readers = [pictured(outlines={"human": []}, n_readers=n) for n in (1, 3, 2)]
    assert number_of_readers_note(readers[:1]) == ""
    assert number_of_readers_note(readers) == "Outlines of 1 to 3 readers."
    assert number_of_readers_note(readers[1:2]) == "Outlines of 3 readers."
    # readers without outlines are not counted
    assert number_of_readers_note([pictured(n_readers=4)]) == ""


def test_cases_without_an_image_are_named_unless_none_has_one():
    without = pictured("b", grey=None)
    labels = Labels()
    assert missing_images_note([without, without], labels) == "Grey ground: no image was given."
    assert (
        missing_images_note([pictured(), without, without], labels)
        == "Grey ground: no image was given for b."
    )
    assert missing_images_note([pictured()], labels) == ""
    labels = Labels({"case": {"b": "Case 2"}})
    assert missing_images_note([pictured(), without], labels) == "Grey ground: no image was given for Case 2."


def test_stored_masks_have_their_own_name():
    stored = pictured(saliency=None, outlines={"mask": []})
    assert list(predicted_mask_legend_text_by_kind([pictured(), stored])) == ["mask"]
    assert predicted_mask_legend_text_by_kind([pictured(outlines={"mask": []})]) == {}
    assert predicted_mask_legend_text_by_kind([pictured(saliency=None)]) == {}


@pytest.mark.parametrize("case", ["a", "b"])
def test_the_image_alone_stands_left_of_the_map_in_a_picture_of_the_same_size(case):
    figure = plot_overlay(STUDY, case, "Edema", human=False, with_image=True, width=PAGE_MM)
    image, shown = figure.data.sort_values("left").to_dict("records")
    assert (image["column"], shown["column"]) == ("image", "map")
    # half of the width within the edges and without the gap between the pictures
    column_mm = (PAGE_MM - 2 * EDGE_MM - GAP_MM) / 2
    assert shown["left"] - image["left"] == pytest.approx(column_mm + GAP_MM)
    for side in ("top", "bottom", "mm_per_pixel"):
        assert shown[side] == image[side]
    assert shown["right"] - shown["left"] == pytest.approx(image["right"] - image["left"])
    assert shown["right"] - shown["left"] <= column_mm + 1e-9

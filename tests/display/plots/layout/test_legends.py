"""Colours and marks that belong to methods, and the room of a legend."""

from itertools import combinations

import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.display.plots.layout.legends import (
    continuous_colour_bar,
    group_scales,
    justification_centred_on_panels,
    legend_chars,
    legend_height_mm,
    legend_width_mm,
    method_labels_references_first,
    method_styles,
    n_legend_columns,
)
from salstats.display.plots.layout.text_fit import chars_in, text_width_mm
from salstats.display.plots.layout.theme import (
    LINE_MM,
    LINETYPES,
    PALETTE,
    REFERENCE_COLOUR,
    REFERENCE_SHAPE,
    SHAPES,
    light_fill,
)
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError

CAMS = ["gradcam", "gradcam++", "scorecam", "layercam", "eigencam", "xgradcam", "hirescam", "ablationcam"]
DIGITS = [*CAMS[:2], "layercam", "eigencam", "integrated_gradients", "deeplift", "occlusion", "rise"]
SAPORTA = [*CAMS[:2], "eigencam", "integrated_gradients", "deeplift", "lrp", "occlusion"]


def colour_of(figure):
    """Colour of each mark of a figure by its legend's text."""
    scale = next(s for s in figure.scales if "color" in s.aesthetics)
    return dict(zip(scale.limits, scale.palette(len(scale.limits)), strict=True))


def test_references_stand_first_in_black_whatever_the_other_methods_are():
    texts = method_labels_references_first(Labels(), ["gradcam", "human", "lime"], ["human"])
    colour, shape = group_scales(texts, ["human"])[:2]
    assert colour.limits == shape.limits == ["Human benchmark", "Grad-CAM", "LIME"]
    assert colour.palette(3) == [REFERENCE_COLOUR, PALETTE[0], PALETTE[5]]


@pytest.mark.parametrize("methods", [CAMS, DIGITS, SAPORTA])
def test_a_well_known_method_looks_the_same_whatever_others_are_shown(methods):
    whole = method_styles([*methods, "human"])
    assert len({look.colour for look in whole.values()}) == len(methods) + 1
    for few in combinations(reversed([*methods, "human"]), 2):
        assert method_styles(few) == {name: whole[name] for name in few}
    # however it is spelled
    assert method_styles(["Grad-CAM"])["Grad-CAM"] == whole["gradcam"]


def test_two_methods_of_one_place_have_two_colours():
    found = method_styles(["lime", "eigencam"])
    assert found["eigencam"].colour == PALETTE[5] != found["lime"].colour


def test_other_methods_keep_their_colours_where_labels_name_them_all():
    frame = pd.DataFrame({"method": ["ours", "theirs", "gradcam"]})
    both = method_styles(frame["method"], labels=Labels(None, frame))
    assert [both[m].colour for m in frame["method"]] == [PALETTE[1], PALETTE[2], PALETTE[0]]
    given = {"method": {"gradcam": "Grad-CAM", "ours": "Ours", "theirs": "Theirs"}}
    for labels in (Labels(given, frame.tail(1)), Labels(Labels(None, frame), frame.iloc[1:2])):
        assert method_styles(["theirs"], labels=labels)["theirs"] == both["theirs"]


def test_a_method_has_one_colour_in_figures_of_several_kinds_and_a_reference_its_diamond():
    scores = ss.datasets.load_simulated()
    means = ss.summarize(scores.query("method != 'gradcam'"), interval="t")
    fit = ss.regress(scores, "iou ~ prob", by="method")
    box = ss.plot_box(scores.query("method != 'human'"))
    drawn = [ss.plot_intervals(means), ss.plot_regression(fit), box, ss.plot_scatter(scores, "prob", "iou")]
    assert {colour_of(figure)["Occlusion"] for figure in drawn} == {PALETTE[1]}
    assert method_styles(["human"])["human"].shape == REFERENCE_SHAPE


def test_colours_can_be_chosen_and_what_is_no_colour_is_an_error():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    chosen = {"colours": {"occlusion": PALETTE[0], "human": "grey"}}
    found = colour_of(ss.plot_box(scores, labels=chosen))
    # Grad-CAM leaves its place to what was chosen
    assert found["Occlusion"] == PALETTE[0].lower()
    assert found["Human benchmark"] == "#808080"
    assert found["Grad-CAM"] in PALETTE[1:]
    with raises(SalstatsError, option="labels", value="bluish", message="'occlusion'"):
        ss.plot_box(scores, labels={"colours": {"occlusion": "bluish"}})
    with raises(SalstatsError, option="labels"):
        ss.plot_box(scores, labels={"colours": "red"})
    with warns(option="labels", value=["oclusion"], choices=("occlusion",)):
        ss.plot_box(scores, labels={"colours": {"oclusion": "red"}})


def test_twenty_methods_differ_in_colour_or_mark():
    colour, shape = group_scales({f"m{i}": f"m{i}" for i in range(20)})[:2]
    assert len(set(zip(colour.palette(20), shape.palette(20), strict=True))) == 20


def test_a_legend_has_as_many_columns_as_a_journal_column_holds():
    assert n_legend_columns(["a", "b", "c"]) == 3
    assert n_legend_columns(["x" * 40, "y" * 40]) == 1
    assert legend_height_mm(["x" * 40, "y" * 40]) > legend_height_mm(["a", "b"]) > legend_height_mm([]) == 0


def test_a_figure_of_a_page_has_as_many_keys_side_by_side_as_fit_it():
    scores = ss.datasets.load_digits_scores().query("dataset == 'textured' and model == 'residual'")
    scores = scores[scores["metric"].isin(["iou", "hit"]) & scores["task"].isin(["digit 0", "digit 1"])]
    keys = ss.plot_box(scores, width=183).guides.fill
    assert keys.ncol >= 5


def test_a_legend_is_as_wide_as_its_columns_and_as_high_as_its_rows():
    # three texts in two columns: the first and the third stand below each other
    texts = ["LIME", "Occlusion", "Integrated gradients"]
    widths = [text_width_mm(text) + 8.5 for text in texts]
    assert legend_width_mm(texts, 2) == pytest.approx(widths[2] + widths[1])
    assert legend_width_mm(texts, 3) == pytest.approx(sum(widths))
    wide = n_legend_columns(texts, sum(widths) + 8.01)
    assert (wide, n_legend_columns(texts, sum(widths) + 7.9)) == (3, 2)
    assert legend_height_mm(["a\nb", "c"], 89.0) == pytest.approx(2 + 2 * LINE_MM + 1.6)
    assert legend_height_mm(texts, sum(widths)) == pytest.approx(2 + 2 * (LINE_MM + 1.6))
    # a key and its text fill the width that a legend may take
    chars = legend_chars(89.0)
    assert chars == pytest.approx(chars_in(89.0 - 8.0 - 8.5))


@pytest.mark.parametrize(
    ("content", "left", "panels", "figure", "justification"),
    [
        (40, 10, 80, 100, 0.5),
        (79.5, 10, 80, 100, 0.5),
        # 70 mm over panels of 50 mm would end at 90 mm; they begin at 17.5 mm, 12.5 of 20 mm further left
        (70, 30, 50, 89, 0.625),
        # and none begins left of the figure
        (88, 10, 50, 89, 8.5 / 38),
    ],
)
def test_a_title_is_centred_above_the_panels_and_stays_within_the_figure(
    content, left, panels, figure, justification
):
    assert justification_centred_on_panels(content, left, panels, figure) == pytest.approx(justification)


def test_keys_are_opaque_with_marks_of_a_fixed_size_unless_they_are_lines():
    texts = {"lime": "LIME", "ours": "Ours"}
    colour, fill, guides = group_scales(texts, aesthetics=("color", "fill"), has_light_fills=True)
    assert fill.palette(2) == [light_fill(colour) for colour in colour.palette(2)] != colour.palette(2)
    assert guides.color.override_aes == {}
    *_, of_marks = group_scales(texts, aesthetics=("color", "shape"), has_opaque_keys=True)
    *_, of_lines = group_scales(texts, aesthetics=("color", "linetype"), has_opaque_keys=True)
    assert of_marks.color.override_aes.keys() == {"alpha", "size"}
    assert of_lines.color.override_aes == {"alpha": 1}
    assert of_marks.shape.override_aes == {}
    assert of_marks.color.ncol == of_marks.shape.ncol == 2


def test_people_have_a_colour_where_another_method_is_the_reference():
    styles = method_styles(["lime", "human"], references=["lime"])
    assert styles["lime"].colour == REFERENCE_COLOUR
    assert styles["human"].colour in PALETTE


def test_beyond_the_palette_colours_repeat_with_the_next_mark_and_line():
    styles = list(method_styles([f"m{number}" for number in range(10)]).values())
    assert [style.colour for style in styles] == [*PALETTE, *PALETTE[:2]]
    assert [style.shape for style in styles] == [*SHAPES, *SHAPES[1:3]]
    assert [style.line for style in styles] == [*LINETYPES, *LINETYPES[1:3]]


def test_a_colour_bar_has_rectangles_and_the_options_of_its_guide():
    bar = continuous_colour_bar(title="Saliency", order=3)
    assert (bar.display, bar.nbin, bar.title, bar.order) == ("rectangles", 100, "Saliency", 3)

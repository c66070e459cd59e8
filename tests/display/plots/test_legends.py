"""Colours and marks by method, and the room of a legend."""

from salstats.display.plots.legends import group_scales, legend_columns, legend_mm, method_labels
from salstats.display.plots.theme import PALETTE, REFERENCE
from salstats.display.text.labels import Labels


def test_references_stand_first_in_black_whatever_the_other_methods_are():
    texts = method_labels(Labels(), ["gradcam", "human", "lime"], ["human"])
    colour, shape = group_scales(texts, ["human"])[:2]
    assert colour.limits == shape.limits == ["Human benchmark", "Grad-CAM", "LIME"]
    assert colour.palette(3) == [REFERENCE, *PALETTE[:2]]


def test_twenty_methods_differ_in_colour_or_mark():
    colour, shape = group_scales({f"m{i}": f"m{i}" for i in range(20)})[:2]
    assert len(set(zip(colour.palette(20), shape.palette(20), strict=True))) == 20


def test_a_legend_has_as_many_columns_as_a_journal_column_holds():
    assert legend_columns(["a", "b", "c"]) == 3
    assert legend_columns(["x" * 40, "y" * 40]) == 1
    assert legend_mm(["x" * 40, "y" * 40]) > legend_mm(["a", "b"]) > legend_mm([]) == 0

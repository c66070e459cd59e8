"""Correlation matrices: a tile and a number per pair."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, layers, scale

import salstats as ss
from salstats.checks import SalstatsError, ValueRangeError
from salstats.display.plots.theme import COLUMN_MM, DIVERGING, MM_PER_INCH, PAGE_MM

NAMES = ["iou", "prob", "elongation"]
ESTIMATES = {("iou", "prob"): 0.62, ("iou", "elongation"): -0.31, ("prob", "elongation"): 0.04}


def matrix(names=NAMES, values=None, **columns):
    """Correlations of all pairs of some names."""
    pairs = list(combinations(names, 2))
    estimate = [ESTIMATES.get(pair, 0.5) for pair in pairs] if values is None else values
    frame = pd.DataFrame({"x": [a for a, _ in pairs], "y": [b for _, b in pairs]})
    return frame.assign(**{"term": "spearman", "estimate": estimate, "p_value": 0.001, "n": 100} | columns)


def tile(figure, x, y):
    """The row of one pair."""
    return figure.data[(figure.data["x"] == x) & (figure.data["y"] == y)].iloc[0]


def inks(figure):
    """The colour of each number."""
    return {
        text: layer.geom.aes_params["color"]
        for layer in layers(figure, "geom_text")
        for text in layer._data["text"]
    }


def test_every_pair_is_a_tile_of_the_lower_triangle():
    figure = ss.plot_correlation(matrix())
    places = figure.data.set_index(["x", "y"])[["across", "up"]].apply(tuple, axis=1).to_dict()
    assert places == {
        ("iou", "prob"): (0, -1),
        ("iou", "elongation"): (0, -2),
        ("prob", "elongation"): (1, -2),
    }
    assert list(scale(figure, "x").labels) == ["IoU", "Model confidence"]
    labels = dict(zip(scale(figure, "y").breaks, scale(figure, "y").labels, strict=True))
    assert labels == {-1: "Model confidence", -2: "Elongation"}
    assert figure.data["text"].tolist() == ["0.62", "−0.31", "0.04"]
    assert dict(figure.mapping) == {"x": "across", "y": "up"}
    assert layers(figure, "geom_tile")[0].mapping["fill"] == "shown"


def test_a_pair_named_the_other_way_has_the_same_tile():
    turned = matrix().rename(columns={"x": "y", "y": "x"})
    labels = {"term": NAMES}
    assert (
        ss.plot_correlation(turned, labels=labels)
        .data[["across", "up"]]
        .equals(ss.plot_correlation(matrix(), labels=labels).data[["across", "up"]])
    )


def test_the_scale_runs_from_minus_one_to_one_whatever_the_values():
    fill = scale(ss.plot_correlation(matrix()), "fill")
    assert fill.limits == (-1, 1)
    assert [colour.upper() for colour in fill.palette([0, 1])] == [DIVERGING[0], DIVERGING[-1]]
    assert fill.name == "Spearman's ρ"


def test_weak_coefficients_are_grey_on_white_by_the_adjusted_p_value_where_there_is_one():
    frame = matrix(p_value=[0.001, 0.04, 0.5])
    figure = ss.plot_correlation(frame)
    assert figure.data["weak"].tolist() == [False, False, True]
    assert figure.data["shown"].tolist() == [0.62, -0.31, 0.0]
    assert inks(figure)["0.04"] != inks(figure)["−0.31"]
    assert "Grey on white: P ≥ 0.05 (not adjusted)." in caption(figure)
    adjusted = ss.plot_correlation(frame.assign(p_adjusted=[0.003, 0.12, 0.5]))
    assert adjusted.data["weak"].tolist() == [False, True, True]
    assert "Grey on white: P ≥ 0.05 (adjusted)." in caption(adjusted)


def test_alpha_moves_the_level_and_none_greys_nothing():
    frame = matrix(p_value=[0.001, 0.04, 0.5])
    strict = ss.plot_correlation(frame, alpha=0.01)
    assert strict.data["weak"].tolist() == [False, True, True]
    assert "P ≥ 0.01" in caption(strict)
    plain = ss.plot_correlation(frame, alpha=None)
    assert plain.data["shown"].tolist() == [0.62, -0.31, 0.04]
    assert "Grey" not in caption(plain)
    without = ss.plot_correlation(frame.drop(columns="p_value"))
    assert not without.data["weak"].any()


def test_numbers_are_legible_on_their_tiles():
    figure = ss.plot_correlation(matrix(values=[0.95, -0.2, -0.9]))
    assert inks(figure) == {"0.95": "white", "−0.20": "black", "−0.90": "white"}


def test_pairs_come_from_correlate_below_each_other():
    scores = ss.datasets.load_simulated().drop(columns="patient")
    pairs = [ss.correlate(scores, x, y, by=["method", "task"]) for x, y in combinations(NAMES, 2)]
    frame = pd.concat(pairs, ignore_index=True)
    figure = ss.plot_correlation(frame, labels={"gradcam": "CAM"})
    assert len(figure.data["panel"].cat.categories) == 15
    assert figure.data["panel"].cat.categories[0] == "CAM, Atelectasis"
    np.testing.assert_array_equal(figure.data["estimate"], frame["estimate"])
    assert f"n = {frame['n'].min()} to {frame['n'].max()} pairs." in caption(figure)
    assert figure.theme.getp("figure_size")[0] * MM_PER_INCH == pytest.approx(PAGE_MM)


def test_labels_name_and_order_the_variables():
    figure = ss.plot_correlation(matrix(), labels={"term": ["elongation", "iou"], "prob": "Confidence"})
    assert list(scale(figure, "x").labels) == ["Elongation", "IoU"]
    assert list(scale(figure, "y").labels) == ["Confidence", "IoU"]
    assert tile(figure, "iou", "prob")[["across", "up"]].tolist() == [1.0, -2.0]


def test_an_undefined_coefficient_is_a_dash_and_a_missing_pair_has_no_tile():
    figure = ss.plot_correlation(matrix(values=[0.62, np.nan, 0.04]))
    assert figure.data["text"].tolist() == ["0.62", "—", "0.04"]
    assert "—: undefined." in caption(figure)
    assert len(ss.plot_correlation(matrix().iloc[:2]).data) == 2


def test_tiles_that_are_too_narrow_have_no_numbers():
    names = [f"v{i}" for i in range(60)]
    figure = ss.plot_correlation(matrix(names))
    assert not layers(figure, "geom_text")
    assert layers(ss.plot_correlation(matrix(names[:12])), "geom_text")
    narrow = ss.plot_correlation(matrix(names[:8]))
    assert narrow.theme.getp("figure_size")[0] * MM_PER_INCH == pytest.approx(COLUMN_MM)


@pytest.mark.parametrize(
    ("frame", "options", "error", "message"),
    [
        (matrix(values=np.nan), {}, SalstatsError, "every estimate is missing"),
        (pd.concat([matrix(), matrix()]), {}, SalstatsError, "more than one row for iou and prob; keep one"),
        (pd.concat([matrix(), matrix(term="pearson")]), {}, SalstatsError, "holds 2 kinds of coefficient"),
        (matrix(), {"alpha": 5}, ValueRangeError, "alpha must lie strictly between 0 and 1"),
        (
            matrix(),
            {"labels": {"iou": "a", "prob": "a"}},
            SalstatsError,
            "two values of column 'term' the same label",
        ),
        (matrix(), {"width": 8.9}, SalstatsError, "width must be a number of mm"),
    ],
)
def test_what_cannot_be_drawn_is_said(frame, options, error, message):
    with pytest.raises(error, match=message):
        ss.plot_correlation(frame, **options)

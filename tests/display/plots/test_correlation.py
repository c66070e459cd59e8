"""Correlations: a tile and a number per pair, and where it stands."""

from itertools import combinations, pairwise, product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, layers, scale, size_mm
from tests_support import in_turn, raises

import salstats as ss
from salstats.display.plots.layout.theme import COLUMN_MM, DIVERGING, MM_PER_INCH, PAGE_HEIGHT_MM, PAGE_MM
from salstats.errors import SalstatsError, ValueRangeError

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
    down = figure.data.assign(down=figure.data["up"].rank(method="dense", ascending=False))
    places = down.set_index(["x", "y"])[["across", "down"]].apply(tuple, axis=1).to_dict()
    assert places == {
        ("iou", "prob"): (0, 1),
        ("iou", "elongation"): (0, 2),
        ("prob", "elongation"): (1, 2),
    }
    assert list(scale(figure, "x").labels) == ["IoU", "Model confidence"]
    assert list(scale(figure, "y").breaks) == sorted(set(down["up"]), reverse=True)
    assert list(scale(figure, "y").labels) == ["Model confidence", "Elongation"]
    assert figure.data["text"].tolist() == ["0.62", "−0.31", "0.04"]
    colours = scale(figure, "fill")
    assert tuple(colours.limits) == (-1, 1)
    # numbers at the colour bar are symmetric about 0
    assert [-number for number in reversed(colours.breaks)] == list(colours.breaks)
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
    figure = ss.plot_correlation(frame, alpha=0.05)
    assert figure.data["weak"].tolist() == [False, False, True]
    assert figure.data["shown"].tolist() == [0.62, -0.31, 0.0]
    assert inks(figure)["0.04"] != inks(figure)["−0.31"]
    assert "Grey on white: P ≥ 0.05. P values: two-sided; not adjusted for multiple tests." in caption(figure)
    adjusted = ss.plot_correlation(frame.assign(p_adjusted=[0.003, 0.12, 0.5]), alpha=0.05)
    assert adjusted.data["weak"].tolist() == [False, True, True]
    assert "P values: two-sided; adjusted (for multiplicity)." in caption(adjusted)


def test_alpha_moves_the_level_and_by_default_nothing_is_grey():
    frame = matrix(p_value=[0.001, 0.04, 0.5])
    strict = ss.plot_correlation(frame, alpha=0.01)
    assert strict.data["weak"].tolist() == [False, True, True]
    assert "P ≥ 0.01" in caption(strict)
    plain = ss.plot_correlation(frame)
    assert plain.data["shown"].tolist() == [0.62, -0.31, 0.04]
    assert "Grey" not in caption(plain)
    with raises(SalstatsError, option="alpha", column="p_value"):
        ss.plot_correlation(frame.drop(columns="p_value"), alpha=0.05)


def test_a_coefficient_without_a_p_value_is_not_drawn_as_significant():
    figure = ss.plot_correlation(matrix(p_value=[0.001, np.nan, 0.002]), alpha=0.05)
    assert figure.data["shown"].tolist() == [0.62, 0.0, 0.04]
    assert "Grey on white: P ≥ 0.05 or no P value." in caption(figure)


def test_numbers_are_legible_on_their_tiles():
    figure = ss.plot_correlation(matrix(values=[0.95, -0.2, -0.9]))
    assert inks(figure) == {"0.95": "white", "−0.20": "black", "−0.90": "white"}


def test_pairs_come_from_correlate_below_each_other():
    scores = ss.datasets.load_simulated().drop(columns="patient")
    pairs = [ss.correlate(scores, x, y, by=["method", "task"]) for x, y in combinations(NAMES, 2)]
    frame = pd.concat(pairs, ignore_index=True)
    figure = ss.plot_correlation(frame, labels={"gradcam": "CAM"})
    assert len(figure.data["panel"].cat.categories) == 15
    assert figure.data["panel"].cat.categories[0] == "Human benchmark, Atelectasis"
    np.testing.assert_array_equal(figure.data["estimate"], frame["estimate"])
    assert f"n = {frame['n'].min()} to {frame['n'].max()} pairs." in caption(figure)
    assert figure.theme.getp("figure_size")[0] * MM_PER_INCH == pytest.approx(PAGE_MM)


def test_labels_name_and_order_the_variables():
    figure = ss.plot_correlation(matrix(), labels={"term": ["elongation", "iou"], "prob": "Confidence"})
    assert list(scale(figure, "x").labels) == ["Elongation", "IoU"]
    assert list(scale(figure, "y").labels) == ["IoU", "Confidence"]
    assert tile(figure, "iou", "prob")["across"] == 1


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


def by_group(*columns, n=3, outcomes=("iou", "hit"), covariates=("prob", "area_ratio", "elongation")):
    """Correlations of covariates with outcomes, in `n` groups of each column."""
    keys = list(product(*([f"{c} {i}" for i in range(n)] for c in columns)))
    rows = [(*key, x, y) for key in keys for x, y in product(covariates, outcomes)]
    frame = pd.DataFrame(rows, columns=[*columns, "x", "y"])
    estimate = np.linspace(-0.9, 0.9, len(frame))
    return frame.assign(term="spearman", estimate=estimate, p_value=0.01, n=100)


def sides(figure):
    """Names of the rows, the columns and the panels."""
    panels = list(figure.data["panel"].cat.categories)
    return list(scale(figure, "y").labels), list(scale(figure, "x").labels), panels


COVARIATES = ["Model confidence", "Relative size", "Elongation"]


def test_covariates_are_rows_and_outcomes_columns_without_an_empty_tile():
    figure = ss.plot_correlation(by_group("method"))
    assert sides(figure) == (COVARIATES, ["IoU", "Hit rate"], ["method 0", "method 1", "method 2"])
    assert len(figure.data) == 3 * 3 * 2
    turned = by_group("method").rename(columns={"x": "y", "y": "x"})
    assert sides(ss.plot_correlation(turned)) == sides(figure)


def test_many_groups_are_rows_and_methods_stand_side_by_side():
    tasks = [f"task {i}" for i in range(5)]
    figure = ss.plot_correlation(by_group("task", n=5))
    assert sides(figure) == (tasks, COVARIATES, ["IoU", "Hit rate"])
    figure = ss.plot_correlation(by_group("method", "task", n=5))
    rows, columns, panels = sides(figure)
    assert (rows, columns) == (tasks, [f"method {i}" for i in range(5)])
    assert panels[:3] == ["Model confidence, IoU", "Model confidence, Hit rate", "Relative size, IoU"]
    # the panels of an outcome stand below each other
    assert figure.facet._ncol == 2


def test_what_is_the_same_everywhere_is_said():
    one = by_group("method", "task", outcomes=["iou"], covariates=["prob"])
    assert scale(ss.plot_correlation(one), "fill").name == "Spearman's ρ of Model confidence and IoU"
    human = one.query("method == 'method 0'")
    figure = ss.plot_correlation(human)
    assert sides(figure)[:2] == (["task 0", "task 1", "task 2"], [""])
    assert "Method: method 0." in caption(figure)


def test_it_is_said_where_all_are_significant_and_that_p_values_are_not_adjusted():
    assert "All P < 0.05. P values: two-sided; not adjusted for multiple tests." in caption(
        ss.plot_correlation(matrix(), alpha=0.05)
    )


LONG = {
    "task 1": "Atelectasis of the left lower lobe, lateral view only",
    "elongation": "Elongation of the smallest rectangle around the finding",
    "iou": "Intersection over union with the consensus segmentation",
}
GROUPED = {
    "panels with a gap": by_group("method"),
    "many tasks": by_group("task", n=20),
    "eighty tasks": by_group("task", n=80, outcomes=["iou"]),
    "tasks and methods": by_group("method", "task", n=8),
    "triangles": pd.concat([matrix(["iou", "hit", *NAMES[1:]]).assign(method=f"m{i}") for i in range(5)])[
        ["method", "x", "y", "term", "estimate", "p_value", "n"]
    ],
}


@pytest.mark.parametrize(("name", "width"), in_turn(GROUPED, (COLUMN_MM, PAGE_MM)))
def test_numbers_stay_in_their_tiles_names_apart_and_pages_whole(name, width):
    figure = ss.plot_correlation(GROUPED[name], labels=LONG, width=width)
    shown = pd.concat([page.data for page in figure.pages])
    assert len(shown) == len(GROUPED[name])
    for page in figure.pages:
        assert size_mm(page)[1] <= PAGE_HEIGHT_MM
    drawn = figure.draw(show=False)
    try:
        drawn.draw_without_rendering()
        texts = [t for t in drawn.findobj(plt.Text) if t.get_visible() and t.get_text().strip()]
        assert min(t.get_fontsize() for t in texts) >= 6
        boxes = [t.get_window_extent() for t in texts]
        assert min(b.x0 for b in boxes) >= -2
        assert max(b.x1 for b in boxes) <= drawn.bbox.x1 + 2
        for axes in drawn.axes:
            numbers = [t.get_window_extent() for t in axes.texts]
            tile = axes.bbox.width / len(scale(figure, "x").labels)
            assert numbers
            assert max(box.width for box in numbers) < tile
            up = sorted(t.get_window_extent().extents.tolist()[1::2] for t in axes.get_yticklabels())
            assert all(a[1] < b[0] + 1 for a, b in pairwise(up))
        # nothing of a panel lies on the title of another
        strips = [t for t in texts if t.get_fontweight() == "bold"]
        others = [b for t, b in zip(texts, boxes, strict=True) if t not in strips and t.get_rotation() == 0]
        for strip in strips:
            assert not any(strip.get_window_extent().overlaps(other) for other in others)
    finally:
        plt.close(drawn)


@pytest.mark.parametrize(
    ("frame", "options", "error", "expected"),
    [
        (matrix(values=np.nan), {}, SalstatsError, {"column": "estimate"}),
        (pd.concat([matrix(), matrix()]), {}, SalstatsError, {"match": "iou and prob", "hint": "keep one"}),
        (pd.concat([matrix(), matrix(term="pearson")]), {}, SalstatsError, {"column": "term"}),
        (matrix(), {"alpha": 5}, ValueRangeError, {"option": "alpha"}),
        (
            matrix(),
            {"labels": {"iou": "a", "prob": "a"}},
            SalstatsError,
            {"match": "column 'term'"},
        ),
        (matrix(), {"width": 8.9}, ValueRangeError, {"option": "width", "value": 8.9}),
    ],
)
def test_what_cannot_be_drawn_is_said(frame, options, error, expected):
    with raises(error, **expected):
        ss.plot_correlation(frame, **options)


def test_one_panel_is_a_column_wide_where_its_numbers_are_legible():
    def width_mm(n_variables, **options):
        names = [f"v{number}" for number in range(n_variables)]
        return 25.4 * ss.plot_correlation(matrix(names), **options).theme.getp("figure_size")[0]

    # tiles of 7.5 mm beside names of about 7 mm: ten fit 89 mm, and eleven do not
    assert width_mm(11) == pytest.approx(89)
    assert width_mm(13) == pytest.approx(183)
    assert width_mm(13, width=100) == pytest.approx(100)
    two_groups = pd.concat([matrix(task="a"), matrix(task="b")])
    assert 25.4 * ss.plot_correlation(two_groups).theme.getp("figure_size")[0] == pytest.approx(183)

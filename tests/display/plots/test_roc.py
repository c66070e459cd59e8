"""plot_roc(): lines, panels, bands and the areas written in the panels."""

import re

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from display.plots.estimate_figures import layer_data, layers
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError

SCORES = ss.datasets.load_simulated()
CURVES = ss.roc_curve(SCORES, "prob", "label", n_replicates=50)
AREAS = ss.auroc(SCORES, "prob", "label")


def words(figure):
    drawn = figure.draw(show=False)
    texts = [text.get_text() for text in drawn.findobj(plt.Text)]
    plt.close(drawn)
    return " ".join(texts).replace("\n", " ")


def test_each_task_is_a_panel_with_its_area():
    figure = ss.plot_roc(CURVES, auroc=AREAS)
    assert figure.data["panel"].nunique() == SCORES["task"].nunique()
    assert (figure.labels.x, figure.labels.y) == ("False positive rate", "True positive rate")
    text = words(figure)
    for row in AREAS.itertuples():
        assert f"{row.estimate:.2f} ({row.conf_low:.2f}, {row.conf_high:.2f})" in text
    # the letter "a", which plotnine draws as the key of texts, is not in the legend
    [area_layer] = layers(figure, "geom_text")
    assert not area_layer.show_legend


def test_methods_are_lines_without_bands_where_there_are_many():
    curves = ss.roc_curve(SCORES, "iou", "hit", by="method", n_replicates=50)
    figure = ss.plot_roc(curves)
    assert figure.data["method_label"].nunique() == 3
    assert "Bands" not in words(figure)
    assert "Bands" in words(ss.plot_roc(curves, bands=True))


def test_two_lines_have_bands():
    of_two = SCORES[SCORES["method"].isin(["gradcam", "occlusion"])]
    curves = ss.roc_curve(of_two, "iou", "hit", by="method", n_replicates=20)
    assert curves["method"].nunique() == 2
    assert "Bands" in words(ss.plot_roc(curves))


def test_areas_of_other_curves_are_an_error():
    with raises(SalstatsError, option="auroc", value=2):
        ss.plot_roc(CURVES, auroc=AREAS.head(2))
    with raises(SalstatsError, option="auroc", value=2 * len(AREAS)):
        ss.plot_roc(CURVES, auroc=pd.concat([AREAS, AREAS]))


def test_areas_that_do_not_fit_are_left_out_and_the_caption_says_so():
    one = SCORES.query("metric == 'iou' and method == 'gradcam'")
    many = pd.concat([one.assign(model=f"net {i}") for i in range(12)])
    by = ["model", "task"]
    curves = ss.roc_curve(many, "prob", "label", by=by, n_replicates=20)
    text = words(ss.plot_roc(curves, auroc=ss.auroc(many, "prob", "label", by=by), width=89))
    assert "left out" in text


def drawn_boxes_of_areas(figure):
    """Boxes around the areas in the only panel, in units of the two rates."""
    drawn = figure.draw(show=False)
    drawn.canvas.draw()
    [axes] = drawn.axes
    boxes = [text.get_window_extent().transformed(axes.transData.inverted()) for text in axes.texts]
    plt.close(drawn)
    return boxes


@pytest.mark.parametrize("width", [50, 59, 89])
def test_areas_lie_below_the_diagonal_with_room_beside_them(width):
    n_models = 30
    one = SCORES.query("metric == 'iou' and method == 'gradcam' and task == 'Edema'")
    many = pd.concat([one.assign(model=f"net {i:02}") for i in range(n_models)])
    curves = ss.roc_curve(many, "prob", "label", by="model", n_replicates=20)
    areas = ss.auroc(many, "prob", "label", by="model")

    def figure_of(n):
        parts = [frame[frame["model"] < f"net {n:02}"] for frame in (curves, areas)]
        return ss.plot_roc(parts[0], auroc=parts[1], width=width, n_columns=1)

    room = int(re.search(r"room for (\d+)", words(figure_of(n_models)))[1])
    boxes = drawn_boxes_of_areas(figure_of(room))
    assert len(boxes) == room
    # the diagonal is where both rates are equal; the upper left corner is the nearest to it
    assert all(box.y1 + 0.05 < box.x0 for box in boxes)
    assert all(box.x1 < 1 and box.y0 > 0 for box in boxes)


def test_areas_are_written_for_as_many_curves_as_a_panel_has_room_for():
    one = SCORES.query("metric == 'iou' and method == 'gradcam' and task == 'Edema'")

    def figure_of(n_models):
        many = pd.concat([one.assign(model=f"net {i}") for i in range(n_models)])
        curves = ss.roc_curve(many, "prob", "label", by="model", n_replicates=20)
        return ss.plot_roc(curves, auroc=ss.auroc(many, "prob", "label", by="model"), width=59, n_columns=1)

    room = int(re.search(r"room for (\d+)", words(figure_of(12)))[1])
    assert room > 1
    areas = layer_data(figure_of(room), "geom_text").sort_values("method_label")
    assert len(areas) == room
    # in the order of the legend from the top down, the last at the lower edge
    assert areas["y"].is_monotonic_decreasing
    assert 0 < areas["y"].min() < 0.05
    assert not layers(figure_of(room + 1), "geom_text")

"""What the tests of figures of estimates share: frames made by hand, and parts of a figure."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from salstats.display.plots.layout.theme import MM_PER_INCH

#: A label of 120 characters, and labels that other programs would take for markup.
LONG = "An opacity of the left lower lobe, seen in the lateral view only and described by one reader".ljust(
    120, "."
)
MARKUP = ("<b>bold</b> & 100%", "_x_ *y* $a$ $b$", "\\alpha {\\beta", "β-catenin − é")


def estimates(tasks=("Edema", "Nodule"), methods=("gradcam", "human"), metrics=("iou", "hit"), **columns):
    """An estimates frame of means 0.3, 0.31, ... with intervals of 0.1 to either side."""
    frame = pd.DataFrame(
        list(itertools.product(metrics, methods, tasks)), columns=["metric", "method", "task"]
    )
    estimate = 0.3 + 0.01 * np.arange(len(frame))
    return frame.assign(
        **{
            "term": "mean",
            "estimate": estimate,
            "conf_low": estimate - 0.1,
            "conf_high": estimate + 0.1,
            "conf_level": 0.95,
            "interval": "percentile",
            "unit": "patient",
            "n": 1234,
        }
        | columns
    )


def decreases(values, method="gradcam", metric="iou", half_width=5.0, **columns):
    """A frame of percentage decreases from the human benchmark, from task -> decrease."""
    estimate = np.array(list(values.values()), dtype=float)
    low, high = estimate - half_width, estimate + half_width
    verdict = np.where(low > 0, "lower", np.where(high < 0, "higher", "inconclusive"))
    return pd.DataFrame(
        {
            "metric": metric,
            "task": list(values),
            "method": method,
            "reference": "human",
            "term": "percent_decrease",
            "estimate": estimate,
            "conf_low": low,
            "conf_high": high,
            "conf_level": 0.95,
            "interval": "percentile",
            "unit": "patient",
            "n": 100,
            "verdict": verdict,
        }
        | columns
    )


def scale(figure, aesthetic):
    """The scale of an aesthetic."""
    return figure.scales.get_scales(aesthetic)


def row_labels(figure):
    """The labels of the rows from the top down."""
    y = scale(figure, "y")
    assert list(y.breaks) == sorted(y.breaks, reverse=True)
    return list(y.labels)


def layers(figure, geom):
    """The layers of one kind."""
    return [layer for layer in figure.layers if type(layer.geom).__name__ == geom]


def nth_data(figure, number):
    """The data of a layer, counted in the order they are drawn."""
    return figure.layers[number]._data


def size_mm(figure):
    """Width and height."""
    return tuple(MM_PER_INCH * side for side in figure.theme.getp("figure_size"))


def layer_data(figure, geom, number=0):
    """The data of one layer: its own, or the figure's."""
    data = layers(figure, geom)[number]._data
    return data if isinstance(data, pd.DataFrame) else figure.data


def bars(figure):
    """The data of the intervals."""
    return next(
        layer._data for layer in layers(figure, "geom_segment") if layer.mapping.get("x") == "conf_low"
    )


def legend(figure):
    """Colour and mark of each text of the legend."""
    colour, shape = scale(figure, "color"), scale(figure, "shape")
    assert colour.limits == shape.limits
    n = len(colour.limits)
    return dict(zip(colour.limits, zip(colour.palette(n), shape.palette(n), strict=True), strict=True))


def caption(figure):
    """The caption on one line."""
    return figure.labels.caption.replace("\n", " ")


def texts(figure):
    """The texts beside the marks, a list for each column, and their headings."""
    found = layers(figure, "geom_text_column")
    return [list(layer._data["text"]) for layer in found], [layer.geom.params["heading"] for layer in found]


def drawn_texts(figure):
    """Draw the figure and return every text in it."""
    drawn = figure.draw(show=False)
    try:
        drawn.canvas.draw()
        return [text.get_text() for text in drawn.findobj(plt.Text) if text.get_text()]
    finally:
        plt.close(drawn)

"""No mark, bar or band of a figure lies where no score can be, unless its caption says so."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from display.frames import STUDIES
from display.plots.study_figures import FIGURES, OF_SCORES, figure_of_study, study
from matplotlib.collections import PolyCollection

import salstats as ss
from salstats.metrics.registry import METRICS

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning"),
    pytest.mark.filterwarnings("ignore:Glyph"),
]
#: Word by which a caption speaks of limits where no score can be.
SAID = "impossible"
#: Error of rounding, as a share of 1.
ROUNDING = 1e-9
#: Ranges of shares and of percentages.
SHARE = (0, 1)
PERCENT = (0, 100)


def scores_of(metric):
    """The lowest and the highest score of a metric."""
    return METRICS[metric].low, METRICS[metric].high


def differences_of(metric):
    """The lowest and the highest difference of two scores."""
    low, high = scores_of(metric)
    return low - high, high - low


def decreases_of(metric):
    """The lowest and the highest decrease in percent of scores that are never below 0."""
    assert METRICS[metric].low == 0
    return -np.inf, 100


#: Ranges of the horizontal and the vertical axis of figures, None for an axis that is not of scores.
RANGES = {
    "intervals": (scores_of, None),
    "forest": (scores_of, None),
    "decrease": (decreases_of, None),
    "decrease as differences": (differences_of, None),
    "box": (scores_of, None),
    "box as clouds": (scores_of, None),
    "box as half-eyes": (scores_of, None),
    "readers": (scores_of, None),
    "scatter": (None, scores_of),
    # lines and bands of agreement extend over the whole axis of means
    "agreement": (None, differences_of),
    "pairs": (None, scores_of),
    "power": (None, PERCENT),
    "coverage": (None, PERCENT),
    "curves": (SHARE, SHARE),
    "roc": (SHARE, SHARE),
    "calibration": (SHARE, SHARE),
    "thresholds": (SHARE, scores_of),
}
#: Figures without an axis of scores: of ranks, tests, coefficients, residuals, sizes and counts, or pictures.
WITHOUT_SCORES = {
    "heatmap",
    "ranks",
    "significance",
    "significance as a diagram",
    "correlation",
    "regression",
    "residuals",
    "letter values",
    "flow",
    "overlay",
    "gallery",
    "gaze",
}
#: Figures of overlap only, whatever other metrics a study has.
OF_OVERLAP = (
    "readers",
    "scatter",
    "agreement",
    "power",
    "coverage",
    "curves",
    "roc",
    "calibration",
    "thresholds",
)
#: Studies by which each run reads one of each figure, in turn; others are read by `pytest -m slow`.
QUICK_STUDIES = ("small", "extreme")


def numbers_on_axes(artist, axes):
    """The numbers of what an artist draws on the horizontal and the vertical axis, none where it has none."""
    on_axes = np.array(artist.get_transform().contains_branch_seperately(axes.transData))
    if hasattr(artist, "get_datalim"):
        points = artist.get_datalim(axes.transData).get_points()
        on_axes |= artist.get_offset_transform().contains_branch_seperately(axes.transData)
    elif hasattr(artist, "get_xydata"):
        points = artist.get_xydata()
    else:
        points = artist.get_path().transformed(artist.get_patch_transform()).vertices
    numbers = np.asarray(points, dtype=float).T
    return [
        axis[np.isfinite(axis)] if is_on else axis[:0] for axis, is_on in zip(numbers, on_axes, strict=True)
    ]


def is_of_differences(axes, plot):
    """Whether a panel of paired scores is that of their differences, which stand beside or below them."""
    place = axes.get_subplotspec()
    number = place.colspan.start if plot.facet.dir == "h" else place.rowspan.start
    return number % 2 == 1


def outside(plot, figure, metric):
    """The numbers of a figure that lie outside the ranges of its axes, with what draws them."""
    found = []
    for page in plot.pages:
        drawn = page.draw(show=False)
        for axes in drawn.axes:
            ranges = RANGES[figure]
            if figure == "pairs" and is_of_differences(axes, plot):
                ranges = (None, differences_of)
            for artist in [*axes.collections, *axes.lines, *axes.patches]:
                # numbers of predictions stand below the curves, as the caption says
                if figure == "calibration" and isinstance(artist, PolyCollection):
                    continue
                for numbers, ends in zip(numbers_on_axes(artist, axes), ranges, strict=True):
                    if ends is None:
                        continue
                    low, high = ends(metric) if callable(ends) else ends
                    is_outside = (numbers < low - ROUNDING) | (numbers > high + ROUNDING)
                    found += [(type(artist).__name__, number) for number in numbers[is_outside]]
        plt.close(drawn)
    return found


@pytest.mark.parametrize(
    ("figure", "name"),
    [
        pytest.param(figure, name, marks=() if name == QUICK_STUDIES[turn % 2] else pytest.mark.slow)
        for turn, figure in enumerate(RANGES)
        for name in STUDIES
    ],
)
def test_nothing_lies_where_no_score_can_be(figure, name):
    if figure in OF_OVERLAP:
        plots = {"iou": figure_of_study(name, figure)}
    else:
        plots = {metric: OF_SCORES[figure](rows) for metric, rows in study(name).groupby("metric")}
    for metric, plot in plots.items():
        assert SAID not in plot.caption()
        assert not outside(plot, figure, metric)


def test_each_figure_has_ranges_or_no_scores():
    assert not WITHOUT_SCORES & set(RANGES)
    assert WITHOUT_SCORES | set(RANGES) == set(FIGURES)


def test_limits_where_no_score_can_be_are_found_and_said():
    means = ss.summarize(study("small"), by=["metric", "method"], interval="t")
    plot = ss.plot_intervals(means.assign(conf_high=means["conf_high"] + 0.6))
    assert SAID in plot.caption()
    assert outside(plot, "intervals", "iou")

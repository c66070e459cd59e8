"""Figures at every width show each panel of their data once, over all of their pages."""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from tests_support import warns

import salstats as ss

N_PANELS = 9
WIDTHS = (60, 89, 120, 183)
RNG = np.random.default_rng(1)
TASKS = [f"Finding {number}" for number in range(1, N_PANELS + 1)]
KEYS = pd.MultiIndex.from_product([range(12), TASKS, ["gradcam", "lime"]], names=["case", "task", "method"])
#: Scores of two methods for 12 cases of each task.
SCORES = KEYS.to_frame(index=False).assign(
    metric="iou", score=RNG.random(len(KEYS)), prob=RNG.random(len(KEYS)), area=RNG.random(len(KEYS))
)
#: Confidence of one method, and whether each finding is present.
PREDICTIONS = SCORES.query("method == 'gradcam'").assign(present=lambda rows: rows["case"] % 2 == 0)


def residuals(width=None):
    """Residuals of mixed models of three methods, which have three panels each."""
    rows = pd.DataFrame({"method": np.repeat(["Integrated gradients", "Occlusion", "Saliency"], 40)})
    numbers = {name: RNG.normal(size=len(rows)) for name in ("fitted", "residual", "std_residual")}
    rows = rows.assign(**numbers, leverage=np.nan, cooks_distance=np.nan)
    return ss.plot_residuals(rows, width=width)


def scatter():
    """Confidence and area of each task."""
    return ss.plot_scatter(PREDICTIONS, "prob", "area")


def correlations():
    """Correlations of three columns for each task."""
    pairs = combinations(["prob", "area", "score"], 2)
    frames = [ss.correlate(PREDICTIONS, x, y, by=["method", "task"]) for x, y in pairs]
    return ss.plot_correlation(pd.concat(frames, ignore_index=True))


def boxes():
    """Scores of nine metrics."""
    return ss.plot_box(SCORES.assign(metric=SCORES["task"], task="Edema"))


def agreement():
    """Limits of agreement of two methods for each task."""
    return ss.plot_agreement(SCORES, ss.agreement(SCORES, over="method", kind="bland-altman"))


def calibration():
    """Calibration of confidence for each task."""
    return ss.plot_calibration(ss.calibration_curve(PREDICTIONS, "prob", "present", by="task"))


def rates():
    """ROC curves of confidence for each task."""
    return ss.plot_roc(ss.roc_curve(PREDICTIONS, "prob", "present", by="task"))


def titles_of_page(page):
    """Titles of the panels of which the frames of a page have rows."""
    frames = [page.data, *(layer._data for layer in page.layers)]
    titles = set()
    for frame in frames:
        if isinstance(frame, pd.DataFrame) and "panel" in frame:
            titles |= set(frame["panel"].astype(str))
    return titles


def n_drawn_panels(page):
    """Number of the drawn panels of a page that hold marks."""
    drawn = page.draw()
    n_panels = sum(axes.has_data() for axes in drawn.axes)
    plt.close(drawn)
    return n_panels


def assert_has_all_panels(figure, *, drawn):
    """The pages of a figure have nine panels together, none of them twice; `drawn` counts them as drawn."""
    n_panels = 0
    titles = set()
    for page in figure.pages:
        page_titles = titles_of_page(page)
        titles |= page_titles
        n_panels += len(page_titles)
        if drawn:
            assert n_drawn_panels(page) == len(page_titles)
    assert len(titles) == n_panels == N_PANELS


@pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("make", [scatter, correlations, boxes, agreement, calibration, rates])
def test_a_figure_has_all_panels_of_its_data_at_every_width(make):
    figure = make()
    for width in WIDTHS:
        # the narrowest figure has the most pages
        assert_has_all_panels(figure.at(width), drawn=width == min(WIDTHS))


@pytest.mark.parametrize(
    "width",
    [pytest.param(w, marks=() if w in (min(WIDTHS), max(WIDTHS)) else pytest.mark.slow) for w in WIDTHS],
)
def test_residuals_have_all_panels_at_every_width(width):
    assert_has_all_panels(residuals().at(width), drawn=True)
    assert_has_all_panels(residuals(width), drawn=False)


@pytest.mark.parametrize("width", [120, 140, 160, 183])
def test_the_panels_of_a_model_stand_in_one_row_of_a_single_page(width):
    figure = residuals(width)
    assert figure.facet._ncol == 3
    assert len(figure.pages) == 1


def test_the_files_of_all_pages_are_named_in_a_warning(tmp_path):
    names = ("figure.png", "figure-2.png", "figure-3.png")
    with warns(option="path", value=names):
        ss.save_figure(residuals(), tmp_path / "figure.png", width=60, dpi=30)
    assert {file.name for file in tmp_path.glob("*.png")} == set(names)

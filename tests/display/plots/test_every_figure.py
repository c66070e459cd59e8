"""What holds of every figure: nothing is cut, numbers of an axis do not touch, frames stay as they are."""

import inspect
import warnings
from contextlib import contextmanager
from itertools import combinations, pairwise, product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from display.frames import STUDIES, extreme_study, large_study
from display.plots import study_figures
from display.plots.estimate_figures import LONG, MARKUP, decreases, estimates
from display.plots.study_figures import BY, figure_of_study, ranked
from matplotlib.offsetbox import OffsetBox
from tests_support import in_turn, raises, warns

import salstats as ss
from salstats.display.plots.curves import plot_curves
from salstats.display.plots.layout.theme import (
    PAGE_HEIGHT_MM,
    REFERENCE_COLOUR,
    REFERENCE_FILL,
    REFERENCE_LINE,
    REFERENCE_SHAPE,
)
from salstats.errors import ColumnError, SalstatsError, Setting, ValueRangeError

SCORES = ss.datasets.load_simulated()
COVERAGE = ss.datasets.load_coverage()
#: Tasks of the simulated study by names that other programs would take for markup, or cut.
NAMES = dict(zip(sorted(SCORES["task"].unique()), [*MARKUP, LONG], strict=True))
ODD = SCORES.replace({"task": NAMES})
ONE = ODD.query("method == 'gradcam' and metric == 'iou'")
COLUMNS = ["iou", "prob", "elongation", "area_ratio"]
#: Percentage decreases of 100 and -2,300, undefined ones, and means of the same scores.
EXTREME = extreme_study()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    EXTREME_DECREASE = ss.percent_decrease(
        EXTREME, reference="human", by=["metric", "task"], average="task", n_replicates=20
    )
    EXTREME_MEANS = ss.summarize(EXTREME, by=["metric", "method", "task"], n_replicates=20)
#: The same of two metrics, one of which is a distance.
DISTANCE = large_study(n_cases=40, n_patients=30).query("metric in ['iou', 'hd95'] and reader != 'r2'")
DISTANCE_MEANS = ss.summarize(DISTANCE, by=["metric", "method", "task"], n_replicates=20)
DISTANCE_DECREASE = ss.percent_decrease(DISTANCE, reference="human", by=["metric", "task"], n_replicates=20)


def terms():
    return ss.regress(ODD, ["iou ~ elongation + task", "hit ~ elongation"], by="method", errors="cluster")


def pairs():
    plain = ODD.drop(columns="patient").query("task == @LONG")
    return pd.concat([ss.correlate(plain, x, y, by="method") for x, y in combinations(COLUMNS, 2)])


def sweep(n=10):
    tasks = [*NAMES.values(), *(f"Task {i}" for i in range(n - len(NAMES)))]
    rows = [(t, 0.1 * i, np.sin(i + len(t))) for t in tasks for i in range(1, 9)]
    return pd.DataFrame(rows, columns=["task", "threshold", "estimate"])


def curves():
    rows = [(m, t, x, x**2) for m in ("insertion", "deletion") for t in NAMES.values() for x in (0, 0.5, 1)]
    return pd.DataFrame(rows, columns=["metric", "method", "fraction", "estimate"])


def planned():
    pilot = ODD.query("metric == 'iou' and method != 'occlusion'")
    asked = {"effect": [-0.15, -0.12], "n_cases": [10, 20, 40], "approach": "formula"}
    return ss.power(pilot, reference="human", by="task", **asked)


def agreeing(scores):
    """Limits of agreement of both methods."""
    return ss.agreement(scores, over="method", kind="bland-altman")


def paired(scores):
    """Pairs of all methods with the human benchmark."""
    return ss.plot_pairs(scores, ss.difference(scores, reference="human"))


def rates_of(curves):
    """ROC curves with their areas."""
    return ss.plot_roc(curves, auroc=ss.auroc(ODD, "prob", "label"))


def calibrated(curves):
    """Calibration curves with their intercepts and slopes."""
    return ss.plot_calibration(curves, calibration=ss.calibration(ODD, "prob", "label"))


def read(n=3):
    """Readings of methods by odd names."""
    rows = [
        (f"r{r}", name, c, 0.1 * c + 0.05 * r * i)
        for r in range(n)
        for i, name in enumerate(NAMES.values())
        for c in range(4)
    ]
    return pd.DataFrame(rows, columns=["reader", "method", "case", "score"]).assign(metric="iou")


#: Each figure with a frame of it and whether it shows all the odd names of tasks.
FIGURES = {
    "intervals": (ss.plot_intervals, estimates([*NAMES.values(), "Average"]), True),
    "intervals of sixty": (
        ss.plot_intervals,
        estimates([f"t{i}" for i in range(60)]),
        False,
    ),
    "intervals of a distance": (ss.plot_intervals, DISTANCE_MEANS, False),
    "decrease of a distance": (lambda f: ss.plot_decrease(f, text=False), DISTANCE_DECREASE, False),
    "intervals of one score": (ss.plot_intervals, estimates(estimate=0, conf_low=0, conf_high=0), False),
    "decrease": (ss.plot_decrease, decreases(dict.fromkeys(NAMES.values(), 30.0)), True),
    "decrease of extremes": (lambda f: ss.plot_decrease(f, text=False), EXTREME_DECREASE, False),
    "decrease of ratios": (
        lambda f: ss.plot_decrease(f, text=False, scale="log-ratio"),
        EXTREME_DECREASE,
        False,
    ),
    "intervals of extremes": (ss.plot_intervals, EXTREME_MEANS, False),
    "forest": (ss.plot_forest, estimates([*NAMES.values(), "Average"], ["human"]), True),
    "forest of two": (ss.plot_forest, estimates(NAMES.values(), metrics=["iou"]), True),
    "regression": (ss.plot_regression, terms(), True),
    "scatter": (lambda f: ss.plot_scatter(f, "prob", "iou"), ODD, True),
    "scatter in a column": (lambda f: ss.plot_scatter(f, "prob", "hit", width=89), ODD, False),
    "scatter of sixty": (
        lambda f: ss.plot_scatter(f, "prob", "score"),
        ONE.assign(task=[f"Task {i % 60:02d}" for i in range(len(ONE))]),
        False,
    ),
    "pairs": (paired, ODD, True),
    "pairs in a column": (paired, ODD.query("metric == 'iou' and method != 'occlusion'"), True),
    "box": (ss.plot_box, ODD, True),
    "box of clouds": (lambda f: ss.plot_box(f, form="raincloud"), ODD, True),
    "box of half-eyes": (lambda f: ss.plot_box(f, form="halfeye"), ODD, True),
    "letter values": (ss.plot_letter_values, ss.letter_values(ODD, ["elongation", "prob"]), True),
    "thresholds": (ss.plot_thresholds, sweep(), True),
    "curves": (plot_curves, curves(), True),
    "curves of seven on a page": (
        lambda f: plot_curves(f, width=183),
        curves()
        .merge(pd.DataFrame({"name": [f"method number {i}" for i in range(7)]}), how="cross")
        .query("method == @LONG")
        .assign(method=lambda d: d["name"])
        .drop(columns="name"),
        False,
    ),
    "roc": (rates_of, ss.roc_curve(ODD, "prob", "label", n_replicates=50), True),
    "calibration": (calibrated, ss.calibration_curve(ODD, "prob", "label"), True),
    "correlation": (ss.plot_correlation, pairs(), False),
    "residuals": (ss.plot_residuals, ss.augment(ONE.drop(columns="patient"), "score ~ prob", by=()), False),
    "flow": (ss.plot_flow, ss.case_flow(ODD, reference="human"), False),
    "coverage": (ss.plot_coverage, COVERAGE, False),
    "power": (ss.plot_power, planned(), True),
    "readers": (lambda f: ss.plot_readers(f, means=ss.mrmc(read())), ss.mrmc_readers(read()), True),
    "agreement": (lambda f: ss.plot_agreement(f, agreeing(f)), ODD.query("metric == 'iou'"), True),
    "diagram": (lambda f: ranked(f, "diagram"), ODD, True),
    "heatmap": (ss.plot_heatmap, estimates([*NAMES.values(), "Average"]), True),
    "heatmap of a distance": (ss.plot_heatmap, DISTANCE_MEANS, False),
    "heatmap of extremes": (ss.plot_heatmap, EXTREME_DECREASE, False),
}
#: Figures of FIGURES that are of usual frames; the others are drawn by `pytest -m slow`.
USUAL = [name for name in FIGURES if " of " not in name and " in " not in name]
#: Calls whose rows repeat cases: what they say of it is not what is drawn here.
pytestmark = pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning")


def boxes_of(texts):
    """The room of each text that is seen."""
    return [t.get_window_extent() for t in texts if t.get_visible() and t.get_text().strip()]


def assert_nothing_is_cut(drawn):
    """Texts and legends lie within the figure, but for a pixel or two."""
    edge = drawn.bbox
    legends = [box.get_window_extent() for box in drawn.findobj(OffsetBox) if box.get_visible()]
    for box in [*boxes_of(drawn.findobj(plt.Text)), *legends]:
        assert edge.x0 - 2 <= box.x0 <= box.x1 <= edge.x1 + 2
        assert edge.y0 - 2 <= box.y0 <= box.y1 <= edge.y1 + 2


@contextmanager
def drawn_without_hinting(page):
    """A page as it is drawn, with letters as wide as on paper; it is closed at the end."""
    # texts are measured with the setting that they are laid out with
    with plt.rc_context({"text.hinting": "no_hinting"}):
        drawn = page.draw(show=False)
        try:
            drawn.draw_without_rendering()
            yield drawn
        finally:
            plt.close(drawn)


CAMS = ["Grad-CAM", "Grad-CAM++", "Layer-CAM", "Eigen-CAM"]
EIGHT = [*CAMS, "Integrated Gradients", "DeepLIFT", "Occlusion", "RISE"]


def eight(term=""):
    tasks = {"A": 30.0, "B": 20.0, "Average": 25.0}
    frame = pd.concat([decreases(tasks, method) for method in EIGHT], ignore_index=True)
    return frame if not term else frame.assign(term=term, n=100, p_value=0.01)


MEANS = ss.summarize(SCORES, average="task", interval="t")
DECREASE = ss.percent_decrease(SCORES, reference="human", n_replicates=20)
FITTED = ss.augment(
    SCORES.query("metric == 'iou' and method == 'gradcam'").drop(columns="patient"), "score ~ prob", by="task"
)
LONG_METHOD = {"gradcam": "Gradient-weighted class activation mapping"}
#: Figures as they are saved in a column or on a page; those that take a width are given it.
SAVED = {
    "ranks": lambda width: ss.plot_ranks(
        ss.rank_stability(SCORES, n_replicates=100),
        frequencies=ss.rank_frequencies(SCORES, n_replicates=100),
        labels=LONG_METHOD,
        width=width,
    ),
    "ranks of one": lambda width: ss.plot_ranks(
        ss.rank_stability(SCORES.query("metric == 'iou'"), n_replicates=100),
        frequencies=ss.rank_frequencies(SCORES.query("metric == 'iou'"), n_replicates=100),
        width=width,
    ),
    "significance": lambda width: ss.plot_significance(
        ss.significance_map(SCORES, test="t"), labels=LONG_METHOD, width=width
    ),
    "intervals": lambda width: ss.plot_intervals(MEANS, decrease=DECREASE),
    "intervals of eight": lambda width: ss.plot_intervals(eight().assign(term="mean")),
    "decrease": lambda width: ss.plot_decrease(eight(), labels={"method": EIGHT}, width=width),
    "decrease of extremes": lambda width: ss.plot_decrease(EXTREME_DECREASE, width=width),
    "forest of extremes": lambda width: ss.plot_forest(EXTREME_DECREASE, width=width),
    "forest of eight": lambda width: ss.plot_forest(eight("difference"), p_values=True, width=width),
    "forest of one": lambda width: ss.plot_forest(
        eight("difference").query("method == 'Layer-CAM' and task == 'A'"), width=width
    ),
    "residuals of five": lambda width: ss.plot_residuals(
        FITTED, by="task", labels={"Atelectasis": "Basal atelectasis"}, width=width
    ),
}


#: Names of the public functions that draw a frame.
PUBLIC_PLOTS_OF_FRAMES = {
    name for name in ss.__all__ if name.startswith("plot_") and ".display." in getattr(ss, name).__module__
}


def test_every_figure_of_a_frame_is_here():
    here = {f"plot_{name.replace(' ', '_')}" for name in (*FIGURES, *SAVED)}
    assert here >= PUBLIC_PLOTS_OF_FRAMES


def test_every_public_figure_is_measured_on_the_five_studies():
    measured = {f"plot_{name.split(' as ')[0].replace(' ', '_')}" for name in study_figures.FIGURES}
    assert measured == {name for name in ss.__all__ if name.startswith("plot_")}


@pytest.mark.parametrize(("name", "width"), in_turn(SAVED, (89, 183)))
def test_nothing_is_cut_in_a_column_or_on_a_page(name, width):
    drawn = SAVED[name](width).at(width).draw(show=False)
    try:
        drawn.draw_without_rendering()
        assert_nothing_is_cut(drawn)
        assert all(axes.bbox.width > 10 / 25.4 * drawn.dpi for axes in drawn.axes)
    finally:
        plt.close(drawn)


def assert_texts_keep_apart(drawn):
    """Numbers of an axis and of its neighbour do not touch, nor do titles of panels, which are whole."""
    lines = {}
    for axes in drawn.axes:
        up = sorted((b.y0, b.y1) for b in boxes_of(axes.get_yticklabels()))
        assert all(a[1] < b[0] + 1 for a, b in pairwise(up))
        level = [t for t in axes.get_xticklabels() if t.get_rotation() == 0]
        lines.setdefault(round(axes.bbox.y0), []).extend(boxes_of(level))
    for boxes in lines.values():
        across = sorted((b.x0, b.x1) for b in boxes)
        assert all(a[1] < b[0] for a, b in pairwise(across))
    titles = [t for t in drawn.findobj(plt.Text) if type(t).__name__ == "StripText"]
    assert not any("…" in title.get_text() for title in titles)
    rooms = boxes_of(titles)
    assert not any(a.overlaps(b) for a, b in combinations(rooms, 2))
    assert all(room.x1 < drawn.bbox.x1 - 0.5 / 25.4 * drawn.dpi for room in rooms)


@pytest.mark.parametrize(
    ("name", "width"),
    [
        *in_turn(USUAL, (60, 89, 183)),
        *(
            pytest.param(name, width, marks=pytest.mark.slow)
            for name in FIGURES
            if name not in USUAL
            for width in (60, 89, 183)
        ),
    ],
)
def test_nothing_is_cut_or_too_high_texts_keep_apart_and_the_frame_stays_as_it_is(name, width):
    make, frame, shows_names = FIGURES[name]
    before = frame.copy(deep=True)
    figure = make(frame)
    pd.testing.assert_frame_equal(frame, before)
    pages = figure.at(width).pages
    assert all(25.4 * page.theme.getp("figure_size")[1] <= PAGE_HEIGHT_MM + 0.1 for page in pages)
    words = ""
    for page in {0: pages[0], len(pages) - 1: pages[-1]}.values():
        with drawn_without_hinting(page) as drawn:
            assert_nothing_is_cut(drawn)
            assert_texts_keep_apart(drawn)
            assert width == 60 or all(axes.bbox.width > 10 / 25.4 * drawn.dpi for axes in drawn.axes)
            # lines of an indented label begin with a wide blank
            words += " ".join(" ".join(t.get_text().split()) for t in drawn.findobj(plt.Text))
    if shows_names and figure.at(width) is figure:
        assert all(markup in words.replace(r"\$", "$") for markup in MARKUP)


#: Additions as users of plotnine make them.
ADDITIONS = {
    "larger text": p9.theme(text=p9.element_text(size=8.5)),
    "another theme": p9.theme_bw(),
    "a theme without lines": p9.theme_void(),
    "title": p9.labs(title="Overlap of maps with the annotations", subtitle="Test set"),
    "caption": p9.labs(caption="Scores of all cases of the test set, one for each case and finding. " * 3),
    "letter": p9.labs(tag="a"),
    "grid": p9.theme(panel_grid_major=p9.element_line(color="#DDDDDD")),
    "axis title": p9.labs(x="Score of a case, from 0 to 1"),
    "line": p9.geom_vline(xintercept=1, linetype="dotted"),
    "another legend place": p9.theme(legend_position="bottom"),
}


#: Each figure with each addition; each run has each addition once, with one figure.
ADDED = [
    pytest.param(name, addition, marks=() if name == USUAL[2 * turn] else pytest.mark.slow)
    for turn, addition in enumerate(ADDITIONS)
    for name in USUAL
]


@pytest.mark.parametrize(("name", "addition"), ADDED)
def test_an_addition_of_plotnine_cuts_nothing_and_shows_no_name_of_a_column(name, addition):
    make, frame, _ = FIGURES[name]
    page = make(frame) + ADDITIONS[addition]
    with drawn_without_hinting(page) as drawn:
        assert_nothing_is_cut(drawn)
        assert_texts_keep_apart(drawn)
        words = {t.get_text() for t in drawn.findobj(plt.Text) if t.get_visible()}
        assert not words & {"method_label", "mark", "panel", "row_label", "fill", "group"}


@pytest.mark.filterwarnings("ignore:Glyph")
def test_characters_that_the_face_lacks_do_not_stop_the_drawing():
    assert ss.plot_box(SCORES, labels={"Edema": "浮腫"}).draw(show=False)


@pytest.mark.parametrize(
    ("make", "frame"),
    [FIGURES[name][:2] for name in USUAL],
)
def test_a_frame_of_something_else_is_an_error_that_names_a_column(make, frame):
    with raises(ColumnError) as caught:
        make(pd.DataFrame({"x": [1.0]}))
    # one that the frame lacks, beside those that it has
    assert "x" in caught.value.choices
    assert caught.value.column not in (None, *caught.value.choices)
    with raises(SalstatsError, value=0) as caught:
        make(frame.iloc[:0])
    assert caught.value.option


@pytest.mark.parametrize(
    "plot",
    [getattr(ss, name) for name in sorted(PUBLIC_PLOTS_OF_FRAMES)],
)
def test_a_path_instead_of_a_frame_is_an_error_that_names_the_argument(plot):
    parameters = inspect.signature(plot).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty]
    with raises(SalstatsError) as caught:
        plot(*["frame.csv"] * len(required))
    assert caught.value.option in required


ALONE = SCORES.query("metric == 'iou' and method == 'gradcam' and task == 'Edema'")
PAIR = SCORES.query("metric == 'iou' and task == 'Edema' and method != 'occlusion'")
#: Figures of one method, one metric and one task.
OF_ONE = {
    "intervals": lambda: ss.plot_intervals(ss.summarize(ALONE, interval="t")),
    "decrease": lambda: ss.plot_decrease(ss.difference(PAIR, reference="human", by=BY[::2])),
    "forest": lambda: ss.plot_forest(ss.difference(PAIR, reference="human", by=BY[::2])),
    "pairs": lambda: ss.plot_pairs(PAIR, ss.difference(PAIR, reference="human", by=BY[::2])),
    "box": lambda: ss.plot_box(ALONE),
    "box of all": lambda: ss.plot_box(ALONE, by=()),
    "scatter": lambda: ss.plot_scatter(ALONE, "prob", "score"),
    "scatter of a metric": lambda: ss.plot_scatter(ALONE, "prob", "iou", by="method"),
    "regression": lambda: ss.plot_regression(ss.regress(ALONE, "iou ~ prob", by=BY[1:])),
    "correlation": lambda: ss.plot_correlation(ss.correlate(ALONE, "prob", "iou", by=BY[1:])),
    "residuals": lambda: ss.plot_residuals(ss.augment(ALONE, "iou ~ prob", by=BY[1:]), by=BY[1:]),
    "agreement": lambda: ss.plot_agreement(PAIR, agreeing(PAIR)),
    "roc": lambda: ss.plot_roc(
        ss.roc_curve(
            SCORES.query("method == 'gradcam' and task == 'Edema'"), "iou", "hit", by=BY[1:], n_replicates=50
        )
    ),
    "calibration": lambda: ss.plot_calibration(
        ss.calibration_curve(SCORES.query("method == 'gradcam' and task == 'Edema'"), "iou", "hit", by=BY[1:])
    ),
    "ranks": lambda: ss.plot_ranks(ss.rank_stability(PAIR, by=BY[::2], n_replicates=50)),
    "significance": lambda: ss.plot_significance(ss.significance_map(PAIR, by=BY[::2], test="t")),
    "diagram": lambda: ranked(PAIR, "diagram"),
    "heatmap": lambda: ss.plot_heatmap(ss.summarize(ALONE, by=BY, interval="t")),
    "power": lambda: ss.plot_power(
        ss.power(PAIR, reference="human", effect=-0.1, by=BY[::2], approach="formula")
    ),
    "thresholds": lambda: ss.plot_thresholds(
        sweep().query("task == @LONG").assign(task="Edema", method="gradcam", metric="iou")
    ),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_a_figure_of_one_method_and_one_metric_says_which(name):
    drawn = OF_ONE[name]().draw(show=False)
    words = " ".join(t.get_text().replace("\n", " ") for t in drawn.findobj(plt.Text) if t.get_visible())
    plt.close(drawn)
    assert all(text in words for text in ("IoU", "Grad-CAM", "Edema")), words


def smallest_text_pt(drawn):
    """The size in points of the smallest text that is seen."""
    return min(t.get_fontsize() for t in drawn.findobj(plt.Text) if t.get_visible() and t.get_text().strip())


QUICK_STUDIES = ("small", "extreme")
SLOWER_FIGURES = ("pairs", "readers", "roc", "calibration", "residuals", "regression", "gallery", "agreement")
#: Studies and widths at which each run measures every second of the quicker figures; others are slow tests.
QUICK_SHEETS = tuple(product(QUICK_STUDIES, (60, 183)))
FIGURES_OF_STUDIES = [
    pytest.param(
        name,
        figure,
        width,
        marks=()
        if turn % 2 == 0
        and figure not in SLOWER_FIGURES
        and (name, width) == QUICK_SHEETS[turn // 2 % len(QUICK_SHEETS)]
        else pytest.mark.slow,
    )
    for turn, figure in enumerate(study_figures.FIGURES)
    for name, width in product(STUDIES, (60, 89, 183))
]


def laid_out(name, figure, width):
    """A figure of a study at a width, or at the width that its error says it needs beside its text."""
    plot = figure_of_study(name, figure)
    try:
        return plot.at(width)
    except SalstatsError as caught:
        error = caught
    assert (error.option, width) == ("width", 60)
    assert figure in ("decrease", "decrease as differences")
    settings = [part for part in error.hint.parts if isinstance(part, Setting)]
    (sufficient,) = [setting.value for setting in settings if setting.option == "width"]
    assert sufficient <= 75
    return plot.at(sufficient)


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize(("name", "figure", "width"), FIGURES_OF_STUDIES)
def test_figures_of_five_studies_are_whole_and_legible(name, figure, width):
    for page in laid_out(name, figure, width).pages:
        with drawn_without_hinting(page) as drawn:
            assert_nothing_is_cut(drawn)
            assert_texts_keep_apart(drawn)
            assert smallest_text_pt(drawn) >= 5


#: Figures that draw the human benchmark with marks, lines or fills of its own, by the study.
WITH_REFERENCE = {
    "extreme": ("intervals", "forest", "box", "box as half-eyes", "pairs"),
    "large": (
        "intervals",
        "forest",
        "box",
        "box as half-eyes",
        "pairs",
        "regression",
        "scatter",
        "roc",
        "calibration",
    ),
}


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        pytest.param(name, figure, marks=() if name in QUICK_STUDIES else pytest.mark.slow)
        for name, figures in WITH_REFERENCE.items()
        for figure in figures
    ],
)
def test_the_reference_has_one_mark_and_colour_and_stands_first(name, figure):
    plot = figure_of_study(name, figure)
    expected = {
        "color": REFERENCE_COLOUR,
        "fill": REFERENCE_COLOUR,
        "shape": REFERENCE_SHAPE,
        "linetype": REFERENCE_LINE,
    }
    if figure in ("box", "box as half-eyes"):
        expected["fill"] = REFERENCE_FILL
    scales = {aesthetic: plot.scales.get_scales(aesthetic) for aesthetic in expected}
    of_methods = {
        aesthetic: scale
        for aesthetic, scale in scales.items()
        if scale is not None and "Human benchmark" in (scale.limits or ())
    }
    assert "color" in of_methods
    for aesthetic, scale in of_methods.items():
        assert scale.limits[0] == "Human benchmark"
        assert scale.palette(len(scale.limits))[0] == expected[aesthetic]


def test_larger_text_that_does_not_fit_a_page_is_said():
    rows = estimates([f"t{i}" for i in range(40)], metrics=["iou"])
    with warns(option="width"):
        ss.plot_intervals(rows, width=89) + p9.theme(text=p9.element_text(size=14))
    with raises(ValueRangeError, option="width", value=89):
        ss.plot_forest(rows, width=89) + p9.theme(text=p9.element_text(size=18))

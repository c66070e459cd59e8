"""Figs. 1 to 6: an explanation that is shifted, of another size, or both, as masks and as curves."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9
from great_tables import GT

from salstats.display.plots.layout.axis_ticks import tick_texts
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.legends import n_legend_columns
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import (
    caption,
    caption_chars,
    caption_height_mm,
    chars_in,
    wrapped,
)
from salstats.display.plots.layout.theme import (
    GUIDE,
    PAGE_MM,
    PALETTE,
    figure_size,
    font,
    picture_theme,
    theme_salstats,
)
from salstats.display.tables.record import TableColumn
from salstats.display.text.format import MINUS, fixed_text
from salstats.images.printed_images import outlines_as_row_col_lines
from salstats.scoring.distances import DISTANCES
from salstats.scoring.mask_simulation import (
    MaskSeries,
    count_truth_mask_and_overlap_pixels,
    score_masks_of_each_simulation_step,
    simulate_masks,
)
from salstats.studies.declarations import ItemResult
from salstats.studies.mrxai2025.compared_cases import RECONSTRUCTION_NOTE, note_text
from salstats.studies.result_tables import CellSource, table_of

#: Metric, form and size penalty of a measure; the last two are empty but for the penalised Dice.
MeasureKey = tuple[str, str, str]
ABBREVIATION_NOTE = "PDC, Penalised Dice."
#: The simulations' variants, by name.
VARIANTS = {
    "distance": "Shifted",
    "size_linear": "Linear",
    "size_piecewise": "Piecewise",
    "both_linear_truth1": "Linear, truth of size 1",
    "both_linear_truthmid": "Linear, truth of size 1.15",
    "both_piecewise": "Piecewise",
}
#: Note that says why there are several variants.
STEPS_NOTE = (
    "The study's text has nine equal steps of size from 0.6 to 1.7 and says that the fifth has the truth's "
    "size: none of these steps is 1 (the nearest, the fourth, is 1.0125; the fifth is 1.15)."
)
#: Explanations of the variants with sizes.
VARIANT_NOTES = {
    "size_linear": "Linear: equal steps as in the text, truth of size 1.",
    "size_piecewise": "Piecewise: equal steps to 1 and from 1 on, so that the fifth is the truth.",
    "both_linear_truth1": "Linear, truth of size 1: equal steps as in the text.",
    "both_linear_truthmid": "Linear, truth of size 1.15: the fifth step is the truth.",
    "both_piecewise": "Piecewise: equal steps to 1 and from 1 on, so that the fifth is the truth.",
}
_SHAPE_NOTE = "One irregular shape, drawn anew at each place and size."
_SHIFT_NOTE = "Shift: down and to the right."
#: Heading of the penalised Dice; a table as CSV has no notes that could say it is rebuilt.
_PDC = "PDC (rebuilt)"
_HEADINGS = {
    ("dice", "", ""): TableColumn("Dice"),
    ("iou", "", ""): TableColumn("IoU"),
    ("pdc", "product", "with"): TableColumn("product", (_PDC, "with size penalty")),
    ("pdc", "mean", "with"): TableColumn("mean", (_PDC, "with size penalty")),
    ("pdc", "product", "without"): TableColumn("product", (_PDC, "without")),
    ("pdc", "mean", "without"): TableColumn("mean", (_PDC, "without")),
    ("hausdorff", "", ""): TableColumn("Hausdorff", ("Distance, px",)),
    ("hd95", "", ""): TableColumn("95th percentile", ("Distance, px",)),
    ("assd", "", ""): TableColumn("average", ("Distance, px",)),
}


@dataclass(frozen=True)
class _MeasureStyle:
    """Text and style of a measure in the figures."""

    text: str
    colour: str
    line: Any
    mark: str


#: Measures in the order of the legend, by metric, form and size penalty.
_STYLES: dict[MeasureKey, _MeasureStyle] = {
    ("dice", "", ""): _MeasureStyle("Dice", PALETTE[0], "solid", "o"),
    ("pdc", "product", "with"): _MeasureStyle("PDC, product", PALETTE[2], "solid", "^"),
    ("pdc", "product", "without"): _MeasureStyle("PDC, product, no size penalty", PALETTE[2], "dotted", "v"),
    ("iou", "", ""): _MeasureStyle("IoU", PALETTE[3], "dashed", "s"),
    ("pdc", "mean", "with"): _MeasureStyle("PDC, mean", PALETTE[4], "solid", "D"),
    ("pdc", "mean", "without"): _MeasureStyle("PDC, mean, no size penalty", PALETTE[4], "dotted", "P"),
    ("hausdorff", "", ""): _MeasureStyle("Hausdorff distance", "#000000", "solid", "o"),
    ("hd95", "", ""): _MeasureStyle("Its 95th percentile", "#555555", "dashed", "s"),
    ("assd", "", ""): _MeasureStyle("Average surface distance", "#888888", "dotted", "^"),
}
#: Titles of the vertical axes.
_AGREEMENT = "Agreement"
_DISTANCE = "Distance, pixels"
_PERFECT_NOTE = "Perfect is an agreement of 1 and a distance of 0."
#: Legend of the masks.
_TRUTH = "Truth (outline)"
_EXPLANATION = "Explanation (filled)"
#: Aesthetics that tell measures apart.
_GUIDES = ("color", "shape", "linetype")
#: Height of a panel of curves, and of all panels together, at most.
_PANEL_MM = 38.0
_PANELS_MM = 114.0
#: Ticks of relative sizes.
_SIZE_BREAKS = [0.6, 0.8, 1.0, 1.2, 1.4, 1.6]
# Figures of masks: the edge, the gap between two panels, the names of rows, and the line of steps.
_EDGE_MM = 1.5
_GAP_MM = 1.2
_ROW_NAMES_MM = 9.0
_STEPS_MM = 6.0
_LEGEND_MM = 6.0
#: Size of the text in a panel of masks.
_SMALL_PT = 5.5
#: Height of a panel of masks with the text below it, over that of the image.
_TEXT_RATIO = 1.15


@dataclass(frozen=True)
class SimulatedMasksWithScores:
    """Masks of every kind of simulation, counted and scored."""

    #: Masks of each step by simulation.
    series: Mapping[str, MaskSeries]
    #: Pixels of truth, mask and overlap of each step.
    sizes: pd.DataFrame
    #: Scores of each step.
    scores: pd.DataFrame


def draw_and_score_simulated_masks() -> SimulatedMasksWithScores:
    """Draw, count and score the masks of all simulations."""
    series = simulate_masks()
    return SimulatedMasksWithScores(
        series=series,
        sizes=count_truth_mask_and_overlap_pixels(series),
        scores=score_masks_of_each_simulation_step(series),
    )


def simulated_masks_maker(*simulation_names: str) -> Callable[[Any], ItemResult]:
    """Return a function that draws the masks of some simulations and counts their pixels."""

    def make(data: Any) -> ItemResult:
        simulations: SimulatedMasksWithScores = data.simulations
        sizes = simulations.sizes
        sizes = sizes[sizes["simulation"].isin(simulation_names)].reset_index(drop=True)
        figure = plot_masks({name: simulations.series[name] for name in simulation_names})
        return ItemResult(
            sizes,
            _mask_pixels_of_each_step_table(sizes),
            figure,
            note=note_text(_SHAPE_NOTE, changing_sizes_note_or_empty(simulation_names)),
        )

    return make


def simulated_score_curves_maker(*simulation_names: str) -> Callable[[Any], ItemResult]:
    """Return a function that plots every measure of some simulations as curves."""

    def make(data: Any) -> ItemResult:
        scores = data.simulations.scores
        scores = scores[scores["simulation"].isin(simulation_names)].reset_index(drop=True)
        note = note_text(_SHAPE_NOTE, changing_sizes_note_or_empty(simulation_names))
        return ItemResult(
            scores,
            _table_of_steps_with_measure_columns(scores),
            plot_measures_by_mask_size_or_shift(scores),
            note=note,
        )

    return make


def changing_sizes_note_or_empty(simulations: Sequence[str]) -> str:
    """Explain the sizes of some simulations; empty where sizes do not change."""
    sentences = [VARIANT_NOTES[name] for name in simulations if name in VARIANT_NOTES]
    if not sentences:
        return ""
    return " ".join([STEPS_NOTE, *sentences])


def _mask_pixels_of_each_step_table(sizes: pd.DataFrame) -> GT:
    """Make a table of the pixels of truth, explanation and overlap of each step.

    The column `n_mask` has the pixels of the explanation, which is the mask compared with the truth.
    """
    columns = {
        TableColumn("Truth", ("Pixels",), "right"): "n_truth",
        TableColumn("Explanation", ("Pixels",), "right"): "n_mask",
        TableColumn("Both", ("Pixels",), "right"): "n_overlap",
    }
    return _simulation_steps_table(sizes, columns, _SHIFT_NOTE)


def _table_of_steps_with_measure_columns(scores: pd.DataFrame) -> GT:
    """Make a table with a row for each step and a column for each measure."""
    keys = ["simulation", "step", "shift", "scale"]
    measures = [_joined_measure_key(key) for key in metric_form_and_penalty_of_each_row(scores)]
    steps = scores.assign(measure=measures).pivot(index=keys, columns="measure", values="score")
    # A pivot sorts its rows; the simulations and steps are put back into their order.
    order = scores.set_index(keys).index.unique()
    steps = steps.reindex(order).reset_index()
    columns: dict[Any, CellSource] = {}
    for key, heading in _HEADINGS.items():
        metric = key[0]
        decimals = 3
        if metric in DISTANCES:
            decimals = 2
        columns[heading] = (_joined_measure_key(key), decimals)
    return _simulation_steps_table(steps, columns, f"{_SHIFT_NOTE} {ABBREVIATION_NOTE} {RECONSTRUCTION_NOTE}")


def _joined_measure_key(key: MeasureKey) -> str:
    """Name the column of a measure in a table with a column for each."""
    return "_".join(key)


def _simulation_steps_table(steps: pd.DataFrame, columns: Mapping[Any, CellSource], note: str) -> GT:
    """Make a table with a row per step, and a group per variant where there are several."""
    groups: CellSource | None = None
    if steps["simulation"].nunique() > 1:
        groups = _simulation_variant_name
    return table_of(
        steps,
        "mrxai2025",
        {"Step": "step", "Shift, px": lambda r: signed_text(r.shift), "Size": ("scale", 4)},
        columns,
        groups=groups,
        notes=[note],
    )


def _simulation_variant_name(row: Any) -> str:
    """Name the variant of a row's simulation."""
    return VARIANTS[row.simulation]


def plot_masks(series: Mapping[str, MaskSeries]) -> Figure:
    """Draw the masks of some simulations as wide as a page: a row for each, a panel per step."""
    names = list(series)
    height, width = next(iter(series.values())).truth.shape
    lines = pd.concat([_outlines(name, masks) for name, masks in series.items()], ignore_index=True)
    # Rows of pixels count downwards, so that the texts stand just below the image.
    texts = _shift_and_size_text_of_each_step(series).assign(x=0.0, y=1.03 * height)
    for frame in (lines, texts):
        frame["simulation"] = pd.Categorical(frame["simulation"], names, ordered=True)
    n_steps = max(len(masks.masks) for masks in series.values())
    row_names_width = 0.0
    if len(names) > 1:
        row_names_width = _ROW_NAMES_MM
    panel_width = (PAGE_MM - 2 * _EDGE_MM - row_names_width - (n_steps - 1) * _GAP_MM) / n_steps
    panel_height = _TEXT_RATIO * panel_width * height / width
    note = caption(
        [
            "In each panel: shift down and to the right in pixels, size relative to the shape drawn "
            f"(image {height} x {width}, drawn anew at each size).",
            changing_sizes_note_or_empty(names),
        ],
        caption_chars(PAGE_MM),
    )
    facets = p9.facet_grid(cols="step")
    if len(names) > 1:
        # Names of rows are written upwards, so that a line is as long as a panel is high.
        line_chars = chars_in(panel_height, size_pt=6.5)
        row_names = {name: wrapped(VARIANTS[name], line_chars, max_lines=3) for name in names}
        facets = p9.facet_grid("simulation", "step", labeller=p9.labeller(rows=lambda name: row_names[name]))
    explanations = lines[lines["kind"] == _EXPLANATION]
    truths = lines[lines["kind"] == _TRUTH]
    # The frame of a panel is drawn a little inside, so that its line is not cut at the edge.
    inset = 0.006 * width
    edge = {"xmin": inset, "xmax": width - inset, "ymin": inset, "ymax": height - inset}
    small_text = {"size": _SMALL_PT, "ha": "left", "va": "top", "family": font()}
    panels_height = len(names) * panel_height + (len(names) - 1) * _GAP_MM
    figure_height = panels_height + _STEPS_MM + 2 * _EDGE_MM + _LEGEND_MM + caption_height_mm(note)
    return (
        Figure(lines, p9.aes("x", "y", group="line"))
        + p9.annotate("rect", **edge, fill="none", color=GUIDE, size=0.4)
        + p9.geom_polygon(p9.aes(fill="kind"), explanations, alpha=0.55)
        + p9.geom_path(p9.aes(color="kind"), truths, size=0.45)
        + p9.geom_text(p9.aes("x", "y", label="text"), texts, inherit_aes=False, **small_text)
        + facets
        + p9.scale_fill_manual([PALETTE[3]], limits=[_EXPLANATION], name="")
        + p9.scale_color_manual(["#000000"], limits=[_TRUTH], name="")
        + p9.scale_x_continuous(limits=(0, width))
        + p9.scale_y_reverse(limits=(_TEXT_RATIO * height, 0))
        + p9.coord_fixed(expand=False)
        + p9.labs(x="", y="", caption=note)
        + theme_salstats()
        + picture_theme(PAGE_MM, _GAP_MM, _EDGE_MM)
        + p9.theme(
            legend_box="horizontal",
            strip_text_x=p9.element_text(ha="left", va="bottom"),
            strip_text_y=p9.element_text(ha="center", va="center", ma="center", weight="normal", size=6.5),
        )
        + figure_size(PAGE_MM, figure_height)
    )


def _shift_and_size_text_of_each_step(masks_by_simulation: Mapping[str, MaskSeries]) -> pd.DataFrame:
    """Write shift and size of each step: `simulation, step, text`."""
    rows = []
    for name, masks in masks_by_simulation.items():
        for step, (shift, scale) in enumerate(zip(masks.shifts, masks.scales, strict=True), start=1):
            rows.append((name, step, f"{signed_text(shift)} px, \u00d7{fixed_text(scale, 2)}"))
    return pd.DataFrame(rows, columns=["simulation", "step", "text"])


def plot_measures_by_mask_size_or_shift(scores: pd.DataFrame) -> Figure:
    """Plot the measures of some simulations: agreement beside distance, a row of panels per simulation."""
    rows = scores.assign(measure=[_STYLES[key].text for key in metric_form_and_penalty_of_each_row(scores)])
    hidden = _measures_hidden_by_penalised_curve(rows)
    rows = rows[~rows["measure"].isin(hidden)].reset_index(drop=True)
    simulations = list(dict.fromkeys(rows["simulation"]))
    measure_styles = [style for style in _STYLES.values() if style.text in set(rows["measure"])]
    texts = [style.text for style in measure_styles]
    axes = np.where(rows["metric"].isin(DISTANCES), _DISTANCE, _AGREEMENT)
    titles = list(axes)
    if len(simulations) > 1:
        titles = [
            f"{VARIANTS[name]}: {axis[0].lower()}{axis[1:]}"
            for name, axis in zip(rows["simulation"], axes, strict=True)
        ]
    by_shift = bool((rows["shift"] != 0).any())
    x_column = "scale"
    if by_shift:
        x_column = "shift"
    rows = rows.assign(
        x=rows[x_column],
        measure=pd.Categorical(rows["measure"], texts, ordered=True),
        panel=pd.Categorical(titles, list(dict.fromkeys(titles)), ordered=True),
    )
    if by_shift:
        perfect_x = 0.0
        breaks = sorted(rows["x"].unique())
        axis_title = "Shift down and to the right, pixels"
    else:
        perfect_x = 1.0
        breaks = _SIZE_BREAKS
        axis_title = "Size relative to the truth"
    # Axes of agreement reach from 0 to 1, those of distance from 0 to the largest distance of all panels.
    largest_score = rows["score"].max()
    ends = rows[["panel", "x"]].assign(score=0.0, top=np.where(axes == _AGREEMENT, 1.0, largest_score))
    notes = [_PERFECT_NOTE, _grey_line_of_truth_and_size_note(rows, by_shift)]
    if hidden:
        notes.append("PDC without size penalty is the same, as all sizes are.")
    notes += [changing_sizes_note_or_empty(simulations), ABBREVIATION_NOTE, RECONSTRUCTION_NOTE]
    grid = panel_grid(list(rows["panel"].cat.categories), n_columns=2, width=PAGE_MM, free_axes=True)
    n_rows = len(grid.titles) / 2
    panel_height = min(_PANELS_MM / n_rows, _PANEL_MM)
    # The lines of the legend get equally many entries.
    n_lines = math.ceil(len(texts) / n_legend_columns(texts, PAGE_MM))
    n_columns = math.ceil(len(texts) / n_lines)
    guides = {aesthetic: p9.guide_legend(ncol=n_columns, byrow=True) for aesthetic in _GUIDES}
    scale = {"limits": texts, "name": ""}
    return (
        Figure(rows, p9.aes("x", "score", color="measure", shape="measure", linetype="measure"))
        + p9.geom_vline(xintercept=perfect_x, color=GUIDE, size=0.4)
        + p9.geom_blank(p9.aes("x", "score"), ends, inherit_aes=False)
        + p9.geom_blank(p9.aes("x", "top"), ends, inherit_aes=False)
        + p9.geom_line(size=0.55)
        + p9.geom_point(size=1.2, stroke=0)
        + p9.scale_color_manual([style.colour for style in measure_styles], **scale)
        + p9.scale_linetype_manual([style.line for style in measure_styles], **scale)
        + p9.scale_shape_manual([style.mark for style in measure_styles], **scale)
        + p9.guides(**guides)
        + p9.scale_x_continuous(breaks=breaks, minor_breaks=[], labels=tick_texts)
        + p9.scale_y_continuous(minor_breaks=[], labels=tick_texts, expand=(0, 0, 0.03, 0))
        + grid.elements(panel_height, x=axis_title, notes=notes, legend=texts)
        + p9.theme(axis_title_y=p9.element_blank(), legend_key_width=16)
    )


def metric_form_and_penalty_of_each_row(scores: pd.DataFrame) -> list[MeasureKey]:
    """Return each row's metric, form and size penalty, which together name a measure."""
    forms = scores["form"].fillna("")
    penalties = scores["size_penalty"].fillna("")
    return list(zip(scores["metric"], forms, penalties, strict=True))


def _measures_hidden_by_penalised_curve(rows: pd.DataFrame) -> list[str]:
    """Return the measures without size penalty whose curve is the same as that with the penalty."""
    hidden = []
    for form in ("product", "mean"):
        penalised = _STYLES["pdc", form, "with"].text
        unpenalised = _STYLES["pdc", form, "without"].text
        penalised_scores = rows.loc[rows["measure"] == penalised, "score"].to_numpy()
        unpenalised_scores = rows.loc[rows["measure"] == unpenalised, "score"].to_numpy()
        if len(unpenalised_scores) and np.array_equal(penalised_scores, unpenalised_scores):
            hidden.append(unpenalised)
    return hidden


def _grey_line_of_truth_and_size_note(rows: pd.DataFrame, by_shift: bool) -> str:
    """Explain the grey line, and sizes that change along an axis of shifts."""
    if not by_shift:
        return "Grey line: the truth's size."
    note = "Grey line: the truth's place."
    sizes = rows["scale"]
    if sizes.nunique() > 1:
        smallest = fixed_text(sizes.min(), 1)
        largest = fixed_text(sizes.max(), 1)
        note += f" Along the axis the size grows from {smallest} to {largest}."
    return note


def _outlines(name: str, series: MaskSeries) -> pd.DataFrame:
    """Return the outlines of truth and explanation of each step: `x, y, simulation, step, kind, line`."""
    points_of_lines = []
    for step, explanation in enumerate(series.masks, start=1):
        masks = {_TRUTH: series.truth, _EXPLANATION: explanation}
        for kind, mask in masks.items():
            for i, line in enumerate(outlines_as_row_col_lines(mask)):
                # Points of an outline are (row, column).
                points = pd.DataFrame({"x": line[:, 1], "y": line[:, 0]})
                line_name = f"{name} {step} {kind} {i}"
                points_of_lines.append(points.assign(simulation=name, step=step, kind=kind, line=line_name))
    return pd.concat(points_of_lines, ignore_index=True)


def signed_text(number: float) -> str:
    """Write a number with its sign, + or a typographic minus; 0 has none."""
    sign = ""
    if number < 0:
        sign = MINUS
    elif number > 0:
        sign = "+"
    return f"{sign}{abs(number):g}"

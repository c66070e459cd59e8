"""Figs. 1 to 6: an explanation that is shifted, of another size, or both, as masks and as curves."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9
from great_tables import GT

from salstats.display.plots.layout.axis_ticks import tick_texts
from salstats.display.plots.layout.legends import legend_columns
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import caption, caption_chars, caption_mm, chars_in, wrapped
from salstats.display.plots.layout.theme import (
    GUIDE,
    PAGE_MM,
    PALETTE,
    figure_size,
    font,
    picture_theme,
    theme_salstats,
)
from salstats.display.tables.record import Column
from salstats.display.text.format import MINUS, fixed_text
from salstats.images.printed_images import outlines
from salstats.scoring.distances import DISTANCES
from salstats.scoring.mask_simulation import MaskSeries, count_masks, score_masks, simulate_masks
from salstats.studies.engine import Cell, Result, table_of
from salstats.studies.mrxai2025.cases import RECONSTRUCTED, in_note

ABBREVIATED = "PDC, Penalised Dice."
#: The simulations' variants, by name.
VARIANTS = {
    "distance": "Shifted",
    "size_linear": "Linear",
    "size_piecewise": "Piecewise",
    "both_linear_truth1": "Linear, truth of size 1",
    "both_linear_truthmid": "Linear, truth of size 1.15",
    "both_piecewise": "Piecewise",
}
#: Why there are several.
STEPS = (
    "The study's text has nine equal steps of size from 0.6 to 1.7 and says that the fifth has the truth's "
    "size: none of these steps is 1 (the nearest, the fourth, is 1.0125; the fifth is 1.15)."
)
#: What each variant with sizes does.
VARIANT_NOTES = {
    "size_linear": "Linear: equal steps as in the text, truth of size 1.",
    "size_piecewise": "Piecewise: equal steps to 1 and from 1 on, so that the fifth is the truth.",
    "both_linear_truth1": "Linear, truth of size 1: equal steps as in the text.",
    "both_linear_truthmid": "Linear, truth of size 1.15: the fifth step is the truth.",
    "both_piecewise": "Piecewise: equal steps to 1 and from 1 on, so that the fifth is the truth.",
}
_DRAWN, _SHIFT = "One irregular shape, drawn anew at each place and size.", "Shift: down and to the right."
#: Said in the heading, too: a table as CSV has no notes.
_PDC = "PDC (rebuilt)"
_HEADINGS = {
    ("dice", "", ""): Column("Dice"),
    ("iou", "", ""): Column("IoU"),
    ("pdc", "product", "with"): Column("product", (_PDC, "with size penalty")),
    ("pdc", "mean", "with"): Column("mean", (_PDC, "with size penalty")),
    ("pdc", "product", "without"): Column("product", (_PDC, "without")),
    ("pdc", "mean", "without"): Column("mean", (_PDC, "without")),
    ("hausdorff", "", ""): Column("Hausdorff", ("Distance, px",)),
    ("hd95", "", ""): Column("95th percentile", ("Distance, px",)),
    ("assd", "", ""): Column("average", ("Distance, px",)),
}
#: Measures in the order of the legend: text, colour, type of line and mark by metric, form and size penalty.
_LOOKS: dict[tuple[str, str, str], tuple[str, str, Any, str]] = {
    ("dice", "", ""): ("Dice", PALETTE[0], "solid", "o"),
    ("pdc", "product", "with"): ("PDC, product", PALETTE[2], "solid", "^"),
    ("pdc", "product", "without"): ("PDC, product, no size penalty", PALETTE[2], "dotted", "v"),
    ("iou", "", ""): ("IoU", PALETTE[3], "dashed", "s"),
    ("pdc", "mean", "with"): ("PDC, mean", PALETTE[4], "solid", "D"),
    ("pdc", "mean", "without"): ("PDC, mean, no size penalty", PALETTE[4], "dotted", "P"),
    ("hausdorff", "", ""): ("Hausdorff distance", "#000000", "solid", "o"),
    ("hd95", "", ""): ("Its 95th percentile", "#555555", "dashed", "s"),
    ("assd", "", ""): ("Average surface distance", "#888888", "dotted", "^"),
}
_SHARES, _LENGTHS = "Agreement", "Distance, pixels"
_PERFECT = "Perfect is an agreement of 1 and a distance of 0."
_TRUTH, _EXPLANATION = "Truth (outline)", "Explanation (filled)"
#: What tells measures apart.
_GUIDES = ("color", "shape", "linetype")
#: Height of a panel of curves, and of all together, at most.
_PANEL_MM, _HIGHEST_MM = 38.0, 114.0
#: Of the masks: the edge, the distance of two panels, the names of rows, and the line of steps.
_EDGE_MM, _GAP_MM, _SIDE_MM, _STRIP_MM = 1.5, 1.2, 9.0, 6.0
#: Size of the text in a panel of masks.
_SMALL_PT = 5.5
#: Height of a panel of masks over that of the image, with the text below it.
_BELOW = 1.15


class Simulations:
    """Masks of every kind of simulation, counted and scored."""

    def __init__(self) -> None:
        """Draw, count and score all of them."""
        self.series = simulate_masks()
        self.sizes, self.scores = count_masks(self.series), score_masks(self.series)


def masks_of(*names: str) -> Callable[[Any], Result]:
    """The masks of some simulations, and their pixels."""

    def make(data: Any) -> Result:
        drawn: Simulations = data.simulations
        sizes = drawn.sizes[drawn.sizes["simulation"].isin(names)].reset_index(drop=True)
        figure = plot_masks({name: drawn.series[name] for name in names})
        return Result(sizes, _table_sizes(sizes), figure, note=in_note(_DRAWN, steps_note(list(names))))

    return make


def curves_of(*names: str) -> Callable[[Any], Result]:
    """Every measure of some simulations, as curves."""

    def make(data: Any) -> Result:
        scores = data.simulations.scores
        curves = scores[scores["simulation"].isin(names)].reset_index(drop=True)
        note = in_note(_DRAWN, steps_note(list(names)))
        return Result(curves, _table_scores(curves), plot_curves(curves), note=note)

    return make


def steps_note(simulations: list[str]) -> str:
    """What has to be known of the sizes of some simulations, nothing where sizes do not change."""
    said = [VARIANT_NOTES[name] for name in simulations if name in VARIANT_NOTES]
    return " ".join([STEPS, *said]) if said else ""


def _table_sizes(sizes: pd.DataFrame) -> GT:
    """The pixels of truth, explanation and overlap of each step."""
    columns = {"Truth": "n_truth", "Explanation": "n_mask", "Both": "n_overlap"}
    return _table_steps(sizes, {Column(h, ("Pixels",), "right"): c for h, c in columns.items()}, _SHIFT)


def _table_scores(scores: pd.DataFrame) -> GT:
    """The measures of each step side by side."""
    keys = ["simulation", "step", "shift", "scale"]
    measure = ["_".join(key) for key in measure_keys(scores)]
    steps = scores.assign(measure=measure).pivot(index=keys, columns="measure", values="score")
    steps = steps.reindex(scores.set_index(keys).index.unique()).reset_index()
    columns: dict[Any, Cell] = {
        heading: ("_".join(key), 2 if key[0] in DISTANCES else 3) for key, heading in _HEADINGS.items()
    }
    return _table_steps(steps, columns, f"{_SHIFT} {ABBREVIATED} {RECONSTRUCTED}")


def _table_steps(steps: pd.DataFrame, columns: Mapping[Any, Cell], note: str) -> GT:
    """A table with a row per step, a group per variant where there are several."""
    return table_of(
        steps,
        "mrxai2025",
        {"Step": "step", "Shift, px": lambda r: signed(r.shift), "Size": ("scale", 4)},
        columns,
        groups=(lambda r: VARIANTS[r.simulation]) if steps["simulation"].nunique() > 1 else None,
        notes=[note],
    )


def plot_masks(series: Mapping[str, MaskSeries]) -> p9.ggplot:
    """The masks of some simulations: a row each, a panel per step, as wide as a page."""
    names = list(series)
    height, width = next(iter(series.values())).truth.shape
    lines = pd.concat([_outlines(name, one) for name, one in series.items()], ignore_index=True)
    steps = [
        (name, i, f"{signed(shift)} px, \u00d7{fixed_text(scale, 2)}")
        for name, one in series.items()
        for i, (shift, scale) in enumerate(zip(one.shifts, one.scales, strict=True), start=1)
    ]
    texts = pd.DataFrame(steps, columns=["simulation", "step", "text"]).assign(x=0.0, y=1.03 * height)
    for frame in (lines, texts):
        frame["simulation"] = pd.Categorical(frame["simulation"], names, ordered=True)
    n_steps = max(len(one.masks) for one in series.values())
    side = _SIDE_MM if len(names) > 1 else 0.0
    panel = (PAGE_MM - 2 * _EDGE_MM - side - (n_steps - 1) * _GAP_MM) / n_steps
    tall = _BELOW * panel * height / width
    note = caption(
        [
            "In each panel: shift down and to the right in pixels, size relative to the shape drawn "
            f"(image {height} x {width}, drawn anew at each size).",
            steps_note(names),
        ],
        caption_chars(PAGE_MM, 3),
    )
    strips = {name: wrapped(VARIANTS[name], chars_in(tall, 6.5), 3) for name in names}
    facets = (
        p9.facet_grid("simulation", "step", labeller=p9.labeller(rows=lambda n: strips[n]))
        if len(names) > 1
        else p9.facet_grid(cols="step")
    )
    explanation, truth = (lines[lines["kind"] == kind] for kind in (_EXPLANATION, _TRUTH))
    shape = p9.aes("x", "y", group="line")
    inset = 0.006 * width
    edge = {"xmin": inset, "xmax": width - inset, "ymin": inset, "ymax": height - inset}
    small = {"size": _SMALL_PT, "ha": "left", "va": "top", "family": font()}
    total = len(names) * tall + (len(names) - 1) * _GAP_MM + _STRIP_MM + 2 * _EDGE_MM + 6 + caption_mm(note)
    return (
        p9.ggplot(lines, shape)
        + p9.annotate("rect", **edge, fill="none", color=GUIDE, size=0.4)
        + p9.geom_polygon(p9.aes(fill="kind"), explanation, alpha=0.55)
        + p9.geom_path(p9.aes(color="kind"), truth, size=0.45)
        + p9.geom_text(p9.aes("x", "y", label="text"), texts, inherit_aes=False, **small)
        + facets
        + p9.scale_fill_manual([PALETTE[3]], limits=[_EXPLANATION], name="")
        + p9.scale_color_manual(["#000000"], limits=[_TRUTH], name="")
        + p9.scale_x_continuous(limits=(0, width), expand=(0, 0))
        + p9.scale_y_reverse(limits=(_BELOW * height, 0), expand=(0, 0))
        + p9.coord_fixed(expand=False)
        + p9.labs(x="", y="", caption=note)
        + theme_salstats()
        + picture_theme(PAGE_MM, _GAP_MM, _EDGE_MM)
        + p9.theme(
            legend_box="horizontal",
            strip_text_x=p9.element_text(ha="left", va="bottom"),
            strip_text_y=p9.element_text(ha="center", va="center", ma="center", weight="normal", size=6.5),
        )
        + figure_size(PAGE_MM, total)
    )


def plot_curves(scores: pd.DataFrame) -> p9.ggplot:
    """The measures of some simulations as curves: overlap beside distance, a row per simulation."""
    rows, left_out = _drawn(scores)
    names = list(dict.fromkeys(rows["simulation"]))
    by_shift = bool((rows["shift"] != 0).any())
    looks = [look for look in _LOOKS.values() if look[0] in set(rows["measure"])]
    texts = [text for text, *_ in looks]
    sides = np.where(rows["metric"].isin(DISTANCES), _LENGTHS, _SHARES)
    titles = [
        f"{VARIANTS[name]}: {side[0].lower()}{side[1:]}" if len(names) > 1 else side
        for name, side in zip(rows["simulation"], sides, strict=True)
    ]
    rows = rows.assign(
        x=rows["shift"] if by_shift else rows["scale"],
        measure=pd.Categorical(rows["measure"], texts, ordered=True),
        panel=pd.Categorical(titles, list(dict.fromkeys(titles)), ordered=True),
    )
    # axes reach from 0 to 1 of a share, and to the largest distance of all
    ends = rows[["panel", "x"]].assign(score=0.0, top=np.where(sides == _SHARES, 1.0, rows["score"].max()))
    notes = [_PERFECT, _axis_note(rows, by_shift), left_out, steps_note(names), ABBREVIATED, RECONSTRUCTED]
    grid = panel_grid(list(rows["panel"].cat.categories), 2, PAGE_MM, free=True)
    limits = {"limits": texts, "name": ""}
    # lines of equal length: each form with and without penalty, and the distances
    n_lines = -(-len(texts) // legend_columns(texts, PAGE_MM))
    guides = {g: p9.guide_legend(ncol=-(-len(texts) // n_lines), byrow=True) for g in _GUIDES}
    return (
        p9.ggplot(rows, p9.aes("x", "score", color="measure", shape="measure", linetype="measure"))
        + p9.geom_vline(xintercept=0.0 if by_shift else 1.0, color=GUIDE, size=0.4)
        + p9.geom_blank(p9.aes("x", "score"), ends, inherit_aes=False)
        + p9.geom_blank(p9.aes("x", "top"), ends, inherit_aes=False)
        + p9.geom_line(size=0.55)
        + p9.geom_point(size=1.2, stroke=0)
        + p9.scale_color_manual([colour for _, colour, _, _ in looks], **limits)
        + p9.scale_linetype_manual([line for _, _, line, _ in looks], **limits)
        + p9.scale_shape_manual([mark for _, _, _, mark in looks], **limits)
        + p9.guides(**guides)
        + p9.scale_x_continuous(
            breaks=sorted(rows["x"].unique()) if by_shift else [0.6, 0.8, 1.0, 1.2, 1.4, 1.6],
            minor_breaks=[],
            labels=tick_texts,
        )
        + p9.scale_y_continuous(minor_breaks=[], labels=tick_texts, expand=(0, 0, 0.03, 0))
        + grid.elements(
            min(_HIGHEST_MM * 2 / len(grid.titles), _PANEL_MM),
            x="Shift down and to the right, pixels" if by_shift else "Size relative to the truth",
            notes=notes,
            legend=texts,
        )
        + p9.theme(axis_title_y=p9.element_blank(), legend_key_width=16)
    )


def measure_keys(scores: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Each row's metric, form and size penalty, which together name a measure."""
    parts = (scores["metric"], scores["form"].fillna(""), scores["size_penalty"].fillna(""))
    return list(zip(*parts, strict=True))


def _drawn(scores: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows with their measure, without measures that another's curve would hide, and which."""
    keys = measure_keys(scores)
    rows = scores.assign(measure=[_LOOKS[key][0] for key in keys])
    hidden = []
    for form in ("product", "mean"):
        penalised, plain = (
            rows.loc[[key == ("pdc", form, power) for key in keys], "score"].to_numpy()
            for power in ("with", "without")
        )
        if len(plain) and np.array_equal(penalised, plain):
            hidden.append(_LOOKS[("pdc", form, "without")][0])
    said = "PDC without size penalty is the same, as all sizes are." if hidden else ""
    return rows[~rows["measure"].isin(hidden)].reset_index(drop=True), said


def _axis_note(rows: pd.DataFrame, by_shift: bool) -> str:
    """What the horizontal axis leaves unsaid."""
    if not by_shift:
        return "Grey line: the truth's size."
    sizes = rows["scale"]
    also = (
        f" Along the axis the size grows from {fixed_text(sizes.min(), 1)} to {fixed_text(sizes.max(), 1)}."
        if sizes.nunique() > 1
        else ""
    )
    return f"Grey line: the truth's place.{also}"


def _outlines(name: str, one: MaskSeries) -> pd.DataFrame:
    """The outlines of truth and explanation of each step."""
    parts = [
        pd.DataFrame(line[:, ::-1], columns=["x", "y"]).assign(
            simulation=name, step=step, kind=kind, line=f"{name} {step} {kind} {i}"
        )
        for step, mask in enumerate(one.masks, start=1)
        for kind, drawn in ((_TRUTH, one.truth), (_EXPLANATION, mask))
        for i, line in enumerate(outlines(drawn))
    ]
    return pd.concat(parts, ignore_index=True)


def signed(number: float) -> str:
    """A whole number of pixels with the sign of print."""
    return f"{MINUS if number < 0 else '+' if number > 0 else ''}{abs(number):g}"

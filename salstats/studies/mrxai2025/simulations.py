"""The three simulations as tables and figures: Figs. 1 to 6."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import MISSING, count_text, fixed_text
from salstats.scoring.distances import DISTANCES
from salstats.scoring.mask_simulation import MaskSeries, count_masks, score_masks
from salstats.studies.items import Item
from salstats.studies.mrxai2025.simulation_figures import (
    MEASURES,
    measure_keys,
    plot_curves,
    plot_masks,
    signed,
)
from salstats.studies.mrxai2025.words import ABBREVIATED, RECONSTRUCTED, VARIANTS, in_note, steps_note

#: The study's figures: masks and curves, what they show, and the simulations in them.
FIGURES = (
    (1, 2, "an explanation that is shifted", ("distance",)),
    (3, 4, "an explanation that is too small or too large", ("size_linear", "size_piecewise")),
    (
        5,
        6,
        "an explanation that is shifted and of another size",
        ("both_linear_truth1", "both_linear_truthmid", "both_piecewise"),
    ),
)
SLICE = "drawn masks"
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


def simulation_items(series: Mapping[str, MaskSeries]) -> Iterator[Item]:
    """Yield the masks and the curves of each kind of simulation.

    Parameters
    ----------
    series : mapping of str to MaskSeries
        All of `simulate_masks`.
    """
    counted, scores = count_masks(series), score_masks(series)
    for masks_number, curves_number, what, names in FIGURES:
        note = in_note(_DRAWN, steps_note(list(names)))
        sizes, curves = (f[f["simulation"].isin(names)].reset_index(drop=True) for f in (counted, scores))
        yield Item(
            f"figure_{masks_number}",
            f"Fig. {masks_number}: masks of {what}",
            sizes,
            _table_sizes(sizes),
            plot_masks({name: series[name] for name in names}),
            slice=SLICE,
            note=note,
        )
        yield Item(
            f"figure_{curves_number}",
            f"Fig. {curves_number}: measures of {what}",
            curves,
            _table_scores(curves),
            plot_curves(curves),
            slice=SLICE,
            note=note,
        )


def _table_sizes(sizes: pd.DataFrame) -> GT:
    """Return the pixels of truth, explanation and overlap of each step."""
    columns = {"n_truth": "Truth", "n_mask": "Explanation", "n_overlap": "Both"}
    table = Table(
        ("Step", "Shift, px", "Size"),
        [_step(row) for row in sizes.to_dict("records")],
        [Column(heading, ("Pixels",), "right") for heading in columns.values()],
        [[count_text(row[c]) for c in columns] for row in sizes.to_dict("records")],
        groups=_groups(sizes),
        notes=[_SHIFT],
    )
    return build(table, "mrxai2025")


def _table_scores(scores: pd.DataFrame) -> GT:
    """Return the measures of each step side by side."""
    keyed = scores.assign(measure=measure_keys(scores))
    steps = keyed.drop_duplicates(["simulation", "step"])
    keys = zip(keyed["simulation"], keyed["step"], keyed["measure"], strict=True)
    values = dict(zip(keys, keyed["score"], strict=True))
    order = [m for m in _HEADINGS if m in MEASURES]
    cells = [
        [_value(values.get((row["simulation"], row["step"], m)), m) for m in order]
        for row in steps.to_dict("records")
    ]
    table = Table(
        ("Step", "Shift, px", "Size"),
        [_step(row) for row in steps.to_dict("records")],
        [_HEADINGS[m] for m in order],
        cells,
        groups=_groups(steps),
        notes=[f"{_SHIFT} {ABBREVIATED} {RECONSTRUCTED}"],
    )
    return build(table, "mrxai2025")


def _step(row: Mapping[Any, Any]) -> tuple[str, str, str]:
    """Return the labels of a row."""
    return str(row["step"]), signed(row["shift"]), fixed_text(row["scale"], 4)


def _groups(frame: pd.DataFrame) -> list[str]:
    """Return the variant of each row where there are several."""
    several = frame["simulation"].nunique() > 1
    return [VARIANTS[name] for name in frame["simulation"]] if several else []


def _value(score: float | None, measure: tuple[str, str, str]) -> str:
    """Return a score as text."""
    return MISSING if score is None else fixed_text(score, 2 if measure[0] in DISTANCES else 3)

"""Factors that estimates take for fixed: readers, and the trainings (seeds, models) of a network.

Drawing cases again says how an estimate varies over cases. It says nothing of other readers, or of the same
network trained again, so the column `inference_to` names those whom estimates speak of.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.frames import text_column
from salstats.stats.engine.design import AVERAGE, OVERALL

READERS, TRAININGS = "readers", "trainings"


@dataclass(frozen=True)
class Factor:
    """A column whose values stand for more than themselves, such as readers."""

    column: str
    #: What its values are in the column `inference_to`.
    noun: str
    #: Whether its values are things compared where results are by them or a formula holds them.
    compared: bool = False


#: In the order in which `inference_to` names them.
FACTORS = (Factor("reader", READERS), Factor("seed", TRAININGS), Factor("model", TRAININGS, compared=True))
#: The factor that a column holds.
NOUNS = {factor.column: factor.noun for factor in FACTORS}


def these(nouns: Sequence[str]) -> str:
    """Write whom estimates speak of that take some nouns for fixed: "these readers and trainings"."""
    return f"these {' and '.join(nouns)}"


def in_general(noun: str) -> str:
    """Write whom estimates speak of that take a noun and cases for drawn: "readers and cases"."""
    return f"{noun} and cases"


#: Every value of `inference_to` that takes readers or trainings for fixed, with their nouns.
FIXED = {these(nouns): nouns for nouns in ((READERS,), (TRAININGS,), (READERS, TRAININGS))}
THESE_READERS = these((READERS,))


def fixed_nouns(values: Iterable[object]) -> list[str]:
    """List the nouns that any value of `inference_to` takes for fixed, readers first."""
    nouns = {noun for value in values for noun in FIXED.get(str(value), ())}
    return [noun for noun in (READERS, TRAININGS) if noun in nouns]


def inference_to(frame: pd.DataFrame, units: np.ndarray | None, keys: pd.DataFrame) -> dict[str, Any]:
    """Column `inference_to` of an estimates frame: whom estimates speak of, if any factor is fixed.

    Parameters
    ----------
    frame : DataFrame
        The scores.
    units : array of int, optional
        Unit of each row, if units are drawn.
    keys : DataFrame
        Grouping columns of the estimates.
    """
    if not {"other_reader", *(factor.column for factor in FACTORS)}.intersection(frame.columns):
        return {}
    groups = [c for c in keys.columns if c in frame.columns and not keys[c].isin([AVERAGE, OVERALL]).any()]
    names = [c for c in ("method", "reference") if c in keys.columns and "method" in frame.columns]
    fixed = {noun: np.zeros(len(keys), dtype=bool) for noun in NOUNS.values()}
    for factor in FACTORS:
        rows = fixed_rows(frame, factor, units, groups)
        if names:
            methods = frame.loc[rows, "method"].unique()
            fixed[factor.noun] |= keys[names].isin(methods).any(axis=1).to_numpy()
        else:
            fixed[factor.noun] |= rows.any()
    return inference_column(fixed)


def inference_column(fixed: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Column `inference_to`, from which estimates take each noun for fixed; none where no estimate does."""
    n_estimates = len(next(iter(fixed.values())))
    values: list[str | None] = []
    for estimate in range(n_estimates):
        nouns = [noun for noun, rows in fixed.items() if rows[estimate]]
        values.append(these(nouns) if nouns else None)
    if not any(values):
        return {}
    return {"inference_to": text_column(values)}


def fixed_rows(
    frame: pd.DataFrame, factor: Factor, units: np.ndarray | None, groups: Collection[str] = ()
) -> np.ndarray:
    """Find the rows whose readers, or trainings, are fixed: several, and not each drawn with one unit.

    Trainings are several where some `groups` (grouping columns of the estimates) hold more than one, so that
    a model for each method, or task, is none of several.
    """
    none = np.zeros(len(frame), dtype=bool)
    if factor.column == "reader" and "other_reader" in frame.columns:
        # two readers of one case are never drawn with it
        return frame["other_reader"].notna().to_numpy()
    if factor.column not in frame.columns:
        return none
    if factor.compared and factor.column in groups:
        return none
    levels = frame[factor.column]
    known = levels.notna().to_numpy()
    several = np.full(len(frame), levels.nunique() > 1)
    if factor.noun == TRAININGS and several.any():
        others = [c for c in groups if c != factor.column]
        if others:
            of_groups = levels.groupby([frame[c] for c in others], dropna=False, observed=True)
            several = of_groups.transform("nunique").to_numpy() > 1
    fixed = known & several
    if units is None or not fixed.any():
        return fixed
    units_of_level = pd.Series(units[fixed]).groupby(levels.to_numpy()[fixed]).nunique()
    return fixed if units_of_level.max() > 1 else none

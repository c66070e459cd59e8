"""Factors that estimates treat as fixed: readers, and the trainings (seeds, models) of a network.

Resampling cases shows how an estimate varies over cases. It shows nothing about other readers, or about the
same network trained again, so the column `inference_to` names the fixed readers and trainings.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.frames import text_column
from salstats.stats.engine.grouping import AVERAGE, OVERALL

READERS = "readers"
TRAININGS = "trainings"


@dataclass(frozen=True)
class FixedFactor:
    """A column whose values are a sample from a population, such as readers."""

    column: str
    #: Noun for its values in the column `inference_to`.
    noun: str
    #: True if its values, where it is a grouping column, are themselves compared instead of being a sample.
    may_be_compared: bool = False


#: All factors, in the order in which `inference_to` names them.
FACTORS = (
    FixedFactor("reader", READERS),
    FixedFactor("seed", TRAININGS),
    FixedFactor("model", TRAININGS, may_be_compared=True),
)
#: Noun of each factor's column.
NOUN_OF_COLUMN = {factor.column: factor.noun for factor in FACTORS}


def fixed_factor_text(nouns: Sequence[str]) -> str:
    """Return the value of `inference_to` for fixed factors, such as "these readers and trainings"."""
    return f"these {' and '.join(nouns)}"


def random_factor_text(noun: str) -> str:
    """Return the value of `inference_to` for a factor that is random, as cases are: "readers and cases"."""
    return f"{noun} and cases"


#: Nouns of the fixed factors for each value of `inference_to` that has any.
NOUNS_OF_FIXED_FACTORS = {
    fixed_factor_text(nouns): nouns for nouns in ((READERS,), (TRAININGS,), (READERS, TRAININGS))
}
THESE_READERS = fixed_factor_text((READERS,))


def fixed_reader_or_training_nouns(inference_to_values: Iterable[object]) -> list[str]:
    """List the nouns of the factors that are fixed in any value of `inference_to`, readers first."""
    nouns: set[str] = set()
    for value in inference_to_values:
        nouns.update(NOUNS_OF_FIXED_FACTORS.get(str(value), ()))
    return [noun for noun in (READERS, TRAININGS) if noun in nouns]


def inference_to_column_if_any(
    frame: pd.DataFrame, units: NDArray[np.integer] | None, keys: pd.DataFrame
) -> dict[str, Any]:
    """Return the column `inference_to`, the fixed factors of each estimate, or nothing if no factor is fixed.

    Parameters
    ----------
    frame : DataFrame
        The scores.
    units : array of int, optional
        Unit of each row, if units are drawn.
    keys : DataFrame
        Grouping columns of the estimates.
    """
    if not {"other_reader", *NOUN_OF_COLUMN}.intersection(frame.columns):
        return {}
    # columns with "Average" or "Overall" do not separate all estimates
    groups = [c for c in keys.columns if c in frame.columns and not keys[c].isin([AVERAGE, OVERALL]).any()]
    method_columns: list[str] = []
    if "method" in frame.columns:
        method_columns = [c for c in ("method", "reference") if c in keys.columns]
    fixed = {noun: np.zeros(len(keys), dtype=bool) for noun in NOUN_OF_COLUMN.values()}
    for factor in FACTORS:
        rows = is_row_of_fixed_factor(frame, factor, units, groups)
        if method_columns:
            methods = frame.loc[rows, "method"].unique()
            fixed[factor.noun] |= keys[method_columns].isin(methods).any(axis=1).to_numpy()
        else:
            fixed[factor.noun] |= rows.any()
    return fixed_factors_column_if_any(fixed)


def fixed_factors_column_if_any(is_fixed_by_noun: Mapping[str, NDArray[np.bool_]]) -> dict[str, Any]:
    """Return the column `inference_to`, the names of fixed factors, or nothing if no factor is fixed.

    `is_fixed_by_noun` has for each noun a mask (n_estimates,) of the estimates in which the factor is fixed.
    """
    n_estimates = len(next(iter(is_fixed_by_noun.values())))
    values: list[str | None] = []
    for estimate in range(n_estimates):
        nouns = [noun for noun, rows in is_fixed_by_noun.items() if rows[estimate]]
        values.append(fixed_factor_text(nouns) if nouns else None)
    if not any(values):
        return {}
    return {"inference_to": text_column(values)}


def is_row_of_fixed_factor(
    scores: pd.DataFrame, factor: FixedFactor, units: NDArray[np.integer] | None, by: Collection[str] = ()
) -> NDArray[np.bool_]:
    """Mask the rows in which a factor is fixed: it has several levels, and some level has several units.

    Without `units` several levels suffice. A factor whose levels have one unit each, as a reader of one
    patient only, is drawn with the units, except that readers of pairs (rows with an `other_reader`) are
    always fixed. Trainings count as several only within a group, so that a model for each method or task is
    not fixed. A factor that estimates may compare (`may_be_compared`) is not fixed if it is one of `by`.

    Parameters
    ----------
    scores : DataFrame
        The scores.
    factor : FixedFactor
        The factor.
    units : array of int, optional
        Unit of each row, if units are drawn.
    by : collection of str
        Grouping columns of the estimates.
    """
    is_reader_pair: NDArray[np.bool_] = np.zeros(len(scores), dtype=bool)
    if factor.column == "reader" and "other_reader" in scores.columns:
        # a pair of readers scores several cases, so that it is never drawn with one
        is_reader_pair = scores["other_reader"].notna().to_numpy()
    if factor.column not in scores.columns:
        return is_reader_pair
    if factor.may_be_compared and factor.column in by:
        return is_reader_pair
    levels = scores[factor.column].mask(is_reader_pair)
    has_several_levels = np.full(len(scores), levels.nunique() > 1)
    if factor.noun == TRAININGS and has_several_levels.any():
        group_columns = [scores[c] for c in by if c != factor.column]
        if group_columns:
            levels_of_groups = levels.groupby(group_columns, dropna=False, observed=True)
            has_several_levels = levels_of_groups.transform("nunique").to_numpy() > 1
    varies: NDArray[np.bool_] = levels.notna().to_numpy() & has_several_levels
    if units is not None and varies.any():
        n_units_by_level = pd.Series(units[varies]).groupby(levels.to_numpy()[varies]).nunique()
        if n_units_by_level.max() == 1:
            return is_reader_pair
    is_fixed: NDArray[np.bool_] = is_reader_pair | varies
    return is_fixed

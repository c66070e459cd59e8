"""What must hold of scores that were read: complete, each once, within the range of their metric."""

from collections.abc import Mapping
from numbers import Real
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, ValueRangeError, check_choice, quoted
from salstats.frames import KEY_COLUMNS, SCORES_COLUMNS, combined_codes, repeat_hint

#: Identifiers of which no cell may be empty.
REQUIRED_TEXT = ("case", "method", "metric", "task")
#: Identifiers that say whose a case is: given for every row, or for none.
ALL_OR_NONE = ("patient", "dataset")


def check_complete(frame: pd.DataFrame, file: Path, rows: np.ndarray) -> None:
    """Raise when a column of the key is missing or one of its cells is empty."""
    for name in SCORES_COLUMNS:
        if name not in frame.columns:
            spelled = [c for c in frame.columns if str(c).strip().casefold() == name]
            if spelled:
                hint = f"; did you mean {spelled[0]!r}? rename={{{spelled[0]!r}: {name!r}}} says so"
            elif name in ("method", "metric"):
                hint = f"; say what the file is about with {name}='...'"
            else:
                hint = f"; rename={{'...': {name!r}}} says which column it is"
            raise ColumnError(f"{file} has no column {name!r} (columns: {quoted(frame.columns)}){hint}")
    check_filled(frame, file, rows)


def check_filled(frame: pd.DataFrame, file: Path, rows: np.ndarray) -> None:
    """Raise when a cell is empty of a column in which none may be."""
    for name in (*REQUIRED_TEXT, *ALL_OR_NONE):
        if name not in frame.columns:
            continue
        empty = (frame[name].isna() if name in ALL_OR_NONE else frame[name].eq("")).to_numpy()
        if empty.any() and not (name in ALL_OR_NONE and empty.all()):
            row = rows[int(np.flatnonzero(empty)[0])]
            raise ColumnError(f"{file}, row {row}, column {name!r}: empty; every row needs one")


def check_repeats(scores: pd.DataFrame, origin: pd.DataFrame) -> None:
    """Raise when an observation stands twice, naming both places."""
    keys = [c for c in KEY_COLUMNS if c in scores.columns]
    codes = combined_codes(scores, keys)
    if np.bincount(codes).max(initial=0) <= 1:
        return
    second = int(np.flatnonzero(pd.Series(codes).duplicated().to_numpy())[0])
    first = int(np.flatnonzero(codes == codes[second])[0])
    shown = ", ".join(f"{c} {scores[c].iloc[first]}" for c in keys)
    here, there = origin.iloc[second], origin.iloc[first]
    place = f"row {there['row']}" if here["file"] == there["file"] else f"{there['file']}, row {there['row']}"
    hint = repeat_hint(scores, keys, first, second)
    raise ColumnError(f"{here['file']}, row {here['row']}: the same observation as {place} ({shown}){hint}")


def scaled(scores: pd.DataFrame, scale: float | Mapping[str, float] | None) -> pd.DataFrame:
    """Return scores multiplied by a number, or those of each metric by its own."""
    if scale is None:
        return scores
    factors = dict(scale) if isinstance(scale, Mapping) else dict.fromkeys(scores["metric"].unique(), scale)
    for metric, factor in factors.items():
        check_choice(metric, list(scores["metric"].unique()), "scale: metric")
        if isinstance(factor, bool) or not isinstance(factor, Real) or not 0 < factor < np.inf:
            raise ValueRangeError(f"scale={scale!r} must be a number above 0, such as 0.01 for percentages")
    values, factor = scores["score"], scores["metric"].map(factors).fillna(1.0).astype("float64")
    # 57 * 0.01 is not 0.57, 57 / 100 is
    return scores.assign(score=np.where(factor < 1, values / (1 / factor), values * factor))

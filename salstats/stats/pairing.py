"""Each score beside the reference's score on the same case, by key and never by position."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, did_you_mean, quoted
from salstats.frames import ColumnCodes

#: Which scores are compared: those of complete pairs, or each side's own.
PAIRS = ("complete", "available")
#: What an observation is of, and what else tells it apart where all sides have it.
ALWAYS = ("dataset", "case", "task", "metric")
IF_GIVEN = ("reader", "model", "seed")


@dataclass(frozen=True)
class Pairs:
    """Rows of scores of methods and of the reference for the same key."""

    #: (n_pairs,): Row of the method and row of the reference, -1 where there is none. First come all rows
    #: of the methods in their order, then rows of the reference that a method lacks.
    own: np.ndarray
    partner: np.ndarray
    #: (n_pairs,): A row of the method, which tells its name also where `own` is -1.
    like: np.ndarray

    @property
    def source(self) -> np.ndarray:
        """Row that tells the key of each pair: the method's where it has one, else the reference's."""
        return np.where(self.own >= 0, self.own, self.partner)


def pair_rows(codes: ColumnCodes, reference: str) -> Pairs:
    """Pairs of every method with `reference`.

    Pairs are formed on data set, case, task and metric, and on reader, model and seed where both
    the reference and the methods have them: so one human score per case serves the five seeds of a
    method, and where both were made per seed they meet seed by seed. A method that was never scored on a
    task or metric lacks nothing there.
    """
    scores = codes.frame
    is_reference = (scores["method"] == reference).to_numpy()
    _check_reference(scores, reference, is_reference)
    on = [c for c in ALWAYS if c in scores.columns]
    on += [c for c in IF_GIVEN if c in scores.columns and _both_have(scores[c], is_reference)]
    keys = codes.combined(on)
    n_keys = int(keys.max()) + 1
    theirs = np.flatnonzero(is_reference)
    repeated = np.flatnonzero(np.bincount(keys[theirs], minlength=n_keys) > 1)
    position = np.full(n_keys, -1)
    position[keys[theirs]] = theirs
    if len(repeated):
        row = int(position[repeated[0]])
        shown = ", ".join(f"{c} {scores[c].iloc[row]}" for c in on)
        raise ColumnError(
            f"method {reference!r} has several rows for one key ({shown}), so a score has several to be "
            "compared with; average them first, or keep one"
        )
    own = np.flatnonzero(~is_reference)
    groups = codes.combined([c for c in ("task", "metric") if c in scores.columns])
    methods = codes.column("method").codes
    lacking, like = [], []
    for method in pd.unique(methods[own]):
        rows = own[methods[own] == method]
        has_key, scored = np.zeros(n_keys, dtype=bool), np.zeros(int(groups.max()) + 1, dtype=bool)
        has_key[keys[rows]] = scored[groups[rows]] = True
        lacking.append(theirs[~has_key[keys[theirs]] & scored[groups[theirs]]])
        like.append(np.full(len(lacking[-1]), rows[0]))
    lacked = np.concatenate(lacking)
    return Pairs(
        np.concatenate([own, np.full(len(lacked), -1)]),
        np.concatenate([position[keys[own]], lacked]),
        np.concatenate([own, *like]),
    )


def pair_with_reference(scores: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Rows of every method but `reference`, with `reference_score` (and `reference_reason`) beside each.

    NaN where the reference has none. Where it has a row that a method lacks, a row with `score` NaN
    stands for it (other columns from the reference's row), so that nothing is dropped in silence.
    """
    pairs = pair_rows(ColumnCodes(scores), reference)
    paired = scores.iloc[pairs.source].reset_index(drop=True)
    values = scores["score"].to_numpy(dtype=np.float64)
    paired["method"] = scores["method"].array.take(pairs.like)
    paired["score"] = np.where(pairs.own >= 0, values[pairs.own], np.nan)
    paired["reference_score"] = np.where(pairs.partner >= 0, values[pairs.partner], np.nan)
    if "reason" in scores.columns:
        paired["reference_reason"] = scores["reason"].array.take(pairs.partner, allow_fill=True)
    return paired


def reference_in_every_group(
    scores: pd.DataFrame, reference: str, by: str | Sequence[str] | None
) -> pd.DataFrame:
    """Scores with the reference's rows beside every model and seed, where it has none itself.

    People belong to no network: grouped by it they are the reference of each. Anything else stays as it is.
    """
    columns = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    for column in (c for c in ("model", "seed") if c in columns and c in scores.columns):
        of_reference = scores["method"] == reference
        held = scores[column]
        if not of_reference.any() or held[of_reference].notna().any() or held[~of_reference].isna().any():
            continue
        shared, others = scores[of_reference], scores[~of_reference]
        copies = [shared.assign(**{column: value}) for value in others[column].unique()]
        scores = pd.concat([others, *copies], ignore_index=True)
    return scores


def _check_reference(scores: pd.DataFrame, reference: str, is_reference: np.ndarray) -> None:
    """Raise SalstatsError unless the reference is one of several methods."""
    if not is_reference.any():
        methods = list(pd.unique(scores["method"]))
        hint = did_you_mean(reference, methods)
        raise SalstatsError(
            f"reference={reference!r} is not a method of these scores ({quoted(methods)}){hint}"
        )
    if is_reference.all():
        raise SalstatsError(f"{reference!r} is the only method of these scores; there is nothing to compare")


def _both_have(column: pd.Series, is_reference: np.ndarray) -> bool:
    """Return whether the reference and the methods fill in a column."""
    given = column.notna().to_numpy()
    return bool(given[is_reference].any() and given[~is_reference].any())

"""Which estimates of a table are marked: the best, the significant, and the stars of the p-values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import (
    ColumnError,
    SalstatsError,
    ValueRangeError,
    check_columns,
    check_count,
    check_frame,
    quoted,
)
from salstats.display.tables.placement import grouping_columns, varies
from salstats.display.text.format import count_range, counted, star_note, star_text
from salstats.metrics.registry import direction
from salstats.stats.adjust import INTERCEPT, check_procedure, find_procedure


def numbers(frame: pd.DataFrame, column: str, name: str = "estimates") -> np.ndarray:
    """A column as float, NaN where there is no such column; infinite limits are allowed."""
    if column not in frame.columns:
        return np.full(len(frame), np.nan)
    try:
        values = pd.to_numeric(frame[column])
    except (ValueError, TypeError):
        raise ColumnError(f"column {column!r} of {name} must be numeric; it holds text") from None
    return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))


def better_sign(metric: object, term: object, directions: Mapping[str, str] | None = None) -> int:
    """1 where a larger estimate is better, -1 where a smaller one is, 0 where nobody knows.

    Estimates without a metric, such as areas under a curve, are better the larger; shares of empty masks
    and how much a score changes within a case are not.
    """
    if term in ("empty", "within_case_sd"):
        return -1
    given = (directions or {}).get(str(metric))
    known = 1 if metric is None or given == "larger" else -1 if given == "smaller" else direction(metric)
    return -known if term == "percent_decrease" else known


def check_directions(directions: Mapping[str, str] | None) -> None:
    """Raise where a direction is none."""
    for metric, way in (directions or {}).items():
        if way not in ("larger", "smaller"):
            raise ValueRangeError(f"directions: {metric!r} must be 'larger' or 'smaller', not {way!r}")


@dataclass(frozen=True)
class Best:
    """The estimates that are the best among those they compete with.

    Attributes
    ----------
    rows : set of int
        Rows of the frame, by position.
    within : tuple of str
        Columns whose values each have a best of their own.
    smaller : tuple
        Metrics of which less is better.
    unknown : tuple
        Metrics of which nobody knows; none of their estimates is the best.
    """

    rows: set[int]
    within: tuple[str, ...]
    smaller: tuple[object, ...]
    unknown: tuple[object, ...] = ()


def best_rows(
    frame: pd.DataFrame,
    keys: Sequence[str],
    over: Sequence[str],
    exclude: Sequence[str],
    directions: Mapping[str, str] | None = None,
) -> Best:
    """The best estimates over the values of `over`, ties all of them, none where none competes."""
    # a method may be left out of the best model of each method, too
    groups = frame[[c for c in keys if c in over or c == "method"]].astype("str")
    known = set(groups.to_numpy().ravel())
    unknown = [e for e in exclude if e not in known]
    if unknown:
        raise ValueRangeError(f"exclude names {unknown[0]!r}, which is none of {quoted(sorted(known))}")
    eligible = ~groups.isin(list(exclude)).any(axis=1).to_numpy()
    estimates = numbers(frame, "estimate")
    metric = frame["metric"] if "metric" in frame.columns else pd.Series([None] * len(frame))
    term = frame["term"] if "term" in frame.columns else pd.Series([None] * len(frame))
    check_directions(directions)
    sign = np.array(
        [better_sign(m, t, directions) for m, t in zip(metric, term, strict=True)], dtype=np.float64
    )
    within = [c for c in keys if c not in over]
    sets: dict[tuple[str, ...], list[int]] = {}
    for i in np.flatnonzero(eligible & ~np.isnan(estimates) & (sign != 0)):
        sets.setdefault(tuple(str(frame[c].iloc[i]) for c in within), []).append(int(i))
    rows: set[int] = set()
    for members in sets.values():
        values = sign[members] * estimates[members]
        # one estimate has nothing to be better than
        rows |= {m for m, v in zip(members, values, strict=True) if len(members) > 1 and v == values.max()}
    smaller = tuple(dict.fromkeys(m for m, s in zip(metric, sign, strict=True) if s < 0))
    undirected = tuple(dict.fromkeys(m for m, s in zip(metric, sign, strict=True) if s == 0))
    return Best(rows, tuple(c for c in within if varies(frame, c)), smaller, undirected)


def differing_rows(
    frame: pd.DataFrame, keys: Sequence[str], differences: pd.DataFrame
) -> tuple[set[int], int]:
    """The rows whose difference has a verdict, and how many estimates were compared with none."""
    check_frame(differences, "differences")
    check_columns(differences, ["method", "reference", "verdict"], "differences")
    their_keys = grouping_columns(differences)
    lacking = [c for c in keys if c not in their_keys and varies(frame, c)]
    beyond = [c for c in their_keys if c not in keys and varies(differences, c)]
    if lacking or beyond:
        raise ColumnError(
            f"differences and estimates must have the same grouping columns; {quoted([*lacking, *beyond])} "
            f"is only in the {'estimates' if lacking else 'differences'}"
        )
    if differences["reference"].nunique() > 1:
        raise SalstatsError(
            f"differences hold several references ({quoted(differences['reference'].unique())}); "
            "keep the rows of one"
        )
    shared = [c for c in keys if c in their_keys]
    verdicts = {
        tuple(str(v) for v in key): verdict
        for key, verdict in zip(differences[shared].to_numpy(), differences["verdict"], strict=True)
    }
    if len(verdicts) < len(differences):
        raise SalstatsError("differences have two rows with the same grouping columns; keep one of them")
    reference = differences["reference"].iloc[0]
    marked, untested = set(), 0
    estimates = numbers(frame, "estimate")
    for i, key in enumerate(frame[shared].to_numpy()):
        verdict = verdicts.get(tuple(str(v) for v in key))
        if verdict in ("lower", "higher"):
            marked.add(i)
        own = "method" in frame.columns and frame["method"].iloc[i] == reference
        untested += verdict is None and not own and not np.isnan(estimates[i])
    return marked, untested


@dataclass(frozen=True)
class Stars:
    """Stars of each row of a frame, and the footnote that says what they mean, empty without stars."""

    texts: list[str]
    note: str


def stars_of(frame: pd.DataFrame, stars: bool, n_tests: int | None, adjust: str | None = None) -> Stars:
    """Stars by the adjusted p-values, else by the levels divided by the tests of the frame.

    Intercepts are no tests and have no stars. With `n_tests` the p-values as they are count.
    """
    if n_tests is not None:
        check_count(n_tests, "n_tests")
    if not stars:
        return Stars([""] * len(frame), "")
    check_columns(frame, ["p_value"], "the frame for stars=True")
    p = tested_p_values(frame)
    if n_tests is None and _procedure(frame, adjust) == "none":
        n_tests = 1
    if n_tests is None and "p_adjusted" in frame.columns:
        adjusted = np.where(np.isnan(p), np.nan, numbers(frame, "p_adjusted"))
        if (np.isnan(adjusted) & ~np.isnan(p)).any():
            raise SalstatsError(
                "p_adjusted is missing where there is a p_value; adjust all rows together with adjust(), "
                "or give n_tests"
            )
        note = star_note(adjusted=adjustment(frame, adjust))
        return Stars([star_text(value) for value in adjusted], note)
    family = int(np.count_nonzero(~np.isnan(p))) if n_tests is None else n_tests
    texts = [star_text(value, max(family, 1)) for value in p]
    return Stars(texts, star_note(max(family, 1)))


def tested_p_values(frame: pd.DataFrame) -> np.ndarray:
    """The p-values, NaN for intercepts."""
    p = numbers(frame, "p_value")
    if "term" in frame.columns:
        p = np.where(frame["term"].to_numpy() == INTERCEPT, np.nan, p)
    return p


def is_adjusted(frame: pd.DataFrame) -> bool:
    """Whether a frame has adjusted p-values."""
    return _procedure(frame, None) != "none" and bool((~np.isnan(numbers(frame, "p_adjusted"))).any())


def _procedure(frame: pd.DataFrame, adjust: str | None) -> str | None:
    """The procedure behind `p_adjusted`, None where nobody says."""
    if adjust is not None:
        return check_procedure(adjust, "adjust")
    named = frame["procedure"].dropna().unique() if "procedure" in frame.columns else []
    return str(named[0]) if len(named) == 1 else None


def adjustment(frame: pd.DataFrame, adjust: str | None = None) -> str:
    """What p-values were adjusted by: "Holm, 24 tests"."""
    procedure = _procedure(frame, adjust)
    known = find_procedure(procedure)
    name = [] if procedure is None else [known.label or known.name if known else procedure]
    sizes = numbers(frame, "n_tests")
    sizes = sizes[~np.isnan(sizes)]
    if not len(sizes):
        return ", ".join(name) or "for multiplicity"
    same = sizes.min() == sizes.max()
    tests = counted(sizes[0], "test") if same else f"families of {count_range(sizes)} tests"
    return ", ".join([*name, tests])

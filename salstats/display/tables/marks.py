"""Which estimates of a table are marked: the best, the significant, and the stars of the p-values."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

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
from salstats.display.text.format import count_range, count_text, counted, star_note, star_text
from salstats.display.text.margins import margin_marks
from salstats.metrics.registry import direction
from salstats.stats.adjust import INTERCEPT, check_procedure, find_procedure
from salstats.stats.equivalence import SIDES, split_verdicts


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

    Estimates without a metric, such as areas under a curve, are better the larger; ranks, shares of empty
    masks and how much a score changes within a case are not.
    """
    if term in ("empty", "within_case_sd", "rank", "true_rank"):
        return -1
    given = (directions or {}).get(str(metric))
    known = 1 if metric is None or given == "larger" else -1 if given == "smaller" else direction(metric)
    return -known if term == "percent_decrease" else known


class Best(NamedTuple):
    """The estimates that are the best among those they compete with.

    `rows` of the frame by position; `within`, columns whose values each have a best of their own; metrics of
    which less is better (`smaller`), and of which nobody knows (`unknown`), so that none is the best.
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
    for metric, way in (directions or {}).items():
        if way not in ("larger", "smaller"):
            raise ValueRangeError(f"directions: {metric!r} must be 'larger' or 'smaller', not {way!r}")
    # a method may be left out of the best model of each method, too
    groups = frame[[c for c in keys if c in over or c == "method"]].astype("str")
    known = set(groups.to_numpy().ravel())
    unknown = [e for e in exclude if e not in known]
    if unknown:
        raise ValueRangeError(f"exclude names {unknown[0]!r}, which is none of {quoted(sorted(known))}")
    none = pd.Series([None] * len(frame), frame.index)
    metric, term = frame.get("metric", none), frame.get("term", none)
    signs = [better_sign(m, t, directions) for m, t in zip(metric, term, strict=True)]
    goodness = pd.Series(signs, dtype=np.float64).replace(0, np.nan) * numbers(frame, "estimate")
    goodness[groups.isin(list(exclude)).any(axis=1).to_numpy()] = np.nan
    within = [c for c in keys if c not in over]
    sets = pd.Series(_texts(frame, within), dtype=object)
    competing = goodness.groupby(sets)
    # one estimate has nothing to be better than
    best = (goodness == competing.transform("max")) & (competing.transform("count") > 1)
    of_sign = [tuple(dict.fromkeys(m for m, s in zip(metric, signs, strict=True) if s == k)) for k in (-1, 0)]
    return Best(set(np.flatnonzero(best).tolist()), tuple(c for c in within if varies(frame, c)), *of_sign)


def differing_rows(
    frame: pd.DataFrame, keys: Sequence[str], differences: pd.DataFrame
) -> tuple[set[int], list[str], int]:
    """The rows that differ, each row's mark of its margin, and how many estimates were compared with none."""
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
    said = zip(split_verdicts(differences["verdict"])[0], margin_marks(differences), strict=True)
    of = dict(zip(_texts(differences, shared), said, strict=True))
    if len(of) < len(differences):
        raise SalstatsError("differences have two rows with the same grouping columns; keep one of them")
    found = [of.get(key, (None, "")) for key in _texts(frame, shared)]
    sides, inside = [side for side, _ in found], [mark for _, mark in found]
    marked = {i for i, side in enumerate(sides) if side in SIDES[:2]}
    method = frame["method"] if "method" in frame.columns else [None] * len(frame)
    given = zip(sides, method, numbers(frame, "estimate"), strict=True)
    reference = differences["reference"].iloc[0]
    return marked, inside, sum(v is None and own != reference and e == e for v, own, e in given)


def _texts(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The values of some columns as text, row by row."""
    return [tuple(map(str, row)) for row in frame[columns].to_numpy()]


class Stars(NamedTuple):
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
    p = numbers(frame, "p_value")
    if "term" in frame.columns:
        p = np.where(frame["term"].to_numpy() == INTERCEPT, np.nan, p)
    if n_tests is None and _procedure(frame, adjust) == "none":
        n_tests = 1
    if n_tests is None and "p_adjusted" in frame.columns:
        adjusted = np.where(np.isnan(p), np.nan, numbers(frame, "p_adjusted"))
        if (np.isnan(adjusted) & ~np.isnan(p)).any():
            raise SalstatsError(
                "p_adjusted is missing where there is a p_value; adjust all rows together with adjust(), "
                "or give n_tests"
            )
        texts = [star_text(v) for v in adjusted]
        return Stars(texts, star_note(adjusted=adjustment(frame, adjust), shown=any(texts)))
    family = max(int(np.count_nonzero(~np.isnan(p))) if n_tests is None else n_tests, 1)
    texts = [star_text(value, family) for value in p]
    return Stars(texts, star_note(family, shown=any(texts)))


def is_adjusted(frame: pd.DataFrame) -> bool:
    """Whether a frame has adjusted p-values."""
    return _procedure(frame, None) != "none" and bool((~np.isnan(numbers(frame, "p_adjusted"))).any())


def _procedure(frame: pd.DataFrame, adjust: str | None) -> str | None:
    """The procedure behind `p_adjusted`, None where nobody says."""
    if adjust is not None:
        return check_procedure(adjust, "adjust", drawn=True)
    named = frame["procedure"].dropna().unique() if "procedure" in frame.columns else []
    return str(named[0]) if len(named) == 1 else None


def p_heading(frame: pd.DataFrame, adjust: str | None = None) -> str:
    """The heading of P values with what they are adjusted by: "P, Holm"."""
    if not is_adjusted(frame):
        return "P"
    known = find_procedure(_procedure(frame, adjust))
    return f"P, {(known.label or known.name) if known else 'adjusted'}"


def adjustment(frame: pd.DataFrame, adjust: str | None = None) -> str:
    """What p-values were adjusted by: "Holm, 24 tests"."""
    procedure = _procedure(frame, adjust)
    known = find_procedure(procedure)
    name = [] if procedure is None else [known.label or known.name if known else procedure]
    sizes = numbers(frame, "n_tests")
    sizes = sizes[~np.isnan(sizes)]
    if not len(sizes):
        return ", ".join(name) or "for multiplicity"
    distinct = np.unique(sizes)
    if len(distinct) == 1:
        tests = counted(sizes[0], "test")
    elif len(distinct) == 2:
        tests = f"families of {count_text(distinct[0])} and {count_text(distinct[1])} tests"
    else:
        tests = f"families of {count_range(sizes)} tests"
    return ", ".join([*name, tests])

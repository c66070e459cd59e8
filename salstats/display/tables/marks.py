"""Which estimates of a table are marked: the best, the significant, and the stars of the p-values."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, ValueRangeError, check_columns, check_count, quoted
from salstats.display.estimates import Estimates
from salstats.display.facts import adjustment_text, procedure_name
from salstats.display.text.format import star_note, star_text
from salstats.display.text.margins import margin_marks
from salstats.metrics.registry import direction
from salstats.stats.adjust import INTERCEPT
from salstats.stats.engine.equivalence import SIDES, split_verdicts


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
    estimates: Estimates,
    keys: Sequence[str],
    over: Sequence[str],
    exclude: Sequence[str],
    directions: Mapping[str, str] | None = None,
) -> Best:
    """The best estimates over the values of `over`, ties all of them, none where none competes."""
    for metric, way in (directions or {}).items():
        if way not in ("larger", "smaller"):
            raise ValueRangeError(f"directions: {metric!r} must be 'larger' or 'smaller', not {way!r}")
    frame = estimates.frame
    # a method may be left out of the best model of each method, too
    groups = frame[[c for c in keys if c in over or c == "method"]].astype("str")
    known = set(groups.to_numpy().ravel())
    unknown = [e for e in exclude if e not in known]
    if unknown:
        raise ValueRangeError(f"exclude names {unknown[0]!r}, which is none of {quoted(sorted(known))}")
    none = pd.Series([None] * len(frame), frame.index)
    metric, term = frame.get("metric", none), frame.get("term", none)
    signs = [better_sign(m, t, directions) for m, t in zip(metric, term, strict=True)]
    goodness = pd.Series(signs, dtype=np.float64).replace(0, np.nan) * estimates.numbers("estimate")
    goodness[groups.isin(list(exclude)).any(axis=1).to_numpy()] = np.nan
    within = [c for c in keys if c not in over]
    sets = pd.Series(_texts(frame, within), dtype=object)
    competing = goodness.groupby(sets)
    # one estimate has nothing to be better than
    best = (goodness == competing.transform("max")) & (competing.transform("count") > 1)
    of_sign = [tuple(dict.fromkeys(m for m, s in zip(metric, signs, strict=True) if s == k)) for k in (-1, 0)]
    within_varying = tuple(column for column in within if estimates.varies(column))
    return Best(set(np.flatnonzero(best).tolist()), within_varying, *of_sign)


class Differing(NamedTuple):
    """Estimates that differ from a reference.

    `rows` of the frame by position, each row's `marks` of its margin, and how many were compared with none.
    """

    rows: set[int]
    marks: list[str]
    n_untested: int


def differing_rows(estimates: Estimates, keys: Sequence[str], differences: Estimates) -> Differing:
    """Return the rows that differ from the reference of differences."""
    lacking = [c for c in keys if c not in differences.keys and estimates.varies(c)]
    beyond = [c for c in differences.keys if c not in keys and differences.varies(c)]
    if lacking or beyond:
        raise ColumnError(
            f"differences and estimates must have the same grouping columns; {quoted([*lacking, *beyond])} "
            f"is only in the {'estimates' if lacking else 'differences'}"
        )
    references = differences.values("reference")
    if len(references) > 1:
        raise SalstatsError(
            f"differences hold several references ({quoted(references)}); keep the rows of one"
        )
    shared = [c for c in keys if c in differences.keys]
    sides = split_verdicts(differences.frame["verdict"])[0]
    verdicts = zip(sides, margin_marks(differences), strict=True)
    compared = dict(zip(_texts(differences.frame, shared), verdicts, strict=True))
    if len(compared) < len(differences):
        raise SalstatsError("differences have two rows with the same grouping columns; keep one of them")
    rows: set[int] = set()
    marks = []
    n_untested = 0
    for i, key in enumerate(_texts(estimates.frame, shared)):
        side, mark = compared.get(key, (None, ""))
        marks.append(mark)
        if side in SIDES[:2]:
            rows.add(i)
        is_reference = estimates.values("method") and estimates.frame["method"].iloc[i] in references
        if side is None and not is_reference and estimates.defined[i]:
            n_untested += 1
    return Differing(rows, marks, n_untested)


def _texts(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The values of some columns as text, row by row."""
    return [tuple(map(str, row)) for row in frame[columns].to_numpy()]


class Stars(NamedTuple):
    """Stars of each row of a frame, and the footnote that says what they mean, empty without stars."""

    texts: list[str]
    note: str


def stars_of(estimates: Estimates, stars: bool, n_tests: int | None) -> Stars:
    """Return stars by the adjusted p-values, else by the levels divided by the tests of the frame.

    Intercepts are no tests and have no stars. With `n_tests` the p-values as they are count.
    """
    if n_tests is not None:
        check_count(n_tests, "n_tests")
    if not stars:
        return Stars([""] * len(estimates), "")
    check_columns(estimates.frame, ["p_value"], "the frame for stars=True")
    p = estimates.numbers("p_value")
    if estimates.values("term"):
        p = np.where(estimates.frame["term"].to_numpy() == INTERCEPT, np.nan, p)
    if n_tests is None and estimates.procedure == "none":
        n_tests = 1
    if n_tests is None and "p_adjusted" in estimates.frame.columns:
        adjusted = np.where(np.isnan(p), np.nan, estimates.numbers("p_adjusted"))
        if (np.isnan(adjusted) & ~np.isnan(p)).any():
            raise SalstatsError(
                "p_adjusted is missing where there is a p_value; adjust all rows together with adjust(), "
                "or give n_tests"
            )
        texts = [star_text(v) for v in adjusted]
        return Stars(texts, star_note(adjusted=adjustment_text(estimates), shown=any(texts)))
    family = max(int(np.count_nonzero(~np.isnan(p))) if n_tests is None else n_tests, 1)
    texts = [star_text(value, family) for value in p]
    return Stars(texts, star_note(family, shown=any(texts)))


def p_heading(estimates: Estimates) -> str:
    """Return the heading of P values with what they are adjusted by: "P, Holm"."""
    if not estimates.is_adjusted:
        return "P"
    return f"P, {procedure_name(estimates.procedure) if estimates.procedure else 'adjusted'}"

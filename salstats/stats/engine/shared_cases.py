"""Cases that methods which stand side by side have in common, and what is said where they differ."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from salstats.checks import warn
from salstats.frames import ColumnCodes, distinct_codes, first_rows, insert_column
from salstats.stats.engine.carried import counts_of_rows, nothing_there, pooled_columns
from salstats.stats.engine.cautions import DIFFERENT_CASES, INCOMPLETE_PAIRS, add_caution
from salstats.stats.engine.comparisons import ALL, ALWAYS, LACKING
from salstats.stats.engine.design import AVERAGE, group_labels, group_list

#: Share of the cases of all methods that one may lack before its estimates are marked. A few undefined scores
#: are ordinary.
MOST_LACKING = 0.1


@dataclass(frozen=True)
class SharedCases:
    """Cases of each method beside those of the others in its group."""

    #: The scores, their grouping columns, `method` among them, and a row of each method with a defined score.
    frame: pd.DataFrame
    by: Sequence[str]
    rows: np.ndarray
    #: (n_rows,): Cases with a defined score of this method, of every method of its group, of any of them.
    n_cases: np.ndarray
    n_shared: np.ndarray
    n_any: np.ndarray

    @cached_property
    def keys(self) -> pd.DataFrame:
        """Grouping columns of each method with a defined score."""
        return self.frame[list(self.by)].iloc[self.rows].reset_index(drop=True)

    @property
    def n_lacking(self) -> np.ndarray:
        """Cases that another method of the group has and this one has not."""
        return self.n_any - self.n_cases

    @property
    def lacks_many(self) -> np.ndarray:
        """Methods that lack so many cases that their estimates cannot be compared with the others'."""
        return lacks_many(self.n_lacking, self.n_any)


@dataclass(frozen=True)
class RowsWithCases:
    """Rows of an estimates frame that are of the same grouping columns, and the cases of their methods."""

    rows: np.ndarray
    cases: SharedCases
    #: True where the rows are averages over groups.
    is_average: bool


def lacks_many(n_lacking: np.ndarray, n_any: np.ndarray) -> np.ndarray:
    """Return where so many of `n_any` cases lack that those left may be a selection which moves the mean.

    They are more than a tenth, and more than the root of the number of cases: if they scored a standard
    deviation less than all, the mean without them would be too high by more than its standard error.
    """
    return (n_lacking > MOST_LACKING * n_any) & (n_lacking > np.sqrt(n_any))


def shared_cases(
    codes: ColumnCodes, by: Sequence[str], defined: np.ndarray, absent: np.ndarray | None = None
) -> SharedCases:
    """Count the cases that methods have, and those that all methods of a group have.

    Parameters
    ----------
    codes : ColumnCodes
        A frame with the columns `case` and `method`, coded.
    by : sequence of str
        Grouping columns, `method` among them: methods are side by side where all others are equal.
    defined : ndarray of bool, shape (n_rows,)
        Rows with a value that enters an estimate.
    absent : ndarray of bool, shape (n_rows,), optional
        Rows that say that the finding is absent: no method lacks such a case.
    """
    together = [c for c in by if c != "method"]
    case = [c for c in ALWAYS if c in codes.frame.columns]
    cases = codes.combined(list(dict.fromkeys([*together, *case])))
    groups = codes.combined(together)
    series = codes.combined(by)
    methods = codes.column("method")
    rows = np.flatnonzero(defined)
    first = rows[first_rows(series[rows])]
    group_of_series = groups[first]
    n_groups = int(groups.max(initial=0)) + 1
    n_methods = np.bincount(group_of_series, minlength=n_groups)
    group_of_case = np.zeros(int(cases.max(initial=0)) + 1, dtype=np.int64)
    group_of_case[cases] = groups
    pair_of_row = cases[rows] * methods.n_codes + methods.codes[rows]
    pairs = distinct_codes(pair_of_row, len(group_of_case) * methods.n_codes)
    case_of_pair, method_of_pair = np.divmod(pairs, methods.n_codes)
    n_with_case = np.bincount(case_of_pair, minlength=len(group_of_case))
    is_shared = (n_with_case == n_methods[group_of_case]) & (n_with_case > 0)
    counts = n_with_case > 0
    if absent is not None:
        is_absent = np.zeros(len(counts), dtype=bool)
        is_absent[cases[absent]] = True
        counts &= is_shared | ~is_absent
    n_any = np.bincount(group_of_case[counts], minlength=n_groups)
    n_shared = np.bincount(group_of_case[is_shared], minlength=n_groups)
    method_in_group = group_of_case[case_of_pair] * methods.n_codes + method_of_pair
    counted = counts[case_of_pair]
    n_cases = np.bincount(method_in_group[counted], minlength=n_groups * methods.n_codes)
    return SharedCases(
        codes.frame,
        by,
        first,
        n_cases[group_of_series * methods.n_codes + methods.codes[first]],
        n_shared[group_of_series],
        n_any[group_of_series],
    )


def mark_shared_cases(
    estimates: pd.DataFrame,
    codes: ColumnCodes,
    by: Sequence[str],
    remedy: Callable[[], str],
    defined: np.ndarray | None = None,
    averaged: np.ndarray | None = None,
) -> pd.DataFrame:
    """Add to an estimates frame how many cases its methods share, with a caution and a warning.

    Parameters
    ----------
    estimates : DataFrame
        Estimates with the columns of `by`; "Average" and "Overall" rows are of several of their groups.
    codes : ColumnCodes
        The rows that they are made from, coded.
    by : sequence of str
        Grouping columns.
    remedy : function
        Writes the call that compares like with like for the warning, as `paired_call` does.
    defined : ndarray of bool, optional
        Rows that enter an estimate; by default those with a score.
    averaged : ndarray of bool, optional
        Rows that enter averages, where some do not as their weight is 0.

    Returns
    -------
    DataFrame
        The frame as it is where all methods have the same cases. Else with `n_shared`, and where a method
        lacks many cases (see `lacks_many`) with the caution in its rows.
    """
    counted = cases_of_rows(estimates, codes, by, defined, averaged)
    if not any((part.cases.n_lacking > 0).any() for part in counted):
        return estimates
    warn_of_different_cases(counted, remedy)
    n_shared = np.zeros(len(estimates), dtype=np.int64)
    marked = np.zeros(len(estimates), dtype=bool)
    for part in counted:
        cases = part.cases
        columns = list(cases.keys.columns)
        numbers = cases.keys.assign(n_shared=cases.n_shared, lacks_many=cases.lacks_many).astype("object")
        here = estimates.loc[part.rows, columns].astype("object").merge(numbers, how="left", on=columns)
        # a method without any defined score shares nothing
        n_shared[part.rows] = here["n_shared"].fillna(0).to_numpy(dtype=np.int64)
        marked[part.rows] = here["lacks_many"].eq(True).to_numpy()
    return add_caution(insert_column(estimates, "n_shared", n_shared), DIFFERENT_CASES, marked)


def warn_of_different_cases(counted: Sequence[RowsWithCases], remedy: Callable[[], str]) -> None:
    """Warn where methods side by side lack many cases; averages repeat what holds of their groups."""
    for part in counted:
        texts = [text for text in lacking_cases(part.cases) if text]
        if texts and not part.is_average:
            warn(
                f"methods have scores of different cases: {group_list(texts)}; their estimates cannot be "
                f"compared as they stand: {remedy()}"
            )
            return


def cases_of_rows(
    estimates: pd.DataFrame,
    codes: ColumnCodes,
    by: Sequence[str],
    defined: np.ndarray | None = None,
    averaged: np.ndarray | None = None,
) -> list[RowsWithCases]:
    """Count the cases of the methods in each kind of rows; none where there is one method, or no case.

    Parameters are those of `mark_shared_cases`.
    """
    frame = codes.frame
    if "method" not in by or "case" not in frame.columns or codes.column("method").n_codes == 1:
        return []
    absent = None
    if defined is None:
        defined = frame["score"].notna().to_numpy()
        absent = nothing_there(frame)
    counted = []
    for rows, columns in pooled_columns(estimates, by, frame):
        if "method" not in columns:
            continue
        pooled = [c for c in by if c not in columns]
        of_average = any(estimates.loc[rows, c].astype("object").eq(AVERAGE).all() for c in pooled)
        entering = defined
        if of_average and averaged is not None:
            entering = defined & averaged
        cases = shared_cases(codes, columns, entering, absent)
        counted.append(RowsWithCases(rows, cases, of_average))
    return counted


def mark_left_out_cases(
    estimates: pd.DataFrame, codes: ColumnCodes, by: Sequence[str], remedy: str
) -> pd.DataFrame:
    """Add a caution to groups whose methods are compared on their shared cases, which are few, and warn.

    Parameters
    ----------
    estimates : DataFrame
        A row for each group and method, with the columns of `by`.
    codes : ColumnCodes
        Scores, coded, before those are left out that another method lacks.
    by : sequence of str
        Grouping columns, `method` among them.
    remedy : str
        Call that leaves out fewer, for the warning.
    """
    frame = codes.frame
    found = shared_cases(codes, by, frame["score"].notna().to_numpy(), nothing_there(frame))
    texts = [text for text in lacking_cases(found) if text]
    if not texts:
        return estimates
    warn(
        f"cases that a method lacks are left out for all ({group_list(texts)}), so that methods are compared "
        f"on the cases that all have: {remedy}"
    )
    lacking = found.keys[found.lacks_many]
    groups = [c for c in by if c != "method"]
    n_lacking = counts_of_rows(estimates[groups], lacking[groups], frame)
    return add_caution(estimates, INCOMPLETE_PAIRS, n_lacking > 0)


def lacking_cases(found: SharedCases) -> list[str]:
    """Say of each method how many cases it lacks, where these are many; "" of the others."""
    texts = [""] * len(found.n_any)
    rows = np.flatnonzero(found.lacks_many)
    if not rows.size:
        return texts
    for row, label in zip(rows, group_labels(found.keys, rows), strict=True):
        cases = f"{found.n_lacking[row]} of {found.n_any[row]} ({found.n_shared[row]} shared)"
        texts[row] = f"{label} lacks {cases}"
    return texts


def paired_call(frame: pd.DataFrame, function: str = "difference", data: str = "scores") -> str:
    """Write the call that compares methods on the cases that both have: with the human, if there is one."""
    reference = "human"
    if "human" not in frame["method"].unique():
        reference = frame["method"].astype("str").value_counts().index[0]
    return f"{function}({data}, reference={reference!r}) compares two on the cases that both have"


def shared_rows_call(frame: pd.DataFrame, values: Sequence[str] = ("score",), data: str = "scores") -> str:
    """Write the expression that keeps the rows of cases of which all methods have values.

    `values` are columns, or metrics, whose values are scores.
    """
    columns = [c for c in ALWAYS if c in frame.columns]
    named = dict.fromkeys(value if value in frame.columns else "score" for value in values)
    given = f"{data}.dropna(subset={list(named)})"
    return (
        f"with given = {given}, given[given.groupby({columns})['method'].transform('nunique') == "
        "given['method'].nunique()] keeps the cases that all have"
    )


def bounds_call(reference: str) -> str:
    """Write the call that bounds a comparison by all cases."""
    compared = f"difference(scores, reference={reference!r})"
    return f"missing_bounds({compared}, scores=scores) bounds what the others could change"


def flow_call(reference: str) -> str:
    """Write the call that counts what is left out, by its reason."""
    of_reference = "" if reference == ALL else f", reference={reference!r}"
    return f"case_flow(scores{of_reference}) says how many are left out and why"


def mark_incomplete_pairs(
    estimates: pd.DataFrame,
    one_sided: pd.DataFrame,
    scores: pd.DataFrame,
    remedy: str,
    pairs: str = "complete",
) -> pd.DataFrame:
    """Add a caution to comparisons in which one of the two methods lacks many cases of the other, and warn.

    Parameters
    ----------
    estimates : DataFrame
        Comparisons of two methods, with their grouping columns and `n_pairs`, or `n` where these are pairs.
    one_sided : DataFrame
        Pairs with one score, as `one_sided_pairs` gives them.
    scores : DataFrame
        The scores compared.
    remedy : str
        Call that says more of the pairs that are left out, for the warning.
    pairs : {"complete", "available"}
        Whether these pairs are left out, or each method is averaged over its own cases.
    """
    if one_sided.empty:
        return estimates
    columns = [c for c in one_sided.columns if c != LACKING]
    keys = estimates[columns]
    n_complete = estimates["n_pairs" if "n_pairs" in estimates.columns else "n"].to_numpy()
    of_reference = one_sided[LACKING].eq("reference")
    n_method = counts_of_rows(keys, one_sided.loc[~of_reference, columns], scores)
    n_reference = counts_of_rows(keys, one_sided.loc[of_reference, columns], scores)
    n_any = n_complete + n_method + n_reference
    many = lacks_many(n_method, n_any) | lacks_many(n_reference, n_any)
    if not many.any():
        return estimates
    left_out = n_any - n_complete
    texts = []
    rows = np.flatnonzero(many)
    for row, label in zip(rows, group_labels(keys, rows), strict=True):
        texts.append(f"{label}: {left_out[row]} of {n_any[row]}")
    groups = group_list(list(dict.fromkeys(texts)))
    if pairs == "complete":
        warn(
            f"pairs with one of their two scores are left out ({groups}), so the comparison is of the cases "
            f"that both methods have: {remedy}"
        )
        return add_caution(estimates, INCOMPLETE_PAIRS, many)
    warn(
        f"pairs='available' compares means over different cases, as pairs with one of their two scores are "
        f"{groups}; pairs='complete' compares the methods on the cases that both have"
    )
    return add_caution(estimates, DIFFERENT_CASES, many)

"""Cases that the methods of a group share, with cautions and warnings where methods lack many cases."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.coded_text import TEXT
from salstats.errors import Advice, Call, Message, Setting, warn
from salstats.frames import ColumnCodes, distinct_codes, first_rows, with_estimate_column_added
from salstats.stats.engine.cautions import DIFFERENT_CASES, INCOMPLETE_PAIRS, add_caution
from salstats.stats.engine.comparisons import ALL_PAIRS, KEY_COLUMNS_OF_PAIRS, MISSING_SIDE
from salstats.stats.engine.grouping import AVERAGE, group_labels, joined_group_labels
from salstats.stats.engine.score_reasons import (
    count_rows_per_estimate,
    estimate_masks_by_separating_columns,
    is_row_of_absent_finding,
)

#: Largest share of missing cases without a caution, as a few undefined scores are ordinary.
_MAX_MISSING_SHARE = 0.1


@dataclass(frozen=True)
class CaseCountsOfMethods:
    """Numbers of cases of methods and of their groups; arrays have the shape (n_methods_of_groups,)."""

    #: The scores, and their grouping columns, `method` among them.
    frame: pd.DataFrame
    by: Sequence[str]
    #: A row of the scores for each method of a group that has a defined score.
    rows: NDArray[np.integer]
    #: Cases with a defined score of this method.
    n_cases: np.ndarray
    #: Cases with defined scores of all methods of the group.
    n_shared: np.ndarray
    #: Cases with a defined score of any method of the group.
    n_any: np.ndarray

    @cached_property
    def keys(self) -> pd.DataFrame:
        """Grouping columns of each method with a defined score."""
        return self.frame[list(self.by)].iloc[self.rows].reset_index(drop=True)

    @property
    def n_missing_cases(self) -> np.ndarray:
        """Number of cases that another method of the group has and this one lacks."""
        n_missing: np.ndarray = self.n_any - self.n_cases
        return n_missing

    @property
    def has_many_missing(self) -> NDArray[np.bool_]:
        """True for methods that lack so many cases that their estimates are not comparable."""
        return has_many_missing(self.n_missing_cases, self.n_any)


@dataclass(frozen=True)
class RowsWithCaseCounts:
    """Rows of an estimates frame with the same grouping columns, and the cases of their methods."""

    rows: NDArray[np.bool_]
    cases: CaseCountsOfMethods
    #: The rows are averages over groups.
    is_average: bool


def has_many_missing(n_missing_cases: np.ndarray, n_any: np.ndarray) -> NDArray[np.bool_]:
    """Return True where so many of `n_any` cases are missing that a mean without them may be biased.

    These are more than a tenth, and more than the root of the number of cases: if they scored a standard
    deviation less than all, the mean without them would be too high by more than its standard error.
    """
    are_many: NDArray[np.bool_] = (n_missing_cases > _MAX_MISSING_SHARE * n_any) & (
        n_missing_cases > np.sqrt(n_any)
    )
    return are_many


def own_shared_and_any_method_case_counts(
    codes: ColumnCodes,
    by: Sequence[str],
    defined: NDArray[np.bool_],
    has_absent_finding: NDArray[np.bool_] | None = None,
) -> CaseCountsOfMethods:
    """Count the cases that each method has, that all methods of its group have, and that any of them has.

    Parameters
    ----------
    codes : ColumnCodes
        A frame with the columns `case` and `method`, coded.
    by : sequence of str
        Grouping columns, `method` among them; the others make the groups of methods.
    defined : ndarray of bool, shape (n_rows,)
        Rows with a value that enters an estimate.
    has_absent_finding : ndarray of bool, shape (n_rows,), optional
        Rows whose finding is absent: such a case does not count as missing for any method.
    """
    group_columns = [column for column in by if column != "method"]
    case_columns = [column for column in KEY_COLUMNS_OF_PAIRS if column in codes.frame.columns]
    cases = codes.combined(list(dict.fromkeys([*group_columns, *case_columns])))
    groups = codes.combined(group_columns)
    methods = codes.column("method")
    rows = np.flatnonzero(defined)

    # A series is a method of a group.
    series = codes.combined(by)
    first_rows_of_series = rows[first_rows(series[rows])]
    group_of_series = groups[first_rows_of_series]
    n_groups = int(groups.max(initial=0)) + 1
    n_methods = np.bincount(group_of_series, minlength=n_groups)
    group_of_case = np.zeros(int(cases.max(initial=0)) + 1, dtype=np.int64)
    group_of_case[cases] = groups
    n_all_cases = len(group_of_case)

    # Pairs of a case and a method with a defined score of it.
    pair_of_row = cases[rows] * methods.n_codes + methods.codes[rows]
    pairs = distinct_codes(pair_of_row, n_all_cases * methods.n_codes)
    case_of_pair, method_of_pair = np.divmod(pairs, methods.n_codes)
    n_methods_of_case = np.bincount(case_of_pair, minlength=n_all_cases)
    is_scored = n_methods_of_case > 0
    is_shared = is_scored & (n_methods_of_case == n_methods[group_of_case])
    is_counted = is_scored
    if has_absent_finding is not None:
        is_absent = np.zeros(n_all_cases, dtype=bool)
        is_absent[cases[has_absent_finding]] = True
        is_counted = is_scored & (is_shared | ~is_absent)

    n_any = np.bincount(group_of_case[is_counted], minlength=n_groups)
    n_shared = np.bincount(group_of_case[is_shared], minlength=n_groups)
    counted_pairs = is_counted[case_of_pair]
    series_of_pair = group_of_case[case_of_pair] * methods.n_codes + method_of_pair
    n_cases = np.bincount(series_of_pair[counted_pairs], minlength=n_groups * methods.n_codes)
    return CaseCountsOfMethods(
        frame=codes.frame,
        by=by,
        rows=first_rows_of_series,
        n_cases=n_cases[group_of_series * methods.n_codes + methods.codes[first_rows_of_series]],
        n_shared=n_shared[group_of_series],
        n_any=n_any[group_of_series],
    )


def add_n_shared_by_methods_and_cautions(
    estimates: pd.DataFrame,
    codes: ColumnCodes,
    by: Sequence[str],
    remedy: Callable[[], Message],
    defined: NDArray[np.bool_] | None = None,
    enters_average: NDArray[np.bool_] | None = None,
) -> pd.DataFrame:
    """Add the number of cases that methods share to estimates if the methods have different cases.

    Where methods lack many cases, there is a warning and their estimates have a caution.

    Parameters
    ----------
    estimates : DataFrame
        Estimates with the columns of `by`; "Average" and "Overall" rows combine several groups.
    codes : ColumnCodes
        The rows that estimates are made from, coded.
    by : sequence of str
        Grouping columns.
    remedy : function
        Writes the call that compares methods on the same cases, for the warning, as
        `advice_to_compare_in_pairs` does.
    defined : ndarray of bool, optional
        Rows that enter an estimate; by default those with a score.
    enters_average : ndarray of bool, optional
        Rows that enter averages, if some have a weight of 0.

    Returns
    -------
    DataFrame
        The same frame if all methods have the same cases. Else with a column `n_shared`. Only where methods
        lack many cases (see `has_many_missing`), their rows have a caution, and there is a warning.
    """
    blocks = case_counts_by_set_of_grouping_columns(estimates, codes, by, defined, enters_average)
    if not any((block.cases.n_missing_cases > 0).any() for block in blocks):
        return estimates
    warn_of_different_cases(blocks, remedy)
    n_shared = np.zeros(len(estimates), dtype=np.int64)
    is_marked = np.zeros(len(estimates), dtype=bool)
    for block in blocks:
        cases = block.cases
        columns = list(cases.keys.columns)
        numbers = cases.keys.assign(n_shared=cases.n_shared, has_many_missing=cases.has_many_missing).astype(
            "object"
        )
        keys = estimates.loc[block.rows, columns].astype("object")
        merged = keys.merge(numbers, how="left", on=columns)
        # A method without any defined score shares no cases.
        n_shared[block.rows] = merged["n_shared"].astype("float64").fillna(0).to_numpy(dtype=np.int64)
        is_marked[block.rows] = merged["has_many_missing"].eq(True).to_numpy()
    with_numbers = with_estimate_column_added(estimates, "n_shared", n_shared)
    return add_caution(with_numbers, DIFFERENT_CASES, is_marked)


def warn_of_different_cases(blocks: Sequence[RowsWithCaseCounts], remedy: Callable[[], Message]) -> None:
    """Warn once if methods lack many cases of their group; averages would repeat the warning of groups."""
    for block in blocks:
        texts = [text for text in many_missing_cases_text_or_empty_by_method(block.cases) if text]
        if texts and not block.is_average:
            warn(
                "methods have scores of different cases: ",
                joined_group_labels(texts),
                "; their estimates cannot be compared as they stand: ",
                remedy(),
            )
            return


def case_counts_by_set_of_grouping_columns(
    estimates: pd.DataFrame,
    codes: ColumnCodes,
    by: Sequence[str],
    defined: NDArray[np.bool_] | None = None,
    enters_average: NDArray[np.bool_] | None = None,
) -> list[RowsWithCaseCounts]:
    """Count the cases of methods for each block of rows of an estimates frame with the same grouping columns.

    The list is empty if there is only one method, or no column `case`. Parameters are those of
    `add_n_shared_by_methods_and_cautions`.
    """
    frame = codes.frame
    if "method" not in by or "case" not in frame.columns or codes.column("method").n_codes == 1:
        return []
    absent = None
    if defined is None:
        defined = frame["score"].notna().to_numpy()
        absent = is_row_of_absent_finding(frame)
    blocks = []
    for rows, columns in estimate_masks_by_separating_columns(estimates, by, frame):
        if "method" not in columns:
            continue
        pooled = [column for column in by if column not in columns]
        pooled_values = estimates.loc[rows, pooled].astype("object")
        is_average = any(pooled_values[column].eq(AVERAGE).all() for column in pooled)
        has_weight = defined
        if is_average and enters_average is not None:
            has_weight = defined & enters_average
        cases = own_shared_and_any_method_case_counts(codes, columns, has_weight, absent)
        blocks.append(RowsWithCaseCounts(rows, cases, is_average))
    return blocks


def warn_and_add_caution_of_left_out_cases(
    estimates: pd.DataFrame, codes: ColumnCodes, by: Sequence[str], remedy: Message
) -> pd.DataFrame:
    """Warn, and add a caution to estimates, where a method lacks many cases, which are left out for all.

    Parameters
    ----------
    estimates : DataFrame
        A row for each group and method, with the columns of `by`.
    codes : ColumnCodes
        All scores, coded, including those of cases that another method lacks.
    by : sequence of str
        Grouping columns, `method` among them.
    remedy : Message
        Advice that leaves out fewer cases, for the warning.
    """
    frame = codes.frame
    cases = own_shared_and_any_method_case_counts(
        codes, by, frame["score"].notna().to_numpy(), is_row_of_absent_finding(frame)
    )
    texts = [text for text in many_missing_cases_text_or_empty_by_method(cases) if text]
    if not texts:
        return estimates
    warn(
        "cases that a method lacks are left out for all (",
        joined_group_labels(texts),
        "), so that methods are compared on the cases that all have: ",
        remedy,
    )
    incomplete_methods = cases.keys[cases.has_many_missing]
    groups = [column for column in by if column != "method"]
    n_incomplete = count_rows_per_estimate(estimates[groups], incomplete_methods[groups], frame)
    return add_caution(estimates, INCOMPLETE_PAIRS, n_incomplete > 0)


def many_missing_cases_text_or_empty_by_method(cases: CaseCountsOfMethods) -> list[Message]:
    """Return a text on the cases that each method lacks, which is empty for methods that do not lack many."""
    texts = [Message()] * len(cases.n_any)
    rows = np.flatnonzero(cases.has_many_missing)
    if not rows.size:
        return texts
    for row, label in zip(rows, group_labels(cases.keys, rows), strict=True):
        numbers = f"{cases.n_missing_cases[row]} of {cases.n_any[row]} ({cases.n_shared[row]} shared)"
        texts[row] = Message(label, f" lacks {numbers}")
    return texts


def advice_to_compare_in_pairs(
    frame: pd.DataFrame, function: str = "difference", data: str = "scores"
) -> Message:
    """Advise the call that compares methods with the human, or another method, on the cases of both."""
    reference = "human"
    if "human" not in frame["method"].unique():
        reference = frame["method"].astype(TEXT).value_counts().index[0]
    call = Call(function, (data,), {"reference": reference})
    return Message(call, " compares two on the cases that both have")


def advice_to_keep_shared_cases(
    frame: pd.DataFrame, values: Sequence[str] = ("score",), data: str = "scores"
) -> Message:
    """Advise the expression that keeps the rows of cases of which all methods have values.

    `values` are columns, or metrics, whose values are scores.
    """
    columns = [column for column in KEY_COLUMNS_OF_PAIRS if column in frame.columns]
    value_columns: list[str] = []
    for value in values:
        column = value if value in frame.columns else "score"
        if column not in value_columns:
            value_columns.append(column)
    complete_rows = f"{data}.dropna(subset={value_columns})"
    n_methods = f"given.groupby({columns})['method'].transform('nunique')"
    return Message(
        Advice(
            python=f"with given = {complete_rows}, given[{n_methods} == given['method'].nunique()] keeps the "
            "cases that all have",
            words="keep only the cases that all have",
        )
    )


def advice_to_bound_missing_scores(reference: str) -> Message:
    """Advise the call that computes bounds of a comparison for all cases, those left out among them."""
    compared = f"difference(scores, reference={reference!r})"
    call = Call("missing_bounds", (compared, "scores=scores"))
    return Message(call, " bounds what the others could change")


def advice_to_count_left_out_cases(reference: str) -> Message:
    """Advise the call that counts the cases left out, by reason."""
    options = {} if reference == ALL_PAIRS else {"reference": reference}
    return Message(Call("case_flow", ("scores",), options), " says how many are left out and why")


def warn_and_add_caution_of_incomplete_pairs(
    estimates: pd.DataFrame,
    one_sided: pd.DataFrame,
    scores: pd.DataFrame,
    remedy: Message,
    pairs: str = "complete",
) -> pd.DataFrame:
    """Warn, and add a caution to comparisons, where one method lacks many cases that the other has.

    Parameters
    ----------
    estimates : DataFrame
        Comparisons of two methods, with their grouping columns and `n_pairs`, or `n` where these are pairs.
    one_sided : DataFrame
        Pairs with only one of their two scores, as `one_sided_pairs_with_missing_side` gives them.
    scores : DataFrame
        The scores compared.
    remedy : Message
        Call that describes the pairs that are left out, for the warning.
    pairs : {"complete", "available"}
        "complete" leaves such pairs out, "available" averages each method over its own cases.
    """
    if one_sided.empty:
        return estimates
    columns = [column for column in one_sided.columns if column != MISSING_SIDE]
    keys = estimates[columns]
    number_column = "n_pairs" if "n_pairs" in estimates.columns else "n"
    n_complete = estimates[number_column].to_numpy()
    lacks_reference = one_sided[MISSING_SIDE].eq("reference")
    n_without_method = count_rows_per_estimate(keys, one_sided.loc[~lacks_reference, columns], scores)
    n_without_reference = count_rows_per_estimate(keys, one_sided.loc[lacks_reference, columns], scores)
    n_any = n_complete + n_without_method + n_without_reference
    is_marked = has_many_missing(n_without_method, n_any) | has_many_missing(n_without_reference, n_any)
    if not is_marked.any():
        return estimates
    n_one_sided = n_any - n_complete
    texts = {}
    rows = np.flatnonzero(is_marked)
    for row, label in zip(rows, group_labels(keys, rows), strict=True):
        text = Message(label, f": {n_one_sided[row]} of {n_any[row]}")
        # rows of several terms have the same pairs
        texts[str(text)] = text
    groups = joined_group_labels(list(texts.values()))
    if pairs == "complete":
        warn(
            "pairs with one of their two scores are left out (",
            groups,
            "), so the comparison is of the cases that both methods have: ",
            remedy,
        )
        return add_caution(estimates, INCOMPLETE_PAIRS, is_marked)
    warn(
        Setting("pairs", "available"),
        " compares means over different cases, as pairs with one of their two scores are ",
        groups,
        hint=Message(Setting("pairs", "complete"), " compares the methods on the cases that both have"),
    )
    return add_caution(estimates, DIFFERENT_CASES, is_marked)

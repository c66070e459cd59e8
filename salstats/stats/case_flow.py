"""Flow of cases: numbers in the file, and at each stage what is excluded and why."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_by
from salstats.coded_text import TEXT
from salstats.frames import (
    KEY_COLUMNS,
    ColumnCodes,
    check_names_of_groups,
    coded_scores,
    dataset_and_case_columns,
)
from salstats.stats.engine.comparisons import pairs_and_unpaired_rows
from salstats.stats.engine.grouping import index_groups
from salstats.stats.engine.resampling_units import Unit, resolve_unit
from salstats.stats.engine.score_reasons import reasons_of_undefined_scores

#: Stages in their order.
FILE = "file"
ROWS = "rows"
DEFINED = "defined"
PAIRS = "pairs"
#: Reason of a score that has no row.
NO_ROW = "no row"
#: Prefix of a reason that concerns the reference's score instead of the method's.
OF_REFERENCE = "reference: "


def case_flow(
    scores: pd.DataFrame,
    *,
    reference: str | None = None,
    unit: Unit = None,
    by: str | Sequence[str] | None = None,
) -> pd.DataFrame:
    """Count the cases, units and scores at each stage, and those that are lost for each reason.

    The stages are the file, the scores of each method and metric, the defined ones and, with a reference, the
    complete pairs. They are what a flow diagram (STARD, CONSORT) shows.

    Parameters
    ----------
    scores : DataFrame
        A scores frame. A column `reason` gives the reason of an undefined score; without a reason, `label` 0
        means "finding absent" and other scores are "undefined".
    reference : str, optional
        The method that the others are compared with.
    unit : str or list of str, optional
        Columns that name the units that are counted; by default patients or else cases, see `summarize`.
    by : str or sequence of str, optional
        Grouping columns of the branches, to which `method` is added; by default `metric`.

    Returns
    -------
    DataFrame
        The file, then the stages of each branch in their order; branches are sorted by the grouping columns,
        and rows that are excluded at a stage come before those that are left.

        step, stage
            1 "file"; 2 "rows", the scores of the branch, defined or not; 3 "defined"; 4 "pairs", the scores
            with a defined score of the reference (only with a reference, and not for the reference itself).
        metric, method, ..., reference
            The branch, missing for the file, whose counts are over all branches; the name of the reference.
        reason
            Why rows are excluded: "no row" (the method has no row, but another method has, or with
            `reference` the reference), "finding absent", "undefined", or the text of the column `reason`;
            with the prefix "reference: " if the reference's score is missing.
        excluded
            True for what is lost on the way to this stage, False for what is left.
        unit, n_cases, n_units, n_tasks, n_rows
            The name of the units; the numbers of cases, units, tasks (unless they are a grouping column) and
            scores, or pairs, at this stage. In excluded rows, the numbers of those whose last score is lost.

    Raises
    ------
    ColumnError, SalstatsError
        The frame is not a scores frame; a grouping column is missing or has empty cells; the reference is not
        among the methods, or is the only one.

    Notes
    -----
    Cases, units and tasks add up: those that are excluded at a step and those that are left are those that
    were left at the step before. Reasons of one step are applied in order, the most frequent one in the file
    first, and a case counts under the reason that excludes its last score. Scores add up, too, from step 2
    on; at step 2 the scores of all branches are those of the file, and "no row" counts scores that the file
    does not have.

    At stage "defined" `n_rows` is the `n` of `summarize`, the scores excluded there are its `n_missing`, and
    `n_units` is its `n_units`. At stage "pairs" `n_rows` is the `n_pairs` of `difference` and
    `percent_decrease`, and all scores excluded in a branch are their `n_missing`. A score that is compared
    with those of several readers counts once here, and with each reader in `n_pairs`.

    Examples
    --------
    >>> import salstats as ss
    >>> flow = ss.case_flow(ss.datasets.load_simulated(), reference="human")
    >>> columns = ["stage", "reason", "n_cases", "n_units", "n_rows"]
    >>> flow.query("metric == 'iou' and method == 'gradcam'")[columns]
          stage                reason  n_cases  n_units  n_rows
    17     rows                   NaN      194      140     970
    18  defined        finding absent        1        0     277
    19  defined             undefined        0        0       8
    20  defined                   NaN      193      140     685
    21    pairs  reference: undefined        0        0      15
    22    pairs                   NaN      193      140     670
    """
    codes = coded_scores(scores)
    columns = check_by(scores, by, ("metric", "method"))
    if "method" not in columns:
        columns.append("method")
    units = resolve_unit(codes, unit)
    counted_codes = {"n_cases": codes.combined(dataset_and_case_columns(scores)), "n_units": units.codes}
    if "task" in scores.columns and "task" not in columns:
        counted_codes["n_tasks"] = codes.column("task").codes
    expected = _method_and_reference_rows_of_expected_scores(codes, reference)
    branch_keys = scores[columns].iloc[expected["source"]].assign(method=expected["method"].to_numpy())
    branch_codes, keys = index_groups(ColumnCodes(branch_keys.reset_index(drop=True)), columns)
    reason_of_row = reasons_of_undefined_scores(scores)
    counts_of_whole_file = _distinct_code_counts_and_n_rows(counted_codes, np.arange(len(scores)))
    rows: list[dict[str, object]] = [{"step": 1, "stage": FILE, "excluded": False, **counts_of_whole_file}]
    for code, key in enumerate(keys.to_dict("records")):
        branch = expected[branch_codes == code]
        if not (branch["method_row"] >= 0).any():
            continue
        branch_key = {str(column): level for column, level in key.items()}
        is_compared = reference is not None and str(key["method"]) != reference
        for row in _rows_of_branch(
            branch, counted_codes, reason_of_row, counts_of_whole_file, is_compared=is_compared
        ):
            rows.append({**branch_key, **row})
    check_names_of_groups(columns, ["step", "stage", "reason", "excluded", "unit", *counted_codes, "n_rows"])
    flow = pd.DataFrame(
        rows, columns=["step", "stage", *columns, "reason", "excluded", *counted_codes, "n_rows"]
    )
    flow.insert(list(flow.columns).index("n_cases"), "unit", units.name)
    if reference is not None:
        flow.insert(list(flow.columns).index("reason"), "reference", reference)
    categorical = {}
    for column, dtype in keys.dtypes.items():
        if isinstance(dtype, pd.CategoricalDtype):
            categorical[column] = dtype
    return flow.astype({"reason": TEXT, **categorical})


def _method_and_reference_rows_of_expected_scores(codes: ColumnCodes, reference: str | None) -> pd.DataFrame:
    """Return every score that is there or should be.

    Columns: `method_row` and `reference_row`, rows of the scores (-1: none), the method's and the reference's
    for the same key; `source`, a row that names its case; `method`, whose score it is.
    """
    method_names = codes.frame["method"].to_numpy(dtype=object)
    all_rows = np.arange(len(method_names))
    source, method_row = _row_numbers_of_cases_method_lacks(codes)
    present = pd.DataFrame(
        {"method_row": all_rows, "reference_row": -1, "source": all_rows, "method": method_names}
    )
    absent = pd.DataFrame(
        {"method_row": -1, "reference_row": -1, "source": source, "method": method_names[method_row]}
    )
    expected = pd.concat([present, absent], ignore_index=True)
    if reference is None:
        return expected
    pairs = pairs_and_unpaired_rows(codes, reference)
    pair_frame = pd.DataFrame(
        {
            "method_row": pairs.method_rows,
            "reference_row": pairs.reference_rows,
            "source": pairs.rows_with_pair_keys,
            "method": method_names[pairs.method_name_rows],
        }
    )
    # A score that is compared with several readers' counts once: with a defined score if there is one.
    is_undefined = codes.frame["score"].isna().to_numpy()
    reference_is_undefined = is_undefined[pairs.reference_rows] | (pairs.reference_rows < 0)
    pair_frame = pair_frame.iloc[np.argsort(reference_is_undefined, kind="stable")]
    # A score that a method lacks is identified by the key columns that the method's other rows have.
    key_columns = [c for c in KEY_COLUMNS if c in codes.frame.columns and c != "method"]
    key_frame = codes.frame[key_columns]
    has_value = key_frame.notna().groupby(method_names).any().loc[pair_frame["method"]].to_numpy()
    absent_keys = key_frame.iloc[pair_frame["source"]].where(has_value)
    absent_keys = absent_keys.assign(
        method_row=pair_frame["method_row"].to_numpy(), method=pair_frame["method"].to_numpy()
    )
    is_absent = pair_frame["method_row"].eq(-1)
    is_repeated = np.where(is_absent, absent_keys.duplicated(), pair_frame["method_row"].duplicated())
    reference_scores = expected[expected["method"] == reference]
    return pd.concat([pair_frame[~is_repeated], reference_scores], ignore_index=True)


class _CasesWithoutRow(NamedTuple):
    """Cases, with task and metric, that a method has no row of and another has; each of shape (n_absent,)."""

    #: A row of the scores with the case, task and metric of the absent score.
    source: NDArray[np.integer]
    #: A row of the method that lacks the score.
    method_row: NDArray[np.integer]


def _row_numbers_of_cases_method_lacks(codes: ColumnCodes) -> _CasesWithoutRow:
    """Find the cases (and tasks) of each metric that a method lacks and another method has."""
    methods = codes.column("method").codes
    task_columns = [column for column in ("task", "metric") if column in codes.frame.columns]
    observations = codes.combined([*dataset_and_case_columns(codes.frame), *task_columns])
    tasks = codes.combined(task_columns)
    row_of_observation = np.unique(observations, return_index=True)[1]
    sources = []
    method_rows = []
    for method in np.unique(methods):
        rows = np.flatnonzero(methods == method)
        has_task = np.isin(tasks[row_of_observation], tasks[rows])
        has_observation = np.isin(observations[row_of_observation], observations[rows])
        absent = row_of_observation[has_task & ~has_observation]
        sources.append(absent)
        method_rows.append(np.full(len(absent), rows[0]))
    return _CasesWithoutRow(np.concatenate(sources), np.concatenate(method_rows))


class _Stage(NamedTuple):
    """A stage of the flow of a branch."""

    name: str
    #: Reason by which each score of the branch is excluded at this stage, "" if it is not.
    reason_of_score: np.ndarray
    #: Reasons in the order in which they exclude scores.
    reason_order: list[str]


def _rows_of_branch(
    branch: pd.DataFrame,
    counted_codes: dict[str, NDArray[np.integer]],
    reason_of_row: np.ndarray,
    counts_of_whole_file: dict[str, int],
    *,
    is_compared: bool,
) -> Iterator[dict[str, object]]:
    """Yield the rows of one branch: what is excluded at each stage, and what remains.

    `reason_of_row` holds the reason why each score of the file is undefined, "" where it is defined.
    """
    method_rows = branch["method_row"].to_numpy()
    reference_rows = branch["reference_row"].to_numpy()
    source = branch["source"].to_numpy()
    reason_counts = pd.Series(reason_of_row[reason_of_row != ""]).value_counts()
    reason_order = sorted(reason_counts.index, key=lambda reason: (-reason_counts[reason], reason))
    stages = [
        _Stage(ROWS, np.where(method_rows >= 0, "", NO_ROW), [NO_ROW]),
        _Stage(DEFINED, np.where(method_rows >= 0, reason_of_row[method_rows], ""), reason_order),
    ]
    if is_compared:
        reference_reason = np.where(reference_rows >= 0, reason_of_row[reference_rows], NO_ROW)
        pair_reason = np.where(reference_reason == "", "", OF_REFERENCE + reference_reason)
        pair_reason_order = [OF_REFERENCE + reason for reason in (NO_ROW, *reason_order)]
        stages.append(_Stage(PAIRS, pair_reason, pair_reason_order))
    remains = np.ones(len(source), dtype=bool)
    counts = counts_of_whole_file
    for step, stage in enumerate(stages, start=2):
        for reason in stage.reason_order:
            is_excluded = remains & (stage.reason_of_score == reason)
            remains = remains & ~is_excluded
            remaining_counts = _distinct_code_counts_and_n_rows(counted_codes, source[remains])
            excluded_counts = {name: counts[name] - remaining_counts[name] for name in counted_codes}
            excluded_counts["n_rows"] = int(is_excluded.sum())
            if any(excluded_counts.values()):
                yield {
                    "step": step,
                    "stage": stage.name,
                    "reason": reason,
                    "excluded": True,
                    **excluded_counts,
                }
            counts = remaining_counts
        yield {"step": step, "stage": stage.name, "excluded": False, **counts}


def _distinct_code_counts_and_n_rows(
    counted_codes: dict[str, NDArray[np.integer]], rows: NDArray[np.integer]
) -> dict[str, int]:
    """Count the cases, units and tasks of some rows, each distinct code once, and the rows."""
    counts = {name: len(np.unique(codes[rows])) for name, codes in counted_codes.items()}
    counts["n_rows"] = len(rows)
    return counts

"""The flow of cases: how many are in the file, which scores are lost on the way, and why."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from salstats.checks import check_by
from salstats.frames import KEY_COLUMNS, ColumnCodes, case_key, coded_scores
from salstats.stats.engine.carried import reasons
from salstats.stats.engine.comparisons import pair_rows
from salstats.stats.engine.design import index_groups
from salstats.stats.engine.units import Unit, resolve_unit

#: Stages in their order, and what a score or a pair is lost by where the scores do not say.
FILE, ROWS, DEFINED, PAIRS = "file", "rows", "defined", "pairs"
NO_ROW = "no row"
#: Stands before a reason that is the reference's, not the method's.
OF_REFERENCE = "reference: "


def case_flow(
    scores: pd.DataFrame,
    *,
    reference: str | None = None,
    unit: Unit = None,
    by: str | Sequence[str] | None = None,
) -> pd.DataFrame:
    """How many cases, units and scores there are at each stage, and what is lost by which reason.

    From the file to the scores of each method and metric, to those that are defined, and with a reference
    to the complete pairs: what a flow diagram (STARD, CONSORT) shows.

    Parameters
    ----------
    scores : DataFrame
        A scores frame. A column `reason` says of an undefined score why; where there is none, `label` 0
        gives "finding absent" and the rest is "undefined".
    reference : str, optional
        The method that the others are compared with.
    unit : str or list of str, optional
        What is counted beside cases; by default as for `summarize`.
    by : str or sequence of str, optional
        Grouping columns of the branches; by default `metric`. `method` is always one of them.

    Returns
    -------
    DataFrame
        The file, then branch by branch, sorted by the grouping columns, the stages in their order; what is
        excluded stands before what is left.

        step, stage
            1 "file"; 2 "rows", the scores of the branch, defined or not; 3 "defined"; 4 "pairs", with a
            defined score of the reference (only with a reference, and not for the reference itself).
        metric, method, ..., reference
            The branch, missing for the file, whose counts are over all branches; the reference's name.
        reason
            Why rows are excluded: "no row" (the method has none where another method, or the reference if
            there is one, has), "finding absent", "undefined", or what the column `reason` says; "reference: "
            before it where the reference's score is what lacks.
        excluded
            True for what is lost on the way to this stage, False for what is left.
        unit, n_cases, n_units, n_tasks, n_rows
            Cases, units (as `unit` names them), tasks (where they are not among the grouping columns) and
            scores, or pairs, at this stage; excluded, those whose last score is lost.

    Raises
    ------
    ColumnError, SalstatsError
        Not a scores frame; a grouping column is missing or has empty cells; as for `difference`.

    Notes
    -----
    Cases, units and tasks add up: what is excluded at a step and what is left make what was left at the
    step before. Reasons of one step are taken in order, the most frequent of the file first, and a case
    counts under the reason that takes its last score. Scores add up too from step 2 on; at step 2 those of
    all branches make the file's, and "no row" counts scores that the file does not have.

    At stage "defined" `n_rows` is `n`, what is excluded there is `n_missing`, and `n_units` is `n_units` of
    `summarize`; at stage "pairs" `n_rows` is `n_pairs` of `difference` and `percent_decrease`, and all that
    is excluded in a branch is their `n_missing`. A score that is compared with several readers' counts
    once, in `n_pairs` with each.

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
    columns += [c for c in ("method",) if c not in columns]
    units = resolve_unit(codes, unit)
    members = {"n_cases": codes.combined(case_key(scores)), "n_units": units.codes}
    if "task" in scores.columns and "task" not in columns:
        members["n_tasks"] = codes.column("task").codes
    expected = _expected(codes, reference)
    whose = scores[columns].iloc[expected["source"]].assign(method=expected["method"].to_numpy())
    group, keys = index_groups(ColumnCodes(whose.reset_index(drop=True)), columns)
    why = reasons(scores)
    file = _counts(members, np.arange(len(scores)))
    rows: list[dict[str, object]] = [{"step": 1, "stage": FILE, "excluded": False, **file}]
    for number, name in enumerate(keys.to_dict("records")):
        branch = expected[group == number]
        if (branch["own"] >= 0).any():
            paired = reference is not None and name["method"] != reference
            rows += [{**name, **row} for row in _stages(branch, members, why, file, paired)]
    flow = pd.DataFrame(rows, columns=["step", "stage", *columns, "reason", "excluded", *members, "n_rows"])
    flow.insert(flow.columns.get_loc("n_cases"), "unit", units.name)
    if reference is not None:
        flow.insert(flow.columns.get_loc("reason"), "reference", reference)
    categorical = {c: t for c, t in keys.dtypes.items() if isinstance(t, pd.CategoricalDtype)}
    return flow.astype({"reason": "str", **categorical})


def _expected(codes: ColumnCodes, reference: str | None) -> pd.DataFrame:
    """Every score that is there or should be.

    Columns: `own` and `partner`, rows of the scores (-1: none), the method's and the reference's for the
    same key; `source`, a row that tells its case; `method`, whose score it is.
    """
    names = codes.frame["method"].to_numpy(dtype=object)
    every = np.arange(len(names))
    source, like = _lacking(codes)
    present = pd.DataFrame({"own": every, "partner": -1, "source": every, "method": names})
    lacking = pd.DataFrame({"own": -1, "partner": -1, "source": source, "method": names[like]})
    expected = pd.concat([present, lacking], ignore_index=True)
    if reference is None:
        return expected
    pairs = pair_rows(codes, reference)
    rows = pd.DataFrame(
        {"own": pairs.own, "partner": pairs.partner, "source": pairs.source, "method": names[pairs.like]}
    )
    # once, however many readers it is compared with: a pair where it has one
    undefined = codes.frame["score"].isna().to_numpy()[pairs.partner] | (pairs.partner < 0)
    rows = rows.iloc[np.argsort(undefined, kind="stable")]
    # a row that a method lacks is told by what its other rows are told by
    told = codes.frame[[c for c in KEY_COLUMNS if c in codes.frame.columns and c != "method"]]
    has = told.notna().groupby(names).any().loc[rows["method"]].to_numpy()
    absent = (
        told.iloc[rows["source"]].where(has).assign(own=rows["own"].to_numpy(), of=rows["method"].to_numpy())
    )
    rows = rows[~np.where(rows["own"].eq(-1), absent.duplicated(), rows["own"].duplicated())]
    return pd.concat([rows, expected[expected["method"] == reference]], ignore_index=True)


def _lacking(codes: ColumnCodes) -> tuple[np.ndarray, np.ndarray]:
    """Rows of cases (and tasks) of each metric that a method lacks and another has, and one of the method."""
    method = codes.column("method").codes
    tasks = [c for c in ("task", "metric") if c in codes.frame.columns]
    key, group = codes.combined([*case_key(codes.frame), *tasks]), codes.combined(tasks)
    row_of_key = np.unique(key, return_index=True)[1]
    sources, like = [], []
    for number in np.unique(method):
        rows = np.flatnonzero(method == number)
        scored = np.isin(group[row_of_key], group[rows])
        sources.append(row_of_key[scored & ~np.isin(key[row_of_key], key[rows])])
        like.append(np.full(len(sources[-1]), rows[0]))
    return np.concatenate(sources), np.concatenate(like)


def _stages(
    branch: pd.DataFrame,
    members: dict[str, np.ndarray],
    reasons: np.ndarray,
    file: dict[str, int],
    paired: bool,
) -> Iterator[dict[str, object]]:
    """Yield the rows of one branch: what is excluded at each stage, and what is left."""
    own, partner, source = (branch[c].to_numpy() for c in ("own", "partner", "source"))
    counted = pd.Series(reasons[reasons != ""]).value_counts()
    order = sorted(counted.index, key=lambda reason: (-counted[reason], reason))
    lost_by = np.where(own >= 0, "", NO_ROW)
    stages = [(ROWS, lost_by, [NO_ROW]), (DEFINED, np.where(own >= 0, reasons[own], ""), order)]
    if paired:
        of_partner = np.where(partner >= 0, reasons[partner], NO_ROW)
        lost_by = np.where(of_partner == "", "", OF_REFERENCE + of_partner)
        stages.append((PAIRS, lost_by, [OF_REFERENCE + reason for reason in (NO_ROW, *order)]))
    alive, before = np.ones(len(source), dtype=bool), file
    for step, (stage, lost_by, in_order) in enumerate(stages, start=2):
        for reason in in_order:
            lost = alive & (lost_by == reason)
            alive = alive & ~lost
            left = _counts(members, source[alive])
            change = {name: before[name] - left[name] for name in members} | {"n_rows": int(lost.sum())}
            if any(change.values()):
                yield {"step": step, "stage": stage, "reason": reason, "excluded": True, **change}
            before = left
        yield {"step": step, "stage": stage, "excluded": False, **before}


def _counts(members: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, int]:
    """How many cases, units and tasks the rows have, and how many rows there are."""
    counts = {name: len(np.unique(values[rows])) for name, values in members.items()}
    return counts | {"n_rows": len(rows)}

"""Tables 2 to 4 and the rankings: means by data set and model, how metrics agree, how ranks move."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.display.estimates import read_estimates
from salstats.display.facts import interval_name, interval_note, paragraph
from salstats.display.tables import notes
from salstats.display.tables.great_table import great_table
from salstats.display.tables.marks import best_rows
from salstats.display.tables.record import Column, Table
from salstats.display.text.format import (
    MISSING,
    count_range,
    count_text,
    fixed_text,
    limits_text,
    percent_text,
)
from salstats.display.text.labels import Labels
from salstats.studies.engine import Result
from salstats.studies.saliency_bench.cell_means import (
    CELL,
    FEWEST_DRAWN,
    Means,
    correlations,
    in_order,
    labels_of,
    meant,
    ranks_over_cases,
    ranks_over_data_sets,
)
from salstats.studies.saliency_bench.dot_plot import plot_dots

#: Identifier of the tables.
TABLE_ID = "saliency-bench"
#: Between the two metrics of a pair.
_AND = "\u2013"
#: Decimals of means from scores, and of printed ones.
_DIGITS, _PRINTED_DIGITS = 3, 4
#: What the limits are and are not.
_MEANING = (
    "Rank 1 is the best, ties share the average. Limits: between which ranks a method is in 95% of the "
    "replicates; they show how the ranking moves and are no intervals for true ranks."
)


def _crossed(
    rows: pd.DataFrame,
    names: Labels,
    by: tuple[Sequence[str], Sequence[str], str],
    columns: Mapping[str, Callable[[dict[str, Any]], str]],
    said: Iterable[str],
    **marks: Any,
) -> GT:
    """A table of rows side by side: by what they are grouped, labelled, and stand in columns."""
    groups, stub, across = by
    values = names.order(across, rows[across])
    heading, further = marks.get("further", ("", None))
    labels, cells, bold = [], [], set()
    for i, (key, own) in enumerate(rows.groupby([*groups, *stub], sort=False, observed=True)):
        labels.append([names.value(c, v) for c, v in zip((*groups, *stub), key, strict=True)])
        of = {row[across]: row for row in own.to_dict("records")}
        cells.append([text(of[v]) if v in of else MISSING for v in values for text in columns.values()])
        cells[-1] += [further(own)] if further else []
        bold |= {(i, j) for j, v in enumerate(values) if marks.get("bold") and v in of and of[v]["bold"]}
    align: Any = "left" if further else "point"
    spanned = len(columns) > 1
    heads = [
        Column(head, (name,)) if spanned else Column(name, (), align)
        for name in (names.value(across, v) for v in values)
        for head in columns
    ]
    table = Table(
        tuple(names.column(c) if c != "dataset" else "Data set" for c in stub),
        [tuple(label[len(groups) :]) for label in labels],
        [*heads, *([Column(heading, (), align)] if further else [])],
        cells,
        groups=[", ".join(label[: len(groups)]) for label in labels],
        bold=bold,
        notes=[paragraph(*said, notes.dash_note(cells))],
    )
    return great_table(table, TABLE_ID)


def _estimate(digits: int) -> dict[str, Callable[[dict[str, Any]], str]]:
    """The column of an estimate alone."""
    return {"": lambda row: fixed_text(row["estimate"], digits)}


def _means_table(given: Means, rows: pd.DataFrame, by: tuple[Sequence[str], Sequence[str], str]) -> GT:
    """A table of means, and what they are."""
    names, bold = given.names, "bold" in rows
    said = (
        "Bold: the best of its row; methods whose means are equal are both." if bold else "",
        meant(names.order("metric", rows["metric"]), names),
        "" if given.printed else _counts(rows),
        notes.how_note(read_estimates(rows, needed=()), names),
        notes.metric_note(rows),
    )
    columns = _estimate(_PRINTED_DIGITS if given.printed else _DIGITS)
    return _crossed(rows, names, by, columns, said, bold=bold)


def table_2(given: Means) -> Result | None:
    """Table 2: a row per data set and metric, a column per method, a group per model."""
    if given.several.empty:
        return None
    ordered = in_order(given.several, ["model", "dataset", "metric", "method"], given.names)
    ordered = ordered.reset_index(drop=True)
    best = best_rows(read_estimates(ordered), CELL, ["method"], []).rows
    marked = ordered.assign(bold=ordered.index.isin(list(best)))
    note = "intervals stand in the frame and figure"
    if given.printed:
        note = "the printed Table 2, nothing recomputed"
    elif given.options.as_published:
        note = "means alone, as published"
    return Result(
        ordered,
        _means_table(given, marked, (["model"], ["dataset", "metric"], "method")),
        _figure(ordered, given.names),
        note=note,
    )


def table_4(given: Means) -> Result | None:
    """Table 4: models with one explanation of their own, a row per data set."""
    if given.single.empty:
        return None
    ordered = in_order(given.single, ["model", "dataset", "metric"], given.names).reset_index(drop=True)
    return Result(
        ordered,
        _means_table(given, ordered, (["model", "method"], ["dataset"], "metric")),
        note="the printed Table 4, nothing recomputed" if given.printed else "",
    )


def _counts(means: pd.DataFrame) -> str:
    """How many scores a mean is of."""
    n = count_range(means["n"])
    return f"Each mean is of {n} scores of one data set, model, method and metric." if n != MISSING else ""


def _figure(means: pd.DataFrame, names: Labels) -> Any:
    """The means, a row of panels per data set."""
    low, high = float(means["estimate"].min()), float(means["estimate"].max())
    limited = _has_limits(means)
    if limited:
        low, high = min(low, float(means["conf_low"].min())), max(high, float(means["conf_high"].max()))
    inside = low >= 0 and high <= 1
    limits = (0.0, 1.0) if inside else (low, high)
    note = interval_note(read_estimates(means)) if limited else ""
    return plot_dots(
        means,
        names=names,
        across="metric",
        down="dataset",
        title=f"Mean ({interval_name(read_estimates(means))})" if limited else "Mean",
        limits=limits,
        breaks=(0, 0.5, 1) if inside else (low, (low + high) / 2, high),
        note=note,
    )


def table_3(given: Means) -> Result | None:
    """Table 3: correlations between metrics over data sets, a group of rows per pair."""
    means = given.several if given.printed else given.means
    metrics = given.names.order("metric", given.means["metric"])
    found = correlations(means, metrics)
    if found.empty:
        return None
    if given.options.as_published:
        found = found[["model", "method", "term", "estimate", "n", "x", "y"]]
    found = found.assign(pair=found["x"] + " " + found["y"])
    pairs = {f"{x} {y}": _pair_label(x, y, given.names) for x, y in combinations(metrics, 2)}
    names = labels_of(given.means, {**given.labels, "pair": pairs})
    rows = in_order(found, ["pair", "method", "model"], names).reset_index(drop=True)

    limited = _has_limits(rows)
    columns: dict[str, Callable[[dict[str, Any]], str]] = {"r": lambda r: fixed_text(r["estimate"], 4)}
    estimates, note = read_estimates(rows), ""
    axis_title = "Pearson's r"
    if limited:
        columns[interval_name(estimates)] = lambda r: limits_text(r["conf_low"], r["conf_high"], 2)
        note = interval_note(estimates)
        axis_title = f"Pearson's r over data sets ({interval_name(estimates)})"
    columns["n"] = lambda r: count_text(r["n"])
    how_few = _how_few(rows, as_published=given.options.as_published)
    sentences = (
        "r: Pearson's correlation of two metrics' means over data sets; n: data sets.",
        how_few,
        note,
        meant(metrics, names),
    )
    figure = plot_dots(
        rows,
        names=names,
        across="pair",
        down=None,
        title=axis_title,
        limits=(-1, 1),
        breaks=(-1, -0.5, 0, 0.5, 1),
        guide=0,
        note=paragraph(how_few, note),
    )
    advice = "too few for intervals"
    if limited:
        advice = "see the intervals before reading a correlation"
    elif given.options.as_published:
        advice = "as published, without intervals"
    return Result(
        rows,
        _crossed(rows, names, (["pair"], ["method"], "model"), columns, sentences),
        figure,
        note=f"n is {count_range(rows['n'])} data sets: {advice}",
    )


def _pair_label(x: str, y: str, names: Labels) -> str:
    """Two metrics with a dash between."""
    return f"{names.value('metric', x)}{_AND}{names.value('metric', y)}"


def _has_limits(frame: pd.DataFrame) -> bool:
    """Whether any row has limits."""
    return "conf_low" in frame.columns and bool(frame["conf_low"].notna().any())


def _how_few(rows: pd.DataFrame, *, as_published: bool) -> str:
    """Of how many data sets the correlations are, and how wide their intervals are for that."""
    n = count_range(rows["n"])
    if as_published:
        return f"n = {n} data sets."
    limited = rows[rows["conf_low"].notna()]
    if limited.empty:
        return f"n = {n} data sets: too few for an interval (from 4 on), and for any conclusion."
    width = (limited["conf_high"] - limited["conf_low"]).median()
    holding = int(((limited["conf_low"] < 0) & (limited["conf_high"] > 0)).sum())
    return (
        f"n = {n} data sets: the median interval is {fixed_text(width, 2)} wide, and {holding} of "
        f"{len(limited)} hold 0."
    )


def ranks_of_cases(given: Means) -> Result | None:
    """The rank of each method when cases are drawn again."""
    if given.several.empty or given.scores is None:
        return None
    ranks = ranks_over_cases(given.scores, given.options)
    return _ranks(ranks, given.names, "Cases (or patients)")


def ranks_of_data_sets(given: Means) -> Result | None:
    """The rank of each method when whole data sets are drawn again."""
    if given.several.empty or given.several["dataset"].nunique() < FEWEST_DRAWN:
        return None
    ranks = ranks_over_data_sets(given.several, given.options)
    return _ranks(ranks, labels_of(given.several, given.labels), "Data sets")


def _ranks(ranks: pd.DataFrame, names: Labels, drawn: str) -> Result:
    """Ranks as a table and a figure."""
    by = [c for c in ("metric", "dataset", "model") if c in ranks.columns]
    rows = in_order(ranks, [*by, "method"], names).reset_index(drop=True)
    first = rows.groupby(by, observed=True)["share_first"].transform("max")
    n_replicates = f"{int(rows['n_replicates'].iloc[0]):,}"
    said = (
        f"Rank (limits; share of the replicates in which no method is better). {drawn} drawn again "
        f"{n_replicates} times, the same for all methods.",
        _MEANING,
        "Bold: the method that is first most often.",
        "\u03c4: Kendall's correlation of the drawn rankings with that of all, mean (95% of the replicates).",
        _units(rows),
        meant(names.order("metric", rows["metric"]), names),
    )
    table = _crossed(
        rows.assign(bold=rows["share_first"] == first),
        names,
        (["metric"], by[1:], "method"),
        {"": _rank_text},
        said,
        bold=True,
        further=("\u03c4", _tau_text),
    )
    most = int(rows["n_methods"].max())
    return Result(
        rows,
        table,
        plot_dots(
            rows,
            names=names,
            across="metric",
            down="dataset" if "dataset" in by else None,
            title="Rank (range of 95% of the replicates)",
            limits=(1, most),
            breaks=list(range(1, most + 1)) if most <= 10 else [1, most // 2, most],
            note=paragraph(f"{drawn} drawn again {n_replicates} times.", _MEANING, _units(rows)),
        ),
        note="after challengeR, doi:10.1038/s41598-021-82017-6; of cases that all methods have a score of",
    )


def _units(rows: pd.DataFrame) -> str:
    """How many units a ranking rests on."""
    unit = str(rows["unit"].iloc[0]).replace("dataset", "data set")
    return f"Each ranking rests on {count_range(rows['n_units'])} {unit}s."


def _rank_text(row: dict[str, Any]) -> str:
    """A rank with its limits and the share of first places."""
    limits = limits_text(row["conf_low"], row["conf_high"], 1).replace(".0", "")
    rank = fixed_text(row["estimate"], 1).replace(".0", "")
    return f"{rank} ({limits}; {percent_text(100 * row['share_first'], 0)})"


def _tau_text(own: pd.DataFrame) -> str:
    """The agreement of the drawn rankings with that of all."""
    values: Sequence[float] = own[["tau", "tau_low", "tau_high"]].iloc[0].tolist()
    if values[0] != values[0]:
        return MISSING
    return f"{fixed_text(values[0], 2)} ({limits_text(values[1], values[2], 2)})"

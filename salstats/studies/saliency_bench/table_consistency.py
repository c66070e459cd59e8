"""Consistency of the printed Tables 2 and 3, and the printed numbers of scores named as in the study.

`analyses/saliency_bench_digits.py` searches every digit of every value for changes that would make the
correlations follow. Its result is `data/saliency_bench_digits.csv`, which is checked here. It does not say
which of the tables is wrong, or why.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from salstats.datasets import data_folder, load_published
from salstats.display.facts import paragraph
from salstats.display.tables.record import TableColumn
from salstats.display.text.format import counted, fixed_text
from salstats.display.text.labels import Labels
from salstats.errors import ColumnError
from salstats.studies.declarations import ItemResult
from salstats.studies.printed_names import printed_name_by_uniquely_matched_name
from salstats.studies.result_tables import CellSource, table_of
from salstats.studies.saliency_bench.benchmark_tables import TABLE_ID
from salstats.studies.saliency_bench.cell_means import (
    CELL_COLUMNS,
    METRIC_BY_PRINTED_NAME,
    Benchmark,
    labels_with_metric_headings,
    printed_means,
    sorted_by_labels,
)

#: The only conclusion that the comparison allows, as a sentence of the notes.
INCONSISTENT_NOTE = "The two printed tables are inconsistent there."
_DECIMAL_PLACES = {1: "first", 2: "second", 3: "third", 4: "fourth"}
_MODEL_AND_METHOD = ["model", "method"]
#: Decimals of the printed correlations.
_DIGITS = 4
#: The result of the search, see data/README.md.
CHANGES_FILE = "saliency_bench_digits.csv"


class PrintedTables(NamedTuple):
    """The printed Tables 2 and 3, with the metrics' names of this package."""

    values: pd.DataFrame
    correlations: pd.DataFrame


def printed_tables_2_and_3() -> PrintedTables:
    """Return the printed values and correlations."""
    values = load_published("saliency_bench_table2")
    correlations = load_published("saliency_bench_table3")
    return PrintedTables(
        values=values.assign(metric=values["metric"].map(METRIC_BY_PRINTED_NAME)),
        correlations=correlations.assign(
            metric_1=correlations["metric_1"].map(METRIC_BY_PRINTED_NAME),
            metric_2=correlations["metric_2"].map(METRIC_BY_PRINTED_NAME),
        ),
    )


def printed_means_of_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the printed means of the cells (data set, model, method, metric) that the study has as well.

    Columns: those of `CELL_COLUMNS`, with the names of the scores, and `estimate`. Cells are matched by name,
    since the number of images behind a printed mean was not printed. PG is `hit_any`: the study counts any
    maximum.
    """
    printed = printed_means()
    named = _add_printed_names(cells[list(CELL_COLUMNS)].drop_duplicates(), printed)
    printed = printed[[*CELL_COLUMNS, "estimate"]].rename(
        columns={column: f"printed_{column}" for column in CELL_COLUMNS}
    )
    matched = named.merge(printed, on=[f"printed_{column}" for column in CELL_COLUMNS])
    return matched[[*CELL_COLUMNS, "estimate"]]


def printed_correlations_where_all_data_sets_present(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the printed correlations of models and methods with all data sets of the study and no other.

    Columns: `model, method` with the names of the scores, the metrics `x, y`, and `estimate`.
    """
    values, correlations = printed_tables_2_and_3()
    named = _add_printed_names(cells[list(CELL_COLUMNS)].drop_duplicates(), values)
    study_data_sets = set(values["dataset"])
    rows = []
    for (model, method), group in named.groupby(["model", "method"], sort=False):
        has_study_data_sets = set(group["printed_dataset"]) == study_data_sets
        if not has_study_data_sets or group["dataset"].nunique() != len(study_data_sets):
            continue
        first = group.iloc[0]
        is_of_group = correlations["model"] == first["printed_model"]
        is_of_group &= correlations["method"] == first["printed_method"]
        metrics = set(group["metric"])
        for row in correlations[is_of_group].itertuples():
            if {row.metric_1, row.metric_2} <= metrics:
                rows.append((model, method, row.metric_1, row.metric_2, row.correlation))
    return pd.DataFrame(rows, columns=["model", "method", "x", "y", "estimate"])


def _add_printed_names(cells: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Add the printed name of each data set, model, method and metric; "" where it has none."""
    named = cells.copy()
    for column in ("dataset", "model", "method"):
        names = printed_name_by_uniquely_matched_name(
            cells[column].unique(), printed[column].unique(), column
        )
        named[f"printed_{column}"] = [names.get(str(name), "") for name in cells[column]]
    # The printed tables are loaded with the package's names of the metrics.
    named["printed_metric"] = cells["metric"]
    return named


def compare_correlations(values: pd.DataFrame, correlations: pd.DataFrame) -> pd.DataFrame:
    """Compare every printed correlation with that of the printed values.

    Columns: `model, method, metric_1, metric_2`; `n` data sets; `printed` and `recomputed`; `difference` of
    the rounded correlations; `agrees`, if it is 0; `within_one`, if it is at most one unit of the last
    decimal.
    """
    keys = [*_MODEL_AND_METHOD, "dataset", "metric"]
    if values.duplicated(keys).any():
        first_repeated = values[values.duplicated(keys)].iloc[0]
        raise ColumnError(
            f"values: {first_repeated[keys].to_dict()} stands twice",
            rows=np.flatnonzero(values.duplicated(keys)).tolist(),
        )
    wide = values.pivot(index=[*_MODEL_AND_METHOD, "dataset"], columns="metric", values="value")
    rows = []
    for row in correlations.to_dict("records"):
        model = row["model"]
        method = row["method"]
        printed = row["correlation"]
        try:
            pairs = wide.loc[(model, method), [row["metric_1"], row["metric_2"]]].dropna()
        except KeyError as error:
            raise ColumnError(
                f"no values of {model}, {method}: {error}", column="method", value=method
            ) from None
        recomputed = float(np.corrcoef(pairs.to_numpy(float).T)[0, 1])
        # Whole units of the last decimal compare exactly, unlike rounded decimals.
        n_units = round(recomputed * 10**_DIGITS) - round(printed * 10**_DIGITS)
        rows.append(
            {
                "n": len(pairs),
                "printed": printed,
                "recomputed": recomputed,
                "difference": n_units / 10**_DIGITS,
                "agrees": n_units == 0,
                "within_one": abs(n_units) <= 1,
            }
        )
    columns = ["n", "printed", "recomputed", "difference", "agrees", "within_one"]
    checked = pd.DataFrame(rows, columns=columns, index=correlations.index)
    keys_of_rows = correlations[[*_MODEL_AND_METHOD, "metric_1", "metric_2"]]
    return pd.concat([keys_of_rows, checked], axis=1).reset_index(drop=True)


def values_after_changes(values: pd.DataFrame, changes: pd.DataFrame) -> pd.DataFrame:
    """Replace the printed values that `changes` names (model, method, dataset, metric, new_value)."""
    keys = [*_MODEL_AND_METHOD, "dataset", "metric"]
    merged = values.merge(changes[[*keys, "new_value"]], on=keys, how="left", validate="1:1")
    return values.assign(value=merged["new_value"].fillna(merged["value"]).to_numpy())


def printed_correlations_compared_with_printed_values(benchmark: Benchmark) -> ItemResult:
    """Compare every printed correlation with the one that the printed values give."""
    values, correlations = printed_tables_2_and_3()
    names = benchmark.names
    rows = compare_correlations(values, correlations)
    rows["pair"] = [_pair_text(row, names) for row in rows.to_dict("records")]
    pairs = list(dict.fromkeys(rows["pair"]))
    order = labels_with_metric_headings(values, {**benchmark.labels, "pair": pairs})
    rows = sorted_by_labels(rows, ["pair", "model", "method"], order).reset_index(drop=True)
    n_agreeing = int(rows["agrees"].sum())
    agreements = rows.groupby("pair", sort=False)["agrees"].agg(["sum", "size"])
    pair_texts = []
    for pair, counts in agreements.iterrows():
        pair_texts.append(f"{pair}: {counts['sum']} of {counts['size']}")
    pair_counts = "; ".join(pair_texts)
    notes = [
        f"From Table 2: Pearson's r of the printed values over {int(rows['n'].iloc[0])} data sets, "
        f"rounded to four decimals. Agree: {n_agreeing} of {len(rows)} ({pair_counts})."
    ]
    if n_agreeing < len(rows):
        notes.append(INCONSISTENT_NOTE)
    table = table_of(
        rows,
        TABLE_ID,
        _model_and_method_stub(names),
        {
            "Printed": ("printed", 4),
            "From Table 2": ("recomputed", 4),
            "Difference": _correlation_difference_text_unless_agreeing,
            TableColumn("Agrees", align="left"): _agreement_text,
        },
        groups="pair",
        notes=[paragraph(*notes)],
    )
    return ItemResult(
        rows.drop(columns="pair"),
        table,
        note=f"{n_agreeing} of {len(rows)} printed correlations follow from the printed values",
    )


def _correlation_difference_text_unless_agreeing(row: Any) -> str:
    """Write the difference of a printed correlation and the recomputed one; empty where they agree."""
    if row.agrees:
        return ""
    return fixed_text(row.difference, 4)


def _agreement_text(row: Any) -> str:
    """Write whether a printed correlation is the recomputed one."""
    if row.agrees:
        return "yes"
    if row.within_one:
        return "last digit"
    return "no"


def digit_changes_that_reconcile_tables(benchmark: Benchmark) -> ItemResult:
    """Show the changes of a single digit that reconcile the tables: the result of the search."""
    values, correlations = printed_tables_2_and_3()
    changes = pd.read_csv(data_folder() / CHANGES_FILE)
    names = benchmark.names
    printed_check = compare_correlations(values, correlations)
    corrected_check = compare_correlations(values_after_changes(values, changes), correlations)
    agreements = corrected_check.groupby(_MODEL_AND_METHOD, as_index=False).agg(
        n_printed=("agrees", "size"), n_exact=("agrees", "sum")
    )
    rows = changes.merge(agreements, on=_MODEL_AND_METHOD, validate="1:1")
    rows = sorted_by_labels(rows, _MODEL_AND_METHOD, names).reset_index(drop=True)
    table = table_of(
        rows,
        TABLE_ID,
        _model_and_method_stub(names),
        {
            TableColumn("Data set", align="left"): lambda r: names.value("dataset", r.dataset),
            TableColumn("Metric", align="left"): lambda r: names.value("metric", r.metric),
            TableColumn("Decimal", align="right"): lambda r: _DECIMAL_PLACES[r.place],
            "Printed": ("value", 4),
            "Instead": ("new_value", 4),
            TableColumn("Correlations that then agree", align="right"): _n_agreeing_text,
        },
        notes=[paragraph(*_digit_change_search_sentences(printed_check, corrected_check, rows, names))],
    )
    return ItemResult(
        rows,
        table,
        note="every other digit at every decimal of every printed value was tried, one at a time",
    )


def _n_agreeing_text(row: Any) -> str:
    """Write how many correlations agree after a change."""
    text = f"{row.n_exact} of {row.n_printed}"
    if row.n_exact < row.n_printed:
        text += f" ({row.n_printed - row.n_exact} to the last digit)"
    return text


def _digit_change_search_sentences(
    printed_check: pd.DataFrame, corrected_check: pd.DataFrame, changes: pd.DataFrame, names: Labels
) -> list[str]:
    """Write the result of the search in sentences."""
    groups = printed_check.groupby(_MODEL_AND_METHOD)
    n_inconsistent = int((~groups["within_one"].all()).sum())
    sentences = [
        f"{n_inconsistent} of {groups.ngroups} models and methods have correlations that do not follow. "
        "For each, every change of one decimal digit of one value was tried; it has to make all its "
        f"correlations agree, to one unit of the last decimal. Such a change exists for {len(changes)} of "
        "them, and for each only one."
    ]
    digits = changes[["metric", "dataset", "place"]].drop_duplicates()
    if len(digits) == 1:
        digit = digits.iloc[0]
        n_exact = int(corrected_check["agrees"].sum())
        n_inexact = len(corrected_check) - n_exact
        sentence = (
            f"All change the same place: {names.value('metric', digit['metric'])} of "
            f"{names.value('dataset', digit['dataset'])}, the {_DECIMAL_PLACES.get(digit['place'])} decimal "
            f"({counted(len(changes), 'value')}). {n_exact} of {len(corrected_check)} correlations then are "
            "the printed ones"
        )
        if n_inexact:
            sentence += f", {n_inexact} one unit of the last decimal off"
        sentences.append(f"{sentence}.")
    sentences.append(INCONSISTENT_NOTE)
    return sentences


def _model_and_method_stub(names: Labels) -> dict[str, CellSource]:
    """Return the row labels of a model and a method."""
    return {
        "Model": lambda r: names.value("model", r.model),
        "Method": lambda r: names.value("method", r.method),
    }


def _pair_text(row: Mapping[Any, Any], names: Labels) -> str:
    """Write two metrics with a dash between."""
    return f"{names.value('metric', row['metric_1'])}\u2013{names.value('metric', row['metric_2'])}"

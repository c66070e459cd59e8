"""The printed Tables 2 and 3 held against each other: which correlations follow, and what would make them.

The search, over every digit of every value, is `analyses/saliency_bench_digits.py`; what it found lies in
`data/saliency_bench_digits.csv` and is checked here. Nothing says which of the tables is wrong, or why.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from salstats.datasets import data_folder, load_published
from salstats.display.facts import paragraph
from salstats.display.tables.record import Column
from salstats.display.text.format import counted, fixed_text
from salstats.display.text.labels import Labels
from salstats.errors import ColumnError
from salstats.studies.engine import Cell, Result, table_of
from salstats.studies.printed_names import match_names
from salstats.studies.saliency_bench.cell_means import (
    CELL,
    PRINTED,
    Means,
    in_order,
    labels_of,
    printed_means,
)
from salstats.studies.saliency_bench.tables import TABLE_ID

#: All that follows from it.
INCONSISTENT = "The two printed tables are inconsistent there."
_PLACES = {1: "first", 2: "second", 3: "third", 4: "fourth"}
_BY, _DIGITS = ["model", "method"], 4
#: What the search found, see data/README.md.
CHANGES = "saliency_bench_digits.csv"


def printed_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The printed values and correlations, with the metrics' names of this package."""
    values, printed = load_published("saliency_bench_table2"), load_published("saliency_bench_table3")
    printed = printed.assign(**{c: printed[c].map(PRINTED) for c in ("metric_1", "metric_2")})
    return values.assign(metric=values["metric"].map(PRINTED)), printed


def printed_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """The printed means of those cells (data set, model, method, metric) of some scores that the study has.

    Columns: those of `CELL`, with the names of the scores, and `estimate`. Of how many images a printed mean
    is was not printed, so cells are matched by name. PG is `hit_any`: the study counts any maximum.
    """
    printed = printed_means()
    own = cells[list(CELL)].drop_duplicates()
    named = _with_printed_names(own, printed)
    printed = printed[[*CELL, "estimate"]].rename(columns={column: f"printed_{column}" for column in CELL})
    both = named.merge(printed, on=[f"printed_{column}" for column in CELL])
    return both[[*CELL, "estimate"]]


def printed_correlations(cells: pd.DataFrame) -> pd.DataFrame:
    """The printed correlations of models and methods whose data sets are the study's, all and no other.

    Columns: `model, method` with the names of the scores, the metrics `x, y`, and `estimate`.
    """
    values, printed = printed_tables()
    own = cells[list(CELL)].drop_duplicates()
    named = _with_printed_names(own, values)
    study_sets = set(values["dataset"])
    rows = []
    for (model, method), group in named.groupby(["model", "method"], sort=False):
        if set(group["printed_dataset"]) != study_sets or len(set(group["dataset"])) != len(study_sets):
            continue
        first = group.iloc[0]
        of_group = printed[
            (printed["model"] == first["printed_model"]) & (printed["method"] == first["printed_method"])
        ]
        for row in of_group.itertuples():
            if {row.metric_1, row.metric_2} <= set(group["metric"]):
                rows.append((model, method, row.metric_1, row.metric_2, row.correlation))
    return pd.DataFrame(rows, columns=["model", "method", "x", "y", "estimate"])


def _with_printed_names(cells: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Cells with the printed name of each data set, model, method and metric beside its own, or ""."""
    named = cells.copy()
    for column in ("dataset", "model", "method"):
        names = match_names(cells[column].unique(), printed[column].unique(), column)
        named[f"printed_{column}"] = [names.get(str(name), "") for name in cells[column]]
    # metrics are called as here, in the printed tables too
    named["printed_metric"] = cells["metric"]
    return named


def check_correlations(values: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Every printed correlation beside the one that the printed values give.

    `difference` is that of the rounded ones; `within_one` is one unit of the last decimal at most.
    """
    keys = [*_BY, "dataset", "metric"]
    if values.duplicated(keys).any():
        raise ColumnError(f"values: {values[values.duplicated(keys)].iloc[0][keys].to_dict()} stands twice")
    wide = values.pivot(index=[*_BY, "dataset"], columns="metric", values="value")
    rows = []
    for row in printed.itertuples():
        try:
            own = wide.loc[(row.model, row.method), [row.metric_1, row.metric_2]].dropna()
        except KeyError as error:
            raise ColumnError(f"no values of {row.model}, {row.method}: {error}") from None
        r = float(np.corrcoef(own.to_numpy(float).T)[0, 1])
        # in units of the last decimal, which are whole numbers
        off = round(r * 10**_DIGITS) - round(row.correlation * 10**_DIGITS)
        rows.append((len(own), row.correlation, r, off / 10**_DIGITS, off == 0, abs(off) <= 1))
    columns = ["n", "printed", "recomputed", "difference", "agrees", "within_one"]
    found = pd.DataFrame(rows, columns=columns, index=printed.index)
    return pd.concat([printed[[*_BY, "metric_1", "metric_2"]], found], axis=1).reset_index(drop=True)


def changed_values(values: pd.DataFrame, changes: pd.DataFrame) -> pd.DataFrame:
    """The printed values, those of `changes` (model, method, dataset, metric, new_value) replaced."""
    keys = [*_BY, "dataset", "metric"]
    both = values.merge(changes[[*keys, "new_value"]], on=keys, how="left", validate="1:1")
    return values.assign(value=both["new_value"].fillna(both["value"]).to_numpy())


def check(given: Means) -> Result:
    """Every printed correlation beside the one that the printed values give."""
    values, printed = printed_tables()
    checked, names, labels = check_correlations(values, printed), given.names, given.labels
    pair = [_pair(r, names) for r in checked.to_dict("records")]
    rows = checked.assign(pair=pair)
    order = {**labels, "pair": list(dict.fromkeys(pair))}
    rows = in_order(rows, ["pair", "model", "method"], labels_of(values, order)).reset_index(drop=True)
    n_agree, n_rows = int(rows["agrees"].sum()), len(rows)
    by_pair = rows.groupby("pair", sort=False)["agrees"].agg(["sum", "size"])
    said = "; ".join(f"{p}: {int(r['sum'])} of {int(r['size'])}" for p, r in by_pair.iterrows())
    table = table_of(
        rows,
        TABLE_ID,
        _stub(names),
        {
            "Printed": ("printed", 4),
            "From Table 2": ("recomputed", 4),
            "Difference": lambda r: "" if r.agrees else fixed_text(r.difference, 4),
            Column("Agrees", align="left"): lambda r: (
                "yes" if r.agrees else "last digit" if r.within_one else "no"
            ),
        },
        groups="pair",
        notes=[
            paragraph(
                f"From Table 2: Pearson's r of the printed values over {int(rows['n'].iloc[0])} data sets, "
                f"rounded to four decimals. Agree: {n_agree} of {n_rows} ({said}).",
                INCONSISTENT if n_agree < n_rows else "",
            )
        ],
    )
    return Result(
        rows.drop(columns="pair"),
        table,
        note=f"{n_agree} of {n_rows} printed correlations follow from the printed values",
    )


def change(given: Means) -> Result:
    """The changes of a single digit that reconcile the tables, as the search found them, checked here."""
    values, printed = printed_tables()
    changes = pd.read_csv(data_folder() / CHANGES)
    names = given.names
    before, after = (check_correlations(v, printed) for v in (values, changed_values(values, changes)))
    then = after.groupby(_BY, as_index=False).agg(n_printed=("agrees", "size"), n_exact=("agrees", "sum"))
    found = in_order(changes.merge(then, on=_BY, validate="1:1"), _BY, names).reset_index(drop=True)
    table = table_of(
        found,
        TABLE_ID,
        _stub(names),
        {
            Column("Data set", align="left"): lambda r: names.value("dataset", r.dataset),
            Column("Metric", align="left"): lambda r: names.value("metric", r.metric),
            Column("Decimal", align="right"): lambda r: _PLACES[r.place],
            "Printed": ("value", 4),
            "Instead": ("new_value", 4),
            Column("Correlations that then agree", align="right"): lambda r: (
                f"{r.n_exact} of {r.n_printed}"
                + (f" ({r.n_printed - r.n_exact} to the last digit)" if r.n_exact < r.n_printed else "")
            ),
        },
        notes=[paragraph(*_story(before, after, found, names))],
    )
    return Result(
        found,
        table,
        note="every other digit at every decimal of every printed value was tried, one at a time",
    )


def _story(before: pd.DataFrame, after: pd.DataFrame, found: pd.DataFrame, names: Labels) -> list[str]:
    """What the search found, in sentences."""
    n_off = int((~before.groupby(_BY)["within_one"].all()).sum())
    places = found[["metric", "dataset", "place"]].drop_duplicates()
    said = [
        f"{n_off} of {before.groupby(_BY).ngroups} models and methods have correlations that do not follow. "
        "For each, every change of one decimal digit of one value was tried; it has to make all its "
        f"correlations agree, to one unit of the last decimal. Such a change exists for {len(found)} of "
        "them, and for each only one."
    ]
    if len(places) == 1:
        one, n_exact = places.iloc[0], int(after["agrees"].sum())
        rest = len(after) - n_exact
        said.append(
            f"All change the same place: {names.value('metric', one['metric'])} of "
            f"{names.value('dataset', one['dataset'])}, the {_PLACES.get(one['place'])} decimal "
            f"({counted(len(found), 'value')}). {n_exact} of {len(after)} correlations then are the printed "
            "ones" + (f", {rest} one unit of the last decimal off." if rest else ".")
        )
    return [*said, INCONSISTENT]


def _stub(names: Labels) -> dict[str, Cell]:
    """The labels of rows of a model and method."""
    return {
        "Model": lambda r: names.value("model", r.model),
        "Method": lambda r: names.value("method", r.method),
    }


def _pair(row: Mapping[str, Any], names: Any) -> str:
    """A pair of metrics in print."""
    return f"{names.value('metric', row['metric_1'])}\u2013{names.value('metric', row['metric_2'])}"

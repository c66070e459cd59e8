"""The study's printed numbers beside the same made from its workbooks, unrounded."""

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import pandas as pd

from salstats import datasets
from salstats.readers.lanfredi2021 import SHEETS, read_lanfredi2021, read_lanfredi2021_classification
from salstats.studies.lanfredi2021.words import LIMITS, ROW, row_name


def published_interval(scores: pd.DataFrame, by: list[str], value: str, unit: str) -> pd.DataFrame:
    """Return mean +- 1.96 SD(all rows) / sqrt(number of units), the study's interval.

    Parameters
    ----------
    scores : DataFrame
        Without missing values: a unit with none would still be counted.
    by : list of str
        Grouping columns.
    value, unit : str
        Columns of the numbers and of what is counted.

    Returns
    -------
    DataFrame
        `by`, `estimate, conf_low, conf_high, unit, n_units`; limits are NaN where there is one row.
    """
    groups = scores.groupby(by, sort=False, dropna=False)
    means, n = groups[value].mean(), groups[unit].nunique()
    half = 1.96 * groups[value].std(ddof=1) / np.sqrt(n)
    columns = {
        "estimate": means,
        "conf_low": means - half,
        "conf_high": means + half,
        "unit": unit,
        "n_units": n,
    }
    return pd.DataFrame(columns).reset_index()


def read_scores_by_sheet(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the scores of each sheet with the subset of cases that a table speaks of."""
    scores = {sheet: read_lanfredi2021(folder, sheet=sheet).assign(subset="all") for sheet in SHEETS}
    labelled = scores["normal_abnormal"]
    scores["normal_abnormal"] = labelled.assign(subset=labelled["abnormal"].map({0: "normal", 1: "abnormal"}))
    return scores


def reproduce(folder: Path, scores: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return one row per printed row: printed values, unrounded values, and whether they are equal."""
    tables, networks = _printed_rows()
    by = ["subset", "method", "metric"]
    intervals = [published_interval(s, by, "score", "case").assign(sheet=k) for k, s in scores.items()]
    tables = tables.merge(pd.concat(intervals), on=["sheet", *by], how="left", validate="many_to_one")
    classification = read_lanfredi2021_classification(folder)
    intervals = published_interval(classification, ["model"], "auroc", "seed")
    networks = networks.merge(intervals, on="model", how="left").rename(columns={"model": "method"})
    rows = pd.concat([tables, networks], ignore_index=True)
    same = [rows[v].map(rounded) == rows[f"printed_{v}"].map(rounded) for v in LIMITS]
    rows["equal"] = np.logical_and.reduce(same)
    return rows[[*ROW, *(f"printed_{v}" for v in LIMITS), *LIMITS, "unit", "n_units", "sheet", "equal"]]


def rounded(value: float) -> Decimal:
    """Return a number with three decimals, half away from zero, as the workbook's TEXT rounds."""
    return Decimal(repr(float(value))).quantize(Decimal("0.001"), ROUND_HALF_UP)


def disagreements(tables: pd.DataFrame) -> list[str]:
    """Return a sentence for every printed row that the workbooks do not give."""
    said = []
    for _, row in tables[~tables["equal"]].iterrows():
        printed, found = ([str(rounded(row[prefix + v])) for v in LIMITS] for prefix in ("printed_", ""))
        said.append(
            f"{row_name(row)} prints {printed[0]} [{printed[1]}, {printed[2]}], "
            f"but the workbook gives {found[0]} [{found[1]}, {found[2]}]"
        )
    return said


def _printed_rows() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the printed rows of the tables, each with the sheet it was made from, and of the appendix."""
    names = {"mean": "printed_estimate", "conf_low": "printed_conf_low", "conf_high": "printed_conf_high"}
    tables = datasets.load_published("lanfredi2021_tables").rename(columns=names)
    # rows without a mixing were made from the thresholded sheet: AUCs were sampled anew on every sheet
    tables["sheet"] = tables["mixing"].fillna("thresholded").mask(tables["table"] == 2, "normal_abnormal")
    tables["table"] = tables["table"].astype("str")
    networks = datasets.load_published("lanfredi2021_classification_auc")
    networks = networks.rename(columns={**names, "auc_mean": "printed_estimate"})
    return tables, networks.assign(table="A", subset="all", metric="auroc", sheet="classification")

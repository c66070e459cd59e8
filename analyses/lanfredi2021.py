"""Tables 1 to 4 and the classification AUC of Bigolin Lanfredi et al. (2021), to the printed digit.

Reads the study's published workbooks and writes into OUT:

  tables.csv   one row per printed row: the printed values, the same unrounded, and whether they are equal
  design.csv   the same means with intervals that take a case's 25 rows (5 readings x 5 networks) as one
               cluster: how sure the study is about other images, given its readings and its networks
  table1.html  and .tex, .docx, .csv, to table4: Tables 1 to 4 in the study's own layout, limits in square
               brackets, the best saliency map of a column in bold (the interobserver baseline apart)

Exits with 1 when a printed number differs, with 2 when the workbooks cannot be read.
The workbooks: python -c "from salstats import datasets; print(datasets.fetch_lanfredi2021())"

Example: python analyses/lanfredi2021.py --data ../shared/data/lanfredi2021 -o out/lanfredi2021
"""

import argparse
import sys
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from great_tables import GT

import salstats as ss
from salstats import datasets
from salstats.checks import SalstatsError
from salstats.frames import write_frame
from salstats.outputs import check_target
from salstats.readers.lanfredi2021 import SHEETS, read_lanfredi2021, read_lanfredi2021_classification

ROW = ["table", "subset", "method", "mixing", "metric"]
LIMITS = ["estimate", "conf_low", "conf_high"]
#: Formats of a printed table.
SUFFIXES = (".html", ".tex", ".docx", ".csv")
#: Names as the study prints them, in its order.
LABELS = {
    "method": {
        "interobserver": "Interobserver (baseline)",
        "convex": "Segmentation (baseline)",
        "gradcam_woag": "Grad-CAM (without attention gates)",
        "gradcam_wag": "Grad-CAM (with attention gates)",
        "am1": "AM1",
        "am2": "AM2",
    },
    "mixing": {"thresholded": "Thresholded", "weighted": "Weighted", "uniform": "Uniform"},
    "subset": {"normal": "Normal", "abnormal": "Abnormal"},
}
#: How each table is laid out: columns that name its rows, and options.
LAYOUTS: dict[str, tuple[str, list[str], dict[str, Any]]] = {
    "1": (
        "Saliency maps against radiologists' gaze",
        ["method", "mixing", "metric"],
        {"bold": ["method", "mixing"], "exclude": ["interobserver"]},
    ),
    "2": (
        "Normal and abnormal images (Grad-CAM: uniform mixing)",
        ["metric", "subset", "method"],
        {"rows": ["metric", "subset"], "columns": "method", "bold": False},
    ),
    "3": ("Baselines, metrics that reward the centre", ["method", "metric"], {"bold": False}),
    "4": ("Baselines, shuffled metrics", ["method", "metric"], {"bold": False}),
}
INTERVAL = "95% CI: mean ± 1.96 SD over all rows / √(number of images), as the study computes it."
#: Of an interval: no agreement beyond chance.
CHANCE = {"ncc": 0.0, "sncc": 0.0, "auc": 0.5, "sauc": 0.5}


def published_interval(scores: pd.DataFrame, by: list[str], value: str, unit: str) -> pd.DataFrame:
    """Return mean +- 1.96 SD(all rows) / sqrt(number of units), the study's interval."""
    groups = scores.groupby(by, sort=False)
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


def printed_rows() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the printed rows of the tables, each with the sheet it was made from, and of the appendix."""
    names = {"mean": "printed_estimate", "conf_low": "printed_conf_low", "conf_high": "printed_conf_high"}
    tables = datasets.load_published("lanfredi2021_tables").rename(columns=names)
    # rows without a mixing were made from the thresholded sheet: AUCs were sampled anew on every sheet
    tables["sheet"] = tables["mixing"].fillna("thresholded").mask(tables["table"] == 2, "normal_abnormal")
    tables["table"] = tables["table"].astype("str")
    networks = datasets.load_published("lanfredi2021_classification_auc")
    networks = networks.rename(columns={**names, "auc_mean": "printed_estimate"})
    return tables, networks.assign(table="A", subset="all", metric="auroc", sheet="classification")


def reproduce(folder: Path, scores: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return one row per printed row: printed values, unrounded values, and whether they are equal."""
    tables, networks = printed_rows()
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


def respect_design(scores: dict[str, pd.DataFrame], tables: pd.DataFrame) -> pd.DataFrame:
    """Return the same means with intervals that take cases as clusters, beside the study's."""
    by = ["subset", "method", "metric"]
    estimates = [
        ss.summarize(frame, by=by, unit="case", interval="t").assign(sheet=sheet)
        for sheet, frame in scores.items()
    ]
    published = tables.loc[tables["table"] != "A", [*ROW, "sheet", "conf_low", "conf_high"]].rename(
        columns={"conf_low": "published_conf_low", "conf_high": "published_conf_high"}
    )
    rows = published.merge(pd.concat(estimates), on=["sheet", *by], how="left", validate="many_to_one")
    width = rows["published_conf_high"] - rows["published_conf_low"]
    rows["width_ratio"] = (rows["conf_high"] - rows["conf_low"]) / width
    chance = rows["metric"].map(CHANCE)
    rows["published_excludes_chance"] = excludes(
        rows["published_conf_low"], rows["published_conf_high"], chance
    )
    rows["excludes_chance"] = excludes(rows["conf_low"], rows["conf_high"], chance)
    first = [*ROW, *(c for c in estimates[0].columns if c not in (*by, "sheet"))]
    return rows[[*first, *(c for c in rows.columns if c not in (*first, "sheet")), "sheet"]]


def excludes(low: pd.Series, high: pd.Series, value: pd.Series) -> pd.Series:
    """Return whether an interval leaves a value out."""
    return (value < low) | (value > high)


def printed_tables(tables: pd.DataFrame) -> dict[str, GT]:
    """Return Tables 1 to 4 in the study's layout, from the unrounded values."""
    made = {}
    for number, (title, keys, options) in LAYOUTS.items():
        rows = tables[tables["table"] == number]
        frame = rows[[*keys, *LIMITS, "unit", "n_units"]].assign(conf_level=0.95)
        table = ss.table_estimates(
            frame, labels=LABELS, style="brackets", title=f"Table {number}. {title}", **options
        )
        made[f"table{number}"] = table.tab_source_note(INTERVAL)
    return made


def label(row: pd.Series) -> str:
    """Return the name of a printed row for a sentence."""
    parts = [
        f"table {row['table']}",
        *(row[c] for c in ROW[1:] if isinstance(row[c], str) and row[c] != "all"),
    ]
    return ", ".join(parts)


def what_changes(design: pd.DataFrame) -> str:
    """Return one sentence on what the other intervals change."""
    ratio = design["width_ratio"]
    turned = design[design["excludes_chance"] != design["published_excludes_chance"]]
    names = "; ".join(label(row) for _, row in turned.iterrows()) or "none"
    return (
        f"With cases as clusters {int((ratio < 1).sum())} of {len(design)} intervals are narrower than "
        f"published (width ratio {ratio.min():.3f} to {ratio.max():.3f}, median {ratio.median():.3f}); "
        f"whether chance lies inside changes in {len(turned)}: {names}."
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of the workbooks")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="folder to write into"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")
    options = parser.parse_args(argv)
    targets = options.output / "tables.csv", options.output / "design.csv"
    printed = {
        f"table{number}": [options.output / f"table{number}{suffix}" for suffix in SUFFIXES]
        for number in LAYOUTS
    }
    try:
        if options.output.exists():
            for target in (*targets, *(file for files in printed.values() for file in files)):
                check_target(target, [target.suffix], overwrite=options.overwrite)
        scores = read_scores_by_sheet(options.data)
        tables = reproduce(options.data, scores)
        design = respect_design(scores, tables)
        options.output.mkdir(parents=True, exist_ok=True)
        for target, frame in zip(targets, (tables, design), strict=True):
            write_frame(frame, target, overwrite=options.overwrite)
        for name, table in printed_tables(tables).items():
            for file in printed[name]:
                ss.save_table(table, file, overwrite=options.overwrite)
    except (SalstatsError, OSError) as error:
        print(f"lanfredi2021: {error}", file=sys.stderr)
        return 2
    for _, row in tables[~tables["equal"]].iterrows():
        printed, found = ([str(rounded(row[prefix + v])) for v in LIMITS] for prefix in ("printed_", ""))
        print(
            f"lanfredi2021: {label(row)} prints {printed[0]} [{printed[1]}, {printed[2]}], "
            f"but the workbook gives {found[0]} [{found[1]}, {found[2]}]",
            file=sys.stderr,
        )
    print(f"{int(tables['equal'].sum())} of {len(tables)} printed rows are equal, to the printed digit.")
    print(what_changes(design))
    return 0 if tables["equal"].all() else 1


if __name__ == "__main__":
    sys.exit(main())

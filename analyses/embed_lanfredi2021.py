"""Embed the per-case scores of Bigolin Lanfredi et al. (2021): its three workbooks as two small files.

Example: python analyses/embed_lanfredi2021.py --data workbooks -o data/lanfredi2021
The workbooks: python -c "from salstats import datasets; print(datasets.fetch_lanfredi2021())"
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

from salstats.errors import SalstatsError
from salstats.readers.lanfredi2021 import (
    LABELS,
    METHODS,
    METRICS,
    SHEETS,
    read_lanfredi2021,
    read_lanfredi2021_mean_auc_by_network,
)

READING = ["case", "reader", "seed", "mixing"]


def reading_per_row(folder: Path, sheet: str) -> pd.DataFrame:
    """Return one sheet with a row for each reading and network and a column for each metric and method."""
    scores = read_lanfredi2021(folder, sheet=sheet)
    labels = [label for label in LABELS if label in scores]
    readings = scores[[*READING, *labels]].drop_duplicates()
    wide = scores.pivot(index=READING, columns=["metric", "method"], values="score")
    wide = wide[[(metric, method) for metric in METRICS for method in METHODS.values()]]
    wide.columns = [f"{metric}_{method}" for metric, method in wide.columns]
    # the order of the readings is that of the workbook
    rows = readings.merge(wide.reset_index(), on=READING, validate="one_to_one")
    rows.insert(0, "sheet", sheet)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of the workbooks")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write to")
    options = parser.parse_args()
    try:
        sheets = [reading_per_row(options.data, sheet) for sheet in SHEETS]
        networks = read_lanfredi2021_mean_auc_by_network(options.data)
    except SalstatsError as error:
        print(f"embed_lanfredi2021: {error}", file=sys.stderr)
        return 2
    rows = pd.concat(sheets, ignore_index=True)
    # images of the joint workbook have no labels
    rows = rows.astype(dict.fromkeys(LABELS, "Int8"))
    text = ["sheet", *READING]
    rows = rows[[*text, *LABELS, *rows.columns.drop([*text, *LABELS])]]
    rows.to_parquet(
        options.output / "scores.parquet",
        index=False,
        compression="zstd",
        compression_level=19,
        # nearly every score occurs once, so that a dictionary of them would only add to the size
        use_dictionary=[*text, *LABELS],
    )
    networks.to_csv(options.output / "classification_auc.csv", index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())

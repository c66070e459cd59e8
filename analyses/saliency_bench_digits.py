"""Search the changes of one digit in the printed Table 2 of Saliency-Bench that give its printed Table 3.

Every other digit at every decimal of every printed value is tried, one at a time, for each model and method
whose correlations do not follow; a change has to make all of them agree, to one unit of the last decimal.
What is found is `data/saliency_bench_digits.csv`, which `salstats reproduce saliency_bench --printed` shows
and checks.

Example: python analyses/saliency_bench_digits.py -o digits.csv
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import salstats as ss
from salstats.errors import SalstatsError
from salstats.studies.saliency_bench.table_consistency import printed_tables_2_and_3

#: Decimals of the printed values and correlations.
DECIMALS = 4
#: Largest difference of a correlation that counts as agreement, in units of the last decimal.
MAX_UNITS_OFF = 1
COLUMNS = ["model", "method", "dataset", "metric", "place", "digit", "new_digit", "value", "new_value"]


class DigitChange(NamedTuple):
    """A change of one digit of one value of a table, in units of the last decimal."""

    row: int
    column: int
    #: Decimal place, 1 being the first.
    place: int
    digit: int
    new_digit: int
    new_units: int


def digit_changes(values: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Return every change of one digit of one value that makes all correlations of its group agree.

    `values` and `printed` are as for `compare_correlations`; a group that agrees already is left out.
    Columns: those of `COLUMNS`, `place` 1 being the first decimal.
    """
    changes = []
    for (model, method), correlations in printed.groupby(["model", "method"], sort=False):
        table = values[(values["model"] == model) & (values["method"] == method)]
        wide = table.pivot(index="dataset", columns="metric", values="value")
        wide = wide.loc[table["dataset"].unique(), table["metric"].unique()]
        # Whole numbers, in units of the last decimal, are compared exactly.
        units = np.rint(wide.to_numpy(float) * 10**DECIMALS)
        first_columns = wide.columns.get_indexer(correlations["metric_1"])
        second_columns = wide.columns.get_indexer(correlations["metric_2"])
        pairs = list(zip(first_columns, second_columns, strict=True))
        printed_units = np.rint(correlations["correlation"].to_numpy() * 10**DECIMALS)
        if agree(units, pairs, printed_units):
            continue
        for change in one_digit_changes(units):
            changed_units = units.copy()
            changed_units[change.row, change.column] = change.new_units
            if agree(changed_units, pairs, printed_units):
                changes.append(
                    {
                        "model": model,
                        "method": method,
                        "dataset": wide.index[change.row],
                        "metric": wide.columns[change.column],
                        "place": change.place,
                        "digit": change.digit,
                        "new_digit": change.new_digit,
                        "value": float(units[change.row, change.column]) / 10**DECIMALS,
                        "new_value": change.new_units / 10**DECIMALS,
                    }
                )
    return pd.DataFrame(changes, columns=COLUMNS)


def one_digit_changes(units: np.ndarray) -> Iterator[DigitChange]:
    """Yield every change of one decimal digit of one value of a table, given in units of the last decimal."""
    for row, column in np.ndindex(units.shape):
        value = int(units[row, column])
        sign = 1 if value >= 0 else -1
        for place in range(1, DECIMALS + 1):
            # one unit of this decimal place, in units of the last
            weight = 10 ** (DECIMALS - place)
            digit = abs(value) // weight % 10
            for new_digit in range(10):
                if new_digit != digit:
                    new_units = value + sign * (new_digit - digit) * weight
                    yield DigitChange(row, column, place, digit, new_digit, new_units)


def agree(units: np.ndarray, pairs: Sequence[tuple[int, int]], printed_units: np.ndarray) -> bool:
    """Tell whether Pearson's correlations of pairs of columns are the printed ones, to the last digit."""
    centred = units - units.mean(axis=0)
    norms = np.sqrt((centred**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.array([centred[:, i] @ centred[:, j] / (norms[i] * norms[j]) for i, j in pairs])
    units_off = np.abs(np.rint(r * 10**DECIMALS) - printed_units)
    return bool((units_off <= MAX_UNITS_OFF).all())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="CSV file to write")
    options = parser.parse_args(argv)
    try:
        tables = printed_tables_2_and_3()
        ss.write_frame(digit_changes(tables.values, tables.correlations), options.output)
    except (SalstatsError, OSError) as error:
        print(f"saliency_bench_digits: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

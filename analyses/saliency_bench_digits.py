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

import numpy as np
import pandas as pd

import salstats as ss
from salstats.errors import SalstatsError
from salstats.studies.saliency_bench.table_consistency import printed_tables

DIGITS, WITHIN = 4, 1
COLUMNS = ["model", "method", "dataset", "metric", "place", "digit", "new_digit", "value", "new_value"]


def digit_changes(values: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Every change of one digit of one value that makes all of its group's correlations agree.

    `values` and `printed` are as for `check_correlations`; a group that agrees already is left out. One row
    per change: COLUMNS, `place` 1 being the first decimal.
    """
    found = []
    for (model, method), own in printed.groupby(["model", "method"], sort=False):
        table = values[(values["model"] == model) & (values["method"] == method)]
        wide = table.pivot(index="dataset", columns="metric", values="value")
        wide = wide.loc[list(dict.fromkeys(table["dataset"])), list(dict.fromkeys(table["metric"]))]
        # in units of the last decimal, exactly
        units = np.rint(wide.to_numpy(float) * 10**DIGITS)
        pairs = [[wide.columns.get_loc(m) for m in pair] for pair in own[["metric_1", "metric_2"]].to_numpy()]
        wanted = np.rint(own["correlation"].to_numpy() * 10**DIGITS)
        if agree(units, pairs, wanted):
            continue
        for row, column, changed, place, digit, new_digit in one_digit_changed(units):
            if agree(changed, pairs, wanted):
                value, new = (float(u[row, column]) / 10**DIGITS for u in (units, changed))
                where = (wide.index[row], wide.columns[column])
                found.append((model, method, *where, place, digit, new_digit, value, new))
    return pd.DataFrame(found, columns=COLUMNS)


def one_digit_changed(units: np.ndarray) -> Iterator[tuple[int, int, np.ndarray, int, int, int]]:
    """Yield row, column, the changed table, place, old and new digit of every such change."""
    for row, column in np.ndindex(units.shape):
        value = int(units[row, column])
        for place in range(1, DIGITS + 1):
            weight = 10 ** (DIGITS - place)
            digit = abs(value) // weight % 10
            for new_digit in range(10):
                if new_digit != digit:
                    changed = units.copy()
                    changed[row, column] = value + (1 if value >= 0 else -1) * (new_digit - digit) * weight
                    yield row, column, changed, place, digit, new_digit


def agree(units: np.ndarray, pairs: Sequence[Sequence[int]], wanted: np.ndarray) -> bool:
    """Return whether the correlations of pairs of columns are the printed ones, to the last digit."""
    centred = units - units.mean(axis=0)
    norms = np.sqrt((centred**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.array([centred[:, a] @ centred[:, b] / (norms[a] * norms[b]) for a, b in pairs])
    return bool((np.abs(np.rint(r * 10**DIGITS) - wanted) <= WITHIN).all())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="CSV file to write")
    options = parser.parse_args(argv)
    try:
        ss.write_frame(digit_changes(*printed_tables()), options.output)
    except (SalstatsError, OSError) as error:
        print(f"saliency_bench_digits: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Make the embedded data set: study-like scores, simulated, with known true parameters.

Example: python analyses/make_simulated_scores.py -o data/simulated_scores.csv --overwrite
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from salstats.datasets.simulation import simulate_scores
from salstats.errors import SalstatsError
from salstats.files.frame_files import write_frame

#: Decimals that are stored: enough for every statistic, few enough to read.
DECIMALS = {"score": 4, "prob": 3, "area_ratio": 3, "elongation": 2, "irrectangularity": 3}
SEED = 2022


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="CSV file to write")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it is there")
    options = parser.parse_args(argv)
    scores = simulate_scores(rng=SEED).round(DECIMALS).astype({"n_instances": "Int64"})
    try:
        write_frame(scores, options.output, overwrite=options.overwrite)
    except SalstatsError as error:
        print(f"make_simulated_scores: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

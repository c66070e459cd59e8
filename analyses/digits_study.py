"""Build the embedded digits study anew: train the networks, make their maps, score them, write the examples.

Handwritten digits (real) on cluttered canvases; two architectures, three trainings of each; eight saliency
methods; a second annotator, who is simulated. Needs salstats[explain]; a quarter of an hour on two cores at
most. The files are described in data/README.md.

Example: python analyses/digits_study.py -o out/digits
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from salstats.errors import SalstatsError


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="folder to make; it is not there yet"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument(
        "--quick", action="store_true", help="a few canvases and hardly any training, to see that it runs"
    )
    options = parser.parse_args(argv)
    try:
        from digits.building import QUICK, build_study

        build_study(options.output, plan=QUICK if options.quick else None, jobs=options.jobs)
    except (SalstatsError, ModuleNotFoundError, OSError) as error:
        print(f"digits_study: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

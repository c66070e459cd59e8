"""Tables of Zhang et al., Saliency-Bench: methods x models x data sets, or the printed ones checked.

The same as `salstats reproduce saliency_bench`; its options: python analyses/saliency_bench.py --help
The study is declared in `salstats/studies/saliency_bench`.
"""

import sys

from salstats.cli.app import main

if __name__ == "__main__":
    main(["reproduce", "saliency_bench", *sys.argv[1:]])

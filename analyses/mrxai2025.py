"""Figures and tables of Blake et al. (2025), MRxaI: the simulations, and explanation tools compared.

The same as `salstats reproduce mrxai2025`; its options: python analyses/mrxai2025.py --help
The study is declared in `salstats/studies/mrxai2025`.
"""

import sys

from salstats.cli.app import main

if __name__ == "__main__":
    main(["reproduce", "mrxai2025", *sys.argv[1:]])

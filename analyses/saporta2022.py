"""Tables and figures of Saporta et al. (2022) from a study in the CheXlocalize format.

The same as `salstats reproduce saporta2022`; its options: python analyses/saporta2022.py --help
The study is declared in `salstats/studies/saporta2022`.
"""

import sys

from salstats.cli.app import main

if __name__ == "__main__":
    main(["reproduce", "saporta2022", *sys.argv[1:]])

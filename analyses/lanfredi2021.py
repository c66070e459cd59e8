"""Tables 1 to 4 of Bigolin Lanfredi et al. (2021): from its workbooks, or from recordings of gaze.

The same as `salstats reproduce lanfredi2021`; its options: python analyses/lanfredi2021.py --help
The study is declared in `salstats/studies/lanfredi2021`.
"""

import sys

from salstats.cli.app import main

if __name__ == "__main__":
    main(["reproduce", "lanfredi2021", *sys.argv[1:]])

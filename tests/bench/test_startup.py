"""Start-up: importing the package and asking for help, as ratios and differences within one run."""

import subprocess
import sys
import time

# what `salstats --help` may take beyond starting Python
HELP_SECONDS = 0.3


def seconds(*arguments, repeats=5):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def test_importing_salstats_is_no_slower_than_importing_pandas():
    assert seconds("-c", "import salstats") <= seconds("-c", "import pandas")


def test_help_comes_within_three_tenths_of_a_second():
    help_text = seconds("-c", "from salstats.cli.app import main; main(['--help'])")
    assert help_text - seconds("-c", "pass") < HELP_SECONDS


def test_help_does_not_import_pandas():
    code = "import sys\nfrom salstats.cli.app import run\nrun(['--help'])\nassert 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)

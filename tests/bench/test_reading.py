"""Reading tables of scores: time and memory beside what pyarrow takes for the same file.

pytest -q -m bench tests/bench/test_reading.py
"""

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
from pyarrow import parquet
from timing import fastest

import salstats as ss

pytestmark = pytest.mark.bench
N_CASES = 100_000
#: Most of what the frame takes in memory that reading it may take, at its peak. What the allocators of
#: pyarrow and of C keep of what is freed counts, too; pyarrow alone takes 1.6 and 2.4 times the frame.
TIMES_FRAME = {"many.parquet": 2.0, "many.csv": 2.2, "quoted.csv": 5.0}
N_COLUMNS = 1000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write 600,000 scores, 1,000 columns of 1,000 numbers, and 6 million scores, as CSV and Parquet."""
    folder = tmp_path_factory.mktemp("reading")
    numbers = np.random.default_rng(0).random((1000, N_COLUMNS))
    wide = pd.DataFrame(numbers, columns=[f"column_{i}" for i in range(N_COLUMNS)])
    wide.insert(0, "case", [f"image{i}" for i in range(len(wide))])
    tables = {"few": study(20), "scores": study(N_CASES), "many": study(10 * N_CASES), "wide": wide}
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        table.to_parquet(folder / f"{name}.parquet")
    # quotation marks around all text, as pyarrow and R write it
    pyarrow.csv.write_csv(pyarrow.Table.from_pandas(tables["scores"]), folder / "quoted.csv")
    texts = {name: tables["scores"]["method"] + f" {name}" for name in ("sex", "site", "scanner", "view")}
    tables["scores"].assign(**texts).to_csv(folder / "covariates.csv", index=False)
    return folder


def study(n_cases):
    """Scores of three methods and two tasks, with covariates."""
    rng = np.random.default_rng(0)
    scores = pd.DataFrame({"case": np.repeat([f"patient{i:06d}_view1" for i in range(n_cases)], 6)})
    scores["task"] = np.tile(["Edema", "Cardiomegaly"], 3 * n_cases)
    scores["method"] = np.tile(np.repeat(["gradcam", "ig", "human"], 2), n_cases)
    scores["metric"] = "iou"
    scores["score"] = rng.random(len(scores))
    scores["patient"] = scores["case"].str[:13]
    scores["area_ratio"] = rng.random(len(scores)).round(6)
    return scores


def read_with_arrow(file):
    """A file as pyarrow reads it for pandas."""
    read = pyarrow.csv.read_csv if file.suffix == ".csv" else parquet.read_table
    return read(file).to_pandas()


@pytest.mark.parametrize("name", ["scores", "quoted", "covariates"])
def test_a_csv_file_takes_at_most_six_times_as_long(files, name):
    file = files / f"{name}.csv"
    arrow, ours = fastest(
        lambda: pyarrow.csv.read_csv(file), lambda: ss.read_scores(file), enough=20, turns=7, least=3
    )
    assert ours < 6 * arrow


def test_a_parquet_file_takes_at_most_four_times_as_long(files):
    file = files / "scores.parquet"
    arrow, ours = fastest(
        lambda: read_with_arrow(file), lambda: ss.read_scores(file), enough=20, turns=15, least=10
    )
    assert ours < 4 * arrow


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_of_a_wide_table_takes_a_millisecond_at_most(files, suffix):
    file = files / f"wide.{suffix}"
    arrow, ours = fastest(
        lambda: read_with_arrow(file), lambda: ss.read_data(file), enough=100, turns=5, least=3
    )
    assert (ours - arrow) / N_COLUMNS < 1e-3


PEAK = """
import sys
from pathlib import Path
import salstats as ss

def kilobytes(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(name)))

few, many = sys.argv[1:]
ss.read_scores(few)
before = kilobytes("VmRSS")
scores = ss.read_scores(many)
# not ru_maxrss, which counts the process that started this one
peak = kilobytes("VmHWM")
print(1024 * (peak - before) / scores.memory_usage(deep=True).sum())
"""


@pytest.mark.parametrize("name", TIMES_FRAME)
def test_memory_at_the_peak_is_a_few_times_that_of_the_frame(files, name):
    few = (files / "few").with_suffix(f".{name.partition('.')[2]}")
    command = [sys.executable, "-c", PEAK, few, files / name]
    # processes of their own, so that the peak is this call's; it varies with what threads allocate when
    peaks = [
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(5)
    ]
    assert np.median(peaks) < TIMES_FRAME[name]

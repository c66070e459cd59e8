"""The tables of `docs/howto/r.md`: each call gives R's numbers, and the page prints them.

`forty_calls.json` has the numbers of R. To write it and `draws.csv` again, run `Rscript forty_calls.R
../../docs/howto/r.md` here, beside the file `scores.csv` that the Python block of the page writes.
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats import metrics

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "howto" / "r.md"
EQUAL_HEADER = "| package | in R | here | both give |"
DIFFERENT_HEADER = "| package | in R | here | R gives | here | why |"
#: Relative difference of the numbers. Optimizers stop at 1e-6 (geepack, mixed and logit models).
RTOL = 1e-5
#: Calls in which R itself is less exact, and by how much.
RTOL_OF_R = {"confint(pairs(emmeans(linear, ~ method), reverse = TRUE))$lower.CL": 1e-3}


class Call(NamedTuple):
    """A row of a table: calls in R and here, and the numbers that the page prints."""

    in_r: str
    here: str
    printed: list[str]


def calls_below(header):
    """Return the rows of the table with a header."""
    lines = PAGE.read_text().splitlines()
    calls = []
    for line in lines[lines.index(header) + 2 :]:
        if not line:
            break
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        calls.append(Call(cells[1].strip("`"), cells[2].strip("`"), cells[3:]))
    return calls


EQUAL = calls_below(EQUAL_HEADER)
DIFFERENT = calls_below(DIFFERENT_HEADER)


def printed(numbers):
    """Return the first three numbers as the page prints them."""
    return ", ".join(f"{number:.4g}" for number in numbers[:3])


@pytest.fixture(scope="module")
def of_r():
    stored = json.loads((FOLDER / "forty_calls.json").read_text())
    return {call: np.array(numbers) for call, numbers in stored.items()}


@pytest.fixture(scope="module")
def page_names(tmp_path_factory):
    """What the Python blocks of the page define; they are run in a folder, where they write their file."""
    folder = tmp_path_factory.mktemp("r")
    section = PAGE.read_text().split("## Find the equivalent of an R call")[1].split("\n## ")[0]
    names = {"np": np, "draws": pd.read_csv(FOLDER / "draws.csv").to_numpy(), "folder": folder}
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for block in re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL):
            exec(block, names)
    return names


def numbers_here(call, page_names):
    """Return the numbers of a call of salstats."""
    return np.ravel(np.asarray(eval(call.here, page_names), dtype=np.float64))


def test_the_page_has_forty_calls_of_r_with_equal_numbers():
    assert len({call.in_r for call in EQUAL}) >= 40


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("call", EQUAL, ids=lambda call: call.in_r)
def test_calls_give_the_numbers_of_r_and_the_page_prints_them(of_r, page_names, call):
    numbers = numbers_here(call, page_names)
    rtol = RTOL_OF_R.get(call.in_r, RTOL)
    np.testing.assert_allclose(numbers, of_r[call.in_r], rtol=rtol, atol=1e-10)
    assert call.printed == [printed(of_r[call.in_r])]
    assert printed(numbers) == printed(of_r[call.in_r])


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("call", DIFFERENT, ids=lambda call: call.in_r)
def test_numbers_that_differ_are_both_printed(of_r, page_names, call):
    numbers = numbers_here(call, page_names)
    assert call.printed[:2] == [printed(of_r[call.in_r]), printed(numbers)]
    assert call.printed[0] != call.printed[1]


def test_metrics_are_those_of_the_documentation_of_yardstick():
    # the confusion matrix of yardstick's `two_class_example`: both, truth only, mask only, none
    mask = np.repeat([True, False, True, False], [227, 31, 50, 192])[None]
    truth = np.repeat([True, True, False, False], [227, 31, 50, 192])[None]
    kernels = (metrics.recall, metrics.precision, metrics.dice, metrics.specificity)
    scores = [kernel(mask, truth) for kernel in kernels]
    assert np.round(scores, 3).tolist() == [0.880, 0.819, 0.849, 0.793]
    ratings = pd.DataFrame({"case": np.arange(500), "method": "m", "metric": "hit"})
    by_mask = ratings.assign(reader="mask", score=mask.ravel().astype(float))
    by_truth = ratings.assign(reader="truth", score=truth.ravel().astype(float))
    kappa = ss.agreement(pd.concat([by_mask, by_truth]), kind="cohen")["estimate"]
    assert np.round(kappa, 3).tolist() == [0.675]


def test_r_gives_the_stored_numbers_where_it_is_installed(of_r, page_names):
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    folder = page_names["folder"]
    run = subprocess.run(
        ["Rscript", str(FOLDER / "forty_calls.R"), str(PAGE)],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"LC_ALL": "C"},
    )
    if "there is no package called" in run.stderr:
        pytest.skip(run.stderr.strip().splitlines()[0])
    assert run.returncode == 0, run.stderr
    again = json.loads((folder / "forty_calls.json").read_text())
    assert list(again) == [call.in_r for call in (*EQUAL, *DIFFERENT)]
    for call, numbers in again.items():
        np.testing.assert_allclose(numbers, of_r[call], rtol=1e-6, atol=1e-10, err_msg=call)

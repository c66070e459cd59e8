"""The examples of the pages "Add a ..." run, each page in a process of its own, as they change records."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "developers").glob("add_*.md"))
#: Pages whose examples need the extra `explain`.
WITH_TORCH = ("add_more",)
PARAMETERS = [
    pytest.param(
        page,
        id=page.stem,
        marks=[
            *([pytest.mark.torch] if page.stem in WITH_TORCH else []),
            # the site runs them, too, and these look for warnings
            pytest.mark.slow,
        ],
    )
    for page in PAGES
]


def cells_of(page):
    """Return the code of a page's cells."""
    cells = re.findall(r"^```\{code-cell\} python\n(.*?)^```", page.read_text(), re.M | re.S)
    return [re.sub(r"\A(---\n.*?^---\n|:tags:[^\n]*\n\n?)", "", cell, flags=re.M | re.S) for cell in cells]


def script_of(page):
    """Return the cells of a page as one script; cells that write a file write it."""
    cells = []
    for code in cells_of(page):
        written = re.match(r"%%writefile \$(\w+)/(\S+)\n", code)
        if written:
            folder, name = written.groups()
            code = f"({folder} / {name!r}).write_text({code[written.end() :]!r})\n"
        cells.append(code)
    return "\n".join(cells)


@pytest.mark.parametrize("page", PARAMETERS)
def test_the_examples_of_a_page_run_without_numpy_warning(page, tmp_path):
    script = script_of(page)
    assert script
    (tmp_path / "page.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "page.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    errors = [line for line in done.stderr.splitlines() if "Traceback" in line]
    assert errors == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_that_is_copied_into_the_package_fits_its_lines(page):
    lines = "\n".join(cells_of(page)).splitlines()
    longest = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["line-length"]
    assert [line for line in lines if len(line) > longest] == []

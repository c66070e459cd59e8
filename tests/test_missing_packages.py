"""Packages that few calls need are imported by these alone; a missing one is named with how to install it."""

import subprocess
import sys

import pytest

import salstats as ss

#: Packages that describing and summarizing scores needs none of.
NEEDED_BY_FEW = (
    "captum", "docx", "formulaic", "great_tables", "loky", "lxml", "matplotlib", "openpyxl", "pingouin",
    "plotnine", "pooch", "pytorch_grad_cam", "sklearn", "statsmodels", "torch", "torchvision",
)  # fmt: skip
#: Run before anything else: a finder says that packages are not installed.
WITHOUT = """
import sys
from importlib.abc import MetaPathFinder
class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {packages}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""
RUN = "from salstats.cli.app import main\nmain({arguments})"


def run_without(packages, code, folder):
    """Run code in a Python that lacks packages, in a folder."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT.format(packages=set(packages)) + code],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A folder with scores as CSV and XLSX, and their means."""
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    ss.write_frame(scores, tmp_path / "scores.csv")
    ss.write_frame(scores.head(20), tmp_path / "scores.xlsx")
    ss.write_frame(ss.summarize(scores, interval="t"), tmp_path / "means.csv")
    return tmp_path


def test_importing_salstats_imports_no_other_package_but_the_lazy_loader(tmp_path):
    code = "import sys\nimport salstats\nprint({name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys\nsys.path[:] = {sys.path!r}\n" + code],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    imported = {name for name in eval(done.stdout) if not name.startswith("_")}
    assert imported - set(sys.stdlib_module_names) == {"salstats", "lazy_loader"}


@pytest.mark.parametrize("missing", [pytest.param((), marks=pytest.mark.slow), NEEDED_BY_FEW])
def test_describing_scores_needs_no_package_of_other_calls(folder, missing):
    code = f"""
import sys
from salstats.cli.app import run
codes = [run(["describe", "scores.csv"]), run(["summarize", "scores.csv", "--interval", "t"])]
imported = {{name.split(".")[0] for name in sys.modules}} & set({NEEDED_BY_FEW})
print(*codes, *sorted(imported), file=sys.stderr)
"""
    assert run_without(missing, code, folder).stderr == "0 0\n"


@pytest.mark.parametrize(
    ("module", "package", "arguments"),
    [
        pytest.param("openpyxl", "openpyxl", ["describe", "scores.xlsx"], marks=pytest.mark.slow),
        pytest.param(
            "docx", "python-docx", ["table", "means.csv", "-o", "means.docx"], marks=pytest.mark.slow
        ),
        pytest.param("lxml", "lxml", ["table", "means.csv", "-o", "means.docx"], marks=pytest.mark.slow),
        pytest.param(
            "plotnine", "plotnine", ["plot", "means.csv", "-o", "means.pdf"], marks=pytest.mark.slow
        ),
        ("statsmodels", "statsmodels", ["regress", "scores.csv", "iou ~ elongation"]),
    ],
)
def test_a_command_names_the_package_that_it_lacks_and_how_to_install_it(folder, module, package, arguments):
    done = run_without({module}, RUN.format(arguments=arguments), folder)
    assert done.returncode == 2, done.stderr
    (line,) = [text for text in done.stderr.splitlines() if not text.startswith("salstats: warning")]
    assert f" {package}," in line
    assert line.endswith(f"pip install {package} installs it")
    assert sorted(file.name for file in folder.iterdir()) == ["means.csv", "scores.csv", "scores.xlsx"]


@pytest.mark.parametrize(
    ("module", "package", "call"),
    [
        ("pooch", "pooch", "ss.datasets.fetch_lanfredi2021('new')"),
        ("openpyxl", "openpyxl", "ss.read_scores('scores.xlsx')"),
        pytest.param(
            "docx",
            "python-docx",
            "ss.save_table(ss.table_estimates(pd.read_csv('means.csv')), 'means.docx')",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_call_names_the_package_that_it_lacks(folder, module, package, call):
    code = f"""
import pandas as pd
import salstats as ss
from salstats.errors import SalstatsError
try:
    {call}
except SalstatsError as error:
    print(error.hint)
"""
    done = run_without({module}, code, folder)
    assert done.stdout == f"pip install {package} installs it\n", done.stderr


def test_the_doctor_runs_without_these_packages(tmp_path):
    done = run_without({*NEEDED_BY_FEW, "joblib", "PIL"}, RUN.format(arguments=["doctor"]), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Embedded data" in done.stdout

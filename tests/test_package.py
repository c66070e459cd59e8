"""The package as a user meets it: public names, wheel, embedded data."""

import inspect
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import salstats as ss

ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS = [n for n in ss.__all__ if inspect.isfunction(getattr(ss, n))]


def test_contract_names_are_public():
    contract = (
        "read_scores summarize describe percent_decrease difference regress fit_statistics augment tidy "
        "correlate adjust normalize bootstrap auroc simulate_scores datasets join_features "
        "plot_intervals plot_decrease table_estimates table_decrease report"
    )
    assert set(contract.split()) <= set(ss.__all__)
    assert set(contract.split()) - {"datasets"} <= set(FUNCTIONS)
    # it needs torch only where a name of it is used
    assert ss.explain.__name__ == "salstats.explain"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_docstrings_are_complete(name):
    text = inspect.getdoc(getattr(ss, name))
    for section in ("Parameters", "Returns", "Raises", "Examples"):
        if section == "Parameters" and not inspect.signature(getattr(ss, name)).parameters:
            continue
        assert f"{section}\n---" in text, f"{name} lacks {section}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_options_are_keyword_only_and_documented(name):
    function = getattr(ss, name)
    text = inspect.getdoc(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not inspect.Parameter.empty and name != "write_frame":
            # what is read may be left out where options name it: `folder`, and `path` of read_study
            may_be_left_out = {("read_study", "path"), ("plot_overlay", "task")}
            is_data = parameter.name in ("folder", "n_patients", "terms")
            is_data = is_data or (name, parameter.name) in may_be_left_out
            assert is_data or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
        assert parameter.name in text, f"{name} does not document {parameter.name}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("wheel")
    return Path(next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])))


def test_wheel_holds_package_and_data_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "salstats/_data/simulated_scores.csv" in names
    assert "salstats/__init__.pyi" in names
    tops = {n.split("/")[0] for n in names}
    assert tops == {"salstats", next(t for t in tops if t.endswith(".dist-info"))}


@pytest.mark.slow
def test_the_unpacked_wheel_finds_its_data(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    run = subprocess.run(
        [sys.executable, "-c", "import salstats as ss; print(ss.__file__); ss.datasets.load_digits_scores(); "
         "from salstats.cli.app import run; run(['summarize', str(ss.datasets.data_folder() / "
         "'simulated_scores.csv'), '--interval', 't', '-o', 'means.csv']); run(['reproduce', 'list']); "
         "run(['reproduce', 'saliency_bench', '--help'])"],
        cwd=tmp_path,
        # nothing of the checkout may be found
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    assert run.stdout.startswith(str(tmp_path / "site"))
    assert (tmp_path / "means.csv").stat().st_size > 0
    assert "saporta2022: Saporta et al. 2022" in run.stdout
    assert "--printed" in run.stdout


def in_repository(*options):
    """Files that git knows, with what its options add; a skip in an unpacked sdist, which has no history."""
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout of the repository")
    command = ["git", "ls-files", "-z", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def test_sdist_holds_the_repository_and_what_its_tests_need(tmp_path):
    from hatchling.builders.sdist import SdistBuilder

    known = set(in_repository("--cached", "--others", "--exclude-standard"))
    with tarfile.open(next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path)))) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    assert held - known == {"PKG-INFO"}
    left_out = {n for n in known - held if (ROOT / n).exists()}
    assert {n.split("/")[0] for n in left_out} <= {".ci", ".github", ".pre-commit-config.yaml"}


def test_no_large_file_and_no_foreign_data_in_the_repository():
    tracked = in_repository()
    sizes = {name: (ROOT / name).stat().st_size for name in tracked if (ROOT / name).exists()}
    # the embedded studies have limits of their own: tests/datasets
    studies = ("data/digits/", "data/lanfredi2021/")
    assert not [name for name, size in sizes.items() if size > 500_000 and not name.startswith(studies)]
    assert not [name for name in tracked if name.endswith((".xlsx", ".pkl", ".jpg"))]

"""`salstats doctor` says what is installed, what is missing, and whether the embedded data are whole."""

import re
import shutil
from importlib import metadata

import joblib
import pytest

import salstats as ss
from salstats import memory_limit
from salstats.cli.app import run
from salstats.files import input_files


def test_the_doctor_names_versions_and_finds_the_data_whole(capsys):
    assert run(["doctor"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"salstats {ss.__version__}, Python 3.")
    lines = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    assert str(ss.datasets.data_folder()) in lines["folder"]
    assert "all with the right checksum" in lines["files"]
    assert {"explain", "dask", "Chromium", "LaTeX", "cores", "memory"} <= set(lines)


@pytest.mark.parametrize(
    ("free_gb", "environment", "table_gb", "other_gb"),
    [(24, None, "12", "1"), (1, None, "0.5", "0.5"), (24, "3", "3", "3")],
)
def test_the_doctor_gives_the_limit_of_a_table_and_that_of_another_file(
    capsys, monkeypatch, free_gb, environment, table_gb, other_gb
):
    monkeypatch.setattr(memory_limit, "_free_memory_bytes", lambda: free_gb * 2**30)
    monkeypatch.delenv(memory_limit.LIMIT_VARIABLE, raising=False)
    if environment is not None:
        monkeypatch.setenv(memory_limit.LIMIT_VARIABLE, environment)
    assert run(["doctor"]) == 0
    limits = re.findall(r"memory for .*?([\d.]+) GB", capsys.readouterr().out)
    assert limits == [table_gb, other_gb]


def test_the_doctor_names_data_that_are_not_as_they_were_made(capsys, monkeypatch, tmp_path):
    folder = shutil.copytree(ss.datasets.data_folder(), tmp_path / "data")
    (folder / "simulated_scores.csv").write_text("case\n")
    (folder / "digits" / "auroc.csv").unlink()
    monkeypatch.setattr(input_files, "data_folder", lambda: folder)
    assert run(["doctor"]) == 0
    lines = {
        line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if line.strip()
    }
    assert lines["changed"] == ["simulated_scores.csv"]
    assert lines["missing"] == ["digits/auroc.csv"]


def test_a_checkout_that_pip_did_not_install_has_no_known_requirements(capsys, monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name == "xelatex" else None)
    assert run(["doctor"]) == 0
    lines = {
        line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if line.strip()
    }
    assert lines["requirements"][0].startswith("unknown")
    assert lines["explain"] == ["unknown"]
    assert lines["LaTeX"] == ["/bin/xelatex"]
    assert lines["cores"][0].rstrip(",") == str(joblib.cpu_count())


def test_the_doctor_names_the_commands_that_lack_something(capsys, monkeypatch):
    def version(name):
        if name in ("openpyxl", "torch", "distributed"):
            raise metadata.PackageNotFoundError(name)
        return "9.9"

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(
        metadata,
        "requires",
        lambda _: [
            "numpy",
            "openpyxl",
            "scipy>=10",
            "torch; extra == 'explain'",
            "distributed; extra == 'dask'",
        ],
    )
    monkeypatch.setenv("SALSTATS_CHROME", "no_such_browser")
    assert run(["doctor"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert lines["numpy"].split() == ["numpy", "9.9"]
    assert lines["scipy"].endswith("9.9, but needs >=10")
    assert ".xlsx" in lines["openpyxl"]
    assert lines["openpyxl"].endswith("pip install openpyxl installs it")
    assert "make-maps" in lines["explain"]
    assert "curves" in lines["explain"]
    assert lines["explain"].endswith("pip install 'salstats[explain]' installs it")
    assert "distributed missing" in lines["dask"]
    assert "backend='dask'" in lines["dask"]
    assert lines["dask"].endswith("pip install 'salstats[dask]' installs it")
    assert ".png" in lines["Chromium"]

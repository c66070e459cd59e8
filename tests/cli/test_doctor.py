"""`salstats doctor` says what is installed, what is missing, and whether the embedded data are whole."""

import shutil

import salstats as ss
from salstats.cli.app import run
from salstats.files import inputs


def test_the_doctor_names_versions_and_finds_the_data_whole(capsys):
    assert run(["doctor"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"salstats {ss.__version__}, Python 3.")
    lines = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    assert str(ss.datasets.data_folder()) in lines["folder"]
    assert "all as their checksums say" in lines["files"]
    assert {"explain", "dask", "Chromium", "LaTeX", "cores", "memory"} <= set(lines)


def test_the_doctor_names_data_that_are_not_as_they_were_made(capsys, monkeypatch, tmp_path):
    folder = shutil.copytree(ss.datasets.data_folder(), tmp_path / "data")
    (folder / "simulated_scores.csv").write_text("case\n")
    (folder / "digits" / "auroc.csv").unlink()
    monkeypatch.setattr(inputs, "data_folder", lambda: folder)
    assert run(["doctor"]) == 0
    lines = {
        line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if line.strip()
    }
    assert lines["changed"] == ["simulated_scores.csv"]
    assert lines["missing"] == ["digits/auroc.csv"]

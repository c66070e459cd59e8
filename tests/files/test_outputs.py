"""Files that are written: their modes, and what runs that were killed leave."""

import signal
import stat
import subprocess
import sys

import pytest

import salstats as ss
from salstats.checks import InputFileError
from salstats.files.outputs import check_target, replacing

#: Begins a file, says so, and waits.
BEGIN = (
    "import pathlib, sys, time; from salstats.files.outputs import replacing\n"
    "with replacing(pathlib.Path(sys.argv[1])) as half:\n"
    "    half.write_text('half'); print(half.name, flush=True); time.sleep(60)"
)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o664])
@pytest.mark.parametrize("name", ["out.csv", "out.xlsx", "out.parquet"])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, name, mode):
    file = tmp_path / name
    file.write_text("before")
    file.chmod(mode)
    ss.write_frame(ss.datasets.load_simulated().head(2), file, overwrite=True)
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert file.read_bytes() != b"before"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_what_a_killed_run_left_is_removed_by_the_next_one_and_a_living_one_is_left_alone(tmp_path):
    target = tmp_path / "out.csv"
    with subprocess.Popen([sys.executable, "-c", BEGIN, target], stdout=subprocess.PIPE, text=True) as run:
        half = tmp_path / run.stdout.readline().strip()
        check_target(target, [".csv"])
        assert half.read_text() == "half"
        run.kill()
        run.wait()
    assert half.exists()
    check_target(tmp_path / "another.csv", [".csv"])
    assert list(tmp_path.iterdir()) == []


def test_a_run_leaves_its_own_files_alone_and_those_of_others(tmp_path):
    mine = [".salstats-notes.txt", ".salstats-lock", ".salstats-abcdefgh.csv~", "salstats-abcdefgh.csv"]
    for name in mine:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".salstats-abcdefgh").mkdir()
    (tmp_path / ".salstats-abcdefgi.csv").symlink_to(tmp_path / mine[0])
    with replacing(tmp_path / "out.csv") as half:
        check_target(tmp_path / "out.csv", [".csv"])
        assert half.exists()
    assert {p.name for p in tmp_path.iterdir()} == {
        *mine, ".salstats-abcdefgh", ".salstats-abcdefgi.csv", "out.csv",
    }  # fmt: skip


def test_a_link_that_leads_nowhere_is_not_replaced(tmp_path):
    (tmp_path / "means.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(InputFileError, match="the file exists"):
        ss.write_frame(ss.datasets.load_simulated().head(2), tmp_path / "means.csv")
    assert (tmp_path / "means.csv").is_symlink()

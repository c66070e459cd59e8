"""Files that are written: their modes, and what runs that were killed leave."""

import os
import stat
import time

import pytest

import salstats as ss
from salstats.checks import InputFileError
from salstats.files.outputs import check_target, replacing


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o664])
@pytest.mark.parametrize("name", ["out.csv", "out.xlsx", "out.parquet"])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, name, mode):
    file = tmp_path / name
    file.write_text("before")
    file.chmod(mode)
    ss.write_frame(ss.datasets.load_simulated().head(2), file, overwrite=True)
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert file.read_bytes() != b"before"


def test_what_a_killed_run_left_a_day_ago_is_removed_and_what_is_newer_is_left_alone(tmp_path):
    left, living = (tmp_path / f".salstats-abcdefg{n}.csv" for n in range(2))
    for file in (left, living):
        file.write_text("half")
    os.utime(left, (time.time() - 90_000,) * 2)
    check_target(tmp_path / "out.csv", [".csv"])
    assert list(tmp_path.iterdir()) == [living]


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

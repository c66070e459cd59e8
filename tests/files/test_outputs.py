"""Files that are written: their modes, and what runs that were killed leave."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import InputFileError
from salstats.files.outputs import _LOCK_FILE as LOCK
from salstats.files.outputs import (
    acquire_folder_lock,
    check_target,
    naming_write_errors,
    page_stems,
    permissions_of,
    release_folder_lock,
    replacing_file,
    write_files,
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


@pytest.mark.parametrize("order", [("former", "new", "folder"), ("folder", "former", "new")])
def test_of_several_files_all_are_written_or_none(tmp_path, order):
    former, new, folder = (tmp_path / name for name in ("former", "new", "folder"))
    former.write_bytes(b"before")
    former.chmod(0o640)
    folder.mkdir()
    with raises(InputFileError, path=folder):
        write_files([(tmp_path / name, b"after") for name in order])
    assert former.read_bytes() == b"before"
    assert stat.S_IMODE(former.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "former"]
    write_files([(former, b"after"), (new, b"after")])
    assert former.read_bytes() == new.read_bytes() == b"after"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "former", "new"]


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
    with replacing_file(tmp_path / "out.csv") as half:
        check_target(tmp_path / "out.csv", [".csv"])
        assert half.exists()
    assert {p.name for p in tmp_path.iterdir()} == {
        *mine, ".salstats-abcdefgh", ".salstats-abcdefgi.csv", "out.csv",
    }  # fmt: skip


def test_a_link_that_leads_nowhere_is_not_replaced(tmp_path):
    (tmp_path / "means.csv").symlink_to(tmp_path / "elsewhere.csv")
    with raises(InputFileError, option="overwrite", path=tmp_path / "means.csv"):
        ss.write_frame(ss.datasets.load_simulated().head(2), tmp_path / "means.csv")
    assert (tmp_path / "means.csv").is_symlink()


# the lock of a folder: one holder, and none once it has ended

#: Takes the lock of a folder, says so, and waits.
HOLD = (
    "import pathlib, sys, time; from salstats.files.outputs import acquire_folder_lock\n"
    "held = acquire_folder_lock(pathlib.Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
)


def test_a_folder_has_one_holder_until_it_is_given_back(tmp_path):
    held = acquire_folder_lock(tmp_path)
    with raises(InputFileError, path=tmp_path, hint="wait until it ends"):
        acquire_folder_lock(tmp_path)
    release_folder_lock(held)
    assert list(tmp_path.iterdir()) == []
    release_folder_lock(acquire_folder_lock(tmp_path))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_it_ends_with_a_process_that_is_killed(tmp_path):
    running = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "held\n"
    with raises(InputFileError, path=tmp_path, hint="wait until it ends"):
        acquire_folder_lock(tmp_path)
    running.kill()
    running.communicate()
    assert (tmp_path / LOCK).exists()
    release_folder_lock(acquire_folder_lock(tmp_path))
    assert not (tmp_path / LOCK).exists()


#: Takes the lock of a folder, forks, and says what the child's end has left of it.
FORK = (
    "import os, pathlib, sys; from salstats.files.outputs import acquire_folder_lock\n"
    "held = acquire_folder_lock(pathlib.Path(sys.argv[1]))\n"
    "child = os.fork()\n"
    "if not child: sys.exit()\n"
    "os.waitpid(child, 0)\n"
    "try: acquire_folder_lock(pathlib.Path(sys.argv[1])); print('lost')\n"
    "except ValueError: print('held')"
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_does_not_take_it_away(tmp_path):
    ran = subprocess.run([sys.executable, "-c", FORK, str(tmp_path)], capture_output=True, text=True)
    assert ran.stdout == "held\n"


def test_a_file_system_without_locks_is_said(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(handle, kind):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with warns(value=errno.ENOLCK, path=tmp_path):
        held = acquire_folder_lock(tmp_path)
    release_folder_lock(held)
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_its_place_is_not_followed(tmp_path):
    (tmp_path / "target").write_text("mine")
    (tmp_path / LOCK).symlink_to(tmp_path / "target")
    with raises(InputFileError, value=errno.ELOOP, path=tmp_path):
        acquire_folder_lock(tmp_path)


def test_pages_after_the_first_have_a_number():
    assert page_stems("means", 1) == ["means"]
    assert page_stems("means", 3) == ["means", "means-2", "means-3"]


def test_a_new_file_has_the_permissions_that_the_process_gives(tmp_path):
    mask = os.umask(0o027)
    try:
        assert permissions_of(tmp_path / "new") == 0o640
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(mask)


def test_what_the_system_cannot_write_is_named(tmp_path):
    with (
        raises(InputFileError, path=tmp_path / "a", match="No space left"),
        naming_write_errors(tmp_path / "a"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


# names and places that cannot be written


def test_a_target_has_one_of_the_endings_in_a_folder_that_can_be_written(tmp_path, monkeypatch):
    assert check_target(str(tmp_path / "a.CSV"), (".csv", ".xlsx")) == tmp_path / "a.CSV"
    with raises(InputFileError, path=tmp_path / "a.txt", choices=(".csv", ".xlsx")):
        check_target(tmp_path / "a.txt", (".csv", ".xlsx"))
    with raises(InputFileError, path=tmp_path / "no" / "a.csv", value=tmp_path / "no"):
        check_target(tmp_path / "no" / "a.csv", (".csv",))
    (tmp_path / "b.csv").mkdir()
    with raises(InputFileError, path=tmp_path / "b.csv", option=None):
        check_target(tmp_path / "b.csv", (".csv",), overwrite=True)
    (tmp_path / "a.csv").write_text("mine")
    with raises(InputFileError, path=tmp_path / "a.csv", option="overwrite"):
        check_target(tmp_path / "a.csv", (".csv",))
    assert check_target(tmp_path / "a.csv", (".csv",), overwrite=True) == tmp_path / "a.csv"
    monkeypatch.setattr(os, "access", lambda folder, mode: (folder, mode) != (tmp_path, os.W_OK))
    with raises(InputFileError, path=tmp_path / "c.csv"):
        check_target(tmp_path / "c.csv", (".csv",))


@pytest.mark.parametrize("stem", ["x" * 300, "a\0b"])
def test_a_name_that_the_system_does_not_take_is_refused_before_the_work(tmp_path, stem):
    with raises(InputFileError, path=tmp_path / f"{stem}.csv", choices=()):
        check_target(tmp_path / f"{stem}.csv", [".csv"])


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_pipe_is_not_replaced_by_a_file(tmp_path, overwrite):
    os.mkfifo(tmp_path / "out.csv")
    with raises(InputFileError, path=tmp_path / "out.csv", hint="name a file"):
        ss.write_frame(ss.datasets.load_simulated().head(2), tmp_path / "out.csv", overwrite=overwrite)
    assert stat.S_ISFIFO((tmp_path / "out.csv").stat().st_mode)

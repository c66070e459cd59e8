"""The lock of a folder: one holder, and none once it has ended."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from salstats.checks import InputFileError, SalstatsWarning
from salstats.files.folder_lock import NAME, FolderLock

fcntl = pytest.importorskip("fcntl")

#: Takes the lock of a folder, says so, and waits.
HOLD = (
    "import pathlib, sys, time; from salstats.files.folder_lock import FolderLock\n"
    "held = FolderLock(pathlib.Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
)


def test_a_folder_has_one_holder_until_it_is_given_back(tmp_path):
    held = FolderLock(tmp_path)
    with pytest.raises(InputFileError, match=r"is writing here; wait until it ends"):
        FolderLock(tmp_path)
    held.release()
    held.release()
    assert list(tmp_path.iterdir()) == []
    FolderLock(tmp_path).release()


def test_a_lock_that_nobody_holds_any_more_is_given_back(tmp_path):
    held = FolderLock(tmp_path)
    del held
    FolderLock(tmp_path).release()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_it_ends_with_a_process_that_is_killed(tmp_path):
    running = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "held\n"
    with pytest.raises(InputFileError, match="another process"):
        FolderLock(tmp_path)
    running.kill()
    running.communicate()
    assert (tmp_path / NAME).exists()
    FolderLock(tmp_path).release()
    assert not (tmp_path / NAME).exists()


#: Takes the lock of a folder, forks, and says what the child's end has left of it.
FORK = (
    "import os, pathlib, sys; from salstats.files.folder_lock import FolderLock\n"
    "held = FolderLock(pathlib.Path(sys.argv[1]))\n"
    "child = os.fork()\n"
    "if not child: sys.exit()\n"
    "os.waitpid(child, 0)\n"
    "try: FolderLock(pathlib.Path(sys.argv[1])); print('lost')\n"
    "except ValueError: print('held')"
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_does_not_take_it_away(tmp_path):
    ran = subprocess.run([sys.executable, "-c", FORK, str(tmp_path)], capture_output=True, text=True)
    assert ran.stdout == "held\n"


def test_a_file_system_without_locks_is_said(tmp_path, monkeypatch):
    def refuse(handle, kind):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.warns(SalstatsWarning, match=r"locks no files \(No locks available\)"):
        held = FolderLock(tmp_path)
    held.release()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone(tmp_path):
    with pytest.raises(InputFileError, match=r"elsewhere: cannot write there \(No such file"):
        FolderLock(tmp_path / "elsewhere")


def test_a_link_in_its_place_is_not_followed(tmp_path):
    (tmp_path / "target").write_text("mine")
    (tmp_path / NAME).symlink_to(tmp_path / "target")
    with pytest.raises(InputFileError, match="cannot write there"):
        FolderLock(tmp_path)

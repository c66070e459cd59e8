"""A folder of outputs: what a run that was killed leaves, and the modes of what is replaced."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests_support import raises

from salstats.errors import InputFileError
from salstats.files.output_folder import _WRITTEN_FOLDER, check_output_folder_is_writable, replacing_folder

#: Makes a folder anew and is killed at a renaming: python -c SCRIPT FOLDER WHICH.
SCRIPT = textwrap.dedent("""
    import os, signal, sys
    from pathlib import Path
    from salstats.files.output_folder import replacing_folder

    renamed, rename = [], Path.rename

    def killed(path, target):
        if len(renamed) == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        renamed.append(path)
        return rename(path, target)

    Path.rename = killed
    with replacing_folder(Path(sys.argv[1]), lambda: None) as made:
        made.mkdir()
        (made / "page").write_text("new")
""")


def check(folder):
    return check_output_folder_is_writable(
        folder, written_files=lambda _: {"page"}, subfolders=(), overwrite=True
    )


def write(folder, text="old"):
    with replacing_folder(folder, lambda: check(folder)) as made:
        made.mkdir()
        (made / "page").write_text(text)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
@pytest.mark.parametrize("n_renamed", [0, 1])
def test_a_run_that_is_killed_leaves_the_former_folder_or_the_next_one_puts_it_back(tmp_path, n_renamed):
    folder = tmp_path / "out [1]"
    write(folder)
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(folder), str(n_renamed)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert folder.exists() == (n_renamed == 0)
    assert len(list(tmp_path.iterdir())) == 2 - n_renamed
    (left,) = tmp_path.glob(".*")
    check(folder)
    os.utime(left, (time.time() - 90_000,) * 2)
    check(folder)
    assert list(tmp_path.iterdir()) == [folder]
    assert (folder / "page").read_text() == "old"
    write(folder, "new")
    assert (folder / "page").read_text() == "new"
    assert list(tmp_path.iterdir()) == [folder]


def test_what_a_living_run_writes_is_left_alone(tmp_path):
    folder = tmp_path / "out"
    with replacing_folder(folder, lambda: check(folder)) as made:
        made.mkdir()
        (made / "page").write_text("new")
        check(folder)
        (tmp_path / ".out-abcdefgh").mkdir()
        check(folder)
    assert (folder / "page").read_text() == "new"
    assert {p.name for p in tmp_path.iterdir()} == {"out", ".out-abcdefgh"}


def test_a_folder_that_is_replaced_keeps_its_modes(tmp_path):
    folder = tmp_path / "out"
    write(folder)
    folder.chmod(0o700)
    (folder / "page").chmod(0o600)
    write(folder, "new")
    assert [stat.S_IMODE(p.stat().st_mode) for p in (folder, folder / "page")] == [0o700, 0o600]


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "out").write_text("mine")
    with raises(InputFileError, path=tmp_path / "out"):
        check(tmp_path / "out")


def test_a_folder_with_files_of_others_is_not_replaced(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    write(folder)
    files = {"written_files": lambda _: {"page"}, "subfolders": ("maps",)}
    with raises(InputFileError, path=folder, option="overwrite"):
        check_output_folder_is_writable(folder, **files, overwrite=False)
    # the folders that a run makes may stand there, links in their place may not
    (folder / "maps").mkdir()
    assert check_output_folder_is_writable(folder, **files, overwrite=True) == folder.resolve()
    with raises(InputFileError, path=folder, value="maps", option=None):
        check(folder)
    (folder / "maps" / "mine.txt").write_text("mine")
    for overwrite in (True, False):
        with raises(InputFileError, path=folder, value="maps/mine.txt", option=None):
            check_output_folder_is_writable(folder, **files, overwrite=overwrite)
    (folder / "maps" / "mine.txt").unlink()
    (folder / "maps").rmdir()
    (folder / "maps").symlink_to(tmp_path)
    with raises(InputFileError, path=folder, value="maps"):
        check_output_folder_is_writable(folder, **files, overwrite=True)
    monkeypatch.chdir(tmp_path)
    for path in (".", "/"):
        with raises(InputFileError, path=Path(path).resolve()):
            check(Path(path))
    # an empty folder is nobody's
    (tmp_path / "empty").mkdir()
    assert (
        check_output_folder_is_writable(Path("empty"), **files, overwrite=False)
        == (tmp_path / "empty").resolve()
    )


def test_a_link_in_the_place_of_a_temporary_folder_is_left_alone(tmp_path):
    (tmp_path / "elsewhere" / "former").mkdir(parents=True)
    (tmp_path / ".out-abcdefgh").symlink_to(tmp_path / "elsewhere")
    check(tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"elsewhere", ".out-abcdefgh"}


@pytest.mark.parametrize("name", ["x" * 251, "é" * 127, "x" * 255])
def test_a_folder_of_the_longest_name_is_made_and_recovered(tmp_path, name):
    folder = tmp_path / name
    with replacing_folder(check(folder), lambda: None) as made:
        made.mkdir()
        (made / "page").write_text("old")
    subprocess.run([sys.executable, "-c", SCRIPT, str(folder), "1"], check=False)
    assert not folder.exists()
    check(folder)
    assert (folder / "page").read_text() == "old"


@pytest.mark.parametrize("name", ["x" * 256, "a\0b"])
def test_a_folder_whose_name_the_system_does_not_take_is_refused(tmp_path, name):
    with raises(InputFileError, path=tmp_path / name):
        check(tmp_path / name)


def test_where_the_new_folder_cannot_take_its_place_the_former_one_stays(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    write(folder)
    rename = Path.rename

    def failing(path, target):
        if path.name == _WRITTEN_FOLDER:
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with raises(InputFileError, path=folder, match="No space left on device"):
        write(folder, "new")
    assert (folder / "page").read_text() == "old"
    assert list(tmp_path.iterdir()) == [folder]

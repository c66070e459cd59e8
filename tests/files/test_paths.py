"""Paths that the system cannot look for, that are no plain files, or that a command writes."""

import os

import pytest
from tests_support import raises

from salstats.errors import InputFileError
from salstats.files.paths import (
    check_is_existing_folder,
    check_is_regular_file_unless_missing,
    check_path_can_be_looked_up,
    forbidding_to_read_outputs,
    record_output_to_replace,
)


def test_a_plain_file_and_one_that_does_not_exist_pass(tmp_path):
    file = tmp_path / "a.csv"
    check_is_regular_file_unless_missing(file)
    file.write_text("a")
    check_is_regular_file_unless_missing(file)


def test_a_folder_and_a_pipe_are_no_files(tmp_path):
    with raises(InputFileError, path=tmp_path, hint="give a file"):
        check_is_regular_file_unless_missing(tmp_path)
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes here")
    os.mkfifo(tmp_path / "pipe")
    with raises(InputFileError, path=tmp_path / "pipe", hint="give a file"):
        check_is_regular_file_unless_missing(tmp_path / "pipe")


def test_an_output_of_a_command_is_not_read_by_it_under_any_name(tmp_path):
    file = tmp_path / "out.csv"
    file.write_text("a")
    os.link(file, tmp_path / "other.csv")
    record_output_to_replace(file)
    check_is_regular_file_unless_missing(file)
    with forbidding_to_read_outputs():
        check_is_regular_file_unless_missing(file)
        record_output_to_replace(file)
        # a file that does not exist yet is nobody's input
        record_output_to_replace(tmp_path / "new.csv")
        with raises(InputFileError, path=file, hint="choose another file"):
            check_is_regular_file_unless_missing(tmp_path / "other.csv")
        (tmp_path / "input.csv").write_text("a")
        check_is_regular_file_unless_missing(tmp_path / "input.csv")
    check_is_regular_file_unless_missing(file)


def test_a_name_that_the_system_cannot_look_for_is_refused(tmp_path):
    # what is to be done with the file
    with raises(InputFileError, path=tmp_path / ("x" * 300), match="write"):
        check_path_can_be_looked_up(tmp_path / ("x" * 300), "write")
    with raises(InputFileError, path=tmp_path / "a\0b", match="read"):
        check_path_can_be_looked_up(tmp_path / "a\0b")


def test_a_link_is_followed_where_it_is_read_and_replaced_where_it_is_written(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with raises(InputFileError, path=tmp_path / "loop"):
        check_path_can_be_looked_up(tmp_path / "loop")
    check_path_can_be_looked_up(tmp_path / "loop", "write")


def test_a_folder_must_be_one(tmp_path):
    check_is_existing_folder(tmp_path)
    (tmp_path / "a").write_text("")
    with raises(InputFileError, path=tmp_path / "a"):
        check_is_existing_folder(tmp_path / "a")
    with raises(InputFileError, path=tmp_path / "b"):
        check_is_existing_folder(tmp_path / "b")

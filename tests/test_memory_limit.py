"""The memory that a file may take fits the file and the machine."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from tests_support import raises

from salstats import memory_limit
from salstats.errors import InputFileError, SalstatsError


def test_the_limit_of_memory_is_in_proportion_to_the_file_and_half_of_what_is_free(monkeypatch):
    gigabyte = 2**30
    monkeypatch.delenv(memory_limit.LIMIT_VARIABLE, raising=False)
    monkeypatch.setattr(memory_limit, "_free_memory_bytes", lambda: 24 * gigabyte)
    assert memory_limit.file_content_memory_limit_bytes() == gigabyte
    assert memory_limit.file_content_memory_limit_bytes(file_bytes=75_000) == gigabyte
    assert memory_limit.file_content_memory_limit_bytes(file_bytes=10_000_000) == 10_000_000_000
    assert memory_limit.file_content_memory_limit_bytes(file_bytes=gigabyte) == 12 * gigabyte
    monkeypatch.setattr(memory_limit, "_free_memory_bytes", lambda: gigabyte)
    assert memory_limit.file_content_memory_limit_bytes(file_bytes=gigabyte) == gigabyte / 2
    monkeypatch.setenv(memory_limit.LIMIT_VARIABLE, "3")
    assert (
        memory_limit.file_content_memory_limit_bytes()
        == memory_limit.file_content_memory_limit_bytes(file_bytes=gigabyte)
        == 3 * gigabyte
    )


@pytest.mark.parametrize("text", ["much", "0", "-1", "nan", ""])
def test_a_limit_is_a_positive_number_of_gigabytes(monkeypatch, text):
    monkeypatch.setenv(memory_limit.LIMIT_VARIABLE, text)
    with raises(SalstatsError, option=memory_limit.LIMIT_VARIABLE, value=text):
        memory_limit.file_content_memory_limit_bytes()


def test_what_takes_the_limit_is_allowed_and_a_byte_more_is_not(monkeypatch):
    monkeypatch.delenv(memory_limit.LIMIT_VARIABLE, raising=False)
    monkeypatch.setattr(memory_limit, "_free_memory_bytes", lambda: 2.0**40)
    memory_limit.check_size(2**30, "it")
    memory_limit.check_size(2 * 10**9, "it", file_bytes=2_000_000)
    with raises(InputFileError, option=memory_limit.LIMIT_VARIABLE, value=2**30 + 1):
        memory_limit.check_size(2**30 + 1, "it")


def test_the_limit_that_an_error_names_is_one_that_would_do(monkeypatch):
    for n_bytes, gigabytes in ((1.5 * 2**30, "1.5"), (2**33, "8"), (2**33 + 1, "8")):
        monkeypatch.setenv(memory_limit.LIMIT_VARIABLE, "0.5")
        with raises(InputFileError, option=memory_limit.LIMIT_VARIABLE) as caught:
            memory_limit.check_size(n_bytes, "it")
        assert re.findall(r"\d[\d.]*", str(caught.value))[:2] == [gigabytes, "0.5"]
        allowed = re.search(rf"{memory_limit.LIMIT_VARIABLE}=(\d+)", str(caught.value))[1]
        monkeypatch.setenv(memory_limit.LIMIT_VARIABLE, allowed)
        memory_limit.check_size(n_bytes, "it")
        assert memory_limit.file_content_memory_limit_bytes() < n_bytes + 2**30


def test_free_memory_is_looked_up_once_a_second(monkeypatch):
    seconds = iter([100.0, 100.9, 101.0, 101.5])
    n_bytes = iter([4.0, 8.0])
    monkeypatch.setattr(memory_limit, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(memory_limit, "_read_free_memory_bytes", lambda: next(n_bytes))
    monkeypatch.setattr(memory_limit, "_LAST_FREE_MEMORY", memory_limit._FreeMemory())
    assert [memory_limit._free_memory_bytes() for _ in range(4)] == [4, 4, 8, 8]


@pytest.mark.parametrize(
    ("names", "inactive"),
    [
        (("memory.max", "memory.current"), "inactive_file"),
        (("memory.limit_in_bytes", "memory.usage_in_bytes"), "total_inactive_file"),
    ],
)
def test_a_container_has_what_its_limit_leaves(tmp_path, names, inactive):
    for name, text in (*zip(names, ("1000", "700"), strict=True), ("memory.stat", f"anon 1\n{inactive} 200")):
        (tmp_path / name).write_text(text)
    assert memory_limit._free_bytes_in_group(tmp_path) == 500
    (tmp_path / names[0]).write_text("max")
    assert memory_limit._free_bytes_in_group(tmp_path) == np.inf
    assert memory_limit._free_bytes_in_group(tmp_path / "nowhere") == np.inf


def test_the_least_of_what_the_machine_and_its_control_groups_leave_is_free(tmp_path, monkeypatch):
    groups = tmp_path / "cgroup"
    monkeypatch.setattr(memory_limit, "_CONTROL_GROUPS_FOLDER", groups)
    monkeypatch.setattr(memory_limit, "Path", lambda name: tmp_path / name.lstrip("/"))
    # a system that does not say what is free
    assert memory_limit._control_group_folders() == []
    assert memory_limit._read_free_memory_bytes() == 2 * 2**30
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text("5:memory:/a/b:c\n3:cpu,cpuacct:/x\n0::/d\n")
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   2000 kB\nCached: 1 kB\n")
    of_memory = groups / "memory"
    assert sorted(memory_limit._control_group_folders()) == sorted(
        [of_memory / "a" / "b:c", of_memory / "a", of_memory, groups / "d", groups]
    )
    assert memory_limit._read_free_memory_bytes() == 2000 * 1024
    (of_memory / "a").mkdir(parents=True)
    for name, text in (("limit_in_bytes", "1000"), ("usage_in_bytes", "400"), ("stat", "inactive_file 1")):
        (of_memory / "a" / f"memory.{name}").write_text(text)
    assert memory_limit._read_free_memory_bytes() == 601
    (of_memory / "a" / "memory.usage_in_bytes").write_text("2000")
    assert memory_limit._read_free_memory_bytes() == 0

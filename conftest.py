"""Without the extra `explain` its examples are not run; a file's tests run in one worker."""

import os
from importlib.util import find_spec

import pytest

# one worker per core is enough for a core
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

_IS_THERE = all(find_spec(name) for name in ("torch", "pytorch_grad_cam", "captum"))
# scripts that made references need what they compare with
collect_ignore_glob = ["tests/reference/*", *([] if _IS_THERE else ["salstats/explain/*"])]

#: Folders whose files share costly fixtures of the session, so that one worker takes them all.
TOGETHER = ("tests/studies/saporta2022/",)


def pytest_collection_modifyitems(items):
    """Under CI a missing extra is a failure."""
    if not _IS_THERE and os.environ.get("CI"):
        raise pytest.UsageError("the extra 'explain' is not installed; pip install '.[test]' brings it")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give the tests of a file to one worker, so that what they share is made once."""
    if config.getoption("dist") != "load":
        return None  # another way was asked for
    from xdist.scheduler import LoadFileScheduling

    class FileOrFolderScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            for folder in TOGETHER:
                if nodeid.startswith(folder):
                    return folder
            return super()._split_scope(nodeid)

    return FileOrFolderScheduling(config, log)

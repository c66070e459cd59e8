import sys
from pathlib import Path

import cv2
import pytest

HERE = Path(__file__).parent


@pytest.fixture
def one_thread():
    """OpenCV, and torch where a test has imported it, on one core."""
    libraries = [(cv2.getNumThreads, cv2.setNumThreads)]
    if torch := sys.modules.get("torch"):
        libraries.append((torch.get_num_threads, torch.set_num_threads))
    before = [get() for get, _ in libraries]
    for _, put in libraries:
        put(1)
    yield
    for (_, put), n in zip(libraries, before, strict=True):
        put(n)


def pytest_collection_modifyitems(items):
    """What stands here compares times, and runs by itself: `pytest -m bench`."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.bench)

from pathlib import Path

import cv2
import pytest

HERE = Path(__file__).parent


@pytest.fixture
def one_thread():
    """OpenCV on one core."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    yield
    cv2.setNumThreads(before)


def pytest_collection_modifyitems(items):
    """What stands here compares times, and runs by itself: `pytest -m bench`."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.bench)

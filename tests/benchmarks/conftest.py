import cv2
import pytest


@pytest.fixture
def one_thread():
    """OpenCV on one core."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    yield
    cv2.setNumThreads(before)

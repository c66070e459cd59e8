"""Work on cases in pieces."""

from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from salstats.checks import SalstatsError
from salstats.jobs import in_pieces


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_opencv_cannot_do_is_a_sentence_that_names_the_cases(jobs):
    def work(piece):
        return cv2.resize(np.empty((0, 0)), (2, 2))

    with pytest.raises(SalstatsError, match=r"OpenCV cannot work on an image.*case 'a'"):
        in_pieces(work, [SimpleNamespace(case="a")], jobs=jobs, progress=False, label="")

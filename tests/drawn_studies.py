"""Studies of one case that tests draw pixel by pixel, and the rows of their scores."""

import numpy as np

import salstats as ss


def square(*cells, shape=(8, 8)):
    """A mask with some pixels."""
    mask = np.zeros(shape, bool)
    for row, col in cells:
        mask[row, col] = True
    return mask


BLOCK = [(r, c) for r in (2, 3, 4) for c in (2, 3, 4)]


def drawn(saliency=None, truth=None, **options):
    """A study of one case and task."""
    truths = {("a", "Edema"): square(*BLOCK) if truth is None else truth}
    return ss.study_from_arrays(
        truths, {} if saliency is None else {("a", "Edema", "cam"): saliency}, **options
    )


def only(scores, metric="iou", method="cam"):
    """The one row of a metric and method."""
    rows = scores[scores["metric"].eq(metric) & scores["method"].eq(method)]
    assert len(rows) == 1
    return rows.iloc[0]

import numpy as np
import pytest

import salstats as ss
from salstats.checks import ShapeError, ValueRangeError
from salstats.images.masks import encode
from salstats.metrics.boundary_iou import boundary_iou
from salstats.metrics.overlap import iou


def by_definition(mask, truth, width):
    """IoU of the pixels within some steps (8 neighbours) of a pixel that is not of their mask."""

    def band(marked):
        background = np.argwhere(~np.pad(marked, 1)) - 1
        return {
            (r, c)
            for r, c in np.argwhere(marked).tolist()
            if np.abs(background - (r, c)).max(axis=1).min() <= width
        }

    ours, theirs = band(mask), band(truth)
    return len(ours & theirs) / len(ours | theirs)


@pytest.mark.parametrize("dilation", [0.01, 0.05, 0.12])
def test_it_is_its_definition(dilation):
    rng = np.random.default_rng(0)
    shape = (24, 31)
    width = max(1, round(dilation * np.hypot(*shape)))
    rows, cols = np.mgrid[: shape[0], : shape[1]]
    disk = (rows - 11) ** 2 + (cols - 14) ** 2 < 81
    drawn = [
        disk,
        np.roll(disk, 3, axis=1),
        disk & (rng.random(shape) < 0.98),
        rows < 20,
        np.ones(shape, bool),
    ]
    for mask in drawn:
        for truth in drawn:
            assert boundary_iou(mask, truth, dilation=dilation) == by_definition(mask, truth, width)


def test_nothing_marked():
    none, some = np.zeros((6, 6), bool), np.eye(6, dtype=bool)
    assert np.isnan(boundary_iou(none, none))
    assert boundary_iou(none, some) == boundary_iou(some, none) == 0
    assert boundary_iou(encode(some), some) == 1


def test_what_cannot_be_is_named():
    with pytest.raises(ShapeError, match="must have the same shape"):
        boundary_iou(np.eye(3), np.eye(4))
    for dilation in (0, -0.1, 1.5, np.nan, "2%"):
        with pytest.raises(ValueRangeError, match="dilation must be a share"):
            boundary_iou(np.eye(3), np.eye(3), dilation=dilation)


def test_a_study_is_scored_and_says_how():
    truth = np.zeros((40, 40), bool)
    truth[5:30, 5:30] = True
    study = ss.study_from_arrays({("a", "t"): truth}, {("a", "t", "cam"): np.roll(truth, 2, axis=0) * 0.9})
    scores = ss.score(study, metrics=["iou", "boundary_iou"], options={"boundary_iou": {"dilation": 0.05}})
    scores = scores.set_index("metric")
    assert scores["score"].to_dict() == {
        "iou": iou(np.roll(truth, 2, axis=0), truth),
        "boundary_iou": boundary_iou(np.roll(truth, 2, axis=0), truth, dilation=0.05),
    }
    assert scores.loc["boundary_iou", "metric_options"] == "bands of 5% of the diagonal"

"""Scores of a map of 1024 x 1024 pixels against scikit-learn and plain NumPy, within one run."""

import cv2
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from timing import fastest

from salstats.images.fixations import Fixations, fixation_density
from salstats.metrics.fixation import MIT_EPSILON, RankedMap, auc, kl, ncc, sauc, sim
from salstats.metrics.fixation_points import auc_points, nss

pytestmark = pytest.mark.usefixtures("one_thread")

SHAPE = (1024, 1024)
# the figure to reach: an exact area against scikit-learn's weighted one, which is the same number
TIMES_FASTER = 3
#: The same at 60 fixations; pysaliency, which needs an older NumPy, takes a fifth of scikit-learn's time.
TIMES_FASTER_AT_POINTS = 5
#: Two sums over a million pixels, in different orders.
SAME = 1e-9
#: Turns that a disturbed machine may take; the fastest runs of both sides count.
TURNS = 8

MAPS = {
    # no two pixels tie
    "smooth": lambda rng: cv2.GaussianBlur(rng.random(SHAPE), (0, 0), 20),
    # the usual map: 14 x 14, bilinear
    "resized": lambda rng: cv2.resize(rng.random((14, 14)), SHAPE),
    "blocks": lambda rng: np.kron(rng.random((16, 16)), np.ones((64, 64))),
    "grey levels": lambda rng: rng.integers(0, 256, SHAPE).astype(np.float64),
}


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(1).integers(0, SHAPE[0], (60, 2))


@pytest.fixture(scope="module")
def density(points):
    n = len(points)
    shown = np.tile([0, 0, *SHAPE], (n, 1))
    return fixation_density(Fixations(points.astype(float), np.ones(n), np.full((n, 2), 40.0), shown), SHAPE)


@pytest.fixture(scope="module")
def center_bias():
    middle = np.exp(-((np.arange(SHAPE[0]) - 512) ** 2) / (2 * 200.0**2))
    return np.outer(middle, middle)


@pytest.fixture(params=MAPS)
def saliency(request):
    return MAPS[request.param](np.random.default_rng(0))


def weighted_area(saliency, positives, negatives):
    """The plain steps: every pixel once as a positive, once as a negative, by weight."""
    labels, scores = np.repeat([True, False], saliency.size), np.tile(saliency.ravel(), 2)
    weights = np.concatenate([d.ravel() / d.sum() for d in (positives, negatives)])
    return roc_auc_score(labels, scores, sample_weight=weights)


def test_exact_areas_are_three_times_faster_than_in_scikit_learn(saliency, density, center_bias):
    uniform = np.ones(SHAPE)
    for ours, theirs in (
        (lambda: auc(saliency, density), lambda: weighted_area(saliency, density, uniform)),
        (lambda: sauc(saliency, density, center_bias), lambda: weighted_area(saliency, density, center_bias)),
    ):
        assert abs(ours() - theirs()) < SAME
        fast, slow = fastest(ours, theirs, enough=TIMES_FASTER, turns=TURNS, least=2)
        assert slow > TIMES_FASTER * fast


def test_areas_at_fixations_are_five_times_faster_than_in_scikit_learn(saliency, points):
    def plain():
        labels = np.repeat([True, False], [len(points), saliency.size])
        return roc_auc_score(labels, np.append(saliency[tuple(points.T)], saliency))

    assert abs(auc_points(saliency, points) - plain()) < SAME
    fast, slow = fastest(
        lambda: auc_points(saliency, points), plain, enough=TIMES_FASTER_AT_POINTS, turns=TURNS, least=2
    )
    assert slow > TIMES_FASTER_AT_POINTS * fast


def test_one_sort_serves_five_readers(saliency, density, center_bias):
    densities = np.stack([density] * 5)
    fast, slow = fastest(
        lambda: RankedMap(saliency).auc(densities),
        lambda: [auc(saliency, density) for _ in range(5)],
        enough=1.5,
        turns=TURNS,
        least=2,
    )
    assert slow > 1.5 * fast


def plain_nss(saliency, points, density):
    rows, columns = points.T
    z = (saliency - saliency.mean()) / saliency.std()
    return z[rows, columns].mean()


def plain_sim(saliency, points, density):
    return np.minimum(saliency / saliency.sum(), density / density.sum()).sum()


def plain_kl(saliency, points, density):
    read = saliency / saliency.sum()
    wanted = density / density.sum()
    return (wanted * np.log(MIT_EPSILON + wanted / (read + MIT_EPSILON))).sum()


def plain_ncc(saliency, points, density):
    read = (saliency - saliency.mean()) / saliency.std()
    wanted = (density - density.mean()) / density.std()
    return (read * wanted).mean()


#: The formula that a user would write, and ours, whose checks are part of its time.
KERNELS = {
    "nss": (plain_nss, lambda saliency, points, density: nss(saliency, points)),
    "sim": (plain_sim, lambda saliency, points, density: sim(saliency, density)),
    "kl": (plain_kl, lambda saliency, points, density: kl(saliency, density)),
    "ncc": (plain_ncc, lambda saliency, points, density: ncc(saliency, density)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_with_their_checks_take_no_longer_than_plain_numpy(name, points, density):
    saliency = MAPS["smooth"](np.random.default_rng(0))
    plain, kernel = KERNELS[name]
    assert kernel(saliency, points, density) == pytest.approx(plain(saliency, points, density), abs=SAME)
    fast, slow = fastest(
        lambda: kernel(saliency, points, density),
        lambda: plain(saliency, points, density),
        enough=1,
        turns=60,
        least=10,
    )
    assert slow > fast

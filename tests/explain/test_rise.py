import numpy as np
import pytest

from salstats.checks import ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
from explain.runner_requests import ask, noise, seeded  # noqa: E402

from salstats.explain.making import explain  # noqa: E402
from salstats.explain.rise import draw_masks, make_masks  # noqa: E402

nn = torch.nn

SINGLE = 1e-5
#: Standard deviations of a Monte Carlo mean; the largest of some hundreds of pixels is within five.
SIGMAS = 5.0


class OnePixel(nn.Module):
    """Its outputs are pixels of the image."""

    def __init__(self, *places):
        super().__init__()
        self.places = places

    def forward(self, x):
        return torch.stack([x[:, 0, row, column] for row, column in self.places], dim=1)


def enlarged_weights(side, cells):
    """What each cell gives to each pixel of an enlarged row, by NumPy's own interpolation."""
    n_pixels = (cells + 1) * -(-side // cells)
    centres = (np.arange(n_pixels) + 0.5) * cells / n_pixels - 0.5
    return np.stack([np.interp(centres, np.arange(cells), row) for row in np.eye(cells)], axis=1)


def mean_product(side, cells, place):
    """Mean over shifts of the sum over cells of a place's weight times each other pixel's."""
    weights = enlarged_weights(side, cells)
    shifts = range(-(-side // cells))
    return np.mean([weights[s : s + side] @ weights[s + place] for s in shifts], axis=0)


def test_of_one_pixel_the_map_is_the_covariance_of_masks_and_peaks_there():
    place, cells, keep, n_masks = (9, 8), 4, 0.4, 8000
    x = torch.full((1, 1, 16, 18), 2.0)
    options = {"n_masks": n_masks, "cells": cells, "keep": keep, "probability": "none", "batch_size": 200}
    found = ask("rise", OnePixel(place), x, 0, **options)[0, 0].numpy()
    # E[M(q) M(p)] / keep: cells are independent, so it is keep + (1 - keep) times the shared weight
    shared = np.outer(mean_product(16, cells, place[0]), mean_product(18, cells, place[1]))
    expected = 2.0 * (keep + (1 - keep) * shared)
    # a product of two masks lies between 0 and 1, so its deviation is at most 1/2
    assert np.abs(found - expected).max() < SIGMAS * 2.0 * 0.5 / (keep * np.sqrt(n_masks))
    assert np.unravel_index(found.argmax(), found.shape) == place


def test_the_mean_of_masks_is_the_probability_that_a_cell_is_kept():
    grids, shifts = draw_masks(np.random.default_rng(0), 4000, 5, 0.3, (13, 17))
    means = make_masks(grids, shifts, (13, 17)).mean(dim=0).numpy()
    assert np.abs(means - 0.3).max() < SIGMAS * np.sqrt(0.3 * 0.7 / 4000)


@pytest.mark.parametrize(("shape", "cells"), [((16, 16), 4), ((13, 17), 5), ((7, 30), 7)])
def test_masks_are_enlarged_grids_shifted(shape, cells):
    grids, shifts = draw_masks(np.random.default_rng(1), 20, cells, 0.5, shape)
    found = make_masks(grids, shifts, shape)
    sides = [-(-side // cells) for side in shape]
    for mask, cells_kept, (down, right) in zip(found, grids, shifts, strict=True):
        enlarged = nn.functional.interpolate(
            torch.as_tensor(cells_kept[None, None], dtype=torch.float32),
            size=[(cells + 1) * side for side in sides],
            mode="bilinear",
        )[0, 0]
        expected = enlarged[down : down + shape[0], right : right + shape[1]]
        assert torch.allclose(mask, expected, atol=SINGLE)
    assert (shifts.min(axis=0) == 0).all()
    assert (shifts.max(axis=0) <= np.array(sides) - 1).all()


def test_the_map_is_linear_in_the_outputs():
    x = noise(1, 1, 12, 12).abs()

    class Both(nn.Module):
        def forward(self, images):
            one = OnePixel((3, 3), (8, 6))(images)
            return torch.cat([one, 2 * one[:, :1] - 3 * one[:, 1:]], dim=1)

    options = {"n_masks": 100, "cells": 4, "probability": "none"}
    first, second, both = ask("rise", Both(), x.expand(3, -1, -1, -1), [0, 1, 2], seeds=[0] * 3, **options)
    assert torch.allclose(both, 2 * first - 3 * second, atol=SINGLE)


@pytest.mark.parametrize("probability", ["softmax", "sigmoid", "none"])
def test_masks_are_weighted_by_the_probability_behind_them(probability):
    model = seeded(lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(300, 4)))
    x = noise(1, 2, 12, 12)
    grids, shifts = draw_masks(np.random.default_rng(0), 30, 3, 0.6, (12, 12))
    masks = make_masks(grids, shifts, (12, 12))
    with torch.no_grad():
        outputs = model(masks[:, None] * x)
    weights = {"softmax": outputs.softmax(dim=1), "sigmoid": outputs.sigmoid(), "none": outputs}[probability]
    expected = (weights[:, 2, None, None] * masks).sum(dim=0) / (0.6 * 30)
    found = ask("rise", model, x, 2, n_masks=30, cells=3, keep=0.6, probability=probability)
    assert torch.allclose(found[0, 0], expected.double(), atol=SINGLE)


def test_hidden_pixels_show_the_baseline():
    # the only pixel is the baseline where it is hidden, so it is 3 whatever the mask
    x = torch.full((1, 1, 8, 8), 3.0)
    found = ask("rise", OnePixel((2, 2)), x, 0, n_masks=50, cells=4, probability="none", baseline=3.0)
    grids, shifts = draw_masks(np.random.default_rng(0), 50, 4, 0.5, (8, 8))
    expected = 3 * make_masks(grids, shifts, (8, 8)).sum(dim=0) / 25
    assert torch.allclose(found[0, 0], expected.double(), atol=SINGLE)


def test_one_set_of_passes_serves_all_targets_of_an_image():
    class Counting(OnePixel):
        n_images = 0

        def forward(self, x):
            self.n_images += len(x)
            return super().forward(x)

    model = Counting((2, 2), (5, 5))
    x = noise(1, 1, 8, 8).expand(4, -1, -1, -1)
    ask("rise", model, x, [0, 1, 1, 0], seeds=[7] * 4, n_masks=40, cells=4)
    assert model.n_images == 40


def test_seeds_decide_and_neither_other_images_nor_batches_do():
    model = OnePixel((2, 2), (5, 5))
    x = noise(3, 1, 8, 8)
    options = {"n_masks": 41, "cells": 4, "probability": "sigmoid"}
    first, again, other = (
        ask("rise", model, x, 1, seeds=s, **options) for s in ((1, 2, 3), (1, 2, 3), (9, 2, 3))
    )
    assert torch.equal(first, again)
    assert not torch.allclose(first[0], other[0])
    assert torch.equal(first[1:], other[1:])
    for place in range(3):
        alone = ask("rise", model, x[place : place + 1], 1, seeds=[place + 1], batch_size=7, **options)
        assert torch.allclose(alone[0], first[place], atol=SINGLE)


def test_global_random_numbers_are_left_alone():
    torch_state, numpy_state = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    ask("rise", OnePixel((2, 2)), noise(1, 1, 8, 8), 0, n_masks=10, cells=4)
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:FutureWarning")
def test_torchscript_is_taken():
    model = seeded(lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 3)))
    x = noise(2, 1, 8, 8)
    scripted = torch.jit.trace(model, x[:1])
    found, expected = (explain(m, x, 1, method="rise", n_masks=20, cells=4) for m in (scripted, model))
    assert np.allclose(found, expected, atol=SINGLE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_masks": 0}, "n_masks must be a whole number of at least 1"),
        ({"cells": 1}, "cells must be a whole number of at least 2"),
        ({"cells": 9}, "cells=9 along a side of 8 pixels"),
        ({"keep": 1.0}, "keep must lie strictly between 0 and 1"),
        ({"probability": "logit"}, "probability='logit' is not known"),
        ({"baseline": "gray"}, "baseline='gray' is not known"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueRangeError, match=message):
        ask("rise", OnePixel((1, 1)), noise(1, 1, 8, 8), 0, **options)


def test_masks_need_square_grids_and_a_shift_each():
    with pytest.raises(ShapeError, match="grids must have shape"):
        make_masks(np.zeros((2, 3, 4)), np.zeros((2, 2), int), (8, 8))
    with pytest.raises(ShapeError, match="shifts"):
        make_masks(np.zeros((2, 3, 3)), np.zeros((1, 2), int), (8, 8))


def test_sums_over_masks_are_not_in_the_half_precision_of_the_network():
    class Sure(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.nn.Parameter(torch.ones(1, 1))

        def forward(self, images):
            return self.one.expand(len(images), 1)

    options = {"n_masks": 200, "cells": 3, "probability": "none"}
    half, single = (
        ask("rise", Sure().to(kind), noise(1, 1, 9, 9).to(kind), 0, **options)
        for kind in (torch.bfloat16, torch.float32)
    )
    assert torch.allclose(half, single, atol=SINGLE)

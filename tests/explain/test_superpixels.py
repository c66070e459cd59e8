"""Superpixels; LIME and KernelSHAP against captum with the same samples, and against exact values."""

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import Setting, ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
captum = pytest.importorskip("captum.attr", reason="needs the explain extra")
from explain.runner_requests import Counting, ask, noise, seeded  # noqa: E402

from salstats.explain.superpixels import (  # noqa: E402
    draw_shapley_samples,
    grid_cell_numbers,
    superpixel_number_of_each_pixel,
)

nn = torch.nn

#: Single precision: outputs are compared as differences of two passes.
SINGLE = 1e-5
#: Linear models are fitted in single precision, two samples weighing a million times the others.
FITTED = 1e-3
SMALL = {
    "lime": {"n_segments": 12, "n_samples": 60, "alpha": 1e-4},
    "kernel_shap": {"n_segments": 12, "n_samples": 60},
}


def linear(shape, n_outputs=3):
    return seeded(lambda: nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), n_outputs)))


def cnn():
    return seeded(Counting)


def images(n=3, shape=(2, 11, 13)):
    return noise(n, *shape, seed=1)


def blank(*shape):
    return torch.zeros(shape)


def test_a_grid_is_counted_row_by_row():
    assert grid_cell_numbers((4, 4), 4).tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]


@pytest.mark.parametrize(
    ("shape", "n_segments", "n_rows", "n_columns"),
    [((8, 16), 8, 2, 4), ((12, 9), 12, 4, 3), ((1, 10), 3, 1, 3), ((2, 3), 100, 2, 3), ((30, 1), 5, 5, 1)],
)
def test_cells_of_a_grid_are_nearly_square_and_differ_by_a_pixel(shape, n_segments, n_rows, n_columns):
    cells = grid_cell_numbers(shape, n_segments)
    np.testing.assert_array_equal(np.unique(cells), np.arange(n_rows * n_columns))
    for row, row_of_cells in enumerate(np.array_split(np.arange(n_rows * n_columns), n_rows)):
        inside = np.isin(cells, row_of_cells).any(axis=1).sum()
        assert inside in {shape[0] // n_rows, -(-shape[0] // n_rows)}, row
    for column in range(n_columns):
        inside = (cells % n_columns == column).any(axis=0).sum()
        assert inside in {shape[1] // n_columns, -(-shape[1] // n_columns)}, column


def test_slic_follows_what_the_image_shows():
    half = blank(1, 20, 20)
    half[:, :, 10:] = 5.0
    segments = superpixel_number_of_each_pixel(half, "slic", 8)
    assert segments.shape == (20, 20)
    assert not set(segments[:, :10].ravel()) & set(segments[:, 10:].ravel())


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor, lambda given: lambda _: given])
def test_given_ones_are_counted_from_0_without_gaps(kind):
    given = np.array([[7, 7, -2], [30, 30, 30]])
    found = superpixel_number_of_each_pixel(blank(2, 2, 3), kind(given))
    assert found.tolist() == [[1, 1, 0], [2, 2, 2]]


@pytest.mark.parametrize(
    ("segments", "n", "kind", "fields"),
    [
        ("cells", 9, ValueRangeError, {"option": "segments", "choices": ("grid", "slic")}),
        ("grid", 0, ValueRangeError, {"option": "n_segments", "value": 0}),
        (np.zeros((3, 2), int), 9, ShapeError, {"option": "segments", "match": r"\(3, 2\); .*\(2, 3\)"}),
        (np.zeros((2, 3)), 9, ValueRangeError, {"option": "segments", "match": "float64"}),
    ],
)
def test_bad_ones_are_named(segments, n, kind, fields):
    with raises(kind, **fields):
        superpixel_number_of_each_pixel(blank(1, 2, 3), segments, n)


def test_kernel_shap_of_a_linear_network_is_exact():
    shape = (2, 5, 7)
    model, x = linear(shape), images(2, shape)
    segments = grid_cell_numbers((5, 7), 6)
    baseline = noise(*shape, seed=5)
    parts = (model[1].weight[1].reshape(shape) * (x - baseline)).sum(dim=1).detach().numpy()
    found = ask("kernel_shap", model, x, 1, n_segments=6, n_samples=80, baseline=baseline.numpy())
    for image, part in zip(found[:, 0].numpy(), parts, strict=True):
        for segment in range(6):
            values = image[segments == segment]
            assert np.ptp(values) == 0
            assert values[0] == pytest.approx(part[segments == segment].sum(), abs=FITTED)


def test_kernel_shap_is_the_shapley_value_of_three_superpixels():
    class Product(nn.Module):
        """1 where both left parts are shown, and 2 for the right one."""

        def forward(self, x):
            a, b, c = x[:, 0, 0, 0], x[:, 0, 1, 0], x[:, 0, 0, 1]
            return torch.stack([a * b + 2 * c], dim=1)

    segments = np.array([[0, 2], [1, 2]])
    # the product is shared by halves; the regression is exact only with all subsets in proportion, which 4000
    # draws come near
    found = ask("kernel_shap", Product(), torch.ones(1, 1, 2, 2), 0, segments=segments, n_samples=4000)
    assert np.allclose(found[0, 0], [[0.5, 2.0], [0.5, 2.0]], atol=0.02)


def test_kernel_shap_adds_up_to_the_difference_of_outputs():
    model, x = cnn(), images(2)
    found = ask("kernel_shap", model, x, 2, n_segments=9, n_samples=100)[:, 0].numpy()
    with torch.no_grad():
        difference = (model(x) - model(torch.zeros_like(x)))[:, 2].numpy()
    cells = grid_cell_numbers((11, 13), 9)
    sums = [sum(image[cells == cell][0] for cell in range(9)) for image in found]
    assert np.allclose(sums, difference, atol=FITTED)


def test_shapley_samples_have_the_kernels_sizes():
    samples = draw_shapley_samples(np.random.default_rng(0), 40002, 5)
    assert samples[0].all()
    assert not samples[1].any()
    sizes = np.bincount(samples[2:].sum(axis=1), minlength=6)
    assert sizes[0] == sizes[5] == 0
    kernel = np.array([1 / (k * (5 - k)) for k in range(1, 5)])
    # binomial counts: 5 standard deviations
    assert np.allclose(sizes[1:5] / 40000, kernel / kernel.sum(), atol=5 * 0.5 / 200)
    # each superpixel as often as any other
    assert np.allclose(samples[2:].mean(axis=0), 0.5, atol=5 * 0.5 / 200)


@pytest.mark.parametrize("method", SMALL)
def test_surrogates_are_captums_with_the_same_samples(method):
    # outputs so large that captum's own penalty, 0.01, leaves superpixels
    model, x = cnn(), 20 * images(1)
    options = SMALL[method] | ({"alpha": 0.01} if method == "lime" else {})
    generator = np.random.default_rng(0)
    cells = torch.as_tensor(grid_cell_numbers((11, 13), 12))[None, None]
    if method == "kernel_shap":
        samples = draw_shapley_samples(generator, 60, 12)
        reference = captum.KernelShap(model)
    else:
        samples = generator.random((60, 12)) < 0.5
        reference = captum.Lime(model)

    def given(image, **_):
        for sample in samples:
            yield torch.as_tensor(sample[None]).long()

    # captum draws from torch's global generator: its samples are replaced, all else is its own
    reference.perturb_func = given
    expected = reference.attribute(x, target=1, feature_mask=cells, n_samples=60, perturbations_per_eval=9)
    found = ask(method, model, x, 1, **options)
    assert torch.allclose(found[:, 0], expected[:, 0].double(), atol=FITTED)
    assert len(expected.unique()) > 6


@pytest.mark.parametrize("kernel_width", [0.2, 0.5, 1.0])
def test_lime_weighs_samples_by_their_cosine_to_the_image(kernel_width):
    model, x = cnn(), 20 * images(1)
    # of a penalty of nearly 0 the Lasso is weighted least squares
    options = {"n_segments": 6, "n_samples": 60, "alpha": 1e-6, "kernel_width": kernel_width}
    found = ask("lime", model, x, 1, **options)[0, 0].numpy()
    cells = grid_cell_numbers((11, 13), 6)
    shown = np.random.default_rng(0).random((60, 6)) < 0.5
    samples = np.where(shown[:, cells][:, None], x.numpy(), 0.0).astype(np.float32)
    with torch.no_grad():
        outputs = model(torch.as_tensor(samples))[:, 1].numpy()
    flat, image = samples.reshape(60, -1), x.numpy().ravel()
    # the image is 0 outside of the superpixels shown
    cosine = flat @ image / (np.linalg.norm(flat, axis=1).clip(1e-9) * np.linalg.norm(image))
    root_weights = np.exp(-((1 - cosine) ** 2) / (4 * kernel_width**2))
    design = np.column_stack([np.ones(60), shown])
    expected = np.linalg.lstsq(design * root_weights[:, None], outputs * root_weights, rcond=None)[0][1:]
    assert np.allclose([found[cells == cell].mean() for cell in range(6)], expected, rtol=FITTED)


@pytest.mark.parametrize(
    ("method", "options", "kind", "value"),
    [
        ("lime", {"baseline": np.zeros(3)}, ShapeError, (3,)),
        ("lime", {"alpha": 0}, ValueRangeError, 0),
        ("lime", {"kernel_width": -1}, ValueRangeError, -1),
        ("lime", {"n_samples": 5}, ValueRangeError, 5),
        ("kernel_shap", {"n_samples": 50}, ValueRangeError, 50),
        ("kernel_shap", {"n_segments": 1}, ValueRangeError, None),
    ],
)
def test_bad_options_are_named(method, options, kind, value):
    (option,) = options
    with raises(kind, option=option, value=value):
        ask(method, cnn(), images(1, (2, 21, 21)), 0, **options)


@pytest.mark.parametrize(
    ("options", "option", "hint"),
    [
        ({"n_segments": 1}, "n_segments", Setting("n_segments", 49)),
        ({"segments": np.zeros((6, 6), int)}, "segments", Setting("segments")),
        ({"segments": lambda image: np.zeros(image.shape[1:], int)}, "segments", Setting("segments")),
        ({"segments": "slic", "n_segments": 2}, "segments", Setting("segments", "grid")),
    ],
    ids=["number", "array", "callable", "slic"],
)
def test_the_hint_for_a_single_superpixel_names_what_gives_more(options, option, hint):
    model = seeded(lambda: nn.Sequential(nn.Flatten(), nn.Linear(36, 2)))
    with raises(ValueRangeError, option=option, hint=hint):
        ask("lime", model, torch.ones(1, 1, 6, 6), 0, **options)

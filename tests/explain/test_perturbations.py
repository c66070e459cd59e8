import numpy as np
import pytest

from salstats.checks import ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
captum = pytest.importorskip("captum.attr", reason="needs the explain extra")
from captum._utils.models.linear_model import SkLearnLasso  # noqa: E402
from explain.runner_requests import ask, noise, seeded, state  # noqa: E402

from salstats.explain.making import explain  # noqa: E402
from salstats.explain.perturbations import shapley_samples  # noqa: E402
from salstats.explain.superpixels import grid  # noqa: E402

nn = torch.nn

#: Single precision: outputs are compared as differences of two passes.
SINGLE = 1e-5
#: captum fits its linear models in single precision, two samples weighing a million times the others.
FITTED = 1e-3

SURROGATES = ("lime", "kernel_shap")
METHODS = ("occlusion", *SURROGATES)
SMALL = {
    "occlusion": {"window": 4, "stride": 3},
    "lime": {"n_segments": 12, "n_samples": 60, "alpha": 1e-4},
    "kernel_shap": {"n_segments": 12, "n_samples": 60},
}


def linear(shape, n_outputs=3):
    return seeded(lambda: nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), n_outputs)))


class Counting(nn.Module):
    """A small CNN that counts the images it sees."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(2, 4, 3), nn.Linear(4, 3)
        self.n_images = 0

    def forward(self, x):
        self.n_images += len(x)
        return self.head(torch.relu(self.conv(x)).mean(dim=(2, 3)))


def cnn():
    return seeded(Counting)


def images(n=3, shape=(2, 11, 13)):
    return noise(n, *shape, seed=1)


def by_hand(model, image, target, window, stride, value=0.0):
    """Occlusion as its definition reads: each window by itself, means over those that cover a pixel."""
    height, width = image.shape[1:]
    total, seen = np.zeros((height, width)), np.zeros((height, width))
    with torch.no_grad():
        whole = model(image[None])[0, target].item()
        for top in range(0, height, stride[0]):
            for left in range(0, width, stride[1]):
                hidden = image.clone()
                hidden[:, top : top + window[0], left : left + window[1]] = value
                fall = whole - model(hidden[None])[0, target].item()
                total[top : top + window[0], left : left + window[1]] += fall
                seen[top : top + window[0], left : left + window[1]] += 1
                if left + window[1] >= width:
                    break
            if top + window[0] >= height:
                break
    return total / seen


@pytest.mark.parametrize(
    ("window", "stride"), [(1, 1), (4, 3), (5, 5), ((3, 6), (2, 5)), ((11, 13), (1, 1)), (11, 4)]
)
def test_occlusion_is_captums(window, stride):
    model, x, targets = cnn(), images(), [0, 1, 2]
    rows, columns = (window, window) if isinstance(window, int) else window
    down, right = (stride, stride) if isinstance(stride, int) else stride
    expected = captum.Occlusion(model).attribute(
        x,
        (2, rows, columns),
        strides=(2, down, right),
        target=torch.tensor(targets),
        perturbations_per_eval=7,
    )
    found = ask("occlusion", model, x, targets, window=window, stride=stride)
    assert found.shape == (3, 1, 11, 13)
    assert torch.allclose(found.expand(-1, 2, -1, -1), expected.double(), atol=SINGLE)


@pytest.mark.parametrize("baseline", [0.0, 1.5])
def test_occlusion_is_its_definition(baseline):
    model, x = cnn(), images(1)
    found = ask("occlusion", model, x, 1, window=(4, 5), stride=(3, 2), baseline=baseline)
    expected = by_hand(model, x[0], 1, (4, 5), (3, 2), baseline)
    assert np.allclose(found[0, 0], expected, atol=SINGLE)


def test_occlusion_of_a_linear_network_by_one_pixel_is_weight_times_value():
    shape = (2, 4, 5)
    model, x = linear(shape), images(2, shape)
    expected = (model[1].weight[2].reshape(shape) * x).sum(dim=1)
    found = ask("occlusion", model, x, 2, window=1, stride=1)
    assert torch.allclose(found[:, 0], expected.double(), atol=SINGLE)


@pytest.mark.parametrize("method", METHODS)
def test_one_set_of_passes_serves_all_targets_of_an_image(method):
    model, x = cnn(), images(1)
    ask(method, model, x, 0, **SMALL[method])
    once = model.n_images
    model.n_images = 0
    together = ask(method, model, x.expand(3, -1, -1, -1), [0, 1, 2], seeds=[0, 0, 0], **SMALL[method])
    assert model.n_images == once
    for target in range(3):
        alone = ask(method, model, x, target, **SMALL[method])
        assert torch.allclose(together[target], alone[0], atol=SINGLE)


@pytest.mark.parametrize("method", SURROGATES)
def test_hidden_images_are_made_once_for_all_targets(method, monkeypatch):
    made = []

    class Counted(captum.Lime):
        def attribute(self, *args, **options):
            made.append(options["n_samples"])
            return super().attribute.__wrapped__(self, *args, **options)

    monkeypatch.setattr("salstats.explain.perturbations.Lime", Counted)
    found = ask(method, cnn(), images(1)[[0, 0, 0]], [0, 1, 2], seeds=[4] * 3, **SMALL[method])
    assert made == [SMALL[method]["n_samples"]]
    alone = ask(method, cnn(), images(1), 1, seeds=[4], **SMALL[method])
    assert torch.allclose(found[1], alone[0], atol=FITTED)


def test_kernel_shap_of_a_linear_network_is_exact():
    shape = (2, 5, 7)
    model, x = linear(shape), images(2, shape)
    segments = grid((5, 7), 6)
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
    cells = grid((11, 13), 9)
    sums = [sum(image[cells == cell][0] for cell in range(9)) for image in found]
    assert np.allclose(sums, difference, atol=FITTED)


def test_shapley_samples_have_the_kernels_sizes():
    samples = shapley_samples(np.random.default_rng(0), 40002, 5)
    assert samples[0].all()
    assert not samples[1].any()
    sizes = np.bincount(samples[2:].sum(axis=1), minlength=6)
    assert sizes[0] == sizes[5] == 0
    kernel = np.array([1 / (k * (5 - k)) for k in range(1, 5)])
    # binomial counts: 5 standard deviations
    assert np.allclose(sizes[1:5] / 40000, kernel / kernel.sum(), atol=5 * 0.5 / 200)
    # each superpixel as often as any other
    assert np.allclose(samples[2:].mean(axis=0), 0.5, atol=5 * 0.5 / 200)


def test_lime_finds_the_sign_of_what_superpixels_do():
    class Parts(nn.Module):
        def forward(self, x):
            return torch.stack([3 * x[:, 0, :2].sum(dim=(1, 2)) - 2 * x[:, 0, 2:].sum(dim=(1, 2))], dim=1)

    found = ask("lime", Parts(), torch.ones(1, 1, 4, 4), 0, n_segments=4, n_samples=200)[0, 0].numpy()
    assert (found[:2] > 0).all()
    assert (found[2:] < 0).all()
    # four pixels each, of weights 3 and -2, but for what the penalty takes
    assert np.allclose(
        found, np.repeat([[12.0], [-8.0]], 2, axis=0).repeat(4, axis=1).reshape(4, 4), atol=0.3
    )


def test_a_larger_penalty_leaves_fewer_superpixels():
    model, x = cnn(), images(1)
    full, sparse = (
        len(np.unique(ask("lime", model, x, 0, n_segments=12, n_samples=200, alpha=alpha)))
        for alpha in (1e-5, 0.005)
    )
    assert full == 12
    assert sparse < 12


@pytest.mark.parametrize("method", SURROGATES)
def test_surrogates_are_captums_with_the_same_samples(method):
    model, x = cnn(), images(1)
    options = SMALL[method]
    generator = np.random.default_rng(0)
    cells = torch.as_tensor(grid((11, 13), 12))[None, None]
    if method == "kernel_shap":
        samples = shapley_samples(generator, 60, 12)
        reference = captum.KernelShap(model)
    else:
        samples = generator.random((60, 12)) < 0.5
        reference = captum.Lime(model, interpretable_model=SkLearnLasso(alpha=1e-4))

    def given(image, **_):
        for sample in samples:
            yield torch.as_tensor(sample[None]).long()

    # captum draws from torch's global generator: its samples are replaced, all else is its own
    reference.perturb_func = given
    expected = reference.attribute(x, target=1, feature_mask=cells, n_samples=60, perturbations_per_eval=9)
    found = ask(method, model, x, 1, **options)
    assert torch.allclose(found[:, 0], expected[:, 0].double(), atol=FITTED)


@pytest.mark.parametrize("method", SURROGATES)
def test_seeds_decide_on_surrogates(method):
    model, x = cnn(), images(2)
    options = SMALL[method]
    first, again, other = (
        ask(method, model, x, 0, seeds=seeds, **options) for seeds in ((3, 4), (3, 4), (5, 4))
    )
    assert torch.equal(first, again)
    assert not torch.equal(first[0], other[0])
    assert torch.equal(first[1], other[1])


@pytest.mark.parametrize("method", METHODS)
def test_maps_do_not_depend_on_other_images_or_the_size_of_batches(method):
    model, x = cnn(), images()
    together = ask(method, model, x, [0, 1, 2], **SMALL[method])
    for place in range(3):
        alone = ask(method, model, x[place : place + 1], place, seeds=[place], batch_size=3, **SMALL[method])
        assert torch.allclose(together[place], alone[0], atol=FITTED)


@pytest.mark.parametrize("method", METHODS)
def test_model_images_and_global_random_numbers_are_left_alone(method):
    model, x = cnn(), images()
    before, copy = state(model), x.clone()
    torch_state, numpy_state = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    ask(method, model, x, 0, **SMALL[method])
    assert state(model) == before
    assert torch.equal(x, copy)
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:FutureWarning")
def test_torchscript_is_taken(method):
    plain = seeded(lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 99, 3)))
    x = images()
    scripted = torch.jit.trace(plain, x[:1])
    expected, found = (explain(model, x, 1, method=method, **SMALL[method]) for model in (plain, scripted))
    assert np.allclose(found, expected, atol=FITTED)


@pytest.mark.parametrize(
    ("method", "options", "kind", "message"),
    [
        (
            "occlusion",
            {"window": 12, "stride": 4},
            ValueRangeError,
            r"window=\(12, 12\) is larger than the image",
        ),
        ("occlusion", {"window": 3, "stride": 4}, ValueRangeError, "pixels would be left unseen"),
        ("occlusion", {"window": 0}, ValueRangeError, "window must be a whole number of at least 1"),
        ("occlusion", {"window": (3, 3, 3)}, ValueRangeError, "window must be a number of pixels or"),
        ("occlusion", {"window": 4, "stride": 2.5}, ValueRangeError, "stride must be a whole number"),
        ("lime", {"baseline": np.zeros(3)}, ShapeError, "baseline has shape"),
        ("lime", {"alpha": 0}, ValueRangeError, "alpha must be a positive number, not 0"),
        ("lime", {"kernel_width": -1}, ValueRangeError, "kernel_width must be a positive number"),
        ("lime", {"n_samples": 5}, ValueRangeError, "n_samples=5 are too few for 49 superpixels"),
        ("kernel_shap", {"n_samples": 50}, ValueRangeError, "n_samples=50 are too few for 49 superpixels"),
        ("kernel_shap", {"n_segments": 1}, ValueRangeError, "an image of one superpixel"),
    ],
)
def test_bad_options_are_named(method, options, kind, message):
    size = (2, 21, 21) if method != "occlusion" else (2, 11, 13)
    with pytest.raises(kind, match=message):
        ask(method, cnn(), images(1, size), 0, **options)

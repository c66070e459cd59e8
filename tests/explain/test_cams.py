"""CAMs against pytorch-grad-cam called directly; activations against what a module gives."""

import contextlib
import io
import subprocess
import sys

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import SalstatsError, ShapeError
from salstats.images.map_steps import rescale

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
from salstats.explain.saliency_maps import explain  # noqa: E402

nn = torch.nn
#: Single precision through two small networks, in another order of summation.
ROUNDING = 1e-5
#: The library adds 1e-7 to each layer's range before it takes the mean; ranges here are 1e-3 and more.
LIBRARY_RANGE = 1e-3
METHODS = (
    "gradcam",
    "gradcam++",
    "eigencam",
    "scorecam",
    "layercam",
    "hirescam",
    "xgradcam",
    "ablationcam",
)


def cnn(*, in_place=False, seed=0):
    """A network of two convolutions, average pooling and a linear layer."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(3, 6, 3, 2, 1),
            nn.ReLU(in_place),
            nn.Conv2d(6, 10, 3, 2, 1),
            nn.ReLU(in_place),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(10, 4),
        )


def vit():
    """A small vision transformer with a grid of 4 x 4 patches."""
    models = pytest.importorskip("torchvision.models.vision_transformer", reason="needs the explain extra")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = models.VisionTransformer(
            image_size=32,
            patch_size=8,
            num_layers=2,
            num_heads=2,
            hidden_dim=12,
            mlp_dim=24,
            num_classes=4,
        )
        # torchvision starts the head at 0, where no map has anything to show
        nn.init.normal_(model.heads.head.weight)
    return model


def pictures(n=5, size=32):
    return torch.from_numpy(np.random.default_rng(1).normal(size=(n, 3, size, size)).astype(np.float32))


def library_maps(method, model, layers, images, targets, reshape=None):
    """Maps of pytorch-grad-cam called directly: scaled, at the size of the images."""
    import pytorch_grad_cam as library
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    names = ("GradCAM", "GradCAMPlusPlus", "EigenCAM", "ScoreCAM", "LayerCAM", "HiResCAM", "XGradCAM")
    kind = dict(zip(METHODS, (*names, "AblationCAM"), strict=True))[method]
    cam = getattr(library, kind)(model, [model.get_submodule(name) for name in layers], reshape)
    with contextlib.redirect_stderr(io.StringIO()):
        return cam(images, [ClassifierOutputTarget(t) for t in targets])


@pytest.mark.parametrize("sign", ["positive", "signed"])
def test_gradcam_of_a_pooling_network_is_its_class_weights_times_the_activations(sign):
    model, images = cnn(), pictures()
    made = explain(model, images, 2, method="gradcam", layer="3", resolution="network", sign=sign)
    with torch.no_grad():
        activations = model[:4](images).numpy()
    pixels = activations.shape[2] * activations.shape[3]
    expected = np.einsum("k,nkij->nij", model[6].weight[2].detach().numpy(), activations) / pixels
    expected = np.maximum(expected, 0) if sign == "positive" else expected
    assert made.shape == (5, 8, 8)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, expected, atol=ROUNDING)
    assert (expected > 0).any()


def test_hirescam_of_a_pooling_network_adds_up_to_the_output_less_its_bias():
    model, images = cnn(), pictures()
    made = explain(model, images, 1, method="hirescam", layer="3", resolution="network", sign="signed")
    with torch.no_grad():
        outputs = model(images)[:, 1] - model[6].bias[1]
    np.testing.assert_allclose(made.sum(axis=(1, 2)), outputs.numpy(), atol=ROUNDING)


@pytest.mark.parametrize("axis", ["first", "last"])
def test_ablationcam_weights_a_channel_by_the_fall_of_the_output_where_it_is_zero(axis):
    if axis == "first":
        model, name, reshape, layer = cnn(), "3", None, 3
        layer = model[3]
    else:
        model, name, reshape = vit(), "encoder.layers.encoder_layer_1.ln_1", "vit"
        layer = model.get_submodule(name)
    model.eval()
    images = pictures(1)
    made = explain(
        model, images, 1, method="ablationcam", layer=name, reshape=reshape, sign="signed",
        resolution="network", batch_size=5,
    )  # fmt: skip
    held = []

    def output_without(channel):
        def hook(module, given, output):
            output = output.clone()
            if channel is not None:
                output[(slice(None), channel) if axis == "first" else (..., channel)] = 0
            held[:] = [output]
            return output

        handle = layer.register_forward_hook(hook)
        with torch.no_grad():
            score = float(model(images)[0, 1])
        handle.remove()
        return score

    whole = output_without(None)
    grid = held[0][0].numpy()
    if axis == "last":
        grid = grid[1:].T.reshape(12, 4, 4)
    falls = np.array([(whole - output_without(k)) / whole for k in range(len(grid))])
    np.testing.assert_allclose(made[0], np.einsum("k,kij->ij", falls, grid), atol=ROUNDING)


def louder(model):
    """The network with larger outputs: gradients of an average are small, where the library's 1e-7 shows."""
    with torch.no_grad():
        model[6].weight *= 1000
    return model


def tokens_on_a_grid(tokens):
    from pytorch_grad_cam.utils.reshape_transforms import vit_reshape_transform

    return vit_reshape_transform(tokens, 4, 4)


#: Network, layers, what lays tokens on a grid, and how near the library comes.
SETUPS = {
    "one layer": (cnn, ["3"], None, ROUNDING),
    "several layers": (lambda: louder(cnn()), ["3", "1"], None, LIBRARY_RANGE),
    "tokens": (vit, ["encoder.layers.encoder_layer_1.ln_1"], tokens_on_a_grid, ROUNDING),
}


@pytest.mark.parametrize(
    ("method", "setup"),
    # where a layer has negative values the library's Ablation-CAM depends on the batch
    [(m, s) for m in METHODS for s in SETUPS if (m, s) != ("ablationcam", "tokens")],
)
def test_cam_agrees_with_the_library_called_directly(method, setup):
    make, layers, reshape, tolerance = SETUPS[setup]
    model, images, targets = make(), pictures(), [0, 1, 2, 3, 1]
    made = explain(model, images, targets, method=method, layer=layers, reshape=reshape and "vit")
    expected = library_maps(method, model, sorted(layers), images, targets, reshape)
    np.testing.assert_allclose([rescale(m) for m in made], expected, atol=tolerance)


def of_the_field(name):
    """A small network of a kind that the README of pytorch-grad-cam names."""
    models = pytest.importorskip("torchvision.models", reason="needs the explain extra")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if name == "resnet":
            return models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 2], num_classes=4).eval()
        if name == "densenet":
            return models.DenseNet(8, (2, 2), 16, num_classes=4).eval()
        vgg = nn.Sequential()
        vgg.add_module("features", models.vgg.make_layers([8, "M", 16, "M"]))
        vgg.add_module("head", nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 4)))
        return vgg


@pytest.mark.parametrize(
    ("name", "layer", "default"),
    [
        ("resnet", "layer4.1", "layer4"),
        # the library's is pooled
        ("vgg", "features.5", "features.4"),
        # the library's is not yet rectified
        ("densenet", "features.norm5", "features+relu"),
    ],
)
def test_gradcam_agrees_with_the_library_called_as_its_readme_says(name, layer, default):
    model, images, targets = of_the_field(name), pictures(2, 64), [1, 2]
    # a ReLU in place changes what the library kept on a CPU; on a GPU it has a copy, as here
    expected = library_maps("gradcam", model, [layer], images, targets, torch.clone)
    made = explain(model, images, targets, layer=layer)
    np.testing.assert_allclose([rescale(m) for m in made], expected, atol=ROUNDING)
    found = explain(model, images, targets)
    np.testing.assert_array_equal(found, explain(model, images, targets, layer=default))
    assert made.any()
    assert found.any()
    assert np.allclose(found, made, atol=ROUNDING) == (name == "resnet")


@pytest.mark.parametrize("method", METHODS)
def test_targets_of_an_image_share_its_passes(method):
    model, images = cnn(), pictures(3)
    passes = []
    model.register_forward_pre_hook(lambda module, given: passes.append(len(given[0])))
    explain(model, images, 1, method=method, layer="3")
    once = list(passes)
    passes.clear()
    # not side by side, not equally many, one twice
    places, targets = [0, 1, 2, 0, 2, 0, 2], [0, 1, 2, 3, 1, 2, 2]
    made = explain(model, images[places], targets, method=method, layer="3")
    assert passes == once
    for one, place, target in zip(made, places, targets, strict=True):
        alone = explain(model, images[place : place + 1], target, method=method, layer="3")[0]
        np.testing.assert_allclose(one, alone, atol=ROUNDING)


class CountsImages(nn.Module):
    """Lays out what its layer gave by the number of images that it was shown."""

    def __init__(self):
        super().__init__()
        self.layer, self.head = cnn()[:4], cnn()[6]
        self.shown = []

    def forward(self, x):
        self.shown.append(len(x))
        return self.head(self.layer(x).reshape(len(x), 10, -1).mean(dim=2))


def test_ablationcam_shows_one_image_up_to_the_layer_where_the_network_lets_it():
    images = pictures(2)
    options = {"method": "ablationcam", "batch_size": 4, "sign": "signed"}
    free, bound = cnn(), CountsImages()
    shown = []
    free.register_forward_pre_hook(lambda module, given: shown.append(len(given[0])))
    made = explain(free, images, 1, layer="3", **options)
    np.testing.assert_allclose(made, explain(bound, images, 1, layer="layer", **options), atol=ROUNDING)
    # ten channels: one to look, both images; of each the first part both ways, then one for each part
    assert shown == [1, 2, 4, 1, 1, 1, 4, 1, 1, 1]
    assert bound.shown == [1, 2, 4, 1, 4, 2, 4, 1, 4, 2]


class ThreeLevels(nn.Module):
    """A classifier of what three levels of different size give, each pooled."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (
            nn.Conv2d(3, 6, 3, 2, 1),
            nn.Conv2d(6, 8, 3, 2, 1),
            nn.Conv2d(8, 5, 3, 2, 1),
        )
        self.head = nn.Linear(6 + 8 + 5, 4)

    def levels(self, images):
        first = self.first(images)
        second = self.second(first.relu())
        return first, second, self.third(second.relu())

    def forward(self, images):
        return self.head(torch.cat([level.sin().mean(dim=(2, 3)) for level in self.levels(images)], dim=1))


def relu_of_joint_channels(model, images, target):
    """ReLU of the sum over all levels' channels, each weighted by its mean gradient and enlarged."""
    levels = model.levels(images)
    pooled = torch.cat([level.sin().mean(dim=(2, 3)) for level in levels], dim=1)
    total = torch.zeros(len(images), *images.shape[2:])
    for level, gradient in zip(
        levels, torch.autograd.grad(model.head(pooled)[:, target].sum(), levels), strict=True
    ):
        for channel in range(level.shape[1]):
            weight = gradient[:, channel].mean(dim=(1, 2))
            grid = weight[:, None, None] * level[:, channel]
            total += nn.functional.interpolate(grid[:, None], images.shape[2:], mode="bilinear")[:, 0]
    return total.clamp(min=0).detach().numpy()


def test_gradcam_of_several_levels_is_the_relu_of_the_sum_over_their_joint_channels_if_asked():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = ThreeLevels()
    images, layers = pictures(), ["first", "second", "third"]
    expected = relu_of_joint_channels(model, images, 1)
    made = explain(model, images, 1, layer=layers, join="sum")
    np.testing.assert_allclose(made, expected, atol=ROUNDING * expected.max())
    np.testing.assert_array_equal(explain(model, images, 1, layer=layers, preset="lanfredi2021"), made)
    averaged = explain(model, images, 1, layer=layers)
    assert np.corrcoef(averaged.ravel(), made.ravel())[0, 1] < 0.95
    signed = explain(model, images, 1, layer=layers, join="sum", sign="signed")
    np.testing.assert_array_equal(np.maximum(signed, 0), made)
    # one layer has nothing to join
    alone = [explain(model, images, 1, layer="third", join=rule) for rule in ("average", "sum")]
    np.testing.assert_array_equal(*alone)


def test_eigen_smooth_agrees_with_the_library():
    import pytorch_grad_cam as library
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    model, images = cnn(), pictures(3)
    made = explain(model, images, 1, method="gradcam", layer="3", eigen_smooth=True)
    cam = library.GradCAM(model, [model[3]])
    expected = cam(images, [ClassifierOutputTarget(1)] * 3, eigen_smooth=True)
    np.testing.assert_allclose([rescale(m) for m in made], expected, atol=ROUNDING)
    assert np.abs(made - explain(model, images, 1, method="gradcam", layer="3")).max() > ROUNDING


@pytest.mark.parametrize("method", METHODS)
def test_cam_does_not_change_with_an_in_place_relu_behind_the_layer(method):
    images = pictures(2)
    kept = explain(cnn(), images, 1, method=method, layer="2", resolution="network", sign="signed")
    changed = explain(
        cnn(in_place=True), images, 1, method=method, layer="2", resolution="network", sign="signed"
    )
    np.testing.assert_allclose(changed, kept, atol=ROUNDING * np.abs(kept).max())


def test_eigencam_is_turned_where_its_activations_are_larger_if_asked():
    model, images = cnn(), pictures(6)
    names = {"method": "eigencam", "layer": "2", "sign": "signed", "resolution": "network"}
    as_made = explain(model, images, 0, **names)
    turned = explain(model, images, 0, orient="activation", **names)
    np.testing.assert_array_equal(np.abs(turned), np.abs(as_made))
    assert (turned != as_made).any()
    with torch.no_grad():
        means = model[:3](images).mean(dim=1).numpy()
    for one, mean in zip(turned, means, strict=True):
        assert np.corrcoef(one.ravel(), mean.ravel())[0, 1] > 0


def test_nan_for_one_image_of_a_batch_is_no_empty_map():
    class Undefined(nn.Module):
        def forward(self, x):
            return torch.cat([x[:1], x[1:] * float("nan")])

    # the target
    with raises(SalstatsError, rows=(1,), match=r"\b1\b.*\b1\b"):
        explain(nn.Sequential(*cnn(), Undefined()), pictures(2), 1, layer="3", batch_size=2)


class DeadBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.dead = cnn(), nn.Conv2d(3, 2, 3)

    def forward(self, x):
        self.dead(x)
        return self.inner(x)


def test_a_layer_that_the_output_does_not_depend_on_is_an_error():
    with raises(SalstatsError, option="layer"):
        explain(DeadBranch(), pictures(1), 0, layer=["dead", "inner.3"])


class Gated(nn.Module):
    """A network whose gate gives what it lets through and the gate itself."""

    def __init__(self):
        super().__init__()
        self.small, self.gate, self.weigh, self.head = nn.AvgPool2d(2), Gate(), nn.Sigmoid(), nn.Linear(3, 2)

    def forward(self, x):
        through, gate = self.gate(self.small(x))
        return self.head(through.mean(dim=(2, 3))) + 0 * self.weigh(gate).sum()


class Gate(nn.Module):
    def forward(self, x):
        gate = torch.sigmoid(x.mean(dim=1, keepdim=True))
        return x * gate, gate


def test_an_activation_is_what_a_module_gives_or_what_reshape_picks_of_it():
    images, options = pictures(5), {"method": "activation", "resolution": "network"}
    pooled = images.reshape(5, 3, 16, 2, 16, 2).mean(dim=(3, 5))
    made = explain(Gated(), images, 0, layer="small", batch_size=2, **options)
    np.testing.assert_allclose(made, pooled.mean(dim=1), atol=ROUNDING)
    made = explain(Gated(), images, 0, layer="gate", reshape=lambda given: given[1], **options)
    np.testing.assert_allclose(made, pooled.mean(dim=1).sigmoid(), atol=ROUNDING)
    with raises(ShapeError, option="reshape", value="gate"):
        explain(Gated(), images, 0, layer="gate", **options)


def test_an_activation_does_not_change_with_an_in_place_step_behind_it():
    model, images = cnn(in_place=True), pictures(2)
    made = explain(model, images, 0, method="activation", layer="0", resolution="network")
    with torch.no_grad():
        np.testing.assert_allclose(made, model[0](images).mean(dim=1), atol=ROUNDING)
    assert (made < 0).any()


@pytest.mark.slow
def test_methods_that_stand_here_import_no_library_that_takes_seconds():
    script = """
import sys
import torch
from salstats.explain.saliency_maps import explain
from torch import nn
model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2, 2))
for method in ("gradcam", "gradcam++", "layercam", "scorecam", "deeplift", "lrp"):
    explain(model, torch.rand(1, 1, 8, 8), 0, method=method)
print({"pytorch_grad_cam", "captum", "torchvision", "sklearn"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr

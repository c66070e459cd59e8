import numpy as np
import pytest
from tests_support import raises

from salstats.errors import SalstatsError, Setting, ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.layers import (  # noqa: E402
    LayerOutput,
    checked_layers_in_pass_order,
    find_layer,
    modules_by_layer_name,
    vit_grid,
)
from salstats.explain.saliency_maps import explain  # noqa: E402

nn = torch.nn


def pooled(*modules):
    return nn.Sequential(*modules, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))


IMAGES = np.zeros((1, 1, 16, 16), np.float32)


# names


def test_layers_are_found_by_name_by_module_and_several():
    model = pooled(nn.Conv2d(1, 4, 3), nn.ReLU())
    assert modules_by_layer_name(model, "1") == {"1": model[1]}
    assert modules_by_layer_name(model, model[1]) == {"1": model[1]}
    assert modules_by_layer_name(model, ["1", model[0]]) == {"1": model[1], "0": model[0]}


@pytest.mark.parametrize(
    ("layer", "value", "match"),
    [
        # with the closest name
        ("layer3.con", "layer3.con", r"'layer3\.conv'"),
        ([], None, None),
        (3, "int", None),
    ],
)
def test_a_layer_that_is_not_there_is_named(layer, value, match):
    model = nn.Sequential()
    model.add_module("layer3", nn.Sequential())
    model.layer3.add_module("conv", nn.Conv2d(1, 1, 3))
    with raises(SalstatsError, option="layer", value=value, match=match):
        modules_by_layer_name(model, layer)


# the layer where none is named


class Block(nn.Module):
    """A residual block whose one ReLU module is used twice, as in torchvision's."""

    def __init__(self, n_in):
        super().__init__()
        self.relu = nn.ReLU()
        self.shortcut = nn.Conv2d(n_in, 4, 1)
        self.conv = nn.Conv2d(n_in, 4, 3, 1, 1)

    def forward(self, x):
        return self.relu(self.relu(self.conv(x)) + self.shortcut(x))


def test_the_last_stage_is_the_block_that_holds_the_last_convolution():
    model = nn.Sequential()
    model.add_module("stem", nn.Conv2d(1, 2, 3))
    model.add_module("stages", nn.Sequential(Block(2), Block(4)))
    model.add_module("head", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)))
    assert find_layer(model, IMAGES) == "stages"


def test_the_last_stage_is_the_activation_before_the_pooling():
    convolutions = (nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    assert find_layer(pooled(*convolutions, nn.MaxPool2d(2)), IMAGES) == "4"
    # 12 x 12 as the convolution, by chance: torchvision's VGGs enlarge to 7 x 7, which 112 pixels give
    enlarged = (nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(12), nn.Identity())
    assert find_layer(pooled(*convolutions, *enlarged), IMAGES) == "4"


def test_a_gate_that_is_laid_over_the_grid_is_of_the_stage():
    class Gated(nn.Module):
        def forward(self, x):
            return x * torch.sigmoid(nn.functional.adaptive_avg_pool2d(x, 1))

    assert find_layer(pooled(nn.Conv2d(1, 4, 3), Gated()), IMAGES) == "1"


class Called(nn.Module):
    """Adds and rectifies by functions, in place or not; or hands the sum's ReLU on through a module."""

    def __init__(self, in_place=False, through=None):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.early, self.late = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 4, 3, padding=1)
            self.head = nn.Linear(4, 2)
        self.in_place, self.through = in_place, nn.Identity() if through else None

    def forward(self, x):
        x = nn.functional.relu(self.early(x))
        grid = nn.functional.relu(self.late(x) + x, inplace=self.in_place)
        grid = grid if self.through is None else self.through(grid)
        return self.head(torch.flatten(nn.functional.adaptive_avg_pool2d(grid, 1), 1))


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("method", ["gradcam", "ablationcam", "activation"])
def test_functions_count_as_modules_do(method, in_place):
    model = Called(in_place)
    images = np.random.default_rng(0).normal(size=(3, 1, 16, 16)).astype(np.float32)
    assert find_layer(model, images) == "late+add+relu"
    made = explain(model, images, 1, method=method, layer="late+add+relu")
    expected = explain(Called(through=True), images, 1, method=method, layer="through")
    np.testing.assert_array_equal(made, expected)
    assert made.any()


@pytest.mark.parametrize(("name", "expected"), [("resnet18", "layer4"), ("densenet121", "features+relu")])
def test_the_last_stage_of_networks_of_the_field(name, expected):
    models = pytest.importorskip("torchvision.models", reason="needs the explain extra")
    model = getattr(models, name)(weights=None)
    assert find_layer(model, np.zeros((1, 3, 64, 64), np.float32)) == expected


class Attention(nn.Module):
    def forward(self, x):
        return x


@pytest.mark.parametrize(
    ("model", "images", "value", "hint"),
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(256, 2)), IMAGES, None, "name a layer with layer"),
        (pooled(nn.Conv2d(1, 4, 3), Attention()), IMAGES, "1", Setting("reshape", "vit")),
        # a convolution that gives one pixel
        (
            pooled(nn.Conv2d(1, 4, 16)),
            IMAGES,
            "0",
            "give larger images or name an earlier layer with layer",
        ),
        # one that is used twice
        (
            pooled(*[nn.Conv2d(1, 1, 3)] * 2, nn.Flatten(1, 2), nn.Unflatten(1, (4, -1))),
            IMAGES,
            "0",
            "name a layer with layer",
        ),
    ],
)
def test_a_network_without_a_last_stage_needs_a_name(model, images, value, hint):
    with raises(SalstatsError, option="layer", value=value, hint=hint):
        find_layer(model, images)


# what a pass reaches


class Uses(nn.Module):
    """Uses one layer twice and another not at all."""

    def __init__(self):
        super().__init__()
        self.conv, self.twice, self.never = nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)

    def forward(self, x):
        return self.twice(self.twice(self.conv(x)) - 1).mean(dim=(2, 3))


@pytest.mark.parametrize(
    ("layer", "hint"),
    [
        ("never", "name one that is"),
        ("twice", "give each use its own module, or name the block that holds it"),
    ],
)
def test_a_layer_without_one_map_is_named(layer, hint):
    with raises(SalstatsError, option="layer", value=layer, hint=hint):
        explain(Uses(), IMAGES, 0, layer=layer)


class ChannelsLast(nn.Module):
    """Gives a grid as a Swin transformer does: (b, height, width, channels)."""

    def __init__(self):
        super().__init__()
        self.stem, self.stage, self.head = nn.Conv2d(1, 24, 4, 4), nn.Linear(24, 24), nn.Linear(24, 2)

    def forward(self, x):
        return self.head(self.stage(self.stem(x).permute(0, 2, 3, 1)).mean(dim=(1, 2)))


@pytest.mark.parametrize("method", ["gradcam", "activation"])
@pytest.mark.parametrize("shape", [(16, 16), (16, 32), (17, 16)])
def test_a_layer_whose_channels_come_last_is_refused_by_name(method, shape):
    model, images = ChannelsLast(), np.ones((1, 1, *shape), np.float32)
    with raises(ShapeError, option="reshape", value="stage", hint=Setting("reshape", "vit")):
        explain(model, images, 0, method=method, layer="stage")
    made = explain(model, images, 0, method=method, layer="stage", reshape="vit", resolution="network")
    assert made.shape == (1, shape[0] // 4, shape[1] // 4)


# tokens on a grid


def test_tokens_are_laid_row_by_row_and_those_in_front_dropped():
    tokens = torch.arange(7.0).reshape(1, 7, 1).repeat(1, 1, 3)
    grid = vit_grid(2, 3)(tokens)
    assert grid.shape == (1, 3, 2, 3)
    assert grid[0, 1].tolist() == [[1, 2, 3], [4, 5, 6]]
    # a transformer may have no tokens in front
    assert vit_grid(n_prefix=0)(tokens[:, :4])[0, 1].tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("said", "n_tokens", "shape"),
    [
        ((), 17, (4, 4)),
        ((2,), 9, (2, 4)),
        ((None, 2), 9, (4, 2)),
        ((2, 4), 9, (2, 4)),
    ],
)
def test_a_side_that_is_not_said_follows(said, n_tokens, shape):
    assert vit_grid(*said)(torch.zeros(1, n_tokens, 5)).shape == (1, 5, *shape)


@pytest.mark.parametrize(
    ("sides", "shape", "option", "value", "match"),
    [
        # the tokens, those in front, and the grid
        ({}, (1, 12, 3), "reshape", 11, r"\b12\b.*\b1\b.* 3 x 3"),
        ({"height": 2, "width": 2}, (1, 12, 3), "reshape", 11, " 2 x 2"),
        ({"n_prefix": 5}, (1, 5, 3), "reshape", 0, r"\b5\b.*\b5\b"),
        ({}, (1, 12), "layer", (1, 12), None),
    ],
)
def test_tokens_that_fill_no_grid_are_refused(sides, shape, option, value, match):
    with raises(ShapeError, option=option, value=value, match=match):
        vit_grid(**sides)(torch.zeros(shape))


@pytest.mark.parametrize(("option", "value"), [("height", 0), ("width", 0), ("n_prefix", -1)])
def test_a_side_has_a_token_at_least(option, value):
    with raises(ValueRangeError, option=option, value=value):
        vit_grid(**{option: value})


def reached(output, reshape=None, image_shape=(16, 24)):
    """The names of the layers that a pass reached, of two that are asked for."""
    calls = [LayerOutput("b", output), LayerOutput("other", None), LayerOutput("a", output)]
    layers = {"a": nn.Identity(), "b": nn.Identity()}
    return list(checked_layers_in_pass_order(calls, layers, reshape, image_shape))


def test_layers_come_in_the_order_of_the_pass():
    assert reached(torch.zeros(1, 8, 4, 6)) == ["b", "a"]


@pytest.mark.parametrize(
    ("output", "reshape", "match"),
    [
        (torch.zeros(1, 25, 8), None, r"'b'.*\(1, 25, 8\)"),
        ((torch.zeros(1, 8, 4, 6),), None, "'b'.*tuple"),
        (torch.zeros(1, 25, 8), lambda tokens: tokens, r"'b'.*\(1, 25, 8\)"),
        (torch.zeros(1, 4, 6, 40), None, r"\(1, 4, 6, 40\).* 16 x 24 "),
    ],
)
def test_an_output_that_is_no_grid_is_named(output, reshape, match):
    with raises(ShapeError, option="reshape", match=match):
        reached(output, reshape)


def test_the_proportions_of_the_image_show_the_axes_of_a_grid_within_a_row():
    # channels first, or not to be told; what `reshape` gives is taken as it is
    for shape in ((1, 4, 4, 6), (1, 4, 5, 6), (1, 6, 6, 6), (1, 6, 4, 4), (1, 2, 9, 9)):
        assert reached(torch.zeros(shape)) == ["b", "a"]
    assert reached(torch.zeros(1, 4, 6, 40), lambda output: output) == ["b", "a"]
    assert reached(torch.zeros(1, 25, 8), vit_grid(4, 6)) == ["b", "a"]

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import SalstatsError, ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
from explain.runner_requests import ask, noise, seeded, state  # noqa: E402

from salstats.explain.attention import attention_rollout_matrices  # noqa: E402

nn, functional = torch.nn, torch.nn.functional

SINGLE = 1e-6


class Given(nn.Module):
    """Gives the attention that a test sets, for each image: a probability over tokens in each row."""

    def __init__(self, attention):
        super().__init__()
        self.attention = torch.as_tensor(attention)

    def forward(self, x):
        return self.attention.expand(len(x), -1, -1, -1)


class Layers(nn.Module):
    """A network whose attention is given, layer by layer; shape (heads, tokens, tokens) each."""

    def __init__(self, *attention):
        super().__init__()
        self.layers = nn.ModuleList(Given(one) for one in attention)

    def forward(self, x):
        for layer in self.layers:
            layer(x)
        return x.flatten(1)[:, :2]


NAMES = ["layers.0", "layers.1"]


def attention(n_tokens=5, heads=2, seed=0):
    values = np.random.default_rng(seed).random((heads, n_tokens, n_tokens))
    return values / values.sum(axis=2, keepdims=True)


def images(n=2, shape=(1, 8, 8)):
    return noise(n, *shape, seed=1)


def vit(**options):
    models = pytest.importorskip("torchvision.models.vision_transformer", reason="needs the explain extra")
    make = {
        "image_size": 32,
        "patch_size": 8,
        "num_layers": 3,
        "num_heads": 2,
        "hidden_dim": 12,
        "mlp_dim": 16,
    }
    return seeded(lambda: models.VisionTransformer(**make, num_classes=3, **options))


class Fused(nn.Module):
    """Attention as timm writes it: the weights are there only where `fused_attn` is off."""

    def __init__(self, dim, heads):
        super().__init__()
        self.qkv, self.proj, self.attn_drop = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim), nn.Dropout(0.1)
        self.heads, self.fused_attn = heads, True

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        if self.fused_attn:
            x = functional.scaled_dot_product_attention(q, k, v)
        else:
            x = self.attn_drop((q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(dim=-1)) @ v
        return self.proj(x.transpose(1, 2).reshape(b, n, c))


class Transformer(nn.Module):
    """One class token, patches of 4 x 4 pixels, two layers of `Fused`."""

    def __init__(self):
        super().__init__()
        self.embed, self.token = nn.Conv2d(1, 6, 4, 4), nn.Parameter(torch.ones(1, 1, 6))
        self.blocks = nn.Sequential(Fused(6, 2), Fused(6, 2))
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        return self.head(self.blocks(torch.cat([self.token.expand(len(x), -1, -1), x], dim=1))[:, 0])


def test_by_hand_two_layers_of_two_tokens():
    first = torch.tensor([[[0.5, 0.5], [0.0, 1.0]]])
    second = torch.tensor([[[0.0, 1.0], [0.5, 0.5]]])
    # half of each and half of the identity: [[.75, .25], [0, 1]], then [[.5, .5], [.25, .75]] times it
    expected = torch.tensor([[[0.375, 0.625], [0.1875, 0.8125]]]).double()
    assert torch.equal(attention_rollout_matrices([first, second]), expected)


@pytest.mark.parametrize("heads", ["mean", "max", "min"])
@pytest.mark.parametrize("residual", [0.0, 0.9])
def test_of_given_attention_it_is_the_product_of_layers(heads, residual):
    layers = [attention(seed=0), attention(seed=1)]
    joined = [getattr(layer, heads)(axis=0) for layer in layers]
    mixed = [residual * np.eye(5) + (1 - residual) * layer for layer in joined]
    mixed = [layer / layer.sum(axis=1, keepdims=True) for layer in mixed]
    expected = (mixed[1] @ mixed[0])[0, 1:].reshape(2, 2)
    found = ask(
        "attention_rollout", Layers(*layers), images(), 0, modules=NAMES, heads=heads, residual=residual
    )
    assert found.shape == (2, 1, 2, 2)
    assert np.allclose(found, expected, atol=SINGLE)


def test_no_layer_is_taken_twice_where_a_network_fails_on_another_order_of_numbers():
    class Viewed(Layers):
        def forward(self, x):
            super().forward(x)
            return x.view(len(x), -1)[:, :2]

    layers, shown = [attention(seed=0), attention(seed=1)], images(shape=(3, 8, 8))
    found, expected = (
        ask("attention_rollout", model(*layers), shown, 0, modules=NAMES) for model in (Viewed, Layers)
    )
    assert torch.equal(found, expected)


def test_the_smallest_attention_is_left_out_but_for_the_first_token():
    layer = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.05, 0.9, 0.05]])
    # a third of nine are .05, .05 and .1, of which one is not of the first column
    left = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.05, 0.9, 0.0]])
    mixed = (left + np.eye(3)) / (left + np.eye(3)).sum(axis=1, keepdims=True)
    found = attention_rollout_matrices([torch.as_tensor(layer)[None]], discard=0.34)
    assert np.allclose(found[0], mixed, atol=SINGLE)


def test_without_a_class_token_all_tokens_are_averaged():
    layer = attention(4, 1)
    expected = (0.5 * layer[0] + 0.5 * np.eye(4)).mean(axis=0).reshape(2, 2)
    found = ask("attention_rollout", Layers(layer), images(), 0, modules="layers.0", n_prefix=0)
    assert np.allclose(found[0, 0], expected, atol=SINGLE)


def test_the_grid_has_the_images_proportions_or_those_given():
    model = Layers(attention(9, 1))
    wide = ask("attention_rollout", model, images(1, (1, 8, 16)), 0, modules="layers.0")
    assert wide.shape == (1, 1, 2, 4)
    tall = ask("attention_rollout", model, images(1, (1, 8, 16)), 0, modules="layers.0", grid=(8, 1))
    assert torch.equal(tall.flatten(), wide.flatten())


def test_torchvisions_transformer_is_taken_as_it_is():
    model, x = vit(), noise(3, 3, 32, 32)
    seen = []

    def keep(block, inputs):
        with torch.no_grad():
            tokens = block.ln_1(inputs[0])
            weights = block.self_attention(tokens, tokens, tokens, need_weights=True)[1]
        seen.append((weights.double() + torch.eye(17)) / 2)

    handles = [block.register_forward_pre_hook(keep) for block in model.encoder.layers]
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    expected = (seen[2] @ seen[1] @ seen[0])[:, 0, 1:].reshape(3, 1, 4, 4)
    found = ask("attention_rollout", model, x, [0, 1, 2], batch_size=2)
    assert torch.allclose(found, expected, atol=SINGLE)


class Attending(nn.Module):
    """Attention of two heads that is called with the options of a test; keeps the weights that it gets."""

    def __init__(self, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.options, self.weights = options, []

    def forward(self, x):
        tokens = x.flatten(2).transpose(1, 2)
        tokens, weights = self.attention(tokens, tokens, tokens, **self.options)
        self.weights.append(weights)
        return tokens.mean(dim=1)


@pytest.mark.parametrize(
    "options", [{}, {"need_weights": True}, {"need_weights": False}, {"average_attn_weights": False}]
)
def test_a_network_gets_from_its_attention_what_it_asks_for(options):
    model, x = seeded(lambda: Attending(**options)), images(2, (4, 2, 2))
    with torch.no_grad():
        outputs = model(x)
    ask("attention_rollout", model, x, 0, n_prefix=0)
    wanted, found = model.weights[0], model.weights[-1]
    assert outputs.shape == (2, 4)
    if options.get("need_weights", True):
        assert found.shape == wanted.shape
        assert torch.allclose(found, wanted, atol=SINGLE)
    else:
        assert found is wanted is None


def test_fused_attention_of_timms_kind_is_computed_step_by_step():
    model, x = seeded(Transformer), images()
    for block in model.blocks:
        block.fused_attn = False
    expected = ask("attention_rollout", model, x, 0, modules=["blocks.0.attn_drop", "blocks.1.attn_drop"])
    for block in model.blocks:
        block.fused_attn = True
    before = state(model)
    found = ask("attention_rollout", model, x, 0)
    assert torch.equal(found, expected)
    assert state(model) == before
    assert all(block.fused_attn for block in model.blocks)


@pytest.mark.parametrize(
    ("attention_of_layers", "options", "kind", "option", "value"),
    [
        ([], {}, SalstatsError, "modules", None),
        ([attention()], {"modules": "layers.7"}, SalstatsError, "modules", "layers.7"),
        # rows that do not sum to 1, another shape
        ([attention() * 2], {"modules": "layers.0"}, SalstatsError, "modules", "layers.0"),
        ([attention()[..., :3]], {"modules": "layers.0"}, SalstatsError, "modules", "layers.0"),
        # numbers of tokens
        ([attention(), attention(10)], {"modules": NAMES}, ShapeError, None, (5, 10)),
        ([attention(6)], {"modules": "layers.0"}, ShapeError, "grid", (2, 2)),
        ([attention()], {"modules": "layers.0", "grid": (3, 3)}, ShapeError, "grid", (3, 3)),
        ([attention()], {"modules": "layers.0", "grid": 7}, ShapeError, "grid", 7),
        ([attention()], {"modules": "layers.0", "grid": (4,)}, ShapeError, "grid", (4,)),
        ([attention()], {"heads": "sum"}, ValueRangeError, "heads", "sum"),
        ([attention()], {"discard": 1.0}, ValueRangeError, "discard", 1.0),
        ([attention()], {"n_prefix": -1}, ValueRangeError, "n_prefix", -1),
    ],
)
def test_what_cannot_be_rolled_out_is_named(attention_of_layers, options, kind, option, value):
    with raises(kind, option=option, value=value):
        ask("attention_rollout", Layers(*attention_of_layers), images(), 0, **options)

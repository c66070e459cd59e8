"""The layers of a network: their names, the one to take where none is named, and tokens laid on a grid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import torch
from torch import nn

from salstats.checks import check_count, did_you_mean
from salstats.errors import SalstatsError, ShapeError
from salstats.explain.forward_passes import call, dtype_of, evaluating
from salstats.explain.hooks import THEN, following, tapped
from salstats.explain.inputs import check_images
from salstats.explain.request import Reshape

#: A layer as a person says it: its name, the module, or several of either.
Layer = str | nn.Module | Sequence[str | nn.Module]


#: Name and output of each layer that was watched in a pass, each time that it ended. Only the shape of an
#: output can be relied on: what follows may have changed it in place.
Seen = list[tuple[str, Any]]


def layer_names(model: nn.Module) -> list[str]:
    """Names of a network's modules, in the order of `named_modules()`.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    list of str
        What `explain(layer=)` takes.

    Examples
    --------
    >>> import torch
    >>> from salstats.explain import layer_names
    >>> layer_names(torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU()))
    ['0', '1']
    """
    return [name for name, _ in model.named_modules() if name]


def find_layer(model: nn.Module, images: Any) -> str:
    """Name of the layer that a CAM takes where none is named: the last convolutional stage.

    That is the last one, in the order of one forward pass, from the last convolution on, whose output still
    has the last convolution's grid: its activation, or the block that holds it; a grid that was pooled and
    enlarged again is another one. In torchvision's ResNets it is `layer4`, in its VGGs the last ReLU, before
    the last pooling. Functions count as modules do: its
    DenseNets end in `features` and call relu() on what that gives, which is the layer `features+relu`.

    Parameters
    ----------
    model : torch.nn.Module
    images : ndarray or Tensor of float, shape (n, channels, height, width)
        The first one is passed through the network.

    Returns
    -------
    str
        As in `layer_names`, or that and the functions which are called on what the module gives.

    Raises
    ------
    SalstatsError
        There is no convolution, the last one gives a single pixel or is used twice, or attention follows
        it: a layer has to be named.

    Notes
    -----
    What the classifier is given, whether ReLU is a module of the network or not. The README of
    pytorch-grad-cam names the same layer of ResNets; of VGGs the last pooling (`features.30` of VGG16), which
    has half the grid; of DenseNets `features.norm5`, before the ReLU, which on a CPU, not on a GPU, changes
    in place what the library kept. Each can be named.

    Examples
    --------
    >>> import torch
    >>> from salstats.explain import find_layer
    >>> convolution, pool = torch.nn.Conv2d(1, 4, 3), torch.nn.AdaptiveAvgPool2d(1)
    >>> model = torch.nn.Sequential(convolution, torch.nn.ReLU(), pool, torch.nn.Flatten())
    >>> find_layer(model, torch.zeros(1, 1, 8, 8))
    '1'
    """
    with evaluating(model) as place:
        image = check_images(images)[:1].to(device=place, dtype=dtype_of(model), copy=True)
        return last_stage(model, watch(model, image)[1])


def last_stage(model: nn.Module, seen: Seen) -> str:
    """Name of the last convolutional stage from a pass in which everything was watched."""
    modules = dict(model.named_modules())
    seen = [(name, output) for name, output in seen if name]
    convolutions = [at for at, (name, _) in enumerate(seen) if isinstance(modules.get(name), nn.Conv2d)]
    if not convolutions:
        raise SalstatsError("the network has no 2-D convolution that a pass reaches; name a layer: layer=")
    rest = seen[convolutions[-1] :]
    attention = [name for name, _ in rest if "attention" in type(modules.get(name)).__name__.lower()]
    if attention:
        raise SalstatsError(
            f"attention ({attention[-1]!r}) follows the last convolution: the network's maps are made of "
            "tokens; name a layer, such as the first norm of the last block, and give reshape='vit'"
        )
    grid = rest[0][1].shape[-2:]
    if grid.numel() == 1:
        raise SalstatsError(
            f"the last convolution, {rest[0][0]!r}, gives one pixel for these images: its map would point "
            "nowhere; give larger images or name an earlier layer: layer="
        )
    uses = [name for name, _ in seen]
    stages: list[str] = []
    before = grid
    for name, output in rest:
        if not isinstance(output, torch.Tensor):
            continue
        if output.ndim != 4 and name in modules:
            break
        if output.ndim == 4 and output.shape[-2:] == grid:
            # pooled and enlarged again; from one row or column a gate is laid over the grid
            if all(1 < pooled < side for pooled, side in zip(before, grid, strict=True)):
                break
            if uses.count(name) == 1:
                stages.append(name)
        before = output.shape[-2:] if output.ndim == 4 else before
    if not stages:
        raise SalstatsError(
            f"the last convolution, {rest[0][0]!r}, is used more than once in a pass; name a layer: layer="
        )
    return stages[-1]


def watch(
    model: nn.Module, image: torch.Tensor, layers: Mapping[str, nn.Module] | None = None
) -> tuple[torch.Tensor, Seen]:
    """Outputs for one image, and what layers give, by default all of them."""
    seen: Seen = []

    def note(name: str, output: Any) -> None:
        seen.append((name, output))

    every = following(dict(model.named_modules()), note) if layers is None else tapped(layers, note)
    with every, torch.no_grad():
        return call(model, image), seen


def named_layers(model: nn.Module, layer: Layer) -> dict[str, nn.Module]:
    """Module of each layer that was asked for, by name."""
    asked: list[Any] = list(layer) if isinstance(layer, list | tuple) else [layer]
    if not asked:
        raise SalstatsError("layer names no layer; leave it out to take the last convolutional stage")
    modules = dict(model.named_modules(remove_duplicate=False))
    found: dict[str, nn.Module] = {}
    for one in asked:
        start, *functions = one.split(THEN) if isinstance(one, str) else (one,)
        if isinstance(start, str) and start not in modules:
            hint = did_you_mean(start, filter(None, modules), n=3)
            raise SalstatsError(
                f"the network has no layer {start!r} (explain.layer_names(model) lists them){hint}"
            )
        module = modules[start] if isinstance(start, str) else start
        # one module can have several names
        name = next((name for name, other in modules.items() if other is module), None)
        if name is None:
            raise SalstatsError(
                f"layer={type(start).__name__}(...) is no part of the model; take it from the model that is "
                "explained, or name it"
            )
        found[THEN.join([name, *functions])] = module
    return found


def check_reached(
    seen: Seen, layers: Mapping[str, nn.Module], reshape: Reshape | None, image: tuple[int, int]
) -> dict[str, nn.Module]:
    """Layers in the order in which a pass reaches them, if it reaches each once and each gives one grid."""
    outputs = [(name, output) for name, output in seen if name in layers]
    order = [name for name, _ in outputs]
    for name in layers:
        if name not in order:
            raise SalstatsError(f"layer {name!r} is not reached by a forward pass; name one that is")
        if order.count(name) > 1:
            raise SalstatsError(
                f"layer {name!r} is used {order.count(name)} times in one forward pass and has no one map; "
                "give each use its own module, or name the block that holds it"
            )
    for name, output in outputs:
        _check_grid(output if reshape is None else reshape(output), name, reshape, image)
    return {name: layers[name] for name in order}


def _check_grid(output: Any, name: str, reshape: Reshape | None, image: tuple[int, int]) -> None:
    """Raise ShapeError unless a layer's output is a grid of the image, of its size (height, width)."""
    got = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
    if not isinstance(got, tuple) or len(got) != 4:
        hint = (
            "reshape= makes a grid of it: 'vit' of tokens, vit_grid(height, width) of tokens that are not "
            "square"
            if reshape is None
            else "reshape= has to give one"
        )
        raise ShapeError(f"layer {name!r} gives {got}, no grid (b, channels, height, width); {hint}")
    if reshape is None and _has_proportions(got[1:3], image) and not _has_proportions(got[2:], image):
        raise ShapeError(
            f"layer {name!r} gives {got}: channels last, as the grid of an image of {image[0]} x {image[1]} "
            "shows; give reshape='vit', which puts them first"
        )


def _has_proportions(grid: tuple[int, ...], image: tuple[int, int]) -> bool:
    """Whether a grid has the proportions of an image, but for one row or column."""
    return abs(grid[0] * image[1] - grid[1] * image[0]) <= max(image)


@dataclass(frozen=True)
class VitGrid:
    """Lays tokens on a grid; see `vit_grid`."""

    height: int | None = None
    width: int | None = None
    n_prefix: int = 1

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """(b, channels, height, width) of (b, tokens, channels) or (b, height, width, channels)."""
        if not isinstance(tokens, torch.Tensor) or tokens.ndim not in (3, 4):
            got = tuple(tokens.shape) if isinstance(tokens, torch.Tensor) else type(tokens).__name__
            raise ShapeError(
                f"a layer gave {got}, neither (b, tokens, channels) nor (b, height, width, channels); name "
                "another layer"
            )
        if tokens.ndim == 4:
            return tokens.permute(0, 3, 1, 2)
        n = tokens.shape[1] - self.n_prefix
        # square where neither side is said
        height = self.height or (n // self.width if self.width else isqrt(max(n, 0)))
        width = self.width or (n // self.height if self.height else height)
        if n < 1 or height * width != n:
            raise ShapeError(
                f"{tokens.shape[1]} tokens less {self.n_prefix} in front are {n}, which is no grid of "
                f"{height} x {width}; say vit_grid(height, width, n_prefix=...)"
            )
        return tokens[:, self.n_prefix :].reshape(len(tokens), height, width, -1).permute(0, 3, 1, 2)


def vit_grid(height: int | None = None, width: int | None = None, *, n_prefix: int = 1) -> VitGrid:
    """A layout for the tokens of a transformer's layer on a grid, for `explain(reshape=)`.

    Parameters
    ----------
    height, width : int, optional
        Of the grid, in patches. Where only one is said the other follows from the number of tokens; where
        none is, the grid is square.
    n_prefix : int
        Tokens in front of the patches that are dropped: 1 for a class token, more where there are registers
        (or a distillation token), 0 for none.

    Returns
    -------
    callable
        Takes (b, tokens, channels), as a ViT has them, or (b, height, width, channels), as a Swin
        transformer has them (where nothing is dropped), and returns (b, channels, height, width). It raises
        ShapeError where the tokens do not fill the grid.

    Raises
    ------
    ValueRangeError
        A side below 1 or a negative number of tokens.

    Examples
    --------
    >>> import torch
    >>> from salstats.explain import vit_grid
    >>> vit_grid()(torch.zeros(2, 1 + 49, 8)).shape
    torch.Size([2, 8, 7, 7])
    """
    for name, side in (("height", height), ("width", width)):
        if side is not None:
            check_count(side, name)
    return VitGrid(height, width, check_count(n_prefix, "n_prefix", low=0))

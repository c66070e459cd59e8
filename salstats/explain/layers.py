"""The layers of a network: their names, the one to take where none is named, and tokens laid on a grid."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, NamedTuple

import torch
from torch import nn

from salstats.checks import check_count, did_you_mean
from salstats.errors import Message, SalstatsError, Setting, ShapeError
from salstats.explain.forward_passes import dtype_of, evaluating, outputs_one_row_per_image
from salstats.explain.hooks import FUNCTION_MARK, hooked, modules_hooked
from salstats.explain.input_checks import check_images
from salstats.explain.request import Reshape

#: A layer as a user names it: its name, the module, or several of either.
Layer = str | nn.Module | Sequence[str | nn.Module]


class LayerOutput(NamedTuple):
    """The output of a layer at one of its calls in a pass.

    Only the shape of the output can be relied on: later steps may have changed it in place.
    """

    name: str
    output: Any


def layer_names(model: nn.Module) -> list[str]:
    """List the names of a network's modules, in the order of `named_modules()`.

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
    """Return the layer that a CAM takes if none is named: the last convolutional stage.

    That is the last layer, in the order of one forward pass, whose output has the grid of the last
    convolution: its activation, or the block that holds it. A grid that was pooled and enlarged again is
    another one. In torchvision's ResNets the layer is `layer4`, in its VGGs the last ReLU, before the last
    pooling. Functions count as modules do: its DenseNets end in `features` and call relu() on that output,
    which is the layer `features+relu`.

    Parameters
    ----------
    model : torch.nn.Module
    images : ndarray or Tensor of float, shape (n, channels, height, width)
        The first one is passed through the network.

    Returns
    -------
    str
        As in `layer_names`, or that and the functions that are called on the module's output.

    Raises
    ------
    SalstatsError
        There is no convolution, the last one gives a single pixel or is used twice, or attention follows
        it: a layer has to be named.

    Notes
    -----
    Its output is the input of the classifier, whether ReLU is a module of the network or not. The README of
    pytorch-grad-cam names the same layer of ResNets. Of VGGs it names the last pooling (`features.30` of
    VGG16), whose grid has half the sides; of DenseNets `features.norm5`, before the ReLU, which on a CPU, not
    on a GPU, changes in place what the library recorded. Each of these can be named here.

    Examples
    --------
    >>> import torch
    >>> from salstats.explain import find_layer
    >>> convolution, pool = torch.nn.Conv2d(1, 4, 3), torch.nn.AdaptiveAvgPool2d(1)
    >>> model = torch.nn.Sequential(convolution, torch.nn.ReLU(), pool, torch.nn.Flatten())
    >>> find_layer(model, torch.zeros(1, 1, 8, 8))
    '1'
    """
    with evaluating(model) as device:
        image = check_images(images)[:1].to(device=device, dtype=dtype_of(model), copy=True)
        with torch.no_grad():
            _, layer_outputs = outputs_and_layer_outputs(model, image)
        return last_convolutional_stage_name(model, layer_outputs)


def last_convolutional_stage_name(model: nn.Module, layer_outputs: Sequence[LayerOutput]) -> str:
    """Return the name of the last convolutional stage, from a pass in which every layer was recorded.

    SalstatsError where `find_layer` raises it.
    """
    modules = dict(model.named_modules())
    calls = [call for call in layer_outputs if call.name]
    convolutions = [i for i, call in enumerate(calls) if isinstance(modules.get(call.name), nn.Conv2d)]
    if not convolutions:
        raise SalstatsError(
            "the network has no 2-D convolution that a pass reaches",
            hint=Message("name a layer with ", Setting("layer")),
            option="layer",
        )
    last_calls = calls[convolutions[-1] :]
    convolution = last_calls[0]
    attention = [
        call.name for call in last_calls if "attention" in type(modules.get(call.name)).__name__.lower()
    ]
    if attention:
        raise SalstatsError(
            f"attention ({attention[-1]!r}) follows the last convolution: the network's maps are made of "
            "tokens",
            hint=Message(
                "name a layer, such as the first norm of the last block, and give ", Setting("reshape", "vit")
            ),
            option="layer",
            value=attention[-1],
        )
    grid = convolution.output.shape[-2:]
    if grid.numel() == 1:
        raise SalstatsError(
            f"the last convolution, {convolution.name!r}, gives one pixel for these images: its map "
            "would point nowhere",
            hint=Message("give larger images or name an earlier layer with ", Setting("layer")),
            option="layer",
            value=convolution.name,
        )
    n_calls = Counter(call.name for call in calls)
    stages = [name for name in _names_of_layers_on_first_grid(last_calls, modules) if n_calls[name] == 1]
    if not stages:
        raise SalstatsError(
            f"the last convolution, {convolution.name!r}, is used more than once in a pass",
            hint=Message("name a layer with ", Setting("layer")),
            option="layer",
            value=convolution.name,
        )
    return stages[-1]


def _names_of_layers_on_first_grid(
    layer_outputs: Sequence[LayerOutput], modules: Mapping[str, nn.Module]
) -> Iterator[str]:
    """Yield the names of the layers on the grid of the first one, up to the classifier or another grid."""
    grid = layer_outputs[0].output.shape[-2:]
    previous_grid = grid
    for name, output in layer_outputs:
        if not isinstance(output, torch.Tensor):
            continue
        if output.ndim != 4:
            # the classifier begins where a module gives no grid; functions in between may give anything
            if name in modules:
                return
            continue
        if output.shape[-2:] == grid:
            # The grid was pooled and enlarged again, and is another stage. A gate does not end a stage: it is
            # enlarged from one row or column.
            if all(1 < pooled < side for pooled, side in zip(previous_grid, grid, strict=True)):
                return
            yield name
        previous_grid = output.shape[-2:]


def outputs_and_layer_outputs(
    model: nn.Module, image: torch.Tensor, layers: Mapping[str, nn.Module] | None = None
) -> tuple[torch.Tensor, list[LayerOutput]]:
    """Return the outputs for one image, and those of layers, by default of all, in the order of the pass."""
    layer_outputs: list[LayerOutput] = []

    def record_output(name: str, output: Any) -> None:
        """Record the output of a layer; the network goes on with it."""
        layer_outputs.append(LayerOutput(name, output))

    if layers is None:
        recording = modules_hooked(dict(model.named_modules()), record_output)
    else:
        recording = hooked(layers, record_output)
    with recording:
        return outputs_one_row_per_image(model, image), layer_outputs


def modules_by_layer_name(model: nn.Module, layer: Layer) -> dict[str, nn.Module]:
    """Return the module of each layer that a user named or gave, by name.

    SalstatsError for one that is not in the model, and if there is none.
    """
    requested: list[Any] = list(layer) if isinstance(layer, list | tuple) else [layer]
    if not requested:
        raise SalstatsError(
            Setting("layer"), " names no layer", hint="leave it out to take the last convolutional stage"
        )
    modules = dict(model.named_modules(remove_duplicate=False))
    named: dict[str, nn.Module] = {}
    for name_or_module in requested:
        if isinstance(name_or_module, str):
            module_name, *functions = name_or_module.split(FUNCTION_MARK)
            module = _named_module(module_name, modules)
        else:
            module = name_or_module
            functions = []
        # one module can have several names
        first_name = next((name for name, part in modules.items() if part is module), None)
        if first_name is None:
            raise SalstatsError(
                Setting("layer"),
                f" is a {type(module).__name__} that is no part of the model",
                hint="take it from the model that is explained, or name it",
                value=type(module).__name__,
            )
        named[FUNCTION_MARK.join([first_name, *functions])] = module
    return named


def _named_module(name: str, modules: Mapping[str, nn.Module]) -> nn.Module:
    """Return the module of a name; SalstatsError if there is none."""
    if name not in modules:
        suggestion = did_you_mean(name, filter(None, modules), n=3)
        raise SalstatsError(
            f"the network has no layer {name!r} (explain.layer_names(model) lists them){suggestion}",
            option="layer",
            value=name,
        )
    return modules[name]


def checked_layers_in_pass_order(
    layer_outputs: Sequence[LayerOutput],
    layers: Mapping[str, nn.Module],
    reshape: Reshape | None,
    image_shape: tuple[int, int],
) -> dict[str, nn.Module]:
    """Return the layers in the order of a pass; SalstatsError unless it calls each once and gets a grid."""
    calls = [call for call in layer_outputs if call.name in layers]
    n_calls = Counter(call.name for call in calls)
    for name in layers:
        if not n_calls[name]:
            raise SalstatsError(
                f"layer {name!r} is not reached by a forward pass",
                hint="name one that is",
                option="layer",
                value=name,
            )
        if n_calls[name] > 1:
            raise SalstatsError(
                f"layer {name!r} is used {n_calls[name]} times in one forward pass and has no one map",
                hint="give each use its own module, or name the block that holds it",
                option="layer",
                value=name,
            )
    for name, output in calls:
        grid = output
        if reshape is not None:
            grid = reshape(output)
        _check_is_grid(grid, name, reshape, image_shape)
    return {call.name: layers[call.name] for call in calls}


def _check_is_grid(output: Any, name: str, reshape: Reshape | None, image_shape: tuple[int, int]) -> None:
    """Raise ShapeError unless a layer's output is a grid with its channels first.

    The proportions of the image, (height, width), show which axes are the grid's. They are not compared with
    the result of `reshape`.
    """
    if not isinstance(output, torch.Tensor) or output.ndim != 4:
        if reshape is None:
            hint = Message(
                Setting("reshape"), " makes a grid of it: 'vit' of tokens, vit_grid(height, width) of tokens "
                "that are not square",
            )  # fmt: skip
        else:
            hint = Message(Setting("reshape"), " has to give one")
        raise ShapeError(
            f"layer {name!r} gives {_shape_or_type(output)}, no grid (b, channels, height, width)",
            hint=hint,
            option="reshape",
            value=name,
        )
    if reshape is not None:
        return
    shape = tuple(output.shape)
    if _has_proportions(shape[1:3], image_shape) and not _has_proportions(shape[2:], image_shape):
        raise ShapeError(
            f"layer {name!r} gives {shape}: channels last, as the grid of an image of "
            f"{image_shape[0]} x {image_shape[1]} shows",
            hint=Message("give ", Setting("reshape", "vit"), ", which puts them first"),
            option="reshape",
            value=name,
        )


def _shape_or_type(output: Any) -> tuple[int, ...] | str:
    """Return the shape of a tensor for a message, or the name of the type of anything else."""
    if isinstance(output, torch.Tensor):
        return tuple(output.shape)
    return type(output).__name__


def _has_proportions(grid_shape: tuple[int, ...], image_shape: tuple[int, int]) -> bool:
    """Return whether a grid has the proportions of an image, within one row or column."""
    return abs(grid_shape[0] * image_shape[1] - grid_shape[1] * image_shape[0]) <= max(image_shape)


@dataclass(frozen=True)
class VitGrid:
    """A layout of tokens on a grid; see `vit_grid`."""

    height: int | None = None
    width: int | None = None
    n_prefix: int = 1

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return (b, channels, height, width) of (b, tokens, channels) or (b, height, width, channels)."""
        if not isinstance(tokens, torch.Tensor) or tokens.ndim not in (3, 4):
            raise ShapeError(
                f"a layer gave {_shape_or_type(tokens)}, neither (b, tokens, channels) nor "
                "(b, height, width, channels)",
                hint="name another layer",
                option="layer",
                value=_shape_or_type(tokens),
            )
        if tokens.ndim == 4:
            return tokens.permute(0, 3, 1, 2)
        n_patches = tokens.shape[1] - self.n_prefix
        height, width = self._sides(n_patches)
        if n_patches < 1 or height * width != n_patches:
            raise ShapeError(
                f"{tokens.shape[1]} tokens less {self.n_prefix} in front are {n_patches}, which is no grid "
                f"of {height} x {width}",
                hint="give vit_grid(height, width, n_prefix=...)",
                option="reshape",
                value=n_patches,
            )
        patches = tokens[:, self.n_prefix :]
        return patches.reshape(len(tokens), height, width, -1).permute(0, 3, 1, 2)

    def _sides(self, n_patches: int) -> tuple[int, int]:
        """Return height and width: a missing side follows from the other; without either, a square."""
        if self.height:
            return self.height, self.width or n_patches // self.height
        if self.width:
            return n_patches // self.width, self.width
        side = isqrt(max(n_patches, 0))
        return side, side


def vit_grid(height: int | None = None, width: int | None = None, *, n_prefix: int = 1) -> VitGrid:
    """Make the layout of a transformer's tokens on a grid, for `explain(reshape=)`.

    Parameters
    ----------
    height, width : int, optional
        Sides of the grid, in patches. If only one is given, the other follows from the number of tokens; if
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

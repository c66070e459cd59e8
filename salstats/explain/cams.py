"""Class activation maps: the numbers of pytorch-grad-cam, on the layer's own grid, by passes of our own.

One forward pass serves all targets of an image, and the network is run backwards from its outputs to the
layer, no further. Score-CAM and Ablation-CAM make their passes once for all targets. The library's numbers
depend on the device or the batch where these do not:

- A layer's output is taken as it leaves the layer. An in-place ReLU behind it changes what the library kept,
  on the CPU only.
- Ablation-CAM sets a channel to 0, as its paper does. Where a layer has negative values the library takes a
  number far below them instead, which depends on the channel's place in the batch.
- Each pass is shown a copy of the image. A network that scales its input in place would otherwise be shown it
  scaled twice.
- Score-CAM makes the images seen through channels a batch at a time, where the library holds all of them:
  2.5 GB for 2048 channels and 320 x 320 pixels.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import interpolate

from salstats.checks import check_choice
from salstats.errors import SalstatsError, ShapeError
from salstats.explain.cam_formulas import (
    Formula,
    first_component,
    gradcam_weights,
    gradcamplusplus_weights,
    hirescam_weights,
    layercam_weights,
    weighted_sum,
    xgradcam_weights,
)
from salstats.explain.forward_passes import without_parameter_gradients
from salstats.explain.hooks import tapped
from salstats.explain.inputs import check_outputs
from salstats.explain.map_finishing import join_layers, reduce_channels, sum_layers
from salstats.explain.request import Request

#: Whose side of its first component an Eigen-CAM shows.
ORIENTATIONS = ("library", "activation")
#: Outputs without a channel, made in two ways, differ by so much of the largest fall at most.
_SAME = 0.01


class _Seen(NamedTuple):
    """What one forward pass of the distinct images of a request showed."""

    #: The places of each image in the request.
    groups: list[list[int]]
    images: torch.Tensor
    #: Shape (u, n_outputs).
    outputs: torch.Tensor
    #: What each layer gave; what `outputs` have gradients by.
    layer_outputs: dict[str, torch.Tensor]
    #: The same as grids, shape (u, channels, m, k).
    grids: dict[str, np.ndarray]


def _look(request: Request, *, gradients: bool = False) -> _Seen:
    """Show the network each distinct image once, and keep what its layers give."""
    groups = request.groups()
    images = request.images[[places[0] for places in groups]]
    layer_outputs: dict[str, torch.Tensor] = {}
    grids: dict[str, np.ndarray] = {}

    def keep(name: str, output: Any) -> Any:
        grids[name] = grid = _grid(output, request)
        if len(grid) != len(images):
            raise ShapeError(
                f"layer {name!r} gives {len(grid)} grids of {len(images)} images; it, or reshape=, has to "
                "give one each"
            )
        if not isinstance(output, torch.Tensor):
            return None
        # the network goes on with a copy, which it may change in place
        kept = output.clone() if output.requires_grad else output.detach().clone().requires_grad_(gradients)
        layer_outputs[name] = kept
        return kept.clone()

    with torch.set_grad_enabled(gradients), tapped(request.layers, keep):
        outputs = _outputs(request, images, len(images))
    return _Seen(groups, images, outputs, layer_outputs, grids)


def _outputs(request: Request, images: torch.Tensor, n: int) -> torch.Tensor:
    """N rows of outputs of one pass."""
    with torch.autocast(images.device.type, enabled=request.mixed_precision):
        return check_outputs(request.model(images.clone()), n)


def _grid(output: Any, request: Request) -> np.ndarray:
    """A copy of what a layer gives, or of its gradient, as a grid in a type that NumPy has."""
    grid = output if request.reshape is None else request.reshape(output)
    half = grid.dtype in (torch.float16, torch.bfloat16)
    copied: np.ndarray = grid.detach().to("cpu", torch.float32 if half else grid.dtype, copy=True).numpy()
    return copied


def _of_gradients(formula: Formula, request: Request) -> torch.Tensor:
    """Maps of a method of activations and gradients: a backward pass for each target."""
    smooth = bool(request.options.get("eigen_smooth", False))
    with without_parameter_gradients(request.model):
        seen = _look(request, gradients=True)
        maps = _empty(seen, request)
        for turn in range(max(map(len, seen.groups))):
            rows = [row for row, places in enumerate(seen.groups) if turn < len(places)]
            places = [seen.groups[row][turn] for row in rows]
            chosen = seen.outputs[rows].gather(1, request.targets[places][:, None]).sum()
            layer_gradients = torch.autograd.grad(
                chosen, list(seen.layer_outputs.values()), retain_graph=True, allow_unused=True
            )
            if len(layer_gradients) < len(maps) or any(one is None for one in layer_gradients):
                raise SalstatsError(
                    "the output does not depend on every layer that is named, so that it has no gradient "
                    "there; name layers between the image and the output that give one tensor"
                )
            # most often all images have as many targets, and nothing has to be copied
            of = rows if len(rows) < len(seen.groups) else slice(None)
            for (layer, made), one in zip(maps.items(), layer_gradients, strict=True):
                grids, gradients = seen.grids[layer][of], _grid(one, request)[of]
                # what is not finite is found, and its image named, where maps are checked
                with np.errstate(all="ignore"):
                    weights = formula(grids, gradients)
                    if smooth:
                        made[places] = first_component(weights * grids)
                    else:
                        made[places] = weighted_sum(weights, grids)
    return _joined(seen, maps, request)


run_gradcam = partial(_of_gradients, gradcam_weights)
run_gradcamplusplus = partial(_of_gradients, gradcamplusplus_weights)
run_xgradcam = partial(_of_gradients, xgradcam_weights)
run_hirescam = partial(_of_gradients, hirescam_weights)
run_layercam = partial(_of_gradients, layercam_weights)


def run_eigencam(request: Request) -> torch.Tensor:
    """Eigen-CAM: first principal component of the activations, whatever the target."""
    orient = check_choice(request.options["orient"], ORIENTATIONS, "orient")
    seen = _look(request)
    maps = _empty(seen, request)
    for name, grids in seen.grids.items():
        with np.errstate(all="ignore"):
            made = first_component(grids)
        if orient == "activation":
            # turned so that it rises where the activations do
            means = grids.mean(axis=1, dtype=np.float64)
            means -= means.mean(axis=(1, 2), keepdims=True)
            falls = (made * means).sum(axis=(1, 2)) < 0
            made = np.where(falls[:, None, None], -made, made)
        for places, one in zip(seen.groups, made, strict=True):
            maps[name][places] = one
    return _joined(seen, maps, request)


def _of_weights(weigh: Callable[[Request, _Seen, str, int], np.ndarray], request: Request) -> torch.Tensor:
    """Maps of a method that weighs channels by passes of its own, which serve all targets.

    `weigh` gives the weights, shape (n_targets, channels), of a layer's channels for a distinct image.
    """
    seen = _look(request)
    maps = _empty(seen, request)
    with torch.no_grad(), np.errstate(all="ignore"):
        for name, made in maps.items():
            for row, places in enumerate(seen.groups):
                weights = weigh(request, seen, name, row)
                made[places] = (weights[:, :, None, None] * seen.grids[name][row]).sum(axis=1)
    return _joined(seen, maps, request)


def _score_weights(request: Request, seen: _Seen, name: str, row: int) -> np.ndarray:
    """Softmax, over channels, of the outputs for the image seen through each."""
    image, scores = seen.images[row], []
    for part in torch.from_numpy(seen.grids[name][row]).split(request.batch_size):
        through = interpolate(
            part[:, None].to(image.device), image.shape[1:], mode="bilinear", align_corners=True
        )
        lowest, highest = through.amin(dim=(2, 3), keepdim=True), through.amax(dim=(2, 3), keepdim=True)
        shown = image * ((through - lowest) / (highest - lowest + 1e-8))
        scores.append(request.outputs(shown)[:, request.targets[seen.groups[row]].cpu()])
    return torch.cat(scores).softmax(dim=0).float().T.numpy()


def _ablation_weights(request: Request, seen: _Seen, name: str, row: int) -> np.ndarray:
    """Share of the output that is lost without each channel.

    All passes of an image are the same one up to the layer. Where the network lets it, one image goes there
    and many go on; whether it does is seen from the image's first pass, which is made both ways.
    """
    if name not in seen.layer_outputs:
        raise ShapeError(f"layer {name!r} gives no tensor, of which a channel could be 0; name one that does")
    image, output = seen.images[row : row + 1], seen.layer_outputs[name][row : row + 1]
    whole, n_channels = seen.outputs[row].cpu(), seen.grids[name].shape[1]
    # tokens have their channels last
    last = request.reshape is not None and output.shape[-1] == n_channels
    pieces: list[torch.Tensor] = []
    together: bool | None = None
    for part in torch.arange(n_channels).split(request.batch_size):
        changed = output.repeat_interleave(len(part), dim=0)
        changed.movedim(-1 if last else 1, 1)[torch.arange(len(part)), part] = 0
        after = partial(_outputs_after, request, name, image, changed)
        pieces.append(after(1 if together else len(part)))
        if together is None:
            together = _is_same(after, pieces[0], whole)
    targets = request.targets[seen.groups[row]].cpu()
    before = whole[targets, None].float()
    return ((before - torch.cat(pieces)[:, targets].T.float()) / before).numpy()


def _outputs_after(
    request: Request, name: str, image: torch.Tensor, changed: torch.Tensor, n_images: int
) -> torch.Tensor:
    """Outputs for what a layer is made to give, one row each, on the CPU."""
    with tapped({name: request.layers[name]}, lambda *_: changed.clone()):
        return _outputs(request, image.repeat(n_images, 1, 1, 1), len(changed)).cpu()


def _is_same(after: Callable[[int], torch.Tensor], expected: torch.Tensor, whole: torch.Tensor) -> bool:
    """Whether a network to which one image was shown takes several outputs of a layer, and rightly."""
    try:
        of_one_image = after(1)
    # whatever a network raises that counts its images
    except Exception:
        return False
    return bool((of_one_image - expected).abs().max() <= _SAME * (expected - whole).abs().max())


run_scorecam = partial(_of_weights, _score_weights)
run_ablationcam = partial(_of_weights, _ablation_weights)


def run_activation(request: Request) -> torch.Tensor:
    """What a layer gives for each image; several layers are joined on the grid of the input."""
    grids: list[torch.Tensor] = []

    def note(name: str, output: Any) -> None:
        grid = output if request.reshape is None else request.reshape(output)
        # what follows may change the output in place
        grids.append(grid.detach().clone())

    with tapped(request.layers, note):
        request.pass_once(request.images)
    if len(grids) == 1:
        return grids[0]
    return _join_on_input_grid([reduce_channels(grid, request.channels) for grid in grids], request)


def _empty(seen: _Seen, request: Request) -> dict[str, np.ndarray]:
    """Room for the maps of each layer, shape (b, m, k)."""
    return {
        name: np.empty((len(request.images), *grids.shape[2:]), np.float32)
        for name, grids in seen.grids.items()
    }


def _joined(seen: _Seen, maps: dict[str, np.ndarray], request: Request) -> torch.Tensor:
    """Map of one layer as it is, or the mean of several on the grid of the input."""
    no_output = torch.isnan(seen.outputs.detach()).any(dim=1).cpu().numpy()
    for name, made in maps.items():
        # the library's principal components take NaN for 0
        undefined = no_output | ~np.isfinite(seen.grids[name]).all(axis=(1, 2, 3))
        for row in np.flatnonzero(undefined):
            made[seen.groups[row]] = np.nan
    maps_of_layers = list(maps.values())
    if len(maps_of_layers) == 1:
        return torch.from_numpy(maps_of_layers[0])[:, None]
    return _join_on_input_grid(maps_of_layers, request)


def _join_on_input_grid(maps: list[np.ndarray], request: Request) -> torch.Tensor:
    """Map of several layers, on the grid of the input."""
    shape = (int(request.images.shape[2]), int(request.images.shape[3]))
    if request.join == "sum":
        return torch.from_numpy(sum_layers(maps, shape))[:, None]
    return torch.from_numpy(join_layers(maps, request.sign, shape))[:, None]

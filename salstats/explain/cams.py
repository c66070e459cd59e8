"""Class activation maps: the numbers of pytorch-grad-cam, on the layer's own grid, by passes of our own.

One forward pass serves all targets of an image, and the network is run backwards from its outputs to the
layer, no further. Score-CAM and Ablation-CAM make their passes once for all targets. The library's numbers
depend on the device or the batch where these do not:

- A layer's output is recorded as it leaves the layer. An in-place ReLU behind it changes what the library
  kept, on the CPU only.
- Ablation-CAM sets a channel to 0, as its paper does. Where a layer has negative values the library takes a
  number far below them instead, which depends on the channel's place in the batch.
- Each pass is given a copy of the image. A network that scales its input in place would otherwise scale it
  twice.
- Score-CAM makes the masked images a batch at a time, where the library holds all of them:
  2.5 GB for 2048 channels and 320 x 320 pixels.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import interpolate

from salstats.checks import check_choice
from salstats.errors import Message, SalstatsError, Setting, ShapeError
from salstats.explain.cam_formulas import (
    Formula,
    first_principal_component_maps,
    gradcam_weights,
    gradcamplusplus_weights,
    hirescam_weights,
    layercam_weights,
    weighted_channel_sum,
    xgradcam_weights,
)
from salstats.explain.forward_passes import without_parameter_gradients
from salstats.explain.hooks import hooked
from salstats.explain.input_checks import check_outputs
from salstats.explain.map_finishing import (
    mean_of_scaled_layers_by_image,
    reduce_channels,
    sum_of_layers_by_image,
)
from salstats.explain.request import RawAttributions, Request

#: Sides of the first component that an Eigen-CAM can show.
ORIENTATIONS = ("library", "activation")
#: Two ways to compute the outputs without a channel agree when they differ by at most this share of the
#: largest change.
_AGREEMENT = 0.01


class _Activations(NamedTuple):
    """Outputs and layer activations of one forward pass of the distinct images of a request."""

    #: For each distinct image the indices of its maps in the request, one for each target.
    groups: list[list[int]]
    #: Shape (n_distinct, channels, height, width).
    images: torch.Tensor
    #: Shape (n_distinct, n_outputs).
    outputs: torch.Tensor
    #: The output of each layer that gives a tensor, by the layer's name.
    layer_outputs: dict[str, torch.Tensor]
    #: The same as grids, arrays of shape (n_distinct, channels, m, k).
    grids: dict[str, np.ndarray]


def _record_distinct_images(request: Request, *, differentiable: bool = False) -> _Activations:
    """Pass each distinct image through the network once, and record the outputs of the layers.

    With `differentiable` the outputs can be differentiated by those of the layers.
    """
    groups = request.equal_groups()
    images = request.images[[indices[0] for indices in groups]]
    layer_outputs: dict[str, torch.Tensor] = {}
    grids: dict[str, np.ndarray] = {}

    def record_and_copy(name: str, output: Any) -> torch.Tensor | None:
        """Record the output of a layer; return the copy that replaces it, None if it is not a tensor."""
        grid = _layer_values_as_grid(output, request)
        grids[name] = grid
        if len(grid) != len(images):
            raise ShapeError(
                f"layer {name!r} gives {len(grid)} grids of {len(images)} images",
                hint=Message("the layer, or ", Setting("reshape"), ", has to give one each"),
                option="layer",
                value=name,
            )
        if not isinstance(output, torch.Tensor):
            return None
        if output.requires_grad:
            recorded = output.clone()
        else:
            # the first layer, by whose output the network's outputs can be differentiated from here on
            recorded = output.detach().clone().requires_grad_(differentiable)
        layer_outputs[name] = recorded
        # the network goes on with a copy, which it may change in place
        return recorded.clone()

    with torch.set_grad_enabled(differentiable), hooked(request.layers, record_and_copy):
        outputs = _model_outputs(request, images, len(images))
    return _Activations(groups, images, outputs, layer_outputs, grids)


def _model_outputs(request: Request, images: torch.Tensor, n_expected: int) -> torch.Tensor:
    """Return the outputs of one pass; raise ShapeError unless they have `n_expected` rows.

    These are more than `images` has where a hook puts several outputs of a layer in the place of one.
    """
    with torch.autocast(images.device.type, enabled=request.mixed_precision):
        return check_outputs(request.model(images.clone()), n_expected)


def _layer_values_as_grid(layer_output_or_gradient: Any, request: Request) -> np.ndarray:
    """Copy the output of a layer, or its gradient, as a grid in a type of number that NumPy has."""
    grid = layer_output_or_gradient
    if request.reshape is not None:
        grid = request.reshape(layer_output_or_gradient)
    number_type = grid.dtype
    if number_type in (torch.float16, torch.bfloat16):
        number_type = torch.float32
    copied: np.ndarray = grid.detach().to("cpu", number_type, copy=True).numpy()
    return copied


def _cam_maps_with_gradients(weight_formula: Formula, request: Request) -> RawAttributions:
    """Make the maps of a method of activations and gradients by a backward pass for each target."""
    smooth = bool(request.options.get("eigen_smooth", False))
    with without_parameter_gradients(request.model):
        activations = _record_distinct_images(request, differentiable=True)
        maps = _uninitialized_maps_by_layer(activations, request)
        n_passes = max(len(map_indices) for map_indices in activations.groups)
        for number in range(n_passes):
            # the distinct images that have a target of this number, and the indices of its maps
            rows = [row for row, map_indices in enumerate(activations.groups) if number < len(map_indices)]
            indices = [activations.groups[row][number] for row in rows]
            target_outputs = activations.outputs[rows].gather(1, request.targets[indices][:, None])
            layer_gradients = torch.autograd.grad(
                target_outputs.sum(),
                list(activations.layer_outputs.values()),
                retain_graph=True,
                allow_unused=True,
            )
            # a layer whose output is not a tensor has no gradient
            if len(layer_gradients) < len(maps) or any(gradient is None for gradient in layer_gradients):
                raise SalstatsError(
                    "the output does not depend on every layer that is named, so that it has no gradient "
                    "there",
                    hint="name layers between the image and the output that give one tensor",
                    option="layer",
                )
            # usually all images have equally many targets, and a slice copies nothing
            selection: list[int] | slice = slice(None)
            if len(rows) < len(activations.groups):
                selection = rows
            for (layer, layer_maps), gradient in zip(maps.items(), layer_gradients, strict=True):
                grids = activations.grids[layer][selection]
                gradients = _layer_values_as_grid(gradient, request)[selection]
                # values that are not finite are reported, with their image, where maps are checked
                with np.errstate(all="ignore"):
                    weights = weight_formula(grids, gradients)
                    if smooth:
                        layer_maps[indices] = first_principal_component_maps(weights * grids)
                    else:
                        layer_maps[indices] = weighted_channel_sum(weights, grids)
    return _join_maps_nan_for_nonfinite_activations(activations, maps, request)


run_gradcam = partial(_cam_maps_with_gradients, gradcam_weights)
run_gradcamplusplus = partial(_cam_maps_with_gradients, gradcamplusplus_weights)
run_xgradcam = partial(_cam_maps_with_gradients, xgradcam_weights)
run_hirescam = partial(_cam_maps_with_gradients, hirescam_weights)
run_layercam = partial(_cam_maps_with_gradients, layercam_weights)


def run_eigencam(request: Request) -> RawAttributions:
    """Make Eigen-CAMs: the first principal component of the activations, whatever the target."""
    orientation = check_choice(request.options["orient"], ORIENTATIONS, "orient")
    activations = _record_distinct_images(request)
    maps = _uninitialized_maps_by_layer(activations, request)
    for name, grids in activations.grids.items():
        with np.errstate(all="ignore"):
            components = first_principal_component_maps(grids)
        if orientation == "activation":
            components = _components_signed_by_activation(components, grids)
        for indices, component in zip(activations.groups, components, strict=True):
            maps[name][indices] = component
    return _join_maps_nan_for_nonfinite_activations(activations, maps, request)


def _components_signed_by_activation(components: np.ndarray, grids: np.ndarray) -> np.ndarray:
    """Return components (b, m, k) with the sign that makes them high where the mean activation is high.

    The sign of a principal component is arbitrary. `grids` are the activations, (b, channels, m, k).
    """
    mean_activation = grids.mean(axis=1, dtype=np.float64)
    deviation = mean_activation - mean_activation.mean(axis=(1, 2), keepdims=True)
    covariance = (components * deviation).sum(axis=(1, 2))
    is_reversed = covariance < 0
    return np.where(is_reversed[:, None, None], -components, components)


def _joined_signed_maps_of_weighted_channels(
    channel_weights: Callable[[Request, _Activations, str, int], np.ndarray], request: Request
) -> torch.Tensor:
    """Make the maps, negative values kept, of a method that weighs channels by passes for all targets.

    `channel_weights` takes the request, the activations, the name of a layer and the index of a distinct
    image, and returns the weights of the layer's channels for that image, shape (n_targets, channels).
    """
    activations = _record_distinct_images(request)
    maps = _uninitialized_maps_by_layer(activations, request)
    with torch.no_grad(), np.errstate(all="ignore"):
        for layer_name, layer_maps in maps.items():
            for distinct_image, indices in enumerate(activations.groups):
                weights = channel_weights(request, activations, layer_name, distinct_image)
                weighted = weights[:, :, None, None] * activations.grids[layer_name][distinct_image]
                layer_maps[indices] = weighted.sum(axis=1)
    return _join_maps_nan_for_nonfinite_activations(activations, maps, request)


def _scorecam_weights_by_target(
    request: Request, activations: _Activations, layer_name: str, distinct_image_index: int
) -> np.ndarray:
    """Return the softmax, over channels, of the outputs for the image masked by each channel.

    A channel A is enlarged to the image and scaled to 0 to 1: M = (A - min A) / (max A - min A + 1e-8); the
    network is shown the product of image and M (Wang et al. 2020, doi:10.1109/CVPRW50498.2020.00020).
    Shape (n_targets, channels).
    """
    image = activations.images[distinct_image_index]
    targets = request.targets[activations.groups[distinct_image_index]].cpu()
    scores = []
    all_channels = torch.from_numpy(activations.grids[layer_name][distinct_image_index])
    for channels in all_channels.split(request.batch_size):
        enlarged = interpolate(
            channels[:, None].to(image.device), image.shape[1:], mode="bilinear", align_corners=True
        )
        lowest = enlarged.amin(dim=(2, 3), keepdim=True)
        highest = enlarged.amax(dim=(2, 3), keepdim=True)
        masks = (enlarged - lowest) / (highest - lowest + 1e-8)
        outputs = request.outputs(image * masks)
        scores.append(outputs[:, targets])
    weights = torch.cat(scores).softmax(dim=0)
    return weights.float().T.numpy()


def _ablationcam_weights_by_target(
    request: Request, activations: _Activations, layer_name: str, distinct_image_index: int
) -> np.ndarray:
    """Return the share of the output that is lost without each channel: (y - y_k) / y.

    y is the target's output, y_k the one with channel k set to 0 (Desai & Ramaswamy 2020,
    doi:10.1109/WACV45572.2020.9093360). Shape (n_targets, channels).

    All passes of an image are the same up to the layer. Networks that allow it are shown one copy of the
    image, and the layer's output is replaced by a batch. The first batch is passed both ways, to find out
    whether the network allows it.
    """
    if layer_name not in activations.layer_outputs:
        raise ShapeError(
            f"layer {layer_name!r} gives no tensor, of which a channel could be 0",
            hint="name one that does",
            option="layer",
            value=layer_name,
        )
    image = activations.images[distinct_image_index : distinct_image_index + 1]
    layer_output = activations.layer_outputs[layer_name][distinct_image_index : distinct_image_index + 1]
    unablated_outputs = activations.outputs[distinct_image_index].cpu()
    n_channels = activations.grids[layer_name].shape[1]
    channel_axis = 1
    if request.reshape is not None and layer_output.shape[-1] == n_channels:
        # tokens have their channels last
        channel_axis = -1
    outputs: list[torch.Tensor] = []
    takes_one_image: bool | None = None
    for channels in torch.arange(n_channels).split(request.batch_size):
        # row i of the batch is the layer's output without the channel channels[i]
        ablated = layer_output.repeat_interleave(len(channels), dim=0)
        ablated.movedim(channel_axis, 1)[torch.arange(len(channels)), channels] = 0
        outputs_of_copies = partial(_outputs_by_row_of_layer_replacement, request, layer_name, image, ablated)
        n_copies = len(channels)
        if takes_one_image:
            n_copies = 1
        outputs.append(outputs_of_copies(n_copies))
        if takes_one_image is None:
            takes_one_image = _single_copy_suffices(outputs_of_copies, outputs[0], unablated_outputs)
    targets = request.targets[activations.groups[distinct_image_index]].cpu()
    target_output = unablated_outputs[targets, None].float()
    without_channel = torch.cat(outputs)[:, targets].T.float()
    return ((target_output - without_channel) / target_output).numpy()


def _outputs_by_row_of_layer_replacement(
    request: Request, layer_name: str, image: torch.Tensor, replacement: torch.Tensor, n_image_copies: int
) -> torch.Tensor:
    """Return the outputs, on the CPU, of a pass in which a layer's output is replaced by `replacement`.

    The network is shown `n_image_copies` copies of the image. There is one row of outputs for each row of
    `replacement`, else ShapeError.
    """
    layers = {layer_name: request.layers[layer_name]}
    with hooked(layers, lambda *_: replacement.clone()):
        return _model_outputs(request, image.repeat(n_image_copies, 1, 1, 1), len(replacement)).cpu()


def _single_copy_suffices(
    outputs_of_copies: Callable[[int], torch.Tensor],
    outputs_of_copy_per_channel: torch.Tensor,
    unablated_outputs: torch.Tensor,
) -> bool:
    """Return True if one copy of an image gives the outputs that a copy for each ablated channel gives.

    `outputs_of_copies` takes the number of copies shown. `outputs_of_copy_per_channel` are the outputs with
    one copy for each channel, `unablated_outputs` those of the image with all channels. False for a network
    that fails on one copy.
    """
    try:
        outputs = outputs_of_copies(1)
    # a network that relies on the number of its images may raise any error
    except Exception:
        return False
    largest_change = (outputs_of_copy_per_channel - unablated_outputs).abs().max()
    return bool((outputs - outputs_of_copy_per_channel).abs().max() <= _AGREEMENT * largest_change)


run_scorecam = partial(_joined_signed_maps_of_weighted_channels, _scorecam_weights_by_target)
run_ablationcam = partial(_joined_signed_maps_of_weighted_channels, _ablationcam_weights_by_target)

#: Activations of a layer for each image, with all channels, (b, channels, m, k).
LayerActivationsByImage = torch.Tensor


def run_activation(request: Request) -> LayerActivationsByImage:
    """Return the activations of the layer for each image, with all channels: (b, channels, m, k).

    `explain` reduces the channels. Those of several layers are reduced here, by the rule of the request, and
    the layers' maps joined on the grid of the input: (b, 1, height, width).
    """
    activations: list[torch.Tensor] = []

    def record_activation(_layer_name: str, output: Any) -> None:
        """Record the output of a layer, laid on a grid; the network goes on with the output itself."""
        grid = output
        if request.reshape is not None:
            grid = request.reshape(output)
        # a copy: the network may go on to change the output in place
        activations.append(grid.detach().clone())

    with hooked(request.layers, record_activation):
        request.pass_once(request.images)
    if len(activations) == 1:
        return activations[0]
    layer_maps = [reduce_channels(activation, request.channels) for activation in activations]
    return _joined_on_input_grid(layer_maps, request)


def _uninitialized_maps_by_layer(activations: _Activations, request: Request) -> dict[str, np.ndarray]:
    """Return an array (b, m, k) for the maps of b images by name of the layer; its values are not set."""
    maps = {}
    for name, grids in activations.grids.items():
        maps[name] = np.empty((len(request.images), *grids.shape[2:]), np.float32)
    return maps


def _join_maps_nan_for_nonfinite_activations(
    activations: _Activations, maps_by_layer: dict[str, np.ndarray], request: Request
) -> torch.Tensor:
    """Return the maps (b, 1, m, k) of one layer as they are, or those of several joined on the input's grid.

    Maps of an image become NaN, in `maps_by_layer` too, if its activations are not finite or an output is
    NaN.
    """
    output_is_nan = torch.isnan(activations.outputs.detach()).any(dim=1).cpu().numpy()
    for name, layer_maps in maps_by_layer.items():
        # NaN is set here since the library's principal components treat it as 0
        grid_is_finite = np.isfinite(activations.grids[name]).all(axis=(1, 2, 3))
        for row in np.flatnonzero(output_is_nan | ~grid_is_finite):
            layer_maps[activations.groups[row]] = np.nan
    maps_of_layers = list(maps_by_layer.values())
    if len(maps_of_layers) == 1:
        return torch.from_numpy(maps_of_layers[0])[:, None]
    return _joined_on_input_grid(maps_of_layers, request)


def _joined_on_input_grid(maps: list[np.ndarray], request: Request) -> torch.Tensor:
    """Return the joined maps of several layers, each (b, m, k), as (b, 1, height, width) of the input."""
    shape = (int(request.images.shape[2]), int(request.images.shape[3]))
    if request.join == "sum":
        return torch.from_numpy(sum_of_layers_by_image(maps, shape))[:, None]
    return torch.from_numpy(mean_of_scaled_layers_by_image(maps, request.sign, shape))[:, None]

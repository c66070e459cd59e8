"""Class activation maps through pytorch-grad-cam, taken on the layer's own grid.

The library resizes and rescales each map by itself; here the maps are taken before that. Where it would give
numbers that depend on the device or the batch, it is given what it needs not to:

- A layer's output is copied as it leaves the layer. An in-place ReLU behind it would otherwise change what
  the library kept, on the CPU only.
- Its hooks are removed after the first pass. They would otherwise keep the output of every pass of Score-CAM
  and Ablation-CAM.
- Ablation-CAM sets a channel to 0, as its paper does. Where a layer has negative values the library takes a
  number far below them instead, which depends on the channel's place in the batch.
- Each pass of theirs is shown a copy of the image. A network that scales its input in place would otherwise
  be shown it scaled twice.
- Score-CAM makes the images seen through channels a batch at a time, where the library holds all of them:
  2.5 GB for 2048 channels and 320 x 320 pixels.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytorch_grad_cam as library
import torch
from pytorch_grad_cam.ablation_layer import AblationLayer
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from torch import nn
from torch.nn.functional import interpolate

from salstats.checks import SalstatsError, ShapeError, check_choice
from salstats.explain.forward import check_flag
from salstats.explain.reductions import join_layers
from salstats.explain.request import Request, Reshape

#: Whose side of its first component an Eigen-CAM shows.
ORIENTATIONS = ("library", "activation")


def run_gradcam(request: Request) -> torch.Tensor:
    """Grad-CAM: channels weighted by the mean of their gradients."""
    return _weighted(_GradCAM, request)


def run_gradcamplusplus(request: Request) -> torch.Tensor:
    """Grad-CAM++: channels weighted by a weighted mean of their positive gradients."""
    return _weighted(_GradCAMPlusPlus, request)


def run_xgradcam(request: Request) -> torch.Tensor:
    """XGrad-CAM: channels weighted by the mean of gradient times share of the activation."""
    return _weighted(_XGradCAM, request)


def run_hirescam(request: Request) -> torch.Tensor:
    """HiRes-CAM: gradient times activation, summed over channels."""
    return _joined(_maps(_HiResCAM, request, slice(None), gradients=True), request)


def run_layercam(request: Request) -> torch.Tensor:
    """Layer-CAM: positive gradient times activation, summed over channels."""
    return _joined(_maps(_LayerCAM, request, slice(None), gradients=True), request)


def run_eigencam(request: Request) -> torch.Tensor:
    """Eigen-CAM: first principal component of the activations, whatever the target."""
    orient = check_choice(request.options["orient"], ORIENTATIONS, "orient")
    return _joined(_maps(_EigenCAM, request, slice(None), settings={"orient": orient}), request)


def run_scorecam(request: Request) -> torch.Tensor:
    """Score-CAM: channels weighted by what the network makes of the image seen through them."""
    return _one_by_one(_ScoreCAM, request, {"batch_size": request.batch_size, "ask": request.outputs})


def run_ablationcam(request: Request) -> torch.Tensor:
    """Ablation-CAM: channels weighted by how much the output falls without them."""
    # the library would share one layer between all
    settings = {"batch_size": request.batch_size, "ablation_layer": _Ablation(request.reshape is not None)}
    with _kept(request.model, request.layers):
        return _one_by_one(_AblationCAM, request, settings)


def _weighted(kind: type, request: Request) -> torch.Tensor:
    """Return the maps of a method that weights channels by gradients."""
    eigen_smooth = check_flag(request.options["eigen_smooth"], "eigen_smooth")
    return _joined(_maps(kind, request, slice(None), gradients=True, eigen_smooth=eigen_smooth), request)


def _one_by_one(kind: type, request: Request, settings: dict[str, Any]) -> torch.Tensor:
    """Return the maps of a method that makes passes of its own for each image."""
    maps = [
        _maps(kind, request, slice(image, image + 1), settings=settings)
        for image in range(len(request.images))
    ]
    return _joined([np.concatenate(layer) for layer in zip(*maps, strict=True)], request)


def _joined(maps: Sequence[np.ndarray], request: Request) -> torch.Tensor:
    """Return the map of one layer as it is, or the mean of several on the grid of the input."""
    if len(maps) == 1:
        return torch.from_numpy(maps[0])[:, None]
    height, width = request.images.shape[-2:]
    return torch.from_numpy(join_layers(maps, request.sign, (height, width)))[:, None]


def _maps(
    kind: type,
    request: Request,
    places: slice,
    *,
    gradients: bool = False,
    eigen_smooth: bool = False,
    settings: dict[str, Any] | None = None,
) -> list[np.ndarray]:
    """Return the library's maps of some images, one array (b, m, k) per layer, hooks removed."""
    images = request.images[places]
    targets = [ClassifierOutputTarget(target) for target in request.targets[places].tolist()]
    with _without_parameter_gradients(request.model):
        cam = kind(request.model, list(request.layers), _copying(request.reshape))
        copied = request.model.register_forward_pre_hook(_copied_input)
        for name, value in (settings or {}).items():
            setattr(cam, name, value)
        try:
            if gradients:
                images = images.detach().clone().requires_grad_(True)
            with (
                torch.set_grad_enabled(gradients),
                torch.autocast(images.device.type, enabled=request.mixed_precision),
                # what is not finite is found, and its image named, where maps are checked
                np.errstate(all="ignore"),
            ):
                maps: list[np.ndarray] = cam(images, targets, eigen_smooth=eigen_smooth)
        finally:
            copied.remove()
            cam.activations_and_grads.release()
    return maps


def _copied_input(module: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give the network a copy of its images, no leaf: it may change them in place."""
    return (given[0].clone(), *given[1:])


@contextmanager
def _without_parameter_gradients(model: nn.Module) -> Iterator[None]:
    """Let no gradient be computed for parameters: none is wanted, and a frozen network has none."""
    # one made in inference mode could not be given its flag back
    asked = [p for p in model.parameters() if p.requires_grad and not p.is_inference()]
    for parameter in asked:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in asked:
            parameter.requires_grad_(True)


def _copying(reshape: Reshape | None) -> Reshape:
    """Return a reshape whose result shares no memory with the network's, in a type that NumPy has."""

    def copy(output: torch.Tensor) -> torch.Tensor:
        grid = output if reshape is None else reshape(output)
        half = grid.dtype in (torch.float16, torch.bfloat16)
        return grid.float() if half else grid.clone()

    return copy


class _OnLayerGrid:
    """Maps of the library before it resizes and rescales them."""

    activations_and_grads: Any
    target_layers: list[nn.Module]
    uses_gradients: bool
    outputs: torch.Tensor
    get_cam_image: Callable[..., np.ndarray]
    #: Of Eigen-CAM.
    orient = "library"

    def compute_cam_per_layer(
        self, input_tensor: torch.Tensor, targets: list[Any], eigen_smooth: bool
    ) -> list[np.ndarray]:
        """Return the map of each layer."""
        held = self.activations_and_grads
        activations = [a.numpy() for a in held.activations]
        gradients = [g.cpu().numpy() for g in held.gradients]
        held.release()
        for activation in activations:
            if len(activation) != len(input_tensor):
                raise ShapeError(
                    f"a layer gives {len(activation)} grids of {len(input_tensor)} images; it, or reshape=, "
                    "has to give one each"
                )
        if not self.uses_gradients:
            gradients = [None] * len(activations)
        if len(gradients) != len(self.target_layers):
            raise SalstatsError(
                "the output does not depend on every layer that is named, so that it has no gradient there; "
                "name layers between the image and the output"
            )
        maps = []
        for layer, activation, gradient in zip(self.target_layers, activations, gradients, strict=True):
            made = self.get_cam_image(input_tensor, layer, targets, activation, gradient, eigen_smooth)
            made = np.asarray(made)
            if self.orient == "activation":
                made = _oriented(made, activation)
            # the library's principal components take NaN for 0
            undefined = torch.isnan(self.outputs.detach()).any(dim=1).cpu().numpy()
            made[undefined | ~np.isfinite(activation).all(axis=(1, 2, 3))] = np.nan
            maps.append(made)
        return maps

    def aggregate_multi_layers(self, maps: list[np.ndarray]) -> list[np.ndarray]:
        """Return the maps as they are."""
        return maps


def _oriented(maps: np.ndarray, activations: np.ndarray) -> np.ndarray:
    """Return components turned so that they rise where the activations do."""
    means = activations.mean(axis=1, dtype=np.float64)
    means -= means.mean(axis=(1, 2), keepdims=True)
    falls = (maps * means).sum(axis=(1, 2)) < 0
    return np.where(falls[:, None, None], -maps, maps)


def _quiet(function: FunctionType) -> FunctionType:
    """Return a function of the library without its progress bar, the library left as it is."""
    silent = SimpleNamespace(tqdm=lambda steps: steps)
    names = {**function.__globals__, "tqdm": silent}
    return FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )


def _on_layer_grid(kind: type, **methods: Any) -> type:
    """Return a class of the library whose maps lie on the layer's grid."""
    return type(f"_{kind.__name__}", (_OnLayerGrid, kind), methods)


def _score_channels(
    self: Any,
    images: torch.Tensor,
    layer: nn.Module,
    targets: list[Any],
    activations: np.ndarray,
    gradients: None,
) -> np.ndarray:
    """Return the channels' weights: the library's formula, a batch of channels at a time."""
    weights = []
    for image, target, channels in zip(images, targets, activations, strict=True):
        scores = []
        for part in torch.from_numpy(channels).split(self.batch_size):
            seen = interpolate(
                part[:, None].to(image.device), image.shape[1:], mode="bilinear", align_corners=True
            )
            lowest, highest = seen.amin(dim=(2, 3), keepdim=True), seen.amax(dim=(2, 3), keepdim=True)
            shown = image * ((seen - lowest) / (highest - lowest + 1e-8))
            scores.append(self.ask(shown)[:, target.category])
        weights.append(torch.cat(scores).softmax(dim=0).float().numpy())
    return np.stack(weights)


def _save_copy(self: Any, module: nn.Module, given: Any, output: torch.Tensor) -> None:
    """Keep a layer's output as it leaves the layer: what follows may change it in place."""
    self.activations = output.clone()


_GradCAM = _on_layer_grid(library.GradCAM)
_GradCAMPlusPlus = _on_layer_grid(library.GradCAMPlusPlus)
_XGradCAM = _on_layer_grid(library.XGradCAM)
_HiResCAM = _on_layer_grid(library.HiResCAM)
_LayerCAM = _on_layer_grid(library.LayerCAM)
_EigenCAM = _on_layer_grid(library.EigenCAM)
_ScoreCAM = _on_layer_grid(library.ScoreCAM, get_cam_weights=_score_channels)
_AblationCAM = _on_layer_grid(
    library.AblationCAM,
    get_cam_weights=_quiet(library.AblationCAM.get_cam_weights),
    save_activation=_save_copy,
)


class _Ablation(AblationLayer):
    """Stands in for a layer and gives its output with one channel at 0."""

    def __init__(self, reshaped: bool) -> None:
        super().__init__()
        self._reshaped = reshaped

    def activations_to_be_ablated(
        self, activations: np.ndarray, ratio_channels_to_ablate: float = 1.0
    ) -> np.ndarray:
        """Return the channels, all of them."""
        self._n_channels = len(activations)
        self.indices = np.arange(self._n_channels)
        return self.indices

    def set_next_batch(
        self, input_batch_index: int, activations: torch.Tensor, num_channels_to_ablate: int
    ) -> None:
        """Repeat the layer's output for an image, once per channel that is to go."""
        image = activations[input_batch_index : input_batch_index + 1]
        self.activations = image.repeat(num_channels_to_ablate, *[1] * (image.ndim - 1))

    def __call__(self, given: Any) -> torch.Tensor:
        """Return the repeated output, a different channel of each at 0."""
        output = self.activations
        # tokens have their channels last
        axis = -1 if self._reshaped and output.shape[-1] == self._n_channels else 0
        for place in range(len(output)):
            output[place].select(axis, int(self.indices[place])).zero_()
        return output


@contextmanager
def _kept(model: nn.Module, layers: Sequence[nn.Module]) -> Iterator[None]:
    """Put layers back where the library replaced them, also after an error."""
    places = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent._modules.items()
        if any(child is layer for layer in layers)
    ]
    try:
        yield
    finally:
        for parent, name, child in places:
            parent._modules[name] = child

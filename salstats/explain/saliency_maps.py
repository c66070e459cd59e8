"""`explain`: the saliency maps of any method for a batch of images."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import nn

from salstats.checks import as_generator, check_choice, quoted
from salstats.errors import Message, SalstatsError, Setting, ShapeError, ValueRangeError
from salstats.explain.forward_passes import (
    BATCH_SIZE,
    dtype_of,
    evaluating,
    is_out_of_memory_error,
    make_glibc_keep_freed_memory,
    n_images_per_pass_capped_on_cpu,
    warn_of_final_sigmoid_or_softmax,
)
from salstats.explain.input_checks import check_images, check_targets, groups_of_equal_images
from salstats.explain.layers import (
    Layer,
    VitGrid,
    checked_layers_in_pass_order,
    last_convolutional_stage_name,
    modules_by_layer_name,
    outputs_and_layer_outputs,
)
from salstats.explain.map_finishing import (
    CHANNELS,
    JOINS,
    RESOLUTIONS,
    SIGNS,
    apply_sign_rule,
    reduce_channels,
    resize_and_smooth,
    warn_of_or_count_constant_maps,
)
from salstats.explain.methods import (
    ACTIVATION,
    CAM,
    GRADIENT,
    METHODS,
    Method,
    checked_method,
    names_of_methods_without_hooks,
    options_with_defaults,
)
from salstats.explain.presets import preset_arguments
from salstats.explain.request import RawAttributions, Request, Reshape
from salstats.images.maps import checked_filter_side_odd_or_even
from salstats.jobs import with_progress_bar


def explain(
    model: nn.Module,
    images: Any,
    targets: int | Sequence[int] | np.ndarray | torch.Tensor,
    *,
    method: str = "gradcam",
    layer: Layer | None = None,
    reshape: str | Reshape | None = None,
    join: str | None = None,
    preset: str | None = None,
    network: str | None = None,
    channels: str | None = None,
    sign: str | None = None,
    smooth: int | None = None,
    resolution: str = "image",
    batch_size: int = BATCH_SIZE,
    device: str | torch.device | None = None,
    mixed_precision: bool = False,
    rng: int | np.random.Generator = 0,
    seeds: Sequence[int] | np.ndarray | None = None,
    progress: bool = False,
    **options: Any,
) -> np.ndarray:
    """Make the saliency map of each image for one output of the network.

    A map depends on its image, its target and its random numbers only: not on the other images, and, apart
    from rounding, not on the batch size. The model is in evaluation mode meanwhile and afterwards as it was:
    training flags, gradients, hooks and device. One model takes one call at a time.

    Parameters
    ----------
    model : torch.nn.Module
        Its outputs are (n, n_outputs), logits as a rule. TorchScript and exported models refuse hooks: they
        take the methods that `list_methods` shows without them.
    images : ndarray or Tensor of float, shape (n, channels, height, width)
        What the network takes: resized, scaled. Finite.
    targets : int or sequence of int, shape (n,)
        Index of the network's output, one for all images or one each. Give an image once per target; CAMs
        and perturbation methods make the passes of an image once for all its targets.
    method : str
        A name of `list_methods`.
    layer : str, torch.nn.Module or a sequence of these, optional
        For CAMs and "activation" only: the layer, by its name (see `layer_names`) or as a module;
        "features+relu" is the result of the function relu() on the output of the module `features`. By
        default a CAM takes the layer of `find_layer`, the last grid before the classifier. Several layers are
        joined, see `join`.
    reshape : "vit" or callable, optional
        Makes a grid (b, channels, height, width) of the layer's output. "vit" is `vit_grid()`. It has no
        effect on methods without a layer.
    join : {"average", "sum"}, optional
        The way to join the maps of several layers at the size of `images`. "average", the default: each is
        scaled by its range after the sign rule, and the mean taken, as pytorch-grad-cam does. "sum": they are
        added as they are, and the sign rule comes last, so that a Grad-CAM is the ReLU of the sum over the
        channels of all layers, as in Bigolin Lanfredi et al. (2021).
    preset : str, optional
        The choices of a study for the method (see `list_presets`); explicit arguments win. If the
        study smoothed its maps for the mask alone, the filter is `score`'s: `preset_arguments(preset, method,
        network, function="score")`.
    network : str, optional
        The architecture, one of the preset's. It changes no map, only filters of `score`: see
        `preset_arguments`.
    channels : {"sum", "mean", "max", "abs_max"}, optional
        The way to reduce the channels of a pixel to one number. By default as in `list_methods`.
    sign : {"positive", "absolute", "signed"}, optional
        The values that are kept: evidence for the target, the size of evidence of either sign, or all with
        its sign. By default as in `list_methods`; "positive" is the ReLU of the CAMs.
    smooth : int, optional
        Side of a box filter in pixels of the map that is returned; the border is mirrored about its pixels.
        1, the default, is no filter.
    resolution : {"image", "network"}
        "image": (height, width) of `images`, resized as `score` resizes. "network": the method's own grid,
        such as 7 x 7 for a CAM. `score` takes either.
    batch_size : int
        Images in a pass, also in the passes that a method makes of one image. On a CPU at most 8 of
        224 x 224 pixels, or as many as have the same number of pixels: more are not faster, and gradients of
        8 need 1.2 GB in DenseNet121. A smaller number needs less.
    device : str or torch.device, optional
        "cpu", "cuda", "mps", or "auto", the fastest that exists; by default the model's.
    mixed_precision : bool
        Half precision where the device has it. Small gradients can be lost.
    rng : int or numpy.random.Generator
        Seed of the methods that draw. Image i has the numbers of (seed, i); equal images have those of the
        first of them, so that their maps differ by target only.
    seeds : sequence of int, optional
        One seed per image instead.
    progress : bool
        Show a bar on stderr if it is a terminal.
    **options
        The method's own, see `list_methods`: `window`, `stride`, `n_steps`, ...

    Returns
    -------
    ndarray of float32, shape (n, height, width)
        Finite; larger means more salient. Not scaled: `score` does that.

    Raises
    ------
    SalstatsError
        The model refuses hooks; the layer is missing, not reached or used twice; the method has no such
        option or layer; shapes do not fit; an image or a map is not finite; the device is out of memory.

    Warns
    -----
    SalstatsWarning
        Maps have one value everywhere; the warning says how many. A method of gradients explains a network
        that ends in a sigmoid or softmax; said once for each network.

    See Also
    --------
    list_methods : the methods, their options and their papers.
    predict : the probabilities.

    Notes
    -----
    Channels are reduced first, then the sign rule, the resize and the filter; for the maps of several layers
    `join` says when the sign rule comes. Eigen-CAM, "activation" and attention rollout use no target: equal
    images share one map. The side of its principal component that an Eigen-CAM shows is arbitrary:
    `orient="library"` takes what the decomposition returns, as pytorch-grad-cam does; `orient="activation"`
    the side on which the mean activation is larger. In trials 39 to 64 % of maps changed their sign between
    the two. Score-CAM and Ablation-CAM make one pass for each channel of the layer.

    Examples
    --------
    >>> import torch
    >>> from salstats.explain import explain
    >>> model = torch.nn.Sequential(
    ...     torch.nn.Conv2d(1, 1, 1, bias=False), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
    ... )
    >>> model[0].weight.data.fill_(2.0)
    tensor([[[[2.]]]])
    >>> explain(model, [[[[0.0, 1.0], [0.0, 4.0]]]], 0, method="hirescam", layer="0")
    array([[[0. , 0.5],
            [0. , 2. ]]], dtype=float32)
    """
    record = checked_method(method)
    defaults = {"channels": record.channels, "sign": record.sign, "join": "average", "smooth": 1}
    explicit = {"channels": channels, "sign": sign, "join": join, "smooth": smooth}
    arguments: dict[str, Any] = dict(defaults)
    if preset is not None:
        arguments.update(preset_arguments(preset, record.name, network))
    arguments.update({name: value for name, value in explicit.items() if value is not None})
    arguments.update(options)
    check_choice(resolution, RESOLUTIONS, "resolution")
    channels = check_choice(arguments.pop("channels"), CHANNELS, "channels")
    sign = check_choice(arguments.pop("sign"), SIGNS, "sign")
    join_rule = check_choice(arguments.pop("join"), JOINS, "join")
    smooth = checked_filter_side_odd_or_even(arguments.pop("smooth"))
    method_options = options_with_defaults(record, arguments)
    model = _model_taking_hooks(model, record)
    _check_layer_options_only_with_layer_method(record, layer, join)
    if isinstance(reshape, str):
        check_choice(reshape, ("vit",), "reshape")
        reshape = VitGrid()
    stack = check_images(images)
    shape = (int(stack.shape[2]), int(stack.shape[3]))
    groups, seed_by_image = identical_image_groups_and_image_seeds(record, stack, seeds, rng)
    saliency: np.ndarray | None = None
    # gradients are computed even if the caller has switched them off
    with torch.inference_mode(False), torch.enable_grad(), evaluating(model, device) as torch_device:
        if torch_device.type == "cpu":
            # taking memory anew for each layer is slow where freed memory was given back
            make_glibc_keep_freed_memory()
        number_type = dtype_of(model)
        first_image = stack[:1].to(device=torch_device, dtype=number_type, copy=True)
        layers, n_outputs = _layers_and_n_outputs(model, first_image, record, layer, reshape)
        output_indices = check_targets(targets, len(stack), n_outputs)
        # each distinct image with all its targets, or once if the method has no target
        explained = groups
        if not record.depends_on_target:
            explained = [group[:1] for group in groups]
        size = n_images_per_pass_capped_on_cpu(batch_size, stack, torch_device)
        batches = [explained[start : start + size] for start in range(0, len(explained), size)]
        for batch in with_progress_bar(batches, len(explained), record.label, progress=progress):
            indices = [index for group in batch for index in group]
            request = Request(
                model=model,
                device=torch_device,
                batch_size=size,
                mixed_precision=mixed_precision,
                images=_images_at(stack, indices).to(device=torch_device, dtype=number_type),
                equal_image_groups=_consecutive_indices([len(group) for group in batch]),
                targets=torch.as_tensor(output_indices[indices], device=torch_device),
                seeds=tuple(int(seed) for seed in seed_by_image[indices]),
                layers=layers,
                reshape=reshape,
                options=method_options,
                channels=channels,
                sign=sign,
                join=join_rule,
            )
            maps = apply_sign_rule(reduce_channels(run_method(request, record), channels), sign)
            _check_finite(maps, record, indices, output_indices)
            finished = resize_and_smooth(maps, shape, resolution, smooth)
            if saliency is None:
                saliency = np.empty((len(stack), *finished.shape[1:]), np.float32)
            saliency[indices] = finished
    assert saliency is not None
    if not record.depends_on_target:
        for group in groups:
            saliency[group] = saliency[group[0]]
    # counted where `constant_maps_counted` joins the warnings of several calls
    warn_of_or_count_constant_maps(record.name, saliency)
    return saliency


def _check_layer_options_only_with_layer_method(
    record: Method, layer: Layer | None, join: str | None
) -> None:
    """Raise SalstatsError if a method without a layer is given an option about layers."""
    if record.reads_layer:
        return
    for name, value in (("layer", layer), ("join", join)):
        if value is not None:
            layer_methods = [method.name for method in METHODS.values() if method.reads_layer]
            raise SalstatsError(
                f"method {record.name!r} has no layer: leave ",
                Setting(name),
                f" out; those that have one are {quoted(layer_methods)}",
                choices=layer_methods,
            )


def _images_at(images: torch.Tensor, indices: list[int]) -> torch.Tensor:
    """Return the images of indices; a view if they lie side by side, as they usually do."""
    side_by_side = slice(indices[0], indices[-1] + 1)
    if indices == list(range(side_by_side.start, side_by_side.stop)):
        return images[side_by_side]
    return images[indices]


def _consecutive_indices(lengths: list[int]) -> list[list[int]]:
    """Return consecutive indices from 0, as one list of each length: [2, 1] gives [[0, 1], [2]]."""
    ranges = []
    start = 0
    for length in lengths:
        ranges.append(list(range(start, start + length)))
        start += length
    return ranges


def _model_taking_hooks(model: Any, record: Method) -> nn.Module:
    """Return the model to be explained, checked to take hooks where the method needs them.

    For a compiled model that is the module inside.
    """
    if type(model).__name__ == "OptimizedModule":
        # torch.compile: the module behind it has the layers' own names, and calls hooks
        model = model._orig_mod
    scripted = isinstance(model, torch.jit.ScriptModule)
    if record.needs_hooks and (scripted or _is_fx_graph_without_module_calls(model)):
        model_type = "TorchScript" if scripted else "exported"
        choices = names_of_methods_without_hooks()
        raise SalstatsError(
            f"method {record.name!r} needs hooks inside the network, which {model_type} models refuse",
            hint=f"give the original model, or take a method that needs its outputs only: {quoted(choices)}",
            option="method",
            value=record.name,
            choices=choices,
        )
    return model


def _is_fx_graph_without_module_calls(model: Any) -> bool:
    """Return True if a model is a graph of operations that calls no modules."""
    if not isinstance(model, torch.fx.GraphModule):
        return False
    # torch.export replaces modules by operations; a symbolic trace calls the modules
    if any(base.__module__.startswith("torch.export") for base in type(model).__mro__):
        return True
    return not any(node.op == "call_module" for node in model.graph.nodes)


def identical_image_groups_and_image_seeds(
    record: Method, images: torch.Tensor, seeds: Any, rng: int | np.random.Generator
) -> tuple[list[list[int]], np.ndarray]:
    """Return groups of the indices of identical images, for shared passes and draws, and each image's seed.

    Unless seeds are given, a seed is made of the call's seed and the index of the first equal image. For
    methods that share neither passes nor draws each image is a group of its own.
    """
    n = len(images)
    seed_by_image = None if seeds is None else np.asarray(seeds)
    if seed_by_image is not None:
        if seed_by_image.shape != (n,):
            raise ShapeError(
                Setting("seeds"),
                f" must be one whole number per image ({n}), not of shape {seed_by_image.shape}",
            )
        if seed_by_image.dtype.kind not in "iu" or seed_by_image.min() < 0:
            raise ValueRangeError(Setting("seeds"), " must be whole numbers from 0 up, one per image")
    generator = as_generator(rng)
    if record.kind == GRADIENT and not record.random:
        groups = [[index] for index in range(n)]
    else:
        groups = groups_of_equal_images(images, seed_by_image)
    if seed_by_image is not None:
        return groups, seed_by_image
    call_seed: Any = rng
    if isinstance(rng, np.random.Generator):
        call_seed = generator.integers(2**63)
    seed_by_image = np.zeros(n, np.uint64)
    for group in groups:
        state = np.random.SeedSequence([int(call_seed), group[0]]).generate_state(1, np.uint64)
        # 63 bits, which torch's generators take too
        seed_by_image[group] = state >> np.uint64(1)
    return groups, seed_by_image


def _layers_and_n_outputs(
    model: nn.Module, image: torch.Tensor, record: Method, layer: Layer | None, reshape: Reshape | None
) -> tuple[dict[str, nn.Module], int]:
    """Return the layers, in the order a pass reaches them, and the number of outputs: from one pass.

    A CAM takes the last convolutional stage if no layer is given, other methods none. SalstatsError if the
    method "activation" has no layer, an output is NaN, or a layer cannot be read.
    """
    if layer is None and record.kind == ACTIVATION:
        raise SalstatsError(
            f"method {record.name!r} shows the output of a layer",
            hint=Message("name it with ", Setting("layer")),
            option="layer",
        )
    search = record.reads_layer and layer is None
    layers = {} if layer is None else modules_by_layer_name(model, layer)
    outputs, layer_outputs = outputs_and_layer_outputs(model, image, None if search else layers)
    if torch.isnan(outputs).any():
        raise SalstatsError(
            "the network gives NaN for image 0",
            hint="look at its weights and at how images are scaled",
            rows=[0],
        )
    if record.kind in (CAM, GRADIENT):
        warn_of_final_sigmoid_or_softmax(model, outputs)
    if search:
        layers = modules_by_layer_name(model, last_convolutional_stage_name(model, layer_outputs))
    shape = (int(image.shape[2]), int(image.shape[3]))
    return checked_layers_in_pass_order(layer_outputs, layers, reshape, shape), outputs.shape[1]


def run_method(request: Request, record: Method) -> RawAttributions:
    """Return the raw attributions of a method for a batch, (b, channels, m, k), before any reduction."""
    module, name = record.run.split(":")
    try:
        attributions: RawAttributions = getattr(import_module(module), name)(request)
    except (RuntimeError, MemoryError) as error:
        if is_out_of_memory_error(error):
            raise SalstatsError(
                f"method {record.name!r} ran out of the device's memory with ",
                Setting("batch_size", request.batch_size),
                hint=Message("a smaller ", Setting("batch_size"), " needs less"),
            ) from error
        raise
    if len(attributions) != len(request.images):
        raise ShapeError(
            f"method {record.name!r} made {len(attributions)} maps of {len(request.images)} images",
            hint=Message(Setting("reshape"), " has to keep one grid for each image"),
            option="reshape",
        )
    return attributions


def _check_finite(maps: np.ndarray, record: Method, indices: list[int], targets: np.ndarray) -> None:
    """Raise SalstatsError if a map is not finite, naming its image and target."""
    not_finite = ~np.isfinite(maps)
    bad_rows = np.flatnonzero(not_finite.any(axis=(1, 2)))
    if len(bad_rows):
        image = min(indices[row] for row in bad_rows)
        n_bad = int(not_finite[indices.index(image)].sum())
        raise SalstatsError(
            f"method {record.name!r}, image {image}, target {targets[image]}: {n_bad} of {maps[0].size} "
            "values of the map are NaN or infinite",
            hint="look at the network's weights and at how images are scaled",
            rows=[image],
        )

"""`explain`: maps of any method for a batch of images, in one shape and on one scale of choices."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import nn

from salstats.checks import check_choice, check_generator, quoted
from salstats.errors import SalstatsError, ShapeError, ValueRangeError
from salstats.explain.forward_passes import (
    BATCH_SIZE,
    dtype_of,
    evaluating,
    keep_freed_memory,
    pass_size,
    ran_out_of_memory,
)
from salstats.explain.inputs import check_images, check_targets, equal_images
from salstats.explain.layers import Layer, VitGrid, check_reached, last_stage, named_layers, watch
from salstats.explain.map_finishing import (
    CHANNELS,
    JOINS,
    RESOLUTIONS,
    SIGNS,
    finish,
    keep_sign,
    reduce_channels,
    say_constant,
)
from salstats.explain.methods import (
    ACTIVATION,
    GRADIENT,
    METHODS,
    Method,
    check_method,
    check_options,
    without_hooks,
)
from salstats.explain.presets import preset_arguments
from salstats.explain.request import Request, Reshape
from salstats.images.maps import check_box
from salstats.jobs import with_bar


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
    """Saliency map of each image, for the output that it is asked about.

    A map depends on its image, its target and its random numbers only: not on the other images, and not on
    the batch size but for rounding. The model is in evaluation mode meanwhile and afterwards as it was:
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
        For CAMs and "activation" only: the layer, by its name (see `layer_names`) or itself; by
        "features+relu" what the function relu() makes of what the module `features` gives. A CAM takes
        `find_layer` by default, the last grid that the classifier is given. Several layers are joined, see
        `join`.
    reshape : "vit" or callable, optional
        What makes a grid (b, channels, height, width) of what the layer gives. "vit" is `vit_grid()`.
    join : {"average", "sum"}, optional
        How the maps of several layers become one at the size of `images`. "average", the default: each is
        scaled by its range after the sign rule, and the mean taken, as pytorch-grad-cam does. "sum": they are
        added as they are, and the sign rule comes last, so that a Grad-CAM is the ReLU of the sum over the
        channels of all layers, as in equation 1 of Bigolin Lanfredi et al. (2021).
    preset : str, optional
        The choices of a study for the method (see `list_presets`); what is said explicitly wins. Where the
        study smoothed its maps for the mask alone, the filter is `score`'s: `preset_arguments(preset, method,
        network, function="score")`.
    network : str, optional
        The architecture, one of the preset's. It decides filters of `score` alone, see `preset_arguments`.
    channels : {"sum", "mean", "max", "abs_max"}, optional
        How the channels of a pixel become one number. By default as in `list_methods`.
    sign : {"positive", "absolute", "signed"}, optional
        What is kept: evidence for the target, evidence of either sign, or all with its sign. By default as
        in `list_methods`; "positive" is the ReLU of the CAMs.
    smooth : int, optional
        Side of a box filter in pixels of the map that is returned; the border is mirrored about its pixels.
        1, the default, is none.
    resolution : {"image", "network"}
        "image": (height, width) of `images`, resized as `score` resizes. "network": the method's own grid,
        such as 7 x 7 for a CAM. `score` takes either.
    batch_size : int
        Images in a pass, also in the passes that a method makes of one image. On a CPU no more than 8 of
        224 x 224 pixels, or as many as have so many pixels: more are not faster, and gradients of 8 need
        1.2 GB in DenseNet121. A smaller number needs less.
    device : str or torch.device, optional
        "cpu", "cuda", "mps", or "auto", the best there is; by default where the model is.
    mixed_precision : bool
        Half precision where the device has it. Small gradients can be lost.
    rng : int or numpy.random.Generator
        Seed of the methods that draw. Image i has the numbers of (seed, i); equal images have those of the
        first of them, so that their maps differ by target only.
    seeds : sequence of int, optional
        One seed per image instead.
    progress : bool
        Show a bar on stderr, where that is a terminal.
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
        Maps have one value everywhere: how many.

    See Also
    --------
    list_methods : the methods, their options and their papers.
    predict : the probabilities.

    Notes
    -----
    Channels are reduced first, then the sign rule, the resize and the filter. Eigen-CAM, "activation" and
    attention rollout look at no target: equal images share one map. The side of its principal component that
    an Eigen-CAM shows is arbitrary: `orient="library"` takes what the decomposition returns, as
    pytorch-grad-cam does; "activation" the side on which the mean activation is larger. In trials 39 to 64 %
    of maps turned over between the two. Score-CAM and Ablation-CAM make one pass for each channel of the
    layer.

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
    row = check_method(method)
    said = {"channels": channels, "sign": sign, "join": join, "smooth": smooth}
    given = {"channels": row.channels, "sign": row.sign, "join": "average", "smooth": 1}
    given |= {} if preset is None else preset_arguments(preset, row.name, network)
    given |= {name: value for name, value in said.items() if value is not None} | options
    check_choice(resolution, RESOLUTIONS, "resolution")
    channels = check_choice(given.pop("channels"), CHANNELS, "channels")
    sign = check_choice(given.pop("sign"), SIGNS, "sign")
    rule = check_choice(given.pop("join"), JOINS, "join")
    smooth = check_box(given.pop("smooth"))
    own = check_options(row, given)
    model = _check_model(model, row)
    for name, value in (("layer", layer), ("join", join)):
        if not row.layer and value is not None:
            have = quoted(one.name for one in METHODS.values() if one.layer)
            raise SalstatsError(
                f"method {row.name!r} has no layer: leave {name} out; those that have one are {have}"
            )
    if isinstance(reshape, str):
        check_choice(reshape, ("vit",), "reshape")
    grid = VitGrid() if isinstance(reshape, str) else reshape
    stack = check_images(images)
    shape = (int(stack.shape[2]), int(stack.shape[3]))
    groups, drawn = image_draws(row, stack, seeds, rng)
    made: np.ndarray | None = None
    # whatever the caller has switched off
    with torch.inference_mode(False), torch.enable_grad(), evaluating(model, device) as place:
        if place.type == "cpu":
            keep_freed_memory()
        number = dtype_of(model)
        first = stack[:1].to(device=place, dtype=number, copy=True)
        layers, n_outputs = _look(model, first, row, layer, grid)
        wanted = check_targets(targets, len(stack), n_outputs)
        # each image with all its targets, or once where it has none
        asked = groups if row.by_target else [group[:1] for group in groups]
        size = pass_size(batch_size, stack, place)
        parts = [asked[start : start + size] for start in range(0, len(asked), size)]
        for part in with_bar(parts, len(asked), row.label, progress=progress):
            batch = [at for group in part for at in group]
            ends = np.cumsum([len(group) for group in part]).tolist()
            side_by_side = slice(batch[0], batch[-1] + 1)
            request = Request(
                model=model, device=place, batch_size=size, mixed_precision=mixed_precision,
                # those that lie side by side, as most often, are not copied
                images=stack[side_by_side if batch == [*range(len(stack))[side_by_side]] else batch].to(
                    device=place, dtype=number
                ),
                equal=[[*range(end - len(group), end)] for group, end in zip(part, ends, strict=True)],
                targets=torch.as_tensor(wanted[batch], device=place),
                seeds=tuple(int(drawn[i]) for i in batch),
                layers=layers, reshape=grid, options=own, channels=channels, sign=sign, join=rule,
            )  # fmt: skip
            maps = keep_sign(reduce_channels(_run(request, row), channels), sign)
            _check_maps(maps, row, batch, wanted)
            finished = finish(maps, shape, resolution, smooth)
            if made is None:
                made = np.empty((len(stack), *finished.shape[1:]), np.float32)
            made[batch] = finished
    assert made is not None
    if not row.by_target:
        for group in groups:
            made[group] = made[group[0]]
    say_constant(row.name, made)
    return made


def _check_model(model: Any, row: Method) -> Any:
    """Model that is looked into, if the method can."""
    if type(model).__name__ == "OptimizedModule":
        # torch.compile: the module behind it has the layers' own names, and calls hooks
        model = model._orig_mod
    scripted = isinstance(model, torch.jit.ScriptModule)
    # torch.export leaves operations where the modules were; a symbolic trace calls the modules
    exported = isinstance(model, torch.fx.GraphModule) and (
        any(base.__module__.startswith("torch.export") for base in type(model).__mro__)
        or not any(node.op == "call_module" for node in model.graph.nodes)
    )
    if row.hooks and (scripted or exported):
        kind = "TorchScript" if scripted else "exported"
        raise SalstatsError(
            f"method {row.name!r} needs hooks inside the network, which {kind} models refuse; give the "
            f"original model, or take a method that needs its outputs only: {quoted(without_hooks())}"
        )
    return model


def image_draws(
    row: Method, images: torch.Tensor, seeds: Any, rng: int | np.random.Generator
) -> tuple[list[list[int]], np.ndarray]:
    """Places of equal images where that matters, for shared passes and draws; and the seed of each image.

    A seed is made of the call's and the first equal image's place, unless they are given.
    """
    n = len(images)
    given = None if seeds is None else np.asarray(seeds)
    if given is not None and given.shape != (n,):
        raise ShapeError(f"seeds must be one whole number per image ({n}), not of shape {given.shape}")
    if given is not None and (given.dtype.kind not in "iu" or given.min() < 0):
        raise ValueRangeError("seeds must be whole numbers from 0 up, one per image")
    generator = check_generator(rng)
    alone = row.kind == GRADIENT and not row.random
    groups = [[place] for place in range(n)] if alone else equal_images(images, given)
    if given is not None:
        return groups, given
    seed = int(generator.integers(2**63)) if isinstance(rng, np.random.Generator) else int(rng)
    drawn = np.zeros(n, np.uint64)
    for group in groups:
        # 63 bits: also torch's generators take them
        drawn[group] = np.random.SeedSequence([seed, group[0]]).generate_state(1, np.uint64) >> np.uint64(1)
    return groups, drawn


def _look(
    model: nn.Module, image: torch.Tensor, row: Method, layer: Layer | None, reshape: Reshape | None
) -> tuple[dict[str, nn.Module], int]:
    """Layers, in the order a pass reaches them, and the number of outputs: from one pass."""
    if layer is None and row.kind == ACTIVATION:
        raise SalstatsError(f"method {row.name!r} shows what a layer gives: name it, layer=")
    search = row.layer and layer is None
    named = {} if layer is None else named_layers(model, layer)
    outputs, seen = watch(model, image, None if search else named)
    if torch.isnan(outputs).any():
        raise SalstatsError(
            "the network gives NaN for image 0; look at its weights and at how images are scaled"
        )
    if search:
        named = named_layers(model, last_stage(model, seen))
    shape = (int(image.shape[2]), int(image.shape[3]))
    return check_reached(seen, named, reshape, shape), outputs.shape[1]


def _run(request: Request, row: Method) -> torch.Tensor:
    """What a method gives for a batch."""
    module, name = row.run.split(":")
    try:
        raw: torch.Tensor = getattr(import_module(module), name)(request)
    except (RuntimeError, MemoryError) as error:
        if ran_out_of_memory(error):
            raise SalstatsError(
                f"method {row.name!r} ran out of the device's memory with batch_size={request.batch_size}; a "
                "smaller batch_size needs less"
            ) from error
        raise
    if len(raw) != len(request.images):
        raise ShapeError(
            f"method {row.name!r} made {len(raw)} maps of {len(request.images)} images; reshape= has to keep "
            "one grid for each image"
        )
    return raw


def _check_maps(maps: np.ndarray, row: Method, batch: list[int], targets: np.ndarray) -> None:
    """Raise SalstatsError where a map is not finite, naming its image and target."""
    bad = ~np.isfinite(maps).all(axis=(1, 2))
    if bad.any():
        place = min(batch[at] for at in np.flatnonzero(bad))
        n_bad = int((~np.isfinite(maps[batch.index(place)])).sum())
        raise SalstatsError(
            f"method {row.name!r}, image {place}, target {targets[place]}: {n_bad} of "
            f"{maps[0].size} values of the map are NaN or infinite; look at the network's weights and at how "
            "images are scaled"
        )

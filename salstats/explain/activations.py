"""The output of any module as a map: attention gates, masks that a network makes of itself."""

from typing import Any

import torch

from salstats.explain.reductions import join_layers, reduce_channels
from salstats.explain.request import Request


def run_activation(request: Request) -> torch.Tensor:
    """Return what a layer gives for each image; of several layers the mean, on the grid of the input."""
    grids: dict[int, torch.Tensor] = {}

    def note(place: int) -> Any:
        def hook(module: torch.nn.Module, given: object, output: torch.Tensor) -> None:
            grid = output if request.reshape is None else request.reshape(output)
            # what follows may change the output in place
            grids[place] = grid.detach().clone()

        return hook

    handles = [layer.register_forward_hook(note(place)) for place, layer in enumerate(request.layers)]
    try:
        request.pass_once(request.images)
    finally:
        for handle in handles:
            handle.remove()
    if len(grids) == 1:
        return grids[0]
    height, width = request.images.shape[-2:]
    maps = [reduce_channels(grids[place], request.channels) for place in range(len(grids))]
    return torch.from_numpy(join_layers(maps, request.sign, (height, width)))[:, None]

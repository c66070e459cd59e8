"""The output of any module as a map: attention gates, masks that a network makes of itself."""

import torch

from salstats.explain.reductions import join_layers, reduce_channels
from salstats.explain.request import Request
from salstats.explain.tapping import tapped


def run_activation(request: Request) -> torch.Tensor:
    """Return what a layer gives for each image; of several layers the mean, on the grid of the input."""
    grids: list[torch.Tensor] = []

    def note(name: str, output: torch.Tensor) -> None:
        grid = output if request.reshape is None else request.reshape(output)
        # what follows may change the output in place
        grids.append(grid.detach().clone())

    with tapped(request.layers, note):
        request.pass_once(request.images)
    if len(grids) == 1:
        return grids[0]
    height, width = request.images.shape[-2:]
    maps = [reduce_channels(grid, request.channels) for grid in grids]
    return torch.from_numpy(join_layers(maps, request.sign, (height, width)))[:, None]

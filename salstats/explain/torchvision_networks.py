"""Networks of torchvision by their names, with trained weights from a file."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from torchvision import models

from salstats.checks import did_you_mean
from salstats.errors import SalstatsError
from salstats.explain.checkpoints import load_checkpoint
from salstats.explain.networks import Network
from salstats.images.preparation import IMAGENET, Preparation


def torchvision_network(
    name: str,
    weights: str | os.PathLike[str],
    *,
    tasks: Sequence[str] | Mapping[str, int],
    n_outputs: int | None = None,
    preparation: Preparation | None = None,
    **options: Any,
) -> Network:
    """A network of torchvision with weights that were trained elsewhere, for `make_maps`.

    Parameters
    ----------
    name : str
        As `torchvision.models.list_models()` has it, such as "densenet121".
    weights : path
        What `torch.save` wrote, as for `load_checkpoint`.
    tasks : sequence of str or mapping of str to int
        Tasks in the order of the network's outputs, or each with the index of its output.
    n_outputs : int, optional
        How many outputs the network has; by default one for each task.
    preparation : Preparation, optional
        What is done to an image before; by default it is stretched to 224 x 224 pixels and shifted and scaled
        by ImageNet's mean and SD.
    **options
        Further ones of `Network`, such as `layer` and `probability`.

    Returns
    -------
    Network
        Its weights are read when its turn comes.

    Raises
    ------
    SalstatsError
        torchvision has no network of this name.

    Examples
    --------
    >>> from salstats import explain as ex
    >>> network = ex.torchvision_network("resnet18", "best.pt", tasks=["Edema", "Effusion"])
    >>> network.name, network.tasks
    ('resnet18', {'Edema': 0, 'Effusion': 1})
    """
    known = models.list_models()
    if name not in known:
        near = did_you_mean(name, known, 3)
        raise SalstatsError(
            f"torchvision has no network {name!r}{near or '; torchvision.models.list_models() has its names'}"
        )
    outputs = dict(tasks) if isinstance(tasks, Mapping) else {task: i for i, task in enumerate(tasks)}
    n = n_outputs or max(outputs.values(), default=-1) + 1
    build = partial(models.get_model, name, weights=None, num_classes=n)
    ready = preparation or Preparation(**IMAGENET)
    return Network(
        name, partial(load_checkpoint, build, weights), tasks=outputs, preparation=ready, **options
    )

"""Networks of torchvision by their names, with trained weights from a file."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from torchvision import models

from salstats.checks import did_you_mean
from salstats.errors import Advice, SalstatsError, Setting
from salstats.explain.networks import Network
from salstats.explain.weight_files import load_checkpoint
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
    """Return a network of torchvision with weights that were trained elsewhere, for `make_maps`.

    Parameters
    ----------
    name : str
        As `torchvision.models.list_models()` has it, such as "densenet121".
    weights : path
        A file of `torch.save`, as for `load_checkpoint`.
    tasks : str, sequence of str or mapping of str to int
        Tasks in the order of the network's outputs, or each with the index of its output.
    n_outputs : int, optional
        Number of the network's outputs; by default no more than the tasks need.
    preparation : Preparation, optional
        Prepares an image for the network; by default it is stretched to 224 x 224 pixels and standardised by
        ImageNet's mean and SD.
    **options
        Further ones of `Network`, such as `layer` and `probability`.

    Returns
    -------
    Network
        Its weights are read when it is opened.

    Raises
    ------
    SalstatsError
        torchvision has no network of this name, or a task is named twice.

    Examples
    --------
    >>> from salstats import explain as ex
    >>> network = ex.torchvision_network("resnet18", "best.pt", tasks=["Edema", "Effusion"])
    >>> network.name, network.tasks
    ('resnet18', {'Edema': 0, 'Effusion': 1})
    """
    names = models.list_models()
    if name not in names:
        similar = did_you_mean(name, names, n=3)
        names_of_others = Advice(
            "torchvision.models.list_models() has its names",
            "a Python function is --network MODULE:FUNCTION or FILE.py:FUNCTION",
        )
        raise SalstatsError(
            f"torchvision has no network {name!r}{similar}",
            hint="" if similar else names_of_others,
            option="name",
            value=name,
        )
    if isinstance(tasks, Mapping):
        outputs = dict(tasks)
    else:
        outputs = {}
        for output, task in enumerate([tasks] if isinstance(tasks, str) else tasks):
            if task in outputs:
                raise SalstatsError(Setting("tasks"), f" names {task!r} twice", value=task)
            outputs[task] = output
    n_classes = n_outputs or max(outputs.values(), default=-1) + 1
    build = partial(models.get_model, name, weights=None, num_classes=n_classes)
    return Network(
        name,
        partial(load_checkpoint, build, weights),
        tasks=outputs,
        preparation=preparation or Preparation(**IMAGENET),
        **options,
    )

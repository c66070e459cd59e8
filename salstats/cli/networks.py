"""Networks and images that commands of the torch side take; torch is imported only when they run."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from salstats.cli.option_values import number, numbers, repeated_assignments, split
from salstats.cli.spinner import spinner

if TYPE_CHECKING:
    from salstats.images.preparation import Preparation

#: Endings of the images that are read from a folder.
_ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
#: Heading of the help for options of networks of torchvision.
_NETWORK = "Network by its name"
#: Text of the option --network.
NETWORK_HELP = (
    "Network of torchvision, such as densenet121, with --weights; or MODULE:FUNCTION, a Python function that "
    "returns a Network of salstats.explain."
)

ImageFolder = Annotated[
    Path, typer.Argument(metavar="IMAGES", help="Folder of images; a file's name is its case.")
]
TaskNames = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,...",
        help="Tasks in the order of the outputs, or with their outputs, such as Edema=3,Effusion=7.",
    ),
]
BatchSize = Annotated[
    str | None,
    typer.Option(metavar="<int>", help="Number of images in a forward pass; fewer need less memory."),
]
Device = Annotated[
    str | None, typer.Option(help="Device, such as cpu or cuda (default: a GPU where there is one).")
]
Weights = Annotated[
    Path | None, typer.Option(rich_help_panel=_NETWORK, help="File of weights that torch.save wrote.")
]
Outputs = Annotated[
    str | None,
    typer.Option(
        metavar="<int>", rich_help_panel=_NETWORK, help="Number of outputs (default: one per task)."
    ),
]
Probability = Annotated[
    str | None,
    typer.Option(
        help="Function that turns outputs into probabilities: sigmoid, softmax or none (default: none where "
        "they sum to 1, else sigmoid).",
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_NETWORK,
        help="Name of the layer for class activation maps (default: the last grid).",
    ),
]
Size = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_NETWORK,
        help="Size of the input, such as 224x320 (height x width; default: 224).",
    ),
]
Fit = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_NETWORK,
        help="Way to fit an image into the input: stretch, inside or cover (default: stretch).",
    ),
]
Mean = Annotated[
    list[str] | None,
    typer.Option(
        metavar="R,G,B",
        rich_help_panel=_NETWORK,
        help="Means subtracted from the channels (default: ImageNet's).",
    ),
]
Std = Annotated[
    list[str] | None,
    typer.Option(
        metavar="R,G,B",
        rich_help_panel=_NETWORK,
        help="Standard deviations that channels are divided by (default: ImageNet's).",
    ),
]


@dataclass(frozen=True)
class NetworkOptions:
    """Options of networks of torchvision, as text; for a Python function only `probability` may be given."""

    tasks: list[str] | dict[str, int] | None
    weights: Path | None
    outputs: str | None
    probability: str | None
    layer: str | None
    size: str | None
    fit: str | None
    mean: list[str] | None
    std: list[str] | None

    def network(self, name: str) -> Any:
        """Return the network of a name of torchvision, or of a path MODULE:NAME or FILE.py:NAME."""
        if ":" in name:
            self._check_no_torchvision_options(name)
            network = network_of_function(name)
            if self.probability is None:
                return network
            # Errors about a network's outputs suggest `--probability`, so it works for every network.
            return replace(network, probability=self.probability)
        missing = []
        if self.weights is None:
            missing.append("--weights FILE")
        if self.tasks is None:
            missing.append("--tasks A,B")
        if missing:
            raise typer.BadParameter(
                f"--network {name} needs {' and '.join(missing)}; a Python function is --network "
                "MODULE:FUNCTION or FILE.py:FUNCTION"
            )
        options: dict[str, Any] = {"probability": self.probability, "layer": self.layer}
        if self.outputs is not None:
            options["n_outputs"] = whole_number(self.outputs, "--outputs")
        preparation = _preparation(self.size or "224", self.fit or "stretch", mean=self.mean, std=self.std)
        return imported_explain().torchvision_network(
            name, self.weights, tasks=self.tasks, preparation=preparation, **options
        )

    def _check_no_torchvision_options(self, network: str) -> None:
        """Raise an error where options of torchvision's networks are given with a Python function."""
        options_by_flag = {
            "--weights": self.weights, "--outputs": self.outputs, "--layer": self.layer, "--size": self.size,
            "--fit": self.fit, "--mean": self.mean, "--std": self.std,
        }  # fmt: skip
        for flag, value in options_by_flag.items():
            if value:
                raise typer.BadParameter(
                    f"{flag} belongs to a network by name; the salstats.explain.Network of {network} has its "
                    "own"
                )


def imported_explain() -> ModuleType:
    """Import `salstats.explain`; without torch, raise an error that says how to install it."""
    from salstats.errors import SalstatsError

    try:
        with spinner("Loading"):
            explain = import_module("salstats.explain")
            # The module imports torch when an attribute is first used.
            explain.make_maps  # noqa: B018
    except ModuleNotFoundError as error:
        raise SalstatsError(str(error)) from error
    return explain


def whole_number(text: str, flag: str) -> int:
    """Read a whole number."""
    return int(number(text, flag, int))


def tasks_of_outputs(texts: Sequence[str] | None) -> list[str] | dict[str, int] | None:
    """Read tasks in the order of the outputs, or each with the number of its output."""
    names = split(texts)
    if names is None or not any("=" in name for name in names):
        return names
    outputs = repeated_assignments(names, "--tasks", "Edema=3,Effusion=7")
    return {task: whole_number(text, f"--tasks {task}=") for task, text in outputs.items()}


def images_by_path_case(folder: Path) -> dict[str, Path]:
    """Return the images in a folder and its subfolders by case: `a/b.png` is case a_b."""
    from salstats.errors import InputFileError

    if not folder.is_dir():
        raise InputFileError(f"{folder}: no such folder of images", path=folder)
    files = [f for f in sorted(folder.rglob("*")) if f.suffix.lower() in _ENDINGS and f.is_file()]
    cases: dict[str, Path] = {}
    for file in files:
        case = "_".join(file.relative_to(folder).with_suffix("").parts)
        if case in cases:
            raise InputFileError(
                f"{cases[case]} and {file} are both case {case}; rename one of them", value=case, path=file
            )
        cases[case] = file
    if not cases:
        raise InputFileError(
            f"{folder}: no image in it; it should hold files ending in {', '.join(_ENDINGS)}",
            choices=_ENDINGS,
            path=folder,
        )
    return cases


def network_of_function(path: str) -> Any:
    """Return the network that a module or file has under a name, or that its function of this name makes.

    `path` is MODULE:NAME or FILE.py:NAME.
    """
    from salstats.checks import did_you_mean
    from salstats.errors import SalstatsError

    file, _, name = path.partition(":")
    module_name = file.removesuffix(".py")
    # `python -m` finds modules in this folder, an installed program does not
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        module = import_module(module_name)
        network = getattr(module, name, None)
        if network is None:
            suggestion = did_you_mean(name, vars(module))
            raise SalstatsError(
                f"--network {path}: {module_name} has no {name!r}{suggestion}",
                option="network",
                value=path,
                choices=vars(module),
            )
        if callable(network):
            network = network()
    except SalstatsError:
        raise
    # the user's own code may raise any error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        hint = f"`python -c 'import {module_name}; {module_name}.{name}()'` shows the line"
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            reason = f"no file {module_name}.py in {folder}, and no installed module {module_name}"
            hint = "go to the folder of the file"
        raise SalstatsError(f"--network {path}: {reason}", hint=hint, option="network", value=path) from error
    finally:
        sys.path.remove(folder)
    if not isinstance(network, imported_explain().Network):
        raise SalstatsError(
            f"--network {path} gives a {type(network).__name__}, and should give a salstats.explain.Network",
            option="network",
            value=path,
        )
    return network


def _preparation(size_text: str, fit: str, **channel_texts: Sequence[str] | None) -> "Preparation":
    """Return the preparation of images for a network of torchvision; `channel_texts` are `mean` and `std`."""
    from salstats.images.preparation import IMAGENET, Preparation

    height, _, width = size_text.partition("x")
    shape = (whole_number(height, "--size"), whole_number(width or height, "--size"))
    statistics = dict(IMAGENET)
    for name, texts in channel_texts.items():
        if texts:
            values = numbers(texts, f"--{name}", float)
            # A single value is used for every channel.
            statistics[name] = values[0] if len(values) == 1 else tuple(values)
    return Preparation(shape, fit=fit, **statistics)

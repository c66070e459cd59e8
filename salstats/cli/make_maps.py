"""Command that makes maps of a folder of images; torch is imported only when maps are made."""

import ast
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from salstats.cli.option_values import equations, number, numbers, split
from salstats.cli.spinner import spinner

#: Endings of the images that are read from a folder.
_ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
#: Heading of the help for options of networks of torchvision.
_NETWORK = "Network by its name"


def make_maps(
    images: Annotated[
        Path, typer.Argument(metavar="IMAGES", help="Folder of images; a file's name is its case.")
    ],
    network: Annotated[
        list[str],
        typer.Option(
            metavar="NETWORK",
            help="Network of torchvision, such as densenet121, with --weights; or MODULE:FUNCTION, a Python "
            "function that returns a Network of salstats.explain.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of maps to make or to complete.")],
    methods: Annotated[
        list[str] | None,
        typer.Option("--methods", "--method", metavar="A,B,...", help="Saliency methods (default: gradcam)."),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Tasks in the order of the outputs, or with their outputs, such as Edema=3,Effusion=7.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Option of one method, such as rise.n_masks=500; may be repeated."
        ),
    ] = None,
    resolution: Annotated[
        str, typer.Option(help="Size of the maps: network (as the network gives them) or image.")
    ] = "network",
    seed: Annotated[str, typer.Option(metavar="<int>", help="Seed of methods that draw at random.")] = "0",
    batch_size: Annotated[
        str | None,
        typer.Option(metavar="<int>", help="Number of images in a forward pass; fewer need less memory."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Device, such as cpu or cuda (default: a GPU where there is one).")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Make all maps again instead of the missing ones only.")
    ] = False,
    weights: Annotated[
        Path | None, typer.Option(rich_help_panel=_NETWORK, help="File of weights that torch.save wrote.")
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(
            metavar="<int>", rich_help_panel=_NETWORK, help="Number of outputs (default: one per task)."
        ),
    ] = None,
    probability: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_NETWORK,
            help="Function that turns outputs into probabilities: sigmoid, softmax or none (default: none "
            "where they sum to 1, else sigmoid).",
        ),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_NETWORK,
            help="Name of the layer for class activation maps (default: the last grid).",
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_NETWORK,
            help="Size of the input, such as 224x320 (height x width; default: 224).",
        ),
    ] = None,
    fit: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_NETWORK,
            help="Way to fit an image into the input: stretch, inside or cover (default: stretch).",
        ),
    ] = None,
    mean: Annotated[
        list[str] | None,
        typer.Option(
            metavar="R,G,B",
            rich_help_panel=_NETWORK,
            help="Means subtracted from the channels (default: ImageNet's).",
        ),
    ] = None,
    std: Annotated[
        list[str] | None,
        typer.Option(
            metavar="R,G,B",
            rich_help_panel=_NETWORK,
            help="Standard deviations that channels are divided by (default: ImageNet's).",
        ),
    ] = None,
) -> None:
    """Make saliency maps of a folder of images for the command score; needs torch."""
    explain = _explain()
    tasks_of_network = _tasks(tasks)
    cases = _cases(images)
    options_by_flag = {
        "--weights": weights, "--outputs": outputs, "--probability": probability, "--layer": layer,
        "--size": size, "--fit": fit, "--mean": mean, "--std": std,
    }  # fmt: skip
    network_options: dict[str, Any] = {"probability": probability, "layer": layer}
    if outputs is not None:
        network_options["n_outputs"] = _integer(outputs, "--outputs")
    preparation = _preparation(size or "224", fit or "stretch", mean=mean, std=std)
    networks = []
    for name in network:
        if ":" in name:
            _check_no_options(name, options_by_flag)
            networks.append(_network_of_function(name))
            continue
        if weights is None or tasks_of_network is None:
            missing = []
            if weights is None:
                missing.append("--weights FILE")
            if tasks_of_network is None:
                missing.append("--tasks A,B")
            raise typer.BadParameter(f"--network {name} needs {' and '.join(missing)}")
        networks.append(
            explain.torchvision_network(
                name, weights, tasks=tasks_of_network, preparation=preparation, **network_options
            )
        )
    run_options = {}
    if batch_size is not None:
        run_options["batch_size"] = _integer(batch_size, "--batch-size")
    explain.make_maps(
        output,
        cases,
        networks,
        tasks=tasks_of_network,
        methods=split(methods) or ["gradcam"],
        options=_method_options(option or []),
        resolution=resolution,
        rng=_integer(seed, "--seed"),
        device=device,
        overwrite=overwrite,
        **run_options,
    )
    print(
        f"Maps of {len(cases)} images written to {output}: "
        f"salstats score {output} --truth TRUTH -o scores.csv"
    )


def _check_no_options(network: str, options_by_flag: Mapping[str, object]) -> None:
    """Raise an error where options of torchvision's networks are given with a Python function."""
    for flag, value in options_by_flag.items():
        if value:
            raise typer.BadParameter(
                f"{flag} belongs to a network by name; the salstats.explain.Network of {network} has its own"
            )


def _explain() -> Any:
    """Import the torch side; the error where torch is missing says how to install it."""
    from salstats.errors import SalstatsError

    try:
        # only here: it needs the extra
        with spinner("Loading"):
            explain = import_module("salstats.explain")
            # the first attribute imports torch
            explain.make_maps  # noqa: B018
    except ModuleNotFoundError as error:
        raise SalstatsError(str(error)) from error
    return explain


def _integer(text: str, flag: str) -> int:
    """Read a whole number."""
    return int(number(text, flag, int))


def _tasks(texts: Sequence[str] | None) -> list[str] | dict[str, int] | None:
    """Read tasks in the order of the outputs, or each with the number of its output."""
    names = split(texts)
    if names is None or not any("=" in name for name in names):
        return names
    outputs = equations(names, "--tasks", "Edema=3,Effusion=7")
    return {task: _integer(text, f"--tasks {task}=") for task, text in outputs.items()}


def _cases(folder: Path) -> dict[str, Path]:
    """Return the images in a folder and its subfolders by case: `a/b.png` is case a_b."""
    from salstats.errors import InputFileError

    if not folder.is_dir():
        raise InputFileError(f"{folder}: no such folder of images")
    files = [f for f in sorted(folder.rglob("*")) if f.suffix.lower() in _ENDINGS and f.is_file()]
    cases: dict[str, Path] = {}
    for file in files:
        case = "_".join(file.relative_to(folder).with_suffix("").parts)
        if case in cases:
            raise InputFileError(f"{cases[case]} and {file} are both case {case}; rename one of them")
        cases[case] = file
    if not cases:
        raise InputFileError(
            f"{folder}: no image in it; it should hold files ending in {', '.join(_ENDINGS)}"
        )
    return cases


def _network_of_function(path: str) -> Any:
    """Return the network that a Python function makes, or that a name in a module stands for.

    `path` is MODULE:NAME or FILE.py:NAME.
    """
    from salstats.checks import did_you_mean
    from salstats.errors import SalstatsError

    file, _, name = path.partition(":")
    module_name = file.removesuffix(".py")
    # `python -m` finds modules in this folder, an installed program does not
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = import_module(module_name)
        network = getattr(module, name, None)
        if network is None:
            suggestion = did_you_mean(name, vars(module))
            raise SalstatsError(f"--network {path}: {module_name} has no {name!r}{suggestion}")
        if callable(network):
            network = network()
    except SalstatsError:
        raise
    # the user's own code may raise any error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            reason = f"no file {module_name}.py in {Path.cwd()}, and no installed module {module_name}"
        raise SalstatsError(f"--network {path}: {reason}") from error
    finally:
        sys.path.remove(str(Path.cwd()))
    if not isinstance(network, _explain().Network):
        raise SalstatsError(
            f"--network {path} gives a {type(network).__name__}, and should give a salstats.explain.Network"
        )
    return network


def _preparation(size: str, fit: str, **channels: Sequence[str] | None) -> Any:
    """Read how images are prepared for a network of torchvision."""
    from salstats.images.preparation import IMAGENET, Preparation

    height, _, width = size.partition("x")
    shape = (_integer(height, "--size"), _integer(width or height, "--size"))
    statistics = dict(IMAGENET)
    for name, texts in channels.items():
        if texts:
            values = numbers(texts, f"--{name}", float)
            # one value is that of every channel
            statistics[name] = values[0] if len(values) == 1 else tuple(values)
    return Preparation(shape, fit=fit, **statistics)


def _method_options(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read options of single methods: numbers and lists as Python writes them, all else as text."""
    options: dict[str, dict[str, Any]] = {}
    for name, text in equations(texts, "--option", "rise.n_masks=500").items():
        method, dot, option = name.partition(".")
        if not (method and dot and option):
            raise typer.BadParameter(f"--option '{name}={text}' should read like rise.n_masks=500")
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        options.setdefault(method, {})[option] = value
    return options

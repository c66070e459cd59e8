"""Maps of a folder of images on the command line; torch is imported when there is something to make."""

import ast
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from salstats.cli.values import equations, number, numbers, split
from salstats.cli.waiting import waiting

#: Images that are taken from a folder.
_ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
_NETWORK = "Network by its name"


def make_maps(
    images: Annotated[
        Path, typer.Argument(metavar="IMAGES", help="Folder of images; a file's name is its case.")
    ],
    network: Annotated[
        list[str],
        typer.Option(
            metavar="NAME|MODULE:FUNCTION",
            help="Network of torchvision, such as densenet121, with --weights; or a Python function that "
            "returns a salstats.explain.Network.",
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder of maps to make or to complete.")],
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
    """Make saliency maps of a folder of images, for score to read; needs torch."""
    explain = _explain()
    named = _tasks(tasks)
    cases = _cases(images)
    of_names = {
        "--weights": weights, "--outputs": outputs, "--probability": probability, "--layer": layer,
        "--size": size, "--fit": fit, "--mean": mean, "--std": std,
    }  # fmt: skip
    own: dict[str, Any] = {"probability": probability, "layer": layer}
    if outputs is not None:
        own["n_outputs"] = _whole(outputs, "--outputs")
    prepared = _preparation(size or "224", fit or "stretch", mean=mean, std=std)
    networks = []
    for one in network:
        if ":" in one:
            flag = next((flag for flag, given in of_names.items() if given), None)
            if flag is not None:
                raise typer.BadParameter(
                    f"{flag} belongs to a network by name; the salstats.explain.Network of {one} says its own"
                )
            networks.append(_called(one))
            continue
        lacking = [
            flag for flag, given in (("--weights FILE", weights), ("--tasks A,B", named)) if given is None
        ]
        if lacking:
            raise typer.BadParameter(f"--network {one} needs {' and '.join(lacking)}")
        networks.append(explain.torchvision_network(one, weights, tasks=named, preparation=prepared, **own))
    given = {} if batch_size is None else {"batch_size": _whole(batch_size, "--batch-size")}
    explain.make_maps(
        out,
        cases,
        networks,
        tasks=named,
        methods=split(methods) or ["gradcam"],
        options=_options(option or []),
        resolution=resolution,
        rng=_whole(seed, "--seed"),
        device=device,
        overwrite=overwrite,
        **given,
    )
    print(f"Maps of {len(cases)} images written to {out}: salstats score {out} --truth TRUTH -o scores.csv")


def _explain() -> Any:
    """The torch side, or an error that says what brings it."""
    from salstats.errors import SalstatsError

    try:
        # only here: it needs the extra
        with waiting("Loading"):
            explain = import_module("salstats.explain")
            # torch comes with the first that is asked for
            explain.make_maps  # noqa: B018
    except ModuleNotFoundError as error:
        raise SalstatsError(str(error)) from error
    return explain


def _whole(text: str, flag: str) -> int:
    """A whole number."""
    return int(number(text, flag, int))


def _tasks(given: Sequence[str] | None) -> list[str] | dict[str, int] | None:
    """Tasks in the order of the outputs, or each with its own."""
    names = split(given)
    if names is None or not any("=" in name for name in names):
        return names
    found = equations(names, "--tasks", "Edema=3,Effusion=7")
    return {task: _whole(place, f"--tasks {task}=") for task, place in found.items()}


def _cases(folder: Path) -> dict[str, Path]:
    """The images in a folder, and below it, by case: `a/b.png` is a_b."""
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


def _called(path: str) -> Any:
    """What a Python function returns, or the network that bears the name."""
    from salstats.checks import did_you_mean
    from salstats.errors import SalstatsError

    file, _, name = path.partition(":")
    module = file.removesuffix(".py")
    # as `python -m` does, and a program that is installed does not
    sys.path.insert(0, str(Path.cwd()))
    try:
        there = import_module(module)
        found = getattr(there, name, None)
        if found is None:
            raise SalstatsError(
                f"--network {path}: {module} has no {name!r}{did_you_mean(name, vars(there))}"
            )
        network = found() if callable(found) else found
    except SalstatsError:
        raise
    # whatever the user's own code raises
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            said = f"no file {module}.py in this folder, {Path.cwd()}, and no installed module {module}"
        raise SalstatsError(f"--network {path}: {said}") from error
    finally:
        sys.path.remove(str(Path.cwd()))
    if not isinstance(network, _explain().Network):
        raise SalstatsError(
            f"--network {path} gives a {type(network).__name__}, and should give a salstats.explain.Network"
        )
    return network


def _preparation(size: str, fit: str, **channels: Sequence[str] | None) -> Any:
    """What is done to images before a network by name sees them."""
    from salstats.images.preparation import IMAGENET, Preparation

    height, _, width = size.partition("x")
    shape = (_whole(height, "--size"), _whole(width or height, "--size"))
    listed = {name: numbers(v, f"--{name}", float) for name, v in channels.items() if v}
    given = {name: v[0] if len(v) == 1 else tuple(v) for name, v in listed.items()}
    return Preparation(shape, fit=fit, **(IMAGENET | given))


def _options(given: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Options of single methods, numbers and lists as Python writes them, all else as text."""
    found: dict[str, dict[str, Any]] = {}
    for name, text in equations(given, "--option", "rise.n_masks=500").items():
        method, dot, option = name.partition(".")
        if not (method and dot and option):
            raise typer.BadParameter(f"--option '{name}={text}' should read like rise.n_masks=500")
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        found.setdefault(method, {})[option] = value
    return found

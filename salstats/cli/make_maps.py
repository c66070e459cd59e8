"""Command that makes maps of a folder of images; torch is imported only when maps are made."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from salstats.cli.networks import (
    NETWORK_HELP,
    BatchSize,
    Device,
    Fit,
    ImageFolder,
    Layer,
    Mean,
    NetworkOptions,
    Outputs,
    Probability,
    Size,
    Std,
    TaskNames,
    Weights,
    images_by_path_case,
    imported_explain,
    tasks_of_outputs,
    whole_number,
)
from salstats.cli.option_values import repeated_assignments, split


def make_maps(
    images: ImageFolder,
    network: Annotated[list[str], typer.Option(metavar="NETWORK", help=NETWORK_HELP)],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of maps to make or to complete.")],
    methods: Annotated[
        list[str] | None,
        typer.Option("--methods", "--method", metavar="A,B,...", help="Saliency methods (default: gradcam)."),
    ] = None,
    tasks: TaskNames = None,
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
    batch_size: BatchSize = None,
    device: Device = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Make all maps again instead of the missing ones only.")
    ] = False,
    weights: Weights = None,
    outputs: Outputs = None,
    probability: Probability = None,
    layer: Layer = None,
    size: Size = None,
    fit: Fit = None,
    mean: Mean = None,
    std: Std = None,
) -> None:
    """Make saliency maps of a folder of images for the command score; needs torch."""
    explain = imported_explain()
    tasks_of_network = tasks_of_outputs(tasks)
    cases = images_by_path_case(images)
    network_options = NetworkOptions(
        tasks=tasks_of_network,
        weights=weights,
        outputs=outputs,
        probability=probability,
        layer=layer,
        size=size,
        fit=fit,
        mean=mean,
        std=std,
    )
    networks = [network_options.network(name) for name in network]
    run_options = {}
    if batch_size is not None:
        run_options["batch_size"] = whole_number(batch_size, "--batch-size")
    explain.make_maps(
        output,
        cases,
        networks,
        tasks=tasks_of_network,
        methods=split(methods) or ["gradcam"],
        options=_method_options(option or []),
        resolution=resolution,
        rng=whole_number(seed, "--seed"),
        device=device,
        overwrite=overwrite,
        **run_options,
    )
    print(
        f"Maps of {len(cases)} images written to {output}; with masks TRUTH/TASK/CASE.png: "
        f"salstats score {output} --truth TRUTH -o scores.csv"
    )


def _method_options(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return options by method; values that are Python literals, such as 5 or [1, 2], are read as these."""
    options: dict[str, dict[str, Any]] = {}
    for name, text in repeated_assignments(texts, "--option", "rise.n_masks=500").items():
        method, dot, option = name.partition(".")
        if not (method and dot and option):
            raise typer.BadParameter(f"--option '{name}={text}' should read like rise.n_masks=500")
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        options.setdefault(method, {})[option] = value
    return options

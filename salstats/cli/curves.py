"""Command that measures insertion and deletion curves of maps; torch is imported only when it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from salstats.cli.option_values import split

if TYPE_CHECKING:
    import pandas as pd

#: The curves, all of which are measured by default.
_METRICS = ("insertion", "deletion")


def curves(
    images: ImageFolder,
    maps: Annotated[Path, typer.Option(help="Folder of maps, of make-maps or another program.")],
    network: Annotated[str, typer.Option(metavar="NETWORK", help=NETWORK_HELP)],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File of scores to write, the areas under the curves.")
    ],
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics", "--metric", metavar="A,B,...", help="Curves (default: insertion,deletion)."
        ),
    ] = None,
    points: Annotated[
        Path | None, typer.Option(help="Also write all curves to this file, which the command plot draws.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="Values of pixels that are not shown: blur, zero, mean or black (default: blur for "
            "insertion, zero for deletion)."
        ),
    ] = None,
    steps: Annotated[str, typer.Option(metavar="<int>", help="Number of steps of a curve.")] = "100",
    scores: Annotated[
        Path | None,
        typer.Option(
            help="File of the command score: leave out images without the finding, as scores leave them out."
        ),
    ] = None,
    tasks: TaskNames = None,
    batch_size: BatchSize = None,
    device: Device = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the outputs if they exist.")
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
    """Measure insertion and deletion curves of maps with the network that they explain; needs torch."""
    import pandas as pd

    from salstats.checks import check_choice
    from salstats.files.frame_files import check_output, write_frame
    from salstats.stats.engine.cautions import add_score_cautions_by_metric

    checked_metrics = split(metrics) or list(_METRICS)
    for metric in checked_metrics:
        check_choice(metric, _METRICS, "metrics")
    if tasks and ":" in network:
        raise typer.BadParameter(
            f"--tasks belongs to a network by name; the salstats.explain.Network of {network} has its own"
        )
    for file in (output, points):
        if file is not None:
            check_output(file, overwrite=overwrite)
    options: dict[str, Any] = {}
    if scores is not None:
        with_finding = _cases_and_tasks_with_finding(scores)
        options = {"cases": with_finding["case"], "tasks": with_finding["task"]}
    explain = imported_explain()
    cases = images_by_path_case(images)
    network_options = NetworkOptions(
        tasks=tasks_of_outputs(tasks),
        weights=weights,
        outputs=outputs,
        probability=probability,
        layer=layer,
        size=size,
        fit=fit,
        mean=mean,
        std=std,
    )
    options |= {"steps": whole_number(steps, "--steps"), "device": device, "progress": True}
    if baseline is not None:
        options["baseline"] = baseline
    if batch_size is not None:
        options["batch_size"] = whole_number(batch_size, "--batch-size")
    model = network_options.network(network)
    # The functions that measure the curves have the names of the metrics.
    frames = [getattr(explain, metric)(model, cases, maps, **options) for metric in checked_metrics]
    all_curves = pd.concat(frames, ignore_index=True)
    areas = explain.curve_scores(all_curves)
    if points is not None:
        # The file of curves keeps the warnings of their areas, so that a plot of it can show them.
        write_frame(add_score_cautions_by_metric(all_curves, areas), points, overwrite=overwrite)
    write_frame(areas, output, overwrite=overwrite)
    print(f"Areas under the curves of {areas['case'].nunique()} images written to {output}")


def _cases_and_tasks_with_finding(file: Path) -> "pd.DataFrame":
    """Return the cases and tasks of a file of scores that have the finding."""
    import salstats as ss
    from salstats.checks import check_columns
    from salstats.stats.engine.score_reasons import is_row_of_absent_finding

    scores = ss.read_scores(file)
    check_columns(scores, ("case", "task"), str(file))
    # Where the finding is absent, one metric may still have a score while another has the reason.
    is_absent = scores[["case", "task"]].assign(absent=is_row_of_absent_finding(scores))
    lacks_finding = is_absent.groupby(["case", "task"])["absent"].transform("any")
    return scores.loc[~lacks_finding, ["case", "task"]].drop_duplicates()

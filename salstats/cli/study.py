"""The commands that make scores: score, features, tune, segment, and rates of the pixels counted."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from salstats.cli.base import check_out, command, command_with, deliver, table
from salstats.cli.options import (
    Average,
    Level,
    Out,
    Overall,
    Overwrite,
    Replicates,
    Scores,
    Seed,
    Unit,
    by_method,
    equations,
    split,
)

if TYPE_CHECKING:
    import pandas as pd

    from salstats.study import Study

Folder = Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of maps and annotations.")]
Jobs = Annotated[int, typer.Option(help="Processes; -1 for one per core.")]
Threshold = Annotated[
    list[str] | None,
    typer.Option(
        help="otsu (default), a number from 0 to 1, or a file that tune wrote (task, threshold); by method: "
        "gradcam=0.4."
    ),
]
Cutoff = Annotated[
    list[str] | None,
    typer.Option(
        help="Probability below which a mask is empty: a number, or a file that tune wrote; by method: "
        "gradcam=0.3."
    ),
]
Colormap = Annotated[
    str | None, typer.Option(help="jet: smooth as the CheXlocalize scripts do, through a colour map.")
]
Smooth = Annotated[
    list[str] | None,
    typer.Option(help="Side of a box filter in pixels, or a file that tune wrote; by method: ig=100,lrp=80."),
]


def _option(kind: Any, default: Any, help_text: str) -> tuple[Any, Any]:
    """Return annotation and default of one of the options for reading a study."""
    return Annotated[kind, typer.Option(help=help_text, rich_help_panel="Reading the study")], default


#: Options of every command that reads a study; see `read_study`.
STUDY = {
    "format": _option(
        str | None,
        None,
        "maps, chexlocalize, mrxai2025 or saliency_bench (default: found by the names of the files).",
    ),
    "method": _option(
        str | None, None, "Method of the maps (default: saliency; a map folder's maps.csv names its own)."
    ),
    "maps": _option(list[str] | None, None, "Folder of maps by method[:model[:seed]]: gradcam:densenet=DIR."),
    "masks": _option(
        list[str] | None, None, "Stored masks by method: gradcam=FILE.json; mrxai2025: lime=DIR, too."
    ),
    "truth": _option(
        Path | None, None, "Truth: segmentations (JSON); maps: or a folder with TASK/CASE.png, too."
    ),
    "annotations": _option(Path | None, None, "Truth: outlines (JSON)."),
    "human": _option(
        Path | None, None, "People's segmentations (JSON); maps: or a folder with TASK/CASE.png, too."
    ),
    "human_annotations": _option(Path | None, None, "People's outlines (JSON)."),
    "points": _option(Path | None, None, "People's points (JSON)."),
    "labels": _option(Path | None, None, "Image-level labels (CSV)."),
    "split": _option(
        str | None,
        None,
        "val or test, where a folder holds the files of both; saliency_bench: train, validation or test.",
    ),
    "predictions": _option(
        Path | None, None, "mrxai2025, saliency_bench: the model's case, prob and label (CSV)."
    ),
    "task": _option(
        str | None,
        None,
        "mrxai2025: what the masks mark (default: tumour); saliency_bench: one task for all classes.",
    ),
    "classes": _option(list[str] | None, None, "saliency_bench: only these folders of image."),
    "pixels": _option(
        str | None,
        None,
        "saliency_bench: annotation (default) or image, on whose pixels maps meet the truth.",
    ),
    "tasks": _option(list[str] | None, None, "Only these tasks, also one that the truth lacks."),
    "patient_from": _option(str | None, None, "Regular expression that finds the patient in a case id."),
}


def study_arguments(
    maps: list[str] | None,
    masks: list[str] | None,
    tasks: list[str] | None,
    classes: list[str] | None,
    **given: Any,
) -> dict[str, Any]:
    """Return the options that were given as keyword arguments of `read_study`."""
    options = {
        **given,
        "maps": equations(maps, "--maps", "gradcam:densenet=DIR"),
        "masks": equations(masks, "--masks", "gradcam=FILE.json"),
        "tasks": split(tasks),
        "classes": split(classes),
    }
    return {name: value for name, value in options.items() if value is not None}


def study_command(name: str, example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a command whose parameter `reading` stands for `STUDY`."""
    return command_with(name, example, STUDY, study_arguments)


def read(folder: Path, reading: dict[str, Any]) -> "Study":
    """Read a study."""
    import salstats as ss

    return ss.read_study(folder, **reading)


@study_command("score", "study -o scores.csv --metrics iou,hit --jobs 2")
def score(
    study: Folder,
    reading: dict,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            "--metric",
            help="Comma-separated: iou, dice, precision, recall, specificity, hausdorff, hd95, assd, pdc, "
            "hit, hit_any, energy (default: iou,hit).",
        ),
    ] = None,
    threshold: Threshold = None,
    cutoff: Cutoff = None,
    smooth: Smooth = None,
    slice: Annotated[
        str,
        typer.Option(
            help="true-positive: images that the truth holds, scored where the finding is there; full: all "
            "images; predicted-positive: where the probability reaches the cut-off, or the label is 1."
        ),
    ] = "true-positive",
    misses: Annotated[
        str, typer.Option(help="Overlap of an empty mask on the true-positive slice: undefined or zero.")
    ] = "undefined",
    colormap: Colormap = None,
    spacing: Annotated[
        str | None,
        typer.Option(
            help="Size of a pixel in mm, for distances: 0.5, or along rows and columns: 0.5x0.7, or a file "
            "of case, row_mm, col_mm (default: distances in pixels)."
        ),
    ] = None,
    undefined: Annotated[
        str,
        typer.Option(
            help="What an empty mask scores against a finding: nan, or worst (overlap, pdc and energy 0, "
            "distance the image's diagonal)."
        ),
    ] = "nan",
    pdc_form: Annotated[str | None, typer.Option(help="pdc: product (default) or mean.")] = None,
    pdc_alpha: Annotated[
        float | None, typer.Option(help="pdc: penalty on a mask that is too small (default: 1; 0 is none).")
    ] = None,
    pdc_beta: Annotated[
        float | None, typer.Option(help="pdc: penalty on a mask that is too large (default: 1; 0 is none).")
    ] = None,
    distance_points: Annotated[
        str,
        typer.Option(
            help="What distances run between: boundary (as MONAI and medpy), boundary8 (diagonals count, "
            "too) or foreground (all pixels, as SimpleITK)."
        ),
    ] = "boundary",
    hd95_rule: Annotated[
        str, typer.Option(help="hd95: directed (the larger percentile, as MONAI) or pooled (as medpy).")
    ] = "directed",
    jobs: Jobs = 1,
    resume: Annotated[
        Path | None, typer.Option(help="Folder that keeps finished cases for a run that is stopped.")
    ] = None,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Compare every map, mask and point of a study with its truth: one row per case, task and method."""
    check_out(out, overwrite)
    made = by_method(threshold=threshold, cutoff=cutoff, smooth=smooth)
    pdc = {"form": pdc_form, "alpha": pdc_alpha, "beta": pdc_beta}
    given_pdc = {name: value for name, value in pdc.items() if value is not None}
    pixel = read_spacing_option(spacing)
    import salstats as ss

    held = read(study, reading)
    frame = ss.score(
        held, metrics=split(metrics) or ("iou", "hit"), **made, slice=slice, misses=misses,
        colormap=colormap, spacing=pixel, undefined=undefined, pdc=given_pdc or None, points=distance_points,
        hd95_rule=hd95_rule, jobs=jobs,
        resume=resume, progress=True,
    )  # fmt: skip
    deliver(frame, out, overwrite)
    say_reasons(frame, len(held))


#: Endings of tables that can be read.
READABLE = (".csv", ".tsv", ".txt", ".parquet", ".xlsx")


def read_spacing_option(text: str | None) -> Any:
    """Return `--spacing` as one number, two, or the path of a table."""
    if text is None:
        return None
    try:
        sizes = [float(part) for part in text.split("x")]
    except ValueError:
        if Path(text).suffix in READABLE or Path(text).exists():
            return Path(text)
        raise typer.BadParameter(
            f"--spacing {text!r} should be mm per pixel, such as 0.5 or 0.5x0.7 (rows x columns), or a file"
        ) from None
    return sizes[0] if len(sizes) == 1 else tuple(sizes)


def say_reasons(scores: "pd.DataFrame", n_cases: int) -> None:
    """Say on stderr which cases are not scored, how many scores are defined, and why others are not."""
    left_out = n_cases - scores["case"].nunique()
    if left_out:
        typer.echo(
            f"{left_out} of {n_cases} images are not in the truth and not scored (--slice full scores them)",
            err=True,
        )
    for (metric, method), rows in scores.groupby(["metric", "method"], sort=False):
        why = rows["reason"].value_counts(sort=True)
        parts = [f"{int(rows['score'].notna().sum())} of {len(rows)} images x tasks defined"]
        parts += [f"{n} {reason}" for reason, n in why.items()]
        typer.echo(f"{metric}, {method}: {', '.join(parts)}", err=True)


@study_command("features", "study -o features.csv")
def features(
    study: Folder, reading: dict, jobs: Jobs = 1, out: Out = None, overwrite: Overwrite = False
) -> None:
    """Measure number, size and shape of every finding of the truth."""
    check_out(out, overwrite)
    import salstats as ss

    deliver(ss.features(read(study, reading), jobs=jobs, progress=True), out, overwrite)


@study_command("tune", "study -o thresholds.csv --what threshold")
def tune(
    study: Folder,
    reading: dict,
    what: Annotated[str, typer.Option(help="threshold, cutoff or smooth.")] = "threshold",
    grid: Annotated[
        list[str] | None, typer.Option(help="Values to try (default: 0.2 to 0.8, 0 to 0.8, or 0 to 100).")
    ] = None,
    metric: Annotated[str, typer.Option(help="iou or dice: whose mean is maximised.")] = "iou",
    threshold: Threshold = None,
    smooth: Smooth = None,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="Cut-offs as the CheXlocalize scripts choose them.")
    ] = False,
    jobs: Jobs = 1,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Choose thresholds, probability cut-offs or box filters per task on a validation study."""
    check_out(out, overwrite)
    made = by_method(threshold=threshold, smooth=smooth)
    try:
        values = [float(v) for v in split(grid) or []]
    except ValueError:
        raise typer.BadParameter(f"--grid takes numbers; got {','.join(grid or [])!r}") from None
    import salstats as ss

    frame = ss.tune(
        read(study, reading), what=what, grid=values or None, metric=metric, **made,
        as_published=as_published, jobs=jobs, progress=True,
    )  # fmt: skip
    deliver(frame, out, overwrite)
    say_chosen(frame, what)


def say_chosen(sweep: "pd.DataFrame", what: str) -> None:
    """Say on stderr what was chosen for each task, and where the best lies at an end of the grid."""
    ends = (sweep[what].min(), sweep[what].max())
    series = [c for c in ("method", "model", "seed") if c in sweep.columns]
    for names, rows in sweep.groupby(series, sort=False, dropna=False):
        chosen = rows[rows["chosen"]]
        texts = [
            f"{task} {value:g}{' (end of the grid)' if value in ends else ''}"
            for task, value in zip(chosen["task"], chosen[what], strict=True)
        ]
        nothing = [t for t in dict.fromkeys(rows["task"]) if t not in set(chosen["task"])]
        texts += [f"{task}: no {what}, nothing to tune on" for task in nothing]
        typer.echo(f"{what}, {':'.join(str(n) for n in names if n == n)}: {', '.join(texts)}", err=True)


@study_command("segment", "study -o masks.json")
def segment(
    study: Folder,
    reading: dict,
    out: Annotated[Path, typer.Option("-o", "--output", help="Write .json, as the CheXlocalize release.")],
    of: Annotated[
        str | None, typer.Option(help="Whose maps, where there are several: gradcam or gradcam:densenet.")
    ] = None,
    threshold: Threshold = None,
    cutoff: Cutoff = None,
    smooth: Smooth = None,
    colormap: Colormap = None,
    jobs: Jobs = 1,
    overwrite: Overwrite = False,
) -> None:
    """Write the masks that score makes of one method's maps, as compressed run lengths."""
    from salstats.files.outputs import check_target

    check_target(out, (".json",), overwrite=overwrite)
    import salstats as ss

    made = ss.segment(
        read(study, reading), method=of, **by_method(threshold=threshold, cutoff=cutoff, smooth=smooth),
        colormap=colormap, jobs=jobs, progress=True,
    )  # fmt: skip
    ss.write_masks(made, out, overwrite=overwrite)


@command("rates", "scores.csv --by method,task -o rates.csv")
def rates(
    scores: Scores,
    reading: dict,
    rate: Annotated[
        list[str] | None,
        typer.Option(help="precision, recall, specificity, iou, dice (default: the first three)."),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", help="Grouping columns (default: method,task).")
    ] = None,
    unit: Unit = None,
    interval: Annotated[
        str, typer.Option(help="percentile, order, basic, normal, bca, studentized, delta (logit scale).")
    ] = "percentile",
    level: Level = 0.95,
    replicates: Replicates = 1000,
    seed: Seed = 0,
    average: Average = None,
    overall: Overall = False,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Estimate rates of pixels pooled over cases, from the tp, fp, fn and tn that score writes.

    Score with --slice full to count images without any finding, too.
    """
    check_out(out, overwrite)
    import salstats as ss

    frame = ss.pooled_rates(
        table(scores, reading), rates=split(rate) or ("precision", "recall", "specificity"),
        by=split(by), unit=unit, interval=interval, level=level, n_replicates=replicates, rng=seed,
        average=average, overall=overall,
    )  # fmt: skip
    deliver(frame, out, overwrite)

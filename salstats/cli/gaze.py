"""The command that scores maps against gaze."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from salstats.cli.base import command_with, deliver
from salstats.cli.options import Out, Overwrite, Seed, equations, split
from salstats.cli.study import Jobs

if TYPE_CHECKING:
    import pandas as pd


def _option(kind: Any, default: Any, help_text: str) -> tuple[Any, Any]:
    """Return annotation and default of one of the options for reading."""
    return Annotated[kind, typer.Option(help=help_text, rich_help_panel="Reading the recordings")], default


#: Options for reading recordings; see `read_gaze`.
GAZE = {
    "maps": _option(list[str] | None, None, "Folder of maps by method[:model[:seed]]: gradcam:densenet=DIR."),
    "masks": _option(list[str] | None, None, "Folder of masks, scored as maps of 0 and 1: lime=DIR."),
    "class_maps": _option(
        list[str] | None, None, "Folder of .npz with a map and a probability per class: gradcam=DIR."
    ),
    "mixing": _option(
        list[str] | None, None, "How classes are mixed: thresholded,weighted,uniform (default: all three)."
    ),
    "lungs": _option(Path | None, None, "Folder of masks of the lungs; their hull is the method convex."),
    "clean_lungs": _option(bool, True, "Take specks and what touches the border out of the lungs first."),
    "padded": _option(
        bool | None,
        None,
        "Square maps are of the image padded to a square, or (--no-padded) stretched to one.",
    ),
    "phases": _option(list[str] | None, None, "Only these phases: 1,2."),
}


def gaze_arguments(
    maps: list[str] | None,
    masks: list[str] | None,
    class_maps: list[str] | None,
    mixing: list[str] | None,
    phases: list[str] | None,
    **given: Any,
) -> dict[str, Any]:
    """Return the options that were given as keyword arguments of `read_gaze`."""
    numbers = split(phases)
    try:
        wanted = None if numbers is None else [int(number) for number in numbers]
    except ValueError:
        raise typer.BadParameter(f"--phases takes whole numbers; got {','.join(numbers or [])!r}") from None
    options = {
        **given,
        "maps": equations(maps, "--maps", "gradcam:densenet=DIR"),
        "masks": equations(masks, "--masks", "lime=DIR"),
        "class_maps": equations(class_maps, "--class-maps", "gradcam=DIR"),
        "mixing": split(mixing),
        "phases": wanted,
    }
    return {name: value for name, value in options.items() if value is not None}


@command_with(
    "gaze", "gaze -o scores.csv --maps gradcam=maps --metrics ncc,auc --jobs 2", GAZE, gaze_arguments
)
def gaze(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Recordings: metadata_phase_*.csv, ID/fixations.csv.")
    ],
    reading: dict,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            "--metric",
            help="Comma-separated: ncc,sncc,auc,sauc,sim,kl,nss,auc_points,auc_judd,information_gain "
            "(default: the first four).",
        ),
    ] = None,
    truth: Annotated[
        str,
        typer.Option(help="others: each reader is left out in turn; all: the mean over all readers."),
    ] = "others",
    readers: Annotated[
        int | None, typer.Option(help="Score only images that exactly so many readers looked at.")
    ] = None,
    min_readers: Annotated[int, typer.Option(help="Readers that an image needs.")] = 2,
    center_bias: Annotated[
        str, typer.Option(help="all: of all images; others: of all but the image that is scored.")
    ] = "all",
    samples: Annotated[
        int | None, typer.Option(help="Pixels to draw for auc and sauc (default: exact, nothing is drawn).")
    ] = None,
    seed: Seed = 0,
    floor: Annotated[
        float, typer.Option(help="For information_gain: share of a map's maximum added to every pixel.")
    ] = 0.0,
    recordings: Annotated[
        Path | None, typer.Option(help="Also write the recordings, used and left out, to this file.")
    ] = None,
    jobs: Jobs = 1,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Compare every map, and each reader, with where the other readers looked."""
    from salstats.checks import SalstatsError
    from salstats.files.frame_files import check_output, write_frame

    for target in (out, recordings):
        if target is not None:
            check_output(target, overwrite=overwrite)
    if out is not None and recordings is not None and out.resolve() == recordings.resolve():
        raise SalstatsError(f"--output and --recordings both name {out}; give them two files")
    import salstats.scoring.gaze as scoring
    from salstats.gaze_study import recordings as listed
    from salstats.readers.gaze import read_gaze

    study = read_gaze(folder, **reading)
    frame = scoring.score_gaze(
        study, metrics=split(metrics) or scoring.DEFAULT, truth=truth, min_readers=min_readers,
        n_readers=readers, center_bias=center_bias, n_samples=samples, rng=seed, floor=floor, jobs=jobs,
        progress=True,
    )  # fmt: skip
    looks = listed(study)
    if recordings is not None:
        write_frame(looks, recordings, overwrite=overwrite)
    deliver(frame, out, overwrite)
    say_fixations(looks)
    say_reasons(frame)


def say_fixations(recordings: "pd.DataFrame") -> None:
    """Say on stderr how many recordings and fixations were used, and how many of these lie outside."""
    used = recordings[recordings["used"]]
    counts = ("n_outside", "n_zero", "n_overlapping", "n_fixations")
    outside, zero, together, n = (int(used[c].sum()) for c in counts)
    typer.echo(
        f"{len(used)} of {len(recordings)} recordings used, with {n} fixations: {outside} outside their "
        f"image (in densities their tails count), {zero} of no duration"
        + (f", {together} that begin before another has ended" if together else ""),
        err=True,
    )


def say_reasons(scores: "pd.DataFrame") -> None:
    """Say on stderr how many scores are defined, and why others are not."""
    from salstats.scoring.gaze_cases import RULED_OUT

    by = [c for c in ("metric", "method") if c in scores.columns]
    what = "images x readers" if "reader" in scores.columns else "images"
    for names, rows in scores.groupby(by, sort=False, dropna=False):
        parts = [f"{int(rows['score'].notna().sum())} of {len(rows)} {what} defined"]
        parts += [f"{n} {reason}" for reason, n in rows["reason"].value_counts(sort=True).items()]
        typer.echo(f"{', '.join(str(n) for n in names if n == n)}: {', '.join(parts)}", err=True)
    if scores["reason"].eq(RULED_OUT).any():
        typer.echo(
            "information_gain: the means leave out where a map failed and so flatter it; --floor 0.01 scores "
            "every map",
            err=True,
        )

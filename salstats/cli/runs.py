"""How commands run: read, call, write; and what some say beside their frame."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from salstats.cli.sources import Run, Source, read_scores
from salstats.cli.values import margin, split

if TYPE_CHECKING:
    import pandas as pd

#: Rows of scores that `read` prints.
_SHOWN = 20


def write_frame_of(run: Run, source: Source) -> None:
    """Read, call the function, and write or print its frame."""
    check_out(run)
    run.deliver(run.call(source.read(run)))


def check_out(run: Run) -> None:
    """Fail before any work is done where the output cannot be written; no reader opens it after this."""
    if run.out is not None:
        from salstats.files.frame_files import check_output

        check_output(run.out, overwrite=run.overwrite)


def run_read(run: Run, source: Source) -> None:
    """Read scores; without an output show the first rows."""
    check_out(run)
    frame = read_scores(run)
    whole = run.out is not None or run.whole
    run.deliver(frame if whole else frame.head(_SHOWN))
    if not whole and len(frame) > _SHOWN:
        print(f"... {len(frame)} rows in all; write them with -o")


def run_bounded(run: Run, source: Source) -> None:
    """Add bounds of undefined scores, where that is asked for."""
    bounds, limits = run.options.pop("bounds"), run.options.pop("limits", None)
    if limits and not bounds:
        raise typer.BadParameter("--limits belongs to --bounds")
    check_out(run)
    scores = source.read(run)
    frame = run.call(scores)
    if bounds:
        import salstats as ss

        given = margin(limits, "--limits", "0:50 or hd95=0:50") if limits else None
        compared = scores if "n_pairs" in frame.columns else None
        frame = ss.missing_bounds(frame, scores=compared, limits=given)
    run.deliver(frame)


def run_significance_map(run: Run, source: Source) -> None:
    """Test every two methods; limits of ranks can be written, too."""
    (listing,) = _listings(run, "limits")
    frame = run.call(source.read(run))
    if listing is not None:
        import salstats as ss

        _write(ss.rank_limits(frame), listing, run)
    run.deliver(frame)


def run_regress(run: Run, source: Source) -> None:
    """Normalize covariates first, where asked for; variances and tests of terms can be written, too."""
    components, joint = _listings(run, "components", "joint")
    import salstats as ss

    normalize, within = run.options.pop("normalize", None), run.options.pop("within", None)
    if within and not normalize:
        raise typer.BadParameter("--within belongs to --normalize")
    data = source.read(run)
    if normalize:
        data = ss.normalize(data, split(normalize) or [], within=within)
    (formulas,) = run.arguments
    formula = formulas if len(formulas) > 1 else formulas[0]
    terms = run.function(data, formula, **run.options)
    if components is not None or joint is not None:
        model = ss.fit(data, formula, **_asked_of(ss.fit, run))
        if components is not None:
            _write(model.variance_components(**_asked_of(model.variance_components, run)), components, run)
        if joint is not None:
            _write(model.joint(each=True), joint, run)
    run.deliver(terms)


def run_mrmc(run: Run, source: Source) -> None:
    """Compare methods; components and the figures of readers can be written, too."""
    listings = _listings(run, "components", "each_reader")
    import salstats as ss

    scores = source.read(run)
    frame = run.call(scores)
    for function, listing in zip((ss.mrmc_components, ss.mrmc_readers), listings, strict=True):
        if listing is not None:
            _write(function(scores, **_asked_of(function, run)), listing, run)
    run.deliver(frame)


def _asked_of(function: Callable[..., Any], run: Run) -> dict[str, Any]:
    """The options of a run that a function has, too."""
    return {name: run.options[name] for name in signature(function).parameters if name in run.options}


def _write(frame: "pd.DataFrame", listing: Path, run: Run) -> None:
    """Write what was asked for beside the frame of a command."""
    from salstats.files.frame_files import write_frame

    write_frame(frame, listing, overwrite=run.overwrite)


def _listings(run: Run, *names: str) -> list[Path | None]:
    """Files asked for beside the output; an error at once where one cannot be written, or two are one."""
    from salstats.errors import SalstatsError
    from salstats.files.frame_files import check_output

    listings = [run.options.pop(name, None) for name in names]
    named: dict[Path, tuple[str, Path]] = {}
    for name, target in zip(("output", *names), (run.out, *listings), strict=True):
        if target is None:
            continue
        check_output(target, overwrite=run.overwrite)
        flag = f"--{name.replace('_', '-')}"
        other, first = named.setdefault(target.resolve(), (flag, target))
        if other != flag:
            raise SalstatsError(f"{other} and {flag} both name {first}; give them two files")
    return listings


def run_score(run: Run, source: Source) -> None:
    """Score a study, and say why scores are undefined."""
    check_out(run)
    pdc = {name: run.options.pop(f"pdc_{name}", None) for name in ("form", "alpha", "beta")}
    given = {name: value for name, value in pdc.items() if value is not None}
    study = source.read(run)
    frame = run.call(study, pdc=given or None)
    run.deliver(frame)
    say_reasons(frame, len(study))


def run_power(run: Run, source: Source) -> None:
    """Plan, and say what a Methods section would."""
    check_out(run)
    from salstats.display.text.planning import power_sentence

    frame = run.call(source.read(run))
    run.deliver(frame)
    typer.echo(power_sentence(frame), err=True)


def run_tune(run: Run, source: Source) -> None:
    """Tune, and say what was chosen."""
    check_out(run)
    frame = run.call(source.read(run))
    run.deliver(frame)
    say_chosen(frame, run.options.get("what", "threshold"))


def run_segment(run: Run, source: Source) -> None:
    """Write masks, which are no frame."""
    from salstats.files.outputs import check_target

    check_target(run.out or "", (".json",), overwrite=run.overwrite)
    import salstats as ss

    made = run.call(source.read(run))
    ss.write_masks(made, run.out or "", overwrite=run.overwrite)


def run_gaze(run: Run, source: Source) -> None:
    """Score maps against gaze; the recordings can be written, too."""
    (listing,) = _listings(run, "recordings")
    import salstats as ss

    study = source.read(run)
    frame = run.call(study)
    looks = ss.recordings(study)
    if listing is not None:
        _write(looks, listing, run)
    run.deliver(frame)
    say_fixations(looks)
    say_gaze_reasons(frame)


def run_report(run: Run, source: Source) -> None:
    """Write the folder of a report."""
    from salstats.display.report.calls import loading
    from salstats.display.report.folder import check_folder

    folder = run.out or Path()
    check_folder(folder, overwrite=run.overwrite)
    joined = [
        path
        for part in run.reading.get("join", [])
        for path in (part.values() if isinstance(part, dict) else [part])
    ]
    files = [run.path, *(Path(p) for p in (*run.reading.get("also", []), *joined))]
    reading = dict(run.reading)
    code = loading([run.path, *reading.pop("also", [])], reading)
    scores = source.read(run)
    run.function(
        scores, folder, inputs=files, code=code, progress=True, overwrite=run.overwrite, **run.options
    )
    print(f"Written to {folder}: open {folder / 'index.html'}")
    from salstats.study import HUMAN

    if "reference" not in run.options and HUMAN not in set(scores["method"]):
        typer.echo(
            f"no method is called {HUMAN}, so no gap to people is in it; --reference compares with another "
            f"of {', '.join(scores['method'].unique())}",
            err=True,
        )


# what commands say beside their frame


def say_reasons(scores: "pd.DataFrame", n_cases: int) -> None:
    """Say on stderr which cases are not scored, how many scores are defined, and why others are not."""
    left_out = n_cases - scores["case"].nunique()
    if left_out:
        typer.echo(
            f"{left_out} of {n_cases} images are not in the truth and not scored (--slice full scores them)",
            err=True,
        )
    _say_defined(scores, "images x tasks")


def say_gaze_reasons(scores: "pd.DataFrame") -> None:
    """Say on stderr how many scores are defined, and why others are not."""
    from salstats.scoring.gaze_cases import RULED_OUT

    _say_defined(scores, "images x readers" if "reader" in scores.columns else "images")
    if scores["reason"].eq(RULED_OUT).any():
        typer.echo(
            "information_gain: the means leave out where a map failed and so flatter it; --floor 0.01 scores "
            "every map",
            err=True,
        )


def _say_defined(scores: "pd.DataFrame", what: str) -> None:
    """Say on stderr how many scores of each metric and method are defined, and why others are not."""
    by = [c for c in ("metric", "method") if c in scores.columns]
    for names, rows in scores.groupby(by, sort=False, dropna=False):
        parts = [f"{int(rows['score'].notna().sum())} of {len(rows)} {what} defined"]
        parts += [f"{n} {reason}" for reason, n in rows["reason"].value_counts(sort=True).items()]
        typer.echo(f"{', '.join(str(n) for n in names if n == n)}: {', '.join(parts)}", err=True)


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

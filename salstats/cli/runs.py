"""Runs of commands: they read, call a public function, write its result, and summarise it on stderr."""

from collections.abc import Callable, Iterable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from salstats.cli.option_values import margin_or_margins_by_metric, split
from salstats.cli.sources import CommandRun, Source, read_scores
from salstats.cli.spinner import spinner

if TYPE_CHECKING:
    import pandas as pd

    from salstats.study import Study

#: Rows of scores that `read` prints at most.
_N_PRINTED_ROWS = 20


def write_result(run: CommandRun, source: Source) -> None:
    """Read, call the function, and write or print its frame."""
    check_output_file(run)
    run.deliver(run.call(source.read(run)))


def check_output_file(run: CommandRun) -> None:
    """Raise an error before any work is done where the output cannot be written."""
    if run.output is not None:
        from salstats.files.frame_files import check_output

        check_output(run.output, overwrite=run.overwrite)


def run_read(run: CommandRun, source: Source) -> None:
    """Read scores; without an output or `--all` show the first rows."""
    check_output_file(run)
    frame = read_scores(run)
    if run.output is not None or run.print_all:
        run.deliver(frame)
        return
    run.deliver(frame.head(_N_PRINTED_ROWS))
    if len(frame) > _N_PRINTED_ROWS:
        print(f"... {len(frame)} rows in all; write them with -o")


def run_describe_covariates(run: CommandRun, source: Source) -> None:
    """Describe covariates, which may be separated by blanks or commas."""
    check_output_file(run)
    [covariates] = run.arguments
    run.deliver(run.function(source.read(run), split(covariates), **run.options))


def run_estimate_with_optional_bounds(run: CommandRun, source: Source) -> None:
    """Estimate, and with `--bounds` add the bounds of undefined scores."""
    adds_bounds = run.options.pop("bounds")
    limit_texts = run.options.pop("limits", None)
    if limit_texts and not adds_bounds:
        raise typer.BadParameter("--limits belongs to --bounds")
    check_output_file(run)
    scores = source.read(run)
    frame = run.call(scores)
    if adds_bounds:
        frame = _with_bounds_for_undefined_scores(frame, scores, limit_texts)
    run.deliver(frame)


def _with_bounds_for_undefined_scores(
    frame: "pd.DataFrame", scores: "pd.DataFrame", limit_texts: list[str] | None
) -> "pd.DataFrame":
    """Add the bounds of undefined scores; bounds of comparisons need the scores themselves."""
    import salstats as ss

    # A limit without both sides is an error of `missing_bounds`.
    limits: Any = None
    if limit_texts:
        limits = margin_or_margins_by_metric(limit_texts, "--limits", "0:50 or hd95=0:50")
    if "n_pairs" in frame.columns:
        return ss.missing_bounds(frame, scores=scores, limits=limits)
    return ss.missing_bounds(frame, limits=limits)


def run_pairwise_tests_of_methods(run: CommandRun, source: Source) -> None:
    """Test every two methods; limits of ranks can also be written."""
    [limits_file] = _pop_further_files(run, "limits")
    frame = run.call(source.read(run))
    if limits_file is not None:
        import salstats as ss

        _write_result_frame(ss.rank_limits(frame), limits_file, run)
    run.deliver(frame)


def run_regress(run: CommandRun, source: Source) -> None:
    """Regress, after normalizing covariates; variances and tests of terms can also be written."""
    components_file, joint_file = _pop_further_files(run, "components", "joint")
    import salstats as ss

    covariates = run.options.pop("normalize", None)
    within = run.options.pop("within", None)
    if within and not covariates:
        raise typer.BadParameter("--within belongs to --normalize")
    data = source.read(run)
    if covariates:
        data = ss.normalize(data, split(covariates) or [], within=within)
    [formula] = run.arguments
    if len(formula) == 1:
        # The function takes a single formula as text.
        [formula] = formula
    terms = run.function(data, formula, **run.options)
    if components_file is not None or joint_file is not None:
        model = ss.fit(data, formula, **_options_for(ss.fit, run))
        if components_file is not None:
            variances = model.variance_components(**_options_for(model.variance_components, run))
            _write_result_frame(variances, components_file, run)
        if joint_file is not None:
            _write_result_frame(model.joint(each=True), joint_file, run)
    run.deliver(terms)


def run_mrmc(run: CommandRun, source: Source) -> None:
    """Compare methods; components and the figures of readers can also be written."""
    components_file, readers_file = _pop_further_files(run, "components", "each_reader")
    import salstats as ss

    scores = source.read(run)
    frame = run.call(scores)
    if components_file is not None:
        components = ss.mrmc_components(scores, **_options_for(ss.mrmc_components, run))
        _write_result_frame(components, components_file, run)
    if readers_file is not None:
        readers = ss.mrmc_readers(scores, **_options_for(ss.mrmc_readers, run))
        _write_result_frame(readers, readers_file, run)
    run.deliver(frame)


def _options_for(function: Callable[..., Any], run: CommandRun) -> dict[str, Any]:
    """Return the options of a run that another function takes as well."""
    return {name: run.options[name] for name in signature(function).parameters if name in run.options}


def _write_result_frame(frame: "pd.DataFrame", path: Path, run: CommandRun) -> None:
    """Write a further frame of a command."""
    from salstats.files.frame_files import write_frame

    write_frame(frame, path, overwrite=run.overwrite)


def _pop_further_files(run: CommandRun, *names: str) -> list[Path | None]:
    """Remove the options that name further files to write from a run; return the files, None where not given.

    Raises an error before any work is done where a file cannot be written or two options name one file.
    """
    from salstats.errors import SalstatsError
    from salstats.files.frame_files import check_output

    files = [run.options.pop(name, None) for name in names]
    flags: dict[Path, str] = {}
    for name, path in zip(("output", *names), (run.output, *files), strict=True):
        if path is None:
            continue
        check_output(path, overwrite=run.overwrite)
        flag = f"--{name.replace('_', '-')}"
        first_flag = flags.setdefault(path.resolve(), flag)
        if first_flag != flag:
            raise SalstatsError(f"{first_flag} and {flag} both name {path}", hint="give them two files")
    return files


def run_score(run: CommandRun, source: Source) -> None:
    """Score a study, and report why scores are undefined."""
    check_output_file(run)
    pdc = {}
    for name in ("form", "alpha", "beta"):
        value = run.options.pop(f"pdc_{name}", None)
        if value is not None:
            pdc[name] = value
    study = source.read(run)
    frame = run.call(study, pdc=pdc or None)
    run.deliver(frame)
    print_unscored_case_and_defined_score_counts(frame, len(study))


def run_power(run: CommandRun, source: Source) -> None:
    """Plan a study, and write the sentence for its Methods section on stderr."""
    check_output_file(run)
    from salstats.display.text.planning import power_sentence

    frame = run.call(source.read(run))
    run.deliver(frame)
    typer.echo(power_sentence(frame), err=True)


def run_tune(run: CommandRun, source: Source) -> None:
    """Tune, and report the chosen values."""
    check_output_file(run)
    frame = run.call(source.read(run))
    run.deliver(frame)
    print_chosen_values(frame, run.options.get("what", "threshold"))


def run_segment(run: CommandRun, source: Source) -> None:
    """Write masks to a .json file."""
    from salstats.files.outputs import check_target

    check_target(run.output or "", (".json",), overwrite=run.overwrite)
    import salstats as ss

    masks = run.call(source.read(run))
    ss.write_masks(masks, run.output or "", overwrite=run.overwrite)


def run_gallery(run: CommandRun, source: Source) -> None:
    """Draw the named cases or, without these, the worst, median and best cases of a file of scores."""
    import pandas as pd

    import salstats as ss
    from salstats.checks import check_columns
    from salstats.cli.sources import read_written_frame
    from salstats.display.export.figure_files import FIGURE_SUFFIXES
    from salstats.files.outputs import check_target

    figure_file = check_target(run.output or "", FIGURE_SUFFIXES, overwrite=run.overwrite)
    case_names = split(run.options.pop("cases", None))
    picks = split(run.options.pop("at", None))
    picked_by = run.options.pop("picked_by", None)
    if case_names and (picks or picked_by):
        raise typer.BadParameter("--at and --picked-by pick cases, which --cases names already")
    run.options["human"] = run.options.pop("with_human")
    scores_file = run.options.pop("scores", None)
    if scores_file is None and not case_names:
        raise typer.BadParameter("--scores or --cases must say which cases are drawn")
    study = source.read(run)
    if scores_file is not None:
        scores = read_written_frame(scores_file)
        check_columns(scores, ("task", "method"), str(scores_file))
        run.options["scores"] = scores[scores["task"].isin(study.tasks)]
    if case_names:
        index = pd.MultiIndex.from_product([case_names, study.tasks], names=["case", "task"])
        cases = index.to_frame(index=False)
    else:
        scores = run.options["scores"]
        if picked_by is None:
            # Methods that the gallery does not draw pick no cases.
            scores = scores[scores["method"].isin(_drawn_methods(study, run.options.get("methods")))]
        picks = picks or ["worst", "median", "best"]
        cases = ss.pick_cases(scores, at=picks, metric=run.options.get("metric"), method=picked_by)
    with spinner("Drawing"):
        figure = run.function(study, cases, **run.options)
        ss.save_figure(figure, figure_file, overwrite=run.overwrite)


def _drawn_methods(study: "Study", series_names: Iterable[str] | None) -> set[str]:
    """Return the methods that a gallery draws: those of `series_names`, or all.

    A name may have a model: "gradcam:densenet121".
    """
    if series_names is None:
        return {series.method for series in study.series}
    return {name.partition(":")[0] for name in series_names}


def run_scoring_against_gaze(run: CommandRun, source: Source) -> None:
    """Score maps against gaze; the recordings can also be written."""
    [recordings_file] = _pop_further_files(run, "recordings")
    import salstats as ss

    study = source.read(run)
    frame = run.call(study)
    recordings = ss.recordings(study)
    if recordings_file is not None:
        _write_result_frame(recordings, recordings_file, run)
    run.deliver(frame)
    print_used_recordings_and_total_fixation_counts(recordings)
    print_defined_gaze_score_counts(frame)


def run_report_folder(run: CommandRun, source: Source) -> None:
    """Write the folder of a report, and say on stderr if it has no reference to compare with."""
    from salstats.display.report.calls import read_scores_call
    from salstats.display.report.folder import check_report_folder_is_writable

    folder = run.output or Path()
    check_report_folder_is_writable(folder, overwrite=run.overwrite)
    reading = dict(run.reading)
    code = read_scores_call([run.path, *reading.pop("also", [])], reading)
    scores = source.read(run)
    run.function(
        scores,
        folder,
        inputs=_input_files(run),
        code=code,
        progress=True,
        overwrite=run.overwrite,
        **run.options,
    )
    print(f"Written to {folder}: open {folder / 'index.html'}")
    from salstats.study import HUMAN

    has_reference = "reference" in run.options or HUMAN in set(scores["method"])
    if not has_reference:
        typer.echo(
            f"no method is called {HUMAN}, so the report has no gap to people; --reference compares with "
            f"another of {', '.join(scores['method'].unique())}",
            err=True,
        )


def _input_files(run: CommandRun) -> list[Path]:
    """List the files that a run reads: the first, further ones, and those that are joined."""
    files = [run.path, *map(Path, run.reading.get("also", []))]
    for joined in run.reading.get("join", []):
        if isinstance(joined, dict):
            files.extend(map(Path, joined.values()))
        else:
            files.append(Path(joined))
    return files


def print_unscored_case_and_defined_score_counts(scores: "pd.DataFrame", n_cases: int) -> None:
    """Write on stderr how many cases are not scored, how many scores are defined, and why others are not."""
    n_unscored = n_cases - scores["case"].nunique()
    if n_unscored:
        typer.echo(
            f"{n_unscored} of {n_cases} images are not in the truth and not scored "
            "(--slice full scores them)",
            err=True,
        )
    _print_defined_counts_by_metric_and_method(scores, "images x tasks")


def print_defined_gaze_score_counts(scores: "pd.DataFrame") -> None:
    """Write on stderr how many scores are defined, why others are not, and which means are too high."""
    from salstats.scoring.gaze_cases import ZERO_MAP_AT_FIXATION

    unit = "images"
    if "reader" in scores.columns:
        unit = "images x readers"
    _print_defined_counts_by_metric_and_method(scores, unit)
    if scores["reason"].eq(ZERO_MAP_AT_FIXATION).any():
        typer.echo(
            "information_gain: means leave out the cases where a map failed, so they are too high; "
            "--floor 0.01 scores every map",
            err=True,
        )


def _print_defined_counts_by_metric_and_method(scores: "pd.DataFrame", unit: str) -> None:
    """Write on stderr how many scores of each metric and method are defined, and why others are not."""
    by = [column for column in ("metric", "method") if column in scores.columns]
    for names, rows in scores.groupby(by, sort=False, dropna=False):
        n_defined = int(rows["score"].notna().sum())
        counts = [f"{n_defined} of {len(rows)} {unit} defined"]
        for reason, n in rows["reason"].value_counts(sort=True).items():
            counts.append(f"{n} {reason}")
        typer.echo(f"{', '.join(_names_without_missing(names))}: {', '.join(counts)}", err=True)


def _names_without_missing(names: Iterable[object]) -> list[str]:
    """Write the names of a group, without missing ones."""
    # NaN, a missing name, is not equal to itself
    return [str(name) for name in names if name == name]


def print_used_recordings_and_total_fixation_counts(recordings: "pd.DataFrame") -> None:
    """Write on stderr how many recordings and fixations were used, and how many of these lie outside."""
    used_recordings = recordings[recordings["used"]]
    counts = used_recordings[["n_fixations", "n_outside", "n_zero", "n_overlapping"]].sum().astype(int)
    overlapping = ""
    if counts["n_overlapping"]:
        overlapping = f", {counts['n_overlapping']} that begin before another has ended"
    typer.echo(
        f"{len(used_recordings)} of {len(recordings)} recordings used, "
        f"with {counts['n_fixations']} fixations: "
        f"{counts['n_outside']} outside their image (in densities their tails count), "
        f"{counts['n_zero']} of no duration{overlapping}",
        err=True,
    )


def print_chosen_values(sweep: "pd.DataFrame", parameter: str) -> None:
    """Write on stderr the chosen value of each task by series, and which tasks have none.

    A value at an end of the grid is marked.
    """
    ends = (sweep[parameter].min(), sweep[parameter].max())
    series_columns = [column for column in ("method", "model", "seed") if column in sweep.columns]
    for names, rows in sweep.groupby(series_columns, sort=False, dropna=False):
        chosen = rows[rows["chosen"]]
        texts = []
        for task, value in zip(chosen["task"], chosen[parameter], strict=True):
            text = f"{task} {value:g}"
            if value in ends:
                text += " (end of the grid)"
            texts.append(text)
        tuned_tasks = set(chosen["task"])
        for task in dict.fromkeys(rows["task"]):
            if task not in tuned_tasks:
                texts.append(f"{task}: no {parameter}, nothing to tune on")
        typer.echo(f"{parameter}, {':'.join(_names_without_missing(names))}: {', '.join(texts)}", err=True)

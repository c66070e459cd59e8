"""The command line: parse, call one public function, write its frame."""

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(
    help="Statistics for saliency maps: files of per-case scores in, tidy tables out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Scores = Annotated[Path, typer.Argument(metavar="SCORES", help="CSV, TSV, Parquet or XLSX file.")]


def _option(kind: Any, default: Any, help_text: str, *names: str) -> tuple[Any, Any]:
    """Return annotation and default of one of the options for reading."""
    return Annotated[kind, typer.Option(*names, help=help_text, rich_help_panel="Reading the file")], default


#: Options that every command which reads scores has; see `read_scores`.
_READING = {
    "also": _option(list[Path] | None, None, "A further file of scores."),
    "rename": _option(list[str] | None, None, "File's column = ours: case_id=case."),
    "score": _option(list[str] | None, None, "A metric per column: human_iou=human:iou."),
    "wide": _option(str | None, None, "'task' for a file with a task per column."),
    "tasks": _option(list[str] | None, None, "With --wide task: which columns are tasks."),
    "method": _option(list[str] | None, None, "Method of a file that names none."),
    "metric": _option(list[str] | None, None, "Metric of a file that names none."),
    "join": _option(Path | None, None, "Covariates to join on case and task."),
    "sep": _option(str | None, None, "Separator of a text file (tab: tab)."),
    "decimal": _option(str, ".", "Decimal mark of a text file."),
    "encoding": _option(str, "utf-8", "Encoding of a text file."),
    "na": _option(list[str] | None, None, "What stands for missing."),
    "sheet": _option(str | None, None, "Sheet of a workbook."),
}

Test = Annotated[str, typer.Option(help="bootstrap, t, wilcoxon, mcnemar, signflip or none.")]
By = Annotated[list[str] | None, typer.Option(help="Grouping columns (metric,method,task).")]
Unit = Annotated[str | None, typer.Option(help="What is resampled (patient or case).")]
Level = Annotated[float, typer.Option(help="Confidence level.")]
Replicates = Annotated[int, typer.Option(help="Bootstrap replicates.")]
Seed = Annotated[int, typer.Option(help="Seed of the draws.")]
Adjust = Annotated[str, typer.Option(help="bonferroni, holm, hochberg, hommel, BH, BY or none.")]
Overall = Annotated[bool, typer.Option("--overall", help="Add rows pooled over tasks.")]
Out = Annotated[
    Path | None, typer.Option("-o", "--output", help="Write .csv, .parquet or .xlsx; else print a table.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
Reference = Annotated[str, typer.Option(help="Method to compare with, such as human.")]
Average = Annotated[str | None, typer.Option(help="Add the average over this column (task).")]
Pairs = Annotated[str, typer.Option(help="complete or available.")]


#: Options whose name in Python is their flag, for messages.
_OPTION = re.compile(
    r"\b(sep|decimal|encoding|sheet|na|wide|tasks|method|metric|join|by|unit|interval|level|average|pairs|test"
    r"|adjust|errors|family|reference|within|stratified)=(?=['\w])"
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; bad usage and bad input give one line on stderr and exit code 2."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            code = app(arguments, prog_name="salstats", standalone_mode=False) or 0
            # a reader that went away is met here, not after the exit code is decided
            sys.stdout.flush()
        except typer.TyperException as error:
            return _fail(error.format_message() or "no command; see salstats --help")
        except typer.Exit as stop:
            code = stop.exit_code
        except typer.Abort:
            return _fail("interrupted", code=130)
        except (BrokenPipeError, SystemExit):
            # the reader of our output went away, as `| head` does; typer makes that its own exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except (OSError, ValueError) as error:
            from salstats.checks import SalstatsError

            if not isinstance(error, SalstatsError | OSError) and os.environ.get("SALSTATS_TRACEBACK"):
                raise
            return _fail(str(error))
    if caught:
        # only now: pandas comes with the checks, and `--help` must not wait for it
        from salstats.checks import SalstatsWarning

        ours = (str(w.message) for w in caught if issubclass(w.category, SalstatsWarning))
        for text in dict.fromkeys(ours):
            print(f"salstats: warning: {_in_flags(text)}", file=sys.stderr)
    return int(code)


def _fail(message: str, code: int = 2) -> int:
    """Say in one line on stderr what was wrong."""
    print(f"salstats: error: {_in_flags(' '.join(message.split()))}", file=sys.stderr)
    return code


def _in_flags(message: str) -> str:
    """Return a message of the library with its options spelled as on the command line."""
    message = re.sub(r"\w+=(?:True|{[^}]*}) \((--[^)]*)\)", r"\1", message)
    message = re.sub(r"\brename={'([^']*)': '([^']*)'}", r"--rename \1=\2", message)
    message = _OPTION.sub(r"--\1 ", message)
    return re.sub(r"\bn_replicates\b", "--replicates", re.sub(r"\brng\b", "--seed", message))


def _split(values: Sequence[str] | None) -> list[str] | None:
    """Return a repeated or comma-separated option as a list."""
    if values is None:
        return None
    parts = [part.strip() for value in values for part in value.split(",")]
    if not all(parts):
        raise typer.BadParameter(f"an empty name in {','.join(values)!r}")
    return parts


def _pairs(values: Sequence[str] | None, option: str, example: str) -> dict[str, str] | None:
    """Return an option such as `case_id=case` as a dict."""
    if values is None:
        return None
    pairs = {}
    for part in _split(values) or []:
        name, equals, target = part.partition("=")
        if not (name and equals and target):
            raise typer.BadParameter(f"{option} {part!r} should read like {example}")
        if name in pairs:
            raise typer.BadParameter(f"{option} names {name!r} twice")
        pairs[name] = target
    return pairs


def _command(name: str, example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a command, with an example below its help.

    The command's parameter `reading` stands for all options of `_READING`; it receives them as keyword
    arguments of `read_scores`.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(**given: Any) -> None:
            reading = {option: given.pop(option) for option in _READING}
            function(reading=_reading(**reading), **given)

        own = inspect.signature(function, eval_str=True).parameters
        options = [
            inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for n, (kind, default) in _READING.items()
        ]
        kept = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for n, p in own.items() if n != "reading"]
        command.__signature__ = inspect.Signature([*kept, *options])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in (*kept, *options)}
        return app.command(name, epilog=f"Example: salstats {name} {example}")(command)

    return decorate


def _reading(score: list[str] | None, na: list[str] | None, sep: str | None, **given: Any) -> dict[str, Any]:
    """Return the reading options that were given as keyword arguments of `read_scores`."""
    targets = {}
    for name, target in (_pairs(score, "--score", "human_iou=human:iou") or {}).items():
        its_method, colon, its_metric = target.partition(":")
        if not (its_method and colon and its_metric):
            raise typer.BadParameter(f"--score '{name}={target}' should read like human_iou=human:iou")
        targets[name] = (its_method, its_metric)
    options = {
        **given,
        "rename": _pairs(given["rename"], "--rename", "case_id=case"),
        "columns": targets or None,
        "tasks": _split(given["tasks"]),
        "method": _split(given["method"]),
        "metric": _split(given["metric"]),
        "sep": "\t" if sep in ("\\t", "tab") else sep,
        "na": None if na is None else ["", *(_split(na) or [])],
    }
    return {name: value for name, value in options.items() if value is not None}


def _read(scores: Path, reading: dict[str, Any]) -> "pd.DataFrame":
    """Read files of scores."""
    import salstats as ss

    return ss.read_scores([scores, *reading.pop("also", [])], **reading)


def _read_any(scores: Path, reading: dict[str, Any]) -> "pd.DataFrame":
    """Read files of scores, or one tidy table that is none."""
    import salstats as ss

    if any(option in reading for option in ("also", "columns", "wide", "method", "metric", "tasks")):
        return _read(scores, reading)
    return ss.read_data(scores, **reading)


def _deliver(frame: "pd.DataFrame", out: Path | None, overwrite: bool) -> None:
    """Write a frame to its file, or print it."""
    if out is not None:
        from salstats.frames import write_frame

        write_frame(frame, out, overwrite=overwrite)
        return
    from salstats.display.console import console_table

    print(console_table(frame))


def _check_out(out: Path | None, overwrite: bool) -> None:
    """Fail before any work is done where the output cannot be written."""
    if out is not None:
        from salstats.frames import check_output

        check_output(out, overwrite=overwrite)


@_command("summarize", "scores.csv --by metric,method --unit patient -o means.csv")
def summarize(
    scores: Scores,
    reading: dict,
    by: By = None,
    unit: Unit = None,
    interval: Annotated[
        str, typer.Option(help="percentile, order, basic, normal, bca, studentized, t, wilson, exact.")
    ] = "percentile",
    level: Level = 0.95,
    replicates: Replicates = 1000,
    seed: Seed = 0,
    average: Average = None,
    overall: Overall = False,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Estimate the mean score of each group, with standard error and interval."""
    _check_out(out, overwrite)
    import salstats as ss

    frame = ss.summarize(
        _read(scores, reading), by=_split(by), unit=unit, interval=interval, level=level,
        n_replicates=replicates, rng=seed, average=average, overall=overall,
    )  # fmt: skip
    _deliver(frame, out, overwrite)


@_command("decrease", "scores.csv --reference human --average task -o decrease.csv")
def decrease(
    scores: Scores,
    reading: dict,
    reference: Reference,
    by: By = None,
    unit: Unit = None,
    interval: Annotated[
        str,
        typer.Option(help="percentile, order, basic, normal, bca, studentized, delta, fieller."),
    ] = "percentile",
    level: Level = 0.95,
    replicates: Replicates = 1000,
    seed: Seed = 0,
    average: Annotated[
        str | None, typer.Option(help="task: decrease of the averages; task_mean: mean of the decreases.")
    ] = None,
    overall: Overall = False,
    pairs: Pairs = "complete",
    test: Test = "bootstrap",
    adjust: Adjust = "none",
    force: Annotated[bool, typer.Option("--force", help="Also for a metric without a true zero.")] = False,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Estimate the percentage decrease of each method's mean from a reference's."""
    _check_out(out, overwrite)
    import salstats as ss

    frame = ss.percent_decrease(
        _read(scores, reading), reference=reference, by=_split(by), unit=unit, interval=interval, level=level,
        n_replicates=replicates, rng=seed, average=average, overall=overall, pairs=pairs, test=test,
        adjust=adjust, force=force,
    )  # fmt: skip
    _deliver(frame, out, overwrite)


@_command("difference", "scores.csv --reference human --test t --adjust holm")
def difference(
    scores: Scores,
    reading: dict,
    reference: Reference,
    by: By = None,
    unit: Unit = None,
    interval: Annotated[
        str, typer.Option(help="percentile, order, basic, normal, bca, studentized, t.")
    ] = "percentile",
    level: Level = 0.95,
    replicates: Replicates = 1000,
    seed: Seed = 0,
    average: Average = None,
    overall: Overall = False,
    pairs: Pairs = "complete",
    test: Test = "bootstrap",
    adjust: Adjust = "none",
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Estimate each method's mean difference from a reference, paired on the same cases."""
    _check_out(out, overwrite)
    import salstats as ss

    frame = ss.difference(
        _read(scores, reading), reference=reference, by=_split(by), unit=unit, interval=interval, level=level,
        n_replicates=replicates, rng=seed, average=average, overall=overall, pairs=pairs, test=test,
        adjust=adjust,
    )  # fmt: skip
    _deliver(frame, out, overwrite)


@_command("regress", 'scores.csv "iou ~ area_ratio" --normalize area_ratio --errors cluster')
def regress(
    scores: Scores,
    formula: Annotated[list[str], typer.Argument(metavar="FORMULA...", help='Such as "iou ~ area_ratio".')],
    reading: dict,
    by: By = None,
    normalize: Annotated[
        list[str] | None, typer.Option(help="Covariates to bring to 0 ... 1 (min-max) first.")
    ] = None,
    within: Annotated[str | None, typer.Option(help="Normalize within groups of this column.")] = None,
    family: Annotated[str, typer.Option(help="gaussian, binomial or fractional.")] = "gaussian",
    errors: Annotated[
        str | None, typer.Option(help="classical (default), hc0, hc1, hc2, hc3, cluster or cr2.")
    ] = None,
    unit: Unit = None,
    reference: Annotated[
        str | None, typer.Option(help="Regress the gap reference - method, such as human.")
    ] = None,
    level: Level = 0.95,
    exponentiate: Annotated[bool, typer.Option("--exponentiate", help="Odds ratios.")] = False,
    adjust: Adjust = "none",
    overall: Overall = False,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Regress a metric (or column) on covariates, per group."""
    _check_out(out, overwrite)
    import salstats as ss

    if within and not normalize:
        raise typer.BadParameter("--within belongs to --normalize")
    table = _read_any(scores, reading)
    if normalize:
        table = ss.normalize(table, _split(normalize) or [], within=within)
    frame = ss.regress(
        table, formula if len(formula) > 1 else formula[0], by=_split(by), family=family, errors=errors,
        unit=unit, reference=reference, level=level, exponentiate=exponentiate, adjust=adjust,
        overall=overall,
    )  # fmt: skip
    _deliver(frame, out, overwrite)


@_command("correlate", "scores.csv iou prob --by method,task --test spearman")
def correlate(
    scores: Scores,
    x: Annotated[str, typer.Argument(metavar="X", help="A metric or column.")],
    y: Annotated[str, typer.Argument(metavar="Y", help="A metric or column.")],
    reading: dict,
    by: By = None,
    test: Annotated[str, typer.Option(help="spearman, pearson or kendall.")] = "spearman",
    interval: Annotated[str, typer.Option(help="fisher, bonett-wright or fieller.")] = "fisher",
    level: Level = 0.95,
    stratified: Annotated[str | None, typer.Option(help="Pool over strata of this column (task).")] = None,
    adjust: Adjust = "none",
    overall: Overall = False,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Correlate two metrics or columns, per group."""
    _check_out(out, overwrite)
    import salstats as ss

    frame = ss.correlate(
        _read_any(scores, reading), x, y, by=_split(by), test=test, interval=interval, level=level,
        stratified=stratified, adjust=adjust, overall=overall,
    )  # fmt: skip
    _deliver(frame, out, overwrite)


@_command("describe", "scores.csv --by metric,method")
def describe(
    scores: Scores, reading: dict, by: By = None, out: Out = None, overwrite: Overwrite = False
) -> None:
    """Describe each group: counts, mean (SD), median (quartiles), range, shares at 0 and 1."""
    _check_out(out, overwrite)
    import salstats as ss

    _deliver(ss.describe(_read(scores, reading), by=_split(by)), out, overwrite)


@_command("auroc", "scores.csv prob label --by task")
def auroc(
    scores: Scores,
    ranking: Annotated[str, typer.Argument(metavar="SCORE", help="Column that should rank the positives.")],
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Column of 0/1 labels.")],
    reading: dict,
    by: By = None,
    unit: Unit = None,
    interval: Annotated[
        str | None, typer.Option(help="delong, obuchowski (clustered; default where units repeat) or logit.")
    ] = None,
    level: Level = 0.95,
    adjust: Adjust = "none",
    overall: Overall = False,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Estimate the area under the ROC curve, with DeLong's interval, clustered where units repeat."""
    _check_out(out, overwrite)
    import salstats as ss

    frame = ss.auroc(
        _read_any(scores, reading), ranking, label, by=_split(by), unit=unit, interval=interval, level=level,
        overall=overall, adjust=adjust,
    )  # fmt: skip
    _deliver(frame, out, overwrite)


@app.command("demo", epilog="Example: salstats demo -o salstats-demo")
def demo(
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Folder to write the tables to.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Run the main job on the embedded (simulated) study."""
    from salstats.display.demo import run_demo

    run_demo(out, overwrite=overwrite)

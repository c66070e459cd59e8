"""The command line: parse, call one public function, write its frame."""

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from salstats.cli import gaze, study  # noqa: F401  their commands stand first in the help
from salstats.cli.base import any_table, app, check_out, command, deliver, table
from salstats.cli.options import (
    Adjust,
    Average,
    ByAll,
    ByContrast,
    ByMethod,
    ByTask,
    Level,
    Out,
    Overall,
    Overwrite,
    Pairs,
    Reference,
    Replicates,
    Scores,
    Seed,
    Test,
    Unit,
    equations,
    in_flags,
    input_files,
    split,
)

#: Characters of a message at most.
_LONGEST = 2000
#: Rows of scores that `read` prints.
_SHOWN = 20


class _Terminated(BaseException):
    """Somebody wants this process to end: what is half written is removed first, and workers are ended."""


def _terminate(number: int, _: object) -> None:
    """End in order; a second time at once."""
    signal.signal(number, signal.SIG_DFL)
    raise _Terminated


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; bad usage and bad input give one line on stderr and exit code 2."""
    signal.signal(signal.SIGTERM, _terminate)
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
        except _Terminated:
            return _fail("terminated", code=143)
        except (BrokenPipeError, SystemExit):
            # the reader of our output went away, as `| head` does; typer makes that its own exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except MemoryError as error:
            return _fail(
                f"not enough memory for this ({error or 'no more could be had'}); ask for less at a time"
            )
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
            print(f"salstats: warning: {_line(text)}", file=sys.stderr)
    return int(code)


def _line(message: str) -> str:
    """Return a message in one line, cut where a cell is long, without what could tell a terminal to do."""
    from salstats.checks import printable

    line = " ".join(message.split())
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"
    return in_flags(printable(line))


def _fail(message: str, code: int = 2) -> int:
    """Say in one line on stderr what was wrong."""
    print(f"salstats: error: {_line(message)}", file=sys.stderr)
    return code


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Statistics for saliency maps: maps or files of per-case scores in, tidy tables out."""
    if version:
        import salstats

        print(f"salstats {salstats.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.BadParameter("no command; see salstats --help")


@command("read", "scores.csv --sep , -o long.parquet")
def read(scores: Scores, reading: dict, out: Out = None, overwrite: Overwrite = False) -> None:
    """Read files of any shape and write (or show) them as one long table of scores."""
    check_out(out, overwrite)
    frame = table(scores, reading)
    deliver(frame if out else frame.head(_SHOWN), out, overwrite)
    if not out and len(frame) > _SHOWN:
        print(f"... {len(frame)} rows in all; write them with -o")


@command("summarize", "scores.csv --by metric,method --unit patient -o means.csv")
def summarize(
    scores: Scores,
    reading: dict,
    by: ByAll = None,
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
    check_out(out, overwrite)
    import salstats as ss

    frame = ss.summarize(
        table(scores, reading), by=split(by), unit=unit, interval=interval, level=level,
        n_replicates=replicates, rng=seed, average=average, overall=overall,
    )  # fmt: skip
    deliver(frame, out, overwrite)


@command("decrease", "scores.csv --reference human --average task -o decrease.csv")
def decrease(
    scores: Scores,
    reading: dict,
    reference: Reference,
    by: ByContrast = None,
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
    test: Test = None,
    adjust: Adjust = "none",
    force: Annotated[bool, typer.Option("--force", help="Also for a metric without a true zero.")] = False,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Estimate the percentage decrease of each method's mean from a reference's."""
    check_out(out, overwrite)
    import salstats as ss

    frame = ss.percent_decrease(
        table(scores, reading), reference=reference, by=split(by), unit=unit, interval=interval, level=level,
        n_replicates=replicates, rng=seed, average=average, overall=overall, pairs=pairs, test=test,
        adjust=adjust, force=force,
    )  # fmt: skip
    deliver(frame, out, overwrite)


@command("difference", "scores.csv --reference human --test t --adjust holm")
def difference(
    scores: Scores,
    reading: dict,
    reference: Reference,
    by: ByContrast = None,
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
    test: Test = None,
    adjust: Adjust = "none",
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Estimate each method's mean difference from a reference, paired on the same cases."""
    check_out(out, overwrite)
    import salstats as ss

    frame = ss.difference(
        table(scores, reading), reference=reference, by=split(by), unit=unit, interval=interval, level=level,
        n_replicates=replicates, rng=seed, average=average, overall=overall, pairs=pairs, test=test,
        adjust=adjust,
    )  # fmt: skip
    deliver(frame, out, overwrite)


@command("regress", 'scores.csv "iou ~ area_ratio" --normalize area_ratio --errors cluster')
def regress(
    scores: Scores,
    formula: Annotated[list[str], typer.Argument(metavar="FORMULA...", help='Such as "iou ~ area_ratio".')],
    reading: dict,
    by: ByMethod = None,
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
    check_out(out, overwrite)
    import salstats as ss

    if within and not normalize:
        raise typer.BadParameter("--within belongs to --normalize")
    data = any_table(scores, reading)
    if normalize:
        data = ss.normalize(data, split(normalize) or [], within=within)
    frame = ss.regress(
        data, formula if len(formula) > 1 else formula[0], by=split(by), family=family, errors=errors,
        unit=unit, reference=reference, level=level, exponentiate=exponentiate, adjust=adjust,
        overall=overall,
    )  # fmt: skip
    deliver(frame, out, overwrite)


@command("correlate", "scores.csv iou prob --by method,task --test spearman")
def correlate(
    scores: Scores,
    x: Annotated[str, typer.Argument(metavar="X", help="A metric or column.")],
    y: Annotated[str, typer.Argument(metavar="Y", help="A metric or column.")],
    reading: dict,
    by: ByMethod = None,
    test: Annotated[str, typer.Option(help="spearman, pearson or kendall.")] = "spearman",
    interval: Annotated[str, typer.Option(help="fisher, bonett-wright or fieller.")] = "fisher",
    unit: Unit = None,
    level: Level = 0.95,
    stratified: Annotated[str | None, typer.Option(help="Pool over strata of this column (task).")] = None,
    adjust: Adjust = "none",
    overall: Overall = False,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Correlate two metrics or columns, per group."""
    check_out(out, overwrite)
    import salstats as ss

    frame = ss.correlate(
        any_table(scores, reading), x, y, by=split(by), test=test, interval=interval, level=level, unit=unit,
        stratified=stratified, adjust=adjust, overall=overall,
    )  # fmt: skip
    deliver(frame, out, overwrite)


@command("describe", "scores.csv --by metric,method")
def describe(
    scores: Scores,
    reading: dict,
    by: ByAll = None,
    unit: Unit = None,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Describe each group: counts, mean (SD), median (quartiles), range, shares at 0 and 1."""
    check_out(out, overwrite)
    import salstats as ss

    deliver(ss.describe(table(scores, reading), by=split(by), unit=unit), out, overwrite)


@command("auroc", "scores.csv prob label --by task")
def auroc(
    scores: Scores,
    ranking: Annotated[str, typer.Argument(metavar="SCORE", help="Column that should rank the positives.")],
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Column of 0/1 labels.")],
    reading: dict,
    by: ByTask = None,
    unit: Unit = None,
    interval: Annotated[
        str, typer.Option(help="logit, delong (independent cases) or obuchowski (clustered).")
    ] = "logit",
    level: Level = 0.95,
    adjust: Adjust = "none",
    overall: Overall = False,
    out: Out = None,
    overwrite: Overwrite = False,
) -> None:
    """Estimate the area under the ROC curve, with its interval, clustered where units repeat."""
    check_out(out, overwrite)
    import salstats as ss

    frame = ss.auroc(
        any_table(scores, reading), ranking, label, by=split(by), unit=unit, interval=interval, level=level,
        overall=overall, adjust=adjust,
    )  # fmt: skip
    deliver(frame, out, overwrite)


@command("report", "scores.csv --reference human -o report")
def report(
    scores: Scores,
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder to make.")],
    reading: dict,
    reference: Annotated[
        str | None, typer.Option(help="Method to compare with (default: human, where there is one).")
    ] = None,
    unit: Unit = None,
    covariates: Annotated[
        list[str] | None, typer.Option(help="Numeric columns to regress on (default: all that vary).")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Report on the rows with this value: dataset=NIH.")
    ] = None,
    level: Level = 0.95,
    interval: Annotated[
        str, typer.Option(help="percentile, order, basic, normal, bca, studentized or t.")
    ] = "percentile",
    replicates: Replicates = 10_000,
    seed: Seed = 0,
    test: Annotated[
        str, typer.Option(help="t (clustered), bootstrap, wilcoxon, mcnemar, signflip or none.")
    ] = "t",
    adjust: Adjust = "holm",
    style: Annotated[str, typer.Option(help="nature, radiology, ama or brackets.")] = "nature",
    label: Annotated[
        list[str] | None, typer.Option(help="Name in print, one per option: gradcam=Grad-CAM.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes that draw the figures.")] = 2,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Statistical report on saliency maps",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder of an earlier report.")
    ] = False,
) -> None:
    """Write every table and figure that the columns allow, and one page (index.html) that shows them."""
    from salstats.display.report.folder import check_folder

    check_folder(out, overwrite=overwrite)
    inputs = input_files(scores, reading)
    import salstats as ss

    ss.report(
        table(scores, reading), out, reference=reference, unit=unit, covariates=split(covariates),
        only=equations(only, "--only", "dataset=NIH"), level=level, interval=interval,
        n_replicates=replicates, rng=seed, test=test, adjust=adjust, style=style,
        labels=equations(label, "--label", "gradcam=Grad-CAM"), title=title, inputs=inputs, jobs=jobs,
        overwrite=overwrite,
    )  # fmt: skip
    print(f"Written to {out}: open {out / 'index.html'}")


@app.command("demo", epilog="Example: salstats demo -o salstats-demo")
def demo(
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder to make (default: salstats-demo, or -2 ...)."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Run the main job on the embedded study (digits and networks real, annotator simulated)."""
    from salstats.cli.demo import run_demo

    run_demo(out, overwrite=overwrite)

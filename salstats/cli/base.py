"""What commands share: the app, how a command is made, reading its input, delivering its output."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from salstats.cli.options import READING, reading_arguments

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(
    help="Statistics for saliency maps: maps or files of per-case scores in, tidy tables out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def command(name: str, example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a command, with an example below its help.

    The command's parameter `reading` stands for all options of `READING`; it receives them as keyword
    arguments of `read_scores`.
    """
    return command_with(name, example, READING, reading_arguments)


def command_with(
    name: str,
    example: str,
    options: dict[str, tuple[Any, Any]],
    arguments: Callable[..., dict[str, Any]],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a command whose parameter `reading` stands for a set of options."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(**given: Any) -> None:
            chosen = {option: given.pop(option) for option in options}
            # imported late, since pandas comes with it, and `--help` must not wait for that
            from salstats.checks import run_of_command

            with run_of_command():
                function(reading=arguments(**chosen), **given)

        own = inspect.signature(function, eval_str=True).parameters
        added = [
            inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for n, (kind, default) in options.items()
        ]
        kept = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for n, p in own.items() if n != "reading"]
        command.__signature__ = inspect.Signature([*kept, *added])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in (*kept, *added)}
        return app.command(name, epilog=f"Example: salstats {name} {example}")(command)

    return decorate


def table(scores: Path, reading: dict[str, Any]) -> "pd.DataFrame":
    """Read files of scores."""
    import salstats as ss

    return ss.read_scores([scores, *reading.pop("also", [])], **reading)


def any_table(scores: Path, reading: dict[str, Any]) -> "pd.DataFrame":
    """Read files of scores, or one tidy table that is none."""
    import salstats as ss

    if set(reading) & {"also", "columns", "wide", "method", "metric", "scale", "tasks"}:
        return table(scores, reading)
    if "~" in scores.name and not scores.exists():
        raise typer.BadParameter(f"{str(scores)!r} is a formula; the file comes first: SCORES FORMULA")
    return ss.read_data(scores, **reading)


def deliver(frame: "pd.DataFrame", out: Path | None, overwrite: bool) -> None:
    """Write a frame to its file, or print it; say what must be said of its metrics."""
    from salstats.display.tables.notes import metric_note

    note = metric_note(frame)
    if note:
        typer.echo(note, err=True)
    if out is not None:
        from salstats.files.frame_files import write_frame

        write_frame(frame, out, overwrite=overwrite)
        return
    from salstats.display.text.console import console_table

    print(console_table(frame))


def check_out(out: Path | None, overwrite: bool) -> None:
    """Fail before any work is done where the output cannot be written; no reader opens it after this."""
    if out is not None:
        from salstats.files.frame_files import check_output

        check_output(out, overwrite=overwrite)

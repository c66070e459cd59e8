"""Command that reproduces published studies."""

from typing import Annotated

import typer

from salstats.cli.spinner import spinner

_HELP = ("--help", "-h")


def reproduce(
    context: typer.Context,
    key: Annotated[
        str,
        typer.Argument(metavar="KEY", help="Study; list shows all of them, KEY --help the options of one."),
    ] = "list",
) -> None:
    """Make the tables and figures of a published study, from its files or from tables of scores.

    From the study's own files: KEY --data DIR -o OUT.

    From a file of scores: KEY --scores FILE -o OUT. Option --features FILE adds columns, --rename OLD=NEW
    renames them.

    Option --as-published repeats the study's own inference; KEY --help shows all options of a study.
    """
    if key in _HELP:
        print(context.get_help())
        return
    # Imported late, since these import pandas, for which `--help` must not wait.
    with spinner("Loading"):
        from salstats.cli.flag_spelling import FlagSpelling
        from salstats.files.paths import forbidding_to_read_outputs
        from salstats.studies import declarations, engine

    if key == "list":
        if context.args:
            raise typer.BadParameter(f"list takes no more, got {' '.join(context.args)!r}")
        for name in declarations.KEYS:
            print(f"{name}: {declarations.declaration_of(name).source}")
        return
    if key not in declarations.KEYS:
        raise typer.BadParameter(f"no study {key!r} (studies: {', '.join(declarations.KEYS)})")
    parser = engine.parser_of(declarations.declaration_of(key))
    if set(context.args) & set(_HELP):
        print(parser.format_help())
        return
    # Errors are written by the command line, with these flags.
    context.obj.update(parser.flags)
    with forbidding_to_read_outputs():
        code = engine.reproduce(key, context.args, FlagSpelling(parser.flags))
    raise typer.Exit(code)

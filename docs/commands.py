"""Pages of the commands: typer writes each from the options that the command itself reads."""

import re
from pathlib import Path
from typing import Any

import typer
from typer.cli import get_docs_for_click

from salstats.cli.app import make_app_with_options_of_one_command
from salstats.cli.commands import COMMANDS
from salstats.studies import declarations, engine

ABOUT = """Each command reads files, calls one function and writes the frame that the function returns.
`salstats COMMAND --help` shows the page of a command in a terminal.

With `-o FILE.csv`, `.parquet` or `.xlsx` the frame is written in full precision; without `-o` it is printed
as a table. A terminal shows the columns that fit; `--all` prints every column. Options that take a list
(`A,B,...`) may also be repeated. Bad usage and bad input give one line and exit code 2. An existing file is
replaced only with `--overwrite`.
"""
FUNCTIONS = {command.name: command.function for command in COMMANDS}


def write_pages(folder: Path) -> None:
    """Write a page for each command, and one that lists them by group."""
    app = typer.main.get_command(make_app_with_options_of_one_command(""))
    context = typer.Context(app, info_name="salstats")
    pages, groups = {}, {}
    for name in app.list_commands(context):
        listed = app.get_command(context, name)
        groups.setdefault(getattr(listed, "rich_help_panel", None) or "Commands", {})[name] = listed.help
        pages[name] = page(name)
    pages["index"] = index(groups)
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if file.stem not in pages:
            file.unlink()
    for name, text in pages.items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def page(name: str) -> str:
    """Return the page of one command: description, arguments, options and an example."""
    app = typer.main.get_command(make_app_with_options_of_one_command(name))
    context = typer.Context(app, info_name="salstats")
    command: Any = app.get_command(context, name)
    own = typer.Context(command, info_name=name, parent=context)
    text = get_docs_for_click(obj=command, ctx=own, call_prefix="salstats")
    text = re.sub(r"^\* (`[^\n]*?`)(?:: ([^\n]*))?$", defined, text, flags=re.M)
    text = re.sub(r"^Example: (.*)$", r"**Example**:\n\n```console\n\1\n```", text, flags=re.M)
    text = text.replace(f"# `salstats {name}`", f"# {name}").replace("$ salstats", "salstats")
    if name in FUNCTIONS:
        text += f"\nIn Python: {{py:obj}}`salstats.{FUNCTIONS[name]}`.\n"
    if name == "reproduce":
        for key in declarations.KEYS:
            parser = engine.parser_of(declarations.declaration_of(key))
            text += f"\n## {key}\n\n```text\n{parser.format_help()}```\n"
    return text


def defined(option: re.Match[str]) -> str:
    """Return one option as a definition, with the options in its help as code."""
    name, about = option.groups(default="")
    return f"{name}\n: " + re.sub(r"(?<![\w`-])--[a-z][\w-]*", r"`\g<0>`", about) + "\n"


def index(groups: dict[str, dict[str, str]]) -> str:
    """Return the page that lists all commands by group."""
    text = f"# Commands\n\n{ABOUT}"
    for group, commands in groups.items():
        rows = "".join(f"| [`{name}`]({name}.md) | {about} |\n" for name, about in commands.items())
        text += f"\n## {group}\n\n| command | what it does |\n|---|---|\n{rows}"
    return f"{text}\n```{{toctree}}\n:hidden:\n:glob:\n\n*\n```\n"

"""The command line: a command is made when it is asked for, runs, and fails in one line."""

import inspect
import io
import os
import re
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from salstats.cli.doctor import doctor
from salstats.cli.make_maps import make_maps
from salstats.cli.reproduce import reproduce
from salstats.cli.waiting import waiting

#: Characters of a message at most.
_LONGEST = 2000
_ABOUT = "Statistics for saliency maps: maps or files of per-case scores in, tidy tables out."


class _Terminated(BaseException):
    """Somebody wants this process to end: what is half written is removed first, and workers are ended."""


def _terminate(number: int, _: object) -> None:
    """End in order; a second time at once."""
    signal.signal(number, signal.SIG_DFL)
    raise _Terminated


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; bad usage and bad input give one line on stderr and exit code 2."""
    signal.signal(signal.SIGTERM, _terminate)
    # a pipe of Windows has a code page, which lacks most letters
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    flags: dict[str, str] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            app = make_app(next((a for a in _typed(arguments) if not a.startswith("-")), ""), flags)
            code = app(arguments, prog_name="salstats", standalone_mode=False) or 0
            # a reader that went away is met here, not after the exit code is decided
            sys.stdout.flush()
        except typer.TyperException as error:
            return _fail(
                error.format_message().removeprefix("Invalid value: ") or "no command; see salstats --help",
                flags,
            )
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
            from salstats.errors import SalstatsError

            if not isinstance(error, SalstatsError | OSError) and os.environ.get("SALSTATS_TRACEBACK"):
                raise
            return _fail(_spelled(error, flags), flags)
    if caught:
        # only now: pandas comes with the checks, and `--help` must not wait for it
        from salstats.errors import distinct_warnings

        texts = [_spelled(warning, flags) for warning in distinct_warnings(caught).values()]
        for text in dict.fromkeys(texts):
            print(f"salstats: warning: {_line(text, flags)}", file=sys.stderr)
    return int(code)


def _typed(arguments: list[str]) -> list[str]:
    """The arguments, or those of the line that a shell wants completed."""
    if "_SALSTATS_COMPLETE" not in os.environ:
        return arguments
    return (os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")).split()[1:]


def _spelled(problem: BaseException, flags: Mapping[str, str]) -> str:
    """Write an error or a warning with the flags of the command that ran."""
    from salstats.cli.flag_spelling import FlagSpelling
    from salstats.errors import SalstatsError, SalstatsWarning

    if isinstance(problem, SalstatsError | SalstatsWarning):
        return problem.message.spelled(FlagSpelling(flags))
    return str(problem)


def _line(message: str, flags: Mapping[str, str]) -> str:
    """Put a message in one line, cut where a cell is long, without what could tell a terminal to do."""
    from salstats.checks import printable

    line = " ".join(message.split())
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"
    return in_flags(printable(line), flags)


def _fail(message: str, flags: Mapping[str, str] | None = None, code: int = 2) -> int:
    """Say in one line on stderr what was wrong."""
    print(f"salstats: error: {_line(message, flags or {})}", file=sys.stderr)
    return code


#: A call on a frame in a message, such as difference(scores, reference='human'), and what stands for its
#: signs of equality while options are spelled.
_CALL = re.compile(r"\b\w+\((?:\w+\()?(?:scores|data), [^;]*?\)+")
_EQUALS = "\0"


def in_flags(message: str, flags: Mapping[str, str]) -> str:
    """Spell the options in a message of the library as the flags of the command that ran.

    In a message an option is its parameter: `interval='t'`, or `overwrite=True (--overwrite)` where the flag
    alone does on the command line. `flags` are by parameter.
    """
    # a call on a frame is Python, which the command line has no flag for
    message = _CALL.sub(lambda call: call[0].replace("=", _EQUALS), message)
    message = re.sub(r"\b\w+=(?:True|False|'[^']*'|{[^}]*}|\[[^]]*\]) \((--[^)]*)\)", r"\1", message)
    message = re.sub(r"\b(rename|join)={'([^']*)': '?([^'}]*)'?}", r"--\1 \2=\3", message)

    def flag(found: re.Match[str]) -> str:
        value = message[found.end() : found.end() + 1].strip(" ,")
        return f"{flags[found[1]]}{' ' if value else ''}"

    def of_list(found: re.Match[str]) -> str:
        names = re.findall(r"'([^']*)'", found[2])
        return f"{flags[found[1]]} {shlex.quote(','.join(names) or 'none')}"

    def switch(found: re.Match[str]) -> str:
        on, _, off = flags[found[1]].partition("/")
        if found[2] == "True":
            return on
        return off or f"no {on}"

    known = "|".join(map(re.escape, sorted(flags, key=len, reverse=True)))
    # the flag of what may be on or off takes no value
    message = re.sub(rf"\b({known})=(True|False)\b", switch, message) if known else message
    message = re.sub(rf"\b({known})=\[((?:'[^',]*'(?:, )?)*)\]", of_list, message) if known else message
    message = re.sub(rf"\b({known})=None\b", r"\1=none", message) if known else message
    if known:
        # what a message is about stands at its start, or behind the file
        subject = rf"(^|: )({known})(?= (?:must|names|lacks)\b)"
        message = re.sub(subject, lambda found: found[1] + flags[found[2]], message, count=1)
        message = re.sub(rf"\b({known})=(?=['\w (,-]|$)", flag, message)
    return message.replace(_EQUALS, "=")


def _without_types_of_switches(parameters: list[Any]) -> list[Any]:
    """Return parameters of which switches show no type in the help, as they take no value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class _Command(TyperCommand):
    """A command of which switches show no type, those of typer's own among them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List the parameters."""
        return _without_types_of_switches(super().get_params(ctx))


class _Group(TyperGroup):
    """The commands; options of which switches show no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List the parameters."""
        return _without_types_of_switches(super().get_params(ctx))


def make_app(wanted: str, flags: dict[str, str] | None = None) -> typer.Typer:
    """Make the app; only the command that is wanted gets its options, as they import what they are of.

    Its parameters go into `flags`.
    """
    from salstats.cli.commands import COMMANDS, GROUPS

    app = typer.Typer(
        cls=_Group,
        help=_ABOUT, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich",
        context_settings={"help_option_names": ["--help", "-h"]},
    )  # fmt: skip
    app.callback(invoke_without_command=True)(_top)
    commands = {command.name: command for command in (*COMMANDS, *_OWN)}
    for command in sorted(commands.values(), key=lambda c: list(GROUPS).index(c.group)):
        if isinstance(command, _Own):
            body, text = command.body, None
            if command.name == wanted and flags is not None:
                flags |= {name: f"--{name.replace('_', '-')}" for name in inspect.signature(body).parameters}
        elif command.name == wanted:
            # what it calls is imported for its options
            with waiting("Loading"):
                body, text = _made(command, flags)
        else:
            body, text = _nothing, command.summary
        app.command(
            command.name, cls=_Command, help=text, rich_help_panel=GROUPS[command.group],
            epilog=f"Example: salstats {command.name} {command.example}".rstrip(),
            context_settings=_ALL_ITS_OWN | {"obj": flags} if command.name == "reproduce" else None,
        )(body)  # fmt: skip
    return app


def _made(command: Any, flags: dict[str, str] | None) -> tuple[Callable[..., None], str]:
    """Make a command's function, whose signature typer reads, and its help."""
    import salstats as ss
    from salstats.cli.commands import options
    from salstats.cli.signatures import NOTHING, Option, argument
    from salstats.cli.sources import Run
    from salstats.files.paths import run_of_command

    function = getattr(ss, command.function)
    path = argument("path", command.source.metavar, Path, command.source.help)
    own, reading = options(command, function), command.source.options()
    # an option of the command stands before one of its reader, which can be told in Python only
    taken = {o.flag for o in own}
    reading = [o for o in reading if o.flag not in taken]
    if flags is not None:
        flags |= {o.name: o.flag for o in (*reading, *own) if o.flag}

    def body(**given: Any) -> None:
        def chosen(options: list[Option]) -> dict[str, Any]:
            values = {o.name: o.value(given[o.parameter.name]) for o in options}
            return {name: None if v is NOTHING else v for name, v in values.items() if v is not None}

        wanted = chosen(own)
        with run_of_command():
            run = Run(
                path=given[path.parameter.name],
                reading=chosen(reading),
                arguments=[wanted.pop(name) for name in command.arguments],
                out=wanted.pop("out", None),
                overwrite=wanted.pop("overwrite"),
                whole=wanted.pop("whole", False),
                options=wanted,
                function=function,
            )
            command.run(run, command.source)

    parameters = [o.parameter for o in (path, *own, *reading)]
    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    body.__annotations__ = {p.name: p.annotation for p in parameters}
    return body, command.summary


def _nothing() -> None:
    """Stand for a command that is not wanted."""


def _top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Show the version, or the help where no command is named."""
    if version:
        import salstats

        print(f"salstats {salstats.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.BadParameter("no command; see salstats --help")


def demo(
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder to make (default: salstats-demo, or -2 ...)."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder of an earlier demo.")
    ] = False,
) -> None:
    """Run the main job on an embedded study (real digits and networks, simulated annotator)."""
    with waiting("Loading"):
        from salstats.cli.demo import run_demo

    run_demo(out, overwrite=overwrite)


@dataclass(frozen=True)
class _Own:
    """A command that is no public function with a file before it: its options are those of its own body."""

    name: str
    group: str
    body: Callable[..., None]
    example: str


_OWN = (
    _Own(
        "make-maps",
        "score",
        make_maps,
        "images --network salstats.explain:digits_network --methods gradcam -o maps",
    ),
    _Own("demo", "reproduce", demo, "-o salstats-demo"),
    _Own("reproduce", "reproduce", reproduce, "saporta2022 --scores scores.csv -o out"),
    _Own("doctor", "reproduce", doctor, ""),
)
#: Of a study, which has options of its own that are not typer's.
_ALL_ITS_OWN: dict[str, Any] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}

"""The command line: commands are made when they are called, and errors are one line."""

import inspect
import io
import os
import signal
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from salstats.cli.curves import curves
from salstats.cli.doctor import doctor
from salstats.cli.make_maps import make_maps
from salstats.cli.reproduce import reproduce
from salstats.cli.spinner import spinner

if TYPE_CHECKING:
    from salstats.cli.commands import Command

#: Greatest number of characters of a message; the middle of a longer one is left out.
_MAX_MESSAGE_CHARS = 2000
_SUMMARY = "Statistics for saliency maps: maps or files of per-case scores in, tidy tables out."


class _Terminated(BaseException):
    """Raised by a signal, so that half-written files are removed and workers end before the process does."""


def _raise_terminated(number: int, _: object) -> None:
    """Raise `_Terminated` at the first signal; a second one ends the process at once."""
    signal.signal(number, signal.SIG_DFL)
    raise _Terminated


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; bad usage and bad input give one line on stderr and exit code 2."""
    signal.signal(signal.SIGTERM, _raise_terminated)
    # On Windows the code page of a pipe lacks most letters, which would raise an error.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """Run one command, write its error or its warnings on stderr, and return its exit code.

    An error of the program itself is raised.
    """
    flags: dict[str, str] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            code = execute_raising_errors(arguments, flags)
        except BaseException as error:
            code_of_error = _report_error(error, flags)
            if code_of_error is None:
                raise
            return code_of_error
    if caught:
        # Imported late, since this imports pandas, for which `--help` must not wait.
        from salstats.errors import first_warning_by_subject

        texts = [_message_with_flags(warning, flags) for warning in first_warning_by_subject(caught).values()]
        for text in dict.fromkeys(texts):
            print(f"salstats: warning: {_as_one_line(text)}", file=sys.stderr)
    return code


def execute_raising_errors(
    arguments: list[str], flag_by_parameter_to_extend: dict[str, str] | None = None
) -> int:
    """Run one command and return its exit code; errors are raised.

    The flag of each parameter of the command is added to `flag_by_parameter_to_extend`.
    """
    app = make_app_with_options_of_one_command(_first_non_option(arguments), flag_by_parameter_to_extend)
    code = app(arguments, prog_name="salstats", standalone_mode=False) or 0
    # If the program that reads the output has ended, the error is raised here and not at the exit.
    sys.stdout.flush()
    return int(code)


def _report_error(error: BaseException, flags: Mapping[str, str]) -> int | None:
    """Write one line on stderr and return the exit code; None for an error of the program."""
    match error:
        case typer.BadParameter(param=None, message=message):
            # These errors of the package's commands name their option in the message.
            return _print_error(message)
        case typer.TyperException():
            message = error.format_message()
            if "unexpected extra argument" in message and "also" in flags:
                message += f"; further files of scores follow {flags['also']}"
            return _print_error(message)
        case typer.Abort():
            return _print_error("interrupted", code=130)
        case _Terminated():
            return _print_error("terminated", code=143)
        case BrokenPipeError() | SystemExit():
            # The program that reads the output has ended, as in `| head`; typer turns that into an exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        case MemoryError():
            reason = str(error) or "no more is available"
            return _print_error(f"not enough memory for this ({reason}); ask for less at a time")
        case ModuleNotFoundError(name=str(name)) if not name.startswith("salstats"):
            from salstats.errors import missing_package_error

            return _print_error(str(missing_package_error(error, "this command")))
        case OSError() | ValueError():
            return _report_unless_unexpected_and_traceback_requested(error, flags)
    return None


def _report_unless_unexpected_and_traceback_requested(
    error: OSError | ValueError, flag_by_parameter: Mapping[str, str]
) -> int | None:
    """Write the error and return its exit code.

    Return None for an error that may be one of the program if SALSTATS_TRACEBACK asks for its traceback.
    """
    from salstats.errors import SalstatsError

    is_expected = isinstance(error, SalstatsError | OSError)
    if not is_expected and os.environ.get("SALSTATS_TRACEBACK"):
        return None
    return _print_error(_message_with_flags(error, flag_by_parameter))


def _first_non_option(arguments: list[str]) -> str:
    """Return the first argument that is not an option, "" where there is none."""
    for argument in _arguments_or_completed_line(arguments):
        if not argument.startswith("-"):
            return argument
    return ""


def _arguments_or_completed_line(arguments: list[str]) -> list[str]:
    """Return the arguments, or those of the line that a shell completes."""
    if "_SALSTATS_COMPLETE" not in os.environ:
        return arguments
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return line.split()[1:]


def _message_with_flags(problem: BaseException, flags: Mapping[str, str]) -> str:
    """Write an error or a warning with the flags of the command that ran."""
    from salstats.cli.flag_spelling import FlagSpelling
    from salstats.errors import SalstatsError, SalstatsWarning

    if isinstance(problem, SalstatsError | SalstatsWarning):
        return problem.message.spelled(FlagSpelling(flags))
    return str(problem)


def _as_one_line(message: str) -> str:
    """Write a message on one line, without the middle if it is long, and escape control characters."""
    from salstats.checks import escape_unprintable

    line = " ".join(message.split())
    if len(line) > _MAX_MESSAGE_CHARS:
        line = f"{line[: _MAX_MESSAGE_CHARS // 2]} ... {line[-_MAX_MESSAGE_CHARS // 2 :]}"
    return escape_unprintable(line)


def _print_error(message: str, code: int = 2) -> int:
    """Write one line on stderr that says what was wrong, and return the exit code."""
    print(f"salstats: error: {_as_one_line(message)}", file=sys.stderr)
    return code


def _hide_types_of_switches(parameters: list[Any]) -> list[Any]:
    """Return the parameters; switches, which take no value, no longer show a type in the help."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class _ShellCommand(TyperCommand):
    """A command of the shell; its switches, and those of typer itself, show no type in the help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List the parameters."""
        return _hide_types_of_switches(super().get_params(ctx))


class _ShellGroup(TyperGroup):
    """The group of all commands; its switches show no type in the help."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called; the error for one of its other names tells its name."""
        from salstats.cli.commands import COMMANDS

        for command in COMMANDS:
            if args[0] in command.other_names:
                ctx.fail(f"No such command {args[0]!r}. Did you mean {command.name!r}?")
        return super().resolve_command(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """List the parameters."""
        return _hide_types_of_switches(super().get_params(ctx))


def make_app_with_options_of_one_command(
    called_command_name: str, flag_by_parameter_to_extend: dict[str, str] | None = None
) -> typer.Typer:
    """Make the app; only one command has its options, since they are made from the imported function.

    Parameters
    ----------
    called_command_name : str
        Name of the command that runs or shows its help.
    flag_by_parameter_to_extend : dict, optional
        The flag of each parameter of that command is added to it.
    """
    from salstats.cli.commands import COMMANDS, GROUPS

    app = typer.Typer(
        cls=_ShellGroup,
        help=_SUMMARY, pretty_exceptions_enable=False, rich_markup_mode="rich",
        context_settings={"help_option_names": ["--help", "-h"]},
    )  # fmt: skip
    app.callback(invoke_without_command=True)(_show_version_or_help)
    order = list(GROUPS)
    commands = {command.name: command for command in (*COMMANDS, *_STANDALONE)}
    for command in sorted(commands.values(), key=lambda c: order.index(c.group)):
        body: Callable[..., None]
        if isinstance(command, _StandaloneCommand):
            body = command.body
            help_text = None
            if command.name == called_command_name and flag_by_parameter_to_extend is not None:
                flag_by_parameter_to_extend |= _flags_of_parameters(body)
        elif command.name == called_command_name:
            with spinner("Loading"):
                body = _make_command_body_and_record_flags(command, flag_by_parameter_to_extend)
            help_text = command.summary
        else:
            body = _placeholder
            help_text = command.summary
        settings = None
        if command.name == "reproduce":
            # The flags depend on the study, so that the command itself adds them to `obj`.
            settings = _UNPARSED | {"obj": flag_by_parameter_to_extend}
        app.command(
            command.name, cls=_ShellCommand, help=help_text, rich_help_panel=GROUPS[command.group],
            epilog=f"Example: salstats {command.name} {command.example}".rstrip(), context_settings=settings,
        )(body)  # fmt: skip
    return app


def _flags_of_parameters(body: Callable[..., None]) -> dict[str, str]:
    """Return the flag of each parameter of a function that typer reads itself."""
    return {name: f"--{name.replace('_', '-')}" for name in inspect.signature(body).parameters}


def _make_command_body_and_record_flags(
    command: "Command", flag_by_parameter_to_extend: dict[str, str] | None
) -> Callable[..., None]:
    """Make the function of a command, whose signature typer reads, and fill in its flags."""
    import salstats as ss
    from salstats.cli.commands import command_arguments_and_options
    from salstats.cli.signatures import argument, keyword_arguments
    from salstats.cli.sources import CommandRun
    from salstats.files.paths import forbidding_to_read_outputs

    function = getattr(ss, command.function)
    path_type: Any = Path | None if command.source.is_optional else Path
    path = argument("path", command.source.metavar, path_type, command.source.help)
    command_options = command_arguments_and_options(command, function)
    # Where function and reader have the same flag, it sets the function's; Python alone can set the reader's.
    command_flags = {option.flag for option in command_options}
    reading_options = [option for option in command.source.options() if option.flag not in command_flags]
    if flag_by_parameter_to_extend is not None:
        flag_by_parameter_to_extend |= {
            option.name: option.flag for option in (*reading_options, *command_options) if option.flag
        }

    def body(**typed: Any) -> None:
        options_of_call = keyword_arguments(command_options, typed)
        with forbidding_to_read_outputs():
            run = CommandRun(
                input_path_or_none=typed[path.parameter.name],
                reading=keyword_arguments(reading_options, typed),
                arguments=[options_of_call.pop(name) for name in command.arguments],
                output=options_of_call.pop("output", None),
                overwrite=options_of_call.pop("overwrite"),
                print_all=options_of_call.pop("print_all", False),
                options=options_of_call,
                function=function,
            )
            command.run(run, command.source)

    parameters = [option.parameter for option in (path, *command_options, *reading_options)]
    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    body.__annotations__ = {p.name: p.annotation for p in parameters}
    return body


def _placeholder() -> None:
    """Stand in for a command that does not run; the help needs only its name and summary."""


def _show_version_or_help(
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
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Folder to make (default: salstats-demo, numbered where that exists).",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder of an earlier demo.")
    ] = False,
) -> None:
    """Run the main analyses on an embedded study (real digits and networks, a simulated annotator)."""
    with spinner("Loading"):
        from salstats.cli.demo import run_demo

    run_demo(output, overwrite=overwrite)


@dataclass(frozen=True)
class _StandaloneCommand:
    """A command that calls no public function on a file; typer reads its options from its body."""

    name: str
    group: str
    body: Callable[..., None]
    example: str


_STANDALONE = (
    _StandaloneCommand(
        "make-maps",
        "score",
        make_maps,
        "images --network salstats.explain:digits_network --methods gradcam -o maps",
    ),
    _StandaloneCommand(
        "curves",
        "score",
        curves,
        "images --maps maps --network salstats.explain:digits_network -o scores.csv",
    ),
    _StandaloneCommand("demo", "reproduce", demo, "-o salstats-demo"),
    _StandaloneCommand("reproduce", "reproduce", reproduce, "saporta2022 --scores scores.csv -o out"),
    _StandaloneCommand("doctor", "reproduce", doctor, ""),
)
#: Settings of a command whose options typer does not read: each study has options of its own.
_UNPARSED: dict[str, Any] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}

"""Messages of the library as a terminal shows them: options as flags, calls as commands."""

import shlex
from collections.abc import Mapping

from salstats.cli.commands import COMMANDS
from salstats.cli.display_kinds import FIGURES, TABLES
from salstats.cli.signatures import flag_word
from salstats.errors import NO_VALUE, Advice, Call, Setting, Spelling

#: Parameters of commands that do what a function of the package does.
_OPTIONS_FOR_FUNCTIONS = {"missing_bounds": "bounds", "normalize": "normalize"}


class FlagSpelling(Spelling):
    """Write options as the flags of the command that runs.

    Parameters
    ----------
    flags : mapping of str to str
        Flag by parameter, such as "--replicates" by "n_replicates"; "--progress/--no-progress" for a switch
        that can be turned off. Options that the command does not have are written as Python.
    """

    def __init__(self, flags: Mapping[str, str]) -> None:
        self.flags = flags

    def setting(self, setting: Setting) -> str:
        """Write an option: `--interval t`, `--overwrite`, `--by method,task`, `--score iou=gradcam`."""
        flag = self.flags.get(setting.option)
        if flag is None:
            return super().setting(setting)
        # "--progress/--no-progress" turns a switch on and off.
        on, _, off = flag.partition("/")
        match setting.value:
            case _ if setting.value is NO_VALUE:
                return on
            case True:
                return on
            case False:
                return off or f"no {on}"
            case None:
                return f"{on} none"
            case Mapping():
                pairs = [f"{name}={_colon_joined_text(value)}" for name, value in setting.value.items()]
                return " ".join(f"{on} {shlex.quote(pair)}" for pair in pairs)
            case list() | tuple():
                return f"{on} {shlex.quote(','.join(map(str, setting.value)) or 'none')}"
            case _:
                return f"{on} {shlex.quote(str(setting.value))}"

    def call(self, call: Call) -> str:
        """Write a call as a command: `salstats summarize FILE --level 0.9`."""
        for command in COMMANDS:
            if command.function == call.function:
                flags = {option: f"--{flag_word(option, command.flag_words)}" for option in call.options}
                spelling = FlagSpelling(flags)
                options = [spelling.setting(Setting(name, value)) for name, value in call.options.items()]
                return " ".join(["salstats", command.name, "FILE", *options])
        return self._flag_or_display_command(call.function)

    def _flag_or_display_command(self, function: str) -> str:
        """Write the option, or the kind of table or figure, for a function that no command is named after."""
        flag = self.flags.get(_OPTIONS_FOR_FUNCTIONS.get(function, ""))
        if flag is not None:
            return flag
        for kinds in (TABLES, FIGURES):
            kind = function.removeprefix(kinds.prefix)
            if kind != function and kind in kinds.functions():
                return f"salstats {kinds.command} FILE --as {kind}"
        return f"the Python function {function}"

    def advice(self, advice: Advice) -> str:
        """Write advice in words, as a terminal runs no Python."""
        return advice.words


def _colon_joined_text(value: object) -> str:
    """Write the content of a column, (method, metric, reader) or the method alone, as `--score` takes it."""
    if isinstance(value, tuple):
        names = ["" if name is None else str(name) for name in value]
        return ":".join(names)
    return str(value)

"""Messages of the library as a terminal shows them: options as flags, calls as commands."""

import shlex
from collections.abc import Mapping

from salstats.cli.commands import COMMANDS
from salstats.cli.signatures import flag_word
from salstats.errors import NO_VALUE, Call, Setting, Spelling


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
                return " ".join(
                    f"{on} {shlex.quote(f'{name}={_text(value)}')}" for name, value in setting.value.items()
                )
            case list() | tuple():
                return f"{on} {shlex.quote(','.join(map(str, setting.value)) or 'none')}"
            case _:
                return f"{on} {shlex.quote(str(setting.value))}"

    def call(self, call: Call) -> str:
        """Write a call as a command, where there is one: `salstats adjust FILE --method holm`."""
        command = next((command for command in COMMANDS if command.function == call.function), None)
        if command is None:
            return super().call(call)
        flags = {option: f"--{flag_word(option, command.flag_words)}" for option in call.options}
        of_command = FlagSpelling(flags)
        options = [of_command.setting(Setting(name, value)) for name, value in call.options.items()]
        return " ".join(["salstats", command.name, "FILE", *options])


def _text(value: object) -> str:
    """Write what a column holds, (method, metric, reader) or the method alone, as `--score` takes it."""
    if isinstance(value, tuple):
        return ":".join("" if part is None else str(part) for part in value)
    return str(value)

"""What scripts of the studies take from the command line: options by method, flags in messages."""

from functools import cache
from typing import Any

from salstats.cli import app, values
from salstats.cli.values import split

__all__ = ["by_method", "in_flags", "split"]


def by_method(**given: list[str] | None) -> dict[str, Any]:
    """Read the options of masks that were given: a value or file for all, or ig=100,lrp=80."""
    return {
        name: values.by_method(text, f"--{name}", "ig=100")
        for name, text in given.items()
        if text is not None
    }


def in_flags(message: str) -> str:
    """Spell the options in a message as the flags of any command."""
    return app.in_flags(message, _all_flags())


@cache
def _all_flags() -> dict[str, str]:
    """List the parameters of all commands and their flags."""
    import salstats as ss
    from salstats.cli.commands import COMMANDS, options

    return {
        option.name: option.flag
        for command in COMMANDS
        for option in (*command.source.options(), *options(command, getattr(ss, command.function)))
        if option.flag
    }

"""Parser of a study's options, and the error of an option that a command does not have."""

import argparse
from collections.abc import Iterable, Sequence
from typing import NoReturn

from salstats.checks import did_you_mean
from salstats.errors import (
    SalstatsError,
)

#: The option of a study that sets an option of the package's functions, by the name of the latter.
_STUDY_OPTIONS = {"n_replicates": "replicates", "rng": "seed", "n_readers": "readers", "n_samples": "samples"}


class Parser(argparse.ArgumentParser):
    """Parser of a study's options, which raises an exception where they cannot be read."""

    @property
    def options(self) -> dict[str, argparse.Action]:
        """The options of the study by their names in Python, without `--help`."""
        return {action.dest: action for action in self._actions if action.dest != "help"}

    @property
    def flags(self) -> dict[str, str]:
        """The flag of each option by its name in Python and, where it differs, in the package's functions."""
        flags = {action.dest: flag_of(action) for action in self._actions}
        for parameter, option in _STUDY_OPTIONS.items():
            if option in flags:
                flags[parameter] = flags[option]
        return flags

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Read the arguments; raise an error with the known options where one is unknown."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            flags = [flag_of(action) for action in self.options.values()]
            raise unknown_option_error(unknown[0].partition("=")[0], self.prog, flags)
        return parsed

    def error(self, message: str) -> NoReturn:
        """Raise argparse's message as an error of the package."""
        raise SalstatsError(message)


def flag_of(action: argparse.Action) -> str:
    """Return the long flag of an option."""
    return next(flag for flag in action.option_strings if flag.startswith("--"))


def unknown_option_error(name: str, command: str, choices: Iterable[str]) -> SalstatsError:
    """Return the error where a command does not have an option, with the options of the command."""
    choices = list(choices)
    return SalstatsError(
        f"{command} has no option {name!r} (options: {', '.join(choices)}){did_you_mean(name, choices)}",
        option=name,
        choices=choices,
    )

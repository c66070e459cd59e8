"""What the command lines of the analyses share: errors in one line, and folders by name."""

import argparse
from collections.abc import Callable
from typing import NoReturn


class OneLine(argparse.ArgumentParser):
    """The parser of an analysis, whose errors are one line that begins with its name."""

    def __init__(self, name: str, description: str | None) -> None:
        super().__init__(
            prog=f"{name}.py", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        self.name = name

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and stop."""
        self.exit(2, f"{self.name}: {message}\n")


def named_folder(form: str) -> Callable[[str], tuple[str, str]]:
    """Return a reader of both sides of NAME=DIR, whose error says the `form` that is wanted."""

    def read(text: str) -> tuple[str, str]:
        name, _, folder = text.partition("=")
        if not name or not folder:
            raise argparse.ArgumentTypeError(f"{text!r} is not {form}")
        return name, folder

    return read

"""How a table file is to be read, and the check that every header passes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from salstats.checks import COLUMN, InputFileError, check_choice, check_size, hidden

PathLike = str | os.PathLike[str]

#: What stands for a missing number; identifiers are never compared with these.
NA_STRINGS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A")


@dataclass(frozen=True)
class TableOptions:
    """How to read a table file; see `read_scores` for what each means."""

    sep: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    na: Sequence[str] = NA_STRINGS
    sheet: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.decimal, (".", ","), "decimal")
        if self.sep is not None and (len(self.sep) != 1 or not self.sep.isascii() or self.sep in '"\r\n'):
            raise InputFileError(
                f"sep must be one ASCII character that is no quotation mark or line end, not {self.sep!r}"
            )
        # one string would be taken letter by letter; an empty cell is always missing
        given = (self.na,) if isinstance(self.na, str) else tuple(self.na)
        object.__setattr__(self, "na", tuple(dict.fromkeys(("", *given))))


def check_header(file: Path, header: list[str]) -> None:
    """Raise when a header is too long, or holds a name twice, none, or one with what nobody sees."""
    check_size(len(header) * COLUMN, f"{file}: its {len(header)} columns")
    first = {name: position for position, name in reversed([*enumerate(header)])}
    for position, name in enumerate(header):
        if not name.strip():
            if position == 0:
                hint = (
                    " (row numbers, written by pandas or R?); write the file without them "
                    "(index=False, row.names=FALSE)"
                )
            elif position == len(header) - 1:
                hint = "; name it, or remove the separator at the end of every line"
            else:
                hint = "; name it"
            raise InputFileError(f"{file}: column {position + 1} has no name in the header{hint}")
        if first[name] != position:
            raise InputFileError(f"{file}: column {name!r} is twice in the header; rename one of them")
        if hidden(name):
            raise InputFileError(f"{file}: column {name!r} {hidden(name)}; remove it in the header")

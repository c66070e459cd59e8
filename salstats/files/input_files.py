"""Reading of files: plain, not empty, within the limit of memory; JSON without repeated keys."""

import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from salstats.errors import InputFileError, SalstatsError
from salstats.files.paths import check_plain
from salstats.memory_limit import LIMIT_VARIABLE, memory_limit_bytes, problem_text_if_too_large

#: Number of digits up to which a whole number is below the largest float.
_DIGITS_OF_A_FLOAT = sys.float_info.max_10_exp


def data_folder() -> Path:
    """Folder of the embedded data, of which each file is described in its `README.md`.

    `salstats/_data` in an installed package, `data` beside the package in a checkout.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_data", package.parent / "data"):
        if (folder / "published").is_dir():
            return folder
    raise InputFileError(
        f"{package / '_data'}: the embedded data are missing",
        hint="install salstats again",
        path=package / "_data",
    )


@contextmanager
def opened(file: Path, *, any_size: bool = False) -> Iterator[BufferedReader]:
    """Yield the stream of a file, which must be plain, not empty and, unless `any_size`, not too large."""
    try:
        check_plain(file)
        with file.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > memory_limit_bytes() and not any_size:
                raise InputFileError(
                    f"{file}: its content {problem_text_if_too_large(size)}", option=LIMIT_VARIABLE, path=file
                )
            if not stream.peek(1):
                raise InputFileError(f"{file} is empty", path=file)
            yield stream
    except FileNotFoundError as error:
        raise InputFileError(f"{file}: no such file", path=file) from error
    except OSError as error:
        raise InputFileError(f"{file}: cannot be read ({error.strerror or error})", path=file) from error


def read_bytes(file: Path) -> bytes:
    """Return the content of a file that can be `opened`."""
    with opened(file) as stream:
        return stream.read()


def read_json(file: Path) -> Any:
    """Return the content of a JSON file; InputFileError where it is none, or a key stands twice."""
    data = read_bytes(file)
    try:
        return parse_json(data)
    except json.JSONDecodeError as error:
        raise InputFileError(
            f"{file}: not JSON, damaged or cut short ({error.msg} in line {error.lineno})",
            rows=[error.lineno - 1],
            path=file,
        ) from error
    except RecursionError as error:
        raise InputFileError(f"{file}: nested too deeply; it is no file of cases", path=file) from error
    except SalstatsError as error:
        raise InputFileError(f"{file}: ", error.message, value=error.value, path=file) from error
    except ValueError as error:
        raise InputFileError(f"{file}: {error}", path=file) from error


def is_one_unnamed_value(option_texts: Sequence[str]) -> bool:
    """Return whether an option is one value or file for all, and not NAME=VALUE; files may hold a "="."""
    if len(option_texts) != 1:
        return False
    return "=" not in option_texts[0] or os.path.lexists(option_texts[0])


def parse_json(text: str | bytes) -> Any:
    """Return the content of JSON text; ValueError where it is none or a key stands twice, or RecursionError.

    A whole number beyond the largest float is infinite, as JSON's 1e400 is, so that a reader's own check of
    its numbers finds it.
    """
    return json.loads(text, object_pairs_hook=_object_with_distinct_keys, parse_int=_whole_number)


def _whole_number(digits: str) -> int | float:
    """Return a whole number, infinite where it is beyond the largest float."""
    if len(digits) > _DIGITS_OF_A_FLOAT and math.isinf(float(digits)):
        return float(digits)
    return int(digits)


def _object_with_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of pairs, whose keys must differ."""
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise SalstatsError(f"{name!r} stands twice in one object", hint="remove one of them", value=name)
        content[name] = value
    return content

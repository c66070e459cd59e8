"""Read files that are plain, not empty and within the memory limit; JSON must not repeat a key."""

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
from salstats.files.paths import check_is_regular_file_unless_missing
from salstats.memory_limit import LIMIT_VARIABLE, file_content_memory_limit_bytes, problem_text_if_too_large

#: A whole number of this many digits or fewer is below the largest float.
_MAX_SAFE_DIGITS = sys.float_info.max_10_exp


def data_folder() -> Path:
    """Return the folder of the data that come with the package; its `README.md` describes each file.

    It is `salstats/_data` in an installed package, and `data` beside the package in a checkout.
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
    """Open a file and yield its stream of bytes; raise where it is not plain, empty or larger than the limit.

    With `any_size` the caller checks the size.
    """
    try:
        check_is_regular_file_unless_missing(file)
        with file.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > file_content_memory_limit_bytes() and not any_size:
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
    """Return the content of a file; raise as `opened` does."""
    with opened(file) as stream:
        return stream.read()


def read_json(file: Path) -> Any:
    """Return the content of a JSON file; raise where it is not JSON, or an object has a key twice."""
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
        raise InputFileError(f"{file}: nested too deeply; it is not a file of cases", path=file) from error
    except SalstatsError as error:
        raise InputFileError(f"{file}: ", error.message, value=error.value, path=file) from error
    except ValueError as error:
        raise InputFileError(f"{file}: {error}", path=file) from error


def is_one_unnamed_value(option_texts: Sequence[str]) -> bool:
    """Return whether an option is given once, as a value or an existing file and not as NAME=VALUE."""
    if len(option_texts) != 1:
        return False
    return "=" not in option_texts[0] or os.path.lexists(option_texts[0])


def parse_json(text: str | bytes) -> Any:
    """Return the content of JSON text.

    Raise ValueError where it is not JSON or an object has a key twice, RecursionError where it is nested too
    deeply. A whole number beyond the largest float is infinite, as 1e400 is, so that readers' checks of their
    numbers find it.
    """
    return json.loads(text, object_pairs_hook=_object_with_distinct_keys, parse_int=_whole_number)


def _whole_number(digits: str) -> int | float:
    """Return the whole number of some digits, infinite where it is beyond the largest float."""
    if len(digits) > _MAX_SAFE_DIGITS and math.isinf(float(digits)):
        return float(digits)
    return int(digits)


def _object_with_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict of a JSON object's pairs; raise where two have the same key."""
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise SalstatsError(
                f"{name!r} is there twice in one object", hint="remove one of them", value=name
            )
        content[name] = value
    return content

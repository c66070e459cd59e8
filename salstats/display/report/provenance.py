"""What a report was made from and by: settings, seed, versions, SHA-256 of the input."""

import hashlib
import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pandas as pd

import salstats
from salstats.display.report.document import Settings
from salstats.display.report.wording import Words
from salstats.display.text.format import count_text, joined, level_text
from salstats.errors import InputFileError
from salstats.stats.adjust import find_procedure
from salstats.stats.engine.intervals import RECOMMENDED

#: Packages whose numbers or pictures a report holds, in the order they are listed.
PACKAGES = ("numpy", "pandas", "scipy", "statsmodels", "plotnine", "great-tables", "matplotlib")


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, as `sha256sum` prints it."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputFileError(f"cannot read {path}: {error.strerror or error}") from error


def frame_digest(frame: pd.DataFrame) -> str:
    """SHA-256 of the CSV that `write_frame` writes of a frame, for scores that came as no file."""
    text = frame.to_csv(index=False, lineterminator="\n")
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def versions() -> dict[str, str]:
    """Versions of salstats, Python and the packages that a report rests on."""
    found = {"salstats": salstats.__version__, "Python": platform.python_version()}
    return found | {name: version(name) for name in PACKAGES}


def provenance_rows(words: Words, scores: pd.DataFrame) -> tuple[tuple[str, str], ...]:
    """Rows of the report's last table: inputs and their checksums, settings, versions, names unique.

    Nothing here tells the machine, the user, a folder or the time: the same input gives the same rows.
    """
    settings, labels = words.settings, words.labels
    only = [f"{labels.column(c)} = {labels.value(c, value)}" for c, value in (settings.only or {}).items()]
    procedure = find_procedure(settings.adjust)
    rows = {
        **dict(_input_rows(settings, scores)),
        **({"Rows used": joined(only)} if only else {}),
        "Number of rows": count_text(len(scores)),
        "Reference": labels.value("reference", settings.reference) if settings.reference else "none",
        "Unit of resampling and of clusters": words.unit,
        "Confidence level": f"{level_text(settings.level)}%",
        "Interval of means and contrasts": settings.interval or RECOMMENDED,
        "Bootstrap replicates, or flips": count_text(settings.n_replicates),
        "Seed": str(settings.seed),
        "Test of contrasts": settings.test or "that of the interval",
        "Adjustment for multiple tests": (procedure.label if procedure else "") or "none",
        **({} if settings.margin is None else {"Margin of differences": str(settings.margin)}),
        **({} if settings.weights is None else {"Weights": str(settings.weights)}),
        "Style of numbers": settings.style,
        "Covariates": joined([labels.column(c) for c in settings.covariates or ()]) or "none",
        **{f"Version of {name}": number for name, number in versions().items()},
    }
    return tuple(rows.items())


def _input_rows(settings: Settings, scores: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield what the scores were read from, and its SHA-256."""
    if not settings.inputs:
        yield "Input", "scores given as a data frame"
        yield "SHA-256 of the scores as CSV", frame_digest(scores)
        return
    names = [Path(path).name for path in settings.inputs]
    # two files of one name in two folders stay two rows
    names = [f"{n} ({names[: i + 1].count(n)})" if names.count(n) > 1 else n for i, n in enumerate(names)]
    yield "Input", joined(names)
    for name, path in zip(names, settings.inputs, strict=True):
        yield f"SHA-256 of {name}", file_digest(path)

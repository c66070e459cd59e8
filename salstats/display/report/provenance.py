"""Provenance of a report: settings, seed, versions, and the SHA-256 of the input."""

import hashlib
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pandas as pd

import salstats
from salstats.display.report.settings import Settings
from salstats.display.report.wording import Wording
from salstats.display.text.format import count_text, joined, level_text_without_percent_sign
from salstats.errors import InputFileError
from salstats.stats.adjust import find_procedure
from salstats.stats.engine.intervals import RECOMMENDED

#: Packages that compute or draw what a report shows, in the order in which they are listed.
REPORTED_PACKAGES = ("numpy", "pandas", "scipy", "statsmodels", "plotnine", "great-tables", "matplotlib")
#: Name of the row on the input of a report.
INPUT_ROW_NAME = "Input"


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, as `sha256sum` prints it."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputFileError(f"cannot read {path}: {error.strerror or error}", path=Path(path)) from error


def frame_digest(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of the CSV that `write_frame` writes from a frame."""
    text = frame.to_csv(index=False, lineterminator="\n")
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of salstats, Python and the packages that a report rests on."""
    version_of = {"salstats": salstats.__version__, "Python": platform.python_version()}
    for package in REPORTED_PACKAGES:
        version_of[package] = version(package)
    return version_of


def provenance_rows_without_date(wording: Wording, scores: pd.DataFrame) -> tuple[tuple[str, str], ...]:
    """Return names and values for the report's last table: inputs, settings and versions, each name once.

    Machine, user, folder and time are left out: the same input gives the same rows.
    """
    settings = wording.settings
    labels = wording.labels
    rows = _provenance_rows_of_input_names_and_digests(settings, scores)
    if settings.only:
        conditions = []
        for column, value in settings.only.items():
            conditions.append(f"{labels.column(column)} = {labels.value(column, value)}")
        rows["Rows used"] = joined(conditions)
    reference = "none"
    if settings.reference:
        reference = labels.value("reference", settings.reference)
    procedure = find_procedure(settings.adjust)
    adjustment = "none"
    if procedure is not None and procedure.label:
        adjustment = procedure.label
    rows |= {
        "Number of rows": count_text(len(scores)),
        "Reference": reference,
        "Unit of resampling and of clusters": wording.unit,
        "Confidence level": f"{level_text_without_percent_sign(settings.level)}%",
        "Interval of means and contrasts": settings.interval or RECOMMENDED,
        "Bootstrap replicates, or flips": count_text(settings.n_replicates),
        "Seed": str(settings.seed),
        "Test of contrasts": settings.test or "that of the interval",
        "Adjustment for multiple tests": adjustment,
    }
    if settings.margin is not None:
        rows["Margin of differences"] = str(settings.margin)
    if settings.weights is not None:
        rows["Weights"] = str(settings.weights)
    covariates = [labels.column(covariate) for covariate in settings.covariates or ()]
    rows["Style of numbers"] = settings.style
    rows["Covariates"] = joined(covariates) or "none"
    for package, number in versions().items():
        rows[f"Version of {package}"] = number
    return tuple(rows.items())


def _provenance_rows_of_input_names_and_digests(settings: Settings, scores: pd.DataFrame) -> dict[str, str]:
    """Return the source of the scores, and its SHA-256."""
    if not settings.inputs:
        return {
            INPUT_ROW_NAME: "scores given as a data frame",
            "SHA-256 of the scores as CSV": frame_digest(scores),
        }
    names = _names_numbered_if_repeated([Path(path).name for path in settings.inputs])
    rows = {INPUT_ROW_NAME: joined(names)}
    for name, path in zip(names, settings.inputs, strict=True):
        rows[f"SHA-256 of {name}"] = file_digest(path)
    return rows


def _names_numbered_if_repeated(names: Sequence[str]) -> list[str]:
    """Return names, numbered where they occur several times, as files in two folders may have one name."""
    distinct: list[str] = []
    for name in names:
        distinct_name = name
        number = 1
        while names.count(name) > 1 and (distinct_name in names or distinct_name in distinct):
            distinct_name = f"{name} ({number})"
            number += 1
        distinct.append(distinct_name)
    return distinct

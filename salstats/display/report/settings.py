"""Settings of a report: the arguments of `report`, and their defaults from the scores."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_columns, check_count, check_level, quoted
from salstats.coded_text import TEXT
from salstats.display.text.format import STYLES, joined
from salstats.display.text.labels import SUMMARY_LABELS
from salstats.errors import ColumnError, InputFileError, Message, SalstatsError, Setting, warn
from salstats.frames import IDENTIFIER_COLUMNS, ColumnCodes, coded_scores_without_warnings
from salstats.stats.adjust import checked_procedure
from salstats.stats.engine.equivalence import Margin, margin_bounds, tail_function
from salstats.stats.engine.intervals import choose_interval
from salstats.stats.engine.label_columns import is_label_column_of_three_or_more
from salstats.stats.engine.paired_tests import TESTS
from salstats.stats.engine.resampling_units import Unit, resolve_unit
from salstats.stats.engine.weighting import Weighting
from salstats.study import HUMAN

#: Bootstrap replicates of a report, so many that its numbers hardly depend on the seed. With 10,000
#: replicates the Monte-Carlo error of a 95 % limit is 3 % of the standard error, with 1,000 it is 8 %.
N_REPLICATES = 10_000
#: Columns that are never covariates of a score.
_NOT_COVARIATES = (
    *IDENTIFIER_COLUMNS, "score", "label", "prob", "reason", "slice", "threshold", "cutoff", "smooth",
    "colormap",
)  # fmt: skip
#: Columns that are covariates only if the user names them: counts that scores are made of, sizes for which
#: the share of the image is a better covariate, and settings of the gaze metrics.
_COVARIATES_BY_NAME = (
    "tp", "fp", "fn", "tn", "height", "width", "area_px", "perimeter_px",
    "phase", "n_readers", "n_unseen", "n_samples", "floor",
)  # fmt: skip
#: Columns that may have one value in a report, since means over several would mix different populations.
_SINGLE_VALUE_COLUMNS = ("dataset", "model")
#: Most levels of a column of text by which patients are described; others are names or remarks.
_MAX_LEVELS = 10
#: Most values of a column that an error lists.
_MAX_QUOTED = 5


@dataclass(frozen=True)
class Settings:
    """Arguments of `report`, each checked by itself.

    Attributes
    ----------
    unit : str
        Column of the unit, several joined by commas; "" for the default.
    code : str
        Python expression that gives the scores, for the calls on the page.
    unit_argument : str, list of str or None
        The unit as calls on the scores of the user name it.

    Notes
    -----
    Other attributes are the arguments of `report` of the same name. `resolve_scores_and_settings` fills in
    what the user left open: reference, unit and covariates.
    """

    reference: str | None = None
    unit: str = ""
    covariates: str | Sequence[str] | None = None
    only: Mapping[str, Any] | None = None
    level: float = 0.95
    interval: str | None = None
    n_replicates: int = N_REPLICATES
    seed: int = 0
    test: str | None = None
    adjust: str = "holm"
    margin: Margin | None = None
    weights: Weighting = None
    style: str = "nature"
    labels: Mapping[str, Any] | None = None
    title: str = "Statistical report on saliency maps"
    inputs: Sequence[str | os.PathLike[str]] = ()
    code: str = ""
    unit_argument: Unit = None

    def __post_init__(self) -> None:
        """Raise where a setting has an invalid value."""
        check_choice(self.style, tuple(STYLES), "style")
        check_level(self.level)
        interval = choose_interval(self.interval, "difference")
        if self.margin is not None:
            tail_function(interval, "difference")
        if self.test is not None:
            check_choice(self.test, TESTS, "test")
        checked_procedure(self.adjust, "adjust")
        check_count(self.n_replicates, "n_replicates")
        for file in self.inputs:
            if not Path(file).is_file():
                raise InputFileError(Setting("inputs"), f" names {file}, which is no file", path=Path(file))
        if not isinstance(self.title, str) or not self.title.isprintable():
            raise SalstatsError(
                Setting("title"), f" must be a line of text, not {self.title!r}", value=self.title
            )
        if not isinstance(self.seed, int):
            raise SalstatsError(
                Setting("rng"),
                f" must be an int, not {self.seed!r}",
                hint="a report takes a seed, so that it can be made again",
                option="rng",
                value=self.seed,
            )

    @property
    def labels_with_reference_first(self) -> dict[str, Any]:
        """Labels as the user gave them, with the reference before the other methods."""
        options: dict[str, Any] = {}
        if self.reference is not None:
            options["method"] = [self.reference]
        return options | dict(self.labels or {})


def resolve_scores_and_settings(scores: pd.DataFrame, settings: Settings) -> tuple[pd.DataFrame, Settings]:
    """Return the rows of a report, and its settings with reference, unit and covariates filled in.

    Raises
    ------
    ColumnError, SalstatsError
        The scores cannot be reported on, or a setting does not fit them.
    """
    # warnings of doubtful scores are given once, with those of the analyses
    scores = _selected_rows(coded_scores_without_warnings(scores).frame, settings.only or {})
    _check_defined_one_dataset_model_and_unit(scores)
    if settings.margin is not None:
        margin_bounds(settings.margin, scores["metric"].unique())
    reference = _reference_or_human_if_present(scores, settings.reference)
    unit: Unit = settings.unit or None
    if settings.unit and settings.unit not in scores.columns:
        unit = settings.unit.split(", ")
    units = resolve_unit(ColumnCodes(scores), unit)
    if units.n < 2:
        raise SalstatsError(
            f"there is one {units.name} only, so nothing can be said of others; a report needs two or more"
        )
    unweighted_scores = scores
    if isinstance(settings.weights, str):
        # a column of weights is not a covariate; the weights "unit" are not a column
        unweighted_scores = scores.drop(columns=settings.weights, errors="ignore")
    covariates = _resolve_covariates(unweighted_scores, settings.covariates)
    unit_argument = unit
    if units.name not in scores.columns or units.n_alone:
        # units of several columns, of the names of cases, or that some cases lack, get a column
        scores = scores.assign(**{units.name: units.codes})
    else:
        unit_argument = units.name
    resolved = replace(
        settings,
        reference=reference,
        unit=units.name,
        unit_argument=unit_argument,
        covariates=covariates,
    )
    return scores, resolved


def _selected_rows(scores: pd.DataFrame, value_by_column: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows with the given value of each column; raise where no row has one."""
    for column, value in value_by_column.items():
        check_columns(scores, [column])
        is_selected = scores[column].astype(TEXT) == str(value)
        if not is_selected.any():
            choices = sorted(scores[column].dropna().astype(TEXT).unique())
            raise SalstatsError(
                f"no row has {value!r} in column {column!r}; it has {quoted(choices[:_MAX_QUOTED])}",
                option="only",
                value=value,
                choices=choices,
                column=column,
            )
        scores = scores[is_selected]
    return scores.reset_index(drop=True)


def _reference_or_human_if_present(scores: pd.DataFrame, reference: str | None) -> str | None:
    """Return the method that others are compared with: the named one, else `human` beside others."""
    methods = set(scores["method"].astype(TEXT))
    if reference is not None and reference not in methods:
        raise SalstatsError(
            Setting("reference", reference),
            f" is none of the methods {quoted(sorted(methods))}",
            choices=sorted(methods),
        )
    if reference is None and HUMAN in methods and len(methods) > 1:
        return HUMAN
    return reference


def _check_defined_one_dataset_model_and_unit(scores: pd.DataFrame) -> None:
    """Raise where no score is defined, or where means would mix different populations or units.

    Scores must be of one data set and model, and those of a metric in one distance unit; no task may be named
    "Overall" or "Average".
    """
    for column in _SINGLE_VALUE_COLUMNS:
        if has_several_values(scores, column):
            values = sorted(scores[column].dropna().astype(TEXT).unique())
            raise SalstatsError(
                f"column {column!r} has {len(values)} values ({quoted(values[:3])}); a report is on one of "
                "them at a time",
                hint=Message("pass ", Setting("only", {column: values[0]})),
                option="only",
                choices=values,
                column=column,
            )
    if not scores["score"].notna().any():
        raise SalstatsError(
            f"none of the {len(scores)} scores is defined, so there is nothing to report", column="score"
        )
    for name in SUMMARY_LABELS:
        if "task" in scores.columns and (scores["task"] == name).any():
            raise ColumnError(
                f"column 'task' holds {name!r}, the name of a report's rows over all tasks",
                hint="rename it, or leave these rows out",
                column="task",
                rows=np.flatnonzero(scores["task"] == name).tolist(),
            )
    if "distance_unit" in scores.columns:
        for metric, rows in scores.dropna(subset="distance_unit").groupby("metric"):
            distance_units = sorted(rows["distance_unit"].unique())
            if len(distance_units) > 1:
                raise SalstatsError(
                    f"scores of {metric!r} are in {joined(distance_units)}, and a mean over both means "
                    "nothing",
                    hint="score all cases in one unit, or keep the rows of one",
                    column="distance_unit",
                )


def _resolve_covariates(scores: pd.DataFrame, covariates: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the named covariates, else all numeric columns that vary and are no key and no score."""
    if covariates is None:
        return _numeric_case_covariates(scores)
    columns = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    check_columns(scores, columns)
    for column in columns:
        problem = ""
        if column in _NOT_COVARIATES:
            problem = f"column {column!r} is no covariate of a report; leave it out"
        elif not pd.api.types.is_numeric_dtype(scores[column]):
            problem = f"covariate {column!r} is not numeric; a report takes numeric covariates"
        elif not has_several_values(scores, column):
            problem = f"covariate {column!r} does not vary, so no score can go with it; leave it out"
        if problem:
            raise ColumnError(problem, option="covariates", value=column, column=column)
    return columns


def _numeric_case_covariates(scores: pd.DataFrame) -> tuple[str, ...]:
    """Return the numeric columns that vary between cases and tasks, and are no key and no score."""
    keys = [column for column in ("case", "task") if column in scores.columns]
    rows_of_case = scores.groupby(keys, observed=True)
    numeric = scores.select_dtypes("number").columns
    covariates = []
    for column in numeric.difference([*_NOT_COVARIATES, *_COVARIATES_BY_NAME], sort=False):
        values = scores[column].to_numpy(dtype=float, na_value=np.nan)
        if is_label_column_of_three_or_more(column, values) or not has_several_values(scores, column):
            continue
        # a column that varies within a case and task, such as a row number, describes neither
        if rows_of_case[column].nunique().max() <= 1:
            covariates.append(column)
    return tuple(covariates)


def text_covariates(scores: pd.DataFrame) -> list[str]:
    """Return the columns of text or of bool with 2 to `_MAX_LEVELS` levels that are no key and no score."""
    columns = []
    for column in scores.select_dtypes(exclude=["number", "datetime"]).columns:
        is_covariate = column not in (*_NOT_COVARIATES, *_COVARIATES_BY_NAME)
        if is_covariate and 1 < scores[column].nunique() <= _MAX_LEVELS:
            columns.append(column)
    return columns


def warn_of_covariates_read_as_text(scores: pd.DataFrame) -> None:
    """Warn of columns of text most of whose cells are numbers, as a column of text has no slope."""
    for column in scores.select_dtypes(exclude=["number", "datetime", "bool"]).columns:
        if column in (*_NOT_COVARIATES, *_COVARIATES_BY_NAME):
            continue
        texts = scores[column].dropna().astype(TEXT)
        is_number = pd.to_numeric(texts, errors="coerce").notna()
        if 0.5 <= is_number.mean() < 1:
            first = texts[~is_number].iloc[0]
            warn(
                f"column {column!r} is text, as its cell {first!r}, and has no slope, though "
                f"{is_number.sum()} of {len(texts)} cells are numbers",
                hint=Message(
                    "name the cells that stand for missing with ", Setting("na"), " when it is read"
                ),
                column=column,
                value=first,
            )


def has_several_values(scores: pd.DataFrame, column: str) -> bool:
    """Return whether scores have a column with more than one value."""
    return column in scores.columns and scores[column].nunique() > 1

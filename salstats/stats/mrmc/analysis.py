"""Options of `mrmc` and its companions, and the analysis of each group of scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import as_generator, check_choice, check_count, quoted
from salstats.errors import Message, SalstatsError, Setting, ValueRangeError, warn
from salstats.stats.engine.grouping import (
    check_one_metric,
    code_scores,
    group_label,
    joined_group_labels,
    row_groups,
)
from salstats.stats.engine.resampling_units import Unit, resolve_unit
from salstats.stats.mrmc import covariances, figures_of_merit
from salstats.stats.mrmc.anova import (
    ANALYSES,
    Analysis,
    AnovaTable,
    anova_table,
    are_readers_and_cases_random,
)
from salstats.stats.mrmc.designs import (
    UNBALANCED,
    CodedReadings,
    ReaderStudy,
    checked_reader_study_of_group,
    checked_scores_with_readers,
    code_readings,
)

_DEFAULT_BY = ("metric", "task")


@dataclass(frozen=True)
class MrmcOptions:
    """Options of the analysis of every group of scores."""

    figure: figures_of_merit.FigureOfMerit
    label: str | None
    covariance: covariances.CovarianceEstimator
    bootstrap: covariances.BootstrapOptions
    analysis: Analysis


@dataclass(frozen=True)
class GroupFigures:
    """Figures of the readers of one group of scores."""

    study: ReaderStudy
    #: (n_cells,): Figure of each cell, a reader with a method.
    values: np.ndarray
    #: (n_cells, n_cells): Covariance of the figures over the cases.
    covariance: np.ndarray

    @property
    def anova(self) -> AnovaTable:
        """Analysis of variance of all cells."""
        readings = self.study.readings
        return anova_table(self.values, self.covariance, readings.methods, readings.readers)

    def reader_anova_of_method(self, method: int) -> AnovaTable:
        """Return the analysis of variance of the cells of one method."""
        readings = self.study.readings
        cells = readings.methods == method
        readers = np.unique(readings.readers[cells], return_inverse=True)[1]
        covariance = self.covariance[np.ix_(cells, cells)]
        return anova_table(self.values[cells], covariance, np.zeros_like(readers), readers)

    def n_units_with_any_method(self, methods: Sequence[int]) -> int:
        """Return the number of units that have a reading with any of some methods."""
        readings = self.study.readings
        cells = np.isin(readings.methods, methods)
        has_reading = readings.is_read[:, cells].any(axis=1)
        return len(np.unique(readings.units[has_reading]))


def checked_mrmc_options(
    figure: str,
    label: str | None,
    covariance: str,
    readers: str,
    cases: str,
    n_replicates: int,
    rng: int | np.random.Generator,
) -> MrmcOptions:
    """Return options as records, checked against each other.

    `readers` and `cases` are "random" or "fixed".
    """
    figure_record = figures_of_merit.BY_NAME[check_choice(figure, figures_of_merit.FIGURES, "figure")]
    if figure_record.needs_label and label is None:
        raise SalstatsError(
            Setting("figure", figure),
            " needs ",
            Setting("label"),
            ", the column of the truth of each case (0 or 1)",
        )
    if label is not None and not figure_record.needs_label:
        raise SalstatsError(
            Setting("figure", figure),
            " takes no ",
            Setting("label"),
            hint=Message("ratings of a truth need ", Setting("figure", "auc")),
        )
    suitable = [record.name for record in covariances.RECORDS if figure in record.figures]
    if covariance in covariances.BY_NAME and covariance not in suitable:
        raise ValueRangeError(
            Setting("covariance", covariance),
            " is for ",
            Setting("figure", "auc"),
            hint="for means use 'jackknife', which is unbiased",
            choices=suitable,
        )
    covariance_record = covariances.BY_NAME[check_choice(covariance, suitable, "covariance")]
    bootstrap = covariances.BootstrapOptions(check_count(n_replicates, "n_replicates", 2), as_generator(rng))
    analysis = ANALYSES[are_readers_and_cases_random(readers, cases)]
    return MrmcOptions(figure_record, label, covariance_record, bootstrap, analysis)


class FiguresOfGroups(NamedTuple):
    """Figures of readers by group.

    Attributes
    ----------
    keys : DataFrame
        Grouping columns, a row for each group.
    unit_name : str
        Name of the unit.
    groups : iterator of GroupFigures
        Figures of each group; after the last one warnings about the groups are given.
    """

    keys: pd.DataFrame
    unit_name: str
    groups: Iterator[GroupFigures]


def figures_of_groups(
    scores: pd.DataFrame, by: str | Sequence[str] | None, unit: Unit, options: MrmcOptions
) -> FiguresOfGroups:
    """Return the figures of the readers of each group of scores, which are checked."""
    codes, columns = code_scores(
        checked_scores_with_readers(scores), by, _DEFAULT_BY, excluded_column="method"
    )
    check_one_metric(codes, columns)
    units = resolve_unit(codes, unit)
    keys, groups = row_groups(codes, columns)
    readings = code_readings(codes, columns, units, options.label)
    return FiguresOfGroups(
        keys, units.name, _figures_and_covariance_of_groups(readings, keys, groups, options)
    )


def _figures_and_covariance_of_groups(
    all_readings: CodedReadings,
    keys: pd.DataFrame,
    rows_of_groups: Sequence[NDArray[np.integer]],
    options: MrmcOptions,
) -> Iterator[GroupFigures]:
    """Yield the figures of each group; after the last one, warn about readings that are missing."""
    incomplete = []
    numbers_incomplete = []
    different_cases = []
    numbers_shared = []
    left_out = []
    names_left_out = []
    for group, rows in enumerate(rows_of_groups):
        study = checked_reader_study_of_group(all_readings, rows, options.figure)
        readings = study.readings
        if study.undefined_methods or study.undefined_readers:
            names = study.undefined_methods + study.undefined_readers
            left_out.append(Message(group_label(keys, group), f": {quoted(names)}"))
            names_left_out.extend(names)
        if study.design.startswith(UNBALANCED):
            n_incomplete = np.count_nonzero(~readings.is_read.all(axis=1))
            incomplete.append(
                Message(group_label(keys, group), f": {n_incomplete} of {len(readings.is_read)}")
            )
            numbers_incomplete.append(n_incomplete)
        elif study.methods_have_different_cases:
            different_cases.append(
                Message(group_label(keys, group), f": {study.n_shared} of {study.n_any} shared")
            )
            numbers_shared.append(study.n_shared)
        units_repeat = len(np.unique(readings.units)) < len(readings.units)
        if units_repeat and not options.covariance.clustered:
            raise SalstatsError(
                Setting("covariance", options.covariance.name),
                f" treats cases as independent, and a {all_readings.units.name} has several",
                hint="use 'delong' or 'jackknife'",
            )
        values = options.figure.jackknifed_figures(readings).figures
        covariance = options.covariance.kernel(readings, options.figure, options.bootstrap)
        yield GroupFigures(study, values, covariance)
    if left_out:
        warn(
            "methods or readers without any defined score are left out (",
            joined_group_labels(left_out),
            ")",
            column="score",
            value=names_left_out,
        )
    if incomplete:
        warn(
            "cases lack readings of some reader with some method (",
            joined_group_labels(incomplete),
            "), so figures come from different cases and are comparable only where readings are missing at "
            "random",
            hint="keep the cases that all have read to compare figures of the same ones",
            column="reader",
            value=numbers_incomplete,
        )
    if different_cases:
        warn(
            "methods have different cases (",
            joined_group_labels(different_cases),
            "), so a difference between methods may be one between cases, unless cases were assigned to "
            "methods at random",
            hint="keep the cases that all methods have, if there are any, to compare them on the same ones",
            column="method",
            value=numbers_shared,
        )

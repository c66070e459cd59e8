"""What `mrmc` and its companions ask of each group of scores, and what they find."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import (
    SalstatsError,
    ValueRangeError,
    check_choice,
    check_count,
    check_generator,
    warn,
)
from salstats.stats.engine.design import check_one_metric, coded_by, group_label, group_list, row_groups
from salstats.stats.engine.units import Unit, resolve_unit
from salstats.stats.mrmc import covariances, figures
from salstats.stats.mrmc.anova import ANALYSES, Analysis, Parts, parts_of, random_effects
from salstats.stats.mrmc.designs import UNBALANCED, Study, check_readers, rows_of, study_of

_BY = ("metric", "task")


@dataclass(frozen=True)
class Asked:
    """What is asked of every group of scores."""

    figure: figures.Figure
    label: str | None
    covariance: covariances.Covariance
    drawing: covariances.Drawing
    analysis: Analysis


@dataclass(frozen=True)
class Found:
    """A group of scores with its figures, their covariances, and the parts of these."""

    study: Study
    values: np.ndarray
    covariance: np.ndarray

    @property
    def parts(self) -> Parts:
        """Parts of all cells."""
        r = self.study.readings
        return parts_of(self.values, self.covariance, r.methods, r.readers)

    def parts_of_method(self, method: int) -> Parts:
        """Parts of the cells of one method."""
        r = self.study.readings
        own = r.methods == method
        readers = np.unique(r.readers[own], return_inverse=True)[1]
        return parts_of(self.values[own], self.covariance[np.ix_(own, own)], np.zeros_like(readers), readers)

    def n_units(self, methods: Sequence[int]) -> int:
        """How many units have a reading with any of some methods."""
        r = self.study.readings
        return len(np.unique(r.units[r.read[:, np.isin(r.methods, methods)].any(axis=1)]))


def asked_of(
    figure: str,
    label: str | None,
    covariance: str,
    effects: tuple[str, str],
    n_replicates: int,
    rng: int | np.random.Generator,
) -> Asked:
    """Options as records, checked to go together."""
    of_what = figures.BY_NAME[check_choice(figure, figures.FIGURES, "figure")]
    if of_what.needs_label != (label is not None):
        names = {
            True: "needs label=, the column of the truth of each case (0 or 1)",
            False: "takes no label=; ratings for a truth are of figure='auc'",
        }
        raise SalstatsError(f"figure={figure!r} {names[of_what.needs_label]}")
    known = [record.name for record in covariances.RECORDS if figure in record.of]
    if covariance in covariances.BY_NAME and covariance not in known:
        raise ValueRangeError(
            f"covariance={covariance!r} is for figure='auc'; of means take 'jackknife', which is unbiased"
        )
    how = covariances.BY_NAME[check_choice(covariance, known, "covariance")]
    drawing = covariances.Drawing(check_count(n_replicates, "n_replicates", 2), check_generator(rng))
    return Asked(of_what, label, how, drawing, ANALYSES[random_effects(*effects)])


def studies_of(
    scores: pd.DataFrame, by: str | Sequence[str] | None, unit: Unit, asked: Asked
) -> tuple[pd.DataFrame, str, Iterator[Found]]:
    """Grouping columns of each group, the unit, and what is found of each group."""
    codes, columns = coded_by(check_readers(scores), by, _BY, without="method")
    check_one_metric(codes, columns)
    units = resolve_unit(codes, unit)
    keys, groups = row_groups(codes, columns)
    every = rows_of(codes, columns, units, asked.label)

    def found() -> Iterator[Found]:
        lacking, apart = [], []
        for group, rows in enumerate(groups):
            study = study_of(every, rows, asked.figure)
            r = study.readings
            if study.design.startswith(UNBALANCED):
                n = np.count_nonzero(~r.read.all(axis=1))
                lacking.append(f"{group_label(keys, group)}: {n} of {len(r.read)}")
            elif study.different_cases:
                apart.append(f"{group_label(keys, group)}: {study.n_shared} of {study.n_any} shared")
            if not asked.covariance.clustered and len(np.unique(r.units)) < len(r.units):
                raise SalstatsError(
                    f"covariance={asked.covariance.name!r} takes cases for independent, and a {units.name} "
                    "has several; take 'delong' or 'jackknife'"
                )
            values = asked.figure.without(r)[0]
            yield Found(study, values, asked.covariance.kernel(r, asked.figure, asked.drawing))
        if lacking:
            warn(
                f"cases lack readings of some reader with some method ({group_list(lacking)}), so figures "
                "are of different cases, which compare fairly only where readings are missing by chance; "
                "keep the cases that all have read to compare figures of the same ones"
            )
        if apart:
            warn(
                f"methods have different cases ({group_list(apart)}), so a difference of methods is one of "
                "cases too, unless cases were assigned to methods by chance; keep the cases that all methods "
                "have, if there are any, to compare them on the same ones"
            )

    return keys, units.name, found()

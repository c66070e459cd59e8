"""Fitted models, one for each formula and group, and the columns of results that they have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.errors import ColumnError, Message, Setting
from salstats.frames import integer_column
from salstats.stats.engine.cautions import (
    DIFFERENT_CASES,
    FEW_UNITS,
    POOLED_METRICS,
    POOLED_TASKS,
    caution_column_if_any,
)
from salstats.stats.engine.few_units import has_few_effective_units
from salstats.stats.engine.fixed_factors import (
    FACTORS,
    NOUN_OF_COLUMN,
    FixedFactor,
    fixed_factors_column_if_any,
    is_row_of_fixed_factor,
)
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.models.design import DesignMatrix, Variable
from salstats.stats.models.family import Family, Solution
from salstats.stats.models.formulas import Formula
from salstats.stats.models.model_notes import Notes


@dataclass(frozen=True)
class Model:
    """One fitted model."""

    formula: Formula
    #: The model frame, with the rows of all groups.
    frame: pd.DataFrame
    #: The columns of the frame that the formula names.
    variables: dict[str, Variable]
    #: Values of the grouping columns.
    key: tuple[object, ...]
    #: Formula and group, for messages.
    label: Message
    #: Positions in the frame of the rows that the model is fitted to.
    rows: NDArray[np.integer]
    #: Model matrix of these rows.
    design: DesignMatrix
    #: Number of rows of the group that are left out because a variable is missing.
    n_missing: int
    #: Number of rows of the group whose outcome is missing because the finding is absent.
    n_absent: int
    family: Family
    #: Kind of standard errors, `StandardErrorKind.name`.
    errors: str
    #: None if there are no estimates.
    solution: Solution | None
    #: Codes 0 ... G - 1 of the clusters of `rows`; None where rows are independent.
    clusters: NDArray[np.integer] | None
    #: Number of cases that all compared methods have; None with a single method, or the same cases for all.
    n_shared: int | None = None
    #: True if the cases of the methods differ so much that a comparison may mislead.
    different_cases: bool = False
    #: True if rows of several tasks, data sets or models are pooled because `by` was not given.
    tasks_pooled: bool = False
    #: True if rows of several metrics are pooled.
    metrics_pooled: bool = False

    @property
    def coefficient_names(self) -> list[str]:
        """Names of the estimated coefficients, such as "size", or "zero: size" in models of several parts."""
        assert self.solution is not None
        names = [self.design.names[i] for i in self.solution.column_positions]
        terms = []
        for part in self.solution.predictor_names:
            prefix = f"{part}: " if part else ""
            terms += [f"{prefix}{name}" for name in names]
        return terms

    @property
    def n_units(self) -> int:
        """Number of clusters of the model's rows."""
        if self.clusters is None or not len(self.clusters):
            return 0
        return int(self.clusters.max()) + 1


@dataclass(frozen=True, repr=False, eq=False)
class Fitted:
    """Fitted models in order of formula, then group, with their options."""

    models: tuple[Model, ...]
    #: Grouping columns.
    by: tuple[str, ...]
    family: Family
    #: Kind of standard errors of all models, given or by default.
    errors: str
    #: Column of the clusters; None unless errors are clustered.
    unit: Unit
    reference: str | None
    overall: bool
    #: Working correlation of the rows of a unit; None if they are independent.
    correlation: str | None
    #: True if mixed models were fitted by the restricted likelihood; None for other models.
    reml: bool | None
    #: Columns of the data with values from 0 to 1, as `normalize` makes them.
    normalized: frozenset[str]
    #: Problems that concern inference, not estimates: rows of one unit treated as independent, reference
    #: levels that differ between groups, methods with different cases.
    inference_notes: Notes
    #: Column of the sampling weights, or "unit"; None without weights.
    weights: str | None = None
    #: Name of the method `human` in figures and tables; None unless the data give exactly one.
    human_label: str | None = None

    @property
    def is_mixed(self) -> bool:
        """True if the models have random effects."""
        return self.reml is not None


def key_columns(fitted: Fitted, repeats: Sequence[int] | None = None) -> pd.DataFrame:
    """Return the first columns of a result (by, reference, formula), with `repeats` rows for each model."""
    models = fitted.models
    by = fitted.by
    if "formula" in by or "reference" in by:
        raise ColumnError(
            "'formula' and 'reference' are columns of the result",
            hint=Message("rename those in ", Setting("by")),
            option="by",
        )
    columns = {}
    for position, column in enumerate(by):
        columns[column] = pd.Series([model.key[position] for model in models])
    keys = pd.DataFrame(columns, index=range(len(models)))
    for column in by:
        data_column = models[0].frame[column]
        if isinstance(data_column.dtype, pd.CategoricalDtype):
            # The data have no category "Overall", which the models may have.
            categories = list(dict.fromkeys([*data_column.cat.categories, *keys[column]]))
            keys[column] = pd.Categorical(keys[column], categories, ordered=True)
    if fitted.reference is not None:
        keys["reference"] = fitted.reference
    keys["formula"] = [model.formula.text for model in models]
    n_rows = 1 if repeats is None else repeats
    repeated = np.repeat(keys.index, n_rows)
    return keys.loc[repeated].reset_index(drop=True)


def family_and_error_columns(fitted: Fitted) -> dict[str, Any]:
    """Return the columns `family` and `errors` of a result, and `correlation` and `human_label` if known."""
    options: dict[str, Any] = {"family": fitted.family.name, "errors": fitted.errors}
    if fitted.correlation is not None:
        options["correlation"] = fitted.correlation
    if fitted.human_label is not None:
        options["human_label"] = fitted.human_label
    return options


def count_and_caution_columns(fitted: Fitted, repeats: Sequence[int] | None = None) -> dict[str, Any]:
    """Return the columns of a result that count rows, units and cases of its models, with cautions.

    Each model has `repeats` rows of the result, by default one. Units are counted if errors are clustered.
    """
    models = fitted.models
    n_rows = 1 if repeats is None else repeats
    columns: dict[str, Any] = {"n_missing": np.repeat([model.n_missing for model in models], n_rows)}
    n_absent = [model.n_absent for model in models]
    if any(n_absent):
        columns["n_absent"] = np.repeat(n_absent, n_rows)
    if fitted.unit is not None:
        columns["n_units"] = np.repeat([model.n_units for model in models], n_rows)
    columns["n"] = np.repeat([len(model.rows) for model in models], n_rows)

    is_fixed = {noun: np.zeros(len(models), dtype=bool) for noun in NOUN_OF_COLUMN.values()}
    for factor in FACTORS:
        is_fixed[factor.noun] |= [
            _takes_several_readers_or_trainings_as_fixed(model, factor) for model in models
        ]
    columns |= fixed_factors_column_if_any(
        {noun: np.repeat(fixed, n_rows) for noun, fixed in is_fixed.items()}
    )
    if fitted.weights is not None:
        columns["weights"] = fitted.weights
    if any(model.n_shared is not None for model in models):
        columns["n_shared"] = integer_column(model.n_shared for model in models).repeat(n_rows)
    different_cases = [model.different_cases for model in models]
    tasks_pooled = [model.tasks_pooled for model in models]
    metrics_pooled = [model.metrics_pooled for model in models]
    few_units = [_has_few_units(model) for model in models]
    columns |= caution_column_if_any(
        {
            FEW_UNITS: np.repeat(few_units, n_rows),
            DIFFERENT_CASES: np.repeat(different_cases, n_rows),
            POOLED_TASKS: np.repeat(tasks_pooled, n_rows),
            POOLED_METRICS: np.repeat(metrics_pooled, n_rows),
        }
    )
    if fitted.unit is not None:
        columns["unit"] = fitted.unit
    return columns


def _has_few_units(model: Model) -> bool:
    """Return True if errors are clustered by units that are worth fewer than four of equal size."""
    if model.clusters is None or model.solution is None:
        return False
    return bool(has_few_effective_units(np.bincount(model.clusters)))


def _takes_several_readers_or_trainings_as_fixed(model: Model, factor: FixedFactor) -> bool:
    """Return True if a model has several readers (or trainings), and takes them for fixed.

    They are random if the formula has a random effect of them, or if rows are clustered and each reader
    belongs to one cluster; pairs of readers are always fixed. Trainings count as several only within the
    methods, tasks and models that the formula compares (`is_row_of_fixed_factor`).
    """
    # A training may be named by its seed, or by model and seed.
    noun_columns = {column for column, noun in NOUN_OF_COLUMN.items() if noun == factor.noun}
    for effect in model.formula.random:
        if factor.column in effect.groups and noun_columns.issuperset(effect.groups):
            return False
    rows = model.frame.take(model.rows)
    compared = [
        column
        for column in ("method", "task", "model")
        if column in rows.columns and column in model.formula.columns
    ]
    return bool(is_row_of_fixed_factor(rows, factor, model.clusters, compared).any())

"""One model per formula and group: options checked, rows chosen, fitted, and what went wrong said once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from salstats.checks import (
    ColumnError,
    SalstatsError,
    ValueRangeError,
    check_choice,
    check_frame,
    quoted,
    warn,
)
from salstats.frames import SCORES_COLUMNS, ColumnCodes, case_key, coded_scores, combined_codes
from salstats.stats.carried import is_absent
from salstats.stats.design import Units, resolve_unit, row_groups, warn_pooled_methods, warn_unnamed_units
from salstats.stats.models.covariance import CLUSTERED
from salstats.stats.models.design import Design, Variable, build_design, complete_rows, read_variable
from salstats.stats.models.families import FAMILIES, family_of, fit_model
from salstats.stats.models.family import Family, NotEstimableError, Solution
from salstats.stats.models.formulas import Formula, parse_formula
from salstats.stats.models.model_frame import grouping_columns, model_frame

Notes = dict[str, list[str]]
"""What went wrong: the kind, and the models (or why) of each."""

#: What `errors=` may be.
ERRORS = tuple(dict.fromkeys(("classical", *(e for family in FAMILIES.values() for e in family.errors))))
_SHOWN = 5


@dataclass(frozen=True)
class ModelOptions:
    """What to fit, checked.

    Attributes
    ----------
    by : tuple of str
        Grouping columns.
    family : Family
        The family.
    errors : str
        The errors, also where none were asked for.
    unit : str or None
        Column of the clusters; None unless errors are clustered.
    reference : str or None
        Method that the others' gap is taken to.
    overall : bool
        Whether there are models pooled over tasks.
    """

    by: tuple[str, ...]
    family: Family
    errors: str
    unit: str | None
    reference: str | None
    overall: bool


@dataclass(frozen=True)
class Model:
    """One fitted model.

    Attributes
    ----------
    formula : Formula
        What was fitted.
    frame : DataFrame
        The model frame that the rows are positions in.
    variables : dict of str to Variable
        Its columns that the formula names.
    key : tuple
        Values of the grouping columns.
    label : str
        Formula and group, for messages.
    design : Design
        Model matrix of the rows used.
    rows : ndarray of int
        The rows used.
    n_missing : int
        Rows of the group that were left out.
    n_absent : int
        Those of them without an outcome since the finding is absent.
    solution : Solution or None
        None where there are no estimates.
    clusters : ndarray of int or None
        Codes 0 ... G - 1 of the rows used.
    """

    formula: Formula
    frame: pd.DataFrame
    variables: dict[str, Variable]
    key: tuple[object, ...]
    label: str
    design: Design
    rows: np.ndarray
    n_missing: int
    n_absent: int
    solution: Solution | None
    clusters: np.ndarray | None

    @property
    def n_units(self) -> int:
        """Number of clusters among the rows used."""
        return 0 if self.clusters is None or not len(self.clusters) else int(self.clusters.max()) + 1


@dataclass(frozen=True, repr=False, eq=False)
class Fitted:
    """Models with the options they were fitted by.

    Attributes
    ----------
    models : tuple of Model
        In order of formula, then group.
    options : ModelOptions
        What was asked for.
    normalized : frozenset of str
        Columns of the data that run from 0 to 1, as `normalize` makes them.
    doubts : dict
        What to warn of where something is inferred: rows that repeat a unit under errors that are not
        clustered, and reference levels that differ between groups.
    """

    models: tuple[Model, ...]
    options: ModelOptions
    normalized: frozenset[str]
    doubts: Notes


def fit_models(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    errors: str | None = None,
    unit: str | None = None,
    reference: str | None = None,
    overall: bool = False,
) -> Fitted:
    """The models of a formula, or of several, in every group; see `fit`."""
    check_frame(data, "data")
    if set(SCORES_COLUMNS) <= set(data.columns):
        coded_scores(data, "data")
    texts = [formula] if isinstance(formula, str) or not isinstance(formula, Sequence) else list(formula)
    if not texts:
        raise ValueRangeError("formula is an empty list; give at least one, such as 'iou ~ area_ratio'")
    formulas = [parse_formula(text) for text in texts]
    kind = family_of(family)
    used = _check_errors(kind, errors, unit)
    options = ModelOptions(tuple(grouping_columns(data, formulas, by)), kind, used, unit, reference, overall)
    models: list[Model] = []
    notes: Notes = {}
    doubts: Notes = {}
    is_scores = set(SCORES_COLUMNS) <= set(data.columns)
    for one in formulas:
        frame = model_frame(data, one, reference)
        _note_mixed_metrics(frame, one, options, notes)
        warn_pooled_methods(frame, [*options.by, *one.columns])
        units = repeated = None
        named = [c for c in ("patient", "case") if c in frame.columns and not frame[c].isna().any()]
        if used in CLUSTERED:
            units = resolve_unit(ColumnCodes(frame), unit, "data")
        elif named[:1] == ["patient"]:
            repeated = resolve_unit(
                ColumnCodes(frame), None if "case" in frame.columns else "patient", "data"
            )
        elif named:
            cases = combined_codes(frame, case_key(frame))
            repeated = Units("case", cases, int(cases.max()) + 1)
        else:
            warn_unnamed_units(frame)
        options = replace(options, unit=None if units is None else units.name)
        variables = {column: read_variable(frame, column) for column in one.columns}
        # in any other table a label or a reason says nothing of findings
        absent = is_absent(frame.assign(score=frame[one.columns[0]])) & is_scores
        keys, groups = row_groups(ColumnCodes(frame), options.by, overall=overall)
        of_formula = []
        for group, inside in enumerate(groups):
            key = tuple(keys.iloc[group])
            label = ", ".join([one.text, *(f"{c} {v}" for c, v in zip(options.by, key, strict=True))])
            rows = complete_rows(one, variables, np.sort(inside))
            try:
                design = build_design(one, variables, rows)
            except SalstatsError as error:
                raise type(error)(f"{label}: {error}") from None
            solution = _solved(design, options.family, label, notes)
            clusters = None if units is None else np.unique(units.codes[rows], return_inverse=True)[1]
            if repeated is not None:
                _note_repeats(repeated, rows, label, doubts)
            missing = len(inside) - len(rows), int(absent[inside].sum())
            of_formula.append(
                Model(one, frame, variables, key, label, design, rows, *missing, solution, clusters)
            )
        models += of_formula
        _note_references(of_formula, doubts)
    warn_of(notes)
    floats = [c for c in data.columns if pd.api.types.is_float_dtype(data[c])]
    normalized = frozenset(str(c) for c in floats if _is_normalized(data[c]))
    return Fitted(tuple(models), options, normalized, doubts)


def _check_errors(family: Family, errors: str | None, unit: str | None) -> str:
    """The errors that are meant, which the family has and the unit goes with."""
    used = family.errors[0] if errors is None else errors
    check_choice(used, ERRORS, "errors")
    if used not in family.errors:
        others = quoted(f.name for f in FAMILIES.values() if used in f.errors)
        raise ValueRangeError(
            f"errors={used!r} is there for family={others}; with family={family.name!r} use one of "
            f"{quoted(family.errors)}"
        )
    if unit is not None and used not in CLUSTERED:
        raise ValueRangeError(f"unit={unit!r} does nothing with errors={used!r}; use errors='cluster'")
    return used


def _solved(design: Design, family: Family, label: str, notes: Notes) -> Solution | None:
    """The fit, or None with a note of why there is none."""
    wrong = family.check(design.response)
    if wrong:
        raise ValueRangeError(f"{label}: family={family.name!r} {wrong}")
    if design.single_level and len(design.response):
        notes.setdefault("a variable of one level, which is left out,", []).append(
            f"{label}: {', '.join(design.single_level)}"
        )
    intercept = design.formula.intercept
    try:
        solution = fit_model(design.matrix, design.response, design.names, family, intercept=intercept)
    except NotEstimableError as error:
        notes.setdefault("no estimates (NaN)", []).append(f"{label}: {error}")
        return None
    if solution.rank < len(design.names):
        aliased = [name for i, name in enumerate(design.names) if i not in set(solution.kept.tolist())]
        notes.setdefault("terms that depend on earlier ones (NaN, as in R)", []).append(
            f"{label}: {', '.join(aliased)}"
        )
    if np.isnan(solution.dispersion):
        notes.setdefault("a perfect fit, which leaves nothing to infer from,", []).append(label)
    return solution


def _note_references(models: Sequence[Model], notes: Notes) -> None:
    """Note the models of one formula whose terms are against another level than those of the others."""
    for factor in dict.fromkeys(name for model in models for name in model.design.references):
        against: dict[str, list[Model]] = {}
        for model in models:
            if model.solution is not None and factor in model.design.references:
                against.setdefault(model.design.references[factor], []).append(model)
        usual = max(against, key=lambda level: len(against[level]), default="")
        for level, others in against.items():
            for model in others if level != usual else ():
                notes.setdefault("a reference level that is not that of the other models", []).append(
                    f"{model.label}: {factor} against {level!r}, elsewhere against {usual!r}"
                )


def _note_mixed_metrics(frame: pd.DataFrame, formula: Formula, options: ModelOptions, notes: Notes) -> None:
    """Note a model whose rows are scores of several metrics."""
    if "metric" not in frame.columns or "metric" in options.by or "metric" in formula.columns:
        return
    metrics = [str(m) for m in pd.unique(frame["metric"].dropna())]
    if len(metrics) > 1:
        notes.setdefault(
            "rows of several metrics used together (name one, or add 'metric' to by)", []
        ).append(f"{formula.text}: {', '.join(metrics)}")


def _note_repeats(units: Units, rows: np.ndarray, label: str, notes: Notes) -> None:
    """Note a model whose rows repeat a unit."""
    n_units = len(np.unique(units.codes[rows]))
    if n_units < len(rows):
        notes.setdefault(
            "rows of one unit taken as independent (errors='cr2' or 'cluster' does not)", []
        ).append(f"{label}: {len(rows)} rows of {n_units} {units.name}s")


def _is_normalized(values: pd.Series) -> bool:
    """Whether numbers run from 0 to 1 and are no mere yes or no."""
    return bool(values.min() == 0 and values.max() == 1 and values.between(0, 1, inclusive="neither").any())


def warn_of(notes: Notes) -> None:
    """Warn once for each kind of note, with its first models."""
    for kind, found in notes.items():
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        models = f"{len(found)} model{'s' * (len(found) > 1)}"
        warn(f"{kind} in {models}: {'; '.join(found[:_SHOWN])}{more}")


def model_keys(fitted: Fitted, repeats: Sequence[int] | None = None) -> pd.DataFrame:
    """The columns in front of a result: by, reference, formula; each model's row `repeats` times."""
    models, by = fitted.models, fitted.options.by
    if "formula" in by or "reference" in by:
        raise ColumnError("'formula' and 'reference' are columns of the result; rename those in by")
    keys = pd.DataFrame(
        {c: pd.Series([m.key[i] for m in models]) for i, c in enumerate(by)}, index=range(len(models))
    )
    for column in by:
        known = models[0].frame[column]
        if isinstance(known.dtype, pd.CategoricalDtype):
            # "Overall" is none of the data's
            categories = list(dict.fromkeys([*known.cat.categories, *keys[column]]))
            keys[column] = pd.Categorical(keys[column], categories, ordered=True)
    if fitted.options.reference is not None:
        keys["reference"] = fitted.options.reference
    keys["formula"] = [m.formula.text for m in models]
    times = np.ones(len(models), dtype=int) if repeats is None else repeats
    return keys.loc[np.repeat(np.arange(len(models)), times)].reset_index(drop=True)


def model_counts(fitted: Fitted, repeats: Sequence[int] | None = None) -> dict[str, object]:
    """What is counted of each model; clusters only where errors are clustered."""
    models = fitted.models
    counted: dict[str, list[int]] = {
        "n": [len(m.rows) for m in models],
        "n_missing": [m.n_missing for m in models],
    }
    if any(m.n_absent for m in models):
        counted["n_absent"] = [m.n_absent for m in models]
    clustered = fitted.options.errors in CLUSTERED
    if clustered:
        counted["n_units"] = [m.n_units for m in models]
    times = np.ones(len(models), dtype=int) if repeats is None else repeats
    repeated: dict[str, object] = {name: np.repeat(values, times) for name, values in counted.items()}
    return repeated | ({"unit": fitted.options.unit} if clustered else {})

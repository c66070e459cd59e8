"""One model per formula and group: options checked, rows chosen, fitted, and what went wrong said once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, ValueRangeError, check_choice, warn
from salstats.frames import case_key, combined_codes
from salstats.stats.absent import is_absent
from salstats.stats.grouping import warn_pooled_methods
from salstats.stats.models.covariance import (
    CLUSTERED,
    ERRORS,
    bias_reduced,
    cluster_robust,
    heteroscedastic,
    unidentified,
    zero_variances,
)
from salstats.stats.models.design import Design, build_design, complete_rows, read_variable
from salstats.stats.models.fitting import FAMILIES, Fit, NotEstimableError, fit_model
from salstats.stats.models.formulas import Formula, parse_formula
from salstats.stats.models.model_frame import Group, check_data, grouping_columns, model_frame, split
from salstats.stats.units import Units, resolve_unit, warn_unnamed_units
from salstats.stats.wide import is_scores_frame

Notes = dict[str, list[str]]
"""What went wrong: the kind, and the models (or why) of each."""

_SHOWN = 5
#: Clusters per tested coefficient below which CR1 rejects too often.
_FEW_CLUSTERS = 20


@dataclass(frozen=True)
class ModelOptions:
    """What to fit, checked.

    Attributes
    ----------
    by : list of str
        Grouping columns.
    family, errors : str
        The family, and the errors that stand for `errors=None`.
    unit : str or None
        What was asked for; None unless errors are clustered.
    reference : str or None
        Method that the others' gap is taken to.
    overall : bool
        Add models pooled over tasks.
    """

    by: list[str]
    family: str
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
    fit : Fit or None
        None where there are no estimates.
    clusters : ndarray of int or None
        Codes 0 ... G - 1 of the rows used.
    """

    formula: Formula
    frame: pd.DataFrame
    key: tuple[object, ...]
    label: str
    design: Design
    rows: np.ndarray
    n_missing: int
    n_absent: int
    fit: Fit | None
    clusters: np.ndarray | None

    @property
    def n_units(self) -> int:
        """Number of clusters among the rows used."""
        return 0 if self.clusters is None or not len(self.clusters) else int(self.clusters.max()) + 1


def check_formulas(formula: str | Sequence[str]) -> list[Formula]:
    """Return one formula or several as a list, parsed and checked."""
    texts = [formula] if isinstance(formula, str) or not isinstance(formula, Sequence) else list(formula)
    if not texts:
        raise ValueRangeError("formula is an empty list; give at least one, such as 'iou ~ area_ratio'")
    return [parse_formula(text) for text in texts]


def check_options(
    data: pd.DataFrame,
    formulas: Sequence[Formula],
    *,
    by: str | Sequence[str] | None,
    family: str,
    errors: str | None,
    unit: str | None,
    reference: str | None,
    overall: bool,
) -> ModelOptions:
    """Return the options of a model, checked against each other."""
    check_choice(family, FAMILIES, "family")
    if errors is None:
        errors = "hc1" if family == "fractional" else "classical"
    check_choice(errors, ERRORS, "errors")
    if errors == "cr2" and family != "gaussian":
        raise ValueRangeError(
            f"errors='cr2' is there for family='gaussian'; with family={family!r} use errors='cluster'"
        )
    if unit is not None and errors not in CLUSTERED:
        raise ValueRangeError(f"unit={unit!r} does nothing with errors={errors!r}; use errors='cluster'")
    return ModelOptions(grouping_columns(data, formulas, by), family, errors, unit, reference, overall)


def fit_models(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    by: str | Sequence[str] | None,
    family: str,
    errors: str | None,
    unit: str | None,
    reference: str | None,
    overall: bool,
    inference: bool = True,
) -> tuple[list[Model], ModelOptions, str | None]:
    """Return the models in order of formula, then group, their options, and the name of the unit.

    With `inference`, rows that repeat a unit under errors that are not clustered, and reference levels that
    differ between groups, are warned of.
    """
    check_data(data)
    formulas = check_formulas(formula)
    options = check_options(
        data,
        formulas,
        by=by,
        family=family,
        errors=errors,
        unit=unit,
        reference=reference,
        overall=overall,
    )
    models: list[Model] = []
    notes: Notes = {}
    unit_name: str | None = None
    for one in formulas:
        frame = model_frame(data, one, reference)
        _note_mixed_metrics(frame, one, options, notes)
        warn_pooled_methods(frame, [*options.by, *one.columns])
        units = resolve_unit(frame, unit, "data") if options.errors in CLUSTERED else None
        unit_name = units.name if units is not None else None
        repeated = _default_units(frame) if inference and units is None else None
        variables = {column: read_variable(frame, column) for column in one.columns}
        # in any other table a label or a reason says nothing of findings
        absent = is_absent(frame.assign(score=frame[one.columns[0]])) & is_scores_frame(data)
        of_formula: list[Model] = []
        for group in split(frame, options.by, overall=overall):
            label = _label(one, options.by, group)
            rows = complete_rows(one, variables, np.sort(group.rows))
            try:
                design = build_design(one, variables, rows)
            except SalstatsError as error:
                raise type(error)(f"{label}: {error}") from None
            _check_outcome(design.response, options.family, label)
            fit = _fitted(one, design, options, label, notes)
            if repeated is not None:
                _note_repeats(repeated, rows, label, notes)
            clusters = None if units is None else np.unique(units.codes[rows], return_inverse=True)[1]
            n_missing, n_absent = len(group.rows) - len(rows), int(absent[group.rows].sum())
            models.append(
                Model(one, frame, group.key, label, design, rows, n_missing, n_absent, fit, clusters)
            )
            of_formula.append(models[-1])
        if inference:
            _note_references(of_formula, notes)
    warn_of(notes)
    return models, options, unit_name


def _label(formula: Formula, by: Sequence[str], group: Group) -> str:
    """Return 'iou ~ x, method gradcam, task Edema'."""
    return ", ".join([formula.text, *(f"{c} {v}" for c, v in zip(by, group.key, strict=True))])


def _check_outcome(response: np.ndarray, family: str, label: str) -> None:
    """Raise ValueRangeError where an outcome does not fit its family."""
    if family == "binomial" and not np.isin(response, (0, 1)).all():
        bad = response[~np.isin(response, (0, 1))][0]
        raise ValueRangeError(
            f"{label}: family='binomial' needs an outcome of 0 and 1, not {bad:g}; "
            "for scores in [0, 1] use family='fractional'"
        )
    if family == "fractional" and ((response < 0) | (response > 1)).any():
        bad = response[(response < 0) | (response > 1)][0]
        raise ValueRangeError(f"{label}: family='fractional' needs an outcome in [0, 1], not {bad:g}")


def _fitted(formula: Formula, design: Design, options: ModelOptions, label: str, notes: Notes) -> Fit | None:
    """Return the fit, or None with a note of why there is none."""
    if design.single_level and len(design.response):
        notes.setdefault("a variable of one level, which is left out,", []).append(
            f"{label}: {', '.join(design.single_level)}"
        )
    try:
        fit = fit_model(
            design.matrix, design.response, design.names, options.family, intercept=formula.intercept
        )
    except NotEstimableError as error:
        notes.setdefault("no estimates (NaN)", []).append(f"{label}: {error}")
        return None
    if fit.rank < len(design.names):
        aliased = [name for i, name in enumerate(design.names) if i not in set(fit.kept.tolist())]
        notes.setdefault("terms that depend on earlier ones (NaN, as in R)", []).append(
            f"{label}: {', '.join(aliased)}"
        )
    if np.isnan(fit.dispersion):
        notes.setdefault("a perfect fit, which leaves nothing to infer from,", []).append(label)
    return fit


def _note_references(models: Sequence[Model], notes: Notes) -> None:
    """Note the models of one formula whose terms are against another level than those of the others."""
    for factor in dict.fromkeys(name for model in models for name in model.design.references):
        against: dict[str, list[Model]] = {}
        for model in models:
            if model.fit is not None and factor in model.design.references:
                against.setdefault(model.design.references[factor], []).append(model)
        if len(against) < 2:
            continue
        usual = max(against, key=lambda level: len(against[level]))
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


def _default_units(frame: pd.DataFrame) -> Units | None:
    """Return the units that rows should not repeat if they are taken as independent, where known."""
    if "case" in frame.columns:
        if "patient" in frame.columns and not frame["patient"].isna().any():
            return resolve_unit(frame, None, "data")
        if not frame["case"].isna().any():
            codes = combined_codes(frame, case_key(frame))
            return Units("case", codes, int(codes.max()) + 1)
    elif "patient" in frame.columns and not frame["patient"].isna().any():
        return resolve_unit(frame, "patient", "data")
    warn_unnamed_units(frame)
    return None


def _note_repeats(units: Units, rows: np.ndarray, label: str, notes: Notes) -> None:
    """Note a model whose rows repeat a unit."""
    n_units = len(np.unique(units.codes[rows]))
    if n_units < len(rows):
        notes.setdefault(
            "rows of one unit taken as independent (errors='cr2' or 'cluster' does not)", []
        ).append(f"{label}: {len(rows)} rows of {n_units} {units.name}s")


def warn_of(notes: Notes) -> None:
    """Warn once for each kind of note, with its first models."""
    for kind, found in notes.items():
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        models = f"{len(found)} model{'s' * (len(found) > 1)}"
        message = f"{kind} in {models}: {'; '.join(found[:_SHOWN])}{more}"
        warn(message)


def covariance(
    model: Model, errors: str, notes: Notes, tested: Sequence[int] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariance of a fit's estimated coefficients and the degrees of freedom of each.

    Parameters
    ----------
    model : Model
        With a fit.
    errors : str
        One of ERRORS.
    notes : dict
        What cannot be estimated is added to it.
    tested : sequence of int, optional
        Positions of the coefficients that notes are about; by default all.

    Returns
    -------
    covariance : ndarray of float, shape (r, r)
        NaN where it is undefined.
    df : ndarray of float, shape (r,)
        Degrees of freedom of Student's t; infinite for the normal distribution.
    """
    fit = model.fit
    assert fit is not None
    residual_df = np.inf if fit.family == "binomial" else float(fit.n - fit.rank)
    df = np.full(fit.rank, residual_df)
    if np.isnan(fit.dispersion):
        return np.full_like(fit.bread, np.nan), df
    if errors == "classical":
        return fit.dispersion * fit.bread, df
    clusters = model.clusters if errors in CLUSTERED else None
    if errors not in CLUSTERED:
        values = heteroscedastic(fit.matrix, fit.residual, fit.bread, fit.leverage, errors)
    else:
        assert clusters is not None
        if errors == "cr2":
            values, df = bias_reduced(fit.matrix, fit.residual, fit.bread, clusters)
        else:
            values = cluster_robust(fit.matrix, fit.residual, fit.bread, clusters)
            df = np.full(fit.rank, model.n_units - 1 or np.nan)
        if model.n_units < 2:
            notes.setdefault(f"no {errors} errors (NaN), since there is a single cluster,", []).append(
                model.label
            )
            return values, df
    alone = unidentified(fit.matrix * np.sqrt(fit.weights)[:, None], fit.bread, clusters)
    zero = zero_variances(np.diag(values), fit.bread, fit.dispersion, float((fit.fitted**2).mean()))
    unknown = alone | zero
    values[unknown] = values[:, unknown] = np.nan
    if errors == "cr2":
        df[unknown] = np.nan
    _note_unknown(model, errors, alone, zero & ~alone, range(fit.rank) if tested is None else tested, notes)
    return values, df


def _note_unknown(
    model: Model, errors: str, alone: np.ndarray, zero: np.ndarray, tested: Sequence[int], notes: Notes
) -> None:
    """Note a model with those of its tested terms whose errors cannot be estimated, and why."""
    assert model.fit is not None
    one = "cluster" if errors in CLUSTERED else "row"
    kinds = {
        f"no {errors} errors (NaN), since one {one} determines a coefficient by itself,": alone,
        f"no {errors} errors (NaN), since they would be zero but for rounding,": zero,
    }
    for kind, which in kinds.items():
        names = [model.design.names[model.fit.kept[i]] for i in tested if which[i]]
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            notes.setdefault(kind, []).append(f"{model.label}: {', '.join(names[:_SHOWN])}{more}")


def note_few_clusters(model: Model, n_tested: int, notes: Notes) -> None:
    """Note a model with so few clusters that CR1 rejects too often."""
    if model.n_units >= _FEW_CLUSTERS * n_tested:
        return
    gaussian = model.fit is not None and model.fit.family == "gaussian"
    better = (
        "errors='cr2' is made for them" if gaussian else "errors='cr2' of a linear model is made for them"
    )
    together = "" if n_tested == 1 else f" for {n_tested} coefficients"
    notes.setdefault(
        f"few clusters, with which errors='cluster' gives p-values that are too small ({better}),", []
    ).append(f"{model.label}: {model.n_units} clusters{together}")


def model_keys(models: Sequence[Model], options: ModelOptions, repeats: Sequence[int]) -> pd.DataFrame:
    """Return the columns in front of a result: by, reference, formula; each model's row `repeats` times."""
    if "formula" in options.by or "reference" in options.by:
        raise ColumnError("'formula' and 'reference' are columns of the result; rename those in by")
    keys = pd.DataFrame(
        {c: pd.Series([m.key[i] for m in models]) for i, c in enumerate(options.by)},
        index=range(len(models)),
    )
    for column in options.by:
        known = models[0].frame[column]
        if isinstance(known.dtype, pd.CategoricalDtype):
            # "Overall" is none of the data's
            categories = list(dict.fromkeys([*known.cat.categories, *keys[column]]))
            keys[column] = pd.Categorical(keys[column], categories, ordered=True)
    if options.reference is not None:
        keys["reference"] = options.reference
    keys["formula"] = [m.formula.text for m in models]
    return keys.loc[np.repeat(np.arange(len(models)), repeats)].reset_index(drop=True)


def model_counts(models: Sequence[Model], repeats: Sequence[int], unit_name: str | None) -> dict[str, object]:
    """Return what is counted of each model; clusters only where errors are clustered."""
    counted: dict[str, object] = {
        "n": np.repeat([len(m.rows) for m in models], repeats),
        "n_missing": np.repeat([m.n_missing for m in models], repeats),
    }
    if any(m.n_absent for m in models):
        counted["n_absent"] = np.repeat([m.n_absent for m in models], repeats)
    if unit_name is not None:
        counted["unit"] = unit_name
        counted["n_units"] = np.repeat([m.n_units for m in models], repeats)
    return counted

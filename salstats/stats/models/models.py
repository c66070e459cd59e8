"""One model per formula and group: options checked, rows chosen, fitted, and what went wrong said once."""

import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from salstats.checks import (
    ColumnError,
    SalstatsError,
    ValueRangeError,
    check_frame,
    warn,
)
from salstats.frames import (
    SCORES_COLUMNS,
    ColumnCodes,
    check_table,
    coded_scores,
    whole_column,
)
from salstats.stats.engine.carried import is_absent, nothing_there
from salstats.stats.engine.cautions import DIFFERENT_CASES, POOLED_TASKS, caution_column
from salstats.stats.engine.comparisons import ALWAYS
from salstats.stats.engine.design import group_list, pooled_by_default, row_groups, warn_pooled_methods
from salstats.stats.engine.fixed_factors import FACTORS, NOUNS, Factor, fixed_rows, inference_column
from salstats.stats.engine.shared_cases import lacking_cases, paired_call, shared_cases, shared_rows_call
from salstats.stats.engine.units import Unit, Units, resolve_unit, says_units
from salstats.stats.engine.weighting import UNIT
from salstats.stats.models.choices import Asked, chosen_errors, chosen_family
from salstats.stats.models.design import (
    Design,
    Variable,
    build_design,
    complete_rows,
    read_variable,
    warn_of_label_slopes,
)
from salstats.stats.models.errors import CLUSTERED, OF_MIXED
from salstats.stats.models.family import Family, NotEstimableError, Solution, fit_model
from salstats.stats.models.formulas import Formula, parse_formula
from salstats.stats.models.gee import exchangeable
from salstats.stats.models.mixed_fits import MixedInference, check_random, mixed_model
from salstats.stats.models.model_frame import grouping_columns, model_frame
from salstats.stats.models.sampling import check_weights, sampling_weights

Notes = defaultdict[str, list[str]]
"""What went wrong: the kind, and the models (or why) of each."""

_SHOWN = 5


@dataclass(frozen=True)
class Model:
    """One fitted model."""

    formula: Formula
    #: The model frame that `rows` are positions in, and its columns that the formula names.
    frame: pd.DataFrame
    variables: dict[str, Variable]
    #: Values of the grouping columns; formula and group, for messages.
    key: tuple[object, ...]
    label: str
    #: The rows used, and their model matrix.
    rows: np.ndarray
    design: Design
    #: Rows of the group that were left out, and those of them that lack an outcome as the finding is absent.
    n_missing: int
    n_absent: int
    family: Family
    errors: str
    #: None where there are no estimates.
    solution: Solution | None
    #: Codes 0 ... G - 1 of the rows used, unless rows are taken as independent.
    clusters: np.ndarray | None
    #: Cases that all methods beside it have, None where they have the same or there is one method; and
    #: whether these are too few to compare methods.
    n_shared: int | None = None
    different_cases: bool = False
    #: Whether rows of several tasks, data sets or models are taken together, as nobody said by=.
    tasks_pooled: bool = False

    @property
    def terms(self) -> list[str]:
        """The names of the coefficients that are estimated."""
        assert self.solution is not None
        names = [self.design.names[i] for i in self.solution.kept]
        return [f"{part}: {name}" if part else name for part in self.solution.parts for name in names]

    @property
    def n_units(self) -> int:
        """Number of clusters among the rows used."""
        return 0 if self.clusters is None or not len(self.clusters) else int(self.clusters.max()) + 1


@dataclass(frozen=True, repr=False, eq=False)
class Fitted:
    """Models in order of formula, then group, with the options they were fitted by."""

    models: tuple[Model, ...]
    by: tuple[str, ...]
    family: Family
    #: What was taken, also where none were asked for.
    errors: str
    #: Column of the clusters; None unless errors are clustered.
    unit: Unit
    reference: str | None
    overall: bool
    #: Working correlation of the rows of a unit, None where there is none.
    correlation: str | None
    #: Whether mixed models were fitted by the restricted likelihood; None of other models.
    reml: bool | None
    #: Columns of the data that run from 0 to 1, as `normalize` makes them.
    normalized: frozenset[str]
    #: What to warn of where something is inferred: rows that repeat a unit under errors that are not
    #: clustered, and reference levels that differ between groups.
    doubts: Notes
    #: Column of the weights of rows, or "unit"; None where each row counts as one.
    weights: str | None = None


def fit_models(data: pd.DataFrame, formula: str | Sequence[str], asked: Asked) -> Fitted:
    """The models of a formula, or of several, in every group; see `fit`."""
    check_frame(data, "data")
    is_scores = set(SCORES_COLUMNS) <= set(data.columns)
    texts = [formula] if isinstance(formula, str) or not isinstance(formula, Sequence) else list(formula)
    if not texts:
        raise ValueRangeError("formula is an empty list; give at least one, such as 'iou ~ area_ratio'")
    formulas = [parse_formula(text) for text in texts]
    if is_scores:
        coded_scores(data, "data")
    else:
        named = dict.fromkeys(column for one in formulas for column in one.columns)
        check_table(data, [column for column in named if column in data.columns])
    unit, reference, overall = asked.unit, asked.reference, asked.overall
    correlation, reml, weights = asked.correlation, asked.reml, asked.weights
    kind = chosen_family(asked.family, correlation, formulas)
    used = chosen_errors(kind, asked.errors, unit, reml=reml)
    check_weights(weights, kind, used, correlation, formulas)
    mixed = used in OF_MIXED
    columns = grouping_columns(data, formulas, asked.by)
    models: list[Model] = []
    notes: Notes = defaultdict(list)
    doubts: Notes = defaultdict(list)
    clustered_by = None
    for one in formulas:
        frame = model_frame(data, one, reference)
        _note_mixed_metrics(frame, one, columns, notes)
        warn_pooled_methods(frame, [*columns, *one.columns])
        told = _where_units_are(frame, used)
        clustered = used in CLUSTERED
        units = None
        if says_units(told, unit) or used == "cluster":
            with warnings.catch_warnings():
                if mixed:
                    # random effects are named, whatever units might be called
                    warnings.simplefilter("ignore")
                units = resolve_unit(ColumnCodes(told), unit, "data")
        elif clustered:
            # nothing says that rows belong together: each is a unit by itself
            if correlation is not None:
                raise ValueRangeError(
                    f"correlation={correlation!r} needs units; name their column with unit="
                )
            units = Units("row", np.arange(len(frame)), len(frame))
        clustered_by = units.name if units and clustered else None
        sampling = sampling_weights(frame, weights, units)
        variables = {column: read_variable(frame, column) for column in one.columns}
        warn_of_label_slopes(one, variables)
        # in any other table a label or a reason says nothing of findings
        absent = is_absent(frame.assign(score=frame[one.columns[0]])) & is_scores
        if mixed:
            check_random(one, variables, complete_rows(one, variables, np.arange(len(frame))))
        keys, groups = row_groups(ColumnCodes(frame), columns, overall=overall)
        of_formula = []
        for group, inside in enumerate(groups):
            key = tuple(keys.iloc[group])
            label = ", ".join([one.text, *(f"{c} {v}" for c, v in zip(columns, key, strict=True))])
            inside = inside if sampling is None else sampling.with_weight(inside)
            rows = complete_rows(one, variables, np.sort(inside))
            try:
                design = build_design(one, variables, rows)
            except SalstatsError as error:
                raise type(error)(f"{label}: {error}") from None
            clusters = None
            if units and clustered_by:
                clusters = np.unique(units.codes[rows], return_inverse=True)[1]
            elif units and not mixed:
                _note_repeats(units, rows, label, doubts)
            solve = kind.solve
            if mixed:
                solve = partial(mixed_model, formula=one, variables=variables, rows=rows, reml=reml)
            elif clusters is not None and correlation is not None:
                solve = partial(exchangeable, family=kind, clusters=clusters)
            if sampling is not None:
                solve = partial(kind.solve, sampling=sampling.model_weights(rows))
            solution = _solved(design, replace(kind, solve=solve), label, notes)
            if units and solution is not None and isinstance(solution.inference, MixedInference):
                _note_spread(units, solution.inference, rows, label, doubts)
            missing = len(inside) - len(rows), int(absent[inside].sum())
            of_formula.append(
                Model(
                    one, frame, variables, key, label, rows, design, *missing, kind, used, solution, clusters
                )
            )
        rows_used = np.unique(np.concatenate([model.rows for model in of_formula]))
        if _note_pooled_tasks(frame.take(rows_used), one, asked.by, columns, notes):
            of_formula = [replace(model, tasks_pooled=True) for model in of_formula]
        _note_references(of_formula, doubts)
        nowhere = nothing_there(frame) & is_scores
        models += _with_shared_cases(of_formula, groups, nowhere, columns, data, doubts)
    warn_of(notes)
    floats = [c for c in data.columns if pd.api.types.is_float_dtype(data[c])]
    normalized = frozenset(str(c) for c in floats if _is_normalized(data[c]))
    options = kind, used, clustered_by, reference, overall, correlation, reml if mixed else None
    told_weights = UNIT if sampling is not None and sampling.row_weights is None else weights
    return Fitted(tuple(models), tuple(columns), *options, normalized, doubts, told_weights)


def _where_units_are(frame: pd.DataFrame, errors: str) -> pd.DataFrame:
    """The columns to look for units in: all where errors are clustered, else those without a gap."""
    if errors in CLUSTERED:
        return frame
    return frame.drop(
        columns=[c for c in ("patient", "case") if c in frame.columns and frame[c].isna().any()]
    )


def _solved(design: Design, family: Family, label: str, notes: Notes) -> Solution | None:
    """The fit, or None with a note of why there is none."""
    wrong = family.check(design.response)
    if wrong:
        raise ValueRangeError(f"{label}: family={family.name!r} {wrong}")
    if design.single_level and len(design.response):
        notes["a variable of one level, which is left out,"].append(
            f"{label}: {', '.join(design.single_level)}"
        )
    intercept = design.formula.intercept
    try:
        solution = fit_model(design.matrix, design.response, design.names, family, intercept=intercept)
    except NotEstimableError as error:
        notes["no estimates (NaN)"].append(f"{label}: {error}")
        return None
    if solution.rank < len(design.names):
        aliased = [name for i, name in enumerate(design.names) if i not in set(solution.kept.tolist())]
        notes["terms that depend on earlier ones (NaN, as in R)"].append(f"{label}: {', '.join(aliased)}")
    if isinstance(solution.inference, MixedInference):
        if np.isin(solution.response, (0, 1)).all():
            instead = "family='binomial', correlation='exchangeable' without them has odds"
            notes[f"outcomes of 0 and 1 taken for normal, with random effects ({instead}),"].append(label)
        if solution.inference.solution.singular:
            notes["a singular fit, where a variance is 0 or effects are correlated by 1 or -1,"].append(label)
        if not solution.inference.solution.converged:
            notes["no sure maximum of the likelihood"].append(label)
    if np.isnan(solution.dispersion):
        notes["a perfect fit, which leaves nothing to infer from,"].append(label)
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
                notes["a reference level that is not that of the other models"].append(
                    f"{model.label}: {factor} against {level!r}, elsewhere against {usual!r}"
                )


def _with_shared_cases(
    models: Sequence[Model],
    groups: Sequence[np.ndarray],
    absent: np.ndarray,
    by: Sequence[str],
    data: pd.DataFrame,
    notes: Notes,
) -> list[Model]:
    """Models of one formula with the number of cases that their methods share; a note where these are few.

    Effects of cases, random or fixed, compare methods within cases.
    """
    formula, frame = models[0].formula, models[0].frame
    inside = "method" in formula.columns
    known = {"case", "method"} <= set(frame.columns)
    if "case" in formula.columns or not known or not (inside or "method" in by):
        return list(models)
    remedy = shared_rows_call(data, formula.response.columns, "data")
    if inside and set(SCORES_COLUMNS) <= set(data.columns):
        remedy = paired_call(data, data="data")
        if models[0].family.linear:
            remedy += ", and (1|case) in the formula mostly within cases"
    kind = f"methods that have scores of different cases, which compares unlike with unlike ({remedy}),"
    beside: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place, model in enumerate(models):
        key = [str(value) for column, value in zip(by, model.key, strict=True) if column != "method"]
        beside[tuple(key)].append(place)
    marked = list(models)
    for places in beside.values():
        rows = np.concatenate([groups[place] for place in places])
        used = np.concatenate([models[place].rows for place in places])
        columns = [c for c in ("method", *ALWAYS) if c in frame.columns]
        codes = ColumnCodes(frame[columns].take(rows).reset_index(drop=True))
        found = shared_cases(codes, ["method"], np.isin(rows, used), absent[rows])
        if not found.n_lacking.any():
            continue
        lacking = dict(zip(found.keys["method"].astype("str"), lacking_cases(found), strict=True))
        for place in places:
            model = models[place]
            compared = list(lacking.values())
            if not inside:
                compared = [lacking.get(str(model.key[by.index("method")]), "")]
            texts = [text for text in compared if text]
            different = len(texts) > 0
            marked[place] = replace(model, n_shared=int(found.n_shared[0]), different_cases=different)
            if different:
                notes[kind].append(f"{model.label}: {group_list(texts)}")
    return marked


def _note_mixed_metrics(frame: pd.DataFrame, formula: Formula, by: Sequence[str], notes: Notes) -> None:
    """Note a model whose rows are scores of several metrics."""
    if "metric" not in frame.columns or "metric" in by or "metric" in formula.columns:
        return
    metrics = [str(m) for m in pd.unique(frame["metric"].dropna())]
    if len(metrics) > 1:
        notes["rows of several metrics used together (name one, or add 'metric' to by)"].append(
            f"{formula.text}: {', '.join(metrics)}"
        )


def _note_pooled_tasks(
    used: pd.DataFrame, formula: Formula, asked: object, by: Sequence[str], notes: Notes
) -> bool:
    """Note a model of several tasks, data sets or models that has no term of them, if nobody said so.

    Returns whether it has.
    """
    pooled = pooled_by_default(used, asked, by, formula.columns, instead="add + {terms} to the formula")
    if pooled:
        notes[f"{pooled},"].append(formula.text)
    return bool(pooled)


def _note_repeats(units: Units, rows: np.ndarray, label: str, notes: Notes) -> None:
    """Note a model whose rows repeat a unit."""
    n_units = len(np.unique(units.codes[rows]))
    if n_units < len(rows):
        notes["rows of one unit taken as independent (errors='cr2' does not)"].append(
            f"{label}: {len(rows)} rows of {n_units} {units.name}s"
        )


def _note_spread(units: Units, inference: MixedInference, rows: np.ndarray, label: str, notes: Notes) -> None:
    """Note a mixed model that has no random effect of what its rows belong to."""
    codes = units.codes[rows]
    if len(np.unique(codes)) < len(rows) and inference.spreads(codes):
        notes[f"rows of one {units.name} that share no random effect (add (1|{units.name}))"].append(
            f"{label}: {len(rows)} rows of {len(np.unique(codes))} {units.name}s"
        )


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
    models, by = fitted.models, fitted.by
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
    if fitted.reference is not None:
        keys["reference"] = fitted.reference
    keys["formula"] = [m.formula.text for m in models]
    return keys.loc[np.repeat(keys.index, 1 if repeats is None else repeats)].reset_index(drop=True)


def model_options(fitted: Fitted) -> dict[str, object]:
    """The columns of a result on how its models were fitted."""
    options: dict[str, object] = {"family": fitted.family.name, "errors": fitted.errors}
    return options | ({} if fitted.correlation is None else {"correlation": fitted.correlation})


def model_counts(fitted: Fitted, repeats: Sequence[int] | None = None) -> dict[str, object]:
    """What is counted of each model; clusters only where errors are clustered."""
    counted = {
        name: [getattr(m, name) for m in fitted.models] for name in ("n_missing", "n_absent", "n_units")
    }
    counted["n"] = [len(m.rows) for m in fitted.models]
    if not any(counted["n_absent"]):
        del counted["n_absent"]
    if fitted.unit is None:
        del counted["n_units"]
    repeated: dict[str, object] = {
        name: np.repeat(values, 1 if repeats is None else repeats) for name, values in counted.items()
    }
    fixed = {noun: np.zeros(len(fitted.models), dtype=bool) for noun in NOUNS.values()}
    for factor in FACTORS:
        fixed[factor.noun] |= [_takes_for_fixed(model, factor) for model in fitted.models]
    repeated |= inference_column(
        {noun: np.repeat(rows, 1 if repeats is None else repeats) for noun, rows in fixed.items()}
    )
    if fitted.weights is not None:
        repeated["weights"] = fitted.weights
    if any(m.n_shared is not None for m in fitted.models):
        shared = whole_column(m.n_shared for m in fitted.models)
        repeated["n_shared"] = shared.repeat(1 if repeats is None else repeats)
    concerned = {
        DIFFERENT_CASES: [m.different_cases for m in fitted.models],
        POOLED_TASKS: [m.tasks_pooled for m in fitted.models],
    }
    repeated |= caution_column(
        {
            caution: np.repeat(models, 1 if repeats is None else repeats)
            for caution, models in concerned.items()
        }
    )
    return repeated | ({} if fitted.unit is None else {"unit": fitted.unit})


def _takes_for_fixed(model: Model, factor: Factor) -> bool:
    """Whether a model's rows are of several readers, or trainings, and no random effect is of these."""
    # a training is told by its seed, or by its model and seed together
    same_noun = {column for column, noun in NOUNS.items() if noun == factor.noun}
    for effect in model.formula.random:
        if factor.column in effect.groups and same_noun.issuperset(effect.groups):
            return False
    rows = model.frame.take(model.rows)
    compared = [c for c in ("method", "task", "model") if c in rows.columns and c in model.formula.columns]
    return bool(fixed_rows(rows, factor, model.clusters, compared).any())

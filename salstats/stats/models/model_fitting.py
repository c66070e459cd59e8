"""Fitting of models, one for each formula and group, with notes on what may mislead."""

import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_frame
from salstats.coded_text import TEXT
from salstats.errors import (
    ColumnError,
    ColumnValue,
    Message,
    MessagePart,
    SalstatsError,
    Setting,
    ValueRangeError,
)
from salstats.frames import (
    SCORES_COLUMNS,
    ColumnCodes,
    checked_table_codes,
    coded_scores,
)
from salstats.stats.engine.comparisons import KEY_COLUMNS_OF_PAIRS
from salstats.stats.engine.grouping import (
    joined_group_labels,
    pooled_by_default_warning,
    row_groups,
    warn_pooled_methods,
)
from salstats.stats.engine.resampling_units import Units, has_units, resolve_unit
from salstats.stats.engine.result_warnings import RepeatedUnitsWarning
from salstats.stats.engine.score_reasons import (
    human_label_column_if_one_label,
    is_missing_for_absent_finding,
    is_row_of_absent_finding,
)
from salstats.stats.engine.shared_cases import (
    advice_to_compare_in_pairs,
    advice_to_keep_shared_cases,
    many_missing_cases_text_or_empty_by_method,
    own_shared_and_any_method_case_counts,
)
from salstats.stats.engine.weighting import UNIT
from salstats.stats.models.design import (
    DesignMatrix,
    Variable,
    build_design,
    coded_variable,
    complete_row_positions,
    warn_of_numeric_identifiers,
)
from salstats.stats.models.error_kinds import CLUSTERED_ERRORS, MIXED_MODEL_ERRORS
from salstats.stats.models.family import Family, NotEstimableError, Solution, fit_model
from salstats.stats.models.fitted_models import Fitted, Model
from salstats.stats.models.formulas import Formula, columns_of_terms, parse_formula
from salstats.stats.models.gee import exchangeable_gee
from salstats.stats.models.model_frame import (
    by_columns_or_method,
    formula_metrics_and_gap_response,
    frame_with_metrics_as_columns,
)
from salstats.stats.models.model_notes import Notes, column_or_text
from salstats.stats.models.model_options import ModelOptions, resolve_family_form, resolve_standard_error_kind
from salstats.stats.models.random_terms import (
    MixedInference,
    check_random_effects_are_identified,
    mixed_model,
)
from salstats.stats.models.sampling import Sampling, check_weights_are_supported, sampling_weights

#: Columns that give units by default; models without clustered errors may lack some values of them.
_UNIT_COLUMNS = ("patient", "case")


@dataclass(frozen=True)
class _FormulaData:
    """The data of one formula, for the models of all groups."""

    formula: Formula
    frame: pd.DataFrame
    variables: dict[str, Variable]
    #: Kind of standard errors, given or by default.
    errors: str
    #: Units of the rows; None if no column names them and errors are not clustered.
    units: Units | None
    #: Name of the units if errors are clustered by them.
    clustered_by: str | None
    sampling: Sampling | None
    #: (n_rows,): True if the outcome is missing because the finding is absent.
    is_absent: NDArray[np.bool_]


class _FrameWithUnits(NamedTuple):
    """A model frame and the units of its rows."""

    frame: pd.DataFrame
    units: Units | None


def fit_models(data: pd.DataFrame, formula: str | Sequence[str], options: ModelOptions) -> Fitted:
    """Fit the models of one or several formulas in every group; see `fit`."""
    check_frame(data, "data")
    formulas = _parsed_formulas(formula)
    is_scores = set(SCORES_COLUMNS) <= set(data.columns)
    if is_scores:
        coded_scores(data, "data")
    else:
        named_columns = dict.fromkeys(column for parsed in formulas for column in parsed.columns)
        checked_table_codes(data, [column for column in named_columns if column in data.columns])
    family = resolve_family_form(options.family, options.correlation, formulas)
    errors = resolve_standard_error_kind(family, options.errors, options.unit, reml=options.reml)
    check_weights_are_supported(options.weights, family, errors, options.correlation, formulas)
    by = by_columns_or_method(data, formulas, options.by)

    models: list[Model] = []
    notes = Notes()
    inference_notes = Notes()
    unit_by_formula: dict[str, str | None] = {}
    frames: dict[tuple[str, ...], _FrameWithUnits] = {}
    for parsed in formulas:
        formula_data = _formula_frame_variables_units_and_weights(
            data, parsed, by, options, errors, frames, is_scores=is_scores
        )
        unit_by_formula[parsed.text] = formula_data.clustered_by
        frame = formula_data.frame
        keys, groups = row_groups(ColumnCodes(frame), by, overall=options.overall)
        formula_models = []
        for group, rows in enumerate(groups):
            key = tuple(keys.iloc[group])
            levels = [ColumnValue(column, value) for column, value in zip(by, key, strict=True)]
            label = Message.joined([parsed.text, *levels], ", ")
            model = _fit_group(formula_data, key, label, rows, family, options, notes, inference_notes)
            formula_models.append(model)
        used_rows = np.unique(np.concatenate([model.rows for model in formula_models]))
        used_frame = frame.take(used_rows)
        tasks_pooled = _pools_tasks_datasets_or_models_by_default(used_frame, parsed, options.by, by, notes)
        metrics_pooled = _pools_metrics(used_frame, parsed, by, notes)
        formula_models = [
            replace(model, tasks_pooled=tasks_pooled, metrics_pooled=metrics_pooled)
            for model in formula_models
        ]
        _note_differing_reference_levels(formula_models, inference_notes)
        has_no_finding = is_row_of_absent_finding(frame) & is_scores
        models += _with_n_cases_shared_by_methods(
            formula_models, groups, has_no_finding, by, data, inference_notes
        )
    notes.warn()
    _check_formulas_share_unit(unit_by_formula)

    reml = None
    if errors in MIXED_MODEL_ERRORS:
        reml = options.reml
    weights = options.weights
    if formula_data.sampling is not None and formula_data.sampling.row_weights is None:
        # The name of the column of units means the same as "unit".
        weights = UNIT
    float_columns = [column for column in data.columns if pd.api.types.is_float_dtype(data[column])]
    return Fitted(
        models=tuple(models),
        by=tuple(by),
        family=family,
        errors=errors,
        unit=formula_data.clustered_by,
        reference=options.reference,
        overall=options.overall,
        correlation=options.correlation,
        reml=reml,
        normalized=frozenset(
            str(column) for column in float_columns if _spans_0_to_1_with_values_between(data[column])
        ),
        inference_notes=inference_notes,
        weights=weights,
        human_label=human_label_column_if_one_label(data).get("human_label"),
    )


def _check_formulas_share_unit(unit_by_formula: Mapping[str, str | None]) -> None:
    """Raise if standard errors are clustered by different units, or only those of some formulas are.

    This happens if the rows of one formula have no patient with several cases.
    """
    if len(set(unit_by_formula.values())) < 2:
        return
    units = [f"{text} by {unit or 'no column'}" for text, unit in unit_by_formula.items()]
    choices = [unit for unit in unit_by_formula.values() if unit is not None]
    raise ColumnError(
        f"the formulas are clustered by different units ({', '.join(units)})",
        hint=Message("name the unit of all with ", Setting("unit", choices[0])),
        option="unit",
        choices=choices,
    )


def _parsed_formulas(formula: str | Sequence[str]) -> list[Formula]:
    """Parse one formula or a list of several."""
    texts = [formula]
    if isinstance(formula, Sequence) and not isinstance(formula, str):
        texts = list(formula)
    if not texts:
        raise ValueRangeError(
            Setting("formula"), " is an empty list", hint="give at least one, such as 'iou ~ area_ratio'"
        )
    return [parse_formula(text) for text in texts]


def _formula_frame_variables_units_and_weights(
    data: pd.DataFrame,
    formula: Formula,
    by: Sequence[str],
    options: ModelOptions,
    errors: str,
    earlier_frames: dict[tuple[str, ...], _FrameWithUnits],
    *,
    is_scores: bool,
) -> _FormulaData:
    """Read the variables, units and weights of a formula from the data.

    `earlier_frames` are those of earlier formulas, to which the frame of this formula is added: formulas of
    the same metrics share a frame.
    """
    frame_key = formula_metrics_and_gap_response(data, formula, options.reference)
    if frame_key not in earlier_frames:
        first_frame = frame_with_metrics_as_columns(data, formula, options.reference)
        earlier_frames[frame_key] = _FrameWithUnits(
            first_frame, _named_units_else_rows_if_clustered(first_frame, options, errors)
        )
    frame, units = earlier_frames[frame_key]
    warn_pooled_methods(frame, [*by, *formula.columns])
    clustered_by = units.name if units and errors in CLUSTERED_ERRORS else None
    sampling = sampling_weights(frame, options.weights, units)
    variables = {column: coded_variable(frame, column) for column in formula.columns}
    warn_of_numeric_identifiers(formula, variables)
    outcome = formula.columns[0]
    # Absent findings are marked in scores frames only.
    absent = is_missing_for_absent_finding(frame.assign(score=frame[outcome])) & is_scores
    if errors in MIXED_MODEL_ERRORS:
        all_rows = np.arange(len(frame))
        check_random_effects_are_identified(
            formula, variables, complete_row_positions(formula, variables, all_rows)
        )
    return _FormulaData(
        formula=formula,
        frame=frame,
        variables=variables,
        errors=errors,
        units=units,
        clustered_by=clustered_by,
        sampling=sampling,
        is_absent=absent,
    )


def _named_units_else_rows_if_clustered(
    frame: pd.DataFrame, options: ModelOptions, errors: str
) -> Units | None:
    """Return the units that columns name, else rows as units of clustered errors, else None."""
    is_clustered = errors in CLUSTERED_ERRORS
    candidates = frame
    is_weighted_by_unit = options.weights in (UNIT, *_UNIT_COLUMNS)
    if not is_clustered and not is_weighted_by_unit:
        # Units serve only notes here, for which a missing case or patient is not an error.
        incomplete = [
            column for column in _UNIT_COLUMNS if column in frame.columns and frame[column].isna().any()
        ]
        candidates = frame.drop(columns=incomplete)
    # CR1 is not computed with rows as units: without columns of units `resolve_unit` raises an error.
    if has_units(candidates, options.unit) or errors == "cluster":
        with warnings.catch_warnings():
            if errors in MIXED_MODEL_ERRORS:
                # A mixed model names its random effects, so that warnings about units do not apply.
                warnings.simplefilter("ignore")
            return resolve_unit(ColumnCodes(candidates), options.unit, "data")
    if not is_clustered:
        return None
    if options.correlation is not None:
        raise ValueRangeError(
            Setting("correlation", options.correlation),
            " needs units",
            hint=Message("name their column with ", Setting("unit")),
        )
    # Without a column that groups rows, each row is a unit.
    return Units("row", np.arange(len(frame)), len(frame))


def _fit_group(
    formula_data: _FormulaData,
    key: tuple[object, ...],
    label: Message,
    group_rows: NDArray[np.integer],
    family: Family,
    options: ModelOptions,
    notes: Notes,
    inference_notes: Notes,
) -> Model:
    """Fit the model of a formula to the rows of one group."""
    formula = formula_data.formula
    variables = formula_data.variables
    units = formula_data.units
    sampling = formula_data.sampling
    is_mixed = formula_data.errors in MIXED_MODEL_ERRORS
    if sampling is not None:
        group_rows = sampling.rows_with_positive_weight(group_rows)
    rows = complete_row_positions(formula, variables, np.sort(group_rows))
    try:
        design = build_design(formula, variables, rows)
    except SalstatsError as error:
        raise error.prefixed(label, ": ") from None
    clusters = None
    if units and formula_data.clustered_by:
        _, clusters = np.unique(units.codes[rows], return_inverse=True)
    elif units and not is_mixed:
        _note_repeats(units, rows, label, inference_notes)

    solve = family.solve
    if is_mixed:
        solve = partial(mixed_model, formula=formula, variables=variables, rows=rows, reml=options.reml)
    elif clusters is not None and options.correlation is not None:
        solve = partial(exchangeable_gee, family=family, clusters=clusters)
    if sampling is not None:
        solve = partial(family.solve, sampling=sampling.weights_with_mean_one(rows))
    solution = _solve(design, replace(family, solve=solve), label, notes)
    if units and solution is not None and isinstance(solution.inference, MixedInference):
        _note_units_without_random_effect(units, solution.inference, rows, label, inference_notes)
    if solution is not None and isinstance(solution.inference, MixedInference):
        _note_case_covariates_without_case_effect(
            formula_data, solution.inference, rows, label, inference_notes
        )
    return Model(
        formula=formula,
        frame=formula_data.frame,
        variables=variables,
        key=key,
        label=label,
        rows=rows,
        design=design,
        n_missing=len(group_rows) - len(rows),
        n_absent=int(formula_data.is_absent[group_rows].sum()),
        family=family,
        errors=formula_data.errors,
        solution=solution,
        clusters=clusters,
    )


def _solve(design: DesignMatrix, family: Family, label: Message, notes: Notes) -> Solution | None:
    """Fit a model; None, with a note, if it has no estimates."""
    try:
        family.check_outcome(design.response, family.name)
    except ValueRangeError as error:
        raise error.prefixed(label, ": ") from None
    if design.factors_of_one_level and len(design.response):
        variables = Message.joined(
            [column_or_text(name, design.values) for name in design.factors_of_one_level], ", "
        )
        notes.add(
            "a variable of one level, which is left out,",
            Message(label, ": ", variables),
            option="formula",
            column=design.factors_of_one_level[0],
        )
    try:
        solution = fit_model(
            design.matrix, design.response, design.names, family, has_intercept=design.formula.intercept
        )
    except NotEstimableError as error:
        notes.add("no estimates (NaN)", Message(label, ": ", error.message), column="estimate")
        return None
    if solution.rank < len(design.names):
        estimated = set(solution.column_positions.tolist())
        aliased = [
            column_or_text(name, design.values) for i, name in enumerate(design.names) if i not in estimated
        ]
        notes.add(
            "terms that depend on earlier ones (NaN, as in R)",
            Message(label, ": ", Message.joined(aliased, ", ")),
            option="formula",
            column="term",
        )
    if isinstance(solution.inference, MixedInference):
        _note_mixed_fit(solution, solution.inference, label, notes)
    if np.isnan(solution.dispersion):
        notes.add("a perfect fit, which leaves nothing to infer from,", label, column="std_error")
    return solution


def _note_mixed_fit(solution: Solution, inference: MixedInference, label: Message, notes: Notes) -> None:
    """Note a mixed model of a binary outcome, a singular fit, or a search that did not converge."""
    if np.isin(solution.response, (0, 1)).all():
        notes.add(
            "outcomes of 0 and 1 taken for normal, with random effects,",
            label,
            hint=Message(
                Setting("family", "binomial"),
                " with ",
                Setting("correlation", "exchangeable"),
                " and without random effects estimates odds",
            ),
            option="family",
        )
    if inference.solution.is_singular:
        notes.add(
            "a singular fit, where a variance is 0 or effects are correlated by 1 or -1,",
            label,
            option="formula",
        )
    if not inference.solution.converged:
        notes.add("no convergence to a maximum of the likelihood", label)


def _note_differing_reference_levels(models: Sequence[Model], notes: Notes) -> None:
    """Note the models of a formula whose reference level differs from that of most models."""
    factors = dict.fromkeys(name for model in models for name in model.design.references)
    for factor in factors:
        models_by_reference: dict[str, list[Model]] = {}
        for model in models:
            if model.solution is not None and factor in model.design.references:
                reference = model.design.references[factor]
                models_by_reference.setdefault(reference, []).append(model)
        usual = max(models_by_reference, key=lambda level: len(models_by_reference[level]), default="")
        for reference, models_with_reference in models_by_reference.items():
            if reference == usual:
                continue
            for model in models_with_reference:
                notes.add(
                    "a reference level that is not that of the other models",
                    Message(
                        model.label,
                        ": ",
                        column_or_text(factor, model.variables),
                        " against ",
                        repr(reference),
                        ", elsewhere against ",
                        repr(usual),
                    ),
                    column="reference_level",
                )


def _with_n_cases_shared_by_methods(
    models: Sequence[Model],
    groups: Sequence[NDArray[np.integer]],
    has_no_finding: NDArray[np.bool_],
    by: Sequence[str],
    data: pd.DataFrame,
    notes: Notes,
) -> list[Model]:
    """Return the models of a formula, marked where their methods have scores of different cases.

    Such models have the number of cases that all methods share, and a note. With a term or random effect of
    cases, methods are compared within cases, so that nothing is counted.
    """
    formula = models[0].formula
    frame = models[0].frame
    is_term = "method" in formula.columns
    has_columns = {"case", "method"} <= set(frame.columns)
    compares_methods = is_term or "method" in by
    if not has_columns or not compares_methods or "case" in formula.columns:
        return list(models)
    remedy: MessagePart = advice_to_keep_shared_cases(data, formula.response.columns, "data")
    if is_term and set(SCORES_COLUMNS) <= set(data.columns):
        remedy = advice_to_compare_in_pairs(data, data="data")
        if models[0].family.is_linear:
            remedy = Message(remedy, ", and (1|case) in the formula mostly within cases")

    # Models whose groups differ in nothing but the method are compared with each other.
    positions_by_group: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, model in enumerate(models):
        group = [str(value) for column, value in zip(by, model.key, strict=True) if column != "method"]
        positions_by_group[tuple(group)].append(position)
    columns = [column for column in ("method", *KEY_COLUMNS_OF_PAIRS) if column in frame.columns]
    marked = list(models)
    for positions in positions_by_group.values():
        rows = np.concatenate([groups[position] for position in positions])
        used_rows = np.concatenate([models[position].rows for position in positions])
        codes = ColumnCodes(frame[columns].take(rows).reset_index(drop=True))
        cases = own_shared_and_any_method_case_counts(
            codes, ["method"], np.isin(rows, used_rows), has_no_finding[rows]
        )
        if not cases.n_missing_cases.any():
            continue
        methods = cases.keys["method"].astype(TEXT)
        missing_by_method = dict(zip(methods, many_missing_cases_text_or_empty_by_method(cases), strict=True))
        for position in positions:
            model = models[position]
            texts = list(missing_by_method.values())
            if not is_term:
                method = str(model.key[by.index("method")])
                texts = [missing_by_method.get(method, Message())]
            missing_texts = [text for text in texts if text]
            different_cases = len(missing_texts) > 0
            # The number is the same for all methods of a group.
            n_shared = int(cases.n_shared[0])
            marked[position] = replace(model, n_shared=n_shared, different_cases=different_cases)
            if different_cases:
                notes.add(
                    "methods that have scores of different cases, which compares unlike with unlike,",
                    Message(model.label, ": ", joined_group_labels(missing_texts)),
                    hint=remedy,
                )
    return marked


def _pools_metrics(frame: pd.DataFrame, formula: Formula, by: Sequence[str], notes: Notes) -> bool:
    """Return True, with a note, if a model pools scores of several metrics without a term for them."""
    if "metric" not in frame.columns or "metric" in by or "metric" in formula.columns:
        return False
    metrics = [str(metric) for metric in pd.unique(frame["metric"].dropna())]
    if len(metrics) < 2:
        return False
    notes.add(
        "rows of several metrics used together",
        Message(formula.text, ": ", Message.joined(metrics, ", ")),
        hint=Message("name one metric in the formula, or add 'metric' to ", Setting("by")),
        column="metric",
    )
    return True


def _pools_tasks_datasets_or_models_by_default(
    frame: pd.DataFrame,
    formula: Formula,
    by_option: str | Sequence[str] | None,
    by: Sequence[str],
    notes: Notes,
) -> bool:
    """Return True, with a note, if a model pools tasks, data sets or models without a term for them.

    If `by_option` is given nothing counts as pooled.
    """
    remedy = "add + {terms} to the formula"
    if formula.random:
        remedy = "add + {terms} or + (1|{first}) to the formula"
    pooled = pooled_by_default_warning(frame, by_option, by, formula.columns, remedy=remedy)
    if pooled is None:
        return False
    notes.add(Message(pooled.message, ","), formula.text, option="by", column=pooled.column)
    return True


def _note_repeats(units: Units, rows: NDArray[np.integer], label: Message, notes: Notes) -> None:
    """Note a model with several rows of one unit, which are treated as independent."""
    n_units = len(np.unique(units.codes[rows]))
    if n_units < len(rows):
        notes.add(
            "rows of one unit taken as independent",
            Message(label, ": ", f"{len(rows)}", " rows of ", f"{n_units}", f" {units.name}s"),
            hint=Message(Setting("errors", "cr2"), " lets them depend on each other"),
            category=RepeatedUnitsWarning,
            option="errors",
            column=units.name,
        )


def _note_units_without_random_effect(
    units: Units, inference: MixedInference, rows: NDArray[np.integer], label: Message, notes: Notes
) -> None:
    """Note a mixed model without a random effect that the rows of a unit share."""
    codes = units.codes[rows]
    n_units = len(np.unique(codes))
    if n_units < len(rows) and inference.every_random_effect_varies_within_some_unit(codes):
        notes.add(
            f"rows of one {units.name} that share no random effect",
            Message(label, f": {len(rows)} rows of {n_units} {units.name}s"),
            hint=Message("add ", f"(1|{units.name})", " to the formula"),
            option="formula",
            column=units.name,
        )


def _note_case_covariates_without_case_effect(
    formula_data: _FormulaData,
    inference: MixedInference,
    rows: NDArray[np.integer],
    label: Message,
    notes: Notes,
) -> None:
    """Note a covariate that the rows of a case share, in a mixed model without a random effect of cases.

    The model takes the rows of a case for independent observations of such a covariate, and its standard
    error is too small. The same holds for the rows of one finding of a case, as of the size of a lesion. A
    covariate that is constant within the groups of some random effect, such as age with a random effect of
    patients, is not noted.
    """
    frame = formula_data.frame
    columns = set(columns_of_terms(formula_data.formula.terms))
    noted: set[str] = set()
    for keys, name, plural in [
        (["case"], "case", "cases"),
        (["case", "task"], "case and task", "pairs of case and task"),
    ]:
        if not set(keys) <= set(frame.columns):
            return
        groups = frame.iloc[rows].groupby(keys, dropna=False, observed=True).ngroup().to_numpy()
        n_groups = len(np.unique(groups))
        if n_groups == len(rows):
            return
        for column in sorted(columns - noted - set(keys)):
            values = formula_data.variables[column].values[rows]
            is_shared = len(np.unique(np.column_stack([groups, values]), axis=0)) == n_groups
            if is_shared and not inference.is_constant_within_groups_of_some_effect(values):
                noted.add(column)
                notes.add(
                    f"rows of one {name} that share the covariate {column!r} and no random effect",
                    Message(label, f": {len(rows)} rows of {n_groups} {plural}"),
                    hint=f"add (1|{':'.join(keys)}) to the formula",
                    option="formula",
                    column=column,
                )


def _spans_0_to_1_with_values_between(values: pd.Series) -> bool:
    """Return True if numbers range from 0 to 1 and have values in between."""
    has_values_between = values.between(0, 1, inclusive="neither").any()
    return bool(values.min() == 0 and values.max() == 1 and has_values_between)

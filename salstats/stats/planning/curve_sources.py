"""Power curves from a pilot, from parameters of pairs, or from components of readers and cases."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_by
from salstats.coded_text import TEXT
from salstats.errors import SalstatsError, SalstatsWarning, Setting, ValueRangeError
from salstats.frames import ColumnCodes, dataset_and_case_columns
from salstats.stats.engine.comparisons import (
    all_pairs_with_nan_for_missing_scores,
    repeat_reference_per_model_and_seed,
)
from salstats.stats.engine.equivalence import margin_bounds
from salstats.stats.engine.grouping import group_label, row_groups
from salstats.stats.engine.resampling_units import Unit, resolve_unit
from salstats.stats.engine.result_warnings import ROUNDING
from salstats.stats.engine.wide_tables import is_scores_frame
from salstats.stats.mrmc.anova import ANALYSES
from salstats.stats.mrmc.readers import mrmc_components
from salstats.stats.planning import formulas
from salstats.stats.planning.curves import Curve
from salstats.stats.planning.parameters import (
    PAIR_RANGES,
    checked_given_parameters,
    design_effect,
    reader_groups_of_components,
    sd_of_pair_difference,
)
from salstats.stats.planning.pilots import Pilot
from salstats.stats.planning.populations import (
    GIVE_PARAMETERS,
    StudySampler,
    move_pilot,
    slope_and_intercept_of_method_on_reference,
)
from salstats.stats.planning.spreads import (
    limits_of_true_to_estimated_error,
    sd_of_unit_contributions_to_estimate,
)
from salstats.stats.planning.studies import Plan

#: Units of a pilot below which its spread is uncertain.
FEW_UNITS = 20
#: Units of a pilot below which nothing is planned from it.
_FEWEST_UNITS = 6


def _margin_bounds_checked_to_contain_effect(
    plan: Plan, metric: str, effect: float
) -> tuple[float, float] | None:
    """Return the lower and upper bound of the margin of a metric, or None without a margin.

    `metric` is empty where it is not known. An effect outside the margin raises ValueRangeError.
    """
    if plan.margin is None:
        return None
    margin = plan.margin
    if isinstance(margin, Mapping):
        if not metric:
            raise SalstatsError(
                Setting("margin"),
                " is given by metric, and this plan names no metric",
                hint="give one number, or a pair of bounds",
            )
        if metric not in margin:
            raise SalstatsError(
                Setting("margin"),
                f" has none for the metric {metric!r}",
                column="metric",
                value=metric,
                choices=map(str, margin),
            )
        margin = margin[metric]
    lows, highs = margin_bounds(margin, [metric])
    low = float(lows[0])
    high = float(highs[0])
    if not low < effect < high:
        raise ValueRangeError(
            Setting("effect", effect),
            f" lies outside the margin {low:g} ... {high:g}, so that only a mistake would show it to lie "
            "inside",
            hint="give an effect inside it",
        )
    return low, high


def _margin_columns_if_any(bounds: tuple[float, float] | None) -> dict[str, float]:
    """Return the columns `margin_low` and `margin_high`, none without a margin."""
    if bounds is None:
        return {}
    low, high = bounds
    return {"margin_low": low, "margin_high": high}


def curves_of_pilot(
    scores: pd.DataFrame,
    plan: Plan,
    effects: Sequence[float | None],
    reference: str,
    by: str | Sequence[str] | None,
    unit: Unit,
    rng: np.random.Generator,
) -> Iterator[Curve]:
    """Yield the curves of every group, method and effect of a pilot; an effect of None is the pilot's."""
    # The pilot is analysed as a study would be, so that errors and warnings about it are raised here.
    analysis = plan.analyse(scores, reference=reference, by=by, unit=unit)
    unit_name = analysis["unit"].iloc[0]
    # All studies that are drawn from a pilot have its readers and trainings, so that they generalise alike.
    inference_to_by_method = {}
    if "inference_to" in analysis.columns:
        # In all groups the column depends on the method and the reference alone.
        methods = analysis["method"].astype(TEXT)
        inference_to_by_method = dict(zip(methods, analysis["inference_to"], strict=True))
    seed = int(rng.integers(2**63))
    checked_by = check_by(scores, by, default=("metric", "task"))
    grouping_columns = [column for column in checked_by if column != "method"]
    with warnings.catch_warnings():
        # The analysis above has already warned about the unit.
        warnings.simplefilter("ignore", SalstatsWarning)
        paired = all_pairs_with_nan_for_missing_scores(
            repeat_reference_per_model_and_seed(scores, reference, by), reference
        )
        codes = ColumnCodes(paired)
        units = resolve_unit(codes, unit).codes
    cases = codes.combined(dataset_and_case_columns(paired))
    method_scores = paired["score"].to_numpy(dtype=np.float64)
    reference_scores = paired["reference_score"].to_numpy(dtype=np.float64)
    keys, rows_of_groups = row_groups(codes, [*grouping_columns, "method"])
    for group, rows in enumerate(rows_of_groups):
        group_keys = keys.iloc[group].to_dict() | {"reference": reference}
        if inference_to_by_method:
            group_keys["inference_to"] = inference_to_by_method[str(group_keys["method"])]
        pilot = Pilot.from_pairs(method_scores[rows], reference_scores[rows], units[rows], cases[rows])
        if np.isnan(pilot.method_scores - pilot.reference_scores).all():
            raise SalstatsError(
                "no pair of the pilot has both scores for ", group_label(keys, group), column="score"
            )
        n_complete_pairs_by_unit = pilot.unit_sums_of_complete_pairs(np.ones(len(rows)))
        n_complete_units = int((n_complete_pairs_by_unit > 0).sum())
        if n_complete_units < _FEWEST_UNITS:
            raise SalstatsError(
                f"the pilot has both scores of {n_complete_units} units ({unit_name}) for ",
                group_label(keys, group),
                f", and of fewer than {_FEWEST_UNITS} the spread is unknown",
                hint=GIVE_PARAMETERS,
                column=unit_name,
                value=n_complete_units,
            )
        metric = str(paired["metric"].iloc[rows[0]])
        for effect in effects:
            yield _curve_of_pilot(pilot, plan, effect, group_keys, metric, unit_name, seed)


def _curve_of_pilot(
    pilot: Pilot,
    plan: Plan,
    planned_effect: float | None,
    group_keys: dict[Any, Any],
    metric: str,
    unit: str,
    seed: int,
) -> Curve:
    """Return the curve of one group and effect; a planned effect of None is the pilot's.

    `group_keys` are the grouping columns of the curve, `unit` is the name of the unit.
    """
    effect = planned_effect
    if effect is None:
        effect = pilot.effect(plan.term)
    bounds = _margin_bounds_checked_to_contain_effect(plan, metric, effect)
    if bounds is not None:
        # A plan may have margins of several metrics; that of this curve has the margin of its metric.
        low, high = (None if np.isinf(bound) else bound for bound in bounds)
        plan = replace(plan, margin=(low, high))
    moved = move_pilot(pilot, plan.term, effect, metric)
    spread = sd_of_unit_contributions_to_estimate(moved, plan.term, effect)
    tested_effect = effect
    tested_spread = spread
    method_mean, reference_mean = moved.method_and_reference_means()
    if plan.term == "percent_decrease" and plan.goal == "difference":
        # The test of a decrease is that of the difference, which is 0 if and only if the decrease is.
        tested_effect = method_mean - reference_mean
        tested_spread = sd_of_unit_contributions_to_estimate(moved, "difference", tested_effect)
    if tested_spread.sd <= ROUNDING * (abs(method_mean) + abs(reference_mean)):
        raise SalstatsError(
            f"the differences of the pilot in {metric} do not vary, which says nothing about other cases",
            hint=GIVE_PARAMETERS,
            column="metric",
            value=metric,
        )
    keys = {
        **group_keys,
        "effect": effect,
        **_margin_columns_if_any(bounds),
        "method_mean": method_mean,
        "reference_mean": reference_mean,
        "sd": spread.sd,
        "n_pilot": pilot.n_units,
        "unit": unit,
    }
    return Curve(
        keys=keys,
        plan=plan,
        tested_effect=tested_effect,
        precision=partial(formulas.precision_of_units, spread.sd),
        tested_precision=partial(formulas.precision_of_units, tested_spread.sd),
        margin_bounds=bounds,
        cases_per_unit=pilot.cases_per_unit,
        metric=metric,
        error_limit_ratios=tested_spread.limit_ratios,
        has_few_units=tested_spread.df + 1 < FEW_UNITS,
        sampler=lambda n_units: StudySampler(moved, n_units, seed),
    )


def curves_of_parameters(
    parameters: Mapping[str, float], plan: Plan, effects: Sequence[float | None]
) -> Iterator[Curve]:
    """Yield a curve of parameters of pairs of scores for each effect; an effect of None counts as 0."""
    numbers = checked_given_parameters(parameters, PAIR_RANGES)
    cluster_size = numbers.get("cluster_size", 1.0)
    unit = "case" if cluster_size == 1 else "cluster"
    is_decrease = plan.term == "percent_decrease"
    pilot_columns: dict[str, int] = {}
    error_limit_ratios = None
    has_few_units = False
    if "n_pilot" in numbers:
        pilot_columns["n_pilot"] = int(numbers["n_pilot"])
        error_limit_ratios = limits_of_true_to_estimated_error(numbers["n_pilot"] - 1)
        has_few_units = numbers["n_pilot"] < FEW_UNITS
    if is_decrease and not numbers.get("mean_reference"):
        raise SalstatsError(
            "a percentage decrease needs the parameter mean_reference, which may not be 0",
            option="mean_reference",
        )
    for planned_effect in effects:
        effect = 0.0 if planned_effect is None else planned_effect
        bounds = _margin_bounds_checked_to_contain_effect(plan, "", effect)
        # Ratio of the SD of the mean of a cluster to the SD of one case
        cluster_factor = np.sqrt(design_effect(numbers) / cluster_size)
        slope, _ = slope_and_intercept_of_method_on_reference(plan.term, effect)
        sd = float(sd_of_pair_difference(numbers, slope) * cluster_factor)
        if is_decrease:
            # Delta method: a decrease in percent is the difference over a hundredth of the reference's mean.
            sd *= 100 / abs(numbers["mean_reference"])
        tested_effect = effect
        tested_sd = sd
        if is_decrease and plan.goal == "difference":
            # The test of a decrease is that of the difference, which is 0 if and only if the decrease is.
            tested_effect = -effect / 100 * numbers["mean_reference"]
            tested_sd = float(sd_of_pair_difference(numbers, slope=1.0) * cluster_factor)
        keys: dict[str, Any] = {}
        if planned_effect is not None:
            keys["effect"] = effect
        keys |= {**_margin_columns_if_any(bounds), "sd": sd, **pilot_columns, "unit": unit}
        yield Curve(
            keys=keys,
            plan=plan,
            tested_effect=tested_effect,
            precision=partial(formulas.precision_of_units, sd),
            tested_precision=partial(formulas.precision_of_units, tested_sd),
            margin_bounds=bounds,
            cases_per_unit=cluster_size,
            error_limit_ratios=error_limit_ratios,
            has_few_units=has_few_units,
        )


def curves_of_readers(
    source: object,
    plan: Plan,
    effects: Sequence[float | None],
    n_readers: Sequence[int] | None,
    random: tuple[bool, bool],
    by: str | Sequence[str] | None,
    unit: Unit,
) -> Iterator[Curve]:
    """Yield the curves of every group, effect and number of readers.

    `source` are scores of readers, or variance components as `reader_groups_of_components` takes them;
    `random` are two flags: readers are random, cases are random.
    """
    if isinstance(source, pd.DataFrame) and is_scores_frame(source):
        source = mrmc_components(source, by=by, unit=unit)
    groups = reader_groups_of_components(source)
    if n_readers is None:
        raise SalstatsError(
            Setting("n_readers"),
            " says how many readers the study has, such as ",
            Setting("n_readers", [4, 6, 8]),
        )
    random_readers, random_cases = random
    for group, planned_effect in product(groups, effects):
        effect = 0.0 if planned_effect is None else planned_effect
        bounds = _margin_bounds_checked_to_contain_effect(plan, str(group.keys.get("metric", "")), effect)
        precision_of = partial(
            formulas.precision_of_readers,
            group.components,
            random_readers=random_readers,
            random_cases=random_cases,
        )
        error_limit_ratios = None
        has_few_units = False
        if group.n_readers is not None:
            # Degrees of freedom of the standard error of the difference in the pilot
            df = float(precision_of(group.n_readers, group.components.n_cases).df)
            df = min(df, group.components.n_cases - 1)
            error_limit_ratios = limits_of_true_to_estimated_error(df)
            has_few_units = df + 1 < FEW_UNITS
        for n in n_readers:
            keys = dict(group.keys)
            if planned_effect is not None:
                keys["effect"] = effect
            keys |= {
                **_margin_columns_if_any(bounds),
                "n_readers": n,
                "inference_to": ANALYSES[random].inference_to,
            }
            precision = partial(precision_of, n)
            yield Curve(
                keys=keys,
                plan=plan,
                tested_effect=effect,
                precision=precision,
                tested_precision=precision,
                margin_bounds=bounds,
                cases_per_unit=group.cases_per_unit,
                error_limit_ratios=error_limit_ratios,
                has_few_units=has_few_units,
            )

"""Curves of what is known before a study: a pilot, parameters of pairs, components of readers and cases."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, SalstatsWarning, ValueRangeError, check_by
from salstats.frames import ColumnCodes, case_key
from salstats.stats.engine.advice import ROUNDING
from salstats.stats.engine.comparisons import pair_with_reference, reference_in_every_group
from salstats.stats.engine.design import group_label, row_groups
from salstats.stats.engine.equivalence import check_margin
from salstats.stats.engine.units import Unit, resolve_unit
from salstats.stats.engine.wide import is_scores_frame
from salstats.stats.mrmc.anova import ANALYSES
from salstats.stats.mrmc.readers import mrmc_components
from salstats.stats.planning import formulas, parameters
from salstats.stats.planning.curves import Curve
from salstats.stats.planning.pilots import Pilot
from salstats.stats.planning.populations import Draw, population_of
from salstats.stats.planning.spreads import error_limits_of, spread_of
from salstats.stats.planning.studies import Plan

#: Units of a pilot below which its spread is a guess.
FEW_UNITS = 20
#: Units of a pilot below which nothing is planned from it.
_LEAST_UNITS = 6


def _bounds(plan: Plan, metric: str, effect: float) -> tuple[float, float] | None:
    """Bounds of the margin of a metric, with the effect inside."""
    if plan.margin is None:
        return None
    margin = plan.margin
    if isinstance(margin, Mapping):
        if metric not in margin:
            raise SalstatsError(f"margin= has none for the metric {metric!r}")
        margin = margin[metric]
    low, high = (float(b[0]) for b in check_margin(margin, [metric]))
    if not low < effect < high:
        raise ValueRangeError(
            f"effect={effect:g} lies outside the margin {low:g} ... {high:g}, where a study shows it only by "
            "mistake; give an effect inside it"
        )
    return low, high


def _margin_keys(bounds: tuple[float, float] | None) -> dict[str, float]:
    return {} if bounds is None else {"margin_low": bounds[0], "margin_high": bounds[1]}


def of_pilot(
    scores: pd.DataFrame,
    plan: Plan,
    effects: Sequence[float | None],
    reference: str,
    by: str | Sequence[str] | None,
    unit: Unit,
    rng: np.random.Generator,
) -> Iterator[Curve]:
    """Curves of every group and method of a pilot."""
    # as the study itself, so that what cannot be analysed is said now
    analysed = plan.analyse(scores, reference=reference, by=by, unit=unit)
    unit_name = analysed["unit"].iloc[0]
    # readers and trainings of the pilot are in every study that is drawn from it
    speaks_of = {}
    if "inference_to" in analysed.columns:
        speaks_of = dict(zip(analysed["method"].astype("str"), analysed["inference_to"], strict=True))
    seed = int(rng.integers(2**63))
    columns = [c for c in check_by(scores, by, ("metric", "task")) if c != "method"]
    with warnings.catch_warnings():
        # the unit has been told
        warnings.simplefilter("ignore", SalstatsWarning)
        paired = pair_with_reference(reference_in_every_group(scores, reference, by), reference)
        codes = ColumnCodes(paired)
        units = resolve_unit(codes, unit).codes
    cases = codes.combined(case_key(paired))
    own, other = (paired[c].to_numpy(dtype=np.float64) for c in ("score", "reference_score"))
    keys, rows_of = row_groups(codes, [*columns, "method"])
    for group, rows in enumerate(rows_of):
        named = keys.iloc[group].to_dict() | {"reference": reference}
        if speaks_of:
            named["inference_to"] = speaks_of[str(named["method"])]
        pilot = Pilot.of(own[rows], other[rows], units[rows], cases[rows])
        if np.isnan(own[rows] - other[rows]).all():
            raise SalstatsError(f"no pair of the pilot has both scores for {group_label(keys, group)}")
        n_telling = int((pilot.sums(np.ones(len(rows))) > 0).sum())
        if n_telling < _LEAST_UNITS:
            raise SalstatsError(
                f"the pilot has both scores of {n_telling} units ({unit_name}) for "
                f"{group_label(keys, group)}, and of fewer than {_LEAST_UNITS} the spread is unknown; give "
                "parameters, as in power({'sd_difference': 0.2}, ...)"
            )
        metric = str(paired["metric"].iloc[rows[0]])
        for effect in effects:
            yield _curve_of_pilot(pilot, plan, effect, named, metric, unit_name, seed)


def _curve_of_pilot(
    pilot: Pilot, plan: Plan, effect: float | None, named: dict[Any, Any], metric: str, unit: str, seed: int
) -> Curve:
    """Curve of one effect."""
    known = pilot.effect(plan.term) if effect is None else effect
    bounds = _bounds(plan, metric, known)
    if bounds is not None:
        # of a margin for each metric it is that of this one
        low, high = (None if np.isinf(b) else b for b in bounds)
        plan = replace(plan, margin=(low, high))
    population = population_of(pilot, plan.term, known, metric)
    spread = spread_of(population, plan.term, known)
    tested = known
    tested_spread = spread
    method_mean, reference_mean = population.means()
    if plan.term == "percent_decrease" and plan.goal == "difference":
        # a decrease of 0 is a difference of 0, and that is tested
        tested = method_mean - reference_mean
        tested_spread = spread_of(population, "difference", tested)
    if tested_spread.sd <= ROUNDING * (abs(method_mean) + abs(reference_mean)):
        raise SalstatsError(
            f"the differences of the pilot in {metric} do not vary, which says nothing of how others would; "
            "give parameters, as in power({'sd_difference': 0.2}, ...)"
        )
    keys = {
        **named,
        "effect": known,
        **_margin_keys(bounds),
        "method_mean": method_mean,
        "reference_mean": reference_mean,
        "sd": spread.sd,
        "n_pilot": pilot.n_units,
        "unit": unit,
    }
    return Curve(
        keys,
        plan,
        tested,
        partial(formulas.of_units, spread.sd),
        partial(formulas.of_units, tested_spread.sd),
        bounds,
        pilot.cases_per_unit,
        metric,
        error_limits=tested_spread.limits,
        few=tested_spread.df + 1 < FEW_UNITS,
        draw=lambda n: Draw(population, n, seed),
    )


def of_parameters(given: Mapping[str, float], plan: Plan, effects: Sequence[float | None]) -> Iterator[Curve]:
    """Curves of parameters of pairs."""
    found = parameters.checked(given, parameters.PAIRS)
    size = found.get("cluster_size", 1.0)
    decrease = plan.term == "percent_decrease"
    pilot_size: dict[str, int] = {}
    error_limits = None
    few = False
    if "n_pilot" in found:
        pilot_size["n_pilot"] = int(found["n_pilot"])
        error_limits = error_limits_of(found["n_pilot"] - 1)
        few = found["n_pilot"] < FEW_UNITS
    if decrease and not found.get("mean_reference"):
        raise SalstatsError(
            "a percentage decrease is one of mean_reference, which the parameters must hold, and not as 0"
        )
    for effect in effects:
        known = 0.0 if effect is None else effect
        bounds = _bounds(plan, "", known)
        of_unit = np.sqrt(parameters.design_effect(found) / size)
        tested, sd = known, float(parameters.sd_of_pairs(found, 1 - decrease * known / 100) * of_unit)
        sd_tested = sd
        if decrease:
            sd *= 100 / abs(found["mean_reference"])
            sd_tested = sd
            if plan.goal == "difference":
                tested = -known / 100 * found["mean_reference"]
                sd_tested = float(parameters.sd_of_pairs(found, 1.0) * of_unit)
        shown = {} if effect is None else {"effect": known}
        unit = "case" if size == 1 else "cluster"
        keys = {**shown, **_margin_keys(bounds), "sd": sd, **pilot_size, "unit": unit}
        precision, of_tested = (partial(formulas.of_units, each) for each in (sd, sd_tested))
        yield Curve(
            keys, plan, tested, precision, of_tested, bounds, size, error_limits=error_limits, few=few
        )


def of_readers(
    given: object,
    plan: Plan,
    effects: Sequence[float | None],
    n_readers: Sequence[int] | None,
    random: tuple[bool, bool],
    by: str | Sequence[str] | None,
    unit: Unit,
) -> Iterator[Curve]:
    """Curves of numbers of readers."""
    if isinstance(given, pd.DataFrame) and is_scores_frame(given):
        given = mrmc_components(given, by=by, unit=unit)
    groups = parameters.components_of(given)
    if n_readers is None:
        raise SalstatsError("n_readers= says how many readers the study has, such as n_readers=[4, 6, 8]")
    speaks = {"inference_to": ANALYSES[random].inference_to}
    for group, effect in product(groups, effects):
        known = 0.0 if effect is None else effect
        bounds = _bounds(plan, str(group.keys.get("metric", "")), known)
        shown = {} if effect is None else {"effect": known}
        precision_of = partial(
            formulas.hillis, group.components, random_readers=random[0], random_cases=random[1]
        )
        error_limits = None
        few = False
        if group.n_readers is not None:
            # the error of the difference in the pilot has these degrees of freedom
            df = float(precision_of(group.n_readers, group.components.n_cases).df)
            df = min(df, group.components.n_cases - 1)
            error_limits = error_limits_of(df)
            few = df + 1 < FEW_UNITS
        for n in n_readers:
            precision = partial(precision_of, n)
            keys = {**group.keys, **shown, **_margin_keys(bounds), "n_readers": n, **speaks}
            yield Curve(
                keys, plan, known, precision, precision, bounds, group.cases_per_unit,
                error_limits=error_limits, few=few,
            )  # fmt: skip

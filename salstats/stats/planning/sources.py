"""Curves of what is known before a study: a pilot, parameters of pairs, components of readers and cases."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, SalstatsWarning, ValueRangeError, check_by, warn
from salstats.frames import ColumnCodes, case_key
from salstats.stats.comparisons import pair_with_reference, reference_in_every_group
from salstats.stats.design import group_label, row_groups
from salstats.stats.equivalence import check_margin
from salstats.stats.mrmc.anova import ANALYSES
from salstats.stats.mrmc.readers import mrmc_components
from salstats.stats.planning import formulas, parameters
from salstats.stats.planning.curves import Curve
from salstats.stats.planning.pilots import Draw, Pilot, effective_units, tilted
from salstats.stats.planning.studies import Plan
from salstats.stats.units import Unit, resolve_unit
from salstats.stats.wide import is_scores_frame

#: Units of a pilot below which its spread is a guess, and the share of them that may carry its studies.
_FEW_UNITS, _SHARE = 20, 0.5


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
        if pilot.n_units < 2:
            raise SalstatsError(
                f"the pilot has one {unit_name}, which says nothing of how others differ; give parameters"
            )
        if pilot.n_units < _FEW_UNITS:
            off = np.sqrt(2 / (pilot.n_units - 1))
            warn(
                f"the pilot has {pilot.n_units} units, from which the SD is known to about {100 * off:.0f} % "
                "only; plan for more than n_needed"
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
    parts, chances = tilted(pilot, plan.term, known)
    worth = effective_units(chances)
    if worth < _SHARE * pilot.n_units:
        warn(
            f"effect={known:g} is far from the pilot's own, {pilot.effect(plan.term):.4g}: studies that have "
            f"it rest on what {worth:.0f} of its {pilot.n_units} units are worth"
        )
    sd = pilot.spread(plan.term, known, chances)
    tested, sd_tested = known, sd
    method_mean, reference_mean = pilot.means(chances)
    if plan.term == "percent_decrease" and plan.goal == "difference":
        # a decrease of 0 is a difference of 0, and that is tested
        tested = method_mean - reference_mean
        sd_tested = pilot.spread("difference", tested, chances)
    means = {"method_mean": method_mean, "reference_mean": reference_mean}
    return Curve(
        {**named, "effect": known, **_margin_keys(bounds), **means, "unit": unit},
        plan,
        tested,
        partial(formulas.of_units, sd),
        partial(formulas.of_units, sd_tested),
        bounds,
        pilot.cases_per_unit,
        metric,
        lambda n: Draw.of(pilot, parts, chances, n, seed),
    )


def of_parameters(given: Mapping[str, float], plan: Plan, effects: Sequence[float | None]) -> Iterator[Curve]:
    """Curves of parameters of pairs."""
    found = parameters.checked(given, parameters.PAIRS)
    size = found.get("cluster_size", 1.0)
    decrease = plan.term == "percent_decrease"
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
        keys = {**shown, **_margin_keys(bounds), "unit": "case" if size == 1 else "cluster"}
        precision, of_tested = (partial(formulas.of_units, each) for each in (sd, sd_tested))
        yield Curve(keys, plan, tested, precision, of_tested, bounds, size)


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
    for (named, found, size), effect in product(groups, effects):
        known = 0.0 if effect is None else effect
        bounds = _bounds(plan, str(named.get("metric", "")), known)
        shown = {} if effect is None else {"effect": known}
        for n in n_readers:
            precision = partial(formulas.hillis, found, n, random_readers=random[0], random_cases=random[1])
            keys = {**named, **shown, **_margin_keys(bounds), "n_readers": n, **speaks}
            yield Curve(keys, plan, known, precision, precision, bounds, size)

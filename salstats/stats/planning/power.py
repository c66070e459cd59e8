"""How many cases and readers a study needs: simulated from a pilot, or by formula from parameters."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import (
    SalstatsError,
    SalstatsWarning,
    ValueRangeError,
    check_by,
    check_choice,
    check_count,
    check_generator,
    check_level,
    warn,
)
from salstats.frames import ColumnCodes, case_key, whole_column
from salstats.stats.comparisons import pair_with_reference, reference_in_every_group
from salstats.stats.design import group_label, row_groups
from salstats.stats.equivalence import Margin, check_margin
from salstats.stats.planning import formulas, parameters
from salstats.stats.planning.curves import Curve, Simulation, rows_by_formula, rows_by_simulation
from salstats.stats.planning.pilots import Draw, Pilot, effective_units, tilted
from salstats.stats.planning.studies import Plan
from salstats.stats.units import Unit, resolve_unit

TERMS = ("difference", "percent_decrease", "mrmc")
APPROACHES = ("simulation", "formula")
_EFFECTS = ("random", "fixed")
#: What results speak of, by whether readers and cases are random.
_SPEAK_OF = {
    (True, True): "readers and cases",
    (False, True): "these readers",
    (True, False): "these cases",
}
#: Units of a pilot below which its spread is a guess, and the share of them that may carry its studies.
_FEW_UNITS, _SHARE = 20, 0.5
#: Columns of the result, those that there are.
COLUMNS = (
    "term", "goal", "effect", "margin_low", "margin_high", "widest", "method_mean", "reference_mean",
    "n_readers", "n_cases", "n_units", "unit", "power", "mc_error", "conf_low", "conf_high", "conf_level",
    "width", "n_pairs", "target", "n_needed", "level", "interval", "test", "n_replicates", "inference_to",
    "approach", "n_studies",
)  # fmt: skip
_WHOLE = ("n_readers", "n_cases", "n_units", "n_needed")


def power(
    pilot: pd.DataFrame | Mapping[str, float],
    *,
    reference: str | None = None,
    n_cases: int | Sequence[int] | None = None,
    n_readers: int | Sequence[int] | None = None,
    effect: float | Sequence[float] | None = None,
    term: str = "difference",
    margin: Margin | None = None,
    width: float | None = None,
    target: float = 0.8,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str | None = None,
    test: str | None = None,
    level: float = 0.95,
    approach: str | None = None,
    readers: str = "random",
    cases: str = "random",
    n_studies: int = 1000,
    n_replicates: int = 1000,
    rng: int | np.random.Generator = 0,
    jobs: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Power of a planned study, or how wide its interval will be, by number of cases and readers.

    Studies are drawn from a pilot, unit by unit with all of a unit's rows, so that they have the effect asked
    for, and each is analysed as the study itself will be; power is the share of them that show it.

    Parameters
    ----------
    pilot : DataFrame or mapping
        Scores of a pilot study, real or from `simulate_scores`; or parameters of pairs of scores,
        `{"sd": 0.2, "correlation": 0.5, "icc": 0.3, "cluster_size": 2}`, see Notes; or for term="mrmc"
        components of variance, what `mrmc_components` returns.
    reference : str, optional
        The method to compare with, such as "human"; a pilot of scores needs it.
    n_cases : int or list of int, optional
        Cases of the study; by default eight sizes around those that a formula says are enough.
    n_readers : int or list of int, optional
        Readers, of mrmc.
    effect : float or list of float, optional
        The true effect: method - reference, or a decrease in percent. A margin is planned with 0 by default,
        a width with the pilot's own effect; a difference needs one: what is worth finding, not what the
        pilot has found, which is a guess.
    term : {"difference", "percent_decrease", "mrmc"}
        What the study will estimate; mrmc is the difference averaged over readers, as in `mrmc`.
    margin : float, pair or dict, optional
        As for `difference`: the study is to show equivalence, or non-inferiority.
    width : float, optional
        The study is to have an interval no wider than this.
    target : float, default 0.8
        Power that is wanted.
    by, unit, interval, test, level
        As for `difference`: how the pilot is grouped, and how the study will be analysed.
    approach : {"simulation", "formula"}, optional
        By default simulation of a pilot of scores, and formula of parameters.
    readers, cases : {"random", "fixed"}
        Of mrmc: whether results are to speak of readers, or cases, beyond those of the study.
    n_studies : int, default 1000
        Simulated studies of each size; the error of power is at most 0.5/sqrt(n_studies).
    n_replicates : int, default 1000
        Flips or replicates in each; fewer than in the study itself, which costs next to no power.
    rng : int or numpy.random.Generator
        Seed or generator.
    jobs : int, optional
        Processes; -1 for one per core. The result is the same.
    progress : bool
        Whether to show a bar.

    Returns
    -------
    DataFrame
        A row for each group, effect, number of readers and number of cases:

        - the grouping columns, `method`, `reference`, those that there are;
        - `term`; `goal` ("difference", "margin" or "width"); `effect`; `margin_low`, `margin_high`; `widest`,
          the width asked for;
        - `method_mean`, `reference_mean` of the population that studies are drawn from;
        - `n_readers`, `n_cases`, and the `n_units` that they make, with the name of the `unit`;
        - `power` (a difference counts on either side); of simulations `mc_error`, its Monte-Carlo standard
          error, and Wilson's limits `conf_low`, `conf_high` at `conf_level` 0.95;
        - `width`, the mean width of the interval at `level`; `n_pairs`, mean pairs with both scores defined;
        - `target`, and `n_needed`: the fewest cases that reach it, by formula, or between two simulated sizes
          by a line in the root of the size (the smallest size where that reaches it already; missing where
          the largest does not);
        - `level`, `interval`, `test` of the analysis, `n_replicates`; `inference_to` of mrmc; `approach`,
          `n_studies`.

    Raises
    ------
    SalstatsError
        No effect for a difference, or one beyond the pilot's units; a pilot of one unit; simulation from
        parameters; unknown or missing parameters; as for `difference`.
    ValueRangeError
        An effect outside the margin; sizes of less than two units; no size that reaches the target.

    Warns
    -----
    SalstatsWarning
        A pilot of fewer than 20 units; an effect far from the pilot's own, whose studies are drawn from few.

    Notes
    -----
    Units are drawn with chances in proportion to exp(lambda g), g being a unit's sum of method - reference -
    effect (of a decrease of d percent, method - (1 - d/100) reference), lambda such that the mean of g is 0:
    the distribution closest to the pilot's that has the effect (exponential tilting, Efron 1981). Normal
    differences are shifted by this and keep their SD, of hits and misses the shares change, no score leaves
    its range, and zeros, pairs, clusters and undefined scores stay what they are. What means come of it is in
    `method_mean` and `reference_mean`. With an effect of 0 power is the type I error. Studies of all sizes
    and effects share their random numbers: curves are smooth, and neighbouring points err alike.

    What a pilot says of spread is uncertain too, and that is in no error shown here: of 30 units the SD may
    be 25 % off, and the cases needed 60 %. The further an effect lies from the pilot's own, the more is
    guessed of studies that have it: where a study of 40 cases had 66 % power, pilots of 140 patients with
    that effect planned 64 to 76 %, and pilots with one 3.6 times as large 38 to 98 %, with a warning.

    Formulas are of a t test of units, from the SD of a unit's part of the estimate. Parameters for it are
    `sd_difference` of a case, or `sd`, `sd_reference` (by default as `sd`) and `correlation` (0) of its two
    scores; in clusters of `cluster_size` (1) the variance is 1 + (m - 1) `icc` times that of independent
    cases; decreases need `mean_reference`. Power is that of the noncentral t on both sides (as in pwr), of
    margins that of two one-sided tests by integration over the SD.

    Of mrmc it is Hillis' noncentral F: components of `n_cases` cases (`error`, `cov1`, `cov2`, `cov3`) shrink
    with the number of cases, `method:reader` does not; with readers fixed the test is z, where RJafroc has
    cases - 1 degrees of freedom. MRMCsamplesize has readers - 1, and asks for more cases.

    References
    ----------
    Efron B. Nonparametric standard errors and confidence intervals. Can J Stat 1981. doi:10.2307/3314608

    Hillis SL, Obuchowski NA, Berbaum KS. Power estimation for multireader ROC methods: an updated and unified
    approach. Acad Radiol 2011. doi:10.1016/j.acra.2010.09.007

    Examples
    --------
    >>> import salstats as ss
    >>> pilot = ss.datasets.load_simulated().query("metric == 'iou' and method != 'occlusion'")
    >>> plan = ss.power(pilot, reference="human", by=(), n_cases=[40, 80], effect=-0.12, n_studies=200)
    >>> plan[["effect", "n_cases", "n_units", "unit"]]
       effect  n_cases  n_units     unit
    0   -0.12       40       29  patient
    1   -0.12       80       58  patient

    From parameters, as before any data:

    >>> plan = ss.power({"sd": 0.2, "correlation": 0.5}, n_cases=[50, 100], effect=-0.05)
    >>> plan[["n_cases", "power", "n_needed"]].round(3)
       n_cases  power  n_needed
    0       50  0.410       128
    1      100  0.697       128
    """
    check_choice(term, TERMS, "term")
    asked = term if term != "mrmc" else "difference"
    plan = Plan(asked, check_level(level), margin, width, interval, test, n_replicates)
    target, n_studies = check_level(target, "target"), check_count(n_studies, "n_studies", 2)
    if margin is not None and width is not None:
        raise SalstatsError("margin= and width= are two plans; give one of them")
    if width is not None and not width > 0:
        raise ValueRangeError(f"width must be above 0, not {width!r}")
    sizes = _numbers(n_cases, "n_cases")
    effects = _effects(effect, plan)
    of_readers = {
        "n_readers": n_readers is not None,
        "readers": readers != "random",
        "cases": cases != "random",
    }
    if term != "mrmc" and any(of_readers.values()):
        raise SalstatsError(f"{next(k for k, v in of_readers.items() if v)}= is for term='mrmc'")
    by_formula = not isinstance(pilot, pd.DataFrame) or term == "mrmc"
    approach = check_choice(approach or APPROACHES[by_formula], APPROACHES, "approach")
    if by_formula and approach == "simulation":
        raise SalstatsError(
            "approach='simulation' draws studies from the scores of a pilot; simulate_scores() makes some "
            "where there are none"
        )
    curves: Iterator[Curve]
    if term == "mrmc":
        random = tuple(
            check_choice(e, _EFFECTS, o) == "random" for e, o in ((readers, "readers"), (cases, "cases"))
        )
        curves = _of_readers(pilot, plan, effects, _numbers(n_readers, "n_readers"), random)
    elif isinstance(pilot, Mapping):
        curves = _of_parameters(pilot, plan, effects)
    else:
        if reference is None:
            raise SalstatsError("reference= names the method that the pilot's others are compared with")
        curves = _of_pilot(pilot, plan, effects, reference, by, unit, check_generator(rng))
    how = Simulation(n_studies, jobs, progress)
    rows: list[dict[str, Any]] = []
    for curve in curves:
        chosen = curve.sizes(sizes, target)
        rows += (
            rows_by_formula(curve, chosen, target)
            if approach == "formula"
            else rows_by_simulation(curve, chosen, target, how)
        )
    shared: dict[str, Any] = {"term": term, "goal": plan.goal, "target": target, "level": plan.level}
    shared |= {} if width is None else {"widest": width}
    shared |= {"approach": approach}
    if approach == "simulation":
        shared |= {"n_replicates": n_replicates, "n_studies": n_studies}
    else:
        shared |= {"interval": "t", "test": "t" if term != "mrmc" else "mrmc"}
    return _laid_out(pd.DataFrame(rows).assign(**shared))


def _laid_out(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns in their order, whole numbers whole."""
    for name in _WHOLE:
        if name in frame.columns:
            frame[name] = whole_column(None if v is None or v != v else int(v) for v in frame[name])
    keys = [c for c in frame.columns if c not in COLUMNS]
    return frame[[*keys, *(c for c in COLUMNS if c in frame.columns)]]


def _numbers(given: int | Sequence[int] | None, option: str) -> list[int] | None:
    """Sizes that were asked for, ascending."""
    if given is None:
        return None
    return sorted({check_count(n, option, 2) for n in np.atleast_1d(np.asarray(given, dtype=object))})


def _effects(given: float | Sequence[float] | None, plan: Plan) -> list[float | None]:
    """Effects that were asked for; None is the pilot's own."""
    if given is None:
        if plan.goal == "difference":
            raise SalstatsError(
                "effect= says which true effect the study is to find, such as effect=-0.05: the smallest "
                "that matters, not what a pilot has found"
            )
        return [0.0 if plan.goal == "margin" else None]
    effects: list[float | None] = []
    for value in np.atleast_1d(np.asarray(given, dtype=object)):
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | np.number)
            or not np.isfinite(value)
        ):
            raise ValueRangeError(f"effect must be a number, not {value!r}")
        if plan.term == "percent_decrease" and value >= 100:
            raise ValueRangeError(f"effect={value:g} is a decrease in percent, and must be below 100")
        effects.append(float(value))
    return effects


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


def _of_pilot(
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
    unit_name = plan.analyse(scores, reference=reference, by=by, unit=unit)["unit"].iloc[0]
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


def _of_parameters(
    given: Mapping[str, float], plan: Plan, effects: Sequence[float | None]
) -> Iterator[Curve]:
    """Curves of parameters of pairs."""
    found = parameters.checked(given, parameters.PAIRS)
    size = found.get("cluster_size", 1.0)
    decrease = plan.term == "percent_decrease"
    if decrease and "mean_reference" not in found:
        raise SalstatsError("a percentage decrease is one of mean_reference, which the parameters must hold")
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


def _of_readers(
    given: object,
    plan: Plan,
    effects: Sequence[float | None],
    n_readers: Sequence[int] | None,
    random: tuple[bool, ...],
) -> Iterator[Curve]:
    """Curves of numbers of readers."""
    if random == (False, False):
        raise SalstatsError("readers='fixed' and cases='fixed' leave nothing to chance; keep one 'random'")
    groups = parameters.components_of(given)
    if n_readers is None:
        raise SalstatsError("n_readers= says how many readers the study has, such as n_readers=[4, 6, 8]")
    speaks = {"inference_to": _SPEAK_OF[random[0], random[1]]}
    for (named, found), effect in product(groups, effects):
        known = 0.0 if effect is None else effect
        bounds = _bounds(plan, str(named.get("metric", "")), known)
        shown = {} if effect is None else {"effect": known}
        for n in n_readers:
            precision = partial(formulas.hillis, found, n, random_readers=random[0], random_cases=random[1])
            keys = {**named, **shown, **_margin_keys(bounds), "n_readers": n, **speaks}
            yield Curve(keys, plan, known, precision, precision, bounds)

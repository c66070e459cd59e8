"""Power of planned studies by number of cases and readers: simulated from a pilot, or by formula."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import (
    as_generator,
    check_choice,
    check_count,
    check_frame,
    check_level,
    check_number,
)
from salstats.errors import Call, Message, SalstatsError, Setting, ValueRangeError, warn
from salstats.frames import integer_column
from salstats.stats.engine.cautions import SMALL_PILOT, add_caution
from salstats.stats.engine.equivalence import Margin
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.mrmc.anova import are_readers_and_cases_random
from salstats.stats.planning import curve_sources
from salstats.stats.planning.curves import (
    Curve,
    SimulationOptions,
    rows_by_simulation,
    rows_with_n_needed_by_formula,
)
from salstats.stats.planning.studies import Plan

TERMS = ("difference", "percent_decrease", "mrmc")
APPROACHES = ("simulation", "formula")
#: Columns of the result in their order; not every plan has all of them.
COLUMNS = (
    "term", "goal", "effect", "margin_low", "margin_high", "widest", "method_mean", "reference_mean",
    "sd", "n_pilot", "n_readers", "n_cases", "n_units", "unit", "power", "mc_error", "conf_low", "conf_high",
    "conf_level", "width", "n_pairs", "target", "n_needed", "n_low", "n_high", "level", "interval", "test",
    "n_replicates", "inference_to", "figure", "approach", "n_studies", "caution",
)  # fmt: skip
_WHOLE_COLUMNS = ("n_pilot", "n_readers", "n_cases", "n_units", "n_needed", "n_low", "n_high")


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
    """Power of a planned study, or the width of its interval, by number of cases and readers.

    The pilot's differences are moved to the effect, and keep their spread. Studies are drawn from the moved
    pilot, unit by unit with all rows of a unit, and each is analysed as the study itself will be. Power is
    the share of studies that show the effect.

    Parameters
    ----------
    pilot : DataFrame or mapping
        Scores of a pilot study, real or from `simulate_scores`; or parameters of pairs of scores,
        `{"sd": 0.2, "correlation": 0.5, "icc": 0.3, "cluster_size": 2}`, see Notes. For term="mrmc" scores
        of several readers, or components of variance, as `mrmc_components` returns them (areas need these).
    reference : str, optional
        The method to compare with, such as "human"; a pilot of pairs of scores needs it.
    n_cases : int or list of int, optional
        Cases of the study; by default eight sizes around those that a formula says are enough.
    n_readers : int or list of int, optional
        Readers of the study, for term="mrmc".
    effect : float or list of float, optional
        The true effect: method - reference, or a decrease in percent. By default it is 0 with a margin and
        the pilot's own effect with a width. A difference needs an effect: the smallest that matters, not the
        pilot's, which is a guess.
    term : {"difference", "percent_decrease", "mrmc"}
        What the study will estimate; mrmc is the difference averaged over readers, as in `mrmc`.
    margin : float, pair or dict, optional
        As for `difference`: the study is to show equivalence, or non-inferiority.
    width : float, optional
        The largest width that the interval of the study may have.
    target : float, default 0.8
        Power to reach.
    by, unit, interval, test, level
        As for `difference`: how the pilot is grouped, and how the study will be analysed. A study shows a
        difference if its interval excludes 0 or, where `test` is given, if its P value is below 1 - `level`.
    approach : {"simulation", "formula"}, optional
        By default simulation of a pilot of scores, and formula of parameters.
    readers, cases : {"random", "fixed"}
        For term="mrmc": random readers (or cases) generalise beyond those of the study, fixed ones do not.
    n_studies : int, default 1000
        Simulated studies of each size; the error of power is at most 0.5/sqrt(n_studies).
    n_replicates : int, default 1000
        Sign flips or bootstrap replicates in each study. Fewer than in the study itself cost next to no
        power.
    rng : int or numpy.random.Generator
        Seed or generator.
    jobs : int, optional
        Processes; -1 for one per core. The result is the same.
    progress : bool
        Show a progress bar.

    Returns
    -------
    DataFrame
        A row for each group, effect, number of readers and number of cases:

        - the grouping columns, `method`, `reference`, if the pilot has them;
        - `term`; `goal` ("difference", "margin" or "width"); `effect`; `margin_low`, `margin_high`; `widest`,
          the width asked for;
        - `method_mean`, `reference_mean` of the population that studies are drawn from; `sd` of a unit's
          contribution to the estimate, whose standard error is `sd` / sqrt(`n_units`); `n_pilot`, the units
          of the pilot;
        - `n_readers`, `n_cases`, and the `n_units` that they make, with the name of the `unit`;
        - `power` (a difference counts on either side); for simulations `mc_error`, its Monte-Carlo standard
          error, and Wilson's limits `conf_low`, `conf_high` at `conf_level` 0.95;
        - `width`, the mean width of the interval at `level`; `n_pairs`, mean pairs with both scores defined;
        - `target`, and `n_needed`: the fewest cases that reach it, by formula, or by interpolation between
          simulated sizes, linear in the root of the size (the smallest size if it reaches the target already,
          missing if the largest does not); `n_low`, `n_high`: 95 % limits of `n_needed`, as the pilot's SD is
          uncertain (`n_high` is missing if no number is enough);
        - `level`, `interval`, `test` of the row's analysis, `n_replicates`; `inference_to`, `figure` for
          readers; `approach`, `n_studies`; `caution` if the pilot is small.

    Raises
    ------
    SalstatsError
        A reference where there are no pairs; no effect for a difference; a pilot of fewer than six units, or
        without any spread; simulation from parameters; unknown or missing parameters; as for `difference`.
    ValueRangeError
        An effect outside the margin, or beyond the metric's range; sizes of fewer than two units; no size
        that reaches the target.

    Warns
    -----
    SalstatsWarning
        A pilot of fewer than 20 units.

    Notes
    -----
    The pilot is moved to the effect: every score of the method changes by the same amount. So the differences
    keep their spread whatever the pilot's own effect is, and units of several cases keep their correlation.
    Differences are also spread by the root of n/(n - 1), n the units, since draws from a sample vary less
    than draws from its population. 0/1 scores stay 0 or 1: some of the method's hits turn into misses, or
    misses into hits, each with the same chance, and those of one unit together as often as keeps the design
    effect. `method_mean` and `reference_mean` are the means after the move; an effect that moves the method
    out of the metric's range is an error. With an effect of 0 power is the type I error. Studies of all sizes
    and effects share their random numbers, so that curves are smooth and neighbouring points err alike.

    The pilot's spread has an error, and so have the cases needed: `n_low` and `n_high` are the cases needed
    with the 95 % limits of the SD. These limits are chi-squared; where the differences have long tails the
    degrees of freedom are fewer than units - 1 (Shoemaker 2003). For 0/1 scores of independent cases they are
    Wilson's limits of the share of discordant pairs; for readers and cases they are chi-squared with Hillis'
    degrees of freedom of the pilot. A spread that is no more certain than that of 20 normal differences has a
    `caution`.

    Formulas are for a t test of units, from the SD of a unit's contribution to the estimate. Their parameters
    are `sd_difference` of a case, or `sd`, `sd_reference` (by default as `sd`) and `correlation` (0) of its
    two scores. In clusters of `cluster_size` m (1) the variance is 1 + (m - 1) `icc` times that of
    independent cases; decreases need `mean_reference`. With `n_pilot`, the number of units that the SDs were
    estimated from, the cases have limits. Power is that of the noncentral t on both sides (as in pwr); for
    margins it is that of two one-sided tests by integration over the SD.

    For term="mrmc" it is Hillis' noncentral F: components of `n_cases` cases (`error`, `cov1`, `cov2`,
    `cov3`) shrink with the number of cases, `method:reader` does not, and with the pilot's `n_readers` there
    are limits. With readers fixed the test is z, where RJafroc has cases - 1 degrees of freedom.
    MRMCsamplesize has readers - 1, and gives more cases.

    References
    ----------
    Hillis SL, Obuchowski NA, Berbaum KS. Power estimation for multireader ROC methods: an updated and unified
    approach. Acad Radiol 2011. doi:10.1016/j.acra.2010.09.007

    Shoemaker LH. Fixing the F test for equal variances. Am Stat 2003;57:105-114. doi:10.1198/0003130031441

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
    # A study of readers analyses a difference, too.
    analysed_term = "difference" if term == "mrmc" else term
    plan = Plan(
        term=analysed_term,
        level=check_level(level),
        margin=margin,
        width=width,
        interval=interval,
        test=test,
        n_replicates=n_replicates,
    )
    target = check_level(target, "target")
    n_studies = check_count(n_studies, "n_studies", 2)
    _check_at_most_one_goal(margin, width)
    case_numbers = _sorted_distinct_sizes(n_cases, "n_cases")
    effects = _checked_effects_or_margin_zero_or_width_none(effect, plan)
    if term != "mrmc":
        _check_no_reader_options(n_readers, readers, cases)
    needs_formula = not isinstance(pilot, pd.DataFrame) or term == "mrmc"
    if needs_formula and reference is not None:
        raise SalstatsError(
            Setting("reference"),
            " belongs to a pilot of pairs of scores: parameters name no methods, and components of ",
            Setting("term", "mrmc"),
            " cover all methods",
            hint="leave it out",
        )
    approach = _checked_approach(approach, needs_formula)
    if approach == "formula":
        _check_t_analysis(interval, test)
    curves: Iterator[Curve]
    if term == "mrmc":
        random = are_readers_and_cases_random(readers, cases)
        reader_numbers = _sorted_distinct_sizes(n_readers, "n_readers")
        curves = curve_sources.curves_of_readers(pilot, plan, effects, reader_numbers, random, by, unit)
    elif isinstance(pilot, Mapping):
        curves = curve_sources.curves_of_parameters(pilot, plan, effects)
    else:
        check_frame(pilot, "pilot")
        if reference is None:
            raise SalstatsError(
                Setting("reference"), " names the method that the pilot's others are compared with"
            )
        curves = curve_sources.curves_of_pilot(pilot, plan, effects, reference, by, unit, as_generator(rng))
    simulation = SimulationOptions(n_studies, jobs, progress)
    rows: list[dict[str, Any]] = []
    rows_have_few_units: list[bool] = []
    for curve in curves:
        sizes = curve.given_sizes_or_several_around_needed(case_numbers, target)
        if approach == "formula":
            rows += rows_with_n_needed_by_formula(curve, sizes, target)
        else:
            rows += rows_by_simulation(curve, sizes, target, simulation)
        rows_have_few_units += [curve.has_few_units] * len(sizes)
    frame = pd.DataFrame(rows).assign(**_option_columns(term, plan, target, approach, n_studies))
    if isinstance(pilot, pd.DataFrame) and term != "mrmc":
        _warn_small_pilot(frame)
    return _with_ordered_columns_and_integers(add_caution(frame, SMALL_PILOT, np.array(rows_have_few_units)))


def _check_at_most_one_goal(margin: Margin | None, width: float | None) -> None:
    """Raise if a margin and a width are both given, or if the width is not above 0."""
    if margin is not None and width is not None:
        raise SalstatsError(
            Setting("margin"), " and ", Setting("width"), " are two different goals", hint="give one of them"
        )
    if width is not None:
        check_number(width, "width", exclude_zero=True)


def _check_no_reader_options(n_readers: int | Sequence[int] | None, readers: str, cases: str) -> None:
    """Raise if an option of term="mrmc" differs from its default; other terms do not plan readers."""
    is_given = {
        "n_readers": n_readers is not None,
        "readers": readers != "random",
        "cases": cases != "random",
    }
    for option in is_given:
        if is_given[option]:
            raise SalstatsError(Setting(option), " is for ", Setting("term", "mrmc"), ", which plans readers")


def _checked_approach(approach: str | None, needs_formula: bool) -> str:
    """Return the approach, by default simulation where the pilot allows it."""
    if approach is None:
        return "formula" if needs_formula else "simulation"
    check_choice(approach, APPROACHES, "approach")
    if needs_formula and approach == "simulation":
        raise SalstatsError(
            Setting("approach", "simulation"),
            " draws studies from the scores of a pilot",
            hint=Message(Call("simulate_scores"), " makes some where there are none"),
        )
    return approach


def _check_t_analysis(interval: str | None, test: str | None) -> None:
    """Raise if an interval or a test other than t is given, which formulas do not cover."""
    if {interval, test} - {None, "t"}:
        raise SalstatsError(
            Setting("interval"),
            " and ",
            Setting("test"),
            " say how simulated studies are analysed, and formulas are for a t test",
            hint=Message("take ", Setting("approach", "simulation")),
        )


def _warn_small_pilot(frame: pd.DataFrame) -> None:
    """Warn if the pilot of a frame of `power` has few units."""
    n_pilot = int(frame["n_pilot"].min())
    if n_pilot < curve_sources.FEW_UNITS:
        warn(
            f"the pilot has {n_pilot} units, from which the spread is not well known: the cases needed lie "
            "between n_low and n_high",
            hint="plan for n_high, or score more cases for the pilot",
            column="n_units",
            value=n_pilot,
        )


def _option_columns(term: str, plan: Plan, target: float, approach: str, n_studies: int) -> dict[str, Any]:
    """Return the columns that hold an option, the same in all rows."""
    columns: dict[str, Any] = {
        "term": term,
        "goal": plan.goal,
        "target": target,
        "level": plan.level,
        "approach": approach,
    }
    if plan.width is not None:
        columns["widest"] = plan.width
    if approach == "simulation":
        columns |= {"n_replicates": plan.n_replicates, "n_studies": n_studies}
    elif term == "mrmc":
        columns |= {"interval": "obuchowski-rockette", "test": "mrmc"}
    else:
        columns |= {"interval": "t", "test": "t"}
    return columns


def _with_ordered_columns_and_integers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with its columns in their order, and whole numbers as integers that may be missing."""
    for column in _WHOLE_COLUMNS:
        if column in frame.columns:
            values = [None if pd.isna(value) else int(value) for value in frame[column]]
            frame[column] = integer_column(values)
    grouping_columns = [column for column in frame.columns if column not in COLUMNS]
    other_columns = [column for column in COLUMNS if column in frame.columns]
    return frame[grouping_columns + other_columns]


def _sorted_distinct_sizes(sizes: int | Sequence[int] | None, option: str) -> list[int] | None:
    """Return numbers of cases or readers, ascending and without repeats; None if none are given."""
    if sizes is None:
        return None
    values = np.atleast_1d(np.asarray(sizes, dtype=object))
    _check_not_empty(values, option)
    return sorted({check_count(value, option, 2) for value in values})


def _check_not_empty(values: np.ndarray, option: str) -> None:
    """Raise if an option is a list without values, for which there would be no row."""
    if not len(values):
        raise ValueRangeError(
            Setting(option), " is an empty list", hint="give one number or more", option=option, value=[]
        )


def _checked_effects_or_margin_zero_or_width_none(
    effect: float | Sequence[float] | None, plan: Plan
) -> list[float | None]:
    """Return effects as numbers; an effect of None in the list stands for the pilot's."""
    if effect is None:
        if plan.goal == "difference":
            raise SalstatsError(
                Setting("effect"),
                " says which true effect the study is to find, such as ",
                Setting("effect", -0.05),
                ": the smallest that matters, not what a pilot has found",
            )
        return [0.0 if plan.goal == "margin" else None]
    values = np.atleast_1d(np.asarray(effect, dtype=object))
    _check_not_empty(values, "effect")
    effects: list[float | None] = []
    for value in values:
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not np.isfinite(value):
            raise ValueRangeError(
                Setting("effect"), f" must be a number, not {value!r}", option="effect", value=value
            )
        if plan.term == "percent_decrease" and value >= 100:
            raise ValueRangeError(
                Setting("effect", float(value)), " is a decrease in percent, and must be below 100"
            )
        effects.append(float(value))
    return effects

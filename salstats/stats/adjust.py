"""Multiplicity: p-values adjusted for the family of tests they belong to, and limits to go with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import (
    check_by,
    check_choice,
    check_columns,
    check_count,
    check_frame,
    check_level,
    check_numeric,
    quoted,
)
from salstats.errors import Call, ColumnError, Message, SalstatsError, Setting, ValueRangeError
from salstats.frames import ESTIMATE_COLUMNS, combined_codes
from salstats.stats.engine.bonferroni import simultaneous_limits_and_levels
from salstats.stats.engine.equivalence import (
    INCONCLUSIVE,
    SIDES,
    is_strictly_below,
    sides_and_claims,
    verdict_texts,
)
from salstats.stats.engine.grouping import is_summary_row
from salstats.stats.engine.joint_adjustment import (
    NullDraws,
    single_step_min_p,
    step_down_max_t,
    step_down_min_p,
)
from salstats.stats.engine.monte_carlo import (
    p_floors,
    warn_adjusted_p_values_are_bounds,
    warn_if_replicates_are_few,
    warn_if_within_monte_carlo_error,
)

#: Terms of rows that belong to no family: an intercept, and the global test of `mrmc` that all methods are
#: equal.
INTERCEPT = "(Intercept)"
GLOBAL_TEST_TERM = "equal"
#: The procedure whose P values agree with simultaneous limits.
SINGLE_STEP = "single-step"
#: Procedures for contrasts of a model: for all pairs of a factor's levels, and for any contrasts.
TUKEY = "tukey"
MULTIVARIATE_T = "mvt"
#: `adjust(intervals=True)` makes Sidak's limits for this procedure, and Bonferroni's for all others.
SIDAK = "sidak"
#: Significance level of rows whose frame has no conf_level.
_ALPHA = 0.05
_ADDED_COLUMNS = ("p_adjusted", "p_margin_adjusted", "n_tests", "procedure", "p_adjusted_floor")
# 1 - 0.95 is not 0.05 in binary: values this close count as equal
_ROUNDING = 1e-9


def adjust(
    estimates: pd.DataFrame,
    *,
    procedure: str = "bonferroni",
    within: str | Sequence[str] | None = None,
    n_tests: int | None = None,
    intervals: bool = False,
) -> pd.DataFrame:
    """Frame with its p-values adjusted for multiple tests.

    A family is all rows of the frame, or of a group of `within`, that have a p-value. Rows with "Average" or
    "Overall" in a grouping column (before `term`) summarise other rows and are a family of their own, so
    that neither family counts in the adjustment of the other. Rows whose `term` is "(Intercept)" belong to no
    family, as nobody tests whether an intercept is zero, nor does the global test "equal" of `mrmc`. Every
    other row counts: leave out rows that were not a test before you adjust.

    Parameters
    ----------
    estimates : DataFrame
        Any frame with a column `p_value`.
    procedure : str
        `bonferroni`, `sidak`, `holm`, `hochberg`, `hommel`, `BH` (or `fdr`), `BY` or `none`, in upper or
        lower case.
        `max-t` and `min-p` are options of `difference` and `percent_decrease` (`adjust=`), which have the
        flips that they need.
    within : str or sequence of str, optional
        Columns whose groups are families of their own; by default all rows are one family, and the rows that
        summarise others another.
    n_tests : int, optional
        Size of each family, if more tests were made than are shown; by default the number of its p-values.
    intervals : bool
        Replace `conf_low` and `conf_high` by Bonferroni limits, each at level `1 - (1 - conf_level) / m` for
        a family of m, so that all limits of the family hold jointly at the level that they had singly. With
        `sidak` each is at level `conf_level ** (1 / m)`.

    Returns
    -------
    DataFrame
        A copy, rows in their order, with

        p_adjusted
            Right after `p_value` (an old one is replaced); NaN for intercepts and where `p_value` is NaN.
        p_margin_adjusted
            If the frame has `p_margin`: its P values, adjusted in the same families.
        conf_low, conf_high, conf_level
            Changed only with `intervals=True`, and only in rows that are part of a family.
        family_level
            Only with `intervals=True`: the level at which all limits of a family hold together.
        verdict
            If the frame has one (`difference`, `percent_decrease`): "lower" and "higher" become
            "inconclusive" where `p_adjusted` is NaN or not below 1 - `conf_level` of the given frame (0.05
            without one), and with `intervals=True` also where the new limits contain 0. A claim about a
            margin, such as "equivalent", is dropped where `p_margin_adjusted` is not below that level. No
            verdict becomes conclusive: for a milder adjustment, start from the frame that was not adjusted.
        p_adjusted_floor
            If p-values are from replicates: `p_adjusted` where it is only an upper bound, because it depends
            on a p-value at its floor (equal to `p_floor`), for which more replicates could give a smaller
            one; else NaN.
        n_tests
            The size of the family of the row's group (also in rows that are not part of it).
        procedure
            Last column: the procedure, in R's spelling.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        The frame lacks `p_value`, or a column that limits are made from; a p-value lies outside 0 to 1;
        `n_tests` is smaller than a family; with `intervals=True`, the procedure is "none", or a family of two
        or more has intervals that cannot be widened from the columns of the frame (percentile, bca, wild,
        profile, ...). The message then gives the level to pass to the function that made them.

    Warns
    -----
    SalstatsWarning
        An adjusted p-value of .01 or more is only an upper bound (the warning gives a number of replicates
        that is enough); an adjusted p-value from replicates lies within Monte-Carlo error of 1 - `conf_level`
        (0.05 without one); or the p-values come from so few replicates B that some test of the family cannot
        by itself get below that level. The smallest possible p-value is 2 / (B + 1), that of signflip 1 / (B
        + 1), and that of wild 0.5 / (B + 1).

    Notes
    -----
    With p-values sorted upwards, p(1) ... p(m): bonferroni min(1, m p); sidak 1 - (1 - p)^m, for two-sided
    tests of normal statistics, or independent ones (Sidak 1967); holm the running maximum of
    (m - i + 1) p(i); hochberg the running minimum of the same from above; BH the running minimum from
    above of m p(i) / i; BY the same times 1 + 1/2 + ... + 1/m; hommel is closed testing with Simes' test.
    A family larger than what is shown is treated as if the tests not shown had p = 1, as R does.

    R's emmeans also gives Bonferroni limits beside holm and BH, for which no simple limits exist. Bonferroni
    limits agree with `p_adjusted` of `bonferroni`, and those of `sidak` with its own, where limits and
    p-value come from the same test, such as `t` limits and a t test: 0 lies outside them where `p_adjusted`
    is below 1 - `conf_level`, and only there.
    Limits made on another scale or with another variance than the p-value (those of correlations, `logit`, a
    t interval beside a bootstrap or rank test) may disagree with it near that level. The other procedures
    need narrower limits. Limits that `adjust` has widened are widened again if it is called again;
    `conf_level` gives their level.

    References
    ----------
    Sidak Z. Rectangular confidence regions for the means of multivariate normal distributions. J Am Stat
    Assoc 1967;62:626-633. https://doi.org/10.1080/01621459.1967.10482935

    Holm S. A simple sequentially rejective multiple test procedure. Scand J Stat 1979;6:65-70.
    https://www.jstor.org/stable/4615733

    Hommel G. A stagewise rejective multiple test procedure based on a modified Bonferroni test.
    Biometrika 1988;75:383-386. https://doi.org/10.1093/biomet/75.2.383

    Benjamini Y, Hochberg Y. Controlling the false discovery rate. J R Stat Soc B 1995;57:289-300.
    https://doi.org/10.1111/j.2517-6161.1995.tb02031.x

    Benjamini Y, Yekutieli D. The control of the false discovery rate in multiple testing under dependency.
    Ann Stat 2001;29:1165-1188. https://doi.org/10.1214/aos/1013699998

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"term": ["(Intercept)", "size", "shape"], "p_value": [0.001, 0.02, 0.3]})
    >>> ss.adjust(table, procedure="holm")
              term  p_value  p_adjusted  n_tests procedure
    0  (Intercept)    0.001         NaN        2      holm
    1         size    0.020        0.04        2      holm
    2        shape    0.300        0.30        2      holm
    """
    return adjusted_frame(estimates, checked_procedure(procedure), within, n_tests, intervals)


def adjust_unless_none(result: pd.DataFrame, procedure: str) -> pd.DataFrame:
    """Return a result with its P values adjusted as `adjust` does, unchanged if the procedure is "none"."""
    if procedure.lower() == "none":
        return result
    return adjust(result, procedure=procedure)


class _AdjustedPValues(NamedTuple):
    """Adjusted P values of all rows of a frame, each array of shape (n_rows,)."""

    #: NaN in rows that belong to no family.
    p_adjusted: np.ndarray
    #: Adjusted P values as they would be if every P value at its floor were 0.
    lower_bound: np.ndarray
    #: Number of tests in the family of the row's group.
    n_tests: np.ndarray


def adjusted_frame(
    estimates: pd.DataFrame,
    procedure_name: str,
    within: str | Sequence[str] | None = None,
    n_tests: int | None = None,
    intervals: bool = False,
    null_draws: NullDraws | None = None,
) -> pd.DataFrame:
    """Return the frame of `adjust`.

    `null_draws` are the draws that the P values of the rows are counted from; joint procedures (max-t, min-p,
    single-step) need them.
    """
    check_frame(estimates, "estimates")
    check_columns(estimates, ["p_value"], "estimates")
    groups = check_by(estimates, within, (), "estimates")
    p_values = _checked_p_values(check_numeric(estimates, "p_value", "estimates"))
    if intervals and procedure_name == "none":
        raise SalstatsError(
            Setting("procedure", "none"),
            " adjusts nothing, so there are no limits for ",
            Setting("intervals", True),
        )

    is_tested = ~np.isnan(p_values)
    if "term" in estimates.columns:
        is_tested &= (~estimates["term"].isin((INTERCEPT, GLOBAL_TEST_TERM))).to_numpy(dtype=bool)
    family_codes = _family_codes_with_summary_rows_apart(estimates, groups)
    families = [np.flatnonzero(family_codes == code) for code in range(int(family_codes.max()) + 1)]
    floors = p_floors(estimates)
    adjusted = _adjust_families(
        p_values, floors, families, is_tested, procedure_name, n_tests=n_tests, null_draws=null_draws
    )

    result = estimates.drop(columns=[column for column in _ADDED_COLUMNS if column in estimates.columns])
    if intervals:
        tested_rows = np.flatnonzero(is_tested)
        result["family_level"] = 1 - _alpha_of_rows(estimates)
        _widen_limits(result, tested_rows, adjusted.n_tests[tested_rows], procedure_name)
    _insert_column_after(result, "p_value", "p_adjusted", adjusted.p_adjusted)
    if not np.isnan(floors).all():
        is_bound = adjusted.lower_bound < adjusted.p_adjusted
        result["p_adjusted_floor"] = np.where(is_bound, adjusted.p_adjusted, np.nan)
    result["n_tests"] = adjusted.n_tests
    result["procedure"] = procedure_name
    is_within_margin = np.ones(len(p_values), dtype=bool)
    if "p_margin" in result.columns:
        p_margin = check_numeric(estimates, "p_margin", "estimates")
        p_margin_adjusted = np.full(len(p_values), np.nan)
        for rows in families:
            p_margin_adjusted[rows] = adjust_p_values(p_margin[rows], procedure_name, n_tests)
        _insert_column_after(result, "p_margin", "p_margin_adjusted", p_margin_adjusted)
        is_within_margin = is_strictly_below(p_margin_adjusted, _alpha_of_rows(estimates))
    # Limits and P values of the single-step procedure agree, so the verdict by the limits stands.
    if "verdict" in result.columns and procedure_name != SINGLE_STEP:
        result["verdict"] = _adjusted_verdicts(estimates, result, is_within_margin, limits_widened=intervals)
    if "n_replicates" in result.columns and procedure_name != "none":
        # Warnings refer to rows by their position in the result, which is the index.
        tested = result.reset_index(drop=True)[is_tested]
        _warn_of_imprecise_p_values(tested, _alpha_of_rows(estimates)[is_tested], procedure_name, null_draws)
    return result


def _adjust_families(
    p_values: np.ndarray,
    floors: np.ndarray,
    families: list[np.ndarray],
    is_tested: NDArray[np.bool_],
    procedure_name: str,
    *,
    n_tests: int | None,
    null_draws: NullDraws | None,
) -> _AdjustedPValues:
    """Adjust the P values of the tested rows of each family; `families` are the row numbers of each."""
    joint_formula = _BY_NAME[procedure_name.lower()].joint_formula
    # A P value at its floor may be as small as 0: an adjusted value that this changes is only a bound.
    smallest_possible = np.where(p_values <= floors * (1 + _ROUNDING), 0.0, p_values)
    p_adjusted = np.full(len(p_values), np.nan)
    lower_bound = np.full(len(p_values), np.nan)
    family_size = np.zeros(len(p_values), dtype=np.int64)
    for rows in families:
        family = rows[is_tested[rows]]
        if null_draws is not None and joint_formula is not None:
            p_adjusted[family] = joint_formula(null_draws.select_rows(family), p_values[family])
            is_bound = p_adjusted[family] <= null_draws.p_floor * (1 + _ROUNDING)
            is_at_floor = smallest_possible[family] == 0
            if joint_formula is _adjusted_by_max_t:
                # max-t counts statistics; a row's own P value decides only where it is the larger one.
                is_at_floor &= p_adjusted[family] <= p_values[family]
            is_bound |= is_at_floor
            lower_bound[family] = np.where(is_bound, smallest_possible[family], p_adjusted[family])
        else:
            p_adjusted[family] = adjust_p_values(p_values[family], procedure_name, n_tests)
            lower_bound[family] = adjust_p_values(smallest_possible[family], procedure_name, n_tests)
        family_size[rows] = len(family) if n_tests is None else n_tests
    return _AdjustedPValues(p_adjusted, lower_bound, family_size)


def _insert_column_after(frame: pd.DataFrame, column: str, new_column: str, values: np.ndarray) -> None:
    """Insert a new column into a frame, right after another column."""
    frame.insert(frame.columns.tolist().index(column) + 1, new_column, values)


def _adjusted_verdicts(
    estimates: pd.DataFrame,
    result: pd.DataFrame,
    is_within_margin: NDArray[np.bool_],
    *,
    limits_widened: bool,
) -> pd.Series:
    """Return the verdicts of a result, "inconclusive" where its adjusted P values or limits show nothing.

    `is_within_margin` says in which rows the adjusted P value against the margin is below alpha; elsewhere
    the claim about the margin is dropped. Missing verdicts, and those of frames that do not compare methods,
    are returned unchanged.
    """
    verdict = result["verdict"]
    # Rows that compare nothing have no verdict.
    has_verdict = verdict.notna()
    sides, claims = sides_and_claims(verdict.where(has_verdict, INCONCLUSIVE))
    if not set(sides) <= set(SIDES):
        return verdict
    # A P value of NaN is not below alpha either.
    is_undecided = ~is_strictly_below(
        result["p_adjusted"].to_numpy(dtype=np.float64), _alpha_of_rows(estimates)
    )
    if limits_widened:
        holds_zero = (result["conf_low"] <= 0) & (result["conf_high"] >= 0)
        is_undecided |= holds_zero.to_numpy(dtype=bool)
    sides = np.where(is_undecided, INCONCLUSIVE, sides)
    claims = np.where(is_within_margin, claims, "")
    adjusted = pd.Series(verdict_texts(sides, claims), result.index, dtype=verdict.dtype)
    return adjusted.where(has_verdict)


def _warn_of_imprecise_p_values(
    tested: pd.DataFrame, alpha: np.ndarray, procedure_name: str, null_draws: NullDraws | None
) -> None:
    """Warn of too few replicates, and of adjusted P values that are bounds or within Monte-Carlo error."""
    if null_draws is not None and _BY_NAME[procedure_name.lower()].joint_formula is not None:
        # A joint procedure counts adjusted P values from draws, whatever test the P values come from.
        counted = tested.assign(p_value=tested["p_adjusted"], p_floor=null_draws.p_floor)
        warn_if_within_monte_carlo_error(counted, alpha)
    elif not warn_if_replicates_are_few(tested, alpha, procedure_name):
        warn_adjusted_p_values_are_bounds(tested)
        warn_if_within_monte_carlo_error(tested, alpha)


def _family_codes_with_summary_rows_apart(estimates: pd.DataFrame, within: list[str]) -> NDArray[np.integer]:
    """Return the code of each row's family; averaged and pooled rows of a group are a family of their own."""
    # Grouping columns come before the first column of an estimates frame.
    columns = estimates.columns
    estimate_positions = np.flatnonzero(columns.isin(ESTIMATE_COLUMNS))
    grouping_columns = columns[: estimate_positions[0]]
    is_summary = is_summary_row(estimates[grouping_columns])
    group_codes = combined_codes(estimates, within)
    return np.unique(2 * group_codes + is_summary, return_inverse=True)[1]


def adjust_p_values(p: np.ndarray, procedure: str, n_tests: int | None = None) -> np.ndarray:
    """Adjust P values as one family, as R's `p.adjust(p, procedure, n)`; NaN is not part of it."""
    name = checked_procedure(procedure)
    p = _checked_p_values(np.asarray(p, dtype=np.float64))
    present = np.flatnonzero(~np.isnan(p))
    size = len(present) if n_tests is None else check_count(n_tests, "n_tests")
    if size < len(present):
        raise ValueRangeError(
            Setting("n_tests", size),
            " is smaller than the family of ",
            f"{len(present)}",
            " p-values that is shown",
            hint="leave it out, or give the number of tests that were made",
        )
    adjusted = np.full(p.shape, np.nan)
    formula = _BY_NAME[name.lower()].formula
    assert formula is not None
    if len(present):
        adjusted[present] = formula(p[present], size)
    return adjusted


def _adjusted_by_statsmodels(p: np.ndarray, size: int, *, method: str) -> np.ndarray:
    """Adjust a family's p-values by statsmodels; tests that are not shown count as p = 1."""
    # statsmodels is slow to import, and most calls of the package adjust nothing
    from statsmodels.stats.multitest import multipletests

    family = np.ones(size)
    family[: len(p)] = p
    p_adjusted = multipletests(family, method=method)[1]
    return np.asarray(p_adjusted[: len(p)])


def _adjusted_by_sidak(p: np.ndarray, size: int) -> np.ndarray:
    """Adjust a family's p-values by 1 - (1 - p)^m, without cancellation where they are small."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(size * np.log1p(-p)))


def _adjusted_by_holm(p: np.ndarray, size: int) -> np.ndarray:
    """Adjust a family's p-values by Holm's procedure, the running maximum of (m - i + 1) p(i).

    statsmodels' `holm` collects the garbage of the whole process in every call, which takes longer than the
    procedure for fewer than 100,000 tests.
    """
    order = np.argsort(p)
    n_remaining = size - np.arange(len(p))
    stepped = np.maximum.accumulate(n_remaining * p[order])
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _adjusted_by_max_t(family: NullDraws, p: np.ndarray) -> np.ndarray:
    """Adjust by step-down max-t; no adjusted P value is below its own P value."""
    return np.asarray(np.maximum(step_down_max_t(family), p))


def _adjusted_by_min_p(family: NullDraws, p: np.ndarray) -> np.ndarray:
    """Adjust by step-down min-p; Holm's P value, which does not depend on draws, is an upper bound."""
    adjusted = np.minimum(step_down_min_p(family), _adjusted_by_holm(p, size=len(p)))
    return np.asarray(np.maximum(adjusted, p))


@dataclass(frozen=True)
class Procedure:
    """A procedure for multiple tests."""

    #: Value of the option `procedure`, spelled as in R's `p.adjust`.
    name: str
    #: Name of the procedure in print, empty where nothing is adjusted.
    label: str
    #: Function of a family's P values (without NaN) and its size that returns the adjusted P values; None for
    #: procedures that need more than P values.
    formula: Callable[[np.ndarray, int], np.ndarray] | None
    #: Citation and the error rate that it controls, for a Methods section.
    note: str = ""
    #: Function of a family's draws and P values that returns the adjusted P values, for joint procedures.
    joint_formula: Callable[[NullDraws, np.ndarray], np.ndarray] | None = None


_FAMILYWISE = "which controls the family-wise error rate"
_DISCOVERY = "which controls the false discovery rate"
_JOINTLY = f"{_FAMILYWISE} and takes account of how the tests depend on each other"
_POSITIVE = "for independent or positively dependent tests"
_BH = f"the Benjamini-Hochberg procedure (Benjamini and Hochberg 1995), {_DISCOVERY} {_POSITIVE}"
#: Every procedure, in the order in which lists of names have them; `fdr` is another name of BH.
RECORDS = (
    Procedure(
        "bonferroni", "Bonferroni", partial(_adjusted_by_statsmodels, method="bonferroni"),
        f"the Bonferroni procedure, {_FAMILYWISE}",
    ),
    Procedure(
        SIDAK, "Sidak", _adjusted_by_sidak,
        f"the Sidak procedure (Sidak 1967), {_FAMILYWISE} for independent tests, and for two-sided tests of "
        "normal statistics",
    ),
    Procedure("holm", "Holm", _adjusted_by_holm, f"Holm's procedure (Holm 1979), {_FAMILYWISE}"),
    Procedure(
        "hochberg", "Hochberg", partial(_adjusted_by_statsmodels, method="simes-hochberg"),
        f"Hochberg's procedure (Hochberg 1988), {_FAMILYWISE} {_POSITIVE}",
    ),
    Procedure(
        "hommel", "Hommel", partial(_adjusted_by_statsmodels, method="hommel"),
        f"Hommel's procedure (Hommel 1988), {_FAMILYWISE} {_POSITIVE}",
    ),
    Procedure("BH", "Benjamini-Hochberg", partial(_adjusted_by_statsmodels, method="fdr_bh"), _BH),
    Procedure(
        "BY", "Benjamini-Yekutieli", partial(_adjusted_by_statsmodels, method="fdr_by"),
        f"the Benjamini-Yekutieli procedure (Benjamini and Yekutieli 2001), {_DISCOVERY}",
    ),
    Procedure("fdr", "Benjamini-Hochberg", partial(_adjusted_by_statsmodels, method="fdr_bh"), _BH),
    Procedure(
        "max-t", "step-down max-t", None,
        f"the step-down max-t procedure (Romano and Wolf 2005), {_JOINTLY}",
        joint_formula=_adjusted_by_max_t,
    ),
    Procedure(
        "min-p", "step-down min-p", None,
        f"the step-down min-p procedure (Ge et al. 2003), {_JOINTLY}",
        joint_formula=_adjusted_by_min_p,
    ),
    Procedure(
        SINGLE_STEP, "single-step min-p", None,
        "the single-step min-p procedure (Ge et al. 2003), with which the simultaneous confidence intervals "
        f"(Beran 1988) agree, {_JOINTLY}",
        joint_formula=single_step_min_p,
    ),
    Procedure(
        TUKEY, "Tukey", None,
        f"Tukey's method for all pairs of means (Kramer 1956), {_FAMILYWISE}",
    ),
    Procedure(
        MULTIVARIATE_T, "multivariate t", None,
        "the single-step procedure by the multivariate t distribution of the contrasts (Hothorn et al. "
        f"2008), {_JOINTLY}",
    ),
    Procedure("none", "", lambda p, size: p),
)  # fmt: skip
#: Names of the procedures that need P values only.
PROCEDURES = tuple(record.name for record in RECORDS if record.formula is not None)
#: Names of the joint procedures, which need the draws that P values are counted from.
JOINT = tuple(record.name for record in RECORDS if record.joint_formula is not None)
_BY_NAME = {record.name.lower(): record for record in RECORDS}


def find_procedure(name: object) -> Procedure | None:
    """Return the record of a procedure, by its name in any case, or None."""
    if not isinstance(name, str):
        return None
    return _BY_NAME.get(name.lower())


def checked_procedure(
    procedure: str, option: str = "procedure", *, has_draws: bool = False, of_contrasts: bool = False
) -> str:
    """Return the procedure's name in R's spelling; raise for one that does not suit the P values.

    Joint procedures need P values that are counted from draws (`has_draws`); `tukey` and `mvt` need contrasts
    of a model (`of_contrasts`).
    """
    record = find_procedure(procedure)
    if record is None or (record.name in (TUKEY, MULTIVARIATE_T) and not of_contrasts):
        choices = PROCEDURES
        if has_draws:
            choices += JOINT
        if of_contrasts:
            choices += (TUKEY, MULTIVARIATE_T)
        return check_choice(procedure, choices, option)
    if record.joint_formula is not None and not has_draws:
        raise SalstatsError(
            Setting(option, record.name),
            " needs the flips or replicates that P values are counted from",
            hint=Message(
                "pass ",
                Setting("adjust", record.name),
                " to ",
                Call("difference"),
                " or ",
                Call("percent_decrease"),
            ),
        )
    return record.name


def _checked_p_values(p: np.ndarray) -> np.ndarray:
    """Return the P values; one that is neither NaN nor between 0 and 1 raises an error."""
    outside = np.flatnonzero((p < 0) | (p > 1))
    if len(outside):
        raise ValueRangeError(
            f"p-value {p[outside[0]]:g} in row {outside[0]} lies outside 0 to 1",
            column="p_value",
            rows=outside.tolist(),
        )
    return p


def _widen_limits(
    result: pd.DataFrame, rows: NDArray[np.integer], family_size: np.ndarray, procedure_name: str
) -> None:
    """Replace the limits of some rows of a result by simultaneous ones, in place."""
    needed_columns = ("estimate", "conf_low", "conf_high", "conf_level")
    missing = [column for column in needed_columns if column not in result.columns]
    if missing:
        raise ColumnError(
            f"estimates has no column {quoted(missing[:1])}, which ",
            Setting("intervals", True),
            f" needs (it makes simultaneous limits from {quoted(needed_columns)})",
            column=missing[0],
        )
    limits = simultaneous_limits_and_levels(
        result.iloc[rows], family_size, rows, is_sidak=procedure_name == SIDAK
    )
    for column, widened in limits.items():
        values = result[column].to_numpy(dtype=np.float64, copy=True)
        values[rows] = widened
        result[column] = values


def _alpha_of_rows(estimates: pd.DataFrame) -> np.ndarray:
    """Return 1 - level of each row, with the level of its family where limits hold jointly.

    It is 0.05 in rows and frames without a level.
    """
    level_column = "family_level" if "family_level" in estimates.columns else "conf_level"
    if level_column not in estimates.columns:
        return np.full(len(estimates), _ALPHA)
    levels = check_numeric(estimates, level_column, "estimates")
    for level in np.unique(levels[~np.isnan(levels)]):
        check_level(float(level))
    return np.where(np.isnan(levels), _ALPHA, 1 - levels)

"""Multiplicity: p-values adjusted for the family of tests they belong to, and limits to go with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from salstats.checks import (
    ColumnError,
    SalstatsError,
    ValueRangeError,
    check_by,
    check_choice,
    check_columns,
    check_count,
    check_frame,
    check_level,
    check_numeric,
    quoted,
)
from salstats.frames import ESTIMATE_COLUMNS, combined_codes
from salstats.stats.engine.bonferroni import bonferroni_limits
from salstats.stats.engine.design import summary_rows
from salstats.stats.engine.equivalence import SIDES, is_below, split_verdicts, verdicts
from salstats.stats.engine.max_t import Drawn, single_step, step_down, step_down_min_p
from salstats.stats.engine.monte_carlo import (
    p_floors,
    warn_if_replicates_are_few,
    warn_if_undecided,
    warn_of_floors,
)

INTERCEPT = "(Intercept)"
#: The global test beside differences that are compared two by two, see `mrmc`.
GLOBAL = "equal"
#: The procedure whose P values agree with simultaneous limits.
SINGLE_STEP = "single-step"
#: What 1 - conf_level is where the frame has no conf_level.
_ALPHA = 0.05
_ADDED = ("p_adjusted", "p_margin_adjusted", "n_tests", "procedure")
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
    """Frame with its p-values adjusted for multiplicity.

    A family is all rows of the frame, or of a group of `within`, that have a p-value. Rows "Average" and
    "Overall" in a grouping column (before `term`) ask of all together what the others ask of each, and are a
    family of their own: neither makes the other less certain. Rows whose `term` is "(Intercept)" are part of
    none: nobody tests whether an intercept is zero; nor is the test "equal" of `mrmc`. Any other row counts;
    leave out first what was not a test.

    Parameters
    ----------
    estimates : DataFrame
        Any frame with a column `p_value`.
    procedure : str
        `bonferroni`, `holm`, `hochberg`, `hommel`, `BH` (or `fdr`), `BY`, `none`; in any case. `max-t` and
        `min-p` are for `difference` and `percent_decrease` (`adjust=`), which have the flips they need.
    within : str or sequence of str, optional
        Columns whose groups are families of their own; by default all rows are one family, and those over
        others another.
    n_tests : int, optional
        Size of each family when it is larger than what is shown; by default the number of its p-values.
    intervals : bool
        Replace `conf_low` and `conf_high` by Bonferroni limits: each at level `1 - (1 - conf_level) / m`
        for a family of m, so that all of them hold together with the level they had singly.

    Returns
    -------
    DataFrame
        A copy, rows in their order, with

        p_adjusted
            Right after `p_value` (an old one is replaced); NaN for intercepts and where `p_value` is NaN.
        conf_low, conf_high, conf_level
            Changed only with `intervals=True`, and only in rows that are part of a family.
        family_level
            Only with `intervals=True`: the level at which all limits of a family hold together.
        verdict
            Where the frame has one (`difference`, `percent_decrease`): "inconclusive" instead of "lower" or
            "higher" where `p_adjusted` is not below 1 - `conf_level` of the frame given (0.05 without one) or
            is NaN, and with `intervals=True` also where the new limits hold 0; else as it was. Nothing turns
            conclusive: to adjust in a milder way, start from the frame that was not adjusted.
        p_adjusted_floor
            Of p-values from replicates: `p_adjusted` where it is only a bound, as it hangs on one at its
            floor (`p_value` equal to `p_floor`) and more replicates would give a smaller one; else NaN.
        n_tests
            The size of the family of the row's group (also in rows that are not part of it).
        procedure
            Last column: the procedure, in R's spelling.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        No column `p_value`, or none that the limits are made from; a p-value outside 0 to 1; `n_tests`
        smaller than a family; `intervals=True` for an interval that cannot be widened from what the frame
        holds (percentile, bca, wild, profile, ...) in a family of 2 and more: the message says at which level
        the function that made it gives it; or with `procedure="none"`.

    Warns
    -----
    SalstatsWarning
        An adjusted p-value of .01 and more is only a bound, with the replicates that would do; one from
        replicates lies within Monte-Carlo error of 1 - `conf_level`; or the p-values come from B replicates
        (the smallest possible is 2 / (B + 1), of signflip 1 / (B + 1), of wild half of that), and B is too
        small for a single test of the family to get below 1 - `conf_level` (0.05 without one).

    Notes
    -----
    With p-values sorted upwards, p(1) ... p(m): bonferroni min(1, m p); holm the running maximum of
    (m - i + 1) p(i); hochberg the running minimum of the same from above; BH the running minimum from
    above of m p(i) / i; BY the same times 1 + 1/2 + ... + 1/m; hommel is closed testing with Simes' test.
    A family larger than what is shown is treated as if the tests not shown had p = 1, as R does.

    Bonferroni limits are what R's emmeans also gives beside holm and BH, for which no simple limits exist.
    They agree with `p_adjusted` of `bonferroni` where limits and p-value come from the same test, such as
    `t` limits and a t test: 0 lies outside them where `p_adjusted` is below 1 - `conf_level`, and only there.
    Limits made on another scale or with another variance than the p-value (those of correlations, `logit`,
    a t interval beside a bootstrap or rank test) may disagree with it near that line. The other procedures
    need less wide limits. `adjust` widens limits that it has widened again; `conf_level` says what they are.

    References
    ----------
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
    return adjusted_frame(estimates, check_procedure(procedure), within, n_tests, intervals)


def adjusted_if_asked(result: pd.DataFrame, procedure: str) -> pd.DataFrame:
    """A result with its P values adjusted as one family, or as it is where the procedure is "none"."""
    return result if procedure.lower() == "none" else adjust(result, procedure=procedure)


def adjusted_frame(
    estimates: pd.DataFrame,
    name: str,
    within: str | Sequence[str] | None = None,
    n_tests: int | None = None,
    intervals: bool = False,
    drawn: Drawn | None = None,
) -> pd.DataFrame:
    """What `adjust` gives, by its arguments or else by what the rows' P values are counted from."""
    check_frame(estimates, "estimates")
    check_columns(estimates, ["p_value"], "estimates")
    groups = check_by(estimates, within, (), "estimates")
    p = _check_p_values(check_numeric(estimates, "p_value", "estimates"))
    if intervals and name == "none":
        raise SalstatsError("procedure='none' adjusts nothing, so there are no intervals=True to give")

    in_family = ~np.isnan(p)
    if "term" in estimates.columns:
        in_family &= (~estimates["term"].isin((INTERCEPT, GLOBAL))).to_numpy(dtype=bool)
    codes = _families(estimates, groups)
    floors = p_floors(estimates)
    # what the p-values at their floor may be as well: a result that this changes is a bound
    least = np.where(p <= floors * (1 + _ROUNDING), 0.0, p)
    joint = _BY_NAME[name.lower()].joint
    adjusted, lowest = np.full((2, len(p)), np.nan)
    size = np.zeros(len(p), dtype=np.int64)
    families = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    for rows in families:
        family = rows[in_family[rows]]
        if drawn is not None and joint is not None:
            adjusted[family] = joint(drawn.rows(family), p[family])
            at_floor = adjusted[family] <= drawn.floor * (1 + _ROUNDING)
            # max-t is not made of P values, and hangs on a row's own only where nothing else is larger
            own_floor = least[family] == 0
            if joint is _max_t:
                own_floor &= adjusted[family] <= p[family]
            lowest[family] = np.where(at_floor | own_floor, least[family], adjusted[family])
        else:
            adjusted[family] = adjust_p_values(p[family], name, n_tests)
            lowest[family] = adjust_p_values(least[family], name, n_tests)
        size[rows] = len(family) if n_tests is None else n_tests

    result = estimates.drop(columns=[c for c in (*_ADDED, "p_adjusted_floor") if c in estimates.columns])
    if intervals:
        family_rows = np.flatnonzero(in_family)
        result["family_level"] = 1 - _alpha(estimates)
        _widen(result, family_rows, size[family_rows])
    result.insert(result.columns.tolist().index("p_value") + 1, "p_adjusted", adjusted)
    if not np.isnan(floors).all():
        result["p_adjusted_floor"] = np.where(lowest < adjusted, adjusted, np.nan)
    result["n_tests"] = size
    result["procedure"] = name
    claimed = np.ones(len(p), dtype=bool)
    if "p_margin" in result.columns:
        of_margin = np.full(len(p), np.nan)
        against = check_numeric(estimates, "p_margin", "estimates")
        for rows in families:
            of_margin[rows] = adjust_p_values(against[rows], name, n_tests)
        result.insert(result.columns.tolist().index("p_margin") + 1, "p_margin_adjusted", of_margin)
        claimed = is_below(of_margin, _alpha(estimates))
    # rows that are no comparison have none
    given = result["verdict"].notna() if "verdict" in result.columns else None
    said = None if given is None else split_verdicts(result["verdict"].where(given, SIDES[-1]))
    # limits and P values of one procedure agree, and the verdict is that of the limits
    if said is not None and set(said[0]) <= set(SIDES) and name != SINGLE_STEP:
        # not "at or above": NaN is not below either
        undecided = ~is_below(adjusted, _alpha(estimates))
        if intervals:
            undecided |= ((result["conf_low"] <= 0) & (result["conf_high"] >= 0)).to_numpy(dtype=bool)
        sides, claims = np.where(undecided, SIDES[-1], said[0]), np.where(claimed, said[1], "")
        told = pd.Series(verdicts(sides, claims), result.index, dtype=result["verdict"].dtype)
        result["verdict"] = told.where(given)
    if "n_replicates" in result.columns and name != "none":
        family, alpha = result[in_family], _alpha(estimates)[in_family]
        if joint is not None and drawn is not None:
            # they are counted from draws, whatever the P values of the rows are
            counted = family.assign(p_value=family["p_adjusted"], p_floor=drawn.floor)
            warn_if_undecided(counted, alpha)
        elif not warn_if_replicates_are_few(family, alpha, name):
            warn_of_floors(family)
            warn_if_undecided(family, alpha)
    return result


def _families(estimates: pd.DataFrame, within: list[str]) -> np.ndarray:
    """Family of each row: its group, and whether it is one of the averages over others, or pools them."""
    columns = estimates.columns
    estimated = np.flatnonzero(columns.isin(ESTIMATE_COLUMNS))
    summary = summary_rows(estimates[columns[: estimated[0]]])
    both = 2 * combined_codes(estimates, within) + summary
    return np.unique(both, return_inverse=True)[1]


def adjust_p_values(p: np.ndarray, procedure: str, n_tests: int | None = None) -> np.ndarray:
    """P-values adjusted as one family, as R's `p.adjust(p, procedure, n)`; NaN is not part of it."""
    name = check_procedure(procedure)
    p = _check_p_values(np.asarray(p, dtype=np.float64))
    present = np.flatnonzero(~np.isnan(p))
    size = len(present) if n_tests is None else check_count(n_tests, "n_tests")
    if size < len(present):
        raise ValueRangeError(
            f"n_tests={size} is smaller than the family of {len(present)} p-values that is shown; "
            "leave it out, or give the number of tests that were made"
        )
    adjusted = np.full(p.shape, np.nan)
    formula = _BY_NAME[name.lower()].formula
    assert formula is not None
    if len(present):
        adjusted[present] = formula(p[present], size)
    return adjusted


def _multiple_tests(p: np.ndarray, size: int, *, method: str) -> np.ndarray:
    """Adjust a family's p-values by statsmodels; tests that are not shown count as p = 1."""
    # imported here, so that what adjusts nothing starts without it
    from statsmodels.stats.multitest import multipletests

    family = np.ones(size)
    family[: len(p)] = p
    return np.asarray(multipletests(family, method=method)[1][: len(p)])


def _holm(p: np.ndarray, size: int) -> np.ndarray:
    """Adjust a family's p-values by Holm's procedure, the running maximum of (m - i + 1) p(i).

    statsmodels' `holm` collects the garbage of the whole process in every call, which takes longer than the
    procedure for fewer than 100,000 tests.
    """
    order = np.argsort(p)
    stepped = np.maximum.accumulate((size - np.arange(len(p))) * p[order])
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _max_t(family: Drawn, p: np.ndarray) -> np.ndarray:
    """Adjust by step-down max-t; nothing gets smaller."""
    return np.maximum(step_down(family), p)


def _min_p(family: Drawn, p: np.ndarray) -> np.ndarray:
    """Adjust by step-down min-p; Holm's procedure bounds it, and no number of draws limits that."""
    adjusted = np.minimum(step_down_min_p(family), _holm(p, len(p)))
    return np.maximum(adjusted, p)


@dataclass(frozen=True)
class Procedure:
    """A procedure for multiple tests."""

    #: What `procedure=` takes, spelled as in R's `p.adjust`.
    name: str
    #: Its name in print, empty where nothing is adjusted.
    label: str
    #: Adjusted values of p-values without gaps and the size of their family.
    formula: Callable[[np.ndarray, int], np.ndarray] | None
    #: How a Methods section cites it, and what it controls.
    note: str = ""
    #: Adjusted values where P values do not suffice, from what they are counted from, and from these.
    joint: Callable[[Drawn, np.ndarray], np.ndarray] | None = None


_FAMILYWISE = "which controls the family-wise error rate"
_DISCOVERY = "which controls the false discovery rate"
_JOINTLY = f"{_FAMILYWISE} and takes account of how the tests depend on each other"
_POSITIVE = "for independent or positively dependent tests"
_BH = f"the Benjamini-Hochberg procedure (Benjamini and Hochberg 1995), {_DISCOVERY} {_POSITIVE}"
#: Every procedure, in the order in which lists of names have them; `fdr` is another name of BH.
RECORDS = (
    Procedure(
        "bonferroni", "Bonferroni", partial(_multiple_tests, method="bonferroni"),
        f"the Bonferroni procedure, {_FAMILYWISE}",
    ),
    Procedure("holm", "Holm", _holm, f"Holm's procedure (Holm 1979), {_FAMILYWISE}"),
    Procedure(
        "hochberg", "Hochberg", partial(_multiple_tests, method="simes-hochberg"),
        f"Hochberg's procedure (Hochberg 1988), {_FAMILYWISE} {_POSITIVE}",
    ),
    Procedure(
        "hommel", "Hommel", partial(_multiple_tests, method="hommel"),
        f"Hommel's procedure (Hommel 1988), {_FAMILYWISE} {_POSITIVE}",
    ),
    Procedure("BH", "Benjamini-Hochberg", partial(_multiple_tests, method="fdr_bh"), _BH),
    Procedure(
        "BY", "Benjamini-Yekutieli", partial(_multiple_tests, method="fdr_by"),
        f"the Benjamini-Yekutieli procedure (Benjamini and Yekutieli 2001), {_DISCOVERY}",
    ),
    Procedure("fdr", "Benjamini-Hochberg", partial(_multiple_tests, method="fdr_bh"), _BH),
    Procedure(
        "max-t", "step-down max-t", None,
        f"the step-down max-t procedure (Romano and Wolf 2005), {_JOINTLY}",
        joint=_max_t,
    ),
    Procedure(
        "min-p", "step-down min-p", None,
        f"the step-down min-p procedure (Ge et al. 2003), {_JOINTLY}",
        joint=_min_p,
    ),
    Procedure(
        SINGLE_STEP, "single-step min-p", None,
        "the single-step min-p procedure (Ge et al. 2003), with which the simultaneous confidence intervals "
        f"(Beran 1988) agree, {_JOINTLY}",
        joint=single_step,
    ),
    Procedure("none", "", lambda p, size: p),
)  # fmt: skip
#: Those that P values suffice for.
PROCEDURES = tuple(record.name for record in RECORDS if record.joint is None)
#: Those that take what P values are counted from.
JOINT = tuple(record.name for record in RECORDS if record.joint is not None)
_BY_NAME = {record.name.lower(): record for record in RECORDS}


def find_procedure(name: object) -> Procedure | None:
    """Record of a procedure, by its name in any case."""
    return _BY_NAME.get(name.lower()) if isinstance(name, str) else None


def check_procedure(procedure: str, option: str = "procedure", *, drawn: bool = False) -> str:
    """Procedure in R's spelling; where P values are `drawn`, one that needs more than these is known too."""
    known = find_procedure(procedure)
    if known is None:
        return check_choice(procedure, (*PROCEDURES, *(JOINT if drawn else ())), option)
    if known.joint is not None and not drawn:
        raise SalstatsError(
            f"{option}={known.name!r} needs the flips or replicates that P values are counted from; pass "
            f"adjust={known.name!r} to difference() or percent_decrease()"
        )
    return known.name


def _check_p_values(p: np.ndarray) -> np.ndarray:
    """P-values that lie between 0 and 1 or are NaN."""
    outside = np.flatnonzero((p < 0) | (p > 1))
    if len(outside):
        raise ValueRangeError(f"p-value {p[outside[0]]:g} in row {outside[0]} lies outside 0 to 1")
    return p


def _widen(result: pd.DataFrame, rows: np.ndarray, size: np.ndarray) -> None:
    """Replace the limits of the rows of families by Bonferroni limits, in a frame of our own."""
    needed = ("estimate", "conf_low", "conf_high", "conf_level")
    missing = [c for c in needed if c not in result.columns]
    if missing:
        raise ColumnError(
            f"estimates has no column {quoted(missing[:1])}, which intervals=True needs "
            f"(it makes Bonferroni limits from {quoted(needed)})"
        )
    limits = bonferroni_limits(result.iloc[rows], size)
    for column, values in limits.items():
        whole = result[column].to_numpy(dtype=np.float64, copy=True)
        whole[rows] = values
        result[column] = whole


def _alpha(estimates: pd.DataFrame) -> np.ndarray:
    """1 - level of each row, or of its family where the limits are those of one; 0.05 where there is none."""
    name = "family_level" if "family_level" in estimates.columns else "conf_level"
    if name not in estimates.columns:
        return np.full(len(estimates), _ALPHA)
    level = check_numeric(estimates, name, "estimates")
    for one in np.unique(level[~np.isnan(level)]):
        check_level(float(one))
    return np.where(np.isnan(level), _ALPHA, 1 - level)

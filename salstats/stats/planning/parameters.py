"""Parameters of a planned study: SDs, correlations and clusters, or components of readers and cases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_choice, quoted
from salstats.errors import Call, SalstatsError, Setting, ValueRangeError
from salstats.stats.engine.result_warnings import ROUNDING
from salstats.stats.planning.formulas import MrmcComponents

#: Parameters of pairs of scores, with the smallest and the largest value of each.
PAIR_RANGES = {
    "sd_difference": (0.0, np.inf),
    "sd": (0.0, np.inf),
    "sd_reference": (0.0, np.inf),
    "correlation": (-1.0, 1.0),
    "mean_reference": (-np.inf, np.inf),
    "icc": (0.0, 1.0),
    "cluster_size": (1.0, np.inf),
    "n_pilot": (6.0, np.inf),
}
#: Components of readers, by the names that `mrmc_components` gives them, and the cases behind them.
COMPONENT_RANGES = {
    **dict.fromkeys(("error", "cov1", "cov2", "cov3", "method:reader"), (-np.inf, np.inf)),
    "n_cases": (1.0, np.inf),
}
#: Number of readers behind the components, an optional parameter that says how uncertain they are.
_N_READERS_RANGE = {"n_readers": (2.0, np.inf)}


@dataclass(frozen=True)
class ReaderGroup:
    """Components of readers and cases of one group of a pilot."""

    #: Columns that name the group.
    keys: dict[str, Any]
    components: MrmcComponents
    cases_per_unit: float
    #: Readers of the pilot, None where their number is not known.
    n_readers: int | None


def checked_given_parameters(
    parameters: Mapping[str, float], ranges: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """Return parameters as numbers; an unknown name, or a value out of its range, raises ValueRangeError."""
    numbers = {}
    for name, value in parameters.items():
        low, high = ranges[check_choice(name, tuple(ranges), "parameter")]
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        is_in_range = low <= number <= high and not np.isinf(number)
        is_sd_of_0 = name.startswith("sd") and number == 0
        if not is_in_range or is_sd_of_0:
            raise ValueRangeError(
                f"{name} must {_range_verb_phrase_after_must(low, high)}, not {value!r}",
                option=name,
                value=value,
            )
        numbers[name] = number
    return numbers


def _range_verb_phrase_after_must(low: float, high: float) -> str:
    """Return the values that a parameter may have as the end of a sentence: "it must lie in 0 ... 1"."""
    if np.isfinite(high):
        return f"lie in {low:g} ... {high:g}"
    if low == -np.inf:
        return "be a number"
    if low == 0:
        return "be above 0"
    return f"be {low:g} or more"


def sd_of_pair_difference(parameters: Mapping[str, float], slope: float) -> float:
    """SD of method - slope * reference, the two scores of one case.

    Variance of the difference: sd² + (slope sd_reference)² - 2 correlation sd slope sd_reference.
    """
    if "sd_difference" in parameters:
        if slope != 1:
            raise SalstatsError(
                "sd_difference is the SD of method - reference",
                hint="a decrease needs sd and correlation",
                option="sd_difference",
            )
        return parameters["sd_difference"]
    if "sd" not in parameters:
        raise SalstatsError("parameters must hold sd_difference, or sd (of the scores) and correlation")
    method_sd = parameters["sd"]
    reference_sd = slope * parameters.get("sd_reference", method_sd)
    covariance = parameters.get("correlation", 0.0) * method_sd * reference_sd
    variance = method_sd**2 + reference_sd**2 - 2 * covariance
    if variance <= ROUNDING * method_sd**2:
        raise ValueRangeError(
            "with these parameters no case would differ from another",
            hint="take correlation below 1",
            option="correlation",
        )
    return float(np.sqrt(variance))


def design_effect(parameters: Mapping[str, float]) -> float:
    """Variance of a mean over that of as many independent cases: 1 + (m - 1) icc for clusters of m cases."""
    cluster_size = parameters.get("cluster_size", 1.0)
    icc = parameters.get("icc", 0.0)
    return 1 + (cluster_size - 1) * icc


def reader_groups_of_components(source: object) -> list[ReaderGroup]:
    """Return the components of a mapping, or of each group of a frame of `mrmc_components`."""
    if isinstance(source, Mapping):
        numbers = checked_given_parameters(source, COMPONENT_RANGES | _N_READERS_RANGE)
        n_readers = int(numbers["n_readers"]) if "n_readers" in numbers else None
        group = ReaderGroup(
            {"unit": "case"}, _mrmc_components(numbers), cases_per_unit=1.0, n_readers=n_readers
        )
        return [group]
    if not isinstance(source, pd.DataFrame) or {"term", "estimate", "n_units"} - set(source.columns):
        raise SalstatsError(
            Setting("term", "mrmc"),
            " plans from scores with a column 'reader', or from variance components: a mapping, or what ",
            Call("mrmc_components"),
            " returns",
        )
    term_position = list(source.columns).index("term")
    grouping_columns = [str(column) for column in source.columns[:term_position]]
    frames = [source]
    if grouping_columns:
        groups_of_rows = source.groupby(grouping_columns, sort=False, dropna=False, observed=True)
        frames = [rows for _, rows in groups_of_rows]
    groups = []
    for rows in frames:
        first = rows.iloc[0]
        numbers = {}
        for term, estimate in zip(rows["term"], rows["estimate"], strict=True):
            if term in COMPONENT_RANGES:
                numbers[term] = estimate
        # Components of clustered cases describe samples of units, whose number takes the place of n_cases.
        numbers["n_cases"] = first["n_units"]
        components = _mrmc_components(checked_given_parameters(numbers, COMPONENT_RANGES))
        keys = {"unit": "case"}
        for column in (*grouping_columns, "unit", "figure"):
            if column in source.columns:
                keys[column] = first[column]
        n_units = first["n_units"]
        cases_per_unit = float(first.get("n_cases", n_units) / n_units)
        n_readers = int(first["n_readers"]) if "n_readers" in source.columns else None
        groups.append(ReaderGroup(keys, components, cases_per_unit, n_readers))
    return groups


def _mrmc_components(numbers: Mapping[str, float]) -> MrmcComponents:
    """Return the components that parameters hold; raise if one is missing or they contradict each other."""
    missing = [name for name in COMPONENT_RANGES if name not in numbers]
    if missing:
        raise SalstatsError(
            f"the components of readers and cases lack {quoted(missing)}",
            option=missing[0],
            choices=COMPONENT_RANGES,
        )
    if numbers["error"] <= 0:
        raise ValueRangeError(
            f"the component 'error' must be above 0, not {numbers['error']:g}",
            option="error",
            value=numbers["error"],
        )
    # `mrmc` takes a negative cov2 - cov3 as 0; here that is part of this component, as in RJafroc.
    var_tr = numbers["method:reader"] + max(numbers["cov3"] - numbers["cov2"], 0.0)
    covariance_gap = max(numbers["cov2"] - numbers["cov3"], 0.0)
    # Expected mean square of readers by methods (Hillis 2011), to which random cases add the covariance gap
    variance = numbers["error"] - numbers["cov1"] - covariance_gap + max(var_tr, 0.0)
    rounding = ROUNDING * numbers["error"]
    if variance < -rounding or variance + covariance_gap <= rounding:
        raise ValueRangeError(
            f"error - cov1 - (cov2 - cov3) + method:reader of the components is {variance:.3g}, so that "
            "readers' differences between methods would have no variance",
            hint="give a larger error, or smaller covariances",
            option="error",
            value=numbers["error"],
        )
    return MrmcComponents(
        var=numbers["error"],
        cov1=numbers["cov1"],
        cov2=numbers["cov2"],
        cov3=numbers["cov3"],
        var_tr=var_tr,
        n_cases=numbers["n_cases"],
    )

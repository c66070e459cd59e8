"""Parameters of a planned study: SDs, correlations and clusters, or components of readers and cases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, ValueRangeError, check_choice, quoted
from salstats.stats.engine.advice import ROUNDING
from salstats.stats.planning.formulas import Components

#: What `power` takes, with the least and the largest value.
PAIRS = {
    "sd_difference": (0.0, np.inf),
    "sd": (0.0, np.inf),
    "sd_reference": (0.0, np.inf),
    "correlation": (-1.0, 1.0),
    "mean_reference": (-np.inf, np.inf),
    "icc": (0.0, 1.0),
    "cluster_size": (1.0, np.inf),
    "n_pilot": (6.0, np.inf),
}
#: As `mrmc_components` names them, and cases of the study that they are from.
READERS = {
    **dict.fromkeys(("error", "cov1", "cov2", "cov3", "method:reader"), (-np.inf, np.inf)),
    "n_cases": (1.0, np.inf),
}
#: Readers of that study, from whom it is known how uncertain the components are.
_N_READERS = {"n_readers": (2.0, np.inf)}


@dataclass(frozen=True)
class ReaderGroup:
    """Components of readers and cases of one group of a pilot."""

    keys: dict[str, Any]  # what names the group
    components: Components
    cases_per_unit: float
    n_readers: int | None  # readers of the pilot, None where they are not known


def checked(given: Mapping[str, float], known: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """Parameters as numbers, each known and within its range."""
    found = {}
    for name, value in given.items():
        low, high = known[check_choice(name, tuple(known), "parameter")]
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not (low <= number <= high) or np.isinf(number) or (name.startswith("sd") and number == 0):
            span = {-np.inf: "be a number", 0.0: "be above 0"}.get(low, f"be {low:g} or more")
            span = span if np.isinf(high) else f"lie in {low:g} ... {high:g}"
            raise ValueRangeError(f"{name} must {span}, not {value!r}")
        found[name] = number
    return found


def sd_of_pairs(given: Mapping[str, float], kept: float) -> float:
    """SD of own - kept * other of one case."""
    if "sd_difference" in given:
        if kept != 1:
            raise SalstatsError(
                "sd_difference is of method - reference; this plan of a decrease needs sd and correlation"
            )
        return given["sd_difference"]
    if "sd" not in given:
        raise SalstatsError("parameters must hold sd_difference, or sd (of the scores) and correlation")
    own = given["sd"]
    other = kept * given.get("sd_reference", own)
    variance = own**2 + other**2 - 2 * given.get("correlation", 0.0) * own * other
    if variance <= ROUNDING * own**2:
        raise ValueRangeError(
            "these parameters leave no case to differ from another; take correlation below 1"
        )
    return float(np.sqrt(variance))


def design_effect(given: Mapping[str, float]) -> float:
    """How many times the variance of a mean is that of as many independent cases: 1 + (m - 1) icc."""
    return 1 + (given.get("cluster_size", 1.0) - 1) * given.get("icc", 0.0)


def components_of(given: object) -> list[ReaderGroup]:
    """Components of a mapping, or of each group of `mrmc_components`."""
    if isinstance(given, Mapping):
        found = checked(given, READERS | _N_READERS)
        n_readers = int(found["n_readers"]) if "n_readers" in found else None
        return [ReaderGroup({"unit": "case"}, _components(found), 1.0, n_readers)]
    if not isinstance(given, pd.DataFrame) or {"term", "estimate", "n_units"} - set(given.columns):
        raise SalstatsError(
            "term='mrmc' plans from scores with a column 'reader', or from variance components: a mapping, "
            "or what mrmc_components() returns"
        )
    before = [str(c) for c in given.columns[: list(given.columns).index("term")]]
    groups = [rows for _, rows in given.groupby(before, sort=False)] if before else [given]
    listed = []
    for rows in groups:
        first = rows.iloc[0]
        known = {t: v for t, v in zip(rows["term"], rows["estimate"], strict=True) if t in READERS}
        named = {"unit": "case"} | {c: first[c] for c in (*before, "unit", "figure") if c in given.columns}
        parts = _components(checked({**known, "n_cases": first["n_units"]}, READERS))
        cases_per_unit = float(first.get("n_cases", first["n_units"]) / first["n_units"])
        n_readers = int(first["n_readers"]) if "n_readers" in given.columns else None
        listed.append(ReaderGroup(named, parts, cases_per_unit, n_readers))
    return listed


def _components(found: Mapping[str, float]) -> Components:
    """Components, none of which is missing."""
    missing = [name for name in READERS if name not in found]
    if missing:
        raise SalstatsError(f"the components of readers and cases lack {quoted(missing)}")
    if found["error"] <= 0:
        raise ValueRangeError(f"the component 'error' must be above 0, not {found['error']:g}")
    # mrmc takes cov2 - cov3 for 0 where it is below, and so does RJafroc inside this component
    of_readers = found["method:reader"] + max(found["cov3"] - found["cov2"], 0.0)
    return Components(
        found["error"], found["cov1"], found["cov2"], found["cov3"], of_readers, found["n_cases"]
    )

"""Words of mrxai2025 in print: simulations, measures, and what has to be said of both."""

from typing import Any

import pandas as pd

from salstats.display.text.labels import Labels
from salstats.metrics.registry import METRICS
from salstats.scoring.distances import DISTANCES

#: What the penalised Dice is, said wherever one stands.
RECONSTRUCTED = METRICS["pdc"].note
ABBREVIATED = "PDC, Penalised Dice."
#: Identifier of the tables.
TABLE_ID = "mrxai2025"
#: Metric of the share of empty explanations.
EMPTY_SHARE = "empty_explanation"
#: Tools and metrics in print.
NAMES = {
    "rex": "ReX",
    EMPTY_SHARE: "Share of empty explanations",
}
#: The simulations' variants, by name.
VARIANTS = {
    "distance": "Shifted",
    "size_linear": "Linear",
    "size_piecewise": "Piecewise",
    "both_linear_truth1": "Linear, truth of size 1",
    "both_linear_truthmid": "Linear, truth of size 1.15",
    "both_piecewise": "Piecewise",
}
#: Why there are several.
STEPS = (
    "The study's text has nine equal steps of size from 0.6 to 1.7 and says that the fifth has the truth's "
    "size: none of these steps is 1 (the nearest, the fourth, is 1.0125; the fifth is 1.15)."
)
#: What each variant with sizes does.
VARIANT_NOTES = {
    "size_linear": "Linear: equal steps as in the text, truth of size 1.",
    "size_piecewise": "Piecewise: equal steps to 1 and from 1 on, so that the fifth is the truth.",
    "both_linear_truth1": "Linear, truth of size 1: equal steps as in the text.",
    "both_linear_truthmid": "Linear, truth of size 1.15: the fifth step is the truth.",
    "both_piecewise": "Piecewise: equal steps to 1 and from 1 on, so that the fifth is the truth.",
}
#: What the penalised Dice of the tools is, as the study has it.
UNPENALISED = "Penalised Dice has no size penalty here (alpha = beta = 0), as printed."


def steps_note(simulations: list[str]) -> str:
    """Return what has to be known of the sizes of some simulations, nothing where sizes do not change."""
    said = [VARIANT_NOTES[name] for name in simulations if name in VARIANT_NOTES]
    return " ".join([STEPS, *said]) if said else ""


def in_note(*sentences: str) -> str:
    """Return sentences as the note of an item, which begins small and ends without a stop."""
    text = " ".join(s for s in sentences if s).rstrip(".")
    return f"{text[:1].lower()}{text[1:]}" if text[1:2].islower() else text


def labels_of(scores: pd.DataFrame) -> dict[str, Any]:
    """Return labels of tools and metrics, distances with their unit."""
    units = scores["distance_unit"].dropna().unique() if "distance_unit" in scores.columns else []
    unit = f" ({units[0]})" if len(units) == 1 else ""
    distances = {name: f"{METRICS[name].label}{unit}" for name in DISTANCES}
    return {**NAMES, **distances}


def in_order(found: pd.DataFrame, names: Labels) -> list[dict[str, Any]]:
    """Return rows by metric and tool in the order they stand."""
    metrics, methods = (names.order(c, found[c]) for c in ("metric", "method"))
    rows = found.to_dict("records")
    return sorted(rows, key=lambda r: (metrics.index(r["metric"]), methods.index(r["method"])))


def digits_of(row: dict[str, Any]) -> int:
    """Return the decimals of a score."""
    return 1 if row["metric"] in DISTANCES else 3

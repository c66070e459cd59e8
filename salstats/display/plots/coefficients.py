"""Coefficients of models as figures show them: what they are, and their errors."""

import pandas as pd

from salstats.checks import SalstatsError
from salstats.display.plots.captions import distinct
from salstats.display.text.format import joined
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.linear import GAUSSIAN

#: On an axis of logarithms a bar reaches at most this far from the estimates.
_FARTHEST = 1000.0
_ERRORS = {
    "hc0": "robust (HC0)",
    "hc1": "robust (HC1)",
    "hc2": "robust (HC2)",
    "hc3": "robust (HC3)",
    "cluster": "cluster-robust (CR1)",
    "cr2": "cluster-robust (CR2)",
}


def formulas_of(frame: pd.DataFrame) -> list[str]:
    """Return the formula of each row, empty where there is none."""
    if "formula" not in frame.columns:
        return [""] * len(frame)
    return [str(f) for f in frame["formula"].fillna("")]


def is_ratio(frame: pd.DataFrame, name: str) -> bool:
    """Return whether estimates are exponentiated, which all have to be or none."""
    known = {str(v).lower() == "true" for v in distinct(frame, "exponentiated")}
    if len(known) > 1:
        raise SalstatsError(
            f"{name} holds exponentiated estimates beside others, which share no axis; keep one kind, as in "
            f'{name}.query("exponentiated")'
        )
    return known == {True}


def bars_on_log_axis(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return ratios whose bars have an end on an axis of logarithms, and a sentence if one was cut."""
    estimates = frame["estimate"].dropna()
    if (estimates <= 0).any():
        raise SalstatsError(f"an exponentiated estimate is positive, not {estimates.min():g}")
    if estimates.empty:
        return frame, ""
    ends = estimates.min() / _FARTHEST, estimates.max() * _FARTHEST
    limits = frame[["conf_low", "conf_high"]]
    cut = limits.clip(*ends)
    note = (
        "Bars that reach an end of the axis are cut there."
        if ((cut != limits) & limits.notna()).to_numpy().any()
        else ""
    )
    return frame.assign(conf_low=cut["conf_low"], conf_high=cut["conf_high"]), note


def effect_text(frame: pd.DataFrame, ratio: bool) -> str:
    """Return what the coefficients of models are."""
    links = {FAMILIES.get(str(name), GAUSSIAN).link for name in distinct(frame, "family")}
    link = links.pop() if len(links) == 1 else GAUSSIAN.link
    return link.ratio if ratio else link.effect


def errors_note(frame: pd.DataFrame) -> str:
    """Return the sentence that says which standard errors are behind the intervals."""
    kinds = [_ERRORS.get(str(k), str(k)) for k in distinct(frame, "errors")]
    return f"Standard errors: {joined(kinds, 'or')}." if kinds else ""

"""Sentences below figures of estimates, and the titles of their axes."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.display.estimates import Estimates
from salstats.display.facts import (
    heading_with_interval,
    metrics_without_scores_sentence,
    not_drawn_sentence,
    paragraph,
)
from salstats.display.text.format import STYLES, count_text, counted, joined, significance_level_of
from salstats.display.text.labels import Labels
from salstats.display.text.margins import has_margins, margin_mark_note, within_tested_margins_phrase
from salstats.display.text.models import link_scale_clause
from salstats.errors import SalstatsError
from salstats.stats.models.families import FAMILIES, GAUSSIAN

#: Factor by which the limits of a bar on a logarithmic axis may differ from the smallest or largest estimate.
_MAX_BAR_FACTOR = 1000.0
#: Most groups without a value that a caption names one by one.
_MAX_NAMED = 4
#: Significance level of intervals whose levels differ or are not known.
_DEFAULT_SIGNIFICANCE = 0.05


def scope_note(frame: pd.DataFrame, labels: Labels, columns: Iterable[str]) -> str:
    """Return sentences on columns that have a single value: "Metric: IoU. Method: Grad-CAM."."""
    sentences = []
    for column in columns:
        values = distinct_values_by_appearance(frame, column)
        if len(values) == 1:
            sentences.append(f"{labels.column_and_value_text(column, values[0])}.")
    return " ".join(sentences)


def axis_title_text(quantity: str, estimates: Estimates) -> str:
    """Return the title of an axis of estimates: quantity, quantile of a quantile regression, interval."""
    families = [str(family) for family in estimates.distinct_values("family")]
    quantiles = [family for family in families if family.startswith("quantile")]
    return heading_with_interval(", ".join([quantity, *quantiles]), estimates)


def significance_level(estimates: Estimates) -> float:
    """Return the significance level of the intervals or their family, 0.05 where there is no single one."""
    levels = estimates.distinct_values("family_level") or estimates.distinct_values("conf_level")
    if len(levels) != 1:
        return _DEFAULT_SIGNIFICANCE
    return significance_level_of(float(levels[0]))


def p_below_level_text(estimates: Estimates, style: str) -> str:
    """Return "P < 0.05" with the level that belongs to the intervals, as a style writes it."""
    level = f"{significance_level(estimates):.10g}"
    if not STYLES[style].p_has_leading_zero:
        # the style writes no zero before the decimal point of P values
        level = level.removeprefix("0")
    return f"P < {level}"


def margin_notes(estimates: Estimates, labels: Labels, style: str, *, has_marks: bool) -> list[str]:
    """Return sentences on the lines of margins and, if `has_marks`, on the mark of estimates inside them."""
    if not has_margins(estimates):
        return []
    if has_marks:
        return ["Dotted lines: margins.", margin_mark_note(estimates, labels, style)]
    return [f"Dotted lines: margins, {within_tested_margins_phrase(estimates, labels)}."]


def undefined_and_not_drawn_note(
    estimates: Estimates, is_in_panel: np.ndarray, labels: Labels, columns: Sequence[str]
) -> str:
    """Return sentences on estimates that are not defined: how many, and which of them are not drawn.

    A metric without any defined score is named once. `is_in_panel` is whether the panel of each estimate is
    drawn; its row there says "not defined". Undefined estimates of other panels are named by their values in
    `columns`.
    """
    sentences = [metrics_without_scores_sentence(estimates, labels)]
    if estimates.metrics_without_scores:
        has_scores = ~estimates.frame["metric"].isin(estimates.metrics_without_scores).to_numpy()
        estimates = estimates.subset(has_scores)
        is_in_panel = is_in_panel[has_scores]
    panel_estimates = estimates.subset(is_in_panel)
    n_undefined = int((~panel_estimates.has_estimate).sum())
    if n_undefined:
        verb = "is" if n_undefined == 1 else "are"
        sentences.append(f"{n_undefined} of {counted(len(panel_estimates), 'estimate')} {verb} not defined.")
    sentences.append(not_drawn_sentence(estimates.subset(~is_in_panel), labels, columns))
    return paragraph(*sentences)


def distinct_values_by_appearance(frame: pd.DataFrame, column: str) -> list[Any]:
    """Return the distinct values of a column without missing ones, [] where the frame has none."""
    if column not in frame.columns:
        return []
    return list(frame[column].dropna().unique())


def is_ratio(estimates: Estimates) -> bool:
    """Return whether estimates are exponentiated; raise where only some of them are."""
    is_exponentiated = estimates.is_exponentiated
    if is_exponentiated.any() and not is_exponentiated.all():
        name = estimates.name
        raise SalstatsError(
            f"{name} holds exponentiated estimates beside others, which share no axis",
            hint=f'keep one kind, as in {name}.query("exponentiated")',
            column="exponentiated",
        )
    return bool(is_exponentiated.any())


def intervals_cut_to_log_axis(estimates: Estimates) -> tuple[Estimates, str]:
    """Return ratios with intervals that are cut to fit a logarithmic axis, and a sentence if any was cut.

    The sentence is "" if none was cut. SalstatsError if an estimate is not above 0.
    """
    ratios = estimates.non_missing_numbers("estimate")
    if (ratios <= 0).any():
        raise SalstatsError(
            f"exponentiated estimates must be positive, not {ratios.min():g}", column="estimate"
        )
    if not len(ratios):
        return estimates, ""
    limits = estimates.frame[["conf_low", "conf_high"]]
    cut_limits = limits.clip(ratios.min() / _MAX_BAR_FACTOR, ratios.max() * _MAX_BAR_FACTOR)
    is_cut = (cut_limits != limits) & limits.notna()
    note = ""
    if is_cut.to_numpy().any():
        note = "Bars that reach an end of the axis are cut there."
    with_cut_limits = estimates.with_columns(
        conf_low=cut_limits["conf_low"], conf_high=cut_limits["conf_high"]
    )
    return with_cut_limits, note


def effect_name(estimates: Estimates, exponentiated: bool) -> str:
    """Return the name of the estimates of models: "Odds ratio", "Coefficient", "Average marginal effect".

    `exponentiated` is whether the estimates are.
    """
    # marginal estimates have a column `average`, the way of averaging
    is_marginal = bool(estimates.distinct_values("average"))
    if is_marginal and estimates.distinct_values("term"):
        return "Average marginal effect"
    if is_marginal and estimates.distinct_values("reference_level"):
        return f"Difference{link_scale_clause(estimates)}"
    if is_marginal:
        return f"Mean{link_scale_clause(estimates)}"
    links = {FAMILIES.get(str(name), GAUSSIAN).link for name in estimates.distinct_values("family")}
    link = GAUSSIAN.link
    if len(links) == 1:
        link = links.pop()
    return link.ratio if exponentiated else link.effect


def groups_without_value_note(
    groups_without_value: pd.DataFrame, columns: Sequence[str], value_noun: str, labels: Labels
) -> str:
    """Return a sentence that names the groups without a value, "" if there are none.

    `groups_without_value` has a row for each of these groups, with its name in `columns`. `value_noun` is the
    noun of the value that the groups do not have, such as "a defined score".
    """
    if groups_without_value.empty:
        return ""
    groups = []
    for row in groups_without_value.to_dict("records"):
        groups.append(", ".join(labels.value(column, row[column]) for column in columns))
    named_groups = ["; ".join(groups[:_MAX_NAMED])]
    if len(groups) > _MAX_NAMED:
        named_groups.append(f"{count_text(len(groups) - _MAX_NAMED)} more")
    return f"Without {value_noun}: {joined(named_groups)}."

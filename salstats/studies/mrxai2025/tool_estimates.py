"""Means and differences of the tools, without failed explanations and with these at the worst score."""

from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

import salstats as ss
from salstats.checks import check_choice
from salstats.display.text.labels import Labels
from salstats.studies.mrxai2025.compared_cases import (
    EMPTY_REASONS,
    NAMES,
    NOT_GIVEN_REASONS,
    case_and_tool_rows_with_failure_flags,
    scores_at_worst,
)
from salstats.studies.printed_names import printed_name_by_uniquely_matched_name

METRIC_AND_TOOL = ["metric", "method"]


class PickRule(NamedTuple):
    """Tool and metric whose scores pick the cases shown."""

    tool: str
    metric: str


#: Tool and metric whose scores pick the cases of the study's Fig. 8.
STUDY_PICK = PickRule("rex", "pdc")


@dataclass(frozen=True)
class ToolComparisonOptions:
    """Options of the comparison of tools."""

    #: The tool that the others are compared with; None where there is none to compare with.
    reference: str | None
    #: Bootstrap replicates, of intervals that are made of them.
    n_replicates: int = 1000
    #: Interval of means and paired differences, as for `difference`. By default Student's t with patients as
    #: clusters, which allows for few patients.
    interval: str = "t"
    #: True where the penalised Dice is known to be without size penalty.
    unpenalised: bool = False
    #: Tool and metric whose scores pick the cases shown. By default the Penalised Dice of ReX, as in the
    #: study, where both are there, else Dice of the reference or, without one, of the first tool.
    pick: tuple[str, str] | None = None
    #: Compute means and SDs alone, without intervals and tests, as the study does.
    as_published: bool = False

    def tool_and_metric_that_pick_cases(self, compared: pd.DataFrame) -> PickRule:
        """Return the tool and metric whose scores pick the cases shown."""
        tools = [str(tool) for tool in compared["method"].unique()]
        metrics = [str(metric) for metric in compared["metric"].unique()]
        if self.pick is not None:
            tool, metric = self.pick
            return PickRule(check_choice(tool, tools, "pick"), check_choice(metric, metrics, "pick"))
        if STUDY_PICK.tool in tools and STUDY_PICK.metric in metrics:
            return STUDY_PICK
        return PickRule(self.reference or tools[0], "dice")


def means_with_counts_and_print(
    compared: pd.DataFrame, options: ToolComparisonOptions, printed: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return mean, SD and counts of each tool and metric, and the mean and SD that the study printed."""
    unit = patient_unit_or_none(compared)
    described = ss.describe(compared, by=METRIC_AND_TOOL, unit=unit)
    if options.as_published:
        rows = described.rename(columns={"mean": "estimate"}).assign(term="mean")
        rows = rows[[*METRIC_AND_TOOL, "term", "estimate", "n", "n_missing"]]
    else:
        rows = ss.summarize(
            compared,
            by=METRIC_AND_TOOL,
            unit=unit,
            interval=options.interval,
            n_replicates=options.n_replicates,
        )
    tools = case_and_tool_rows_with_failure_flags(compared).groupby("method")
    counts = tools.agg(n_cases=("case", "size"), n_empty=("empty", "sum"), n_not_given=("not_given", "sum"))
    n_given = counts["n_cases"] - counts["n_not_given"]
    counts["share_empty"] = counts["n_empty"] / n_given
    counts = counts[["n_cases", "n_empty", "share_empty", "n_not_given"]]
    rows = rows.merge(described[[*METRIC_AND_TOOL, "sd"]], on=METRIC_AND_TOOL, validate="1:1")
    rows = rows.merge(counts, on="method", validate="m:1")
    return rows.merge(
        _printed_dice_of_matched_methods(rows["method"], printed),
        on=METRIC_AND_TOOL,
        how="left",
        validate="1:1",
    )


def differences_from_reference(scores: pd.DataFrame, options: ToolComparisonOptions) -> pd.DataFrame:
    """Return the paired differences from the reference, with Holm's correction over all of them."""
    assert options.reference is not None, "items of differences need a reference"
    return ss.difference(
        scores,
        reference=options.reference,
        by="metric",
        unit=patient_unit_or_none(scores),
        adjust="holm",
        interval=options.interval,
        n_replicates=options.n_replicates,
    )


def estimates_without_failures_and_at_worst(
    compared: pd.DataFrame, options: ToolComparisonOptions, diagonals: pd.Series | None = None
) -> pd.DataFrame:
    """Return means and differences without failures and, in `worst_...`, with these at the worst score.

    A metric is left out where some failures have no worst score, since its means could not be interpreted.
    `changed` says whether the verdict changes.
    """
    worst = scores_at_worst(compared, diagonals)
    failure_reasons = (*EMPTY_REASONS, *NOT_GIVEN_REASONS)
    is_unscored = worst["score"].isna() & worst["reason"].isin(failure_reasons)
    has_unscored = is_unscored.groupby(worst["metric"]).transform("any")
    if has_unscored.all():
        return pd.DataFrame(columns=[*METRIC_AND_TOOL, "mean", "n", "changed"])
    estimates = _means_beside_differences(compared[~has_unscored].reset_index(drop=True), options)
    worst_estimates = _means_beside_differences(worst[~has_unscored].reset_index(drop=True), options)
    worst_names = {name: f"worst_{name}" for name in worst_estimates.columns if name not in METRIC_AND_TOOL}
    worst_estimates = worst_estimates.rename(columns=worst_names)
    estimates = estimates.merge(worst_estimates, on=METRIC_AND_TOOL, validate="1:1")
    is_other_verdict = estimates["verdict"] != estimates["worst_verdict"]
    estimates["changed"] = estimates["verdict"].notna() & is_other_verdict
    return estimates


def _means_beside_differences(scores: pd.DataFrame, options: ToolComparisonOptions) -> pd.DataFrame:
    """Return the mean of each tool and metric beside its difference from the reference."""
    summary = ss.summarize(
        scores,
        by=METRIC_AND_TOOL,
        unit=patient_unit_or_none(scores),
        interval=options.interval,
        n_replicates=options.n_replicates,
    )
    tool_means = summary[[*METRIC_AND_TOOL, "estimate", "n"]].rename(columns={"estimate": "mean"})
    limits = ["conf_low", "conf_high", "conf_level", "interval", "unit"]
    columns = [*METRIC_AND_TOOL, "estimate", *limits, "p_adjusted", "n_pairs", "verdict"]
    tool_differences = differences_from_reference(scores, options)[columns]
    return tool_means.merge(tool_differences, on=METRIC_AND_TOOL, how="left", validate="1:1")


def patient_unit_or_none(scores: pd.DataFrame) -> str | None:
    """Return "patient" if every row has a patient, else None for the default unit."""
    if "patient" in scores.columns and scores["patient"].notna().all():
        return "patient"
    return None


def _printed_dice_of_matched_methods(methods: pd.Series, printed: pd.DataFrame | None) -> pd.DataFrame:
    """Return the printed mean and SD of Dice, by the name in `methods`, of the tools that the study has."""
    columns = [*METRIC_AND_TOOL, "printed_mean", "printed_sd"]
    if printed is None:
        return pd.DataFrame(columns=columns)
    numbers = printed.set_index("method")
    names = printed_name_by_uniquely_matched_name(methods, numbers.index, "method", Labels(NAMES))
    rows = []
    for method, printed_name in names.items():
        tool_numbers = numbers.loc[printed_name]
        rows.append(("dice", method, tool_numbers["dice_mean"], tool_numbers["dice_sd"]))
    return pd.DataFrame(rows, columns=columns)

"""Means and differences of the tools, without failed explanations and with these at the worst score."""

from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

import salstats as ss
from salstats.checks import check_choice
from salstats.display.text.labels import Labels
from salstats.studies.mrxai2025.cases import (
    EMPTY_REASONS,
    NAMES,
    NOT_GIVEN_REASONS,
    at_worst,
    failed_explanations,
)
from salstats.studies.printed_names import match_names

BY = ["metric", "method"]


class PickRule(NamedTuple):
    """Tool and metric whose scores pick the cases shown."""

    tool: str
    metric: str


#: Tool and metric whose scores pick the cases of the study's Fig. 8.
STUDY_PICK = PickRule("rex", "pdc")


@dataclass(frozen=True)
class ComparisonOptions:
    """Options of the comparison of tools."""

    #: The tool that the others are compared with; None where there is none to compare with.
    reference: str | None
    #: Bootstrap replicates, of intervals that are made of them.
    n_replicates: int = 1000
    #: Interval of means and paired differences, as for `difference`. By default Student's t with patients as
    #: clusters, which allows for few patients.
    interval: str = "t"
    #: True where the penalised Dice is known to have no size penalty.
    unpenalised: bool = False
    #: Tool and metric whose scores pick the cases shown. By default the Penalised Dice of ReX, as in the
    #: study, where both are there, else Dice of the reference or, without one, of the first tool.
    pick: tuple[str, str] | None = None
    #: Compute means and SDs alone, without intervals and tests, as the study does.
    as_published: bool = False

    def pick_rule(self, compared: pd.DataFrame) -> PickRule:
        """Return the tool and metric whose scores pick the cases shown."""
        tools = [str(tool) for tool in compared["method"].unique()]
        metrics = [str(metric) for metric in compared["metric"].unique()]
        if self.pick is not None:
            tool, metric = self.pick
            return PickRule(check_choice(tool, tools, "pick"), check_choice(metric, metrics, "pick"))
        if STUDY_PICK.tool in tools and STUDY_PICK.metric in metrics:
            return STUDY_PICK
        return PickRule(self.reference or tools[0], "dice")


def means(
    compared: pd.DataFrame, options: ComparisonOptions, printed: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return mean, SD and counts of each tool and metric, and the mean and SD that the study printed."""
    unit = unit_of(compared)
    described = ss.describe(compared, by=BY, unit=unit)
    if options.as_published:
        rows = described.rename(columns={"mean": "estimate"}).assign(term="mean")
        rows = rows[[*BY, "term", "estimate", "n", "n_missing"]]
    else:
        rows = ss.summarize(
            compared, by=BY, unit=unit, interval=options.interval, n_replicates=options.n_replicates
        )
    counts = (
        failed_explanations(compared)
        .groupby("method")
        .agg(n_cases=("case", "size"), n_empty=("empty", "sum"), n_not_given=("not_given", "sum"))
    )
    counts["share_empty"] = counts["n_empty"] / (counts["n_cases"] - counts["n_not_given"])
    counts = counts[["n_cases", "n_empty", "share_empty", "n_not_given"]]
    rows = rows.merge(described[[*BY, "sd"]], on=BY, validate="1:1")
    rows = rows.merge(counts, on="method", validate="m:1")
    return rows.merge(_printed_dice(rows["method"], printed), on=BY, how="left", validate="1:1")


def differences(scores: pd.DataFrame, options: ComparisonOptions) -> pd.DataFrame:
    """Return the paired differences from the reference, with Holm's correction over all of them."""
    assert options.reference is not None, "items of differences need a reference"
    return ss.difference(
        scores,
        reference=options.reference,
        by="metric",
        unit=unit_of(scores),
        adjust="holm",
        interval=options.interval,
        n_replicates=options.n_replicates,
    )


def sensitivity(
    compared: pd.DataFrame, options: ComparisonOptions, diagonals: pd.Series | None = None
) -> pd.DataFrame:
    """Return means and differences without failures and, in columns `worst_...`, with failures at the worst.

    A metric whose failures cannot all be scored is left out; `changed` says whether the verdict changes.
    """
    worst = at_worst(compared, diagonals)
    is_unscored = worst["score"].isna() & worst["reason"].isin((*EMPTY_REASONS, *NOT_GIVEN_REASONS))
    # With some failures at worst and others undefined, a metric could not be interpreted.
    is_scored_metric = ~is_unscored.groupby(worst["metric"]).transform("any")
    if not is_scored_metric.any():
        return pd.DataFrame(columns=[*BY, "mean", "n", "changed"])
    left_out_run = _means_and_differences(compared[is_scored_metric].reset_index(drop=True), options)
    worst_run = _means_and_differences(worst[is_scored_metric].reset_index(drop=True), options)
    worst_run = worst_run.rename(columns={c: f"worst_{c}" for c in worst_run.columns if c not in BY})
    runs = left_out_run.merge(worst_run, on=BY, validate="1:1")
    runs["changed"] = runs["verdict"].notna() & (runs["verdict"] != runs["worst_verdict"])
    return runs


def _means_and_differences(scores: pd.DataFrame, options: ComparisonOptions) -> pd.DataFrame:
    """Return the mean of each tool and metric beside its difference from the reference."""
    summary = ss.summarize(
        scores, by=BY, unit=unit_of(scores), interval=options.interval, n_replicates=options.n_replicates
    )
    limits = ["conf_low", "conf_high", "conf_level", "interval", "unit"]
    columns = ["estimate", *limits, "p_adjusted", "n_pairs", "verdict"]
    rows = summary[[*BY, "estimate", "n"]].rename(columns={"estimate": "mean"})
    return rows.merge(differences(scores, options)[[*BY, *columns]], on=BY, how="left", validate="1:1")


def unit_of(scores: pd.DataFrame) -> str | None:
    """Return the unit that is resampled: patients where they are known, else the default."""
    if "patient" in scores.columns and scores["patient"].notna().all():
        return "patient"
    return None


def _printed_dice(methods: pd.Series, printed: pd.DataFrame | None) -> pd.DataFrame:
    """Return the printed mean and SD of Dice of the tools that the study has, by our names."""
    columns = [*BY, "printed_mean", "printed_sd"]
    if printed is None:
        return pd.DataFrame(columns=columns)
    numbers = printed.set_index("method")
    names = match_names(methods, numbers.index, "method", Labels(NAMES))
    rows = [
        ("dice", method, numbers.loc[printed_name, "dice_mean"], numbers.loc[printed_name, "dice_sd"])
        for method, printed_name in names.items()
    ]
    return pd.DataFrame(rows, columns=columns)

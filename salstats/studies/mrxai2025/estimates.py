"""The tools' means and differences, as they are and with failed explanations at the worst score."""

from dataclasses import dataclass

import pandas as pd

import salstats as ss
from salstats.checks import check_choice
from salstats.display.text.labels import Labels
from salstats.studies.mrxai2025.cases import EMPTIES, NAMES, NOT_GIVEN, at_worst, failed
from salstats.studies.printed_names import match_names

BY = ["metric", "method"]
#: Whose scores pick the study's Fig. 8.
STUDY_PICK = ("rex", "pdc")


@dataclass(frozen=True)
class ComparisonOptions:
    """How the tools are compared."""

    #: The tool that the others are compared with; None where there is none to compare with.
    reference: str | None
    #: Bootstrap replicates, of intervals that are made of them.
    n_replicates: int = 1000
    #: Of means and paired differences, as `difference` has them. By default Student's t with patients as
    #: clusters, which allows for few patients.
    interval: str = "t"
    #: Whether the penalised Dice is known to have no size penalty.
    unpenalised: bool = False
    #: Tool and metric whose scores pick the cases shown. By default the Penalised Dice of ReX, as in the
    #: study, where both are there, else Dice of the reference or, without one, of the first tool.
    pick: tuple[str, str] | None = None
    #: Means and SDs alone, as the study has them: no intervals and no tests.
    as_published: bool = False

    def picked_by(self, kept: pd.DataFrame) -> tuple[str, str]:
        """Tool and metric whose scores pick the cases shown."""
        tools = [str(tool) for tool in kept["method"].unique()]
        metrics = [str(metric) for metric in kept["metric"].unique()]
        if self.pick is not None:
            tool, metric = self.pick
            return check_choice(tool, tools, "--pick"), check_choice(metric, metrics, "--pick")
        if STUDY_PICK[0] in tools and STUDY_PICK[1] in metrics:
            return STUDY_PICK
        return self.reference or tools[0], "dice"


def means(
    kept: pd.DataFrame, options: ComparisonOptions, printed: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Mean and SD of each tool and metric, what they rest on, and what the study printed."""
    unit = unit_of(kept)
    described = ss.describe(kept, by=BY, unit=unit)
    spread = described[[*BY, "sd"]]
    if options.as_published:
        found = described.rename(columns={"mean": "estimate"}).assign(term="mean")
        found = found[[*BY, "term", "estimate", "n", "n_missing"]]
    else:
        found = ss.summarize(
            kept, by=BY, unit=unit, interval=options.interval, n_replicates=options.n_replicates
        )
    counted = (
        failed(kept)
        .groupby("method")
        .agg(n_cases=("case", "size"), n_empty=("empty", "sum"), n_not_given=("not_given", "sum"))
    )
    counted["share_empty"] = counted["n_empty"] / (counted["n_cases"] - counted["n_not_given"])
    found = found.merge(spread, on=BY, validate="1:1").merge(
        counted[["n_cases", "n_empty", "share_empty", "n_not_given"]], on="method", validate="m:1"
    )
    return found.merge(_printed(found["method"], printed), on=BY, how="left", validate="1:1")


def differences(scores: pd.DataFrame, options: ComparisonOptions) -> pd.DataFrame:
    """The paired differences from the reference, Holm's correction over all of them."""
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
    kept: pd.DataFrame, options: ComparisonOptions, diagonals: pd.Series | None = None
) -> pd.DataFrame:
    """Means and differences as they are and, in columns that begin with `worst_`, with failures at the worst.

    A metric whose failures cannot all be scored is left out; `changed` says whether the verdict does.
    """
    worst = at_worst(kept, diagonals)
    unknown = worst["score"].isna() & worst["reason"].isin((*EMPTIES, *NOT_GIVEN))
    # left out as a whole: with some failures at worst and others undefined nothing could be read
    whole = ~unknown.groupby(worst["metric"]).transform("any")
    limits = ["conf_low", "conf_high", "conf_level", "interval", "unit"]
    columns = ["estimate", *limits, "p_adjusted", "n_pairs", "verdict"]
    sides = []
    for rows, before in ((kept[whole], ""), (worst[whole], "worst_")):
        if rows.empty:
            return pd.DataFrame(columns=[*BY, "mean", "n", "changed"])
        rows = rows.reset_index(drop=True)
        found = ss.summarize(
            rows, by=BY, unit=unit_of(rows), interval=options.interval, n_replicates=options.n_replicates
        )
        gaps = differences(rows, options)
        side = found[[*BY, "estimate", "n"]].rename(columns={"estimate": "mean"})
        side = side.merge(gaps[[*BY, *columns]], on=BY, how="left", validate="1:1")
        sides.append(side.rename(columns={c: f"{before}{c}" for c in side.columns if c not in BY}))
    beside = sides[0].merge(sides[1], on=BY, validate="1:1")
    beside["changed"] = beside["verdict"].notna() & (beside["verdict"] != beside["worst_verdict"])
    return beside


def unit_of(scores: pd.DataFrame) -> str | None:
    """What is resampled: patients where they are known."""
    known = "patient" in scores.columns and bool(scores["patient"].notna().all())
    return "patient" if known else None


def _printed(methods: pd.Series, printed: pd.DataFrame | None) -> pd.DataFrame:
    """The printed mean and SD of Dice of the tools that the study has, by our names."""
    columns = [*BY, "printed_mean", "printed_sd"]
    if printed is None:
        return pd.DataFrame(columns=columns)
    numbers = printed.set_index("method")
    names = match_names(methods, numbers.index, "method", Labels(NAMES))
    rows = [
        ("dice", own, numbers.loc[name, "dice_mean"], numbers.loc[name, "dice_sd"])
        for own, name in names.items()
    ]
    return pd.DataFrame(rows, columns=columns)

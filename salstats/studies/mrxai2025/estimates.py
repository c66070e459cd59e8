"""The tools' means and differences, as they are and with failed explanations at the worst score."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

import salstats as ss
from salstats.checks import check_choice
from salstats.display.text.labels import Labels
from salstats.studies.mrxai2025.cases import EMPTIES, NAMES, NOT_GIVEN, at_worst, failed

BY = ["metric", "method"]
#: Whose scores pick the study's Fig. 8.
STUDY_PICK = ("rex", "pdc")


@dataclass(frozen=True)
class Choice:
    """How the tools are compared."""

    #: The tool that the others are compared with.
    reference: str
    #: Bootstrap replicates, of intervals that are made of them.
    n_replicates: int = 1000
    #: Of means and paired differences, as `difference` has them. By default Student's t with patients as
    #: clusters, which allows for few patients.
    interval: str = "t"
    #: Whether the penalised Dice is known to have no size penalty.
    unpenalised: bool = False
    #: Tool and metric whose scores pick the cases shown. By default the Penalised Dice of ReX, as in the
    #: study, where both are there, else Dice of the reference.
    pick: tuple[str, str] | None = None

    def picked_by(self, kept: pd.DataFrame) -> tuple[str, str]:
        """Tool and metric whose scores pick the cases shown."""
        there = {column: [str(v) for v in kept[column].unique()] for column in ("method", "metric")}
        if self.pick is None:
            study = STUDY_PICK[0] in there["method"] and STUDY_PICK[1] in there["metric"]
            return STUDY_PICK if study else (self.reference, "dice")
        tool, metric = self.pick
        return check_choice(tool, there["method"], "--pick"), check_choice(metric, there["metric"], "--pick")


def means(kept: pd.DataFrame, choice: Choice, printed: pd.DataFrame | None = None) -> pd.DataFrame:
    """Mean and SD of each tool and metric, what they rest on, and what the study printed."""
    unit = unit_of(kept)
    found = ss.summarize(kept, by=BY, unit=unit, interval=choice.interval, n_replicates=choice.n_replicates)
    spread = ss.describe(kept, by=BY, unit=unit)[[*BY, "sd"]]
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


def differences(scores: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The paired differences from the reference, Holm's correction over all of them."""
    return ss.difference(
        scores,
        reference=choice.reference,
        by="metric",
        unit=unit_of(scores),
        adjust="holm",
        interval=choice.interval,
        n_replicates=choice.n_replicates,
    )


def sensitivity(kept: pd.DataFrame, choice: Choice, diagonals: pd.Series | None = None) -> pd.DataFrame:
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
            rows, by=BY, unit=unit_of(rows), interval=choice.interval, n_replicates=choice.n_replicates
        )
        gaps = differences(rows, choice)
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


def _printed(methods: Sequence[str] | pd.Series, printed: pd.DataFrame | None) -> pd.DataFrame:
    """The printed mean and SD of Dice of the tools that the study has, by our names."""
    columns = [*BY, "printed_mean", "printed_sd"]
    if printed is None:
        return pd.DataFrame(columns=columns)
    labels = Labels(NAMES)
    names = {_bare(labels.value("method", m)): m for m in dict.fromkeys(methods)}
    rows = [
        ("dice", names[_bare(row.method)], row.dice_mean, row.dice_sd)
        for row in printed.itertuples()
        if _bare(row.method) in names
    ]
    return pd.DataFrame(rows, columns=columns)


def _bare(name: str) -> str:
    """A name's letters and digits in lower case."""
    return "".join(c for c in name.lower() if c.isalnum())

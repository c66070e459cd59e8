"""Cases to look at in a report: which they are follows from the scores and from nothing else."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import plotnine as p9

from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.stats.case_selection import pick_cases

#: What a case is picked for.
PICKS = ("worst", "median", "best")


@dataclass(frozen=True)
class Examples:
    """Maps behind some scores, and what draws them.

    Attributes
    ----------
    source : str
        Where the maps are from, for messages.
    maps : DataFrame
        The `case`, `task` and `method` of each.
    draw : callable
        Figure of picked cases, from the cases, the scores of one metric and labels.
    """

    source: str
    maps: pd.DataFrame
    draw: Callable[[pd.DataFrame, pd.DataFrame, Labels], p9.ggplot]

    def picks(self, scores: pd.DataFrame, method: str, metric: str) -> pd.DataFrame:
        """Cases with a map whose score is the worst, the median and the best.

        Raises
        ------
        SalstatsError
            There is no map that the scores are of.
        """
        keys = [c for c in ("case", "task") if c in scores.columns]
        there = set(self.maps.loc[self.maps["method"] == method, keys].itertuples(index=False, name=None))
        drawn = [key in there for key in scores[keys].astype(str).itertuples(index=False, name=None)]
        own = scores[pd.Series(drawn, index=scores.index) & (scores["metric"] == metric)]
        if not own["score"].notna().any():
            raise SalstatsError(f"{self.source} has no map of {method!r} that these scores are of")
        return pick_cases(own, at=PICKS, method=method, by="metric")

    def figure(self, picks: pd.DataFrame, scores: pd.DataFrame, labels: Labels) -> p9.ggplot:
        """Maps of these cases beside each other, with their scores."""
        return self.draw(picks, scores[scores["metric"] == picks["metric"].iloc[0]], labels)

"""Maps of cases that a report shows, picked by their scores alone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.coded_text import TEXT
from salstats.display.plots.layout.figure import Figure
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.stats.case_selection import pick_cases

#: Positions among the sorted scores that cases are picked at.
PICKS = ("worst", "median", "best")


@dataclass(frozen=True)
class Examples:
    """Maps behind some scores, and the function that draws them.

    Attributes
    ----------
    source : str
        Source of the maps, for messages.
    maps : DataFrame
        The `case`, `task` and `method` of each map.
    draw : callable
        Draws picked cases, from the cases, the scores of one metric and labels.
    """

    source: str
    maps: pd.DataFrame
    draw: Callable[[pd.DataFrame, pd.DataFrame, Labels], Figure]

    def picked_cases(self, scores: pd.DataFrame, method: str, metric: str) -> pd.DataFrame:
        """Pick the cases with a map whose score is the worst, the median and the best.

        Raises
        ------
        SalstatsError
            No defined score has a map.
        """
        keys = [column for column in ("case", "task") if column in scores.columns]
        maps = self.maps.loc[self.maps["method"] == method, keys]
        mapped = set(maps.itertuples(index=False, name=None))
        keys_of_rows = scores[keys].astype(TEXT).itertuples(index=False, name=None)
        has_map = np.array([key in mapped for key in keys_of_rows], dtype=bool)
        candidates = scores[has_map & (scores["metric"] == metric)]
        if not candidates["score"].notna().any():
            raise SalstatsError(f"{self.source} has no map of {method!r} for these scores")
        return pick_cases(candidates, at=PICKS, method=method, by="metric")

    def figure(self, picks: pd.DataFrame, scores: pd.DataFrame, labels: Labels) -> Figure:
        """Draw the maps of picked cases beside each other, with their scores."""
        metric = picks["metric"].iloc[0]
        return self.draw(picks, scores[scores["metric"] == metric], labels)

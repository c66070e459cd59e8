"""Cases to look at in a report: which they are follows from the scores and from nothing else."""

from dataclasses import dataclass, replace

import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError
from salstats.display.plots.gallery import plot_gallery
from salstats.display.plots.image_sources import ImageSource
from salstats.display.text.labels import Labels
from salstats.stats.picking import pick_cases
from salstats.study import HUMAN, Series, Study

#: What a case is picked for.
PICKS = ("worst", "median", "best")


@dataclass(frozen=True)
class Examples:
    """Maps behind some scores, and the images that they are drawn over.

    Attributes
    ----------
    study : Study
    images : folder or mapping, optional
    """

    study: Study
    images: ImageSource | None = None

    def picks(self, scores: pd.DataFrame, method: str, metric: str) -> pd.DataFrame:
        """Return the cases of the study whose score is the worst, the median and the best.

        Raises
        ------
        SalstatsError
            The study has no map that the scores are of.
        """
        there = {(c.case, p.task) for c in self.study for p in c.predictions if p.series.method == method}
        tasks = (
            scores["task"] if "task" in scores.columns else [next(iter(self.study.tasks), "")] * len(scores)
        )
        drawn = [key in there for key in zip(scores["case"].astype(str), tasks, strict=True)]
        own = scores[pd.Series(drawn, index=scores.index) & (scores["metric"] == metric)]
        if not own["score"].notna().any():
            raise SalstatsError(f"{self.study.source} has no map of {method!r} that these scores are of")
        return pick_cases(own, at=PICKS, method=method, by="metric")

    def figure(self, picks: pd.DataFrame, scores: pd.DataFrame, labels: Labels) -> p9.ggplot:
        """Return the maps of these cases beside each other, with their scores."""
        metric = str(picks["metric"].iloc[0])
        study, rows = self._bare(scores[scores["metric"] == metric])
        known = set(rows["method"])
        there = labels.order("method", [s.method for s in study.series if s.method in known])
        methods = sorted(there, key=lambda m: m == HUMAN)
        return plot_gallery(study, picks, methods=methods, scores=rows, images=self.images, labels=labels)

    def _bare(self, rows: pd.DataFrame) -> tuple[Study, pd.DataFrame]:
        """Return study and scores without network and seed where each method has one: nothing to tell apart.

        A report is on one network, whose name stands among its settings.
        """
        methods = [s.method for s in self.study.series]
        if len(set(methods)) < len(methods):
            return self.study, rows
        bare = {s: Series(s.method) for s in self.study.series}
        cases = tuple(
            replace(c, predictions=tuple(replace(p, series=bare[p.series]) for p in c.predictions))
            for c in self.study
        )
        study = replace(self.study, cases=cases, series=tuple(bare.values()))
        return study, rows.drop(columns=[c for c in ("model", "seed", "reader") if c in rows.columns])

"""The parts of a report: which tables and figures show which frame, numbered in order."""

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd
import plotnine as p9

import salstats as ss
from salstats.checks import SalstatsError
from salstats.display.plots.theme import TEXT_PT
from salstats.display.report.analyses import (
    Analyses,
    compared_methods,
    metric_order,
    repeated_patients,
    several,
)
from salstats.display.report.examples import PICKS, Examples
from salstats.display.report.model import Item, Section, Settings
from salstats.display.report.results import result_sentences
from salstats.display.report.wording import column_words, method_words
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels


class Contents:
    """The sections of a report, made in order so that tables and figures are numbered as they stand."""

    def __init__(
        self,
        scores: pd.DataFrame,
        done: Analyses,
        settings: Settings,
        labels: Labels,
        shown: Examples | None = None,
    ) -> None:
        self.scores, self.done, self.settings, self.labels = scores, done, settings, labels
        self.shown = shown
        self.style: dict[str, Any] = {"labels": labels, "style": settings.style}
        self._numbers = {"Table": 0, "Figure": 0}

    def sections(self) -> tuple[Section, ...]:
        """Sections for which there is something to show."""
        made = (
            self.cases(),
            self.means(),
            self.contrasts(),
            self.confidence(),
            self.covariates(),
            self.examples(),
        )
        return tuple(section for section in made if section is not None)

    def cases(self) -> Section:
        """Flow of cases and what the scores look like."""
        return self._section(
            "cases",
            "Cases and scores",
            ("flow", "describe"),
            [
                self._item(
                    "Figure",
                    "flow",
                    "Flow of cases",
                    "flow",
                    lambda flow: ss.plot_flow(flow, labels=self.labels),
                    caption="Scores, cases and units at each step, and scores left out by reason.",
                    alt="Flow diagram of cases and scores; the same counts are in the file of this figure.",
                ),
                self._item(
                    "Table",
                    "description",
                    "Scores by metric and method",
                    "describe",
                    lambda frame: ss.table_describe(frame, **self.style),
                ),
            ],
        )

    def means(self) -> Section:
        """Means of every metric, method and task."""
        metrics = self._names("metric", metric_order(self.scores))
        decrease, auroc = (self.done.frames.get(key) for key in ("decrease", "auroc"))
        ordered = {} if decrease is None else {"decrease": decrease}
        if auroc is not None and "task" in auroc.columns:
            ordered["auroc"] = auroc
        return self._section(
            "means",
            "Localisation",
            ("means",),
            [
                self._item(
                    "Table",
                    "means",
                    f"{joined(metrics)} by method" + (" and task" if self._tasks else ""),
                    "means",
                    lambda frame: ss.table_estimates(
                        frame,
                        differences=self.done.frames.get("difference"),
                        exclude=[self.settings.reference] if self.settings.reference else [],
                        **self.style,
                    ),
                ),
                self._item(
                    "Figure",
                    "intervals",
                    f"Mean {joined(metrics)} by method" + (" and task" if self._tasks else ""),
                    "means",
                    lambda frame: ss.plot_intervals(frame, **ordered, **self.style),
                    alt=f"Means of {joined(metrics)} with intervals; the numbers are in the table above.",
                ),
                self._item(
                    "Figure",
                    "scores",
                    f"Distribution of {joined(metrics)} over cases",
                    None,
                    lambda _: ss.plot_box(self.scores, reference=self.settings.reference, labels=self.labels),
                    frame=lambda: ss.describe(self.scores, unit=self.settings.unit),
                    call=f"ss.describe(scores, unit={self.settings.unit!r})",
                    alt="Box plots of scores by method; the numbers are in the file of this figure.",
                ),
            ],
        )

    def contrasts(self) -> Section | None:
        """How the methods compare with the reference."""
        if self.settings.reference is None:
            return None
        reference = method_words(self.settings.reference, self.labels).removeprefix("the ")
        return self._section(
            "contrasts",
            f"Comparison with the {reference}",
            ("decrease", "difference"),
            [
                self._item(
                    "Table",
                    "decrease",
                    f"Percentage decrease from the {reference}",
                    "decrease",
                    lambda frame: ss.table_decrease(frame, **self.style),
                ),
                self._item(
                    "Figure",
                    "decrease_forest",
                    f"Percentage decrease from the {reference}",
                    "decrease",
                    lambda frame: ss.plot_decrease(frame, **self.style),
                    alt=f"Percentage decreases from the {reference} with intervals; "
                    "the numbers are in the table above.",
                ),
                self._item(
                    "Table",
                    "difference",
                    f"Difference from the {reference}",
                    "difference",
                    lambda frame: ss.table_decrease(frame, **self.style),
                ),
            ],
        )

    def confidence(self) -> Section | None:
        """How scores go with the model's confidence."""
        if not {"auroc", "correlation", "confidence"} & set(self.done.frames):
            return None
        compared = compared_methods(self.scores, self.settings)
        first = metric_order(compared)[0]
        metric = self.labels.value("metric", first)
        prob = column_words("prob", self.labels)
        return self._section(
            "confidence",
            self.labels.column("prob"),
            ("auroc", "correlation"),
            [
                self._item(
                    "Table",
                    "auroc",
                    "Discrimination of the classifier (AUROC)",
                    "auroc",
                    lambda frame: ss.table_estimates(frame, **self.style),
                ),
                self._item(
                    "Figure",
                    "confidence",
                    f"{metric} against {prob}",
                    "confidence",
                    lambda frame: ss.plot_scatter(compared, "prob", first, fit=frame, labels=self.labels),
                    caption=f"Linear models with standard errors clustered by {self.settings.unit} (CR2).",
                    alt=f"Scatter plots of {metric} against {prob} with fitted lines.",
                ),
                self._item(
                    "Table",
                    "correlation",
                    f"Rank correlation of scores with {prob}",
                    "correlation",
                    lambda frame: ss.table_correlation(frame, **self.style).tab_source_note(self._once()),
                ),
            ],
        )

    def covariates(self) -> Section | None:
        """What goes with better or worse scores."""
        if not {"covariates", "regression"} & set(self.done.frames):
            return None
        return self._section(
            "covariates",
            "What goes with the scores",
            ("regression",),
            [
                self._item(
                    "Figure",
                    "covariates",
                    "Distribution of covariates" + (" by task" if self._tasks else ""),
                    "covariates",
                    lambda frame: ss.plot_letter_values(frame, labels=self.labels),
                    alt="Letter-value plots of the covariates.",
                ),
                self._item(
                    "Table",
                    "regression",
                    "Regression of scores on covariates",
                    "regression",
                    lambda frame: ss.table_regression(frame, **self.style),
                ),
                self._item(
                    "Figure",
                    "coefficients",
                    "Regression of scores on covariates",
                    "regression",
                    lambda frame: ss.plot_regression(frame, labels=self.labels),
                    alt="Coefficients with intervals; the numbers are in the table above.",
                ),
            ],
        )

    def examples(self) -> Section | None:
        """Some cases to look at."""
        if self.shown is None:
            return None
        shown, compared = self.shown, compared_methods(self.scores, self.settings)
        metric = metric_order(compared)[0]
        method = self.labels.order("method", list(dict.fromkeys(compared["method"].astype(str))))[0]
        name, text = self.labels.value("method", method), self.labels.value("metric", metric)

        def picks() -> pd.DataFrame:
            return shown.picks(compared, method, metric)

        return self._section(
            "examples",
            "Examples",
            (),
            [
                self._item(
                    "Figure",
                    "examples",
                    f"Cases picked by the {text} of {name}",
                    None,
                    lambda frame: shown.figure(frame, self.scores, self.labels),
                    frame=picks,
                    call=f"ss.pick_cases(scores, at={list(PICKS)}, method={method!r}, by='metric')",
                    caption=f"The worst, the median and the best {text} of {name} among the cases at hand.",
                    alt="Saliency maps over their images, with the outline of the truth and the score.",
                )
            ],
        )

    def _once(self) -> str:
        """Which rows correlations rest on."""
        if not repeated_patients(self.scores):
            return "One row per case."
        return "One case per patient: the first, by identifier, of those with a score."

    @property
    def _tasks(self) -> bool:
        """Whether there are several tasks."""
        return several(self.scores, "task")

    def _names(self, column: str, values: Iterable[str]) -> list[str]:
        """Labels of values."""
        return [self.labels.value(column, v) for v in values]

    def _section(self, key: str, title: str, spoken: Iterable[str], items: list[Item | None]) -> Section:
        """Section with the sentences of its frames and the items that could be made."""
        sentences: list[str] = []
        for name in spoken:
            frame = self.done.frames.get(name)
            if frame is None:
                continue
            if name == "difference" and "decrease" in self.done.frames:
                # a metric is spoken of once: by its decrease, unless one of these is undefined
                decrease = self.done.frames["decrease"]
                undefined = decrease.loc[decrease["estimate"].isna(), "metric"]
                spoken_of = set(decrease["metric"]) - set(undefined)
                frame = frame[~frame["metric"].isin(spoken_of)]
            if len(frame):
                sentences += result_sentences(name, frame, self.settings, self.labels)
        return Section(
            key, title, tuple(dict.fromkeys(sentences)), tuple(item for item in items if item is not None)
        )

    def _item(
        self,
        kind: str,
        key: str,
        title: str,
        source: str | None,
        make: Callable[[Any], Any],
        *,
        frame: Callable[[], pd.DataFrame] = pd.DataFrame,
        caption: str = "",
        alt: str = "",
        call: str = "",
    ) -> Item | None:
        """One table or figure; None where its analysis was not run or it cannot be shown."""
        if source is not None and source not in self.done.frames:
            return None
        try:
            behind = self.done.frames[source] if source is not None else frame()
            display = make(behind)
        except SalstatsError as error:
            self.done.skipped[key] = str(error)
            return None
        if kind == "Figure":
            display, said = without_caption(display)
            caption = " ".join(part for part in (caption, said) if part)
        self._numbers[kind] += 1
        return Item(
            key=key,
            number=f"{kind} {self._numbers[kind]}",
            title=title,
            display=display,
            frame=behind,
            caption=caption,
            alt=alt,
            call=call if source is None else self.done.calls[source],
        )


def without_caption(figure: p9.ggplot) -> tuple[p9.ggplot, str]:
    """Figure without its caption and as much lower, and the caption as one line.

    A journal sets captions itself; the page has them beside the figure.
    """
    text = figure.labels.caption
    if not text:
        return figure, ""
    width, height = figure.theme.getp("figure_size")
    line = (TEXT_PT - 1) * 1.2 / 72
    bare = figure + p9.theme(figure_size=(width, height - line * (text.count("\n") + 1)))
    bare.labels.caption = None
    return bare, " ".join(text.split())

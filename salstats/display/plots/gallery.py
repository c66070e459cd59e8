"""Cases by methods: a picture for each, its score below it, on as many pages as they need."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_columns, check_frame, check_numeric, quoted
from salstats.display.plots.layout.gallery_plan import Plan
from salstats.display.plots.layout.overlay_layers import bar_layers
from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.overlay_sheet import TAG_PT, Placed, laid_out
from salstats.display.plots.layout.text_fit import chars_in
from salstats.display.plots.layout.theme import COLUMN_MM, PAGE_MM
from salstats.display.plots.overlay import (
    absent_note,
    around_mm,
    image_note,
    mask_name,
    method_label,
    overlay_figure,
    people_note,
    threshold_note,
)
from salstats.display.text.format import MISSING, fixed_text, joined
from salstats.display.text.labels import Labels
from salstats.study import HUMAN, Series

#: Columns of a gallery that still fit a journal's column.
_FEW_COLUMNS = 2
#: What tells the series of a method apart, in frames.
_SERIES = ("model", "seed", "reader")


def gallery(
    rows: Sequence["Row"],
    pictures: Mapping[str, Sequence[Picture]],
    values: "PanelScores",
    layout: Plan,
    *,
    cases: pd.DataFrame,
    labels: Labels,
    spacing: float | Mapping[str, float] | None,
) -> list[p9.ggplot]:
    """Pages of pictures: those of each column, one for each row of `cases`."""
    picks = panel_rows(cases if own_picks(cases) else cases.iloc[:0], {row.case for row in rows})
    metric = "" if values.metric is None else labels.value("metric", values.metric)
    # a long name stands in the caption alone
    short = metric if len(f"{metric} 0.00") <= chars_in(layout.column, TAG_PT) else ""
    placed, of_several = [], False
    for number, row in enumerate(rows):
        for column, found in pictures.items():
            shown = found[number]
            score, n = values.of(shown)
            of_several |= n > 1
            own = list(dict.fromkeys(str(picked["pick"]) for picked in picks.of(shown)))
            tag = _tag(score if n else None, short, own, shown.note)
            placed.append(Placed(shown, row.key, column, tag, score))
    titles, shared = series_titles({name: found[0].series for name, found in pictures.items()}, labels)
    picked_by = _picked_by(cases, labels)
    # a single row has no name beside it, a single picture no title
    alone = ", ".join([rows[0].text, *(titles.values() if len(titles) == 1 else [])])

    def notes(part: Sequence[Placed]) -> list[str]:
        panels = [p.panel for p in part]
        return [
            f"{alone}." if len(rows) == 1 else "",
            *shared,
            absent_note(panels, labels),
            threshold_note(panels, labels),
            people_note(panels),
            f"Numbers: {metric}." if metric and not short else "",
            "Words beside scores: what that method's score was picked for." if picks.rows else picked_by,
            "Scores of several readers or seeds are their mean." if of_several else "",
            image_note(panels),
        ]

    whole = laid_out(placed, layout.sheet([[band for row in rows for band in layout.bands(row.key)]]))
    bars = bar_layers(whole.pictures, spacing, labels)[1]
    parts = layout.pages(placed, around_mm([*notes(placed), bars, "Page 10 of 10."], layout.width))
    pages = []
    for number, stacks in enumerate(parts, 1):
        shown_keys = {(row, c) for stack in stacks for row, columns in stack for c in columns}
        part = [p for p in placed if (p.row, p.column) in shown_keys]
        pages.append(
            overlay_figure(
                part,
                layout.sheet(stacks),
                labels=labels,
                notes=notes(part),
                spacing=spacing,
                names=mask_name([p.panel for p in part]),
                page=f"Page {number} of {len(parts)}." if len(parts) > 1 else "",
            )
        )
    return pages


def gallery_width(width: float | None, n_columns: int) -> float:
    """Width of a gallery in mm: that asked for, else a column for few columns and a page for more."""
    return width or (COLUMN_MM if n_columns <= _FEW_COLUMNS else PAGE_MM)


@dataclass(frozen=True)
class PanelRows:
    """Rows of a frame by case and method."""

    rows: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]

    def of(self, shown: Picture) -> list[Mapping[str, Any]]:
        """Rows of what a picture shows."""
        found = {
            id(row): row
            for one in shown.series
            for row in self.rows.get((shown.case, one.method), ())
            if row.get("task", shown.task) == shown.task and _is_of(row, one)
        }
        return list(found.values())


def _is_of(row: Mapping[str, Any], series: Series) -> bool:
    """Whether a row is of a series, as far as both say."""
    said = ((getattr(series, column), row.get(column)) for column in _SERIES if column in row)
    return all(own is None or str(value) == own for own, value in said)


def panel_rows(frame: pd.DataFrame, cases: Collection[str]) -> PanelRows:
    """Rows of some cases, each once, whatever they were picked for."""
    own = frame[frame["case"].astype("str").isin(cases)]
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in own.to_dict("records"):
        found.setdefault((str(row["case"]), str(row["method"])), []).append(row)
    return PanelRows(found)


@dataclass(frozen=True)
class PanelScores:
    """The scores of panels: rows of one metric, none where there are no scores."""

    rows: PanelRows
    metric: str | None

    def of(self, shown: Picture) -> tuple[float, int]:
        """Panel's score, NaN where there is none, and how many rows it is the mean of."""
        scores = pd.Series([row["score"] for row in self.rows.of(shown)], dtype=np.float64)
        return float(scores.mean()), len(scores)


def panel_scores(frame: pd.DataFrame, metric: str | None, cases: Collection[str]) -> PanelScores:
    """Scores of one metric of some cases, none where the frame has no scores."""
    if "score" not in frame.columns:
        return PanelScores(PanelRows({}), None)
    check_columns(frame, ["case", "method", "metric"])
    check_numeric(frame, "score")
    metrics = list(dict.fromkeys(frame["metric"].dropna()))
    if metric is None and len(metrics) > 1:
        raise SalstatsError(
            f"the scores hold {len(metrics)} metrics ({quoted(metrics)}); name one with metric="
        )
    metric = metric or str(metrics[0])
    if metric not in metrics:
        raise SalstatsError(f"the scores have no metric {metric!r} (metrics: {quoted(metrics)})")
    # a case that was picked twice has its score once
    own = frame[frame["metric"] == metric].drop(columns=["pick", "target"], errors="ignore")
    return PanelScores(panel_rows(own.drop_duplicates(), cases), metric)


def picked_metric(cases: pd.DataFrame) -> str | None:
    """Metric that the cases were picked by, None where there are several or none."""
    metrics = list(cases["metric"].dropna().unique()) if "metric" in cases.columns else []
    return str(metrics[0]) if len(metrics) == 1 else None


@dataclass(frozen=True)
class Row:
    """A row of a gallery, and its name: each part on lines of its own."""

    case: str
    task: str
    parts: tuple[str, ...]
    picked: bool

    @property
    def key(self) -> str:
        """What tells it from the other rows."""
        return f"{self.case}\n{self.task}"

    @property
    def text(self) -> str:
        """Its name in a sentence."""
        return ", ".join(self.parts).replace(",", ":", 1) if self.picked else ", ".join(self.parts)


def gallery_rows(cases: pd.DataFrame, tasks: Sequence[str], names: Labels) -> list[Row]:
    """Rows of a gallery, those of a task together where each method has its own picks."""
    frame = check_frame(cases, "cases")
    check_columns(frame, ["case"], "cases")
    if len(tasks) > 1:
        check_columns(frame, ["task"], "cases")
    found: dict[tuple[str, str], list[str]] = {}
    for row in frame.to_dict("records"):
        picks = found.setdefault((str(row["case"]), str(row.get("task", tasks[0]))), [])
        if "pick" in row and str(row["pick"]) not in picks:
            picks.append(str(row["pick"]))
    places = {task: i for i, task in enumerate(dict.fromkeys(task for _, task in found))}
    apart = own_picks(frame)
    rows = []
    for case, task in sorted(found, key=lambda key: places[key[1]]) if apart else found:
        picks = [] if apart else found[case, task]
        of_task = names.value("task", task) if len(tasks) > 1 else ""
        parts = (joined(picks).capitalize(), names.value("case", case), of_task)
        rows.append(Row(case, task, tuple(part for part in parts if part), bool(picks)))
    return rows


def own_picks(cases: pd.DataFrame) -> bool:
    """Whether cases were picked for several methods, so that each has its own."""
    series = [c for c in ("method", *_SERIES) if c in cases.columns]
    return {"pick", "method"} <= set(cases.columns) and len(cases[series].drop_duplicates()) > 1


def _picked_by(cases: pd.DataFrame, names: Labels) -> str:
    """Sentence on whose score, and of which metric, cases were picked by; empty where they say none."""
    if not {"pick", "method", "metric"} <= set(cases.columns):
        return ""
    method, metric = (joined([names.value(c, v) for v in cases[c].unique()]) for c in ("method", "metric"))
    return f"Picked by {metric} of {method}."


def series_titles(columns: Mapping[str, Sequence[Series]], names: Labels) -> tuple[dict[str, str], list[str]]:
    """Title of each column, and sentences on the model and seed that all of them share."""
    machines = [series[0] for series in columns.values() if series[0].method != HUMAN]
    shared = {
        part: values.pop()
        for part in ("model", "seed")
        if len(values := {getattr(one, part) for one in machines}) == 1 and values != {None}
    }
    titles = {name: method_label(names, series, apart_from=shared) for name, series in columns.items()}
    return titles, [f"{names.column(part)}: {names.value(part, value)}." for part, value in shared.items()]


def _tag(score: float | None, metric: str, picks: Sequence[str], note: str) -> str:
    """Text below a picture: its score, what it was picked for, or why it has none."""
    if score is None:
        return note
    number = MISSING if np.isnan(score) else fixed_text(score, 2)
    return ", ".join(part for part in (f"{metric} {number}".strip(), joined(picks), note) if part)

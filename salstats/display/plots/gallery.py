"""Galleries: a row per case and a column per method, with scores below the pictures."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_columns, check_frame, check_numeric, quoted
from salstats.display.plots.layout.figure import Figure, paged_figure
from salstats.display.plots.layout.gallery_layout import GalleryLayout
from salstats.display.plots.layout.overlay_layers import bar_layers
from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.overlay_sheet import TAG_PT, Band, PlacedPicture, lay_out
from salstats.display.plots.layout.pages import page_sentence
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
from salstats.errors import Message, SalstatsError, Setting
from salstats.study import HUMAN, Series

#: Most columns of a gallery that fit a journal's column.
_FEW_COLUMNS = 2
#: Columns that tell the series of a method apart.
_SERIES_COLUMNS = ("model", "seed", "reader")


def gallery(
    rows: Sequence["GalleryRow"],
    pictures: Mapping[str, Sequence[Picture]],
    values: "PanelScores",
    layout: GalleryLayout,
    *,
    cases: pd.DataFrame,
    labels: Labels,
    spacing: float | Mapping[str, float] | None,
) -> Figure:
    """Pages of a gallery.

    `pictures` has the pictures of each column, one for each of `rows`. `cases` is the frame of picked cases,
    and `spacing` the size of a pixel in mm.
    """
    picks = PanelRows({})
    if picks_differ_by_method(cases):
        picks = panel_rows(cases, {row.case for row in rows})
    metric = "" if values.metric is None else labels.value("metric", values.metric)
    # the caption names a metric whose label is too long
    short_metric = metric if len(f"{metric} 0.00") <= chars_in(layout.column, TAG_PT) else ""
    placed = []
    has_mean_scores = False
    for number, row in enumerate(rows):
        for column, column_pictures in pictures.items():
            picture = column_pictures[number]
            score, n_scores = values.for_picture(picture)
            has_mean_scores |= n_scores > 1
            pick_names = list(dict.fromkeys(str(pick["pick"]) for pick in picks.for_picture(picture)))
            tag = _tag(score if n_scores else None, short_metric, pick_names, picture.note)
            placed.append(PlacedPicture(picture, row.key, column, tag, score))
    titles, shared_notes = series_titles(
        {column: column_pictures[0].series for column, column_pictures in pictures.items()}, labels
    )
    single_row_note = ""
    if len(rows) == 1:
        # a single row has no name at its left, and a single picture no title
        single_title = list(titles.values()) if len(titles) == 1 else []
        single_row_note = f"{', '.join([rows[0].text, *single_title])}."
    picked_note = _picked_note(cases, labels)
    if picks.rows:
        picked_note = "Words beside scores: what that method's score was picked for."

    def notes(page_pictures: Sequence[PlacedPicture]) -> list[str]:
        panels = [picture.panel for picture in page_pictures]
        return [
            single_row_note,
            *shared_notes,
            absent_note(panels, labels),
            threshold_note(panels, labels),
            people_note(panels),
            f"Numbers: {metric}." if metric and not short_metric else "",
            picked_note,
            "Scores of several readers or seeds are their mean." if has_mean_scores else "",
            image_note(panels),
        ]

    single_stack = [band for row in rows for band in layout.bands(row.key)]
    all_pictures = lay_out(placed, layout.sheet([single_stack])).pictures
    _, bar_note = bar_layers(all_pictures, spacing, labels)
    longest_notes = [*notes(placed), bar_note, "Page 10 of 10."]
    pages = layout.pages(placed, around_mm(longest_notes, layout.width))
    page_figures = []
    for number, stacks in enumerate(pages, 1):
        page_pictures = _pictures_of_page(placed, stacks)
        page_figures.append(
            overlay_figure(
                page_pictures,
                layout.sheet(stacks),
                labels=labels,
                notes=notes(page_pictures),
                spacing=spacing,
                names=mask_name([picture.panel for picture in page_pictures]),
                page=page_sentence(number, len(pages)),
            )
        )
    return paged_figure(page_figures)


def _pictures_of_page(
    placed: Sequence[PlacedPicture], stacks: Sequence[Sequence[Band]]
) -> list[PlacedPicture]:
    """Pictures whose row and column are on a page."""
    positions = {(band.row, column) for stack in stacks for band in stack for column in band.columns}
    return [picture for picture in placed if (picture.row, picture.column) in positions]


def gallery_width(width: float | None, n_columns: int) -> float:
    """Width of a gallery in mm, by default a journal's column for few columns and a page for more."""
    return width or (COLUMN_MM if n_columns <= _FEW_COLUMNS else PAGE_MM)


@dataclass(frozen=True)
class PanelRows:
    """Rows of a frame by case and method."""

    rows: Mapping[tuple[str, str], Sequence[Mapping[Hashable, Any]]]

    def for_picture(self, picture: Picture) -> list[Mapping[Hashable, Any]]:
        """Rows of a picture's case, task and series, each once."""
        rows = {}
        for series in picture.series:
            for row in self.rows.get((picture.case, series.method), ()):
                if row.get("task", picture.task) == picture.task and _is_of_series(row, series):
                    rows[id(row)] = row
        return list(rows.values())


def _is_of_series(row: Mapping[Hashable, Any], series: Series) -> bool:
    """Return whether model, seed and reader of a row are those of a series, as far as both have them."""
    for column in _SERIES_COLUMNS:
        value = getattr(series, column)
        if column in row and value is not None and str(row[column]) != value:
            return False
    return True


def panel_rows(frame: pd.DataFrame, cases: Collection[str]) -> PanelRows:
    """Rows of some cases by case and method."""
    rows: dict[tuple[str, str], list[Mapping[Hashable, Any]]] = {}
    for row in frame[frame["case"].astype("str").isin(cases)].to_dict("records"):
        rows.setdefault((str(row["case"]), str(row["method"])), []).append(row)
    return PanelRows(rows)


@dataclass(frozen=True)
class PanelScores:
    """Scores of pictures: rows of one metric, or no rows and no metric."""

    rows: PanelRows
    metric: str | None

    def for_picture(self, picture: Picture) -> tuple[float, int]:
        """Score of a picture, NaN if there is none, and the number of scores that it is the mean of."""
        scores = pd.Series([row["score"] for row in self.rows.for_picture(picture)], dtype=np.float64)
        return float(scores.mean()), len(scores)


def panel_scores(frame: pd.DataFrame, metric: str | None, cases: Collection[str]) -> PanelScores:
    """Scores of one metric for some cases; no rows where the frame has no scores."""
    if "score" not in frame.columns:
        return PanelScores(PanelRows({}), None)
    check_columns(frame, ["case", "method", "metric"])
    check_numeric(frame, "score")
    metrics = list(dict.fromkeys(frame["metric"].dropna()))
    if metric is None and len(metrics) > 1:
        raise SalstatsError(
            f"the scores hold {len(metrics)} metrics ({quoted(metrics)})",
            hint=Message("name one with ", Setting("metric")),
            option="metric",
            choices=metrics,
        )
    metric = metric or str(metrics[0])
    if metric not in metrics:
        raise SalstatsError(
            f"the scores have no metric {metric!r} (metrics: {quoted(metrics)})",
            option="metric",
            value=metric,
            choices=metrics,
        )
    # a case that was picked twice has its score once
    scores = frame[frame["metric"] == metric].drop(columns=["pick", "target"], errors="ignore")
    return PanelScores(panel_rows(scores.drop_duplicates(), cases), metric)


def picked_metric(cases: pd.DataFrame) -> str | None:
    """Metric that the cases were picked by, None unless there is exactly one."""
    metrics = list(cases["metric"].dropna().unique()) if "metric" in cases.columns else []
    return str(metrics[0]) if len(metrics) == 1 else None


@dataclass(frozen=True)
class GalleryRow:
    """A row of a gallery, whose name has `parts` on lines of their own, the first its pick if `picked`."""

    case: str
    task: str
    parts: tuple[str, ...]
    picked: bool

    @property
    def key(self) -> str:
        """Text that no other row has."""
        return f"{self.case}\n{self.task}"

    @property
    def text(self) -> str:
        """Its name in a sentence: "Best: case 12, Edema"."""
        name = ", ".join(self.parts)
        return name.replace(",", ":", 1) if self.picked else name


def gallery_rows(cases: pd.DataFrame, tasks: Sequence[str], names: Labels) -> list[GalleryRow]:
    """Rows of a gallery; those of a task together where each method has its own picks."""
    frame = check_frame(cases, "cases")
    check_columns(frame, ["case"], "cases")
    if len(tasks) > 1:
        check_columns(frame, ["task"], "cases")
    picks_of: dict[tuple[str, str], list[str]] = {}
    for record in frame.to_dict("records"):
        picks = picks_of.setdefault((str(record["case"]), str(record.get("task", tasks[0]))), [])
        if "pick" in record and str(record["pick"]) not in picks:
            picks.append(str(record["pick"]))
    keys = list(picks_of)
    methods_have_picks = picks_differ_by_method(frame)
    if methods_have_picks:
        task_order = list(dict.fromkeys(task for _, task in keys))
        keys = sorted(keys, key=lambda key: task_order.index(key[1]))
    rows = []
    for case, task in keys:
        # a method's own picks are written below its pictures
        picks = [] if methods_have_picks else picks_of[case, task]
        task_label = names.value("task", task) if len(tasks) > 1 else ""
        name_parts = (joined(picks).capitalize(), names.value("case", case), task_label)
        rows.append(GalleryRow(case, task, tuple(text for text in name_parts if text), picked=bool(picks)))
    return rows


def picks_differ_by_method(cases: pd.DataFrame) -> bool:
    """Return whether cases were picked for several methods or series, each of which has its own picks."""
    if not {"pick", "method"} <= set(cases.columns):
        return False
    columns = [column for column in ("method", *_SERIES_COLUMNS) if column in cases.columns]
    return len(cases[columns].drop_duplicates()) > 1


def _picked_note(cases: pd.DataFrame, names: Labels) -> str:
    """Sentence on the method and the metric that cases were picked by, "" without their columns."""
    if not {"pick", "method", "metric"} <= set(cases.columns):
        return ""
    methods = joined([names.value("method", method) for method in cases["method"].unique()])
    metrics = joined([names.value("metric", metric) for metric in cases["metric"].unique()])
    return f"Picked by {metrics} of {methods}."


def series_titles(columns: Mapping[str, Sequence[Series]], names: Labels) -> tuple[dict[str, str], list[str]]:
    """Title of each column, and sentences on the model and seed that all columns share.

    `columns` has the series of each column; human readers have neither model nor seed.
    """
    first_series = [series[0] for series in columns.values()]
    machine_series = [series for series in first_series if series.method != HUMAN]
    shared = {}
    for column in ("model", "seed"):
        values = {getattr(series, column) for series in machine_series}
        if len(values) == 1 and values != {None}:
            shared[column] = values.pop()
    titles = {key: method_label(names, series, omitted_columns=shared) for key, series in columns.items()}
    sentences = [f"{names.column(column)}: {names.value(column, value)}." for column, value in shared.items()]
    return titles, sentences


def _tag(score: float | None, metric: str, picks: Sequence[str], note: str) -> str:
    """Text below a picture: its score and picks, or the note that says why it has no score."""
    if score is None:
        return note
    number = MISSING if np.isnan(score) else fixed_text(score, 2)
    texts = (f"{metric} {number}".strip(), joined(picks), note)
    return ", ".join(text for text in texts if text)

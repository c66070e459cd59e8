"""Galleries: a row per case and a column per method, with scores below the pictures."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import check_columns, check_frame, check_numeric, quoted
from salstats.coded_text import TEXT
from salstats.display.plots.layout.captions import distinct_values_by_appearance
from salstats.display.plots.layout.figure import Figure, first_page_with_further_pages, page_sentence
from salstats.display.plots.layout.gallery_layout import GalleryLayout
from salstats.display.plots.layout.overlay_layers import mm_or_px_bar_layers_and_note
from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.overlay_sheet import (
    TAG_PT,
    Band,
    PlacedPicture,
    picture_and_text_tables_and_height,
)
from salstats.display.plots.layout.picture_layer import MapStyle
from salstats.display.plots.layout.text_fit import chars_in
from salstats.display.plots.layout.theme import COLUMN_MM, PAGE_MM
from salstats.display.plots.overlay import (
    findings_absent_in_truth_note,
    height_outside_pictures_mm,
    method_label,
    missing_images_note,
    number_of_readers_note,
    overlay_figure,
    predicted_mask_legend_text_by_kind,
    threshold_note,
)
from salstats.display.text.format import fixed_text, joined
from salstats.display.text.labels import Labels
from salstats.errors import Message, SalstatsError, Setting
from salstats.study import HUMAN, Series

#: Key of the column of the images without maps.
IMAGE = "image"
#: Most columns of a gallery that fit a journal's column.
_FEW_COLUMNS = 2
#: Columns that tell the series of a method apart.
_SERIES_COLUMNS = ("model", "seed", "reader")


# a figure is put together layer by layer; the branches are its optional parts
def gallery(  # noqa: C901
    rows: Sequence["GalleryRow"],
    pictures: Mapping[str, Sequence[Picture]],
    scores: "PanelScores",
    layout: GalleryLayout,
    style: MapStyle,
    *,
    cases: pd.DataFrame,
    labels: Labels,
    spacing: float | Mapping[str, float] | None,
) -> Figure:
    """Return a gallery: a figure of one or more pages, pictures of cases with their scores.

    Parameters
    ----------
    rows : sequence of GalleryRow
        The rows from the top down.
    pictures : mapping
        Pictures of each column by its key, one for each row.
    scores : PanelScores
        Scores of the pictures.
    layout : GalleryLayout
        Sizes of pictures, and names of rows and columns.
    style : MapStyle
        Colours of the maps.
    cases : DataFrame
        The picked cases.
    labels : Labels
        Labels of cases, tasks, methods and metrics.
    spacing : float or mapping, optional
        Size of a pixel in mm, or that of each case.
    """
    # the rows of picked cases, where each method has its own
    picks = PanelRows({})
    picked_note = _picked_note(cases, labels)
    if has_picks_of_several_methods(cases):
        picks = panel_rows_by_case_and_method(cases, {row.case for row in rows})
    if picks.rows:
        picked_note = "Words beside scores: what that method's score was picked for."
    # the name of the metric below pictures; the caption names a metric whose label is too long
    tag_metric = ""
    metric_note = ""
    if scores.metric is not None:
        metric = labels.value("metric", scores.metric)
        if len(f"{metric} 0.00") <= chars_in(layout.column_mm, TAG_PT):
            tag_metric = metric
        else:
            metric_note = f"Numbers: {metric}."
    placed_pictures = []
    mean_note = ""
    for number, row in enumerate(rows):
        for column, column_pictures in pictures.items():
            picture = column_pictures[number]
            score = scores.mean_of_picture(picture)
            if score.n_scores > 1:
                mean_note = "Scores of several readers or seeds are their mean."
            tag = picture.note
            if score.n_scores > 0:
                pick_names = list(dict.fromkeys(str(pick["pick"]) for pick in picks.rows_of_picture(picture)))
                tag = _score_text(score.mean, tag_metric, pick_names, picture.note)
            placed_pictures.append(PlacedPicture(picture, row.key, column, tag, score.mean))
    series_of_columns = {
        column: column_pictures[0].series for column, column_pictures in pictures.items() if column != IMAGE
    }
    titles, shared_notes = series_titles_and_shared_notes(series_of_columns, labels)
    single_row_note = ""
    if len(rows) == 1:
        # a single row has no name at its left, and a single picture no title
        names = [rows[0].name_in_sentence]
        if len(titles) == 1:
            names += titles.values()
        single_row_note = f"{', '.join(names)}."

    def caption_sentences(page_pictures: Sequence[PlacedPicture]) -> list[str]:
        """Return the sentences of the caption of some pictures."""
        panels = [picture.content for picture in page_pictures if picture.column != IMAGE]
        return [
            single_row_note,
            *shared_notes,
            findings_absent_in_truth_note(panels, labels),
            threshold_note(panels, labels),
            number_of_readers_note(panels),
            metric_note,
            picked_note,
            mean_note,
            missing_images_note(panels, labels),
        ]

    single_stack = [band for row in rows for band in layout.bands_of_row(row.key)]
    all_pictures = picture_and_text_tables_and_height(placed_pictures, layout.sheet([single_stack])).pictures
    _, bar_note = mm_or_px_bar_layers_and_note(all_pictures, spacing, labels)
    # the caption of a page names at most what that of all pictures does
    longest_notes = [*caption_sentences(placed_pictures), bar_note, "Page 10 of 10."]
    pages = layout.stacks_of_pages(placed_pictures, height_outside_pictures_mm(longest_notes, layout.width))
    page_figures = []
    for number, stacks in enumerate(pages, 1):
        page_pictures = _select_pictures_of_page(placed_pictures, stacks)
        page_figures.append(
            overlay_figure(
                page_pictures,
                layout.sheet(stacks),
                map_style=style,
                labels=labels,
                notes=caption_sentences(page_pictures),
                spacing=spacing,
                legend_texts=predicted_mask_legend_text_by_kind(
                    [picture.content for picture in page_pictures]
                ),
                page_note=page_sentence(number, len(pages)),
            )
        )
    return first_page_with_further_pages(page_figures)


def _select_pictures_of_page(
    placed: Sequence[PlacedPicture], stacks: Sequence[Sequence[Band]]
) -> list[PlacedPicture]:
    """Select the pictures whose row and column are on a page, given by its stacks of bands."""
    bands = [band for stack in stacks for band in stack]
    positions = {(band.row, column) for band in bands for column in band.columns}
    return [picture for picture in placed if (picture.row, picture.column) in positions]


def gallery_width(width: float | None, n_columns: int) -> float:
    """Return the width of a gallery in mm, by default a journal's column for few columns, else a page."""
    if width is not None:
        return width
    return COLUMN_MM if n_columns <= _FEW_COLUMNS else PAGE_MM


@dataclass(frozen=True)
class PanelRows:
    """Rows of a frame of scores or picks, as dicts of their columns, by case and method."""

    rows: Mapping[tuple[str, str], Sequence[Mapping[Hashable, Any]]]

    def rows_of_picture(self, picture: Picture) -> list[Mapping[Hashable, Any]]:
        """Return the rows of a picture's case, task and series, each once."""
        rows: list[Mapping[Hashable, Any]] = []
        for series in picture.series:
            for row in self.rows.get((picture.case, series.method), ()):
                is_of_task = row.get("task", picture.task) == picture.task
                is_new = not any(row is earlier for earlier in rows)
                if is_of_task and is_new and _agrees_in_shared_model_seed_reader(row, series):
                    rows.append(row)
        return rows


def _agrees_in_shared_model_seed_reader(row: Mapping[Hashable, Any], series: Series) -> bool:
    """Return whether model, seed and reader of a row are those of a series, as far as both have them."""
    for column in _SERIES_COLUMNS:
        value = getattr(series, column)
        if column in row and value is not None and str(row[column]) != value:
            return False
    return True


def panel_rows_by_case_and_method(frame: pd.DataFrame, cases: Collection[str]) -> PanelRows:
    """Return those rows of a frame, of scores or of picks, whose case is in `cases`, by case and method."""
    rows: dict[tuple[str, str], list[Mapping[Hashable, Any]]] = {}
    for row in frame[frame["case"].astype(TEXT).isin(cases)].to_dict("records"):
        rows.setdefault((str(row["case"]), str(row["method"])), []).append(row)
    return PanelRows(rows)


class MeanScore(NamedTuple):
    """Mean score of a picture, NaN if there is none, and the number of its scores."""

    mean: float
    n_scores: int


@dataclass(frozen=True)
class PanelScores:
    """Scores of pictures: rows of one metric, or no rows and no metric."""

    rows: PanelRows
    metric: str | None

    def mean_of_picture(self, picture: Picture) -> MeanScore:
        """Return the mean of the scores of a picture, such as of several readers, and their number."""
        scores = pd.Series([row["score"] for row in self.rows.rows_of_picture(picture)], dtype=np.float64)
        return MeanScore(mean=float(scores.mean()), n_scores=len(scores))


def panel_scores(frame: pd.DataFrame, metric: str | None, cases: Collection[str]) -> PanelScores:
    """Return the scores of one metric for some cases.

    `metric` may be None if the frame has only one. There are no rows if the frame has no column `score`, or
    if neither it nor `metric` names a metric. Raises if the frame lacks `metric`, or has several and `metric`
    is None.
    """
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
    if metric is None and not metrics:
        return PanelScores(PanelRows({}), None)
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
    return PanelScores(panel_rows_by_case_and_method(scores.drop_duplicates(), cases), metric)


def picked_metric(cases: pd.DataFrame) -> str | None:
    """Return the metric that the cases were picked by, None unless there is exactly one."""
    metrics = distinct_values_by_appearance(cases, "metric")
    if len(metrics) != 1:
        return None
    return str(metrics[0])


@dataclass(frozen=True)
class GalleryRow:
    """Row of a gallery: a case and a task.

    Attributes
    ----------
    case, task : str
        The case and the task.
    name_parts : tuple of str
        Parts of the name of the row, on lines of their own: its picks, its case and its task.
    has_picks : bool
        Whether the first part names the picks.
    """

    case: str
    task: str
    name_parts: tuple[str, ...]
    has_picks: bool

    @property
    def key(self) -> str:
        """Return a text that no other row has."""
        return f"{self.case}\n{self.task}"

    @property
    def name_in_sentence(self) -> str:
        """Return the name of the row in a sentence: "Best: case 12, Edema"."""
        if not self.has_picks:
            return ", ".join(self.name_parts)
        picks, *names = self.name_parts
        return f"{picks}: {', '.join(names)}"


def gallery_rows(cases: pd.DataFrame, tasks: Sequence[str], labels: Labels) -> list[GalleryRow]:
    """Return the rows of a gallery of picked cases, a row for each case and task.

    Rows are in the order of the frame; where each method has its own picks, those of a task stand together.
    `tasks` are the tasks of the study.
    """
    frame = check_frame(cases, "cases")
    check_columns(frame, ["case"], "cases")
    if len(tasks) > 1:
        check_columns(frame, ["task"], "cases")
    # what each case and task was picked for, such as "best"
    picks_of: dict[tuple[str, str], list[str]] = {}
    for record in frame.to_dict("records"):
        case = str(record["case"])
        task = str(record.get("task", tasks[0]))
        picks = picks_of.setdefault((case, task), [])
        if "pick" in record and str(record["pick"]) not in picks:
            picks.append(str(record["pick"]))
    keys = list(picks_of)
    methods_have_picks = has_picks_of_several_methods(frame)
    if methods_have_picks:
        task_order = list(dict.fromkeys(task for _, task in keys))

        def task_position(case_and_task: tuple[str, str]) -> int:
            """Return the position of the task of a row among the tasks."""
            _, task = case_and_task
            return task_order.index(task)

        keys = sorted(keys, key=task_position)
    rows = []
    for case, task in keys:
        # a method's own picks are written below its pictures
        picks = []
        if not methods_have_picks:
            picks = picks_of[case, task]
        parts = [joined(picks).capitalize(), labels.value("case", case)]
        if len(tasks) > 1:
            parts.append(labels.value("task", task))
        rows.append(GalleryRow(case, task, tuple(text for text in parts if text), has_picks=bool(picks)))
    return rows


def has_picks_of_several_methods(cases: pd.DataFrame) -> bool:
    """Return whether cases were picked for several methods or series, each of which has its own picks."""
    if not {"pick", "method"} <= set(cases.columns):
        return False
    columns = [column for column in ("method", *_SERIES_COLUMNS) if column in cases.columns]
    return len(cases[columns].drop_duplicates()) > 1


def _picked_note(cases: pd.DataFrame, labels: Labels) -> str:
    """Return a sentence on the method and metric by which cases were picked, "" without their columns."""
    if not {"pick", "method", "metric"} <= set(cases.columns):
        return ""
    methods = joined([labels.value("method", method) for method in cases["method"].unique()])
    metrics = joined([labels.value("metric", metric) for metric in cases["metric"].unique()])
    return f"Picked by {metrics} of {methods}."


def series_titles_and_shared_notes(
    columns: Mapping[str, Sequence[Series]], labels: Labels
) -> tuple[dict[str, str], list[str]]:
    """Return the title of each column by its key, and sentences on the model and seed that all columns share.

    `columns` has the series of each column by its key; human readers have neither model nor seed.
    """
    first_series = [series[0] for series in columns.values()]
    machine_series = [series for series in first_series if series.method != HUMAN]
    # model and seed, if all series have the same
    shared = {}
    for column in ("model", "seed"):
        values = {getattr(series, column) for series in machine_series}
        if len(values) == 1 and values != {None}:
            shared[column] = values.pop()
    titles = {key: method_label(labels, series, omitted_columns=shared) for key, series in columns.items()}
    sentences = [
        f"{labels.column(column)}: {labels.value(column, value)}." for column, value in shared.items()
    ]
    return titles, sentences


def _score_text(score: float, metric: str, picks: Sequence[str], note: str) -> str:
    """Return the text below a picture: "IoU 0.52, best", with the note of the picture if it has one.

    `metric` is the label of the metric, or "" if the caption names it.
    """
    score_text = f"{metric} {fixed_text(score, 2)}".strip()
    texts = (score_text, joined(picks), note)
    return ", ".join(text for text in texts if text)

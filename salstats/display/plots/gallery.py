"""Cases by methods: a picture in each panel, with its score."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_columns, check_frame, check_numeric, quoted
from salstats.display.plots.overlay import (
    EDGE_MM,
    GAP_MM,
    STRIP_LINE_MM,
    Placed,
    Sheet,
    absent_note,
    image_note,
    mask_name,
    method_label,
    overlay_figure,
    ratio,
    threshold_note,
)
from salstats.display.plots.overlay_picture import Picture
from salstats.display.plots.text_fit import caption, caption_chars, chars_in, plain, wrapped
from salstats.display.plots.theme import COLUMN_MM, PAGE_MM
from salstats.display.text.format import MISSING, fixed_text, joined
from salstats.display.text.labels import Labels

#: Height of a page, and room for legend, colour scale and caption on it.
_PAGE_HEIGHT_MM, _AROUND_MM = 225.0, 30.0
#: Columns of a gallery that still fit a journal's column.
_FEW_COLUMNS = 2
#: Lines beside a row at most: two for each part of its name.
_ROW_LINES = 6


def gallery(
    rows: Sequence["Row"],
    pictures: Mapping[str, Sequence[Picture]],
    values: "PanelScores",
    *,
    labels: Labels,
    width: float,
    spacing: float | Mapping[str, float] | None,
) -> p9.ggplot:
    """Figure of pictures; `pictures` are those of each column, one for each row."""
    shown = [p for row in zip(*pictures.values(), strict=True) for p in row]
    scored = [values.of(p) for p in shown]
    places = [(row.key, column) for row in rows for column in pictures]
    placed = [
        Placed(p, row, column, _corner(values, score, n, p, labels), score)
        for p, (row, column), (score, n) in zip(shown, places, scored, strict=True)
    ]
    titles = {column: method_label(labels, found[0].series) for column, found in pictures.items()}
    sheet = _sheet(rows, titles, ratio(shown), width)
    # a single row has no strip that names it, a single panel has none at all
    alone = ", ".join([rows[0].text, *(titles.values() if len(titles) == 1 else [])])
    note = caption(
        [
            f"{alone}." if len(rows) == 1 else "",
            absent_note(shown, labels),
            threshold_note(shown, labels),
            "Scores of several readers or seeds are their mean." if any(n > 1 for _, n in scored) else "",
            image_note(shown),
        ],
        caption_chars(sheet.width, 3),
    )
    return overlay_figure(placed, sheet, labels=labels, note=note, spacing=spacing, names=mask_name(shown))


def gallery_width(width: float | None, n_columns: int) -> float:
    """Width of a gallery in mm: that asked for, else a column for few columns and a page for more."""
    return width or (COLUMN_MM if n_columns <= _FEW_COLUMNS else PAGE_MM)


@dataclass(frozen=True)
class PanelScores:
    """The scores of panels: rows of one metric, none where there are no scores."""

    frame: pd.DataFrame | None
    metric: str | None

    def of(self, shown: Picture) -> tuple[float, int]:
        """Panel's score, NaN where there is none, and how many rows it is the mean of."""
        if self.frame is None:
            return float("nan"), 0
        rows = self.frame[self.frame["case"].astype("str") == shown.case]
        if "task" in rows.columns:
            rows = rows[rows["task"] == shown.task]
        found = rows.iloc[:0]
        for one in shown.series:
            own = rows[rows["method"] == one.method]
            for column in ("model", "seed", "reader"):
                value = getattr(one, column)
                if value is not None and column in own.columns:
                    own = own[own[column].astype("str") == value]
            found = pd.concat([found, own]) if len(found) else own
        found = found[~found.index.duplicated()]
        score = found["score"].mean() if found["score"].notna().any() else float("nan")
        return float(score), len(found)


def panel_scores(frame: pd.DataFrame, metric: str | None) -> PanelScores:
    """Scores of one metric, none where the frame has no scores."""
    if "score" not in frame.columns:
        return PanelScores(None, None)
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
    return PanelScores(frame[frame["metric"] == metric].reset_index(drop=True), metric)


def picked_metric(cases: pd.DataFrame) -> str | None:
    """Metric that the cases were picked by, None where there are several or none."""
    metrics = list(cases["metric"].dropna().unique()) if "metric" in cases.columns else []
    return str(metrics[0]) if len(metrics) == 1 else None


@dataclass(frozen=True)
class Row:
    """A row of a gallery, and what stands beside it: each part of its name on lines of its own."""

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
    """Rows of a gallery."""
    frame = check_frame(cases, "cases")
    check_columns(frame, ["case"], "cases")
    if len(tasks) > 1:
        check_columns(frame, ["task"], "cases")
    found: dict[tuple[str, str], list[str]] = {}
    for _, row in frame.iterrows():
        task = str(row["task"]) if "task" in frame.columns else tasks[0]
        picks = found.setdefault((str(row["case"]), task), [])
        if "pick" in frame.columns and str(row["pick"]) not in picks:
            picks.append(str(row["pick"]))
    rows = []
    for (case, task), picks in found.items():
        of_task = names.value("task", task) if len(tasks) > 1 else ""
        parts = (joined(picks).capitalize(), names.value("case", case), of_task)
        rows.append(Row(case, task, tuple(part for part in parts if part), bool(picks)))
    return rows


def _sheet(rows: Sequence[Row], titles: Mapping[str, str], share: float, width: float) -> Sheet:
    """Sizes of a gallery that fits a page, and its strips; `share` is height over width."""
    n_rows, n_columns = len(rows), len(titles)
    # the first guess of a row's height leaves room for as many lines beside it as there may be
    room = share * panel_mm(width, n_columns, _ROW_LINES * STRIP_LINE_MM)
    beside = {row.key: "\n".join(wrapped(part, chars_in(room), 2) for part in row.parts) for row in rows}
    side = _lines_mm(beside.values()) if n_rows > 1 else 0.0
    panel = panel_mm(width, n_columns, side)
    above = {
        column: wrapped(title, chars_in(panel - GAP_MM, bold=True), 3) for column, title in titles.items()
    }
    top = _lines_mm(above.values()) if n_columns > 1 or n_rows > 1 else 0.0
    panel = min(panel, ((_PAGE_HEIGHT_MM - _AROUND_MM - top + GAP_MM) / n_rows - GAP_MM) / share)
    whole = panel * n_columns + 2 * EDGE_MM + side + (n_columns - 1) * GAP_MM
    return Sheet(whole, (panel, share * panel), beside, above, top)


def _lines_mm(texts: Iterable[str]) -> float:
    """Room that the strips above or beside panels take."""
    return max(text.count("\n") + 1 for text in texts) * STRIP_LINE_MM + 1.5


def panel_mm(width: float, n_columns: int, side: float = 0.0) -> float:
    """How wide a panel is beside a strip on the right."""
    return (width - 2 * EDGE_MM - side - (n_columns - 1) * GAP_MM) / n_columns


def _corner(values: PanelScores, score: float, n: int, shown: Picture, names: Labels) -> str:
    """Text in a panel's corner: its score, or why it has none."""
    parts = []
    if values.metric is not None and n:
        number = MISSING if np.isnan(score) else fixed_text(score, 2)
        parts.append(f"{names.value('metric', values.metric)} {number}")
    return plain(", ".join([*parts, *([shown.note] if shown.note else [])]))

"""Cases by methods: an overlay in each panel, with its score."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_columns, check_frame, check_numeric, quoted
from salstats.display.plots import panels as shared
from salstats.display.plots.image_sources import ImageSource, check_images
from salstats.display.plots.measured_text import fitted
from salstats.display.plots.overlay_figure import (
    EDGE_MM,
    GAP_MM,
    STRIP_LINE_MM,
    Placed,
    Sheet,
    overlay_figure,
)
from salstats.display.plots.overlay_panels import (
    Drawn,
    Panel,
    case_of,
    check_task,
    make_panel,
    series_of,
)
from salstats.display.plots.overlay_words import (
    absent_note,
    image_note,
    mask_name,
    method_label,
    ratio,
    threshold_note,
)
from salstats.display.plots.panel_grid import caption_chars
from salstats.display.plots.row_figure import check_width
from salstats.display.plots.theme import COLUMN_MM, PAGE_MM, TEXT_PT
from salstats.display.text.format import MISSING, fixed_text, joined
from salstats.display.text.labels import Labels
from salstats.scoring.masking import OTSU, Given, mask_rule
from salstats.study import HUMAN, Series, Study

#: Height of a page, and room for legend, colour scale and caption on it.
_PAGE_HEIGHT_MM, _AROUND_MM = 225.0, 30.0
#: Columns of a gallery that still fit a journal's column.
_FEW_COLUMNS = 2
#: Lines beside a row at most: two for each part of its name.
_ROW_LINES = 6


def plot_gallery(
    study: Study,
    cases: pd.DataFrame,
    *,
    methods: Iterable[str] | None = None,
    scores: pd.DataFrame | None = None,
    metric: str | None = None,
    threshold: Given = None,
    cutoff: Given = None,
    smooth: Given = None,
    images: ImageSource | None = None,
    human: bool = False,
    spacing: float | Mapping[str, float] | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    width: float | None = None,
) -> p9.ggplot:
    """Return a figure of cases by methods: an overlay in each panel, with its score.

    Parameters
    ----------
    study : Study
        From a reader, such as `read_chexlocalize`.
    cases : DataFrame
        What the rows show, in their order: `case`, with `task` where the study has several, and `pick`, from
        `pick_cases`. A case that is picked twice has one row.
    methods : list of str, optional
        What the columns show; by default every saliency method and then the human benchmark.
    scores : DataFrame, optional
        A scores frame, from `score`: the score of each panel. By default those of `cases` are shown, where it
        has any.
    metric : str, optional
        Which score; by default that of `cases`, or the only one of `scores`.
    threshold, cutoff, smooth
        As for `score`; by default what the columns of these names in the scores say, so that the masks shown
        are those that were scored, and Otsu's threshold where they say nothing.
    images, spacing, labels
        As for `plot_overlay`.
    human : bool
        Draw the human benchmark in the panels of the other methods too.
    width : float, optional
        Width of the figure in mm; by default 89 for up to two methods, else 183. It is less where the rows
        would not fit a page.

    Returns
    -------
    ggplot
        Its `data` has a row per panel: `case`, `task`, `method`, `score`, and why something is missing
        (`note`).

    Raises
    ------
    ColumnError
        `cases` has no column `case`, or no `task` although the study has several.
    SalstatsError
        Nothing to show; several metrics; see also `plot_overlay`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, salstats as ss
    >>> from functools import partial
    >>> from salstats.study import Case, Content, Prediction, Series, Study
    >>> gradcam = Series("gradcam")
    >>> answer = Prediction("Edema", gradcam, partial(Content, saliency=np.eye(6, 8)), "map.pkl")
    >>> study = Study(tuple(Case(c, (60, 80), {}, (answer,)) for c in "ab"), ("Edema",), (gradcam,))
    >>> scores = pd.DataFrame({"case": ["a", "b"], "method": "gradcam", "metric": "iou", "score": [0.2, 0.6]})
    >>> figure = ss.plot_gallery(study, ss.pick_cases(scores, at=["best", "worst"]))
    >>> figure.data[["case", "task", "method", "text"]]
      case   task   method      text
    0    b  Edema  gradcam  IoU 0.60
    1    a  Edema  gradcam  IoU 0.20
    """
    names = Labels(labels)
    wanted = _rows(study, cases, names)
    columns = _columns(study, methods)
    scored = cases if scores is None else scores
    values = _scores(scored, metric or _metric_of(cases))
    width = check_width(width or (COLUMN_MM if len(columns) <= _FEW_COLUMNS else PAGE_MM))
    every = [s for series in columns.values() for s in series]
    own = study.select(tasks={r.task for r in wanted}, methods={s.method for s in every})
    rule = mask_rule(
        own,
        threshold=_as_scored(scored, "threshold") or OTSU if threshold is None else threshold,
        cutoff=_as_scored(scored, "cutoff") if cutoff is None else cutoff,
        smooth=_as_scored(scored, "smooth") if smooth is None else smooth,
    )
    how = Drawn(rule, check_images(images), human, 1.25 * _panel_mm(width, len(columns)))
    placed, several = [], False
    for row in wanted:
        found = case_of(study, row.case)
        for column, series in columns.items():
            panel = make_panel(found, row.task, column, series, how)
            score, n = values.of(panel, series)
            several |= n > 1
            placed.append(Placed(panel, row.key, column, _corner(values, score, n, panel, names), score))
    panels = [p.panel for p in placed]
    titles = {column: method_label(names, series) for column, series in columns.items()}
    sheet = _sheet(wanted, titles, ratio(panels), width)
    # a single row has no strip that names it, a single panel has none at all
    alone = ", ".join([wanted[0].text, *(titles.values() if len(titles) == 1 else [])])
    note = shared.caption(
        [
            f"{alone}." if len(wanted) == 1 else "",
            absent_note(panels, names),
            threshold_note(rule, panels, every, names),
            "Scores of several readers or seeds are their mean." if several else "",
            image_note(panels),
        ],
        caption_chars(sheet.width, 3),
    )
    return overlay_figure(placed, sheet, labels=names, note=note, spacing=spacing, names=mask_name(panels))


def _as_scored(scores: pd.DataFrame, name: str) -> Any:
    """Return what masks were made with, where the scores say it: one value, or by task and series."""
    keys = ["task", "method"]
    if not {name, *keys} <= set(scores.columns):
        return None
    said = scores[scores[name].notna()]
    if name == "threshold" and said[name].nunique() == 1:
        # also for series that these scores do not hold, such as those of cases picked by one method
        return said[name].iloc[0]
    parts = [said[c] for c in ("method", "model", "seed", "reader") if c in said.columns]
    series = parts[0].astype("str")
    for part in parts[1:]:
        series = series + part.map(lambda v: "" if pd.isna(v) else f":{v}")
    return dict(zip(zip(said["task"].astype("str"), series, strict=True), said[name], strict=True)) or None


@dataclass(frozen=True)
class _Scores:
    """The scores of panels: rows of one metric, none where there are no scores."""

    frame: pd.DataFrame | None
    metric: str | None

    def of(self, panel: Panel, series: Sequence[Series]) -> tuple[float, int]:
        """Return a panel's score, NaN where there is none, and how many rows it is the mean of."""
        if self.frame is None:
            return float("nan"), 0
        rows = self.frame[self.frame["case"].astype("str") == panel.case]
        if "task" in rows.columns:
            rows = rows[rows["task"] == panel.task]
        found = rows.iloc[:0]
        for one in series:
            own = rows[rows["method"] == one.method]
            for column in ("model", "seed", "reader"):
                value = getattr(one, column)
                if value is not None and column in own.columns:
                    own = own[own[column].astype("str") == value]
            found = pd.concat([found, own]) if len(found) else own
        found = found[~found.index.duplicated()]
        score = found["score"].mean() if found["score"].notna().any() else float("nan")
        return float(score), len(found)


def _scores(frame: pd.DataFrame, metric: str | None) -> _Scores:
    """Return the scores of one metric, none where the frame has no scores."""
    if "score" not in frame.columns:
        return _Scores(None, None)
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
    return _Scores(frame[frame["metric"] == metric].reset_index(drop=True), metric)


def _metric_of(cases: pd.DataFrame) -> str | None:
    """Return the metric that the cases were picked by, None where there are several or none."""
    metrics = list(cases["metric"].dropna().unique()) if "metric" in cases.columns else []
    return str(metrics[0]) if len(metrics) == 1 else None


@dataclass(frozen=True)
class _Row:
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


def _rows(study: Study, cases: pd.DataFrame, names: Labels) -> list[_Row]:
    """Return the rows of a gallery."""
    frame = check_frame(cases, "cases")
    check_columns(frame, ["case"], "cases")
    if len(study.tasks) > 1:
        check_columns(frame, ["task"], "cases")
    found: dict[tuple[str, str], list[str]] = {}
    for _, row in frame.iterrows():
        task = str(row["task"]) if "task" in frame.columns else study.tasks[0]
        picks = found.setdefault((str(row["case"]), check_task(study, task)), [])
        if "pick" in frame.columns and str(row["pick"]) not in picks:
            picks.append(str(row["pick"]))
    rows = []
    for (case, task), picks in found.items():
        of_task = names.value("task", task) if len(study.tasks) > 1 else ""
        parts = (joined(picks).capitalize(), names.value("case", case), of_task)
        rows.append(_Row(case, task, tuple(part for part in parts if part), bool(picks)))
    return rows


def _columns(study: Study, methods: Iterable[str] | None) -> dict[str, tuple[Series, ...]]:
    """Return the series of each column of a gallery."""
    if methods is None:
        several = pd.Series([s.method for s in study.series]).duplicated(keep=False)
        every = [
            str(s) if twice and s.method != HUMAN else s.method
            for s, twice in zip(study.series, several, strict=True)
        ]
        wanted = sorted(dict.fromkeys(every), key=lambda name: name == HUMAN)
    else:
        wanted = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    if not wanted:
        raise SalstatsError(f"{study.source} has no method to show")
    return {name: series_of(study, name) for name in wanted}


def _wrapped(text: str, room: float, lines: int, *, bold: bool = False) -> str:
    """Return a text on so many lines that fit a width in mm, cut where they are too many."""
    # names of files may be broken behind an underscore
    parts = [line.replace("_ ", "_") for line in fitted(text.replace("_", "_ "), room, TEXT_PT, bold)]
    parts = [part.rstrip() for part in parts]
    if len(parts) > lines:
        parts = [*parts[: lines - 1], parts[lines - 1][:-1] + "…"]
    return shared.plain("\n".join(parts))


def _sheet(rows: Sequence[_Row], titles: Mapping[str, str], share: float, width: float) -> Sheet:
    """Return the sizes of a gallery that fits a page, and its strips; `share` is height over width."""
    n_rows, n_columns = len(rows), len(titles)
    # the first guess of a row's height leaves room for as many lines beside it as there may be
    room = share * _panel_mm(width, n_columns, _ROW_LINES * STRIP_LINE_MM)
    beside = {row.key: "\n".join(_wrapped(part, room, 2) for part in row.parts) for row in rows}
    side = _lines_mm(beside.values()) if n_rows > 1 else 0.0
    panel = _panel_mm(width, n_columns, side)
    above = {column: _wrapped(title, panel, 2, bold=True) for column, title in titles.items()}
    top = _lines_mm(above.values()) if n_columns > 1 or n_rows > 1 else 0.0
    panel = min(panel, ((_PAGE_HEIGHT_MM - _AROUND_MM - top + GAP_MM) / n_rows - GAP_MM) / share)
    whole = panel * n_columns + 2 * EDGE_MM + side + (n_columns - 1) * GAP_MM
    return Sheet(whole, (panel, share * panel), beside, above, top)


def _lines_mm(texts: Iterable[str]) -> float:
    """Return the room that the strips above or beside panels take."""
    return max(text.count("\n") + 1 for text in texts) * STRIP_LINE_MM + 1.5


def _panel_mm(width: float, n_columns: int, side: float = 0.0) -> float:
    """Return how wide a panel is beside a strip on the right."""
    return (width - 2 * EDGE_MM - side - (n_columns - 1) * GAP_MM) / n_columns


def _corner(values: _Scores, score: float, n: int, panel: Panel, names: Labels) -> str:
    """Return the text in a panel's corner: its score, or why it has none."""
    parts = []
    if values.metric is not None and n:
        number = MISSING if np.isnan(score) else fixed_text(score, 2)
        parts.append(f"{names.value('metric', values.metric)} {number}")
    return shared.plain(", ".join([*parts, *([panel.note] if panel.note else [])]))

"""Table 1 and Figs. 1, 3 and 4: the data sets, an image of each with its truth, and all maps of it."""

from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import plotnine as p9
from great_tables import GT

import salstats as ss
from salstats.display.plots.layout.figure import plot_function
from salstats.display.plots.layout.gallery_layout import gallery_layout
from salstats.display.plots.layout.overlay_sheet import EDGE_MM, GAP_MM, Placed
from salstats.display.plots.layout.theme import COLUMN_MM, PAGE_MM
from salstats.display.plots.overlay import image_note, overlay_figure
from salstats.display.tables.great_table import Column
from salstats.display.text.format import MISSING, interval_text
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.readers.case_images import ImageSource, check_images
from salstats.scoring.masking import OTSU, mask_rule
from salstats.scoring.overlay_pictures import PictureOptions, overlay_picture
from salstats.studies.engine import Cell, Result, table_of
from salstats.studies.saliency_bench.cell_means import Means
from salstats.study import HUMAN, Series, Study

TABLE_ID = "saliency-bench"
#: What is counted in each data set, with its heading.
COUNTED = {"patient": "Patients", "case": "Images", "task": "Classes", "model": "Models", "method": "Methods"}
QUARTILES = [0.25, 0.5, 0.75]
#: Which image of a data set is shown.
PICKED = "of each data set the image whose mean {} over models and methods is nearest to the median"


def data_sets(given: Means) -> Result | None:
    """Table 1: what each data set holds."""
    scores = given.scores
    if scores is None:
        return None
    held = {
        f"n_{column}s": (column, heading)
        for column, heading in COUNTED.items()
        if column in scores and scores[column].notna().any()
    }
    keys = [c for c in ("case", "task") if c in scores]
    rows = []
    for dataset, own in scores.groupby("dataset", sort=False, observed=True):
        there = own if "label" not in own else own[own["label"] == 1]
        found = there.drop_duplicates(keys)
        row = {"dataset": dataset} | {name: own[column].nunique() for name, (column, _) in held.items()}
        row["n_present"] = len(found)
        if "area_ratio" in own:
            row |= dict(zip(("q1", "median", "q3"), found["area_ratio"].quantile(QUARTILES), strict=True))
        rows.append(row)
    names = given.names
    frame = pd.DataFrame(rows)
    frame = frame.set_index("dataset").loc[names.order("dataset", frame["dataset"])].reset_index()
    columns: dict[str | Column, Cell] = {text: name for name, (_, text) in held.items()}
    columns["Truths"] = "n_present"
    if "median" in frame:
        columns[Column("Median [Q1, Q3]", (Labels().column("area_ratio"),))] = lambda r: (
            interval_text(r.median, r.q1, r.q3, 3, "brackets") if r.median == r.median else MISSING
        )
    table = table_of(frame, TABLE_ID, {"Data set": lambda r: names.value("dataset", r.dataset)}, columns)
    return Result(frame, table, note="Truths: what is there of all classes on all images")


def figure_1(given: Means) -> Result:
    """Fig. 1: an image of each data set with its truth."""
    study, picks = _pictured(given), _picks(given)
    figure = plot_truths(study, picks, images=given.images, labels=given.names)
    return Result(picks, _table_of_picks(given, picks), figure, note=PICKED.format(_score_of(picks)))


@plot_function
def plot_truths(
    study: Study, picks: pd.DataFrame, *, images: ImageSource | None, labels: Labels, width: float = PAGE_MM
) -> p9.ggplot:
    """An image of each data set beside each other, with the outline of what is to be found on it."""
    titles = {row.dataset: labels.value("dataset", row.dataset) for row in picks.itertuples()}
    # few are no larger than four on a page
    n = max(len(titles), 4 if width > COLUMN_MM else 2)
    room = (width - 2 * EDGE_MM - (n - 1) * GAP_MM) / n
    whole = width if n == len(titles) else len(titles) * (room + GAP_MM) - GAP_MM + 2 * EDGE_MM
    layout = gallery_layout({"": ()}, [None], titles, whole)
    look = PictureOptions(
        mask_rule(study.select(methods=set()), threshold=OTSU), check_images(images), False, layout.box
    )
    cases = {case.case: case for case in study}
    panels = [overlay_picture(cases[row.case], row.task, None, (), look) for row in picks.itertuples()]
    placed = [
        Placed(panel, "", row.dataset, labels.value("task", row.task))
        for panel, row in zip(panels, picks.itertuples(), strict=True)
    ]
    sheet = layout.sheet([layout.bands("")])
    return overlay_figure(placed, sheet, labels=labels, notes=[image_note(panels)], spacing=None)


def maps_of(place: int) -> Callable[[Means], Result | None]:
    """The maps of every method of one model, the how-manieth of the study, on the images of Fig. 1."""

    def make(given: Means) -> Result | None:
        study, picks, names = _pictured(given), _picks(given), given.names
        series = [s for s in study.series if s.method != HUMAN]
        models = list(dict.fromkeys(s.model for s in series))
        if place >= len(models):
            return None
        model, metric = models[place], picks["metric"].iloc[0]
        assert given.scores is not None
        rows = given.scores[given.scores["metric"] == metric]
        if model is not None:
            rows = rows[rows["model"] == model]
        shown = picks[["dataset", "case", "task"]].merge(rows, on=["dataset", "case", "task"])
        titles = {
            row.case: f"{names.value('dataset', row.dataset)}: {names.value('case', row.case)}"
            for row in picks.itertuples()
        }
        one = _of_one_model(study, [s for s in series if s.model == model])
        figure = ss.plot_gallery(
            one,
            picks[["case", "task"]],
            scores=shown.drop(columns=["model", "seed"], errors="ignore"),
            images=given.images,
            labels={"case": titles},
        )
        of = "" if model is None else f", {names.value('model', model)}"
        return Result(
            shown,
            _table_of_picks(given, picks),
            figure,
            note=f"{PICKED.format(_score_of(picks))}; below each its own",
            title=f"Fig. {3 + place}: maps of every method{of}",
        )

    return make


def _of_one_model(study: Study, series: list[Series]) -> Study:
    """The study with the first series of each method alone, which needs no model and seed to be told."""
    first: dict[str, Series] = {}
    for s in series:
        first.setdefault(s.method, s)
    bare = {s: Series(method) for method, s in first.items()}
    cases = tuple(
        replace(
            case,
            predictions=tuple(
                replace(p, series=bare[p.series]) for p in case.predictions if p.series in bare
            ),
        )
        for case in study
    )
    return replace(study, cases=cases, series=tuple(bare.values()))


def _picks(given: Means) -> pd.DataFrame:
    """An image of each data set: `dataset, case, task, metric, score, ...`, of the first metric."""
    study, scores = _pictured(given), given.scores
    assert scores is not None
    truths = {(case.case, task) for case in study for task in case.truths}
    metric = given.names.order("metric", scores["metric"])[0]
    own = scores[(scores["metric"] == metric) & scores["score"].notna()]
    own = own.assign(task=own["task"] if "task" in own else study.tasks[0])
    own = own[[key in truths for key in zip(own["case"], own["task"], strict=True)]]
    if own.empty:
        raise SalstatsError(f"no case of the scores is in {study.source}")
    means = own.groupby(["dataset", "case", "task"], as_index=False, observed=True)["score"].mean()
    if means.duplicated(["case", "task"]).any():
        raise SalstatsError(f"cases of {study.source} stand in several data sets of the scores")
    picks = ss.pick_cases(means.assign(method="mean", metric=metric), at="median", by="dataset")
    order = given.names.order("dataset", picks["dataset"])
    return picks.set_index("dataset").loc[order].reset_index().drop(columns=["method", "pick", "target"])


def _table_of_picks(given: Means, picks: pd.DataFrame) -> GT:
    """Which image of each data set is shown."""
    names = given.names
    return table_of(
        picks,
        TABLE_ID,
        {"Data set": lambda r: names.value("dataset", r.dataset)},
        {
            "Case": "case",
            "Class": lambda r: names.value("task", r.task),
            f"Mean {_score_of(picks)}": ("score", 3),
        },
    )


def _score_of(picks: pd.DataFrame) -> str:
    """What the images were picked by, of one image: no mean of many."""
    return Labels().value("metric", picks["metric"].iloc[0])


def _pictured(given: Means) -> Study:
    """The study behind the scores."""
    assert given.study is not None
    return given.study

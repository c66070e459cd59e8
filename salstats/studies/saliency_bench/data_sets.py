"""Table 1 and Figs. 1, 3 and 4: the data sets, an image of each with its truth, and the maps of it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from great_tables import GT

import salstats as ss
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.gallery_layout import gallery_layout
from salstats.display.plots.layout.overlay_sheet import EDGE_MM, GAP_MM, PlacedPicture
from salstats.display.plots.layout.theme import COLUMN_MM, PAGE_MM
from salstats.display.plots.overlay import missing_images_note, overlay_figure
from salstats.display.tables.record import TableColumn
from salstats.display.text.format import MISSING, interval_text
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.readers.background_images import ImageSource, check_images
from salstats.scoring.masking import OTSU, mask_rule
from salstats.scoring.overlay_pictures import PictureOptions, overlay_picture
from salstats.stats.engine.score_reasons import is_row_of_absent_finding
from salstats.studies.declarations import ItemResult
from salstats.studies.result_tables import CellSource, table_of
from salstats.studies.saliency_bench.cell_means import Benchmark
from salstats.study import HUMAN, Series, Study

TABLE_ID = "saliency-bench"
#: Columns that are counted in each data set, with their headings.
COUNTED = {"patient": "Patients", "case": "Images", "task": "Classes", "model": "Models", "method": "Methods"}
#: Quartiles of the size of findings, as shares.
QUARTILES = {"q1": 0.25, "median": 0.5, "q3": 0.75}


def table_1_data_sets(benchmark: Benchmark) -> ItemResult | None:
    """Table 1: the contents of each data set."""
    scores = benchmark.scores
    if scores is None:
        return None
    counted = [column for column in COUNTED if column in scores and scores[column].notna().any()]
    rows = []
    for dataset, dataset_scores in scores.groupby("dataset", sort=False, observed=True):
        rows.append({"dataset": dataset, **_counts_and_size_quartiles_of_data_set(dataset_scores, counted)})
    names = benchmark.names
    frame = pd.DataFrame(rows)
    order = names.order("dataset", frame["dataset"])
    frame = frame.set_index("dataset").loc[order].reset_index()
    columns: dict[str | TableColumn, CellSource] = {COUNTED[column]: f"n_{column}s" for column in counted}
    columns["Truths"] = "n_present"
    if "median" in frame:
        columns[TableColumn("Median [Q1, Q3]", (Labels().column("area_ratio"),))] = _quartile_text
    table = table_of(frame, TABLE_ID, {"Data set": lambda r: names.value("dataset", r.dataset)}, columns)
    return ItemResult(frame, table, note="Truths: findings that are present, of all classes on all images")


def _counts_and_size_quartiles_of_data_set(scores: pd.DataFrame, counted: Sequence[str]) -> dict[str, float]:
    """Return the number of patients, images and so on, and quartiles of the size of findings."""
    is_present = ~is_row_of_absent_finding(scores)
    if "label" in scores:
        # A data set may have no labels while others do; then only a reason says that a finding is absent.
        is_present &= scores["label"].isna().to_numpy() | (scores["label"] == 1).to_numpy()
    present = scores[is_present]
    keys = [column for column in ("case", "task") if column in scores]
    findings = present.drop_duplicates(keys)
    facts: dict[str, float] = {f"n_{column}s": scores[column].nunique() for column in counted}
    facts["n_present"] = len(findings)
    if "area_ratio" in scores:
        for name, probability in QUARTILES.items():
            facts[name] = float(findings["area_ratio"].quantile(probability))
    return facts


def _quartile_text(row: Any) -> str:
    """Write the median and quartiles of the size of findings, a dash where no size is known."""
    if pd.isna(row.median):
        return MISSING
    return interval_text(row.median, row.q1, row.q3, 3, "brackets")


def figure_1_images_with_truths(benchmark: Benchmark) -> ItemResult:
    """Fig. 1: an image of each data set with its truth."""
    picks = _median_score_image_of_each_data_set(benchmark)
    figure = plot_truths(_study(benchmark), picks, images=benchmark.images, labels=benchmark.names)
    return ItemResult(picks, _picked_images_table(benchmark, picks), figure, note=_picks_note(picks))


@keep_call_in_figure
def plot_truths(
    study: Study, picks: pd.DataFrame, *, images: ImageSource | None, labels: Labels, width: float = PAGE_MM
) -> Figure:
    """Draw an image of each data set with the outline of the truth, side by side."""
    titles = {dataset: labels.value("dataset", dataset) for dataset in picks["dataset"]}
    n_panels = len(titles)
    # A panel is at most a fourth of a page or half a column wide, so that few panels make a narrow figure.
    least_columns = 2
    if width > COLUMN_MM:
        least_columns = 4
    n_columns = max(n_panels, least_columns)
    panel_width = (width - 2 * EDGE_MM - (n_columns - 1) * GAP_MM) / n_columns
    sheet_width = width
    if n_panels < n_columns:
        sheet_width = n_panels * panel_width + (n_panels - 1) * GAP_MM + 2 * EDGE_MM
    # One row of pictures, without a name.
    layout = gallery_layout({"": ()}, image_shapes=[None], column_titles=titles, width=sheet_width)
    rule = mask_rule(study.select(methods=set()), threshold=OTSU)
    picture_options = PictureOptions(rule, check_images(images), shows_human=False, box_mm=layout.box)
    cases = {case.case: case for case in study}
    panels = []
    placed = []
    for pick in picks.to_dict("records"):
        task = pick["task"]
        panel = overlay_picture(cases[pick["case"]], task, method=None, series=(), options=picture_options)
        panels.append(panel)
        placed.append(PlacedPicture(panel, row="", column=pick["dataset"], text=labels.value("task", task)))
    sheet = layout.sheet([layout.bands_of_row("")])
    return overlay_figure(
        placed, sheet, labels=labels, notes=[missing_images_note(panels, labels)], spacing=None
    )


def maps_maker(model_index: int) -> Callable[[Benchmark], ItemResult | None]:
    """Return a function that draws the maps of every method of one model on the images of Fig. 1.

    Models are numbered from 0 in the order of the study.
    """

    def make(benchmark: Benchmark) -> ItemResult | None:
        study = _study(benchmark)
        picks = _median_score_image_of_each_data_set(benchmark)
        names = benchmark.names
        map_series = [series for series in study.series if series.method != HUMAN]
        models = list(dict.fromkeys(series.model for series in map_series))
        if model_index >= len(models):
            return None
        model = models[model_index]
        rows = _scores_with_task_column_added_if_missing(benchmark)
        rows = rows[rows["metric"] == picks["metric"].iloc[0]]
        title = f"Fig. {3 + model_index}: maps of every method"
        if model is not None:
            rows = rows[rows["model"] == model]
            title += f", {names.value('model', model)}"
        scores = picks[["dataset", "case", "task"]].merge(rows, on=["dataset", "case", "task"])
        case_titles = {}
        for row in picks.itertuples():
            case_titles[row.case] = f"{names.value('dataset', row.dataset)}: {names.value('case', row.case)}"
        model_series = [series for series in map_series if series.model == model]
        figure = ss.plot_gallery(
            _first_series_per_method(study, model_series),
            picks[["case", "task"]],
            scores=scores.drop(columns=["model", "seed"], errors="ignore"),
            images=benchmark.images,
            labels={"case": case_titles},
        )
        note = f"{_picks_note(picks)}; below each its own"
        return ItemResult(scores, _picked_images_table(benchmark, picks), figure, note=note, title=title)

    return make


def _first_series_per_method(study: Study, series_of_model: list[Series]) -> Study:
    """Keep the predictions of each method's first series, and remove model and seed from its name."""
    first_by_method: dict[str, Series] = {}
    for series in series_of_model:
        first_by_method.setdefault(series.method, series)
    new_series = {series: Series(method) for method, series in first_by_method.items()}
    cases = []
    for case in study:
        predictions = []
        for prediction in case.predictions:
            if prediction.series in new_series:
                predictions.append(replace(prediction, series=new_series[prediction.series]))
        cases.append(replace(case, predictions=tuple(predictions)))
    return replace(study, cases=tuple(cases), series=tuple(new_series.values()))


def _median_score_image_of_each_data_set(benchmark: Benchmark) -> pd.DataFrame:
    """Pick the image of each data set whose mean score by the first metric is nearest to the median.

    Columns: `dataset, case, task, metric, score` and what `pick_cases` adds.
    """
    study = _study(benchmark)
    scores = _scores_with_task_column_added_if_missing(benchmark)
    cases_and_tasks = {(case.case, task) for case in study for task in case.truths}
    metric = benchmark.names.order("metric", scores["metric"])[0]
    scores = scores[(scores["metric"] == metric) & scores["score"].notna()]
    keys = zip(scores["case"], scores["task"], strict=True)
    has_truth = [key in cases_and_tasks for key in keys]
    scores = scores[has_truth]
    if scores.empty:
        raise SalstatsError(f"no case of the scores is in {study.source}", column="case")
    means = scores.groupby(["dataset", "case", "task"], as_index=False, observed=True)["score"].mean()
    if means.duplicated(["case", "task"]).any():
        raise SalstatsError(
            f"cases of {study.source} stand in several data sets of the scores", column="case"
        )
    picks = ss.pick_cases(means.assign(method="mean", metric=metric), at="median", by="dataset")
    picks = picks.drop(columns=["method", "pick", "target"])
    order = benchmark.names.order("dataset", picks["dataset"])
    return picks.set_index("dataset").loc[order].reset_index()


def _scores_with_task_column_added_if_missing(benchmark: Benchmark) -> pd.DataFrame:
    """Return the scores; without a column `task` they belong to the first task of the study."""
    scores = benchmark.scores
    assert scores is not None
    if "task" in scores.columns:
        return scores
    return scores.assign(task=_study(benchmark).tasks[0])


def _picked_images_table(benchmark: Benchmark, picks: pd.DataFrame) -> GT:
    """Make a table of the images that are shown."""
    names = benchmark.names
    return table_of(
        picks,
        TABLE_ID,
        {"Data set": lambda r: names.value("dataset", r.dataset)},
        {
            "Case": "case",
            "Class": lambda r: names.value("task", r.task),
            f"Mean {_metric_label(picks)}": ("score", 3),
        },
    )


def _picks_note(picks: pd.DataFrame) -> str:
    """Write how the images were picked."""
    return (
        f"of each data set the image whose mean {_metric_label(picks)} over models and methods is nearest to "
        "the median"
    )


def _metric_label(picks: pd.DataFrame) -> str:
    """Name the metric that the images were picked by, such as IoU: an image has an IoU and no mean IoU."""
    return Labels().value("metric", picks["metric"].iloc[0])


def _study(benchmark: Benchmark) -> Study:
    """Return the study behind the scores."""
    assert benchmark.study is not None
    return benchmark.study

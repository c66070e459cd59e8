"""Cases to look at: Fig. 1, and the main saliency method at its worst, median, mean and best."""

from collections.abc import Iterator

from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import fixed_text
from salstats.display.text.labels import Labels
from salstats.from_study import plot_gallery
from salstats.readers.case_images import ImageSource
from salstats.stats.picking import pick_cases
from salstats.studies.items import Item, made_if_possible
from salstats.studies.saporta2022.finding_pictures import figure_3
from salstats.studies.saporta2022.frames import Frames, main_rows, metric_rows
from salstats.studies.saporta2022.needs import MAPS, PEOPLE, main_alone
from salstats.studies.saporta2022.words import LABELS
from salstats.study import Study


def pictures(study: Study, frames: Frames, images: ImageSource | None) -> Iterator[Item]:
    """Yield what is drawn on images: Fig. 1 and examples where there are maps, and Fig. 3."""
    made = {"Fig. 1": figure_1, "Fig. 3": figure_3, "The examples": examples}
    for name, make in made.items():
        if name == "Fig. 3" or MAPS in frames.there:
            with made_if_possible(name):
                yield make(study, frames, images)


def examples(study: Study, frames: Frames, images: ImageSource | None) -> Item:
    """Return the cases whose IoU is the worst, nearest the median and the mean, and the best, drawn."""
    rows = metric_rows(main_rows(frames, frames.scores), "iou")
    picks = pick_cases(rows, method=frames.main, by="metric")
    labels = Labels()
    table = Table(
        ("Pick",),
        [(str(p).capitalize(),) for p in picks["pick"]],
        [Column("Case", align="left"), Column("Task", align="left"), Column(labels.value("metric", "iou"))],
        [[r.case, labels.value("task", r.task), fixed_text(r.score, 3)] for r in picks.itertuples()],
    )
    return Item(
        "examples",
        "Examples picked by IoU",
        picks,
        build(table, "saporta2022"),
        plot_gallery(main_alone(study), picks, scores=rows, images=images, human=PEOPLE in frames.there),
        note="the case nearest to the worst, median, mean and best IoU of the main saliency method; ties by "
        "name",
    )


def figure_1(study: Study, frames: Frames, images: ImageSource | None) -> Item:
    """Return Fig. 1: the case of median IoU, with the map, people's outline and their scores."""
    rows = metric_rows(main_rows(frames, frames.scores), "iou", "hit")
    picks = pick_cases(metric_rows(rows, "iou"), method=frames.main, by="metric").query("pick == 'median'")
    shown = rows.merge(picks[["case", "task"]], on=["case", "task"])
    wide = shown.pivot_table(index="method", columns="metric", values="score", sort=False)
    metrics = [m for m in ("iou", "hit") if m in wide]
    table = Table(
        ("Method",),
        [(LABELS.value("method", m),) for m in wide.index],
        [Column(LABELS.value("metric", m)) for m in metrics],
        [[fixed_text(score, 3) for score in row] for row in wide[metrics].to_numpy()],
    )
    return Item(
        "figure_1",
        "Fig. 1: a map and people's outline against the truth",
        shown,
        build(table, "saporta2022"),
        plot_gallery(main_alone(study), picks, scores=metric_rows(rows, "iou"), images=images),
        note="the case nearest to the median IoU of the main saliency method",
    )

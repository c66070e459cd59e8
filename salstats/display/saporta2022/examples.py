"""Cases to look at: the main saliency method at its worst, median, mean and best."""

from salstats.display.format import fixed_text
from salstats.display.items import Item
from salstats.display.labels import Labels
from salstats.display.plots.gallery import plot_gallery
from salstats.display.plots.image_sources import ImageSource
from salstats.display.saporta2022.frames import Frames, main_rows, metric_rows
from salstats.display.saporta2022.needs import PEOPLE, main_alone
from salstats.display.tables.layout import Column, Table, build
from salstats.stats.picking import pick_cases
from salstats.study import Study


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

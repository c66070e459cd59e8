"""Cases to look at: one tool at its worst, median, mean and best, with all tools beside it."""

from collections.abc import Mapping

from salstats.display.tables import notes
from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import fixed_text
from salstats.display.text.labels import Labels
from salstats.from_study import plot_gallery
from salstats.readers.case_images import ImageSource
from salstats.stats.picking import pick_cases
from salstats.studies.items import Item
from salstats.studies.mrxai2025.cases import Scored
from salstats.studies.mrxai2025.words import TABLE_ID, UNPENALISED, in_note, labels_of
from salstats.study import Study


def examples(
    study: Study,
    scored: Scored,
    *,
    method: str,
    metric: str,
    images: ImageSource | None = None,
    spacing: float | Mapping[str, float] | None = None,
    unpenalised: bool = False,
) -> Item:
    """Return the cases whose score is the worst, nearest the median and the mean, and the best, drawn.

    Parameters
    ----------
    study : Study
    scored : Scored
        Of `keep_cases`; the cases left out are not shown.
    method : str
        The tool whose scores pick.
    metric : str
        The score that picks.
    images : folder or mapping, optional
        The images behind the explanations.
    spacing : float or mapping of str to float, optional
        Millimetres per pixel, by case where they differ, for the scale bars.
    unpenalised : bool
        Whether the penalised Dice is known to have no size penalty.
    """
    rows = scored.kept[scored.kept["metric"] == metric].reset_index(drop=True)
    picks = pick_cases(rows, method=method, by="metric")
    names = Labels(labels_of(scored.kept))
    heading = names.value("metric", metric)
    table = Table(
        ("Pick",),
        [(str(p).capitalize(),) for p in picks["pick"]],
        [Column("Case", align="left"), Column(heading)],
        [[row.case, fixed_text(row.score, 3)] for row in picks.itertuples()],
        notes=[notes.paragraph(notes.how_note(picks, names), notes.metric_note(picks))],
    )
    tool = names.value("method", method)
    figure = plot_gallery(
        study, picks, scores=rows, metric=metric, images=images, spacing=spacing, labels=names
    )
    return Item(
        "examples",
        f"Fig. 8: examples picked by {heading} of {tool}",
        picks,
        build(table, TABLE_ID),
        figure,
        slice="cases compared",
        note=in_note(
            f"the case nearest to the worst, median, mean and best {heading} of {tool}; ties by name; an "
            "explanation that is empty has no score.",
            UNPENALISED if unpenalised and metric == "pdc" else "",
        ),
    )

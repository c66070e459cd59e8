"""One case to look at: the main saliency map at its median agreement with where readers looked."""

import numpy as np
import pandas as pd

from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import counted, fixed_text
from salstats.images.center_bias import CenterBias
from salstats.scoring.gaze_cases import ALL, GazeRule, Truths, bias_on, on_image
from salstats.stats.picking import pick_cases
from salstats.studies.items import Item
from salstats.studies.lanfredi2021.pictures import plot_pictures, share_per_pixel
from salstats.studies.lanfredi2021.raw_tables import main_method, row_names, without_blanks
from salstats.study import Case, Study, shape_of

HULL = "convex"


def example_case(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the case whose mean sAUC of the main method is nearest to the median, as `pick_cases` does."""
    known = rows[(rows["metric"] == "sauc") & rows["score"].notna()]
    method, mixing = main_method(known)
    own = known[(known["method"] == method) & (known["mixing"] == mixing)]
    means = own.groupby(["case", "method", "mixing", "metric"], as_index=False)["score"].mean()
    return pick_cases(means, at="median", by=["method", "metric"])


def example(study: Study, pick: pd.DataFrame, center_bias: str, bias: CenterBias | None) -> Item:
    """Return the case picked: mean fixation map, centre bias, the map and the hull of the lungs.

    Parameters
    ----------
    study : Study
    pick : DataFrame
        Of `example_case`.
    center_bias : {"all", "others"}
    bias : CenterBias or None
        Of the study.
    """
    row = pick.iloc[0]
    case = next(c for c in study if c.case == row["case"])
    rule = GazeRule(
        series=study.series,
        metrics=("sauc",),
        truth=ALL,
        min_readers=1,
        n_readers=None,
        center_bias=center_bias,
        n_samples=None,
    )
    truths = Truths(case, rule)
    density = bias_on(case, truths, bias, rule).density
    name = row_names(pick)[0]
    pictures = {"Mean fixation map": truths.densities[0]}
    if density is not None:
        pictures["Centre bias"] = density
    # the hull once, where it is the method itself
    for method, title in {row["method"]: name, HULL: "Hull of the lungs"}.items():
        shown = _map_of(study, case, method, row["mixing"])
        if shown is not None:
            pictures[title] = share_per_pixel(shown)
    note = (
        f"Case {case.case}, {counted(len(case.used), 'reader')}. Every picture sums to 1; maps are taken "
        "above their least value."
    )
    table = Table(
        ("Case",),
        [(case.case,)],
        [Column("Method", align="left"), Column("sAUC, mean over readers"), Column("Median of cases")],
        [[name, fixed_text(row["score"], 3), fixed_text(row["target"], 3)]],
    )
    return Item(
        "example",
        "Example: where readers looked, their habit, a map and the lungs",
        without_blanks(pick),
        build(table, "lanfredi2021"),
        plot_pictures(pictures, note=note),
        slice="one case",
        note=f"the case whose mean sAUC of {name} is nearest to the median; ties by name",
    )


def _map_of(study: Study, case: Case, method: str, mixing: str) -> np.ndarray | None:
    """Return the first map of a method at the size of the image; None where there is none to show."""
    wanted = [s for s in study.series if s.method == method]
    wanted = [s for s in wanted if s.mixing == mixing] or wanted
    given = {p.series: p for p in case.predictions}
    maps = (given[s].read().saliency for s in wanted if s in given)
    found = (on_image(saliency, shape_of(case)) for saliency in maps if saliency is not None)
    return next((saliency for saliency in found if saliency is not None), None)

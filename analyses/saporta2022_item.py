"""What a result is: a frame with the table and the figure that show it, and the words they use."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd
import plotnine as p9
from great_tables import GT
from saporta2022_frames import FEATURES

from salstats.display.labels import Labels

TRUE_POSITIVE, FULL, CUT = "true-positive", "full", "full, tuned probability cut-offs"
LABELS = {
    "term": {"slope": "Slope", "spearman": "Spearman correlation"},
    "prob": "Model confidence",
    "threshold": "Threshold",
    "otsu": "Otsu's threshold",
    "tuned": "Tuned threshold",
}


@dataclass(frozen=True)
class Item:
    """A result: the frame behind it, and what shows it.

    Attributes
    ----------
    key : str
        Name of its files.
    title : str
        What it is, with its number in the study.
    frame : DataFrame
        Unrounded.
    table : GT
        For the paper.
    figure : ggplot, optional
        Where one shows more than the table.
    slice : str
        Which cases and tasks.
    note : str
        What has to be known to read it.
    """

    key: str
    title: str
    frame: pd.DataFrame
    table: GT
    figure: p9.ggplot | None = None
    slice: str = TRUE_POSITIVE
    note: str = ""


def words(names: Iterable[object]) -> list[str]:
    """Return names of metrics, methods, features and tasks in print; what is missing or a mean has none."""
    texts = [
        str(name) for name in names if isinstance(name, str) and name not in ("mean", "percent_decrease")
    ]
    print_as = {"iou": "IoU", "hit": "hit", "slope": "slope", "spearman": "Spearman", "prob": "confidence"}
    labels = Labels()
    return [print_as.get(t) or (feature(t) if t in FEATURES else labels.value("method", t)) for t in texts]


def feature(name: str) -> str:
    """Return a feature's name in print."""
    return Labels().column(name)

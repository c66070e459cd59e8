"""Words of saporta2022 in print: slices, labels, names of outcomes and features."""

from collections.abc import Iterable
from typing import Any

from salstats.display.text.labels import Labels
from salstats.scoring.cases import FULL
from salstats.studies.saporta2022.frames import FEATURES, Choice, Frames

_NAMES = {
    "term": {"slope": "Slope", "spearman": "Spearman correlation"},
    "prob": "Model confidence",
    "threshold": "Threshold",
    "otsu": "Otsu's threshold",
    "tuned": "Tuned threshold",
}


def labels_with(**more: Any) -> Labels:
    """Return the labels of this study, with those of one item."""
    return Labels({**_NAMES, **more})


LABELS = labels_with()


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


def shared_note(frames: Frames) -> str:
    """Return what to know where cases were tuned on and scored; empty where none were."""
    cases = f"{frames.n_shared} cases stand in both studies"
    return f"; {cases}, so that what is tuned is too good here" if frames.n_shared else ""


def full_name(frames: Frames) -> str:
    """Return what the full slice of a study is."""
    return f"{FULL}, {frames.cut_off} probability cut-offs" if frames.cut_off else FULL


def cutoff_note(frames: Frames, choice: Choice) -> str:
    """Return how cut-offs were chosen, as the end of a note."""
    if frames.cut_off != "tuned":
        return "" if frames.cut_off else "; without cut-offs: low confidence empties no mask"
    how = (
        "as the scripts do: the largest mean IoU to three digits of masks with a probability above it, 0 not "
        "tried for Lung Lesion"
        if choice.published
        else "by the largest mean IoU"
    )
    return f"; cut-offs chosen {how}; masks below them are empty{shared_note(frames)}"

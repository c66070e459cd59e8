"""Methods sentences on the scores themselves: how masks were made, and several rows of one case."""

import pandas as pd

from salstats.display.report.analyses import several
from salstats.display.report.model import Settings
from salstats.display.text.format import joined, plural

#: What a slice is.
_SLICES = {
    "true-positive": " (where the truth has the finding)",
    "full": " (all images; undefined only where there was nothing to divide by)",
    "predicted-positive": " (where the model finds the finding)",
}


def masks_made(scores: pd.DataFrame) -> tuple[str, ...]:
    """What slice the scores are of and how maps became masks, as far as the scores say it."""
    sentences = []
    slices = scores["slice"].dropna().astype(str).unique() if "slice" in scores.columns else []
    if len(slices) == 1:
        sentences.append(f"Scores are of the {slices[0]} slice{_SLICES.get(slices[0], '')}.")
        if slices[0] == "true-positive" and {"prob", "label"} <= set(scores.columns):
            sentences.append(
                "Images that the truth does not hold are not among them, so an AUROC is of the others only."
            )
    cut = scores["threshold"].dropna().astype(str).unique() if "threshold" in scores.columns else []
    if len(cut):
        own = sorted(t for t in cut if t != "otsu")
        texts = ["Otsu's threshold"] if "otsu" in cut else []
        if own:
            span = own[0] if len(own) == 1 else f"{own[0]} to {own[-1]}, one for each task and method"
            texts.append(f"a threshold of {span}")
        sentences.append(
            f"Maps, resized to their image and scaled to 0 to 1, became masks at {joined(texts)}."
        )
    if "cutoff" in scores.columns and scores["cutoff"].notna().any():
        sentences.append("Masks were empty where the probability was below its cut-off.")
    if "smooth" in scores.columns and scores["smooth"].notna().any():
        sentences.append("Maps were smoothed with a box filter before the threshold.")
    return (" ".join(sentences),) if sentences else ()


def repeated_rows(scores: pd.DataFrame, settings: Settings) -> tuple[str, ...]:
    """What became of several readers or seeds of one case."""
    units = plural(settings.unit)
    return tuple(
        f"Cases had scores of several {plural(column)} ({scores[column].nunique()} in all). These stood as "
        f"rows of their case, were kept together in every analysis and averaged in correlations; intervals "
        f"and P values speak of other {units}, not of other {plural(column)}."
        for column in ("reader", "seed")
        if several(scores, column)
    )

"""Cautions of an estimates frame as sentences, for notes, captions, the console and reports."""

import pandas as pd

from salstats.display.text.format import count_text, counted, counted_range
from salstats.stats.engine.cautions import DIFFERENT_CASES, row_mask_by_caution


def caution_note(estimates: pd.DataFrame) -> str:
    """Return what makes estimates doubtful: "Caution (3 of 12 estimates): ..."; "" where nothing does."""
    sentences = []
    for caution, rows in row_mask_by_caution(estimates).items():
        if not rows.all():
            heading = f"Caution ({count_text(rows.sum())} of {counted(len(rows), 'estimate')})"
        elif len(rows) > 1:
            heading = "Caution (every estimate)"
        else:
            heading = "Caution"
        sentences.append(f"{heading}: {caution.note}")
        if caution is DIFFERENT_CASES:
            n_shared = estimates.loc[rows].get("n_shared", pd.Series()).dropna()
            if len(n_shared):
                sentences.append(f"All methods share {counted_range(n_shared, 'case')}.")
    return " ".join(sentences)

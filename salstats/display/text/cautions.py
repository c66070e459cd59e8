"""Cautions of an estimates frame as sentences, for notes, captions, the console and reports."""

import pandas as pd

from salstats.display.text.format import count_text, counted
from salstats.stats.cautions import rows_by_caution


def caution_note(estimates: pd.DataFrame) -> str:
    """Write what makes rows doubtful: "Caution (3 of 12 estimates): ..."; "" where nothing does."""
    sentences = []
    for caution, rows in rows_by_caution(estimates).items():
        concerned = f"{count_text(rows.sum())} of {counted(len(rows), 'estimate')}"
        if rows.all():
            concerned = "every estimate" if len(rows) > 1 else ""
        heading = f"Caution ({concerned})" if concerned else "Caution"
        sentences.append(f"{heading}: {caution.note}")
    return " ".join(sentences)

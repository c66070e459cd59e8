"""Mean scores on the first metric, by which a report says which method is best."""

import pandas as pd

from salstats.display.report.wording import pooled_rows
from salstats.display.text.labels import Labels
from salstats.metrics.registry import direction


def first_means(means: pd.DataFrame, reference: str | None) -> pd.DataFrame:
    """Means of the first metric on which a compared method has one, over tasks where there are several."""
    pooled = pooled_rows(means)
    shown = means[pooled] if pooled.any() else means
    defined = compared_rows(shown, reference)
    metric = Labels().order("metric", (defined if len(defined) else shown)["metric"])[0]
    return shown[shown["metric"] == metric].drop(columns="task", errors="ignore").reset_index(drop=True)


def compared_rows(means: pd.DataFrame, reference: str | None) -> pd.DataFrame:
    """Defined means of every method but the reference, the best first; of an unknown metric the largest."""
    rows = means[means["estimate"].notna() & means["method"].astype(str).ne(reference)]
    signs = [-1 if direction(metric) < 0 else 1 for metric in rows["metric"]]
    return rows.iloc[(-rows["estimate"] * signs).argsort(kind="stable").to_numpy()]

"""What has to be said of estimates that stand on little."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from salstats.display.report.wording import Words, pooled_rows
from salstats.display.text.format import count_text, counted, counted_range
from salstats.stats.engine.cautions import rows_by_caution
from salstats.stats.engine.few_units import FEW_DF
from salstats.stats.engine.intervals import interval_by_name
from salstats.stats.engine.result_warnings import FEW_UNITS, UNDEFINED_SHARE, beyond_range

#: Closes a section in which something was not shown.
NOT_EVIDENCE = (
    "Where no difference was shown, the interval, if there is one, gives the differences that the data are "
    "compatible with; this is not evidence that there is none."
)


def caveats(frame: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield sentences on few units, missing limits, undefined replicates and intervals of width 0."""
    defined = frame["estimate"].notna().to_numpy()
    low, high = (frame[c].to_numpy(dtype=np.float64) for c in ("conf_low", "conf_high"))
    given = defined & ~np.isnan(low) & ~np.isnan(high)
    units = frame["n_units"].to_numpy(dtype=np.float64)
    records = [interval_by_name(name) for name in frame["interval"]]
    kinds = np.array(["" if r is None else r.kind for r in records])
    by_df = np.array([r is not None and r.kind == "t" and not r.bounded for r in records])
    df = frame["df"].to_numpy(dtype=np.float64) if "df" in frame.columns else units - 1
    df = np.where(by_df & ~np.isnan(df), df, units - 1)
    few = given & np.where(kinds == "bootstrap", units < FEW_UNITS, (df < FEW_DF) & (kinds != "flips"))
    if few.any():
        span = counted_range(units[few], words.unit)
        tests = " and P values likely too small" if "p_value" in frame.columns else ""
        # an average has the units of all its tasks, and hangs on the task with the fewest
        hidden = ", also of averages that include them" if (pooled_rows(frame) & given & ~few).any() else ""
        yield f"{_of(few)} rest on only {span}; such are likely too narrow{tests}{hidden}."
    lost = defined & ~given
    if lost.any():
        single = f" on a single {words.unit}" if (units[lost] == 1).all() else ""
        yield f"No interval could be given for {counted(lost.sum(), 'estimate')}{single}."
    if "n_undefined" in frame.columns:
        replicates = words.settings.n_replicates
        undefined = frame["n_undefined"].to_numpy(dtype=np.float64)
        many = defined & (undefined > UNDEFINED_SHARE * replicates)
        if many.any():
            most = count_text(undefined[many].max())
            verdict = "; no verdict is given there" if "verdict" in frame.columns else ""
            yield (
                f"{_of(many)} leave out more than 1% of the replicates, as these were undefined (up to "
                f"{most} of {count_text(replicates)}){verdict}."
            )
    beyond = beyond_range(frame)
    if beyond.any():
        yield f"{_of(beyond)} hold impossible values: this kind knows no bounds."
    flat = given & (low == high)
    if flat.any():
        yield f"{_of(flat)} have width 0, since nothing varies between the replicates; that is no certainty."
    for caution, rows in rows_by_caution(frame).items():
        yield f"{counted(rows.sum(), 'estimate')}: {caution.note}"


def _of(rows: np.ndarray) -> str:
    """Start of a sentence on the intervals of some rows."""
    return f"Intervals of {counted(rows.sum(), 'estimate')}"

"""What has to be said of estimates that stand on little."""

import numpy as np
import pandas as pd

from salstats.display.report.model import Settings
from salstats.display.report.wording import pooled_rows, unit_words
from salstats.display.text.format import count_text, counted, counted_range
from salstats.stats.advice import FEW_FOR_T, FEW_UNITS, UNDEFINED_SHARE, beyond_range
from salstats.stats.intervals import BOOTSTRAP

#: Closes a section in which something was not shown.
NOT_EVIDENCE = (
    "Where no difference was shown, the interval, if there is one, gives the differences that the data are "
    "compatible with; this is not evidence that there is none."
)


def caveats(frame: pd.DataFrame, settings: Settings) -> tuple[str, ...]:
    """Sentences on few units, missing limits, undefined replicates and intervals of width 0."""
    defined = frame["estimate"].notna().to_numpy()
    if not {"conf_low", "conf_high"} <= set(frame.columns) or not defined.any():
        return ()
    low, high = (frame[c].to_numpy(dtype=np.float64) for c in ("conf_low", "conf_high"))
    given = defined & ~np.isnan(low) & ~np.isnan(high)
    found = [
        *_few_units(frame, given, settings),
        *_without_limits(frame, defined & ~given, settings),
        *_undefined_replicates(frame, defined, settings),
    ]
    beyond = int(beyond_range(frame).sum())
    if beyond:
        found.append(f"{_intervals(beyond, 'holds', 'hold')} impossible values: this kind knows no bounds.")
    flat = given & (low == high)
    if flat.any():
        n = int(flat.sum())
        found.append(
            f"{_intervals(n, 'has', 'have')} width 0, since nothing varies between the replicates; "
            "that is no certainty."
        )
    return tuple(found)


def _intervals(n: int, one: str, many: str) -> str:
    """Text such as "The interval of 1 estimate has" or "The intervals of 3 estimates have"."""
    return f"The interval of 1 estimate {one}" if n == 1 else f"The intervals of {n} estimates {many}"


def _few_units(frame: pd.DataFrame, given: np.ndarray, settings: Settings) -> list[str]:
    """What to say where intervals rest on few units."""
    units = frame["n_units"].to_numpy(dtype=np.float64)
    resampled = frame["interval"].isin(BOOTSTRAP).to_numpy()
    few = given & (units < np.where(resampled, FEW_UNITS, FEW_FOR_T))
    if not few.any():
        return []
    span = counted_range(units[few], unit_words(settings.unit)[0])
    tests = " and P values likely too small" if "p_value" in frame.columns else ""
    # an average has the units of all its tasks, and hangs on the task with the fewest
    hidden = ", also of averages that include them" if (pooled_rows(frame) & given & ~few).any() else ""
    rest = _intervals(int(few.sum()), "rests", "rest")
    return [f"{rest} on only {span}; such intervals are likely too narrow{tests}{hidden}."]


def _without_limits(frame: pd.DataFrame, lost: np.ndarray, settings: Settings) -> list[str]:
    """What to say where there is an estimate and no interval."""
    if not lost.any():
        return []
    single = (frame["n_units"].to_numpy()[lost] == 1).all()
    n = int(lost.sum())
    why = f", as it rests on a single {unit_words(settings.unit)[0]}" if single and n == 1 else ""
    why = f", as each rests on a single {unit_words(settings.unit)[0]}" if single and n > 1 else why
    return [f"No interval could be given for {counted(n, 'estimate')}{why}."]


def _undefined_replicates(frame: pd.DataFrame, defined: np.ndarray, settings: Settings) -> list[str]:
    """What to say where more than 1 % of the replicates are undefined."""
    if "n_undefined" not in frame.columns:
        return []
    undefined = frame["n_undefined"].to_numpy(dtype=np.float64)
    many = defined & (undefined > UNDEFINED_SHARE * settings.n_replicates)
    if not many.any():
        return []
    n, most = int(many.sum()), count_text(undefined[many].max())
    their, them = ("its interval leaves", "it") if n == 1 else ("their intervals leave", "them")
    verdict = f"; no verdict is given on {them}" if "verdict" in frame.columns else ""
    return [
        f"{counted(n, 'estimate was', 'estimates were')} undefined in more than 1% of the replicates (up to "
        f"{most} of {count_text(settings.n_replicates)}), which {their} out{verdict}."
    ]

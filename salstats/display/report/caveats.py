"""Sentences on estimates that rest on few units, or whose intervals are doubtful."""

from collections.abc import Iterator

import numpy as np

from salstats.display.estimates import Estimates
from salstats.display.report.wording import Wording
from salstats.display.text.format import count_text, counted, counted_range
from salstats.stats.engine.cautions import row_mask_by_caution
from salstats.stats.engine.few_units import FEW_DF
from salstats.stats.engine.intervals import interval_by_name
from salstats.stats.engine.result_warnings import (
    MAX_UNDEFINED_SHARE,
    MIN_RESAMPLED_UNITS,
    has_limit_beyond_range,
)

#: Sentence at the end of a section in which something was not shown.
NO_EVIDENCE_OF_EQUALITY = (
    "Where no difference was shown, the interval, if there is one, gives the differences that the data are "
    "compatible with; this is not evidence that there is none."
)


def caveat_sentences(estimates: Estimates, wording: Wording) -> Iterator[str]:
    """Yield sentences on few units, missing limits, undefined replicates and intervals of width 0."""
    rests_on_few = _rests_on_few_units(estimates)
    if rests_on_few.any():
        yield _sentence_on_intervals_of_few_units(estimates, rests_on_few, wording)
    has_no_interval = estimates.has_estimate & ~estimates.has_estimate_and_both_limits
    if has_no_interval.any():
        reason = ""
        if (estimates.numbers("n_units")[has_no_interval] == 1).all():
            reason = f" on a single {wording.unit}"
        yield f"No interval could be given for {counted(has_no_interval.sum(), 'estimate')}{reason}."
    n_replicates = wording.settings.n_replicates
    n_undefined = estimates.numbers("n_undefined")
    has_many_undefined = estimates.has_estimate & (n_undefined > MAX_UNDEFINED_SHARE * n_replicates)
    if has_many_undefined.any():
        largest = count_text(n_undefined[has_many_undefined].max())
        consequence = ""
        if estimates.distinct_values("verdict"):
            consequence = "; no verdict is given there"
        yield (
            f"{_n_intervals_text(has_many_undefined)} leave out more than 1% of the replicates, as these "
            f"were undefined (up to {largest} of {count_text(n_replicates)}){consequence}."
        )
    is_beyond = has_limit_beyond_range(estimates.frame)
    if is_beyond.any():
        yield (
            f"{_n_intervals_text(is_beyond)} hold impossible values, as this kind of interval does not "
            "know the range of the scores."
        )
    has_no_width = estimates.has_estimate_and_both_limits & (
        estimates.numbers("conf_low") == estimates.numbers("conf_high")
    )
    if has_no_width.any():
        yield (
            f"{_n_intervals_text(has_no_width)} have width 0, since nothing varies between the replicates; "
            "that is no certainty."
        )
    for caution, rows in row_mask_by_caution(estimates.frame).items():
        yield f"{counted(rows.sum(), 'estimate')}: {caution.note}"


def _rests_on_few_units(estimates: Estimates) -> np.ndarray:
    """Return, for each row, whether its interval rests on too few units or degrees of freedom."""
    n_units = estimates.numbers("n_units")
    df_of_interval = estimates.numbers("df")
    is_few = np.zeros(len(estimates), dtype=bool)
    for row, name in enumerate(estimates.frame["interval"]):
        record = interval_by_name(name)
        kind = ""
        df = n_units[row] - 1
        if record is not None:
            kind = record.kind
            has_own_df = kind == "t" and not record.bounded and not np.isnan(df_of_interval[row])
            if has_own_df:
                df = df_of_interval[row]
        if kind == "bootstrap":
            is_few[row] = n_units[row] < MIN_RESAMPLED_UNITS
        elif kind != "flips":
            # inverted tests that flip signs are exact for few units, too
            is_few[row] = df < FEW_DF
    return is_few & estimates.has_estimate_and_both_limits


def _sentence_on_intervals_of_few_units(
    estimates: Estimates, rests_on_few: np.ndarray, wording: Wording
) -> str:
    """Return how few units intervals rest on, and the consequences for P values and averages."""
    n_units = counted_range(estimates.numbers("n_units")[rests_on_few], wording.unit)
    consequence = "they are likely too narrow"
    if estimates.has_p_values:
        consequence += " and P values likely too small"
    # an average counts the units of all its tasks, but depends on the task with the fewest
    hides_few = estimates.is_over_tasks & estimates.has_estimate_and_both_limits & ~rests_on_few
    if hides_few.any():
        consequence += ", also of averages that include them"
    return f"{_n_intervals_text(rests_on_few)} rest on only {n_units}; {consequence}."


def _n_intervals_text(row_mask: np.ndarray) -> str:
    """Return the subject of a sentence on the intervals of some rows: "Intervals of 3 estimates"."""
    return f"Intervals of {counted(row_mask.sum(), 'estimate')}"

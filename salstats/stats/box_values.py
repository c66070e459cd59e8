"""What a box plot draws: quartiles, whiskers, the scores beyond them, and the mean."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.stats.cells import index_groups
from salstats.stats.description import describe

#: How many interquartile ranges beyond the quartiles a whisker may reach (Tukey).
REACH = 1.5


def box_values(
    scores: pd.DataFrame, by: str | Sequence[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the numbers of each group's box, and the scores that lie beyond its whiskers.

    Parameters
    ----------
    scores : DataFrame
        A scores frame.
    by : str or sequence of str, optional
        Grouping columns, as for `describe`.

    Returns
    -------
    boxes : DataFrame
        What `describe` gives, with `whisker_low, whisker_high`, the furthest scores within 1.5 times
        q3 - q1 of the quartiles and never inside the box, and `n_outside`, the scores beyond.
    outside : DataFrame
        The grouping columns and `score`, one row per score beyond the whiskers.

    Raises
    ------
    ColumnError
        As for `describe`.

    Notes
    -----
    Quartiles are R's type 7, as in ggplot2's boxes; R's `boxplot` takes Tukey's fourths instead.
    """
    boxes = describe(scores, by=by)
    columns = list(boxes.columns[: boxes.columns.get_loc("n")])
    codes, _ = index_groups(scores, columns)
    values = scores["score"].to_numpy(dtype=np.float64)
    q1, q3 = boxes["q1"].to_numpy(), boxes["q3"].to_numpy()
    reach = REACH * (q3 - q1)
    below, above = values < (q1 - reach)[codes], values > (q3 + reach)[codes]
    beyond = below | above
    inside = pd.Series(np.where(beyond, np.nan, values)).groupby(codes)
    outside = scores.loc[beyond, [*columns, "score"]].reset_index(drop=True)
    return boxes.assign(
        whisker_low=np.fmin(inside.min().to_numpy(), q1),
        whisker_high=np.fmax(inside.max().to_numpy(), q3),
        n_outside=np.bincount(codes[beyond], minlength=len(boxes)),
    ), outside

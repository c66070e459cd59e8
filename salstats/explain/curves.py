"""The area under insertion and deletion curves."""

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_columns, check_frame, check_numeric
from salstats.errors import SalstatsError, warn
from salstats.frames import KEY_COLUMNS, combined_codes, text_column
from salstats.stats.engine.cautions import BASELINE_SHOWS_MUCH, add_caution

#: Share of the whole image's probability from which an empty image hides too little.
_SHOWN = 0.8
#: What a curve can be of.
CURVES = ("insertion", "deletion")
#: Columns that say how a curve was made, and the words of its score about them.
_HOW_MADE = {"baseline": "baseline {}", "n_steps": "{} steps", "probability": "{}"}


def curve_scores(curves: pd.DataFrame) -> pd.DataFrame:
    """Area under each insertion and deletion curve, as scores.

    By the trapezoid over the fraction of pixels that are changed, so that the area is a mean probability.

    Parameters
    ----------
    curves : DataFrame
        What `insertion` and `deletion` return, or several of these concatenated: columns `case, method,
        metric, fraction, prob`, and any of `dataset, task, reader, model, seed, patient`, which tell curves
        apart. Rows in any order; each curve goes from fraction 0 to 1.

    Returns
    -------
    DataFrame
        A scores frame, one row per curve in the order they first stand:

        - `dataset, case, task, method, metric, reader, model, seed, patient`: those of the curves;
        - `score`: the area, 0 to 1; NaN where the curve is undefined;
        - `prob`: the probability for the whole image;
        - `curve_options`: baseline, steps and kind of probability in words, where the curves say them;
        - `reason`: why it is undefined, where the curves say it; missing where there is a score;
        - `caution`: "baseline shows much" where that is warned of, so that estimates of these scores, their
          tables, captions and reports say it, too.

    Raises
    ------
    SalstatsError
        A column is missing or not numeric; a metric is neither "insertion" nor "deletion"; a curve does not
        go from 0 to 1, or has a fraction twice.

    Warns
    -----
    SalstatsWarning
        On average the empty image has 80 % of the whole image's probability or more, so that the curves say
        little.

    Notes
    -----
    In RISE's evaluation all steps have the same width, also a last one that has fewer pixels.

    Examples
    --------
    >>> import pandas as pd
    >>> from salstats import explain as ex
    >>> curves = pd.DataFrame({"case": "a", "method": "gradcam", "metric": "insertion",
    ...     "fraction": [0.0, 0.5, 1.0], "prob": [0.0, 0.8, 1.0]})
    >>> ex.curve_scores(curves)
      case   method     metric  score  prob
    0    a  gradcam  insertion   0.65   1.0
    """
    check_columns(check_frame(curves, "curves"), ("case", "method", "metric", "fraction", "prob"), "curves")
    for metric in pd.unique(curves["metric"]):
        check_choice(metric, CURVES, "metric")
    keys = [c for c in (*KEY_COLUMNS, "patient") if c in curves.columns]
    fraction, prob = (check_numeric(curves, column, "curves") for column in ("fraction", "prob"))
    codes = combined_codes(curves, keys)
    order = np.lexsort((fraction, codes))
    codes, fraction, prob = codes[order], fraction[order], prob[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(starts[1:], len(codes)) - 1
    inside = np.ones(len(codes), bool)
    inside[starts] = False
    widths = np.diff(fraction, prepend=0)
    steady = np.logical_and.reduceat((widths > 0) | ~inside, starts)
    first_rows = curves.iloc[order[starts]]
    for right, what in (
        ((fraction[starts] == 0) & (fraction[ends] == 1), "go from 0 to 1"),
        (steady, "have each fraction once"),
    ):
        for _, row in first_rows[~right].iterrows():
            shown = ", ".join(f"{key} {row[key]}" for key in keys)
            raise SalstatsError(f"the fractions of a curve must {what}; those of {shown} do not")
    heights = (prob + np.roll(prob, 1)) / 2
    # what stands before a curve's first point is of another curve
    areas = np.add.reduceat(np.where(inside, widths * heights, 0), starts)
    inserted = (first_rows["metric"] == "insertion").to_numpy()
    blank, whole = (
        np.where(inserted, *pair) for pair in ((prob[starts], prob[ends]), (prob[ends], prob[starts]))
    )
    scores = first_rows[keys].assign(score=areas, prob=whole)
    how = {column: words for column, words in _HOW_MADE.items() if column in curves.columns}
    if how:
        sentence = ", ".join(how.values()).format
        scores["curve_options"] = [sentence(*row) for row in first_rows[[*how]].itertuples(index=False)]
    little = np.zeros(len(scores), dtype=bool)
    for name in CURVES:
        own = (inserted == (name == "insertion")) & np.isfinite(blank) & np.isfinite(whole)
        if own.any() and blank[own].mean() >= _SHOWN * whole[own].mean() > 0:
            little[inserted == (name == "insertion")] = True
            warn(
                f"{name}: without its pixels an image has a mean probability of {blank[own].mean():.2g}, "
                f"with them {whole[own].mean():.2g}; the baseline hides little of what the network sees, so "
                "these areas say little about maps; another baseline= or a wider blur (kernel=, sigma=) may"
            )
    if "reason" in curves.columns:
        scores["reason"] = text_column(r if isinstance(r, str) and r else None for r in first_rows["reason"])
    scores = add_caution(scores, BASELINE_SHOWS_MUCH, little)
    first = np.minimum.reduceat(order, starts)
    return scores.iloc[np.argsort(first)].reset_index(drop=True)

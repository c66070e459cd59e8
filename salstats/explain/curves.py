"""The area under insertion and deletion curves."""

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_columns, check_frame, check_numeric
from salstats.errors import Message, SalstatsError, Setting, warn
from salstats.frames import KEY_COLUMNS, combined_codes, text_column
from salstats.stats.engine.cautions import BASELINE_SHOWS_MUCH, add_caution

#: Share of the whole image's probability from which an empty image hides too little.
_MUCH_SHOWN = 0.8
#: Kinds of curve.
CURVES = ("insertion", "deletion")
#: Columns that say how a curve was made, and their text in the column `curve_options`.
_OPTION_TEXTS = {"baseline": "baseline {}", "n_steps": "{} steps", "probability": "{}"}


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
    keys = [column for column in (*KEY_COLUMNS, "patient") if column in curves.columns]
    fraction = check_numeric(curves, "fraction", "curves")
    prob = check_numeric(curves, "prob", "curves")
    # the points of a curve follow each other in the order of fractions
    codes = combined_codes(curves, keys)
    order = np.lexsort((fraction, codes))
    codes = codes[order]
    fraction = fraction[order]
    prob = prob[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(starts[1:], len(codes)) - 1
    first_points = curves.iloc[order[starts]]
    not_first = np.ones(len(codes), bool)
    not_first[starts] = False
    widths = np.diff(fraction, prepend=0)
    complete = (fraction[starts] == 0) & (fraction[ends] == 1)
    _check_fractions(complete, "go from 0 to 1", first_points, keys)
    increasing = np.logical_and.reduceat((widths > 0) | ~not_first, starts)
    _check_fractions(increasing, "have each fraction once", first_points, keys)
    heights = (prob + np.roll(prob, 1)) / 2
    # the width and height at a curve's first point reach back to another curve
    areas = np.add.reduceat(np.where(not_first, widths * heights, 0), starts)
    inserted = (first_points["metric"] == "insertion").to_numpy()
    blank_prob = np.where(inserted, prob[starts], prob[ends])
    whole_prob = np.where(inserted, prob[ends], prob[starts])
    scores = first_points[keys].assign(score=areas, prob=whole_prob)
    texts = {column: text for column, text in _OPTION_TEXTS.items() if column in curves.columns}
    if texts:
        write = ", ".join(texts.values()).format
        option_rows = first_points[list(texts)].itertuples(index=False)
        scores["curve_options"] = [write(*row) for row in option_rows]
    shows_much = np.zeros(len(scores), dtype=bool)
    for metric in CURVES:
        of_metric = inserted == (metric == "insertion")
        if _baseline_shows_much(metric, blank_prob[of_metric], whole_prob[of_metric]):
            shows_much[of_metric] = True
    if "reason" in curves.columns:
        scores["reason"] = text_column(_text_or_none(reason) for reason in first_points["reason"])
    scores = add_caution(scores, BASELINE_SHOWS_MUCH, shows_much)
    first_row = np.minimum.reduceat(order, starts)
    return scores.iloc[np.argsort(first_row)].reset_index(drop=True)


def _check_fractions(
    correct: np.ndarray, requirement: str, first_points: pd.DataFrame, keys: list[str]
) -> None:
    """Raise SalstatsError for the first curve whose fractions are not correct."""
    if correct.all():
        return
    wrong = first_points[~correct].iloc[0]
    curve = ", ".join(f"{key} {wrong[key]}" for key in keys)
    raise SalstatsError(
        f"the fractions of a curve must {requirement}; those of {curve} do not", column="fraction"
    )


def _baseline_shows_much(metric: str, blank_prob: np.ndarray, whole_prob: np.ndarray) -> bool:
    """Return whether the baseline of the curves of a metric hides too little, and warn then."""
    defined = np.isfinite(blank_prob) & np.isfinite(whole_prob)
    if not defined.any():
        return False
    mean_blank = blank_prob[defined].mean()
    mean_whole = whole_prob[defined].mean()
    if not mean_blank >= _MUCH_SHOWN * mean_whole > 0:
        return False
    warn(
        f"{metric}: without its pixels an image has a mean probability of {mean_blank:.2g}, with them "
        f"{mean_whole:.2g}; the baseline hides little of what the network sees, so these areas say little "
        "about maps",
        hint=Message(
            "another ", Setting("baseline"), " or a wider blur (", Setting("kernel"), ", ", Setting("sigma"),
            ") may",
        ),
        option="baseline",
        subject=(BASELINE_SHOWS_MUCH, metric),
    )  # fmt: skip
    return True


def _text_or_none(value: object) -> str | None:
    """Return a text that is not empty, or None."""
    return value if isinstance(value, str) and value else None

"""Insertion and deletion curves as frames, and the area under each."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, check_choice, check_columns, check_frame, check_numeric, warn
from salstats.frames import KEY_COLUMNS, combined_codes, text_column

#: Share of the whole image's probability from which an empty image hides too little.
_SHOWN = 0.8
#: What a curve can be of.
CURVES = ("insertion", "deletion")
#: Columns that say how a curve was made, and the words of its score about them.
_HOW_MADE = {"baseline": "baseline {}", "n_steps": "{} steps", "probability": "{}"}


def curves_frame(
    keys: Mapping[str, np.ndarray],
    metric: str,
    sizes: np.ndarray,
    values: np.ndarray,
    *,
    target: np.ndarray,
    baseline: str,
    probability: str,
    reason: np.ndarray,
) -> pd.DataFrame:
    """Curves as a frame of one row per curve and step, as `insertion` describes it.

    `keys` are the columns that name the curves; `sizes` the pixels changed after each step, from 0 to all;
    `values` the probabilities, (n_curves, n_steps + 1).
    """
    n_curves, n_points = values.shape
    each = {name: np.repeat(column, n_points) for name, column in keys.items()}
    return pd.DataFrame(
        {
            **each,
            "metric": metric,
            "step": np.tile(np.arange(n_points), n_curves),
            "fraction": np.tile(sizes / sizes[-1], n_curves),
            "n_pixels": np.tile(sizes, n_curves),
            "prob": values.ravel(),
            "target": np.repeat(target, n_points),
            "baseline": baseline,
            "n_steps": n_points - 1,
            "probability": probability,
            "reason": np.repeat(reason.astype(object), n_points),
        }
    )


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
        - `reason`: why it is undefined, where the curves say it; missing where there is a score.

    Raises
    ------
    ColumnError
        A column is missing, or is not numeric.
    ValueRangeError
        A metric is neither "insertion" nor "deletion".
    SalstatsError
        A curve does not go from 0 to 1, or has a fraction twice.

    Warns
    -----
    SalstatsWarning
        On average the empty image has 80 % of the whole image's probability or more, so that the curves say
        little.

    Notes
    -----
    In RISE's evaluation all steps have the same width, also a last one that has fewer pixels.

    References
    ----------
    Petsiuk, V., Das, A., Saenko, K. (2018). RISE: Randomized Input Sampling for Explanation of Black-box
    Models. British Machine Vision Conference. doi:10.48550/arXiv.1806.07421

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
    widths = np.diff(fraction, prepend=0)
    _check_fractions(
        curves, keys, order, starts, (fraction[starts] == 0) & (fraction[ends] == 1), "go from 0 to 1"
    )
    inside = np.ones(len(codes), bool)
    inside[starts] = False
    steady = np.logical_and.reduceat((widths > 0) | ~inside, starts)
    _check_fractions(curves, keys, order, starts, steady, "have each fraction once")
    heights = (prob + np.roll(prob, 1)) / 2
    # what stands before a curve's first point is of another curve
    areas = np.add.reduceat(np.where(inside, widths * heights, 0), starts)
    first_rows = curves.iloc[order[starts]]
    scores = first_rows[keys].assign(
        score=areas, prob=np.where(first_rows["metric"] == "insertion", prob[ends], prob[starts])
    )
    how = [words for column, words in _HOW_MADE.items() if column in curves.columns]
    if how:
        rows = first_rows[[column for column in _HOW_MADE if column in curves.columns]]
        sentence = ", ".join(how).format
        scores["curve_options"] = [sentence(*row) for row in rows.itertuples(index=False)]
    _warn_shown(scores["metric"].to_numpy(), prob[starts], prob[ends])
    if "reason" in curves.columns:
        scores["reason"] = text_column(r if isinstance(r, str) and r else None for r in first_rows["reason"])
    first = np.minimum.reduceat(order, starts)
    return scores.iloc[np.argsort(first)].reset_index(drop=True)


def _check_fractions(
    curves: pd.DataFrame, keys: list[str], order: np.ndarray, starts: np.ndarray, right: np.ndarray, what: str
) -> None:
    """Raise SalstatsError for the first curve that is not right."""
    if not right.all():
        row = curves.iloc[order[starts[int(np.flatnonzero(~right)[0])]]]
        shown = ", ".join(f"{key} {row[key]}" for key in keys)
        raise SalstatsError(f"the fractions of a curve must {what}; those of {shown} do not")


def _warn_shown(metric: np.ndarray, first: np.ndarray, last: np.ndarray) -> None:
    """Warn where an image without its pixels looks to the network much as the whole one does."""
    for name in CURVES:
        own = (metric == name) & np.isfinite(first) & np.isfinite(last)
        if not own.any():
            continue
        empty, whole = (first, last) if name == "insertion" else (last, first)
        if empty[own].mean() >= _SHOWN * whole[own].mean() > 0:
            warn(
                f"{name}: without its pixels an image has a mean probability of {empty[own].mean():.2g}, "
                f"with them {whole[own].mean():.2g}; the baseline hides little of what the network sees, so "
                "these areas say little about maps; another baseline= or a wider blur (kernel=, sigma=) may"
            )

"""The area under insertion and deletion curves."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_columns, check_frame, check_numeric
from salstats.errors import Advice, Message, SalstatsError, Setting, warn
from salstats.frames import KEY_COLUMNS, combined_codes, text_column
from salstats.stats.engine.cautions import BASELINE_SHOWS_MUCH, add_caution

#: The baseline hides too little if its probability is at least this share of the whole image's.
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
        A scores frame, one row per curve in the order of their first rows:

        - `dataset, case, task, method, metric, reader, model, seed, patient`: those of the curves;
        - `score`: the area, 0 to 1; NaN where the curve is undefined;
        - `prob`: the probability for the whole image;
        - `curve_options`: baseline, steps and kind of probability in words, where the curves say them;
        - `reason`: why it is undefined, where the curves say it; missing where there is a score;
        - `caution`: "baseline shows much" where that is warned of, for estimates of these scores and their
          tables, captions and reports.

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
    In RISE's evaluation all steps have the same width, even a last one that has fewer pixels.

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
    # one number for each curve; points are sorted by curve, and by fraction within a curve
    codes = combined_codes(curves, keys)
    order = np.lexsort((fraction, codes))
    codes = codes[order]
    fraction = fraction[order]
    prob = prob[order]
    # positions of the first and the last point of each curve
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(starts[1:], len(codes)) - 1
    first_points = curves.iloc[order[starts]]
    is_first = np.zeros(len(codes), bool)
    is_first[starts] = True
    is_complete = (fraction[starts] == 0) & (fraction[ends] == 1)
    _check_curve_fractions(is_complete, "go from 0 to 1", first_points, keys)
    # the trapezoid between each point and the point before it
    widths = np.diff(fraction, prepend=0)
    heights = (prob + np.roll(prob, 1)) / 2
    is_increasing = np.logical_and.reduceat(is_first | (widths > 0), starts)
    _check_curve_fractions(is_increasing, "have each fraction once", first_points, keys)
    # a curve's first point has no trapezoid: the point before it is another curve's
    trapezoids = np.where(is_first, 0, widths * heights)
    areas = np.add.reduceat(trapezoids, starts)
    # an insertion ends with the whole image, a deletion begins with it
    is_insertion = (first_points["metric"] == "insertion").to_numpy()
    blank_prob = np.where(is_insertion, prob[starts], prob[ends])
    whole_prob = np.where(is_insertion, prob[ends], prob[starts])
    scores = first_points[keys].assign(score=areas, prob=whole_prob)
    option_columns = [column for column in _OPTION_TEXTS if column in curves.columns]
    if option_columns:
        option_rows = first_points[option_columns].to_dict("records")
        scores["curve_options"] = [_curve_options_in_words(row) for row in option_rows]
    shows_much = np.zeros(len(scores), dtype=bool)
    for metric, has_metric in (("insertion", is_insertion), ("deletion", ~is_insertion)):
        if _warn_if_baseline_shows_much(metric, blank_prob[has_metric], whole_prob[has_metric]):
            shows_much[has_metric] = True
    if "reason" in curves.columns:
        scores["reason"] = text_column(_nonempty_text_or_none(reason) for reason in first_points["reason"])
    scores = add_caution(scores, BASELINE_SHOWS_MUCH, shows_much)
    # in the order of the curves' first rows
    first_row = np.minimum.reduceat(order, starts)
    return scores.iloc[np.argsort(first_row)].reset_index(drop=True)


def _curve_options_in_words(options: Mapping[Any, Any]) -> str:
    """Return the options of a curve, by column, in words."""
    texts = []
    for column, value in options.items():
        # curves put together need not have the same columns
        if pd.isna(value):
            continue
        if column == "n_steps":
            value = int(value)
        texts.append(_OPTION_TEXTS[column].format(value))
    return ", ".join(texts)


def _check_curve_fractions(
    meets_requirement: np.ndarray, requirement: str, first_points: pd.DataFrame, curve_keys: list[str]
) -> None:
    """Raise SalstatsError for the first curve whose fractions do not meet a requirement.

    `meets_requirement` and `first_points` have an entry for each curve; the message has the requirement.
    """
    if meets_requirement.all():
        return
    point = first_points[~meets_requirement].iloc[0]
    curve = ", ".join(f"{key} {point[key]}" for key in curve_keys)
    raise SalstatsError(
        f"the fractions of a curve must {requirement}; those of {curve} do not",
        column="fraction",
        value=point[curve_keys].to_dict(),
    )


def _warn_if_baseline_shows_much(metric: str, blank_prob: np.ndarray, whole_prob: np.ndarray) -> bool:
    """Return True, and warn, if the baseline of a metric's curves hides too little.

    `blank_prob` are the probabilities for the empty images, `whole_prob` those for the whole ones.
    """
    defined = np.isfinite(blank_prob) & np.isfinite(whole_prob)
    if not defined.any():
        return False
    mean_blank = blank_prob[defined].mean()
    mean_whole = whole_prob[defined].mean()
    if not mean_blank >= _MUCH_SHOWN * mean_whole > 0:
        return False
    finding = "the baseline hides little of what the network sees"
    hint = Message(
        "another ", Setting("baseline"), Advice(" or a wider blur (kernel, sigma)", ""), " may say more"
    )
    if mean_blank > mean_whole:
        finding = "the pixels speak against what the network is asked for"
        hint = Message("make sure that ", Setting("tasks"), " name the right outputs; else ", hint)
    warn(
        f"{metric}: without its pixels an image has a mean probability of {mean_blank:.2g}, with them "
        f"{mean_whole:.2g}; {finding}, so these areas say little about maps",
        hint=hint,
        option="baseline",
        subject=(BASELINE_SHOWS_MUCH, metric),
    )
    return True


def _nonempty_text_or_none(value: object) -> str | None:
    """Return a text that is not empty; None for anything else."""
    if isinstance(value, str) and value:
        return value
    return None

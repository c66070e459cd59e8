"""The line of a fitted model: its mean along one covariate, with a pointwise band."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from salstats.checks import ValueRangeError, check_count, check_level, quoted
from salstats.stats.models.models import Fitted, Model, Notes, fit_models, warn_of
from salstats.stats.models.predictions import (
    code_of,
    held_values,
    means_at,
    prediction_frame,
    right_side,
    shown,
)


def fit_line(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    at: str | None = None,
    hold: Mapping[str, float | str] | None = None,
    n_points: int = 50,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    errors: str | None = None,
    unit: str | None = None,
    reference: str | None = None,
    level: float = 0.95,
    overall: bool = False,
) -> pd.DataFrame:
    """Fitted mean of models along one covariate, with pointwise confidence limits.

    The models, their errors and their degrees of freedom are those of `regress`; this is what
    `plot_scatter` draws. The limits are for the mean at each value by itself: not for the whole line at
    once, and not for a new observation.

    Parameters
    ----------
    data, formula, by, family, errors, unit, reference, level, overall
        As for `regress`. With `reference` the line is that of the gap reference - method.
    at : str, optional
        The covariate: a numeric column or metric on the right side. By default the first one there.
    hold : mapping, optional
        Values at which other variables of the right side are held: `{"prob": 0.5, "task": "Edema"}`. By
        default numbers (True and False are 1 and 0) are held at their mean over the rows of the model, and
        text, `C(...)` included, at its reference level, as R's `ggeffects::ggpredict` does.
    n_points : int
        Values along the line, equally spaced from the smallest to the largest of the model's own rows: a
        line never leaves its group's data.

    Returns
    -------
    DataFrame
        In order of formula, group (as in `regress`) and value, with columns

    by..., reference, formula As in `regress`. covariate, value The name of the covariate and its value. A
    group in which it does not vary has a single row, as has a model without estimates (`value` and all
    that follows from it NaN). estimate, std_error The fitted mean, for the logit families a probability
    or fraction, and its standard error, there by the delta method. Of a transformed left side, such as
    `log(iou)`, on that scale. df, conf_low, conf_high, conf_level, interval As in `regress`, with `cr2`
    for the mean at this value; limits of the logit families are made on the logit scale, and so lie
    between 0 and 1. unit, n, n_missing, n_units, family, errors As in `regress`. other variables of the
    right side The values at which they are held. Means at a level that a group lacks are NaN, with a
    warning.

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        As for `regress`; `at` is not a numeric variable of the right side; `hold` names something else, or a
        level that no group has; a variable held has the name of a column of the result.

    Notes
    -----
    With x the row of the model matrix at a value (`scale` and `center` with the mean and deviation of the
    model's own rows), b the coefficients and V their covariance by `errors`: the estimate is x'b, its
    standard error sqrt(x'V x), the limits x'b ± q sqrt(x'V x) with q the quantile of Student's t; for the
    logit families these are logits, transformed back, and the standard error is mu (1 - mu) sqrt(x'V x).
    This is R's `predict(lm, interval = "confidence")` and, for `glm`, `plogis` of `predict(type = "link")`
    and its limits. A covariate that depends on others cannot move while they are held: NaN, with a warning.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"score": [0.1, 0.3, 0.2, 0.5, 0.4, 0.6], "size": [1, 2, 3, 4, 5, 6]})
    >>> line = ss.fit_line(table, "score ~ size", n_points=3)
    >>> line[["covariate", "value", "estimate", "std_error", "conf_low", "conf_high", "n"]].round(3)
      covariate  value  estimate  std_error  conf_low  conf_high  n
    0      size    1.0     0.129       0.07    -0.067      0.324  6
    1      size    3.5     0.350       0.04     0.240      0.460  6
    2      size    6.0     0.571       0.07     0.376      0.767  6
    """
    check_level(level)
    check_count(n_points, "n_points", 2)
    fitted = fit_models(
        data, formula, by=by, family=family, errors=errors, unit=unit, reference=reference, overall=overall
    )
    notes: Notes = dict(fitted.doubts)
    parts, keys, held = [], [], []
    for model in fitted.models:
        covariate = _chosen(model, at)
        values = held_values(model) | _given(fitted, model, covariate, dict(hold or {}))
        observed = model.variables[covariate].values[model.rows]
        line = np.array([np.nan])
        if model.solution is not None:
            constant = observed.min() == observed.max()
            line = np.linspace(observed.min(), observed.max(), 1 if constant else n_points)
        codes = {c: line if c == covariate else np.full(len(line), value) for c, value in values.items()}
        parts.append(means_at(model, codes, level, notes))
        keys.append(pd.DataFrame({"covariate": covariate, "value": line}))
        held.append(pd.DataFrame({c: shown(model, c, v) for c, v in codes.items() if c != covariate}))
    warn_of(notes)
    lines, others = (pd.concat(frames, ignore_index=True) for frames in (keys, held))
    return prediction_frame(fitted, parts, lines, others)


def _chosen(model: Model, at: str | None) -> str:
    """The covariate of the line."""
    numeric = right_side(model)[0]
    if not numeric:
        raise ValueRangeError(
            f"{model.formula.text!r} has no numeric covariate on its right side to draw a line along; "
            "summarize() gives the means of groups"
        )
    if at is not None and at not in numeric:
        raise ValueRangeError(
            f"at={at!r} is not a numeric variable on the right side of {model.formula.text!r}; "
            f"choose one of {quoted(numeric)}"
        )
    return at or numeric[0]


def _given(fitted: Fitted, model: Model, covariate: str, hold: Mapping[str, float | str]) -> dict[str, float]:
    """The values of `hold`."""
    others = [column for column in held_values(model) if column != covariate]
    unknown = [name for name in hold if name not in others]
    if unknown:
        raise ValueRangeError(
            f"hold names {quoted(unknown)}, which {model.formula.text!r} does not hold"
            + (f"; it holds {quoted(others)}" if others else "; there is nothing else on its right side")
        )
    return {name: code_of(fitted, model, name, value) for name, value in hold.items()}

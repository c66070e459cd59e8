"""Marks of estimates in a table: the best, those that differ from a reference, and stars of P values."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_count, quoted
from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates
from salstats.display.facts import adjustment_text, procedure_name
from salstats.display.text.format import star_or_no_star_note, star_text
from salstats.display.text.margins import margin_marks
from salstats.errors import Call, ColumnError, Message, SalstatsError, Setting, ValueRangeError
from salstats.metrics.registry import direction
from salstats.stats.adjust import INTERCEPT
from salstats.stats.engine.equivalence import sides_and_claims
from salstats.stats.engine.rankings import check_directions_name_metrics
from salstats.stats.patient_characteristics import text_of_level


def better_sign(metric: object, term: object, directions: Mapping[str, str] | None = None) -> int:
    """Return 1 where a larger estimate is better, -1 where a smaller one is, 0 where this is not known.

    Larger is better for estimates without a metric, and for areas under a ROC curve whatever their metric;
    smaller is better for ranks, Brier scores, shares of empty masks and standard deviations within cases. The
    sign of a percentage decrease is the opposite of that of its metric. `directions` take precedence over the
    registered direction of a metric.
    """
    if term in ("auroc", "auroc_difference"):
        return 1
    if term in ("brier_score", "empty", "within_case_sd", "rank", "true_rank"):
        return -1
    stated_direction = None
    if directions is not None:
        stated_direction = directions.get(str(metric))
    if metric is None or stated_direction == "larger":
        sign = 1
    elif stated_direction == "smaller":
        sign = -1
    else:
        sign = direction(metric)
    if term == "percent_decrease":
        # where a larger score is better, a smaller decrease is better
        return -sign
    return sign


class BestEstimates(NamedTuple):
    """The estimates that are the best among those they compete with.

    Attributes
    ----------
    rows : set of int
        Positions in the frame.
    strata : tuple of str
        Columns that vary and are not compared: each combination of their values has its own best estimate.
    larger, smaller : tuple
        Metrics whose larger, and whose smaller, estimates are better.
    unknown : tuple
        Metrics whose direction is not known, so that no estimate is the best.
    """

    rows: set[int]
    strata: tuple[str, ...]
    larger: tuple[object, ...]
    smaller: tuple[object, ...]
    unknown: tuple[object, ...] = ()


def best_estimates(
    estimates: Estimates,
    keys: Sequence[str],
    compared_columns: Sequence[str],
    exclude: Sequence[str],
    directions: Mapping[str, str] | None = None,
) -> BestEstimates:
    """Return the best estimates among those that differ in the compared columns only.

    Of equal estimates all are the best; an estimate without a competitor is not. Rows with a value in
    `exclude`, or of a metric without a direction, do not compete.
    """
    for metric, preferred in (directions or {}).items():
        if preferred not in ("larger", "smaller"):
            raise ValueRangeError(
                Setting("directions"),
                f": {metric!r} must be 'larger' or 'smaller', not {preferred!r}",
                value=preferred,
                choices=("larger", "smaller"),
            )
    check_directions_name_metrics(directions, estimates.distinct_values("metric"))
    frame = estimates.frame
    is_excluded = _excluded_row_mask(frame, keys, compared_columns, exclude)
    metrics = estimates.row_values("metric")
    terms = estimates.row_values("term")
    signs = [better_sign(metric, term, directions) for metric, term in zip(metrics, terms, strict=True)]
    # the larger the better; NaN, which is never the maximum, where the direction is not known
    goodness = pd.Series(signs, dtype=np.float64).replace(0, np.nan) * estimates.numbers("estimate")
    goodness[is_excluded] = np.nan
    strata = [column for column in keys if column not in compared_columns]
    goodness_by_stratum = goodness.groupby(pd.Series(_key_texts(frame, strata), dtype=object))
    is_maximum = goodness == goodness_by_stratum.transform("max")
    has_competitors = goodness_by_stratum.transform("count") > 1
    is_best = is_maximum & has_competitors
    signs_of_metrics = list(zip(metrics, signs, strict=True))
    return BestEstimates(
        rows=set(np.flatnonzero(is_best).tolist()),
        strata=tuple(column for column in strata if estimates.varies(column)),
        larger=tuple(dict.fromkeys(metric for metric, sign in signs_of_metrics if sign == 1)),
        smaller=tuple(dict.fromkeys(metric for metric, sign in signs_of_metrics if sign == -1)),
        unknown=tuple(dict.fromkeys(metric for metric, sign in signs_of_metrics if sign == 0)),
    )


def _excluded_row_mask(
    frame: pd.DataFrame, keys: Sequence[str], compared_columns: Sequence[str], exclude: Sequence[str]
) -> NDArray[np.bool_]:
    """Return, for each row, whether `exclude` names its method or one of its values of `compared_columns`."""
    # methods can be excluded even where the compared column is another one
    columns = [column for column in keys if column in compared_columns or column == "method"]
    values = frame[columns].astype(TEXT)
    distinct = set(values.to_numpy().ravel())
    unknown = [value for value in exclude if value not in distinct]
    if unknown:
        raise ValueRangeError(
            Setting("exclude"),
            f" names {unknown[0]!r}, which is none of {quoted(sorted(distinct))}",
            value=unknown[0],
            choices=sorted(distinct),
        )
    return np.asarray(values.isin(list(exclude)).any(axis=1).to_numpy())


class DifferingEstimates(NamedTuple):
    """Estimates that differ from a reference.

    Attributes
    ----------
    rows : set of int
        Positions in the frame.
    other_rows : set of int
        Positions of the estimates that were compared and not shown to differ.
    marks : list of str
        Mark of each row of the frame, "" unless its difference lies inside a margin.
    n_untested : int
        Number of estimates that were compared with no reference.
    """

    rows: set[int]
    other_rows: set[int]
    marks: list[str]
    n_untested: int


def estimates_differing_from_reference(
    estimates: Estimates, keys: Sequence[str], differences: Estimates
) -> DifferingEstimates:
    """Return which estimates differ from the reference method, by verdicts and margins of `differences`."""
    references = differences.distinct_values("reference")
    _check_same_keys_and_one_reference_at_most(estimates, keys, differences, references)
    shared_keys = [column for column in keys if column in differences.keys]
    difference_keys = _key_texts(differences.frame, shared_keys)
    # a side is "lower", "higher" or "inconclusive"
    sides, _ = sides_and_claims(differences.frame["verdict"])
    side_by_key = dict(zip(difference_keys, sides, strict=True))
    is_tested_by_key = dict(zip(difference_keys, differences.has_estimate_and_limit_or_p_value, strict=True))
    mark_by_key = dict(zip(difference_keys, margin_marks(differences), strict=True))
    if len(side_by_key) < len(differences):
        raise SalstatsError(
            "differences have two rows with the same grouping columns",
            hint="keep one of them",
            option="differences",
        )
    rows: set[int] = set()
    other_rows: set[int] = set()
    marks = []
    n_untested = 0
    methods = estimates.row_values("method")
    estimate_keys = _key_texts(estimates.frame, shared_keys)
    for row, key in enumerate(estimate_keys):
        marks.append(mark_by_key.get(key, ""))
        is_reference = methods[row] in references
        if key in side_by_key:
            if side_by_key[key] in ("lower", "higher"):
                rows.add(row)
            elif estimates.has_estimate[row] and is_tested_by_key[key]:
                other_rows.add(row)
        elif estimates.has_estimate[row] and not is_reference:
            n_untested += 1
    if n_untested and side_by_key.keys().isdisjoint(estimate_keys):
        raise SalstatsError(
            Setting("differences"),
            f" has no row of these estimates; it has {quoted(map(' '.join, side_by_key))}",
        )
    return DifferingEstimates(rows, other_rows, marks, n_untested)


def rarer_rows(differing: Collection[int], others: Collection[int]) -> set[int]:
    """Return the smaller of the two sets of rows, so that few are underlined."""
    if len(differing) > len(others):
        return set(others)
    return set(differing)


def _check_same_keys_and_one_reference_at_most(
    estimates: Estimates, keys: Sequence[str], differences: Estimates, references: Sequence[object]
) -> None:
    """Raise unless both vary in the same grouping columns and differences have one reference at most."""
    only_in_estimates = []
    for column in keys:
        if column not in differences.keys and estimates.varies(column):
            only_in_estimates.append(column)
    only_in_differences = []
    for column in differences.keys:
        if column not in keys and differences.varies(column):
            only_in_differences.append(column)
    columns_by_owner = {"estimates": only_in_estimates, "differences": only_in_differences}
    faults = []
    for owner, columns in columns_by_owner.items():
        if columns:
            verb = "is" if len(columns) == 1 else "are"
            faults.append(f"{quoted(columns)} {verb} only in the {owner}")
    if faults:
        raise ColumnError(
            f"differences and estimates must have the same grouping columns; {' and '.join(faults)}",
            option="estimates" if only_in_estimates else "differences",
            column=[*only_in_estimates, *only_in_differences][0],
        )
    if len(references) > 1:
        raise SalstatsError(
            f"differences hold several references ({quoted(references)})",
            hint="keep the rows of one",
            choices=map(str, references),
            column="reference",
        )


def _key_texts(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the values of some columns as text, row by row.

    Seeds are whole numbers in one frame and floats in another, in which some are missing.
    """
    return [tuple(map(text_of_level, row)) for row in frame[columns].to_numpy()]


class StarTextsAndNote(NamedTuple):
    """Stars of each row of a frame, and the footnote that says what they mean, "" without stars."""

    texts: list[str]
    note: str


def star_texts_and_note(estimates: Estimates, stars: bool, n_tests: int | None) -> StarTextsAndNote:
    """Return stars of adjusted P values, or of unadjusted ones at levels divided by the number of tests.

    Without `stars` all texts and the note are empty. Adjusted P values are used where the frame has them,
    unless `n_tests` gives the number of tests. By default this is the number of P values in the frame, or 1
    where the procedure "none" was chosen. Intercepts are not counted as tests and have no stars.
    """
    if n_tests is not None:
        check_count(n_tests, "n_tests")
    if not stars:
        return StarTextsAndNote([""] * len(estimates), "")
    if not estimates.existing_columns(["p_value"]):
        raise ColumnError(
            Setting("stars", True),
            f" needs a column 'p_value' of {estimates.name}",
            column="p_value",
            choices=map(str, estimates.frame.columns),
        )
    p_values = estimates.numbers("p_value")
    if estimates.distinct_values("term"):
        is_intercept = estimates.frame["term"].to_numpy() == INTERCEPT
        p_values = np.where(is_intercept, np.nan, p_values)
    is_tested = ~np.isnan(p_values)
    if n_tests is None and estimates.adjustment_procedure == "none":
        # the caller chose not to adjust
        n_tests = 1
    if n_tests is None and estimates.existing_columns(["p_adjusted"]):
        adjusted = np.where(is_tested, estimates.numbers("p_adjusted"), np.nan)
        is_unadjusted = is_tested & np.isnan(adjusted)
        if is_unadjusted.any():
            raise SalstatsError(
                "p_adjusted is missing where there is a p_value",
                hint=Message(
                    "adjust all rows together with ", Call("adjust"), ", or give ", Setting("n_tests")
                ),
                column="p_adjusted",
                rows=np.flatnonzero(is_unadjusted).tolist(),
            )
        texts = [star_text(value) for value in adjusted]
        return StarTextsAndNote(
            texts, star_or_no_star_note(adjusted=adjustment_text(estimates), has_stars=any(texts))
        )
    if n_tests is None:
        n_tests = int(np.count_nonzero(is_tested))
    family_size = max(n_tests, 1)
    texts = [star_text(value, family_size) for value in p_values]
    return StarTextsAndNote(texts, star_or_no_star_note(family_size, has_stars=any(texts)))


def p_heading(estimates: Estimates) -> str:
    """Return the heading of P values with the procedure that adjusted them: "P, Holm"."""
    if not estimates.has_adjusted_p_values:
        return "P"
    if not estimates.adjustment_procedure:
        return "P, adjusted"
    return f"P, {procedure_name(estimates.adjustment_procedure)}"

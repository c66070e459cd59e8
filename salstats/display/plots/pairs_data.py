"""Data of estimation plots: pairs of scores with their lines, units and panels, and their differences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, check_rows_are_distinct
from salstats.display.plots.layout.estimate_drawing import metric_title_texts
from salstats.display.plots.layout.legends import method_labels_references_first
from salstats.display.plots.layout.text_fit import crossed_labels, short_labels
from salstats.display.plots.layout.theme import PALETTE
from salstats.display.text.labels import Labels
from salstats.errors import Call, Message, SalstatsError, Setting
from salstats.frames import KEY_COLUMNS
from salstats.stats.engine.comparisons import complete_paired_rows

#: Call that makes the frame of differences.
DIFFERENCE_CALL = Call("difference", ("scores",), {"reference": "..."})
#: Ending that turns the title of a panel of scores into that of the panel of their differences.
DIFFERENCE_SUFFIX = ": difference"
#: Title of the panel of scores of the only group.
_SINGLE_TITLE = "Scores"
#: Fewest pairs of a cloud.
_MIN_CLOUD_PAIRS = 10
#: Most units that have a colour each: as many as the palette has.
_MAX_COLOURED_UNITS = len(PALETTE)
#: Longest name of a unit in the legend: characters of a line.
_UNIT_CHARS = 24
#: Relative difference between an estimate and the mean of the drawn differences that rounding explains.
_ROUNDING_TOLERANCE = 1e-6


@dataclass(frozen=True)
class PairsData:
    """Pairs of scores as they are drawn.

    Attributes
    ----------
    differences : Estimates
        The differences that are drawn, with `mark` (the text of the method), `place` (its position on the
        horizontal axis), `score_panel` and `panel` (those of scores and of differences).
    pairs : DataFrame
        A row for each pair of scores, a method's and the reference's, with the same four columns. `line` and
        `unit` are the numbers of the line and of the unit that the pair belongs to, `unit_label` is the text
        of a unit that has a colour of its own, and `binary` is whether all scores of the panel are 0 or 1.
    ends : DataFrame
        A row for each end of a line: `panel`, `line`, `unit`, `unit_label`, `mark`, `place`, `score` and
        `binary`.
    methods : dict
        Text of each method, the reference first.
    reference : str
        The reference.
    has_repeated_units : bool
        Whether a unit has several lines in a panel.
    unit_labels : list of str
        The texts of the units, in order, if they have colours of their own; else methods have them.
    """

    differences: Estimates
    pairs: pd.DataFrame
    ends: pd.DataFrame
    methods: dict[Any, str]
    reference: str
    has_repeated_units: bool
    unit_labels: list[str]

    @property
    def has_differences_beside(self) -> bool:
        """Return whether differences stand beside the scores, as those of a single method do."""
        return len(self.methods) == 2

    @property
    def has_cloud_by_row_of_pairs(self) -> pd.Series:
        """True for each pair of a method whose differences in its panel have a cloud, their density.

        They have one if they are neither few nor all equal, and not of 0/1 scores.
        """
        differences = self.pairs.groupby(["panel", "mark"], observed=True)["difference"]
        is_varied = differences.transform("nunique") > 1
        return ~self.pairs["binary"] & is_varied & (differences.transform("size") >= _MIN_CLOUD_PAIRS)


def only_reference(estimates: Estimates) -> str:
    """Return the reference of differences.

    Raises if the estimates are not differences, are from several references, or are all missing.
    """
    terms = estimates.distinct_values("term")
    if terms and terms != ["difference"]:
        raise SalstatsError(
            f"differences holds {str(terms[0])!r}",
            hint=Message("take ", DIFFERENCE_CALL),
            option="differences",
            column="term",
        )
    references = estimates.distinct_values("reference")
    if not references:
        raise SalstatsError(
            "differences names no reference",
            hint=Message("take ", DIFFERENCE_CALL),
            option="differences",
            column="reference",
        )
    if len(references) > 1:
        raise SalstatsError(
            f"differences are from {len(references)} references",
            hint=f"keep one of them, as in differences.query(\"reference == '{references[0]}'\")",
            option="differences",
            choices=map(str, references),
            column="reference",
        )
    if not estimates.has_estimate.any():
        raise SalstatsError(
            f"differences has nothing to draw: every estimate is missing ({len(estimates)} rows)",
            column="estimate",
        )
    return str(references[0])


def pairs_data(scores: pd.DataFrame, estimates: Estimates, reference: str, labels: Labels) -> PairsData:
    """Return the pairs of the groups and methods of differences; raise if these were made of other scores."""
    groups = [key for key in estimates.keys if key not in ("method", "reference")]
    key_columns = [*groups, "method"]
    check_rows_are_distinct(estimates, key_columns)
    drawn_estimates = estimates.subset(estimates.has_estimate & ~estimates.is_summary_row)
    if not len(drawn_estimates):
        raise SalstatsError(
            "differences has only averages and pooled rows, which have no pairs of their own",
            option="differences",
            column="estimate",
        )
    frame = drawn_estimates.frame.copy()
    pairs = complete_paired_rows(scores, reference, groups)
    # a frame that was read from a file may have numbers where scores have texts
    for rows in (frame, pairs):
        rows[key_columns] = rows[key_columns].astype(TEXT)
    pairs = pairs.merge(frame[key_columns], on=key_columns)
    _check_means(pairs, frame, key_columns)
    methods = method_labels_references_first(labels, [reference, *frame["method"]], [reference])
    frame = _with_places(frame, labels, groups, methods)
    pairs = pairs.merge(frame[[*key_columns, "score_panel", "panel", "mark", "place"]], on=key_columns)
    unit_column = drawn_estimates.only_non_missing_value("unit")
    pairs = _with_line_binary_and_unit(pairs, unit_column)
    n_lines_of_unit = pairs.groupby(["panel", "unit"], observed=True)["line"].nunique()
    has_repeated_units = bool(n_lines_of_unit.max() > 1)
    pairs["unit_label"] = ""
    unit_labels: list[str] = []
    if has_repeated_units and pairs[unit_column].nunique() <= _MAX_COLOURED_UNITS:
        texts = short_labels(
            labels, str(unit_column), pairs[unit_column], line_chars=_UNIT_CHARS, max_lines=1
        )
        unit_labels = list(texts.values())
        # equal lines of 0/1 scores are drawn as one, which may belong to several units
        pairs["unit_label"] = pairs[unit_column].map(texts).where(~pairs["binary"], "")
    return PairsData(
        differences=drawn_estimates.with_other_frame(frame),
        pairs=pairs,
        ends=_one_row_per_line_end(pairs, methods[reference]),
        methods=methods,
        reference=reference,
        has_repeated_units=has_repeated_units,
        unit_labels=unit_labels,
    )


def _with_line_binary_and_unit(pairs: pd.DataFrame, unit_column: Any) -> pd.DataFrame:
    """Return pairs with the numbers of their `line` and `unit`, and whether their panel is `binary`.

    The scores of a case, of the reference and of all methods, are on one line. `unit_column` is the column of
    the units of the differences; where the pairs do not have it, each line is a unit.
    """
    line_columns = [column for column in KEY_COLUMNS if column in pairs.columns and column != "method"]
    line = pairs.groupby(line_columns, dropna=False, sort=False).ngroup()
    are_outcomes = pairs[["score", "reference_score"]].isin([0, 1]).all(axis=1)
    binary = are_outcomes.groupby(pairs["panel"], observed=True).transform("all")
    unit = line
    if unit_column in pairs.columns:
        unit_number = pairs.groupby(unit_column, dropna=False, sort=False).ngroup()
        # the mean of a unit's 0/1 scores is neither 0 nor 1, so that these lines are those of pairs
        unit = unit_number.mask(binary, line)
    return pairs.assign(line=line, binary=binary, unit=unit)


def _check_means(pairs: pd.DataFrame, differences: pd.DataFrame, key_columns: list[str]) -> None:
    """Raise unless each unweighted difference is the mean of its pairs, and each weighted one has pairs."""
    means = pairs.groupby(key_columns, as_index=False)["difference"].mean()
    compared_differences = differences.merge(means, how="left", on=key_columns)
    error = (compared_differences["estimate"] - compared_differences["difference"]).abs()
    is_equal = error <= _ROUNDING_TOLERANCE * np.maximum(1, compared_differences["estimate"].abs())
    is_weighted = "weights" in compared_differences.columns and compared_differences["weights"].notna().any()
    if is_weighted:
        is_equal = compared_differences["difference"].notna()
    if not is_equal.all():
        row = compared_differences[~is_equal].iloc[0]
        raise SalstatsError(
            f"the difference of {', '.join(row[key_columns])} is not the mean of the pairs of scores",
            hint=Message("give the scores that it was made of, with ", Setting("pairs", "complete")),
            option="differences",
            rows=np.flatnonzero(~is_equal).tolist(),
        )


def _texts_of_groups(
    differences: pd.DataFrame, labels: Labels, columns: list[str]
) -> dict[str, dict[Any, str]]:
    """Return the label of each value of some grouping columns, metrics with their direction."""
    texts = {column: labels.label_by_value(column, differences[column]) for column in columns}
    if "metric" in columns:
        texts |= metric_title_texts(differences, labels)
    return texts


def _with_places(
    differences: pd.DataFrame, labels: Labels, groups: list[str], methods: Mapping[Any, str]
) -> pd.DataFrame:
    """Return differences with `mark` and `place`, text and position of their method, and with their panels.

    `score_panel` is the panel of the scores, `panel` that of the differences; both alternate in the figure.
    """
    varying_columns = [column for column in groups if differences[column].nunique() > 1]
    # panels fill one column after the other, so that those of a metric stand in a row
    varying_columns.sort(key=lambda column: column == "metric")
    titles = crossed_labels(differences, _texts_of_groups(differences, labels, varying_columns))
    titles = titles.rename_categories({"": _SINGLE_TITLE})
    panels = []
    for title in titles.categories:
        panels += [title, title + DIFFERENCE_SUFFIX]
    place_of = {method: place for place, method in enumerate(methods, 1)}
    return differences.assign(
        score_panel=pd.Categorical(titles.astype(TEXT), panels, ordered=True),
        panel=pd.Categorical([title + DIFFERENCE_SUFFIX for title in titles], panels, ordered=True),
        mark=pd.Categorical(differences["method"].map(methods), list(methods.values()), ordered=True),
        place=differences["method"].map(place_of),
    )


def _one_row_per_line_end(pairs: pd.DataFrame, reference_text: str) -> pd.DataFrame:
    """Return the ends of lines: the score of the reference of each line, then the scores of the methods."""
    reference_ends = pairs.drop_duplicates(["panel", "line"])
    reference_ends = reference_ends.assign(
        score=reference_ends["reference_score"], mark=reference_text, place=1
    )
    ends = pd.concat([reference_ends, pairs], ignore_index=True)
    ends["mark"] = pd.Categorical(ends["mark"], pairs["mark"].cat.categories, ordered=True)
    ends["panel"] = ends["score_panel"]
    return ends[["panel", "line", "unit", "unit_label", "mark", "place", "score", "binary"]]

"""Table of paired contrasts with a reference: both means, the contrast with its interval, and P."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from great_tables import GT
from numpy.typing import NDArray

from salstats.checks import check_choice, check_columns
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.facts import (
    BOUNDS_NOTE,
    heading_with_interval,
    metrics_without_scores_sentence,
    p_value_sentence,
    paragraph,
)
from salstats.display.tables import notes
from salstats.display.tables.fitting import fits_page
from salstats.display.tables.great_table import great_table
from salstats.display.tables.grid import (
    TableQuantity,
    decimals_by_metric_of_rows,
    estimate_and_interval_texts,
    low_to_high_bounds_quantity_if_in_frame,
    p_value_and_margin_p_quantities_if_any,
    quantity_table,
    read_estimates_to_show,
)
from salstats.display.tables.marks import rarer_rows
from salstats.display.tables.placement import CellGrid, ColumnPlacement, grid_of_frame_row_numbers
from salstats.display.tables.record import Table
from salstats.display.tables.reference_rows import (
    has_one_reference_mean_per_group,
    is_reference_row,
    with_reference_row_per_group,
)
from salstats.display.text.format import capitalized, count_text, fixed_text, joined
from salstats.display.text.labels import Labels
from salstats.display.text.margins import (
    margin_mark_note,
    margin_marks,
    pairs_as_methods_if_several_references,
)
from salstats.display.text.vocabulary import CONTRASTS, TERMS
from salstats.metrics.registry import direction
from salstats.stats.engine.effect_sizes import RECORDS as EFFECT_SIZES
from salstats.stats.engine.equivalence import sides_and_claims
from salstats.stats.engine.score_reasons import count_missing_without_absent_findings

#: More methods than this are not columns but groups of rows by default.
_MAX_METHODS_IN_COLUMNS = 3
#: Decimals of standardised effect sizes.
_EFFECT_DIGITS = 2
#: Columns of the two means that a contrast compares.
_MEAN_COLUMNS = ("reference_mean", "method_mean")


# a list of steps, each taken once; the branches are the options that add a column
def table_decrease(  # noqa: C901
    decrease: pd.DataFrame,
    *,
    sort: str = "label",
    wide: bool | None = None,
    n: bool = True,
    adjust: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int | None = None,
    percent_digits: int = 1,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """Tabulate percentage decreases, or differences, from a reference for a paper.

    One row per task (without tasks, per method), metrics and other grouping columns as groups of rows.
    Each method has the number of pairs, the reference's and its own mean, the decrease with its interval,
    and P. Significant decreases are underlined, or where most are, those that are not; those inside their
    margin have a dagger and the P of its test; an average stands last, set apart. A number of pairs that is
    the same for all contrasts stands in a note. Where all methods have the same number of pairs and mean of
    the reference, these stand once: in front of the methods beside each other, or, where methods are rows or
    groups of rows, as the rows of the reference, before the others.
    Pairs of several references are rows such as "B vs A".

    Parameters
    ----------
    decrease : DataFrame
        A frame of `percent_decrease` or `difference`, or of `mrmc`, of which the differences are shown;
        `bound_low, bound_high` of `missing_bounds` and the effect sizes of `difference` stand in columns
        of their own.
    sort : {"label", "size"}
        Rows in the order of labels, or by how far methods are below the reference (averaged over the
        methods beside each other), the furthest first.
    wide : bool, optional
        With several tasks, methods beside each other, or as groups of rows; by default beside each other up
        to three, where the page is wide enough. Without tasks methods are always rows.
    n : bool
        Give the number of pairs in columns, unless all contrasts have as many.
    digits : int, optional
        Decimals of means, and of differences and their limits, by default as for `table_estimates`.
    percent_digits : int
        Decimals of percentages and their limits.
    adjust, labels, style, title
        As for `table_estimates`.

    Returns
    -------
    GT
        A great-tables table; P is adjusted where the frame has `p_adjusted`, and a note says so.

    Raises
    ------
    SalstatsError
        A column of `percent_decrease` is missing; two rows have the same grouping columns; an unknown order.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> decrease = ss.percent_decrease(ss.datasets.load_simulated(), reference="human", average="task")
    >>> isinstance(ss.table_decrease(decrease, sort="size"), GT)
    True
    """
    required_columns = ("estimate", "method", "reference")
    all_rows = read_estimates_to_show(
        decrease, digits, style, "decrease", required_columns
    ).with_procedure_column(adjust)
    average = "mean"
    if all_rows.distinct_values("reference_median"):
        average = "median"
    # medians are read from the columns of means
    means_of_medians = {"reference_median": "reference_mean", "method_median": "method_mean"}
    all_rows = all_rows.with_other_frame(all_rows.frame.rename(columns=means_of_medians))
    check_columns(all_rows.frame, _MEAN_COLUMNS, "decrease")
    check_choice(sort, ("label", "size"), "sort")
    with_undefined = all_rows.subset_of_term_if_mrmc("difference")
    differences = with_undefined.without_metrics(with_undefined.metrics_without_scores)
    names = Labels(labels, with_undefined.frame)
    if differences.only_non_missing_value("reference") is not None:
        names = names.with_references_first(differences.distinct_values("reference"))
    contrasts = pairs_as_methods_if_several_references(differences, names)
    frame = contrasts.frame

    metric_label = ""
    if "metric" in contrasts.keys and not contrasts.varies("metric"):
        metric_label = names.value("metric", frame["metric"].iloc[0])
    methods_in_columns = wide
    if methods_in_columns is None:
        methods_in_columns = len(contrasts.distinct_values("method")) <= _MAX_METHODS_IN_COLUMNS

    def contrast_table(placement: ColumnPlacement) -> Table:
        """Return the table without notes, its grouping columns in the places given."""
        rows = contrasts
        if _has_reference_rows(contrasts, placement):
            rows = with_reference_row_per_group(contrasts)
        grid = grid_of_frame_row_numbers(rows.frame, placement, names)
        if sort == "size":
            grid = _with_rows_furthest_below_first(grid, rows)
        means = []
        for column, heading in _heading_by_mean_column(contrasts, placement, names, average).items():
            heading_by_method = {}
            if placement.columns:
                heading_by_method = _mean_heading_by_pair_label(
                    contrasts, differences, column, names, average
                )
            texts = _mean_texts(rows, column, digits)
            means.append(TableQuantity(heading, texts, heading_by_column=heading_by_method))
        contrast_values = _contrast_effect_and_p_value_quantities(
            rows, metric_label, digits, percent_digits, style
        )
        counts = []
        if n and rows.distinct_values("n_pairs") and not _have_several_contrasts_equal_pair_counts(contrasts):
            count_texts = [count_text(count) for count in rows.numbers("n_pairs")]
            counts = [TableQuantity(names.column("n"), count_texts, "right")]
        row_values = []
        if placement.columns:
            row_value_candidates = list(counts)
            if contrasts.only_non_missing_value("reference") is not None:
                # the first mean is that of the reference
                row_value_candidates.append(means[0])
            row_values = [value for value in row_value_candidates if _has_equal_texts_per_row(grid, value)]
        cell_values = [value for value in (*counts, *means, *contrast_values) if value not in row_values]
        table = quantity_table(grid, cell_values, names, row_values=row_values)
        n_reference_dashes = int(is_reference_row(rows).sum()) * len(contrast_values)
        return replace(table, symbol_note=notes.dash_note(table.cells, n_reference_dashes, "reference"))

    placement = _placement_of_grouping_columns(contrasts, methods_in_columns=methods_in_columns)
    table = contrast_table(placement)
    if wide is None and methods_in_columns and not fits_page(table):
        # a page is too narrow for the methods beside each other
        placement = _placement_of_grouping_columns(contrasts, methods_in_columns=False)
        table = contrast_table(placement)

    constant = [column for column in placement.constant if column not in ("metric", *placement.rows)]
    nouns = notes.CountedNounAndMissingAdjective("score", "undefined")
    if contrasts.distinct_values("n_pairs"):
        nouns = notes.CountedNounAndMissingAdjective("pair", "incomplete")
    means_note = ""
    if _are_means_over_paired_cases(contrasts) and not _are_all_scores_defined(contrasts):
        means_note = "Means are over the cases where both scores are defined."
    bounds_note = ""
    if contrasts.distinct_values("bound_low"):
        bounds_note = BOUNDS_NOTE
    subject_note = paragraph(
        means_note,
        _smaller_is_better_and_negative_decrease_note(contrasts, names),
        metrics_without_scores_sentence(with_undefined, names),
    )
    table_notes = notes.estimates_notes(contrasts, names, constant, nouns, subject_note)
    statistics = paragraph(
        table_notes.statistics,
        bounds_note,
        _effect_size_note(contrasts),
        p_value_sentence(contrasts, names),
        notes.equal_methods_test_note(all_rows, names, style),
    )
    underline_note = _underline_note(contrasts)
    # that nothing is underlined is a result, which formats without marks must show as well
    uniform_note = ""
    if not table.underline:
        uniform_note = underline_note
        underline_note = ""
    symbol_note = paragraph(uniform_note, margin_mark_note(contrasts, names, style), table.symbol_note)
    table = replace(
        table,
        notes=(table_notes.subject, statistics),
        mark_note=underline_note,
        symbol_note=symbol_note,
        title=title,
    )
    return great_table(table, "salstats-decrease")


def _placement_of_grouping_columns(contrasts: Estimates, *, methods_in_columns: bool) -> ColumnPlacement:
    """Return where grouping columns stand: tasks are rows, methods columns or groups of rows.

    Without tasks methods are rows.
    """
    columns = list(contrasts.keys)
    for column in ("reference", "term"):
        if column not in columns and contrasts.distinct_values(column):
            columns.append(column)
    varying = [column for column in columns if contrasts.varies(column)]
    rows = ("method",)
    headings: tuple[str, ...] = ()
    if "task" in varying:
        rows = ("task",)
        if methods_in_columns:
            headings = ("method",)
    groups = [column for column in varying if column not in (*rows, *headings)]
    # metrics are the outermost groups, methods the innermost
    groups.sort(key=lambda column: (column != "metric", column == "method"))
    # the heading of the means names the reference, that of the contrasts the term
    shown_columns = (*rows, *headings, *groups, "reference", "term")
    constant = tuple(column for column in columns if column not in shown_columns)
    return ColumnPlacement(rows, headings, tuple(groups), constant)


def _has_reference_rows(contrasts: Estimates, placement: ColumnPlacement) -> bool:
    """Return whether the reference has rows of its own in the place of a column.

    Methods have to be rows or groups of rows, and to have one mean of the reference in each group.
    """
    are_methods_below_each_other = "method" in (*placement.rows, *placement.groups)
    return are_methods_below_each_other and has_one_reference_mean_per_group(contrasts)


def _are_means_over_paired_cases(contrasts: Estimates) -> bool:
    """Return whether means are over the pairs, not over all scores of each method."""
    return np.array_equal(contrasts.numbers("n"), contrasts.numbers("n_pairs"), equal_nan=True)


def _have_several_contrasts_equal_pair_counts(contrasts: Estimates) -> bool:
    """Return whether there are several contrasts, all of the same number of pairs, which a note then gives.

    Average and pooled rows do not count: the note gives their number separately.
    """
    single = contrasts.numbers("n_pairs")[~contrasts.is_summary_row]
    return _are_means_over_paired_cases(contrasts) and len(single) > 1 and len(np.unique(single)) == 1


def _has_equal_texts_per_row(grid: CellGrid, value: TableQuantity) -> bool:
    """Return whether a quantity has one text in all cells of each row.

    This holds for the number of pairs and the mean of the reference if all methods have the same cases.
    """
    for frame_rows in grid.frame_rows:
        texts = {value.texts[row] for row in frame_rows if row >= 0}
        if len(texts) > 1:
            return False
    return True


class _RowSortKey(NamedTuple):
    """Sort key of a row of a table: the first entry in which two rows differ decides."""

    group_position: int
    is_summary_row: bool
    is_of_method: bool
    is_undefined: bool
    mean_gain: float


def _with_rows_furthest_below_first(grid: CellGrid, contrasts: Estimates) -> CellGrid:
    """Return a grid with the rows of each group sorted.

    Those furthest below the reference are the first, then come undefined ones, and averages are the last.
    """
    # how much better than the reference each method is, negative below it
    gains = contrasts.numbers("estimate")
    gains = np.where(_is_percentage_row(contrasts), -gains, gains)
    if contrasts.distinct_values("metric"):
        # -1 where smaller scores are better; larger ones are taken as better where the direction is not known
        gains = gains * [direction(metric) or 1 for metric in contrasts.frame["metric"]]
    groups = list(dict.fromkeys(grid.group_labels))
    is_reference = is_reference_row(contrasts)

    def sort_key(row: int) -> _RowSortKey:
        frame_rows = grid.frame_rows[row]
        frame_rows = frame_rows[frame_rows >= 0]
        row_gains = gains[frame_rows]
        row_gains = row_gains[~np.isnan(row_gains)]
        is_undefined = len(row_gains) == 0
        mean_gain = 0.0
        if not is_undefined:
            mean_gain = float(np.mean(row_gains))
        is_of_method = not is_reference[frame_rows].any()
        return _RowSortKey(
            group_position=groups.index(grid.group_labels[row]),
            is_summary_row=grid.is_summary_row[row],
            is_of_method=is_of_method,
            is_undefined=is_undefined,
            mean_gain=mean_gain,
        )

    order = sorted(range(len(grid.row_labels)), key=sort_key)
    # rows change places inside their groups only, so that the labels of groups stay
    return replace(
        grid,
        row_labels=[grid.row_labels[row] for row in order],
        frame_rows=grid.frame_rows[order],
        is_summary_row=[grid.is_summary_row[row] for row in order],
    )


def _heading_by_mean_column(
    contrasts: Estimates, placement: ColumnPlacement, labels: Labels, average: str
) -> dict[str, str]:
    """Return the heading of each column of means: "Human benchmark, mean" and "Method, mean".

    Where the reference has rows of its own, one column holds the means of all methods. `average` is "mean"
    or "median".
    """
    if _has_reference_rows(contrasts, placement):
        return {"method_mean": capitalized(average)}
    reference_name = labels.column("reference")
    reference = contrasts.only_non_missing_value("reference")
    if reference is not None:
        reference_name = labels.value("reference", str(reference))
    return {
        "reference_mean": f"{reference_name}, {average}",
        "method_mean": f"{labels.column('method')}, {average}",
    }


def _mean_heading_by_pair_label(
    contrasts_of_pairs: Estimates,
    contrasts_with_references: Estimates,
    mean_column: str,
    labels: Labels,
    average: str,
) -> dict[str, str]:
    """Return the heading of a column of means below each method: "Grad-CAM, mean" below "LIME - Grad-CAM".

    `contrasts_with_references` are the same rows before each method and its reference became one method
    of `contrasts_of_pairs`.
    """
    name_column = mean_column.removesuffix("_mean")
    names = contrasts_with_references.frame[name_column]
    headings = {}
    for method, name in zip(contrasts_of_pairs.frame["method"], names, strict=True):
        headings[labels.value("method", method)] = f"{labels.value(name_column, name)}, {average}"
    return headings


def _mean_texts(contrasts: Estimates, column: str, digits: int | None) -> list[str]:
    """Return the means of a column, with the decimals of their metric."""
    # the contrast may be a percentage; means are in the unit of their metric
    digits_of_rows = decimals_by_metric_of_rows(contrasts.with_columns(term="mean"), digits)
    means = contrasts.numbers(column)
    return [fixed_text(mean, row_digits) for mean, row_digits in zip(means, digits_of_rows, strict=True)]


def _contrast_effect_and_p_value_quantities(
    contrasts: Estimates, metric_label: str, digits: int | None, percent_digits: int, style: str
) -> list[TableQuantity]:
    """Return the contrast with its interval, bounds and effect sizes if there are any, and P values.

    `metric_label` is the label of the only metric, "" if there are several.
    """
    contrast_digits = digits
    if contrasts.only_term == "percent_decrease":
        contrast_digits = percent_digits
    values = []
    p_values = p_value_and_margin_p_quantities_if_any(contrasts, style)
    contrast_heading = heading_with_interval(
        _contrast_heading_without_interval(contrasts, metric_label),
        contrasts,
        beside_p_values=bool(p_values),
    )
    marks = margin_marks(contrasts)
    difference_texts = estimate_and_interval_texts(contrasts, digits, style, marks)
    percentage_texts = estimate_and_interval_texts(contrasts, percent_digits, style, marks)
    contrast_texts = np.where(_is_percentage_row(contrasts), percentage_texts, difference_texts).tolist()
    significant, others = _positions_of_significant_and_other_tested_rows(contrasts)
    values.append(TableQuantity(contrast_heading, contrast_texts, underline=rarer_rows(significant, others)))
    values += low_to_high_bounds_quantity_if_in_frame(contrasts, contrast_digits, style)
    values += _effect_size_quantity_if_any(contrasts, style)
    values += p_values
    return values


class _TestedRows(NamedTuple):
    """Positions of the tested rows by their verdict."""

    #: Rows in which the method is lower or higher.
    significant: list[int]
    #: The other rows with an estimate and a limit or P value.
    others: list[int]


def _positions_of_significant_and_other_tested_rows(contrasts: Estimates) -> _TestedRows:
    """Return the positions of the significant rows and of the other tested rows.

    There are none of either without a column `verdict`.
    """
    significant: list[int] = []
    others: list[int] = []
    if not contrasts.distinct_values("verdict"):
        return _TestedRows(significant, others)
    sides, _ = sides_and_claims(contrasts.frame["verdict"])
    for row, side in enumerate(sides):
        if side in ("lower", "higher"):
            significant.append(row)
        elif contrasts.has_estimate_and_limit_or_p_value[row]:
            others.append(row)
    return _TestedRows(significant, others)


def _contrast_heading_without_interval(contrasts: Estimates, metric_label: str) -> str:
    """Return the name of the contrast, after the only metric if there is one: "IoU, decrease, %".

    Of percentages and differences in one frame both are named.
    """
    terms = [term for term in contrasts.distinct_values("term") if term in CONTRASTS]
    name = joined([TERMS[term].name for term in terms or ["difference"]], "or")
    if metric_label:
        return f"{metric_label}, {name}"
    return capitalized(name)


def _is_percentage_row(contrasts: Estimates) -> NDArray[np.bool_]:
    """Return, for each row, whether its contrast is a percentage decrease, not a difference."""
    return np.array([term == "percent_decrease" for term in contrasts.row_values("term")], dtype=bool)


def _effect_size_quantity_if_any(contrasts: Estimates, style: str) -> list[TableQuantity]:
    """Return the standardised effect sizes with their limits as one quantity, an empty list without them."""
    if not contrasts.distinct_values("effect_size"):
        return []
    columns = {"effect": "estimate", "effect_low": "conf_low", "effect_high": "conf_high"}
    effects = contrasts.frame[[*columns, "conf_level"]].rename(columns=columns)
    sizes = read_estimates(effects, "effect sizes")
    record = EFFECT_SIZES.get(str(contrasts.only_non_missing_value("effect_size")))
    name = "Effect size"
    if record is not None:
        name = record.label
    return [
        TableQuantity(
            heading_with_interval(name, sizes), estimate_and_interval_texts(sizes, _EFFECT_DIGITS, style)
        )
    ]


def _are_all_scores_defined(contrasts: Estimates) -> bool:
    """Return whether the frame counts missing scores and has none, apart from those of absent findings."""
    if not contrasts.distinct_values("n_missing"):
        return False
    return not (count_missing_without_absent_findings(contrasts.frame) > 0).any()


def _smaller_is_better_and_negative_decrease_note(contrasts: Estimates, labels: Labels) -> str:
    """Return the metrics of which smaller is better, and that a negative decrease is an increase."""
    sentences = []
    metrics = labels.order("metric", contrasts.distinct_values("metric"))
    smaller_is_better = [labels.value("metric", metric) for metric in metrics if direction(metric) == -1]
    if smaller_is_better:
        sentences.append(f"Smaller is better: {joined(smaller_is_better)}.")
    percentages = contrasts.numbers("estimate")[_is_percentage_row(contrasts)]
    if (percentages < 0).any():
        sentences.append("A negative decrease is an increase.")
    return paragraph(*sentences)


def _effect_size_note(contrasts: Estimates) -> str:
    """Return what the effect size is, and by which unit its limits are clustered; "" without effect sizes."""
    record = EFFECT_SIZES.get(str(contrasts.only_non_missing_value("effect_size")))
    if record is None:
        return ""
    unit = contrasts.only_non_missing_value("unit")
    clustered = ""
    if unit is not None:
        clustered = f", clustered by {str(unit).replace('_', ' ')}"
    return f"{record.label}: {record.note}, limits from CR2 standard errors{clustered}."


def _underline_note(contrasts: Estimates) -> str:
    """Return what underlined means, or that all or none are significant; "" without verdicts."""
    if not contrasts.distinct_values("verdict"):
        return ""
    criterion = notes.significance_criterion(contrasts)
    significant, others = _positions_of_significant_and_other_tested_rows(contrasts)
    if len(significant) + len(others) == 1:
        is_significant = "is" if significant else "is not"
        return f"The difference {is_significant} significant ({criterion})."
    if not significant:
        return f"None is significant ({criterion})."
    if not others:
        return f"All are significant ({criterion})."
    if len(significant) > len(others):
        return f"Underlined: not significant; all others are ({criterion})."
    return f"Underlined: significant ({criterion})."

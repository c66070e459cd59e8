"""Points of a scatter figure, and fitted lines and correlations by the panel and group they belong to."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import check_by, check_frame, check_not_in_by, check_numeric, quoted
from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.plots.layout.captions import distinct_values_by_appearance
from salstats.display.plots.layout.legends import method_labels_references_first
from salstats.display.plots.layout.panel_grid import group_titles
from salstats.display.plots.layout.points import (
    CELL_POINTS,
    are_few_integers,
    are_zero_or_one,
    evenly_spread_fractions_in_groups,
    integers_spread_into_lanes,
)
from salstats.display.plots.layout.text_fit import crossed_labels, short_labels
from salstats.display.text.format import interval_text
from salstats.display.text.labels import Labels
from salstats.errors import Call, Message, SalstatsError, Setting, ValueRangeError
from salstats.stats.binned_means import binned_means
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS
from salstats.stats.engine.score_reasons import by_columns_per_observation_of_absent_finding
from salstats.stats.engine.wide_tables import wide_table
from salstats.stats.models.formulas import parse_formula
from salstats.study import HUMAN

#: Most methods whose points share a panel, unless a user names the column of the colours.
_MAX_OVERLAID = 4
#: Distance between the rates of two groups in a bin, as a share of the range of `x`.
_RATE_STEP = 0.018
#: Longest label of a value of the colour in the legend: characters of a line, and lines.
_LEGEND_CHARS = 32
_LEGEND_LINES = 2


@dataclass(frozen=True)
class ScatterData:
    """Points of a scatter figure and their groups.

    Attributes
    ----------
    points : DataFrame
        Columns `x` and `y`, `x_drawn` and `y_drawn` (the positions in the figure, where equal points are
        spread), `panel` (the title of the panel without line breaks) and `group` (the label of the value that
        has a colour, "" without colours).
    keys : DataFrame
        A row for each panel and group: their values in the columns of panels and colours, as text, and
        `panel` and `group`.
    panel_columns : list of str
        Columns whose combinations of values have a panel each.
    colour_column : str or None
        Column whose values have colours.
    colour_labels : dict
        Label of each of these values.
    rates : Estimates or None
        Shares of 1 in bins of `x` with their intervals, and their `panel`, `group` and `x_drawn`, if `y` is 0
        and 1 only; they are drawn instead of the points.
    has_few_x : bool
        Whether `x` is a few integers.
    n_omitted : int
        Number of rows that are not drawn, since they have no `x` or no `y`.
    """

    points: pd.DataFrame
    keys: pd.DataFrame
    panel_columns: list[str]
    colour_column: str | None
    colour_labels: dict[str, str]
    rates: Estimates | None
    has_few_x: bool
    n_omitted: int

    @property
    def is_binary(self) -> bool:
        """Return whether `y` is 0 and 1 only."""
        return self.rates is not None

    @property
    def has_panels_by_colour(self) -> bool:
        """Return whether each value of the colour has panels of its own."""
        return self.colour_column in self.panel_columns

    @property
    def n_groups_in_panel(self) -> int:
        """Return the number of groups that share a panel."""
        if self.has_panels_by_colour:
            return 1
        return len(self.points["group"].cat.categories)


def scatter_points_and_binned_rates(
    data: object, x: str, y: str, by: str | Sequence[str] | None, colour: str | None, labels: Labels
) -> ScatterData:
    """Return the rows of data that have `x` and `y`, with their panel, group and position in the figure.

    `x` and `y` are columns or metrics, and `by` and `colour` are the options of `plot_scatter`.
    """
    frame = check_frame(data, "data")
    by_columns, panel_columns, colour_column = _columns_of_figure(frame, by, colour)
    has_panels_by_colour = colour_column in panel_columns
    if "method" in panel_columns:
        labels = labels.with_references_first([HUMAN])
    colour_columns = [colour_column] if colour_column else []
    if x == y:
        raise SalstatsError(
            Setting("x"),
            " and ",
            Setting("y"),
            f" are both {x!r}",
            hint="name two columns or metrics",
            column=x,
        )
    group_columns = [*by_columns, *colour_columns]
    table = wide_table(frame, [x, y], group_columns).reset_index(drop=True)
    _check_one_metric(table, x, y, group_columns)
    is_missing = np.isnan(check_numeric(table, x, "data")) | np.isnan(check_numeric(table, y, "data"))
    if is_missing.all():
        raise SalstatsError(f"no row of data has both {x!r} and {y!r} ({len(table)} rows)", option="data")
    rows = table[~is_missing].reset_index(drop=True)
    points = pd.DataFrame({"x": rows[x].astype(float), "y": rows[y].astype(float)})
    title_columns = panel_columns
    if has_panels_by_colour:
        # of the other columns, such as the task, the caption names a single value
        title_columns = [
            column for column in panel_columns if column == colour_column or rows[column].nunique() > 1
        ]
    points["panel"] = group_titles(rows, labels, title_columns)
    # label of each value, by column
    group_labels = {}
    if colour_column == "method":
        group_labels["method"] = method_labels_references_first(labels, rows["method"], [HUMAN])
    elif colour_column:
        group_labels[colour_column] = short_labels(
            labels, colour_column, rows[colour_column], _LEGEND_CHARS, _LEGEND_LINES
        )
    points["group"] = crossed_labels(rows, group_labels)
    keys = rows[group_columns].astype(TEXT).assign(panel=points["panel"], group=points["group"])
    is_binary = are_zero_or_one(points["y"].to_numpy())
    has_few_x = are_few_integers(points["x"].to_numpy())
    # rows of absent findings have no score by definition, so that they do not count as omitted
    n_absent = len(by_columns_per_observation_of_absent_finding(frame, (x, y), group_columns))
    colour_labels = {"": ""}
    if colour_column:
        colour_labels = {str(value): text for value, text in group_labels[colour_column].items()}
    rates = None
    if is_binary:
        means = binned_means(
            frame, x, y, panels=by_columns, groups=colour_columns, bin_per_distinct_x=has_few_x
        )
        rates = _placed_rates(
            read_estimates(means, "rates"),
            keys.drop_duplicates(),
            points,
            side_by_side=not has_panels_by_colour,
        )
    return ScatterData(
        points=_with_drawn_positions(
            points, spread_x=has_few_x and not is_binary, side_by_side=not has_panels_by_colour
        ),
        keys=keys.drop_duplicates(),
        panel_columns=panel_columns,
        colour_column=colour_column,
        colour_labels=colour_labels,
        rates=rates,
        has_few_x=has_few_x,
        n_omitted=int(is_missing.sum()) - n_absent,
    )


class _FigureColumns(NamedTuple):
    """Columns of a figure: those of `by`, those whose values have panels, and that of the colours.

    The columns of the panels are those of `by` and, where colours have their own panels, that of the colours.
    """

    by: list[str]
    panels: list[str]
    colour: str | None


def _columns_of_figure(
    frame: pd.DataFrame, by: str | Sequence[str] | None, colour: str | None
) -> _FigureColumns:
    """Return the columns of panels and colours.

    By default the colours are those of methods, which have panels of their own if they are many. Raises if
    `colour` is not the name of a column, or is in `by`.
    """
    columns = check_by(frame, by, ("task",), "data")
    if colour is not None:
        if not isinstance(colour, str):
            raise ValueRangeError(
                Setting("colour"), f" must be the name of a column, not {colour!r}", value=colour
            )
        check_by(frame, colour, (), "data")
        check_not_in_by(colour, "colour", columns)
        return _FigureColumns(columns, panels=columns, colour=colour)
    if "method" not in frame.columns or "method" in columns:
        return _FigureColumns(columns, panels=columns, colour=None)
    if len(distinct_values_by_appearance(frame, "method")) > _MAX_OVERLAID:
        return _FigureColumns(columns, panels=[*columns, "method"], colour="method")
    return _FigureColumns(columns, panels=columns, colour="method")


def _check_one_metric(table: pd.DataFrame, x: str, y: str, groups: list[str]) -> None:
    """Raise SalstatsError if an axis shows the column `score` with several metrics in one group."""
    if "score" not in (x, y) or "metric" in groups:
        return
    metrics = distinct_values_by_appearance(table, "metric")
    if len(metrics) > 1:
        score_axis = "x" if x == "score" else "y"
        raise SalstatsError(
            f"'score' holds {len(metrics)} metrics ({quoted(metrics)}), which share no axis",
            hint=Message(
                "name one, as in ", Setting(score_axis, metrics[0]), ", or add 'metric' to ", Setting("by")
            ),
            choices=map(str, metrics),
            column="metric",
        )


def _with_drawn_positions(points: pd.DataFrame, *, spread_x: bool, side_by_side: bool) -> pd.DataFrame:
    """Return points with their positions in the figure, where equal values of `x` may be spread.

    Points of each group are spread over a lane of their own if groups stand `side_by_side` in a panel.
    """
    x = points["x"].to_numpy()
    if spread_x:
        lane = np.zeros(len(points), dtype=int)
        n_lanes = 1
        if side_by_side:
            lane = points["group"].cat.codes.to_numpy(dtype=int)
            n_lanes = len(points["group"].cat.categories)
        fractions = evenly_spread_fractions_in_groups([points["panel"], points["group"], points["x"]])
        x = integers_spread_into_lanes(x, lane, n_lanes, fractions)
    return points.assign(x_drawn=x, y_drawn=points["y"])


def _placed_rates(
    rates: Estimates, keys: pd.DataFrame, points: pd.DataFrame, *, side_by_side: bool
) -> Estimates:
    """Return rates in bins with their `panel`, `group` and `x_drawn`.

    `keys` has a row for each panel and group. Rates of the groups of a bin are moved sideways if groups stand
    `side_by_side` in a panel.
    """
    columns = [column for column in keys.columns if column not in ("panel", "group")]
    frame = rates.frame
    frame = frame.assign(**{column: frame[column].astype(TEXT) for column in columns})
    placed_rates = frame.merge(keys, on=columns) if columns else frame.merge(keys, how="cross")
    for column in ("panel", "group"):
        placed_rates[column] = pd.Categorical(
            placed_rates[column], points[column].cat.categories, ordered=True
        )
    x_drawn = placed_rates["x_mean"]
    if side_by_side:
        lane = placed_rates["group"].cat.codes
        n_lanes = len(points["group"].cat.categories)
        step = _RATE_STEP * (points["x"].max() - points["x"].min())
        x_drawn = x_drawn + step * (lane - (n_lanes - 1) / 2)
    return rates.with_other_frame(placed_rates.assign(x_drawn=x_drawn))


def points_of_other_groups(scatter: ScatterData) -> pd.DataFrame:
    """Return the points of all other groups for each panel that shows a single group.

    Columns are `panel`, `x_drawn` and `y_drawn`. There are no rows where groups share a panel, where rates
    are drawn instead of points, or where a panel would have more than 5000 points.
    """
    points = scatter.points[["panel", "x_drawn", "y_drawn"]]
    max_points_of_panel = int(points["panel"].value_counts().max())
    are_too_many = max_points_of_panel * len(scatter.colour_labels) > CELL_POINTS
    if not scatter.has_panels_by_colour or scatter.is_binary or are_too_many:
        return points.iloc[:0]
    # each panel with each panel of the same task, whose points then stand behind its own
    by_columns = [column for column in scatter.panel_columns if column != scatter.colour_column]
    panels = scatter.keys[[*by_columns, "panel"]]
    other_panels = panels.rename(columns={"panel": "other_panel"})
    if by_columns:
        pairs = panels.merge(other_panels, on=by_columns)
    else:
        pairs = panels.merge(other_panels, how="cross")
    pairs = pairs[pairs["panel"].astype(str) != pairs["other_panel"].astype(str)]
    other_points = points.rename(columns={"panel": "other_panel"})
    background = pairs[["panel", "other_panel"]].merge(other_points, on="other_panel")
    return background[["panel", "x_drawn", "y_drawn"]]


def fitted_lines_with_panel_and_group(
    fitted: Estimates, x: str, y: str, scatter: ScatterData, data: pd.DataFrame
) -> Estimates:
    """Return the fitted means of `y` along `x`, with their `panel` and `group`.

    `fitted` are estimates of `fit_line`, `data` the frame with the points. Groups with a single fitted mean
    are left out. Raises if none of the lines has `y` as its outcome and `x` as its covariate, or if the
    outcome is a gap to a reference method while `data` has the scores of this method.
    """
    frame = fitted.frame
    response_of = {text: parse_formula(text).response.name for text in fitted.distinct_values("formula")}
    is_of_axes = (frame["covariate"] == x) & (frame["formula"].map(response_of) == y)
    if not is_of_axes.any():
        pairs = frame[["formula", "covariate"]].drop_duplicates().itertuples(index=False)
        lines_of = [f"{response_of[formula]} along {covariate}" for formula, covariate in pairs]
        raise _estimates_of_other_variables_error("fit", f"line of {y!r} along {x!r}", lines_of)
    for reference in fitted.distinct_values("reference"):
        if reference in distinct_values_by_appearance(data, "method"):
            raise SalstatsError(
                f"fit has the gap to {reference!r} as its outcome, and data holds scores",
                hint=Message(
                    "draw the gap's rows, which ",
                    Call("augment", ("data", "formula"), {"reference": reference}),
                    " returns",
                ),
                option="fit",
                column="reference",
            )
    lines = _with_panel_and_group(fitted.subset(is_of_axes & fitted.has_estimate), scatter, ["value"])
    # a group whose covariate does not vary has a single fitted mean, which makes no line
    groups = [lines.frame["panel"].cat.codes, lines.frame["group"].cat.codes]
    n_values = lines.frame.groupby(groups)["value"].transform("size")
    return lines.subset(n_values > 1)


def correlations_with_texts(correlations: Estimates, x: str, y: str, scatter: ScatterData) -> Estimates:
    """Return the correlations of `x` and `y`, with their `panel`, `group` and `text`.

    Raises if there is none of these two variables.
    """
    frame = correlations.frame
    is_pair = (frame["x"] == x) & (frame["y"] == y)
    is_reverse_pair = (frame["x"] == y) & (frame["y"] == x)
    is_of_axes = is_pair | is_reverse_pair
    if not is_of_axes.any():
        pairs = frame[["x", "y"]].drop_duplicates().itertuples(index=False)
        pair_texts = [f"{first} and {second}" for first, second in pairs]
        raise _estimates_of_other_variables_error(
            "correlations", f"correlation of {x!r} and {y!r}", pair_texts
        )
    matched_correlations = _with_panel_and_group(correlations.subset(is_of_axes), scatter, [])
    texts = [_correlation_text(row) for row in matched_correlations.frame.to_dict("records")]
    return matched_correlations.with_columns(text=texts)


def _estimates_of_other_variables_error(
    option: str, missing_estimate: str, variables_of_estimates: list[str]
) -> SalstatsError:
    """Return the error for estimates of other variables than those of the axes.

    `missing_estimate` names the estimate that the figure needs, `variables_of_estimates` the variables of
    those in the option.
    """
    return SalstatsError(
        f"{option} holds no {missing_estimate}, only of {', '.join(variables_of_estimates)}",
        option=option,
        choices=variables_of_estimates,
    )


def _correlation_text(row: Mapping[Hashable, Any]) -> str:
    """Return the text of a row of correlations: "ρ = 0.45 (0.30, 0.58)"."""
    value = interval_text(row["estimate"], row.get("conf_low"), row.get("conf_high"), 2)
    return f"{correlation_coefficient_symbol(str(row.get('term')))} = {value}"


def correlation_coefficient_symbol(term: str) -> str:
    """Return the letter of a correlation coefficient: "ρ" of Spearman's, "r" of an unknown one."""
    if term not in COEFFICIENTS:
        return "r"
    return COEFFICIENTS[term].symbol


def _with_panel_and_group(estimates: Estimates, scatter: ScatterData, further_keys: list[str]) -> Estimates:
    """Return estimates with their `panel` and `group`, a row for each panel that they belong to.

    Estimates belong to the panels whose values they share in the grouping columns that both have; without
    such columns they belong to all panels. Without the column of the colours their group is missing.
    `further_keys` are columns that tell rows of one panel and group apart.
    """
    frame = estimates.frame
    name = estimates.name
    grouping_columns = [key for key in estimates.keys if key not in ("x", "y")]
    figure_columns = list(scatter.panel_columns)
    if scatter.colour_column is not None and not scatter.has_panels_by_colour:
        figure_columns.append(scatter.colour_column)
    further_columns = [column for column in grouping_columns if column not in figure_columns]
    unmatched = [column for column in further_columns if frame[column].nunique() > 1]
    if unmatched:
        raise SalstatsError(
            f"{name} is grouped by {quoted(unmatched)}, the figure by ",
            quoted(figure_columns) or "nothing",
            hint=Message("keep one value of each, or add the column to ", Setting("by")),
            option=name,
            column=unmatched[0],
        )
    shared_columns = [column for column in figure_columns if column in grouping_columns]
    key_columns = [*shared_columns, *further_keys]
    # without columns that tell rows apart, every row after the first is one too many
    is_repeated = pd.Series(np.arange(len(frame)) > 0, index=frame.index)
    if key_columns:
        is_repeated = frame.duplicated(key_columns)
    if is_repeated.any():
        row = frame.loc[is_repeated].iloc[0]
        group = ", ".join(f"{column} {row[column]}" for column in shared_columns) or "the figure"
        raise SalstatsError(
            f"{name} has more than one row for {group}",
            hint="keep one formula, test and pair",
            option=name,
            rows=np.flatnonzero(is_repeated).tolist(),
        )
    has_groups = scatter.colour_column is None or scatter.colour_column in shared_columns
    columns_of_keys = [*shared_columns, "panel"]
    if has_groups:
        columns_of_keys.append("group")
    panels_and_groups = scatter.keys[columns_of_keys].drop_duplicates()
    rows = frame.drop(columns=["panel", "group"], errors="ignore")
    rows = rows.assign(**{column: frame[column].astype(TEXT) for column in shared_columns})
    if shared_columns:
        matched_estimates = rows.merge(panels_and_groups, on=shared_columns)
    else:
        matched_estimates = rows.merge(panels_and_groups, how="cross")
    if matched_estimates.empty:
        raise SalstatsError(
            f"{name} has no row for any panel of the figure",
            hint="make it for the groups of the figure",
            option=name,
        )
    if not has_groups:
        matched_estimates["group"] = None
    for column in ("panel", "group"):
        matched_estimates[column] = pd.Categorical(
            matched_estimates[column], scatter.keys[column].cat.categories, ordered=True
        )
    return estimates.with_other_frame(matched_estimates)

"""Data of a scatter figure: points, lines of models and correlations, each in its panel."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_by, check_frame, check_numeric, quoted
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.facts import clustering_sentence, interval_name
from salstats.display.plots.layout.captions import distinct
from salstats.display.plots.layout.legends import method_labels
from salstats.display.plots.layout.panel_grid import group_titles
from salstats.display.plots.layout.points import (
    even_share,
    has_few_integers,
    is_outcome,
    spread_integers,
    spread_outcomes,
)
from salstats.display.plots.layout.text_fit import crossed_labels, short_labels
from salstats.display.text.cautions import caution_note
from salstats.display.text.correlation import covariates_note
from salstats.display.text.format import count_text, interval_text, joined
from salstats.display.text.labels import Labels
from salstats.display.text.terms import model_text
from salstats.errors import Call, ColumnError, Message, SalstatsError, Setting
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS
from salstats.stats.engine.score_reasons import absent_observations
from salstats.stats.engine.wide_tables import wide_table
from salstats.stats.models.formulas import parse_formula
from salstats.study import HUMAN

#: Longest label of a value in the legend: characters of a line, and lines.
_LEGEND_CHARS = 32
_LEGEND_LINES = 2


@dataclass(frozen=True)
class ScatterData:
    """Points of a scatter figure and their groups.

    Attributes
    ----------
    points : DataFrame
        Columns `x` and `y`, `x_drawn` and `y_drawn` (the positions in the figure), `panel` (its whole title)
        and `group` (label of the colour's value, "" without a colour).
    keys : DataFrame
        A row for each panel and group: the columns of `by` and `colour` as text, `panel` and `group`.
    by : list of str
        Columns whose values have panels.
    colour : str or None
        Column whose values have colours.
    texts : dict
        Label of each value of the colour.
    is_binary : bool
        Whether `y` is 0 and 1 only.
    has_few_x : bool
        Whether `x` is a few integers.
    n_left_out : int
        Number of rows without `x` or `y`.
    """

    points: pd.DataFrame
    keys: pd.DataFrame
    by: list[str]
    colour: str | None
    texts: dict[str, str]
    is_binary: bool
    has_few_x: bool
    n_left_out: int


def scatter_points(
    data: object, x: str, y: str, by: str | Sequence[str] | None, colour: str | None, labels: Labels
) -> ScatterData:
    """Rows of data that have `x` and `y`, with their panel, group and position in the figure."""
    frame = check_frame(data, "data")
    panel_columns = check_by(frame, by, ("task",), "data")
    if colour is None and "method" in frame.columns and "method" not in panel_columns:
        colour = "method"
    colour_columns = check_by(frame, colour or (), (), "data")
    if colour in panel_columns:
        raise ColumnError(
            Setting("colour", colour),
            " is also in ",
            Setting("by", panel_columns),
            hint="leave it out of one of them",
            column=colour,
        )
    if x == y:
        raise SalstatsError(
            Setting("x"),
            " and ",
            Setting("y"),
            f" are both {x!r}",
            hint="name two columns or metrics",
            column=x,
        )
    group_columns = [*panel_columns, *colour_columns]
    table = wide_table(frame, [x, y], group_columns).reset_index(drop=True)
    _check_one_metric(table, x, y, group_columns)
    is_missing = np.isnan(check_numeric(table, x, "data")) | np.isnan(check_numeric(table, y, "data"))
    if is_missing.all():
        raise SalstatsError(f"no row of data has both {x!r} and {y!r} ({len(table)} rows)", option="data")
    rows = table[~is_missing].reset_index(drop=True)
    points = pd.DataFrame({"x": rows[x].astype(float), "y": rows[y].astype(float)})
    points["panel"] = group_titles(rows, labels, panel_columns)
    group_labels = {
        column: short_labels(labels, column, rows[column], _LEGEND_CHARS, _LEGEND_LINES)
        for column in colour_columns
    }
    if colour_columns == ["method"]:
        group_labels = {"method": method_labels(labels, rows["method"], [HUMAN])}
    points["group"] = crossed_labels(rows, group_labels)
    keys = rows[group_columns].astype(str).assign(panel=points["panel"], group=points["group"])
    is_binary = is_outcome(points["y"].to_numpy())
    has_few_x = has_few_integers(points["x"].to_numpy())
    # a finding that is absent has no score that could be missing
    n_absent = len(absent_observations(frame, (x, y), group_columns))
    texts = {"": ""}
    if colour:
        texts = {str(value): text for value, text in group_labels[colour].items()}
    return ScatterData(
        points=_with_positions(points, spread_x=has_few_x, spread_y=is_binary),
        keys=keys.drop_duplicates(),
        by=panel_columns,
        colour=colour,
        texts=texts,
        is_binary=is_binary,
        has_few_x=has_few_x,
        n_left_out=int(is_missing.sum()) - n_absent,
    )


def _check_one_metric(table: pd.DataFrame, x: str, y: str, groups: list[str]) -> None:
    """Raise where points would be scores of several metrics."""
    if "score" not in (x, y) or "metric" not in table.columns or "metric" in groups:
        return
    metrics = distinct(table, "metric")
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


def _with_positions(points: pd.DataFrame, *, spread_x: bool, spread_y: bool) -> pd.DataFrame:
    """Points with their positions in the figure, of which equal ones are spread."""
    lane = points["group"].cat.codes.to_numpy()
    n_lanes = len(points["group"].cat.categories)
    x = points["x"].to_numpy()
    y = points["y"].to_numpy()
    groups = [points["panel"], points["group"]]
    if spread_x:
        x = spread_integers(x, lane, n_lanes, even_share([*groups, points["x"]]))
    if spread_y:
        y = spread_outcomes(y, lane, n_lanes, even_share([*groups, points["y"]]))
    return points.assign(x_drawn=x, y_drawn=y)


def fitted_lines(fit: pd.DataFrame, x: str, y: str, scatter: ScatterData, data: pd.DataFrame) -> pd.DataFrame:
    """Rows of a `fit_line` frame for `y` along `x`, with their `panel` and `group`."""
    fitted = read_estimates(fit, "fit", ("formula", "covariate", "value", "estimate"))
    frame = fitted.frame
    response_of = {text: parse_formula(text).response.name for text in fitted.values("formula")}
    is_of_axes = (frame["covariate"] == x) & (frame["formula"].map(response_of) == y)
    if not is_of_axes.any():
        pairs = frame[["formula", "covariate"]].drop_duplicates().itertuples(index=False)
        lines_of = [f"{response_of[formula]} along {covariate}" for formula, covariate in pairs]
        raise SalstatsError(
            f"fit holds no line of {y!r} along {x!r}, only of {', '.join(lines_of)}",
            option="fit",
            choices=lines_of,
        )
    for reference in fitted.values("reference"):
        if "method" in data.columns and (data["method"] == reference).any():
            raise SalstatsError(
                f"fit is of the gap to {reference!r}, data holds scores",
                hint=Message(
                    "draw the gap's rows, which ",
                    Call("augment", ("data", "formula"), {"reference": reference}),
                    " returns",
                ),
                option="fit",
                column="reference",
            )
    lines = _match_to_panels(fitted.subset(is_of_axes & fitted.has_estimate), scatter, ["value"])
    # a group whose covariate does not vary has a single fitted mean, which is no line
    line = [lines["panel"].cat.codes, lines["group"].cat.codes]
    n_values = lines.groupby(line)["value"].transform("size")
    return lines[n_values > 1].reset_index(drop=True)


def correlation_texts(correlations: pd.DataFrame, x: str, y: str, scatter: ScatterData) -> pd.DataFrame:
    """Rows of a `correlate` frame for `x` and `y`, with their `panel`, `group` and `text`."""
    estimates = read_estimates(correlations, "correlations", ("x", "y", "estimate"))
    frame = estimates.frame
    is_pair = (frame["x"] == x) & (frame["y"] == y)
    is_reverse_pair = (frame["x"] == y) & (frame["y"] == x)
    is_of_axes = is_pair | is_reverse_pair
    if not is_of_axes.any():
        pairs = frame[["x", "y"]].drop_duplicates().itertuples(index=False)
        texts = [f"{first} and {second}" for first, second in pairs]
        raise SalstatsError(
            f"correlations holds none of {x!r} and {y!r}, only of {', '.join(texts)}",
            option="correlations",
            choices=texts,
        )
    rows = _match_to_panels(estimates.subset(is_of_axes), scatter, [])
    rows["text"] = [_correlation_text(row) for row in rows.to_dict("records")]
    return rows


def _correlation_text(row: Mapping[Hashable, Any]) -> str:
    """Text such as "ρ = 0.45 (0.30, 0.58)"."""
    value = interval_text(row["estimate"], row.get("conf_low"), row.get("conf_high"), 2)
    return f"{_symbol(str(row.get('term')))} = {value}"


def _symbol(term: str) -> str:
    """Letter of a correlation coefficient."""
    return COEFFICIENTS[term].symbol if term in COEFFICIENTS else "r"


def _match_to_panels(estimates: Estimates, scatter: ScatterData, further_keys: list[str]) -> pd.DataFrame:
    """Return the rows of estimates with their panel and group.

    Estimates that are not grouped by a column of the panels belong to all of these panels. Without the
    colour's column their group is missing. `further_keys` tell rows of one panel and group apart.
    """
    frame = estimates.frame
    name = estimates.name
    columns = [key for key in estimates.keys if key not in ("x", "y")]
    figure_columns = list(scatter.by)
    if scatter.colour is not None:
        figure_columns.append(scatter.colour)
    unmatched = [column for column in columns if column not in figure_columns and frame[column].nunique() > 1]
    if unmatched:
        raise SalstatsError(
            f"{name} is grouped by {quoted(unmatched)}, the figure by {quoted(figure_columns) or 'nothing'}",
            hint=Message("keep one value of it, or add it to ", Setting("by")),
            option=name,
            column=unmatched[0],
        )
    shared = [column for column in figure_columns if column in columns]
    key_columns = [*shared, *further_keys]
    # without columns that tell rows apart, every row after the first is one too many
    is_repeated = pd.Series(np.arange(len(frame)) > 0, index=frame.index)
    if key_columns:
        is_repeated = frame.duplicated(key_columns)
    if is_repeated.any():
        row = frame.loc[is_repeated].iloc[0]
        group = ", ".join(f"{column} {row[column]}" for column in shared) or "the figure"
        raise SalstatsError(
            f"{name} has more than one row for {group}",
            hint="keep one formula, test and pair",
            option=name,
            rows=np.flatnonzero(is_repeated).tolist(),
        )
    has_groups = scatter.colour is None or scatter.colour in shared
    target_columns = ["panel", "group"] if has_groups else ["panel"]
    targets = scatter.keys[[*shared, *target_columns]].drop_duplicates()
    rows = frame.assign(**{column: frame[column].astype(str) for column in shared})
    rows = rows.drop(columns=[column for column in ("panel", "group") if column in rows.columns])
    matched = rows.merge(targets, on=shared) if shared else rows.merge(targets, how="cross")
    if matched.empty:
        raise SalstatsError(
            f"{name} has no row for any panel of the figure", hint="its groups are other ones", option=name
        )
    matched["panel"] = pd.Categorical(matched["panel"], scatter.keys["panel"].cat.categories, ordered=True)
    groups = matched["group"] if has_groups else [None] * len(matched)
    matched["group"] = pd.Categorical(groups, scatter.keys["group"].cat.categories, ordered=True)
    return matched


def scatter_notes(
    scatter: ScatterData,
    titles: Sequence[str],
    lines: pd.DataFrame | None,
    texts: pd.DataFrame | None,
    labels: Labels,
) -> list[str]:
    """Sentences of the caption; `titles` are those of the horizontal and the vertical axis."""
    sentences = []
    if scatter.is_binary:
        sentences.append("Points at 0 and 1 are spread beyond these.")
    if scatter.has_few_x:
        sentences.append("Points of equal values are spread sideways.")
    if lines is not None:
        sentences.append(_lines_note(lines, titles[1], labels))
    if texts is not None:
        sentences += _correlation_notes(texts, labels)
    for frame in (lines, texts):
        if frame is not None:
            sentences.append(caution_note(frame.drop_duplicates(["panel", "group"])))
    if scatter.n_left_out:
        n_left_out = count_text(scatter.n_left_out)
        n_rows = count_text(scatter.n_left_out + len(scatter.points))
        sentences.append(f"Not drawn: {n_left_out} of {n_rows} rows, which miss {joined(titles, 'or')}.")
    return [sentence for sentence in sentences if sentence]


def _lines_note(lines: pd.DataFrame, y_title: str, labels: Labels) -> str:
    """Sentence that names the models of the lines and the interval of the bands."""
    interval = interval_name(read_estimates(lines, "fit")) if len(lines) else ""
    bands = f" and pointwise {interval}" if interval else ""
    if "cut" in lines and lines["cut"].any():
        bands += ", cut where it is wide"
    models = [model_text(str(formula), y_title, labels) for formula in distinct(lines, "formula")]
    return f"Lines: fitted mean ({'; '.join(models)}){bands}."


def _correlation_notes(texts: pd.DataFrame, labels: Labels) -> list[str]:
    """Sentences on the coefficients, their interval, clusters and covariates."""
    estimates = read_estimates(texts, "correlations")
    coefficients = []
    for term in estimates.values("term"):
        record = COEFFICIENTS.get(str(term))
        coefficients.append(f"{_symbol(str(term))}: {record.label if record else str(term)}")
    names = "; ".join(coefficients) or "r: correlation"
    interval = interval_name(estimates)
    limits = f" ({interval})" if interval else ""
    return [f"{names}{limits}.", clustering_sentence(estimates), covariates_note(estimates, labels)]

"""What a scatter figure draws: its points, the lines of models and the correlations, each in its panel."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import (
    ColumnError,
    SalstatsError,
    check_by,
    check_frame,
    check_numeric,
    quoted,
)
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.facts import clustering_sentence, interval_name
from salstats.display.plots.layout.captions import distinct
from salstats.display.plots.layout.legends import method_labels
from salstats.display.plots.layout.panel_grid import group_titles
from salstats.display.plots.layout.points import beside, beyond, even_share, is_few, is_outcome
from salstats.display.plots.layout.text_fit import crossed, short_labels
from salstats.display.text.cautions import caution_note
from salstats.display.text.correlation import covariates_note
from salstats.display.text.format import count_text, interval_text, joined
from salstats.display.text.labels import Labels
from salstats.display.text.terms import model_text
from salstats.stats.engine.carried import absent_observations
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS
from salstats.stats.engine.wide import wide_table
from salstats.stats.models.formulas import parse_formula
from salstats.study import HUMAN


@dataclass(frozen=True)
class Drawn:
    """The rows of a scatter figure, and what they are grouped by.

    `points` has `x, y`, `panel` (its whole title), `group` (label of the colour's value, "" without one) and
    `x_drawn, y_drawn`, where they stand; `keys` has a row per panel and group: the columns of `by` and
    `colour` as text, `panel` and `group`; `texts` are the labels of the colour's values. `outcome`: `y` is 0
    and 1 only; `few`: `x` is a few whole numbers.
    """

    points: pd.DataFrame
    keys: pd.DataFrame
    by: list[str]
    colour: str | None
    texts: dict[str, str]
    outcome: bool
    few: bool
    n_left_out: int


def drawn_points(
    data: object, x: str, y: str, by: str | Sequence[str] | None, colour: str | None, labels: Labels
) -> Drawn:
    """Rows that have `x` and `y`, by panel and group."""
    frame = check_frame(data, "data")
    groups = check_by(frame, by, ("task",), "data")
    if colour is None:
        colour = "method" if "method" in frame.columns and "method" not in groups else None
    colours = check_by(frame, colour or (), (), "data")
    if colour in groups:
        raise ColumnError(f"colour={colour!r} is also in by={groups}; leave it out of one of them")
    if x == y:
        raise SalstatsError(f"x and y are both {x!r}; name two columns or metrics")
    table = wide_table(frame, [x, y], [*groups, *colours]).reset_index(drop=True)
    _check_one_metric(table, x, y, [*groups, *colours])
    complete = ~(np.isnan(check_numeric(table, x, "data")) | np.isnan(check_numeric(table, y, "data")))
    if not complete.any():
        raise SalstatsError(f"no row of data has both {x!r} and {y!r} ({len(table)} rows)")
    used = table[complete].reset_index(drop=True)
    points = pd.DataFrame({"x": used[x].astype(float), "y": used[y].astype(float)})
    points["panel"] = group_titles(used, labels, groups)
    short = {c: short_labels(labels, c, used[c], 32, 2) for c in colours}
    if colours == ["method"]:
        short = {"method": method_labels(labels, used["method"], [HUMAN])}
    points["group"] = crossed(used, short)
    keys = used[[*groups, *colours]].astype(str).assign(panel=points["panel"], group=points["group"])
    outcome, few = is_outcome(points["y"].to_numpy()), is_few(points["x"].to_numpy())
    points = _spread(points, outcome, few)
    # nobody misses the score of a finding that is not there
    n_left_out = int((~complete).sum()) - len(absent_observations(frame, (x, y), [*groups, *colours]))
    texts = {str(value): text for value, text in (short[colour] if colour else {"": ""}).items()}
    return Drawn(points, keys.drop_duplicates(), groups, colour, texts, outcome, few, n_left_out)


def _check_one_metric(table: pd.DataFrame, x: str, y: str, groups: list[str]) -> None:
    """Raise where points would be scores of several metrics."""
    if "score" not in (x, y) or "metric" not in table.columns or "metric" in groups:
        return
    metrics = distinct(table, "metric")
    if len(metrics) > 1:
        raise SalstatsError(
            f"'score' holds {len(metrics)} metrics ({quoted(metrics)}), which share no axis; name one, "
            f"as in plot_scatter(scores, {x if y == 'score' else y!r}, {metrics[0]!r}), or add 'metric' to by"
        )


def _spread(points: pd.DataFrame, outcome: bool, few: bool) -> pd.DataFrame:
    """Points with the places where they are drawn: equal values beside each other."""
    lane = points["group"].cat.codes.to_numpy()
    n_lanes = len(points["group"].cat.categories)
    x, y = points["x"].to_numpy(), points["y"].to_numpy()
    cells = [points["panel"], points["group"]]
    if few:
        x = beside(x, lane, n_lanes, even_share([*cells, points["x"]]))
    if outcome:
        y = beyond(y, lane, n_lanes, even_share([*cells, points["y"]]))
    return points.assign(x_drawn=x, y_drawn=y)


def fitted_lines(fit: pd.DataFrame, x: str, y: str, drawn: Drawn, data: pd.DataFrame) -> pd.DataFrame:
    """Rows of a `fit_line` frame that belong to the panels: `panel` and `group` added."""
    fitted = read_estimates(fit, "fit", ("formula", "covariate", "value", "estimate"))
    responses = {text: parse_formula(text).response.name for text in fitted.values("formula")}
    here = (fitted.frame["covariate"] == x) & (fitted.frame["formula"].map(responses) == y)
    if not here.any():
        pairs = fitted.frame[["formula", "covariate"]].drop_duplicates().itertuples(index=False)
        what = [f"{responses[formula]} along {covariate}" for formula, covariate in pairs]
        raise SalstatsError(f"fit holds no line of {y!r} along {x!r}, only of {', '.join(what)}")
    for reference in fitted.values("reference"):
        if "method" in data.columns and (data["method"] == reference).any():
            raise SalstatsError(
                f"fit is of the gap to {reference!r}, data holds scores; draw the gap's rows, which "
                f"augment(data, formula, reference={reference!r}) returns"
            )
    lines = _matched(fitted.where(here & fitted.defined), drawn, ["value"])
    # a group whose covariate does not vary has a mean but no line
    several = (
        lines.groupby([lines["panel"].cat.codes, lines["group"].cat.codes])["value"].transform("size") > 1
    )
    return lines[several].reset_index(drop=True)


def correlation_texts(correlations: pd.DataFrame, x: str, y: str, drawn: Drawn) -> pd.DataFrame:
    """Rows of a `correlate` frame that belong to the panels: `panel`, `group`, `text` added."""
    estimates = read_estimates(correlations, "correlations", ("x", "y", "estimate"))
    frame = estimates.frame
    ways = [(frame["x"] == a) & (frame["y"] == b) for a, b in ((x, y), (y, x))]
    here = ways[0] | ways[1]
    if not here.any():
        pairs = frame[["x", "y"]].drop_duplicates().itertuples(index=False)
        what = [f"{first} and {second}" for first, second in pairs]
        raise SalstatsError(f"correlations holds none of {x!r} and {y!r}, only of {', '.join(what)}")
    rows = _matched(estimates.where(here), drawn, [])
    rows["text"] = [_correlation_text(row) for row in rows.to_dict("records")]
    return rows


def _correlation_text(row: dict[str, object]) -> str:
    """Text such as "ρ = 0.45 (0.30, 0.58)"."""
    value = interval_text(row["estimate"], row.get("conf_low"), row.get("conf_high"), 2)
    return f"{_symbol(str(row.get('term')))} = {value}"


def _symbol(term: str) -> str:
    """Letter of a coefficient."""
    return COEFFICIENTS[term].symbol if term in COEFFICIENTS else "r"


def _matched(estimates: Estimates, drawn: Drawn, further: list[str]) -> pd.DataFrame:
    """Return the rows of estimates with the panel and the group that they belong to.

    A frame that is not grouped by a column of the panels belongs into each of them; without the colour's
    column its rows have no group.
    """
    frame, name = estimates.frame, estimates.name
    own = [key for key in estimates.keys if key not in ("x", "y")]
    known = [*drawn.by, *([drawn.colour] if drawn.colour else [])]
    others = [c for c in own if c not in known and frame[c].nunique() > 1]
    if others:
        raise SalstatsError(
            f"{name} is grouped by {quoted(others)}, the figure by {quoted(known) or 'nothing'}; keep one "
            "value of it, or add it to by="
        )
    shared = [c for c in known if c in own]
    repeated = frame.duplicated([*shared, *further])
    if repeated.any():
        row = frame.loc[repeated].iloc[0]
        where = ", ".join(f"{c} {row[c]}" for c in shared) or "the figure"
        raise SalstatsError(f"{name} has more than one row for {where}; keep one formula, test and pair")
    coloured = drawn.colour is None or drawn.colour in shared
    keys = drawn.keys if coloured else drawn.keys.drop(columns=["group", str(drawn.colour)])
    texts = frame.assign(**{c: frame[c].astype(str) for c in shared})
    texts = texts.drop(columns=[c for c in ("panel", "group") if c in texts.columns])
    targets = keys[[*shared, "panel", *(["group"] if coloured else [])]].drop_duplicates()
    matched = texts.merge(targets, on=shared) if shared else texts.merge(targets, how="cross")
    if matched.empty:
        raise SalstatsError(f"{name} has no row for any panel of the figure; its groups are other ones")
    matched["panel"] = pd.Categorical(matched["panel"], drawn.keys["panel"].cat.categories, ordered=True)
    groups = drawn.keys["group"].cat.categories
    own_group = matched["group"] if coloured else [None] * len(matched)
    matched["group"] = pd.Categorical(own_group, groups, ordered=True)
    return matched


def captions(
    drawn: Drawn,
    titles: Sequence[str],
    lines: pd.DataFrame | None,
    texts: pd.DataFrame | None,
    labels: Labels,
) -> list[str]:
    """Sentences under the figure; `titles` are those of its axes."""
    sentences = []
    if drawn.outcome:
        sentences.append("Points at 0 and 1 are spread beyond these.")
    if drawn.few:
        sentences.append("Points of equal values are spread sideways.")
    if lines is not None:
        interval = interval_name(read_estimates(lines, "fit")) if len(lines) else ""
        band = f" and pointwise {interval}" if interval else ""
        band += ", cut where it is wide" if "cut" in lines and lines["cut"].any() else ""
        models = [model_text(str(formula), titles[1], labels) for formula in distinct(lines, "formula")]
        sentences.append(f"Lines: fitted mean ({'; '.join(models)}){band}.")
    if texts is not None:
        estimates = read_estimates(texts, "correlations")
        terms = [(str(t), COEFFICIENTS.get(str(t))) for t in estimates.values("term")]
        what = [f"{_symbol(t)}: {known.label if known else t}" for t, known in terms] or ["r: correlation"]
        interval = interval_name(estimates)
        limits = f" ({interval})" if interval else ""
        sentences.append(f"{'; '.join(what)}{limits}.")
        sentences.append(clustering_sentence(estimates))
        sentences.append(covariates_note(texts, labels))
    for frame in (lines, texts):
        if frame is not None and (note := caution_note(frame.drop_duplicates(["panel", "group"]))):
            sentences.append(note)
    if drawn.n_left_out:
        n, total = count_text(drawn.n_left_out), count_text(drawn.n_left_out + len(drawn.points))
        sentences.append(f"Not drawn: {n} of {total} rows, which miss {joined(titles, 'or')}.")
    return [sentence for sentence in sentences if sentence]

"""Which column of a regression table each model stands in, what it is called, and the rows at its foot."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, quoted
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.tables.placement import Key, key_of
from salstats.display.text.format import (
    MINUS,
    MISSING,
    count_text,
    fixed_text,
    interval_text,
    number_text,
    plural,
)
from salstats.display.text.labels import Labels
from salstats.display.text.terms import group_text, side_text, term_rows, variables_in
from salstats.stats.adjust import INTERCEPT
from salstats.stats.models.components import RESIDUAL
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.linear import GAUSSIAN

Frames: TypeAlias = pd.DataFrame | Sequence[pd.DataFrame] | Mapping[str, pd.DataFrame]
#: A group of rows and a column of the table.
Place: TypeAlias = tuple[Key, int]
#: Column with the names of frames that were given by name.
NAME = "_name"
#: Statistics of a fit, with their headings and whether they are of the likelihood: these are shown where
#: there is no R² only, with one decimal.
_RESIDUAL_SD = "Residual SD"
_STATISTICS = (
    ("r_squared", "R²", False),
    ("adj_r_squared", "Adjusted R²", False),
    ("sigma", _RESIDUAL_SD, False),
    ("alpha", "Correlation within units", False),
    ("scale", "Scale", False),
    ("precision", "Precision", False),
    ("log_lik", "Log-likelihood", True),
    ("aic", "AIC", True),
)


def combine(frames: Frames, needed: Sequence[str], name: str) -> Estimates:
    """Read frames one below the other, with their names, if they have any, in a column in front."""
    if isinstance(frames, Mapping):
        parts = [read_estimates(frame, name, needed) for frame in frames.values()]
        labelled = [part.frame.assign(**{NAME: str(key)}) for key, part in zip(frames, parts, strict=True)]
        parts = [part.with_frame(frame) for part, frame in zip(parts, labelled, strict=True)]
    elif isinstance(frames, pd.DataFrame):
        parts = [read_estimates(frames, name, needed)]
    elif isinstance(frames, Sequence) and not isinstance(frames, str):
        parts = [read_estimates(frame, name, needed) for frame in frames]
    else:
        raise SalstatsError(
            f"{name} must be a frame, a list of frames or a mapping from names to frames, "
            f"not {type(frames).__name__}"
        )
    if not parts:
        raise SalstatsError(f"{name} holds no frame")
    whole = pd.concat([part.frame for part in parts], ignore_index=True)
    named = [NAME] if NAME in whole.columns else []
    keys = [key for part in parts for key in part.keys if key != "reference"]
    return parts[0].with_frame(whole[list(dict.fromkeys([*named, *keys, *whole.columns]))])


def terms_shown(frame: pd.DataFrame, keep: Sequence[str] | None, intercept: bool) -> list[str]:
    """The terms that are shown, in the frame's order or that of `keep`."""
    terms = [str(t) for t in dict.fromkeys(frame["term"])]
    if keep is None:
        return [t for t in terms if t != INTERCEPT or intercept]
    wanted = [keep] if isinstance(keep, str) else list(keep)
    unknown = [t for t in wanted if t not in terms]
    if unknown:
        raise ColumnError(f"keep names {unknown[0]!r}, which is no term of the models: {quoted(terms)}")
    return wanted


def model_columns(estimates: Estimates) -> list[str]:
    """Return the columns that tell models apart."""
    columns = estimates.frame.columns
    further = [c for c in ("reference", "formula") if c in columns and c not in estimates.keys]
    return [*estimates.keys, *further]


def hidden_variables(frame: pd.DataFrame) -> dict[str, Key]:
    """The variables of each formula that none of its rows is a term of."""
    hidden = {}
    for formula, rows in frame.groupby("formula", sort=False) if "formula" in frame.columns else ():
        shown = variables_in(str(formula), rows["term"].astype(str).tolist())
        hidden[str(formula)] = tuple(c for c in variables_in(str(formula)) if c not in shown)
    return hidden


def gaps(frame: pd.DataFrame) -> np.ndarray:
    """Which rows are of models of the gap reference - method."""
    has_reference = "reference" in frame.columns
    return np.asarray(frame["reference"].notna()) if has_reference else np.zeros(len(frame), dtype=bool)


class ModelColumns(NamedTuple):
    """The column of each row of a frame of terms, and the headings of each column from the outermost."""

    of: list[int]
    headings: list[Key]
    formulas: list[str]


def arrange(frame: pd.DataFrame, shown: Sequence[str], groups: Sequence[str], labels: Labels) -> ModelColumns:
    """The column of each row: by name, outcome, `shown` grouping columns and gap, then formula.

    The formula only counts where two models would have the same term in one cell: models of one
    outcome with one term each share a column.
    """
    levels = _levels(frame, shown, labels)
    within = [key_of(frame, i, [*groups, "term"]) for i in range(len(frame))]
    places = list(zip(*levels.values(), strict=True))
    formulas: list[str] = []
    if len(set(zip(places, within, strict=True))) < len(frame) and "formula" in frame.columns:
        right = [side_text(str(f), labels) for f in frame["formula"]]
        formulas = list(dict.fromkeys(right))
        levels["formula"] = [f"Model {formulas.index(r) + 1}" for r in right]
        places = list(zip(*levels.values(), strict=True))
    seen: dict[Any, int] = {}
    for i, cell in enumerate(zip(places, within, strict=True)):
        if seen.setdefault(cell, i) != i:
            said = ", ".join(part for part in (*cell[0], *cell[1])[1:] if part)
            raise SalstatsError(
                f"two estimates in one cell: term {frame['term'].iloc[i]!r} of rows {seen[cell]} and {i} "
                f"({said}); keep one of them, or name the frames as in {{'Model 1': terms, ...}}"
            )
    # methods as labels have them, the gap behind, all else as it comes
    ranks, is_gap = [labels.categorical(frame, c).codes for c in shown], gaps(frame)
    ordered = sorted(range(len(frame)), key=lambda i: (is_gap[i], *(rank[i] for rank in ranks)))
    order = {level: list(dict.fromkeys(texts)) for level, texts in levels.items()}
    order["source"] = list(dict.fromkeys(levels["source"][i] for i in ordered))
    columns = sorted(
        set(places), key=lambda p: [order[level].index(text) for level, text in zip(levels, p, strict=True)]
    )
    said_levels = [_is_said(frame, level, levels) for level in levels]
    headings = [tuple(t for t, said in zip(p, said_levels, strict=True) if said) for p in columns]
    return ModelColumns([columns.index(p) for p in places], headings, formulas)


def _levels(frame: pd.DataFrame, shown: Sequence[str], labels: Labels) -> dict[str, list[str]]:
    """Each level of the headings with its text for each row, the outermost first."""
    levels = {"kind": [_kind(row) for row in frame.to_dict("records")]}
    if NAME in frame.columns:
        levels["name"] = [str(v) for v in frame[NAME]]
    if "formula" in frame.columns:
        levels["outcome"] = [labels.term(str(f).partition("~")[0].strip()) for f in frame["formula"]]
    if len(set(levels["kind"])) == 1 == len(set(levels.get("outcome", []))):
        # one outcome is said once, with what the estimates are
        outcome, kind = levels.pop("outcome")[0], levels["kind"][0]
        levels["kind"] = [f"{outcome}, {kind[0].lower()}{kind[1:]}"] * len(frame)
    levels["source"] = [_source(row, shown, labels) for row in frame.to_dict("records")]
    return levels


def _kind(row: Mapping[Any, Any]) -> str:
    """What an estimate of a row is."""
    if isinstance(row.get("average"), str):
        return "Average marginal effect"
    link = FAMILIES.get(str(row.get("family")), GAUSSIAN).link
    return link.ratio if row.get("exponentiated") in (True, 1) else link.effect


def _source(row: Mapping[Any, Any], shown: Sequence[str], labels: Labels) -> str:
    """The values of the columns shown, a method with a reference as their difference."""
    texts = {c: labels.value(c, row[c]) for c in shown if row[c] is not None and row[c] == row[c]}
    reference = row.get("reference")
    if "method" in texts and reference is not None and reference == reference:
        texts["method"] = f"{labels.value('reference', reference)} {MINUS} {texts['method']}"
    return ", ".join(texts.values())


def _is_said(frame: pd.DataFrame, level: str, levels: Mapping[str, list[str]]) -> bool:
    """Whether a level stands in the headings: what tells columns apart, and the outcome."""
    texts = levels[level]
    if level == "outcome" and "name" in levels:
        return len(set(zip(levels["name"], texts, strict=True))) > len(set(levels["name"]))
    return level != "source" or len(set(texts)) > 1 or bool(gaps(frame).any())


def models_by_place(
    estimates: Estimates, column_of: Sequence[int], groups: Sequence[str]
) -> dict[Place, list[int]]:
    """Return one row of each model that stands in a group and column."""
    frame, columns = estimates.frame, model_columns(estimates)
    found: dict[Place, dict[Key, int]] = {}
    for row, column in enumerate(column_of):
        models = found.setdefault((key_of(frame, row, groups), column), {})
        models.setdefault(key_of(frame, row, columns), row)
    return {place: list(rows.values()) for place, rows in found.items()}


def fit_rows(
    estimates: Estimates,
    models: Mapping[Place, Sequence[int]],
    fit: Frames | None,
    parameters: Estimates,
    components: Estimates | None,
    labels: Labels,
    digits: int,
    style: str,
) -> list[tuple[str, dict[Place, str]]]:
    """The rows at the foot: heading, and text by group and column, of columns with one model only."""
    single = {place: rows[0] for place, rows in models.items() if len(rows) == 1}
    rows = _parameters(estimates, parameters, single, labels, digits)
    if components is not None:
        rows |= _components(estimates, components, single, labels, digits, style)
    n_heading, unit = labels.column("n"), estimates.single("unit")
    n, n_units = estimates.numbers("n"), estimates.numbers("n_units")
    rows[n_heading] = {place: count_text(n[row]) for place, row in single.items()}
    if unit is not None and (n_units < n).any():
        rows[plural(str(unit)).capitalize()] = {p: count_text(n_units[row]) for p, row in single.items()}
    if fit is not None:
        whole = combine(fit, (), "fit")
        statistics = _statistics(whole, _fit_of(estimates, whole, single), n_heading, digits)
        # with components the residual SD has limits
        rows |= {
            heading: t for heading, t in statistics.items() if heading not in rows or heading == n_heading
        }
    return [(heading, texts) for heading, texts in rows.items() if set(texts.values()) - {MISSING, ""}]


def _parameters(
    estimates: Estimates, parameters: Estimates, single: Mapping[Place, int], labels: Labels, digits: int
) -> dict[str, dict[Place, str]]:
    """Variances and the like by term; they may be small, so that `digits` of them are significant."""
    # broom.mixed's `group` is of variances alone and tells no models apart
    columns = [c for c in model_columns(estimates) if estimates.values(c)]
    own = [key for key in estimates.keys if key not in columns]
    places = {key_of(estimates.frame, row, columns): place for place, row in single.items()}
    estimate = parameters.numbers("estimate")
    rows: dict[str, dict[Place, str]] = {}
    for i, term in enumerate(parameters.frame["term"]):
        place = places.get(key_of(parameters.frame, i, columns))
        if place is not None:
            named = [*key_of(parameters.frame, i, own), labels.value("term", term).replace("__", " ")]
            text = number_text(estimate[i], digits).replace("-", MINUS)
            rows.setdefault(", ".join(filter(None, named)), {})[place] = text
    return rows


def _components(
    estimates: Estimates,
    components: Estimates,
    single: Mapping[Place, int],
    labels: Labels,
    digits: int,
    style: str,
) -> dict[str, dict[Place, str]]:
    """SDs and shares of random effects with their limits, then the numbers of groups."""
    columns = [c for c in model_columns(estimates) if c in components.frame.columns]
    places = {key_of(estimates.frame, row, columns): place for place, row in single.items()}
    said = {row.term: row.whole for row in term_rows(estimates.frame, labels)}
    found: list[dict[str, dict[Place, str]]] = [{}, {}, {}]
    for i, row in enumerate(components.frame.to_dict("records")):
        place = places.get(key_of(components.frame, i, columns))
        if place is None:
            continue
        residual = row["group"] == RESIDUAL
        group = group_text(str(row["group"]).split(":"), labels)
        own = (
            [] if row["term"] in (INTERCEPT, None) or row["term"] != row["term"] else row["term"].split(", ")
        )
        term = f", {' and '.join(said.get(t, labels.term(t)) for t in own)}" if own else ""
        if row["parameter"] == "variance":
            low, high = (np.sqrt(row[c]) for c in ("conf_low", "conf_high"))
            heading, value = _RESIDUAL_SD if residual else f"SD, {group}{term}", row["std_dev"]
        else:
            heading, value = f"Correlation, {group}{term}", row["estimate"]
            low, high = row["conf_low"], row["conf_high"]
        found[0].setdefault(heading, {})[place] = interval_text(value, low, high, digits, style)
        if not residual and row["share"] == row["share"]:
            share = interval_text(row["share"], row["share_low"], row["share_high"], digits, style)
            found[1].setdefault(f"Share of variance (ICC), {group}", {})[place] = share
        if not residual:
            found[2].setdefault(f"n, {group}", {})[place] = count_text(row["n_groups"])
    residuals = found[0].pop(_RESIDUAL_SD, {})
    return found[0] | {_RESIDUAL_SD: residuals} | found[1] | found[2]


def _fit_of(estimates: Estimates, fit: Estimates, single: Mapping[Place, int]) -> dict[Place, int | None]:
    """Return the row of `fit` of each model."""
    shared = [c for c in model_columns(estimates) if c in fit.frame.columns]
    rows = {key_of(fit.frame, i, shared): i for i in range(len(fit))}
    if len(rows) < len(fit):
        raise SalstatsError(
            "fit has two rows for one model; give the frame of fit_statistics of these models"
        )
    found = {place: rows.get(key_of(estimates.frame, row, shared)) for place, row in single.items()}
    if single and not any(row is not None for row in found.values()):
        raise SalstatsError(
            "fit has no row of these models; call fit_statistics with the same arguments as regress"
        )
    return found


def _statistics(
    fit: Estimates, found: Mapping[Place, int | None], n_heading: str, digits: int
) -> dict[str, dict[Place, str]]:
    """Return the statistics of each model, n among them."""
    n, linear = fit.numbers("nobs"), ~np.isnan(fit.numbers("r_squared"))
    rows = {n_heading: {p: MISSING if row is None else count_text(n[row]) for p, row in found.items()}}
    for name, heading, of_likelihood in _STATISTICS:
        values = fit.numbers(name)
        texts = [
            ""
            if np.isnan(v) or (of_likelihood and linear[i])
            else fixed_text(v, 1 if of_likelihood else digits)
            for i, v in enumerate(values)
        ]
        rows[heading] = {p: MISSING if row is None else texts[row] for p, row in found.items()}
    return rows

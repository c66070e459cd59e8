"""Which column of a regression table each model stands in, and what the columns are called."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, check_columns, check_frame, quoted
from salstats.display.tables.placement import grouping_columns, key_of
from salstats.display.text.format import MINUS
from salstats.display.text.labels import Labels
from salstats.display.text.terms import side_text, variables_in
from salstats.stats.adjust import INTERCEPT
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.linear import GAUSSIAN

Frames: TypeAlias = pd.DataFrame | Sequence[pd.DataFrame] | Mapping[str, pd.DataFrame]
#: Column with the names of frames that were given by name.
NAME = "_name"


def combine(frames: Frames, needed: Sequence[str], name: str) -> pd.DataFrame:
    """Frames one below the other, with their names, if they have any, in a column in front."""
    if isinstance(frames, pd.DataFrame):
        parts: list[tuple[Hashable, pd.DataFrame]] = [(None, frames)]
    elif isinstance(frames, Mapping):
        parts = list(frames.items())
    elif isinstance(frames, Sequence) and not isinstance(frames, str):
        parts = [(None, frame) for frame in frames]
    else:
        raise SalstatsError(
            f"{name} must be a frame, a list of frames or a mapping from names to frames, "
            f"not {type(frames).__name__}"
        )
    if not parts:
        raise SalstatsError(f"{name} holds no frame")
    named: list[pd.DataFrame] = []
    for key, frame in parts:
        check_columns(check_frame(frame, name), needed, name)
        named.append(frame if key is None else frame.assign(**{NAME: str(key)}))
    whole = pd.concat(named, ignore_index=True)
    first = [NAME] if NAME in whole.columns else []
    keys = list(dict.fromkeys(c for frame in named for c in grouping_columns(frame) if c != NAME))
    ordered = [*first, *keys, *(c for c in whole.columns if c not in (*first, *keys))]
    return whole[ordered]


@dataclass(frozen=True)
class ModelColumns:
    """Where the rows of a frame of terms stand.

    Attributes
    ----------
    of : list of int
        Column of each row of the frame.
    headings : list of tuple of str
        Labels of each column, from the outermost.
    formulas : list of str
        What "Model 1" and so on are, empty where columns are not told apart by their formula.
    """

    of: list[int]
    headings: list[tuple[str, ...]]
    formulas: list[str]


def arrange(frame: pd.DataFrame, shown: Sequence[str], groups: Sequence[str], labels: Labels) -> ModelColumns:
    """The column of each row: by name, outcome, `shown` grouping columns and gap, then formula.

    The formula only counts where two models would have the same term in one cell: models of one
    outcome with one term each share a column.
    """
    levels = _levels(frame, shown, labels)
    within = [key_of(frame, i, [*groups, "term"]) for i in range(len(frame))]
    formulas: list[str] = []
    if len(set(_cells(levels, within))) < len(frame) and "formula" in frame.columns:
        right = [side_text(str(f), labels) for f in frame["formula"]]
        formulas = list(dict.fromkeys(right))
        levels["formula"] = [f"Model {formulas.index(r) + 1}" for r in right]
    _check_cells(frame, _cells(levels, within))
    order = {level: _order(frame, level, texts, shown, labels) for level, texts in levels.items()}
    places = list(zip(*levels.values(), strict=True))
    columns = sorted(set(places), key=lambda p: [order[level][t] for level, t in zip(levels, p, strict=True)])
    said = [_is_said(frame, level, levels) for level in levels]
    headings = [tuple(text for text, is_said in zip(p, said, strict=True) if is_said) for p in columns]
    return ModelColumns([columns.index(p) for p in places], headings, formulas)


def _levels(frame: pd.DataFrame, shown: Sequence[str], labels: Labels) -> dict[str, list[str]]:
    """Each level of the headings with its text for each row, the outermost first."""
    levels = {"kind": [_kind(row) for row in frame.to_dict("records")]}
    if NAME in frame.columns:
        levels["name"] = [str(v) for v in frame[NAME]]
    if "formula" in frame.columns:
        levels["outcome"] = [_outcome(f, labels) for f in frame["formula"]]
    several = "name" not in levels or len(set(levels["name"])) > 1
    if several and len(set(levels["kind"])) == 1 == len(set(levels.get("outcome", []))):
        # one outcome is said once, with what the estimates are
        outcome, kind = levels.pop("outcome")[0], levels["kind"][0]
        levels["kind"] = [f"{outcome}, {kind[0].lower()}{kind[1:]}"] * len(frame)
    levels["source"] = [_source(frame, row, shown, labels) for row in range(len(frame))]
    return levels


def _cells(levels: Mapping[str, list[str]], within: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """What says in which cell each row stands: its column, group and term."""
    return [(*place, *rest) for *place, rest in zip(*levels.values(), within, strict=True)]


def _check_cells(frame: pd.DataFrame, cells: list[tuple[str, ...]]) -> None:
    """Raise where two rows stand in one cell."""
    seen: dict[tuple[str, ...], int] = {}
    for i, cell in enumerate(cells):
        if cell in seen:
            raise SalstatsError(
                f"two estimates in one cell: term {frame['term'].iloc[i]!r} of rows {seen[cell]} and {i} "
                f"({', '.join(part for part in cell[1:] if part)}); keep one of them, or name the frames "
                "as in {'Model 1': terms, ...}"
            )
        seen[cell] = i


def _kind(row: Mapping[Hashable, object]) -> str:
    """What an estimate of a row is."""
    link = FAMILIES.get(str(row.get("family")), GAUSSIAN).link
    return link.ratio if row.get("exponentiated") in (True, 1) else link.effect


def _outcome(formula: object, labels: Labels) -> str:
    """The left side of a formula in labels."""
    return labels.term(str(formula).partition("~")[0].strip())


def _source(frame: pd.DataFrame, row: int, shown: Sequence[str], labels: Labels) -> str:
    """The values of the columns shown, a method with a reference as their difference."""
    texts = []
    for column in shown:
        value = frame[column].iloc[row]
        if value != value or value is None:
            continue
        text = labels.value(column, value)
        if column == "method" and _gaps(frame)[row]:
            text = f"{labels.value('reference', frame['reference'].iloc[row])} {MINUS} {text}"
        texts.append(text)
    return ", ".join(texts)


def _gaps(frame: pd.DataFrame) -> np.ndarray:
    """Which rows are of models of the gap reference - method."""
    if "reference" not in frame.columns:
        return np.zeros(len(frame), dtype=bool)
    return np.asarray(frame["reference"].notna())


def _order(
    frame: pd.DataFrame, level: str, texts: list[str], shown: Sequence[str], labels: Labels
) -> dict[str, int]:
    """The place of each text of a level: methods as labels have them, else as they come."""
    if level != "source":
        return {text: i for i, text in enumerate(dict.fromkeys(texts))}
    ranks = [labels.categorical(frame, c).codes for c in shown]
    gaps = _gaps(frame)
    keys = [(bool(gaps[i]), *(int(r[i]) for r in ranks)) for i in range(len(frame))]
    first = dict(sorted(zip(texts, keys, strict=True), key=lambda pair: pair[1]))
    return {text: i for i, text in enumerate(first)}


def _is_said(frame: pd.DataFrame, level: str, levels: Mapping[str, list[str]]) -> bool:
    """Whether a level stands in the headings: what tells columns apart, and the outcome."""
    texts = levels[level]
    if level == "outcome" and "name" in levels:
        return len(set(zip(levels["name"], texts, strict=True))) > len(set(levels["name"]))
    return level != "source" or len(set(texts)) > 1 or bool(_gaps(frame).any())


def terms_shown(frame: pd.DataFrame, keep: Sequence[str] | None, intercept: bool) -> list[str]:
    """The terms that are shown, in the frame's order or that of `keep`."""
    terms = [str(t) for t in dict.fromkeys(frame["term"])]
    if keep is not None:
        wanted = [keep] if isinstance(keep, str) else list(keep)
        unknown = [t for t in wanted if t not in terms]
        if unknown:
            raise ColumnError(f"keep names {unknown[0]!r}, which is no term of the models: {quoted(terms)}")
        return wanted
    return [t for t in terms if t != INTERCEPT or intercept]


def hidden_variables(frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """The variables of each formula that none of its rows is a term of."""
    if "formula" not in frame.columns:
        return {}
    hidden = {}
    for formula, rows in frame.groupby("formula", sort=False):
        shown = variables_in(str(formula), rows["term"].astype(str).tolist())
        hidden[str(formula)] = tuple(c for c in variables_in(str(formula)) if c not in shown)
    return hidden


def model_columns(frame: pd.DataFrame) -> list[str]:
    """The columns that tell models apart."""
    others = [c for c in ("reference", "formula") if c in frame.columns]
    return [*grouping_columns(frame), *others]

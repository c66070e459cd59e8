"""Plans in print: what a curve of power is called, and the sentence of a Methods section."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from salstats.checks import check_columns, check_frame
from salstats.display.text.format import MINUS, count_text, counted, fixed_text, joined, level_text
from salstats.display.text.labels import Labels
from salstats.display.text.margins import span_text
from salstats.display.text.vocabulary import TERMS
from salstats.stats.intervals import find_interval
from salstats.stats.paired_tests import RECORDS as TESTS

#: What a plan must have; what stands before `term` are the grouping columns.
NEEDED = ("term", "goal", "n_cases", "power", "width", "target", "n_needed", "level", "approach")
#: What is said where no number is enough.
NONE = "none"
#: Columns that tell curves apart, beside the grouping columns.
_OF_CURVE = ("n_readers", "effect")


def check_plan(plan: object) -> pd.DataFrame:
    """A frame of `power`, with a default index."""
    frame = check_frame(plan, "plan")
    check_columns(frame, NEEDED, "plan", "power() makes the frame")
    return frame.reset_index(drop=True)


def grouping_of(plan: pd.DataFrame) -> list[str]:
    """Grouping columns of a plan, but the reference."""
    before = list(plan.columns[: list(plan.columns).index("term")])
    return [str(c) for c in before if c != "reference"]


def curves_of(plan: pd.DataFrame) -> list[pd.DataFrame]:
    """Rows of each curve, in the plan's order."""
    keys = [*grouping_of(plan), *(c for c in _OF_CURVE if c in plan.columns)]
    return [rows for _, rows in plan.groupby(keys, sort=False)] if keys else [plan]


def effect_text(value: float, term: object) -> str:
    """An effect with its sign, a decrease in percent."""
    return f"{value:.6g}".replace("-", MINUS) + ("%" if term == "percent_decrease" else "")


def curve_text(rows: pd.DataFrame, plan: pd.DataFrame) -> str:
    """What tells a curve from others of its group: "6 readers, effect −0.05"; "" where nothing does."""
    first, texts = rows.iloc[0], []
    if "n_readers" in plan.columns and plan["n_readers"].nunique() > 1:
        texts.append(counted(int(first["n_readers"]), "reader"))
    if "effect" in plan.columns and plan["effect"].nunique() > 1:
        texts.append(f"effect {effect_text(first['effect'], first['term'])}")
    return ", ".join(texts)


def needed_text(rows: pd.DataFrame) -> str:
    """How many cases a curve needs: "41"; "> 300" or "≤ 10" where none or all of those planned are enough."""
    needed = rows["n_needed"].iloc[0]
    if pd.isna(needed):
        if rows["approach"].iloc[0] == "formula":
            return NONE
        return f"> {count_text(rows['n_cases'].max())}"
    first = rows.loc[rows["n_cases"].astype("int64").idxmin()]
    enough = (
        first["approach"] == "simulation" and needed >= first["n_cases"] and first["power"] > first["target"]
    )
    return f"≤ {count_text(needed)}" if enough and needed == first["n_cases"] else count_text(needed)


def power_sentence(plan: pd.DataFrame, *, labels: Mapping[str, Any] | Labels | None = None) -> str:
    """One sentence for a Methods section: what was planned for, how, and the cases that are needed.

    Parameters
    ----------
    plan : DataFrame
        A frame of `power`.
    labels : Mapping, optional
        Labels of metrics, tasks and methods.

    Returns
    -------
    str
        With the needed cases of every effect, number of readers and group.

    Raises
    ------
    ColumnError
        A column of `power` is missing.

    Examples
    --------
    >>> import salstats as ss
    >>> plan = ss.power({"sd": 0.2, "correlation": 0.5}, effect=-0.05)
    >>> ss.power_sentence(plan).partition(" at a ")[0]
    'The number of cases was planned for 80% power to show a difference in mean score of −0.05'
    """
    frame = check_plan(plan)
    names, first, curves = Labels(labels, frame), frame.iloc[0], curves_of(frame)
    term = "percent_decrease" if first["term"] == "percent_decrease" else "difference"
    what = TERMS["auroc_difference" if first.get("figure") == "auc" else term].noun
    if "metric" in frame.columns and frame["metric"].nunique() == 1:
        what = what.replace("score", names.value("metric", first["metric"]))
    what += ", averaged over readers," if first["term"] == "mrmc" else ""
    needs: dict[bool, list[str]] = {True: [], False: []}
    for rows in curves:
        which = "" if len(curves) == 1 else _which(rows, frame, names)
        known = needed_text(rows) != NONE
        needs[known].append(
            f"{_cases(rows, frame)}{which}" if known else f"no number of cases is enough{which}"
        )
    said = [f"{joined(needs[True])} are needed"] if needs[True] else []
    said += [joined(needs[False])] if needs[False] else []
    return f"The number of cases was planned for {_goal(frame, what)}, {_how(frame)}: {'; '.join(said)}."


def _goal(plan: pd.DataFrame, what: str) -> str:
    """What studies are to show, and how often."""
    first = plan.iloc[0]
    target, alpha = f"{level_text(first['target'])}%", f"{1 - first['level']:.6g}"
    effects = plan["effect"].unique() if "effect" in plan.columns else []
    effect = effect_text(effects[0], first["term"]) if len(effects) == 1 else ""
    if first["goal"] == "width":
        interval = f"a {level_text(first['level'])}% interval of the {what}".removesuffix(",")
        widest = effect_text(first["widest"], first["term"])
        return f"{target} of studies to have {interval} no wider than {widest}"
    if first["goal"] == "margin":
        span = span_text(
            first["margin_low"], first["margin_high"], "%" if first["term"] == "percent_decrease" else ""
        )
        where = f" if it is {effect}" if effect else ""
        return f"{target} power to show that the {what} lies {span}{where}, at a one-sided level of {alpha}"
    of = f" of {effect}" if effect else ""
    return f"{target} power to show a {what}{of} at a two-sided level of {alpha}"


def _cases(rows: pd.DataFrame, plan: pd.DataFrame) -> str:
    """Cases that a curve needs, and how many units these are."""
    first, needed = rows.iloc[0], rows["n_needed"].iloc[0]
    text = needed_text(rows).replace("> ", "more than ").replace("≤ ", "at most ") + " cases"
    if pd.isna(needed) or "unit" not in plan.columns or first["unit"] == "case":
        return text
    return f"{text} ({counted(round(int(needed) * first['n_units'] / first['n_cases']), str(first['unit']))})"


def _which(rows: pd.DataFrame, plan: pd.DataFrame, names: Labels) -> str:
    """Words " with 6 readers for Grad-CAM" that tell a curve from others."""
    first, of = rows.iloc[0], curve_text(rows, plan)
    groups = [names.value(c, first[c]) for c in grouping_of(plan) if plan[c].nunique() > 1]
    return (f" with {of}" if of else "") + (f" for {', '.join(groups)}" if groups else "")


def _how(plan: pd.DataFrame) -> str:
    """Where the power is from."""
    first = plan.iloc[0]
    speaks_of = plan["inference_to"].dropna().unique() if "inference_to" in plan.columns else []
    speaks = f", speaking of {joined(speaks_of)}" if len(speaks_of) else ""
    if first["approach"] == "formula":
        if first["term"] == "mrmc":
            return f"by Hillis' noncentral F distribution{speaks}"
        return f"by the {'chi-squared' if first['goal'] == 'width' else 'noncentral t'} distribution{speaks}"
    taken = find_interval(first["interval"]) if first["goal"] == "width" else TESTS.get(str(first["test"]))
    error = fixed_text(100 * plan["mc_error"].max(), 1)
    analysis = f"{taken.label}; " if taken else ""
    return (
        f"by {count_text(first['n_studies'])} studies of each size that were drawn from a pilot and analysed "
        f"as this one ({analysis}Monte-Carlo standard error at most {error} percentage points){speaks}"
    )

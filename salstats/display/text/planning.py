"""Plans in print: what a curve of power is called, and the sentence of a Methods section."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from salstats.checks import check_columns, check_frame
from salstats.display.text.format import (
    MINUS,
    count_text,
    counted,
    fixed_text,
    joined,
    level_text,
    noun,
)
from salstats.display.text.labels import Labels
from salstats.display.text.margins import span_text
from salstats.display.text.vocabulary import TERMS
from salstats.stats.engine.intervals import find_interval
from salstats.stats.engine.paired_tests import RECORDS as TESTS
from salstats.stats.planning.spreads import LIMITS_LEVEL

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


def limits_text(rows: pd.DataFrame) -> str:
    """Limits of the cases that a curve needs: "67 to 152", "67 or more"; "" where the spread is given."""
    if "n_low" not in rows.columns:
        return ""
    low, high = rows["n_low"].iloc[0], rows["n_high"].iloc[0]
    if pd.isna(low):
        return ""
    if pd.isna(high):
        return f"{count_text(low)} or more"
    return f"{count_text(low)} to {count_text(high)}"


def has_several_tests(plan: pd.DataFrame) -> bool:
    """Whether rows were planned for different tests."""
    return "test" in plan.columns and plan["test"].nunique() > 1


def label_of_test(test: object) -> str:
    """Name of a test in print."""
    record = TESTS.get(str(test))
    return str(test) if record is None else record.label


def power_sentence(plan: pd.DataFrame, *, labels: Mapping[str, Any] | Labels | None = None) -> str:
    """One sentence for a Methods section: what was planned for, how, and the cases that are needed.

    It says what was assumed (the pilot's SD, moved to the effect), and between which limits the needed cases
    lie as the pilot's SD is uncertain.

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
    uncertain = ""
    if any(limits_text(rows) for rows in curves):
        uncertain = "; the limits follow from the error of the pilot's spread"
    plan_text = f"The number of cases was planned for {_goal(frame, what)}, {_how(frame)}"
    return f"{plan_text}: {'; '.join(said)}{uncertain}."


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
    details = []
    if pd.notna(needed) and "unit" in plan.columns and first["unit"] != "case":
        n_units = round(int(needed) * first["n_units"] / first["n_cases"])
        details.append(counted(n_units, str(first["unit"])))
    if limits := limits_text(rows):
        details.append(f"{level_text(LIMITS_LEVEL)}% limits {limits}" + (" cases" if details else ""))
    if has_several_tests(plan):
        details.append(label_of_test(_planned_test(rows)))
    return f"{text} ({'; '.join(details)})" if details else text


def _planned_test(rows: pd.DataFrame) -> object:
    """Test of the size of a curve that is nearest to the cases that it needs."""
    needed = rows["n_needed"].iloc[0]
    sizes = rows["n_cases"].astype("float64")
    nearest = sizes.idxmax() if pd.isna(needed) else (sizes - needed).abs().idxmin()
    return rows.loc[nearest, "test"]


def _which(rows: pd.DataFrame, plan: pd.DataFrame, names: Labels) -> str:
    """Words " with 6 readers for Grad-CAM" that tell a curve from others."""
    first, of = rows.iloc[0], curve_text(rows, plan)
    groups = [names.value(c, first[c]) for c in grouping_of(plan) if plan[c].nunique() > 1]
    return (f" with {of}" if of else "") + (f" for {', '.join(groups)}" if groups else "")


def _how(plan: pd.DataFrame) -> str:
    """Where the power is from, and what it assumes."""
    first = plan.iloc[0]
    spread = _spread(plan) or " from a pilot"
    speaks_of = plan["inference_to"].dropna().unique() if "inference_to" in plan.columns else []
    speaks = f", speaking of {joined(speaks_of)}" if len(speaks_of) else ""
    if first["approach"] == "formula":
        if first["term"] == "mrmc":
            return f"by Hillis' noncentral F distribution{speaks}"
        distribution = "chi-squared" if first["goal"] == "width" else "noncentral t"
        return f"by the {distribution} distribution{_spread(plan)}{speaks}"
    taken = find_interval(first["interval"]) if first["goal"] == "width" else TESTS.get(str(first["test"]))
    error = fixed_text(100 * plan["mc_error"].max(), 1)
    analysis = f"{taken.label}; " if taken and not has_several_tests(plan) else ""
    return (
        f"by {count_text(first['n_studies'])} studies of each size that were drawn{spread}, and "
        f"analysed as this one ({analysis}Monte-Carlo standard error at most {error} percentage "
        f"points){speaks}"
    )


def _spread(plan: pd.DataFrame) -> str:
    """Words that say which spread was assumed, and that it was kept with another effect."""
    if "sd" not in plan.columns:
        return ""
    sd = _sd_text(plan)
    if "n_pilot" not in plan.columns:
        return f" with an SD of {sd}" if sd else ""
    value = f" (SD {sd})" if sd else ""
    if "method_mean" not in plan.columns:
        return f" with the spread of {_pilot_text(plan)}{value}"
    moved = f"{_pilot_text(plan)} whose differences were moved to the effect and keep their spread{value}"
    return f" from {moved}"


def spread_note(plan: pd.DataFrame) -> str:
    """Sentence of a caption that says which spread was assumed; "" where it is that of readers."""
    if "sd" not in plan.columns:
        return ""
    sd = _sd_text(plan)
    if "n_pilot" not in plan.columns:
        return f"SD: {sd}." if sd else ""
    value = f", {sd}" if sd else ""
    return f"SD as in {_pilot_text(plan)}{value}."


def _sd_text(plan: pd.DataFrame) -> str:
    """SD of a unit's part of the estimate: "0.176 per patient"; "" where curves have their own."""
    if plan["sd"].nunique() > 1:
        return ""
    first = plan.iloc[0]
    percent = "%" if first["term"] == "percent_decrease" else ""
    return f"{first['sd']:.3g}{percent} per {noun(str(first['unit']))}"


def _pilot_text(plan: pd.DataFrame) -> str:
    """A pilot with its size: "a pilot of 64 patients"."""
    if plan["n_pilot"].nunique() > 1:
        return "a pilot"
    return f"a pilot of {counted(plan['n_pilot'].iloc[0], str(plan['unit'].iloc[0]))}"

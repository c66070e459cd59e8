"""Names of the curves of power in print, and the sentence of a Methods section on a planned study."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from salstats.checks import check_columns, check_frame, quoted
from salstats.display.text.format import (
    MINUS,
    count_text,
    counted,
    fixed_text,
    joined,
    level_text_without_percent_sign,
    noun_of_identifier,
)
from salstats.display.text.labels import Labels
from salstats.display.text.margins import within_above_or_below_phrase
from salstats.display.text.vocabulary import TERMS
from salstats.errors import Call, Message, SalstatsError
from salstats.stats.engine.intervals import interval_by_name
from salstats.stats.engine.paired_tests import RECORDS as TESTS
from salstats.stats.planning.spreads import LIMITS_LEVEL

#: Columns that a plan must have; the columns before `term` are the grouping columns.
REQUIRED_COLUMNS = ("term", "goal", "n_cases", "power", "width", "target", "n_needed", "level", "approach")
#: Columns of `power` that a plan may lack.
_OPTIONAL_COLUMNS = (
    "n_readers", "effect", "test", "unit", "inference_to", "sd", "n_pilot", "method_mean", "n_low", "n_high",
)  # fmt: skip
#: Text in the place of a number of cases where no number of cases is enough.
NO_SUFFICIENT_NUMBER = "none"
#: Columns that one call of `power` gives one value.
_COLUMNS_WITH_ONE_VALUE = ("term", "goal", "target", "level")
#: Columns that tell curves apart, besides the grouping columns.
_CURVE_COLUMNS = ("n_readers", "effect")


def checked_plan_with_all_columns(plan: object) -> pd.DataFrame:
    """Return a frame of `power` with all of its columns, optional ones that it lacks without values.

    Raises
    ------
    ColumnError
        A required column is missing.
    SalstatsError
        Rows have different goals, which no sentence or figure can show together.
    """
    frame = check_frame(plan, "plan")
    check_columns(frame, REQUIRED_COLUMNS, "plan", "power() makes the frame")
    for column in _COLUMNS_WITH_ONE_VALUE:
        values = frame[column].unique()
        if len(values) > 1:
            raise SalstatsError(
                f"plan has several values in column {column!r}: {quoted(values)}",
                hint=Message("show the plan of each call of ", Call("power"), " by itself"),
                option="plan",
                column=column,
                choices=map(str, values),
            )
    added = [column for column in _OPTIONAL_COLUMNS if column not in frame.columns]
    return frame.reset_index(drop=True).reindex(columns=[*frame.columns, *added])


def grouping_columns_of_plan(plan: pd.DataFrame) -> list[str]:
    """Return the grouping columns of a plan, except the reference."""
    columns = [str(column) for column in plan.columns]
    grouping_columns = columns[: columns.index("term")]
    return [column for column in grouping_columns if column != "reference"]


def rows_of_each_curve(plan: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of each curve of power by number of cases, in the plan's order."""
    keys = [*grouping_columns_of_plan(plan), *_CURVE_COLUMNS]
    return [rows for _, rows in plan.groupby(keys, sort=False, dropna=False)]


def effect_text(value: float, term: object) -> str:
    """Return an effect, or the width of its interval, as text: "−0.05", "5%" for a decrease."""
    number = f"{value:.6g}".replace("-", MINUS)
    return f"{number}{_percent_sign(term)}"


def _percent_sign(term: object) -> str:
    """Return "%" for a decrease, which is in percent, "" for other terms."""
    return "%" if term == "percent_decrease" else ""


def readers_and_effect_text_of_curve(rows: pd.DataFrame, plan: pd.DataFrame) -> str:
    """Return the properties in which a curve differs from others of its group: "6 readers, effect −0.05"."""
    first = rows.iloc[0]
    texts = []
    if plan["n_readers"].nunique() > 1:
        texts.append(counted(int(first["n_readers"]), "reader"))
    if plan["effect"].nunique() > 1:
        texts.append(f"effect {effect_text(first['effect'], first['term'])}")
    return ", ".join(texts)


def needed_case_count_text(rows: pd.DataFrame) -> str:
    """Return the number of cases that a curve needs: "41".

    "> 300" where none of the planned numbers is enough, "≤ 10" where all are, "none" where a formula gives
    no number.
    """
    n_needed = rows["n_needed"].iloc[0]
    if pd.isna(n_needed):
        if rows["approach"].iloc[0] == "formula":
            return NO_SUFFICIENT_NUMBER
        return f"> {count_text(rows['n_cases'].max())}"
    smallest_row = int(rows["n_cases"].astype("int64").argmin())
    smallest = rows.iloc[smallest_row]
    is_smallest = n_needed == smallest["n_cases"]
    is_simulated = smallest["approach"] == "simulation"
    if is_smallest and is_simulated and smallest["power"] > smallest["target"]:
        # fewer cases than the simulated ones may be enough
        return f"≤ {count_text(n_needed)}"
    return count_text(n_needed)


def n_cases_needed_limits_text(rows: pd.DataFrame) -> str:
    """Return limits of the cases that a curve needs: "67 to 152", "67 or more"; "" if there are none."""
    low = rows["n_low"].iloc[0]
    high = rows["n_high"].iloc[0]
    if pd.isna(low):
        return ""
    if pd.isna(high):
        return f"{count_text(low)} or more"
    return f"{count_text(low)} to {count_text(high)}"


def rows_differ_in_test(plan: pd.DataFrame) -> bool:
    """Return whether rows were planned for different tests."""
    return bool(plan["test"].nunique() > 1)


def label_of_test(test: object) -> str:
    """Return the name of a test in print."""
    record = TESTS.get(str(test))
    if record is None:
        return str(test)
    return record.label


def power_sentence(plan: pd.DataFrame, *, labels: Mapping[str, Any] | Labels | None = None) -> str:
    """Return one sentence for a Methods section: the goal of a plan, its method, and the cases it needs.

    The sentence names the assumed spread, such as the pilot's SD, and limits of the number of cases that
    follow from the uncertainty of that SD.

    Parameters
    ----------
    plan : DataFrame
        A frame of `power`.
    labels : Mapping, optional
        Labels of metrics, tasks and methods.

    Returns
    -------
    str
        It has the number of cases for every effect, number of readers and group.

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
    frame = checked_plan_with_all_columns(plan)
    names = Labels(labels, frame)
    curves = rows_of_each_curve(frame)
    cases = []
    without_number = []
    for rows in curves:
        curve_phrase = ""
        if len(curves) > 1:
            curve_phrase = _phrase_distinguishing_curve(rows, frame, names)
        if needed_case_count_text(rows) == NO_SUFFICIENT_NUMBER:
            without_number.append(f"no number of cases is enough{curve_phrase}")
        else:
            cases.append(f"{_needed_cases_phrase(rows, frame)}{curve_phrase}")
    clauses = []
    if cases:
        clauses.append(f"{joined(cases)} are needed")
    if without_number:
        clauses.append(joined(without_number))
    if any(n_cases_needed_limits_text(rows) for rows in curves):
        clauses.append("the limits follow from the error of the pilot's spread")
    goal = _goal_phrase(frame, _effect_name(frame, names))
    return f"The number of cases was planned for {goal}, {_approach_phrase(frame)}: {'; '.join(clauses)}."


def _effect_name(plan: pd.DataFrame, names: Labels) -> str:
    """Return the name of the effect that a plan is for: "difference in mean IoU"."""
    first = plan.iloc[0]
    if first.get("figure") == "auc":
        term = "auroc_difference"
    elif first["term"] == "percent_decrease":
        term = "percent_decrease"
    else:
        term = "difference"
    name = TERMS[term].noun
    if "metric" in grouping_columns_of_plan(plan) and plan["metric"].nunique() == 1:
        name = name.replace("score", names.value("metric", first["metric"]))
    if first["term"] == "mrmc":
        name += ", averaged over readers,"
    return name


def _goal_phrase(plan: pd.DataFrame, effect_name: str) -> str:
    """Return the goal of a plan and the share of studies that reach it: "80% power to show ..."."""
    first = plan.iloc[0]
    target = f"{level_text_without_percent_sign(first['target'])}%"
    if first["goal"] == "width":
        # the name may end with the comma of an insertion: "difference, averaged over readers,"
        name = effect_name.removesuffix(",")
        interval = f"a {level_text_without_percent_sign(first['level'])}% interval of the {name}"
        widest = effect_text(first["widest"], first["term"])
        return f"{target} of studies to have {interval} no wider than {widest}"
    alpha = f"{1 - first['level']:.6g}"
    effect = ""
    if plan["effect"].nunique() == 1 and plan["effect"].notna().all():
        effect = effect_text(first["effect"], first["term"])
    if first["goal"] == "margin":
        margin = within_above_or_below_phrase(
            first["margin_low"], first["margin_high"], _percent_sign(first["term"])
        )
        statement = f"the {effect_name} lies {margin}"
        if effect:
            statement += f" if it is {effect}"
        return f"{target} power to show that {statement}, at a one-sided level of {alpha}"
    difference = f"a {effect_name}"
    if effect:
        difference += f" of {effect}"
    return f"{target} power to show {difference} at a two-sided level of {alpha}"


def _needed_cases_phrase(curve_rows: pd.DataFrame, plan: pd.DataFrame) -> str:
    """Return the cases that a curve needs, with their units, limits and test: "41 cases (20 patients)"."""
    first = curve_rows.iloc[0]
    n_needed = first["n_needed"]
    number = needed_case_count_text(curve_rows).replace("> ", "more than ").replace("≤ ", "at most ")
    text = f"{number} cases"
    details = []
    if pd.notna(n_needed) and pd.notna(first["unit"]) and first["unit"] != "case":
        n_units = round(int(n_needed) * first["n_units"] / first["n_cases"])
        details.append(counted(n_units, str(first["unit"])))
    limits = n_cases_needed_limits_text(curve_rows)
    if limits:
        limits_detail = f"{level_text_without_percent_sign(LIMITS_LEVEL)}% limits {limits}"
        if details:
            # after the number of units
            limits_detail += " cases"
        details.append(limits_detail)
    if rows_differ_in_test(plan):
        details.append(label_of_test(_test_at_needed_cases(curve_rows)))
    if not details:
        return text
    return f"{text} ({'; '.join(details)})"


def _test_at_needed_cases(rows: pd.DataFrame) -> object:
    """Return the test of the planned number of cases that is nearest to the number that a curve needs."""
    n_needed = rows["n_needed"].iloc[0]
    n_cases = rows["n_cases"].astype("float64")
    if pd.isna(n_needed):
        # no planned number is enough: the largest one is the nearest
        n_needed = n_cases.max()
    nearest = (n_cases - n_needed).abs().argmin()
    return rows["test"].iloc[int(nearest)]


def _phrase_distinguishing_curve(rows: pd.DataFrame, plan: pd.DataFrame, names: Labels) -> str:
    """Return the properties in which a curve differs from all others: " with 6 readers for Grad-CAM"."""
    first = rows.iloc[0]
    varying = [column for column in grouping_columns_of_plan(plan) if plan[column].nunique() > 1]
    groups = [names.value(column, first[column]) for column in varying]
    text = readers_and_effect_text_of_curve(rows, plan)
    phrase = ""
    if text:
        phrase = f" with {text}"
    if groups:
        phrase += f" for {', '.join(groups)}"
    return phrase


def _approach_phrase(plan: pd.DataFrame) -> str:
    """Return the computation of power and its assumptions: "by the noncentral t distribution ..."."""
    first = plan.iloc[0]
    populations = list(plan["inference_to"].dropna().unique())
    inference = ""
    if populations:
        inference = f", speaking of {joined(populations)}"
    spread = _assumed_spread_clause(plan)
    if first["approach"] == "formula":
        if first["term"] == "mrmc":
            return f"by Hillis' noncentral F distribution{inference}"
        distribution = "noncentral t"
        if first["goal"] == "width":
            distribution = "chi-squared"
        return f"by the {distribution} distribution{spread}{inference}"
    error = fixed_text(100 * plan["mc_error"].max(), 1)
    details = f"Monte-Carlo standard error at most {error} percentage points"
    analysis = _label_of_interval_or_test_used(plan)
    if analysis:
        details = f"{analysis}; {details}"
    return (
        f"by {count_text(first['n_studies'])} studies of each size that were drawn"
        f"{spread or ' from a pilot'}, and analysed as this one ({details}){inference}"
    )


def _label_of_interval_or_test_used(plan: pd.DataFrame) -> str:
    """Return the interval or the test of simulated studies, "" where rows have different tests."""
    if rows_differ_in_test(plan):
        return ""
    first = plan.iloc[0]
    if first["goal"] == "width":
        interval = interval_by_name(first["interval"])
        return "" if interval is None else interval.label
    test = TESTS.get(str(first["test"]))
    return "" if test is None else test.label


def _assumed_spread_clause(plan: pd.DataFrame) -> str:
    """Return the assumed spread as the end of a clause: " with the spread of a pilot of 64 patients".

    Where studies are drawn from a pilot, its differences are moved to the planned effect and keep their
    spread.
    """
    if plan["sd"].isna().all():
        return ""
    sd = _sd_text_if_same_in_all_curves(plan)
    has_pilot = plan["n_pilot"].notna().any()
    if not has_pilot:
        return f" with an SD of {sd}" if sd else ""
    sd_text = ""
    if sd:
        sd_text = f" (SD {sd})"
    are_differences_moved = plan["method_mean"].notna().any()
    if are_differences_moved:
        pilot = _pilot_phrase(plan)
        return f" from {pilot} whose differences were moved to the effect and keep their spread{sd_text}"
    return f" with the spread of {_pilot_phrase(plan)}{sd_text}"


def assumed_sd_note(plan: pd.DataFrame) -> str:
    """Return the assumed spread as a sentence of a caption; "" for the spread between readers."""
    if plan["sd"].isna().all():
        return ""
    sd = _sd_text_if_same_in_all_curves(plan)
    has_pilot = plan["n_pilot"].notna().any()
    if not has_pilot:
        return f"SD: {sd}." if sd else ""
    if not sd:
        return f"SD as in {_pilot_phrase(plan)}."
    return f"SD as in {_pilot_phrase(plan)}, {sd}."


def _sd_text_if_same_in_all_curves(plan: pd.DataFrame) -> str:
    """Return the SD between units: "0.176 per patient"; "" where curves have their own."""
    if plan["sd"].nunique() > 1:
        return ""
    first = plan.iloc[0]
    return f"{first['sd']:.3g}{_percent_sign(first['term'])} per {noun_of_identifier(str(first['unit']))}"


def _pilot_phrase(plan: pd.DataFrame) -> str:
    """Return "a pilot of 64 patients", or "a pilot" where rows have pilots of other sizes or none."""
    if plan["n_pilot"].nunique(dropna=False) > 1:
        return "a pilot"
    return f"a pilot of {counted(plan['n_pilot'].iloc[0], str(plan['unit'].iloc[0]))}"

"""The flow of cases as a diagram in the manner of STARD: boxes, arrows, exclusions at the right."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotnine as p9

from salstats.checks import ColumnError, SalstatsError, ValueRangeError, check_columns, check_frame
from salstats.display.plots.flow_sheet import Line, Sheet
from salstats.display.plots.theme import COLUMN_MM
from salstats.display.text.format import count_text, counted, joined, plural
from salstats.display.text.labels import Labels
from salstats.stats.carried import ABSENT, UNDEFINED
from salstats.stats.case_flow import DEFINED, FILE, NO_ROW, OF_REFERENCE, PAIRS, ROWS

_COLUMNS = ("step", "stage", "method", "reason", "excluded", "unit", "n_cases", "n_units", "n_rows")
#: Room for the line that leads from the file to several groups, and between groups side by side.
_BUS_MM, _BETWEEN_MM = 6.0, 4.0
#: Groups of branches, and methods, that still make a diagram one can read.
_MOST_GROUPS, _MOST_METHODS = 12, 30
_NARROWEST_MM = 80.0
_WORDS = {NO_ROW: "No row in the file", ABSENT: "Finding absent", UNDEFINED: "Reason not given"}


def plot_flow(
    flow: pd.DataFrame, *, labels: Mapping[str, Any] | Labels | None = None, width: float = COLUMN_MM
) -> p9.ggplot:
    """Flow diagram of cases and scores, with what is excluded and why.

    From the file a line leads to each metric (metrics with the same numbers share theirs), and down to the
    scores that are defined and the pairs with the reference; in each box is a line per method, where the
    methods' numbers differ. What is excluded stands at the right, by reason.

    Parameters
    ----------
    flow : DataFrame
        What `case_flow` returns.
    labels : Mapping, optional
        Labels and order of methods, metrics and reasons: `{"undefined": "Model output lost"}`.
    width : float
        Width in mm that the text is wrapped for, 80 at least. The figure may be saved wider than that, and
        not narrower.

    Returns
    -------
    ggplot
        As wide as `width` and as high as its text.

    Raises
    ------
    ColumnError
        A column that `case_flow` makes is missing.
    SalstatsError
        No row for the file; more than 12 groups of branches with different numbers, or 30 methods.
    ValueRangeError
        A width below 80 mm.

    Examples
    --------
    >>> import salstats as ss
    >>> flow = ss.case_flow(ss.datasets.load_simulated(), reference="human")
    >>> type(ss.plot_flow(flow)).__name__
    'ggplot'
    """
    check_columns(check_frame(flow, "flow"), _COLUMNS, "flow")
    if not width >= _NARROWEST_MM:
        raise ValueRangeError(f"width must be at least {_NARROWEST_MM:.0f} mm, not {width!r}")
    file = flow[flow["stage"] == FILE]
    if len(file) != 1:
        raise SalstatsError(
            f"flow has {len(file)} rows of stage 'file' where it must have one; use case_flow()"
        )
    if not pd.api.types.is_bool_dtype(flow["excluded"]):
        raise ColumnError("column 'excluded' of flow must hold True and False; use case_flow()")
    names = Labels(labels, flow)
    groups = _groups(flow[flow["stage"] != FILE], names)
    n_methods = max((group["method"].nunique() for _, group in groups), default=0)
    if len(groups) > _MOST_GROUPS or n_methods > _MOST_METHODS:
        raise SalstatsError(
            f"flow has {len(groups)} groups of branches with up to {n_methods} methods; a diagram holds "
            f"{_MOST_GROUPS} groups of {_MOST_METHODS} methods: keep some of them, or take by='metric'"
        )
    sheet = Sheet(0.0, width - 2.0)
    sheet.box(_file_lines(file.iloc[0], flow, names))
    _draw_groups(sheet, groups, file.iloc[0], names)
    if _counts_scores(flow):
        unit = plural(_noun(str(file["unit"].iloc[0]), names))
        whose = "Cases" if unit == "cases" else f"Cases and {unit}"
        sheet.note(f"{whose} are counted as long as one of their scores is left.")
    return sheet.figure(width)


def _groups(branches: pd.DataFrame, names: Labels) -> list[tuple[str, pd.DataFrame]]:
    """Branches by what groups them beside the method; groups with the same numbers are one."""
    places = list(branches.columns)
    columns = [c for c in places[2 : places.index("reason")] if c not in ("method", "reference")]
    if not columns:
        return [("", branches)] if len(branches) else []
    order = [names.order(c, branches[c]) for c in columns]
    by_key = dict(list(branches.groupby(columns, sort=False, dropna=False)))
    found: list[tuple[list[str], pd.DataFrame]] = []
    for key in sorted(by_key, key=lambda key: [o.index(v) for o, v in zip(order, key, strict=True)]):
        numbers = by_key[key].drop(columns=columns).reset_index(drop=True)
        title = ", ".join(names.value(c, v) for c, v in zip(columns, key, strict=True))
        same = next((titles for titles, other in found if other.equals(numbers)), None)
        if same is None:
            found.append(([title], numbers))
        else:
            same.append(title)
    return [(_together(titles), numbers) for titles, numbers in found]


def _together(titles: list[str]) -> str:
    """Titles of groups that have the same numbers."""
    text = "; ".join(titles) if any(", " in title for title in titles) else joined(titles)
    return f"{text} (each)" if len(titles) > 1 else text


def _file_lines(file: pd.Series, flow: pd.DataFrame, names: Labels) -> list[Line]:
    """Lines of the box of what is in the file."""
    counts = [(file[column], noun) for column, noun in _counted(file, names).items()]
    counts += [(file["n_tasks"], "task")] if "n_tasks" in flow.columns else []
    counts += [(flow[c].nunique(), c) for c in ("task", "method", "metric") if c in flow.columns]
    parts = [_amount(n, noun) for n, noun in counts]
    return [Line("In the file", bold=True), Line(f"{joined(parts)}; {_amount(file['n_rows'], 'score')}")]


def _draw_groups(
    sheet: Sheet, groups: list[tuple[str, pd.DataFrame]], file: pd.Series, names: Labels
) -> None:
    """Draw the groups of branches, beside one another where there is room, else below one another."""
    n_columns = max(1, min(len(groups), int((sheet.right - sheet.left + 2) // COLUMN_MM)))
    start, left, right = sheet.y, sheet.left, sheet.right
    step = (right - left + _BETWEEN_MM) / n_columns
    per_column = -(-len(groups) // n_columns)
    lowest = start
    for number in range(n_columns):
        column = groups[number * per_column : (number + 1) * per_column]
        bus = _BUS_MM if len(column) > 1 else 0.0
        x = left + number * step
        sheet.left, sheet.right, sheet.y = x + bus, x + step - _BETWEEN_MM, start
        for title, group in column:
            sheet.arrow_from = None if bus else start
            middle = _draw_group(sheet, title, group, file, names)
            if bus:
                sheet.arrow(x + bus / 2, middle, sheet.left, middle)
        if bus:
            sheet.line(x + bus / 2, start, x + bus / 2, middle)
        lowest = min(lowest, sheet.y)
    sheet.left, sheet.right, sheet.y = left, right, lowest


def _draw_group(sheet: Sheet, title: str, group: pd.DataFrame, file: pd.Series, names: Labels) -> float:
    """Draw the stages of branches that stand together; return the height of their first box's middle."""
    kept, lost = group[~group["excluded"]], group[group["excluded"]]
    columns = ({"n_rows": "score"} if _counts_scores(group) else {}) | _counted(file, names)
    if "n_tasks" in group.columns and (kept["n_tasks"] != file["n_tasks"]).any():
        columns["n_tasks"] = "task"
    reference = next(iter(group["reference"].dropna()), None) if "reference" in group.columns else None
    other = names.value("method", reference)
    stages = {
        ROWS: (title or "Scores", "Excluded: no row in the file"),
        DEFINED: ("Score defined", "Excluded: no score"),
        PAIRS: (f"Paired with {other}", f"Excluded: no score of {other}"),
    }
    middles = []
    if (lost["stage"] == ROWS).any():
        # what has no row is lost before there are numbers for the branch
        middles.append(sheet.box([Line(title or "Scores", bold=True)]))
        stages[ROWS] = ("With a row in the file", stages[ROWS][1])
    for stage, (heading, why) in stages.items():
        here = kept[kept["stage"] == stage]
        if here.empty:
            continue
        order = sorted(names.order("method", here["method"]), key=lambda m: m != reference)
        excluded = _excluded(lost[lost["stage"] == stage], order, names)
        if excluded:
            sheet.aside([Line(why, bold=True), *excluded])
        nouns = {c: "pair" if stage == PAIRS and noun == "score" else noun for c, noun in columns.items()}
        middles.append(sheet.box(_table(heading, here, order, nouns, names)))
    return middles[0]


def _counted(file: pd.Series, names: Labels) -> dict[str, str]:
    """What is counted beside scores: cases, and units where those are not the cases."""
    unit = str(file["unit"])
    return {"n_cases": "case"} | ({"n_units": _noun(unit, names)} if unit != "case" else {})


def _table(
    title: str, kept: pd.DataFrame, methods: list[Hashable], columns: dict[str, str], names: Labels
) -> list[Line]:
    """Lines of a stage's box: a method each, or one for all where their numbers are the same."""
    rows = kept.set_index("method")
    lines = [
        Line(names.value("method", m), tuple(count_text(rows.loc[m, c]) for c in columns)) for m in methods
    ]
    if len(lines) > 1 and len({line.numbers for line in lines}) == 1:
        lines = [Line(f"Each of {_amount(len(lines), 'method')}", lines[0].numbers)]
    return [Line(title, tuple(plural(noun) for noun in columns.values()), bold=True), *lines]


def _excluded(lost: pd.DataFrame, methods: list[Hashable], names: Labels) -> list[Line]:
    """What is lost on the way to a stage, a line per reason."""
    lines = []
    for reason in dict.fromkeys(lost["reason"]):
        rows = lost[lost["reason"] == reason].set_index("method")
        amounts = {m: _lost(rows.loc[m]) for m in methods if m in rows.index}
        if len(set(amounts.values())) == 1 and len(amounts) == len(methods):
            text = next(iter(amounts.values())) + (" each" if len(methods) > 1 else "")
        else:
            # a number stays with its method
            text = "; ".join(f"{names.value('method', m)},\u00a0{n}" for m, n in amounts.items())
        lines.append(Line(text if reason == NO_ROW else f"{_reason(reason, names)}: {text}"))
    return lines


def _lost(row: pd.Series) -> str:
    """How many scores are lost, or else cases or tasks, where the file has no scores of them."""
    if row["n_rows"]:
        return count_text(row["n_rows"])
    return _amount(row["n_cases"], "case") if row["n_cases"] else _amount(row["n_tasks"], "task")


def _reason(reason: str, names: Labels) -> str:
    """Reason in words, beginning with a capital."""
    bare = reason.removeprefix(OF_REFERENCE)
    text = names.value("reason", bare)
    text = _WORDS.get(bare, text) if text == bare else text
    return text[:1].upper() + text[1:]


def _counts_scores(flow: pd.DataFrame) -> bool:
    """Whether a case has several scores in a branch, so that scores and cases are not the same."""
    branches = flow[~flow["excluded"] & (flow["stage"] != FILE)]
    return bool((branches["n_rows"] != branches["n_cases"]).any())


def _noun(unit: str, names: Labels) -> str:
    """What a unit is called within a sentence."""
    return names.column(unit).lower()


def _amount(n: Any, noun: str) -> str:
    """How many there are of something: 1 case, 194 cases."""
    return counted(n, noun).replace(" ", "\u00a0", 1)

"""The flow of cases as a diagram in the manner of STARD: boxes, arrows, exclusions at the right."""

from collections.abc import Hashable, Mapping
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import pandas as pd
import plotnine as p9
from matplotlib.markers import CARETDOWN, CARETRIGHT

from salstats.checks import SalstatsError, ValueRangeError, check_columns, check_frame
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.pages import PAGE_HEIGHT_MM
from salstats.display.plots.layout.text_fit import caption, caption_chars, caption_mm, chars_in, wrapped
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    MM_PER_PT,
    TEXT_PT,
    figure_size,
    font,
    theme_salstats,
)
from salstats.display.text.format import count_text, counted, joined, plural
from salstats.display.text.labels import Labels
from salstats.display.text.packing import packed
from salstats.stats.case_flow import DEFINED, FILE, NO_ROW, OF_REFERENCE, PAIRS, ROWS
from salstats.stats.engine.carried import ABSENT, UNDEFINED

_COLUMNS = ("step", "stage", "method", "reason", "excluded", "unit", "n_cases", "n_units", "n_rows")
#: Groups of branches, and methods, that still make a diagram one can read.
_MOST_GROUPS, _MOST_METHODS = 12, 30
_NARROWEST_MM = 60.0
_WORDS = {NO_ROW: "No row in the file", ABSENT: "Finding absent", UNDEFINED: "Reason not given"}
#: Height of a line, room inside a box, between boxes, and around them all.
_LINE_MM, _PAD_MM, _GAP_MM, _MARGIN_MM = 1.25 * TEXT_PT * MM_PER_PT, 1.4, 4.0, 1.0
#: Width of half the line of a box.
_EDGE_MM = 0.8 * MM_PER_PT
#: Where in a box the arrow down begins, where what is excluded stands, and where one of several chains does.
_SPINE_MM, _ASIDE_MM, _CHAIN_MM = 5.0, 13.0, 9.0


class _Box(NamedTuple):
    """A box: its heading, the lines below it, and whether it is at the right, of what is excluded."""

    heading: str
    lines: list[str]
    aside: bool = False


@figures
def plot_flow(
    flow: pd.DataFrame, *, labels: Mapping[str, Any] | Labels | None = None, width: float = COLUMN_MM
) -> list[p9.ggplot]:
    """Flow diagram of cases and scores, with what is excluded and why.

    From what is in the file each metric has a chain of its own (metrics with the same numbers share theirs)
    down to the scores that are defined and the pairs with the reference; in each box is a line per method,
    where the methods' numbers differ. What is excluded stands at the right, by reason.

    Parameters
    ----------
    flow : DataFrame
        What `case_flow` returns.
    labels : Mapping, optional
        Labels and order of methods, metrics and reasons: `{"undefined": "Model output lost"}`.
    width : float
        Width in mm that the text is wrapped for, 60 at least.

    Returns
    -------
    Figure
        As wide as `width` and as high as its text; chains that do not fit a page stand on further `pages`.

    Raises
    ------
    ColumnError
        A column that `case_flow` makes is missing.
    SalstatsError
        No row for the file; more than 12 groups of branches with different numbers, or 30 methods.
    ValueRangeError
        A width below 60 mm.

    Examples
    --------
    >>> import salstats as ss
    >>> flow = ss.case_flow(ss.datasets.load_simulated(), reference="human")
    >>> type(ss.plot_flow(flow)).__name__
    'Figure'
    """
    check_columns(check_frame(flow, "flow"), _COLUMNS, "flow")
    # 0 and 1 where it was read from a file
    flow = flow.assign(excluded=flow["excluded"].astype(bool))
    if not width >= _NARROWEST_MM:
        raise ValueRangeError(f"width must be at least {_NARROWEST_MM:.0f} mm, not {width!r}")
    file = flow[flow["stage"] == FILE]
    if len(file) != 1:
        raise SalstatsError(
            f"flow has {len(file)} rows of stage 'file' where it must have one; use case_flow()"
        )
    names = Labels(labels, flow)
    groups = _groups(flow[flow["stage"] != FILE], names)
    n_methods = max((group["method"].nunique() for _, group in groups), default=0)
    if len(groups) > _MOST_GROUPS or n_methods > _MOST_METHODS:
        raise SalstatsError(
            f"flow has {len(groups)} groups of branches with up to {n_methods} methods; a diagram holds "
            f"{_MOST_GROUPS} groups of {_MOST_METHODS} methods: keep some of them, or take by='metric'"
        )
    n_columns = max(1, min(len(groups), int(width // COLUMN_MM)))
    first = _file_box(file.iloc[0], flow, names)
    chains = [_titled(title, _boxes(group, file.iloc[0], names)) for title, group in groups]
    note = ""
    if _counts_scores(flow):
        unit = plural(_noun(str(file["unit"].iloc[0]), names))
        whose = "Cases" if unit == "cases" else f"Cases and {unit}"
        note = f"{whose} are counted as long as one of their scores is left."
    room, chars = width - 2 * _MARGIN_MM, caption_chars(width)
    height = PAGE_HEIGHT_MM - 2 * _MARGIN_MM - caption_mm(caption([note, "Page 10 of 12."], chars))
    parts = _parts(first, chains, room, n_columns, height)
    pages = [f"Page {n} of {len(parts)}." if len(parts) > 1 else "" for n in range(1, len(parts) + 1)]
    return [
        _figure(*_sheet(first, part, room, n_columns), width, caption([note, page], chars))
        for part, page in zip(parts, pages, strict=True)
    ]


def _parts(
    first: _Box, chains: list[list[_Box]], room: float, n_columns: int, height: float
) -> list[list[list[_Box]]]:
    """Chains of each page, whose file stands above them on a page of a height."""
    column = (room + _GAP_MM) / n_columns
    heights = [_GAP_MM + _depth(chain, column - _GAP_MM - _CHAIN_MM) for chain in chains]
    rows = [max(heights[i : i + n_columns]) for i in range(0, len(chains), n_columns)]
    ends = accumulate(packed(rows, height - _depth([first], room)), initial=0)
    return [chains[start * n_columns : end * n_columns] for start, end in pairwise(ends)]


def _depth(boxes: list[_Box], room: float) -> float:
    """Height of boxes below each other."""
    return -float(_placed(boxes, 0.0, room, 0.0)[0]["ymin"].min())


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


def _file_box(file: pd.Series, flow: pd.DataFrame, names: Labels) -> _Box:
    """Box of what is in the file."""
    counts = [(file[column], noun) for column, noun in _counted(file, names).items()]
    counts += [(file["n_tasks"], "task")] if "n_tasks" in flow.columns else []
    counts += [(flow[c].nunique(), c) for c in ("task", "method", "metric") if c in flow.columns]
    parts = joined([_amount(n, noun) for n, noun in counts])
    return _Box("In the file", [f"{parts}; {_amount(file['n_rows'], 'score')}"])


def _boxes(group: pd.DataFrame, file: pd.Series, names: Labels) -> list[_Box]:
    """Boxes of branches that stand together, from the top down."""
    kept, lost = group[~group["excluded"]], group[group["excluded"]]
    columns = ({"n_rows": "score"} if _counts_scores(group) else {}) | _counted(file, names)
    if "n_tasks" in group.columns and (kept["n_tasks"] != file["n_tasks"]).any():
        columns["n_tasks"] = "task"
    reference = next(iter(group["reference"].dropna()), None) if "reference" in group.columns else None
    other = names.value("method", reference)
    stages = {
        ROWS: ("With a row in the file", "Excluded: no row in the file"),
        DEFINED: ("Score defined", "Excluded: no score"),
        PAIRS: (f"Paired with {other}", f"Excluded: no score of {other}"),
    }
    boxes = []
    for stage, (heading, why) in stages.items():
        here = kept[kept["stage"] == stage]
        if here.empty:
            continue
        order = sorted(names.order("method", here["method"]), key=lambda m: m != reference)
        excluded = _excluded(lost[lost["stage"] == stage], order, names)
        if excluded:
            boxes.append(_Box(why, excluded, aside=True))
        boxes.append(_Box(heading, _method_lines(here, order, columns, names)))
    return boxes


def _counted(file: pd.Series, names: Labels) -> dict[str, str]:
    """What is counted beside scores: cases, and units where those are not the cases."""
    unit = str(file["unit"])
    return {"n_cases": "case"} | ({"n_units": _noun(unit, names)} if unit != "case" else {})


def _method_lines(
    kept: pd.DataFrame, methods: list[Hashable], columns: dict[str, str], names: Labels
) -> list[str]:
    """Lines of a stage's box: a method each, or one for all where their numbers are the same."""
    rows = kept.set_index("method")
    texts = [", ".join(_amount(rows.loc[m, c], noun) for c, noun in columns.items()) for m in methods]
    if len(texts) > 1 and len(set(texts)) == 1:
        return [f"Each of {_amount(len(texts), 'method')}: {texts[0]}"]
    return [f"{names.value('method', m)}: {text}" for m, text in zip(methods, texts, strict=True)]


def _excluded(lost: pd.DataFrame, methods: list[Hashable], names: Labels) -> list[str]:
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
        lines.append(text if reason == NO_ROW else f"{_reason(reason, names)}: {text}")
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


def _titled(title: str, boxes: list[_Box]) -> list[_Box]:
    """Boxes below their title, which stands for that of the rows in the file where none are excluded."""
    if not title:
        return boxes
    lines = [] if boxes[0].aside else boxes.pop(0).lines
    return [_Box(title, lines), *boxes]


def _sheet(
    first: _Box, chains: list[list[_Box]], room: float, n_columns: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Boxes and arrows of the file and of the chains below it, in columns side by side, in mm."""
    if len(chains) <= 1:
        return _placed([first, *(chains[0] if chains else [])], 0.0, room, 0.0)
    parts = [_placed([first], 0.0, room, 0.0)]
    below = lowest = float(parts[0][0]["ymin"].min())
    column = (room + _GAP_MM) / n_columns
    for number, chain in enumerate(chains):
        if number % n_columns == 0:
            top = lowest - _GAP_MM
        left = number % n_columns * column
        boxes, arrows = _placed(chain, left + _CHAIN_MM, left + column - _GAP_MM, top)
        # from the file down, and aside to the first box
        x, y = left + _SPINE_MM, (boxes["ymin"].iloc[0] + top) / 2
        lead = [(x, below, x, y, "none"), (x, y, left + _CHAIN_MM, y, "right")]
        parts.append((boxes, pd.concat([arrows, pd.DataFrame(lead, columns=arrows.columns)])))
        lowest = min(lowest, float(boxes["ymin"].min()))
    boxes, arrows = (pd.concat(frames, ignore_index=True) for frames in zip(*parts, strict=True))
    return boxes, arrows


def _figure(boxes: pd.DataFrame, arrows: pd.DataFrame, width: float, note: str) -> p9.ggplot:
    """Boxes and arrows; one unit of the axes is one mm."""
    lowest = float(boxes["ymin"].min())
    edges = p9.aes(xmin="xmin", xmax="xmax", ymin="ymin", ymax="ymax", fill="kind")
    text: dict[str, Any] = {"ha": "left", "va": "top", "size": TEXT_PT, "family": font()}
    nothing, side = p9.element_blank(), (_MARGIN_MM - _EDGE_MM) / width
    # marks have their size on paper whatever the figure's, which plotnine's arrows have not
    tips = {"down": CARETDOWN, "right": CARETRIGHT}
    return (
        p9.ggplot()
        + p9.geom_rect(edges, boxes, color="black", size=0.4)
        + p9.geom_segment(p9.aes("x", "y", xend="xend", yend="yend"), arrows, size=0.4)
        + [
            p9.geom_point(p9.aes("xend", "yend"), arrows[arrows["tip"] == tip], shape=shape, size=2, stroke=0)
            for tip, shape in tips.items()
        ]
        + p9.geom_text(p9.aes("x", "y", label="heading"), boxes, fontweight="bold", **text)
        + p9.geom_text(p9.aes("x", "below", label="text"), boxes, lineheight=1.2, **text)
        + p9.scale_fill_manual({"kept": "white", "excluded": "#F2F2F2"}, guide=None)
        + p9.scale_x_continuous(limits=(-_EDGE_MM, width - 2 * _MARGIN_MM + _EDGE_MM), expand=(0, 0))
        + p9.scale_y_continuous(limits=(lowest - _MARGIN_MM, _MARGIN_MM), expand=(0, 0))
        + p9.labs(x="", y="", caption=note)
        + theme_salstats()
        + p9.theme(axis_line=nothing, axis_text=nothing, axis_ticks=nothing, axis_title=nothing)
        + p9.theme(plot_margin=0, plot_margin_left=side, plot_margin_right=side)
        + p9.theme(plot_margin_bottom=_MARGIN_MM / width)
        + figure_size(width, 3 * _MARGIN_MM - lowest + caption_mm(note))
    )


def _placed(boxes: list[_Box], start: float, end: float, top: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Boxes of one chain with their text from `start` to `end`, and arrows between them, down from `top`."""
    drawn: list[tuple[Any, ...]] = []
    arrows: list[tuple[Any, ...]] = []
    y, arrow_from, spine = top + _GAP_MM, top, start + _SPINE_MM
    for box in boxes:
        left = start + (_ASIDE_MM if box.aside else 0.0)
        room = end - left - 2 * _PAD_MM
        heading = wrapped(box.heading, chars_in(room, bold=True), None)
        text = "\n".join(wrapped(line, chars_in(room), None) for line in box.lines)
        top = y - _GAP_MM
        below = top - _PAD_MM - _LINE_MM * (heading.count("\n") + 1)
        y = below - _LINE_MM * (text.count("\n") + 1 if text else 0) - _PAD_MM
        if box.aside:
            arrows.append((spine, (top + y) / 2, left, (top + y) / 2, "right"))
        elif drawn:
            arrows.append((spine, arrow_from, spine, top, "down"))
        if not box.aside:
            arrow_from = y
        kind = "excluded" if box.aside else "kept"
        drawn.append((left, end, y, top, kind, left + _PAD_MM, top - _PAD_MM, heading, below, text))
    columns = ["xmin", "xmax", "ymin", "ymax", "kind", "x", "y", "heading", "below", "text"]
    ends = ["x", "y", "xend", "yend"]
    # without arrows the places are no numbers yet
    leads = pd.DataFrame(arrows, columns=[*ends, "tip"]).astype(dict.fromkeys(ends, float))
    return pd.DataFrame(drawn, columns=columns), leads

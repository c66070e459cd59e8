"""Flow diagram of cases as in STARD: boxes, arrows, and exclusions at the right."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
import plotnine as p9

from salstats.checks import check_columns, check_frame
from salstats.display.plots.layout.figure import (
    Figure,
    first_page_with_further_pages,
    keep_call_in_figure,
    page_sentence,
)
from salstats.display.plots.layout.text_fit import (
    caption,
    caption_chars,
    caption_height_mm,
    chars_in,
    wrapped,
)
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    MM_PER_PT,
    PAGE_HEIGHT_MM,
    TEXT_PT,
    figure_size,
    font,
    theme_salstats,
)
from salstats.display.text.format import capitalized, count_text, counted, joined, plural
from salstats.display.text.labels import Labels
from salstats.display.text.packing import packed_slices
from salstats.errors import Call, Message, SalstatsError, Setting, ValueRangeError
from salstats.stats.case_flow import DEFINED, FILE, NO_ROW, OF_REFERENCE, PAIRS, ROWS
from salstats.stats.engine.score_reasons import ABSENT, UNDEFINED

_REQUIRED_COLUMNS = ("step", "stage", "method", "reason", "excluded", "unit", "n_cases", "n_units", "n_rows")
#: Most groups of branches, and most methods, of a legible diagram. A branch is a row of `case_flow`: the
#: scores of a method that a stage includes or excludes.
_MAX_GROUPS = 12
_MAX_METHODS = 30
_MIN_WIDTH_MM = 60.0
_REASONS = {NO_ROW: "No row in the file", ABSENT: "Finding absent", UNDEFINED: "Reason not given"}
#: Lengths in mm: height of a line, room inside a box, gap between boxes, and margin around all boxes.
_LINE_MM = 1.25 * TEXT_PT * MM_PER_PT
_PAD_MM = 1.4
_GAP_MM = 4.0
_MARGIN_MM = 1.0
#: Half the width in mm of the line around a box.
_HALF_OUTLINE_MM = 0.8 * MM_PER_PT
#: Distances in mm from the left edge of a chain of boxes to the arrows down and to the boxes of exclusions,
#: and from the arrow of the file to the chains below it.
_ARROW_INDENT_MM = 5.0
_EXCLUSION_INDENT_MM = 13.0
_CHAIN_INDENT_MM = 9.0
#: Half the height in mm of the triangle at the end of an arrow.
_HALF_TIP_MM = 0.6


class _FlowBox(NamedTuple):
    """Text of a box: its heading, the lines below it, and whether it lists exclusions, at the right."""

    heading: str
    lines: list[str]
    is_exclusion: bool = False


class _PlacedFlowBox(NamedTuple):
    """Edges of a box in mm, its kind ("included" or "excluded"), and its texts with their positions.

    `x` is the left edge of both texts, `y` the top of the heading, `text_y` that of the text below it.
    """

    xmin: float
    xmax: float
    ymin: float
    ymax: float
    kind: str
    x: float
    y: float
    heading: str
    text_y: float
    text: str


class _Arrow(NamedTuple):
    """Line from (`x`, `y`) to (`xend`, `yend`) in mm, and its tip: "down", "right" or "none"."""

    x: float
    y: float
    xend: float
    yend: float
    tip: str


@dataclass(frozen=True)
class _Diagram:
    """Boxes and arrows of a page in mm; vertical positions are 0 at the top and negative below."""

    boxes: list[_PlacedFlowBox]
    arrows: list[_Arrow]

    @property
    def lower_edge_of_lowest_box(self) -> float:
        """Return the lower edge of the lowest box."""
        return min(box.ymin for box in self.boxes)


@keep_call_in_figure
def plot_flow(
    flow: pd.DataFrame, *, labels: Mapping[str, Any] | Labels | None = None, width: float = COLUMN_MM
) -> Figure:
    """Draw a flow diagram of cases and scores, with what is excluded and why.

    Each metric has a chain of boxes from the file down to the defined scores and the pairs with the
    reference; metrics with the same numbers share a chain. A box has a line per method if their numbers
    differ. Exclusions stand at the right, by reason.

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
    check_columns(check_frame(flow, "flow"), _REQUIRED_COLUMNS, "flow")
    # a frame that was read from a file has 0 and 1
    flow = flow.assign(excluded=flow["excluded"].astype(bool))
    if not width >= _MIN_WIDTH_MM:
        raise ValueRangeError(
            Setting("width"),
            " must be at least ",
            f"{_MIN_WIDTH_MM:.0f}",
            f" mm, not {width!r}",
            value=width,
        )
    file_rows = flow[flow["stage"] == FILE]
    if len(file_rows) != 1:
        raise SalstatsError(
            f"flow has {len(file_rows)} rows of stage 'file' where it must have one",
            hint=Message("use ", Call("case_flow")),
            column="stage",
            value=len(file_rows),
        )
    file = file_rows.iloc[0]
    frame_labels = Labels(labels, flow)
    groups = _titles_and_branches_of_distinct_groups(flow[flow["stage"] != FILE], frame_labels)
    n_methods = max((branches["method"].nunique() for _, branches in groups), default=0)
    if len(groups) > _MAX_GROUPS or n_methods > _MAX_METHODS:
        raise SalstatsError(
            f"flow has {len(groups)} groups of branches with up to {n_methods} methods, and a diagram holds "
            f"{_MAX_GROUPS} groups of {_MAX_METHODS} methods",
            hint=Message("keep some of them, or take ", Setting("by", "metric")),
            option="flow",
            value=len(groups),
        )
    # chains side by side, each about as wide as a journal's column
    n_columns = max(1, min(len(groups), int(width // COLUMN_MM)))
    file_box = _file_box(file, flow, frame_labels)
    chains = [
        _with_title_as_first_heading(_stage_and_exclusion_boxes(branches, file, frame_labels), title)
        for title, branches in groups
    ]
    note = _case_counting_rule_note(flow, str(file["unit"]), frame_labels)
    available_mm = width - 2 * _MARGIN_MM
    chars = caption_chars(width)
    longest_caption = caption([note, "Page 10 of 12."], chars)
    available_height_mm = PAGE_HEIGHT_MM - 2 * _MARGIN_MM - caption_height_mm(longest_caption)
    chains_of_pages = _chains_by_page(file_box, chains, available_mm, n_columns, available_height_mm)
    pages = []
    for number, page_chains in enumerate(chains_of_pages, 1):
        diagram = _page_diagram(file_box, page_chains, available_mm, n_columns)
        page_note = caption([note, page_sentence(number, len(chains_of_pages))], chars)
        pages.append(_figure_of_diagram(diagram, width, page_note))
    return first_page_with_further_pages(pages)


def _case_counting_rule_note(flow: pd.DataFrame, unit: str, labels: Labels) -> str:
    """Return a sentence on how cases and units are counted, "" where each case has one score."""
    if not _has_cases_with_several_scores(flow):
        return ""
    units = plural(_unit_noun(unit, labels))
    subject = "Cases"
    if units != "cases":
        subject += f" and {units}"
    return f"{subject} are counted as long as one of their scores is left."


def _chains_by_page(
    file_box: _FlowBox,
    chains: list[list[_FlowBox]],
    available_mm: float,
    n_columns: int,
    available_height_mm: float,
) -> list[list[list[_FlowBox]]]:
    """Return the chains of each page, which stand in columns below the box of the file.

    `available_mm` and `available_height_mm` are the room on a page from left to right and from top to bottom.
    """
    column_mm = (available_mm + _GAP_MM) / n_columns
    chain_mm = column_mm - _GAP_MM - _CHAIN_INDENT_MM
    heights = [_GAP_MM + _chain_height(chain, chain_mm) for chain in chains]
    row_heights = [max(heights[start : start + n_columns]) for start in range(0, len(chains), n_columns)]
    pages = []
    for rows in packed_slices(row_heights, available_height_mm - _chain_height([file_box], available_mm)):
        pages.append(chains[rows.start * n_columns : rows.stop * n_columns])
    return pages


def _chain_height(boxes: list[_FlowBox], width: float) -> float:
    """Return the height in mm of boxes of a width below each other."""
    diagram = _chain_diagram(boxes, left=0.0, right=width, top=0.0)
    return -float(diagram.lower_edge_of_lowest_box)


def _titles_and_branches_of_distinct_groups(
    branches: pd.DataFrame, labels: Labels
) -> list[tuple[str, pd.DataFrame]]:
    """Return the title and the branches of each group; groups with equal numbers are one with a common title.

    Grouping columns are those between `stage` and `reason`, except for the method and the reference.
    """
    columns = list(branches.columns)
    first_grouping = columns.index("stage") + 1
    groupings = columns[first_grouping : columns.index("reason")]
    groupings = [column for column in groupings if column not in ("method", "reference")]
    if branches.empty:
        return []
    if not groupings:
        return [("", branches)]
    orders = [labels.order(column, branches[column]) for column in groupings]
    branches_of_group = dict(list(branches.groupby(groupings, sort=False, dropna=False)))

    def value_positions(group: tuple[Any, ...]) -> list[int]:
        """Return the position of each value of a group in the order of its column."""
        return [order.index(value) for order, value in zip(orders, group, strict=True)]

    # branches that differ, and the titles of the groups that have them
    distinct_branches: list[pd.DataFrame] = []
    titles_of_branches: list[list[str]] = []
    for group in sorted(branches_of_group, key=value_positions):
        group_branches = branches_of_group[group].drop(columns=groupings).reset_index(drop=True)
        value_labels = [labels.value(column, value) for column, value in zip(groupings, group, strict=True)]
        title = ", ".join(value_labels)
        is_equal = [earlier.equals(group_branches) for earlier in distinct_branches]
        if any(is_equal):
            titles_of_branches[is_equal.index(True)].append(title)
        else:
            distinct_branches.append(group_branches)
            titles_of_branches.append([title])
    titles = map(_joined_title_of_equal_groups, titles_of_branches)
    return list(zip(titles, distinct_branches, strict=True))


def _joined_title_of_equal_groups(titles: list[str]) -> str:
    """Return the title of groups that have equal numbers: "Hit rate and IoU (each)"."""
    if len(titles) == 1:
        return titles[0]
    text = joined(titles)
    if any(", " in title for title in titles):
        text = "; ".join(titles)
    return f"{text} (each)"


def _file_box(file: pd.Series, flow: pd.DataFrame, labels: Labels) -> _FlowBox:
    """Return the box with the numbers of cases, tasks, methods, metrics and scores in the file.

    `file` is the row of `flow` for the file.
    """
    counts = [
        _amount_text(file[column], noun) for column, noun in _noun_by_count_column(file, labels).items()
    ]
    if "n_tasks" in flow.columns:
        counts.append(_amount_text(file["n_tasks"], "task"))
    for column in ("task", "method", "metric"):
        if column in flow.columns:
            counts.append(_amount_text(flow[column].nunique(), column))
    return _FlowBox("In the file", [f"{joined(counts)}; {_amount_text(file['n_rows'], 'score')}"])


def _stage_and_exclusion_boxes(
    branches: pd.DataFrame, file_counts: pd.Series, labels: Labels
) -> list[_FlowBox]:
    """Return the boxes of a group's branches, all below the file's: exclusions and then the stage, by stage.

    `file_counts` is the row of the flow for the file.
    """
    included = branches[~branches["excluded"]]
    excluded = branches[branches["excluded"]]
    noun_by_column = {}
    if _has_cases_with_several_scores(branches):
        noun_by_column["n_rows"] = "score"
    noun_by_column |= _noun_by_count_column(file_counts, labels)
    if "n_tasks" in branches.columns and (included["n_tasks"] != file_counts["n_tasks"]).any():
        noun_by_column["n_tasks"] = "task"
    reference = None
    if "reference" in branches.columns:
        reference = next(iter(branches["reference"].dropna()), None)
    reference_label = labels.value("method", reference)
    # headings of the box of a stage and of the box of its exclusions
    headings = {
        ROWS: ("With a row in the file", "Excluded: no row in the file"),
        DEFINED: ("Score defined", "Excluded: no score"),
        PAIRS: (f"Paired with {reference_label}", f"Excluded: no score of {reference_label}"),
    }
    boxes = []
    for stage, (heading, exclusion_heading) in headings.items():
        rows = included[included["stage"] == stage]
        if rows.empty:
            continue
        # the reference is the first method
        methods = sorted(labels.order("method", rows["method"]), key=lambda method: method != reference)
        exclusions = _exclusion_line_texts(excluded[excluded["stage"] == stage], methods, labels)
        if exclusions:
            boxes.append(_FlowBox(exclusion_heading, exclusions, is_exclusion=True))
        boxes.append(_FlowBox(heading, _one_line_or_method_line_texts(rows, methods, noun_by_column, labels)))
    return boxes


def _noun_by_count_column(file: pd.Series, labels: Labels) -> dict[str, str]:
    """Return the noun of each column of counts: cases, and units where these are not the cases.

    `file` is the row of the flow for the file.
    """
    noun_by_column = {"n_cases": "case"}
    unit = str(file["unit"])
    if unit != "case":
        noun_by_column["n_units"] = _unit_noun(unit, labels)
    return noun_by_column


def _one_line_or_method_line_texts(
    rows: pd.DataFrame, methods: list[Hashable], noun_by_column: dict[str, str], labels: Labels
) -> list[str]:
    """Return the lines of the box of a stage: one for each method, or for all if their numbers are equal.

    `noun_by_column` has the noun of what is counted, by the column of counts.
    """
    counts_of = rows.set_index("method")[list(noun_by_column)].to_dict("index")
    texts = []
    for method in methods:
        amounts = [_amount_text(counts_of[method][column], noun) for column, noun in noun_by_column.items()]
        texts.append(", ".join(amounts))
    if len(texts) > 1 and len(set(texts)) == 1:
        return [f"Each of {_amount_text(len(texts), 'method')}: {texts[0]}"]
    return [f"{labels.value('method', method)}: {text}" for method, text in zip(methods, texts, strict=True)]


def _exclusion_line_texts(excluded: pd.DataFrame, methods: list[Hashable], labels: Labels) -> list[str]:
    """Return the lines of the box of exclusions before a stage, one for each reason."""
    lines = []
    for reason in dict.fromkeys(excluded["reason"]):
        rows_by_method = excluded[excluded["reason"] == reason].set_index("method")
        amounts = {}
        for method in methods:
            if method in rows_by_method.index:
                amounts[method] = _excluded_count_text(rows_by_method.loc[method])
        are_equal = len(set(amounts.values())) == 1 and len(amounts) == len(methods)
        if are_equal:
            text = next(iter(amounts.values()))
            if len(methods) > 1:
                text += " each"
        else:
            # a non-breaking space keeps a number with its method
            texts = [f"{labels.value('method', method)},\u00a0{amount}" for method, amount in amounts.items()]
            text = "; ".join(texts)
        if reason != NO_ROW:
            # a missing row is the reason that the heading of the box names
            text = f"{_reason_text(reason, labels)}: {text}"
        lines.append(text)
    return lines


def _excluded_count_text(exclusion_row: pd.Series) -> str:
    """Return the number of excluded scores, "12", or without rows for these of cases or tasks, "3 cases"."""
    if exclusion_row["n_rows"]:
        return count_text(exclusion_row["n_rows"])
    if exclusion_row["n_cases"]:
        return _amount_text(exclusion_row["n_cases"], "case")
    return _amount_text(exclusion_row["n_tasks"], "task")


def _reason_text(reason: str, labels: Labels) -> str:
    """Return the label of a reason with a capital at its beginning."""
    # the reasons of missing pairs begin with the reference, which the heading of the box names
    reason = reason.removeprefix(OF_REFERENCE)
    text = labels.value("reason", reason)
    if text == reason:
        text = _REASONS.get(reason, text)
    return capitalized(text)


def _has_cases_with_several_scores(flow: pd.DataFrame) -> bool:
    """Return whether cases have several scores in a branch, so that numbers of scores and cases differ."""
    branches = flow[~flow["excluded"] & (flow["stage"] != FILE)]
    return bool((branches["n_rows"] != branches["n_cases"]).any())


def _unit_noun(unit: str, labels: Labels) -> str:
    """Return the name of a unit within a sentence."""
    return labels.column(unit).lower()


def _amount_text(count: Any, noun: str) -> str:
    """Return a number with its noun and a non-breaking space: "1 case", "194 cases"."""
    return counted(count, noun).replace(" ", "\u00a0", 1)


def _with_title_as_first_heading(boxes: list[_FlowBox], title: str) -> list[_FlowBox]:
    """Return the boxes of a chain below its title.

    The title replaces the heading of the first box; if this box lists exclusions, the title has its own box.
    Without a title ("") the boxes are unchanged.
    """
    if not title:
        return boxes
    first, *further_boxes = boxes
    if first.is_exclusion:
        return [_FlowBox(title, []), *boxes]
    return [_FlowBox(title, first.lines), *further_boxes]


def _page_diagram(
    file_box: _FlowBox, chains: list[list[_FlowBox]], available_mm: float, n_columns: int
) -> _Diagram:
    """Return the diagram of the file and of the chains below it, in columns side by side.

    `available_mm` is the room from left to right.
    """
    if not chains:
        return _chain_diagram([file_box], left=0.0, right=available_mm, top=0.0)
    if len(chains) == 1:
        return _chain_diagram([file_box, *chains[0]], left=0.0, right=available_mm, top=0.0)
    file_diagram = _chain_diagram([file_box], left=0.0, right=available_mm, top=0.0)
    boxes = list(file_diagram.boxes)
    arrows = list(file_diagram.arrows)
    column_mm = (available_mm + _GAP_MM) / n_columns
    bottom = file_diagram.lower_edge_of_lowest_box
    for row_start in range(0, len(chains), n_columns):
        top = bottom - _GAP_MM
        for column, chain in enumerate(chains[row_start : row_start + n_columns]):
            column_left = column * column_mm
            chain_left = column_left + _CHAIN_INDENT_MM
            diagram = _chain_diagram(chain, chain_left, right=column_left + column_mm - _GAP_MM, top=top)
            boxes += diagram.boxes
            arrows += diagram.arrows
            # an arrow from the file down, and then to the right to the middle of the first box
            x = column_left + _ARROW_INDENT_MM
            y = (diagram.boxes[0].ymin + top) / 2
            arrows.append(_Arrow(x, file_diagram.lower_edge_of_lowest_box, x, y, tip="none"))
            arrows.append(_Arrow(x, y, chain_left, y, tip="right"))
            bottom = min(bottom, diagram.lower_edge_of_lowest_box)
    return _Diagram(boxes, arrows)


def _figure_of_diagram(diagram: _Diagram, width: float, note: str) -> Figure:
    """Return the figure of a diagram, whose axes are in mm, with a width in mm and a caption."""
    boxes = pd.DataFrame(diagram.boxes, columns=list(_PlacedFlowBox._fields))
    arrows = pd.DataFrame(diagram.arrows, columns=list(_Arrow._fields))
    # in a frame without rows the positions have no numeric type
    arrows = arrows.astype(dict.fromkeys(["x", "y", "xend", "yend"], float))
    bottom = float(diagram.lower_edge_of_lowest_box)
    edges = p9.aes(xmin="xmin", xmax="xmax", ymin="ymin", ymax="ymax", fill="kind")
    text: dict[str, Any] = {"ha": "left", "va": "top", "size": TEXT_PT, "family": font()}
    line = p9.aes("x", "y", xend="xend", yend="yend")
    # marks keep their size on paper in figures of any size, unlike plotnine's arrows; a triangle is drawn
    # around its centre, half its height before the end of the line
    tip = p9.aes("xend", "yend")
    tips_down = arrows[arrows["tip"] == "down"]
    tips_down = tips_down.assign(yend=tips_down["yend"] + _HALF_TIP_MM)
    tips_right = arrows[arrows["tip"] == "right"]
    tips_right = tips_right.assign(xend=tips_right["xend"] - _HALF_TIP_MM)
    tip_style: dict[str, Any] = {"size": 2, "stroke": 0}
    # one mm on paper is one unit of the axes
    x_limits = (-_HALF_OUTLINE_MM, width - 2 * _MARGIN_MM + _HALF_OUTLINE_MM)
    y_limits = (bottom - _MARGIN_MM, _MARGIN_MM)
    height = y_limits[1] - y_limits[0] + _MARGIN_MM + caption_height_mm(note)
    blank = p9.element_blank()
    # plotnine takes margins as shares of the width; the axes have room for the lines around boxes
    side_margin = (_MARGIN_MM - _HALF_OUTLINE_MM) / width
    return (
        Figure()
        + p9.geom_rect(edges, boxes, color="black", size=0.4)
        + p9.geom_segment(line, arrows, size=0.4)
        + p9.geom_point(tip, tips_down, shape="v", **tip_style)
        + p9.geom_point(tip, tips_right, shape=">", **tip_style)
        + p9.geom_text(p9.aes("x", "y", label="heading"), boxes, fontweight="bold", **text)
        + p9.geom_text(p9.aes("x", "text_y", label="text"), boxes, lineheight=1.2, **text)
        + p9.scale_fill_manual({"included": "white", "excluded": "#F2F2F2"}, guide=None)
        + p9.scale_x_continuous(limits=x_limits, expand=(0, 0))
        + p9.scale_y_continuous(limits=y_limits, expand=(0, 0))
        + p9.labs(x="", y="", caption=note)
        + theme_salstats()
        + p9.theme(
            axis_line=blank,
            axis_text=blank,
            axis_ticks=blank,
            axis_title=blank,
            plot_margin=0,
            plot_margin_left=side_margin,
            plot_margin_right=side_margin,
            plot_margin_bottom=_MARGIN_MM / width,
        )
        + figure_size(width, height)
    )


def _chain_diagram(boxes: list[_FlowBox], left: float, right: float, top: float) -> _Diagram:
    """Return the boxes of one chain between `left` and `right`, from `top` down, with their arrows, in mm."""
    drawn_boxes: list[_PlacedFlowBox] = []
    arrows: list[_Arrow] = []
    arrow_x = left + _ARROW_INDENT_MM
    # lower edges of the last box, and of the last one that does not list exclusions
    bottom = top + _GAP_MM
    arrow_start = top
    for box in boxes:
        box_left = left
        kind = "included"
        if box.is_exclusion:
            box_left += _EXCLUSION_INDENT_MM
            kind = "excluded"
        text_width_mm = right - box_left - 2 * _PAD_MM
        heading = wrapped(box.heading, chars_in(text_width_mm, bold=True), max_lines=None)
        text = "\n".join(wrapped(line, chars_in(text_width_mm), max_lines=None) for line in box.lines)
        box_top = bottom - _GAP_MM
        text_top = box_top - _PAD_MM - _LINE_MM * (heading.count("\n") + 1)
        n_lines = 0
        if text:
            n_lines = text.count("\n") + 1
        bottom = text_top - _LINE_MM * n_lines - _PAD_MM
        if box.is_exclusion:
            middle = (box_top + bottom) / 2
            arrows.append(_Arrow(arrow_x, middle, box_left, middle, tip="right"))
        elif drawn_boxes:
            arrows.append(_Arrow(arrow_x, arrow_start, arrow_x, box_top, tip="down"))
        if not box.is_exclusion:
            arrow_start = bottom
        drawn_boxes.append(
            _PlacedFlowBox(
                xmin=box_left,
                xmax=right,
                ymin=bottom,
                ymax=box_top,
                kind=kind,
                x=box_left + _PAD_MM,
                y=box_top - _PAD_MM,
                heading=heading,
                text_y=text_top,
                text=text,
            )
        )
    return _Diagram(drawn_boxes, arrows)

"""The sections of a report: their sentences, and their tables and figures, drawn and numbered."""

from collections import Counter
from functools import partial
from typing import Any

import salstats as ss
from salstats.display.report.analyses import ReportFrames
from salstats.display.report.calls import (
    COMPARED_SCORES_NAME,
    LABELS_NAME,
    VariableName,
    call_text,
    code_preamble,
    last_line_assigned,
)
from salstats.display.report.case_counts import count_sentences
from salstats.display.report.comparisons import margin_sentences
from salstats.display.report.contents import (
    SECTION_PLANS,
    Contents,
    FigurePlan,
    FrameWithCall,
    ItemPlan,
    SectionPlan,
)
from salstats.display.report.document import ReportItem, Section
from salstats.display.report.main_result import main_sentences
from salstats.display.report.result_sentences import result_sentences
from salstats.display.report.settings import Settings
from salstats.errors import SalstatsError

#: Key of the section that stands first.
_SUMMARY = "summary"


def sections_of(contents: Contents) -> tuple[Section, ...]:
    """Return the sections for which there is something to show, with numbered tables and figures.

    The error of an item that cannot be drawn is kept with those of the analyses.
    """
    sections = []
    # tables and figures are numbered separately
    n_items: Counter[str] = Counter()
    for section_plan in SECTION_PLANS:
        sentences = _sentences(section_plan, contents)
        items = []
        for item_plan in section_plan.items:
            noun = "Figure" if isinstance(item_plan, FigurePlan) else "Table"
            try:
                number = f"{noun} {n_items[noun] + 1}"
                item = _drawn_item(item_plan, contents, number=number, result=" ".join(sentences[:2]))
            except SalstatsError as error:
                contents.analyses.skipped[item_plan.key] = error
                continue
            if item is not None:
                n_items[noun] += 1
                items.append(item)
        if items or section_plan.key == _SUMMARY:
            title = section_plan.title.format(**contents.slots)
            sections.append(Section(section_plan.key, title, sentences, tuple(items)))
    return tuple(sections)


def _drawn_item(plan: ItemPlan, contents: Contents, *, number: str, result: str) -> ReportItem | None:
    """Draw a table or figure under a number; None if there is no frame for it.

    `result` holds the first sentences of its section, which end the alternative text of a figure.
    """
    source = _frame_with_call(plan, contents)
    if source is None:
        return None
    drawing_call = plan.drawing_call(source.frame, contents)
    drawing = drawing_call()
    call = _item_code(plan, source.call, drawing_call, contents)
    caption = plan.caption.format(**contents.slots)
    if isinstance(plan, FigurePlan):
        caption = f"{caption} {drawing.caption()}".strip()
        drawing = tuple(page.without_caption() for page in drawing.pages)
    return ReportItem(
        key=plan.key,
        number=number,
        title=plan.title.format(**contents.slots),
        drawing=drawing,
        frame=source.frame,
        caption=caption,
        alt=f"{plan.alt.format(**contents.slots)} {result}".strip(),
        call=f"{code_preamble(contents.wording.settings, [call])}\n\n{call}",
        display=plan.display,
    )


def _frame_with_call(plan: ItemPlan, contents: Contents) -> FrameWithCall | None:
    """Return the frame that an item shows and its call, None if there is no such frame."""
    if not isinstance(plan.frame, str):
        return plan.frame(contents)
    if plan.frame not in contents.analyses.frames:
        return None
    return FrameWithCall(contents.analyses.frames[plan.frame], contents.analyses.calls[plan.frame])


def _item_code(plan: ItemPlan, frame_call: str, drawing_call: partial[Any], contents: Contents) -> str:
    """Return Python that makes the frames needed to draw an item, its own last, and draws it."""
    if not hasattr(ss, drawing_call.func.__name__):
        # the maps of examples are not among the report's files
        return frame_call
    frame_name = "shown"
    if isinstance(plan.frame, str):
        frame_name = plan.frame
    names = _variable_names_by_object_id(contents)
    # a frame that no analysis made has no name yet
    names.setdefault(id(drawing_call.args[0]), frame_name)
    arguments = [_as_variable_name(value, names) for value in drawing_call.args]
    options = {name: _as_variable_name(value, names) for name, value in drawing_call.keywords.items()}
    if options.get("style") == Settings.style:
        del options["style"]
    lines = []
    for value in (*arguments, *options.values()):
        if not isinstance(value, VariableName) or value == frame_name:
            continue
        # names of scores and labels are defined in the preamble and not by the call of an analysis
        if value in contents.analyses.calls:
            lines.append(last_line_assigned(str(value), contents.analyses.calls[str(value)]))
    lines.append(last_line_assigned(frame_name, frame_call))
    lines.append(call_text(drawing_call.func, str(arguments[0]), *arguments[1:], **options))
    return "\n".join(lines)


def _variable_names_by_object_id(contents: Contents) -> dict[int, str]:
    """Return the variable names of frames and labels in the report's Python, by `id()` of each object."""
    names = {id(frame): key for key, frame in contents.analyses.frames.items()}
    names[id(contents.scores_without_reference)] = COMPARED_SCORES_NAME
    # without a reference method both are one frame, whose name is then the one written last
    names[id(contents.scores)] = "scores"
    names[id(contents.wording.labels)] = LABELS_NAME
    return names


def _as_variable_name(value: object, names: dict[int, str]) -> object:
    """Return the variable name of a frame or of labels; other values stay as they are."""
    if id(value) in names:
        return VariableName(names[id(value)])
    return value


def _sentences(plan: SectionPlan, contents: Contents) -> tuple[str, ...]:
    """Return the sentences of a section, each once."""
    results = contents.analyses.results
    wording = contents.wording
    if plan.key == _SUMMARY:
        return main_sentences(results, wording)
    sentences: list[str] = []
    for key in plan.sentence_keys:
        if key not in results:
            continue
        if key == "flow":
            sentences += count_sentences(results[key], wording)
            continue
        estimates = results.estimates(key)
        if key == "difference":
            sentences += margin_sentences(estimates, wording)
            if "decrease" in results:
                described = _metrics_with_all_decreases_defined(results)
                estimates = estimates.subset(~estimates.frame["metric"].isin(described))
        sentences += result_sentences(key, estimates, wording)
    return tuple(dict.fromkeys(sentences))


def _metrics_with_all_decreases_defined(results: ReportFrames) -> list[str]:
    """Return the metrics whose differences all have a decrease, so that sentences on decreases cover them.

    A decrease is undefined where the mean of the reference is 0, although the difference is defined.
    """
    decreases = results.estimates("decrease")
    differences = results.estimates("difference")
    n_decreases = decreases.frame.loc[decreases.has_estimate, "metric"].value_counts()
    n_differences = differences.frame.loc[differences.has_estimate, "metric"].value_counts()
    metrics = [str(metric) for metric in n_decreases.index]
    return [metric for metric in metrics if n_decreases[metric] == n_differences[metric]]

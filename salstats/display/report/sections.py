"""The sections of a report: what there is to show of each part, drawn, numbered and told."""

import re
from functools import partial
from typing import Any

import pandas as pd
import plotnine as p9

import salstats as ss
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.theme import TEXT_PT
from salstats.display.report.calls import COMPARED, LABELS, Named, assigned, beginning, call_text
from salstats.display.report.comparisons import margin_sentences
from salstats.display.report.contents import PARTS, Contents, Part, Show
from salstats.display.report.document import Item, Section, Settings
from salstats.display.report.main_result import main_sentences
from salstats.display.report.results import result_sentences
from salstats.errors import SalstatsError

#: The end of a page's caption.
_PAGE = re.compile(r" ?Page \d+ of \d+\.$")


def sections(contents: Contents) -> tuple[Section, ...]:
    """Sections for which there is something to show, their tables and figures numbered as they stand."""
    found, numbers = [], {"Table": 0, "Figure": 0}
    for part in PARTS:
        items = []
        for show in part.shows:
            try:
                item = _item(show, contents, numbers)
            except SalstatsError as error:
                contents.done.skipped[show.key] = str(error)
            else:
                items += [item] if item else []
        if items or part is PARTS[0]:
            title = part.title.format(**contents.names)
            found.append(Section(part.key, title, _sentences(part, contents), tuple(items)))
    return tuple(found)


def _item(show: Show, contents: Contents, numbers: dict[str, int]) -> Item | None:
    """Table or figure under its next number, if there is a frame for it."""
    if not isinstance(show.frame, str):
        behind = show.frame(contents)
    elif show.frame in contents.done.frames:
        behind = contents.done.frames[show.frame], contents.done.calls[show.frame]
    else:
        behind = None
    if behind is None:
        return None
    (frame, call), kind = behind, type(show).__name__
    drawing = show.draw(frame, contents)
    display, call = drawing(), _drawn(show, call, drawing, contents)
    title, caption, alt = (text.format(**contents.names) for text in (show.title, show.caption, show.alt))
    if kind == "Figure":
        bare = [without_caption(page) for page in display.pages]
        display = tuple(page for page, _ in bare)
        caption = " ".join(filter(None, (caption, bare[0][1])))
    numbers[kind] += 1
    number = f"{kind} {numbers[kind]}"
    code = f"{beginning(contents.words.settings, [call])}\n\n{call}"
    return Item(show.key, number, title, display, frame, caption, alt, code, show.place)


def _drawn(show: Show, call: str, drawing: partial[Any], contents: Contents) -> str:
    """Calls that give the frames that a table or figure is drawn with, its own last, then its own call."""
    if not hasattr(ss, drawing.func.__name__):
        return call  # what draws maps is not at hand
    own = show.frame if isinstance(show.frame, str) else "shown"
    done = contents.done
    names = {id(frame): key for key, frame in done.frames.items()}
    names |= {
        id(contents.scores): "scores",
        id(contents.compared): COMPARED,
        id(contents.words.labels): LABELS,
    }
    # a frame that is none of the analyses' own
    names.setdefault(id(drawing.args[0]), own)

    def named(value: object) -> object:
        return Named(names[id(value)]) if id(value) in names else value

    arguments = [named(value) for value in drawing.args]
    options = {name: named(value) for name, value in drawing.keywords.items()}
    if options.get("style") == Settings.style:
        del options["style"]
    others = [
        str(v) for v in (*arguments, *options.values()) if isinstance(v, Named) and str(v) in done.calls
    ]
    before = [assigned(key, done.calls[key]) for key in others if key != own]
    return "\n".join([*before, assigned(own, call), call_text(drawing.func, *arguments, **options)])


def _sentences(part: Part, contents: Contents) -> tuple[str, ...]:
    """Sentences of a section's frames, each said once; those of the summary are on all of them."""
    frames, found = contents.done.frames, list[str]()
    if part is PARTS[0]:
        return main_sentences(frames, contents.words)
    for key in part.told:
        frame = frames.get(key, pd.DataFrame())
        if key == "difference":
            found += margin_sentences(frame, contents.words)
        if key == "difference" and "decrease" in frames:
            # a metric is spoken of once: by its decrease, unless one of these is undefined
            decrease = frames["decrease"]
            undefined = decrease.loc[decrease["estimate"].isna(), "metric"]
            frame = frame[~frame["metric"].isin(set(decrease["metric"]) - set(undefined))]
        found += result_sentences(key, frame, contents.words)
    return tuple(dict.fromkeys(found))


def without_caption(page: Figure) -> tuple[Figure, str]:
    """A page of a figure without its caption and as much lower, and the caption as one line.

    A journal sets captions itself; the page has them beside the figure, and says itself which page it is.
    """
    alone, text = page.alone(), page.labels.caption
    if not text:
        return alone, ""
    width, height = page.theme.getp("figure_size")
    line = (TEXT_PT - 1) * 1.2 / 72
    bare = alone + p9.theme(figure_size=(width, height - line * (text.count("\n") + 1)))
    bare.labels.caption = None
    return bare, _PAGE.sub("", " ".join(text.split()))

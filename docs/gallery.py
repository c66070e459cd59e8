"""The gallery: sphinx-gallery runs the calls of `analyses/gallery_items.py` and shows what they give.

A page has a call that runs as it stands, the figures and tables that it returns, and the first rows of the
frames that these are drawn from.
"""

import ast
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pandas as pd
from great_tables import GT
from PIL import Image

import salstats as ss

HERE = Path(__file__).parent
# after this folder, whose name a module there has, too
sys.path.append(str(HERE.parent / "analyses"))
from gallery_items import FRAMES, ITEMS, Item  # noqa: E402

WIDTH_MM, DPI = 183, 160
#: What a thumbnail shows of a table that is wider: its upper left.
TABLE_MM, TABLE_DPI, MM_PER_INCH = 110, 300, 25.4
#: Width and height of thumbnails in pixels, twice as large as they are shown.
THUMBNAIL_PX = (560, 392)
#: Rows that are shown of a frame.
FRAME_ROWS = 5
#: Frames whose calls a page shows; the awkward ones are for those who change figures.
SHOWN = ("embedded", "eight methods", "patients", "images", "gaze")


@dataclass(frozen=True)
class Question:
    """A section of the gallery: a question, what answers it, and the functions whose items stand there."""

    question: str
    answer: str
    functions: frozenset[str]


#: Sections by the name of their folder, in order.
QUESTIONS = {
    "scores": Question(
        "How good is each method?",
        "Mean scores with their intervals, and how the scores of single cases are distributed.",
        frozenset(
            {
                "plot_intervals",
                "plot_heatmap",
                "plot_box",
                "plot_letter_values",
                "table_estimates",
                "table_describe",
            }
        ),
    ),
    "comparison": Question(
        "Which method is better?",
        "Differences from people or another method on the same cases, ranks, and tests of every two methods.",
        frozenset(
            {
                "difference",
                "percent_decrease",
                "plot_pairs",
                "plot_ranks",
                "plot_significance",
            }
        ),
    ),
    "covariates": Question(
        "Does the size of a finding matter?",
        "Regressions and correlations of scores with size, shape and confidence, and how to check them.",
        frozenset({"regress", "fit", "augment", "correlate", "plot_scatter"}),
    ),
    "classifier": Question(
        "How good is the classifier itself?",
        "Areas under ROC curves, the curves, and calibration.",
        frozenset({"plot_roc", "plot_calibration"}),
    ),
    "readers": Question(
        "Do readers agree?",
        "Agreement of readers or methods, and comparisons that hold for readers and cases in general.",
        frozenset({"agreement", "mrmc"}),
    ),
    "thresholds": Question(
        "Which threshold, and does the network use the map?",
        "Scores over thresholds, and curves of insertion and deletion.",
        frozenset({"plot_thresholds", "plot_curves"}),
    ),
    "maps": Question(
        "What do the maps look like?",
        "Images with their maps, the outline of what was marked, and the score.",
        frozenset({"plot_gallery", "plot_overlay", "plot_gaze"}),
    ),
    "planning": Question(
        "How many cases are needed, and which were used?",
        "Plans of studies, the flow of cases, and how often intervals hold the truth.",
        frozenset({"power", "describe_patients", "case_flow", "plot_coverage"}),
    ),
}
#: Functions of several sections: an item belongs to the first section here that has one of its functions.
_SPECIAL_FIRST = (
    "maps",
    "readers",
    "classifier",
    "covariates",
    "planning",
    "thresholds",
    "comparison",
    "scores",
)


def section(item: Item) -> str:
    """Return the section that an item stands in."""
    functions = set(re.findall(r"ss\.(\w+)\(", item.code))
    if "summarize" in functions:
        # some figures of means are ordered by a decrease
        return "scores"
    for name in _SPECIAL_FIRST:
        if functions & QUESTIONS[name].functions:
            return name
    raise LookupError(f"{item.title!r} has no section; add its function to QUESTIONS of docs/gallery.py")


def stem(item: Item) -> str:
    """Name of an item's page."""
    return re.sub(r"\W+", "_", item.title).strip("_")


def position(file: str) -> int:
    """Place of a script among the items."""
    return [stem(item) for item in ITEMS].index(Path(file).stem)


def write_scripts(folder: Path, pages: Path) -> None:
    """Write one script of every call, as sphinx-gallery reads them; pages of former ones go."""
    header = "GALLERY_HEADER.rst"
    line = "=" * len("Gallery")
    title = heading("Gallery", "Every figure and table by the question that it answers, with its code.")
    wanted = {folder / header: f":html_theme.sidebar_secondary.remove: true\n\n{line}\n{title}"}
    for name, section_of in QUESTIONS.items():
        wanted[folder / name / header] = heading(section_of.question, section_of.answer)
    for item in ITEMS:
        frame = next((f for f in SHOWN if f in item.frames), None)
        if frame:
            wanted[folder / section(item) / f"{stem(item)}.py"] = script(item, FRAMES[frame])
    for file, text in wanted.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    for file in set(folder.rglob("*.*")) - set(wanted):
        file.unlink()
    for page in pages.rglob("*.rst"):
        made_of = folder / page.relative_to(pages).with_suffix(".py")
        if page.name != "index.rst" and made_of not in wanted:
            page.unlink()


def heading(title: str, *paragraphs: str) -> str:
    """A title with what is said below it."""
    return "\n\n".join([f"{title}\n{'=' * len(title)}", *paragraphs]) + "\n"


def script(item: Item, frame: str) -> str:
    """Title, what its functions are for, the frame, the call."""
    functions = dict.fromkeys(re.findall(r"ss\.((?:plot|table)_\w+)", item.code))
    about = [f":func:`~salstats.{n}`: {inspect.getdoc(getattr(ss, n)).splitlines()[0]}" for n in functions]
    title = item.title if "_" in item.title else item.title.capitalize()
    code = "\n".join(["import salstats as ss", dedent(frame).rstrip(), dedent(item.code).strip()])
    return f'"""\n{heading(title, *about)}"""\n\n{code}\n'


def scrape(block: Any, names: dict[str, Any], conf: dict[str, Any]) -> str:
    """Show what a script returns, and the frames behind it; the first picture is the page's thumbnail."""
    variables = names["example_globals"]
    result = variables["___"]
    results = result if isinstance(result, list) else [result]
    thumbnail = Path(next(names["image_path_iterator"]))
    target = Path(names["target_file"])
    title, rst = target.stem.replace("_", " "), ""
    pictures = []
    for one in results:
        if isinstance(one, GT):
            rst += raw_html(one.as_raw_html())
            continue
        for number, page in enumerate(one.at(WIDTH_MM).pages, 1):
            file = Path(next(names["image_path_iterator"]))
            page.alone().save(file, dpi=DPI, verbose=False)
            pictures.append(file)
            path = file.relative_to(conf["src_dir"]).as_posix()
            rst += f"\n.. image:: /{path}\n   :alt: {title}, figure on page {number}\n"
    if pictures:
        save_top(pictures[0], thumbnail)
    else:
        # of a table there is a picture only by way of Chromium
        ss.save_table(results[0], thumbnail, overwrite=True)
        save_top(thumbnail, thumbnail, width=round(TABLE_MM / MM_PER_INCH * TABLE_DPI))
    item = ITEMS[position(target.name)]
    for expression in drawn_arguments(item.code):
        for frame in frames_of(eval(expression, variables)):
            rst += frame_rows(expression, frame)
    return rst


def raw_html(html: str) -> str:
    """Return HTML as a notebook's output, which scrolls by itself and is shown on paper in the dark."""
    output = f'<div class="cell_output"><div class="output text_html">{html}</div></div>'
    return f"\n.. raw:: html\n\n{indent(output, '   ')}\n"


def drawn_arguments(code: str) -> list[str]:
    """Return the arguments of the drawing functions in the last statement of a call, each once, as code."""
    arguments: list[str] = []
    for node in ast.walk(ast.parse(dedent(code).strip()).body[-1]):
        if isinstance(node, ast.Call) and re.match(r"ss\.(plot|table)_", ast.unparse(node.func)):
            arguments += [ast.unparse(argument) for argument in node.args]
    return list(dict.fromkeys(arguments))


def frames_of(argument: object) -> list[pd.DataFrame]:
    """Return the frames of an argument: itself, or those of a mapping; none of a study or a name."""
    values = argument.values() if isinstance(argument, dict) else [argument]
    return [value for value in values if isinstance(value, pd.DataFrame)]


def frame_rows(name: str, frame: pd.DataFrame) -> str:
    """Show the first rows of a frame, without columns that are empty in all of its rows."""
    filled = frame.dropna(axis="columns", how="all")
    first = filled.head(FRAME_ROWS)
    n_rows = f"its first {len(first)} of {len(frame):,} rows" if len(frame) > len(first) else "all rows"
    html = first.to_html(index=False, border=0, na_rep="", float_format="{:.4g}".format)
    return f"\n``{name}``, {n_rows}:\n{raw_html(html)}"


def save_top(source: Path, target: Path, *, width: int | None = None) -> None:
    """Save the top of a picture, or its upper left if a width in pixels is given, as thumbnails are."""
    with Image.open(source) as picture:
        width = min(width or picture.width, picture.width)
        height = min(round(width * THUMBNAIL_PX[1] / THUMBNAIL_PX[0]), picture.height)
        top = picture.crop((0, 0, width, height))
    top.save(target)

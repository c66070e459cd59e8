"""The gallery: sphinx-gallery runs the calls of `analyses/gallery_items.py` and shows what they give."""

import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from great_tables import GT
from PIL import Image

import salstats as ss
from salstats.display.plots.layout.figure import Figure

HERE = Path(__file__).parent
# after this folder, whose name a module there has, too
sys.path.append(str(HERE.parent / "analyses"))
from gallery_items import FRAMES, ITEMS, Item  # noqa: E402

WIDTH_MM, THUMBNAIL_MM, DPI = 183, 89, 160
#: What a thumbnail shows of a table that is wider: its upper left.
TABLE_MM, TABLE_DPI, MM_PER_INCH = 110, 300, 25.4
#: Width and height of thumbnails in pixels, twice as large as they are shown.
THUMBNAIL_PX = (560, 392)
#: Frames whose calls a page shows; the awkward ones are for those who change figures.
SHOWN = ("embedded", "eight methods", "images", "gaze")


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
    return next(name for name in _SPECIAL_FIRST if functions & QUESTIONS[name].functions)


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
    """Show what the last line of a script gave; the first picture is its thumbnail."""
    given = names["example_globals"]["___"]
    shown = given if isinstance(given, list) else [given]
    save_thumbnail(shown[0], Path(next(names["image_path_iterator"])))
    title, rst = Path(names["target_file"]).stem.replace("_", " "), ""
    for one in shown:
        if isinstance(one, GT):
            # as a notebook's output, which the theme lets scroll by itself and shows on paper in the dark
            table = f'<div class="cell_output"><div class="output text_html">{one.as_raw_html()}</div></div>'
            rst += f"\n.. raw:: html\n\n{indent(table, '   ')}\n"
            continue
        for number, page in enumerate(one.at(WIDTH_MM).pages, 1):
            file = Path(next(names["image_path_iterator"]))
            page.alone().save(file, dpi=DPI, verbose=False)
            path = file.relative_to(conf["src_dir"]).as_posix()
            rst += f"\n.. image:: /{path}\n   :alt: {title}, figure on page {number}\n"
    return rst


def save_thumbnail(one: Figure | GT, file: Path) -> None:
    """Save the top of a figure as it is in a column, or of a table, which takes Chromium."""
    if isinstance(one, GT):
        ss.save_table(one, file, overwrite=True)
        width = round(TABLE_MM / MM_PER_INCH * TABLE_DPI)
    else:
        one.at(THUMBNAIL_MM).alone().save(file, dpi=DPI, verbose=False)
        width = THUMBNAIL_PX[0]
    with Image.open(file) as picture:
        width = min(width, picture.width)
        height = min(round(width * THUMBNAIL_PX[1] / THUMBNAIL_PX[0]), picture.height)
        top = picture.crop((0, 0, width, height))
    top.save(file)

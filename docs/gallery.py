"""The gallery: sphinx-gallery runs the calls of `analyses/gallery_items.py` and shows what they give."""

import inspect
import re
import sys
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
#: Sections and what is said of them, in order.
SECTIONS = {
    "figures": ("Figures", "What is shown of scores and estimates."),
    "tables": (
        "Tables",
        "As they go into a paper; `save_table` writes them for Word, LaTeX, Excel and the web.",
    ),
    "maps": ("Pictures of maps", "Images with their maps, the outline of what was marked, and the score."),
    "models": ("Models", "Regressions: their tables, their figures and what follows from them."),
}


def section(item: Item) -> str:
    """Section that an item stands in."""
    if re.search(r"ss\.plot_(gallery|overlay|gaze)\(", item.code):
        return "maps"
    if re.search(r"ss\.(fit|regress|augment)\(", item.code):
        return "models"
    return "figures" if "ss.plot_" in item.code else "tables"


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
    title = heading("Gallery", "Every figure and table, with the code that made it.")
    wanted = {folder / header: f":html_theme.sidebar_secondary.remove: true\n\n{line}\n{title}"}
    for name, said in SECTIONS.items():
        wanted[folder / name / header] = heading(*said)
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

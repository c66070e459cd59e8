"""The gallery: sphinx-gallery runs the calls of `analyses/gallery_items.py` and shows what they give."""

import inspect
import re
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from great_tables import GT

import salstats as ss
from salstats.display.plots.figure import Figure

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "analyses"))
from gallery_items import FRAMES, ITEMS, Item  # noqa: E402

WIDTH_MM = 183
#: Frames whose calls a page shows; the awkward ones are for those who change figures.
SHOWN = ("embedded", "eight methods", "images")


def write_scripts(folder: Path) -> None:
    """Write one script of every call, as sphinx-gallery reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    head = "Gallery\n=======\n\nEvery figure and table, with the code that made it from embedded data.\n"
    wanted = {folder / "GALLERY_HEADER.rst": head}
    for item in ITEMS:
        frame = next((f for f in SHOWN if f in item.frames), None)
        if frame:
            stem = "example_" + re.sub(r"\W+", "_", item.title).strip("_")
            wanted[folder / f"{stem}.py"] = script(item, FRAMES[frame])
    for file in set(folder.iterdir()) - set(wanted):
        file.unlink()
    for file, text in wanted.items():
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def script(item: Item, frame: str) -> str:
    """Title, what its functions are for, the frame, the call."""
    shown = dict.fromkeys(re.findall(r"ss\.((?:plot|table)_\w+)", item.code))
    about = [f":func:`salstats.{n}`: {inspect.getdoc(getattr(ss, n)).splitlines()[0]}" for n in shown]
    title = f"{item.title}\n{'=' * len(item.title)}"
    head = "\n\n".join(['"""', title, *about, '"""', "import salstats as ss"])
    return f"{head}\n\n{dedent(frame).strip()}\n\n# %%\n\n{dedent(item.code).strip()}\n"


def scrape(block: Any, names: dict[str, Any], conf: dict[str, Any]) -> str:
    """Save what a block gave: figures at a page's width, and of tables the thumbnail."""
    given = names["example_globals"].get("___")
    rst = ""
    for one in given if isinstance(given, list) else [given]:
        for page in one.at(WIDTH_MM).pages if isinstance(one, Figure) else ():
            file = Path(next(names["image_path_iterator"]))
            page.alone().save(file, dpi=160, verbose=False)
            rst += f"\n.. image:: /{file.relative_to(conf['src_dir'])}\n   :alt: {names['target_file']}\n"
        if isinstance(one, GT):
            if not isinstance(given, list):
                ss.save_table(one, next(names["image_path_iterator"]))
            rst += f"\n.. raw:: html\n\n{indent(one.as_raw_html(), '   ')}\n"
    return rst

"""A page of every figure and table, with the code that made it, from embedded data and awkward frames.

Writes OUT/index.html and its pictures: each figure laid out for a journal's column and for its page, at its
printed size, each table as it is printed. Faults stand beside a picture: it is higher than a page, or its
letters are too small, cut, or lie on others.

Example: python analyses/gallery.py -o gallery --only "plot_decrease|table_decrease"
"""

import argparse
import ast
import html
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from textwrap import dedent
from typing import Any

import matplotlib.pyplot as plt
import plotnine as p9
from gallery_items import FRAMES, ITEMS, Item
from great_tables import GT
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.transforms import Affine2D, Bbox
from PIL import Image

import salstats as ss
from salstats.display.export.figure_files import save_figure_as, size_inches
from salstats.display.plots.layout.figure import Figure
from salstats.errors import SalstatsWarning

#: Widths of a journal's column and page.
WIDTHS_MM = (89, 183)
DPI = 150
MM_PER_INCH = 25.4
#: Height of a journal's page.
PAGE_MM = 247
#: Smallest letters that can be read in print.
LEAST_PT = 6.0
#: Rounding of a letter's box on each side.
ROUNDING_PX = 0.5
HEAD = """<!doctype html><meta charset="utf-8"><title>salstats: figures and tables</title><style>
body {font: 14px/1.4 system-ui, sans-serif; margin: 2em; max-width: 1500px} h2 {margin-top: 2.5em}
article {border-top: 1px solid #ccc; padding: 1em 0} pre {background: #f6f6f6; padding: .7em; overflow: auto}
.shown {display: flex; gap: 1em; align-items: flex-start; overflow: auto} figure {margin: 0}
figcaption {color: #555} img {outline: 1px dashed #ccc} .bad {color: #b00; font-weight: 600}
</style><h1>Figures and tables</h1>
"""


@dataclass
class Picture:
    """A picture of a figure or a table as HTML, with its faults."""

    body: str
    size: str = ""
    faults: tuple[str, ...] = ()


def run(code: str, names: dict[str, Any]) -> Any:
    """Run code and return the value of its last expression."""
    parsed = ast.parse(dedent(code).strip())
    last = ast.Expression(parsed.body.pop().value)  # type: ignore[attr-defined]
    exec(compile(parsed, "gallery", "exec"), names)
    return eval(compile(last, "gallery", "eval"), names)


@dataclass
class Line:
    """A line of text as it is drawn, in pixels.

    Attributes
    ----------
    text : str
    size : float
        Size of the letters in points.
    angle : float
    box : Bbox
        Upright box around the line.
    level_box : Bbox
        Box around the line in the direction of its text.
    """

    text: str
    size: float
    angle: float
    box: Bbox
    level_box: Bbox

    def overlaps(self, line: "Line") -> bool:
        """Return whether two lines of text overlap."""
        if self.angle == line.angle and not self.level_box.overlaps(line.level_box):
            return False
        return bool(self.box.overlaps(line.box))

    def is_in(self, picture: Bbox) -> bool:
        """Return whether the whole line is inside the picture."""
        return bool(
            picture.x0 <= self.box.x0
            and picture.y0 <= self.box.y0
            and self.box.x1 <= picture.x1
            and self.box.y1 <= picture.y1
        )


def text_lines(page: p9.ggplot) -> tuple[Bbox, list[Line]]:
    """Return the box of a picture and its lines of text."""
    lines: list[Line] = []

    def record(gc, x, y, text, prop, angle, ismath=False, mtext=None) -> None:  # type: ignore[no-untyped-def]
        """Record a line of text; it takes the place of the renderer's `draw_text`."""
        full_width, _, _ = renderer.get_text_width_height_descent(text, prop, ismath)
        width, height, descent = renderer.get_text_width_height_descent(text.lstrip(), prop, ismath)
        rotation = Affine2D().rotate_deg(angle)
        left, baseline = rotation.inverted().transform((x, renderer.height - y))
        right = left + full_width
        bottom = baseline - descent
        level_box = Bbox.from_extents(right - width, bottom, right, bottom + height).padded(-ROUNDING_PX)
        box = level_box.transformed(rotation)
        lines.append(Line(text, prop.get_size_in_points(), angle, box, level_box))

    # without hinting letters are as wide in pixels as on paper, as in saved figures
    with plt.rc_context({"text.hinting": "no_hinting"}):
        figure = (page + p9.theme(dpi=DPI)).draw(show=False)
        try:
            canvas = FigureCanvasAgg(figure)
            canvas.draw()
            renderer = canvas.get_renderer()
            renderer.draw_text = record
            figure.draw(renderer)
        finally:
            plt.close(figure)
    return figure.bbox, [line for line in lines if line.text.strip()]


def faults(page: p9.ggplot) -> list[str]:
    """List the faults of a page: its height, and letters that are too small, cut or overlap others."""
    _, height_inches = size_inches(page)
    height_mm = height_inches * MM_PER_INCH
    picture, lines = text_lines(page)
    texts = []
    if height_mm > PAGE_MM + 0.5:
        texts.append(f"{height_mm:.0f} mm high")
    texts += [f"{line.text!r} in {line.size:.1f} pt" for line in lines if line.size < LEAST_PT - 0.01]
    texts += [f"{line.text!r} is cut" for line in lines if not line.is_in(picture)]
    for first, second in combinations(lines, 2):
        if first.overlaps(second):
            texts.append(f"{first.text!r} lies on {second.text!r}")
    return list(dict.fromkeys(texts))


def figure_pictures(figure: Figure, stem: str, folder: Path) -> list[Picture]:
    """Save every page of a figure at both widths."""
    pictures = []
    for width in WIDTHS_MM:
        for number, page in enumerate(figure.at(width).pages, 1):
            file = folder / f"{stem}-{width}-{number}.png"
            size = size_inches(page)
            save_figure_as(page, [file], size, DPI)
            body = f'<img src="{file.name}" style="width:{width}mm" alt="">'
            size_text = f"{width} x {size[1] * MM_PER_INCH:.0f} mm"
            pictures.append(Picture(body, size_text, tuple(faults(page))))
    return pictures


def table_pictures(table: GT, stem: str, folder: Path) -> list[Picture]:
    """Save every page of a table as it is printed, and its page for the browser."""
    later_pages = f"{stem}-[2-9].png"
    for file in folder.glob(later_pages):
        file.unlink()
    ss.save_table(table, folder / f"{stem}.html", overwrite=True)
    first_page = ss.save_table(table, folder / f"{stem}.png", overwrite=True)
    pictures = []
    for file in (first_page, *sorted(folder.glob(later_pages))):
        with Image.open(file) as image:
            dpi, _ = image.info["dpi"]
            width = image.width / dpi * MM_PER_INCH
            height = image.height / dpi * MM_PER_INCH
        body = f'<a href="{stem}.html"><img src="{file.name}" style="width:{width:.0f}mm" alt=""></a>'
        pictures.append(Picture(body, f"{width:.0f} x {height:.0f} mm"))
    return pictures


def item_pictures(item: Item, frame: str, folder: Path, names: dict[str, Any]) -> list[Picture]:
    """Run an item with a frame, and save the figures and tables that it returns."""
    stem = re.sub(r"\W+", "-", f"{frame}-{item.title}".lower()).strip("-")
    try:
        result = run(item.code, names)
        if not isinstance(result, list):
            return result_pictures(result, stem, folder)
        pictures = []
        for number, member in enumerate(result):
            member_stem = f"{stem}-{number}" if len(result) > 1 else stem
            pictures += result_pictures(member, member_stem, folder)
        return pictures
    except Exception as error:  # an item that fails is shown as failing, the others go on
        traceback.print_exc()
        return [Picture(f"<pre>{html.escape(str(error))}</pre>", faults=(type(error).__name__,))]


def result_pictures(result: GT | Figure, stem: str, folder: Path) -> list[Picture]:
    """Save a table or a figure."""
    if isinstance(result, GT):
        return table_pictures(result, stem, folder)
    return figure_pictures(result, stem, folder)


def article(item: Item, pictures: Sequence[Picture], messages: Sequence[str]) -> str:
    """Return an item as HTML: its code, its warnings and its pictures."""
    figures = "".join(
        f"<figure>{picture.body}<figcaption>{picture.size} <span class=bad>{', '.join(picture.faults)}</span>"
        "</figcaption></figure>"
        for picture in pictures
    )
    notes = "".join(f"<p class=bad>{html.escape(text)}</p>" for text in dict.fromkeys(messages))
    code = html.escape(dedent(item.code).strip())
    head = f"<article><h3>{html.escape(item.title)}</h3><pre>{code}</pre>{notes}"
    return f'{head}<div class="shown">{figures}</div></article>\n'


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Return the parser of a script that draws into a folder."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="folder to write into"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--only", default="", help="regular expression of the code or frame to show")
    options = parser.parse_args(argv)
    options.output.mkdir(parents=True, exist_ok=True)
    page = [HEAD]
    faulty = []
    # it may end with the title, which is a line of its own
    pattern = re.compile(options.only, re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        for frame, start in FRAMES.items():
            items = [item for item in ITEMS if frame in item.frames]
            items = [item for item in items if pattern.search(f"{frame}: {item.title}\n{item.code}")]
            if not items:
                continue
            names: dict[str, Any] = {"ss": ss, "folder": Path(folder)}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(dedent(start), names)
            page.append(f"<h2>{html.escape(frame)}</h2><pre>{html.escape(dedent(start).strip())}</pre>\n")
            for item in items:
                print(f"{frame}: {item.title}", file=sys.stderr)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", SalstatsWarning)
                    pictures = item_pictures(item, frame, options.output, dict(names))
                messages = [str(w.message) for w in caught if issubclass(w.category, SalstatsWarning)]
                page.append(article(item, pictures, messages))
                for picture in pictures:
                    faulty += [f"{frame}: {item.title}: {text}" for text in picture.faults]
    (options.output / "index.html").write_text("".join(page), encoding="utf-8")
    print(*faulty, sep="\n")
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())

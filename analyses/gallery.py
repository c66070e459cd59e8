"""A page of every figure and table, with the code that made it, from embedded data and awkward frames.

Writes OUT/index.html and its pictures: each figure laid out for a journal's column and for its page, at its
printed size, each table as it is printed. What is higher than a page or has too small letters is said.

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

WIDTHS_MM, DPI, MM_PER_INCH = (89, 183), 150, 25.4
#: A journal's page, and what can be read in print.
PAGE_MM, LEAST_PT = 247, 6.0
#: What a letter's room has of rounding on each side.
ROUNDING_PX = 0.5
HEAD = """<!doctype html><meta charset="utf-8"><title>salstats: figures and tables</title><style>
body {font: 14px/1.4 system-ui, sans-serif; margin: 2em; max-width: 1500px} h2 {margin-top: 2.5em}
article {border-top: 1px solid #ccc; padding: 1em 0} pre {background: #f6f6f6; padding: .7em; overflow: auto}
.shown {display: flex; gap: 1em; align-items: flex-start; overflow: auto} figure {margin: 0}
figcaption {color: #555} img {outline: 1px dashed #ccc} .bad {color: #b00; font-weight: 600}
</style><h1>Figures and tables</h1>
"""


@dataclass
class Seen:
    """A picture or a table on the page, and what is wrong with it."""

    body: str
    size: str = ""
    wrong: tuple[str, ...] = ()


def run(code: str, names: dict[str, Any]) -> Any:
    """Run code and return the value of its last expression."""
    parsed = ast.parse(dedent(code).strip())
    last = ast.Expression(parsed.body.pop().value)  # type: ignore[attr-defined]
    exec(compile(parsed, "gallery", "exec"), names)
    return eval(compile(last, "gallery", "eval"), names)


@dataclass
class Line:
    """A line of text as it is drawn, in pixels: its room, and that in its own direction."""

    words: str
    size: float
    angle: float
    room: Bbox
    level: Bbox

    def lies_on(self, other: "Line") -> bool:
        """Return whether two lines of text overlap."""
        turned = self.angle != other.angle or self.level.overlaps(other.level)
        return bool(turned and self.room.overlaps(other.room))

    def is_in(self, picture: Bbox) -> bool:
        """Return whether the whole line is inside the picture."""
        (x0, y0, x1, y1), own = picture.extents, self.room
        return bool(x0 <= own.x0 and y0 <= own.y0 and own.x1 <= x1 and own.y1 <= y1)


def lines_of(page: p9.ggplot) -> tuple[Bbox, list[Line]]:
    """A picture's room and its lines of text."""
    lines: list[Line] = []

    def note(gc, x, y, words, prop, angle, ismath=False, mtext=None) -> None:  # type: ignore[no-untyped-def]
        whole, _, _ = renderer.get_text_width_height_descent(words, prop, ismath)
        wide, high, below = renderer.get_text_width_height_descent(words.lstrip(), prop, ismath)
        turn = Affine2D().rotate_deg(angle)
        x, y = turn.inverted().transform((x, renderer.height - y))
        left, right = x + whole - wide, x + whole
        level = Bbox.from_extents(left, y - below, right, y + high - below).padded(-ROUNDING_PX)
        lines.append(Line(words, prop.get_size_in_points(), angle, level.transformed(turn), level))

    # as wide in pixels as on paper, as saved figures are
    with plt.rc_context({"text.hinting": "no_hinting"}):
        drawn = (page + p9.theme(dpi=DPI)).draw(show=False)
        try:
            canvas = FigureCanvasAgg(drawn)
            canvas.draw()
            renderer = canvas.get_renderer()
            renderer.draw_text = note
            drawn.draw(renderer)
        finally:
            plt.close(drawn)
    return drawn.bbox, [line for line in lines if line.words.strip()]


def faults(page: p9.ggplot) -> list[str]:
    """List the faults of a page: its height, and letters that are too small, cut or overlap others."""
    height, (picture, lines) = size_inches(page)[1] * MM_PER_INCH, lines_of(page)
    wrong = [f"{height:.0f} mm high"] if height > PAGE_MM + 0.5 else []
    wrong += [f"{a.words!r} in {a.size:.1f} pt" for a in lines if a.size < LEAST_PT - 0.01]
    wrong += [f"{a.words!r} is cut" for a in lines if not a.is_in(picture)]
    wrong += [f"{a.words!r} lies on {b.words!r}" for a, b in combinations(lines, 2) if a.lies_on(b)]
    return list(dict.fromkeys(wrong))


def see_figure(figure: Figure, stem: str, out: Path) -> list[Seen]:
    """Every page of a figure at both widths."""
    seen = []
    for width in WIDTHS_MM:
        for number, page in enumerate(figure.at(width).pages, 1):
            file = out / f"{stem}-{width}-{number}.png"
            size = size_inches(page)
            save_figure_as(page, [file], size, DPI)
            body = f'<img src="{file.name}" style="width:{width}mm" alt="">'
            seen.append(Seen(body, f"{width} x {size[1] * MM_PER_INCH:.0f} mm", tuple(faults(page))))
    return seen


def see_table(table: GT, stem: str, out: Path) -> list[Seen]:
    """Every page of a table as it is printed, and its page for the browser."""
    further = f"{stem}-[2-9].png"
    for old in out.glob(further):
        old.unlink()
    ss.save_table(table, out / f"{stem}.html", overwrite=True)
    first = ss.save_table(table, out / f"{stem}.png", overwrite=True)
    seen = []
    for file in (first, *sorted(out.glob(further))):
        with Image.open(file) as picture:
            width, height = (side / picture.info["dpi"][0] * MM_PER_INCH for side in picture.size)
        body = f'<a href="{stem}.html"><img src="{file.name}" style="width:{width:.0f}mm" alt=""></a>'
        seen.append(Seen(body, f"{width:.0f} x {height:.0f} mm"))
    return seen


def see(item: Item, frame: str, out: Path, names: dict[str, Any]) -> list[Seen]:
    """Run an item with a frame, and return its part of the page."""
    stem = re.sub(r"\W+", "-", f"{frame}-{item.title}".lower()).strip("-")
    try:
        made = run(item.code, names)
        made = made if isinstance(made, list) else [made]
        seen = []
        for number, one in enumerate(made):
            own = f"{stem}-{number}" if len(made) > 1 else stem
            seen += see_table(one, own, out) if isinstance(one, GT) else see_figure(one, own, out)
        return seen
    except Exception as error:  # one that fails is shown as failing, the others go on
        traceback.print_exc()
        return [Seen(f"<pre>{html.escape(str(error))}</pre>", wrong=(type(error).__name__,))]


def article(item: Item, seen: Sequence[Seen], said: Sequence[str]) -> str:
    """An item as HTML: its code, then what it made."""
    shown = "".join(
        f"<figure>{one.body}<figcaption>{one.size} <span class=bad>{', '.join(one.wrong)}</span>"
        "</figcaption></figure>"
        for one in seen
    )
    notes = "".join(f"<p class=bad>{html.escape(text)}</p>" for text in dict.fromkeys(said))
    code = html.escape(dedent(item.code).strip())
    head = f"<article><h3>{html.escape(item.title)}</h3><pre>{code}</pre>{notes}"
    return f'{head}<div class="shown">{shown}</div></article>\n'


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Parser of a script that draws into a folder."""
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
    page, wrong = [HEAD], []
    with tempfile.TemporaryDirectory() as folder:
        for frame, start in FRAMES.items():
            items = [
                item
                for item in ITEMS
                if frame in item.frames and re.search(options.only, f"{frame}: {item.title}\n{item.code}")
            ]
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
                    seen = see(item, frame, options.output, dict(names))
                said = [str(w.message) for w in caught if issubclass(w.category, SalstatsWarning)]
                page.append(article(item, seen, said))
                wrong += [f"{frame}: {item.title}: {text}" for one in seen for text in one.wrong]
    (options.output / "index.html").write_text("".join(page), encoding="utf-8")
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

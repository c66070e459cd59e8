"""The house theme, palette and sizes of every figure."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import plotnine as p9
from matplotlib import font_manager
from matplotlib.colors import to_hex, to_rgb

#: Width of one column of a journal and of its page, in mm (Nature; others are within 3 mm).
COLUMN_MM = 89.0
PAGE_MM = 183.0
#: Height of a journal's page in mm.
PAGE_HEIGHT_MM = 247.0
MM_PER_INCH = 25.4
#: Width in mm of one column and of two, by journal or publisher, as their guides for authors say.
COLUMNS_MM = {
    "nature": (COLUMN_MM, PAGE_MM),
    "cell": (85.0, 174.0),
    "elsevier": (90.0, 190.0),
    "ieee": (88.9, 181.9),
    "plos": (132.0, 190.5),
    "pnas": (87.0, 178.0),
    "science": (57.0, 121.0),
    "springer": (84.0, 174.0),
}
MM_PER_PT = MM_PER_INCH / 72
#: Size of text in points: journals ask for 5 to 8.
TEXT_PT = 7.0
#: Height of a line of text.
LINE_MM = 1.2 * TEXT_PT * MM_PER_PT
#: Colours of methods and other categories. Their contrast on white is at least 3:1, and they differ as much
#: as possible from each other and from black for readers with normal vision, deuteranopia, protanopia and
#: tritanopia (the result of a search, whose criteria the test checks). The first three also differ in grey.
PALETTE = ("#004488", "#E66D20", "#833FE7", "#1EA372", "#B30000", "#8291BE", "#AC5B84", "#066A4C")
#: Colour of the human benchmark and other references, which no method has.
REFERENCE_COLOUR = "#000000"
#: Light fills of the palette's colours and of the reference's, tints of these. Their lightness differs in
#: steps of 4.2 or more (CIE L*, 60 to 95), that of the first three and of the reference by 8.7, so that they
#: differ in grey. Every two differ by 7 (CIEDE2000) for readers with normal vision, deuteranopia, protanopia
#: and tritanopia. They are the result of a search, whose criteria the test checks.
FILLS = ("#8CABCA", "#F7D0B8", "#F4EEFD", "#CDEBE0", "#E4A3A3", "#C4C9F1", "#C58CA8", "#5B9D89")
REFERENCE_FILL = "#BFBFBF"
#: Share of white in the fill of a colour that is not in the palette.
_WHITE_SHARE = 0.6
#: Colour of lines that only help the eye.
GUIDE = "#BBBBBB"
#: Colour of less important text.
MUTED = "#555555"
#: Negative end, middle and positive end of a diverging scale (the ends of Tol's "sunset", white between).
DIVERGING = ("#364B9A", "#FFFFFF", "#A50026")
#: Marks of categories, which all have an inside that can be filled or left white.
SHAPES = ("o", "s", "^", "v", "<", ">", "d", "p")
REFERENCE_SHAPE = "D"
#: Types of lines, as many as the palette has colours. Those of colours that look alike in grey differ in the
#: number of their dashes, or clearly in the length of these. Tuples are Matplotlib's: an offset, and lengths
#: of dashes and gaps in turn.
LINETYPES: tuple[Any, ...] = (
    "solid",
    "dashed",
    "dotted",
    "dashdot",
    (0, (3, 1)),
    (0, (2, 3)),
    (0, (8, 2, 2, 2)),
    (0, (5, 1, 1, 1, 1, 1)),
)
REFERENCE_LINE: Any = (0, (8, 2))
#: Room in mm between a figure and its caption.
_CAPTION_GAP_MM = 1.3
#: Well-known methods by the position of their colour in the palette. Methods of one family, and those that
#: are often compared, have different positions. Where a figure shows two methods of one position, the first
#: in the list has its colour.
WELL_KNOWN_METHODS = (
    ("Grad-CAM", "Saliency method"),
    ("Occlusion", "Ablation-CAM"),
    ("Integrated Gradients", "XGrad-CAM", "CAM"),
    ("Layer-CAM", "LRP"),
    ("RISE", "Score-CAM", "Input x Gradient"),
    ("Eigen-CAM", "LIME"),
    ("DeepLIFT", "HiRes-CAM", "Attention rollout"),
    ("Grad-CAM++", "SHAP", "KernelSHAP", "GradientSHAP"),
)
#: Sans-serif faces that journals ask for, and at last the one that Matplotlib contains.
_FACES = ("Arial", "Helvetica", "Liberation Sans", "DejaVu Sans")
#: Faces of usual systems that have characters which those lack: symbols, then Chinese, Japanese and Korean.
_FALLBACK_FACES = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Microsoft YaHei",
    "PingFang SC",
    "Hiragino Sans",
    "Yu Gothic",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Arial Unicode MS",
)


@dataclass(frozen=True)
class LineStyle:
    """Colour and type of a line; `linetype` is a type of Matplotlib, such as "dashed"."""

    colour: str
    linetype: Any


def light_fill(colour: str) -> str:
    """Return the light fill of a mark in a colour, given as "#RRGGBB"."""
    fill_of = {**dict(zip(PALETTE, FILLS, strict=True)), REFERENCE_COLOUR: REFERENCE_FILL}
    if colour in fill_of:
        return fill_of[colour]
    red, green, blue = (channel + _WHITE_SHARE * (1 - channel) for channel in to_rgb(colour))
    return to_hex((red, green, blue))


@cache
def font() -> str:
    """Return the first of the journals' sans-serif faces that is installed, by name."""
    return next(face for face in _FACES if face in _installed_faces())


@cache
def fallback_fonts() -> tuple[str, ...]:
    """Return the installed faces in which characters are drawn that `font` lacks, the first choice first."""
    return tuple(face for face in _FALLBACK_FACES if face in _installed_faces() and face != font())


@cache
def _installed_faces() -> frozenset[str]:
    """Return the names of the faces that Matplotlib finds."""
    return frozenset(entry.name for entry in font_manager.fontManager.ttflist)


def theme_salstats(*, base_size: float = TEXT_PT, font_family: str | None = None) -> p9.theme:
    """Return the theme of salstats' figures: white, thin axes, no box, small bold panel titles.

    Parameters
    ----------
    base_size : float
        Size of text in points.
    font_family : str, optional
        A face Matplotlib knows; by default Arial, Helvetica or Liberation Sans where one of them is
        installed, else DejaVu Sans, which Matplotlib brings along.

    Returns
    -------
    theme
        A complete plotnine theme for figures of your own. A figure of a `plot_*` function has it already; any
        theme may be added to that, such as `figure + plotnine.theme(text=element_text(size=8))`.

    Raises
    ------
    ValueError
        From Matplotlib, when drawn with a face that it does not know.

    Examples
    --------
    >>> import pandas as pd, plotnine as p9, salstats as ss
    >>> frame = pd.DataFrame({"confidence": [0.2, 0.9], "iou": [0.1, 0.4]})
    >>> figure = p9.ggplot(frame, p9.aes("confidence", "iou")) + p9.geom_point() + ss.theme_salstats()
    >>> figure.theme.getp(("text", "size"))
    7.0
    """
    face = font_family or font()
    line = p9.element_line(color="black", size=0.4)
    legend_margin = p9.themes.elements.margin(t=1.7, r=1.7, b=1.7, l=1.7)
    return p9.theme_classic(base_size=base_size, base_family=face) + p9.theme(
        text=p9.element_text(family=face, color="black"),
        axis_text=p9.element_text(size=base_size, color="black"),
        axis_title=p9.element_text(size=base_size),
        axis_line=line,
        axis_ticks=line,
        axis_ticks_length=2,
        strip_background=p9.element_blank(),
        strip_text=p9.element_text(size=base_size, weight="bold", ha="left", ma="left"),
        plot_title=p9.element_text(size=base_size + 1, weight="bold", ha="left"),
        plot_title_position="plot",
        plot_caption=p9.element_text(size=base_size - 1, color=MUTED, ha="left"),
        plot_caption_position="plot",
        legend_position="top",
        legend_title=p9.element_blank(),
        legend_text=p9.element_text(size=base_size, ma="left", margin=legend_margin),
        legend_key=p9.element_blank(),
        legend_background=p9.element_blank(),
        legend_margin=0,
        panel_spacing=0.03,
        plot_background=p9.element_rect(fill="white", color="white"),
        panel_background=p9.element_rect(fill="white"),
    )


def picture_theme(figure_width_mm: float, gap_mm: float, edge_mm: float) -> p9.theme:
    """Return the theme of panels of pictures, which have no axes.

    Lengths are in mm: the width of the figure, the gap between panels, and the margin around all of them.
    """
    blank = p9.element_blank()
    return p9.theme(
        axis_title=blank,
        axis_text=blank,
        axis_ticks=blank,
        axis_line=blank,
        panel_spacing=gap_mm / figure_width_mm,
        # plotnine takes margins as shares of the figure's width
        plot_margin=edge_mm / figure_width_mm,
        legend_box_spacing=1 / figure_width_mm,
    )


def tile_axes(text_options: Mapping[str, Any]) -> p9.theme:
    """Return axes of tiles: names below them, drawn with these options, and no titles, lines and ticks."""
    return p9.theme(
        axis_title=p9.element_blank(),
        axis_line=p9.element_blank(),
        axis_ticks=p9.element_blank(),
        axis_text_x=p9.element_text(va="top", **text_options),
    )


def figure_size(width_mm: float, height_mm: float) -> p9.theme:
    """Return a theme with the physical size of a figure and the room above its caption."""
    return p9.theme(
        figure_size=(width_mm / MM_PER_INCH, height_mm / MM_PER_INCH),
        plot_caption=p9.element_text(margin=top_margin(_CAPTION_GAP_MM, width_mm)),
    )


def top_margin(mm: float, width_mm: float) -> dict[Literal["t", "b", "l", "r", "unit"], Any]:
    """Return a margin above text as plotnine takes it: as a share of the figure's width."""
    return {"t": mm / width_mm, "unit": "fig"}

"""Layers over pictures of maps: outlines, marks, scale bars, texts and the colour scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.overlay_sheet import TAG_PT, PlacedPicture
from salstats.display.plots.layout.picture_layer import MapStyle, colour_bar
from salstats.display.plots.layout.text_fit import escape_dollars
from salstats.display.plots.layout.theme import TEXT_PT, LineStyle, font
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels

#: Light lines by kind, whose types differ without colour; with a dark casing, a wider line behind each, they
#: are visible on black and on white.
_LINES = {
    "truth": LineStyle("#FFFFFF", "solid"),
    "human": LineStyle("#66D9FF", (0, (4, 1.6))),
    "mask": LineStyle("#FFE14D", (0, (1, 1))),
}
#: Shapes of marks, by kind.
_MARKS = {"peak": "X", "marked": "o"}
#: Colour of marks and scale bars, and of the casing around lines, marks and bars.
_LIGHT = "#FFFFFF"
_CASING = "#000000"


@dataclass(frozen=True)
class _BarStyle:
    """Distance of a scale bar from the edges of its picture in mm, and its width and that of its casing."""

    inset_mm: float
    bar_size: float
    casing_size: float


#: Scale bars in a figure of a single picture, and of several.
_SINGLE_BAR = _BarStyle(inset_mm=2.0, bar_size=1.0, casing_size=2.0)
_SMALL_BAR = _BarStyle(inset_mm=1.2, bar_size=0.7, casing_size=1.5)
#: Largest length of a scale bar, as a share of the width of an image.
_MAX_BAR_SHARE = 0.3
#: Option of layers whose aesthetics are not those of the whole figure.
_SEPARATE_AES: dict[str, Any] = {"inherit_aes": False}


def outline_rows(picture_table: pd.DataFrame, placed: Sequence[PlacedPicture]) -> pd.DataFrame | None:
    """Return the points of all outlines in mm: `kind`, `line` (a name for each), `x`, `y`; None without any.

    `picture_table` has a row for each picture, see `SheetTables`.
    """
    frames = []
    for number, picture in enumerate(placed):
        for kind, outlines in picture.content.outlines.items():
            points, line_numbers = points_with_line_numbers(outlines)
            line_names = [f"{number} {kind} {line_number}" for line_number in line_numbers]
            frames.append(_xy_on_sheet(picture_table, number, points, kind=kind, line=line_names))
    return _concat_kinds(frames, list(_LINES))


def mark_rows(picture_table: pd.DataFrame, placed: Sequence[PlacedPicture]) -> pd.DataFrame | None:
    """Return peaks and marked points inside their images, in mm: `kind`, `x`, `y`; None without any.

    `picture_table` has a row for each picture, see `SheetTables`.
    """
    frames = []
    for number, picture in enumerate(placed):
        for kind, points in picture.content.points.items():
            # rows from 0 to the height of the image, columns to its width
            is_inside = ((points >= 0) & (points <= picture.content.shape)).all(axis=1)
            if is_inside.any():
                frames.append(_xy_on_sheet(picture_table, number, points[is_inside], kind=kind))
    return _concat_kinds(frames, list(_MARKS))


def _xy_on_sheet(
    picture_table: pd.DataFrame, number: int, points: np.ndarray, **columns: Any
) -> pd.DataFrame:
    """Return the positions in mm of points (row, col) of a picture: `x`, `y` and further columns."""
    picture = picture_table.iloc[number]
    rows, cols = points.T
    return pd.DataFrame(
        {
            "x": picture["left"] + cols * picture["mm_per_pixel"],
            "y": picture["top"] - rows * picture["mm_per_pixel"],
            **columns,
        }
    )


def _concat_kinds(frames: list[pd.DataFrame], kind_order: list[str]) -> pd.DataFrame | None:
    """Return the frames below each other, with the kinds that occur as ordered categories of `kind`."""
    if not frames:
        return None
    frame = pd.concat(frames, ignore_index=True)
    kinds = [kind for kind in kind_order if (frame["kind"] == kind).any()]
    frame["kind"] = pd.Categorical(frame["kind"], categories=kinds, ordered=True)
    return frame


def outline_layers(
    lines: pd.DataFrame, text_of_kind: Mapping[str, str], line_size: float, n_columns: int
) -> list[Any]:
    """Return layers of outlines on their casings, the first kind at the bottom, with scales and legend.

    `lines` are the rows of `outline_rows`, `text_of_kind` the text of each kind in the legend, `line_size`
    the width of lines, and `n_columns` the number of keys of the legend side by side.
    """
    kinds = list(lines["kind"].cat.categories)
    path = p9.aes("x", "y", group="line")
    styled_path = p9.aes("x", "y", group="line", color="kind", linetype="kind")
    casing: dict[str, Any] = {"color": _CASING, "size": 2.2 * line_size, "alpha": 0.55, "show_legend": False}
    layers: list[Any] = []
    for kind in kinds:
        rows = lines[lines["kind"] == kind]
        layers.append(p9.geom_path(path, rows, **casing, **_SEPARATE_AES))
        layers.append(p9.geom_path(styled_path, rows, size=line_size, **_SEPARATE_AES))
    options: dict[str, Any] = {
        "limits": kinds,
        "labels": [escape_dollars(text_of_kind[kind]) for kind in kinds],
        "name": "",
    }
    # scales that share one guide object would show the keys of the last scale only
    guides = {
        aesthetic: p9.guide_legend(order=1, position="top", ncol=n_columns, byrow=True)
        for aesthetic in ("color", "linetype")
    }
    return [
        *layers,
        p9.scale_color_manual([_LINES[kind].colour for kind in kinds], **options),
        p9.scale_linetype_manual([_LINES[kind].linetype for kind in kinds], **options),
        p9.guides(**guides),
    ]


def mark_layers(marks: pd.DataFrame, text_of_kind: Mapping[str, str], mark_size: float) -> list[Any]:
    """Return layers of white marks with a black edge, with their scale and legend.

    `marks` are the rows of `mark_rows`, `text_of_kind` the text of each kind in the legend, and `mark_size`
    the size of marks.
    """
    kinds = list(marks["kind"].cat.categories)
    shapes = [_MARKS[kind] for kind in kinds]
    names = [escape_dollars(text_of_kind[kind]) for kind in kinds]
    mark = p9.aes("x", "y", shape="kind")
    casing_style: dict[str, Any] = {"size": 1.5 * mark_size, "fill": _CASING, "stroke": 0}
    mark_style: dict[str, Any] = {"size": mark_size, "fill": _LIGHT, "color": _LIGHT, "stroke": 0}
    return [
        p9.geom_point(mark, marks, show_legend=False, **casing_style, **_SEPARATE_AES),
        p9.geom_point(mark, marks, **mark_style, **_SEPARATE_AES),
        p9.scale_shape_manual(shapes, limits=kinds, labels=names, name=""),
        p9.guides(shape=p9.guide_legend(order=2, position="top")),
    ]


def map_colour_bar_layers(picture_table: pd.DataFrame, style: MapStyle) -> list[Any]:
    """Return the colour scale of maps, with an invisible layer, since plotnine draws no scale without one."""
    title = "Saliency (0 to 1 in each map)"
    texts = ["0", "0.5", "1"]
    width_pt = 40
    if style.limits is not None:
        title = "Saliency (one scale for all maps)"
        low, high = style.limits
        texts = [f"{value:.2g}" for value in (low, (low + high) / 2, high)]
        # numbers of several digits need more room
        width_pt = 80
    # two rectangles without a size, which have the ends of the scale as their values
    ends = picture_table.iloc[[0, 0]].assign(value=[0.0, 1.0], x=0.0, y=0.0)
    mapping = p9.aes(xmin="x", xmax="x", ymin="y", ymax="y", fill="value")
    return [
        p9.geom_rect(mapping, ends, size=0, **_SEPARATE_AES),
        p9.scale_fill_gradientn(style.scale_colours(), limits=(0, 1), breaks=[0, 0.5, 1], labels=texts),
        p9.guides(fill=colour_bar(title, width_pt)),
    ]


def mm_or_px_bar_layers_and_note(
    picture_table: pd.DataFrame, spacing: float | Mapping[str, float] | None, labels: Labels
) -> tuple[list[Any], str]:
    """Return layers of a scale bar in each picture, and a sentence on the lengths of bars without labels.

    `picture_table` has a row for each picture, see `SheetTables`. `spacing` is the size of a pixel in mm, or
    that of each case. A single picture has a bar with a label, in mm where that size is known, else in
    pixels. Of several pictures those with a known size have bars, without labels. `mm_per_pixel` and the
    positions in the table are mm on the printed sheet, `spacing` is in mm of what the image shows.
    """
    is_single = len(picture_table) == 1
    bars = picture_table.copy()
    # the unit is a mm, or a pixel where no size is known
    bars["pixels_per_unit"] = [_pixels_per_mm_or_nan(spacing, case) for case in picture_table["case"]]
    unit = "mm"
    if bars["pixels_per_unit"].isna().all():
        unit = "px"
    if not is_single:
        bars = bars[bars["pixels_per_unit"].notna()]
    bars = bars.fillna({"pixels_per_unit": 1.0})
    if bars.empty:
        return [], ""
    lengths = []
    for width, pixels_per_unit in zip(bars["width"], bars["pixels_per_unit"], strict=True):
        lengths.append(scale_bar_length(width, pixels_per_unit))
    bars["length"] = lengths
    bars["label"] = [f"{length:,.10g} {unit}" for length in bars["length"]]
    style = _SINGLE_BAR if is_single else _SMALL_BAR
    bars["x1"] = bars["right"] - style.inset_mm
    bars["x0"] = bars["x1"] - bars["length"] * bars["pixels_per_unit"] * bars["mm_per_pixel"]
    bars["y0"] = bars["bottom"] + style.inset_mm
    bars["text_y"] = bars["y0"] + 0.6
    line = p9.aes("x0", "y0", xend="x1", yend="y0")
    layers = [
        p9.geom_segment(line, bars, color=_CASING, size=style.casing_size, alpha=0.7, **_SEPARATE_AES),
        p9.geom_segment(line, bars, color=_LIGHT, size=style.bar_size, **_SEPARATE_AES),
    ]
    if is_single:
        return [*layers, _boxed_text_layer(p9.aes("x1", "text_y", label="label"), bars)], ""
    return layers, _scale_bar_note(bars, labels)


def _pixels_per_mm_or_nan(spacing: float | Mapping[str, float] | None, case: str) -> float:
    """Return the number of pixels in a mm of a case, NaN where the size of a pixel is not known."""
    if isinstance(spacing, Mapping):
        spacing = spacing.get(case)
    if spacing is None:
        return float("nan")
    return 1.0 / spacing


def _scale_bar_note(bars: pd.DataFrame, labels: Labels) -> str:
    """Return a sentence on the length of bars, with the cases of each length where they differ."""
    cases_of_length = {}
    for length, rows in bars.sort_values("length", kind="stable").groupby("label", sort=False):
        cases = [labels.value("case", case) for case in dict.fromkeys(rows["case"])]
        cases_of_length[str(length)] = joined(cases)
    if len(cases_of_length) == 1:
        return f"Bars: {next(iter(cases_of_length))}."
    lengths = "; ".join(f"{length} ({names})" for length, names in cases_of_length.items())
    return f"Bars: {lengths}."


def sheet_text_layers(texts: pd.DataFrame) -> list[Any]:
    """Return layers of names of rows, titles of columns and tags, all outside the pictures."""
    styles: dict[str, dict[str, Any]] = {
        "name": {"size": TEXT_PT, "va": "top"},
        "title": {"size": TEXT_PT, "va": "bottom", "fontweight": "bold"},
        "tag": {"size": TAG_PT, "va": "top"},
    }
    layers = []
    for kind, style in styles.items():
        rows = texts[texts["kind"] == kind]
        if len(rows):
            text = p9.aes("x", "y", label="label")
            layers.append(
                p9.geom_text(text, rows, ha="left", family=font(), color="#000000", **style, **_SEPARATE_AES)
            )
    return layers


def _boxed_text_layer(mapping: Any, rows: pd.DataFrame) -> Any:
    """Return a layer of white text on dark boxes, which is legible on any image."""
    return p9.geom_label(
        mapping,
        rows,
        size=TEXT_PT - 0.5,
        family=font(),
        color="#FFFFFF",
        # transparent black: `alpha` would make the text transparent too
        fill="#000000A6",
        label_size=0,
        label_padding=0.12,
        label_r=0.0,
        show_legend=False,
        va="bottom",
        ha="right",
        **_SEPARATE_AES,
    )


def scale_bar_length(image_width_px: float, pixels_per_unit: float = 1.0) -> float:
    """Return the length of a scale bar in units: 1, 2 or 5 times a power of ten, at most 0.3 of an image.

    `image_width_px` is that of the image in pixels.
    """
    longest = _MAX_BAR_SHARE * image_width_px / pixels_per_unit
    power = 10.0 ** np.floor(np.log10(longest))
    # the logarithm may be rounded up to that of the next power
    lengths = [factor * power for factor in (0.5, 1, 2, 5)]
    return float(max(length for length in lengths if length <= longest))


def points_with_line_numbers(lines: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the points (row, col) of all lines in one array, and the number of each point's line, from 0."""
    if not lines:
        return np.empty((0, 2)), np.empty(0, dtype=np.int64)
    lengths = [len(line) for line in lines]
    return np.vstack(lines), np.repeat(np.arange(len(lines)), lengths)

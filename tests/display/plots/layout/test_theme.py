"""Colours and marks that every reader can tell apart, and a font that is there."""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from skimage.color import deltaE_ciede2000, rgb2lab

from salstats.display.plots.layout import theme
from salstats.display.plots.layout.theme import (
    FILLS,
    LINETYPES,
    PALETTE,
    REFERENCE_COLOUR,
    REFERENCE_FILL,
    REFERENCE_LINE,
    REFERENCE_SHAPE,
    SHAPES,
    WELL_KNOWN_METHODS,
    font,
    light_fill,
)
from salstats.display.text.labels import METHOD_SPELLINGS


def linear(hex_colour):
    values = np.array([int(hex_colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lightness(hex_colour):
    """CIE L* of a colour: what is left of it in grey."""
    y = linear(hex_colour) @ [0.2126, 0.7152, 0.0722]
    return 116 * np.cbrt(y) - 16 if y > 0.008856 else 903.3 * y


#: Machado, Oliveira and Fernandes (2009), doi:10.1109/TVCG.2009.113: deuteranopia, protanopia, tritanopia.
BLINDNESS = {
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def distances(kind, colours=(*PALETTE, REFERENCE_COLOUR)):
    """CIEDE2000 between every two colours, as readers of one kind of vision see them."""
    matrix = np.eye(3) if kind == "normal" else np.array(BLINDNESS[kind])
    light = np.clip([matrix @ linear(c) for c in colours], 0, 1)
    seen = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    lab = rgb2lab(seen[None])[0]
    return deltaE_ciede2000(lab[:, None], lab[None])[np.triu_indices(len(lab), 1)]


@pytest.mark.parametrize(
    ("kind", "least"), [("normal", 20), ("deuteranopia", 14), ("protanopia", 14), ("tritanopia", 11)]
)
def test_every_two_colours_and_black_differ_for_every_reader(kind, least):
    # found by search: 20.8, 15.1, 14.7 and 11.5; a difference of 1 is just noticeable side by side
    assert distances(kind).min() > least


def test_every_colour_has_the_contrast_on_white_that_graphics_need():
    # WCAG 2.2, 1.4.11: 3 to 1
    luminance = np.array([linear(c) @ [0.2126, 0.7152, 0.0722] for c in PALETTE])
    assert (1.05 / (luminance + 0.05)).min() >= 3


def test_the_first_three_colours_and_the_reference_differ_in_grey():
    greys = sorted(lightness(c) for c in (*PALETTE[:3], REFERENCE_COLOUR))
    assert np.diff(greys).min() > 15


def dashes(linetype):
    """The number of dashes of a line type, and the share of its length that they take."""
    if linetype == "solid":
        return 1, 1.0
    named = {
        "dashed": plt.rcParams["lines.dashed_pattern"],
        "dotted": plt.rcParams["lines.dotted_pattern"],
        "dashdot": plt.rcParams["lines.dashdot_pattern"],
    }
    lengths = named[linetype] if isinstance(linetype, str) else linetype[1]
    return len(lengths) // 2, sum(lengths[::2]) / sum(lengths)


def test_lines_and_marks_of_colours_that_look_alike_in_grey_differ_without_colour():
    of_methods = zip(PALETTE, LINETYPES, SHAPES, strict=True)
    styles = [*of_methods, (REFERENCE_COLOUR, REFERENCE_LINE, REFERENCE_SHAPE)]
    alike = [(a, b) for a, b in combinations(styles, 2) if abs(lightness(a[0]) - lightness(b[0])) < 8]
    assert alike
    for (_, line, mark), (_, other_line, other_mark) in alike:
        n_dashes, share = dashes(line)
        n_other, other_share = dashes(other_line)
        assert n_dashes != n_other or abs(share - other_share) > 0.2
        assert mark != other_mark


@pytest.mark.parametrize("kind", ["normal", *BLINDNESS])
def test_every_two_light_fills_differ_for_every_reader(kind):
    # found by search: 12.2, 7.3, 7.0 and 7.5
    assert distances(kind, (*FILLS, REFERENCE_FILL)).min() > 6.9


def test_fills_are_light_and_differ_in_grey():
    greys = sorted(lightness(c) for c in (*FILLS, REFERENCE_FILL))
    assert greys[0] > 59
    assert np.diff(greys).min() > 4
    assert np.diff(sorted(lightness(c) for c in (*FILLS[:3], REFERENCE_FILL))).min() > 8
    # a black median is seen on each of them: WCAG 2.2 asks text for 4.5 to 1
    luminance = np.array([linear(c) @ [0.2126, 0.7152, 0.0722] for c in (*FILLS, REFERENCE_FILL)])
    assert ((luminance + 0.05) / 0.05).min() > 4.5


def test_each_colour_has_its_fill_and_a_colour_of_the_users_a_lighter_one():
    assert [light_fill(colour) for colour in (*PALETTE, REFERENCE_COLOUR)] == [*FILLS, REFERENCE_FILL]
    # three fifths of the way to white
    assert light_fill("#ff0000") == "#ff9999"


def test_every_place_of_the_palette_has_a_mark_a_line_and_well_known_methods_of_its_own():
    assert len(PALETTE) == len(SHAPES) == len(set(map(str, LINETYPES))) == len(WELL_KNOWN_METHODS)
    known = [method for methods in WELL_KNOWN_METHODS for method in methods]
    assert len(set(known)) == len(known)
    # a name that the labels do not give would never be found
    assert set(known) <= set(METHOD_SPELLINGS.values())


def test_font_is_one_that_is_installed():
    assert font() in {entry.name for entry in theme.font_manager.fontManager.ttflist}


def test_texts_of_the_theme_follow_its_size_and_face():
    larger = theme.theme_salstats(base_size=10, font_family="DejaVu Serif")
    sizes = {
        element: larger.getp((element, "size"))
        for element in ("text", "axis_text", "axis_title", "strip_text", "legend_text")
    }
    assert set(sizes.values()) == {10}
    assert larger.getp(("plot_title", "size")) == 11
    assert larger.getp(("plot_caption", "size")) == 9
    assert larger.getp(("text", "family")) == "DejaVu Serif"
    assert theme.theme_salstats().getp(("text", "family")) == font()
    assert theme.theme_salstats().getp("legend_position") == "top"


def test_sizes_in_mm_are_inches_and_shares_of_the_width():
    size = theme.figure_size(127.0, 50.8)
    assert size.getp("figure_size") == (5.0, 2.0)
    assert theme.top_margin(2.0, 80.0) == {"t": 0.025, "unit": "fig"}
    pictures = theme.picture_theme(100.0, gap_mm=2.0, edge_mm=5.0)
    assert (pictures.getp("panel_spacing"), pictures.getp("plot_margin")) == (0.02, 0.05)
    for element in ("axis_title", "axis_text", "axis_ticks", "axis_line"):
        assert pictures.themeables.is_blank(element)


def test_axes_of_tiles_have_names_and_no_lines():
    axes = theme.tile_axes({"rotation": 45, "ha": "right"})
    assert axes.getp(("axis_text_x", "rotation")) == 45
    for element in ("axis_title", "axis_line", "axis_ticks"):
        assert axes.themeables.is_blank(element)
    assert not axes.themeables.is_blank("axis_text_x")


def test_fallback_fonts_are_installed_ones_other_than_the_font(monkeypatch):
    installed = frozenset({"DejaVu Sans", "Yu Gothic", "Noto Sans CJK JP", "Comic Sans"})
    monkeypatch.setattr(theme, "_installed_faces", lambda: installed)
    theme.fallback_fonts.cache_clear()
    assert font() == "DejaVu Sans"
    assert theme.fallback_fonts() == ("Noto Sans CJK JP", "Yu Gothic")
    theme.fallback_fonts.cache_clear()


def test_widths_of_columns_are_those_of_the_journals_guides():
    inch = 25.4
    guides = {
        "nature": (89, 183),
        "cell": (85, 174),
        "elsevier": (90, 190),
        # 21 and 43 picas
        "ieee": (3.5 * inch, 7.16 * inch),
        "plos": (5.2 * inch, 7.5 * inch),
        "pnas": (87, 178),
        "science": (57, 121),
        "springer": (84, 174),
    }
    assert set(theme.COLUMNS_MM) == set(guides)
    for journal, widths in guides.items():
        assert theme.COLUMNS_MM[journal] == pytest.approx(widths, abs=0.1), journal


def test_a_line_of_text_is_a_fifth_higher_than_its_7_points():
    assert theme.LINE_MM == pytest.approx(1.2 * 7 * 25.4 / 72)


def test_lines_ticks_and_spaces_are_thin():
    figure_theme = theme.theme_salstats()
    assert figure_theme.getp("axis_ticks_length") == 2
    assert figure_theme.getp("panel_spacing") == 0.03
    assert figure_theme.getp("legend_margin") == 0
    margin = figure_theme.getp(("legend_text", "margin"))
    assert (margin.t, margin.r, margin.b, margin.l) == (1.7, 1.7, 1.7, 1.7)
    for element in ("axis_line", "axis_ticks"):
        assert figure_theme.getp((element, "linewidth")) == 0.4


@pytest.mark.parametrize(
    ("installed", "expected"), [({"C", "D"}, "C"), ({"D", "C", "B"}, "B"), ({"D", "A", "C", "B"}, "A")]
)
def test_the_font_is_the_first_choice_that_is_installed(monkeypatch, installed, expected):
    monkeypatch.setattr(theme, "_FACES", ("A", "B", "C"))
    monkeypatch.setattr(theme, "_installed_faces", lambda: frozenset(installed))
    font.cache_clear()
    try:
        assert font() == expected
    finally:
        font.cache_clear()

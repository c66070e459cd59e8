"""Figures to files: exact size, embedded fonts, nothing half written."""

import gc
import re
import zlib

import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from PIL import Image
from tests_support import full_disk

import salstats as ss
from salstats.checks import InputFileError, SalstatsError
from salstats.display.export.figure_files import FIGURE_SUFFIXES, save_figure_as
from salstats.display.plots import theme
from salstats.display.plots.theme import (
    PALETTE,
    REFERENCE,
    category_colours,
    category_shapes,
    figure_size,
    font,
    theme_salstats,
)

POINTS_PER_MM = 72 / 25.4
#: A pixel is the least a raster's size can be off.
PIXEL = 1


@pytest.fixture(scope="module")
def figure():
    frame = pd.DataFrame({"task": ["a", "b"], "estimate": [0.1, 0.2]})
    return p9.ggplot(frame, p9.aes("task", "estimate")) + p9.geom_point() + theme_salstats()


@pytest.mark.parametrize("suffix", [".png", ".tif", ".tiff"])
def test_raster_has_the_size_and_resolution_asked_for(figure, tmp_path, suffix):
    file = ss.save_figure(figure, tmp_path / f"f{suffix}", width=89, height=60, dpi=300)
    with Image.open(file) as image:
        assert image.size == pytest.approx((89 / 25.4 * 300, 60 / 25.4 * 300), abs=PIXEL)
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.01)


@pytest.mark.parametrize(("width", "unit"), [(89, "mm"), (8.9, "cm"), (89 / 25.4, "in")])
def test_pdf_page_has_the_size_asked_for(figure, tmp_path, width, unit):
    file = ss.save_figure(figure, tmp_path / "f.pdf", width=width, height=width / 2, unit=unit)
    box = re.search(rb"/MediaBox \[ ?([\d. ]+)\]", file.read_bytes()).group(1).split()
    assert [float(v) for v in box] == pytest.approx([0, 0, 89 * POINTS_PER_MM, 44.5 * POINTS_PER_MM])


def test_pdf_embeds_truetype_fonts(figure, tmp_path):
    data = ss.save_figure(figure, tmp_path / "f.pdf", width=89, height=60).read_bytes()
    streams = b"".join(
        zlib.decompress(s) for s in re.findall(rb"FlateDecode.*?stream\r?\n(.*?)\r?\nendstream", data, re.S)
    )
    everything = data + streams
    assert b"/FontFile2" in everything
    assert b"/Type3" not in everything


def test_svg_has_the_size_and_no_text_that_needs_a_font(figure, tmp_path):
    text = ss.save_figure(figure, tmp_path / "f.svg", width=89, height=60).read_text()
    width = float(re.search(r'<svg[^>]*width="([\d.]+)pt"', text).group(1))
    assert width == pytest.approx(89 * POINTS_PER_MM)
    assert "<text" not in text


def test_default_size_is_the_figures_own(figure, tmp_path):
    file = ss.save_figure(figure + figure_size(50, 40), tmp_path / "f.png", dpi=254)
    with Image.open(file) as image:
        assert image.size == pytest.approx((500, 400), abs=PIXEL)


def test_same_figure_gives_the_same_bytes(figure, tmp_path):
    for suffix in ("pdf", "svg"):
        one, two = (ss.save_figure(figure, tmp_path / f"{i}.{suffix}", width=89, height=60) for i in (1, 2))
        assert one.read_bytes() == two.read_bytes()


def test_a_colour_bar_is_as_large_behind_a_pdf_as_alone(tmp_path):
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0], "z": [0.0, 1.0]})
    figure = p9.ggplot(frame, p9.aes("x", "y", color="z")) + p9.geom_point() + theme_salstats()
    save_figure_as(figure, [tmp_path / "alone.png"], (3, 2))
    save_figure_as(figure, [tmp_path / "a.pdf", tmp_path / "behind.png"], (3, 2))
    assert (tmp_path / "behind.png").read_bytes() == (tmp_path / "alone.png").read_bytes()


def test_an_existing_file_is_replaced_only_when_asked(figure, tmp_path):
    file = tmp_path / "f.png"
    file.write_text("mine")
    with pytest.raises(InputFileError, match="exists"):
        ss.save_figure(figure, file)
    assert file.read_text() == "mine"
    ss.save_figure(figure, file, overwrite=True)
    assert file.read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_written_is_said_and_nothing_is_left(figure, tmp_path):
    with pytest.raises(InputFileError, match="must end in"):
        ss.save_figure(figure, tmp_path / "f.jpg")
    with pytest.raises(InputFileError, match="does not exist"):
        ss.save_figure(figure, tmp_path / "no" / "f.png")
    with pytest.raises(SalstatsError, match="unit"):
        ss.save_figure(figure, tmp_path / "f.png", width=89, unit="px")
    with pytest.raises(SalstatsError, match="check unit"):
        ss.save_figure(figure, tmp_path / "f.png", width=89, unit="in")
    with pytest.raises(SalstatsError, match="between 0"):
        ss.save_figure(figure, tmp_path / "f.png", height=0)
    with pytest.raises(SalstatsError, match="plotnine figure"):
        ss.save_figure("figure", tmp_path / "f.png")
    assert list(tmp_path.iterdir()) == []


def test_a_drawing_that_fails_leaves_nothing(tmp_path):
    broken = p9.ggplot(pd.DataFrame({"a": [1]}), p9.aes("a", "missing")) + p9.geom_point()
    with pytest.raises(p9.exceptions.PlotnineError):
        ss.save_figure(broken, tmp_path / "f.png")
    assert list(tmp_path.iterdir()) == []


def linear(hex_colour):
    values = np.array([int(hex_colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lightness(hex_colour):
    """CIE L* of a colour: what is left of it in grey."""
    y = linear(hex_colour) @ [0.2126, 0.7152, 0.0722]
    return 116 * np.cbrt(y) - 16 if y > 0.008856 else 903.3 * y


#: Machado, Oliveira and Fernandes (2009), doi:10.1109/TVCG.2009.113: deuteranopia and protanopia.
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
}


def lab(rgb):
    xyz = np.array(
        [
            [0.4124, 0.3576, 0.1805],
            [0.2126, 0.7152, 0.0722],
            [0.0193, 0.1192, 0.9505],
        ]
    ) @ np.clip(rgb, 0, 1)
    f = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 0.008856))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", BLINDNESS)
def test_the_first_colours_differ_for_colour_blind_readers(kind):
    seen = [lab(np.array(BLINDNESS[kind]) @ linear(c)) for c in (*PALETTE[:4], REFERENCE)]
    distances = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
    # a difference of 2.3 is just noticeable side by side
    assert min(distances) > 20


def test_the_first_three_colours_and_the_reference_differ_in_grey():
    greys = sorted(lightness(c) for c in (*PALETTE[:3], REFERENCE))
    assert np.diff(greys).min() > 15


def test_colour_and_mark_together_tell_sixty_categories_apart():
    names = [f"m{i}" for i in range(60)]
    colours, shapes = category_colours(names, []), category_shapes(names, [])
    assert len({(colours[n], shapes[n]) for n in names}) == 60


def test_a_reference_is_black_and_takes_no_colour_from_the_others():
    colours = category_colours(["human", "a", "b"], ["human"])
    assert colours == {"human": REFERENCE, "a": PALETTE[0], "b": PALETTE[1]}


def test_font_is_one_that_is_installed():
    assert font() in {entry.name for entry in theme.font_manager.fontManager.ttflist}


@pytest.mark.parametrize("suffix", FIGURE_SUFFIXES)
def test_a_full_disk_is_said_once_and_leaves_no_file(figure, tmp_path, suffix, capfd):
    with full_disk(500), pytest.raises(InputFileError, match=r"cannot write .*f\..*File too large"):
        ss.save_figure(figure, tmp_path / f"f{suffix}", width=40, height=40, dpi=50)
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")

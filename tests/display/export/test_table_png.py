"""The browser: found, asked for pictures of tables, and its failures said in a sentence."""

import sys
import tempfile

import numpy as np
import pandas as pd
import pytest
from display.report.chromium import find_chromium
from display.table_examples import estimates
from great_tables import GT
from PIL import Image, ImageChops
from tests_support import raises

import salstats as ss
from salstats.display.export import table_png
from salstats.errors import InputFileError, SalstatsError, ValueRangeError

#: What a pixel may be off where a browser rounds.
PIXELS = 1


@pytest.fixture
def small():
    return GT(pd.DataFrame({"task": ["Edema"], "iou": [0.5]}), rowname_col="task")


def test_without_a_browser_a_picture_says_what_to_do(small, tmp_path, monkeypatch):
    monkeypatch.delenv(table_png.BROWSER_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(table_png, "_BROWSERS", ())
    with raises(SalstatsError, option="SALSTATS_CHROME", value=None):
        ss.save_table(small, tmp_path / "t.png")
    monkeypatch.setenv(table_png.BROWSER_VARIABLE, "/no/such/chrome")
    with raises(SalstatsError, option="SALSTATS_CHROME", value="/no/such/chrome"):
        ss.save_table(small, tmp_path / "t.png")
    assert list(tmp_path.iterdir()) == []


def browser_script(folder, monkeypatch, script):
    """A shell script in the place of the browser."""
    program = folder / "browser"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv(table_png.BROWSER_VARIABLE, str(program))
    return program


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for the browser")
@pytest.mark.parametrize(
    ("options", "fields"),
    [
        # 800 CSS pixels and two margins of 8 are 215.9 mm
        ({"width": 100}, {"option": "width", "value": 100, "message": "216"}),
        ({"width": 215}, {"option": "width", "value": 215, "message": "216"}),
        # it is wide enough, so that the missing picture is the next problem
        ({"width": 216}, {"value": 0}),
        # the window has 980 by 540 CSS pixels; 80 million pixels are 12.295 by 12.295 for each
        ({"width": 216, "dpi": 1180}, {"value": 0}),
        ({"width": 216, "dpi": 1181}, {"option": "dpi", "value": 1181, "message": "1180"}),
        # without a width the resolution is lowered
        ({"dpi": 1181}, {"value": 0}),
    ],
)
def test_a_width_or_resolution_that_is_not_possible_is_told_with_the_one_that_is(
    small, tmp_path, monkeypatch, options, fields
):
    browser_script(tmp_path, monkeypatch, """echo '<html lang="en" data-size="800x400x1">'""")
    with raises(SalstatsError, **fields):
        ss.save_table(small, tmp_path / "t.png", **options)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for the browser")
@pytest.mark.parametrize(
    ("script", "fields"),
    [
        ("echo first >&2; echo the reason >&2; exit 3", {"value": 3, "message": "the reason"}),
        # shows no table
        ("true", {"value": None}),
        # makes no picture of the first page
        ("""echo '<html lang="en" data-size="300x200x1">'""", {"value": 0}),
        # too long for one picture
        ("""echo '<html lang="en" data-size="300x90000x1">'""", {"value": 90_000, "path": None}),
        # takes too long
        ("exec sleep 60", {"value": 0.2}),
    ],
)
def test_a_browser_that_fails_is_said_to(small, tmp_path, monkeypatch, script, fields):
    program = browser_script(tmp_path, monkeypatch, script)
    monkeypatch.setattr(table_png, "_TIMEOUT_S", 0.2 if "sleep" in script else 60)
    with raises(SalstatsError, **{"path": program} | fields):
        ss.save_table(small, tmp_path / "t.png")
    assert [path.name for path in tmp_path.iterdir()] == ["browser"]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for the browser")
def test_a_browser_that_does_not_start_is_named(small, tmp_path, monkeypatch):
    program = browser_script(tmp_path, monkeypatch, "")
    # neither a script nor a program
    program.write_bytes(b"\x7fELF")
    with raises(SalstatsError, path=program) as caught:
        ss.save_table(small, tmp_path / "t.png")
    assert isinstance(caught.value.__cause__, OSError)
    assert [path.name for path in tmp_path.iterdir()] == ["browser"]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for the browser")
def test_a_picture_is_kept_where_the_files_of_the_browser_cannot_be_removed(small, tmp_path, monkeypatch):
    picture = Image.new("RGB", (200, 100), "white")
    picture.paste("black", (80, 40, 100, 60))
    picture.save(tmp_path / "shown.png")
    # a folder that has become a link is not removed
    script = """
    for option; do
        case "$option" in
            --user-data-dir=*) folder=$(dirname "${option#--user-data-dir=}") ;;
            --screenshot=*) cp shown.png "${option#--screenshot=}" ;;
        esac
    done
    [ -L "$folder" ] || { mv "$folder" moved; ln -s "$PWD/moved" "$folder"; }
    echo '<html lang="en" data-size="300x200x1">'
    """
    browser_script(tmp_path, monkeypatch, script)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Image.open(ss.save_table(small, tmp_path / "t.png")) as image:
        white = Image.new("RGB", image.size, "white")
        left, top, right, bottom = ImageChops.difference(image.convert("RGB"), white).getbbox()
    assert (right - left, bottom - top) == (20, 20)
    assert [path.name for path in tmp_path.iterdir() if path.is_symlink()]


def test_a_picture_that_is_cut_off_is_refused():
    picture = Image.new("RGB", (60, 60), "white")
    picture.paste("black", (20, 20, 40, 40))
    assert table_png._check_and_crop_picture(picture, 5).size == (30, 30)
    picture.paste("black", (20, 20, 40, 60))
    with raises(SalstatsError, value=60):
        table_png._check_and_crop_picture(picture, 5)


@pytest.mark.browser
def test_a_picture_shows_the_table_and_little_else_and_long_notes_do_not_widen_it(tmp_path):
    find_chromium()
    table = estimates(5, 1)
    sizes = []
    for name, noted in (("a", table), ("b", table.tab_source_note("many words " * 100))):
        with Image.open(ss.save_table(noted, tmp_path / f"{name}.png")) as image:
            sizes.append(image.size)
            assert image.info["dpi"] == pytest.approx((300, 300), rel=1e-3)
            white = Image.new("RGB", image.size, "white")
            left, top, right, bottom = ImageChops.difference(image.convert("RGB"), white).getbbox()
            margin = table_png._MARGIN * 300 / 96
            for found in (left, top, image.width - right, image.height - bottom):
                assert found == pytest.approx(margin, abs=PIXELS)
    assert sizes[0][0] == sizes[1][0] > 360 * 300 / 96
    assert sizes[0][1] < sizes[1][1]


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dpi"), [(183, 150), pytest.param(120, 300, marks=pytest.mark.slow)])
def test_a_picture_has_the_width_that_is_asked_for(tmp_path, width, dpi):
    find_chromium()
    file = ss.save_table(estimates(3, 2), tmp_path / "t.png", width=width, dpi=dpi)
    with Image.open(file) as image:
        assert image.info["dpi"] == pytest.approx((dpi, dpi), rel=1e-3)
        assert image.width == round(width / 25.4 * dpi)
        white = Image.new("RGB", image.size, "white")
        left, _, right, _ = ImageChops.difference(image.convert("RGB"), white).getbbox()
    # the table fills it but for the margins
    margin = table_png._MARGIN * dpi / 96
    assert (left, image.width - right) == pytest.approx((margin, margin), abs=2 * PIXELS)


@pytest.mark.browser
def test_a_width_without_room_for_letters_of_six_points_is_an_error(tmp_path):
    find_chromium()
    with raises(SalstatsError, option="width", value=40):
        ss.save_table(estimates(3, 4), tmp_path / "t.png", width=40)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.browser
@pytest.mark.slow
def test_a_table_that_fits_a_width_fits_every_larger_one(tmp_path):
    find_chromium()
    means = pd.DataFrame({"metric": "iou", "method": ["gradcam", "occlusion"], "estimate": [0.523, 0.438]})
    limits = {"conf_low": [0.476, 0.368], "conf_high": [0.570, 0.511], "conf_level": 0.95}
    bounds = {"bound_low": means["estimate"], "bound_high": means["estimate"]}
    table = ss.table_estimates(means.assign(**limits, **bounds))
    for width in (86, 88, 90):
        assert ss.save_table(table, tmp_path / f"{width}.png", width=width).is_file()


def test_a_width_is_one_of_a_picture(small, tmp_path):
    with raises(SalstatsError, option="width", value=89):
        ss.save_table(small, tmp_path / "t.docx", width=89)


@pytest.mark.parametrize("option", ["width", "dpi"])
def test_width_and_resolution_are_above_0(small, tmp_path, option):
    with raises(ValueRangeError, value=0):
        ss.save_table(small, tmp_path / "t.png", **{option: 0})


def test_the_hint_names_the_formats_that_need_no_browser():
    assert ".html" in table_png._OTHER_FORMATS
    assert ".md" in table_png._OTHER_FORMATS
    assert ".png" not in table_png._OTHER_FORMATS


@pytest.mark.slow
@pytest.mark.browser
def test_a_wide_table_is_no_wider_than_a_page_on_its_side_at_its_own_size(tmp_path):
    find_chromium()
    with Image.open(ss.save_table(estimates(3, 4), tmp_path / "wide.png")) as image:
        width = image.width / image.info["dpi"][0] * 25.4
    assert 183 < width <= 247 + 2 * table_png._MARGIN * 25.4 / 96


@pytest.mark.slow
@pytest.mark.browser
def test_a_table_higher_than_a_page_is_several_pictures_each_with_its_head_and_labels(tmp_path):
    find_chromium()
    frame = pd.DataFrame({"group": ["One"] * 30 + ["Two"] * 8, "task": range(38), "iou": 0.5})
    table = GT(frame, rowname_col="task", groupname_col="group")
    first = ss.save_table(table, tmp_path / "t.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t-2.png", "t.png"]
    with Image.open(first) as one, Image.open(tmp_path / "t-2.png") as two:
        assert one.width == two.width
        assert two.height < one.height <= 247 / 25.4 * 300
        # the second begins with the head and the label of the group that goes on, as the first does
        heads = [np.asarray(image.convert("L"))[:200].astype(int) for image in (one, two)]
    assert np.abs(heads[0] - heads[1]).max() < 128
    first.unlink()
    with raises(InputFileError, option="overwrite", path=tmp_path / "t-2.png"):
        ss.save_table(table, first)

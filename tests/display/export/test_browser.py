"""The browser: found, asked for pictures of tables, and its failures said in a sentence."""

import sys

import pandas as pd
import pytest
from display.report.chromium import find_chromium
from display.table_examples import estimates
from great_tables import GT, md
from PIL import Image, ImageChops

import salstats as ss
from salstats.checks import SalstatsError
from salstats.display.export import browser, table_png

#: What a pixel may be off where a browser rounds.
PIXELS = 1


@pytest.fixture
def small():
    return GT(pd.DataFrame({"task": ["Edema"], "iou": [0.5]}), rowname_col="task")


@pytest.fixture
def fake_browser(tmp_path, monkeypatch):
    """A function that puts a program in the browser's place."""
    if sys.platform == "win32":
        pytest.skip("a shell script stands for the browser")

    def put(script):
        program = tmp_path / "browser"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv(browser.VARIABLE, str(program))
        return program

    return put


def test_without_a_browser_a_picture_says_what_to_do(small, tmp_path, monkeypatch):
    monkeypatch.delenv(browser.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(browser, "_PLACES", ())
    with pytest.raises(SalstatsError, match=r"install one .*SALSTATS_CHROME.* or write \.html"):
        ss.save_table(small, tmp_path / "t.png")
    assert list(tmp_path.iterdir()) == []


def test_the_variable_names_the_browser(fake_browser, monkeypatch):
    program = fake_browser("true")
    assert browser.find_browser() == str(program)
    monkeypatch.setenv(browser.VARIABLE, "/no/such/chrome")
    with pytest.raises(SalstatsError, match="SALSTATS_CHROME=/no/such/chrome is no program"):
        browser.find_browser()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo first >&2; echo the reason >&2; exit 3", r"failed: the reason; write \.html"),
        ("exit 3", "failed: exit 3"),
        ("true", "did not show the table"),
        ("""echo '<html lang="en" data-size="300x200">'""", "made no picture"),
        ("""echo '<html lang="en" data-size="300x90000">'""", "too long for one picture"),
    ],
)
def test_a_browser_that_fails_is_said_to(small, tmp_path, fake_browser, script, message):
    fake_browser(script)
    with pytest.raises(SalstatsError, match=message):
        ss.save_table(small, tmp_path / "t.png")
    assert [path.name for path in tmp_path.iterdir()] == ["browser"]


def test_a_browser_that_hangs_is_ended(tmp_path, fake_browser):
    fake_browser("exec sleep 60")
    with pytest.raises(SalstatsError, match=r"took longer than 0\.2 s"):
        browser.run_browser(tmp_path, [], timeout=0.2)


@pytest.mark.browser
def test_a_picture_shows_the_table_and_little_else(tmp_path):
    find_chromium()
    file = ss.save_table(estimates(5, 1).tab_header(md("**Title**")), tmp_path / "t.png")
    with Image.open(file) as image:
        assert image.info["dpi"] == pytest.approx((300, 300), rel=1e-3)
        left, top, right, bottom = ImageChops.difference(
            image.convert("RGB"), Image.new("RGB", image.size, "white")
        ).getbbox()
        margin = table_png._MARGIN * 300 / 96
        for found in (left, top, image.width - right, image.height - bottom):
            assert found == pytest.approx(margin, abs=PIXELS)
        assert image.width > 360 * 300 / 96
    assert [path.name for path in tmp_path.iterdir()] == ["t.png"]


def test_a_picture_that_is_cut_off_is_refused():
    picture = Image.new("RGB", (60, 60), "white")
    picture.paste("black", (20, 20, 40, 40))
    assert table_png._cut(picture, 5).size == (30, 30)
    picture.paste("black", (20, 20, 40, 60))
    with pytest.raises(SalstatsError, match="too long for one picture"):
        table_png._cut(picture, 5)


@pytest.mark.browser
def test_long_notes_do_not_widen_a_picture(tmp_path):
    find_chromium()
    table = estimates(2, 1)
    sizes = []
    for name, noted in (("a", table), ("b", table.tab_source_note("many words " * 100))):
        with Image.open(ss.save_table(noted, tmp_path / f"{name}.png")) as image:
            sizes.append(image.size)
    assert sizes[0][0] == sizes[1][0]
    assert sizes[0][1] < sizes[1][1]

"""The report's page, clicked through in headless Chromium."""

from dataclasses import replace

import pandas as pd
import pytest
from display.report.browser_checks import (
    CHECKS,
    PHONE,
    every_link_leads_somewhere,
    every_part_is_there_and_in_the_contents,
    ids_names_and_alternatives_are_sound,
    keyboard_reaches_everything,
    loads_without_complaint_or_network,
    open_report,
    page_never_scrolls_sideways,
    print_is_plain_and_complete,
    tables_and_text_are_copied,
    text_has_contrast,
)

from salstats.display.report.page import render_page

pytestmark = pytest.mark.browser

WORD = "Unbroken" * 30


@pytest.mark.parametrize("check", CHECKS, ids=[check.__name__ for check in CHECKS])
def test_page(check, browser, sample_folder):
    check(browser, sample_folder)


# what hangs on real tables, figures and files
@pytest.mark.parametrize(
    "check",
    [
        loads_without_complaint_or_network,
        every_part_is_there_and_in_the_contents,
        ids_names_and_alternatives_are_sound,
        every_link_leads_somewhere,
        page_never_scrolls_sideways,
        tables_and_text_are_copied,
        print_is_plain_and_complete,
    ],
    ids=lambda check: check.__name__,
)
def test_page_of_a_whole_report(check, browser, simulated):
    check(browser, simulated[0])


@pytest.fixture(scope="module")
def long_folder(sample_report, rows_from, tmp_path_factory):
    """Words of 240 letters everywhere, 60 tasks, and text that looks like markup."""
    names = [f"<b>Task</b> {i} & 100% {WORD if i == 7 else ''}" for i in range(60)]
    grid = rows_from(
        pd.DataFrame({WORD: ["0.1"] * 60, "</td>": [f"日本 {WORD}"] * 60}, index=names), "Task", WORD
    )
    means, figure, small = sample_report.sections[0].items
    items = (
        replace(means, title=WORD, caption=WORD, call=WORD, content=grid, files=()),
        replace(figure, title=WORD, caption=WORD, call=WORD, files=()),
        replace(small, alt=WORD, files=()),
    )
    sections = (
        replace(sample_report.sections[0], title=WORD, sentences=(WORD, "</p>"), items=items),
        *(replace(sample_report.sections[2], key=f"part{i}", title=f"Part {i}") for i in range(20)),
    )
    report = replace(
        sample_report,
        title=WORD,
        summary=(WORD,),
        sections=sections,
        methods=(WORD,),
        not_covered=((WORD, WORD, WORD),),
        warnings=(WORD,),
        counts=((WORD, WORD),),
        provenance=(("Input", f"{WORD}.csv"), (WORD, WORD)),
    )
    page = render_page(report)
    folder = tmp_path_factory.mktemp("long")
    (folder / "index.html").write_text(page, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "check",
    [
        loads_without_complaint_or_network,
        page_never_scrolls_sideways,
        keyboard_reaches_everything,
        tables_and_text_are_copied,
        text_has_contrast,
        print_is_plain_and_complete,
    ],
    ids=lambda check: check.__name__,
)
def test_page_of_endless_words_and_many_tasks(check, browser, long_folder):
    check(browser, long_folder)


def test_page_works_where_storage_is_refused(browser, sample_folder):
    refuse = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('refused'); }})"
    background = "() => getComputedStyle(document.body).backgroundColor"
    with open_report(browser, sample_folder) as page:
        page.send("Page.addScriptToEvaluateOnNewDocument", source=refuse)
        page.reload()
        with pytest.raises(Exception, match="refused"):
            page.run("() => localStorage.length")
        before = page.run(background)
        page.click("#theme")
        assert page.run(background) != before
        assert page.reported("Runtime.exceptionThrown") == []


def test_a_choice_of_colours_that_is_none_is_ignored(browser, sample_folder):
    with open_report(browser, sample_folder) as page:
        page.run("() => localStorage.setItem('salstats-theme', 'mauve')")
        page.reload()
        assert page.run("() => document.getElementById('theme').textContent") == "Colours: system"


def test_what_cannot_be_copied_is_selected(browser, sample_folder):
    with open_report(browser, sample_folder) as page:
        page.run("() => { document.execCommand = () => false; }")
        page.click("[data-copy='methods-text']")
        said = page.run("() => document.getElementById('status').textContent")
        assert said == "Methods selected: press Ctrl+C or ⌘C to copy."
        assert "Holm's procedure" in page.run("() => getSelection().toString()")


def test_a_copied_table_keeps_its_columns_under_a_spanner(browser, sample_folder):
    with open_report(browser, sample_folder) as page:
        page.allow("clipboardReadWrite", "clipboardSanitizedWrite")
        page.send("Page.bringToFront")
        page.click("[data-copy='table-spanner']")
        copied = page.run("() => navigator.clipboard.readText()")
    assert copied.splitlines() == [
        "\tGrad-CAM\t",
        "Covariate\tb\tP",
        "Edema\t\t",
        "Elongation\t−0.425\t<0.001",
        "Size\t−0.425\t0.040",
        "Age\t−0.425\t—",
    ]


def test_figures_stay_on_white_in_the_dark(browser, sample_folder):
    with open_report(browser, sample_folder) as page:
        page.emulate(prefers_color_scheme="dark")
        colours = page.run(
            """() => [...document.querySelectorAll("main img"), document.body]
              .map((element) => getComputedStyle(element).backgroundColor)"""
        )
    *pictures, body = colours
    assert set(pictures) == {"rgb(255, 255, 255)"}
    assert body != "rgb(255, 255, 255)"


def test_figures_are_printed_at_their_size(browser, sample_folder):
    with open_report(browser, sample_folder) as page:
        page.resize(1280, 900)
        page.send("Emulation.setEmulatedMedia", media="print")
        widths = page.run(
            "() => [...document.querySelectorAll('img')].map((i) => i.getBoundingClientRect().width)"
        )
    assert widths == [pytest.approx(mm / 25.4 * 96, abs=0.5) for mm in (183, 89)]


def test_a_wide_table_keeps_the_names_of_its_rows_in_sight(browser, sample_folder):
    with open_report(browser, sample_folder, PHONE) as page:
        moved = page.run(
            """() => {
              const region = document.querySelector("#table-wide .scroll");
              const name = region.querySelector("tbody th");
              const number = region.querySelector("tbody td");
              const left = () => [name, number].map((cell) => cell.getBoundingClientRect().left);
              const before = left();
              region.scrollLeft = 200;
              return left().map((value, i) => value - before[i]);
            }"""
        )
    assert moved == [pytest.approx(0, abs=1), pytest.approx(-200, abs=1)]

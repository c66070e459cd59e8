"""The report's page, clicked through in headless Chromium."""

import re
import time
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from urllib.parse import unquote

import pandas as pd
import pytest
from display.report.chromium import Page
from PIL import Image

from salstats.display.report.page import render_page

pytestmark = pytest.mark.browser

DESKTOP, PHONE = (1280, 900), (360, 740)
#: Width of a sheet's text, upright (180 mm) and on its side (245 mm), in pixels.
SHEET = (680, 926)
COMPLAINTS = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
WORD = "Unbroken" * 30
THEME = "() => document.getElementById('theme').textContent"
WHITE = "rgb(255, 255, 255)"
BACKGROUND = "() => getComputedStyle(document.body).backgroundColor"
STATUS = "() => document.getElementById('status').textContent"


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
    texts = {"title": WORD, "summary": (WORD,), "methods": (WORD,), "warnings": (WORD,)}
    tables = {"not_covered": ((WORD,) * 3,), "counts": ((WORD,) * 2,), "provenance": (("Input", WORD),)}
    folder = tmp_path_factory.mktemp("long")
    page = render_page(replace(sample_report, sections=sections, **texts, **tables))
    (folder / "index.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def endless_folder(sample_report, rows_from, tmp_path_factory):
    """One table of 40 columns and 60 rows, and a figure of two pages that are as high as a sheet."""
    columns = {f"Method {i}": [f"0.{i:03d} (0.100, 0.9{j:02d})" for j in range(60)] for i in range(40)}
    grid = rows_from(pd.DataFrame(columns, index=[f"Task {j}" for j in range(60)]), "Task", "A note.")
    means, figure, _ = sample_report.sections[0].items
    high = BytesIO()
    Image.new("L", (732, 988), 255).save(high, "PNG", dpi=(101.6, 101.6))
    items = (
        replace(means, content=grid, files=()),
        replace(figure, content=(high.getvalue(),) * 2, files=()),
    )
    folder = tmp_path_factory.mktemp("endless")
    page = render_page(
        replace(sample_report, sections=(replace(sample_report.sections[0], items=items),), not_covered=())
    )
    (folder / "index.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture(params=["sample", "simulated", "long", "endless"])
def folder(request):
    """A made-up report with every part, a whole one with real files, and one of endless words."""
    found = request.getfixturevalue(
        "simulated" if request.param == "simulated" else f"{request.param}_folder"
    )
    return found[0] if request.param == "simulated" else found


@pytest.fixture
def opened(browser):
    """A function that opens a report's page as a reader does, from the disk."""

    def open_page(folder, size=DESKTOP):
        page = Page(browser, (folder / "index.html").resolve().as_uri(), width=size[0], height=size[1])
        page.settle()
        return page

    return open_page


@pytest.fixture
def page(opened, sample_folder):
    with opened(sample_folder) as page:
        yield page


# any report


def test_page_loads_nothing_but_itself_and_complains_of_nothing(opened, folder):
    with opened(folder) as page:
        page.click("#theme")
        page.click("[data-copy]")
        page.click("[data-enlarge]")
        page.press("Escape")
        page.reload()
        assert page.reported(*COMPLAINTS) == []
        asked = {event["request"]["url"] for event in page.reported("Network.requestWillBeSent")}
    assert {url for url in asked if not url.startswith("data:")} == {
        (folder / "index.html").resolve().as_uri()
    }


def test_page_is_sound(opened, folder):
    """The contents name every part, table and figure; ids, names, headings and links are in order."""
    with opened(folder) as page:
        found = page.run(
            """() => {
              const all = (selector) => [...document.querySelectorAll(selector)];
              const ids = all("[id]").map((e) => e.id);
              const referring = ["aria-labelledby", "aria-describedby", "data-copy", "data-enlarge"];
              const referred = referring.flatMap((name) =>
                all(`[${name}]`).flatMap((e) => e.getAttribute(name).split(" ")));
              const named = (e) => (e.getAttribute("aria-label") || e.textContent).trim();
              const seen = (i) => i.alt.trim() && i.naturalWidth && i.width && i.height;
              return {
                ids,
                entries: all("nav a.part").map((a) => [a.hash, a.textContent]),
                headings: all("main h2").map((h) => [`#${h.id}`, h.textContent]),
                items: all("main figure").map((f) => `#${f.id}`),
                listed: all("nav li li a").map((a) => a.hash),
                levels: all("h1,h2,h3,h4").map((h) => +h.localName[1]),
                lost: referred.filter((id) => !document.getElementById(id)),
                mute: all("a, button, summary, nav, [role=region]").filter((e) => !named(e)).length,
                pictures: all("img").filter((i) => !seen(i)).length,
                links: all("a").map((a) => a.getAttribute("href")),
              };
            }"""
        )
    assert found["entries"] == found["headings"]
    assert found["items"] == found["listed"]
    assert len(set(found["ids"])) == len(found["ids"])
    assert (found["lost"], found["mute"], found["pictures"]) == ([], 0, 0)
    assert found["levels"][0] == 1
    assert found["levels"].count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(found["levels"]))
    for link in found["links"]:
        if link.startswith("#"):
            assert link[1:] in found["ids"], link
        elif not link.startswith("https://doi.org/10."):
            assert not re.match(r"[a-z]+:|/", link), link
            assert (folder / unquote(link)).is_file(), link


@pytest.mark.parametrize("size", [(320, 640), (740, 360), (1024, 768), (1920, 1080)])
def test_page_never_scrolls_sideways(opened, folder, size):
    with opened(folder, size) as page:
        found = page.run(
            """() => ({
              page: document.documentElement.scrollWidth,
              window: innerWidth,
              wide: [...document.querySelectorAll("main *")]
                .filter((e) => !e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1)
                .map((e) => `${e.localName}.${e.className}`),
            })"""
        )
    assert found["window"] == size[0], "the page made the window wider"
    assert found["page"] <= size[0]
    assert found["wide"] == []


def test_tables_and_text_are_copied(opened, folder):
    """Each copy button fills the clipboard: tables as cells between tabs and as HTML, text as text."""
    with opened(folder) as page:
        page.allow("clipboardReadWrite", "clipboardSanitizedWrite")
        page.send("Page.bringToFront")
        buttons = page.run(
            """() => {
              document.querySelectorAll("details").forEach((details) => { details.open = true; });
              return [...document.querySelectorAll("[data-copy]")].map((button, i) => {
                button.id = `copy-${i}`;
                const source = document.getElementById(button.dataset.copy);
                const table = source.querySelector("table") || source;
                return "table" in button.dataset
                  ? {id: button.id, cells: [...table.querySelectorAll("th, td")].map((c) => c.innerText)}
                  : {id: button.id, text: source.textContent};
              });
            }"""
        )
        assert buttons
        for button in buttons:
            page.click(f"#{button['id']}")
            assert page.run(STATUS).endswith("copied.")
            copied = page.run("() => navigator.clipboard.readText()")
            if "text" in button:
                # lines begin where paragraphs do, which the text of the elements does not show
                assert "".join(copied.split()) == "".join(button["text"].split())
                continue
            rows = [line.split("\t") for line in copied.splitlines()]
            assert len({len(row) for row in rows}) == 1, "every row has every column"
            full = [cell for row in rows for cell in row if cell]
            assert full == [text for cell in button["cells"] if (text := " ".join(cell.split()))]
            kinds = page.run("async () => (await navigator.clipboard.read()).flatMap((item) => item.types)")
            assert "text/html" in kinds


def test_print_is_plain_and_complete(opened, folder):
    """On paper: white whatever the screen has, no buttons or contents, calls unfolded, few sheets."""
    with opened(folder) as page:
        page.click("#theme")
        height = page.run("() => document.documentElement.scrollHeight")
        printed = page.pdf(paperWidth=8.27, paperHeight=11.69)
        page.emulate("print", prefers_color_scheme="dark")
        page.run("() => dispatchEvent(new Event('beforeprint'))")
        found = page.run(
            """() => {
              const all = (selector) => [...document.querySelectorAll(selector)];
              return {
                page: getComputedStyle(document.body).backgroundColor,
                shown: all("nav, button, .skip, .files, #status").filter((e) => e.checkVisibility()).length,
                folded: all(".call code").filter((code) => !code.checkVisibility()).length,
                cut: all(".scroll").filter((e) => getComputedStyle(e).overflowX !== "visible").length,
              };
            }"""
        )
        page.run("() => dispatchEvent(new Event('afterprint'))")
        assert page.run("() => [...document.querySelectorAll('.call')].every((details) => !details.open)")
    assert found == {"page": WHITE, "shown": 0, "folded": 0, "cut": 0}
    # a sheet holds about 850 pixels of the screen's page; tables and figures that move on leave gaps
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2 + height / 400


def test_nothing_is_wider_than_a_sheet_or_cut_by_its_end(opened, folder):
    """In print: all within an upright or turned sheet, type of 6 pt and more, pictures within one sheet."""
    upright = "body > :not(:has(figure.wide)), .item:not(:has(.wide))"
    with opened(folder) as page:
        page.emulate("print")
        for width, part in zip(SHEET, (upright, "figure.wide"), strict=True):
            page.resize(width, 900)
            page.settle()
            found = page.run(
                """(part) => {
                  const parts = [...document.querySelectorAll(part)];
                  const within = parts.flatMap((e) => [e, ...e.querySelectorAll("*")]);
                  const all = within.filter((e) => e.checkVisibility());
                  const box = (e) => e.getBoundingClientRect();
                  const size = (e) => parseFloat(getComputedStyle(e).fontSize);
                  const named = (found) => found.map((e) => `${e.localName} ${e.innerText.slice(0, 40)}`);
                  return {
                    wide: named(all.filter((e) => box(e).right > innerWidth + 1)),
                    small: named(all.filter((e) => e.matches("th, td") && e.innerText.trim() && size(e) < 8)),
                    high: named(all.filter((e) => e.matches("img") && box(e).height > 236 * 96 / 25.4)),
                  };
                }""",
                part,
            )
            assert found == {"wide": [], "small": [], "high": []}, part


def test_a_table_too_wide_for_paper_is_printed_in_parts_with_all_its_cells(opened, endless_folder):
    """Every column once, the names of rows in every part; on the screen it is one table that scrolls."""
    cells = """() => [...document.querySelectorAll("figure td")].filter((e) => e.checkVisibility())
      .map((e) => e.innerText).sort()"""
    with opened(endless_folder) as page:
        on_screen = page.run(cells)
        page.emulate("print")
        assert page.run("() => [...document.querySelectorAll('.part')].length") > 1
        assert page.run(cells) == on_screen


# one that has everything


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_keyboard_reaches_everything(opened, sample_folder, size):
    """Tab comes to the skip link first, then to every control in turn, each with a frame one can see."""
    with opened(sample_folder, size) as page:
        controls = page.run(
            """() => [...document.querySelectorAll("a[href], button, summary, [tabindex='0']")]
              .filter((element) => element.checkVisibility({visibilityProperty: true}))
              .map((element, i) => { element.dataset.stop = i; return element.outerHTML.slice(0, 90); })"""
        )
        stops = []
        for _ in controls:
            page.press("Tab")
            stops.append(
                page.run(
                    """async () => {
                      const element = document.activeElement;
                      // the skip link slides in
                      await Promise.all(element.getAnimations().map((animation) => animation.finished));
                      const style = getComputedStyle(element);
                      const framed = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
                      return [+element.dataset.stop, framed && element.getBoundingClientRect().top >= 0];
                    }"""
                )
            )
        regions = page.run(
            """() => [...document.querySelectorAll("main .scroll")]
              .map((e) => [e.scrollWidth > e.clientWidth, e.getAttribute("tabindex") === "0"])"""
        )
    assert "skip" in controls[stops[0][0]]
    assert [controls[i] for i in sorted(set(range(len(controls))) - {stop for stop, _ in stops})] == []
    assert [controls[stop] for stop, seen in stops if not seen] == []
    # what is wider than the window is a stop, what fits is none
    assert all(wide == stop for wide, stop in regions)


def test_contents_move_focus_and_view_and_are_marked(page):
    smooth = "() => getComputedStyle(document.documentElement).scrollBehavior"
    assert page.run(smooth) == "smooth"
    page.emulate(prefers_reduced_motion="reduce")
    assert page.run(smooth) == "auto"
    for anchor in page.run("() => [...document.querySelectorAll('nav a.part')].map((a) => a.hash.slice(1))"):
        page.click(f'nav a[href="#{anchor}"]')
        state = page.run(
            """() => ({
              focus: document.activeElement.id,
              top: document.activeElement.getBoundingClientRect().top,
              marked: [...document.querySelectorAll("[aria-current]")].map((a) => a.hash.slice(1)),
            })"""
        )
        assert (state["focus"], state["marked"]) == (anchor, [anchor])
        assert 0 <= state["top"] < DESKTOP[1], anchor


def test_contents_fold_on_a_phone(opened, sample_folder):
    is_open = "() => document.querySelector('nav details').open"
    with opened(sample_folder, PHONE) as page:
        assert not page.run(is_open)
        page.click("nav summary")
        assert page.run(is_open)
        page.click("nav a.part[href='#methods']")
        assert not page.run(is_open)
        assert page.run("() => document.activeElement.id") == "methods"
        page.resize(*DESKTOP)
        page.settle()
        assert page.run(is_open)


@pytest.mark.parametrize("system", ["light", "dark"])
def test_colours_are_chosen_and_remembered(page, system):
    page.emulate(prefers_color_scheme=system)
    before = page.run(BACKGROUND)
    page.click("#theme")
    chosen = page.run(BACKGROUND)
    assert chosen != before
    # figures stay on white
    assert page.run("() => getComputedStyle(document.querySelector('main img')).backgroundColor") == WHITE
    page.reload()
    assert page.run(BACKGROUND) == chosen
    page.click("#theme")
    page.click("#theme")
    assert page.run(THEME).endswith("system")
    assert page.run(BACKGROUND) == before


def test_page_works_where_storage_is_refused(page):
    refuse = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('refused'); }})"
    page.send("Page.addScriptToEvaluateOnNewDocument", source=refuse)
    page.reload()
    before = page.run(BACKGROUND)
    page.click("#theme")
    assert page.run(BACKGROUND) != before
    assert page.reported("Runtime.exceptionThrown") == []


def test_skip_link_leads_to_the_results(page):
    for key in ("Tab", "Enter", "Tab"):
        page.press(key)
    assert page.run("() => Boolean(document.activeElement.closest('main'))")


def eventually(page, script, *arguments):
    """Whether a script is true, or becomes so: a browser closes a dialog a moment after the key."""
    for _ in range(60):
        if page.run(script, *arguments):
            return True
        time.sleep(0.05)
    return False


def test_figures_open_large_and_close(page):
    """A figure opens in a dialog by keyboard or mouse; Esc and the button close it; the focus comes back."""
    is_open = "() => Boolean(document.querySelector('dialog[open] img'))"
    is_gone = "() => !document.querySelector('dialog')"
    same = "(id) => document.querySelector('dialog img').src === document.querySelector(`#${id} img`).src"
    for anchor in ("figure-intervals", "figure-small"):
        page.run("(anchor) => document.querySelector(`[data-enlarge=${anchor}]`).focus()", anchor)
        page.press("Enter")
        assert eventually(page, is_open)
        assert page.run(same, anchor)
        page.press("Escape")
        assert eventually(page, is_gone)
        assert page.run("() => document.activeElement.dataset.enlarge") == anchor
    page.click("main .picture img")
    assert eventually(page, is_open)
    page.click("dialog[open] button")
    assert eventually(page, is_gone)


def test_everything_is_there_without_scripts(page):
    words = "() => document.querySelector('main').textContent.split(/\\s+/).join(' ')"
    with_scripts = page.run(words)
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    page.reload()
    assert page.run(words) == with_scripts
    # and no button that does nothing
    dead = "() => [...document.querySelectorAll('button')].filter((b) => b.checkVisibility()).length"
    assert page.run(dead) == 0
    assert page.run("() => document.querySelector('nav details').open")


def test_what_cannot_be_copied_is_selected(page):
    page.run("() => { document.execCommand = () => false; }")
    page.click("[data-copy='methods-text']")
    assert page.run(STATUS) == "Methods selected: press Ctrl+C or ⌘C to copy."
    assert "Holm's procedure" in page.run("() => getSelection().toString()")


def test_a_copied_table_keeps_its_columns_under_a_spanner(page):
    page.allow("clipboardReadWrite", "clipboardSanitizedWrite")
    page.send("Page.bringToFront")
    page.click("[data-copy='table-spanner']")
    assert page.run("() => navigator.clipboard.readText()").splitlines() == [
        "\tGrad-CAM\t",
        "Covariate\tb\tP",
        "Edema\t\t",
        "Elongation\t−0.425\t<0.001",
        "Size\t−0.425\t0.040",
        "Age\t−0.425\t—",
    ]


def test_figures_are_printed_at_their_size(page):
    page.emulate("print")
    widths = page.run(
        "() => [...document.querySelectorAll('img')].map((i) => i.getBoundingClientRect().width)"
    )
    assert widths == [pytest.approx(mm / 25.4 * 96, abs=0.5) for mm in (183, 89)]


def test_a_wide_table_keeps_the_names_of_rows_and_groups_and_what_heads_columns_in_sight(
    opened, sample_folder
):
    with opened(sample_folder, PHONE) as page:
        moved, seen = page.run(
            """() => {
              const region = document.querySelector("#table-wide .scroll");
              const box = region.getBoundingClientRect();
              const cells = ["th:not([colspan])", "td"].map((c) => region.querySelector(`tbody ${c}`));
              const left = () => cells.map((cell) => cell.getBoundingClientRect().left);
              const before = left();
              const seen = () => [...region.querySelectorAll("th[colspan] > span")].map((e) =>
                e.getBoundingClientRect().left >= box.left && e.getBoundingClientRect().right <= box.right);
              const first = seen();
              region.scrollLeft = 200;
              return [left().map((value, i) => value - before[i]), [...first, ...seen()]];
            }"""
        )
    assert seen == [True] * 4
    assert moved == [pytest.approx(0, abs=1), pytest.approx(-200, abs=1)]

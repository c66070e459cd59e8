"""The report's page, clicked through in headless Chromium."""

import html
import os
import re
import shutil
import subprocess
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from display.frames import STUDIES
from display.report.chromium import Page
from PIL import Image

import salstats as ss
from salstats.display.report.document import MissingItem
from salstats.display.report.page import render_page

pytestmark = pytest.mark.browser

DESKTOP, PHONE = (1280, 900), (360, 740)
#: Screens on which the page is laid out as on narrower ones.
WIDE_SCREENS = [pytest.param(size, marks=pytest.mark.slow) for size in [(740, 360), (1920, 1080)]]
#: A page whose long table and high figure matter in print, which has a test of its own.
ENDLESS = pytest.param("endless", marks=pytest.mark.slow)
#: Width and height of sheets in inches, and their margins above and below in mm.
A4, LETTER = (8.27, 11.69), (8.5, 11)
SHEETS = [pytest.param(A4, id="A4"), pytest.param(LETTER, id="letter", marks=pytest.mark.slow)]
MARGINS_MM = (18, 20)
#: Least share of a sheet's height that is printed, on each but the last.
LEAST_FILLED = 0.6
#: Least height in pixels of a figure's letters of 7 pt on a phone.
LEAST_LETTERS = 8.5
MM_OF_LETTERS = 7 / 72 * 25.4
#: Width of a sheet's text (180 mm) in pixels.
SHEET = 680
COMPLAINTS = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
WORD = "Unbroken" * 30
WHITE = "rgb(255, 255, 255)"
BACKGROUND = "() => getComputedStyle(document.body).backgroundColor"
UNFOLD = "() => document.querySelectorAll('details').forEach((details) => { details.open = true; })"


@pytest.fixture(scope="module")
def long_folder(sample_report, rows_from, tmp_path_factory):
    """Words of 240 letters everywhere, 60 tasks, and text that looks like markup."""
    names = [f"<b>Task</b> {i} & 100% {WORD if i == 7 else ''}" for i in range(60)]
    grid = rows_from(pd.DataFrame({WORD: ["0.1"] * 60, "</td>": ["日本"] * 60}, index=names), "Task", WORD)
    summary, part, *_, last = sample_report.sections
    (means, figure), small = part.items, summary.items[0]
    items = (
        replace(means, title=WORD, caption=WORD, call=WORD, content=grid, files=()),
        replace(figure, title=WORD, caption=WORD, call=WORD, files=()),
        replace(small, alt=WORD, files=()),
    )
    sections = (
        replace(summary, sentences=(WORD,), items=items[2:]),
        replace(part, title=WORD, sentences=(WORD, "</p>"), items=items[:2]),
        *(replace(last, key=f"part{i}", title=f"Part {i}") for i in range(20)),
    )
    texts = {"title": WORD, "methods": (WORD,), "warnings": (WORD,)}
    tables = {
        "missing_items": (MissingItem(WORD, WORD, WORD),),
        "counts": ((WORD,) * 2,),
        "provenance": (("Input", WORD),),
    }
    folder = tmp_path_factory.mktemp("long")
    page = render_page(replace(sample_report, sections=sections, **texts, **tables))
    (folder / "index.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def endless_folder(sample_report, rows_from, tmp_path_factory):
    """One table of 160 rows, and a figure of two pages that are as high as a sheet."""
    columns = {f"Method {i}": [f"0.{i:03d} (0.100, 0.{j:03d})" for j in range(160)] for i in range(4)}
    grid = rows_from(pd.DataFrame(columns, index=[f"Task {j}" for j in range(160)]), "Task", "A note.")
    summary, part, *_ = sample_report.sections
    high = BytesIO()
    Image.new("L", (732, 988), 255).save(high, "PNG", dpi=(101.6, 101.6))
    means, figure = part.items
    items = (
        replace(means, content=grid, files=()),
        replace(figure, content=(high.getvalue(),) * 2, files=()),
    )
    folder = tmp_path_factory.mktemp("endless")
    sections = (replace(summary, items=()), replace(part, items=items))
    page = render_page(replace(sample_report, sections=sections, missing_items=()))
    (folder / "index.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture(params=[pytest.param("sample", marks=pytest.mark.slow), "simulated", "long", ENDLESS])
def folder(request):
    """A made-up report with every part, a whole one with real files, and one of endless words."""
    found = request.getfixturevalue(
        "simulated" if request.param == "simulated" else f"{request.param}_folder"
    )
    return found[0] if request.param == "simulated" else found


@pytest.fixture
def opened(browser):
    """A function that opens a report's page from the disk, by default with everything unfolded."""

    def open_page(folder, size=DESKTOP, unfold=True):
        page = Page(browser, (folder / "index.html").resolve().as_uri(), width=size[0], height=size[1])
        if unfold:
            page.run(UNFOLD)
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
        page.click("[data-copy]")
        assert page.reported(*COMPLAINTS) == []
        asked = {event["request"]["url"] for event in page.reported("Network.requestWillBeSent")}
    assert {url for url in asked if not url.startswith("data:")} == {
        (folder / "index.html").resolve().as_uri()
    }


def test_page_is_sound(opened, folder):
    """Ids, names, headings and links are in order."""
    with opened(folder) as page:
        found = page.run(
            """() => {
              const all = (selector) => [...document.querySelectorAll(selector)];
              const ids = all("[id]").map((e) => e.id);
              const referring = ["aria-labelledby", "aria-describedby", "data-copy"];
              const referred = referring.flatMap((name) =>
                all(`[${name}]`).flatMap((e) => e.getAttribute(name).split(" ")));
              const named = (e) => (e.getAttribute("aria-label") || e.textContent).trim();
              const seen = (i) => i.alt.trim() && i.naturalWidth && i.width && i.height;
              return {
                ids,
                levels: all("h1,h2,h3,h4").map((h) => +h.localName[1]),
                lost: referred.filter((id) => !document.getElementById(id)),
                mute: all("a, button, summary, [role=region]").filter((e) => !named(e)).length,
                pictures: all("img").filter((i) => !seen(i)).length,
                links: all("a").map((a) => a.getAttribute("href")),
              };
            }"""
        )
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


@pytest.mark.parametrize("size", [(320, 640), (1024, 768), *WIDE_SCREENS])
def test_page_never_scrolls_sideways(opened, folder, size):
    with opened(folder, size) as page:
        found = page.run(
            """() => ({
              page: document.documentElement.scrollWidth,
              window: innerWidth,
              wide: [...document.querySelectorAll("main *")]
                .filter((e) => !e.closest(".scroll, .picture"))
                .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
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
            assert page.run("(id) => document.getElementById(id).textContent", button["id"]) == "Copied"
            copied = page.run("() => navigator.clipboard.readText()")
            if "text" in button:
                # lines begin where paragraphs do, which the text of the elements does not show
                assert "".join(copied.split()) == "".join(button["text"].split())
                continue
            full = [cell for line in copied.splitlines() for cell in line.split("\t") if cell.strip()]
            assert full == [text for cell in button["cells"] if (text := " ".join(cell.split()))]
            kinds = page.run("async () => (await navigator.clipboard.read()).flatMap((item) => item.types)")
            assert "text/html" in kinds


@pytest.mark.parametrize(
    "unfold",
    [pytest.param(False, id="folded"), pytest.param(True, id="unfolded", marks=pytest.mark.slow)],
)
def test_print_is_plain_and_has_every_part_folded_or_not(opened, folder, unfold):
    """On paper: white whatever the screen has, no buttons, few sheets; all tables, figures and texts."""
    with opened(folder, unfold=unfold) as page:
        height = page.run("() => document.documentElement.scrollHeight")
        printed = page.pdf(paperWidth=8.27, paperHeight=11.69)
        state = "() => [...document.querySelectorAll('details')].map((details) => details.open)"
        before = page.run(state)
        page.emulate("print", prefers_color_scheme="dark")
        found = page.run(
            """() => {
              const all = (selector) => [...document.querySelectorAll(selector)];
              const seen = (e) => e.checkVisibility();
              return {
                page: getComputedStyle(document.body).backgroundColor,
                shown: all("button:not(.sorts), .skip, .files").filter(seen).length,
                cut: all(".scroll").filter((e) => getComputedStyle(e).overflowX !== "visible").length,
                lost: all(".part > :is(p, .item), .item, .item table").filter((e) => !seen(e)).length,
                calls: all(".call > pre").filter(seen).length > 0,
              };
            }"""
        )
        assert page.run(state) == before
    assert found == {"page": WHITE, "shown": 0, "cut": 0, "lost": 0, "calls": unfold and found["calls"]}
    # a sheet holds about 850 pixels of the screen's page; tables and figures that move on leave gaps
    if unfold:
        assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2 + height / 400


@pytest.mark.parametrize("sheet", SHEETS)
def test_the_demo_like_report_prints_with_its_tables_on_fourteen_sheets(opened, simulated, sheet):
    with opened(simulated[0], unfold=False) as page:
        printed = page.pdf(paperWidth=sheet[0], paperHeight=sheet[1])
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 14


@pytest.fixture
def printed(opened, tmp_path):
    """A function that prints a report as it is opened, without unfolding, and returns the PDF's path."""
    if shutil.which("pdftoppm") is None and not os.environ.get("CI"):
        pytest.skip("no pdftoppm is installed")

    def print_report(folder, sheet=A4):
        file = tmp_path / "report.pdf"
        with opened(folder, unfold=False) as page:
            file.write_bytes(page.pdf(paperWidth=sheet[0], paperHeight=sheet[1]))
        return file

    return print_report


def filled_shares(pdf):
    """How far down each sheet of a PDF is printed, as a share of the height between its margins."""
    command = ["pdftoppm", "-r", "50", "-gray", pdf.name, "sheet"]
    subprocess.run(command, cwd=pdf.parent, check=True)
    shares = []
    for file in sorted(pdf.parent.glob("sheet-*.pgm")):
        sheet = np.asarray(Image.open(file))
        top, bottom = (round(mm / 25.4 * 50) for mm in MARGINS_MM)
        rows_with_ink = np.flatnonzero((sheet[top:-bottom] < 250).any(axis=1))
        shares.append((rows_with_ink.max(initial=-1) + 1) / (len(sheet) - top - bottom))
    return shares


def sheet_texts(pdf):
    """The text of each sheet of a PDF, without its number."""
    text = subprocess.run(["pdftotext", pdf, "-"], check=True, capture_output=True, text=True).stdout
    return [re.sub(r"\d+ ?/ ?\d+\s*$", "", sheet) for sheet in text.split("\f")[:-1]]


def headings_that_end_a_sheet(pdf, folder):
    """The headings of a report's page that are the last text of a sheet."""
    page = (folder / "index.html").read_text(encoding="utf-8")
    found = []
    for heading in re.findall(r"<h[23][^>]*>(.*?)</h[23]>", page, re.DOTALL):
        text = html.unescape(re.sub(r"<[^>]*>", "", heading))
        # lines end elsewhere in print
        if any("".join(sheet.split()).endswith("".join(text.split())) for sheet in sheet_texts(pdf)):
            found.append(text)
    return found


@pytest.mark.parametrize("sheet", SHEETS)
def test_no_sheet_but_the_last_is_half_empty_and_none_ends_with_a_heading(printed, simulated, sheet):
    pdf = printed(simulated[0], sheet)
    shares = filled_shares(pdf)
    assert min(shares[:-1]) >= LEAST_FILLED, shares
    assert headings_that_end_a_sheet(pdf, simulated[0]) == []


def test_the_head_of_a_table_stands_on_each_sheet_with_its_rows(printed, endless_folder):
    sheets = [text for text in sheet_texts(printed(endless_folder)) if re.search(r"Task \d", text)]
    assert len(sheets) > 2
    for text in sheets:
        assert [f"Method {i}" for i in range(4) if f"Method {i}" not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in STUDIES if name != "demo"])
@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_no_sheet_of_another_study_is_half_empty_and_none_ends_with_a_heading(printed, name, tmp_path):
    scores = STUDIES[name]()
    reference = "human" if "human" in set(scores["method"]) else None
    folder = tmp_path / "report"
    ss.report(scores, folder, title=name, reference=reference, n_replicates=199, jobs=1)
    for sheet in (A4, LETTER):
        pdf = printed(folder, sheet)
        shares = filled_shares(pdf)
        assert min(shares[:-1]) >= LEAST_FILLED, (sheet, shares)
        assert headings_that_end_a_sheet(pdf, folder) == []


def test_the_print_has_every_table_and_figure(printed, opened, simulated):
    """Titles of all tables and figures, all cells of tables, and a picture of each page of a figure.

    No line ends inside a number.
    """
    pdf = printed(simulated[0])
    text = "\n".join(sheet_texts(pdf))
    pictures = subprocess.run(["pdfimages", "-list", pdf], check=True, capture_output=True, text=True).stdout
    with opened(simulated[0], unfold=False) as page:
        found = page.run(
            """() => {
              const texts = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent);
              return {
                titles: texts("main h3"),
                cells: texts(".item :is(th, td)"),
                images: document.images.length,
              };
            }"""
        )
    # each has the frame behind it as a file
    assert len(found["titles"]) == len(list((simulated[0] / "frames").glob("*.csv")))
    # lines end elsewhere in print
    printed_text = "".join(text.split())
    assert [title for title in found["titles"] if "".join(title.split()) not in printed_text] == []
    words = {word for cell in found["cells"] for word in cell.split()}
    assert {word for word in words if word not in printed_text} == set()
    assert {word for word in words if re.search(r"\d", word)} - set(text.split()) == set()
    assert len(re.findall(r"^ +\d+ +\d+ image", pictures, re.M)) >= found["images"]


def test_nothing_is_wider_than_a_sheet_or_cut_by_its_end(opened, folder):
    """In print: all within the sheet, type of 6 pt and more, pictures within one sheet."""
    with opened(folder) as page:
        page.run("() => dispatchEvent(new Event('beforeprint'))")
        page.emulate("print")
        page.resize(SHEET, 900)
        page.settle()
        found = page.run(
            """() => {
              const all = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility());
              const box = (e) => e.getBoundingClientRect();
              const zoom = (e) => parseFloat(getComputedStyle(e.closest("table")).zoom);
              const size = (e) => parseFloat(getComputedStyle(e).fontSize) * zoom(e);
              const named = (found) => found.map((e) => `${e.localName} ${e.innerText.slice(0, 40)}`);
              return {
                wide: named(all.filter((e) => box(e).right > innerWidth + 1)),
                small: named(all.filter((e) => e.matches("th, td") && e.innerText.trim() && size(e) < 7.99)),
                high: named(all.filter((e) => e.matches("img") && box(e).height > 236 * 96 / 25.4)),
              };
            }"""
        )
    assert found == {"wide": [], "small": [], "high": []}


# one that has everything


@pytest.mark.parametrize(
    "size",
    [pytest.param(DESKTOP, id="desktop"), pytest.param(PHONE, id="phone", marks=pytest.mark.slow)],
)
def test_keyboard_reaches_everything(opened, sample_folder, size):
    """Tab comes to the skip link first, then to every control in turn, each with a frame one can see."""
    with opened(sample_folder, size) as page:
        controls = page.run(
            """() => [...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")]
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
    assert "skip" in controls[stops[0][0]]
    assert [controls[i] for i in sorted(set(range(len(controls))) - {stop for stop, _ in stops})] == []
    assert [controls[stop] for stop, seen in stops if not seen] == []


def test_the_first_screen_has_the_result_and_its_figure(opened, simulated):
    bottoms = """() => ["#summary-text", ".first img", ".counts"].map((s) =>
      document.querySelector(s).getBoundingClientRect().bottom)"""
    with opened(simulated[0], (1280, 800), unfold=False) as page:
        assert max(page.run(bottoms)) < 800
        assert page.run("() => document.documentElement.scrollHeight") < 2 * 800
        page.resize(*PHONE)
        page.settle()
        # the figure with its legend, whole on a phone
        image = "() => document.querySelector('.first img').getBoundingClientRect().toJSON()"
        box = page.run(image)
        assert box["right"] <= PHONE[0]
        assert box["bottom"] < PHONE[1]


def test_a_phone_shows_figures_with_legible_letters_and_a_link_to_the_tables_of_their_part(opened, simulated):
    with opened(simulated[0], (390, 844)) as page:
        found = page.run(
            """() => {
              const seen = (e) => e.checkVisibility();
              const scale = (img) => img.width / parseFloat(getComputedStyle(img).getPropertyValue("--mm"));
              const parts = [...document.querySelectorAll(".part:has(img):has(.item table)")];
              const first = (part) => part.querySelector(".item img, .item table").localName;
              return {
                scales: [...document.images].map(scale),
                // other parts begin with their tables
                parts: parts.filter((part) => first(part) === "img").map((part) => ({
                  links: [...part.querySelectorAll("a[href^='#']")].filter(seen).map((a) => a.hash.slice(1)),
                  tables: [...part.querySelectorAll("figure:has(table)")].map((figure) => figure.id),
                })),
              };
            }"""
        )
        assert min(found["scales"]) * MM_OF_LETTERS >= LEAST_LETTERS
        assert found["parts"]
        for part in found["parts"]:
            assert part["links"] == part["tables"]
        page.resize(*DESKTOP)
        page.settle()
        assert not page.run("() => document.querySelector('.narrow').checkVisibility()")


def test_anchors_unfold_what_they_name_and_take_the_focus(opened, sample_folder):
    with opened(sample_folder, unfold=False) as page:
        page.emulate(prefers_reduced_motion="reduce")
        for anchor in ("warnings", "table-wide", "section-means"):
            page.run("(anchor) => { location.hash = anchor; }", anchor)
            page.settle()
            state = page.run(
                """() => ({
                  focus: document.activeElement.id,
                  top: document.activeElement.getBoundingClientRect().top,
                  open: document.activeElement.closest("details.part").open,
                  seen: document.activeElement.checkVisibility(),
                })"""
            )
            assert (state["focus"], state["open"], state["seen"]) == (anchor, True, True)
            assert 0 <= state["top"] < DESKTOP[1], anchor


def test_one_button_opens_and_folds_every_part(opened, sample_folder):
    parts = "() => [...document.querySelectorAll('.part')].map((part) => part.open)"
    with opened(sample_folder, unfold=False) as page:
        assert not any(page.run(parts))
        page.click("#open-all")
        assert all(page.run(parts))
        page.settle()
        assert page.run("() => document.getElementById('open-all').textContent") == "Fold all"
        page.click("#open-all")
        assert not any(page.run(parts))


def test_colours_are_those_of_the_system(page):
    page.emulate(prefers_color_scheme="dark")
    assert page.run(BACKGROUND) != WHITE
    # figures stay on white
    assert page.run("() => getComputedStyle(document.querySelector('main img')).backgroundColor") == WHITE


def test_skip_link_leads_to_the_results(page):
    for key in ("Tab", "Enter", "Tab"):
        page.press(key)
    assert page.run("() => Boolean(document.activeElement.closest('main'))")


def test_everything_is_there_without_scripts(page):
    words = "() => document.querySelector('main').textContent.split(/\\s+/).join(' ')"
    with_scripts = page.run(words)
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    page.reload()
    assert page.run(words) == with_scripts
    # and no button that does nothing
    dead = "() => [...document.querySelectorAll('button')].filter((b) => b.checkVisibility()).length"
    assert page.run(dead) == 0


def test_what_cannot_be_copied_is_selected(page):
    page.run("() => { document.execCommand = () => false; }")
    page.click("[data-copy='methods-text']")
    assert page.run("() => document.querySelector('[data-copy=methods-text]').textContent").startswith(
        "Press"
    )
    assert "Holm's procedure" in page.run("() => getSelection().toString()")


def test_figures_are_printed_at_their_size(page):
    page.emulate("print")
    widths = page.run(
        "() => [...document.querySelectorAll('img')].map((i) => i.getBoundingClientRect().width)"
    )
    assert widths == [pytest.approx(mm / 25.4 * 96, abs=0.5) for mm in (89, 183)]


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


def test_a_table_with_indented_rows_is_not_sorted(opened, sample_report, rows_from, tmp_path):
    levels = pd.DataFrame({"N = 3": ["", "2", "1"]}, index=["Sex", "F", "M"])
    summary, part, *_ = sample_report.sections
    means = replace(
        part.items[0], content=rows_from(levels, "Characteristic", indented_rows={1, 2}), files=()
    )
    sections = (replace(summary, items=()), replace(part, items=(means,)))
    page = render_page(replace(sample_report, sections=sections, missing_items=()))
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    with opened(tmp_path) as page:
        buttons = "() => document.querySelectorAll('#table-means, .sorts').length"
        assert page.run(buttons) == 1


def test_a_table_is_sorted_by_a_column_and_searched(opened, simulated):
    rows = """() => [...document.querySelector("#table-decrease tbody").rows]
      .filter((row) => !row.matches(".group, [hidden]"))
      .map((row) => [row.cells[0].innerText, row.cells[3].innerText])"""
    with opened(simulated[0]) as page:
        before = page.run(rows)
        page.click("#table-decrease thead tr:last-child th:nth-child(4) button")
        smallest_first = page.run(rows)
        numbers = [float(text) for _, text in smallest_first[:-1]]
        assert numbers == sorted(numbers)
        # the average stays below the tasks
        assert smallest_first[-1] == before[-1]
        assert sorted(smallest_first) == sorted(before)
        page.click("#table-decrease thead tr:last-child th:nth-child(4) button")
        assert [float(text) for _, text in page.run(rows)[:-1]] == numbers[::-1]
        page.run(
            """() => {
              const field = document.querySelector("#table-decrease .find input");
              field.value = "edema iou";
              field.dispatchEvent(new Event("input"));
            }"""
        )
        assert [task for task, _ in page.run(rows)] == ["Edema"]

"""The built site as a reader's browser shows it, without a network: `make docs`, then `pytest -m docs`."""

import os
import re
from collections.abc import Iterator
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest
from display.report.chromium import Chromium, Page, find_chromium
from lxml import html

import salstats as ss

pytestmark = pytest.mark.docs
ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("SALSTATS_SITE") or ROOT / "docs" / "_build" / "html")
PHONE, SCREEN = 390, 1280
#: One page of each kind.
KINDS = (
    "index.html",
    "start/first_scores.html",
    "tutorials/maps.html",
    "reference/api/salstats.percent_decrease.html",
    "reference/commands/summarize.html",
    "gallery/index.html",
    "gallery/scores/plot_intervals.html",
    "gallery/comparison/table_decrease.html",
    "explanation/coverage.html",
)


@pytest.fixture(scope="session", autouse=True)
def site() -> Path:
    if not (SITE / "index.html").is_file():
        pytest.fail(f"there is no site in {SITE}; `make docs` builds it")
    return SITE


@pytest.fixture(scope="session")
def pages(site) -> list[Path]:
    """Every page but the listings of source code."""
    apart = {"_modules", "_static"}
    return [p for p in sorted(site.rglob("*.html")) if apart.isdisjoint(p.relative_to(site).parts)]


@pytest.fixture(scope="session")
def served(site) -> Iterator[str]:
    """The address of the site where a server of this machine serves it."""
    handler = partial(SimpleHTTPRequestHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser(tmp_path_factory) -> Iterator[Chromium]:
    with Chromium(find_chromium(), tmp_path_factory.mktemp("chromium")) as running:
        yield running


@cache
def parsed(page):
    return html.fromstring(page.read_bytes())


@cache
def anchors(page):
    return {value for element in parsed(page).iter() for key in ("id", "name") if (value := element.get(key))}


def test_links_lead_somewhere_and_pictures_are_there(pages):
    broken = []
    for page in pages:
        found = {(key, e.get(key)) for e in parsed(page).iter() for key in ("href", "src") if e.get(key)}
        for key, address in found:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file() or (
                key == "href"
                and parts.fragment
                and target.suffix == ".html"
                and unquote(parts.fragment) not in anchors(target)
            ):
                broken.append(f"{page.relative_to(SITE)}: {address}")
    assert broken == []


def test_nothing_is_loaded_from_the_web(pages):
    loading = "//script/@src | //img/@src | //iframe/@src | //link[@rel='stylesheet' or @rel='preload']/@href"
    assert [a for p in pages for a in parsed(p).xpath(loading) if re.match(r"(https?:)?//", a)] == []
    styles = [f for f in SITE.rglob("*.css") if re.search(r"url\(.?https?:|@import .?https?:", f.read_text())]
    assert styles == []


def test_every_figure_and_table_stands_in_the_gallery_and_each_page_leads_to_the_other(site):
    functions = {name for name in ss.__all__ if name.startswith(("plot_", "table_"))}
    shown: dict[str, list[Path]] = {name: [] for name in functions}
    for page in (site / "gallery").glob("*/*.html"):
        for name in set(re.findall(r"salstats\.((?:plot|table)_\w+)\.html", page.read_text())):
            if parsed(page).xpath("//article//img | //article//table[contains(@class, 'gt_table')]"):
                shown[name].append(page)
    assert [name for name, found in shown.items() if not found] == []
    for name, found in shown.items():
        reference = (site / "reference" / "api" / f"salstats.{name}.html").read_text()
        assert any(f"{page.parent.name}/{page.name}" in reference for page in found), name


def test_pictures_say_what_they_show(pages):
    said = [
        (str(page.relative_to(SITE)), picture.get("src"))
        for page in pages
        for picture in parsed(page).xpath("//article//img[not(@alt) or @alt = @src]")
    ]
    assert said == []


@pytest.mark.browser
def test_the_search_works_without_a_server(site, browser):
    with Page(browser, f"{(site / 'search.html').as_uri()}?q=percent_decrease") as page:
        found = page.run(
            """() => new Promise((done) => {
              const look = (left) => {
                const links = [...document.querySelectorAll("#search-results li a")].map((a) => a.href);
                const api = links.some((link) => link.includes("salstats.percent_decrease.html"));
                api || !left ? done(links) : setTimeout(look, 100, left - 1);
              };
              look(200);
            })"""
        )
    assert any("salstats.percent_decrease.html" in link for link in found)


@pytest.mark.browser
@pytest.mark.parametrize("opened", ["from a disk", "from a server"])
def test_the_search_shows_where_the_word_stands_on_each_page(site, served, browser, opened):
    start = site.as_uri() if opened == "from a disk" else served
    with Page(browser, f"{start}/search.html?q=clustered") as page:
        results = page.run(
            """() => new Promise((done) => {
              const results = () => [...document.querySelectorAll("#search-results li:not(.kind-object)")]
                .map((li) => [li.querySelector("a").href, li.querySelector(".context")?.textContent]);
              const isComplete = () =>
                document.querySelector("#search-results .search-summary")?.textContent &&
                results().every(([address, excerpt]) => excerpt);
              const look = (left) =>
                isComplete() || !left ? done(results()) : setTimeout(look, 100, left - 1);
              look(200);
            })"""
        )
    assert f"{start}/howto/unit.html" in [address.split("#")[0] for address, _ in results]
    assert [address for address, excerpt in results if "cluster" not in (excerpt or "").lower()] == []


@pytest.mark.browser
@pytest.mark.parametrize(("width", "height"), [(SCREEN, 800), (PHONE, 844)])
def test_the_front_page_begins_with_what_it_is_for_whom_and_how_to_start(site, browser, width, height):
    links = ('a[href="start/index.html"]', 'a[href="start/choosing.html"]')
    first = ["h1", "h1 ~ p", "h1 ~ .highlight-bash", "h1 ~ ul", *links]
    with Page(browser, (site / "index.html").as_uri(), width=width, height=height) as page:
        page.settle()
        bottoms = page.run(
            """(selectors) => selectors.map(
              (selector) => document.querySelector(`article :is(${selector})`).getBoundingClientRect().bottom
            )""",
            first,
        )
    assert [selector for selector, bottom in zip(first, bottoms, strict=True) if bottom > height] == []


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", KINDS)
def test_axe_finds_nothing_serious(site, browser, name, theme):
    with Page(browser, (site / name).as_uri()) as page:
        page.emulate(prefers_color_scheme=theme)
        page.reload()
        page.settle()
        assert page.run("() => document.documentElement.dataset.theme") == theme
        page.send("Runtime.evaluate", expression=files("axe_core_python").joinpath("axe.min.js").read_text())
        found = page.run(
            """async () => {
              // colours change slowly
              await Promise.all(document.getAnimations().map((a) => a.finished));
              const {violations} = await axe.run(document, {resultTypes: ["violations"]});
              return violations.filter((v) => ["serious", "critical"].includes(v.impact))
                .map((v) => [v.id, v.nodes.slice(0, 5).map((n) => n.html.slice(0, 200))]);
            }"""
        )
    assert found == []


@pytest.mark.browser
def test_no_page_scrolls_sideways_on_a_phone(site, pages, browser):
    wide = []
    # of pages that are made alike, those of `KINDS`
    alike = {*(site / "gallery").iterdir(), site / "reference" / "api", site / "reference" / "commands"}
    for file in (p for p in pages if p.parent not in alike or p.relative_to(site).as_posix() in KINDS):
        with Page(browser, file.as_uri(), width=PHONE, height=844) as page:
            if page.run("() => document.documentElement.scrollWidth") > PHONE:
                wide.append(str(file.relative_to(SITE)))
    assert wide == []


@pytest.mark.browser
@pytest.mark.parametrize("name", KINDS)
def test_a_printed_page_is_its_text_alone(site, browser, name):
    with Page(browser, (site / name).as_uri(), width=SCREEN) as page:
        page.emulate(media="print")
        page.settle()
        navigation = page.run(
            """() => [...document.querySelectorAll("nav, header, footer, .bd-sidebar, .headerlink, button")]
              .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height)
              .map((e) => e.outerHTML.slice(0, 200))"""
        )
        text, window = page.run(
            "() => [document.querySelector('article').getBoundingClientRect().width, innerWidth]"
        )
    assert navigation == []
    assert text > 0.9 * window


@pytest.mark.browser
@pytest.mark.parametrize("name", KINDS)
def test_a_page_opens_without_an_error(site, browser, name):
    with Page(browser, (site / name).as_uri()) as page:
        page.settle()
        kinds = ("Runtime.exceptionThrown", "Network.loadingFailed")
        assert page.reported(*kinds) == []
        assert [e for e in page.reported("Log.entryAdded") if e["entry"]["level"] == "error"] == []

"""What must hold for any report's folder in a browser: each check takes a browser and the folder."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from display.report.chromium import Chromium, Page

DESKTOP, PHONE = (1280, 900), (360, 740)
#: WCAG 2.2, 1.4.3 (AA); large text could do with less.
LEAST_CONTRAST = 4.5
#: Anchors of the parts that every report has.
PARTS = ("summary", "methods", "warnings", "not-covered", "provenance")
COMPLAINTS = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")

#: A control that the keyboard should reach, in words, if the page shows it.
_DESCRIBE = """
  const name = (element) => `${element.localName}#${element.id}.${element.className} ` +
    (element.getAttribute("aria-label") || element.textContent).trim().slice(0, 60);
  const shown = (element) => element.checkVisibility({visibilityProperty: true});
"""


def open_report(browser: Chromium, folder: Path, size: tuple[int, int] = DESKTOP) -> Page:
    """Open a report's page as a reader does, from the disk."""
    page = Page(browser, (folder / "index.html").resolve().as_uri(), width=size[0], height=size[1])
    page.settle()
    return page


def loads_without_complaint_or_network(browser: Chromium, folder: Path) -> None:
    """Nothing but the file itself is loaded, and the console stays empty, also when it is used."""
    with open_report(browser, folder) as page:
        page.click("#theme")
        page.click("[data-copy]")
        if page.run("() => Boolean(document.querySelector('[data-enlarge]'))"):
            page.click("[data-enlarge]")
            page.press("Escape")
        page.reload()
        complaints = page.reported(*COMPLAINTS)
        asked = [event["request"]["url"] for event in page.reported("Network.requestWillBeSent")]
    assert complaints == []
    assert asked, "the page itself is a request; without it this check sees nothing"
    address = (folder / "index.html").resolve().as_uri()
    assert {url for url in asked if not url.startswith("data:")} == {address}


def every_part_is_there_and_in_the_contents(browser: Chromium, folder: Path) -> None:
    """Each part has a heading that the contents name, and every table and figure is listed."""
    with open_report(browser, folder) as page:
        found = page.run(
            """() => ({
              links: [...document.querySelectorAll("nav a.part")].map((a) => [a.hash, a.textContent]),
              headings: [...document.querySelectorAll("main h2")].map((h) => [`#${h.id}`, h.textContent]),
              items: [...document.querySelectorAll("main figure")].map((f) => `#${f.id}`),
              listed: [...document.querySelectorAll("nav li li a")].map((a) => a.hash),
            })"""
        )
    assert found["links"] == found["headings"]
    assert set(PARTS) <= {anchor[1:] for anchor, _ in found["headings"]}
    assert found["items"] == found["listed"]


def headings_are_in_order(browser: Chromium, folder: Path) -> None:
    """One h1 stands first, and no level is left out on the way down."""
    with open_report(browser, folder) as page:
        levels = page.run("() => [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => +h.localName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))


def ids_names_and_alternatives_are_sound(browser: Chromium, folder: Path) -> None:
    """No id stands twice, what refers to an id finds it, pictures and controls have names."""
    with open_report(browser, folder) as page:
        found = page.run(
            """() => {
              const all = (selector) => [...document.querySelectorAll(selector)];
              const ids = all("[id]").map((e) => e.id);
              const referring = ["aria-labelledby", "aria-describedby", "data-copy", "data-enlarge"];
              const referred = referring.flatMap((name) =>
                all(`[${name}]`).flatMap((e) => e.getAttribute(name).split(" ")));
              const named = (e) => (e.getAttribute("aria-label") || e.textContent).trim();
              return {
                lang: document.documentElement.lang,
                twice: ids.filter((id, i) => ids.indexOf(id) !== i),
                lost: referred.filter((id) => !document.getElementById(id)),
                mute: all("a, button, summary, nav, [role=region]").filter((e) => !named(e)).length,
                pictures: all("img").map((i) => [i.alt.trim(), i.naturalWidth, i.width, i.height,
                  i.src.slice(0, 22)]),
              };
            }"""
        )
    assert found["lang"] == "en"
    assert found["twice"] == []
    assert found["lost"] == []
    assert found["mute"] == 0
    for alt, natural, width, height, source in found["pictures"]:
        assert alt
        assert min(natural, width, height) > 0
        assert source == "data:image/png;base64,"


def every_link_leads_somewhere(browser: Chromium, folder: Path) -> None:
    """Anchors are on the page, files in the folder; nothing else is linked but papers by their DOI."""
    with open_report(browser, folder) as page:
        links = page.run("() => [...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))")
        ids = page.run("() => [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert links
    for link in links:
        if link.startswith("#"):
            assert link[1:] in ids, link
        elif not link.startswith("https://doi.org/10."):
            assert not re.match(r"[a-z]+:|/", link), link
            assert (folder / unquote(link)).is_file(), link


def contents_move_focus_and_view(browser: Chromium, folder: Path) -> None:
    """A link of the contents brings its heading into view, gives it the focus, and is marked."""
    with open_report(browser, folder) as page:
        page.emulate(prefers_reduced_motion="reduce")
        anchors = page.run("() => [...document.querySelectorAll('nav a.part')].map((a) => a.hash.slice(1))")
        for anchor in anchors:
            page.click(f'nav a[href="#{anchor}"]')
            state = page.run(
                """() => ({
                  focus: document.activeElement.id,
                  top: document.activeElement.getBoundingClientRect().top,
                  marked: [...document.querySelectorAll("[aria-current]")].map((a) => a.hash.slice(1)),
                })"""
            )
            assert state["focus"] == anchor
            assert 0 <= state["top"] < DESKTOP[1], anchor
            assert state["marked"] == [anchor]


def contents_fold_on_a_phone(browser: Chromium, folder: Path) -> None:
    """On a phone the contents are folded, open on demand, and fold again once used."""
    is_open = "() => document.querySelector('nav details').open"
    with open_report(browser, folder, PHONE) as page:
        assert not page.run(is_open)
        page.click("nav summary")
        assert page.run(is_open)
        page.click("nav a.part[href='#methods']")
        assert not page.run(is_open)
        assert page.run("() => document.activeElement.id") == "methods"
        page.resize(*DESKTOP)
        page.settle()
        assert page.run(is_open)


def colours_are_chosen_and_remembered(browser: Chromium, folder: Path) -> None:
    """The button turns light into dark at its first press, and the choice outlives a reload."""
    background = "() => getComputedStyle(document.body).backgroundColor"
    for system in ("light", "dark"):
        with open_report(browser, folder) as page:
            page.emulate(prefers_color_scheme=system)
            before = page.run(background)
            page.click("#theme")
            chosen = page.run(background)
            assert chosen != before
            page.reload()
            assert page.run(background) == chosen
            page.click("#theme")
            page.click("#theme")
            assert page.run("() => document.getElementById('theme').textContent").endswith("system")
            assert page.run(background) == before


def text_has_contrast(browser: Chromium, folder: Path) -> None:
    """All text stands out from what is behind it, light and dark, and so do the frames of the focus."""
    for system in ("light", "dark"):
        with open_report(browser, folder) as page:
            page.emulate(prefers_color_scheme=system)
            found = page.run(_CONTRAST, LEAST_CONTRAST)
            assert found["texts"] > 20
            assert found["weak"] == [], system
            assert found["focus"] >= 3, system


_CONTRAST = """(least) => {
  const parse = (colour) => {
    const parts = colour.match(/^rgba?\\(([^)]*)\\)$/);
    if (!parts) throw Error(`cannot read the colour ${colour}`);
    const [r, g, b, a = 1] = parts[1].split(/[ ,\\/]+/).map(Number);
    return [r, g, b, a];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduceRight((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((v) => {
      const c = v / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  document.querySelectorAll("details").forEach((details) => { details.open = true; });
  document.getElementById("status").textContent = "Table 1 copied.";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const weak = [];
  let texts = 0;
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility({visibilityProperty: true})) continue;
    texts += 1;
    const below = behind(element);
    const found = ratio(over(parse(getComputedStyle(element).color), below), below);
    if (found < least) weak.push(`${found.toFixed(2)} ${element.localName}.${element.className} ${text}`);
  }
  const skip = document.querySelector(".skip");
  skip.focus({focusVisible: true});
  const focus = ratio(parse(getComputedStyle(skip).outlineColor), behind(document.body));
  return {texts, weak, focus};
}"""


def page_never_scrolls_sideways(browser: Chromium, folder: Path) -> None:
    """At any width the page fits; only tables and figures scroll, in regions of their own."""
    for size in ((320, 640), PHONE, (740, 360), (800, 1000), (1024, 768), DESKTOP, (1920, 1080)):
        with open_report(browser, folder, size) as page:
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
            assert found["page"] <= size[0], size
            assert found["wide"] == [], size


def wide_regions_are_named_and_stops_of_the_keyboard(browser: Chromium, folder: Path) -> None:
    """What is wider than a phone takes the focus and has a name; what fits is no stop on the way."""
    with open_report(browser, folder, PHONE) as page:
        regions = page.run(
            """() => [...document.querySelectorAll("main .scroll")].map((region) => ({
              wide: region.scrollWidth > region.clientWidth,
              // said outright: not every browser stops at what scrolls by itself
              stop: region.getAttribute("tabindex") === "0",
              role: region.getAttribute("role"),
              name: region.getAttribute("aria-label"),
            }))"""
        )
    assert regions
    for region in regions:
        assert region["role"] == "region"
        assert region["name"]
        assert region["stop"] == region["wide"], region["name"]


def keyboard_reaches_everything(browser: Chromium, folder: Path) -> None:
    """Tab comes to the skip link first, then to every control in turn, each with a frame one can see."""
    for size in (DESKTOP, PHONE):
        with open_report(browser, folder, size) as page:
            controls = page.run(
                f"""() => {{ {_DESCRIBE}
                  return [...document.querySelectorAll("a[href], button, summary, [tabindex='0']")]
                    .filter(shown).map((element, i) => {{ element.dataset.stop = i; return name(element); }});
                }}"""
            )
            stops: list[dict[str, Any]] = []
            for _ in range(len(controls)):
                page.press("Tab")
                stops.append(page.run(_FOCUSED))
            assert "Skip" in controls[stops[0]["stop"]]
            assert stops[0]["top"] >= 0, "the skip link comes into view"
            missed = set(range(len(controls))) - {stop["stop"] for stop in stops}
            assert [controls[i] for i in sorted(missed)] == []
            for stop in stops:
                where = controls[stop["stop"]]
                assert stop["style"] != "none", where
                assert stop["width"] >= 2, where
                assert stop["inside"], f"{where} lies outside the window or under the contents"


_FOCUSED = """async () => {
  const element = document.activeElement;
  // moving into view is animated; the skip link slides in
  await Promise.all(element.getAnimations().map((animation) => animation.finished));
  element.scrollIntoView({block: "nearest", behavior: "instant"});
  const box = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  const nav = document.querySelector("nav");
  const bar = nav.getBoundingClientRect();
  const covered = !nav.contains(element) && getComputedStyle(nav).position === "sticky" &&
    bar.width > innerWidth / 2 && box.top < bar.bottom && box.bottom > bar.top && bar.top <= 0 &&
    box.bottom <= bar.bottom;
  return {
    stop: Number(element.dataset.stop),
    top: box.top,
    style: style.outlineStyle,
    width: parseFloat(style.outlineWidth),
    inside: box.bottom > 0 && box.top < innerHeight && !covered,
  };
}"""


def skip_link_leads_to_the_results(browser: Chromium, folder: Path) -> None:
    """Tab, Enter: the next control is in the results."""
    with open_report(browser, folder) as page:
        page.press("Tab")
        page.press("Enter")
        page.press("Tab")
        assert page.run("() => Boolean(document.activeElement.closest('main'))")


def figures_open_large_and_close(browser: Chromium, folder: Path) -> None:
    """A figure opens in a dialog by keyboard or mouse; Esc and the button close it; the focus comes back."""
    opened = "() => Boolean(document.querySelector('dialog[open] img'))"
    with open_report(browser, folder) as page:
        buttons = "document.querySelectorAll('[data-enlarge]')"
        anchors = page.run(f"() => [...{buttons}].map((button) => button.dataset.enlarge)")
        for anchor in anchors:
            button = f'[data-enlarge="{anchor}"]'
            page.run("(selector) => document.querySelector(selector).focus()", button)
            page.press("Enter")
            assert page.run(opened)
            assert page.run("() => document.querySelector('dialog[open]').contains(document.activeElement)")
            assert page.run("() => document.querySelector('dialog[open] img').src") == page.run(
                "(id) => document.querySelector(`#${id} img`).src", anchor
            )
            page.press("Escape")
            assert not page.run(opened)
            assert page.run("() => document.activeElement.dataset.enlarge") == anchor
        if anchors:
            page.click("main .picture img")
            assert page.run(opened)
            page.click("dialog[open] button")
            assert not page.run(opened)


def tables_and_text_are_copied(browser: Chromium, folder: Path) -> None:
    """Each copy button fills the clipboard: tables as cells between tabs and as HTML, text as text."""
    with open_report(browser, folder) as page:
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
            assert page.run("() => document.getElementById('status').textContent").endswith("copied.")
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


def everything_is_there_without_scripts(browser: Chromium, folder: Path) -> None:
    """Without JavaScript the same text stands on the page, and no button that does nothing."""
    words = "() => document.querySelector('main').textContent.split(/\\s+/).join(' ')"
    with open_report(browser, folder) as page:
        with_scripts = page.run(words)
        page.send("Emulation.setScriptExecutionDisabled", value=True)
        page.reload()
        assert page.run(words) == with_scripts
        assert page.run("() => !document.documentElement.classList.contains('js')")
        dead = "() => [...document.querySelectorAll('button')].filter((b) => b.checkVisibility()).length"
        assert page.run(dead) == 0
        assert page.run("() => document.querySelector('nav details').open")


def print_is_plain_and_complete(browser: Chromium, folder: Path) -> None:
    """On paper: white whatever the screen has, no buttons or contents, calls unfolded, few sheets."""
    with open_report(browser, folder) as page:
        page.click("#theme")
        height = page.run("() => document.documentElement.scrollHeight")
        sheets = {}
        for name, (width, length) in {"A4": (8.27, 11.69), "Letter": (8.5, 11)}.items():
            printed = page.pdf(paperWidth=width, paperHeight=length)
            assert printed.startswith(b"%PDF")
            sheets[name] = len(re.findall(rb"/Type\s*/Page\b", printed))
        page.send(
            "Emulation.setEmulatedMedia",
            media="print",
            features=[{"name": "prefers-color-scheme", "value": "dark"}],
        )
        page.run("() => dispatchEvent(new Event('beforeprint'))")
        found = page.run(
            """() => {
              const hidden = (selector) => [...document.querySelectorAll(selector)]
                .every((element) => !element.checkVisibility());
              const style = getComputedStyle(document.body);
              return {
                page: style.backgroundColor,
                hidden: hidden("nav, button, .skip, .files, #status"),
                calls: [...document.querySelectorAll(".call code")].every((code) => code.checkVisibility()),
                scrolled: [...document.querySelectorAll(".scroll")]
                  .filter((region) => getComputedStyle(region).overflowX !== "visible").length,
              };
            }"""
        )
        page.run("() => dispatchEvent(new Event('afterprint'))")
        folded = page.run("() => [...document.querySelectorAll('.call')].every((details) => !details.open)")
    # a sheet holds about 850 pixels of the screen's page; tables and figures that move on leave gaps
    for name, n_sheets in sheets.items():
        assert 1 <= n_sheets <= 2 + height / 400, name
    assert found["page"] == "rgb(255, 255, 255)"
    assert found["hidden"]
    assert found["calls"]
    assert found["scrolled"] == 0
    assert folded


def motion_can_be_declined(browser: Chromium, folder: Path) -> None:
    """The page glides to an anchor, but not for a reader who asked for less motion."""
    behaviour = "() => getComputedStyle(document.documentElement).scrollBehavior"
    with open_report(browser, folder) as page:
        page.emulate(prefers_reduced_motion="no-preference")
        assert page.run(behaviour) == "smooth"
        page.emulate(prefers_reduced_motion="reduce")
        assert page.run(behaviour) == "auto"


CHECKS = (
    loads_without_complaint_or_network,
    every_part_is_there_and_in_the_contents,
    headings_are_in_order,
    ids_names_and_alternatives_are_sound,
    every_link_leads_somewhere,
    contents_move_focus_and_view,
    contents_fold_on_a_phone,
    colours_are_chosen_and_remembered,
    text_has_contrast,
    page_never_scrolls_sideways,
    wide_regions_are_named_and_stops_of_the_keyboard,
    keyboard_reaches_everything,
    skip_link_leads_to_the_results,
    figures_open_large_and_close,
    tables_and_text_are_copied,
    everything_is_there_without_scripts,
    print_is_plain_and_complete,
    motion_can_be_declined,
)

"""Pictures of tables, as a Chromium browser on this machine shows them."""

import io
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from math import ceil, floor
from pathlib import Path

from PIL import Image, ImageChops

from salstats.display.tables.file_formats import TABLE_SUFFIXES
from salstats.errors import SalstatsError, Setting

#: Environment variable with the path of the browser to use.
BROWSER_VARIABLE = "SALSTATS_CHROME"
#: Browsers by name, and by their paths on Windows and macOS, where they are not on the PATH.
_BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("msedge", "microsoft-edge"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
#: Options against windows, first-run questions, and requests to the network by the browser itself.
_BROWSER_OPTIONS = (
    *("--headless", "--hide-scrollbars", "--no-first-run", "--no-default-browser-check"),
    *(f"--disable-{feature}" for feature in ("gpu", "quic", "dev-shm-usage", "extensions", "sync")),
    *("--disable-background-networking", "--disable-component-update"),
    # a table may hold HTML that its author wrote; nothing in it is fetched
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
#: Hint where no picture can be made: the formats that need no browser.
_OTHER_FORMATS = f"write {', '.join(suffix for suffix in TABLE_SUFFIXES if suffix != '.png')} instead"
_TIMEOUT_S = 60.0
#: CSS pixels per inch.
_CSS_DPI = 96
_MM_PER_INCH = 25.4
#: White space around the table, in CSS pixels.
_MARGIN = 8
#: Longest side that a browser draws, in pixels.
_MAX_SIDE = 16_000
#: Most pixels that Pillow opens without a warning.
_MAX_PIXELS = 80_000_000
#: Windows are larger than the measured table by this factor: lines are a little higher at other resolutions.
_WINDOW_SCALE = 1.1
#: CSS pixels of a window that a browser may keep for itself.
_WINDOW_FRAME = 100
#: The table is as wide as its columns want to be, or has the width that is given. Where columns want more
#: than that, or without it more than a page on its side (247 mm), intervals stand below their estimates,
#: letters are smaller, and at last columns are closer together; title, labels of groups and notes are
#: wrapped. One higher than the page (upright up to 183 mm, else on its side) is made several tables, of which
#: the address names the one to show. Their largest size and their number are written where they can be read.
_LAYOUT_STYLE_AND_SCRIPT = r"""<style>
html, body { margin: 0 !important; background: #fff; }
body { padding: MARGINpx; }
body > div { overflow: visible !important; padding: 0 !important; width: max-content !important;
             max-width: 933px; max-height: none !important; }
table { min-width: 360px; }
.given body > div { width: GIVENpx !important; max-width: none; }
.given table { width: 100% !important; min-width: 0; }
.given tfoot td { min-width: 0 !important; }
thead, th, .gt_column_spanner { position: static !important; }
.gt_stub { background: none !important; }
tr.gt_heading td, th.gt_group_heading, tfoot td { max-width: 0; }
.tight :is(td, th):not([style*="padding-left"]) { padding-inline: 4px !important; }
.tighter :is(td, th):not([style*="padding-left"]) { padding-inline: 2px !important; }
.tight :is(.gt_col_heading, .gt_stub) { min-width: 0 !important; }
/* notes are no larger than the body */
.tight tfoot :is(tr, td) { font-size: min(11px, 1em) !important; }
.tight .short { white-space: nowrap; }
tr.off { visibility: collapse; }
</style>
<script>
// widths of a page on its side (247 mm) and upright (183 mm), in CSS pixels
const turnedWidth = 933;
const uprightWidth = 692;
// 0 where no width is given
const givenWidth = GIVEN;
// a browser gives whole pixels for the width of a table
const room = Math.ceil(givenWidth) || turnedWidth;
// letters of 12.5 to 8 CSS pixels, which are 6 points
const fontSizes = Array.from({length: 19}, (_, step) => 12.5 - step / 4);
// offsetWidth is rounded, and may be less than what the picture needs
const isTooWide = (table) => Math.ceil(table.getBoundingClientRect().width) > room;
const heightOf = (element) => element ? element.offsetHeight : 0;
const rowsOf = (table) => [...table.querySelectorAll("tbody > tr")];
const isGroup = (row) => row.classList.contains("gt_group_heading_row");

addEventListener("load", () => {
  const table = document.querySelector("table");
  if (givenWidth) document.documentElement.classList.add("given");
  if (isTooWide(table)) {
    document.documentElement.classList.add("tight");
    for (const label of table.querySelectorAll(".gt_stub"))
      label.classList.toggle("short", label.textContent.length < 20);
  }
  if (isTooWide(table))
    for (const cell of table.querySelectorAll("td.gt_row"))
      cell.innerHTML = cell.innerHTML.replace(/^([^ a-z]+) (?=[(\[])/i, "$1<br>");
  for (const size of fontSizes)
    if (isTooWide(table)) table.style.setProperty("font-size", `${size}px`, "important");
  if (isTooWide(table)) document.documentElement.classList.add("tighter");
  const pageHeight = table.offsetWidth > uprightWidth ? uprightWidth : turnedWidth;
  const firstRows = [...firstRowsOfPages(table, pageHeight - 2 * MARGIN - heightOf(table.tHead))];
  let pages = firstRows.map((first, page) => pageTable(table.cloneNode(true), first, firstRows[page + 1]));
  if (location.hash) pages = [pages[location.hash.slice(1)]];
  table.replaceWith(...pages);
  const boxes = pages.map((page) => page.getBoundingClientRect());
  const largest = (side) => Math.ceil(Math.max(...boxes.map((box) => box[side])));
  document.documentElement.dataset.size = `${largest("width")}x${largest("height")}x${firstRows.length}`;
});

// the first row of each page: groups, and rows with one label, stay together where there is room
function* firstRowsOfPages(table, room) {
  const rows = rowsOf(table);
  const heights = rows.map(heightOf);
  let used = 0;
  let groupLabelHeight = 0;
  yield 0;
  let end;
  for (let start = 0; start < rows.length; start = end) {
    const heightTo = (stop) => {
      const height = heights.slice(start, stop).reduce((sum, value) => sum + value, 0);
      return stop === rows.length ? height + heightOf(table.tFoot) : height;
    };
    if (isGroup(rows[start])) {
      const nextGroup = rows.findIndex((row, index) => index > start && isGroup(row));
      end = nextGroup < 0 ? rows.length : nextGroup;
      // of a large group only the label and its first row stay together
      if (heightTo(end) > room / 2) end = start + 2;
      groupLabelHeight = heights[start];
    } else {
      end = start + Math.max(1, ...[...rows[start].cells].map((cell) => cell.rowSpan));
      if (heightTo(end) > room) end = start + 1;
    }
    // the last two rows do not stand alone on a page
    if (end + 2 >= rows.length) end = rows.length;
    if (used && used + heightTo(end) > room) {
      yield start;
      // the label of the group is repeated
      used = isGroup(rows[start]) ? 0 : groupLabelHeight;
    }
    used += heightTo(end);
  }
}

// a table with the rows of one page, labelled again, its title on the first page and its notes on the last
function pageTable(table, first, stop) {
  const rows = rowsOf(table);
  for (const heading of table.querySelectorAll(".gt_heading")) heading.hidden = first > 0;
  if (stop && table.tFoot) table.tFoot.hidden = true;
  // labels that reach down from the page before begin in the first row
  for (let index = first - 1; index >= 0; index--)
    for (const cell of [...rows[index].cells].reverse()) {
      const span = index + cell.rowSpan - first;
      if (span <= 0) continue;
      rows[first].prepend(cell.cloneNode(true));
      rows[first].cells[0].rowSpan = span;
      cell.rowSpan -= span;
    }
  const groupLabel = rows.findLastIndex((row, index) => index <= first && isGroup(row));
  rows.forEach((row, index) => {
    const isOnPage = index >= first && index < (stop ?? rows.length);
    row.classList.toggle("off", index !== groupLabel && !isOnPage);
  });
  return table;
}
</script>
</head>""".replace("MARGIN", str(_MARGIN))
#: Hint where a table is wider than the picture that is asked for.
_NARROWER_TABLES = (
    "choose that width, shorten names by labels, or let less stand side by side: wide=False or groups= of "
    "the table's function, or a table for each metric"
)
#: Message where a table is higher than a browser draws.
_TOO_LONG = "the table is too long for one picture"
_SIZE_ATTRIBUTE = re.compile(r'<html[^>]*\bdata-size="(\d+)x(\d+)x(\d+)"')


def find_browser() -> str:
    """Return the path of Chromium, Chrome or Edge; raise SalstatsError where there is none."""
    named_browser = os.environ.get(BROWSER_VARIABLE)
    candidates: Sequence[str] = _BROWSERS
    if named_browser:
        candidates = [named_browser]
    for candidate in candidates:
        path = shutil.which(candidate)
        if path is not None:
            return path
    if named_browser:
        raise SalstatsError(
            f"{BROWSER_VARIABLE}={named_browser} is no program that can be run",
            hint=_OTHER_FORMATS,
            option=BROWSER_VARIABLE,
            value=named_browser,
        )
    raise SalstatsError(
        "a picture of a table needs Chromium, Chrome or Edge and none was found",
        hint=f"install one (Debian: apt-get install chromium), set {BROWSER_VARIABLE} to its path, "
        f"or {_OTHER_FORMATS}",
        option=BROWSER_VARIABLE,
    )


def table_pngs_by_sheet(page_html: str, width: float | None = None, dpi: float = 300) -> list[bytes]:
    """Return pictures of the table on a page: one, or several where it is higher than a sheet of paper.

    `width` is the width of the pictures in mm, by default what the table's columns need.

    Raise SalstatsError where there is no browser or it fails, where the table is too wide for `width` or too
    long for one picture, and where `dpi` is too high for the picture.
    """
    given_width = _table_width_css_or_zero(width)
    with tempfile.TemporaryDirectory(prefix="salstats-", ignore_cleanup_errors=True) as folder:
        source = Path(folder, "table.html").resolve()
        source.write_text(page_with_layout(page_html, width), encoding="utf-8")
        dom = _browser_output(source.as_uri(), source, "--window-size=1800,1000", "--dump-dom")
        size = _SIZE_ATTRIBUTE.search(dom)
        if size is None:
            raise SalstatsError(
                "the browser did not show the table", hint=_OTHER_FORMATS, path=find_browser()
            )
        table_width, table_height, n_pages = map(int, size.groups())
        if width is not None and table_width > ceil(given_width):
            needed_width = ceil((table_width + 2 * _MARGIN) / _CSS_DPI * _MM_PER_INCH)
            raise SalstatsError(
                Setting("width", width),
                " is too narrow for the table: with letters of 6 points it needs ",
                f"{needed_width}",
                " mm",
                hint=_NARROWER_TABLES,
                option="width",
                value=width,
            )
        window_width = round(table_width * _WINDOW_SCALE) + _WINDOW_FRAME
        window_height = round(table_height * _WINDOW_SCALE) + _WINDOW_FRAME
        largest_scale = min(
            _MAX_SIDE / max(window_width, window_height),
            (_MAX_PIXELS / (window_width * window_height)) ** 0.5,
        )
        scale = dpi / _CSS_DPI
        # below one pixel per CSS pixel the text would not be legible
        if largest_scale < min(scale, 1):
            raise SalstatsError(_TOO_LONG, hint=_OTHER_FORMATS, value=table_height)
        if width is not None and largest_scale < scale:
            raise SalstatsError(
                Setting("dpi", dpi),
                " is too high for a table of this size: ",
                f"{floor(largest_scale * _CSS_DPI)}",
                " at most",
                option="dpi",
                value=dpi,
            )
        scale = min(scale, largest_scale)
        width_px = None
        if width is not None:
            width_px = round(width / _MM_PER_INCH * dpi)
        options = (
            f"--window-size={window_width},{window_height}",
            f"--force-device-scale-factor={scale:.4f}",
        )
        return [_sheet_png(source, number, scale, options, width_px) for number in range(n_pages)]


def _table_width_css_or_zero(picture_width: float | None) -> float:
    """Return the width in CSS pixels of the table in a picture of a width in mm, 0 where none is given."""
    if picture_width is None:
        return 0.0
    return max(picture_width / _MM_PER_INCH * _CSS_DPI - 2 * _MARGIN, 1.0)


def page_with_layout(page_html: str, width: float | None) -> str:
    """Return a page with the script that lays its table out on pictures of `width` mm."""
    script = _LAYOUT_STYLE_AND_SCRIPT.replace("GIVEN", f"{_table_width_css_or_zero(width):.2f}")
    return page_html.replace("</head>", script, 1)


def _sheet_png(
    source: Path, number: int, scale: float, options: Sequence[str], width_px: int | None
) -> bytes:
    """Return a picture of one page of a table, as wide as its content or as `width_px`."""
    screenshot = source.with_suffix(".png")
    screenshot.unlink(missing_ok=True)
    _browser_output(f"{source.as_uri()}#{number}", source, *options, f"--screenshot={screenshot}")
    if not screenshot.exists():
        raise SalstatsError(
            "the browser made no picture of the table",
            hint=_OTHER_FORMATS,
            value=number,
            path=find_browser(),
        )
    content = io.BytesIO()
    with Image.open(screenshot) as image:
        cropped = _check_and_crop_picture(image.convert("RGB"), round(_MARGIN * scale), width_px)
        cropped.save(content, format="PNG", dpi=(_CSS_DPI * scale, _CSS_DPI * scale))
    return content.getvalue()


def _browser_output(address: str, page_file: Path, *options: str) -> str:
    """Return the output of a headless browser that opens an address; its files stand beside the page."""
    browser = find_browser()
    output_file = page_file.with_name("stdout")
    error_file = page_file.with_name("stderr")
    profile = f"--user-data-dir={page_file.with_name('profile')}"
    command = [browser, *_BROWSER_OPTIONS, *options, profile, address]
    # Windows has no `geteuid`
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Chromium does not run as root in its sandbox
        command.insert(1, "--no-sandbox")
    # files, not pipes: a child that outlives the browser would keep a pipe open
    with output_file.open("wb") as stdout, error_file.open("wb") as stderr:
        try:
            process = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SalstatsError(
                f"{browser} took longer than {_TIMEOUT_S:g} s",
                hint=_OTHER_FORMATS,
                value=_TIMEOUT_S,
                path=browser,
            ) from error
        except OSError as error:
            raise SalstatsError(
                f"{browser} cannot be run: {error.strerror or error}", path=browser
            ) from error
    if process.returncode:
        messages = error_file.read_text("utf-8", errors="replace").strip().splitlines()
        reason = str(process.returncode)
        if messages:
            reason = messages[-1]
        raise SalstatsError(
            f"{browser} failed: ", reason, hint=_OTHER_FORMATS, value=process.returncode, path=browser
        )
    return output_file.read_text("utf-8", errors="replace")


def _check_and_crop_picture(
    image: Image.Image, margin: int, cropped_width_px: int | None = None
) -> Image.Image:
    """Return a picture without the white around its content, except for a margin.

    With `cropped_width_px` it has this width, measured from the left edge. Raise SalstatsError where the
    picture cuts off the content.
    """
    white = Image.new("RGB", image.size, "white")
    box = ImageChops.difference(image, white).getbbox()
    left, top, right, bottom = box or (0, 0, 0, 0)
    # content that touches the edge goes on beyond it
    if right == image.width or bottom == image.height:
        raise SalstatsError(_TOO_LONG, hint=_OTHER_FORMATS, value=image.height)
    left -= margin
    right += margin
    if cropped_width_px is not None:
        left = 0
        right = cropped_width_px
    return image.crop((left, top - margin, right, bottom + margin))

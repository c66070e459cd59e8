"""A picture of a table, as the Chromium that is on this machine shows it."""

import io
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageChops

from salstats.checks import SalstatsError

#: Says which browser to use where none is on the PATH.
VARIABLE = "SALSTATS_CHROME"
#: Browsers by name, and where Windows and macOS put them, which do not put them on the PATH.
_PLACES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("msedge", "microsoft-edge"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
#: No window, no first-run questions, nothing asked of the network by the browser itself.
_OPTIONS = (
    *("--headless", "--hide-scrollbars", "--no-first-run", "--no-default-browser-check"),
    *(f"--disable-{part}" for part in ("gpu", "quic", "dev-shm-usage", "extensions", "sync")),
    *("--disable-background-networking", "--disable-component-update"),
    # a table may hold markup of its maker's; nothing in it is fetched
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
_INSTEAD = "write .html or .docx instead"
_TIMEOUT_S = 60.0
#: Resolution of the picture, and the one that CSS counts in.
_DPI, _CSS_DPI = 300, 96
#: White space around the table, in CSS pixels.
_MARGIN = 8
#: Longest side that a browser draws, and most pixels that Pillow opens without a warning.
_LONGEST, _MOST = 16_000, 80_000_000
#: Windows are made larger than the table was measured: lines are a little higher at other resolutions, and
#: a browser may keep some of the height for itself.
_ROOM, _SPARE = 1.1, 100
#: The table is as wide as its columns want to be, and where that is more than a page on its side (247 mm),
#: intervals stand below their estimates; title, labels of groups and notes are wrapped to that. One higher
#: than the page (upright up to 183 mm, else on its side) is made several tables, of which the address names
#: the one to show. Their largest size and their number are written where they can be read.
_MEASURE = r"""<style>
html, body { margin: 0 !important; background: #fff; }
body { padding: MARGINpx; }
body > div { overflow: visible !important; padding: 0 !important; width: max-content !important;
             max-width: 933px; max-height: none !important; }
table { min-width: 360px; }
thead, th, .gt_column_spanner { position: static !important; }
.gt_stub { background: none !important; }
tr.gt_heading td, th.gt_group_heading, tfoot td { max-width: 0; }
.tight :is(td, th):not([style*="padding-left"]) { padding-inline: 4px !important; }
.tight :is(.gt_col_heading, .gt_stub) { min-width: 0 !important; }
.tight .short { white-space: nowrap; }
tr.off { visibility: collapse; }
</style>
<script>
addEventListener("load", () => {
  const table = document.querySelector("table"), page = 933;
  if (table.offsetWidth > page) {
    document.documentElement.classList.add("tight");
    for (const label of table.querySelectorAll(".gt_stub"))
      label.classList.toggle("short", label.textContent.length < 20);
  }
  if (table.offsetWidth > page)
    for (const cell of table.querySelectorAll("td.gt_row"))
      cell.innerHTML = cell.innerHTML.replace(/^([^ a-z]+) (?=[(\[])/i, "$1<br>");
  // letters of 6 points at least
  const type = Math.max(8, 12.5 * page / table.offsetWidth);
  if (table.offsetWidth > page) table.style.setProperty("font-size", `${type}px`, "important");
  const room = (table.offsetWidth > across ? across : page) - 2 * MARGIN - height(table.tHead);
  const starts = [...begun(table, room)];
  let made = starts.map((first, k) => shown(table.cloneNode(true), first, starts[k + 1]));
  if (location.hash) made = [made[location.hash.slice(1)]];
  table.replaceWith(...made);
  const boxes = made.map((own) => own.getBoundingClientRect());
  const side = (name) => Math.ceil(Math.max(...boxes.map((box) => box[name])));
  document.documentElement.dataset.size = `${side("width")}x${side("height")}x${starts.length}`;
});
const height = (part) => part ? part.offsetHeight : 0, across = 692;
const rowsOf = (table) => [...table.querySelectorAll("tbody > tr")];
const isGroup = (row) => row.classList.contains("gt_group_heading_row");
// the first row of each page: groups, and rows with one label, stay together where there is room
function* begun(table, room) {
  const rows = rowsOf(table), n = rows.length, heights = rows.map(height);
  let used = 0, label = 0;
  yield 0;
  for (let i = 0, end; i < n; i = end) {
    const next = rows.findIndex((row, k) => k > i && isGroup(row));
    const sum = (to) => heights.slice(i, to).reduce((a, b) => a + b, 0) + (to === n && height(table.tFoot));
    const span = Math.max(1, ...[...rows[i].cells].map((cell) => cell.rowSpan));
    const most = isGroup(rows[i]) ? [next < 0 ? n : next, room / 2] : [i + span, room];
    end = sum(most[0]) > most[1] ? i + 1 + isGroup(rows[i]) : most[0];
    end = end + 2 < n ? end : n;
    label = isGroup(rows[i]) ? heights[i] : label;
    if (used && used + sum(end) > room) {
      yield i;
      used = isGroup(rows[i]) ? 0 : label;
    }
    used += sum(end);
  }
}
// a table with the rows of one page, labelled again, its title on the first and its notes on the last
function shown(table, first, stop) {
  const rows = rowsOf(table), label = rows.findLastIndex((row, k) => k <= first && isGroup(row));
  for (const part of table.querySelectorAll(".gt_heading")) part.hidden = first > 0;
  if (stop && table.tFoot) table.tFoot.hidden = true;
  for (let k = first - 1; k >= 0; k--)
    for (const cell of [...rows[k].cells].reverse()) {
      const left = k + cell.rowSpan - first;
      if (left <= 0) continue;
      rows[first].prepend(cell.cloneNode(true));
      rows[first].cells[0].rowSpan = left;
      cell.rowSpan -= left;
    }
  rows.forEach((row, k) => row.classList.toggle("off", k !== label && !(k >= first && k < (stop ?? k + 1))));
  return table;
}
</script>
</head>""".replace("MARGIN", str(_MARGIN))
_TOO_LONG = "the table is too long for one picture; write .html, .docx or .csv"
_SIZE = re.compile(r'<html[^>]*\bdata-size="(\d+)x(\d+)x(\d+)"')


def find_browser() -> str:
    """The path of Chromium, Chrome or Edge; SalstatsError where there is none."""
    named = os.environ.get(VARIABLE)
    for candidate in (named,) if named else _PLACES:
        found = shutil.which(candidate)
        if found is not None:
            return found
    if named:
        raise SalstatsError(f"{VARIABLE}={named} is no program that can be run; {_INSTEAD}")
    raise SalstatsError(
        "a picture of a table needs Chromium, Chrome or Edge and none was found; install one "
        f"(Debian: apt-get install chromium), set {VARIABLE} to its path, or {_INSTEAD}"
    )


def page_pngs(page: str) -> list[bytes]:
    """Pictures of the table on a page, cut to the table: one, or where it is higher than paper several.

    SalstatsError where there is no browser, it fails, or the table is too long for one picture.
    """
    with tempfile.TemporaryDirectory(prefix="salstats-", ignore_cleanup_errors=True) as folder:
        source = Path(folder, "table.html").resolve()
        source.write_text(page.replace("</head>", _MEASURE, 1), encoding="utf-8")
        measured = _SIZE.search(_shown(source.as_uri(), source, "--window-size=1800,1000", "--dump-dom"))
        if measured is None:
            raise SalstatsError(f"the browser did not show the table; {_INSTEAD}")
        *size, n_pages = map(int, measured.groups())
        window = [round(side * _ROOM) + _SPARE for side in size]
        scale = min(_DPI / _CSS_DPI, _LONGEST / max(window), (_MOST / math.prod(window)) ** 0.5)
        if scale < 1:
            raise SalstatsError(_TOO_LONG)
        wanted = (f"--window-size={window[0]},{window[1]}", f"--force-device-scale-factor={scale:.4f}")
        return [_picture(source, number, scale, wanted) for number in range(n_pages)]


def _picture(source: Path, number: int, scale: float, wanted: Sequence[str]) -> bytes:
    """A picture of one of the pages that a table makes."""
    shot, made = source.with_suffix(".png"), io.BytesIO()
    shot.unlink(missing_ok=True)
    _shown(f"{source.as_uri()}#{number}", source, *wanted, f"--screenshot={shot}")
    if not shot.exists():
        raise SalstatsError(f"the browser made no picture of the table; {_INSTEAD}")
    with Image.open(shot) as image:
        cut = _cut(image.convert("RGB"), round(_MARGIN * scale))
        cut.save(made, format="PNG", dpi=(_CSS_DPI * scale, _CSS_DPI * scale))
    return made.getvalue()


def _shown(address: str, page: Path, *options: str) -> str:
    """What the browser prints of a page that it shows without a window; what it leaves stands beside it."""
    browser, printed, complaints = find_browser(), page.with_name("stdout"), page.with_name("stderr")
    # Chromium refuses its sandbox to root
    root = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    profile = f"--user-data-dir={page.with_name('profile')}"
    command = [browser, *_OPTIONS, *root, *options, profile, address]
    # files, not pipes: a child that outlives the browser would keep a pipe open
    with printed.open("wb") as out, complaints.open("wb") as err:
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise SalstatsError(f"{browser} took longer than {_TIMEOUT_S:g} s; {_INSTEAD}") from error
        except OSError as error:
            raise SalstatsError(f"{browser} cannot be run: {error.strerror or error}") from error
    if done.returncode:
        said = complaints.read_text("utf-8", errors="replace").strip().splitlines()
        raise SalstatsError(f"{browser} failed: {said[-1] if said else done.returncode}; {_INSTEAD}")
    return printed.read_text("utf-8", errors="replace")


def _cut(image: Image.Image, margin: int) -> Image.Image:
    """A picture without the empty paper around what it shows, but for a margin."""
    shown = ImageChops.difference(image, Image.new("RGB", image.size, "white")).getbbox()
    left, top, right, bottom = shown or (0, 0, 0, 0)
    if right == image.width or bottom == image.height:
        raise SalstatsError(_TOO_LONG)
    return image.crop((left - margin, top - margin, right + margin, bottom + margin))

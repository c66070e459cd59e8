"""A picture of a table, as a browser shows it."""

import math
import re
import tempfile
from pathlib import Path

from PIL import Image, ImageChops

from salstats.checks import SalstatsError
from salstats.display.export.browser import run_browser

#: Resolution of the picture, and the one that CSS counts in.
_DPI, _CSS_DPI = 300, 96
#: White space around the table, in CSS pixels.
_MARGIN = 8
#: Longest side that a browser draws, and most pixels that Pillow opens without a warning.
_LONGEST, _MOST = 16_000, 80_000_000
#: Windows are made larger than the table was measured: lines are a little higher at other resolutions, and
#: a browser may keep some of the height for itself.
_ROOM, _SPARE = 1.1, 100
#: The table is as wide as its columns want to be, within limits; title, labels of groups and notes are
#: wrapped to that. Its size is written where it can be read.
_MEASURE = """<style>
html, body { margin: 0 !important; background: #fff; }
body { padding: MARGINpx; }
body > div { overflow: visible !important; padding: 0 !important; width: max-content !important;
             max-width: 2400px; }
table { min-width: 360px; }
tr.gt_heading td, th.gt_group_heading, tfoot td { max-width: 0; }
</style>
<script>
addEventListener("load", () => {
  const box = document.querySelector("table").getBoundingClientRect();
  const size = [box.right, box.bottom].map((side) => Math.ceil(side));
  document.documentElement.dataset.size = size.join("x");
});
</script>
</head>""".replace("MARGIN", str(_MARGIN))
_TOO_LONG = "the table is too long for one picture; write .html, .docx or .csv"
_SIZE = re.compile(r'<html[^>]*\bdata-size="(\d+)x(\d+)"')


def page_png(page: str, target: Path) -> None:
    """Write a picture of the table on a page, cut to the table.

    Raises
    ------
    SalstatsError
        There is no browser, it fails, or the table is too long for one picture.
    """
    with tempfile.TemporaryDirectory(prefix="salstats-", ignore_cleanup_errors=True) as folder:
        source, shot = Path(folder, "table.html"), Path(folder, "table.png")
        source.write_text(page.replace("</head>", _MEASURE, 1), encoding="utf-8")
        size = _SIZE.search(run_browser(source, ["--window-size=1800,1000", "--dump-dom"]))
        if size is None:
            raise SalstatsError("the browser did not show the table; write .html or .docx")
        window = [round(int(side) * _ROOM) + _SPARE for side in size.groups()]
        scale = min(_DPI / _CSS_DPI, _LONGEST / max(window), (_MOST / math.prod(window)) ** 0.5)
        if scale < 1:
            raise SalstatsError(_TOO_LONG)
        run_browser(
            source,
            [
                f"--window-size={window[0]},{window[1]}",
                f"--force-device-scale-factor={scale:.4f}",
                f"--screenshot={shot}",
            ],
        )
        if not shot.exists():
            raise SalstatsError("the browser made no picture of the table; write .html or .docx")
        with Image.open(shot) as image:
            cut = _cut(image.convert("RGB"), round(_MARGIN * scale))
            cut.save(target, format="PNG", dpi=(_CSS_DPI * scale, _CSS_DPI * scale))


def _cut(image: Image.Image, margin: int) -> Image.Image:
    """A picture without the empty paper around what it shows, but for a margin."""
    shown = ImageChops.difference(image, Image.new("RGB", image.size, "white")).getbbox()
    if shown is None:
        return image.crop((0, 0, 2 * margin, 2 * margin))
    left, top, right, bottom = shown
    if right == image.width or bottom == image.height:
        raise SalstatsError(_TOO_LONG)
    return image.crop((left - margin, top - margin, right + margin, bottom + margin))

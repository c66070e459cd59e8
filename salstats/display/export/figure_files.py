"""Figures to files at their exact physical size."""

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import plotnine as p9
from fontTools.subset import Options
from matplotlib import pyplot
from matplotlib.figure import Figure

from salstats.checks import InputFileError, SalstatsError, check_choice
from salstats.display.plots.theme import MM_PER_INCH
from salstats.files.outputs import check_target, replacing

FIGURE_SUFFIXES = (".pdf", ".svg", ".png", ".tif", ".tiff")
_MM = {"mm": 1.0, "cm": 10.0, "in": MM_PER_INCH}
#: Largest side of a figure; a page is smaller, and a slip of the unit is larger.
_LARGEST_MM = 2000.0
#: Fonts embedded as TrueType (journals refuse Type 3), glyphs as outlines in SVG, no date inside.
_SETTINGS = {
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "salstats",
    "savefig.bbox": None,
}
#: How pixels are packed; of PNG more than 3 takes twice the time for a tenth of the size.
_PIL = {
    ".png": {"compress_level": 3},
    ".tif": {"compression": "tiff_lzw"},
    ".tiff": {"compression": "tiff_lzw"},
}
#: Tables of a font that serve to set running text; glyphs in a figure have their places already.
_LAYOUT_TABLES = ("GSUB", "GPOS", "GDEF", "kern")
_METADATA: dict[str, dict[str, Any]] = {
    ".pdf": {"CreationDate": None, "ModDate": None},
    ".svg": {"Date": None},
}


def save_figure(
    figure: p9.ggplot,
    path: str | os.PathLike[str],
    *,
    width: float | None = None,
    height: float | None = None,
    unit: str = "mm",
    dpi: float = 300,
    overwrite: bool = False,
) -> Path:
    """Write a figure as PDF, SVG, PNG or TIFF at its exact physical size, fonts embedded.

    Parameters
    ----------
    figure : ggplot
        Any plotnine figure.
    path : str or path
        Ends in `.pdf`, `.svg`, `.png`, `.tif` or `.tiff`.
    width, height : float, optional
        Outer size; by default the size that the plot function gave the figure. A journal's column is
        89 mm, its page 183 mm.
    unit : {"mm", "cm", "in"}
        Unit of width and height.
    dpi : float
        Dots per inch of PNG and TIFF, written into the file.
    overwrite : bool
        Replace a file that is there already.

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    InputFileError
        Another ending; the folder does not exist or may not be written in; the file exists and
        `overwrite` is False.
    SalstatsError
        Not a plotnine figure; a size that is not between 0 and 2 m; an unknown unit.

    Examples
    --------
    >>> import pathlib, tempfile, salstats as ss
    >>> means = ss.summarize(ss.datasets.load_simulated(), by=["metric", "method", "task"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ss.save_figure(ss.plot_intervals(means), pathlib.Path(folder) / "fig2.pdf", width=89)
    ...     file.name, file.read_bytes()[:4]
    ('fig2.pdf', b'%PDF')
    """
    target = check_target(path, FIGURE_SUFFIXES, overwrite=overwrite)
    save_figure_as(figure, [target], size_inches(figure, width, height, unit), dpi)
    return target


def size_inches(
    figure: p9.ggplot, width: float | None = None, height: float | None = None, unit: str = "mm"
) -> tuple[float, float]:
    """A figure's size in inches: what is given, else what its theme says."""
    if not isinstance(figure, p9.ggplot):
        raise SalstatsError(f"only a plotnine figure can be written, not {type(figure).__name__}")
    per_inch = MM_PER_INCH / _MM[check_choice(unit, tuple(_MM), "unit")]
    own = figure.theme.getp("figure_size")
    size = []
    for name, value, default in (("width", width, own[0]), ("height", height, own[1])):
        inches = default if value is None else value / per_inch
        if not 0 < inches * MM_PER_INCH <= _LARGEST_MM:
            raise SalstatsError(f"{name}={value} {unit} is not between 0 and 2 m; check unit=")
        size.append(float(inches))
    return size[0], size[1]


def save_figure_as(
    figure: p9.ggplot, targets: Iterable[Path], size: tuple[float, float], dpi: float = 300
) -> None:
    """Draw a figure once and write it to several files whose names end in their formats."""
    with mpl.rc_context(_SETTINGS), _glyphs_only():
        drawn = (figure + p9.theme(figure_size=size, dpi=dpi)).draw(show=False)
        try:
            for target in targets:
                suffix = target.suffix.lower()
                options = {"pil_kwargs": _PIL[suffix]} if suffix in _PIL else {}
                _scale_legends_anew(drawn)
                # in memory: some writers trip over a full disk once more, and say that instead
                made = io.BytesIO()
                drawn.savefig(
                    made,
                    format=suffix[1:],
                    dpi=dpi,
                    bbox_inches=None,
                    metadata=_METADATA.get(suffix),
                    **options,
                )
                with replacing(target) as temporary:
                    temporary.write_bytes(made.getvalue())
        except OSError as error:
            raise InputFileError(f"cannot write {target}: {error.strerror or error}") from error
        finally:
            drawn.clear()
            pyplot.close(drawn)


def _scale_legends_anew(drawn: Figure) -> None:
    """Let colour bars take the resolution of the next format; plotnine leaves them the first one's."""
    for box in drawn.findobj(lambda artist: hasattr(artist, "_dpi_corrected")):
        box.__dict__["_dpi_corrected"] = False


@contextmanager
def _glyphs_only() -> Iterator[None]:
    """Embed fonts without their layout tables, which take most of the time of a PDF."""
    defaults = getattr(Options, "_drop_tables_default", None)
    if defaults is None:
        yield
        return
    Options._drop_tables_default = [*defaults, *_LAYOUT_TABLES]
    try:
        yield
    finally:
        Options._drop_tables_default = defaults

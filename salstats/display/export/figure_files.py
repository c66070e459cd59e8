"""Figures to files at their exact physical size, drawn in this process or in one more."""

import io
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any

import matplotlib as mpl
import plotnine as p9
from matplotlib import pyplot
from matplotlib.figure import Figure as DrawnFigure

from salstats.checks import InputFileError, SalstatsError, check_choice
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.theme import MM_PER_INCH
from salstats.files.outputs import check_target, page_names, write_files
from salstats.jobs import end_with, not_counting

FIGURE_SUFFIXES = (".pdf", ".svg", ".png", ".tif", ".tiff")
_MM = {"mm": 1.0, "cm": 10.0, "in": MM_PER_INCH}
#: Largest side of a figure; a page is smaller, and a slip of the unit is larger.
_LARGEST_MM = 2000.0
#: Fonts embedded as TrueType (journals refuse Type 3), glyphs as outlines in SVG, no date inside; letters as
#: wide in pixels as on paper.
_SETTINGS = {
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "salstats",
    "savefig.bbox": None,
    "text.hinting": "no_hinting",
}
#: How pixels are packed; of PNG more than 3 takes twice the time for a tenth of the size.
_TIFF = {"pil_kwargs": {"compression": "tiff_lzw"}}
_OPTIONS: dict[str, dict[str, Any]] = {
    ".pdf": {"metadata": {"CreationDate": None, "ModDate": None}},
    ".svg": {"metadata": {"Date": None}},
    ".png": {"pil_kwargs": {"compress_level": 3}},
    ".tif": _TIFF,
    ".tiff": _TIFF,
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

    A figure of several pages is written to as many files: fig2.pdf, fig2-2.pdf and so on.

    Parameters
    ----------
    figure : ggplot
        Any plotnine figure.
    path : str or path
        Ends in `.pdf`, `.svg`, `.png`, `.tif` or `.tiff`.
    width, height : float, optional
        Outer size; by default the size that the plot function gave the figure. A journal's column is
        89 mm, its page 183 mm. A figure of a `plot_*` function is laid out anew for another width, what
        was added to it with `+` is kept.
    unit : {"mm", "cm", "in"}
        Unit of width and height.
    dpi : float
        Dots per inch of PNG and TIFF, written into the file.
    overwrite : bool
        Replace a file that is there already.

    Returns
    -------
    Path
        Where it was written, its first page where there are several.

    Raises
    ------
    InputFileError
        As for `save_table`.
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
    wide, _ = size_inches(figure, width, height, unit)
    pages = page_files(figure.at(wide * MM_PER_INCH) if isinstance(figure, Figure) else figure, target)
    for _, file in pages[1:]:
        check_target(file, FIGURE_SUFFIXES, overwrite=overwrite)
    sized = [(page, file, size_inches(page, width, height, unit)) for page, file in pages]
    write_files([made for page, file, size in sized for made in _as_files(page, [file], size, dpi)])
    return target


def page_files(figure: p9.ggplot, target: Path) -> list[tuple[p9.ggplot, Path]]:
    """Each page of a figure with its file: fig.png, fig-2.png ..."""
    pages = figure.pages if isinstance(figure, Figure) else (figure,)
    names = page_names(target.stem, len(pages))
    return [(page, target.with_stem(name)) for page, name in zip(pages, names, strict=True)]


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
    write_files(_as_files(figure, targets, size, dpi))


def _as_files(
    figure: p9.ggplot, targets: Iterable[Path], size: tuple[float, float], dpi: float
) -> list[tuple[Path, bytes]]:
    """Each file of a figure that is drawn once, with its content."""
    files = []
    with mpl.rc_context(_SETTINGS):
        drawn = (figure + p9.theme(figure_size=size, dpi=dpi)).draw(show=False)
        try:
            for target in targets:
                suffix = target.suffix.lower()
                _scale_legends_anew(drawn)
                # in memory: all files are written or none, and some writers say something else of a full disk
                made = io.BytesIO()
                drawn.savefig(made, format=suffix[1:], dpi=dpi, bbox_inches=None, **_OPTIONS[suffix])
                files.append((target, made.getvalue()))
        finally:
            drawn.clear()
            pyplot.close(drawn)
    return files


def _scale_legends_anew(drawn: DrawnFigure) -> None:
    """Let colour bars take the resolution of the next format; plotnine leaves them the first one's."""
    for box in drawn.findobj(lambda artist: hasattr(artist, "_dpi_corrected")):
        box.__dict__["_dpi_corrected"] = False


class FigureJobs:
    """Draw figures, every other one in a second process where `jobs` allows it; a context manager.

    That process starts when this is made, while there are statistics to compute: it has to import what
    draws, which takes about as long as three figures.
    """

    def __init__(self, jobs: int) -> None:
        self._tasks: list[tuple[p9.ggplot, list[Path]]] = []
        self._sent: dict[int, Future[list[str]]] = {}
        self._pool = _pool() if jobs > 1 or jobs == -1 else None

    def __enter__(self) -> "FigureJobs":
        """The jobs."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the other process; what it has not begun is not drawn."""
        if self._pool is not None:
            for future in self._sent.values():
                future.cancel()
            # killing it would need pgrep, which small containers lack
            self._pool.shutdown(wait=True)

    def add(self, figure: p9.ggplot, targets: Sequence[Path]) -> None:
        """Add a figure and the files it goes to; the first, third ... are begun at once elsewhere."""
        number = len(self._tasks)
        # what it was made of may be large, or no matter for another process
        figure = figure.alone() if isinstance(figure, Figure) else figure
        # the other process may have started in another folder
        self._tasks.append((figure, [target.absolute() for target in targets]))
        if self._pool is not None and number % 2 == 0:
            # where the process was killed meanwhile the figure is drawn here
            with suppress(BrokenProcessPool):
                self._sent[number] = self._pool.submit(_drawn, *self._tasks[-1])

    def finish(
        self,
        count: Callable[[int], None] = not_counting,
        *,
        on_error: Callable[[Sequence[Path], Exception], None] | None = None,
    ) -> list[str]:
        """Draw what is left, `count` what is done, and return what drawing warned of, each once.

        `on_error` takes the files of a figure that cannot be drawn and the error, and the others are drawn;
        without it the error is raised, as is an error of the file system in any case.
        """
        for future in self._sent.values():
            future.add_done_callback(lambda _: count(1))
        here = [number for number in range(len(self._tasks)) if number not in self._sent]
        warned = []
        for number in [*here, *self._sent]:
            try:
                warned += self._result(number)
            except (OSError, InputFileError):
                raise
            except Exception as error:
                if on_error is None:
                    raise
                on_error(self._tasks[number][1], error)
            if number in here:
                count(1)
        return list(dict.fromkeys(warned))

    def _result(self, number: int) -> list[str]:
        """Draw a figure, or wait for the other process to; what was warned of."""
        if number in self._sent:
            with suppress(BrokenProcessPool):
                return self._sent[number].result()
        return _drawn(*self._tasks[number])


def _pool() -> Any:
    """One further process that imports what draws, or None where there can be none."""
    try:
        # only where asked for: the library looks for semaphores when it is imported
        from loky import ProcessPoolExecutor, cpu_count

        if cpu_count() < 2:
            return None
        pool = ProcessPoolExecutor(max_workers=1, initializer=end_with, initargs=(os.getpid(),))
        # a process that is a pool's own may start none, which is an AssertionError
        pool.submit(_imported)
        return pool
    except (ImportError, OSError, AssertionError):
        return None


def _imported() -> None:
    """Do nothing, in a process that has imported this module for it."""


def _drawn(figure: p9.ggplot, targets: Sequence[Path]) -> list[str]:
    """Write a figure to its files at its own size and return what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save_figure_as(figure, targets, size_inches(figure))
    # what a library deprecates is no matter of the reader's
    skipped = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    return [str(w.message) for w in caught if not issubclass(w.category, skipped)]

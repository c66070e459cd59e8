"""Figures to files at their exact physical size, drawn in this process or in one more."""

import io
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast
from xml.sax.saxutils import escape

import matplotlib as mpl
import plotnine as p9
from matplotlib import pyplot
from matplotlib.figure import Figure as DrawnFigure
from matplotlib.text import Text

from salstats.checks import check_choice
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.text_fit import characters_without_face
from salstats.display.plots.layout.theme import (
    COLUMNS_MM,
    MM_PER_INCH,
    PAGE_HEIGHT_MM,
    fallback_fonts,
    font,
)
from salstats.display.text.format import joined
from salstats.errors import InputFileError, Message, SalstatsError, SalstatsWarning, Setting, warn
from salstats.files.outputs import check_target, page_stems, write_files
from salstats.jobs import count_nothing, end_when_parent_ends

FIGURE_SUFFIXES = (".pdf", ".svg", ".eps", ".png", ".tif", ".tiff")
_MM_PER_UNIT = {"mm": 1.0, "cm": 10.0, "in": MM_PER_INCH}
#: Largest side of a figure, above that of any page; a larger size is probably in the wrong unit.
_LARGEST_MM = 2000.0
#: Widths by their names.
_WIDTH_NAMES = ("single", "double")
#: Size of the letter of a part of a figure, in points.
_TAG_PT = 8.0
#: Fonts are embedded as TrueType (journals do not accept Type 3), SVG has text instead of outlines, files
#: hold no date, and letters are as wide in pixels as on paper.
_MATPLOTLIB_SETTINGS: dict[Any, Any] = {
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "salstats",
    "savefig.bbox": None,
    "text.hinting": "no_hinting",
}
#: Bytes by which the memory of the second process may grow before loky starts it anew, as text. loky takes
#: 300 MB for a leak; a PDF whose panels hold many points takes more, since Matplotlib keeps a picture of the
#: whole page for each panel until the file is written. The process ends with the figures.
_MEMORY_OF_SECOND_PROCESS = "1e15"
#: Compression of TIFF without loss.
_TIFF_OPTIONS = {"pil_kwargs": {"compression": "tiff_lzw"}}
#: Options of Matplotlib's `savefig` by file name ending.
_SAVEFIG_OPTIONS: dict[str, dict[str, Any]] = {
    ".pdf": {"metadata": {"CreationDate": None, "ModDate": None}},
    ".svg": {"metadata": {"Date": None}},
    ".eps": {},
    # a level above 3 takes twice the time to save a tenth of the size
    ".png": {"pil_kwargs": {"compress_level": 3}},
    ".tif": _TIFF_OPTIONS,
    ".tiff": _TIFF_OPTIONS,
}


class FigureText(NamedTuple):
    """Title and description of a figure, which its files contain for programs and screen readers."""

    title: str
    description: str


def save_figure(
    figure: p9.ggplot,
    path: str | os.PathLike[str],
    *,
    width: float | str | None = None,
    height: float | None = None,
    unit: str = "mm",
    journal: str = "nature",
    dpi: float = 300,
    tag: str | None = None,
    caption: bool = False,
    overwrite: bool = False,
) -> Path:
    """Write a figure as PDF, SVG, EPS, PNG or TIFF at its exact physical size, fonts embedded.

    A figure of several pages is written to as many files: fig2.pdf, fig2-2.pdf and so on. The caption of a
    figure of a `plot_*` function is written beside it: fig2.txt.

    Parameters
    ----------
    figure : ggplot
        Any plotnine figure.
    path : str or path
        Ends in `.pdf`, `.svg`, `.eps`, `.png`, `.tif` or `.tiff`.
    width : float or {"single", "double"}, optional
        Outer width, a number or one or two columns of the journal; by default the width that the plot
        function gave the figure. A figure of a `plot_*` function is laid out anew for another width; what was
        added to it with `+` is kept.
    height : float, optional
        Outer height; by default as high as its contents need.
    unit : {"mm", "cm", "in"}
        Unit of width and height.
    journal : {"nature", "cell", "elsevier", "ieee", "plos", "pnas", "science", "springer"}
        Journal or publisher whose columns "single" and "double" are.
    dpi : float
        Dots per inch of PNG and TIFF, written into the file.
    tag : str, optional
        Letter of a part of a larger figure, such as "a", bold in the upper left corner.
    caption : bool
        Write the caption into the figure, below its panels, instead of beside it.
    overwrite : bool
        Replace a file that is there already.

    Returns
    -------
    Path
        Where it was written, its first page where there are several.

    Warns
    -----
    SalstatsWarning
        The figure has several pages, and so several files; no installed font has some characters of the
        figure.

    Raises
    ------
    InputFileError
        As for `save_table`; another caption stands in the text file already.
    SalstatsError
        Not a plotnine figure; a size that is not between 0 and 2 m; an unknown unit, journal or width.

    Examples
    --------
    >>> import pathlib, tempfile, salstats as ss
    >>> means = ss.summarize(ss.datasets.load_simulated(), by=["metric", "method", "task"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ss.save_figure(ss.plot_intervals(means), pathlib.Path(folder) / "fig2.pdf", width="single")
    ...     caption = file.with_suffix(".txt").read_text(encoding="utf-8")
    ...     file.name, file.read_bytes()[:4], caption[:35]
    ('fig2.pdf', b'%PDF', 'Bars: 95% Wilson score intervals, u')
    """
    target = check_target(path, FIGURE_SUFFIXES, overwrite=overwrite)
    check_choice(journal, tuple(COLUMNS_MM), "journal")
    if isinstance(width, str):
        # an unknown unit raises an error below
        width = _column_width_mm(width, journal) / _MM_PER_UNIT.get(unit, 1.0)
    width_inches, _ = size_inches(figure, width, height, unit)
    if isinstance(figure, Figure):
        figure = figure.at(width_inches * MM_PER_INCH)
    pages = pages_with_files(figure, target)
    for _, file in pages[1:]:
        check_target(file, FIGURE_SUFFIXES, overwrite=overwrite)
    text = _title_and_caption(figure)
    contents: list[tuple[Path, bytes]] = []
    if isinstance(figure, Figure) and figure.caption() and not caption:
        contents.append(_caption_file_and_content(figure.caption(), target, overwrite=overwrite))
        pages = [(cast(Figure, page).without_caption(), file) for page, file in pages]
    if tag is not None:
        first_page, first_file = pages[0]
        letter = p9.theme(plot_tag=p9.element_text(size=_TAG_PT, weight="bold"))
        pages[0] = (first_page + letter + p9.labs(tag=tag), first_file)
    sizes = [size_inches(page, width, height, unit) for page, _ in pages]
    for (page, file), size in zip(pages, sizes, strict=True):
        contents += _file_contents(page, [file], size, dpi, text)
    write_files(contents)
    if len(pages) > 1:
        _warn_of_one_file_per_page([file.name for _, file in pages])
    return target


def _warn_of_one_file_per_page(page_file_names: Sequence[str]) -> None:
    """Warn that a figure has a file for each of its pages."""
    warn(
        f"the figure is higher than a page of {PAGE_HEIGHT_MM:.0f} mm and has {len(page_file_names)} files: "
        f"{joined(page_file_names)}",
        hint=Message("for one file take another ", Setting("width"), ", or fewer panels or rows"),
        option="path",
        value=tuple(page_file_names),
    )


def _column_width_mm(width_name: str, journal: str) -> float:
    """Return the width in mm of one ("single") or two columns ("double") of a journal."""
    check_choice(width_name, _WIDTH_NAMES, "width")
    return COLUMNS_MM[journal][_WIDTH_NAMES.index(width_name)]


def _caption_file_and_content(caption: str, target: Path, *, overwrite: bool) -> tuple[Path, bytes]:
    """Return the text file of a caption and its content; the same file may exist for another format."""
    file = target.with_suffix(".txt")
    content = f"{caption}\n".encode()
    is_there = file.is_file() and file.read_bytes() == content
    check_target(file, (".txt",), overwrite=overwrite or is_there)
    return file, content


def pages_with_files(figure: p9.ggplot, target: Path) -> list[tuple[p9.ggplot, Path]]:
    """Return each page of a figure with its file: fig.png, fig-2.png ..."""
    pages: Sequence[p9.ggplot] = (figure,)
    if isinstance(figure, Figure):
        pages = figure.pages
    names = page_stems(target.stem, len(pages))
    return [(page, target.with_stem(name)) for page, name in zip(pages, names, strict=True)]


def size_inches(
    figure: p9.ggplot, width: float | None = None, height: float | None = None, unit: str = "mm"
) -> tuple[float, float]:
    """Return a figure's width and height in inches: those given in a unit, else those of its theme."""
    if not isinstance(figure, p9.ggplot):
        raise SalstatsError(
            f"only a plotnine figure can be written, not {type(figure).__name__}", option="figure"
        )
    check_choice(unit, tuple(_MM_PER_UNIT), "unit")
    units_per_inch = MM_PER_INCH / _MM_PER_UNIT[unit]
    width_inches, height_inches = figure.theme.getp("figure_size")
    if width is not None:
        width_inches = width / units_per_inch
    if height is not None:
        height_inches = height / units_per_inch
    for name, value, inches in (("width", width, width_inches), ("height", height, height_inches)):
        if not 0 < inches * MM_PER_INCH <= _LARGEST_MM:
            raise SalstatsError(
                Setting(name, value),
                f" {unit} is not between 0 and 2 m",
                hint=Message("check ", Setting("unit")),
            )
    return float(width_inches), float(height_inches)


def save_figure_as(
    figure: p9.ggplot,
    targets: Iterable[Path],
    size: tuple[float, float],
    dpi: float = 300,
    text: FigureText | None = None,
) -> None:
    """Draw a figure once and write it to several files whose names end in their formats.

    `text` is by default that of the figure's own labels.
    """
    write_files(_file_contents(figure, targets, size, dpi, text or _title_and_caption(figure)))


def _file_contents(
    figure: p9.ggplot, targets: Iterable[Path], size: tuple[float, float], dpi: float, text: FigureText
) -> list[tuple[Path, bytes]]:
    """Return each file of a figure with its content; the figure is drawn once."""
    files = []
    with mpl.rc_context(_MATPLOTLIB_SETTINGS):
        canvas_figure = (figure + p9.theme(figure_size=size, dpi=dpi)).draw(show=False)
        try:
            _warn_of_missing_characters(canvas_figure)
            for target in targets:
                suffix = target.suffix.lower()
                _let_colour_bars_take_next_dpi(canvas_figure)
                # in memory: all files are written or none, and a full disk always raises the same error
                content = io.BytesIO()
                with warnings.catch_warnings():
                    # Matplotlib has a warning for each missing character
                    warnings.filterwarnings("ignore", message="Glyph")
                    canvas_figure.savefig(
                        content,
                        format=suffix[1:],
                        dpi=dpi,
                        bbox_inches=None,
                        **_savefig_options(text, suffix),
                    )
                file_content = content.getvalue()
                if suffix == ".svg":
                    file_content = _svg_with_text(file_content, text)
                files.append((target, file_content))
        finally:
            canvas_figure.clear()
            pyplot.close(canvas_figure)
    return files


def _warn_of_missing_characters(canvas_figure: DrawnFigure) -> None:
    """Warn if no installed font has some characters of a drawn figure, which then shows boxes."""
    texts = [text.get_text() for text in canvas_figure.findobj(Text)]
    characters = characters_without_face(texts, (font(), *fallback_fonts()))
    if characters:
        warn(
            SalstatsWarning(
                f"no installed font has the characters {characters}, so the figure shows boxes",
                hint="install a font that has them, such as Noto Sans CJK",
                value=characters,
            )
        )


def _title_and_caption(figure: p9.ggplot) -> FigureText:
    """Return the title of a figure, or its axis titles such as "IoU by Confidence", and its caption."""
    labels = figure.labels
    title = labels.title
    if not title:
        axis_titles = [text for text in (labels.y, labels.x) if text]
        title = " by ".join(axis_titles)
    return FigureText(" ".join(title.split()), " ".join((labels.caption or "").split()))


def _savefig_options(text: FigureText, suffix: str) -> dict[str, Any]:
    """Return the options of Matplotlib's `savefig`, the title and the subject of a PDF among them."""
    options = _SAVEFIG_OPTIONS[suffix]
    if suffix != ".pdf":
        return options
    return {"metadata": {**options["metadata"], "Title": text.title, "Subject": text.description}}


def _svg_with_text(svg: bytes, text: FigureText) -> bytes:
    """Return an SVG with a title and a description as the first elements of the picture."""
    start = svg.index(b">", svg.index(b"<svg")) + 1
    elements = f"<title>{escape(text.title)}</title><desc>{escape(text.description)}</desc>"
    return svg[:start] + elements.encode() + svg[start:]


def _let_colour_bars_take_next_dpi(canvas_figure: DrawnFigure) -> None:
    """Let colour bars take the resolution of the next format; plotnine keeps that of the first one.

    plotnine has no public name for this: without it the second file of a figure has colour bars of the wrong
    size.
    """
    for box in canvas_figure.findobj(lambda artist: hasattr(artist, "_dpi_corrected")):
        box.__dict__["_dpi_corrected"] = False


class _DrawingTask(NamedTuple):
    """A figure to draw, and the files that it is written to."""

    figure: p9.ggplot
    targets: list[Path]
    text: FigureText


class FigureJobs:
    """Draw figures, every other one in a second process where `jobs` allows it; a context manager.

    That process starts when the object is created, while there are statistics to compute: it has to import
    the drawing libraries, which takes about as long as three figures.
    """

    def __init__(self, jobs: int) -> None:
        self._tasks: list[_DrawingTask] = []
        #: Results of the tasks that the second process draws, by their number.
        self._futures: dict[int, Future[list[str]]] = {}
        self._pool = None
        # -1 stands for as many jobs as there are processors
        if jobs > 1 or jobs == -1:
            self._pool = _second_process_pool_if_possible()

    def __enter__(self) -> "FigureJobs":
        """Return the jobs."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the second process; figures that it has not begun are not drawn."""
        if self._pool is not None:
            for future in self._futures.values():
                future.cancel()
            # killing it would need pgrep, which small containers lack
            self._pool.shutdown(wait=True)

    def add(self, figure: p9.ggplot, targets: Sequence[Path], text: FigureText | None = None) -> None:
        """Add a figure and its files; the second process begins at once with the first, third ... figure.

        `text` is by default that of the figure's own labels.
        """
        if isinstance(figure, Figure):
            # without the data that it was made of, which may be large
            figure = figure.alone()
        # the second process may have started in another folder
        absolute_targets = [target.absolute() for target in targets]
        number = len(self._tasks)
        task = _DrawingTask(figure, absolute_targets, text or _title_and_caption(figure))
        self._tasks.append(task)
        if self._pool is not None and number % 2 == 0:
            import cloudpickle

            # loky would pickle the task in a thread, while this one may change objects that figures share
            pickled_task = cloudpickle.dumps(task)
            # if the process was killed meanwhile, the figure is drawn in this one
            with suppress(BrokenProcessPool):
                self._futures[number] = self._pool.submit(_write_pickled_and_collect_warnings, pickled_task)

    def finish_and_list_warnings(
        self,
        count: Callable[[int], None] = count_nothing,
        *,
        on_error: Callable[[Sequence[Path], Exception], None] | None = None,
    ) -> list[str]:
        """Draw the remaining figures, and return the distinct warnings of drawing.

        `count` is called with 1 for each figure that is done. `on_error` takes the files of a figure that
        cannot be drawn and the error, and the others are drawn; without it the error is raised, as is an
        error of the file system in any case.
        """
        for future in self._futures.values():
            future.add_done_callback(lambda _: count(1))
        numbers_here = [number for number in range(len(self._tasks)) if number not in self._futures]
        messages: list[str] = []
        for number in [*numbers_here, *self._futures]:
            try:
                messages += self._draw_or_await_and_collect_warnings(number)
            except (OSError, InputFileError):
                raise
            except Exception as error:
                if on_error is None:
                    raise
                on_error(self._tasks[number].targets, error)
            if number in numbers_here:
                count(1)
        return list(dict.fromkeys(messages))

    def _draw_or_await_and_collect_warnings(self, number: int) -> list[str]:
        """Draw a figure, or wait until the second process has drawn it, and return its warnings."""
        if number in self._futures:
            with suppress(BrokenProcessPool):
                return self._futures[number].result()
        return _write_and_collect_warnings(*self._tasks[number])


def _second_process_pool_if_possible() -> Any | None:
    """Start a process that imports the drawing libraries; return its pool, None where there can be none."""
    try:
        # imported late: the import looks for semaphores, which some systems lack
        from loky import ProcessPoolExecutor, cpu_count

        if cpu_count() < 2:
            return None
        pool = ProcessPoolExecutor(
            max_workers=1,
            initializer=end_when_parent_ends,
            initargs=(os.getpid(),),
            env={"LOKY_MAX_MEMORY_LEAK_SIZE": _MEMORY_OF_SECOND_PROCESS},
        )
        # inside a process of another pool this is an AssertionError
        pool.submit(_do_nothing)
        return pool
    except (ImportError, OSError, AssertionError):
        return None


def _write_pickled_and_collect_warnings(pickled_task: bytes) -> list[str]:
    """Do a task that the first process has pickled, as `_write_and_collect_warnings` does."""
    import cloudpickle

    task: _DrawingTask = cloudpickle.loads(pickled_task)
    return _write_and_collect_warnings(*task)


def _do_nothing() -> None:
    """Return at once: a process that is to call this function imports this module."""


def _write_and_collect_warnings(figure: p9.ggplot, targets: Sequence[Path], text: FigureText) -> list[str]:
    """Write a figure to its files at its own size and return the warnings of drawing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save_figure_as(figure, targets, size_inches(figure), text=text)
    # deprecations concern developers, not readers of the figure
    deprecations = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    return [str(warning.message) for warning in caught if not issubclass(warning.category, deprecations)]

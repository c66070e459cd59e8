"""Single tables and figures of a frame: which there are, how the frame tells which, and their options."""

import inspect
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from salstats.cli.option_help import DISPLAY, FILES
from salstats.cli.signatures import Option, option, options_of, word_of
from salstats.cli.sources import OF_TEXT, Run, Source, frame_of
from salstats.cli.waiting import waiting

if TYPE_CHECKING:
    import pandas as pd

#: Parameters whose flag is another word.
_FLAGS = {"labels": "label"}


@dataclass(frozen=True)
class Shown:
    """Kinds of tables, or of figures: the public functions of one frame whose names begin so."""

    prefix: str
    #: What they make, and the columns and terms ("term:mean") by which the frame of a kind is told.
    word: str
    marks: tuple[tuple[str, str], ...]
    #: Parameters that are the file's, not the kind's.
    without: tuple[str, ...] = ()

    def kinds(self) -> dict[str, Callable[..., Any]]:
        """Each kind and its function, those that are told by their frames first."""
        import salstats as ss

        names = [f"{self.prefix}{kind}" for kind, _ in self.marks]
        names += [name for name in dir(ss) if name.startswith(self.prefix)]
        functions = {name.removeprefix(self.prefix): getattr(ss, name) for name in dict.fromkeys(names)}
        return {kind: function for kind, function in functions.items() if _takes_one_frame(function)}

    def options(self) -> list[Option]:
        """`--as`, and the options of all kinds; which have one stands before its help, where not all do."""
        import salstats as ss

        kinds = self.kinds()
        asked = f"{', '.join(sorted(kinds))} (default: told by the file's columns)."
        panel = f"The {self.word}"
        made = [option("kind", str | None, None, asked, "--as", panel=panel)]
        found: dict[str, dict[str, Option]] = {}
        for kind, function in kinds.items():
            for one in options_of(
                function, texts=DISPLAY, without=self.without, flags=_FLAGS, panel=panel, either=True
            ):
                found.setdefault(one.name, {})[kind] = one
        for by_kind in found.values():
            first = next(iter(by_kind.values()))
            texts: dict[str, list[str]] = {}
            for kind, one in by_kind.items():
                texts.setdefault(_told(one).help or "", []).append(kind)
            if len(by_kind) < len(kinds):
                _told(first).help = " ".join(f"{', '.join(of)}: {text}" for text, of in texts.items())
            made.append(first)
        reading = options_of(ss.read_data, texts=FILES, panel="Reading the file")
        return [*made, *(one for one in reading if one.name in OF_TEXT)]

    def kind_of(self, frame: "pd.DataFrame", path: Path) -> str:
        """What a frame is shown as, told by its columns; an error names what would do."""
        from salstats.checks import quoted
        from salstats.errors import SalstatsError

        there = {str(name) for name in frame.columns}
        there |= {f"term:{term}" for term in frame["term"].unique()} if "term" in there else set()
        fits = [(kind, set(marks.split())) for kind, marks in self.marks if set(marks.split()) <= there]
        # what is told by more goes before what is told by some of it
        best = dict.fromkeys(k for k, own in fits if not any(own < other for _, other in fits))
        if len(best) == 1:
            return next(iter(best))
        which = f"--as {' or '.join(best or sorted(self.kinds()))}"
        if best:
            raise SalstatsError(f"{path} can be shown in several ways: say {which}")
        raise SalstatsError(
            f"{path}: no {self.word} is known for columns {quoted(frame.columns)}; say {which}"
        )

    def make(self, run: Run, source: Source) -> Any:
        """The table or figure of the file of a run; of a figure that was not asked for, say which it is."""
        frame = source.read(run)
        kinds = self.kinds()
        given = {name: value for name, value in run.reading.items() if name not in OF_TEXT}
        asked = "kind" in given
        kind = given.pop("kind", None) or self.kind_of(frame, run.path)
        if kind not in kinds:
            raise typer.BadParameter(f"--as {kind} is none of {', '.join(sorted(kinds))}")
        known = inspect.signature(kinds[kind]).parameters
        for name in given:
            if name not in known:
                raise typer.BadParameter(
                    f"--{word_of(name, _FLAGS)} is no option of a {self.word} --as {kind}"
                )
        if self is FIGURES and not asked:
            typer.echo(f"{run.out}: a figure --as {kind}, by its columns; other kinds: plot --help", err=True)
        with waiting(f"Making the {self.word}"):
            # a frame that goes with the first
            frames = {name: frame_of(v) for name, v in given.items() if isinstance(v, Path)}
            return kinds[kind](frame, **(given | frames))


def _takes_one_frame(function: Callable[..., Any]) -> bool:
    """Whether one argument is all that a function needs."""
    kinds = [p.kind for p in inspect.signature(function).parameters.values()]
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    return len(needed) == 1 and kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) == 1


def _told(one: Option) -> Any:
    """What typer is told of an option."""
    return one.parameter.annotation.__metadata__[0]


TABLES = Shown(
    "table_",
    "table",
    (
        ("describe", "mean sd median q1"),
        ("estimates", "estimate"),
        ("estimates", "estimate term:mean term:difference"),
        ("estimates", "estimate term formula parameter share"),
        ("decrease", "estimate method_mean reference_mean"),
        ("regression", "estimate term formula"),
        ("correlation", "estimate x y"),
        ("power", "power n_cases goal"),
    ),
)
FIGURES = Shown(
    "plot_",
    "figure",
    (
        ("intervals", "estimate"),
        ("intervals", "estimate term:mean term:difference"),
        ("forest", "estimate term formula parameter share"),
        ("decrease", "estimate method_mean reference_mean"),
        ("regression", "estimate term formula"),
        ("correlation", "estimate x y"),
        ("box", "case method metric score"),
        ("readers", "estimate method reader term figure"),
        ("ranks", "estimate method n_methods"),
        ("significance", "estimate reference better p_adjusted"),
        ("thresholds", "estimate task threshold chosen"),
        ("power", "power n_cases goal"),
        ("curves", "metric fraction"),
        ("flow", "step stage excluded"),
        ("residuals", "formula fitted residual"),
        ("letter_values", "covariate letter tail_share"),
        ("coverage", "statistic role coverage n_studies"),
    ),
    # of a figure the file says how wide it is
    without=("width", "ncol"),
)


def run_table(run: Run, source: Source) -> None:
    """Write one table, or print it."""
    import salstats as ss
    from salstats.display.export.table_files import TABLE_SUFFIXES, table_rows
    from salstats.display.tables.rows import plain_text
    from salstats.files.outputs import check_target

    if run.out is not None:
        check_target(run.out, TABLE_SUFFIXES, overwrite=run.overwrite)
    table = TABLES.make(run, source)
    if run.out is not None:
        with waiting("Writing"):
            ss.save_table(table, run.out, overwrite=run.overwrite)
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print(plain_text(table_rows(table), width, escapes=sys.stdout.isatty()))


def run_plot(run: Run, source: Source) -> None:
    """Write one figure."""
    import salstats as ss
    from salstats.display.export.figure_files import FIGURE_SUFFIXES
    from salstats.files.outputs import check_target

    out = check_target(run.out or "", FIGURE_SUFFIXES, overwrite=run.overwrite)
    figure = FIGURES.make(run, source)
    with waiting("Drawing"):
        ss.save_figure(figure, out, overwrite=run.overwrite, **run.options)

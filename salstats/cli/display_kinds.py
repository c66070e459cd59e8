"""Kinds of tables and figures: their options, and how a frame's columns choose the kind."""

import inspect
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from salstats.cli.option_help import DISPLAY, FILES
from salstats.cli.signatures import RARE, Option, flag_word, keyword_options_of, option
from salstats.cli.sources import TEXT_OPTIONS, CommandRun, Source, read_written_frame
from salstats.cli.spinner import spinner

if TYPE_CHECKING:
    import pandas as pd

#: Words of flags that differ from their parameter.
_FLAG_WORDS = {"labels": "label"}


@dataclass(frozen=True)
class DisplayKinds:
    """Kinds of tables, or of figures: the public functions of one frame whose names have a prefix."""

    #: "table_" or "plot_".
    prefix: str
    #: Noun for messages, "table" or "figure".
    noun: str
    #: Name of the command.
    command: str
    #: Pairs of a kind and of the columns, and terms such as "term:mean", that a frame of the kind has.
    kinds_and_columns: tuple[tuple[str, str], ...]
    #: Parameters that belong to the file and not to the kind.
    omit: tuple[str, ...] = ()

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the function of each kind; kinds that columns choose come first."""
        import salstats as ss

        names = [f"{self.prefix}{kind}" for kind, _ in self.kinds_and_columns]
        names += [name for name in dir(ss) if name.startswith(self.prefix)]
        functions = {}
        for name in dict.fromkeys(names):
            function = getattr(ss, name)
            if _takes_one_frame(function):
                functions[name.removeprefix(self.prefix)] = function
        return functions

    def options(self) -> list[Option]:
        """Make `--as` and the options of all kinds; help names the kinds of an option that not all have."""
        import salstats as ss

        functions = self.functions()
        panel = f"The {self.noun}"
        names = ", ".join(sorted(functions))
        kind_help = f"Kind of {self.noun}: {names} (default: by the columns of the file)."
        options = [option("kind", str | None, None, kind_help, "--as", panel=panel)]
        # the option of each kind, by the name of the parameter
        options_by_name: dict[str, dict[str, Option]] = {}
        for kind, function in functions.items():
            options_of_kind = keyword_options_of(
                function,
                texts=DISPLAY,
                omit=self.omit,
                flag_words=_FLAG_WORDS,
                panel=panel,
                add_off_switches=True,
            )
            for kind_option in options_of_kind:
                options_by_name.setdefault(kind_option.name, {})[kind] = kind_option
        for options_by_kind in options_by_name.values():
            first_option = next(iter(options_by_kind.values()))
            if len(options_by_kind) < len(functions):
                first_option.typer_info.help = _help_by_kind(options_by_kind)
                first_option.typer_info.rich_help_panel = RARE
            options.append(first_option)
        for reader_option in keyword_options_of(ss.read_data, texts=FILES, panel="Reading the file"):
            if reader_option.name in TEXT_OPTIONS:
                options.append(reader_option)
        return options

    def kind_of(self, frame: "pd.DataFrame", path: Path) -> str:
        """Return the kind that a frame's columns choose; raise an error where none or several fit."""
        from salstats.checks import quoted
        from salstats.errors import Message, SalstatsError, Setting

        columns_and_terms = {str(name) for name in frame.columns}
        if "term" in columns_and_terms:
            columns_and_terms |= {f"term:{term}" for term in frame["term"].unique()}
        # kinds whose columns and terms the frame has
        candidates = []
        for kind, columns in self.kinds_and_columns:
            required = set(columns.split())
            if required <= columns_and_terms:
                candidates.append((kind, required))
        # A kind is left out where another requires the same columns and more.
        kinds = []
        for kind, required in candidates:
            is_most_specific = not any(required < columns for _, columns in candidates)
            if is_most_specific and kind not in kinds:
                kinds.append(kind)
        if len(kinds) == 1:
            return kinds[0]
        if kinds:
            raise SalstatsError(
                f"{path} can be shown in several ways",
                hint=Message("choose one with ", Setting("kind"), f": {', '.join(kinds)}"),
                option="kind",
                choices=kinds,
                path=path,
            )
        raise SalstatsError(
            f"{path}: no {self.noun} is known for columns {quoted(frame.columns)}",
            hint=Message("choose one with ", Setting("kind"), f": {', '.join(sorted(self.functions()))}"),
            option="kind",
            choices=sorted(self.functions()),
            path=path,
        )

    def make(self, run: CommandRun, source: Source) -> Any:
        """Make the table or figure of a run's file; write a kind of figure that columns chose on stderr."""
        from salstats.checks import check_choice

        frame = source.read(run)
        functions = self.functions()
        options = {name: value for name, value in run.reading.items() if name not in TEXT_OPTIONS}
        is_chosen = "kind" in options
        kind = options.pop("kind", None) or self.kind_of(frame, run.path)
        check_choice(kind, sorted(functions), "kind")
        parameters = inspect.signature(functions[kind]).parameters
        for name in options:
            if name not in parameters:
                raise typer.BadParameter(
                    f"--{flag_word(name, _FLAG_WORDS)} is not an option of a {self.noun} of the kind {kind}"
                )
        if self is FIGURES and not is_chosen:
            typer.echo(
                f"{run.output}: drawn as {kind}, by the columns; salstats plot --help lists other kinds",
                err=True,
            )
        with spinner(f"Making the {self.noun}"):
            for name, value in options.items():
                if isinstance(value, Path):
                    # The option is the file of a further frame.
                    options[name] = read_written_frame(value)
            return functions[kind](frame, **options)


def _takes_one_frame(function: Callable[..., Any]) -> bool:
    """Tell whether a function has one positional parameter and requires no other."""
    parameters = inspect.signature(function).parameters.values()
    n_required = sum(parameter.default is parameter.empty for parameter in parameters)
    n_positional = sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)
    return n_required == 1 and n_positional == 1


def _help_by_kind(options_by_kind: dict[str, Option]) -> str:
    """Join the help of an option in several kinds: "box, ranks: Number of columns."."""
    kinds_by_text: dict[str, list[str]] = {}
    for kind, option_of_kind in options_by_kind.items():
        kinds_by_text.setdefault(option_of_kind.typer_info.help or "", []).append(kind)
    return " ".join(f"{', '.join(kinds)}: {text}" for text, kinds in kinds_by_text.items())


TABLES = DisplayKinds(
    "table_",
    "table",
    "table",
    (
        ("describe", "mean sd median q1"),
        ("patients", "covariate kind level mean sd median q1"),
        ("estimates", "estimate"),
        ("estimates", "estimate term:mean term:difference"),
        ("estimates", "estimate term formula parameter share"),
        ("decrease", "estimate method_mean reference_mean"),
        ("regression", "estimate term formula"),
        ("correlation", "estimate x y"),
        ("power", "power n_cases goal"),
    ),
)
FIGURES = DisplayKinds(
    "plot_",
    "figure",
    "plot",
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
        ("roc", "estimate threshold false_positive_rate"),
        ("calibration", "estimate bin predicted"),
        ("flow", "step stage excluded"),
        ("residuals", "formula fitted residual"),
        ("letter_values", "covariate letter tail_share"),
        ("coverage", "statistic role coverage n_studies"),
    ),
    # the width of a figure is an option of its file
    omit=("width", "ncol"),
)


def run_table(run: CommandRun, source: Source) -> None:
    """Write one table, or print it."""
    import salstats as ss
    from salstats.display.export.table_files import table_rows
    from salstats.display.tables.file_formats import TABLE_SUFFIXES
    from salstats.display.tables.rows import plain_text
    from salstats.files.outputs import check_target

    if run.output is not None:
        check_target(run.output, TABLE_SUFFIXES, overwrite=run.overwrite)
    table = TABLES.make(run, source)
    if run.output is not None:
        with spinner("Writing"):
            ss.save_table(table, run.output, overwrite=run.overwrite, **run.options)
        return
    is_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else None
    print(plain_text(table_rows(table), width, with_terminal_styles=is_terminal))


def run_plot(run: CommandRun, source: Source) -> None:
    """Write one figure."""
    import salstats as ss
    from salstats.display.export.figure_files import FIGURE_SUFFIXES
    from salstats.files.outputs import check_target

    path = check_target(run.output or "", FIGURE_SUFFIXES, overwrite=run.overwrite)
    figure = FIGURES.make(run, source)
    with spinner("Drawing"):
        ss.save_figure(figure, path, overwrite=run.overwrite, **run.options)

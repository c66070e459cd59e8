"""Sources of commands: scores, tables, studies and recordings, each with its options and its reader."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from salstats.cli.option_help import FILES, STUDIES
from salstats.cli.option_values import split
from salstats.cli.signatures import Option, keyword_options_of, option
from salstats.cli.spinner import spinner

if TYPE_CHECKING:
    import pandas as pd

    from salstats.study import Study


#: Options for reading a command's frame after another program, such as a spreadsheet, has saved it.
TEXT_OPTIONS = ("sep", "decimal", "encoding", "sheet")


@dataclass(frozen=True)
class CommandRun:
    """One call of a command."""

    #: The file or folder that is read; None where options name the folders of a study.
    input_path_or_none: Path | None
    #: Keyword arguments of the reader.
    reading: dict[str, Any]
    #: Keyword arguments of the public function.
    options: dict[str, Any]
    #: Positional arguments of the function that follow the data.
    arguments: list[Any]
    #: File or folder to write; None prints.
    output: Path | None
    overwrite: bool
    #: Print every row and column, however small the terminal is.
    print_all: bool
    #: The public function.
    function: Callable[..., Any]

    @property
    def path(self) -> Path:
        """The file or folder that is read, of a command that needs one."""
        assert self.input_path_or_none is not None
        return self.input_path_or_none

    def call(self, data: Any, **options: Any) -> Any:
        """Call the public function on the data, with a progress bar or spinner at a terminal."""
        if "progress" in inspect.signature(self.function).parameters:
            return self.function(data, *self.arguments, **self.options, **options, progress=True)
        with spinner("Computing"):
            return self.function(data, *self.arguments, **self.options, **options)

    def deliver(self, frame: "pd.DataFrame") -> None:
        """Write a frame to its file or print it, and write the note on its metrics on stderr."""
        from salstats.display.tables.notes import metric_notes

        note = metric_notes(frame)
        if note:
            typer.echo(note, err=True)
        if self.output is not None:
            from salstats.files.frame_files import write_frame

            with spinner("Writing"):
                write_frame(frame, self.output, overwrite=self.overwrite)
            return
        from salstats.display.text.console import print_frame

        print_frame(frame, fit_terminal=not self.print_all, option_for_all="--all")


def read_scores(run: CommandRun) -> "pd.DataFrame":
    """Read files of scores."""
    import salstats as ss

    reading = dict(run.reading)
    return ss.read_scores([run.path, *reading.pop("also", [])], **reading)


def read_scores_if_score_options_else_table(run: CommandRun) -> "pd.DataFrame":
    """Read files of scores where options of these are given, else any tidy table."""
    import salstats as ss

    if set(run.reading) - set(inspect.signature(ss.read_data).parameters):
        return read_scores(run)
    if "~" in run.path.name and not run.path.exists():
        raise typer.BadParameter(f"{str(run.path)!r} is a formula; the file comes first: SCORES FORMULA")
    return ss.read_data(run.path, **run.reading)


def reader_by_public_name(name: str) -> Callable[[CommandRun], Any]:
    """Return a function that reads the input of a run with the public function of this name."""

    def read(run: CommandRun) -> Any:
        import salstats as ss

        return getattr(ss, name)(run.path, **run.reading)

    return read


def read_study(run: CommandRun) -> "Study":
    """Read a study from its folder, or without one from the folders that options name."""
    import salstats as ss

    reading = dict(run.reading)
    cases = reading.pop("cases", None)
    if run.input_path_or_none is None and "colormap" in run.options:
        # Without a STUDY, --colormap says how pictures of --maps are read, and not how maps are smoothed.
        reading["colormap"] = run.options.pop("colormap")
    study = ss.read_study(run.input_path_or_none, **reading)
    if cases is None:
        return study
    return study.select(cases=_case_names_from_list_or_table(cases))


def _case_names_from_list_or_table(texts: Sequence[str]) -> list[str]:
    """Return the names that `--cases` lists, or those in the column `case` of its table."""
    from salstats.errors import ColumnError
    from salstats.readers.tables import TABLE_SUFFIXES, read_fixed_columns_table

    if len(texts) == 1 and Path(texts[0]).suffix.lower() in TABLE_SUFFIXES:
        table = read_fixed_columns_table(Path(texts[0]), ColumnError)
        table.check_columns(("case",))
        return table.nonempty_texts("case")
    return split(texts) or []


def _score_reading_options() -> list[Option]:
    """Make the options of every command that reads scores."""
    import salstats as ss

    panel = "Reading the file"
    also = option("also", list[str] | None, None, "Further files of scores.", panel=panel)
    options = [replace(also, convert=split)]
    conversions = {"sep": _separator, "na": _missing_values}
    flag_words = {"columns": "score"}
    for reader_option in keyword_options_of(ss.read_scores, texts=FILES, flag_words=flag_words, panel=panel):
        convert = conversions.get(reader_option.name, reader_option.convert)
        options.append(replace(reader_option, convert=convert))
    return options


def _separator(text: str | None) -> str | None:
    """Read a separator of columns; a tab may be written as the word tab or with a backslash."""
    return "\t" if text in ("\\t", "tab") else text


def _missing_values(texts: Sequence[str] | None) -> list[str] | None:
    """Read the texts that stand for a missing value, to which the empty cell is added."""
    if texts is None:
        return None
    return ["", *(split(texts) or [])]


def _study_options() -> list[Option]:
    """Make the options of every command that reads a study, which are those of all formats."""
    from salstats.readers.formats import FORMATS

    panel = "Reading the study"
    names = ", ".join(FORMATS)
    format_help = f"Format of the files: {names} (default: by the names of the files)."
    option_of_format = option("format", str | None, None, format_help, panel=panel)
    cases_help = "Cases to read: a file with a column case, or their names (default: all)."
    option_of_cases = option("cases", list[str] | None, None, cases_help, panel=panel)
    first_options: dict[str, Option] = {}
    formats: dict[str, list[str]] = {}
    for format_name, record in FORMATS.items():
        parameters = inspect.signature(record.read).parameters
        # The functions behind the commands have options of the names in `omit`, whose flags these are.
        for reader_option in keyword_options_of(
            record.read,
            texts=STUDIES,
            omit=("threshold", "shares", "rng", "without_truth"),
            panel=panel,
        ):
            # Formats share an option. That of a format whose default is not None is used: it takes "none".
            if reader_option.name not in first_options or parameters[reader_option.name].default is not None:
                first_options[reader_option.name] = reader_option
            formats.setdefault(reader_option.name, []).append(format_name)
    for name, reader_option in first_options.items():
        if "chexlocalize" not in formats[name]:
            reader_option.typer_info.help = f"{', '.join(formats[name])}: {reader_option.typer_info.help}"
    return [option_of_format, option_of_cases, *first_options.values()]


def _gaze_options() -> list[Option]:
    """Make the options for reading recordings."""
    import salstats as ss

    return keyword_options_of(ss.read_gaze, texts=STUDIES, panel="Reading the recordings")


def read_frame_of_earlier_command(run: CommandRun) -> "pd.DataFrame":
    """Read the frame that an earlier command wrote."""
    return read_written_frame(
        run.path, **{name: v for name, v in run.reading.items() if name in TEXT_OPTIONS}
    )


def read_written_frame(path: Path, **reading: Any) -> "pd.DataFrame":
    """Read a frame that a command wrote; empty cells are missing values."""
    from salstats.readers.cells import TableOptions
    from salstats.readers.tables import read_table

    options = TableOptions(**reading)
    options.check_any_workbook_if_sheet_chosen([path])
    return read_table(path, options).typed_frame().reset_index(drop=True)


@dataclass(frozen=True)
class Source:
    """Argument of a command, with the options for reading it and the reader."""

    metavar: str
    help: str
    options: Callable[[], list[Option]]
    reader: Callable[[CommandRun], Any]
    #: True where options may name the input instead.
    is_optional: bool = False

    def read(self, run: CommandRun) -> Any:
        """Read the data of a run."""
        with spinner("Reading"):
            return self.reader(run)


_FILE = "CSV, TSV, Parquet or XLSX file."
SCORES = Source("SCORES", _FILE, _score_reading_options, read_scores)
TABLE = Source("SCORES", _FILE, _score_reading_options, read_scores_if_score_options_else_table)
STUDY = Source(
    "STUDY",
    "Folder of maps and annotations, unless --maps, --masks and --truth name theirs.",
    _study_options,
    read_study,
    is_optional=True,
)
_RECORDINGS = "Recordings: metadata_phase_*.csv, ID/fixations.csv."
GAZE = Source("FOLDER", _RECORDINGS, _gaze_options, reader_by_public_name("read_gaze"))

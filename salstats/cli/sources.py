"""What commands read: scores, tables, studies and recordings, each with its options and its reader."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from salstats.cli.option_help import FILES, STUDIES
from salstats.cli.signatures import Option, option, options_of
from salstats.cli.values import split
from salstats.cli.waiting import waiting

if TYPE_CHECKING:
    import pandas as pd


#: How the frame of a command is read that another program has written again.
OF_TEXT = ("sep", "decimal", "encoding", "sheet")


@dataclass(frozen=True)
class Run:
    """One call of a command."""

    #: The file or folder that is read.
    path: Path
    #: Keyword arguments of the reader and of the function, those that were given.
    reading: dict[str, Any]
    options: dict[str, Any]
    #: Arguments of the function that stand by their place, after what is read.
    arguments: list[Any]
    #: Where to write, and whether in the place of a file.
    out: Path | None
    overwrite: bool
    #: Whether a frame is printed whole, however small the terminal.
    whole: bool
    #: The public function.
    function: Callable[..., Any]

    def call(self, data: Any, **options: Any) -> Any:
        """Call the public function on what was read; who waits for it at a terminal sees that it works."""
        if "progress" in inspect.signature(self.function).parameters:
            return self.function(data, *self.arguments, **self.options, **options, progress=True)
        with waiting("Computing"):
            return self.function(data, *self.arguments, **self.options, **options)

    def deliver(self, frame: "pd.DataFrame") -> None:
        """Write a frame to its file, or print it; say what must be said of its metrics."""
        from salstats.display.tables.notes import metric_note

        note = metric_note(frame)
        if note:
            typer.echo(note, err=True)
        if self.out is not None:
            from salstats.files.frame_files import write_frame

            with waiting("Writing"):
                write_frame(frame, self.out, overwrite=self.overwrite)
            return
        from salstats.display.text.console import print_frame

        print_frame(frame, whole=self.whole, option="--all")


def read_scores(run: Run) -> "pd.DataFrame":
    """Read files of scores."""
    import salstats as ss

    reading = dict(run.reading)
    return ss.read_scores([run.path, *reading.pop("also", [])], **reading)


def read_table(run: Run) -> "pd.DataFrame":
    """Read files of scores, or one tidy table that is none."""
    import salstats as ss

    if set(run.reading) - set(inspect.signature(ss.read_data).parameters):
        return read_scores(run)
    if "~" in run.path.name and not run.path.exists():
        raise typer.BadParameter(f"{str(run.path)!r} is a formula; the file comes first: SCORES FORMULA")
    return ss.read_data(run.path, **run.reading)


def reader(name: str) -> Callable[[Run], Any]:
    """The public reader of a name, called with the options of the run."""

    def read(run: Run) -> Any:
        import salstats as ss

        return getattr(ss, name)(run.path, **run.reading)

    return read


def _score_options() -> list[Option]:
    """Make the options of every command that reads scores."""
    import salstats as ss

    panel = "Reading the file"
    also = option("also", list[str] | None, None, "A further file of scores.", panel=panel)
    made = options_of(ss.read_scores, texts=FILES, flags={"columns": "score"}, panel=panel)
    readers = {"sep": lambda given: "\t" if given in ("\\t", "tab") else given, "na": _missing}
    return [
        Option(also.name, also.flag, also.parameter, split),
        *(Option(o.name, o.flag, o.parameter, readers.get(o.name, o.value)) for o in made),
    ]


def _missing(given: Sequence[str] | None) -> list[str] | None:
    """Read what stands for missing, as an empty cell always does."""
    return None if given is None else ["", *(split(given) or [])]


def _study_options() -> list[Option]:
    """Make the options of every command that reads a study: those of all formats, named by format."""
    from salstats.readers.formats import FORMATS

    panel = "Reading the study"
    names = ", ".join(FORMATS)
    made = [option("format", str | None, None, f"{names} (default: told by the files' names).", panel=panel)]
    known: dict[str, Option] = {}
    formats: dict[str, list[str]] = {}
    for name, record in FORMATS.items():
        # where the kernels of other commands have an option of the name, it is Python's alone
        parameters = inspect.signature(record.read).parameters
        for one in options_of(
            record.read,
            texts=STUDIES,
            without=("threshold", "shares", "rng", "without_truth"),
            panel=panel,
        ):
            # "none" can be said of the one with another default
            if one.name not in known or parameters[one.name].default is not None:
                known[one.name] = one
            formats.setdefault(one.name, []).append(name)
    for name, one in known.items():
        if "chexlocalize" not in formats[name]:
            told = one.parameter.annotation.__metadata__[0]
            told.help = f"{', '.join(formats[name])}: {told.help}"
        made.append(one)
    return made


def _gaze_options() -> list[Option]:
    """Make the options for reading recordings."""
    import salstats as ss

    return options_of(ss.read_gaze, texts=STUDIES, panel="Reading the recordings")


def read_frame(run: Run) -> "pd.DataFrame":
    """Read the frame of another command."""
    return frame_of(run.path, **{name: v for name, v in run.reading.items() if name in OF_TEXT})


def frame_of(path: Path, **reading: Any) -> "pd.DataFrame":
    """A frame that was written; of rows that are of no method, as a test of all, the cell is empty."""
    from salstats.readers.cells import TableOptions
    from salstats.readers.tables import read_table

    frame = read_table(path, TableOptions(**reading)).typed().reset_index(drop=True)
    return frame.replace("", float("nan"))


@dataclass(frozen=True)
class Source:
    """What a command reads: an argument, the options for reading it, and the reader."""

    metavar: str
    help: str
    options: Callable[[], list[Option]]
    reader: Callable[[Run], Any]

    def read(self, run: Run) -> Any:
        """What the run is on."""
        with waiting("Reading"):
            return self.reader(run)


_FILE = "CSV, TSV, Parquet or XLSX file."
SCORES = Source("SCORES", _FILE, _score_options, read_scores)
TABLE = Source("SCORES", _FILE, _score_options, read_table)
STUDY = Source("STUDY", "Folder of maps and annotations.", _study_options, reader("read_study"))
_RECORDINGS = "Recordings: metadata_phase_*.csv, ID/fixations.csv."
GAZE = Source("FOLDER", _RECORDINGS, _gaze_options, reader("read_gaze"))

"""Single tables and figures: the kind is told by the frame that a command wrote, or said."""

import csv
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
import typer
from PIL import Image
from tests_support import error_line, raises

import salstats as ss
from salstats.cli.app import run
from salstats.cli.display_kinds import FIGURES, TABLES
from salstats.cli.signatures import RARE
from salstats.cli.sources import TEXT_OPTIONS, CommandRun, Source
from salstats.errors import SalstatsError, ValueRangeError

#: A command, and what its frame is shown as in a table and in a figure ("" where that has to be said).
FRAMES = {
    "summarize scores.csv --by metric,method": ("estimates", "intervals"),
    "describe scores.csv": ("describe", ""),
    "describe-patients scores.csv label,prob --by task --unit case,task": ("patients", ""),
    "auroc scores.csv prob label --by task": ("estimates", "intervals"),
    "roc-curve scores.csv prob label --replicates 20": ("estimates", "roc"),
    "calibration-curve scores.csv prob label": ("estimates", "calibration"),
    "decrease scores.csv --reference human --replicates 50": ("decrease", "decrease"),
    "difference scores.csv --reference human --replicates 50": ("decrease", "decrease"),
    "regress scores.csv 'iou ~ prob'": ("regression", "regression"),
    "quantile-regress scores.csv 'iou ~ prob'": ("regression", "regression"),
    "correlate scores.csv iou prob": ("correlation", "correlation"),
    "ranks scores.csv --by metric --replicates 50": ("estimates", "ranks"),
    "significance-map scores.csv --by metric --test t": ("", "significance"),
    "power one.csv --reference human --by method --n-cases 50,100 --effect -0.05 --studies 40": (
        "power",
        "power",
    ),
    "read scores.csv": ("", "box"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with `scores.csv` in it."""
    monkeypatch.chdir(tmp_path)
    scores = ss.datasets.load_simulated()
    ss.write_frame(scores, "scores.csv")
    ss.write_frame(scores.query("metric == 'iou' and task == 'Edema'"), "one.csv")
    return tmp_path


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    "command",
    # each run has every sixth of them
    [pytest.param(c, marks=() if turn % 6 == 0 else pytest.mark.slow) for turn, c in enumerate(FRAMES)],
)
def test_the_file_of_a_command_is_shown_as_what_it_is(folder, capsys, command):
    table, figure = FRAMES[command]
    assert run([*shlex.split(command), "-o", "frame.csv"]) == 0
    frame = ss.read_data("frame.csv")
    for what, kind, out in (("table", table, "table.html"), ("plot", figure, "figure.svg")):
        capsys.readouterr()
        code = run([what, "frame.csv", "-o", out])
        if not kind:
            assert code == 2
            assert re.search(r"--as|plot_\w+\(\) draws", error_line(capsys))
            assert not (folder / out).exists()
            continue
        assert code == 0, capsys.readouterr().err
        made = getattr(ss, f"{what}_{kind}")(frame)
        save = ss.save_table if what == "table" else ss.save_figure
        expected = save(made, f"expected-{out}")
        assert (folder / out).read_text().split("<body", 1)[-1] == expected.read_text().split("<body", 1)[-1]


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_a_frame_with_two_sides_asks_which_and_is_told(folder, capsys):
    readers = [ss.read_scores("one.csv").assign(reader=name) for name in ("ann", "bob")]
    readers[1]["score"] = readers[1]["score"].round(1)
    both = pd.concat(readers, ignore_index=True)
    frame = ss.mrmc(both, reference="human")
    with raises(SalstatsError, option="kind", choices=("intervals", "decrease"), path=Path("mrmc.csv")):
        FIGURES.kind_of(frame, Path("mrmc.csv"))
    ss.write_frame(frame, "mrmc.csv")
    assert run(["plot", "mrmc.csv", "-o", "fig.svg"]) == 2
    assert "--as" in error_line(capsys)
    for kind in ("intervals", "decrease"):
        assert run(["plot", "mrmc.csv", "--as", kind, "-o", f"{kind}.svg"]) == 0
    assert (folder / "intervals.svg").read_text() != (folder / "decrease.svg").read_text()


def frame_of(columns):
    """A frame with the columns and terms of a kind."""
    names = columns.split()
    terms = [name.removeprefix("term:") for name in names if name.startswith("term:")]
    frame = pd.DataFrame({name: [0.5] * max(1, len(terms)) for name in names if ":" not in name})
    return frame.assign(term=terms) if terms else frame


@pytest.mark.parametrize(
    ("kinds", "kind", "columns"),
    [(kinds, kind, columns) for kinds in (TABLES, FIGURES) for kind, columns in kinds.kinds_and_columns],
)
def test_the_columns_of_a_kind_choose_it(kinds, kind, columns):
    assert kinds.kind_of(frame_of(columns), Path("x.csv")) == kind


def test_columns_of_no_kind_are_an_error_that_lists_all():
    choices = tuple(sorted(TABLES.functions()))
    with raises(SalstatsError, option="kind", choices=choices, path=Path("x.csv")):
        TABLES.kind_of(pd.DataFrame({"mean": [0.5]}), Path("x.csv"))
    # functions of several frames are no kinds
    assert "gallery" not in FIGURES.functions()
    assert {"intervals", "box", "scatter"} & set(FIGURES.functions()) == {"intervals", "box"}


def test_help_of_options_that_few_kinds_have_names_these():
    tables = {option.name: option for option in TABLES.options()}
    assert tables["kind"].flag == "--as"
    assert tables["matrix"].typer_info.help.startswith("correlation: ")
    assert tables["matrix"].typer_info.rich_help_panel == RARE
    assert tables["labels"].flag == "--label"
    assert tables["labels"].typer_info.rich_help_panel == "The table"
    assert not re.match(r"[a-z_, ]+: ", tables["labels"].typer_info.help)
    assert set(TEXT_OPTIONS) <= set(tables)
    assert "rename" not in tables
    # the width of a figure is that of its file
    assert "width" not in {option.name for option in FIGURES.options()}


def made_by(kinds, frame, output=None, **reading):
    """The table or figure of a frame."""
    call = CommandRun(Path("x.csv"), reading, {}, [], output, False, False, None)
    return kinds.make(call, Source("FRAME", "Frame.", list, lambda _: frame))


def test_the_kind_of_a_figure_is_said_where_columns_chose_it(capsys):
    means = ss.summarize(ss.datasets.load_simulated(), by=["metric", "method"], interval="t")
    made_by(FIGURES, means, output=Path("fig.pdf"), sep=",")
    assert capsys.readouterr().err.startswith("fig.pdf: drawn as intervals")
    made_by(FIGURES, means, kind="intervals")
    made_by(TABLES, means)
    assert capsys.readouterr().err == ""


def test_a_kind_takes_its_own_options_and_frames_in_files(tmp_path):
    scores = ss.datasets.load_simulated()
    means = ss.summarize(scores, by=["metric", "method"], interval="t")
    differences = ss.difference(scores, reference="human", by="metric", interval="t")
    ss.write_frame(differences, tmp_path / "d.csv")
    made = made_by(TABLES, means, differences=tmp_path / "d.csv", digits=2)
    assert str(made) == str(ss.table_estimates(means, differences=differences, digits=2))
    with pytest.raises(typer.BadParameter, match="--matrix"):
        made_by(TABLES, means, matrix=True)
    with raises(ValueRangeError, option="kind", value="nothing", choices=tuple(sorted(TABLES.functions()))):
        made_by(TABLES, means, kind="nothing")


def test_options_are_those_of_the_kind(folder, capsys):
    assert run(shlex.split("summarize scores.csv --by metric,method -o means.csv")) == 0
    options = "--no-bold --digits 2 --columns method --label gradcam=CAM --title Means"
    assert run(["table", "means.csv", *shlex.split(options), "-o", "table.csv"]) == 0
    means = ss.read_data("means.csv")
    options = {
        "bold": False,
        "digits": 2,
        "columns": "method",
        "labels": {"gradcam": "CAM"},
        "title": "Means",
    }
    made = ss.save_table(ss.table_estimates(means, **options), "expected.csv")
    assert (folder / "table.csv").read_bytes() == made.read_bytes()
    capsys.readouterr()
    for arguments, culprit in (
        ("table means.csv --matrix", "--matrix"),
        ("table means.csv --as nothing", "--as nothing"),
        ("plot means.csv -o fig.gif", "fig.gif"),
        ("table means.csv -o means.csv --overwrite", "means.csv"),
        ("table means.csv --differences d.csv -o means.html", "d.csv"),
    ):
        assert run(shlex.split(arguments)) == 2
        assert culprit in error_line(capsys)


def test_a_figure_is_as_wide_as_told(folder):
    assert run(shlex.split("summarize scores.csv --by metric,method -o means.csv")) == 0
    assert run(shlex.split("plot means.csv -o fig.png --width 89 --dpi 100")) == 0
    with Image.open("fig.png") as picture:
        assert picture.width == round(89 / 25.4 * 100)


def test_a_table_without_a_file_is_printed(folder, capsys):
    assert run(shlex.split("decrease scores.csv --reference human --replicates 50 -o decrease.csv")) == 0
    capsys.readouterr()
    assert run(["table", "decrease.csv"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    edema = next(line for line in out.splitlines() if "Edema" in line)
    table = ss.table_decrease(ss.read_data("decrease.csv"))
    assert f"{table}\n" == out
    made = ss.save_table(table, "decrease-table.csv")
    _, *cells = next(row for row in csv.reader(made.read_text("utf-8-sig").splitlines()) if "Edema" in row)
    assert edema.split() == " ".join(cells).split()

"""A report's folder: complete or not there, and never in the place of somebody else's files."""

import errno
import json
from pathlib import Path

import pandas as pd
import plotnine as p9
from report_text import files, page_text
from tests_support import raises

import salstats as ss
from salstats.display.export.figure_files import FigureJobs
from salstats.display.report.document import Report, ReportItem, Section
from salstats.display.report.folder import check_report_folder_is_writable, write_folder_collecting_warnings
from salstats.errors import InputFileError


def write(folder, title="First", *, overwrite=False, provenance=()):
    """Write a report of one table."""
    frame = ss.describe(ss.datasets.load_simulated(), by=["metric", "method"])
    item = ReportItem("description", "Table 1", "Scores", ss.table_describe(frame), frame)
    sections = (Section("summary", "Summary"), Section("cases", "Cases", items=(item,)))
    report = Report(title, sections, (), (), provenance=provenance)
    folder = check_report_folder_is_writable(Path(folder), overwrite=overwrite)
    with FigureJobs(1) as figures:
        return write_folder_collecting_warnings(report, folder, figures, progress=False)


def test_an_earlier_report_is_replaced_only_when_asked_and_other_files_never(tmp_path):
    out = tmp_path / "out"
    write(out)
    assert {"index.html", "report.json", "tables/description.csv", "frames/description.csv"} <= files(out)
    with raises(InputFileError, option="overwrite"):
        write(out)
    write(out, "Second", overwrite=True)
    assert "Second" in page_text(out)
    (out / "figures" / "thesis.pdf").write_text("mine")
    with raises(InputFileError, path=out, value="figures/thesis.pdf"):
        write(out, overwrite=True)
    assert (out / "figures" / "thesis.pdf").read_text() == "mine"


def test_a_folder_that_no_report_made_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.html").write_text("mine")
    with raises(InputFileError, path=tmp_path / "out", value="index.html"):
        ss.report(pd.DataFrame(), tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "index.html").read_text() == "mine"


def test_a_report_that_fails_leaves_the_earlier_one(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write(out)
    before = files(out)

    def broken(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("salstats.display.report.folder.render_page", broken)
    with raises(InputFileError, path=out) as caught:
        write(out, overwrite=True)
    assert caught.value.__cause__.errno == errno.ENOSPC
    assert files(out) == before
    assert list(tmp_path.iterdir()) == [out]


def test_the_earlier_report_comes_back_where_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write(out)
    before = files(out)
    rename = Path.rename

    def refusing(self, target):
        if self.name == "made":
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refusing)
    with raises(InputFileError, path=out) as caught:
        write(out, overwrite=True)
    assert caught.value.__cause__.errno == errno.EIO
    assert files(out) == before


def test_folders_that_cannot_be_made_or_replaced_are_named(tmp_path, monkeypatch):
    with raises(InputFileError, path=tmp_path / "no" / "out", hint=""):
        write(tmp_path / "no" / "out")
    write(tmp_path / "real")
    (tmp_path / "real" / "mine").symlink_to(tmp_path)
    with raises(InputFileError, path=tmp_path / "real", value="mine"):
        write(tmp_path / "real", overwrite=True)
    monkeypatch.chdir(tmp_path)
    with raises(InputFileError, path=tmp_path):
        write(".")


def test_a_name_that_is_no_text_stands_in_a_report_as_escapes(tmp_path):
    write(tmp_path / "out", provenance=(("Input", "nu\udcff.csv"),))
    listed = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert listed["provenance"] == {"Input": "nu\udcff.csv"}


def test_each_page_of_a_figure_has_its_files_beside_those_of_the_tables(tmp_path):
    frame = ss.describe(ss.datasets.load_simulated(), by=["metric", "method"])
    points = p9.ggplot(frame, p9.aes("mean", "sd")) + p9.geom_point() + p9.theme(figure_size=(2, 1))
    figure = ReportItem("spread", "Figure 1", "Spread", (points, points), frame, caption="Two pages.")
    table = ReportItem("description", "Table 1", "Scores", ss.table_describe(frame), frame)
    report = Report("First", (Section("cases", "Cases", items=(figure, table)),), (), ())
    with FigureJobs(1) as jobs:
        assert write_folder_collecting_warnings(report, tmp_path / "out", jobs, progress=False) == []
    drawn = {name for name in files(tmp_path / "out") if name.startswith("figures/")}
    assert len(drawn) == 4
    assert {Path(name).suffix for name in drawn} == {".pdf", ".png"}
    listed = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))["files"]
    assert drawn <= set(listed)
    assert {"frames/spread.csv", "frames/description.csv", "tables/description.csv"} <= set(listed)

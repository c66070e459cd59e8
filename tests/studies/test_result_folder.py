"""The folder of a run: its files, its index, and what it replaces."""

from dataclasses import replace

import pandas as pd
import plotnine as p9
import pytest
from made_up_items import FRAME, GOOD, LACKING, shown
from tests_support import raises

import salstats as ss
from salstats.errors import InputFileError
from salstats.studies.declarations import ItemResult, StudyItem
from salstats.studies.result_tables import table_of


def test_every_file_is_listed_with_what_has_to_be_known(reproduce):
    code, said, out = reproduce(GOOD)
    assert code == 0
    assert "1 items" in said.out
    index = pd.read_csv(out / "outputs.csv").set_index("file")
    files = {f.relative_to(out).as_posix() for f in out.rglob("*") if f.is_file()}
    assert files == {*index.index, "outputs.csv", "printed.csv"}
    row = index.loc["frames/table_1.csv"]
    assert row[["item", "slice", "unit", "interval", "note"]].tolist() == [
        "Table 1: means", "true-positive", "case", "t", "few cases"
    ]  # fmt: skip
    assert (out / "figures" / "table_1.pdf").read_bytes()[:4] == b"%PDF"
    written = pd.read_csv(out / "frames" / "table_1.csv")
    columns = ["printed", "printed_source"]
    pd.testing.assert_frame_equal(written.drop(columns=columns), FRAME, check_dtype=False)


def test_every_page_of_a_figure_has_its_files(reproduce):
    many = pd.DataFrame({"task": [f"Task {i}" for i in range(60)], "metric": "iou", "estimate": 0.5})
    figure = ss.plot_intervals(many.assign(conf_low=0.4, conf_high=0.6))
    assert len(figure.pages) > 1
    code, _, out = reproduce(StudyItem("figure_1", "Fig. 1: many", lambda _: ItemResult(many, None, figure)))
    assert code == 0
    names = ["figure_1", *(f"figure_1-{i}" for i in range(2, len(figure.pages) + 1))]
    assert sorted(f.name for f in (out / "figures").iterdir()) == sorted(
        f"{name}{suffix}" for name in names for suffix in (".pdf", ".png")
    )
    listed = pd.read_csv(out / "outputs.csv")["file"]
    assert {f"figures/{name}.pdf" for name in names} < set(listed)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_figure_that_cannot_be_drawn_costs_itself_alone(reproduce, jobs):
    undrawn = p9.ggplot(FRAME, p9.aes("nobody", "estimate")) + p9.geom_point()
    items = [StudyItem("figure_1", "Fig. 1: nobody", lambda _: replace(shown(FRAME), figure=undrawn)), GOOD]
    code, said, out = reproduce(*items, given=["--jobs", str(jobs)])
    assert code == 1
    assert said.err.startswith("Fig. 1, its figure: failed, ")
    assert sorted(f.name for f in (out / "figures").iterdir()) == ["table_1.pdf", "table_1.png"]
    listed = pd.read_csv(out / "outputs.csv")["file"]
    files = {f.relative_to(out).as_posix() for f in out.rglob("*") if f.is_file()}
    assert files - set(listed) == {"outputs.csv", "printed.csv", "warnings.txt", "errors.txt"}
    assert "tables/figure_1.html" in set(listed)


@pytest.mark.parametrize(
    ("note", "sentence"), [("few cases", "Few cases."), ("n counts cases.", "n counts cases.")]
)
def test_a_note_stands_below_the_table_as_a_sentence(reproduce, note, sentence):
    result = ItemResult(FRAME, table_of(FRAME, "t", {"Task": "task"}, {"Mean": ("estimate", 2)}), note=note)
    _, _, out = reproduce(StudyItem("t", "Table 1: means", lambda _: result))
    assert f">{sentence}<" in (out / "tables" / "t.html").read_text()
    assert set(pd.read_csv(out / "outputs.csv")["note"]) == {note.rstrip(".")}


def test_a_table_that_cannot_be_written_costs_itself_alone(reproduce):
    code, said, out = reproduce(StudyItem("t", "Table 1: means", lambda _: ItemResult(FRAME, "no table")))
    assert code == 1
    assert said.err.startswith("Table 1, its table: failed, ")
    assert pd.read_csv(out / "outputs.csv")["file"].tolist() == ["frames/t.csv"]


def test_an_output_that_exists_is_kept_unless_overwrite_is_asked_for(reproduce, tmp_path):
    _, _, out = reproduce(GOOD)
    first = (out / "outputs.csv").read_text()
    with raises(InputFileError, option="overwrite", path=tmp_path / "out"):
        reproduce(GOOD)
    assert (out / "outputs.csv").read_text() == first
    reproduce(LACKING, StudyItem("table_9", "Table 9", lambda _: shown(FRAME)), given=["--overwrite"])
    assert [f.stem for f in (out / "frames").iterdir()] == ["table_9"]
    assert not (out / "printed.csv").exists()
    assert [f.name for f in tmp_path.iterdir()] == ["out"]


def test_somebody_elses_files_are_never_replaced(reproduce, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with raises(InputFileError, path=tmp_path / "out"):
        reproduce(GOOD, given=["--overwrite"])
    assert [f.name for f in (tmp_path / "out").iterdir()] == ["mine.txt"]

"""The engine on a study made up here: what is made, said, compared with print, written, and refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import InputFileError, SalstatsError
from salstats.studies import engine
from salstats.studies.engine import (
    Item,
    OpenedStudy,
    PrintedNumbers,
    PublishedStudy,
    Result,
    missing,
    rounded,
)

FRAME = pd.DataFrame({"task": ["a", "b"], "estimate": [0.1235, 0.5], "unit": "case", "interval": "t"})


def shown(frame, **more):
    """A result with a table and a figure."""
    table = ss.table_estimates(frame.assign(metric="iou", conf_low=0.0, conf_high=1.0), rows="task")
    figure = p9.ggplot(frame, p9.aes("task", "estimate")) + p9.geom_point()
    return Result(frame, table, figure, **more)


def lacking(_):
    raise SalstatsError("there is no score")


def broken(_):
    raise KeyError("model")


PRINTED = PrintedNumbers(
    lambda: FRAME.assign(estimate=[0.124, 0.5])[["task", "estimate"]], ("task",), ("estimate",)
)
GOOD = Item("table_1", "Table 1: means", lambda _: shown(FRAME, note="few cases"), printed=PRINTED)
LACKING = Item("table_2", "Table 2: slopes", lacking)
NEEDY = Item("table_3", "Table 3: maps", lambda _: shown(FRAME), needs=("maps",), parts=("people",))


@pytest.fixture
def reproduce(monkeypatch, tmp_path, capsys):
    """A function that runs a study of some items and returns its code, what it says, and its folder."""

    def reproduce(*items, available=(), given=()):
        declared = PublishedStudy("mine", "A paper", "About it", lambda parser: None,
                         lambda options: OpenedStudy(items, frozenset(available), dict))  # fmt: skip
        monkeypatch.setattr(engine, "study", lambda key: declared)
        code = engine.reproduce("mine", ["-o", str(tmp_path / "out"), *given])
        return code, capsys.readouterr(), tmp_path / "out"

    return reproduce


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
    many = pd.DataFrame({"task": [f"Task {i}" for i in range(120)], "metric": "iou", "estimate": 0.5})
    figure = ss.plot_intervals(many.assign(conf_low=0.4, conf_high=0.6))
    assert len(figure.pages) > 1
    code, _, out = reproduce(Item("figure_1", "Fig. 1: many", lambda _: Result(many, None, figure)))
    assert code == 0
    names = ["figure_1", *(f"figure_1-{i}" for i in range(2, len(figure.pages) + 1))]
    assert sorted(f.name for f in (out / "figures").iterdir()) == sorted(
        f"{name}{suffix}" for name in names for suffix in (".pdf", ".png")
    )
    listed = pd.read_csv(out / "outputs.csv")["file"]
    assert {f"figures/{name}.pdf" for name in names} < set(listed)


def test_printed_numbers_are_compared_to_the_printed_digit(reproduce):
    # 0.1235 is printed 0.124, half away from zero
    _, said, out = reproduce(GOOD)
    assert "2 of 2 printed rows are equal" in said.out
    assert pd.read_csv(out / "printed.csv")["equal"].all()


def test_a_printed_number_that_differs_is_named_and_the_exit_code_says_so(reproduce):
    other = Item("table_1", "Table 1: means", lambda _: shown(FRAME.assign(estimate=[0.1234, 0.5])),
                 printed=PRINTED)  # fmt: skip
    code, said, _ = reproduce(other)
    assert code == 1
    assert said.err == "Table 1, a: printed 0.124, but here 0.123\n"
    assert "1 of 2" in said.out


def test_a_printed_row_that_is_not_there_differs(reproduce):
    less = Item("table_1", "Table 1: means", lambda _: shown(FRAME.head(1)), printed=PRINTED)
    code, said, _ = reproduce(less)
    assert code == 1
    assert "Table 1, b: printed 0.500, but here NaN" in said.err


def test_a_metric_that_the_data_lack_is_not_compared():
    frame = pd.DataFrame({"metric": ["iou"], "task": ["a"], "estimate": [0.5]})
    rows = pd.DataFrame(
        {"metric": ["iou", "iou", "hit"], "task": ["a", "b", "a"], "estimate": [0.5, 0.4, 0.3]}
    )
    compared = PrintedNumbers(lambda: rows, ("metric", "task"), ("estimate",)).compare(frame)
    assert compared["key"].tolist() == ["iou, a", "iou, b"]
    assert compared["equal"].tolist() == [True, False]


def test_print_of_other_data_is_not_compared(reproduce):
    of_others = PrintedNumbers(PRINTED.rows, ("task",), ("estimate",), applies=lambda frame: False)
    code, said, out = reproduce(Item("t", "T", lambda _: shown(FRAME), printed=of_others))
    assert code == 0
    assert "printed" not in said.out
    assert not (out / "printed.csv").exists()


def test_a_number_that_is_made_otherwise_than_the_printed_one_is_shown_and_is_no_error(reproduce):
    otherwise = replace(PRINTED, exact=lambda frame: False, source="a preprint")
    item = Item("t", "Table 1: means", lambda _: shown(FRAME.assign(estimate=0.1)), printed=(otherwise,))
    code, said, out = reproduce(item)
    assert (code, said.err) == (0, "")
    assert "2 printed rows are of another choice or superseded, and differ" in said.out
    rows = pd.read_csv(out / "printed.csv")
    assert rows["item"].tolist() == ["Table 1 (a preprint)"] * 2
    assert not rows["equal"].any()


def test_the_frame_gets_the_printed_numbers_of_its_rows_and_where_they_were_printed(reproduce):
    # the article has a, the preprint both tasks with limits: no row mixes the two places
    article = PrintedNumbers(lambda: PRINTED.rows().head(1), ("task",), ("estimate",))
    low = PrintedNumbers(lambda: FRAME.assign(estimate=[0.13, 0.5], conf_low=[0.1, 0.2]), ("task",),
                  ("estimate", "conf_low"), source="a preprint")  # fmt: skip
    frame = FRAME.assign(conf_low=0.1).iloc[::-1].set_axis([7, 3])
    item = Item("t", "Table 1: means", lambda _: shown(frame), printed=(article, low))
    _, _, out = reproduce(item)
    written = pd.read_csv(out / "frames" / "t.csv")
    assert written["printed"].tolist() == [0.5, 0.124]
    assert written["printed_source"].tolist() == ["a preprint", "article"]
    np.testing.assert_array_equal(written["printed_low"], [0.2, np.nan])


def test_a_value_that_was_not_printed_is_not_compared(reproduce):
    rows = PRINTED.rows().assign(conf_low=[0.9, np.nan])
    printed = PrintedNumbers(lambda: rows, ("task",), ("estimate", "conf_low"))
    compared = printed.compare(FRAME.assign(conf_low=0.9))
    assert compared["printed"].tolist() == ["0.124, 0.900", "0.500"]
    assert compared["equal"].all()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0005, "0.001"), (-0.0005, "-0.001"), (0.5095, "0.510"), (0.50949999, "0.509"), (-0.1345, "-0.135")],
)
def test_rounding_is_half_away_from_zero(value, text):
    assert str(rounded(value, 3)) == text


def test_what_is_missing_is_said_by_need_before_anything_is_made(reproduce):
    (unmade,) = missing([GOOD, NEEDY, NEEDY], {"people"})
    assert str(unmade) == "Table 3; Table 3: not made, needs maps"
    (in_part,) = missing([NEEDY], {"maps"})
    assert str(in_part) == "Table 3: made in part, needs people"
    _, said, out = reproduce(NEEDY, GOOD)
    assert said.out.startswith("Table 3: not made, needs maps\n")
    assert not (out / "frames" / "table_3.csv").exists()
    assert "needs maps" in (out / "warnings.txt").read_text()


def test_a_result_that_the_data_do_not_allow_is_named_and_the_others_are_made(reproduce):
    code, said, out = reproduce(LACKING, GOOD)
    assert code == 0
    for text in (said.out, (out / "warnings.txt").read_text()):
        assert "Table 2: not made, there is no score" in text
    assert (out / "frames" / "table_1.csv").exists()


def test_where_nothing_can_be_made_the_reason_is_the_error_and_nothing_is_left(reproduce, tmp_path):
    with pytest.raises(SalstatsError, match="Table 2: not made, there is no score"):
        reproduce(LACKING)
    assert list(tmp_path.iterdir()) == []


def test_an_item_that_fails_costs_itself_alone_and_its_error_is_kept(reproduce):
    code, said, out = reproduce(Item("t", "Table 9: counts", broken), GOOD)
    assert code == 1
    assert said.err == "Table 9: failed, KeyError: 'model'\n"
    assert "Table 9: failed, KeyError: 'model'" in (out / "warnings.txt").read_text()
    assert "in broken" in (out / "errors.txt").read_text()
    assert (out / "frames" / "table_1.csv").exists()
    # what an earlier run wrote of a failure goes with it
    assert reproduce(GOOD, given=["--overwrite"])[0] == 0
    assert not (out / "errors.txt").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_figure_that_cannot_be_drawn_costs_itself_alone(reproduce, jobs):
    undrawn = p9.ggplot(FRAME, p9.aes("nobody", "estimate")) + p9.geom_point()
    items = [Item("figure_1", "Fig. 1: nobody", lambda _: replace(shown(FRAME), figure=undrawn)), GOOD]
    code, said, out = reproduce(*items, given=["--jobs", str(jobs)])
    assert code == 1
    assert said.err.startswith("Fig. 1, its figure: failed, ")
    assert sorted(f.name for f in (out / "figures").iterdir()) == ["table_1.pdf", "table_1.png"]
    listed = pd.read_csv(out / "outputs.csv")["file"]
    files = {f.relative_to(out).as_posix() for f in out.rglob("*") if f.is_file()}
    assert files - set(listed) == {"outputs.csv", "printed.csv", "warnings.txt", "errors.txt"}
    assert "tables/figure_1.html" in set(listed)


def test_where_every_item_fails_there_is_no_folder(reproduce, tmp_path):
    with pytest.raises(SalstatsError, match="T: failed, KeyError: 'model'") as caught:
        reproduce(Item("t", "T", broken))
    assert isinstance(caught.value.__cause__, KeyError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("given", "name"), [("--replicate=50", "--replicate"), ("--metricks", "--metricks")])
def test_an_option_that_is_not_there_is_an_error_that_lists_those_that_are(given, name):
    parser = engine.parser_of(engine.study("saliency_bench"), output=False)
    with raises(SalstatsError, option=name) as caught:
        parser.parse_args(["--digits", given, "60"])
    assert {"--metrics", "--replicates", "--rename"} <= set(caught.value.choices)


def test_an_output_that_exists_is_kept_unless_overwrite_is_asked_for(reproduce, tmp_path):
    _, _, out = reproduce(GOOD)
    first = (out / "outputs.csv").read_text()
    with raises(InputFileError, option="overwrite", path=tmp_path / "out"):
        reproduce(GOOD)
    assert (out / "outputs.csv").read_text() == first
    reproduce(LACKING, Item("table_9", "Table 9", lambda _: shown(FRAME)), given=["--overwrite"])
    assert [f.stem for f in (out / "frames").iterdir()] == ["table_9"]
    assert not (out / "printed.csv").exists()
    assert [f.name for f in tmp_path.iterdir()] == ["out"]


def test_somebody_elses_files_are_never_replaced(reproduce, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(SalstatsError, match=r"other files \(mine.txt\)"):
        reproduce(GOOD, given=["--overwrite"])
    assert [f.name for f in (tmp_path / "out").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("key", engine.KEYS)
def test_every_study_says_its_paper_and_its_options_and_has_its_keys_once(run, key):
    code, said, _ = run(key, "--help")
    assert code == 0
    for word in ("Example: salstats reproduce", "--as-published", "--output", engine.study(key).source[:10]):
        assert word in said
    if engine.study(key).open_scores is not None:
        assert f"Example: salstats reproduce {key} --scores scores.csv" in said


def test_the_studies_are_listed(run):
    code, said, _ = run("list")
    assert code == 0
    assert [line.partition(":")[0] for line in said.splitlines()] == list(engine.KEYS)
    code, _, error = run("saporta")
    assert code == 2
    assert "saporta2022" in error

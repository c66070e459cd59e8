"""The engine on a study made up here: what is made, said and compared with print."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import rich.progress
from made_up_items import FRAME, GOOD, LACKING, NEEDY, PRINTED, broken, shown
from tests_support import raises

from salstats.errors import SalstatsError, ValueRangeError
from salstats.studies import declarations
from salstats.studies.declarations import (
    ItemResult,
    OpenedStudy,
    PrintedNumbers,
    PublishedStudy,
    StudyItem,
)
from salstats.studies.engine import made_items_whose_needs_are_met, open_study, parser_of, unmet_need_messages


def test_printed_numbers_are_compared_to_the_printed_digit(reproduce):
    # 0.1235 is printed 0.124, half away from zero
    _, said, out = reproduce(GOOD)
    assert "2 of 2 printed rows are equal" in said.out
    assert pd.read_csv(out / "printed.csv")["equal"].all()


def test_a_printed_number_that_differs_is_named_and_the_exit_code_says_so(reproduce):
    other = StudyItem("table_1", "Table 1: means", lambda _: shown(FRAME.assign(estimate=[0.1234, 0.5])),
                 printed=PRINTED)  # fmt: skip
    code, said, _ = reproduce(other)
    assert code == 1
    assert said.err == "Table 1, a: printed 0.124, but here 0.123\n"
    assert "1 of 2" in said.out


def test_a_printed_row_that_is_not_there_differs(reproduce):
    less = StudyItem("table_1", "Table 1: means", lambda _: shown(FRAME.head(1)), printed=PRINTED)
    code, said, _ = reproduce(less)
    assert code == 1
    assert "Table 1, b: printed 0.500, but here NaN" in said.err


def test_print_of_other_data_is_not_compared(reproduce):
    of_others = PrintedNumbers(PRINTED.rows, ("task",), ("estimate",), applies=lambda frame: False)
    code, said, out = reproduce(StudyItem("t", "T", lambda _: shown(FRAME), printed=of_others))
    assert code == 0
    assert "printed" not in said.out
    assert not (out / "printed.csv").exists()
    assert "printed" not in pd.read_csv(out / "frames" / "t.csv")


def test_a_number_that_is_made_otherwise_than_the_printed_one_is_shown_and_is_no_error(reproduce):
    otherwise = replace(PRINTED, exact=lambda frame: False, source="a preprint")
    item = StudyItem("t", "Table 1: means", lambda _: shown(FRAME.assign(estimate=0.1)), printed=(otherwise,))
    code, said, out = reproduce(item)
    assert (code, said.err) == (0, "")
    assert "2 printed rows differ" in said.out
    rows = pd.read_csv(out / "printed.csv")
    assert rows["item"].tolist() == ["Table 1 (a preprint)"] * 2
    assert not rows["equal"].any()


def test_the_frame_gets_the_printed_numbers_of_its_rows_and_where_they_were_printed(reproduce):
    # the article has a, the preprint both tasks with limits: no row mixes the two places
    article = PrintedNumbers(lambda: PRINTED.rows().head(1), ("task",), ("estimate",))
    low = PrintedNumbers(lambda: FRAME.assign(estimate=[0.13, 0.5], conf_low=[0.1, 0.2]), ("task",),
                  ("estimate", "conf_low"), source="a preprint")  # fmt: skip
    frame = FRAME.assign(conf_low=0.1).iloc[::-1].set_axis([7, 3])
    item = StudyItem("t", "Table 1: means", lambda _: shown(frame), printed=(article, low))
    _, _, out = reproduce(item)
    written = pd.read_csv(out / "frames" / "t.csv")
    assert written["printed"].tolist() == [0.5, 0.124]
    assert written["printed_source"].tolist() == ["a preprint", "article"]
    np.testing.assert_array_equal(written["printed_low"], [0.2, np.nan])


def test_what_is_missing_is_said_by_need_before_anything_is_made(reproduce):
    (unmade,) = unmet_need_messages([GOOD, NEEDY, NEEDY], {"people"})
    assert str(unmade) == "Table 3; Table 3: not made, needs maps"
    (in_part,) = unmet_need_messages([NEEDY], {"maps"})
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


def test_an_item_that_fails_costs_itself_alone_and_its_error_is_kept(reproduce):
    code, said, out = reproduce(StudyItem("t", "Table 9: counts", broken), GOOD)
    assert code == 1
    assert said.err == "Table 9: failed, KeyError: 'model'\n"
    assert "Table 9: failed, KeyError: 'model'" in (out / "warnings.txt").read_text()
    assert "in broken" in (out / "errors.txt").read_text()
    assert (out / "frames" / "table_1.csv").exists()
    # what an earlier run wrote of a failure goes with it
    assert reproduce(GOOD, given=["--overwrite"])[0] == 0
    assert not (out / "errors.txt").exists()


@pytest.mark.parametrize("key", declarations.KEYS)
def test_every_study_says_its_paper_and_its_options_and_has_its_keys_once(run, key):
    code, said, _ = run(key, "--help")
    assert code == 0
    for word in (
        "Example: salstats reproduce",
        "--as-published",
        "--output",
        declarations.declaration_of(key).source[:10],
    ):
        assert word in said
    if declarations.declaration_of(key).open_scores is not None:
        assert f"Example: salstats reproduce {key} --scores scores.csv" in said


@pytest.mark.parametrize(
    ("option", "value"), [("decimal", ","), ("sep", ";"), ("scale", "0"), ("features", "f.csv")]
)
def test_an_option_of_tables_of_scores_without_any_is_an_error(tmp_path, option, value):
    declaration = declarations.declaration_of("saporta2022")
    options = parser_of(declaration).parse_args(["--data", str(tmp_path), f"--{option}", value])
    with raises(SalstatsError, option=option):
        open_study(declaration, options)


@pytest.mark.parametrize("jobs", [0, -2])
def test_processes_are_some_or_one_for_each_core(jobs):
    declaration = declarations.declaration_of("mrxai2025")
    for allowed in (-1, 1, 2):
        assert open_study(
            declaration, parser_of(declaration).parse_args(["--simulations", f"--jobs={allowed}"])
        )
    with raises(ValueRangeError, option="jobs", value=jobs):
        open_study(declaration, parser_of(declaration).parse_args(["--simulations", f"--jobs={jobs}"]))


def test_scores_and_data_to_be_scored_are_not_given_together(tmp_path):
    declaration = declarations.declaration_of("saporta2022")
    given = ["--data", str(tmp_path), "--scores", "scores.csv"]
    with raises(SalstatsError, option="data"):
        open_study(declaration, parser_of(declaration).parse_args(given))


def test_a_study_gets_its_scores_or_opens_the_data_that_its_options_name():
    scores = FRAME.drop(columns="estimate").assign(case="c", method="m", metric="iou", score=[0.1, 0.5])
    items = {"data": OpenedStudy((GOOD,), frozenset(), dict), "scores": OpenedStudy((), frozenset(), dict)}
    declaration = PublishedStudy(
        "mine", "A paper", "About it", lambda parser: None, lambda options: items["data"]
    )
    with_scores = replace(declaration, open_scores=lambda frame, options: (items["scores"], frame))
    options = parser_of(declaration).parse_args([])
    assert "scores" not in options
    assert open_study(declaration, options) is items["data"]
    options = parser_of(with_scores).parse_args([])
    assert open_study(with_scores, options) is items["data"]
    options.scores = [scores]
    opened, frame = open_study(with_scores, options)
    assert opened is items["scores"]
    assert frame["score"].tolist() == [0.1, 0.5]


def test_options_of_a_folder_are_those_of_a_run_that_writes_one():
    declaration = declarations.declaration_of("mrxai2025")
    written = parser_of(declaration)
    assert set(written.options) - set(parser_of(declaration, output=False).options) == {"output", "overwrite"}
    options = written.parse_args([])
    assert str(options.output) == "salstats-mrxai2025"
    assert (options.overwrite, options.as_published, options.jobs) == (False, False, 1)
    assert (options.scores, options.features, options.rename, options.score) == (None, [], [], [])
    with raises(SalstatsError, option="--simulation"):
        written.parse_args(["--simulation"])


def test_an_item_has_the_title_and_the_slice_of_its_result_or_else_its_own():
    plain = StudyItem("t", "Table 1: means", lambda _: ItemResult(FRAME), slice="all")
    named = replace(plain, make=lambda _: ItemResult(FRAME, title="Means", slice="some"))
    nothing = replace(plain, make=lambda _: None)
    made = [result for _, result in made_items_whose_needs_are_met([plain, nothing, named], (), None)]
    assert [(result.title, result.slice) for result in made] == [("Table 1: means", "all"), ("Means", "some")]


def test_each_unmet_need_of_an_item_is_named():
    both = replace(NEEDY, needs=("maps", "points"))
    (message,) = unmet_need_messages([both], set())
    assert str(message) == "Table 3: not made, needs maps and points"
    assert [str(unmet) for unmet in unmet_need_messages([both], {"maps"})] == [
        "Table 3: not made, needs points"
    ]


def test_the_studies_are_listed(run):
    code, said, _ = run("list")
    assert code == 0
    assert [line.partition(":")[0] for line in said.splitlines()] == list(declarations.KEYS)
    code, _, error = run("saporta")
    assert code == 2
    assert "saporta2022" in error


def test_a_terminal_has_a_bar_for_each_part_of_a_run(reproduce, monkeypatch):
    counts = {}

    class Bar(rich.progress.Progress):
        def stop(self):
            super().stop()
            counts.update({task.description: (task.completed, task.total) for task in self.tasks})

    monkeypatch.setattr(rich.progress, "Progress", Bar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert reproduce(GOOD, replace(GOOD, key="table_9"))[0] == 0
    assert list(counts) == ["Reading", "Computing", "Tables", "Writing"]
    assert counts["Tables"] == (2, 2)


def test_there_are_no_bars_outside_of_a_terminal(reproduce):
    assert reproduce(GOOD)[1].err == ""

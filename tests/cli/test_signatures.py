"""Options of a command are those of its function."""

import inspect
from collections.abc import Mapping, Sequence

import pandas as pd
import pytest
from command_line import study

import salstats as ss
from salstats.cli.app import run
from salstats.cli.signatures import RARE, argument, keyword_arguments, options_of


def test_the_default_grouping_is_of_the_columns_that_are_there(capsys, folder):
    study().query("task == 'NA'").drop(columns="task").to_csv("one.csv", index=False)
    for file, expected in (("scores.csv", ["metric", "method", "task"]), ("one.csv", ["metric", "method"])):
        assert run(["describe", file, "-o", f"{file}.parquet"]) == 0
        columns = ss.read_data(f"{file}.parquet").columns.tolist()
        assert [c for c in columns if c in ("case", "metric", "method", "task", "patient")] == expected


@pytest.mark.parametrize(
    ("said", "meant"),
    [("0.2", 0.2), ("-0.3:", (-0.3, None)), ("iou=:0.4", {"iou": (None, 0.4)})],
)
def test_margins_and_all_pairs_are_asked_for_as_in_python(folder, said, meant):
    scores = ss.read_scores("scores.csv")
    arguments = ["--reference", "all", "--by", "metric", "--margin", said, "-o", "out.csv"]
    assert run(["difference", "scores.csv", *arguments]) == 0
    expected = ss.difference(scores, reference="all", by="metric", margin=meant)
    got = pd.read_csv("out.csv")
    pd.testing.assert_frame_equal(got, expected, check_dtype=False)
    assert got["margin_low"].notna().all()


def sample_function(
    data,
    *,
    by: Sequence[str] | None = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 1000,
    paired: bool = True,
    overwrite: bool = False,
    columns: Mapping[str, str] | None = None,
    kind: str = "mean",
    draws: object = None,
):
    """Do something.

    Parameters
    ----------
    level : float
        Confidence level. A second sentence.
    kind : {"mean", "median"}
        Statistic.
    """


def options_by_name(**settings):
    return {option.name: option for option in options_of(sample_function, texts={}, **settings)}


def test_flags_are_words_of_the_parameters_and_arrays_are_for_python_only():
    options = options_by_name()
    assert {name: option.flag for name, option in options.items()} == {
        "by": "--by",
        "interval": "--interval",
        "level": "--level",
        "n_replicates": "--replicates",
        "paired": "--paired",
        "overwrite": "--overwrite",
        "columns": "--columns",
        "kind": "--kind",
    }


def test_help_is_the_first_sentence_with_the_choices_of_the_type():
    options = options_by_name()
    assert options["level"].typer_info.help == "Confidence level."
    assert options["kind"].typer_info.help == "Statistic. One of mean, median."


def test_rare_options_stand_below_a_heading_of_their_own():
    options = options_by_name(main_parameters=("by", "level"))
    assert options["by"].typer_info.rich_help_panel is None
    assert options["interval"].typer_info.rich_help_panel == RARE


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ({"by": ["method,task"]}, {"by": ["method", "task"]}),
        ({"by": ["none"]}, {"by": ()}),
        ({"level": "0.9", "replicates": "50"}, {"level": 0.9, "n_replicates": 50}),
        ({"columns": ["iou=human:iou"]}, {"columns": {"iou": ("human", "iou")}}),
        ({"interval": "none"}, {}),
        ({"paired": False}, {"paired": False}),
    ],
)
def test_what_is_typed_becomes_keyword_arguments(typed, expected):
    options = options_by_name()
    texts = {option.parameter.name: None for option in options.values()} | typed
    assert keyword_arguments(options.values(), texts) == expected


def test_none_is_passed_on_where_it_is_not_the_default():
    def function(data, *, size: float | None = 1.0):
        """Measure."""

    [option] = options_of(function, texts={})
    assert keyword_arguments([option], {"size": "none"}) == {"size": None}


def test_two_switches_turn_an_option_on_and_off():
    # typer reads the first flag of an annotated option as its default
    assert options_by_name()["paired"].typer_info.default == "--paired/--no-paired"
    assert options_by_name()["overwrite"].typer_info.default == "--overwrite"
    of_all = options_by_name(add_off_switches=True)
    assert of_all["overwrite"].typer_info.default == "--overwrite/--no-overwrite"


def test_an_argument_has_its_help_and_may_be_left_out_where_none_is_of_its_type():
    several = argument("files", "FILE...", list[str] | None, "Files of scores.")
    assert several.typer_info.metavar == "FILE"
    assert several.typer_info.help == "Files of scores."
    assert several.parameter.default is None
    assert argument("x", "X", str, "Column.").parameter.default is inspect.Parameter.empty

"""Options of a command are those of its function."""

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest
from command_line import study

import salstats as ss
from salstats.cli.app import run
from salstats.cli.signatures import RARE, argument, keyword_arguments, keyword_options_of, option


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
    return {option.name: option for option in keyword_options_of(sample_function, texts={}, **settings)}


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

    [option] = keyword_options_of(function, texts={})
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


def function_of_many_types(
    data,
    *,
    reference: str,
    metrics: Sequence[str] | None = ("iou", "hit"),
    grid: Sequence[float] | None = None,
    sizes: Sequence[int] = (1, 2),
    ends: Iterable[float] | None = None,
    frame: pd.DataFrame | None = None,
    columns: Sequence[str] | None = None,
    spacing: float | tuple[float, float] | None = None,
    width: float | str = 89,
    folder: Path | None = None,
    padded: bool | None = None,
):
    """Do something."""


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ({"reference": "human"}, {"reference": "human"}),
        ({"metrics": ["iou,hit"]}, {"metrics": ["iou", "hit"]}),
        ({"grid": ["0.1,0.2"]}, {"grid": [0.1, 0.2]}),
        ({"sizes": ["3", "4"]}, {"sizes": [3, 4]}),
        ({"ends": ["0.5,1"]}, {"ends": [0.5, 1.0]}),
        ({"frame": Path("a.csv")}, {"frame": Path("a.csv")}),
        # names of columns, not a mapping from columns to scores
        ({"columns": ["iou=human:iou,b"]}, {"columns": ["iou=human:iou", "b"]}),
        ({"spacing": "0.5x0.7"}, {"spacing": (0.5, 0.7)}),
        ({"width": "double"}, {"width": "double"}),
        ({"width": "120"}, {"width": 120.0}),
        ({"folder": Path("a")}, {"folder": Path("a")}),
        ({"padded": False}, {"padded": False}),
        ({"reference": "None"}, {"reference": "None"}),
    ],
)
def test_the_type_of_a_parameter_says_how_its_text_is_read(typed, expected):
    options = keyword_options_of(function_of_many_types, texts={})
    texts = {option.parameter.name: None for option in options} | typed
    assert keyword_arguments(options, texts) == expected


def test_help_says_what_is_required_and_what_a_list_is_by_default():
    options = {option.name: option for option in keyword_options_of(function_of_many_types, texts={})}
    reference = options["reference"]
    assert reference.typer_info.help.endswith("(required)")
    assert reference.parameter.default == ""
    assert reference.typer_info.show_default is False
    assert options["metrics"].typer_info.help.endswith("(default: iou,hit)")
    assert options["metrics"].typer_info.param_decls == ("--metric",)
    assert options["metrics"].parameter.default is None
    assert options["width"].parameter.default == 89
    assert options["spacing"].typer_info.help.endswith("Example: 0.5 or 0.5x0.7.")
    assert options["spacing"].typer_info.metavar == "VALUE"
    assert options_by_name()["columns"].typer_info.metavar == "NAME=VALUE"
    assert options["padded"].parameter.annotation.__origin__ == bool | None
    assert options["frame"].parameter.annotation.__origin__ == Path | None
    # options of one of several kinds have no default of their own
    of_kind = {
        option.name: option for option in keyword_options_of(function_of_many_types, texts={}, panel="Kind")
    }
    assert of_kind["width"].parameter.default is None
    assert "default" not in of_kind["metrics"].typer_info.help
    assert of_kind["width"].typer_info.rich_help_panel == "Kind"


def test_choices_of_a_record_of_the_package_are_in_the_help():
    options = {option.name: option for option in keyword_options_of(ss.score, texts={"metrics": "Metrics."})}
    scored = sys.modules[ss.score.__module__].SCORED_METRICS
    assert options["metrics"].typer_info.help.startswith(f"Metrics. One of {', '.join(scored)}.")
    [adjust] = [option for option in keyword_options_of(ss.difference, texts={}) if option.name == "adjust"]
    assert "holm" in adjust.typer_info.help


def test_an_option_that_the_function_lacks_is_read_by_its_type():
    count = option("n_units", int | None, None, "Number.")
    assert (count.flag, count.typer_info.metavar) == ("--n-units", "<int>")
    assert [count.convert(text) for text in ("3", None)] == [3, None]
    share = option("share", float, 0.5, "Share.", "-s", "--part", panel=RARE)
    assert (share.flag, share.convert("0.25"), share.parameter.default) == ("--part", 0.25, 0.5)
    assert share.typer_info.rich_help_panel == RARE
    names = option("names", list[str] | None, None, "Names.")
    assert (names.typer_info.metavar, names.convert(["a"])) == ("A,B,...", ["a"])
    assert option("file", Path | None, None, "File.").typer_info.metavar is None

"""Messages of the library in a terminal."""

import pytest

from salstats.cli.flag_spelling import FlagSpelling
from salstats.errors import Advice, Call, Message, Setting

FLAGS = {
    "interval": "--interval",
    "overwrite": "--overwrite",
    "padded": "--padded/--no-padded",
    "n_replicates": "--replicates",
    "columns": "--score",
    "by": "--by",
}


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (Setting("interval", "t"), "--interval t"),
        (Setting("interval"), "--interval"),
        (Setting("interval", None), "--interval none"),
        (Setting("overwrite", True), "--overwrite"),
        (Setting("overwrite", False), "no --overwrite"),
        (Setting("padded", False), "--no-padded"),
        (Setting("n_replicates", 1000), "--replicates 1000"),
        (Setting("columns", {"a b": ("gradcam", "iou")}), "--score 'a b=gradcam:iou'"),
        (Setting("columns", {"iou": (None, "iou")}), "--score iou=:iou"),
        (Setting("columns", {"iou": "gradcam", "hit": "human"}), "--score iou=gradcam --score hit=human"),
        (Setting("padded", True), "--padded"),
        (Setting("by", ["method", "task"]), "--by method,task"),
        (Setting("by", ()), "--by none"),
        (Setting("draws", 3), "draws=3"),
    ],
)
def test_an_option_is_written_as_the_flag_of_the_command(setting, expected):
    assert Message(setting).spelled(FlagSpelling(FLAGS)) == expected


def test_a_call_is_written_as_a_command_with_its_own_flags():
    call = Call("summarize", ("scores",), {"n_replicates": 500})
    assert Message(call).spelled(FlagSpelling({})) == "salstats summarize FILE --replicates 500"


@pytest.mark.parametrize(
    ("function", "flags", "expected"),
    [
        ("study_from_arrays", {}, "the Python function study_from_arrays"),
        ("missing_bounds", {"bounds": "--bounds"}, "--bounds"),
        ("missing_bounds", {}, "the Python function missing_bounds"),
        ("plot_forest", {}, "salstats plot FILE --as forest"),
        ("table_regression", {}, "salstats table FILE --as regression"),
        ("plot_gaze", {}, "the Python function plot_gaze"),
    ],
)
def test_a_function_without_a_command_is_written_as_what_the_terminal_has(function, flags, expected):
    assert Message(Call(function, ("data",))).spelled(FlagSpelling(flags)) == expected


def test_advice_with_an_expression_is_written_in_words():
    advice = Advice(python="data[data['score'] > 0]", words="keep the scores above 0")
    assert Message(advice).spelled(FlagSpelling({})) == "keep the scores above 0"
    assert str(Message(advice)) == "data[data['score'] > 0]"

"""Errors and warnings carry their facts; each place writes them in its own words."""

import pickle
import warnings

import pandas as pd
import pytest

from salstats.errors import (
    Advice,
    Call,
    ColumnError,
    ColumnName,
    ColumnValue,
    InputFileError,
    Message,
    SalstatsError,
    SalstatsWarning,
    Setting,
    Spelling,
    ValueRangeError,
    first_warning_by_subject,
    needed_for,
    warn,
)
from salstats.frames import check_scores


class Upper(Spelling):
    """Write settings and values of columns in capitals."""

    def setting(self, setting):
        return super().setting(setting).upper()

    def column_value(self, column_value):
        return super().column_value(column_value).upper()


def test_a_message_is_spelled_where_it_is_shown():
    message = Message(
        "pass ", Setting("by", ["task"]), " for ", ColumnValue("metric", "iou"), " of ", ColumnName("age")
    )
    assert str(message) == "pass by=['task'] for metric iou of age"
    assert message.spelled(Upper()) == "pass BY=['TASK'] for METRIC IOU of age"
    assert str("see " + message + "!") == f"see {message}!"


def test_a_call_is_written_with_its_options():
    call = Call("adjust", ("frame",), {"method": "holm"})
    assert str(Message(call)) == "adjust(frame, method='holm')"


def test_option_and_value_are_those_that_the_problem_names_first():
    error = ValueRangeError(Setting("level", 2), " is too large", hint="take 0.95", choices=["0.9", "0.95"])
    assert (error.option, error.value, error.choices) == ("level", 2, ("0.9", "0.95"))
    assert str(error.hint) == "take 0.95"
    assert str(error) == "level=2 is too large; take 0.95"


def test_an_error_of_another_process_keeps_its_fields():
    error = InputFileError("no such file", hint=Message("see ", Setting("path")), path="a.csv", rows=[3])
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert str(copy.hint) == "see path"
    assert (copy.path, copy.rows) == (error.path, (3,))


def test_of_several_warnings_about_one_subject_the_first_is_shown():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn("two scales", subject="iou", rows=[1])
        warn("still two scales", subject="iou")
        warn(FutureWarning("of another kind"))
    assert list(first_warning_by_subject(caught)) == ["iou"]
    assert first_warning_by_subject(caught)["iou"].rows == (1,)


def test_a_warning_is_raised_at_the_line_that_called_the_package():
    with pytest.warns(SalstatsWarning) as caught:
        warn("here")
    assert caught[0].filename == __file__
    scores = pd.DataFrame({"case": ["a", "b"], "method": "cam", "metric": "iou", "score": [0.5, 7.0]})
    with pytest.warns(SalstatsWarning) as caught:
        check_scores(scores)
    assert caught[0].filename == __file__


def test_a_value_that_is_given_stands_before_that_of_the_problem():
    error = ValueRangeError(Setting("steps"), " must be a whole number, not 0.5", value=0.5)
    assert (error.option, error.value) == ("steps", 0.5)


def test_a_prefix_leaves_the_fields_of_an_error():
    error = ColumnError(
        "column 'age' is text", hint=Message("drop it from ", Setting("by")), column="age", rows=[3]
    )
    prefixed = error.prefixed("case 7: ")
    assert type(prefixed) is ColumnError
    assert (prefixed.column, prefixed.rows, str(prefixed.hint)) == ("age", (3,), "drop it from by")
    assert str(prefixed) == "case 7: column 'age' is text; drop it from by"
    with_row = error.prefixed("case 7: ", rows=[4], value="x")
    assert (with_row.column, with_row.rows, with_row.value) == ("age", (4,), "x")
    assert (prefixed.option, prefixed.value, with_row.prefixed("file: ").value) == (None, None, "x")
    # an error without an option of its own gets that of the parts before it
    with_option = error.prefixed(Setting("by", "age"), ": ")
    assert (with_option.option, with_option.value) == ("by", "age")


def test_members_are_joined_by_a_separator_with_their_options():
    joined = Message.joined(["a", Message("pass ", Setting("by")), "c"], "; ")
    assert joined.spelled(Upper()) == "a; pass BY; c"
    assert not Message.joined([], "; ")


def test_advice_is_an_expression_in_python():
    advice = Advice(python="scores.dropna()", words="leave out the rows without a score")
    assert str(Message("with ", advice)) == "with scores.dropna()"


@pytest.mark.parametrize(("module", "package"), [("cv2.dnn", "opencv-python-headless"), ("torch", "torch")])
def test_a_package_that_is_missing_is_named_as_pip_knows_it(module, package):
    with (
        pytest.raises(SalstatsError, match=f"^maps needs the package {package}, ") as caught,
        needed_for("maps"),
    ):
        raise ModuleNotFoundError("no such module", name=module)
    assert str(caught.value.hint) == f"pip install {package} installs it"


def test_a_warning_that_is_made_already_is_raised_as_it_is():
    made = ResourceWarning("few")
    with pytest.warns(ResourceWarning) as caught:
        warn(made)
    assert caught[0].message is made
    assert caught[0].filename == __file__

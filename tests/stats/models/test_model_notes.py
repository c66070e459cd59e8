"""Problems of fitted models are warned about once for each kind."""

import warnings

from tests_support import warns

import salstats as ss
from salstats.errors import ColumnName, ColumnValue, Message, Setting
from salstats.stats.engine.result_warnings import RepeatedUnitsWarning
from salstats.stats.models.model_notes import Notes, column_or_text


def test_a_warning_names_the_problem_then_its_models_then_the_hint():
    notes = Notes()
    notes.add(Message("few rows with ", Setting("errors", "cr0")), "y ~ x", hint="add rows")
    with warns(option="errors", value="cr0", hint="add rows") as caught:
        notes.warn()
    assert str(caught[0].message) == "few rows with errors='cr0' in 1 model: y ~ x; add rows"


def test_columns_and_groups_of_models_are_parts_that_a_report_labels(drawn_table):
    rows = drawn_table.drop(columns=["case", "patient"])
    with warns() as caught:
        ss.fit(rows.assign(double=2 * rows["prob"]), "iou ~ prob + double", by="task")
    parts = caught[0].message.message.parts
    assert parts.count(ColumnName("double")) == 5
    tasks = [part.value for part in parts if isinstance(part, ColumnValue)]
    assert len(set(tasks)) == 5
    assert set(tasks) <= set(rows["task"])
    assert column_or_text("log(prob)", ["prob"]) == "log(prob)"


def test_five_models_are_named_and_the_others_counted():
    notes = Notes()
    for model in "abcdefg":
        notes.add("no estimates", model)
    with warns() as caught:
        notes.warn()
    assert str(caught[0].message) == "no estimates in 7 models: a; b; c; d; e; and 2 more"


def test_each_kind_of_problem_has_its_own_warning():
    notes = Notes()
    notes.add("no estimates", "a")
    notes.add("few clusters", "a")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        notes.warn()
    assert [str(warning.message) for warning in caught] == [
        "no estimates in 1 model: a",
        "few clusters in 1 model: a",
    ]


def test_a_kind_of_problem_may_have_a_class_of_its_own_which_copies_keep():
    notes = Notes()
    notes.add("rows taken as independent", "a", category=RepeatedUnitsWarning)
    with warns() as caught:
        notes.copy().warn()
    assert type(caught[0].message) is RepeatedUnitsWarning


def test_notes_added_to_a_copy_are_not_in_the_original():
    notes = Notes()
    notes.add("no estimates", "a")
    notes.copy().add("no estimates", "b")
    with warns(message="a") as caught:
        notes.warn()
    assert "b" not in caught[0].message.message.parts

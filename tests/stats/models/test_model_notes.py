"""Problems of fitted models are warned about once for each kind."""

import warnings

from tests_support import warns

from salstats.errors import Message, Setting
from salstats.stats.models.model_notes import Notes


def test_a_warning_names_the_problem_then_its_models_then_the_hint():
    notes = Notes()
    notes.add(Message("few rows with ", Setting("errors", "cr0")), "y ~ x", hint="add rows")
    with warns(option="errors", value="cr0", hint="add rows") as caught:
        notes.warn()
    assert str(caught[0].message) == "few rows with errors='cr0' in 1 model: y ~ x; add rows"


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


def test_notes_added_to_a_copy_are_not_in_the_original():
    notes = Notes()
    notes.add("no estimates", "a")
    notes.copy().add("no estimates", "b")
    with warns(match="1 model: a$"):
        notes.warn()

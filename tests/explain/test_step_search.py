"""The first step that suffices: both searches against the plain one, whatever room a batch has."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.step_search import Climb, Halve  # noqa: E402

ANSWERS = st.lists(st.booleans(), min_size=2, max_size=40)
ROOMS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def plain(enough):
    """The first step that suffices, one after the other."""
    return next((step for step, kept in enumerate(enough) if kept), None)


def searched(kind, enough, rooms):
    """The answer of a search, and the steps it asked about, with rooms that change from batch to batch."""
    search, asked = kind(len(enough) - 1, first=enough[0], last=enough[-1]), []
    while not search.done:
        room = rooms[len(asked) % len(rooms)]
        steps = search.ask(room)
        assert 1 <= len(steps) <= room
        assert all(0 < step < len(enough) - 1 for step in steps)
        assert (np.diff(steps) > 0).all()
        assert not set(steps) & set(asked), "a step is asked about twice"
        asked += steps.tolist()
        search.tell(steps, [enough[step] for step in steps])
    return search.answer, asked


@given(ANSWERS, ROOMS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_exact_search_is_the_plain_one_whatever_the_model_does(enough, rooms):
    answer, asked = searched(Climb, enough, rooms)
    assert answer == plain(enough)
    # none before the answer is left out, and not a batch more is asked
    before = range(1, len(enough) - 1 if answer is None else min(answer, len(enough) - 1))
    assert set(before) <= set(asked)
    assert len(asked) < len(before) + 1 + max(rooms)


@given(st.integers(1, 60), st.integers(0, 61), ROOMS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_bisection_is_the_plain_search_where_the_model_is_monotone(n_steps, turn, rooms):
    enough = [step >= turn for step in range(n_steps + 1)]
    answer, _ = searched(Halve, enough, rooms)
    assert answer == plain(enough)
    assert searched(Climb, enough, rooms)[0] == answer


@given(ANSWERS, ROOMS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_bisection_finds_a_step_that_suffices_after_one_that_does_not(enough, rooms):
    answer, _ = searched(Halve, enough, rooms)
    if enough[0]:
        assert answer == 0
    elif not enough[-1]:
        assert answer is None
    else:
        assert enough[answer]
        assert not enough[answer - 1]


def test_bisection_asks_as_often_as_a_logarithm():
    for turn in range(1, 1025):
        _, asked = searched(Halve, [step >= turn for step in range(1025)], [1])
        assert len(asked) == 10

import numpy as np
import pytest

from salstats.display.plots.label_places import apart


def test_places_that_are_far_apart_stay():
    assert apart(np.array([3.0, 1.0]), np.full(2, 1.0), 0.0, 4.0).tolist() == [3.0, 1.0]


def test_close_places_move_evenly_to_both_sides():
    assert apart(np.array([2.0, 2.2]), np.full(2, 1.0), 0.0, 4.0) == pytest.approx([1.6, 2.6])


def test_higher_labels_take_more_room():
    places = apart(np.array([5.0, 5.0, 5.0]), np.array([1.0, 3.0, 1.0]), 0.0, 10.0)
    assert np.diff(places) == pytest.approx([2.0, 2.0])


def test_labels_end_within_the_panel():
    sizes = np.array([2.0, 1.0, 1.0])
    places = apart(np.array([0.0, 0.0, 9.9]), sizes, 0.0, 10.0)
    assert (places - sizes / 2 >= -1e-12).all()
    assert (places + sizes / 2 <= 10 + 1e-12).all()


def test_labels_that_do_not_fit_share_the_room():
    places = apart(np.zeros(5), np.full(5, 1.0), 0.0, 2.0)
    assert places == pytest.approx([0.2, 0.6, 1.0, 1.4, 1.8])


def test_one_label_stays_inside():
    assert apart(np.array([9.0]), np.array([1.0]), 0.0, 5.0) == pytest.approx([4.5])

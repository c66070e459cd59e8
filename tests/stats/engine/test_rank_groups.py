"""Groups of methods that tests do not tell apart: neighbours in rank, as large as possible."""

from itertools import permutations

import pandas as pd

from salstats.stats.engine.rank_groups import rank_groups


def groups_of(n, *different):
    """Groups of `n` methods of which the given pairs differ, the first one being better."""
    tests = [(method, other, (method, other) in different) for method, other in permutations(range(n), 2)]
    return rank_groups(pd.DataFrame(tests, columns=["method", "reference", "better"]), range(n))


def test_methods_of_which_none_differ_are_one_group_and_of_which_all_do_are_none():
    assert groups_of(4).groups == [(0, 3)]
    assert groups_of(3, (0, 1), (0, 2), (1, 2)) == ([], [])


def test_groups_overlap_and_none_lies_within_another():
    # 0 differs from 3 and 4, 1 from 4
    assert groups_of(5, (0, 3), (0, 4), (1, 4)).groups == [(0, 2), (1, 3), (2, 4)]


def test_a_method_that_differs_from_a_neighbour_parts_pairs_that_do_not_differ():
    # 0 and 2 do not differ, but 1, between them, differs from 0
    assert groups_of(3, (0, 1)) == ([(1, 2)], [(0, 2)])


def test_a_difference_counts_whichever_of_the_two_ranks_first():
    assert groups_of(2, (1, 0)).groups == []


def test_methods_without_a_test_are_in_no_group():
    tests = pd.DataFrame({"method": ["a"], "reference": ["b"], "better": [False]})
    assert rank_groups(tests, ["a", "b", "c"]) == ([(0, 1)], [])

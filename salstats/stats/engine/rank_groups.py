"""Groups of methods that pairwise tests do not tell apart, as critical-difference diagrams join them."""

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd


class RankGroups(NamedTuple):
    """Methods that tests do not tell apart, by their positions in the order of ranks.

    Attributes
    ----------
    groups : list of tuple
        First and last position of each group of neighbours of which no two differ, as large as possible.
    unjoined_pairs : list of tuple
        Pairs that do not differ but share no group, because a method between them differs from one of them.
    """

    groups: list[tuple[int, int]]
    unjoined_pairs: list[tuple[int, int]]


def rank_groups(tests: pd.DataFrame, order: Sequence[Hashable]) -> RankGroups:
    """Return the groups of methods of which no two differ.

    Parameters
    ----------
    tests : DataFrame
        Tests of ordered pairs of methods: `method`, `reference` and `better`, whether the method is
        significantly better. Methods whose pair is not among the tests count as different.
    order : sequence
        The methods in the order of their ranks.

    References
    ----------
    Demšar J. Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
    Research 7 (2006), 1-30.
    """
    position = {method: index for index, method in enumerate(order)}
    n_methods = len(order)
    is_tested = np.zeros((n_methods, n_methods), dtype=bool)
    differs = np.zeros((n_methods, n_methods), dtype=bool)
    for method, reference, better in zip(tests["method"], tests["reference"], tests["better"], strict=True):
        # a pair differs if the test of either direction is significant
        pair = sorted((position[method], position[reference]))
        is_tested[pair[0], pair[1]] = True
        differs[pair[0], pair[1]] |= bool(better)
    is_alike = is_tested & ~differs
    groups: list[tuple[int, int]] = []
    for first in range(n_methods):
        last = first
        while last + 1 < n_methods and is_alike[first : last + 1, last + 1].all():
            last += 1
        is_in_previous_group = bool(groups) and last <= groups[-1][1]
        if last > first and not is_in_previous_group:
            groups.append((first, last))
    unjoined_pairs = []
    for first, last in combinations(range(n_methods), 2):
        is_joined = any(start <= first and last <= end for start, end in groups)
        if is_alike[first, last] and not is_joined:
            unjoined_pairs.append((first, last))
    return RankGroups(groups, unjoined_pairs)

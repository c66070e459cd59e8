import numpy as np

from salstats.stats.models.family import estimable_columns


def test_estimable_columns_keeps_the_first_of_those_that_depend_on_each_other():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 20))
    one = np.ones(20)
    matrix = np.column_stack([one, 5 * one, a, a + 2, b, a - b, 1e-8 * c, c + 3 * a - 1])
    assert estimable_columns(matrix).tolist() == [0, 2, 4, 6]
    assert estimable_columns(matrix[:3]).tolist() == [0, 2, 4]
    assert estimable_columns(np.zeros((5, 2))).tolist() == []

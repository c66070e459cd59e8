"""Random draws and signs of units, in blocks and at once."""

import numpy as np
import pytest

from salstats.stats.engine import draws as module
from salstats.stats.engine.draws import (
    counts_of_drawn_units,
    draw_units,
    one_thread_if_small,
    sign_blocks,
    weight_blocks,
)


@pytest.fixture(params=["small blocks", "large blocks"])
def blocks(request, monkeypatch):
    """Blocks of few replicates, as large studies have them, and of many."""
    if request.param == "small blocks":
        monkeypatch.setattr(module, "_BLOCK_CELLS", 64)
        monkeypatch.setattr(module, "_BLOCK_ROWS", 2)
        monkeypatch.setattr(module, "_CACHE_CELLS", 40)


def test_counts_say_how_often_each_unit_was_drawn(blocks):
    drawn = np.random.default_rng(0).integers(0, 9, (50, 9))
    expected = [np.bincount(row, minlength=9) for row in drawn]
    np.testing.assert_array_equal(counts_of_drawn_units(drawn, 9), expected)


def test_draws_in_blocks_are_the_draws_at_once(blocks):
    at_once = draw_units(57, 9, np.random.default_rng(1))
    assert at_once.min() == 0
    assert at_once.max() == 8
    rows, weights = [], []
    for positions, block in weight_blocks(9, 57, np.random.default_rng(1)):
        rows.extend(range(57)[positions])
        # the next block overwrites the weights
        weights.append(block.copy())
    assert rows == list(range(57))
    np.testing.assert_array_equal(np.vstack(weights), counts_of_drawn_units(at_once, 9))


def test_draws_of_the_user_replace_random_ones(blocks):
    own = np.tile([0, 0, 2], (20, 1))
    weights = [block.copy() for _, block in weight_blocks(3, 20, np.random.default_rng(0), own)]
    np.testing.assert_array_equal(np.vstack(weights), np.tile([2, 0, 1], (20, 1)))


def test_blocks_are_smaller_where_the_caller_computes_many_numbers(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_CELLS", 1000)
    sizes = [
        len(block)
        for numbers_per_replicate in (0, 500)
        for _, block in weight_blocks(10, 40, np.random.default_rng(0), None, numbers_per_replicate)
    ]
    assert sizes == [40] + [2] * 20


def test_signs_are_either_with_the_same_chance(blocks):
    signs = np.vstack(list(sign_blocks(500, 40, np.random.default_rng(2))))
    assert signs.shape == (500, 40)
    assert set(np.unique(signs)) == {-1, 1}
    # four standard errors of a mean of 20,000 signs
    assert abs(signs.mean()) < 4 / np.sqrt(signs.size)


def test_products_that_take_little_time_use_one_thread(monkeypatch):
    monkeypatch.setattr(module, "one_blas_thread", lambda: "one thread")
    # blocks of 131 replicates: 131 * 1000 * 3800 multiplications are below 500 million
    assert one_thread_if_small(1000, 3800) == "one thread"
    assert one_thread_if_small(1000, 3850) != "one thread"

"""Splits: exact sizes, every class in its share, and nothing but names and seed to decide."""

from collections import Counter

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ValueRangeError
from salstats.readers.image_splits import PARTS, split_images


def labels_of(**sizes):
    return {f"{label}_{i}": label for label, n in sizes.items() for i in range(n)}


@pytest.mark.parametrize("n", [1, 2, 10, 13, 100, 999])
def test_sizes_are_those_of_the_benchmarks_rule(n):
    counted = Counter(split_images(labels_of(a=n)).values())
    # 70 and 15 hundredths in whole numbers
    train, validation = n * 70 // 100, n * 15 // 100
    assert [counted[p] for p in PARTS] == [train, validation, n - train - validation]


@pytest.mark.parametrize("seed", range(5))
def test_every_class_has_its_share_to_one_image(seed):
    sizes = {"a": 100, "b": 37, "c": 8, "d": 61}
    parts = split_images(labels_of(**sizes), rng=seed)
    n = sum(sizes.values())
    counted = Counter(parts.values())
    for label, size in sizes.items():
        own = Counter(part for name, part in parts.items() if name.startswith(label))
        # a border that cuts all classes at one place leaves each within one image of its share, on each side
        assert abs(own["train"] - size * counted["train"] / n) <= 1 + size / n
        assert abs(own["test"] - size * counted["test"] / n) <= 1 + size / n


def test_the_order_of_the_names_does_not_matter():
    labels = labels_of(a=30, b=20)
    turned = dict(reversed(labels.items()))
    assert split_images(labels) == split_images(turned)
    assert list(split_images(labels)) == sorted(labels)


def test_the_seed_decides_and_a_generator_serves():
    labels = labels_of(a=50)
    assert split_images(labels, rng=1) == split_images(labels, rng=np.random.default_rng(1))
    assert split_images(labels, rng=1) != split_images(labels, rng=2)


def test_every_image_can_come_into_every_part():
    seen = {(n, p) for seed in range(200) for n, p in split_images(labels_of(a=7, b=7), rng=seed).items()}
    assert len(seen) == 14 * 3


@pytest.mark.parametrize("shares", [(1, 0), (0.5, 0.5, 0.5), (1.2, -0.1, -0.1), (float("nan"), 0, 1)])
def test_shares_that_are_none_are_refused(shares):
    with raises(ValueRangeError, option="shares"):
        split_images(labels_of(a=3), shares=shares)

"""Records of metrics."""

from math import inf

from salstats.metrics.records import Metric


def kernel(mask, truth, *, width=2, undefined="nan"):
    return 0.0


def width_text(width):
    return f"width {width}"


def record(**fields):
    facts = {"name": "m", "label": "M", "low": 0, "high": 1, "direction": 1, "true_zero": True}
    return Metric(**{**facts, **fields})


def test_options_are_the_keywords_of_the_kernel_but_undefined():
    assert record(kernel=kernel).options == {"width": 2}
    assert record().options == {}


def test_options_in_words_have_the_defaults_that_are_not_given():
    described = record(kernel=kernel, words=width_text)
    assert described.options_text({}) == "width 2"
    assert described.options_text({"width": 3}) == "width 3"
    assert record(kernel=kernel).options_text({"width": 3}) is None


def test_a_metric_of_masks_needs_a_mask_counts_or_distances():
    assert [need for need in ("mask", "counts", "distances") if not record(needs=(need,)).compares_mask] == []
    assert not record(needs=("saliency", "runs")).compares_mask


def test_only_unbounded_distances_are_lengths():
    assert record(needs=("distances",), high=inf).is_length
    assert not record(needs=("distances",)).is_length
    assert not record(needs=("counts",), high=inf).is_length


def test_larger_is_better_where_the_direction_is_up():
    assert [record(direction=direction).larger_is_better for direction in (1, 0, -1)] == [True, False, False]


def test_lengths_have_one_decimal_in_print_and_scores_three():
    assert record(needs=("distances",), high=inf).digits == 1
    assert record().digits == 3

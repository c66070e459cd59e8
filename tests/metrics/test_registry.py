import re

import numpy as np
import pytest
from tests_support import raises

from salstats import metrics
from salstats.errors import ValueRangeError
from salstats.images.thresholds import THRESHOLDS
from salstats.metrics.records import NEEDS
from salstats.metrics.registry import (
    METRICS,
    checked_metrics,
    direction,
    may_have_meaningful_ratios,
    names_of_metrics_needing_only,
    registered_metric,
    threshold_label,
)

COMPUTED = [name for name, metric in METRICS.items() if metric.kernel is not None]


def test_names_of_the_contract_are_registered():
    contract = (
        "iou dice precision recall specificity hit hit_any energy hausdorff hd95 assd pdc ncc sncc auc sauc "
        "nss sim kl information_gain emd insertion deletion"
    )
    assert set(contract.split()) <= set(METRICS)


def test_a_metric_says_whose_definition_it_follows_and_what_it_needs_where_it_is_computed_here():
    for name, metric in METRICS.items():
        assert bool(metric.source) == bool(metric.needs) == (name in COMPUTED), name
        assert set(metric.needs) <= set(NEEDS), name


@pytest.mark.parametrize("name", COMPUTED)
def test_a_source_is_a_paper_with_its_doi_or_a_program(name):
    programs = r"medpy|CheXlocalize|Saliency-Bench|salstats:|CEUR-WS Vol-4059"
    assert re.search(rf"doi:10\.\d{{4,}}/\S+|{programs}", METRICS[name].source)


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_range_is_not_empty_and_a_true_zero_lies_at_one_end(name):
    metric = METRICS[name]
    assert metric.low < metric.high
    assert metric.direction in (1, -1)
    if metric.true_zero:
        assert metric.low == 0


def test_a_metric_is_a_function_on_arrays_of_the_package():
    assert metrics.iou(np.array([[1, 1, 0]]), np.array([[0, 1, 0]])) == 0.5
    assert metrics.boundary_iou(np.eye(3), np.eye(3)) == 1
    assert metrics.energy(np.array([[0.0, 3.0]]), np.array([[0, 1]])) == 1
    with pytest.raises(AttributeError, match="miou"):
        _ = metrics.miou


def test_options_are_those_of_the_kernel():
    assert dict(METRICS["hd95"].options) == {"rule": "directed"}
    assert set(METRICS["pdc"].options) == {"alpha", "beta", "form", "components"}
    assert not METRICS["iou"].options


def test_what_can_be_made_decides_what_can_be_computed():
    assert names_of_metrics_needing_only(["counts"])[:2] == ("iou", "dice")
    assert names_of_metrics_needing_only([]) == ()


def test_names_of_the_literature_lead_to_the_names_here():
    for name, here in [("Pointing Game", "hit"), ("jaccard", "iou"), ("DSC", "dice"), ("EBPG", "energy")]:
        value = name.lower()
        with raises(ValueRangeError, option="metrics", value=value, choices=tuple(COMPUTED)) as raised:
            checked_metrics(name, COMPUTED, "")
        assert repr(here) in str(raised.value.hint).split(";")[0], name
    with pytest.raises(ValueRangeError) as raised:
        checked_metrics("ssim", COMPUTED, "")
    assert str(raised.value.hint).startswith("ssim compares two pictures")


def test_metrics_are_chosen_once_each_in_any_case():
    assert checked_metrics("IoU", COMPUTED, "") == ("iou",)
    assert checked_metrics(["Dice", "iou", "dice"], COMPUTED, "") == ("dice", "iou")
    with raises(ValueRangeError, option="metrics", choices=("iou",)):
        checked_metrics([], ["iou"], "")


def test_a_metric_that_is_no_choice_is_told_from_an_unknown_one():
    # the caller's own reason
    with raises(ValueRangeError, value="dice", match="needs a mask"):
        checked_metrics(["dice"], ["iou"], "needs a mask")
    with raises(ValueRangeError, value="iuo") as raised:
        checked_metrics(["iuo"], ["iou"], "needs a mask")
    assert "needs a mask" not in str(raised.value)
    assert str(raised.value.hint).startswith("did you mean 'iou'?")
    # the name here is no choice, so that the hint does not send there
    with raises(ValueRangeError, value="jaccard") as raised:
        checked_metrics(["jaccard"], ["hausdorff"], "")
    assert str(raised.value.hint).startswith("choose from")


def test_facts_of_a_metric_are_found_by_its_name_in_any_case():
    assert registered_metric("IoU") is METRICS["iou"]
    assert registered_metric("a metric of mine") is None
    assert [direction(name) for name in ("Dice", "HD95", "a metric of mine")] == [1, -1, 0]


def test_a_ratio_has_a_meaning_where_the_metric_has_a_true_zero():
    assert may_have_meaningful_ratios("IoU")
    assert may_have_meaningful_ratios("a metric of mine")
    # chance is 0.5 for an area under a curve, and correlations may be negative
    assert not any(
        may_have_meaningful_ratios(name) for name in ("auc", "AUROC", "roc_auc", "cc", "Pearson", "judd_auc")
    )


def test_a_threshold_has_the_label_of_its_record():
    assert threshold_label("otsu") == THRESHOLDS["otsu"].label
    assert threshold_label("mine") == "the mine"


@pytest.mark.parametrize(
    ("name", "hinted"), [("nss", "gaze"), ("CC", "'ncc'"), ("auroc", "'auc'"), ("map_iou", "several maps")]
)
def test_a_metric_of_other_inputs_is_not_taken_for_one_with_a_similar_name(name, hinted):
    with raises(ValueRangeError, option="metrics", value=name.lower()) as caught:
        checked_metrics(name, ["iou", "nsd", "mcc"], "is not computed here")
    hint = str(caught.value.hint)
    assert hinted in hint
    assert "did you mean" not in hint

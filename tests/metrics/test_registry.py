import re

import numpy as np
import pytest

from salstats import metrics
from salstats.errors import ValueRangeError
from salstats.metrics.records import NEEDS
from salstats.metrics.registry import METRICS, chosen_metrics, metrics_computed_from

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
    assert metrics_computed_from(["counts"])[:2] == ("iou", "dice")
    assert metrics_computed_from([]) == ()


def test_names_of_the_literature_lead_to_the_names_here():
    for name, here in [("Pointing Game", "hit"), ("jaccard", "iou"), ("DSC", "dice"), ("EBPG", "energy")]:
        with pytest.raises(ValueRangeError) as raised:
            chosen_metrics(name, COMPUTED, "")
        assert repr(here) in str(raised.value.hint).split(";")[0], name
    with pytest.raises(ValueRangeError) as raised:
        chosen_metrics("ssim", COMPUTED, "")
    assert str(raised.value.hint).startswith("ssim compares two pictures")

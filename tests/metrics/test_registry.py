import re

import pytest

from salstats.metrics.registry import METRICS
from salstats.scoring.cases import OVERLAP, POINTING

DISTANCE = ("hausdorff", "hd95", "assd", "pdc")
DENSITY = ("ncc", "sncc", "auc", "sauc", "sim", "kl")
POINTS = ("nss", "auc_points", "sauc_points", "auc_judd", "information_gain")
FAITHFULNESS = ("insertion", "deletion")
BETWEEN_MAPS = ("map_sd", "map_iou", "map_ncc")
COMPUTED = {*OVERLAP, *POINTING, "energy", *DISTANCE, *DENSITY, *POINTS, *FAITHFULNESS, *BETWEEN_MAPS}


def test_a_metric_says_whose_definition_it_follows_and_what_it_needs_where_it_is_computed_here():
    assert {name for name, metric in METRICS.items() if metric.source} == COMPUTED
    assert {name for name, metric in METRICS.items() if metric.needs} == COMPUTED


@pytest.mark.parametrize(
    ("names", "needs"),
    [
        ((*OVERLAP, *DISTANCE), "mask"),
        ((*POINTING, "energy"), "map"),
        (FAITHFULNESS, "map and model"),
        (BETWEEN_MAPS, "several maps"),
        (DENSITY, "map and density"),
        (POINTS, "map and points"),
    ],
)
def test_metrics_of_a_kind_need_the_same(names, needs):
    assert {METRICS[name].needs for name in names} == {needs}


@pytest.mark.parametrize("name", [*DISTANCE, *DENSITY, *POINTS, "energy", *FAITHFULNESS])
def test_the_source_of_a_metric_of_gaze_distance_or_faithfulness_has_its_doi(name):
    if name == "pdc":  # its paper has none
        assert "CEUR-WS Vol-4059" in METRICS[name].source
        assert METRICS[name].source.startswith("a reconstruction")
    else:
        assert re.search(r"doi:10\.\d{4,}/\S+$|doi:10\.\d{4,}/\S+:", METRICS[name].source)


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_range_is_not_empty_and_a_true_zero_lies_at_one_end(name):
    metric = METRICS[name]
    assert metric.low < metric.high
    if metric.true_zero:
        assert metric.low == 0


def test_distances_and_divergences_are_better_when_smaller():
    assert {n for n, m in METRICS.items() if not m.larger_is_better} == {
        "hausdorff",
        "hd95",
        "assd",
        "kl",
        "emd",
        "deletion",
        "map_sd",
    }


def test_the_two_hits_follow_two_definitions():
    assert METRICS["hit"].source.startswith("CheXlocalize")
    assert METRICS["hit"].source.endswith("the first maximum")
    assert METRICS["hit_any"].source.startswith("Saliency-Bench")
    assert METRICS["hit_any"].source.endswith("any maximum")

from salstats.metrics.registry import METRICS
from salstats.scoring_cases import OVERLAP, POINTING


def test_a_metric_says_whose_definition_it_follows_where_it_is_computed_here():
    assert {name for name, metric in METRICS.items() if metric.source} == {*OVERLAP, *POINTING}


def test_the_two_hits_follow_two_definitions():
    assert METRICS["hit"].source.startswith("CheXlocalize")
    assert METRICS["hit"].source.endswith("the first maximum")
    assert METRICS["hit_any"].source.startswith("Saliency-Bench")
    assert METRICS["hit_any"].source.endswith("any maximum")

"""Names of estimates in print."""

import pytest

from salstats.display.text.vocabulary import (
    ABBREVIATIONS,
    CONTRASTS,
    INFERENCE_SENTENCES,
    TERMS,
    inference_population_sentence,
    limits_name_after_level,
    method_label_in_sentence,
)
from salstats.stats.engine.fixed_factors import THESE_READERS


@pytest.mark.parametrize(
    ("terms", "name"), [(["rank"], "of replicates"), (["mean"], "CI"), (["rank", "mean"], "CI")]
)
def test_limits_of_ranks_alone_are_no_confidence_interval(terms, name):
    assert limits_name_after_level(terms) == name


def test_populations_are_named_where_all_estimates_have_the_same_kind():
    assert (
        inference_population_sentence([THESE_READERS, None, THESE_READERS])
        == INFERENCE_SENTENCES[THESE_READERS]
    )
    assert inference_population_sentence([]) == ""
    assert inference_population_sentence([THESE_READERS, "readers in general"]) == ""
    assert inference_population_sentence(["of another package"]) == ""
    # readers are fixed in some estimates, trainings in others
    both = inference_population_sentence(["these trainings", THESE_READERS])
    assert both == INFERENCE_SENTENCES["these readers and trainings"]
    assert both.startswith("Readers and trainings are fixed")
    assert "not to readers and trainings in general" in both


def test_a_heading_begins_with_a_capital():
    assert TERMS["calibration_slope"].heading == "Calibration slope"
    assert TERMS["auroc"].heading == "AUROC"


def test_differences_and_decreases_are_the_contrasts_with_a_reference():
    compared = ["difference", "auroc_difference", "median_difference", "quantile_difference"]
    assert sorted(CONTRASTS) == sorted(["percent_decrease", *compared])


def test_scores_have_three_decimals_correlations_and_slopes_two_ranks_and_percentages_one():
    digits = {
        "mean": 3, "auroc": 3, "difference": 3, "within_case_sd": 3, "observed_rate": 3, "brier_score": 3,
        "tau": 2, "spearman": 2, "kendall": 2, "calibration_intercept": 2, "calibration_slope": 2,
        "rank": 1, "true_rank": 1, "percent_decrease": 1,
    }  # fmt: skip
    assert {name: TERMS[name].digits for name in digits} == digits


def test_contrasts_have_a_singular_and_a_plural():
    for term in CONTRASTS:
        assert TERMS[term].noun
        assert TERMS[term].nouns
        assert TERMS[term].noun != TERMS[term].nouns


def test_common_nouns_lose_their_capital_in_a_sentence():
    assert method_label_in_sentence("Human benchmark") == "human benchmark"
    assert method_label_in_sentence("Grad-CAM") == "Grad-CAM"


def test_every_abbreviation_is_spelled_out_and_none_holds_another():
    assert all(ABBREVIATIONS.values())
    assert ABBREVIATIONS["NCC"] == "normalized cross-correlation"
    # the first word of "KL divergence" is an abbreviation, and a label in plain words is none
    assert "KL" in ABBREVIATIONS
    assert not {"KL divergence", "Dice", "Precision"} & set(ABBREVIATIONS)

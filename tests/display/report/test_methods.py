"""The Methods section tells what was run, from the frames, and nothing else."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_frames import (
    SETTINGS,
    area_row,
    contrast_row,
    correlation_row,
    five_tasks,
    frame,
    mean_row,
    simulated_frames,
    slope_row,
)

import salstats as ss
from salstats.display.report.analyses import ReportFrames
from salstats.display.report.methods import methods_references, methods_text, reference_by_citation
from salstats.display.report.provenance import versions
from salstats.display.report.template import TEMPLATE
from salstats.display.report.wording import Wording
from salstats.display.text.labels import Labels
from salstats.metrics.registry import METRICS
from salstats.stats import adjust
from salstats.stats.engine import intervals, paired_tests
from salstats.stats.models.error_kinds import ERRORS

REFERENCES = reference_by_citation()
CITED = r"(?:[A-Z][A-Za-z]+ and )?[A-Z][A-Za-z]+(?: et al\.)? (?:19|20)\d\d"
SCORES = pd.DataFrame({"case": list("ab"), "method": "gradcam", "metric": "iou", "score": [0.3, 0.4]})
MEAN = mean_row("gradcam", 0.3, 0.2, 0.4)


def described(metric="iou", binary=False):
    """One row as `describe` gives it."""
    return pd.DataFrame([{"metric": metric, "method": "gradcam", "n": 10, "n_missing": 0, "binary": binary}])


def told(settings=SETTINGS, scores=SCORES, **frames):
    """The paragraphs for some frames as one text; counts and means are always there."""
    always = {"flow": ss.case_flow(scores), "describe": described(), "means": frame(MEAN)}
    words = Wording(settings, Labels())
    return "\n".join(methods_text(ReportFrames(always | frames), words, scores))


def contrasts(**change):
    """Differences and decreases in five tasks."""
    table = five_tasks().assign(**change)
    return {"difference": table.assign(term="difference"), "decrease": table}


def test_only_what_was_run_is_told():
    text = told()
    for word in ("compared", "P value", "regress", "correlation", "AUROC", "letter values", "Averages over"):
        assert word not in text
    assert "Mean scores were computed for each metric and method." in text
    found = versions()
    packages = f"(NumPy {found['numpy']}, pandas {found['pandas']} and SciPy {found['scipy']})"
    expected = f"computed with salstats {found['salstats']} in Python {found['Python']} {packages}."
    assert text.endswith(expected)


def test_every_citation_of_the_whole_study_has_a_reference():
    paragraphs = methods_text(
        ReportFrames(simulated_frames()), Wording(SETTINGS, Labels()), ss.datasets.load_simulated()
    )
    assert len(paragraphs) == 7
    cited = set(re.findall(CITED, "\n".join(paragraphs)))
    assert cited <= set(REFERENCES)
    assert {REFERENCES[key] for key in cited} == set(methods_references(paragraphs))


def test_every_citation_that_may_be_written_has_a_reference():
    rows = [*adjust.RECORDS, *ERRORS.values(), *intervals.RECORDS, *paired_tests.RECORDS.values()]
    texts = [row.note for row in rows] + [said.text for paragraph in TEMPLATE for said in paragraph]
    # what fills a slot of the template cites, too
    texts += [told(), told(replace(SETTINGS, weights="stands_for"))]
    assert set(re.findall(CITED, "\n".join(texts))) == set(REFERENCES)


def test_references_stand_in_the_order_of_citation_and_can_be_found():
    assert methods_references(["See Obuchowski 1997, then Holm 1979.", "And Obuchowski 1997."]) == (
        REFERENCES["Obuchowski 1997"],
        REFERENCES["Holm 1979"],
    )
    for reference in REFERENCES.values():
        sites = r"https://www\.jstor\.org/stable/\d+$|https://www150\.statcan\.gc\.ca/n1/en/catalogue/[\w-]+$"
        assert re.search(rf"doi:10\.\d{{4,}}/\S+[^.]$|{sites}", reference)


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("patient", "was the patient, as a patient can contribute several cases (images)"),
        (
            "case",
            "was the case (one image): all scores of a case were kept together when",
        ),
        ("site", "was the site cluster: all scores with the same value of site"),
    ],
)
def test_the_unit_is_told_with_its_reason(unit, text):
    said = told(replace(SETTINGS, unit=unit))
    assert f"The unit of analysis {text}" in said
    assert ("cases were taken as independent of each other" in said) == (unit == "case")
    assert ("Field and Welsh" in said) == (unit != "case")


@pytest.mark.parametrize(
    ("metric", "binary", "text"),
    [
        ("iou", False, "The outcome was IoU (intersection over union; 0 to 1; larger is better)."),
        ("hit", True, "The outcome was hit rate (0 or 1 for each case; larger is better)."),
        ("hausdorff", False, "The outcome was Hausdorff distance (0 or more; smaller is better)."),
        ("ncc", False, "The outcome was NCC (normalized cross-correlation; −1 to 1; larger is better)."),
        ("nss", False, "The outcome was NSS (normalized scanpath saliency; any value; larger is better)."),
        ("mine", False, "The outcome was mine (taken as given; no direction was assumed)."),
    ],
)
def test_outcomes_are_told_with_range_and_direction(metric, binary, text):
    assert text in told(describe=described(metric, binary))
    both = pd.concat([described(metric, binary), described("dice")], ignore_index=True)
    assert told(describe=both).startswith("Outcomes were ")


def test_undefined_scores_are_counted_with_their_reasons():
    assert "No score was undefined." in told()
    scores = SCORES.assign(score=[0.5, np.nan])
    said = "Undefined scores (1 of 2, 50.0%) were left out of the analyses that needed them; none was imp"
    assert said in told(scores=scores)
    reasons = {"case": list("abcd"), "score": [0.5, np.nan, np.nan, np.nan]}
    reasons["reason"] = [None, "finding absent", "finding absent", "empty mask"]
    text = told(scores=pd.DataFrame(reasons).assign(method="gradcam", metric="iou"))
    assert "Undefined scores (1 of 2, 50.0%: 1 empty mask) were left out" in text
    text = told(scores=scores, describe=described().assign(undefined="worst"))
    assert "masks that mark nothing had been given the worst score (0, or the image's diagonal)." in text
    assert "none was imputed" not in text


def test_bootstrap_is_told_with_replicates_seed_and_pairing():
    text = told(replace(SETTINGS, n_replicates=10_000, seed=7), means=frame(MEAN | {"n_undefined": 3}))
    assert "The 95% confidence intervals of mean scores were percentile bootstrap intervals" in text
    assert "In each of 10,000 bootstrap replicates (seed 7), patients were drawn with replacement" in text
    assert "left out, at most 3 of 10,000 for any estimate" in text
    assert "Replicates without" not in told()


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ("bca", "bias-corrected and accelerated bootstrap intervals (Efron 1987)"),
        ("t", "from Student's t distribution with standard errors clustered by patient"),
    ],
)
def test_intervals_are_named_by_what_the_frame_says(interval, text):
    said = told(means=frame(MEAN | {"interval": interval}))
    assert text in said
    assert ("bootstrap replicates" in said) == (interval == "bca")


def test_intervals_of_two_kinds_are_told_apart():
    text = told(means=frame(MEAN | {"interval": "t"}), decrease=five_tasks().assign(interval="fieller"))
    assert "intervals of mean scores were from Student's t" in text
    assert "intervals of percentage decreases were Fieller sets" in text


def test_contrasts_are_told_with_formula_test_and_family():
    text = told(replace(SETTINGS, test="bootstrap"), **contrasts())
    assert "100 × (R − M) / R, with R the mean score of the human benchmark and M that of the method" in text
    assert "Averaged over tasks, it was the decrease of the averages" in text
    assert "with all 1,000 replicates defined the smallest possible was 2/(B + 1)" in text
    assert (
        "P values were adjusted for multiple tests by Holm's procedure (Holm 1979), which controls the "
        "family-wise error rate, over the 6 differences, those in single tasks and those over "
        "tasks as families of their own; confidence intervals were not adjusted."
    ) in text
    assert "Percentage decreases have the P values of the differences." in text
    assert "its 95% interval excluded 0 and its Holm-adjusted P was below 0.05, and no more than" in text
    assert "It was not taken of" not in text
    assert "the Bonferroni procedure, which controls" in told(**contrasts(procedure="bonferroni"))


def test_a_margin_is_told_with_its_bounds_and_test():
    frames = contrasts()
    frames["difference"] = frames["difference"].assign(margin_low=-0.1, margin_high=np.inf, p_margin=0.01)
    text = told(**frames)
    assert "Differences were also tested against a margin, to lie above −0.1, by one-sided tests" in text
    assert "(Schuirmann 1987): a method was taken as equivalent to the human benchmark" in text
    assert "where the larger P value, adjusted likewise as a family of its own, was below 0.05." in text
    assert "margin" not in told(**contrasts())


def test_metrics_without_a_true_zero_are_named_where_no_percentage_was_taken():
    table = five_tasks()
    both = pd.concat([table, table.assign(metric="ncc")], ignore_index=True).assign(term="difference")
    assert "It was not taken of NCC, whose zero does not mean" in told(decrease=table, difference=both)


def test_no_average_no_word_of_averages():
    text = told(difference=frame(contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", term="difference")))
    assert "verage" not in text
    assert "percentage" not in text
    assert "for the same case (complete pairs)" in text


def test_unadjusted_and_single_tests_are_told_to_be_so():
    bare = {key: f.drop(columns=["p_adjusted", "n_tests", "procedure"]) for key, f in contrasts().items()}
    text = told(replace(SETTINGS, adjust="none"), **bare)
    assert "P values of differences were not adjusted for multiple tests." in text
    assert "its 95% interval excluded 0, and no more than 1%" in text
    row = contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", n_tests=1)
    assert "the P value of differences needed no adjustment." in told(difference=frame(row))


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("t", "paired t tests with standard errors clustered by patient"),
        ("wilcoxon", "Wilcoxon's signed-rank test of the mean difference of each patient"),
        ("signflip", "of a patient together, as (1 + k)/(B + 1) with k the number of B = 1,000 random flips"),
        ("none", "No test was made."),
    ],
)
def test_tests_are_named(test, text):
    said = told(**{key: rows.assign(test=test) for key, rows in contrasts().items()})
    assert text in said
    assert "taken from the bootstrap replicates" not in said


def test_regressions_are_told_with_model_scale_and_errors():
    rows = [slope_row(m, c, 0.1, 0.2) for m in ("gradcam", "lime") for c in ("area_ratio", "elongation")]
    text = told(regression=frame(*rows))
    assert (
        "Scores were regressed on relative size and elongation by ordinary least squares, in one model "
        "for each covariate, method and metric (the human benchmark excepted), with task as a categorical "
        "covariate; slopes are thus not adjusted for the other covariates."
    ) in text
    assert "rescaled to run from 0 (the smallest value among the cases with a score) to 1" in text
    assert "CR2" in text
    assert "over the 4 slopes; confidence intervals were not adjusted" in text
    assert "gap" not in text


def test_gaps_are_told_with_their_sign_and_share_the_family():
    row = slope_row("gradcam", "area_ratio", 0.1, 0.2, n_tests=2)
    text = told(regression=frame(row, row | {"reference": "human"}))
    assert "the gap, the score of the human benchmark minus that of the method on the same case" in text
    assert "over the 2 slopes of scores and gaps" in text
    assert "not adjusted for the other covariates" not in text


def test_binary_outcomes_are_linear_probability_models():
    rows = frame(slope_row("gradcam", "area_ratio", 0.1, 0.2, metric="hit"))
    assert "For hit rate, 0 or 1 for each case, this is a linear probability model" in told(
        describe=described("hit", binary=True), regression=rows
    )
    assert "linear probability" not in told(describe=described("hit"), regression=rows)


def test_the_second_adjustment_refers_to_the_first():
    rows = [slope_row(m, "area_ratio", 0.1, 0.2) for m in "abcd"]
    text = told(**contrasts(), regression=frame(*rows))
    assert "P values were adjusted by the same procedure, over the 4 slopes;" in text
    assert text.count("Holm 1979") == 1


def test_an_adjustment_after_a_single_test_is_named():
    row = contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", n_tests=1)
    slopes = [slope_row(m, "area_ratio", 0.1, 0.2) for m in "abcd"]
    text = told(difference=frame(row), regression=frame(*slopes))
    assert "by the same procedure" not in text
    assert "Holm 1979" in text


def test_correlations_are_told_with_their_interval():
    table = frame(*(correlation_row(m, r, 0.1, task=t) for m, r in (("a", 0.2), ("b", -1)) for t in "AB"))
    text = told(correlation=table)
    assert (
        "Spearman's correlations of each metric with model confidence were computed, separately by "
        "method and task." in text
    )
    assert "P values of correlations were not adjusted for multiple tests." in text
    assert "At a correlation of −1 or 1 the P value is exact" in text
    clustered = told(correlation=table.assign(interval="cr2"))
    assert "on Fisher's z scale with bias-reduced standard errors (CR2)" in clustered
    assert "clustered by patient" in clustered


@pytest.mark.parametrize(
    ("interval", "source"),
    [("logit", "DeLong et al. 1988"), ("delong", "DeLong et al. 1988"), ("obuchowski", "Obuchowski 1997")],
)
def test_areas_are_told_with_the_variance_that_was_used(interval, source):
    row = area_row("A", 0.9, 0.8, 0.97, interval=interval)
    text = told(auroc=frame(row))
    assert "The area under the ROC curve (AUROC) of model confidence for the presence of the finding" in text
    assert source in text
    assert "Wilson 1927" not in text
    assert "Wilson 1927" in told(auroc=frame(row, area_row("B", 1.0, 0.8, 1.0, interval="wilson")))


def test_calibration_is_told_with_its_intervals_and_reference():
    text = told(calibration=frame(area_row("A", 0.9, 0.8, 0.97)))
    assert "logistic recalibration (Cox 1958)" in text
    assert "clustered by patient" in text
    assert any("Biometrika 1958" in reference for reference in methods_references([text]))
    assert "recalibration" not in told()


def test_slice_and_threshold_are_told_where_the_scores_say_them():
    text = told(scores=SCORES.assign(slice="full", threshold=["0.3", "0.5"], cutoff=[0.4, None]))
    assert (
        "Scores are of the full slice (all images; undefined only where there was nothing to divide by). "
        "Maps, resized to their image and scaled to 0 to 1, became masks at a threshold of 0.3 to 0.5, one "
        "for each task and method. Masks were empty where the probability was below its cut-off."
    ) in text.splitlines()
    text = told(scores=SCORES.assign(slice="true-positive", threshold="otsu", smooth=15.0, prob=0.5, label=1))
    assert "the true-positive slice (where the truth has the finding)" in text
    assert "became masks at Otsu's threshold. Maps were smoothed with a box filter" in text
    assert "so an AUROC is of the others only" in text


def test_the_range_of_thresholds_is_that_of_their_numbers():
    text = told(scores=SCORES.assign(threshold=["5.0", "100.0"]))
    assert "a threshold of 5.0 to 100.0" in text


def test_thresholds_by_name_are_told_beside_numbers():
    text = told(scores=SCORES.assign(threshold=["li", "0.4"]))
    assert "became masks at Li's threshold and a threshold of 0.4." in text
    text = told(scores=SCORES.assign(threshold=["triangle", "otsu"]))
    assert "became masks at Otsu's threshold and the triangle threshold." in text


def test_readers_who_are_fixed_are_told_with_what_speaks_of_others():
    text = told(means=frame(MEAN | {"inference_to": "these readers"}))
    assert "intervals and P values apply to these readers, not to readers in general" in text
    assert "multi-reader multi-case analysis (Obuchowski and Rockette 1995; salstats.mrmc)." in text
    assert "eaders" not in told()


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ("stands_for", "Cases were weighted by stands for, the number of cases that each stood for"),
        ("unit", "Each patient counted as one, whatever its number of scores."),
        ({"Edema": 0.25, "Nodule": 3}, "weighted tasks by 0.25 (Edema) and 3 (Nodule)"),
    ],
)
def test_weights_are_told(weights, sentence):
    settings = replace(SETTINGS, weights=weights)
    assert sentence in told(settings)
    assert "weighted" not in told()
    averages = five_tasks().assign(term="mean")
    assert ("weighted tasks equally" in told(settings, means=averages)) == isinstance(weights, str)


def test_bounds_of_undefined_scores_are_told_where_there_are_some():
    scores = pd.DataFrame({"case": list("ab"), "method": "gradcam", "metric": "iou", "score": [0.3, np.nan]})
    means = frame({**MEAN, "n": 9, "n_missing": 1})
    text = told(scores=scores, means=means)
    assert "Horowitz and Manski 2000" in text
    assert "Horowitz" not in told(scores=scores, means=means.assign(weights="unit"))
    assert "Horowitz" not in told()


def test_the_best_method_is_told_with_its_pairs_and_its_family():
    rows = [
        contrast_row(m, -0.1, -0.2, -0.05, "lower", term="difference", reference="lime", n_tests=2)
        for m in ("gradcam", "ig")
    ]
    text = told(best=frame(*rows))
    assert (
        "The method with the best mean IoU was compared with each of the others, on the pairs in which both "
        "scores were defined for the same case (complete pairs)."
    ) in text
    assert "Bonferroni's procedure over the 2 comparisons, so that with 95% confidence" in text
    assert "interval excluded 0 and its Holm-adjusted P was below 0.05, and no more than 1%" in text
    by_task = told(best=frame(*(row | {"task": "Average"} for row in rows)))
    assert "for the same case and task (complete pairs)" in by_task
    assert "with each of the others likewise." in told(best=frame(*rows), **contrasts())
    single = told(best=frame(rows[0] | {"n_tests": 1}))
    assert "best mean IoU" in single
    assert "Gupta" not in single


def test_agreement_and_characteristics_of_patients_are_told_where_there_are_some():
    text = told(agreement=frame(MEAN), patients=frame(MEAN))
    assert "Krippendorff 2004), with 95% intervals from a jackknife of patients." in text
    assert "Characteristics of patients, each counted once, were described" in text
    assert "Krippendorff" not in told()
    assert "Characteristics" not in told()


def test_rows_of_several_readers_and_seeds_are_told():
    text = told(scores=SCORES.assign(reader=["R1", "R2"], seed=["1", "2"]))
    assert "Cases had scores of several readers (2 in all)." in text
    assert "Cases had scores of several seeds (2 in all)." in text
    assert "in all" not in told(scores=SCORES.assign(reader="R1"))


def test_trainings_that_are_fixed_stand_in_the_place_of_readers():
    text = told(means=frame(MEAN | {"inference_to": "these trainings"}))
    assert "Trainings were taken as fixed: intervals and P values apply to these trainings" in text
    assert "analysis, with trainings in the place of readers (Obuchowski" in text
    assert "salstats.mrmc of scores whose column seed or model is renamed to reader)" in text


def test_of_two_kinds_of_intervals_or_tests_in_a_frame_the_rows_are_counted():
    text = told(means=frame(MEAN, MEAN | {"interval": "t"}, MEAN | {"interval": "t"}))
    assert "intervals of 1 of the 3 mean scores were percentile" in text
    assert "intervals of 2 of the 3 mean scores were from Student's t" in text
    text = told(**contrasts(test=["t"] * 4 + ["wilcoxon"] * 2))
    assert "Of 2 of them: " in text
    assert text.index("paired t tests") < text.index("Of 2 of them: ") < text.index("Wilcoxon's signed-rank")


def test_differences_without_p_values_have_no_adjustment():
    row = contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", term="difference", test="none")
    bare = frame(row).drop(columns=["p_value", "p_adjusted", "n_tests", "procedure"])
    text = told(difference=bare, decrease=bare.assign(term="percent_decrease"))
    assert "multiple tests" not in text
    assert "needed no adjustment" not in text
    assert "P values of the differences" not in text


def test_notes_of_metrics_follow_the_outcomes():
    assert METRICS["pdc"].note in told(describe=described("pdc"))
    assert METRICS["pdc"].note not in told()


def test_the_unit_is_told_with_what_it_was_used_for():
    clustered = frame(MEAN | {"interval": "t"})
    assert "all scores of a patient formed one cluster in every analysis." in told(means=clustered)
    slopes = frame(*(slope_row(m, "area_ratio", 0.1, 0.2) for m in ("gradcam", "lime")))
    assert "were kept together when patients were resampled." in told()
    assert "when patients were resampled and formed one cluster in regressions." in told(regression=slopes)


def test_lines_and_letter_values_are_told_where_they_are_drawn():
    text = told(confidence=frame(MEAN), covariates=described())
    assert "Lines in scatter plots were fitted" in text
    assert "letter values (Hofmann et al. 2017)" in text
    assert "Lines in scatter plots" not in told(covariates=described())
    assert "Hofmann" not in told(confidence=frame(MEAN))


def test_the_adjustment_of_correlations_refers_to_that_of_differences():
    correlations = [correlation_row(m, 0.2, 0.1) | {"p_adjusted": 0.2, "procedure": "holm"} for m in "ab"]
    text = told(**contrasts(), correlation=frame(*correlations))
    assert "P values were adjusted by the same procedure, over the 2 correlations;" in text
    assert "over the 2 correlations" in told(correlation=frame(*correlations))
    assert "by the same procedure" not in told(correlation=frame(*correlations))

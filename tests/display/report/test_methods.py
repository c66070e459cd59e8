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
    faults,
    five_tasks,
    frame,
    mean_row,
    simulated_frames,
    slope_row,
)

import salstats as ss
from salstats.display.report import inference_words, methods, methods_models
from salstats.display.report.methods import masks_made, methods_references, methods_text, references
from salstats.display.report.provenance import versions
from salstats.display.text.labels import Labels
from salstats.stats import adjust, intervals, paired_tests
from salstats.stats.models import covariance

REFERENCES = references()


def told(settings=SETTINGS, labels=None, **frames):
    """The paragraphs for some frames as one text."""
    return "\n".join(methods_text(settings, frames=frames, labels=Labels(labels)))


def described(metric="iou", n=10, n_missing=0, binary=False):
    """One row as `describe` gives it."""
    row = {"metric": metric, "method": "gradcam", "n": n, "n_missing": n_missing, "binary": binary}
    return pd.DataFrame([row])


def test_only_what_was_run_is_told():
    text = told(means=frame(mean_row("gradcam", 0.3, 0.2, 0.4)))
    for word in (
        "compared",
        "P value",
        "regress",
        "correlation",
        "AUROC",
        "letter values",
        "Averages over tasks",
    ):
        assert word not in text
    assert "Mean scores were computed for each metric and method." in text


def test_the_whole_study_is_told_in_seven_paragraphs_of_good_form():
    paragraphs = methods_text(SETTINGS, frames=simulated_frames(), labels=Labels())
    assert len(paragraphs) == 7
    for text in paragraphs:
        wrong = [f for f in faults(text) if "no difference" not in f]
        assert not wrong, f"{text!r} {wrong}"


def test_every_citation_has_a_reference_and_every_reference_is_cited():
    paragraphs = methods_text(SETTINGS, frames=simulated_frames(), labels=Labels())
    cited = set(
        re.findall(r"(?:[A-Z][a-z]+ and )?[A-Z][A-Za-z]+(?: et al\.)? (?:19|20)\d\d", "\n".join(paragraphs))
    )
    assert cited <= set(REFERENCES)
    assert {REFERENCES[key] for key in cited} == set(methods_references(paragraphs))


def test_every_citation_that_may_be_written_has_a_reference():
    sources = [inspect_source(module) for module in (methods, methods_models, inference_words)]
    # of the records only what is printed; their modules' documentation cites more
    rows = [*adjust.RECORDS, *covariance.ERRORS.values(), *intervals.RECORDS, *paired_tests.RECORDS.values()]
    sources += [row.note for row in rows]
    cited = re.findall(r"(?:[A-Z][a-z]+ and )?[A-Z][A-Za-z]+(?: et al\.)? (?:19|20)\d\d", "\n".join(sources))
    assert cited
    assert set(cited) == set(REFERENCES)


def inspect_source(module):
    """A module's text with its string literals joined, as they are when it runs."""
    import inspect

    return re.sub(r'"\s*\n\s*f?"', "", inspect.getsource(module))


def test_references_stand_in_the_order_of_citation():
    assert methods_references(["See Obuchowski 1997, then Holm 1979.", "And Obuchowski 1997."]) == (
        REFERENCES["Obuchowski 1997"],
        REFERENCES["Holm 1979"],
    )
    assert methods_references([]) == ()


@pytest.mark.parametrize("reference", REFERENCES.values())
def test_every_reference_can_be_found_by_an_identifier(reference):
    assert re.search(r"doi:10\.\d{4,}/\S+[^.]$|https://www\.jstor\.org/stable/\d+$", reference)


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        (
            "patient",
            "The unit of analysis was the patient, as a patient can contribute several cases (images)",
        ),
        ("case", "The unit of analysis was the case (one image)"),
        ("site", "The unit of analysis was the site cluster: all scores with the same value of site"),
    ],
)
def test_the_unit_is_told_with_its_reason(unit, text):
    assert text in told(replace(SETTINGS, unit=unit), means=frame(mean_row("gradcam", 0.3, 0.2, 0.4)))


def test_cases_as_units_are_taken_as_independent_and_no_clustered_paper_is_cited():
    text = told(replace(SETTINGS, unit="case"), means=frame(mean_row("gradcam", 0.3, 0.2, 0.4)))
    assert "cases were taken as independent of each other" in text
    assert "Field and Welsh" not in text


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
    assert text in told(describe=described(metric, binary=binary))


def test_several_outcomes_are_a_list():
    both = pd.concat([described("hit"), described("iou")], ignore_index=True)
    assert told(describe=both).startswith("Outcomes were IoU (")


def test_undefined_scores_are_counted():
    text = told(describe=described(n=3, n_missing=1))
    assert (
        "Undefined scores (1 of 4, 25.0%) were left out of the analyses that needed them; none was imputed."
        in text
    )
    assert "No score was undefined." in told(describe=described())


@pytest.mark.parametrize("n_missing", [0, 1])
def test_empty_masks_that_were_scored_at_the_worst_are_told(n_missing):
    text = told(describe=described(n=3, n_missing=n_missing).assign(undefined="worst"))
    assert "masks that mark nothing had been given the worst score (0, or the image's diagonal)." in text
    assert "none was imputed" not in text


def test_bootstrap_is_told_with_replicates_seed_and_pairing():
    text = told(
        replace(SETTINGS, n_replicates=10_000, seed=7), means=frame(mean_row("gradcam", 0.3, 0.2, 0.4))
    )
    assert "The 95% confidence intervals of mean scores were percentile bootstrap intervals" in text
    assert "In each of 10,000 bootstrap replicates (seed 7), patients were drawn with replacement" in text
    assert "the same draw served all methods, tasks and metrics" in text


def test_undefined_replicates_are_told_where_there_were_any():
    row = mean_row("gradcam", 0.3, 0.2, 0.4)
    assert "Replicates without" not in told(means=frame(row))
    text = told(means=frame(row | {"n_undefined": 3}))
    assert "left out, at most 3 of 1,000 for any estimate" in text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ("bca", "bias-corrected and accelerated bootstrap intervals (Efron 1987)"),
        ("t", "from Student's t distribution with standard errors clustered by patient"),
        ("fieller", "Fieller sets"),
    ],
)
def test_intervals_are_named_by_what_the_frame_says(interval, text):
    told_text = told(means=frame(mean_row("gradcam", 0.3, 0.2, 0.4, interval=interval)))
    assert text in told_text
    assert ("bootstrap replicates" in told_text) == (interval == "bca")


def test_intervals_of_two_kinds_are_told_apart():
    text = told(
        means=frame(mean_row("gradcam", 0.3, 0.2, 0.4, interval="t")),
        decrease=five_tasks().assign(interval="fieller"),
    )
    assert "intervals of mean scores were from Student's t" in text
    assert "intervals of percentage decreases were Fieller sets" in text


def test_contrasts_are_told_with_formula_test_and_family():
    table = five_tasks()
    text = told(decrease=table, difference=table.assign(term="difference"))
    assert "100 × (R − M) / R, with R the mean score of the human benchmark and M that of the method" in text
    assert "Averaged over tasks, it was the decrease of the averages" in text
    assert "twice the smaller of (1 + k)/(B + 1)" in text
    assert "with all 1,000 replicates defined the smallest possible was 2/(B + 1)" in text
    assert (
        "P values were adjusted for multiple tests by Holm's procedure (Holm 1979), which controls the "
        "family-wise error rate, over the 6 differences; confidence intervals were not adjusted."
    ) in text
    assert "They are those of the differences, which a percentage decrease shares." in text
    assert "its 95% interval excluded 0 and its Holm-adjusted P was below 0.05" in text


def test_metrics_without_a_true_zero_are_named_where_no_percentage_was_taken():
    table = five_tasks()
    both = pd.concat([table, table.assign(metric="ncc")], ignore_index=True).assign(term="difference")
    assert "It was not taken of NCC, whose zero does not mean" in told(decrease=table, difference=both)
    assert "It was not taken of" not in told(decrease=table, difference=table.assign(term="difference"))


def test_no_average_no_word_of_averages():
    text = told(decrease=frame(contrast_row("gradcam", 20.0, 10.0, 30.0, "lower")))
    assert "verage" not in text
    assert "for the same case (complete pairs)" in text


@pytest.mark.parametrize(
    ("procedure", "text"),
    [
        ("bonferroni", "the Bonferroni procedure, which controls the family-wise error rate, over"),
        ("BH", "controls the false discovery rate for independent or positively dependent tests, over"),
        ("BY", "(Benjamini and Yekutieli 2001), which controls the false discovery rate, over"),
        ("hommel", "Hommel's procedure (Hommel 1988)"),
        ("hochberg", "Hochberg's procedure (Hochberg 1988)"),
    ],
)
def test_procedures_are_told_with_what_they_control(procedure, text):
    assert text in told(decrease=five_tasks().assign(procedure=procedure))


def test_unadjusted_p_values_are_told_to_be_so():
    table = five_tasks().drop(columns=["p_adjusted", "n_tests", "procedure"])
    text = told(replace(SETTINGS, adjust="none"), decrease=table)
    assert "P values of percentage decreases were not adjusted for multiple tests." in text
    assert "its 95% interval excluded 0, and no more than 1%" in text


def test_a_single_test_needs_no_adjustment():
    row = contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", n_tests=1)
    assert "With a single test, the P value of percentage decreases needed no adjustment." in told(
        decrease=frame(row)
    )


def test_a_family_larger_than_what_is_shown_is_told_by_its_size():
    assert "over 20 tests that include the percentage decreases" in told(
        decrease=five_tasks().assign(n_tests=20)
    )


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("t", "paired t tests with standard errors clustered by patient"),
        ("wilcoxon", "Wilcoxon's signed-rank test of the mean difference of each patient"),
        ("mcnemar", "McNemar's exact test"),
        ("signflip", "a permutation test that flips the signs of all differences of a patient together"),
        ("none", "No test was made."),
    ],
)
def test_tests_are_named_by_what_the_frame_says(test, text):
    told_text = told(decrease=five_tasks().assign(test=test))
    assert text in told_text
    assert "taken from the bootstrap replicates" not in told_text


def test_regressions_are_told_with_model_scale_and_errors():
    rows = [slope_row(m, c, 0.1, 0.2) for m in ("gradcam", "lime") for c in ("area_ratio", "elongation")]
    text = told(regression=frame(*rows))
    assert (
        "Scores were regressed on relative size and elongation by ordinary least squares, in one model "
        "for each covariate, method and metric (the human benchmark excepted), with task as a categorical "
        "covariate; slopes are thus not adjusted for the other covariates."
    ) in text
    assert (
        "rescaled to run from 0 (the smallest value among the cases with a score) to 1 (the largest)" in text
    )
    assert "CR2" in text
    assert "over the 4 slopes; confidence intervals were not adjusted" in text
    assert "gap" not in text


def test_cr1_errors_are_told_with_their_factor():
    text = told(regression=frame(slope_row("gradcam", "area_ratio", 0.1, 0.2, errors="cluster", n_tests=1)))
    assert "(CR1, with the factor G/(G − 1) × (n − 1)/(n − k) for G clusters" in text
    assert "not adjusted for the other covariates" not in text


def test_gaps_are_told_with_their_sign_and_share_the_family():
    rows = [slope_row("gradcam", "area_ratio", 0.1, 0.2, n_tests=2)]
    rows.append(rows[0] | {"reference": "human"})
    text = told(regression=frame(*rows))
    assert "the gap, the score of the human benchmark minus that of the method on the same case" in text
    assert "over the 2 slopes of scores and gaps" in text


def test_binary_outcomes_are_linear_probability_models():
    rows = frame(slope_row("gradcam", "area_ratio", 0.1, 0.2, metric="hit"))
    assert "For hit rate, 0 or 1 for each case, this is a linear probability model" in told(
        describe=described("hit", binary=True), regression=rows
    )
    assert "linear probability" not in told(describe=described("hit"), regression=rows)


def test_the_second_adjustment_refers_to_the_first():
    text = told(
        decrease=five_tasks(), regression=frame(*[slope_row(m, "area_ratio", 0.1, 0.2) for m in "abcd"])
    )
    assert (
        "P values were adjusted by the same procedure over the 4 slopes; confidence intervals were not."
        in text
    )
    assert text.count("Holm 1979") == 1


def test_correlations_are_told_with_which_case_was_used():
    table = frame(*(correlation_row(m, 0.2, 0.1, task=t) for m in "ab" for t in "AB"))
    text = told(correlation=table)
    assert (
        "Spearman's correlations of each metric with model confidence were computed, separately by "
        "method and task" in text
    )
    rule = "only the first with a score, in order of case identifier, was used"
    assert f"where a patient had several cases, {rule}" in text
    assert "P values of correlations were not adjusted for multiple tests." in text
    assert "only the first" not in told(replace(SETTINGS, unit="case"), correlation=table)


def test_correlations_of_repeated_units_are_told_to_take_them_as_independent():
    text = told(correlation=frame(correlation_row("gradcam", 0.2, 0.1, n=60)))
    assert "rows of the same patient were taken as independent" in text
    assert "only the first" not in text


def test_perfect_correlations_are_told_to_have_exact_p_values():
    rows = [correlation_row("gradcam", r, 0.1) for r in (0.2, -1.0)]
    assert "At a correlation of −1 or 1 the P value is exact" in told(correlation=frame(*rows))
    assert "is exact" not in told(correlation=frame(rows[0]))


def test_limits_of_areas_that_were_cut_off_are_told():
    assert "limits were cut off at 0 and 1" in told(auroc=frame(area_row("A", 0.95, 0.8, 1.0)))
    assert "cut off" not in told(auroc=frame(area_row("A", 0.9, 0.8, 0.97)))


@pytest.mark.parametrize(
    ("intervals", "texts"),
    [
        (("delong",), ("DeLong et al. 1988",)),
        (("obuchowski",), ("Obuchowski 1997",)),
        (
            ("delong", "obuchowski"),
            ("DeLong et al. 1988", "where a patient had several cases", "Obuchowski 1997"),
        ),
    ],
)
def test_areas_are_told_with_the_variance_that_was_used(intervals, texts):
    table = frame(*(area_row(f"t{i}", 0.9, 0.8, 1.0, interval=v) for i, v in enumerate(intervals)))
    text = told(auroc=table)
    assert "The area under the ROC curve (AUROC) of model confidence for the presence of the finding" in text
    for expected in texts:
        assert expected in text


def test_software_is_named_with_the_versions_that_ran():
    text = told(means=frame(mean_row("gradcam", 0.3, 0.2, 0.4)))
    found = versions()
    expected = f"salstats {found['salstats']} in Python {found['Python']} (NumPy {found['numpy']}, pandas"
    assert expected in text
    # the report's own analyses do not run on it
    assert "statsmodels" not in text


def test_frames_that_are_missing_or_empty_are_not_told():
    empty = {"means": None, "decrease": five_tasks().iloc[:0]}
    assert told(**empty) == told()


def test_all_scores_missing_still_reads():
    table = five_tasks().assign(estimate=np.nan, p_value=np.nan, p_adjusted=np.nan, verdict="inconclusive")
    text = told(decrease=table)
    assert "nan" not in text
    assert "  " not in text


def test_slice_and_threshold_are_told_where_the_scores_say_them():
    tuned = {"threshold": ["0.3", "0.5", None], "cutoff": [0.4, 0.4, None]}
    assert masks_made(pd.DataFrame({"slice": ["full"] * 3, **tuned})) == (
        "Scores are of the full slice (all images; undefined only where there was nothing to divide by). "
        "Maps, resized to their image and scaled to 0 to 1, became masks at a threshold of 0.3 to 0.5, one "
        "for each task and method. Masks were empty where the probability was below its cut-off.",
    )
    otsu = masks_made(pd.DataFrame({"slice": ["true-positive"], "threshold": ["otsu"], "smooth": [15.0]}))[0]
    assert "the true-positive slice (where the truth has the finding)" in otsu
    assert "became masks at Otsu's threshold. Maps were smoothed with a box filter" in otsu
    assert masks_made(pd.DataFrame({"score": [0.5]})) == ()
    known = masks_made(pd.DataFrame({"slice": ["true-positive"], "prob": [0.5], "label": [1]}))[0]
    assert "so an AUROC is of the others only" in known


def test_undefined_scores_are_told_by_their_reasons():
    scores = pd.DataFrame(
        {
            "case": list("abcd"),
            "method": "gradcam",
            "metric": "iou",
            "score": [0.5, np.nan, np.nan, np.nan],
            "reason": [None, "finding absent", "finding absent", "empty mask"],
        }
    )
    text = told(flow=ss.case_flow(scores))
    assert "Undefined scores (1 of 2, 50.0%: 1 empty mask) were left out" in text

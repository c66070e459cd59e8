"""The Methods section: texts for the slots of its template, from the settings, the frames and the scores."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates
from salstats.display.report.analyses import ReportFrames
from salstats.display.report.associations import (
    for_outcome_suffix,
    has_task_term,
    is_slope_of_gap_model,
    outcome_metric_of_rows,
)
from salstats.display.report.case_counts import n_undefined_scores_by_reason_and_n_absent
from salstats.display.report.mean_scores import undefined_score_bounds_sentences
from salstats.display.report.provenance import versions
from salstats.display.report.settings import has_several_values
from salstats.display.report.template import TEMPLATE, Slots
from salstats.display.report.wording import Wording, used_adjustment_procedure
from salstats.display.text.format import MINUS, count_text, joined, percent_text, plural
from salstats.display.text.margins import has_margins, within_tested_margins_phrase
from salstats.display.text.vocabulary import METRICS_IN_FULL
from salstats.files.input_files import data_folder
from salstats.metrics.records import Metric
from salstats.metrics.registry import registered_metric, threshold_label
from salstats.stats.case_flow import FILE
from salstats.stats.engine.fixed_factors import TRAININGS, fixed_reader_or_training_nouns
from salstats.stats.engine.intervals import BOOTSTRAP_INTERVALS, interval_by_name
from salstats.stats.engine.paired_tests import RECORDS as TESTS
from salstats.stats.engine.score_reasons import UNDEFINED
from salstats.stats.engine.weighting import UNIT
from salstats.stats.models.error_kinds import ERRORS

#: Text of a slot that is only the condition of a sentence.
_CONDITION_HOLDS = ""
#: Explanations of slices of the data, which follow the slice's name.
_SLICE_EXPLANATIONS = {
    "true-positive": " (where the truth has the finding)",
    "full": " (all images; undefined only where there was nothing to divide by)",
    "predicted-positive": " (where the model finds the finding)",
}
#: Units of resampling with their definitions.
_UNIT_DEFINITIONS = {
    "case": "case (one image): all scores of a case",
    "patient": "patient, as a patient can contribute several cases (images): all scores of a patient",
}
#: Nouns for the estimates of means and contrasts, by the key of their frame.
_ESTIMATE_NOUNS = {
    "means": "mean scores",
    "decrease": "percentage decreases",
    "difference": "differences",
    "best": "differences from the best method",
}
#: Packages that the analyses of a report use.
_COMPUTED_WITH = {"numpy": "NumPy", "pandas": "pandas", "scipy": "SciPy"}


def methods_text(frames: ReportFrames, wording: Wording, scores: pd.DataFrame) -> tuple[str, ...]:
    """Return the paragraphs of a paper's section on statistical analysis, in the past tense.

    They describe the analyses whose frames the report has, and the masks that columns of the scores describe.
    Papers are cited by author and year, see `methods_references`.
    """
    slots: Slots = {}
    # first, since contrasts with a reference replace its slot `reference`, which is None without gaps
    if "regression" in frames:
        slots |= _regression_slots(frames, wording)
    slots |= _settings_slots(frames, wording)
    slots |= _outcome_and_undefined_score_slots(frames, wording)
    slots |= _slice_and_mask_slots(scores, wording)
    slots |= _mean_slots(frames, wording)
    slots |= _fixed_readers_and_trainings_slots(frames)
    if "best" in frames:
        slots |= _best_method_comparison_slots(
            frames.estimates("best"), wording, has_reference="difference" in frames
        )
    if "difference" in frames:
        slots |= _slots_on_how_methods_were_compared(frames, wording)
    for key in ("agreement", "patients"):
        if key in frames:
            slots[key] = _CONDITION_HOLDS
    if "correlation" in frames:
        slots |= _correlation_slots(frames, wording)
    if "auroc" in frames:
        slots |= _area_slots(frames.estimates("auroc"), wording)
    slots["calibration"] = _condition_slot("calibration" in frames)
    paragraphs = []
    for sentences in TEMPLATE:
        filled = [sentence.fill(slots) for sentence in sentences]
        paragraphs.append(" ".join(text for text in filled if text))
    return tuple(paragraph for paragraph in paragraphs if paragraph)


def _condition_slot(holds: object) -> str | None:
    """Return the text of a slot that only decides whether its sentence is written, None to leave it out."""
    return _CONDITION_HOLDS if holds else None


def _settings_slots(frames: ReportFrames, wording: Wording) -> Slots:
    """Fill the slots that follow from the settings, and from which analyses were run."""
    version_of = versions()
    packages = joined([f"{name} {version_of[package]}" for package, name in _COMPUTED_WITH.items()])
    # means of 0/1 scores may have other intervals than those of the settings
    is_resampled = any(_has_bootstrap(estimates) for estimates in frames.all_estimates())
    unit_role = "formed one cluster in every analysis"
    if is_resampled:
        unit_role = f"were kept together when {wording.units} were resampled"
        if "regression" in frames:
            unit_role += " and formed one cluster in regressions"
    unit = wording.settings.unit
    if unit == "case":
        unit_role += ", and cases were taken as independent of each other"
    return {
        "level": wording.level_text_without_percent_sign,
        "seed": str(wording.settings.seed),
        "unit": wording.unit,
        "units": wording.units,
        "unit_definition": _UNIT_DEFINITIONS.get(
            unit, f"{wording.unit}: all scores with the same value of {unit}"
        ),
        "unit_role": unit_role,
        "lines": _condition_slot("confidence" in frames),
        "letter_values": _condition_slot("covariates" in frames),
        "software": f"salstats {version_of['salstats']} in Python {version_of['Python']} ({packages})",
    }


def _has_bootstrap(estimates: Estimates) -> bool:
    """Return whether a row has a bootstrap interval."""
    return bool(set(estimates.distinct_values("interval")) & set(BOOTSTRAP_INTERVALS))


def _outcome_and_undefined_score_slots(frames: ReportFrames, wording: Wording) -> Slots:
    """Fill the slots on metrics and on undefined scores."""
    descriptions = frames["describe"]
    metric_texts = []
    notes = []
    has_continuous_metric = False
    for metric in wording.labels.order("metric", descriptions["metric"]):
        is_binary = _is_binary(descriptions[descriptions["metric"] == metric])
        metric_texts.append(_metric_with_range_and_direction_text(metric, wording, is_binary=is_binary))
        has_continuous_metric = has_continuous_metric or not is_binary
        record = registered_metric(metric)
        if record is not None and record.note:
            notes.append(record.note)
    subject = "The outcome was" if len(metric_texts) == 1 else "Outcomes were"
    flow = frames["flow"]
    n_undefined_by_reason, n_absent = n_undefined_scores_by_reason_and_n_absent(flow)
    n_undefined = int(n_undefined_by_reason.sum())
    n_scores = int(flow.loc[flow["stage"] == FILE, "n_rows"].iloc[0]) - n_absent
    reasons = ""
    if set(n_undefined_by_reason.index) - {UNDEFINED}:
        counts = [f"{count_text(n)} {reason}" for reason, n in n_undefined_by_reason.items()]
        reasons = f": {joined(counts)}"
    imputation = ""
    if any(_has_imputed_scores(frame) for frame in frames.values()):
        imputation = "; masks that mark nothing had been given the worst score (0, or the image's diagonal)"
    elif n_undefined:
        imputation = "; none was imputed"
    return {
        "outcomes": f"{subject} {joined(metric_texts)}",
        "metric_notes": " ".join(notes) or None,
        "all_defined": _condition_slot(n_undefined == 0),
        "n_undefined": count_text(n_undefined) if n_undefined else None,
        "n_scores": count_text(n_scores),
        "percent_undefined": percent_text(100 * n_undefined / n_scores),
        "reasons": reasons,
        "imputation": imputation,
        "continuous": _condition_slot(has_continuous_metric),
    }


def _has_imputed_scores(frame: pd.DataFrame) -> bool:
    """Return whether a frame says that undefined scores were replaced."""
    return "undefined" in frame.columns and bool(frame["undefined"].notna().any())


def _metric_with_range_and_direction_text(metric: str, wording: Wording, *, is_binary: bool) -> str:
    """Return a metric's label with, in parentheses, its full name, range and direction."""
    label = wording.metric(metric)
    record = registered_metric(metric)
    if record is None:
        return f"{label} (taken as given; no direction was assumed)"
    details = []
    full_name = METRICS_IN_FULL.get(record.name, "")
    if full_name and full_name not in label.lower():
        details.append(full_name)
    if is_binary:
        details.append("0 or 1 for each case")
    else:
        details.append(_range_text(record))
    if record.larger_is_better:
        details.append("larger is better")
    else:
        details.append("smaller is better")
    return f"{label} ({'; '.join(details)})"


def _is_binary(descriptions: pd.DataFrame) -> bool:
    """Return whether all defined scores of some descriptions are 0 or 1."""
    defined = descriptions[descriptions["n"] > 0]
    return len(defined) > 0 and bool(defined["binary"].all())


def _range_text(metric: Metric) -> str:
    """Return the values that a metric can take."""
    if np.isinf(metric.low):
        return "any value"
    if np.isinf(metric.high):
        return "0 or more"
    low = f"{metric.low:g}".replace("-", MINUS)
    return f"{low} to {metric.high:g}"


def _slice_and_mask_slots(scores: pd.DataFrame, wording: Wording) -> Slots:
    """Fill the slots on the slice of the scores, on how maps became masks, and on readers and seeds."""
    slices = _sorted_distinct_texts(scores, "slice")
    thresholds = _threshold_names_and_range(_sorted_distinct_texts(scores, "threshold"))
    repeated_rows = []
    for column in ("reader", "seed"):
        if has_several_values(scores, column):
            repeated_rows.append(
                f"Cases had scores of several {plural(column)} ({scores[column].nunique()} in all). These "
                "stood as rows of their case and were kept together in every analysis."
            )
    has_predictions = {"prob", "label"} <= set(scores.columns)
    slots: Slots = {
        "truth_only": _condition_slot(slices == ["true-positive"] and has_predictions),
        "thresholds": joined(thresholds) or None,
        "cutoff": _condition_slot(_sorted_distinct_texts(scores, "cutoff")),
        "smooth": _condition_slot(_sorted_distinct_texts(scores, "smooth")),
        "repeated_rows": " ".join(repeated_rows) or None,
    }
    if len(slices) == 1:
        slots["slice"] = slices[0]
        slots["slice_definition"] = _SLICE_EXPLANATIONS.get(slices[0], "")
    return slots


def _sorted_distinct_texts(scores: pd.DataFrame, column: str) -> list[str]:
    """Return the sorted values of a column as text, none where there is no such column."""
    if column not in scores.columns:
        return []
    return sorted(scores[column].dropna().astype(TEXT).unique())


def _threshold_names_and_range(thresholds: Sequence[str]) -> list[str]:
    """Return descriptions of thresholds: those with a name first, then the range of numeric ones."""
    numbers = sorted((text for text in thresholds if _is_number(text)), key=float)
    texts = [f"{threshold_label(text)} threshold" for text in thresholds if text not in numbers]
    if len(numbers) == 1:
        texts.append(f"a threshold of {numbers[0]}")
    elif numbers:
        texts.append(f"a threshold of {numbers[0]} to {numbers[-1]}, one for each task and method")
    return texts


def _is_number(text: str) -> bool:
    """Return whether the text of a threshold is a number rather than a name."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _fixed_readers_and_trainings_slots(frames: ReportFrames) -> Slots:
    """Fill the slots on readers and trainings that were fixed."""
    populations: list[object] = []
    for frame in frames.values():
        if "inference_to" in frame.columns:
            populations += list(frame["inference_to"])
    nouns = fixed_reader_or_training_nouns(populations)
    if not nouns:
        return {}
    text = " and ".join(nouns)
    slots: Slots = {"fixed": text, "fixed_capital": text.capitalize(), "as_readers": "", "renamed": ""}
    if TRAININGS in nouns:
        slots["as_readers"] = ", with trainings in the place of readers"
        slots["renamed"] = " of scores whose column seed or model is renamed to reader"
    return slots


def _weighting_sentences(wording: Wording) -> str | None:
    """Return sentences on the weights of scores, None where all scores have the same weight."""
    weights = wording.settings.weights
    if weights is None:
        return None
    if isinstance(weights, Mapping):
        tasks = wording.task_labels(weights)
        shares = [f"{weight:g} ({task})" for task, weight in zip(tasks, weights.values(), strict=True)]
        return (
            f"Averages over tasks weighted tasks by {joined(shares)}; those without a defined score were "
            "left out."
        )
    unweighted = "Descriptions, correlations and AUROCs were not weighted."
    if weights in (UNIT, wording.settings.unit):
        return f"Each {wording.unit} counted as one, whatever its number of scores. {unweighted}"
    return (
        f"Cases were weighted by {wording.column(weights)}, the number of cases that each stood for, as "
        f"weights of sampling (Lumley 2010). {unweighted}"
    )


def _mean_slots(frames: ReportFrames, wording: Wording) -> Slots:
    """Fill the slots on means, and on the intervals of means and contrasts.

    A sentence of the template with a slot that is None is left out; an empty slot leaves out a phrase.
    """
    # a frame of means, and of each kind of contrast that was made
    estimates_by_key = {key: frames.estimates(key) for key in _ESTIMATE_NOUNS if key in frames}
    has_averages = any(estimates.is_over_tasks.any() for estimates in estimates_by_key.values())
    is_resampled = any(_has_bootstrap(estimates) for estimates in estimates_by_key.values())
    if "difference" in frames and "bootstrap" in frames.estimates("difference").distinct_values("test"):
        is_resampled = True
    # number of undefined replicates of the estimate that has the most
    most_undefined = 0.0
    for estimates in estimates_by_key.values():
        most_undefined = max(most_undefined, *estimates.non_missing_numbers("n_undefined"), 0.0)
    weights = wording.settings.weights
    slots: Slots = {
        "mean_by": "metric and method",
        # weights by task make another average, which the slot "weights" describes
        "averaged": _condition_slot(has_averages and not isinstance(weights, Mapping)),
        "weights": _weighting_sentences(wording),
        "bounds": _condition_slot(any(undefined_score_bounds_sentences(frames.estimates("means"), wording))),
        "intervals": " ".join(_interval_sentences(estimates_by_key, wording)),
        "replicates": None,
        "resampling": "",
        "of_a_task": "",
        "most_undefined": None,
    }
    if has_averages:
        slots["mean_by"] = "metric, method and task"
        slots["of_a_task"] = ", for an average without a score of one of its tasks"
    if is_resampled:
        slots["replicates"] = count_text(wording.settings.n_replicates)
    if wording.settings.unit != "case":
        slots["resampling"] = " (Field and Welsh 2007)"
    if most_undefined > 0:
        slots["most_undefined"] = count_text(most_undefined)
    return slots


def _interval_sentences(estimates_by_key: Mapping[str, Estimates], wording: Wording) -> list[str]:
    """Return a sentence for each kind of interval: the means and contrasts that have it, and its source."""
    nouns_by_interval: dict[str, list[str]] = defaultdict(list)
    for key, estimates in estimates_by_key.items():
        n_rows_by_interval = estimates.frame["interval"].astype(TEXT).value_counts()
        for interval, n_rows in n_rows_by_interval.items():
            noun = _ESTIMATE_NOUNS[key]
            if len(n_rows_by_interval) > 1:
                noun = f"{count_text(n_rows)} of the {count_text(len(estimates))} {noun}"
            nouns_by_interval[str(interval)].append(noun)
    sentences = []
    for interval, nouns in nouns_by_interval.items():
        record = interval_by_name(interval)
        assert record is not None
        source = record.note.format(unit=wording.unit)
        sentences.append(
            f"The {wording.level_text_without_percent_sign}% confidence intervals of {joined(nouns)} were "
            f"{source}."
        )
    return sentences


def _best_method_comparison_slots(contrasts: Estimates, wording: Wording, *, has_reference: bool) -> Slots:
    """Fill the slots on the comparison of the method with the best mean with the others.

    With a reference, complete pairs are explained with the comparison with the reference and not again.
    """
    n_tests = contrasts.numbers("n_tests")
    is_adjusted = used_adjustment_procedure(contrasts) is not None and np.nanmax(n_tests) > 1
    on_pairs = " likewise"
    if not has_reference:
        same = "case and task" if "task" in contrasts.frame.columns else "case"
        on_pairs = f", on the pairs in which both scores were defined for the same {same} (complete pairs)"
    return {
        "best_metric": wording.metric(str(contrasts.frame["metric"].iloc[0])),
        "n_others": count_text(np.nanmax(n_tests)) if is_adjusted else None,
        "on_pairs": on_pairs,
        "test": _test_sentences(contrasts, wording),
        "rule": _significance_conditions_besides_the_interval(contrasts, wording),
    }


def _significance_conditions_besides_the_interval(contrasts: Estimates, wording: Wording) -> str:
    """Return the conditions, besides the interval, under which a difference is taken as shown."""
    rule = ""
    if used_adjustment_procedure(contrasts) is not None:
        rule = f" and its {wording.p_name(contrasts)} was below {wording.alpha}"
    if _has_bootstrap(contrasts):
        rule += ", and no more than 1% of its replicates were undefined"
    return rule


def _test_sentences(contrasts: Estimates, wording: Wording) -> str:
    """Return how differences were tested, the most frequent test first."""
    sentences: list[str] = []
    for name, n_rows in contrasts.frame["test"].value_counts().items():
        note = TESTS[str(name)].note
        if sentences:
            note = f"Of {count_text(n_rows)} of them: {note}"
        sentences.append(note)
    n_replicates = count_text(wording.settings.n_replicates)
    return " ".join(sentences).format(unit=wording.unit, replicates=n_replicates)


def _slots_on_how_methods_were_compared(frames: ReportFrames, wording: Wording) -> Slots:
    """Fill the slots on how methods were compared with the reference: test, adjustment, margins, level."""
    differences = frames.estimates("difference")
    slots: Slots = {
        "reference": wording.method(wording.settings.reference),
        "on_task": "",
        "test": _test_sentences(differences, wording),
        "adjusted": _adjustment_sentence_if_p_values("differences", differences, wording),
        "margin": None,
        "margin_adjusted": "",
        "alpha": wording.alpha,
        "rule": _significance_conditions_besides_the_interval(differences, wording),
    }
    if "task" in differences.frame.columns:
        slots["on_task"] = " and task"
    if has_margins(differences):
        slots["margin"] = within_tested_margins_phrase(differences, wording.labels)
    if used_adjustment_procedure(differences) is not None:
        slots["margin_adjusted"] = ", adjusted likewise as a family of its own,"
    if "decrease" in frames:
        decreases = frames.estimates("decrease")
        without_zero = set(differences.distinct_values("metric")) - set(decreases.distinct_values("metric"))
        slots["decrease"] = _CONDITION_HOLDS
        slots["tested_decrease"] = _condition_slot(differences.has_p_values)
        slots["averaged_decrease"] = _condition_slot(decreases.is_over_tasks.any())
        if without_zero:
            slots["without_zero"] = wording.metrics(wording.labels.order("metric", sorted(without_zero)))
    return slots


def _adjustment_sentence_if_p_values(
    plural_noun: str, estimates: Estimates, wording: Wording, earlier: Iterable[Estimates] = ()
) -> str | None:
    """Return how P values were adjusted, None without P values.

    The procedure is not described again if P values of `earlier` estimates were adjusted as well.
    """
    if not estimates.has_p_values:
        return None
    procedure = used_adjustment_procedure(estimates)
    n_tests = len(estimates.non_missing_numbers("p_value"))
    if procedure is None:
        return f"P values of {plural_noun} were not adjusted for multiple tests."
    if n_tests == 1:
        return f"With a single test, the P value of {plural_noun} needed no adjustment."
    families = ""
    if estimates.is_over_tasks.any() and not estimates.is_over_tasks.all():
        families = ", those in single tasks and those over tasks as families of their own"
    adjustment = f"for multiple tests by {procedure.note}"
    # a single test needs no adjustment, and its procedure is not named
    several_tests = [others for others in earlier if len(others.non_missing_numbers("p_value")) > 1]
    if any(used_adjustment_procedure(others) is not None for others in several_tests):
        adjustment = "by the same procedure"
    return (
        f"P values were adjusted {adjustment}, over the {count_text(n_tests)} {plural_noun}{families}; "
        "confidence intervals were not adjusted."
    )


def _regression_slots(frames: ReportFrames, wording: Wording) -> Slots:
    """Fill the slots on models of scores, and of gaps to the reference, on covariates."""
    slopes = frames.estimates("regression")
    covariates = slopes.distinct_values("term")
    has_gaps = bool(is_slope_of_gap_model(slopes).any())
    reference = wording.settings.reference
    earlier = [frames.estimates("difference")] if "difference" in frames else []
    plural_noun = "slopes of scores and gaps" if has_gaps else "slopes"
    errors = [ERRORS[str(name)].note.format(unit=wording.unit) for name in slopes.distinct_values("errors")]
    slots: Slots = {
        "reference": None,
        "covariates": joined([wording.column(covariate) for covariate in covariates]),
        "model_for": "method and metric",
        "but_reference": "",
        "with_task": "",
        "alone": "",
        "gaps": _condition_slot(has_gaps),
        "binary": joined(_binary_outcomes(slopes, frames["describe"], wording)) or None,
        "errors": " ".join(errors),
        "adjusted_slopes": _adjustment_sentence_if_p_values(plural_noun, slopes, wording, earlier),
    }
    if has_gaps:
        slots["reference"] = wording.method(reference)
    if reference is not None:
        slots["but_reference"] = f" ({wording.method(reference)} excepted)"
    if has_task_term(slopes):
        slots["with_task"] = ", with task as a categorical covariate"
    if len(covariates) > 1:
        slots["model_for"] = "covariate, method and metric"
        slots["alone"] = "; slopes are thus not adjusted for the other covariates"
    return slots


def _binary_outcomes(slopes: Estimates, descriptions: pd.DataFrame, wording: Wording) -> list[str]:
    """Return the labels of the metrics that were modelled and whose scores are all 0 or 1."""
    modelled_metrics = set(outcome_metric_of_rows(slopes))
    names = []
    for metric in wording.labels.order("metric", descriptions["metric"]):
        if metric in modelled_metrics and _is_binary(descriptions[descriptions["metric"] == metric]):
            names.append(wording.metric(metric))
    return names


def _correlation_slots(frames: ReportFrames, wording: Wording) -> Slots:
    """Fill the slots on correlations with the model's confidence."""
    correlations = frames.estimates("correlation")
    by = [column for column in ("method", "task") if len(correlations.distinct_values(column)) > 1]
    first = correlations.frame.iloc[0]
    record = interval_by_name(first["interval"], first["term"])
    interval_source = None
    if record is not None:
        interval_source = record.note.format(unit=wording.unit)
    earlier = [frames.estimates(key) for key in ("difference", "regression") if key in frames]
    return {
        "coefficient": str(first["term"]).capitalize(),
        "prob": wording.column(str(first["y"])),
        "separately": f", separately by {joined(by)}" if by else "",
        "correlation_interval": interval_source,
        "perfect": _condition_slot((np.abs(correlations.numbers("estimate")) == 1).any()),
        "adjusted_correlations": _adjustment_sentence_if_p_values(
            "correlations", correlations, wording, earlier
        ),
    }


def _area_slots(areas: Estimates, wording: Wording) -> Slots:
    """Fill the slots on areas under ROC curves and their intervals."""
    intervals = areas.distinct_values("interval")
    source = None
    if intervals:
        # rows without a variance have Wilson's interval; all others have one kind, by default logit
        interval = next((name for name in intervals if name != "wilson"), "logit")
        record = interval_by_name(interval, "auroc")
        if record is not None:
            source = record.note.format(unit=wording.unit)
    if source and "wilson" in intervals:
        source += (
            "; where that has no variance, as in complete separation, they are Wilson's score interval "
            f"(Wilson 1927) for as many cases as there were {wording.units} with the rarer label"
        )
    return {
        "predictor": wording.column(str(areas.frame["predictor"].iloc[0])),
        "target": for_outcome_suffix(areas, wording),
        "by_task": " by task" if len(areas.distinct_values("task")) > 1 else "",
        "area_interval": source,
    }


def reference_by_citation() -> dict[str, str]:
    """Return references by author and year, as the Methods section cites them."""
    table = pd.read_csv(data_folder() / "report" / "references.csv")
    return dict(zip(table["cited"], table["reference"], strict=True))


def methods_references(paragraphs: Sequence[str]) -> tuple[str, ...]:
    """Return the references that paragraphs cite, in the order in which they are first cited."""
    text = "\n".join(paragraphs)
    cited = [
        (text.index(key), reference) for key, reference in reference_by_citation().items() if key in text
    ]
    return tuple(reference for _, reference in sorted(cited))

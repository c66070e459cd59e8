"""The Methods section: what the settings, the frames and the scores put into its template's slots."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from salstats.display.estimates import read_estimates
from salstats.display.report.analyses import several
from salstats.display.report.associations import of_gaps, outcomes, target_words, with_task
from salstats.display.report.levels import bound_sentences, undefined_scores
from salstats.display.report.provenance import versions
from salstats.display.report.template import TEMPLATE, Known
from salstats.display.report.wording import Words, pooled_rows, registered_metric
from salstats.display.text.format import MINUS, count_text, joined, percent_text, plural
from salstats.display.text.margins import has_margins, margin_text
from salstats.display.text.vocabulary import METRICS_IN_FULL
from salstats.files.inputs import data_folder
from salstats.metrics.records import Metric
from salstats.metrics.registry import threshold_label
from salstats.stats.case_flow import FILE
from salstats.stats.engine.fixed_factors import TRAININGS, fixed_nouns
from salstats.stats.engine.intervals import BOOTSTRAP, interval_by_name
from salstats.stats.engine.paired_tests import RECORDS as TESTS
from salstats.stats.engine.score_reasons import UNDEFINED
from salstats.stats.engine.weighting import UNIT
from salstats.stats.models.error_kinds import ERRORS

#: What a slice is.
_SLICES = {
    "true-positive": " (where the truth has the finding)",
    "full": " (all images; undefined only where there was nothing to divide by)",
    "predicted-positive": " (where the model finds the finding)",
}
#: Why a unit is that.
_UNITS = {
    "case": "case (one image): all scores of a case",
    "patient": "patient, as a patient can contribute several cases (images): all scores of a patient",
}
#: What the rows of a frame are called.
_NOUNS = {
    "means": "mean scores", "decrease": "percentage decreases", "difference": "differences",
    "best": "differences from the best method",
}  # fmt: skip


def methods_text(frames: Mapping[str, pd.DataFrame], words: Words, scores: pd.DataFrame) -> tuple[str, ...]:
    """Paragraphs of a paper's section on statistical analysis, in the past tense.

    Only what was run is told, which follows from the frames of the report by key, and from the scores'
    columns on their masks. Papers are cited by author and year, see `methods_references`.
    """
    known = _settings(frames, words) | _outcomes(frames, words) | _scores(scores, words)
    known |= _means(frames, words)
    speaks_of = [frame["inference_to"] for frame in frames.values() if "inference_to" in frame.columns]
    known |= {"weights": _weights(words), "bounds": _flag(any(bound_sentences(frames["means"], words)))}
    known |= _fixed_factors(pd.concat(speaks_of) if speaks_of else [])
    if "best" in frames:
        known |= _best(frames["best"], words)
    if "difference" in frames:
        known |= _contrasts(frames, words)
    if "regression" in frames:
        known = _models(frames, words) | known
    if "correlation" in frames:
        known |= _correlations(frames, words)
    if "auroc" in frames:
        known |= _areas(frames["auroc"], words)
    paragraphs = (" ".join(filter(None, (said.fill(known) for said in said_of))) for said_of in TEMPLATE)
    return tuple(p for p in paragraphs if p)


def _flag(there: object) -> str | None:
    """Slot that says only whether something is told."""
    return "" if there else None


def _settings(frames: Mapping[str, pd.DataFrame], words: Words) -> Known:
    """What follows from the settings alone."""
    found = versions()
    packages = joined([f"{name} {found[key]}" for key, name in _COMPUTED_WITH.items()])
    kept, clusters = "formed one cluster in every analysis", ""
    if any(f["interval"].isin(BOOTSTRAP).any() for f in frames.values() if "interval" in f.columns):
        kept = f"were kept together when {words.units} were resampled"
        clusters = " and formed one cluster in regressions" if "regression" in frames else ""
    unit = words.settings.unit
    return {
        "level": words.level,
        "seed": str(words.settings.seed),
        "unit": words.unit,
        "units": words.units,
        "unit_and_why": _UNITS.get(unit, f"{words.unit}: all scores with the same value of {unit}"),
        "kept": kept,
        "clusters": clusters,
        "independent": ", and cases were taken as independent of each other" if unit == "case" else "",
        "lines": _flag("confidence" in frames),
        "letter_values": _flag("covariates" in frames),
        "software": f"salstats {found['salstats']} in Python {found['Python']} ({packages})",
    }


#: Packages that the report's own analyses run on.
_COMPUTED_WITH = {"numpy": "NumPy", "pandas": "pandas", "scipy": "SciPy"}


def _outcomes(frames: Mapping[str, pd.DataFrame], words: Words) -> Known:
    """What was measured, and what was done with undefined scores."""
    metrics = words.by_metric(frames["describe"])
    names = [_metric(m, rows, words) for m, rows in metrics]
    notes = [known.note for m, _ in metrics if (known := registered_metric(m)) and known.note]
    flow = frames["flow"]
    by_reason, n_absent = undefined_scores(flow)
    lost = int(by_reason.sum())
    total = int(flow.loc[flow["stage"] == FILE, "n_rows"].iloc[0]) - n_absent
    why = [f"{count_text(n)} {reason}" for reason, n in by_reason.items()]
    worst = any("undefined" in f.columns and f["undefined"].notna().any() for f in frames.values())
    imputed = "; masks that mark nothing had been given the worst score (0, or the image's diagonal)"
    return {
        "outcomes": f"{'The outcome was' if len(names) == 1 else 'Outcomes were'} {joined(names)}",
        "metric_notes": " ".join(notes) or None,
        "all_defined": _flag(not lost),
        "lost": count_text(lost) if lost else None,
        "total": count_text(total),
        "share": percent_text(100 * lost / total),
        "reasons": f": {joined(why)}" if set(by_reason.index) - {UNDEFINED} else "",
        "imputed": imputed if worst else "; none was imputed" if lost else "",
        "continuous": _flag(not all(_is_binary(rows) for _, rows in metrics)),
    }


def _metric(metric: str, rows: pd.DataFrame, words: Words) -> str:
    """Metric with its range and direction."""
    known, label = registered_metric(metric), words.metric(metric)
    if known is None:
        return f"{label} (taken as given; no direction was assumed)"
    better = "larger is better" if known.larger_is_better else "smaller is better"
    long = METRICS_IN_FULL.get(known.name, "")
    long = f"{long}; " if long and long not in label.lower() else ""
    return f"{label} ({long}{'0 or 1 for each case' if _is_binary(rows) else _range(known)}; {better})"


def _is_binary(rows: pd.DataFrame) -> bool:
    """Whether all defined scores of some descriptions are 0 or 1."""
    there = rows[rows["n"] > 0]
    return bool(len(there) and there["binary"].all())


def _range(metric: Metric) -> str:
    """Values that a metric can take."""
    if np.isinf(metric.low):
        return "any value"
    if np.isinf(metric.high):
        return "0 or more"
    return f"{f'{metric.low:g}'.replace('-', MINUS)} to {metric.high:g}"


def _scores(scores: pd.DataFrame, words: Words) -> Known:
    """What the scores say of their slice, of how maps became masks, and of readers and seeds."""

    def said(column: str) -> list[str]:
        return sorted(scores[column].dropna().astype(str).unique()) if column in scores.columns else []

    slices, cut = said("slice"), said("threshold")
    numbers = [text for text in cut if _is_number(text)]
    thresholds = [f"{threshold_label(text)} threshold" for text in cut if text not in numbers]
    if numbers:
        span = numbers[0]
        if len(numbers) > 1:
            span = f"{numbers[0]} to {numbers[-1]}, one for each task and method"
        thresholds.append(f"a threshold of {span}")
    repeated = [
        f"Cases had scores of several {plural(column)} ({scores[column].nunique()} in all). These stood as "
        f"rows of their case and were kept together in every analysis."
        for column in ("reader", "seed")
        if several(scores, column)
    ]
    return {
        "slice": slices[0] if len(slices) == 1 else None,
        "slice_is": _SLICES.get(slices[0], "") if slices else "",
        "truth_only": _flag(slices == ["true-positive"] and {"prob", "label"} <= set(scores.columns)),
        "thresholds": joined(thresholds) if thresholds else None,
        "cutoff": _flag(said("cutoff")),
        "smooth": _flag(said("smooth")),
        "repeated_rows": " ".join(repeated) or None,
    }


def _fixed_factors(speaks_of: Iterable[object]) -> Known:
    """Say which of readers and trainings were fixed, and what would speak of others."""
    nouns = fixed_nouns(speaks_of)
    if not nouns:
        return {}
    text = " and ".join(nouns)
    known: Known = {"fixed": text, "fixed_capital": text.capitalize(), "as_readers": "", "renamed": ""}
    if TRAININGS in nouns:
        known["as_readers"] = ", with trainings in the place of readers"
        known["renamed"] = " of scores whose column seed or model is renamed to reader"
    return known


def _is_number(text: str) -> bool:
    """Whether the text of a threshold is a number rather than a name."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _weights(words: Words) -> str | None:
    """How much scores counted, where they did not count alike."""
    weights = words.settings.weights
    if weights is None:
        return None
    if isinstance(weights, Mapping):
        tasks = words.tasks(weights)
        shares = joined([f"{w:g} ({task})" for task, w in zip(tasks, weights.values(), strict=True)])
        return f"Averages over tasks weighted tasks by {shares}; those without a defined score were left out."
    rest = "Descriptions, correlations and AUROCs were not weighted."
    if weights in (UNIT, words.settings.unit):
        return f"Each {words.unit} counted as one, whatever its number of scores. {rest}"
    return (
        f"Cases were weighted by {words.column(weights)}, the number of cases that each stood for, as "
        f"weights of sampling (Lumley 2010). {rest}"
    )


def _means(frames: Mapping[str, pd.DataFrame], words: Words) -> Known:
    """How means, contrasts and their averages over tasks have intervals."""
    there = {key: frames[key] for key in _NOUNS if key in frames}
    averaged = any(pooled_rows(frame).any() for frame in there.values())
    kinds: dict[str, list[str]] = {}
    for key, frame in there.items():
        taken = frame["interval"].astype("str").value_counts()
        for kind, n in taken.items():
            some = f"{count_text(n)} of the {count_text(len(frame))} " if len(taken) > 1 else ""
            kinds.setdefault(str(kind), []).append(f"{some}{_NOUNS[key]}")
    tested = "difference" in there and (there["difference"]["test"] == "bootstrap").any()
    drawn = tested or bool(set(kinds) & set(BOOTSTRAP))
    most = max((f["n_undefined"].max() for f in there.values() if "n_undefined" in f.columns), default=0)
    return {
        "mean_by": joined(["metric", "method", *(["task"] if averaged else [])]),
        "averaged": _flag(averaged and not isinstance(words.settings.weights, Mapping)),
        "intervals": " ".join(_interval(kind, nouns, words) for kind, nouns in kinds.items()),
        "replicates": count_text(words.settings.n_replicates) if drawn else None,
        "resampling": "" if words.settings.unit == "case" else " (Field and Welsh 2007)",
        "of_a_task": ", for an average without a score of one of its tasks" if averaged else "",
        "most_undefined": count_text(most) if most > 0 else None,
    }


def _interval(kind: str, nouns: Sequence[str], words: Words) -> str:
    """How the intervals of means and contrasts were made; `nouns` say of what."""
    record = interval_by_name(kind)
    assert record is not None
    how = record.note.format(unit=words.unit)
    return f"The {words.level}% confidence intervals of {joined(nouns)} were {how}."


def _best(frame: pd.DataFrame, words: Words) -> Known:
    """How the method with the best mean was compared with the others."""
    adjusted = words.procedure(frame) and frame["n_tests"].max() > 1
    return {
        "best_metric": words.metric(str(frame["metric"].iloc[0])),
        "n_others": count_text(frame["n_tests"].max()) if adjusted else None,
        "test": _tests(frame, words),
    }


def _tests(frame: pd.DataFrame, words: Words) -> str:
    """How differences were tested."""
    tests = frame["test"].value_counts()
    how = [TESTS[str(name)].note for name in tests.index]
    if len(how) > 1:
        how[1:] = [f"Of {count_text(n)} of them: {note}" for n, note in zip(tests[1:], how[1:], strict=True)]
    return " ".join(how).format(unit=words.unit, replicates=count_text(words.settings.n_replicates))


def _contrasts(frames: Mapping[str, pd.DataFrame], words: Words) -> Known:
    """How methods were compared with the reference."""
    frame, decrease = frames["difference"], frames.get("decrease")
    tested, rule = read_estimates(frame), ""
    if words.procedure(frame):
        rule = f" and its {words.p_name(frame)} was below {words.alpha}"
    if frame["interval"].isin(BOOTSTRAP).any():
        rule += ", and no more than 1% of its replicates were undefined"
    lacking = set(frame["metric"]) - set(decrease["metric"]) if decrease is not None else set()
    return {
        "reference": words.method(words.settings.reference),
        "on_task": " and task" if "task" in frame.columns else "",
        "decrease": _flag(decrease is not None),
        "averaged_decrease": _flag(decrease is not None and pooled_rows(decrease).any()),
        "without_zero": words.metrics(words.labels.order("metric", sorted(lacking))) if lacking else None,
        "test": _tests(frame, words),
        "adjusted": _adjustment("differences", frame, words),
        "margin": margin_text(tested, words.labels) if has_margins(tested) else None,
        "margin_adjusted": ", adjusted likewise as a family of its own," if words.procedure(frame) else "",
        "alpha": words.alpha,
        "rule": rule,
    }


def _adjustment(
    noun: str, frame: pd.DataFrame, words: Words, before: Sequence[pd.DataFrame] = ()
) -> str | None:
    """How the P values of a frame were adjusted; how is not said again where frames `before` were."""
    if "p_value" not in frame.columns or not frame["p_value"].notna().any():
        return None
    procedure, n_tests = words.procedure(frame), int(frame["p_value"].notna().sum())
    if procedure is None:
        return f"P values of {noun} were not adjusted for multiple tests."
    if n_tests == 1:
        return f"With a single test, the P value of {noun} needed no adjustment."
    families = ""
    if 0 < pooled_rows(frame).sum() < len(frame):
        families = ", those in single tasks and those over tasks as families of their own"
    over = f"the {count_text(n_tests)} {noun}{families}; confidence intervals were not adjusted."
    again = any(words.procedure(f) for f in before)
    how = "by the same procedure" if again else f"for multiple tests by {procedure.note}"
    return f"P values were adjusted {how}, over {over}"


def _models(frames: Mapping[str, pd.DataFrame], words: Words) -> Known:
    """Models of scores, and of gaps to the reference, on covariates."""
    frame = frames["regression"]
    covariates, gaps, reference = list(frame["term"].unique()), of_gaps(frame).any(), words.settings.reference
    metrics = words.by_metric(frames["describe"][frames["describe"]["metric"].isin(outcomes(frame))])
    binary = [words.metric(m) for m, rows in metrics if _is_binary(rows)]
    several_covariates = len(covariates) > 1
    before = [frames["difference"]] if "difference" in frames else []
    return {
        "reference": words.method(reference) if gaps else None,
        "covariates": joined([words.column(c) for c in covariates]),
        "model_for": joined(["covariate"] * several_covariates + ["method", "metric"]),
        "but_reference": f" ({words.method(reference)} excepted)" if reference is not None else "",
        "with_task": ", with task as a categorical covariate" if with_task(frame) else "",
        "alone": "; slopes are thus not adjusted for the other covariates" if several_covariates else "",
        "gaps": _flag(gaps),
        "binary": joined(binary) if binary else None,
        "errors": " ".join(ERRORS[e].note.format(unit=words.unit) for e in frame["errors"].unique()),
        "adjusted_slopes": _adjustment(
            "slopes of scores and gaps" if gaps else "slopes", frame, words, before
        ),
    }


def _correlations(frames: Mapping[str, pd.DataFrame], words: Words) -> Known:
    """How correlations with the model's confidence were taken."""
    frame = frames["correlation"]
    by = [name for name in ("method", "task") if name in frame.columns and frame[name].nunique() > 1]
    record = interval_by_name(frame["interval"].iloc[0], frame["term"].iloc[0])
    before = [frames[key] for key in ("difference", "regression") if key in frames]
    return {
        "coefficient": str(frame["term"].iloc[0]).capitalize(),
        "prob": words.column(str(frame["y"].iloc[0])),
        "separately": f", separately by {joined(by)}" if by else "",
        "correlation_interval": record.note.format(unit=words.unit) if record else None,
        "perfect": _flag((frame["estimate"].abs() == 1).any()),
        "adjusted_correlations": _adjustment("correlations", frame, words, before),
    }


def _areas(frame: pd.DataFrame, words: Words) -> Known:
    """How areas under ROC curves and their intervals were computed."""
    by_wilson = frame["interval"] == "wilson"
    record = interval_by_name("logit" if by_wilson.all() else frame["interval"][~by_wilson].iloc[0], "auroc")
    how = record.note.format(unit=words.unit) if record else None
    if how and by_wilson.any():
        how += (
            "; where that has no variance, as in complete separation, they are Wilson's score interval "
            f"(Wilson 1927) for as many cases as there were {words.units} with the rarer label"
        )
    return {
        "predictor": words.column(str(frame["predictor"].iloc[0])),
        "target": target_words(frame, words),
        "by_task": " by task" if "task" in frame.columns and frame["task"].nunique() > 1 else "",
        "area_interval": how,
    }


def references() -> dict[str, str]:
    """Author and year, as the Methods section writes it, and the reference."""
    table = pd.read_csv(data_folder() / "report" / "references.csv")
    return dict(zip(table["cited"], table["reference"], strict=True))


def methods_references(paragraphs: Sequence[str]) -> tuple[str, ...]:
    """References that paragraphs cite, in the order in which they are first cited."""
    text = "\n".join(paragraphs)
    cited = [(text.index(key), reference) for key, reference in references().items() if key in text]
    return tuple(reference for _, reference in sorted(cited))

"""The Methods section: what was done, from the settings and the frames that are there."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from salstats.display.report.analyses import several
from salstats.display.report.inference_words import (
    TIMES,
    adjustment,
    interval_words,
    p_value_words,
    taken_as_shown,
)
from salstats.display.report.levels import undefined_scores
from salstats.display.report.methods_models import confidence_methods, regression_methods
from salstats.display.report.model import Settings
from salstats.display.report.provenance import versions
from salstats.display.report.wording import (
    known_metric,
    method_words,
    metric_words,
    pooled_rows,
    unit_words,
)
from salstats.display.text.format import MINUS, count_text, joined, level_text, percent_text, plural
from salstats.display.text.labels import Labels
from salstats.display.text.vocabulary import METRICS_IN_FULL
from salstats.files.inputs import data_folder
from salstats.metrics.registry import Metric
from salstats.stats.carried import UNDEFINED, missing_scores
from salstats.stats.case_flow import FILE
from salstats.stats.intervals import BOOTSTRAP
from salstats.stats.models.covariance import CLUSTERED

#: What a slice is.
_SLICES = {
    "true-positive": " (where the truth has the finding)",
    "full": " (all images; undefined only where there was nothing to divide by)",
    "predicted-positive": " (where the model finds the finding)",
}
#: What the rows of a frame are called.
_NOUNS = {
    "means": "mean scores",
    "decrease": "percentage decreases",
    "difference": "differences",
}
#: Packages that the report's own analyses run on.
_COMPUTED_WITH = {"numpy": "NumPy", "pandas": "pandas", "scipy": "SciPy"}


def methods_text(
    settings: Settings, *, frames: Mapping[str, pd.DataFrame], labels: Labels
) -> tuple[str, ...]:
    """Paragraphs of a paper's section on statistical analysis.

    Only what was run is told, which follows from the frames.

    Parameters
    ----------
    settings : Settings
        The choices that every analysis shares.
    frames : Mapping of str to DataFrame
        Those there are of "flow" (`case_flow`), "describe", "means", "decrease", "difference", "regression"
        (of scores and of their gaps to the reference on covariates rescaled to run from 0 to 1, covariates'
        terms), "correlation" and "auroc" (of `prob`), "confidence" (`fit_line`), "covariates"
        (`letter_values`).
    labels : Labels
        What methods, metrics and covariates are called.

    Returns
    -------
    tuple of str
        In the past tense; papers are cited by author and year, see `methods_references`.
    """
    there = {key: frame for key, frame in frames.items() if frame is not None and not frame.empty}
    writers = (_outcomes, _means, _contrasts, regression_methods, confidence_methods, _figures, _software)
    paragraphs = (" ".join(filter(None, writer(there, settings, labels))) for writer in writers)
    return tuple(p for p in paragraphs if p)


def _outcomes(frames: Mapping[str, pd.DataFrame], settings: Settings, labels: Labels) -> list[str]:
    """What was measured, on what, and what was done with undefined scores."""
    frame = next((frames[k] for k in ("describe", "means", "decrease", "difference") if k in frames), None)
    found = []
    if frame is not None:
        metrics = labels.order("metric", frame["metric"])
        names = [_metric(m, frame, labels) for m in metrics]
        found.append(f"{'The outcome was' if len(names) == 1 else 'Outcomes were'} {joined(names)}.")
        found += [known.note for known in map(known_metric, metrics) if known is not None]
    found.append(_unit(frames, settings))
    return [*found, *_missing(frames)]


def _metric(metric: str, frame: pd.DataFrame, labels: Labels) -> str:
    """Metric with its range and direction."""
    known = known_metric(metric)
    if known is None:
        return f"{metric_words(metric, labels)} (taken as given; no direction was assumed)"
    rows = frame[frame["metric"] == metric]
    binary = "binary" in rows.columns and bool(rows["binary"][rows["n"] > 0].all()) and (rows["n"] > 0).any()
    better = "larger is better" if known.larger_is_better else "smaller is better"
    label = metric_words(metric, labels)
    long = METRICS_IN_FULL.get(known.name, "")
    long = f"{long}; " if long and long not in label.lower() else ""
    return f"{label} ({long}{'0 or 1 for each case' if binary else _range(known)}; {better})"


def _range(metric: Metric) -> str:
    """Values that a metric can take."""
    if np.isinf(metric.low):
        return "any value"
    return (
        "0 or more"
        if np.isinf(metric.high)
        else f"{f'{metric.low:g}'.replace('-', MINUS)} to {metric.high:g}"
    )


def _unit(frames: Mapping[str, pd.DataFrame], settings: Settings) -> str:
    """Unit of analysis and why it is that."""
    one, many = unit_words(settings.unit)
    models = " and formed one cluster in regressions" if "regression" in frames else ""
    kept = f"were kept together when {many} were resampled"
    if settings.interval not in BOOTSTRAP:
        kept, models = "formed one cluster in every analysis", ""
    if settings.unit == "case":
        return (
            "The unit of analysis was the case (one image): all scores of a case "
            f"{kept}{models}, and cases were taken as independent of each other."
        )
    if settings.unit == "patient":
        return (
            "The unit of analysis was the patient, as a patient can contribute several cases (images): all "
            f"scores of a patient {kept}{models}."
        )
    return (
        f"The unit of analysis was the {one}: all scores with the same value of {settings.unit} "
        f"{kept}{models}."
    )


def _missing(frames: Mapping[str, pd.DataFrame]) -> list[str]:
    """What was done with undefined scores, and how many there were."""
    counts, why = None, ""
    if "flow" in frames:
        flow = frames["flow"]
        by_reason, n_absent = undefined_scores(flow)
        total = int(flow.loc[flow["stage"] == FILE, "n_rows"].iloc[0]) - n_absent
        counts = int(by_reason.sum()), total
        if set(by_reason.index) - {UNDEFINED}:
            why = ": " + joined([f"{count_text(n)} {reason}" for reason, n in by_reason.items()])
    elif "describe" in frames:
        table = frames["describe"]
        undefined = int(missing_scores(table).sum())
        counts = undefined, int(table["n"].sum()) + undefined
    if counts is None:
        return [f"Undefined scores were left out{_imputed(frames)}."]
    lost, total = counts
    if not lost:
        said = _imputed(frames)
        return [f"No score was undefined{'' if said == _NONE_IMPUTED else said}."]
    share = percent_text(100 * lost / total)
    return [
        f"Undefined scores ({count_text(lost)} of {count_text(total)}, {share}{why}) were left out of the "
        f"analyses that needed them{_imputed(frames)}."
    ]


_NONE_IMPUTED = "; none was imputed"


def _imputed(frames: Mapping[str, pd.DataFrame]) -> str:
    """Whether scores were put in the place of undefined ones before."""
    if any("undefined" in frame.columns and frame["undefined"].notna().any() for frame in frames.values()):
        return "; masks that mark nothing had been given the worst score (0, or the image's diagonal)"
    return _NONE_IMPUTED


def _means(frames: Mapping[str, pd.DataFrame], settings: Settings, labels: Labels) -> list[str]:
    """How means, their averages over tasks and their intervals were made."""
    keys = [k for k in ("means", "decrease", "difference") if k in frames]
    found = []
    averaged = any(pooled_rows(frames[k]).any() for k in keys)
    if "describe" in frames:
        table = frames["describe"]
        if not table.loc[table["n"] > 0, "binary"].all():
            found.append("Scores were described by mean, standard deviation, median and quartiles.")
    if "means" in frames:
        by = ["metric", "method", *(["task"] if _several_tasks(frames["means"]) else [])]
        found.append(f"Mean scores were computed for each {joined(by)}.")
    if averaged:
        found.append(
            "Averages over tasks weighted tasks equally, whatever their number of cases; tasks without a "
            "defined score (in comparisons: without a complete pair) were left out of them."
        )
    kinds: dict[str, list[str]] = {}
    for key in keys:
        for kind in frames[key]["interval"].astype("str").unique():
            kinds.setdefault(kind, []).append(_NOUNS[key])
    found += [interval_words(kind, nouns, settings) for kind, nouns in kinds.items()]
    tested = any((frames[k]["test"] == "bootstrap").any() for k in keys if "test" in frames[k].columns)
    if tested or set(kinds) & set(BOOTSTRAP):
        found += _resampling(frames, keys, settings, averaged)
    return found


def _several_tasks(frame: pd.DataFrame) -> bool:
    """Whether a frame has more than one task, averages apart."""
    return "task" in frame.columns and frame["task"][~pooled_rows(frame)].nunique() > 1


def _resampling(
    frames: Mapping[str, pd.DataFrame], keys: list[str], settings: Settings, averaged: bool
) -> list[str]:
    """How units were resampled, and what became of undefined replicates."""
    many = unit_words(settings.unit)[1]
    cited = " (Field and Welsh 2007)" if settings.unit != "case" else ""
    found = [
        f"In each of {count_text(settings.n_replicates)} bootstrap replicates (seed {settings.seed}), {many} "
        f"were drawn with replacement, as many as there were{cited}; the same draw served all methods, tasks "
        "and metrics, so that paired scores stayed paired."
    ]
    columns = [frames[k]["n_undefined"] for k in keys if "n_undefined" in frames[k].columns]
    most = int(max((c.max() for c in columns), default=0))
    if most:
        task = ", for an average without a score of one of its tasks" if averaged else ""
        found.append(
            f"Replicates without a defined estimate (without a defined score{task}, or with a reference mean "
            f"of 0) were left out, at most {count_text(most)} of {count_text(settings.n_replicates)} for any "
            "estimate."
        )
    return found


def _contrasts(frames: Mapping[str, pd.DataFrame], settings: Settings, labels: Labels) -> list[str]:
    """How methods were compared with the reference."""
    keys = [k for k in ("decrease", "difference") if k in frames]
    if not keys:
        return []
    frame = frames[keys[0]]
    reference = method_words(str(frame["reference"].iloc[0]), labels)
    on = " and task" if "task" in frame.columns else ""
    found = [
        f"Each of the other methods was compared with {reference} on the pairs in which both scores were "
        f"defined for the same case{on} (complete pairs)."
    ]
    if "difference" in frames:
        found.append(f"The difference was the mean score of the method minus that of {reference}.")
    if "decrease" in frames:
        found += _decrease(frames, reference, labels)
    found += [p_value_words(str(test), settings) for test in dict.fromkeys(frame["test"].astype("str"))]
    if "difference" in frames and "decrease" in frames:
        found.append("They are those of the differences, which a percentage decrease shares.")
    judged = [k for k in keys if k == "difference"] or keys
    found.append(adjustment({_NOUNS[k]: frames[k] for k in judged}, settings))
    found.append(taken_as_shown(frame, settings))
    return found


def _decrease(frames: Mapping[str, pd.DataFrame], reference: str, labels: Labels) -> list[str]:
    """What a percentage decrease is, and of which metrics it was taken."""
    frame = frames["decrease"]
    found = [
        f"The percentage decrease was 100 {TIMES} (R {MINUS} M) / R, with R the mean score of {reference} "
        "and M that of the method over the same pairs; for R above 0 it is positive where M is the smaller."
    ]
    if pooled_rows(frame).any():
        found.append(
            "Averaged over tasks, it was the decrease of the averages: R and M were averaged over tasks "
            "first (Saporta et al. 2022)."
        )
    others = set(frames["difference"]["metric"]) - set(frame["metric"]) if "difference" in frames else set()
    if others:
        names = joined([metric_words(m, labels) for m in labels.order("metric", sorted(others))])
        found.append(f"It was not taken of {names}, whose zero does not mean that there is nothing.")
    return found


def _figures(frames: Mapping[str, pd.DataFrame], settings: Settings, labels: Labels) -> list[str]:
    """How distributions are shown, where that needs saying."""
    found = []
    if "confidence" in frames:
        frame = frames["confidence"]
        level = level_text(settings.level)
        clustered = ""
        if str(frame["errors"].iloc[0]) in CLUSTERED:
            clustered = f", with standard errors clustered by {unit_words(settings.unit)[0]}"
        found.append(
            "Lines in scatter plots were fitted by ordinary least squares, by panel and group; their bands "
            f"are pointwise {level}% confidence limits of the mean{clustered}."
        )
    if "covariates" in frames:
        found.append("Distributions of covariates were shown by their letter values (Hofmann et al. 2017).")
    return found


def _software(frames: Mapping[str, pd.DataFrame], settings: Settings, labels: Labels) -> list[str]:
    """What it was computed with."""
    found = versions()
    packages = joined([f"{name} {found[key]}" for key, name in _COMPUTED_WITH.items() if key in found])
    return [
        f"Statistics were computed with salstats {found['salstats']} in Python {found['Python']} "
        f"({packages})."
    ]


def masks_made(scores: pd.DataFrame) -> tuple[str, ...]:
    """What slice the scores are of and how maps became masks, as far as the scores say it."""
    sentences = []
    slices = scores["slice"].dropna().astype(str).unique() if "slice" in scores.columns else []
    if len(slices) == 1:
        sentences.append(f"Scores are of the {slices[0]} slice{_SLICES.get(slices[0], '')}.")
        if slices[0] == "true-positive" and {"prob", "label"} <= set(scores.columns):
            sentences.append(
                "Images that the truth does not hold are not among them, so an AUROC is of the others only."
            )
    cut = scores["threshold"].dropna().astype(str).unique() if "threshold" in scores.columns else []
    if len(cut):
        own = sorted(t for t in cut if t != "otsu")
        texts = ["Otsu's threshold"] if "otsu" in cut else []
        if own:
            span = own[0] if len(own) == 1 else f"{own[0]} to {own[-1]}, one for each task and method"
            texts.append(f"a threshold of {span}")
        sentences.append(
            f"Maps, resized to their image and scaled to 0 to 1, became masks at {joined(texts)}."
        )
    if "cutoff" in scores.columns and scores["cutoff"].notna().any():
        sentences.append("Masks were empty where the probability was below its cut-off.")
    if "smooth" in scores.columns and scores["smooth"].notna().any():
        sentences.append("Maps were smoothed with a box filter before the threshold.")
    return (" ".join(sentences),) if sentences else ()


def repeated_rows(scores: pd.DataFrame, settings: Settings) -> tuple[str, ...]:
    """What became of several readers or seeds of one case."""
    units = plural(settings.unit)
    return tuple(
        f"Cases had scores of several {plural(column)} ({scores[column].nunique()} in all). These stood as "
        f"rows of their case, were kept together in every analysis and averaged in correlations; intervals "
        f"and P values speak of other {units}, not of other {plural(column)}."
        for column in ("reader", "seed")
        if several(scores, column)
    )


def references() -> dict[str, str]:
    """Author and year, as the Methods section writes it, and the reference."""
    table = pd.read_csv(data_folder() / "report" / "references.csv")
    return dict(zip(table["cited"], table["reference"], strict=True))


def methods_references(paragraphs: Sequence[str]) -> tuple[str, ...]:
    """References that paragraphs cite, in the order in which they are first cited."""
    text = "\n".join(paragraphs)
    cited = [(text.index(key), reference) for key, reference in references().items() if key in text]
    return tuple(reference for _, reference in sorted(cited))

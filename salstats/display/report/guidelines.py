"""What reporting guidelines ask for: what a report answers, and what its author has to add.

Item numbers are those of the two published checklists; their subjects are in our own words.

References
----------
Tejani AS, Klontzas ME, Gatti AA, et al. Checklist for Artificial Intelligence in Medical Imaging (CLAIM):
2024 update. Radiol Artif Intell 2024;6(4):e240300. doi:10.1148/ryai.240300

Sounderajah V, Guni A, Liu X, et al. The STARD-AI reporting guideline for diagnostic accuracy studies using
artificial intelligence. Nat Med 2025;31:3283-3289. doi:10.1038/s41591-025-03953-8
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from salstats.stats.absent import missing_scores

CLAIM = "CLAIM 2024 (doi:10.1148/ryai.240300)"
STARD_AI = "STARD-AI 2025, for studies of diagnostic accuracy (doi:10.1038/s41591-025-03953-8)"

#: Stands beside the frames' keys where there are undefined scores.
_UNDEFINED = "undefined"


@dataclass(frozen=True)
class _Entry:
    """One item or a run of them, for reports that have the frame `needs` and not the frame `lacks`."""

    guideline: str
    item: str
    text: str
    needs: str = ""
    lacks: str = ""


_NOT_COVERED = (
    _Entry(
        CLAIM,
        "1 to 4: title, summary, background, aims",
        "Name the kind of AI and its intended role, and state the aims and hypotheses with which the study "
        "began.",
    ),
    _Entry(
        CLAIM,
        "5, 6: design and goal",
        "Say whether the study is prospective or retrospective, and what it is for.",
    ),
    _Entry(
        CLAIM,
        "7, 8: data sources, inclusion and exclusion",
        "Name the sources and the rules by which cases entered; the report sees only cases with scores.",
    ),
    _Entry(
        CLAIM,
        "9 to 11, 13: preprocessing, subsets, de-identification, acquisition",
        "Describe how images were acquired, prepared and de-identified, and how subsets were chosen.",
    ),
    _Entry(
        CLAIM,
        "12: missing data",
        "Say what made scores undefined, and whether that depends on the case; the report counts them and "
        "leaves them out.",
    ),
    _Entry(
        CLAIM,
        "14 to 17: reference standard and its annotations",
        "Say how the reference annotations were made, why in this way, by whom, with what experience and "
        "tool; the same for a human benchmark.",
    ),
    _Entry(
        CLAIM,
        "18: variability within and between annotators",
        "Give the agreement of annotators; the report does not estimate it.",
    ),
    _Entry(
        CLAIM,
        "19, 20: data partitions",
        "Say how cases were assigned to training, tuning and test sets, and that no patient is in two of "
        "them (or at which other level they are disjoint).",
    ),
    _Entry(
        CLAIM,
        "21: intended sample size",
        "Say how the number of cases was planned; intervals show the precision that was reached.",
    ),
    _Entry(
        CLAIM,
        "22, 24 to 27: model and training",
        "Describe the model, its initialisation, training, selection and ensembling.",
    ),
    _Entry(
        CLAIM,
        "23: software",
        "Name the software of the model and of the saliency maps; the report names that of the statistics.",
    ),
    _Entry(
        CLAIM,
        "28: metrics",
        "Say why these metrics were chosen, and how each was computed from maps and annotations "
        "(thresholds, resizing, empty masks); the report takes scores as given.",
    ),
    _Entry(
        CLAIM,
        "29: statistical significance and uncertainty",
        "Say which comparisons were planned beforehand and which was primary; P values are adjusted over "
        "what the report shows, not over analyses made elsewhere.",
    ),
    _Entry(
        CLAIM,
        "30: robustness or sensitivity",
        "Add sensitivity analyses, such as other thresholds, training runs, or undefined scores counted as "
        "failures.",
    ),
    _Entry(
        CLAIM,
        "31: explainability",
        "Give the parameters of each saliency method (layer, target class, smoothing). A score against "
        "annotations says how far a map agrees with them, not whether it is faithful to the model or of use "
        "to a reader.",
    ),
    _Entry(
        CLAIM,
        "32, 33: internal and external evaluation",
        "Say whether the cases are internal or external to the data that the model was developed on.",
    ),
    _Entry(CLAIM, "34: registration", "Give the registration of a clinical trial, where it is one."),
    _Entry(
        CLAIM,
        "35: numbers included and excluded",
        "Add the patients and examinations excluded before scoring, with reasons; the flow begins with the "
        "scores.",
    ),
    _Entry(
        CLAIM,
        "36: demographic and clinical characteristics",
        "Give age, sex and clinical characteristics of the cases, for each partition.",
    ),
    _Entry(
        CLAIM,
        "37, 38: performance and its precision",
        "Add the performance of the classifier itself; the report has none.",
        lacks="auroc",
    ),
    _Entry(
        CLAIM,
        "37, 38: performance and its precision",
        "Beyond the AUROC, add sensitivity and specificity at the operating point, and calibration.",
        needs="auroc",
    ),
    _Entry(
        CLAIM,
        "39: failure analysis",
        "Look at the cases with the lowest scores and describe what went wrong.",
    ),
    _Entry(
        CLAIM,
        "40, 41: limitations and implications",
        "Discuss bias, uncertainty and generalisability, and what follows for practice.",
    ),
    _Entry(
        CLAIM,
        "42 to 44: protocol, availability, funding",
        "Refer to the protocol, say where data, model and code are, and who funded the study.",
    ),
    _Entry(
        STARD_AI,
        "1 to 4: title, abstract, background, objectives",
        "Identify the study as one of AI-centred diagnostic accuracy, with the test's intended use, its "
        "place in the workflow, and the objectives and hypotheses.",
    ),
    _Entry(
        STARD_AI,
        "5, 6: design and ethics",
        "Say whether data collection was planned before the tests were done, and give the ethics approval "
        "or why none was needed.",
    ),
    _Entry(
        STARD_AI,
        "7 to 10: participants",
        "Give eligibility criteria for participants and for data, how, where and when participants were "
        "identified, and whether as a consecutive, random or convenience series.",
    ),
    _Entry(
        STARD_AI,
        "11 to 14: dataset",
        "Give the source of the data, who annotated them and how, devices and software, acquisition and "
        "preprocessing.",
    ),
    _Entry(
        STARD_AI,
        "15a to 15d: index test",
        "Describe the model so that it can be repeated, its development, its cut-offs (prespecified or "
        "not), and its users.",
    ),
    _Entry(
        STARD_AI,
        "16a to 17b: reference standard and blinding",
        "Describe the reference standard, why it was chosen, its cut-offs, and what its assessors and those "
        "of the index test knew.",
    ),
    _Entry(
        STARD_AI,
        "19, 20: indeterminate results and missing data",
        "Say what made scores undefined and how indeterminate results were handled; the report counts "
        "undefined scores and leaves them out.",
    ),
    _Entry(
        STARD_AI,
        "19: indeterminate results",
        "Say how indeterminate results were handled before scoring; no score is undefined here.",
        lacks=_UNDEFINED,
    ),
    _Entry(
        STARD_AI,
        "21: variability in accuracy",
        "Say which of the regressions on covariates were prespecified and which are exploratory.",
        needs="regression",
    ),
    _Entry(
        STARD_AI,
        "21: variability in accuracy",
        "Add analyses of what makes accuracy vary, prespecified and exploratory; without covariates the "
        "report has none.",
        lacks="regression",
    ),
    _Entry(STARD_AI, "22: sample size", "Say how the intended sample size was determined."),
    _Entry(
        STARD_AI,
        "23: error analysis, bias and fairness",
        "Add an analysis of errors, and of performance by sex, age and other groups that matter; fairness is "
        "not assessed here.",
    ),
    _Entry(
        STARD_AI,
        "24: flow of participants",
        "Add the participants lost before scoring; the flow begins with the scores.",
    ),
    _Entry(
        STARD_AI,
        "25 to 27: characteristics, severity, time between tests",
        "Give demographic, clinical and technical characteristics of each set, severity, alternative "
        "diagnoses, and time and treatment between the tests.",
    ),
    _Entry(
        STARD_AI,
        "28, 29: representativeness and external data",
        "Say whether the cases have the distribution expected in use, and how an external set differs.",
    ),
    _Entry(
        STARD_AI,
        "30: cross-tabulation",
        "Tabulate the model's results at its cut-off against the reference standard.",
    ),
    _Entry(
        STARD_AI,
        "31: estimates of accuracy",
        "Add diagnostic accuracy with its precision; the report has none.",
        lacks="auroc",
    ),
    _Entry(
        STARD_AI,
        "31: estimates of accuracy",
        "Beyond the AUROC, add accuracy at the cut-off with its precision.",
        needs="auroc",
    ),
    _Entry(STARD_AI, "32: adverse events", "Report adverse events of the tests, where there can be any."),
    _Entry(
        STARD_AI,
        "33 to 35: limitations, implications, ethics and fairness",
        "Discuss limitations, the test's intended role, and ethical considerations of its use.",
    ),
    _Entry(
        STARD_AI,
        "36 to 40b: registration, protocol, funding, interests, availability, audit",
        "Give registration, protocol, funding and commercial interests, where data and code are, and "
        "whether outputs are stored so that they can be audited.",
    ),
)

_ADDRESSED = (
    _Entry(
        CLAIM,
        "12: missing data",
        "Undefined scores are counted and left out; whether any is imputed is said.",
        needs=_UNDEFINED,
    ),
    _Entry(CLAIM, "23: software", "The software of the statistics is named with its versions."),
    _Entry(CLAIM, "28: metrics", "Metrics are named with their range and direction."),
    _Entry(
        CLAIM,
        "29: statistical significance and uncertainty",
        "Intervals, tests, the unit of analysis and the correction for multiple tests are described.",
    ),
    _Entry(
        CLAIM,
        "31: explainability",
        "Saliency methods are compared with a human or other reference on the same cases.",
        needs="difference",
    ),
    _Entry(
        CLAIM,
        "35: numbers included and excluded",
        "Cases and scores are counted at each step.",
        needs="flow",
    ),
    _Entry(
        CLAIM, "37: performance and uncertainty", "Every mean and contrast has its interval.", needs="means"
    ),
    _Entry(
        CLAIM, "38: diagnostic performance", "The classifier's AUROC is given with intervals.", needs="auroc"
    ),
    _Entry(
        STARD_AI,
        "18: statistical methods",
        "How accuracy was estimated and compared is described in Methods.",
    ),
    _Entry(
        STARD_AI,
        "20: missing data",
        "Undefined scores are counted and left out; whether any is imputed is said.",
        needs=_UNDEFINED,
    ),
    _Entry(
        STARD_AI,
        "21: variability in accuracy",
        "Scores are regressed on the covariates at hand.",
        needs="regression",
    ),
    _Entry(STARD_AI, "24: flow of participants", "The flow of cases is drawn.", needs="flow"),
    _Entry(STARD_AI, "31: estimates of accuracy", "The AUROC is given with intervals.", needs="auroc"),
)


def not_covered(frames: Mapping[str, pd.DataFrame]) -> tuple[tuple[str, str, str], ...]:
    """Return what the guidelines ask for that an author has to add.

    Parameters
    ----------
    frames : Mapping of str to DataFrame
        The frames of the report by key, as for `methods_text`.

    Returns
    -------
    tuple of (str, str, str)
        Guideline, item (its number and subject), what to add; in the order of the checklists.
    """
    return _chosen(_NOT_COVERED, frames)


def addressed(frames: Mapping[str, pd.DataFrame]) -> tuple[tuple[str, str, str], ...]:
    """Return what the report answers, at least in part: guideline, item, and how; as for `not_covered`."""
    return _chosen(_ADDRESSED, frames)


def _chosen(
    entries: tuple[_Entry, ...], frames: Mapping[str, pd.DataFrame]
) -> tuple[tuple[str, str, str], ...]:
    """Return the entries that hold for a report with these frames."""
    there = {key for key, frame in frames.items() if not frame.empty}
    if "describe" not in there or (missing_scores(frames["describe"]) > 0).any():
        there.add(_UNDEFINED)
    return tuple(
        (entry.guideline, entry.item, entry.text)
        for entry in entries
        if (not entry.needs or entry.needs in there) and entry.lacks not in there
    )

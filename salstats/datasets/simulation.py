"""Study-like scores whose true means, contrasts and slopes are known exactly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import as_generator, check_choice, check_count, quoted
from salstats.coded_text import TEXT
from salstats.errors import Message, Setting, ValueRangeError
from salstats.frames import check_scores


class _ScaledBeta(NamedTuple):
    """The distribution low + (high - low) * Beta(a, b)."""

    low: float
    high: float
    a: float
    b: float

    @property
    def mean(self) -> float:
        """Return the mean of the distribution."""
        return self.low + (self.high - self.low) * self.a / (self.a + self.b)


class _CovariateRange(NamedTuple):
    """Bounds and mean of a covariate if the finding is present."""

    low: float
    high: float
    mean: float


#: Distributions of the covariates that may drive a score; n_instances is 1 + Binomial(2, 1/4).
_DISTRIBUTIONS = {
    "area_ratio": _ScaledBeta(0.01, 0.41, 2.0, 4.0),
    "elongation": _ScaledBeta(1.0, 5.0, 1.5, 4.5),
    "irrectangularity": _ScaledBeta(0.05, 0.65, 3.0, 3.0),
    "prob": _ScaledBeta(0.0, 1.0, 5.0, 2.0),
}
_MAX_INSTANCES = 3
#: Probability of each further instance after the first.
_INSTANCE_PROBABILITY = 0.25
_RANGES = {
    **{name: _CovariateRange(beta.low, beta.high, beta.mean) for name, beta in _DISTRIBUTIONS.items()},
    "n_instances": _CovariateRange(
        1.0, float(_MAX_INSTANCES), 1 + (_MAX_INSTANCES - 1) * _INSTANCE_PROBABILITY
    ),
}
#: Confidence if the finding is absent: Beta(2, 5), the mirror image of Beta(5, 2).
_PROB_ABSENT = (2.0, 5.0)
COVARIATES = ("prob", "n_instances", "area_ratio", "elongation", "irrectangularity")
#: Finding, and the difference of its true mean from that of the method, for every method and metric.
TASKS: Mapping[str, float] = {
    "Atelectasis": -0.03,
    "Cardiomegaly": 0.05,
    "Consolidation": -0.02,
    "Edema": -0.01,
    "Pleural Effusion": 0.01,
}


@dataclass(frozen=True)
class ScoreModel:
    """The distribution of one metric of one method.

    Attributes
    ----------
    mean : float
        True mean of the score, exact zeros included; a task's shift is added to it.
    slopes : mapping of str to float
        True slope of the score on a covariate: `prob`, `n_instances`, `area_ratio`, `elongation`,
        `irrectangularity`. A covariate left out has slope 0.
    patient : float
        Half the width of the patient's effect, which is uniform on (-patient, patient) and shared by all
        scores of the patient (each with its own width).
    zeros : float
        Share of scores that are exactly 0, in [0, 1).
    precision : float
        Larger means less scatter: a score that is not 0 has variance m(1 - m)/(precision + 1), m its mean.
    binary : bool
        Draw 0 or 1, as a hit, instead; `zeros` and `precision` play no role.
    """

    mean: float
    slopes: Mapping[str, float] = field(default_factory=dict)
    patient: float = 0.0
    zeros: float = 0.0
    precision: float = 12.0
    binary: bool = False


def _slopes_by_covariate(*slopes: float) -> dict[str, float]:
    """Return slopes by covariate."""
    return dict(zip(COVARIATES, slopes, strict=True))


#: The default of `simulate_scores`: two saliency methods and a better human benchmark.
METHODS: Mapping[str, Mapping[str, ScoreModel]] = {
    "gradcam": {
        "iou": ScoreModel(
            0.30, _slopes_by_covariate(0.08, -0.015, 0.30, -0.015, -0.08), patient=0.04, zeros=0.06
        ),
        "hit": ScoreModel(
            0.50, _slopes_by_covariate(0.20, -0.02, 0.60, -0.03, -0.10), patient=0.08, binary=True
        ),
    },
    "occlusion": {
        "iou": ScoreModel(
            0.27, _slopes_by_covariate(0.06, -0.01, 0.25, -0.01, -0.06), patient=0.04, zeros=0.10
        ),
        "hit": ScoreModel(
            0.45, _slopes_by_covariate(0.15, -0.02, 0.50, -0.02, -0.10), patient=0.08, binary=True
        ),
    },
    "human": {
        "iou": ScoreModel(
            0.48, _slopes_by_covariate(0.0, -0.01, 0.20, -0.01, -0.06), patient=0.04, zeros=0.02
        ),
        "hit": ScoreModel(
            0.78, _slopes_by_covariate(0.0, -0.01, 0.20, -0.02, 0.0), patient=0.06, binary=True
        ),
    },
}


def simulate_scores(
    n_patients: int = 140,
    *,
    tasks: Sequence[str] | Mapping[str, float] = TASKS,
    methods: Mapping[str, Mapping[str, ScoreModel]] = METHODS,
    metrics: Sequence[str] = ("iou", "hit"),
    two_views: float = 0.4,
    prevalence: float = 0.7,
    missing: float | Mapping[str, float] = 0.02,
    rng: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Draw the scores of a study whose true parameters are known: see `simulation_truth`.

    Cases belong to patients, who differ; each case has every task; if the finding is present, its size and
    shape and the model's confidence drive the score of every method.

    Parameters
    ----------
    n_patients : int
        Number of patients.
    tasks : sequence of str, or mapping of str to float
        The tasks; with a mapping, the shift that each adds to the mean of every method and metric.
    methods : mapping of str to mapping of str to ScoreModel
        For each method and metric, the distribution of its score.
    metrics : sequence of str
        Metrics of the methods to be drawn.
    two_views : float
        Share of patients with two cases instead of one.
    prevalence : float
        Share of cases and tasks where the finding is present. Elsewhere every score and the size and shape
        are undefined.
    missing : float or mapping of str to float
        Share of a method's outputs that are lost, completely at random: all its metrics for a case and
        task. With a mapping, by method; a method left out loses none.
    rng : int or numpy.random.Generator
        Seed or generator.

    Returns
    -------
    DataFrame
        A scores frame, one row per case, task, method and metric, in this order.

        case, patient : str
            `c001`, `p001` and so on.
        task, method, metric : str
            As given.
        score : float
            In [0, 1]; NaN where undefined or lost.
        prob : float
            The model's confidence, in (0, 1): Beta(5, 2) where the finding is there, else Beta(2, 5).
        label : int
            1 where the finding is there, else 0.
        n_instances : float
            1 + Binomial(2, 1/4), mean 1.5; this and the next three are NaN where `label` is 0.
        area_ratio : float
            0.01 + 0.40 Beta(2, 4), mean 0.143.
        elongation : float
            1 + 4 Beta(1.5, 4.5), mean 2.
        irrectangularity : float
            0.05 + 0.60 Beta(3, 3), mean 0.35.

    Raises
    ------
    ValueRangeError
        A share outside [0, 1]; no task, method or metric; a model that could leave [0, 1]; a slope on
        another covariate; a method without a model of a metric.

    Notes
    -----
    For case i of patient p, with covariates x independent of each other, of the task and of the patient::

        m = mean + shift(task) + sum_j slope_j (x_j - E x_j) + patient * u_p,   u_p ~ Uniform(-1, 1)
        score = 0 with probability z = zeros, else Beta(precision * m/(1 - z), precision * (1 - m/(1 - z)))

    or, for a binary metric, score ~ Bernoulli(m). Since every term but the first two has mean zero, the
    mean is exactly `mean + shift`, and since E(score | x) is linear in x, least squares estimates exactly
    the slopes: in a simple or a multiple regression, within a task or over tasks. For that to hold no m is
    ever clipped; a model whose m could leave (0, 1) raises an error.

    Missing scores do not depend on anything, so means over the defined ones estimate the same mean. Given
    covariates and patient, the scores of two methods are independent.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.simulate_scores(n_patients=50, rng=1)
    >>> scores.columns.to_list()[:6]
    ['case', 'patient', 'task', 'method', 'metric', 'score']

    Two methods that differ by 0.05 in one metric, as for a power study:

    >>> methods = {"a": {"iou": ss.ScoreModel(0.40)}, "b": {"iou": ss.ScoreModel(0.45)}}
    >>> len(ss.simulate_scores(100, tasks=["nodule"], methods=methods, metrics=["iou"], two_views=0))
    200
    """
    check_count(n_patients, "n_patients")
    shifts = _checked_task_shifts(tasks, methods, metrics)
    missing_shares = dict(missing) if isinstance(missing, Mapping) else dict.fromkeys(methods, missing)
    for method in missing_shares:
        check_choice(method, tuple(methods), "missing")
    _check_share(two_views, "two_views")
    _check_share(prevalence, "prevalence")
    for method, share in missing_shares.items():
        _check_share(share, "missing", method)
    generator = as_generator(rng)

    n_views = 1 + (generator.random(n_patients) < two_views)
    patient = np.repeat(np.arange(n_patients), n_views)
    n_cases = len(patient)
    n_tasks = len(shifts)
    shape = (n_cases, n_tasks)
    patient_effect = generator.uniform(-1, 1, n_patients)[patient][:, None]
    label = generator.random(shape) < prevalence
    covariates = _draw_covariates(generator, label)
    shift = np.asarray(list(shifts.values()))[None, :]
    scores = np.full((*shape, len(methods), len(metrics)), np.nan)
    for i, (method, models) in enumerate(methods.items()):
        observed = generator.random(shape) >= missing_shares.get(method, 0.0)
        for j, metric in enumerate(metrics):
            values = _draw_scores(generator, models[metric], shift, covariates, patient_effect, label)
            scores[:, :, i, j] = np.where(label & observed, values, np.nan)

    index = pd.MultiIndex.from_product(
        [_numbered_names("c", n_cases), list(shifts), list(methods), list(metrics)],
        names=["case", "task", "method", "metric"],
    )
    frame = index.to_frame(index=False).astype(TEXT)
    n_scores = len(methods) * len(metrics)
    patient_names = np.asarray(_numbered_names("p", n_patients))[patient]
    frame.insert(1, "patient", np.repeat(patient_names, n_tasks * n_scores))
    frame = frame.astype({"patient": TEXT})
    frame["score"] = scores.ravel()
    frame["prob"] = np.repeat(covariates["prob"].ravel(), n_scores)
    frame["label"] = np.repeat(label.astype(np.int64).ravel(), n_scores)
    for name in COVARIATES[1:]:
        frame[name] = np.repeat(np.where(label, covariates[name], np.nan).ravel(), n_scores)
    return check_scores(frame)


def _check_share(share: float, option: str, method: str | None = None) -> None:
    """Raise ValueRangeError unless a number, that of a method if there is one, is a share."""
    if not 0 <= share <= 1:
        method_text = Message() if method is None else Message(" of ", method)
        raise ValueRangeError(
            Setting(option), method_text, f" is a share in [0, 1], not {share!r}", value=share
        )


def simulation_truth(
    *,
    tasks: Sequence[str] | Mapping[str, float] = TASKS,
    methods: Mapping[str, Mapping[str, ScoreModel]] = METHODS,
    metrics: Sequence[str] = ("iou", "hit"),
    reference: str | None = None,
) -> pd.DataFrame:
    """Return the true parameters of the scores that `simulate_scores` draws with the same options.

    Parameters
    ----------
    tasks, methods, metrics
        As for `simulate_scores`.
    reference : str, optional
        The method with which others are compared; by default `human` if there is one.

    Returns
    -------
    DataFrame
        One row per metric, method and task; after a method's tasks their average, task "Average".

        metric, method, task : str
            As given.
        mean : float
            True mean score.
        difference : float
            `mean` minus that of the reference; NaN for the reference or without one.
        percent_decrease : float
            100 (reference - method) / reference; of the averages in the row "Average". NaN likewise.
        zeros : float
            True share of scores that are exactly 0.
        slope_prob, slope_n_instances, slope_area_ratio, slope_elongation, slope_irrectangularity : float
            True slope of the score on the covariate, the same in every task.

    Raises
    ------
    ValueRangeError
        As for `simulate_scores`; `reference` is not among the methods.

    Examples
    --------
    >>> import salstats as ss
    >>> truth = ss.simulation_truth(metrics=["iou"])
    >>> truth.loc[truth["task"] == "Average", ["method", "mean", "difference", "percent_decrease"]]
           method  mean  difference  percent_decrease
    5     gradcam  0.30       -0.18             37.50
    11  occlusion  0.27       -0.21             43.75
    17      human  0.48         NaN               NaN
    """
    shifts = _checked_task_shifts(tasks, methods, metrics)
    if reference is not None:
        check_choice(reference, tuple(methods), "reference")
    elif "human" in methods:
        reference = "human"
    shift_by_row = {**shifts, "Average": float(np.mean(list(shifts.values())))}
    rows = []
    for metric in metrics:
        for method, models in methods.items():
            model = models[metric]
            slopes = {f"slope_{name}": float(model.slopes.get(name, 0.0)) for name in COVARIATES}
            for task, shift in shift_by_row.items():
                mean = model.mean + shift
                reference_mean = np.nan
                if reference is not None and method != reference:
                    reference_mean = methods[reference][metric].mean + shift
                row = {
                    "metric": metric,
                    "method": method,
                    "task": task,
                    "mean": mean,
                    "difference": mean - reference_mean,
                    "percent_decrease": 100 * (reference_mean - mean) / reference_mean,
                    "zeros": 1 - mean if model.binary else model.zeros,
                }
                rows.append(row | slopes)
    return pd.DataFrame(rows).astype({"metric": TEXT, "method": TEXT, "task": TEXT})


def _draw_covariates(generator: np.random.Generator, case_task_labels: np.ndarray) -> dict[str, np.ndarray]:
    """Draw the covariates of every case and task; `prob` depends on the label."""
    covariates: dict[str, np.ndarray] = {}
    for name, distribution in _DISTRIBUTIONS.items():
        low, high, a, b = distribution
        covariates[name] = low + (high - low) * generator.beta(a, b, case_task_labels.shape)
    a, b = _PROB_ABSENT
    covariates["prob"] = np.where(
        case_task_labels, covariates["prob"], generator.beta(a, b, case_task_labels.shape)
    )
    covariates["n_instances"] = 1.0 + generator.binomial(
        _MAX_INSTANCES - 1, _INSTANCE_PROBABILITY, case_task_labels.shape
    )
    return covariates


def _draw_scores(
    generator: np.random.Generator,
    model: ScoreModel,
    shift: np.ndarray,
    covariates: Mapping[str, np.ndarray],
    patient_effect: np.ndarray,
    case_task_labels: np.ndarray,
) -> np.ndarray:
    """Draw one score per case and task; values for an absent finding are not to be used."""
    mean = model.mean + shift + model.patient * patient_effect
    for name, slope in model.slopes.items():
        mean = mean + slope * (covariates[name] - _RANGES[name].mean)
    # prob of an absent finding has another distribution, so the bounds hold only where the label is 1
    mean = np.where(case_task_labels, mean, 0.5 * (1 - model.zeros))
    if model.binary:
        return (generator.random(mean.shape) < mean).astype(np.float64)
    mean_above_zero = mean / (1 - model.zeros)
    scores = generator.beta(model.precision * mean_above_zero, model.precision * (1 - mean_above_zero))
    return np.where(generator.random(mean.shape) < model.zeros, 0.0, scores)


def _checked_task_shifts(
    tasks: Sequence[str] | Mapping[str, float],
    methods: Mapping[str, Mapping[str, ScoreModel]],
    metrics: Sequence[str],
) -> dict[str, float]:
    """Return the shift of each task, after checking that every score stays within bounds."""
    for option, value in (("tasks", tasks), ("metrics", metrics)):
        if isinstance(value, str):
            raise ValueRangeError(Setting(option), " is a list of names, not one name", value=value)
    shifts = dict(tasks) if isinstance(tasks, Mapping) else dict.fromkeys(tasks, 0.0)
    for option, names in (("tasks", list(tasks)), ("methods", list(methods)), ("metrics", list(metrics))):
        if not names or len(set(names)) < len(names):
            raise ValueRangeError(
                Setting(option),
                f" must name at least one, each once, not {quoted(names) or 'none'}",
                value=names,
            )
    if "Average" in shifts:
        raise ValueRangeError(
            "a task cannot be called 'Average', which is the row of the average over tasks",
            option="tasks",
            value="Average",
        )
    for method, models in methods.items():
        for metric in metrics:
            if metric not in models:
                raise ValueRangeError(
                    "method ",
                    repr(method),
                    f" has no model of {metric!r}, only of {quoted(models)}",
                    option="metrics",
                    value=metric,
                    choices=models,
                )
            _check_model(models[metric], f"{method} {metric}", shifts)
    return shifts


def _check_model(model: ScoreModel, name: str, shifts: Mapping[str, float]) -> None:
    """Raise ValueRangeError if a parameter is out of range, or a mean could leave (0, 1)."""
    unknown = set(model.slopes) - set(COVARIATES)
    if unknown:
        raise ValueRangeError(
            f"{name}: no covariate {quoted(unknown)}; there are {quoted(COVARIATES)}",
            option="slopes",
            value=sorted(unknown),
            choices=COVARIATES,
        )
    valid_zeros = 0 <= model.zeros < 1 and not (model.binary and model.zeros)
    if not (valid_zeros and model.precision > 0 and model.patient >= 0):
        at_fault = Setting("zeros", model.zeros)
        if valid_zeros:
            at_fault = Setting("patient", model.patient)
            if not model.precision > 0:
                at_fault = Setting("precision", model.precision)
        raise ValueRangeError(
            f"{name}: ",
            Setting("zeros", model.zeros),
            " must lie in [0, 1) and be 0 for a binary metric, ",
            Setting("precision", model.precision),
            " be positive and ",
            Setting("patient", model.patient),
            " not negative",
            option=at_fault.option,
            value=at_fault.value,
        )
    low = model.mean + min(shifts.values()) - model.patient
    high = model.mean + max(shifts.values()) + model.patient
    for covariate, slope in model.slopes.items():
        bounds = _RANGES[covariate]
        effects = (slope * (bounds.low - bounds.mean), slope * (bounds.high - bounds.mean))
        low += min(effects)
        high += max(effects)
    if not (low > 0 and high < 1 - model.zeros):
        raise ValueRangeError(
            name,
            ": the mean of a score could lie anywhere in ",
            f"{low:.3f} ... {high:.3f}",
            ", which must stay inside ",
            f"0 ... {1 - model.zeros:.3f}",
            hint=Message(
                "make ", Setting("slopes"), ", ", Setting("patient"), " or the tasks' shifts smaller"
            ),
            option="mean",
            value=model.mean,
        )


def _numbered_names(letter: str, n: int) -> list[str]:
    """Return the names c001, c002, ... of equal width."""
    width = max(3, len(str(n)))
    return [f"{letter}{i:0{width}d}" for i in range(1, n + 1)]

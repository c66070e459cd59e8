"""Simulated scores of a study whose true means, differences and slopes are known exactly."""

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
    """Lowest, highest and mean value of a covariate where the finding is present."""

    low: float
    high: float
    mean: float


#: Distributions of covariates where the finding is present; another, n_instances, is 1 + Binomial(2, 1/4).
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
#: Parameters of the beta distribution of `prob` where the finding is absent, the mirror image of Beta(5, 2).
_PROB_BETA_IF_ABSENT = (2.0, 5.0)
#: Covariates on which a score may depend.
COVARIATES = ("prob", "n_instances", "area_ratio", "elongation", "irrectangularity")
#: Finding -> its shift, which is added to the true mean of every method and metric.
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
        Half the width of the patient's effect, which is uniform on (-patient, patient). One draw for each
        patient is scaled to this width in all scores of the patient.
    zeros : float
        Share of scores that are exactly 0, in [0, 1).
    precision : float
        Larger means less scatter: a score that is not 0 has variance m(1 - m)/(precision + 1), m its mean.
    binary : bool
        Draw 0 or 1, as for a hit; `zeros` must be 0, and `precision` has no effect.
    """

    mean: float
    slopes: Mapping[str, float] = field(default_factory=dict)
    patient: float = 0.0
    zeros: float = 0.0
    precision: float = 12.0
    binary: bool = False


def _slopes_by_covariate(*slopes: float) -> dict[str, float]:
    """Return slopes by covariate, given in the order of `COVARIATES`."""
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

    Cases belong to patients, and patients differ. Each case has every task; where the finding is present, the
    score of every method depends on the finding's size and shape and on the model's confidence.

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
        Probability that a patient has two cases instead of one.
    prevalence : float
        Probability that the finding is present, for each case and task. Where it is absent, every score and
        the size and shape are undefined.
    missing : float or mapping of str to float
        Probability that a method's output is lost, with all its metrics for a case and task, completely at
        random. With a mapping, by method; a method left out loses none.
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
            The model's confidence, in (0, 1): Beta(5, 2) where the finding is present, else Beta(2, 5).
        label : int
            1 where the finding is present, else 0.
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
        A probability is outside [0, 1]; there is no task, method or metric; a model's mean could leave
        (0, 1); a slope is on another covariate; a method has no model of a metric.

    Notes
    -----
    For case i of patient p, with covariates x independent of each other, of the task and of the patient::

        m = mean + shift(task) + sum_j slope_j (x_j - E x_j) + patient * u_p,   u_p ~ Uniform(-1, 1)
        score = 0 with probability z = zeros, else Beta(precision * m/(1 - z), precision * (1 - m/(1 - z)))

    or, for a binary metric, score ~ Bernoulli(m). Since every term but the first two has mean zero, the
    true mean is exactly `mean + shift`. Since E(score | x) is linear in x, least squares estimates the slopes
    without bias: in a simple or a multiple regression, within a task or over tasks. This needs an m that is
    never clipped, so a model whose m could leave (0, 1) raises an error.

    Whether a score is missing depends on nothing, so means over the defined scores estimate the same mean.
    Given covariates and patient, the scores of two methods are independent.

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

    n_cases_of_patient = 1 + (generator.random(n_patients) < two_views)
    # the index of each case's patient
    patient = np.repeat(np.arange(n_patients), n_cases_of_patient)
    n_cases = len(patient)
    n_tasks = len(shifts)
    shape = (n_cases, n_tasks)
    patient_effect = generator.uniform(-1, 1, n_patients)[patient][:, None]
    is_present = generator.random(shape) < prevalence
    covariates = _draw_covariates_and_prob_by_presence(generator, is_present)
    shift = np.asarray(list(shifts.values()))[None, :]
    scores = np.full((*shape, len(methods), len(metrics)), np.nan)
    for i, (method, models) in enumerate(methods.items()):
        is_observed = generator.random(shape) >= missing_shares.get(method, 0.0)
        for j, metric in enumerate(metrics):
            values = _draw_scores_also_of_absent_findings(
                generator, models[metric], shift, covariates, patient_effect, is_present
            )
            scores[:, :, i, j] = np.where(is_present & is_observed, values, np.nan)

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
    frame["label"] = np.repeat(is_present.astype(np.int64).ravel(), n_scores)
    for name in COVARIATES:
        # `prob` is known for an absent finding as well
        if name != "prob":
            frame[name] = np.repeat(np.where(is_present, covariates[name], np.nan).ravel(), n_scores)
    return check_scores(frame)


def _check_share(share: float, option: str, method: str | None = None) -> None:
    """Raise ValueRangeError unless a number, of a method if one is given, lies in [0, 1]."""
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
        The method with which others are compared; by default `human`, if it is among the methods.

    Returns
    -------
    DataFrame
        One row per metric, method and task, and after a method's tasks a row of their average, with the task
        "Average".

        metric, method, task : str
            As given.
        mean : float
            True mean score.
        difference : float
            `mean` minus that of the reference; NaN for the reference or without one.
        percent_decrease : float
            100 (reference - method) / reference, in the row "Average" of the average means; NaN as for
            `difference`.
        zeros : float
            Probability of a score of exactly 0.
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


def _draw_covariates_and_prob_by_presence(
    generator: np.random.Generator, is_present: np.ndarray
) -> dict[str, np.ndarray]:
    """Draw each covariate as an array (cases, tasks); `prob` depends on whether the finding `is_present`."""
    covariates: dict[str, np.ndarray] = {}
    for name, distribution in _DISTRIBUTIONS.items():
        low, high, a, b = distribution
        covariates[name] = low + (high - low) * generator.beta(a, b, is_present.shape)
    a, b = _PROB_BETA_IF_ABSENT
    covariates["prob"] = np.where(is_present, covariates["prob"], generator.beta(a, b, is_present.shape))
    covariates["n_instances"] = 1.0 + generator.binomial(
        _MAX_INSTANCES - 1, _INSTANCE_PROBABILITY, is_present.shape
    )
    return covariates


def _draw_scores_also_of_absent_findings(
    generator: np.random.Generator,
    model: ScoreModel,
    shift: np.ndarray,
    covariates: Mapping[str, np.ndarray],
    patient_effect: np.ndarray,
    is_present: np.ndarray,
) -> np.ndarray:
    """Draw scores as an array (cases, tasks); those of absent findings have no meaning."""
    mean = model.mean + shift + model.patient * patient_effect
    for name, slope in model.slopes.items():
        mean = mean + slope * (covariates[name] - _RANGES[name].mean)
    # `prob` of an absent finding has another distribution, so the mean could leave (0, 1) there
    mean = np.where(is_present, mean, 0.5 * (1 - model.zeros))
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
    """Return the shift of each task; raise where names are missing or repeated, or a model is invalid."""
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


def _check_model(model: ScoreModel, name: str, task_shifts: Mapping[str, float]) -> None:
    """Raise ValueRangeError if a parameter is out of range, or a mean could leave (0, 1)."""
    unknown = set(model.slopes) - set(COVARIATES)
    if unknown:
        raise ValueRangeError(
            f"{name}: no covariate {quoted(unknown)}; there are {quoted(COVARIATES)}",
            option="slopes",
            value=sorted(unknown),
            choices=COVARIATES,
        )
    has_valid_zeros = 0 <= model.zeros < 1 and not (model.binary and model.zeros)
    invalid_parameters = []
    if not has_valid_zeros:
        invalid_parameters.append("zeros")
    if not model.precision > 0:
        invalid_parameters.append("precision")
    if not model.patient >= 0:
        invalid_parameters.append("patient")
    if invalid_parameters:
        raise ValueRangeError(
            f"{name}: ",
            Setting("zeros", model.zeros),
            " must lie in [0, 1) and be 0 for a binary metric, ",
            Setting("precision", model.precision),
            " be positive and ",
            Setting("patient", model.patient),
            " not negative",
            option=invalid_parameters[0],
            value=getattr(model, invalid_parameters[0]),
        )
    # lowest and highest mean of a score: every term at its smallest and at its largest
    low = model.mean + min(task_shifts.values()) - model.patient
    high = model.mean + max(task_shifts.values()) + model.patient
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
    """Return n names such as c001, c002, ..., of equal length."""
    width = max(3, len(str(n)))
    return [f"{letter}{i:0{width}d}" for i in range(1, n + 1)]

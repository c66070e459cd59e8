"""Study-like scores whose true means, contrasts and slopes are known exactly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_count, check_generator, quoted
from salstats.errors import ValueRangeError
from salstats.frames import check_scores

#: Covariates that may drive a score: low + (high - low) * Beta(a, b), and 1 + Binomial(2, 1/4) instances.
_BETA = {
    "area_ratio": (0.01, 0.41, 2.0, 4.0),
    "elongation": (1.0, 5.0, 1.5, 4.5),
    "irrectangularity": (0.05, 0.65, 3.0, 3.0),
    "prob": (0.0, 1.0, 5.0, 2.0),
}
_MAX_INSTANCES, _MORE_INSTANCES = 3, 0.25
#: Low, high and mean of each covariate where the finding is there.
_RANGES = {
    **{name: (low, high, low + (high - low) * a / (a + b)) for name, (low, high, a, b) in _BETA.items()},
    "n_instances": (1.0, float(_MAX_INSTANCES), 1 + (_MAX_INSTANCES - 1) * _MORE_INSTANCES),
}
#: Confidence where the finding is absent: Beta(2, 5), the mirror image of Beta(5, 2).
_PROB_ABSENT = (2.0, 5.0)
COVARIATES = ("prob", "n_instances", "area_ratio", "elongation", "irrectangularity")
#: Finding and how far its true mean lies above (below) that of the method, for every method and metric.
TASKS: Mapping[str, float] = {
    "Atelectasis": -0.03,
    "Cardiomegaly": 0.05,
    "Consolidation": -0.02,
    "Edema": -0.01,
    "Pleural Effusion": 0.01,
}


@dataclass(frozen=True)
class ScoreModel:
    """How one metric of one method is drawn.

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


def _slopes(*slopes: float) -> dict[str, float]:
    """Slopes by covariate."""
    return dict(zip(COVARIATES, slopes, strict=True))


#: What `simulate_scores` draws unless told: two saliency methods and a better human benchmark.
METHODS: Mapping[str, Mapping[str, ScoreModel]] = {
    "gradcam": {
        "iou": ScoreModel(0.30, _slopes(0.08, -0.015, 0.30, -0.015, -0.08), patient=0.04, zeros=0.06),
        "hit": ScoreModel(0.50, _slopes(0.20, -0.02, 0.60, -0.03, -0.10), patient=0.08, binary=True),
    },
    "occlusion": {
        "iou": ScoreModel(0.27, _slopes(0.06, -0.01, 0.25, -0.01, -0.06), patient=0.04, zeros=0.10),
        "hit": ScoreModel(0.45, _slopes(0.15, -0.02, 0.50, -0.02, -0.10), patient=0.08, binary=True),
    },
    "human": {
        "iou": ScoreModel(0.48, _slopes(0.0, -0.01, 0.20, -0.01, -0.06), patient=0.04, zeros=0.02),
        "hit": ScoreModel(0.78, _slopes(0.0, -0.01, 0.20, -0.02, 0.0), patient=0.06, binary=True),
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

    Cases lie in patients, who differ; each case is looked at for every task; where the finding is there,
    its size and shape and the model's confidence drive the score of every method.

    Parameters
    ----------
    n_patients : int
        How many patients.
    tasks : sequence of str, or mapping of str to float
        The tasks; with a mapping, what each adds to the mean of every method and metric.
    methods : mapping of str to mapping of str to ScoreModel
        For each method, for each metric, how its score is drawn.
    metrics : sequence of str
        Which of the methods' metrics to draw.
    two_views : float
        Share of patients with two cases instead of one.
    prevalence : float
        Share of cases and tasks where the finding is there. Elsewhere there is nothing to find: every
        score and the size and shape are undefined.
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
    ever clipped; a model whose m could leave (0, 1) is refused.

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
    shifts = _checked_design(tasks, methods, metrics)
    lost = dict(missing) if isinstance(missing, Mapping) else dict.fromkeys(methods, missing)
    for method in lost:
        check_choice(method, tuple(methods), "a method in missing")
    shares = {
        "two_views": two_views,
        "prevalence": prevalence,
        **{f"missing of {m}": v for m, v in lost.items()},
    }
    for option, share in shares.items():
        if not 0 <= share <= 1:
            raise ValueRangeError(f"{option} is a share in [0, 1], not {share!r}")
    generator = check_generator(rng)

    views = 1 + (generator.random(n_patients) < two_views)
    patient = np.repeat(np.arange(n_patients), views)
    n_cases, n_tasks = len(patient), len(shifts)
    shape = (n_cases, n_tasks)
    effect = generator.uniform(-1, 1, n_patients)[patient][:, None]
    label = generator.random(shape) < prevalence
    covariates = _draw_covariates(generator, label)
    shift = np.asarray(list(shifts.values()))[None, :]
    scores = np.full((*shape, len(methods), len(metrics)), np.nan)
    for i, (method, models) in enumerate(methods.items()):
        kept = generator.random(shape) >= lost.get(method, 0.0)
        for j, metric in enumerate(metrics):
            drawn = _draw_score(generator, models[metric], shift, covariates, effect, label)
            scores[:, :, i, j] = np.where(label & kept, drawn, np.nan)

    index = pd.MultiIndex.from_product(
        [_names("c", n_cases), list(shifts), list(methods), list(metrics)],
        names=["case", "task", "method", "metric"],
    )
    frame = index.to_frame(index=False).astype("str")
    n_each = len(methods) * len(metrics)
    frame.insert(1, "patient", np.repeat(np.asarray(_names("p", n_patients))[patient], n_tasks * n_each))
    frame = frame.astype({"patient": "str"})
    frame["score"] = scores.ravel()
    frame["prob"] = np.repeat(covariates["prob"].ravel(), n_each)
    frame["label"] = np.repeat(label.astype(np.int64).ravel(), n_each)
    for name in COVARIATES[1:]:
        frame[name] = np.repeat(np.where(label, covariates[name], np.nan).ravel(), n_each)
    return check_scores(frame)


def simulation_truth(
    *,
    tasks: Sequence[str] | Mapping[str, float] = TASKS,
    methods: Mapping[str, Mapping[str, ScoreModel]] = METHODS,
    metrics: Sequence[str] = ("iou", "hit"),
    reference: str | None = None,
) -> pd.DataFrame:
    """The true parameters of what `simulate_scores` draws with the same options.

    Parameters
    ----------
    tasks, methods, metrics
        As for `simulate_scores`.
    reference : str, optional
        The method others are compared with; by default `human` where there is one.

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
    shifts = _checked_design(tasks, methods, metrics)
    if reference is None:
        reference = "human" if "human" in methods else None
    else:
        check_choice(reference, tuple(methods), "reference")
    shift = {**shifts, "Average": float(np.mean(list(shifts.values())))}
    rows = []
    for metric in metrics:
        for method, models in methods.items():
            model = models[metric]
            for task, added in shift.items():
                mean, other = model.mean + added, np.nan
                if reference is not None and method != reference:
                    other = methods[reference][metric].mean + added
                rows.append(
                    {
                        "metric": metric,
                        "method": method,
                        "task": task,
                        "mean": mean,
                        "difference": mean - other,
                        "percent_decrease": 100 * (other - mean) / other,
                        "zeros": 1 - mean if model.binary else model.zeros,
                        **{f"slope_{name}": float(model.slopes.get(name, 0.0)) for name in COVARIATES},
                    }
                )
    return pd.DataFrame(rows).astype({"metric": "str", "method": "str", "task": "str"})


def _draw_covariates(generator: np.random.Generator, label: np.ndarray) -> dict[str, np.ndarray]:
    """Covariates of every case and task; `prob` depends on the label."""
    drawn: dict[str, np.ndarray] = {
        name: low + (high - low) * generator.beta(a, b, label.shape)
        for name, (low, high, a, b) in _BETA.items()
    }
    absent = generator.beta(*_PROB_ABSENT, label.shape)
    drawn["prob"] = np.where(label, drawn["prob"], absent)
    drawn["n_instances"] = 1.0 + generator.binomial(_MAX_INSTANCES - 1, _MORE_INSTANCES, label.shape)
    return drawn


def _draw_score(
    generator: np.random.Generator,
    model: ScoreModel,
    shift: np.ndarray,
    covariates: Mapping[str, np.ndarray],
    effect: np.ndarray,
    label: np.ndarray,
) -> np.ndarray:
    """One score per case and task; where the finding is absent it means nothing."""
    mean = model.mean + shift + model.patient * effect
    for name, slope in model.slopes.items():
        mean = mean + slope * (covariates[name] - _RANGES[name][2])
    # prob of an absent finding follows another law, so the bounds hold only where the label is 1
    mean = np.where(label, mean, 0.5 * (1 - model.zeros))
    if model.binary:
        return (generator.random(mean.shape) < mean).astype(np.float64)
    positive = mean / (1 - model.zeros)
    drawn = generator.beta(model.precision * positive, model.precision * (1 - positive))
    return np.where(generator.random(mean.shape) < model.zeros, 0.0, drawn)


def _checked_design(
    tasks: Sequence[str] | Mapping[str, float],
    methods: Mapping[str, Mapping[str, ScoreModel]],
    metrics: Sequence[str],
) -> dict[str, float]:
    """The shift of each task, after checking that every score stays within bounds."""
    if isinstance(tasks, str) or isinstance(metrics, str):
        raise ValueRangeError("tasks and metrics are lists of names, not one name")
    shifts = dict(tasks) if isinstance(tasks, Mapping) else dict.fromkeys(tasks, 0.0)
    for option, names in (("tasks", list(tasks)), ("methods", list(methods)), ("metrics", list(metrics))):
        if not names or len(set(names)) < len(names):
            raise ValueRangeError(
                f"{option} must name at least one, each once, not {quoted(names) or 'none'}"
            )
    if "Average" in shifts:
        raise ValueRangeError("a task cannot be called 'Average', which is the row of the average over tasks")
    for method, models in methods.items():
        for metric in metrics:
            if metric not in models:
                raise ValueRangeError(
                    f"method {method!r} has no model of {metric!r}, only of {quoted(models)}"
                )
            _check_model(models[metric], f"{method} {metric}", shifts)
    return shifts


def _check_model(model: ScoreModel, name: str, shifts: Mapping[str, float]) -> None:
    """Raise where a model has a parameter out of range, or a mean that could leave (0, 1)."""
    unknown = set(model.slopes) - set(COVARIATES)
    if unknown:
        raise ValueRangeError(f"{name}: no covariate {quoted(unknown)}; there are {quoted(COVARIATES)}")
    known = 0 <= model.zeros < 1 and not (model.binary and model.zeros)
    if not (known and model.precision > 0 and model.patient >= 0):
        raise ValueRangeError(
            f"{name}: zeros={model.zeros!r} must lie in [0, 1) and be 0 for a binary metric, "
            f"precision={model.precision!r} be positive and patient={model.patient!r} not negative"
        )
    ends = [[slope * (at - _RANGES[c][2]) for at in _RANGES[c][:2]] for c, slope in model.slopes.items()]
    low = model.mean + min(shifts.values()) + sum(map(min, ends)) - model.patient
    high = model.mean + max(shifts.values()) + sum(map(max, ends)) + model.patient
    if not (low > 0 and high < 1 - model.zeros):
        raise ValueRangeError(
            f"{name}: the mean of a score could lie anywhere in {low:.3f} ... {high:.3f}, which must stay "
            f"inside 0 ... {1 - model.zeros:.3f}; make slopes, patient or the tasks' shifts smaller"
        )


def _names(letter: str, n: int) -> list[str]:
    """Names c001, c002, ... of equal width."""
    width = max(3, len(str(n)))
    return [f"{letter}{i:0{width}d}" for i in range(1, n + 1)]

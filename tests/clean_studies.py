"""Twenty ordinary clean studies, each with the analyses that its authors would make: little is to be said.

Nothing is wrong with any of them: methods have the same cases, scores lie in their range, patients are named,
tasks are taken apart. What is simulated serves to count warnings, never as a result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

import salstats as ss

Analysis = Callable[[pd.DataFrame], object]


@dataclass(frozen=True)
class CleanStudy:
    """A study's scores and what is made of them."""

    name: str
    scores: pd.DataFrame
    analyses: tuple[Analysis, ...]


def bounded(rng, mean, spread, size=None):
    """Draw scores from 0 to 1 of a mean and a spread (the larger, the narrower)."""
    return rng.beta(np.multiply(mean, spread), np.multiply(1 - np.asarray(mean), spread), size)


def overlap_scores(
    seed: int,
    n_cases: int,
    means: dict[str, float],
    *,
    tasks: Sequence[str] = (),
    metric: str = "iou",
    spread: float = 12.0,
    case_name: str = "img_{:04d}",
) -> pd.DataFrame:
    """Draw one overlap per case, task and method; cases differ in how hard they are."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in tasks or [None]:
        difficulty = rng.normal(0, 0.08, n_cases)
        for method, mean in means.items():
            level = np.clip(mean + difficulty, 0.05, 0.95)
            frame = pd.DataFrame({"case": [case_name.format(i) for i in range(n_cases)]})
            frame["method"], frame["metric"] = method, metric
            frame["score"] = bounded(rng, level, spread)
            if task is not None:
                frame["task"] = task
            rows.append(frame)
    return pd.concat(rows, ignore_index=True)


def hits(seed: int, n_cases: int, rates: dict[str, float]) -> pd.DataFrame:
    """Draw hits of methods that share what is hard about a case."""
    rng = np.random.default_rng(seed)
    difficulty = rng.uniform(size=n_cases)
    rows = []
    for method, rate in rates.items():
        own = rng.uniform(size=n_cases)
        chance = np.where(rng.uniform(size=n_cases) < 0.4, difficulty, own)
        frame = pd.DataFrame({"case": [f"img_{i:04d}" for i in range(n_cases)]})
        frame["method"], frame["metric"] = method, "hit"
        frame["score"] = (chance < rate).astype(float)
        rows.append(frame)
    return pd.concat(rows, ignore_index=True)


def of_patients(scores: pd.DataFrame, seed: int, most: int) -> pd.DataFrame:
    """Give each case a patient, who has one to `most` of them."""
    rng = np.random.default_rng(seed)
    cases = scores["case"].unique()
    sizes = rng.integers(1, most + 1, len(cases))
    patients = np.repeat(np.arange(len(cases)), sizes)[: len(cases)]
    of_case = {case: f"P{patient:03d}" for case, patient in zip(cases, patients, strict=True)}
    return scores.assign(patient=scores["case"].map(of_case))


def with_covariates(scores: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Add size and shape of the finding and the model's probability, one value per case."""
    rng = np.random.default_rng(seed)
    cases = scores["case"].unique()
    features = pd.DataFrame(
        {
            "case": cases,
            "area_ratio": bounded(rng, 0.15, 10, len(cases)),
            "elongation": 1 + rng.gamma(2, 0.4, len(cases)),
            "prob": bounded(rng, 0.7, 6, len(cases)),
        }
    )
    return scores.merge(features, on="case")


def by_readers(seed: int, n_readers: int, n_cases: int, methods: dict[str, float]) -> pd.DataFrame:
    """Draw scores of readers who each read every case with every method."""
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0, 0.08, n_cases)
    rows = []
    for reader in range(n_readers):
        skill = rng.normal(0, 0.03)
        for method, mean in methods.items():
            frame = pd.DataFrame({"case": [f"img_{i:04d}" for i in range(n_cases)]})
            frame["method"], frame["metric"], frame["reader"] = method, "dice", f"reader {reader + 1}"
            frame["score"] = bounded(rng, np.clip(mean + skill + difficulty, 0.05, 0.95), 20)
            rows.append(frame)
    return pd.concat(rows, ignore_index=True)


def means(scores):
    return ss.summarize(scores)


def gaps(reference):
    return lambda scores: ss.difference(scores, reference=reference, adjust="holm")


def decreases(reference):
    return lambda scores: ss.percent_decrease(scores, reference=reference)


def regression(formula, **options):
    return lambda scores: ss.regress(scores, formula, **options)


def correlation(x, y, **options):
    return lambda scores: ss.correlate(scores, x, y, **options)


CAMS = {"gradcam": 0.45, "lrp": 0.4, "human": 0.6}
FINDINGS = ("Atelectasis", "Cardiomegaly", "Edema", "Lung Lesion", "Pleural Effusion")


def clean_studies() -> list[CleanStudy]:
    """Return the twenty studies."""
    chest = overlap_scores(1, 150, CAMS, tasks=FINDINGS)
    pilot = overlap_scores(7, 24, {"gradcam": 0.45, "human": 0.6})
    patients = of_patients(overlap_scores(4, 140, CAMS), 4, 4)
    distances = overlap_scores(8, 80, {"nnunet": 0.2, "unet": 0.25}, metric="hd95")
    distances["score"] *= 60
    tools = overlap_scores(9, 120, {"nnunet": 0.85, "unet": 0.8, "medsam": 0.75}, metric="dice")
    trainings = pd.concat(
        [overlap_scores(13 + s, 100, {"gradcam": 0.45, "ig": 0.4}).assign(seed=s) for s in range(3)]
    )
    hospitals = pd.concat(
        [overlap_scores(30 + d, 80, CAMS).assign(dataset=name) for d, name in enumerate(("north", "south"))]
    )
    curves = overlap_scores(15, 500, {f"m{i}": 0.4 + 0.05 * i for i in range(5)}, metric="insertion",
                            case_name="{:012d}")  # fmt: skip
    undefined = overlap_scores(17, 200, CAMS)
    undefined.loc[np.random.default_rng(17).choice(len(undefined), 12, replace=False), "score"] = np.nan
    networks = pd.concat(
        [overlap_scores(40 + m, 50, {"gradcam": 0.5, "ig": 0.42}).assign(model=name)
         for m, name in enumerate(("densenet", "resnet"))]
    )  # fmt: skip
    labelled = with_covariates(overlap_scores(10, 200, {"gradcam": 0.5}), 10)
    chance = labelled["prob"].rank(pct=True)
    labelled["label"] = (np.random.default_rng(10).uniform(size=200) < chance).astype(int)
    gaze = pd.concat(
        [overlap_scores(11 + i, 50, {"gradcam": 0.4, "lime": 0.3, "human": 0.6}, metric=metric)
         for i, metric in enumerate(("ncc", "auc"))]
    )  # fmt: skip
    both = pd.concat([overlap_scores(2, 60, CAMS), hits(2, 60, {"gradcam": 0.6, "lrp": 0.5, "human": 0.8})])
    mixed = of_patients(with_covariates(overlap_scores(20, 160, {"gradcam": 0.45, "human": 0.6}), 20), 20, 3)
    return [
        CleanStudy("one overlap, a human benchmark", overlap_scores(3, 100, CAMS), (means, gaps("human"))),
        CleanStudy("overlap and hits", both, (means, gaps("human"), decreases("human"))),
        CleanStudy(
            "five findings on a chest film", chest,
            (means, gaps("human"), lambda s: ss.percent_decrease(s, reference="human", average="task")),
        ),
        CleanStudy("patients with several images", patients, (means, gaps("human"), ss.describe)),
        CleanStudy("two readers", by_readers(5, 2, 80, {"gradcam": 0.5, "ig": 0.45}), (means, gaps("ig"))),
        CleanStudy(
            "five readers, two methods", by_readers(6, 5, 60, {"aided": 0.7, "unaided": 0.64}),
            (lambda s: ss.mrmc(s, reference="unaided"),),
        ),
        CleanStudy("a pilot of 24", pilot, (means, gaps("human"), lambda s: ss.medians(s))),
        CleanStudy("distances in mm", distances, (means, gaps("unet"))),
        CleanStudy(
            "three tools", tools,
            (means, gaps("nnunet"), lambda s: ss.rank_stability(s, n_replicates=200)),
        ),
        CleanStudy(
            "a model's probabilities", labelled,
            (lambda s: ss.auroc(s, "prob", "label"), correlation("iou", "prob")),
        ),
        CleanStudy("gaze", gaze, (means, gaps("human"))),
        CleanStudy(
            "size and shape", with_covariates(overlap_scores(12, 150, CAMS), 12),
            (regression("iou ~ area_ratio + elongation"), correlation("iou", "area_ratio")),
        ),
        CleanStudy(
            "three trainings", trainings,
            (lambda s: ss.summarize(s, by=("metric", "method", "seed")), gaps("ig")),
        ),
        CleanStudy("two hospitals", hospitals, (lambda s: ss.summarize(s, by=("dataset", "method")),)),
        CleanStudy("insertion on COCO", curves, (means, gaps("m0"), ss.medians)),
        CleanStudy("hits", hits(16, 60, {"gradcam": 0.7, "ig": 0.8}), (means, gaps("ig"))),
        CleanStudy("a few undefined scores", undefined, (means, gaps("human"), ss.describe)),
        CleanStudy("two networks", networks, (lambda s: ss.difference(s, reference="ig", by="model"),)),
        CleanStudy(
            "three readers agree", by_readers(19, 3, 50, {"outline": 0.8}),
            (lambda s: ss.agreement(s),),
        ),
        CleanStudy(
            "a mixed model", mixed,
            (regression("iou ~ method + area_ratio + (1|patient)", by=()), gaps("human")),
        ),
    ]  # fmt: skip

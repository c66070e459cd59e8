"""The digits study from seeds to files: networks trained, maps made and scored, examples written."""

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from digits.canvases import DESIGNS, MAIN_DESIGN, PARTS, SIDE
from digits.maps import (
    BATCH_SIZE,
    METHODS,
    PROB_DECIMALS,
    STEPS,
    method_maps,
    predictions,
    probabilities,
    score_annotator,
    score_insertion,
    score_maps,
    write_examples,
)
from digits.sets import CanvasSet, make_test_set, make_training_canvases
from digits.training import Schedule, train, write_weights
from salstats import __version__
from salstats.errors import InputFileError, SalstatsWarning
from salstats.explain.digits import ARCHITECTURES, WIDTHS, read_network
from salstats.files.outputs import check_parent
from salstats.jobs import joblib_options_ending_workers_with_parent
from salstats.readers.arrays import study_from_arrays
from salstats.scoring.cases import ABSENT
from salstats.scoring.features import features
from salstats.stats.auroc import auroc

#: Trainings of each architecture; the first is the study's, all of them are the ensemble.
SEEDS = (0, 1, 2)
#: What stands in the column `seed` for the mean of all trainings.
ENSEMBLE = "mean"
SCORES, FEATURES, AUROC, WEIGHTS, EXAMPLES, SETTINGS, SUMS = (
    "scores.parquet", "features.csv", "auroc.csv", "weights", "examples", "build.json", "SHA256SUMS",
)  # fmt: skip
#: Decimals of a score and of a feature.
SCORE_DECIMALS = 4
#: Features that stand beside every score.
COVARIATES = ("n_instances", "area_ratio", "elongation", "irrectangularity")
_KEYS = ["dataset", "model", "seed", "case", "task", "method", "metric"]


@dataclass(frozen=True)
class Plan:
    """Size of the study."""

    #: Canvases of each design for training; of the main design, and of each other one, that are scored.
    n_train: int = 1500
    n_main: int = 200
    n_other: int = 100
    schedule: Schedule = field(default_factory=Schedule)
    seeds: tuple[int, ...] = SEEDS

    def test_set(self, design: str) -> CanvasSet:
        """Canvases of a design that are scored."""
        return make_test_set(design, self.n_main if design == MAIN_DESIGN else self.n_other)

    def test_sets(self) -> list[CanvasSet]:
        """Canvases of every design."""
        return [self.test_set(d.name) for d in DESIGNS]


#: Minutes become seconds and the networks learn next to nothing: to see that all of it runs.
QUICK = Plan(n_train=64, n_main=10, n_other=8, schedule=Schedule(window_epochs=1, epochs=1), seeds=(0, 1))


def build_study(
    out: str | os.PathLike[str],
    *,
    plan: Plan | None = None,
    jobs: int = 2,
    say: Callable[[str], None] = print,
) -> Path:
    """Build the digits study into a new folder; the files are in `data/README.md`.

    By default as it is embedded. Each process computes with one thread; the result does not depend on their
    number. `say` is told what has been done.
    """
    target, plan = Path(out), plan or Plan()
    if target.exists():
        raise InputFileError(f"{target} is there already; name a new folder, or remove it first", path=target)
    check_parent(target.absolute())
    # under a temporary name until it is complete: what was interrupted is no study
    with TemporaryDirectory(prefix=".salstats-", dir=target.absolute().parent) as place:
        made = Path(place) / "digits"
        made.mkdir()
        _build(made, plan, jobs, say)
        made.rename(target)
    return target


def _build(folder: Path, plan: Plan, jobs: int, say: Callable[[str], None]) -> None:
    """Build the study into an empty folder."""
    import joblib

    started = time.monotonic()

    def done(what: str) -> None:
        say(f"{time.monotonic() - started:5.0f} s  {what}")

    weights = folder / WEIGHTS
    weights.mkdir()
    parallel = joblib.Parallel(
        n_jobs=jobs, return_as="generator", **joblib_options_ending_workers_with_parent()
    )
    nets = [(a, s) for s in plan.seeds for a in ARCHITECTURES]
    for a, s in parallel(joblib.delayed(_train)(a, s, plan, weights) for a, s in nets):
        done(f"trained {a}, seed {s}")
    # insertion takes longest: the networks that need it first
    wanted = [(d.name, a, s) for s in plan.seeds for d in DESIGNS for a in ARCHITECTURES]
    runs = []
    for run in parallel(joblib.delayed(_run)(d, a, s, plan, weights) for d, a, s in wanted):
        runs.append(run)
        done(f"scored the maps of {run.architecture}, seed {run.seed}, on {run.design}")
    shapes = study_features(plan)
    probs = pd.concat([r.predictions() for r in runs] + _ensemble_probabilities(runs, plan))
    scores = study_scores(runs, probs, shapes, plan)
    scores.to_parquet(folder / SCORES, index=False, compression="zstd")
    shapes.to_csv(folder / FEATURES, index=False)
    with warnings.catch_warnings():
        # a digit that is told from the others on every canvas has an area of 1 and no limits: so it is
        warnings.simplefilter("ignore", SalstatsWarning)
        areas = auroc(probs, "prob", "label", by=["dataset", "model", "seed", "task"])
    areas.to_csv(folder / AUROC, index=False)
    done("scores, features and AUROC written")
    write_examples(folder / EXAMPLES, weights, plan.test_sets())
    (folder / SETTINGS).write_text(json.dumps(settings(plan), indent=1) + "\n", encoding="utf-8")
    write_sums(folder)
    done("complete")


class Run(NamedTuple):
    """Scores and maps of one network on one data set; maps of the main design only, for the ensemble."""

    tests: CanvasSet
    architecture: str
    seed: int
    probs: np.ndarray
    maps: Mapping[str, np.ndarray]
    scores: pd.DataFrame | None

    @property
    def design(self) -> str:
        """The data set."""
        return self.tests.design

    def predictions(self) -> pd.DataFrame:
        """Every digit's probability, rounded, with the names of the run."""
        frame = predictions(self.tests, self.probs)
        return _named(frame.round({"prob": PROB_DECIMALS}), self.design, self.architecture, str(self.seed))


def _named(frame: pd.DataFrame, design: str, architecture: str, seed: str) -> pd.DataFrame:
    """A frame with the columns that say whose numbers these are."""
    return frame.assign(dataset=design, model=architecture, seed=seed)


def _train(architecture: str, seed: int, plan: Plan, folder: Path) -> tuple[str, int]:
    """Train one network and write its weights."""
    torch.set_num_threads(1)
    canvases = make_training_canvases(plan.n_train)
    network = train(architecture, canvases, seed=seed, schedule=plan.schedule)
    write_weights(network, folder / f"{architecture}-{seed}.npz")
    return architecture, seed


def _run(design: str, architecture: str, seed: int, plan: Plan, folder: Path) -> Run:
    """Make and score the maps of one network for one data set.

    Of the first training there are maps for every data set, and insertion; of the others for the main one.
    """
    torch.set_num_threads(1)
    tests = plan.test_set(design)
    network = read_network(architecture, folder / f"{architecture}-{seed}.npz")
    probs = probabilities(network, tests)
    first = seed == plan.seeds[0]
    maps, scores = {}, None
    if first or design == MAIN_DESIGN:
        maps = method_maps(network, architecture, tests)
        pieces = [score_maps(tests, maps)]
        if first:
            pieces.append(score_insertion(network, tests, maps))
        scores = pd.concat(pieces)
    kept = maps if design == MAIN_DESIGN else {}
    return Run(tests, architecture, seed, probs, kept, scores)


def _ensemble_probabilities(runs: Sequence[Run], plan: Plan) -> list[pd.DataFrame]:
    """Mean probability over the trainings, by data set and architecture."""
    frames = []
    for design in (d.name for d in DESIGNS):
        for architecture in ARCHITECTURES:
            own = [r.probs for r in runs if (r.design, r.architecture) == (design, architecture)]
            frame = predictions(plan.test_set(design), np.mean(own, axis=0))
            frames.append(_named(frame.round({"prob": PROB_DECIMALS}), design, architecture, ENSEMBLE))
    return frames


def study_scores(runs: Sequence[Run], probs: pd.DataFrame, shapes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """All scores as one frame, with probability, label and covariates beside each.

    Rows of the first training, which are the study, stand for every case and task, also where the digit is
    not there and a score is undefined; those of the other trainings and of their mean where it is there.
    """
    pieces = [_named(r.scores, r.design, r.architecture, str(r.seed)) for r in runs if r.scores is not None]
    tests = plan.test_set(MAIN_DESIGN)
    for architecture in ARCHITECTURES:
        own = [r.maps for r in runs if (r.design, r.architecture) == (MAIN_DESIGN, architecture)]
        means = {m.name: np.mean([maps[m.name] for maps in own], axis=0) for m in METHODS}
        pieces.append(_named(score_maps(tests, means), MAIN_DESIGN, architecture, ENSEMBLE))
    for design in (d.name for d in DESIGNS):
        drawn = score_annotator(plan.test_set(design))
        pieces += [_named(drawn, design, a, str(plan.seeds[0])) for a in ARCHITECTURES]
    found = pd.concat(pieces, ignore_index=True)
    first = str(plan.seeds[0])
    # `score` gives a row where a digit is not there as well, a curve is made only where it is
    absent = probs[(probs["seed"] == first) & (probs["label"] == 0)]
    asked = pd.DataFrame({"method": [m.name for m in METHODS], "metric": "insertion", "reason": ABSENT})
    absent = absent.merge(asked, "cross")
    scores = pd.concat([found, absent[[*_KEYS, "reason"]]], ignore_index=True)
    scores = scores.merge(probs, on=["dataset", "model", "seed", "case", "task"], validate="many_to_one")
    scores = scores[(scores["seed"] == first) | (scores["label"] == 1)]
    beside = shapes[["case", "task", *COVARIATES]]
    scores = scores.merge(beside, on=["case", "task"], validate="many_to_one")
    scores["score"] = scores["score"].round(SCORE_DECIMALS)
    columns = [*_KEYS, "score", "reason", "prob", "label", *COVARIATES, "threshold"]
    return scores[columns].sort_values(_KEYS, kind="stable", ignore_index=True)


def study_features(plan: Plan) -> pd.DataFrame:
    """Features of every digit of every canvas, rounded, with `dataset` first."""
    frames = []
    for design in (d.name for d in DESIGNS):
        tests = plan.test_set(design)
        frame = features(study_from_arrays(tests.truth, {}))
        frame.insert(0, "dataset", design)
        frames.append(frame)
    made = pd.concat(frames, ignore_index=True)
    made = made.sort_values(["dataset", "case", "task"], ignore_index=True)
    return made.round(dict.fromkeys((*COVARIATES, "perimeter_px"), SCORE_DECIMALS))


def write_sums(folder: Path) -> None:
    """Write the SHA-256 of every file of a folder into it, in the form of `sha256sum`."""
    files = sorted(f for f in folder.rglob("*") if f.is_file() and f.name != SUMS)
    lines = [f"{sha256(f.read_bytes()).hexdigest()}  {f.relative_to(folder).as_posix()}\n" for f in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def settings(plan: Plan) -> dict[str, Any]:
    """Return the settings of the study and the versions of its software."""
    packages = ("numpy", "scipy", "pandas", "torch", "grad-cam", "captum", "scikit-learn")
    return {
        "what": "real handwritten digits (scikit-learn's copy of the UCI data) on cluttered canvases, real "
        "networks and maps; the second annotator (method 'human') is simulated",
        "plan": asdict(plan),
        "side": SIDE,
        "parts": PARTS,
        "designs": [asdict(d) for d in DESIGNS],
        "main_design": MAIN_DESIGN,
        "architectures": list(ARCHITECTURES),
        "widths": list(WIDTHS),
        "methods": [{"name": m.name, "grid": m.grid, **m.options} for m in METHODS],
        "insertion": {"baseline": "blur", "steps": STEPS},
        "batch_size": BATCH_SIZE,
        "versions": {"salstats": __version__, **{name: version(name) for name in packages}},
    }

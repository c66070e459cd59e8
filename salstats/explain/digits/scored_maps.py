"""The maps of one network for one data set, and their scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from salstats.explain.curves import curve_scores
from salstats.explain.digits.canvas_sets import TASKS, CanvasSet
from salstats.explain.digits.networks import LAST_GRID, MIDDLE_GRID, DigitNetwork
from salstats.explain.faithfulness import insertion
from salstats.explain.forward import predict
from salstats.explain.making import explain
from salstats.readers.arrays import study_from_arrays
from salstats.scoring.scores import score
from salstats.study import HUMAN

#: Metrics of maps beside the truth; the simulated annotator has no energy, as it has no map.
METRICS = ("iou", "dice", "hit", "energy")
#: What `score` says that is kept.
COLUMNS = ("case", "task", "method", "metric", "score", "reason", "threshold")
#: Steps of an insertion curve, and images in a forward pass.
STEPS, BATCH_SIZE = 24, 256
#: Side in pixels of the box filter over attributions of single pixels.
SMOOTH = 5


@dataclass(frozen=True)
class MapMethod:
    """A method as the study uses it.

    Attributes
    ----------
    name : str
    grid : str
        "last" or "middle": the grid of the network a CAM is taken from; "pixels" where there is none.
    options : mapping of str to Any
        For `explain`.
    """

    name: str
    grid: str = "pixels"
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def layer(self, architecture: str) -> str | None:
        """Return the layer a CAM is taken from, None for other methods."""
        return {"last": LAST_GRID, "middle": MIDDLE_GRID[architecture], "pixels": None}[self.grid]


METHODS = (
    MapMethod("gradcam", "last"),
    MapMethod("gradcam++", "last"),
    MapMethod("layercam", "middle"),
    MapMethod("eigencam", "last"),
    MapMethod("integrated_gradients", options={"n_steps": 24, "smooth": SMOOTH}),
    MapMethod("deeplift", options={"smooth": SMOOTH}),
    MapMethod("occlusion", options={"window": 12, "stride": 4}),
    MapMethod("rise", options={"n_masks": 500, "probability": "sigmoid"}),
)


def method_maps(network: DigitNetwork, architecture: str, tests: CanvasSet) -> dict[str, np.ndarray]:
    """Return the maps of every method, in the order of `tests.keys`, each on the method's own grid."""
    images, targets = tests.asked
    # a canvas has the random numbers of its place in the whole set, whichever of them are asked for
    seeds = [int(case.rpartition("-")[2]) for case, _ in tests.keys]
    return {
        method.name: explain(
            network,
            images,
            targets,
            method=method.name,
            layer=method.layer(architecture),
            resolution="network",
            batch_size=BATCH_SIZE,
            seeds=seeds,
            **method.options,
        )
        for method in METHODS
    }


def probabilities(network: DigitNetwork, tests: CanvasSet) -> np.ndarray:
    """Return the probability of every digit on every canvas: (n_canvases, 10)."""
    return predict(network, tests.images, probability="sigmoid", batch_size=BATCH_SIZE)


def score_maps(tests: CanvasSet, maps: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return how well maps lie on the digits: `COLUMNS`, also where a digit is not there."""
    made = {
        (*key, method): m for method, stack in maps.items() for key, m in zip(tests.keys, stack, strict=True)
    }
    scores = score(study_from_arrays(tests.truth, made), metrics=METRICS)
    return scores[list(COLUMNS)]


def score_annotator(tests: CanvasSet) -> pd.DataFrame:
    """Return how well the simulated annotator's masks and points lie on the digits."""
    drawn = tests.annotations()
    study = study_from_arrays(
        tests.truth,
        {},
        human={key: d.mask for key, d in drawn.items()},
        points={key: d.points for key, d in drawn.items()},
    )
    scores = score(study, metrics=[m for m in METRICS if m != "energy"])
    assert set(scores["method"]) == {HUMAN}
    return scores[[c for c in COLUMNS if c in scores.columns]]


def score_insertion(network: DigitNetwork, tests: CanvasSet, maps: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return the area under the insertion curve of every map."""
    images, targets = tests.asked
    cases, tasks = zip(*tests.keys, strict=True)
    curves = insertion(
        network,
        images,
        dict(maps),
        targets,
        cases=cases,
        tasks=tasks,
        steps=STEPS,
        probability="sigmoid",
        batch_size=BATCH_SIZE,
    )
    return curve_scores(curves)[["case", "task", "method", "metric", "score"]]


def predictions(tests: CanvasSet, probs: np.ndarray) -> pd.DataFrame:
    """Return probability and label of every digit of every canvas: `case, task, prob, label`."""
    n = len(tests.canvases)
    return pd.DataFrame(
        {
            "case": np.repeat([c.name for c in tests.canvases], len(TASKS)),
            "task": np.tile(TASKS, n),
            "prob": probs.ravel(),
            "label": tests.labels.ravel().astype(float),
        }
    )

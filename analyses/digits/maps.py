"""The maps of one network for one data set, their scores, and a dozen canvases as a map folder."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from digits.canvases import SIDE, Canvas
from digits.sets import TASKS, CanvasSet
from salstats.explain.curves import curve_scores
from salstats.explain.digits import LAST_GRID, MIDDLE_GRID, DigitNetwork, read_network
from salstats.explain.faithfulness import insertion
from salstats.explain.forward_passes import predict
from salstats.explain.saliency_maps import explain
from salstats.files.map_folder_writer import MapFolder, MapKey
from salstats.files.outputs import replacing_file
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


class MapMethod(NamedTuple):
    """A method of the study: the grid of the network that a CAM is taken from, and options of `explain`."""

    name: str
    grid: str = "pixels"
    options: Mapping[str, Any] = MappingProxyType({})

    def layer(self, architecture: str) -> str | None:
        """Layer a CAM is taken from, None for other methods."""
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
    """Maps of every method, in the order of `tests.keys`, each on the method's own grid."""
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
    """Probability of every digit on every canvas: (n_canvases, 10)."""
    return predict(network, tests.images, probability="sigmoid", batch_size=BATCH_SIZE)


def score_maps(tests: CanvasSet, maps: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Score maps against the digits: `COLUMNS`, also for digits that are absent."""
    made = {
        (*key, method): m for method, stack in maps.items() for key, m in zip(tests.keys, stack, strict=True)
    }
    scores = score(study_from_arrays(tests.truth, made), metrics=METRICS)
    return scores[list(COLUMNS)]


def score_annotator(tests: CanvasSet) -> pd.DataFrame:
    """Score the simulated annotator's masks and points against the digits."""
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
    """Area under the insertion curve of every map."""
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
    """Probability and label of every digit of every canvas: `case, task, prob, label`."""
    n = len(tests.canvases)
    return pd.DataFrame(
        {
            "case": np.repeat([c.name for c in tests.canvases], len(TASKS)),
            "task": np.tile(TASKS, n),
            "prob": probs.ravel(),
            "label": tests.labels.ravel().astype(float),
        }
    )


#: Canvases of each data set: the first that have this many different digits at most, since a map of single
#: pixels takes 16 kB.
N_EXAMPLES = {"textured": 5, "quiet": 4, "crowded": 3}
MOST_DIGITS = {"textured": 2, "quiet": 2, "crowded": 3}
#: Whose maps they are.
ARCHITECTURE, SEED = "residual", 0
IMAGES = "images"
#: Decimals of a probability.
PROB_DECIMALS = 6


def chosen_examples(tests: CanvasSet) -> CanvasSet:
    """Canvases of a data set that are examples."""
    few = [c.name for c in tests.canvases if len(c.truth) <= MOST_DIGITS[tests.design]]
    return tests.some(few[: N_EXAMPLES[tests.design]])


def write_examples(folder: Path, weights: Path, test_sets: Iterable[CanvasSet]) -> None:
    """Write the map folder of the examples: all methods of one network."""
    network = read_network(ARCHITECTURE, weights / f"{ARCHITECTURE}-{SEED}.npz")
    series = {f"{m.name}:{ARCHITECTURE}:{SEED}": _words(m.grid, dict(m.options)) for m in METHODS}
    examples: list[Canvas] = []
    with MapFolder(folder, settings=series) as maps:
        for whole in test_sets:
            tests = chosen_examples(whole)
            examples += tests.canvases
            rows = dict(zip((c.name for c in tests.canvases), probabilities(network, tests), strict=True))
            for method, stack in method_maps(network, ARCHITECTURE, tests).items():
                for (case, task), saliency in zip(tests.keys, stack, strict=True):
                    maps.add(
                        MapKey(case, task, method, ARCHITECTURE, str(SEED)),
                        saliency,
                        prob=round(float(rows[case][TASKS.index(task)]), PROB_DECIMALS),
                        label=1,
                        shape=(SIDE, SIDE),
                    )
            maps.write_masks(tests.truth)
            # drawn for the whole set, so that an example has the annotation that was scored
            drawn = whole.annotations()
            maps.write_masks({key: drawn[key].mask for key in tests.keys}, which="human")
    (folder / IMAGES).mkdir()
    for canvas in examples:
        with replacing_file(folder / IMAGES / f"{canvas.name}.png") as file:
            Image.fromarray(np.ascontiguousarray(canvas.image)).save(file, optimize=True)


def _words(grid: str, options: dict[str, object]) -> str:
    """A method's settings in words."""
    said = [] if grid == "pixels" else [f"the {grid} grid of the network"]
    return ", ".join(said + [f"{name} {value}" for name, value in options.items()])

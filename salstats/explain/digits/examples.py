"""A dozen canvases as a map folder: images, truth, the simulated annotator's masks and the maps."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

from salstats.explain.digits.canvas_sets import TASKS, CanvasSet
from salstats.explain.digits.canvases import SIDE, Canvas
from salstats.explain.digits.networks import read_network
from salstats.explain.digits.scored_maps import METHODS, method_maps, probabilities
from salstats.files.map_folder import MapFolder, MapKey
from salstats.files.outputs import replacing

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
    """Return the canvases of a data set that are examples."""
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
        with replacing(folder / IMAGES / f"{canvas.name}.png") as file:
            Image.fromarray(np.ascontiguousarray(canvas.image)).save(file, optimize=True)


def _words(grid: str, options: dict[str, object]) -> str:
    """Return a method's settings in words."""
    said = [] if grid == "pixels" else [f"the {grid} grid of the network"]
    return ", ".join(said + [f"{name} {value}" for name, value in options.items()])

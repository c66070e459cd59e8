import json

import numpy as np
import pandas as pd
import pytest

from salstats.readers.pickles import read_pickle


class Maps:
    """The maps of one part of the CheXlocalize oracle, and what the study's scripts made of them."""

    def __init__(self, folder, maps, thresholds, every=1):
        self.folder = folder
        self.per_map = pd.read_csv(folder / "per_map.csv").set_index(["img_id", "task"])
        self.thresholds = pd.read_csv(thresholds).set_index("task")["threshold"]
        self.all = [self.read(file) for file in sorted(maps.glob("*_map.pkl"))[::every]]

    def read(self, file):
        """Return case, task, map, shape of the image and row of the oracle's table."""
        case, task = file.name.removesuffix("_map.pkl").rsplit("_", 1)
        held = read_pickle(file)
        width, height = held["cxr_dims"]
        return case, task, held["map"][0, 0].copy(), (height, width), self.per_map.loc[case, task]

    def __iter__(self):
        return iter(self.all)

    def segmentations(self, name):
        return json.loads((self.folder / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def sample_maps(shared):
    """20 maps of two radiographs, 320 x 320 on 2320 x 2828 and 2022 x 2021."""
    sample = shared / "data/chexlocalize_sample"
    folder = shared / "oracles/chexlocalize/sample"
    return Maps(folder, sample / "gradcam_maps_val", sample / "tuning_results.csv")


def _study_maps(shared, every):
    study = shared / "oracles/chexlocalize/study"
    tuned = study / "expected/tune/tuning_results.csv"
    return Maps(study / "expected", study / "inputs/maps", tuned, every)


@pytest.fixture(scope="session")
def study_maps(shared):
    """2000 made-up maps, 20 x 20 on 300 to 600 pixels; 39 of them are zero everywhere."""
    return _study_maps(shared, 1)


@pytest.fixture(scope="session")
def some_study_maps(shared):
    """Every seventh of them, of every task."""
    return _study_maps(shared, 7)


@pytest.fixture(scope="session")
def interpolated():
    """The map on an image's pixels by numpy's linear interpolation along one axis, then along the other."""

    def along(saliency, axis, n_out):
        n_in = saliency.shape[axis]
        at = (np.arange(n_out) + 0.5) * n_in / n_out - 0.5
        return np.apply_along_axis(lambda values: np.interp(at, np.arange(n_in), values), axis, saliency)

    return lambda saliency, shape: along(along(saliency, 0, shape[0]), 1, shape[1])

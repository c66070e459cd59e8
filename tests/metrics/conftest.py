import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def pairs(shared):
    """The 31 pairs of the oracle of masks: name -> (mask, truth)."""
    with np.load(shared / "oracles/masks/masks.npz") as held:
        names = sorted({key.split("__")[0] for key in held})
        return {name: (held[f"{name}__pred"], held[f"{name}__truth"]) for name in names}


@pytest.fixture(scope="session")
def libraries(shared):
    """What six libraries give for these pairs."""
    return pd.read_csv(shared / "oracles/masks/results.csv").set_index("pair")

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.checks import ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.digits.trained import digits_network  # noqa: E402
from salstats.explain.map_runs import make_maps  # noqa: E402

#: Single precision, on any processor, of maps with values up to 1 and more.
SINGLE = 1e-4
#: Probabilities are stored to six decimals.
PROB = 5e-6


def test_the_readmes_call_makes_the_maps_that_are_embedded(tmp_path):
    folder = ss.datasets.digits_examples()
    canvases = {file.stem: file for file in (folder / "images").glob("*.png")}
    made = make_maps(tmp_path / "maps", canvases, digits_network("residual"), progress=False)
    kept = pd.read_csv(folder / "maps.csv")
    both = kept[kept["method"] == "gradcam"].merge(
        pd.read_csv(made / "maps.csv"), on=["case", "task", "method"], suffixes=("", "_made")
    )
    assert len(both) == (kept["method"] == "gradcam").sum()
    assert both["prob_made"].to_numpy() == pytest.approx(both["prob"].to_numpy(), abs=PROB)
    for path, again in zip(both["path"], both["path_made"], strict=True):
        np.testing.assert_allclose(np.load(made / again), np.load(folder / path), atol=SINGLE)


@pytest.mark.parametrize(("architecture", "seed", "said"), [("vit", 0, "architecture"), ("plain", 7, "seed")])
def test_what_was_not_trained_is_named(architecture, seed, said):
    with pytest.raises(ValueRangeError, match=said):
        digits_network(architecture, seed=seed)

"""The trained networks of the embedded study: their maps are those embedded, their grids as named."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import InputFileError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.digits import (  # noqa: E402
    ARCHITECTURES,
    LAST_GRID,
    MIDDLE_GRID,
    digits_network,
    read_network,
)
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


@pytest.mark.parametrize(
    ("architecture", "seed", "option"), [("vit", 0, "architecture"), ("plain", 7, "seed")]
)
def test_what_was_not_trained_is_named(architecture, seed, option):
    with raises(ValueRangeError, option=option):
        digits_network(architecture, seed=seed)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_grids_are_an_eighth_and_a_quarter_of_the_canvas(architecture):
    network = digits_network(architecture).open()
    shapes = {}
    for name in (LAST_GRID, MIDDLE_GRID[architecture]):
        network.get_submodule(name).register_forward_hook(
            lambda *given, name=name: shapes.update({name: tuple(given[2].shape[2:])})
        )
    network(torch.zeros(1, 1, 64, 64))
    assert shapes == {LAST_GRID: (8, 8), MIDDLE_GRID[architecture]: (16, 16)}


def test_weights_of_another_network_and_damaged_ones_are_refused_in_one_line(tmp_path):
    file = ss.datasets.data_folder() / "digits" / "weights" / "plain-0.npz"
    with raises(InputFileError, path=file, value="residual"):
        read_network("residual", file)
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(file.read_bytes()[:1000])
    with raises(InputFileError, path=damaged):
        read_network("plain", damaged)

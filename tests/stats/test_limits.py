"""Sizes of tables, draws and matrices: in blocks, or refused before memory is taken."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.checks import FormulaError, SalstatsWarning, ValueRangeError
from salstats.stats import draws as resampling
from salstats.stats.models import covariance


def study(n_cases=60, **columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "case": np.repeat([f"c{i:05d}" for i in range(n_cases)], 2),
            "method": ["gradcam", "human"] * n_cases,
            "metric": "iou",
            "score": rng.random(2 * n_cases),
            "size": np.repeat(rng.random(n_cases), 2),
            **columns,
        }
    )


def test_degrees_of_freedom_of_many_clusters_equal_the_matrix_written_out(synth1, monkeypatch):
    options = {"by": "task", "errors": "cr2", "unit": "patient"}
    formula = "iou ~ n_instances + area_ratio + elongation"
    direct = ss.regress(synth1, formula, **options)
    monkeypatch.setattr(covariance, "_DIRECT", 0)
    # two orders of the same sums
    pd.testing.assert_frame_equal(ss.regress(synth1, formula, **options), direct, rtol=1e-9)


def test_sign_flips_in_blocks_are_those_at_once(monkeypatch):
    options = {"reference": "human", "test": "signflip", "n_replicates": 300}
    whole = ss.difference(study(), **options)
    monkeypatch.setattr(resampling, "_BLOCK_ROWS", 1)
    monkeypatch.setattr(resampling, "_BLOCK_CELLS", 60 * 64)
    pd.testing.assert_frame_equal(ss.difference(study(), **options), whole)


def test_bootstrap_t_in_small_blocks_is_the_one_at_once(monkeypatch):
    whole = ss.summarize(study(), interval="studentized", n_replicates=150)
    monkeypatch.setattr(resampling, "_BLOCK_ROWS", 1)
    monkeypatch.setattr(resampling, "_BLOCK_CELLS", 60 * 7)
    small = ss.summarize(study(), interval="studentized", n_replicates=150)
    pd.testing.assert_frame_equal(small, whole, rtol=1e-12)


def test_groups_times_units_beyond_memory_are_refused():
    with pytest.raises(ValueRangeError, match="group by fewer columns"):
        ss.summarize(study(20_000).query("method == 'human'"), by="case")


def test_a_model_matrix_beyond_memory_is_refused():
    names = np.array([f"level{i:04d}" for i in range(1500)])
    table = pd.DataFrame({"y": np.random.default_rng(0).random(90_000), "s": np.resize(names, 90_000)})
    with pytest.raises(FormulaError, match="too large"):
        ss.regress(table, "y ~ s")


def test_a_model_without_a_defined_outcome_says_so_with_text_in_it():
    table = pd.DataFrame({"y": [np.nan] * 6, "s": list("ababab"), "a": np.arange(6.0)})
    with pytest.warns(SalstatsWarning, match="y ~ s"):
        result = ss.regress(table, "y ~ s*a")
    assert result["estimate"].isna().all()

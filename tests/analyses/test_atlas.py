"""Scenarios of the coverage atlas: their studies, their true values and their analyses fit each other."""

import numpy as np
import pytest
from coverage_atlas import MODULES, cell_file, designs_of

from atlas import bounded, readers, weights
from atlas.studies import Design

#: Standard errors of a mean of simulated scores within which the true value has to lie.
N_ERRORS = 4


def test_every_module_names_its_scenarios_and_bands():
    assert all(hasattr(module, "scenarios") and hasattr(module, "BANDS") for module in MODULES)


@pytest.mark.parametrize("measure", ["means", "hits", "areas"])
def test_readers_compare_two_equally_good_methods(measure):
    frame = readers.readings(
        4, (0.2, 0.2, 0.02, 0.1), measure, Design(30, "1", 0.0), 40, np.random.default_rng(1)
    )
    assert len(frame) == 40 * 30 * 4 * 2
    by_study = frame.pivot_table(index="study", columns="method", values="score")
    difference = by_study["cam"] - by_study["human"]
    assert abs(difference.mean()) < N_ERRORS * difference.std() / np.sqrt(40)


def test_the_weighted_mean_of_an_enriched_study_is_that_of_the_population():
    scenario = weights.scenarios()[0]
    frame = scenario.make(Design(4000, "1", 0.0), 1, np.random.default_rng(2))
    mean = np.average(frame["score"], weights=frame["weight"])
    assert frame["finding"].mean() > 0.4
    assert abs(mean - scenario.truth) < N_ERRORS * frame["score"].std() / np.sqrt(2000)


def test_scores_of_an_inflated_beta_have_its_zeros_and_ones():
    scores = bounded.MANY_ZEROS.scores(np.random.default_rng(3).standard_normal(20_000))
    assert abs((scores == 0).mean() - 0.42) < 0.02
    assert abs((scores == 1).mean() - 0.05) < 0.01


def test_every_cell_of_a_scenario_has_a_file_of_its_own(tmp_path):
    scenario = weights.scenarios()[0]
    designs = [design for n in scenario.units for design in designs_of(scenario, n, "default")]
    files = {cell_file(tmp_path, scenario, design, "default") for design in designs}
    assert len(files) == len(designs)

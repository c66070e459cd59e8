"""Families of contrasts: which rows are adjusted together, and what their P values and limits are."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from salstats.stats.models.contrast_families import (
    AdjustedFamily,
    adjusted_families,
    multivariate_t_frame,
)


@pytest.fixture
def contrasts():
    """Three contrasts of task a, the second without a test, and one of task b."""
    frame = pd.DataFrame(
        {
            "task": ["a", "a", "b", "a"],
            "estimate": [0.3, 0.0, -0.5, 0.2],
            "std_error": [0.1, 0.0, 0.25, 0.2],
            "statistic": [3.0, np.nan, -2.0, 1.0],
            "df": [np.nan, np.nan, 12.0, np.nan],
            "conf_level": 0.9,
        }
    )
    normal = 2 * stats.norm.sf(frame["statistic"].abs())
    student = 2 * stats.t.sf(frame["statistic"].abs(), frame["df"])
    frame["p_value"] = np.where(frame["df"].isna(), normal, student)
    return frame.assign(conf_low=np.nan, conf_high=np.nan)


def test_each_family_is_adjusted_for_its_tests_alone(contrasts):
    def bonferroni(family):
        assert np.isinf(family.loc[family["task"] == "a", "df"]).all()
        n_tests = len(family)
        single_level = np.full(n_tests, 1 - (1 - 0.9) / n_tests)
        return AdjustedFamily(np.minimum(n_tests * family["p_value"].to_numpy(), 1), single_level)

    adjusted = adjusted_families(contrasts, ["task"], "bonferroni", bonferroni)
    assert adjusted["n_tests"].tolist() == [2, 2, 1, 2]
    p_values = contrasts["p_value"]
    np.testing.assert_allclose(
        adjusted["p_adjusted"], [2 * p_values[0], np.nan, p_values[2], 2 * p_values[3]], rtol=1e-12
    )
    assert adjusted["family_level"].eq(0.9).all()
    np.testing.assert_allclose(adjusted["conf_level"], [0.95, 0.9, 0.9, 0.95], rtol=1e-12)
    half_width = np.array(
        [stats.norm.ppf(0.975) * 0.1, 0.0, stats.t.ppf(0.95, 12) * 0.25, stats.norm.ppf(0.975) * 0.2]
    )
    np.testing.assert_allclose(adjusted["conf_high"], contrasts["estimate"] + half_width, rtol=1e-9)
    np.testing.assert_allclose(adjusted["conf_low"], contrasts["estimate"] - half_width, rtol=1e-9)
    columns = list(adjusted.columns)
    assert columns[columns.index("p_value") + 1] == "p_adjusted"
    assert "p_adjusted" not in contrasts


def test_the_largest_of_independent_normal_contrasts_has_sidaks_p_value(contrasts):
    adjusted = multivariate_t_frame(contrasts, ["task"], lambda positions: np.eye(len(positions)))
    p_values = contrasts["p_value"].to_numpy()
    expected = [1 - (1 - p_values[0]) ** 2, np.nan, p_values[2], 1 - (1 - p_values[3]) ** 2]
    np.testing.assert_allclose(adjusted["p_adjusted"], expected, rtol=1e-6)
    np.testing.assert_allclose(adjusted["conf_level"], [np.sqrt(0.9), 0.9, 0.9, np.sqrt(0.9)], rtol=1e-6)
    assert adjusted["procedure"].nunique() == 1


def test_correlations_are_taken_by_the_positions_of_the_rows(contrasts):
    # equal contrasts have the P value of one
    correlation = np.ones((4, 4))
    adjusted = multivariate_t_frame(
        contrasts.assign(
            statistic=[3.0, np.nan, -2.0, 3.0], p_value=contrasts["p_value"][[0, 1, 2, 0]].array
        ),
        ["task"],
        lambda positions: correlation[np.ix_(positions, positions)],
    )
    assert adjusted.loc[0, "p_adjusted"] == pytest.approx(contrasts.loc[0, "p_value"], rel=1e-3)

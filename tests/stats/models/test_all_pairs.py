"""Tukey's method for all pairs: limits of many degrees of freedom, and rows without a test."""

import numpy as np
import pandas as pd
from scipy import stats

from salstats.stats.models.all_pairs import tukey_frame


def contrasts_of(df, statistic):
    """Return contrasts with standard errors of 1, one family for each level of `site`."""
    df = np.asarray(df, dtype=float)
    statistic = np.asarray(statistic, dtype=float)
    return pd.DataFrame(
        {
            "site": np.repeat(np.arange(len(df) // 3), 3),
            "method": ["b", "c", "c"] * (len(df) // 3),
            "reference_level": ["a", "a", "b"] * (len(df) // 3),
            "estimate": statistic,
            "std_error": np.where(np.isnan(statistic), np.nan, 1.0),
            "statistic": statistic,
            "df": df,
            "p_value": 2 * stats.t.sf(np.abs(statistic), df),
            "conf_low": np.nan,
            "conf_high": np.nan,
            "conf_level": 0.9,
        }
    )


def test_limits_at_many_degrees_of_freedom_have_the_level_of_the_family():
    df = [4.2, 5.9, 7, 8.5, 11, 16, 21, 28, 39.5, 60, 110, 4000]
    frame = tukey_frame(contrasts_of(df, [2.0] * 12).assign(site=0), ["site"], "method")
    half_width = (frame["conf_high"] - frame["conf_low"]) / 2
    outside = stats.studentized_range.sf(np.sqrt(2) * half_width, 3, frame["df"])
    np.testing.assert_allclose(outside, 0.1, rtol=1e-6)
    np.testing.assert_allclose(2 * stats.t.sf(half_width, frame["df"]), 1 - frame["conf_level"], rtol=1e-9)


def test_a_level_without_estimates_is_not_counted_in_its_family():
    frame = tukey_frame(contrasts_of([30] * 6, [2, np.nan, np.nan, 2, 1, 3]), ["site"], "method")
    assert frame["n_tests"].tolist() == [1] * 3 + [3] * 3
    assert np.isclose(frame["p_adjusted"][0], frame["p_value"][0])
    assert frame["p_adjusted"].isna().tolist() == [False, True, True, False, False, False]
    # three means, two of which differ by 2 standard errors of their difference with 30 df: R's
    # ptukey(2 * sqrt(2), 3, 30, lower.tail = FALSE)
    assert np.isclose(frame["p_adjusted"][3], 0.129620712042, rtol=1e-8)


def test_tiny_p_values_fall_with_the_statistic_between_the_single_one_and_bonferronis():
    statistic = np.repeat([5.5, 6.2, 6.5, 6.8, 7.1, 8.291, 9, 15, 30, 37], 3)
    for df in (9, 60, np.inf):
        frame = tukey_frame(contrasts_of([df] * len(statistic), statistic), ["site"], "method")[::3]
        adjusted = frame["p_adjusted"].to_numpy()
        assert (adjusted > 0).all()
        assert (np.diff(adjusted) < 0).all()
        assert (adjusted >= frame["p_value"]).all()
        assert (adjusted <= 3 * frame["p_value"]).all()
    # with the normal distribution the bound is the P value itself there, to one part in a thousand
    np.testing.assert_allclose(adjusted[5:], 6 * stats.norm.sf(statistic[15::3]), rtol=1e-9)
    integral = stats.studentized_range.sf(np.sqrt(2) * statistic[:9:3], 3, np.inf)
    np.testing.assert_allclose(adjusted[:3], integral, rtol=1e-9)

"""Families of contrasts of one model: their P values and limits adjusted together."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from salstats.frames import combined_codes
from salstats.stats.adjust import MULTIVARIATE_T
from salstats.stats.engine.multivariate_t import LargestStatistic


class AdjustedFamily(NamedTuple):
    """Adjusted P values and levels of a family's contrasts, (n_rows,) each."""

    p_adjusted: np.ndarray
    #: Level that each limit has by itself where those of the family hold together.
    single_conf_level: np.ndarray


def adjusted_families(
    contrasts: pd.DataFrame,
    family_columns: Sequence[str],
    procedure: str,
    adjust_family: Callable[[pd.DataFrame], AdjustedFamily],
) -> pd.DataFrame:
    """Return contrasts with P values adjusted within families, and limits that hold together in each.

    Parameters
    ----------
    contrasts : DataFrame
        Columns `estimate, std_error, statistic, df, p_value, conf_low, conf_high, conf_level`. `df` is NaN
        for the normal distribution.
    family_columns : sequence of str
        Columns whose groups are the families.
    procedure : str
        Name of the procedure, for the column `procedure`.
    adjust_family : callable
        Function of a frame of a family's rows with P values. Its index holds their positions in `contrasts`,
        and `df` is infinite for the normal distribution.

    Returns
    -------
    DataFrame
        A copy with the columns of `adjust(intervals=True)`: `p_adjusted` after `p_value`, then last
        `family_level, n_tests, procedure`. `conf_level` is the level of each limit by itself.
    """
    frame = contrasts.reset_index(drop=True)
    family_codes = combined_codes(frame, list(family_columns))
    is_tested = frame["p_value"].notna().to_numpy()
    n_rows = len(frame)
    n_tests = np.zeros(n_rows, dtype=np.int64)
    p_adjusted = np.full(n_rows, np.nan)
    single_conf_level = frame["conf_level"].to_numpy(copy=True)
    df = frame["df"].fillna(np.inf).to_numpy()
    for code in np.unique(family_codes):
        in_family = family_codes == code
        rows = np.flatnonzero(in_family & is_tested)
        n_tests[in_family] = len(rows)
        if len(rows):
            family = adjust_family(frame.loc[rows].assign(df=df[rows]))
            p_adjusted[rows] = family.p_adjusted
            single_conf_level[rows] = family.single_conf_level
    half_width = special.stdtrit(df, (1 + single_conf_level) / 2) * frame["std_error"].to_numpy()
    frame.insert(frame.columns.tolist().index("p_value") + 1, "p_adjusted", p_adjusted)
    return frame.assign(
        conf_low=frame["estimate"] - half_width,
        conf_high=frame["estimate"] + half_width,
        family_level=contrasts["conf_level"].to_numpy(),
        conf_level=single_conf_level,
        n_tests=n_tests,
        procedure=procedure,
    )


def multivariate_t_frame(
    contrasts: pd.DataFrame,
    family_columns: Sequence[str],
    correlation_of_rows: Callable[[np.ndarray], np.ndarray],
) -> pd.DataFrame:
    """Return contrasts with P values and limits by the multivariate t distribution of their family.

    `correlation_of_rows` returns the correlation matrix of the rows of a family from their positions. Each
    contrast has its own degrees of freedom, as in R's emmeans, which rounds them down.
    """

    def adjusted_p_values_and_conf_levels(family: pd.DataFrame) -> AdjustedFamily:
        """Return a family's adjusted P values, and the level of each limit by itself."""
        largest = LargestStatistic(correlation_of_rows(family.index.to_numpy()))
        df = family["df"].to_numpy()
        p_adjusted = largest.tail(family["statistic"].abs().to_numpy(), df)
        family_level = float(family["conf_level"].iloc[0])
        distinct_df, positions = np.unique(df, return_inverse=True)
        bounds = np.array([largest.quantile(family_level, value) for value in distinct_df])
        single_conf_level = 1 - 2 * special.stdtr(distinct_df, -bounds)
        return AdjustedFamily(p_adjusted, single_conf_level[positions])

    return adjusted_families(contrasts, family_columns, MULTIVARIATE_T, adjusted_p_values_and_conf_levels)

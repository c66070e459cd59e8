"""Type III hypotheses: a term has no effect on average over the factors that it interacts with."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from salstats.stats.models.design import DesignMatrix, Product
from salstats.stats.models.formulas import Factor

#: Differences up to this size, between combinations of columns of length 1, are rounding errors.
_ROUNDING = 1e-6


def marginal_hypothesis_matrix_if_determined(
    design: DesignMatrix, estimated: NDArray[np.integer], positions: Sequence[int]
) -> np.ndarray | None:
    """Return the combinations of a model's coefficients that are zero if some terms have no average effect.

    A coefficient of `method` beside `method:site` is the difference of two methods at the reference level of
    `site`. Added to it are the coefficients of the interaction, averaged over all levels of `site`, that of
    the reference being 0: this is the difference averaged over sites. These combinations are zero if and only
    if the coefficients of `method` are zero in the same model coded by sum contrasts (R's `contr.sum`). R's
    lmerTest tests them as type III, and they do not depend on the order of levels. Numbers in an interaction
    are not averaged, so that `method` beside `method:size` is tested where `size` is 0.

    Parameters
    ----------
    design : DesignMatrix
        The model matrix, coded by reference levels.
    estimated : ndarray of shape (r,)
        Positions of the columns whose coefficients are estimated.
    positions : sequence of int
        Terms of the formula that are tested together.

    Returns
    -------
    ndarray of shape (q, r), or None
        One row for each estimated coefficient of these terms. None where a row is ambiguous, since columns
        that depend on others were left out: a combination of levels does not occur, or another term has the
        same columns.

    References
    ----------
    Searle SR, Speed FM, Milliken GA. Population marginal means in the linear model: an alternative to least
    squares means. Am Stat 1980;34:216-221. https://doi.org/10.1080/00031305.1980.10483031

    Kuznetsova A, Brockhoff PB, Christensen RHB. lmerTest package: tests in linear mixed effects models. J
    Stat Softw 2017;82(13):1-26. https://doi.org/10.18637/jss.v082.i13
    """
    n_columns = len(design.names)
    column_terms = np.array(design.assign)
    levels = _level_of_each_column(design)
    # A row of weights for each column of the model matrix; those of the tested terms are used.
    weights = np.zeros((n_columns, n_columns))
    for position in positions:
        weights[column_terms == position] = _averaged_term_effect_weights(design, levels, position)
    # Under the hypothesis the coefficients of the other tested terms are also zero.
    is_tested = np.isin(design.assign, list(positions))
    weights[:, is_tested] = np.eye(n_columns)[:, is_tested]
    tested_and_estimated = estimated[is_tested[estimated]]
    weights = weights[tested_and_estimated]
    if not _are_combinations_determined(design.matrix, estimated, weights, is_tested):
        return None
    return np.asarray(weights[:, estimated])


def _averaged_term_effect_weights(
    design: DesignMatrix, levels: Mapping[Factor, np.ndarray], position: int
) -> np.ndarray:
    """Return a term's effects, averaged over the factors that it interacts with, as weights of coefficients.

    The result has one row for each column of the term, and one column for each column of the model matrix.
    """
    is_of_term = np.array(design.assign) == position
    term = design.formula.terms[position]
    # Only columns with the same numeric factors belong to the same effect.
    numeric_factors = np.array([_numeric_factors(product) for product in design.products], dtype=object)
    weights = np.equal.outer(numeric_factors[is_of_term], numeric_factors).astype(np.float64)
    # Then each factor multiplies the weights: an average over its levels if it is not in the term, else the
    # level of the column, minus the reference level if the term is coded by contrasts.
    for factor, factor_levels in design.levels.items():
        column_levels = levels[factor]
        if factor not in term:
            weights[:, ~np.isnan(column_levels)] /= len(factor_levels)
            continue
        is_reference = column_levels == factor_levels[0]
        same_level = np.equal.outer(column_levels[is_of_term], column_levels).astype(np.float64)
        has_all_levels = is_reference[is_of_term].any()
        if not has_all_levels:
            same_level -= is_reference
        elif _is_first_categorical_term_without_intercept(design, position):
            # The term's effects are means at its levels, to which columns without this factor also add.
            same_level[:, np.isnan(column_levels)] = 1.0
        weights *= same_level
    return np.asarray(weights)


def _level_of_each_column(design: DesignMatrix) -> dict[Factor, np.ndarray]:
    """Return the level of each factor in each column of the model matrix, NaN in columns without one."""
    levels = {factor: np.full(len(design.names), np.nan) for factor in design.levels}
    for column, product in enumerate(design.products):
        for factor, level in product:
            # a numeric factor has no level
            if level is not None:
                levels[factor][column] = level
    return levels


def _numeric_factors(product: Product) -> frozenset[Factor]:
    """Return the numeric variables whose product a column of the model matrix contains."""
    return frozenset(factor for factor, level in product if level is None)


def _is_first_categorical_term_without_intercept(design: DesignMatrix, position: int) -> bool:
    """Return True if a term is the first categorical one of a formula without intercept.

    This term has a column for each of its levels.
    """
    if design.formula.intercept:
        return False
    for term_position, term in enumerate(design.formula.terms):
        if all(factor in design.levels for factor in term):
            return term_position == position
    return False


def _are_combinations_determined(
    matrix: np.ndarray, estimated: NDArray[np.integer], weights: np.ndarray, is_tested: NDArray[np.bool_]
) -> bool:
    """Return True if combinations have the same value whichever of the dependent columns are left out.

    Columns of the tested terms may have been left out, since they have no effect under the hypothesis.
    """
    left_out = np.setdiff1d(np.flatnonzero(~is_tested), estimated)
    if not len(left_out) or not len(weights):
        return True
    lengths = np.linalg.norm(matrix, axis=0)
    lengths[lengths == 0] = 1.0
    scaled_matrix = matrix / lengths
    # The columns that were left out are the estimated ones times these relations. A combination is
    # determined if its weights fulfil the same relations.
    relations = np.linalg.lstsq(scaled_matrix[:, estimated], scaled_matrix[:, left_out])[0]
    scaled_weights = weights / lengths
    scaled_weights /= np.linalg.norm(scaled_weights, axis=1, keepdims=True)
    implied_weights = scaled_weights[:, estimated] @ relations
    return bool(np.allclose(implied_weights, scaled_weights[:, left_out], rtol=0, atol=_ROUNDING))

"""Type III hypotheses: that a term has no effect on average over the other factors that it interacts with."""

from collections.abc import Mapping, Sequence

import numpy as np

from salstats.stats.models.design import Design, Product
from salstats.stats.models.formulas import Factor

#: Difference of a combination from a multiple of itself, on columns of length 1, that is more than rounding.
_ROUNDING = 1e-6


def marginal_hypotheses(design: Design, kept: np.ndarray, positions: Sequence[int]) -> np.ndarray | None:
    """Combinations of a model's coefficients that are zero where some terms have no effect.

    A coefficient of `method` beside `method:site` is the difference of two methods at the reference level of
    `site`. Added to it are the coefficients of the interaction, averaged over all levels of `site`, that of
    the reference being 0: the difference averaged over sites. These are zero exactly where the coefficients
    of `method` are zero in the same model coded by sum contrasts (R's `contr.sum`), and are what R's lmerTest
    tests as type III, whatever the order of levels. A number in an interaction stays as it is, so that
    `method` beside `method:size` is tested where `size` is 0.

    Parameters
    ----------
    design : Design
        The model matrix, coded by reference levels.
    kept : ndarray of shape (r,)
        Positions of the columns that are estimated.
    positions : sequence of int
        Terms of the formula that are tested together.

    Returns
    -------
    ndarray of shape (q, r), or None
        A row for each coefficient of these terms that is estimated. None where columns that were left out
        because they depend on others make a row ambiguous: a combination of levels does not occur, or
        another term says the same.

    References
    ----------
    Searle SR, Speed FM, Milliken GA. Population marginal means in the linear model: an alternative to least
    squares means. Am Stat 1980;34:216-221. https://doi.org/10.1080/00031305.1980.10483031

    Kuznetsova A, Brockhoff PB, Christensen RHB. lmerTest package: tests in linear mixed effects models. J
    Stat Softw 2017;82(13):1-26. https://doi.org/10.18637/jss.v082.i13
    """
    tested = np.isin(design.assign, list(positions))
    levels = _levels_of_columns(design)
    weights = np.zeros((len(design.names), len(design.names)))
    for position in positions:
        of_term = np.array(design.assign) == position
        weights[of_term] = _averaged(design, levels, position)
    # under the hypothesis the other coefficients that are tested are zero, too
    weights[:, tested] = np.eye(len(design.names))[:, tested]
    weights = weights[kept[tested[kept]]]
    if not _are_determined(design.matrix, kept, weights, tested):
        return None
    return weights[:, kept]


def _averaged(design: Design, levels: Mapping[Factor, np.ndarray], position: int) -> np.ndarray:
    """Effects of a term, averaged over factors that it lacks, as combinations of all coefficients."""
    of_term = np.array(design.assign) == position
    term = design.formula.terms[position]
    numbers = np.array([_numbers_in(product) for product in design.products], dtype=object)
    weights = np.equal.outer(numbers[of_term], numbers).astype(np.float64)
    for factor, occurring in design.levels.items():
        level = levels[factor]
        if factor not in term:
            weights[:, ~np.isnan(level)] /= len(occurring)
            continue
        is_reference = level == occurring[0]
        same = np.equal.outer(level[of_term], level).astype(np.float64)
        is_fully_coded = is_reference[of_term].any()
        if not is_fully_coded:
            same -= is_reference
        elif _has_place_of_intercept(design, position):
            same[:, np.isnan(level)] = 1.0
        weights *= same
    return weights


def _levels_of_columns(design: Design) -> dict[Factor, np.ndarray]:
    """Each factor's level in the columns of the model matrix, NaN in columns that it is not in."""
    levels = {factor: np.full(len(design.names), np.nan) for factor in design.levels}
    for column, product in enumerate(design.products):
        for factor, level in product:
            if level is not None:
                levels[factor][column] = level
    return levels


def _numbers_in(product: Product) -> frozenset[Factor]:
    """The numeric variables in a column of the model matrix."""
    return frozenset(factor for factor, level in product if level is None)


def _has_place_of_intercept(design: Design, position: int) -> bool:
    """Whether a term is the factor that has all its levels in the place of an intercept."""
    if design.formula.intercept:
        return False
    for other, term in enumerate(design.formula.terms):
        if all(factor in design.levels for factor in term):
            return other == position
    return False


def _are_determined(matrix: np.ndarray, kept: np.ndarray, weights: np.ndarray, tested: np.ndarray) -> bool:
    """Whether combinations have one value, however columns that depend on others share their effect.

    Columns of the terms that are `tested` may have been left out: these have no effect by hypothesis.
    """
    left_out = np.setdiff1d(np.flatnonzero(~tested), kept)
    if not len(left_out) or not len(weights):
        return True
    lengths = np.linalg.norm(matrix, axis=0)
    lengths[lengths == 0] = 1.0
    scaled = matrix / lengths
    relations = np.linalg.lstsq(scaled[:, kept], scaled[:, left_out])[0]
    combinations = weights / lengths
    combinations /= np.linalg.norm(combinations, axis=1, keepdims=True)
    by_relations = combinations[:, kept] @ relations
    return bool(np.allclose(by_relations, combinations[:, left_out], rtol=0, atol=_ROUNDING))

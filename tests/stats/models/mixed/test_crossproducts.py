"""The layout of crossproducts against those of the matrices written out."""

import numpy as np
import pytest
from dense_mixed import four_terms

from salstats.stats.models.mixed.crossproducts import crossproducts
from salstats.stats.models.mixed.terms import RandomTerm


def _unequal_blocks():
    """50 patients of 12 to 16 cases, read by 2 readers."""
    rng = np.random.default_rng(8)
    n_cases = np.repeat(np.arange(12, 17), 10)
    patient = np.repeat(np.repeat(np.arange(50), n_cases), 2)
    case = np.repeat(np.arange(700), 2)
    matrix = np.column_stack([np.ones(1400), rng.normal(size=1400)])
    terms = [
        RandomTerm("case", ("x",), case, 700, matrix[:, 1:]),
        RandomTerm("patient", ("(Intercept)",), patient, 50, matrix[:, :1]),
        RandomTerm("reader", ("(Intercept)",), np.tile([0, 1], 700), 2, matrix[:, :1]),
    ]
    return matrix, rng.normal(size=1400), terms


def _z(products, terms):
    """Z with the columns where the layout puts them; columns that only pad a block are zero."""
    z = np.zeros((products.n_rows, products.n_columns))
    rows = np.arange(products.n_rows)
    for term, columns in zip(terms, products.term_columns, strict=True):
        for effect in range(len(term.effects)):
            z[rows, columns[term.codes, effect]] = term.matrix[:, effect]
    return z


@pytest.fixture(params=[four_terms, _unequal_blocks], ids=["four terms", "unequal blocks"])
def model(request):
    matrix, response, terms = request.param()
    return np.column_stack([matrix, response]), terms


def test_products_are_those_of_z_and_w(model):
    w, terms = model
    products = crossproducts(w, terms)
    z = _z(products, terms)
    dense_and_w = np.column_stack([z[:, products.n_blocked_columns :], w])
    np.testing.assert_allclose(products.unblocked_products, dense_and_w.T @ dense_and_w, atol=1e-10)
    z_by_z = z.T @ z
    outside = z_by_z[: products.n_blocked_columns, : products.n_blocked_columns].copy()
    for batch in products.batches:
        n_blocks, size = batch.products.shape[:2]
        assert batch.columns == slice(batch.start, batch.start + n_blocks * size)
        for block in range(n_blocks):
            span = slice(batch.start + block * size, batch.start + (block + 1) * size)
            expected = np.hstack([z_by_z[span, span], z[:, span].T @ dense_and_w])
            np.testing.assert_allclose(batch.products[block], expected, atol=1e-10)
            outside[span, span] = 0
    # no row has effects of two blocks
    assert not outside.any()


def test_each_effect_has_a_column_of_its_own(model):
    w, terms = model
    products = crossproducts(w, terms)
    columns = np.concatenate([columns.ravel() for columns in products.term_columns])
    assert len(set(columns)) == len(columns)
    assert columns.max() < products.n_columns
    for position in products.dense:
        assert products.term_columns[position].min() >= products.n_blocked_columns


def test_covariances_of_blocks_join_effects_of_one_level_alone(model):
    w, terms = model
    products = crossproducts(w, terms)
    rng = np.random.default_rng(1)
    covariances = [rng.normal(size=(len(term.effects),) * 2) for term in terms]
    expected = np.zeros((products.n_columns, products.n_columns))
    for columns, covariance in zip(products.term_columns, covariances, strict=True):
        for level_columns in columns:
            expected[np.ix_(level_columns, level_columns)] = covariance
    entries = np.concatenate([covariance.ravel() for covariance in covariances])
    for batch in products.batches:
        size = batch.products.shape[1]
        for block, covariance in enumerate(batch.block_covariances(entries)):
            span = slice(batch.start + block * size, batch.start + (block + 1) * size)
            np.testing.assert_array_equal(covariance, expected[span, span])


def test_blocks_are_the_factor_of_least_work_with_those_nested_in_it():
    matrix, response, terms = four_terms()
    products = crossproducts(np.column_stack([matrix, response]), terms)
    # readers and groups are crossed with the ten patients, of 4 cases and 10 columns each
    assert products.dense == (0, 3)
    assert products.n_dense_columns == 12 * 2 + 6
    assert [batch.products.shape[:2] for batch in products.batches] == [(10, 10)]
    assert products.n_rows == 300


def test_blocks_are_padded_to_few_sizes():
    matrix, response, terms = _unequal_blocks()
    products = crossproducts(np.column_stack([matrix, response]), terms)
    assert products.dense == (2,)
    # a patient of n cases has n + 1 columns; from 14 on sizes grow by 15 %: 14, 16, 18
    assert [batch.products.shape[:2] for batch in products.batches] == [
        (10, 13),
        (10, 14),
        (20, 16),
        (10, 18),
    ]

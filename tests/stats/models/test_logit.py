import numpy as np

from salstats.stats.models.logit import logit, terms_separate_outcomes


def test_separation_is_found_exactly():
    x = np.array([1.0, 2, 3, 4, 5, 6])
    matrix = np.column_stack([np.ones(6), x])
    assert terms_separate_outcomes(matrix, (x > 3).astype(float))
    assert terms_separate_outcomes(matrix, np.ones(6))
    assert terms_separate_outcomes(matrix, np.array([0, 0, 0, 1, 1, 1.0]))
    assert not terms_separate_outcomes(matrix, np.array([0, 1, 0, 1, 0, 1.0]))
    assert not terms_separate_outcomes(matrix, np.array([0.2, 0.3, 0.1, 0.9, 0.5, 0.4]))
    assert not terms_separate_outcomes(matrix, np.array([0, 0, 0.5, 1, 0.5, 0.9]))
    overlap_at_a_point = np.array([0, 0, 0, 1, 1, 1.0])
    assert terms_separate_outcomes(np.column_stack([np.ones(6), [1, 2, 3, 3, 4, 5.0]]), overlap_at_a_point)


def test_the_fit_reaches_the_maximum_whatever_the_scale_of_its_columns():
    rng = np.random.default_rng(5)
    matrix = np.column_stack([np.ones(40), rng.normal(size=(40, 2))])
    hit = (matrix @ [0.2, 0.5, -0.3] + rng.normal(size=40) > 0).astype(float)
    fit = logit(matrix, hit, True)
    np.testing.assert_allclose(matrix.T @ (hit - fit.fitted), 0, atol=1e-10)
    scale = np.array([1, 1e-6, 1e6])
    scaled = logit(matrix * scale, hit, True)
    np.testing.assert_allclose(scaled.coefficients * scale, fit.coefficients, rtol=1e-9)

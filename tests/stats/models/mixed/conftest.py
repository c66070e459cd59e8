from types import SimpleNamespace

import numpy as np
import pytest
from lme4_oracle import MODELS, RTOL, RTOL_ON_BOUNDARY, fit_model

from salstats.stats.models.mixed.linear_mixed_model import RandomTerm


@pytest.fixture
def slopes():
    """12 readers and 40 cases, crossed, with 2 methods; readers differ in the methods, too."""
    rng = np.random.default_rng(3)
    reader, case, method = (a.ravel() for a in np.meshgrid(range(12), range(40), range(2), indexing="ij"))
    kept = rng.uniform(size=reader.size) < 0.8
    reader, case, method = reader[kept], case[kept], method[kept]
    effects = rng.multivariate_normal([0, 0], [[0.3, 0.1], [0.1, 0.2]], size=12)
    response = 1 + 0.3 * method + rng.normal(size=40)[case] + effects[reader, 0] + effects[reader, 1] * method
    matrix = np.column_stack([np.ones(len(reader)), method])
    terms = [
        RandomTerm("reader", ("(Intercept)", "method"), reader, 12, matrix),
        RandomTerm("case", ("(Intercept)",), case, 40, matrix[:, :1]),
    ]
    return matrix, response + rng.normal(size=len(reader)), terms


@pytest.fixture(scope="session", params=[True, False], ids=["REML", "ML"])
def reml(request):
    return request.param


@pytest.fixture(scope="session", params=MODELS)
def lme4_model(request, reml):
    """A model of the lme4 oracle: its name, names of coefficients, solution, and R's tolerances."""
    terms, solution = fit_model(request.param, reml)
    rtol = RTOL_ON_BOUNDARY if solution.is_singular else RTOL
    return SimpleNamespace(name=request.param, reml=reml, terms=terms, solution=solution, rtol=rtol)

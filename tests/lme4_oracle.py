"""Models of tests/reference/lme4/mixed.R: slopes, nested, independent and singular terms in R's lme4."""

import warnings
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.errors import SalstatsWarning

_FOLDER = Path(__file__).parent / "reference/lme4"
_FIXED = "score ~ method + prob"
#: Formulas by the names of the models in R.
MODELS = {
    "crossed": f"{_FIXED} + (1|reader) + (1|case)",
    "slopes": f"{_FIXED} + (1 + method|reader) + (1|case)",
    "nested": "score ~ method * prob + (1 + prob|reader) + (1|patient) + (1|case:patient)",
    "independent": f"{_FIXED} + (1 + prob||reader) + (1|case)",
    "room": f"{_FIXED} + (1|reader) + (1|case) + (1|room)",
    "perfect": f"{_FIXED} + (1 + method|room) + (1|case)",
}
#: R's search stops at these relative errors; degrees of freedom there come from differences.
RTOL = {"estimate": 1e-8, "error": 1e-7, "variance": 1e-6, "df": 1e-5}
#: Where a variance is zero, R's search ends some 1e-6 away from the optimum.
RTOL_ON_BOUNDARY = {"estimate": 1e-6, "error": 1e-5, "variance": 1e-5, "df": 1e-4}
ATOL_LIKELIHOOD = 1e-8


def r_table(name):
    """A table of R's results."""
    return pd.read_csv(_FOLDER / f"{name}.csv")


def r_rows(table, model, reml):
    """The rows of one model in a table of R's results."""
    frame = r_table(table)
    return frame[(frame["model"] == model) & (frame["reml"] == reml)]


def fit_model(name, reml):
    """Names of the coefficients of a model, and its solution."""
    methods = pd.CategoricalDtype(["human", "gradcam", "occlusion"])
    data = r_table("scores").astype({"method": methods})
    with warnings.catch_warnings():
        # some fits are singular, and patients have no effect of their own in most models
        warnings.simplefilter("ignore", SalstatsWarning)
        model = ss.fit(data, MODELS[name], reml=reml, by=[]).models[0]
    return model.coefficient_names, model.solution.inference.solution

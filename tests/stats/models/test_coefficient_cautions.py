"""Coefficients that a few units decide, by their outcomes or by their covariates."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.stats.engine.cautions import FEW_LEVERS, OUTLYING_UNITS


def scores(n, n_failures):
    """Two methods near .9 on the same cases, of which one is 0 on some."""
    rng = np.random.default_rng(0)
    own, other = rng.beta(90, 10, (2, n))
    own[:n_failures] = 0
    cases = [f"c{i:03d}" for i in range(n)]
    parts = [
        pd.DataFrame({"case": cases, "method": method, "metric": "iou", "score": score})
        for method, score in (("cam", own), ("human", other))
    ]
    return pd.concat(parts, ignore_index=True)


def cautions(frame):
    if "caution" not in frame.columns:
        return {}
    return frame.set_index("term")["caution"].dropna().to_dict()


def test_the_coefficient_of_a_method_that_fails_on_few_cases_has_a_caution():
    assert cautions(ss.regress(scores(20, 2), "iou ~ method"))["methodhuman"] == OUTLYING_UNITS.name
    assert cautions(ss.regress(scores(20, 0), "iou ~ method")) == {}


def test_so_has_the_gap_to_a_reference():
    of_gap = ss.regress(scores(20, 2), "iou ~ 1", reference="human")
    assert of_gap["caution"].tolist() == [OUTLYING_UNITS.name]


@pytest.mark.parametrize("outlier", [False, True])
def test_a_covariate_that_few_units_hold_has_a_caution(outlier):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"case": np.arange(40), "y": rng.standard_normal(40), "x": rng.standard_normal(40)})
    if outlier:
        table.loc[0, "x"] = 30
    found = cautions(ss.regress(table, "y ~ x"))
    assert found == ({"x": FEW_LEVERS.name} if outlier else {})


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_few_degrees_of_freedom_are_fewer_than_a_fifth_of_the_units_and_than_ten():
    # one unit lies further and further from the others
    rng = np.random.default_rng(4)
    parts = []
    for n, n_samples in ((20, 60), (80, 30)):
        for sample in range(n_samples):
            x = rng.standard_normal(n)
            x[0] = 1 + sample * n / 160
            parts.append(pd.DataFrame({"sample": f"{n}-{sample}", "x": x, "y": rng.standard_normal(n)}))
    table = pd.concat(parts, ignore_index=True).rename_axis("case").reset_index()
    found = ss.regress(table, "y ~ x", by="sample", unit="case")
    has_few = found["df"] < np.minimum(0.2 * found["n_units"], 10)
    cautions = found["caution"].astype("str")
    assert cautions.str.contains(FEW_LEVERS.name).tolist() == has_few.tolist()
    counts = has_few.groupby([found["n_units"], found["term"]]).mean()
    assert counts.xs("x", level="term").between(0.1, 0.9).all()


def test_normal_outcomes_have_no_caution_in_95_of_100_studies():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"sample": np.repeat(np.arange(200), 20), "case": np.arange(4000)})
    table = table.assign(y=rng.standard_normal(4000), x=rng.standard_normal(4000))
    found = ss.regress(table, "y ~ x", by="sample", unit="case")
    assert found.get("caution", pd.Series(dtype="str")).notna().mean() <= 0.05


def test_a_difference_of_methods_has_the_caution_of_difference():
    rng = np.random.default_rng(3)
    other = rng.beta(12, 5, 40)
    own = np.clip(other + rng.normal(0, 0.04, 40), 0, 1)
    fails = own.copy()
    fails[[4, 17, 30]] = 0
    cautions = []
    for scores in (own, fails):
        table = pd.DataFrame({"case": np.tile([f"c{i}" for i in range(40)], 2), "iou": [*scores, *other]})
        table["method"] = np.repeat(["cam", "human"], 40)
        fitted = ss.regress(table, "iou ~ method", unit="case")
        long = table.rename(columns={"iou": "score"}).assign(metric="iou")
        gap = ss.difference(long, reference="human", unit="case")
        cautions.append(["caution" in frame.columns for frame in (fitted, gap)])
    assert cautions == [[False, False], [True, True]]


def test_rows_without_units_are_looked_at_one_by_one():
    table = scores(20, 2).pivot(index="case", columns="method", values="score")
    gaps = pd.DataFrame({"gap": (table["cam"] - table["human"]).to_numpy()})
    assert cautions(ss.regress(gaps, "gap ~ 1", errors="hc3")) == {"(Intercept)": OUTLYING_UNITS.name}
    assert cautions(ss.regress(gaps.iloc[2:], "gap ~ 1", errors="hc3")) == {}


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_random_effects_and_a_perfect_fit_have_no_outlying_units():
    frame = scores(20, 2)
    assert cautions(ss.regress(frame, "iou ~ method + (1|case)", by=())) == {}
    perfect = frame.assign(score=frame["method"].eq("cam") / 2)
    assert cautions(ss.regress(perfect, "iou ~ method", by=())) == {}


def test_rows_of_a_unit_count_by_their_weight_in_a_logit_model():
    # Fractions of two rows per patient, near 1/2 and near 0.97, where the logit's weights are 1/4 and 0.03.
    # Two patients lie far from the others in the first row, which has most of the weight.
    rng = np.random.default_rng(0)
    first = 0.5 + rng.normal(0, 0.02, 30)
    second = 0.97 + rng.normal(0, 0.005, 30)
    first[:2] = 0.98
    table = pd.DataFrame({"patient": np.repeat(np.arange(30), 2), "x": np.tile([0.0, 5.0], 30)})
    table["y"] = np.column_stack([first, second]).ravel()
    found = cautions(ss.regress(table, "y ~ x", family="fractional", unit="patient"))
    assert found == {"(Intercept)": OUTLYING_UNITS.name, "x": OUTLYING_UNITS.name}

"""Zero-one-inflated beta models."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import salstats as ss

REFERENCE = Path(__file__).parents[2] / "reference" / "ordered_beta"


@pytest.fixture(scope="module")
def scores():
    return pd.read_csv(REFERENCE / "scores.csv")


def test_parts_of_an_inflated_model_are_logits_of_their_own(scores):
    scores = scores.drop(columns="patient")
    fit = ss.fit(scores, "score ~ method + x", by=(), family="zero-one-inflated-beta", errors="classical")
    terms = fit.tidy()
    assert terms["part"].drop_duplicates().tolist() == ["mean", "zero", "one"]
    inside = scores[scores["score"].between(0, 1, inclusive="neither")]
    mean = ss.regress(inside, "score ~ method + x", by=(), family="beta", errors="classical")
    own = terms[terms["part"] == "mean"]
    np.testing.assert_allclose(own["estimate"], mean["estimate"], rtol=1e-8)
    # without ones the part of the zeros is a logit of zero against all else
    rows = scores.assign(zero=(scores["no_ones"] == 0).astype(float))
    logit = ss.regress(rows, "zero ~ method + x", by=(), family="binomial", errors="classical")
    only = ss.regress(
        rows, "no_ones ~ method + x", by=(), family="zero-one-inflated-beta", errors="classical"
    )
    assert only["part"].drop_duplicates().tolist() == ["mean", "zero"]
    zero = only[only["part"] == "zero"]
    np.testing.assert_allclose(zero["estimate"], logit["estimate"], rtol=1e-8)
    np.testing.assert_allclose(zero["std_error"], logit["std_error"], rtol=1e-7)
    assert fit.joint("x")["df"].item() == 3

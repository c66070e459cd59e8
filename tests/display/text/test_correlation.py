"""Sentences on the variables and covariates of correlations."""

import pandas as pd
import pytest

from salstats.display.estimates import read_estimates
from salstats.display.text.correlation import (
    adjusted_for_covariates_note,
    stratum_note,
    variables_shared_by_correlations_note,
)
from salstats.display.text.labels import Labels

ROW = {"term": "pearson", "estimate": 0.3, "x": "iou", "y": "prob", "covariates": "age, elongation"}


@pytest.mark.parametrize(
    ("covariates_of", "note"),
    [
        ("both", "Partial correlation, given Age and Elongation."),
        ("x", "Semi-partial correlation: Age and Elongation taken out of IoU."),
        ("y", "Semi-partial correlation: Age and Elongation taken out of Model confidence."),
    ],
)
def test_the_variable_that_was_adjusted_is_named(covariates_of, note):
    estimates = read_estimates(pd.DataFrame([ROW | {"covariates_of": covariates_of}] * 2))
    assert adjusted_for_covariates_note(estimates, Labels()) == note
    both = read_estimates(
        pd.DataFrame([ROW | {"covariates_of": covariates_of}, ROW | {"covariates_of": "x"}])
    )
    notes = dict.fromkeys([note, "Semi-partial correlation: Age and Elongation taken out of IoU."])
    assert adjusted_for_covariates_note(both, Labels()) == " ".join(notes)


def test_correlations_without_covariates_have_no_note():
    estimates = read_estimates(pd.DataFrame([{"term": "pearson", "estimate": 0.3}]))
    assert adjusted_for_covariates_note(estimates, Labels()) == ""


@pytest.mark.parametrize(
    ("y", "note"),
    [
        (["prob", "prob"], "Correlation of IoU and Model confidence."),
        (["prob", "area_ratio"], "Correlation with IoU."),
        # without a value everywhere they are no pairs
        ([None, None], ""),
    ],
)
def test_variables_that_are_the_same_everywhere_are_named(y, note):
    rows = pd.DataFrame({"term": "pearson", "estimate": 0.3, "x": "iou", "y": y})
    assert variables_shared_by_correlations_note(read_estimates(rows), Labels()) == note
    assert variables_shared_by_correlations_note(read_estimates(rows.drop(columns="y")), Labels()) == ""


def test_only_the_second_variable_may_be_the_same_everywhere():
    rows = pd.DataFrame({"estimate": 0.3, "x": ["dice", "hit"], "y": ["prob", "prob"]})
    note = variables_shared_by_correlations_note(read_estimates(rows), Labels())
    assert note == "Correlation with Model confidence."
    neither = read_estimates(rows.assign(y=["prob", "age"]))
    assert variables_shared_by_correlations_note(neither, Labels()) == ""


def test_the_column_within_whose_values_correlations_are_is_named():
    rows = pd.DataFrame([{"estimate": 0.3, "stratum": "task"}])
    assert stratum_note(read_estimates(rows), Labels()).startswith("Within values of Task")
    assert stratum_note(read_estimates(rows.drop(columns="stratum")), Labels()) == ""

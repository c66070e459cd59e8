"""Numbers that are labels: which columns hold them, and what is asked where they are taken as numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import warns

import salstats as ss
from salstats.errors import Call, Setting
from salstats.stats.engine.label_columns import is_label_column_of_three_or_more

LABELS = [
    "site", "hospital", "centre", "center", "patient", "reader", "scanner", "fold", "seed", "model", "batch",
    "group", "class", "id", "site_id", "image_id", "study_no", "siteNo", "SiteID", "hospital_number",
    "imaging_site", "lesion_site", "imaging_site_number", "study_instance_uid",
]  # fmt: skip
QUANTITIES = [
    "n_instances", "age", "grade", "BI-RADS", "n_readers", "number_of_sites", "batch_size", "age_group",
    "log2_fold", "width", "grid", "valid", "class_weight", "n_site", "stage", "rating", "year", "humid",
    "covid", "case_count", "reader_experience", "image_quality",
]  # fmt: skip


@pytest.mark.parametrize("column", LABELS)
def test_a_name_of_labels(column):
    assert is_label_column_of_three_or_more(column, np.array([1.0, 2, 3, np.nan]))


@pytest.mark.parametrize("column", QUANTITIES)
def test_a_name_of_a_quantity(column):
    assert not is_label_column_of_three_or_more(column, np.array([1.0, 2, 3]))


@pytest.mark.parametrize("values", [[0.0, 1.0, 1.0], [0.5, 1.5, 2.5], [np.nan, 1.0, 2.0]])
def test_two_labels_and_fractions_are_numbers(values):
    assert not is_label_column_of_three_or_more("site", np.array(values))


@pytest.fixture
def sites():
    """IoU of 60 cases of five sites, whose numbers are in no order."""
    rng = np.random.default_rng(0)
    site = rng.integers(1, 6, 60)
    mean = np.array([np.nan, 0.3, 0.6, 0.2, 0.5, 0.4])[site]
    return pd.DataFrame(
        {
            "case": [f"c{i}" for i in range(60)],
            "method": "gradcam",
            "metric": "iou",
            "score": mean + rng.uniform(-0.1, 0.1, 60),
            "site": site,
            "age": rng.integers(30, 80, 60),
        }
    )


#: Remedies for a correlation with labels.
MODEL_OR_STRATA = [Call("regress", ("data", repr("iou ~ C(site)"))), Setting("stratified", "site")]


@pytest.mark.parametrize(
    ("call", "remedies"),
    [
        (lambda f: ss.regress(f, "iou ~ age + site"), ["C(site)"]),
        (lambda f: ss.regress(f, "iou ~ age * site"), ["C(site)"]),
        (lambda f: ss.fit(f, "iou ~ site").tidy(), ["C(site)"]),
        (lambda f: ss.quantile_regress(f, "iou ~ site"), ["C(site)"]),
        (lambda f: ss.correlate(f, "iou", "site"), MODEL_OR_STRATA),
        (lambda f: ss.correlate(f, "iou", "age", covariates="site"), MODEL_OR_STRATA),
    ],
)
def test_a_slope_over_sites_is_asked_about_with_the_call_that_would_do(sites, call, remedies):
    with warns(column="site") as caught:
        call(sites)
    assert len(caught) == 1
    for remedy in remedies:
        assert remedy in caught[0].message.hint.parts


@pytest.mark.parametrize(
    "call",
    [
        lambda f: ss.regress(f, "iou ~ age + C(site)"),
        lambda f: ss.regress(f.astype({"site": "str"}), "iou ~ site"),
        lambda f: ss.regress(f[f["site"] < 3], "iou ~ site"),
        lambda f: ss.correlate(f, "iou", "age", stratified="site"),
    ],
)
def test_levels_and_strata_are_not_asked_about(sites, call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(sites)
    assert caught == []

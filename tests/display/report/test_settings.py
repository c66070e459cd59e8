"""Settings of a report, and what follows from the scores where the user left them open."""

import numpy as np
import pandas as pd
import pytest
from report_text import frames_of, settings_of
from tests_support import raises, warns

import salstats as ss
from salstats.display.report.settings import (
    Settings,
    resolve_scores_and_settings,
    warn_of_covariates_read_as_text,
)
from salstats.errors import ColumnError, InputFileError, SalstatsError, ValueRangeError

#: Covariates of the embedded study.
COVARIATES = {"n_instances", "area_ratio", "elongation", "irrectangularity"}


def test_the_reference_is_human_beside_others_unless_another_is_named(small):
    assert settings_of(small).reference == "human"
    assert settings_of(small, reference="occlusion").reference == "occlusion"
    assert settings_of(small[small["method"] == "human"]).reference is None
    assert settings_of(small[small["method"] != "human"]).reference is None


def test_the_unit_is_a_column_of_the_rows_that_are_reported_on(small):
    rows, settings = resolve_scores_and_settings(small, Settings())
    assert (settings.unit, settings.unit_argument) == ("patient", "patient")
    several = small.assign(site=small["patient"].str[-1])
    rows, settings = resolve_scores_and_settings(several, Settings(unit="site, patient"))
    assert settings.unit in rows.columns
    assert settings.unit_argument == ["site", "patient"]


def test_a_report_can_be_on_two_units(small):
    first_two = small[small["patient"].isin(small["patient"].unique()[:2])]
    rows, settings = resolve_scores_and_settings(first_two, Settings())
    assert (settings.unit, rows["patient"].nunique()) == ("patient", 2)


def test_the_reference_stands_before_other_methods_unless_labels_order_them():
    assert Settings(reference="human").labels_with_reference_first == {"method": ["human"]}
    ordered = {"method": ["gradcam", "human"]}
    assert Settings(reference="human", labels=ordered).labels_with_reference_first == ordered


def test_covariates_are_those_that_vary_or_those_named(some):
    assert set(settings_of(some.assign(constant=1.0)).covariates) == COVARIATES
    frames = frames_of(some, covariates=["elongation"])
    assert set(frames["regression"]["term"]) == {"elongation"}
    with raises(ColumnError, option="covariates", column="dose"):
        settings_of(some.assign(dose=1.0), covariates="dose")
    with raises(ColumnError, option="covariates", column="task"):
        settings_of(some, covariates=["task"])


def test_numbers_of_sites_are_no_covariate_unless_named(some):
    sites = some.assign(site=pd.factorize(some["patient"])[0] % 5)
    assert set(settings_of(sites).covariates) == COVARIATES
    assert settings_of(sites, covariates=["site"]).covariates == ("site",)


def test_pixels_and_settings_of_the_masks_are_no_covariates_unless_named(some):
    case = pd.factorize(some["case"] + some["task"])[0]
    pixels = dict.fromkeys(("tp", "fp", "fn", "tn", "height", "width", "area_px", "perimeter_px"), case % 7)
    made = some.assign(**pixels, threshold=case % 5 / 10, cutoff=case % 3 / 10)
    assert set(settings_of(made).covariates) == COVARIATES
    assert settings_of(made, covariates=["area_px"]).covariates == ("area_px",)


def test_a_row_number_is_no_covariate(small):
    assert settings_of(small.reset_index(names="Unnamed: 0")).covariates == ()


def test_a_column_with_two_values_within_a_case_is_no_covariate(some):
    is_human = (some["method"] == "human").astype(int)
    assert set(settings_of(some.assign(run=is_human)).covariates) == COVARIATES


@pytest.mark.parametrize(
    ("options", "kind", "fact"),
    [
        ({"adjust": "bogus"}, ValueRangeError, {"match": "bogus"}),
        ({"interval": "wilson"}, ValueRangeError, {"match": "wilson"}),
        ({"margin": {"dice": 0.1}}, ValueRangeError, {"match": "dice"}),
        ({"margin": 0.1, "interval": "bca"}, SalstatsError, {"match": "bca"}),
        ({"test": "z"}, ValueRangeError, {"option": "test", "value": "z"}),
        ({"labels": {"gradcam": "X", "occlusion": "X"}}, SalstatsError, {"match": "'method'"}),
        ({"covariates": ["score"]}, ColumnError, {"option": "covariates", "value": "score"}),
        ({"covariates": ["case"]}, ColumnError, {"option": "covariates", "value": "case"}),
        (
            {"reference": "radiologist"},
            SalstatsError,
            {
                "option": "reference",
                "value": "radiologist",
                "choices": ("gradcam", "human", "occlusion"),
            },
        ),
        ({"only": {"task": "C"}}, SalstatsError, {"option": "only", "value": "C", "column": "task"}),
        ({"inputs": ["nothing.csv"]}, InputFileError, {"option": "inputs", "path": "nothing.csv"}),
        ({"title": "a\ud800"}, SalstatsError, {"option": "title", "value": "a\ud800"}),
        ({"jobs": 0}, ValueRangeError, {"match": "jobs"}),
        ({"rng": "seed"}, SalstatsError, {"option": "rng", "value": "seed"}),
        ({"study": 5}, SalstatsError, {"match": "study"}),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_option_is_refused_before_any_work(small, tmp_path, monkeypatch, options, kind, fact):
    monkeypatch.setattr("salstats.display.report.composition.run_analyses", None)
    with raises(kind, **fact):
        ss.report(small, tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("spoil", "kind", "fact"),
    [
        (lambda s: s.assign(score=np.nan), SalstatsError, {"column": "score"}),
        (
            lambda s: s[s["case"] == s["case"].iloc[0]].drop(columns="patient"),
            SalstatsError,
            {"match": "one case"},
        ),
        (lambda s: s.assign(patient="p1"), SalstatsError, {"match": "one patient"}),
        (
            lambda s: s[s["task"] == "Edema"].head(2).assign(task=["Average", "Edema"]),
            ColumnError,
            {"column": "task", "rows": (0,), "match": "'Average'"},
        ),
        (
            lambda s: s[s["task"] == "Edema"].head(2).assign(task=["Edema", "Overall"]),
            ColumnError,
            {"column": "task", "rows": (1,), "match": "'Overall'"},
        ),
        (
            lambda s: s.assign(metric="hausdorff", distance_unit=["mm", *["px"] * (len(s) - 1)]),
            SalstatsError,
            {"column": "distance_unit", "match": "mm and px"},
        ),
        (
            lambda s: pd.concat([s.assign(dataset="A"), s.assign(dataset="B")]),
            SalstatsError,
            {
                "option": "only",
                "choices": ("A", "B"),
                "column": "dataset",
                "hint": "pass only={'dataset': 'A'}",
            },
        ),
    ],
    ids=["all missing", "one case", "one patient", "average", "overall", "two units", "two data sets"],
)
def test_scores_that_no_report_can_be_on_are_refused(small, tmp_path, spoil, kind, fact):
    with raises(kind, **fact):
        ss.report(spoil(small), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_one_data_set_of_several_is_chosen(small):
    both = pd.concat([small.assign(dataset="A"), small.assign(dataset="B", score=small["score"] / 2)])
    frames = frames_of(both, only={"dataset": "B"})
    expected = ss.summarize(small.assign(score=small["score"] / 2), average="task", n_replicates=199)
    pd.testing.assert_frame_equal(frames["means"], expected)


@pytest.mark.parametrize("cells", [["1", "2.5", "?", "x"], ["?", "1", "2", None], ["?", None, None, "3"]])
def test_text_of_which_half_are_numbers_is_named_with_its_first_cell_that_is_none(cells):
    frame = pd.DataFrame({"case": list("abcd"), "size": cells})
    with warns(column="size", value="?"):
        warn_of_covariates_read_as_text(frame)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "cells", [["1", "?", "x", "y"], ["1", "2", "3", "4"], ["1", "2", None, "4"], [None] * 4]
)
def test_text_of_which_few_or_all_are_numbers_is_text_without_a_word(cells):
    warn_of_covariates_read_as_text(pd.DataFrame({"case": ["1", "2", "3", "x"], "size": cells}))

"""Features of the truth: against the CheXlocalize scripts' tables, and by hand."""

import sys

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError

#: The scripts' rectangles are in single precision.
SINGLE = 1e-5
FILES = {
    "n_instances": "num_instances",
    "area_ratio": "area_ratio",
    "elongation": "elongation",
    "irrectangularity": "rec_area_ratio",
}


@pytest.fixture(scope="module")
def measured(made_up_study):
    return ss.features(made_up_study)


@pytest.fixture(scope="module")
def drawn(drawn_study):
    return ss.features(drawn_study)


@pytest.mark.parametrize("feature", FILES)
def test_features_equal_the_scripts(made_up, measured, feature):
    file = made_up / "expected" / "features" / f"{FILES[feature]}.csv"
    theirs = pd.read_csv(file, index_col="img_id").sort_index()
    ours = measured.pivot(index="case", columns="task", values=feature)
    assert ours.shape == (165, 10)
    theirs = theirs[ours.columns]
    if feature == "irrectangularity":
        theirs = 1 - theirs
    assert (ours.isna().to_numpy() == theirs.isna().to_numpy()).all()
    assert np.nanmax(np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))) < SINGLE


def test_columns_are_those_of_a_features_frame(drawn):
    assert drawn.columns.tolist() == [
        "case", "task", "n_instances", "area_ratio", "elongation", "irrectangularity", "area_px",
        "perimeter_px", "height", "width",
    ]  # fmt: skip


def test_an_absent_finding_has_no_area_and_no_shape(drawn):
    absent = drawn[drawn["n_instances"].eq(0)]
    assert len(absent) == 2
    assert absent["area_px"].eq(0).all()
    assert absent[["elongation", "irrectangularity"]].isna().all(axis=None)
    assert absent["height"].gt(0).all()


def test_components_are_counted_where_there_are_no_outlines():
    truth = np.zeros((20, 30), bool)
    truth[2:5, 2:5] = truth[10:14, 10:20] = True
    frame = ss.features(ss.study_from_arrays({("a", "Edema"): truth}, {}))
    assert frame[["n_instances", "area_px", "height", "width"]].iloc[0].tolist() == [2, 9 + 40, 20, 30]
    # the longer of the two: corners at pixel centres, so 9 by 3
    assert frame["elongation"][0] == pytest.approx(3)
    assert frame["irrectangularity"][0] == pytest.approx(0, abs=1e-6)


def test_two_jobs_give_the_same_frame(drawn_study):
    pd.testing.assert_frame_equal(ss.features(drawn_study, jobs=2), ss.features(drawn_study, jobs=1))


def test_a_truth_without_cases():
    study = ss.study_from_arrays({("a", "Edema"): np.eye(3, dtype=bool)}, {})
    with raises(SalstatsError, option="study", value="arrays"):
        ss.features(study.select(cases=[]))


def test_a_bar_is_shown_on_request_only(drawn_study, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    some = drawn_study.select(cases=[drawn_study.cases[0].case])
    ss.features(some)
    assert capsys.readouterr().err == ""
    ss.features(some, progress=True)
    assert "Measuring findings" in capsys.readouterr().err

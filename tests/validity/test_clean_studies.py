"""Warnings are a cost: an ordinary clean study gets one at most."""

import warnings

import pytest
from clean_studies import clean_studies

from salstats.errors import SalstatsWarning

STUDIES = clean_studies()


def test_there_are_twenty():
    assert len({study.name for study in STUDIES}) == 20


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_a_clean_study_gets_one_warning_at_most(study):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for analyse in study.analyses:
            assert len(analyse(study.scores))
    said = {str(w.message) for w in caught if issubclass(w.category, SalstatsWarning)}
    assert len(said) <= 1, said


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_no_row_of_a_clean_study_carries_a_caution(study):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        frames = [analyse(study.scores) for analyse in study.analyses]
    for frame in frames:
        assert "caution" not in frame.columns, frame["caution"].dropna().unique()

"""Records of kinds of agreement."""

import numpy as np
import pandas as pd
import pytest
from agreement_readings import frame_of
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError
from salstats.stats.agreement.records import KINDS, LABELS, common_kind_label, is_agreement_frame, short_label
from salstats.stats.engine.intervals import interval_by_name


def test_records_name_their_intervals_and_every_term_has_a_label():
    for name, record in KINDS.items():
        made = [interval_by_name(interval) for interval in record.estimators]
        assert [(r.name, r.kind) for r in made] == [(interval, "agreement") for interval in record.estimators]
        assert next(iter(record.estimators)) == "jackknife", name
        assert set(record.terms) <= set(LABELS)
    assert LABELS["icc2"] == "ICC(2,1), absolute agreement, single reading"


def test_a_frame_is_of_agreement_if_all_its_terms_are():
    assert is_agreement_frame(pd.DataFrame({"term": ["icc2"]}))
    assert is_agreement_frame(pd.DataFrame({"term": ["icc2", "icc3"]}))
    assert not is_agreement_frame(pd.DataFrame({"term": ["icc2", "(Intercept)"]}))
    assert not is_agreement_frame(pd.DataFrame({"term": []}))
    assert not is_agreement_frame(pd.DataFrame({"estimate": [0.5]}))


def test_terms_have_a_short_label_and_that_of_their_kind():
    assert short_label("icc2") == "ICC(2,1)"
    assert common_kind_label(["icc2", "icc3"]) == "Intraclass correlation"
    # A kind may have one term.
    assert common_kind_label(["fleiss"]) == "Fleiss's kappa"
    other_kind = next(term for name, record in KINDS.items() if name != "icc" for term in record.terms)
    assert common_kind_label(["icc2", other_kind]) is None
    assert common_kind_label([]) is None


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_three_readers_make_three_pairs_in_kinds_defined_for_two_raters(kind, values):
    ratings = frame_of(np.round(5 * values))
    found = ss.agreement(ratings, kind=kind)
    if kind in ("cohen", "ccc", "bland-altman"):
        assert set(found["pair"]) == {"r0 - r1", "r0 - r2", "r1 - r2"}
        assert set(found["n_raters"]) == {2}
    else:
        assert "pair" not in found
        assert set(found["n_raters"]) == {3}


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_only_concordance_and_limits_of_agreement_allow_several_readings_of_a_case(kind, values):
    readings = frame_of(np.round(5 * values[:, :2]))
    twice = pd.concat([readings.assign(seed="1"), readings.assign(seed="2")])
    if kind in ("ccc", "bland-altman"):
        assert set(ss.agreement(twice, kind=kind)["n_cases"]) == {30}
    else:
        with raises(ColumnError, column="seed"):
            ss.agreement(twice, kind=kind)

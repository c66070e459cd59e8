"""Records of kinds of agreement."""

from salstats.stats.agreement.records import KINDS, LABELS
from salstats.stats.engine.intervals import interval_by_name


def test_records_name_their_intervals_and_every_term_has_a_label():
    for name, record in KINDS.items():
        made = [interval_by_name(interval) for interval in record.estimators]
        assert [(r.name, r.kind) for r in made] == [(interval, "agreement") for interval in record.estimators]
        assert next(iter(record.estimators)) == "jackknife", name
        assert set(record.terms) <= set(LABELS)
    assert LABELS["icc2"] == "ICC(2,1), absolute agreement, single reading"

"""The snapshot helper itself: it never makes up what it compares with."""

import pytest

import salstats as ss


def test_a_missing_snapshot_fails_and_is_not_written(means, same_as_snapshot, monkeypatch):
    monkeypatch.delenv("SALSTATS_UPDATE_SNAPSHOTS", raising=False)
    with pytest.raises(AssertionError, match="no snapshot nobody_made_it"):
        same_as_snapshot(ss.table_estimates(means), "nobody_made_it")
    with pytest.raises(AssertionError, match="no snapshot nobody_made_it"):
        same_as_snapshot(ss.table_estimates(means), "nobody_made_it")


def test_a_table_that_changed_fails(means, same_as_snapshot, monkeypatch):
    monkeypatch.delenv("SALSTATS_UPDATE_SNAPSHOTS", raising=False)
    with pytest.raises(AssertionError):
        same_as_snapshot(ss.table_estimates(means), "describe")

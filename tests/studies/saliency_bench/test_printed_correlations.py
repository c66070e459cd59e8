"""Two printed tables held against each other: the published ones, and drawn ones with a known fault."""

import numpy as np
import pandas as pd
import pytest

from salstats.checks import ColumnError, ValueRangeError
from salstats.datasets import load_published
from salstats.studies.saliency_bench.printed_correlations import (
    check_correlations,
    digit_changes,
    shared_changes,
)

DATASETS = [f"set {i}" for i in range(8)]
METRICS = ("miou", "pg", "iauc")
PAIRS = [("miou", "pg"), ("miou", "iauc"), ("pg", "iauc")]
#: r of values rounded to four decimals is that of the table to its last digits.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def published():
    """Tables 2 and 3 of Saliency-Bench."""
    return load_published("saliency_bench_table2"), load_published("saliency_bench_table3")


def drawn_tables(groups=5, seed=0):
    """Drawn values of some methods, and the correlations that follow from them."""
    rng = np.random.default_rng(seed)
    values, printed = [], []
    for g in range(groups):
        table = np.round(rng.uniform(0.1, 0.9, (8, 3)), 4)
        for d, name in enumerate(DATASETS):
            values += [("net", f"method {g}", name, m, table[d, j]) for j, m in enumerate(METRICS)]
        for one, other in PAIRS:
            r = np.corrcoef(table[:, METRICS.index(one)], table[:, METRICS.index(other)])[0, 1]
            printed.append(("net", f"method {g}", one, other, round(r, 4)))
    return (
        pd.DataFrame(values, columns=["model", "method", "dataset", "metric", "value"]),
        pd.DataFrame(printed, columns=["model", "method", "metric_1", "metric_2", "correlation"]),
    )


def spoilt(values, method, dataset, metric, change):
    """The values with one of them changed."""
    where = (values["method"] == method) & (values["dataset"] == dataset) & (values["metric"] == metric)
    assert where.sum() == 1
    return values.assign(value=np.round(values["value"].where(~where, values["value"] + change), 4))


class TestPublished:
    def test_recomputed_is_pearsons_r_of_the_printed_values(self, published):
        values, printed = published
        checked = check_correlations(values, printed)
        assert len(checked) == len(printed) == 36
        for row in checked.itertuples():
            mine = values[(values["model"] == row.model) & (values["method"] == row.method)]
            wide = mine.pivot(index="dataset", columns="metric", values="value")
            r = np.corrcoef(wide[row.metric_1], wide[row.metric_2])[0, 1]
            assert row.recomputed == pytest.approx(r, abs=ROUNDING)

    def test_the_pairs_without_pg_agree_and_those_with_it_do_not(self, published):
        checked = check_correlations(*published)
        with_pg = (checked[["metric_1", "metric_2"]] == "pg").any(axis=1)
        assert checked.loc[~with_pg, "agrees"].all()
        assert not checked.loc[with_pg, "within_one"].any()
        assert with_pg.sum() == 24

    def test_one_place_of_one_data_set_does_in_all_groups_and_no_other_does_in_any(self, published):
        values, printed = published
        changes = digit_changes(values, printed)
        (only,) = shared_changes(changes, check_correlations(values, printed)).to_dict("records")
        # as the issue says of these tables: twelve cells, 23 of 24 correlations exactly
        assert (only["dataset"], only["metric"], only["place"]) == ("Security-XAI", "pg", 1)
        assert only["everywhere"]
        assert only["n_groups"] == only["n_needed"] == 12
        assert only["n_printed"] - only["n_exact"] == 1

    def test_the_changed_values_do_reconcile(self, published):
        values, printed = published
        changes = digit_changes(values, printed)
        on = ["model", "method", "dataset", "metric"]
        put = values.merge(changes[[*on, "new_value"]], on=on, how="left")
        put["value"] = put["new_value"].fillna(put["value"])
        checked = check_correlations(put, printed)
        assert checked["within_one"].all()
        assert checked["agrees"].sum() == 35


class TestDrawn:
    def test_tables_that_agree_need_no_change(self):
        values, printed = drawn_tables()
        checked = check_correlations(values, printed)
        assert checked["agrees"].all()
        assert digit_changes(values, printed).empty
        assert shared_changes(digit_changes(values, printed), checked).empty

    @pytest.mark.parametrize(
        ("dataset", "metric", "place"), [("set 0", "miou", 1), ("set 5", "iauc", 2), ("set 3", "pg", 1)]
    )
    def test_a_fault_put_anywhere_is_found_where_it_was_put(self, dataset, metric, place):
        values, printed = drawn_tables(seed=2)
        put = {}
        for method in ("method 1", "method 3", "method 4"):
            row = values[
                (values["method"] == method) & (values["dataset"] == dataset) & (values["metric"] == metric)
            ]
            old = float(row["value"].iloc[0])
            digit = round(old * 10**4) // 10 ** (4 - place) % 10
            change = (3 if digit < 6 else -3) / 10**place
            values = spoilt(values, method, dataset, metric, change)
            put[method] = old
        checked = check_correlations(values, printed)
        changes = digit_changes(values, printed)
        assert set(changes["method"]) == set(put)
        shared = shared_changes(changes, checked)
        best = shared.iloc[0]
        assert (best["dataset"], best["metric"], best["place"]) == (dataset, metric, place)
        assert best["everywhere"]
        assert shared["everywhere"].sum() == 1
        mine = changes[(changes["dataset"] == dataset) & (changes["place"] == place)]
        mine = mine[(mine["metric"] == metric) & (mine["n_exact"] == mine["n_printed"])]
        assert mine.set_index("method")["new_value"].to_dict() == put

    def test_two_faults_in_one_group_are_not_explained_by_one_digit(self):
        values, printed = drawn_tables(groups=1, seed=4)
        values = spoilt(values, "method 0", "set 0", "miou", 0.05)
        values = spoilt(values, "method 0", "set 6", "iauc", -0.05)
        checked = check_correlations(values, printed)
        assert not checked["within_one"].all()
        changes = digit_changes(values, printed)
        assert changes.empty
        assert shared_changes(changes, checked).empty

    def test_exactly_asks_for_the_printed_digits(self, published):
        values, printed = published
        changes = digit_changes(values, printed, within=0)
        assert len(changes) == 11
        (shared,) = shared_changes(changes, check_correlations(values, printed), within=0).to_dict("records")
        assert (shared["n_groups"], shared["n_needed"], shared["everywhere"]) == (11, 12, False)

    def test_a_correlation_one_unit_off_needs_a_change_where_none_may_be(self):
        values, printed = drawn_tables(groups=2)
        printed.loc[0, "correlation"] = round(printed.loc[0, "correlation"] + 1e-4, 4)
        checked = check_correlations(values, printed)
        assert checked["within_one"].all()
        # a change of it; how many groups need one does not hang on which there are
        change = {"model": "net", "method": "method 0", "dataset": "set 0", "metric": "pg", "place": 4}
        changes = pd.DataFrame([{**change, "n_exact": 3, "n_printed": 3}])
        n_needed = {w: shared_changes(changes, checked, within=w)["n_needed"].item() for w in (0, 1)}
        assert n_needed == {0: 1, 1: 0}

    def test_the_one_change_stays_the_only_one_where_rounding_of_the_values_is_allowed_for(self, published):
        values, printed = published
        rng = np.random.default_rng(0)
        worst = 0.0
        for _, rows in values.groupby(["model", "method"]):
            table = rows.pivot(index="dataset", columns="metric", values="value").to_numpy()
            r = np.corrcoef(table.T)
            for _ in range(50):
                before = table + rng.uniform(-5e-5, 5e-5, table.shape)
                worst = max(worst, float(np.abs(np.corrcoef(before.T) - r).max()))
        units = int(np.ceil(worst * 1e4))
        assert units > 1
        changes = digit_changes(values, printed, within=units)
        assert len(changes) == 12
        assert set(zip(changes["dataset"], changes["metric"], changes["place"], strict=True)) == {
            ("Security-XAI", "pg", 1)
        }


class TestBadInput:
    def test_a_correlation_without_values_is_named(self, published):
        values, printed = published
        mine = (values["model"] == "VGG-19") & (values["method"] == "RISE") & (values["metric"] == "pg")
        with pytest.raises(ColumnError, match="correlates 'pg' of VGG-19, RISE"):
            check_correlations(values[~mine], printed)

    def test_a_value_that_stands_twice_is_named(self, published):
        values, printed = published
        with pytest.raises(ColumnError, match="two numbers for ResNet-18, GradCAM, Gender-XAI, miou"):
            check_correlations(pd.concat([values, values.head(1)]), printed)

    def test_a_hole_in_the_values_is_no_data_set_less(self, published):
        values, printed = published
        with pytest.raises(ColumnError, match="values of ResNet-18, GradCAM are not complete"):
            check_correlations(values.drop(index=0), printed)

    def test_more_decimals_than_said(self, published):
        values, printed = published
        with pytest.raises(ValueRangeError, match="more than 3 decimals"):
            check_correlations(values, printed, digits=3)

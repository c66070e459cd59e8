"""The printed Tables 2 and 3 against each other, and the search for the digit."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.datasets import data_folder
from salstats.errors import ColumnError
from salstats.studies.saliency_bench.cell_means import (
    CELL_COLUMNS,
    MeanOptions,
    printed_benchmark,
    printed_means,
)
from salstats.studies.saliency_bench.table_consistency import (
    CHANGES_FILE,
    compare_correlations,
    digit_changes_that_reconcile_tables,
    printed_correlations_compared_with_printed_values,
    printed_correlations_where_all_data_sets_present,
    printed_means_of_cells,
    printed_tables_2_and_3,
    values_after_changes,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analyses"))
from saliency_bench_digits import digit_changes, main

METHODS = ("a", "b", "c")


def agreeing_tables():
    """Drawn values and the correlations that follow from them."""
    rng = np.random.default_rng(11)
    metrics = ("iou", "hit_any", "insertion")
    values, printed = [], []
    for method in METHODS:
        table = np.round(rng.uniform(0.2, 0.8, (8, 3)), 4)
        values += [
            ("net", method, f"set {i}", m, table[i, j]) for i in range(8) for j, m in enumerate(metrics)
        ]
        r = np.round(np.corrcoef(table.T), 4)
        printed += [("net", method, metrics[i], metrics[j], r[i, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    return (
        pd.DataFrame(values, columns=["model", "method", "dataset", "metric", "value"]),
        pd.DataFrame(printed, columns=["model", "method", "metric_1", "metric_2", "correlation"]),
    )


def test_of_the_printed_correlations_those_with_the_pointing_game_do_not_follow():
    values, printed = printed_tables_2_and_3()
    checked = compare_correlations(values, printed)
    assert checked.groupby(["metric_1", "metric_2"])["agrees"].sum().to_dict() == {
        ("iou", "hit_any"): 0, ("iou", "insertion"): 12, ("hit_any", "insertion"): 0
    }  # fmt: skip
    wide = values.pivot(index=["model", "method", "dataset"], columns="metric", values="value")
    for row in checked.itertuples():
        own = wide.loc[(row.model, row.method)]
        assert row.recomputed == pytest.approx(own[row.metric_1].corr(own[row.metric_2]), abs=1e-12)
        assert row.difference == pytest.approx(round(row.recomputed, 4) - row.printed, abs=1e-9)


def test_the_search_finds_what_lies_in_the_data(tmp_path):
    assert main(["-o", str(tmp_path / "found.csv")]) == 0
    assert (tmp_path / "found.csv").read_text() == (data_folder() / CHANGES_FILE).read_text()


def test_the_changes_found_make_all_but_the_last_digit_of_one_agree():
    values, printed = printed_tables_2_and_3()
    changes = pd.read_csv(data_folder() / CHANGES_FILE)
    assert changes.groupby(["model", "method"]).size().tolist() == [1] * 12
    # one digit of each
    assert (10 * (changes["value"] - changes["new_value"])).round(9).mod(1).eq(0).all()
    after = compare_correlations(values_after_changes(values, changes), printed)
    assert after["agrees"].sum() == 35
    assert after["within_one"].all()


def test_of_tables_that_agree_nothing_is_to_be_changed():
    values, printed = agreeing_tables()
    assert compare_correlations(values, printed)["agrees"].all()
    assert digit_changes(values, printed).empty


def test_a_fault_elsewhere_is_found_there():
    values, printed = agreeing_tables()
    hurt = values.index[(values["dataset"] == "set 3") & (values["metric"] == "iou")]
    true = values.loc[hurt, "value"].tolist()
    values.loc[hurt, "value"] = [round(v + 0.02 if f"{v:.4f}"[3] < "8" else v - 0.02, 4) for v in true]
    found = digit_changes(values, printed)
    right = found[(found["dataset"] == "set 3") & (found["metric"] == "iou") & (found["place"] == 2)]
    assert right["method"].tolist() == list(METHODS)
    assert right["new_value"].tolist() == true


def test_a_value_that_stands_twice_or_is_not_there_is_named():
    values, printed = agreeing_tables()
    with raises(ColumnError, rows=(len(values),)):
        compare_correlations(pd.concat([values, values.tail(1)]), printed)
    with raises(ColumnError, column="method", value="c"):
        compare_correlations(values[values["method"] != "c"], printed)


def test_printed_means_are_those_of_the_cells_that_have_a_name_of_the_study():
    printed = printed_means()
    cells = printed[list(CELL_COLUMNS)].tail(4)
    # names are known by their letters
    own = cells.assign(method=cells["method"].str.upper())
    others = own.assign(dataset="elsewhere")
    found = printed_means_of_cells(pd.concat([own, own, others]))
    assert found["method"].tolist() == own["method"].tolist()
    assert found["estimate"].tolist() == printed["estimate"].tail(4).tolist()


def test_printed_correlations_are_those_of_methods_with_all_data_sets_of_the_study():
    values, printed = printed_tables_2_and_3()
    first = values.iloc[0]
    cells = values[(values["model"] == first["model"]) & (values["method"] == first["method"])]
    own = printed[(printed["model"] == first["model"]) & (printed["method"] == first["method"])]
    found = printed_correlations_where_all_data_sets_present(cells)
    assert len(found) == 3
    assert found[["x", "y"]].to_numpy().tolist() == own[["metric_1", "metric_2"]].to_numpy().tolist()
    assert found["estimate"].tolist() == own["correlation"].tolist()
    without_metric = printed_correlations_where_all_data_sets_present(cells[cells["metric"] != "iou"])
    assert without_metric[["x", "y"]].to_numpy().tolist() == [["hit_any", "insertion"]]
    assert printed_correlations_where_all_data_sets_present(cells[cells["dataset"] != first["dataset"]]).empty
    assert printed_correlations_where_all_data_sets_present(
        pd.concat([cells, cells.assign(dataset="another")])
    ).empty


def test_the_items_count_what_agrees_before_and_after_the_changes():
    values, printed = printed_tables_2_and_3()
    changes = pd.read_csv(data_folder() / CHANGES_FILE)
    benchmark = printed_benchmark(MeanOptions(n_replicates=40))
    before = printed_correlations_compared_with_printed_values(benchmark)
    agrees = compare_correlations(values, printed)["agrees"]
    assert before.frame["agrees"].sum() == agrees.sum()
    assert before.note.startswith(f"{agrees.sum()} of {len(printed)} printed")
    html = before.table.as_raw_html()
    n_last_digit = (before.frame["within_one"] & ~before.frame["agrees"]).sum()
    for text, n in (("yes", agrees.sum()), ("last digit", n_last_digit)):
        assert html.count(f">{text}<") == n
    assert f"Agree: {agrees.sum()} of {len(printed)}" in " ".join(html.split())
    after = digit_changes_that_reconcile_tables(benchmark)
    corrected = compare_correlations(values_after_changes(values, changes), printed)["agrees"]
    assert len(after.frame) == len(changes)
    assert after.frame["n_exact"].sum() == corrected.sum()
    assert (after.frame["n_printed"] == 3).all()
    html = after.table.as_raw_html()
    assert html.count(">2 of 3 (1 to the last digit)<") == (~corrected).sum()
    words = " ".join(html.split())
    assert f"Such a change exists for {len(changes)} of them" in words
    assert f"{corrected.sum()} of {len(printed)} correlations then are the printed ones" in words

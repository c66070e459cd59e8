"""The study's interval by hand, and what is said of a row that differs."""

import numpy as np
import pandas as pd
import pytest

from salstats.studies.lanfredi2021.design import beside_published, what_changes
from salstats.studies.lanfredi2021.printed import disagreements, published_interval
from salstats.studies.lanfredi2021.words import row_name

# a handful of double-precision steps
ROUNDING = 1e-14


def test_the_studys_interval_counts_images_and_spreads_over_rows():
    scores = pd.DataFrame({"method": "a", "case": ["x", "x", "y", "y"], "score": [0.0, 2.0, 4.0, 6.0]})
    row = published_interval(scores, ["method"], "score", "case").iloc[0]
    # SD of 0, 2, 4, 6 with divisor 3: sqrt(20 / 3); two images
    half = 1.96 * np.sqrt(20 / 3) / np.sqrt(2)
    assert row["estimate"] == 3
    assert np.isclose([row["conf_low"], row["conf_high"]], [3 - half, 3 + half], rtol=ROUNDING).all()
    assert row["n_units"] == 2
    assert row["unit"] == "case"


def test_one_row_has_a_mean_and_no_limits():
    row = published_interval(
        pd.DataFrame({"m": ["a"], "case": ["x"], "score": [1.0]}), ["m"], "score", "case"
    )
    assert row["estimate"].item() == 1
    assert row[["conf_low", "conf_high"]].isna().all(axis=None)


def test_a_group_whose_key_is_missing_is_a_group():
    scores = pd.DataFrame({"mixing": [None, None, "uniform"], "case": list("xyx"), "score": [1.0, 3.0, 5.0]})
    found = published_interval(scores, ["mixing"], "score", "case")
    assert found["estimate"].tolist() == [2, 5]


@pytest.mark.parametrize("equal", [True, False])
def test_only_rows_that_differ_are_said(equal):
    values = {f"{p}{v}": 0.5 for p in ("printed_", "") for v in ("estimate", "conf_low", "conf_high")}
    row = {"table": "1", "subset": "all", "method": "am1", "mixing": None, "metric": "sauc", **values}
    said = disagreements(pd.DataFrame([{**row, "equal": equal}]))
    expected = "table 1, am1, sauc prints 0.500 [0.500, 0.500], but the workbook gives 0.500 [0.500, 0.500]"
    assert said == ([] if equal else [expected])


def test_the_name_of_a_row_leaves_out_what_all_rows_share():
    row = {"table": "2", "subset": "normal", "method": "am1", "mixing": "uniform", "metric": "ncc"}
    assert row_name(pd.Series(row)) == "table 2, normal, am1, uniform, ncc"
    assert row_name(pd.Series({**row, "subset": "all", "mixing": None})) == "table 2, am1, ncc"


def make_rows():
    """An interval that becomes wider and takes chance in, and one that becomes narrower."""
    return pd.DataFrame(
        {
            "table": "1", "subset": "all", "method": ["a", "b"], "mixing": None, "metric": ["sncc", "sauc"],
            "published_conf_low": [0.1, 0.4], "published_conf_high": [0.3, 0.6],
            "conf_low": [-0.1, 0.45], "conf_high": [0.5, 0.55],
        }
    )  # fmt: skip


def test_chance_is_0_of_correlations_and_one_half_of_areas():
    rows = beside_published(make_rows())
    assert np.isclose(rows["width_ratio"], [3, 0.5]).all()
    assert rows["published_excludes_chance"].tolist() == [True, False]
    assert rows["excludes_chance"].tolist() == [False, False]


def test_what_changes_counts_narrower_intervals_and_names_the_rows_that_turn():
    said = what_changes(beside_published(make_rows()))
    assert "1 of 2 intervals are narrower" in said
    assert said.endswith("changes in 1: table 1, a, sncc.")
    same = beside_published(make_rows().iloc[1:])
    assert what_changes(same).endswith("changes in 0: none.")


def test_an_interval_of_no_width_has_no_ratio():
    rows = make_rows().assign(published_conf_high=[0.1, 0.6])
    assert beside_published(rows)["width_ratio"].isna().tolist() == [True, False]

"""The change of the shuffled metrics by the centre bias: paired rows, only those defined under both."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from salstats.studies.lanfredi2021.bias_choice import bias_choice, compared

# means of the same numbers in another order
SUM_TOLERANCE = 1e-12


def make_scores(shift=0.0, mixing=("as given",)):
    """Scores of six cases, three readers and two methods, the shuffled ones moved by `shift` by case."""
    rng = np.random.default_rng(8)
    rows = [
        {
            "case": f"c{case}", "method": method, "mixing": mix, "reader": str(reader), "metric": metric,
            "score": rng.normal(0.2, 0.05) + shift * (case + 1),
        }
        for case in range(6)
        for method, mixings in (("interobserver", ("",)), ("gradcam_wag", mixing))
        for mix in mixings
        for reader in range(3)
        for metric in ("ncc", "sncc", "sauc")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_the_change_is_that_of_the_same_rows_with_cases_as_clusters():
    # rows in another order: pairs are made by their keys
    others = make_scores(0.01).sample(frac=1, random_state=1)
    found = compared(make_scores(), others)
    assert found["metric"].tolist() == ["sncc", "sncc", "sauc", "sauc"]
    # 0.01 to 0.06 by case, the same for every reader
    changes = 0.01 * np.arange(1, 7)
    low, high = stats.t.interval(0.95, 5, changes.mean(), stats.sem(changes))
    for row in found.itertuples():
        assert abs(row.estimate - 0.035) < SUM_TOLERANCE
        assert abs(row.conf_low - low) < SUM_TOLERANCE
        assert abs(row.conf_high - high) < SUM_TOLERANCE
        assert abs(row.mean_others - row.mean_all - 0.035) < SUM_TOLERANCE
        assert abs(row.largest - 0.06) < SUM_TOLERANCE


def test_a_negative_change_has_its_size():
    found = compared(make_scores(), make_scores(-0.01))
    assert (found["estimate"] < 0).all()
    assert np.abs(found["largest"] - 0.06).max() < SUM_TOLERANCE


def test_rows_undefined_under_either_are_in_neither_mean():
    every, others = make_scores(), make_scores(0.01)
    others.loc[others["case"] == "c5", "score"] = np.nan
    found = compared(every, others)
    expected = every[every["case"] != "c5"].groupby(["metric", "method"])["score"].mean()
    for row in found.itertuples():
        assert abs(row.mean_all - expected[row.metric, row.method]) < SUM_TOLERANCE
        assert row.n_missing == 3
        assert row.n_units == 5


def test_each_mixing_is_compared_with_itself():
    found = compared(make_scores(mixing=("weighted", "uniform")), make_scores(0.01, ("weighted", "uniform")))
    assert found.loc[found["metric"] == "sauc", "mixing"].tolist() == ["", "weighted", "uniform"]
    assert np.abs(found["estimate"] - 0.035).max() < SUM_TOLERANCE


def test_the_item_shows_both_means_and_the_change():
    item = bias_choice(make_scores(), make_scores(0.01))
    assert item.key == "center_bias_choice"
    html = item.table.as_raw_html()
    assert "All cases, as the study" in html
    assert "All other cases" in html
    assert "0.035 [" in html
    assert item.frame["mixing"].isna().tolist() == [True, False, True, False]
    assert "contains the case" in item.note


def test_the_line_of_the_figure_is_at_no_change_and_not_at_chance():
    figure = bias_choice(make_scores(), make_scores(0.01)).figure
    drawn = [layer._data for layer in figure.layers if isinstance(layer._data, pd.DataFrame)]
    guides = [data["guide"] for data in drawn if "guide" in data]
    assert guides
    assert all((guide == 0).all() for guide in guides)
    figure.draw()


def test_rows_that_stand_twice_are_no_pairs():
    every = make_scores()
    with pytest.raises(pd.errors.MergeError):
        compared(pd.concat([every, every]), make_scores(0.01))

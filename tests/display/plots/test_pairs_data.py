"""Data of estimation plots: pairs, their lines, units and panels, and differences that belong to them."""

import numpy as np
import pandas as pd
import pytest
from display.frames import large_study
from display.plots.paired_scores import clustered, of_hospitals, small
from tests_support import raises

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.plots.pairs_data import only_reference, pairs_data
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError

#: Warnings that frames of few units give are not what is drawn here.
pytestmark = pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning")
SCORES = ss.datasets.load_simulated()


def data_of(scores, differences, labels=None):
    """The data of a figure of these differences."""
    estimates = read_estimates(differences, "differences")
    return pairs_data(scores, estimates, only_reference(estimates), Labels(labels, scores))


def t_differences(scores, **options):
    return ss.difference(scores, **{"reference": "human", "interval": "t"} | options)


def made_up(scores_of_methods, **columns):
    """Scores of cases a, b, ... by method."""
    wide = pd.DataFrame(scores_of_methods, index=list("abcdefghijklmnop")[: len(scores_of_methods["human"])])
    scores = wide.rename_axis("case").reset_index().melt("case", var_name="method", value_name="score")
    return scores.dropna().assign(**{"metric": "iou"} | columns)


def test_a_line_begins_at_the_reference_and_has_an_end_for_each_method():
    scores = made_up({"human": [0.5, 0.75], "cam": [0.25, 0.5], "lime": [0.125, np.nan]})
    drawing = data_of(scores, t_differences(scores))
    ends = drawing.ends.sort_values(["line", "place"])
    assert list(zip(ends["place"], ends["score"], strict=True)) == [
        *[(1, 0.5), (2, 0.25), (3, 0.125)],
        *[(1, 0.75), (2, 0.5)],
    ]
    assert ends["mark"].tolist() == [*drawing.methods.values(), *list(drawing.methods.values())[:2]]
    assert set(ends["panel"]) == {"Scores"}
    assert not drawing.has_differences_beside


def test_differences_of_a_single_method_stand_beside_its_scores():
    scores, differences = small()
    assert data_of(scores, differences).has_differences_beside


def test_panels_of_scores_and_of_differences_alternate_task_by_task():
    scores = SCORES.query("task in ['Edema', 'Atelectasis']")
    drawing = data_of(scores, t_differences(scores), {"task": ["Edema", "Atelectasis"]})
    titles = ["Edema, IoU", "Edema, Hit rate", "Atelectasis, IoU", "Atelectasis, Hit rate"]
    panels = drawing.pairs["panel"].cat.categories
    assert list(panels[::2]) == titles
    assert list(panels[1::2]) == [f"{title}: difference" for title in titles]
    assert drawing.pairs["panel"].isin(panels[1::2]).all()
    assert drawing.pairs["score_panel"].isin(panels[::2]).all()


def test_only_panels_of_nothing_but_0_and_1_are_binary():
    scores = SCORES.query("task == 'Edema'")
    pairs = data_of(scores, t_differences(scores)).pairs
    assert (pairs["binary"] == (pairs["metric"] == "hit")).all()
    # a single score of another value is enough
    scores = made_up({"human": [0.0, 1.0, 1.0], "cam": [1.0, 0.0, 0.5]})
    assert not data_of(scores, t_differences(scores)).pairs["binary"].any()


def test_a_pair_for_each_reading_of_the_reference():
    scores = large_study(20, 20).query("metric == 'iou' and task == 'Edema' and method in ['human', 'ig']")
    differences = ss.difference(scores, reference="human")
    assert len(data_of(scores, differences).pairs) == differences["n_pairs"].iloc[0] == 40


def test_units_of_several_lines_are_numbered_by_their_column():
    scores, differences = clustered()
    drawing = data_of(scores, differences)
    assert drawing.has_repeated_units
    patients = drawing.pairs.groupby("patient")["unit"].nunique()
    assert drawing.pairs["unit"].nunique() == 2 == len(patients)
    assert (patients == 1).all()
    assert drawing.pairs["line"].nunique() == 3


def test_cases_that_are_their_own_units_are_not_repeated():
    scores = made_up({"human": [0.5, 0.75], "cam": [0.25, 0.5]})
    drawing = data_of(scores, t_differences(scores))
    assert not drawing.has_repeated_units
    assert (drawing.unit_labels, set(drawing.pairs["unit_label"])) == ([], {""})
    assert (drawing.pairs["unit"] == drawing.pairs["line"]).all()


def test_up_to_eight_units_are_named_where_they_have_means():
    eight = data_of(*of_hospitals(8))
    assert eight.unit_labels == [f"H{i}" for i in range(8)]
    assert set(eight.pairs.loc[eight.pairs["metric"] == "iou", "unit_label"]) == set(eight.unit_labels)
    # lines of hits are those of pairs, which have no mean of a unit
    hits = eight.pairs[eight.pairs["metric"] == "hit"]
    assert set(hits["unit_label"]) == {""}
    assert (hits["unit"] == hits["line"]).all()
    nine = data_of(*of_hospitals(9))
    assert (nine.unit_labels, set(nine.pairs["unit_label"])) == ([], {""})
    assert nine.has_repeated_units


def test_ten_pairs_or_more_have_a_cloud_unless_equal_or_of_0_and_1():
    human, cam = np.linspace(0.1, 0.9, 10), np.linspace(0.2, 0.5, 10)

    def has_cloud(human, cam):
        scores = made_up({"human": human, "cam": cam})
        return set(data_of(scores, t_differences(scores)).has_cloud_by_row_of_pairs)

    assert has_cloud(human, cam) == {True}
    assert has_cloud(human[:9], cam[:9]) == {False}
    assert has_cloud(human, np.full(10, 0.0) + human) == {False}
    assert has_cloud(human.round(), cam.round()) == {False}


def test_averages_are_not_drawn():
    scores = SCORES.query("metric == 'iou'")
    differences = t_differences(scores, average="task")
    assert "Average" not in set(data_of(scores, differences).pairs["task"])
    with raises(SalstatsError, option="differences"):
        data_of(scores, differences[differences["task"] == "Average"])


def test_numbers_of_a_frame_from_a_file_match_texts_of_the_scores():
    scores, _ = small()
    scores = scores.assign(fold="1")
    differences = t_differences(scores, reference="gradcam", by=["metric", "fold"]).assign(fold=1)
    assert len(data_of(scores, differences).pairs) == 12


def test_differences_of_other_scores_are_errors_and_rounded_ones_are_not():
    scores, differences = small()
    with raises(SalstatsError, option="differences", rows=(0,)):
        data_of(scores.assign(score=scores["score"] ** 2), differences)
    estimate = differences["estimate"]
    # the tolerance is a millionth of 1, or of a larger difference
    assert len(data_of(scores, differences.assign(estimate=estimate + 0.9e-6)).pairs)
    with raises(SalstatsError, option="differences"):
        data_of(scores, differences.assign(estimate=estimate + 1.1e-6))
    in_thousandths = scores.assign(score=1e6 * scores["score"])
    differences = t_differences(in_thousandths, reference="gradcam")
    larger = differences.assign(estimate=differences["estimate"] * (1 + 0.9e-6))
    assert len(data_of(in_thousandths, larger).pairs)


def test_differences_of_other_kinds_are_errors():
    scores, differences = small()
    with raises(SalstatsError, option="differences", column="term"):
        data_of(scores, ss.percent_decrease(scores, reference="gradcam"))
    with raises(SalstatsError, option="differences", column="reference"):
        data_of(SCORES, t_differences(SCORES, reference="all"))
    with raises(SalstatsError, option="differences", column="reference"):
        data_of(scores, differences.assign(reference=np.nan))
    with raises(SalstatsError, column="estimate"):
        data_of(scores, differences.assign(estimate=np.nan))


def test_differences_of_units_that_weigh_alike_need_not_be_the_mean_of_the_pairs():
    scores, _ = clustered()
    differences = t_differences(scores, weights="unit")
    pairs = data_of(scores, differences).pairs
    assert differences["estimate"].iloc[0] != pytest.approx(pairs["difference"].mean())
    assert len(pairs) == 3

"""Tuned values: against the CheXlocalize scripts' tables, and by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError

#: Means over 6 to 120 cases of IoUs in each of which single pixels may differ (see test_scoring).
PIXEL = 2 / 400 / 6


def test_thresholds_equal_the_scripts(made_up, made_up_study):
    ours = ss.tune(made_up_study, what="threshold")
    theirs = pd.read_csv(made_up / "expected" / "tune" / "tune_heatmap_detail.csv")
    theirs["threshold"] = theirs["threshold"].round(1)
    both = ours.merge(theirs, on=["task", "threshold"], suffixes=("", "_theirs"), validate="one_to_one")
    assert len(both) == 70
    assert (both["n"] == both["n_theirs"]).all()
    assert (both["estimate"] - both["miou"]).abs().max() < PIXEL
    chosen = ours[ours["chosen"]].set_index("task")["threshold"].sort_index()
    published = pd.read_csv(made_up / "expected" / "tune" / "tuning_results.csv")
    assert chosen.to_dict() == published.set_index("task")["threshold"].to_dict()


@pytest.mark.slow
def test_cutoffs_as_published_are_those_of_the_scripts(made_up, made_up_study):
    ours = ss.tune(made_up_study, what="cutoff", as_published=True)
    theirs = pd.read_csv(made_up / "expected" / "tune" / "probability_tuning_results.csv")
    theirs["cutoff"] = theirs["prob_threshold"].round(1)
    both = ours.merge(theirs, on=["task", "cutoff"], validate="one_to_one")
    # no cut-off of 0 is tried for Lung Lesion
    assert len(both) == len(ours) == 89
    # a pixel may decide the last of three digits
    assert (both["estimate"] - both["mIoU"]).abs().max() < 0.001 + PIXEL
    best = theirs.loc[theirs.groupby("task")["mIoU"].idxmax()].set_index("task")["cutoff"]
    assert ours[ours["chosen"]].set_index("task")["cutoff"].to_dict() == best.to_dict()


def test_a_cut_off_keeps_what_reaches_it_and_as_published_what_exceeds_it():
    # one map is the truth, of probability 0.5; the other misses
    truths = {("a", "Edema"): np.array([[0, 0, 1, 1]], bool), ("b", "Edema"): np.array([[1, 1, 0, 0]], bool)}
    maps = {(case, "Edema", "cam"): np.array([[0.0, 0, 1, 1]]) for case in "ab"}
    prob = {("a", "Edema"): 0.5, ("b", "Edema"): 0.2}
    study = ss.study_from_arrays(truths, maps, prob=prob)
    ours, theirs = (
        ss.tune(study, what="cutoff", grid=(0, 0.2, 0.5), as_published=published)["estimate"].tolist()
        for published in (False, True)
    )
    assert ours == [0.5, 0.5, 0.5]
    assert theirs == [0.5, 0.5, 0.0]


def test_means_are_compared_to_three_digits_as_published():
    # a shares 1 of 4001 pixels; b is a false positive, better empty: means of .000125 and .00025
    truth, drawn = np.zeros((1, 4001), bool), np.zeros((1, 4001))
    truth[0, :2000] = True
    drawn[0, 1999:] = 1
    maps = {(case, "Edema", "cam"): drawn for case in "ab"}
    study = ss.study_from_arrays(
        {("a", "Edema"): truth, ("b", "Edema"): ~truth & truth},
        maps,
        prob={("a", "Edema"): 0.9, ("b", "Edema"): 0.3},
    )
    ours, theirs = (
        ss.tune(study, what="cutoff", grid=(0, 0.5), as_published=published).query("chosen")["cutoff"].item()
        for published in (False, True)
    )
    assert (ours, theirs) == (0.5, 0.0)


def test_box_filters_equal_one_score_per_size(drawn_study):
    ours = ss.tune(drawn_study, what="smooth", grid=(0, 5, 15))
    assert ours["smooth"].dtype == "int64"
    for size, rows in ours.groupby("smooth"):
        scores = ss.score(drawn_study, smooth=size, metrics="iou").query("method == 'saliency'")
        means = scores.groupby("task")["score"].mean()
        assert np.allclose(
            rows.set_index("task")["estimate"], means[rows["task"]], rtol=1e-12, equal_nan=True
        )


@pytest.mark.parametrize(
    ("what", "value", "given"),
    [("threshold", 0.4, {"smooth": 7}), ("smooth", 7, {"threshold": 0.4}), ("cutoff", 0, {"threshold": 0.4})],
)
def test_what_is_not_tuned_is_as_score_takes_it(drawn_study, what, value, given):
    ours = ss.tune(drawn_study, what=what, grid=(value,), metric="dice", **given).set_index("task")
    slices = {"slice": "full"} if what == "cutoff" else {}
    scores = ss.score(drawn_study, metrics="dice", **{what: value}, **given, **slices)
    scores = scores[scores["method"] == "saliency"]
    np.testing.assert_allclose(
        ours["estimate"], scores.groupby("task")["score"].mean()[ours.index], rtol=1e-12
    )


def test_only_cut_offs_are_tried_on_cases_without_a_truth():
    # the same map where the finding is, where it is absent, and in a case that the truth does not hold
    saliency = np.array([[0.0, 0.0, 1.0, 1.0]])
    study = ss.study_from_arrays(
        {("a", "Edema"): saliency > 0, ("b", "Edema"): saliency > 1, ("c", "Edema"): saliency > 0},
        {(case, "Edema", "cam"): saliency for case in "abc"},
        prob={(case, "Edema"): 0.5 for case in "abc"},
    )
    without_truth = replace(study.cases[2], truths={}, annotated=False)
    study = replace(study, cases=(*study.cases[:2], without_truth))
    found = {}
    for what in ("threshold", "smooth", "cutoff"):
        row = ss.tune(study, what=what, grid=(0,)).iloc[0]
        found[what] = (row["estimate"], row["n"], row["n_missing"])
    # where there is no finding, the IoU of a map is 0 when a cut-off is chosen, and undefined otherwise
    assert found == {"threshold": (1, 1, 1), "smooth": (1, 1, 1), "cutoff": (1 / 3, 3, 0)}


def test_thresholds_are_not_rounded_as_published():
    study = drawn([[1.0, 0.0, 0.0, 0.0]], [[1, 1, 1, 0]])
    assert ss.tune(study, grid=(0.5,), as_published=True)["estimate"].tolist() == [1 / 3]


def test_a_tuned_file_goes_into_score(drawn_study, tmp_path):
    for what in ("threshold", "cutoff", "smooth"):
        frame = ss.tune(drawn_study, what=what)
        file = ss.write_frame(frame, tmp_path / f"{what}.csv")
        chosen = frame[frame["chosen"]].set_index("task")[what].to_dict()
        assert len(chosen) == 2
        from_file, from_values = (ss.score(drawn_study, **{what: values}) for values in (file, chosen))
        pd.testing.assert_frame_equal(from_file, from_values)


def drawn(values, truth):
    return ss.study_from_arrays(
        {("a", "Edema"): np.array(truth, bool)}, {("a", "Edema", "cam"): np.array(values)}
    )


def test_the_smallest_of_equally_good_values_is_chosen():
    frame = ss.tune(drawn([[0.0, 1.0]], [[0, 1]]), grid=(0.2, 0.5, 0.8))
    assert frame["estimate"].tolist() == [1, 1, 1]
    assert frame["chosen"].tolist() == [True, False, False]


def test_a_value_at_which_nothing_is_defined_is_never_chosen():
    # nothing exceeds 1; the scripts take a first value that is NaN for the largest
    frame = ss.tune(drawn([[0.0, 1.0]], [[0, 1]]), grid=(1.0,))
    assert frame["n"].tolist() == [0]
    assert frame["n_missing"].tolist() == [1]
    assert not frame["chosen"].any()


@pytest.mark.parametrize("grid", [(), (0.5, 0.5), (0.6, 0.2), (-0.1, 0.5), (0.5, 1.5)])
def test_a_grid_that_is_none(grid):
    with raises(ValueRangeError, option="grid", value=grid):
        ss.tune(drawn([[0.0, 1.0]], [[0, 1]]), grid=grid)


@pytest.mark.parametrize("size", [2.5, 10_001])
def test_smoothing_takes_whole_pixels_no_more_than_an_image_has(size):
    with raises(ValueRangeError, option="grid", value=(0, size)):
        ss.tune(drawn([[0.0, 1.0]], [[0, 1]]), what="smooth", grid=(0, size))


def test_without_maps_there_is_nothing_to_tune():
    with raises(SalstatsError, option="study", value="arrays"):
        ss.tune(ss.study_from_arrays({("a", "Edema"): np.eye(3, dtype=bool)}, {}, human={}))


def test_two_jobs_give_the_same_frame(drawn_study):
    pd.testing.assert_frame_equal(ss.tune(drawn_study, jobs=1), ss.tune(drawn_study, jobs=2))


@pytest.mark.parametrize("task", ["Lung Lesion", "Edema"])
@pytest.mark.parametrize("as_published", [True, False])
def test_a_cut_off_of_0_is_not_tried_for_lung_lesions_as_published(task, as_published):
    study = ss.study_from_arrays(
        {("a", task): np.eye(3, dtype=bool)}, {("a", task, "cam"): np.eye(3)}, prob={("a", task): 0.7}
    )
    frame = ss.tune(study, what="cutoff", grid=(0.0, 0.5), as_published=as_published)
    is_left_out = as_published and task == "Lung Lesion"
    assert frame["cutoff"].tolist() == ([0.5] if is_left_out else [0.0, 0.5])
    assert frame["chosen"].tolist() == ([True] if is_left_out else [True, False])
    assert frame["estimate"].tolist() == [1.0] * len(frame)

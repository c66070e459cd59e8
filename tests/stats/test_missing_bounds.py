"""Bounds of undefined scores: what filling them in gives, which is their definition."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, Setting, ValueRangeError

BY = ["metric", "task"]


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    """Scores of which some are undefined where there is a finding; each case has a row of each method."""
    study = ss.datasets.load_simulated()
    return study[study["case"].isin(study["case"].unique()[:60])].reset_index(drop=True)


def _filled(scores: pd.DataFrame, method: float, human: float) -> pd.DataFrame:
    """Scores with those that are undefined, of findings that are there, filled in."""
    fill = np.where(scores["method"] == "human", human, method)
    there = scores["label"] == 1
    return scores.assign(score=scores["score"].where(scores["score"].notna() | ~there, fill))


def _neither(scores: pd.DataFrame, method: str) -> pd.DataFrame:
    """Scores of a method and of people, undefined on both sides where one is."""
    both = scores[scores["method"].isin([method, "human"])]
    lacks = both["score"].isna().groupby([both[c] for c in ("metric", "task", "case")]).transform("any")
    return both.assign(score=both["score"].mask(lacks)).reset_index(drop=True)


def _assert_bounds(found: pd.DataFrame, low: pd.DataFrame, high: pd.DataFrame) -> None:
    assert len(found)
    np.testing.assert_allclose(found["bound_low"], low["estimate"], rtol=1e-11)
    np.testing.assert_allclose(found["bound_high"], high["estimate"], rtol=1e-11)
    assert (found["bound_low"] < found["bound_high"]).any()


def test_bounds_of_means_are_those_of_scores_filled_in(scores) -> None:
    def means(of: pd.DataFrame) -> pd.DataFrame:
        return ss.summarize(of, average="task", overall=True, interval="cr2")

    found = ss.missing_bounds(means(scores))
    _assert_bounds(found, means(_filled(scores, 0, 0)), means(_filled(scores, 1, 1)))
    assert (found["bound_low"] <= found["estimate"]).all()
    assert (found["estimate"] <= found["bound_high"]).all()
    assert (found["n_absent"] > 0).any()


@pytest.mark.parametrize("pairs", ["complete", "available"])
def test_bounds_of_differences_are_those_of_scores_filled_in(scores, pairs) -> None:
    options = {"reference": "human", "by": BY, "average": "task", "interval": "cr2"}

    def gaps(of: pd.DataFrame) -> pd.DataFrame:
        return ss.difference(of, **options, overall=True)

    finished = ss.difference(scores, **options, pairs=pairs, overall=pairs == "complete")
    found = ss.missing_bounds(finished, scores=scores)
    low, high = (gaps(_filled(scores, *fill)) for fill in ((0, 1), (1, 0)))
    if pairs == "available":
        low, high = (of[of["task"] != "Overall"].reset_index(drop=True) for of in (low, high))
        with raises(SalstatsError, option="scores", hint="give scores"):
            ss.missing_bounds(finished)
    _assert_bounds(found, low, high)


def test_a_table_alone_takes_both_scores_of_a_pair_for_undefined(scores) -> None:
    for method in ("gradcam", "occlusion"):
        known = _neither(scores, method)

        def gaps(of: pd.DataFrame) -> pd.DataFrame:
            return ss.difference(of, reference="human", by=BY, average="task", overall=True, interval="cr2")

        two = scores[scores["method"].isin([method, "human"])].reset_index(drop=True)
        found = ss.missing_bounds(gaps(two))
        assert (found["bound_low"] <= found["estimate"]).all()
        assert (found["estimate"] <= found["bound_high"]).all()
        _assert_bounds(found, gaps(_filled(known, 0, 1)), gaps(_filled(known, 1, 0)))
        closer = ss.missing_bounds(gaps(scores), scores=scores).query("method == @method")
        assert (closer["bound_low"].to_numpy() >= found["bound_low"] - 1e-12).all()
        assert (closer["bound_high"].to_numpy() <= found["bound_high"] + 1e-12).all()


def _decreases(scores: pd.DataFrame, average: str) -> pd.DataFrame:
    return ss.percent_decrease(scores, reference="human", by=BY, average=average, interval="delta")


@pytest.mark.parametrize("average", ["task", "task_mean"])
def test_bounds_of_decreases_are_those_of_scores_filled_in(scores, average) -> None:
    found = ss.missing_bounds(_decreases(scores, average), scores=scores)
    low, high = (_decreases(_filled(scores, *fill), average) for fill in ((1, 0), (0, 1)))
    _assert_bounds(found, low, high)


def _scores_of_tasks(human: dict[str, list[float]], cam: dict[str, list[float]]) -> pd.DataFrame:
    """Scores of findings that are there, in the order of the cases, each in four cases."""
    frames = []
    for method, scores_of_tasks in {"human": human, "cam": cam}.items():
        wide = pd.concat(4 * [pd.DataFrame(scores_of_tasks)], ignore_index=True)
        wide = wide.assign(case=[f"c{i}" for i in wide.index])
        frames.append(wide.melt("case", var_name="task", value_name="score").assign(method=method))
    return pd.concat(frames, ignore_index=True).assign(metric="iou", label=1)


@pytest.mark.parametrize("average", ["task", "task_mean"])
def test_decreases_that_may_be_of_means_or_means_have_the_outer_bounds(average) -> None:
    # equal means of the reference: the mean of the decreases is the decrease of the means
    scores = _scores_of_tasks(
        {"A": [np.nan, 0.8, 0.8, 0.8], "B": [0.8, 0.8, 0.8, 0.8]},
        {"A": [np.nan, 0.2, 0.6, 0.7], "B": [0.6, 0.1, 0.3, 0.4]},
    )
    low = [_decreases(_filled(scores, 1, 0), definition)["estimate"] for definition in ("task", "task_mean")]
    high = [_decreases(_filled(scores, 0, 1), definition)["estimate"] for definition in ("task", "task_mean")]
    found = ss.missing_bounds(_decreases(scores, average), scores=scores)
    np.testing.assert_allclose(found["bound_low"], np.minimum(*low), rtol=1e-11)
    np.testing.assert_allclose(found["bound_high"], np.maximum(*high), rtol=1e-11)


def test_bounds_of_no_decrease_of_the_averages_are_those_of_scores_filled_in() -> None:
    # both sides' scores are exchanged in the second task
    scores = _scores_of_tasks(
        {"A": [np.nan, 0.8, 0.8, 0.8], "B": [0.7, 0.2, 0.6, 0.8]},
        {"A": [np.nan, 0.2, 0.6, 0.7], "B": [0.8, 0.8, 0.8, np.nan]},
    )
    decreases = _decreases(scores, "task")
    assert decreases["estimate"].iloc[-1] == pytest.approx(0, abs=1e-12)
    low, high = (_decreases(_filled(scores, *fill), "task") for fill in ((1, 0), (0, 1)))
    _assert_bounds(ss.missing_bounds(decreases, scores=scores), low, high)


def test_average_decreases_of_a_rounded_frame_keep_their_bounds(scores) -> None:
    decreases = _decreases(scores, "task")
    found = ss.missing_bounds(decreases.round(5), scores=scores)
    expected = ss.missing_bounds(decreases, scores=scores)
    np.testing.assert_allclose(found["bound_low"], expected["bound_low"], atol=0.01)
    np.testing.assert_allclose(found["bound_high"], expected["bound_high"], atol=0.01)


@pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning")
def test_a_task_whose_reference_is_0_counts_in_the_decrease_of_the_averages() -> None:
    scores = _scores_of_tasks(
        {"A": [0.0, 0.0, 0.0], "B": [0.5, 0.9, np.nan], "C": [0.8, 0.6, 0.4]},
        {"A": [0.2, 0.1, 0.3], "B": [0.4, 0.6, np.nan], "C": [0.1, 0.1, 0.2]},
    )
    for average in ("task", "task_mean"):
        found = ss.missing_bounds(_decreases(scores, average), scores=scores).query("task == 'Average'")
        for bound, fill in (("bound_low", (1, 0)), ("bound_high", (0, 1))):
            filled = _decreases(_filled(scores, *fill), average).query("task == 'Average'")
            np.testing.assert_allclose(found[bound], filled["estimate"], rtol=1e-11)


def test_differences_and_decreases_in_one_frame_keep_their_bounds(scores) -> None:
    gaps = ss.difference(scores, reference="human", by=BY, average="task", interval="cr2")
    decreases = _decreases(scores, "task")
    found = ss.missing_bounds(pd.concat([gaps, decreases], ignore_index=True), scores=scores)
    for frame in (gaps, decreases):
        expected = ss.missing_bounds(frame, scores=scores)
        rows = found[found["term"] == frame["term"].iloc[0]].reset_index(drop=True)
        bounds = ["bound_low", "bound_high"]
        pd.testing.assert_frame_equal(rows[bounds], expected[bounds])


def test_every_two_methods_have_bounds(scores) -> None:
    gaps = ss.difference(scores, reference="all", by=BY, interval="cr2")
    found = ss.missing_bounds(gaps, scores=scores)
    told = ss.missing_bounds(ss.difference(scores, reference="human", by=BY, interval="cr2"), scores=scores)
    turned = told.rename(columns={"method": "reference", "reference": "method"})
    same, both = (found.merge(other, on=[*BY, "method", "reference"]) for other in (told, turned))
    assert len(same) + len(both) == len(told)
    np.testing.assert_allclose(same["bound_low_x"], same["bound_low_y"])
    np.testing.assert_allclose(both["bound_low_x"], -both["bound_high_y"])


def test_an_estimate_without_undefined_scores_is_its_own_bounds(scores) -> None:
    found = ss.missing_bounds(ss.summarize(_filled(scores, 0.5, 0.5), interval="cr2"))
    np.testing.assert_array_equal(found["bound_low"], found["estimate"])
    np.testing.assert_array_equal(found["bound_high"], found["estimate"])


def test_a_decrease_from_what_may_be_nothing_has_no_least() -> None:
    rows = [(f"c{i}", m, s) for i, s in enumerate([0.2, 0.4, np.nan]) for m in ("gradcam", "human")]
    scores = pd.DataFrame(rows, columns=["case", "method", "score"]).assign(metric="iou")
    scores.loc[scores["method"] == "human", "score"] = [0.0, 0.0, np.nan]
    frame = pd.DataFrame(
        {"metric": ["iou"], "method": ["gradcam"], "reference": ["human"], "term": ["percent_decrease"],
         "estimate": [np.nan], "n": [2], "n_missing": [1], "reference_mean": [0.0], "method_mean": [0.3],
         "n_pairs": [2]}
    )  # fmt: skip
    found = ss.missing_bounds(frame, scores=scores).iloc[0]
    assert found["bound_low"] == -np.inf
    assert found["bound_high"] == pytest.approx(100 * (1 - 0.2 / (1 / 3)))


def test_a_decrease_of_what_may_be_negative_has_no_largest() -> None:
    frame = pd.DataFrame(
        {"metric": ["own"], "method": ["cam"], "reference": ["human"], "term": ["percent_decrease"],
         "estimate": [40.0], "n": [2], "n_missing": [1], "reference_mean": [0.5], "method_mean": [0.3],
         "n_pairs": [2]}
    )  # fmt: skip
    found = ss.missing_bounds(frame, limits=(-0.7, 1)).iloc[0]
    # of three scores the means may be 1.6 / 3 and 0.3 / 3
    assert found["bound_low"] == pytest.approx(100 * (1 - 1.6 / 0.3))
    assert np.isnan(found["bound_high"])
    with warns(option="limits", value=["own"]):
        assert ss.missing_bounds(frame)["bound_low"].isna().all()


def test_scores_that_are_paired_with_several_readers_count_once_in_available_pairs() -> None:
    cases = pd.DataFrame({"case": [f"c{i}" for i in range(6)], "metric": "iou", "score": 0.5})
    readers = [cases.assign(method="human", reader=reader, score=0.4) for reader in ("r1", "r2")]
    scores = pd.concat([cases.assign(method="cam", score=np.linspace(0.1, 0.6, 6)), *readers])
    options = {"reference": "human", "by": ["metric"], "interval": "cr2"}
    gaps = ss.difference(scores, pairs="available", **options)
    assert gaps["n"].tolist() == [6]
    with raises(SalstatsError, hint=Setting("pairs", "complete")):
        ss.missing_bounds(gaps, scores=scores)
    complete = ss.missing_bounds(ss.difference(scores, **options), scores=scores)
    assert complete["bound_low"].tolist() == complete["estimate"].tolist()


def test_a_metric_without_an_end_has_no_bounds_but_those_given(scores) -> None:
    lengths = scores[scores["metric"] == "iou"].assign(metric="hd95", score=lambda f: 40 * f["score"])
    means = ss.summarize(lengths, interval="cr2")
    with warns(option="limits", value=["hd95"]):
        assert ss.missing_bounds(means)["bound_high"].isna().any()
    found = ss.missing_bounds(means, limits={"hd95": (0, 60)})
    there = means["n_missing"] - means["n_absent"]
    expected = (means["n"] * means["estimate"] + 60 * there) / (means["n"] + there)
    np.testing.assert_allclose(found["bound_high"], expected)
    pd.testing.assert_frame_equal(ss.missing_bounds(means, limits=(0, 60)), found)


def test_scores_outside_the_range_of_their_metric_have_no_bounds_but_those_given(scores) -> None:
    means = ss.summarize(scores[scores["metric"] == "iou"], interval="cr2")
    percent = means.assign(estimate=100 * means["estimate"])
    with warns(option="limits", value=["iou"]):
        assert ss.missing_bounds(percent)["bound_low"].isna().any()
    for side in ("bound_low", "bound_high"):
        given = ss.missing_bounds(percent, limits=(0, 100))[side]
        np.testing.assert_allclose(given, 100 * ss.missing_bounds(means)[side])


@pytest.mark.parametrize("left_out", [{"Edema"}, set(ss.datasets.load_simulated()["task"])])
def test_averages_without_all_their_members_have_no_bounds(scores, left_out) -> None:
    means = ss.summarize(scores, average="task", interval="cr2")
    remaining = means[~means["task"].isin(left_out)]
    with warns(option="estimates", value=6):
        found = ss.missing_bounds(remaining)
    assert found.loc[found["task"] == "Average", ["bound_low", "bound_high"]].isna().all(axis=None)
    assert found.loc[found["task"] != "Average", "bound_low"].notna().all()


def test_what_has_no_bounds_is_refused(scores) -> None:
    means = ss.summarize(scores, interval="cr2")
    gaps = ss.difference(scores, reference="human", by=BY, interval="cr2")
    weighted = ss.summarize(scores, weights="unit", interval="cr2")
    other_scores = scores[scores["patient"] != scores["patient"].iloc[0]]
    for frame, options, error, fields in (
        (means.assign(term="auroc"), {}, SalstatsError, {"column": "term", "match": "'auroc'"}),
        (means.drop(columns="n_missing"), {}, ColumnError, {"column": "n_missing"}),
        (weighted, {}, SalstatsError, {"column": "weights"}),
        (means, {"scores": scores}, SalstatsError, {"option": "scores"}),
        (means.assign(n_readers=3, design="factorial"), {}, SalstatsError, {"column": "n_readers"}),
        (means, {"limits": {"iou": (1, 0)}}, ValueRangeError, {"option": "limits", "match": r"\(1, 0\)"}),
        (means, {"limits": 0}, ValueRangeError, {"option": "limits", "match": "not 0"}),
        (means, {"limits": ("a", "b")}, ValueRangeError, {"option": "limits", "match": "two numbers"}),
        (means, {"limits": {"IOU": (0, 1)}}, ValueRangeError, {"option": "limits", "match": "'iou'"}),
        (means, {"limits": (0, 0.01)}, ValueRangeError, {"option": "limits", "value": (0, 0.01)}),
        (gaps, {"limits": (0.9, 1)}, ValueRangeError, {"option": "limits", "value": (0.9, 1)}),
        (gaps, {"scores": other_scores}, SalstatsError, {"option": "scores", "match": "other pairs"}),
    ):
        with raises(error, **fields):
            ss.missing_bounds(frame, **options)


@pytest.mark.parametrize(
    ("estimate", "table", "digits"),
    [
        (lambda s: ss.summarize(s, interval="cr2"), ss.table_estimates, 3),
        (lambda s: ss.difference(s, reference="human", interval="cr2"), ss.table_decrease, 3),
        (lambda s: ss.percent_decrease(s, reference="human", interval="delta"), ss.table_decrease, 1),
    ],
)
def test_tables_show_bounds(scores, estimate, table, digits) -> None:
    bounds = ss.missing_bounds(estimate(scores[scores["metric"] == "iou"]))
    shown = table(bounds).as_raw_html()
    low, high = (f"{bounds[c].iloc[0]:.{digits}f}".replace("-", "−") for c in ("bound_low", "bound_high"))
    assert f"{low}, {high}" in shown
    assert "worst or best" in shown


def test_a_task_without_the_finding_has_no_bounds_and_stops_no_other() -> None:
    rng = np.random.default_rng(3)
    rows = [
        {"case": f"{case}", "task": task, "method": method, "metric": "iou", "label": int(task == "A"),
         "score": rng.random() if task == "A" else np.nan}
        for task in "AB" for method in ("cam", "human") for case in range(10)
    ]  # fmt: skip
    scores = pd.DataFrame(rows)
    with warns(column="score"):
        differences = ss.difference(scores, reference="human")
    found = ss.missing_bounds(differences, scores=scores).set_index("task")
    alone = ss.missing_bounds(differences).set_index("task")
    assert found.loc["A", ["bound_low", "bound_high"]].equals(alone.loc["A", ["bound_low", "bound_high"]])
    assert found.loc["B", ["bound_low", "bound_high"]].isna().all()

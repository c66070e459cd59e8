"""Which rows meet: scores of methods beside those of the reference."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import SalstatsError, SalstatsWarning
from salstats.stats.engine.comparisons import (
    all_pairs_with_nan_for_missing_scores,
    complete_paired_rows,
    repeat_reference_per_model_and_seed,
)


def scores(rows, columns=("case", "method", "score")):
    return pd.DataFrame(rows, columns=list(columns)).assign(metric="iou")


def test_pairs_meet_by_key_whatever_the_order():
    paired = all_pairs_with_nan_for_missing_scores(
        scores([("b", "human", 0.2), ("a", "cam", 0.7), ("a", "human", 0.9), ("b", "cam", 0.1)]), "human"
    )
    assert paired[["case", "score", "reference_score"]].to_numpy().tolist() == [
        ["a", 0.7, 0.9],
        ["b", 0.1, 0.2],
    ]


def test_an_absent_partner_is_an_explicit_row():
    paired = all_pairs_with_nan_for_missing_scores(
        scores([("a", "human", 0.9), ("b", "human", 0.8), ("a", "cam", 0.5), ("c", "cam", 0.4)]), "human"
    ).set_index("case")
    assert np.isnan(paired.loc["c", "reference_score"])
    assert np.isnan(paired.loc["b", "score"])
    assert (paired["method"] == "cam").all()
    assert len(paired) == 3


def test_one_human_score_serves_every_seed_of_a_method():
    rows = [("a", "human", 0.9, None), ("a", "cam", 0.5, "1"), ("a", "cam", 0.6, "2")]
    paired = all_pairs_with_nan_for_missing_scores(scores(rows, ("case", "method", "score", "seed")), "human")
    assert paired["reference_score"].tolist() == [0.9, 0.9]


def test_seed_meets_seed_where_both_have_them():
    rows = [
        ("a", m, s, seed)
        for m, s, seed in (("human", 0.9, "1"), ("human", 0.8, "2"), ("cam", 0.5, "2"), ("cam", 0.4, "1"))
    ]
    paired = all_pairs_with_nan_for_missing_scores(scores(rows, ("case", "method", "score", "seed")), "human")
    assert dict(zip(paired["seed"], paired["reference_score"], strict=True)) == {"1": 0.9, "2": 0.8}


def test_tasks_never_meet_each_other():
    rows = [
        ("a", "human", 0.9, "x"),
        ("a", "human", 0.1, "y"),
        ("a", "cam", 0.5, "y"),
        ("a", "cam", 0.4, "x"),
    ]
    paired = all_pairs_with_nan_for_missing_scores(
        scores(rows, ("case", "method", "score", "task")), "human"
    ).set_index("task")
    assert (paired.loc["x", "reference_score"], paired.loc["y", "reference_score"]) == (0.9, 0.1)


def test_the_gap_to_several_readers_is_that_of_each_of_them_mirrored():
    rng = np.random.default_rng(5)
    rows = [(f"c{i}", "human", rng.uniform(), reader) for i in range(12) for reader in ("1", "2")]
    # one case that a method lacks
    rows += [(f"c{i}", m, rng.uniform(), None) for m in ("cam", "ig") for i in range(m == "ig", 12)]
    frame = scores(rows, ("case", "method", "score", "reader"))
    gaps = ss.difference(frame, reference="human").set_index("method")
    assert gaps.loc["cam", ["n_pairs", "n_units"]].tolist() == [24, 12]
    assert set(gaps["inference_to"]) == {"these readers"}
    means = frame.groupby("method")["score"].mean()
    assert gaps.loc["cam", "reference_mean"] == pytest.approx(means["human"])
    for method in ("cam", "ig"):
        mirrored = ss.difference(frame, reference=method).set_index("method").loc["human"]
        assert gaps.loc[method, ["estimate", "conf_low"]].tolist() == pytest.approx(
            [-mirrored["estimate"], -mirrored["conf_high"]]
        )
    available = ss.difference(frame, reference="human", pairs="available").set_index("method")
    assert available.loc["cam", "method_mean"] == pytest.approx(means["cam"])
    # gaps are those of a regression, too
    mean = ss.regress(frame, "iou ~ 1", reference="human").set_index("method")
    assert mean.loc["ig", "estimate"] == pytest.approx(-gaps.loc["ig", "estimate"])


@pytest.fixture
def read_by():
    """Tools without a reader, people and aided people with one to three, and another metric of tools."""
    rng, rows = np.random.default_rng(1), []
    for i in range(20):
        rows += [(f"c{i}", "cam", None, "iou", rng.uniform()), (f"c{i}", "cam", None, "hit", i % 2)]
        for reader in ("A", "B", "C")[: 1 + i % 3]:
            rows += [(f"c{i}", m, reader, "iou", rng.uniform()) for m in ("human", "aided")]
    return pd.DataFrame(rows, columns=["case", "method", "reader", "metric", "score"])


def test_readers_meet_readers_and_tools_every_reader_in_one_frame(read_by):
    iou = read_by[read_by["metric"] == "iou"]
    with warns(column="case", rows=(0, 2), value=["reader"]):
        gaps = ss.difference(iou, reference="human", test="cr2", interval="cr2").set_index("method")
    assert gaps["n_pairs"].tolist() == [39, 39]
    of = {method: rows.drop(columns="method") for method, rows in iou.groupby("method")}
    aided = of["aided"].merge(of["human"], on=["case", "reader"])
    assert gaps.loc["aided", "estimate"] == pytest.approx((aided["score_x"] - aided["score_y"]).mean())
    cam = of["cam"].merge(of["human"], on="case")
    gap = cam["score_x"] - cam["score_y"]
    assert gaps.loc["cam", "estimate"] == pytest.approx(gap.mean())
    variance = 0.0
    for _, own in gap.groupby(cam["case"]):
        values, vectors = np.linalg.eigh(np.eye(len(own)) - np.ones((len(own),) * 2) / len(gap))
        adjusted = vectors @ np.diag(values**-0.5) @ vectors.T @ (own - gap.mean())
        variance += (adjusted.sum() / len(gap)) ** 2
    assert gaps.loc["cam", "std_error"] == pytest.approx(variance**0.5)
    # without a warning, as cases count alike
    alike = ss.difference(iou, reference="human", weights="unit").set_index("method")
    assert alike.loc["cam", "estimate"] == pytest.approx(gap.groupby(cam["case"]).mean().mean())
    hits = iou.assign(score=iou["score"] > 0.5, metric="hit").astype({"score": float})
    hits = hits[hits["method"] != "aided"]
    with (
        pytest.warns(SalstatsWarning),
        raises(SalstatsError, option="test", value="mcnemar", column="case", rows=(0,)),
    ):
        ss.difference(hits, reference="human", test="mcnemar")


@pytest.mark.parametrize("readers", [["A"], ["A", "B", "C"]])
def test_other_metrics_of_a_tool_stand_beside_its_gaps_to_each_reader(read_by, readers):
    frame = read_by[read_by["reader"].isna() | read_by["reader"].isin(readers)]
    frame = frame[frame["method"] != "aided"]
    slope = ss.regress(frame, "iou ~ hit", reference="human").set_index("term").loc["hit"]
    wide = frame[frame["method"] == "human"].merge(frame[frame["method"] == "cam"], on="case")
    gaps = wide[wide["metric_y"] == "iou"].set_index(["case", "reader_x"]).eval("score_x - score_y")
    hit = gaps.index.get_level_values("case").str[1:].astype(int) % 2
    assert slope["n"] == len(gaps)
    assert slope["estimate"] == pytest.approx(gaps[hit == 1].mean() - gaps[hit == 0].mean())


def test_bounds_are_of_every_pair_or_refused(read_by):
    scores = read_by[(read_by["metric"] == "iou") & (read_by["method"] != "aided")].reset_index(drop=True)
    # of three readers
    lost = (scores["method"] == "cam") & (scores["case"] == "c2")
    scores.loc[lost, "score"] = np.nan
    with pytest.warns(SalstatsWarning):
        complete = ss.difference(scores, reference="human")
    with pytest.warns(SalstatsWarning):
        available = ss.difference(scores, reference="human", pairs="available")
    filled = []
    for score in (0.0, 1.0):
        whole = scores.assign(score=scores["score"].mask(lost, score))
        with pytest.warns(SalstatsWarning):
            filled.append(ss.difference(whole, reference="human", interval="t")["estimate"].iloc[0])
    bounds = ss.missing_bounds(complete, scores=scores).iloc[0]
    assert bounds[["bound_low", "bound_high"]].tolist() == pytest.approx(filled)
    with raises(SalstatsError, option="pairs", value="available", hint="take pairs='complete'"):
        ss.missing_bounds(available, scores=scores)


def test_the_flow_counts_a_score_once_however_many_readers_it_meets(read_by):
    iou = read_by[(read_by["metric"] == "iou")]
    iou = iou[(iou["case"] != "c2") | (iou["method"] == "human")]
    flow = ss.case_flow(iou, reference="human").set_index(["method", "stage", "excluded"])["n_rows"]
    # c2 has three readers
    assert flow["cam"].to_dict() == {
        ("rows", True): 1, ("rows", False): 19, ("defined", False): 19, ("pairs", False): 19
    }  # fmt: skip
    assert flow["aided"].to_dict() == {
        ("rows", True): 3, ("rows", False): 36, ("defined", False): 36, ("pairs", False): 36
    }  # fmt: skip


def test_gaps_to_fixed_readers_say_so_whatever_is_compared(read_by):
    frame = read_by[(read_by["metric"] == "iou") & (read_by["method"] != "aided")]
    label = frame["case"].str[1:].astype(int) % 2
    counts = frame.assign(tp=(9 * frame["score"]).round(), fp=label, fn=1, tn=5)
    for found in (
        ss.auroc(frame.assign(label=label), "iou", "label", reference="human"),
        ss.pooled_difference(counts, rates="iou", reference="human"),
    ):
        assert found["inference_to"].tolist() == ["these readers"]
        assert found[["n", "n_units"]].to_numpy().tolist() == [[39, 20]]


def test_an_unknown_reference_lists_the_methods():
    with raises(SalstatsError, option="reference", value="human", choices=("cam",)):
        all_pairs_with_nan_for_missing_scores(scores([("a", "cam", 0.5)]), "human")


@pytest.fixture
def three():
    rng = np.random.default_rng(2)
    rows = [
        (f"c{case}", task, method, rng.beta(2, 3), case // 2)
        for method in ("zeta", "human", "alpha")
        for case in range(24)
        for task in ("x", "y")
        if (case, method) != (3, "alpha")
    ]
    return scores(rows, ("case", "task", "method", "score", "patient"))


@pytest.mark.parametrize("pairs", ["complete", "available"])
@pytest.mark.parametrize("kind", ["difference", "percent_decrease"])
def test_all_pairs_are_those_of_each_reference(three, kind, pairs):
    function = getattr(ss, kind)
    options = {"average": "task", "overall": True, "interval": "cr2", "pairs": pairs}
    options |= {"interval": "delta"} if kind == "percent_decrease" else {}
    got = function(three, reference="all", **options)
    # the order of appearance, not of the alphabet
    parts = [
        function(three[three["method"].isin([method, reference])], reference=reference, **options)
        for method, reference in (("human", "zeta"), ("alpha", "zeta"), ("alpha", "human"))
    ]
    keys = ["task", "method", "reference"]
    wanted = pd.concat(parts, ignore_index=True)
    both = [frame.sort_values(keys, ignore_index=True) for frame in (got, wanted[got.columns])]
    pd.testing.assert_frame_equal(*both, rtol=1e-12)
    assert len(got) == 3 * 4
    assert got["reference"].dtype == wanted["reference"].dtype


def test_p_values_of_all_pairs_are_one_family(three):
    got = ss.difference(three, reference="all", by="metric", interval="cr2", adjust="bonferroni")
    assert (got["n_tests"] == 3).all()
    np.testing.assert_allclose(got["p_adjusted"], np.minimum(3 * got["p_value"], 1))


def test_a_method_called_all_is_the_reference(three):
    renamed = three.replace({"method": {"human": "all"}})
    got = ss.difference(renamed, reference="all", by="metric", interval="cr2")
    assert got[["method", "reference"]].to_numpy().tolist() == [["alpha", "all"], ["zeta", "all"]]


def test_one_score_of_a_human_serves_every_seed_in_all_pairs():
    rng = np.random.default_rng(3)
    rows = [
        (f"c{case:02d}", method, seed, rng.beta(2, 3))
        for method, seeds in (("cam", "12"), ("ig", "12"), ("human", [None]))
        for case in range(20)
        for seed in seeds
    ]
    frame = scores(rows, ("case", "method", "seed", "score"))
    got = ss.difference(frame, reference="all", by="metric", interval="cr2")
    assert got[["method", "reference"]].to_numpy().tolist() == [
        ["cam", "human"], ["ig", "cam"], ["ig", "human"],
    ]  # fmt: skip
    by_seed = ss.difference(frame, reference="all", by=["metric", "seed"], interval="cr2")
    assert len(by_seed) == 6
    human = by_seed[by_seed["reference"] == "human"].reset_index(drop=True)
    own = ss.difference(frame, reference="human", by=["metric", "seed"], interval="cr2")
    pd.testing.assert_frame_equal(human, own)


def test_a_single_method_has_no_pairs(three):
    with raises(SalstatsError, option="reference", value="zeta", choices=()):
        ss.difference(three[three["method"] == "zeta"], reference="all", by="metric")


@pytest.mark.parametrize("reference", [1, "1"])
def test_methods_that_are_numbers_are_named_as_a_number_or_as_text(reference):
    rows = [
        (case, reader, method, case * method) for case in range(9) for reader in "rs" for method in (1, 2)
    ]
    frame = scores(rows, ("case", "reader", "method", "score")).assign(metric="depth")
    assert ss.difference(frame[frame["reader"] == "r"], reference=reference)["estimate"].tolist() == [4.0]
    found = ss.mrmc(frame, reference=reference).query("term == 'difference'")
    assert found[["method", "reference", "estimate"]].to_numpy().tolist() == [["2", "1", 4.0]]


def test_complete_pairs_are_those_whose_means_are_the_differences():
    data = ss.datasets.load_simulated()
    keys = ["metric", "task", "method"]
    found = ss.difference(data, reference="human").set_index(keys)
    pairs = complete_paired_rows(data, "human", ["metric", "task"]).groupby(keys)["difference"]
    np.testing.assert_allclose(pairs.mean().loc[found.index], found["estimate"], rtol=1e-12)
    assert (pairs.size().loc[found.index] == found["n_pairs"]).all()


def test_complete_pairs_repeat_a_reference_without_seeds_for_each_seed():
    rows = [("a", "human", 0.9, None), ("a", "cam", 0.5, "1"), ("a", "cam", 0.6, "2")]
    pairs = complete_paired_rows(scores(rows, ("case", "method", "score", "seed")), "human", ["seed"])
    np.testing.assert_allclose(pairs.set_index("seed")["difference"].loc[["1", "2"]], [-0.4, -0.3])


def test_averages_over_each_methods_own_mix_of_tasks_warn_where_there_are_several_tasks(three):
    options = {"reference": "human", "by": "metric", "pairs": "available", "interval": "cr2"}
    with warns(column="task"):
        ss.difference(three, **options)
    one_task = three[three["task"] == "x"]
    for scores_of_tasks, by in ((one_task, "metric"), (three, ["metric", "task"])):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ss.difference(scores_of_tasks, **options | {"by": by})
        assert all(getattr(warning.message, "column", None) != "task" for warning in caught)


def test_the_reason_of_a_missing_reference_stands_beside_it():
    rows = [("a", "human", np.nan, "empty mask"), ("a", "cam", 0.5, None), ("b", "cam", 0.4, None)]
    paired = all_pairs_with_nan_for_missing_scores(
        scores(rows, ("case", "method", "score", "reason")), "human"
    )
    reasons = paired.set_index("case")["reference_reason"]
    assert reasons["a"] == "empty mask"
    assert pd.isna(reasons["b"])
    assert "reference_reason" not in all_pairs_with_nan_for_missing_scores(
        scores([("a", "human", 0.1), ("a", "cam", 0.5)]), "human"
    )


def test_an_empty_reference_names_no_method():
    with raises(SalstatsError, option="reference", value=None, choices=("cam",), hint="take one of 'cam'"):
        all_pairs_with_nan_for_missing_scores(scores([("a", "cam", 0.5)]), "")


def test_weighted_differences_are_those_of_weighted_means(three):
    weighted = three[(three["task"] == "x") & (three["method"] != "alpha")]
    weighted = weighted.assign(w=1.0 + weighted["patient"] % 3)
    means = {}
    for method, rows in weighted.groupby("method"):
        means[method] = np.average(rows["score"], weights=rows["w"])
    for pairs in ("complete", "available"):
        got = ss.difference(weighted, reference="human", weights="w", pairs=pairs)
        assert got["estimate"].item() == pytest.approx(means["zeta"] - means["human"])


def test_a_mean_of_decreases_leaves_out_tasks_whose_reference_is_0(three):
    positive = three[three["method"] != "alpha"]
    is_zero = (positive["task"] == "y") & (positive["method"] == "human")
    zero = positive.assign(score=positive["score"].mask(is_zero, 0.0))
    options = {"reference": "human", "by": ["metric", "task"], "average": "task_mean", "interval": "delta"}
    with pytest.warns(SalstatsWarning):
        got = ss.percent_decrease(zero, **options).set_index("task")["estimate"]
    assert np.isnan(got["y"])
    assert got["Average"] == pytest.approx(got["x"])
    both = ss.percent_decrease(positive, **options).set_index("task")["estimate"]
    assert both["Average"] == pytest.approx((both["x"] + both["y"]) / 2)


def test_a_reference_is_repeated_only_for_models_and_seeds_that_group_and_that_it_lacks():
    rows = [("a", "human", 0.9, None), ("a", "cam", 0.5, "1"), ("a", "cam", 0.4, "2")]
    frame = scores(rows, ("case", "method", "score", "seed"))
    repeated = repeat_reference_per_model_and_seed(frame, "human", ["metric", "seed"])
    found = repeated[["method", "seed", "score"]].to_numpy().tolist()
    assert sorted(found) == [["cam", "1", 0.5], ["cam", "2", 0.4], ["human", "1", 0.9], ["human", "2", 0.9]]
    pd.testing.assert_frame_equal(repeat_reference_per_model_and_seed(frame, "human", "seed"), repeated)
    pd.testing.assert_frame_equal(repeat_reference_per_model_and_seed(frame, "all", "seed"), repeated)
    for by in (None, "metric", ["metric", "model"]):
        assert repeat_reference_per_model_and_seed(frame, "human", by) is frame
    assert repeat_reference_per_model_and_seed(frame, "rise", "seed") is frame
    with_seed = frame.assign(seed=["1", "1", "2"])
    lacking = frame.assign(seed=[None, "1", None])
    for given in (with_seed, lacking):
        assert repeat_reference_per_model_and_seed(given, "human", "seed") is given


PRESENT, ABSENT, NO_ROW = (0.5, 1, None), (np.nan, 1, "finding absent"), None


@pytest.mark.parametrize("first", ["human", "cam"])
@pytest.mark.parametrize(
    ("cam", "human", "n_absent"),
    [
        (PRESENT, ABSENT, 1),
        (ABSENT, PRESENT, 1),
        (ABSENT, ABSENT, 1),
        ((np.nan, 1, "empty mask"), PRESENT, 0),
        (PRESENT, (np.nan, 1, "empty mask"), 0),
        # of a method without a row the reference says whether the finding is absent, also beside a score
        (NO_ROW, ABSENT, 1),
        (NO_ROW, (0.5, 0, None), 1),
        (NO_ROW, PRESENT, 0),
        # of a reference without a row the label says so, but not the reason of the method's score
        ((0.5, 0, None), NO_ROW, 1),
        ((0.5, 1, "finding absent"), NO_ROW, 0),
        (PRESENT, NO_ROW, 0),
    ],
)
def test_pairs_lack_a_score_for_an_absent_finding_by_the_side_that_tells(cam, human, n_absent, first):
    given = {"cam": cam, "human": human}
    rows = []
    # either method may have the first row
    for method in sorted(given, key=lambda name: name != first):
        if given[method] is not None:
            rows.append(("a", method, *given[method]))
        rows += [(f"b{i}", method, 0.01 * i**2 * (method == "cam"), 1, None) for i in range(9)]
    frame = scores(rows, ("case", "method", "score", "label", "reason"))
    gap = ss.difference(frame, reference="human", interval="t")
    assert gap["n_pairs"].tolist() == [9]
    assert gap.get("n_absent", pd.Series([0])).tolist() == [n_absent]

"""Weighted means and contrasts: those of survey and clubSandwich, and what weights are by definition."""

import itertools

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, ValueRangeError
from salstats.stats.contrasts import difference, percent_decrease
from salstats.stats.engine.cr2 import cr2
from salstats.stats.summaries import bootstrap, summarize
from tests.weights_oracle import WEIGHTS, by_r, weighted_scores

PREVALENCE = {"edema": 0.2, "nodule": 0.8}


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    return weighted_scores()


def _same(found: pd.DataFrame, other: pd.DataFrame, rtol: float = 1e-12) -> None:
    """Equal but for what is said of weights and of how scores were made."""
    shared = [c for c in found.columns if c != "weights"]
    pd.testing.assert_frame_equal(
        found[shared], other[shared], rtol=rtol, atol=1e-14, check_dtype=False, check_categorical=False
    )


@pytest.mark.parametrize("weights", WEIGHTS)
def test_means_have_the_standard_errors_of_surveys(scores, weights) -> None:
    found = summarize(scores, by=["task", "method"], weights=weights, interval="t")
    told = by_r("svymean", weights)
    for column in ("estimate", "std_error", "df"):
        np.testing.assert_allclose(found[column], told[column], rtol=1e-10)
    assert (found["weights"] == weights).all()
    np.testing.assert_array_equal(found["n"], scores.groupby(["task", "method"])["score"].count())


@pytest.mark.parametrize("weights", WEIGHTS)
def test_differences_and_decreases_have_the_standard_errors_of_surveys(scores, weights) -> None:
    options = {"reference": "human", "by": "task", "weights": weights}
    gap = difference(scores, **options, interval="t")
    told = by_r("svymean gap", weights)
    for column in ("estimate", "std_error", "df"):
        np.testing.assert_allclose(gap[column], told[column], rtol=1e-10)
    decrease = percent_decrease(scores, **options, interval="delta")
    ratio = by_r("svyratio", weights)
    np.testing.assert_allclose(1 - decrease["estimate"] / 100, ratio["estimate"], rtol=1e-10)
    np.testing.assert_allclose(decrease["std_error"] / 100, ratio["std_error"], rtol=1e-10)


#: Where weights differ within patients there are several adjustments without bias; clubSandwich's is that of
#: single scores, ours that of their sum.
_ROOTS = {"of_patient": 1e-9, "sampling": 1e-3}


@pytest.mark.parametrize("weights", WEIGHTS)
def test_cr2_is_that_of_clubsandwich(scores, weights) -> None:
    means = summarize(scores, by=["task", "method"], weights=weights, interval="cr2")
    gap = difference(scores, reference="human", by="task", weights=weights, interval="cr2", average="task")
    wide = by_r("gap CR2", weights)
    for found, told in ((means, by_r("mean CR2", weights)), (gap, wide)):
        np.testing.assert_allclose(found["estimate"], told["estimate"], rtol=1e-10)
        np.testing.assert_allclose(found["std_error"], told["std_error"], rtol=_ROOTS[weights])
        np.testing.assert_allclose(found["df"], told["df"], rtol=max(_ROOTS[weights] / 10, 1e-8))
    np.testing.assert_allclose(np.log(gap["p_value"]), np.log(wide["p_value"]), rtol=_ROOTS[weights])


def test_cr2_of_weights_within_units_is_without_bias_and_has_its_degrees_of_freedom() -> None:
    rng = np.random.default_rng(1)
    units, weights = rng.integers(0, 7, 30), rng.gamma(1, 1, 30)
    total = weights.sum()
    # residuals are (I - 1 w') y / sum w; of scores with variance 1 this is their covariance
    hat = np.eye(30) - np.outer(np.ones(30), weights) / total
    of_unit = np.array([np.where(units == u, weights, 0.0) for u in range(7)])
    raw = of_unit @ hat @ hat.T @ of_unit.T
    squares = (of_unit**2).sum(axis=1)
    adjust = np.sqrt(squares / np.diag(raw))
    scores = rng.normal(size=30)
    found = cr2((of_unit @ scores)[:, None], of_unit.sum(axis=1)[:, None], np.ones((1, 1)), squares[:, None])
    assert found.variance[0] == pytest.approx(
        ((adjust * (of_unit @ hat @ scores)) ** 2).sum() / total**2, rel=1e-12
    )
    # a sum of squares of normal variables with this covariance has mean tr and variance 2 tr of its square
    form = adjust[:, None] * raw * adjust
    assert np.trace(form) == pytest.approx(squares.sum(), rel=1e-12)
    assert found.df[0] == pytest.approx(np.trace(form) ** 2 / (form**2).sum(), rel=1e-12)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_prevalences_weigh_tasks(scores, weights) -> None:
    means = summarize(scores, average="task", weights=PREVALENCE)
    for method, own in means.groupby("method"):
        at = own.set_index("task")["estimate"]
        assert at["Average"] == pytest.approx(0.2 * at["edema"] + 0.8 * at["nodule"], rel=1e-12)
        assert own["weights"].tolist()[-1] == "task: edema 0.2, nodule 0.8", method
    assert means.loc[means["task"] != "Average", "weights"].isna().all()
    plain = summarize(scores, average="task")
    _same(summarize(scores, average="task", weights={"nodule": 3, "edema": 3}), plain)
    alone = summarize(scores, average="task", weights={"nodule": 1, "edema": 0})
    nodule = plain[plain["task"] == "nodule"].drop(columns="task").reset_index(drop=True)
    _same(alone[alone["task"] == "Average"].drop(columns="task").reset_index(drop=True), nodule)


def test_prevalence_weighted_gap_is_that_of_clubsandwich(scores) -> None:
    # clubSandwich's weights are those of cases, too: of equal ones ours are compared with the definition
    gap = difference(scores, reference="human", interval="cr2", average="task", weights=PREVALENCE)
    by_task = gap.set_index("task")
    assert by_task.loc["Average", "estimate"] == pytest.approx(
        0.2 * by_task.loc["edema", "estimate"] + 0.8 * by_task.loc["nodule", "estimate"], rel=1e-12
    )
    sums, masses, squares = _cells_of_pairs(scores, "of_patient")
    found = cr2(sums, masses, np.array([[0.2, 0.8, -0.2, -0.8]]), squares)
    told = by_r("prevalence gap CR2", "of_patient")
    np.testing.assert_allclose(np.sqrt(found.variance), told["std_error"], rtol=1e-10)
    np.testing.assert_allclose(found.df, told["df"], rtol=1e-8)


def _cells_of_pairs(scores: pd.DataFrame, weights: str) -> tuple[np.ndarray, ...]:
    wide = scores.pivot(index=["patient", "case", "task", weights], columns="method", values="score")
    long = wide.dropna().melt(ignore_index=False, value_name="score").reset_index()
    weight = long[weights]
    parts = long.assign(s=weight * long["score"], m=weight, q=weight**2).groupby(
        ["patient", "method", "task"]
    )
    s, m, q = (parts[c].sum().unstack(["method", "task"], fill_value=0.0).sort_index(axis=1) for c in "smq")
    return s.to_numpy(), m.to_numpy(), q.to_numpy()


@pytest.mark.parametrize("interval", ["recommended", "t", "cr2", "percentile", "bca", "studentized"])
def test_weights_of_one_change_nothing_and_only_ratios_count(scores, interval) -> None:
    ones = scores.assign(w=1.0, w7=7 * scores["sampling"])
    options = {"interval": interval, "average": "task", "overall": True, "n_replicates": 100}
    _same(summarize(ones, weights="w", **options), summarize(scores, **options), 1e-10)
    _same(summarize(ones, weights="w7", **options), summarize(scores, weights="sampling", **options), 1e-10)
    pairs = {"reference": "human", **options}
    _same(difference(ones, weights="w", **pairs), difference(scores, **pairs), 1e-10)
    _same(difference(ones, weights="w7", **pairs), difference(scores, weights="sampling", **pairs), 1e-10)


@pytest.mark.parametrize("interval", ["wilson", "exact", "wilson_t"])
def test_weights_of_one_change_nothing_of_hits(scores, interval) -> None:
    hits = scores.assign(score=scores["hit"], metric="hit", w=1.0)
    _same(summarize(hits, weights="w", interval=interval), summarize(hits, interval=interval))
    # of what never varies the limits rest on as many patients as their weights are worth
    always = scores.assign(score=1.0, metric="hit", w=np.where(scores["patient"] == "p00", 1e3, 1e-3))
    lone = summarize(always, weights="w", interval=interval).iloc[0]
    assert lone["conf_low"] < 0.3
    assert summarize(always, interval=interval).iloc[0]["conf_low"] > 0.85


@pytest.mark.filterwarnings("ignore:pairs with one of their two scores:salstats.errors.SalstatsWarning")
def test_whole_weights_have_the_estimate_of_repeated_rows(scores) -> None:
    times = scores["sampling"].astype(int)
    rows = scores.loc[scores.index.repeat(times)].reset_index(drop=True)
    rows["case"] += "_" + rows.groupby(["case", "task", "method"]).cumcount().astype(str)
    options = {"reference": "human", "unit": "patient", "average": "task"}
    found, told = difference(scores, weights="sampling", **options), difference(rows, **options)
    for column in ("estimate", "reference_mean", "method_mean", "n_units"):
        np.testing.assert_allclose(found[column], told[column], rtol=1e-12)
    assert (found["n"] < told["n"]).all()


@pytest.mark.filterwarnings("ignore:methods have scores of different cases:salstats.errors.SalstatsWarning")
def test_a_weight_of_zero_leaves_a_case_out(scores) -> None:
    kept = scores.assign(w=np.where(scores["sampling"] == 1, 0.0, scores["sampling"]))
    options = {"interval": "cr2", "weights": "w"}
    _same(summarize(kept, **options), summarize(kept[kept["w"] > 0].reset_index(drop=True), **options))


@pytest.mark.parametrize("average", [None, "task"])
def test_units_that_count_alike_are_their_means(scores, average) -> None:
    keys = ["patient", "task", "method", "metric"]
    means = scores.groupby(keys, as_index=False)["score"].mean().assign(case=lambda f: f["patient"])
    found = summarize(scores, weights="unit", average=average)
    told = summarize(means, unit="patient", average=average)
    # the means have patients for cases
    _same(found.drop(columns=["n", "n_missing", "n_shared"]), told.drop(columns="n_shared"))
    assert (found["weights"] == "unit").all()
    assert (
        found["n"].iloc[0]
        == scores[(scores["task"] == "edema") & (scores["method"] == "gradcam")]["score"].count()
    )
    _same(summarize(scores, weights="patient", average=average), found)
    over = summarize(scores, weights="unit", overall=True).set_index(["task", "method"])
    pooled = scores.groupby(["method", "patient"])["score"].mean().groupby("method").mean()
    assert over.loc[("Overall", "gradcam"), "estimate"] == pytest.approx(pooled["gradcam"], rel=1e-12)
    # pairs first, then means of each patient
    wide = scores.pivot(index=["patient", "case", "task"], columns="method", values="score").dropna()
    pairs = (
        wide.groupby(["patient", "task"]).mean().reset_index().melt(["patient", "task"], value_name="score")
    )
    pairs = pairs.assign(case=pairs["patient"], metric="iou")
    options = {"reference": "human", "unit": "patient", "average": average}
    _same(
        difference(scores, weights="unit", **options).drop(columns=["n", "n_missing", "n_pairs"]),
        difference(pairs, **options),
    )


def test_weighted_signs_are_flipped_by_unit(scores) -> None:
    few = scores[(scores["task"] == "edema") & scores["patient"].isin([f"p{i:02d}" for i in range(9)])]
    found = difference(few, reference="human", weights="sampling", by="task").iloc[0]
    wide = (
        few.pivot(index=["patient", "case", "sampling"], columns="method", values="score")
        .dropna()
        .reset_index()
    )
    wide["part"] = wide["sampling"] * (wide["gradcam"] - wide["human"])
    parts = wide.groupby("patient")["part"].sum().to_numpy()
    sums = np.array([np.dot(signs, parts) for signs in itertools.product([1, -1], repeat=len(parts))])
    own, further = abs(parts.sum()), np.abs(sums)
    p_value = (further > own + 1e-9).mean() + (np.abs(further - own) <= 1e-9).mean() / 2
    assert found["test"] == "wild"
    assert found["p_value"] == pytest.approx(p_value, rel=1e-12)


def test_replicates_are_weighted_means_of_the_units_drawn(scores) -> None:
    one = scores[(scores["task"] == "edema") & (scores["method"] == "human")].reset_index(drop=True)
    patients = np.sort(one["patient"].unique())
    draws = np.random.default_rng(2).integers(0, len(patients), size=(20, len(patients)))
    found = bootstrap(one, by=["task"], weights="sampling", draws=draws)["estimate"]
    for replicate, drawn in zip(found, draws, strict=True):
        rows = pd.concat([one[one["patient"] == patients[i]] for i in drawn]).dropna(subset="score")
        assert replicate == pytest.approx(np.average(rows["score"], weights=rows["sampling"]), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "options", "error", "fields"),
    [
        ({"w": -1.0}, {"weights": "w"}, ColumnError, {"rows": tuple(range(472)), "match": "negative"}),
        ({"w": np.nan}, {"weights": "w"}, ColumnError, {"rows": tuple(range(472)), "match": "empty"}),
        ({"w": 0.0}, {"weights": "w"}, ValueRangeError, {"option": "weights", "column": "w"}),
        ({"w": range(472)}, {"weights": "w"}, ColumnError, {"column": "w", "match": "rows of case"}),
        ({}, {"weights": "case"}, ColumnError, {"column": "case", "match": "weights='unit'"}),
        ({}, {"weights": "nothing"}, ColumnError, {"column": "nothing"}),
        ({}, {"weights": {"edema": 1}}, SalstatsError, {"option": "weights", "match": "average"}),
        (
            {},
            {"weights": {"edema": 1}, "average": "task"},
            ValueRangeError,
            {"column": "task", "match": "lack 'nodule'"},
        ),
        (
            {},
            {"weights": {**PREVALENCE, "x": 1}, "average": "task"},
            ValueRangeError,
            {"column": "task", "choices": ("edema", "nodule"), "match": "'x'"},
        ),
        (
            {},
            {"weights": {"edema": -1, "nodule": 1}, "average": "task"},
            ValueRangeError,
            {"option": "weights", "match": "0 or more"},
        ),
        (
            {},
            {"weights": {"edema": "few", "nodule": None}, "average": "task"},
            ValueRangeError,
            {"option": "weights", "match": "0 or more"},
        ),
        ({}, {"weights": 3}, SalstatsError, {"option": "weights", "value": 3}),
    ],
)
def test_weights_that_are_none_are_refused(scores, change, options, error, fields) -> None:
    with raises(error, **fields):
        summarize(scores.assign(**change), **options)


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"test": "wilcoxon"}, {"option": "test", "value": "wilcoxon", "match": "weights"}),
        ({"test": "mcnemar"}, {"option": "test", "value": "mcnemar", "match": "weights"}),
        ({"overall": True, "pairs": "available"}, {"option": "overall", "match": "pairs='complete'"}),
    ],
)
def test_contrasts_that_know_no_weights_are_refused(scores, options, fields) -> None:
    with raises(SalstatsError, **fields):
        difference(scores, reference="human", weights="sampling", **options)


def test_tables_say_what_weights_are(scores) -> None:
    def below(frame: pd.DataFrame) -> str:
        return ss.table_estimates(frame).as_raw_html()

    assert "Scores are weighted by sampling." in below(summarize(scores, weights="sampling"))
    alike = below(summarize(scores, weights="unit", average="task"))
    assert "Each patient counts as one" in alike
    assert "unweighted mean over tasks" in alike
    assert "weighted mean (weights edema 0.2, nodule 0.8) over tasks" in below(
        summarize(scores, average="task", weights=PREVALENCE)
    )


def test_weights_that_are_no_name_are_an_error(scores) -> None:
    values = scores.iloc[:, -1]
    with raises(SalstatsError, option="weights", value=values):
        summarize(scores, weights=values)

"""Whom estimates speak of: readers and trainings that are taken for fixed."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.stats.engine.fixed_factors import (
    FACTORS,
    fixed_reader_or_training_nouns,
    is_row_of_fixed_factor,
)

TRAININGS, BOTH = "these trainings", "these readers and trainings"


def trained(n_seeds=3, n_cases=60, sd=0.04, rng=0, column="seed"):
    """Scores of two methods of some trainings, whose quality varies with `sd` by method and training."""
    rng = np.random.default_rng(rng)
    cases = rng.normal(0.5, 0.1, n_cases)
    rows = []
    for method in ("cam", "rise"):
        for seed in range(n_seeds):
            score = cases + rng.normal(0, sd) + rng.normal(0, 0.05, n_cases)
            columns = {"case": np.arange(n_cases), "method": method, column: str(seed), "metric": "iou"}
            covariates = {"size": np.arange(n_cases) % 7, "label": np.arange(n_cases) % 2}
            rows.append(pd.DataFrame(columns | covariates | {"score": score}))
    return pd.concat(rows, ignore_index=True)


def beside_a_human(column):
    """Scores of trainings beside those of one human, who has none."""
    scores = trained(column=column)
    human = scores[scores["method"].eq("rise") & scores[column].eq("0")]
    human = human.assign(method="human", **{column: None}, score=human["score"] + 0.1)
    return pd.concat([scores[scores["method"].eq("cam")], human], ignore_index=True)


#: Estimates, and their rows that speak of trainings.
SPEAKING = {
    "summarize": (lambda s: ss.summarize(s), "cam"),
    "medians": (lambda s: ss.medians(s), "cam"),
    "difference": (lambda s: ss.difference(s, reference="human"), "cam"),
    "percent_decrease": (lambda s: ss.percent_decrease(s, reference="human"), "cam"),
    "rank_stability": (lambda s: ss.rank_stability(s, by=["metric"], pairs="available"), "cam|human"),
    "correlate": (lambda s: ss.correlate(s, "iou", "size"), "cam"),
    "auroc": (lambda s: ss.auroc(s, "iou", "label"), "cam"),
    "regress": (lambda s: ss.regress(s, "iou ~ size"), "cam"),
}


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("column", ["seed", "model"])
@pytest.mark.parametrize("name", SPEAKING)
def test_estimates_that_take_trainings_for_fixed_speak_of_these_trainings(name, column):
    call, methods = SPEAKING[name]
    scores = beside_a_human(column)
    found = call(scores)
    assert found["inference_to"].eq(TRAININGS).equals(found["method"].str.fullmatch(methods))
    one = scores[scores[column].isna() | scores[column].eq("0")]
    assert "inference_to" not in call(one)
    assert "inference_to" not in call(one.drop(columns=column))


def test_readers_of_one_method_and_trainings_of_the_other_are_both_said():
    scores = beside_a_human("seed")
    human = scores[scores["method"].eq("human")]
    read = [scores.assign(reader=None).query("method == 'cam'")]
    read += [human.assign(reader=reader, score=human["score"] - 0.01 * i) for i, reader in enumerate("AB")]
    scores = pd.concat(read, ignore_index=True)
    means = ss.summarize(scores).set_index("method")["inference_to"]
    assert means.to_dict() == {"cam": TRAININGS, "human": "these readers"}
    assert ss.difference(scores, reference="human")["inference_to"].tolist() == [BOTH]


def test_models_that_are_compared_are_no_trainings_and_averages_over_them_are():
    scores = trained(column="model")
    assert "inference_to" not in ss.summarize(scores, by=["method", "model"])
    assert "inference_to" not in ss.difference(scores, reference="cam", by=["metric", "model"])
    assert "inference_to" not in ss.regress(scores, "iou ~ size + model")
    averaged = ss.summarize(scores, by=["method", "model"], average="model")
    assert averaged["inference_to"].eq(TRAININGS).all()
    of_methods = scores[scores["model"].eq(scores["method"].map({"cam": "0", "rise": "1"}))]
    assert "inference_to" not in ss.summarize(of_methods, by=["metric", "method"])


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_trainings_that_are_drawn_are_not_fixed():
    scores = trained()
    assert "inference_to" not in ss.summarize(scores, unit="seed")
    fixed = ss.regress(scores, "iou ~ method", by=())
    drawn = ss.regress(scores, "iou ~ method + (1|case) + (1 + method|seed)", by=())
    others = ss.regress(scores, "iou ~ method + (1|case)", by=())
    assert fixed["inference_to"].eq(TRAININGS).all()
    assert others["inference_to"].eq(TRAININGS).all()
    assert "inference_to" not in drawn
    both = scores.assign(model=np.where(np.arange(len(scores)) % 2, "a", "b"))
    nested = ss.regress(both, "iou ~ method + (1|case) + (1|model:seed)", by=())
    models = ss.regress(both, "iou ~ method + (1|case) + (1|seed)", by=())
    assert "inference_to" not in nested
    assert models["inference_to"].eq(TRAININGS).all()


def test_agreement_of_trainings_speaks_of_trainings_at_large_where_that_of_readers_does():
    scores = trained()
    found = ss.agreement(scores, over="seed", form=["icc1", "icc2", "icc3"], by="method")
    assert found.groupby("term")["inference_to"].unique().map(list).to_dict() == {
        "icc1": ["trainings and cases"],
        "icc2": ["trainings and cases"],
        "icc3": [TRAININGS],
    }
    html = ss.table_estimates(found[found["method"].eq("cam")]).as_raw_html()
    assert "Intervals of ICC(3,1) apply to these trainings, the others to trainings in general." in html


def test_tables_and_captions_say_that_trainings_are_fixed():
    sentence = "Trainings are fixed: intervals apply to these trainings, not to trainings in general."
    means = ss.summarize(beside_a_human("seed"))
    assert sentence in ss.table_estimates(means).as_raw_html()
    assert sentence in ss.plot_intervals(means).labels.caption.replace("\n", " ")


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_a_plan_from_trainings_speaks_of_those_of_each_method():
    scores = beside_a_human("seed")
    one = scores[scores["method"].eq("cam") & scores["seed"].eq("0")].assign(method="a training")
    plan = ss.power(pd.concat([scores, one]), reference="human", effect=-0.08, n_cases=[40], n_studies=100)
    speaks_of = plan.set_index("method")["inference_to"]
    assert speaks_of["cam"] == TRAININGS
    assert pd.isna(speaks_of["a training"])
    assert "speaking of these trainings" in ss.power_sentence(plan)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the covariance of readers' figures")
def test_limits_of_three_trainings_hold_for_others_where_these_are_drawn():
    # methods alike in the long run; each training leans to one of them with an SD of .04 a method
    n_studies, covered = 400, {"difference": 0, "mrmc": 0}
    for study in range(n_studies):
        scores = trained(rng=study)
        fixed = ss.difference(scores, reference="rise")
        assert fixed["inference_to"].tolist() == [TRAININGS]
        drawn = ss.mrmc(scores.rename(columns={"seed": "reader"}), reference="rise")
        drawn = drawn[drawn["term"].eq("difference")]
        for name, found in {"difference": fixed, "mrmc": drawn}.items():
            covered[name] += int(found["conf_low"].iloc[0] <= 0 <= found["conf_high"].iloc[0])
    assert covered["difference"] < 0.5 * n_studies
    assert covered["mrmc"] > 0.93 * n_studies


def test_a_reader_of_each_task_is_fixed_and_a_training_of_each_task_is_not():
    names = ["a", "a", "b", "b"]
    scores = pd.DataFrame({"reader": names, "seed": names, "model": names, "task": ["x", "x", "y", "y"]})
    cases = np.array([0, 1, 0, 1])
    fixed = {
        factor.column: is_row_of_fixed_factor(scores, factor, cases, ["task"]).tolist() for factor in FACTORS
    }
    assert fixed == {"reader": [True] * 4, "seed": [False] * 4, "model": [False] * 4}
    # without the grouping by task, two trainings are averaged
    assert all(is_row_of_fixed_factor(scores, factor, cases).all() for factor in FACTORS)


def test_readers_of_a_method_are_fixed_beside_pairs_of_people():
    reader_maps = trained(n_seeds=2, column="reader").query("method == 'cam'")
    pairs = reader_maps.query("reader == '0'").assign(method="human", other_reader="1")
    scores = pd.concat([reader_maps, pairs], ignore_index=True)
    alone = ss.summarize(reader_maps)["inference_to"].item()
    assert alone == "these readers"
    assert ss.summarize(scores).set_index("method")["inference_to"].to_dict() == {
        "cam": alone,
        "human": alone,
    }


@pytest.mark.parametrize(
    ("values", "nouns"),
    [
        ([], []),
        (["readers and cases", "these cases", None, np.nan], []),
        (["these readers"], ["readers"]),
        ([None, TRAININGS], ["trainings"]),
        ([TRAININGS, "these readers"], ["readers", "trainings"]),
        ([BOTH], ["readers", "trainings"]),
    ],
)
def test_fixed_factors_of_a_column_are_named_once_readers_first(values, nouns):
    assert fixed_reader_or_training_nouns(values) == nouns

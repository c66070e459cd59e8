"""The flow of cases: worked by hand, added up, and held against the numbers of the other functions."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError

# half of the frames are small on purpose
pytestmark = pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")

SIMULATED = ss.datasets.load_simulated()
COUNTS = ("n_cases", "n_units", "n_tasks", "n_rows")


def gaps(scores, share=0.4, seed=1):
    """The scores without some of their rows."""
    return scores[np.random.default_rng(seed).random(len(scores)) > share]


def seeds(scores):
    """Methods with two seeds each, the human benchmark with none."""
    human = scores["method"] == "human"
    runs = [scores[~human].assign(seed=str(seed)) for seed in (1, 2)]
    return gaps(pd.concat([scores[human].assign(seed=None), *runs], ignore_index=True), 0.2)


FRAMES = {
    "simulated": SIMULATED,
    "rows missing": gaps(SIMULATED),
    "almost nothing": gaps(SIMULATED, 0.99),
    "no patient, no label": gaps(SIMULATED.drop(columns=["patient", "label"])),
    "no task": gaps(SIMULATED[SIMULATED["task"] == "Edema"].drop(columns="task")),
    "one method": SIMULATED[SIMULATED["method"] == "gradcam"],
    "a metric on fewer cases": SIMULATED[(SIMULATED["metric"] == "iou") | (SIMULATED["case"] > "c100")],
    "a task the benchmark lacks": SIMULATED[
        (SIMULATED["method"] != "human") | (SIMULATED["task"] != "Edema")
    ],
    "all undefined": SIMULATED.assign(score=np.nan),
    "seeds": seeds(SIMULATED),
    "reasons": gaps(SIMULATED).assign(reason=lambda d: np.where(d["prob"] < 0.5, "no prediction", None)),
    "two data sets": pd.concat([gaps(SIMULATED, seed=s).assign(dataset=str(s)) for s in (1, 2)]),
    "categorical": gaps(SIMULATED).astype({"method": "category", "metric": "category", "case": "category"}),
}


def branches(flow):
    """The rows of each branch by metric and method."""
    return flow[flow["stage"] != "file"].groupby(["metric", "method"], sort=False, observed=True)


def small():
    """Four cases of three patients, two tasks: everything that can be lost is lost once."""
    rows = [
        # case, patient, task, score of a, score of human; None: no row
        ("c1", "p1", "Edema", 0.5, 0.9),
        ("c1", "p1", "Mass", 0.4, np.nan),
        ("c2", "p1", "Edema", np.nan, 0.8),
        ("c2", "p1", "Mass", 0.1, None),
        ("c3", "p2", "Edema", np.nan, np.nan),
        ("c4", "p3", "Edema", None, 0.7),
    ]
    parts = [
        {"case": c, "patient": p, "task": t, "method": m, "metric": "iou", "score": s}
        for c, p, t, own, human in rows
        for m, s in (("a", own), ("human", human))
        if s is not None
    ]
    return pd.DataFrame(parts)


def test_a_small_study_comes_out_as_counted_by_hand():
    flow = ss.case_flow(small(), reference="human")
    assert flow.iloc[0][["stage", *COUNTS]].tolist() == ["file", 4, 3, 2, 10]
    a = flow[flow["method"] == "a"]
    got = a[["stage", "reason", "excluded", *COUNTS]].fillna("").values.tolist()
    assert got == [
        ["rows", "no row", True, 1, 1, 0, 1],
        ["rows", "", False, 3, 2, 2, 5],
        ["defined", "undefined", True, 1, 1, 0, 2],
        ["defined", "", False, 2, 1, 2, 3],
        ["pairs", "reference: no row", True, 1, 0, 0, 1],
        ["pairs", "reference: undefined", True, 0, 0, 1, 1],
        ["pairs", "", False, 1, 1, 1, 1],
    ]
    human = flow[flow["method"] == "human"]
    assert human["stage"].tolist() == ["rows", "rows", "defined", "defined"]
    assert human[~human["excluded"]]["n_rows"].tolist() == [5, 3]


@pytest.mark.parametrize(
    ("name", "reference"),
    [(name, None) for name in FRAMES] + [(name, "human") for name in FRAMES if name != "one method"],
)
def test_what_is_excluded_and_what_is_left_make_what_was_there(name, reference):
    scores = FRAMES[name]
    flow = ss.case_flow(scores, reference=reference)
    counts = [c for c in COUNTS if c in flow.columns]
    file = flow.iloc[0]
    assert (flow[counts] >= 0).all(axis=None)
    assert file["n_rows"] == len(scores)
    assert flow.query("stage == 'rows' and not excluded")["n_rows"].sum() == len(scores)
    for _, branch in branches(flow):
        before = file[[c for c in counts if c != "n_rows"]]
        for step in sorted(branch["step"].unique()):
            here = branch[branch["step"] == step]
            # the file has no number of the rows that it lacks
            held = here[before.index].sum()
            assert held.tolist() == before.tolist()
            assert (~here["excluded"]).sum() == 1
            before = here.loc[~here["excluded"], counts].iloc[0]


@pytest.mark.parametrize("by", [("metric", "method"), ("metric", "method", "task")])
@pytest.mark.parametrize("name", [n for n in FRAMES if n not in ("almost nothing", "all undefined")])
def test_defined_scores_are_n_of_summarize(name, by):
    scores = FRAMES[name]
    by = [c for c in by if c in scores.columns]
    means = ss.summarize(scores, by=by, n_replicates=20)
    flow = ss.case_flow(scores, by=by)
    defined = flow[flow["stage"] == "defined"]
    kept = defined[~defined["excluded"]].set_index(by)
    n_missing = defined[defined["excluded"]].groupby(by, observed=True)["n_rows"].sum()
    missing = n_missing.reindex(kept.index, fill_value=0)
    for row in means.itertuples():
        key = tuple(getattr(row, c) for c in by)
        got = [kept.loc[key, "n_rows"], missing[key], kept.loc[key, "n_units"], kept.loc[key, "unit"]]
        assert got == [row.n, row.n_missing, row.n_units, row.unit]
    assert len(means) == len(kept)


@pytest.mark.parametrize("by", [["metric"], ["metric", "task"]])
@pytest.mark.parametrize(
    "name", [n for n in FRAMES if n not in ("one method", "almost nothing", "all undefined")]
)
def test_pairs_are_n_pairs_of_difference_and_percent_decrease(name, by):
    scores = FRAMES[name]
    by = [c for c in by if c in scores.columns]
    flow = ss.case_flow(scores, reference="human", by=by)
    keys = [*by, "method"]
    pairs = flow.query("stage == 'pairs' and not excluded").set_index(keys)
    n_lost = flow[flow["excluded"]].groupby(keys, observed=True)["n_rows"].sum()
    lost = n_lost.reindex(pairs.index, fill_value=0)
    for compare in (ss.difference, ss.percent_decrease):
        estimates = compare(scores, reference="human", by=by, n_replicates=20, test="none")
        assert len(estimates) == len(pairs)
        for row in estimates.itertuples():
            key = tuple(getattr(row, c) for c in keys)
            got = [pairs.loc[key, "n_rows"], lost[key], pairs.loc[key, "n_units"]]
            assert got == [row.n_pairs, row.n_missing, row.n_units]


def test_a_stated_reason_goes_before_the_label_and_the_label_before_undefined():
    scores = pd.DataFrame(
        {
            "case": ["c1", "c2", "c3", "c4"],
            "method": "a",
            "metric": "iou",
            "score": [np.nan, np.nan, np.nan, 0.5],
            "label": [0, 0, 1, 0],
            "reason": ["map file missing", None, "", "not a reason: the score is there"],
        }
    )
    flow = ss.case_flow(scores)
    excluded = flow[flow["excluded"]]
    assert dict(zip(excluded["reason"], excluded["n_rows"], strict=True)) == {
        "map file missing": 1,
        "finding absent": 1,
        "undefined": 1,
    }


def test_a_case_counts_under_the_reason_that_takes_its_last_score():
    scores = pd.DataFrame(
        {
            "case": ["c1", "c1", "c2", "c2", "c3", "c3"],
            "task": ["t1", "t2"] * 3,
            "method": "a",
            "metric": "iou",
            "score": [np.nan, np.nan, np.nan, 0.1, np.nan, np.nan],
            "reason": ["often", "rare", "often", None, "often", "often"],
        }
    )
    excluded = ss.case_flow(scores).query("excluded")
    # c1 still has its other score when "often" has gone, c2 loses none, c3 loses both to "often"
    assert excluded[["reason", "n_cases", "n_rows"]].values.tolist() == [["often", 1, 4], ["rare", 1, 1]]


def test_rows_are_missed_against_the_other_methods_or_else_against_the_reference():
    scores = SIMULATED[(SIMULATED["metric"] == "iou") & SIMULATED["score"].notna()]
    scores = scores[(scores["method"] != "occlusion") | (scores["case"] != "c001")]
    lacking = ss.case_flow(scores).query("reason == 'no row' and method == 'occlusion'")
    assert lacking["n_cases"].tolist() == [1]
    against = ss.case_flow(scores, reference="human").query("reason == 'no row' and method == 'occlusion'")
    keys = {m: set(map(tuple, g[["case", "task"]].to_numpy())) for m, g in scores.groupby("method")}
    assert against["n_rows"].tolist() == [len(keys["human"] - keys["occlusion"])]
    assert lacking["n_rows"].tolist() == [len((keys["human"] | keys["gradcam"]) - keys["occlusion"])]


def test_a_task_that_a_method_was_never_scored_on_is_lost_as_a_task_and_not_as_scores():
    flow = ss.case_flow(FRAMES["a task the benchmark lacks"])
    lost = flow.query("reason == 'no row'")
    assert lost["method"].tolist() == ["human", "human"]
    assert lost["n_tasks"].tolist() == [1, 1]
    assert lost["n_rows"].tolist() == [0, 0]


def test_bad_arguments_are_named():
    with raises(SalstatsError, option="reference", value="gradcam", choices=()):
        ss.case_flow(FRAMES["one method"], reference="gradcam")


def test_steps_are_numbered_from_1_in_the_order_of_stages():
    frame = pd.DataFrame(
        {
            "case": ["a", "a", "b", "b", "c"],
            "method": ["human", "cam"] * 2 + ["human"],
            "metric": "iou",
            "score": [0.5, 0.4, np.nan, 0.3, 0.2],
        }
    )
    flow = ss.case_flow(frame, reference="human")
    stages = flow.drop_duplicates("stage").set_index("stage")["step"]
    assert stages.tolist() == list(range(1, len(stages) + 1))
    assert len(stages) == 4


def test_levels_keep_their_order():
    tasks = pd.CategoricalDtype(["Mass", "Edema", "Fracture"], ordered=True)
    flow = ss.case_flow(small().astype({"task": tasks}), by=["task", "metric"])
    assert flow["task"].dtype == tasks
    assert flow["task"].dropna().unique().tolist() == ["Mass", "Edema"]

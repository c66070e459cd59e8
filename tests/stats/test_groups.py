"""What holds of every public function of groups: frames stay as they are, and categories in their order."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.stats.empty_shares import empty_shares

pytestmark = pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")

DRAWN = {"n_replicates": 40}
FUNCTIONS = {
    "summarize": lambda s: ss.summarize(s, by="task", average="task", overall=True, **DRAWN),
    "bootstrap": lambda s: ss.bootstrap(s, by="task", **DRAWN),
    "difference": lambda s: ss.difference(s, reference="human", by="task", average="task", **DRAWN),
    "percent_decrease": lambda s: ss.percent_decrease(s, reference="human", by="task", **DRAWN),
    "describe": lambda s: ss.describe(s, by="task"),
    "correlate": lambda s: ss.correlate(s, "score", "prob", by="task", overall=True),
    "correlate_clustered": lambda s: ss.correlate_clustered(s, "iou", "prob", by="task", **DRAWN),
    "auroc": lambda s: ss.auroc(s, "prob", "half", by="task", overall=True),
    "regress": lambda s: ss.regress(s, "iou ~ prob", by="task", errors="cr2", overall=True),
    "fit_statistics": lambda s: ss.fit_statistics(s, "iou ~ prob", by="task", overall=True),
    "joint_test": lambda s: ss.joint_test(s, "iou ~ prob", by="task"),
    "fit_line": lambda s: ss.fit_line(s, "iou ~ prob", by="task", n_points=3),
    "rank_stability": lambda s: ss.rank_stability(s, by="task", **DRAWN),
    "pooled_rates": lambda s: ss.pooled_rates(s, rates="iou", by="task", overall=True, **DRAWN),
    "pooled_difference": lambda s: ss.pooled_difference(s, reference="human", rates="iou", **DRAWN),
    "within_case_sd": lambda s: ss.within_case_sd(s, by="task", **DRAWN),
    "case_flow": lambda s: ss.case_flow(s, by="task", reference="human"),
    "pick_cases": lambda s: ss.pick_cases(s, by="task"),
    "letter_values": lambda s: ss.letter_values(s, "elongation", by="task"),
    "over_views": lambda s: ss.over_views(s, value="score"),
    "empty_shares": lambda s: empty_shares(s, by="task"),
    "normalize": lambda s: ss.normalize(s, "elongation", within="task"),
}
#: Those that give a row (or several) for each task, in its order.
ORDERED = [name for name in FUNCTIONS if name not in ("normalize", "over_views")]


@pytest.fixture(scope="module")
def scores():
    """Overlap of two methods and people, those with two seeds, with counts of pixels."""
    rows = ss.datasets.load_simulated().query("metric == 'iou'").reset_index(drop=True)
    rows = pd.concat([rows.assign(seed=s, score=rows["score"] ** (1 + s / 9)) for s in (0, 1)])
    rows = rows[(rows["method"] != "human") | (rows["seed"] == 0)].reset_index(drop=True)
    rows["seed"] = rows["seed"].where(rows["method"] != "human")
    counts = np.random.default_rng(1).integers(1, 50, (len(rows), 4)).astype(float)
    rows[["tp", "fp", "fn", "tn"]] = counts
    return rows.assign(half=(rows["prob"] > 0.6).astype(float))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_frame_given_is_not_changed_and_the_order_of_its_rows_does_not_matter(scores, name):
    given = scores.copy()
    found = FUNCTIONS[name](given)
    pd.testing.assert_frame_equal(given, scores)
    if name not in ("normalize", "pick_cases"):
        again = FUNCTIONS[name](scores.sample(frac=1, random_state=3).reset_index(drop=True))
        pd.testing.assert_frame_equal(again, found, rtol=1e-8)


@pytest.mark.parametrize("name", ORDERED)
def test_groups_of_an_ordered_categorical_stay_ordered(scores, name):
    order = ["Pleural Effusion", "Edema", "Consolidation", "Cardiomegaly", "Atelectasis"]
    tasks = pd.Categorical(scores["task"], order, ordered=True)
    found = FUNCTIONS[name](scores.assign(task=tasks))["task"].dropna()
    shown = list(dict.fromkeys(found))
    assert [t for t in shown if t in order] == order
    assert list(found.cat.categories)[:5] == order
    assert shown[5:] in ([], ["Overall"], ["Average"], ["Overall", "Average"])

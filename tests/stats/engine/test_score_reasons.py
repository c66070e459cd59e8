"""What scores say beside their values: findings that are not there, units and options they were made with."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.facts import count_sentence
from salstats.display.report.case_counts import n_undefined_scores_by_reason_and_n_absent
from salstats.stats.engine.score_reasons import (
    by_columns_per_observation_of_absent_finding,
    count_missing_without_absent_findings,
    human_label_column_if_one_label,
    metric_option_columns_several_where_mixed,
)

#: Of each method and task 8 cases: 3 without the finding, 1 with an empty mask of the method alone, 4 scored.
N, ABSENT, EMPTY = 8, 3, 1


@pytest.fixture(params=["reason", "label"])
def scores(request):
    """Scores that say by their reason, or by the label alone, that a finding is absent."""
    generator = np.random.default_rng(0)
    rows = [
        {
            "case": f"{case}", "task": task, "method": method, "metric": "iou", "prob": generator.random(),
            "score": np.nan if case < ABSENT or (case == ABSENT and method == "cam") else generator.random(),
            "label": int(case >= ABSENT),
        }
        for task in ("a", "b") for method in ("cam", "human") for case in range(N)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    if request.param == "label":
        return frame
    why = np.select([frame["label"].eq(0), frame["score"].isna()], ["finding absent", "empty mask"], "")
    return frame.drop(columns="label").assign(reason=why)


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    ("estimate", "count"),
    [
        (lambda s: ss.summarize(s, average="task", overall=True, n_replicates=20), "1 undefined"),
        (lambda s: ss.describe(s), "1 undefined"),
        (lambda s: ss.difference(s, reference="human", average="task", n_replicates=20), "1 incomplete"),
        (lambda s: ss.correlate(s, "iou", "prob", by=["method", "task"], overall=True), "1 incomplete"),
        (lambda s: ss.regress(s, "iou ~ prob", by=["method", "task"], overall=True), "1 to 2 incomplete"),
        (
            lambda s: ss.regress(s, "iou ~ prob", by="task", reference="human", overall=True),
            "1 to 2 incomplete",
        ),
    ],
)
def test_an_absent_finding_is_counted_apart_and_read_nowhere_as_missing(scores, estimate, count):
    found = estimate(scores)
    found = found[found["method"] == "cam"] if "method" in found.columns else found
    times = np.where(found["task"].isin(["Average", "Overall"]), 2, 1)
    assert found["n_missing"].tolist() == (times * (ABSENT + EMPTY)).tolist()
    assert found["n_absent"].tolist() == (times * ABSENT).tolist()
    assert count_missing_without_absent_findings(found).tolist() == (times * EMPTY).tolist()
    noun = count.rpartition(" ")[2]
    assert count in count_sentence(read_estimates(found, required_columns=()), missing_adjective=noun)


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("known", [("label", "reason"), ("label",), ("reason",)])
@pytest.mark.parametrize("reference", ["human", "cam"])
def test_a_pair_is_absent_where_either_side_has_nothing_to_score(known, reference):
    # on the full slice a method that marks nothing scores 0 where people have no score
    generator, cases = np.random.default_rng(1), np.arange(20)
    absent, lost = cases < 8, cases == 19
    human = pd.DataFrame({
        "case": cases.astype("str"), "task": "a", "method": "human", "metric": "iou", "label": 1 - absent,
        "score": np.where(absent | lost, np.nan, generator.random(20)), "prob": generator.random(20),
        "reason": np.select([absent, lost], ["true negative", "empty mask"], ""),
    })  # fmt: skip
    cam = human.assign(method="cam", score=np.where(absent, 0.0, generator.random(20)), reason="")
    both = pd.concat([human, cam])
    both = both[[c for c in both.columns if c in known or c not in ("label", "reason")]]
    for found in (
        ss.difference(both, reference=reference, by=["metric", "task"], n_replicates=20),
        ss.percent_decrease(both, reference=reference, by=["metric", "task"], n_replicates=20),
        ss.regress(both, "iou ~ prob", by="task", reference=reference),
    ):
        assert set(found["n_missing"]) == {9}
        assert set(found["n_absent"]) == {8}


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_a_task_called_overall_is_a_task_like_others(scores):
    renamed = scores.assign(task=scores["task"].replace({"a": "Overall"}))
    for estimate in (lambda s: ss.summarize(s, interval="t"), ss.describe):
        found = estimate(renamed)
        assert found["task"].eq("Overall").any()
        assert set(found["n_absent"]) == {ABSENT}
    averaged = ss.summarize(renamed, interval="t", average="task")
    assert averaged.groupby("task")["n_absent"].unique().to_dict() == {
        "Average": [6],
        "Overall": [3],
        "b": [3],
    }
    assert ss.correlate(renamed, "iou", "prob", by=())["n_absent"].tolist() == [4 * ABSENT]


def test_labels_of_a_table_that_is_none_of_scores_say_nothing_of_findings(scores):
    other = scores.drop(columns="case").rename(columns={"score": "y"})
    found = ss.regress(other, "y ~ prob", by="method")
    assert found["n_missing"].sum() > 0
    assert "n_absent" not in found.columns


def test_the_flow_of_cases_keeps_absent_findings_apart_from_undefined_scores(scores):
    undefined, absent = n_undefined_scores_by_reason_and_n_absent(ss.case_flow(scores))
    assert (undefined.sum(), absent) == (2 * EMPTY, 4 * ABSENT)


@pytest.fixture
def distances():
    """Distances in mm and a shuffled metric of two methods on eight cases, drawn."""
    rng = np.random.default_rng(8)
    rows = [
        {"case": f"c{i}", "method": method, "metric": metric, "score": rng.random()}
        for metric in ("hausdorff", "sncc", "dice")
        for method in ("lime", "rise")
        for i in range(8)
    ]
    frame = pd.DataFrame(rows)
    frame["distance_unit"] = frame["metric"].map({"hausdorff": "mm"})
    frame["center_bias"] = frame["metric"].map({"sncc": "others"})
    return frame


def contrast(distances):
    return ss.difference(distances, reference="lime", by="metric", interval="t")


def figure_texts(figure):
    """Every text of a figure as it is drawn."""
    drawn = figure.draw()
    found = [t.get_text() for axes in drawn.axes for t in axes.findobj(Text)]
    found += [t.get_text() for t in drawn.findobj(Text)]
    plt.close(drawn)
    return found


@pytest.mark.parametrize(
    "estimate",
    [
        lambda s: ss.summarize(s, by=("metric", "method"), interval="t"),
        lambda s: ss.describe(s, by=("metric", "method")),
        contrast,
    ],
)
def test_each_metric_keeps_its_unit_and_its_centre_bias(estimate, distances):
    frame = estimate(distances).set_index("metric")
    assert set(frame.loc["hausdorff":"hausdorff", "distance_unit"]) == {"mm"}
    assert set(frame.loc["sncc":"sncc", "center_bias"]) == {"others"}
    assert frame.loc["dice":"dice", ["distance_unit", "center_bias"]].isna().all(axis=None)


def test_a_table_of_scores_made_in_two_ways_says_so(distances):
    distances.loc[distances.index[distances["metric"] == "sncc"][:3], "center_bias"] = "all"
    means = ss.summarize(distances, by=("metric", "method"), interval="t")
    assert "sNCC: scored in several ways (center bias)." in ss.table_estimates(means).as_raw_html()


def test_tables_and_figures_name_unit_and_centre_bias(distances):
    means = ss.summarize(distances, by=("metric", "method"), interval="t")
    for table in (ss.table_estimates(means), ss.table_decrease(contrast(distances))):
        text = table.as_raw_html()
        assert "Hausdorff distance (mm" in text
        assert "sNCC: corrected by the centre bias of the other images." in text
    for figure in (ss.plot_intervals(means), ss.plot_forest(means)):
        assert figure.data["panel"].astype("str").str.contains("Hausdorff distance (mm", regex=False).any()
    drawn = figure_texts(ss.plot_box(distances))
    assert any("Hausdorff distance (mm" in text for text in drawn)


def test_best_means_of_other_cases_are_said_to_be_that(distances):
    note = "means are of other cases"
    assert note not in ss.table_estimates(ss.summarize(distances, interval="t")).as_raw_html()
    distances.loc[0, "score"] = np.nan
    assert note in ss.table_estimates(ss.summarize(distances, interval="t")).as_raw_html()


def test_observations_without_a_finding_count_once_however_many_metrics_lack_it(scores):
    two = pd.concat([scores, scores.assign(metric="dice")], ignore_index=True)
    for names in (["iou"], ["iou", "dice"]):
        absent = by_columns_per_observation_of_absent_finding(two, names, ["task", "method"])
        assert absent.value_counts().to_dict() == dict.fromkeys(
            [(task, method) for task in "ab" for method in ("cam", "human")], ABSENT
        )
    # each metric has a score of its own
    of_scores = by_columns_per_observation_of_absent_finding(two, ["score", "prob"], ["metric", "task"])
    assert of_scores.value_counts().to_dict() == dict.fromkeys(
        [(metric, task) for metric in ("iou", "dice") for task in "ab"], 2 * ABSENT
    )
    # a covariate is of a case and task, so that methods do not repeat it
    sizes = two.assign(size=two["score"].where(two["case"] != "5"))
    covariate = by_columns_per_observation_of_absent_finding(sizes, ["size"], ["task"])
    assert covariate["task"].value_counts().to_dict() == {"a": ABSENT, "b": ABSENT}
    assert by_columns_per_observation_of_absent_finding(sizes.assign(size=1.0), ["size"], ["task"]).empty
    assert by_columns_per_observation_of_absent_finding(two.drop(columns="case"), ["size"], ["task"]).empty


def test_estimates_have_the_label_of_people_if_scores_have_one(scores):
    assert human_label_column_if_one_label(scores) == {}
    known = scores.assign(human_label=np.where(scores["method"] == "human", "Two readers", None))
    assert human_label_column_if_one_label(known) == {"human_label": "Two readers"}
    assert human_label_column_if_one_label(scores.assign(human_label=scores["method"])) == {}


def test_options_of_metrics_are_repeated_for_their_estimates(distances):
    keys = pd.DataFrame({"metric": ["sncc", "dice", "hausdorff"]})
    assert metric_option_columns_several_where_mixed(distances, keys) == {
        "distance_unit": [None, None, "mm"],
        "center_bias": ["others", None, None],
    }
    without = distances.assign(center_bias=None)
    assert list(metric_option_columns_several_where_mixed(without, keys)) == ["distance_unit"]
    # without metrics in the keys those of all scores
    of_methods = metric_option_columns_several_where_mixed(
        distances, pd.DataFrame({"method": ["lime", "rise"]})
    )
    assert of_methods == {"distance_unit": ["mm", "mm"], "center_bias": ["others", "others"]}
    distances.loc[0, "distance_unit"] = "px"
    assert metric_option_columns_several_where_mixed(distances, keys)["distance_unit"] == [
        None,
        None,
        "several",
    ]

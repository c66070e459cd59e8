"""Units and options of scores are carried into what is estimated of them, and said in print."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import salstats as ss
from salstats.display.text.labels import Labels


@pytest.fixture
def scores():
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


def contrast(scores):
    return ss.difference(scores, reference="lime", by="metric", interval="t")


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
def test_each_metric_keeps_its_unit_and_its_centre_bias(estimate, scores):
    frame = estimate(scores).set_index("metric")
    assert set(frame.loc["hausdorff":"hausdorff", "distance_unit"]) == {"mm"}
    assert set(frame.loc["sncc":"sncc", "center_bias"]) == {"others"}
    assert frame.loc["dice":"dice", ["distance_unit", "center_bias"]].isna().all(axis=None)


def test_scores_made_in_two_ways_say_so_and_have_no_unit_in_print(scores):
    scores.loc[scores.index[:3], "distance_unit"] = "px"
    means = ss.summarize(scores, by=("metric", "method"), interval="t")
    assert set(means.loc[means["metric"] == "hausdorff", "distance_unit"]) == {"several"}
    assert Labels(None, means).value("metric", "hausdorff") == "Hausdorff distance"


def test_a_table_of_scores_made_in_two_ways_says_so(scores):
    scores.loc[scores.index[scores["metric"] == "sncc"][:3], "center_bias"] = "all"
    means = ss.summarize(scores, by=("metric", "method"), interval="t")
    assert "sNCC: scored in several ways (center bias)." in ss.table_estimates(means).as_raw_html()


def test_scores_that_say_nothing_add_no_column(scores):
    plain = ss.summarize(scores.drop(columns=["distance_unit", "center_bias"]), interval="t")
    assert not {"distance_unit", "center_bias"} & set(plain.columns)


def test_tables_and_figures_name_unit_and_centre_bias(scores):
    means = ss.summarize(scores, by=("metric", "method"), interval="t")
    for table in (ss.table_estimates(means), ss.table_decrease(contrast(scores))):
        text = table.as_raw_html()
        assert "Hausdorff distance (mm)" in text
        assert "sNCC: corrected by the centre bias of the other images." in text
    for figure in (ss.plot_intervals(means), ss.plot_forest(means)):
        assert figure.data["panel"].astype("str").str.contains("Hausdorff distance (mm)", regex=False).any()
    drawn = figure_texts(ss.plot_box(scores))
    assert any("Hausdorff distance (mm)" in text for text in drawn)


def test_a_label_of_the_users_is_the_users(scores):
    means = ss.summarize(scores, by=("metric", "method"), interval="t")
    assert Labels({"hausdorff": "HD"}, means).value("metric", "hausdorff") == "HD"


def test_best_means_of_other_cases_are_said_to_be_that(scores):
    note = "means are of other cases"
    assert note not in ss.table_estimates(ss.summarize(scores, interval="t")).as_raw_html()
    scores.loc[0, "score"] = np.nan
    assert note in ss.table_estimates(ss.summarize(scores, interval="t")).as_raw_html()

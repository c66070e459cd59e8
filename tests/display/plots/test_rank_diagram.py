"""Critical-difference diagrams: ranks, bars and names as Demšar published them, in each panel."""

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, layers, scale
from tests_support import raises, warns

import salstats as ss
from salstats.display.plots.layout.text_fit import text_width_mm
from salstats.display.plots.layout.theme import COLUMN_MM, MM_PER_INCH, PAGE_MM
from salstats.display.plots.rank_diagram import _pairs_without_bar_note
from salstats.errors import ColumnError, SalstatsError, ValueRangeError

#: Demšar (2006), Table 6: AUC of four variants of C4.5 on 14 data sets. The last two of "voting" have ranks 2
#: and 3 there, so that they differ beyond the third decimal.
C45 = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
AUC = [
    [0.763, 0.768, 0.771, 0.798],
    [0.599, 0.591, 0.590, 0.569],
    [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657],
    [0.882, 0.888, 0.886, 0.898],
    [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685],
    [0.583, 0.583, 0.563, 0.625],
    [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000],
    [0.940, 0.962, 0.965, 0.962],
    [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975],
    [0.957, 0.978, 0.946, 0.970],
]


@pytest.fixture(scope="module")
def demsar():
    """Mean ranks of Demšar's example, and Nemenyi's test at P = 0.10, whose critical difference is 1.12."""
    wide = pd.DataFrame(AUC, columns=C45).rename_axis("case").reset_index()
    scores = wide.astype({"case": str}).melt("case", var_name="method", value_name="score")
    with warns(column="case", value=14):
        ranks = ss.rank_stability(scores.assign(metric="auc"), by=[], scheme="mean-rank", n_replicates=50)
    mean_rank = ranks.set_index("method")["value"]
    tests = [
        (method, other, mean_rank[other] - mean_rank[method] > 1.12, 0.5)
        for method in C45
        for other in C45
        if method != other
    ]
    return ranks, pd.DataFrame(tests, columns=["method", "reference", "better", "p_adjusted"]).assign(
        estimate=0
    )


def test_a_diagram_has_the_ranks_and_the_bars_that_demsar_published(demsar):
    ranks, tests = demsar
    figure = ss.plot_significance(tests, form="diagram", ranks=ranks)
    published = {"C4.5+m+cf": 1.964, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5": 3.143}
    assert list(figure.data["method"]) == list(published)
    np.testing.assert_allclose(figure.data["rank"], list(published.values()), atol=5e-4)
    # at P = 0.10 C4.5 differs from the two variants with m, and C4.5+cf from none
    bars = layers(figure, "geom_segment")[-1]._data
    np.testing.assert_allclose(bars[["best_rank", "worst_rank"]], [[1.964, 2.893], [2.893, 3.143]], atol=5e-4)
    by_rank = figure.data.set_index("method")["x"]
    assert bars["x"].iloc[0] == pytest.approx(by_rank["C4.5+m+cf"], abs=0.5)
    assert bars["xend"].iloc[0] == pytest.approx(by_rank["C4.5+cf"], abs=0.5)
    # at P = 0.05 the critical difference is 1.25 and one bar joins all
    alike = ss.plot_significance(tests.assign(better=False), form="diagram", ranks=ranks)
    assert list(layers(alike, "geom_segment")[-1]._data["level"]) == [0]


def test_names_of_a_diagram_stand_at_the_nearer_end_the_outermost_on_top(demsar):
    ranks, tests = demsar
    data = ss.plot_significance(tests, form="diagram", ranks=ranks).data
    assert list(data["is_left"]) == [True, True, False, False]
    assert list(data["row"]) == [0, 1, 1, 0]
    assert data["x"].is_monotonic_increasing


def test_pairs_that_no_bar_joins_are_named_in_the_caption(demsar):
    ranks, tests = demsar
    # the first and the third do not differ, but the second, between them, differs from the third
    second = {"C4.5+m", "C4.5+cf"}
    tests = tests.assign(
        better=[{m, r} == second for m, r in zip(tests["method"], tests["reference"], strict=True)]
    )
    figure = ss.plot_significance(tests, form="diagram", ranks=ranks)
    assert "C4.5+m+cf and C4.5+cf" in caption(figure)
    # a pair without a P value is not joined
    untested = ss.plot_significance(tests.assign(p_adjusted=np.nan), form="diagram", ranks=ranks)
    assert layers(untested, "geom_segment")[-1]._data.empty


def test_of_many_pairs_that_no_bar_joins_two_are_named():
    pairs = ["a and b", "c and d", "e and f", "g and h"]
    assert _pairs_without_bar_note(pairs).startswith("No bar joins a and b; c and d; 2 further pairs: they")
    assert _pairs_without_bar_note(pairs[:2]).startswith("No bar joins a and b; c and d: they")
    assert _pairs_without_bar_note([]) == ""


def test_ranks_among_more_methods_than_those_compared_lie_on_the_axis_of_a_diagram(demsar):
    ranks, tests = demsar
    last_two = ["C4.5", "C4.5+cf"]
    own = tests[tests["method"].isin(last_two) & tests["reference"].isin(last_two)]
    figure = ss.plot_significance(own, form="diagram", ranks=ranks)
    axis = layers(figure, "geom_segment")[0]._data.iloc[0]
    assert figure.data["x"].between(axis["x"], axis["xend"]).all()


def test_a_diagram_has_the_tests_and_the_ranks_of_each_panel(significance, ranks):
    figure = ss.plot_significance(significance, form="diagram", ranks=ranks)
    best = figure.data.groupby("panel", observed=True)["method"].first().to_dict()
    assert list(best.values()) == ["lrp", "ig"]
    assert "Ranked by mean score." in caption(figure)


def test_a_diagram_needs_the_ranks_of_the_groups_of_the_tests(significance, ranks):
    with raises(SalstatsError, option="ranks"):
        ss.plot_significance(significance, form="diagram")
    with raises(ColumnError, column="metric"):
        pooled = ranks[ranks["metric"] == "iou"].drop(columns="metric")
        ss.plot_significance(significance, form="diagram", ranks=pooled)
    with raises(SalstatsError, option="ranks", column="method", value="ig"):
        ss.plot_significance(significance, form="diagram", ranks=ranks[ranks["method"] != "ig"])
    with raises(ValueRangeError, option="form"):
        ss.plot_significance(significance, form="map")


def test_ranks_stand_at_their_places_of_the_axis_and_bars_extend_a_little_beyond_their_methods(demsar):
    ranks, tests = demsar
    figure = ss.plot_significance(tests, form="diagram", ranks=ranks)
    line, ticks, to_axis, to_name, bars = (layer._data for layer in layers(figure, "geom_segment"))
    start, end = line.loc[0, ["x", "xend"]]
    step = (end - start) / 3
    assert ticks["x"].tolist() == pytest.approx([start, start + step, start + 2 * step, end])
    assert figure.data["x"].tolist() == pytest.approx(list(start + (figure.data["rank"] - 1) * step))
    assert bars["x"].tolist() == pytest.approx(list(start + (bars["best_rank"] - 1) * step - 0.4))
    assert bars["xend"].tolist() == pytest.approx(list(start + (bars["worst_rank"] - 1) * step + 0.4))
    # bars stand below each other between the axis and the names, ticks above the axis
    y = line.loc[0, "y"]
    assert ticks["y"].eq(y).all()
    assert ticks["yend"].gt(y).all()
    assert y > bars["y"][0] > bars["y"][1] > figure.data["y"].max()
    assert bars["y"][0] - bars["y"][1] == pytest.approx(1.7)
    assert figure.data["axis"].eq(y).all()
    [first, second] = figure.data.loc[figure.data["is_left"], "y"]
    assert first > second
    low, high = scale(figure, "y").limits
    # the panel ends half a row below the last name
    assert low == pytest.approx(second - (first - second) / 2)
    assert low < figure.data["y"].min() < high == 0
    assert to_axis is to_name is None


def test_names_end_and_begin_beside_the_axis_below_its_numbers_and_title(demsar):
    ranks, tests = demsar
    figure = ss.plot_significance(tests, form="diagram", ranks=ranks)
    numbers, title, left, right = layers(figure, "geom_text")
    assert numbers._data["number"].tolist() == ["1", "2", "3", "4"]
    assert title._data["title"].tolist() == ["Mean rank over the cases (1: best)"]
    assert title._data["y"][0] > numbers._data["number_y"][0] > figure.data["axis"].iloc[0]
    assert left._data["method"].tolist() == ["C4.5+m+cf", "C4.5+m"]
    assert (left.geom.aes_params["ha"], right.geom.aes_params["ha"]) == ("right", "left")
    line = layers(figure, "geom_segment")[0]._data.iloc[0]
    assert (left._data["name_x"] < left._data["line_end"]).all()
    assert (left._data["line_end"] < line["x"]).all()
    assert (right._data["name_x"] > right._data["line_end"]).all()
    assert (right._data["line_end"] > line["xend"]).all()


def test_long_names_are_wrapped_and_leave_a_third_of_the_panel_to_the_axis(demsar):
    ranks, tests = demsar
    long = "Decision trees with pruning and a tuned confidence factor"
    figure = ss.plot_significance(tests, form="diagram", ranks=ranks, labels={"C4.5": long})
    line = layers(figure, "geom_segment")[0]._data.iloc[0]
    _, panel_width = scale(figure, "x").limits
    assert line["xend"] - line["x"] > panel_width / 3
    name = figure.data.set_index("method").loc["C4.5", "name"]
    assert text_width_mm(name) <= 0.3 * panel_width
    assert text_width_mm(name) > 0.2 * panel_width


def test_panels_have_room_for_names_and_ranks_of_other_schemes_are_called_ranks(significance, ranks):
    figure = ss.plot_significance(significance, form="diagram", ranks=ranks)
    assert layers(figure, "geom_text")[1]._data["title"].tolist() == ["Rank (1: best)"]
    assert figure.theme.getp("figure_size")[0] * MM_PER_INCH == pytest.approx(COLUMN_MM)
    three = [significance, significance.query("metric == 'iou'").assign(metric="dice")]
    ranks_of_three = [ranks, ranks.query("metric == 'iou'").assign(metric="dice")]
    wide = ss.plot_significance(pd.concat(three), form="diagram", ranks=pd.concat(ranks_of_three))
    assert wide.theme.getp("figure_size")[0] * MM_PER_INCH == pytest.approx(PAGE_MM)


def test_pairs_without_a_bar_are_named_with_their_panel(significance, ranks):
    # of LRP, RISE, CAM and Integrated Gradients the second differs from the third alone
    pair = {"rise", "cam"}
    methods = zip(significance["method"], significance["reference"], strict=True)
    tests = significance.assign(better=[set(both) == pair for both in methods])
    figure = ss.plot_significance(tests, form="diagram", ranks=ranks)
    assert "LRP and CAM (IoU)" in caption(figure)

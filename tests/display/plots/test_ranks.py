"""Figures of ranks: every method in its row, and of who is significantly better than whom."""

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, layers, scale
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    MM_PER_INCH,
    MUTED,
    PAGE_MM,
    REFERENCE_COLOUR,
    REFERENCE_SHAPE,
)
from salstats.errors import ColumnError, SalstatsError


def shown(figure, axis):
    """Position -> label of an axis."""
    labels = [text.replace("\n", " ") for text in scale(figure, axis).labels]
    return dict(zip(scale(figure, axis).breaks, labels, strict=True))


def width_mm(figure):
    return figure.theme.getp("figure_size")[0] * MM_PER_INCH


def test_each_method_has_its_own_row_under_its_own_name(ranks):
    figure = ss.plot_ranks(ranks[ranks["metric"] == "iou"], labels={"rise": "RISE!"})
    names = shown(figure, "y")
    data = figure.data.set_index("method")
    assert {m: names[data.loc[m, "y"]] for m in data.index} == {
        "cam": "CAM",
        "ig": "Integrated Gradients",
        "lrp": "LRP",
        "rise": "RISE!",
    }
    assert list(data.sort_values("y", ascending=False).index) == ["lrp", "rise", "cam", "ig"]
    assert figure.mapping["x"] == "estimate"


def test_labels_order_the_methods(ranks):
    figure = ss.plot_ranks(ranks, labels={"method": ["ig", "lrp"]})
    assert figure.data.set_index("method")["y"].groupby(level=0).first().sort_values().index[-1] == "ig"


def test_blobs_are_the_shares(ranks, two_metrics):
    shares = ss.rank_frequencies(two_metrics, n_replicates=200)
    figure = ss.plot_ranks(ranks, frequencies=shares)
    blobs = layers(figure, "geom_point")[0]
    assert dict(blobs.mapping) == {"x": "rank", "y": "y", "size": "share"}
    own = figure.data.drop_duplicates("method").set_index("method")["y"]
    np.testing.assert_array_equal(blobs._data["y"], blobs._data["method"].map(own))
    np.testing.assert_array_equal(blobs._data["share"], shares["share"])
    sizes = scale(figure, "size")
    assert dict(zip(sizes.labels, sizes.breaks, strict=True)) == {"10%": 0.1, "50%": 0.5, "100%": 1}


def test_blobs_of_metrics_without_ranks_are_not_drawn(ranks, two_metrics):
    shares = ss.rank_frequencies(two_metrics, n_replicates=50)
    own = ranks[ranks["metric"] == "iou"]
    blobs = layers(ss.plot_ranks(own, frequencies=shares), "geom_point")[0]
    assert set(blobs._data["metric"]) == {"iou"}
    for other in (shares[shares["metric"] != "iou"], pd.concat([shares, shares])):
        with raises(SalstatsError, option="frequencies"):
            ss.plot_ranks(own, frequencies=other)


def test_notes_say_what_ranks_and_lines_are(ranks, two_metrics):
    said = caption(ss.plot_ranks(ranks))
    assert "Ranked by mean score." in said
    assert "in 95% of 200 replicates" in said
    other = ss.rank_stability(two_metrics, scheme="median", n_replicates=200)
    assert "Ranked by median score." in caption(ss.plot_ranks(other))


def test_widths(ranks):
    assert width_mm(ss.plot_ranks(ranks)) == pytest.approx(COLUMN_MM)
    assert width_mm(ss.plot_ranks(ranks, width=PAGE_MM)) == pytest.approx(PAGE_MM)


def test_dark_tiles_are_rows_that_are_better(significance):
    figure = ss.plot_significance(significance[significance["metric"] == "iou"])
    rows, cols = shown(figure, "y"), shown(figure, "x")
    found = {(rows[r.up], cols[r.across]): r.better for r in figure.data.itertuples()}
    assert found["LRP", "Integrated Gradients"]
    assert not found["Integrated Gradients", "LRP"]
    assert len(found) == 12
    assert rows[0] == cols[0] == "LRP"
    assert layers(figure, "geom_tile")[0].mapping["fill"] == "better"
    # as a program writes it that has no type for flags
    texts = significance.assign(better=significance["better"].astype(str))
    as_text = ss.plot_significance(texts[texts["metric"] == "iou"])
    assert as_text.data["better"].tolist() == figure.data["better"].tolist()


def test_methods_of_the_map_stand_by_their_ranks(significance, ranks):
    own = significance[significance["metric"] == "assd"]
    figure = ss.plot_significance(own, ranks=ranks[ranks["metric"] == "assd"])
    assert [*shown(figure, "x").values()] == ["Integrated Gradients", "CAM", "RISE", "LRP"]


def test_a_method_that_is_only_compared_with_has_its_column(significance):
    own = significance[(significance["metric"] == "iou") & (significance["method"] != "lrp")]
    figure = ss.plot_significance(own)
    assert figure.data["across"].notna().all()
    assert list(shown(figure, "x").values())[-1] == "LRP"


def test_the_map_says_its_level_and_procedure(significance):
    assert "P < 0.05; paired t test; Holm" in caption(ss.plot_significance(significance))


def test_wrong_frames_are_refused(ranks, significance, two_metrics):
    with raises(ColumnError, column="method"):
        ss.plot_ranks(ranks.drop(columns="method"))
    with raises(SalstatsError, option="ranks", rows=tuple(range(len(ranks), 2 * len(ranks)))):
        ss.plot_ranks(pd.concat([ranks, ranks]))
    with raises(SalstatsError, option="frequencies", column="method", value="ig"):
        ss.plot_ranks(
            ranks[ranks["method"] != "ig"], frequencies=ss.rank_frequencies(two_metrics, n_replicates=50)
        )
    with raises(SalstatsError, option="ranks", column="method", value="ig"):
        ss.plot_significance(significance, ranks=ranks[ranks["method"] != "ig"])
    with raises(ColumnError, column="reference"):
        ss.plot_significance(ranks)


def test_figures_draw(ranks, significance, two_metrics):
    shares = ss.rank_frequencies(two_metrics, n_replicates=50)
    for figure in (ss.plot_ranks(ranks, frequencies=shares), ss.plot_significance(significance)):
        assert figure.draw().axes


def test_the_best_rank_is_bold_in_a_table_and_its_limits_are_named(ranks, significance):
    iou, tests = ranks[ranks["metric"] == "iou"], significance[significance["metric"] == "iou"]
    for frame, said in (
        (iou, "no confidence interval for a true rank"),
        (ss.rank_limits(tests), "pairwise tests"),
    ):
        html = ss.table_estimates(frame).as_raw_html()
        rows = html.partition("<tbody")[2].split("<tr>")
        bold = [row for row in rows if "font-weight: bold" in row]
        assert ["LRP" in row for row in bold] == [True]
        assert said in html


def test_limits_of_ranks_are_drawn_as_such(significance):
    said = caption(ss.plot_ranks(ss.rank_limits(significance)))
    assert "joint 95% confidence limits" in said


def test_the_reference_is_a_black_diamond(two_metrics):
    with_people = two_metrics.replace({"method": {"rise": "human"}})
    marks = ss.plot_ranks(ss.rank_stability(with_people, n_replicates=50)).data
    styles = marks.groupby("method")[["colour", "shape"]].first()
    assert tuple(styles.loc["human"]) == (REFERENCE_COLOUR, REFERENCE_SHAPE)
    others = styles.drop("human")
    assert not others["colour"].eq(REFERENCE_COLOUR).any()
    assert not others["shape"].eq(REFERENCE_SHAPE).any()


def test_pairs_without_a_p_value_are_white_tiles_and_named(significance):
    words = "without a P value"
    assert words not in caption(ss.plot_significance(significance))
    is_first = significance.index == significance.index[0]
    undefined = significance.assign(p_adjusted=significance["p_adjusted"].mask(is_first))
    assert words in caption(ss.plot_significance(undefined))


def test_a_diagram_is_drawn_of_ranks_and_says_what_bars_join(significance, ranks):
    with raises(SalstatsError, option="ranks"):
        ss.plot_significance(significance, form="diagram")
    own = significance[significance["metric"] == "iou"]
    figure = ss.plot_significance(own, form="diagram", ranks=ranks[ranks["metric"] == "iou"], width=120)
    assert width_mm(figure) == pytest.approx(120)
    text = caption(figure)
    assert text.startswith("Metric: IoU. ")
    assert "Ranked by mean score. Bars join methods of which none is better" in text
    assert "one-sided P < 0.05; paired t test; Holm" in text
    assert "without a P value" not in text
    undefined = own.assign(p_adjusted=np.nan)
    untested = ss.plot_significance(undefined, form="diagram", ranks=ranks[ranks["metric"] == "iou"])
    assert "No bar joins methods without a P value." in caption(untested)


def ranks_by_hand(**columns):
    """Ranks of three methods without limits, two of which tie."""
    frame = pd.DataFrame({"metric": "iou", "method": ["a", "b", "c"], "estimate": [2.5, 1.0, 2.5]})
    return frame.assign(**columns)


def test_ranks_have_lines_where_they_have_limits_and_ties_are_said():
    text = caption(ss.plot_ranks(ranks_by_hand()))
    assert text == (
        "Metric: IoU. Marks: rank without resampling. Between two ranks: methods that tie share their mean."
    )
    limits = {"conf_low": [1.0, np.nan, 2.0], "conf_high": [3.0, np.nan, 3.0], "conf_level": 0.9}
    figure = ss.plot_ranks(ranks_by_hand(estimate=[3.0, 1.0, 2.0], **limits))
    assert layers(figure, "geom_segment")[0]._data["method"].tolist() == ["a", "c"]
    assert caption(figure).endswith("Lines: where the rank lies in 90% of replicates.")
    shares = pd.DataFrame({"metric": "iou", "method": ["a", "b"], "rank": [1.5, 2.0], "share": 1.0})
    text = caption(ss.plot_ranks(ranks_by_hand(estimate=[3.0, 1.0, 2.0]), frequencies=shares))
    assert "Blobs: share of replicates with that rank. Between two ranks" in text


def test_rows_of_ranks_stand_from_the_best_down_with_room_for_half_a_blob():
    figure = ss.plot_ranks(ranks_by_hand())
    assert figure.data.set_index("method")["y"].to_dict() == {"b": 0.0, "a": -1.0, "c": -2.0}
    limits = figure.coordinates.limits
    assert limits.y == (-2.5, 0.5)
    # half a blob is less than half a rank
    assert limits.x == (0.5, 3.5)
    assert list(scale(figure, "x").breaks) == [1, 2, 3]


def test_blobs_of_6_mm_at_both_ends_lie_within_a_narrow_axis():
    frame = ranks_by_hand().iloc[:0].reindex(range(10)).assign(metric="iou", estimate=range(1, 11))
    frame["method"] = [f"m{number}" for number in range(10)]
    axis_mm = {}
    for width in (50, 60):
        first, last = ss.plot_ranks(frame, width=width).coordinates.limits.x
        margin = 1 - first
        assert margin == pytest.approx(last - 10)
        # half a blob, 3 mm, is the margin
        axis_mm[width] = 3 * (last - first) / margin
    assert axis_mm[60] - axis_mm[50] == pytest.approx(10)


def test_tiles_have_the_p_value_with_the_decimals_that_its_level_needs():
    tests = pd.DataFrame(
        {
            "method": ["a", "b", "a"],
            "reference": ["b", "a", "c"],
            "better": [True, False, False],
            "estimate": 0.1,
            "p_adjusted": [0.0512, 0.99, np.nan],
            "conf_level": 0.95,
        }
    )
    figure = ss.plot_significance(tests)
    assert figure.data["text"].tolist() == ["0.051", "0.99", "—"]
    assert figure.data["ink"].tolist() == ["white", MUTED, MUTED]
    assert scale(figure, "fill").palette(2)[True] != "white"
    assert scale(figure, "fill").palette(2)[False] == "white"
    assert "Numbers: that P." in caption(figure)
    # c is the second of its only pair and the last row
    assert list(scale(figure, "x").labels) == ["a", "b", "c"]
    assert list(scale(figure, "y").labels) == ["c", "b", "a"]
    assert scale(figure, "x").limits == (-0.5, 2.5)


def test_one_panel_of_few_methods_is_a_column_wide_and_others_a_page(significance):
    assert width_mm(ss.plot_significance(significance[significance["metric"] == "iou"])) == pytest.approx(
        COLUMN_MM
    )
    assert width_mm(ss.plot_significance(significance)) == pytest.approx(PAGE_MM)

"""The forest of decreases: rows and their order, filled and hollow marks, text, words, drawing."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import (
    caption,
    decreases,
    drawn_texts,
    estimates,
    layer_data,
    legend,
    row_labels,
    texts,
)
from PIL import Image
from scipy import ndimage
from tests_support import raises

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.plots.decrease import sorter_by_loss
from salstats.display.plots.layout.theme import COLUMN_MM, MM_PER_INCH, PAGE_MM, PALETTE
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError, ValueRangeError

VALUES = {"A": 20.0, "B": 3.0, "C": 60.0, "D": -40.0}


def two_methods():
    """Decreases of two methods in two metrics."""
    frames = [decreases(VALUES | {"Average": 10.0}, method=m, metric=k) for m in "ab" for k in ("iou", "hit")]
    return pd.concat(frames, ignore_index=True)


def fills(figure, number=0):
    """The fill of each mark of a layer, by task."""
    data = layer_data(figure, "geom_point", number)
    return dict(zip(data["task"], data["fill"], strict=True))


MARGIN = {"margin_low": -np.inf, "margin_high": 30.0, "p_margin": 0.01}


def test_margins_are_dotted_lines_and_what_lies_inside_has_a_dagger():
    said = ["lower, not inferior", "not inferior", "lower", "higher, not inferior"]
    frame = decreases(VALUES, verdict=said, **MARGIN)
    figure = ss.plot_decrease(frame)
    lines = layer_data(figure, "geom_vline", 1)
    # the infinite bound is nowhere
    assert lines["bound"].tolist() == [30.0]
    marks = dict(zip(figure.data["task"], texts(figure)[0][0], strict=True))
    assert {task for task, text in marks.items() if text.endswith("†")} == {"A", "B", "D"}
    assert "Dotted lines: margins. †Not inferior: shown to lie below 30%" in caption(figure)
    # what is conclusive is the difference, as without a margin
    assert fills(figure) == fills(ss.plot_decrease(decreases(VALUES)))
    order = row_labels(ss.plot_decrease(frame, sort="significance"))
    assert order == row_labels(ss.plot_decrease(decreases(VALUES), sort="significance"))
    without = ss.plot_decrease(frame, text=False)
    assert "Dotted lines: margins, below 30%." in caption(without)
    assert "†" not in caption(without)
    figure.draw()


def test_every_two_methods_of_several_references_are_told_apart():
    pairs = [decreases(VALUES, method=m, reference=r) for m, r in (("b", "a"), ("c", "a"), ("c", "b"))]
    figure = ss.plot_decrease(pd.concat(pairs, ignore_index=True), labels={"a": "A"})
    assert list(legend(figure)) == ["b vs A", "c vs A", "c vs b"]
    assert figure.labels.x == "Decrease from reference (%, below 0: increase)"


def test_rows_stand_by_size_significance_or_label_with_the_average_last():
    frame = decreases(VALUES | {"Average": 99.0})
    assert row_labels(ss.plot_decrease(frame)) == ["C", "A", "B", "D", "Average"]
    by_verdict = decreases(
        VALUES | {"E": 50.0}, verdict=["lower", "inconclusive", "lower", "higher", "inconclusive"]
    )
    assert row_labels(ss.plot_decrease(by_verdict, sort="significance")) == ["C", "A", "E", "B", "D"]
    assert row_labels(ss.plot_decrease(by_verdict)) == ["C", "E", "A", "B", "D"]
    labels = {"task": ["D", "B"]}
    assert row_labels(ss.plot_decrease(frame, sort="labels", labels=labels)) == [
        "D",
        "B",
        "A",
        "C",
        "Average",
    ]


@pytest.mark.parametrize("tasks", ["ABCD", "BADC", "CBAD"])
def test_values_without_a_loss_are_last_in_any_order_of_the_frame(tasks):
    frame = decreases({task: {"A": 10.0, "B": np.nan, "C": 30.0, "D": 20.0}[task] for task in tasks})
    frame["verdict"] = "inconclusive"
    contrasts = read_estimates(frame, "decrease")
    for by_verdict in (True, False):
        sort_values = sorter_by_loss(contrasts, Labels(), "task", by_verdict=by_verdict)
        assert sort_values(list(tasks)) == ["C", "D", "A", "B"]


def test_conclusive_marks_are_filled_and_the_caption_says_so():
    figure = ss.plot_decrease(decreases(VALUES))
    assert fills(figure) == {"A": PALETTE[0], "B": "white", "C": PALETTE[0], "D": PALETTE[0]}
    assert "Filled marks: interval excludes 0; hollow marks: not. Sorted by" in caption(figure)
    assert "Sorted" not in caption(ss.plot_decrease(decreases(VALUES), sort="labels"))
    adjusted = decreases(VALUES, verdict="inconclusive", p_value=0.001, p_adjusted=0.2, n_tests=8)
    figure = ss.plot_decrease(adjusted, style="radiology")
    assert set(fills(figure).values()) == {"white"}
    assert "interval excludes 0 and adjusted P < .05" in caption(figure)
    assert "P values: two-sided; adjusted (8 tests)." in caption(figure)


def test_text_beside_the_marks_is_estimate_and_interval():
    columns, headings = texts(ss.plot_decrease(decreases({"A": 24.04, "B": -2.0})))
    assert columns == [["24.0 (19.0, 29.0)", "−2.0 (−7.0, 3.0)"]]
    assert headings == ["Decrease, % (95% CI)"]
    columns, _ = texts(ss.plot_decrease(decreases({"A": 24.04}), digits=2, style="ama"))
    assert columns == [["24.04 (19.04 to 29.04)"]]
    assert texts(ss.plot_decrease(decreases(VALUES), text=False)) == ([], [])


def test_a_frame_of_differences_has_its_own_unit_and_order():
    scores = ss.datasets.load_simulated().query("method != 'occlusion'")
    gaps = ss.difference(scores, reference="human", average="task", n_replicates=50)
    figure = ss.plot_decrease(gaps)
    assert figure.labels.x == "Difference, method − human benchmark"
    iou = gaps.query("metric == 'iou' and task != 'Average'").sort_values("estimate")
    assert row_labels(figure) == [*iou["task"], "Average"]
    columns, headings = texts(figure)
    assert headings == ["Difference (95% CI)"]
    assert all(text.startswith("−0.") and len(text.split(" ")[0]) == 6 for text in columns[0])


def test_methods_share_a_row_and_metrics_are_panels_below_each_other():
    figure = ss.plot_decrease(two_methods())
    assert list(figure.data["panel"].cat.categories) == ["IoU", "Hit rate"]
    assert figure.facet._ncol == 1
    assert list(legend(figure)) == ["a", "b"]
    assert [mark for _, mark in legend(figure).values()] == ["o", "s"]
    rows = figure.data.query("metric == 'iou'").pivot(index="task", columns="method", values="y")
    assert (rows["a"] > rows["b"]).all()
    assert figure.labels.x == "Decrease from human benchmark (%, below 0: increase)"
    assert figure.theme.getp("figure_size")[0] == pytest.approx(COLUMN_MM / MM_PER_INCH)


def test_panels_side_by_side_are_laid_out_for_a_page():
    figure = ss.plot_decrease(two_methods(), n_columns=2)
    assert figure.facet._ncol == 2
    assert figure.theme.getp("figure_size")[0] == pytest.approx(PAGE_MM / MM_PER_INCH)
    assert ss.plot_decrease(two_methods(), text=False).facet._ncol == 2


@pytest.mark.parametrize("term", ["percent_decrease", "difference"])
def test_each_metric_has_its_own_axis(term):
    frame = pd.concat([decreases({"A": 5.0}), decreases({"A": 80.0}, metric="hit")])
    assert ss.plot_decrease(frame.assign(term=term), sort="labels").facet.free["x"]


@pytest.mark.parametrize(
    ("term", "signs"),
    [
        ("percent_decrease", {"IoU": -1, "95th-percentile Hausdorff distance": 1}),
        ("difference", {"IoU": 1, "95th-percentile Hausdorff distance": -1}),
    ],
)
def test_the_axis_says_on_which_side_a_method_is_better_by_the_direction_of_its_metric(term, signs):
    frame = pd.concat([decreases({"A": 5.0}, metric=metric) for metric in ("iou", "hd95", "my_score")])
    figure = ss.plot_decrease(frame.assign(term=term))
    sides = layer_data(figure, "geom_better_worse_texts")
    assert dict(zip(sides["panel"], sides["better"], strict=True)) == signs
    assert {"← better", "worse →", "better →", "← worse"} <= set(drawn_texts(figure.at(60)))
    assert {"← method better", "method worse →"} <= set(drawn_texts(figure.at(183)))


def test_the_side_of_a_mean_below_0_or_of_a_metric_without_direction_is_not_named():
    of_negative_mean = decreases(VALUES, metric="nss", reference_mean=[1.0, -1.0, 1.0, 1.0])
    assert not any("better" in text for text in drawn_texts(ss.plot_decrease(of_negative_mean)))
    unknown = decreases(VALUES, metric="my_score")
    assert not any("better" in text for text in drawn_texts(ss.plot_decrease(unknown)))


def test_the_former_name_of_n_columns_works_and_says_the_new_one():
    with pytest.warns(FutureWarning, match="n_columns="):
        former = ss.plot_decrease(two_methods(), ncol=2)
    assert former.theme.getp("figure_size") == ss.plot_decrease(two_methods(), n_columns=2).theme.getp(
        "figure_size"
    )


def test_a_metric_alone_is_the_panels_title_and_a_method_alone_keeps_its_legend():
    figure = ss.plot_decrease(decreases(VALUES, metric="hit"))
    assert "Hit rate" in drawn_texts(figure)
    assert list(legend(figure)) == ["Grad-CAM"]


def openings_mm(file, dpi=300):
    """The widest circle in each white area of a picture, in mm."""
    white = np.asarray(Image.open(file).convert("L")) >= 243
    areas, n = ndimage.label(white)
    depth = ndimage.distance_transform_edt(white)
    return 2 * np.array(ndimage.maximum(depth, areas, range(1, n + 1))) * MM_PER_INCH / dpi


def test_hollow_marks_of_every_method_are_open_in_print(tmp_path):
    one_of_each = pd.concat([decreases({"A": 20.0}, method=f"m{i}") for i in range(8)], ignore_index=True)
    n_open = {}
    for verdict in ("lower", "inconclusive"):
        figure = ss.plot_decrease(one_of_each.assign(verdict=verdict), text=False)
        file = ss.save_figure(figure, tmp_path / f"{verdict}.png", width=COLUMN_MM)
        n_open[verdict] = (openings_mm(file) > 0.35).sum()
    # what is open in both is letters, and the paper around them
    assert n_open["inconclusive"] - n_open["lower"] == 8


def test_without_tasks_the_methods_are_the_rows():
    frame = pd.concat([decreases({"x": v}, method=m).drop(columns="task") for m, v in (("a", 5), ("b", 50))])
    figure = ss.plot_decrease(frame)
    assert row_labels(figure) == ["b", "a"]
    assert figure.theme.getp("legend_position") == "none"


def test_a_task_far_out_is_an_arrow_and_the_order_and_the_text_have_its_number():
    frame = decreases(VALUES | {"E": -2030.0})
    figure = ss.plot_decrease(frame)
    arrows = layer_data(figure, "geom_point", 1)
    assert arrows["task"].tolist() == ["E"]
    assert row_labels(figure)[-1] == "E"
    assert figure.data.set_index("task").loc["E", "estimate"] == -2030
    assert texts(figure)[0][0][-1] == "−2,030.0 (−2,035.0, −2,025.0)"
    without_text = ss.plot_decrease(frame, text=False)
    assert "Beyond it: IoU/E/Grad-CAM −2,030.0 (−2,035.0, −2,025.0)." in caption(without_text)
    drawn = figure.draw(show=False)
    assert drawn.axes[0].get_xlim()[0] > -100
    plt.close(drawn)


def test_limits_are_the_ends_of_the_axis():
    figure = ss.plot_decrease(decreases(VALUES), limits=(0, 50))
    drawn = figure.draw(show=False)
    assert drawn.axes[0].get_xlim() == pytest.approx((-1.5, 51.5))
    plt.close(drawn)
    assert "Bars that end in an arrow go on beyond the axis." in caption(figure)


def test_ratios_of_means_are_drawn_on_a_logarithmic_axis():
    # means of half and of twice the reference's
    frame = decreases({"A": 50.0, "B": -100.0}, half_width=10)
    figure = ss.plot_decrease(frame, scale="log-ratio", digits=1)
    numbers = figure.data.set_index("task")[["estimate", "conf_low", "conf_high"]]
    np.testing.assert_allclose(numbers.loc["A"], [0.5, 0.4, 0.6])
    np.testing.assert_allclose(numbers.loc["B"], [2, 1.9, 2.1])
    assert texts(figure) == ([["0.5 (0.4, 0.6)", "2.0 (1.9, 2.1)"]], ["Ratio (95% CI)"])
    assert layer_data(figure, "geom_vline")["guide"].tolist() == [1.0]
    assert layer_data(figure, "geom_better_worse_texts")["better"].tolist() == [1]
    assert figure.labels.x == "Ratio of means, method / human benchmark"
    assert "interval excludes 1" in caption(figure)
    drawn = figure.draw(show=False)
    assert drawn.axes[0].get_xlim() == pytest.approx(
        (np.log10(0.4) - 0.0216, np.log10(2.1) + 0.0216), abs=1e-3
    )
    plt.close(drawn)


def test_a_ratio_without_logarithm_says_so_and_a_limit_of_0_is_an_arrow():
    frame = decreases({"A": 100.0, "B": 97.0, "C": 120.0, "D": 10.0})
    figure = ss.plot_decrease(frame, scale="log-ratio", sort="labels")
    undefined = figure.data[figure.data["estimate"].isna()]
    assert undefined["task"].tolist() == ["A", "C"]
    assert layer_data(figure, "geom_row_text")["text"].tolist() == ["no logarithm"] * 2
    # the interval of B ends at -0.02
    assert layer_data(figure, "geom_point", 1)["task"].tolist() == ["B"]
    assert "No logarithm: the ratio is 0 or less." in caption(figure)
    assert "Bars that end in an arrow go on" in caption(figure)
    assert texts(figure)[0][0][0] == "0.00 (−0.05, 0.05)"
    assert "no logarithm" in drawn_texts(figure)


def test_margins_of_ratios_are_ratios():
    frame = decreases(VALUES, verdict="lower", margin_low=-50.0, margin_high=30.0, p_margin=0.01)
    figure = ss.plot_decrease(frame, scale="log-ratio")
    assert layer_data(figure, "geom_vline", 1)["bound"].tolist() == pytest.approx([0.7, 1.5])


def test_ratios_need_percentage_decreases():
    with raises(SalstatsError, option="scale"):
        ss.plot_decrease(decreases(VALUES, term="difference"), scale="log-ratio")


def test_rows_without_a_decrease_say_so_and_the_caption_counts_them():
    frame = pd.concat([decreases(VALUES), decreases({"A": 1.0}, metric="hit")], ignore_index=True)
    frame.loc[1, ["estimate", "conf_low", "conf_high"]] = np.nan
    figure = ss.plot_decrease(frame)
    # undefined rows stand after the others
    assert row_labels(figure) == ["C", "A", "D", "B"]
    places = layer_data(figure, "geom_row_text")
    assert places.groupby("panel", observed=True)["text"].apply(list).to_dict() == {
        "IoU": ["not defined"],
        "Hit rate": ["no estimate"] * 3,
    }
    assert "1 of 5 estimates is not defined." in caption(figure)
    assert drawn_texts(figure).count("not defined") == 1


def test_a_metric_without_any_decrease_has_no_panel_and_is_named():
    undefined = decreases(VALUES, metric="hit", estimate=np.nan)
    figure = ss.plot_decrease(pd.concat([decreases(VALUES), undefined], ignore_index=True))
    assert list(figure.data["panel"].cat.categories) == ["IoU"]
    assert "Undefined, not drawn: Hit rate/A/Grad-CAM, Hit rate/B/Grad-CAM, Hit rate/C" in caption(figure)


def test_a_bar_without_end_stops_at_the_axis():
    frame = decreases(VALUES)
    frame.loc[1, ["conf_low", "conf_high"]] = -np.inf, np.inf
    figure = ss.plot_decrease(frame)
    drawn = figure.draw(show=False)
    lines = [c for c in drawn.axes[0].collections if type(c).__name__ == "LineCollection"]
    ends = np.vstack([path.vertices for line in lines for path in line.get_paths()])
    assert np.isfinite(ends).all()
    assert texts(figure)[0][0][1] == "3.0 (−∞, ∞)"
    assert "a bar that ends with the axis has no limit there" in caption(figure)


def test_decreases_without_interval_are_filled_by_their_p_value_if_they_have_one():
    frame = decreases(VALUES).drop(columns=["conf_low", "conf_high", "conf_level", "interval", "verdict"])
    figure = ss.plot_decrease(frame)
    assert set(fills(figure).values()) == {"white"}
    assert caption(figure).startswith("No confidence intervals. Sorted by size of the decrease in IoU")
    assert texts(figure)[1] == ["Decrease, %"]
    by_p_value = ss.plot_decrease(frame.assign(p_value=[0.01, 0.2, 0.04, 0.06]))
    assert [fill != "white" for fill in fills(by_p_value).values()] == [True, False, True, False]
    assert "Filled marks: P < 0.05" in caption(by_p_value)


@pytest.mark.parametrize(
    ("frame", "error", "expected"),
    [
        (estimates(), SalstatsError, {"option": "decrease", "match": "term 'mean'"}),
        (
            decreases(VALUES).assign(formula="a ~ b"),
            SalstatsError,
            {"option": "decrease", "match": "coefficients"},
        ),
        (decreases(VALUES).assign(estimate=np.nan), SalstatsError, {"column": "estimate"}),
        (pd.concat([decreases(VALUES)] * 2), SalstatsError, {"match": "more than one row"}),
    ],
)
def test_frames_that_cannot_be_drawn_are_an_error(frame, error, expected):
    with raises(error, **expected):
        ss.plot_decrease(frame)


@pytest.mark.parametrize(
    "options",
    [
        {"sort": "name"},
        {"digits": -1},
        {"n_columns": 0},
        {"limits": (1, 0)},
        {"scale": "log"},
        {"width": 8.9},
        {"style": "lancet"},
    ],
)
def test_options_that_do_not_fit_are_an_error(options):
    ((option, value),) = options.items()
    with raises(ValueRangeError, option=option, value=value):
        ss.plot_decrease(decreases(VALUES), **options)


def test_the_largest_loss_leads_where_smaller_is_better():
    # means of 5 (reference) and 10 or 6: both lie above, the first by more
    rows = [("hd95", "a", "much worse", -100.0), ("hd95", "a", "a bit worse", -20.0)]
    frame = pd.DataFrame(rows, columns=["metric", "method", "task", "estimate"])
    frame.insert(3, "reference", "human")
    frame.insert(4, "term", "percent_decrease")
    frame = frame.assign(conf_low=frame["estimate"] - 5, conf_high=frame["estimate"] + 5, verdict="higher")
    for sort in ("size", "significance"):
        assert row_labels(ss.plot_decrease(frame, sort=sort)) == ["much worse", "a bit worse"]


@pytest.mark.parametrize(
    ("term", "metric"),
    [
        ("difference", "iou"),
        ("median_difference", "iou"),
        ("quantile_difference", "iou"),
        ("auroc_difference", "iou"),
        ("auroc_difference", "hd95"),
    ],
)
def test_the_method_furthest_below_the_reference_leads_whatever_the_difference(term, metric):
    frame = decreases({"A": -0.1, "B": -0.4, "C": 0.3}, metric=metric, half_width=0.05, term=term)
    assert row_labels(ss.plot_decrease(frame)) == ["B", "A", "C"]
    # without verdicts the interval tells on which side a method is
    assert row_labels(ss.plot_decrease(frame.drop(columns="verdict"), sort="significance")) == ["B", "A", "C"]


def test_marks_without_methods_have_the_first_colour_and_inconclusive_ones_are_hollow():
    frame = decreases(VALUES).drop(columns="method")
    # C and A lie above 0 with their limits, D below, and B on both sides
    assert fills(ss.plot_decrease(frame)) == {"A": PALETTE[0], "B": "white", "C": PALETTE[0], "D": PALETTE[0]}
    of_two = layer_data(ss.plot_decrease(two_methods()), "geom_point").query("conclusive")
    assert of_two.groupby("method")["fill"].nunique().tolist() == [1, 1]
    assert of_two["fill"].nunique() == 2

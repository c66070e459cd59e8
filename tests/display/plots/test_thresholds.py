"""Threshold sweeps: a line per task, panels that share the tasks, the best threshold marked."""

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, drawn_texts, layer_data, layers, scale
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.theme import COLUMN_MM, MM_PER_INCH, PAGE_MM
from salstats.errors import ColumnError, SalstatsError, ValueRangeError

THRESHOLDS = [0.2, 0.3, 0.4, 0.5]


def sweep(tasks=("Edema", "Atelectasis"), estimates=(0.3, 0.5, 0.4, 0.1), **columns):
    """The same sweep for every task."""
    parts = [pd.DataFrame({"task": t, "threshold": THRESHOLDS, "estimate": estimates}) for t in tasks]
    return pd.concat(parts, ignore_index=True).assign(**columns)


@pytest.fixture(scope="module")
def tuned():
    """A sweep of ten tasks, each with a curve of its own, and the threshold of its largest estimate."""
    thresholds = np.linspace(0.2, 0.8, 7)
    chosen = pd.Series(np.resize(thresholds, 10), list("ABCDEFGHIJ"), name="threshold").rename_axis("task")
    estimates = {task: 0.3 - (thresholds - best) ** 2 for task, best in chosen.items()}
    parts = [pd.DataFrame({"task": t, "threshold": thresholds, "estimate": e}) for t, e in estimates.items()]
    return pd.concat(parts, ignore_index=True), chosen


def marked(figure):
    """The marked thresholds by task."""
    best = figure.data[figure.data["best"]]
    assert best["task"].is_unique
    return best.set_index("task")["threshold"]


def names(figure):
    """The texts of the legend."""
    return list(scale(figure, "color").limits)


def test_marked_maxima_are_those_of_each_task(tuned):
    detail, chosen = tuned
    figure = ss.plot_thresholds(detail)
    pd.testing.assert_series_equal(marked(figure).round(12).sort_index(), chosen.sort_index())
    large = layers(figure, "geom_point")[1]._data
    np.testing.assert_array_equal(large["threshold"], figure.data.loc[figure.data["best"], "threshold"])
    assert sorted(names(figure)) == sorted(f"{task} ({threshold:g})" for task, threshold in chosen.items())


def test_ten_tasks_share_two_panels_in_alphabetical_order(tuned):
    figure = ss.plot_thresholds(tuned[0])
    panels = figure.data.groupby("panel", observed=True)["task"].unique().map(list)
    tasks = sorted(tuned[1].index)
    assert list(panels) == [tasks[:5], tasks[5:]]
    assert figure.theme.getp("figure_size")[0] * MM_PER_INCH == pytest.approx(PAGE_MM)
    # a colour, or a mark and a type of line, of its own for each
    looks = [map(str, scale(figure, aesthetic).palette(10)) for aesthetic in ("color", "shape", "linetype")]
    assert len(set(zip(*looks, strict=True))) == 10


def test_values_are_drawn_as_they_are(tuned):
    figure = ss.plot_thresholds(tuned[0], labels={"estimate": "mIoU"})
    merged = figure.data.merge(tuned[0], on=["task", "threshold", "estimate"])
    assert len(merged) == len(figure.data) == len(tuned[0])
    assert (figure.labels.x, figure.labels.y) == ("Threshold", "mIoU")
    assert scale(figure, "x").breaks((0.2, 0.8)) == pytest.approx([0.2, 0.4, 0.6, 0.8])


def test_the_smallest_value_is_marked_where_it_is_the_best():
    figure = ss.plot_thresholds(sweep(metric="hd95"))
    assert marked(figure).tolist() == [0.5, 0.5]
    assert "threshold of the smallest value" in caption(figure)
    assert figure.labels.y.replace("\n", " ") == "Mean 95th-percentile Hausdorff distance (smaller is better)"


def test_the_axis_is_named_by_the_metric():
    assert ss.plot_thresholds(sweep(metric="iou", term="mean")).labels.y == "Mean IoU"
    assert ss.plot_thresholds(sweep()).labels.y == "Estimate"


def test_few_tasks_share_one_panel_and_many_have_more():
    one = ss.plot_thresholds(sweep())
    assert one.data["panel"].nunique() == 1
    assert one.theme.getp("figure_size")[0] * MM_PER_INCH == pytest.approx(COLUMN_MM)
    sixty = ss.plot_thresholds(sweep([f"Task {i:02d}" for i in range(60)]))
    per_panel = sixty.data.groupby("panel", observed=True)["task"].nunique()
    assert per_panel.max() == 8
    assert ss.plot_thresholds(sweep(), n_panels=2).data["panel"].nunique() == 2
    assert ss.plot_thresholds(sweep(), n_panels=9).data["panel"].nunique() == 2


def test_each_method_has_panels_of_its_own():
    rows = pd.concat([sweep(method="human"), sweep(method="gradcam", estimates=(0.1, 0.2, 0.3, 0.2))])
    figure = ss.plot_thresholds(rows)
    assert list(figure.data["panel"].cat.categories) == ["Grad-CAM", "Human benchmark"]
    best = figure.data[figure.data["best"]].groupby("method")["threshold"].unique().map(list)
    assert best.to_dict() == {"gradcam": [0.4], "human": [0.3]}
    # numbers in brackets would not say of which method
    assert names(figure) == ["Atelectasis", "Edema"]
    assert "Large marks: threshold of the largest" in caption(figure)
    assert {"Grad-CAM", "Human benchmark"} <= set(drawn_texts(figure))


def test_intervals_are_bars_and_said():
    rows = sweep(conf_level=0.95, interval="percentile")
    rows = rows.assign(conf_low=rows["estimate"] - 0.1, conf_high=rows["estimate"] + 0.1)
    figure = ss.plot_thresholds(rows)
    bars = layer_data(figure, "geom_linerange")
    np.testing.assert_allclose(bars["conf_high"] - bars["conf_low"], 0.2)
    assert "95% percentile bootstrap intervals" in caption(figure)
    assert not layers(ss.plot_thresholds(rows.assign(conf_low=np.nan)), "geom_linerange")


def test_labels_name_and_order_tasks():
    figure = ss.plot_thresholds(sweep(), labels={"task": {"Edema": "Oedema"}, "threshold": "Cut-off"})
    assert names(figure) == ["Oedema (0.3)", "Atelectasis (0.3)"]
    assert figure.labels.x == "Cut-off"


def test_missing_values_are_left_out_and_said():
    rows = sweep(estimates=(np.nan, 0.2, 0.4, 0.1))
    figure = ss.plot_thresholds(rows)
    assert figure.data["estimate"].notna().all()
    assert "Undefined, not drawn: Edema/0.2 and Atelectasis/0.2." in caption(figure)
    assert "Threshold" in drawn_texts(figure)
    # a single method is not named, several are
    one_method = rows.assign(method="gradcam")
    assert "Undefined, not drawn: Edema/0.2 and Atelectasis/0.2." in caption(ss.plot_thresholds(one_method))
    two = pd.concat([sweep(method="human"), one_method])
    assert "not drawn: Grad-CAM/Edema/0.2 and Grad-CAM/Atelectasis/0.2." in caption(ss.plot_thresholds(two))
    nothing = rows.assign(estimate=rows["estimate"].mask(rows["task"] == "Edema"))
    assert "Undefined, not drawn: Edema and Atelectasis/0.2." in caption(ss.plot_thresholds(nothing))


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(sweep(["Edema"]), id="one task"),
        pytest.param(sweep(estimates=0.3), id="all equal"),
        pytest.param(sweep().query("threshold == 0.2"), id="one threshold"),
        pytest.param(sweep([f"Task {i:02d}" for i in range(60)]), id="60 tasks"),
    ],
)
def test_unusual_sweeps_are_drawn(rows):
    assert "Threshold" in drawn_texts(ss.plot_thresholds(rows))


@pytest.mark.parametrize(
    ("rows", "options", "error", "expected"),
    [
        (
            sweep().astype({"estimate": str}).assign(estimate="x"),
            {},
            ColumnError,
            {"column": "estimate"},
        ),
        (
            pd.concat([sweep(metric="iou"), sweep(metric="hit")]),
            {},
            SalstatsError,
            {"choices": ("iou", "hit")},
        ),
        (pd.concat([sweep(), sweep()]), {}, SalstatsError, {"match": "task Edema, threshold 0.2"}),
        (sweep(estimates=np.nan), {}, SalstatsError, {"column": "estimate"}),
        (sweep(task=None), {}, SalstatsError, {"column": "task", "match": "task or threshold"}),
        (sweep(), {"n_panels": 0}, ValueRangeError, {"option": "n_panels", "value": 0}),
        (sweep(), {"width": 1830}, ValueRangeError, {"option": "width", "value": 1830}),
    ],
)
def test_what_cannot_be_drawn_is_said(rows, options, error, expected):
    with raises(error, **expected):
        ss.plot_thresholds(rows, **options)


def test_lines_need_two_points_and_the_best_ones_have_a_black_edge():
    rows = pd.concat([sweep(["Edema"]), sweep(["Nodule"]).head(1)])
    figure = ss.plot_thresholds(rows)
    assert layer_data(figure, "geom_line")["task"].unique().tolist() == ["Edema"]
    points, best = layers(figure, "geom_point")
    assert points.mapping["fill"] == best.mapping["fill"] == "name"
    assert best.geom.aes_params["color"] == "black"
    assert best.geom.aes_params["size"] > points.geom.aes_params["size"]
    assert not best.show_legend


def test_panels_of_tasks_are_numbered_and_four_make_a_square():
    figure = ss.plot_thresholds(sweep(list("abcd")), n_panels=4)
    assert list(figure.data["panel"].cat.categories) == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
    assert figure.facet._ncol == 2
    assert ss.plot_thresholds(sweep(list("abcdef")), n_panels=6).facet._ncol == 3
    # five tasks share a panel, and six have two
    assert ss.plot_thresholds(sweep(list("abcde"))).data["panel"].nunique() == 1
    assert ss.plot_thresholds(sweep(list("abcdef"))).data["panel"].nunique() == 2
    two = pd.concat([sweep(list("ab"), method=method) for method in ("lime", "gradcam")])
    assert list(ss.plot_thresholds(two, n_panels=2).data["panel"].cat.categories) == [
        "Grad-CAM, 1 of 2", "Grad-CAM, 2 of 2", "LIME, 1 of 2", "LIME, 2 of 2",
    ]  # fmt: skip


def test_the_first_of_equal_thresholds_is_the_best_and_rows_stand_in_their_order():
    rows = sweep(estimates=(0.5, 0.5, 0.2, 0.1), method="lime").sample(frac=1, random_state=1)
    figure = ss.plot_thresholds(rows)
    assert marked(figure).tolist() == [0.2, 0.2]
    assert figure.data["threshold"].tolist() == THRESHOLDS * 2
    assert caption(figure) == (
        "Method: LIME. Large marks, numbers in brackets: threshold of the largest value (the first of equal "
        "ones)."
    )


def test_a_row_without_a_threshold_is_an_error_that_says_where():
    rows = sweep()
    rows.loc[[1, 5], "threshold"] = np.nan
    with raises(SalstatsError, column="threshold", rows=(1, 5)):
        ss.plot_thresholds(rows)

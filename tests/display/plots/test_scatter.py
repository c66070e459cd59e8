"""Scatter figures: points, lines and correlations of other functions' frames, each in its panel."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, drawn_texts, layer_data, layers, scale, size_mm
from matplotlib.colors import to_rgb
from tests_support import raises, with_text_columns

import salstats as ss
from salstats.display.plots.layout.points import RASTER_POINTS
from salstats.display.plots.layout.theme import COLUMN_MM, PAGE_MM, PALETTE, REFERENCE_COLOUR
from salstats.errors import Call, ColumnError, SalstatsError, SalstatsWarning, ValueRangeError
from salstats.stats.binned_means import binned_means

BY = ["method", "task"]


@pytest.fixture(scope="module")
def scores():
    """The simulated study."""
    return ss.datasets.load_simulated()


@pytest.fixture(scope="module")
def fit(scores):
    """Lines of iou along prob."""
    return ss.fit_line(scores, "iou ~ prob", by=BY, errors="cluster", n_points=5)


@pytest.fixture(scope="module")
def correlations(scores):
    """Correlations of iou and prob."""
    with warnings.catch_warnings():
        # two views of a patient; what they say is not what is drawn here
        warnings.simplefilter("ignore", SalstatsWarning)
        return ss.correlate(scores, "iou", "prob", by=BY)


def table(n=40, **columns):
    """A tidy table of n rows."""
    rng = np.random.default_rng(3)
    return pd.DataFrame({"x": rng.random(n), "y": rng.random(n)}).assign(**columns)


def test_every_complete_row_is_a_point_in_its_panel_and_colour(scores):
    figure = ss.plot_scatter(scores, "prob", "iou")
    used = ss.augment(scores, "iou ~ prob", by=BY)
    assert len(figure.data) == len(used)
    points = figure.data.sort_values(["x", "y"])[["x", "y"]].to_numpy()
    np.testing.assert_array_equal(points, used.sort_values(["prob", "iou"])[["prob", "iou"]].to_numpy())
    assert list(figure.data["panel"].cat.categories) == sorted(scores["task"].unique())
    assert list(figure.data["group"].cat.categories) == ["Human benchmark", "Grad-CAM", "Occlusion"]
    edema = (figure.data["panel"] == "Edema") & (figure.data["group"] == "Grad-CAM")
    assert edema.sum() == ((used["task"] == "Edema") & (used["method"] == "gradcam")).sum()
    mapping = layers(figure, "geom_point")[0].mapping
    assert (mapping["x"], mapping["y"], mapping["color"], mapping["shape"]) == (
        "x_drawn",
        "y_drawn",
        "group",
        "group",
    )
    assert (figure.labels.x, figure.labels.y) == ("Model confidence", "IoU")
    colours = scale(figure, "color").palette(3)
    assert list(colours) == [REFERENCE_COLOUR, *PALETTE[:2]]


def test_rows_that_miss_a_value_are_counted_in_the_caption(scores):
    text = caption(ss.plot_scatter(scores, "prob", "iou"))
    # a finding that is absent has no score to miss
    present = scores.query("metric == 'iou' and label == 1")
    n, missing = len(present), present["score"].isna().sum()
    assert f"Not drawn: {missing:,} of {n:,} rows, which miss Model confidence or IoU." in text
    assert ss.plot_scatter(table(), "x", "y").labels.caption == ""


def test_lines_and_bands_are_those_of_the_fit(scores, fit):
    figure = ss.plot_scatter(scores, "prob", "iou", fit=fit)
    line, band = layer_data(figure, "geom_line"), layer_data(figure, "geom_ribbon")
    for drawn in (line, band):
        pd.testing.assert_frame_equal(
            drawn[["method", "task", "value", "estimate", "conf_low", "conf_high"]],
            with_text_columns(fit[["method", "task", "value", "estimate", "conf_low", "conf_high"]]),
        )
    assert (line["panel"] == line["task"]).all()
    assert set(line.loc[line["method"] == "human", "group"]) == {"Human benchmark"}
    assert layers(figure, "geom_ribbon")[0].mapping["ymin"] == "conf_low"
    assert layers(figure, "geom_line")[0].mapping["linetype"] == "group"
    assert "Lines: fitted mean (IoU ~ Model confidence) and pointwise 95% CI." in caption(figure)


def test_other_lines_of_a_fit_are_left_out(scores, fit):
    more = ss.fit_line(scores, ["hit ~ prob", "iou ~ elongation"], by=BY, errors="cluster")
    overall = ss.fit_line(scores, "iou ~ prob", by=BY, errors="cluster", n_points=5, overall=True)
    figure = ss.plot_scatter(scores, "prob", "iou", fit=pd.concat([more, overall], ignore_index=True))
    assert len(layer_data(figure, "geom_line")) == len(fit)


def test_a_line_of_all_tasks_stands_in_every_panel_and_is_black_without_a_colour(scores):
    pooled = ss.fit_line(scores.query("method == 'gradcam'"), "iou ~ prob", by=(), errors="cluster")
    figure = ss.plot_scatter(scores, "prob", "iou", fit=pooled)
    line = layer_data(figure, "geom_line")
    assert line["panel"].value_counts().to_dict() == dict.fromkeys(scores["task"].unique(), len(pooled))
    assert layers(figure, "geom_line")[0].geom.aes_params["color"] == REFERENCE_COLOUR
    methods = ss.fit_line(scores, "iou ~ prob", by="method", errors="cluster", n_points=2)
    line = layer_data(ss.plot_scatter(scores, "prob", "iou", fit=methods), "geom_line")
    assert line.groupby("group", observed=True).size().tolist() == [10, 10, 10]


def test_a_fit_without_limits_has_no_band_and_a_single_mean_no_line(scores, fit):
    bare = fit.assign(conf_low=np.nan, conf_high=np.nan)
    figure = ss.plot_scatter(scores, "prob", "iou", fit=bare)
    assert not layers(figure, "geom_ribbon")
    assert "CI" not in caption(figure)
    single = fit.groupby(BY).head(1)
    assert not layers(ss.plot_scatter(scores, "prob", "iou", fit=single), "geom_line")


def test_correlations_stand_above_the_points_in_the_order_of_the_legend(scores, correlations):
    figure = ss.plot_scatter(scores, "prob", "iou", correlations=correlations)
    texts = layer_data(figure, "geom_text")
    row = correlations.query("method == 'gradcam' and task == 'Edema'").iloc[0]
    shown = texts.query("panel == 'Edema' and group == 'Grad-CAM'")["text"].iloc[0]
    assert shown.strip().startswith(f"ρ = {row['estimate']:.2f} (−0.14, {row['conf_high']:.2f})")
    assert len(texts) == len(correlations)
    for _, panel in texts.groupby("panel", observed=True):
        assert list(panel["group"]) == ["Human benchmark", "Grad-CAM", "Occlusion"]
        # each text, and its key, begins below the lines of those above it
        n_lines = panel["text"].str.lstrip().str.count("\n") + 1
        n_lines_above = panel["text"].str.count("\n") + 1 - n_lines
        assert n_lines_above.tolist() == [0, n_lines.iloc[0], n_lines.iloc[:2].sum()]
        assert panel["key"].str.count("\n").tolist() == n_lines_above.tolist()
    assert "ρ: Spearman correlation (95% CI)." in caption(figure)


def test_correlations_may_name_the_pair_the_other_way_and_be_of_another_kind(scores):
    one = scores.query("method == 'gradcam'").drop(columns="patient").drop_duplicates(["case", "metric"])
    pearson = ss.correlate(one, "prob", "iou", test="pearson", by="task")
    figure = ss.plot_scatter(one, "prob", "iou", correlations=pearson)
    assert layer_data(figure, "geom_text")["text"].str.startswith("r = ").all()
    assert not any(layer._data is layer_data(figure, "geom_text") for layer in layers(figure, "geom_segment"))


@pytest.mark.parametrize("width", [COLUMN_MM, PAGE_MM])
def test_correlations_of_many_methods_stay_in_their_panels_with_their_limits(width):
    names = {"task": [f"t{i}" for i in range(5)], "method": [f"method {i}" for i in range(8)]}
    keys = pd.MultiIndex.from_product(names.values(), names=list(names)).to_frame(index=False)
    rows = keys.merge(pd.DataFrame({"x": [0.1, 0.4, 0.9], "y": [0.5, 0.1, 0.8]}), how="cross")
    found = keys.assign(x="x", y="y", term="pearson", estimate=-0.45, conf_low=-0.61, conf_high=-0.18)
    figure = ss.plot_scatter(rows, "x", "y", correlations=found, colour="method", width=width)
    texts = pd.concat([layer_data(page, "geom_text") for page in figure.pages])
    assert len(texts) == len(found)
    assert texts["text"].str.strip().eq("r = −0.45 (−0.61, −0.18)").all()
    drawn = figure.draw(show=False)
    drawn.draw_without_rendering()
    for axes in drawn.axes:
        boxes = [text.get_window_extent() for text in axes.texts]
        assert max(box.x1 for box in boxes) <= axes.bbox.x1 + 2
    plt.close(drawn)


def test_a_band_that_is_far_wider_than_the_data_is_cut_and_that_is_said(scores, fit):
    wide = fit.assign(conf_low=fit["conf_low"] - 9)
    figure = ss.plot_scatter(scores, "prob", "iou", fit=wide)
    assert layer_data(figure, "geom_ribbon")["conf_low"].min() > -1
    assert "95% CI, cut where it is wide." in caption(figure)


def test_an_undefined_correlation_is_a_dash(scores, correlations):
    bare = correlations.assign(estimate=np.nan, conf_low=np.nan, conf_high=np.nan)
    figure = ss.plot_scatter(scores, "prob", "iou", correlations=bare)
    assert set(layer_data(figure, "geom_text")["text"].str.strip()) == {"ρ = —"}
    assert "95%" not in caption(figure)


def test_an_interval_wider_than_its_panel_stands_below_the_coefficient():
    rows = table(6, method=["a", "b"] * 3)
    # numbers of correlations are shorter, and fit the narrowest figure in narrow letters
    limits = {"conf_low": [-1000.61, 0.2], "conf_high": [-1000.18, 0.4]}
    found = pd.DataFrame(
        {"method": ["a", "b"], "x": "x", "y": "y", "term": "pearson", "estimate": [-1000.45, 0.3]}
    )
    figure = ss.plot_scatter(rows, "x", "y", correlations=found.assign(**limits), width=40)
    lines = [text.split("\n") for text in layer_data(figure, "geom_text")["text"]]
    assert [[line.strip() for line in of_method] for of_method in lines] == [
        ["r = −1,000.45", "(−1,000.61, −1,000.18)"],
        ["", "", "r = 0.30", "(0.20, 0.40)"],
    ]


def test_hits_are_rates_in_bins_with_their_intervals(scores):
    figure = ss.plot_scatter(scores, "prob", "hit")
    rates = layer_data(figure, "geom_point")
    expected = binned_means(
        scores, "prob", "hit", panels=["task"], groups=["method"], bin_per_distinct_x=False
    )
    keys = ["task", "method", "bin"]
    drawn = rates.set_index(keys).loc[pd.MultiIndex.from_frame(expected[keys])]
    np.testing.assert_array_equal(drawn["estimate"], expected["estimate"])
    bars = layer_data(figure, "geom_linerange").set_index(keys).loc[drawn.index]
    np.testing.assert_array_equal(bars["conf_low"], expected["conf_low"])
    assert rates["estimate"].between(0, 1).all()
    # methods of a bin do not hide each other
    assert not rates.duplicated(["panel", "x_drawn"]).any()
    assert max(scale(figure, "y").breaks) == 1
    assert "bins of Model confidence between its quantiles" in caption(figure)


def test_hits_by_a_few_whole_numbers_are_rates_at_each_of_them(scores):
    figure = ss.plot_scatter(scores, "n_instances", "hit")
    assert sorted(layer_data(figure, "geom_point")["x_mean"].unique()) == [1, 2, 3]
    assert "at each value of" in caption(figure)


def test_few_whole_numbers_are_spread_beside_their_place(scores):
    figure = ss.plot_scatter(scores, "n_instances", "iou")
    apart = figure.data["x_drawn"] - figure.data["x"]
    assert apart.abs().max() <= 0.35
    assert apart.groupby(figure.data["group"], observed=True).mean().is_monotonic_increasing
    assert list(scale(figure, "x").breaks) == [1, 2, 3]
    assert "spread sideways" in caption(figure)
    np.testing.assert_array_equal(figure.data["y_drawn"], figure.data["y"])


def test_many_points_are_a_bitmap_and_very_many_are_counts_in_cells():
    few, many = table(RASTER_POINTS), table(RASTER_POINTS + 1)
    assert not layers(ss.plot_scatter(few, "x", "y"), "geom_point")[0].raster
    assert layers(ss.plot_scatter(many, "x", "y"), "geom_point")[0].raster
    figure = ss.plot_scatter(table(6000), "x", "y")
    cells = layer_data(figure, "geom_rect")
    assert not layers(figure, "geom_point")
    assert cells["count"].sum() == 6000
    one = cells.loc[cells["count"].idxmax()]
    inside = figure.data["x"].between(one["x"], one["x_end"], inclusive="left")
    inside &= figure.data["y"].between(one["y"], one["y_end"], inclusive="left")
    assert inside.sum() == one["count"]

    def fill(frame):
        return layers(ss.plot_scatter(frame, "x", "y"), "geom_rect")[0].geom.aes_params["fill"]

    # cells of one method are blue, and grey where they hold points of several
    several = table(6000, method=["a", "b"] * 3000)
    assert to_rgb(fill(several))[0] == to_rgb(fill(several))[2]
    assert fill(several) != fill(table(6000)) == fill(table(6000, method="a"))


def test_a_figure_of_very_many_points_is_a_small_file(tmp_path):
    rows = table(100_000, task=np.resize(list("abcde"), 100_000), method=np.resize(["human", "cam"], 100_000))
    fit = ss.fit_line(rows, "y ~ x", by=BY)
    file = ss.save_figure(ss.plot_scatter(rows, "x", "y", fit=fit), tmp_path / "figure.pdf")
    assert file.stat().st_size < 500_000


def test_panels_are_chosen_by_their_number_and_width(scores):
    assert size_mm(ss.plot_scatter(scores, "prob", "iou"))[0] == pytest.approx(PAGE_MM)
    two = scores[scores["task"].isin(["Edema", "Atelectasis"])]
    assert size_mm(ss.plot_scatter(two, "prob", "iou"))[0] == pytest.approx(COLUMN_MM)
    figure = ss.plot_scatter(scores, "prob", "iou", width=COLUMN_MM)
    assert figure.facet._ncol == 3
    assert ss.plot_scatter(scores, "prob", "iou", width=COLUMN_MM, n_columns=2).facet._ncol == 2
    one = ss.plot_scatter(scores, "prob", "iou", by=())
    assert set(one.data["panel"]) == {""}
    assert type(one.facet).__name__ == "facet_null"


def test_labels_name_axes_panels_and_colours_and_order_them(scores):
    figure = ss.plot_scatter(
        scores, "prob", "iou", labels={"task": {"Edema": "Oedema", "Cardiomegaly": "Heart"}, "prob": "P"}
    )
    assert figure.labels.x == "P"
    assert list(figure.data["panel"].cat.categories)[:2] == ["Oedema", "Heart"]


def test_a_unit_at_the_end_of_a_name_is_in_brackets():
    figure = ss.plot_scatter(table().rename(columns={"x": "area_px", "y": "hd95"}), "area_px", "hd95")
    assert figure.labels.x == "Area (px)"
    # the direction stands on a line of its own where the axis is short
    assert " ".join(figure.labels.y.split()) == "95th-percentile Hausdorff distance (smaller is better)"


@pytest.mark.parametrize("rows", [table(1), table(5, y=0.5), table(5, y=0.0, x=1.0)])
def test_one_case_and_equal_values_are_drawn(rows):
    assert drawn_texts(ss.plot_scatter(rows, "x", "y"))


@pytest.mark.parametrize(
    ("names", "options", "error", "expected"),
    [
        (("prob", "iuo"), {}, ColumnError, {"match": "did you mean 'iou'"}),
        (("prob", "case"), {}, ColumnError, {"column": "case"}),
        (("prob", "prob"), {}, SalstatsError, {"option": "x", "column": "prob"}),
        (("prob", "score"), {}, SalstatsError, {"column": "metric", "choices": ("iou", "hit")}),
        (("prob", "iou"), {"by": "site"}, ColumnError, {"column": "site"}),
        (
            ("prob", "iou"),
            {"by": "task", "colour": "task"},
            ColumnError,
            {"option": "colour", "value": "task"},
        ),
        (("prob", "iou"), {"width": 8.9}, ValueRangeError, {"option": "width", "value": 8.9}),
        (("prob", "iou"), {"n_columns": 0}, ValueRangeError, {"option": "n_columns", "value": 0}),
        (
            ("prob", "iou"),
            {"labels": {"Edema": "a", "Atelectasis": "a"}},
            SalstatsError,
            {"match": "same label"},
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(scores, names, options, error, expected):
    with raises(error, **expected):
        ss.plot_scatter(scores, *names, **options)


def test_a_fit_of_something_else_is_refused(scores, fit):
    with raises(SalstatsError, option="fit", choices=("iou along prob",)):
        ss.plot_scatter(scores, "elongation", "iou", fit=fit)
    log = fit.assign(formula="log(iou) ~ prob")
    with raises(SalstatsError, option="fit", choices=("log(iou) along prob",)):
        ss.plot_scatter(scores, "prob", "iou", fit=log)
    with raises(SalstatsError, option="fit", column="method", message="'task'"):
        ss.plot_scatter(scores[["case", "task", "prob"]].assign(iou=0.5), "prob", "iou", fit=fit)
    twice = pd.concat([fit, fit.assign(formula="iou ~ prob + age")])
    with raises(SalstatsError, option="fit", rows=tuple(range(len(fit), 2 * len(fit)))):
        ss.plot_scatter(scores, "prob", "iou", fit=twice)
    with raises(SalstatsError, option="fit", column=None, rows=()):
        ss.plot_scatter(scores, "prob", "iou", fit=fit.assign(task="Nodule"))
    with raises(ColumnError, column="covariate"):
        ss.plot_scatter(scores, "prob", "iou", fit=ss.regress(scores, "iou ~ prob", by=BY, errors="cluster"))


def test_the_line_of_a_gap_goes_with_the_rows_of_the_gap(scores):
    gap = ss.fit_line(scores, "iou ~ prob", by=BY, errors="cluster", reference="human")
    augment = Call("augment", ("data", "formula"), {"reference": "human"})
    with raises(SalstatsError, option="fit", column="reference", hint=augment):
        ss.plot_scatter(scores, "prob", "iou", fit=gap)
    rows = ss.augment(scores, "iou ~ prob", by=BY, reference="human")
    figure = ss.plot_scatter(rows, "prob", "iou", fit=gap, labels={"iou": "Gap in IoU"})
    assert len(layer_data(figure, "geom_line")) == len(gap)


def test_correlations_of_something_else_are_refused(scores, correlations):
    with raises(SalstatsError, option="correlations", choices=("iou and prob",)):
        ss.plot_scatter(scores, "elongation", "iou", correlations=correlations)
    kendall = correlations.assign(term="kendall")
    with raises(SalstatsError, option="correlations", hint="keep one formula, test and pair"):
        ss.plot_scatter(scores, "prob", "iou", correlations=pd.concat([correlations, kendall]))


def six_methods(tasks=("Edema",)):
    keys = pd.MultiIndex.from_product(
        [tasks, [f"m{i}" for i in range(5)] + ["human"]], names=["task", "method"]
    )
    cases = pd.DataFrame({"case": [f"c{i}" for i in range(10)], "size": np.linspace(0, 1, 10)})
    return keys.to_frame(index=False).merge(cases, how="cross").assign(iou=lambda d: 0.1 + 0.5 * d["size"])


def test_more_than_four_methods_have_panels_of_their_own_with_the_others_in_grey_and_no_legend():
    scores = six_methods(["Edema", "Lesion"])
    figure = ss.plot_scatter(scores, "size", "iou", width=PAGE_MM)
    panels = list(figure.data["panel"].cat.categories)
    assert len(panels) == 12
    assert panels[0] == "Edema, Human benchmark"
    # the methods of a task stand in one row
    assert figure.facet._ncol == 6
    assert figure.theme.getp("legend_position") == "none"
    assert layer_data(figure, "geom_point", 0)["panel"].value_counts().eq(50).all()
    assert layer_data(figure, "geom_point", 1)["panel"].value_counts().eq(10).all()
    assert "Light grey points: the other methods." in caption(figure)
    # each method keeps its colour
    colours = list(scale(figure, "color").palette(6))
    assert len(set(colours)) == 6
    assert colours[0] == REFERENCE_COLOUR


def test_methods_of_one_task_are_named_without_it_and_a_user_may_draw_them_in_one_panel():
    scores = six_methods()
    figure = ss.plot_scatter(scores, "size", "iou")
    assert list(figure.data["panel"].cat.categories)[:2] == ["Human benchmark", "m0"]
    assert "Task: Edema." in caption(figure)
    shared = ss.plot_scatter(scores, "size", "iou", colour="method")
    assert list(shared.data["panel"].cat.categories) == ["Edema"]
    assert len(shared.data["group"].cat.categories) == 6
    four = ss.plot_scatter(scores.query("method in ['m0', 'm1', 'm2', 'human']"), "size", "iou")
    assert list(four.data["panel"].cat.categories) == ["Edema"]


def test_a_line_and_a_correlation_of_a_method_stand_in_its_panel():
    scores = six_methods().assign(iou=lambda d: 0.2 + d["iou"] + 0.2 * np.sin(40 * d["size"]))
    by = ["method", "task"]
    fit = ss.fit_line(scores, "iou ~ size", by=by)
    found = ss.correlate(scores, "size", "iou", by=by)
    figure = ss.plot_scatter(scores, "size", "iou", fit=fit, correlations=found)
    lines = layer_data(figure, "geom_line")
    texts = layer_data(figure, "geom_text")
    assert lines.groupby("panel", observed=True)["group"].nunique().eq(1).all()
    assert len(texts) == 6
    assert texts["text"].str.startswith("ρ = ").all()


def test_the_caption_says_how_many_rows_miss_a_value():
    rows = table(8, case=range(8)).assign(y=lambda frame: frame["y"].mask(frame["case"] == 2))
    figure = ss.plot_scatter(rows, "x", "y", labels={"x": "Confidence", "y": "IoU"})
    assert caption(figure) == "Not drawn: 1 of 8 rows, which miss Confidence or IoU."


def rows_of_one_method(n, x=None, **columns):
    """Points of one method, none of which is a whole number."""
    places = np.arange(n) + 0.5
    return pd.DataFrame({"case": range(n), "area": places if x is None else x, "overlap": places / n}).assign(
        **columns
    )


def test_more_points_are_smaller_and_the_ink_of_a_panel_is_the_same():
    styles = []
    for n in (200, 201, 1500, 1501):
        [layer] = layers(ss.plot_scatter(rows_of_one_method(n), "area", "overlap"), "geom_point")
        styles.append((layer.geom.aes_params["size"], layer.geom.aes_params["alpha"]))
    assert [size for size, _ in styles] == [0.9, 0.6, 0.6, 0.35]
    # very many spread points have as much ink together as half of them
    opacities = []
    for n in (30_000, 60_000):
        many = rows_of_one_method(n, x=np.tile([1.0, 2.0, 4.0], n // 3))
        [layer] = layers(ss.plot_scatter(many, "area", "overlap", width=45), "geom_point")
        opacities.append(layer.geom.aes_params["alpha"])
    assert opacities[0] == pytest.approx(2 * opacities[1])
    assert opacities[0] < 0.7


def test_the_axis_of_rates_goes_from_zero_to_one_and_a_legend_is_drawn_of_several_groups():
    rows = pd.concat([rows_of_one_method(40, method=method) for method in ("lime", "gradcam")])
    rows = rows.assign(overlap=lambda frame: frame["case"] % 2)
    figure = ss.plot_scatter(rows, "area", "overlap")
    blanks = layers(figure, "geom_blank")
    assert [set(blank._data["y"]) for blank in blanks] == [{0.0}, {1.0}]
    assert figure.theme.getp("legend_position") == "top"
    assert "Marks of a bin stand side by side." in caption(figure)
    one = ss.plot_scatter(rows[rows["method"] == "lime"], "area", "overlap")
    assert one.theme.getp("legend_position") == "none"
    assert "side by side" not in caption(one)


def test_axes_of_scores_are_named_by_their_only_metric_and_several_are_an_error():
    rows = rows_of_one_method(20).rename(columns={"overlap": "score"}).assign(metric="hd95", method="lime")
    title = ss.plot_scatter(rows, "area", "score").labels.y.replace("\n", " ")
    assert title == "95th-percentile Hausdorff distance (smaller is better)"
    both = pd.concat([rows, rows.assign(metric="iou")])
    with raises(SalstatsError, column="metric", choices=("hd95", "iou")):
        ss.plot_scatter(both, "area", "score")
    assert ss.plot_scatter(both, "area", "score", by="metric").data["panel"].nunique() == 2


def test_a_few_whole_numbers_are_the_numbers_of_their_axis():
    figure = ss.plot_scatter(rows_of_one_method(12, x=[1.0, 2.0, 4.0] * 4), "area", "overlap")
    assert list(scale(figure, "x").breaks) == [1, 2, 4]
    assert "spread sideways" in caption(figure)
    assert callable(scale(ss.plot_scatter(rows_of_one_method(12), "area", "overlap"), "x").breaks)

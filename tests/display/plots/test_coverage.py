"""Coverage against units: what is drawn, and where."""

import matplotlib.pyplot as plt
import pandas as pd
from display.plots.estimate_figures import nth_data, scale
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError


def cells():
    rows = [
        ("mean", "default", "1", 10, 0.94), ("mean", "default", "1", 100, 0.95),
        ("mean", "default", "1-5", 10, 0.93), ("mean", "textbook", "1", 10, 0.5),
        ("mean", "other", "1", 10, 0.2), ("AUROC", "default", "1", 10, 0.96),
        ("mean", "default", "1", 10, 0.98), ("family", "default", "1", 10, None),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["statistic", "role", "cluster", "n_units", "coverage"])
    return frame.assign(n_studies=2000)


def test_points_are_cells_of_defaults_and_textbooks_by_cases_of_a_unit():
    figure = ss.plot_coverage(cells())
    rows = figure.data
    assert rows["percent"].tolist() == [94, 95, 93, 80, 96, 98]
    assert rows["line"].astype("str").unique().tolist() == [
        "Default, 1 case",
        "Default, 1 to 5",
        "Textbook, 1 case",
    ]
    assert rows["panel"].astype("str").unique().tolist() == ["Mean", "AUROC"]
    colours = scale(figure, "color")
    assert (list(colours.limits), colours.name) == (list(rows["line"].cat.categories), "")
    assert "80%" in " ".join(figure.labels.caption.split())


def test_lines_are_means_over_scenarios():
    figure = ss.plot_coverage(cells())
    lines = nth_data(figure, 2)
    of_mean = lines.query("panel == 'Mean' and line == 'Default, 1 case'")
    assert of_mean["n_units"].tolist() == [10, 100]
    # 94 and 98; 95
    assert of_mean["percent"].tolist() == [96, 95]


def test_one_number_of_units_has_points_and_no_line():
    figure = ss.plot_coverage(cells().query("n_units == 10"))
    assert len(figure.layers) == 2
    # a line of one point warns
    plt.close(figure.draw(show=False))


def test_nothing_to_draw_is_said():
    with raises(SalstatsError, column="role", choices=("default", "textbook")):
        ss.plot_coverage(cells().query("role == 'other'"))
    with raises(ColumnError, column="role"):
        ss.plot_coverage(cells().drop(columns="role"))


def test_the_band_is_of_94_to_96_percent_over_all_sizes_behind_points_and_lines():
    figure = ss.plot_coverage(cells())
    band, points, lines = figure.layers
    rectangle = band.geom.data.iloc[0]
    assert rectangle[["ymin", "ymax"]].tolist() == [94, 96]
    assert rectangle["xmin"] < 10
    assert rectangle["xmax"] > 100
    assert type(points.geom).__name__ == "geom_point"
    assert not points.show_legend
    assert lines.mapping["linetype"] == "line"


def test_roles_differ_in_colour_and_clusters_in_the_type_of_line():
    figure = ss.plot_coverage(cells())
    names = list(scale(figure, "color").limits)
    colours = dict(zip(names, scale(figure, "color").palette(3), strict=True))
    lines = dict(zip(names, scale(figure, "linetype").palette(3), strict=True))
    assert colours["Default, 1 case"] == colours["Default, 1 to 5"] != colours["Textbook, 1 case"]
    assert lines["Default, 1 case"] == lines["Textbook, 1 case"] != lines["Default, 1 to 5"]


def test_numbers_of_units_that_have_room_are_written():
    figure = ss.plot_coverage(pd.concat([cells(), cells().assign(n_units=11)]))
    axis = scale(figure, "x")
    assert list(axis.breaks) == [10, 11, 100]
    assert axis.labels([10.0, 11.0, 100.0]) == ["10", "", "100"]
    assert axis.labels([10.0]) == ["10"]
    assert figure.labels.x == "Units"


def test_the_caption_tells_of_few_huge_units_and_of_low_cells_only_where_there_are_any():
    def caption(frame):
        return " ".join(ss.plot_coverage(frame).labels.caption.split())

    high = cells().query("coverage > 0.9")
    assert (
        caption(high) == "Points: 2,000 simulated studies each; lines: means over scenarios. Grey: 94 to 96%."
    )
    assert "40" in caption(high.assign(cluster="few huge"))
    assert "80%" in caption(cells())


def test_labels_name_panels_and_a_single_size_shows_its_points_in_the_legend():
    figure = ss.plot_coverage(cells().query("n_units == 10"), labels={"statistic": {"mean": "average"}})
    assert list(figure.data["panel"].cat.categories) == ["Average", "AUROC"]
    assert figure.layers[1].show_legend

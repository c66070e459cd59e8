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
    assert "below 80% are drawn there" in " ".join(figure.labels.caption.split())


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

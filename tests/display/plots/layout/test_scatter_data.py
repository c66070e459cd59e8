"""Data of a scatter figure: points and their groups, lines and correlations in their panels."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.plots.layout.scatter_data import (
    correlation_texts,
    fitted_lines,
    scatter_notes,
    scatter_points,
)
from salstats.display.text.labels import Labels
from salstats.errors import ColumnError, SalstatsError

DATA = pd.DataFrame(
    {
        "case": [f"c{i}" for i in range(8)],
        "task": ["Edema"] * 4 + ["Nodule"] * 4,
        "method": ["gradcam", "lime"] * 4,
        "prob": np.linspace(0.1, 0.8, 8),
        "iou": [0.5, 0.4, np.nan, 0.2, 0.1, 0.3, 0.6, 0.7],
    }
)


def scatter(**options):
    values = {"by": None, "colour": None, "labels": Labels(None, DATA)}
    return scatter_points(DATA, "prob", "iou", **(values | options))


def line(**columns):
    frame = pd.DataFrame(
        {"formula": "iou ~ prob", "covariate": "prob", "value": [0.1, 0.8], "estimate": [0.3, 0.4]}
    )
    return frame.assign(**columns)


def test_tasks_are_panels_methods_colours_and_rows_without_a_value_are_counted():
    points = scatter()
    assert points.by == ["task"]
    assert points.colour == "method"
    assert list(points.points["panel"].cat.categories) == ["Edema", "Nodule"]
    assert (len(points.points), points.n_left_out) == (7, 1)
    assert points.texts == {"gradcam": "Grad-CAM", "lime": "LIME"}
    assert not points.is_binary


def test_a_column_has_panels_or_colours():
    with raises(ColumnError, option="colour", value="task"):
        scatter(by="task", colour="task")


def test_a_line_of_all_panels_stands_in_each_and_has_no_group():
    lines = fitted_lines(line(), "prob", "iou", scatter(), DATA)
    assert lines["panel"].tolist() == ["Edema", "Nodule"] * 2
    assert lines["group"].isna().all()


def test_a_line_by_task_stands_in_its_panel_only_and_a_single_mean_is_no_line():
    by_task = pd.concat([line(task="Edema"), line(task="Nodule").head(1)])[["task", *line().columns]]
    lines = fitted_lines(by_task, "prob", "iou", scatter(), DATA)
    assert lines["panel"].tolist() == ["Edema", "Edema"]


def test_correlations_are_taken_in_either_order_and_written_with_their_symbol():
    frame = pd.DataFrame(
        {"x": ["iou"], "y": "prob", "term": "spearman", "estimate": 0.45, "conf_low": 0.3, "conf_high": 0.58}
    )
    texts = correlation_texts(frame, "prob", "iou", scatter())
    assert texts["text"].tolist() == ["ρ = 0.45 (0.30, 0.58)"] * 2
    with raises(SalstatsError, option="correlations", rows=(1,)):
        correlation_texts(pd.concat([frame, frame]), "prob", "iou", scatter())


def test_the_caption_says_how_many_rows_miss_a_value():
    notes = scatter_notes(scatter(), ["Confidence", "IoU"], None, None, Labels())
    assert notes == ["Not drawn: 1 of 8 rows, which miss Confidence or IoU."]


@pytest.mark.parametrize(("outcome", "expected"), [([0.0, 1.0] * 4, True), ([0.0, 0.5] * 4, False)])
def test_outcomes_of_zero_and_one_are_spread_beyond_their_range(outcome, expected):
    points = scatter_points(DATA.assign(iou=outcome), "prob", "iou", None, None, Labels(None, DATA))
    assert points.is_binary is expected
    is_outside = (points.points["y_drawn"] < 0) | (points.points["y_drawn"] > 1)
    assert is_outside.all() == expected

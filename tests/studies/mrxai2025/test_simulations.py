"""The simulations drawn: every mask and every curve, and what has to be said beside them."""

import html
import re

import numpy as np
import pytest

from salstats.display.export.figure_files import size_inches
from salstats.display.plots.layout.theme import MM_PER_INCH, PAGE_MM
from salstats.scoring.mask_simulation import SIMULATIONS
from salstats.studies.engine import made_items_whose_needs_are_met
from salstats.studies.mrxai2025 import SIMULATION_ITEMS, MrxaiData
from salstats.studies.mrxai2025.simulations import (
    STEPS_NOTE,
    VARIANT_NOTES,
    VARIANTS,
    changing_sizes_note_or_empty,
    plot_masks,
    plot_measures_by_mask_size_or_shift,
    signed_text,
)


@pytest.fixture(scope="module")
def data():
    return MrxaiData()


@pytest.fixture(scope="module")
def series(data):
    return data.simulations.series


@pytest.fixture(scope="module")
def scores(data):
    return data.simulations.scores


@pytest.fixture(scope="module")
def items(data):
    return {item.key: made for item, made in made_items_whose_needs_are_met(SIMULATION_ITEMS, (), data)}


def of(frame, names):
    return frame[frame["simulation"].isin(names)].reset_index(drop=True)


def test_the_figures_hold_every_simulation_once(items):
    shown = [name for n in (1, 3, 5) for name in items[f"figure_{n}"].frame["simulation"].unique()]
    assert sorted(shown) == sorted(SIMULATIONS) == sorted(VARIANTS)
    assert shown == [name for n in (2, 4, 6) for name in items[f"figure_{n}"].frame["simulation"].unique()]


def test_every_panel_has_the_truth_and_its_explanation_where_they_are(series):
    data = plot_masks({"both_piecewise": series["both_piecewise"]}).data
    one = series["both_piecewise"]
    for step, mask in enumerate(one.masks, start=1):
        for kind, drawn in (("Truth (outline)", one.truth), ("Explanation (filled)", mask)):
            rows = data[(data["step"] == step) & (data["kind"] == kind)]
            marked = np.argwhere(drawn)
            # through the middles of the outermost pixels
            np.testing.assert_array_equal(rows[["y", "x"]].min(), marked.min(axis=0) + 0.5)
            np.testing.assert_array_equal(rows[["y", "x"]].max(), marked.max(axis=0) + 0.5)


def test_every_curve_has_its_nine_points(scores):
    data = plot_measures_by_mask_size_or_shift(of(scores, ["size_piecewise"])).data
    assert set(data.groupby("measure", observed=True).size()) == {9}
    assert data["measure"].nunique() == 9
    np.testing.assert_array_equal(data["x"], data["scale"])


def test_a_curve_that_another_would_hide_is_left_out_and_said(scores):
    figure = plot_measures_by_mask_size_or_shift(of(scores, ["distance"]))
    assert figure.data["measure"].nunique() == 7
    assert "PDC without size penalty is the same" in figure.labels.caption.replace("\n", " ")
    np.testing.assert_array_equal(figure.data["x"], figure.data["shift"])


def test_shares_and_distances_have_panels_of_their_own(scores):
    data = plot_measures_by_mask_size_or_shift(of(scores, ["both_linear_truth1", "both_piecewise"])).data
    units = data.groupby("panel", observed=True)["distance_unit"].agg(lambda u: set(u.fillna("share")))
    assert len(units) == 4
    assert sorted(map(sorted, units)) == [["px"], ["px"], ["share"], ["share"]]


def test_a_table_has_a_row_per_step_and_the_scores_of_the_frame(items):
    item = items["figure_4"]
    text = re.sub(r"\s+", " ", html.unescape(item.table.as_raw_html()))
    assert len(item.table._tbl_data) == 18
    row = item.frame.query("simulation == 'size_linear' and step == 1 and metric == 'dice'")
    assert f"{row['score'].item():.3f}" in text
    assert "is a reconstruction from the text" in text
    assert "none of these steps is 1" in item.note


def test_all_figures_are_as_wide_as_a_page_and_no_higher(items):
    assert len(items) == 6
    for item in items.values():
        wide, high = size_inches(item.figure)
        assert wide * MM_PER_INCH == pytest.approx(PAGE_MM)
        assert high * MM_PER_INCH <= 240


def test_shifts_have_a_sign_but_none_has_not():
    assert [signed_text(number) for number in (4, 0, -4)] == ["+4", "0", "\u22124"]


def test_sizes_are_explained_where_they_change():
    assert changing_sizes_note_or_empty(["distance"]) == ""
    note = changing_sizes_note_or_empty(["size_linear", "both_piecewise"])
    assert note.startswith(STEPS_NOTE)
    assert note.endswith(VARIANT_NOTES["both_piecewise"])
    assert VARIANT_NOTES["size_linear"] in note


def test_masks_are_counted_step_by_step(items, series):
    frame = items["figure_1"].frame
    for step, mask in enumerate(series["distance"].masks, start=1):
        row = frame[frame["step"] == step].iloc[0]
        assert row["n_mask"] == mask.sum()
        assert row["n_overlap"] == (mask & series["distance"].truth).sum()
    shown = items["figure_1"].table._tbl_data
    assert len(shown) == 9
    # of several variants each has a group
    assert items["figure_5"].table.as_raw_html().count("gt_group_heading") >= 3


def test_panels_of_many_simulations_get_lower_so_that_the_figure_fits_a_page(scores):
    heights = []
    for n_simulations in (1, 3, len(SIMULATIONS)):
        figure = plot_measures_by_mask_size_or_shift(of(scores, list(SIMULATIONS)[:n_simulations]))
        heights.append(size_inches(figure)[1] * MM_PER_INCH)
    one, three, all_of_them = heights
    assert one < three
    assert all_of_them <= 240


def test_axes_of_agreement_end_at_1_and_those_of_distance_at_the_largest(scores):
    rows = of(scores, ["size_linear"])
    figure = plot_measures_by_mask_size_or_shift(rows)
    blanks = [layer._data for layer in figure.layers if type(layer.geom).__name__ == "geom_blank"]
    tops = blanks[0].groupby("panel", observed=True)["top"].agg(set)
    assert tops.to_list() == [{1.0}, {rows["score"].max()}]
    # at the truth's own size
    (line,) = [layer for layer in figure.layers if type(layer.geom).__name__ == "geom_vline"]
    assert line._data["xintercept"].tolist() == [1.0]


def test_along_an_axis_of_shifts_sizes_that_change_are_said(scores):
    captions = {
        name: " ".join(plot_measures_by_mask_size_or_shift(of(scores, [name])).labels.caption.split())
        for name in ("distance", "both_linear_truth1", "size_linear")
    }
    assert "the size grows from 0.6 to 1.7" in captions["both_linear_truth1"]
    assert "the size grows" not in captions["distance"]
    assert "the truth's place" in captions["distance"]
    assert "the truth's size" in captions["size_linear"]

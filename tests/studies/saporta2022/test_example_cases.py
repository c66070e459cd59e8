"""The findings at both ends of each feature, and the cases picked by IoU, drawn on their images."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import layers
from saporta_frames import METHOD

from salstats.studies.saporta2022.example_cases import ENDS, findings_with_extreme_features
from salstats.studies.saporta2022.study_frames import FEATURES


@pytest.fixture(scope="module")
def make_drawn(results, drawn_folder):
    """A function that makes items of six cases from their files, of tasks with enough positive cases."""

    def make_drawn(*keys, min_positives=1):
        given = ["--data", drawn_folder, "--maps", f"{METHOD}={drawn_folder / 'maps'}", "--replicates", 40]
        return results("saporta2022", *given, "--min-positives", min_positives, only=keys)

    return make_drawn


@pytest.fixture(scope="module")
def drawn(make_drawn):
    """Figs. 1 and 3 and the examples of six cases, as files."""
    return make_drawn("figure_1", "figure_3", "examples")


def test_the_ends_of_a_feature_are_its_smallest_and_largest_finding(drawn_frames):
    rows = findings_with_extreme_features(drawn_frames).set_index(["feature", "end"])
    assert set(rows.index) == {(feature, end) for feature in FEATURES for end in ENDS}
    for feature in FEATURES:
        findings = [
            (row[feature], row["case"], row["task"])
            for row in drawn_frames.positives.to_dict("records")
            if not np.isnan(row[feature])
        ]
        # ties go by name at either end
        low = rows.loc[(feature, "low"), ["value", "case", "task"]]
        high = rows.loc[(feature, "high"), ["value", "case", "task"]]
        assert tuple(low) == min(findings)
        assert tuple(high) == max(findings)


def test_a_feature_that_no_finding_has_has_no_ends(drawn_frames):
    features = drawn_frames.features.assign(elongation=np.nan)
    rows = findings_with_extreme_features(replace(drawn_frames, features=features))
    assert set(rows["feature"]) == set(FEATURES) - {"elongation"}


def test_fig_3_draws_the_findings_of_its_frame_with_their_rectangles(drawn):
    item = drawn["figure_3"]
    shown = item.figure.data[["row", "column", "case", "task"]]
    expected = item.frame[["feature", "end", "case", "task"]]
    assert set(shown.itertuples(index=False, name=None)) == set(expected.itertuples(index=False, name=None))
    # each finding has a rectangle of four corners
    outlines = [layer._data for layer in item.figure.layers if "kind" in getattr(layer._data, "columns", ())]
    rectangles = pd.concat(outlines).query("kind == 'mask'").drop_duplicates(["line", "x", "y"])
    assert rectangles.groupby("line").size().to_list() == [4] * len(expected)


def test_fig_3_without_images_shows_the_distribution_of_each_feature(make, drawn_frames):
    item = make(drawn_frames, "figure_3")["figure_3"]
    assert "without images" in item.note
    assert item.figure is not None


def test_the_examples_are_those_whose_iou_is_nearest_to_worst_median_mean_and_best(drawn):
    item = drawn["examples"]
    assert set(item.frame["pick"]) == {"worst", "median", "mean", "best"}
    by_pick = item.frame.set_index("pick")["score"]
    assert by_pick["worst"] <= by_pick["median"] <= by_pick["best"]
    assert by_pick["worst"] <= by_pick["mean"] <= by_pick["best"]


def test_the_examples_show_people_next_to_the_method_and_in_its_pictures(drawn):
    figure = drawn["examples"].figure
    assert set(figure.data["column"]) == {METHOD, "human"}
    lines = pd.concat([layer._data for layer in layers(figure, "geom_path")])
    of_people = lines[lines["kind"] == "human"]
    # the names of lines begin with the number of their picture
    pictures = of_people["line"].str.split().str[0]
    assert set(pictures) == set(figure.data["picture"].astype(str))


def test_fig_1_is_the_case_of_median_iou(drawn):
    median = drawn["examples"].frame.query("pick == 'median'")[["case", "task"]]
    shown = drawn["figure_1"].frame[["case", "task"]].drop_duplicates()
    pd.testing.assert_frame_equal(shown.reset_index(drop=True), median.reset_index(drop=True))
    assert set(drawn["figure_1"].frame["method"]) == {METHOD, "human"}


def test_cases_are_picked_from_all_tasks_also_from_those_with_few_positives(make_drawn, drawn):
    assert "Cardiomegaly" in set(drawn["examples"].frame["task"])
    # Cardiomegaly has four positive cases
    made = make_drawn("figure_1", "examples", min_positives=5)
    pd.testing.assert_frame_equal(made["figure_1"].frame, drawn["figure_1"].frame)
    pd.testing.assert_frame_equal(made["examples"].frame, drawn["examples"].frame)

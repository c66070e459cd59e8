"""Cases whose maps a report shows."""

import numpy as np
import pandas as pd
import pytest
from report_text import page_text
from tests_support import raises

import salstats as ss
from salstats.display.report.examples import Examples
from salstats.display.text.labels import Labels
from salstats.errors import InputFileError


def small_study(cases):
    """A study in which one map of one method covers half of each image."""
    truth = np.zeros((8, 8), dtype=bool)
    truth[2:6, 2:6] = True
    maps = {(case, "Edema", "gradcam"): np.eye(8) for case in cases}
    return ss.study_from_arrays({(case, "Edema"): truth for case in cases}, maps)


def test_a_report_with_a_study_shows_the_worst_the_median_and_the_best_of_its_cases(small, tmp_path):
    edema = small[(small["task"] == "Edema") & (small["method"] == "gradcam")].dropna(subset="score")
    cases = edema["case"].tolist()[:9]
    ss.report(edema, tmp_path / "out", study=small_study(cases), jobs=1, n_replicates=199)
    picks = pd.read_csv(tmp_path / "out" / "frames" / "examples.csv")
    there = edema[edema["case"].isin(cases)]["score"]
    assert picks["pick"].tolist() == ["worst", "median", "best"]
    assert picks["score"].tolist() == pytest.approx([there.min(), there.median(), there.max()])
    assert (tmp_path / "out" / "figures" / "examples.png").stat().st_size > 0
    assert "Examples" in page_text(tmp_path / "out")


@pytest.mark.slow
def test_a_study_of_other_cases_is_said_not_to_be_shown(small, tmp_path):
    edema = small[(small["task"] == "Edema") & (small["method"] == "gradcam")]
    ss.report(edema, tmp_path / "out", study=small_study(["elsewhere"]), jobs=1, n_replicates=199)
    assert not (tmp_path / "out" / "figures" / "examples.png").exists()
    said = "Not shown: examples. arrays has no map of 'gradcam' for these scores"
    assert said in page_text(tmp_path / "out")


def test_images_that_are_no_folder_are_refused(small, tmp_path):
    with raises(InputFileError, option="images", path=tmp_path / "none"):
        ss.report(small, tmp_path / "out", study=small_study(["c001"]), images=tmp_path / "none")
    assert not (tmp_path / "out").exists()


def test_cases_without_a_map_of_the_method_are_not_picked():
    scores = pd.DataFrame(
        {"case": list("abcd"), "method": "gradcam", "metric": "iou", "score": [0.1, 0.2, 0.3, 0.9]}
    )
    maps = pd.DataFrame({"case": list("bcda"), "method": ["gradcam"] * 3 + ["occlusion"]})
    picks = Examples("maps", maps, draw=None).picked_cases(scores, "gradcam", "iou")
    assert picks["case"].tolist() == ["b", "c", "d"]


@pytest.mark.parametrize("n_picks", [1, 3])
def test_picked_cases_are_drawn_with_the_scores_of_their_metric(n_picks):
    iou = pd.DataFrame({"case": list("abc"), "method": "gradcam", "metric": "iou", "score": [0.1, 0.2, 0.3]})
    scores = pd.concat([iou, iou.assign(metric="hit", score=1.0)], ignore_index=True)
    picks = iou.head(n_picks)
    calls = []
    examples = Examples("maps", pd.DataFrame(), draw=lambda *given: calls.append(given))
    examples.figure(picks, scores, Labels())
    [(drawn_picks, drawn_scores, _)] = calls
    pd.testing.assert_frame_equal(drawn_picks, picks)
    pd.testing.assert_frame_equal(drawn_scores, iou)

"""Pictures of overlays: what of a case, task and method is shown, as arrays in print."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption
from display.plots.overlay_study import GRADCAM, PEOPLE, SHAPE, answer, box, hill, study
from tests_support import raises

from salstats.errors import SalstatsError
from salstats.images.masks import encode
from salstats.scoring.masking import mask_rule
from salstats.scoring.overlay_figures import plot_overlay
from salstats.scoring.overlay_pictures import (
    PictureOptions,
    overlay_picture,
    recorded_option_value_by_task_and_series,
    saliency_method_or_error_if_several,
    series_by_panel_name,
    series_of_one_panel,
)
from salstats.study import Case, Series, Study

STUDY = study()
#: Two readers, of whom one marked a mask and a point and the other nothing.
READERS = (Series("human", reader="r1"), Series("human", reader="r2"))


def picture(case, task, method="gradcam", series=(GRADCAM,), *, human=False, images=None, **rule):
    """Return a picture with its box so large that a pixel of the image is a printed pixel or more."""
    options = PictureOptions(
        mask_rule(STUDY, **{"threshold": 0.5, "cutoff": None, "smooth": None, **rule}),
        images,
        human,
        (80, 60),
    )
    return overlay_picture(case, task, method, series, options)


def extent(lines):
    """Top, bottom, left and right of outlines."""
    points = np.vstack(lines)
    (top, left), (bottom, right) = points.min(axis=0), points.max(axis=0)
    return [top, bottom, left, right]


A, B = STUDY.cases


def test_a_picture_has_truth_mask_peak_and_the_map_in_its_own_unit():
    shown = picture(A, "Edema")
    assert (shown.case, shown.task, shown.method, shown.series) == ("a", "Edema", "gradcam", (GRADCAM,))
    assert (shown.shape, shown.note, shown.n_readers, shown.grey) == (SHAPE, "", 0, None)
    assert set(shown.outlines) == {"truth", "mask"}
    # half open rectangles, outlined through the middles of their outermost pixels
    np.testing.assert_allclose(extent(shown.outlines["truth"]), [20.5, 39.5, 30.5, 59.5])
    # the middle of the map's pixel (3, 4) lies between the image's pixels 34 and 35, and 44 and 45
    np.testing.assert_allclose(shown.points["peak"], [[34.5, 44.5]])
    assert set(shown.points) == {"peak"}
    assert shown.saliency.shape == shown.printed_shape
    assert shown.saliency.min() == 0
    # the largest value of the map, 1, lies between pixels of the print
    assert 0.9 < shown.saliency.max() <= 1
    assert (shown.threshold, shown.smooth, shown.colormap, shown.cutoff) == (0.5, None, None, None)


def test_the_outlined_mask_is_that_of_the_map_above_its_threshold():
    low, high = picture(A, "Edema", threshold=0.2), picture(A, "Edema", threshold=0.8)
    top, bottom, left, right = extent(low.outlines["mask"])
    inner_top, inner_bottom, inner_left, inner_right = extent(high.outlines["mask"])
    assert top < inner_top < 35 < inner_bottom < bottom
    assert left < inner_left < 45 < inner_right < right


@pytest.mark.parametrize(
    ("case", "task", "options", "note", "shows_map"),
    [
        (B, "Edema", {}, "no map", False),
        (B, "Nodule", {}, "constant map", False),
        (B, "Fracture", {}, "map is not finite", False),
        (A, "Edema", {"threshold": 1}, "empty mask", True),
        # without a probability nothing says that the mask is to be shown
        (A, "Edema", {"cutoff": 0.5}, "empty mask", True),
        (A, "Edema", {}, "", True),
    ],
)
def test_a_note_says_why_something_is_missing(case, task, options, note, shows_map):
    shown = picture(case, task, **options)
    assert shown.note == note
    assert (shown.saliency is not None) is shows_map
    assert ("peak" in shown.points) is shows_map
    assert ("mask" in shown.outlines) is (note == "")


def test_a_stored_mask_precedes_one_made_of_the_map():
    stored = answer("Edema", saliency=hill(3, 4), mask=encode(box(0, 10, 0, 10)))
    shown = picture(replace(A, predictions=(stored,)), "Edema")
    np.testing.assert_allclose(extent(shown.outlines["mask"]), [0.5, 9.5, 0.5, 9.5])
    assert shown.threshold is None
    assert "peak" in shown.points
    constant = answer("Edema", saliency=np.ones((6, 8)), mask=encode(box(0, 10, 0, 10)))
    shown = picture(replace(A, predictions=(constant,)), "Edema")
    assert (shown.saliency, shown.note, "mask" in shown.outlines) == (None, "", True)
    masked = answer("Edema", mask=encode(box(0, 10, 0, 10)))
    shown = picture(replace(A, predictions=(masked,)), "Edema")
    assert (shown.saliency, shown.note, set(shown.points)) == (None, "", set())


@pytest.mark.parametrize("saliency", [None, hill(3, 4)])
def test_a_stored_mask_below_the_cutoff_is_empty_as_in_score(saliency):
    mask = encode(box(0, 10, 0, 10))
    for prob, note in ((0.1, "empty mask"), (0.5, "")):
        stored = answer("Edema", saliency=saliency, mask=mask, prob=prob)
        shown = picture(replace(A, predictions=(stored,)), "Edema", cutoff=0.5)
        assert (shown.note, "mask" in shown.outlines) == (note, not note)
        assert shown.threshold is None


class TestPeople:
    def test_they_are_shown_beside_a_method_on_request(self):
        shown = picture(A, "Edema", human=True)
        np.testing.assert_allclose(extent(shown.outlines["human"]), [22.5, 43.5, 28.5, 57.5])
        np.testing.assert_array_equal(shown.points["marked"], [[30, 40]])
        assert shown.n_readers == 1
        assert "mask" in shown.outlines

    def test_they_are_shown_alone_as_a_method(self):
        for human in (False, True):
            shown = picture(A, "Edema", "human", (PEOPLE,), human=human)
            assert set(shown.outlines) == {"truth", "human"}
            assert set(shown.points) == {"marked"}
            assert (shown.saliency, shown.note, shown.n_readers, shown.threshold) == (None, "", 1, None)

    def test_readers_share_a_picture_and_those_who_marked_something_are_counted(self):
        marked = answer("Edema", READERS[0], mask=encode(box(1, 9, 1, 9)), points=np.array([[3.0, 4.0]]))
        nothing = answer("Edema", READERS[1], mask=encode(box(0, 0, 0, 0)))
        both = picture(replace(A, predictions=(marked, nothing)), "Edema", "human", READERS)
        assert both.n_readers == 1
        assert both.points["marked"].tolist() == [[3, 4]]
        assert both.note == ""
        empty = picture(replace(A, predictions=(nothing,)), "Edema", "human", READERS)
        assert (empty.n_readers, empty.note, set(empty.outlines)) == (0, "empty mask", {"truth"})
        absent = picture(replace(A, predictions=()), "Edema", "human", READERS)
        assert absent.note == "no mask"

    def test_a_point_without_a_mask_is_no_missing_mask(self):
        pointed = answer("Edema", READERS[0], points=np.array([[3.0, 4.0]]))
        shown = picture(replace(A, predictions=(pointed,)), "Edema", "human", READERS[:1])
        assert shown.note == ""


def test_an_image_is_read_once_for_all_methods():
    image = np.full(SHAPE, 128, np.uint8)
    options = PictureOptions(
        mask_rule(STUDY, threshold=0.5, cutoff=None, smooth=None), {"a": image}, False, (80, 60)
    )
    first = overlay_picture(A, "Edema", "gradcam", (GRADCAM,), options).grey
    assert overlay_picture(A, "Edema", "human", (PEOPLE,), options).grey is first
    assert first == pytest.approx(128 / 255, abs=1e-3)
    shape = (80, 60)
    assert options.grey_image("b", shape, shape) is None


class TestMethods:
    MODELS = (Series("gradcam", "densenet"), Series("gradcam", "resnet"))

    def of(self, *series):
        return Study((), ("Edema",), series, "the study")

    def test_people_stand_last_and_models_have_names_of_their_own(self):
        shown = series_by_panel_name(self.of(*READERS, *self.MODELS, Series("lime")), None)
        assert shown == {
            "gradcam:densenet": self.MODELS[:1],
            "gradcam:resnet": self.MODELS[1:],
            "lime": (Series("lime"),),
            "human": READERS,
        }

    def test_methods_that_are_named_keep_their_order(self):
        study = self.of(GRADCAM, PEOPLE, Series("lime"))
        assert list(series_by_panel_name(study, ["lime", "gradcam", "lime"])) == ["lime", "gradcam"]
        assert list(series_by_panel_name(study, "human")) == ["human"]
        with raises(SalstatsError, option="methods", value=[]):
            series_by_panel_name(study, [])

    def test_the_only_method_is_that_of_no_person(self):
        assert saliency_method_or_error_if_several(self.of(PEOPLE, GRADCAM)) == "gradcam"
        assert saliency_method_or_error_if_several(self.of(*self.MODELS)) == "gradcam"
        assert saliency_method_or_error_if_several(self.of(*READERS)) is None
        with raises(SalstatsError, option="method", choices=("gradcam", "lime")):
            saliency_method_or_error_if_several(self.of(GRADCAM, Series("lime")))

    def test_a_series_is_found_by_its_method_or_its_full_name(self):
        study = self.of(*self.MODELS, *READERS)
        assert series_of_one_panel(study, "gradcam:resnet") == self.MODELS[1:]
        assert series_of_one_panel(study, "human") == READERS
        with raises(SalstatsError, choices=("gradcam:densenet", "gradcam:resnet")):
            series_of_one_panel(study, "gradcam")
        with raises(SalstatsError, option="methods", value="lime"):
            series_of_one_panel(study, "lime")


class TestAsScored:
    SCORES = pd.DataFrame(
        {
            "task": ["Edema", "Edema", "Nodule"],
            "method": ["cam", "cam", "cam"],
            "model": ["vgg", None, "vgg"],
            "threshold": [0.2, 0.3, None],
            "smooth": [9, 9, 9],
        }
    )

    def test_an_option_is_that_of_task_and_series(self):
        assert recorded_option_value_by_task_and_series(self.SCORES, "threshold") == {
            ("Edema", "cam:vgg"): 0.2,
            ("Edema", "cam"): 0.3,
        }
        smooth = {("Edema", "cam:vgg"): 9, ("Edema", "cam"): 9, ("Nodule", "cam:vgg"): 9}
        assert recorded_option_value_by_task_and_series(self.SCORES, "smooth") == smooth

    def test_one_threshold_holds_for_all_methods(self):
        assert (
            recorded_option_value_by_task_and_series(self.SCORES.assign(threshold="li"), "threshold") == "li"
        )

    def test_scores_without_the_option_say_nothing(self):
        assert recorded_option_value_by_task_and_series(self.SCORES, "cutoff") is None
        assert recorded_option_value_by_task_and_series(self.SCORES.assign(cutoff=np.nan), "cutoff") is None
        assert recorded_option_value_by_task_and_series(self.SCORES.drop(columns="task"), "threshold") is None


def test_one_of_several_series_has_to_be_named():
    series = (Series("gradcam", "densenet"), Series("gradcam", "resnet"))
    case = Case("a", SHAPE, {}, tuple(answer("Edema", s, saliency=hill(3, 4)) for s in series))
    two = Study((case,), ("Edema",), (*series, PEOPLE), "the study")
    with raises(SalstatsError, choices=("gradcam:densenet", "gradcam:resnet")):
        plot_overlay(two, "a", "Edema", method="gradcam")
    assert "Grad-CAM, resnet." in caption(plot_overlay(two, "a", "Edema", method="gradcam:resnet"))
    other = Study((case,), ("Edema",), (*series, Series("lime")), "the study")
    with raises(SalstatsError, option="method", choices=("gradcam", "lime")):
        plot_overlay(other, "a", "Edema")


def test_sizes_that_disagree_are_named():
    case = replace(STUDY.cases[0], shape=(50, 80))
    with raises(SalstatsError, option="study", value=[(50, 80), (60, 80)]):
        plot_overlay(replace(STUDY, cases=(case,)), "a", "Edema")
    nothing = Case("a", None, {}, (answer("Edema", saliency=hill(3, 4)),))
    with raises(SalstatsError, option="study", value=[]):
        plot_overlay(Study((nothing,), ("Edema",), (GRADCAM,)), "a", "Edema")

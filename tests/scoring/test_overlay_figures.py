"""Overlays and galleries of a study: options are those of `score`, and of the scores that are shown."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, layers
from display.plots.overlay_study import hill, study
from gaze_files import write_release
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError
from salstats.readers.gaze import read_gaze
from salstats.scoring.overlay_figures import plot_gallery, plot_overlay
from salstats.stats.case_selection import pick_cases
from salstats.study import Content

STUDY = study()
SCORES = pd.DataFrame(
    [("a", "Edema", "gradcam", 0.25), ("a", "Nodule", "gradcam", 0.5), ("a", "Edema", "human", 0.75)],
    columns=["case", "task", "method", "score"],
).assign(metric="iou")
PICKED = pick_cases(SCORES, method="gradcam", by=["metric", "method"])


def test_a_scale_bar_is_in_mm_where_the_size_of_a_pixel_is_known(tmp_path):
    def bar(**options):
        figure = plot_overlay(STUDY, "a", "Edema", **options)
        (line,) = (layer._data for layer in layers(figure, "geom_segment")[1:])
        return line["label"].item(), (line["x1"] - line["x0"]).item() / figure.data["mm_per_pixel"].item()

    assert bar() == ("20 px", pytest.approx(20))
    # 24 pixels of 4 mm are 96 mm; 50 mm of them are 12.5 pixels
    assert bar(spacing=4) == ("50 mm", pytest.approx(12.5))
    assert bar(spacing={"a": 4}) == ("50 mm", pytest.approx(12.5))
    assert bar(spacing={"b": 4}) == ("20 px", pytest.approx(20))
    # as for scores: (row, col), or a file; a bar lies along the columns
    (tmp_path / "mm.csv").write_text("case,row_mm,col_mm\na,3,4\n")
    for spacing in ((3, 4), {"a": (3, 4)}, tmp_path / "mm.csv"):
        assert bar(spacing=spacing) == ("50 mm", pytest.approx(12.5))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "fields"),
    [
        (("c", "Edema"), {}, SalstatsError, {"match": "case 'c' .*'a', 'b'"}),
        (("a", "Fibrosis"), {}, SalstatsError, {"match": "task 'Fibrosis' .*'Edema'"}),
        (("a", "Edema"), {"method": "lime"}, SalstatsError, {"choices": ("gradcam", "human")}),
        (
            ("a", "Edema"),
            {"threshold": {"Nodule": 0.3}},
            SalstatsError,
            {"option": "threshold", "value": ("Edema", "gradcam")},
        ),
        (("a", "Edema"), {"threshold": 1.5}, ValueRangeError, {"option": "threshold", "value": 1.5}),
        (("a", "Edema"), {"width": 10}, ValueRangeError, {"option": "width", "value": 10}),
    ],
)
def test_an_option_that_fits_nothing_is_an_error(arguments, options, error, fields):
    with raises(error, **fields):
        plot_overlay(STUDY, *arguments, **options)


def test_a_tuned_file_and_a_cutoff_are_taken_as_for_score(tmp_path):
    file = tmp_path / "thresholds.csv"
    file.write_text("threshold,task\n0.4,Edema\n")
    assert "Threshold: 0.4." in caption(plot_overlay(STUDY, "a", "Edema", threshold=file))
    sure = replace(STUDY, cases=tuple(c for c in STUDY.cases if c.case == "a"))
    told = caption(plot_overlay(sure, "a", "Edema", cutoff=0.5))
    # the map has no probability, so nothing says that its mask is to be shown
    assert "empty mask" in told
    assert "masks below the probability cut-off are empty" in told


def test_people_are_drawn_in_other_panels_on_request_only():
    def kinds(**options):
        figure = plot_gallery(STUDY, PICKED, methods=["gradcam"], **options)
        return {str(k) for layer in layers(figure, "geom_path") for k in layer._data["kind"].unique()}

    assert kinds() == {"truth", "mask"}
    assert kinds(human=True) == {"truth", "mask", "human"}


def test_masks_are_cut_where_the_scores_say_they_were():
    scored = SCORES.assign(threshold=np.where(SCORES["method"].eq("gradcam"), "0.75", None))
    picked = pick_cases(scored, method="gradcam", by=["metric", "method"])
    assert "Threshold: 0.75." in caption(plot_gallery(STUDY, picked, scores=scored))
    assert "Threshold: Otsu's level." in caption(plot_gallery(STUDY, PICKED, scores=SCORES))
    assert "Threshold: 0.5." in caption(plot_gallery(STUDY, picked, scores=scored, threshold=0.5))
    by_name = scored.assign(threshold="yen")
    assert "Threshold: Yen's level." in caption(plot_gallery(STUDY, picked, scores=by_name))
    # a file of scores has a threshold of 0 as a number
    of_zero = scored.assign(threshold=np.where(scored["method"].eq("gradcam"), 0.0, np.nan))
    assert "Threshold: 0." in caption(plot_gallery(STUDY, picked, scores=of_zero))


def test_cases_picked_by_one_method_show_the_masks_of_all(tmp_path):
    """One threshold for every method that was scored holds for those of the other columns, too."""
    examples = ss.datasets.digits_examples()
    study = ss.read_study(examples)
    scores = ss.score(study, metrics="iou")
    picked = ss.pick_cases(scores, metric="iou", method="gradcam")
    figure = ss.plot_gallery(study, picked.head(1), methods=["gradcam", "layercam"])
    assert figure.data["method"].tolist() == ["gradcam", "layercam"]
    assert ss.plot_gallery(study, picked.head(1)).data["method"].nunique() > 5


def test_methods_that_the_scores_say_nothing_of_have_the_defaults():
    """Here they record a filter for one method only, then also no more than that method."""
    truth = {("a", "Edema"): hill(3, 4) > 0.5}
    maps = {("a", "Edema", name): hill(3, 4) for name in ("lrp", "rise")}
    study = ss.study_from_arrays(truth, maps)
    scores = ss.score(study, metrics="iou", threshold={(None, "lrp"): 0.25}, smooth={(None, "lrp"): 3})
    picked = ss.pick_cases(scores, method="lrp", at=["best"])
    shown = caption(plot_gallery(study, picked, scores=scores))
    thresholds = "Threshold: 0.25 (Edema, LRP) and Otsu's level (Edema, RISE), of means over 3 x 3 pixels"
    assert f"{thresholds} for some of the maps." in shown
    of_lrp = scores[scores["method"] == "lrp"]
    # one threshold for all scores is also that of the method without scores; the filter is not
    shown = caption(plot_gallery(study, picked, scores=of_lrp))
    assert "Threshold: 0.25, of means over 3 x 3 pixels for some of the maps." in shown
    shown = caption(plot_gallery(study, picked, scores=of_lrp, smooth=5))
    assert "Threshold: 0.25, of means over 5 x 5 pixels." in shown
    with raises(SalstatsError, option="smooth", value=("Edema", "rise")):
        plot_gallery(study, picked, scores=scores, smooth={("Edema", "lrp"): 5})


def mask_outline(figure):
    """The points of the outlines of masks made of maps."""
    frames = [layer._data for layer in figure.layers if isinstance(layer._data, pd.DataFrame)]
    lines = next(frame for frame in frames if "kind" in frame and "mask" in set(frame["kind"]))
    return lines.query("kind == 'mask'")[["x", "y"]].to_numpy()


def test_masks_that_were_scored_by_way_of_a_colormap_are_drawn_so():
    figures = []
    for options in ({}, {"colormap": "jet"}):
        scores = ss.score(STUDY, metrics="iou", smooth=9, **options)
        scores = scores[scores["method"] == "gradcam"].reset_index(drop=True)
        assert ("colormap" in scores) == bool(options)
        figures.append(plot_gallery(STUDY, scores.head(1), scores=scores, methods=["gradcam"]))
    plain, jet = figures
    assert not np.array_equal(mask_outline(plain), mask_outline(jet))
    assert "of means over 9 x 9 pixels of the grey levels of its colours (jet)." in caption(jet)
    assert "of means over 9 x 9 pixels." in caption(plain)
    # the last scores are those by way of jet
    shown = {"scores": scores, "methods": ["gradcam"]}
    otsu = plot_gallery(STUDY, scores.head(1), **shown, threshold="otsu")
    np.testing.assert_array_equal(mask_outline(otsu), mask_outline(jet))
    # the filter and its colormap go together: with another threshold neither is used
    half = plot_gallery(STUDY, scores.head(1), **shown, threshold=0.5)
    unfiltered = plot_gallery(STUDY, scores.head(1), **shown, threshold=0.5, smooth=0)
    np.testing.assert_array_equal(mask_outline(half), mask_outline(unfiltered))


def test_a_study_of_gaze_has_no_masks_to_show(tmp_path):
    gaze = read_gaze(write_release(tmp_path / "data"))
    with raises(SalstatsError, hint="a case of gaze is drawn by plot_gaze()"):
        plot_overlay(gaze, "img-a", "Edema")
    with raises(SalstatsError, hint="a case of gaze is drawn by plot_gaze()"):
        plot_gallery(gaze, pd.DataFrame({"case": ["img-a"]}))


def test_an_overlay_shows_the_only_method_or_the_one_that_is_named():
    assert plot_overlay(STUDY, "a", "Edema").data["method"].item() == "gradcam"
    assert plot_overlay(STUDY, "a", "Edema", method="human").data["method"].item() == "human"


def test_an_overlay_shows_the_only_task_or_the_one_that_is_named():
    with raises(SalstatsError, option="task", choices=STUDY.tasks):
        plot_overlay(STUDY, STUDY.cases[0].case)
    only = STUDY.select(tasks=["Edema"])
    figure = plot_overlay(only, STUDY.cases[0].case, method="gradcam")
    assert figure.data["task"].tolist() == ["Edema"]


def test_scores_of_a_probability_cutoff_show_masks_above_it():
    """The maps have no probability, so that nothing says that their masks are to be shown."""
    scored = SCORES.assign(cutoff=np.where(SCORES["method"].eq("gradcam"), 0.5, np.nan))
    picked = PICKED[["case", "task", "pick"]]
    methods = ["gradcam"]
    assert plot_gallery(STUDY, picked, scores=scored, methods=methods).data["note"].eq("empty mask").all()
    assert plot_gallery(STUDY, picked, scores=SCORES, methods=methods).data["note"].eq("").all()


def test_each_picture_is_that_of_its_case_and_method():
    figure = plot_gallery(STUDY, pd.DataFrame({"case": ["b", "a"], "task": ["Nodule", "Edema"]}))
    columns = ["case", "task", "method", "note"]
    assert figure.data[columns].to_numpy().tolist() == [
        ["b", "Nodule", "gradcam", "constant map"],
        ["b", "Nodule", "human", "no mask"],
        ["a", "Edema", "gradcam", ""],
        ["a", "Edema", "human", ""],
    ]
    assert figure.data["height"].tolist() == [80, 80, 60, 60]


def saliency_scale(figure):
    """Texts of the colour scale."""
    (fill,) = [one for one in figure.scales if "fill" in one.aesthetics]
    return list(fill.labels)


def test_maps_have_a_scale_of_their_own_or_one_for_all():
    # the map of the second finding is ten times that of the first
    edema, nodule, *others = STUDY.cases[0].predictions
    tenfold = replace(nodule, read=partial(Content, saliency=10 * hill(0, 0)))
    case = replace(STUDY.cases[0], predictions=(edema, tenfold, *others))
    two_maps = replace(STUDY, cases=(case, STUDY.cases[1]))
    rows = pd.DataFrame({"case": "a", "task": ["Edema", "Nodule"]})
    each = plot_gallery(two_maps, rows, methods=["gradcam"])
    assert saliency_scale(each) == ["0", "0.5", "1"]
    shared = plot_gallery(two_maps, rows, methods=["gradcam"], scale="shared")
    low, middle, high = map(float, saliency_scale(shared))
    assert low == 0
    assert 9 < high <= 10
    assert middle == pytest.approx(high / 2, rel=0.05)


def test_the_image_alone_stands_before_the_maps_and_needs_no_score():
    rows = pd.DataFrame({"case": "a", "task": ["Edema"]})
    figure = plot_gallery(STUDY, rows, scores=SCORES, with_image=True)
    assert figure.data["method"].fillna("").tolist() == ["", "gradcam", "human"]
    assert figure.data["left"].is_monotonic_increasing
    assert figure.data["text"].iloc[0] == ""
    overlay = plot_overlay(STUDY, "a", "Edema", with_image=True)
    assert overlay.data["method"].fillna("").tolist() == ["", "gradcam"]
    assert "Absent" not in caption(overlay)


def test_a_picture_beside_its_image_is_printed_with_half_as_many_pixels():
    truth = np.zeros((600, 600), bool)
    truth[100:300, 100:300] = True
    large = ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): np.eye(6)})
    sides = []
    for with_image in (False, True):
        figure = plot_overlay(large, "a", width=40, with_image=with_image)
        (pictures,) = [one.geom.params["pictures"] for one in figure.layers if "pictures" in one.geom.params]
        sides.append(max(picture.shape[1] for picture in pictures.values()))
    # less by the gap between the two
    assert 2 < sides[0] / sides[1] < 2.3


def test_outlines_alone_have_no_scale_of_colours():
    figure = plot_overlay(STUDY, "a", "Edema", alpha=0)
    assert not [one for one in figure.scales if "fill" in one.aesthetics]
    # the outlines of truth, people and mask, each on its casing
    assert len(layers(figure, "geom_path")) == 6


@pytest.mark.parametrize(
    "options",
    [{"cmap": "infernoo"}, {"alpha": 2}, {"scale": "both"}],
    ids=lambda options: next(iter(options)),
)
def test_an_unknown_style_of_maps_is_an_error(options):
    ((option, value),) = options.items()
    with raises(ValueRangeError, option=option, value=value):
        plot_gallery(STUDY, pd.DataFrame({"case": "a", "task": ["Edema"]}), **options)

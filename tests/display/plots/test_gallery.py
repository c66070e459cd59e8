"""The gallery: which panels stand where, their scores, and that they fit a page."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from display.plots.estimate_figures import caption, drawn_texts, layers, size_mm
from display.plots.overlay_study import GRADCAM, PEOPLE, SHAPE, answer, box, hill, study
from tests_support import raises

import salstats as ss
from salstats.display.plots.gallery import (
    gallery_rows,
    gallery_width,
    has_picks_of_several_methods,
    panel_scores,
    picked_metric,
    series_titles_and_shared_notes,
)
from salstats.display.plots.layout.gallery_layout import MIN_PICTURE_MM
from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.theme import COLUMN_MM, PAGE_HEIGHT_MM, PAGE_MM
from salstats.display.text.labels import Labels
from salstats.errors import ColumnError, SalstatsError
from salstats.scoring.overlay_figures import plot_gallery
from salstats.stats.case_selection import pick_cases
from salstats.study import Case, Series, Study

STUDY = study()
SCORES = pd.DataFrame(
    [
        ("a", "Edema", "gradcam", 0.25),
        ("a", "Nodule", "gradcam", 0.5),
        ("b", "Edema", "gradcam", np.nan),
        ("a", "Edema", "human", 0.75),
        ("a", "Nodule", "human", 0.8),
    ],
    columns=["case", "task", "method", "score"],
).assign(metric="iou")
PICKED = pick_cases(SCORES, method="gradcam", by=["metric", "method"])


def test_cases_are_rows_and_methods_columns_people_last():
    figure = plot_gallery(STUDY, PICKED, scores=SCORES)
    got = figure.data[["case", "task", "method", "score"]].to_numpy().tolist()
    assert got == [
        ["a", "Edema", "gradcam", 0.25],
        ["a", "Edema", "human", 0.75],
        ["a", "Nodule", "gradcam", 0.5],
        ["a", "Nodule", "human", 0.8],
    ]
    found = drawn_texts(figure)
    assert {"Grad-CAM", "Human benchmark", "IoU 0.25", "IoU 0.75", "IoU 0.50", "IoU 0.80"} <= set(found)


def test_pictures_of_scores_that_name_no_metric_have_no_numbers():
    figure = plot_gallery(STUDY, PICKED.assign(metric=np.nan))
    assert figure.data["score"].isna().all()
    with raises(SalstatsError, option="metric", value="iou"):
        plot_gallery(STUDY, PICKED.assign(metric=np.nan), metric="iou")


def test_a_case_picked_twice_has_one_row_that_says_both():
    assert list(PICKED["pick"]) == ["worst", "median", "mean", "best"]
    figure = plot_gallery(STUDY, PICKED)
    assert len(figure.data) == 2 * PICKED["task"].nunique()
    beside = {t.replace("\n", " ") for t in drawn_texts(figure)}
    assert {"Worst, median and mean a Edema", "Best a Nodule"} <= beside
    assert "Picked by IoU of Grad-CAM." in caption(figure)
    assert "Picked by" not in caption(plot_gallery(STUDY, PICKED[["case", "task", "pick"]]))


def test_scores_of_the_cases_frame_stand_beside_their_method_only():
    figure = plot_gallery(STUDY, PICKED.query("pick == 'best'"))
    assert figure.data.set_index("method")["text"].to_dict() == {"gradcam": "IoU 0.50", "human": ""}
    plain = plot_gallery(STUDY, pd.DataFrame({"case": ["a"], "task": ["Edema"]}))
    assert list(plain.data["text"]) == ["", ""]


def test_an_undefined_score_is_a_dash_with_its_reason():
    figure = plot_gallery(STUDY, pd.DataFrame({"case": ["b"], "task": ["Edema"]}), scores=SCORES)
    assert figure.data["text"].iloc[0] == "IoU \u2014, no map"
    assert np.isnan(figure.data["score"].iloc[0])


def test_one_metric_of_several_is_chosen():
    both = pd.concat([SCORES, SCORES.assign(metric="hit", score=1.0)], ignore_index=True)
    rows = pd.DataFrame({"case": ["a"], "task": ["Edema"]})
    with raises(SalstatsError, option="metric", choices=("iou", "hit"), hint="name one with metric"):
        plot_gallery(STUDY, rows, scores=both)
    assert plot_gallery(STUDY, rows, scores=both, metric="hit").data["text"].iloc[0] == "Hit rate 1.00"
    # of picked cases it is the metric they were picked by
    assert plot_gallery(STUDY, PICKED, scores=both).data["text"].iloc[0] == "IoU 0.25"
    with raises(SalstatsError, option="metric", value="dice"):
        plot_gallery(STUDY, rows, scores=both, metric="dice")


def test_readers_of_one_case_share_its_panel():
    series = (GRADCAM, Series("human", reader="r1"), Series("human", reader="r2"))
    case = replace(STUDY.cases[0], predictions=(answer("Edema", saliency=hill(3, 4)),))
    readers = pd.DataFrame(
        {
            "case": "a",
            "task": "Edema",
            "method": "human",
            "reader": ["r1", "r2"],
            "metric": "iou",
            "score": [0.2, 0.6],
        }
    )
    figure = plot_gallery(
        Study((case,), STUDY.tasks, series), pd.DataFrame({"case": ["a"], "task": ["Edema"]}), scores=readers
    )
    assert list(figure.data["method"]) == ["gradcam", "human"]
    assert figure.data["text"].iloc[1] == "IoU 0.40, no mask"
    assert "Scores of several readers or seeds are their mean." in caption(figure)


def test_models_of_one_method_have_columns_of_their_own():
    series = (Series("gradcam", "densenet"), Series("gradcam", "resnet"), PEOPLE)
    case = Case("a", SHAPE, {}, tuple(answer("Edema", s, saliency=hill(3, 4)) for s in series[:2]))
    scores = pd.DataFrame(
        {
            "case": "a",
            "method": "gradcam",
            "model": ["densenet", "resnet"],
            "metric": "iou",
            "score": [0.1, 0.9],
        }
    )
    figure = plot_gallery(Study((case,), ("Edema",), series), pd.DataFrame({"case": ["a"]}), scores=scores)
    assert list(figure.data["method"]) == ["gradcam:densenet", "gradcam:resnet", "human"]
    assert list(figure.data["text"]) == ["IoU 0.10", "IoU 0.90", "no mask"]
    assert {"Grad-CAM, densenet", "Grad-CAM, resnet"} <= {t.replace("\n", " ") for t in drawn_texts(figure)}


def test_a_single_row_is_named_in_the_caption():
    one = plot_gallery(STUDY, PICKED.query("pick == 'best'"), methods="gradcam")
    assert "Best: a, Nodule, Grad-CAM." in caption(one)
    row = plot_gallery(STUDY, PICKED.query("pick == 'best'"))
    assert "Best: a, Nodule. Threshold" in caption(row)
    drawn_texts(row)
    picked_thrice = plot_gallery(STUDY, PICKED.query("task == 'Edema'"))
    assert "Worst, median and mean: a, Edema." in caption(picked_thrice)


def test_long_names_that_are_cut_alike_keep_their_rows():
    names = [f"{'a_very_long_name_of_an_image_' * 6}{i}" for i in range(3)]
    cases = tuple(replace(STUDY.cases[0], case=name) for name in names)
    figure = plot_gallery(replace(STUDY, cases=cases), pd.DataFrame({"case": names, "task": "Edema"}))
    assert figure.data["row"].nunique() == 3
    assert len(figure.data) == 6
    cut = [t for t in drawn_texts(figure) if t.startswith("a_very")]
    assert len(cut) == 3


def boxes(page):
    """Printed boxes of a page's pictures and of its texts, in mm: left, bottom, right, top."""
    drawn = page.draw(show=False)
    try:
        drawn.draw_without_rendering()
        mm = 25.4 / drawn.dpi
        images = [image.get_window_extent() for axes in drawn.axes for image in axes.images]
        seen = [t for t in drawn.findobj(plt.Text) if t.get_visible() and t.get_text().strip()]
        ticks = {t for axes in drawn.axes for t in (*axes.get_xticklabels(), *axes.get_yticklabels())}
        texts = [t.get_window_extent() for t in seen if t not in ticks]
        bounds = [drawn.bbox.x1 * mm, drawn.bbox.y1 * mm]
        return (
            [np.array(box.extents) * mm for box in images],
            [np.array(box.extents) * mm for box in texts],
            bounds,
        )
    finally:
        plt.close(drawn)


def apart(a, b):
    """Whether two boxes do not overlap, but for a tenth of a mm."""
    return bool((np.maximum(a[:2], b[:2]) > np.minimum(a[2:], b[2:]) - 0.1).any())


def unequal(n_methods=9):
    """A study of images of unequal size and two tasks, with readers and a map that is missing."""
    shapes = {"tall": (300, 90), "wide": (90, 300), "large": (300, 360), "small": (64, 64)}
    truths, maps, readers = {}, {}, {}
    for case, shape in shapes.items():
        for task in ("Edema", "Enlarged cardiomediastinum"):
            truths[case, task] = box(10, 30, 10, 40, shape)
            maps |= {(case, task, f"method {i}"): hill(3, 4) for i in range(n_methods - 1)}
            readers |= {(case, task, f"r{i}"): box(8, 20 + i, 10, 40, shape) for i in range(3)}
    del maps["small", "Edema", "method 0"]
    study = ss.study_from_arrays(truths, maps, readers=readers)
    return study, ss.score(study, metrics="iou")


@pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    ("width", "n_methods"),
    [
        (60, 2),
        (183, 9),
        pytest.param(89, 5, marks=pytest.mark.slow),
        pytest.param(183, 2, marks=pytest.mark.slow),
    ],
)
def test_pictures_are_large_enough_and_texts_hide_nothing(width, n_methods):
    study, scores = unequal(n_methods)
    picks = pick_cases(scores, metric="iou")
    figure = plot_gallery(study, picks, width=width, spacing=0.5, labels={"iou": "Intersection over union"})
    shown = pd.concat([page.data for page in figure.pages])
    assert len(shown) == n_methods * len(picks[["case", "task"]].drop_duplicates())
    assert all(size_mm(page)[0] == pytest.approx(width) for page in figure.pages)
    assert all(size_mm(page)[1] <= PAGE_HEIGHT_MM for page in figure.pages)
    for page in {figure.pages[0], figure.pages[-1]}:
        images, texts, bounds = boxes(page)
        printed = np.array([[right - left, top - bottom] for left, bottom, right, top in images])
        assert printed.max(axis=1).min() > MIN_PICTURE_MM - 0.1
        # what is planned in mm is so in print, and no picture is distorted
        sizes = page.data[["width", "height"]].to_numpy() * page.data[["mm_per_pixel"]].to_numpy()
        np.testing.assert_allclose(printed, sizes, atol=0.15)
        for number, own in enumerate(texts):
            assert (own[:2] > -0.1).all()
            assert (own[2:] < np.array(bounds) + 0.1).all()
            assert all(apart(own, image) for image in images)
            assert all(apart(own, other) for other in texts[:number])


def test_a_method_s_own_picks_stand_below_its_pictures():
    scores = pd.DataFrame(
        [("a", "gradcam", 0.2), ("b", "gradcam", 0.8), ("a", "human", 0.9), ("b", "human", 0.5)],
        columns=["case", "method", "score"],
    ).assign(metric="iou", task="Edema")
    figure = plot_gallery(STUDY, pick_cases(scores, at=["worst", "best"]), scores=scores)
    assert list(figure.data["text"]) == [
        "IoU 0.20, worst",
        "IoU 0.90, best",
        "IoU 0.80, best, no map",
        "IoU 0.50, worst, empty mask",
    ]
    assert "what that method's score was picked for" in caption(figure)


def test_every_picture_is_drawn_whatever_the_sizes_of_the_images():
    shapes = np.random.default_rng(0).integers(40, 400, (9, 2)).tolist()
    cases = tuple(
        Case(f"c{i}", tuple(shape), {}, (answer("Edema", saliency=hill(3, 4)),))
        for i, shape in enumerate(shapes)
    )
    figure = plot_gallery(
        Study(cases, ("Edema",), (GRADCAM,)), pd.DataFrame({"case": [case.case for case in cases]})
    )
    assert sum(len(axes.images) for page in figure.pages for axes in page.draw().axes) == len(cases)


def test_a_picture_outside_the_limits_is_an_error_not_left_out():
    figure = plot_gallery(STUDY, pd.DataFrame({"case": ["a"], "task": ["Edema"]}))
    with raises(SalstatsError, value="0"):
        (figure + p9.scale_x_continuous(limits=(0, 1))).draw()


def test_pictures_are_as_small_as_their_panels():
    shape = (2400, 3000)
    series = tuple(Series(f"method {i}") for i in range(4))
    case = Case("a", shape, {}, tuple(answer("Edema", s, saliency=hill(3, 4)) for s in series))
    figure = plot_gallery(
        Study((case,), ("Edema",), series),
        pd.DataFrame({"case": ["a"]}),
        images={"a": np.zeros(shape, dtype=np.uint8)},
    )
    pictures = layers(figure, "geom_picture")[0].geom.params["pictures"].values()
    printed = (figure.data["right"] - figure.data["left"]).max() / 25.4 * 300
    assert all(p.shape[1] == pytest.approx(printed, abs=1) for p in pictures)


def test_cases_without_an_image_are_named():
    rows = pd.DataFrame({"case": ["a", "b"], "task": "Edema"})
    figure = plot_gallery(STUDY, rows, images={"a": np.zeros(SHAPE, dtype=np.uint8)})
    assert "Grey ground: no image was given for b." in caption(figure)


@pytest.mark.parametrize(
    ("cases", "options", "error", "fields"),
    [
        (pd.DataFrame({"task": ["Edema"]}), {}, ColumnError, {"column": "case"}),
        (pd.DataFrame({"case": ["a"]}), {}, ColumnError, {"column": "task"}),
        (PICKED.iloc[:0], {}, SalstatsError, {"option": "cases"}),
        (PICKED, {"methods": []}, SalstatsError, {"option": "methods", "choices": ()}),
        (PICKED, {"methods": ["lime"]}, SalstatsError, {"choices": ("gradcam", "human"), "match": "'lime'"}),
    ],
)
def test_what_cannot_be_shown_is_said(cases, options, error, fields):
    with raises(error, **fields):
        plot_gallery(STUDY, cases, **options)


def pictured(*series, case="a", task="Edema"):
    """A picture of some series, as far as its scores are looked up."""
    return Picture(case, task, series[0].method, series, (2, 2), (2, 2), None, None, {}, {})


def score_rows(**columns):
    """Scores of two readers and a method on one case, and of another task and case."""
    frame = pd.DataFrame(
        {
            "case": ["a", "a", "a", "a", "b"],
            "task": ["Edema", "Edema", "Edema", "Nodule", "Edema"],
            "method": ["human", "human", "lime", "lime", "lime"],
            "reader": ["r1", "r2", None, None, None],
            "metric": "iou",
            "score": [0.2, 0.6, 0.5, 0.9, 0.1],
        }
    )
    return frame.assign(**columns)


def test_the_score_of_a_picture_is_the_mean_of_its_case_task_and_series():
    scores = panel_scores(score_rows(), None, ["a"])
    readers = Series("human", reader="r1"), Series("human", reader="r2")
    assert scores.metric == "iou"
    assert scores.mean_of_picture(pictured(*readers)) == (pytest.approx(0.4), 2)
    assert scores.mean_of_picture(pictured(readers[1])) == (0.6, 1)
    assert scores.mean_of_picture(pictured(Series("lime"))) == (0.5, 1)
    assert scores.mean_of_picture(pictured(Series("lime"), task="Nodule")) == (0.9, 1)
    # the other case is not among those that are shown
    mean, n_scores = scores.mean_of_picture(pictured(Series("lime"), case="b"))
    assert (np.isnan(mean), n_scores) == (True, 0)
    twice = pd.concat([score_rows(pick="best"), score_rows(pick="worst")])
    assert panel_scores(twice, "iou", ["a"]).mean_of_picture(pictured(Series("lime"))).n_scores == 1
    assert panel_scores(score_rows().drop(columns="score"), None, ["a"]).metric is None
    assert panel_scores(score_rows(metric=None), None, ["a"]).metric is None


def test_rows_are_picked_cases_and_tasks_stand_together_where_methods_have_their_own_picks():
    picks = pd.DataFrame(
        {
            "case": ["a", "b", "a", "c"],
            "task": ["Edema", "Nodule", "Edema", "Edema"],
            "pick": ["best", "worst", "median", "best"],
        }
    )
    rows = gallery_rows(picks, ["Edema", "Nodule"], Labels())
    assert [row.name_parts for row in rows] == [
        ("Best and median", "a", "Edema"),
        ("Worst", "b", "Nodule"),
        ("Best", "c", "Edema"),
    ]
    assert rows[0].name_in_sentence == "Best and median: a, Edema"
    assert len({row.key for row in rows}) == 3
    of_methods = picks.assign(method=["lime", "lime", "ig", "ig"])
    assert has_picks_of_several_methods(of_methods)
    assert not has_picks_of_several_methods(picks)
    assert not has_picks_of_several_methods(picks.assign(method="lime"))
    rows = gallery_rows(of_methods, ["Edema", "Nodule"], Labels())
    assert [row.name_in_sentence for row in rows] == ["a, Edema", "c, Edema", "b, Nodule"]
    # the only task is not named
    assert gallery_rows(picks.drop(columns="task"), ["Edema"], Labels())[0].name_parts == (
        "Best and median",
        "a",
    )


def test_the_model_that_all_methods_share_is_in_the_caption_and_not_in_their_titles():
    lime, ig = (Series(method, model="resnet", seed=seed) for method, seed in (("lime", "1"), ("ig", "2")))
    people = Series("human", reader="r1")
    titles, sentences = series_titles_and_shared_notes({"x": [lime], "y": [ig], "z": [people]}, Labels())
    assert titles == {"x": "LIME, 1", "y": "Integrated Gradients, 2", "z": "Human benchmark, r1"}
    assert [sentence.endswith("resnet.") for sentence in sentences] == [True]
    assert series_titles_and_shared_notes({"z": [people]}, Labels())[1] == []


def test_the_metric_of_picks_and_the_width_of_few_columns():
    assert picked_metric(pd.DataFrame({"metric": ["iou", "iou"]})) == "iou"
    assert picked_metric(pd.DataFrame({"metric": ["iou", "hit"]})) is None
    assert picked_metric(pd.DataFrame({"case": ["a"]})) is None
    assert gallery_width(None, 1) == COLUMN_MM < gallery_width(None, 12) == PAGE_MM
    assert gallery_width(60.0, 12) == 60.0

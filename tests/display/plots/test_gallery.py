"""The gallery: which panels stand where, their scores, and that they fit a page."""

from dataclasses import replace

import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from display.plots.estimate_figures import caption, drawn_texts, layers, size_mm
from display.plots.overlay_study import GRADCAM, PEOPLE, SHAPE, answer, hill, study

import salstats as ss
from salstats.checks import ColumnError, SalstatsError
from salstats.display.plots.theme import COLUMN_MM, PAGE_MM
from salstats.scoring.figures import plot_gallery
from salstats.stats.picking import pick_cases
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


def test_a_case_picked_twice_has_one_row_that_says_both():
    assert list(PICKED["pick"]) == ["worst", "median", "mean", "best"]
    figure = plot_gallery(STUDY, PICKED)
    assert len(figure.data) == 2 * PICKED["task"].nunique()
    beside = {t.replace("\n", " ") for t in drawn_texts(figure)}
    assert {"Worst, median and mean a Edema", "Best a Nodule"} <= beside


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
    with pytest.raises(SalstatsError, match=r"2 metrics .*name one with metric="):
        plot_gallery(STUDY, rows, scores=both)
    assert plot_gallery(STUDY, rows, scores=both, metric="hit").data["text"].iloc[0] == "Hit rate 1.00"
    # of picked cases it is the metric they were picked by
    assert plot_gallery(STUDY, PICKED, scores=both).data["text"].iloc[0] == "IoU 0.25"
    with pytest.raises(SalstatsError, match="no metric 'dice'"):
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


def test_long_names_that_are_cut_alike_keep_their_rows():
    names = [f"{'a_very_long_name_of_an_image_' * 6}{i}" for i in range(3)]
    cases = tuple(replace(STUDY.cases[0], case=name) for name in names)
    figure = plot_gallery(replace(STUDY, cases=cases), pd.DataFrame({"case": names, "task": "Edema"}))
    assert figure.data["row"].nunique() == 3
    assert len(figure.data) == 6
    cut = [t for t in drawn_texts(figure) if t.startswith("a_very")]
    assert len(cut) == 3


@pytest.mark.parametrize("n_rows", [1, 4, 12])
@pytest.mark.parametrize("n_methods", [1, 2, 6])
def test_galleries_fit_a_page(n_rows, n_methods):
    series = tuple(Series(f"method {i}") for i in range(n_methods))
    cases = tuple(
        Case(f"c{i}", (80, 60), {}, tuple(answer("Edema", s, saliency=hill(3, 4)) for s in series))
        for i in range(n_rows)
    )
    figure = plot_gallery(Study(cases, ("Edema",), series), pd.DataFrame({"case": [c.case for c in cases]}))
    wide, high = size_mm(figure)
    assert wide <= (COLUMN_MM if n_methods <= 2 else PAGE_MM) + 1e-6
    assert high <= 240
    # all of a panel's box is there: the form of the images holds
    panels = figure.data
    np.testing.assert_allclose(
        (panels["top"] - panels["bottom"]) / (panels["right"] - panels["left"]), 80 / 60
    )


def test_every_picture_is_drawn_whatever_the_sizes_of_the_images():
    shapes = np.random.default_rng(0).integers(40, 400, (9, 2)).tolist()
    cases = tuple(
        Case(f"c{i}", tuple(shape), {}, (answer("Edema", saliency=hill(3, 4)),))
        for i, shape in enumerate(shapes)
    )
    figure = plot_gallery(
        Study(cases, ("Edema",), (GRADCAM,)), pd.DataFrame({"case": [case.case for case in cases]})
    )
    assert [len(axes.images) for axes in figure.draw().axes] == [1] * len(cases)


def test_a_picture_outside_the_limits_is_an_error_not_left_out():
    figure = plot_gallery(STUDY, pd.DataFrame({"case": ["a"], "task": ["Edema"]}))
    with pytest.raises(SalstatsError, match="outside"):
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
    assert all(printed <= p.shape[1] <= 1.3 * printed for p in pictures)


def test_people_are_drawn_in_other_panels_on_request_only():
    def kinds(**options):
        figure = plot_gallery(STUDY, PICKED, methods=["gradcam"], **options)
        return {str(k) for layer in layers(figure, "geom_path") for k in layer._data["kind"].unique()}

    assert kinds() == {"truth", "mask"}
    assert kinds(human=True) == {"truth", "mask", "human"}


def test_cases_without_an_image_are_named():
    rows = pd.DataFrame({"case": ["a", "b"], "task": "Edema"})
    figure = plot_gallery(STUDY, rows, images={"a": np.zeros(SHAPE, dtype=np.uint8)})
    assert "Grey ground: no image was given of b." in caption(figure)


@pytest.mark.parametrize(
    ("cases", "options", "error", "message"),
    [
        (pd.DataFrame({"task": ["Edema"]}), {}, ColumnError, "cases has no column 'case'"),
        (pd.DataFrame({"case": ["a"]}), {}, ColumnError, "cases has no column 'task'"),
        (PICKED.iloc[:0], {}, SalstatsError, "cases has no rows"),
        (PICKED, {"methods": []}, SalstatsError, "no method to show"),
        (PICKED, {"methods": ["lime"]}, SalstatsError, "no method 'lime'"),
    ],
)
def test_what_cannot_be_shown_is_said(cases, options, error, message):
    with pytest.raises(error, match=message):
        plot_gallery(STUDY, cases, **options)


def test_masks_are_cut_where_the_scores_say_they_were():
    scored = SCORES.assign(threshold=np.where(SCORES["method"].eq("gradcam"), "0.75", None))
    picked = pick_cases(scored, method="gradcam", by=["metric", "method"])
    assert "Threshold: 0.75." in caption(plot_gallery(STUDY, picked, scores=scored))
    assert "Threshold: Otsu's level." in caption(plot_gallery(STUDY, PICKED, scores=SCORES))
    assert "Threshold: 0.5." in caption(plot_gallery(STUDY, picked, scores=scored, threshold=0.5))


def test_cases_picked_by_one_method_show_the_masks_of_all(tmp_path):
    """One threshold for every method that was scored holds for those of the other columns, too."""
    examples = ss.datasets.digits_examples()
    study = ss.read_study(examples)
    scores = ss.score(study, metrics="iou")
    picked = ss.pick_cases(scores, metric="iou", method="gradcam")
    figure = ss.plot_gallery(study, picked.head(1), methods=["gradcam", "layercam"])
    assert figure.data["method"].tolist() == ["gradcam", "layercam"]
    assert ss.plot_gallery(study, picked.head(1)).data["method"].nunique() > 5

"""A report of scores with a study: the examples it draws."""

from dataclasses import replace

import pandas as pd
import pytest
from display.plots.overlay_study import answer, hill, study
from tests_support import raises

import salstats as ss
from salstats.display.text.labels import Labels
from salstats.errors import InputFileError
from salstats.scoring import reports
from salstats.scoring.reports import map_names_and_gallery_drawer
from salstats.study import Series, Study

STUDY = study()
SCORES = pd.DataFrame(
    [
        ("a", "Edema", "human", 0.75),
        ("a", "Edema", "gradcam", 0.25),
        ("a", "Nodule", "gradcam", 0.5),
    ],
    columns=["case", "task", "method", "score"],
).assign(metric="iou")


def test_examples_know_every_map_of_the_study():
    examples = map_names_and_gallery_drawer(STUDY)
    assert examples.source == "the study"
    assert examples.maps.to_numpy().tolist() == [
        ["a", "Edema", "gradcam"],
        ["a", "Nodule", "gradcam"],
        ["a", "Edema", "human"],
        ["a", "Nodule", "human"],
        ["b", "Nodule", "gradcam"],
        ["b", "Fracture", "gradcam"],
        ["b", "Edema", "human"],
    ]


def test_examples_are_drawn_with_their_scores_people_last():
    figure = map_names_and_gallery_drawer(STUDY).draw(SCORES.iloc[[1]], SCORES, Labels(None))
    assert figure.data[["method", "text"]].to_numpy().tolist() == [
        ["gradcam", "IoU 0.25"],
        ["human", "IoU 0.75"],
    ]
    only_people = SCORES[SCORES["method"] == "human"]
    assert map_names_and_gallery_drawer(STUDY).draw(only_people, only_people, Labels(None)).data[
        "method"
    ].tolist() == ["human"]


def models(*names):
    """A study with one map of each of some models, and scores of them."""
    series = tuple(Series("gradcam", name) for name in names)
    predictions = tuple(answer("Edema", one_series, saliency=hill(3, 4)) for one_series in series)
    case = replace(STUDY.cases[0], predictions=predictions)
    models_study = Study((case,), ("Edema",), series, "the study")
    return models_study, ss.score(models_study, metrics="iou")


def test_the_only_model_of_a_method_needs_no_name():
    one, scores = models("densenet")
    # scores of the same maps that name no model, or that of another run
    for rows in (scores, scores.drop(columns="model"), scores.assign(model="densenet-121")):
        figure = map_names_and_gallery_drawer(one).draw(rows, rows, Labels(None))
        assert figure.data["method"].tolist() == ["gradcam"]
        assert figure.data["text"].str.startswith("IoU ").all()


def test_several_models_of_a_method_cannot_be_told_apart_without_their_names():
    two, scores = models("densenet", "resnet")
    with raises(ss.errors.SalstatsError, choices=("gradcam:densenet", "gradcam:resnet")):
        map_names_and_gallery_drawer(two).draw(scores, scores, Labels(None))


@pytest.mark.parametrize(
    ("unit", "text"), [(None, ""), ("patient", "patient"), (["patient", "case"], "patient, case")]
)
def test_the_settings_of_a_report_are_its_options(monkeypatch, tmp_path, unit, text):
    written = {}

    def record(scores, folder, settings, **options):
        written.update(scores=scores, settings=settings, **options)
        return {}

    monkeypatch.setattr(reports, "write_report", record)
    scores_file = tmp_path / "scores.csv"
    SCORES.to_csv(scores_file, index=False)
    options = {
        "reference": "human", "covariates": "size", "only": {"task": "Edema"}, "level": 0.9,
        "interval": "t", "n_replicates": 99, "adjust": "bh", "margin": 0.1,
        "weights": "unit", "style": "ama", "labels": {"iou": "Overlap"}, "title": "A title",
        "inputs": (scores_file,), "code": "scores()",
    }  # fmt: skip
    reports.report(SCORES, tmp_path / "out", unit=unit, rng=7, jobs=1, **options)
    settings = vars(written["settings"])
    assert {name: settings[name] for name in options} == options
    assert (settings["unit"], settings["seed"]) == (text, 7)
    assert written["scores"] is SCORES
    assert (written["examples"], written["jobs"], written["progress"]) == (None, 1, False)


def test_images_are_checked_before_anything_is_written(tmp_path):
    with raises(InputFileError, option="images", path=tmp_path / "nowhere"):
        reports.report(SCORES, tmp_path / "out", study=STUDY, images=tmp_path / "nowhere")
    assert not (tmp_path / "out").exists()

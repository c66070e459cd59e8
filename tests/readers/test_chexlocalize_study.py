"""Studies in the CheXlocalize format: what they are read as."""

import json
import pickle
import re

import numpy as np
import pytest
from chexlocalize_files import (
    BOX,
    BOX_PX,
    HEIGHT,
    ONE,
    TWO,
    WIDTH,
    answer,
    mask,
    write_json,
    write_map,
)
from tests_support import exact_csv, raises, warns

from salstats.errors import ColumnError, InputFileError, SalstatsError, Setting
from salstats.images.masks import area, contains
from salstats.readers import chexlocalize_maps
from salstats.readers.chexlocalize import read_chexlocalize
from salstats.readers.chexlocalize_maps import TASKS
from salstats.study import HUMAN, Series


@pytest.fixture
def no_map_is_read(monkeypatch):
    """Reading a map fails the test."""

    def fail(file):
        raise AssertionError(f"{file} was opened")

    monkeypatch.setattr(chexlocalize_maps, "read_pickle", fail)


def test_the_public_sample_is_read_from_its_folder(shared, no_map_is_read):
    study = read_chexlocalize(shared / "data" / "chexlocalize_sample", method="gradcam")
    assert study.tasks == TASKS
    assert study.series == (Series("gradcam"),)
    assert [c.case for c in study] == [
        "patient64541_study1_view1_frontal",
        "patient64542_study1_view1_frontal",
    ]
    assert [c.patient for c in study] == ["patient64541", "patient64542"]
    # the radiographs beside them: 2828 x 2320 and 2021 x 2022, width first
    assert [c.shape for c in study] == [(2320, 2828), (2022, 2021)]
    assert [len(c.predictions) for c in study] == [10, 10]
    assert all(p.has_saliency for c in study for p in c.predictions)
    # outlines counted by eye in gt_annotations_val.json
    counts = {t: truth.n_instances for t, truth in study.cases[0].truths.items() if truth.n_instances}
    assert counts == {"Enlarged Cardiomediastinum": 2, "Cardiomegaly": 1, "Airspace Opacity": 1}


def test_masks_probabilities_and_labels_of_the_sample_are_those_the_scripts_saw(shared):
    study = read_chexlocalize(shared / "data" / "chexlocalize_sample")
    expected = exact_csv(shared / "oracles" / "chexlocalize" / "sample" / "per_map.csv")
    cases = {c.case: c for c in study}
    for row in expected.itertuples():
        case = cases[row.img_id]
        content = answer(study, row.img_id, row.task)
        assert area(case.truths[row.task].read()) == row.gt_px
        assert content.prob == row.prob
        assert content.shape == case.shape == (row.h, row.w)
        assert content.saliency.shape == (320, 320)
        # valid.csv calls the task Lung Opacity
        assert case.labels[row.task] == content.label == (row.gt_px > 0)


def test_masks_drawn_from_outlines_are_those_of_the_release(shared, tmp_path):
    sample = shared / "data" / "chexlocalize_sample"
    drawn = read_chexlocalize(annotations=sample / "gt_annotations_val.json")
    stored = read_chexlocalize(truth=sample / "gt_segmentations_val.json")
    n_drawn = 0
    for one, other in zip(drawn, stored, strict=True):
        assert one.shape == other.shape
        for task, truth in other.truths.items():
            assert truth.n_instances is None
            if task in one.truths:
                n_drawn += 1
                assert one.truths[task].read() == truth.read()
            else:
                assert area(truth.read()) == 0
    assert n_drawn == 4


@pytest.mark.slow
def test_a_study_of_two_thousand_maps_is_read_without_opening_one(made_up, no_map_is_read):
    study = read_chexlocalize(made_up / "inputs")
    design = json.loads((made_up / "inputs" / "study.json").read_text())
    assert len(study) == design["n"]
    assert sum(c.annotated for c in study) == design["n_images_with_gt"]
    assert {t: sum(t in c.truths for c in study) for t in TASKS} == design["n_positive"]
    methods = [p.series.method for c in study for p in c.predictions]
    assert methods.count("saliency") == 2000
    # people answer for every case and task, also where they marked nothing
    assert methods.count(HUMAN) == 2000
    assert study.series == (Series("saliency"), Series(HUMAN))
    assert [c.case for c in study] == sorted(c.case for c in study)


@pytest.mark.parametrize(("files", "of"), [("gt_segmentations", "truth"), ("hb_segmentations", "people")])
def test_every_mask_drawn_in_the_study_is_the_scripts_mask(made_up, made_up_study, files, of):
    expected = json.loads((made_up / "expected" / f"{files}.json").read_text())
    n = 0
    for case in made_up_study:
        held = {p.task: p for p in case.predictions if p.series.method == HUMAN}
        for task, code in expected.get(case.case, {}).items():
            if of == "people":
                got = held[task].read().mask
            elif task in case.truths:
                got = case.truths[task].read()
            else:
                continue
            assert got.to_coco() == code, (case.case, task)
            n += 1
    assert n == (1790 if of == "people" else 630)


def test_points_of_the_study_are_row_and_column(made_up, made_up_study):
    given = json.loads((made_up / "inputs" / "hb_salient_pts.json").read_text())
    case = "patient64139_study1_view1_frontal"
    got = answer(made_up_study, case, "Lung Lesion", HUMAN).points
    assert got.tolist() == [[y, x] for x, y in given[case]["Lung Lesion"]]
    assert len(got) == 3
    assert answer(made_up_study, case, "Edema", HUMAN).points.shape == (0, 2)


def test_where_people_marked_nothing_the_mask_is_empty_of_the_size_that_a_map_says(made_up, made_up_study):
    table = exact_csv(made_up / "expected" / "per_map.csv").set_index(["img_id", "task"])
    unsized = [c for c in made_up_study if c.shape is None]
    assert unsized
    for case in unsized:
        content = answer(made_up_study, case.case, "Edema", HUMAN)
        assert area(content.mask) == 0
        assert content.mask.shape == tuple(table.loc[(case.case, "Edema"), ["h", "w"]])
        assert len(content.points) == 0


def test_stored_masks_are_read_beside_the_maps(made_up):
    masks = made_up / "expected" / "seg_otsu.json"
    study = read_chexlocalize(made_up / "inputs", masks={"otsu": masks})
    # a folder's own maps are taken where neither maps nor masks are given
    assert study.series == (Series("otsu"), Series(HUMAN))
    assert not any(p.has_saliency for c in study for p in c.predictions)
    table = exact_csv(made_up / "expected" / "per_map.csv").set_index(["img_id", "task"])
    for case in study.cases[:20]:
        for task in study.tasks:
            content = answer(study, case.case, task, "otsu")
            assert content.saliency is None
            assert area(content.mask) == table.loc[(case.case, task), "seg_px"]
    both = read_chexlocalize(made_up / "inputs", maps=made_up / "inputs" / "maps", masks=masks)
    assert both.series == (Series("saliency"), Series(HUMAN))
    content = answer(both, "patient64139_study1_view1_frontal", "Edema")
    assert content.saliency.shape == (20, 20)
    assert content.mask.shape == (457, 435)


def test_predictions_can_be_sent_to_another_process_and_are_small(folder):
    write_json(folder / "hb_annotations_val.json", {ONE: {"img_size": [HEIGHT, WIDTH], "Edema": [BOX]}})
    study = read_chexlocalize(folder)
    for case in study:
        for prediction in case.predictions:
            sent = pickle.dumps(prediction)
            # no file's whole content travels with one answer
            assert len(sent) < 2000
            sent_on = pickle.loads(sent).read()
            assert (sent_on.saliency is None) == (prediction.series.method == HUMAN)
        for truth in case.truths.values():
            assert area(pickle.loads(pickle.dumps(truth)).read()) == BOX_PX


def test_a_missing_map_is_no_prediction_and_the_case_stays(folder):
    (folder / "maps" / f"{TWO}_Edema_map.pkl").unlink()
    (folder / "maps" / f"{ONE}_Cardiomegaly_map.pkl").unlink()
    study = read_chexlocalize(folder)
    assert [[p.task for p in c.predictions] for c in study] == [["Edema"], ["Cardiomegaly"]]
    assert study.tasks == ("Cardiomegaly", "Edema")
    assert [c.annotated for c in study] == [True, False]


def test_several_methods_models_and_seeds_are_named_by_their_folders(folder):
    write_map(folder / "ig1", ONE, "Edema")
    write_map(folder / "ig2", ONE, "Edema")
    study = read_chexlocalize(
        truth=folder / "gt_segmentations_val.json",
        maps={"cam": folder / "maps", "ig:densenet": folder / "ig1", "ig:densenet:7": folder / "ig2"},
        points=write_json(folder / "points.json", {ONE: {"Edema": [[5, 3]]}}),
    )
    assert study.series == (
        Series("cam"),
        Series("ig", "densenet"),
        Series("ig", "densenet", "7"),
        Series(HUMAN),
    )
    assert answer(study, ONE, "Edema", HUMAN).mask is None
    assert contains(
        study.cases[0].truths["Edema"].read(), *answer(study, method=HUMAN).points.T
    ).tolist() == [True]


def test_people_are_not_asked_where_no_file_says_the_size_of_the_image(folder):
    for file in (folder / "maps").glob(f"{TWO}*"):
        file.unlink()
    write_json(folder / "hb_segmentations_val.json", {ONE: {"Edema": mask()}})
    write_json(folder / "hb_salient_pts_val.json", {ONE: {"Edema": [[5, 3]]}, TWO: {"Edema": [[5, 3]]}})
    content = answer(read_chexlocalize(folder), TWO, method=HUMAN)
    assert content.mask is None
    assert content.points.tolist() == [[3, 5]]


def test_lung_opacity_is_airspace_opacity(tmp_path):
    write_json(tmp_path / "gt_segmentations.json", {ONE: {"Lung Opacity": mask()}})
    write_map(tmp_path, ONE, "Lung Opacity")
    study = read_chexlocalize(tmp_path)
    assert study.tasks == ("Airspace Opacity",)
    assert answer(study, task="Airspace Opacity").prob == 0.25
    assert area(study.cases[0].truths["Airspace Opacity"].read()) == BOX_PX
    write_map(tmp_path, ONE, "Airspace Opacity")
    second_map = tmp_path / f"{ONE}_Lung Opacity_map.pkl"
    with raises(InputFileError, option="maps", path=second_map, value=(ONE, "Airspace Opacity")):
        read_chexlocalize(tmp_path)
    twice = {ONE: {"Lung Opacity": mask(), "Airspace Opacity": mask()}}
    write_json(tmp_path / "gt_segmentations.json", twice)
    with raises(InputFileError, value="Airspace Opacity", path=tmp_path / "gt_segmentations.json"):
        read_chexlocalize(tmp_path)


def test_an_unknown_task_of_a_map_is_named_with_the_closest_there_is(folder):
    write_map(folder / "maps", ONE, "Edma")
    with raises(InputFileError, option="tasks", value="Edma", hint=Setting("tasks"), match="'Edema'"):
        read_chexlocalize(folder)
    assert read_chexlocalize(folder, tasks=["Edema"]).tasks == ("Edema",)
    with_it = read_chexlocalize(folder, tasks=["Edma", "Edema"])
    assert with_it.tasks == ("Edma", "Edema")
    assert answer(with_it, task="Edma").prob == 0.25


def test_maps_of_classes_that_nobody_marked_are_left_out_and_said(folder):
    write_json(folder / "valid.csv", "Path,Edema,Cardiomegaly,Fracture\nvalid/p/study1/v.jpg,1,0,1\n")
    for task in ("Fracture", "No Finding", "Lung Lesion"):
        write_map(folder / "maps", ONE, task)
    with warns(option="tasks", value=["Fracture", "No Finding"]):
        study = read_chexlocalize(folder)
    # a task of the release whose finding is on no image stays
    assert study.tasks == ("Cardiomegaly", "Lung Lesion", "Edema")
    assert {p.task for c in study for p in c.predictions} == set(study.tasks)
    assert read_chexlocalize(folder, tasks=["Fracture"]).tasks == ("Fracture",)


def test_a_task_that_only_the_truth_knows_is_a_task_of_maps_too(tmp_path):
    write_json(tmp_path / "gt_segmentations.json", {ONE: {"rib_fracture": mask(), "Edema": mask()}})
    write_map(tmp_path, ONE, "rib_fracture")
    study = read_chexlocalize(tmp_path)
    assert study.tasks == ("Edema", "rib_fracture")
    assert answer(study, task="rib_fracture").prob == 0.25


def test_tasks_are_named_as_the_release_has_them(folder):
    assert read_chexlocalize(folder, tasks=["Edema", "Edema"]).tasks == ("Edema",)
    with raises(SalstatsError, option="tasks", value="Oedema", choices=("Cardiomegaly", "Edema")):
        read_chexlocalize(folder, tasks=["Oedema"])
    with raises(SalstatsError, option="tasks", value=None, choices=()):
        read_chexlocalize(folder, tasks=[])


def test_a_map_that_stands_twice_is_named_with_both_files(folder):
    second_map = write_map(folder / "more")
    # the first of the two files
    first_map = re.escape(str(folder / "maps" / second_map.name))
    with raises(InputFileError, option="maps", path=second_map, value=(ONE, "Edema"), match=first_map):
        read_chexlocalize(folder)


@pytest.mark.parametrize("name", ["_map.pkl", "Edema_map.pkl", "_Edema_map.pkl"])
def test_a_map_without_case_or_task_in_its_name_is_named(folder, name):
    (folder / "maps" / name).write_bytes(b"")
    with raises(InputFileError, path=folder / "maps" / name):
        read_chexlocalize(folder)


def test_patients_are_found_in_the_ids_or_not_at_all(tmp_path):
    def patients(*cases, **given):
        write_json(tmp_path / "gt_segmentations.json", {case: {"Edema": mask()} for case in cases})
        return [c.patient for c in read_chexlocalize(tmp_path, **given)]

    assert patients("patient7_study1", "patient7_study2") == ["patient7", "patient7"]
    assert patients("patient7_study1", patient_from=None) == [None]
    assert patients("CXR7", "CXR8") == [None, None]
    assert patients("P7-1", "P7-2", patient_from=r"P(\d+)") == ["7", "7"]
    with raises(ColumnError, option="patient_from", column="case", value=r"^(patient\d+)"):
        patients("patient7_study1", "CXR8")
    with raises(ColumnError, option="patient_from", column="case", value=r"P(\d+)"):
        patients("CXR8", patient_from=r"P(\d+)")
    for pattern in ("CXR", "a{99999999999999999999}", 3000 * "(", b"(8)"):
        with raises(SalstatsError, option="patient_from", value=pattern):
            patients("CXR8", patient_from=pattern)


def test_labels_are_joined_by_the_path_of_the_image(folder):
    table = (
        "Path,Sex,No Finding,Lung Opacity,Edema\n"
        "CheXpert-v1.0/valid/patient1/study1/view1_frontal.jpg,Male,0,1,1\n"
        "CheXpert-v1.0/valid/patient2/study1/view1_frontal.jpg,Female,1,,0\n"
        "CheXpert-v1.0/valid/patient9/study1/view1_frontal.jpg,Female,1,0,0\n"
    )
    (folder / "valid.csv").write_text(table)
    study = read_chexlocalize(folder)
    # only the study's tasks and cases
    assert [dict(c.labels) for c in study] == [{"Edema": 1}, {"Edema": 0}]
    write_map(folder / "maps", ONE, "Airspace Opacity")
    one, two = read_chexlocalize(folder)
    assert one.labels["Airspace Opacity"] == 1
    assert np.isnan(two.labels["Airspace Opacity"])


def test_uncertain_labels_are_not_known_and_said_once(folder):
    table = write_json(folder / "labels.csv", f"case,Edema,Cardiomegaly\n{ONE},-1,-1.0\n{TWO},1,0\n")
    with warns(value=2, path=table):
        study = read_chexlocalize(folder, labels=table)
    assert np.isnan(study.cases[0].labels["Edema"])
    assert study.cases[1].labels["Edema"] == 1


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        (f"case,Edema\n{ONE},2\n", {"column": "Edema", "rows": (0,)}),
        (f"case,Edema\n{ONE},1\n{ONE},1\n", {"column": "case", "rows": (1,)}),
        ("image,Edema\nx,1\n", {"column": "case", "rows": ()}),
        ("case,Lung Opacity,Airspace Opacity\nx,1,1\n", {"column": "Lung Opacity"}),
    ],
)
def test_damaged_labels_are_named_errors(folder, content, fields):
    table = write_json(folder / "labels.csv", content)
    with raises(ColumnError, path=table, **fields):
        read_chexlocalize(folder, labels=table)

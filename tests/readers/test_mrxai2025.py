import json
import pickle

import cv2
import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns
from tiff_files import (
    CASES,
    HEALTHY,
    PATIENTS,
    SHAPE,
    explanation,
    truth,
    write_masks,
    write_pair,
    write_study,
)

import salstats as ss
from salstats.errors import InputFileError
from salstats.images import masks
from salstats.images.masks import Rle, decode
from salstats.readers.formats import read_study
from salstats.readers.mrxai2025 import read_mrxai2025
from salstats.study import Series


@pytest.fixture
def folder(tmp_path):
    """The study's layout."""
    return write_study(tmp_path / "lgg")


def content(study, case, method):
    """What a method says of a case."""
    (held,) = [c for c in study if c.case == case]
    return next(p for p in held.predictions if str(p.series) == method).read()


class TestLayout:
    def test_case_patient_truth_and_size(self, folder):
        study = read_mrxai2025(folder)
        assert [c.case for c in study] == sorted(CASES)
        assert {c.patient for c in study} == set(PATIENTS)
        assert study.tasks == ("tumour",)
        for case in study:
            assert case.shape == SHAPE
            assert case.annotated
            assert (decode(case.truths["tumour"].read()) == truth(case.case)).all()
            # a slice without a tumour is annotated, too
            assert case.labels == {"tumour": float(case.case != HEALTHY)}

    def test_pairs_of_files_tell_the_format(self, folder):
        assert [c.case for c in read_study(folder)] == sorted(CASES)
        assert read_study(folder, format="mrxai2025", task="x").tasks == ("x",)

    def test_other_files_beside_the_patients_and_hidden_ones_are_left_alone(self, folder):
        (folder / "data.csv").write_text("patient\n")
        (folder / PATIENTS[0] / "._TCGA_CS_1_9_mask.tif").write_bytes(b"no image")
        assert len(read_mrxai2025(folder)) == len(CASES)

    @pytest.mark.parametrize("where", ["link", "below", "above"])
    def test_images_that_are_passed_over_are_said(self, folder, tmp_path, where):
        image, _ = write_pair(tmp_path / "other", "TCGA_XX_9_1", truth(HEALTHY))
        if where == "link":
            left_out = folder / "link"
            left_out.symlink_to(image.parent)
        elif where == "below":
            left_out = image.parent.rename(folder / PATIENTS[0] / "below")
        else:
            left_out = image.rename(folder / "above.tif")
        with warns(path=left_out, value=[left_out]):
            assert len(read_mrxai2025(folder)) == len(CASES)


class TestExplanations:
    @pytest.mark.parametrize("suffix", [".png", ".tif", ".npy"])
    def test_masks_by_case_are_read_as_they_are(self, folder, tmp_path, suffix):
        place = write_masks(tmp_path / "lime", shift=3, suffix=suffix)
        study = read_mrxai2025(folder, masks={"lime": place})
        assert study.series == (Series("lime"),)
        for case in CASES:
            assert (decode(content(study, case, "lime").mask) == explanation(case, 3)).all()

    @pytest.mark.parametrize("form", ["case", "case and task"])
    def test_masks_in_one_json_file(self, folder, tmp_path, form):
        codes = {c: masks.encode(explanation(c, 2)).to_coco() for c in CASES}
        if form == "case and task":
            codes = {c: {"tumour": code} for c, code in codes.items()}
        (tmp_path / "rex.json").write_text(json.dumps(codes))
        study = read_mrxai2025(folder, masks={"rex": tmp_path / "rex.json"})
        for case in CASES:
            assert content(study, case, "rex").mask == masks.encode(explanation(case, 2))

    def test_maps_keep_their_numbers_and_their_size(self, folder, tmp_path):
        place = tmp_path / "maps"
        place.mkdir()
        for case in CASES:
            np.save(place / f"{case}.npy", np.arange(6.0).reshape(2, 3))
        study = read_mrxai2025(folder, maps={"gradcam:resnet:1": place})
        assert study.series == (Series("gradcam", "resnet", "1"),)
        held = content(study, CASES[0], "gradcam:resnet:1")
        assert (held.saliency == np.arange(6.0).reshape(2, 3)).all()
        assert held.shape == SHAPE
        assert held.mask is None

    def test_a_case_without_a_file_is_a_row_that_says_so(self, folder, tmp_path):
        study = read_mrxai2025(
            folder,
            masks={
                "lime": write_masks(tmp_path / "lime", cases=CASES[1:]),
                "rex": write_masks(tmp_path / "rex"),
            },
        )
        scores = ss.score(study, metrics=["dice", "hausdorff"]).set_index(["case", "method", "metric"])
        assert len(scores) == len(CASES) * 2 * 2
        assert scores.loc[(CASES[0], "lime")]["reason"].tolist() == ["no map", "no map"]
        assert scores.loc[(CASES[0], "rex")]["score"].tolist() == [1, 0]

    def test_no_case_in_common_is_an_error(self, folder, tmp_path):
        place = tmp_path / "lime"
        place.mkdir()
        cv2.imwrite(str(place / "TCGA_CS_1_1_lime.png"), np.zeros(SHAPE, np.uint8))
        with raises(InputFileError, column="case", value="TCGA_CS_1_1_lime"):
            read_mrxai2025(folder, masks={"lime": place})

    @pytest.mark.parametrize("form", ["png", "json"])
    def test_a_mask_of_another_size_names_its_file(self, folder, tmp_path, form):
        place = write_masks(tmp_path / "lime")
        file = place / f"{CASES[2]}.png"
        # the size of the image
        fact = "32 x 40"
        if form == "png":
            cv2.imwrite(str(file), np.zeros((8, 9), np.uint8))
        else:
            file = None
            place = tmp_path / "rex.json"
            # the file and the case of a mask that has no file of its own
            fact = rf"rex\.json, case {CASES[2]}\b.* 32 x 40"
            place.write_text(json.dumps({CASES[2]: masks.empty((8, 9)).to_coco()}))
        study = read_mrxai2025(folder, masks={"lime": place})
        with raises(InputFileError, value=(8, 9), path=file, match=fact):
            ss.score(study, metrics="dice")

    @pytest.mark.parametrize(
        ("content", "fields"),
        [
            ({CASES[0]: {"Tumor": {}}}, {"option": "task", "value": "tumour", "choices": ("Tumor",)}),
            ([], {"option": None}),
            ({}, {"option": None}),
        ],
    )
    def test_a_json_file_without_the_masks(self, folder, tmp_path, content, fields):
        file = tmp_path / "rex.json"
        file.write_text(json.dumps(content))
        with raises(InputFileError, path=file, **fields):
            read_mrxai2025(folder, masks={"rex": file})

    def test_what_write_masks_writes_is_read_back(self, folder, tmp_path):
        (tmp_path / "maps").mkdir()
        for case in CASES:
            np.save(tmp_path / "maps" / f"{case}.npy", explanation(case, 1) * 0.9)
        study = read_mrxai2025(folder, maps={"cam": tmp_path / "maps"})
        ss.write_masks(ss.segment(study, threshold=0.5), tmp_path / "cam.json")
        again = read_mrxai2025(folder, masks={"cam": tmp_path / "cam.json"})
        kept = ss.score(study, metrics="dice", threshold=0.5)["score"]
        assert ss.score(again, metrics="dice")["score"].equals(kept)
        assert kept.notna().sum() == len(CASES) - 1


class TestFaultsOfTheLayout:
    @pytest.mark.parametrize(
        ("change", "name", "value"),
        [
            (lambda image, mask: mask.unlink(), f"{CASES[0]}.tif", [CASES[0]]),
            (lambda image, mask: image.unlink(), f"{CASES[0]}_mask.tif", [CASES[0]]),
            (
                lambda image, mask: mask.rename(image.parents[1] / PATIENTS[1] / mask.name),
                *(f"{CASES[0]}.tif", [CASES[0]]),
            ),
            (
                lambda image, mask: cv2.imwrite(str(mask), np.zeros((16, 40), np.uint8)),
                *(f"{CASES[0]}_mask.tif", (16, 40)),
            ),
            (
                lambda image, mask: cv2.imwrite(str(mask), np.full(SHAPE, 7, np.uint8)),
                *(f"{CASES[0]}_mask.tif", [7]),
            ),
            (lambda image, mask: image.write_bytes(b"II*\0"), f"{CASES[0]}.tif", None),
        ],
    )
    def test_a_pair_that_is_none_is_named(self, folder, change, name, value):
        place = folder / PATIENTS[0]
        change(place / f"{CASES[0]}.tif", place / f"{CASES[0]}_mask.tif")
        with raises(InputFileError, path=place / name, value=value):
            read_mrxai2025(folder)

    def test_a_name_that_two_patients_have(self, folder):
        for name in (f"{CASES[0]}.tif", f"{CASES[0]}_mask.tif"):
            (folder / PATIENTS[1] / name).write_bytes((folder / PATIENTS[0] / name).read_bytes())
        second_file = folder / PATIENTS[1] / f"{CASES[0]}.tif"
        with raises(InputFileError, path=second_file, value=CASES[0], hint="every image needs its own name"):
            read_mrxai2025(folder)

    def test_a_folder_too_high_or_too_low(self, folder):
        for place in (folder.parent, folder / PATIENTS[0]):
            with raises(InputFileError, path=place, choices=("PATIENT/NAME.tif beside NAME_mask.tif",)):
                read_mrxai2025(place)


class TestPredictions:
    def test_probabilities_and_labels_stand_beside_the_scores(self, folder, tmp_path):
        probs = {case: 0.1 * place for place, case in enumerate(CASES)}
        pd.DataFrame({"case": probs.keys(), "prob": probs.values()}).to_csv(tmp_path / "p.csv", index=False)
        study = read_mrxai2025(
            folder,
            masks={"lime": write_masks(tmp_path / "lime", cases=CASES[1:])},
            predictions=tmp_path / "p.csv",
        )
        scores = ss.score(study, metrics=["dice", "hit"], slice="full", cutoff=0.25).set_index(
            ["case", "metric"]
        )
        for case in CASES:
            assert scores.loc[(case, "dice"), "prob"] == probs[case]
            assert scores.loc[(case, "dice"), "label"] == float(case != HEALTHY)
        # a tool without a file is told apart from one with an empty mask, although its probability is known
        assert set(scores.loc[CASES[0], "reason"]) == {"no map"}
        assert scores.loc[(CASES[2], "dice"), "score"] == 0
        assert scores.loc[(CASES[3], "dice"), "score"] == 1

    def test_a_label_that_the_mask_contradicts_is_counted_and_kept(self, folder, tmp_path):
        table = pd.DataFrame({"case": CASES, "prob": 0.5, "label": 1})
        table.to_csv(tmp_path / "p.csv", index=False)
        with warns(column="label", value=[HEALTHY], path=tmp_path / "p.csv"):
            study = read_mrxai2025(folder, predictions=tmp_path / "p.csv")
        assert {c.labels["tumour"] for c in study} == {1.0}

    def test_cases_without_a_probability_are_counted(self, folder, tmp_path):
        pd.DataFrame({"case": CASES[:4], "prob": [0.5, 0.5, 0.5, np.nan]}).to_csv(
            tmp_path / "p.csv", index=False
        )
        with warns(column="prob", value=list(CASES[3:]), path=tmp_path / "p.csv"):
            read_mrxai2025(folder, predictions=tmp_path / "p.csv")


def test_a_study_goes_to_other_processes_whole(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_masks(tmp_path / "lime", shift=2)
    study = read_mrxai2025("lgg", masks={"lime": "lime"})
    sent = pickle.loads(pickle.dumps(study))
    one, other = (ss.score(each, metrics=["dice", "assd"]) for each in (study, sent))
    pd.testing.assert_frame_equal(one, other)
    assert isinstance(study.cases[0].truths["tumour"].read(), Rle)

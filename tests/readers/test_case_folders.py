"""Folders of maps and masks whose files have equal names are a study."""

import json
import re
import shutil
import warnings

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnError, InputFileError, SalstatsError, SalstatsWarning, ValueRangeError
from salstats.images.masks import decode, encode
from salstats.study import Series

SHAPE = (20, 30)
#: A blank, Chinese, a dot and two endings in capitals.
CASES = ("a b", "c.1", "图像")


def mask_of(case, task="finding"):
    """A rectangle whose place depends on case and task."""
    mask = np.zeros(SHAPE, bool)
    top = 2 + 5 * CASES.index(case)
    left = 4 if task == "finding" else 12
    mask[top : top + 5, left : left + 8] = True
    return mask


def map_of(case, shift=0):
    """A map at half of the image's size whose maximum lies in the finding, or beside it."""
    return (
        mask_of(case)[::2, ::2] * 1.0 if not shift else np.roll(mask_of(case), shift, axis=1)[::2, ::2] * 1.0
    )


def save_mask(file, mask):
    """Write a mask as a picture."""
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(mask.astype(np.uint8) * 255).save(file)


@pytest.fixture
def folders(tmp_path):
    """Folders `cams` (arrays), `ig` (grey pictures) and `masks`, with the same cases."""
    (tmp_path / "cams").mkdir()
    (tmp_path / "ig").mkdir()
    for case, ending in zip(CASES, (".png", ".PNG", ".png"), strict=True):
        np.save(tmp_path / "cams" / f"{case}.npy", map_of(case))
        picture = np.uint8(255 * map_of(case, shift=15))
        Image.fromarray(picture).save(tmp_path / "ig" / f"{case}{ending}")
        save_mask(tmp_path / "masks" / f"{case}{ending}", mask_of(case))
    return tmp_path


def read(folders, *methods, **options):
    """The study of the folders of some methods."""
    maps = {method: folders / method for method in methods}
    return ss.read_study(maps=maps or None, truth=folders / "masks", **options)


class TestCases:
    def test_files_of_equal_names_are_cases_whatever_their_ending(self, folders):
        study = read(folders, "cams", "ig")
        assert [case.case for case in study] == list(CASES)
        assert study.tasks == ("finding",)
        assert study.series == (Series("cams"), Series("ig"))
        for case in study:
            assert case.shape == SHAPE
            assert (decode(case.truths["finding"].read()) == mask_of(case.case)).all()
            assert (case.predictions[0].read().saliency == map_of(case.case)).all()

    def test_scores_are_those_of_the_same_arrays_in_memory(self, folders):
        arrays = ss.study_from_arrays(
            {(case, "finding"): mask_of(case) for case in CASES},
            {(case, "finding", "cams"): map_of(case) for case in CASES},
        )
        pd.testing.assert_frame_equal(ss.score(read(folders, "cams")), ss.score(arrays))

    def test_hits_are_those_that_were_drawn(self, folders):
        scores = ss.score(read(folders, "cams", "ig"), metrics="hit")
        assert scores.groupby("method")["score"].unique().map(list).to_dict() == {"cams": [1.0], "ig": [0.0]}

    def test_a_single_folder_is_called_as_it_is_named(self, folders):
        assert ss.read_study(maps=folders / "cams", truth=folders / "masks").series == (Series("cams"),)

    def test_method_model_and_seed(self, folders):
        study = ss.read_study(maps={"ig:net:3": folders / "ig"}, truth=folders / "masks", task="Edema")
        assert study.series == (Series("ig", "net", "3"),)
        assert study.tasks == ("Edema",)

    def test_patients_are_read_from_names(self, folders):
        study = read(folders, "cams", patient_from="^(.)")
        assert [case.patient for case in study] == ["a", "c", "图"]

    def test_maps_beside_folders_of_methods_are_refused_and_may_be_named(self, folders, tmp_path):
        for name, source in (("truth", "masks"), ("maps", "cams"), ("maps/thumbs", "ig")):
            shutil.copytree(folders / source, tmp_path / "study" / name)
        root = tmp_path / "study"
        with raises(InputFileError, path=root / "maps", value="thumbs"):
            ss.read_study(root)
        study = ss.read_study(root, format="folders", maps={"cams": folders / "cams"})
        assert study.series == (Series("cams"),)


class TestCounterparts:
    def test_a_mask_without_a_map_is_counted_and_scored_as_missing(self, folders):
        (folders / "cams" / "c.1.npy").unlink()
        with warns(column="case", value=["c.1"], path=folders / "cams"):
            study = read(folders, "cams", "ig")
        scores = ss.score(study, metrics="iou").query("method == 'cams'")
        assert scores["reason"].fillna("").tolist() == ["", "no map", ""]

    def test_methods_that_lack_the_same_files_have_one_warning(self, folders):
        for method in ("cams", "ig"):
            for file in (folders / method).glob("c.1.*"):
                file.unlink()
        # the warning names the second folder too
        second_folder = re.escape(str(folders / "ig"))
        with warns(column="case", value=["c.1"], path=folders / "cams", match=second_folder):
            read(folders, "cams", "ig")

    def test_a_mask_that_a_tool_lacks_is_counted(self, folders):
        save_mask(folders / "lime" / "c.1.png", mask_of("c.1"))
        with warns(column="case", value=["a b", "图像"], path=folders / "lime"):
            study = read(folders, masks=folders / "lime")
        assert ss.score(study, metrics="iou")["score"].fillna(-1).tolist() == [-1, 1, -1]

    def test_a_map_without_a_mask_is_counted_and_left_out(self, folders):
        (folders / "masks" / "a b.png").unlink()
        with warns(column="case", value=["a b"], path=folders / "cams"):
            study = read(folders, "cams")
        assert [case.case for case in study] == list(CASES[1:])

    def test_an_image_without_a_mask_is_no_image_without_a_finding(self, folders):
        (folders / "masks" / "a b.png").unlink()
        save_mask(folders / "masks" / "c.1.PNG", np.zeros(SHAPE, bool))
        for case in (*CASES, "other"):
            save_mask(folders / "images" / f"{case}.png", np.zeros(SHAPE, bool))
        with pytest.warns(SalstatsWarning) as caught:
            study = read(folders, "cams", images=folders / "images", human=folders / "masks")
        assert [record.message.value for record in caught] == [["other"], ["a b"]]
        full = ss.score(study, metrics="iou", slice="full").query("method == 'cams'").set_index("case")
        assert set(full.index) == set(CASES[1:])
        assert full["score"]["c.1"] == 0

    @pytest.mark.parametrize("option", ["maps", "human", "masks"])
    def test_folders_without_a_case_in_common(self, folders, option):
        save_mask(folders / "elsewhere" / "x.png", mask_of(CASES[0]))
        with raises(InputFileError, column="case", value="x", path=folders / "elsewhere"):
            ss.read_study(truth=folders / "masks", **{option: folders / "elsewhere"})


class TestBadInput:
    def test_two_files_of_a_case(self, folders):
        np.save(folders / "masks" / "c.1.npy", mask_of("c.1"))
        with raises(InputFileError, path=folders / "masks" / "c.1.npy"):
            read(folders, "cams")

    @pytest.mark.parametrize("content", [None, "nothing", "jpg"])
    def test_a_folder_that_is_missing_or_has_no_maps(self, folders, content):
        folder = folders / "new"
        if content:
            folder.mkdir()
        if content == "jpg":
            (folder / "a.jpg").touch()
        endings = {None: None, "nothing": [], "jpg": [".jpg"]}[content]
        with raises(InputFileError, path=folder, value=endings):
            ss.read_study(maps=folder, truth=folders / "masks")

    def test_maps_without_a_truth_and_a_truth_without_maps(self, folders):
        with raises(InputFileError, option="truth"):
            ss.read_study(maps=folders / "cams")
        with raises(SalstatsError, option="study"):
            ss.score(ss.read_study(truth=folders / "masks"))
        assert ss.features(ss.read_study(truth=folders / "masks"))["area_px"].tolist() == [40, 40, 40]

    def test_nothing_and_a_format_without_a_folder(self):
        with raises(SalstatsError, option="path"):
            ss.read_study()
        with raises(SalstatsError, option="path"):
            ss.read_study(format="maps", truth="masks")

    def test_a_tools_mask_of_another_size(self, folders):
        save_mask(folders / "lime" / "c.1.png", np.eye(5, dtype=bool))
        with raises(InputFileError, path=folders / "lime", value=(5, 5)):
            read(folders, masks=folders / "lime")

    def test_an_image_of_another_size(self, folders):
        save_mask(folders / "images" / "c.1.png", np.eye(5, dtype=bool))
        with raises(InputFileError, path=folders / "images", value=(5, 5)):
            read(folders, "cams", images=folders / "images")

    def test_people_have_an_option_of_their_own(self, folders):
        with raises(SalstatsError, option="masks", value="human"):
            read(folders, masks={"human": folders / "masks"})

    def test_a_colormap_that_is_not_known(self, folders):
        with raises(ValueRangeError, option="colormap", value="viridis"):
            read(folders, "cams", colormap="viridis")

    def test_a_map_that_lies_across_its_image(self, folders):
        for case in CASES:
            np.save(folders / "cams" / f"{case}.npy", map_of(case).T)
        with warns(column="case", value=list(CASES), path=str(folders / "cams")):
            read(folders, "cams")


class TestTasks:
    @pytest.fixture
    def tasks(self, tmp_path):
        """A folder for each of two tasks; the second case has one of them, and an empty mask of the other."""
        for case in CASES[:2]:
            for task in ("Edema", "Mass"):
                save_mask(tmp_path / "cams" / task / f"{case}.png", mask_of(case, task))
                is_there = (case, task) != (CASES[1], "Mass")
                save_mask(tmp_path / "masks" / task / f"{case}.png", mask_of(case, task) & is_there)
        return tmp_path

    def test_a_folder_is_a_task(self, tasks):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            study = read(tasks, "cams")
        assert study.tasks == ("Edema", "Mass")
        scores = ss.score(study, metrics="iou", threshold=0.5)
        assert scores["score"].fillna(-1).tolist() == [1, 1, 1, -1]
        assert scores["reason"].iloc[-1] == "finding absent"

    def test_a_map_whose_mask_is_missing_counts_as_that_of_an_absent_finding_with_a_warning(self, tasks):
        (tasks / "masks" / "Mass" / f"{CASES[1]}.png").unlink()
        with warns(column="task", value=[f"Mass/{CASES[1]}"], path=str(tasks / "masks")):
            study = read(tasks, "cams")
        assert ss.score(study, metrics="iou")["reason"].iloc[-1] == "finding absent"

    def test_masks_that_a_reader_lacks_are_named(self, tasks):
        save_mask(tasks / "rad" / "Edema" / f"{CASES[0]}.png", mask_of(CASES[0], "Edema"))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read(tasks, human=tasks / "rad")
        named = {record.message.column: record.message.value for record in caught}
        assert named == {"task": [f"Mass/{CASES[0]}"], "case": [CASES[1]]}
        points = pd.DataFrame({"case": CASES[:2], "task": ["Mass", "Edema"], "x": 3, "y": 3})
        points = pd.concat([points, points.tail(1).assign(task="Mass")])
        points.to_csv(tasks / "points.csv", index=False)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(tasks, human=tasks / "rad", points=tasks / "points.csv")

    def test_some_tasks_in_their_order(self, tasks):
        assert read(tasks, "cams", tasks=["Mass"]).tasks == ("Mass",)
        with raises(SalstatsError, option="tasks", value="Nodule"):
            read(tasks, "cams", tasks=["Nodule"])

    def test_a_missing_map_is_named_with_its_task(self, tasks):
        (tasks / "cams" / "Mass" / f"{CASES[0]}.png").unlink()
        with warns(column="case", value=[f"Mass/{CASES[0]}"]):
            read(tasks, "cams")

    def test_maps_in_one_folder_are_of_no_task_where_the_truth_has_two(self, tasks):
        save_mask(tasks / "flat" / f"{CASES[0]}.png", mask_of(CASES[0]))
        with raises(InputFileError, path=tasks / "flat" / f"{CASES[0]}.png"):
            read(tasks, "flat")

    def test_maps_in_one_folder_are_of_the_only_task_of_the_truth(self, tasks):
        (tasks / "masks" / "Mass").rename(tasks / "unused")
        for case in CASES[:2]:
            save_mask(tasks / "flat" / f"{case}.png", mask_of(case, "Edema"))
        study = read(tasks, "flat")
        assert study.tasks == ("Edema",)
        assert ss.score(study, metrics="iou", threshold=0.5)["score"].tolist() == [1, 1]

    @pytest.mark.filterwarnings("error")
    def test_masks_of_tasks_that_are_not_read_need_no_map(self, tasks):
        (tasks / "cams" / "Mass" / f"{CASES[0]}.png").unlink()
        with pytest.raises(SalstatsWarning):
            read(tasks, "cams")
        assert read(tasks, "cams", tasks=["Edema"]).tasks == ("Edema",)

    def test_a_folder_of_methods_is_said(self, folders):
        with raises(InputFileError, column="task", value=["cams", "ig", "masks"]) as caught:
            ss.read_study(maps=folders, truth=folders / "masks")
        assert caught.value.hint.settings()[0].value["ig"] == f"{folders}/ig"

    def test_folders_of_methods_with_folders_of_tasks_are_said(self, tasks):
        (tasks / "all").mkdir()
        (tasks / "cams").rename(tasks / "all" / "cams")
        with raises(InputFileError, path=tasks / "all", value=["cams"], choices=("Edema", "Mass")):
            read(tasks, "all")

    def test_files_beside_folders_of_files(self, folders):
        save_mask(folders / "masks" / "old" / "x.png", mask_of("c.1"))
        with raises(InputFileError, path=folders / "masks" / "old"):
            read(folders, "cams")

    def test_a_task_of_maps_that_the_truth_lacks(self, tasks):
        save_mask(tasks / "cams" / "Nodule" / f"{CASES[0]}.png", mask_of(CASES[0]))
        with warns(column="task", value=["Nodule"], choices=("Edema", "Mass")):
            assert read(tasks, "cams").tasks == ("Edema", "Mass", "Nodule")


class TestOtherSources:
    def test_masks_of_a_tool_in_a_folder_and_in_a_file(self, folders):
        codes = {case: {"finding": encode(mask_of(case)).to_coco()} for case in CASES}
        (folders / "rex.json").write_text(json.dumps(codes))
        study = read(folders, masks={"lime": folders / "masks", "rex": folders / "rex.json"})
        assert ss.score(study, metrics="iou")["score"].tolist() == [1.0] * 6

    def test_a_single_file_of_masks_is_called_without_its_ending(self, folders):
        codes = {case: {"finding": encode(mask_of(case)).to_coco()} for case in CASES}
        (folders / "rex.json").write_text(json.dumps(codes))
        assert read(folders, masks=folders / "rex.json").series == (Series("rex"),)

    def test_points_of_people(self, folders):
        # the rectangle of the first case has rows 2 to 6 and columns 4 to 11
        rows = [("a b", 5, 3), ("a b", 29, 19), ("c.1", 29, 0), ("图像", "", "")]
        pd.DataFrame(rows, columns=["case", "x", "y"]).to_csv(folders / "points.csv", index=False)
        scores = ss.score(read(folders, points=folders / "points.csv"), metrics="hit")
        assert scores[["method", "score"]].to_numpy().tolist() == [["human", 1], ["human", 0], ["human", 0]]

    def test_points_in_a_file_of_json(self, folders):
        (folders / "points.json").write_text(json.dumps({"a b": {"finding": [[5, 3]]}}))
        scores = ss.score(read(folders, points=folders / "points.json"), metrics="hit")
        assert scores["score"].fillna(-1).tolist() == [1, -1, -1]

    def test_people_and_their_points_are_one_method(self, folders):
        (folders / "points.json").write_text(json.dumps({"a b": {"finding": [[5, 3]]}}))
        study = read(folders, human=folders / "masks", points=folders / "points.json")
        assert not any(
            p.has_saliency for case in study for p in case.predictions if p.series.method == "human"
        )
        scores = ss.score(study).set_index(["case", "metric"])["score"]
        assert scores["a b"].to_dict() == {"iou": 1.0, "hit": 1.0}

    def test_points_without_a_readers_name_are_not_by_a_reader_with_one(self, folders):
        for case in ("c.1", "图像"):
            save_mask(folders / "R1" / f"{case}.png", mask_of(case))
        points = folders / "points.json"
        points.write_text(json.dumps({"a b": {"finding": [[5, 3]]}}))
        # people without names marked this finding by their point
        read(folders, human=folders / "R1", points=points)
        with warns(column="case", value=["a b"], path=folders / "R1"):
            read(folders, human={"R1": folders / "R1"}, points=points)

    def test_readers_make_a_consensus(self, folders):
        for reader, case in (("R1", "c.1"), ("R2", "c.1"), ("R3", "a b")):
            save_mask(folders / reader / "c.1.png", mask_of(case))
        human = {reader: folders / reader for reader in ("R1", "R2", "R3")}
        with warns(value=["a b", "图像"], path=folders / "cams"):
            study = ss.read_study(maps=folders / "cams", truth="majority", human=human)
        assert study.truth == "majority"
        [case] = [case for case in study if case.annotated]
        assert (decode(case.truths["finding"].read()) == mask_of("c.1")).all()
        with raises(InputFileError, option="truth"):
            ss.read_study(maps=folders / "cams", truth="majority", human=folders / "R1")


class TestOneFolder:
    def test_truth_and_maps_in_one_folder_are_recognised(self, folders):
        study = folders / "study"
        study.mkdir()
        (folders / "masks").rename(study / "truth")
        (study / "maps").mkdir()
        for method in ("cams", "ig"):
            (folders / method).rename(study / "maps" / method)
        pd.DataFrame([("a b", 5, 3)], columns=["case", "x", "y"]).to_csv(study / "points.csv", index=False)
        assert ss.read_study(study).series == (Series("cams"), Series("ig"), Series("human"))
        only = ss.read_study(study, maps={"net": study / "maps" / "ig"})
        assert only.series == (Series("net"), Series("human"))

    def test_maps_of_one_method_need_no_folder_of_their_own(self, folders):
        study = folders / "study"
        study.mkdir()
        (folders / "masks").rename(study / "truth")
        (folders / "cams").rename(study / "maps")
        assert ss.score(study, metrics="hit")["method"].unique().tolist() == ["saliency"]


class TestColours:
    def test_a_picture_in_colours_of_jet_is_a_map_only_if_it_is_said(self, folders):
        from matplotlib import colormaps

        (folders / "jet").mkdir()
        levels = {case: np.uint8(np.round(255 * map_of(case))) for case in CASES}
        for case, level in levels.items():
            Image.fromarray(colormaps["jet"](level, bytes=True)[..., :3]).save(
                folders / "jet" / f"{case}.png"
            )
        with raises(InputFileError, value="RGB"):
            ss.score(read(folders, "jet"))
        study = read(folders, "jet", "cams", colormap="jet")
        for case in study:
            assert (case.predictions[0].read().saliency == levels[case.case]).all()
        scores = ss.score(study, metrics="iou")
        assert scores["score"].iloc[::2].tolist() == scores["score"].iloc[1::2].tolist()


def test_points_of_several_tasks_name_theirs(tmp_path):
    for task in ("Edema", "Mass"):
        save_mask(tmp_path / "masks" / task / "c.1.png", mask_of("c.1", task))
    file = tmp_path / "points.csv"
    pd.DataFrame([("c.1", 5, 8)], columns=["case", "x", "y"]).to_csv(file, index=False)
    with raises(ColumnError, column="task", path=file):
        ss.read_study(truth=tmp_path / "masks", points=file)


def test_maps_that_scoring_stretches_to_their_image_are_said(folders):
    Image.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16)).save(folders / "ig" / "图像.png")
    with warns(path=folders / "ig", column="case", value=["图像"], match="16 x 16 .* 20 x 30"):
        read(folders, "cams", "ig")

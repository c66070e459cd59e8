"""Which files of a folder are what, and what is said of those that are missing or twice there."""

import pytest
from chexlocalize_files import ONE, TWO, answer, mask, write_json, write_map
from tests_support import raises

from salstats.errors import InputFileError, SalstatsError, SalstatsWarning
from salstats.readers.chexlocalize import read_chexlocalize
from salstats.readers.formats import read_study
from salstats.study import Series


def test_two_files_of_one_kind_are_named_with_what_chooses(folder):
    other = write_json(folder / "gt_segmentations_val_old.json", {ONE: {"Edema": mask()}})
    names = ("gt_segmentations_val.json", "gt_segmentations_val_old.json")
    with raises(InputFileError, option="truth", choices=names):
        read_chexlocalize(folder)
    assert read_chexlocalize(folder, truth=other).tasks == ("Cardiomegaly", "Edema")


def test_a_folder_of_both_splits_is_read_by_split(folder):
    write_json(folder / "gt_segmentations_test.json", {TWO: {"Cardiomegaly": mask()}})
    (folder / "maps").rename(folder / "gradcam_maps_val")
    write_map(folder / "gradcam_maps_test", TWO, "Cardiomegaly")
    hint = "choose with split='val' or split='test', or truth"
    with raises(InputFileError, option="truth", hint=hint):
        read_chexlocalize(folder)
    assert [c.case for c in read_chexlocalize(folder, split="test")] == [TWO]
    assert len(read_chexlocalize(folder, split="val").cases[0].predictions) == 2
    (folder / "gt_segmentations_test.json").unlink()
    with pytest.raises(InputFileError, match=r"two splits, gradcam_maps_test \(test\) and gt_segm"):
        read_chexlocalize(folder)
    (folder / "gt_segmentations_val.json").rename(folder / "gt_segmentations_test.json")
    with pytest.raises(InputFileError, match=r"gt_segmentations_test\.json \(test\) and gt_annotations_val"):
        read_chexlocalize(folder)


def test_what_a_mac_puts_beside_files_is_no_map(folder):
    before = [c.case for c in read_chexlocalize(folder)]
    for place in (folder / "maps", folder / ".Trashes"):
        place.mkdir(exist_ok=True)
        (place / f"._{ONE}_Edema_map.pkl").write_bytes(b"\0\5\26\7")
    (folder / ".Trashes" / f"{ONE}_Edema_map.pkl").write_bytes(b"")
    assert [c.case for c in read_chexlocalize(folder)] == before
    assert len(read_chexlocalize(folder, maps=folder / "maps").cases[0].predictions) == 2


def test_a_study_without_truth_says_where_it_would_be(tmp_path):
    write_map(tmp_path)
    with pytest.raises(
        InputFileError, match=r"has no truth; it is in gt_segmentations\*\.json or gt_annotations"
    ):
        read_chexlocalize(tmp_path)
    with pytest.raises(InputFileError, match="the study has no truth"):
        read_chexlocalize(maps=tmp_path)


def test_missing_folders_and_files_are_named(folder):
    with pytest.raises(InputFileError, match="nowhere: no such folder"):
        read_chexlocalize(folder / "nowhere")
    with pytest.raises(SalstatsError, match="split='train' is not known"):
        read_chexlocalize(folder, split="train")
    with pytest.raises(InputFileError, match=r"val\.json: not a folder"):
        read_chexlocalize(folder / "gt_segmentations_val.json")
    with pytest.raises(InputFileError, match=r"none\.json: no such file"):
        read_chexlocalize(folder, points=folder / "none.json")
    # without a word the study would lose its people
    (folder / "hb_salient_pts_val.json").symlink_to("store/not_fetched.json")
    with pytest.raises(InputFileError, match=r"hb_salient_pts_val\.json: no such file"):
        read_chexlocalize(folder)
    (folder / "empty").mkdir()
    with pytest.raises(InputFileError, match=r"empty: no file named CASE_TASK_map\.pkl"):
        read_chexlocalize(folder, maps=folder / "empty")


def test_links_to_files_are_followed_and_links_to_folders_are_not(folder, tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    kept = folder / "maps" / f"{ONE}_Edema_map.pkl"
    kept.rename(store / "object7")
    kept.symlink_to(store / "object7")
    assert answer(read_chexlocalize(folder)).prob == 0.25
    write_map(store, TWO, "Edema")
    (folder / "linked").symlink_to(store, target_is_directory=True)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    with pytest.warns(SalstatsWarning, match=r"linked \(and 1 more\): a link to another folder"):
        study = read_chexlocalize(folder)
    assert len(study.cases[1].predictions) == 2


def test_files_whose_cases_have_no_name_in_common_are_named(folder):
    write_json(folder / "hb_salient_pts_val.json", {"CXR1": {"Edema": [[5, 3]]}})
    with pytest.raises(
        InputFileError, match=r"hb_salient_pts_val\.json and .*no case in common \('CXR1' here"
    ):
        read_chexlocalize(folder)


def test_a_study_is_read_by_the_names_of_its_files(folder):
    assert [c.case for c in read_study(folder)] == [ONE, TWO]
    assert read_study(folder, format="chexlocalize", method="cam").series == (Series("cam"),)
    (folder / "sub").mkdir()
    with pytest.raises(InputFileError, match="sub: in no format"):
        read_study(folder / "sub")
    with pytest.raises(
        SalstatsError, match="format='chexlocalise' is not known; did you mean 'chexlocalize'"
    ):
        read_study(folder, format="chexlocalise")
    with pytest.raises(InputFileError, match="maps has no truth"):
        read_study(folder / "maps")

"""Which files of a folder are what, and what is said of those that are missing or twice there."""

from chexlocalize_files import BOX_PX, ONE, TWO, answer, mask, write_json, write_map
from tests_support import raises, warns

from salstats.errors import InputFileError, SalstatsError, ValueRangeError
from salstats.images.masks import area
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
    with raises(InputFileError, option="split", value=["gt_segmentations_val.json", "gradcam_maps_test"]):
        read_chexlocalize(folder)
    (folder / "gt_segmentations_val.json").rename(folder / "gt_segmentations_test.json")
    names = ["gt_segmentations_test.json", "gt_annotations_val.json"]
    with raises(InputFileError, option="split", path=folder, value=names):
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
    with raises(InputFileError, option="truth", path=tmp_path):
        read_chexlocalize(tmp_path)
    with raises(InputFileError, option="truth", path="None"):
        read_chexlocalize(maps=tmp_path)


def test_missing_folders_and_files_are_named(folder):
    with raises(InputFileError, path=folder / "nowhere"):
        read_chexlocalize(folder / "nowhere")
    with raises(ValueRangeError, option="split", value="train"):
        read_chexlocalize(folder, split="train")
    with raises(InputFileError, path=folder / "gt_segmentations_val.json"):
        read_chexlocalize(folder / "gt_segmentations_val.json")
    with raises(InputFileError, path=folder / "none.json"):
        read_chexlocalize(folder, points=folder / "none.json")
    # without a word the study would lose its people
    (folder / "hb_salient_pts_val.json").symlink_to("store/not_fetched.json")
    with raises(InputFileError, path=folder / "hb_salient_pts_val.json"):
        read_chexlocalize(folder)
    (folder / "empty").mkdir()
    with raises(InputFileError, path=folder / "empty"):
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
    with warns(path=folder / "linked", value=[folder / "linked", folder / "loop"]):
        study = read_chexlocalize(folder)
    assert len(study.cases[1].predictions) == 2


def test_files_whose_cases_have_no_name_in_common_are_named(folder):
    write_json(folder / "hb_salient_pts_val.json", {"CXR1": {"Edema": [[5, 3]]}})
    with raises(InputFileError, column="case", value="CXR1", path=folder / "hb_salient_pts_val.json"):
        read_chexlocalize(folder)


def test_a_study_is_read_by_the_names_of_its_files(folder):
    assert [c.case for c in read_study(folder)] == [ONE, TWO]
    assert read_study(folder, format="chexlocalize", method="cam").series == (Series("cam"),)
    (folder / "sub").mkdir()
    with raises(InputFileError, option="format", path=folder / "sub"):
        read_study(folder / "sub")
    with raises(ValueRangeError, option="format", value="chexlocalise"):
        read_study(folder, format="chexlocalise")
    with raises(InputFileError, option="truth", path=folder / "maps"):
        read_study(folder / "maps")


def test_people_are_one_file_or_one_for_each_reader(folder):
    ours = write_json(folder / "ours.json", {ONE: {"Edema": mask()}})
    theirs = write_json(folder / "theirs.json", {ONE: {"Edema": mask(rows=slice(2, 4))}})
    alone = read_chexlocalize(folder, human=ours)
    assert [series.reader for series in alone.series if series.method == "human"] == [None]
    both = read_chexlocalize(folder, human={"a": ours, 2: theirs})
    areas = {}
    for prediction in both.cases[0].predictions:
        if prediction.series.method == "human":
            areas[prediction.series.reader] = area(prediction.read().mask)
    assert areas == {"a": BOX_PX, "2": BOX_PX // 2}
    with raises(SalstatsError, option="human"):
        read_chexlocalize(folder, human={})


def test_the_truth_may_be_made_of_what_several_readers_marked(folder):
    # rows 2 to 5, 2 to 3 and 2 to 4 of the same columns: two of three mark rows 2 to 4
    people = {}
    for reader, end in {"a": 6, "b": 4, "c": 5}.items():
        people[reader] = write_json(folder / f"{reader}.json", {ONE: {"Edema": mask(rows=slice(2, end))}})
    study = read_chexlocalize(folder, human=people, truth="majority")
    assert area(study.cases[0].truths["Edema"].read()) == 3 * 6


def test_two_named_readers_need_no_truth_and_one_does(folder):
    people = {name: write_json(folder / f"{name}.json", {ONE: {"Edema": mask()}}) for name in ("a", "b")}
    study = read_chexlocalize(human=people, maps=folder / "maps")
    assert not any(case.truths for case in study)
    assert study.readers() == ("a", "b")
    for human in ({"a": people["a"]}, people["a"]):
        with raises(InputFileError, option="truth"):
            read_chexlocalize(human=human, maps=folder / "maps")


def test_a_study_is_named_by_its_folder_or_by_its_first_file(folder):
    assert read_chexlocalize(folder).source == str(folder)
    truth = folder / "gt_segmentations_val.json"
    alone = read_chexlocalize(truth=truth, maps=folder / "maps")
    assert alone.source == str(truth)
    assert {prediction.series.method for prediction in alone.cases[0].predictions} == {"saliency"}


def test_tasks_are_one_or_several_by_any_of_their_names(folder):
    write_map(folder / "maps", ONE, "Airspace Opacity")
    for tasks, expected in (
        ("Edema", ("Edema",)),
        (["Edema"], ("Edema",)),
        (["Edema", "Cardiomegaly"], ("Cardiomegaly", "Edema")),
        # the paper's name
        ("Lung Opacity", ("Airspace Opacity",)),
    ):
        study = read_chexlocalize(folder, tasks=tasks)
        assert tuple(sorted(study.tasks)) == expected
        assert {p.task for case in study for p in case.predictions} == set(expected)

"""Several readers' masks in files: a map folder, files in the CheXlocalize format, the command line."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from chexlocalize_files import BOX, HEIGHT, ONE, TWO, WIDTH, mask, write_json, write_two_cases
from map_folders import CASES, SHAPE, TASKS, truth, write_map_folder
from tests_support import raises, warns

import salstats as ss
from salstats.cli.app import run
from salstats.errors import InputFileError, SalstatsError
from salstats.images.masks import encode
from salstats.metrics.overlap import dice, iou

READERS = ("R1", "R2", "R3")


def drawn(case, task, reader):
    """What a reader draws: the truth, shifted."""
    return np.roll(truth(case, task), READERS.index(reader), axis=1)


def write_readers(place, cases=CASES, as_files=False):
    """Write each reader's masks, as one JSON or as files."""
    for reader in READERS:
        codes = {c: {t: encode(drawn(c, t, reader)).to_coco() for t in TASKS} for c in cases}
        if not as_files:
            place.mkdir(exist_ok=True)
            (place / f"{reader}.json").write_text(json.dumps(codes))
            continue
        for case in cases:
            for task in TASKS:
                file = place / reader / task / f"{case}.npy"
                file.parent.mkdir(parents=True, exist_ok=True)
                np.save(file, drawn(case, task, reader))


@pytest.fixture
def folder(tmp_path):
    """A map folder with three readers and no truth."""
    place = write_map_folder(tmp_path / "maps")
    (place / "truth.json").unlink()
    write_readers(place / "readers")
    return place


def check_overlaps(found):
    """Each pair's Dice is that of what was drawn."""
    assert len(found) == len(CASES) * len(TASKS) * 3
    for row in found.itertuples():
        masks = (drawn(row.case, row.task, r) for r in (row.reader, row.other_reader))
        np.testing.assert_equal(row.score, dice(*masks))


def test_readers_in_a_folder_are_found(folder):
    study = ss.read_map_folder(folder)
    assert [str(s) for s in study.series] == ["gradcam", "ig", "human:R1", "human:R2", "human:R3"]
    check_overlaps(ss.reader_overlap(folder))


def test_readers_alone_need_no_table(tmp_path):
    write_readers(tmp_path / "readers")
    check_overlaps(ss.reader_overlap(tmp_path))


def test_masks_as_files_and_readers_by_name(tmp_path):
    place = tmp_path / "maps"
    write_readers(place, cases=("a", "c"), as_files=True)
    study = ss.read_map_folder(place, human={r: place / r for r in READERS})
    assert study.readers() == READERS
    assert len(ss.reader_overlap(study)) == 2 * 2 * 3


def test_a_hidden_folder_is_not_a_reader(folder):
    (folder / "readers" / ".ipynb_checkpoints").mkdir()
    assert ss.read_map_folder(folder).readers() == READERS


def test_folders_of_readers_need_no_truth(tmp_path):
    write_readers(tmp_path / "readers")
    study = ss.read_study(human={reader: tmp_path / "readers" / f"{reader}.json" for reader in READERS})
    assert [case.case for case in study.cases] == sorted(CASES)
    check_overlaps(ss.reader_overlap(study))


def test_the_truth_is_a_consensus_by_name(folder):
    study = ss.read_map_folder(folder, truth="majority")
    assert [str(s) for s in study.series] == ["gradcam", "ig"]
    # the second reader's mask lies between the others'
    scores = ss.score(study, metrics="iou", threshold=0.4)
    assert (scores["truth_rule"] == "majority").all()
    again = ss.study_from_arrays(
        {(c, t): drawn(c, t, "R2") for c in CASES for t in TASKS},
        {
            (p.case, pred.task, pred.series.method): pred.read().saliency
            for p in study
            for pred in p.predictions
        },
    )
    expected = ss.score(again, metrics="iou", threshold=0.4)
    keys = ["case", "task", "method"]
    both = scores.merge(expected, on=keys, suffixes=("", "_of_arrays"))
    np.testing.assert_array_equal(both["score"], both["score_of_arrays"])
    assert len(both) == len(scores)


def test_readers_and_human_are_not_both(folder):
    shutil.copy(folder / "readers" / "R1.json", folder / "human.json")
    with raises(InputFileError, option="human", path=folder / "readers"):
        ss.read_map_folder(folder)


def test_one_reader_is_no_study(tmp_path):
    (tmp_path / "readers").mkdir()
    (tmp_path / "readers" / "R1.json").write_text(json.dumps({"a": {"Edema": mask()}}))
    with raises(InputFileError, path=tmp_path / "maps.csv"):
        ss.read_map_folder(tmp_path)


def test_a_folder_of_readers_that_holds_something_else(tmp_path):
    (tmp_path / "readers").mkdir()
    with raises(InputFileError, path=tmp_path / "readers"):
        ss.read_map_folder(tmp_path)


@pytest.fixture
def release(tmp_path):
    """A study in the CheXlocalize format with two readers, of whom one read one case only."""
    folder = write_two_cases(tmp_path)
    one = {ONE: {"Edema": mask()}, TWO: {"Edema": mask()}}
    write_json(folder / "r1.json", one)
    write_json(folder / "r2.json", {ONE: {"Edema": mask(cols=slice(5, 10))}})
    return folder


def test_readers_in_the_format_of_the_release(release):
    study = ss.read_chexlocalize(release, human={"R1": release / "r1.json", "R2": release / "r2.json"})
    assert study.readers() == ("R1", "R2")
    found = ss.reader_overlap(study)
    assert set(found["case"]) == {ONE}
    # 6 columns and 5 of them; neither marks the other task
    edema = found[found["task"] == "Edema"]
    assert edema["score"].tolist() == [2 * 5 / (6 + 5)]
    assert found.loc[found["task"] == "Cardiomegaly", "reason"].tolist() == ["true negative"]
    # of two cases
    with warns(column="case", value=[TWO], match=r"\b2\b"):
        scores = ss.score(study.with_truth("majority"), metrics="iou", threshold=0.5)
    assert set(scores["case"]) == {ONE, TWO}


def test_outlines_of_readers(release):
    outlines = {ONE: {"img_size": [HEIGHT, WIDTH], "Edema": [BOX]}}
    write_json(release / "o1.json", outlines)
    write_json(release / "o2.json", outlines)
    study = ss.read_chexlocalize(
        release, human_annotations={r: release / f"o{r[1]}.json" for r in ("R1", "R2")}
    )
    assert ss.reader_overlap(study)["score"].dropna().tolist() == [1.0]


def test_a_release_without_a_truth_of_its_own(release):
    for file in release.glob("gt_*"):
        file.unlink()
    readers = {"R1": release / "r1.json", "R2": release / "r1.json"}
    study = ss.read_chexlocalize(release, human=readers, truth="staple")
    assert [str(s) for s in study.series] == ["saliency"]
    truths = {c.case: c.truths["Edema"].read() for c in study}
    assert iou(truths[ONE], encode(np.zeros((HEIGHT, WIDTH), bool))) == 0
    with raises(InputFileError, option="truth", path=release):
        ss.read_chexlocalize(release)


def test_no_reader_is_refused(folder, release):
    for read in (ss.read_map_folder, ss.read_chexlocalize):
        with raises(SalstatsError, option="human", value=None):
            read(folder if read is ss.read_map_folder else release, human={})


def test_commands_take_readers(folder, release, tmp_path):
    out = str(tmp_path / "overlap.csv")
    assert run(["overlap", str(folder), "--metrics", "dice,iou", "-o", out]) == 0
    expected = ss.reader_overlap(folder, metrics=["dice", "iou"])
    pd.testing.assert_frame_equal(pd.read_csv(out), expected, check_dtype=False)
    readers = ["--human", f"R1={release / 'r1.json'}", "--human", f"R2={release / 'r2.json'}"]
    assert run(["overlap", str(release), *readers, "-o", out, "--overwrite"]) == 0
    assert len(pd.read_csv(out)) == 2
    scores = str(tmp_path / "scores.csv")
    assert run(["score", str(folder), "--truth", "staple", "--metrics", "iou", "-o", scores]) == 0
    assert set(pd.read_csv(scores)["truth_rule"]) == {"staple"}


def test_shapes_of_readers_must_be_one(folder):
    other = {"a": {"Edema": encode(np.ones((SHAPE[0] + 1, SHAPE[1]))).to_coco()}}
    (folder / "readers" / "R3.json").write_text(json.dumps(other))
    with raises(InputFileError, value=(SHAPE[0] + 1, SHAPE[1]), path=folder / "readers" / "R3.json"):
        ss.read_map_folder(folder)

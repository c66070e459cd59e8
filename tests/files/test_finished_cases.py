"""Finished cases: read back where nothing they depend on has changed, computed anew otherwise."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import InputFileError
from salstats.files.finished_cases import load_or_compute_frame, make_or_check_checkpoint_folder
from salstats.images.masks import encode
from salstats.study import Case, Content, Prediction, Series, Truth, returned_unchanged

MASK = encode(np.eye(4, dtype=bool))


def content(saliency=None, **parts):
    """A prediction's content: a map of 4 x 4, with a probability and a label."""
    if saliency is None:
        saliency = np.arange(16.0).reshape(4, 4)
    return Content(**{"saliency": saliency, "prob": 0.25, "label": 1.0, **parts})


def case_of(name="a", prediction=None, **parts):
    """A case of one task with a truth and one map."""
    read = partial(returned_unchanged, content() if prediction is None else prediction)
    predictions = (Prediction("Edema", Series("gradcam"), read, "a.npy"),)
    return Case(name, (4, 4), **{"truths": {"Edema": Truth.of(MASK)}, "predictions": predictions, **parts})


class Work:
    """A computation that counts the cases it is called with."""

    def __init__(self):
        self.computed = []

    def __call__(self, cases):
        self.computed += [case.case for case in cases]
        return pd.DataFrame(
            {"case": pd.Series([case.case for case in cases], dtype="str"), "score": [0.5] * len(cases)}
        )


def run(folder, *cases, setting="iou"):
    """Load or compute some cases; return the frame and the names of the cases that were computed."""
    work = Work()
    frame = load_or_compute_frame(cases, work=work, folder=folder, settings_text=setting)
    return frame, work.computed


def test_a_finished_case_is_not_computed_again(tmp_path):
    first, computed = run(tmp_path, case_of("a"), case_of("b"))
    assert computed == ["a", "b"]
    second, computed = run(tmp_path, case_of("a"), case_of("c"), case_of("b"))
    assert computed == ["c"]
    assert second["case"].tolist() == ["a", "c", "b"]
    assert second.index.tolist() == [0, 1, 2]
    pd.testing.assert_frame_equal(second[second["case"].ne("c")].reset_index(drop=True), first)


NEW_CASES = {
    "patient": case_of(patient="p"),
    "size": case_of(prediction=content(shape=(8, 8))),
    "shape": replace(case_of(), shape=(8, 8)),
    "annotation": case_of(annotated=False),
    "labels": case_of(labels={"Edema": 1.0}),
    "truth": case_of(truths={"Edema": Truth.of(encode(np.ones((4, 4), dtype=bool)))}),
    "outlines": case_of(truths={"Edema": Truth.of(MASK, 2)}),
    "task of the truth": case_of(truths={"Mass": Truth.of(MASK)}),
    "series": case_of(
        predictions=(Prediction("Edema", Series("ig"), partial(returned_unchanged, content()), "a.npy"),)
    ),
    "task of the map": case_of(
        predictions=(Prediction("Mass", Series("gradcam"), partial(returned_unchanged, content()), "a.npy"),)
    ),
    "probability": case_of(prediction=content(prob=0.5)),
    "label of the map": case_of(prediction=content(label=0.0)),
    "mask": case_of(prediction=content(mask=MASK)),
    "points": case_of(prediction=content(points=np.array([[1.0, 2.0]]))),
    "one number of the map": case_of(prediction=content(np.arange(16.0).reshape(4, 4) + np.eye(4) * 1e-9)),
    "type of the map": case_of(prediction=content(np.arange(16, dtype=np.int64).reshape(4, 4))),
    "form of the map": case_of(prediction=content(np.arange(16.0).reshape(2, 8))),
    "no map": case_of(predictions=()),
}


@pytest.mark.parametrize("change", NEW_CASES)
def test_all_that_a_case_is_scored_from_is_compared(tmp_path, change):
    run(tmp_path, case_of())
    assert run(tmp_path, case_of())[1] == []
    assert run(tmp_path, NEW_CASES[change])[1] == ["a"]


def test_other_settings_compute_anew_and_leave_the_earlier_cases(tmp_path):
    run(tmp_path, case_of())
    assert run(tmp_path, case_of(), setting="hit")[1] == ["a"]
    assert run(tmp_path, case_of())[1] == []


def test_a_damaged_case_is_an_error_that_names_its_file(tmp_path):
    run(tmp_path, case_of())
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-8])
    with raises(InputFileError, path=file, hint="delete it"):
        run(tmp_path, case_of())


@pytest.mark.parametrize(
    "frame", [pd.DataFrame({"case": ["b"], "score": [0.5]}), pd.DataFrame({"case": ["a"]})]
)
def test_a_frame_of_another_case_or_of_other_columns_is_not_taken(tmp_path, frame):
    run(tmp_path, case_of())
    (file,) = tmp_path.iterdir()
    frame.to_parquet(file, index=False)
    with raises(InputFileError, path=file, value="a"):
        run(tmp_path, case_of())


def test_a_case_whose_computation_fails_leaves_no_file(tmp_path):
    def fail(cases):
        raise InputFileError("no map", value=cases[0].case)

    with raises(InputFileError, value="a"):
        load_or_compute_frame((case_of(),), work=fail, folder=tmp_path, settings_text="iou")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_made_and_may_hold_finished_cases(tmp_path):
    folder = make_or_check_checkpoint_folder(tmp_path / "finished")
    assert folder == tmp_path / "finished"
    assert folder.is_dir()
    run(folder, case_of())
    assert make_or_check_checkpoint_folder(str(folder)) == folder


def test_a_folder_of_other_files_and_a_file_are_errors(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with raises(InputFileError, path=tmp_path, value="notes.txt", hint="name an empty folder"):
        make_or_check_checkpoint_folder(tmp_path)
    with raises(InputFileError, path=file, hint="name a folder"):
        make_or_check_checkpoint_folder(file)
    with raises(InputFileError, path=tmp_path / "no" / "folder") as caught:
        make_or_check_checkpoint_folder(tmp_path / "no" / "folder")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    assert file.read_text() == "mine"

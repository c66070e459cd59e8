"""`ss.reproduce`: frames of a study from frames, files and options, the same as the command writes."""

import json
import warnings
from dataclasses import replace

import gaze_files
import pandas as pd
import pytest
from bench_scores import drawn_scores
from made_up_items import GOOD, NEEDY
from study_files import write_study
from study_scripts import reproduce_items
from tests_support import raises

import salstats as ss
from salstats.errors import (
    ColumnError,
    InputFileError,
    SalstatsError,
    SalstatsWarning,
    Setting,
    ValueRangeError,
)
from salstats.studies.declarations import KEYS, OpenedStudy, declaration_of
from salstats.studies.item_warnings import ItemFailed
from salstats.studies.saliency_bench import SCORE_ITEMS
from salstats.studies.saporta2022 import ITEMS as SAPORTA_ITEMS
from salstats.studies.score_tables import read_score_tables

# one data set and network without insertion, and no pictures
pytestmark = pytest.mark.filterwarnings("ignore:.*needs ")


@pytest.fixture(scope="module")
def digits():
    """Two methods of the embedded digits on one data set and network, two metrics."""
    scores = ss.datasets.load_digits_scores()
    kept = scores["method"].isin(["gradcam", "rise"]) & scores["metric"].isin(["iou", "hit"])
    kept &= (scores["dataset"] == "textured") & (scores["model"] == "residual")
    return scores[kept].reset_index(drop=True)


@pytest.mark.slow
def test_frames_are_those_that_the_command_writes(digits, tmp_path, run):
    digits.to_csv(tmp_path / "scores.csv", index=False)
    frames = ss.reproduce("saliency_bench", scores=digits, replicates=40)
    code, _, error = run("saliency_bench", "--scores", tmp_path / "scores.csv", "--replicates", 40,
                         "-o", tmp_path / "out")  # fmt: skip
    assert code == 0, error
    written = pd.read_csv(tmp_path / "out" / "frames" / "table_2.csv")
    pd.testing.assert_frame_equal(frames["table_2"][written.columns], written, check_dtype=False)


def test_several_tables_are_put_below_each_other(digits, tmp_path):
    first = digits[digits["method"] == "gradcam"]
    rest = digits[digits["method"] == "rise"]
    rest.rename(columns={"case": "img_id"}).to_csv(tmp_path / "rise.csv", index=False)
    rename = Setting("rename", {"img_id": "case"})
    with raises(ColumnError, option="rename", column="case", path=tmp_path / "rise.csv", hint=rename):
        ss.reproduce("saliency_bench", scores=[first, tmp_path / "rise.csv"], replicates=40)
    both = ss.reproduce(
        "saliency_bench",
        scores=[first, tmp_path / "rise.csv"],
        rename={"img_id": "case"},
        replicates=40,
    )
    whole = ss.reproduce("saliency_bench", scores=digits, replicates=40)
    pd.testing.assert_frame_equal(both["table_2"], whole["table_2"])


def test_features_are_joined_by_case_and_task(digits):
    features = digits[["case", "task", "prob"]].drop_duplicates(["case", "task"]).iloc[::-1]
    joined = read_score_tables([digits.drop(columns="prob")], [features])
    expected = digits["prob"].rename("prob")
    pd.testing.assert_series_equal(joined["prob"], expected)


#: Study and data -> the main results that the data allow. People are annotators in saporta2022, readers in
#: lanfredi2021; the other two studies compare with none, which scores may hold all the same.
GRID = {
    ("saporta2022", "maps and people"): {"table_1", "figure_2", "extended_data_5", "table_2", "table_3"},
    ("saporta2022", "maps of the release"): {"table_1", "extended_data_1b", "table_2", "table_3"},
    ("saporta2022", "people of the release"): {"table_1", "extended_data_4", "extended_data_8"},
    ("lanfredi2021", "release"): {"table1", "table2", "table3", "table4", "networks"},
    ("lanfredi2021", "scores of maps"): {"table1", "table4", "design"},
    ("lanfredi2021", "recordings"): {"scores", "table1", "table3", "table4"},
    ("saliency_bench", "release"): {"table_2", "table_3", "table_4"},
    ("saliency_bench", "scores of maps"): {"table_2", "table_3", "table_4"},
    ("saliency_bench", "scores of maps and people"): {"table_2", "table_3", "table_4"},
    ("mrxai2025", "simulations"): {"figure_2", "figure_3"},
    ("mrxai2025", "scores of maps"): {"cases", "table_1", "figure_7"},
}


#: Runs that are slow: parts of saporta2022, of which tests/studies/saporta2022/test_file_scoring.py makes the
#: main items, and as published what tests of the study make as published from other data.
SLOW = {
    ("saporta2022", "maps of the release", "package"),
    ("saporta2022", "maps of the release", "published"),
    ("saporta2022", "people of the release", "package"),
    ("saporta2022", "people of the release", "published"),
    ("saporta2022", "maps and people", "published"),
    ("lanfredi2021", "release", "published"),
    ("lanfredi2021", "recordings", "published"),
    ("mrxai2025", "simulations", "published"),
    ("saliency_bench", "release", "published"),
    ("saporta2022", "maps and people", "package"),
}
MODES = {"package": [], "published": ["--as-published"]}
RUNS = [
    pytest.param(
        cell,
        mode,
        id=f"{' of '.join(cell)}-{mode}",
        marks=[pytest.mark.slow] if (*cell, mode) in SLOW else [],
    )
    for cell in GRID
    for mode in MODES
]
#: Items of saporta2022 that hold both inferences in either mode; test_choices.py makes them with people.
OF_BOTH_MODES = ("as_published_and_clustered", "sensitivity")


def write_varied_study(folder):
    """Write the drawn study with findings of several sizes and shapes."""
    write_study(folder)
    (folder / "gt_segmentations_test.json").unlink()
    file = folder / "gt_annotations_test.json"
    annotations = json.loads(file.read_text())
    for place, tasks in enumerate(annotations.values()):
        for polygons in (tasks[task] for task in tasks if task != "img_size"):
            polygons[0].append([polygons[0][0][0] + place, polygons[0][0][1] + 4])
            polygons[0][1][0] += 2 * place
    annotations[next(iter(annotations))]["Edema"].append([[1, 1], [4, 1], [4, 4], [1, 4]])
    file.write_text(json.dumps(annotations))


def write_split_release(whole, folder):
    """Write a study as the release has it: maps of the validation set only, people of the test set only."""
    (folder / "gradcam_maps_val").mkdir(parents=True)
    for file in (whole / "maps").iterdir():
        (folder / "gradcam_maps_val" / file.name).symlink_to(file)
    for name in ("gt_annotations", "hb_annotations", "hb_salient_pts"):
        (folder / f"{name}_test.json").symlink_to(whole / f"{name}_test.json")
    (folder / "gt_annotations_val.json").symlink_to(whole / "gt_annotations_test.json")


@pytest.fixture(scope="module")
def arguments(tmp_path_factory, digits):
    """The options that name the data of each cell of the grid."""
    folder = tmp_path_factory.mktemp("grid")
    write_varied_study(folder / "study")
    write_split_release(folder / "study", folder / "release")
    few = ["--min-positives", 1, "--replicates", 40]
    of_release = ["--data", folder / "release", "--validation", folder / "release", *few]
    recordings = gaze_files.write_release(folder / "recordings")
    maps = gaze_files.write_maps(folder / "maps")
    bench = drawn_scores()
    gaze = ss.datasets.load_lanfredi2021()
    tables = {
        "bench": bench[bench["method"] != "human"],
        "people": bench,
        "gaze": gaze[gaze["method"] != "interobserver"],
        "tools": digits[digits["task"] == "digit 4"].replace({"metric": {"iou": "dice"}}),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    return {
        ("saporta2022", "maps and people"): [
            "--data",
            folder / "study",
            "--validation",
            folder / "study",
            *few,
        ],
        ("saporta2022", "maps of the release"): [*of_release, "--split", "val"],
        ("saporta2022", "people of the release"): [*of_release, "--split", "test"],
        ("lanfredi2021", "release"): [],
        ("lanfredi2021", "scores of maps"): ["--scores", folder / "gaze.csv"],
        ("lanfredi2021", "recordings"): ["--raw", recordings, "--maps", f"cam={maps}", "--replicates", 2],
        ("saliency_bench", "release"): ["--printed", "--replicates", 40],
        ("saliency_bench", "scores of maps"): ["--scores", folder / "bench.csv", "--replicates", 40],
        ("saliency_bench", "scores of maps and people"): [
            "--scores",
            folder / "people.csv",
            "--replicates",
            40,
        ],
        ("mrxai2025", "simulations"): ["--simulations"],
        ("mrxai2025", "scores of maps"): ["--scores", folder / "tools.csv", "--replicates", 40],
    }


@pytest.mark.parametrize(("cell", "mode"), RUNS)
def test_every_study_is_made_of_all_its_data_in_both_modes(results, arguments, cell, mode):
    only = ()
    if cell[0] == "saporta2022" and (mode == "published" or cell[1] == "maps and people"):
        only = [item.key for item in SAPORTA_ITEMS if item.key not in OF_BOTH_MODES]
    # an item that fails by an error of the program is an error here
    made = results(cell[0], *arguments[cell], *MODES[mode], only=only)
    assert made.keys() >= GRID[cell]
    assert all(len(result.frame) for result in made.values())


@pytest.mark.parametrize(
    ("options", "kind", "fields"),
    [
        ({"key": "nobody2020"}, ValueRangeError, {"option": "key", "choices": KEYS}),
        (
            {"key": "saliency_bench", "replicate": 3},
            SalstatsError,
            {"option": "replicate", "match": "did you mean 'replicates'"},
        ),
        (
            {"key": "saliency_bench", "replicates": [50, 60]},
            SalstatsError,
            {"option": "replicates", "value": [50, 60]},
        ),
        (
            {"key": "saliency_bench", "unit": pd.DataFrame({"case": ["a"]})},
            SalstatsError,
            {"option": "unit", "match": "not a DataFrame"},
        ),
        ({"key": "saliency_bench", "features": "f.csv"}, SalstatsError, {"option": "features"}),
    ],
)
def test_what_cannot_be_used_is_named(options, kind, fields):
    with raises(kind, **fields):
        ss.reproduce(**options)


def test_an_option_that_is_said_to_be_false_is_not_as_one_that_is_not_given(tmp_path):
    recordings = gaze_files.write_release(tmp_path / "recordings")
    maps = gaze_files.write_maps(tmp_path / "maps", shape=(9, 9))
    warned = {}
    for padded in (None, False):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            reproduce_items("lanfredi2021", "scores", raw=recordings, maps={"cam": maps}, padded=padded)
        warned[padded] = any(getattr(warning.message, "option", None) == "padded" for warning in caught)
    assert warned == {None: True, False: False}


def test_a_file_of_scores_that_is_not_there_is_named():
    with raises(InputFileError, path="none.csv"):
        ss.reproduce("saliency_bench", scores="none.csv")


def test_an_item_that_fails_is_warned_of_with_its_error_and_the_others_are_returned(digits, monkeypatch):
    def broken(given):
        raise KeyError("model")

    item = replace(SCORE_ITEMS[-1], key="broken", title="Table 9: broken", make=broken)
    monkeypatch.setattr("salstats.studies.saliency_bench.SCORE_ITEMS", (item, *SCORE_ITEMS))
    with pytest.warns(ItemFailed) as caught:
        frames = ss.reproduce("saliency_bench", scores=digits, replicates=40)
    assert "table_2" in frames
    assert "broken" not in frames
    failures = [w.message for w in caught if w.category is ItemFailed]
    assert [(failure.item, type(failure.error)) for failure in failures] == [("Table 9", KeyError)]


def test_options_may_be_lists(digits):
    frames = ss.reproduce("saliency_bench", scores=digits, metrics=["hit"], interval="t", replicates=40)
    assert set(frames["table_2"]["metric"]) == {"hit"}
    assert set(frames["table_2"]["interval"]) == {"t"}


def test_a_file_in_another_shape_is_read_by_the_options_of_every_command(digits, run, tmp_path):
    iou = digits[(digits["metric"] == "iou") & (digits["method"] == "gradcam")]
    wide = iou[["case", "task", "score"]].rename(columns={"case": "img_id", "score": "cam"})
    wide = wide.assign(cam=100 * wide["cam"])
    wide.to_csv(tmp_path / "wide.csv", sep=";", decimal=",", index=False)
    code, _, error = run(
        "saliency_bench", "--scores", tmp_path / "wide.csv", "--sep", ";", "--decimal", ",",
        "--rename", "img_id=case", "--score", "cam=gradcam:iou", "--scale", "0.01",
        "--replicates", 40, "-o", tmp_path / "out",
    )  # fmt: skip
    assert code == 0, error
    written = pd.read_csv(tmp_path / "out" / "frames" / "table_4.csv")
    assert written["estimate"].tolist() == pytest.approx([iou["score"].mean()])


@pytest.fixture
def declared(monkeypatch):
    """A function that declares items as those of mrxai2025, and returns the options that open them."""

    def declare(*items):
        opened_with = []

        def open_items(*given):
            opened_with.append(given[-1])
            return OpenedStudy(items, frozenset(), dict)

        declaration = replace(declaration_of("mrxai2025"), open=open_items, open_scores=open_items)
        monkeypatch.setattr("salstats.studies.reproduction.declaration_of", lambda key: declaration)
        return opened_with

    return declare


def test_options_are_those_of_the_command(declared, tmp_path):
    opened_with = declared(GOOD)
    ss.reproduce(
        "mrxai2025", data=tmp_path, maps={"cam": "a", "ig": "b"}, cutoff=0.25, simulations=True,
        as_published=True, jobs=2, reference=None,
    )  # fmt: skip
    ss.reproduce("mrxai2025", simulations=False, pick=["rex:dice"])
    first, second = opened_with
    assert (first.data, first.maps, first.cutoff) == (tmp_path, [("cam", "a"), ("ig", "b")], 0.25)
    assert (first.simulations, first.as_published, first.jobs, first.reference) == (True, True, 2, None)
    assert (first.scores, first.features, first.rename) == (None, [], [])
    assert (second.simulations, second.as_published, second.jobs) == (False, False, 1)
    assert second.pick == ("rex", "dice")


def test_tables_are_files_or_frames_and_one_or_several(declared, tmp_path):
    opened_with = declared(GOOD)
    frame = pd.DataFrame({"case": ["a"], "method": "m", "metric": "dice", "score": [0.5]})
    file = tmp_path / "b.csv"
    frame.assign(case="b").rename(columns={"case": "img_id"}).to_csv(file, index=False)
    features = pd.DataFrame({"case": ["a", "b"], "age": [50, 60]})
    ss.reproduce("mrxai2025", scores=[frame, str(file)], features=features, rename={"img_id": "case"})
    ss.reproduce("mrxai2025", scores=frame)
    assert opened_with[0].scores[0] is frame
    assert opened_with[0].scores[1] == file
    assert opened_with[0].features[0] is features
    assert opened_with[0].rename == [{"img_id": "case"}]
    assert opened_with[1].scores[0] is frame


def test_frames_are_those_of_the_items_and_what_was_printed_of_them(declared):
    declared(GOOD)
    frames = ss.reproduce("mrxai2025")
    assert list(frames) == ["table_1", "printed"]
    assert list(frames["printed"]) == ["item", "key", "printed", "found", "equal"]
    assert frames["printed"]["key"].tolist() == ["a", "b"]
    declared(replace(GOOD, printed=None))
    assert list(ss.reproduce("mrxai2025")) == ["table_1"]


def test_what_lacks_data_is_warned_of_and_nothing_at_all_is_an_error(declared):
    declared(NEEDY, GOOD)
    with pytest.warns(SalstatsWarning, match="maps"):
        assert "table_3" not in ss.reproduce("mrxai2025")
    declared(NEEDY)
    with pytest.warns(SalstatsWarning, match="maps"), raises(SalstatsError):
        ss.reproduce("mrxai2025")

"""Replicates: those of a run are the scripts', whose files give the scripts' means and decreases."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from saporta_frames import METHOD
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
from salstats.studies.saporta2022.replicates import (
    REPLICATE_FILES,
    REPLICATE_ITEMS,
    decreases_with_limits_by_task_and_method,
    means_with_limits_by_metric_task_and_method,
    needs_met_by_replicates,
    read_replicates,
)
from salstats.studies.saporta2022.study_frames import StudyInference

ROUNDING = 1e-12


@pytest.fixture(scope="module")
def files(expected):
    """The files of replicates that eval.py wrote of the made-up study."""
    return [expected / "eval_tp" / f"{name}.csv" for name in REPLICATE_FILES]


@pytest.mark.parametrize("name", REPLICATE_FILES)
def test_replicates_as_published_are_those_that_the_script_writes(published, expected, name):
    method, metric = REPLICATE_FILES[name]
    want = pd.read_csv(expected / "eval_tp" / f"{name}.csv")
    rows = published["replicates"].frame.replace({"method": {METHOD: "saliency"}})
    rows = rows[(rows["metric"] == metric) & (rows["method"] == method)]
    got = rows.pivot(index="replicate", columns="task", values="estimate")
    np.testing.assert_allclose(got[want.columns], want, rtol=ROUNDING)


def test_replicates_of_patients_are_those_of_the_limits_in_table_1(drawn_frames, make):
    made = make(drawn_frames, "replicates", "table_1")
    rows = made["replicates"].frame.query("metric == 'iou'")
    limits = rows.groupby(["method", "task"])["estimate"].quantile([0.025, 0.975]).unstack()
    table = made["table_1"].frame.query("metric == 'iou'").set_index(["method", "task"]).loc[limits.index]
    np.testing.assert_allclose(table[["conf_low", "conf_high"]], limits, rtol=ROUNDING)


def test_the_scripts_files_give_the_scripts_means_and_decreases(files, expected):
    frames = ss.reproduce("saporta2022", bootstrap=files)
    for name, (method, metric) in REPLICATE_FILES.items():
        summary = expected / "eval_tp" / f"{name.replace('bootstrap_results_per_cxr', 'summary_results')}.csv"
        want = pd.read_csv(summary).set_index("name")
        rows = frames["table_1"]
        got = rows[(rows["metric"] == metric) & (rows["method"] == method)].set_index("task")
        for ours, theirs in (("conf_low", "lower"), ("estimate", "mean"), ("conf_high", "upper")):
            np.testing.assert_array_equal(got.loc[want.index, ours].round(3), want[theirs])
    for key, file in (("extended_data_5", "miou"), ("extended_data_6", "hitrate")):
        want = pd.read_csv(expected / "eval_tp" / f"{file}_pct_decrease.csv", index_col=0)
        got = frames[key].set_index("task").loc[want.index]
        columns = ["reference_mean", "method_mean", "estimate", "conf_low", "conf_high"]
        np.testing.assert_allclose(got[columns], want, rtol=ROUNDING, atol=ROUNDING)


def test_what_a_run_writes_is_read_again(drawn_frames, make, tmp_path):
    frames = replace(drawn_frames, inference=StudyInference(True, 40))
    made = make(frames, "replicates", "table_1")
    written = made["replicates"].frame
    written.to_csv(tmp_path / "replicates.csv", index=False)
    frames = ss.reproduce("saporta2022", bootstrap=tmp_path / "replicates.csv")
    keys = ["metric", "method", "task"]
    own = frames["table_1"].set_index(keys)
    table = made["table_1"].frame.set_index(keys).loc[own.index]
    columns = ["estimate", "conf_low", "conf_high"]
    np.testing.assert_allclose(own[columns], table[columns], rtol=ROUNDING)


@pytest.fixture(scope="module")
def drawn_files(tmp_path_factory):
    """Files of the same names and form: 1000 means of three findings that are drawn here."""
    folder = tmp_path_factory.mktemp("replicates")
    rng = np.random.default_rng(24)
    for name in REPLICATE_FILES:
        means = pd.DataFrame(
            rng.uniform(0.3, 0.6, (1000, 3)), columns=["Atelectasis", "Edema", "Lung Lesion"]
        )
        means.to_csv(folder / f"{name}.csv", index=False)
    return [folder / f"{name}.csv" for name in REPLICATE_FILES]


def test_without_people_there_is_no_decrease_and_that_is_said(drawn_files):
    with pytest.warns(SalstatsWarning) as caught:
        frames = ss.reproduce("saporta2022", bootstrap=drawn_files[0])
    assert list(frames) == ["table_1"]
    assert [str(warning.message) for warning in caught] == [
        f"Extended Data {n}: not made, needs replicates of {metric}, of people and of a saliency method"
        for n, metric in ((5, "iou"), (6, "hit"))
    ]


def test_the_average_decrease_is_of_the_tasks_that_people_and_the_method_have(drawn_files):
    replicates = read_replicates(drawn_files)
    is_human = replicates["method"] == "human"
    lacks = ~is_human & (replicates["task"] == replicates.loc[0, "task"])
    of_both = replicates[replicates["task"] != replicates.loc[0, "task"]]
    found = ss.reproduce("saporta2022", bootstrap=replicates[~lacks])
    expected = ss.reproduce("saporta2022", bootstrap=of_both)
    for key in ("extended_data_5", "extended_data_6"):
        pd.testing.assert_frame_equal(found[key], expected[key])


def test_what_cannot_be_used_is_named(drawn_files, tmp_path):
    files = drawn_files
    replicates = read_replicates(files[:1])
    fewer = replicates[replicates["replicate"] < 100]
    (tmp_path / "mine.csv").write_bytes(files[0].read_bytes())
    given = [
        (
            {"bootstrap": [files[0], files[0]]},
            {"option": "bootstrap", "column": "replicate", "value": 0, "path": files[0]},
        ),
        (
            {"bootstrap": [files[1], fewer]},
            {"option": "bootstrap", "column": "replicate", "value": (100, 1000)},
        ),
        ({"bootstrap": files, "data": tmp_path}, {"option": "bootstrap", "message": Setting("data")}),
    ]
    # what has no effect on replicates
    for option, value in (
        ("maps", f"gradcam={tmp_path}"),
        ("threshold", 0.5),
        ("views", "max"),
        ("replicates", 200),
    ):
        given.append(
            ({"bootstrap": files, option: value}, {"option": option, "message": Setting("bootstrap")})
        )
    for options, fields in given:
        with raises(SalstatsError, **fields):
            ss.reproduce("saporta2022", **options)
    with raises(ValueRangeError, option="replicates", value=9):
        ss.reproduce("saporta2022", bootstrap=fewer[fewer["replicate"] < 9])
    with raises(InputFileError, path=tmp_path / "mine.csv", choices=tuple(REPLICATE_FILES)):
        ss.reproduce("saporta2022", bootstrap=tmp_path / "mine.csv")


def test_replicates_of_other_numbers_cannot_be_paired(drawn_files):
    people = read_replicates(drawn_files[:1])
    method = read_replicates(drawn_files[1:2])
    method["replicate"] += 500
    with raises(SalstatsError, option="bootstrap", column="replicate", value=1000):
        read_replicates([people, method])


def test_no_replicates_are_an_error(drawn_files):
    empty = read_replicates(drawn_files[:1]).iloc[:0]
    for sources in ([], [empty]):
        with raises(SalstatsError, option="bootstrap"):
            read_replicates(sources)


def replicates_of(method, values, task="Edema", metric="iou"):
    frame = pd.DataFrame({"replicate": range(len(values)), "estimate": values})
    return frame.assign(metric=metric, method=method, task=task)


def test_means_of_replicates_are_their_mean_and_two_of_them():
    values = np.linspace(0.1, 0.9, 81)
    values[7] = np.nan
    (row,) = means_with_limits_by_metric_task_and_method(replicates_of("saliency", values)).to_dict("records")
    assert row["estimate"] == pytest.approx(np.nanmean(values))
    assert {row["conf_low"], row["conf_high"]} <= set(values)
    assert 0.1 <= row["conf_low"] < 0.15
    assert 0.85 < row["conf_high"] <= 0.9
    assert (row["n_undefined"], row["term"], row["interval"], row["conf_level"]) == (1, "mean", "order", 0.95)


def test_decreases_are_of_each_method_from_people_in_one_metric():
    human = replicates_of("human", np.full(40, 0.8))
    cam = replicates_of("cam", np.full(40, 0.6))
    hits = replicates_of("cam", np.full(40, 0.1), metric="hit")
    rows = decreases_with_limits_by_task_and_method(pd.concat([human, cam, hits], ignore_index=True), "iou")
    assert rows["task"].tolist() == ["Edema", "Average"]
    assert set(rows["method"]) == {"cam"}
    assert rows[["estimate", "conf_low", "conf_high"]].to_numpy() == pytest.approx(np.full((2, 3), 25.0))
    assert rows[["reference_mean", "method_mean"]].to_numpy() == pytest.approx(np.array([[0.8, 0.6]] * 2))


def test_decreases_need_people_and_a_method_of_the_same_metric():
    human = replicates_of("human", np.full(40, 0.8))
    cam = replicates_of("cam", np.full(40, 0.6))
    iou_item, hit_item = REPLICATE_ITEMS[1:]
    both = pd.concat([human, cam], ignore_index=True)
    assert needs_met_by_replicates(both) == set(iou_item.needs)
    assert needs_met_by_replicates(both.assign(metric="hit")) == set(hit_item.needs)
    assert needs_met_by_replicates(pd.concat([human, cam.assign(metric="hit")])) == set()
    assert needs_met_by_replicates(cam) == needs_met_by_replicates(human) == set()


def test_frames_and_files_lacking_a_column_or_naming_no_task_are_errors(tmp_path):
    frame = replicates_of("cam", np.full(40, 0.6))
    assert len(read_replicates([frame])) == 40
    with raises(ColumnError, column="task"):
        read_replicates([frame.drop(columns="task")])
    file = tmp_path / f"{next(iter(REPLICATE_FILES))}.csv"
    pd.DataFrame({"Edema": np.full(40, 0.5), "Lung Opacity": 0.4}).to_csv(file, index=False)
    read = read_replicates([file])
    assert read.groupby("task")["estimate"].agg(["size", "mean"]).to_dict("index") == {
        "Edema": {"size": 40, "mean": pytest.approx(0.5)},
        "Airspace Opacity": {"size": 40, "mean": pytest.approx(0.4)},
    }
    assert read.loc[read["task"] == "Edema", "replicate"].tolist() == list(range(40))
    pd.DataFrame({"Edema": np.full(40, 0.5), "Weight": 0.4}).to_csv(file, index=False)
    with raises(ColumnError, column="Weight", path=file):
        read_replicates([file])

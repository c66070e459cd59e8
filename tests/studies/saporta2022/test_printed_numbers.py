"""Printed numbers stand beside results of as many cases as the study's, and beside no others."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from salstats.datasets import load_published
from salstats.studies.declarations import ItemResult, PrintedNumbers
from salstats.studies.engine import made_items_whose_needs_are_met
from salstats.studies.saporta2022 import ITEMS
from salstats.studies.saporta2022.printed_numbers import TABLE_2, printed_decreases
from salstats.studies.saporta2022.study_frames import StudyInference

POSITIVES = load_published("saporta2021_auroc_hit").set_index("task")["n"]
TEXT = load_published("saporta2022_text").set_index("quantity")
ESTIMATES = ["estimate", "conf_low", "conf_high"]


def prints(key):
    """The printed numbers of an item."""
    return next(item.printings for item in ITEMS if item.key == key)


def means(interval="order"):
    """Means of the printed number of findings of each task, Support Devices as printed."""
    rows = pd.DataFrame({"task": POSITIVES.index, "n": POSITIVES.to_numpy(), "n_missing": 0})
    parts = [rows.assign(metric=metric, method="cam") for metric in ("iou", "hit")]
    frame = pd.concat(parts, ignore_index=True).assign(interval=interval, **dict.fromkeys(ESTIMATES, 0.5))
    for metric, quantity in (("iou", "support_devices_miou"), ("hit", "support_devices_hit_rate")):
        row = (frame["metric"] == metric) & (frame["task"] == "Support Devices")
        frame.loc[row, ESTIMATES] = TEXT.loc[quantity, ["value", "conf_low", "conf_high"]].to_numpy(float)
    # two of the findings have no mask
    empty = (frame["metric"] == "iou") & (frame["task"] == "Edema")
    frame.loc[empty, ["n", "n_missing"]] = [POSITIVES["Edema"] - 2, 2]
    return frame


def test_means_of_as_many_findings_are_compared_and_of_others_not():
    text, people, of_2021 = prints("table_1")
    frame = means()
    assert text.applies(frame)
    assert text.compare(frame)["equal"].tolist() == [True, True]
    other = frame.assign(n=frame["n"] + (frame["task"] == "Edema"))
    assert not text.applies(other)
    assert not text.applies(frame[frame["task"] != "Edema"])
    # there are no people
    assert not people.applies(frame)
    assert of_2021.applies(frame)
    people_rows = frame.query("task == 'Cardiomegaly' and metric == 'iou'").assign(method="human", n=9)
    people_rows["estimate"] = TEXT.loc["cardiomegaly_human_miou", "value"] + 0.004
    both = pd.concat([frame, people_rows], ignore_index=True)
    assert people.applies(both)
    # printed with two digits
    assert people.compare(both)["equal"].tolist() == [True]
    assert people.compare(both.assign(estimate=both["estimate"] + 0.01))["equal"].tolist() == [False]
    # of several methods none is known to be the study's
    two = pd.concat([frame, frame.assign(method="other")], ignore_index=True)
    assert not text.applies(two)
    assert text.applies(two.replace({"method": {"cam": "gradcam"}}))


def test_the_frame_has_what_was_printed_of_each_row_the_article_first():
    item = next(item for item in ITEMS if item.key == "table_1")
    frame = means("percentile")
    other = frame.assign(n=frame["n"] + 1)
    given = (replace(item, make=lambda _: ItemResult(frame)), replace(item, make=lambda _: ItemResult(other)))
    own, of_others = (made.frame for _, made in made_items_whose_needs_are_met(given, (), None))
    rows = own.set_index(["metric", "task"])
    columns = ["printed", "printed_low", "printed_high", "printed_source"]
    assert rows.loc[("iou", "Support Devices"), columns].tolist() == [0.163, 0.154, 0.172, "article"]
    edema = rows.loc[("hit", "Edema"), columns]
    assert edema["printed"] == pytest.approx(41 / 83)
    assert edema[["printed_low", "printed_high"]].isna().all()
    assert edema["printed_source"] == "March 2021, superseded in places"
    # scores of another number of cases were not printed
    assert list(of_others) == list(frame)
    pd.testing.assert_frame_equal(own[list(frame)], frame)


def test_a_printed_mean_that_differs_is_an_error_where_it_is_made_as_published():
    text, _, of_2021 = prints("table_1")
    frame = means()
    frame.loc[frame["task"] == "Support Devices", "conf_low"] += 0.001
    assert text.compare(frame)[["equal", "exact"]].to_numpy().tolist() == [[False, True]] * 2
    assert not text.compare(means("percentile"))["exact"].any()
    superseded = of_2021.compare(frame)
    assert not superseded["exact"].any()
    assert of_2021.source == "March 2021, superseded in places"
    assert len(superseded) == 20


def test_decreases_are_compared_with_one_digit_and_what_was_not_printed_is_left_out():
    rows = pd.DataFrame({"task": [*POSITIVES.index, "Average"], "n_missing": 0})
    rows["n_pairs"] = rows["task"].map(POSITIVES).fillna(1534)
    frame = rows.assign(metric="iou", method="cam", interval="order", **dict.fromkeys(ESTIMATES, 0.0))
    printed = printed_decreases("iou")
    for task, values in (
        ("Average", [24.04, 18.16, 29.64]),
        ("Lung Lesion", [76.2, 59.1, 87.5]),
        ("Consolidation", [-128.1, -999.0, 999.0]),
    ):
        frame.loc[frame["task"] == task, ESTIMATES] = values
    assert printed.applies(frame)
    beside = printed.compare(frame).set_index("key")
    assert beside["equal"].all()
    assert beside.loc["iou, gradcam, Consolidation", "printed"] == "-128.1"
    frame.loc[frame["task"] == "Average", "estimate"] = 24.06
    assert printed.compare(frame)["equal"].tolist() == [False, True, True]
    assert not printed.applies(frame.assign(n_pairs=frame["n_pairs"] - 1))


def test_slopes_are_compared_where_the_hits_are_of_all_findings():
    rows = TABLE_2.rows()
    frame = rows.assign(scale="Scaled over all tasks", pool="all tasks pooled", n=1534, n_missing=0)
    both = pd.concat([frame, frame.assign(scale="Scaled per task", estimate=9.0)], ignore_index=True)
    assert TABLE_2.applies(both)
    assert TABLE_2.compare(both)["equal"].all()
    assert not TABLE_2.compare(both)["exact"].any()
    assert TABLE_2.compare(both.assign(script_text=""))["exact"].all()
    assert not TABLE_2.applies(both.assign(n=1533))


def test_table_3_is_compared_in_both_modes_where_its_cases_are_as_many(drawn_frames, make):
    whole, overall = prints("table_3")
    # the study that is drawn here has other cases
    for as_published in (True, False):
        frames = replace(drawn_frames, inference=StudyInference(as_published, 40))
        assert not whole.applies(make(frames, "table_3")["table_3"].frame)
    own = load_published("saporta2022_table3").melt(["task", "n"], var_name="term", value_name="estimate")
    assert whole.applies(own)
    own["estimate"] += 0.0004 * (own["task"] == "Edema") + 0.001 * (own["task"] == "Overall")
    beside = whole.compare(own).set_index("key")
    assert beside.index[~beside["equal"]].tolist() == ["Overall, slope", "Overall, spearman"]
    assert beside["exact"].all()
    limits = own.assign(conf_low=0.083, conf_high=0.135)
    assert overall.compare(limits)[["equal", "exact"]].to_numpy().tolist() == [[True, False], [False, False]]


def test_aurocs_and_the_full_slice_are_of_the_notebooks():
    text, of_2021 = prints("table_s1")
    table = load_published("saporta2021_auroc_hit")
    frame = table.assign(estimate=table["auroc"], n=668, n_positive=table["n"])
    assert text.applies(frame)
    assert of_2021.compare(frame)["equal"].all()
    assert text.compare(frame)["printed"].tolist() == ["0.969"]
    assert not text.applies(frame.assign(n=667))
    (full,) = prints("extended_data_4")
    rows = full.rows().replace({"method": {"gradcam": "cam"}})
    assert full.applies(rows)
    assert full.compare(rows)["equal"].all()
    assert not full.applies(rows.assign(n=rows["n"] + 1))
    assert not full.applies(rows[rows["method"] != "human"])
    # averages and the cases of people were printed without a number
    is_human = rows["method"] == "human"
    assert full.applies(rows.assign(n=rows["n"].mask(is_human, 9)))
    averages = rows.drop_duplicates("method").assign(task="Average", n=9)
    assert full.applies(pd.concat([rows, averages], ignore_index=True))
    # a task of several models has several rows
    assert not text.applies(pd.concat([frame, frame], ignore_index=True))
    assert not text.applies(frame.assign(n_positive=table["n"] - 1))


def test_several_printed_places_are_labelled_in_one_frame(drawn_frames, make):
    result = make(drawn_frames, "table_1")["table_1"]
    made = result.frame
    rows = lambda: made[["metric", "method", "task", *ESTIMATES]].head(1)  # noqa: E731
    pair = (
        PrintedNumbers(rows, ("metric", "method", "task")),
        PrintedNumbers(rows, ("metric", "method", "task"), exact=lambda f: False, source="elsewhere"),
    )
    item = next(i for i in ITEMS if i.key == "table_1")
    compared = []
    item = replace(item, make=lambda _: result, printed=pair)
    list(made_items_whose_needs_are_met([item], drawn_frames.available, drawn_frames, compared))
    assert [rows["item"].item() for rows in compared] == ["Table 1", "Table 1 (elsewhere)"]
    assert np.all([rows["equal"].item() for rows in compared])

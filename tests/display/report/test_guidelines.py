"""What is not covered: every item of both checklists is answered or asked of the author."""

import re

import pytest
from report_frames import simulated_frames

from salstats.display.report.guidelines import applicable_guideline_items, guideline_items_left_to_author

#: Numbered items of the checklists as published.
N_ITEMS = {"CLAIM": 44, "STARD-AI": 40}


def numbers(item):
    """The item numbers that "9 to 11, 13: subject" names, parts (15a) by their number."""
    found = set()
    for part in item.partition(":")[0].split(","):
        ends = [int(end) for end in re.findall(r"\d+", part)]
        found |= set(range(ends[0], ends[-1] + 1))
    return found


@pytest.mark.parametrize("keys", [[], ["means"], None], ids=["no frames", "means only", "all frames"])
def test_every_item_is_answered_or_asked_of_the_author(keys):
    frames = {k: v for k, v in simulated_frames().items() if keys is None or k in keys}
    items = applicable_guideline_items(frames)
    for guideline, n in N_ITEMS.items():
        own = items[items["guideline"].str.startswith(guideline)]
        assert set().union(*map(numbers, own["item"])) == set(range(1, n + 1))
        assert not own.duplicated(["item", "answered"]).any()
    # in the order of the checklists, CLAIM first
    rows = guideline_items_left_to_author(frames)
    first = [(not row.guideline.startswith("CLAIM"), min(numbers(row.item))) for row in rows]
    assert first == sorted(first)


def test_items_follow_what_is_there():
    def asked(frames, start):
        rows = guideline_items_left_to_author(frames)
        return [row.text for row in rows if row.guideline[:5] == "CLAIM" and row.item.startswith(start)]

    everything = simulated_frames()
    without = {k: v for k, v in everything.items() if k != "auroc"}
    assert asked(everything, "37") != asked(without, "37")
    uncalibrated = {k: v for k, v in everything.items() if k != "calibration"}
    assert len(asked(everything, "37")) == len(asked(uncalibrated, "37"))
    assert asked(everything, "37") != asked(uncalibrated, "37")
    # what was missing before anybody scored and what was planned is asked whatever is shown
    full = everything | {"describe": everything["describe"].assign(n_missing=0)}
    for frames in (everything, full, {}):
        assert asked(frames, "12")
        assert asked(frames, "29")
    for key, start in (("agreement", "18"), ("patients", "36")):
        frame = everything["means"]
        assert asked({}, start) != asked({key: frame}, start)
    items = applicable_guideline_items({})
    answered = set(items["item"][items["answered"]])
    assert not answered & {"24: flow of participants", "31: explainability", "38: diagnostic performance"}


def test_every_text_is_a_sentence():
    items = applicable_guideline_items({})
    assert items["text"].str.match(r"[A-Z].*\.$").all()
    assert items["item"].str.match(r"\d+[a-d]?(( to |, )\d+[a-d]?)*: \S").all()

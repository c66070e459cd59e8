"""What is not covered: every item of both checklists is answered or asked of the author."""

import re

import pytest
from report_frames import simulated_frames

from salstats.display.report.guidelines import guideline_items, not_covered

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
    items = guideline_items(frames)
    for guideline, n in N_ITEMS.items():
        own = items[items["guideline"].str.startswith(guideline)]
        assert set().union(*map(numbers, own["item"])) == set(range(1, n + 1))
        assert not own.duplicated(["item", "answered"]).any()


def test_items_are_in_the_order_of_the_checklists_claim_first():
    rows = not_covered(simulated_frames())
    first = [(not name.startswith("CLAIM"), int(re.match(r"\d+", item)[0])) for name, item, _ in rows]
    assert first == sorted(first)


def asked(frames, start):
    """What an author is asked to add under an item of CLAIM."""
    rows = not_covered(frames)
    return next((text for name, item, text in rows if name[:5] == "CLAIM" and item.startswith(start)), None)


def answered(frames):
    """Items that are said to be answered."""
    items = guideline_items(frames)
    return items[items["answered"]]


def test_performance_of_the_classifier_is_asked_for_by_what_is_there():
    everything = simulated_frames()
    without = {k: v for k, v in everything.items() if k != "auroc"}
    assert asked(everything, "37") != asked(without, "37")
    assert not answered(without)["text"].str.contains("AUROC").any()


def test_what_scores_cannot_show_is_asked_for_whatever_is_shown():
    # what was missing before anybody scored, and what was planned beforehand
    everything = simulated_frames()
    full = everything | {"describe": everything["describe"].assign(n_missing=0)}
    alone = {k: v for k, v in full.items() if k not in ("difference", "decrease")}
    for frames in (everything, full, alone, {}):
        assert asked(frames, "12") is not None
        assert asked(frames, "29") is not None


def test_nothing_is_said_to_be_answered_by_a_frame_that_is_not_there():
    for item in ("24: flow of participants", "31: explainability", "38: diagnostic performance"):
        assert item not in set(answered({})["item"])


def test_every_text_is_a_sentence():
    items = guideline_items({})
    assert items["text"].str.match(r"[A-Z].*\.$").all()
    assert items["item"].str.match(r"\d+[a-d]?(( to |, )\d+[a-d]?)*: \S").all()

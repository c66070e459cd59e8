"""What is not covered: every item of both checklists is answered or asked of the author."""

import re

import pytest
from report_frames import simulated_frames

from salstats.display.report.guidelines import CLAIM, STARD_AI, addressed, not_covered

#: Numbered items of the checklists as published.
N_ITEMS = {CLAIM: 44, STARD_AI: 40}


def numbers(item):
    """The item numbers that "9 to 11, 13: subject" names, parts (15a) by their number."""
    found = set()
    for part in item.partition(":")[0].split(","):
        ends = [int(end) for end in re.findall(r"\d+", part)]
        found |= set(range(ends[0], ends[-1] + 1))
    return found


def items(rows, guideline):
    """All item numbers that rows name of a guideline."""
    return set().union(*(numbers(item) for name, item, _ in rows if name == guideline))


@pytest.mark.parametrize("frames", [{}, {"means": None}, None], ids=["no frames", "means only", "all frames"])
@pytest.mark.parametrize("guideline", N_ITEMS)
def test_every_item_is_answered_or_asked_of_the_author(frames, guideline):
    frames = simulated_frames() if frames is None else {k: simulated_frames()[k] for k in frames}
    both = [*not_covered(frames), *addressed(frames)]
    assert items(both, guideline) == set(range(1, N_ITEMS[guideline] + 1))


def test_items_are_in_the_order_of_the_checklists_claim_first():
    rows = not_covered(simulated_frames())
    names = [name for name, _, _ in rows]
    assert names == sorted(names, key=[CLAIM, STARD_AI].index)
    for guideline in (CLAIM, STARD_AI):
        first = [int(re.match(r"\d+", item)[0]) for name, item, _ in rows if name == guideline]
        assert first == sorted(first)


def test_no_item_is_named_twice_for_one_report():
    for frames in ({}, simulated_frames()):
        shown = [(name, item) for name, item, _ in not_covered(frames)]
        assert len(set(shown)) == len(shown)


def asked(frames, start):
    """What an author is asked to add under an item of CLAIM."""
    return next(
        (text for name, item, text in not_covered(frames) if name == CLAIM and item.startswith(start)), None
    )


def test_performance_of_the_classifier_is_asked_for_by_what_is_there():
    everything = simulated_frames()
    assert asked(everything, "37").startswith("Beyond the AUROC")
    without = {k: v for k, v in everything.items() if k != "auroc"}
    assert asked(without, "37").startswith("Add the performance of the classifier itself")
    assert not any("AUROC" in how for _, _, how in addressed(without))


def test_what_scores_cannot_show_is_asked_for_whatever_is_shown():
    # what was missing before anybody scored, and what was planned beforehand
    everything = simulated_frames()
    full = everything | {"describe": everything["describe"].assign(n_missing=0)}
    alone = {k: v for k, v in full.items() if k not in ("difference", "decrease")}
    for frames in (everything, full, alone, {}):
        assert asked(frames, "12") is not None
        assert asked(frames, "29") is not None


def test_nothing_is_said_to_be_answered_by_a_frame_that_is_not_there():
    claimed = {item for _, item, _ in addressed({})}
    for item in ("24: flow of participants", "31: explainability", "38: diagnostic performance"):
        assert item not in claimed


def test_every_text_is_a_sentence():
    for _, item, text in (*not_covered({}), *not_covered(simulated_frames()), *addressed(simulated_frames())):
        assert text[0].isupper()
        assert text.endswith(".")
        assert re.match(r"\d+[a-d]?(( to |, )\d+[a-d]?)*: \S", item)

"""Overlap of two stored masks at the size of a radiograph, in run lengths against pixels, within one run."""

import json

import numpy as np
import pytest
from PIL import Image, ImageDraw
from pycocotools import mask as coco
from timing import fastest

from salstats.images.masks import Rle, decode, encode
from salstats.images.polygons import polygons_rle
from salstats.metrics.overlap import iou

# pycocotools' decode does not yet know numpy 2's copy keyword
pytestmark = [
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.usefixtures("one_thread"),
]

# the figure to reach: IoU of two codes against decoding both and comparing pixels
TIMES_FASTER = 100
#: Turns that a disturbed machine may take; the fastest runs of both sides count.
TURNS = 30


@pytest.fixture(scope="module")
def pairs(shared):
    """Saliency masks and truths of the released sample as their files have them, those with a finding."""
    sample = shared / "oracles/chexlocalize/sample"
    masks, truths = (json.loads((sample / name).read_text()) for name in ("seg_otsu.json", "gt_seg.json"))
    found = [
        (masks[case][task], record)
        for case, tasks in truths.items()
        for task, record in tasks.items()
        if coco.area(record)
    ]
    assert len(found) == 4
    assert min(np.prod(record["size"]) for _, record in found) > 4_000_000
    return found


def decoded_iou(mask, truth):
    """The plain steps: decode both, compare pixel by pixel."""
    a, b = coco.decode(mask), coco.decode(truth)
    return np.logical_and(a, b).sum() / np.logical_or(a, b).sum()


def test_iou_of_codes_is_a_hundred_times_faster_than_that_of_pixels(pairs):
    codes = [(Rle.from_coco(mask), Rle.from_coco(truth)) for mask, truth in pairs]
    assert [iou(*pair) for pair in codes] == [decoded_iou(*pair) for pair in pairs]
    fast, slow = fastest(
        lambda: [iou(*pair) for pair in codes],
        lambda: [decoded_iou(*pair) for pair in pairs],
        enough=TIMES_FASTER,
        turns=TURNS,
        least=3,
    )
    assert slow > TIMES_FASTER * fast


def test_checking_the_records_leaves_it_twenty_times_faster(pairs):
    # from the text of the files on: every run is checked before compiled code sees it
    fast, slow = fastest(
        lambda: [iou(Rle.from_coco(mask), Rle.from_coco(truth)) for mask, truth in pairs],
        lambda: [decoded_iou(*pair) for pair in pairs],
        enough=20,
        turns=TURNS,
        least=3,
    )
    assert slow > 20 * fast


def test_coding_and_decoding_are_no_slower_than_in_pycocotools(pairs):
    codes = [Rle.from_coco(mask) for mask, _ in pairs]
    masks = [decode(code) for code in codes]
    fast, slow = fastest(
        lambda: [encode(mask) for mask in masks],
        lambda: [coco.encode(np.asfortranarray(mask, dtype=np.uint8)) for mask in masks],
        enough=1,
        turns=TURNS,
        least=3,
    )
    assert slow > fast
    fast, slow = fastest(
        lambda: [decode(code) for code in codes],
        lambda: [coco.decode(mask) for mask, _ in pairs],
        enough=1,
        turns=TURNS,
        least=3,
    )
    assert slow > fast


def drawn_plainly(polygons, shape):
    """The release's own way: every polygon on an image of full size."""
    image = Image.new("L", shape[::-1])
    for polygon in polygons:
        ImageDraw.Draw(image).polygon([tuple(p) for p in polygon], outline=1, fill=1)
    return np.array(image)


def test_polygons_are_coded_without_the_whole_image(shared):
    sample = shared / "data/chexlocalize_sample"
    annotations = json.loads((sample / "gt_annotations_val.json").read_text())
    outlines = [
        (polygons, tuple(tasks["img_size"]))
        for tasks in annotations.values()
        for task, polygons in tasks.items()
        if task != "img_size"
    ]
    assert len(outlines) == 4
    fast, slow = fastest(
        lambda: [polygons_rle(*outline) for outline in outlines],
        lambda: [
            coco.encode(np.asfortranarray(drawn_plainly(*outline), dtype=np.uint8)) for outline in outlines
        ],
        enough=2,
        turns=TURNS,
        least=3,
    )
    assert slow > 2 * fast

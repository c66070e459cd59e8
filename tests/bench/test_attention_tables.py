"""Reading masks that are written as JSON, against the JSON module and NumPy, within one run."""

import json
import time

import numpy as np
import pytest

from salstats.images.masks import encode
from salstats.readers.attention_tables import mask_from_json_rows

pytestmark = pytest.mark.usefixtures("one_thread")

# the figure to reach: one cell of 224 x 224 to a run-length code, against json.loads and np.array before it
TIMES_FASTER = 4
#: Turns that a disturbed machine may take; the fastest runs of both sides count.
TURNS = 10


@pytest.fixture(scope="module")
def cells():
    """Cells as the benchmark's tables have them, a mask with a quarter of its pixels marked."""
    grid = np.add.outer(np.arange(224), np.arange(224))
    return [json.dumps(((grid + i) % 224 < 112).astype(int).tolist()) for i in range(20)]


def test_a_cell_is_read_several_times_faster_than_by_json(cells):
    def plain(text):
        return encode(np.array(json.loads(text)) > 0)

    assert [mask_from_json_rows(c) for c in cells] == [plain(c) for c in cells]
    ours, theirs = [], []
    for _ in range(TURNS):
        for read, times in ((mask_from_json_rows, ours), (plain, theirs)):
            start = time.perf_counter()
            for cell in cells:
                read(cell)
            times.append(time.perf_counter() - start)
        if min(theirs) > TIMES_FASTER * min(ours):
            break
    ratio = min(theirs) / min(ours)
    assert ratio > TIMES_FASTER, f"{ratio:.1f} times faster"

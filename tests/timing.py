"""Times of functions, for comparisons on a machine that may do other work meanwhile."""

import time
from math import inf


def seconds(function, *arguments):
    """How long one call takes."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def fastest(one, other, *, enough, turns, least):
    """The fastest run of each, in turns: `least`, until one is `enough` times faster, or all `turns`."""
    fast = slow = inf
    for turn in range(1, turns + 1):
        fast, slow = min(fast, seconds(one)), min(slow, seconds(other))
        if turn >= least and slow > enough * fast:
            break
    return fast, slow

"""Telling who waits at a terminal that work goes on; light, as it is there before pandas is."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds after which one is told.
_PATIENCE = 1.0


@contextmanager
def waiting(label: str) -> Iterator[None]:
    """Say on stderr, where that is a terminal, that long work goes on whose parts nobody counts."""
    # a shell that completes a line shows what is written there amid the line
    if not sys.stderr.isatty() or "_SALSTATS_COMPLETE" in os.environ:
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(label, total=None)
    late = threading.Timer(_PATIENCE, bar.start)
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()
        late.join()
        bar.stop()

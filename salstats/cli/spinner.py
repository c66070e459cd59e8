"""Spinner for long work at a terminal; it imports little, as it runs before pandas is imported."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds before the spinner appears.
_DELAY = 1.0


@contextmanager
def spinner(label: str) -> Iterator[None]:
    """Show a spinner on stderr while work of unknown length goes on, if stderr is a terminal."""
    # a shell that completes a line would show the spinner within the line
    if not sys.stderr.isatty() or "_SALSTATS_COMPLETE" in os.environ:
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(label, total=None)
    timer = threading.Timer(_DELAY, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        bar.stop()

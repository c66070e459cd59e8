"""Who waits at a terminal is told that work goes on; a pipe is told nothing."""

import io
import sys
import time

import pytest

from salstats.cli.spinner import spinner


@pytest.mark.parametrize(
    ("terminal", "seconds", "completing", "said"),
    [
        (True, 0.5, False, True),
        (True, 0, False, False),
        (False, 0.5, False, False),
        (True, 0.5, True, False),
    ],
)
def test_long_work_is_said_on_a_terminal_only_and_not_to_a_shell_that_completes(
    monkeypatch, terminal, seconds, completing, said
):
    monkeypatch.setattr("salstats.cli.spinner._DELAY", 0.2)
    if completing:
        monkeypatch.setenv("_SALSTATS_COMPLETE", "complete_zsh")
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with spinner("Computing"):
        time.sleep(seconds)
    text = stream.getvalue()
    assert ("Computing" in text) == said
    if said:
        # the control sequence that erases a line: nothing is left of the spinner after the work
        assert text.rindex("\x1b[2K") > text.rindex("Computing")

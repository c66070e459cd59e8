"""Figures drawn in this process or in another: the same files, wherever either stands."""

import os
import signal
import warnings

import pandas as pd
import plotnine as p9
import pytest

from salstats.display.figure_jobs import FigureJobs
from salstats.display.theme import theme_salstats


def figure(title="a", x="x"):
    frame = pd.DataFrame({"x": [1, 2], "y": [1, 2]})
    return p9.ggplot(frame, p9.aes(x, "y")) + p9.geom_point() + p9.ggtitle(title) + theme_salstats()


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_figure_is_written_also_where_the_folder_has_changed_meanwhile(tmp_path, monkeypatch, jobs):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        work = FigureJobs(jobs)
        for i in range(3):
            work.add(figure(), [(tmp_path / name / f"{i}.png").relative_to(tmp_path / name)])
        assert work.finish() == []
        assert sorted(f.name for f in (tmp_path / name).iterdir()) == ["0.png", "1.png", "2.png"]


def test_another_process_draws_the_same_bytes(tmp_path):
    work = FigureJobs(2)
    for i in range(2):
        work.add(figure(), [tmp_path / f"{i}.pdf", tmp_path / f"{i}.png"])
    work.finish()
    for suffix in ("pdf", "png"):
        assert (tmp_path / f"0.{suffix}").read_bytes() == (tmp_path / f"1.{suffix}").read_bytes()


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_drawing_warns_of_is_returned_once(tmp_path, jobs):
    work = FigureJobs(jobs)
    for i in range(2):
        work.add(figure(title="\U0001f9e0"), [tmp_path / f"{i}.png"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (said,) = work.finish()
    assert "missing from font" in said


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_figure_that_cannot_be_drawn_raises(tmp_path, jobs):
    work = FigureJobs(jobs)
    work.add(figure(x="nothing"), [tmp_path / "0.png"])
    with pytest.raises(p9.exceptions.PlotnineError):
        work.finish()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals that kill on this system")
def test_a_process_that_is_killed_costs_nothing_but_time(tmp_path):
    work = FigureJobs(2)
    (worker,) = work._pool._processes.values()
    os.kill(worker.pid, signal.SIGKILL)
    for i in range(2):
        work.add(figure(), [tmp_path / f"{i}.png"])
    work.finish()
    assert sorted(f.name for f in tmp_path.iterdir()) == ["0.png", "1.png"]

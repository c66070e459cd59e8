"""Figures drawn in this process or in another: the same files, wherever either stands."""

import multiprocessing
import os
import signal
import warnings
from pathlib import Path

import pandas as pd
import plotnine as p9
import pytest

from salstats.display.export.figure_jobs import FigureJobs
from salstats.display.plots.theme import theme_salstats


def figure(title="a", x="x"):
    frame = pd.DataFrame({"x": [1, 2], "y": [1, 2]})
    return p9.ggplot(frame, p9.aes(x, "y")) + p9.geom_point() + p9.ggtitle(title) + theme_salstats()


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_figure_is_written_also_where_the_folder_has_changed_meanwhile(tmp_path, monkeypatch, jobs):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        with FigureJobs(jobs) as work:
            for i in range(3):
                work.add(figure(), [Path(f"{i}.png")])
            assert work.finish() == []
        assert sorted(f.name for f in (tmp_path / name).iterdir()) == ["0.png", "1.png", "2.png"]


@pytest.mark.parametrize(("jobs", "elsewhere"), [(1, 0), (2, 1), (-1, 1)])
def test_a_process_for_every_core_is_one_more(jobs, elsewhere, monkeypatch):
    asked = []
    monkeypatch.setattr("salstats.display.export.figure_jobs._pool", lambda: asked.append(1))
    with FigureJobs(jobs):
        assert len(asked) == elsewhere


def test_another_process_draws_the_same_bytes(tmp_path):
    with FigureJobs(2) as work:
        for i in range(2):
            work.add(figure(), [tmp_path / f"{i}.pdf", tmp_path / f"{i}.png"])
        work.finish()
    for suffix in ("pdf", "png"):
        assert (tmp_path / f"0.{suffix}").read_bytes() == (tmp_path / f"1.{suffix}").read_bytes()


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_drawing_warns_of_is_returned_once(tmp_path, jobs):
    with FigureJobs(jobs) as work, warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(2):
            work.add(figure(title="\U0001f9e0"), [tmp_path / f"{i}.png"])
        (said,) = work.finish()
    assert "missing from font" in said


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_figure_that_cannot_be_drawn_raises(tmp_path, jobs):
    with FigureJobs(jobs) as work:
        work.add(figure(x="nothing"), [tmp_path / "0.png"])
        with pytest.raises(p9.exceptions.PlotnineError):
            work.finish()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals that kill on this system")
def test_a_process_that_is_killed_costs_nothing_but_time(tmp_path):
    with FigureJobs(2) as work:
        (worker,) = work._pool._processes.values()
        os.kill(worker.pid, signal.SIGKILL)
        for i in range(2):
            work.add(figure(), [tmp_path / f"{i}.png"])
        work.finish()
    assert sorted(f.name for f in tmp_path.iterdir()) == ["0.png", "1.png"]


def daemon_draws(folder):
    with FigureJobs(2) as work:
        for i in range(2):
            work.add(figure(), [Path(folder) / f"{i}.png"])
        work.finish()


def test_a_process_that_may_have_none_draws_itself(tmp_path, monkeypatch):
    process = multiprocessing.current_process()
    monkeypatch.setitem(process._config, "daemon", True)
    daemon_draws(tmp_path)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["0.png", "1.png"]

"""Figures to files: exact size, embedded fonts, nothing half written, the same drawn here or elsewhere."""

import errno
import gc
import multiprocessing
import os
import re
import signal
import threading
import warnings
import zlib
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from display.plots.study_figures import FIGURES, figure_of_study
from PIL import Image
from tests_support import full_disk, raises, warns

import salstats as ss
from salstats.display.export.figure_files import FIGURE_SUFFIXES, FigureJobs, save_figure_as
from salstats.display.plots.layout.theme import COLUMNS_MM, figure_size, theme_salstats
from salstats.display.text.labels import Labels
from salstats.errors import InputFileError, SalstatsError, ValueRangeError

POINTS_PER_MM = 72 / 25.4
#: A pixel is the least a raster's size can be off.
PIXEL = 1


def drawing(title="a", x="x"):
    frame = pd.DataFrame({"x": ["a", "b"], "y": [0.1, 0.2]})
    return p9.ggplot(frame, p9.aes(x, "y")) + p9.geom_point() + p9.ggtitle(title) + theme_salstats()


@pytest.fixture(scope="module")
def figure():
    return drawing()


@pytest.mark.parametrize("suffix", [".png", ".tif", ".tiff"])
def test_raster_has_the_size_and_resolution_asked_for(figure, tmp_path, suffix, monkeypatch):
    # whatever a user's own settings of Matplotlib are
    monkeypatch.setitem(mpl.rcParams, "savefig.dpi", 50)
    file = ss.save_figure(figure, tmp_path / f"f{suffix}", width=89, height=60, dpi=300)
    with Image.open(file) as image:
        assert image.size == pytest.approx((89 / 25.4 * 300, 60 / 25.4 * 300), abs=PIXEL)
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.01)


@pytest.mark.parametrize(("width", "unit"), [(89, "mm"), (8.9, "cm"), (89 / 25.4, "in")])
def test_pdf_page_has_the_size_asked_for(figure, tmp_path, width, unit):
    file = ss.save_figure(figure, tmp_path / "f.pdf", width=width, height=width / 2, unit=unit)
    box = re.search(rb"/MediaBox \[ ?([\d. ]+)\]", file.read_bytes()).group(1).split()
    assert [float(v) for v in box] == pytest.approx([0, 0, 89 * POINTS_PER_MM, 44.5 * POINTS_PER_MM])


def test_pdf_embeds_truetype_fonts(figure, tmp_path):
    data = ss.save_figure(figure, tmp_path / "f.pdf", width=89, height=60).read_bytes()
    streams = b"".join(
        zlib.decompress(s) for s in re.findall(rb"FlateDecode.*?stream\r?\n(.*?)\r?\nendstream", data, re.S)
    )
    everything = data + streams
    assert b"/FontFile2" in everything
    assert b"/Type3" not in everything


@pytest.mark.slow
def test_eps_has_the_size_asked_for_and_truetype_fonts(figure, tmp_path):
    data = ss.save_figure(figure, tmp_path / "f.eps", width=89, height=60).read_bytes()
    assert data.startswith(b"%!PS-Adobe-3.0 EPSF-3.0")
    box = re.search(rb"%%HiResBoundingBox: ([\d. ]+)", data).group(1).split()
    size = [89 * POINTS_PER_MM, 60 * POINTS_PER_MM]
    assert [float(v) for v in box] == pytest.approx([0, 0, *size], abs=1e-3)
    assert b"/FontType 42" in data
    assert b"/FontType 3 " not in data


def test_svg_has_the_size_real_text_and_a_title_and_description(tmp_path):
    frame = pd.DataFrame({"task": ["Edema & <b>", "Nodule"], "metric": "iou", "estimate": 0.5})
    figure = ss.plot_intervals(frame)
    root = ElementTree.parse(ss.save_figure(figure, tmp_path / "f.svg", width=89)).getroot()
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(89 * POINTS_PER_MM)
    assert [child.tag.rpartition("}")[2] for child in root][:2] == ["title", "desc"]
    assert "IoU" in root[0].text
    assert root[1].text == figure.caption()
    texts = {node.text for node in root.iter() if node.tag.endswith("}text")}
    assert {"Edema & <b>", "Nodule"} <= texts


#: Most nodes of a page of a figure in an SVG.
MOST_NODES = 2500


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "heatmap" else pytest.mark.slow) for n in FIGURES]
)
@pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning")
def test_svg_of_a_large_study_has_few_nodes(tmp_path, name):
    ss.save_figure(figure_of_study("large", name), tmp_path / "f.svg")
    pages = list(tmp_path.glob("*.svg"))
    assert pages
    for page in pages:
        assert len(list(ElementTree.parse(page).iter())) < MOST_NODES


def test_svg_of_very_many_scores_has_few_nodes(tmp_path):
    """Dots of so many scores are one image, and not a node each."""
    scores = pd.DataFrame({"case": [f"c{i}" for i in range(6000)], "method": "gradcam", "metric": "iou"})
    scores["score"] = [i / 6000 for i in range(6000)]
    figure = ss.plot_box(scores, form="raincloud")
    nodes = list(ElementTree.parse(ss.save_figure(figure, tmp_path / "f.svg")).iter())
    assert len(nodes) < 500
    assert sum(node.tag.endswith("}image") for node in nodes) == 1


def test_pdf_has_the_title_and_the_caption(tmp_path):
    figure = ss.plot_intervals(pd.DataFrame({"task": ["Edema"], "metric": "iou", "estimate": 0.5}))
    data = ss.save_figure(figure + p9.labs(title="Overlap"), tmp_path / "f.pdf").read_bytes()
    assert b"/Title (Overlap)" in data


@pytest.mark.parametrize(("width", "journal", "mm"), [("single", "nature", 89), ("double", "springer", 174)])
def test_a_width_by_name_is_that_of_the_columns_of_a_journal(tmp_path, width, journal, mm):
    file = ss.save_figure(intervals(2), tmp_path / "f.png", width=width, journal=journal, dpi=100)
    with Image.open(file) as image:
        assert image.width == pytest.approx(mm / 25.4 * 100, abs=PIXEL)


def test_an_unknown_width_or_journal_is_an_error(figure, tmp_path):
    with raises(ValueRangeError, option="width", value="half", choices=("single", "double")):
        ss.save_figure(figure, tmp_path / "f.png", width="half")
    with raises(ValueRangeError, option="journal", value="naturre", choices=tuple(COLUMNS_MM)):
        ss.save_figure(figure, tmp_path / "f.png", width="single", journal="naturre")
    with raises(ValueRangeError, option="journal", value="naturre"):
        ss.save_figure(figure, tmp_path / "f.png", width=89, journal="naturre")


def test_the_caption_stands_beside_the_figure_once_for_all_formats(tmp_path):
    figure = intervals(2)
    ss.save_figure(figure, tmp_path / "f.png", dpi=50)
    text = tmp_path / "f.txt"
    assert text.read_text(encoding="utf-8") == f"{figure.caption()}\n"
    ss.save_figure(figure, tmp_path / "f.pdf")
    text.write_text("mine")
    with raises(InputFileError, option="overwrite", path=text):
        ss.save_figure(figure, tmp_path / "f.svg")
    assert text.read_text() == "mine"
    assert not (tmp_path / "f.svg").exists()


def test_a_caption_is_in_the_figure_where_asked_and_makes_it_higher(tmp_path):
    heights = {}
    for caption in (False, True):
        name = tmp_path / f"{caption}.png"
        with Image.open(ss.save_figure(paged().pages[1], name, dpi=100, caption=caption)) as image:
            heights[caption] = image.height
    assert heights[True] > heights[False] + 5
    assert [file.name for file in tmp_path.glob("*.txt")] == ["False.txt"]


def test_the_letter_of_a_part_is_text_in_the_upper_left_corner(tmp_path):
    root = ElementTree.parse(ss.save_figure(intervals(2), tmp_path / "f.svg", tag="b")).getroot()
    (letter,) = [node for node in root.iter() if node.tag.endswith("}text") and node.text == "b"]
    place = letter.get("transform") or f"{letter.get('x')} {letter.get('y')}"
    x, y = re.search(r"([\d.]+) ([\d.]+)", place).groups()
    assert float(x) < 10 * POINTS_PER_MM
    assert float(y) < 10 * POINTS_PER_MM


def test_default_size_is_the_figures_own(figure, tmp_path):
    file = ss.save_figure(figure + figure_size(50, 40), tmp_path / "f.png", dpi=254)
    with Image.open(file) as image:
        assert image.size == pytest.approx((500, 400), abs=PIXEL)


def test_same_figure_gives_the_same_bytes(figure, tmp_path):
    for suffix in ("pdf", "svg"):
        one, two = (ss.save_figure(figure, tmp_path / f"{i}.{suffix}", width=89, height=60) for i in (1, 2))
        assert one.read_bytes() == two.read_bytes()


def test_a_colour_bar_is_as_large_behind_a_pdf_as_alone(tmp_path):
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0], "z": [0.0, 1.0]})
    figure = p9.ggplot(frame, p9.aes("x", "y", color="z")) + p9.geom_point() + theme_salstats()
    save_figure_as(figure, [tmp_path / "alone.png"], (3, 2))
    save_figure_as(figure, [tmp_path / "a.pdf", tmp_path / "behind.png"], (3, 2))
    with Image.open(tmp_path / "alone.png") as alone, Image.open(tmp_path / "behind.png") as behind:
        differ = np.asarray(alone) != np.asarray(behind)
    # a bar of another size changes 5 % of the pixels; Matplotlib 3.10 rounds one of them in another way
    assert differ.mean() < 1e-4


def test_an_existing_file_is_replaced_only_when_asked(figure, tmp_path):
    file = tmp_path / "f.png"
    file.write_text("mine")
    with raises(InputFileError, option="overwrite", path=file):
        ss.save_figure(figure, file)
    assert file.read_text() == "mine"
    ss.save_figure(figure, file, overwrite=True)
    assert file.read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_written_is_said_and_nothing_is_left(figure, tmp_path):
    with raises(InputFileError, path=tmp_path / "f.jpg", choices=tuple(FIGURE_SUFFIXES)):
        ss.save_figure(figure, tmp_path / "f.jpg")
    with raises(InputFileError, path=tmp_path / "no" / "f.png", choices=()):
        ss.save_figure(figure, tmp_path / "no" / "f.png")
    with raises(ValueRangeError, option="unit", value="px"):
        ss.save_figure(figure, tmp_path / "f.png", width=89, unit="px")
    with raises(SalstatsError, option="width", value=89, hint="check unit"):
        ss.save_figure(figure, tmp_path / "f.png", width=89, unit="in")
    with raises(SalstatsError, option="height", value=0):
        ss.save_figure(figure, tmp_path / "f.png", height=0)
    with raises(SalstatsError, option="figure"):
        ss.save_figure("figure", tmp_path / "f.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "suffix",
    [pytest.param(s, marks=() if s in (".pdf", ".png") else pytest.mark.slow) for s in FIGURE_SUFFIXES],
)
def test_a_full_disk_is_said_once_and_leaves_no_file(figure, tmp_path, suffix, capfd):
    with full_disk(500), raises(InputFileError, path=tmp_path / f"f{suffix}") as caught:
        ss.save_figure(figure, tmp_path / f"f{suffix}", width=40, height=40, dpi=50)
    assert caught.value.__cause__.errno == errno.EFBIG
    # the error holds the frames of the call
    del caught
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def intervals(n_tasks):
    """A figure with a row for each task."""
    tasks = [f"Task {i}" for i in range(n_tasks)]
    return ss.plot_intervals(pd.DataFrame({"task": tasks, "metric": "iou", "estimate": 0.5}))


def paged():
    """A figure of two pages."""
    return intervals(60)


def test_a_page_that_cannot_be_drawn_leaves_none_and_a_page_has_the_width_asked_for(tmp_path):
    figure = paged()
    first, second = figure.pages
    with Image.open(ss.save_figure(second, tmp_path / "f.png", width=60, dpi=100)) as image:
        assert image.width == pytest.approx(60 / 25.4 * 100, abs=PIXEL)
    second += p9.geom_point(p9.aes(x="nothing"))
    with pytest.raises(p9.exceptions.PlotnineError):
        ss.save_figure(first, tmp_path / "g.png")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["f.png", "f.txt"]


def test_a_figure_higher_than_a_page_has_a_file_for_each_page_which_a_warning_names(tmp_path, monkeypatch):
    figure = paged()
    # a page is drawn by other tests
    drawn = "salstats.display.export.figure_files._file_contents"
    monkeypatch.setattr(drawn, lambda page, files, *options: [(files[0], b"page")])
    names = ("fig.png", *(f"fig-{number}.png" for number in range(2, len(figure.pages) + 1)))
    with warns(option="path", value=names):
        assert ss.save_figure(figure, tmp_path / "fig.png") == tmp_path / "fig.png"
    assert {file.name for file in tmp_path.glob("*.png")} == set(names)


@pytest.mark.slow
def test_what_a_figure_was_made_of_need_not_reach_the_process_that_draws_it(tmp_path):
    labels = Labels({"task": {"Task 1": "First"}})
    labels.lock = threading.Lock()
    with FigureJobs(2) as work:
        work.add(
            ss.plot_intervals(pd.DataFrame({"task": ["a"], "estimate": [0.5]}), labels=labels),
            [tmp_path / "0.png"],
        )
        work.finish_and_list_warnings()
    assert [f.name for f in tmp_path.iterdir()] == ["0.png"]


class ThreadRecorder:
    """An object that lists the threads by which it is pickled."""

    threads: ClassVar[list[threading.Thread]] = []

    def __reduce__(self):
        self.threads.append(threading.current_thread())
        return ThreadRecorder, ()


def test_figures_are_pickled_before_anything_that_they_share_can_change(tmp_path):
    figure = drawing()
    figure.recorder = ThreadRecorder()
    with FigureJobs(2) as work:
        work.add(figure, [tmp_path / "0.png"])
        assert ThreadRecorder.threads == [threading.current_thread()]
        work.finish_and_list_warnings()
    assert (tmp_path / "0.png").exists()
    assert ThreadRecorder.threads == [threading.current_thread()]


@pytest.mark.slow
def test_figures_are_the_same_wherever_they_are_drawn_also_where_the_folder_has_changed(
    tmp_path, monkeypatch
):
    # a small container has neither, by which the library ends processes
    monkeypatch.setattr("loky.backend.utils.psutil", None)
    monkeypatch.setenv("PATH", "")
    with FigureJobs(2) as work:
        monkeypatch.chdir(tmp_path)
        for i in range(2):  # one in the other process, one in this
            work.add(drawing(), [Path(f"{i}.png"), Path(f"{i}.pdf")])
        assert work.finish_and_list_warnings() == []
        # a process that needs memory for one large figure has no leak, and is not started anew
        allowed_growth = work._pool.submit(os.getenv, "LOKY_MAX_MEMORY_LEAK_SIZE").result()
        assert float(allowed_growth) > 1e12
    for suffix in ("png", "pdf"):
        assert Path(f"0.{suffix}").read_bytes() == Path(f"1.{suffix}").read_bytes()


def test_characters_that_no_font_has_are_a_warning_that_names_them(tmp_path):
    with warns(value="\U0001f9e0"):
        ss.save_figure(drawing(title="a \U0001f9e0"), tmp_path / "f.png")


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_drawing_warns_of_is_returned_once(tmp_path, jobs):
    with FigureJobs(jobs) as work, warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(2):
            work.add(drawing(title="\U0001f9e0"), [tmp_path / f"{i}.png"])
        (text,) = work.finish_and_list_warnings()
    assert "\U0001f9e0" in text


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_figure_that_cannot_be_drawn_raises_and_leaves_nothing(tmp_path, jobs):
    with FigureJobs(jobs) as work:
        work.add(drawing(x="nothing"), [tmp_path / "0.png"])
        with pytest.raises(p9.exceptions.PlotnineError):
            work.finish_and_list_warnings()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_each_figure_counts_as_one_also_where_it_cannot_be_drawn(tmp_path, jobs):
    counts = []
    failures = []
    with FigureJobs(jobs) as work:
        for i, x in enumerate(["x", "nothing", "nothing", "x"]):
            work.add(drawing(x=x), [tmp_path / f"{i}.png"])
        work.finish_and_list_warnings(counts.append, on_error=lambda *error: failures.append(error))
    assert counts == [1, 1, 1, 1]
    assert sorted(targets for targets, _ in failures) == [[tmp_path / "1.png"], [tmp_path / "2.png"]]
    assert all(isinstance(error, p9.exceptions.PlotnineError) for _, error in failures)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0.png", "3.png"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals that kill on this system")
def test_a_process_that_is_killed_costs_nothing_but_time(tmp_path):
    others = set(multiprocessing.active_children())
    with FigureJobs(2) as work:
        (worker,) = set(multiprocessing.active_children()) - others
        os.kill(worker.pid, signal.SIGKILL)
        for i in range(2):
            work.add(drawing(), [tmp_path / f"{i}.png"])
        work.finish_and_list_warnings()
    assert sorted(f.name for f in tmp_path.iterdir()) == ["0.png", "1.png"]


def test_a_process_that_may_have_none_draws_itself(tmp_path, monkeypatch):
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    with FigureJobs(2) as work:
        work.add(drawing(), [tmp_path / "0.png"])
        work.finish_and_list_warnings()
    assert [f.name for f in tmp_path.iterdir()] == ["0.png"]

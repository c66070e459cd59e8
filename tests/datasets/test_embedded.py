"""Embedded data are what their README says; fetched data are checked, whole or absent."""

import hashlib
import http.server
import importlib.util
import re
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.datasets import embedded as datasets
from salstats.errors import InputFileError, ValueRangeError
from salstats.frames import check_scores
from salstats.readers.lanfredi2021 import SHEETS, read_lanfredi2021, read_lanfredi2021_mean_auc_by_network

ROOT = Path(__file__).resolve().parents[2]


class CountingHandler(http.server.SimpleHTTPRequestHandler):
    """Serve files in silence and remember what was asked for."""

    def do_GET(self):
        self.server.asked.append(self.path)
        super().do_GET()

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch) -> Iterator[http.server.ThreadingHTTPServer]:
    """A server on this machine with three files in the workbooks' place; `folder` may be tampered with."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "served"
    folder.mkdir()
    checksums = {}
    for name in datasets.LANFREDI2021_SHA256:
        content = f"in the place of {name}".encode()
        (folder / name).write_bytes(content)
        checksums[name] = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(datasets, "LANFREDI2021_SHA256", checksums)
    handler = partial(CountingHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        running.asked, running.folder = [], folder
        running.url = f"http://127.0.0.1:{running.server_port}/"
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_readme_lists_every_file_with_its_checksum():
    folder = datasets.data_folder()
    listed = dict(
        re.findall(r"^\| `([^`]+)` .*\| ([0-9a-f]{64}) \|$", (folder / "README.md").read_text(), re.MULTILINE)
    )
    files = {str(f.relative_to(folder)): f for f in folder.rglob("*") if f.is_file() and f.suffix != ".md"}
    # weights and examples of the digits study stand in its own list, see test_digits_data.py
    own = ("digits/weights/", "digits/examples/")
    assert set(listed) == {name for name in files if not name.startswith(own)}
    for name in listed:
        assert hashlib.sha256(files[name].read_bytes()).hexdigest() == listed[name], name


def test_simulated_scores_are_what_their_script_makes_and_never_written_over_a_file(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("make", ROOT / "analyses" / "make_simulated_scores.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    made = tmp_path / "scores.csv"
    assert script.main(["-o", str(made)]) == 0
    assert made.read_bytes() == (datasets.data_folder() / "simulated_scores.csv").read_bytes()
    made.write_text("mine")
    assert script.main(["-o", str(made)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert made.read_text() == "mine"


def test_load_simulated_is_the_simulation_but_for_rounding():
    scores = ss.datasets.load_simulated()
    check_scores(scores)
    drawn = ss.simulate_scores(rng=2022)
    keys = ["case", "patient", "task", "method", "metric"]
    pd.testing.assert_frame_equal(scores[keys], drawn[keys])
    # half a unit of the last decimal stored
    for column, half in (("score", 5e-5), ("prob", 5e-4), ("area_ratio", 5e-4), ("elongation", 5e-3)):
        assert (scores[column].isna() == drawn[column].isna()).all()
        assert np.nanmax(np.abs(scores[column] - drawn[column])) <= half * (1 + 1e-9)


@pytest.mark.parametrize("sheet", SHEETS)
def test_embedded_scores_of_the_gaze_study_are_those_of_its_workbooks_to_the_last_bit(shared, sheet):
    of_workbook = read_lanfredi2021(shared / "data" / "lanfredi2021", sheet=sheet)
    embedded = ss.datasets.load_lanfredi2021(sheet=sheet)
    check_scores(embedded)
    pd.testing.assert_frame_equal(embedded, of_workbook, check_exact=True)


def test_all_sheets_of_the_gaze_study_follow_each_other_with_their_name_as_the_dataset():
    frame = ss.datasets.load_lanfredi2021(sheet=None)
    assert frame.index.equals(pd.RangeIndex(len(frame)))
    assert frame["dataset"].drop_duplicates().tolist() == list(SHEETS)
    for sheet in SHEETS:
        rows = frame[frame["dataset"] == sheet].reset_index(drop=True)
        own = ss.datasets.load_lanfredi2021(sheet=sheet)
        pd.testing.assert_frame_equal(rows[own.columns], own, check_exact=True, check_dtype=False)


def test_embedded_networks_of_the_gaze_study_are_those_of_its_workbook(shared):
    of_workbook = read_lanfredi2021_mean_auc_by_network(shared / "data" / "lanfredi2021")
    embedded = ss.datasets.load_lanfredi2021_classification()
    pd.testing.assert_frame_equal(embedded, of_workbook, check_exact=True)


def test_embedded_scores_of_the_gaze_study_stay_below_a_megabyte_with_their_licence():
    folder = datasets.data_folder() / "lanfredi2021"
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1_000_000
    assert "Copyright (c) 2021 Ricardo Bigolin Lanfredi" in (folder / "LICENSE").read_text()


def test_another_sheet_of_the_gaze_study_is_an_error_that_names_the_sheets_there_are():
    with raises(ValueRangeError, option="sheet", choices=tuple(SHEETS)):
        ss.datasets.load_lanfredi2021(sheet="summary")


def read_printed(file, sheet):
    """The published rows of a workbook: label, mean, SD, n, standard error."""
    rows = pd.read_excel(file, sheet_name=sheet, header=None).dropna(axis=1, how="all").iloc[3:]
    return rows.reset_index(drop=True)


# of means of at most 59 numbers of size 1, summed in another order
ORDER_OF_SUMS = 1e-14


@pytest.mark.filterwarnings("ignore:no t limits", "ignore:limits rest on")
@pytest.mark.parametrize(
    ("phase", "ellipses", "boxes"),
    [
        (1, "paper_numbers_ellipse_iou", "paper_number_chest_bounding_box"),
        (2, "paper_values_ellipse_iou", "paper_values_chest_bounding_box"),
    ],
)
def test_published_means_of_readers_overlap_come_out(shared, phase, ellipses, boxes):
    file = shared / "data" / "reflacx" / f"interrater_phase_{phase}.xlsx"
    scores = ss.datasets.load_reflacx()
    check_scores(scores)
    own = scores[(scores["phase"] == phase) & (scores["metric"] == "iou")]
    found = ss.summarize(own, by="task", unit="case", interval="t").set_index("task")
    printed = read_printed(file, ellipses).set_axis(["task", "mean", "sd", "n", "std_error"], axis=1)
    box = read_printed(file, boxes).set_axis(["mean", "sd", "n", "std_error"], axis=1)
    printed = pd.concat([printed, box.assign(task="Chest box")])
    printed = printed[printed["task"].isin(own["task"])]
    assert len(printed) == len(found)
    found = found.loc[printed["task"]]
    assert (found["n"].to_numpy() == printed["n"].to_numpy()).all()
    for ours, theirs in (("estimate", "mean"), ("std_error", "std_error")):
        values = printed[theirs].to_numpy(dtype=float)
        np.testing.assert_allclose(found[ours], values, rtol=0, atol=ORDER_OF_SUMS)


@pytest.mark.parametrize(("method", "file"), [("gaze", "ncc_et"), ("mean_gaze", "ncc_baseline")])
def test_published_means_of_gaze_on_own_ellipses_come_out(shared, method, file):
    workbook = shared / "data" / "reflacx" / f"{file}.xlsx"
    mean, _, n, std_error = read_printed(workbook, "paper_numbers").iloc[0]
    scores = ss.datasets.load_reflacx().query("metric == 'ncc'")
    found = ss.summarize(scores, by="method", unit="case").set_index("method").loc[method]
    assert found["n"] == n
    np.testing.assert_allclose(found[["estimate", "std_error"]].astype(float), [mean, std_error], rtol=1e-13)


def test_published_tables_are_the_shared_ones(shared):
    for name in datasets.published_names():
        file = f"{name}.csv"
        carried = (datasets.data_folder() / "published" / file).read_bytes()
        assert carried == (shared / "data" / "published" / file).read_bytes()


def test_an_unknown_published_name_is_answered_with_the_names_there_are():
    with raises(ValueRangeError, option="name", choices=tuple(datasets.published_names())):
        datasets.load_published("lanfredi")


def test_checksums_of_what_is_fetched_are_those_of_the_workbooks(shared):
    for name, sha256 in datasets.LANFREDI2021_SHA256.items():
        workbook = shared / "data" / "lanfredi2021" / name
        assert hashlib.sha256(workbook.read_bytes()).hexdigest() == sha256


def test_fetch_brings_the_three_workbooks_once_into_the_cache_unless_told(server, tmp_path, monkeypatch):
    import pooch

    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    folder = datasets.fetch_lanfredi2021(base_url=server.url.rstrip("/"))
    assert folder.parent == tmp_path / "cache" / "salstats"
    for name, sha256 in datasets.LANFREDI2021_SHA256.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha256
    assert sorted(f.name for f in folder.iterdir()) == sorted(datasets.LANFREDI2021_SHA256)
    assert len(server.asked) == 3
    damaged = folder / next(iter(datasets.LANFREDI2021_SHA256))
    damaged.write_text("half a file")
    assert datasets.fetch_lanfredi2021(folder, base_url=server.url) == folder
    assert len(server.asked) == 4
    assert damaged.read_bytes() == (server.folder / damaged.name).read_bytes()


def test_a_tampered_workbook_is_refused_and_leaves_nothing(server, tmp_path):
    name = "normal_abnormal_separated.xlsx"
    with (server.folder / name).open("ab") as file:
        file.write(b"!")
    with raises(InputFileError, path=tmp_path / "out" / name, match="checksum") as caught:
        datasets.fetch_lanfredi2021(tmp_path / "out", base_url=server.url)
    # pooch's error of another checksum
    assert type(caught.value.__cause__) is ValueError
    assert "\n" not in str(caught.value)
    assert [f.name for f in (tmp_path / "out").iterdir()] == [next(iter(datasets.LANFREDI2021_SHA256))]


def test_a_workbook_the_server_lacks_is_named(server, tmp_path):
    name = next(iter(datasets.LANFREDI2021_SHA256))
    (server.folder / name).unlink()
    with raises(InputFileError, path=tmp_path / "out" / name) as caught:
        datasets.fetch_lanfredi2021(tmp_path / "out", base_url=server.url)
    assert caught.value.__cause__.response.status_code == 404
    assert list((tmp_path / "out").iterdir()) == []


def test_a_failed_download_leaves_no_socket_open(server, tmp_path):
    (server.folder / next(iter(datasets.LANFREDI2021_SHA256))).unlink()
    with pytest.raises(InputFileError) as caught:
        datasets.fetch_lanfredi2021(tmp_path / "out", base_url=server.url)
    assert caught.value.__cause__.response.raw.closed


def test_a_server_that_is_not_there_is_said_so(server, tmp_path):
    url = server.url
    server.shutdown()
    server.server_close()
    name = next(iter(datasets.LANFREDI2021_SHA256))
    with raises(InputFileError, path=tmp_path / "out" / name) as caught:
        datasets.fetch_lanfredi2021(tmp_path / "out", base_url=url)
    # an error of requests that has no answer of a server
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.response is None

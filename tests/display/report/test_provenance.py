"""What a report was made from: digests, settings, versions, and nothing of the machine."""

import getpass
import hashlib
import platform
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report_frames import SETTINGS

import salstats as ss
from salstats.checks import InputFileError
from salstats.display.report.provenance import file_digest, frame_digest, provenance_rows, versions


@pytest.fixture
def small():
    """Text that needs quotes and other alphabets, and numbers of full precision."""
    return pd.DataFrame({"case": ["a,b", 'é"β', None], "score": [1 / 3, np.nan, 2.0], "n": [1, 2, 3]})


def test_file_digest_is_sha256_also_of_a_file_read_in_pieces(tmp_path):
    # FIPS 180-2, appendix B.1
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_digest(tmp_path / "abc") == abc
    large = bytes(range(256)) * 10_000
    (tmp_path / "large").write_bytes(large)
    assert file_digest(tmp_path / "large") == hashlib.sha256(large).hexdigest()


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputFileError, match=r"cannot read .*none\.csv: No such file"):
        file_digest(tmp_path / "none.csv")


def test_frame_digest_is_that_of_the_csv_that_write_frame_writes(tmp_path, small):
    ss.write_frame(small, tmp_path / "small.csv")
    assert frame_digest(small) == file_digest(tmp_path / "small.csv")


def test_frame_digest_sees_every_value_and_the_order_but_not_the_index(small):
    assert frame_digest(small) == frame_digest(small.set_axis([7, 8, 9]))
    changed = [
        small.iloc[::-1],
        small.assign(score=np.nextafter(small["score"], 1)),
        small.rename(columns={"n": "m"}),
    ]
    assert len({frame_digest(small), *map(frame_digest, changed)}) == 4


def test_versions_name_everything_the_report_rests_on():
    found = versions()
    assert found["salstats"] == ss.__version__
    assert found["Python"] == platform.python_version()
    assert {"numpy", "pandas", "scipy", "statsmodels", "plotnine", "great-tables", "matplotlib"} <= set(found)
    assert all(number[0].isdigit() for number in found.values())


def test_inputs_are_named_without_their_folders(tmp_path, small):
    path = tmp_path / "scores.csv"
    path.write_bytes(b"abc")
    rows = provenance_rows(SETTINGS, [path], small)
    assert rows[0] == ("Input", "scores.csv")
    assert rows[1] == ("SHA-256 of scores.csv", file_digest(path))
    assert str(tmp_path) not in str(rows)


def test_two_inputs_of_one_name_stay_two_rows(tmp_path, small):
    paths = []
    for folder, content in (("a", b"abc"), ("b", b"abd")):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "scores.csv")
        paths[-1].write_bytes(content)
    rows = dict(provenance_rows(SETTINGS, paths, small))
    assert rows["Input"] == "scores.csv (1) and scores.csv (2)"
    assert rows["SHA-256 of scores.csv (1)"] != rows["SHA-256 of scores.csv (2)"]


def test_without_a_file_the_digest_is_of_the_frame_and_says_so(small):
    rows = dict(provenance_rows(SETTINGS, [], small))
    assert rows["Input"] == "scores given as a data frame"
    assert rows["SHA-256 of the scores as CSV"] == frame_digest(small)


def test_settings_stand_in_the_rows(small):
    settings = replace(SETTINGS, n_replicates=10_000, seed=42, adjust="BH", covariates=("age", "prob_2"))
    rows = dict(provenance_rows(settings, [], small, {"dataset": "chexpert"}))
    assert rows["Rows used"] == "dataset = chexpert"
    assert rows["Number of rows"] == "3"
    assert rows["Reference"] == "human"
    assert rows["Unit of resampling and of clusters"] == "patient"
    assert rows["Bootstrap replicates"] == "10,000"
    assert rows["Seed"] == "42"
    assert rows["Adjustment for multiple tests"] == "Benjamini-Hochberg"
    assert rows["Covariates"] == "age and prob_2"
    bare = dict(provenance_rows(replace(SETTINGS, reference=None, adjust="none", covariates=()), [], small))
    assert (bare["Reference"], bare["Adjustment for multiple tests"], bare["Covariates"]) == ("none",) * 3
    assert "Rows used" not in bare


def test_names_are_unique_and_the_same_input_gives_the_same_rows(small):
    rows = provenance_rows(SETTINGS, [], small)
    assert len({name for name, _ in rows}) == len(rows)
    assert rows == provenance_rows(SETTINGS, [], small.copy())


def test_nothing_tells_the_machine_the_user_or_the_time(small):
    text = str(provenance_rows(SETTINGS, [], small))
    for private in (platform.node(), str(Path.home()), str(Path.cwd())):
        assert not private or private not in text
    assert getpass.getuser() not in text.split()
    assert "Made" not in text


def test_the_time_stands_there_where_it_is_asked_for(small):
    rows = dict(provenance_rows(SETTINGS, [], small, when=datetime(2026, 11, 20, 9, 5, 7)))
    assert rows["Made"] == "2026-11-20 09:05:07"

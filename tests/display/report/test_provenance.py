"""What a report was made from: digests, settings, versions, and nothing of the machine."""

import getpass
import hashlib
import platform
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report_frames import SETTINGS
from tests_support import raises

import salstats as ss
from salstats.display.report.provenance import file_digest, frame_digest, provenance_rows_without_date
from salstats.display.report.wording import Wording
from salstats.display.text.labels import Labels
from salstats.errors import InputFileError


@pytest.fixture
def small():
    """Text that needs quotes and other alphabets, and numbers of full precision."""
    return pd.DataFrame({"case": ["a,b", 'é"β', None], "score": [1 / 3, np.nan, 2.0], "n": [1, 2, 3]})


def words(**chosen):
    return Wording(replace(SETTINGS, **chosen), Labels())


def test_file_digest_is_sha256(tmp_path):
    # FIPS 180-2, appendix B.1
    (tmp_path / "abc").write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_digest(tmp_path / "abc") == expected
    with raises(InputFileError, path=tmp_path / "none.csv") as caught:
        file_digest(tmp_path / "none.csv")
    assert type(caught.value.__cause__) is FileNotFoundError


def test_frame_digest_is_that_of_the_csv_that_write_frame_writes(tmp_path, small):
    ss.write_frame(small, tmp_path / "small.csv")
    written = hashlib.sha256((tmp_path / "small.csv").read_bytes()).hexdigest()
    assert frame_digest(small) == frame_digest(small.set_axis([7, 8, 9])) == written
    assert frame_digest(small.assign(score=np.nextafter(small["score"], 1))) != written


def test_two_inputs_of_one_name_stay_two_rows_without_their_folders(tmp_path, small):
    paths = []
    for folder, content in (("a", b"abc"), ("b", b"abd")):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "scores.csv")
        paths[-1].write_bytes(content)
    rows = dict(provenance_rows_without_date(words(inputs=paths), small))
    assert rows["Input"] == "scores.csv (1) and scores.csv (2)"
    assert rows["SHA-256 of scores.csv (1)"] == file_digest(paths[0])
    assert rows["SHA-256 of scores.csv (1)"] != rows["SHA-256 of scores.csv (2)"]
    assert str(tmp_path) not in str(rows)
    # a third file is called as the first of these would be
    paths.append(tmp_path / "scores.csv (1)")
    paths[-1].write_bytes(b"abe")
    rows = dict(provenance_rows_without_date(words(inputs=paths), small))
    digests = {digest for name, digest in rows.items() if name.startswith("SHA-256")}
    assert digests == {file_digest(path) for path in paths}


def test_without_a_file_the_digest_is_of_the_frame_and_says_so(small):
    rows = dict(provenance_rows_without_date(words(), small))
    assert rows["Input"] == "scores given as a data frame"
    assert rows["SHA-256 of the scores as CSV"] == frame_digest(small)


def test_settings_and_versions_stand_in_the_rows(small):
    chosen = {"adjust": "BH", "covariates": ("age", "prob_2"), "only": {"dataset": "chexpert"}}
    rows = dict(provenance_rows_without_date(words(n_replicates=10_000, seed=42, **chosen), small))
    expected = {
        "Rows used": "Dataset = chexpert", "Number of rows": "3", "Reference": "Human benchmark",
        "Unit of resampling and of clusters": "patient", "Bootstrap replicates, or flips": "10,000",
        "Seed": "42",
        "Adjustment for multiple tests": "Benjamini-Hochberg", "Covariates": "Age and Prob 2",
        "Version of salstats": ss.__version__, "Version of Python": platform.python_version(),
    }  # fmt: skip
    assert expected.items() <= rows.items()
    for name in ("numpy", "pandas", "scipy", "statsmodels", "plotnine", "great-tables", "matplotlib"):
        assert rows[f"Version of {name}"][0].isdigit()
    assert rows["Test of contrasts"] == "that of the interval"
    assert (
        dict(provenance_rows_without_date(words(test="wilcoxon"), small))["Test of contrasts"] == "wilcoxon"
    )
    bare = dict(provenance_rows_without_date(words(reference=None, adjust="none", covariates=()), small))
    assert (bare["Reference"], bare["Adjustment for multiple tests"], bare["Covariates"]) == ("none",) * 3
    assert "Rows used" not in bare
    assert "Weights" not in bare
    assert "Margin of differences" not in bare
    assert bare["Interval of means and contrasts"] == "recommended"
    other = words(margin=(-0.1, None), weights="unit", interval="t", style="ama", level=0.9)
    assert {
        "Margin of differences": "(-0.1, None)", "Weights": "unit", "Style of numbers": "ama",
        "Interval of means and contrasts": "t", "Confidence level": "90%",
    }.items() <= dict(provenance_rows_without_date(other, small)).items()  # fmt: skip


def test_nothing_tells_the_machine_the_user_or_the_time(small):
    rows = provenance_rows_without_date(words(), small)
    assert rows == provenance_rows_without_date(words(), small.copy())
    for private in (platform.node(), str(Path.home()), str(Path.cwd())):
        assert not private or private not in str(rows)
    assert getpass.getuser() not in str(rows).split()
    assert "Made" not in dict(rows)

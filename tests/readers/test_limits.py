"""What is too large, too long or damaged is refused or done in pieces; nothing hangs or fills the memory."""

import zipfile

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.checks import FormulaError, InputFileError, SalstatsError, SalstatsWarning, ValueRangeError
from salstats.cli.app import run
from salstats.stats import draws as resampling
from salstats.stats.models import covariance


def study(n_cases=60, **columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "case": np.repeat([f"c{i:05d}" for i in range(n_cases)], 2),
            "method": ["gradcam", "human"] * n_cases,
            "metric": "iou",
            "score": rng.random(2 * n_cases),
            "size": np.repeat(rng.random(n_cases), 2),
            **columns,
        }
    )


def test_degrees_of_freedom_of_many_clusters_equal_the_matrix_written_out(synth1, monkeypatch):
    options = {"by": "task", "errors": "cr2", "unit": "patient"}
    formula = "iou ~ n_instances + area_ratio + elongation"
    direct = ss.regress(synth1, formula, **options)
    monkeypatch.setattr(covariance, "_DIRECT", 0)
    # two orders of the same sums
    pd.testing.assert_frame_equal(ss.regress(synth1, formula, **options), direct, rtol=1e-9)


def test_sign_flips_in_blocks_are_those_at_once(monkeypatch):
    options = {"reference": "human", "test": "signflip", "n_replicates": 300}
    whole = ss.difference(study(), **options)
    monkeypatch.setattr(resampling, "_BLOCK_ROWS", 1)
    monkeypatch.setattr(resampling, "_BLOCK_CELLS", 60 * 64)
    pd.testing.assert_frame_equal(ss.difference(study(), **options), whole)


def test_bootstrap_t_in_small_blocks_is_the_one_at_once(monkeypatch):
    whole = ss.summarize(study(), interval="studentized", n_replicates=150)
    monkeypatch.setattr(resampling, "_BLOCK_ROWS", 1)
    monkeypatch.setattr(resampling, "_BLOCK_CELLS", 60 * 7)
    small = ss.summarize(study(), interval="studentized", n_replicates=150)
    pd.testing.assert_frame_equal(small, whole, rtol=1e-12)


def test_groups_times_units_beyond_memory_are_refused():
    with pytest.raises(ValueRangeError, match="group by fewer columns than case"):
        ss.summarize(study(20_000).query("method == 'human'"), by="case")


def test_a_model_matrix_beyond_memory_is_refused():
    names = np.array([f"level{i:04d}" for i in range(1500)])
    table = pd.DataFrame({"y": np.random.default_rng(0).random(90_000), "s": np.resize(names, 90_000)})
    with pytest.raises(FormulaError, match="too large"):
        ss.regress(table, "y ~ s")


def test_a_model_without_a_defined_outcome_says_so_with_text_in_it():
    table = pd.DataFrame({"y": [np.nan] * 6, "s": list("ababab"), "a": np.arange(6.0)})
    with pytest.warns(SalstatsWarning, match="y ~ s"):
        result = ss.regress(table, "y ~ s*a")
    assert result["estimate"].isna().all()


def test_a_row_number_no_sheet_has_does_not_hang(tmp_path):
    frame = pd.DataFrame({"case": ["a", "b"], "method": "g", "metric": "iou", "score": [0.1, 0.2]})
    frame.to_excel(tmp_path / "good.xlsx", index=False)
    with zipfile.ZipFile(tmp_path / "good.xlsx") as good, zipfile.ZipFile(tmp_path / "bad.xlsx", "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b'<row r="3"', b'<row r="9223372036854775807"')
            bad.writestr(name, content)
    with pytest.raises(InputFileError, match="row number beyond what a sheet holds"):
        ss.read_scores(tmp_path / "bad.xlsx")


def test_a_damaged_parquet_file_is_an_error_of_ours_and_seldom_silent(tmp_path):
    file = ss.write_frame(study(400), tmp_path / "scores.parquet")
    whole, content = ss.read_scores(file), file.read_bytes()
    rng = np.random.default_rng(0)
    silent = 0
    for _ in range(150):
        damaged = bytearray(content)
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
        (tmp_path / "damaged.parquet").write_bytes(bytes(damaged))
        try:
            read = ss.read_scores(tmp_path / "damaged.parquet")
        except SalstatsError:
            continue
        silent += not read.equals(whole)
    # page checksums see what is in the pages; without them two flips of three change numbers in silence
    assert silent <= 3


def test_no_memory_is_one_line(monkeypatch, tmp_path, capsys):
    def fail(*args, **kwargs):
        raise MemoryError("Unable to allocate 7 TiB")

    study().to_csv(tmp_path / "scores.csv", index=False)
    monkeypatch.setattr(ss, "summarize", fail, raising=False)
    assert run(["summarize", str(tmp_path / "scores.csv")]) == 2
    assert capsys.readouterr().err.startswith("salstats: error: not enough memory for this (Unable")


def test_a_link_that_leads_nowhere_is_not_replaced(tmp_path):
    (tmp_path / "means.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(InputFileError, match="the file exists"):
        ss.write_frame(study(), tmp_path / "means.csv")
    assert (tmp_path / "means.csv").is_symlink()


@pytest.mark.parametrize("encoding", ["undefined", "rot13", "\ud800"])
def test_odd_encodings_are_errors_of_ours(tmp_path, encoding):
    study().to_csv(tmp_path / "scores.csv", index=False)
    with pytest.raises(InputFileError, match=r"encoding|is not"):
        ss.read_scores(tmp_path / "scores.csv", encoding=encoding)

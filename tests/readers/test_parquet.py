"""Parquet files: every encoding of text is read, and what unpacks to too much is refused."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, InputFileError, SalstatsError
from salstats.files.frame_files import write_frame
from salstats.memory_limit import LIMIT_VARIABLE

N_ROWS = 3000
LIMIT_BYTES = 40 * 2**20


def studies():
    """A table of names that share their beginnings."""
    return pa.table(
        {
            "case": [f"patient{i:05d}_view1" for i in range(N_ROWS)],
            "note": ["", *(["seen twice"] * (N_ROWS - 1))],
            "size": np.arange(N_ROWS) / 2,
        }
    )


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_text_in_a_delta_encoding_is_read_as_in_a_dictionary(tmp_path, encoding):
    parquet.write_table(studies(), tmp_path / "plain.parquet")
    parquet.write_table(
        studies(),
        tmp_path / "delta.parquet",
        use_dictionary=False,
        column_encoding={"case": encoding, "note": encoding},
        row_group_size=1000,
    )
    expected = ss.read_data(tmp_path / "plain.parquet")
    assert expected["case"].tolist() == studies()["case"].to_pylist()
    assert ss.read_data(tmp_path / "delta.parquet").equals(expected)


def test_names_of_several_row_groups_are_those_of_one(tmp_path):
    table = pa.table({"case": ["b", "a", "b", "c", "a"], "score": np.arange(5) / 5})
    table = table.append_column("reader", pa.array(["r2", "r1", "r1", None, "r2"]))
    for n_rows in (1, 2, 5):
        parquet.write_table(table, tmp_path / "scores.parquet", row_group_size=n_rows)
        scores = ss.read_scores(tmp_path / "scores.parquet", method="m", metric="iou")
        assert scores["case"].tolist() == ["b", "a", "b", "c", "a"]
        assert scores["reader"].fillna("none").tolist() == ["r2", "r1", "r1", "none", "r2"]


def varint(number, length):
    """A whole number of Thrift's compact protocol, filled up to a length."""
    value = number << 1
    parts = [(value >> 7 * place) & 0x7F | 0x80 for place in range(length)]
    parts[-1] &= 0x7F
    return bytes(parts)


def with_stated_size(file, stated):
    """State another size than the true one in the footer of a file of one column."""
    group = parquet.read_metadata(file).row_group(0)
    content = file.read_bytes()
    for size in {group.total_byte_size, group.column(0).total_uncompressed_size}:
        length = (size.bit_length() + 1 + 6) // 7
        assert varint(size, length) in content
        content = content.replace(varint(size, length), varint(stated, length))
    file.write_bytes(content)


def test_a_stated_size_is_not_believed(tmp_path, monkeypatch):
    texts = pa.array([str(i) + "x" * 1_000_000 for i in range(60)])
    file = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"note": texts}), file, compression="zstd", use_dictionary=False)
    with_stated_size(file, 100)
    assert parquet.read_metadata(file).row_group(0).total_byte_size == 100
    assert file.stat().st_size < 100_000
    monkeypatch.setenv(LIMIT_VARIABLE, str(LIMIT_BYTES / 2**30))
    allocated = pa.total_allocated_bytes()
    monkeypatch.setattr(parquet.ParquetFile, "read", lambda *_: pytest.fail("read"))
    with raises(InputFileError, option=LIMIT_VARIABLE) as caught:
        ss.read_data(file)
    # the texts as they are when they are unpacked
    assert caught.value.value >= 60 * 1_000_000
    assert pa.total_allocated_bytes() - allocated < LIMIT_BYTES


def test_texts_that_share_their_beginnings_are_decoded_only_up_to_the_limit(tmp_path, monkeypatch):
    texts = pa.array(["x" * 1_000_000] * 100)
    file = tmp_path / "a.parquet"
    encoding = {"note": "DELTA_BYTE_ARRAY"}
    parquet.write_table(pa.table({"note": texts}), file, use_dictionary=False, column_encoding=encoding)
    assert parquet.read_metadata(file).row_group(0).total_byte_size < 2_000_000
    monkeypatch.setenv(LIMIT_VARIABLE, str(LIMIT_BYTES / 2**30))
    n_rows = []
    batches = parquet.ParquetFile.iter_batches

    def counted(*arguments, **options):
        for batch in batches(*arguments, **options):
            n_rows.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", counted)
    with raises(InputFileError, option=LIMIT_VARIABLE):
        ss.read_data(file)
    assert sum(n_rows) * 1_000_000 < 1.5 * LIMIT_BYTES


@pytest.mark.parametrize("width", [4, 16])
def test_identifiers_in_bytes_are_refused(parquet_file, width):
    file = parquet_file(patient=pa.array([b"a" * width, b"b" * width], pa.binary(width)))
    with raises(ColumnError, column="patient", rows=(), path=file):
        ss.read_scores(file)


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_identifiers_that_are_all_missing_are_read_as_missing(parquet_file, kind):
    scores = ss.read_scores(parquet_file(seed=pa.array([None, None], pa.string()).cast(kind)))
    assert scores["seed"].isna().all()
    assert scores["seed"].dtype == scores["case"].dtype


def test_line_breaks_and_tabs_of_a_covariate_come_in_and_out_again(parquet_file, tmp_path):
    scores = ss.read_scores(parquet_file(note=pa.array(["one\ntwo", "a\tb"])))
    file = write_frame(scores, tmp_path / "scores_2.csv")
    assert ss.read_scores(file)["note"].tolist() == ["one\ntwo", "a\tb"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        pytest.param(pa.array([7.0, 8.0]), ["7", "8"], id="whole floats"),
        pytest.param(pa.array([2**53 + 1, 1]), ["9007199254740993", "1"], id="large integers"),
        pytest.param(pa.array(["007", "NA"]).dictionary_encode(), ["007", "NA"], id="dictionary"),
        pytest.param(pa.array([Decimal(7), Decimal(8)], pa.decimal128(5, 0)), ["7", "8"], id="decimals"),
    ],
)
def test_parquet_identifiers_are_text(parquet_file, column, expected):
    frame = ss.read_scores(parquet_file(case=column))
    assert frame["case"].tolist() == expected
    assert str(frame["case"].dtype) == "str"


def test_parquet_integers_beside_an_empty_cell_stay_exact(parquet_file):
    frame = ss.read_scores(parquet_file(reader=pa.array([2**53 + 1, None])))
    assert frame["reader"].tolist()[0] == "9007199254740993"
    assert frame["reader"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        pytest.param(pa.array([True, None]), [1.0, np.nan], id="truth values with a gap"),
        pytest.param(pa.array([Decimal("0.50"), None], pa.decimal128(5, 2)), [0.5, np.nan], id="decimals"),
        pytest.param(pa.array([0.5, 0.25], pa.float16()), [0.5, 0.25], id="half precision"),
        pytest.param(pa.array(["0.5", "NA"]), [0.5, np.nan], id="text"),
    ],
)
def test_parquet_scores_are_float64(parquet_file, column, expected):
    score = ss.read_scores(parquet_file(score=column))["score"]
    assert score.dtype == np.float64
    assert np.array_equal(score, expected, equal_nan=True)


#: A cell of a date, as text.
DAY = "2020-01-02 00:00:00"


@pytest.mark.parametrize(
    ("columns", "column", "rows", "value"),
    [
        pytest.param({"box": [[1], [2]]}, "box", (), None, id="list"),
        pytest.param({"case": ["a", None]}, "case", (1,), None, id="empty case"),
        pytest.param({"case": [1.0, 2.0**60]}, "case", (1,), "1.152921504606847e+18", id="large float"),
        pytest.param({"score": [0.5, np.inf]}, "score", (1,), "inf", id="infinite"),
        pytest.param({"score": [datetime.datetime(2020, 1, 2)] * 2}, "score", (0,), DAY, id="time"),
        pytest.param({"case": [datetime.datetime(2020, 1, 2)] * 2}, "case", (0,), DAY, id="date id"),
    ],
)
def test_a_bad_parquet_column_is_named_with_its_row(parquet_file, columns, column, rows, value):
    file = parquet_file(**columns)
    with raises(ColumnError, path=file, column=column, rows=rows, value=value):
        ss.read_scores(file)


def test_row_labels_without_a_name_are_no_column_of_a_parquet_file(tmp_path):
    frame = pd.DataFrame({"case": ["a", "b", "c"], "Edema": 0.5})
    frame.iloc[[2, 0, 1]].to_parquet(tmp_path / "wide.parquet")
    assert "__index_level_0__" in parquet.read_schema(tmp_path / "wide.parquet").names
    scores = ss.read_scores(tmp_path / "wide.parquet", wide="task", method="g", metric="iou")
    assert scores["task"].unique().tolist() == ["Edema"]


def test_a_named_index_is_a_column_of_a_parquet_file(tmp_path):
    pd.DataFrame({"case": ["a"], "x": 0.5}).set_index("case").to_parquet(tmp_path / "x.parquet")
    assert sorted(ss.read_data(tmp_path / "x.parquet").columns) == ["case", "x"]


@pytest.mark.parametrize(("unit", "number"), [("us", 2**62), ("s", 2**50), ("ms", -(2**60))])
def test_a_time_that_no_year_has_is_named_with_its_row(parquet_file, unit, number):
    file = parquet_file(seen=pa.array([0, number], pa.timestamp(unit)))
    hint = "correct it or store the column as text"
    with raises(ColumnError, column="seen", rows=(1,), path=file, hint=hint):
        ss.read_scores(file)


def many_scores(n_cases):
    """Scores of two methods."""
    return pd.DataFrame(
        {
            "case": np.repeat([f"c{i:05d}" for i in range(n_cases)], 2),
            "method": ["gradcam", "human"] * n_cases,
            "metric": "iou",
            "score": np.random.default_rng(0).random(2 * n_cases),
        }
    )


def test_a_damaged_parquet_file_is_an_error_of_ours_and_seldom_silent(tmp_path):
    file = ss.write_frame(many_scores(100), tmp_path / "scores.parquet")
    whole, content = ss.read_scores(file), file.read_bytes()
    rng = np.random.default_rng(0)
    silent = 0
    for _ in range(60):
        damaged = bytearray(content)
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
        (tmp_path / "damaged.parquet").write_bytes(bytes(damaged))
        try:
            read = ss.read_scores(tmp_path / "damaged.parquet")
        except SalstatsError:
            continue
        silent += not read.equals(whole)
    # page checksums see what is in the pages; without them two flips of three change numbers in silence
    assert silent <= 2

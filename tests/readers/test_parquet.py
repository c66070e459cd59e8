"""Parquet files: every encoding of text is read, and what unpacks to too much is refused."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, InputFileError
from salstats.files.frame_files import write_frame
from salstats.memory_limit import LIMIT

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
    monkeypatch.setenv(LIMIT, str(LIMIT_BYTES / 2**30))
    allocated = pa.total_allocated_bytes()
    monkeypatch.setattr(parquet.ParquetFile, "read", lambda *_: pytest.fail("read"))
    with raises(InputFileError, option=LIMIT, match="60 rows of 1 columns"):
        ss.read_data(file)
    assert pa.total_allocated_bytes() - allocated < LIMIT_BYTES


def test_texts_that_share_their_beginnings_are_decoded_only_up_to_the_limit(tmp_path, monkeypatch):
    texts = pa.array(["x" * 1_000_000] * 100)
    file = tmp_path / "a.parquet"
    encoding = {"note": "DELTA_BYTE_ARRAY"}
    parquet.write_table(pa.table({"note": texts}), file, use_dictionary=False, column_encoding=encoding)
    assert parquet.read_metadata(file).row_group(0).total_byte_size < 2_000_000
    monkeypatch.setenv(LIMIT, str(LIMIT_BYTES / 2**30))
    n_rows = []
    batches = parquet.ParquetFile.iter_batches

    def counted(*arguments, **options):
        for batch in batches(*arguments, **options):
            n_rows.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", counted)
    with raises(InputFileError, option=LIMIT, match="100 rows of 1 columns"):
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


@pytest.mark.parametrize("text", ["a\x07b", "a\x1b", "\x85a", "\ufeffa", "a\rb"])
def test_a_control_character_in_a_covariate_is_refused_with_its_row(parquet_file, text):
    file = parquet_file(note=pa.array(["good", text]))
    with raises(ColumnError, column="note", rows=(1,), path=file):
        ss.read_scores(file)


def test_line_breaks_and_tabs_of_a_covariate_come_in_and_out_again(parquet_file, tmp_path):
    scores = ss.read_scores(parquet_file(note=pa.array(["one\ntwo", "a\tb"])))
    file = write_frame(scores, tmp_path / "scores_2.csv")
    assert ss.read_scores(file)["note"].tolist() == ["one\ntwo", "a\tb"]

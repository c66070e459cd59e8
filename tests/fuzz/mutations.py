"""Change valid files where their formats have joints: cells, JSON values, opcodes, chunks, headers, parts."""

import csv
import io
import json
import pickletools
import random
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass

from pyarrow import parquet

#: Numbers and words that readers have to think about, as they stand in a text file.
TOKENS = (
    "",
    "0",
    "-0",
    "1",
    "-1",
    "0.5",
    "1e400",
    "-1e400",
    "1e-400",
    "1e150",
    "2e150",
    "nan",
    "NaN",
    "inf",
    "9007199254740993",
    "-9007199254740993",
    "18446744073709551616",
    "9" * 400,
    "-" + "9" * 400,
    "9" * 5000,
    "0" * 400 + "1",
    "007",
    "1_000",
    "1,5",
    "1.000,5",
    "1e5",
    "1E+16",
    "0x10",
    "٣",
    "½",
    "50%",
    "NA",
    "N/A",
    "null",
    "None",
    "true",
    "True",
    "FALSE",
    "=1+1",
    "#REF!",
    "2020-01-01",
    "12:30",
    "-",
    " a",
    "a ",
    "\u200b",
    "a\u200bb",
    "\ufeff",
    "\x00",
    "\x07",
    "a\x85b",
    "\x7f",
    "\u2028",
    "é",
    "e\u0301",
    "\U0001f600",
    "\ud800",
    "..",
    "../secret.npy",
    "/etc/passwd",
    "~/secret.npy",
    "C:\\a.npy",
    "a\\b.npy",
    "a/b",
    "a\nb",
    "a\r\nb",
    '"',
    '""',
    "a,b",
    "a;b",
    "a\tb",
    "'",
    "{",
    "[]",
    "[1, 2]",
    "[[0, 1], [1, 0]]",
    "x" * 300,
    "x" * 140000,
    "case",
    "task",
    "method",
    "metric",
    "score",
    "human",
    "maps.csv",
    "con.npy",
)
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7", "shift_jis")
#: Names of functions that no reader may call.
_FUNCTIONS = (
    b"cos\nsystem\n",
    b"cposix\nsystem\n",
    b"cbuiltins\neval\n",
    b"cbuiltins\nexec\n",
    b"cbuiltins\nopen\n",
    b"cbuiltins\ngetattr\n",
    b"csubprocess\nPopen\n",
    b"cnumpy\nload\n",
    b"cnumpy.core.multiarray\nscalar\n",
    b"ctorch._utils\n_rebuild_tensor_v2\n",
    b"c_codecs\nencode\n",
    b"ccollections\nOrderedDict\n",
    b"cnumpy\nndarray\n",
    b"cnumpy\ndtype\n",
    b"cnumpy.core.multiarray\n_reconstruct\n",
    b"cnumpy.core.numeric\n_frombuffer\n",
    b"cbuiltins\nbytes\n",
    b"cbuiltins\nset\n",
    b"cbuiltins\ncomplex\n",
)
_OPCODES = (
    b"(",
    b"0",
    b"1",
    b"2",
    b"R",
    b"b",
    b"t",
    b"l",
    b"d",
    b"]",
    b"}",
    b")",
    b"e",
    b"a",
    b"s",
    b"u",
    b"N",
    b".",
    b"\x81",
    b"o",
    b"i",
    b"\x93",
    b"\x91",
    b"\x8f",
    b"\x90",
    b"\x85",
    b"\x86",
    b"\x87",
    b"\x88",
    b"\x94",
    b"Q",
    b"q\x00",
    b"h\x00",
    b"h\x01",
    b"j\xff\xff\xff\x7f",
    b"r\xff\xff\xff\x7f",
    b"\x82\x01",
    b"Pa\n",
    b"Fnan\n",
    b"\x8a\xa8" + b"\x7f" * 168,
    b"\x8b\xff\xff\xff\x7f",
    b"\x8b\x10\x27\x00\x00" + b"\x7f" * 10000,
    b"I" + b"9" * 400 + b"\n",
    b"L" + b"9" * 5000 + b"L\n",
    b"I01\n",
    b"K\x03",
    b"J\xff\xff\xff\xff",
    b"X\xff\xff\xff\x7f",
    b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x96\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"G\x7f\xf0\x00\x00\x00\x00\x00\x00",
    b"G\x7f\xf8\x00\x00\x00\x00\x00\x00",
    b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f",
)


#: Bytes of a page's header that are changed; a header has about so many.
_PAGE_HEADER_BYTES = 24
#: Heads of fields of Thrift's compact protocol (double, binary, list, set, map, struct), the end of a struct,
#: lists with their lengths behind, the first bytes of a large number.
_THRIFT_BYTES = (0x17, 0x18, 0x19, 0x1A, 0x1B, 0x1C, 0x00, 0xF7, 0xF9, 0xFC, 0xFF, 0x80)
#: Fields beyond the end of any file: lists of 2^62 numbers and truth values, a text of 2^62 bytes, lists in
#: lists.
_THRIFT_FIELDS = (
    b"\x19\xf7" + b"\x80" * 8 + b"\x40",
    b"\x19\xf1" + b"\x80" * 8 + b"\x40",
    b"\x18" + b"\x80" * 8 + b"\x40",
    b"\x19" * 3000,
)


def mutated(name: str, data: bytes, rng: random.Random) -> bytes:
    """A file's content with one to three changes that its ending suggests."""
    suffix = name.rpartition(".")[2].lower()
    change = _BY_SUFFIX.get(suffix, mutate_bytes)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if rng.random() < 0.12:
            data = mutate_bytes(data, rng)
            continue
        try:
            data = change(data, rng)
        # what an earlier change has damaged has no joints any more
        except Exception:
            data = mutate_bytes(data, rng)
    return data


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Flip, drop, double or overwrite bytes; cut a file short; put something behind it."""
    if not data:
        return rng.randbytes(8)
    start = rng.randrange(len(data))
    stop = min(len(data), start + rng.choice((1, 2, 4, 8, 64)))
    change = rng.choice(_BYTE_CHANGES)
    return change(data, start, stop, rng)


def _flip_bit(data: bytes, start: int, stop: int, rng: random.Random) -> bytes:
    """Flip one bit of one byte."""
    byte = data[start] ^ 1 << rng.randrange(8)
    return data[:start] + bytes([byte]) + data[start + 1 :]


def _drop_bytes(data: bytes, start: int, stop: int, rng: random.Random) -> bytes:
    """Leave some bytes out."""
    return data[:start] + data[stop:]


def _double_bytes(data: bytes, start: int, stop: int, rng: random.Random) -> bytes:
    """Write some bytes twice."""
    return data[:stop] + data[start:]


def _write_number(data: bytes, start: int, stop: int, rng: random.Random) -> bytes:
    """Write a number at the edge of a type over four bytes."""
    number = rng.choice((0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF))
    order = rng.choice(("<", ">"))
    return data[:start] + struct.pack(f"{order}I", number) + data[start + 4 :]


def _cut_short(data: bytes, start: int, stop: int, rng: random.Random) -> bytes:
    """End the file early."""
    return data[:start]


def _append_bytes(data: bytes, start: int, stop: int, rng: random.Random) -> bytes:
    """Put random bytes behind the file."""
    return data + rng.randbytes(rng.randrange(1, 20))


def _overwrite_bytes(data: bytes, start: int, stop: int, rng: random.Random) -> bytes:
    """Write random bytes over some bytes."""
    return data[:start] + rng.randbytes(stop - start) + data[stop:]


_BYTE_CHANGES = (
    _flip_bit,
    _drop_bytes,
    _double_bytes,
    _write_number,
    _cut_short,
    _append_bytes,
    _overwrite_bytes,
)


def mutate_page_header(data: bytes, rng: random.Random) -> bytes:
    """Overwrite one to three bytes of the header of a page of a Parquet file, or put a field before it."""
    metadata = parquet.read_metadata(io.BytesIO(data))
    group = metadata.row_group(rng.randrange(metadata.num_row_groups))
    column = group.column(rng.randrange(metadata.num_columns))
    starts = [column.data_page_offset]
    if column.dictionary_page_offset:
        starts.append(column.dictionary_page_offset)
    start = rng.choice(starts)
    if rng.random() < 0.2:
        return data[:start] + rng.choice(_THRIFT_FIELDS) + data[start:]
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = start + rng.randrange(_PAGE_HEADER_BYTES)
        changed[place] = rng.choice((rng.randrange(256), rng.choice(_THRIFT_BYTES)))
    return bytes(changed)


@dataclass
class _TextTable:
    """A table of text, and how it is written."""

    rows: list[list[str]]
    sep: str
    quoting: int = csv.QUOTE_MINIMAL
    ending: str = "\n"
    encoding: str = "utf-8"

    def written(self) -> bytes:
        """Return the table as a file's content."""
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self.sep, quoting=self.quoting, lineterminator=self.ending)
        try:
            writer.writerows(self.rows)
        except csv.Error:
            out.write(self.ending.join(self.sep.join(row) for row in self.rows))
        errors = "replace"
        if self.encoding.startswith("utf") and self.encoding != "utf-7":
            errors = "surrogatepass"
        return out.getvalue().encode(self.encoding, errors)


def mutate_table(data: bytes, rng: random.Random) -> bytes:
    """Change a table of text: cells, columns, rows, quotation marks, separator, line ends, encoding."""
    text = data.decode("utf-8", "surrogateescape")
    sep = "\t" if text.partition("\n")[0].count("\t") else ","
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=sep))
    table = _TextTable(rows, sep)
    row = rng.randrange(len(rows))
    column = rng.randrange(max(map(len, rows)))
    # about one change in three is of one cell
    change = _change_cell if rng.random() < 3 / 8 else rng.choice(_TABLE_CHANGES)
    change(table, row, column, rng)
    return table.written()


def _change_cell(table: _TextTable, row: int, column: int, rng: random.Random) -> None:
    """Change one cell."""
    cells = table.rows[row]
    cells[column % len(cells)] = _cell(rng, table.rows)


def _drop_column(table: _TextTable, row: int, column: int, rng: random.Random) -> None:
    """Leave one column out."""
    for cells in table.rows:
        cells[column : column + 1] = []


def _change_column(table: _TextTable, row: int, column: int, rng: random.Random) -> None:
    """Change every cell of one column."""
    for cells in table.rows[1:]:
        cells[column % len(cells)] = _cell(rng, table.rows)


def _change_width(table: _TextTable, row: int, column: int, rng: random.Random) -> None:
    """Give one row a cell more or a cell less."""
    if rng.random() < 0.5:
        table.rows[row].append(_cell(rng, table.rows))
    else:
        table.rows[row].pop()


def _double_row(table: _TextTable, row: int, column: int, rng: random.Random) -> None:
    """Write one row twice."""
    table.rows.insert(row, list(rng.choice(table.rows)))


def _drop_row(table: _TextTable, row: int, column: int, rng: random.Random) -> None:
    """Leave one row out."""
    del table.rows[row]


def _insert_column(table: _TextTable, row: int, column: int, rng: random.Random) -> None:
    """Put a column in that holds cells of the others."""
    for cells in table.rows:
        cells.insert(column, rng.choice(cells) if cells else "")


def _change_separator(table: _TextTable, row: int, column: int, rng: random.Random) -> None:
    """Write the table with another separator, perhaps with every cell quoted."""
    table.sep = rng.choice(",;\t| ")
    table.quoting = rng.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL))


def _change_ending(table: _TextTable, row: int, column: int, rng: random.Random) -> None:
    """Write the table with other ends of lines."""
    table.ending = rng.choice(("\r\n", "\r", "\n\n", "\n\r", "\x0b", "\x00\n"))


def _change_encoding(table: _TextTable, row: int, column: int, rng: random.Random) -> None:
    """Write the table in another encoding."""
    table.encoding = rng.choice(_ENCODINGS)


def _shuffle_rows(table: _TextTable, row: int, column: int, rng: random.Random) -> None:
    """Bring the rows, the header among them, into another order."""
    rng.shuffle(table.rows)


_TABLE_CHANGES = (
    _drop_column,
    _change_column,
    _change_width,
    _double_row,
    _drop_row,
    _insert_column,
    _change_separator,
    _change_ending,
    _change_encoding,
    _shuffle_rows,
)


def _cell(rng: random.Random, rows: list[list[str]]) -> str:
    """Something for a cell: a token, or what stands elsewhere in the table."""
    if rng.random() < 0.2:
        return str(rng.choice(rng.choice(rows) or [""]))
    cell = rng.choice(TOKENS)
    # a cell of JSON is changed inside as well
    held = rng.choice(rng.choice(rows) or [""])
    if held.startswith("[") and rng.random() < 0.6:
        cell = mutate_json(held.encode(), rng).decode("utf-8", "replace")
    return cell


class _Raw(str):
    """JSON as it stands."""


#: Values of JSON beyond the tokens; the first are written as they stand.
_VALUES = (
    *map(
        _Raw,
        ("9" * 400, "-" + "9" * 400, "9" * 5000, "1e400", "-1e400", "NaN", "Infinity", "1e5", "2.5", "-1"),
    ),
    *map(_Raw, ("0", "1", "16777217", "2147483648", "4294967296", "1" + "0" * 30, "[" * 500 + "]" * 500)),
    *map(
        _Raw, ("[" * 3000 + "]" * 3000, '{"a":' * 400 + "1" + "}" * 400, "1.", "01", "+1", "'a'", "tru", "")
    ),
    *(
        None,
        True,
        False,
        [],
        {},
        [[]],
        [[[]]],
        {"size": [2, 2], "counts": "04"},
        {"size": [2, 2]},
        [0, 0],
        [1, 2, 3],
    ),
    *({"counts": [4]}, [[1, 1], [3, 1], [3, 2]], [1, 1, 4, 1, 4, 3], [["1", "2"]], [[1e308, -1e308]] * 3),
)


def mutate_json(data: bytes, rng: random.Random) -> bytes:
    """Change one value, key or entry of a JSON text; keys may stand twice afterwards."""
    content = [json.loads(data, object_pairs_hook=_pairs)]
    places = list(_places(content))
    holder, at = rng.choice(places)
    kind = rng.randrange(10)
    if kind < 5:
        _put(holder, at, rng.choice(_VALUES) if rng.random() < 0.6 else rng.choice(TOKENS))
    elif kind == 5:
        other, there = rng.choice(places)
        _put(holder, at, _get(other, there) if not isinstance(_get(other, there), list) else 0)
    elif kind == 6 and holder is not content:
        del holder[at]
    elif kind == 7 and holder is not content:
        holder.insert(rng.randrange(len(holder) + 1), holder[at])
    elif kind == 8 and isinstance(holder, _Pairs):
        holder[at] = (rng.choice(TOKENS), holder[at][1])
    else:
        value = _get(holder, at)
        if isinstance(value, str) and not isinstance(value, _Raw) and value:
            place = rng.randrange(len(value))
            value = (
                value[:place] + rng.choice("0123456789POQX`o~\x00é/\\ ") + value[place + rng.randrange(3) :]
            )
            _put(holder, at, value)
        else:
            _put(holder, at, [value] if rng.random() < 0.5 else _Pairs([("a", value)]))
    return _written(content[0]).encode("utf-8", "surrogatepass")


class _Pairs(list):
    """The entries of an object, of which keys may stand twice."""


def _pairs(pairs: list) -> _Pairs:
    """An object as its entries."""
    return _Pairs(pairs)


def _places(holder: list):
    """Every place of a value: what holds it, and where."""
    for at in range(len(holder)):
        yield holder, at
        value = _get(holder, at)
        if isinstance(value, list):
            yield from _places(value)


def _get(holder: list, at: int):
    """The value at a place."""
    return holder[at][1] if isinstance(holder, _Pairs) else holder[at]


def _put(holder: list, at: int, value) -> None:
    """Set the value at a place."""
    holder[at] = (holder[at][0], value) if isinstance(holder, _Pairs) else value


def _written(value) -> str:
    """A value as JSON."""
    if isinstance(value, _Raw):
        return str(value)
    if isinstance(value, _Pairs):
        return "{" + ",".join(f"{json.dumps(str(k))}:{_written(v)}" for k, v in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    return json.dumps(value)


def mutate_pickle(data: bytes, rng: random.Random) -> bytes:
    """Drop, double, swap or replace instructions of a pickle, or of that in a torch archive."""
    if data.startswith(b"PK"):
        return mutate_zip(data, rng)
    start = data.find(b"\x80")
    places = [place for _, _, place in pickletools.genops(data[start:])]
    parts = [data[start + a : start + b] for a, b in zip(places, [*places[1:], places[-1] + 1], strict=True)]
    rest = data[start + places[-1] + 1 :]
    at, other = rng.randrange(len(parts)), rng.randrange(len(parts))
    kind = rng.randrange(7)
    if kind == 0:
        del parts[at]
    elif kind == 1:
        parts.insert(at, parts[other])
    elif kind == 2:
        parts[at], parts[other] = parts[other], parts[at]
    elif kind == 3:
        parts[at] = rng.choice(_OPCODES)
    elif kind == 4:
        parts.insert(at, rng.choice(_OPCODES))
    elif kind == 5:
        named = [place for place, part in enumerate(parts) if part[:1] == b"c"]
        parts[rng.choice(named) if named else at] = rng.choice(_FUNCTIONS)
    else:
        parts[at] = mutate_bytes(parts[at], rng)
    return data[:start] + b"".join(parts) + rest


def mutate_npy(data: bytes, rng: random.Random) -> bytes:
    """Change the header of an array: version, shape, type, order, length."""
    length = int.from_bytes(data[8:10], "little")
    header, body = data[10 : 10 + length].decode("latin-1"), data[10 + length :]
    kind = rng.randrange(6)
    if kind == 0:
        shapes = (
            "()",
            "(0,)",
            "(1,)",
            "(2, 3, 4)",
            "(-1, 2)",
            "(2.5, 2)",
            "(1, 1, 2, 3)",
            "(9223372036854775807,)",
        )
        shape = rng.choice(
            (*shapes, f"({'9' * 400}, 2)", "(4294967296, 4294967296)", "3", "((2,),)", "(True, 6)")
        )
        header = re.sub(r"'shape': .*?\), ", f"'shape': {shape}, ", header)
    elif kind == 1:
        types = (
            "<f8",
            ">f4",
            "|b1",
            "|O",
            "<U4",
            "|S3",
            "<M8[s]",
            "<c16",
            "<f2",
            "|V8",
            "<i8",
            "|u1",
            "<m8",
            "f",
            "",
        )
        held = rng.choice(types)
        text = rng.choice(
            (repr(held), "[('a', '<f4')]", "[('a', '<f4', (2,))]", "os.system", "1", "'<f4' * 9")
        )
        header = re.sub(r"'descr': '[^']*'", f"'descr': {text if rng.random() < 0.3 else repr(held)}", header)
    elif kind == 2:
        header = header.replace("False", rng.choice(("True", "1", "'a'", "None", "__import__('os')")))
    elif kind == 3:
        header = header.replace(
            "'shape'", rng.choice(("'shap'", "'descr'", "shape", "'a': 1, 'shape'", "b'shape'"))
        )
    elif kind == 4:
        version = rng.choice((b"\x02\x00", b"\x03\x00", b"\x04\x00", b"\x00\x00"))
        return data[:6] + version + data[8:]
    else:
        body = body[: rng.randrange(len(body) + 1)] if rng.random() < 0.5 else body * 2
    held = header.encode("latin-1", "replace")
    return data[:8] + struct.pack("<H", min(65535, len(held))) + held + body


def mutate_zip(data: bytes, rng: random.Random) -> bytes:
    """Change, drop, double or rename a part of an archive, by the part's own joints where it has some."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = [(info.filename, archive.read(info)) for info in archive.infolist()]
    at = rng.randrange(len(parts))
    name, content = parts[at]
    compression = zipfile.ZIP_STORED if name.endswith(".pkl") or "data/" in name else zipfile.ZIP_DEFLATED
    kind = rng.randrange(10)
    if kind < 6:
        parts[at] = name, mutated(name, content, rng)
    elif kind == 6:
        del parts[at]
    elif kind == 7:
        parts.append((rng.choice((name, "../a", "/a", "xl/worksheets/b.xml", "b.npy", "")), content))
    elif kind == 8:
        parts[at] = rng.choice(("../a.npy", "a", name.upper(), name + "x", "é.npy")), content
    else:
        compression = rng.choice(
            (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
        )
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", compression) as archive:
        for name, content in parts:
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            # a name that stands twice is what is wanted; the module warns of it
            archive.NameToInfo.pop(name, None)
            archive.writestr(info, content)
    return held.getvalue()


def mutate_xml(data: bytes, rng: random.Random) -> bytes:
    """Change a text, an attribute or an element of XML."""
    text = data.decode("utf-8")
    kind = rng.randrange(6)
    if kind == 0:
        found = list(re.finditer(r">([^<>]+)<", text))
    elif kind == 1:
        found = list(re.finditer(r'="([^"]*)"', text))
    else:
        found = list(re.finditer(r"(<[^<>?]+>)", text))
    place = rng.choice(found)
    start, stop = place.span(1)
    old = place[1]
    if kind == 0:
        new = rng.choice(TOKENS).replace("<", "").replace("\x00", "").replace("\ud800", "")
    elif kind == 1:
        values = (
            "s",
            "str",
            "inlineStr",
            "b",
            "e",
            "n",
            "d",
            "A1",
            "XFD1048576",
            "B0",
            "ZZZZ9",
            "1",
            "-1",
            "99999999",
        )
        new = rng.choice((*values, "9" * 400, "", "r0", "../../a", "hidden"))
    elif kind == 2:
        new = ""
    elif kind == 3:
        new = old + old
    elif kind == 4:
        new = rng.choice(
            ("<f>1+1</f>", '<c r="A2"/>', "<row/>", "<!-- -->", "<v>", "<is><t>a</t></is>", "<a:b/>")
        )
    else:
        new = old + rng.choice(
            ("<mergeCell ref='A1:B2'/>", '<c t="s"><v>99</v></c>', '<c t="d"><v>x</v></c>', "&a;")
        )
    return (text[:start] + new + text[stop:]).encode("utf-8", "replace")


def mutate_png(data: bytes, rng: random.Random) -> bytes:
    """Change, drop, double or move a chunk of a PNG, or put one in, with right checksums."""
    chunks, place = [], 8
    while place < len(data):
        length = int.from_bytes(data[place : place + 4], "big")
        chunks.append((data[place + 4 : place + 8], data[place + 8 : place + 8 + length]))
        place += length + 12
    at = rng.randrange(len(chunks))
    kind, content = chunks[at]
    change = rng.randrange(7)
    if change == 0:
        header = bytearray(chunks[0][1])
        field = rng.choice((0, 4, 8, 9, 10, 11, 12))
        if field < 8:
            header[field : field + 4] = struct.pack(
                ">I", rng.choice((0, 1, 2, 7, 65535, 2**24, 2**31 - 1, 2**32 - 1))
            )
        else:
            header[field] = rng.choice((0, 1, 2, 3, 4, 6, 7, 8, 16, 255))
        chunks[0] = chunks[0][0], bytes(header)
    elif change == 1:
        chunks[at] = kind, mutate_bytes(content, rng)
    elif change == 2:
        del chunks[at]
    elif change == 3:
        chunks.insert(at, rng.choice(chunks))
    elif change == 4:
        rng.shuffle(chunks)
    elif change == 5:
        extra = (
            b"PLTE",
            b"tRNS",
            b"acTL",
            b"fcTL",
            b"zTXt",
            b"iCCP",
            b"tEXt",
            b"eXIf",
            b"gAMA",
            b"iTXt",
            b"IDAT",
        )
        chunks.insert(
            rng.randrange(len(chunks) + 1), (rng.choice(extra), rng.randbytes(rng.choice((0, 2, 6, 26))))
        )
    else:
        bomb = zlib.compress(bytes(rng.choice((0, 10, 10**6))))
        chunks[at] = kind, bomb
    made = [
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    ]
    return data[:8] + b"".join(made)


def mutate_tiff(data: bytes, rng: random.Random) -> bytes:
    """Change one entry of a TIFF's directory: its tag, type, count or value."""
    order = "<" if data[:2] == b"II" else ">"
    start = struct.unpack(f"{order}I", data[4:8])[0]
    n = struct.unpack(f"{order}H", data[start : start + 2])[0]
    place = start + 2 + 12 * rng.randrange(n)
    tag, kind, count, value = struct.unpack(f"{order}HHII", data[place : place + 12])
    field = rng.randrange(4)
    if field == 0:
        tag = rng.choice(
            (254, 256, 257, 258, 259, 262, 273, 274, 277, 278, 279, 284, 317, 338, 339, 34665, 330)
        )
    elif field == 1:
        kind = rng.randrange(20)
    elif field == 2:
        count = rng.choice((0, 1, 2, 3, 65536, 2**31, 2**32 - 1))
    else:
        value = rng.choice((0, 1, 2, 3, 5, 6, 7, 8, 16, 32, 64, 32773, 34712, 50000, start, 2**31, 2**32 - 1))
    return data[:place] + struct.pack(f"{order}HHII", tag, kind, count, value) + data[place + 12 :]


_BY_SUFFIX = {
    **dict.fromkeys(("csv", "tsv", "txt"), mutate_table),
    "json": mutate_json,
    "pkl": mutate_pickle,
    "npy": mutate_npy,
    **dict.fromkeys(("npz", "xlsx", "pt"), mutate_zip),
    **dict.fromkeys(("xml", "rels"), mutate_xml),
    "png": mutate_png,
    **dict.fromkeys(("tif", "tiff"), mutate_tiff),
}

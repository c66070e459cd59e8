"""What is fuzzed: valid files of each reader, by the tests' own helpers, and the call that reads them."""

import io
import json
import pickle
import random
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from chexlocalize_files import mask, write_two_cases
from fuzz.mutations import mutate_page_header, mutated
from gaze_files import write_maps, write_release
from map_folders import write_by_hand, write_map_folder
from openpyxl import Workbook
from PIL import Image
from pyarrow import parquet
from torch_pickles import archive, call, entries, name, storage_id, stream, tensor, value

import salstats as ss
from salstats.files.map_folder_writer import MapFolder
from salstats.files.workbooks import workbook
from salstats.readers.case_json import (
    read_outlines_as_vertices_xy,
    read_rle_masks_json,
    read_xy_points_as_row_col,
)
from salstats.readers.case_tables import read_prob_and_label_by_case, read_spacing_mm_by_case
from salstats.readers.image_files import image_shape, read_picture
from salstats.readers.map_files import read_map, read_mask, read_rle
from salstats.readers.pickles import read_pickle
from salstats.readers.threshold_files import read_thresholds

#: A time in the properties of a workbook.
_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
#: The files of an input: path in its folder -> content.
Files = dict[str, bytes]


@dataclass(frozen=True)
class Target:
    """One reader: valid inputs, what changes them, and what reads an input in its folder."""

    seeds: Callable[[], list[Files]]
    read: Callable[[Path, Files], object]
    #: inputs of a whole run
    n: int
    change: Callable[[Files, random.Random], Files] | None = None


def _tree(write: Callable[[Path], object]) -> Files:
    """The files that a helper writes."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "study"
        folder.mkdir()
        write(folder)
        files = (file for file in sorted(folder.rglob("*")) if file.is_file())
        return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def changed(files: Files, rng: random.Random) -> Files:
    """Files of which one, seldom two, are changed, or lost, doubled, exchanged or renamed."""
    made = dict(files)
    for _ in range(rng.choice((1, 1, 1, 2))):
        path = rng.choice(sorted(made))
        kind = rng.random()
        if len(files) > 1 and kind < 0.03:
            del made[path]
        elif len(files) > 1 and kind < 0.06:
            made[path] = made[rng.choice(sorted(made))]
        elif len(files) > 1 and kind < 0.08:
            made[f"{path.rpartition('.')[0]}x.{path.rpartition('.')[2]}"] = made[path]
        else:
            made[path] = mutated(path, made[path], rng)
        if not made:
            return dict(files)
    return made


# what reads an input


def _each(*readers: Callable[..., object]) -> Callable[[Path, Files], object]:
    """Read every file by one of some readers, in turn."""

    def read(folder: Path, files: Files) -> None:
        for place, path in enumerate(sorted(files)):
            readers[(place + len(files[path])) % len(readers)](folder / path)

    return read


def _whole(study: ss.Study) -> None:
    """Read what a study leaves unread until it is scored."""
    for case in study:
        for truth in case.truths.values():
            truth.read()
        for answer in case.predictions:
            answer.read()
        for recording in case.used:
            recording.read()


#: Readers of files that are known by their names.
_BY_NAME: dict[str, Callable[[Path], object]] = {
    "predictions.csv": read_prob_and_label_by_case,
    "spacing.csv": read_spacing_mm_by_case,
    "tuning.csv": read_thresholds,
    "masks.json": lambda file: read_rle_masks_json(file, str),
    "outlines.json": lambda file: read_outlines_as_vertices_xy(file, str),
    "points.json": lambda file: read_xy_points_as_row_col(file, str),
}


def _by_name(folder: Path, files: Files) -> None:
    """Read each file as what its name says."""
    for path in files:
        _BY_NAME[path](folder / path)


def _map_folder(folder: Path, files: Files) -> None:
    """Read a map folder; then open it to go on writing."""
    try:
        _whole(ss.read_study(folder, format="maps"))
    finally:
        with MapFolder(folder):
            pass


def _joined(folder: Path, files: Files) -> None:
    """Read scores with a table joined to them."""
    ss.read_scores(folder / "scores.csv", join=folder / "ages.csv")


def _read_grey(file: Path) -> None:
    """Read an image as a map, under an ending that maps may have."""
    if file.suffix in (".jpg", ".bmp"):
        file = file.rename(file.with_suffix(".png"))
    read_map(file)


# valid inputs


def _score_tables() -> list[Files]:
    """Scores as text: long, with quotes and empty cells, wide, with a covariate of many digits."""
    long = "case,task,method,metric,score,age\n" + "".join(
        f"c{i},{task},{method},iou,{i / 16},{30 + i}\n"
        for i in range(6)
        for task in ("Edema", "Mass")
        for method in ("gradcam", "ig")
    )
    odd = (
        "case\ttask\tmethod\tmetric\tscore\tid\n"
        '"a ""b"""\tEdema\tg\tiou\t\t123456789012345678\n007\tEdema\tg\tiou\tNA\t2\n'
    )
    many = "case,method,metric,score\n" + "".join(f"c{i},g,iou,{i % 7 / 8}\n" for i in range(400))
    return [
        {"a.csv": long.encode()},
        {"a.tsv": odd.encode()},
        {"a.csv": many.encode()},
        {"a.txt": long.encode()},
    ]


def _other_tables() -> list[Files]:
    """Tables with a row for each case or task: predictions, sizes of pixels, thresholds."""
    return [
        {"predictions.csv": b"case,prob,label\na,0.5,1\nb,,0\nc,1,\n"},
        {"spacing.csv": b"case,row_mm,col_mm\na,0.5,0.25\nb,1,1\n"},
        {"tuning.csv": b"task,method,threshold,mIoU,chosen\nEdema,g,0.5,0.25,True\nEdema,g,0.25,0.5,False\n"},
    ]


def _joins() -> list[Files]:
    """Scores and a table of ages."""
    return [
        {"scores.csv": _score_tables()[0]["a.csv"], "ages.csv": b"case,sex,site\nc0,f,1\nc1,m,2\nc2,,3\n"}
    ]


def _workbooks() -> list[Files]:
    """Workbooks of this package and of openpyxl, with shared strings, a date, a formula and an error."""
    rows = [["case", "method", "metric", "score"], ["a", "g", "iou", 0.5], ["b", "g", "iou", None]]
    book = Workbook()
    for row in (
        [*rows[0], "seen"],
        ["a", "g", "iou", 0.5, pd.Timestamp("2020-01-02")],
        ["b", "g", "iou", "#N/A", True],
    ):
        book.active.append(row)
    book.active["D4"] = "=1+1"
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "a.xlsx"
        book.save(file)
        return [{"a.xlsx": workbook(rows)}, {"a.xlsx": file.read_bytes()}]


_COLUMNS: tuple[Callable[[int], pa.Array], ...] = (
    lambda n: pa.array([f"c{i}" for i in range(n)]),
    lambda n: pa.array([i / 8 for i in range(n)]),
    lambda n: pa.array(range(n), pa.int64()),
    lambda n: pa.array([None] * n),
    lambda n: pa.array(["a", None] * (n // 2)).dictionary_encode(),
    lambda n: pa.array([1.5, float("nan")] * (n // 2), pa.float16()),
    lambda n: pa.array([True, None] * (n // 2)),
    lambda n: pa.array([2**53 + 1] * n, pa.uint64()),
    lambda n: pa.array([b"ab"] * n),
    lambda n: pa.array([b"ab"] * n, pa.binary(2)),
    lambda n: pa.array([[1, 2]] * n),
    lambda n: pa.array([{"a": 1}] * n),
    lambda n: pa.array([0, 10**15] * (n // 2), pa.timestamp("us")),
    lambda n: pa.array([0, 2**50] * (n // 2), pa.timestamp("s", "UTC")),
    lambda n: pa.array([1] * n, pa.date32()),
    lambda n: pa.array([1, 2**31 - 1] * (n // 2), pa.int32()).cast(pa.date32()),
    lambda n: pa.array([1, 2**52 // 86_400_000 * 86_400_000] * (n // 2), pa.int64()).cast(pa.date64()),
    lambda n: pa.array([1, 2**46] * (n // 2), pa.time64("ns")),
    lambda n: pa.array([0, 2**62] * (n // 2), pa.timestamp("ns")),
    lambda n: pa.array([Decimal(10) ** 60] * n, pa.decimal256(76, 2)),
    lambda n: pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int64())),
    lambda n: pa.array([b"a\xff"] * n, pa.large_binary()),
    lambda n: pa.array([1] * n, pa.duration("s")),
    lambda n: pa.array([Decimal("1.25")] * n, pa.decimal128(20, 3)),
    lambda n: pa.array(["x" * 1000] * n, pa.large_string()),
    lambda n: pa.array(["a\x00b", "\u200b"] * (n // 2)),
    lambda n: pa.array([float("inf"), -0.0] * (n // 2)),
    lambda n: pa.array(["a", "b"] * (n // 2), pa.string_view()),
)


def _parquet_tables() -> list[Files]:
    """A table of Parquet as this package writes it."""
    scores = ss.datasets.load_simulated().head(8)
    return [_tree(lambda folder: ss.write_frame(scores, folder / "a.parquet"))]


def _parquet(files: Files, rng: random.Random) -> Files:
    """A table of Parquet with a column of some type, written in some way, and perhaps damaged."""
    n = rng.choice((0, 2, 12, 12, 40))
    columns = {
        "case": pa.array([f"c{i}" for i in range(n)]),
        "method": pa.array(["g"] * n),
        "metric": pa.array(["iou"] * n),
        "score": pa.array([i / 16 for i in range(n)]),
    }
    columns[rng.choice((*columns, "age", "", "patient", "__index_level_0__"))] = rng.choice(_COLUMNS)(n)
    dictionary = rng.random() < 0.5
    encoding = None
    if not dictionary and columns["case"].type == pa.string() and rng.random() < 0.5:
        encoding = {"case": rng.choice(("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"))}
    sink = pa.BufferOutputStream()
    parquet.write_table(
        pa.table(columns),
        sink,
        compression=rng.choice(("none", "snappy", "gzip", "zstd")),
        use_dictionary=dictionary,
        column_encoding=encoding,
        data_page_version=rng.choice(("1.0", "2.0")),
        write_page_checksum=rng.random() < 0.3,
        row_group_size=rng.choice((None, 1, 5)),
        store_schema=rng.random() < 0.5,
    )
    made = {"a.parquet": sink.getvalue().to_pybytes()}
    if rng.random() < 0.1:
        made = files
    damage = rng.random()
    if damage < 0.2 and n > 0:
        return {"a.parquet": mutate_page_header(made["a.parquet"], rng)}
    if damage < 0.7:
        return changed(made, rng)
    return made


def _segmentations() -> list[Files]:
    """Masks, outlines and points by case and task."""
    masks = {
        "a": {"Edema": mask(), "Mass": {"size": [20, 30], "counts": [5, 10, 585]}},
        "b": {"Edema": mask()},
    }
    box = [[4, 2], [9, 2], [9, 5], [4, 5]]
    outlines = {"a": {"img_size": [20, 30], "Edema": [box, [[1, 1], [5.5, 3]]]}, "b": {"img_size": [8, 9]}}
    points = {"a": {"Edema": [[4, 2], [9.5, 5]], "Mass": []}}
    contents = {"masks.json": masks, "outlines.json": outlines, "points.json": points}
    return [{path: json.dumps(content).encode()} for path, content in contents.items()]


def _codes() -> list[Files]:
    """One run-length code a file: compressed, and as a list."""
    return [{"a.json": json.dumps(each).encode()} for each in (mask(), {"size": [2, 3], "counts": [1, 2, 3]})]


def _changed_code(files: Files, rng: random.Random) -> Files:
    """A run-length code whose runs or characters are changed, or whose JSON is."""
    if rng.random() < 0.3:
        return changed(files, rng)
    code = json.loads(files["a.json"])
    counts = code["counts"]
    if isinstance(counts, str):
        place = rng.randrange(len(counts))
        letter = chr(rng.choice((rng.randrange(48, 112), rng.randrange(40, 120))))
        code["counts"] = counts[:place] + letter * rng.randrange(3) + counts[place + rng.randrange(2) :]
    else:
        place, other, n = rng.randrange(len(counts)), rng.randrange(len(counts)), rng.randrange(-3, 4)
        counts[place] -= n
        counts[other] += n
        counts[place:place] = rng.choice(([], [0], [0, 0], [2**31], [2**63], [-1, 1], [True], [1.0]))
    return {"a.json": json.dumps(code).encode()}


def _coco() -> list[Files]:
    """Annotations and results."""
    content = {
        "images": [{"id": i, "file_name": f"val/{i}.jpg", "height": 20, "width": 30} for i in (7, 9)],
        "categories": [{"id": 3, "name": "cat"}, {"id": 1, "name": "dog"}],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 3, "segmentation": [[2.5, 1, 14, 3, 9, 17]]},
            {"id": 2, "image_id": 9, "category_id": 1, "iscrowd": 1, "segmentation": mask()},
        ],
    }
    results = [{"image_id": 7, "category_id": 3, "segmentation": mask(), "score": 0.9}]
    files = {"instances.json": json.dumps(content).encode(), "results.json": json.dumps(results).encode()}
    return [files, {"instances.json": files["instances.json"]}]


def _pickles() -> list[Files]:
    """Pickles of arrays by several protocols, torch tensors in both of torch's forms, a saved dict."""
    content = {"map": np.arange(6, dtype="f4").reshape(1, 1, 2, 3), "prob": 0.25, "task": "Edema", "gt": 1}
    content |= {
        "cxr_dims": (30, 20),
        "names": ["a", "b"],
        "one": np.float64(0.5),
        "by": {("a", 1): None, 2: b"x"},
    }
    raw = np.arange(6, dtype="<f4").tobytes()
    pushed = tensor(storage_id(6), (2, 3), (3, 1))
    made = entries(map=pushed) + b""
    ordered = call(name("collections", "OrderedDict"), value([["a", 1]]))
    return [
        *({"a.pkl": pickle.dumps(content, protocol)} for protocol in (0, 2, 3, 4, 5)),
        {"a.pt": archive(made, {"0": raw})},
        {"a.pkl": stream(made, raw, numel=6)},
        {"a.pkl": b"\x80\x03" + ordered + b"."},
    ]


def _arrays() -> list[Files]:
    """Arrays as .npy and .npz, one of them a dict with an array."""

    def write(folder: Path) -> None:
        array = np.arange(6, dtype="f4").reshape(2, 3)
        np.save(folder / "a.npy", array)
        np.save(folder / "b.npy", array > 2)
        np.savez(folder / "c.npz", array)
        np.savez_compressed(folder / "d.npz", (array > 2).astype("u1") * 255)
        np.save(folder / "e.npy", {"map": array}, allow_pickle=True)

    return [{path: content} for path, content in _tree(write).items()]


def _pictures() -> list[Files]:
    """Images in grey, with a palette, in colour, of 16 bits and of floats."""

    def write(folder: Path) -> None:
        grey = (np.arange(42, dtype="u1").reshape(6, 7) > 20).astype("u1") * 255
        Image.fromarray(grey).save(folder / "a.png")
        Image.fromarray(grey.astype("u2") * 257).save(folder / "b.png")
        Image.fromarray(grey).convert("P").save(folder / "c.png")
        Image.fromarray(np.dstack([grey] * 3)).save(folder / "d.png")
        Image.fromarray(grey).save(folder / "e.tif")
        Image.fromarray(grey.astype("f4")).save(folder / "f.tiff")
        Image.fromarray(grey).save(folder / "g.tif", compression="tiff_lzw")
        Image.fromarray(grey).save(folder / "h.tif", compression="tiff_adobe_deflate")
        Image.fromarray(np.dstack([grey] * 3)).save(folder / "i.jpg")
        Image.fromarray(grey).save(folder / "j.bmp")

    return [{path: content} for path, content in _tree(write).items()]


def _attention() -> list[Files]:
    """A data set in the layout of Saliency-Bench, with arrays and with boxes."""

    def images(folder: Path) -> None:
        (folder / "attention_label").mkdir()
        for label, names in (("cat", ("a", "b")), ("dog", ("c",))):
            (folder / "image" / label).mkdir(parents=True)
            for each in names:
                Image.fromarray(np.zeros((6, 8, 3), "u1")).save(folder / "image" / label / f"{each}.png")

    def write(text: str) -> Files:
        return {**_tree(images), "attention_label/a.csv": text.encode()}

    array = '"[[0, 1], [1, 0]]"'
    return [
        write(f"img_idx,attention\na.png,{array}\nb.png,{array}\nc,{array}\n"),
        write('img_idx,bbox\na.png,"[1, 1, 3, 2]"\nb.png,"[[0, 0, 2.5, 2], [3, 3, 4, 4]]"\n'),
        write("img_idx,xmin,ymin,xmax,ymax\na.png,1,1,4,4\na.png,2,2,5,5\n"),
    ]


def _of_first_table(files: Files, rng: random.Random) -> Files:
    """Mostly changed in the tables of a tree, whose other files are many and alike."""
    tables = [path for path in sorted(files) if path.endswith((".csv", ".json"))]
    if rng.random() < 0.2:
        return changed(files, rng)
    path = rng.choice(tables)
    return {**files, path: mutated(path, files[path], rng)}


def _gaze() -> list[Files]:
    """Three recordings of two images, with a map of each."""
    whole = _tree(lambda folder: (write_release(folder), write_maps(folder / "maps")))
    header, *rows = whole["metadata_phase_1.csv"].splitlines(keepends=True)
    kept = [row for row in rows if row.startswith((b"P0R0", b"P0R1", b"P1R0"))]
    files = {path: whole[path] for path in whole if path.startswith(("P0R0", "P0R1", "P1R0"))}
    maps = {path: whole[path] for path in ("maps/img-a.npy", "maps/img-b.npy")}
    return [{**files, **maps, "metadata_phase_1.csv": header + b"".join(kept)}]


def _read_gaze(folder: Path, files: Files) -> None:
    """Read recordings and maps."""
    _whole(ss.read_gaze(folder, maps=folder / "maps", padded=False))


def _map_folders() -> list[Files]:
    """A folder of maps as it is written here, and as another program would."""

    def by_hand(folder: Path) -> None:
        folder.rmdir()
        write_by_hand(folder)

    return [_tree(lambda folder: write_map_folder(folder, human=True, patient=True)), _tree(by_hand)]


def _chexlocalize() -> list[Files]:
    """A study of two cases in the format of the CheXlocalize release."""
    return [_tree(write_two_cases)]


def _mri() -> list[Files]:
    """Images beside their masks, with a tool's masks in one file."""

    def write(folder: Path) -> None:
        for case in ("p_1", "q_1"):
            (folder / case[0]).mkdir()
            Image.fromarray(np.zeros((6, 8, 3), "u1")).save(folder / case[0] / f"{case}.tif")
            Image.fromarray(np.eye(6, 8, dtype="u1") * 255).save(folder / case[0] / f"{case}_mask.tif")
        code = {"size": [6, 8], "counts": [8, 8, 32]}
        (folder / "lime.json").write_text(json.dumps({"p_1": code, "q_1": {"tumour": code}}))

    return [_tree(write)]


TARGETS = {
    "scores": Target(_score_tables, _each(ss.read_scores, ss.read_data), 50_000),
    "case_tables": Target(_other_tables, _by_name, 30_000),
    "joins": Target(_joins, _joined, 4_000),
    "xlsx": Target(_workbooks, _each(ss.read_scores), 8_000),
    "parquet": Target(_parquet_tables, _each(ss.read_scores, ss.read_data), 30_000, _parquet),
    "case_json": Target(_segmentations, _by_name, 40_000),
    "rle": Target(_codes, _each(read_rle), 40_000, _changed_code),
    "coco": Target(_coco, lambda folder, _: _whole(ss.read_study(folder, format="coco")), 30_000),
    "pickles": Target(_pickles, _each(read_pickle), 40_000),
    "arrays": Target(_arrays, _each(read_map, read_mask), 25_000),
    "pictures": Target(_pictures, _each(read_picture, image_shape, _read_grey), 25_000),
    "attention": Target(_attention, lambda folder, _: _whole(ss.read_study(folder)), 8_000, _of_first_table),
    "gaze": Target(_gaze, _read_gaze, 2_000, _of_first_table),
    "map_folder": Target(_map_folders, _map_folder, 8_000, _of_first_table),
    "chexlocalize": Target(_chexlocalize, lambda folder, _: _whole(ss.read_study(folder)), 8_000),
    "mrxai2025": Target(
        _mri,
        lambda folder, _: _whole(ss.read_study(folder, format="mrxai2025", masks=folder / "lime.json")),
        4_000,
    ),
}


def _undated(files: Files) -> Files:
    """Return files without the time at which they were written, which archives and workbooks hold."""
    undated = dict(files)
    for path, content in files.items():
        if content.startswith(b"PK"):
            undated[path] = _undated_archive(content)
    return undated


def _undated_archive(content: bytes) -> bytes:
    """Return a zip archive whose parts are as old as each other, and a workbook's properties likewise."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as dated, zipfile.ZipFile(made, "w") as undated:
        for part in dated.infolist():
            data = dated.read(part)
            if part.filename == "docProps/core.xml":
                data = _TIME.sub(b"2020-01-02T03:04:05Z", data)
            # a part that is not told its time is of 1980
            info = zipfile.ZipInfo(part.filename)
            info.compress_type = part.compress_type
            undated.writestr(info, data)
    return made.getvalue()


def inputs(target: str, start: int, count: int) -> Iterator[tuple[int, Files]]:
    """Give the inputs of a target from one number on; a number gives the same input in every run."""
    seeds = [_undated(files) for files in TARGETS[target].seeds()]
    change = TARGETS[target].change or changed
    for number in range(start, start + count):
        rng = random.Random(f"{target} {number}")
        yield number, change(rng.choice(seeds), rng)

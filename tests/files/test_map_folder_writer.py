"""Writing a map folder: what lies in it, what a stopped run leaves, and what is refused."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas as pd
import pytest
from map_folders import (
    ABSENT,
    CASES,
    SHAPE,
    TASKS,
    change,
    keys,
    prob,
    saliency,
    table,
    truth,
    write_map_folder,
)  # fmt: skip
from tests_support import raises

from salstats.errors import InputFileError, SalstatsError, ShapeError, ValueRangeError
from salstats.files.map_folder_writer import MapFolder, MapKey
from salstats.files.map_table import map_path_of
from salstats.files.outputs import replacing_file
from salstats.images.masks import Rle, decode
from salstats.readers.map_folder import read_map_folder

KEY = MapKey("a", "Edema", "gradcam")
#: Names that are no names of files, or are alike where case or form of letters do not count.
ODD_NAMES = (
    "../../etc/x", "/abs", "a/b", "a\\b", "C:x", "with blank", "plus+and.dot", "\u00e4", "a\u0308", "A", "a",
    "a-b", "con", "NUL", "com1.x", ".hidden", "-", "\u2026", "x" * 500, "a,b", 'a "quoted" name', "~",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """Where a map folder is to be."""
    return tmp_path / "maps"


def add(maps, key=KEY, array=None, **options):
    """Add one map with what most tests do not care about."""
    maps.add(key, np.eye(3) if array is None else array, **{"shape": SHAPE, **options})


def names(folder):
    """The names in a folder."""
    return sorted(p.name for p in folder.iterdir())


def files(folder):
    """Every file below a folder that holds an array."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and p.suffix == ".npy")


class TestWhatIsWritten:
    def test_a_row_and_a_file_per_map(self, folder):
        write_map_folder(folder)
        header, rows = table(folder)
        assert header == [
            "case",
            "task",
            "method",
            "prob",
            "label",
            "path",
            "height",
            "width",
            "model",
            "seed",
        ]
        assert [(r["case"], r["task"], r["method"]) for r in rows] == [tuple(k[:3]) for k in keys()]
        assert sorted(r["path"] for r in rows) == files(folder)
        for row in rows:
            stored = np.load(folder / row["path"], allow_pickle=False)
            assert stored.dtype == np.float32
            np.testing.assert_array_equal(stored, saliency(row["case"], row["task"], row["method"]))
            assert (row["height"], row["width"]) == ("40", "50")

    def test_numbers_read_back_as_they_were(self, folder):
        with MapFolder(folder) as maps:
            add(maps, prob=0.1 + 0.2, label=1, patient="p1")
            add(maps, KEY._replace(case="b"), label=np.nan)
        _, (first, second) = table(folder)
        assert float(first["prob"]) == 0.1 + 0.2
        assert (first["label"], first["patient"]) == ("1", "p1")
        assert (second["prob"], second["label"], second["patient"]) == ("", "", "")

    def test_labels_and_patients_are_set_for_maps_that_have_a_row_and_others_keep_theirs(self, folder):
        with MapFolder(folder) as maps:
            add(maps, label=0, patient="p0")
            add(maps, KEY._replace(task="Mass"), label=1)
            add(maps, KEY._replace(case="b"), label=1, patient="p2")
            maps.describe({("a", "Edema"): 1, ("c", "Edema"): 0}, {"a": "p1", "c": "p3"})
            with raises(ValueRangeError, value=0.5):
                maps.describe({("b", "Edema"): 0.5})
        _, rows = table(folder)
        described = [(row["case"], row["task"], row["label"], row["patient"]) for row in rows]
        assert described == [
            ("a", "Edema", "1", "p1"), ("a", "Mass", "1", "p1"), ("b", "Edema", "1", "p2")
        ]  # fmt: skip
        with MapFolder(folder) as maps:
            maps.describe()
        assert table(folder)[1] == rows

    def test_networks_and_seeds_are_other_maps(self, folder):
        with MapFolder(folder) as maps:
            for model in (None, "resnet"):
                for seed in (None, 0, 1):
                    add(maps, KEY._replace(model=model, seed=seed))
            assert len(maps) == 6
        assert len(files(folder)) == 6
        with MapFolder(folder) as maps:
            assert KEY._replace(model="resnet", seed=1) in maps
            assert KEY._replace(model="resnet", seed="1") in maps
            assert KEY._replace(model="resnet", seed=2) not in maps

    def test_any_name_has_a_file_of_its_own_inside_the_folder(self, folder):
        wanted = [MapKey(name, other, "m") for name in ODD_NAMES for other in ("t", "T/..")]
        wanted += [MapKey("a", "t", name, model=model) for name in ODD_NAMES for model in (name, None)]
        with MapFolder(folder) as maps:
            for number, key in enumerate(wanted):
                add(maps, key, np.full((1, 1), number))
        found = files(folder)
        # also where upper and lower case, or two forms of one letter, are the same name
        assert len({name.lower() for name in found}) == len(wanted)
        assert all(name.isascii() for name in found)
        # Windows keeps these names for devices
        assert not [name for name in found if re.search(r"(?i)/(con|nul|com1)[./]", name)]
        assert names(folder.parent) == ["maps"]
        _, rows = table(folder)
        assert [(r["case"], r["task"], r["method"], r["model"] or None) for r in rows] == [
            k[:4] for k in wanted
        ]
        for number, row in enumerate(rows):
            assert np.load(folder / row["path"])[0, 0] == number

    def test_masks_of_truth_and_people_are_run_lengths_by_case_and_task(self, folder):
        write_map_folder(folder, human=True)
        held = json.loads((folder / "truth.json").read_text())
        for case in CASES:
            for task in TASKS:
                assert (decode(Rle.from_coco(held[case][task])) == truth(case, task)).all()
        shifted = json.loads((folder / "human.json").read_text())
        assert (decode(Rle.from_coco(shifted["a"]["Edema"])) == np.roll(truth("a", "Edema"), 2, axis=1)).all()

    def test_a_row_stands_in_the_table_as_soon_as_its_map_is_made(self, folder):
        with MapFolder(folder) as maps:
            for number in range(3):
                add(maps, KEY._replace(case=str(number)), patient="p" if number else None)
                assert [r["case"] for r in table(folder)[1]] == [str(n) for n in range(number + 1)]
        assert [r["patient"] for r in table(folder)[1]] == ["", "p", "p"]

    def test_rows_of_maps_made_together_come_together(self, folder):
        with MapFolder(folder) as maps:
            with maps.rows_written_together():
                for number in range(4):
                    add(maps, KEY._replace(case=str(number)))
                assert "gradcam/" not in (folder / "maps.csv").read_text()
            assert len(table(folder)[1]) == 4

    def test_the_table_is_added_to_and_not_written_anew(self, folder):
        with MapFolder(folder) as maps:
            add(maps)
            before = (folder / "maps.csv").stat()
            for number in range(9):
                add(maps, KEY._replace(case=str(number)))
        assert (folder / "maps.csv").stat().st_ino == before.st_ino


class TestGoingOn:
    def test_a_second_run_finds_what_is_there(self, folder):
        write_map_folder(folder)
        with MapFolder(folder) as maps:
            assert all(key in maps for key in keys())
            assert list(maps) == keys()
            assert KEY._replace(case="other") not in maps

    def test_a_map_without_a_row_stays_until_it_is_made_again(self, folder):
        write_map_folder(folder)
        held = {name: (folder / name).read_bytes() for name in files(folder)}
        (folder / "maps.csv").write_text((folder / "maps.csv").read_text().split()[0] + "\n")
        with MapFolder(folder, overwrite=True) as maps:
            assert keys()[0] not in maps
            assert {name: (folder / name).read_bytes() for name in files(folder)} == held
            add(maps, keys()[0])
        assert np.load(folder / table(folder)[1][0]["path"]).shape == (3, 3)

    @pytest.mark.parametrize("cut", [1, 60, 100])
    def test_a_row_that_was_cut_is_none(self, folder, cut):
        write_map_folder(folder)
        whole = (folder / "maps.csv").read_bytes()
        (folder / "maps.csv").write_bytes(whole[:-cut])
        with MapFolder(folder) as maps:
            missing = [key for key in keys() if key not in maps]
            assert 1 <= len(missing) <= 2
            for key in missing:
                case, task, method = key[:3]
                label = int((case, task) != ABSENT)
                add(maps, key, saliency(case, task, method), prob=prob(case, task), label=label)
        assert (folder / "maps.csv").read_bytes() == whole

    def test_a_table_of_another_program_may_end_without_a_line_break(self, folder):
        folder.mkdir()
        np.save(folder / "mine.npy", np.eye(3))
        (folder / "maps.csv").write_text("path,case,task,method\nmine.npy,a,Edema,gradcam")
        with MapFolder(folder) as maps:
            assert KEY in maps
            add(maps, KEY._replace(case="b"))
        assert [r["case"] for r in table(folder)[1]] == ["a", "b"]

    def test_a_full_disk_leaves_whole_rows(self, folder, monkeypatch):
        limit = """
            import resource, signal, sys
            import numpy as np
            from salstats.files.map_folder_writer import MapFolder, MapKey

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            with MapFolder(sys.argv[1]) as maps:
                for number in range(30):
                    maps.add(MapKey(f"c{number}", "t", "m"), np.eye(3), shape=(8, 8))
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(limit), str(folder)], capture_output=True, text=True
        )
        assert "InputFileError: cannot write" in done.stderr
        n_whole = (folder / "maps.csv").read_text().count("\n") - 1
        assert 5 < n_whole < 30
        with MapFolder(folder) as maps:
            assert len(maps) == n_whole
            assert len(table(folder)[1]) == n_whole

    @pytest.mark.parametrize("damage", ["cut", "empty", "gone", "no array"])
    def test_a_damaged_map_is_not_there_and_is_made_again(self, folder, damage):
        with MapFolder(folder) as maps:
            add(maps)
        file = folder / files(folder)[0]
        content = file.read_bytes()
        if damage == "gone":
            file.unlink()
        else:
            file.write_bytes({"cut": content[:-1], "empty": b"", "no array": b"a" * 200}[damage])
        with MapFolder(folder) as maps:
            assert KEY not in maps
            add(maps)
        assert file.read_bytes() == content
        assert len(table(folder)[1]) == 1

    def test_temporary_files_are_removed_and_other_files_stay(self, folder):
        write_map_folder(folder)
        place = folder / "maps" / "gradcam"
        old, half = folder / ".salstats-abcdefg1.csv", place / ".salstats-abcdefg2.npy"
        for left in (old, half):
            left.write_text("half")
        os.utime(old, (0, 0))
        mine = [folder / "notes.txt", place / "mine.npy", folder / ".hidden", place / ".salstats-notes.txt"]
        for file in mine:
            file.write_text("mine")
        with MapFolder(folder) as maps:
            assert all(key in maps for key in keys())
        assert [f.read_text() for f in mine] == ["mine"] * 4
        left = [p.name for p in folder.rglob(".salstats-*")]
        assert left == [".salstats-notes.txt"]

    def test_what_another_command_is_writing_beside_the_table_stays(self, folder):
        write_map_folder(folder)
        with replacing_file(folder / "scores.csv") as temporary:
            temporary.write_text("case,score\n")
            with MapFolder(folder):
                pass
        assert (folder / "scores.csv").read_text() == "case,score\n"

    def test_a_table_made_elsewhere_is_added_to_with_its_own_columns(self, folder):
        folder.mkdir()
        np.save(folder / "mine.npy", np.eye(3))
        (folder / "maps.csv").write_text("case,task,method,path,age\na,Edema,gradcam,mine.npy,61\n")
        with MapFolder(folder) as maps:
            assert KEY in maps
            add(maps, KEY._replace(case="b"))
        frame = pd.read_csv(folder / "maps.csv")
        assert frame["age"].tolist()[0] == 61
        assert frame["path"][0] == "mine.npy"
        with MapFolder(folder, overwrite=True) as maps:
            assert len(maps) == 0
        # only files made here are removed
        assert (folder / "mine.npy").exists()
        assert files(folder) == ["mine.npy"]

    def test_a_table_that_pandas_wrote_anew_says_the_same(self, folder):
        seeded = MapKey("a", "Edema", "rise", "net", "3")
        with MapFolder(folder) as maps:
            add(maps, seeded)
            add(maps, MapKey("b", "Edema", "gradcam", "net"))
        frame = pd.read_csv(folder / "maps.csv")
        # beside empty cells pandas writes whole numbers as 3.0
        frame.loc[1, ["height", "width"]] = np.nan
        frame.to_csv(folder / "maps.csv", index=False)
        assert ",40.0,50.0,net,3.0" in (folder / "maps.csv").read_text()
        with MapFolder(folder) as maps:
            assert seeded in maps
            add(maps, KEY)
            maps.write_masks({("a", "Edema"): truth("a", "Edema"), ("b", "Edema"): truth("a", "Edema")})
        assert [str(s) for s in read_map_folder(folder).series] == ["rise:net:3", "gradcam:net", "gradcam"]

    @pytest.mark.slow
    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
    def test_a_run_that_is_killed_again_and_again_ends_as_one_that_was_not(self, folder, tmp_path):
        script = textwrap.dedent("""
            import sys, time
            import numpy as np
            from salstats.files.map_folder_writer import MapFolder, MapKey

            made = 0
            with MapFolder(sys.argv[1]) as maps:
                for number in range(30):
                    key = MapKey(f"c{number}", "t", "m")
                    if key not in maps:
                        made += 1
                        array = np.random.default_rng(number).random((40, 40))
                        maps.add(key, array, shape=(80, 80), prob=number / 30)
                        time.sleep(float(sys.argv[2]))
            print(made)
        """)
        command = [sys.executable, "-c", script]
        whole = tmp_path / "whole"
        subprocess.run([*command, str(whole), "0"], check=True, capture_output=True)
        made, killed = 0, 0
        for enough in (5, 20):
            running = subprocess.Popen([*command, str(folder), "0.01"], stdout=subprocess.DEVNULL)
            until = time.monotonic() + 60
            while len(files(folder) if folder.exists() else []) < enough and running.poll() is None:
                assert time.monotonic() < until, "the run makes no maps"
                time.sleep(0.005)
            running.kill()
            killed += running.wait() == -signal.SIGKILL
            for name in files(folder):
                if not name.rpartition("/")[2].startswith("."):
                    assert np.load(folder / name, allow_pickle=False).shape == (40, 40)
            n_rows = len(pd.read_csv(folder / "maps.csv"))
            n_files = sum(not name.rpartition("/")[2].startswith(".") for name in files(folder))
            # the one that was being made may have no row yet
            assert enough - 2 <= n_files - 1 <= n_rows < 30
            made = n_rows
        assert killed == 2
        assert made > 0
        ended = subprocess.run([*command, str(folder), "0"], check=True, capture_output=True, text=True)
        assert int(ended.stdout) == 30 - made
        assert (folder / "maps.csv").read_bytes() == (whole / "maps.csv").read_bytes()
        assert files(folder) == files(whole)
        for name in files(whole):
            assert (folder / name).read_bytes() == (whole / name).read_bytes()
        assert names(folder) == names(whole) == ["maps", "maps.csv"]

    @pytest.mark.parametrize(
        "header",
        [
            "{'descr': '<f8', 'fortran_order': False, 'shape': ()}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2)}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2)}",
            "{'descr': '<c16', 'fortran_order': False, 'shape': (2, 2)}",
        ],
        ids=["no axis", "no pixel", "objects", "complex"],
    )
    def test_a_file_that_is_no_map_is_made_again(self, folder, header):
        write_map_folder(folder)
        _, rows = table(folder)
        n_bytes = {"()": 8, "(0, 2)": 0, "'<c16'": 64}
        size = next((n for part, n in n_bytes.items() if part in header), 32)
        text = header.encode()
        start = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
        (folder / rows[0]["path"]).write_bytes(start + bytes(size))
        with MapFolder(folder) as maps:
            assert KEY not in maps
            add(maps)
            assert KEY in maps


class TestSettings:
    def test_other_settings_are_refused_with_both(self, folder):
        with MapFolder(folder, settings={"gradcam:resnet": "layer4"}) as maps:
            add(maps, KEY._replace(model="resnet"))
        # the settings of the maps that are there, and those that are wanted
        settings = "'layer4'.*'layer3'"
        with raises(InputFileError, option="overwrite", path=folder, value="gradcam:resnet", match=settings):
            MapFolder(folder, settings={"gradcam:resnet": "layer3"})
        with MapFolder(folder, settings={"gradcam:resnet": "layer4"}) as maps:
            assert len(maps) == 1

    def test_what_is_said_of_a_task_is_compared_where_it_has_maps(self, folder):
        settings = {KEY.series: "layer4", (KEY.series, "Edema"): "output 1"}
        with MapFolder(folder, settings={KEY.series: "layer4"}) as maps:
            add(maps)
        # a folder that did not tell so much yet
        with MapFolder(folder, settings=settings) as maps:
            assert KEY in maps
        other = {KEY.series: "layer4", (KEY.series, "Mass"): "output 2"}
        with MapFolder(folder, settings=other) as maps:
            add(maps, KEY._replace(task="Mass"))
        with raises(
            InputFileError,
            option="overwrite",
            value=("gradcam", "Edema"),
            match="'output 1'.*'output 2'",
        ):
            MapFolder(folder, settings={**settings, (KEY.series, "Edema"): "output 2"})
        with MapFolder(folder, settings={**settings, (KEY.series, "Fracture"): "output 7"}) as maps:
            assert len(maps) == 2

    def test_maps_whose_settings_nobody_knows_are_refused(self, folder):
        with MapFolder(folder) as maps:
            add(maps)
        with raises(InputFileError, option="overwrite", path=folder, value="gradcam"):
            MapFolder(folder, settings={"gradcam": "layer4"})

    def test_overwriting_drops_the_maps_of_the_series_named_and_no_others(self, folder):
        with MapFolder(folder, settings={"gradcam": "layer4", "ig": "50 steps"}) as maps:
            add(maps)
            add(maps, KEY._replace(method="ig"))
        with MapFolder(folder, settings={"gradcam": "layer3"}, overwrite=True) as maps:
            assert KEY not in maps
            assert KEY._replace(method="ig") in maps
            assert len(files(folder)) == 1
            add(maps, array=np.ones((2, 2)))
        assert np.load(folder / table(folder)[1][1]["path"]).shape == (2, 2)
        assert json.loads((folder / "settings.json").read_text()) == {"gradcam": "layer3", "ig": "50 steps"}

    def test_overwriting_without_settings_drops_all_maps_but_not_the_masks(self, folder):
        write_map_folder(folder)
        with MapFolder(folder, overwrite=True) as maps:
            assert len(maps) == 0
        assert files(folder) == []
        assert (folder / "truth.json").exists()


class TestRefused:
    @pytest.mark.parametrize(
        ("key", "array", "options", "error", "fields"),
        [
            ({}, [[0, np.nan]], {}, ValueRangeError, {"option": "saliency", "value": 1}),
            ({}, np.zeros((1, 2, 2)), {}, ShapeError, {"option": "saliency", "value": (1, 2, 2)}),
            ({}, np.array([["a"]]), {}, ValueRangeError, {"option": "saliency", "value": "<U1"}),
            ({}, [[1], [1, 2]], {}, ShapeError, {"option": "saliency", "value": None}),
            ({}, None, {"prob": 1.5}, ValueRangeError, {"option": "prob", "value": 1.5}),
            ({}, None, {"prob": "0.5"}, ValueRangeError, {"option": "prob", "value": "0.5"}),
            ({}, None, {"label": 2}, ValueRangeError, {"option": "label", "value": 2}),
            ({}, None, {"label": None}, ValueRangeError, {"option": "label", "value": None}),
            ({}, None, {"patient": "NA"}, ValueRangeError, {"option": "patient", "value": "NA"}),
            ({}, None, {"shape": (0, 5)}, ValueRangeError, {"value": (0, 5)}),
            ({"case": ""}, None, {}, SalstatsError, {"column": "case", "value": ""}),
            ({"task": " a"}, None, {}, SalstatsError, {"column": "task", "value": " a"}),
            ({"seed": "a\0"}, None, {}, SalstatsError, {"column": "seed", "value": "a\0"}),
            ({"method": "human"}, None, {}, SalstatsError, {"column": "method", "value": "human"}),
            ({"method": "ig"}, None, {}, SalstatsError, {"option": "settings", "choices": ("gradcam",)}),
            (
                {"case": "there"},
                None,
                {},
                SalstatsError,
                {"option": "key", "value": KEY._replace(case="there")},
            ),
        ],
    )
    def test_what_is_no_map_is_named(self, folder, key, array, options, error, fields):
        with MapFolder(folder, settings={"gradcam": "layer4"}) as maps:
            add(maps, KEY._replace(case="there"))
            with raises(error, **fields):
                add(maps, KEY._replace(**key), array, **options)
            assert len(maps) == len(files(folder)) == 1

    def test_two_sizes_of_one_image(self, folder):
        with MapFolder(folder) as maps:
            add(maps)
        with MapFolder(folder) as maps, raises(ShapeError, option="shape", value=(50, 40)):
            add(maps, KEY._replace(task="Mass"), shape=(50, 40))

    def test_the_size_of_a_map_or_mask_that_was_not_written_binds_nothing(self, folder):
        with MapFolder(folder) as maps:
            blocked = folder / "maps" / "gradcam"
            blocked.parent.mkdir()
            blocked.write_text("a file in the place of the folder")
            with raises(InputFileError):
                add(maps, shape=(50, 40))
            blocked.unlink()
            masks = {("a", "Edema"): np.eye(50, dtype=bool), ("b", "Edema"): np.eye(3, dtype=bool)}
            with raises(ShapeError, value=(4, 4)):
                maps.write_masks({**masks, ("b", "Mass"): np.eye(4, dtype=bool)})
            add(maps)
            add(maps, KEY._replace(case="b"))
            assert len(maps) == 2

    def test_a_mask_of_another_size_than_its_image(self, folder):
        with MapFolder(folder) as maps:
            add(maps)
            with raises(ShapeError, option="shape", value=(3, 3), match="'a'"):
                maps.write_masks({("a", "Edema"): np.eye(3, dtype=bool)})
            maps.write_masks({("b", "Edema"): np.eye(3, dtype=bool)})
            with raises(ShapeError, option="shape", value=(40, 50)):
                add(maps, KEY._replace(case="b"))

    def test_another_mask_of_the_same_case_and_task(self, folder):
        with MapFolder(folder) as maps:
            maps.write_masks({("a", "t"): np.eye(3, dtype=bool)})
            with raises(InputFileError, option="overwrite", path=folder / "truth.json"):
                maps.write_masks({("a", "t"): np.ones((3, 3), bool)})
        with MapFolder(folder, overwrite=True) as maps:
            maps.write_masks({("a", "t"): np.ones((3, 3), bool)})
        held = json.loads((folder / "truth.json").read_text())
        assert decode(Rle.from_coco(held["a"]["t"])).all()

    def test_what_maps_no_names_to_settings_or_masks(self, folder):
        with raises(SalstatsError, option="settings"):
            MapFolder(folder, settings="iou")
        maps = MapFolder(folder)
        for masks in ([np.eye(3) > 0], {"a": np.eye(3) > 0}, {("a", "Edema", "x"): np.eye(3) > 0}):
            with raises(SalstatsError, option="masks"):
                maps.write_masks(masks)
        assert not (folder / "truth.json").exists()

    def test_a_file_in_its_place(self, folder):
        folder.write_text("mine")
        with raises(InputFileError, path=folder, hint="name a folder"):
            MapFolder(folder)
        assert folder.read_text() == "mine"

    def test_masks_beside_a_folder_of_masks(self, folder):
        with MapFolder(folder) as maps:
            (folder / "truth").mkdir()
            with raises(InputFileError, path=folder / "truth"):
                maps.write_masks({("a", "t"): np.eye(3, dtype=bool)})

    @pytest.mark.parametrize("name", ["maps.csv", "truth.json", "settings.json"])
    def test_a_pipe_is_never_waited_for(self, folder, name):
        write_map_folder(folder)
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
        with (
            raises(InputFileError, path=folder / name, hint="give a file"),
            MapFolder(folder) as maps,
        ):
            maps.write_masks({("a", "Edema"): truth("a", "Edema")})

    def test_masks_that_are_damaged_are_left_as_they_are(self, folder):
        content = '{"a": 5}'
        write_map_folder(folder)
        (folder / "truth.json").write_text(content)
        with MapFolder(folder) as maps, raises(InputFileError, path=folder / "truth.json", value="a"):
            maps.write_masks({("new", "Edema"): truth("a", "Edema")})
        assert (folder / "truth.json").read_text() == content

    @pytest.mark.parametrize("link", ["maps", "maps/gradcam"])
    def test_a_link_that_leads_out_of_the_folder(self, folder, tmp_path, link):
        with MapFolder(folder):
            pass
        (tmp_path / "elsewhere").mkdir()
        (folder / link).parent.mkdir(exist_ok=True)
        (folder / link).symlink_to(tmp_path / "elsewhere")
        with MapFolder(folder) as maps, raises(InputFileError, column="path", value=map_path_of(KEY)):
            add(maps)
        assert not list((tmp_path / "elsewhere").iterdir())

    def test_a_closed_folder(self, folder):
        with MapFolder(folder) as maps:
            pass
        maps.close()
        with raises(SalstatsError, option=None, path=folder):
            add(maps)


class TestTheFolder:
    @pytest.mark.parametrize("overwrite", [False, True])
    def test_one_that_holds_other_files(self, folder, overwrite):
        folder.mkdir()
        (folder / "thesis.tex").write_text("mine")
        with raises(InputFileError, path=folder, value="thesis.tex"):
            MapFolder(folder, overwrite=overwrite)
        assert names(folder) == ["thesis.tex"]

    @pytest.mark.parametrize(
        ("content", "fields"),
        [
            ("", {"column": "case", "choices": ()}),
            ("case,task,method\n", {"column": "path", "rows": ()}),
            ("case,task,method,path,path\n", {"choices": ("case", "task", "method", "path", "path")}),
            ("case,task,method,path\na,b,c\n", {"rows": (0,), "value": 3}),
            ("case,task,method,path\na,b,c,d\na,b,c,e\n", {"rows": (0, 1)}),
            ("case,task,method,path\na,,c,d\n", {"rows": (0,), "column": "task", "value": ""}),
            ('case,task,method,path\na,b,c,"d\n', {"column": None, "rows": (), "match": "read as a table"}),
        ],
    )
    def test_one_whose_table_is_damaged_stays_as_it_is(self, folder, content, fields):
        folder.mkdir()
        (folder / "maps.csv").write_text(content)
        with raises(InputFileError, path=folder / "maps.csv", **fields):
            MapFolder(folder)
        assert (folder / "maps.csv").read_text() == content
        assert names(folder) == ["maps.csv"]

    def test_rows_that_lead_out_of_it_are_neither_looked_at_nor_removed(self, folder, tmp_path):
        write_map_folder(folder)
        outside = tmp_path / f"x~{'0' * 16}.npy"
        outside.write_bytes((folder / files(folder)[0]).read_bytes())
        change(folder, 2, path=f"../{outside.name}")
        with MapFolder(folder) as maps, raises(InputFileError, column="path", value=f"../{outside.name}"):
            assert keys()[0] in maps
        with raises(InputFileError, column="path", value=f"../{outside.name}"):
            MapFolder(folder, overwrite=True)
        assert outside.exists()

    def test_two_writers_at_once(self, folder):
        with MapFolder(folder) as maps:
            add(maps)
            with raises(InputFileError, path=folder, hint="wait until it ends"):
                MapFolder(folder)
            add(maps, KEY._replace(case="b"))
        with MapFolder(folder) as maps:
            assert len(maps) == 2

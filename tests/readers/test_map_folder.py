"""Reading a map folder: what it says of a study, what others write, and damaged ones."""

import json
import os
import shutil
import warnings

import cv2
import numpy as np
import pandas as pd
import pytest
from map_folders import (
    ABSENT,
    CASES,
    METHODS,
    SHAPE,
    TASKS,
    change,
    prob,
    saliency,
    table,
    truth,
    write_by_hand,
    write_codes,
    write_map_folder,
    write_table,
)
from tests_support import quick, raises, warns

import salstats as ss
from salstats.errors import ColumnError, InputFileError, SalstatsError
from salstats.files.map_folder_writer import MapFolder
from salstats.images.masks import decode
from salstats.readers.map_files import MAP_SUFFIXES
from salstats.readers.map_folder import TABLE_FILE, read_map_folder, recognise
from salstats.readers.pickle_machine import UnsafePickleError
from salstats.study import Series

METRICS = ["iou", "hit", "energy"]


@pytest.fixture
def folder(tmp_path):
    """A folder as `MapFolder` writes it."""
    return write_map_folder(tmp_path / "maps")


def without_columns(folder, *left_out):
    """Take columns out of the table."""
    header, rows = table(folder)
    write_table(folder, [c for c in header if c not in left_out], rows)


class TestWhatItSays:
    def test_cases_tasks_series_and_sizes(self, folder):
        study = read_map_folder(folder)
        assert [c.case for c in study] == list(CASES)
        assert study.tasks == TASKS
        assert study.series == tuple(Series(m) for m in METHODS)
        assert all(c.shape == SHAPE and c.annotated and c.patient is None for c in study)

    def test_maps_probabilities_labels_and_truths(self, folder):
        for case in read_map_folder(folder):
            assert case.labels == {t: float((case.case, t) != ABSENT) for t in TASKS}
            for task in TASKS:
                assert (decode(case.truths[task].read()) == truth(case.case, task)).all()
            for answer in case.predictions:
                held = answer.read()
                np.testing.assert_array_equal(
                    held.saliency, saliency(case.case, answer.task, answer.series.method)
                )
                assert held.prob == prob(case.case, answer.task)
                assert held.shape == SHAPE

    def test_its_scores_are_those_of_the_arrays(self, folder):
        names = [(c, t) for c in CASES for t in TASKS]
        arrays = ss.study_from_arrays(
            {key: truth(*key) for key in names},
            {(c, t, m): saliency(c, t, m) for m in METHODS for c, t in names},
        )
        columns = ["case", "task", "method", "metric", "score", "reason"]
        expected = ss.score(arrays, metrics=METRICS)[columns].sort_values(columns[:4], ignore_index=True)
        found = ss.score(folder, metrics=METRICS)[columns].sort_values(columns[:4], ignore_index=True)
        assert found["score"].notna().sum() == 3 * 2 * 5
        assert found.equals(expected)

    def test_people_answer_under_the_method_human(self, tmp_path):
        study = read_map_folder(write_map_folder(tmp_path / "maps", human=True))
        assert study.series[-1] == Series("human")
        assert study.with_maps() == tuple(Series(m) for m in METHODS)
        shifted = np.roll(truth("a", "Mass"), 2, axis=1)
        both = np.count_nonzero(shifted & truth("a", "Mass")) / np.count_nonzero(shifted | truth("a", "Mass"))
        scores = ss.score(study, metrics="iou").query("method == 'human' and case == 'a' and task == 'Mass'")
        assert scores["score"].to_list() == [both]

    def test_readers_in_the_folder_are_the_people_unless_others_are_named(self, tmp_path):
        folder = write_map_folder(tmp_path / "maps")
        (folder / "readers").mkdir()
        marked = truth("a", "Mass")
        for number in (1, 2):
            shifted = {("a", "Mass"): np.roll(marked, number, axis=0)}
            write_codes(folder / "readers" / f"R{number}.json", shifted)
        other = tmp_path / "other.json"
        write_codes(other, {("a", "Mass"): np.roll(marked, 5, axis=0)})

        def people(**options):
            study = read_map_folder(folder, **options)
            return {
                made.series: int(np.count_nonzero(decode(made.read().mask) & marked))
                for made in study.cases[0].predictions
                if made.task == "Mass" and made.series.method == "human"
            }

        # of 10 rows as many lie on the truth as it was not shifted by
        first, second = (Series("human", reader=f"R{number}") for number in (1, 2))
        assert people() == {first: 9 * 15, second: 8 * 15}
        assert people(human=other) == {Series("human"): 5 * 15}
        assert people(human={"R2": other}) == {second: 5 * 15}

    def test_people_who_looked_at_a_case_and_marked_nothing(self, tmp_path):
        folder = write_map_folder(tmp_path / "maps")
        write_codes(folder / "human.json", {("a", "Edema"): truth("a", "Edema")})
        people = (
            ss.score(folder, metrics="iou").query("method == 'human'").set_index(["case", "task"])["reason"]
        )
        assert people["a", "Mass"] == "empty mask"
        assert people["b/1", "Mass"] == "no map"

    def test_patients(self, tmp_path):
        study = read_map_folder(write_map_folder(tmp_path / "maps", patient=True))
        assert [c.patient for c in study] == ["p0", "p1", "p2"]

    def test_patients_in_the_names_of_cases(self, tmp_path, folder):
        study = ss.read_study(folder, patient_from="^(.)")
        assert [c.patient for c in study] == ["a", "b", "c"]
        with raises(ColumnError, option="patient_from", value="(z)", column="case"):
            read_map_folder(folder, patient_from="(z)")
        with raises(InputFileError, option="patient_from", column="patient"):
            read_map_folder(write_map_folder(tmp_path / "named", patient=True), patient_from="^(.)")

    def test_tasks_asked_for_in_the_order_asked_for(self, folder):
        study = read_map_folder(folder, tasks=["Mass"])
        assert study.tasks == ("Mass",)
        assert all(set(c.truths) == {"Mass"} for c in study)
        assert all(p.task == "Mass" for c in study for p in c.predictions)
        assert read_map_folder(folder, tasks=["Mass", "Edema"]).tasks == ("Mass", "Edema")

    def test_a_task_that_only_the_truth_has_comes_last_and_has_no_map(self, folder):
        header, rows = table(folder)
        write_table(folder, header, [r for r in rows if r["task"] == "Mass"])
        study = read_map_folder(folder)
        assert study.tasks == ("Mass", "Edema")
        scores = ss.score(study, metrics="iou")
        assert (scores.query("task == 'Edema'")["reason"] == "no map").all()

    def test_maps_are_read_when_they_are_scored(self, folder):
        study = read_map_folder(folder)
        file = next((folder / "maps" / "ig").iterdir())
        file.write_bytes(file.read_bytes()[:-1])
        with raises(InputFileError, path=file, value=None):
            ss.score(study)


class TestWhatOthersWrite:
    def test_the_columns_that_must_be_and_png_masks_give_the_same_scores(self, folder, tmp_path):
        columns = ["case", "task", "method", "metric", "score"]
        own, other = (
            ss.score(f, metrics=METRICS)[columns] for f in (folder, write_by_hand(tmp_path / "hand"))
        )
        own["case"] = own["case"].str.replace("/", "-")
        assert own.equals(other)

    @pytest.mark.parametrize("left_out", ["height width", "prob label model seed"])
    def test_columns_that_may_be_missing(self, folder, left_out):
        before = ss.score(folder)["score"]
        without_columns(folder, *left_out.split())
        assert ss.score(folder)["score"].equals(before)

    @pytest.mark.parametrize("unknown", ["NA", "NaN"])
    def test_what_r_and_matlab_write_for_unknown(self, folder, unknown):
        for row in range(2, 14):
            change(folder, row, model=unknown, seed=unknown, prob=unknown, label=unknown, patient=unknown)
        study = read_map_folder(folder)
        assert study.series == tuple(Series(m) for m in METHODS)
        assert all(c.patient is None and not c.labels for c in study)

    def test_masks_of_a_single_task_may_lie_in_no_folder_of_a_task(self, tmp_path):
        folder = write_by_hand(tmp_path / "by_hand")
        header, rows = table(folder)
        several_tasks = ss.read_study(folder)
        flat = folder / "truth" / TASKS[0]
        with raises(InputFileError, column="task", path=flat / "a.png"):
            read_map_folder(folder, truth=flat)
        write_table(folder, header, [row for row in rows if row["task"] == TASKS[0]])
        one_task = ss.score(read_map_folder(folder, truth=flat), metrics=METRICS)
        expected = ss.score(several_tasks, metrics=METRICS)
        expected = expected[expected["task"] == TASKS[0]].reset_index(drop=True)
        pd.testing.assert_frame_equal(one_task, expected, check_dtype=False)
        # and so may those of people
        shutil.copytree(flat, folder / "human")
        people = ss.score(read_map_folder(folder, truth=flat), metrics="iou").query("method == 'human'")
        assert set(people["score"].dropna()) == {1.0}
        assert set(people["case"]) == set(expected["case"])

    @pytest.mark.parametrize("suffix", [".png", ".tif", ".npz"])
    def test_maps_in_other_files(self, folder, suffix):
        scaled = np.round(100 * np.maximum(saliency("a", "Edema", "gradcam"), 0)).astype(np.uint8)
        file = folder / f"map{suffix}"
        if suffix == ".npz":
            np.savez(file, scaled)
        else:
            assert cv2.imwrite(str(file), scaled)
        change(folder, 2, path=file.name)
        answer = read_map_folder(folder).cases[0].predictions[0].read()
        np.testing.assert_array_equal(answer.saliency, scaled)

    def test_paths_of_windows(self, folder):
        _, rows = table(folder)
        change(folder, 2, path=rows[0]["path"].replace("/", "\\"))
        assert read_map_folder(folder).cases[0].predictions[0].read().saliency is not None


class TestTruthAndMaps:
    def test_a_case_without_a_mask_is_said_unless_its_rows_say_its_size(self, folder):
        codes = json.loads((folder / "truth.json").read_text())
        (folder / "human.json").write_text(json.dumps(codes))
        (folder / "truth.json").write_text(json.dumps({c: own for c, own in codes.items() if c != "c"}))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read_map_folder(folder)
        without_columns(folder, "height", "width")
        with warns(column="case", value="c", path=folder / "maps.csv"):
            assert not read_map_folder(folder).cases[-1].annotated

    def test_a_case_that_no_map_has_is_said_and_stays(self, folder):
        header, rows = table(folder)
        write_table(folder, header, [r for r in rows if r["case"] != "c"])
        with warns(column="case", value="c", path=folder / "truth.json"):
            study = read_map_folder(folder)
        scores = ss.score(study, metrics="iou").query("case == 'c'")
        assert (scores["reason"].to_list()) == ["no map", "no map", "finding absent", "finding absent"]

    @pytest.mark.parametrize("label", ["", "1", "0"])
    def test_a_case_without_a_file_of_a_mask_is_left_out_unless_its_label_is_0(self, tmp_path, label):
        folder = write_by_hand(tmp_path / "by_hand")
        case = CASES[1].replace("/", "-")
        for task in TASKS:
            (folder / "truth" / task / f"{case}.png").unlink()
        header, rows = table(folder)
        write_table(
            folder,
            [*header, "label", "height", "width"],
            [
                {**row, "label": label if row["case"] == case else "", "height": SHAPE[0], "width": SHAPE[1]}
                for row in rows
            ],
        )
        if label == "0":
            assert case in set(ss.score(folder, slice="full", metrics="iou")["case"])
            return
        # of three cases
        with warns(column="case", value=[case], path=folder, match=r"\b3\b"):
            scores = ss.score(folder, slice="full", metrics="iou")
        assert set(scores["case"]) == {c.replace("/", "-") for c in CASES} - {case}

    def test_a_case_that_the_truth_lacks_is_not_annotated(self, folder):
        write_codes(folder / "truth.json", {(c, t): truth(c, t) for c in ("a", "c") for t in TASKS})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            study = read_map_folder(folder)
        assert [c.annotated for c in study] == [True, False, True]
        assert set(ss.score(study)["case"]) == {"a", "c"}

    def test_an_image_that_nothing_gives_a_size(self, folder):
        write_codes(folder / "truth.json", {(c, t): truth(c, t) for c in ("a", "c") for t in TASKS})
        without_columns(folder, "height", "width")
        with raises(InputFileError, column="height", rows=(2,), path=folder / "maps.csv"):
            read_map_folder(folder)

    def test_a_truth_of_another_size_than_the_image(self, folder):
        change(folder, 4, width=51)
        # the other size, and its file
        other_source = r"truth\.json .*\(40, 50\)"
        table_file = folder / "maps.csv"
        with raises(InputFileError, value=(40, 51), rows=(2,), path=table_file, match=other_source):
            read_map_folder(folder)

    def test_no_truth(self, folder):
        (folder / "truth.json").unlink()
        with raises(InputFileError, option="truth", path=folder):
            read_map_folder(folder)

    def test_no_truth_where_none_is_needed(self, folder):
        (folder / "truth.json").unlink()
        study = read_map_folder(folder, without_truth=True)
        assert study.tasks == TASKS
        assert not any(c.annotated or c.truths for c in study)

    def test_two_truths(self, folder):
        (folder / "truth").mkdir()
        with raises(InputFileError, option="truth", path=folder / "truth.json"):
            read_map_folder(folder)

    def test_no_case_in_common(self, folder):
        write_codes(folder / "truth.json", {("z", "Edema"): truth("a", "Edema")})
        with raises(InputFileError, column="case", value="a", path=folder / "maps.csv"):
            read_map_folder(folder)

    def test_a_task_that_the_truth_spells_otherwise(self, folder):
        header, rows = table(folder)
        write_table(folder, header, [{**r, "task": r["task"].replace("Mass", "mass")} for r in rows])
        with warns(column="task", value="mass", choices=("Edema", "Mass"), rows=(1,)):
            assert read_map_folder(folder).tasks == ("Edema", "mass", "Mass")
        write_table(folder, header, [{**r, "task": "edema"} for r in rows if r["task"] == "Edema"])
        with raises(InputFileError, column="task", value="edema", choices=("Edema", "Mass"), rows=(0,)):
            read_map_folder(folder)


class TestDamaged:
    @pytest.mark.parametrize(
        ("cells", "fields"),
        [
            ({"prob": "1.2"}, {"column": "prob", "value": "1.2"}),
            ({"prob": "high"}, {"column": "prob", "value": "high"}),
            ({"label": "2"}, {"column": "label", "value": "2"}),
            ({"height": "40.5"}, {"column": "height", "value": "40.5"}),
            ({"width": "-50"}, {"column": "width", "value": "-50"}),
            ({"width": ""}, {"column": "width", "value": None, "hint": "give both, or neither"}),
            ({"path": "x" * 300 + ".npy"}, {"column": "path", "value": "x" * 300 + ".npy"}),
            ({"width": "1e8"}, {"column": None, "value": (40, 10**8)}),
            ({"width": "9" * 290}, {"column": None, "value": (40, int(1e290))}),
            ({"width": "9" * 400}, {"column": "width", "value": "9" * 400}),
            ({"case": ""}, {"column": "case", "value": ""}),
            ({"path": ""}, {"column": "path", "value": ""}),
            ({"method": "human"}, {"column": "method", "value": "human"}),
            ({"path": "gone.npy"}, {"column": "path", "value": "gone.npy", "choices": ()}),
            ({"path": "maps"}, {"column": "path", "value": "maps", "choices": MAP_SUFFIXES}),
            ({"path": "map.pkl"}, {"column": "path", "value": "map.pkl", "choices": MAP_SUFFIXES}),
            ({"path": "../maps/x.npy"}, {"column": "path", "value": "../maps/x.npy"}),
            ({"path": "/etc/passwd.npy"}, {"column": "path", "value": "/etc/passwd.npy"}),
            ({"path": "C:\\x.npy"}, {"column": "path", "value": "C:\\x.npy"}),
            ({"path": "..\\x.npy"}, {"column": "path", "value": "..\\x.npy"}),
            ({"path": "~/x.npy"}, {"column": "path", "value": "~/x.npy"}),
            ({"task": "Edema"}, {"rows": (0, 1)}),
            (
                {"label": "0", "task": "Edema", "seed": "1"},
                # the first row of the case and task has another
                {"value": 0.0, "column": "label", "rows": (1,), "match": "row 2, column 'label' .*1.0"},
            ),
        ],
    )
    def test_a_cell_is_named_by_row_and_column(self, folder, cells, fields):
        change(folder, 3, **cells)
        with raises(InputFileError, **fields) as raised:
            read_map_folder(folder)
        text = str(raised.value)
        assert text.startswith(f"{folder / 'maps.csv'}, row 3")
        assert "\n" not in text

    @pytest.mark.parametrize("content", ["", "\r\n", "\n\n"])
    def test_a_table_of_nothing(self, folder, content):
        (folder / "maps.csv").write_text(content)
        with raises(InputFileError, column="case", path=folder / "maps.csv"):
            read_map_folder(folder)

    @pytest.mark.slow
    def test_many_tasks_of_one_case_are_read_in_linear_time(self, folder):
        tasks = [*TASKS, *(f"t{i}" for i in range(20_000))]
        rows = [f"{case},{task},g,maps/a.npy,40,50,1" for case in CASES for task in tasks]
        (folder / "maps.csv").write_text("\n".join(["case,task,method,path,height,width,label", *rows]))
        np.save(folder / "maps" / "a.npy", np.eye(3))
        with quick(20):
            study = read_map_folder(folder, tasks=["t7"])
        assert study.cases[0].labels == {"t7": 1.0}

    def test_a_link_that_leads_out_of_the_folder(self, folder, tmp_path):
        np.save(tmp_path / "secret.npy", np.eye(3))
        (folder / "link.npy").symlink_to(tmp_path / "secret.npy")
        (folder / "place").symlink_to(tmp_path)
        for path in ("link.npy", "place/secret.npy"):
            change(folder, 2, path=path)
            with raises(InputFileError, column="path", value=path, hint="name a file in it", rows=(0,)):
                read_map_folder(folder)

    def test_a_link_within_the_folder_is_followed(self, folder):
        _, rows = table(folder)
        (folder / "link.npy").symlink_to(folder / rows[0]["path"])
        change(folder, 2, path="link.npy")
        assert len(read_map_folder(folder)) == 3

    def test_a_pipe_is_never_waited_for(self, folder):
        os.mkfifo(folder / "pipe.npy")
        change(folder, 2, path="pipe.npy")
        table_file = folder / "maps.csv"
        with raises(InputFileError, column="path", rows=(0,), path=table_file, value="pipe.npy"):
            read_map_folder(folder)

    def test_a_pickle_in_a_map_is_never_loaded(self, folder):
        np.save(folder / "map.npy", np.array([[{}]], object), allow_pickle=True)
        change(folder, 2, path="map.npy")
        with raises(UnsafePickleError, path=folder / "map.npy"):
            ss.score(folder)

    def test_a_map_with_nan_is_undefined_and_says_so(self, folder):
        array = saliency("a", "Edema", "gradcam")
        array[0, 0] = np.nan
        np.save(folder / "map.npy", array)
        change(folder, 2, path="map.npy")
        scores = ss.score(folder, metrics=METRICS)
        bad = scores.query("case == 'a' and task == 'Edema' and method == 'gradcam'")
        assert bad["score"].isna().all()
        assert set(bad["reason"]) == {"map is not finite"}
        assert scores["reason"].eq("map is not finite").sum() == len(METRICS)

    def test_patients_of_some_cases_only_or_two_of_one(self, tmp_path):
        folder = write_map_folder(tmp_path / "maps", patient=True)
        change(folder, 2, patient="p9")
        table_file = folder / "maps.csv"
        # the first row of the case has another
        first_row = r"row 2, .* p9"
        with raises(
            InputFileError, value="p0", column="patient", rows=(1,), path=table_file, match=first_row
        ):
            read_map_folder(folder)
        header, rows = table(folder)
        write_table(
            folder, header, [{**r, "patient": "" if r["case"] == "a" else r["patient"]} for r in rows]
        )
        with raises(InputFileError, column="patient", rows=(0,), path=folder / "maps.csv"):
            read_map_folder(folder)

    @pytest.mark.parametrize("column", ["case", "path"])
    def test_a_column_that_must_be_is_missing(self, folder, column):
        without_columns(folder, column)
        with raises(InputFileError, column=column, path=folder / "maps.csv"):
            read_map_folder(folder)

    def test_a_folder_that_a_run_has_only_begun(self, tmp_path):
        with MapFolder(tmp_path / "maps"):
            pass
        with raises(InputFileError, column=None, path=tmp_path / "maps" / "maps.csv"):
            read_map_folder(tmp_path / "maps")

    def test_options_that_cannot_be(self, folder):
        with raises(SalstatsError, option="tasks", value="Oedema", choices=("Edema", "Mass")):
            read_map_folder(folder, tasks=["Oedema"])


def test_a_map_that_lies_across_its_image_is_said(tmp_path):
    truth = np.zeros((60, 40), bool)
    truth[10:20, 5:15] = True
    for name, grid in (("right", (15, 10)), ("turned", (10, 15))):
        with ss.MapFolder(tmp_path / name) as maps:
            saliency = np.random.default_rng(0).random(grid)
            maps.add(ss.MapKey("a", "Edema", "cam"), saliency, shape=(60, 40))
            maps.write_masks({("a", "Edema"): truth})
    ss.read_map_folder(tmp_path / "right")
    (turned,) = (tmp_path / "turned" / "maps").rglob("*.npy")
    with warns(path=turned, rows=(0,), value=(10, 15)):
        ss.read_map_folder(tmp_path / "turned")


def test_maps_that_scoring_stretches_to_their_image_are_said_unless_settings_say_how_they_were_made(tmp_path):
    truth = np.zeros((60, 40), bool)
    truth[10:20, 5:15] = True
    for name, settings in (("found", None), ("made", {"cam": "Grad-CAM of a network"})):
        with ss.MapFolder(tmp_path / name, settings=settings) as maps:
            for case, grid in (("square", (30, 30)), ("coarse", (3, 2)), ("whole", (30, 20))):
                saliency = np.random.default_rng(0).random(grid)
                maps.add(ss.MapKey(case, "Edema", "cam"), saliency, shape=(60, 40))
                maps.write_masks({(case, "Edema"): truth})
    with warns(path=tmp_path / "found", column="case", value=["square"], match="30 x 30 .* 60 x 40"):
        ss.read_map_folder(tmp_path / "found")
    ss.read_map_folder(tmp_path / "made")


def test_a_folder_is_one_of_maps_by_its_table_or_its_readers(tmp_path):
    assert not recognise(tmp_path)
    (tmp_path / "readers").mkdir()
    assert recognise(tmp_path)
    (tmp_path / "readers").rmdir()
    # a file of that name is no folder of readers
    (tmp_path / "readers").touch()
    assert not recognise(tmp_path)
    (tmp_path / TABLE_FILE).touch()
    assert recognise(tmp_path)

"""Saliency-Bench's layout: a small data set image by image, splits, boxes, and what is missing."""

import json
import pickle
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tests_support import raises, warns

import salstats as ss
from salstats.errors import InputFileError, SalstatsError, SalstatsWarning, ValueRangeError
from salstats.images.masks import area, decode
from salstats.readers.saliency_bench import SPLITS, read_saliency_bench, recognise, split_by_image
from salstats.study import Series

GRID = (14, 15)
pytestmark = pytest.mark.filterwarnings(
    # the small data set lacks an annotation and has one that marks nothing; both are tested by name
    "ignore:.*images have no annotation:salstats.errors.SalstatsWarning",
    "ignore:.*images mark nothing:salstats.errors.SalstatsWarning",
)


def write(folder, images, table=None, size=(6, 8)):
    """A data set: class -> names, and its table of annotations."""
    for label, names in images.items():
        place = folder / "image" / label
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            Image.fromarray(np.zeros((*size, 3), np.uint8)).save(place / name)
    (folder / "attention_label").mkdir(exist_ok=True)
    if table is not None:
        table.to_csv(folder / "attention_label" / "a.csv", index=False)
    return folder


def noted(**masks):
    """A table of masks by image, with dots for the name's own."""
    rows = [(name.replace("_png", ".png"), json.dumps(rows)) for name, rows in masks.items()]
    return pd.DataFrame(rows, columns=["img_idx", "attention"])


#: Height and width of the images of each class, and how Pillow calls their colours.
IMAGES = ((20, 20, "RGB"), (16, 26, "RGBA"), (30, 21, "RGB"), (14, 14, "RGB"))
#: An image without an annotation, and one whose annotation marks nothing.
UNANNOTATED, UNMARKED = "square_3", "stripe_2"


@pytest.fixture
def manifest():
    """The images of a small data set: class, size, colours, and the array of each that is annotated."""
    rng = np.random.default_rng(24)
    rows = {}
    for label in ("circle", "square", "stripe"):
        for number, (height, width, mode) in enumerate(IMAGES):
            case = f"{label}_{number}"
            marked = (rng.random(GRID) < 0.3) & (case != UNMARKED)
            rows[case] = (label, height, width, mode, None if case == UNANNOTATED else marked.astype(int))
    return pd.DataFrame.from_dict(rows, "index", columns=["cls", "height", "width", "mode", "marked"])


@pytest.fixture
def tiny(manifest, tmp_path_factory):
    """This data set as files, its annotations in two tables."""
    folder = tmp_path_factory.mktemp("bench") / "tiny"
    (folder / "attention_label").mkdir(parents=True)
    for case, row in manifest.iterrows():
        place = folder / "image" / row["cls"]
        place.mkdir(parents=True, exist_ok=True)
        Image.new(row["mode"], (row["width"], row["height"])).save(place / f"{case}.png")
    masks = manifest["marked"].dropna().sample(frac=1, random_state=1)
    table = noted(**{f"{case}_png": mask.tolist() for case, mask in masks.items()})
    for name, part in (("a", table[:5]), ("b", table[5:])):
        part.to_csv(folder / "attention_label" / f"{name}.csv", index=False)
    return folder


def by_case(study):
    return {c.case: c for c in study}


class TestTiny:
    def test_every_image_is_a_case_of_its_class(self, tiny, manifest):
        study = read_saliency_bench(tiny)
        assert study.tasks == ("circle", "square", "stripe")
        assert [c.case for c in study] == sorted(manifest.index)
        for case in study:
            row = manifest.loc[case.case]
            assert case.shape == GRID
            assert {c for c, v in case.labels.items() if v == 1} == {row["cls"]}
            assert case.annotated == (case.case != UNANNOTATED)
            assert set(case.truths) == ({row["cls"]} if case.annotated else set())

    def test_a_truth_is_the_array_of_its_row(self, tiny, manifest):
        cases = by_case(read_saliency_bench(tiny))
        for name, marked in manifest["marked"].dropna().items():
            (truth,) = cases[name].truths.values()
            assert (decode(truth.read()) == marked).all()

    def test_on_the_images_grid_shapes_are_the_images(self, tiny, manifest):
        for case in read_saliency_bench(tiny, pixels="image"):
            row = manifest.loc[case.case]
            assert case.shape == (row["height"], row["width"])
            for truth in case.truths.values():
                assert truth.read().shape == case.shape

    def test_missing_annotations_and_empty_ones_are_counted(self, tiny):
        with pytest.warns(SalstatsWarning) as caught:
            read_saliency_bench(tiny)
        said = [str(w.message) for w in caught]
        assert [f"{tiny}: 1 of 12 images have no annotation (first: square_3)"] == said[:1]
        assert "annotations of 1 of 12 images mark nothing (first: stripe_2)" in said[1]

    def test_the_format_is_known_by_its_folders(self, tiny, tmp_path):
        assert recognise(tiny)
        assert not recognise(tiny / "image")
        (tmp_path / "image").mkdir()
        (tmp_path / "attention_label").mkdir()
        assert not recognise(tmp_path)


class TestClasses:
    def test_one_task_for_all_classes(self, tiny):
        study = read_saliency_bench(tiny, task="object")
        assert study.tasks == ("object",)
        assert {t for c in study for t in c.truths} == {"object"}
        assert all(not c.labels for c in study)

    def test_some_classes_in_the_order_given(self, tiny):
        study = read_saliency_bench(tiny, classes=["stripe", "circle"])
        assert study.tasks == ("stripe", "circle")
        assert {c.case.rpartition("_")[0] for c in study} == {"stripe", "circle"}

    def test_an_unknown_class_is_named(self, tiny):
        with raises(SalstatsError, value="squares", choices=("circle", "square", "stripe")):
            read_saliency_bench(tiny, classes=["circle", "squares"])


class TestSplit:
    def test_parts_are_disjoint_and_whole(self, tiny):
        parts = [
            {c.case for c in read_saliency_bench(tiny, split=part)}
            for part in ("train", "validation", "test")
        ]
        # int(0.7 * 12), int(0.15 * 12), the rest
        assert [len(p) for p in parts] == [8, 1, 3]
        assert len(set.union(*parts)) == 12

    def test_parts_do_not_depend_on_the_classes_read(self, tiny):
        everything = {c.case for c in read_saliency_bench(tiny, split="train")}
        one = {c.case for c in read_saliency_bench(tiny, split="train", classes="square")}
        assert one == {c for c in everything if c.startswith("square")}


class TestMaps:
    def test_maps_by_method_are_scored_at_the_annotations_size(self, tiny, tmp_path):
        study = read_saliency_bench(tiny, task="object")
        for method, turned in (("right", False), ("wrong", True)):
            place = tmp_path / method
            place.mkdir()
            for case in study:
                for truth in case.truths.values():
                    mask = decode(truth.read()).astype(float)
                    np.save(place / f"{case.case}.npy", 1 - mask if turned else mask)
        places = {"gradcam:resnet": tmp_path / "right", "rise:resnet:3": tmp_path / "wrong"}
        study = read_saliency_bench(tiny, task="object", maps=places)
        assert study.series == (Series("gradcam", "resnet"), Series("rise", "resnet", "3"))
        scores = ss.score(study, threshold=0.5)
        wide = scores.pivot(index="case", columns=["method", "metric"], values="score")
        assert len(wide) == 11
        found = wide.drop(index="stripe_2")
        assert (found["gradcam"] == 1).all(axis=None)
        assert (found["rise"] == 0).all(axis=None)
        assert wide.loc["stripe_2"].isna().all()

    @pytest.mark.parametrize("pixels", ["annotation", "image"])
    def test_a_study_can_be_sent_to_another_process(self, tiny, tmp_path, pixels):
        np.save(tmp_path / "circle_0.npy", np.eye(7))
        study = read_saliency_bench(tiny, maps=tmp_path, task="object", pixels=pixels)
        sent = pickle.loads(pickle.dumps(study))
        pd.testing.assert_frame_equal(ss.score(sent), ss.score(study))

    def test_a_map_of_no_image_is_said_and_one_of_another_class_is_not(self, tiny, tmp_path, recwarn):
        for name in ("circle_0", "square_0", "other"):
            np.save(tmp_path / f"{name}.npy", np.eye(7))
        read_saliency_bench(tiny, classes="square", maps=tmp_path)
        of_maps = [w.message.value for w in recwarn if w.message.path == tmp_path]
        assert of_maps == [["other"]]

    def test_probabilities_come_from_a_table(self, tiny, tmp_path):
        np.save(tmp_path / "circle_0.npy", np.eye(7))
        table = tmp_path / "table.csv"
        table.write_text("case,prob\ncircle_0,0.25\n")
        study = read_saliency_bench(tiny, maps=tmp_path, predictions=table)
        assert by_case(study)["circle_0"].predictions[0].read().prob == 0.25

    def test_probabilities_without_maps_are_an_error(self, tiny, tmp_path):
        table = tmp_path / "table.csv"
        table.write_text("case,prob\ncircle_0,0.25\n")
        with raises(SalstatsError, option="predictions", value=table):
            read_saliency_bench(tiny, predictions=table)


class TestBoxes:
    @pytest.mark.parametrize(
        "columns",
        [
            {"bbox": ["[1, 2, 3, 2]"]},
            {"boxes": ["[[1, 2, 3, 2]]"]},
            {"x": [1], "y": [2], "w": [3], "h": [2]},
            {"x": [1], "y": [2], "width": [3], "height": [2]},
            {"xmin": [1], "ymin": [2], "xmax": [4], "ymax": [4]},
        ],
    )
    def test_a_box_is_a_mask_on_the_image(self, tmp_path, columns):
        write(tmp_path, {"gun": ["x.jpg"]}, pd.DataFrame({"img_idx": ["x.jpg"], **columns}))
        (case,) = read_saliency_bench(tmp_path)
        expected = np.zeros((6, 8), bool)
        expected[2:4, 1:4] = True
        assert case.shape == expected.shape
        assert (decode(case.truths["gun"].read()) == expected).all()

    def test_boxes_of_one_image_are_put_together(self, tmp_path):
        table = pd.DataFrame({"img_idx": ["x.png"] * 2, "x": [0, 5], "y": 0, "w": 2, "h": 6})
        write(tmp_path, {"gun": ["x.png"]}, table)
        (case,) = read_saliency_bench(tmp_path)
        assert area(case.truths["gun"].read()) == 24
        assert case.truths["gun"].n_instances == 2

    def test_a_box_beyond_the_image_is_cut_off_and_said(self, tmp_path):
        write(tmp_path, {"gun": ["x.png"]}, pd.DataFrame({"img_idx": ["x.png"], "bbox": ["[6, 4, 9, 9]"]}))
        with warns(value=["x"], hint=""):
            (case,) = read_saliency_bench(tmp_path)
        assert area(case.truths["gun"].read()) == 4


class TestBadInput:
    def test_another_layout_is_said(self, tmp_path):
        with raises(InputFileError, path=tmp_path / "none"):
            read_saliency_bench(tmp_path / "none")
        with raises(InputFileError, path=tmp_path):
            read_saliency_bench(tmp_path)
        (tmp_path / "image" / "a").mkdir(parents=True)
        with raises(InputFileError, option=None, path=tmp_path / "image"):
            read_saliency_bench(tmp_path)
        with raises(InputFileError, option="annotations", path=tmp_path / "attention_label"):
            read_saliency_bench(write(tmp_path, {"a": ["x.png"]}))

    def test_one_name_in_two_classes_is_refused(self, tmp_path):
        write(tmp_path, {"a": ["x.png"], "b": ["x.jpg"]}, noted(x_png=[[1]]))
        with raises(InputFileError, value="x", path=tmp_path / "image" / "b" / "x.jpg"):
            read_saliency_bench(tmp_path)

    def test_two_annotations_that_differ_are_refused_and_equal_ones_are_not(self, tmp_path):
        table = pd.concat([noted(x_png=[[1, 0]]), noted(x_png=[[1, 0]])])
        write(tmp_path, {"a": ["x.png"]}, table)
        assert len(read_saliency_bench(tmp_path)) == 1
        write(tmp_path, {}, pd.concat([table, noted(x_png=[[0, 1]])]))
        # the row of the first
        with raises(InputFileError, option="annotations", rows=(2,), match=r"row 2\b"):
            read_saliency_bench(tmp_path)

    def test_annotations_of_no_image_are_counted(self, tmp_path):
        write(tmp_path, {"a": ["x.png"]}, noted(x_png=[[1]], y_png=[[1]], z_png=[[1]]))
        names = ["y.png", "z.png"]
        # the row of the first
        with warns(column="img_idx", path=tmp_path / "image", value=names, match=r"row 3\b"):
            read_saliency_bench(tmp_path)
        write(tmp_path, {}, noted(y_png=[[1]]))
        with raises(InputFileError, column="img_idx", path=tmp_path / "image"):
            read_saliency_bench(tmp_path)

    def test_other_files_are_said(self, tmp_path):
        write(tmp_path, {"a": ["x.png"]}, noted(x_png=[[1]]))
        (tmp_path / "image" / "a" / "notes.txt").touch()
        (tmp_path / "image" / "a" / ".hidden").touch()
        with warns(path=tmp_path / "image" / "a" / "notes.txt"):
            read_saliency_bench(tmp_path)

    @pytest.mark.parametrize(
        ("option", "value"), [("pixels", "images"), ("split", "dev"), ("shares", (0.6, 0.3, 0.3))]
    )
    def test_options_that_are_none(self, tiny, option, value):
        with raises(ValueRangeError, option=option, value=value):
            read_saliency_bench(tiny, **{option: value})

    def test_a_copy_in_another_order_reads_the_same(self, tiny, tmp_path):
        copy = shutil.copytree(tiny, tmp_path / "copy", copy_function=shutil.copyfile)
        first, second = (
            [(c.case, c.labels, c.shape) for c in read_saliency_bench(f, split="train")] for f in (tiny, copy)
        )
        assert first == second


def labels_of(**sizes):
    return {f"{label}_{i}": label for label, n in sizes.items() for i in range(n)}


@pytest.mark.parametrize("n", [1, 2, 10, 13, 100, 999])
def test_sizes_are_those_of_the_benchmarks_rule(n):
    counted = Counter(split_by_image(labels_of(a=n)).values())
    # 70 and 15 hundredths in whole numbers
    train, validation = n * 70 // 100, n * 15 // 100
    assert [counted[p] for p in SPLITS] == [train, validation, n - train - validation]


@pytest.mark.parametrize("seed", range(5))
def test_every_class_has_nearly_its_share(seed):
    sizes = {"a": 100, "b": 37, "c": 8, "d": 61}
    parts = split_by_image(labels_of(**sizes), rng=seed)
    n = sum(sizes.values())
    counted = Counter(parts.values())
    for label, size in sizes.items():
        own = Counter(part for name, part in parts.items() if name.startswith(label))
        # one border cuts all classes: each is within one image of it, the others together here within two
        assert abs(own["train"] - size * counted["train"] / n) <= 1 + size / n
        assert abs(own["test"] - size * counted["test"] / n) <= 1 + size / n


def test_the_order_of_the_names_does_not_matter():
    labels = labels_of(a=30, b=20)
    turned = dict(reversed(labels.items()))
    assert split_by_image(labels) == split_by_image(turned)
    assert list(split_by_image(labels)) == sorted(labels)


def test_the_seed_decides_and_a_generator_serves():
    labels = labels_of(a=50)
    assert split_by_image(labels, rng=1) == split_by_image(labels, rng=np.random.default_rng(1))
    assert split_by_image(labels, rng=1) != split_by_image(labels, rng=2)


def test_every_image_can_come_into_every_part():
    seen = {(n, p) for seed in range(200) for n, p in split_by_image(labels_of(a=7, b=7), rng=seed).items()}
    assert len(seen) == 14 * 3


@pytest.mark.parametrize("shares", [(1, 0), (0.5, 0.5, 0.5), (1.2, -0.1, -0.1), (float("nan"), 0, 1)])
def test_shares_that_are_none_are_refused(shares):
    with raises(ValueRangeError, option="shares"):
        split_by_image(labels_of(a=3), shares=shares)


@pytest.mark.parametrize("kind", [str, Path, lambda file: [file], lambda file: (str(file),)])
def test_annotations_are_one_table_or_several_by_their_paths(tmp_path, kind):
    folder = write(tmp_path / "set", {"gun": ["x.png", "y.png"]}, noted(x_png=[[1, 0]], y_png=[[1, 0]]))
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    noted(x_png=[[1, 1]]).to_csv(first, index=False)
    noted(y_png=[[0, 1]]).to_csv(second, index=False)
    x, y = read_saliency_bench(folder, annotations=kind(first))
    assert area(x.truths["gun"].read()) == 2
    assert "gun" not in y.truths
    both = read_saliency_bench(folder, annotations=[first, str(second)])
    assert [area(case.truths["gun"].read()) for case in both] == [2, 1]


def test_no_table_of_annotations_is_an_error(tmp_path):
    folder = write(tmp_path, {"gun": ["x.png"]}, noted(x_png=[[1, 0]]))
    with raises(InputFileError, option="annotations", path=folder / "attention_label"):
        read_saliency_bench(folder, annotations=[])

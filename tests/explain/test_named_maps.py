"""Each map belongs to an image by its keys, from arrays as from a folder."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.errors import (  # noqa: E402
    InputFileError,
    SalstatsError,
    ShapeError,
    ValueRangeError,
)
from salstats.explain import Network  # noqa: E402
from salstats.explain.named_maps import (  # noqa: E402
    ImageKeys,
    ImageMap,
    image_keys,
    maps_of_each_image_and_method,
    stored_maps_of_network,
    warn_of_stretched_maps,
)
from salstats.images.preparation import Preparation  # noqa: E402
from salstats.study import Series  # noqa: E402


def test_images_without_names_are_counted_from_0():
    assert image_keys(None, None, 3) == ImageKeys(["0", "1", "2"], None)


def test_names_become_text():
    assert image_keys([7, 8], [1, 1], 2) == ImageKeys(["7", "8"], ["1", "1"])


def test_a_message_names_the_task_of_an_image_if_there_is_one():
    assert ImageKeys(["p", "q"]).text(1) == "case q"
    assert ImageKeys(["p", "q"], ["Edema", "Mass"]).text(1) == "case q, task Mass"


def test_one_case_may_stand_for_several_tasks():
    keys = image_keys(["p", "p"], ["Edema", "Mass"], 2)
    assert keys.cases == ["p", "p"]


@pytest.mark.parametrize("tasks", [None, ["Edema", "Mass", "Edema"]])
def test_two_images_of_the_same_keys_are_an_error_with_both_rows(tasks):
    with raises(SalstatsError, option="cases", value="p", rows=(0, 2)):
        image_keys(["p", "q", "p"], tasks, 3)


def test_only_images_without_tasks_are_told_to_take_tasks():
    with raises(SalstatsError, option="cases") as without_tasks:
        image_keys(["p", "p"], None, 2)
    with raises(SalstatsError, option="cases") as with_tasks:
        image_keys(["p", "p"], ["Edema", "Edema"], 2)
    assert "tasks" in str(without_tasks.value.hint)
    assert str(with_tasks.value.hint) == ""


@pytest.mark.parametrize("option", ["cases", "tasks"])
@pytest.mark.parametrize("missing", [None, np.nan, ""])
def test_an_image_without_a_name_is_an_error_with_its_row(option, missing):
    names = {"cases": ["p", "q"], "tasks": ["Edema", "Mass"]}
    names[option] = [names[option][0], missing]
    with raises(ValueRangeError, option=option, rows=(1,)):
        image_keys(**names, n=2)


@pytest.mark.parametrize("names", ["ab", ["a"], ["a", "b", "c"]])
@pytest.mark.parametrize("option", ["cases", "tasks"])
def test_each_image_needs_one_name(option, names):
    with raises(ShapeError, option=option):
        image_keys(**{"cases": None, "tasks": None, option: names}, n=2)


def test_key_columns_follow_the_images_of_the_rows():
    keys = ImageKeys(["p", "q"], ["Edema", "Mass"])
    columns = keys.columns(np.array([1, 1, 0]))
    assert {name: list(values) for name, values in columns.items()} == {
        "case": ["q", "q", "p"],
        "task": ["Mass", "Mass", "Edema"],
    }
    assert list(ImageKeys(["p", "q"]).columns(np.array([1]))) == ["case"]


def test_maps_go_image_by_image_and_then_method_by_method():
    gradcam = np.arange(8.0).reshape(2, 2, 2)
    occlusion = torch.arange(18.0, requires_grad=True).reshape(2, 3, 3)
    maps = maps_of_each_image_and_method(
        {"gradcam": gradcam, "occlusion": occlusion}, None, ImageKeys(["p", "q"])
    )
    assert [(one.image_index, one.series.method) for one in maps] == [
        (0, "gradcam"),
        (0, "occlusion"),
        (1, "gradcam"),
        (1, "occlusion"),
    ]
    np.testing.assert_array_equal(maps[2].saliency, [[4, 5], [6, 7]])
    np.testing.assert_array_equal(maps[3].saliency, np.arange(9.0, 18.0).reshape(3, 3))


@pytest.mark.parametrize(("method", "name"), [(None, "saliency"), ("lime", "lime")])
def test_an_array_of_maps_is_of_one_method(method, name):
    (image_map,) = maps_of_each_image_and_method(np.eye(2)[None], method, ImageKeys(["p"]))
    assert image_map.series.method == name


def test_a_name_beside_maps_that_name_their_methods_is_an_error():
    with raises(SalstatsError, option="method", value="lime"):
        maps_of_each_image_and_method({"ig": np.eye(2)[None]}, "lime", ImageKeys(["p"]))


def test_a_mapping_without_methods_is_an_error():
    with raises(SalstatsError, option="maps"):
        maps_of_each_image_and_method({}, None, ImageKeys(["p"]))


@pytest.mark.parametrize("n_maps", [1, 3])
def test_each_image_needs_one_map_of_each_method(n_maps):
    with raises(ShapeError, option="maps", value="ig"):
        maps_of_each_image_and_method({"ig": np.ones((n_maps, 2, 2))}, None, ImageKeys(["p", "q"]))


def test_a_map_that_is_not_finite_is_an_error_with_its_case_task_and_method():
    maps = np.ones((2, 2, 2))
    maps[1, 0, 1] = np.nan
    with raises(ValueRangeError, option="saliency", value=(("p", "Mass"), "ig")):
        maps_of_each_image_and_method({"ig": maps}, None, ImageKeys(["p", "p"], ["Edema", "Mass"]))


@pytest.mark.parametrize("shape", [(7, 7), (14, 14), (8, 8), (4, 4)])
def test_a_square_map_may_cover_a_square_input(shape, recwarn):
    warn_of_stretched_maps([ImageMap(0, Series("ig"), np.ones(shape))], (224, 224), ImageKeys(["p"]))
    assert not recwarn.list


def test_maps_of_other_proportions_are_counted_and_the_first_is_named():
    maps = [ImageMap(image, Series("ig"), np.ones((8, 8))) for image in range(3)]
    maps[1] = ImageMap(1, Series("ig"), np.ones((8, 4)))
    maps[2] = ImageMap(2, Series("lime"), np.ones((4, 8)))
    # the size of the first
    with warns(value=[("q", "ig"), ("r", "lime")], match="8 x 4"):
        warn_of_stretched_maps(maps, (16, 16), ImageKeys(["p", "q", "r"]))


MODULE = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2))
TASKS = {"Edema": 1, "Mass": 0}


def network(**changes):
    """A network of one channel and 4 x 4 pixels."""
    options = {"tasks": TASKS, "preparation": Preparation((4, 4), channels=1)}
    return Network("cnn", MODULE, **{**options, **changes})


def map_folder(folder, rows):
    """A map folder with rows of case, task and further columns; the map of row i has i in each pixel."""
    folder.mkdir()
    table = []
    for i, row in enumerate(rows):
        np.save(folder / f"{i}.npy", np.full((2, 2), float(i)))
        table.append({"method": "gradcam", "path": f"{i}.npy", **row})
    pd.DataFrame(table).to_csv(folder / "maps.csv", index=False)
    return folder


IMAGES = {case: np.full((4, 4), level, np.uint8) for case, level in {"p": 0, "q": 255, "r": 9}.items()}


def test_a_case_of_a_folder_has_its_image_once_for_each_task(tmp_path):
    folder = map_folder(
        tmp_path / "maps",
        [
            {"case": "q", "task": "Mass"},
            {"case": "p", "task": "Edema"},
            {"case": "q", "task": "Edema"},
            {"case": "q", "task": "Mass", "method": "lime"},
        ],
    )
    maps = stored_maps_of_network(network(), MODULE, IMAGES, folder)
    assert len(maps) == 2
    first, second = maps.cases()
    assert first.keys == ImageKeys(["q", "q"], ["Mass", "Edema"])
    assert first.targets == [0, 1]
    assert first.images.shape == (2, 1, 4, 4)
    assert (first.images == 1).all()
    # each map has the index of its row as its value
    assert [(m.image_index, m.series.method, m.saliency[0, 0]) for m in first.maps] == [
        (0, "gradcam", 0.0),
        (0, "lime", 3.0),
        (1, "gradcam", 2.0),
    ]
    assert second.keys == ImageKeys(["p"], ["Edema"])
    assert second.targets == [1]


def test_maps_of_a_folder_are_those_of_the_networks_name_and_seed(tmp_path):
    columns = [("cnn", 0), ("cnn", 1), ("other", 1)]
    rows = [{"case": "p", "task": "Mass", "model": model, "seed": seed} for model, seed in columns]
    folder = map_folder(tmp_path / "maps", rows)

    def values(chosen):
        (case,) = stored_maps_of_network(chosen, MODULE, IMAGES, folder).cases()
        return [image_map.saliency[0, 0] for image_map in case.maps]

    assert values(network()) == [0.0, 1.0]
    assert values(network(seed=1)) == [1.0]
    with raises(SalstatsError, choices=("cnn", "other"), path=folder / "maps.csv"):
        stored_maps_of_network(network(seed=2), MODULE, IMAGES, folder)


def test_a_folder_needs_images_by_case(tmp_path):
    folder = map_folder(tmp_path / "maps", [{"case": "p", "task": "Mass"}])
    with raises(SalstatsError, option="images"):
        stored_maps_of_network(network(), MODULE, [IMAGES["p"]], folder)
    with raises(SalstatsError, option="images", value="p", path=folder):
        stored_maps_of_network(network(), MODULE, {"q": IMAGES["q"]}, folder)


def test_a_task_that_the_network_does_not_know_is_an_error(tmp_path):
    folder = map_folder(tmp_path / "maps", [{"case": "p", "task": "Nodule"}])
    with raises(SalstatsError, choices=tuple(TASKS), path=folder):
        stored_maps_of_network(network(), MODULE, IMAGES, folder)


def test_an_image_of_another_size_than_the_table_says_is_an_error(tmp_path):
    folder = map_folder(tmp_path / "maps", [{"case": "p", "task": "Mass", "height": 8, "width": 4}])
    maps = stored_maps_of_network(network(), MODULE, IMAGES, folder)
    with raises(InputFileError, column="height", value=(8, 4), rows=(0,)):
        list(maps.cases())


@pytest.mark.parametrize(
    ("cases", "tasks", "expected"),
    [
        (None, None, {"p": ["Mass", "Edema"], "q": ["Mass"]}),
        (["q"], None, {"q": ["Mass"]}),
        (["p", "other"], None, {"p": ["Mass", "Edema"]}),
        # pairs, and not each case with each task
        (["p", "q"], ["Edema", "Mass"], {"p": ["Edema"], "q": ["Mass"]}),
        (["p", "q"], ["Mass", "Edema"], {"p": ["Mass"]}),
    ],
)
def test_maps_are_those_of_the_cases_or_of_the_pairs_of_case_and_task(tmp_path, cases, tasks, expected):
    rows = [{"case": case, "task": task} for case, task in (("p", "Mass"), ("p", "Edema"), ("q", "Mass"))]
    folder = map_folder(tmp_path / "maps", rows)
    maps = stored_maps_of_network(network(), MODULE, IMAGES, folder, cases, tasks)
    assert {keys.cases[0]: keys.tasks for keys in (case.keys for case in maps.cases())} == expected


def test_names_of_cases_need_not_be_text(tmp_path):
    folder = map_folder(tmp_path / "maps", [{"case": case, "task": "Mass"} for case in ("7", "8")])
    images = {7: IMAGES["p"], 8: IMAGES["q"]}
    for tasks in (None, ["Mass"]):
        maps = stored_maps_of_network(network(), MODULE, images, folder, [8], tasks)
        assert [case.keys.cases for case in maps.cases()] == [["8"]]


@pytest.mark.parametrize(
    ("cases", "tasks", "option"),
    [
        (["r"], None, "cases"),
        (["q"], ["Edema"], "cases"),
        ([], None, "cases"),
        (None, ["Mass"], "tasks"),
        (["p", "q"], ["Mass"], "tasks"),
        (["p"], [""], "tasks"),
    ],
)
def test_cases_and_tasks_without_a_map_are_an_error(tmp_path, cases, tasks, option):
    rows = [{"case": case, "task": task} for case, task in (("p", "Mass"), ("p", "Edema"), ("q", "Mass"))]
    folder = map_folder(tmp_path / "maps", rows)
    with pytest.raises(SalstatsError) as caught:
        stored_maps_of_network(network(), MODULE, IMAGES, folder, cases, tasks)
    assert caught.value.option == option

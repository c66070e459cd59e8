"""Networks and images that commands of the torch side take."""

import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import typer
from tests_support import raises

from salstats.cli import networks
from salstats.cli.networks import (
    NetworkOptions,
    images_by_path_case,
    network_of_function,
    tasks_of_outputs,
    whole_number,
)
from salstats.errors import InputFileError, SalstatsError
from salstats.images.preparation import IMAGENET


def options(**typed):
    """Options as they were typed, None where they were not."""
    names = ("tasks", "weights", "outputs", "probability", "layer", "size", "fit", "mean", "std")
    return NetworkOptions(**dict.fromkeys(names) | typed)


@dataclass
class Network:
    """Stand for a network of salstats.explain."""

    probability: str | None = None


@pytest.fixture
def calls(monkeypatch):
    """Arguments of the networks of torchvision that were made, without torch."""
    made = []

    def torchvision_network(name, weights, **rest):
        made.append({"name": name, "weights": weights, **rest})
        return "network"

    explain = SimpleNamespace(torchvision_network=torchvision_network, Network=Network)
    monkeypatch.setattr(networks, "imported_explain", lambda: explain)
    return made


def test_a_network_by_name_gets_its_options(calls):
    typed = options(tasks=["Edema"], weights="w.pt", outputs="3", layer="features", probability="none")
    assert typed.network("densenet121") == "network"
    (call,) = calls
    assert (call["name"], call["weights"], call["tasks"]) == ("densenet121", "w.pt", ["Edema"])
    assert (call["n_outputs"], call["layer"], call["probability"]) == (3, "features", "none")
    preparation = call["preparation"]
    assert (preparation.size, preparation.fit) == ((224, 224), "stretch")
    assert preparation.mean == IMAGENET["mean"]


def test_images_are_prepared_as_typed(calls):
    needed = {"tasks": ["Edema"], "weights": "w.pt"}
    options(**needed, size="224x320", fit="inside", mean=["0.5"], std=["0.1,0.2,0.3"]).network("resnet18")
    options(**needed, size="64").network("resnet18")
    assert "n_outputs" not in calls[0]
    first, second = (call["preparation"] for call in calls)
    assert (first.size, first.fit, second.size) == ((224, 320), "inside", (64, 64))
    # one value is that of every channel
    assert first.mean == 0.5
    assert first.std == (0.1, 0.2, 0.3)


@pytest.mark.parametrize(
    ("typed", "missing"),
    [
        ({}, "--weights FILE and --tasks A,B"),
        ({"tasks": ["a"]}, "--weights FILE"),
        ({"weights": "w"}, "--tasks A,B"),
    ],
)
def test_a_network_by_name_needs_weights_and_tasks(typed, missing):
    with pytest.raises(typer.BadParameter) as caught:
        options(**typed).network("densenet121")
    assert caught.value.message.startswith(f"--network densenet121 needs {missing};")
    assert "FILE.py:FUNCTION" in caught.value.message


@pytest.mark.parametrize("option", ["weights", "outputs", "layer", "size", "fit", "mean", "std"])
def test_a_python_function_has_its_own_options(option):
    with pytest.raises(typer.BadParameter) as caught:
        options(**{option: "1"}).network("module:function")
    assert caught.value.message.startswith(f"--{option} ")


def test_numbers_of_outputs_are_whole():
    assert whole_number("12", "--outputs") == 12
    with pytest.raises(typer.BadParameter):
        whole_number("1.5", "--outputs")


def test_tasks_are_listed_or_have_the_numbers_of_their_outputs():
    assert tasks_of_outputs(None) is None
    assert tasks_of_outputs(["Edema,Nodule"]) == ["Edema", "Nodule"]
    assert tasks_of_outputs(["Edema=3,Nodule=7"]) == {"Edema": 3, "Nodule": 7}


def test_images_of_a_folder_are_cases_by_their_paths(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("a/b.PNG", "c.jpg", "notes.txt"):
        (tmp_path / name).touch()
    assert images_by_path_case(tmp_path) == {"a_b": tmp_path / "a/b.PNG", "c": tmp_path / "c.jpg"}


def test_two_images_of_one_case_no_image_and_no_folder_are_errors(tmp_path):
    with raises(InputFileError, path=tmp_path / "nowhere"):
        images_by_path_case(tmp_path / "nowhere")
    endings = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
    with raises(InputFileError, path=tmp_path, choices=endings):
        images_by_path_case(tmp_path)
    (tmp_path / "a").mkdir()
    for name in ("a/b.png", "a_b.png"):
        (tmp_path / name).touch()
    with raises(InputFileError, path=tmp_path / "a_b.png", value="a_b"):
        images_by_path_case(tmp_path)


@pytest.fixture
def module(tmp_path, monkeypatch, calls):
    """A module in the working directory with networks, and other things."""
    monkeypatch.chdir(tmp_path)
    lines = [
        "from salstats.cli.networks import imported_explain",
        "network = imported_explain().Network()",
        "def make(): return network",
        "def other(): return 3",
        "def broken(): raise KeyError('lost')",
        "def leaving():",
        "    import os",
        "    os.chdir('/')",
        "    return network",
    ]
    (tmp_path / "own_networks.py").write_text("\n".join(lines))
    yield "own_networks"
    sys.modules.pop("own_networks", None)


@pytest.mark.parametrize(
    "path", ["own_networks:make", "own_networks.py:make", "own_networks:network", "own_networks:leaving"]
)
def test_networks_of_a_module_are_made_or_taken(module, path):
    before = list(sys.path)
    assert isinstance(network_of_function(path), Network)
    assert isinstance(options().network(path), Network)
    assert sys.path == before


def test_probabilities_are_made_as_typed_also_of_the_outputs_of_a_python_function(module):
    assert options(probability="none").network("own_networks:make").probability == "none"


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("own_networks:makes", type(None)),
        ("own_networks:other", type(None)),
        ("own_networks:broken", KeyError),
        ("nowhere:make", ModuleNotFoundError),
    ],
)
def test_what_is_no_network_is_an_error_with_its_reason(module, path, cause):
    with raises(SalstatsError, option="network", value=path) as caught:
        network_of_function(path)
    assert type(caught.value.__cause__) is cause
    # the names to choose from, where there is none of this name
    assert ("make" in caught.value.choices) == path.endswith("makes")

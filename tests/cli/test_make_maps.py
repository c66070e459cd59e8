"""`salstats make-maps`: networks by a Python path, and of torchvision with weights, to a folder of maps."""

import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests_support import error_line

import salstats as ss
from salstats.cli.app import run
from salstats.cli.make_maps import _method_options
from salstats.cli.networks import NetworkOptions


@pytest.fixture
def images(tmp_path, monkeypatch):
    """The working folder, with three canvases in `images`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "images").mkdir()
    for file in sorted((ss.datasets.digits_examples() / "images").glob("*.png"))[:3]:
        (tmp_path / "images" / file.name).write_bytes(file.read_bytes())
    return tmp_path


@pytest.mark.torch
def test_the_example_of_the_help_makes_the_maps_of_python(images, capsys, monkeypatch):
    pytest.importorskip("torch", reason="needs the explain extra")
    monkeypatch.setenv("COLUMNS", "300")
    run(["make-maps", "--help"])
    example = re.search(r"Example: salstats (.*)", capsys.readouterr().out).group(1)
    assert run(shlex.split(example)) == 0
    cases = {file.stem: file for file in (images / "images").iterdir()}
    ss.explain.make_maps("python", cases, ss.explain.digits_network(), progress=False)
    made, expected = (sorted((images / f).rglob("*.npy")) for f in ("maps", "python"))
    assert len(made) == 30
    assert [m.read_bytes() for m in made] == [e.read_bytes() for e in expected]


@pytest.mark.torch
def test_a_network_of_torchvision_has_its_weights_and_outputs(images, capsys):
    torch = pytest.importorskip("torch", reason="needs the explain extra")
    models = pytest.importorskip("torchvision.models", reason="needs the explain extra")
    torch.save(models.squeezenet1_1(num_classes=4).state_dict(), "best.pt")
    call = "make-maps images --network squeezenet1_1 --weights best.pt --size 64 -o maps --tasks"
    assert run([*shlex.split(call), "Edema,Effusion"]) == 2
    assert "weights of another network" in error_line(capsys)
    assert run([*shlex.split(call), "Edema,Effusion", "--outputs", "4", "--mean", "0.5"]) == 0
    made = ss.read_data("maps/maps.csv")
    assert set(made["task"]) == {"Edema", "Effusion"}
    assert set(made["model"]) == {"squeezenet1_1"}


@pytest.mark.torch
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("images --network densenet121", "needs --weights FILE and --tasks"),
        ("images --network densenet121 --weights a.pt", "needs --tasks A,B"),
        ("images --network nonsense --weights a.pt --tasks Edema", "torchvision has no network 'nonsense'"),
        ("images --network resnet19 --weights a.pt --tasks Edema", "did you mean 'resnet18' or"),
        ("images --network mine:broken --layer x", "--layer belongs to a network by name"),
        ("images --network mine:broken --mean 0", "--mean belongs to a network by name"),
        ("images --network nothing:here", "--network nothing:here: no file nothing.py in "),
        ("images --network mine.py:brocken", "mine has no 'brocken'; did you mean 'broken'?"),
        ("images --network pathlib:Path", "gives a PosixPath, and should give a salstats.explain.Network"),
        ("images --network mine:broken", "--network mine:broken: RuntimeError: no such weights"),
        ("none --network salstats.explain:digits_network", "none: no such folder of images"),
        (
            "images --network salstats.explain:digits_network --methods ig",
            "did you mean 'integrated_gradients'?",
        ),
        ("images --network salstats.explain:digits_network --option rise=5", "rise.n_masks=500"),
    ],
)
def test_what_cannot_be_made_is_one_line_and_no_folder(images, capsys, arguments, said):
    pytest.importorskip("torch", reason="needs the explain extra")
    (images / "mine.py").write_text("def broken():\n    raise RuntimeError('no such weights')\n")
    assert run(["make-maps", *shlex.split(arguments), "-o", "maps"]) == 2
    assert said in error_line(capsys)
    assert not (images / "maps").exists()


def test_options_of_a_method_are_numbers_lists_or_text():
    texts = ["rise.n_masks=500", "rise.grid=[7, 7]", "occlusion.fill=mean", "occlusion.stride=0.5"]
    assert _method_options(texts) == {
        "rise": {"n_masks": 500, "grid": [7, 7]},
        "occlusion": {"fill": "mean", "stride": 0.5},
    }


def test_what_is_typed_reaches_the_function_and_nothing_else_does(images, monkeypatch, capsys):
    calls = []
    explain = SimpleNamespace(make_maps=lambda *arguments, **options: calls.append((arguments, options)))
    monkeypatch.setattr("salstats.cli.make_maps.imported_explain", lambda: explain)
    monkeypatch.setattr(NetworkOptions, "network", lambda self, name: (name, self))
    assert run(shlex.split("make-maps images --network mine:one -o maps")) == 0
    (folder, cases, networks), options = calls.pop()
    assert folder == Path("maps")
    assert {case: path.name for case, path in cases.items()} == {
        file.stem: file.name for file in (images / "images").iterdir()
    }
    nothing = dict.fromkeys(("weights", "outputs", "probability", "layer", "size", "fit", "mean", "std"))
    assert networks == [("mine:one", NetworkOptions(tasks=None, **nothing))]
    assert options == {
        "tasks": None, "methods": ["gradcam"], "options": {}, "resolution": "network", "rng": 0,
        "device": None, "overwrite": False,
    }  # fmt: skip
    assert "Maps of 3 images" in capsys.readouterr().out
    typed = (
        "make-maps images --network a --network b -o maps --methods rise,lime --tasks Edema=3 "
        "--option rise.keep=0.2 --resolution image --seed 7 --batch-size 4 --device cpu --overwrite "
        "--weights w.pt --outputs 5 --probability softmax --layer features --size 32x64 --fit pad "
        "--mean 0.1,0.2 --std 0.3"
    )
    assert run(shlex.split(typed)) == 0
    (_, _, networks), options = calls.pop()
    given = {
        "tasks": {"Edema": 3}, "weights": Path("w.pt"), "outputs": "5", "probability": "softmax",
        "layer": "features", "size": "32x64", "fit": "pad", "mean": ["0.1,0.2"], "std": ["0.3"],
    }  # fmt: skip
    assert [name for name, _ in networks] == ["a", "b"]
    for _, network_options in networks:
        assert {name: getattr(network_options, name) for name in given} == given
    assert options == {
        "tasks": {"Edema": 3}, "methods": ["rise", "lime"], "options": {"rise": {"keep": 0.2}},
        "resolution": "image", "rng": 7, "batch_size": 4, "device": "cpu", "overwrite": True,
    }  # fmt: skip

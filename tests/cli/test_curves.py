"""`salstats curves`: areas under insertion and deletion curves of a folder of maps, and their points."""

import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from PIL import Image
from tests_support import error_line

import salstats as ss
from salstats.cli.app import run
from salstats.cli.networks import NetworkOptions

NETWORK = "--network salstats.explain:digits_network"


@pytest.fixture
def maps(tmp_path, monkeypatch):
    """The working folder, with two canvases in `images` and their maps in `maps`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "images").mkdir()
    for file in sorted((ss.datasets.digits_examples() / "images").glob("*.png"))[:2]:
        (tmp_path / "images" / file.name).write_bytes(file.read_bytes())
    assert run(shlex.split(f"make-maps images {NETWORK} -o maps")) == 0
    return tmp_path


@pytest.mark.torch
def test_the_example_of_the_help_gives_the_areas_of_python(maps, capsys, monkeypatch):
    pytest.importorskip("torch", reason="needs the explain extra")
    monkeypatch.setenv("COLUMNS", "300")
    run(["curves", "--help"])
    example = re.search(r"Example: salstats (.*)", capsys.readouterr().out).group(1)
    assert run([*shlex.split(example), "--points", "points.csv"]) == 0
    assert "of 2 images written to scores.csv" in capsys.readouterr().out
    written = ss.read_scores("scores.csv")
    cases = {file.stem: file for file in (maps / "images").iterdir()}
    network = ss.explain.digits_network()
    curves = [
        getattr(ss.explain, metric)(network, cases, maps / "maps") for metric in ("insertion", "deletion")
    ]
    expected = ss.explain.curve_scores(pd.concat(curves))
    keys = ["case", "task", "metric"]
    both = written.merge(expected, on=keys, suffixes=("", "_expected"))
    assert len(both) == len(expected) == len(written)
    assert both["score"].to_numpy() == pytest.approx(both["score_expected"].to_numpy())
    assert set(ss.read_data("points.csv")["metric"]) == {"insertion", "deletion"}
    assert run(["plot", "points.csv", "-o", "points.png"]) == 0


@pytest.mark.torch
def test_the_points_have_the_caution_of_their_areas(maps, capsys):
    pytest.importorskip("torch", reason="needs the explain extra")
    for file in (maps / "images").iterdir():
        with Image.open(file) as image:
            black = Image.new("L", image.size)
        black.save(file)
    # a black image without its pixels is as it was
    options = f"{NETWORK} --baseline black --steps 4 -o scores.csv --points points.csv"
    assert run(shlex.split(f"curves images --maps maps {options}")) == 0
    areas, points = ss.read_data("scores.csv"), ss.read_data("points.csv")
    cautions = areas.drop_duplicates("metric").set_index("metric")["caution"]
    assert cautions.notna().any()
    assert (points["caution"] == points["metric"].map(cautions)).all()


@pytest.mark.torch
def test_images_without_the_finding_are_left_out_by_the_scores(maps, capsys):
    pytest.importorskip("torch", reason="needs the explain extra")
    assert run(shlex.split(f"curves images --maps maps {NETWORK} --steps 4 -o all.csv")) == 0
    areas = ss.read_scores("all.csv")
    first, second, *absent = areas[["case", "task"]].drop_duplicates().itertuples(index=False)
    scores = pd.DataFrame([first, second, *absent]).assign(
        method="gradcam", metric="iou", score=0.5, reason=""
    )
    # one of the others has the reason, and the rest are not scored at all
    scores.loc[2, ["score", "reason"]] = [None, "finding absent"]
    scores.head(3).to_csv("scores.csv", index=False)
    options = f"{NETWORK} --steps 4 --scores scores.csv -o with_finding.csv --points points.csv"
    assert run(shlex.split(f"curves images --maps maps {options}")) == 0
    has_finding = [pair in (first, second) for pair in zip(areas["case"], areas["task"], strict=True)]
    expected = areas[has_finding].reset_index(drop=True)
    pd.testing.assert_frame_equal(ss.read_scores("with_finding.csv"), expected)
    assert set(ss.read_data("points.csv")["task"]) == {first.task, second.task}


@pytest.mark.torch
@pytest.mark.parametrize(
    ("options", "text"),
    [
        (f"{NETWORK} --metrics insertoin", "did you mean 'insertion'"),
        ("--network densenet121", "needs --weights FILE and --tasks"),
        (f"{NETWORK} --steps some", "--steps takes a whole number"),
        (f"{NETWORK} --tasks Edema", "--tasks belongs to a network by name"),
    ],
)
def test_a_wrong_option_is_one_line_and_writes_nothing(tmp_path, monkeypatch, capsys, options, text):
    pytest.importorskip("torch", reason="needs the explain extra")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(b"")
    assert run(shlex.split(f"curves images --maps maps {options} -o scores.csv")) == 2
    assert text in error_line(capsys)
    assert not (tmp_path / "scores.csv").exists()


@pytest.mark.torch
def test_a_terminal_has_a_bar_for_each_curve(maps, capsys, monkeypatch):
    pytest.importorskip("torch", reason="needs the explain extra")
    command = shlex.split(f"curves images --maps maps {NETWORK} --steps 2 -o scores.csv --overwrite")
    assert run(command) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert run(command) == 0
    shown = capsys.readouterr().err
    assert "Insertion" in shown
    assert "Deletion" in shown


def test_what_is_typed_reaches_the_functions_and_nothing_else_does(tmp_path, monkeypatch, capsys):
    calls = []

    def curve(metric):
        def recorded(network, cases, maps, **options):
            calls.append((metric, network, cases, maps, options))
            return pd.DataFrame({"case": ["a"], "task": "t", "method": "m", "metric": metric, "prob": 0.5})

        return recorded

    explain = SimpleNamespace(
        insertion=curve("insertion"),
        deletion=curve("deletion"),
        curve_scores=lambda curves: curves.rename(columns={"prob": "score"}),
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("salstats.cli.curves.imported_explain", lambda: explain)
    monkeypatch.setattr(NetworkOptions, "network", lambda self, name: (name, self))
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(b"")
    command = "curves images --maps maps --network mine:one -o scores.csv"
    assert run(shlex.split(command)) == 0
    nothing = dict.fromkeys(("weights", "outputs", "probability", "layer", "size", "fit", "mean", "std"))
    network = ("mine:one", NetworkOptions(tasks=None, **nothing))
    options = {"steps": 100, "device": None, "progress": True}
    cases = {"a": Path("images/a.png")}
    assert calls == [(metric, network, cases, Path("maps"), options) for metric in ("insertion", "deletion")]
    assert ss.read_data("scores.csv")["metric"].tolist() == ["insertion", "deletion"]
    calls.clear()
    capsys.readouterr()
    # a file is replaced when that is asked for
    assert run(shlex.split(command)) == 2
    assert "--overwrite" in error_line(capsys)
    assert calls == []
    typed = (
        f"{command} --overwrite --metrics deletion --baseline mean --steps 7 --batch-size 3 --device cpu "
        "--points points.csv --weights w.pt --outputs 5 --probability softmax --layer features --size 64 "
        "--fit pad --mean 0.1 --std 0.3"
    )
    assert run(shlex.split(typed)) == 0
    ((metric, (_, network_options), *_, options),) = calls
    assert metric == "deletion"
    assert options == {"steps": 7, "device": "cpu", "progress": True, "baseline": "mean", "batch_size": 3}
    given = {
        "weights": Path("w.pt"), "outputs": "5", "probability": "softmax", "layer": "features", "size": "64",
        "fit": "pad", "mean": ["0.1"], "std": ["0.3"],
    }  # fmt: skip
    assert {name: getattr(network_options, name) for name in given} == given
    assert ss.read_data("scores.csv")["metric"].tolist() == ["deletion"]
    assert ss.read_data("points.csv")["prob"].tolist() == [0.5]

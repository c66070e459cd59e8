"""The script of Saliency-Bench end to end: scores, the digits study's columns, and the printed tables."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.datasets import load_published

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    """The script, which lies in no package."""
    spec = importlib.util.spec_from_file_location("saliency_bench", ROOT / "analyses" / "saliency_bench.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scores_like_the_digits():
    """A drawn frame with the columns of the digits study, two seeds among them."""
    rng = np.random.default_rng(1)
    rows = [
        (f"c{c}", d, m, s, t, k, metric, rng.uniform(0, 1), rng.uniform(0, 1), 1)
        for c in range(22)
        for d in ("plain", "busy", "noisy")
        for m in ("small", "deep")
        for s in ("0", "1")
        for t in ("0", "7")
        for k in ("gradcam", "rise")
        for metric in ("iou", "hit", "dice", "energy", "insertion", "deletion")
    ]
    people = [(f"c{c}", d, None, None, "0", "human", "iou", 0.8, np.nan, 1) for c in range(22) for d in "ab"]
    columns = ["case", "dataset", "model", "seed", "task", "method", "metric", "score", "prob", "label"]
    return pd.DataFrame([*rows, *people], columns=columns)


def run(script, *argv):
    return script.main([str(a) for a in (*argv, "--replicates", 40)])


def test_a_frame_of_the_folder_that_is_replaced_is_no_input(script, tmp_path, capsys):
    out = tmp_path / "out"
    (out / "frames").mkdir(parents=True)
    scores_like_the_digits().to_csv(out / "frames" / "scores.csv", index=False)
    (out / "outputs.csv").write_text("file\nframes/scores.csv\n")
    before = (out / "frames" / "scores.csv").read_bytes()
    assert run(script, "--scores", out / "frames" / "scores.csv", "-o", out, "--overwrite") == 2
    assert "reads it; choose another file" in capsys.readouterr().err
    assert (out / "frames" / "scores.csv").read_bytes() == before


def test_printed_writes_every_item_with_its_files(script, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(script, "--printed", "-o", out) == 0
    assert "6 items" in capsys.readouterr().out
    listed = pd.read_csv(out / "outputs.csv")
    files = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert set(listed["file"]) == files - {"outputs.csv", "warnings.txt"}
    checked = pd.read_csv(out / "frames" / "table_3_check.csv")
    assert checked["printed"].sum() == pytest.approx(
        load_published("saliency_bench_table3")["correlation"].sum()
    )
    # it is said that eight data sets are few
    assert "rankings rest on few units" in (out / "warnings.txt").read_text()


def test_digits_are_read_from_the_package(script, tmp_path, monkeypatch):
    frame = scores_like_the_digits()
    monkeypatch.setattr(ss.datasets, "load_digits_scores", lambda: frame, raising=False)
    out = tmp_path / "out"
    assert run(script, "--digits", "-o", out) == 0
    means = pd.read_csv(out / "frames" / "table_2.csv", dtype={"model": str})
    assert set(means["metric"]) == {"iou", "hit", "insertion"}
    assert set(means["dataset"]) == {"plain", "busy", "noisy"}
    # 22 cases, two tasks, two seeds
    assert set(means["n"]) == {88}
    ranks = pd.read_csv(out / "frames" / "ranks.csv")
    assert set(ranks["n_units"]) == {22}


def test_scores_of_chosen_metrics(script, tmp_path):
    file = tmp_path / "scores.csv"
    scores_like_the_digits().to_csv(file, index=False)
    out = tmp_path / "out"
    assert run(script, "--scores", file, "--metrics", "dice, deletion", "--interval", "t", "-o", out) == 0
    means = pd.read_csv(out / "frames" / "table_2.csv")
    assert set(means["metric"]) == {"dice", "deletion"}
    assert set(means["interval"]) == {"t"}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--printed", "--metrics", "iou"], "--metrics and --unit belong to --scores and --digits"),
        (["--scores", "none.csv"], "none.csv"),
        (["--printed", "--replicates", "5"], "--replicates must be at least 40, not 5"),
        (["--printed", "--jobs", "0"], "--jobs must be a whole number from 1 up, or -1, not 0"),
    ],
)
def test_what_cannot_be_is_one_line_and_writes_nothing(script, tmp_path, capsys, argv, message):
    out = tmp_path / "out"
    assert script.main([*argv, "-o", str(out)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("saliency_bench: ")
    assert said.count("\n") == 1
    assert message in said
    assert not out.exists()


def test_one_source_is_needed(script, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        script.main(["-o", str(tmp_path / "out")])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_unknown_metric_is_named_with_its_flag(script, tmp_path, capsys):
    file = tmp_path / "scores.csv"
    scores_like_the_digits().to_csv(file, index=False)
    assert run(script, "--scores", file, "--metrics", "nss", "-o", tmp_path / "out") == 2
    assert "no metric 'nss'" in capsys.readouterr().err


def test_the_script_needs_no_torch(script):
    assert "torch" not in {name.partition(".")[0] for name in vars(script)}
    assert Path(script.__file__).read_text().find("torch") < 0
    assert "salstats" in sys.modules

"""Saliency-Bench end to end: scores, the digits study's columns, and the printed tables."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.datasets import load_published


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


def test_printed_writes_every_item_with_its_files(run, tmp_path):
    out = tmp_path / "out"
    code, said, _ = run("saliency_bench", "--printed", "--replicates", 40, "-o", out)
    assert code == 0
    assert "6 items" in said
    listed = pd.read_csv(out / "outputs.csv")
    files = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert set(listed["file"]) == files - {"outputs.csv", "warnings.txt"}
    checked = pd.read_csv(out / "frames" / "table_3_check.csv")
    assert checked["printed"].sum() == pytest.approx(
        load_published("saliency_bench_table3")["correlation"].sum()
    )
    # it is said that eight data sets are few
    assert "rankings rest on few units" in (out / "warnings.txt").read_text()


def test_digits_are_read_from_the_package(results, monkeypatch):
    frame = scores_like_the_digits()
    monkeypatch.setattr(ss.datasets, "load_digits_scores", lambda: frame, raising=False)
    items = results("saliency_bench", "--digits", "--replicates", 40)
    means = items["table_2"].frame
    assert set(means["metric"]) == {"iou", "hit", "insertion"}
    assert set(means["dataset"]) == {"plain", "busy", "noisy"}
    # 22 cases, two tasks, two seeds
    assert set(means["n"]) == {88}
    assert set(items["ranks"].frame["n_units"]) == {22}


def test_the_digits_have_the_papers_pictures(results, allowed):
    keys = ("table_1", "figure_1", "figure_3", "figure_4")
    items = results("saliency_bench", "--digits", "--replicates", 40, only=keys)
    # the examples are of one model
    assert set(items) == set(keys[:3])
    sets = items["table_1"].frame.set_index("dataset")
    assert sets["n_cases"].to_dict() == {"crowded": 100, "quiet": 100, "textured": 200}
    truths, maps = items["figure_1"].figure, items["figure_3"].figure
    assert list(truths.data["column"]) == list(sets.index)
    assert len(maps.data) == 3 * 8
    assert set(maps.data["case"]) == set(truths.data["case"])
    found = items["figure_3"].frame.set_index(["case", "method"])["score"]
    shown = maps.data.set_index(["case", "method"])["score"]
    np.testing.assert_allclose(shown, found.loc[shown.index], rtol=1e-12)
    for width in (89, 183):
        truths.at(width).draw()
    assert not {"table_1", "figure_1", "figure_3"} & allowed("saliency_bench", "--printed")


def test_scores_of_other_cases_than_the_studys_have_no_pictures(run, tmp_path):
    file, folder = tmp_path / "scores.csv", ss.datasets.digits_examples()
    scores_like_the_digits().to_csv(file, index=False)
    given = ["--data", file, "--study", folder, "--images", folder / "images", "--replicates", 40]
    code, said, _ = run("saliency_bench", *given, "-o", tmp_path / "out")
    assert code == 0
    assert "Fig. 1: not made, no case of the scores is in" in said
    assert (tmp_path / "out" / "tables" / "table_1.html").exists()


@pytest.mark.parametrize("flag", ["--scores", "--data"])
def test_scores_of_chosen_metrics(results, tmp_path, flag):
    file = tmp_path / "scores.csv"
    scores_like_the_digits().to_csv(file, index=False)
    given = ["--metrics", "dice, deletion", "--interval", "t", "--replicates", 40]
    means = results("saliency_bench", flag, file, *given)["table_2"].frame
    assert set(means["metric"]) == {"dice", "deletion"}
    assert set(means["interval"]) == {"t"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "name --scores FILE, --digits or --printed"),
        (["--printed", "--metrics", "iou"], "--metrics, --unit, --study and --images belong to"),
        (["--scores", "none.csv"], "none.csv"),
        (["--printed", "--replicates", "5"], "--replicates must be at least 40, not 5"),
        (["--printed", "--jobs", "0"], "--jobs must be a whole number from 1 up, or -1, not 0"),
        (["--digits", "--metrics", "nss"], "no metric 'nss'"),
    ],
)
def test_what_cannot_be_is_one_line_and_writes_nothing(run, tmp_path, given, message):
    code, _, error = run("saliency_bench", *given, "-o", tmp_path / "out")
    assert code == 2
    assert error.count("\n") == 1
    assert message in error
    assert not (tmp_path / "out").exists()

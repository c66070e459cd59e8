"""What studies printed, from their numbers: digits, stars, order."""

import re

import numpy as np
import pandas as pd
import pytest

import salstats as ss


@pytest.fixture(scope="module")
def study(shared):
    return shared / "oracles" / "chexlocalize" / "study" / "expected"


@pytest.fixture(scope="module")
def unrounded(study):
    """The scripts' feature regressions in full precision, as a frame of terms."""
    table = pd.read_csv(study / "regression_full_precision.csv").query("script == 'pathology_features'")
    names = {"mean": "estimate", "lower": "conf_low", "upper": "conf_high", "coef_pval": "p_value"}
    terms = table.rename(columns={**names, "feature": "term"})
    terms["formula"] = terms["y"] + " ~ " + terms["term"]
    return terms[["formula", "term", *names.values(), "n"]].assign(conf_level=0.95).reset_index(drop=True)


def numbers_and_stars(text):
    """The numbers of a printed cell, whatever stands between them, and its stars."""
    found = re.findall(r"-?\d+\.\d+", text.replace("−", "-"))
    return [float(number) + 0.0 for number in found], text.count("*")


def test_feature_regressions_of_chexlocalize_are_printed_with_their_digits_and_stars(study, unrounded, read):
    seen = read(ss.table_regression(unrounded, n_tests=4, stars=True))
    outcomes = list(dict.fromkeys(unrounded["formula"].str.split(" ~ ").str[0]))
    compared = 0
    for column, outcome in enumerate(outcomes):
        file = study / "regression_hb" / f"regression_features_{outcome}.csv"
        for _, row in pd.read_csv(file).iterrows():
            label = {"n_instance": "N instance"}.get(row["feature"])
            label = label or {"area_ratio": "Relative size"}.get(row["feature"], row["feature"].capitalize())
            ours = seen.rows[label][column]
            assert numbers_and_stars(ours) == numbers_and_stars(row["Linear regression coefficients"])
            assert re.fullmatch(r"−?\d\.\d{3} \(−?\d\.\d{3}, −?\d\.\d{3}\)\*{0,3}", ours)
            compared += 1
    assert compared == 16
    assert "(Bonferroni, 4 tests)" in seen.note


@pytest.fixture(scope="module")
def table_1():
    printed = ss.datasets.load_published("lanfredi2021_tables").query("table == 1")
    return printed.rename(columns={"mean": "estimate", "n_images": "n"}).drop(columns=["table", "subset"])


def test_table_1_of_lanfredi2021_has_its_layout_and_its_numbers(table_1, read):
    labels = {
        "method": {
            "interobserver": "Interobserver", "gradcam_woag": "Grad-CAM WoAG", "gradcam_wag": "Grad-CAM WAG",
            "am1": "AM1", "am2": "AM2",
        },
        "mixing": ["thresholded", "weighted", "uniform"],
    }  # fmt: skip
    seen = read(ss.table_estimates(table_1, labels=labels))
    assert seen.head[-1][-2:] == ["sNCC", "sAUC"]
    texts = {
        (r["method"], r["mixing"] if isinstance(r["mixing"], str) else "—", r["metric"]): (
            f"{r['estimate']:.3f} ({r['conf_low']:.3f}, {r['conf_high']:.3f})".replace("-", "−")
        )
        for r in table_1.to_dict("records")
    }
    method, compared = "", 0
    for row in seen.body:
        # equal methods below each other are merged into one cell
        *names, sncc, sauc = row
        method = names[0] if len(names) == 2 else method
        raw = {label: name for name, label in labels["method"].items()}[method]
        assert [sncc, sauc] == [texts[raw, names[-1], metric] for metric in ("sncc", "sauc")]
        compared += 1
    assert compared == 9
    assert [row[0] for row in seen.body if len(row) == 4] == list(labels["method"].values())


def test_the_best_of_all_saliency_maps_per_metric_is_bold_without_the_interobserver(table_1, read):
    options = {"bold": ["method", "mixing"], "labels": {"mixing": {"uniform": "Uniform mixing"}}}
    seen = read(ss.table_estimates(table_1, exclude=["interobserver"], **options))
    competing = table_1[table_1["method"] != "interobserver"]
    best = competing.loc[competing.groupby("metric")["estimate"].idxmax()]
    assert set(zip(best["method"], best["mixing"], strict=True)) == {("gradcam_wag", "uniform")}
    assert seen.bold == {("Uniform mixing", 0), ("Uniform mixing", 1)}
    with_all = read(ss.table_estimates(table_1, **options))
    assert with_all.bold == {("Uniform mixing", 0), ("—", 1)}


def test_hits_of_saporta2021_print_as_they_were_counted(read):
    printed = ss.datasets.load_published("saporta2021_auroc_hit")
    described = pd.DataFrame(
        {
            "task": printed["task"], "n": printed["n"], "mean": printed["hits"] / printed["n"], "sd": np.nan,
            "median": np.nan, "q1": np.nan, "q3": np.nan, "n_zero": printed["n"] - printed["hits"],
            "share_zero": 1 - printed["hits"] / printed["n"], "n_one": printed["hits"],
            "share_one": printed["hits"] / printed["n"], "binary": True,
        }
    )  # fmt: skip
    rows = read(ss.table_describe(described)).rows
    assert rows["Airspace Opacity"] == ["309", "213 (68.9)", "96 (31.1)"]
    assert {task: int(cells[2].split()[0]) for task, cells in rows.items()} == dict(
        zip(printed["task"], printed["hits"], strict=True)
    )

"""Saliency-Bench end to end: scores, the digits study's columns, and the printed tables."""

import numpy as np
import pandas as pd
import pytest
from bench_scores import drawn_scores
from map_folders import CASES, write_map_folder

import salstats as ss
from salstats.datasets import data_folder, load_published
from salstats.studies import declarations, engine
from salstats.studies.saliency_bench import FILES as PICTURES

#: Scores of no method's maps of digits, which a run could be made of.
FILE = str(data_folder() / "simulated_scores.csv")


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


@pytest.mark.slow
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


def test_the_digits_have_pictures_of_their_examples_unless_a_study_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(ss.datasets, "load_digits_scores", scores_like_the_digits)
    declaration = declarations.declaration_of("saliency_bench")

    def opened(*arguments):
        options = ["--interval", "t", *map(str, arguments), "-o", "nowhere"]
        study = engine.open_study(declaration, engine.parser_of(declaration).parse_args(options))
        data = study.load()
        assert (PICTURES in study.available) == (data.study is not None)
        return data

    examples = ss.datasets.digits_examples()
    digits = opened("--digits")
    assert [case.case for case in digits.study] == [case.case for case in ss.read_study(examples)]
    assert digits.images == examples / "images"
    folder = write_map_folder(tmp_path / "maps")
    named = opened("--digits", "--study", folder, "--images", folder)
    assert ([case.case for case in named.study], named.images) == (list(CASES), folder)
    assert opened("--digits", "--study", folder).images is None
    # scores of others have no examples
    file = tmp_path / "scores.csv"
    scores_like_the_digits().to_csv(file, index=False)
    assert opened("--scores", file).study is None


@pytest.mark.parametrize("flag", ["--scores", "--data"])
def test_scores_of_chosen_metrics(results, tmp_path, flag):
    file = tmp_path / "scores.csv"
    scores_like_the_digits().to_csv(file, index=False)
    given = ["--metrics", "dice, deletion", "--interval", "t", "--replicates", 40]
    means = results("saliency_bench", flag, file, *given)["table_2"].frame
    assert set(means["metric"]) == {"dice", "deletion"}
    assert set(means["interval"]) == {"t"}


def printed_as_scores():
    """The printed means of Tables 2 and 4 as scores, one in each cell."""
    tables = pd.concat([load_published(f"saliency_bench_table{n}") for n in (2, 4)], ignore_index=True)
    metric = tables["metric"].map({"miou": "iou", "pg": "hit_any", "iauc": "insertion"})
    return tables.rename(columns={"value": "score"}).assign(metric=metric, case="mean")


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
class TestPrintedNumbers:
    def test_scores_named_as_in_the_study_are_compared_with_all_its_tables(self):
        printed = ss.reproduce("saliency_bench", scores=printed_as_scores(), as_published=True)["printed"]
        equal = printed.groupby("item")["equal"].agg(["sum", "size"])
        # the printed correlations with the pointing game do not follow from the printed means
        assert equal.loc["Table 2"].tolist() == [288, 288]
        assert equal.loc["Table 3"].tolist() == [12, 36]
        assert equal.loc["Table 4"].tolist() == [24, 24]
        follows = printed[(printed["item"] == "Table 3") & printed["equal"]]
        assert follows["key"].str.endswith("iou, insertion").all()

    def test_a_mean_that_differs_in_the_fourth_decimal_is_named(self):
        scores = printed_as_scores()
        scores.loc[0, "score"] += 0.0001
        printed = ss.reproduce("saliency_bench", scores=scores, as_published=True)["printed"]
        (row,) = printed[(printed["item"] == "Table 2") & ~printed["equal"]].to_dict("records")
        assert row["key"] == "Gender-XAI, ResNet-18, GradCAM, iou"
        assert (row["printed"], row["found"]) == ("0.1304", "0.1305")

    def test_names_in_another_spelling_and_a_part_of_the_study_are_compared_too(self):
        scores = printed_as_scores().query("dataset != 'Pet-XAI' and metric != 'insertion'")
        scores = scores.assign(
            model=scores["model"].str.lower().str.replace("-", ""),
            method=scores["method"].str.lower().str.replace(" ", "_"),
        )
        own = scores.assign(method="my method")
        both = pd.concat([scores, own[own["model"] == "vgg19"].drop_duplicates(["dataset", "metric"])])
        printed = ss.reproduce("saliency_bench", scores=both, as_published=True)["printed"]
        # seven data sets, two metrics, six methods and two networks; Table 3 is of eight data sets
        assert printed["item"].value_counts().to_dict() == {"Table 2": 7 * 2 * 12, "Table 4": 7 * 2}
        assert printed["equal"].all()

    def test_another_rule_of_the_pointing_game_is_not_compared(self):
        scores = printed_as_scores().replace({"metric": {"hit_any": "hit"}})
        printed = ss.reproduce("saliency_bench", scores=scores, as_published=True)["printed"]
        assert not printed["key"].str.contains("hit").any()

    def test_the_digits_are_never_compared(self):
        digits = ss.datasets.load_digits_scores()
        some = digits[digits["metric"].isin(["iou", "insertion"])]
        assert "printed" not in ss.reproduce("saliency_bench", scores=some, as_published=True)


def test_as_published_there_are_means_and_correlations_without_inference(results, run, tmp_path):
    file = tmp_path / "scores.csv"
    scores = drawn_scores()
    scores.to_csv(file, index=False)
    plain = results("saliency_bench", "--scores", file, "--as-published")
    ours = results("saliency_bench", "--scores", file, "--replicates", 40)
    assert set(ours) - set(plain) == {"ranks", "ranks_data_sets"}
    for key in ("table_2", "table_3", "table_4"):
        frame = plain[key].frame
        assert not {"conf_low", "p_value", "std_error"} & set(frame.columns)
        np.testing.assert_allclose(frame["estimate"], ours[key].frame["estimate"], rtol=1e-12)
    for item in plain.values():
        assert item.table is None or "CI" not in item.table.as_raw_html()
    of_print = results("saliency_bench", "--printed", "--as-published", "--replicates", 40)
    assert "ranks_data_sets" not in of_print
    assert "conf_low" not in of_print["table_3"].frame


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "name --scores FILE, --digits or --printed"),
        (["--printed", "--metrics", "iou"], "--metrics belongs to --scores and --digits"),
        (["--scores", "none.csv"], "none.csv"),
        (["--printed", "--replicates", "5"], "--replicates must be at least 40, not 5"),
        (["--printed", "--jobs", "0"], "--jobs must be a whole number from 1 up, or -1, not 0"),
        (["--digits", "--metrics", "nss"], "no metric 'nss'"),
        (["--digits", "--scores", FILE], "--scores, --digits and --printed are different data"),
    ],
)
def test_what_cannot_be_is_one_line_and_writes_nothing(run, tmp_path, given, message):
    code, _, error = run("saliency_bench", *given, "-o", tmp_path / "out")
    assert code == 2
    assert error.count("\n") == 1
    assert message in error
    assert not (tmp_path / "out").exists()

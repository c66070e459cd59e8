"""The data sets: their table, an image of each with its truth, and the maps of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bench_scores import drawn_scores
from tests_support import raises

import salstats as ss
from salstats.display.export.figure_files import size_inches
from salstats.display.plots.layout.theme import MM_PER_INCH
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.studies.saliency_bench.cell_means import (
    MeanOptions,
    printed_benchmark,
    score_benchmark,
    scores_of_methods_but_human,
)
from salstats.studies.saliency_bench.data_sets import (
    figure_1_images_with_truths,
    maps_maker,
    plot_truths,
    table_1_data_sets,
)

# the case nearest to the median may tie with another but for rounding
ROUNDING = 1e-12


def bench_of(scores):
    return score_benchmark(scores_of_methods_but_human(scores), MeanOptions(n_replicates=40))


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_table_1_counts_what_each_data_set_holds_and_describes_its_findings():
    rng = np.random.default_rng(2)
    scores = drawn_scores(n_sets=2, n_cases=7)
    cases = sorted(set(scores["case"]))
    scores["patient"] = scores["case"].map({case: f"p{i // 2}" for i, case in enumerate(cases)})
    scores["label"] = scores["case"].ne(cases[0]).astype(float)
    areas = {case: rng.uniform(0.01, 0.4) for case in cases}
    scores["area_ratio"] = scores["case"].map(areas)
    frame = table_1_data_sets(bench_of(scores)).frame.set_index("dataset")
    assert frame.index.to_list() == ["set 0", "set 1"]
    # people are no method of a model; two models have three methods and one has attention alone
    counts = {"n_patients": 4, "n_cases": 7, "n_tasks": 1, "n_models": 3, "n_methods": 4, "n_present": 6}
    assert (frame[list(counts)] == pd.Series(counts)).all(axis=None)
    # every finding counts once, however many methods drew it
    quartiles = np.quantile([areas[case] for case in cases[1:]], [0.25, 0.5, 0.75])
    for dataset in frame.index:
        np.testing.assert_allclose(frame.loc[dataset, ["q1", "median", "q3"]].astype(float), quartiles)
    html = table_1_data_sets(bench_of(scores)).table.as_raw_html()
    q1, median, q3 = quartiles
    assert html.count(f">{median:.3f} [{q1:.3f}, {q3:.3f}]<") == 2
    unknown = table_1_data_sets(bench_of(scores.assign(area_ratio=np.nan)))
    assert unknown.frame["median"].isna().all()
    assert unknown.table.as_raw_html().count(">\u2014<") == 2


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_findings_are_told_by_labels_or_else_by_reasons():
    scores = drawn_scores(n_sets=2, n_cases=5)
    is_absent = scores["case"].isin(["c0", "c1"])
    by_reason = scores.assign(
        score=scores["score"].mask(is_absent), reason=np.where(is_absent, "finding absent", None)
    )
    # as after concat of a data set with labels and one without
    is_labelled = scores["dataset"] == "set 0"
    of_one_set = by_reason.assign(label=(~is_absent).astype(float).where(is_labelled))
    for given in (by_reason, of_one_set):
        assert table_1_data_sets(bench_of(given)).frame["n_present"].to_list() == [3, 3]


def test_printed_means_have_no_table_of_data_sets():
    assert table_1_data_sets(printed_benchmark(MeanOptions(n_replicates=40))) is None


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("has_task", [True, False])
def test_pictures_are_of_the_case_nearest_to_the_median_also_of_scores_without_a_task(drawn_study, has_task):
    study = drawn_study.select(tasks=["Edema"])
    scores = ss.score(study, metrics=["iou"]).query("method != 'human'")
    distances = (scores["score"] - scores["score"].median()).abs()
    nearest = scores.loc[distances[distances <= distances.min() + ROUNDING].index, "case"]
    benchmark = bench_of(scores if has_task else scores.drop(columns="task"))
    benchmark = replace(benchmark, study=study)
    pictures = figure_1_images_with_truths(benchmark)
    assert pictures.frame["task"].tolist() == ["Edema"]
    assert pictures.frame["case"].item() in set(nearest)
    maps = maps_maker(0)(benchmark)
    assert maps.figure.data["case"].tolist() == pictures.frame["case"].tolist()
    assert maps.figure.data["method"].tolist() == ["saliency"]
    assert maps.frame["score"].item() == pictures.frame["score"].item()
    # maps of the first model are Fig. 3
    assert maps.title.partition(":")[0] == "Fig. 3"
    # the study has maps of a single model
    assert maps_maker(1)(benchmark) is None


@pytest.mark.slow
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


@pytest.mark.slow
def test_scores_of_other_cases_than_the_studys_have_no_pictures(run, tmp_path):
    file, folder = tmp_path / "scores.csv", ss.datasets.digits_examples()
    drawn_scores(n_sets=3, n_cases=4).to_csv(file, index=False)
    given = ["--data", file, "--study", folder, "--images", folder / "images", "--replicates", 40]
    code, said, _ = run("saliency_bench", *given, "-o", tmp_path / "out")
    assert code == 0
    assert "Fig. 1: not made, no case of the scores is in" in said
    assert (tmp_path / "out" / "tables" / "table_1.html").exists()


@pytest.mark.parametrize(("n_sets", "width", "share"), [(1, 183, 4), (1, 89, 2), (4, 183, 4)])
def test_images_are_no_wider_than_a_fourth_of_a_page_or_half_a_column(drawn_study, n_sets, width, share):
    cases = [case.case for case in drawn_study if "Edema" in case.truths]
    picks = pd.DataFrame({"dataset": [f"set {i}" for i in range(n_sets)], "task": "Edema"})
    picks["case"] = [cases[i % len(cases)] for i in range(n_sets)]
    figure = plot_truths(drawn_study, picks, images=None, labels=Labels(), width=width)
    drawn_width = size_inches(figure)[0] * MM_PER_INCH
    assert drawn_width == pytest.approx(width * n_sets / share, abs=3)
    assert figure.data["case"].tolist() == picks["case"].tolist()


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_scores_of_other_cases_or_of_cases_in_several_data_sets_have_no_pictures(drawn_study):
    scores = ss.score(drawn_study, metrics=["iou"]).query("method != 'human'")
    others = bench_of(scores.assign(case="x" + scores["case"]))
    twice = bench_of(pd.concat([scores.assign(dataset="a"), scores.assign(dataset="b")], ignore_index=True))
    for benchmark in (others, twice):
        with raises(SalstatsError, column="case"):
            figure_1_images_with_truths(replace(benchmark, study=drawn_study))

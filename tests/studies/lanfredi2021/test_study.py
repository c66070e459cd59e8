"""The declaration of the study: its options, the data that they name, and what the data allow."""

import gaze_files
import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import SalstatsError, ValueRangeError
from salstats.studies import declarations, engine
from salstats.studies.lanfredi2021 import (
    BASELINES_CENTRE_REWARDING,
    BASELINES_SHUFFLED,
    MAJORITY_LABELS,
    MIXING_NEEDS,
    NETWORK_AUCS,
    RADIOGRAPHS,
    RAW_ITEMS,
    READERS_AND_SEEDS,
    SCORE_ITEMS,
    SHUFFLED_SCORES,
    TABLE_SCORES,
)
from salstats.studies.lanfredi2021.gaze_scores import ScoringOptions
from salstats.studies.lanfredi2021.printed_tables import split_scores_by_printed_table

STUDY = declarations.declaration_of("lanfredi2021")


def options_of(*arguments):
    """The options of a run."""
    return engine.parser_of(STUDY, output=False).parse_args([*map(str, arguments)])


def available(scores):
    """The needs that scores meet."""
    opened = STUDY.open_scores(scores, options_of())
    assert opened.items == SCORE_ITEMS
    return set(opened.available)


def scores_of(methods=("interobserver", "gradcam_wag"), metrics=("sncc",), **columns):
    """One score of each method and metric."""
    rows = [(method, metric) for method in methods for metric in metrics]
    return pd.DataFrame(rows, columns=["method", "metric"]).assign(case="a", score=0.5, **columns)


def test_without_an_option_phases_draws_and_the_pad_are_open():
    options = options_of()
    assert (options.data, options.raw, options.images, options.lungs) == (None, None, None, None)
    assert (options.maps, options.class_maps, options.masks) == ([], [], [])
    assert (options.phases, options.readers, options.samples, options.padded) == (None, None, None, None)
    assert (options.center_bias, options.seed, options.replicates) == ("all", 0, 100)


def test_phases_may_be_repeated_or_stand_between_commas():
    assert options_of("--phases", "1,2", "--phases", "3").phases == [1, 2, 3]
    with raises(SalstatsError):
        options_of("--phases", "1,x")


@pytest.mark.parametrize(
    ("scores", "met"),
    [
        (scores_of(), {SHUFFLED_SCORES, BASELINES_SHUFFLED, TABLE_SCORES}),
        (scores_of(metrics=("sauc",)), {SHUFFLED_SCORES, BASELINES_SHUFFLED, TABLE_SCORES}),
        (scores_of(metrics=("ncc",)), {BASELINES_CENTRE_REWARDING, TABLE_SCORES}),
        # Table 1 has no hull of the lungs, Tables 3 and 4 have no map of a network
        (scores_of(["convex"]), {BASELINES_SHUFFLED, TABLE_SCORES}),
        (scores_of(["gradcam_wag"]), {SHUFFLED_SCORES, TABLE_SCORES}),
        (scores_of(["gradcam_wag"], ["ncc"]), set()),
    ],
)
def test_tables_need_their_methods_and_metrics(scores, met):
    assert available(scores) == met


def test_an_item_of_a_mixing_needs_scores_of_it():
    scores = scores_of(["gradcam_wag"], mixing="uniform")
    assert available(scores) & set(MIXING_NEEDS) == {"Grad-CAM of uniform mixing"}


def test_table_2_needs_labels_and_appendix_a_the_auc_of_the_networks():
    assert MAJORITY_LABELS in available(scores_of(abnormal=1))
    assert MAJORITY_LABELS not in available(scores_of(abnormal=None))
    assert NETWORK_AUCS not in available(scores_of())


@pytest.mark.parametrize(
    ("methods", "columns", "met"),
    [
        (("interobserver", "gradcam_wag"), {"reader": "1", "seed": "1"}, True),
        (("interobserver", "gradcam_wag"), {"reader": "1"}, False),
        (("interobserver", "gradcam_wag"), {"seed": "1"}, False),
        (("interobserver", "convex"), {"reader": "1", "seed": "1"}, False),
        (("convex", "gradcam_wag"), {"reader": "1", "seed": "1"}, False),
    ],
)
def test_intervals_for_readers_need_readings_of_a_map_and_of_interobserver(methods, columns, met):
    assert (READERS_AND_SEEDS in available(scores_of(methods, **columns))) == met


def test_the_scores_are_the_embedded_ones_or_those_of_the_workbooks(monkeypatch, tmp_path):
    classification = pd.DataFrame({"model": ["wag"], "seed": ["1"], "auroc": [0.8]})
    scores = split_scores_by_printed_table(scores_of(), classification)
    monkeypatch.setattr("salstats.studies.lanfredi2021.embedded_scores", lambda: scores)
    opened = STUDY.open(options_of())
    assert opened.load() is scores
    assert NETWORK_AUCS in opened.available
    workbooks = {tmp_path: scores}
    monkeypatch.setattr("salstats.studies.lanfredi2021.embedded_scores", None)
    monkeypatch.setattr("salstats.studies.lanfredi2021.read_workbooks", workbooks.get)
    assert STUDY.open(options_of("--data", tmp_path)).load() is scores


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("maps", ["--maps", "am1=maps"]),
        ("padded", ["--no-padded"]),
        ("phases", ["--phases", "1"]),
        ("center_bias", ["--center-bias", "others"]),
        ("replicates", ["--replicates", "50"]),
    ],
)
def test_options_for_recordings_are_errors_where_scores_are_read(tmp_path, name, arguments):
    for source in ([], ["--data", tmp_path]):
        with raises(SalstatsError) as caught:
            STUDY.open(options_of(*source, *arguments))
        assert caught.value.option == name
    with raises(SalstatsError) as caught:
        STUDY.open_scores(scores_of(), options_of(*arguments))
    assert caught.value.option == name


def test_recordings_are_scored_as_the_options_say(tmp_path):
    release = gaze_files.write_release(tmp_path / "main")
    maps = gaze_files.write_maps(tmp_path / "maps")
    for folder in ("masks", "images"):
        (tmp_path / folder).mkdir()
    for file in maps.iterdir():
        np.save(tmp_path / "masks" / file.name, np.load(file) > 0.5)
    given = ["--raw", release, "--maps", f"am1={maps}", "--masks", f"mine={tmp_path / 'masks'}"]
    scoring = ["--readers", 3, "--center-bias", "others", "--samples", 9, "--seed", 4, "--replicates", 2]
    opened = STUDY.open(options_of(*given, *scoring))
    assert opened.items == RAW_ITEMS
    assert opened.available == set()
    recordings = opened.load()
    assert recordings.options == ScoringOptions(3, "others", 9, 4, 2)
    assert [str(series) for series in recordings.study.series] == ["am1", "mine"]
    assert RADIOGRAPHS in STUDY.open(options_of(*given, "--images", tmp_path / "images")).available


@pytest.mark.parametrize("n_replicates", [0, 1])
def test_a_standard_deviation_needs_two_samples(tmp_path, n_replicates):
    options = options_of("--raw", tmp_path, "--replicates", n_replicates)
    with raises(ValueRangeError, value=n_replicates):
        STUDY.open(options)


def test_scores_stand_in_the_place_of_recordings(tmp_path):
    with raises(SalstatsError, option="raw"):
        STUDY.open_scores(scores_of(), options_of("--raw", tmp_path))


def test_the_printed_tables_are_those_of_the_scores():
    printed = {item.key: len(item.printed.rows()) for item in SCORE_ITEMS if item.printed is not None}
    # Table 1: 5 methods and mixings, Table 2: 2 subsets of 2 methods, Tables 3 and 4: 2 baselines; 2 metrics
    assert {key: n for key, n in printed.items() if key != "table1"} == {
        "table2": 8, "table3": 4, "table4": 4, "networks": 2,
    }  # fmt: skip
    assert sum(printed.values()) == 36
    assert [item.title.partition(":")[0] for item in SCORE_ITEMS[:4]] == [f"Table {n}" for n in (1, 2, 3, 4)]

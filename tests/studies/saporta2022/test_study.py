"""The declaration of the study: the data that its options name, and what is left out of them."""

import numpy as np
import pandas as pd
import pytest
from study_files import write_study
from tests_support import raises

from salstats.errors import SalstatsError, Setting
from salstats.studies import declarations, engine
from salstats.studies.item_warnings import ItemNotMade
from salstats.studies.saporta2022 import ITEMS
from salstats.studies.saporta2022.replicates import REPLICATE_ITEMS
from salstats.studies.saporta2022.score_slices import TABLE_NEED_BY_NEED
from salstats.studies.saporta2022.study_frames import MAPS, PEOPLE, PICTURES, SHAPES

STUDY = declarations.declaration_of("saporta2022")


def options_of(*arguments):
    """The options of a run."""
    return engine.parser_of(STUDY, output=False).parse_args([*map(str, arguments)])


@pytest.fixture
def scores():
    """Twelve scores of a map: all cases have Edema, three have a mass as well."""
    cases = pd.DataFrame({"case": [f"patient{i}_study1_view1" for i in range(12)]})
    rows = cases.assign(task="Edema", method="cam", metric="iou", score=np.linspace(0.1, 0.9, 12))
    return pd.concat([rows, rows.head(3).assign(task="Lung Lesion")], ignore_index=True)


@pytest.fixture
def replicates():
    """Forty replicates of one mean."""
    frame = pd.DataFrame({"replicate": range(40), "estimate": 0.5})
    return frame.assign(metric="iou", method="saliency", task="Edema")


def test_without_data_the_option_is_named():
    with raises(SalstatsError, option="data", value=None):
        STUDY.open(options_of())


@pytest.mark.parametrize(
    ("given", "option"),
    [
        (["--data", "a", "--full-scores", "b.csv"], "full_scores"),
        (["--data", "a", "--bootstrap", "b.csv"], "bootstrap"),
        (["--full-scores", "a.csv", "--bootstrap", "b.csv"], "bootstrap"),
    ],
)
def test_data_that_do_not_go_together_are_named(given, option):
    with raises(SalstatsError, option=option):
        STUDY.open(options_of(*given))


def test_replicates_do_not_go_with_scores(scores):
    with raises(SalstatsError, option="bootstrap"):
        STUDY.open_scores(scores, options_of("--bootstrap", "b.csv"))


def test_replicates_stand_in_the_place_of_the_data(replicates):
    options = options_of()
    options.bootstrap = [replicates]
    opened = STUDY.open(options)
    assert opened.items == REPLICATE_ITEMS
    assert opened.available == set()
    assert opened.load().shape == (40, 5)
    options.min_positives = 9
    with raises(SalstatsError, option="min_positives", message=Setting("bootstrap")):
        STUDY.open(options)


def test_needs_of_scores_are_those_of_files_in_words_of_tables(scores):
    opened = STUDY.open_scores(scores, options_of())
    assert {TABLE_NEED_BY_NEED[MAPS]} == opened.available
    assert [item.key for item in opened.items] == [item.key for item in ITEMS]
    items = {item.key: item for item in opened.items}
    assert items["figure_2"].needs == (TABLE_NEED_BY_NEED[MAPS], TABLE_NEED_BY_NEED[PEOPLE])
    assert items["figure_3"].needs == (TABLE_NEED_BY_NEED[SHAPES],)
    assert items["figure_3"].part_needs[-1] == TABLE_NEED_BY_NEED[PICTURES]


def test_tasks_of_few_findings_are_left_out_with_a_warning(scores):
    for min_positives, tasks in ((3, ["Edema", "Lung Lesion"]), (12, ["Edema"])):
        opened = STUDY.open_scores(scores, options_of("--min-positives", min_positives))
        if len(tasks) == 2:
            frames = opened.load()
        else:
            with pytest.warns(ItemNotMade) as caught:
                frames = opened.load()
            assert [warning.message.item.split(",")[0] for warning in caught] == ["Lung Lesion"]
        assert sorted(frames.scores["task"].unique()) == tasks


def test_a_folder_is_scored_and_tasks_of_few_findings_are_left_out(tmp_path):
    write_study(tmp_path / "study")
    opened = STUDY.open(options_of("--data", tmp_path / "study", "--min-positives", 1))
    assert opened.items == ITEMS
    assert {MAPS, PEOPLE} <= opened.available
    frames = opened.load()
    assert frames.counts["left_out"].tolist() == [False, False]
    assert set(frames.scores["metric"]) == {"iou", "hit"}

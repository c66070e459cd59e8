import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnError
from salstats.metrics.registry import METRICS
from salstats.scoring.cases import ABSENT, EMPTY, PREDICTED_NEGATIVE, TRUE_NEGATIVE
from salstats.stats import empty_shares as module
from salstats.stats.empty_shares import empty_shares
from salstats.stats.engine.score_reasons import ABSENT_REASONS

#: Cases a ... h; `sure` marks the finding in all, `shy` in six, `absent` cases hold no finding.
CASES = "abcdefgh"
SHY = "bcdefg"


def study(absent="", patients=None):
    """Two methods on eight cases, one of which marks nothing in two of them."""
    square = np.zeros((8, 8), bool)
    square[2:5, 2:5] = True
    none = np.zeros((8, 8), bool)
    truths = {(c, "t"): none if c in absent else square for c in CASES}
    maps = {(c, "t", "sure"): square * 1.0 for c in CASES}
    maps |= {(c, "t", "shy"): (square if c in SHY else none) * 1.0 for c in CASES}
    return ss.study_from_arrays(truths, maps, patient=patients)


def shares(scores, **options):
    """The share of empty masks, their number and the number of masks, by method."""
    found = empty_shares(scores, **options).set_index("method")
    return found[["estimate", "n_empty", "n", "n_missing"]].apply(tuple, axis=1).to_dict()


ONE_IN_FOUR = {"shy": (0.25, 2, 8, 0), "sure": (0, 0, 8, 0)}


class TestEveryKindOfScores:
    @pytest.mark.parametrize("metrics", ["iou", "hausdorff", "pdc", ["dice", "recall", "assd", "pdc", "hit"]])
    @pytest.mark.parametrize("options", [{}, {"slice": "full"}, {"undefined": "worst"}, {"misses": "zero"}])
    def test_whatever_was_asked_of_score(self, metrics, options):
        assert shares(ss.score(study(), metrics=metrics, **options)) == ONE_IN_FOUR

    def test_a_file_read_back(self, tmp_path):
        for metrics in (["dice", "hausdorff"], ["pdc"]):
            for suffix in ("csv", "parquet"):
                ss.write_frame(ss.score(study(), metrics=metrics), tmp_path / f"s.{suffix}", overwrite=True)
                assert shares(ss.read_scores(tmp_path / f"s.{suffix}")) == ONE_IN_FOUR

    def test_scores_that_have_only_the_reason(self):
        scores = ss.score(study(), metrics="dice")[["case", "method", "metric", "score", "reason"]]
        assert shares(scores) == ONE_IN_FOUR

    @pytest.mark.parametrize("slice_", ["true-positive", "full"])
    @pytest.mark.parametrize("metrics", ["dice", "assd"])
    def test_cases_without_the_finding_do_not_count(self, slice_, metrics):
        scores = ss.score(study(absent="ab"), metrics=metrics, slice=slice_)
        assert shares(scores) == {"shy": (1 / 6, 1, 6, 0), "sure": (0, 0, 6, 0)}

    def test_a_map_that_is_not_there_is_missing_not_empty(self):
        held = study()
        maps = {("a", "t", "sure"): np.full((4, 4), np.nan)}
        square = np.zeros((8, 8), bool)
        square[0, 0] = True
        with_nan = ss.study_from_arrays({("a", "t"): square, ("b", "t"): square}, maps)
        found = shares(ss.score(with_nan, metrics=["dice", "assd"]))
        assert found["sure"][1:] == (0, 0, 2)
        assert shares(ss.score(held, metrics="dice"))["sure"][1:] == (0, 8, 0)

    def test_masks_that_the_cutoff_emptied_count(self):
        square = np.zeros((8, 8), bool)
        square[2:5, 2:5] = True
        some = ss.study_from_arrays(
            {(c, "t"): square for c in CASES},
            {(c, "t", "cam"): square * 1.0 for c in CASES},
            prob={(c, "t"): 0.1 * place for place, c in enumerate(CASES)},
        )
        scores = ss.score(some, metrics="dice", cutoff=0.25)
        assert shares(scores) == {"cam": (3 / 8, 3, 8, 0)}
        inside = ss.score(some, metrics="dice", cutoff=0.25, slice="predicted-positive")
        assert shares(inside) == {"cam": (0, 0, 5, 0)}


class TestFrame:
    def test_patients_are_the_units_where_they_repeat(self):
        patients = dict(zip(CASES, "ppqqrrss", strict=True))
        found = empty_shares(ss.score(study(patients=patients), metrics="pdc"))
        assert set(found["unit"]) == {"patient"}
        assert set(found["n_units"]) == {4}
        with warns(option="unit", value="case"):
            by_case = empty_shares(ss.score(study(patients=patients), metrics="pdc"), unit="case")
        assert set(by_case["n_units"]) == {8}


class TestBadArguments:
    def test_scores_without_masks(self):
        mask_metrics = tuple(name for name, metric in METRICS.items() if metric.compares_mask)
        with raises(ColumnError, option=None, column="metric", choices=mask_metrics):
            empty_shares(ss.score(study(), metrics="hit"))

    def test_no_finding_at_all(self):
        with raises(ColumnError, column="score"):
            empty_shares(ss.score(study(absent=CASES), metrics="pdc"))

    @pytest.mark.parametrize(
        ("options", "error", "fields"),
        [
            ({"by": ["method", "metric"]}, ColumnError, {"option": "by", "column": "metric"}),
        ],
    )
    def test_options(self, options, error, fields):
        with raises(error, **fields):
            empty_shares(ss.score(study(), metrics="pdc"), **options)


def test_the_reasons_are_those_of_score():
    assert module._EMPTY_MASK_REASON == EMPTY
    assert ABSENT_REASONS == (ABSENT, TRUE_NEGATIVE)
    assert module._OUTSIDE_SLICE_REASONS == (PREDICTED_NEGATIVE,)


@pytest.mark.parametrize("metric", [m.name for m in METRICS.values() if m.compares_mask])
def test_every_metric_of_masks_tells_empty_ones(metric):
    rows = {
        "case": ["a", "b"],
        "method": "cam",
        "metric": metric,
        "score": [0.5, np.nan],
        "reason": [None, EMPTY],
    }
    assert shares(pd.DataFrame(rows)) == {"cam": (0.5, 1, 2, 0)}


def test_without_groups_there_is_one_share_of_all_masks():
    scores = ss.score(study())
    found = empty_shares(scores[scores["method"] == "shy"], by=())
    assert found["n_empty"].tolist() == [2]
    assert found["n"].tolist() == [8]


@pytest.mark.parametrize(
    "values",
    [
        ["True", "FALSE", None, None],
        ["1", "0.0", "", None],
        ["1.0", "0", None, ""],
        [True, False, None, None],
        [1.0, 0.0, np.nan, np.nan],
        pd.array([True, False, None, None], "boolean"),
    ],
)
def test_the_column_of_empty_masks_decides_where_it_is_filled(values):
    # by their pixels the masks are full, empty, empty and full
    rows = {"case": list("abcd"), "method": "cam", "metric": "iou", "score": 0.0, "tp": 0, "fn": 9}
    scores = pd.DataFrame(rows).assign(fp=[5, 0, 0, 5], empty_mask=values)
    assert shares(scores) == {"cam": (0.5, 2, 4, 0)}
    assert shares(scores.iloc[:2]) == {"cam": (0.5, 1, 2, 0)}
    assert shares(scores.iloc[:1]) == {"cam": (1.0, 1, 1, 0)}


def test_levels_of_categories_without_rows_are_no_masks():
    rows = {"case": ["a", "b", "b"], "method": ["cam", "cam", "human"], "metric": "iou", "score": 0.5}
    scores = pd.DataFrame(rows | {"empty_mask": [True, False, False]})
    expected = {"cam": (0.5, 1, 2, 0), "human": (0, 0, 1, 0)}
    assert shares(scores) == expected
    cases = pd.Categorical(scores["case"], categories=["a", "b", "c"])
    methods = pd.Categorical(scores["method"], categories=["cam", "human", "lime"])
    assert shares(scores.assign(case=cases, method=methods)) == expected


def test_a_label_decides_only_where_the_mask_is_unknown():
    rows = {"case": list("abcde"), "method": "cam", "metric": "assd", "label": [0, 1, 1, 0, 1]}
    scores = pd.DataFrame(rows | {"score": [np.nan, np.nan, 2.0, 3.0, np.nan]})
    # case a has no finding; the masks of b and e are missing; c and d have masks
    assert shares(scores) == {"cam": (0, 0, 2, 2)}


def test_empty_masks_are_counted_in_each_group_of_several_columns():
    scores = ss.score(study(), metrics="pdc")
    both = pd.concat([scores, scores[scores["case"].isin(list("abc"))].assign(task="u")])
    found = empty_shares(both, by=["method", "task"]).set_index(["method", "task"])
    # of the two empty masks that of case a is in both tasks
    assert found["n_empty"].to_dict() == {
        ("shy", "t"): 2, ("shy", "u"): 1, ("sure", "t"): 0, ("sure", "u"): 0,
    }  # fmt: skip
    assert found.loc[("shy", "u"), "estimate"] == pytest.approx(1 / 3)

"""Readings of raters from a scores frame."""

import numpy as np
import pandas as pd
import pytest
from agreement_readings import frame_of
from display.frames import large_study
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnError, Setting, ValueRangeError
from salstats.frames import KEY_COLUMNS
from salstats.stats.agreement.readings_of_groups import mean_and_difference_of_reading_pairs


def test_methods_metrics_and_tools_are_compared_too(values):
    methods = frame_of(values).rename(columns={"reader": "own"}).assign(method=lambda d: d["own"])
    expected = ss.agreement(frame_of(values), form="icc2")["estimate"].to_list()
    found = ss.agreement(methods.drop(columns="own"), over="method", form="icc2")
    assert list(found.columns[:2]) == ["metric", "term"]
    assert found["estimate"].to_list() == expected
    metrics = frame_of(values).assign(metric=lambda d: d["reader"]).drop(columns="reader")
    assert ss.agreement(metrics, over="metric", form="icc2")["estimate"].to_list() == expected
    tools = frame_of(values).rename(columns={"reader": "tool"})
    assert ss.agreement(tools, over="tool", form="icc2")["estimate"].to_list() == expected
    assert (ss.agreement(tools, over="tool", form="icc2")["over"] == "tool").all()


def test_repeats_are_for_limits_of_agreement(values, reference):
    table = pd.read_csv(reference / "cardiac.csv")
    table["seed"] = table.groupby("case").cumcount()
    long = table.melt(["case", "seed"], ["rv", "ic"], var_name="method", value_name="score").assign(
        metric="ef"
    )
    # values of the paper, see test_bland_altman
    for linked, spread in ((None, 0.99062408), (False, 1.0518506)):
        found = ss.agreement(long, over="method", kind="bland-altman", linked=linked).set_index("term")
        # in sorted order IC comes first
        assert found.loc["bias", "estimate"] == pytest.approx(-0.6021667, rel=1e-7)
        reach = found.loc["loa_high", "estimate"] - found.loc["bias", "estimate"]
        assert reach / 1.959964 == pytest.approx(spread, rel=1e-6)
        assert (found["n"] == 120).all()
        assert (found["n_cases"] == 12).all()
    with raises(ColumnError, column="seed", option="kind", value="icc", rows=tuple(range(9, 15))):
        ss.agreement(long, over="method")
    assert len(ss.agreement(long, over="method", kind="ccc")) == 1
    # intervals of independent pairs
    for kind, interval in (("bland-altman", "bland-altman"), ("ccc", "lin")):
        with raises(ValueRangeError, option="interval", value=interval, column="method"):
            ss.agreement(long, over="method", kind=kind, interval=interval)
        ss.agreement(long[long["seed"] == 0], over="method", kind=kind, interval=interval)


@pytest.mark.parametrize(
    ("change", "options", "error", "fields"),
    [
        (
            lambda d: d.query("reader == 'r0'"), {}, ColumnError,
            {"option": "over", "value": "reader", "match": "one reader, 'r0'"},
        ),
        (
            lambda d: d.query("reader != 'r2' or case == 'c003'"), {}, ColumnError,
            {"column": "reader", "match": "'r2' scored one case"},
        ),
        (
            lambda d: d.assign(score=(d["score"] > 0.5) * 1.0), {}, ValueRangeError,
            {"option": "kind", "value": "icc", "column": "score"},
        ),
        (
            lambda d: d, {"kind": "fleiss"}, ValueRangeError,
            {"option": "kind", "value": "fleiss", "column": "score"},
        ),
        (lambda d: d, {"unit": "reader"}, ColumnError, {"option": "unit", "rows": (30,), "match": "c000"}),
        (lambda d: d, {"by": ["reader"]}, ColumnError, {"option": "over", "value": "reader", "choices": ()}),
        (lambda d: d, {"over": "case"}, ColumnError, {"option": "over", "value": "case"}),
        (lambda d: d, {"over": ["reader"]}, ColumnError, {"option": "over", "value": ["reader"]}),
        (lambda d: d, {"over": "raeder"}, ColumnError, {"column": "raeder", "match": "'reader'"}),
        (lambda d: d, {"kind": "kappa"}, ValueRangeError, {"option": "kind", "value": "kappa"}),
        (lambda d: d, {"scale": "ordinal"}, ValueRangeError, {"option": "scale", "match": "krippendorff"}),
        (lambda d: d, {"form": "icc4"}, ValueRangeError, {"option": "form", "value": "icc4"}),
        (lambda d: d, {"interval": "lin"}, ValueRangeError, {"option": "interval", "value": "lin"}),
        (
            lambda d: d, {"kind": "krippendorff", "scale": "linear"}, ValueRangeError,
            {"option": "scale", "value": "linear"},
        ),
    ],
)  # fmt: skip
def test_wrong_designs_are_refused_in_one_sentence(values, change, options, error, fields):
    with raises(error, **fields) as caught:
        ss.agreement(change(frame_of(values)), **options)
    assert "\n" not in str(caught.value)


def test_one_reader_of_several_seeds_is_told_what_can_be_compared(values):
    seeds = frame_of(values).rename(columns={"reader": "seed"}).assign(reader="one")
    with raises(ColumnError, option="over", value="reader", hint=Setting("over", "seed")):
        ss.agreement(seeds)
    assert len(ss.agreement(seeds, over="seed")) == 6
    # Of one seed there is nothing to compare either.
    with raises(ColumnError, option="over", value="reader") as caught:
        ss.agreement(seeds[seeds["seed"] == "r0"])
    assert not str(caught.value.hint)


def test_rows_without_a_reader_are_left_out_with_a_warning(scores, values):
    maps = frame_of(values[:, :1]).drop(columns="reader").assign(method="map")
    with warns(column="reader", rows=tuple(range(180, 210))):
        found = ss.agreement(pd.concat([scores.drop(columns="patient"), maps]), form="icc2")
    assert found["method"].to_list() == ["gradcam", "rise"]


def test_unknown_readers_of_a_whole_group_do_not_stand_for_raters(values):
    # a reader who scored nothing of a group is none of its raters
    scores = frame_of(values)
    scores.loc[scores["reader"] == "r2", "score"] = np.nan
    found = ss.agreement(scores, form="icc3").iloc[0]
    assert (found["n_raters"], found["n"], found["n_missing"]) == (2, 60, 0)


def test_readers_of_one_case_each_are_told_of_the_one_way_design(values):
    nested = frame_of(values).assign(reader=lambda d: d["case"] + d["reader"])
    with raises(ColumnError, option="over", value="reader", hint=Setting("form", "icc1")):
        ss.agreement(nested)
    numbered = nested.assign(reading=nested.groupby("case").cumcount().astype(str)).drop(columns="reader")
    found = ss.agreement(numbered, over="reading", form="icc1")
    assert found["estimate"].iloc[0] == ss.agreement(frame_of(values), form="icc1")["estimate"].iloc[0]


def test_readings_of_people_and_scores_without_a_reader_are_compared_unlinked():
    scores = large_study(n_cases=20, n_patients=20).query("metric == 'iou' and task == 'Edema'")
    scores = scores[scores["method"].isin(["human", "gradcam", "ig"])]
    # a bias and two limits for each of the first and the last of the three pairs
    with warns(option="linked", column="reader", rows=(0, 1, 2, 6, 7, 8)):
        linked = ss.agreement(scores, over="method", kind="bland-altman")
    undefined = linked[linked["estimate"].isna()]
    assert undefined.index.tolist() == [0, 1, 2, 6, 7, 8]
    assert set(undefined["pair"]) == {"gradcam - human", "human - ig"}
    found = ss.agreement(scores, over="method", kind="bland-altman", linked=False)
    bias = found.query("term == 'bias'").set_index("pair")["estimate"]
    means = scores.groupby("method")["score"].mean()
    assert bias["gradcam - human"] == pytest.approx(means["gradcam"] - means["human"])


def test_points_of_pairs_are_means_and_differences_of_their_cases(values):
    gaps = values.copy()
    gaps[0, 0] = gaps[1, 2] = np.nan
    scores = pd.concat([frame_of(gaps), frame_of(gaps + 1, method="rise")], ignore_index=True)
    points = mean_and_difference_of_reading_pairs(scores, "reader", ["method"], linked=True)
    assert list(points.columns) == ["method", "pair", "mean", "difference"]
    expected = []
    for method, shift in (("gradcam", 0), ("rise", 1)):
        for first, second in ((0, 1), (0, 2), (1, 2)):
            own = gaps[:, [first, second]]
            own = own[~np.isnan(own).any(axis=1)] + shift
            pair = f"r{first} - r{second}"
            expected += [(method, pair, np.mean(row), row[0] - row[1]) for row in own]
    expected_points = pd.DataFrame(expected, columns=points.columns)
    pd.testing.assert_frame_equal(points, expected_points, check_dtype=False)


def test_a_point_of_unlinked_readings_is_a_case(values):
    two = frame_of(values[:, :2])
    runs = [
        two.assign(seed=two["reader"] + run, score=two["score"] + shift)
        for run, shift in (("a", 0), ("b", 1))
    ]
    points = mean_and_difference_of_reading_pairs(pd.concat(runs), "reader", ["method"], linked=False)
    np.testing.assert_allclose(points["mean"], values[:, :2].mean(axis=1) + 0.5)
    np.testing.assert_allclose(points["difference"], values[:, 0] - values[:, 1])


def test_raters_of_a_column_of_ones_own_need_a_free_key_column(values):
    tools = frame_of(values).rename(columns={"reader": "tool"})
    keys = [column for column in KEY_COLUMNS[3:] if column not in tools.columns]
    full = tools.assign(**dict.fromkeys(keys, "one"))
    with raises(ColumnError, option="over", value="tool", column="tool", choices=KEY_COLUMNS[3:]):
        ss.agreement(full, over="tool")
    # with one of them free, no reading may stand twice
    free = full.drop(columns=keys[-1])
    assert len(ss.agreement(free, over="tool")) == 6
    with raises(ColumnError, rows=(0, len(free))):
        ss.agreement(pd.concat([free, free.assign(score=0.5)], ignore_index=True), over="tool")


def test_readers_of_two_cases_are_enough():
    # two readers of two cases: the mean squares are 2 (.225² + .225²) = .2025 of cases and .1² / 4 = .0025
    # of what is left, so that the ICC of consistency is (.2025 - .0025) / (.2025 + .0025)
    two = np.array([[0.2, 0.4], [0.6, 0.9]])
    # without either case there is no ICC, so no limits
    with warns(column="conf_low", rows=(0,)):
        found = ss.agreement(frame_of(two), form="icc3").iloc[0]
    assert (found["n_raters"], found["n_cases"]) == (2, 2)
    assert found["estimate"] == pytest.approx(0.2 / 0.205)


def test_one_reader_may_have_read_two_cases_only(values):
    gaps = values.copy()
    gaps[2:, 2] = np.nan
    found = ss.agreement(frame_of(gaps), kind="krippendorff", scale="interval").iloc[0]
    assert found["n_raters"] == 3
    # of one case nothing can be estimated
    gaps[1, 2] = np.nan
    with raises(ColumnError, column="reader"):
        ss.agreement(frame_of(gaps), kind="krippendorff", scale="interval")

"""Scores that a frame may hold and hardly means, met in memory by every function that takes scores."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.cli.app import run
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, SalstatsWarning
from salstats.frames import checked_table_codes, coded_scores
from salstats.score_checks import concatenated_bytes_of_texts, warn_of_two_scales

TASKS, METHODS, N_CASES = ("a", "b"), ("human", "gradcam", "ig"), 20


@pytest.fixture(scope="module")
def clean():
    """IoU of three methods on 20 cases of two tasks, with a covariate and a label for each case."""
    rng = np.random.default_rng(1)
    index = pd.MultiIndex.from_product(
        [[f"c{i:02d}" for i in range(N_CASES)], TASKS, METHODS], names=["case", "task", "method"]
    )
    frame = index.to_frame(index=False).assign(metric="iou", score=rng.uniform(0.2, 0.8, len(index)))
    per_case = len(TASKS) * len(METHODS)
    return frame.assign(
        size=np.repeat(rng.random(N_CASES), per_case), label=np.repeat(np.arange(N_CASES) % 2, per_case)
    )


@pytest.fixture(scope="module")
def impossible(clean):
    """The same with an IoU of 999."""
    return clean.assign(score=clean["score"].where(clean.index != 7, 999.0))


@pytest.fixture(scope="module")
def readings(clean):
    """Scores of three readers, one of them 999."""
    parts = [clean[clean["method"] != "human"].assign(reader=reader) for reader in ("r1", "r2", "r3")]
    frame = pd.concat(parts, ignore_index=True)
    noise = np.random.default_rng(2).normal(0, 0.02, len(frame))
    return frame.assign(score=(frame["score"] + noise).where(frame.index != 7, 999.0))


def subjects(function, *arguments, **options):
    """What a call's warnings about scores and names are about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arguments, **options)
    about = [w.message.subject for w in caught if isinstance(w.message, SalstatsWarning)]
    return [subject for subject in about if isinstance(subject, tuple)]


BY_TASK = {"by": ["metric", "task", "method"]}
PAIRED = {"reference": "human"}
DOORS = {
    "summarize": lambda f: ss.summarize(f),
    "bootstrap": lambda f: ss.bootstrap(f, n_replicates=20),
    "describe": lambda f: ss.describe(f),
    "difference": lambda f: ss.difference(f, **PAIRED),
    "percent_decrease": lambda f: ss.percent_decrease(f, **PAIRED),
    "medians": lambda f: ss.medians(f),
    "median_difference": lambda f: ss.median_difference(f, **PAIRED),
    "regress": lambda f: ss.regress(f, "iou ~ size"),
    "regress of a gap": lambda f: ss.regress(f, "iou ~ size", **PAIRED),
    "fit": lambda f: ss.fit(f, "iou ~ size").tidy(),
    "quantile_regress": lambda f: ss.quantile_regress(f, "iou ~ size"),
    "correlate": lambda f: ss.correlate(f, "iou", "size"),
    "auroc": lambda f: ss.auroc(f, "iou", "label", by=["task", "method"]),
    "empty_shares": lambda f: ss.empty_shares(f),
    "agreement": lambda f: ss.agreement(f, over="method", kind="icc"),
    "rank_frequencies": lambda f: ss.rank_frequencies(f, n_replicates=40),
    "significance_map": lambda f: ss.significance_map(f),
    "case_flow": lambda f: ss.case_flow(f),
    "pick_cases": lambda f: ss.pick_cases(f),
    "normalize": lambda f: ss.normalize(f, ["size"]),
    "plot_box": lambda f: ss.plot_box(f),
    "plot_scatter": lambda f: ss.plot_scatter(f, "iou", "size"),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_function_asks_once_about_a_score_outside_its_range(door, clean, impossible):
    assert subjects(DOORS[door], impossible) == [("range", "iou")]
    assert subjects(DOORS[door], clean) == []


@pytest.mark.parametrize("function", [ss.mrmc, ss.mrmc_readers, ss.mrmc_components])
def test_readings_are_asked_about_too(function, readings):
    assert subjects(function, readings) == [("range", "iou")]


@pytest.mark.parametrize(
    "function",
    [
        lambda table: ss.regress(table, "iou ~ size"),
        lambda table: ss.correlate(table, "iou", "size"),
        lambda table: ss.auroc(table, "iou", "label", by="task"),
        lambda table: ss.letter_values(table, "iou"),
        lambda table: ss.normalize(table, "iou"),
    ],
)
def test_a_column_that_is_called_as_a_metric_has_its_range(function, impossible):
    own = impossible[impossible["method"].eq("gradcam")]
    table = own[["case", "task", "score", "size", "label"]].rename(columns={"score": "iou"})
    assert subjects(function, table.reset_index(drop=True)) == [("range", "iou")]
    possible = table.assign(iou=table["iou"].clip(0, 1)).reset_index(drop=True)
    assert subjects(function, possible) == []


def test_a_gap_is_no_score_outside_its_range(clean):
    # gaps of IoUs are negative, and nobody gave them as IoUs
    table = clean.rename(columns={"score": "iou"}).drop(columns="metric")
    assert subjects(ss.regress, table, "iou ~ size", reference="human") == []
    rows = ss.augment(clean, "iou ~ size", by=["method"], reference="human")
    assert subjects(ss.correlate, rows, "iou", "size") == []
    other = clean.assign(loss=-3.0 + clean["size"])
    assert subjects(ss.regress, other, "loss ~ size", reference="human") == []


@pytest.mark.parametrize(
    ("metric", "score", "asked"),
    [
        ("iou", 1.484, True), ("IoU", -1.0, True), ("hit", 2.0, True), ("ncc", 1.2, True),
        ("hausdorff", -3.0, True), ("iou", 1 + 1e-9, False), ("ncc", -1.0, False),
        ("hausdorff", 300.0, False), ("nss", -7.0, False), ("mine", 40.0, False),
    ],
)  # fmt: skip
def test_the_range_is_that_of_the_metric(clean, metric, score, asked):
    frame = clean.assign(metric=metric, score=clean["score"].where(clean.index != 7, score))
    assert subjects(coded_scores, frame) == ([("range", metric)] if asked else [])


def remedied(frame):
    """The frame as the call at the end of the warning gives it."""
    with warns(subject=("range", "iou"), column="score") as caught:
        ss.describe(frame)
    call = str(caught[0].message).rpartition(" with ")[2]
    return eval(call, {"scores": frame})  # the call of our own message


@pytest.mark.parametrize(
    "impossible_scores",
    [
        {7: 999.0},
        {7: -1.0},
        {7: 45.0},
        # below the range and above it
        {7: -3.0, 9: 45.0},
        {7: -3.0, 9: 999.0},
        # a number that stands for a missing score in many rows is no difference
        dict.fromkeys(range(7, 47), -1.0),
        # nor are a few of many scores
        {7: -1.0, 9: -2.0},
    ],
)
def test_the_call_that_is_named_leaves_out_those_scores_alone(clean, impossible_scores):
    frame = clean.copy()
    frame.loc[list(impossible_scores), "score"] = list(impossible_scores.values())
    frame.loc[3, "score"] = np.nan
    unknown = frame.assign(metric="mine")
    kept = remedied(pd.concat([frame, unknown], ignore_index=True))
    assert len(kept) == 2 * len(frame) - len(impossible_scores)
    assert not set(impossible_scores) & set(kept.index)
    assert subjects(ss.describe, kept) == []


def test_differences_of_ious_get_a_name_of_their_own(clean):
    frame = clean.assign(score=clean["score"] - clean["score"].mean())
    renamed = remedied(frame)
    assert set(renamed["metric"]) == {"iou_difference"}
    assert renamed["score"].equals(frame["score"])
    assert subjects(ss.summarize, renamed) == []


@pytest.mark.parametrize("mostly", [True, False])
def test_all_percentages_are_scaled_and_one_among_fractions_is_not(clean, mostly):
    percent = clean["score"] * 100
    frame = clean.assign(score=percent if mostly else clean["score"].where(clean.index != 7, percent))
    with warns(subject=("range", "iou"), column="score") as caught:
        ss.describe(frame)
    # scaling all scores would make the others a hundredth of what they are
    options = [setting.option for setting in caught[0].message.hint.settings()]
    assert options == (["scale"] if mostly else [])


def test_scores_outside_their_range_are_never_averaged_in_silence(clean):
    frame = clean.assign(score=clean["score"].where(clean.index != 7, 1.484))
    with warns(subject=("range", "iou"), column="score", rows=(7,)):
        intervals = ss.summarize(frame)["interval"]
    assert set(intervals) == {"wilson_t", "cr2"}
    assert set(ss.summarize(clean)["interval"]) == {"wilson_t"}
    # single precision is no impossible score, and costs no bounds
    rounded = clean.assign(score=clean["score"].where(clean.index != 7, 1 + 1e-7))
    assert set(ss.summarize(rounded)["interval"]) == {"wilson_t"}


@pytest.mark.parametrize("column", ["case", "method", "task", "patient"])
@pytest.mark.parametrize("dtype", ["str", "object", "category"])
def test_a_name_with_a_blank_is_refused_as_in_a_file(clean, column, dtype):
    frame = clean.assign(patient=clean["case"])
    name = frame[column].iloc[-1]
    names = frame[column].where(frame.index != len(frame) - 1, f"{name} ").astype(dtype)
    hint = f"remove it with scores.assign({column}=scores['{column}'].str.strip())"
    with raises(ColumnError, column=column, value=f"{name} ", rows=(len(frame) - 1,), hint=hint):
        ss.summarize(frame.assign(**{column: names}))


@pytest.mark.parametrize("numbers", [[1, 2], [1.0, 2.0]])
def test_a_number_and_the_same_number_as_text_are_an_error(clean, numbers):
    seeds = pd.concat([clean.assign(seed=number) for number in numbers], ignore_index=True)
    texts = seeds.assign(seed=seeds["seed"].astype(int).astype(str), method="other")
    mixed = pd.concat([seeds, texts], ignore_index=True)
    with raises(ColumnError, column="seed", value="1", rows=(len(seeds),)):
        ss.summarize(mixed, by="seed")


def test_a_category_that_no_row_has_says_nothing(clean):
    cases = pd.Categorical(clean["case"], [*clean["case"].unique(), "C00", "c01 "])
    assert subjects(ss.summarize, clean.assign(case=cases)) == []


@pytest.mark.parametrize("column", ["case", "reader", "task", "method", "metric", "model"])
def test_names_that_differ_in_capitals_are_asked_about(clean, column):
    frame = clean.assign(reader="r1", model="densenet")
    written = frame[column].where(frame.index != 0, frame[column].iloc[0].upper())
    assert subjects(coded_scores, frame.assign(**{column: written})) == [("names", column)]


def test_cases_of_two_spellings_are_named_where_they_are_not_paired(clean):
    written = clean["case"].where(clean["method"].ne("gradcam"), clean["case"].str.upper())
    with warns(column="case", value="C19") as caught:
        ss.case_flow(clean.assign(case=written), reference="human")
    call = str(caught[0].message.hint).removesuffix(" makes them one")
    repaired = eval(call, {"scores": clean.assign(case=written)})
    pd.testing.assert_series_equal(repaired["case"], clean["case"], check_dtype=False)


def scores_of_tasks(*names):
    """Scores of one method, the task of each row given."""
    cases = [f"c{i}" for i in range(len(names))]
    return pd.DataFrame({"case": cases, "task": names, "method": "g", "metric": "iou", "score": 0.5})


@pytest.mark.parametrize(
    ("names", "rare", "frequent", "row"),
    [
        (["Edema"] * 5 + ["Edma"], "Edma", "Edema", 5),
        (["Edma"] + ["Edema"] * 5, "Edma", "Edema", 0),
        (["lung_lesion", "Lung Lesion", "Lung Lesion"], "lung_lesion", "Lung Lesion", 0),
        # of equally frequent names the first in the alphabet
        (["edema", "Edema", "edema", "Edema"], "Edema", "edema", 1),
        (["Layer 10"] * 5 + ["Layr 10"], "Layr 10", "Layer 10", 5),
    ],
)
def test_a_rare_name_that_is_nearly_another_is_asked_about(names, rare, frequent, row):
    scores = scores_of_tasks(*names)
    with warns(subject=("names", "task"), column="task", value=rare, rows=(row,)) as caught:
        coded_scores(scores)
    call = str(caught[0].message.hint).removesuffix(" makes them one")
    assert set(eval(call, {"scores": scores})["task"]) == {frequent}


@pytest.mark.parametrize(
    "names",
    [
        # four times as frequent
        ["Edma", *["Edema"] * 4],
        ["Layer 1", *["Layer 2"] * 9],
        ["Lung Lesion", *["Lung Opacity"] * 9],
    ],
)
def test_names_that_may_well_be_two_say_nothing(names):
    assert subjects(coded_scores, scores_of_tasks(*names)) == []
    # cases are often alike
    assert subjects(coded_scores, pd.DataFrame({
        "case": ["Edma", "Edema"], "reader": [None, "r"], "method": "g", "metric": "iou", "score": 0.5
    })) == []  # fmt: skip


@pytest.mark.parametrize(
    "names",
    [
        ["Img_1", "Img_2", "Img_11"], ["1-1", "11", "1_1"], ["São 1", "Sao 1", "Łódź"], [7, 8, 9],
        ["a", "B", "c"], ["000A", "000B", "00AA"],
    ],
)  # fmt: skip
def test_names_of_different_cases_say_nothing(names):
    frame = pd.DataFrame({"case": names, "method": "g", "metric": "iou", "score": [0.1, 0.2, 0.3]})
    assert subjects(coded_scores, frame) == []


def test_a_command_says_once_what_the_file_was_warned_of(tmp_path, capsys):
    rows = "".join(f"c{i},g,iou,{score}\n" for i, score in enumerate([0.5, 0.25, 999, 0.5, 0.75, 0.5, 0.25]))
    file = tmp_path / "scores.csv"
    file.write_text(f"case,method,metric,score\n{rows}")
    assert run(["summarize", str(file), "-o", str(tmp_path / "out.csv")]) == 0
    said = capsys.readouterr().err
    assert said.count("lies outside") == 1
    assert "scores.csv, row 4: iou 999" in said


def scales_asked_about(scores):
    """The rows that are named as probable fractions."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_two_scales(scores, lambda row: f"row {row}")
    assert len(caught) <= 1
    return [row for warning in caught for row in warning.message.rows]


def percentages(n=20, metric="iou"):
    """Percentages from 31 to 50 of a method."""
    return pd.DataFrame({"method": "cam", "metric": metric, "score": 31.0 + np.arange(n)})


def test_fractions_of_a_method_or_reader_among_percentages_are_asked_about():
    fractions = pd.DataFrame({"method": "lime", "metric": "iou", "score": [0.3, 0.0, 1.0, 0.5]})
    both = pd.concat([percentages(), fractions], ignore_index=True)
    # a score of 0 is one on every scale
    assert scales_asked_about(both) == [20, 22, 23]
    assert scales_asked_about(both[:23]) == []
    by_reader = both.assign(method="cam", reader=["r1"] * 20 + ["r2"] * 4)
    assert scales_asked_about(by_reader) == [20, 22, 23]
    # without a reader of their own too many are small for percentages
    assert scales_asked_about(both.assign(method="cam")) == [20, 22, 23]


def test_small_percentages_are_no_fractions_where_as_many_are_a_little_larger():
    scores = percentages()
    assert scales_asked_about(scores) == []
    scores.loc[:2, "score"] = 0.5
    assert scales_asked_about(scores) == [0, 1, 2]
    scores.loc[3:5, "score"] = [1.5, 4.0, 10.0]
    assert scales_asked_about(scores) == []
    # three of a hundred are few
    many = percentages(100).assign(score=50.0)
    many.loc[:2, "score"] = 0.5
    assert scales_asked_about(many) == []


@pytest.mark.parametrize(("metric", "factor"), [("iou", 0.01), ("iou", 10), ("nss", 1), ("mine", 1)], ids=str)
def test_only_percentages_of_a_metric_from_zero_to_one_may_hide_fractions(metric, factor):
    scores = percentages(metric=metric)
    scores["score"] = (scores["score"] * factor).where(scores.index > 4, 0.5)
    assert scales_asked_about(scores) == []


def test_differences_in_a_column_called_as_a_metric_get_a_column_of_another_name(clean):
    table = clean[["case", "task", "method"]].assign(iou=clean["score"] - clean["score"].mean())
    with warns(subject=("range", "iou"), column="iou") as caught:
        checked_table_codes(table, ["iou"])
    call = str(caught[0].message).rpartition(" with ")[2]
    assert call.endswith(".rename(columns={'iou': 'iou_difference'})")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [([], b""), (["", ""], b""), ([None, None], b""), (["ab", "", None, "é"], "abé".encode()), (["a"], b"a")],
)
def test_bytes_of_texts_follow_each_other_without_those_of_missing_cells(texts, expected):
    for values in (pd.Series(texts, dtype=TEXT), pd.Index(texts, dtype=object)):
        found = concatenated_bytes_of_texts(values)
        assert (found.dtype, found.tobytes()) == (np.dtype(np.uint8), expected)


def test_bytes_of_some_rows_are_not_those_of_the_others():
    texts = pd.Series(["ab", "cd", "e", "fgh"], dtype=TEXT)
    assert concatenated_bytes_of_texts(texts.iloc[1:3]).tobytes() == b"cde"

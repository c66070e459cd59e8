"""What is said of scores outside a metric's range, of two scales in one file, and of names nearly alike."""

import re
import warnings

import pytest
from tests_support import warns

import salstats as ss
from salstats.errors import SalstatsWarning


def read(text_file, *rows, **options):
    """Scores of rows `metric,score`, and what was said on reading them."""
    lines = "".join(f"{case},g,{row}\n" for case, row in enumerate(rows))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = ss.read_scores(text_file(f"case,method,metric,score\n{lines}"), **options)
    assert all(w.category is SalstatsWarning for w in caught)
    return frame, [str(w.message) for w in caught]


def test_percentages_are_said_once_with_place_value_range_and_count(text_file):
    frame, said = read(
        text_file, "iou,0.5", "iou,35.25", "iou,", "iou,0.25", "iou,100", "iou,0.5", "hausdorff,40"
    )
    assert frame["score"].tolist()[1] == 35.25
    assert len(said) == 1
    assert re.search(
        r"scores\.csv, row 3: iou 35\.25 lies outside its range 0 \.\.\. 1 \(2 of 6 scores do\)",
        said[0],
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("IoU,20", "IoU 20 lies outside its range 0 ... 1 (1 of 1 scores do)"),
        ("dice,-1", "dice -1 lies outside its range 0 ... 1 (1 of 1 scores do)"),
        ("NCC,1.5", "NCC 1.5 lies outside its range -1 ... 1 (1 of 1 scores do)"),
        ("hausdorff,-3", "hausdorff -3 lies outside its range 0 or more (1 of 1 scores do)"),
    ],
)
def test_the_range_is_that_of_the_metric_in_any_case(text_file, row, message):
    _, said = read(text_file, row)
    assert len(said) == 1
    assert f"scores.csv, row 2: {message}" in said[0]


def test_a_file_of_percentages_is_told_the_options_that_divide_them(text_file):
    _, said = read(text_file, "IoU,20", "IoU,0", "IoU,35", "IoU,0.5")
    assert "scale={'IoU': 0.01}" in said[0]


@pytest.mark.parametrize("row", ["iou,1.0000001", "ncc,-1", "nss,-7.5", "my score,40", "iou,"])
def test_a_score_within_the_range_up_to_rounding_says_nothing(text_file, row):
    assert read(text_file, row)[1] == []


def test_each_metric_is_said_with_the_file_and_row_of_its_first_score(text_file):
    first = text_file("case,a,b\n1,0.5,0.5\n2,-0.5,0.5\n", "a.csv")
    second = text_file("case,a,b\n1,0.5,0.5\n2,0.5,70\n", "b.csv")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ss.read_scores([first, second], wide="task", method="g", metric=["ncc", "iou"])
        ss.read_scores(first, wide="task", method="g", metric="iou")
    said = [str(w.message) for w in caught]
    assert len(said) == 2
    assert re.search(r"b\.csv, row 3: iou 70 lies outside its range 0 \.\.\. 1 \(1 of 4 scores do\)", said[0])
    assert re.search(r"a\.csv, row 3: iou -0\.5 lies outside", said[1])
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("rows", "fractions", "first"),
    [
        # all scores of a reader, though percentages as low are there
        ("g,,45 g,,2 g,,3 g,,4 g,,5 h,A,0.7 h,A,0.6 h,A,0.9", (5, 6, 7), 0.7),
        ("g,,45 g,,52 g,,0.62 g,,0.31 g,,1", (2, 3, 4), 0.62),
    ],
)
def test_fractions_among_percentages_that_are_scaled_are_told(text_file, rows, fractions, first):
    lines = "".join(f"{case},{row},iou\n" for case, row in enumerate(rows.split()))
    with warns(column="score", rows=fractions, value=first):
        ss.read_scores(text_file(f"case,method,reader,score,metric\n{lines}"), scale=0.01)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("metric", ["iou", "hit"])
def test_percentages_near_nought_are_no_fractions(text_file, metric):
    rows = "".join(
        f"{case},g,{metric},{score}\n" for case, score in enumerate([0, 100, 0.5, 3, 8, 40, 100, "", 0])
    )
    ss.read_scores(text_file(f"case,method,metric,score\n{rows}"), scale=0.01)


@pytest.mark.parametrize(
    ("first", "second", "numbers"),
    [("Edma", "Edema", (1, 5)), ("edema", "Edema", (3, 3)), ("Grad-CAM", "gradcam", (1, 2))],
)
@pytest.mark.parametrize("column", ["task", "method"])
def test_a_name_that_is_nearly_another_is_told(text_file, column, first, second, numbers):
    names = [second] * numbers[1] + [first] * numbers[0]
    other = "method" if column == "task" else "task"
    rows = "".join(f"{case},{name},x,iou,0.5\n" for case, name in enumerate(names))
    # of equally frequent names the first in the alphabet is the rare one
    rare, frequent = (first, second) if numbers[0] < numbers[1] else sorted([first, second])
    hint = f"scores.replace({{{column!r}: {{{rare!r}: {frequent!r}}}}}) makes them one"
    row = names.index(rare)
    with warns(column=column, value=rare, rows=(row,), hint=hint):
        ss.read_scores(text_file(f"case,{column},{other},metric,score\n{rows}"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "names", [["Lung Lesion", *["Lung Opacity"] * 9], ["layer1", *["layer2"] * 9], ["Edma", *["Edema"] * 4]]
)
def test_names_that_may_well_be_two_say_nothing(text_file, names):
    rows = "".join(f"{case},{name},g,iou,0.5\n" for case, name in enumerate(names))
    ss.read_scores(text_file(f"case,task,method,metric,score\n{rows}"))

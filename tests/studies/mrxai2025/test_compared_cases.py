"""Which cases tools are compared on, what counts as a failure, and what it costs at worst."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

from salstats.errors import ColumnError, SalstatsError, ValueRangeError
from salstats.scoring.cases import ABSENT, EMPTY, NO_MAP
from salstats.studies.mrxai2025.compared_cases import (
    FALSE_ALARM,
    MISSED,
    NO_PROB,
    NO_REASON,
    NO_ROW,
    UNDEFINED_FOR_ALL,
    case_and_tool_rows_with_failure_flags,
    keep_present_and_correct_cases,
    note_text,
    scores_at_worst,
)

NAN = float("nan")


def scores_of(cells, **columns):
    """A scores frame of tools a and b: case -> (Dice of a, of b), further columns by case."""
    rows = [
        {"case": case, "method": method, "metric": "dice", "score": score}
        | {name: values.get(case) for name, values in columns.items()}
        for case, pair in cells.items()
        for method, score in zip("ab", pair, strict=True)
    ]
    return pd.DataFrame(rows)


def reasons(scored):
    return scored.all_scores.groupby("case")["reason"].agg(lambda r: r.iloc[0]).to_dict()


def test_a_case_is_compared_where_the_finding_is_there_and_the_model_says_so():
    cells = {"right": (0.5, 0.6), "missed": (0.1, 0.2), "absent": (NAN, NAN), "alarm": (NAN, NAN)}
    label = {"right": 1, "missed": 1, "absent": 0, "alarm": 0}
    prob = {"right": 0.5, "missed": 0.49, "absent": 0.1, "alarm": 0.5}
    scored = keep_present_and_correct_cases(scores_of(cells, label=label, prob=prob), reference="a")
    assert set(scored.compared["case"]) == {"right"}
    assert scored.excludes_wrong_answers
    why = reasons(scored)
    assert (why["missed"], why["absent"], why["alarm"]) == (MISSED, ABSENT, FALSE_ALARM)
    assert scored.all_scores.query("case == 'missed'")["score"].isna().all()


def test_a_case_without_probability_is_left_out_where_others_have_one():
    scored = keep_present_and_correct_cases(
        scores_of({"x": (0.5, 0.6), "y": (0.1, 0.2)}, prob={"x": 0.9}), reference="a"
    )
    assert reasons(scored)["y"] == NO_PROB


def test_what_score_says_of_an_absent_finding_needs_no_label():
    given = scores_of({"x": (0.5, 0.6), "y": (NAN, NAN)}, reason={"y": ABSENT})
    assert reasons(keep_present_and_correct_cases(given, reference="a"))["y"] == ABSENT


def test_a_case_that_is_undefined_for_all_without_reason_is_left_out_and_said():
    given = scores_of({"x": (0.5, 0.6), "y": (NAN, NAN)})
    assert reasons(keep_present_and_correct_cases(given, reference="a"))["y"] == UNDEFINED_FOR_ALL


def test_an_undefined_score_without_reason_counts_as_empty():
    kept = keep_present_and_correct_cases(
        scores_of({"x": (0.5, 0.6), "y": (NAN, 0.2)}), reference="a"
    ).compared
    assert kept.loc[kept["score"].isna(), "reason"].to_list() == [NO_REASON]
    assert case_and_tool_rows_with_failure_flags(kept).set_index(["case", "method"])["empty"].to_dict() == {
        ("x", "a"): False, ("x", "b"): False, ("y", "a"): True, ("y", "b"): False,
    }  # fmt: skip


def test_a_row_that_is_not_there_is_an_explanation_not_given():
    given = scores_of({"x": (0.5, 0.6), "y": (0.1, 0.2)}).query("not (case == 'y' and method == 'b')")
    kept = keep_present_and_correct_cases(given, reference="a").compared
    assert len(kept) == 4
    assert kept.loc[kept["score"].isna(), "reason"].to_list() == [NO_ROW]
    found = case_and_tool_rows_with_failure_flags(kept).set_index(["case", "method"]).loc[("y", "b")]
    assert (bool(found["empty"]), bool(found["not_given"])) == (False, True)


def test_an_empty_mask_that_was_scored_is_taken_out_and_counted():
    # as a file of score(undefined="worst") has it
    given = scores_of({"x": (0.5, 0.6), "y": (0.0, 0.2)}).assign(empty_mask=[False, False, True, False])
    kept = keep_present_and_correct_cases(given, reference="a").compared
    assert kept.query("case == 'y' and method == 'a'")["score"].isna().item()
    assert kept.query("case == 'y' and method == 'a'")["reason"].item() == EMPTY
    assert case_and_tool_rows_with_failure_flags(kept)["empty"].sum() == 1


def test_a_mask_that_is_not_known_to_be_empty_is_not():
    given = scores_of({"x": (0.5, 0.6), "y": (NAN, 0.2)}).assign(empty_mask=[None, False, None, True])
    kept = keep_present_and_correct_cases(given, reference="a").compared.set_index(["case", "method"])
    assert kept["score"].dropna().to_dict() == {("x", "a"): 0.5, ("x", "b"): 0.6}
    assert kept["reason"].dropna().to_dict() == {("y", "a"): NO_REASON, ("y", "b"): EMPTY}


def test_at_worst_overlap_is_0_and_a_distance_the_diagonal():
    rows = [
        {
            "case": "x",
            "method": m,
            "metric": metric,
            "score": score,
            "reason": reason,
            "height": 30,
            "width": 40,
        }
        for m, reason in (("a", None), ("b", EMPTY), ("c", NO_MAP))
        for metric, score in (("dice", 0.5), ("pdc", 0.6), ("hausdorff", 4.0), ("nss", 1.0))
    ]
    kept = pd.DataFrame(rows).assign(height=30, width=40)
    kept["score"] = kept["score"].where(kept["reason"].isna())
    worst = scores_at_worst(kept).pivot(index="metric", columns="method", values="score")
    assert worst["a"].to_dict() == {"dice": 0.5, "pdc": 0.6, "hausdorff": 4.0, "nss": 1.0}
    for method in "bc":
        assert worst.loc[["dice", "pdc", "hausdorff"], method].to_list() == [0.0, 0.0, 50.0]
        # the lowest NSS is not known
        assert np.isnan(worst.loc["nss", method])
    given = scores_at_worst(kept, pd.Series({"x": 7.0})).query("metric == 'hausdorff' and method == 'b'")
    assert given["score"].item() == 7.0


def test_a_distance_in_mm_has_no_diagonal_in_pixels():
    kept = pd.DataFrame(
        [{"case": "x", "method": "a", "metric": "hausdorff", "score": NAN, "reason": EMPTY, "height": 3,
          "width": 4, "distance_unit": "mm"}]
    )  # fmt: skip
    assert scores_at_worst(kept)["score"].isna().all()


TWO = {"x": (0.5, 0.6), "y": (0.1, 0.2)}


@pytest.mark.parametrize(
    ("scores", "options", "kind", "fields"),
    [
        (scores_of(TWO).assign(task=["1", "1", "2", "2"]), {}, SalstatsError, {"column": "task"}),
        (scores_of(TWO).assign(reader=["1", "1", "2", "2"]), {}, SalstatsError, {"column": "reader"}),
        (
            scores_of({"x": (0.5, 0.6)}).assign(prob=[0.4, 0.9]),
            {},
            ColumnError,
            {"column": "prob", "rows": (0, 1)},
        ),
        (scores_of(TWO), {"reference": "c"}, ValueRangeError, {"option": "reference", "choices": ("a", "b")}),
        (scores_of(TWO, prob={"x": 0.1, "y": 0.1}), {}, SalstatsError, {"match": "no case is left: of 2"}),
        (scores_of(TWO), {"cutoff": 1.1}, ValueRangeError, {"option": "cutoff", "value": 1.1}),
        (scores_of(TWO), {"cutoff": NAN}, ValueRangeError, {"option": "cutoff"}),
        (
            scores_of(TWO).assign(distance_unit=["px", "px", "mm", "mm"]),
            {},
            SalstatsError,
            {"column": "distance_unit"},
        ),
    ],
)
def test_scores_that_cannot_be_compared_are_errors(scores, options, kind, fields):
    with raises(kind, **fields):
        keep_present_and_correct_cases(scores, **({"reference": "a"} | options))


def test_an_absent_finding_is_told_by_label_reason_or_neither():
    # without a label the finding is there
    given = scores_of({"x": (0.5, 0.6), "y": (0.1, 0.2)}, label={"x": 1})
    assert len(keep_present_and_correct_cases(given, reference="a").compared) == 4
    given = scores_of({"x": (0.5, 0.6), "y": (NAN, NAN)}, label={"x": 1, "y": 0})
    kept = keep_present_and_correct_cases(given)
    assert reasons(kept)["y"] == ABSENT
    assert not kept.excludes_wrong_answers
    assert kept.probability_cutoff == 0.5


def test_scores_at_the_worst_are_taken_out_with_a_warning():
    given = scores_of({"x": (0.5, 0.6), "y": (0.0, 0.2)}).assign(empty_mask=[False, False, True, False])
    with warns(column="undefined"):
        keep_present_and_correct_cases(given.assign(undefined="worst"))
    # an empty text is no reason
    kept = keep_present_and_correct_cases(scores_of(TWO).assign(reason=["", "", None, None])).compared
    assert kept["reason"].isna().all()


def test_an_explanation_is_not_given_where_all_its_metrics_lack_a_score():
    rows = [("x", "a", metric, NAN, NO_MAP) for metric in ("dice", "iou")]
    rows += [("x", "b", "dice", NAN, NO_MAP), ("x", "b", "iou", 0.5, None)]
    rows += [("x", "c", "dice", NAN, EMPTY), ("x", "c", "iou", 0.5, None)]
    compared = pd.DataFrame(rows, columns=["case", "method", "metric", "score", "reason"])
    flags = case_and_tool_rows_with_failure_flags(compared).set_index("method")
    assert flags["not_given"].to_dict() == {"a": True, "b": False, "c": False}
    assert flags["empty"].to_dict() == {"a": False, "b": False, "c": True}
    assert list(case_and_tool_rows_with_failure_flags(compared.assign(patient="p"))) == [
        "case", "patient", "method", "empty", "not_given"
    ]  # fmt: skip
    # a case whose patient is unknown counts too
    assert len(case_and_tool_rows_with_failure_flags(compared.assign(patient=None))) == 3


@pytest.mark.parametrize(
    ("sentences", "text"),
    [
        (("One thing.", "", "Another."), "one thing. Another"),
        (("PDC is one.",), "PDC is one"),
        (("A b",), "A b"),
        ((), ""),
    ],
)
def test_notes_begin_small_unless_with_an_abbreviation(sentences, text):
    assert note_text(*sentences) == text

"""A formula says what to fit and can do nothing else."""

import contextlib
import time

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, FormulaError, SalstatsError
from salstats.stats.models.formulas import MAX_LENGTH, parse_formula

ROWS = pd.DataFrame(
    {
        "y": [0.1, 0.4, 0.3, 0.8, 0.5, 0.9],
        "a": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0],
        "b": [2.0, 1.0, 4.0, 3.0, 6.0, 6.0],
        "site": ["n", "s", "s", "n", "w", "w"],
        "side": ["l", "l", "r", "r", "l", "r"],
    }
)


def terms(text):
    formula = parse_formula(text)
    return [":".join(f.name for f in term) for term in formula.terms], formula.intercept


# what R's attr(terms(y ~ ...), "term.labels") gives for the same right side, spelling of powers apart
R_TERMS = [
    ("y ~ a", ["a"], True),
    ("y ~ 1", [], True),
    ("y ~ a - 1", ["a"], False),
    ("y ~ 0 + a", ["a"], False),
    ("y ~ -1 + a", ["a"], False),
    ("y ~ a + 0", ["a"], False),
    ("y ~ a - 1 + 1", ["a"], True),
    ("y ~ a*b", ["a", "b", "a:b"], True),
    ("y ~ a*b - a", ["b", "a:b"], True),
    ("y ~ a:b + a", ["a", "a:b"], True),
    ("y ~ a/b", ["a", "a:b"], True),
    ("y ~ (a + b)/site", ["a", "b", "a:b:site"], True),
    ("y ~ (a + b + site)^2", ["a", "b", "site", "a:b", "a:site", "b:site"], True),
    ("y ~ (a + b + site)**2 - a:b", ["a", "b", "site", "a:site", "b:site"], True),
    ("y ~ b %in% a", ["b:a"], True),
    ("y ~ a*b*site", ["a", "b", "site", "a:b", "a:site", "b:site", "a:b:site"], True),
    ("y ~ (a + b)*site - site", ["a", "b", "a:site", "b:site"], True),
    ("y ~ a + a", ["a"], True),
    ("y ~ a:b + b:a", ["a:b"], True),
    ("y ~ log(a)*b", ["log(a)", "b", "log(a):b"], True),
    # brackets, in which a 1 is the intercept's and in products nothing
    ("y ~ (a - 1)", ["a"], False),
    ("y ~ b + (a + 0)", ["b", "a"], False),
    ("y ~ a - (b - 1)", ["a"], True),
    ("y ~ site - (a + 1)", ["site"], False),
    ("y ~ (a + 1)^2", ["a"], True),
    ("y ~ (a + 1)^2 - 1", ["a"], False),
    ("y ~ (b/sqrt(a)) - (b - site)", ["b:sqrt(a)"], True),
    ("y ~ (log(a) + b) - (b - a)", ["log(a)"], True),
    ("y ~ (sqrt(a) + a:b + a + 1)^3", ["sqrt(a)", "a", "sqrt(a):a", "a:b", "sqrt(a):a:b"], True),
    (
        "y ~ ((b + log(a))^2)*b*site",
        ["b", "log(a)", "site", "b:log(a)", "b:site", "log(a):site", "b:log(a):site"],
        True,
    ),
    ("y ~ (a + b):a - b:a", ["a"], True),
    ('y ~ Q("a") + b - a', ["b"], True),
]


@pytest.mark.parametrize(("text", "labels", "intercept"), R_TERMS)
def test_operators_expand_as_in_r(text, labels, intercept):
    assert terms(text) == (labels, intercept)


# {ran} is the path of a file that only a formula that runs as code can make
MALICIOUS = [
    "y ~ __import__('os').system('touch {ran}')",
    "y ~ I(__import__('os').system('touch {ran}'))",
    "y ~ {{__import__('os').system('touch {ran}')}}",
    "y ~ I(a + __import__('os').system('touch {ran}'))",
    "y ~ log(open('{ran}', 'w').write('x'))",
    "y ~ I(open('{ran}', 'w'))",
    "y ~ open('{ran}', 'w')",
    "y ~ Q(open('{ran}', 'w').name)",
    "y ~ C(a, open('{ran}', 'w'))",
    "y ~ C(a, Treatment(open('{ran}', 'w')))",
    "y ~ C(a, contr.treatment('x'))",
    "__import__('os').system('touch {ran}') ~ a",
    "I(open('{ran}', 'w')) ~ a",
    "y ~ I((lambda: open('{ran}', 'w'))())",
    "y ~ I([open('{ran}', 'w') for i in a][0])",
    "y ~ I([a for a in (1,)])",
    "y ~ I({{open('{ran}', 'w')}})",
    "y ~ I(a.to_csv('{ran}'))",
    "y ~ a.to_csv('{ran}')",
    "y ~ I(a.__class__)",
    "y ~ I(a[0])",
    "y ~ a[open('{ran}', 'w')]",
    "y ~ I(a)(open('{ran}', 'w'))",
    "y ~ I(f'{{open(1)}}')",
    "y ~ I(a if open('{ran}', 'w') else b)",
    "y ~ I(a and open('{ran}', 'w'))",
    "y ~ I((x := open('{ran}', 'w')))",
    "y ~ I(*open('{ran}', 'w'))",
    "y ~ scale(a, open('{ran}', 'w'))",
    "y ~ log(a, 2)",
    "y ~ np.log(a)",
    "y ~ bs(a, df=3)",
    "y ~ `__import__('os').system('touch {ran}')`",
    "y ~ Q('x' + 'y')",
    "y ~ Q()",
    "y ~ I()",
    "y ~ I('a')",
    "y ~ 'a'",
    "y ~ I(2)",
    "y ~ I(a < b)",
    "y ~ I(a ^ 2)",
    "y ~ I(C(a))",
    "y ~ log(C(site))",
    "C(y) ~ a",
    "y ~ I(a); import os",
    "y ~ a\x00",
    "y ~ .",
    "y ~ a | b",
    "y ~ [a ~ b]",
    "y ~ 2",
    "y ~ a**b",
    "y ~ a**2.5",
    "y ~ (a",
    "y ~ a)",
    "y ~ a b",
    "y ~ a +",
    "y ~ a = 3",
    "y ~ {{",
    "y ~ I(a",
    "y ~ 'a",
    "y + a ~ b",
    "1 ~ a",
    "y ~ y",
    "y ~ a - a - 1",
    "y ~",
    "~ a",
    "y",
    "",
    "~",
    "y ~ I(" + "9" * 400 + " * a)",
    "y ~ I(1e999 * a)",
]


@pytest.mark.parametrize("text", MALICIOUS)
def test_what_a_formula_may_not_say_is_refused_and_nothing_runs(text, tmp_path):
    ran = tmp_path / "ran"
    formula = text.replace("{ran}", str(ran)).replace("{{", "{").replace("}}", "}")
    with pytest.raises((FormulaError, ColumnError)) as refusal:
        ss.regress(ROWS, formula)
    assert not ran.exists()
    assert "\n" not in str(refusal.value)
    assert "\x1b" not in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        "y ~ ((((a + b)**20)**20)**20)**20",
        "y ~ (a + b)**999999999999",
        "y ~ " + "*".join(f"c{i}" for i in range(60)),
        "y ~ (" + " + ".join(f"c{i}" for i in range(60)) + ")**9",
        "y ~ " + "(" * 900 + "a" + ")" * 900,
        "y ~ I(" + "-" * 900 + "a)",
        "y ~ " + "-" * 1500 + "a",
        "y ~ I(9 ** 9 ** 9 ** 9 ** 9 * a)",
        "y ~ " + "a/" * 500 + "a",
        "y ~ " + "x" * MAX_LENGTH,
    ],
)
def test_a_formula_made_to_hang_is_answered_at_once(text):
    start = time.perf_counter()
    with contextlib.suppress(SalstatsError):
        ss.regress(ROWS, text)
    assert time.perf_counter() - start < 2


def test_columns_named_like_transforms_neither_break_nor_hijack_them():
    frame = ROWS.assign(log=ROWS["b"], C=ROWS["a"], scale=[1, 0, 0, 1, 1, 0], I=ROWS["a"] * ROWS["b"])
    plain = ss.regress(ROWS.assign(z=[1, 0, 0, 1, 1, 0]), "y ~ log(a) + b + z")
    named = ss.regress(frame, "y ~ log(a) + log + scale")
    np.testing.assert_array_equal(plain["estimate"], named["estimate"])
    assert named["term"].tolist() == ["(Intercept)", "log(a)", "log", "scale"]
    np.testing.assert_array_equal(
        ss.regress(frame, "y ~ log(log)")["estimate"], ss.regress(ROWS, "y ~ log(b)")["estimate"]
    )
    np.testing.assert_array_equal(
        ss.regress(frame, "y ~ I(I)")["estimate"], ss.regress(ROWS, "y ~ I(a * b)")["estimate"]
    )


def test_any_column_name_is_reached_by_q_and_backticks():
    frame = ROWS.rename(columns={"a": "max width", "b": "x.y"})
    for text in ('y ~ Q("max width") + Q("x.y")', "y ~ `max width` + x.y"):
        result = ss.regress(frame, text)
        assert result["term"].tolist() == ["(Intercept)", "max width", "x.y"]
        np.testing.assert_array_equal(result["estimate"], ss.regress(ROWS, "y ~ a + b")["estimate"])
    assert ss.regress(frame, 'y ~ log(Q("max width"))')["term"][1] == "log(max width)"


@pytest.mark.parametrize(("name", "meant"), [("IoU", "iou"), ("Area_Ratio", "area_ratio")])
def test_a_name_in_another_case_is_answered_with_ours(name, meant):
    scores = pd.DataFrame({"case": ["a"], "method": "cam", "metric": "iou", "score": 0.5, "area_ratio": 1.0})
    # the question comes before the list of all columns
    with raises(ColumnError, column=name, match=rf"'{meant}'\?"):
        ss.regress(scores, f"{name} ~ 1")
    with raises(ColumnError, column=name, match=rf"'{meant}'\?"):
        ss.correlate(scores, name, "score")


@pytest.mark.parametrize(
    ("text", "random"),
    [
        ("iou ~ prob + (1|reader)", [("reader", 0, True, True)]),
        ("iou~(1|patient/case)+prob", [("patient", 0, True, True), ("patient:case", 0, True, True)]),
        ("iou ~ prob + ( 1 | reader:case )", [("reader:case", 0, True, True)]),
        ("iou ~ prob + (1 + method|reader)", [("reader", 1, True, True)]),
        ("iou ~ (method * task | reader) + prob", [("reader", 3, True, True)]),
        ("iou ~ prob + (0 + prob|reader)", [("reader", 1, False, True)]),
        ("iou ~ prob + (prob || `read er`)", [("read er", 1, True, False)]),
        ('iou ~ prob + (1|Q("a|b"))', [("a|b", 0, True, True)]),
        ("iou ~ (1|case) + prob + (1|reader)", [("case", 0, True, True), ("reader", 0, True, True)]),
    ],
)
def test_random_effects_are_read_apart_from_the_terms(text, random):
    formula = parse_formula(text)
    assert [(e.grouping_name, len(e.terms), e.intercept, e.correlated) for e in formula.random] == random
    assert [[f.name for f in term] for term in formula.terms] == [["prob"]]
    assert formula.intercept
    assert {column for e in formula.random for column in e.groups} <= set(formula.columns)


def test_random_effects_alone_leave_an_intercept_and_brackets_of_terms_stay():
    assert parse_formula("iou ~ (1|case)").intercept
    assert not parse_formula("iou ~ 0 + prob + (1|case)").intercept
    assert parse_formula("iou ~ (prob + task)**2 + (1|case)").terms == parse_formula("iou ~ prob*task").terms
    assert parse_formula('iou ~ Q("a|b")').columns == ("iou", "a|b")


@pytest.mark.parametrize(
    ("text", "column", "value"),
    [
        # no random effect
        ("y ~ a | b", None, "a | b"),
        ("y ~ a * (1|b)", None, "a * (1|b)"),
        ("y ~ (1|b) - a", None, "(1|b) - a"),
        ("y ~ (|b)", None, "(|b)"),
        ("y ~ (1|a|b)", None, "(1|a|b)"),
        # nothing differs
        ("y ~ (0|b)", "b", None),
        # no groups
        ("y ~ (1|a + b)", None, "a + b"),
        ("y ~ (1|log(b))", None, "log(b)"),
        ("y ~ (1|1)", None, "1"),
        # on both sides, or twice
        ("y ~ (y|b)", "y", None),
        ("y ~ (1|b) + (1|b/c)", "b", None),
        ("y ~ (1|b:c) + (a|c:b)", "c:b", None),
        # not readable, with the symbol at fault if there is one
        ("y | a ~ (1|b)", None, None),
        ("y ~ (import os|b)", None, None),
        ("y ~ a +", None, "+"),
        ("y ~ (a", None, "("),
        ("y ~ a + (1|b", None, "("),
        ("y ~ a) + (1|b)", None, "("),
        ("y ~ )a + b(", None, "("),
        ("y ~ a b", None, None),
        # a call that is not allowed
        ("y ~ (__import__('os')|b)", None, "__import__"),
    ],
)
def test_what_is_no_random_effect_is_refused(text, column, value):
    with raises(FormulaError, column=column, value=value):
        parse_formula(text)

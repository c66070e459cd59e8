"""The columns of a model matrix are R's, and so are their names."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnError, FormulaError, ValueRangeError
from salstats.stats.models.design import build_design, coded_variable
from salstats.stats.models.formulas import parse_formula

ROWS = pd.DataFrame(
    {
        "y": [0.1, 0.4, 0.3, 0.8, 0.5, 0.9],
        "a": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0],
        "b": [2.0, 1.0, 4.0, 3.0, 6.0, 6.0],
        "site": ["n", "s", "s", "n", "w", "w"],
        "side": ["l", "l", "r", "r", "l", "r"],
    }
)


def names(text, frame=ROWS):
    formula = parse_formula(text)
    variables = {c: coded_variable(frame, c) for c in formula.columns}
    return list(build_design(formula, variables, np.arange(len(frame))).names)


# what R's colnames(model.matrix(...)) gives, intercept included
R_COLUMNS = [
    ("y ~ site", ["(Intercept)", "sites", "sitew"]),
    ("y ~ site - 1", ["siten", "sites", "sitew"]),
    ("y ~ a + site - 1", ["a", "siten", "sites", "sitew"]),
    ("y ~ site + side - 1", ["siten", "sites", "sitew", "sider"]),
    ("y ~ a:site", ["(Intercept)", "a:siten", "a:sites", "a:sitew"]),
    ("y ~ a*site", ["(Intercept)", "a", "sites", "sitew", "a:sites", "a:sitew"]),
    (
        "y ~ site:side",
        ["(Intercept)", *(f"site{s}:side{d}" for d in "lr" for s in "nsw")],
    ),
    (
        "y ~ site + site:side",
        ["(Intercept)", "sites", "sitew", "siten:sider", "sites:sider", "sitew:sider"],
    ),
    ("y ~ side*site", ["(Intercept)", "sider", "sites", "sitew", "sider:sites", "sider:sitew"]),
]


@pytest.mark.parametrize(("text", "columns"), R_COLUMNS)
def test_columns_are_coded_and_named_as_in_r(text, columns):
    assert names(text) == columns


def test_reference_level_is_first_in_sorted_order_a_categoricals_first_or_the_one_named():
    frame = ROWS.assign(grade=pd.Categorical(ROWS["site"], categories=["w", "n", "s"]))
    assert names("y ~ site", frame)[1:] == ["sites", "sitew"]
    assert names("y ~ grade", frame)[1:] == ["graden", "grades"]
    assert names('y ~ C(site, Treatment("s"))', frame)[1:] == ["C(site)n", "C(site)w"]
    assert names("y ~ C(site, Treatment(reference='w'))", frame)[1:] == ["C(site)n", "C(site)s"]
    with raises(ColumnError, column="site", value="x", choices=("n", "s", "w")):
        names('y ~ C(site, Treatment("x"))', frame)


@pytest.mark.parametrize("column", ["dose", "seed"])
def test_numbers_become_categories_in_c_with_levels_as_r_prints_them(column):
    # A dose is a quantity outside C(), a seed is a level everywhere.
    frame = ROWS.assign(**{column: [1.0, 2.0, 10.0, 1.0, 2.0, 10.0]})
    assert names(f"y ~ C({column})", frame) == ["(Intercept)", f"C({column})2", f"C({column})10"]


def test_transforms_give_what_their_names_say():
    formula = parse_formula(
        "y ~ log(a) + log2(a) + log10(a) + log1p(a) + sqrt(a) + exp(a) + logit(y / 2) + scale(a) + center(a)"
    )
    variables = {c: coded_variable(ROWS, c) for c in formula.columns}
    matrix = build_design(formula, variables, np.arange(6)).matrix
    a, half = ROWS["a"].to_numpy(), ROWS["y"].to_numpy() / 2
    expected = [
        np.log(a),
        np.log(a) / np.log(2),
        np.log(a) / np.log(10),
        np.log1p(a),
        np.sqrt(a),
        np.exp(a),
        np.log(half / (1 - half)),
        (a - a.mean()) / np.sqrt(((a - a.mean()) ** 2).sum() / 5),
        a - a.mean(),
    ]
    np.testing.assert_allclose(matrix[:, 1:], np.column_stack(expected), rtol=1e-14, atol=1e-15)


def test_arithmetic_is_protected_inside_i_and_braces():
    for text in ("y ~ I(2 * a ** 2 - b / -4 + 1)", "y ~ {2 * a ** 2 - b / -4 + 1}"):
        formula = parse_formula(text)
        variables = {c: coded_variable(ROWS, c) for c in formula.columns}
        matrix = build_design(formula, variables, np.arange(6)).matrix
        a, b = ROWS["a"], ROWS["b"]
        np.testing.assert_array_equal(matrix[:, 1], 2 * a**2 - b / -4 + 1)


def test_a_transform_that_is_undefined_somewhere_is_an_error_not_a_missing_row():
    with raises(ValueRangeError, column="a", value=0):
        ss.regress(ROWS.assign(a=[0.0, 1, 2, 3, 4, 5]), "y ~ log(a)")
    with raises(ValueRangeError, column="y"):
        ss.regress(ROWS.assign(y=[0.0, 0.1, 0.2, 0.3, 0.4, 1.0]), "logit(y) ~ a")


def test_text_in_arithmetic_and_dates_are_refused():
    with raises(ColumnError, column="site"):
        ss.regress(ROWS, "y ~ log(site)")
    with raises(ColumnError, column="site"):
        ss.regress(ROWS, "site ~ a")
    with raises(ColumnError, column="day"):
        ss.regress(ROWS.assign(day=pd.Timestamp("2020-01-01")), "y ~ day")


def test_a_formula_of_too_many_columns_is_refused_before_it_fills_memory():
    n = 3000
    frame = pd.DataFrame({"y": np.arange(n) / n, "a": [f"a{i}" for i in range(n)]})
    with raises(FormulaError, column="a", value=3000):
        ss.regress(frame, "y ~ a")
    frame["a"] = [f"a{i % 100}" for i in range(n)]
    frame["b"] = [f"b{i % 101}" for i in range(n)]
    with raises(FormulaError, column="b", value=101):
        ss.regress(frame, "y ~ a * b")


def test_rows_elsewhere_have_the_levels_means_and_deviations_of_the_models_own():
    formula = parse_formula("y ~ scale(log(a)) * C(site, Treatment('s')) + center(b)")
    variables = {c: coded_variable(ROWS, c) for c in formula.columns}
    design = build_design(formula, variables, np.arange(6))
    values = {c: v.values for c, v in variables.items()}
    np.testing.assert_array_equal(design.matrix_at(values), design.matrix)
    one = {c: v[[3]] for c, v in values.items()}
    np.testing.assert_array_equal(design.matrix_at(one), design.matrix[[3]])


def test_methods_that_are_called_by_numbers_are_levels_and_no_quantity():
    frame = pd.DataFrame({"y": [0.0, 1.0, 5.0, 7.0, 2.0, 3.0], "method": [2, 2, 10, 10, 30, 30]})
    assert names("y ~ method", frame) == ["(Intercept)", "method10", "method30"]
    found = ss.regress(frame, "y ~ method", by=(), errors="classical")["estimate"]
    np.testing.assert_allclose(found, [0.5, 6.0 - 0.5, 2.5 - 0.5], rtol=1e-12)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_numbers_of_dtype_object_are_numbers(missing):
    numbers = [2, 3, 10.5, np.float32(4), np.int8(5), missing]
    frame = ROWS.assign(a=np.array(numbers, dtype=object))
    variable = coded_variable(frame, "a")
    assert variable.levels is None
    np.testing.assert_array_equal(variable.values, [2, 3, 10.5, 4, 5, np.nan])
    slope = ss.regress(frame, "y ~ a", by=(), errors="classical").set_index("term")["estimate"]["a"]
    expected = np.polyfit([2, 3, 10.5, 4, 5], ROWS["y"][:5], deg=1)[0]
    assert slope == pytest.approx(expected, rel=1e-12)


def test_identifiers_and_truths_of_dtype_object_are_levels():
    readers = np.array([2, 10, 3, 2.0, None, 10], dtype=object)
    variable = coded_variable(ROWS.assign(reader=readers), "reader")
    assert variable.levels == ("2", "3", "10")
    np.testing.assert_array_equal(variable.values, [0, 2, 1, 0, np.nan, 2])
    truths = np.array([True, False, None, True, False, True], dtype=object)
    assert coded_variable(ROWS.assign(a=truths), "a").levels == ("False", "True")
    mixed = np.array([2, "b", 10, 2, "b", 10], dtype=object)
    assert coded_variable(ROWS.assign(a=mixed), "a").levels == ("10", "2", "b")


def test_a_label_taken_as_a_number_is_named_as_its_column_is():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.random(40), "seed id": np.tile([1, 2, 3, 4], 10)})
    with warns(column="seed id"):
        ss.regress(frame, 'y ~ Q("seed id")', errors="classical")


def test_values_that_a_user_gives_have_the_names_of_levels():
    frame = pd.DataFrame({"room": [1.0, 2.0, 2.5], "site": ["a", "b", "a"]})
    given = pd.Series([2, 2.5, 1.0, "x"], dtype=object)
    room = coded_variable(frame, "room")
    assert room.printed_names_of_user_values(given) == ["2", "2.5", "1", "x"]
    assert room.printed_names(room.values) == ["1", "2", "2.5"]
    site = coded_variable(frame, "site")
    assert site.printed_names_of_user_values(pd.Series(["b", 3.0], dtype=object)) == ["b", "3"]
    assert site.printed_names(site.values) == ["a", "b", "a"]


def test_truths_that_a_user_gives_are_levels_of_truths_and_numbers_of_numbers():
    frame = pd.DataFrame({"is_right": np.array([True, False, True], dtype=object), "room": [0.0, 1.0, 2.0]})
    given = pd.Series([False, True], dtype=object)
    is_right = coded_variable(frame, "is_right")
    assert is_right.printed_names_of_user_values(given) == ["False", "True"]
    assert is_right.printed_names(is_right.values) == ["True", "False", "True"]
    assert coded_variable(frame, "room").printed_names_of_user_values(given) == ["0", "1"]

"""Parsing of model formulas: formulaic builds the tree, and only listed operators and calls are accepted."""

import ast
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from salstats.errors import FormulaError

#: Transforms of one argument that a formula may call.
TRANSFORMS = ("I", "log", "log2", "log10", "log1p", "sqrt", "exp", "logit", "scale", "center")
#: `Q("max width")` is a column by its name, `C(site)` a column as categories.
QUOTE = "Q"
CATEGORY = "C"
MAX_LENGTH = 2000
MAX_TERMS = 500
#: Nodes of Python's syntax trees that an expression may have, besides columns, numbers and calls.
_ALLOWED_NODES = (ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UAdd, ast.USub)
_ALLOWED_CALLS = ", ".join((CATEGORY, QUOTE, *TRANSFORMS))
#: Advice on brackets that are not balanced.
_BRACKETS_HINT = "each ( needs its ), and each ) its ("
#: Quoted text, in which operators have no meaning.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_RANDOM_EFFECT = re.compile(r"\((?P<effects>[^|]*)(?P<bar>\|\|?)(?P<groups>[^|]*)\)")


@dataclass(frozen=True)
class Factor:
    """One variable of a formula: a column, or an expression of columns."""

    #: Name, as in the names of terms: `area_ratio`, `log(area_ratio)`, `C(seed)`.
    name: str
    #: Checked Python expression, with aliases as names of columns and all numbers as floats; "" for a column
    #: by itself.
    code: str
    #: Columns (or metrics) of the expression.
    columns: tuple[str, ...]
    #: True for a column by itself.
    is_column: bool = False
    #: True for `C(...)`: the values are categories, also if the column is numeric.
    categorical: bool = False
    #: Reference level of `C(x, Treatment("level"))`.
    reference: str | None = None


#: Terms by the set of their factors, in order of first appearance; the empty term is the intercept.
Terms = dict[frozenset[Factor], tuple[Factor, ...]]


@dataclass(frozen=True)
class RandomEffect:
    """Effects that differ between groups: `(1 + method|reader)`."""

    #: Terms whose coefficients differ between groups, without the intercept.
    terms: tuple[tuple[Factor, ...], ...]
    #: True if the intercept differs between groups.
    intercept: bool
    #: Columns whose combinations of values are the groups.
    groups: tuple[str, ...]
    #: True if the effects of a group may be correlated.
    correlated: bool

    @property
    def grouping_name(self) -> str:
        """Name of the grouping: `reader`, `patient:case`."""
        return ":".join(self.groups)


@dataclass(frozen=True)
class Formula:
    """A parsed formula."""

    text: str
    #: The left side.
    response: Factor
    #: Terms of the right side without the intercept, those of fewer factors first, as in R.
    terms: tuple[tuple[Factor, ...], ...]
    #: True if there is an intercept.
    intercept: bool
    random: tuple[RandomEffect, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns or metrics in the formula, left side first, without repeats."""
        columns = [*self.response.columns, *columns_of_terms(self.terms)]
        groups: list[str] = []
        for effect in self.random:
            columns.extend(columns_of_terms(effect.terms))
            groups.extend(effect.groups)
        return tuple(dict.fromkeys(columns + groups))


def columns_of_terms(terms: Iterable[tuple[Factor, ...]]) -> tuple[str, ...]:
    """Return the columns that the factors of terms are made of, without repeats."""
    columns: list[str] = []
    for term in terms:
        for factor in term:
            columns.extend(factor.columns)
    return tuple(dict.fromkeys(columns))


def python_identifier(column: str) -> str:
    """Return a Python identifier for a column of any name, which is never the name of a transform."""
    return f"c{column.encode().hex()}"


def parse_formula(text: object) -> Formula:
    """Parse and check a formula, without evaluating anything in it.

    formulaic makes a tree of operators and factors, which is walked here: operators and, node by node, the
    syntax tree of each factor are compared with the lists above. `%in%` is the product alone, as in R.
    """
    formula = _checked_formula_text(text)
    formula_excerpt = _quoted_excerpt(formula)
    fixed_formula, random_effect_texts = _without_random_effects(formula)
    tree = _two_sided_formulaic_tree(fixed_formula, formula_excerpt)
    left, right = tree.args
    response = _response_factor(left, formula_excerpt)
    random: list[RandomEffect] = []
    try:
        terms = _terms_by_order(_terms_of_node(right, formula_excerpt))
        intercept = _has_intercept(right)
        for random_effect_text in random_effect_texts:
            random.extend(_random_effect_of_each_grouping(random_effect_text, formula_excerpt))
    except RecursionError:
        raise FormulaError(f"formula {formula_excerpt} is nested too deeply") from None
    random_terms = [term for effect in random for term in effect.terms]
    if any(response in term for term in [*terms, *random_terms]):
        raise FormulaError(
            f"formula {formula_excerpt} has its left side {response.name!r} also on the right",
            column=response.name,
        )
    if not terms and not intercept:
        raise FormulaError(f"formula {formula_excerpt} has nothing on its right side; 'iou ~ 1' is the mean")
    _check_no_effect_is_repeated(random, formula_excerpt)
    return Formula(formula, response, terms, intercept, tuple(random))


class _RandomEffectText(NamedTuple):
    """The parts of the text of a random effect."""

    effects: str
    correlated: bool
    groups: str


def _without_random_effects(formula: str) -> tuple[str, list[_RandomEffectText]]:
    """Return a two-sided formula without its random effects, and the random effects.

    A random effect is a summand of the right side in brackets with a bar. `iou ~ (1|case)` becomes `iou ~ 1`.
    """
    # The same text with every quoted character replaced by a letter, so that only operators match
    masked = _QUOTED.sub(lambda match: "q" * len(match[0]), formula)
    if "|" not in masked:
        return formula, []
    if not _are_brackets_balanced(masked):
        raise FormulaError(f"formula {_quoted_excerpt(formula)} cannot be read: {_BRACKETS_HINT}", value="(")
    left_side, _, right_side = masked.partition("~")
    fixed_terms = []
    random_effects: list[_RandomEffectText] = []
    for start, end in _summand_spans(right_side, offset=len(left_side) + 1):
        masked_term = masked[start:end].strip()
        term = formula[start:end].strip()
        if "|" not in masked_term:
            fixed_terms.append(term)
            continue
        match = _RANDOM_EFFECT.fullmatch(masked_term)
        if match is None or not match["effects"].strip() or not match["groups"].strip():
            raise FormulaError(
                f"{term!r} in {formula!r} is not a random effect",
                hint=(
                    "one is added with + and stands in brackets, as (1|reader), (1|patient/case) or "
                    "(1 + method|reader)"
                ),
                value=term,
            )
        effects = term[slice(*match.span("effects"))].strip()
        groups = term[slice(*match.span("groups"))].strip()
        is_correlated = match["bar"] == "|"
        random_effects.append(_RandomEffectText(effects, is_correlated, groups))
    new_right_side = " + ".join(fixed_terms) or "1"
    return f"{formula[: len(left_side)]}~ {new_right_side}", random_effects


def _summand_spans(right_side: str, offset: int) -> list[tuple[int, int]]:
    """Return start and end of each term between plus signs outside of brackets; `offset` is added to both."""
    depth = 0
    boundaries = [-1]
    for position, character in enumerate(right_side):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif character == "+" and depth == 0:
            boundaries.append(position)
    boundaries.append(len(right_side))
    return [(offset + plus + 1, offset + next_plus) for plus, next_plus in pairwise(boundaries)]


def _two_sided_formulaic_tree(formula: str, formula_excerpt: str) -> Any:
    """Return the tree that formulaic builds from a formula, checked to have two sides."""
    # imported late: it takes as long as pandas, and few calls have a formula
    from formulaic.parser import DefaultFormulaParser

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree: Any = DefaultFormulaParser(feature_flags={"TWOSIDED"}).get_ast(formula)
    except Exception:  # formulaic's errors are of many classes, and their messages do not name the fault
        hint, symbol = _parsing_hint_and_symbol(formula)
        raise FormulaError(f"formula {formula_excerpt} cannot be read: {hint}", value=symbol) from None
    if _operator_symbol(tree) != "~" or len(tree.args) != 2:
        raise FormulaError(f"formula {formula_excerpt} needs a left side, as in 'iou ~ area_ratio'")
    return tree


def _operator_symbol(node: Any) -> str | None:
    """Return the operator of a node of formulaic's tree, None for a token."""
    return node.operator.symbol if hasattr(node, "operator") else None


def _is_number(token: Any) -> bool:
    """Return True for a token that is a number."""
    return bool(token.kind.value == "value")


def _parsing_hint_and_symbol(formula: str) -> tuple[str, str | None]:
    """Return advice on how to correct a formula that cannot be parsed, and the symbol at fault if known."""
    unquoted = _QUOTED.sub("", formula)
    if not _are_brackets_balanced(unquoted):
        return _BRACKETS_HINT, "("
    last_operator = re.search(r"([-+*/:^~|]) *$", unquoted)
    if last_operator is not None:
        return f"name a column after the last {last_operator[1]}, or leave it out", last_operator[1]
    hint = (
        "it takes one ~, and one of + - * / : between two columns, as in 'iou ~ area_ratio + task'; a column "
        'called max width is Q("max width")'
    )
    return hint, None


def _are_brackets_balanced(text: str) -> bool:
    """Return True if each bracket that opens is closed, and none closes before it opens."""
    depth = 0
    for character in text:
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        if depth < 0:
            return False
    return depth == 0


def _terms_by_order(terms: Terms) -> tuple[tuple[Factor, ...], ...]:
    """Return terms without the intercept, sorted by their number of factors."""
    return tuple(term for term in sorted(terms.values(), key=len) if term)


def _random_effect_of_each_grouping(
    random_effect_text: "_RandomEffectText", formula_excerpt: str
) -> list[RandomEffect]:
    """Return the random effects of `(effects|groups)`; `patient/case` gives two, of patients and of cases."""
    effects, correlated, groups = random_effect_text
    right = _two_sided_formulaic_tree(f"y ~ {effects}", formula_excerpt).args[1]
    terms = _terms_by_order(_terms_of_node(right, formula_excerpt))
    intercept = _has_intercept(right)
    if not terms and not intercept:
        raise FormulaError(
            f"({effects}|{groups}) in {formula_excerpt} lets nothing differ; (1|{groups}) is an intercept",
            column=groups,
        )
    groupings: tuple[tuple[Factor, ...], ...] = ()
    # Groups are combined by ":" and "/" only.
    if not set("+-*^") & set(_QUOTED.sub("", groups)):
        groups_node = _two_sided_formulaic_tree(f"y ~ {groups}", formula_excerpt).args[1]
        groupings = _terms_by_order(_terms_of_node(groups_node, formula_excerpt))
    if not groupings or not all(factor.is_column for grouping in groupings for factor in grouping):
        raise FormulaError(
            f"({effects}|{groups}) in {formula_excerpt} needs columns as its groups, such as reader, "
            "patient/case or reader:case",
            value=groups,
        )
    random = []
    for grouping in groupings:
        columns = tuple(factor.columns[0] for factor in grouping)
        random.append(RandomEffect(terms, intercept, columns, correlated))
    return random


def _check_no_effect_is_repeated(random: Sequence[RandomEffect], formula_excerpt: str) -> None:
    """Raise if a term, or the intercept, has two random effects with the same groups."""
    earlier: set[tuple[frozenset[str], frozenset[Factor]]] = set()
    for effect in random:
        terms = [frozenset(term) for term in effect.terms]
        if effect.intercept:
            terms.append(frozenset())
        for term in terms:
            key = (frozenset(effect.groups), term)
            if key in earlier:
                raise FormulaError(
                    f"formula {formula_excerpt} has a random effect of {effect.grouping_name} twice; "
                    f"(0 + x|{effect.grouping_name}) leaves out the intercept",
                    column=effect.grouping_name,
                )
            earlier.add(key)


def _quoted_excerpt(formula: str) -> str:
    """Return a formula in quotes for a message, shortened if it is long."""
    if len(formula) > 80:
        formula = formula[:77] + "..."
    return repr(formula)


def _checked_formula_text(text: object) -> str:
    """Return the formula without surrounding spaces, checked to be text with two sides and not too long."""
    if not isinstance(text, str):
        raise FormulaError(f"a formula is text such as 'iou ~ area_ratio', not {type(text).__name__}")
    formula = text.strip()
    if len(formula) > MAX_LENGTH:
        raise FormulaError(f"a formula may have at most {MAX_LENGTH} characters; this one has {len(formula)}")
    left, _, right = formula.partition("~")
    if not left or not right:
        raise FormulaError(
            f"formula {_quoted_excerpt(formula)} needs a left and a right side, as in 'iou ~ area_ratio'; "
            "'iou ~ 1' is the mean"
        )
    return formula


def _terms_of_node(node: Any, formula_excerpt: str) -> Terms:
    """Return the terms of a node of formulaic's tree."""
    operator = _operator_symbol(node)
    if operator is None:
        return _one_factor_term_or_intercept(node, formula_excerpt)
    if operator in ("**", "^"):
        base, exponent = node.args
        return _power_of_terms(_terms_of_node(base, formula_excerpt), exponent, formula_excerpt)
    if operator not in ("+", "-", "*", ":", "/", "in") or len(node.args) != 2:
        raise FormulaError(f"formula {formula_excerpt} uses {operator!r}; name each column instead")
    left = _terms_of_node(node.args[0], formula_excerpt)
    right = _terms_of_node(node.args[1], formula_excerpt)
    if operator == "-":
        return {factors: term for factors, term in left.items() if factors not in right}
    if operator == "+":
        return _union_of_terms(left, right, formula_excerpt=formula_excerpt)
    if operator == "*":
        return _union_of_terms(left, right, _interactions(left, right), formula_excerpt=formula_excerpt)
    if operator == "/":
        # (a + b)/c is a + b + a:b:c
        nesting = tuple(dict.fromkeys(factor for term in left.values() for factor in term))
        nested = _interactions({frozenset(nesting): nesting}, right)
        return _union_of_terms(left, nested, formula_excerpt=formula_excerpt)
    # The operators ":" and "%in%"
    return _union_of_terms(_interactions(left, right), formula_excerpt=formula_excerpt)


def _one_factor_term_or_intercept(token: Any, formula_excerpt: str) -> Terms:
    """Return the term of a token: one factor, or the intercept."""
    if not _is_number(token):
        factor = _factor_of_token(token, formula_excerpt)
        return {frozenset([factor]): (factor,)}
    if token.token != "1":
        raise FormulaError(
            f"{token.token} in {formula_excerpt} is not a term: only 0 and 1 stand alone, "
            "other numbers go inside I(...), as in I(2 * x)"
        )
    return {frozenset(): ()}


def _union_of_terms(*summands: Terms, formula_excerpt: str) -> Terms:
    """Return all terms of the summands, in order of first appearance."""
    union: Terms = {}
    for terms in summands:
        for factors, term in terms.items():
            union.setdefault(factors, term)
    if len(union) > MAX_TERMS:
        raise FormulaError(
            f"formula {formula_excerpt} has more than {MAX_TERMS} terms; name those that matter"
        )
    return union


def _interactions(left: Terms, right: Terms) -> Terms:
    """Return all interactions of a term of one side with a term of the other."""
    products: Terms = {}
    for left_factors, left_term in left.items():
        for right_factors, right_term in right.items():
            product = tuple(dict.fromkeys(left_term + right_term))
            products.setdefault(left_factors | right_factors, product)
    return products


def _power_of_terms(terms: Terms, exponent: Any, formula_excerpt: str) -> Terms:
    """Return the terms of (a + b + ...)^n: all interactions of up to n of them."""
    digits = exponent.token if _operator_symbol(exponent) is None else ""
    n = 0
    if digits.isdecimal():
        # A power stops growing at the number of factors, so that nine digits of a longer exponent are enough.
        n = int(digits[:9])
    if n < 1:
        raise FormulaError(
            f"a power in {formula_excerpt} must be a whole number from 1; for the power of a column write "
            "I(x ** 2)"
        )
    power = terms
    for _ in range(n - 1):
        n_terms = len(power)
        power = _union_of_terms(_interactions(power, terms), formula_excerpt=formula_excerpt)
        if len(power) == n_terms:
            # Higher interactions would only repeat factors.
            break
    return power


def _has_intercept(tree: Any) -> bool:
    """Return True if the last 1 of a formula, in reading order, is added and not subtracted: R's rule.

    formulaic adds a 1 in front of the right side, and turns `+ 0` into `- 1`.
    """
    intercept = False
    # Stack of (node, True if it is added), the next in reading order last
    pending = [(tree, True)]
    while pending:
        node, added = pending.pop()
        operator = _operator_symbol(node)
        if operator is None:
            if _is_number(node) and node.token == "1":
                intercept = added
        elif operator in ("+", "-"):
            # A sign in front of a term has one operand, which is the last.
            *left, last = node.args
            last_added = added if operator == "+" else not added
            pending.append((last, last_added))
            pending.extend((operand, added) for operand in left)
    return intercept


def _response_factor(node: Any, formula_excerpt: str) -> Factor:
    """Return the left side, checked to be one factor that is not `C(...)`."""
    factor = None
    if _operator_symbol(node) is None and not _is_number(node):
        factor = _factor_of_token(node, formula_excerpt)
    if factor is None or factor.categorical:
        raise FormulaError(
            f"the left side of {formula_excerpt} must be one metric or numeric column; put arithmetic inside "
            "I(...)"
        )
    return factor


def _factor_of_token(token: Any, formula_excerpt: str) -> Factor:
    """Return the factor of a token: a column, or an expression of columns; raise FormulaError otherwise."""
    if token.kind.value == "name":
        return Factor(name=token.token, code="", columns=(token.token,), is_column=True)
    code = _quoted_excerpt(token.token)
    try:
        factor = _factor_of_expression(token.token, _ExpressionChecker(code, formula_excerpt))
    except (RecursionError, MemoryError):
        raise FormulaError(f"formula {formula_excerpt} is nested too deeply") from None
    except FormulaError:
        raise
    except (SyntaxError, ValueError):
        raise FormulaError(
            f"{code} in {formula_excerpt} cannot be read; a column whose name is not a plain word "
            'is reached by Q("...") inside a call'
        ) from None
    if not factor.columns:
        raise FormulaError(f"{code} in {formula_excerpt} names no column")
    return factor


def _factor_of_expression(expression: str, checker: "_ExpressionChecker") -> Factor:
    """Return the factor of a Python expression of columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        tree = ast.parse(expression, mode="eval").body
    categorical = _called_name(tree) == CATEGORY
    reference = None
    if categorical:
        tree, reference = _category_column_and_reference(tree, checker.formula_excerpt)
    tree = checker.visit(tree)
    name = ast.unparse(tree)
    columns = tuple(dict.fromkeys(node.id for node in checker.column_nodes))
    # The nodes are changed in the tree itself, so that its code has aliases and floats.
    for column in checker.column_nodes:
        column.id = python_identifier(column.id)
    for constant in checker.number_nodes:
        constant.value = float(constant.value)
    is_column = isinstance(tree, ast.Name)
    code = ""
    if not is_column:
        code = ast.unparse(tree)
    if categorical:
        name = f"{CATEGORY}({name})"
    return Factor(
        name=name,
        code=code,
        columns=columns,
        is_column=is_column,
        categorical=categorical,
        reference=reference,
    )


def _called_name(node: ast.AST) -> str | None:
    """Return the name of the function that a node calls, None if it calls none by its name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id
    return None


def _category_column_and_reference(call: Any, formula_excerpt: str) -> tuple[ast.expr, str | None]:
    """Return the column of a call of `C`, and the reference level of its Treatment, None without one."""
    reference = None
    valid = not call.keywords and len(call.args) in (1, 2)
    if valid:
        column = call.args[0]
        valid = isinstance(column, ast.Name) or _called_name(column) == QUOTE
    if valid and len(call.args) == 2:
        reference = _treatment_reference(call.args[1])
        valid = reference is not None
    if not valid:
        raise FormulaError(f'C in {formula_excerpt} is C(x) or C(x, Treatment("level")), x a column')
    return column, reference


def _treatment_reference(node: Any) -> str | None:
    """Return the level of `Treatment(level)` or `Treatment(reference=level)`, None for other expressions."""
    if _called_name(node) != "Treatment":
        return None
    references = [keyword.value for keyword in node.keywords if keyword.arg == "reference"]
    arguments = [*node.args, *references]
    n_unknown_keywords = len(node.args) + len(node.keywords) - len(arguments)
    if len(arguments) != 1 or n_unknown_keywords > 0:
        return None
    level = getattr(arguments[0], "value", None)
    if isinstance(level, bool) or not isinstance(level, str | int | float):
        return None
    return str(level)


class _ExpressionChecker(ast.NodeTransformer):
    """Visitor that raises for each node that is not allowed, and replaces Q("column") by the column.

    It collects the nodes of columns and numbers. `code` is the expression and `formula_excerpt` the whole
    formula, both quoted and shortened for messages.
    """

    def __init__(self, code: str, formula_excerpt: str) -> None:
        self.code = code
        self.formula_excerpt = formula_excerpt
        self.column_nodes: list[ast.Name] = []
        self.number_nodes: list[Any] = []

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, _ALLOWED_NODES):
            return super().generic_visit(node)
        if isinstance(node, ast.BitXor):
            raise FormulaError(f"write ** for a power in {self.code}; ^ means something else there")
        raise FormulaError(
            f"{self.code} in {self.formula_excerpt} is not allowed ({type(node).__name__}): a formula holds "
            f'column names (Q("...") for any name), + - * / **, numbers, and {_ALLOWED_CALLS}'
        )

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.column_nodes.append(node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise FormulaError(
                f"{node.value!r} in {self.formula_excerpt} is not a number; text is allowed in Q(...) only"
            )
        if abs(node.value) > sys.float_info.max:
            raise FormulaError(f"a number in {self.formula_excerpt} is too large")
        self.number_nodes.append(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = _called_name(node)
        if name == CATEGORY:
            raise FormulaError(
                f"C(...) in {self.formula_excerpt} must stand by itself, outside other transforms"
            )
        if name not in (QUOTE, *TRANSFORMS):
            called = repr(name) if name else "an expression"
            raise FormulaError(
                f"{self.formula_excerpt} calls {called}; a formula may call {_ALLOWED_CALLS}", value=name
            )
        if len(node.args) != 1 or node.keywords:
            raise FormulaError(f"{name} in {self.formula_excerpt} takes exactly one argument and no options")
        if name != QUOTE:
            node.args = [self.visit(node.args[0])]
            return node
        column = node.args[0]
        if not isinstance(column, ast.Constant) or not isinstance(column.value, str):
            raise FormulaError(f'Q in {self.formula_excerpt} takes a name in quotes, as in Q("max width")')
        return self.visit_Name(ast.Name(column.value, ast.Load()))

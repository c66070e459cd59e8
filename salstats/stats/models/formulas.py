"""A formula is data: formulaic parses it, and what is not on a short list is refused before it is built."""

import ast
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from formulaic.parser import DefaultFormulaParser

from salstats.checks import FormulaError
from salstats.stats.models.random_effects import QUOTED, without_random_effects

#: Transforms of one argument that a formula may call by their bare name.
TRANSFORMS = ("I", "log", "log1p", "sqrt", "exp", "logit", "scale", "center")
#: `Q("max width")` is a column by its name, `C(site)` a column as categories.
QUOTE, CATEGORY = "Q", "C"
MAX_LENGTH = 2000
MAX_TERMS = 500
_ALLOWED = (ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UAdd, ast.USub)
_KNOWN = ", ".join((CATEGORY, QUOTE, *TRANSFORMS))


@dataclass(frozen=True)
class Factor:
    """One variable of a formula: a column, or an expression of columns."""

    #: How it is called in the names of terms: `area_ratio`, `log(area_ratio)`, `C(seed)`.
    name: str
    #: The checked expression, in which `alias` stands for each column and all numbers are floats; "" of a
    #: column as it stands.
    code: str
    #: The columns (or metrics) it needs.
    columns: tuple[str, ...]
    #: Whether it is a column as it stands.
    is_column: bool = False
    #: Written as `C(...)`: categories even where the column is numeric.
    categorical: bool = False
    #: Level that `C(x, Treatment("level"))` makes the reference.
    reference: str | None = None


#: Terms by what is in them, in the order in which they come up; the empty one is the intercept's.
Terms = dict[frozenset[Factor], tuple[Factor, ...]]


@dataclass(frozen=True)
class RandomEffect:
    """Effects that differ between groups: `(1 + method|reader)`."""

    #: What differs: the terms and whether there is an intercept, as of a formula.
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool
    #: The columns whose values, taken together, are the groups.
    groups: tuple[str, ...]
    #: Whether the effects of a group may be correlated.
    correlated: bool

    @property
    def name(self) -> str:
        """What the groups are called: `reader`, `patient:case`."""
        return ":".join(self.groups)


@dataclass(frozen=True)
class Formula:
    """A parsed formula, its terms without the intercept, those of fewer factors first, as in R."""

    text: str
    response: Factor
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool
    random: tuple[RandomEffect, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column or metric that is needed, left side first, each once."""
        effects = [f for effect in self.random for term in effect.terms for f in term]
        factors = [self.response, *(f for term in self.terms for f in term), *effects]
        groups = [column for effect in self.random for column in effect.groups]
        return tuple(dict.fromkeys([*(c for factor in factors for c in factor.columns), *groups]))


def alias(column: str) -> str:
    """A name for a column that is plain to Python and no transform's, whatever the column is called."""
    return f"c{column.encode().hex()}"


def parse_formula(text: object) -> Formula:
    """A formula parsed and checked; nothing in it is evaluated.

    formulaic makes a tree of operators and factors, which is walked here: operators and, node by node, the
    syntax tree of each factor are compared with the lists above. `%in%` is the product alone, as in R.
    """
    formula = _check_text(text)
    shown = _short(formula)
    fixed, written = without_random_effects(formula)
    tree = _tree(fixed, shown)
    response, right = _response(tree.args[0], shown), tree.args[1]
    try:
        terms, intercept = _in_order(_terms(right, shown)), _has_intercept(right)
        random = tuple(effect for each in written for effect in _random(*each, shown))
    except RecursionError:
        raise FormulaError(f"formula {shown} is nested too deeply") from None
    of_groups = [f for effect in random for term in effect.terms for f in term]
    if response in of_groups or any(response in term for term in terms):
        raise FormulaError(f"formula {shown} has its left side {response.name!r} on the right too")
    if not terms and not intercept:
        raise FormulaError(f"formula {shown} has nothing on its right side; 'iou ~ 1' is the mean")
    _check_once(random, shown)
    return Formula(formula, response, terms, intercept, random)


def _tree(formula: str, shown: str) -> Any:
    """The tree of a formula of two sides."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree: Any = DefaultFormulaParser(feature_flags={"TWOSIDED"}).get_ast(formula)
    except Exception:  # of any kind: a formula that is not read says nothing
        raise FormulaError(f"formula {shown} cannot be read: {_lacking(formula)}") from None
    if getattr(getattr(tree, "operator", None), "symbol", None) != "~" or len(tree.args) != 2:
        raise FormulaError(f"formula {shown} needs a left side, as in 'iou ~ area_ratio'")
    return tree


def _lacking(formula: str) -> str:
    """What would make a formula one that can be read."""
    bare = QUOTED.sub("", formula)
    if bare.count("(") != bare.count(")"):
        return "each ( needs its )"
    if end := re.search(r"([-+*/:^~|]) *$", bare):
        return f"name a column after the last {end[1]}, or leave it out"
    return (
        "it takes one ~, and one of + - * / : between two columns, as in 'iou ~ area_ratio + task'; a column "
        'called max width is Q("max width")'
    )


def _in_order(terms: Terms) -> tuple[tuple[Factor, ...], ...]:
    """Terms without the intercept, those of fewer factors first."""
    return tuple(term for term in sorted(terms.values(), key=len) if term)


def _random(effects: str, correlated: bool, groups: str, shown: str) -> list[RandomEffect]:
    """Random effects as they are written; `patient/case` has effects of patients and of cases in them."""
    right = _tree(f"y ~ {effects}", shown).args[1]
    terms, intercept = _in_order(_terms(right, shown)), _has_intercept(right)
    if not terms and not intercept:
        raise FormulaError(
            f"({effects}|{groups}) in {shown} lets nothing differ; (1|{groups}) is an intercept"
        )
    signs = set(QUOTED.sub("", groups)) & set("+-*^")
    nested = () if signs else _in_order(_terms(_tree(f"y ~ {groups}", shown).args[1], shown))
    if not nested or not all(factor.is_column for term in nested for factor in term):
        raise FormulaError(
            f"({effects}|{groups}) in {shown} needs columns as its groups, such as reader, patient/case or "
            "reader:case"
        )
    return [RandomEffect(terms, intercept, tuple(f.columns[0] for f in of), correlated) for of in nested]


def _check_once(random: Sequence[RandomEffect], shown: str) -> None:
    """Raise where two random effects are of the same groups."""
    seen: set[tuple[frozenset[str], object]] = set()
    for effect in random:
        own = [(frozenset(effect.groups), frozenset(term)) for term in effect.terms]
        for one in [*own, *([(frozenset(effect.groups), None)] if effect.intercept else [])]:
            if one in seen:
                raise FormulaError(
                    f"formula {shown} has a random effect of {effect.name} twice; (0 + x|{effect.name}) "
                    "leaves out the intercept"
                )
            seen.add(one)


def _short(formula: str) -> str:
    """A formula for a message, cut where it is long."""
    return repr(formula if len(formula) <= 80 else formula[:77] + "...")


def _check_text(text: object) -> str:
    """The formula's text, if it is one that is worth parsing."""
    if not isinstance(text, str):
        raise FormulaError(f"a formula is text such as 'iou ~ area_ratio', not {type(text).__name__}")
    formula = text.strip()
    if len(formula) > MAX_LENGTH:
        raise FormulaError(f"a formula may have {MAX_LENGTH} characters; this one has {len(formula)}")
    left, _, right = formula.partition("~")
    if not left or not right:
        raise FormulaError(
            f"formula {_short(formula)} needs a left and a right side, as in 'iou ~ area_ratio'; "
            "'iou ~ 1' is the mean"
        )
    return formula


def _terms(node: Any, shown: str) -> Terms:
    """The terms that a node of formulaic's tree stands for."""
    if not hasattr(node, "operator"):
        if node.kind.value == "value" and node.token != "1":
            raise FormulaError(
                f"{node.token} in {shown} is not a term: only 0 and 1 stand alone, "
                "other numbers go inside I(...), as in I(2 * x)"
            )
        factors = () if node.kind.value == "value" else (_factor(node, shown),)
        return {frozenset(factors): factors}
    symbol, arguments = node.operator.symbol, node.args
    if symbol in ("**", "^"):
        return _power(_terms(arguments[0], shown), arguments[1], shown)
    if symbol not in ("+", "-", "*", ":", "/", "in") or len(arguments) != 2:
        raise FormulaError(f"formula {shown} uses {symbol!r}; name each column instead")
    left, right = _terms(arguments[0], shown), _terms(arguments[1], shown)
    if symbol == "-":
        return {key: term for key, term in left.items() if key not in right}
    every = tuple(dict.fromkeys(factor for term in left.values() for factor in term))
    products = {} if symbol == "+" else _products({frozenset(every): every} if symbol == "/" else left, right)
    apart = {"+": (left, right), "*": (left, right), "/": (left,)}.get(symbol, ())
    return _union(*apart, products, shown=shown)


def _union(*parts: Terms, shown: str) -> Terms:
    """All terms, each as it came up first."""
    found: Terms = {}
    for part in parts:
        found |= {key: term for key, term in part.items() if key not in found}
    if len(found) > MAX_TERMS:
        raise FormulaError(f"formula {shown} has more than {MAX_TERMS} terms; name those that matter")
    return found


def _products(left: Terms, right: Terms) -> Terms:
    """Every term of one side together with every term of the other."""
    found: Terms = {}
    for one, own in left.items():
        for other, its in right.items():
            found.setdefault(one | other, tuple(dict.fromkeys((*own, *its))))
    return found


def _power(terms: Terms, exponent: Any, shown: str) -> Terms:
    """(a + b + ...)^n: products of as many terms."""
    digits = getattr(exponent, "token", "")
    if hasattr(exponent, "operator") or not digits.isdecimal() or int(digits[:9]) < 1:
        raise FormulaError(
            f"a power in {shown} must be a whole number from 1; for the power of a column write I(x ** 2)"
        )
    found, size = terms, 0
    for _ in range(int(digits[:9]) - 1):
        if len(found) == size:
            break
        size, found = len(found), _union(_products(found, terms), shown=shown)
    return found


def _has_intercept(tree: Any) -> bool:
    """Whether the last 1 that is added or taken away, in brackets too, is added: R's rule."""
    pending, intercept = [(tree, True)], False
    while pending:
        node, added = pending.pop()
        symbol = node.operator.symbol if hasattr(node, "operator") else None
        if symbol in ("+", "-"):
            *first, last = node.args
            pending.append((last, added == (symbol == "+")))
            pending += [(part, added) for part in reversed(first)]
        elif symbol is None and node.token == "1" and node.kind.value == "value":
            intercept = added
    return intercept


def _response(tree: Any, shown: str) -> Factor:
    """The left side, which is one factor."""
    factor = None if hasattr(tree, "operator") or tree.kind.value == "value" else _factor(tree, shown)
    if factor is None or factor.categorical:
        raise FormulaError(
            f"the left side of {shown} must be one metric or numeric column; put arithmetic inside I(...)"
        )
    return factor


def _factor(token: Any, shown: str) -> Factor:
    """A factor from formulaic's token, its syntax tree checked."""
    if token.kind.value == "name":
        return Factor(token.token, "", (token.token,), is_column=True)
    code = _short(token.token)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(token.token, mode="eval").body
        reference = None
        categorical = _called(tree) == CATEGORY
        if categorical:
            tree, reference = _category(tree, shown)
        reader = _Reader(code, shown)
        tree = reader.visit(tree)
        name = ast.unparse(tree)
        columns = tuple(dict.fromkeys(node.id for node in reader.columns))
        for column in reader.columns:
            column.id = alias(column.id)
        for constant in reader.numbers:
            constant.value = float(constant.value)
        rebuilt = ast.unparse(tree)
    except (RecursionError, MemoryError):
        raise FormulaError(f"formula {shown} is nested too deeply") from None
    except (SyntaxError, ValueError) as error:
        if isinstance(error, FormulaError):
            raise
        raise FormulaError(
            f"{code} in {shown} cannot be read; a column whose name is not a plain word "
            'is reached by Q("...") inside a call'
        ) from None
    if not columns:
        raise FormulaError(f"{code} in {shown} names no column")
    shown_as = f"{CATEGORY}({name})" if categorical else name
    is_column = isinstance(tree, ast.Name)
    return Factor(shown_as, "" if is_column else rebuilt, columns, is_column, categorical, reference)


def _called(node: ast.AST) -> str | None:
    """The name that a node calls, if it is a call of one."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def _category(call: Any, shown: str) -> tuple[ast.expr, str | None]:
    """What is inside `C(...)`, a column, and the reference level of a Treatment, if one is given."""
    column, *rest = call.args or [None]
    level = None
    if len(rest) == 1 and _called(rest[0]) == "Treatment":
        values = [*rest[0].args, *(k.value for k in rest[0].keywords if k.arg == "reference")]
        if len(values) == 1 == len(rest[0].args) + len(rest[0].keywords):
            level = getattr(values[0], "value", None)
    is_column = isinstance(column, ast.Name) or _called(column) == QUOTE
    is_level = isinstance(level, str | int | float) and not isinstance(level, bool)
    if call.keywords or not is_column or (rest and not is_level):
        raise FormulaError(f'C in {shown} is C(x) or C(x, Treatment("level")), x a column')
    return column, str(level) if rest else None


class _Reader(ast.NodeTransformer):
    """Walks the syntax tree of a factor: refuses what is not listed, and puts the column that Q names."""

    def __init__(self, code: str, shown: str) -> None:
        self.code, self.shown = code, shown
        self.columns: list[ast.Name] = []
        self.numbers: list[Any] = []

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, _ALLOWED):
            return super().generic_visit(node)
        if isinstance(node, ast.BitXor):
            raise FormulaError(f"write ** for a power in {self.code}; ^ means something else there")
        raise FormulaError(
            f"{self.code} in {self.shown} is not allowed ({type(node).__name__}): a formula holds column "
            f'names (Q("...") for any name), + - * / **, numbers, and {_KNOWN}'
        )

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.columns.append(node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise FormulaError(
                f"{node.value!r} in {self.shown} is not a number; text is allowed in Q(...) only"
            )
        if abs(node.value) > sys.float_info.max:
            raise FormulaError(f"a number in {self.shown} is too large")
        self.numbers.append(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = _called(node)
        if name == CATEGORY:
            raise FormulaError(f"C(...) in {self.shown} must stand by itself, outside other transforms")
        if name not in (QUOTE, *TRANSFORMS):
            called = repr(name) if name else "an expression"
            raise FormulaError(f"{self.shown} calls {called}; a formula may call {_KNOWN}")
        if len(node.args) != 1 or node.keywords:
            raise FormulaError(f"{name} in {self.shown} takes exactly one argument and no options")
        if name != QUOTE:
            node.args = [self.visit(node.args[0])]
            return node
        column = node.args[0]
        if not isinstance(column, ast.Constant) or not isinstance(column.value, str):
            raise FormulaError(f'Q in {self.shown} takes a name in quotes, as in Q("max width")')
        return self.visit_Name(ast.Name(column.value, ast.Load()))

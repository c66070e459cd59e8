"""A formula is data: formulaic parses it, and what is not on a short list is refused before it is built."""

import ast
import math
import re
import sys
import unicodedata
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from formulaic.parser import DefaultFormulaParser
from formulaic.parser.types import Factor as Part
from formulaic.parser.types import OrderedSet, Term

from salstats.checks import FormulaError

#: Transforms of one argument that a formula may call by their bare name.
TRANSFORMS = ("I", "log", "log1p", "sqrt", "exp", "logit", "scale", "center")
#: `Q("max width")` is a column by its name, `C(site)` a column as categories.
QUOTE, CATEGORY = "Q", "C"
MAX_LENGTH = 2000
MAX_TERMS = 500
#: Products that formulaic forms for a power.
_MAX_PRODUCTS = 100_000
_ALLOWED = (ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UAdd, ast.USub)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_KNOWN = ", ".join((CATEGORY, QUOTE, *TRANSFORMS))


@dataclass(frozen=True)
class Factor:
    """One variable of a formula: a column, or an expression of columns.

    Attributes
    ----------
    name : str
        How it is called in the names of terms: `area_ratio`, `log(area_ratio)`, `C(seed)`.
    code : str
        The checked expression, in which `alias` stands for each column and all numbers are floats.
    columns : tuple of str
        The columns (or metrics) it needs.
    is_column : bool
        Whether it is a column as it stands.
    categorical : bool
        Written as `C(...)`: categories even where the column is numeric.
    reference : str or None
        Level that `C(x, Treatment("level"))` makes the reference.
    """

    name: str
    code: str
    columns: tuple[str, ...]
    is_column: bool = False
    categorical: bool = False
    reference: str | None = None

    @property
    def key(self) -> str:
        """What makes two factors the same one."""
        return f"{self.categorical} {self.reference} {self.code}"


@dataclass(frozen=True)
class Formula:
    """A parsed formula.

    Attributes
    ----------
    text : str
        As it was given, without blanks around it.
    response : Factor
        The left side.
    terms : tuple of tuple of Factor
        The right side without its intercept, terms of fewer factors first, as in R.
    intercept : bool
        Whether there is one.
    """

    text: str
    response: Factor
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column or metric that is needed, left side first, each once."""
        factors = [self.response, *(f for term in self.terms for f in term)]
        return tuple(dict.fromkeys(c for factor in factors for c in factor.columns))


def alias(column: str) -> str:
    """A name for a column that is plain to Python and no transform's, whatever the column is called."""
    return f"c{column.encode(errors='surrogatepass').hex()}"


def parse_formula(text: object) -> Formula:
    """A formula parsed and checked; nothing in it is evaluated.

    Parameters
    ----------
    text : str
        Such as `"iou ~ area_ratio * site + log(n_instances)"`.

    Returns
    -------
    Formula
        Its left side and its terms.

    Raises
    ------
    FormulaError
        Not text; longer than 2000 characters or of more than 500 terms; no left or right side; a syntax
        error; anything but column names, operators, numbers and the named transforms.

    Notes
    -----
    formulaic makes a tree of operators and factors. It is walked first: operators are compared with those
    known here, the number of terms is bounded, and the syntax tree of each factor, `I(...)` and `{...}`
    included, is compared with the list node by node. Then formulaic expands the operators, each factor under
    its key. Two things are R's: `%in%` is the product alone, to which formulaic adds the term on its right;
    and a 1 in brackets is the intercept's, which formulaic forgets, or in a product nothing, which formulaic
    refuses.

    Examples
    --------
    >>> [":".join(f.name for f in term) for term in parse_formula("iou ~ a * log(b) - a").terms]
    ['log(b)', 'a:log(b)']
    """
    formula = _check_text(text)
    shown = _short(formula)
    parser = DefaultFormulaParser(feature_flags={"TWOSIDED"})
    tree = _parsed(parser.get_ast, shown, formula, context={})
    if getattr(getattr(tree, "operator", None), "symbol", None) != "~" or len(tree.args) != 2:
        raise FormulaError(f"formula {shown} needs a left side, as in 'iou ~ area_ratio'")
    response = _response(tree.args[0], shown)
    _check_operators(tree, parser, shown)
    intercept = _has_intercept(tree.args[1])
    factors = _read_factors(tree, shown)
    expanded = _parsed(tree.args[1].to_terms, shown, context={})
    keys = [tuple(part.expr for part in term.factors) for term in expanded]
    if any(alias(response.key) in key for key in keys):
        raise FormulaError(f"formula {shown} has its left side {response.name!r} on the right too")
    terms = tuple(tuple(factors[part] for part in key) for key in sorted(keys, key=len) if key)
    if not terms and not intercept:
        raise FormulaError(f"formula {shown} has nothing on its right side; 'iou ~ 1' is the mean")
    return Formula(formula, response, terms, intercept)


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
    strange = [c for c in formula if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") and c not in "\n\t"]
    if strange:
        raise FormulaError(f"formula {_short(formula)} holds the control character U+{ord(strange[0]):04X}")
    # Python folds look-alike letters (NFKC): the name read would not be the name written
    bare = _QUOTED.sub("", formula)
    if unicodedata.normalize("NFKC", bare) != bare:
        raise FormulaError(
            f'formula {_short(formula)} has a letter that Python reads as another; use Q("...")'
        )
    if "|" in bare:
        group = re.search(r"\|\s*(\w+)", bare)
        unit = group[1] if group else "reader"
        raise FormulaError(
            f"formula {_short(formula)} has a random effect, which is not fitted here; leave it out and take "
            f"errors='cr2' or 'cluster' with unit={unit!r}, or fit it by statsmodels' MixedLM and give the "
            "result to tidy()"
        )
    left, _, right = formula.partition("~")
    if not left or not right:
        raise FormulaError(
            f"formula {_short(formula)} needs a left and a right side, as in 'iou ~ area_ratio'; "
            "'iou ~ 1' is the mean"
        )
    return formula


def _parsed(step: Callable[..., Any], shown: str, *arguments: object, **options: object) -> Any:
    """What a step of formulaic's parser gives, its errors as one sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return step(*arguments, **options)
    except Exception as error:  # of any kind: a formula that is not read says nothing
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    raise FormulaError(f"formula {shown} cannot be read: {reason}")


def _nodes(tree: Any) -> list[Any]:
    """Operators and factors of the right side, what an operator is applied to before it."""
    pending, nodes = [tree.args[1]], []
    while pending:
        node = pending.pop()
        nodes.append(node)
        is_power = hasattr(node, "operator") and node.operator.symbol in ("**", "^")
        pending += node.args[:1] if is_power else getattr(node, "args", ())
    return nodes[::-1]


def _check_operators(tree: Any, parser: DefaultFormulaParser, shown: str) -> None:
    """Refuse an operator that is not known, and what expands to too many terms; make %in% R's."""
    product = next(operator for operator in parser.operator_resolver.operators if operator.symbol == ":")
    size: dict[int, int] = {}
    for node in _nodes(tree):
        if not hasattr(node, "operator"):
            if node.kind.value == "value" and node.token != "1":
                raise FormulaError(
                    f"{node.token} in {shown} is not a term: only 0 and 1 stand alone, "
                    "other numbers go inside I(...), as in I(2 * x)"
                )
            size[id(node)] = 1
            continue
        symbol, sizes = node.operator.symbol, [size.get(id(arg), 0) for arg in node.args]
        if symbol in ("**", "^"):
            size[id(node)] = _n_powers(sizes[0], node.args[1], shown)
        elif symbol in ("+", "-", "*", ":", "/", "in"):
            products = math.prod(sizes) if symbol in ("*", ":", "in") else 0
            size[id(node)] = products + (sum(sizes) if symbol not in (":", "in") else 0)
        else:
            raise FormulaError(f"formula {shown} uses {symbol!r}; name each column instead")
        if symbol == "in":
            node.operator = product
        if size[id(node)] > MAX_TERMS:
            raise FormulaError(f"formula {shown} has more than {MAX_TERMS} terms; name those that matter")


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


class _Leaf:
    """A factor of formulaic's tree under its key, so that one is one however it is spelled; none for 1."""

    def __init__(self, *factors: Factor) -> None:
        self.terms = OrderedSet((Term([Part(alias(factor.key)) for factor in factors]),))

    def to_terms(self, *, context: object = None) -> OrderedSet:
        """The one term."""
        return self.terms


def _read_factors(tree: Any, shown: str) -> dict[str, Factor]:
    """Put checked factors in the place of a tree's, and give them by their names there."""
    nodes = _nodes(tree)
    factors: dict[str, Factor] = {}
    leaves: dict[int, _Leaf] = {}
    for node in nodes:
        if hasattr(node, "operator"):
            continue
        if node.kind.value == "value":
            leaves[id(node)] = _Leaf()
        else:
            factor = _factor(node, shown)
            leaves[id(node)] = _Leaf(factors.setdefault(alias(factor.key), factor))
    # the exponent of a power is no factor, and stays
    for node in (tree, *nodes):
        if hasattr(node, "operator"):
            node.args = tuple(leaves.get(id(part), part) for part in node.args)
    return factors


def _n_powers(n_terms: int, exponent: Any, shown: str) -> int:
    """How many terms (a + b + ...)^n has."""
    digits = getattr(exponent, "token", "")
    if hasattr(exponent, "operator") or not digits.isdecimal() or int(digits[:9]) < 1:
        raise FormulaError(
            f"a power in {shown} must be a whole number from 1; for the power of a column write I(x ** 2)"
        )
    power = int(digits[:9])
    if power * math.log(n_terms) > math.log(_MAX_PRODUCTS) or power > MAX_TERMS:
        raise FormulaError(f"the power {power} in {shown} is too high for {n_terms} terms")
    return sum(math.comb(n_terms, k) for k in range(1, min(power, n_terms) + 1))


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
        return Factor(token.token, alias(token.token), (token.token,), is_column=True)
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
    return Factor(shown_as, rebuilt, columns, isinstance(tree, ast.Name), categorical, reference)


def _called(node: ast.AST) -> str | None:
    """The name that a node calls, if it is a call of one."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def _category(call: Any, shown: str) -> tuple[ast.expr, str | None]:
    """What is inside `C(...)`, a column, and the reference level of a Treatment, if one is given."""
    column, *rest = [*call.args, None] if not call.args else call.args
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

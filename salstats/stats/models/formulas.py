"""A formula is data: it is parsed, checked against a list of what it may say, and never run as code."""

import ast
import re
import unicodedata
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from formulaic.errors import FormulaicError
from formulaic.parser import DefaultFormulaParser

from salstats.checks import FormulaError

#: Transforms of one argument that a formula may call by their bare name.
TRANSFORMS = ("I", "log", "log1p", "sqrt", "exp", "logit", "scale", "center")
#: `Q("max width")` is a column by its name, `C(site)` a column as categories.
QUOTE, CATEGORY = "Q", "C"
MAX_LENGTH = 2000
MAX_TERMS = 500
MAX_DEPTH = 40
MAX_POWER = 20
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_SIGNS = (ast.UAdd, ast.USub)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_KNOWN = ", ".join((CATEGORY, QUOTE, *TRANSFORMS))


@dataclass(frozen=True)
class Factor:
    """One variable of a formula: a column, or an expression of columns.

    Attributes
    ----------
    name : str
        How it is called in the names of terms: `area_ratio`, `log(area_ratio)`, `C(seed)`.
    expression : ast.expr
        Checked tree: a `Name` is a column, a `Call` one of TRANSFORMS, the rest arithmetic on numbers.
    columns : tuple of str
        The columns (or metrics) it needs.
    categorical : bool
        Written as `C(...)`: categories even where the column is numeric.
    reference : str or None
        Level that `C(x, Treatment("level"))` makes the reference.
    """

    name: str
    expression: ast.expr
    columns: tuple[str, ...]
    categorical: bool = False
    reference: str | None = None

    @property
    def key(self) -> str:
        """What makes two factors the same one."""
        return f"{self.categorical} {self.reference} {ast.dump(self.expression)}"


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


_Term = tuple[Factor, ...]
_Terms = dict[frozenset[str], _Term]
_INTERCEPT: frozenset[str] = frozenset()


def parse_formula(text: object) -> Formula:
    """Return a formula parsed and checked; nothing in it is evaluated.

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
    formulaic's parser splits the text into operators and factors without evaluating either. The
    operators `+ - * / : ^ ** %in%` are then expanded here, on sets of terms whose size is bounded, so that
    `(a + b + c)**20` costs nothing; the syntax tree of each factor, `I(...)` and `{...}` included, is
    compared with the list node by node. What is left is interpreted by `design.evaluate`, not by Python.

    Examples
    --------
    >>> [":".join(f.name for f in term) for term in parse_formula("iou ~ a * log(b) - a").terms]
    ['log(b)', 'a:log(b)']
    """
    formula = _check_text(text)
    tree = _parsed(formula)
    if getattr(getattr(tree, "operator", None), "symbol", None) != "~" or len(tree.args) != 2:
        raise FormulaError(f"formula {_short(formula)} needs a left side, as in 'iou ~ area_ratio'")
    response = _response(tree.args[0], formula)
    terms: _Terms = {_INTERCEPT: ()}
    try:
        _accumulate(terms, tree.args[1], 1, formula)
    except RecursionError:
        raise FormulaError(f"formula {_short(formula)} is nested too deeply") from None
    intercept = terms.pop(_INTERCEPT, None) is not None
    if any(response.key in term for term in terms):
        raise FormulaError(f"formula {_short(formula)} has its left side {response.name!r} on the right too")
    ordered = tuple(sorted(terms.values(), key=len))
    if not ordered and not intercept:
        raise FormulaError(f"formula {_short(formula)} has nothing on its right side; 'iou ~ 1' is the mean")
    return Formula(formula, response, ordered, intercept)


def _short(formula: str) -> str:
    """Return a formula for a message, cut where it is long."""
    return repr(formula if len(formula) <= 80 else formula[:77] + "...")


def _check_text(text: object) -> str:
    """Return the formula's text if it is one that is worth parsing."""
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
    if formula and "~" not in formula:
        raise FormulaError(
            f"formula {_short(formula)} needs a ~ between its left and right side, as in 'iou ~ area_ratio'"
        )
    if not formula or formula.startswith("~"):
        raise FormulaError(f"formula {_short(formula)} needs a left side, as in 'iou ~ area_ratio'")
    if formula.endswith("~"):
        raise FormulaError(f"formula {_short(formula)} has nothing on its right side; 'iou ~ 1' is the mean")
    return formula


def _parsed(formula: str) -> Any:
    """Return formulaic's tree of operators and factors; it parses and does not evaluate."""
    parser = DefaultFormulaParser(include_intercept=False, feature_flags={"TWOSIDED"})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return parser.get_ast(formula, context={})
    except FormulaicError as error:
        reason = str(error).splitlines()[0]
    except (
        SyntaxError,
        ValueError,
        IndexError,
        KeyError,
        AttributeError,
        RecursionError,
        MemoryError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    raise FormulaError(f"formula {_short(formula)} cannot be read: {reason}")


def _response(tree: Any, formula: str) -> Factor:
    """Return the left side, which is one factor."""
    if hasattr(tree, "operator"):
        raise FormulaError(
            f"the left side of {_short(formula)} must be one metric or column; put arithmetic inside I(...)"
        )
    if tree.kind.value == "value":
        raise FormulaError(f"the left side of {_short(formula)} must be a metric or a column")
    factor = _factor(tree, formula)
    if factor.categorical:
        raise FormulaError(f"the left side of {_short(formula)} must be numeric, not {factor.name}")
    return factor


def _accumulate(terms: _Terms, tree: Any, sign: int, formula: str) -> None:
    """Add to `terms`, or take out of it, what a tree stands for."""
    symbol = tree.operator.symbol if hasattr(tree, "operator") else None
    if symbol in ("+", "-"):
        *first, last = tree.args
        for part in first:
            _accumulate(terms, part, sign, formula)
        _accumulate(terms, last, sign if symbol == "+" else -sign, formula)
        return
    for key, term in _expanded(tree, formula).items():
        if sign > 0:
            terms.setdefault(key, term)
        else:
            terms.pop(key, None)
    _check_number(terms, formula)


def _expanded(tree: Any, formula: str) -> _Terms:
    """Return the terms that a tree stands for."""
    if not hasattr(tree, "operator"):
        return _leaf(tree, formula)
    symbol = tree.operator.symbol
    if symbol in ("+", "-"):
        terms: _Terms = {}
        _accumulate(terms, tree, 1, formula)
        return terms
    if symbol not in ("*", ":", "/", "in", "**", "^"):
        raise FormulaError(f"formula {_short(formula)} uses {symbol!r}; name each column instead")
    if symbol in ("**", "^"):
        return _power(_expanded(tree.args[0], formula), tree.args[1], formula)
    left, right = (_expanded(part, formula) for part in tree.args)
    if symbol in (":", "in"):
        return _products(left, right, formula)
    if symbol == "*":
        return left | right | _products(left, right, formula)
    # a / b is a + a:b, and (a + b) / c is a + b + a:b:c
    whole: _Terms = {_INTERCEPT: ()}
    for key, term in left.items():
        whole = _products(whole, {key: term}, formula)
    return left | _products(whole, right, formula)


def _products(left: _Terms, right: _Terms, formula: str) -> _Terms:
    """Return the product of every term of `left` with every term of `right`."""
    if len(left) * len(right) > MAX_TERMS**2:
        raise _too_many(formula)
    products: _Terms = {}
    for first in left.values():
        for second in right.values():
            factors = {f.key: f for f in (*first, *second)}
            products.setdefault(frozenset(factors), tuple(factors.values()))
    _check_number(products, formula)
    return products


def _power(terms: _Terms, exponent: Any, formula: str) -> _Terms:
    """Return (a + b + ...)^n: all products of up to n of them."""
    digits = getattr(exponent, "token", "")
    if hasattr(exponent, "operator") or not digits.isdecimal() or not 1 <= int(digits[:9]) <= MAX_POWER:
        raise FormulaError(
            f"a power in {_short(formula)} must be a number from 1 to {MAX_POWER}; "
            "for the power of a column write I(x ** 2)"
        )
    result = dict(terms)
    for _ in range(int(digits) - 1):
        larger = result | _products(result, terms, formula)
        if len(larger) == len(result):
            break
        result = larger
    return result


def _check_number(terms: _Terms, formula: str) -> None:
    """Raise FormulaError where a formula has grown beyond what anyone fits."""
    if len(terms) > MAX_TERMS:
        raise _too_many(formula)


def _too_many(formula: str) -> FormulaError:
    """Return the error for a formula of too many terms."""
    return FormulaError(f"formula {_short(formula)} has more than {MAX_TERMS} terms; name those that matter")


def _leaf(token: Any, formula: str) -> _Terms:
    """Return the term that a number or a factor stands for."""
    if token.kind.value == "value":
        if token.token == "1":
            return {_INTERCEPT: ()}
        raise FormulaError(
            f"{token.token} in {_short(formula)} is not a term: only 0 and 1 stand alone, "
            "other numbers go inside I(...), as in I(2 * x)"
        )
    factor = _factor(token, formula)
    return {frozenset((factor.key,)): (factor,)}


def _factor(token: Any, formula: str) -> Factor:
    """Return a factor from formulaic's token, its syntax tree checked."""
    if token.kind.value == "name":
        return Factor(token.token, ast.Name(token.token, ast.Load()), (token.token,))
    code = token.token
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(
            f"{_short(code)} in {_short(formula)} cannot be read; a column whose name is not a plain word "
            'is reached by Q("...") inside a call'
        ) from None
    reference = None
    categorical = isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == CATEGORY
    if categorical:
        assert isinstance(tree, ast.Call)
        tree, reference = _category(tree, formula)
    expression = _checked(tree, code, formula, 0)
    columns = tuple(dict.fromkeys(_columns(expression)))
    if not columns:
        raise FormulaError(f"{_short(code)} in {_short(formula)} names no column")
    name = ast.unparse(expression)
    return Factor(f"{CATEGORY}({name})" if categorical else name, expression, columns, categorical, reference)


def _category(call: ast.Call, formula: str) -> tuple[ast.expr, str | None]:
    """Return what is inside `C(...)` and the reference level of a Treatment, if one is given."""
    if not 1 <= len(call.args) <= 2 or call.keywords or isinstance(call.args[0], ast.Starred):
        raise FormulaError(f'C in {_short(formula)} is C(x) or C(x, Treatment("level"))')
    if len(call.args) == 1:
        return call.args[0], None
    treatment = call.args[1]
    if isinstance(treatment, ast.Call) and isinstance(treatment.func, ast.Name):
        values = [*treatment.args, *(k.value for k in treatment.keywords if k.arg == "reference")]
        named = [k for k in treatment.keywords if k.arg != "reference"]
        if treatment.func.id == "Treatment" and len(values) == 1 and not named:
            level = values[0]
            if isinstance(level, ast.Constant) and isinstance(level.value, str | int | float):
                return call.args[0], str(level.value)
    raise FormulaError(f'C in {_short(formula)} is C(x) or C(x, Treatment("level"))')


def _checked(node: ast.expr, code: str, formula: str, depth: int) -> ast.expr:
    """Return a tree rebuilt from what is allowed, or raise FormulaError at the first thing that is not."""
    if depth > MAX_DEPTH:
        raise FormulaError(f"formula {_short(formula)} is nested too deeply")
    if isinstance(node, ast.Name):
        return ast.Name(node.id, ast.Load())
    if isinstance(node, ast.Constant):
        return ast.Constant(_number(node.value, formula))
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
        left, right = (_checked(n, code, formula, depth + 1) for n in (node.left, node.right))
        return ast.BinOp(left, node.op, right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
        raise FormulaError(f"write ** for a power in {_short(code)}; ^ means something else there")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, _SIGNS):
        return ast.UnaryOp(node.op, _checked(node.operand, code, formula, depth + 1))
    if isinstance(node, ast.Call):
        return _checked_call(node, code, formula, depth)
    raise FormulaError(
        f"{_short(code)} in {_short(formula)} is not allowed ({type(node).__name__}): a formula holds column "
        f'names (Q("...") for any name), + - * / **, numbers, and {_KNOWN}'
    )


def _checked_call(node: ast.Call, code: str, formula: str, depth: int) -> ast.expr:
    """Return a call of a named transform rebuilt, or the column that Q names."""
    name = node.func.id if isinstance(node.func, ast.Name) else None
    if name == CATEGORY:
        raise FormulaError(f"C(...) in {_short(formula)} must stand by itself, outside other transforms")
    if name not in (QUOTE, *TRANSFORMS):
        called = repr(name) if name else "an expression"
        raise FormulaError(f"{_short(formula)} calls {called}; a formula may call {_KNOWN}")
    if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        raise FormulaError(f"{name} in {_short(formula)} takes exactly one argument and no options")
    argument = node.args[0]
    if name == QUOTE:
        if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
            raise FormulaError(f'Q in {_short(formula)} takes a name in quotes, as in Q("max width")')
        return ast.Name(argument.value, ast.Load())
    return ast.Call(ast.Name(name, ast.Load()), [_checked(argument, code, formula, depth + 1)], [])


def _number(value: object, formula: str) -> float:
    """Return a constant if it is a finite real number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormulaError(f"{value!r} in {_short(formula)} is not a number; text is allowed in Q(...) only")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number in (float("inf"), float("-inf")):
        raise FormulaError(f"a number in {_short(formula)} is too large")
    return number if isinstance(value, float) else value


def _columns(node: ast.expr) -> Iterable[str]:
    """Yield the columns of a checked tree, from left to right."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.BinOp):
        yield from _columns(node.left)
        yield from _columns(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from _columns(node.operand)
    elif isinstance(node, ast.Call):
        yield from _columns(node.args[0])

"""Values that a Python file assigns to names, computed without running it: numbers, texts, and lists of them."""

import ast
import math
import operator
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
SIGNS: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}
# functions that are as harmless as numbers, by their last name: np.float32(0.5), math.sqrt(2)
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("float", "float32", "float64"), float),
    **dict.fromkeys(("int", "int32", "int64"), int),
    "sqrt": math.sqrt,
    "round": round,
    "max": max,
    "min": min,
    "array": list,
    "list": list,
    "tuple": tuple,
    "repeat": lambda value, times: list(repeat(value, _small(times))),
    "chain": lambda *parts: list(chain(*parts)),
}
CONSTANTS = {"inf": math.inf, "pi": math.pi}
LARGEST = 10**6  # of a repeat, a power's exponent or a list


class Computed(Exception):
    """A value that cannot be computed without running the file; the text says why."""


def values_of(tree: ast.Module) -> tuple[dict[str, Any], dict[str, tuple[int, str]]]:
    """What the statements of a module assign to names, in their order; `for` loops over lists are followed.

    Returns:
        values by name; and the names whose values need the file to run, with the line and the reason.
    """
    reader = _Reader()
    reader.read(tree.body)
    return reader.known, reader.unknown


class _Reader:
    def __init__(self) -> None:
        self.known: dict[str, Any] = {}
        self.unknown: dict[str, tuple[int, str]] = {}
        self._rounds = 0

    def read(self, statements: list[ast.stmt]) -> None:
        for node in statements:
            try:
                self._statement(node)
            except Computed as error:
                for name in _changed_by(node):
                    self.known.pop(name, None)
                    self.unknown.setdefault(name, (node.lineno, str(error)))

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value) if all(isinstance(one, ast.Name) for one in targets):
                self._note([one.id for one in targets if isinstance(one, ast.Name)], _value(value, self.known))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._note([name], _value(value, self.known))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                self._note([name], _value(ast.BinOp(target, op, value), self.known))
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), "append"), [one])) if name in self.known:
                self._note([name], _combined(ast.Add(), self.known[name], [_value(one, self.known)]))
            case ast.For(target=ast.Name(id=name), iter=values, body=body, orelse=[]):
                listed = _value(values, self.known)
                if not isinstance(listed, list):
                    raise Computed(f"'{ast.unparse(values)[:60]}' is no list")
                for value in listed:
                    self._rounds += 1
                    if self._rounds > LARGEST:
                        raise Computed("its loops are too long")
                    self._note([name], value)
                    self.read(body)
            case ast.Expr(ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.Pass():
                pass
            case _:
                raise Computed(f"'{ast.unparse(node)[:60]}' needs the file to run")

    def _note(self, names: list[str], value: Any) -> None:
        self.known |= dict.fromkeys(names, value)
        for name in names:
            self.unknown.pop(name, None)


def _changed_by(node: ast.stmt) -> set[str]:
    """The names that a statement may give other values."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    changed = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):  # a.sort()
            one = one.func.value
        elif isinstance(one, ast.Attribute | ast.Subscript) and not isinstance(one.ctx, ast.Load):  # a[0] = 1
            one = one.value
        elif not isinstance(getattr(one, "ctx", None), ast.Store | ast.Del):
            continue
        changed |= {name.id for name in ast.walk(one) if isinstance(name, ast.Name)}
    return changed


def _value(node: ast.expr, known: dict[str, Any]) -> Any:
    inner = lambda one: _value(one, known)  # noqa: E731
    try:
        match node:
            case ast.Constant(value=value) if value is None or isinstance(value, bool | int | float | str):
                return value
            case ast.Name(id=name) if name in known:
                return known[name]
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return [inner(part) for part in parts]
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return {inner(key): inner(value) for key, value in zip(keys, values, strict=True)}
            case ast.Subscript(value=one, slice=ast.Slice(lower=first, upper=last, step=None)):
                return inner(one)[slice(*(None if end is None else inner(end) for end in (first, last)))]
            case ast.Subscript(value=one, slice=at):
                return inner(one)[inner(at)]
            case ast.UnaryOp(op=op, operand=one) if type(op) in SIGNS:
                return SIGNS[type(op)](inner(one))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return _combined(op, inner(left), inner(right))
            case ast.Attribute(attr=name) if name in CONSTANTS:
                return CONSTANTS[name]
            case ast.JoinedStr(values=parts):
                return "".join(
                    str(inner(part.value if isinstance(part, ast.FormattedValue) else part)) for part in parts
                )
            case ast.Call(func=function, args=arguments, keywords=[]):
                return _called(function, [inner(one) for one in arguments])
    except (TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
        raise Computed(str(error)) from None
    raise Computed(f"'{ast.unparse(node)[:60]}' needs the file to run")


def _combined(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(op, ast.Pow):
        _small(right)
    if isinstance(op, ast.Mult) and (isinstance(left, list | str) or isinstance(right, list | str)):
        _small(left if isinstance(right, list | str) else right)
    found = OPERATORS[type(op)](left, right)
    if isinstance(found, list | str):
        _small(len(found))
    return found


def _called(function: ast.expr, arguments: list[Any]) -> Any:
    name = getattr(function, "attr", getattr(function, "id", ""))
    if name not in FUNCTIONS:
        raise Computed(f"the function '{ast.unparse(function)[:60]}' needs the file to run")
    return FUNCTIONS[name](*arguments)


def _small(number: Any) -> Any:
    if not abs(number) <= LARGEST:
        raise ValueError(f"{number} is too large")
    return number

"""A language for choosing runs by their config and results, in the words of Python's comparisons.

name == qmix and 1e-4 <= lr < 1e-2 and best(test_return_mean) > 10 and env_args.map_name in ['3m', '8m']
"""

import ast
import operator
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from browser.reading import Results, Run
from browser.reading.configs import MISSING, key_suggestion, value_of
from browser.stats.outcomes import ROLL_UPS
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

# characters of a filter
LONGEST = 2000
# parts of a filter within one another
DEEPEST = 100
# beside config keys
FACTS: dict[str, Callable[[Run], Any]] = {
    "status": lambda run: run.status_at(),
    "seed": lambda run: run.seed,
    "map": lambda run: run.map_name,
    "id": lambda run: run.id,
    "result": lambda run: run.newest.result,
    "hours": lambda run: None if (seconds := run.seconds()) is None else seconds / 3600,
}
KEY = "key"
EXAMPLE = "lr < 0.001 and name == 'qmix*' and best(test_return_mean) > 10"
HELP = f"such as: {EXAMPLE}"

_ORDERS = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
_Term = Callable[[Run], Any]


class RunFilter:
    """A filter that was understood.

    Args:
        text: empty: every run is kept.
        results: where curves are read.
        keys: of the configs.
        metrics: the statistics that runs have; looked at only if the filter names one.

    Raises:
        ConfigError: it is no such text, or names what no run has.
    """

    def __init__(self, text: str, results: Results, keys: Collection[str], metrics: Callable[[], Collection[str]]):
        self._text, self._results, self._metrics = text, results, metrics
        self._keys = {*keys, "name"}
        self._kept: _Term | None = None
        if not text.strip():
            return
        if len(text) > LONGEST:
            raise ConfigError(f"A filter has at most {LONGEST} characters, found {len(text)}.")
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            hint = " Equality is ==." if "=" in text and "==" not in text else ""
            raise ConfigError(f"The filter '{quoted(text)}' cannot be read.{hint} It is {HELP}.") from None
        if _depth(tree) > DEEPEST:
            raise ConfigError(f"The filter '{quoted(text)}' has too many parts within parts. It is {HELP}.")
        self._kept = self._condition(tree.body)

    def keeps(self, run: Run) -> bool:
        """Whether a run meets it."""
        return self._kept is None or bool(self._kept(run))

    def _condition(self, node: ast.AST) -> _Term:
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                parts = [self._condition(value) for value in values]
                return lambda run: all(part(run) for part in parts)
            case ast.BoolOp(op=ast.Or(), values=values):
                parts = [self._condition(value) for value in values]
                return lambda run: any(part(run) for part in parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._condition(operand)
                return lambda run: not inner(run)
            case ast.Compare(left=left, ops=ops, comparators=others):
                nodes = [left, *others]
                pairs = [self._comparison(op, *nodes[k : k + 2]) for k, op in enumerate(ops)]
                return lambda run: all(pair(run) for pair in pairs)
            case ast.Name() | ast.Attribute() | ast.Call():
                term = self._term(node)
                return lambda run: _is_true(term(run))
        raise self._refused(node, "is no condition")

    def _comparison(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> _Term:
        first = self._term(left)
        if type(op) in _ORDERS:
            order, second = _ORDERS[type(op)], self._term(right)
            return lambda run: _ordered(order, first(run), second(run))
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple | ast.Set):
                raise self._refused(right, "is no list, such as ['3m', '8m']")
            members = [self._term(one, words=True) for one in right.elts]
            wanted = isinstance(op, ast.In)
            return lambda run: any(_equal(first(run), member(run)) for member in members) is wanted
        if isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
            second, wanted = self._term(right, words=True), isinstance(op, ast.Eq | ast.Is)
            if isinstance(left, ast.Constant):  # what may have wildcards comes second
                first, second = second, first
            return lambda run: _equal(first(run), second(run)) is wanted
        raise self._refused(right, "is compared in a way that filters do not have")

    def _term(self, node: ast.AST, words: bool = False) -> _Term:
        """A value of a run; with `words`, a name that no config has stands for itself."""
        match node:
            case ast.Constant(value=str() | int() | float() | bool() | None as value):
                return lambda run: value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return lambda run: -value
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
                return self._call(name, argument)
            case ast.Name() | ast.Attribute():
                return self._named(node, words)
        raise self._refused(node, "is no value, key or statistic")

    def _named(self, node: ast.AST, words: bool) -> _Term:
        name = ast.unparse(node)
        if name in self._keys:
            return lambda run: value_of(run.newest, name)
        if name in FACTS:
            return FACTS[name]
        if words:
            return lambda run: name
        raise ConfigError(f"The filter names '{quoted(name)}', a key that no config has.{self._nearest(name)}")

    def _call(self, name: str, argument: ast.AST) -> _Term:
        text = str(argument.value) if isinstance(argument, ast.Constant) else ast.unparse(argument)
        if name == KEY:
            if text not in self._keys:
                raise ConfigError(f"The filter names '{quoted(text)}', a key that no config has.{self._nearest(text)}")
            return lambda run: value_of(run.newest, text)
        if name not in ROLL_UPS:
            raise ConfigError(f"A filter has no '{quoted(name)}(...)'.{suggestion(name, [*ROLL_UPS, KEY])}")
        if text not in (known := self._metrics()):
            raise ConfigError(f"No run has the statistic '{quoted(text)}'.{suggestion(text, known, limit=10)}")

        def value(run: Run) -> float | None:
            curve = self._results.curves(run, [text]).get(text)
            return None if curve is None else ROLL_UPS[name](curve)

        return value

    def _nearest(self, name: str) -> str:
        return key_suggestion(str(name), {*self._keys, *FACTS})

    def _refused(self, node: ast.AST, what: str) -> ConfigError:
        return ConfigError(f"In the filter, '{quoted(ast.unparse(node))}' {what}. A filter is {HELP}.")


def _depth(tree: ast.AST) -> int:
    level, depth = [tree], 0
    while level:
        level, depth = [child for node in level for child in ast.iter_child_nodes(node)], depth + 1
    return depth


def _is_true(value: Any) -> bool:
    return value is not MISSING and bool(value)


def _ordered(order: Callable[[Any, Any], bool], first: Any, second: Any) -> bool:
    """Whether two values stand in this order; unlike ones, and missing ones, stand in none."""
    for kinds in ((int, float, np.floating), (str,)):
        if isinstance(first, kinds) and isinstance(second, kinds):
            return bool(order(first, second))
    return False


def _equal(first: Any, second: Any) -> bool:
    """Whether two values are equal; a text may have wildcards, and stands for a number or a list that is written so."""
    if isinstance(second, str) and first is not MISSING:
        return str(first) == second or fnmatchcase(str(first), second)  # [64, 64] would be a set of characters
    return (type(first) in (int, float) and type(second) in (int, float) and first == second) or (
        type(first) is type(second) and first == second
    )

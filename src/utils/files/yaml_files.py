"""YAML read safely, with errors that name file, line and column."""

import re
from pathlib import Path
from typing import Any

import yaml

from utils.errors import ConfigError
from utils.files.regular_files import read_text
from utils.files.written_numbers import plain, written
from utils.plain_values import DEEPEST, escaped, problem_of, problem_of_key, quoted

# our largest one has 10,000 bytes
LARGEST_FILE = 2**17
# characters, and VALUE more for each value, with every alias (*name) expanded
LARGEST_CONTENT, VALUE = 2**20, 50
LONGEST_NUMBER = 400


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads `5e-4` as a number (YAML 1.2) and refuses a key written twice with two values."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


class _Refused(yaml.constructor.ConstructorError):
    """YAML that is refused at `node`."""

    def __init__(self, problem: str, node: yaml.Node):
        super().__init__(None, None, problem, node.start_mark)


def _mapping_without_duplicates(loader: _Loader, node: yaml.MappingNode) -> dict:
    seen: dict[Any, yaml.Node] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if problem := problem_of_key(key):
            raise _Refused(problem, key_node)
        if not _is_same(seen.setdefault(key, value_node), value_node):
            raise _Refused(f"the key '{key}' is written twice", key_node)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


def _is_same(one: yaml.Node, other: yaml.Node) -> bool:
    """Whether two values of one key are the same; EPyMARL's vdn.yaml says `use_rnn: False` twice."""
    if one is other:
        return True
    return isinstance(one, yaml.ScalarNode) and (one.tag, one.value) == (other.tag, other.value)


def _construct_mapping(loader: _Loader, node: yaml.MappingNode):
    data: dict = {}
    yield data
    data.update(_mapping_without_duplicates(loader, node))


def _construct_number(loader: _Loader, node: yaml.Node):
    # Python takes the longer for a number the longer it is
    if isinstance(node.value, str) and len(node.value) > LONGEST_NUMBER:
        raise _Refused(f"the number {quoted(node.value)} is {len(node.value)} characters long", node)
    return written(yaml.SafeLoader.yaml_constructors[node.tag](loader, node), node.value)


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_number)
_Loader.add_constructor("tag:yaml.org,2002:float", _construct_number)


def load_yaml(path: Path) -> dict:
    """Read a YAML file whose top level is a mapping; an empty file is an empty mapping.

    Raises:
        ConfigError: as `load_written`.
    """
    return plain(load_written(path))


def load_written(path: Path) -> dict:
    """As `load_yaml`, with numbers that keep how they were written (`utils.files.written_numbers`).

    Raises:
        ConfigError: not readable, not UTF-8, not YAML, too large, or not a mapping of plain values.
    """
    text = read_text(path, LARGEST_FILE)
    data = _parsed(path, text)
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: expected 'key: value' lines at the top level, found a {type(data).__name__}.")
    if problem := problem_of(plain(data)):
        raise ConfigError(f"{path}: {problem}.")
    return data


def _parsed(path: Path, text: str) -> Any:
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _measure(node, {}, 0)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}{_where(error)}: invalid YAML: {_problem(error)}.") from None
    except RecursionError:
        raise ConfigError(f"{path}: invalid YAML: nested too deeply.") from None
    except ValueError as error:  # e.g. 2001-13-45 looks like a date
        raise ConfigError(f"{path}: invalid YAML: {error}.") from None
    except (AttributeError, LookupError, TypeError):  # PyYAML's, for an explicit tag such as `!!int ''`
        raise ConfigError(f"{path}: invalid YAML: a value does not fit its explicit tag (!!...).") from None


def _measure(node: yaml.Node, measured: dict[int, int], depth: int) -> int:
    """How much `node` stands for: a few aliases of aliases can make a file grow beyond any memory."""
    if depth > DEEPEST:
        raise _Refused(f"nested too deeply, or inside itself (more than {DEEPEST} deep)", node)
    if id(node) not in measured:
        if isinstance(node, yaml.ScalarNode):
            inner = len(node.value)
        else:
            parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
            inner = sum(_measure(part, measured, depth + 1) for part in parts)
        measured[id(node)] = VALUE + inner
        if measured[id(node)] > LARGEST_CONTENT:
            raise _Refused("too large a value, with its aliases (*) expanded", node)
    return measured[id(node)]


def _where(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""


def _problem(error: yaml.YAMLError) -> str:
    text = getattr(error, "problem", None) or str(error).split("\n")[0]
    return escaped(text.rstrip("."))

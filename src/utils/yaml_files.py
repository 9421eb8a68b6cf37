"""YAML read safely, with errors that name file, line and column."""

import re
from pathlib import Path

import yaml

from utils.errors import ConfigError


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads `5e-4` as a number (YAML 1.2) and refuses a key written twice."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def _mapping_without_duplicates(loader: _Loader, node: yaml.MappingNode) -> dict:
    seen = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is not a string", key_node.start_mark)
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key '{key}' is written twice", key_node.start_mark
            )
        seen.add(key)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


def _construct_mapping(loader: _Loader, node: yaml.MappingNode):
    data: dict = {}
    yield data
    data.update(_mapping_without_duplicates(loader, node))


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)


def load_yaml(path: Path) -> dict:
    """Read a YAML file whose top level is a mapping; an empty file is an empty mapping.

    Raises:
        ConfigError: not readable, not UTF-8, not YAML, or not a mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not a UTF-8 text file (byte {error.start}).") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}).") from None
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506 - _Loader is a SafeLoader
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}{_where(error)}: invalid YAML: {_problem(error)}.") from None
    except RecursionError:
        raise ConfigError(f"{path}: invalid YAML: nested too deeply.") from None
    except ValueError as error:  # e.g. 2001-13-45 looks like a date
        raise ConfigError(f"{path}: invalid YAML: {error}.") from None
    except (AttributeError, LookupError, TypeError):  # PyYAML's, for an explicit tag such as `!!int ''`
        raise ConfigError(f"{path}: invalid YAML: a value does not fit its explicit tag (!!...).") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: expected 'key: value' lines at the top level, found a {type(data).__name__}.")
    return data


def _where(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""


def _problem(error: yaml.YAMLError) -> str:
    text = getattr(error, "problem", None) or str(error).split("\n")[0]
    return text.rstrip(".")

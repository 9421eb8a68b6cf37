"""The arguments of environments, `env_args`: their defaults, values and meanings, for help, lists and the reference."""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin

from envs import REGISTRY, about, live_options
from utils.config.merging import CONFIG_DIR, config_names
from utils.files.yaml_files import load_yaml
from utils.own_commands import as_documented
from vector_envs.instances import constructor_of

PREFIX = "env_args."
# what Muster itself gives to those that count their copies
OF_THE_RUN = ("place", "test_mode")
TYPES = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    tuple: "a list",
    dict: "a mapping",
}
NOT_KNOWN = "the package's"
LONGEST = 60  # characters of a default


class Argument(NamedTuple):
    """`values` in words; `default` as one writes it, or `NOT_KNOWN` of a package that is not installed."""

    name: str
    default: Any
    values: str
    meaning: str
    config: str  # the file under config/envs/ that has the default; "": the constructor has it

    @property
    def word(self) -> str:
        """The default as it is typed after `with`; that of a long mapping is where it stands."""
        text = as_word(self.default)
        return f"see config/envs/{self.config}" if len(text) > LONGEST and self.config else text


def arguments(env: str, imports: bool = True) -> list[Argument]:
    """All arguments that a config may give to an environment.

    Args:
        env: its name in the registry.
        imports: also look at the constructors of other packages, and import the environments of users.
    """
    said, live = about(env).arguments, live_options(env)
    config, given = _config_of(env)
    parameters = _parameters(env, imports)
    names = [*said, *(name for name in parameters if name not in said and name not in OF_THE_RUN)]
    found = []
    for name in names:
        parameter = parameters.get(name)
        default = given.get(name, NOT_KNOWN if parameter is None else parameter.default)
        default = NOT_KNOWN if default is inspect.Parameter.empty else default
        values = _values(parameter, default) + ", or a schedule" * (name in live)
        found.append(Argument(name, default, values, said.get(name, ""), config if name in given else ""))
    return found


def of_name(name: str) -> list[dict[str, Argument]]:
    """The arguments of a name, by environment; those of one meaning together."""
    found: dict[tuple[str, str], dict[str, Argument]] = {}
    for env in REGISTRY:
        if name not in about(env).arguments and REGISTRY.entry(env).declared:
            continue
        for argument in arguments(env):
            if argument.name == name:
                found.setdefault((argument.values, argument.meaning), {})[env] = argument
    return list(found.values())


def all_names() -> set[str]:
    """The names of all arguments that environments declare."""
    return {name for env in REGISTRY for name in about(env).arguments}


def commented(text: str) -> str:
    """A file of config/envs/ with the meaning of each argument as its comment."""
    named = re.search(r'^env: "?(\w+)', text, re.M)
    said = about(named[1]).arguments if named else {}

    def with_meaning(line: re.Match) -> str:
        if line[1] not in said:
            return line[0]
        return f"  {line[1]}: {line[2]} # {as_documented(said[line[1]])}"

    def block(found: re.Match) -> str:
        return re.sub(r"^  (\w+): (.*?)(?: +# .*)?$", with_meaning, found[0], flags=re.M)

    return re.sub(r"^env_args:.*\n(?:  .*\n)+", block, text, flags=re.M)


def as_word(value: Any) -> str:
    """A value as it is typed after `with KEY=`."""
    return value if isinstance(value, str) and value else str(value) if type(value) is bool else json.dumps(value)


def _config_of(env: str) -> tuple[str, Mapping[str, Any]]:
    """The file of config/envs/ that is an environment's own, and its `env_args`."""
    names = config_names("envs")
    for name in [env] * (env in names) + names:
        config = load_yaml(CONFIG_DIR / "envs" / f"{name}.yaml")
        if name == env or config.get("env") == env:
            return f"{name}.yaml", config.get("env_args") or {}
    return "", {}


def _parameters(env: str, imports: bool) -> Mapping[str, inspect.Parameter]:
    entry = REGISTRY.entry(env)
    if not imports and not entry.declared:
        return {}
    factory = REGISTRY[env]
    # that of a package: it may be missing, or another version
    if hasattr(factory, "constructor") and not imports:
        return {}
    try:
        constructor: Callable = constructor_of(factory)
    except Exception:  # the package is missing
        return {}
    named = inspect.signature(constructor).parameters
    return {key: one for key, one in named.items() if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)}


def _values(parameter: inspect.Parameter | None, default: Any) -> str:
    """`a whole number, or null`: by the annotation, or else by the default."""
    kinds = _kinds(parameter.annotation) if parameter is not None else []
    if not kinds and type(default) in TYPES and default != NOT_KNOWN:
        kinds = [type(default)]
    words = list(dict.fromkeys(TYPES[kind] for kind in kinds if kind in TYPES))
    text = " or ".join(words) or "anything"
    return text + ", or null" * (type(None) in kinds or (default is None and bool(words)))


def _kinds(annotation: Any) -> list[type]:
    """The types of an annotation without their contents; none if it has others than those of YAML."""
    if isinstance(annotation, UnionType):
        return [kind for one in get_args(annotation) for kind in _kinds(one)]
    kind = get_origin(annotation) or annotation
    if annotation is None or kind is type(None):
        return [type(None)]
    return [kind] if kind in TYPES else []

"""What programs that play a recorded run have in common: the words after `with`, and the option --plugin."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

# arguments of environments that a file or module of the user's may be named in
NAMED_IN = ("environment", "key")


def split_words(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of a command line before `with`, and those after it."""
    words = list(argv)
    start = words.index("with") if "with" in words else len(words)
    return words[:start], words[start + 1 :]


def with_plugins(settings: Mapping[str, Any], names: Sequence[str], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a command line with what `--plugin=NAME` says: NAME is one of `plugins`.

    The name of the environment that the run's record has in its `env_args` names that instead.
    """
    given = copy.deepcopy(dict(settings))
    env_args = recorded.get("env_args")
    env_args = env_args if isinstance(env_args, Mapping) else {}
    plugins = []
    for name in names:
        key = next((key for key in NAMED_IN if env_args.get(key) == name), None)
        if key is None:
            plugins.append(name)
        else:
            given.setdefault("env_args", {})[key] = name
    if plugins:
        before = given.get("plugins", [])
        given["plugins"] = [*([before] if isinstance(before, str) else before), *plugins]
    return given

"""Environments whose `env_args` are the fields of a dataclass."""

import inspect
from collections.abc import Iterable
from dataclasses import MISSING, fields

from utils.errors import ConfigError
from utils.nearest import suggestion


def signature_of(options: type) -> inspect.Signature:
    """The fields as arguments of a constructor, to check a config's `env_args` against."""
    parameters = []
    for field in fields(options):
        default = field.default if field.default is not MISSING else field.default_factory()
        parameters.append(inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default))
    return inspect.Signature(parameters)


def require_known(env: str, options: type, given: Iterable[str]) -> None:
    """Refuse arguments of the environment `env` that are not fields of its options.

    Raises:
        ConfigError: the argument and the nearest field.
    """
    known = [field.name for field in fields(options)]
    for key in given:
        if key not in known:
            raise ConfigError(f"env_args.{key}: {env} has no such argument.{suggestion(key, known)}")

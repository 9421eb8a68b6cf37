from dataclasses import dataclass, field
from inspect import signature

import pytest

from envs.contract.arguments import require_known, signature_of
from utils.errors import ConfigError


@dataclass
class Options:
    speed: float = 1.0
    names: list = field(default_factory=lambda: ["a"])


def test_fields_are_arguments_with_their_defaults():
    class Env:
        __signature__ = signature_of(Options)

    assert {key: found.default for key, found in signature(Env).parameters.items()} == {"speed": 1.0, "names": ["a"]}


def test_an_unknown_argument_is_refused_with_the_nearest_one():
    require_known("cars", Options, ["names"])
    with pytest.raises(ConfigError, match=r"env_args\.sped: cars has no such argument.*speed"):
        require_known("cars", Options, ["names", "sped"])

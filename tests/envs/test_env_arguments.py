"""The arguments of environments: numbers, the fields of a dataclass, and those of a constructor."""

import re
from dataclasses import asdict, dataclass, field
from inspect import signature
from types import SimpleNamespace

import pytest

from cli.compose import compose_config
from envs.contract.arguments import (
    in_words,
    require_choice,
    require_known,
    require_number,
    require_numbers,
    require_parameters,
    signature_of,
)
from envs.contract.reaches import numbers_of
from envs.racing.options import Options as RacingOptions
from envs.trackmania.options import Options as TrackManiaOptions
from utils.errors import ConfigError


@pytest.mark.parametrize("value", [2, 3, 2.0, 2.5, 1e6])
def test_numbers_within_the_bounds_pass(value):
    require_number("speed", value, 2, 1e6)


@pytest.mark.parametrize("value", [1.499, 1_000_001, float("nan"), float("inf"), True, "2", None, [2]])
def test_others_are_refused(value):
    with pytest.raises(ConfigError, match=r"^speed is .*; it must be a number from 1\.5 to 1000000\.$"):
        require_number("speed", value, 1.5, 10**6)


@pytest.mark.parametrize("value", [2.0, True, 9])
def test_whole_numbers_are_ints(value):
    with pytest.raises(ConfigError, match=f"^cars is {value}; it must be a whole number from 0 to 8.$"):
        require_number("cars", value, 0, 8, whole=True)


def test_options_are_named_as_in_configs():
    options = SimpleNamespace(grip=1.0, cars=1.5)
    bounds = {"grip": (0.1, 10.0), "cars": (1, 32)}
    require_numbers(options, bounds)
    with pytest.raises(ConfigError, match=r"^env_args\.cars is 1.5; it must be a whole number from 1 to 32\.$"):
        require_numbers(options, bounds, whole=("cars",))


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


def test_what_a_constructor_does_not_take_is_refused_unless_it_takes_all():
    require_parameters("cars", lambda speed, **others: None, ["sped"])
    require_parameters("cars", lambda env, speed: None, ["speed"], before=1)
    for given in ("sped", "env"):
        with pytest.raises(ConfigError, match=rf"^cars takes no '{given}'\..*speed"):
            require_parameters("cars", lambda env, speed: None, ["speed", given], before=1)


def test_a_choice_is_one_of_those_allowed():
    require_choice("speed", "slow", {"slow": 1, "fast": 2})
    for value in ("fats", ["fast"]):
        with pytest.raises(ConfigError, match=rf"^speed is '{re.escape(str(value))}'\. .*Allowed: fast, slow\.$"):
            require_choice("speed", value, {"slow": 1, "fast": 2})


def test_options_that_are_numbers_reach_nowhere():
    assert set(numbers_of(Options)) == {"speed"}


@pytest.mark.parametrize(("env", "options"), [("racing", RacingOptions), ("trackmania", TrackManiaOptions)])
def test_the_config_has_the_defaults(env, options):
    defaults = {key: value for key, value in asdict(options()).items() if key not in ("test_mode", "place")}
    assert compose_config("iql", env).config["env_args"] == defaults


def test_an_error_without_a_text_is_said_by_where_it_was():
    assert in_words(ValueError("no")) == "ValueError: no"
    try:
        raise AssertionError
    except AssertionError as error:
        assert in_words(error).startswith("AssertionError in line ") and in_words(error).endswith(f"of {__file__}")

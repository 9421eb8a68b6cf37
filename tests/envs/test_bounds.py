"""Numbers among the arguments of environments."""

from types import SimpleNamespace

import pytest

from envs.contract.arguments import require_number, require_numbers
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

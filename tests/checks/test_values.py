"""Types and ranges of values, as they are declared."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checks.options import completed, declared
from checks.values import normalised
from utils.config.merging import default_config
from utils.errors import ConfigError

OPTIONS = declared()
NUMBERS = sorted(key for key, option in OPTIONS.items() if type(option.example) in (int, float))


def test_the_defaults_are_their_own_normal_form():
    defaults = {key: option.default for key, option in OPTIONS.items()}
    assert normalised(defaults) == defaults


def limits(option):
    """The smallest and the largest number of an option's range, None where there is no end."""
    lowest = option.at_least if option.above is None else math.nextafter(option.above, math.inf)
    return lowest, option.at_most


@given(st.sampled_from(NUMBERS), st.data())
def test_every_number_in_range_is_taken(key, data):
    option = OPTIONS[key]
    whole = type(option.example) is int and option.kind is not float
    lowest, highest = limits(option)
    if whole:
        value = data.draw(
            st.integers(-(2**63) if lowest is None else lowest, 2**63 - 1 if highest is None else highest)
        )
    else:
        value = data.draw(st.floats(lowest, highest, allow_infinity=False, allow_nan=False))
    assume(not option.choices or value in option.choices)
    assert normalised({**default_config(), key: value})[key] == value


@pytest.mark.parametrize("key", sorted(key for key in NUMBERS if limits(OPTIONS[key]) != (None, None)))
def test_numbers_beyond_a_bound_are_refused_and_named(key):
    for limit, step in zip(limits(OPTIONS[key]), (-1, 1), strict=True):
        if limit is not None:
            with pytest.raises(ConfigError, match=f"^{key}=.*it must be"):
                normalised({**default_config(), key: limit + step})


@pytest.mark.parametrize("key", sorted(key for key, option in OPTIONS.items() if option.choices))
def test_each_choice_is_taken_and_no_other(key):
    for value in OPTIONS[key].choices:
        assert normalised({**default_config(), key: value})[key] == value
    with pytest.raises(ConfigError, match=f"^{key}=99: no such choice"):
        normalised({**default_config(), key: 99})


@pytest.mark.parametrize("key", sorted(OPTIONS))
def test_null_is_taken_where_it_is_declared(key):
    config = {**default_config(), key: None}
    if OPTIONS[key].nullable:
        assert normalised(config)[key] == (config["lr"] if key == "critic_lr" else None)
    else:
        with pytest.raises(ConfigError, match=f"^{key}=None: expected .*null"):
            normalised(config)


@pytest.mark.parametrize(
    "value", [[[0, 0.3], [1000, 0.1]], ["staircase", [0, 0.3], [1000, 0.1]], ["exponential", [0, 1], [9, 0.1]]]
)
def test_a_schedule_may_stand_in_place_of_a_number(value):
    assert normalised({**completed(default_config()), "learner": "ppo_learner", "eps_clip": value})["eps_clip"] == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[0, 0.3], [10, -0.1]], "every value of the schedule must be above 0"),
        (["linaer", [0, 1]], "linear, exponential or staircase, not 'linaer'"),
        ([], "at least one point"),
        ([[5, 1], [5, 2]], "one value for each step"),
        ("fast", "expected a number"),
    ],
)
def test_invalid_schedules_are_named(value, message):
    with pytest.raises(ConfigError, match=f"^eps_clip=.*{message}"):
        normalised({**completed(default_config()), "learner": "ppo_learner", "eps_clip": value})

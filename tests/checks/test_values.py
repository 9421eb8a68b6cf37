"""Types and ranges of values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.values import converted, normalised
from utils.config import default_config
from utils.errors import ConfigError


def test_the_defaults_are_their_own_normal_form():
    assert normalised(default_config()) == default_config()


@pytest.mark.parametrize(
    ("value", "example", "expected"),
    [(2e6, 1, 2000000), (3, 0.5, 3), (7, "text", "7"), (0.5, "text", "0.5"), ((1, 2), [], [1, 2]), ("a", [], ["a"])],
)
def test_what_loses_nothing_is_converted(value, example, expected):
    result = converted("key", value, example)
    assert result == expected
    assert type(result) is type(expected)


@given(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=2)
    ),
    st.sampled_from([True, 1, 0.5, "x", [], {}]),
)
def test_the_result_has_the_type_of_the_example(value, example):
    try:
        result = converted("key", value, example)
    except ConfigError as error:
        assert "key" in str(error)
        return
    wanted = (int, float) if type(example) is float else type(example)
    assert isinstance(result, wanted)
    assert isinstance(result, bool) == isinstance(example, bool)
    assert converted("key", result, example) == result

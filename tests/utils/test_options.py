"""Valid and invalid values of an option."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from utils.config.options import Option, converted
from utils.errors import ConfigError


@pytest.mark.parametrize(
    ("value", "example", "expected"),
    [(2e6, 1, 2000000), (3, 0.5, 3), (7, "text", "7"), (0.5, "text", "0.5"), ((1, 2), [], [1, 2]), ("a", [], ["a"])],
)
def test_lossless_values_are_converted(value, example, expected):
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


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        (Option(1, ""), 2e6, 2000000),
        (Option(10, "", kind=float), 0.5, 0.5),
        (Option(10, "", kind=float), 3.0, 3),
        (Option(None, "", kind=float, nullable=True), None, None),
        (Option(None, "", kind=float, nullable=True), 1, 1),
        (Option("x", "", nullable=True), None, None),
        (Option("auto", "", choices=("auto", "on", "off")), True, "on"),  # as YAML reads it
        (Option("auto", "", choices=("auto", "on", "off")), False, "off"),
        (Option(1, "", choices=(1, 2)), 2.0, 2),
        (Option(0, "", at_least=0, at_most=5), 5, 5),
    ],
)
def test_taken(option, value, expected):
    result = option.checked("key", value)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (Option(1, ""), 0.5, "key=0.5: expected a whole number, found 0.5, as in 'key=1'."),
        (Option(1, "", kind=float), "a", "key=a: expected a number, found 'a', as in 'key=1'."),
        (Option(1, ""), None, r"key=None: expected a whole number, found nothing \(null\)"),
        (Option(1, "", at_least=1), 0, "key=0: it must be at least 1."),
        (Option(1, "", at_least=0), -1, "key=-1: it must be 0 or more."),
        (Option(0.1, "", above=0), 0, "key=0: it must be above 0."),
        (Option(1, "", at_most=9), 10, "key=10: it must be at most 9."),
        (Option(0.1, "", at_least=0, at_most=1), 1.5, "key=1.5: it must be between 0 and 1."),
        (Option("red", "", choices=("red", "blue")), "bleu", "key=bleu: no such choice. Did you mean 'blue'.*red"),
        (Option(True, "", choices=()), "on", "key=on: expected True or False"),
        (Option(None, "", kind=int, nullable=True), "x", "key=x: expected a whole number"),
        (Option(0.1, "", schedule=True), "[linear,[0,1]]", r"it is not a list.*own quotes: 'key=..staircase., "),
        (Option(0.1, "", driven=True), "[linear,[0,1]]", r"it is not a list.*own quotes: 'key=..staircase., "),
        (Option([], ""), "[next_states,n_step]", r"it is not a list. Texts .*: 'key=.\"next_states\", \"n_step\".'"),
        (Option([], ""), "[{n_step: 3}]", r"it is not a list. Texts in a list need quotes .*'key=..first., "),
    ],
)
def test_refused(option, value, message):
    with pytest.raises(ConfigError, match=message):
        option.checked("key", value)


BOUNDS = st.integers(-5, 5)


@example(0, 0, 1, 0)
@given(st.none() | BOUNDS, st.none() | BOUNDS, st.none() | BOUNDS, st.integers(-8, 8) | st.floats(-8, 8))
def test_exactly_the_range_is_taken(at_least, above, at_most, value):
    option = Option(0, "", kind=float, at_least=at_least, above=above, at_most=at_most)
    inside = (
        (at_least is None or value >= at_least)
        and (above is None or value > above)
        and (at_most is None or value <= at_most)
    )
    try:
        assert option.checked("key", value) == value
    except ConfigError as error:
        assert not inside and str(error).startswith("key=")
    else:
        assert inside

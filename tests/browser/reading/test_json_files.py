"""JSON that is whole, cut off anywhere, or not JSON."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from browser.reading.json_files import JsonObject, parse, plain

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=6), values, max_size=5)


def is_part(part, whole):
    """Whether `part` can come from a truncated text of `whole`, and has nothing else."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and is_part(part[key], whole[key]) for key in part)
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) <= len(whole) and all(map(is_part, part, whole))
    return part == whole and type(part) is type(whole)


@settings(max_examples=25)
@given(objects, st.sampled_from([None, 2]))
def test_a_cut_at_any_byte_leaves_a_part_of_the_truth(value, indent):
    data = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    for cut in range(len(data)):
        part, whole = parse(data[:cut])
        assert not whole
        assert part is None or is_part(part, value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"a": 1, "b": [1, 2, 3', {"a": 1, "b": [1, 2]}),
        ('{"a": 1, "b": [1, 2, 3,', {"a": 1, "b": [1, 2, 3]}),
        ('{"a": {"b": "x", "c"', {"a": {"b": "x"}}),
        ('{"a": "tru', {}),
        ('{"a": true', {}),
        ('{"a": true,', {"a": True}),
        ('{"a": [], "b": {', {"a": [], "b": {}}),
        ("", None),
        ("not json", None),
        ("\0\0\0\0", None),
        ('{"a": 1}}}', {"a": 1}),
    ],
)
def test_the_readable_part_of_a_truncated_file(text, part):
    assert parse(text) == (part, False)


@pytest.mark.timeout(20)
def test_no_depth_of_nesting_is_too_much():
    assert not parse("[" * 100_000).whole
    assert not parse('{"a":' * 100_000).whole


def test_nan_and_infinity_are_numbers():
    value, whole = parse('{"loss": [NaN, Infinity, -Infinity]}')
    assert whole and math.isnan(value["loss"][0]) and value["loss"][1:] == [math.inf, -math.inf]


def one_line_each(value):
    """The layout of our observer's metrics.json and info.json."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value[key])}" for key in sorted(value)) + "\n}\n"


LAYOUTS = (
    lambda value: json.dumps(value, indent=2, sort_keys=True),
    lambda value: json.dumps(value, indent=0),
    one_line_each,
)


@given(objects, st.sampled_from(LAYOUTS))
def test_keys_are_found_in_every_layout(value, layout):
    found = JsonObject(layout(value).encode())
    assert found.whole
    assert sorted(found.keys(most=9)) == sorted(value)
    assert {key: found.get(key) for key in value} == value
    assert found.get("no such key") is None


@settings(max_examples=25)
@given(objects, st.sampled_from(LAYOUTS))
def test_a_cut_in_any_layout_leaves_a_part_of_the_truth(value, layout):
    data = layout(value).encode().rstrip()
    for cut in range(len(data)):
        found = JsonObject(data[:cut])
        assert not found.whole
        for key in value:
            part = found.get(key)
            assert part is None or is_part(part, value[key])


def test_another_layout_is_read_as_well():
    found = JsonObject(b'{"a": [1, 2], "b": {"a": 3}}')
    assert (found.whole, found.keys(most=9), found.get("a"), found.get("b")) == (True, ["a", "b"], [1, 2], {"a": 3})


def test_a_nested_key_is_not_mistaken_for_one_of_the_top():
    found = JsonObject(json.dumps({"a": {"token": 1}, "text": '\n  "token": 2'}, indent=2).encode())
    assert found.get("token") is None


def test_sacreds_encodings_become_plain():
    assert plain({"dtype": "float64", "py/object": "numpy.float64", "value": 3.25}) == 3.25
    assert plain({"dtype": "float64", "py/object": "numpy.ndarray", "values": [0.0, 1.0]}) == [0.0, 1.0]
    assert plain({"a": {"py/tuple": [1, {"py/tuple": [2]}]}}) == {"a": [1, [2]]}
    assert plain([{"py/id": 5}]) == [None]
    assert plain({"default_factory": {"py/type": "builtins.list"}, "k": [1], "py/object": "x"})["k"] == [1]

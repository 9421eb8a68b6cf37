"""PyMARL's helper."""

import pytest

from utils.dict2namedtuple import convert


def test_keys_become_fields_in_their_order():
    settings = convert({"b": 1, "a": [2]})
    assert (settings.b, settings.a) == (1, [2])
    assert tuple(settings) == (1, [2])
    assert convert({}) == ()
    with pytest.raises(ValueError, match="valid identifiers"):
        convert({"a b": 1})

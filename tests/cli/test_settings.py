"""Settings after `with`: what Sacred makes of them, or an error, and never code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacred.arg_parser import get_config_updates

from cli.settings import check_option, check_settings
from utils.errors import ConfigError

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(["lr", "env_args.a", "env_args.b"]), PLAIN, max_size=3))
def test_plain_settings_pass_and_are_sacreds(settings):
    words = [f"{key}={value!r}" for key, value in settings.items()]
    check_settings(words)
    updates, files = get_config_updates(words)
    assert files == []
    assert updates.get("lr") == settings.get("lr")


@given(st.lists(st.text(alphabet="ab.=[]{}()'\"py/reduct:1,e9 \x1b", max_size=40), max_size=3))
def test_sacred_reads_the_settings_that_pass(words):
    try:
        check_settings(words)
    except ConfigError:
        return
    assert get_config_updates(words)[1] == []


@pytest.mark.parametrize(
    "key", ["py/object", "py/reduce", "json://x", "$where", "a.b", "a=b", "", "\x1b[0m", "k" * 201]
)
@pytest.mark.parametrize("form", ["label={{{!r}: 1}}", "label=[1, ({{'a': [{{{!r}: 1}}]}},)]"])
def test_keys_that_would_be_obeyed_are_refused_at_any_depth(key, form):
    with pytest.raises(ConfigError, match="the key"):
        check_settings([form.format(key)])


@pytest.mark.parametrize(
    ("option", "good", "bad"),
    [
        ("-l", ["DEBUG", "30"], ["debug", "x", ""]),
        ("--capture", ["no", "fd"], ["x"]),
        ("-b", ["10", "0.5"], ["0", "-1", "nan", "inf", "x"]),
        ("-P", ["1", "-2.5"], ["x"]),
        ("-n", ["my run"], ["a\x1b[31m", "two\nlines"]),
    ],
)
def test_values_of_options(option, good, bad):
    for value in good:
        check_option(option, value)
    for value in bad:
        with pytest.raises(ConfigError, match="it must be"):
            check_option(option, value)

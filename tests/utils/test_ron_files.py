"""RON is read as enn-trainer writes it and as people write it, and refused with the place of the fault."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from utils.errors import ConfigError
from utils.files.ron_files import Struct, load_ron

WRITTEN = """#![enable(implicit_some)]
// a config
Config(
    version: 4, /* of the
    form */
    text: "a \\"b\\" \\u{e4}\\n", raw: r#"c "d" \\n"#, sign: 'x',
    numbers: [1, -2, 0x1F, 1_000, 0.5, .5, 1e-5, -1.5E3, inf],
    nested: (flag: true, other: Inner(none: None, some: Some(3), unit: Unit, empty: Empty(),),),
    pair: (1, "two"), map: {"Orbital Cannon": Entity(features: ["x",],), 3: []},
)
"""


def test_every_kind_of_value(tmp_path):
    path = tmp_path / "config.ron"
    path.write_text(WRITTEN)
    config = load_ron(path)
    assert (config.name, config["nested"].name, config["nested"]["other"].name) == ("Config", "", "Inner")
    assert config == {
        "version": 4,
        "text": 'a "b" ä\n',
        "raw": 'c "d" \\n',
        "sign": "x",
        "numbers": [1, -2, 31, 1000, 0.5, 0.5, 1e-5, -1500.0, float("inf")],
        "nested": {"flag": True, "other": {"none": None, "some": 3, "unit": {}, "empty": {}}},
        "pair": [1, "two"],
        "map": {"Orbital Cannon": {"features": ["x"]}, 3: []},
    }
    assert isinstance(config["nested"]["other"]["unit"], Struct) and config["map"]["Orbital Cannon"].name == "Entity"


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("A(\n  b: 1\n  c: 2)", "line 3, column 3", "expected ',' or '\\)', found 'c: 2\\)'"),
        ("A(b: 1, b: 2)", "line 1, column 9", "b is there twice"),
        ("A(b: )", "line 1, column 6", "expected a value, found '\\)'"),
        ("A(b: 1", "line 1, column 7", "found the end of the file"),
        ("A(b: 1) C", "line 1, column 9", "behind the end"),
        ("A(b: 1, 2)", "line 1, column 9", "the name of a field"),
        ('"\\q"', "line 1, column 5", "no escape sequence"),
        ("{[1]: 2}", "line 1, column 2", "no plain value"),
        pytest.param("[" * 100, "line 1, column 33", "too deeply", id="deep"),
        ("", "line 1, column 1", "the end of the file"),
    ],
)
def test_a_fault_has_its_place(tmp_path, text, place, problem):
    path = tmp_path / "config.ron"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"config.ron, {place}: invalid RON: .*{problem}"):
        load_ron(path)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.ron").write_bytes(b"A(b: \xe4)")
    with pytest.raises(ConfigError, match="not a UTF-8"):
        load_ron(tmp_path / "latin.ron")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_ron(tmp_path / "none.ron")


@given(text=st.text("A(): {}[],.\"\\'#r/*\n10x-e_u") | st.text(), start=st.integers(0, len(WRITTEN)))
def test_any_text_is_a_value_or_refused(tmp_path_factory, text, start):
    path = tmp_path_factory.getbasetemp() / "any.ron"
    path.write_text(WRITTEN[:start] + text, encoding="utf-8", errors="replace")
    try:
        load_ron(path)
    except ConfigError as error:
        assert "invalid RON" in str(error)

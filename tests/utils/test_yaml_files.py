"""Reading YAML: any text gives a mapping or one clear error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml


def test_values(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: 5e-4\nb: 1E3\nc: {d: [1, x], e: null}\nf: -.5e+2\ng: yes\nh: '5e-4'\n")
    assert load_yaml(path) == {
        "a": 5e-4,
        "b": 1000.0,
        "c": {"d": [1, "x"], "e": None},
        "f": -50.0,
        "g": True,
        "h": "5e-4",
    }
    path.write_text("# nothing\n")
    assert load_yaml(path) == {}
    path.write_text("a: 1\nb: x\na: 1\n")  # as a file of EPyMARL's
    assert load_yaml(path) == {"a": 1, "b": "x"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: [1,\nb: 2", r"a\.yaml, line 2, column 5: invalid YAML"),
        (b"a: 1\nb:\n  c: 2\n  c: 3\n", r"a\.yaml, line 4, column 3: .*'c' is written twice"),
        (b"1: x\n", "the key 1 is not a string"),
        (b"just text\n", "found a str"),
        (b"\xff\xfe\x00", "not a UTF-8 text file"),
        (b"a: 2001-13-45\n", "invalid YAML: month must be"),
        (b"[" * 5000, "nested too deeply"),
        (b"- a\n", "found a list"),
        (b"a: 1\n---\nb: 2\n", r"a\.yaml, line 2, column 1: .*another document"),
        (b"a: !!python/object/apply:os.getcwd []\n", r"a\.yaml, line 1, column 4: .*python/object/apply:os\.getcwd"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "not a UTF-8 text file"),
        (b"a: b\0c\n", "special characters are not allowed"),
        (b"a: 1\nb: !!bool maybe\n", "invalid YAML"),
        (b"a: !!int ''\n", "invalid YAML"),
        (b"a: !!timestamp soon\n", "invalid YAML"),
    ],
)
def test_errors_name_the_place(tmp_path, content, message):
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message) as error:
        load_yaml(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_yaml(tmp_path / "missing.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_yaml(tmp_path)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 16), st.sampled_from("eE"))
def test_numbers_in_exponent_form(tmp_path_factory, value, digits, letter):
    path = tmp_path_factory.getbasetemp() / "number.yaml"
    written = f"{value:.{digits}{letter}}"
    path.write_text(f"a: {written}\nb: [{written}]\n")
    assert load_yaml(path) == {"a": float(written), "b": [float(written)]}


TAGS = ["int", "float", "bool", "null", "timestamp", "binary", "set", "omap", "pairs", "map", "seq", "str"]
PIECES = [*"ab[]{}=-1", ": ", "\n", "  ", "- ", "? ", ", ", "&x ", "*x", "<<", "''", "|\n", "0x"]
PIECES += [f"!!{tag} " for tag in TAGS]


@given(
    st.one_of(
        st.text(),
        st.text(alphabet=st.sampled_from("ab:-[]{}!&*#|>'\"%@ \n\t1.e,?<="), max_size=60),
        st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
        st.lists(st.sampled_from(PIECES), max_size=4).map(lambda pieces: "a: " + "".join(pieces)),
    ).map(str.encode)
    | st.binary()
)
def test_any_text_is_a_mapping_or_an_error(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(text)
    try:
        assert isinstance(load_yaml(path), dict)
    except ConfigError as error:
        assert str(path) in str(error)

"""Whole configs and command lines of real keys with odd values: a checked config, or one ConfigError."""

import os
import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import check_config
from checks.options import declared
from checks.registries import REGISTRIES
from cli.arguments import parse_arguments
from cli.compose import compose_config
from utils.config.merging import config_names, default_config
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml
from utils.plain_values import escaped

pytestmark = pytest.mark.slow

# plugins are code by purpose, and would be run
KEYS = sorted({*declared(), "gama"} - {"plugins"})
ODD = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -1, 0, 2**63, 2**32, 1e300, -0.0, "../x", "/dev/zero", "\0", "\x1b[31m", "py/object"])
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([name for registry in REGISTRIES.values() for name in registry])
)
VALUES = st.recursive(
    ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
CONFIGS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)


@settings(max_examples=60)
@given(CONFIGS, st.sampled_from(["two_step", "matrix", "skirmish", "racing"]))
def test_a_file_of_odd_values(tmp_path_factory, config, environment):
    path = tmp_path_factory.getbasetemp() / "odd.yaml"
    path.write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8", errors="backslashreplace")
    try:
        composed = compose_config(str(path), environment)
        checked = check_config(composed.config, composed.config, composed.own_keys)
    except ConfigError as error:
        assert len(str(error)) < 3000
    else:
        assert set(checked) >= set(default_config())


SETTING_KEYS = st.sampled_from([*KEYS, "a.b", "env_args.seed", "env_args.py/reduce", ""])
WORDS = (
    st.tuples(SETTING_KEYS, VALUES.map(repr) | st.text()).map("=".join)
    | st.text(max_size=10)
    | st.sampled_from([*"with -u -l -i --resume=latest print_config x.pickle --config".split(), "lr=" + "(" * 500])
)


@settings(max_examples=200)
@given(st.lists(WORDS, max_size=6))
def test_any_command_line_is_understood_or_refused(words):
    try:
        parse_arguments(["--config=qmix", "--env-config=two_step", *words])
    except ConfigError as error:
        assert len(str(error)) < 3000


@given(st.text())
def test_nothing_that_is_shown_is_obeyed_by_a_terminal(text):
    assert all(character.isprintable() or character == "\n" for character in escaped(text))


LAUGHS = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
)
MERGES = "m0: &m0 {x: 1}\n" + "".join(f"m{i}: &m{i} {{<<: [{','.join([f'*m{i - 1}'] * 10)}]}}\n" for i in range(1, 12))
BOMBS = {
    "aliases": (LAUGHS, "too large a value"),
    "merges": (MERGES, "too large a value"),
    "long_text": ("a: &a " + "x" * 100_000 + "\nb: [" + "*a," * 5000 + "]\n", "too large a value"),
    "itself": ("env_args: &a {x: *a}\n", "inside itself"),
    "deep": ("env_args: " + "{a: " * 60 + "1" + "}" * 60, "nested too deeply"),
    "size": ("#" * 200_000, "longer than 131072 bytes"),
    "number": ("lr: " + "9" * 5000, "5000 characters long"),
    "sexagesimal": ("lr: 1" + ":59" * 20_000, "characters long"),
    "wide": ("t_max: 0x" + "f" * 40, "more than 64 bits"),
    "date": ("label: 2001-01-01", "is a date"),
    "bytes": ("label: !!binary aGVsbG8=", "is a bytes"),
    "long_key": ("k" * 900 + ": 1", "the key"),
    "escape": ('"\\x1b[31m": 1', "the key '\\x1b[31m'"),
    "dotted": ("env_args.seed: 1", "has a '.'"),
    "reserved": ("env_args: {py/object: os.system}", "'py/'"),
    "empty_key": ('"": 1', "is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BOMBS))
def test_bombs_are_refused_in_no_time(name, tmp_path):
    text, message = BOMBS[name]
    path = tmp_path / "bomb.yaml"
    path.write_text(text)
    started = time.process_time()
    with pytest.raises(ConfigError) as error:
        load_yaml(path)
    assert message in str(error.value)
    assert len(str(error.value)) < 500
    assert time.process_time() - started < 5


def test_pipes_devices_and_folders_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    os.mkdir(tmp_path / "folder.yaml")
    os.symlink("/dev/zero", tmp_path / "zero.yaml")
    for name in ("pipe", "folder", "zero"):
        with pytest.raises(ConfigError, match="no config file"):
            compose_config(str(tmp_path / f"{name}.yaml"), "two_step")
        with pytest.raises(ConfigError, match="not a regular file"):
            load_yaml(tmp_path / f"{name}.yaml")
    with pytest.raises(ConfigError, match="no config file"):
        compose_config("x" * 5000 + ".yaml", "two_step")


@pytest.mark.parametrize("family", ["algs", "envs"])
def test_our_own_configs_pass(family):
    for name in config_names(family):
        assert compose_config(*((name, "two_step") if family == "algs" else ("vdn", name)))

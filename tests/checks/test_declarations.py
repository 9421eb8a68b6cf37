"""The built-in parts read exactly their declared keys, and config/default.yaml holds exactly the shared ones."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from checks.epymarl_keys import OPTIONS as EPYMARLS
from checks.options import declared, readings
from utils.config.merging import default_config
from utils.config.options import SHARED

SRC = Path(__file__).resolve().parents[2] / "src"
# the user's bookkeeping; plugins and parameter files are read before there are arguments
# EPyMARL's set others
FOR_THE_USER = {"repeat_id", "label", "plugins", "parameter_file", *EPYMARLS}


def test_default_yaml_holds_exactly_the_shared_keys():
    declared_shared = {key for _, _, key, option in readings() if option is not None and option.default is SHARED}
    assert set(default_config()) == declared_shared
    own = {key for _, _, key, option in readings() if option is not None and option.default is not SHARED}
    assert not own & set(default_config())


def _read_in_source():
    """Keys that the source takes from a config or from arguments."""
    keys = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Attribute(
                    value=ast.Name(id="args" | "_args") | ast.Attribute(attr="args" | "_args"), attr=key
                ):
                    if not (isinstance(node.value, ast.Attribute) and getattr(node.value.value, "id", "") == "request"):
                        keys.add(key)
                case ast.Subscript(value=ast.Name(id="config"), slice=ast.Constant(value=str(key))):
                    keys.add(key)
                case ast.Call(
                    func=ast.Attribute(ast.Name(id="config"), "get"), args=[ast.Constant(value=str(key)), *_]
                ):
                    keys.add(key)
                case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id="args") | ast.Attribute(attr="args"), *_]):
                    pytest.fail(f"{path}, line {node.lineno}: another default")
    return keys


@pytest.mark.slow
def test_every_declared_key_is_read():
    """That every key which is read is declared, every run shows: a config has no others."""
    assert set(declared()) - _read_in_source() <= FOR_THE_USER


@pytest.mark.parametrize("key", sorted(default_config()))
def test_every_key_has_a_sentence(key):
    assert declared()[key].sentence


def test_declarations_load_neither_torch_nor_the_parts():
    code = "import sys; sys.path.insert(0, 'src'); from checks.options import declared; declared(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=SRC.parent, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "checks.options" in loaded
    assert not {"torch", "sacred", "gymnasium", "learners.base", "modules.mixers.qmix"} & loaded

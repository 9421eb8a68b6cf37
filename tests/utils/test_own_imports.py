"""Imports of our modules by PyMARL's names, rewritten; and the names of the wheel in the checkout."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from utils import own_imports
from utils.own_imports import rewritten
from utils.own_modules import NAMES, SOURCE


def is_own(module):
    return module.partition(".")[0] in NAMES


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from envs import REGISTRY", "from muster.envs import REGISTRY"),
        ("from  utils.errors\timport (a,\n b)", "from  muster.utils.errors\timport (a,\n b)"),
        ("from \\\n  envs import x", "from \\\n  muster.envs import x"),
        ("import os, envs", "import os, muster.envs as envs"),
        ("import modules.mixers.vdn", "import muster.modules.mixers.vdn, muster.modules as modules"),
        ("import run as r; import envs.lbf as e", "import muster.run as r; import muster.envs.lbf as e"),
        ('é = "ü"; from utils import x', 'é = "ü"; from muster.utils import x'),
        ("from .envs import x\nfrom envs_of_mine import y", "from .envs import x\nfrom envs_of_mine import y"),
        ("text = '''\nfrom envs import x\n'''", "text = '''\nfrom envs import x\n'''"),
    ],
)
def test_imports_of_ours_get_a_prefix_and_nothing_else_does(before, after):
    assert rewritten(before.encode(), "muster.", is_own).decode() == after


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
def test_files_of_other_editors_keep_their_encoding_and_line_ends(encoding):
    cookie = "# coding: latin-1\r\n" if encoding == "latin-1" else ""
    before, after = (f"{cookie}from {envs} import x; é = 'ü'; import {names}\r\n".encode(encoding)
                     for envs, names in (("envs", "utils"), ("muster.envs", "muster.utils as utils")))  # fmt: skip
    assert rewritten(before, "muster.", is_own) == after


@pytest.mark.slow
def test_our_sources_have_no_import_left_and_all_their_lines():
    for path in SOURCE.rglob("*.py"):
        before = path.read_bytes()
        after = rewritten(before, "muster.", is_own)
        assert after.count(b"\n") == before.count(b"\n")
        for node in ast.walk(ast.parse(after)):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert not is_own(node.module), path
            elif isinstance(node, ast.Import):
                assert not any(is_own(alias.name) for alias in node.names), path


def test_the_users_own_modules_come_before_ours_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.setattr(own_imports, "PREFIX", "muster.")
    (tmp_path / "utils.py").touch()
    (tmp_path / "modules" / "mixers").mkdir(parents=True)
    (tmp_path / "modules" / "mixers" / "x.py").touch()
    source = (
        b"import utils\nfrom utils.errors import y\nfrom modules.mixers.x import X\nfrom modules.mixers.vdn import V"
    )
    assert own_imports.rewritten_for_user(source, tmp_path).decode().splitlines() == [
        "import utils",
        "from muster.utils.errors import y",
        "from modules.mixers.x import X",
        "from muster.modules.mixers.vdn import V",
    ]


def test_the_names_of_the_wheel_are_the_same_modules_in_the_checkout():
    import muster

    assert muster.__version__
    assert importlib.import_module("muster.utils.errors") is importlib.import_module("utils.errors")
    from muster.envs import REGISTRY

    from envs import REGISTRY as OURS

    assert REGISTRY is OURS
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("muster.no_such_room")


def test_sacred_needs_no_pkg_resources(tmp_path):
    """setuptools 82 removed it."""
    (tmp_path / "pkg_resources.py").write_text("raise ImportError('removed')")
    code = f"""import sys
sys.path[:0] = [{str(tmp_path)!r}, {str(SOURCE)!r}]
from utils.old_sacred import let_sacred_be_imported
let_sacred_be_imported()
import sacred
from sacred.dependencies import PackageDependency
import yaml
print(PackageDependency.create(yaml), "pkg_resources" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("<PackageDependency: PyYAML=") and done.stdout.endswith("False\n")


def test_the_rooms_and_doors_are_the_folders(tmp_path):
    names = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert names - {"muster"} == NAMES
    assert {"envs", "utils", "main", "command"} <= NAMES and not Path(SOURCE, "__init__.py").exists()

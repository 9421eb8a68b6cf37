"""What a kernel's cache depends on: every file of ours that its compiled functions are made of."""

import ast
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba")

SRC = Path(__file__).resolve().parents[2] / "src"
PLAIN = (bool, int, float, str, tuple, np.ndarray, np.generic)
MODULES = sorted(
    ".".join(path.relative_to(SRC).with_suffix("").parts)
    for path in SRC.glob("envs/**/*.py")
    if "KERNEL = Kernel(" in path.read_text()
)


def is_compiled(function):
    return any(word in ast.unparse(one) for one in function.decorator_list for word in ("compiled", "register_jitable"))


def used_from_elsewhere(path):
    """The files of the constants and functions that the compiled functions of a file import."""
    tree = ast.parse(path.read_text())
    used = {
        node.id
        for function in tree.body
        if isinstance(function, ast.FunctionDef) and is_compiled(function)
        for statement in function.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module)
            for name in {alias.name for alias in node.names} & used:
                value = getattr(module, name)
                if isinstance(value, PLAIN) or callable(value):
                    yield Path(inspect.getfile(module))


@pytest.mark.parametrize("module", MODULES)
def test_a_change_of_any_file_compiles_again(module):
    kernel = importlib.import_module(module.removesuffix(".__init__")).KERNEL
    needed = {path for file in kernel.files for path in used_from_elsewhere(Path(file)) if SRC in path.parents}
    assert needed <= {Path(file) for file in kernel.files}

"""Imports of Muster's own modules by PyMARL's names, `from envs import REGISTRY`, where Muster is installed.

There they are `muster.envs` and so on. The build rewrites the imports of our own sources; those of the user's files are
rewritten when they are run. Lines keep their numbers.
"""

import ast
import io
import sys
import tokenize
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from utils.own_modules import NAMES, PREFIX, SOURCE


def rewritten(source: bytes, prefix: str, is_own: Callable[[str], bool]) -> bytes:
    """A file's source with `prefix` before the modules that it imports absolutely and of which `is_own` is true.

    `import envs.skirmish` binds `envs` afterwards, too.

    Raises:
        SyntaxError: it is not Python.
    """
    tree = ast.parse(source)
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    # columns are of UTF-8, and without its mark
    lines = source.decode(encoding).encode().splitlines(keepends=True)
    changes: list[tuple[int, int, int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module and is_own(node.module):
            # the module follows the word `from`, perhaps on a later line
            line, column = node.lineno - 1, node.col_offset + len("from")
            while not (rest := lines[line][column:].lstrip(b" \t\f")).rstrip(b"\\\r\n"):
                line, column = line + 1, 0
            column = len(lines[line]) - len(rest)
            changes.append((line, column, column, prefix))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if is_own(alias.name):
                    line, column = alias.lineno - 1, alias.col_offset
                    changes.append((line, column, *_import(alias, column, prefix)))
    for line, start, end, text in sorted(changes, reverse=True):
        lines[line] = lines[line][:start] + text.encode() + lines[line][end:]
    return b"".join(lines).decode().encode(encoding)


def _import(alias: ast.alias, column: int, prefix: str) -> tuple[int, str]:
    """What stands in place of `import NAME`: up to which column, and the text."""
    if alias.asname:
        return column, prefix
    room = alias.name.partition(".")[0]
    bound = f"{prefix}{room} as {room}"
    text = bound if room == alias.name else f"{prefix}{alias.name}, {bound}"
    return column + len(alias.name.encode()), text


class UserFile(SourceFileLoader):
    """Runs a file of the user's, in which our modules have the checkout's names."""

    def get_code(self, fullname: str) -> CodeType:
        # not cached: other programs that import the file would find it
        data = rewritten_for_user(self.get_data(self.path), Path(self.path).parent)
        return self.source_to_code(data, self.path)

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if sys.modules.get(module.__name__) is module:
            # other processes import the file without this loader, so what it defines travels to them whole
            import cloudpickle

            cloudpickle.register_pickle_by_value(module)


def rewritten_for_user(source: bytes, folder: Path) -> bytes:
    """The source of a file in this folder, whose own modules come first. In the checkout, the same."""
    return rewritten(source, PREFIX, lambda module: _means_ours(module, folder)) if PREFIX else source


def _means_ours(module: str, folder: Path) -> bool:
    if module.partition(".")[0] not in NAMES:
        return False
    theirs, ours = (_has(place, module) for place in (folder, SOURCE))
    return not theirs or (ours and "." in module)


def _has(folder: Path, module: str) -> bool:
    place = folder.joinpath(*module.split("."))
    return place.with_name(f"{place.name}.py").is_file() or (place / "__init__.py").is_file()


class _Finder:
    """Finds the modules that the user's modules import from beside them, while these are imported."""

    def __init__(self) -> None:
        self.folders: list[Path] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if self.folders else None
        if spec is None or type(spec.loader) is not SourceFileLoader or spec.origin is None:
            return None
        if not any(Path(spec.origin).is_relative_to(folder) for folder in self.folders):
            return None
        spec.loader = UserFile(name, spec.origin)
        return spec


_finder = _Finder()


@contextmanager
def with_our_names(plugin: str) -> Iterator[None]:
    """Within this, a plugin can be imported that imports our modules by PyMARL's names; without effect in the checkout.

    Args:
        plugin: the path of its file, or its module's name.
    """
    if not PREFIX:
        yield
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)  # type: ignore[arg-type] # its class need not be a MetaPathFinder
    _finder.folders.append(_folder_of(plugin))
    try:
        yield
    finally:
        _finder.folders.pop()


def _folder_of(plugin: str) -> Path:
    path = Path(plugin).resolve()
    if plugin.endswith(".py"):
        return path.parent
    if path.is_dir():
        return path
    spec = PathFinder.find_spec(plugin.partition(".")[0])
    if spec is None:
        return path
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    file = Path(spec.origin or plugin)
    # packages beside an installed module are not the plugin's
    return file if {"site-packages", "dist-packages"} & set(file.parts) else file.parent


def file_loader(name: str, path: Path) -> SourceFileLoader:
    """Loads the user's file at `path` as the module `name`."""
    return UserFile(name, str(path)) if PREFIX else SourceFileLoader(name, str(path))

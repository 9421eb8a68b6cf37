"""How the user's own files are run: their imports find the files beside them, and `.cuda()` needs no GPU."""

import ast
import builtins
import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from utils.own_imports import rewritten_for_user
from utils.own_modules import own_name

MARK = "__muster_plugin__"
TO_CARD = "__muster_to_card__"
# Muster's packages whose parts are registered
ROOMS = ("components", "controllers", "envs", "learners", "modules", "runners")
# what the run and all parts hand each other is of one class: forks have copies of these files
SHARED = ("components.episode_buffer",)


class UserCode(SourceFileLoader):
    """Runs one file of the user's.

    Args:
        plugin: path of the plugin that the file belongs to.
        folder: the plugin's, if it is one.
    """

    def __init__(self, name: str, path: str, plugin: str, folder: "OwnFolder | None" = None):
        super().__init__(name, path)
        self._plugin, self._folder = plugin, folder

    def get_code(self, fullname: str) -> CodeType:
        # not cached: other programs that import the file would find the changed code
        source = self.get_data(self.path)
        if self._folder is None:  # which finds our modules itself
            source = rewritten_for_user(source, Path(self.path).parent)
        tree = _CallsOfCuda().visit(ast.parse(source, self.path))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        _mark(module, self._plugin)
        vars(module)[TO_CARD] = to_card
        if self._folder is not None:
            if "__path__" in vars(module):
                self._folder.complete(module)
            vars(module)["__builtins__"] = {**vars(builtins), "__import__": self._folder.imported}
        super().exec_module(module)
        if self._folder is not None:
            self._folder.share_registry(module)


class _CallsOfCuda(ast.NodeTransformer):
    """`x.cuda(...)` becomes `to_card(x, ...)`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
            name = ast.copy_location(ast.Name(TO_CARD, ast.Load()), node.func)
            return ast.copy_location(ast.Call(name, [node.func.value, *node.args], node.keywords), node)
        return node


def to_card(part: Any, *args: Any, **kwargs: Any) -> Any:
    """`part.cuda(...)`; a tensor or network stays where it is if this machine has no GPU to move it to.

    Within a method of its own, `part` may be `super()`, or the class that it is called of.
    """
    torch = sys.modules.get("torch")
    if torch is not None and not torch.cuda.is_available():
        thing, method = part, getattr(type(part), "cuda", None)
        if isinstance(part, super):
            method = getattr(part, "cuda", None)
            thing, method = getattr(method, "__self__", None), getattr(method, "__func__", None)
        elif isinstance(part, type) and args:
            thing, method = args[0], getattr(part, "cuda", None)
        # one of its own does what it does
        plain = isinstance(thing, torch.Tensor | torch.nn.Module) and method in (
            torch.Tensor.cuda,
            torch.nn.Module.cuda,
        )
        # imported here, it would bring torch to processes of environments
        elsewhere = sys.modules.get(own_name("utils.tensors.redirected"))
        if plain and (elsewhere is None or not elsewhere.redirected.is_active()):
            return thing
    return part.cuda(*args, **kwargs)


class OwnFolder:
    """A folder of the user's as a package, and a finder of its modules.

    Its files import by names from the folder, as programs do: `modules.mixers.x` is its own `modules/mixers/x.py` if
    there is one, and Muster's otherwise. A package that Muster has, too (`modules.mixers`), is the folder's with all
    of Muster's that it lacks. The names in its `REGISTRY` are entered into Muster's.
    """

    def __init__(self, name: str, path: Path):
        self.name, self.path = name, path

    def load(self) -> ModuleType:
        """Import its `__init__.py`, and those of its packages with a registry of Muster's."""
        init = self.path / "__init__.py"
        spec = self._package(self.name, self.path)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.name] = module
        sys.meta_path.insert(0, self)
        try:
            if init.is_file():
                assert spec.loader is not None
                spec.loader.exec_module(module)
            _mark(module, str(self.path))
            for package in self.registering():
                self.imported(package)
        except BaseException:
            self.unload()
            raise
        return module

    def unload(self) -> None:
        sys.meta_path.remove(self)
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{self.name}.")]:
            del sys.modules[name]

    def registering(self) -> list[str]:
        """Its packages whose `__init__.py` may enter parts into a registry of Muster's."""
        inits = sorted(init for room in ROOMS for init in (self.path / room).rglob("__init__.py"))
        names = (".".join(init.parent.relative_to(self.path).parts) for init in inits if init.stat().st_size)
        return [name for name in names if hasattr(_of_muster(name), "REGISTRY")]

    def has(self, name: str) -> bool:
        """Whether a module of this name lies in the folder, and is its own matter."""
        if name in SHARED:
            return False
        place = self._place(name)
        return place.is_dir() or place.with_name(f"{place.name}.py").is_file()

    def imported(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Any = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Python's `__import__` for the folder's files."""
        if level:
            package = (globals or {}).get("__package__") or ""
            inner = importlib.util.resolve_name("." * level + name, package).removeprefix(self.name).removeprefix(".")
            if inner == "":
                return builtins.__import__(name, globals, locals, fromlist or (), level)
            name = inner
        top = name.partition(".")[0]
        if not self.has(top):
            if own_name(name) == name:
                return builtins.__import__(name, globals, locals, fromlist or (), 0)
            module = builtins.__import__(own_name(name), globals, locals, fromlist or ("",), 0)
            return module if fromlist else self._module(top)
        module = self._module(name)
        if not fromlist:
            return self._module(top)
        for wanted in fromlist:
            if wanted not in vars(module) and self.has(f"{name}.{wanted}"):
                self._module(f"{name}.{wanted}")
            elif not hasattr(module, wanted) and importlib.util.find_spec(own_name(name)) is not None:
                builtins.__import__(own_name(name), globals, locals, (wanted,), 0)
        return module

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(f"{self.name}.{name}" if self.has(name) else own_name(name))

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(f"{self.name}.") or not self.has(name.removeprefix(f"{self.name}.")):
            return None
        place = self._place(name.removeprefix(f"{self.name}."))
        if place.is_dir():
            return self._package(name, place)
        return self._file(name, place.with_name(f"{place.name}.py"))

    def _package(self, name: str, place: Path) -> ModuleSpec:
        if (place / "__init__.py").is_file():
            return self._file(name, place / "__init__.py", [str(place)])
        spec = ModuleSpec(name, _Bare(self), is_package=True)
        spec.submodule_search_locations = [str(place)]
        return spec

    def _file(self, name: str, file: Path, places: list[str] | None = None) -> ModuleSpec:
        loader = UserCode(name, str(file), str(self.path), self)
        spec = importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=places)
        assert spec is not None
        return spec

    def _place(self, name: str) -> Path:
        return self.path.joinpath(*name.split("."))

    def complete(self, module: ModuleType) -> None:
        """Let a package have what Muster's package of its name has, where the folder has nothing of that name."""
        name = module.__name__.removeprefix(self.name).removeprefix(".")
        theirs = _of_muster(name) if name else None

        def __getattr__(wanted: str) -> Any:
            if not wanted.startswith("__") and self.has(f"{name}.{wanted}".lstrip(".")):
                return importlib.import_module(f"{module.__name__}.{wanted}")
            if theirs is not None:
                return getattr(theirs, wanted)
            raise AttributeError(f"module {module.__name__!r} has no attribute {wanted!r}")

        vars(module)["__getattr__"] = __getattr__

    def share_registry(self, module: ModuleType) -> None:
        """Enter the parts of a package's own `REGISTRY` into Muster's, and let the package have Muster's."""
        own = vars(module).get("REGISTRY") if "__path__" in vars(module) else None
        name = module.__name__.removeprefix(self.name).removeprefix(".")
        theirs = getattr(_of_muster(name) if name else None, "REGISTRY", None)
        if theirs is not None and isinstance(own, dict) and own is not theirs:
            theirs.update(own)
            vars(module)["REGISTRY"] = theirs


class _Bare(Loader):
    """Loads a package of a folder that has no `__init__.py`."""

    def __init__(self, folder: OwnFolder):
        self._folder = folder

    def create_module(self, spec: ModuleSpec) -> None:
        """The usual one, which is empty."""

    def exec_module(self, module: ModuleType) -> None:
        _mark(module, str(self._folder.path))
        self._folder.complete(module)


def _of_muster(name: str) -> ModuleType | None:
    """The module that everyone else imports by this name, if there is one."""
    name = own_name(name)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise


def copies_of_shared(plugin: str) -> list[Path]:
    """The files of a folder of the user's in whose place its files import Muster's."""
    files = (Path(plugin, *name.split(".")).with_suffix(".py") for name in SHARED) if is_path(plugin) else ()
    return [file for file in files if file.is_file()]


def _mark(module: ModuleType, plugin: str) -> None:
    vars(module)[MARK] = plugin


def plugin_of(module: Any) -> str | None:
    """The path of the plugin that a module is part of, or None."""
    # getattr would load modules that load when they are asked for something, as torch's compiler
    return vars(module).get(MARK) if isinstance(module, ModuleType) else None


def importable(module_name: str, name: str) -> tuple[str, str]:
    """What another process imports as a plugin to find `name` of a module, and its name there, "inner.module.name"."""
    plugin = plugin_of(sys.modules[module_name])
    inner = module_name.partition(".")[2]
    return (plugin, f"{inner}.{name}".lstrip(".")) if plugin else (module_name, name)


def is_path(plugin: str) -> bool:
    """Whether a plugin is named by its path: a file, or a folder; else it is a module's name."""
    return plugin.endswith(".py") or _is_spelled_as_path(plugin) or lies_in(Path(), plugin)


def lies_in(folder: Path, plugin: str) -> bool:
    """Whether a folder has this plugin. A name alone may be a module's, too: its folder must be a package."""
    place = folder / plugin
    if plugin.endswith(".py"):
        return place.is_file()
    return place.is_dir() if _is_spelled_as_path(plugin) else (place / "__init__.py").is_file()


def _is_spelled_as_path(plugin: str) -> bool:
    return "/" in plugin or os.sep in plugin or plugin in (".", "..")

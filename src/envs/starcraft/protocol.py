"""The game's messages (package s2clientprotocol) for today's protobuf.

The package's generated Python is too old for protobuf 4 and later: it is refused, unless protobuf's slow parser in pure
Python is forced upon the whole process. But each generated file holds its message descriptions in serialised form, and
these any protobuf understands. They are read out of the files, without running these, and loaded into a pool of their
own; the modules made from it stand under the names that pysc2 and smac import.
"""

import ast
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

PACKAGE = "s2clientprotocol"


def install() -> None:
    """Make `import s2clientprotocol.sc2api_pb2` and the others work in this process. Does nothing the second time."""
    if f"{PACKAGE}.sc2api_pb2" in sys.modules:
        return
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"the package {PACKAGE} is not installed", name=PACKAGE)
    folder = Path(next(iter(spec.submodule_search_locations)))
    package = importlib.import_module(PACKAGE)
    for name, module in load(folder).items():
        sys.modules[f"{PACKAGE}.{name}"] = module
        setattr(package, name, module)


def load(folder: Path) -> dict[str, ModuleType]:
    """Modules with the messages and enums of every generated file `*_pb2.py` in a folder, by their names."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    files = {}
    for path in sorted(folder.glob("*_pb2.py")):
        file = descriptor_pb2.FileDescriptorProto.FromString(serialised_description(path))
        files[file.name] = (path.stem, file)
    pool, known = descriptor_pool.DescriptorPool(), set()

    def add(name: str) -> None:
        if name in known:
            return
        known.add(name)
        for other in files[name][1].dependency:
            add(other)
        pool.Add(files[name][1])

    for name in files:
        add(name)
    return {stem: _module(stem, pool.FindFileByName(name)) for name, (stem, _) in files.items()}


def serialised_description(path: Path) -> bytes:
    """The serialised `FileDescriptorProto` in a file that protobuf's compiler, of any version, has written."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if called == "AddSerializedFile" and node.args:
            return _literal(node.args[0])
        for keyword in node.keywords:
            if called == "FileDescriptor" and keyword.arg == "serialized_pb":
                return _literal(keyword.value)
    raise ImportError(f"{path.name} holds no serialised message descriptions", path=str(path))


def _literal(node: ast.AST) -> bytes:
    """Bytes, or text that the compiler's helper `_b` would turn into bytes."""
    if isinstance(node, ast.Call):
        node = node.args[0]
    value = ast.literal_eval(node)
    return value.encode("latin1") if isinstance(value, str) else value


def _module(name: str, file) -> ModuleType:
    from google.protobuf import message_factory
    from google.protobuf.internal import enum_type_wrapper

    module = ModuleType(f"{PACKAGE}.{name}")
    vars(module)["DESCRIPTOR"] = file
    for message, descriptor in file.message_types_by_name.items():
        setattr(module, message, message_factory.GetMessageClass(descriptor))
    for enum, descriptor in file.enum_types_by_name.items():
        setattr(module, enum, enum_type_wrapper.EnumTypeWrapper(descriptor))
        for value in descriptor.values:
            setattr(module, value.name, value.number)
    return module

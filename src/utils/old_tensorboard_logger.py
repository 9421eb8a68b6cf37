"""tensorboard-logger 0.1.0, which PyMARL's users import, with the packages of today.

Its message classes were generated for protobuf 3, which protobuf 4 and later refuse to import; the package
`tensorboard` has the same messages, generated for today, and lends them. And it imports scipy.misc, for images, which
is no longer in scipy, and a tensorflow that is installed, whole.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

NAME = "tensorboard_logger"


def let_tensorboard_logger_be_imported() -> None:
    """From now on `import tensorboard_logger` works in this process, by whatever file."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Stands before the usual finders, whose loader of this one package it wraps."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name) if name == NAME else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Eased(spec.loader)
        return spec


class _Eased:
    def __init__(self, loader: Any):
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        with _todays_packages():
            self._loader.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


@contextmanager
def _todays_packages() -> Iterator[None]:
    from tensorboard.compat import proto
    from tensorboard.compat.proto import event_pb2, summary_pb2  # noqa: F401 these become attributes of proto

    sys.modules.setdefault(f"{NAME}.tf_protobuf", proto)
    # None makes `import tensorflow` fail at once
    stand_ins = {"scipy": ModuleType("scipy"), "scipy.misc": ModuleType("scipy.misc"), "tensorflow": None}
    before = {name: sys.modules[name] for name in stand_ins if name in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]
        sys.modules.update(before)

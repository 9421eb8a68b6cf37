"""tensorboard-logger 0.1.0, which PyMARL's users import, with the packages of today.

Its message classes were generated for protobuf 3, which protobuf 4 and later refuse to import; the package
`tensorboard` has the same messages, generated for today, and lends them. And it imports scipy.misc, for images, which
is no longer in scipy, and a tensorflow that is installed, whole.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from utils.stand_ins import StandIns

NAME = "tensorboard_logger"


def let_tensorboard_logger_be_imported() -> None:
    """From now on `import tensorboard_logger` works in this process, by whatever file."""
    _STAND_IN.install()


def _is_package(name: str) -> bool | None:
    return True if name == NAME and PathFinder.find_spec(name) is not None else None


def _fill(module: ModuleType) -> None:
    spec = PathFinder.find_spec(NAME)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named '{NAME}'", name=NAME)
    vars(module).update(__file__=spec.origin, __path__=spec.submodule_search_locations)
    with _todays_packages():
        spec.loader.exec_module(module)


@contextmanager
def _todays_packages() -> Iterator[None]:
    from tensorboard.compat import proto
    from tensorboard.compat.proto import event_pb2, summary_pb2  # noqa: F401 these become attributes of proto

    sys.modules.setdefault(f"{NAME}.tf_protobuf", proto)
    # None makes `import tensorflow` fail at once
    stand_ins: dict[str, Any] = {name: ModuleType(name) for name in ("scipy", "scipy.misc")} | {"tensorflow": None}
    before = {name: sys.modules[name] for name in stand_ins if name in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]
        sys.modules.update(before)


_STAND_IN = StandIns((NAME,), _is_package, _fill, replace=True)

"""Keeping a package from importing another that it can do without, and telling what an import did not find."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def not_imported(name: str) -> Iterator[None]:
    """Within this, `import name` fails as if the package were missing. Without effect where it is imported already."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment] # what makes Python refuse the import
    try:
        yield
    finally:
        del sys.modules[name]


def is_absent(name: str, error: ModuleNotFoundError) -> bool:
    """Whether importing the module `name` did not find it, or a package that it is in; else it is there and lacks
    another one."""
    return error.name is not None and f"{name}.".startswith(f"{error.name}.")

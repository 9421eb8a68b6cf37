"""Keeping a package from importing another that it can do without."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def not_imported(name: str) -> Iterator[None]:
    """Within this, `import name` fails as if the package were missing. Without effect where it is imported already."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None
    try:
        yield
    finally:
        del sys.modules[name]

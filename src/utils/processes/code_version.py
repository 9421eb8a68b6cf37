"""Which code a checkpoint was written by."""

import functools
import platform
from importlib.metadata import PackageNotFoundError, version

from utils.own_modules import source_digest
from utils.plain_values import quoted

# those whose arithmetic a run consists of
PACKAGES = ("torch", "numpy", "numba")


@functools.cache
def code_version() -> dict[str, str]:
    """A digest of this program's source files, and the versions of Python and of the packages that compute."""
    versions = {"source": source_digest(), "python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "none"
    return versions


def differences(theirs: dict[str, str]) -> list[str]:
    """The differences from `theirs`, such as "torch 2.12.0 then, 2.13.0 now"."""
    ours = code_version()
    return [
        f"{name} {quoted(theirs.get(name))} then, {ours[name]} now" for name in ours if theirs.get(name) != ours[name]
    ]

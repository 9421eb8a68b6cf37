"""Names from outside, such as a web address, as paths that stay inside a folder."""

from pathlib import Path

from utils.errors import ConfigError


class OutsideResultsError(ConfigError):
    """A name leads out of the results folder."""


def inside(root: Path, *names: str | Path) -> Path:
    """Join names to `root`, follow links, and return the path if it is still below `root` (it need not exist).

    Raises:
        OutsideResultsError: it is not, or a name cannot be one (a NUL byte, links in a circle).
    """
    root = root.resolve()
    try:
        path = root.joinpath(*names).resolve()
    except (OSError, ValueError, RuntimeError):
        path = None
    if path is None or not path.is_relative_to(root):
        shown = "/".join(str(name) for name in names)
        raise OutsideResultsError(f"{shown!r} is not a path inside the results folder.")
    return path


def is_file_name(name: str) -> bool:
    """Whether `name` is one plain component of a path, as a run's token has to be."""
    return bool(name) and name not in (".", "..") and not any(c in name for c in "/\\\0") and len(name) < 256

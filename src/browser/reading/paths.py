"""Names from outside, such as a web address, as paths that stay inside a folder."""

import os
import stat
from pathlib import Path

from utils.errors import ConfigError


class OutsideResultsError(ConfigError):
    """A name leads out of the results folder, or over a link."""


def inside(root: Path, *names: str | Path) -> Path:
    """Join names to `root` and return the path if it is below `root` and no link is on the way (it need not exist).

    Links are refused, wherever they lead: results may come from others.

    Raises:
        OutsideResultsError: it is not, or a name cannot be one (a NUL byte, `..`).
    """
    root = root.resolve()
    path = root.joinpath(*names)
    if not path.is_relative_to(root) or ".." in path.relative_to(root).parts or _over_a_link(root, path):
        shown = "/".join(str(name) for name in names)
        raise OutsideResultsError(f"{shown[:300]!r} is not a path inside the results folder, or it contains a link.")
    return path


def _over_a_link(root: Path, path: Path) -> bool:
    """Whether a part of the path behind `root` is a link, or is unfit for a name."""
    current = str(root)
    for name in path.relative_to(root).parts:
        current = os.path.join(current, name)
        try:
            if stat.S_ISLNK(os.lstat(current).st_mode):
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, ValueError):
            return True
    return False


def is_file_name(name: str) -> bool:
    """Whether `name` is one plain component of a path, as a run's token must be."""
    return bool(name) and name not in (".", "..") and not any(c in name for c in "/\\\0") and len(name) < 256

"""The best episodes in a run's folder, `best_episodes/<name>/`: their records and arrays."""

from pathlib import Path
from typing import Any

import numpy as np

from records.layout import BEST_EPISODE
from records.recorded import json_mapping
from utils.errors import ConfigError
from utils.files.folders import replaced_by
from utils.files.npy_files import read_npy

MOST = 32  # of one run
LARGEST_ARRAY = 2**28  # bytes


def record_of(folder: Path) -> dict[str, Any]:
    """What `best_episode.json` says of the episode in a folder; {} if there is none.

    `name`, `least` (a number; the least is the best), `restart`, `t_env`, `test`, `env`, `env_args`, `seed`,
    `algorithm` (as replays have it).
    """
    content = json_mapping(_place(folder) / BEST_EPISODE)
    return content if type(content.get("least")) in (int, float) else {}


def array_of(folder: Path, field: str) -> np.ndarray | None:
    """An array of it, such as its `actions` `[L, n, 1]` or `q_values` `[L, n, A]`; None if it has none.

    Raises:
        ConfigError: it cannot be read.
    """
    path = _place(folder) / f"{field.replace('/', '.')}.npy"
    if not path.is_file():
        return None
    try:
        return read_npy(path, LARGEST_ARRAY)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None


def most_folders(folder: Path) -> bool:
    """Whether a folder of best episodes has no place for another one."""
    return folder.is_dir() and sum(not path.name.startswith(".") for path in folder.iterdir()) >= MOST


def _place(folder: Path) -> Path:
    # the process may have died while it replaced one
    return folder if folder.is_dir() else replaced_by(folder)

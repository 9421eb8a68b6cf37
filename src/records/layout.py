"""Where among the results a run has left something, and what it is called there."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.regular_files import read_regular

RUNS, SACRED = "runs", "sacred"
# folders of the results that have a subfolder for each run, named by its token
NAMED_BY_TOKEN = (RUNS, "models", "tb_logs", "replays")
# what a token is made of (`run_names.run_token`): nothing that leads out of a folder
RUN_NAME = re.compile(r"\w[\w.-]*")
# Sacred's info; of the family's runs some have a hundred megabytes
LARGEST = 2**30


def place_of_run(path: Path) -> tuple[Path, str, str] | None:
    """(folder of all results, `sacred` or another of its folders, id or token) of a path within a run's folder."""
    path = path.resolve() if path.name in ("", ".", "..") else path
    for folder in (path, *path.parents):
        if folder.parent.name in (SACRED, *NAMED_BY_TOKEN):
            return folder.parent.parent, folder.parent.name, folder.name
    return None


def json_mapping(path: Path) -> dict[str, Any]:
    """What a JSON file holds; {} if it is missing, is being written just now, or is none."""
    try:
        content = json.loads(read_regular(path, LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def token_in(info: dict[str, Any]) -> str | None:
    """The token that Sacred's `info` of a run tells; None if it tells none that is fit for a folder."""
    token = info.get("unique_token")
    return token if isinstance(token, str) and RUN_NAME.fullmatch(token) else None


def recorded_plugins(config: Mapping[str, Any]) -> list[str]:
    """The plugins that a run's recorded config names, which are imported only if the command line names them."""
    plugins = config.get("plugins") or []
    return [str(plugin) for plugin in (plugins if isinstance(plugins, list | tuple) else [plugins])]


def numbers_there(results: Path) -> str:
    """The end of a message about a run that is not there: the numbers of Sacred's, as " Sacred runs: 1-3, 7."."""
    folder = results / SACRED
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    numbers = sorted(int(name) for name in names if name.isascii() and name.isdigit() and len(name) < 10)
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return f" Sacred runs: {', '.join(texts)}." if texts else ""

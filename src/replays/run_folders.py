"""Finding a run among the results, by whatever a user calls it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.errors import ConfigError
from utils.nearest import suggestion

PARTS = ("models", "runs", "replays", "tb_logs")  # folders with one folder a token


@dataclass
class FoundRun:
    """A run: the folder of results that it is in, its token, its config as it ran, and Sacred's `info`."""

    results: Path
    token: str
    config: dict[str, Any]
    info: dict[str, Any]


def find_run(name: str, results: Path) -> FoundRun:
    """The run that `name` means.

    Args:
        name: "latest", the number of a Sacred run, a token, or a folder: sacred/<number>, models/<token>, runs/<token>.
        results: the folder to look in, if `name` is no folder itself.

    Raises:
        ConfigError: there is no such run, or Sacred has kept no config of it.
    """
    folder = Path(name)
    if folder.is_dir() and folder.resolve().parent.name in (*PARTS, "sacred"):
        folder = folder.resolve()
        results, name = folder.parent.parent, folder.name
        return _of_sacred(results, name) if folder.parent.name == "sacred" else _of_token(results, name)
    recorded = _recorded(results)
    if not recorded:
        raise ConfigError(f"{results}/sacred has no runs. Give another folder of results with --results.")
    if name == "latest":
        return _of_sacred(results, max(recorded, key=int))
    if name in recorded:
        return _of_sacred(results, name)
    return _of_token(results, name)


def _recorded(results: Path) -> list[str]:
    """Numbers of the Sacred runs that have told their token."""
    files = [path for path in (results / "sacred").glob("*/info.json") if path.parent.name.isdigit()]
    return [path.parent.name for path in files if "unique_token" in _json(path)]


def _of_sacred(results: Path, number: str) -> FoundRun:
    folder = results / "sacred" / number
    info = _json(folder / "info.json")
    if "unique_token" not in info:
        raise ConfigError(f"{folder}: it is no folder of a run, or the run has not begun yet (info.json has no token).")
    config = _json(folder / "config.json")
    if not config:
        raise ConfigError(f"{folder}: config.json is missing, so the run cannot be played.")
    return FoundRun(results, info["unique_token"], config, info)


def _of_token(results: Path, token: str) -> FoundRun:
    tokens = {_json(results / "sacred" / number / "info.json")["unique_token"]: number for number in _recorded(results)}
    if token not in tokens:
        if any((results / part / token).is_dir() for part in PARTS):
            raise ConfigError(
                f"{token}: Sacred has no record of this run in {results}/sacred, so its config is unknown."
            )
        raise ConfigError(f"There is no run '{token}' in {results}.{suggestion(token, [*tokens, 'latest'], limit=3)}")
    return _of_sacred(results, tokens[token])


def _json(path: Path) -> dict[str, Any]:
    """What the file holds; {} if it is missing, or being written just now."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}

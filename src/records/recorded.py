"""The facts about a recorded run in its files, as far as they can be read and believed."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from records.layout import CHECKPOINTS, MANIFEST, RUNS, SACRED
from records.limits import LARGEST_JSON
from records.tokens import is_token
from utils.files.regular_files import read_regular


def json_mapping(path: Path) -> dict[str, Any]:
    """The object in a JSON file; {} if the file is missing, too large, being written just now, or holds no object."""
    return _read(path)[0]


def problem_of_json(path: Path) -> str:
    """Why `json_mapping` has nothing of a file, such as "is missing", for a sentence about it; else empty."""
    return _read(path)[1]


def _read(path: Path) -> tuple[dict[str, Any], str]:
    try:
        content = json.loads(read_regular(path, LARGEST_JSON[path.name]))
    except FileNotFoundError:
        return {}, "is missing"
    except OSError as error:
        return {}, f"cannot be read ({error.strerror})"
    except ValueError:
        return {}, "is not JSON: it is damaged, or was being written when the run ended"
    except RecursionError:
        return {}, "is nested too deep"
    if not isinstance(content, dict) or not content:
        return {}, "is empty" if content == {} else "holds no mapping"
    return content, ""


def token_in(info: Mapping[str, Any]) -> str | None:
    """The token in Sacred's `info` of a run; None unless it is fit for a folder."""
    token = info.get("unique_token")
    return token if is_token(token) else None


def sacred_numbers(results: Path) -> list[int]:
    """The numbers of Sacred's runs, ascending."""
    folder = results / SACRED
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(name) for name in names if name.isascii() and name.isdigit() and len(name) < 10)


def sacred_time(folder: Path) -> float:
    """When a Sacred run gave its last sign of life: seconds since the epoch; 0 if its record does not say."""
    record = json_mapping(folder / "run.json")
    for key in ("heartbeat", "start_time"):
        try:
            return (
                datetime.fromisoformat(record[key]).replace(tzinfo=UTC).timestamp()
            )  # Sacred writes UTC without a zone
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
    return 0.0


def manifests(checkpoints: Path) -> dict[int, dict[str, Any]]:
    """The manifests of the checkpoints in a folder, by step, the newest first; {} for one that cannot be read."""
    if checkpoints.is_symlink() or not checkpoints.is_dir():
        return {}
    steps = [int(path.name) for path in checkpoints.iterdir() if path.name.isdecimal() and not path.is_symlink()]
    return {step: json_mapping(checkpoints / str(step) / MANIFEST) for step in sorted(steps, reverse=True)}


def newest_step(results: Path, token: str) -> int | None:
    """The step of a run's newest checkpoint, from which it would be resumed; None without one."""
    return next((step for step, manifest in manifests(results / RUNS / token / CHECKPOINTS).items() if manifest), None)


def all_manifests(results: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(token, manifest) of every checkpoint of every run, those included that a killed run had not yet put in place."""
    runs = results / RUNS
    for run in runs.iterdir() if runs.is_dir() else []:
        checkpoints = run / CHECKPOINTS
        if not is_token(run.name) or run.is_symlink() or checkpoints.is_symlink() or not checkpoints.is_dir():
            continue
        for path in checkpoints.iterdir():
            if not path.is_symlink() and (manifest := json_mapping(path / MANIFEST)):
                yield run.name, manifest

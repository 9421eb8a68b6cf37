"""Finding a run among the results, by whatever a user calls it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from records.layout import NAMED_BY_TOKEN, SACRED, json_mapping, numbers_there, place_of_run, token_in
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown


@dataclass
class FoundRun:
    """A run: the folder of results that it is in, its token, its config as it ran, and Sacred's `info` (or {})."""

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
        ConfigError: there is no such run, or neither Sacred nor a checkpoint has kept its config.
    """
    folder = Path(name)
    place = place_of_run(folder) if folder.is_dir() else None
    if place is not None:
        results, family, name = place
        return _of_sacred(results, name) if family == SACRED else _of_token(results, name)
    recorded = _recorded(results)
    if name == "latest":
        trained = [number for number in recorded if not _only_played(results, number)]
        return _of_sacred(results, max(trained, key=int)) if trained else _of_token(results, _newest(results))
    if name in recorded:
        return _of_sacred(results, name)
    return _of_token(results, name)


def _recorded(results: Path) -> list[str]:
    """Numbers of the Sacred runs that have told their token."""
    files = [path for path in (results / "sacred").glob("*/info.json") if path.parent.name.isdigit()]
    return [path.parent.name for path in files if token_in(json_mapping(path))]


def _only_played(results: Path, number: str) -> bool:
    """Whether the run was an evaluation of another one, and has no models of its own."""
    return json_mapping(results / SACRED / number / "config.json").get("evaluate") is True


def _of_sacred(results: Path, number: str) -> FoundRun:
    folder = results / "sacred" / number
    info = json_mapping(folder / "info.json")
    token = token_in(info)
    if token is None:
        raise ConfigError(f"{folder}: it is no folder of a run, or the run has not begun yet (info.json has no token).")
    config = json_mapping(folder / "config.json")
    if not config:
        raise ConfigError(f"{folder}: config.json is missing, so the run cannot be played.")
    return FoundRun(results, token, config, info)


def _of_token(results: Path, token: str) -> FoundRun:
    tokens = {token_in(json_mapping(results / SACRED / n / "info.json")): n for n in _recorded(results)}
    if token in tokens:
        return _of_sacred(results, tokens[token])
    for manifest in manifests(results / "runs" / token / "checkpoints").values():
        if isinstance(manifest.get("config"), dict):
            return FoundRun(results, token, manifest["config"], {})
    if any((results / part / token).is_dir() for part in NAMED_BY_TOKEN):
        raise ConfigError(
            f"{token}: neither Sacred, in {results}/sacred, nor a checkpoint has a record of this run, "
            "so its config is unknown."
        )
    known = [*tokens, *_unobserved(results)]
    if not known:
        raise ConfigError(f"{results} has no runs. Give another folder of results with --results.")
    hint = numbers_there(results)
    if not (token.isdigit() and hint):
        hint = suggestion(token, [*known, "latest"], limit=3) + hint
    raise ConfigError(f"There is no run '{shown(token)}' in {results}.{hint}")


def _unobserved(results: Path) -> list[str]:
    """Tokens of the runs that have written checkpoints."""
    return sorted({path.parent.parent.parent.name for path in (results / "runs").glob("*/checkpoints/*/manifest.json")})


def _newest(results: Path) -> str:
    """The token of the run that has written the newest checkpoint."""
    files = list((results / "runs").glob("*/checkpoints/*/manifest.json"))
    if not files:
        raise ConfigError(f"{results} has no runs. Give another folder of results with --results.")
    return max(files, key=lambda path: path.stat().st_mtime).parent.parent.parent.name


def manifests(checkpoints: Path) -> dict[int, dict[str, Any]]:
    """What the checkpoints in a folder tell of themselves, by step, the newest first; {} for what cannot be read."""
    if checkpoints.is_symlink() or not checkpoints.is_dir():
        return {}
    steps = [int(path.name) for path in checkpoints.iterdir() if path.name.isdecimal() and not path.is_symlink()]
    return {step: json_mapping(checkpoints / str(step) / "manifest.json") for step in sorted(steps, reverse=True)}

"""Runs that left no record with Sacred: what their folder `runs/<token>/` says."""

import re
from datetime import UTC, datetime
from pathlib import Path

from browser.records.configs import flatten
from browser.records.files import ResultsFiles
from browser.records.json_files import parse, plain
from browser.records.record import Artifact, Run
from browser.records.scan import entries_of, subfolders

# <name>_seed<seed>_<map>_<date>_<time>, the time of the machine's own time zone
_TOKEN = re.compile(
    r"(?P<name>.+?)_seed(?P<seed>\d+)_(?P<map>.*)_(?P<time>\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d)(-(?P<fraction>\d{1,6}))?"
)


def log_path(token: str) -> tuple[str, str, str]:
    """Where a token's metric log is, below the results folder."""
    return "runs", token, "metrics.csv"


def made_at(token: str) -> datetime | None:
    """When a token was made, UTC, if its clock was in this machine's time zone; None if it has no time in it."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        return None
    try:
        time = datetime.strptime(f"{match['time']}-{match['fraction'] or 0}", "%Y-%m-%d_%H-%M-%S-%f")
        return time.astimezone(UTC)
    except (ValueError, OverflowError, OSError):  # a date that there is not
        return None


def run_of_token(files: ResultsFiles, token: str) -> Run:
    """A run from its folder runs/<token>: config.json there if there is one, else what the token's parts say."""
    problems = ["Sacred has no record of this run."]
    config: dict = {}
    started = None
    if match := _TOKEN.fullmatch(token):
        config = {"name": match["name"], "seed": int(match["seed"]), "env_args.map_name": match["map"]}
        started = made_at(token)
    try:
        value = parse(files.read("runs", token, "config.json")).value
        config = flatten(plain(value))[0] if isinstance(value, dict) else config
    except OSError:
        problems.append("Name, seed and map are those in its token.")
    problems += filter(None, (files.problem("runs", token, "config.json"), files.problem(*log_path(token))))
    stamp = files.stamp(*log_path(token))
    heartbeat = datetime.fromtimestamp(stamp[1] / 1e9, UTC) if stamp else None
    return Run(
        id=f"runs/{token}", config=config, started=started, heartbeat=heartbeat, token=token, problems=tuple(problems)
    )


def artifacts_of_token(root: Path, token: str) -> list[Artifact]:
    """Models, checkpoints, replays and TensorBoard events of a token, in this order, by step or name."""
    found = []
    for kind, parts in (("model", ("models", token)), ("checkpoint", ("runs", token, "checkpoints"))):
        names = [name for name in subfolders(root, *parts) if name.isdecimal() and len(name) < 19]
        found += [Artifact(kind, name, Path(*parts, name), int(name)) for name in sorted(names, key=int)]
    replays = [entry.name for entry in entries_of(root, "replays", token) if entry.name[0] != "."]
    found += [Artifact("replay", name, Path("replays", token, name)) for name in replays]
    if token in subfolders(root, "tb_logs"):
        found.append(Artifact("tensorboard", token, Path("tb_logs", token)))
    return found


def manifest(files: ResultsFiles, checkpoint: Artifact) -> dict:
    """A checkpoint's manifest.json, as far as it can be read; empty if it cannot."""
    try:
        value = parse(files.read(checkpoint.path, "manifest.json")).value
    except OSError:
        return {}
    return value if isinstance(value, dict) else {}

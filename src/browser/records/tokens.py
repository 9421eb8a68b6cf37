"""Runs that left no record with Sacred: what their folder `runs/<token>/` tells."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

from browser.records.configs import flatten
from browser.records.json_files import parse, plain
from browser.records.record import Artifact, Run
from browser.records.scan import subfolders

# <name>_seed<seed>_<map>_<date>_<time>, the time of the machine's own time zone
_TOKEN = re.compile(r"(?P<name>.+?)_seed(?P<seed>\d+)_(?P<map>.*)_(?P<time>\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d)(-\d+)?")


def run_of_token(root: Path, token: str) -> Run:
    """A run from its folder below `root`/runs: config.json there if there is one, else what the token's parts say."""
    folder = root / "runs" / token
    problems = ["Sacred has no record of this run."]
    config: dict = {}
    started = None
    if match := _TOKEN.fullmatch(token):
        config = {"name": match["name"], "seed": int(match["seed"]), "env_args.map_name": match["map"]}
        started = datetime.strptime(match["time"], "%Y-%m-%d_%H-%M-%S").astimezone(UTC)
    try:
        value = parse((folder / "config.json").read_bytes()).value
        config = flatten(plain(value)) if isinstance(value, dict) else config
    except OSError:
        problems.append("Name, seed and map are those in its token.")
    try:
        heartbeat = datetime.fromtimestamp(os.stat(folder / "metrics.csv").st_mtime, UTC)
    except OSError:
        heartbeat = None
    return Run(
        id=f"runs/{token}", config=config, started=started, heartbeat=heartbeat, token=token, problems=tuple(problems)
    )


def artifacts_of_token(root: Path, token: str) -> list[Artifact]:
    """Models, checkpoints, replays and TensorBoard events of a token, in this order, by step or name."""
    found = []
    for kind, parts in (("model", ("models", token)), ("checkpoint", ("runs", token, "checkpoints"))):
        names = [name for name in subfolders(root.joinpath(*parts)) if name.isdecimal()]
        found += [Artifact(kind, name, Path(*parts, name), int(name)) for name in sorted(names, key=int)]
    try:
        with os.scandir(root / "replays" / token) as listing:
            replays = sorted(entry.name for entry in listing if entry.name[0] != ".")
    except OSError:
        replays = []
    found += [Artifact("replay", name, Path("replays", token, name)) for name in replays]
    if (root / "tb_logs" / token).is_dir():
        found.append(Artifact("tensorboard", token, Path("tb_logs", token)))
    return found


def manifest(root: Path, checkpoint: Artifact) -> dict:
    """A checkpoint's manifest.json, as far as it can be read; empty if it cannot."""
    try:
        value = parse((root / checkpoint.path / "manifest.json").read_bytes()).value
    except OSError:
        return {}
    return value if isinstance(value, dict) else {}

"""Runs that left no record with Sacred: what their folder `runs/<token>/` says."""

from datetime import UTC, datetime
from pathlib import Path

from browser.reading.configs import flatten
from browser.reading.files import ResultsFiles
from browser.reading.json_files import parse, plain
from browser.reading.record import Artifact, Run
from browser.reading.scan import entries_of, subfolders
from records.layout import CHECKPOINTS, DIAGNOSTICS, MANIFEST, METRICS, MODELS, REPLAYS, RUNS, TB_LOGS
from records.tokens import parts_of


def log_path(token: str) -> tuple[str, str, str]:
    """Where a token's metric log is, below the results folder."""
    return RUNS, token, METRICS


def diagnostics_path(token: str) -> tuple[str, str, str]:
    """Where a token's log of diagnostics is, below the results folder."""
    return RUNS, token, DIAGNOSTICS


def run_of_token(files: ResultsFiles, token: str) -> Run:
    """A run from its folder runs/<token>: config.json there if there is one, else what the token's parts say."""
    problems = ["Sacred has no record of this run."]
    config: dict = {}
    started = None
    if parts := parts_of(token):
        config = {"name": parts.name, "seed": parts.seed, "env_args.map_name": parts.map_name}
        started = parts.made and parts.made.astimezone(UTC)
    try:
        value = parse(files.read(RUNS, token, "config.json")).value
        config = flatten(plain(value))[0] if isinstance(value, dict) else config
    except OSError:
        problems.append("Name, seed and map are those in its token.")
    problems += filter(None, (files.problem(RUNS, token, "config.json"), files.problem(*log_path(token))))
    stamp = files.stamp(*log_path(token))
    heartbeat = datetime.fromtimestamp(stamp[1] / 1e9, UTC) if stamp else None
    return Run(
        id=f"runs/{token}", config=config, started=started, heartbeat=heartbeat, token=token, problems=tuple(problems)
    )


def artifacts_of_token(root: Path, token: str) -> list[Artifact]:
    """Models, checkpoints, replays and TensorBoard events of a token, in this order, by step or name."""
    found = []
    for kind, parts in (("model", (MODELS, token)), ("checkpoint", (RUNS, token, CHECKPOINTS))):
        names = [name for name in subfolders(root, *parts) if name.isdecimal() and len(name) < 19]
        found += [Artifact(kind, name, Path(*parts, name), int(name)) for name in sorted(names, key=int)]
    replays = [entry.name for entry in entries_of(root, REPLAYS, token) if entry.name[0] != "."]
    found += [Artifact("replay", name, Path(REPLAYS, token, name)) for name in replays]
    if token in subfolders(root, TB_LOGS):
        found.append(Artifact("tensorboard", token, Path(TB_LOGS, token)))
    return found


def manifest(files: ResultsFiles, checkpoint: Artifact) -> dict:
    """A checkpoint's manifest.json, as far as it can be read; empty if it cannot."""
    try:
        value = parse(files.read(checkpoint.path, MANIFEST)).value
    except OSError:
        return {}
    return value if isinstance(value, dict) else {}

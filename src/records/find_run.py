"""Finding a run among the results, by any of its names: for --resume, --evaluate and watch.py."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from records.layout import CHECKPOINTS, MODELS, NAMED_BY_TOKEN, RUNS, SACRED, place_of_run
from records.recorded import (
    all_manifests,
    json_mapping,
    manifests,
    problem_of_json,
    sacred_numbers,
    sacred_time,
    token_in,
)
from records.tokens import is_token
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

LATEST = "latest"
ELSEWHERE = " Another folder is named by --results=FOLDER or, of main.py, local_results_path=FOLDER."


@dataclass(frozen=True)
class FoundRun:
    """A run: the folder of results that it is in, its name, and the Sacred run that it was named by, if by one."""

    results: Path
    token: str
    sacred_id: str | None = None

    @property
    def folder(self) -> Path:
        """Its own folder, runs/<token>."""
        return self.results / RUNS / self.token

    @property
    def models(self) -> Path:
        """The folder of its models."""
        return self.results / MODELS / self.token

    def config(self) -> dict[str, Any]:
        """Its config as it ran: Sacred's, else that of its newest checkpoint.

        Raises:
            ConfigError: neither has kept it.
        """
        record = self._record()
        if record is not None:
            config = json_mapping(record / "config.json")
            if not config:
                problem = problem_of_json(record / "config.json")
                raise ConfigError(f"{record}: config.json {problem}, so the run cannot be played.")
            return with_new_names(config, recorded=True)
        for manifest in manifests(self.folder / CHECKPOINTS).values():
            if isinstance(manifest.get("config"), dict):
                return with_new_names(manifest["config"], recorded=True)
        raise ConfigError(
            f"{self.token}: neither Sacred, in {self.results / SACRED}, nor a checkpoint has a record of this run, "
            "so its config is unknown."
        )

    def info(self) -> dict[str, Any]:
        """Sacred's `info` of the run, or {}."""
        record = self._record()
        return {} if record is None else json_mapping(record / "info.json")

    def _record(self) -> Path | None:
        """Sacred's folder of the run: the one it was named by, else the newest of its sessions."""
        if self.sacred_id is not None:
            return self.results / SACRED / self.sacred_id
        return _record_of(self.results, self.token)


def find_run(name: str, results: str | Path) -> FoundRun:
    """The run that `name` means.

    Args:
        name: "latest": the training run that was active last (`latest_run`); the number of a Sacred run; a token; or
            a path in a folder of the run: sacred/<number>, runs/<token>, models/<token>, ...
        results: the folder of all results, in which numbers and tokens are looked up.

    Raises:
        ConfigError: there is no such run; the message has the nearest names.
    """
    results, path = Path(results), Path(name)
    if name == LATEST:
        return latest_run(results)
    if is_token(name):  # no path
        if os.path.isdir(results / SACRED / name):  # unlike Path.is_dir, False for a name that is too long, too
            return _of_sacred(results, name)
        if any(os.path.isdir(results / family / name) for family in NAMED_BY_TOKEN) or _record_of(results, name):
            return FoundRun(results, name)
    if os.path.isdir(path):
        return _at(path)
    raise ConfigError(_unknown(name, results))


def latest_run(results: Path) -> FoundRun:
    """The training run that was active last, by Sacred's heartbeats and the times of checkpoints.

    Evaluations do not count. Of Sacred runs without a time the one with the greatest number counts.
    """
    found: list[tuple[float, int, str]] = []
    for token, manifest in all_manifests(results):
        time = manifest.get("time")
        found.append((time if isinstance(time, int | float) else 0.0, -1, token))
    found += [(sacred_time(results / SACRED / str(n)), n, "") for n in sacred_numbers(results)]
    for _, number, of_checkpoint in sorted(found, reverse=True):
        if of_checkpoint:
            return FoundRun(results, of_checkpoint)
        folder = results / SACRED / str(number)
        of_sacred = token_in(json_mapping(folder / "info.json"))
        if of_sacred is not None and json_mapping(folder / "config.json").get("evaluate") is not True:
            return FoundRun(results, of_sacred, str(number))
    raise ConfigError(f"{results} has no run that trained.{ELSEWHERE}")


def _record_of(results: Path, token: str) -> Path | None:
    """Sacred's folder of the newest session of a run."""
    folders = (results / SACRED / str(number) for number in reversed(sacred_numbers(results)))
    return next((folder for folder in folders if token_in(json_mapping(folder / "info.json")) == token), None)


def _at(path: Path) -> FoundRun:
    """The run that a folder belongs to."""
    place = place_of_run(path)
    if place is None:
        raise ConfigError(
            f"{path.resolve()} is not the folder of a run, such as results/{RUNS}/<name of the run> or "
            f"results/{SACRED}/3."
        )
    results, family, name = place
    return _of_sacred(results, name) if family == SACRED else FoundRun(results, name)


def _of_sacred(results: Path, number: str) -> FoundRun:
    """By Sacred's info.json or, before Sacred has written that, by the run's checkpoints."""
    folder = results / SACRED / number
    token = token_in(json_mapping(folder / "info.json"))
    if token is None:
        found = (token for token, manifest in all_manifests(results) if str(manifest.get("sacred_id")) == number)
        token = next(found, None)
    if token is None:
        problem = problem_of_json(folder / "info.json") or "has no token"
        raise ConfigError(
            f"{folder} is not the folder of a run, or the run has not started yet: info.json {problem}, and no "
            "checkpoint belongs to this run."
        )
    return FoundRun(results, token, number)


def _unknown(name: str, results: Path) -> str:
    """The message about a name that nothing has, with the nearest ones and the numbers of Sacred's runs."""
    folders = [results / family for family in NAMED_BY_TOKEN]
    tokens = {path.name for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_dir()}
    numbers = sacred_numbers(results)
    recorded = (token_in(json_mapping(results / SACRED / str(number) / "info.json")) for number in numbers)
    tokens.update(filter(None, recorded))
    if not tokens and not numbers:
        return f"There is no run '{quoted(name)}' in {results}, which has no runs.{ELSEWHERE}"
    hint = f" Sacred runs: {_ranges(numbers)}." if numbers else ""
    if not (name.isdigit() and hint):
        hint = suggestion(name, sorted([*tokens, LATEST]), limit=3) + hint
    return f"There is no run '{quoted(name)}' in {results}.{hint}"


def _ranges(numbers: list[int]) -> str:
    """Ascending numbers as "1-3, 7"."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)

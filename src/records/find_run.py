"""Finding a run among the results, by any of its names: for --resume, --evaluate and watch.py."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from records.layout import CHECKPOINTS, CONFIG, MODELS, NAMED_BY_TOKEN, RUNS, SACRED, place_of_run
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
from utils.config.merging import CONFIG_DIR
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError
from utils.nearest import did_you_mean, suggestion
from utils.plain_values import quoted

LATEST = "latest"
# the trained models that come with Muster, a folder for each name
SHIPPED = CONFIG_DIR.parent / "docs" / MODELS
ELSEWHERE = " Another folder is named by --results=FOLDER or, of main.py, local_results_path=FOLDER."


@dataclass(frozen=True)
class FoundRun:
    """A run: the folder of results that it is in, its name, and the Sacred run that it was named by, if by one.

    `given`: the folder of models and their config that is all there is of the run; it may be anywhere, and what is
    made of it goes to `results`.
    """

    results: Path
    token: str
    sacred_id: str | None = None
    given: Path | None = None

    @property
    def folder(self) -> Path:
        """Its own folder, runs/<token>."""
        return self.given or self.results / RUNS / self.token

    @property
    def models(self) -> Path:
        """The folder of its models."""
        return self.given or self.results / MODELS / self.token

    def config(self) -> dict[str, Any]:
        """Its config as it ran: Sacred's, else that of its newest checkpoint, else that beside its models.

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
        if config := json_mapping(self.models / CONFIG):
            return with_new_names(config, recorded=True)
        raise ConfigError(
            f"{self.token}: neither Sacred, in {self.results / SACRED}, nor a checkpoint has a record of this run, "
            f"and there is no {self.models / CONFIG}, so its config is unknown."
        )

    def info(self) -> dict[str, Any]:
        """Sacred's `info` of the run, or {}."""
        record = self._record()
        return {} if record is None else json_mapping(record / "info.json")

    def _record(self) -> Path | None:
        """Sacred's folder of the run: the one it was named by, else the newest of its sessions."""
        if self.given is not None:
            return None
        if self.sacred_id is not None:
            return self.results / SACRED / self.sacred_id
        return _record_of(self.results, self.token)


def find_run(name: str, results: str | Path) -> FoundRun:
    """The run that `name` means.

    Args:
        name: "latest": the training run that was active last (`latest_run`); the number of a Sacred run; a token;
            a path in a folder of the run: sacred/<number>, runs/<token>, models/<token>, ...; the path of a folder of
            models with their config; or, if there is no such run, a trained model that comes with Muster.
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
        return _at(path, results)
    if (given := shipped_model(name)) is not None:
        return FoundRun(results, name, given=given)
    raise ConfigError(_unknown(name, results))


def shipped_model(name: str) -> Path | None:
    """The folder of a trained model that comes with Muster."""
    return SHIPPED / name if name in shipped_models() else None


def shipped_models() -> list[str]:
    """The names of the trained models that come with Muster."""
    return sorted(path.name for path in SHIPPED.iterdir() if path.is_dir()) if SHIPPED.is_dir() else []


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


def _at(path: Path, outputs: Path) -> FoundRun:
    """The run that a folder belongs to."""
    place = place_of_run(path)
    if place is None or place[1] == MODELS:
        path = path.resolve()
        given = next((folder for folder in (path, path.parent) if os.path.isfile(folder / CONFIG)), None)
        if given is not None:
            return FoundRun(outputs, given.name, given=given)
    if place is None:
        raise ConfigError(
            f"{path} is not the folder of a run, such as results/{RUNS}/<name of the run> or results/{SACRED}/3, nor "
            f"one of models with their {CONFIG}."
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
    trained = shipped_models()
    if not tokens and not numbers:
        hint = did_you_mean(name, trained)
        return f"There is no run '{quoted(name)}' in {results}, which has no runs.{hint}{ELSEWHERE}"
    hint = f" Sacred runs: {_ranges(numbers)}." if numbers else ""
    if not (name.isdigit() and hint):
        hint = suggestion(name, sorted([*tokens, LATEST, *trained]), limit=3) + hint
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

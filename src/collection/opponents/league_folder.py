"""The folder of a league, which the runs of its players share: each writes its own part, and reads all.

`<folder>/<player>/player.json` says which role it has and which run it is, `<folder>/<player>/<step>/` is a frozen
copy, a saved model with `beaten.json`: whom it beat then, how often. All of them appear whole.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checkpoints.model_files import save_checkpoint
from checkpoints.model_manifests import require_intact
from collection.opponents.matchmaking import ROLES, FrozenCopy
from records.layout import BEATEN, PLAYER
from records.recorded import json_mapping
from utils.errors import ConfigError
from utils.files.whole_files import create_whole, write_whole

KEY = "league_folder"


class LeagueFolder:
    """The part of a player, and those of all others.

    Args:
        path: the league's folder, made by `join` if it is missing.
        player: its name.
        role: see `matchmaking.ROLES`.
        run: the token of its run. Another attempt of a suite at the same run is the same.
    """

    def __init__(self, path: str, player: str, role: str, run: str):
        self._root, self.player = Path(path).expanduser(), player
        self._role, self._run = role, run

    def join(self) -> None:
        """Say that this run is the player.

        Raises:
            ConfigError: the folder cannot be used, or the name is another run's.
        """
        own = self._root / self.player / PLAYER
        content = json.dumps({"role": self._role, "run": self._run}).encode()
        try:
            own.parent.mkdir(parents=True, exist_ok=True)
            if create_whole(str(own), content):
                return
            found = _player(own)
            if (found["role"], _attempt(found["run"])) != (self._role, _attempt(self._run)):
                raise ConfigError(
                    f"{KEY}={self._root}: {self.player} is there already, the {found['role']} of the run "
                    f"{found['run']}. Resume that run, or choose another league_player or {KEY}."
                )
            write_whole(str(own), content)
        except OSError as error:
            raise ConfigError(
                f"{KEY}={self._root}: the player {self.player} cannot be kept there ({error.strerror}). Choose a "
                "folder that can be written."
            ) from None

    def copies(self, before: int) -> list[FrozenCopy]:
        """All copies, by player, from the oldest to the newest.

        Args:
            before: the step of the run: its own copies of later steps are those of a run that was resumed from an
                earlier one, and do not count.

        Raises:
            ConfigError: a file does not have what it should.
        """
        found = []
        try:
            for folder in sorted(path.parent for path in self._root.glob(f"*/{PLAYER}")):
                role = _player(folder / PLAYER)["role"]
                steps = sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())
                for step in steps:
                    if folder.name != self.player or step <= before:
                        found.append(FrozenCopy(folder.name, role, step, _beaten(folder / str(step) / BEATEN)))
        except OSError as error:
            raise ConfigError(f"{KEY}={self._root} cannot be read ({error.strerror}: {error.filename}).") from None
        return found

    def add(self, step: int, model: Any, beaten: Mapping[str, float]) -> None:
        """Write a copy of the player. One that is there stays: others have met it, before this run was resumed.

        Args:
            model: its `save_models(path)` writes it.
            beaten: the names of copies -> the rates at which it beats them.

        Raises:
            ConfigError: it cannot be written.
        """
        place = self._root / self.player / str(step)
        if place.is_dir():
            return
        try:
            save_checkpoint(model, place, {BEATEN: json.dumps(dict(beaten))})
        except (OSError, RuntimeError) as error:  # torch's own for a file that cannot be written
            raise ConfigError(f"{KEY}: the copy {place} could not be written: {error}") from None

    def model(self, name: str, team: str) -> Path:
        """Where the files of a copy's team are.

        Raises:
            ConfigError: the copy is missing, has no such team, or a file of it has changed.
        """
        folder = self._root / name
        if not any((folder / team).glob("*.th")):
            raise ConfigError(
                f"{KEY}={self._root}: the copy {name} is missing, or has no model of {team or 'its team'}. A league "
                "needs all copies that its players have met, and the same teams in all runs."
            )
        require_intact(folder)
        return folder / team


def _player(path: Path) -> dict[str, str]:
    content = json_mapping(path)
    if content.get("role") not in ROLES or not isinstance(content.get("run"), str):
        raise ConfigError(f"{KEY}: {path} does not say which role of {', '.join(ROLES)} and which run it has.")
    return content


def _beaten(path: Path) -> dict[str, float]:
    """What is not a rate is left out."""
    content = json_mapping(path)
    return {name: rate for name, rate in content.items() if isinstance(rate, int | float) and 0 <= rate <= 1}


def _attempt(run: str) -> str:
    """A run's token without the number that a suite gives it when it is begun once more."""
    return re.sub(r"\.\d+$", "", run)

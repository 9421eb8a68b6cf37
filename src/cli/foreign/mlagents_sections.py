"""The mappings of ML-Agents' trainer files: their keys are taken one after another, and none is left without a word."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.errors import ConfigError
from utils.nearest import did_you_mean
from utils.plain_values import quoted

TABLE = "docs/dots.md, 'Trainer files and options', says what stands for what."
# keys that have no counterpart: (section, key) -> what to do; the reason why, where there is nothing
WITHOUT = {
    ("behavior", "self_play"): "Opponents of the past are opponents=pool (docs/actor_critic.md).",
    ("behavior", "behavioral_cloning"): "Demonstrations of Unity's are not read.",
    ("behavior", "init_path"): "Models of ML-Agents' trainer are not read; with checkpoint_path=FOLDER starts from one "
    "of Muster's.",
    ("reward_signals", "curiosity"): "Agents learn from the simulator's rewards only.",
    ("reward_signals", "gail"): "Agents learn from the simulator's rewards only.",
    ("reward_signals", "rnd"): "Agents learn from the simulator's rewards only.",
    ("checkpoint_settings", "initialize_from"): "with checkpoint_path=FOLDER starts from a model of Muster's.",
    ("checkpoint_settings", "load_model"): "--resume=RUN resumes a run.",
    ("checkpoint_settings", "resume"): "--resume=RUN resumes a run.",
    ("checkpoint_settings", "force"): "No run is overwritten: choose another run_id.",
    ("checkpoint_settings", "inference"): "--evaluate=RUN plays a trained model.",
    ("env_settings", "num_areas"): "The simulator decides how many areas it has.",
}
# keys that change no result, or nothing here, with the values at which they do so (None: any)
IDLE: dict[tuple[str, str], tuple | None] = {
    ("behavior", "threaded"): None,
    ("behavior", "framework"): None,
    ("behavior", "even_checkpoints"): (False,),
    ("behavior", "self_play"): (None,),
    ("behavior", "behavioral_cloning"): (None,),
    ("behavior", "init_path"): (None,),
    ("network_settings", "vis_encode_type"): ("simple",),
    ("network_settings", "goal_conditioning_type"): None,
    ("network_settings", "conditioning_type"): None,
    ("network_settings", "max_num_agents"): None,
    ("network_settings", "deterministic"): (False,),
    ("extrinsic", "network_settings"): None,
    ("env_settings", "base_port"): None,
    ("env_settings", "num_areas"): (1,),
    ("env_settings", "restarts_rate_limit_n"): None,
    ("env_settings", "restarts_rate_limit_period_s"): None,
    ("checkpoint_settings", "initialize_from"): (None,),
    ("checkpoint_settings", "load_model"): (False,),
    ("checkpoint_settings", "resume"): (False,),
    ("checkpoint_settings", "force"): (False,),
    ("checkpoint_settings", "inference"): (False,),
    ("checkpoint_settings", "train_model"): None,
    ("run", "debug"): None,
}


@dataclass
class Section:
    """A mapping of the file, whose keys are taken one after another; those that are left are refused.

    Attributes:
        where: in the file, for messages.
        kind: by which `WITHOUT` and `IDLE` know it.
        idle: keys without effect, of the whole file.
        otherwise: what means something else here, in words, of the whole file.
    """

    file: Path
    where: str
    kind: str
    values: dict[str, Any]
    idle: list[str] = field(default_factory=list)
    otherwise: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)

    def name(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def take(self, key: str, default: Any = None) -> Any:
        self.taken.append(key)
        return self.values.pop(key, default)

    def number(self, key: str, default: float, whole: bool = False, least: float = -math.inf) -> Any:
        """Also one that is written as a text or as a fraction, as in `max_steps: 5.0e5`."""
        value = self.take(key, default)
        try:
            found = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            found = math.nan
        if not math.isfinite(found) or (whole and found != int(found)) or found < least:
            what = ("a whole number" if whole else "a number") + (f", {least} or more" if least > -math.inf else "")
            raise ConfigError(f"{self.file}: {self.name(key)} is {quoted(value)}; it must be {what}.")
        return int(found) if whole else found

    def choice(self, key: str, default: Any, choices: tuple) -> Any:
        value = self.take(key, default)
        if value not in choices:
            raise ConfigError(
                f"{self.file}: {self.name(key)} is {quoted(value)}; it must be {' or '.join(map(str, choices))}."
            )
        return value

    def section(self, key: str, default: Mapping | None = None) -> "Section":
        value = self.take(key, default)
        value = {} if value is None else value
        if not isinstance(value, Mapping):
            raise ConfigError(
                f"{self.file}: {self.name(key)} is {quoted(value)}; it must be a mapping of keys to values."
            )
        return Section(self.file, self.name(key), key, dict(value), self.idle, self.otherwise)

    def end(self) -> None:
        """Refuse what is left, but for keys without effect."""
        for key, value in list(self.values.items()):
            place = (self.kind, key)
            allowed = IDLE.get(place, ())
            if allowed is None or value in allowed:
                self.idle.append(self.name(key))
            elif place in WITHOUT:
                raise ConfigError(f"{self.file}: {self.name(key)} has no counterpart. {WITHOUT[place]} {TABLE}")
            elif allowed:
                values = " or ".join(map(str, allowed))
                raise ConfigError(
                    f"{self.file}: {self.name(key)} must be {values}; {quoted(value)} has no counterpart. {TABLE}"
                )
            else:
                raise ConfigError(
                    f"{self.file}: {self.name(key)}: there is no such key.{did_you_mean(key, self.taken)} {TABLE}"
                )

"""The module names of entity-gym and its trainer: files written for them find ours where these are not installed.

Files often have an environment and its training script in one. The environment is of use here; the script says, when
it is run, how the same is trained.
"""

import importlib
import sys
from functools import partial
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, NoReturn

from envs.entities.observation import EntityObs, EpisodeStats
from utils.errors import MusterError
from utils.own_modules import own_name
from utils.stand_ins import StandIns

# of the trainer, whose names are answered
PACKAGES = ("enn_trainer", "hyperstate", "rogue_net")
DOORS = "envs.entities.entity_gym"
# modules that have the whole vocabulary: entity-gym's today, and until May 2022
TODAY, OLDER = "entity_gym.env", "entity_gym.environment"
WORDS = (TODAY, f"{TODAY}.environment", f"{TODAY}.action", f"{TODAY}.common", OLDER, f"{OLDER}.environment")
# names of that vocabulary which are imported when asked for, since most files do not
VECTORS = {
    "VecEnv": "vec_env",
    "VecObs": "vec_env",
    "VecActionMask": "vec_env",
    "VecCategoricalActionMask": "vec_env",
    "VecSelectEntityActionMask": "vec_env",
    "EnvList": "env_list",
    "ParallelEnvList": "parallel_env_list",
    "ValidatingEnv": "validator",
    "AddMetricsWrapper": "add_metrics_wrapper",
}
# what the older path has beside them
OLDER_WORDS = {"EntityObs": EntityObs, "EpisodeStats": EpisodeStats, "EntityType": str, "ActionType": str}
# of the interface until February 2022, by numbers of entities
OLDEST = (
    "ActionMaskBatch",
    "CategoricalActionMaskBatch",
    "DenseCategoricalActionMask",
    "DenseSelectEntityActionMask",
    "ObsBatch",
    "SelectEntityActionMaskBatch",
)
GAMES = "envs.entities.games"
OURS = {
    "ragged_buffer": "utils.ragged.buffer",
    "entity_gym.dataclass_utils": "envs.entities.dataclass_utils",
    "entity_gym.runner": "envs.entities.cli_runner",
    "entity_gym.cli_runner": "envs.entities.cli_runner",
    "entity_gym.agent": "envs.entities.cli_runner",
    "entity_gym.ragged_dict": f"{DOORS}.ragged_dict",
    "entity_gym.simple_trace": f"{DOORS}.simple_trace",
    "entity_gym.serialization": f"{DOORS}.serialization",
    "entity_gym.serialization.msgpack_ragged": f"{DOORS}.serialization.msgpack_ragged",
    "entity_gym.serialization.sample_loader": f"{DOORS}.serialization.sample_loader",
    "entity_gym.serialization.sample_recorder": f"{DOORS}.serialization.sample_recorder",
    "entity_gym.examples": GAMES,
    "entity_gym.examples.tutorial": f"{GAMES}.treasure_hunt",
    "entity_gym.envs": GAMES,
    **{
        f"{path}.{module}": f"{DOORS}.{module}" for path in (TODAY, OLDER) for module in dict.fromkeys(VECTORS.values())
    },
}
EXAMPLES = ("entity_gym.examples.", "entity_gym.envs.")


def alias_entity_gym() -> None:
    """Let `entity_gym` and `ragged_buffer` be imported: the packages where they are installed, else ours."""
    _STAND_INS.install()


def _is_package(name: str) -> bool | None:
    root, _, below = name.partition(".")
    if root in PACKAGES:
        return True
    if not below:
        return name != "ragged_buffer"
    return name in (TODAY, OLDER) if name in WORDS or _ours(name) is not None else None


def _make(module: ModuleType) -> None:
    name = module.__name__
    if name.partition(".")[0] in PACKAGES:
        vars(module).update(__all__=[], __getattr__=partial(_trainer_name, name))
    elif name in WORDS:
        _fill(module, importlib.import_module(own_name("envs.entities")))
    elif (ours := _ours(name)) is not None:
        sys.modules[name] = importlib.import_module(own_name(ours))


def _fill(module: ModuleType, words: ModuleType) -> None:
    """Give a module the vocabulary; that of the older path has its older words, too."""
    found, is_older = {word: getattr(words, word) for word in words.__all__}, module.__name__.startswith(OLDER)
    if is_older:
        found |= OLDER_WORDS

    def later(name: str) -> Any:
        if name in VECTORS:
            value = getattr(importlib.import_module(own_name(f"{DOORS}.{VECTORS[name]}")), name)
            setattr(module, name, value)
            return value
        if (below := f"{module.__name__}.{name}") in WORDS or below in OURS:
            return importlib.import_module(below)
        if is_older and name in OLDEST:
            raise NoCounterpartError(
                f"'{name}' is of entity-gym's interface until February 2022 (_reset, _act, actors by number), which "
                "has no counterpart here: docs/entity_gym.md#left-out."
            )
        raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")

    vars(module).update(found, __all__=[*found, *VECTORS], __getattr__=later)


def _ours(name: str) -> str | None:
    """The module that this name of entity-gym's means; None if there is none."""
    if name in OURS or not name.startswith(EXAMPLES):
        return OURS.get(name)
    games, game = importlib.import_module(own_name(GAMES)), name.rpartition(".")[2]
    return f"{games.__name__}.{game}" if PathFinder.find_spec(game, games.__path__) else None


class NoCounterpartError(MusterError, ImportError):
    """A name of entity-gym's packages is used that nothing stands for here."""

    exit_code = 2


class Answered:
    """A name of theirs, such as `enn_trainer.train`. Raises NoCounterpartError: it is called, or made a base class."""

    def __init__(self, name: str):
        self._name = name

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise NoCounterpartError(
            f"{self._name} has no counterpart with this name. Muster trains an environment of entities with: "
            "python src/main.py --config=enn_ppo --env-config=entities with env_args.environment=FILE.py:CLASS. It "
            "reads enn-trainer's configs (--config=FILE.ron) and checkpoints (checkpoint_path): docs/entity_gym.md"
        )

    __mro_entries__ = __call__

    def __getattr__(self, name: str) -> "Answered":
        if name.startswith("__"):
            raise AttributeError(name)
        return Answered(f"{self._name}.{name}")


def _trainer_name(module: str, name: str) -> Any:
    """What a file gets that imports `name` from `module`, one of `PACKAGES` or below it."""
    if name.startswith("__"):
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    answered = Answered(f"{module}.{name}")
    # a decorator of training scripts: the function answers when it is called
    return (lambda *_, **__: lambda _: answered) if name in ("command", "stateful_command") else answered


_STAND_INS = StandIns(("entity_gym", "ragged_buffer", *PACKAGES), _is_package, _make)

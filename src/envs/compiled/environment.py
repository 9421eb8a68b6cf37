"""Simulated worlds as environments: many copies that one call steps, and one copy of these."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from envs.contract.arguments import require_known, signature_of
from envs.contract.fields import OBSERVED, FieldSpec
from envs.contract.optional import require
from envs.multiagentenv import MultiAgentEnv
from utils.config.registry import loaded
from utils.meanings import Meaning

NEEDS_NUMBA = "pip install -r requirements.txt"


class CompiledEnv:
    """B copies as one environment (`vector_envs.contract.BatchedEnv`), round a `simulator.Simulator`.

    A family's class sets the class attributes, and in its constructor `groups` and `episode_limit`, and writes
    `fields`. The values of the field "obs/own" are the array `obs_own` of the simulator's outputs, unless `observed` or
    `outcomes` say otherwise. Replays need `snapshot`, and show more with `scene` and `action_names`; all three are of
    the first copy (`MultiAgentEnv`).

    Args:
        batch_size: B.
        threads: how many share the copies; 1: the calling one alone.
        env_args: the fields of `options_class`; `seed` is a list of B seeds, or None.

    Raises:
        ConfigError: an argument that makes no sense.
    """

    title: ClassVar[str]
    options_class: ClassVar[type]  # a dataclass
    simulator_class: ClassVar[Any]  # the class, or "module:class", which numba's long import waits for
    state_by_copy = True
    fields: Callable[[], Mapping[str, FieldSpec]]
    groups: dict[str, int]
    episode_limit: int

    def __init__(self, batch_size: int, threads: int = 1, **env_args: Any):
        self.check_args(**env_args)
        self.simulator = loaded(self.simulator_class)(batch_size, threads=threads, **env_args)
        self.options = self.simulator.options

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        require_known(cls.title, cls.options_class, env_args)
        require("numba", f"env={cls.title.lower()}", NEEDS_NUMBA)
        cls.options_class(**env_args)

    @classmethod
    def prepare(cls, **env_args: Any) -> None:
        loaded(cls.simulator_class).prepare()

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        raise NotImplementedError(f"{cls.__name__} has one scenario only")

    def reset(self, which: np.ndarray | None = None) -> None:
        self.simulator.reset(which)

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """See `BatchedEnv.step`. Raises ValueError: an illegal action."""
        outputs = self.simulator.step(actions["actions"])
        return self.outcomes(), outputs.terminated, outputs.truncated

    def observed(self) -> dict[str, np.ndarray]:
        """Observations, masks and records by path, `[B, ...]`."""
        return {path: getattr(self.simulator.outputs, name) for path, name in self._names[True]}

    def outcomes(self) -> dict[str, np.ndarray]:
        return {path: getattr(self.simulator.outputs, name) for path, name in self._names[False]}

    @cached_property
    def _names(self) -> dict[bool, list[tuple[str, str]]]:
        """Paths and names of arrays: of what is observed (True), and of outcomes."""
        names: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
        for path, field in self.fields().items():
            if field.kind != "action":
                names[field.kind in OBSERVED].append((path, path.replace("/", "_")))
        return names

    def info(self, b: int) -> dict[str, Any]:
        return {}

    def seed(self, seed: Sequence[int] | int | None = None) -> Any:
        """Seed all copies from the next episode on; without a seed, return the constructor's."""
        if seed is None:
            return self.options.seed
        self.simulator.seed(seed)
        return seed

    def get_env_info(self) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} has no get_env_info")

    def get_stats(self) -> dict[str, float]:
        return {}

    def take_live(self, name: str, value: float) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no arguments that change")

    def snapshot(self) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} has no snapshots")

    def scene(self) -> dict[str, Any]:
        return {}

    def action_names(self) -> list[list[str]]:
        n_agents, said = sum(self.groups.values()), self.meaning()
        if said is not None and (names := said.action_names(n_agents)):
            return names
        actions = next(field for field in self.fields().values() if field.kind == "action")
        return [[str(action) for action in range(actions.n or 0)]] * n_agents

    def meaning(self) -> Meaning | None:
        """What observations and actions mean, if the family says so."""
        return None

    def state_dict(self) -> dict[str, Any]:
        return self.simulator.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.simulator.load_state_dict(state)

    def close(self) -> None:
        """Nothing is open."""


class OneCopy(MultiAgentEnv):
    """One copy of a `CompiledEnv`, in the form of `envs.contract.fields` if that declares fields, else in PyMARL's.

    A family's class names that one as `batch_class`. The arguments are the same, with one seed and one `place`.
    """

    batch_class: ClassVar[type[CompiledEnv]]
    __signature__: ClassVar[inspect.Signature]
    fields: Callable[[], Mapping[str, FieldSpec]]
    groups: dict[str, int]

    def __init_subclass__(cls) -> None:
        if hasattr(cls, "batch_class"):  # a class of a plugin is made before its attributes, in other processes
            cls.__signature__ = signature_of(cls.batch_class.options_class)

    def __init__(self, **env_args: Any):
        self._seed = env_args.get("seed")
        if isinstance(self._seed, int | np.integer):
            env_args["seed"] = [int(self._seed)]
        if "place" in env_args:
            env_args["place"] = [env_args["place"]]
        self.batch = self.batch_class(1, **env_args)
        self.options, self.episode_limit = self.batch.options, self.batch.episode_limit
        self._declared = hasattr(self.batch, "fields")
        if self._declared:
            self.fields, self.groups = self.batch.fields, self.batch.groups

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        cls.batch_class.check_args(**env_args)

    @classmethod
    def prepare(cls, **env_args: Any) -> None:
        cls.batch_class.prepare(**env_args)

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return cls.batch_class.scenarios()

    def reset(self) -> Any:
        self.batch.reset()
        return None if self._declared else (self.get_obs(), self.get_state())

    def step(self, actions: Any) -> Any:
        """See `envs.contract.fields` and `MultiAgentEnv.step`. Raises ValueError: an illegal action."""
        if not self._declared:
            reward, ended, _ = self.batch.step(np.asarray(actions).reshape(1, -1))
            return float(reward[0]), bool(ended[0]), self.batch.info(0)
        outcomes, terminated, truncated = self.batch.step(
            {path: np.asarray(one)[None] for path, one in actions.items()}
        )
        values = {path: array[0] for path, array in outcomes.items()}
        return values, bool(terminated[0]), bool(truncated[0]), self.batch.info(0)

    def observe(self) -> dict[str, np.ndarray]:
        return {path: array[0] for path, array in self.batch.observed().items()}

    def get_obs(self) -> list[np.ndarray]:
        return list(self.batch.observed()["obs"][0].copy())

    def get_obs_agent(self, agent_id: int) -> np.ndarray:
        return self.batch.observed()["obs"][0, agent_id].copy()

    def get_obs_size(self) -> int:
        return self.get_env_info()["obs_shape"]

    def get_state(self) -> np.ndarray:
        return self.batch.observed()["state"][0].copy()

    def get_state_size(self) -> int:
        return self.get_env_info()["state_shape"]

    def get_avail_actions(self) -> list[list[int]]:
        return self.batch.observed()["avail_actions"][0].tolist()

    def get_avail_agent_actions(self, agent_id: int) -> list[int]:
        return self.batch.observed()["avail_actions"][0, agent_id].tolist()

    def get_total_actions(self) -> int:
        return self.get_env_info()["n_actions"]

    def get_env_info(self) -> dict[str, Any]:
        return self.batch.get_env_info()

    def meaning(self) -> Meaning | None:
        return self.batch.meaning()

    def get_stats(self) -> dict[str, float]:
        return self.batch.get_stats()

    def seed(self, seed: int | None = None) -> int | None:
        """Seed all episodes from the next one on; without a seed, return that of the constructor."""
        if seed is None:
            return self._seed
        self.batch.seed([seed])
        return seed

    def snapshot(self) -> dict[str, Any]:
        return self.batch.snapshot()

    def scene(self) -> dict[str, Any]:
        return self.batch.scene()

    def action_names(self) -> list[list[str]]:
        return self.batch.action_names()

    def state_dict(self) -> dict[str, Any]:
        return self.batch.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.batch.load_state_dict(state)

    def take_live(self, name: str, value: float) -> None:
        self.batch.take_live(name, value)

"""Environments of entities as an environment of this project, which declares its fields."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.arguments import require_number
from envs.contract.fields import FieldSpec
from envs.contract.validation import InvalidEnvironmentError
from envs.entities.batch import LARGEST_LIMIT, EntityBatch
from envs.entities.games import GAMES
from envs.entities.sizes import Sizes, check_sizes
from utils.errors import ConfigError
from utils.meanings import Meaning
from utils.plain_values import quoted


class EntityEnv:
    """One environment of `envs.entities`, as one team: its agents are the slots of actions (`envs.entities.layout`).

    Args:
        environment: a game that is built in, or `path/to/file.py:ClassName`, also of a file for entity-gym.
        kwargs: arguments of its constructor.
        episode_limit: steps after which an episode is truncated; 0: as the environment says, else 1000.
        max_entities: the most entities of a type at a time, one number or one for some types; null: as the environment
            says, else twice as many as in 200 steps of random play.
        max_actors: the most actors of an action at a time, likewise.
        seed: of its random numbers; None: a random one.

    Raises:
        ConfigError: there is no such environment, or it cannot be made of these arguments.
        MusterError: its spaces are invalid.
    """

    def __init__(
        self,
        environment: str = "MineSweeper",
        kwargs: dict[str, Any] | None = None,
        episode_limit: int = 0,
        max_entities: Sizes = None,
        max_actors: Sizes = None,
        seed: int | None = None,
    ):
        seeds = None if seed is None else [seed]
        self._batch = EntityBatch(1, environment, kwargs, episode_limit, max_entities, max_actors, seeds)
        batch = self._batch
        self.groups, self.episode_limit, self._fields = batch.groups, batch.episode_limit, batch.fields()
        # of one copy these are those of the batch
        self.action_names, self.snapshot, self.scene, self.close = (
            batch.action_names,
            batch.snapshot,
            batch.scene,
            batch.close,
        )
        self.state_dict, self.load_state_dict = batch.state_dict, batch.load_state_dict

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        limit, kwargs = env_args.get("episode_limit", 0), env_args.get("kwargs")
        require_number("env_args.episode_limit", limit, 0, LARGEST_LIMIT, whole=True)
        if kwargs is not None and not isinstance(kwargs, Mapping):
            raise ConfigError(f"env_args.kwargs is {quoted(kwargs)}; it must be a mapping of arguments.")
        for key in ("max_entities", "max_actors"):
            check_sizes(key, env_args.get(key))
        try:
            cls(**env_args).close()
        except InvalidEnvironmentError as error:
            raise ConfigError(f"env_args.environment: {error}") from error

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "environment", [(name, GAMES.entry(name).description) for name in GAMES]

    def fields(self) -> dict[str, FieldSpec]:
        return dict(self._fields)

    def meaning(self) -> Meaning:
        return self._batch.meaning()

    def seed(self, seed: int) -> None:
        self._batch.seed([seed])

    def reset(self) -> None:
        self._batch.reset()

    def observe(self) -> dict[str, np.ndarray]:
        arrays = self._batch.observed()
        seen = {}
        for path, field in self._fields.items():
            if path in arrays:
                count = None if field.capacity is None else arrays[f"{path}/count"][0]
                seen[path] = arrays[path][0] if count is None else arrays[path][0, :count]
        return seen

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, float], bool, bool, dict[str, Any]]:
        chosen = {"actions": np.asarray(actions["actions"])[None]}
        outcomes, terminated, truncated = self._batch.step(chosen)
        return {"reward": float(outcomes["reward"][0])}, bool(terminated[0]), bool(truncated[0]), self._batch.info(0)

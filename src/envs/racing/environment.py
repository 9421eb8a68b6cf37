"""Races as environments: one, or many that one call steps."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from envs.contract.fields import AGENTS, FieldSpec
from envs.contract.option_classes import require_known, signature_of
from envs.contract.optional import require
from envs.racing.options import Options

NEEDS_NUMBA = "pip install -r requirements.txt"


class RacesBase:
    """What one race and many have in common; the arguments are those of `options.Options`."""

    def __init__(
        self, batch_size: int, places: Sequence[Sequence[int]] | None, env_args: dict[str, Any], threads: int = 1
    ):
        from envs.racing.batch import BatchedRaces

        self.races = BatchedRaces(batch_size, places=places, threads=threads, **env_args)
        self.options = self.races.options
        self.groups, self.episode_limit = {AGENTS: self.options.n_cars}, self.options.time_limit

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        """Refuse bad arguments before a run starts."""
        require_known("racing", Options, env_args)
        require("numba", "env=racing", NEEDS_NUMBA)
        Options(**env_args).races()

    @classmethod
    def prepare(cls, **env_args: Any) -> None:
        """Compile the simulator, if that has not been done on this machine."""
        from envs.racing.batch import prepare

        prepare()

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        """See `MultiAgentEnv`."""
        tracks = [("seed:7", "one track by seed"), ("seeds:0-99", "a hundred of them, one after another")]
        return "map_cycle", [*tracks, ("track.npy", "a file of centre points 0.5 m apart")]

    @property
    def scaling(self) -> tuple[np.ndarray, np.ndarray]:
        """The means and deviations by which the float view is scaled, `[F]` each."""
        return self.races.views.mean, 1 / self.races.views.scale

    def fields(self) -> dict[str, FieldSpec]:
        from envs.racing.fields import fields_of

        return fields_of(self.options)

    def seed(self, seed: Any = None) -> Any:
        """Seed all races from the next one on; without a seed, return that of the constructor."""
        if seed is None:
            return self.options.seed
        one = isinstance(seed, int | np.integer)
        self.races.seed([int(seed)] if one and self.races.batch_size == 1 else seed)
        return seed

    def snapshot(self) -> dict[str, Any]:
        """The cars of the first race."""
        from envs.racing.snapshots import snapshot

        return snapshot(self.races)

    def scene(self) -> dict[str, Any]:
        """The track of the first race."""
        from envs.racing.snapshots import scene

        return scene(self.races)

    def action_names(self) -> list[list[str]]:
        """The names of the inputs, for each car."""
        from envs.racing.snapshots import ACTION_NAMES

        return [list(ACTION_NAMES)] * self.options.n_cars

    def state_dict(self) -> dict[str, np.ndarray]:
        """Everything that the coming steps depend on."""
        return self.races.state_dict()

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Continue from where `state_dict` was taken."""
        self.races.load_state_dict(state)

    def take_live(self, name: str, value: float) -> None:
        """A weight of the rewards has another value from now on (`reward_weights`)."""
        self.races.weigh(name, value)

    def close(self) -> None:
        """Nothing is open."""


class RacingEnv(RacesBase):
    """A race of one car or several on a track, in the form of `envs.contract.fields`.

    Args:
        env_args: see `options.Options` and docs/racing.md.

    Raises:
        ConfigError: an argument that makes no sense.
    """

    def __init__(self, **env_args: Any):
        self.check_args(**env_args)
        seed, place = env_args.pop("seed", None), env_args.get("place", (0, 1, 0))
        one = isinstance(seed, int | np.integer)
        super().__init__(1, [place], {**env_args, "seed": [int(seed)] if one else seed})

    def reset(self) -> None:
        self.races.reset()

    def observe(self) -> dict[str, np.ndarray]:
        from envs.racing.fields import observed

        return {
            path: array[0] for path, array in observed(self.options, self.races.outputs, self.races.numbers).items()
        }

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], bool, bool, dict[str, Any]]:
        """See `envs.contract.fields`; `results.info_of` has the info.

        Raises:
            ValueError: an action that does not exist.
        """
        from envs.racing.fields import outcomes
        from envs.racing.results import info_of

        outputs = self.races.step(np.asarray(actions["actions"]).reshape(1, -1))
        values = {path: array[0] for path, array in outcomes(self.options, outputs).items()}
        return values, bool(outputs.terminated[0]), bool(outputs.truncated[0]), info_of(self.races, 0)


class RacingBatch(RacesBase):
    """B races that one call steps (`vector_envs.contract.BatchedEnv`); see `RacingEnv` for the rest.

    Args:
        batch_size: B.
        seed: a list of B seeds, or None.
        place: for each race what `Options.place` says.
        threads: how many share the races; 1: the calling one alone.
    """

    state_by_copy = True

    def __init__(
        self, batch_size: int, place: Sequence[Sequence[int]] | None = None, threads: int = 1, **env_args: Any
    ):
        super().__init__(batch_size, place, env_args, threads)

    @classmethod
    def copies_per_thread(cls, **env_args: Any) -> int:
        """See `BatchedEnv`."""
        from envs.racing.batch import copies_per_thread

        return copies_per_thread(Options(**env_args))

    def reset(self, which: np.ndarray | None = None) -> None:
        self.races.reset(which)

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        """See `BatchedEnv.step`.

        Raises:
            ValueError: an action that does not exist.
        """
        from envs.racing.fields import outcomes

        outputs = self.races.step(actions["actions"])
        return outcomes(self.options, outputs), outputs.terminated, outputs.truncated

    def observed(self) -> dict[str, np.ndarray]:
        from envs.racing.fields import observed

        return observed(self.options, self.races.outputs, self.races.numbers)

    def info(self, b: int) -> dict[str, Any]:
        from envs.racing.results import info_of

        return info_of(self.races, b)


RacingEnv.__signature__ = signature_of(Options)

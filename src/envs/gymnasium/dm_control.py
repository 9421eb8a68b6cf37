"""The control suite of dm_control (Tassa et al. 2018), by ids as those of Gymnasium and by Digideep's.

`dm_control/cheetah-run-v0` shows the parts of its observations by their names, `DMBenchCheetahRun-v0` one vector of
them all in the suite's order, as Digideep's `dmc2gym` does. The package is the extra `requirements-dm-control.txt`.
"""

import logging
import math
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from envs.contract.optional import require
from envs.contract.saving import StateEncoder
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

PREFIX = "dm_control/"
INSTALL = "pip install -r requirements-dm-control.txt"
# parts of the model that tasks change when an episode starts
CHANGED = ("body_pos", "body_quat", "geom_pos", "geom_quat", "geom_size", "site_pos", "site_size", "wrap_prm")


@cache
def task_of(name: str) -> gymnasium.envs.registration.EnvSpec:
    """Gymnasium's `EnvSpec` of an id of the suite; its limit is the suite's. Raises ConfigError: the package is
    missing, or the suite has no such task."""
    known = _names()
    if name not in known:
        raise ConfigError(f"env_args.key: dm_control has no task '{quoted(name)}'.{suggestion(name, known, 3)}")
    domain, task = known[name]
    made = partial(DmControlEnv, domain, task, flat_observation=not name.startswith(PREFIX))
    limit = made().step_limit
    return gymnasium.envs.registration.EnvSpec(name, entry_point=made, max_episode_steps=limit)


def _names() -> dict[str, tuple[str, str]]:
    """The tasks, domain and name, by their ids."""
    pairs = _suite().ALL_TASKS
    digideeps = {f"DMBench{domain.capitalize()}{task.capitalize()}-v0": (domain, task) for domain, task in pairs}
    return {f"{PREFIX}{domain}-{task}-v0": (domain, task) for domain, task in pairs} | digideeps


def _suite() -> Any:
    with _quietly():
        return require("dm_control.suite", "env_args.key of dm_control", INSTALL)


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what it says of a machine that has no screen, and of its own models."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


class DmControlEnv(gymnasium.Env):
    """A task of the suite. Observations and actions have 64 bits, each part of an observation is a vector.

    Args:
        domain, task: the suite's names.
        flat_observation: one vector of all parts.
        task_kwargs: the task's own arguments.
        environment_kwargs: of `dm_control.rl.control.Environment`, such as `control_timestep` in seconds: how long an
            action lasts.
        render_mode: rgb_array, or None.
        height, width: of pictures, in pixels.
        camera_id: -1: the free camera.
    """

    def __init__(
        self,
        domain: str,
        task: str,
        flat_observation: bool = False,
        task_kwargs: dict[str, Any] | None = None,
        environment_kwargs: dict[str, Any] | None = None,
        render_mode: str | None = None,
        height: int = 240,
        width: int = 320,
        camera_id: int = 0,
    ):
        suite = _suite()
        with _quietly():
            self._task = suite.load(domain, task, task_kwargs=task_kwargs, environment_kwargs=environment_kwargs)
        self._failure = require("dm_control.rl.control", "env_args.key of dm_control", INSTALL).PhysicsError
        self._flat, self._picture = flat_observation, {"height": height, "width": width, "camera_id": camera_id}
        self.render_mode = render_mode
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": round(1 / self._task.control_timestep())}
        bounds = self._task.action_spec()
        self.action_space = spaces.Box(bounds.minimum, bounds.maximum, bounds.shape, bounds.dtype)
        sizes = {name: math.prod(part.shape) for name, part in self._task.observation_spec().items()}
        parts = OrderedDict((name, _numbers(size)) for name, size in sizes.items())
        self.observation_space = _numbers(sum(sizes.values())) if flat_observation else spaces.Dict(parts)
        self._seen: Any = None

    @property
    def step_limit(self) -> int | None:
        limit = self._task._step_limit
        return None if limit == math.inf else math.ceil(limit - 1e-9)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._task.task._random = np.random.RandomState(seed)
        self._seen = self._observed(self._task.reset().observation)
        return self._seen, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The suite ends an episode with a discount of 0 or, where time is up, of 1.

        Physics that diverge cut an episode off, where its last observation is.
        """
        try:
            now = self._task.step(action)
        except self._failure:
            return self._seen, 0.0, False, True, {"physics_error": 1.0}
        self._seen = self._observed(now.observation)
        terminated = now.last() and now.discount == 0
        return self._seen, float(now.reward), terminated, now.last() and not terminated, {}

    def _observed(self, observation: Any) -> Any:
        parts = {name: np.ravel(value).astype(np.float64) for name, value in observation.items()}
        return np.concatenate(list(parts.values())) if self._flat else parts

    def render(self) -> Any:
        return self._task.physics.render(**self._picture) if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        self._task.close()

    def state_dict(self) -> dict[str, Any]:
        """Physics, the parts of the model that tasks change, and the task. Raises NotImplementedError: the task has
        other attributes than numbers, arrays and its generator."""
        physics, signature = self._task.physics, self._signature
        model = {name: np.array(getattr(physics.model, name)) for name in CHANGED}
        own = {name: value for name, value in vars(self._task).items() if name in ("_step_count", "_reset_next_step")}
        return {
            "physics": physics.get_state(signature),
            "model": model,
            "own": own,
            "task": StateEncoder().encoded(dict(vars(self._task.task)), type(self._task.task).__name__),
            "seen": self._seen,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        physics = self._task.physics
        for name, values in state["model"].items():
            getattr(physics.model, name)[:] = values
        vars(self._task).update(state["own"])
        vars(self._task.task).update(StateEncoder().decoded(state["task"]))
        physics.set_state(np.asarray(state["physics"]), self._signature)
        physics.forward()
        physics.set_state(np.asarray(state["physics"]), self._signature)
        self._seen = state["seen"]

    @property
    def _signature(self) -> int:
        mujoco = require("mujoco", "env_args.key of dm_control", INSTALL)
        return int(mujoco.mjtState.mjSTATE_INTEGRATION)


def _numbers(size: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (size,), np.float64)

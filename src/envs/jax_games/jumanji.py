"""Jumanji's environments of several agents (Bonnet et al. 2024), and a user's own with its interface."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from envs.jax_games.game import Game, Played, View
from envs.jax_games.jumanji_views import VIEWS, everything
from envs.jax_games.making import Package, described, limit_of
from envs.jax_games.packages import jax_for, package_for
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

PREFIX = "jumanji:"
# those of several agents; all others have one
SEVERAL = (
    "RobotWarehouse",
    "LevelBasedForaging",
    "Connector",
    "Cleaner",
    "SearchAndRescue",
    "MMST",
    "MultiCVRP",
)


def ids() -> list[str]:
    """Jumanji's ids of several agents."""
    package: Any = package_for("jumanji", f"env_args.key={PREFIX}...")
    return sorted(name for name in package.registered_environments() if name.rpartition("-")[0] in SEVERAL)


def registered(name: str, where: str) -> Package:
    """One of Jumanji's by its id. Raises ConfigError: there is none of several agents."""
    package: Any = package_for("jumanji", where)
    if name not in (known := ids()):
        alone = " is of one agent" if name in package.registered_environments() else ""
        what = f"'{quoted(name)}'{alone}" if alone else f"Jumanji has no environment '{quoted(name)}' of several agents"
        raise ConfigError(f"{where}: {what}.{suggestion(name, known, 12)}")
    env = package.make(name)
    return described(type(env), limit_of(env))._replace(make=partial(package.make, name))


def is_one(env: Any) -> bool:
    """Whether an environment has Jumanji's interface."""
    return hasattr(env, "action_spec") and hasattr(env, "observation_spec")


def game(env: Any, limit: int, where: str) -> Game:
    """An environment with Jumanji's interface, whose first axis of actions is the agents.

    `jumanji_views` has what agents see. A reward of the team is common; rewards
    by agent stay so. An episode terminates where the discount of all is 0.

    Raises:
        ConfigError: agents have other actions than one choice, or a vector, each.
    """
    jax = jax_for(where)
    jnp, spec = jax.numpy, env.action_spec
    n = int(spec.shape[0]) if spec.shape else 0
    n_actions, shape, low, high = _actions(spec, where)
    view_of = VIEWS.get(type(env).__name__, everything)
    state, first = jax.eval_shape(env.reset, jax.random.PRNGKey(0))
    masked = getattr(first.observation, "action_mask", None) is not None
    if masked:
        n_actions = int(first.observation.action_mask.shape[-1])
    _, after = jax.eval_shape(env.step, state, spec.generate_value())
    shares = after.reward.shape == ()

    def view(step: Any) -> View:
        own, whole = view_of(jnp, n, step.observation)
        if not masked:
            return View(own, whole, jnp.ones((n, n_actions), jnp.uint8))
        legal = step.observation.action_mask
        # an agent that has nothing left to do, as in MMST, does something all the same
        idle = ~legal.any(axis=-1, keepdims=True) & (jnp.arange(n_actions) == 0)
        return View(own, whole, (legal | idle).astype(jnp.uint8))

    def reset(key: Any) -> tuple[Any, View]:
        state, step = env.reset(key)
        return state, view(step)

    def step(key: Any, state: Any, actions: Any) -> Played:
        del key  # the state has one
        state, step = env.step(state, actions.astype(spec.dtype))
        rewards = jnp.broadcast_to(step.reward, (n,)).astype(jnp.float32)
        last, over = step.last(), jnp.all(step.discount == 0)
        extras = step.extras if isinstance(step.extras, Mapping) else {}
        infos = {name: value for name, value in extras.items() if getattr(value, "shape", None) == ()}
        return Played(state, view(step), rewards, last & over, last & ~over, infos)

    return Game(n, n_actions, shape, low, high, limit, shares, reset, step)


def _actions(spec: Any, where: str) -> tuple[int, tuple[int, ...], float, float]:
    """The choices of an agent, 0 where they are continuous; the shape of one action, and its bounds."""
    if len(spec.shape) == 1 and np.dtype(spec.dtype).kind in "iu":
        values = getattr(spec, "num_values", None)
        most = np.max(values) if values is not None else np.max(spec.maximum) + 1
        return int(most), (), 0, 0
    bounds = np.unique(np.asarray(spec.minimum)), np.unique(np.asarray(spec.maximum))
    if len(spec.shape) < 2 or any(len(bound) != 1 for bound in bounds):
        raise ConfigError(
            f"{where}: the actions are {quoted(str(spec), 200)}. Every agent must have one choice, or a vector with "
            "the same bounds."
        )
    return 0, tuple(spec.shape[1:]), float(bounds[0][0]), float(bounds[1][0])

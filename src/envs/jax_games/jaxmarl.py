"""Environments with JaxMARL's interface (Rutherford et al. 2024): SMAX, MABrax, its MPE and others, a user's own."""

from collections.abc import Mapping
from functools import partial
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from envs.jax_games.game import Game, Played, View
from envs.jax_games.making import Package, described
from envs.jax_games.packages import jax_for, package_for
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

PREFIX, SMAX = "jaxmarl:", "smax-"
# steps of an episode of SMAX, in its maps
SMAX_STEPS = 100
# beside the agents, in observations and rewards
STATE, ALL = "world_state", "__all__"
# packages whose agents all have the team's reward
SHARING = ("jaxmarl.environments.smax.", "jaxmarl.environments.mabrax.", "jaxmarl.environments.overcooked")


def listed() -> list[str]:
    """The scenarios of SMAX, and all ids of JaxMARL."""
    where = f"env_args.key={PREFIX}..."
    smax: Any = package_for("jaxmarl.environments.smax.smax_env", where)
    ids = package_for("jaxmarl", where).registered_envs
    return [SMAX + name for name in smax.MAP_NAME_TO_SCENARIO] + [PREFIX + name for name in ids]


def scenario(name: str, where: str) -> Package:
    """A battle of SMAX against its scripted enemies. Raises ConfigError: there is no such scenario."""
    smax: Any = package_for("jaxmarl.environments.smax.smax_env", where)
    known = list(smax.MAP_NAME_TO_SCENARIO)
    if name not in known:
        raise ConfigError(f"{where}: SMAX has no scenario '{quoted(name)}'.{suggestion(name, known)}")
    battle = package_for("jaxmarl.environments.smax", where).HeuristicEnemySMAX
    words = described(battle).known or ()
    own = described(smax.SMAX).known or ()
    make = partial(battle, scenario=smax.map_name_to_scenario(name))
    return Package(make, tuple({*words, *own} - {"scenario", "self"}), "max_steps", SMAX_STEPS)


def registered(name: str, where: str) -> Package:
    """An environment of JaxMARL by its id. Raises ConfigError: there is none, or it needs more than words."""
    package: Any = package_for("jaxmarl", where)
    known = list(package.registered_envs)
    if name not in known:
        raise ConfigError(f"{where}: JaxMARL has no environment '{quoted(name)}'.{suggestion(name, known, 12)}")
    if "SMAX" in name:
        smax: Any = package_for("jaxmarl.environments.smax.smax_env", where)
        return Package(partial(_smax, package, smax, name), None, "max_steps", SMAX_STEPS)
    try:
        kind = type(package.make(name))
    except Exception as error:
        raise ConfigError(f"{where} cannot be made: {type(error).__name__}: {quoted(str(error), 300)}") from error
    asked = described(kind)
    fixed = {"auto_reset": False} if _is_brax(kind) else {}
    return asked._replace(make=partial(package.make, name, **fixed))


def _smax(package: Any, smax: Any, name: str, **kwargs: Any) -> Any:
    """SMAX by an id, whose scenario may be its name."""
    if isinstance(named := kwargs.get("scenario"), str):
        if named not in smax.MAP_NAME_TO_SCENARIO:
            raise ConfigError(
                f"env_args.kwargs.scenario is '{quoted(named)}'.{suggestion(named, smax.MAP_NAME_TO_SCENARIO)}"
            )
        kwargs["scenario"] = smax.map_name_to_scenario(named)
    return package.make(name, **kwargs)


def _is_brax(kind: type) -> bool:
    return any(base.__name__ == "MABraxEnv" for base in kind.__mro__)


def game(env: Any, limit: int, where: str) -> Game:
    """An environment with JaxMARL's interface.

    Observations are flattened and padded with zeros to the longest; actions that an agent does not have are illegal.
    The state is `world_state`, the whole observation of MABrax, or what all agents see side by side.

    Raises:
        ConfigError: agents have other actions than one choice, or a vector, each.
    """
    jax = jax_for(where)
    jnp, key = jax.numpy, jax.random.PRNGKey(0)
    agents = list(env.agents)
    seen, state = jax.eval_shape(env.reset, key)
    size = max(prod(seen[agent].shape) for agent in agents)
    acting = _actions(env, agents, where)
    masks = _offers_masks(jax, env, state)
    every = jnp.array([[k < n for k in range(acting.most)] for n in acting.sizes], dtype=jnp.uint8)

    def padded(array: Any, length: int) -> Any:
        flat = jnp.ravel(array)
        return jnp.pad(flat, (0, length - flat.size))

    def view(obs: Mapping[str, Any], state: Any) -> View:
        own = jnp.stack([padded(obs[agent], size).astype(jnp.float32) for agent in agents])
        if STATE in obs:
            whole = jnp.ravel(obs[STATE]).astype(jnp.float32)
        else:
            whole = jnp.ravel(state.obs if _is_brax(type(env)) else own).astype(jnp.float32)
        if not masks:
            return View(own, whole, every)
        legal = env.get_avail_actions(state)
        return View(own, whole, jnp.stack([padded(legal[agent], acting.most) for agent in agents]).astype(jnp.uint8))

    def reset(key: Any) -> tuple[Any, View]:
        obs, state = env.reset(key)
        return state, view(obs, state)

    def step(key: Any, state: Any, actions: Any) -> Played:
        chosen = {agent: acting.of(actions[i], acting.sizes[i]) for i, agent in enumerate(agents)}
        # `step` would start the next episode itself, and nobody would see the end of this one
        obs, after, rewards, ends, infos = env.step_env(key, state, chosen)
        each = jnp.stack([jnp.asarray(rewards[agent], jnp.float32).reshape(()) for agent in agents])
        over, never = jnp.asarray(ends[ALL], bool).reshape(()), jnp.zeros((), bool)
        figures = {**_numbers(infos), **_battle(jnp, after)}
        return Played(after, view(obs, after), each, over, never, figures)

    # plain SMAX has both sides
    shares = type(env).__module__.startswith(SHARING) and type(env).__name__ != "SMAX"
    return Game(len(agents), acting.most, acting.shape, acting.low, acting.high, limit, shares, reset, step)


def _actions(env: Any, agents: list[str], where: str) -> SimpleNamespace:
    """The agents' actions: how many each has (`sizes`), the most (`most`, 0: continuous), and their form."""
    found = [env.action_space(agent) for agent in agents]
    if all(hasattr(space, "n") for space in found):
        sizes = [int(space.n) for space in found]
        return SimpleNamespace(sizes=sizes, most=max(sizes), shape=(), low=0, high=0, of=lambda action, n: action)
    flat = all(len(getattr(space, "shape", ())) == 1 and hasattr(space, "low") for space in found)
    bounds = {(_one(space.low), _one(space.high)) for space in found} if flat else set()
    if len(bounds) != 1 or None in next(iter(bounds)):
        raise ConfigError(
            f"{where}: agents do {quoted(', '.join(map(str, found)), 200)}. Each must have one choice (Discrete), or a "
            "vector with the same bounds."
        )
    sizes = [int(space.shape[0]) for space in found]
    (low, high), longest = bounds.pop(), max(sizes)
    return SimpleNamespace(sizes=sizes, most=0, shape=(longest,), low=low, high=high, of=lambda action, n: action[:n])


def _one(bound: Any) -> float | None:
    """The one number of a bound, or None."""
    values = np.unique(np.asarray(bound, dtype=float))
    return float(values[0]) if len(values) == 1 else None


def _offers_masks(jax: Any, env: Any, state: Any) -> bool:
    try:
        return isinstance(jax.eval_shape(env.get_avail_actions, state), Mapping)
    except (NotImplementedError, AttributeError):
        return False


def _numbers(infos: Any, before: str = "") -> dict[str, Any]:
    """The numbers of an info, also in dictionaries: `shaped_reward_agent_0`."""
    found: dict[str, Any] = {}
    for name, value in infos.items() if isinstance(infos, Mapping) else ():
        if isinstance(value, Mapping):
            found |= _numbers(value, f"{before}{name}_")
        elif getattr(value, "shape", None) == ():
            found[f"{before}{name}"] = value
    return found


def _battle(jnp: Any, state: Any) -> dict[str, Any]:
    """Of SMAX, whether the allies have won, which its infos do not say: all enemies are dead, and not all allies."""
    units = getattr(state, "state", state)
    if not hasattr(units, "unit_alive"):
        return {}
    ours, alive = units.unit_teams == 0, units.unit_alive
    return {"battle_won": jnp.any(alive & ours) & ~jnp.any(alive & ~ours)}

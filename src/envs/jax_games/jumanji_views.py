"""What each agent sees in Jumanji's environments, whose observations are of all agents together, and the state.

All are float32, `[n, d]` and `[S]`.
"""

from collections.abc import Callable
from typing import Any


def of_agents(jnp: Any, n: int, *arrays: Any) -> Any:
    """Arrays with a row for each agent, side by side."""
    return jnp.concatenate([jnp.reshape(array, (n, -1)).astype(jnp.float32) for array in arrays], axis=1)


def _views(jnp: Any, n: int, seen: Any) -> tuple[Any, Any]:
    """RobotWarehouse and LevelBasedForaging have a vector for each agent; the state is all of them."""
    own = of_agents(jnp, n, seen.agents_view)
    return own, jnp.ravel(own)


def _search(jnp: Any, n: int, seen: Any) -> tuple[Any, Any]:
    """What a searcher sees around it, where it is, and the share of targets that are left; the state is that of all."""
    own = of_agents(jnp, n, seen.searcher_views, seen.positions, jnp.broadcast_to(seen.targets_remaining, (n,)))
    return own, jnp.ravel(own)


def _cleaner(jnp: Any, n: int, seen: Any) -> tuple[Any, Any]:
    """Planes: dirty tiles, clean ones, walls, the other agents, the agent itself; the state has those of each agent."""
    kinds = [seen.grid == kind for kind in range(3)]
    here = jnp.zeros((n, *seen.grid.shape)).at[jnp.arange(n), seen.agents_locations[:, 0], seen.agents_locations[:, 1]]
    own = here.set(1.0)
    common = [jnp.broadcast_to(plane, own.shape) for plane in kinds]
    state = jnp.concatenate([jnp.ravel(plane).astype(jnp.float32) for plane in (*kinds, own)])
    return of_agents(jnp, n, *common, own.sum(axis=0)[None] - own, own), state


def _connector(jnp: Any, n: int, seen: Any) -> tuple[Any, Any]:
    """Planes: the agent's path, its head and its target; the paths, heads and targets of the others. The state has the
    first three of each agent."""
    # a cell is 0, or 1 + 3 i + kind of agent i
    taken, whose, kind = seen.grid > 0, (seen.grid - 1) // 3, (seen.grid - 1) % 3
    mine = whose[None] == jnp.arange(n)[:, None, None]
    planes = [taken[None] & who & (kind[None] == k) for who in (mine, ~mine) for k in range(3)]
    return of_agents(jnp, n, *planes), jnp.ravel(of_agents(jnp, n, *planes[:3]))


def everything(jnp: Any, n: int, seen: Any) -> tuple[Any, Any]:
    """All numbers but the masks, in the order of the observation, which are the state, too; and the number of the
    agent, one-hot."""
    import jax

    parts = seen._asdict() if hasattr(seen, "_asdict") else vars(seen)
    leaves = jax.tree.leaves({name: part for name, part in parts.items() if name not in ("action_mask", "step_count")})
    numbers = jnp.concatenate([jnp.ravel(leaf).astype(jnp.float32) for leaf in leaves])
    return of_agents(jnp, n, jnp.broadcast_to(numbers, (n, numbers.size)), jnp.eye(n)), numbers


# by the class's name
VIEWS: dict[str, Callable[[Any, int, Any], tuple[Any, Any]]] = {
    "RobotWarehouse": _views,
    "LevelBasedForaging": _views,
    "SearchAndRescue": _search,
    "Cleaner": _cleaner,
    "Connector": _connector,
}

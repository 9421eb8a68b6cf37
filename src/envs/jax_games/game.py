"""What every environment written in JAX becomes: pure functions of one copy, which are vectorised and compiled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple


class View(NamedTuple):
    """What a copy shows: `obs` float32 `[n, d]`, `state` float32 `[S]`, `legal` uint8 `[n, A]`; A is 0 where actions
    are continuous."""

    obs: Any
    state: Any
    legal: Any


class Played(NamedTuple):
    """A step of a copy: its next state, in whatever form, the view after it, `rewards` float32 `[n]`, bool
    `terminated` and `truncated`, and `infos`, numbers by name."""

    state: Any
    view: View
    rewards: Any
    terminated: Any
    truncated: Any
    infos: dict[str, Any]


@dataclass(frozen=True)
class Game:
    """An environment as functions that JAX can trace.

    Args:
        n_agents: n.
        n_actions: choices of an agent; 0: its actions are continuous, of `action_shape` with the bounds `low`, `high`.
        time_limit: steps of an episode, after which it is truncated.
        shares_reward: the rewards of agents are one reward that they have in common.
        reset: of a random key; the state and the view of a new episode.
        step: of a random key, a state and actions: int32 `[n]` or float32 `[n, *action_shape]`.
    """

    n_agents: int
    n_actions: int
    action_shape: tuple[int, ...]
    low: float
    high: float
    time_limit: int
    shares_reward: bool
    reset: Callable[[Any], tuple[Any, View]]
    step: Callable[[Any, Any, Any], Played]

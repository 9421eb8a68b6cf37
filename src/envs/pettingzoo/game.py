"""A parallel environment of PettingZoo with a time limit, a seed, a state and snapshots."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from envs.pettingzoo.particles import particles


class Step(NamedTuple):
    """What a step brought, by agent; and the agents that it cut off, whether it ended the episode, and by a cut."""

    obs: dict[str, Any]
    rewards: dict[str, float]
    terminations: dict[str, bool]
    infos: dict[str, dict]
    cut: list[str]
    ended: bool
    truncated: bool


class ParallelGame:
    """The episode terminates when the last agents do; it is truncated when time is up or the environment truncates
    agents that did not terminate. Agents that have died are not passed on.

    Args:
        env: the `parallel_env`.
        time_limit: steps of an episode, if the environment does not end it before.
        seed: given to the first reset; None: a random one.
    """

    def __init__(self, env: Any, time_limit: int, seed: int | None):
        from gymnasium import spaces

        self._spaces, self._env, self._seed = spaces, env, seed
        self._agents = list(env.possible_agents)
        self.episode_limit = time_limit
        self._repeats = type(getattr(env, "unwrapped", env)).__module__.startswith("mpe2.")
        # what the present episode started from, and its actions
        self._start: dict[str, Any] = {}
        self._played: list[Mapping[str, Any]] = []

    def plain_space(self, agent: str) -> Any:
        """What it sees, without the mask of its legal actions."""
        space = self._env.observation_space(agent)
        if isinstance(space, self._spaces.Dict) and "observation" in space.spaces:
            return space["observation"]
        return space

    def begin(self) -> tuple[dict, dict]:
        """Start an episode: observations and infos by agent."""
        if self._repeats:
            self._start, self._played = self._beginning(), []
        obs, infos = self._env.reset(seed=self._seed)
        # later episodes continue with the generator's state
        self._seed = None
        self._steps = 0
        self._ended = False
        return obs, infos

    def play(self, actions: Mapping[str, Any]) -> Step:
        """Let every agent that is still there act."""
        if self._repeats:
            self._played.append(actions)
        living = list(self._env.agents)
        chosen = {agent: action for agent, action in actions.items() if agent in living}
        obs, rewards, terminations, truncations, infos = self._env.step(chosen)
        self._steps += 1
        cut = [a for a in living if truncations.get(a, False) and not terminations.get(a, False)]
        left = [a for a in living if not (terminations.get(a, False) or truncations.get(a, False))]
        time_up = bool(left) and self._steps >= self.episode_limit
        self._ended = ended = not left or time_up
        return Step(obs, rewards, terminations, infos, cut, ended, ended and (time_up or bool(cut)))

    def able(self, step: Step) -> list[str]:
        """The agents that are there after a step; also those cut off: learning bootstraps from their last state."""
        return [*self._env.agents, *step.cut]

    def _keep(self, obs: dict, infos: dict, able: list[str]) -> None:
        """Note what agents see, and what those that are `able` to act can do."""
        raise NotImplementedError(f"{type(self).__name__} keeps no observations")

    def own_state(self) -> Any:
        """The environment's own global state; None if it has none."""
        try:
            return self._env.state()
        except (AttributeError, NotImplementedError):
            return None

    def forget_episode(self, seed: int | None) -> None:
        """An episode that was started to learn sizes is not one of the run's."""
        self._seed = seed
        self._ended = True

    def state_dict(self) -> dict[str, Any]:
        """At any time, of the particle environments (package mpe2); see `MultiAgentEnv`.

        Their episodes depend on their generator and the actions only, so an episode is played again up to where it
        was. For other environments that is unknown.
        """
        if not self._repeats:
            raise NotImplementedError("PettingZoo environments cannot be saved, except those of mpe2")
        if not self._ended:
            return {**self._start, "actions": [dict(chosen) for chosen in self._played]}
        return {**self._beginning(), "actions": None}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._seed, self._ended = state["seed"], True
        self._env.unwrapped.np_random.bit_generator.state = state["generator"]
        if state["actions"] is None:
            return
        shown = (*self.begin(), self._env.agents)
        for chosen in state["actions"]:
            step = self.play(chosen)
            shown = step.obs, step.infos, self.able(step)
        self._keep(*shown)

    def _beginning(self) -> dict[str, Any]:
        """What the next episode depends on."""
        return {"seed": self._seed, "generator": self._env.unwrapped.np_random.bit_generator.state}

    def snapshot(self) -> dict:
        """Of particle environments, the agents and landmarks; others do not say where anything is."""
        return particles(self.world(), self._agents)

    def scene(self) -> dict:
        return {"bounds": [-1.2, -1.2, 1.2, 1.2]}

    def world(self) -> Any:
        """Of particle environments, where everything is.

        Raises:
            NotImplementedError: it is another environment.
        """
        world = getattr(self._env.unwrapped, "world", None)
        if not hasattr(world, "landmarks"):
            raise NotImplementedError(
                f"{self._env.unwrapped} does not expose the positions of its agents, so it has no snapshots"
            )
        return world

    def seed(self, seed: int | None = None) -> None:
        self._seed = seed

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()


def plain_observation(seen: Any, info: Mapping[str, Any]) -> tuple[Any, Any]:
    """An agent's observation and the mask of its legal actions, from either place where it may be; None for neither."""
    mask = info.get("action_mask")
    if isinstance(seen, dict) and "observation" in seen:
        return seen["observation"], seen.get("action_mask", mask)
    return seen, mask

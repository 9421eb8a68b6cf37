"""The contract of an environment (PyMARL's `MultiAgentEnv`)."""

from typing import Any

import numpy as np


class MultiAgentEnv:
    """A team of `n_agents` that sees, acts and is rewarded together, one episode after another.

    A subclass sets `n_agents` and `episode_limit` and writes the methods that raise here.
    """

    n_agents: int
    episode_limit: int

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        """For `--list`: the argument that picks a map, task or game, and its values, each with a description. Raises
        NotImplementedError: the environment has no scenarios."""
        raise NotImplementedError(f"{cls.__name__} has one scenario only")

    @classmethod
    def prepare(cls, **env_args: Any) -> None:
        """Do what takes long the first time on a machine, such as compiling; called once in a run's own process,
        before any environment or environment process is made."""

    def reset(self) -> Any:
        """Start an episode. The return value is ignored: callers get observations from the methods below."""
        raise NotImplementedError(f"{type(self).__name__} has no reset")

    def step(self, actions) -> tuple[float, bool, dict]:
        """Let agent i do `actions[i]`.

        Returns:
            reward of the team; whether the episode has ended; info. If it ended because time was up, and not
            because the task did, `info["episode_limit"]` is True: learners then bootstrap from the last state.
            Numbers in the last info of an episode are logged as `<key>_mean`. Gymnasium's five values are taken, too
            (`envs.contract.validation`).
        """
        raise NotImplementedError(f"{type(self).__name__} has no step")

    def get_obs(self) -> list[np.ndarray] | np.ndarray:
        """Observation of every agent, each of `get_obs_size()` floats."""
        return [self.get_obs_agent(agent_id) for agent_id in range(self.n_agents)]

    def get_obs_agent(self, agent_id: int) -> np.ndarray:
        """Observation of one agent."""
        raise NotImplementedError(f"{type(self).__name__} has no get_obs_agent")

    def get_obs_size(self) -> int:
        """Length of an observation."""
        raise NotImplementedError(f"{type(self).__name__} has no get_obs_size")

    def get_state(self) -> np.ndarray:
        """The global state, `get_state_size()` floats; only training sees it."""
        raise NotImplementedError(f"{type(self).__name__} has no get_state")

    def get_state_size(self) -> int:
        """Length of the state."""
        raise NotImplementedError(f"{type(self).__name__} has no get_state_size")

    def get_avail_actions(self) -> list[Any] | np.ndarray:
        """For every agent a 0/1 list over all actions; at least one is 1, also when the episode has ended."""
        return [self.get_avail_agent_actions(agent_id) for agent_id in range(self.n_agents)]

    def get_avail_agent_actions(self, agent_id: int) -> list[int] | np.ndarray:
        """Legal actions of one agent, a 0/1 list over all actions."""
        return [1] * self.get_total_actions()

    def get_total_actions(self) -> int:
        """Number of actions of an agent."""
        raise NotImplementedError(f"{type(self).__name__} has no get_total_actions")

    def get_stats(self) -> dict[str, float]:
        """Statistics over all episodes so far, if the environment keeps any."""
        return {}

    def get_env_info(self) -> dict[str, int]:
        """Sizes, as ints: state_shape, obs_shape, n_actions, n_agents, episode_limit."""
        return {
            "state_shape": self.get_state_size(),
            "obs_shape": self.get_obs_size(),
            "n_actions": self.get_total_actions(),
            "n_agents": self.n_agents,
            "episode_limit": self.episode_limit,
        }

    def seed(self, seed: int | None = None) -> Any:
        """Reseed the environment. Runs use the constructor's `seed`; deterministic environments need no override."""

    def render(self) -> Any:
        """Show the environment, if it can be shown."""
        raise NotImplementedError(f"{type(self).__name__} cannot be shown")

    def snapshot(self) -> dict[str, Any]:
        """The drawable state at this step, in numbers, text, lists and dicts; docs/replays.md has the fields.

        Environments that offer it can be recorded (`save_replay=True`). It draws no random number, changes nothing.
        """
        raise NotImplementedError(f"{type(self).__name__} has no snapshots")

    def scene(self) -> dict[str, Any]:
        """The drawable state that stays the same for an episode, such as the ground."""
        return {}

    def action_names(self) -> list[list[str]]:
        """For each agent the names of all its actions in this episode; by default those of `meaning()`, or numbers."""
        said = self.meaning()
        names = None if said is None else said.action_names(self.n_agents)
        return names or [[str(action) for action in range(self.get_total_actions())]] * self.n_agents

    def meaning(self) -> Any:
        """What observations and actions mean, a `utils.meanings.Meaning`; None: the environment does not say."""
        return None

    def save_replay(self) -> Any:
        """Save a replay of the last episode, if the environment can."""
        raise NotImplementedError(f"{type(self).__name__} cannot save replays")

    def state_dict(self) -> dict[str, Any]:
        """Everything that future steps depend on, for an exact resume.

        It may hold numbers, strings, None, NumPy arrays (structured ones, too), and lists, tuples and dictionaries of
        these. Runs save between episodes; an environment may refuse to be saved during one.

        Raises:
            NotImplementedError: it cannot be saved. A resumed run then re-creates it with another seed.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot be saved")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken, in an environment made with the same arguments."""
        raise NotImplementedError(f"{type(self).__name__} cannot be saved")

    def close(self) -> None:
        """Free the environment's resources."""

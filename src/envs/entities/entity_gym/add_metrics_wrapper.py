"""Figures of rewards, lengths and entities: `entity_gym.env.add_metrics_wrapper`. Runs log their own."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.entities import ActionName, ObsSpace
from envs.entities.entity_gym.vec_env import Metric, VecEnv, VecObs, VecWrapper
from envs.entities.reading import GLOBAL


class AddMetricsWrapper(VecWrapper):
    """Adds to `VecObs.metrics`: step, reward, episodic_reward, episode_length, entity_count, entity_count/TYPE.

    Args:
        filter: bool `[S]`, of whose episodes figures are kept; None: of all.
    """

    def __init__(self, env: VecEnv, filter: np.ndarray | None = None):
        super().__init__(env)
        self.env = env
        self.entity_types = [*env.obs_space().entities, *([GLOBAL] if env.has_global_entity() else [])]
        self.total_reward = np.zeros(len(env), np.float32)
        self.total_steps = np.zeros(len(env), np.int64)
        self.filter = np.ones(len(env), bool) if filter is None else np.asarray(filter, bool)

    def reset(self, obs_config: ObsSpace) -> VecObs:
        self.total_reward[:], self.total_steps[:] = 0, 0
        return self._with_metrics(self.env.reset(obs_config))

    def act(self, actions: Mapping[ActionName, Any], obs_filter: ObsSpace) -> VecObs:
        obs = self.env.act(actions, obs_filter)
        self.total_steps += 1
        return self._with_metrics(obs)

    def _with_metrics(self, obs: VecObs) -> VecObs:
        self.total_reward += obs.reward
        none = np.zeros(len(self), np.int64)
        counts = {name: obs.features[name].lengths if name in obs.features else none for name in self.entity_types}
        ended = obs.done & self.filter
        obs.metrics |= {
            "step": _metric(self.total_steps),
            "reward": _metric(obs.reward),
            "episodic_reward": _metric(self.total_reward[ended]),
            "episode_length": _metric(self.total_steps[ended]),
            "entity_count": _metric(sum(counts.values(), none)),
            **{f"entity_count/{name}": _metric(count) for name, count in counts.items()},
        }
        self.total_reward[obs.done], self.total_steps[obs.done] = 0, 0
        return obs


def _metric(values: np.ndarray) -> Metric:
    return (
        Metric(len(values), values.sum().item(), values.min().item(), values.max().item()) if len(values) else Metric()
    )

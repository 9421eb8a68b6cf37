"""Transforms with a state: fields in units of their deviation from their mean, rewards in those of returns."""

from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.fields import with_more
from utils import rl_utils
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.numbers.running_statistics import ReturnScale, RunningNorm
from utils.tensors.schemes import is_rollout


class Normalise:
    """Fields normalised by everything that passed so far, padding apart; of each field one mean and deviation.

    Args:
        fields: their names; of floats.
        clip: of normalised values.
    """

    def __init__(self, fields: list[str], clip: float):
        self._norms = {name: RunningNorm(clip=clip) for name in fields}

    def __call__(self, batch: EpisodeBatch, context: Any) -> EpisodeBatch:
        changed = {}
        for name, norm in self._norms.items():
            if name not in batch.data.transition_data:
                known = batch.data.transition_data
                raise ConfigError(f"{context.key}.normalise: no field '{name}' in the batch.{suggestion(name, known)}")
            values = batch[name]
            filled = (batch["filled"] > 0).view(*values.shape[:2], *[1] * (values.dim() - 2))
            norm.update(values[filled.expand_as(values)])
            changed[name] = th.where(filled, norm.normalize(values), 0.0)
        return with_more(batch, changed)

    def state_dict(self) -> dict[str, Any]:
        return {name: norm.state_dict() for name, norm in self._norms.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, norm in self._norms.items():
            norm.load_state_dict(state[name])


class ScaleRewards:
    """Rewards in units of the deviation of discounted returns so far (`utils.numbers.running_statistics.ReturnScale`).

    The row b of a rollout continues that of the last one of its source. What is stored keeps the units of its time.

    Args:
        gamma: discount of the returns.
    """

    def __init__(self, gamma: float):
        self._scale = ReturnScale(gamma)
        # by source, those in progress where its rollout ends, `[B, k]`
        self._returns: dict[int, th.Tensor] = {}

    def __call__(self, batch: EpisodeBatch, context: Any) -> EpisodeBatch:
        rewards = rl_utils.rewards_of(batch)
        over = th.maximum(batch["terminated"], batch["truncated"])[:, :-1].float()
        before = rewards.new_zeros(len(rewards), rewards.size(2))
        known = self._returns.get(context.source)
        if is_rollout(batch) and known is not None and before.shape == known.shape:
            before += known
        scaled = self._scale(rewards, over, rl_utils.valid_transitions(batch), before)
        self._returns[context.source] = before
        found = th.cat([scaled, th.zeros_like(scaled[:, :1])], dim=1)
        return with_more(batch, {"reward": found.view(batch["reward"].shape)})

    def state_dict(self) -> dict[str, Any]:
        return {"scale": self._scale.state_dict(), "returns": dict(self._returns)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._scale.load_state_dict(state["scale"])
        self._returns = dict(state["returns"])


def clip_rewards(batch: EpisodeBatch, context: Any, most: float) -> EpisodeBatch:
    """Rewards between -most and most (Mnih et al. 2015)."""
    return with_more(batch, {"reward": batch["reward"].clamp(-most, most)})

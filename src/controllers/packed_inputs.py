"""What agents see at the filled steps of a batch, in parts that their first layer adds up."""

from dataclasses import dataclass

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from components.packing import PackedSteps


@dataclass
class PackedInputs:
    """The inputs `BasicMAC._build_inputs` puts side by side, at the P filled steps of n agents each.

    `obs`: `[P * n, O]`. `others`: last action and agent id, as far as agents see them, `[P * n, E]`, or None.
    """

    steps: PackedSteps
    obs: th.Tensor
    others: th.Tensor | None

    @classmethod
    def of(cls, batch, steps: PackedSteps, last_action: bool, agent_id: bool) -> "PackedInputs":
        obs = steps.take(batch["obs"])
        n_agents = obs.size(1)
        parts = []
        if last_action:
            parts.append(_last_actions(batch["actions_onehot"], steps))
        if agent_id:
            parts.append(th.eye(n_agents, device=obs.device).expand(len(obs), -1, -1))
        others = th.cat(parts, dim=-1).flatten(0, 1) if parts else None
        return cls(steps, obs.reshape(len(obs) * n_agents, -1), others)

    def through(self, layer: nn.Linear) -> th.Tensor:
        """Outputs of `layer`, which takes the observation first and then the others: `[P * n, H]`."""
        if self.others is None:
            return layer(self.obs)
        of_obs, of_others = layer.weight.split([self.obs.size(1), self.others.size(1)], dim=1)
        return F.linear(self.others, of_others, layer.bias) + F.linear(self.obs, of_obs)


def _last_actions(onehot: th.Tensor, steps: PackedSteps) -> th.Tensor:
    """Of one-hot actions `[B, T, n, A]`, those of the step before: `[P, n, A]`, zeros at the first step."""
    first = steps.sizes[0]
    flat = onehot.reshape(-1, *onehot.shape[2:])
    return th.cat([flat.new_zeros(first, *flat.shape[1:]), flat.index_select(0, steps.rows[first:] - 1)])

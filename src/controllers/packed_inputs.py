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
    `hidden_before`: of a rollout's rows, `[B, n, H]`.
    """

    steps: PackedSteps
    obs: th.Tensor
    others: th.Tensor | None
    hidden_before: th.Tensor | None = None

    @classmethod
    def of(cls, batch, steps: PackedSteps, last_action: bool, agent_id: bool) -> "PackedInputs":
        obs = steps.take(batch["obs"])
        n_agents = obs.size(1)
        parts = []
        if last_action:
            parts.append(_last_actions(batch, steps))
        if agent_id:
            parts.append(th.eye(n_agents, device=obs.device).expand(len(obs), -1, -1))
        others = th.cat(parts, dim=-1).flatten(0, 1) if parts else None
        hidden_before = batch["hidden_before"] if "hidden_before" in batch.scheme else None
        return cls(steps, obs.reshape(len(obs) * n_agents, -1), others, hidden_before)

    def hidden_at_start(self, initial: th.Tensor) -> th.Tensor:
        """Hidden states before the first step of every sequence, `[S, n, H]`, from the `initial` ones."""
        return self.steps.at_start(self.hidden_before, initial)

    def through(self, layer: nn.Linear) -> th.Tensor:
        """Outputs of `layer`, which takes the observation first and then the others: `[P * n, H]`."""
        if self.others is None:
            return layer(self.obs)
        of_obs, of_others = layer.weight.split([self.obs.size(1), self.others.size(1)], dim=1)
        return F.linear(self.others, of_others, layer.bias) + F.linear(self.obs, of_obs)


def _last_actions(batch, steps: PackedSteps) -> th.Tensor:
    """One-hot actions of the step before: `[P, n, A]`, zeros where an episode begins."""
    onehot = batch["actions_onehot"]
    first = steps.sizes[0]
    flat = onehot.reshape(-1, *onehot.shape[2:])
    before = batch["last_actions_before"] if steps.continued is not None else None
    at_start = steps.at_start(before, flat.new_zeros(first, *flat.shape[1:]))
    return th.cat([at_start, flat.index_select(0, steps.rows[first:] - 1)])

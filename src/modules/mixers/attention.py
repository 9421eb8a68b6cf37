"""Attention over agents: what mixers that have it share."""

import numpy as np
import torch as th
import torch.nn as nn

from modules.mixers.heads import all_heads
from utils.errors import ConfigError


class OwnParts:
    """What of a state is an agent's own: its observation, or `agent_own_state_size` = U numbers of the first n U.

    Attributes:
        size: how many numbers an agent's part has.

    Raises:
        ConfigError: the state is shorter than that, or there is no observation.
    """

    def __init__(self, args):
        self._n_agents, self._in_state = args.n_agents, bool(args.agent_own_state_size)
        state_dim = int(np.prod(args.state_shape))
        own = args.agent_own_state_size
        if own * args.n_agents > state_dim:
            most = state_dim // args.n_agents
            raise ConfigError(
                f"agent_own_state_size={own}: the state has {state_dim} numbers, {most} for each of {args.n_agents} "
                f"agents. Use {most} or less, or 0 for observations."
            )
        if not own and args.obs_shape is None:
            raise ConfigError(
                f"mixer={args.mixer}: the environment has no observation of one shape. Set agent_own_state_size."
            )
        self.size = own or int(np.prod(args.obs_shape))

    def __call__(self, states: th.Tensor, obs: th.Tensor) -> th.Tensor:
        """States `[N, S]` and observations of as many steps, `[..., n, O]` -> `[N, n, size]`."""
        own = states[:, : self.size * self._n_agents] if self._in_state else obs
        return own.reshape(-1, self._n_agents, self.size)


def attention_logits(queries: nn.ModuleList, keys: nn.ModuleList, states: th.Tensor, own: th.Tensor) -> th.Tensor:
    """q_h(s) . k_hi of H heads of attention, not yet scaled: states `[N, S]`, own parts `[N, n, U]` -> `[H, N, n]`."""
    of_states = all_heads(queries, states)
    of_agents = all_heads(keys, own.flatten(0, 1)).unflatten(1, own.shape[:2])
    return (of_agents * of_states.unsqueeze(2)).sum(dim=-1)

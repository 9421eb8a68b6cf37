"""QPLEX whose agents' values are scaled by attention, as Qatten weighs them (Wang et al. 2021, their `dmaq_qatten`)."""

from typing import Any

import torch as th
import torch.nn as nn

from modules.mixers.attention import OwnParts, attention_logits
from modules.mixers.heads import mlp
from modules.mixers.qplex import SMALLEST, QPLEXMixer


class DMAQQattenMixer(QPLEXMixer):
    """`QPLEXMixer` with w_i(s) = sum_h c_h(s) softmax_i(k_hi . q_h(s)) over heads of attention, and b_i(s) = V(s) / n.

    With `weighted_heads`, c_h(s) >= 0 is a network, else 1. Keys are as in `QattenMixer`; queries, keys and the hidden
    layer of V have `mixing_embed_dim` units. The names of weights are those of the authors' code.
    """

    def __init__(self, args: Any):
        super().__init__(args)
        # whether `regulariser` counts padded steps, too
        self.regularises_padding = self.args.attend_padding

    def _make_scale(self) -> None:
        self.attention_weight = AttentionWeights(self.args, self.state_dim)

    def forward(  # type: ignore[override]
        self, agent_qs: th.Tensor, states: th.Tensor, actions: th.Tensor, greedy_qvals: th.Tensor, obs: th.Tensor
    ) -> th.Tensor:
        """As `QPLEXMixer.forward`; `obs`: `[B, T, n, O]`."""
        states = states.reshape(-1, self.state_dim)
        return self._joint(agent_qs, states, actions, greedy_qvals, self.attention_weight(states, obs))

    def regulariser(self, states: th.Tensor, obs: th.Tensor) -> th.Tensor:
        """`attend_reg_coef` times the heads' sum of mean squared q . k, which keeps attention from deciding too early.

        States `[B, T, S]` and observations `[B, T, n, O]` -> `[B, T, 1]`.
        """
        rows, steps = states.shape[:2]
        logits = self.attention_weight.logits(states.reshape(-1, self.state_dim), obs)
        return self.args.attend_reg_coef * logits.square().mean(dim=-1).sum(dim=0).view(rows, steps, 1)


class AttentionWeights(nn.Module):
    """w(s) and b(s)."""

    def __init__(self, args: Any, state_dim: int):
        super().__init__()
        self.args, self.own = args, OwnParts(args)
        heads, hidden, width = range(args.n_attention_head), args.hypernet_embed, args.mixing_embed_dim
        self.selector_extractors = nn.ModuleList(mlp(state_dim, hidden, 2, width, bias=False) for _ in heads)
        self.key_extractors = nn.ModuleList(nn.Linear(self.own.size, width, bias=False) for _ in heads)
        self.V = mlp(state_dim, width, 2, 1)
        if args.weighted_heads:
            self.hyper_w_head = mlp(state_dim, hidden, 2, args.n_attention_head)

    def forward(self, states: th.Tensor, obs: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Of states `[N, S]` and observations `[..., n, O]`: `[N, n]` and `[N, 1]`."""
        shares = th.softmax(self.logits(states, obs) / self.args.mixing_embed_dim**0.5, dim=-1)
        if self.args.weighted_heads:
            shares = shares * self.hyper_w_head(states).abs().T.unsqueeze(-1)
        return shares.sum(dim=0) + SMALLEST, self.V(states) / self.args.n_agents

    def logits(self, states: th.Tensor, obs: th.Tensor) -> th.Tensor:
        """q_h(s) . k_hi, `[H, N, n]`."""
        return attention_logits(self.selector_extractors, self.key_extractors, states, self.own(states, obs))

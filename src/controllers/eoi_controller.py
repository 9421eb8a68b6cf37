"""The controller of EOI: in some episodes agents act now and then by the values of being known (Jiang & Lu 2021)."""

from math import prod
from typing import Any

import torch as th

from controllers.basic_controller import BasicMAC
from controllers.decisions import Decision, best_of
from modules.individuality import ObservationNet
from utils.tensors.schemes import as_seen, observed_fields, seen_shape

# the field of batches that says of each step of an episode whether it is one of these
EXPLORED = "explores_by_ivf"


class EOIMAC(BasicMAC):
    """`BasicMAC` with intrinsic values `agent.ivf`: observation and agent id `[..., I + n]` -> values `[..., A]`.

    With the probability `episode_ratio` an episode is one in which, with `explore_ratio` in each step, one agent takes
    the legal action of the largest intrinsic value. Decisions have the extra "explores_by_ivf", `[rows, 1]`, by
    which the rest of the episode knows; in batches without that field, and in tests, nobody explores so.
    """

    def __init__(self, scheme, groups, args):
        self._scheme, self._fields = scheme, observed_fields(scheme)
        self.seen_size = sum(prod(seen_shape(scheme[key])) for key in self._fields)
        super().__init__(scheme, groups, args)
        self._explored: th.Tensor | None = None  # of the last decision

    def _build_agents(self, input_shape: int) -> None:
        super()._build_agents(input_shape)
        # after agents got weights of their own, which it has not
        size = self.seen_size + self.n_agents
        self.agent.ivf = ObservationNet(size, self.args.eoi_hidden_dim, self.args.n_actions)

    def seen(self, batch: Any, steps: Any) -> th.Tensor:
        """What agents see at some steps, `[B, T, n, I]` or, at one, `[B, n, I]`."""
        parts = [as_seen(self._scheme[key], batch[key][:, steps]) for key in self._fields]
        axes = parts[0].dim() - len(seen_shape(self._scheme[self._fields[0]]))
        return th.cat([part.flatten(axes) for part in parts], dim=-1)

    def with_ids(self, seen: th.Tensor) -> th.Tensor:
        """Observations `[..., n, I]` and who sees them, one-hot."""
        ids = th.eye(self.n_agents, device=seen.device).expand(*seen.shape[:-1], self.n_agents)
        return th.cat([seen, ids], dim=-1)

    def _choose(self, batch, t: int, t_env: int, rows, test_mode: bool) -> tuple[Any, th.Tensor, th.Tensor]:
        chosen, outputs, legal = super()._choose(batch, t, t_env, rows, test_mode)
        if EXPLORED not in batch.scheme:
            return chosen, outputs, legal
        chances = th.rand(len(chosen), 3, device=outputs.device)
        explores = batch[EXPLORED][rows, t - 1] > 0 if t > 0 else chances[:, :1] < self.args.episode_ratio
        self._explored = explores.float()
        if not test_mode:
            who = (chances[:, 2:] * self.n_agents).long() == th.arange(self.n_agents, device=outputs.device)
            with th.no_grad():
                values = self.agent.ivf(self.with_ids(self.seen(batch, t)[rows]))
            now = explores & (chances[:, 1:2] < self.args.explore_ratio)
            chosen = th.where(now & who, best_of(values, legal), chosen)
        return chosen, outputs, legal

    def _explained(self, returned: Any, outputs: th.Tensor, avail_actions: th.Tensor) -> Decision:
        decision = super()._explained(returned, outputs, avail_actions)
        if self._explored is not None:
            decision.extras = {**decision.extras, EXPLORED: self._explored}
        return decision

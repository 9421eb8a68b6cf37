"""The controller of MAVEN: at the start of each episode it draws the latent variable that agents act by."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from controllers.basic_controller import BasicMAC
from controllers.decisions import Decision
from controllers.hidden_states import by_agent
from controllers.inputs import PackedInputs
from utils.tensors.tensor_trees import Tree

# units of the hidden layer of the policy of latents, as MAVEN's authors have it
HIDDEN = 128


class MAVENMAC(BasicMAC):
    """`BasicMAC` with a policy of latents, `latent_policy`: state `[B, S]` -> logits `[B, Z]` (Mahajan et al. 2019).

    The latent, one-hot, is a part of the agents' memory, where zeros say that there is none yet; so it lasts as long as
    an episode, under every runner. Decisions have it as the extra "noise", `[rows, Z]`, and unrolled batches that have
    the field are valued by it. It is drawn in tests, too.
    """

    def __init__(self, scheme, groups, args):
        super().__init__(scheme, groups, args)
        # of the last decision, and of the batch that is being unrolled, `[rows, Z]`; None: memories start without one
        self._latents: Any = None
        self._latents_given: th.Tensor | None = None

    def _build_agents(self, input_shape: int) -> None:
        super()._build_agents(input_shape)
        # after agents got weights of their own, which it has not
        layers = nn.Linear(self.args.state_shape, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, self.args.noise_dim)
        self.agent.latent_policy = nn.Sequential(*layers)

    def init_hidden(self, batch_size: int) -> None:
        """Set `hidden_states` to (zeros `[B, n, H]`, latents `[B, n, Z]`)."""
        super().init_hidden(batch_size)
        if self._latents_given is not None:
            self.hidden_states = self.hidden_states[0], self._of_agents(self._latents_given)

    def unroll(self, ep_batch, test_mode: bool = False) -> tuple[th.Tensor, Tree]:
        """As `BasicMAC.unroll`, by the latents of the batch."""
        with self._given(self._latents_of(ep_batch)[:, 0]):
            return super().unroll(ep_batch, test_mode=test_mode)

    def unroll_packed(
        self, inputs: PackedInputs, avail_actions: Any, test_mode: bool = False
    ) -> tuple[th.Tensor, Tree]:
        """As `BasicMAC.unroll_packed`, by the latents of the batch."""
        with self._given(inputs.steps.take(self._latents_of(inputs.batch))[: inputs.steps.sizes[0]]):
            return super().unroll_packed(inputs, avail_actions, test_mode)

    def _choose(self, batch, t: int, t_env: int, rows, test_mode: bool) -> tuple[Any, th.Tensor, th.Tensor]:
        hidden, latents = by_agent(self.hidden_states, batch.batch_size, self.n_agents)
        missing = latents[:, 0].sum(dim=-1, keepdim=True) == 0
        chances = th.empty_like(latents[:, 0]).exponential_()  # at every step, so that a GPU draws as many
        # which nobody asks whether there are any
        if not missing.is_cpu or missing.any():
            with th.no_grad():
                drawn = self._drawn(batch["state"][:, t], chances)
            latents = th.where(missing.unsqueeze(1), self._of_agents(drawn), latents)
            self.hidden_states = hidden, latents
        self._latents = latents[rows, 0]
        return super()._choose(batch, t, t_env, rows, test_mode)

    def _explained(self, returned: Any, outputs: th.Tensor, avail_actions: th.Tensor) -> Decision:
        decision = super()._explained(returned, outputs, avail_actions)
        decision.extras = {**decision.extras, "noise": self._latents}
        return decision

    def _latents_of(self, batch) -> th.Tensor:
        """At each step, `[B, T, Z]`; drawn for a batch of other learners, which has none."""
        if "noise" in batch.scheme:
            return batch["noise"]
        states = batch["state"][:, 0]
        drawn = self._drawn(states, states.new_empty(len(states), self.args.noise_dim).exponential_())
        return drawn.unsqueeze(1).expand(-1, batch.max_seq_length, -1)

    def _drawn(self, states: th.Tensor, chances: th.Tensor) -> th.Tensor:
        """One latent for each state `[B, S]`, by exponential numbers `[B, Z]`: one-hot `[B, Z]`."""
        policy = self.agent.latent_policy(states).softmax(dim=-1)
        return F.one_hot((policy / chances).argmax(dim=-1), policy.size(1)).to(policy.dtype)

    def _of_agents(self, latents: th.Tensor) -> th.Tensor:
        return latents.unsqueeze(1).expand(-1, self.n_agents, -1).contiguous()

    @contextmanager
    def _given(self, latents: th.Tensor) -> Iterator[None]:
        self._latents_given = latents
        try:
            yield
        finally:
            self._latents_given = None

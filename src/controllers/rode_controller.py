"""The controller of agents with roles that they choose now and then (RODE, Wang et al. 2021)."""

import torch as th

from controllers.basic_controller import BasicMAC
from controllers.decisions import Decision


class RODEMAC(BasicMAC):
    """Every `role_interval` steps agents choose roles, at random with the probability epsilon, and act within these.

    Decisions have the extra "roles", int64 `[rows, n, 1]`. `forward` and `unroll` do not explore.
    """

    supports_unroll = supports_packing = True

    def decide(self, batch, t: int, t_env: int, rows=slice(None), test_mode: bool = False) -> Decision:
        decision = super().decide(batch, t, t_env, rows, test_mode)
        decision.extras = {**decision.extras, "roles": self._roles(batch)[rows]}
        return decision

    def _acting_outputs(self, batch, t: int, test_mode: bool) -> th.Tensor:
        outputs = super()._acting_outputs(batch, t, test_mode)
        if test_mode:
            return outputs
        memory = self.hidden_states
        begins = memory["step"] % self.agent.args.role_interval == 1 % self.agent.args.role_interval
        explores = begins & (th.rand_like(memory["role"]) < self.action_selector.epsilon)
        drawn = th.randint_like(memory["role"], len(self.agent.role_vectors))
        self.hidden_states = {**memory, "role": th.where(explores, drawn, memory["role"])}
        hidden = memory["hidden"].reshape(batch.batch_size, self.n_agents, -1)
        return self.agent.values(hidden, self._roles(batch))

    def _choices(self, batch, t: int) -> th.Tensor:
        return self.agent.legal(batch["avail_actions"][:, t], self._roles(batch))

    def _roles(self, batch) -> th.Tensor:
        return self.hidden_states["role"].reshape(batch.batch_size, self.n_agents, 1).long()

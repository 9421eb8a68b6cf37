"""The controller of a coordination graph's agents, who agree on a joint action (DCG, Boehmer et al. 2020)."""

import torch as th

from controllers.basic_controller import BasicMAC
from modules.coordination import values_beside


class DCGMAC(BasicMAC):
    """Each agent's utilities by its own inputs; when they act, the best joint action by messages (max-sum).

    `forward` and `unroll` give utilities, `[..., n, A]`. What action selectors choose from is the value of each agent's
    actions beside the best joint action of the others. An agent that explores leaves the others to theirs.
    """

    supports_unroll = supports_packing = supports_prepared = True

    def _acting_outputs(self, batch, t: int, test_mode: bool) -> th.Tensor:
        utilities = super()._acting_outputs(batch, t, test_mode)
        hidden = self.hidden_states.reshape(*utilities.shape[:2], -1)
        legal = batch["avail_actions"][:, t]
        graph = self.agent.graph(utilities, hidden)
        best = self.agent.greedy(graph, legal)
        values = values_beside(graph, best)
        # messages may miss an agent's best reply: what they found is the team's choice nevertheless
        largest = values.masked_fill(legal == 0, -th.inf).amax(dim=-1, keepdim=True)
        return values.scatter(-1, best, largest.nextafter(th.full_like(largest, th.inf)))

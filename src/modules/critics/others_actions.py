"""Values of an agent's actions for any actions of the others (Pareto actor-critic, Christianos et al. 2023)."""

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.critics import REGISTRY
from modules.critics.team_inputs import TeamInputs
from modules.fast_linear import FastLinear
from modules.initialisation import orthogonal
from modules.unshared import linear, linear_for_all, unshare
from utils.config.merging import with_defaults
from utils.errors import ConfigError

# joint actions of the others, of which each has a pass through the network
MOST = 20_000
# numbers of a layer in one pass
AT_ONCE = 2**23


class OthersActionsCritic(nn.Module):
    """Q_i(s, (u_-i, .)) of each agent i, by three linear layers with rectifiers between them.

    Inputs: those of `TeamInputs`, and the others' actions in the order of the agents.

    Raises:
        ConfigError: the others have too many joint actions.
    """

    joint_actions: th.Tensor
    others: th.Tensor

    def __init__(self, scheme, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_agents, n_actions, others = args.n_agents, args.n_actions, args.n_agents - 1
        if n_actions**others > MOST:
            raise ConfigError(
                f"critic=pac looks at each of the {n_actions}^{others} joint actions of an agent's {others} others, "
                f"for {MOST} at most. Use --config=epymarl_pac_dcg_ns."
            )
        # EPyMARL's shared critic cannot tell the agents apart
        self._inputs = TeamInputs(scheme, args, args.critic_agent_id and args.pac_agent_id)
        self._sizes = [*self._inputs.sizes, n_actions * others]
        width = args.critic_hidden_dim
        self.fc1 = FastLinear(sum(self._sizes), width)
        self.fc2 = FastLinear(width, width)
        self.fc3 = FastLinear(width, n_actions)
        if not args.share_critic_params:
            unshare(self, self.n_agents, "critics")
        if args.orthogonal_init:
            orthogonal(self, 1.0)
        number = [[j for j in range(self.n_agents) if j != i] for i in range(self.n_agents)]
        self.register_buffer("others", th.tensor(number, dtype=th.long).view(self.n_agents, others), persistent=False)
        choices = [th.arange(n_actions)] * others
        joint = th.cartesian_prod(*choices).view(-1, others) if others else th.zeros(1, 0, dtype=th.long)
        self.register_buffer("joint_actions", F.one_hot(joint, n_actions).flatten(1).float(), persistent=False)

    def of_taken(self, batch) -> th.Tensor:
        """Values of the actions taken, given those of the others, `[B, T, n]`."""
        x = self._of_seen(batch)
        if self.n_agents > 1:
            of_others = batch["actions_onehot"].float()[:, :, self.others].flatten(3)
            x = x + linear(of_others, self._parts()[-1])
        return self._of_own(self._after_first(x), batch)

    def best_of_own(self, batch) -> th.Tensor:
        """The largest values of the actions taken, over all actions of the others, `[B, T, n]` (eq. 7)."""
        seen, of_others = self._of_seen(batch), self._parts()[-1]
        each = seen.numel() // seen.size(2) * (self.n_agents if of_others.dim() == 3 else seen.size(2))
        best: th.Tensor | None = None
        for joint in self.joint_actions.split(max(AT_ONCE // each, 1)):
            # joint actions come before agents: layers' rows are agents'
            values = self._after_first(seen.unsqueeze(2) + linear_for_all(joint, of_others)).amax(dim=2)
            best = values if best is None else th.maximum(best, values)
        assert best is not None
        return self._of_own(best, batch)

    def _parts(self) -> tuple[th.Tensor, ...]:
        return self.fc1.weight.split(self._sizes, dim=-1)

    def _of_seen(self, batch) -> th.Tensor:
        """What the first layer makes of all inputs but the others' actions, `[B, T, 1 or n, H]`."""
        return self._inputs.through(batch, self._parts()[:-1], self.fc1.bias)

    def _after_first(self, x: th.Tensor) -> th.Tensor:
        return self.fc3(F.relu(self.fc2(F.relu(x))))

    def _of_own(self, values: th.Tensor, batch) -> th.Tensor:
        """Values `[B, T, 1 or n, A]` of the agents' own actions, `[B, T, n]`."""
        return values.expand(-1, -1, self.n_agents, -1).gather(3, batch["actions"]).squeeze(3)

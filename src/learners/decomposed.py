"""The common part of actor-critics whose agents' values a linear mixer adds up: DOP, ICQ."""

from learners.base import BaseLearner
from learners.targets import last_update
from modules.critics import REGISTRY as critic_REGISTRY
from modules.mixers import build_mixer
from utils.tensors.optimisers import build_optimiser


class DecomposedActorCritic(BaseLearner):
    """Stochastic policies of agents, and a critic Q_tot(s, u) = sum_i k_i(s) Q_i(s, o_i, u_i) + b(s)."""

    last_target_update_step = last_update()

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        critic, mixer = critic_REGISTRY[self.args.critic](scheme, self.args), build_mixer(self.args.mixer, self.args)
        self.critic, self.target_critic = self.add_network("critic", critic)
        self.mixer, self.target_mixer = self.add_network("mixer", mixer)
        self.agent_optimiser = build_optimiser(list(mac.parameters()), self.args.lr, self.args)
        of_values = [*self.critic.parameters(), *self.mixer.parameters()]
        self.critic_optimiser = build_optimiser(of_values, self.args.critic_lr, self.args)
        self.optimisers = {"agent_opt": self.agent_optimiser, "critic_opt": self.critic_optimiser}
        self.critic_training_steps = 0

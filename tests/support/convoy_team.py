"""A controller and a learner for the drones of the convoy: two branches, one of them continuous, rewards by agent."""

import os

import torch as th
import torch.nn as nn
from torch.distributions import Categorical, Normal

from checkpoints.model_files import load_weights, save_weights
from controllers import REGISTRY as controllers
from controllers.decisions import Decision
from controllers.inputs import AgentInputs
from controllers.unroll import unroll_mac
from envs import REGISTRY as environments
from learners import REGISTRY as learners
from learners.base import BaseLearner
from learners.q_targets import masked_mean
from utils.rl_utils import rewards_of, td_lambda_returns, terminations, valid_transitions

FLY, LAMP = slice(0, 2), slice(2, None)  # of the network's outputs


class Pilot(nn.Module):
    """Inputs `[N, I]` and memory `[N, H]` -> mean of the flight `[N, 2]`, logits of the lamp `[N, 3]`, memory."""

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.cell, self.heads = nn.GRUCell(size, hidden), nn.Linear(hidden, 5)

    def forward(self, inputs, hidden):
        hidden = self.cell(inputs, hidden)
        return self.heads(hidden), hidden


class PilotMAC:
    """Flies around the mean, with a standard deviation of 0.5 unless it is tested."""

    supports_decide = True

    def __init__(self, scheme, groups, args):
        self.n_agents, self.hidden = groups["agents"], args.rnn_hidden_dim
        self.inputs = AgentInputs(scheme, args)
        self.agent = Pilot(self.inputs.size, self.hidden)
        self.hidden_states = None

    def init_hidden(self, batch_size):
        self.hidden_states = self.agent.heads.weight.new_zeros(batch_size, self.n_agents, self.hidden)

    def forward(self, batch, t):
        outputs, hidden = self.agent(self.inputs.at(batch, t), self.hidden_states.reshape(-1, self.hidden))
        self.hidden_states = hidden.view(batch.batch_size, self.n_agents, -1)
        return outputs.view(batch.batch_size, self.n_agents, -1)

    @th.no_grad()
    def decide(self, batch, t, t_env, rows=slice(None), test_mode=False):
        flight, lamp = policy(self.forward(batch, t)[rows], batch["lamps"][rows, t])
        if test_mode:
            fly, switched = flight.mean, lamp.probs.argmax(-1)
        else:
            fly, switched = flight.sample(), lamp.sample()
        log_prob = flight.log_prob(fly).sum(-1) + lamp.log_prob(switched)
        return Decision({"fly": fly, "lamp": switched}, {"log_prob": log_prob.unsqueeze(-1)})

    def parameters(self):
        return self.agent.parameters()

    def load_state(self, other):
        self.agent.load_state_dict(other.agent.state_dict())

    def cuda(self):
        self.agent.cuda()

    def save_models(self, path):
        save_weights(self.agent, os.path.join(path, "agent.th"))

    def load_models(self, path):
        load_weights(self.agent, os.path.join(path, "agent.th"))


def policy(outputs, lamps):
    """The distributions of the two branches."""
    return Normal(outputs[..., FLY], 0.5), Categorical(logits=outputs[..., LAMP].masked_fill(lamps == 0, -1e10))


class PilotLearner(BaseLearner):
    """REINFORCE for each drone by itself, on what was really done while it was there."""

    needs_acting = ("log_prob",)

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.optimisers["opt"] = th.optim.Adam(list(mac.parameters()), lr=args.lr)

    def train(self, batch, t_env, episode_num):
        mask = valid_transitions(batch, by_agent=True)
        rewards = rewards_of(batch)
        ended = terminations(batch, by_agent=True)
        returns = td_lambda_returns(rewards, ended, mask, th.zeros_like(rewards), self.args.gamma, 1.0)
        outputs, _ = unroll_mac(self.mac, batch)
        flight, lamp = policy(outputs[:, :-1], batch["lamps"][:, :-1])
        log_prob = flight.log_prob(batch["fly"][:, :-1]).sum(-1) + lamp.log_prob(batch["lamp"][:, :-1].squeeze(3))
        loss = -masked_mean(log_prob * (returns - masked_mean(returns, mask)), mask)
        grad_norm = self._step(self.optimisers["opt"], loss)
        if self._log_due(t_env):
            off = masked_mean((batch["log_prob"][:, :-1].squeeze(3) - log_prob.detach()).abs(), mask)
            self._log({"loss": loss.item(), "grad_norm": grad_norm, "off_policy": off.item()}, t_env)


def register() -> None:
    """Bring convoy and drones into the registries."""
    environments.declare(
        "convoy", "convoy:Convoy", "trucks and drones, for tests", light=True, batched="convoy:ConvoyBatch"
    )
    controllers.declare(
        "pilot_mac",
        "convoy_team:PilotMAC",
        "flies drones",
        reads=("obs_agent_id", "obs_last_action"),
        takes=("continuous", "branches"),
    )
    learners.declare(
        "pilot_learner",
        "convoy_team:PilotLearner",
        "REINFORCE",
        on_policy=True,
        buffers=("rollout",),
        reads=(),
        takes=("continuous", "branches", "agent_rewards"),
    )

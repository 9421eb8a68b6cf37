"""A plugin: a plain Q-learner that learns, and learners that are broken, each in another way."""

import torch as th

from controllers.unroll import unroll_mac
from learners import REGISTRY
from learners.ppo_learner import PPOLearner
from learners.q_learner import QLearner
from learners.q_targets import gather_actions, masked_mean
from utils.rl_utils import rewards_of, terminations, valid_transitions


class Plain(QLearner):
    """One-step Q-learning of each agent; the methods below are what the others break."""

    def train(self, batch, t_env, episode_num):
        outputs = self.outputs(self.mac, batch)
        chosen = self.chosen(outputs[:, :-1], batch["actions"][:, :-1])
        with th.no_grad():
            following = self.outputs(self.target_mac, batch).amax(dim=-1)[:, 1:]
            targets = self.rewards(batch) + self.following(following, batch)
        td_error = chosen - targets
        mask = valid_transitions(batch).expand_as(td_error)
        self.improve(masked_mean(td_error**2, mask))
        self.follow(episode_num)
        if self._log_due(t_env):
            logged = {"td_error_abs": td_error.abs(), "q_taken_mean": chosen, "target_mean": targets}
            self._log({key: masked_mean(x, mask).item() for key, x in logged.items()}, t_env)

    def outputs(self, mac, batch):
        return unroll_mac(mac, batch)[0]

    def chosen(self, outputs, actions):
        return gather_actions(outputs, actions)

    def rewards(self, batch):
        return rewards_of(batch)

    def following(self, values, batch):
        return self.args.gamma * (1 - terminations(batch)) * values

    def improve(self, loss):
        self._step(self.optimiser, loss)

    def follow(self, episode_num):
        self._update_targets_every(20, episode_num)


class NoStep(Plain):
    def improve(self, loss):
        loss.backward()


class NegativeReward(Plain):
    def rewards(self, batch):
        return -rewards_of(batch)


class OtherRows(Plain):
    def chosen(self, outputs, actions):
        return gather_actions(outputs, actions).roll(1, dims=0)


class NoBootstrap(Plain):
    def following(self, values, batch):
        return 0 * values


class DiscountsTwice(Plain):
    def following(self, values, batch):
        return self.args.gamma * super().following(values, batch)


class PastTheEnd(Plain):
    def following(self, values, batch):
        return self.args.gamma * values


class OldTarget(Plain):
    def follow(self, episode_num):
        pass


class BestNotTaken(Plain):
    def chosen(self, outputs, actions):
        return outputs.amax(dim=-1)


class OtherAgentsActions(Plain):
    def chosen(self, outputs, actions):
        return gather_actions(outputs, actions.roll(1, dims=2))


class ForgetsInTraining(Plain):
    def outputs(self, mac, batch):
        return th.cat([unroll_mac(mac, batch[:, t : t + 1])[0] for t in range(batch.max_seq_length)], dim=1)


class WrongWay(PPOLearner):
    def estimates(self, batch, rewards=None):
        found = super().estimates(batch, rewards)
        return {**found, "advantages": -found["advantages"]}


# learner -> (preset it takes the place in, the probe that catches it)
BROKEN = {
    NoStep: ("iql", "constant"),
    NegativeReward: ("iql", "constant"),
    OtherRows: ("iql", "observation"),
    NoBootstrap: ("iql", "delay"),
    DiscountsTwice: ("iql", "delay"),
    PastTheEnd: ("iql", "delay"),
    OldTarget: ("iql", "delay"),
    BestNotTaken: ("iql", "action"),
    WrongWay: ("ippo", "action"),
    OtherAgentsActions: ("iql", "joint"),
    ForgetsInTraining: ("iql", "memory"),
}


def register():
    """Make them known, as a plugin of theirs would."""
    of_ppo = REGISTRY.entry("ppo_learner")
    for learner in (Plain, *BROKEN):
        if issubclass(learner, PPOLearner):
            REGISTRY.declare(learner.__name__, learner, "broken", options=of_ppo.options, **of_ppo.traits)
        else:
            REGISTRY[learner.__name__] = learner

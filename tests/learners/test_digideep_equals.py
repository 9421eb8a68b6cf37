"""The presets with Digideep's name learn as its agents do (e42f10a): whole updates, written here from its formulas.

The network's weights are ours; the losses, the order of the steps and the targets' moves are those of its `sac.Agent`,
`sacv2.Agent` and `ddpg.Agent`, in plain torch. What differs on purpose (masks, ends by time) is in docs/digideep.md.
"""

import numpy as np
import pytest
import torch as th
import torch.nn.functional as F
from torch.distributions import Normal

from cli.compose import compose_config
from controllers import REGISTRY as CONTROLLERS
from learners import REGISTRY
from modules.critics import REGISTRY as CRITICS
from off_policy import DDPG, SAC, make_learner, make_sample, units_of

SMALL = {"rnn_hidden_dim": 4, "critic_hidden_dim": 5, "gamma": 0.9}
SHARED = ("lr", "critic_lr", "optimizer", "optim_eps", "grad_norm_clip", "orthogonal_init")
OPTIMISERS = {"adam": th.optim.Adam, "radam": th.optim.RAdam}


def preset(name, panel=None, **changes):
    """The keys of a preset that its learner, controller and critic read, for small networks."""
    config = compose_config(name, "gymnasium" if name == "sac_v1" else None, panel).config
    entries = REGISTRY.entry(config["learner"]), CONTROLLERS.entry("actor_mac"), CRITICS.entry(config["critic"])
    keys = [*SHARED, *(key for entry in entries for key in entry.options)]
    form = SAC if config["learner"] == "sac_learner" else DDPG
    return {**{key: config[key] for key in keys if key in config}, **form, **SMALL, **changes}


class Networks:
    """Copies of a learner's networks with targets and optimisers of their own, as functions of tensors."""

    def __init__(self, learner, mac, estimates):
        layers = learner.critic.layers
        self.weights = {"actor": self.of(mac.agent)}
        for number in range(estimates):
            pairs = zip(layers.weights, layers.biases, strict=True)
            mine = [x for weight, bias in pairs for x in (weight[number, 0].T, bias[number, 0, 0])]
            self.weights[f"critic{number}"] = [x.detach().clone() for x in mine]
        self.targets = {}
        if learner.args.learner == "ddpg_learner":
            self.targets["actor"] = self.of(learner.target_mac.agent)
        if learner.target_critic is None:
            self.weights["value"] = self.of(learner.value)
            self.targets["value"] = self.of(learner.target_value)
        else:
            target = learner.target_critic.layers
            for number in range(estimates):
                pairs = zip(target.weights, target.biases, strict=True)
                mine = [x for weight, bias in pairs for x in (weight[number, 0].T, bias[number, 0, 0])]
                self.targets[f"critic{number}"] = [x.detach().clone() for x in mine]
        args = learner.args
        kind, rates = OPTIMISERS[args.optimizer], {"actor": args.lr}
        for weights in self.weights.values():
            for weight in weights:
                weight.requires_grad_()
        self.optimisers = {
            name: kind(weights, lr=rates.get(name, args.critic_lr)) for name, weights in self.weights.items()
        }

    @staticmethod
    def of(network):
        w = network.state_dict()
        parts = [w[f"{layer}.{part}"] for layer in ("fc1", "fc2", "fc3") for part in ("weight", "bias")]
        return [part.clone() for part in parts]

    def __call__(self, name, *inputs, target=False):
        w = (self.targets if target else self.weights)[name]
        x = th.cat(inputs, dim=1)
        x = F.relu(F.linear(x, w[0], w[1]))
        x = F.relu(F.linear(x, w[2], w[3]))
        return F.linear(x, w[4], w[5])

    def actor(self, states, noise):
        """Their `evaluate_actions` by given normal numbers: the action, its log-density, z, and the Gaussian."""
        mean, log_std = self("actor", states).chunk(2, dim=1)
        log_std = log_std.clamp(-20, 2)
        return mean, log_std, mean + log_std.exp() * noise

    def density(self, mean, log_std, z):
        action = th.tanh(z)
        found = Normal(mean, log_std.exp()).log_prob(z) - th.log(1 - action.pow(2) + 1e-6)
        return action, found.sum(1, keepdim=True)

    def step(self, name, loss):
        self.optimisers[name].zero_grad()
        loss.backward()
        self.optimisers[name].step()

    def move_targets(self, share):
        with th.no_grad():
            for name, weights in self.targets.items():
                for target, weight in zip(weights, self.weights[name], strict=True):
                    target.copy_(target * (1.0 - share) + weight * share)


def sac_v1(nets, now, noises, args):
    mean, log_std, z = nets.actor(now.states, noises[0])
    z = z.detach()
    action, log_prob = nets.density(mean, log_std, z)
    expected_q, expected_value = nets("critic0", now.states, now.actions), nets("value", now.states)
    next_q = now.rewards + now.masks * args.gamma * nets("value", now.next_states, target=True)
    softq_loss = F.mse_loss(expected_q, next_q.detach())
    new_q = nets("critic0", now.states, action)
    value_loss = F.mse_loss(expected_value, (new_q - log_prob).detach())
    actor_loss = (log_prob * (log_prob - (new_q - expected_value)).detach()).mean()
    actor_loss = actor_loss + args.mean_penalty * mean.pow(2).mean() + args.deviation_penalty * log_std.pow(2).mean()
    actor_loss = actor_loss + args.sample_penalty * z.pow(2).sum(1).mean()
    nets.step("critic0", softq_loss)
    nets.step("value", value_loss)
    nets.step("actor", actor_loss)
    return {"critic_loss": softq_loss, "value_loss": value_loss, "pg_loss": actor_loss}


def sac_v2(nets, now, noises, args):
    alpha = 0.2
    with th.no_grad():
        next_action, next_log_prob = nets.density(*nets.actor(now.next_states, noises[0]))
        following = th.min(*(nets(f"critic{k}", now.next_states, next_action, target=True) for k in (0, 1)))
        wanted = now.rewards + now.masks * args.gamma * (following - alpha * next_log_prob)
    losses = [F.mse_loss(nets(f"critic{k}", now.states, now.actions), wanted) for k in (0, 1)]
    for k in (0, 1):
        nets.step(f"critic{k}", losses[k])
    action, log_prob = nets.density(*nets.actor(now.states, noises[1]))
    least = th.min(*(nets(f"critic{k}", now.states, action) for k in (0, 1)))
    actor_loss = (alpha * log_prob - least).mean()
    nets.step("actor", actor_loss)
    return {"critic_loss": losses[0] + losses[1], "pg_loss": actor_loss}


def ddpg(nets, now, noises, args):
    next_action = th.tanh(nets("actor", now.next_states, target=True))
    wanted = now.rewards + now.masks * args.gamma * nets("critic0", now.next_states, next_action, target=True)
    critic_loss = F.smooth_l1_loss(nets("critic0", now.states, now.actions), wanted.detach())
    nets.step("critic0", critic_loss)
    actor_loss = -nets("critic0", now.states, th.tanh(nets("actor", now.states))).sum()
    nets.step("actor", actor_loss)
    return {"critic_loss": critic_loss, "pg_loss": actor_loss}


class Sample:
    """What their memories give of a sample, `[B, numbers]`."""

    def __init__(self, batch):
        self.states, self.next_states = batch["obs"][:, 0, 0], batch["obs"][:, 1, 0]
        self.actions = th.tensor(units_of(batch["actions"][:, 0, 0]), dtype=th.float32)
        self.rewards, self.masks = batch["reward"][:, 0].float(), 1 - batch["terminated"][:, 0].float()


CASES = {
    "sac_v1": (sac_v1, 1, {}),
    "digideep_sac": (sac_v1, 1, {"z_lambda": 0.3}),
    "digideep_sac_v2": (sac_v2, 2, {}),
    "digideep_ddpg": (ddpg, 1, {}),
}


@pytest.mark.parametrize("optimizer", ["adam", "radam"])
@pytest.mark.parametrize("n_update", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_updates_equal_digideeps(name, n_update, optimizer):
    """Six updates of random weights and samples, with rewards so large that gradients would be clipped."""
    rules, estimates, panel = CASES[name]
    panel = {**panel, "n_update": n_update} if name != "sac_v1" else None
    settings = preset(name, panel, optimizer=optimizer, lr=0.01, critic_lr=0.02)
    if name == "sac_v1":
        settings["target_update_every"] = n_update
    learner, mac = make_learner(**settings, seed=n_update)
    args = learner.args
    nets, before = Networks(learner, mac, estimates), learner.critic.layers.weights[0].detach().clone()
    logged = {}
    learner._log = lambda stats, t_env: logged.update(stats)
    # theirs: DDPG's targets move after each step, those of SAC once for all steps of an update
    pause = 1 if rules is ddpg else n_update
    for number in range(1, 7):
        batch = make_sample(seed=number)
        batch["reward"][:] *= 30
        np.random.seed(number)
        noises = [th.tensor(np.random.standard_normal((6, 1, 2)).astype(np.float32))[:, 0] for _ in range(2)]
        losses = rules(nets, Sample(batch), noises, args)
        if number % pause == 0:
            nets.move_targets(args.target_update_interval_or_tau)
        np.random.seed(number)
        learner.log_stats_t = -1e9
        learner.train(batch, number, number)
        for key, loss in losses.items():
            assert logged[key] == pytest.approx(loss.item(), rel=2e-4), key
    ours = Networks(learner, mac, estimates)
    for mine, theirs in ((ours.weights, nets.weights), (ours.targets, nets.targets)):
        for key in theirs:
            th.testing.assert_close(mine[key], theirs[key], rtol=1e-3, atol=1e-4)
    assert not th.equal(before, learner.critic.layers.weights[0])

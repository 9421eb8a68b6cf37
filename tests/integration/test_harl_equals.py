"""`update_order` computes what HARL's runners compute: weights of all agents, from equal weights and batches.

HARL is brought from outside: `MUSTER_FAMILY=FOLDER pytest tests/integration/test_harl_equals.py`, where the folder has
its checkout, named HARL. Its networks are on both sides; what is compared is learning.
"""

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch as th
import torch.nn as nn
import yaml
from gymnasium.spaces import Box, Discrete

import off_policy
from components.episode_buffer import EpisodeBatch
from components.scheme import scheme_of
from controllers.policy_controller import PolicyMAC
from envs.contract.fields import pymarl_spec
from fakes import RecordingLogger
from helpers import make_args
from learners import REGISTRY as learners
from modules.agents import REGISTRY as agents
from modules.agents.agent import Agent

FAMILY = os.environ.get("MUSTER_FAMILY")
HARL = Path(FAMILY or ".").resolve() / "HARL"
pytestmark = pytest.mark.skipif(not (FAMILY and HARL.is_dir()), reason="set MUSTER_FAMILY to a folder with HARL")
N, B, T, SEEN, CHOICES, NUMBERS = 3, 4, 7, 5, 4, 2
WIDTHS = [16, 16]
CASES = {
    "happo": ("ppo_learner", {"epochs": 5, "lr": 0.003, "eps_clip": 0.05, "entropy_coef": 0.01}),
    "haa2c": ("a2c_learner", {"lr": 0.003, "entropy_coef": 0.01}),
    "hatrpo": ("trpo_learner", {"max_kl": 0.001}),
}


@contextmanager
def theirs():
    """Their package, without its environments and what runs need."""
    stubs = {
        "harl.envs": {},
        "harl.envs.env_wrappers": dict.fromkeys(("ShareSubprocVecEnv", "ShareDummyVecEnv"), object),
    }
    bases = {"on_policy_base_runner": "OnPolicyBaseRunner", "off_policy_base_runner": "OffPolicyBaseRunner"}
    stubs |= {"harl.runners": {}} | {f"harl.runners.{file}": {name: object} for file, name in bases.items()}
    for name, attributes in stubs.items():
        module = sys.modules[name] = ModuleType(name)
        module.__path__ = [str(HARL / name.replace(".", "/"))]
        vars(module).update(attributes)
    sys.path.insert(0, str(HARL))
    try:
        yield
    finally:
        sys.path.remove(str(HARL))
        for name in [name for name in sys.modules if name.split(".")[0] == "harl"]:
            del sys.modules[name]


class TheirNetwork(Agent):
    """Their layers, in our contract."""

    def __init__(self, input_shape, args):
        super().__init__()
        from harl.models.base.mlp import MLPBase

        self.base = MLPBase(args.their_args, (input_shape,))
        self.head = nn.Linear(WIDTHS[-1], args.n_actions)

    def init_hidden(self):
        return th.zeros(1, 1)

    def forward(self, inputs, hidden_state):
        return self.head(self.base(inputs)), hidden_state


def their_settings(name, **changes):
    config = yaml.safe_load((HARL / f"harl/configs/algos_cfgs/{name}.yaml").read_text())
    flat = {key: value for part in config.values() for key, value in part.items()}
    return {**flat, "hidden_sizes": WIDTHS, "episode_length": T, "n_rollout_threads": B, "fixed_order": True, **changes}


def batch_of(continuous):
    rng = np.random.default_rng(0)
    sizes = {"state_shape": 1, "obs_shape": SEEN, "n_actions": CHOICES, "n_agents": N}
    scheme, groups, preprocess = scheme_of(pymarl_spec(sizes))
    if continuous:
        scheme["actions"] = {"vshape": (NUMBERS,), "group": "agents", "kind": "action", "low": -1.0, "high": 1.0}
        scheme["obs"]["kind"], preprocess = "observation", {}
        del scheme["avail_actions"]
    batch = EpisodeBatch(scheme, groups, B, T + 1, preprocess=preprocess)
    for t in range(T + 1):
        step = {"obs": rng.normal(size=(B, N, SEEN)), "terminated": np.zeros((B, 1)), "reward": rng.normal(size=(B, 1))}
        if continuous:
            step["actions"] = rng.normal(size=(B, N, NUMBERS))
        else:
            legal = rng.integers(2, size=(B, N, CHOICES))
            legal[..., :2] = 1
            step |= {"avail_actions": legal, "actions": rng.integers(2, size=(B, N))}
        batch.update(step, ts=t)
    return batch


def ours(name, batch, settings, advantages):
    learner_name, changes = CASES[name]
    changes = {"optimizer": "adam", "optim_eps": 1e-5, "grad_norm_clip": 10.0, "minibatches": 1, **changes}
    args = make_args(agent="theirs", critic="own", share_params=False, update_order="fixed", learner=learner_name)
    vars(args).update(obs_last_action=False, obs_agent_id=False, n_agents=N, learner_log_interval=1, device="cpu")
    vars(args).update(orthogonal_init=False, obs_shape=SEEN, their_args=settings, **changes)
    mac = PolicyMAC(batch.scheme, batch.groups, args)
    learner = learners[learner_name](mac, batch.scheme, RecordingLogger(), args)
    ones = th.ones(B, T, N)
    found = {"advantages": advantages.expand(-1, -1, N), "mask": ones, "choices": ones}
    learner.estimates = lambda *_: {**found, "returns": 0 * ones, "old_values": 0 * ones, "old_log_prob": old}
    old = learner.log_prob(batch, mac)
    return learner, mac, old


@pytest.fixture
def registered():
    kept = dict(agents)
    agents["theirs"] = TheirNetwork
    yield
    for name in set(agents) - set(kept):
        del agents[name]


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_weights_are_equal(name, continuous, monkeypatch):
    with theirs():
        from harl.algorithms.actors.haa2c import HAA2C
        from harl.algorithms.actors.happo import HAPPO
        from harl.algorithms.actors.hatrpo import HATRPO
        from harl.common.buffers.on_policy_actor_buffer import OnPolicyActorBuffer
        from harl.models.base import distributions
        from harl.runners.on_policy_ha_runner import OnPolicyHARunner
        from harl.utils import trpo_util

        # their deviations are sigmoids of weights, and their divergence of choices is not one: it weighs all alike
        monkeypatch.setattr(
            distributions.DiagGaussian,
            "forward",
            lambda self, x, _=None: distributions.FixedNormal(self.fc_mean(x), self.log_std.exp()),
        )
        monkeypatch.setattr(trpo_util, "kl_approx", lambda p, q: p.exp() * (p - q))
        kind = {"happo": HAPPO, "haa2c": HAA2C, "hatrpo": HATRPO}[name]
        changes = {"ppo_epoch": 5, "a2c_epoch": 1, "lr": 0.003, "clip_param": 0.05, "kl_threshold": 0.001}
        settings = their_settings(name, **changes)
        batch = batch_of(continuous)
        th.manual_seed(0)
        raw = th.randn(B, T, 1, generator=th.Generator().manual_seed(2))
        scaled = (raw - raw.mean()) / (raw.std(correction=0) + 1e-5)
        learner, mac, old = ours(name, batch, settings, scaled)
        seen = Box(-np.inf, np.inf, (SEEN,))
        acts = Box(-1, 1, (NUMBERS,)) if continuous else Discrete(CHOICES)
        actors, buffers = [], []
        by_time = lambda x: x.transpose(0, 1).numpy()  # noqa: E731
        for i in range(N):
            actor = kind(settings, seen, acts)
            with th.no_grad():
                for mine, other in _pairs(mac, actor, i):
                    mine.add_(0.3 * th.randn_like(mine))
                    other.copy_(mine)
            buffer = OnPolicyActorBuffer(settings, seen, acts)
            buffer.obs[:] = by_time(batch["obs"][:, :, i])
            buffer.actions[:] = by_time(batch["actions"][:, :-1, i])
            if not continuous:
                buffer.available_actions[:] = by_time(batch["avail_actions"][:, :, i])
            actors.append(actor)
            buffers.append(buffer)
        old[:] = learner.log_prob(batch, mac)
        before = [[x.clone() for x, _ in _pairs(mac, actor, i)] for i, actor in enumerate(actors)]
        for i, (actor, buffer) in enumerate(zip(actors, buffers, strict=True)):
            flat = [
                x[:-1].reshape(T * B, -1) if len(x) > T else x.reshape(T * B, -1) for x in (buffer.obs, buffer.actions)
            ]
            legal = None if continuous else buffer.available_actions[:-1].reshape(T * B, -1)
            ones = np.ones((T * B, 1), np.float32)
            log_prob, *_ = actor.evaluate_actions(flat[0], ones, flat[1], ones, legal, ones)
            log_prob = log_prob.detach().reshape(T, B, -1)
            th.testing.assert_close(log_prob.sum(-1).T, old[:, :, i], rtol=1e-4, atol=1e-4)
            buffer.action_log_probs[:] = log_prob
        returns = np.concatenate([by_time(raw), np.zeros((1, B, 1), np.float32)])
        values = SimpleNamespace(returns=returns, value_preds=0 * returns)
        runner = SimpleNamespace(algo_args={"train": settings}, critic_buffer=values, value_normalizer=None)
        vars(runner).update(num_agents=N, actor_buffer=buffers, actor=actors, state_type="EP", fixed_order=True)
        vars(runner).update(action_aggregation="prod", critic=SimpleNamespace(train=lambda *_: {}))
        OnPolicyHARunner.train(runner)
        learner.train(batch, 10, 0)
        largest = moved = 0.0
        for i, actor in enumerate(actors):
            for (mine, other), was in zip(_pairs(mac, actor, i), before[i], strict=True):
                largest = max(largest, float((mine - other).abs().max()))
                moved = max(moved, float((mine - was).abs().max()))
    print(f"{name}, {'continuous' if continuous else 'choices'}: moved {moved:.2g}, largest difference {largest:.2g}")
    assert moved > 0.002 and largest < 1e-4


def _pairs(mac, actor, i):
    """Our weights of agent i, and those of an actor of theirs."""
    head = actor.actor.act.action_out
    linear = getattr(head, "linear", None) or head.fc_mean
    others = [*actor.actor.base.parameters(), linear.weight, linear.bias]
    others += [head.log_std] if hasattr(head, "log_std") else []
    return [(mine.data[i], other.data) for mine, other in zip(mac.parameters(), others, strict=True)]


# of replay: their critic, and our settings and theirs
IN_TURN = {"update_order": "fixed", "share_params": False, "critic": "q_central", "rnn_hidden_dim": 16}
IN_TURN |= {"critic_hidden_dim": 16, "lr": 0.003, "critic_lr": 0.003, "optim_eps": 1e-8}
IN_TURN |= {"target_update_interval_or_tau": 0.2}
THEIR_CRITICS = {
    "haddpg": "continuous_q_critic.ContinuousQCritic",
    "hatd3": "twin_continuous_q_critic.TwinContinuousQCritic",
    "hasac": "soft_twin_continuous_q_critic.SoftTwinContinuousQCritic",
}
OFF_POLICY = {
    "haddpg": (off_policy.DDPG, {}),
    "hatd3": (
        {**off_policy.DDPG, "critics": 2, "policy_delay": 2, "target_noise": 0.2, "target_noise_clip": 0.3},
        {"policy_noise": 0.2, "noise_clip": 0.3, "policy_freq": 2},
    ),
    # their last hidden layer has a tanh, and their errors are Huber's
    "hasac": (
        {**off_policy.SAC, "critics": 2, "team_entropy": True, "entropy_weight": 0.2, "tune_entropy": False},
        {"final_activation_func": "relu", "use_huber_loss": False, "alpha": 0.2},
    ),
}
UPDATES = 4


def off_policy_sample(batch):
    """A batch of two steps as their buffer gives it."""
    x = {key: batch[key].numpy().astype(np.float32) for key in ("obs", "state", "actions", "reward")}
    ended, cut = (batch[key][:, 0].numpy().astype(np.float32) for key in ("terminated", "truncated"))
    by_agent = lambda values: values.transpose(1, 0, 2)  # noqa: E731
    ones = np.ones((N, len(ended), 1), np.float32)
    gammas = np.full_like(ended, off_policy.HYPER["gamma"])
    now = x["state"][:, 0], by_agent(x["obs"][:, 0]), by_agent(x["actions"][:, 0]), None
    rewards = x["reward"][:, 0], np.maximum(ended, cut), ones, ended
    return (*now, *rewards, x["state"][:, 1], by_agent(x["obs"][:, 1]), None, gammas)


def weights_of_network(network):
    """Of layers one after the other, each weight `[outputs, inputs]` and bias; heads side by side are one layer."""
    found = [x.data for x in network.parameters()]
    return [*found[:-4], th.cat(found[-4::2]), th.cat(found[-3::2])] if hasattr(network, "mu_layer") else found


def take_over(network, weights):
    """Give a network of theirs these weights."""
    *hidden, weight, bias = weights
    if hasattr(network, "mu_layer"):
        heads = zip(weight.split(NUMBERS), bias.split(NUMBERS), strict=True)
        weights = [*hidden, *(x for head in heads for x in head)]
    for to, of in zip(network.parameters(), weights, strict=True):
        to.data.copy_(of)


def off_policy_pairs(learner, mac, runner):
    """Our weights of each policy and estimate, as theirs, and their network; targets included, by name."""
    critics = [name for name in ("critic", "critic2") if hasattr(runner.critic, name)]
    for target in ("", "target_"):
        ours = learner.target_critic if target else learner.critic
        for e, name in enumerate(critics):
            layers = zip(ours.layers.weights, ours.layers.biases, strict=True)
            mine = [x for weight, bias in layers for x in (weight.data[e, 0].T, bias.data[e, 0, 0])]
            yield f"{target}{name}", mine, getattr(runner.critic, target + name)
        policies = learner.target_mac if target else mac
        for i, actor in enumerate(runner.actor if policies is not None else []):
            mine = [x.data[i] for x in policies.parameters()]
            yield f"{target}actor {i}", mine, getattr(actor, f"{target}actor")


@pytest.mark.parametrize("name", OFF_POLICY)
def test_weights_of_off_policy_learners_are_equal(name, monkeypatch):
    monkeypatch.setattr(off_policy, "LOW", (-1.0, -1.0))
    monkeypatch.setattr(off_policy, "HIGH", (1.0, 1.0))
    ours, changes = OFF_POLICY[name]
    learner, mac = off_policy.make_learner(N, **ours, **IN_TURN)
    noise, draw = [], learner._noise
    learner._noise = lambda like: noise.append(draw(like)) or noise[-1]
    batches = [off_policy.make_sample(12, N, seed=seed) for seed in range(UPDATES)]
    with theirs():
        from importlib import import_module

        from harl.runners.off_policy_ha_runner import OffPolicyHARunner

        of_critic, kind = THEIR_CRITICS[name].split(".")
        settings = their_settings(name, lr=0.003, critic_lr=0.003, polyak=0.2, **changes)
        seen, acts = Box(-np.inf, np.inf, (3,)), Box(-1, 1, (2,))
        make = getattr(import_module(f"harl.algorithms.actors.{name}"), name.upper())
        critic = getattr(import_module(f"harl.algorithms.critics.{of_critic}"), kind)
        critic = critic(settings, Box(-np.inf, np.inf, (2,)), [acts] * N, N, "EP")
        runner = SimpleNamespace(critic=critic, actor=[make(settings, seen, acts) for _ in range(N)])
        vars(runner).update(total_it=0, args={"algo": name}, algo_args={"algo": settings}, num_agents=N, device="cpu")
        vars(runner).update(policy_freq=settings.get("policy_freq", 1), fixed_order=True, state_type="EP")
        vars(runner).update(value_normalizer=None, alpha=[settings.get("alpha")] * N)
        before = {}
        for place, mine, other in off_policy_pairs(learner, mac, runner):
            before[place] = [x.clone() for x in mine]
            take_over(other, mine)
        for number, batch in enumerate(batches):
            noise.clear()
            learner.train(batch, number, 0)
            of_agents = iter([each[:, i] for each in noise for i in range(each.size(1))])
            with monkeypatch.context() as patched:
                patched.setattr(th, "randn_like", lambda _, drawn=of_agents: next(drawn))
                standard = lambda *_, drawn=of_agents, **__: next(drawn)  # noqa: E731
                patched.setattr(th.distributions.normal, "_standard_normal", standard)
                runner.buffer = SimpleNamespace(sample=lambda batch=batch: off_policy_sample(batch))
                OffPolicyHARunner.train(runner)
            assert next(of_agents, None) is None, "they draw less"
        largest = {}
        for place, mine, other in off_policy_pairs(learner, mac, runner):
            found = zip(mine, weights_of_network(other), strict=True)
            largest[place] = max(float((a - b).abs().max()) for a, b in found)
            moved = max(float((a - b).abs().max()) for a, b in zip(mine, before[place], strict=True))
            assert moved > 0.002, place
    print(f"{name}: largest difference {max(largest.values()):.2g} ({max(largest, key=largest.get)})")
    assert max(largest.values()) < 1e-4

"""`update_order` computes what HARL's runner and actors compute: weights of all agents, from equal weights and batches.

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
    stubs |= {"harl.runners": {}, "harl.runners.on_policy_base_runner": {"OnPolicyBaseRunner": object}}
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

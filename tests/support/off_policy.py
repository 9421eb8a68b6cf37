"""Off-policy learners on small networks, and the same computed again in NumPy."""

import math
from itertools import chain
from types import SimpleNamespace

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from controllers.actor_controller import ActorMAC
from envs.contract.fields import EnvSpec, FieldSpec
from fakes import RecordingLogger
from helpers import make_args
from learners import REGISTRY
from modules.critics import REGISTRY as CRITICS

LOW, HIGH = (-2.0, 0.0), (2.0, 1.0)
HYPER = {"rnn_hidden_dim": 4, "critic_hidden_dim": 5, "gamma": 0.9, "optimizer": "adam", "grad_norm_clip": 1e9}
COMMON = {"mac": "actor_mac", "agent": "ff", "obs_last_action": False, "obs_agent_id": False, "orthogonal_init": False}
DDPG = {"learner": "ddpg_learner", "deviation": "none", "squash": "tanh"}
SAC = {"learner": "sac_learner", "deviation": "network", "squash": "tanh"}
DISCRETE = {"learner": "sac_learner"}


def spec_of(n_agents=1, choices=0, rewards_by_agent=False):
    actions = FieldSpec("action", (), "int64", n=choices) if choices else FieldSpec("action", (2,), low=LOW, high=HIGH)
    fields = {"obs": FieldSpec("observation", (3,)), "state": FieldSpec("observation", (2,), group=None)}
    if choices:
        fields["avail_actions"] = FieldSpec("mask", (choices,), "uint8", of="actions")
    fields |= {
        "actions": actions,
        "reward": FieldSpec("outcome", (), "float64", "agents" if rewards_by_agent else None),
    }
    return EnvSpec(fields, {"agents": n_agents}, 5, declared=True)


def make_learner(n_agents=1, choices=0, rewards_by_agent=False, seed=0, **changes):
    """A learner with random weights, others in its target networks, and its controller."""
    th.manual_seed(seed)
    spec = spec_of(n_agents, choices, rewards_by_agent)
    scheme, groups, preprocess = scheme_of(spec)
    scheme = EpisodeBatch(scheme, groups, 1, 1, preprocess=preprocess, device="meta").scheme
    args = {**COMMON, **HYPER, "critic": "q_own", "critic_agent_id": False, "n_agents": n_agents, **changes}
    entries = REGISTRY.entry(args["learner"]), CRITICS.entry(args["critic"])
    defaults = {key: value for entry in entries for key, value in entry.defaults.items()}
    args = make_args(**{**defaults, **args}, n_actions=choices or None)
    mac = ActorMAC(scheme, groups, args)
    learner = REGISTRY[args.learner](mac, scheme, RecordingLogger(), args)
    targets = [network.parameters() for network in learner.target_networks.values()]
    if learner.target_mac is not None:
        targets.append(learner.target_mac.parameters())
    with th.no_grad():
        for parameter in chain(*targets):
            parameter.add_(th.randn_like(parameter), alpha=0.3)
    return learner, mac


def make_sample(size=6, n_agents=1, choices=0, rewards_by_agent=False, seed=0, **constant):
    """Random transitions, some of which terminated and some of which were truncated."""
    rng = np.random.default_rng(seed)
    spec = spec_of(n_agents, choices, rewards_by_agent)
    scheme, groups, preprocess = scheme_of(spec)
    scheme |= {key: {"vshape": (), "episode_const": True} for key in constant}
    batch = EpisodeBatch(scheme, groups, size, 2, preprocess=preprocess)
    if choices:
        actions = rng.integers(choices, size=(size, 2, n_agents, 1))
        avail = rng.integers(2, size=(size, 2, n_agents, choices))
        np.put_along_axis(avail, actions, 1, axis=3)
        batch.update({"avail_actions": avail})
    else:
        actions = rng.uniform(LOW, HIGH, size=(size, 2, n_agents, 2))
    batch.update({key: th.as_tensor(value) for key, value in constant.items()}, mark_filled=False)
    batch.update(
        {
            "obs": rng.normal(size=(size, 2, n_agents, 3)),
            "state": rng.normal(size=(size, 2, 2)),
            "actions": actions,
            "reward": rng.normal(size=batch["reward"].shape),
            "terminated": (np.arange(size) % 3 == 0)[:, None, None].repeat(2, 1),
            "truncated": (np.arange(size) % 3 == 1)[:, None, None].repeat(2, 1),
        }
    )
    return batch


def agent_outputs(mac, obs):
    """Of the network `ff`, in float64."""
    w = {key: value.double().numpy() for key, value in mac.agent.state_dict().items()}
    x = obs
    for layer in ("fc1", "fc2"):
        x = np.maximum(x @ w[f"{layer}.weight"].T + w[f"{layer}.bias"], 0)
    return x @ w["fc3.weight"].T + w["fc3.bias"]


def critic_outputs(critic, x, estimate=0, weights=0):
    """Of one estimate of a critic, `[..., outputs]`, in float64."""
    layers = critic.layers
    for number, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        x = np.maximum(x, 0) if number else x
        x = x @ weight[estimate, weights].detach().double().numpy() + bias[estimate, weights].detach().double().numpy()
    return x


def drawn(outputs, noise):
    """Actions between -1 and 1 and their log-densities, from the definition: a change of variables by tanh."""
    mean, log_std = outputs[..., :2], outputs[..., 2:].clip(-20, 2)
    x = mean + np.exp(log_std) * noise
    normal = np.exp(-0.5 * ((x - mean) / np.exp(log_std)) ** 2) / (np.exp(log_std) * math.sqrt(2 * math.pi))
    return np.tanh(x), np.log(normal / (1 - np.tanh(x) ** 2)).sum(-1)


def noise_of(seed, shape=(6, 1, 2)):
    """What a learner draws next from NumPy's generator after `seed`."""
    np.random.seed(seed)
    return np.random.standard_normal(shape).astype(np.float32)[:, 0].astype(np.float64)


def units_of(actions):
    """Actions in halves of their ranges."""
    low, high = np.array(LOW), np.array(HIGH)
    return (np.asarray(actions, dtype=np.float64) - (low + high) / 2) / ((high - low) / 2)


def numeric(batch):
    """The fields of a sample as float64 arrays."""
    names = [key for key in batch.scheme if key != "filled"]
    return SimpleNamespace(**{key: batch[key].double().numpy() for key in names})


def differences(loss, parameters, step=1e-4):
    """Gradients of `loss()` by central differences."""
    found = []
    for parameter in parameters:
        flat, gradient = parameter.data.view(-1), th.zeros(parameter.numel(), dtype=th.float64)
        for k in range(len(flat)):
            kept = float(flat[k])
            values = []
            for change in (step, -step):
                flat[k] = kept + change
                values.append(loss())
            flat[k] = kept
            gradient[k] = (values[0] - values[1]) / (2 * step)
        found.append(gradient.view_as(parameter))
    return found


def require_gradients(parameters, expected, tolerance=2e-3):
    for parameter, gradient in zip(parameters, expected, strict=True):
        found = th.zeros_like(parameter) if parameter.grad is None else parameter.grad
        np.testing.assert_allclose(found.double(), gradient, atol=tolerance, rtol=tolerance)

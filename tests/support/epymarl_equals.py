"""Our learner and that of EPyMARL, PyMARL2 or PyMARL3, of one preset on one batch, from equal weights."""

import re
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import torch as th

import pymarl3_equals
import pymarlzoo_names
from checks.options import completed
from checks.values import normalised
from cli.compose import compose_config
from components.episode_buffer import EpisodeBatch
from components.sampling.compose import Compose, Minibatches, TransformContext
from components.sampling.listed import listed_transforms
from components.scheme import scheme_of
from controllers import REGISTRY as controllers
from envs.contract.fields import pymarl_spec
from fakes import RecordingLogger
from helpers import fill
from learners import REGISTRY as learners
from learners.batch_fields import batch_fields
from learners.intrinsic.rewards import attach, rewarded

CHILD = Path(__file__).with_name("epymarl_child.py")
NETWORKS = (
    "critic mixer central_mixer central_agent state_value discriminator distance predictor predictor_with_id "
    "classifier target_ivf curiosity_values".split()
)
SIZES = {"n_agents": 3, "n_actions": 4, "state_shape": 6, "obs_shape": 5, "episode_limit": 7}
# presets without a config of theirs: the nearest one, and what is different
NEAREST = {
    "epymarl_pac": (
        "pac_ns",
        {
            "mac": "basic_mac",
            "agent": "rnn",
            "critic_type": "pac_critic",
            "state_value_type": "cv_critic",
            "obs_agent_id": True,
            "use_subsampling": False,
        },
    )
}
# presets whose original has the value as a layer of its own
VALUE_LAYERS = ("pymarl2_vmix",)
# presets that learn from samples of several parts, and how many
SEVERAL = {"pymarl2_riit": 2, "pymarl2_dop": 3}
# presets that learn by the probabilities of the policy that acted
OLD_POLICIES = ("pymarl2_ippo",)
ENDS = {
    # (length, whether it terminated) of each episode of at most 7 steps
    "cut": [(7, False)] * 5,
    "mixed": [(7, False), (4, True), (7, True), (2, True), (6, True)],
}
# changes of ours and of theirs: losses whose gradients drown in those of values, which are large on random weights
WEIGHTS = {
    "pymarlzoo_emc": (
        {"agent_own_state_size": 2, "intrinsic_coef": 0.1, "memory_coef": 1.0, "attend_reg_coef": 2.0},
        {
            "curiosity_scale": 0.1,
            "emdqn_loss_weight": 1.0,
            "attend_reg_coef": 2.0,
            "batch_size": len(ENDS["cut"]),
            "unit_dim": 2,
        },
    ),
    # few transitions, in several parts
    "pymarlzoo_eoi": ({"eoi_batch_size": 16}, {"eoi_batch_size": 16, "batch_size": len(ENDS["cut"])}),
    "pymarlzoo_maven": ({"mi_loss": 1e4}, {"mi_loss": 1e4}),
    # without random numbers: of acting, and of updates
    "pymarlzoo_commformer": (
        {"commformer_dropout": 0.0, "use_rollout_values": False, "use_rollout_log_probs": False},
        {"dropout": 0.0},
    ),
    # agents in their order, as theirs in `epymarl_child`
    "pymarlzoo_happo": ({"update_order": "fixed"}, {}),
    # the state of these batches has two numbers for each of three agents
    "pymarlzoo_cds": (
        {"agent_own_state_size": 2, "diversity_coef": 3.0, "own_values_coef": 30.0, "attend_reg_coef": 2.0},
        {"unit_dim": 2, "beta": 3.0, "lambda_": 30.0, "attend_reg_coef": 2.0},
    ),
    "pymarlzoo_maser": (
        {"individual_coef": 0.8, "distance_coef": 14.0, "explore_coef": 6.0, "subgoal_reward": 3.0},
        {"ind": 800, "mix": 20000, "lam": 3.0},
    ),
}
# statistics that have other names here
NAMES = {
    "q_t_mean": "q_taken_mean",
    "mix_loss": "pg_loss",
    "actor_loss": "pg_loss",
    "entropy_loss": "entropy",
    "target_vals": "target_mean",
    "vdn prediction loss": "intrinsic_loss",
    "emdqn_loss": "memory_loss",
    "returns_mean": "target_mean",
    "value_loss": "critic_loss",
    "policy_loss": "pg_loss",
}
# of policies alone, where a step is not of them alone
NORMS = {"grad_norm": "agent_grad_norm"}
# the sum of others, which are compared, settings, and the mean of ratios, those of padding too
LEFT_OUT = (
    "coma_loss",
    "lr",
    "ratio",
    "emdqn_weight",
    "emdqn_curr_capacity",
    "curiosity_scale",
    "curiosity_decay_rate",
)
LEFT_OUT += ("curiosity_decay_cycle", "curiosity_decay_stop", "em_ Q hit probability", "e_m Q mean")
# which a preset's original does not compute, and what it logs in other units
ODD = {"pymarlzoo_happo": ("td_error_abs", "advantage_mean")}
# of the random numbers in updates
SEED = 5


def sizes_of(preset: str) -> dict[str, int]:
    """Those of its batches."""
    return pymarl3_equals.SIZES if preset.startswith("pymarl3_") else SIZES


def generated(
    ends: str, individual: bool, sizes: dict[str, int] = SIZES, parts: int = 1, preset: str = ""
) -> EpisodeBatch:
    """Episodes as runners store them, the rest of their rows zeros; of several parts one after another.

    `preset`: what its learner needs beside, "noise", is drawn for each episode.
    """
    spec = pymarl_spec(sizes)
    if individual:
        reward = replace(spec.fields["reward"], group="agents")
        spec = replace(spec, fields={**spec.fields, "reward": reward})
    scheme, groups, preprocess = scheme_of(spec)
    config = _config(preset) if preset else {}
    own = batch_fields(config["learner"], sizes, SimpleNamespace(**config)) if preset else {}
    scheme |= {key: own[key] for key in ("noise",) if key in own}
    # of acting, as the original stores them and as ours does
    acted = preset in OLD_POLICIES
    if acted:
        scheme |= {
            "probs": {"vshape": (sizes["n_actions"],), "group": "agents"},
            "log_prob": {"vshape": (1,), "group": "agents"},
        }
    rng = np.random.default_rng(3)
    limit, n, actions = (sizes[key] for key in ("episode_limit", "n_agents", "n_actions"))
    batch = EpisodeBatch(scheme, groups, len(ENDS[ends]) * parts, limit + 1, preprocess=preprocess)
    for row, (length, terminated) in enumerate(ENDS[ends] * parts):
        for t in range(length + 1):
            legal = (rng.random((n, actions)) < 0.7).astype(int)
            chosen = rng.integers(actions, size=(n, 1))
            np.put_along_axis(legal, chosen, 1, axis=1)
            seen = {"obs": rng.normal(size=(n, sizes["obs_shape"])), "avail_actions": legal}
            seen["state"] = rng.normal(size=sizes["state_shape"])
            if acted:  # at the closing state, too, as the original's runner
                likely = rng.uniform(0.2, 1.0, legal.shape) * legal
                seen["probs"] = likely / likely.sum(axis=1, keepdims=True)
                seen["log_prob"] = np.log(np.take_along_axis(seen["probs"], chosen, 1))
            batch.update({**seen, "actions": chosen}, bs=row, ts=t)
            if t < length:
                reward = rng.normal(size=n if individual else ()) + 0.5
                over = t == length - 1
                outcome = {"terminated": over and terminated, "truncated": over and not terminated}
                batch.update({"reward": reward, **outcome}, bs=row, ts=t)
        if "noise" in scheme:
            latents = config["noise_dim"]
            batch["noise"][row] = th.eye(latents)[int(rng.integers(latents))]
    return batch


@cache
def _config(preset: str) -> dict:
    return normalised(completed(compose_config(preset, "two_step").config))


def ours(preset: str, batch: EpisodeBatch, updates: int, **changes) -> tuple[dict, dict, list[dict]]:
    """Weights before, weights after, and the statistics of each update; agents of PyMARL3's by its names."""
    config = {**_config(preset), "learner_log_interval": 1, **changes}
    if preset in SEVERAL:
        config |= {"batch_size": len(ENDS["cut"]), "off_batch_size": len(ENDS["cut"])}
    given = {**sizes_of(preset), "meaning": pymarl3_equals.meaning(), "device": "cpu", "use_cuda": False}
    args = SimpleNamespace(**{**config, **given})
    mac = controllers[args.mac](batch.scheme, batch.groups, args)
    logger = RecordingLogger()
    learner = attach(learners[args.learner](mac, batch.scheme, logger, args), batch.scheme, args)
    networks = {"agent": mac.agent} | {name: net for name, net in learner.networks.items() if name in NETWORKS}
    if hasattr(mac.agent, "ivf"):
        networks["ivf"] = mac.agent.ivf
    if args.intrinsic == "emc_vdn":
        networks |= {
            "curiosity_predictor": learner.intrinsic.predictor,
            "curiosity_followed": learner.intrinsic.followed,
        }
    for seed, network in enumerate(networks.values()):
        fill(network.parameters(), seed=seed)
    learner._update_targets()
    if learner.target_mac is not None:
        learner.target_mac.load_state(mac)
    if hasattr(mac.agent, "edges"):  # weights that are rounded down to 0 or 1
        mac.agent.edges.data.tanh_().mul_(0.3).add_(1.0)
    before = {name: _copy(network) for name, network in networks.items()}
    if hasattr(learner, "memory"):
        learner.take_rollout(batch, 0)
        learner._update_targets()
    stats = []
    th.manual_seed(SEED)
    np.random.seed(SEED)
    listed = listed_transforms("sample_transforms", args.sample_transforms, "columns", ("columns", "parts"))
    transforms = Compose(listed, TransformContext("sample_transforms", args))
    # edges are drawn without noise, as theirs in `epymarl_child`
    noise = patch.object(th.Tensor, "exponential_", lambda x: x.fill_(1.0)) if hasattr(mac.agent, "edges") else None
    with noise or nullcontext():
        for update in range(updates):
            sample = transforms(batch)
            for number, part in enumerate(sample if isinstance(sample, Minibatches) else (sample,)):
                t_env = 10 * (update + 1) + number
                learner.train(rewarded(learner, part, t_env), t_env, update)
            stats.append(logger.last())
    networks |= {f"target_{name}": net for name, net in learner.target_networks.items()}
    after = {name: _copy(network) for name, network in networks.items()}
    for weights in (before, after):
        if preset.startswith("pymarl3_"):
            weights["agent"] = pymarl3_equals.in_their_names(weights["agent"], config)
        if preset in pymarlzoo_names.TEAMS:
            weights["agent"] = pymarlzoo_names.in_their_names(weights["agent"], SIZES)
    return before, after, stats


def task_of(preset: str, batch: EpisodeBatch, weights: dict, updates: int, **changes) -> dict:
    """A task of `epymarl_child`."""
    keys = ("state", "obs", "actions", "actions_onehot", "avail_actions", "reward", "terminated", "filled")
    fields = {key: batch[key].clone() for key in (*keys, *({"noise", "probs"} & set(batch.scheme)))}
    if preset in VALUE_LAYERS:
        weights = {**weights, "agent": _value_apart(weights["agent"])}
    if fields["reward"].dim() == 4:
        fields["reward"] = fields["reward"].squeeze(3)
    sizes = pymarl3_equals.THEIR_SIZES if preset.startswith("pymarl3_") else SIZES
    changes |= {"common_reward": fields["reward"].size(2) == 1}
    config, nearest = NEAREST.get(preset, (preset.partition("_")[2], {}))
    task = {
        "name": preset,
        "preset": config,
        "changes": nearest | changes,
        "sizes": sizes,
        "batch": fields,
        "weights": weights,
    }
    if preset in SEVERAL:
        task["rows"] = len(ENDS["cut"])
    return {**task, "updates": updates, "seed": SEED, "maps": pymarl3_equals.MAPS}


def theirs(checkout: Path, folder: Path, tasks: list[dict]) -> list[dict]:
    """The results of tasks with the code of a checkout: "stats", "weights"."""
    th.save(tasks, folder / "tasks.pt")
    command = [sys.executable, CHILD, checkout, folder / "tasks.pt", folder / "done.pt"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=2800, cwd=folder)
    assert done.returncode == 0, done.stderr[-2000:]
    return th.load(folder / "done.pt", weights_only=False)


def errors_of(before: dict, after: dict, stats: list[dict], other: dict, preset: str = "") -> dict[str, float]:
    """The relative error of each statistic of an update that the other learner logs, and of each network's weights.

    Raises:
        AssertionError: it logged nothing, or a network learned nothing.
    """
    errors = {}
    for update, (mine, expected) in enumerate(zip(stats, other["stats"], strict=True)):
        assert expected, "nothing was logged"
        for key, value in expected.items():
            ours = key if key in mine else NAMES.get(key, key)
            left_out = (key in LEFT_OUT or key.startswith("vdn ")) and ours not in mine
            if left_out or key in ODD.get(preset, ()):
                continue
            found = mine[ours if ours in mine else NORMS[ours]]
            # of means of both signs, not relative to what is left of them
            errors[f"{key} of update {update}"] = abs(found - value) / max(abs(value), 1e-2)
    before, after = (
        {**part, "agent": _value_apart(part["agent"])} if "fc3.weight" in other["weights"]["agent"] else part
        for part in (before, after)
    )
    # VDN's mixer has no weights
    networks = {name: _effective(weights) for name, weights in other["weights"].items() if weights}
    before, after = ({name: _effective(weights) for name, weights in part.items()} for part in (before, after))
    errors |= {name: error_of(after[name], weights) for name, weights in networks.items()}
    assert all(error_of(after[name], before[name]) > 1e-4 for name in before if name in networks), "nothing was learned"
    return errors


def _value_apart(agent: dict) -> dict:
    """The weights of a network with a value, the last output of its last layer, as PyMARL2's have it: a layer more."""
    apart = {f"fc3.{name}": agent[f"fc2.{name}"][-1:] for name in ("weight", "bias")}
    return agent | {f"fc2.{name}": agent[f"fc2.{name}"][:-1] for name in ("weight", "bias")} | apart


def _effective(weights: dict) -> dict:
    """Without Qatten's biases of keys: a softmax over agents takes them away, and their gradients are rounding."""
    without = re.compile(r"key_embedding_layers\.\d+\.bias")
    return {key: value for key, value in weights.items() if not without.fullmatch(key)}


def error_of(mine: dict[str, th.Tensor], expected: dict[str, th.Tensor]) -> float:
    """The length of the difference of a network's weights, relative to theirs.

    Not entry by entry: Adam moves an entry by `lr` even where its gradient is the rounding of a sum, either way.
    """
    assert set(mine) == set(expected)
    flat = lambda weights: th.cat([weights[key].flatten().double() for key in sorted(weights)])  # noqa: E731
    return float((flat(mine) - flat(expected)).norm() / flat(expected).norm())


def _copy(network) -> dict:
    """Its weights, but for those of MAVEN's policy of latents, which its learners do not train from samples, and of
    EOI's values, which are a network of their own there."""
    state = network.state_dict()
    return {key: value.clone() for key, value in state.items() if not key.startswith(("latent_policy.", "ivf."))}

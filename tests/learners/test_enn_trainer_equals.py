"""GAE and the losses of PPO over entities are enn-trainer's.

`enn_trainer_figures.json` has those of enn-trainer cfd26f1 for the cases below. With MUSTER_ENN_TRAINER=PATHS they are
computed beside it: paths, as in PYTHONPATH, to enn-trainer, rogue-net and entity-gym; MUSTER_ENN_PYTHON is a Python
that has what these import.
"""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from learners.action_evaluation import ActionEvaluation
from learners.ppo_learner import PPOLearner
from utils.rl_utils import gae

STORED = Path(__file__).with_name("enn_trainer_figures.json")
CHILD = Path(__file__).parents[1] / "support" / "enn_trainer_child.py"
MOST_ACTORS = {"move": 3, "fire": 2}
CASES = 4


def case_of(seed):
    """Ten steps of six environments, and forty frames with none to five actors."""
    draw = np.random.default_rng(seed)
    floats = lambda *shape: np.round(draw.normal(size=shape), 4).tolist()  # noqa: E731
    ends = lambda *shape: (draw.random(shape) < 0.2).astype(float).tolist()  # noqa: E731
    estimates = {"rewards": floats(10, 6), "values": floats(10, 6), "next_value": floats(6)}
    estimates |= {"dones": ends(10, 6), "next_done": ends(6), "gamma": 0.97, "gae_lambda": 0.9}
    actions = {}
    for name, most in MOST_ACTORS.items():
        actors = draw.integers(0, most + 1, 40).tolist()
        before = -np.abs(draw.normal(size=sum(actors)))
        actions[name] = (
            actors,
            np.round(before, 4).tolist(),
            np.round(before + draw.normal(0, 0.2, len(before)), 4).tolist(),
        )
    losses = {"actions": actions, "advantages": floats(40), "returns": floats(40), "old_values": floats(40)}
    return {"estimates": estimates, "losses": losses | {"new_values": floats(40)}}


@pytest.fixture(scope="module", params=["stored", pytest.param("beside", marks=pytest.mark.slow)])
def originals(request, tmp_path_factory):
    """Figures of enn-trainer, by case."""
    if request.param == "stored":
        return json.loads(STORED.read_text())
    if not (paths := os.environ.get("MUSTER_ENN_TRAINER")):
        pytest.skip("set MUSTER_ENN_TRAINER to paths of enn-trainer and what it imports")
    folder = tmp_path_factory.mktemp("enn_trainer")
    (folder / "cases.json").write_text(json.dumps([case_of(seed) for seed in range(CASES)]))
    command = [os.environ["MUSTER_ENN_PYTHON"], str(CHILD), str(folder / "cases.json"), str(folder / "figures.json")]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, check=True, timeout=200)
    return json.loads((folder / "figures.json").read_text())


@pytest.mark.parametrize("seed", range(CASES))
def test_generalised_advantage_estimates(originals, seed):
    case, theirs = case_of(seed)["estimates"], originals[seed]["estimates"]
    rewards = th.tensor(case["rewards"]).T[..., None]
    values = th.tensor([*case["values"], case["next_value"]]).T[..., None]
    # theirs belong to the observation that follows
    ended = th.tensor([*case["dones"][1:], case["next_done"]]).T[..., None]
    found = gae(rewards, ended, th.ones_like(rewards), values, case["gamma"], case["gae_lambda"])
    for ours, name in zip(found, ("advantages", "returns"), strict=True):
        np.testing.assert_allclose(ours[..., 0].T, theirs[name], rtol=1e-5, atol=1e-5)


def slots(case):
    """`[40, 1, 5]`: whether an actor is there, and its log-probabilities when it acted and now."""
    tables = np.zeros((3, 40, 1, sum(MOST_ACTORS.values())), np.float32)
    first = 0
    for name, most in MOST_ACTORS.items():
        actors, *log_probs = case["actions"][name]
        there = np.arange(most) < np.array(actors)[:, None]
        for table, values in zip(
            tables[:, :, 0, first : first + most], (np.ones(sum(actors)), *log_probs), strict=True
        ):
            table[there] = values
        first += most
    return th.as_tensor(tables)


@pytest.mark.parametrize("seed", range(CASES))
def test_losses(originals, seed):
    case, theirs = case_of(seed)["losses"], originals[seed]["losses"]
    there, before, now = slots(case)
    frame = {key: th.tensor(case[key])[:, None, None] for key in ("advantages", "returns", "old_values", "new_values")}
    learner = PPOLearner.__new__(PPOLearner)
    learner.args = SimpleNamespace(
        normalise_advantages_per_minibatch=True,
        huber_delta=None,
        value_clip=True,
        entropy_in_pg_loss=False,
        halve_central_loss=False,
        adaptive_entropy=False,
        joint_step=False,
        learn_padding="nothing",
    )
    learner.estimator = SimpleNamespace(normalised_later=False, value_norm=None)
    learner._slots = [slice(0, 3), slice(3, 5)]
    learner.evaluate_actions = lambda *_: ActionEvaluation(now, th.zeros_like(now), frame["new_values"])
    learner.step = lambda policy_loss, value_loss: {}
    part = {**frame, "old_log_prob": before, "choices": there, "mask": th.ones(40, 1, 1)}
    found = learner._update(part, 0.2, 0.0)
    assert found["approx_kl"] == pytest.approx(theirs["approx_kl"], rel=1e-4)
    assert found["clip_fraction"] == pytest.approx(theirs["clip_fraction"], rel=1e-6)
    # its actions do not have equally many actors
    learner._slots = []
    assert learner._update(part, 0.2, 0.0)["approx_kl"] != pytest.approx(theirs["approx_kl"], rel=1e-3)
    assert found["pg_loss"] == pytest.approx(theirs["policy"], rel=1e-5, abs=1e-6)
    # which has its half in the learner's `value_coef`
    assert found["critic_loss"] / 2 == pytest.approx(theirs["value"], rel=1e-5)

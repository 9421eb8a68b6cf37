"""Helpers of tests of runners that play on: copies of CountingEnv, and a plain loop over one of them."""

import contextlib

import numpy as np
import torch as th

from envs import REGISTRY
from envs.contract.seeds import copies_seeds
from experiment.assembly import assemble
from fakes import CountingBatch, CountingEnv, RecordingLogger
from helpers import empty_batch, fill, make_args
from utils.numbers.random_streams import seed_everything

SEED = 5
LENGTHS, ENDS = (3, 1, 4, 2, 6), ("terminated", "truncated", "time_limit")
SIZES = {"n_agents": 2, "n_actions": 3, "state_shape": 3, "obs_shape": 5}


def declare_counting(monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "counting", None)
    REGISTRY.declare("counting", CountingEnv, "counts", batched=CountingBatch)


@contextlib.contextmanager
def assembled(runner, **changes):
    """The parts of a run on copies of CountingEnv, with a greedy policy of random weights."""
    seed_everything(SEED)
    changes = {"batch_size_run": 4, "lengths": LENGTHS, "ends": ENDS, "runner_log_interval": 1, **changes}
    env_args = {key: changes.pop(key) for key in ("lengths", "ends", "faults") if key in changes} | {"seed": SEED}
    greedy = {"epsilon_start": 0.0, "epsilon_finish": 0.0, "rnn_hidden_dim": 8}
    args = make_args(env="counting", env_args=env_args, runner=runner, **{**greedy, **changes})
    parts = assemble(args, RecordingLogger())
    fill(parts.mac.parameters(), scale=0.5)
    try:
        yield parts
    finally:
        parts.runner.close_env()


def play_alone(mac, copy, episodes, copies=4):
    """The episodes that copy number `copy` plays, by PyMARL's loop over one environment.

    Returns:
        for each the batch of one row, and the hidden states `[length + 1, n, H]` before every step.
    """
    env = CountingBatch(copies, lengths=LENGTHS, ends=ENDS, seed=copies_seeds(SEED, copies)).copies[copy]
    played = []
    for _ in range(episodes):
        batch, ended, t, before = empty_batch(1, 7, **SIZES), False, 0, []
        env.reset()
        mac.init_hidden(1)
        while True:
            observed = {"state": [env.get_state()], "obs": [env.get_obs()], "avail_actions": [env.get_avail_actions()]}
            batch.update(observed, ts=t)
            before.append(mac.hidden_states.reshape(2, -1).detach())
            actions = mac.select_actions(batch, t_ep=t, t_env=0)
            batch.update({"actions": actions}, ts=t)
            if ended:
                break
            reward, ended, info = env.step(actions[0].numpy())
            truncated = info["episode_limit"]
            outcome = {"reward": [reward], "terminated": [ended and not truncated], "truncated": [truncated]}
            batch.update(outcome, ts=t)
            t += 1
        played.append((batch, th.stack(before)))
    return played


def length_of(batch):
    return int(np.asarray(batch["filled"]).sum()) - 1

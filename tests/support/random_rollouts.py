"""A rollout that a policy of random weights has played, for tests of learners."""

import numpy as np
import torch as th

from components.episode_buffer import EpisodeBatch
from components.scheme import scheme_of
from controllers.hidden_states import reset_where
from controllers.policy_controller import PolicyMAC
from controllers.unroll import behind_a_step
from envs.contract.fields import pymarl_spec
from helpers import fill, make_args
from utils.rl_utils import episode_starts


def random_rollout(agent="rnn", size=3, steps=9, **changes):
    """A rollout of random episodes, acted by a controller from random memory; returns both."""
    rng = np.random.default_rng(0)
    sizes = {"state_shape": 1, "obs_shape": 5, "n_actions": 3, "n_agents": 2}
    scheme, groups, preprocess = scheme_of(pymarl_spec(sizes))
    before = {"group": "agents", "episode_const": True}
    scheme |= {"hidden_before": {"vshape": (64,), **before}, "last_actions_before": {"vshape": (3,), **before}}
    scheme["log_prob"] = {"vshape": (1,), "group": "agents"}
    batch = EpisodeBatch(scheme, groups, size, steps, preprocess=preprocess)
    args = make_args(agent=agent, critic="own", obs_last_action=True, obs_shape=5, n_agents=2, **changes)
    mac = PolicyMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters(), scale=0.4)
    batch["hidden_before"].normal_(generator=th.Generator().manual_seed(1))
    batch["last_actions_before"][:, :, 1] = 1
    ends = rng.random((size, steps)) < 0.2
    ends[:, 1:] &= ~ends[:, :-1]
    ends[:, -2:] = False
    ends[0, 3], ends[0, 2], ends[0, 4] = True, False, False  # the closing state starts a chunk of four
    mac.init_hidden(size)
    initial = mac.hidden_states
    mac.hidden_states = batch["hidden_before"]
    th.manual_seed(0)
    for t in range(steps):
        legal = rng.integers(2, size=(size, 2, 3))
        legal[..., 0] = 1
        seen = {"obs": rng.normal(size=(size, 2, 5)), "state": np.zeros((size, 1)), "avail_actions": legal}
        batch.update({**seen, "terminated": ends[:, t, None], "reward": rng.normal(size=(size, 1))}, ts=t)
        starts = episode_starts(batch)
        mac.hidden_states = reset_where(starts[:, t], mac.hidden_states, initial)
        decision = mac.decide(behind_a_step(batch, starts), t + 1, 0)
        batch.update({"actions": decision.actions["actions"], "log_prob": decision.extra("log_prob")}, ts=t)
    return batch, mac, args

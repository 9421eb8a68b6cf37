"""Stand-ins for tests: an environment with known figures, and a logger that keeps its entries."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np

from envs.multiagentenv import MultiAgentEnv
from muster.testing.recording_logger import RecordingLogger

__all__ = ["RecordingLogger"]


class CountingEnv(MultiAgentEnv):
    """Episodes whose length, end and rewards are arguments; observations contain seed, episode and step.

    Args:
        lengths: steps of episode 0, 1, ... (repeated).
        ends: how they end, likewise: "terminated", "time_limit", or "truncated" (cut off before the limit).
        fault: (step, what) of a fault in the first episode of the environment seeded `fault_seed`:
            "raise", "exit" or "kill".
    """

    n_agents = 2
    n_actions = 3

    def __init__(self, lengths=(4,), ends=("terminated",), episode_limit=6, fault=None, fault_seed=None, seed=None):
        self.lengths, self.ends, self.episode_limit = lengths, ends, episode_limit
        self.fault, self.fault_seed, self.own_seed = fault, fault_seed, seed
        self.episode, self.t = -1, 0
        self.closed = False
        self.rng = np.random.default_rng(seed)
        self.noise = self.bonus = 0.0

    def take_live(self, name, value):
        setattr(self, name, value)

    def reset(self):
        self.episode += 1
        self.t = 0
        self.noise = self.rng.random()

    def state_dict(self):
        return {"episode": self.episode, "t": self.t, "noise": self.noise, "rng": self.rng.bit_generator.state}

    def load_state_dict(self, state):
        self.episode, self.t, self.noise = state["episode"], state["t"], state["noise"]
        self.rng.bit_generator.state = state["rng"]

    def step(self, actions):
        self.t += 1
        self.noise = self.rng.random()
        if self.fault and (self.own_seed, self.t) == (self.fault_seed, self.fault[0]):
            _fail(self.fault[1])
        ended = self.t >= self.lengths[self.episode % len(self.lengths)]
        terminates = self.ends[self.episode % len(self.ends)] == "terminated"
        info = {"episode_limit": ended and not terminates, "won": int(terminates)}
        return float(self.t + sum(int(a) for a in actions) / 10) + self.bonus, ended, info

    def get_obs_agent(self, agent_id):
        seed = 0 if self.own_seed is None else self.own_seed % 1000
        return np.array([seed, self.episode, self.t, agent_id, self.noise], dtype=np.float32)

    def get_obs_size(self):
        return 5

    def get_state(self):
        return np.array([self.episode, self.t, self.noise], dtype=np.float32)

    def get_state_size(self):
        return 3

    def get_avail_agent_actions(self, agent_id):
        legal = [1] * self.n_actions
        legal[(self.t + agent_id) % self.n_actions] = 0
        return legal

    def get_total_actions(self):
        return self.n_actions

    def close(self):
        self.closed = True


class CountingBatch:
    """CountingEnv as a `BatchedEnv` (`vector_envs.contract`); lengths and ends of copy b start with entry b.

    Args:
        seed: of each copy; None: that of none.
    """

    def __init__(self, batch_size, lengths=(4,), ends=("terminated",), seed=None, **env_args):
        self.copies = [
            CountingEnv(_from(lengths, b), _from(ends, b), seed=seed and seed[b], **env_args) for b in range(batch_size)
        ]
        self.n_agents, self.episode_limit = CountingEnv.n_agents, self.copies[0].episode_limit
        self.reward, self.infos = np.zeros(batch_size), [{}] * batch_size
        self.ended, self.truncated = np.ones(batch_size, dtype=bool), np.zeros(batch_size, dtype=bool)

    def reset(self, which=None):
        for b in range(len(self.copies)) if which is None else np.flatnonzero(which):
            self.copies[b].reset()
            self.ended[b] = self.truncated[b] = False

    def step(self, actions):
        for b in np.flatnonzero(~self.ended):
            self.reward[b], self.ended[b], self.infos[b] = self.copies[b].step(actions[b])
            self.truncated[b] = self.infos[b]["episode_limit"]
        return self.reward, self.ended, self.truncated

    def observed(self):
        return {
            "obs": np.array([copy.get_obs() for copy in self.copies]),
            "state": np.array([copy.get_state() for copy in self.copies]),
            "avail_actions": np.array([copy.get_avail_actions() for copy in self.copies]),
        }

    def info(self, b):
        return self.infos[b]

    def state_dict(self):
        copies = [copy.state_dict() for copy in self.copies]
        ends = {"ended": self.ended.copy(), "truncated": self.truncated.copy()}
        return {"copies": copies, "infos": [dict(info) for info in self.infos], "reward": self.reward.copy(), **ends}

    def load_state_dict(self, state):
        for copy, saved in zip(self.copies, state["copies"], strict=True):
            copy.load_state_dict(saved)
        self.infos = [dict(info) for info in state["infos"]]
        for name in ("reward", "ended", "truncated"):
            getattr(self, name)[:] = state[name]

    def take_live(self, name, value):
        for copy in self.copies:
            copy.take_live(name, value)

    def get_env_info(self):
        return self.copies[0].get_env_info()

    def close(self):
        for copy in self.copies:
            copy.close()


def _from(entries, first):
    first %= len(entries)
    return (*entries[first:], *entries[:first])


class UnevenEnv(CountingEnv):
    """Environment number i of a run seeded 4 has episodes of 1 + i steps."""

    def reset(self):
        super().reset()
        self.lengths = [1 + self.own_seed % 4]


class FaultyEnv(CountingEnv):
    """Fails as `faults` says: [seed, episode, step, how], where step 0 is the reset and how is "raise", "exit",
    "kill", "hang" or "hang with a child" (a process that it has started)."""

    def __init__(self, faults=(), **env_args):
        super().__init__(**env_args)
        self.faults = [tuple(fault) for fault in faults]

    def reset(self):
        super().reset()
        self.fail()

    def step(self, actions):
        outcome = super().step(actions)
        self.fail()
        return outcome

    def fail(self):
        for seed, episode, step, how in self.faults:
            if (seed, episode, step) == (self.own_seed, self.episode, self.t):
                _fail(how)


class DrawingEnv(CountingEnv):
    """Its noise is drawn from the global generators of its process."""

    def reset(self):
        super().reset()
        self.noise = random.random() + np.random.random()


class UnsavableEnv(CountingEnv):
    """A foreign environment, which knows nothing of states."""

    state_dict = load_state_dict = property()


class TalkativeEnv(CountingEnv):
    """Parts of its info cannot be pickled."""

    def step(self, actions):
        return 0.0, True, {"won": 1, "lock": threading.Lock(), "nested": {"lock": threading.Lock()}}


class MisshapenEnv(CountingEnv):
    """Shows `what` in a shape that it did not announce."""

    def __init__(self, what, **env_args):
        super().__init__(**env_args)
        setattr(self, f"get_{what}", lambda: [1.0] * 7)


class StubbornEnv(CountingEnv):
    """Does not close, nor end when asked to."""

    def close(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)


class HangingEnv(CountingEnv):
    """Its first step does not return."""

    def step(self, actions):
        time.sleep(600)


class ModulesEnv(CountingEnv):
    """Tells what its process has imported."""

    def get_env_info(self):
        return {**super().get_env_info(), "modules": sorted(sys.modules)}


def _fail(how):
    if how == "raise":
        raise RuntimeError("the simulator lost its map")
    if how == "exit":
        os._exit(7)
    if how.startswith("hang"):
        if how == "hang with a child":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600) # a game"])
        time.sleep(600)
    os.kill(os.getpid(), signal.SIGKILL)

"""Collectors with a runner that plays nothing, but fails on demand; their processes import this file."""

import logging
import os
import time
from types import SimpleNamespace

import numpy as np
import torch as th
import torch.nn as nn

from collection.collector_options import OPTIONS
from collection.collectors import Collectors
from helpers import empty_batch, make_args
from records.logger import Logger
from runners.contract import Runner
from utils.errors import MusterError

CONSOLE = logging.getLogger("test.collectors")
COLUMNS = 3


def new_logger():
    return Logger(CONSOLE)


class OneWeight:
    """A controller whose only weight says how often it has learned."""

    def __init__(self):
        self.network = nn.Linear(1, 1, bias=False)
        self.network.weight.data.zero_()
        self.action_selector = SimpleNamespace(draws=0)

    def parameters(self):
        return self.network.parameters()

    def select_actions(self):
        return self.network.weight.item()

    def load_state(self, other):
        self.network.load_state_dict(other.network.state_dict())


class RunnerOfNothing(Runner):
    """Ten steps a rollout; observations are the weight, the count of rollouts, the seed, and a random number.

    Args:
        args: `faults`: process -> (after how many rollouts, "exit", "hang", "raise" or "refuse"), where its file
            `mark` does not exist yet; `pause`: process -> seconds of a rollout.
    """

    batch_size = test_batch_size = episodes_brought = 1
    batch_columns = COLUMNS

    def __init__(self, args, logger, mac):
        self.args, self.logger, self.mac, self.t_env, self.count = args, logger, mac, 0, 0
        self.train_returns, self.train_stats = [], {}

    def run(self, test_mode=False):
        self._fail()
        time.sleep(self.args.pause.get(self._index(), 0))
        batch = empty_batch(1, COLUMNS)
        for t in range(COLUMNS):
            seen = [self.mac.select_actions(), self.count, self.args.seed % 10**6, np.random.random()]
            batch.update({"obs": np.tile([*seen, 0], (2, 1))}, ts=t)
        self.count += 1
        self.t_env += 10
        self.logger.log_stat("count", self.count, self.t_env)
        # each third is logged
        self.train_returns.append(float(self.count))
        self.train_stats["n_episodes"] = self.train_stats.get("n_episodes", 0) + 1
        self.train_stats.setdefault("agent_0_return", []).append(float(self.count))
        if self.count % 3 == 0:
            self.train_returns, self.train_stats = [], {}
        return batch

    def _index(self):
        import multiprocessing

        return multiprocessing.current_process().name

    def _fail(self):
        after, what, mark = self.args.faults.get(self._index(), (None, "", ""))
        if self.count != after or os.path.exists(mark):
            return
        if mark:
            open(mark, "w").close()
        if what == "exit":
            os._exit(3)
        if what == "hang":
            time.sleep(1000)
        kinds = {"refuse": MusterError, "take": MemoryError}
        raise kinds.get(what, RuntimeError)("the track is gone")

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]

    def close_env(self):
        pass


def players(args, logger):
    mac = OneWeight()
    return RunnerOfNothing(args, logger, mac), mac


def collectors(logger, faults=None, pause=None, seed=1, **options):
    """`Collectors` whose main process has a controller of this kind; `learn()` gives it its next weight."""
    options = {key: option.default for key, option in OPTIONS.items()} | options
    args = make_args(collectors=options, faults=faults or {}, pause=pause or {}, seed=seed, episode_limit=COLUMNS - 1)
    args.env_args = {}
    mac = OneWeight()
    made = Collectors(RunnerOfNothing(args, logger, mac), mac, OneWeight(), logger, empty_batch(1, COLUMNS))
    made.collect_by(players)
    made.mac = mac
    return made


def learn(made):
    with th.no_grad():
        made.mac.network.weight.add_(1)


def seen(experience):
    """Weight, count of rollouts, seed and random number of its first step."""
    return experience.batch["obs"][0, 0, 0, :4].tolist()

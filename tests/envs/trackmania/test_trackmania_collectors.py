"""Collectors, each with a game of its own: games that crash, and collectors that are killed."""

import gc
import os
import signal
import weakref
from contextlib import contextmanager
from itertools import pairwise

import psutil
import pytest
import torch as th

from cli.compose import compose_config
from collection.collectors import Collectors
from experiment.loop import TrainingLoop
from records.logger import Logger
from run import run
from small_training import suited
from trackmania_game.examples import free_port
from trackmania_game.faults import STATES
from waiting import comes_true

pytestmark = pytest.mark.slow
SMALL = {"batch_size": 4, "rnn_hidden_dim": 8, "seed": 1, "test_nepisode": 1, "test_interval": 10**6, "t_max": 10**5}
SMALL |= {"batch_size_run": 1, "rollout_steps": 5, "runner": "collectors", "vector_env": "in_process"}
SMALL |= {"runner_log_interval": 1, "log_interval": 10**6, "checkpoint_minutes": 0}
SERVERS = 6  # files of multiprocessing's servers
VIEW = {"view": "both", "frame_width": 40, "frame_height": 40, "state": False}


def config_of(tmp_path, env_args, **collectors):
    config = compose_config("iqn", "trackmania").config
    changes = {**SMALL, "local_results_path": str(tmp_path / "results"), "collectors": {"processes": 2, **collectors}}
    return suited(config, {**changes, "env_args": {**config["env_args"], **env_args}})


class Watch:
    """What the learner gets, until `done(self)`.

    `rollouts`: of each collector, the batches in their order. `updates`, `steps`: of the run. `logged`: statistics.
    """

    def __init__(self, monkeypatch, done):
        self.rollouts, self.logged, self.updates, self.steps = {0: [], 1: []}, {}, 0, 0
        take, gather, log = Collectors.take, TrainingLoop._gather_and_learn, Logger.log_stat

        def taking(acting):
            experience = take(acting)
            self.rollouts[experience.source].append(experience.batch)
            self.pool = weakref.proxy(acting._pool)  # its pipes and memory go with it
            self.restarts = self.pool.restarts
            return experience

        def gathering(loop):
            gather(loop)
            self.updates, self.steps = loop.state.updates, loop.collection.t_env
            if done(self):
                loop.args.t_max = 0

        def logging(logger, key, value, t, *args, **options):
            self.logged.setdefault(key, []).append(value)
            log(logger, key, value, t, *args, **options)

        monkeypatch.setattr(Collectors, "take", taking)
        monkeypatch.setattr(TrainingLoop, "_gather_and_learn", gathering)
        monkeypatch.setattr(Logger, "log_stat", logging)


def ends_of(batches, key):
    return sum(int(batch[key][:, :-1].sum()) for batch in batches)


@contextmanager
def nothing_is_left():
    """No process more than before, and no file more that is open."""
    me = psutil.Process()
    before, files = {child.pid for child in me.children(recursive=True)}, me.num_fds()
    yield

    def left():
        return [child for child in me.children(recursive=True) if child.pid not in before and _runs(child)]

    assert comes_true(lambda: not left()), left()
    gc.collect()
    assert me.num_fds() <= files + SERVERS


def _runs(process):
    try:
        # the servers of multiprocessing start with the first child, and stay; what forks from one is called like it
        names = {"forkserver", "resource_tracker"} & set(" ".join(process.cmdline()).replace(".", " ").split())
        server = names and process.ppid() == os.getpid()
        return process.status() != psutil.STATUS_ZOMBIE and not server
    except psutil.NoSuchProcess:
        return False


def test_games_that_crash_in_every_state_cost_their_races_only(stand_in, line_file, tmp_path, monkeypatch):
    """One game closes its connection in each state of the link, the other falls silent or sends half of a message."""
    port, (first, *others) = free_port(), STATES
    kinds = {0: ["close", "close"], 1: ["silence", "half"]}
    games = []
    for index, (one, two) in kinds.items():
        then = [(*state, (two, one)[k % 2]) for k, state in enumerate(others)]
        at, number = first
        games.append(stand_in(port=port + index, at=at, number=number, do=one, then=then, finish_at=700))
    testing = stand_in(port=port + 2, finish_at=700)

    def done(watch):
        struck = all(game.faults.struck == len(STATES) for game in games)
        watch.more = getattr(watch, "more", 0) + struck
        return watch.more > 20  # rollouts: some races after the last crash

    watch = Watch(monkeypatch, done)
    env_args = {"map_cycle": [{"map": "A", "line": line_file}], "port": port, **VIEW}
    # an answer that takes longer on a busy machine would be one more connection
    env_args |= {"game_timeout": 0.4, "launch_timeout": 1.0, "max_restarts": 60}
    with nothing_is_left():
        run(config_of(tmp_path, env_args))
        for game in (*games, testing):
            game.close()
    assert watch.restarts == 0, "a game's crash is not its collector's"
    assert [game.connections for game in games] == [1 + len(STATES)] * 2
    finished = crashed = 0
    for batches in watch.rollouts.values():
        assert len(batches) > 15
        for last, following in pairwise(batches):
            closed = last["filled"][0, -1] and not (last["terminated"] | last["truncated"])[0, -2]
            if closed:
                for key in ("obs/state_float", "obs/frames", "current_zone_idx"):
                    assert th.equal(last[key][:, -1], following[key][:, 0]), "a step is missing between rollouts"
        finished += ends_of(batches, "terminated")
        crashed += ends_of(batches, "truncated")
    # every race ends by its finish or by a crash; a crash at its start is tried again
    assert 0 < crashed <= 2 * len(STATES) and finished > 10
    assert set(watch.logged["race_finished_mean"]) == {1.0}, "a crashed race is in no statistic"
    assert watch.logged["crashed_episodes"][-1] > 0
    assert watch.updates > 0
    batches = watch.rollouts[0] + watch.rollouts[1]
    # the column after an end has its closing state, and no step
    closings = sum(int((batch["terminated"] | batch["truncated"])[:, :4].sum()) for batch in batches)
    assert watch.steps == 5 * len(batches) - closings


def test_a_killed_collector_takes_its_game_along_and_another_starts_both(launcher, line_file, tmp_path, monkeypatch):
    own = launcher()
    killed = []

    def done(watch):
        if not killed and len(watch.rollouts[0]) >= 1 and len(watch.rollouts[1]) >= 1:
            killed.append(watch.pool.collectors[0].process.pid)
            watch.games = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
            os.kill(killed[0], signal.SIGKILL)
            watch.before = len(watch.rollouts[0])
        return killed and watch.pool.restarts == 1 and len(watch.rollouts[0]) > watch.before + 1

    watch = Watch(monkeypatch, done)
    env_args = {"map_cycle": [{"map": "A", "line": line_file}], **own, "time_limit": 4, "game_timeout": 20.0}
    with nothing_is_left():
        run(config_of(tmp_path, env_args))
    games = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(watch.games) in (2, 3) and len(games) > len(watch.games), "the killed one's game was started once more"
    left = [psutil.Process(pid) for pid in games if psutil.pid_exists(pid)]
    assert psutil.wait_procs(left, timeout=10)[1] == []
    assert watch.restarts == 1

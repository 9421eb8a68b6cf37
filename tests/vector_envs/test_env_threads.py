"""How many threads step a batch, and that nothing depends on their number."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_equal

from cli.compose import compose_config
from envs import REGISTRY
from envs.racing.environment import RacingBatch
from envs.skirmish.environment import SkirmishBatch
from helpers import check_chosen_parts, make_args
from utils.errors import ConfigError
from utils.processes import thread_shares
from vector_envs import REGISTRY as SOURCES
from vector_envs import threads as counting
from vector_envs.batched import BatchedCopies
from vector_envs.threads import threads_of

BATCHES = {
    "3m": partial(SkirmishBatch, map_name="3m", prob_obs_enemy=0.7),
    "drawn": partial(SkirmishBatch, map_name="10gen_terran"),
    "units": partial(SkirmishBatch, map_name="2s3z", observation="entities"),
    "maps": partial(SkirmishBatch, map_name=["3m", "MMM"], observation="entities"),
    "races": partial(RacingBatch, map_cycle=["seeds:0-2"], time_limit=9),
    "pictures": partial(RacingBatch, map_cycle=["seed:1"], time_limit=9, view="both", picture_size=42, n_cars=2),
}


def played(env, steps=25):
    """All that is seen, bit for bit."""
    rng, seen = np.random.default_rng(0), []
    env.reset()
    legal = next(path for path, field in env.spec.fields.items() if field.kind == "mask" and field.shape)
    for _ in range(steps):
        shown = {path: array.copy() for path, array in env.observed().items()}
        mask = shown[legal]
        outcome = env.step({"actions": (rng.random(mask.shape) * (mask > 0)).argmax(-1)})
        values = {path: array.copy() for path, array in outcome.values.items()}
        ended = outcome.terminated | outcome.truncated
        seen.append([shown, values, outcome.terminated.copy(), ended, [env.info(b) for b in np.flatnonzero(ended)]])
        if ended.any():
            env.reset(ended)
    return [seen, env.state_dict()]


@pytest.mark.slow
@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_is_the_same_in_any_number_of_threads(name, monkeypatch):
    """First views are shared, too, as in large batches."""
    monkeypatch.setattr("envs.skirmish.batch.SHARED_VIEWS", 2)
    monkeypatch.setattr("envs.racing.options.CARS_PER_THREAD", 1)
    monkeypatch.setattr("envs.racing.options.PICTURES_PER_THREAD", 1)
    alone = played(BatchedCopies(BATCHES[name](7, seed=[*range(7)]), 7))
    used = []
    do = thread_shares.ThreadShares.do
    monkeypatch.setattr(
        thread_shares.ThreadShares, "do", lambda self, *work: (used.append((len(self), work[0])), do(self, *work))
    )
    for threads in (2, 3):
        used.clear()
        env = BatchedCopies(BATCHES[name](7, seed=[*range(7)], threads=threads), 7)
        assert_equal(played(env), alone)
        assert {count for count, _ in used} == {threads}
        assert len({work for _, work in used}) == 2, "steps and first views"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3m", "races"])
def test_invalid_actions_are_refused_as_in_one_thread(name):
    refusals = []
    for threads in (1, 3):
        env = BATCHES[name](4, seed=[*range(4)], threads=threads)
        env.reset()
        actions = np.full((4, 3 if name == "3m" else 1), 99)
        with pytest.raises(ValueError, match="action") as refused:
            env.step(actions if name == "3m" else {"actions": actions})
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]


def args_of(**changes):
    return SimpleNamespace(**{"env": "skirmish", "env_args": {}, "env_threads": 0, "collection": "sync", **changes})


def _threads(args, copies):
    return threads_of(args, args.env_threads, copies)


def test_the_cores_of_a_run_are_shared_by_its_collectors(monkeypatch):
    monkeypatch.setattr(counting, "usable_cores", lambda: 16)
    small, large = args_of(env_args={"map_name": "3m"}), args_of(env_args={"map_name": "27m_vs_30m"})
    assert [_threads(small, copies) for copies in (1, 255, 256, 1280, 4096)] == [1, 1, 2, 10, 16]
    assert [_threads(large, copies) for copies in (1, 27, 28, 4096)] == [1, 1, 2, 16]
    collectors = {"processes": 3, "transport": "processes", "cpus": 1.0}
    for changes in ({"collection": "collectors"}, {"collector": 1}):
        assert _threads(args_of(collectors=collectors, **changes), 4096) == 5
        assert _threads(args_of(collectors={**collectors, "transport": "ray"}, **changes), 4096) == 1
        assert _threads(args_of(collectors=collectors, env_threads=6, **changes), 8) == 2
    assert _threads(args_of(env_threads=6), 8) == 6
    assert _threads(args_of(collectors=collectors, collector=1, env_threads=2), 8) == 1
    racing = {"map_cycle": ["seed:1"], "n_cars": 2}
    assert _threads(args_of(env="racing", env_args=racing), 512) == 2
    assert _threads(args_of(env="racing", env_args={**racing, "view": "picture"}), 32) == 4


class Plain(SkirmishBatch):
    """Somebody's own, which knows of no threads."""

    def __new__(cls, batch_size, **env_args):
        return super().__new__(cls, batch_size, **env_args)

    def __init__(self, batch_size, **env_args):
        super().__init__(batch_size, **env_args)


@pytest.mark.slow
def test_a_run_gives_its_batch_threads_if_it_takes_them(monkeypatch):
    args = make_args(env="skirmish", env_args={"map_name": "3m", "seed": 1}, batch_size_run=4, vector_env="batched")
    args.env_threads = 3
    env = SOURCES["batched"](args)
    assert len(env.play(False).env.simulator.shares) == 3
    env.close()
    monkeypatch.setitem(REGISTRY.entry("skirmish").traits, "batched", Plain)
    env = SOURCES["batched"](args)
    assert len(env.play(False).env.simulator.shares) == 1
    env.close()


def config_of(env, **changes):
    return {**compose_config("ippo", env).config, **changes}


def test_threads_that_an_environment_cannot_use_are_refused():
    with pytest.raises(ConfigError, match=r"env_threads=2: env=entities steps its copies in one thread.*skirmish"):
        check_chosen_parts(config_of("entities", env_threads=2))
    check_chosen_parts(config_of("skirmish", env_threads=2))

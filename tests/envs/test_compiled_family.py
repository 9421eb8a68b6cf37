"""What families get from `envs.compiled`, by the one in docs/examples: many copies and one, threads, saved states."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_equal

from envs import REGISTRY
from played_copies import played
from utils.config.user_modules import imported
from utils.errors import ConfigError, MusterError
from vector_envs.batched import BatchedCopies

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "compiled_meeting.py"
SEEDS = [3, 1, 4, 1, 5]


@pytest.fixture(scope="module")
def family():
    module = imported("plugins", str(EXAMPLE))
    yield module
    del REGISTRY["compiled_meeting"]


@pytest.fixture(autouse=True)
def compiled_here(family, monkeypatch):
    monkeypatch.setattr(family.KERNEL, "ensure_compiled", lambda compile_all: None)


def batch(family, seeds=SEEDS, **options):
    env = BatchedCopies(family.MeetingBatch(len(seeds), seed=seeds, **options), len(seeds))
    env.reset()
    return env


def test_one_copy_is_one_of_many(family):
    many, ones = batch(family), [family.Meeting(seed=seed) for seed in SEEDS]
    for one in ones:
        one.reset()
    rng, ends = np.random.default_rng(0), 0
    for _ in range(80):
        shown = many.observed()
        for b, one in enumerate(ones):
            assert_equal(one.observe(), {path: array[b] for path, array in shown.items()})
        legal = shown["avail_actions"]
        actions = (rng.random(legal.shape) * legal).argmax(-1)
        outcome = many.step({"actions": actions})
        for b, one in enumerate(ones):
            values, terminated, truncated, info = one.step({"actions": actions[b]})
            assert (values["reward"], terminated, truncated) == (
                outcome.values["reward"][b],
                outcome.terminated[b],
                outcome.truncated[b],
            )
            assert info == many.info(b)
            if terminated or truncated:
                one.reset()
        ended = outcome.terminated | outcome.truncated
        ends += np.array([outcome.terminated.sum(), outcome.truncated.sum()])
        many.reset(ended)
    assert (ends > 3).all()
    assert [one.seed() for one in ones] == SEEDS


def test_neither_threads_nor_the_place_of_the_results_matter(family):
    alone, threads = batch(family), batch(family, threads=3)
    simulator = threads.env.simulator
    simulator.reset(outputs=simulator.allocate(len(SEEDS))[1])
    alone.reset()
    assert_equal(*(played(env, np.random.default_rng(0)) for env in (alone, threads)))


def test_a_saved_batch_continues_identically(family):
    first, second = batch(family), batch(family, seeds=[0] * 5)
    played(first, np.random.default_rng(0), 7)
    second.load_state_dict(first.state_dict())
    assert_equal(*(played(env, np.random.default_rng(1)) for env in (first, second)))
    with pytest.raises(ValueError, match=r"does not fit these meetings: meetings.line is \(5,\), not \(2,\)"):
        batch(family, seeds=[1, 2]).load_state_dict(first.state_dict())


def test_seeds_count_episodes_anew(family):
    env = batch(family)
    first = played(env, np.random.default_rng(0))
    env.env.seed(SEEDS)
    env.reset()
    assert_equal(played(env, np.random.default_rng(0)), first)
    one = family.Meeting(seed=7)
    one.seed(SEEDS[0])
    one.reset()
    assert_equal(one.observe()["obs"], first[0][0]["obs"][0])


def test_refusals(family, monkeypatch):
    env = batch(family, length=2)
    with pytest.raises(ConfigError, match=r"env_args.lenght: Meeting has no such argument. Did you mean 'length'"):
        family.Meeting.check_args(lenght=2)
    with pytest.raises(ValueError, match=r"actions have the shape \(5, 3\), not \(5, 2\)"):
        env.step({"actions": np.zeros((5, 3), int)})
    with pytest.raises(ValueError, match="illegal"):
        env.step({"actions": np.full((5, 2), 1)})
    monkeypatch.setattr("envs.compiled.simulator.available_memory", lambda: 2**10)
    with pytest.raises(MusterError, match=r"A batch of 99 meetings"):
        family.MeetingBatch(99)

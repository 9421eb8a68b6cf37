"""A battle depends on its seed and episode number alone: not on the batch, the threads, or on being interrupted."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from envs.skirmish.batch import BatchedSkirmish

pytestmark = pytest.mark.slow

MAPS = ["3m", "MMM", "2s3z", "corridor", "bane_vs_bane", "2m_vs_1z", "10gen_zerg"]
ROOT = Path(__file__).resolve().parents[3]


def choose(avail, seeds, step):
    """A legal action for every agent, a function of the battle's seed, the step and what is legal alone."""
    choices = np.arange(avail[0].size, dtype=np.uint64).reshape(avail.shape[1:])
    noise = (np.asarray(seeds, dtype=np.uint64)[:, None, None] << np.uint64(40)) + np.uint64(step << 20) + choices
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # SplitMix64
        noise = (noise ^ (noise >> np.uint64(shift))) * np.uint64(factor)
    return (noise * (avail > 0)).argmax(-1)


def play(battles, steps, first=0):
    """Everything that is seen of every battle, as bytes, while ended ones are reset."""
    seen = [[] for _ in range(battles.batch_size)]
    if first == 0:
        battles.reset()
    for step in range(first, first + steps):
        outputs = battles.step(choose(battles.outputs.avail_actions, battles.state.battle["seed"], step))
        for b in range(battles.batch_size):
            seen[b].append(b"".join(array[b].tobytes() for array in outputs))
        if outputs.terminated.any():
            battles.reset(outputs.terminated.copy())
    return seen


@pytest.mark.parametrize("name", MAPS)
def test_neither_batch_nor_threads_matter(name):
    """The steps of one battle are, byte for byte, those of the same battle among many and in two threads."""
    steps, last = (200, 69) if name == "3m" else (80, 21)
    args = {"map_name": name, "prob_obs_enemy": 0.7}
    alone = play(BatchedSkirmish(1, seed=[7], **args), steps)
    among = play(BatchedSkirmish(last - 5, seed=range(5, last), **args), steps)
    threads = play(BatchedSkirmish(last - 5, seed=range(5, last), threads=2, **args), steps)
    assert alone[0] == among[2]
    assert among == threads
    assert among[0] != among[2]


@pytest.mark.parametrize("name", MAPS)
def test_a_battle_continues_from_its_state(name):
    battles = BatchedSkirmish(4, seed=1, map_name=name, prob_obs_enemy=0.7)
    play(battles, 37)
    state = battles.state_dict()
    rest = play(battles, 60, first=37)
    other = BatchedSkirmish(4, seed=99, map_name=name, prob_obs_enemy=0.7)
    play(other, 5)
    other.load_state_dict(state)
    assert play(other, 60, first=37) == rest
    battles.load_state_dict(state)
    assert play(battles, 60, first=37) == rest


def test_a_reset_leaves_the_other_battles_alone():
    battles = BatchedSkirmish(3, seed=1, map_name="8m")
    play(battles, 20)
    before = battles.state_dict()
    battles.reset(np.array([False, True, False]))
    after = battles.state_dict()
    for name, array in before.items():
        assert array[0].tobytes() == after[name][0].tobytes()
        assert array[2].tobytes() == after[name][2].tobytes()
    assert after["battles.battle"]["episode"].tolist() == [0, 1, 0]
    assert after["battles.battle"]["step"].tolist() == [20, 0, 20]


@pytest.mark.parametrize("name", ["3m", "10gen_zerg"])
def test_nothing_of_an_ended_battle_is_left_after_a_reset(name):
    """Maps that open alike start by another call than those whose units are drawn."""
    battles = BatchedSkirmish(3, seed=[1, 2, 3], map_name=name)
    battles.reset()
    ended = np.zeros(3, dtype=bool)
    for step in range(battles.episode_limit):
        outputs = battles.step(choose(battles.outputs.avail_actions, [1, 2, 3], step))
        ended = outputs.terminated | outputs.truncated
        if ended.any():
            break
    assert outputs.dead_allies[ended].any() or outputs.dead_enemies[ended].any()
    battles.reset(ended.copy())
    for field in ("reward", "terminated", "truncated", "battle_won", "dead_allies", "dead_enemies"):
        assert not getattr(outputs, field)[ended].any(), field
    for field in ("step", "ended"):
        assert not battles.state.battle[field][ended].any(), field


def test_plain_python_plays_the_same():
    """NUMBA_DISABLE_JIT=1 runs the same code uncompiled, for debugging."""
    script = (
        "import sys; sys.path[:0] = ['src', 'tests/envs/skirmish']\n"
        "import test_reproducible\n"
        "print(*map(test_reproducible.digest, sys.argv[1:]))\n"
    )
    names = ["MMM", "10gen_protoss"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *names],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(map(digest, names))


def digest(name):
    seen = play(BatchedSkirmish(2, seed=1, map_name=name, prob_obs_enemy=0.7), 12)
    return hashlib.sha256(b"".join(map(b"".join, seen))).hexdigest()

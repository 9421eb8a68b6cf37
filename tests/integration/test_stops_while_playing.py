"""Real signals while slow or hanging environments are played: seconds until the end, and what is kept."""

import re
import signal
import time

import pytest

from forked import Command
from own_parts import own_game

pytestmark = pytest.mark.slow

# 1,024 steps of a rollout, 0.02 s each: 20 s in turn
SLOW = """
steps = 0
def step(self, actions):
    Own.steps += 1
    if Own.steps == 40:
        pathlib.Path({file!r}).touch()
    {pause}
    return super().step(actions)
"""
# a late step is given up after 2 seconds in place of 8
IMPATIENT = """
import utils.processes.stop_signals, utils.processes.stopping
utils.processes.stop_signals.GRACE = utils.processes.stopping.GRACE = 2.0
"""
COMMON = ["seed=7", "t_max=1000000", "batch_size_run=32"]
HERE, THERE = ["vector_env=in_process"], ["vector_env=workers", "envs_per_worker=16"]
ROLLOUT = ["--config=pqn_vdn", "--env-config=two_step", "with", *COMMON, "rollout_steps=32", "minibatches=1"]
EPISODES = ["--config=vdn", "--env-config=two_step", "with", *COMMON, "batch_size=4", "buffer_size=64"]
COLLECTORS = [*ROLLOUT, *HERE, "runner=collectors", "collectors.processes=2"]
COLLECTORS[0] = "--config=iqn"
COLLECTORS.remove("minibatches=1")
KEPT = r"The checkpoint also has \d+ steps? of the rollout that was being played\."
DROPPED = r"\d+ steps? of the rollout that was being played are dropped, because "


def stopped(tmp_path, words, name="SIGTERM", pause="time.sleep(0.02)", more=""):
    """A run that got a signal while it played: seconds until its end, and what it printed."""
    playing = tmp_path / "playing"
    game = own_game(tmp_path, SLOW.format(file=str(playing), pause=pause), more)
    process, deadline = Command(*words, *game, cwd=tmp_path), time.monotonic() + 120
    while not playing.exists():
        assert process.is_running() and time.monotonic() < deadline
        time.sleep(0.01)
    before = time.monotonic()
    process.send_signal(getattr(signal, name))
    done = process.end()
    told = done.stdout + done.stderr
    assert done.returncode == 128 + getattr(signal, name), told
    assert "Traceback" not in told
    assert re.search(r"Resume from the checkpoint of step \d+ with: python src/main\.py --resume=", told)
    return time.monotonic() - before, told


@pytest.mark.parametrize(
    ("words", "name", "expected"),
    [
        ([*ROLLOUT, *HERE], "SIGTERM", KEPT),
        ([*ROLLOUT, *THERE], "SIGINT", KEPT),
        ([*ROLLOUT, *HERE, "sigusr1=stop"], "SIGUSR1", KEPT),
        ([*EPISODES, *HERE, "runner=episodes"], "SIGTERM", KEPT),
        ([*EPISODES, *HERE, "runner=episodes_continuous"], "SIGTERM", KEPT),
        ([*EPISODES, *HERE, "runner=episodes", "collection=async"], "SIGTERM", KEPT),
        ([*COLLECTORS, "collectors.deterministic=True"], "SIGTERM", KEPT),
        (COLLECTORS, "SIGTERM", DROPPED + "collectors that do not take turns start new episodes"),
    ],
    ids=["rollout", "workers", "SIGUSR1", "episodes", "continuous", "ahead", "turns", "collectors"],
)
def test_a_stop_takes_effect_within_the_present_step(tmp_path, words, name, expected):
    seconds, told = stopped(tmp_path, words, name)
    # a step of all copies takes 0.64 s
    assert seconds < 6
    assert re.search(expected, told), told


@pytest.mark.parametrize(
    "words",
    [[*ROLLOUT, *HERE], [*ROLLOUT, *THERE], [*EPISODES, *THERE, "runner=episodes", "collection=async"]],
    ids=["here", "workers", "ahead"],
)
def test_a_stop_takes_effect_while_an_environment_hangs(tmp_path, words):
    seconds, told = stopped(tmp_path, words, pause="Own.steps == 40 and time.sleep(1000)", more=IMPATIENT)
    # and 5 seconds for processes that do not end
    assert seconds < 12
    assert re.search(DROPPED + r"a step did not end within 8 seconds\.", told), told

"""environments_state() lets another runner continue exactly."""

import contextlib
import copy

import pytest
import torch as th

from envs import REGISTRY
from experiment.assembly import assemble
from fakes import CountingEnv, DrawingEnv, RecordingLogger, UnsavableEnv
from helpers import fill, make_args
from helpers import recreation_seed_by_hand as stream
from utils.errors import MusterError
from utils.numbers.random_streams import seed_everything
from vector_envs.faults import EnvironmentWorkerError

pytestmark = pytest.mark.slow

SEED = 6
ENVIRONMENTS = {
    "two_step": {},
    "matrix": {"game": "penalty", "episode_limit": 4},
    "lbf": {"key": "Foraging-5x5-2p-1f-v3", "time_limit": 9},
    "mpe": {"key": "mpe2.simple_tag_v3", "time_limit": 6},
    "skirmish": {"map_name": "3m"},
    "racing": {"map_cycle": ["seeds:1-3"], "metres": 60.0, "time_limit": 30, "start_anywhere": 0.5},
    "counting": {"lengths": [3, 1, 4, 2], "ends": ["terminated", "truncated"]},
}


@contextlib.contextmanager
def running(runner, env="counting", copies=3, **changes):
    """A runner with a greedy policy of random weights: environments alone make episodes differ."""
    seed_everything(SEED)
    copies = 1 if runner == "episode" else copies
    args = make_args(
        env=env,
        env_args={**ENVIRONMENTS.get(env, {}), "seed": SEED},
        runner=runner,
        batch_size_run=copies,
        rnn_hidden_dim=8,
        epsilon_start=0.0,
        epsilon_finish=0.0,
        **changes,
    )
    parts = assemble(args, RecordingLogger())
    fill(parts.mac.parameters(), scale=0.5)
    try:
        yield parts.runner
    finally:
        parts.runner.close_env()


@pytest.fixture(autouse=True)
def counting(monkeypatch):
    for name, env in (("counting", CountingEnv), ("drawing", DrawingEnv), ("unsavable", UnsavableEnv)):
        monkeypatch.setitem(REGISTRY._entries, name, None)
        REGISTRY[name] = env


def played(runner):
    """Two rollouts with a test between them."""
    return [runner.run(test_mode) for test_mode in (False, True, False)]


def check_equal(batches, others):
    for batch, other in zip(batches, others, strict=True):
        for key in batch.scheme:
            assert th.equal(batch[key], other[key]), key


def check_that_another_plays_on(runner, env="counting", copies=3, **changes):
    with running(runner, env, copies, **changes) as first:
        played(first)
        state = copy.deepcopy(first.environments_state())
        expected = played(first)
    with running(runner, env, copies, **changes) as second:
        assert second.load_environments_state(state)
        check_equal(played(second), expected)
    return state, expected


@pytest.mark.parametrize(
    ("runner", "env"),
    [
        *(("episode", env) for env in ENVIRONMENTS),
        *(("parallel", env) for env in ("counting", "lbf", "skirmish", "racing")),
        *(("batched", env) for env in ("skirmish", "racing")),
    ],
)
def test_another_runner_plays_on(runner, env):
    # each process of the runner parallel loads a compiled simulator
    check_that_another_plays_on(runner, env, 2 if env in ("skirmish", "racing") else 3)


def test_tests_may_share_the_training_environment():
    check_that_another_plays_on("parallel", separate_test_env=False)


def test_global_generators_of_the_same_processes_continue():
    state, expected = check_that_another_plays_on("parallel", "drawing")
    with running("parallel", "drawing", envs_per_worker=3) as third:
        third.load_environments_state(state)
        assert not th.equal(played(third)[0]["obs"], expected[0]["obs"])


class ByReset(UnsavableEnv):
    """Nothing is saved of it, and another one in its place would be the same."""

    restarts_by_reset = True

    def __init__(self, made, **env_args):
        with open(made, "a") as file:
            file.write("made\n")
        super().__init__(**env_args)


@pytest.mark.parametrize("runner", ["episode", "parallel"])
def test_what_starts_again_by_a_reset_is_not_made_twice(monkeypatch, tmp_path, runner):
    made = tmp_path / "made"
    monkeypatch.setitem(REGISTRY._entries, "by_reset", None)
    REGISTRY["by_reset"] = ByReset
    monkeypatch.setitem(ENVIRONMENTS, "by_reset", {"made": str(made)})
    with running(runner, "by_reset", 1) as first:
        first.run()
        state = first.environments_state()
    with running(runner, "by_reset", 1) as second:
        assert not second.load_environments_state(state)
        second.run()
        # as often as nothing of it could be saved, and so it stays in later checkpoints
        assert "'recreated': 1" in str(second.environments_state())
    assert made.read_text() == "made\n" * 2


@pytest.mark.parametrize("runner", ["episode", "parallel"])
def test_environments_that_cannot_be_saved_restart_with_the_next_seed_of_their_stream(runner):
    with running(runner, "unsavable") as first:
        assert first.run()["obs"][0, 0, 0, 0] == SEED
        state = first.environments_state()
    for recreated in (1, 2):
        with running(runner, "unsavable") as resumed:
            assert resumed.load_environments_state(state) is False
            batch = resumed.run()
            assert batch["obs"][:, 0, 0, 0].tolist() == [
                stream(SEED + row, recreated) % 1000 for row in range(resumed.batch_size)
            ]
            assert (batch["obs"][:, 0, 0, 1] == 0).all(), "its first episode"
            state = copy.deepcopy(resumed.environments_state())


def test_after_a_fault_everything_else_can_still_be_asked():
    with running("parallel", on_worker_fault="stop") as first:
        first.run()
        expected = copy.deepcopy(first.environments_state())
        first.env.workers[1].process.kill()
        with pytest.raises(EnvironmentWorkerError):
            first.run()
        state = first.environments_state()
        states = [environment["training"]["state"] for environment in state["environments"]]
        assert [state is None for state in states] == [False, True, False]
        assert states[0]["episode"] == expected["environments"][0]["training"]["state"]["episode"] + 1
        processes = state["processes"]
    assert [process["generators"] is None for process in processes] == [False, True, False]
    closed = first.environments_state()
    assert [environment["training"]["state"] for environment in closed["environments"]] == [None] * 3
    with running("parallel") as second:
        second.load_environments_state(closed)
        assert second.run()["obs"][1, 0, 0, 0] == stream(SEED + 1, 1) % 1000


def test_the_count_of_restarts_continues():
    with running("parallel") as first:
        first.run()
        first.env.workers[1].process.kill()
        first.run()
        state = first.environments_state()
        expected = played(first)
    with running("parallel", max_worker_restarts=1) as second:
        second.load_environments_state(state)
        check_equal(played(second), expected)
        assert second.worker_restarts == 1
        second.env.workers[0].process.kill()
        with pytest.raises(EnvironmentWorkerError, match="restarted 1 times"):
            second.run()


def test_the_number_of_environments_must_be_the_same():
    with running("parallel") as first:
        state = first.environments_state()
    with (
        running("parallel", copies=2) as second,
        pytest.raises(MusterError, match="3 environments and this run 2"),
    ):
        second.load_environments_state(state)

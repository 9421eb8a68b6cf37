"""Transports carry everything, unchanged and to the right place, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch as th

from envs import REGISTRY
from envs.contract.fields import pymarl_spec
from experiment.assembly import assemble
from fakes import CountingEnv, ModulesEnv, RecordingLogger, UnevenEnv
from helpers import hear_ctrl_c, make_args
from processes import all_end
from utils.numbers.random_streams import seed_everything
from vector_envs import TRANSPORTS
from vector_envs.environment_row import EnvironmentRow
from vector_envs.step_arrays import StepArrays

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SIZES = pymarl_spec({"n_agents": 3, "obs_shape": 5, "state_shape": (2, 3), "n_actions": 4})


def played(transport, envs_per_worker, environments=5):
    """Training, a test and training again, on environments whose episodes have 1 to 4 steps."""
    seed_everything(3)
    args = make_args(
        env="uneven",
        env_args={"seed": 4, "ends": ["terminated", "time_limit", "truncated"]},
        runner="parallel",
        batch_size_run=environments,
        env_transport=transport,
        envs_per_worker=envs_per_worker,
        runner_log_interval=1,
        test_nepisode=environments,
    )
    parts = assemble(args, RecordingLogger())
    try:
        assert len(parts.runner.env.workers) == -(-environments // envs_per_worker)
        return [parts.runner.run(test_mode) for test_mode in (False, True, False)]
    finally:
        parts.runner.close_env()


@pytest.fixture
def uneven(monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "uneven", None)
    REGISTRY["uneven"] = UnevenEnv


@pytest.mark.parametrize(
    ("transport", "envs_per_worker"), [("pipe", 2), ("shared_memory", 1), ("shared_memory", 2), ("shared_memory", 5)]
)
def test_batches_are_those_of_environments_played_by_hand(uneven, transport, envs_per_worker):
    batches = played(transport, envs_per_worker)
    for row in range(5):
        env = UnevenEnv(seed=4 + row, ends=["terminated", "time_limit", "truncated"])
        for batch in batches[::2]:
            env.reset()
            for t in range(batch.max_seq_length):
                assert th.equal(batch["obs"][row, t], th.tensor(np.array(env.get_obs())))
                assert th.equal(batch["state"][row, t], th.tensor(env.get_state()))
                assert batch["avail_actions"][row, t].tolist() == env.get_avail_actions()
                reward, ended, info = env.step(batch["actions"][row, t, :, 0].tolist())
                truncated = ended and info["episode_limit"]
                assert batch["reward"][row, t, 0] == th.tensor(reward)
                assert batch["terminated"][row, t, 0] == (ended and not truncated)
                assert batch["truncated"][row, t, 0] == truncated
                if ended:
                    break
            assert batch["filled"][row, :, 0].tolist() == [1] * (t + 2) + [0] * (batch.max_seq_length - t - 2)
            assert not batch["reward"][row, t + 1 :].any()
    assert len({int(length) for length in batches[0]["filled"].sum(1)}) == 4, "episodes of unequal length"


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.usefixtures("spawned")
def test_workers_import_neither_torch_nor_the_learner(transport):
    running = TRANSPORTS[transport]([dict.fromkeys((False, True), ModulesEnv)], 1, True)
    running.close()
    modules = running.spec.env_info["modules"]
    assert "vector_envs.worker" in modules
    unwanted = ("torch", "learners", "controllers", "modules", "components", "sacred", "experiment")
    assert [m for m in modules if m.split(".")[0] in unwanted] == []


def test_arrays_in_a_block_do_not_overlap():
    memory = bytearray(StepArrays.size(SIZES, 4))
    arrays = StepArrays.inside(memory, SIZES, 4)
    for number, name in enumerate(SIZES.layout(4)):
        arrays[name][...] = 1 + number
    for number, name in enumerate(SIZES.layout(4)):
        assert (arrays[name] == (1 + number if arrays[name].dtype != bool else True)).all()
    assert arrays["state"].shape == (4, 2, 3)
    assert arrays.part(slice(1, 3))["obs"].base is not None
    with pytest.raises(ValueError, match="buffer"):
        StepArrays.inside(memory[:-64], SIZES, 4)


@pytest.mark.parametrize("rows", [[], [2], [0, 1, 2, 3], [1, 2], [0, 2], [0, 1, 3]])
def test_results_and_actions_of_any_rows_reach_the_same_rows(rows):
    there, here = StepArrays.allocate(SIZES, 4), StepArrays.allocate(SIZES, 4)
    there["actions"][...] = 1
    there["reward"][:] = there["state"][:, 0, 0] = [1, 2, 3, 4]
    here.put_results(rows, there.results(rows))
    expected = [b + 1 if b in rows else 0 for b in range(4)]
    assert here["reward"].tolist() == here["state"][:, 0, 0].tolist() == expected
    assert not here["actions"].any(), "which go the other way"
    here.put_actions(rows, {"actions": np.full((len(rows), *here["actions"].shape[1:]), 7)})
    assert [bool((row == 7).all()) for row in here["actions"]] == [b in rows for b in range(4)]


def test_axes_of_size_one_may_come_and_go():
    """PyMARL's batches take them, so environments have them."""
    sizes = {"n_agents": 2, "obs_shape": 5, "state_shape": 3, "n_actions": 3}
    arrays = StepArrays.allocate(pymarl_spec(sizes), 1)
    env = CountingEnv()
    env.reset()
    state = env.get_state()
    env.get_state = lambda: state[None]
    EnvironmentRow(arrays, 0).write_reset(env)
    assert arrays["state"][0].tolist() == state.tolist()


# A trainer that prints its workers' numbers and then obeys
TRAINER = """
import sys
from functools import partial
import numpy as np
import fakes
from vector_envs import TRANSPORTS

if __name__ == "__main__":
    factories = [dict.fromkeys((False, True), partial(getattr(fakes, sys.argv[2]), lengths=[10**9]))] * 2
    running = TRANSPORTS[sys.argv[1]](factories, 1, True)
    running.reset()
    print(*(worker.process.pid for worker in running.workers), flush=True)
    sys.stdin.readline()
    if sys.argv[3] == "raise":
        raise RuntimeError("as told")
    while sys.argv[3] == "play":
        running.step({"actions": np.zeros((2, 2), dtype=np.int64)})
    running.close()
"""


@pytest.fixture
def trainer():
    """Starts a trainer: returns its process, and those of its workers. None outlives a test that fails."""
    started = []

    def start(transport, env, what):
        process = subprocess.Popen(
            [sys.executable, "-c", TRAINER, transport, env, what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests' / 'support'}"},
            start_new_session=True,
            preexec_fn=hear_ctrl_c,
        )
        started.append(process)
        workers = [psutil.Process(int(pid)) for pid in process.stdout.readline().split()]
        assert workers, process.stderr.read()
        process.stdin.write("go on\n")
        process.stdin.flush()
        return process, workers

    yield start
    for process in started:
        process.kill()


def _segments():
    folder = Path("/dev/shm")
    return {path.name for path in folder.iterdir() if path.name.startswith(("psm_", "pym-", "muster"))}


# what the trainer itself says at its end
LAST_WORDS = {
    "return": "",
    "raise": "as told",
    "ctrl-c": "KeyboardInterrupt",
    "kill the trainer": "",
    "kill a worker": "Environment 1's process",
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc and /dev/shm")
@pytest.mark.parametrize("end", LAST_WORDS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_nothing_is_left_after_any_end(trainer, transport, end):
    before = _segments()
    process, workers = trainer(transport, "CountingEnv", end if end in ("return", "raise") else "play")
    if end not in ("return", "raise"):
        maps = [Path(f"/proc/{pid}/maps").read_text() for pid in (process.pid, *(worker.pid for worker in workers))]
        shared = transport == "shared_memory"
        assert ["/memfd:muster-steps (deleted)" in text for text in maps] == [shared] * 3, "memory without a name"
        assert _segments() == before
    if end == "ctrl-c":
        os.killpg(process.pid, signal.SIGINT)
    elif end == "kill the trainer":
        process.kill()
    elif end == "kill a worker":
        workers[1].kill()
    _, errors = process.communicate(timeout=120)
    assert all_end([one.pid for one in workers], 120)
    assert _segments() == before
    # workers, too, write to this place
    for word in ("resource_tracker", "leaked", "spawn_main"):
        assert word not in errors
    assert LAST_WORDS[end] in errors
    if not LAST_WORDS[end]:
        assert errors == ""


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_worker_whose_environment_hangs_ends_with_a_killed_trainer(trainer):
    process, workers = trainer("shared_memory", "HangingEnv", "play")
    time.sleep(0.2)
    process.kill()
    process.communicate(timeout=120)
    assert all_end([one.pid for one in workers], 120)

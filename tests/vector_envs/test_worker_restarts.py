"""Environments that fail during a run: they are re-created, and only unfinished episodes are lost."""

import contextlib
import logging
import multiprocessing
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
from experiment.assembly import assemble
from fakes import CountingEnv, DrawingEnv, FaultyEnv, RecordingLogger
from helpers import make_args
from helpers import recreation_seed_by_hand as stream
from utils.errors import MusterError
from utils.numbers.random_streams import seed_everything
from vector_envs import TRANSPORTS
from vector_envs.faults import EnvironmentWorkerError
from vector_envs.instances import TEST_SEED_OFFSET

pytestmark = pytest.mark.slow

SEED = 10
LENGTHS = (3, 5, 2)
HOW = {
    "raise": "Environment 1 failed in step()",
    "exit": "exit code 7",
    "kill": "killed by SIGKILL",
    "hang": "did not answer to step() for 1.5 seconds",
}


@contextlib.contextmanager
def running(transport="shared_memory", faults=(), env=FaultyEnv, lengths=LENGTHS, **changes):
    """A parallel runner on three environments of which some fail; nothing is left of it at the end."""
    seed_everything(SEED)
    REGISTRY["faulty"] = env
    env_args = {"lengths": lengths, "seed": SEED, **({"faults": faults} if env is FaultyEnv else {})}
    changes = {"batch_size_run": 3, "worker_timeout": 1.5 if "hang" in str(faults) else 300, **changes}
    args = make_args(
        env="faulty", env_args=env_args, runner="parallel", env_transport=transport, runner_log_interval=1, **changes
    )
    runner = assemble(args, RecordingLogger()).runner
    try:
        yield runner
    finally:
        runner.close_env()
        assert multiprocessing.active_children() == []


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "faulty", None)


def check_row(batch, row, seed, episode, lengths=LENGTHS):
    """Row `row` is this episode of the environment with this seed, whole, and nothing else."""
    env = CountingEnv(lengths=lengths, seed=seed)
    for _ in range(episode + 1):
        env.reset()
        if env.episode < episode:
            for _ in range(lengths[env.episode % len(lengths)]):
                env.step([0, 0])
    length = lengths[episode % len(lengths)]
    for t in range(length + 1):
        assert th.equal(batch["obs"][row, t], th.tensor(np.array(env.get_obs())))
        actions = batch["actions"][row, t, :, 0].tolist()
        assert all(env.get_avail_agent_actions(i)[action] for i, action in enumerate(actions))
        if t < length:
            reward, ended, _ = env.step(actions)
            assert batch["reward"][row, t, 0].item() == pytest.approx(reward)
            assert batch["terminated"][row, t, 0] == ended
    assert batch["filled"][row, :, 0].tolist() == [1] * (length + 1) + [0] * (batch.max_seq_length - length - 1)
    for key, tensor in batch.data.transition_data.items():
        assert not tensor[row, length + 1 :].any(), key
    assert not batch["reward"][row, length:].any()


@pytest.mark.parametrize(
    ("transport", "how"),
    [("pipe", "raise"), ("pipe", "kill"), *(("shared_memory", how) for how in ("exit", "kill", "hang"))],
)
def test_only_the_unfinished_episode_of_the_environment_is_lost(transport, how, caplog):
    caplog.set_level(logging.WARNING, "muster")
    with running(transport, [[11, 1, 4, how]]) as runner:
        pid = runner.env.workers[1].process.pid
        first, second, third = (runner.run() for _ in range(3))
        for row in range(3):
            check_row(first, row, SEED + row, 0)
        for batch, episode in ((second, 1), (third, 2)):
            check_row(batch, 0, 10, episode)
            check_row(batch, 1, stream(11, 1), episode - 1)
            check_row(batch, 2, 12, episode)
        # the lost four steps are in no count: 3 × 3, then 5 + 3 + 5, then 2 + 5 + 2
        assert runner.t_env == 9 + 13 + 9
        values = runner.logger.values
        assert [value for _, value in values["ep_length_mean"]] == pytest.approx([3, 13 / 3, 3])
        assert values["worker_restarts"] == [(22, 1), (31, 1)]
        returns = [batch["reward"][:, :, 0].sum(1).numpy().mean() for batch in (first, second, third)]
        assert [value for _, value in values["return_mean"]] == pytest.approx(returns)
    (message,) = [record.getMessage() for record in caplog.records]
    for words in (HOW[how], f"{pid}", "Environment 1", "step()", "restart 1 of max_worker_restarts=10"):
        assert words in message


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_two_faults_at_once(transport):
    with running(transport, [[10, 1, 2, "kill"], [12, 1, 2, "raise"]]) as runner:
        runner.run()
        batch = runner.run()
        assert runner.worker_restarts == 2
    for row, (seed, episode) in enumerate([(stream(10, 1), 0), (11, 1), (stream(12, 1), 0)]):
        check_row(batch, row, seed, episode)


@pytest.mark.parametrize(("how", "lost"), [("kill", [0, 1]), ("raise", [1])])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_process_that_several_share(transport, how, lost):
    """Environment 0 has finished its episode when its process dies: that episode counts, its generator is gone."""

    class Uneven(FaultyEnv):
        def __init__(self, lengths, seed):
            own = lengths[seed - SEED] if seed - SEED in (0, 1, 2) else (2, 2)
            super().__init__([(11, 1, 3, how)], lengths=own, seed=seed)

    with running(transport, env=Uneven, lengths=[(2, 2), (2, 4), (2, 3)], envs_per_worker=2) as runner:
        runner.run()
        second, third = runner.run(), runner.run()
        assert runner.worker_restarts == 1
    check_row(second, 0, 10, 1, (2, 2))
    check_row(second, 1, stream(11, 1), 0, (2, 2))
    check_row(second, 2, 12, 1, (2, 3))
    if 0 in lost:
        check_row(third, 0, stream(10, 1), 0, (2, 2))
    else:
        check_row(third, 0, 10, 2, (2, 2))
    check_row(third, 1, stream(11, 1), 1, (2, 2))


@pytest.mark.parametrize("how", ["kill", "raise"])
def test_an_environment_that_fails_in_reset_is_reset_again(how):
    with running(faults=[[11, 1, 0, how]]) as runner:
        runner.run()
        batch = runner.run()
        assert runner.worker_restarts == 1
        assert runner.t_env == 9 + 5 + 3 + 5
    check_row(batch, 1, stream(11, 1), 0)


@pytest.mark.parametrize("how", ["kill", "raise"])
def test_a_fault_in_a_test(how):
    """The environment of tests has its own stream; with its process that of training is lost, too."""
    seed = 11 + TEST_SEED_OFFSET
    with running(faults=[[seed, 0, 2, how]], test_nepisode=3) as runner:
        runner.run()
        test, training = runner.run(test_mode=True), runner.run()
        assert runner.logger.last()["test_ep_length_mean"] == 3
        assert runner.t_env == 9 + (5 + 5 + 5 if how == "raise" else 5 + 3 + 5)
    check_row(test, 0, 10 + TEST_SEED_OFFSET, 0)
    check_row(test, 1, stream(seed, 1), 0)
    check_row(training, 1, *((11, 1) if how == "raise" else (stream(11, 1), 0)))


def test_faults_of_the_same_environment_go_along_its_stream_until_the_limit():
    seeds = [11, stream(11, 1), stream(11, 2)]
    faults = [[seeds[0], 1, 2, "raise"], [seeds[1], 0, 1, "kill"], [seeds[2], 0, 2, "raise"]]
    with running(faults=faults, max_worker_restarts=3) as runner:
        runner.run()
        check_row(runner.run(), 1, stream(11, 3), 0)
        os.kill(runner.env.workers[2].process.pid, signal.SIGKILL)
        with pytest.raises(EnvironmentWorkerError) as error:
            runner.run()
        for words in ("Environment 2's process", "SIGKILL", "restarted 3 times", "max_worker_restarts=3"):
            assert words in str(error.value)
        assert runner.worker_restarts == 3


class Taken(MusterError):
    incurable = True


class Occupied(FaultyEnv):
    """What its re-creation needs is taken by somebody else."""

    def __init__(self, lengths, seed):
        if seed == stream(11, 1):
            raise Taken("another trainer has the file")
        super().__init__([(11, 1, 2, "raise")], lengths=lengths, seed=seed)


def test_what_a_restart_does_not_help_is_not_tried_again():
    with running(env=Occupied) as runner:
        runner.run()
        with pytest.raises(EnvironmentWorkerError, match="another trainer has the file"):
            runner.run()
        assert runner.worker_restarts == 1


def test_messages_of_environments_reach_the_console_of_their_process():
    """Those of libraries do only if they are warnings."""
    code = """
import logging
from vector_envs.worker import show_messages
show_messages()
for name in ("muster", "library", "muster"):
    logging.getLogger(name).info(f"from {name}")
logging.getLogger("library").warning("beware")
"""
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=paths)
    said = [line.partition("] ")[2] for line in ran.stdout.splitlines()]
    assert said == ["muster from muster", "muster from muster", "library beware"] and not ran.stderr


def test_an_environment_that_cannot_be_recreated_is_another_fault():
    refused = stream(11, 1)

    class OnlyOnce(FaultyEnv):
        def __init__(self, lengths, seed):
            super().__init__([(11, 1, 2, "raise")], lengths=lengths, seed=seed)
            if seed == refused:
                raise RuntimeError("the licence server is gone")

    with running(env=OnlyOnce) as runner:
        runner.run()
        check_row(runner.run(), 1, stream(11, 2), 0)
        assert runner.worker_restarts == 2


@pytest.mark.parametrize("step", [0, 1])
def test_an_environment_that_never_worked_stops_the_run_at_once(step):
    with (
        running(faults=[[11, 0, step, "raise"]]) as runner,
        pytest.raises(EnvironmentWorkerError, match="Environment 1"),
    ):
        runner.run()
    assert runner.worker_restarts == 0


@pytest.mark.parametrize("step", [0, 1])
def test_a_killed_process_is_restarted_at_any_time(step):
    """Another program may have ended it, also in the first moments of a resumed run."""
    with running(faults=[[11, 0, step, "kill"]]) as runner:
        check_row(runner.run(), 1, stream(11, 1), 0)
        assert runner.worker_restarts == 1


@pytest.mark.parametrize("asked", [False, True])
def test_a_process_that_dies_between_rollouts_is_restarted_also_if_a_checkpoint_asks_first(asked):
    with running() as runner:
        runner.run()
        runner.env.workers[1].process.kill()
        if asked:
            state = runner.environments_state()["environments"]
            assert state[1]["training"]["state"] is None
            assert state[0]["training"]["state"] is not None
        batch = runner.run()
        check_row(batch, 0, 10, 1)
        check_row(batch, 1, stream(11, 1), 0)
        assert runner.worker_restarts == 1


def test_a_hanging_process_is_ended_with_its_children():
    with running(faults=[[11, 1, 1, "hang with a child"]]) as runner:
        runner.run()
        runner.run()
        children = psutil.Process().children(recursive=True)
        assert not [child for child in children if "# a game" in " ".join(child.cmdline())]
    games = [p for p in psutil.process_iter(["cmdline"]) if "# a game" in " ".join(p.info["cmdline"] or [])]
    assert games == []


def test_a_fault_leaves_runs_without_one_as_they_were():
    """The rows of environments that did not fail hold the same, and draw the same, until the fault."""
    batches = []
    for faults in ([], [[11, 2, 2, "raise"]]):
        with running(faults=faults) as runner:
            batches.append([runner.run() for _ in range(3)])
    for batch, other in zip(*(both[:2] for both in batches), strict=True):
        for key in batch.scheme:
            assert th.equal(batch[key], other[key]), key


def test_workers_outlive_the_signals_of_a_cluster():
    with running() as runner:
        runner.run()
        pids = [worker.process.pid for worker in runner.env.workers]
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGUSR1)
        time.sleep(0.1)
        runner.run()
        assert runner.worker_restarts == 0
        # what they start would inherit signals that are ignored
        if Path("/proc/self/status").exists():
            status = Path(f"/proc/{pids[0]}/status").read_text()
            ignored = int(status.split("SigIgn:")[1].split()[0], 16)
            assert not ignored >> (signal.SIGTERM - 1) & 1


def test_environments_draws_from_global_generators_are_reproducible():
    def noise(envs_per_worker):
        with running(env=DrawingEnv, envs_per_worker=envs_per_worker) as runner:
            return [runner.run()["obs"][:, 0, 0, 4].tolist() for _ in range(2)]

    alone = noise(1)
    assert alone == noise(1)
    assert len({number for row in alone for number in row}) == 6, "every process has its own seed"

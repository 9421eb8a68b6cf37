"""The launcher of one machine, with runs that take no second."""

import os
import signal
import sys
import time
from dataclasses import replace

import pytest

from suite_children import launcher, require_done, runs_of, start_launcher
from suites.launch.fork_server import ForkServer
from suites.plan.resources import Machine
from suites.plan.slots import Slot
from suites.state.runs import DONE, FAILED, LOST, RUNNING, STOPPED
from suites.state.table import suite_table
from utils.files.whole_files import write_whole

pytestmark = pytest.mark.slow


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def test_every_run_is_done_once_and_the_same_command_does_nothing_more(folder):
    runs, seen = runs_of(7), []
    outcome = launcher(folder, runs, seen).run()
    require_done(folder, runs, [1] * 7)
    assert [attempt.run for attempt in seen if attempt.state == RUNNING] == [run.id for run in runs]
    assert (outcome.newest["run-0"].steps, outcome.newest["run-0"].seconds) == (20, 2.0)
    assert launcher(folder, runs, again := []).run().newest.keys() == outcome.newest.keys()
    assert again == []


def test_as_many_runs_at_a_time_as_there_is_room_for(folder):
    most = []
    look = lambda newest: most.append(sum(one.state == RUNNING for one in newest.values()))  # noqa: E731
    launcher(folder, runs_of(6, pause=0.01), look=look, machine=Machine({"jobs": 3, "cores": 0, "gpus": None})).run()
    assert max(most) == 3


def test_a_failed_run_keeps_its_last_lines_and_waits_for_the_word(folder):
    runs = [*runs_of(1, fail=7), *runs_of(3)[1:]]
    newest = launcher(folder, runs).run().newest
    assert [newest[run.id].state for run in runs] == [FAILED, DONE, DONE]
    assert (newest["run-0"].exit_code, newest["run-0"].error) == (1, "error: a planted fault")
    assert newest["run-0"].token == "mine_run-0"
    cell = suite_table(runs, newest).total
    assert (cell.done, cell.failed, cell.error, cell.left) == (2, 1, "error: a planted fault", 0)
    assert launcher(folder, runs).run().newest["run-0"].number == 1
    retried = launcher(folder, runs, retry_failed=True).run().newest["run-0"]
    # from its checkpoint, once
    assert (retried.number, retried.state, retried.resumed, retried.token) == (2, FAILED, 5, "mine_run-0")


def test_a_signal_lets_runs_save_and_the_same_command_resumes_them(folder):
    runs, sent = runs_of(3, pause=0.01, steps=60), []

    def interrupt(newest):
        if len([one for one in newest.values() if one.run_pid and one.steps]) == 2 and not sent:
            sent.append(os.kill(os.getpid(), signal.SIGINT))

    stopped = launcher(folder, runs, look=interrupt, lease=2).run()
    assert stopped.signum == signal.SIGINT and stopped.stopped
    assert [one.state for one in stopped.newest.values()] == [STOPPED, STOPPED]
    launcher(folder, runs, seen := []).run()
    require_done(folder, runs)
    assert [one.resumes for one in seen if one.state == RUNNING] == [True, True, False]


def test_a_second_signal_ends_runs_at_once(folder):
    sent = []

    def interrupt(newest):
        if len([one for one in newest.values() if one.run_pid]) == 1 and len(sent) < 2:
            sent.append(os.kill(os.getpid(), signal.SIGTERM))

    begun = time.monotonic()
    # a step of an hour: nothing can be saved
    outcome = launcher(folder, runs_of(1, pause=3600), look=interrupt).run()
    assert time.monotonic() - begun < 60
    assert outcome.newest["run-0"].state == STOPPED


def test_the_mark_of_a_stop_stops_launchers_and_runs(folder):
    runs = runs_of(4, pause=0.01, steps=100)
    look = lambda newest: newest and folder.stop.touch()  # noqa: E731
    outcome = launcher(folder, runs, look=look, lease=2).run()
    assert outcome.stopped and outcome.signum is None
    assert {one.state for one in outcome.newest.values()} == {STOPPED}


def test_runs_of_a_launcher_that_is_killed_end_without_it(folder):
    """And the next launcher starts no more at a time than there is room for."""
    first = start_launcher(folder.results, 4, pause=0.01, steps=100)
    wait_until(lambda: sum(one.run_pid > 0 for one in folder.newest().values()) == 2)
    first.kill()
    first.wait()
    seen, most = [], []
    look = lambda newest: most.append(sum(one.state == RUNNING for one in newest.values()))  # noqa: E731
    runs = runs_of(4, pause=0.01, steps=100)
    launcher(folder, runs, seen, look=look).run()
    require_done(folder, runs, [1] * 4)
    assert sorted({one.run for one in seen}) == ["run-2", "run-3"]
    assert max(most) == 2


@pytest.mark.parametrize("victim", ["run_pid", "pid", "fork server"])
def test_a_run_whose_process_is_killed_is_resumed(folder, victim):
    """Itself or its supervisor; the fork server takes no run with it."""
    killed, runs = [], runs_of(2, pause=0.01, steps=60)

    def kill(newest):
        for one in newest.values():
            if one.run_pid and not killed and list(folder.results.glob(f"runs/{one.token}/checkpoints/*")):
                pid = made._server._process.pid if victim == "fork server" else getattr(one, victim)
                killed.append(os.kill(pid, signal.SIGKILL))

    made = launcher(folder, runs, seen := [], look=kill, lease=2)
    newest = made.run().newest
    require_done(folder, runs)
    assert killed and (victim == "fork server" or sorted(one.number for one in newest.values()) == [1, 2])
    lost = [one.error for one in seen if one.state == LOST]
    assert victim == "fork server" or lost == (["Ended by SIGKILL."] if victim == "run_pid" else [])


def test_a_run_that_ended_after_the_launcher_looked_is_not_taken_over(folder):
    """Its supervisor was alive at the look, and has ended since: without the end that it wrote it would be lost."""
    runs = runs_of(1, steps=5)
    (ended,) = launcher(folder, runs).run().newest.values()
    looked = replace(ended, state=RUNNING)
    made = launcher(folder, runs)
    assert not made._is_free("run-0", looked)
    write_whole(str(folder.place("run-0", 1)), looked.to_bytes())
    assert made._is_free("run-0", looked)


def test_a_machine_with_cards_shares_them():
    machine = Machine({"jobs": 0, "cores": 2, "gpus": 0.5}, cores=[0, 1, 2, 3], gpus=["0", "1"])
    assert machine.jobs == 2
    taken = []
    for cores, gpus in (([0, 1], ["0"]), ([2, 3], ["0"]), ([0, 1], ["1"]), ([2, 3], ["1"])):
        taken.append(machine.slot(taken))
        assert taken[-1] == Slot(cores, gpus, 0.5)
    assert machine.slot(taken) is None
    assert machine.environment(["1"]) == {"CUDA_VISIBLE_DEVICES": "1"}
    whole = Machine({"jobs": 1, "cores": 0, "gpus": 2}, cores=[0], gpus=["0", "1"])
    assert whole.slot([]) == Slot([], ["0", "1"], 1) and whole.has_room()
    assert not Machine({"jobs": 1, "cores": 0, "gpus": 1}, cores=[0], gpus=[]).has_room()
    assert Machine({"jobs": 1, "cores": 0, "gpus": 0}, cores=[0], gpus=["0"]).environment([]) == {
        "CUDA_VISIBLE_DEVICES": ""
    }


def test_a_run_whose_fork_server_died_before_it_began_is_lost_though_another_server_has_its_place(folder):
    """It is begun once more, and the launcher does not wait for it for ever."""
    made = launcher(folder, runs_of(3), seen := [], losses=1)
    real, asked = made._start, []

    def start():
        if asked:
            return real()
        deaf = ForkServer([sys.executable, "-c", "import time; time.sleep(60)"], {})
        asked.append(deaf)
        begin = deaf.start

        def begin_and_die(request):
            assert begin(request)
            deaf._process.kill()
            deaf._process.wait()
            return True

        deaf.start = begin_and_die
        return deaf

    made._start = start
    made.run()
    require_done(folder, runs_of(3))
    assert [(one.run, one.error) for one in seen if one.state == LOST] == [("run-0", "It did not start.")]

"""Who has which run, among launchers that share nothing but a folder."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace

from suites.launch import leases as module
from suites.launch.leases import Leases
from suites.launch.processes import born, is_alive
from suites.state.runs import DONE, FAILED, LOST, RUNNING, STOPPED, SuiteRun
from suites.state.state import Attempt
from utils.files.whole_files import write_whole

RUN = SuiteRun("qmix-3m-s1-0", "qmix", "skirmish", "3m", 1, {}, 100, ["--config=qmix"])


def write(folder, attempt, age=0.0):
    place = folder.place(attempt.run, attempt.number)
    write_whole(str(place), attempt.to_bytes())
    os.utime(place, (time.time() - age,) * 2)
    return attempt


def elsewhere(number=1, **changes):
    """An attempt on another machine."""
    return Attempt(RUN.id, number, machine="another", pid=1, run_pid=2, token=f"mine_{RUN.id}", **changes)


def ended_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    start = born(process.pid)
    process.wait()
    return process.pid, start


def checkpoint(folder, token, step):
    place = folder.results / "runs" / token / "checkpoints" / str(step)
    place.mkdir(parents=True)
    (place / "manifest.json").write_text('{"t_env": 1}')


def test_one_of_many_launchers_gets_a_run(folder):
    """At every attempt, of threads that all saw the same state before."""
    before, won = None, []
    for number in range(1, 6):
        start, got = threading.Barrier(8), []

        def take(before=before, start=start, got=got):
            mine = Leases(folder)
            start.wait()
            got.append(mine.take(RUN, before, [], []))

        threads = [threading.Thread(target=take) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (one,) = filter(None, got)
        won.append(one.number)
        before = write(folder, replace(folder.newest()[RUN.id], state=STOPPED))
        assert before.number == number
    assert won == [1, 2, 3, 4, 5]
    assert sorted(os.listdir(folder.attempts)) == [f"{RUN.id}.{n}.json" for n in range(1, 6)]


def test_a_claim_on_another_machine_is_over_when_its_lease_is(folder):
    leases = Leases(folder)
    assert not leases.is_over(write(folder, elsewhere(lease=60), age=55))
    assert leases.is_over(write(folder, elsewhere(lease=60), age=65))
    assert not leases.is_over(write(folder, elsewhere(lease=600), age=65))


def test_the_clock_is_that_of_the_files(folder, monkeypatch):
    """Machines whose clocks differ by hours agree on the age of a lease."""
    write(folder, elsewhere(lease=60), age=30)
    now = time.time()
    for hours in (-5, 5):
        monkeypatch.setattr(time, "time", lambda hours=hours: now + 3600 * hours)
        assert not Leases(folder).is_over(folder.newest()[RUN.id])


def test_a_claim_on_this_machine_is_over_when_its_processes_have_ended(folder):
    leases = Leases(folder)
    mine = replace(elsewhere(), machine=leases.machine, pid=os.getpid(), born=born(os.getpid()))
    assert not leases.is_over(write(folder, mine, age=10**6))
    pid, start = ended_process()
    gone = replace(mine, pid=pid, born=start, run_pid=pid, run_born=start)
    assert leases.is_over(write(folder, gone))
    # the supervisor was killed, and its run still saves
    assert not leases.is_over(write(folder, replace(gone, run_pid=os.getpid(), run_born=born(os.getpid()))))
    # the number was used again, by a younger process
    assert leases.is_over(write(folder, replace(mine, born=str(int(mine.born) - 1))))


def test_a_run_that_was_asked_for_just_before_the_launcher_died_may_still_begin(folder):
    leases = Leases(folder)
    pid, start = ended_process()
    asked = replace(elsewhere(), machine=leases.machine, pid=pid, born=start, run_pid=0)
    assert not leases.is_over(write(folder, asked, age=1))
    assert leases.is_over(write(folder, asked, age=module.HANDOVER + 1))


def test_a_lost_run_resumes_from_its_newest_checkpoint(folder):
    before = write(folder, elsewhere(state=LOST, steps=90))
    checkpoint(folder, before.token, 40)
    checkpoint(folder, before.token, 80)
    lease = Leases(folder).take(RUN, before, [1], ["0"])
    assert lease.resumes and lease.resumed == lease.steps == 80
    assert (lease.token, lease.number, lease.cores) == (before.token, 2, [1])


def test_a_lost_run_without_a_checkpoint_begins_under_a_new_name(folder):
    before = write(folder, elsewhere(state=LOST))
    lease = Leases(folder).take(RUN, before, [], [])
    assert not lease.resumes and lease.token == f"mine_{RUN.id}.2"
    assert folder.newest()[RUN.id] == lease


def test_a_run_that_was_done_before_its_keeper_was_killed_is_not_run_again(folder):
    before = write(folder, elsewhere(state=RUNNING, steps=100, seconds=3.0))
    (folder.results / "runs" / before.token).mkdir(parents=True)
    (folder.results / "runs" / before.token / "done.json").write_text("{}")
    assert Leases(folder).take(RUN, before, [], []) is None
    now = folder.newest()[RUN.id]
    assert (now.state, now.number, now.token, now.steps) == (DONE, 2, before.token, 100)


def test_a_run_whose_suite_was_removed_is_found_by_its_name(folder):
    checkpoint(folder, f"mine_{RUN.id}", 40)
    lease = Leases(folder).take(RUN, None, [], [])
    assert lease.resumes and (lease.number, lease.resumed) == (1, 40)


def test_a_run_that_is_always_lost_is_given_up(folder):
    leases, before = Leases(folder, losses=3), None
    for _ in range(4):
        lease = leases.take(RUN, before, [], [])
        assert lease is not None
        before = write(folder, replace(lease, state=LOST, error="Ended by SIGKILL."))
    assert leases.take(RUN, before, [], []) is None
    given_up = folder.newest()[RUN.id]
    assert given_up.state == FAILED
    assert given_up.error == "Lost 4 times in a row without a new checkpoint. Ended by SIGKILL."


def test_progress_starts_the_count_of_losses_again(folder):
    leases = Leases(folder, losses=1)
    before = write(folder, elsewhere(state=LOST, losses=1, resumed=40))
    checkpoint(folder, before.token, 41)
    assert leases.take(RUN, before, [], []).losses == 0


def test_a_file_that_cannot_be_read_counts_as_a_run_under_way(folder):
    folder.place(RUN.id, 1).write_text("{")
    assert folder.newest()[RUN.id].state == RUNNING
    assert not Leases(folder).is_over(folder.newest()[RUN.id])


def test_a_process_is_known_by_its_number_and_its_start():
    assert is_alive(os.getpid(), born(os.getpid()))
    assert not is_alive(os.getpid(), "1")
    assert not is_alive(*ended_process()) and not is_alive(0, "")

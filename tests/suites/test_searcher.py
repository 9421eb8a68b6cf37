"""Searches that learn from their trials, with pretended runs whose best rate is known."""

import json
import math
import os
import random
import signal
import statistics
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import psutil
import pytest

from suite_children import BEST_RATE, launcher, searched, start_search
from suites.plan.resources import Machine
from suites.search import searcher
from suites.state.runs import DONE, DROPPED, FAILED
from suites.state.scores import trial_rows
from suites.state.trials import End, SearchPlan, Trial
from utils.errors import ConfigError

pytestmark = pytest.mark.slow

optuna = pytest.importorskip("optuna", reason="pip install -r requirements-cluster.txt")

SEARCH = {"method": "tpe", "trials": 20, "space": {"lr": {"log_uniform": [1e-5, 0.1]}}}


@pytest.fixture(autouse=True)
def short_tests(monkeypatch):
    monkeypatch.setattr(searcher, "TESTS", 0.05)


def journal(folder):
    """Optuna's own view of the search."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path = folder.path / "search" / "00000000" / "optuna.journal"
    return optuna.load_study(study_name="search", storage=JournalStorage(JournalFileBackend(str(path))))


def states(folder):
    return Counter(trial.state.name for trial in journal(folder).trials)


def run(folder, made, jobs=2, **options):
    machine = Machine({"jobs": jobs, "cores": 0, "gpus": None})
    return launcher(folder, [], machine=machine, searcher=made, **options).run()


def distance(rate):
    """In powers of ten from the best rate."""
    return abs(math.log10(rate / BEST_RATE))


def test_the_trials_that_learn_lie_around_the_best(tmp_path):
    folder, made = searched(tmp_path, SEARCH, steps=5)
    run(folder, made, jobs=1)
    _, rows = trial_rows(folder, folder.newest())
    assert [row.state for row in rows] == [DONE] * 20
    rates = [trial.settings["lr"] for trial in folder.trials()]
    assert distance(rows[0].trial.settings["lr"]) < 0.1
    assert rows[0].value == pytest.approx(-(distance(rows[0].trial.settings["lr"]) ** 2))
    # the drawn ones are spread over four powers of ten, the others lie around the best
    assert sum(map(distance, rates[10:])) < 0.7 * sum(map(distance, rates[:10]))
    assert states(folder) == {"COMPLETE": 20}
    values = {trial.user_attrs["trial"]: trial.value for trial in journal(folder).trials}
    assert values == {row.trial.number: row.value for row in rows}


def test_one_at_a_time_the_trials_are_always_the_same_and_more_change_none(tmp_path):
    found = []
    for name, count in (("a", 6), ("b", 9)):
        folder, made = searched(tmp_path, {**SEARCH, "trials": count, "startup": 3}, name, steps=5)
        run(folder, made, jobs=1)
        if name == "a":  # a launcher more, and three trials more
            folder, made = searched(tmp_path, {**SEARCH, "trials": 9, "startup": 3}, name, steps=5)
            run(folder, made, jobs=1)
        found.append([trial.settings["lr"] for trial in folder.trials()])
    assert found[0] == found[1] and len(set(found[0])) == 9


def test_a_trial_is_worth_the_interquartile_mean_of_its_runs(tmp_path):
    folder, made = searched(tmp_path, {**SEARCH, "trials": 2, "last": 1}, runs_per_trial=5, steps=5)
    run(folder, made)
    newest = folder.newest()
    trial = folder.trials()[0]
    for value, one in zip((9.0, 1.0, 2.0, 3.0, -50.0), trial.runs, strict=True):
        log = tmp_path / "runs" / newest[one.id].token / "metrics.csv"
        log.write_text(f"t_env,episode,seconds,key,value\n1,1,1,test_return_mean,7\n2,1,1,test_return_mean,{value}\n")
    (folder.path / "search" / "00000000" / "t1.end.json").unlink()
    _, rows = trial_rows(folder, newest)
    assert {row.trial.name: row.value for row in rows}["t1"] == 2.0  # of 1, 2 and 3


def test_a_trial_whose_run_fails_has_failed_and_is_tried_again_on_request(tmp_path):
    options = {"runs_per_trial": 3, "steps": 20}
    folder, made = searched(tmp_path, {**SEARCH, "trials": 2}, fail=7, said=(said := []), **options)
    run(folder, made, jobs=1)
    assert [trial.end.state for trial in folder.trials()] == [FAILED, FAILED]
    assert "t1: failed: error: a planted fault" in said
    # the first run of each failed, and its other runs were not begun
    assert Counter(one.state for one in folder.newest().values()) == {FAILED: 2}
    assert len(folder.dropped()) == 4 and states(folder) == {"FAIL": 2}
    run(*searched(tmp_path, {**SEARCH, "trials": 2}, **options))
    assert states(folder) == {"FAIL": 2}
    # without the fault, in runs that resume and in those that begin
    for path in (*tmp_path.glob("runs/*/checkpoints/*/manifest.json"), *tmp_path.glob("suites/mine/search/*/t?.json")):
        path.write_text(path.read_text().replace('"fail": "7"', '"fail": "0"').replace('"fail=7"', '"fail=0"'))
    folder, made = searched(tmp_path, {**SEARCH, "trials": 2}, retry_failed=True, fail=0, **options)
    launcher(folder, [], searcher=made, retry_failed=True).run()
    assert [trial.end.state for trial in folder.trials()] == [DONE, DONE]
    assert {one.state for one in folder.newest().values()} == {DONE} and not folder.dropped()
    assert states(folder) == {"COMPLETE": 2}


@pytest.mark.parametrize("planted", ["words", "confirmed", "ended", "settings", "run"])
def test_what_a_trials_file_says_is_not_started(tmp_path, planted):
    """Words would be run as commands: with plugins, say, of a stranger's."""
    folder, made = searched(tmp_path, {**SEARCH, "trials": 2}, steps=5)
    settings = {"lr": 0.5 if planted == "settings" else 0.01}  # the first is out of the space
    (first,) = made._make("t1", settings)
    evil = ["plugins=['evil.py']"]
    runs = {
        "words": [replace(first, words=[*first.words, *evil])],
        "confirmed": [replace(first, confirmed=evil)],
        "ended": [replace(first, words=evil)],
        "settings": [first],
        "run": [first, replace(first, id="another")],
    }[planted]
    trial = Trial(1, settings, runs)
    if planted == "ended":
        made._trials.end(trial, End(DONE, 1.0))
    made._trials.create(trial)
    if planted in ("settings", "run"):
        with pytest.raises(ConfigError, match=r"t1\.json: its runs are not those that the suite's file makes"):
            run(folder, made)
        assert folder.newest() == {}
    else:
        assert made.look({}, 0) == ([] if planted == "ended" else [first])
        run(folder, made)
        assert (first.id in folder.newest()) == (planted != "ended")


def test_a_trial_that_another_launcher_makes_at_the_same_moment_is_taken_in(tmp_path, monkeypatch):
    """Without locks both ask for it: one file is made, and both go by that."""
    folder, made = searched(tmp_path, {**SEARCH, "trials": 3}, steps=5)
    ask = made._study.ask

    def ask_late(number):
        if number == 1:
            made._trials.create(Trial(1, {"lr": 0.02}, made._make("t1", {"lr": 0.02})))
        return ask(number)

    monkeypatch.setattr(made._study, "ask", ask_late)
    run(folder, made)
    trials = folder.trials()
    assert [trial.name for trial in trials] == ["t1", "t2", "t3"] and trials[0].settings == {"lr": 0.02}
    assert journal(folder).trials[0].params["lr"] == 0.02 and states(folder) == {"COMPLETE": 3}


def test_a_search_goes_by_the_files_of_its_trials(tmp_path):
    """Optuna's journal is for its dashboard, and the trials of before this was so have no unrounded settings."""
    folder, made = searched(tmp_path, {**SEARCH, "trials": 3}, steps=5)
    run(folder, made)
    before = {trial.user_attrs["trial"]: (trial.value, trial.state) for trial in journal(folder).trials}
    (place,) = folder.path.glob("search/*")
    (place / "optuna.journal").write_bytes(b"garbage")
    old = json.loads((place / "t2.json").read_text())
    old.pop("exact")
    (place / "t2.json").write_text(json.dumps(old))
    folder, made = searched(tmp_path, {**SEARCH, "trials": 4}, steps=5)
    run(folder, made)
    after = {trial.user_attrs["trial"]: (trial.value, trial.state) for trial in journal(folder).trials}
    assert len(after) == 4 and before.items() <= after.items()


def test_poor_trials_are_ended_early(tmp_path):
    """The run that is under way is stopped in the middle, and the others are not begun."""
    search = {**SEARCH, "trials": 12, "pruning": "median", "warmup": 1, "seed": 2}
    # drawn before anything is learned, and worse than the median of those before; fast runs end before they are stopped
    held = ("t8", "t9")
    folder, made = searched(tmp_path, search, runs_per_trial=2, steps=20, pause=0.01, held=held)
    run(folder, made)
    trials = folder.trials()
    ends = Counter(trial.end.state for trial in trials)
    assert len(trials) == 12 and ends["pruned"] >= 2 and ends["done"] >= 5, ends
    newest = folder.newest()
    assert {one.state for one in newest.values()} == {DONE, DROPPED}
    pruned = [trial for trial in trials if trial.end.state == "pruned"]
    for trial in pruned:
        assert {run.id for run in trial.runs} & folder.dropped()
    done = []
    for trial in sorted(journal(folder).trials, key=lambda one: one.datetime_complete):
        away = distance(trial.params["lr"])
        if trial.state.name == "COMPLETE":
            done.append(away)
            assert list(trial.intermediate_values) == list(range(1, 9))  # all four tests of its two runs
        else:  # it was worse than the median of those that were done
            assert len(done) >= 5 and away > statistics.median(done)
    stopped = [run.id for trial in pruned if trial.name in held for run in trial.runs]
    assert len(stopped) == 4 and all(run not in newest or newest[run].steps < 20 for run in stopped)
    assert states(folder) == {"PRUNED": ends["pruned"], "COMPLETE": ends["done"]}


@pytest.mark.parametrize("pruning", ["median", "hyperband"])
def test_a_launcher_takes_up_the_tests_and_the_ends_of_earlier_ones(tmp_path, pruning):
    """It reads no log of a trial that has ended, and ends the one whose runs a killed launcher had just dropped."""
    search = {**SEARCH, "trials": 2, "pruning": pruning}
    folder, made = searched(tmp_path, search, steps=20)
    run(folder, made)
    before = [trial.intermediate_values for trial in journal(folder).trials]
    assert all(before)
    for log in tmp_path.glob("runs/*/metrics.csv"):
        log.unlink()
    folder, made = searched(tmp_path, {**search, "trials": 3}, steps=20)
    third = made._make("t3", {"lr": 0.01})
    made._trials.create(Trial(3, {"lr": 0.01}, third))
    folder.drop(third[0].id)
    run(folder, made)
    ends = [trial.end.state for trial in folder.trials()]
    assert ends[2] == "pruned" and set(ends[:2]) <= {DONE, "pruned"}
    assert third[0].id not in folder.newest()
    assert [trial.intermediate_values for trial in journal(folder).trials] == [*before, {}]


def test_the_course_of_a_trial_counts_tests_as_if_its_runs_had_come_one_after_the_other(tmp_path):
    folder, made = searched(tmp_path, {**SEARCH, "trials": 1, "last": 2}, runs_per_trial=3, steps=5)
    run(folder, made)
    newest, runs = folder.newest(), folder.trials()[0].runs
    for values, one in zip(([1, 3, 5], [2, 4, 8], [100, 0, 2]), runs, strict=True):
        lines = [f"{step},1,1,test_return_mean,{value}" for step, value in enumerate(values)]
        log = tmp_path / "runs" / newest[one.id].token / "metrics.csv"
        log.write_text("\n".join(["t_env,episode,seconds,key,value", *lines, ""]))
    course = searcher.Scores(tmp_path, SearchPlan("tpe", 1, last=2)).course
    # means of the last two tests: 1, 2, 4 of the first run; with the second the mean with 2, 3, 6; then of the three
    expected = [1, 2, 4, 3, 3.5, 5, 110 / 3, 20, 11 / 3]
    assert course(runs, newest) == pytest.approx(expected)
    for state, count in (("running", 6), ("lost", 6)):
        assert course(runs, {**newest, runs[1].id: replace(newest[runs[1].id], state=state)}) == expected[:count]
    assert course(runs, {}) == []


def test_two_launchers_make_exactly_as_many_trials_whatever_is_killed(tmp_path):
    """And find the best rate in twenty, although launchers, supervisors and runs are killed all the time."""
    rng, killed = random.Random(int(os.environ.get("CHAOS_SEED", 1))), Counter()
    start = lambda: start_search(tmp_path, SEARCH, lease=1.0, pause=0.01)  # noqa: E731
    folder, _ = searched(tmp_path, SEARCH)
    started = [start(), start()]
    while (killed["launcher"] < 2 or sum(killed.values()) < 8) and len(folder.trials()) < 18:
        time.sleep(rng.uniform(0.05, 0.2))
        for place, process in enumerate(started):
            if process.poll() is not None:
                started[place] = start()
        victims = [
            (kind, pid)
            for attempt in folder.newest().values()
            if attempt.state == "running" and attempt.run_pid
            for kind, pid in (("supervisor", attempt.pid), ("run", attempt.run_pid))
        ]
        if not victims:
            continue
        if killed["launcher"] < 2 and len(folder.trials()) > 3:
            victims = [("launcher", process.pid) for process in started]
        kind, pid = rng.choice(victims)
        with suppress(ProcessLookupError, psutil.Error):
            os.kill(pid, signal.SIGKILL)
            killed[kind] += 1
    for process in started:
        while process.wait(timeout=60) != 0:  # it was killed last
            process = start()
    _, rows = trial_rows(folder, newest := folder.newest())
    assert [row.state for row in rows] == [DONE] * 20
    assert sorted(row.trial.number for row in rows) == list(range(1, 21))
    assert len(newest) == 20 and {one.state for one in newest.values()} == {DONE}
    every = [folder.attempt(one, number) for one in newest for number in range(1, newest[one].number + 1)]
    assert Counter(one.state for one in every)[DONE] == 20 and len(every) > 20 and killed["launcher"] == 2, killed
    assert distance(rows[0].trial.settings["lr"]) < 0.2
    assert states(folder)["COMPLETE"] == 20 and set(states(folder)) <= {"COMPLETE", "FAIL"}

"""A suite of real runs: they are those of main.py, and one that is killed ends with the numbers of one that was not."""

import os
import signal
from functools import partial

import pytest

from forked import run_command
from records.metric_rows import read_metric_log
from suite_children import folder_in, launcher
from suites.command.processes import fork_server
from suites.command.runs import checked_runs
from suites.launch import launcher as launchers
from suites.plan.resources import Machine
from suites.plan.suite_file import read_suite

SUITE = """
algorithms: qmix
environments: two_step
seeds: [3]
t_max: 200
settings: {test_nepisode: 2, use_cuda: False, checkpoint_interval: 40, log_interval: 50, learner_log_interval: 50}
"""


def numbers(results, token):
    rows = read_metric_log(results / "runs" / token / "metrics.csv")
    return [(row.t_env, row.episode, row.key, row.value) for row in rows]


@pytest.mark.slow
def test_a_run_of_a_suite_is_one_of_the_command_line(tmp_path, monkeypatch):
    """Also one that starts from a model: it is loaded once, and counted on from."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launchers, "LOOK", 0.02)
    first = "--config=qmix --env-config=two_step with t_max=40 test_nepisode=2 save_model=True save_model_interval=20"
    assert run_command(*first.split(), "run_name=first", cwd=tmp_path).returncode == 0
    model = "checkpoint_path: results/models/first, load_step: 20"
    (tmp_path / "mine.yaml").write_text(SUITE.replace("settings: {", f"settings: {{{model}, "))
    suite = read_suite(tmp_path / "mine.yaml")
    runs, folder, killed = checked_runs(suite), folder_in(tmp_path / "results"), []

    def kill(newest):
        one = newest.get(runs[0].id)
        if one and one.run_pid and not killed and list(folder.results.glob(f"runs/{one.token}/checkpoints/[1-9]*")):
            killed.append(os.kill(one.run_pid, signal.SIGKILL))

    monkeypatch.setattr("suite_children.start", partial(fork_server, ["two_step"], False, {}))
    machine = Machine({"jobs": 2, "cores": 1, "gpus": 0})
    newest = launcher(folder, runs, look=kill, machine=machine).run().newest
    done = newest[runs[0].id]
    assert killed and (done.state, done.number, done.resumes) == ("done", 2, True), done
    plain = run_command(*runs[0].words, "run_name=plain", cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr
    assert numbers(folder.results, done.token) == numbers(tmp_path / "results", "plain")
    assert len(numbers(folder.results, done.token)) >= 30

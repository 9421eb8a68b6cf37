"""A run in its first seconds, of which Sacred does not yet name the token, is one run and not two."""

from datetime import UTC, datetime, timedelta

import pytest

from browser.reading import Results
from browser_folders import write_log, write_run
from records.tokens import run_token

CONFIG = {"name": "my qmix/2", "seed": 7, "env": "skirmish", "env_args": {"map_name": "3m"}, "t_max": 1000}


def starting(root, run_id=1, seconds=5, **changes):
    """A run that started now, and the token that it made after `seconds`."""
    started = datetime.now(UTC).replace(microsecond=0)
    write_run(root, run_id, config={**CONFIG, **changes}, status="RUNNING", started=started, heartbeat=None)
    made = (started + timedelta(seconds=seconds)).astimezone()
    return run_token(CONFIG["name"], changes.get("seed", 7), "3m", made)


def test_a_starting_run_is_shown_once_with_its_curves(tmp_path):
    token = starting(tmp_path)
    write_log(tmp_path, token, [(0, 0, 1.0, "return_mean", 2.0)])
    (run,) = Results(tmp_path, cache=None).sessions()
    assert (run.id, run.token, run.status_at()) == ("1", token, "RUNNING")
    assert Results(tmp_path, cache=None).curves("1")["return_mean"].source == "metrics.csv"


def test_two_that_start_together_keep_apart(tmp_path):
    tokens = [starting(tmp_path, number, seconds=number) for number in (1, 2)]
    other = starting(tmp_path, 3, seed=8)
    for token in (*tokens, other):
        write_log(tmp_path, token, [(0, 0, 1.0, "return_mean", 2.0)])
    runs = Results(tmp_path, cache=None).sessions()
    assert len(runs) == 3 and {run.token for run in runs} == {*tokens, other}
    assert {run.token for run in runs if run.id == "3"} == {other}


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_an_earlier_or_later_run_is_another(tmp_path, seconds):
    write_log(tmp_path, starting(tmp_path, seconds=seconds), [(0, 0, 1.0, "return_mean", 2.0)])
    assert len(Results(tmp_path, cache=None).sessions()) == 2


def test_an_ended_run_takes_no_token(tmp_path):
    token = starting(tmp_path)
    run_json = tmp_path / "sacred" / "1" / "run.json"
    run_json.write_text(run_json.read_text().replace("RUNNING", "FAILED"))
    write_log(tmp_path, token, [(0, 0, 1.0, "return_mean", 2.0)])
    assert len(Results(tmp_path, cache=None).sessions()) == 2


@pytest.mark.parametrize("token", ["a_seed1_b_9999-99-99_99-99-99-1", "a_seed1_b_0001-01-01_00-00-00-000001"])
def test_a_time_that_there_is_not_is_no_fault(tmp_path, token):
    starting(tmp_path)
    write_log(tmp_path, token, [(0, 0, 1.0, "return_mean", 2.0)])
    assert {run.id for run in Results(tmp_path, cache=None).sessions()} == {"1", f"runs/{token}"}

"""Sessions of one run: joined by their tokens and links; and one that starts, whose token Sacred does not name yet."""

from datetime import UTC, datetime, timedelta

import pytest

from browser.reading import Results, Run, runs_of
from records.tokens import run_token
from results_folders import START, naive, write_log, write_run


def test_sessions_of_a_resumed_run_are_one_run(tmp_path):
    for run_id, hours, resumed in (("3", 5, ("1", 90)), ("1", 0, None), ("2", 2, None), ("10", 9, ("3", 190))):
        info = {"unique_token": "other" if run_id == "2" else "token"}
        if resumed:
            info["resumed_from"] = {"sacred_id": resumed[0], "t_env": resumed[1]}
        write_run(tmp_path, run_id, info=info, started=START + timedelta(hours=hours))
    results = Results(tmp_path, cache=None)
    first, second = results.runs()
    assert [run.id for run in first.sessions] == ["1", "3", "10"] and first.id == "10"
    assert first.newest.resumed_from.sacred_id == "3" and first.newest.resumed_from.t_env == 190
    assert first.started == START and first.seconds() == 3 * 65
    assert [run.id for run in second.sessions] == ["2"]


def test_links_count_for_more_than_clocks_and_circles_do_no_harm(tmp_path):
    links = {"1": None, "2": "1", "3": "2", "4": "5", "5": "4"}
    for run_id, parent in links.items():
        info = {"unique_token": "token" if run_id < "4" else "circle"}
        if parent:
            info["resumed_from"] = {"sacred_id": parent, "t_env": 0}
        write_run(tmp_path, run_id, info=info, started=START - timedelta(hours=int(run_id)))
    found = {run.token: [one.id for one in run.sessions] for run in Results(tmp_path, cache=None).runs()}
    assert found["token"] == ["1", "2", "3"]
    assert sorted(found["circle"]) == ["4", "5"]


def test_sessions_recorded_apart_are_joined(tmp_path):
    first = {"unique_token": "token", "loss": [1, 2, 3], "loss_T": [0, 100, 200]}
    second = {"unique_token": "token", "loss": [4, 5], "loss_T": [150, 250]}
    second["resumed_from"] = {"sacred_id": "1", "t_env": 100}
    write_run(tmp_path, 1, info=first)
    write_run(tmp_path, 2, info=second, started=START + timedelta(hours=1))
    results = Results(tmp_path, cache=None)
    (run,) = results.runs()
    curve = results.curves(run)["loss"]
    assert curve.steps.tolist() == [0, 100, 150, 250] and curve.values.tolist() == [1, 2, 4, 5]
    assert results.curves("2")["loss"].steps.tolist() == [150, 250]


def test_a_session_that_repeats_the_past_does_not_change_its_times(tmp_path):
    def metrics(*points):
        times = [naive(START + timedelta(seconds=second)) for _, second in points]
        return {"loss": {"steps": [t for t, _ in points], "values": [t / 10 for t, _ in points], "timestamps": times}}

    write_run(tmp_path, 1, info={"unique_token": "token"}, metrics=metrics((0, 1), (100, 11), (200, 21)))
    resumed = {"unique_token": "token", "resumed_from": {"sacred_id": "1", "t_env": 100}}
    past_and_more = metrics((0, 3602), (100, 3602), (150, 3608))
    write_run(tmp_path, 2, info=resumed, metrics=past_and_more, started=START + timedelta(hours=1))
    results = Results(tmp_path, cache=None)
    curve = results.curves(results.runs()[0])["loss"]
    assert curve.steps.tolist() == [0, 100, 150] and curve.values.tolist() == [0, 10, 15]
    assert curve.seconds.tolist() == [1, 11, 11 + 8]


def test_a_run_without_sacred_is_shown_with_the_parts_of_its_token(tmp_path):
    token = "qmix_seed12_3m_2026-01-02_03-04-05-678"
    write_log(tmp_path, token, [(10, 1, 0.5, "loss", 1.0)])
    (tmp_path / "runs" / token / "checkpoints" / "10").mkdir(parents=True)
    (tmp_path / "runs" / token / "checkpoints" / "10" / "manifest.json").write_text('{"t_env": 10, "files": {')
    results = Results(tmp_path, cache=None)
    (run,) = results.sessions()
    assert (run.id, run.name, run.seed, run.map_name, run.status) == (f"runs/{token}", "qmix", 12, "3m", "UNKNOWN")
    assert run.problems and results.curves(run.id)["loss"].steps.tolist() == [10]
    (checkpoint,) = results.artifacts(run)
    assert (checkpoint.kind, checkpoint.t_env) == ("checkpoint", 10)
    assert results.manifest(checkpoint) == {"t_env": 10, "files": {}}


def test_runs_without_tokens_stay_apart(tmp_path):
    write_run(tmp_path, 1)
    write_run(tmp_path, 2)
    assert [type(found) for found in runs_of(Results(tmp_path, cache=None).sessions())] == [Run, Run]


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

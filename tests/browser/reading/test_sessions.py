"""Sessions of one run: joined by their tokens and links."""

from datetime import timedelta

from results_folders import open_results

from browser.reading import Run, runs_of
from browser_folders import START, naive, write_log, write_run


def test_sessions_of_a_resumed_run_are_one_run(tmp_path):
    for run_id, hours, resumed in (("3", 5, ("1", 90)), ("1", 0, None), ("2", 2, None), ("10", 9, ("3", 190))):
        info = {"unique_token": "other" if run_id == "2" else "token"}
        if resumed:
            info["resumed_from"] = {"sacred_id": resumed[0], "t_env": resumed[1]}
        write_run(tmp_path, run_id, info=info, started=START + timedelta(hours=hours))
    results = open_results(tmp_path)
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
    found = {run.token: [one.id for one in run.sessions] for run in open_results(tmp_path).runs()}
    assert found["token"] == ["1", "2", "3"]
    assert sorted(found["circle"]) == ["4", "5"]


def test_sessions_recorded_apart_are_joined(tmp_path):
    first = {"unique_token": "token", "loss": [1, 2, 3], "loss_T": [0, 100, 200]}
    second = {"unique_token": "token", "loss": [4, 5], "loss_T": [150, 250]}
    second["resumed_from"] = {"sacred_id": "1", "t_env": 100}
    write_run(tmp_path, 1, info=first)
    write_run(tmp_path, 2, info=second, started=START + timedelta(hours=1))
    results = open_results(tmp_path)
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
    results = open_results(tmp_path)
    curve = results.curves(results.runs()[0])["loss"]
    assert curve.steps.tolist() == [0, 100, 150] and curve.values.tolist() == [0, 10, 15]
    assert curve.seconds.tolist() == [1, 11, 11 + 8]


def test_a_run_without_sacred_is_shown_with_the_parts_of_its_token(tmp_path):
    token = "qmix_seed12_3m_2026-01-02_03-04-05-678"
    write_log(tmp_path, token, [(10, 1, 0.5, "loss", 1.0)])
    (tmp_path / "runs" / token / "checkpoints" / "10").mkdir(parents=True)
    (tmp_path / "runs" / token / "checkpoints" / "10" / "manifest.json").write_text('{"t_env": 10, "files": {')
    results = open_results(tmp_path)
    (run,) = results.sessions()
    assert (run.id, run.name, run.seed, run.map_name, run.status) == (f"runs/{token}", "qmix", 12, "3m", "UNKNOWN")
    assert run.problems and results.curves(run.id)["loss"].steps.tolist() == [10]
    (checkpoint,) = results.artifacts(run)
    assert (checkpoint.kind, checkpoint.t_env) == ("checkpoint", 10)
    assert results.manifest(checkpoint) == {"t_env": 10, "files": {}}


def test_runs_without_tokens_stay_apart(tmp_path):
    write_run(tmp_path, 1)
    write_run(tmp_path, 2)
    assert [type(found) for found in runs_of(open_results(tmp_path).sessions())] == [Run, Run]

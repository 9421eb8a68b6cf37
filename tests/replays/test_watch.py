"""src/watch.py finds a run and its best model, and plays it."""

import json
import os

import pytest

import watch
from checkpoints.model_files import find_checkpoint, model_to_play
from cli.arguments import parse_arguments
from cli.experiment import run_experiment
from records.find_run import find_run
from replays.best_model import find_model
from replays.reader import read_replay
from results_folders import put, write_checkpoint, write_run
from utils.errors import ConfigError


@pytest.fixture
def results(tmp_path):
    """Runs 2 and 10, of which 10 is the newest, and one whose record has no token yet."""
    tests = {"test_return_mean": [1.0, 3.0, 3.0, 2.0], "test_return_mean_T": [10, 21, 30, 40]}
    write_run(tmp_path, 2, config={"name": "old"}, info={"unique_token": "old", **tests})
    write_run(tmp_path, 10, config={"name": "new"}, info={"unique_token": "new"})
    put(tmp_path / "sacred" / "11" / "info.json", "{")
    put(tmp_path / "sacred" / "_sources" / "info.json", "{}")
    for step in (10, 20, 30, 40):
        put(tmp_path / "models" / "old" / str(step) / "agent.th")
    return tmp_path


@pytest.mark.parametrize("name", ["2", "old", "sacred/2", "models/old", "runs/old"])
def test_a_run_by_any_of_its_names(results, name, monkeypatch):
    (results / "runs" / "old").mkdir(parents=True)
    found = find_run(str(results / name) if "/" in name else name, results)
    assert (found.token, found.results, found.config()["name"]) == ("old", results, "old")
    if "/" in name:
        monkeypatch.chdir(results / name)
        assert find_run(".", "elsewhere").token == "old"


def test_runs_that_are_not_there(results, tmp_path_factory):
    with pytest.raises(ConfigError, match=r"There is no run 'odl' in .*old"):
        find_run("odl", results)
    with pytest.raises(ConfigError, match="has no run that trained"):
        find_run("latest", tmp_path_factory.mktemp("empty"))
    with pytest.raises(ConfigError, match="has not started yet"):
        find_run(str(results / "sacred" / "11"), results)
    put(results / "models" / "unrecorded" / "5" / "agent.th")
    with pytest.raises(ConfigError, match=r"(?s)unrecorded: neither Sacred, in .*, nor a checkpoint has a record"):
        find_run("unrecorded", results).config()
    os.remove(results / "sacred" / "2" / "config.json")
    with pytest.raises(ConfigError, match=r"config\.json is missing"):
        find_run("2", results).config()


def test_a_number_that_is_not_there_shows_those_that_are(results, capsys):
    assert watch.main(["99", "--results", str(results)]) == 2
    assert f"There is no run '99' in {results}. Sacred runs: 2, 10-11." in capsys.readouterr().err


def test_the_best_model_by_the_tests_sacred_kept(results):
    """21 is the test nearest to 20; of equals, the newest."""
    model = find_model(find_run("old", results), "best")[0]
    assert (model.step, model.model.figures) == (30, {"test_return_mean": 3})


def test_the_best_model_by_the_figures_of_a_run(results):
    rows = ["t_env,episode,seconds,key,value", "10,1,0.1,test_return_mean,5.0", "10,1,0.1,loss,99"]
    rows += ["20,2,0.2,test_return_mean,4.0", "30,3,0.3,test_return_mean,nan"]
    rows += ["40,4,0.4,test_return_mean,-1.0", "60,6,0.6,test_return_mean,7.0", "70,"]
    put(results / "runs" / "old" / "metrics.csv", "\n".join(rows))
    assert find_model(find_run("old", results), "best")[0].step == 10
    put(results / "runs" / "old" / "checkpoints" / "60" / "agent.th")
    put(results / "runs" / "old" / "checkpoints" / "65.tmp" / "agent.th")
    (results / "runs" / "old" / "checkpoints" / "90").mkdir()
    model = find_model(find_run("old", results), "best")[0]
    assert (model.step, str(model.model)) == (60, "test return 7")
    assert model.folder == results / "runs" / "old" / "checkpoints"


def test_a_run_and_its_folder_of_models_play_the_same_model(results):
    """The best, whichever door it is asked for by; `load_step` and `--model` pick another."""
    models, run = results / "models" / "old", find_run("old", results)
    best = {"step": 20, "test_return_mean": 9.0}
    put(models / "best" / "agent.th")
    put(models / "best" / "best.json", json.dumps(best))
    saved, reason = find_model(run, how="this is how")
    assert (saved.folder, saved.step) == (models / "best", 20)
    assert reason == "Of 4 saved models, the one that tested best is played; this is how."
    reason = reason.replace("this is how", "load_step=STEP picks another")
    assert model_to_play(str(models), 0) == (models / "best", 20, reason)
    assert model_to_play(str(models), 32) == (models / "30", 30, "")
    assert model_to_play(str(models / "best"), 0) == (models / "best", 20, "")
    assert (find_model(run, "newest")[0].step, find_model(run, "newest")[1]) == (40, "")
    assert find_checkpoint(str(models), 0) == (models / "40", 40), "training starts from the newest, as in PyMARL"


def test_of_pymarl_s_folders_the_newest_is_played(results):
    newest = "Of 4 saved models, the newest, as no test results are known, is played; load_step=STEP picks another."
    assert model_to_play(str(results / "models" / "old"), 0) == (results / "models" / "old" / "40", 40, newest)


def test_of_checkpoints_the_best_is_played(results):
    """An older version's, too, whose manifests have another form."""
    for step, figure in ((10, 5.0), (20, None), (30, 1.0)):
        write_checkpoint(results, "old", step, format=3, test_return_mean=figure)
    folder = results / "runs" / "old" / "checkpoints"
    assert model_to_play(str(folder), 0)[:2] == (folder / "10", 10)


def test_without_tests_the_newest_model(results):
    with pytest.raises(ConfigError, match=r"new has no saved models in .*save_model=True"):
        find_model(find_run("new", results), "best")[0]
    for step in (9, 100):
        put(results / "models" / "new" / str(step) / "agent.th")
    model = find_model(find_run("new", results), "best")[0]
    assert (model.step, str(model.model)) == (100, "not tested")


@pytest.mark.slow
def test_it_plays_the_best_model(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = "t_max=30 test_interval=10 test_nepisode=2 save_model=True save_model_interval=10 seed=3"
    words = f"--config=vdn --env-config=two_step with {settings} runner=parallel batch_size_run=2"
    run_experiment(parse_arguments(words.split()))
    capsys.readouterr()
    assert watch.main(["latest", "--episodes", "2", "--no-page"]) == 0
    shown = capsys.readouterr().out
    first, second = sorted((tmp_path / "results" / "replays").rglob("*.jsonl"))
    assert os.path.relpath(first, tmp_path) in shown
    assert f"{second.stem}.gif" in shown
    replay = read_replay(first)
    (token,) = os.listdir(tmp_path / "results" / "models")
    assert replay.header["checkpoint_path"] == os.path.join("results", "models", token)
    assert str(replay.header["t_env"]) in os.listdir(tmp_path / "results" / "models" / token)
    assert replay.footer["length"] == 2
    numbers = [name for name in os.listdir(tmp_path / "results" / "sacred") if name.isdigit()]
    assert numbers == ["1"], "watching makes no new run"
    assert os.listdir(tmp_path / "results" / "runs") == [token]


def test_files_of_any_length_are_not_read(results):
    """Sparse ones of 20 GB, say."""
    log = put(results / "runs" / "old" / "metrics.csv")
    os.truncate(log, 20 * 2**30)
    assert find_model(find_run("old", results), "best")[0].step == 30, "by Sacred's figures, then"
    info = results / "sacred" / "2" / "info.json"
    os.truncate(info, 20 * 2**30)
    assert find_model(find_run("old", results), "best")[0].step == 40
    with pytest.raises(ConfigError, match=r"info\.json cannot be read \(it is 20.0 GiB long, longer than \d+ bytes\)"):
        find_run("2", results)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[" * 200_000 + "]" * 200_000, "is nested too deep"),
        ("{", "is not JSON: it is damaged"),
        ("[1]", "holds no mapping"),
        ("{}", "is empty"),
        (None, "is missing"),
    ],
)
def test_why_a_config_cannot_be_read(results, content, problem):
    path = results / "sacred" / "2" / "config.json"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(ConfigError, match=rf"config\.json {problem}.*, so the run cannot be played"):
        find_run("2", results).config()


def test_a_run_that_sacred_did_not_observe(tmp_path):
    """Its checkpoints have its config and their test results; a torn manifest has nothing."""
    write_checkpoint(tmp_path, "alone", 100, config={"env": "two_step", "name": "alone"}, test_return_mean=3.0)
    write_checkpoint(tmp_path, "alone", 200, config={"env": "two_step", "name": "alone"}, test_return_mean=None)
    write_checkpoint(tmp_path, "alone", 300)
    put(tmp_path / "runs" / "alone" / "checkpoints" / "400" / "manifest.json", '{"config": {"na')
    for name in ("alone", "latest", str(tmp_path / "runs" / "alone")):
        found = find_run(name, tmp_path)
        assert (found.token, found.config()["name"], found.info()) == ("alone", "alone", {})
    model = find_model(found, "best")[0]
    assert (model.folder.name, model.step, str(model.model)) == ("checkpoints", 100, "test return 3")
    with pytest.raises(ConfigError, match=r"There is no run 'aloen' in .*alone"):
        find_run("aloen", tmp_path)


def test_a_checkpoint_that_tests_better_than_all_models(results):
    write_checkpoint(results, "old", 35, test_return_mean=9.5)
    model = find_model(find_run("old", results), "best")[0]
    assert (model.folder, model.step) == (results / "runs" / "old" / "checkpoints", 35)


def test_a_model_that_was_tested_wins_over_a_later_one_with_the_same_figures(results):
    """A checkpoint repeats the figures of the last test, whatever was learned since."""
    put(results / "runs" / "old" / "metrics.csv", "t_env,episode,seconds,key,value\n10,1,0.1,test_return_mean,9.5\n")
    put(results / "models" / "old" / "best" / "agent.th")
    put(results / "models" / "old" / "best" / "best.json", json.dumps({"step": 10, "test_return_mean": 9.5}))
    write_checkpoint(results, "old", 35, test_return_mean=9.5)
    assert find_model(find_run("old", results), "best")[0].step == 10


def test_it_plays_a_checkpoint_of_an_unobserved_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    settings = "t_max=30 test_interval=10 test_nepisode=1 checkpoint_interval=10 seed=3"
    run_experiment(parse_arguments(f"--config=vdn --env-config=two_step --unobserved with {settings}".split()))
    assert not (tmp_path / "results" / "sacred").exists()
    assert watch.main(["latest", "--no-page"]) == 0
    (path,) = (tmp_path / "results" / "replays").rglob("*.jsonl")
    assert read_replay(path).footer["length"] == 2


@pytest.mark.parametrize(("words", "opened"), [((), 1), (("--no-open",), 0)])
def test_it_shows_the_replay_on_the_page(results, words, opened, monkeypatch, capsys):
    """Replays and page are stand-ins: what counts is where the page is opened, and whether a browser is."""
    pytest.importorskip("dash", reason="the page's packages are not installed")
    from browser.page.server import serving

    replay = put(results / "replays" / "fresh" / "30_0.jsonl")
    monkeypatch.setattr(watch, "play", lambda *args: [replay])
    browsers = []
    monkeypatch.setattr(watch.webbrowser, "open", browsers.append)
    monkeypatch.setattr(serving, "open_page", lambda root, path, show: (print(root, path), show(path)))
    assert watch.main(["2", "--results", str(results), *words]) == 0
    assert f"{results} /replay?run=fresh&file=30_0.jsonl" in capsys.readouterr().out
    assert len(browsers) == opened


def test_mistakes_of_the_command(tmp_path, capsys):
    assert watch.main(["latest", "--results", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    for words in ([], ["latest", "--episodes", "0"]):
        assert watch.main(words) == 2

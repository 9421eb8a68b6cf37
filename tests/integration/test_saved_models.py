"""Models that a run saves: the best one, and what is done with a model that has been trained long enough."""

import csv
import json
import shutil
from types import SimpleNamespace

import pytest
import torch as th

from cli.arguments import parse_arguments
from cli.experiment import run_experiment
from experiment.evaluation import EpisodeTable
from utils.errors import ConfigError
from vector_envs.instances import seed_of_environment

pytestmark = pytest.mark.slow

SETTINGS = "test_interval=10 save_model=True save_model_interval=10 test_nepisode=4 batch_size=4 lr=0.05 seed=3"


def run_words(words):
    run_experiment(parse_arguments(words.split()))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The results of a run that tests and saves at the same steps."""
    results = tmp_path_factory.mktemp("saved") / "results"
    run_words(f"--config=vdn --env-config=two_step with {SETTINGS} t_max=100 local_results_path={results}")
    return results


def _tests(results):
    (metrics,) = results.glob("runs/*/metrics.csv")
    rows = [line.split(",") for line in metrics.read_text().splitlines()]
    return {int(row[0]): float(row[4]) for row in rows if row[3] == "test_return_mean"}


def test_the_best_model_is_kept(trained):
    (models,) = (trained / "models").iterdir()
    tests = _tests(trained)
    assert len(set(tests.values())) > 1
    step = max(tests, key=lambda t: (tests[t], t))
    assert json.loads((models / "best" / "best.json").read_text()) == {"step": step, "test_return_mean": tests[step]}
    best, saved = (th.load(models / name / "agent.th") for name in ("best", str(step)))
    assert all(th.equal(best[key], saved[key]) for key in saved)
    assert {path.name for path in (models / "best").iterdir()} == {
        "agent.th",
        "mixer.th",
        "opt.th",
        "best.json",
        "manifest.json",
    }


def test_a_model_without_its_optimiser_is_trained_on_with_a_warning(trained, tmp_path, capsys):
    (models,) = (trained / "models").iterdir()
    shutil.copytree(models / "best", tmp_path / "given" / "best", ignore=shutil.ignore_patterns("opt.th"))
    settings = f"t_max=150 local_results_path={tmp_path} checkpoint_path={tmp_path / 'given' / 'best'} lr=1e-30 seed=3"
    run_words(f"--config=vdn --env-config=two_step with {settings} batch_size=4 save_model=True")
    assert "best has no opt.th: optimisers start without moments" in capsys.readouterr().out
    (after,) = (tmp_path / "models").glob("*/best")
    before, weights = (th.load(folder / "agent.th") for folder in (models / "best", after))
    assert all(th.allclose(before[key], weights[key]) for key in before)
    assert (after / "opt.th").is_file()


def test_a_model_past_t_max_has_nothing_to_do(trained, tmp_path, capsys):
    (models,) = (trained / "models").iterdir()
    settings = f"t_max=20 local_results_path={tmp_path} checkpoint_path={models / 'best'}"
    run_words(f"--config=vdn --env-config=two_step with {settings}")
    shown = capsys.readouterr().out
    assert "There is nothing to do" in shown and "t_max is 20" in shown
    assert "Replay buffer" not in shown and "Beginning training" not in shown
    assert json.loads((tmp_path / "sacred" / "1" / "run.json").read_text())["status"] == "COMPLETED"


def _newest_record(results):
    folder = max((results / "sacred").glob("[0-9]*"), key=lambda path: int(path.name))
    return {name: json.loads((folder / f"{name}.json").read_text()) for name in ("config", "info", "run")}


def _episodes(results, token):
    with open(results / "runs" / token / "episodes.csv", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", ["1", "latest", "models", "runs", "sacred"])
def test_evaluate_takes_the_run_by_any_of_its_names(trained, name, capsys):
    """Not even after other evaluations is one of these the latest run: there is nothing of theirs to play."""
    (models,) = (trained / "models").iterdir()
    places = {"models": models, "runs": trained / "runs" / models.name, "sacred": trained / "sacred" / "1"}
    run_words(f"--evaluate={places.get(name, name)} with local_results_path={trained}")
    shown = capsys.readouterr().out
    for word in ("buffer", "t_max", "100 steps", "Warning"):
        assert word not in shown
    assert "4 test episodes on two_step, seed 3" in shown
    best = json.loads((models / "best" / "best.json").read_text())
    assert f"Loading model from {models / str(best['step'])}" in shown
    record = _newest_record(trained)
    assert record["info"]["test_return_mean"] == [best["test_return_mean"]]
    assert record["info"]["test_return_mean_T"] == [best["step"]]
    rows = _episodes(trained, record["info"]["unique_token"])
    assert [row["episode"] for row in rows] == ["0", "1", "2", "3"]
    assert sum(float(row["return"]) for row in rows) / 4 == best["test_return_mean"]
    assert {row["length"] for row in rows} == {"2"}
    assert {row["won"] for row in rows} == {""}


def test_a_damaged_model_is_refused_and_an_old_one_is_noted(trained, tmp_path, capsys):
    shutil.copytree(trained, tmp_path / "results")
    (models,) = (tmp_path / "results" / "models").iterdir()
    path = models / "52" / "agent.th"
    whole = path.read_bytes()
    path.write_bytes(whole[:1000] + bytes([whole[1000] ^ 64]) + whole[1001:])
    words = f"--evaluate=1 with load_step=52 local_results_path={tmp_path / 'results'}"
    with pytest.raises(ConfigError, match=r"52/agent.th has changed since it was written.* Intact: .*/best, .*/42, "):
        run_words(words)
    path.write_bytes(whole)
    run_words(words)
    assert "its files were not checked" not in capsys.readouterr().out
    (models / "52" / "manifest.json").unlink()
    run_words(words)
    assert f"Loading model from {models}/52, saved after 52 steps (it has no manifest.json" in capsys.readouterr().out
    weights = th.load(path)
    weights["fc1.bias"][0] = th.nan
    th.save(weights, path)
    with pytest.raises(ConfigError, match=r"52/agent.th has weights that cannot be used, in fc1.bias: 1 of"):
        run_words(words)


def test_evaluate_needs_the_controller_only(trained, tmp_path, monkeypatch):
    shutil.copytree(trained, tmp_path / "results")
    (models,) = (tmp_path / "results" / "models").iterdir()
    for path in models.glob("*/*.th"):
        if path.name != "agent.th":
            path.unlink()
    monkeypatch.setattr("components.buffers.episodes.EpisodeReplay.__init__", None)
    monkeypatch.setattr("learners.q_learner.QLearner.__init__", None)
    settings = "load_step=52 test_nepisode=6 runner=parallel batch_size_run=3 seed=9"
    run_words(f"--evaluate=1 with {settings} local_results_path={tmp_path / 'results'}")
    record = _newest_record(tmp_path / "results")
    assert record["info"]["test_return_mean_T"] == [52]
    rows = _episodes(tmp_path / "results", record["info"]["unique_token"])
    assert [(row["environment"], row["number"]) for row in rows] == [(str(i % 3), str(i // 3)) for i in range(6)]


def test_won_and_seed_of_each_episode():
    env_args = {"map_name": "3m", "seed": 5}
    args = SimpleNamespace(
        env="skirmish", env_args=env_args, separate_test_env=True, batch_size_run=3, test_batch_size=0
    )
    table = EpisodeTable(args)
    table.add(0, 3.5, 20, {"battle_won": True})
    table.add(2, 1, 30, {"battle_won": False})
    table.add(0, 0.25, 40, {})
    seeds = [seed_of_environment(args, index, test_mode=True) for index in (0, 2)]
    assert seeds[0] != seeds[1]
    assert table.rows == [
        (0, 0, seeds[0], 0, 3.5, 20, 1),
        (1, 2, seeds[1], 0, 1.0, 30, 0),
        (2, 0, seeds[0], 1, 0.25, 40, None),
    ]

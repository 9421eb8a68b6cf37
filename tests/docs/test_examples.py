"""The examples of docs/ run as they are written, and learn what they say."""

import json

import pytest

from components.action_selectors import REGISTRY as SELECTORS
from envs import REGISTRY as environments
from envs.contract.declarations import spec_of
from forked import run_command
from muster.testing import check_agent, check_learner, make_args, random_batch
from own_parts import registries_restored
from records.diagnosis import diagnosed
from records.metric_rows import read_rows, whole_lines
from standins import ROOT
from utils.config.user_modules import imported

pytestmark = pytest.mark.slow


def _final_return(tmp_path, *words):
    done = run_command(*words, f"local_results_path={tmp_path}", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "sacred" / "1" / "info.json").read_text())["test_return_mean"][-1]


def test_the_learner_finds_the_best_action_of_the_climbing_game(tmp_path):
    """Independent Q-learning settles for less: its agents fear the -30 beside the 11."""
    game = ["--env-config=matrix", "with", "env_args.game=climbing", "t_max=500", "seed=1"]
    words = [*game, "runner=batched", "batch_size_run=4", "lr=0.003"]
    assert _final_return(tmp_path / "own", "--config=docs/examples/hysteretic.yaml", *words) == 11
    assert _final_return(tmp_path / "plain", "--config=iql", *words, "epsilon_finish=1.0") < 11


def test_the_environment_can_be_learned(tmp_path):
    """Agents that do not see each other can agree on a cell; random play meets late."""
    settings = ["t_max=1000", "epsilon_anneal_time=500", "batch_size=16", "lr=0.01", "test_interval=10000", "seed=3"]
    four = ["runner=episodes", "vector_env=in_process", "batch_size_run=4"]
    final = _final_return(tmp_path, "--config=vdn", "--env-config=docs/examples/meeting.yaml", "with", *settings, *four)
    assert final > 0.8


def test_the_environment_of_entities_can_be_learned(tmp_path):
    """Random miners collect two thirds of the nuggets."""
    game = "env_args.environment=docs/examples/gold_rush.py:GoldRush"
    settings = ["t_max=6000", "test_nepisode=64", "test_interval=100000", "seed=1", "batch_size_run=32"]
    learning = ["epochs=4", "minibatches=4", "lr=0.003", "entropy_coef=0.02"]
    assert (
        _final_return(tmp_path, "--config=enn_ppo", "--env-config=entities", "with", game, *settings, *learning) > 0.9
    )


def test_the_environment_of_two_groups_trains(tmp_path):
    words = ["--config=vdn", "--env-config=docs/examples/chase.yaml", "with", "t_max=2000", "batch_size=8", "seed=1"]
    _final_return(tmp_path, *words, "epsilon_anneal_time=1000", "test_nepisode=20")
    info = json.loads((tmp_path / "sacred" / "1" / "info.json").read_text())
    assert {
        "cats/loss",
        "mice/loss",
        "test_cats/return_mean",
        "test_mice/return_mean",
        "test_caught_mean",
    } <= info.keys()


def test_the_ailments_of_an_environment_are_seen_from_inside(tmp_path):
    plugin = 'plugins=["docs/examples/ailing.py"]'
    words = ["--config=vdn", "--env-config=two_step", "with", plugin, "env=ailing", "learner=watched", "t_max=300"]
    settings = ["run_name=ailing", "machine_interval=0.2", "log_interval=50", "batch_size=4", "use_cuda=False"]
    _final_return(tmp_path, *words, *settings)
    with (tmp_path / "runs" / "ailing" / "diagnostics.csv").open("rb") as file:
        found = diagnosed(read_rows(whole_lines(file.read())))
    times = {path.path: path for path in found.times}
    assert times["train/play/step"].seconds / times["train/play/step"].count > 0.002
    assert times["train/play/step/bookkeeping"].count == times["train/play/step"].count == 302
    (rewards,) = found.monitored
    assert (rewards.name, rewards.greatest <= 8) == ("learner/reward", True)
    memory = next(figure for figure in found.machine if figure.name == "run_memory_mb")
    assert memory.last - memory.least > 20  # 302 steps keep 48 MB


def test_the_folder_of_own_parts_learns():
    """A learner, an agent that reads the environment's meaning, and a selector, as docs/own_learner.md shows them."""
    with registries_restored():
        imported("plugins", str(ROOT / "docs" / "examples" / "own_parts"))
        check_learner("plain_learner", mixer="qmix")
        env = environments["skirmish"](map_name="3m", seed=1)
        info = spec_of(env).env_info
        env.close()
        sizes = {key: info[key] for key in ("n_agents", "n_actions", "obs_shape", "state_shape")}
        alone = {"obs_agent_id": False, "obs_last_action": False}
        check_agent("target_agent", random_batch([2, 4], 5, **sizes), meaning=info["meaning"], **alone, **sizes)
        selector = SELECTORS["cosine"](make_args(epsilon_start=1.0, epsilon_finish=0.0, epsilon_anneal_time=100))
        assert [round(selector.schedule.eval(t), 3) for t in (0, 50, 100, 200)] == [1, 0.5, 0, 0]


def test_the_folder_of_own_parts_trains(tmp_path):
    words = ["--config=docs/examples/own_parts.yaml", "--env-config=skirmish", "with", "env_args.map_name=3m"]
    done = run_command(*words, "t_max=200", "test_nepisode=1", f"local_results_path={tmp_path}", cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_the_environment_of_forty_lines_can_be_learned(tmp_path):
    """Random play, and no play at all, return -0.4; the best 0.92."""
    settings = ["agent=ff", "batch_size_run=32", "lr=0.002", "critic_lr=0.002", "seed=1", "test_nepisode=32"]
    words = ["--config=mappo", "--env-config=docs/examples/lifting.yaml", "with", *settings]
    assert _final_return(tmp_path, *words, "test_interval=100000") > 0.8


def test_the_mixer_and_learner_of_sixty_lines_do_what_a_learner_has_to():
    with registries_restored():
        imported("plugins", str(ROOT / "docs" / "examples" / "weighted_team.py"))
        check_learner("huber_learner", mixer="weighted_sum")

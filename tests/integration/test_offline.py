"""Runs record data, and other runs learn from them: with the environment, without it, and before they play."""

import json
import os

import numpy as np
import pytest
import torch as th

from cli.arguments import parse_arguments
from cli.experiment import run_experiment
from collection.recorded_batches import RecordedBatches
from components.scheme import scheme_of
from envs.contract.fields import pymarl_spec
from envs.recorded.description import Description
from envs.recorded.formats import open_data
from envs.recorded.quality import quality_of
from envs.recorded.recording import RecordingWriter
from utils.errors import ConfigError

pytestmark = pytest.mark.slow

SETTINGS = "test_interval=20 test_nepisode=2 batch_size=4 lr=0.01 seed=3 save_model=True save_model_interval=1000"


def run_words(words):
    run_experiment(parse_arguments(words.split()))


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The data of a run of 60 episodes of two steps; and of one whose rollouts cut episodes."""
    folder = tmp_path_factory.mktemp("played")
    run_words(
        f"--config=qmix --env-config=two_step with {SETTINGS} t_max=120 local_results_path={folder}/r "
        f"record_data={folder}/whole"
    )
    run_words(
        f"--config=ippo --env-config=two_step with {SETTINGS} t_max=320 local_results_path={folder}/r "
        f"batch_size_run=3 rollout_steps=5 minibatches=1 record_data={folder}/cut record_data_from=60"
    )
    return folder


def weights_of(results, pattern="models/*/[0-9]*"):
    folder = max(results.glob(pattern), key=lambda path: int(path.name))
    return {path.name: th.load(path, weights_only=True) for path in folder.glob("agent.th")}["agent.th"], folder.name


def test_a_run_records_all_it_plays(played):
    whole, cut = (quality_of(open_data(played / name)) for name in ("whole", "cut"))
    assert (whole.episodes, whole.transitions, whole.steps) == (61, 122, 183)
    rewards = {0.0, 1.0, 7.0, 8.0}
    assert set(whole.returns) <= rewards and set(cut.returns) <= rewards
    assert 250 < cut.transitions <= 270 and cut.longest == 3
    header = json.loads((played / "whole" / "recording.json").read_text())
    assert header["env"] == "two_step" and "seed" not in header["env_args"]
    if os.name == "posix":
        assert (played / "whole").stat().st_mode & 0o077 == 0


def test_batches_of_data_are_those_that_were_played(played):
    data = open_data(played / "whole")
    scheme, groups, preprocess = scheme_of(data.description.spec)
    (batch,) = RecordedBatches(data, scheme, groups, preprocess, 3)
    (part,) = data.parts()
    assert batch.batch_size == 61 and batch.max_seq_length == 3
    for key in ("obs", "state", "actions", "reward", "terminated", "avail_actions"):
        assert np.array_equal(batch[key].flatten(0, 1).numpy(), part[key]), key
    onehot = th.nn.functional.one_hot(batch["actions"].squeeze(-1), 2)
    assert th.equal(batch["actions_onehot"].long(), onehot)
    assert bool(batch["filled"].all())


def test_a_run_learns_from_data_alone_and_resumes_exactly(played, tmp_path):
    learn = f"--config=qmix --env-config=recorded with {SETTINGS} test_nepisode=0 dataset={played / 'whole'}"
    run_words(f"{learn} t_max=60 local_results_path={tmp_path / 'one'}")
    run_words(f"{learn} t_max=30 local_results_path={tmp_path / 'two'} run_name=first")
    first, step = weights_of(tmp_path / "two")
    run_words(f"--resume={tmp_path / 'two' / 'runs' / 'first'} with t_max=60")
    whole, last = weights_of(tmp_path / "one")
    resumed, again = weights_of(tmp_path / "two")
    assert (step, last, again) == ("31", "61", "61")
    assert all(th.equal(whole[key], resumed[key]) for key in whole)
    assert not all(th.equal(first[key], resumed[key]) for key in first)
    (record,) = (tmp_path / "one" / "sacred").glob("[0-9]*/info.json")
    said = json.loads(record.read_text())["dataset"]
    assert said["episodes"] == 61 and said["sha256"] == quality_of(open_data(played / "whole")).digest


def test_a_run_whose_data_have_changed_does_not_resume(played, tmp_path):
    import shutil

    shutil.copytree(played / "whole", tmp_path / "data")
    words = (
        f"with {SETTINGS} test_nepisode=0 dataset={tmp_path / 'data'} local_results_path={tmp_path / 'r'} run_name=x"
    )
    run_words(f"--config=qmix --env-config=recorded {words} t_max=10")
    shutil.copy(tmp_path / "data" / "0.npz", tmp_path / "data" / "1.npz")
    with pytest.raises(Exception, match=r"has other data than those that the run has learned from|is damaged"):
        run_words(f"--resume={tmp_path / 'r' / 'runs' / 'x'} with t_max=20")


def test_after_the_data_a_run_plays_on_with_the_same_buffer(played, tmp_path):
    run_words(
        f"--config=qmix --env-config=two_step with {SETTINGS} t_max=60 dataset={played / 'whole'} dataset_updates=40 "
        f"local_results_path={tmp_path} record_data={tmp_path / 'later'} runner_log_interval=1"
    )
    (metrics,) = tmp_path.glob("runs/*/metrics.csv")
    rows = [line.split(",") for line in metrics.read_text().splitlines()[1:]]
    steps = [int(row[0]) for row in rows if row[3] == "return_mean"]
    assert min(steps) == 42 and max(steps) == 62
    assert quality_of(open_data(tmp_path / "later")).episodes == 11
    assert {int(row[0]) for row in rows if row[3] == "test_return_mean"} >= {1, 21, 42}


def test_a_trial_of_data_fills_the_buffer_and_learns(played, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_words(f"--config=qmix --env-config=recorded --validate with batch_size=4 dataset={played / 'whole'}")
    assert "Nothing is played: the data are learned from." in capsys.readouterr().out
    assert not any(tmp_path.iterdir())


def test_playing_a_run_that_recorded_adds_nothing_to_its_data(played, capsys):
    before = quality_of(open_data(played / "whole")).digest
    (run,) = (path for path in (played / "r" / "runs").iterdir() if path.name.startswith("qmix"))
    run_words(f"--evaluate={run}")
    assert "return" in capsys.readouterr().out
    assert quality_of(open_data(played / "whole")).digest == before


def test_a_recording_is_also_written_as_others_read_it(tmp_path, capfd):
    pytest.importorskip("tensorstore")
    words = f"--config=qmix --env-config=two_step with {SETTINGS} t_max=40 local_results_path={tmp_path}/r"
    words += f" record_data={tmp_path}/d record_data_as=vault"
    run_words(words)
    ours, vault = open_data(tmp_path / "d"), open_data(tmp_path / "d.vlt" / "0")
    assert vault.format == "vault" and quality_of(vault).returns.tolist() == quality_of(ours).returns.tolist()
    # what is there is left as it is, and the run ends well
    run_words(words)
    out = " ".join(capfd.readouterr().out.split())
    assert f"d was not written as vault: {tmp_path}/d.vlt/0 exists already. Later: " in out
    assert quality_of(open_data(tmp_path / "d")).episodes == 2 * quality_of(vault).episodes


def test_a_format_that_cannot_have_the_fields_is_refused_before_anything_is_played(tmp_path):
    pytest.importorskip("minari")
    words = f"--config=qmix --env-config=two_step with {SETTINGS} t_max=40 local_results_path={tmp_path}/r"
    with pytest.raises(ConfigError, match=r"has one agent; these data have 2\. Use a vault"):
        run_words(f"{words} record_data={tmp_path}/d record_data_as=minari")
    assert not (tmp_path / "d").exists()


def test_an_evaluation_is_recorded(played, tmp_path):
    (models,) = (path for path in (played / "r" / "models").iterdir() if path.name.startswith("qmix"))
    run_words(
        f"--config=qmix --env-config=two_step with evaluate=True checkpoint_path={models} test_nepisode=5 "
        f"record_data={tmp_path / 'd'} local_results_path={tmp_path / 'r'}"
    )
    quality = quality_of(open_data(tmp_path / "d"))
    assert quality.episodes == 5 and len(set(quality.returns)) == 1


@pytest.mark.parametrize(("preset", "expected"), [("bc", 5), ("iql_cql", 7), ("qmix_cql", 7)])
def test_policies_clone_what_is_usual_and_values_choose_the_best_of_the_data(tmp_path, preset, expected):
    """In the climbing game, both took action 2 in 70 of 100 episodes, which pays 5, and action 1 in the others: 7."""
    spec = pymarl_spec({"n_agents": 2, "n_actions": 3, "obs_shape": 1, "state_shape": 1, "episode_limit": 1})
    actions, ones = np.where(np.arange(100) % 10 < 7, 2, 1), np.ones((100, 1), np.float32)
    part = {
        "obs": np.ones((100, 2, 1), np.float32),
        "state": ones,
        "avail_actions": np.ones((100, 2, 3), np.uint8),
        "actions": actions[:, None, None].repeat(2, 1).astype(np.uint8),
        "reward": np.where(actions == 2, 5, 7)[:, None].astype(np.float32),
        "terminated": ones.astype(np.uint8),
        "truncated": 0 * ones.astype(np.uint8),
        "episode": np.arange(100),
    }
    RecordingWriter(tmp_path / "data", Description(spec, {}, "matrix", {})).add(part)
    run_words(
        f"--config={preset} --env-config=matrix with dataset={tmp_path / 'data'} t_max=200 lr=0.01 seed=1 "
        f"test_interval=1000 learner_log_interval=50 local_results_path={tmp_path / 'r'}"
    )
    (metrics,) = tmp_path.glob("r/runs/*/metrics.csv")
    rows = [line.split(",") for line in metrics.read_text().splitlines()[1:]]
    assert float([row[4] for row in rows if row[3] == "test_return_mean"][-1]) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--config=ippo --env-config=two_step with dataset={data}", "learns from rollouts of its newest weights"),
        ("--config=qmix --env-config=recorded with t_max=10", "dataset=FOLDER names it"),
        ("--config=qmix --env-config=recorded with dataset={data} test_nepisode=2", "nothing to play"),
        ("--config=qmix --env-config=two_step with dataset={data}x", "there is no such folder"),
        ("--config=qmix --env-config=two_step with record_data_as=vault t_max=4", "=vault needs record_data"),
        ("--config=qmix --env-config=two_step with dataset={data} collection=async", "Leave one of them out"),
        ("--config=qmix --env-config=two_step with collection=data", "dataset=FOLDER names it"),
        ("--config=qmix --env-config=two_step with dataset={data} record_data=x", "nothing is played"),
        ("--config=qmix --env-config=matrix with dataset={data}", "has the shape (2, 4) there, and (2, 1)"),
        ("--config=maven --env-config=two_step with dataset={data}", "it has no field"),
        ("--config=qmix --env-config=two_step with dataset={data} batch_size=100", "too few for batch_size=100"),
    ],
)
def test_what_does_not_go_together_is_refused(played, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as error:
        run_words(words.format(data=played / "whole"))
    assert message in str(error.value)

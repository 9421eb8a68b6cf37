"""Infos that do not appear are named once, and nothing is refused."""

import logging
from types import SimpleNamespace

import pytest

from components.episode_batch import EpisodeBatch
from experiment.rare_infos import RareInfos
from main import main
from runners.contract import as_runner

NUMBER = {"vshape": (1,)}
SCHEME = {"reward": NUMBER} | {f"infos/{name}{mark}": NUMBER for name in ("bonsu", "lap") for mark in ("", "/known")}


def rollout(**known):
    batch = EpisodeBatch(SCHEME, {}, 2, 3)
    for name in known:
        batch[f"infos/{name}/known"][1, 1] = 1
    return batch


@pytest.fixture
def runner():
    return SimpleNamespace(last_infos={})


@pytest.fixture
def infos(caplog, runner):
    caplog.set_level(logging.INFO)
    return RareInfos(as_runner(runner), logging.getLogger("rare"))


def test_those_that_have_not_appeared_are_named_once_with_the_nearest(infos, runner, caplog):
    infos.look(rollout(), 0)
    infos.tell()  # no episode has ended
    runner.last_infos = {(0, 1): {"bonus": 1.0}, (1, 1): {"bonus": 2.0, "speed": 0.0}}
    infos.look(rollout(lap=1), 2)
    assert caplog.messages == []
    infos.tell()
    infos.look(rollout(), 2)
    infos.tell(at_end=True)
    assert caplog.messages == [
        "env_args.infos: 'bonsu' has not appeared in 2 episodes of training. Did you mean 'bonus'? "
        "Infos that did: bonus, lap, speed."
    ]


def test_those_that_appear_are_not_named(infos, runner, caplog):
    infos.look(rollout(lap=1), 1)
    infos.look(rollout(bonsu=1), 1)
    infos.tell(at_end=True)
    assert caplog.messages == []


def test_the_last_infos_of_tests_count(infos, runner, caplog):
    infos.look(rollout(), 1)
    runner.last_infos = {(0, 1): {"bonsu": 1, "lap": 2}}
    infos.tell()
    assert caplog.messages == []


def test_it_is_said_at_the_end_of_training_without_an_episode_and_with_a_runner_of_ones_own(infos, runner, caplog):
    del runner.last_infos
    infos.look(rollout(lap=1), 0)
    infos.tell(at_end=True)
    assert caplog.messages == [
        "env_args.infos: 'bonsu' has not appeared in 0 episodes of training. Infos that did: lap."
    ]


@pytest.mark.parametrize("played", ["vdn", "pqn_vdn rollout_steps=2 batch_size_run=2 minibatches=1"])
def test_a_run_says_it(played, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    config, *settings = played.split()
    settings += (
        "env_args.key=gym_tasks:Bonus-v0 t_max=30 test_interval=10 test_nepisode=1 seed=1 use_cuda=False".split()
    )
    words = [f"--config={config}", "--env-config=gymnasium", "--unobserved", "with", *settings]
    assert main([*words, "env_args.infos=['bonsu', 'bonus']"]) == 0
    shown = capsys.readouterr()
    (line,) = [line for line in (shown.out + shown.err).splitlines() if "env_args.infos" in line]
    assert "'bonsu' has not appeared in" in line and "Did you mean 'bonus'? Infos that did: bonus." in line

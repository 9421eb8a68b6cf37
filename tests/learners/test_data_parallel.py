"""Rows divided among GPUs. No GPU was there: in place of torch's function, one divides on the CPU."""

import copy
import logging

import numpy as np
import pytest
import torch as th
import torch.nn as nn

from components.scheme import scheme_of
from controllers import REGISTRY as controllers
from devices import CPUS, use_cpus
from envs.contract.fields import pymarl_spec
from helpers import SIZES, fill, make_args, random_batch
from learners import REGISTRY as learners
from learners import data_parallel as module
from learners.data_parallel import in_parallel, parallel_devices
from off_policy import SAC, make_learner, make_sample
from random_rollouts import random_rollout
from records.logger import Logger
from run import _complete, run

LOG = logging.getLogger()
DDPG = {"learner": "ddpg_learner", "deviation": "none"}


@pytest.fixture
def divided(monkeypatch):
    """Calls of `data_parallel`: the axis and the sizes of the parts."""
    calls = []

    def on_the_cpu(network, inputs, device_ids, dim):
        parts = list(zip(*(x.chunk(len(device_ids), dim) for x in inputs), strict=True))
        calls.append((dim, [part[0].size(dim) for part in parts]))
        return th.cat([network(*part) for part in parts], dim)

    monkeypatch.setattr(nn.parallel, "data_parallel", on_the_cpu)
    return calls


def test_devices_are_all_gpus_where_there_are_several(monkeypatch):
    for count, found in ((0, []), (1, []), (3, [0, 1, 2])):
        monkeypatch.setattr(th.cuda, "device_count", lambda count=count: count)
        assert parallel_devices(make_args(data_parallel=True, device="cuda")) == found
    assert parallel_devices(make_args(data_parallel=True, device="cuda:1")) == [1, 0, 2]
    assert parallel_devices(make_args(data_parallel=False, device="cuda")) == []
    assert parallel_devices(make_args(data_parallel=True, device="cpu")) == []


@pytest.mark.parametrize(
    ("shapes", "axis"),
    [(((6, 4), (6, 4)), 0), (((1, 6, 4), (1, 6, 4)), 1), (((1, 1, 4),), None), (((6, 4), (5, 4)), None)],
)
def test_rows_are_divided_where_there_are_enough(divided, shapes, axis):
    class Sum(nn.Module):
        def forward(self, *inputs):
            return inputs[0] + (inputs[-1] if inputs[-1].shape == inputs[0].shape else 0)

    inputs = tuple(th.randn(shape) for shape in shapes)
    assert th.equal(in_parallel(Sum(), inputs, [0, 1]), Sum()(*inputs))
    assert [call[0] for call in divided] == ([] if axis is None else [axis])


def test_what_is_no_network_of_tensors_is_not_divided(divided):
    assert in_parallel(lambda x: x, ("batch",), [0, 1]) == "batch"
    assert in_parallel(lambda x: x, (th.ones(4),), [0, 1]).sum() == 4
    assert in_parallel(nn.Identity(), (th.ones(4),), []).sum() == 4
    assert divided == []


def learner():
    args = make_args(learner="q_learner", mixer="qmix", data_parallel=True)
    scheme, groups, _ = scheme_of(pymarl_spec(SIZES))
    mac = controllers["basic_mac"](scheme, groups, args)
    made = learners["q_learner"](mac, scheme, Logger(logging.getLogger()), args)
    fill(made.params)
    made._update_targets()
    return made


def test_an_update_is_the_same_and_so_are_the_names_of_weights(divided, monkeypatch):
    calls = use_cpus(monkeypatch)
    alone, shared = learner(), learner()
    batch = random_batch([4, 3, 5, 2], 6)
    names = list(shared.mixer.state_dict())
    alone.train(copy.deepcopy(batch), 0, 0)
    assert divided == calls == []
    monkeypatch.setattr("learners.optimiser_steps.parallel_devices", lambda args: CPUS)
    shared.train(batch, 0, 0)
    assert divided and len(calls) == 2  # mixers; sequences of agents, by both networks
    assert list(shared.mixer.state_dict()) == names and not any("module" in name for name in names)
    figures = [{key: values[-1][1] for key, values in made.logger.stats.items()} for made in (alone, shared)]
    assert figures[0] == pytest.approx(figures[1]) and figures[0]["grad_norm"] > 0


@pytest.mark.parametrize("changes", [DDPG, SAC, {**SAC, "critics": 2, "critic": "q_central", "share_params": False}])
def test_off_policy_updates_are_the_same(changes, monkeypatch):
    """Policies and critics, on torch's own replicas (`devices`)."""
    calls = use_cpus(monkeypatch)
    (alone, _), (shared, _) = (make_learner(**changes, n_agents=2) for _ in range(2))
    batch, weights = make_sample(n_agents=2), []
    for made, devices in ((alone, []), (shared, CPUS)):
        monkeypatch.setattr("learners.optimiser_steps.parallel_devices", lambda args, devices=devices: devices)
        np.random.seed(3)
        made.train(batch, 0, 0)
        weights.append([*made.mac.parameters(), *made.critic.parameters()])
        assert bool(calls) == bool(devices)
    for one, other in zip(*weights, strict=True):
        th.testing.assert_close(one, other)


@pytest.mark.parametrize("changes", [{"agent": "rnn"}, {"agent": "ff", "critic_all_obs": True, "share_params": False}])
def test_ppo_evaluates_the_same(changes, monkeypatch):
    calls, found = use_cpus(monkeypatch), []
    batch, mac, *_ = random_rollout(**changes)
    for devices in ([], CPUS):
        monkeypatch.setattr("learners.optimiser_steps.parallel_devices", lambda args, devices=devices: devices)
        made = learners["ppo_learner"](mac, batch.scheme, Logger(logging.getLogger()), mac.args)
        fill(made.critic.parameters())
        now = made.evaluate_actions(batch)
        (now.log_prob.sum() + now.values.square().sum()).backward()
        gradients = [parameter.grad.clone() for parameter in (*mac.parameters(), *made.critic.parameters())]
        found.append([now.log_prob, now.values, *gradients])
        for parameter in mac.parameters():
            parameter.grad = None
    assert len(calls) == 2
    for one, other in zip(*found, strict=True):
        th.testing.assert_close(one, other)


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ({"learner": "x", "mixer": "qmix"}, ""),
        ({"learner": "ppo_learner"}, ""),
        ({"learner": "iqn_learner"}, "learner=iqn_learner is computed on one GPU"),
        ({"mac": "entity_mac"}, "mac=entity_mac is computed on one GPU"),
    ],
)
def test_runs_of_which_nothing_is_divided_say_so(changes, warned, monkeypatch, caplog):
    monkeypatch.setattr(th.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(th.cuda, "is_available", lambda: True)
    monkeypatch.setattr("run.seed_everything", lambda seed: 1 // 0)
    config = {"seed": 1, "use_cuda": True, "data_parallel": True, "mixer": None, "cuda_graphs": "off"}
    config |= {"learner": "x", "mac": "basic_mac"}
    with caplog.at_level("WARNING"), pytest.raises(ZeroDivisionError):
        _complete({**config, **changes}, LOG, None)
    assert warned in caplog.text and bool(warned) == bool(caplog.text)


def test_a_run_without_gpus_is_told_so(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    changes = {"t_max": 10, "batch_size": 2, "buffer_size": 4, "test_nepisode": 1, "use_cuda": False}
    with caplog.at_level("WARNING"):
        run({"data_parallel": True, **changes})
    assert "data_parallel has no effect: the run can use 0 GPUs" in caplog.text
    assert module.parallel_devices(make_args(data_parallel=True)) == []

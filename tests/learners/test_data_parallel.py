"""Rows divided among GPUs. No GPU was there: in place of torch's function, one divides on the CPU."""

import copy
import logging

import pytest
import torch as th
import torch.nn as nn

from components.scheme import scheme_of
from controllers import REGISTRY as controllers
from envs.fields import pymarl_spec
from helpers import SIZES, fill, make_args, random_batch
from learners import REGISTRY as learners
from learners import data_parallel as module
from learners.data_parallel import in_parallel, parallel_devices
from records.logger import Logger
from run import _complete, run

LOG = logging.getLogger()


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
    alone, shared = learner(), learner()
    batch = random_batch([4, 3, 5, 2], 6)
    names = list(shared.mixer.state_dict())
    alone.train(copy.deepcopy(batch), 0, 0)
    assert divided == []
    monkeypatch.setattr("learners.descent.parallel_devices", lambda args: [0, 1])
    shared.train(batch, 0, 0)
    assert divided
    assert list(shared.mixer.state_dict()) == names and not any("module" in name for name in names)
    figures = [{key: values[-1][1] for key, values in made.logger.stats.items()} for made in (alone, shared)]
    assert figures[0] == pytest.approx(figures[1]) and figures[0]["grad_norm"] > 0


def test_learners_without_a_mixer_say_that_nothing_is_divided(monkeypatch, caplog):
    monkeypatch.setattr(th.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(th.cuda, "is_available", lambda: True)
    for mixer, warned in (("qmix", False), (None, True)):
        caplog.clear()
        with caplog.at_level("WARNING"), pytest.raises(ZeroDivisionError):
            monkeypatch.setattr("run.seed_everything", lambda seed: 1 // 0)
            _complete({"seed": 1, "use_cuda": True, "data_parallel": True, "mixer": mixer, "learner": "x"}, LOG, None)
        assert ("learner=x has no mixer" in caplog.text) == warned


def test_a_run_without_gpus_is_told_so(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    changes = {"t_max": 10, "batch_size": 2, "buffer_size": 4, "test_nepisode": 1, "use_cuda": False}
    with caplog.at_level("WARNING"):
        run({"data_parallel": True, **changes})
    assert "data_parallel has no effect: the run can use 0 GPUs" in caplog.text
    assert module.parallel_devices(make_args(data_parallel=True)) == []

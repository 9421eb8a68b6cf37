"""What keys of devices mean, on machines with any number of cards."""

from types import SimpleNamespace

import pytest
import torch as th
import torch.nn as nn

from utils.tensors.devices import (
    acting_device,
    collector_device,
    learner_device,
    move_to,
    named,
    same_device,
    waiting_for,
    without_missing_devices,
)


@pytest.mark.parametrize(
    ("there", "config", "device"),
    [
        (True, {}, "cuda"),
        (False, {}, "cpu"),
        (True, {"use_cuda": False}, "cpu"),
        (True, {"use_cuda": False, "learner_device": "cuda:0"}, "cuda"),
        (True, {"learner_device": "cuda:1"}, "cuda:1"),
        (True, {"learner_device": "cpu"}, "cpu"),
        (False, {"learner_device": "mps"}, "mps"),
    ],
)
def test_the_device_of_a_learner(there, config, device, monkeypatch):
    monkeypatch.setattr(th.cuda, "is_available", lambda: there)
    assert learner_device({"use_cuda": True, "learner_device": "auto", **config}) == device


def test_a_model_plays_where_its_device_is_missing():
    there = {"learner_device": "cuda:99", "acting_device": "cpu"}
    assert without_missing_devices(there) == {"learner_device": "auto"}


def test_the_devices_of_those_who_act():
    auto, other = (SimpleNamespace(device="cuda:1", acting_device=name) for name in ("auto", "cuda:0"))
    assert [acting_device(auto), acting_device(other)] == ["cuda:1", "cuda"]
    assert [collector_device(auto), collector_device(other)] == ["cpu", "cuda"]


def test_the_first_card_has_one_name():
    assert [named(name) for name in ("cuda", "cuda:0", "cuda:1", "mps")] == ["cuda", "cuda", "cuda:1", "mps"]
    assert same_device("cuda", th.device("cuda", 0)) and not same_device("cuda", th.device("cuda", 1))


class _LikePymarl:
    """A part with networks, tensors and `cuda()`, as PyMARL's learners and controllers are."""

    def __init__(self):
        self.network, self.nets = nn.GRU(2, 3), [nn.Linear(2, 2)]
        self.values = th.ones(2)

    def cuda(self):
        self.network.cuda()
        for net in self.nets:
            net.to("cuda")
        self.values = th.zeros(3, device="cuda") + self.values.cuda().sum()


def test_a_part_that_knows_cuda_only_goes_to_any_device():
    """`meta` is a device that is everywhere, and to torch no other than `mps` or a second card."""
    part = _LikePymarl()
    move_to("meta", part)
    tensors = [*part.network.parameters(), *part.nets[0].parameters(), part.values]
    assert {tensor.device.type for tensor in tensors} == {"meta"}


def test_nothing_waits_for_the_cpu(monkeypatch):
    waits = []
    monkeypatch.setattr(th.cuda, "synchronize", waits.append)
    assert waiting_for({"cpu"}) is None
    waiting_for({"cpu", "cuda", "cuda:1"})()
    assert waits == ["cuda", "cuda:1"]

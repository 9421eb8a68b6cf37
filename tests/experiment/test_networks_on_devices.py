"""On which device networks are when a runner first sees them; without a GPU, by who was told to move there."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch.nn as nn

from checks import check_config
from cli.compose import compose_config
from experiment import assembly, loaded_run
from fakes import RecordingLogger
from runners import REGISTRY
from runners.rollout_runner import RolloutRunner
from small_training import SETTINGS
from utils.config.merging import recursive_dict_update

GPU, CPU = "cuda", "cpu"


class _SeenError(Exception):
    """The runner was set up with a network on this device."""


class _Watching(RolloutRunner):
    def setup(self, scheme, groups, preprocess, mac):
        # from here on it may ask for the memory that agents begin with, on the network's device
        raise _SeenError(GPU if getattr(mac.agent, "moved", False) else CPU)


def _assemble(args):
    assembly.assemble_players(args, RecordingLogger())


def _load(args):
    with loaded_run.loaded_run(args, RecordingLogger(), None, 0):
        pass


def _collect(args):
    assembly.collector_players(args, RecordingLogger())


@pytest.mark.parametrize(
    ("door", "learner", "acting_device", "expected"),
    [
        (_assemble, GPU, "auto", CPU),
        (_assemble, GPU, CPU, CPU),
        (_assemble, GPU, GPU, GPU),
        (_assemble, CPU, GPU, GPU),
        (_assemble, CPU, "auto", CPU),
        (_load, GPU, "auto", CPU),
        (_load, GPU, GPU, GPU),
        (_load, GPU, CPU, CPU),
        (_collect, GPU, GPU, GPU),
        (_collect, GPU, "auto", CPU),
    ],
)
@pytest.mark.parametrize("collection", ["sync", "async"])
def test_networks_are_where_they_compute_before_a_runner_asks_for_their_memory(
    monkeypatch, door, learner, acting_device, expected, collection
):
    monkeypatch.setattr(REGISTRY, "_entries", dict(REGISTRY._entries))
    REGISTRY._entries["rollout"] = replace(REGISTRY.entry("rollout"), target=_Watching)
    monkeypatch.setattr(nn.Module, "cuda", lambda module: setattr(module, "moved", True))
    monkeypatch.setattr(assembly, "device_memory", lambda device: None)
    monkeypatch.setattr(assembly, "import_plugins", lambda plugins: None)
    config = check_config(
        recursive_dict_update(compose_config("pqn_vdn", "two_step").config, {**SETTINGS, "minibatches": 1})
    )
    config["env_args"]["seed"] = 1
    changes = {"collection": collection, "acting_device": acting_device, "device": learner}
    args = SimpleNamespace(**{**config, **changes})
    with pytest.raises(_SeenError, match=expected):
        door(args)
    if door is _load:  # one controller, which is the one that gets the saved weights
        assert args.device == expected

"""Batches of several groups, as one team sees them."""

import numpy as np
import pytest
import torch as th

from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from components.team_views import TeamView
from convoy import Convoy
from envs.contract.declarations import spec_of
from envs.contract.fields import EnvSpec, FieldSpec
from envs.contract.groups import team_spec
from utils.errors import ConfigError

B, T = 2, 4


def spec_of_groups(**sizes):
    """Groups that see two numbers, have three actions and their own reward; all see one state."""
    fields = {"state": FieldSpec("observation", (5,), group=None)}
    for group in sizes:
        fields |= {
            f"{group}/obs": FieldSpec("observation", (2,), group=group),
            f"{group}/avail_actions": FieldSpec("mask", (3,), "uint8", group, of=f"{group}/actions"),
            f"{group}/actions": FieldSpec("action", (), "int64", group, n=3),
            f"{group}/reward": FieldSpec("outcome", (), "float64", None),
            f"{group}/terminated": FieldSpec("outcome", (), "bool", group),
        }
    return EnvSpec(fields, sizes, 10, declared=True)


def batch_of(spec, seed=0):
    """A batch of numbers that are all different."""
    scheme, groups, preprocess = scheme_of(spec, "float32")
    batch = EpisodeBatch(scheme, groups, B, T, preprocess=preprocess)
    generator = th.Generator().manual_seed(seed)
    for tensor in batch.data.transition_data.values():
        tensor.copy_(th.randint(0, 3, tensor.shape, generator=generator))
    return batch


def test_a_team_knows_its_fields_without_the_name_of_its_group():
    spec = team_spec(spec_of_groups(red=2, blue=3), ["blue"])
    assert list(spec.fields) == ["state", "obs", "avail_actions", "actions", "reward", "agents/terminated"]
    assert dict(spec.groups) == {"agents": 3}
    assert spec.fields["avail_actions"].of == "actions"
    assert spec.env_info == {"n_agents": 3, "episode_limit": 10, "n_actions": 3, "obs_shape": 2, "state_shape": 5}


def test_of_one_group_a_view_is_the_batch_itself():
    spec = spec_of_groups(red=2, blue=3)
    batch = batch_of(spec)
    view = TeamView(spec.groups, ["red"]).of(batch)
    assert view["obs"].data_ptr() == batch["red/obs"].data_ptr()
    assert view["agents/terminated"].data_ptr() == batch["red/terminated"].data_ptr()
    assert set(view.scheme) == {
        *("state", "obs", "avail_actions", "actions", "actions_onehot", "reward", "agents/terminated"),
        *("terminated", "truncated", "filled"),
    }
    assert view.scheme["obs"]["group"] == "agents"
    batch["red/obs"][1, 2, 1] = 7
    assert view["obs"][1, 2, 1].tolist() == [7, 7]
    assert view is TeamView(spec.groups, ["red"]).of(batch) or view["obs"].shape == (B, T, 2, 2)


def test_a_team_of_several_groups_sees_each_as_an_episode():
    spec = spec_of_groups(red=2, blue=3, green=2)
    team, batch = TeamView(spec.groups, ["green", "red"]), batch_of(spec)
    view = team.of(batch)
    assert view.batch_size == 2 * B
    for b in range(B):
        for g, group in enumerate(["green", "red"]):
            assert th.equal(view["obs"][2 * b + g], batch[f"{group}/obs"][b])
            assert th.equal(view["reward"][2 * b + g], batch[f"{group}/reward"][b])
            assert th.equal(view["state"][2 * b + g], batch["state"][b])
    assert team.entries([1]) == [2, 3]
    parts = team.by_group(view["obs"][:, 0])
    assert th.equal(parts["red"], batch["red/obs"][:, 0])
    assert th.equal(parts["green"], batch["green/obs"][:, 0])


@pytest.mark.parametrize("t", range(T))
def test_a_view_of_a_step_has_the_step_before(t):
    spec = spec_of_groups(red=2, blue=2)
    batch = batch_of(spec)
    for groups in (["red"], ["red", "blue"]):
        view, there = TeamView(spec.groups, groups).at(batch, t)
        whole = TeamView(spec.groups, groups).of(batch)
        assert th.equal(view["obs"][:, there], whole["obs"][:, t])
        assert (there > 0) == (t > 0)
        if t > 0:
            assert th.equal(view["actions_onehot"][:, there - 1], whole["actions_onehot"][:, t - 1])


@pytest.mark.parametrize(("sizes", "why"), [({"red": 2, "blue": 3}, "size (2 and 3 agents)")])
def test_groups_of_different_sizes_are_no_team(sizes, why):
    with pytest.raises(ConfigError) as refusal:
        team_spec(spec_of_groups(**sizes), list(sizes))
    assert f"red and blue differ in {why}" in str(refusal.value)


def test_groups_of_different_fields_are_no_team():
    spec = spec_of_groups(red=2, blue=2)
    fields = dict(spec.fields) | {"blue/obs": FieldSpec("observation", (4,), group="blue")}
    with pytest.raises(ConfigError, match="differ in the field obs"):
        team_spec(EnvSpec(fields, spec.groups, 10, declared=True), ["red", "blue"])


def test_the_drones_of_the_convoy():
    spec = team_spec(spec_of(Convoy(seed=1)), ["drones"])
    assert np.prod(spec.fields["obs/camera"].shape) == 16
    assert {path for path, field in spec.fields.items() if field.kind == "action"} == {"fly", "lamp"}
    assert "n_actions" not in spec.env_info
    assert spec.rewards() == ["reward"]
    assert spec.fields["reward"].group == "agents"

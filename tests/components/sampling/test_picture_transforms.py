"""Transforms for pictures, and acting that sees the same."""

from unittest import mock

import numpy as np
import pytest
import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.compose import Compose, TransformContext
from components.sampling.listed import listed_transforms
from controllers.inputs import AgentInputs
from helpers import make_args


def pictures(shape=(1, 5, 6)):
    scheme = {
        "camera": {"vshape": shape, "group": "agents", "dtype": th.uint8, "kind": "observation"},
        "obs": {"vshape": (3,), "group": "agents", "kind": "observation"},
        "actions": {"vshape": (1,), "group": "agents", "dtype": th.long, "kind": "action"},
    }
    batch = EpisodeBatch(scheme, {"agents": 2}, 3, 2)
    batch["camera"].random_(256, generator=th.Generator().manual_seed(0))
    return batch


def chain(*transforms):
    return Compose(
        listed_transforms("sample_transforms", transforms, "columns", ("columns",)),
        TransformContext("sample_transforms", make_args()),
    )


@pytest.mark.parametrize("shape", [(1, 5, 6), (6, 5, 1)])
@pytest.mark.parametrize("offset", [(0, 0), (2, -1), (-2, 2)])
def test_a_crop_moves_all_pictures_alike_and_repeats_edges(shape, offset):
    batch = pictures(shape)
    with mock.patch("numpy.random.randint", return_value=np.array(offset)) as drawn:
        found = chain({"random_crop": {"pixels": 2}})(batch)
    assert drawn.call_args.args == (-2, 3)
    down, right = offset
    image = lambda x: x if shape[0] == 1 else x.permute(0, 1, 2, 5, 3, 4)  # noqa: E731
    old, new = image(batch["camera"]), image(found["camera"])
    height, width = old.shape[-2:]
    for y, x in np.ndindex(height, width):
        source = old[..., np.clip(y - down, 0, height - 1), np.clip(x - right, 0, width - 1)]
        assert th.equal(new[..., y, x], source)
    assert found["obs"] is batch["obs"]


def test_pictures_are_centred_alike_where_agents_learn_and_act():
    batch = pictures()
    learned = chain("normalise_image")(batch)
    assert th.equal(learned["camera"], (batch["camera"].float() - 128) / 128)
    args = {"obs_last_action": False, "obs_agent_id": False}
    acting = AgentInputs(
        batch.scheme, make_args(**args, sample_transforms=[{"next_states": {}}, {"normalise_image": {}}])
    )
    assert th.equal(acting.parts_at(batch, 0).observations["camera"], learned["camera"][:, 0].flatten(0, 1))
    learning = acting.parts_at(learned, 0)
    assert th.equal(learning.observations["camera"], learned["camera"][:, 0].flatten(0, 1))
    usual = AgentInputs(batch.scheme, make_args(**args)).parts_at(batch, 0).observations["camera"]
    assert th.equal(usual, batch["camera"][:, 0].flatten(0, 1).float() / 255)

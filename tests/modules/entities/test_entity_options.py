"""What is refused among the options of networks over entities."""

import pytest

from modules.entities.options import checked_options
from modules.entities.rogue_net import RogueNet
from utils.errors import ConfigError

SPACE = {"Ship": ["x", "y", "angle"], "Rock": ["x", "y", "size"]}
GRID = {"position_features": ["x", "y"], "extent": [2, 2]}
MOVED = {"reference_entity": "Ship", "position_features": ["x", "y"]}


def _relative(**more):
    return {"relpos_encoding": {**GRID, **more}}


def _moved(**more):
    return {"translation": {**MOVED, **more}}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"n_layers": 3}, r"n_layers: no such option. Did you mean 'n_layer'"),
        ({"n_head": 3}, r"n_head=3: it must divide d_model=32"),
        ({"d_model": 0}, r"d_model=0: it must be at least 1"),
        ({"attn_pdrop": 1.5}, r"attn_pdrop=1.5: it must be between 0 and 1"),
        ({"pooling": "min"}, r"pooling=min: no such choice. Did you mean 'mean'"),
        ({"pooling": "mean", **_relative()}, r"pooling=mean: it replaces attention"),
        ({"relpos_encoding": [2]}, r"relpos_encoding=.*a mapping"),
        (_relative(value_gate="tanh"), r"relpos_encoding.value_gate=tanh: no such choice"),
        (_relative(extents=[1]), r"relpos_encoding.extents: no such option. Did you mean 'extent'"),
        (
            _relative(extent=[2]),
            r"relpos_encoding.extent=\[2\]: it must be one number for each of position_features",
        ),
        (_relative(extent=[2, 0.5]), r"extent=\[2, 0.5\]: .* whole numbers from 0"),
        (_relative(extent=[10**6, 10**6]), r"buckets are more than 1048576"),
        (_relative(radial=True, extent=[4]), r"radial: it needs rotation_angle_feature or rotation_vec_features"),
        (_relative(distance=True, extent=[0]), r"extent=\[0\]: .* whole numbers from 1"),
        (_relative(radial=True, distance=True, extent=[2]), r"one number for each of radial and distance"),
        (
            _relative(radial=True, extent=[4], position_features=["x"], rotation_angle_feature="angle"),
            r"radial: angles need 2 position_features, not 1",
        ),
        (_relative(rotation_angle_feature="angle"), r"need radial=True"),
        (_relative(interpolate=True), r"a grid has no interpolation"),
        (_relative(per_entity_projections=True), r"it needs key_relpos_projection or value_relpos_projection"),
        (_relative(scale=0), r"scale=0: it must be above 0"),
        (_relative(position_features=["x", "x"]), r"it must be different names"),
        ({"relpos_encoding": {"extent": []}}, r"relpos_encoding.position_features is missing"),
        (_relative(position_features=["x", "z"]), r"no entity type has all position_features \['x', 'z'\]; see z"),
        (_relative(exclude_entities=["Rocks"]), r"exclude_entities=Rocks: no such entity type. Did you mean 'Rock'"),
        (
            _relative(
                radial=True,
                extent=[4],
                rotation_angle_feature="angle",
                rotation_vec_features=["x", "y"],
            ),
            r"only one of rotation_vec_features and rotation_angle_feature",
        ),
        (_moved(reference_entity="Shop"), r"reference_entity=Shop: no such entity type. Did you mean 'Ship'"),
        (_moved(reference_entity=""), r"reference_entity is missing"),
        (_moved(position_features=["x", "z"]), r"position_features=z: 'Ship' has no such feature"),
        (_moved(rotation_vec_features=["x"]), r"rotation_vec_features=\['x'\]: it must be two features"),
        (_moved(rotation_angle_feature="angel"), r"angel: 'Ship' has no such feature. Did you mean 'angle'"),
        (_moved(position_features=["x"], rotation_angle_feature="angle"), r"positions of 2 coordinates can be rotated"),
    ],
)
def test_refusals(config, message):
    with pytest.raises(ConfigError, match=message):
        RogueNet(SPACE, [], {}, config)


def test_defaults_are_those_of_rogue_net():
    options = vars(checked_options({}))
    assert options == {
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "n_layer": 2,
        "n_head": 2,
        "d_model": 32,
        "pooling": None,
        "relpos_encoding": None,
        "d_qk": 16,
        "translation": None,
    }
    assert checked_options(_relative()).relpos_encoding.value_gate == "relu"

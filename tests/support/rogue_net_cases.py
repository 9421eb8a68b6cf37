"""Cases on which RogueNet and its original are compared: networks, weights and frames as plain data (NumPy only).

`rogue_net_child.py` runs the original on them, `tests/modules/entities/test_rogue_net_equals.py` ours.
"""

import zlib
from dataclasses import dataclass, field

import numpy as np

MINES = {"Mine": ["x", "y"], "Robot": ["x", "y"], "Orbital Cannon": ["cooldown"]}
TURNED = {"Ship": ["x", "y", "angle", "dx", "dy"], "Rock": ["size", "x", "y"]}
# An entity that looks along x sees itself in the direction 0, which rogue-net mixes wrongly: here none does
ALL_TURNED = {"Ship": ["x", "y", "angle"], "Rock": ["angle", "x", "y"]}
MOVE = {"Move": ("categorical", 5)}
FIRE = {"Move": ("categorical", 5), "Fire": ("select", None)}
SMALL = {"d_model": 8, "n_layer": 2, "d_qk": 4}


@dataclass(frozen=True)
class Case:
    """A network and frames.

    Attributes:
        counts: fewest and most entities of each type.
        cells: features are whole numbers from 0 to 4.
        visible: whether some entities are hidden.
    """

    name: str
    space: dict
    actions: dict
    counts: dict
    net: dict = field(default_factory=dict)
    global_features: tuple = ()
    cells: bool = False
    visible: bool = False
    frames: int = 6


def _relative(name, counts=(2, 2), space=TURNED, positions=("x", "y"), cells=False, **options):
    relative = {"position_features": list(positions), **options}
    return Case(
        f"relative {name}",
        space,
        FIRE,
        dict.fromkeys(space, counts),
        SMALL | {"relpos_encoding": relative},
        cells=cells,
    )


def _translated(name, **options):
    translation = {"reference_entity": "Ship", "position_features": ["x", "y"], **options}
    counts = {"Ship": (1, 1), "Rock": (0, 3)}
    return Case(f"translation {name}", TURNED, FIRE, counts, SMALL | {"translation": translation})


UNEQUAL = {"Mine": (1, 5), "Robot": (1, 2), "Orbital Cannon": (0, 1)}
CASES = [
    Case("packed", MINES, FIRE, UNEQUAL, SMALL, cells=True, frames=12),
    Case("equal lengths", MINES, FIRE, dict.fromkeys(MINES, (2, 2)), SMALL),
    Case("one head", MINES, MOVE, UNEQUAL, SMALL | {"n_head": 1, "n_layer": 1}),
    Case("featureless", {"Wall": [], "Robot": ["x"]}, FIRE, {"Wall": (0, 2), "Robot": (1, 2)}, SMALL),
    Case("global features", MINES, FIRE, UNEQUAL, SMALL, global_features=("time", "score")),
    Case("global action", MINES, FIRE | {"Pass": ("global", 3)}, UNEQUAL, SMALL, global_features=("time",)),
    Case("hidden", MINES, FIRE, UNEQUAL, SMALL, visible=True, frames=12),
    _translated("plain"),
    _translated("distance", add_dist_feature=True),
    _translated("angle", rotation_angle_feature="angle"),
    _translated("direction", rotation_vec_features=["dx", "dy"], add_dist_feature=True),
    _relative("grid", extent=[2, 1], cells=True),
    _relative("grid packed", (1, 3), extent=[2, 2], cells=True, per_entity_values=True, value_gate="gelu"),
    _relative("scaled", extent=[3, 3], cells=True, scale=0.5, value_gate=None),
    _relative("angles", extent=[6], radial=True, rotation_angle_feature="angle", value_gate="sigmoid"),
    _relative("turned", (1, 3), extent=[5], radial=True, rotation_vec_features=["dx", "dy"], value_gate="linear"),
    _relative(
        "angles mixed", (2, 2), ALL_TURNED, extent=[6], radial=True, rotation_angle_feature="angle", interpolate=True
    ),
    _relative("distances", (1, 3), extent=[4], distance=True, scale=0.5, per_entity_values=True),
    _relative("distances mixed", extent=[3], distance=True, interpolate=True, scale=0.7),
    _relative(
        "distances mixed by old rule",
        extent=[2],
        distance=True,
        interpolate=True,
        scale=0.4,
        enable_negative_distance_weight_bug=True,
    ),
    _relative("polar", extent=[4, 3], radial=True, distance=True, rotation_angle_feature="angle"),
    _relative(
        "polar mixed",
        (1, 3),
        ALL_TURNED,
        extent=[4, 3],
        radial=True,
        distance=True,
        rotation_angle_feature="angle",
        interpolate=True,
    ),
    _relative("projections", extent=[2, 2], cells=True, key_relpos_projection=True, value_relpos_projection=True),
    _relative(
        "projections by type",
        (3, 3),
        {"Ship": ["x", "y"]},
        extent=[2, 2],
        cells=True,
        key_relpos_projection=True,
        value_relpos_projection=True,
        per_entity_projections=True,
    ),
]


def weights(shapes, seed=0):
    """Of each parameter or buffer by name, an array of its shape; statistics are those of some frames seen before."""
    values = {}
    for name, shape in shapes.items():
        rng = np.random.RandomState(zlib.crc32(f"{seed} {name}".encode()))
        if name.endswith("count"):
            values[name] = np.float32(7)
        elif name.endswith("squares_sum"):
            values[name] = rng.uniform(3, 30, shape).astype(np.float32)
        else:
            values[name] = rng.normal(0, 0.4, shape).astype(np.float32)
    return values


def frames(case, seed=0):
    """Frames as lists of arrays by type, actors, actees and masks of each action as lists of lists."""
    rng = np.random.RandomState(zlib.crc32(f"{seed} {case.name}".encode()))
    result = []
    for _ in range(case.frames):
        number = {name: rng.randint(few, most + 1) for name, (few, most) in case.counts.items()}
        features = {}
        for name, feature_names in case.space.items():
            shape = number[name], len(feature_names)
            drawn = rng.randint(0, 5, shape) if case.cells else rng.normal(0, 1, shape)
            features[name] = drawn.astype(np.float32)
        entities = sum(number.values())
        chosen = list(rng.permutation(entities)[: rng.randint(1, entities + 1) if entities else 0])
        frame = {
            "features": features,
            "visible": {name: rng.rand(number[name]) < 0.7 for name in case.space} if case.visible else {},
            "global": rng.normal(0, 1, len(case.global_features)).astype(np.float32),
            "actions": {},
        }
        for name, (kind, choices) in case.actions.items():
            actors = [entities] if kind == "global" else sorted(chosen)
            action = {"actors": [int(actor) for actor in actors]}
            if kind == "select":
                action["actors"] = action["actors"][:1] if rng.rand() < 0.7 else []
                action["actees"] = [int(i) for i in rng.permutation(entities)[:3]] if action["actors"] else []
            else:
                mask = rng.rand(len(actors), choices) < 0.8
                mask[:, rng.randint(choices)] = True
                action["mask"] = mask
            frame["actions"][name] = action
        result.append(frame)
    return result


def names_digest(shapes):
    """A number that stands for names of parameters and their shapes."""
    return zlib.crc32(repr(sorted((name, list(shape)) for name, shape in shapes.items())).encode())


def norm_rows(seed):
    """Batches of inputs for a normalisation of three features, of which the second never varies."""
    rng = np.random.RandomState(seed)
    return [(rng.normal(2, 3, (rows, 3)) * [1, 0, 100] + [0, 4, 0]).astype(np.float32) for rows in (1, 5, 0, 8)]

"""Keys and values of pairs of entities, against one pair at a time."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from modules.entities.layout import Entities, Layout
from modules.entities.options import checked_options
from modules.entities.relative_positions import Buckets, RelativePositions

SPACE = {"Ship": ["x", "y"], "Rock": ["y", "x"], "Wall": ["y"]}


def _options(**relative):
    return checked_options({"relpos_encoding": relative}).relpos_encoding


def _buckets(relative, orientation=None, **options):
    """The weight of each embedding `[count]` for one relative position."""
    buckets = Buckets(_options(position_features=["x", "y", "z"][: len(relative)], **options))
    orientation = None if orientation is None else th.tensor([orientation])
    mixed = buckets(th.tensor(relative).view(1, 1, -1), orientation)
    weights = np.zeros(buckets.count)
    for index, weight in mixed:
        weights[index.item()] += 1 if weight is None else weight.item()
    return {i: pytest.approx(weight, abs=1e-6) for i, weight in enumerate(weights) if abs(weight) > 1e-6}


@pytest.mark.parametrize(
    ("relative", "index"),
    [
        ((0.0, 0.0), 2 + 5 * 1),
        ((1.0, -1.0), 3 + 5 * 0),
        ((9.0, 9.0), 4 + 5 * 2),  # both beyond the border
        ((0.4, 0.4), 2 + 5 * 1),  # each coordinate is rounded: rogue-net rounds the sum, here 9.4
        ((-0.6, 0.6), 1 + 5 * 2),
    ],
)
def test_cells_of_a_grid(relative, index):
    assert _buckets(relative, extent=[2, 1]) == {index: 1}


def test_cells_of_a_line_and_of_a_cube():
    assert _buckets((3.0,), extent=[2], scale=2.0) == {2 + 2: 1}  # 1.5 is rounded to 2
    assert _buckets((1.0, 0.0, -1.0), extent=[1, 1, 1]) == {2 + 3 * 1 + 9 * 0: 1}


@pytest.mark.parametrize(
    ("relative", "orientation", "weights"),
    [
        ((1.0, 0.0), 0.0, {0: 1}),  # exactly in the first: rogue-net takes the second
        ((0.0, 1.0), 0.0, {1: 1}),
        ((1.0, 1.0), 0.0, {0: 0.5, 1: 0.5}),
        ((-1.0, 0.0), 0.0, {2: 1}),
        ((0.0, 1.0), math.pi / 2, {0: 1}),
        ((1.0, 0.0), math.pi / 8, {3: 0.25, 0: 0.75}),
    ],
)
def test_mixed_angles(relative, orientation, weights):
    options = {"extent": [4], "radial": True, "rotation_angle_feature": "a"}
    assert _buckets(relative, orientation, interpolate=True, **options) == weights


@pytest.mark.parametrize("orientation", [0.0, 1e-9, 7.0, 100.0, -50.0])
def test_angles_have_buckets_whatever_the_orientation(orientation):
    """Floating point included: the remainder of a small negative number is rounded up."""
    options = {"extent": [6], "radial": True, "rotation_angle_feature": "a"}
    buckets = Buckets(_options(position_features=["x", "y"], **options))
    angles = np.linspace(-7, 7, 5001) + orientation
    relative = th.tensor(np.stack([np.cos(angles), np.sin(angles)], 1), dtype=th.float32).view(1, -1, 2)
    ((index, _),) = buckets(relative, th.tensor([orientation]))
    assert index.min() >= 0 and index.max() <= 5
    near = np.abs((angles - orientation) / (2 * np.pi) * 6 % 1 - 0.5) < 0.49  # not at a border
    expected = ((angles - orientation) / (2 * np.pi) * 6 % 6).astype(int)
    assert (index.view(-1).numpy()[near] == expected[near]).all()


def test_distances():
    options = {"extent": [3], "distance": True, "scale": 2.0}
    assert _buckets((3.0, 4.0), **options) == {2: 1}
    assert _buckets((0.0, 1.0), **options) == {0: 1}
    assert _buckets((0.0, 3.0), interpolate=True, **options) == {1: 0.5, 2: 0.5}
    assert _buckets((0.0, 30.0), interpolate=True, **options) == {2: 1}


def test_angles_and_distances_need_no_rotation():
    """Without one, entities look along x."""
    options = {"extent": [4, 3], "radial": True, "distance": True}
    assert _buckets((0.0, 1.5), **options) == {1 + 4 * 1: 1}
    mixed = {1: 0.25, 2: 0.25, 5: 0.25, 6: 0.25}
    assert _buckets((-0.5 / 2**0.5, 0.5 / 2**0.5), interpolate=True, **options) == mixed


@pytest.mark.parametrize("by_type", [False, True])
def test_pairs_one_by_one(by_type):
    """Values and projections by type are those of the attended entity; without positions there are none."""
    th.manual_seed(0)
    config = _options(
        position_features=["x", "y"],
        extent=[2, 2],
        per_entity_values=by_type,
        per_entity_projections=by_type,
        key_relpos_projection=True,
        value_relpos_projection=True,
    )
    net = RelativePositions(config, SPACE, d_model=8, head_width=4)
    counts = np.array([[2, 0, 1], [1, 1, 3], [1, 0, 2]])
    features = {name: th.randn(int(n.sum()), len(SPACE[name])) for name, n in zip(SPACE, counts, strict=True)}
    entities = Entities.of(counts)
    layout = Layout(entities, pairwise=True)
    pairs = net(features, layout)
    width = layout.shape[1]
    places = layout.placed(th.arange(len(entities.frame))).view(-1)
    for i in range(len(entities.frame)):
        for j in range(len(entities.frame)):
            if entities.frame[i] != entities.frame[j]:
                continue
            query, key = (int((places == entity).nonzero()[0]) for entity in (i, j))
            assert query // width == key // width
            at = query // width, query % width, key % width
            keys, values = _expected(net, features, counts, i, j)
            assert pairs.keys[at].tolist() == pytest.approx(keys.tolist(), abs=1e-6)
            assert pairs.values[at].tolist() == pytest.approx(values.tolist(), abs=1e-6)


def _expected(net, features, counts, i, j):
    def of(entity):
        kind = int(np.searchsorted(np.cumsum(counts.sum(1)), entity, "right"))
        name = list(SPACE)[kind]
        row = features[name][entity - int(counts.sum(1)[:kind].sum())]
        columns = [SPACE[name].index(feature) for feature in ("x", "y") if feature in SPACE[name]]
        return SimpleNamespace(kind=kind, name=name, place=row[columns])

    query, key = of(i), of(j)
    if "Wall" in (query.name, key.name):
        return th.zeros(4), th.zeros(4)
    relative = query.place - key.place
    cell = sum(int(min(max(round(c), -2), 2) + 2) * 5**n for n, c in enumerate(relative.tolist()))
    by_type = net.config.per_entity_values
    measured = th.cat([relative, relative.norm().view(1)]).clamp(-5, 5)
    value_projection, key_projection = (p.of(key.name) if by_type else p for p in (net.vproj, net.kproj))
    keys = net.keys.weight[cell] + key_projection(measured)
    return keys, net.values.weight[cell + 25 * key.kind * by_type] + value_projection(measured)

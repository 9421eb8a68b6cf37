"""RogueNet on frames that rogue-net fails on, and what it may and may not depend on."""

import numpy as np
import pytest
import torch as th

from entity_frames import net_inputs
from modules.entities.embedding import EntityEmbedding
from modules.entities.rogue_net import RogueNet
from rogue_net_cases import FIRE, MINES, MOVE, SMALL, UNEQUAL, Case, frames, weights
from utils.errors import ConfigError, MusterError

FEW = {"Mine": (0, 4), "Robot": (0, 2), "Orbital Cannon": (0, 1)}
GRID = {"position_features": ["x", "y"], "extent": [2, 2]}
ANGLES = {"position_features": ["x", "y"], "extent": [4, 3], "radial": True, "distance": True, "interpolate": True}
PROJECTED = {**GRID, "key_relpos_projection": True, "value_relpos_projection": True, "per_entity_projections": True}
TURNED = {"Ship": ["x", "y", "angle"], "Rock": ["size", "x", "y"]}


def _filled(net, seed=0):
    shapes = {name: value.shape for name, value in net.state_dict().items()}
    net.load_state_dict({name: th.as_tensor(value) for name, value in weights(shapes, seed).items()})
    return net


def _network(case):
    return _filled(RogueNet(case.space, case.global_features, case.actions, case.net, {"value": 1}))


def _case(net=None, counts=FEW, frames=7, **more):
    space = more.pop("space", MINES)
    return Case("random", space, more.pop("actions", FIRE), counts, SMALL | (net or {}), frames=frames, **more)


@pytest.mark.parametrize(
    "case",
    [
        _case(frames=20),
        _case({"relpos_encoding": GRID}, counts=dict.fromkeys(MINES, (4, 4)), cells=True),
        _case(counts=dict.fromkeys(MINES, (8, 9)), visible=True),
        _case(visible=True, frames=20),
        _case(actions=FIRE | {"Pass": ("global", 2)}, global_features=("time",)),
        _case({"pooling": "mean"}, visible=True),
        _case({"pooling": "max"}, actions=FIRE | {"Pass": ("global", 2)}),
        _case({"pooling": "meanmax"}),
        _case({"relpos_encoding": GRID}, cells=True, actions=FIRE | {"Pass": ("global", 2)}),
        _case({"relpos_encoding": {**GRID, "exclude_entities": ["Robot"], "per_entity_values": True}}, cells=True),
        _case({"relpos_encoding": PROJECTED}, frames=20),
        _case({"relpos_encoding": ANGLES}),
        _case(
            {"relpos_encoding": {**ANGLES, "rotation_angle_feature": "angle"}},
            dict.fromkeys(TURNED, (0, 2)),
            space=TURNED,
        ),
        _case(
            {"translation": {"reference_entity": "Ship", "position_features": ["x", "y"], "add_dist_feature": True}},
            {"Ship": (0, 1), "Rock": (0, 3)},
            space=TURNED,
        ),
    ],
    ids=lambda case: f"{case.net.get('pooling')} {case.net.get('relpos_encoding')}"[:60],
)
def test_a_frame_has_the_same_logits_alone_and_among_others(case):
    """So no frame sees another one, and frames without entities harm none."""
    net, drawn = _network(case), frames(case)
    for frame in drawn[:1] + drawn[-1:]:  # these have no entity at all
        frame["features"] = {name: features[:0] for name, features in frame["features"].items()}
        frame["visible"] = {name: seen[:0] for name, seen in frame["visible"].items()}
        for name, (kind, _) in case.actions.items():
            frame["actions"][name] = {"actors": [0] if kind == "global" else [], "actees": []}
    logits, outputs = net(**net_inputs(case, drawn))
    for row, frame in [*enumerate(drawn)][:3]:
        alone, value = net(**net_inputs(case, [frame]))
        assert outputs["value"][row].item() == pytest.approx(value["value"].item(), abs=1e-5)
        for name, of_frame in alone.items():
            _, slots, choices = of_frame.shape
            assert logits[name][row, :slots, :choices].tolist() == [
                pytest.approx(actor, abs=1e-5) for actor in of_frame[0].tolist()
            ]
            assert not logits[name][row, slots:].any()
    (outputs["value"].sum() + sum(values.sum() for values in logits.values())).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("pooling", [None, "mean", "max"])
def test_hidden_entities_change_values_only(pooling):
    case = _case({"pooling": pooling}, counts=dict.fromkeys(MINES, (1, 3)), actions=MOVE, visible=True)
    drawn = frames(case)
    for frame in drawn:
        frame["visible"] = {name: np.full(len(x), name != "Mine") for name, x in frame["features"].items()}
        mines = len(frame["features"]["Mine"])
        frame["actions"]["Move"] = {"actors": [mines], "mask": np.ones((1, 5), bool)}
    net = _network(case)
    logits, outputs = net(**net_inputs(case, drawn))
    for frame in drawn:
        frame["features"]["Mine"] = frame["features"]["Mine"] * 2 + 1
    later, valued = net(**net_inputs(case, drawn))
    assert th.allclose(logits["Move"], later["Move"], atol=1e-6)
    assert (outputs["value"] - valued["value"]).abs().min() > 1e-5


def test_nobody_to_select():
    case = _case(frames=3)
    drawn = frames(case)
    for frame in drawn:
        frame["actions"]["Fire"] = {"actors": [0] if len(frame["features"]["Mine"]) else [], "actees": []}
    logits, _ = _network(case)(**net_inputs(case, drawn))
    assert logits["Fire"].shape == (3, 1, 0)


def test_a_frame_of_global_features_only():
    case = Case("global", {}, {}, {}, SMALL, global_features=("time", "score"))
    net, drawn = _network(case), frames(case)
    _, outputs = net(**net_inputs(case, drawn))
    assert outputs["value"].std() > 1e-3


def test_names_that_torch_refuses():
    space, actions = (
        {"big.ship": ["x"], "keys": [], "%": ["y"]},
        {"go.now": ("categorical", 2), "type": ("select", None)},
    )
    case = Case("names", space, actions, dict.fromkeys(space, (1, 1)), SMALL)
    net = _network(case)
    net(**net_inputs(case, frames(case)))
    assert "embedding.embeddings.%.1.weight" in net.state_dict()
    with pytest.raises(ConfigError, match="rename one"):
        RogueNet({"a.b": [], "a%2Eb": []}, [], {}, {})


def test_an_actor_that_does_not_exist():
    case = _case(counts=dict.fromkeys(MINES, (1, 2)), actions=MOVE)
    inputs = net_inputs(case, frames(case))
    inputs["actors"]["Move"][2, 0] = 7
    with pytest.raises(IndexError, match=r"Frame 2 has \d entities, and none of number 7"):
        _network(case)(**inputs)


def test_statistics_move_when_asked_only():
    case = _case({"relpos_encoding": PROJECTED})
    net, inputs = _network(case), net_inputs(case, frames(case))
    before = {name: buffer.clone() for name, buffer in net.named_buffers()}
    for training in (True, False):
        net.train(training)(**inputs)
    assert all(th.equal(buffer, before[name]) for name, buffer in net.named_buffers())
    net.take_in(inputs["values"], inputs["counts"])
    taken = {name: buffer.clone() for name, buffer in net.named_buffers()}
    assert not th.equal(taken["embedding.embeddings.Mine.0.mean"], before["embedding.embeddings.Mine.0.mean"])
    net.load_state_dict(before, strict=False)
    net(**inputs, take_in=True)
    assert all(th.equal(buffer, taken[name]) for name, buffer in net.named_buffers())


def test_statistics_of_relative_positions_are_those_of_pairs_within_frames():
    case = _case({"relpos_encoding": {**PROJECTED, "exclude_entities": ["Robot"]}}, frames=20)
    drawn = frames(case)
    net = RogueNet(case.space, [], case.actions, case.net)
    inputs = net_inputs(case, drawn)
    net.take_in(inputs["values"], inputs["counts"])
    pairs = [a - b for frame in drawn for a in frame["features"]["Mine"] for b in frame["features"]["Mine"]]
    norm = net.backbone.relpos_encoding.relpos_norm
    rows = np.concatenate([pairs, np.linalg.norm(pairs, axis=1, keepdims=True)], 1)
    assert norm.count == len(pairs)
    assert norm.mean.tolist() == pytest.approx(rows.mean(0), abs=1e-5)
    assert norm.running_mean_var()[1].tolist() == pytest.approx(rows.var(0, ddof=1), rel=1e-5)


def test_a_checkpoint_of_rogue_net_loads():
    """It lists the relative positions once more in each layer, what they derive from options, and an unread table."""
    case = _case({"relpos_encoding": {**GRID, "per_entity_values": True}})
    net = _network(case)
    theirs = dict(net.state_dict())
    relative = {name: value for name, value in theirs.items() if ".relpos_encoding." in name}
    relative |= {"backbone.relpos_encoding.distance_values.weight": th.zeros(3, 4)}
    relative |= {f"backbone.relpos_encoding.{name}": th.zeros(1, 2) for name in ("strides", "extent_tensor")}
    theirs |= relative
    for layer in range(2):
        theirs |= {name.replace("relpos", f"blocks.{layer}.attn.relpos"): value for name, value in relative.items()}
    fresh = RogueNet(case.space, case.global_features, case.actions, case.net, {"value": 1})
    fresh.load_state_dict(theirs)
    assert all(th.equal(value, net.state_dict()[name]) for name, value in fresh.state_dict().items())
    with pytest.raises(RuntimeError, match=r"blocks\.0\.attn\.other"):
        fresh.load_state_dict(theirs | {"backbone.blocks.0.attn.other": th.zeros(1)})


def test_observation_filter():
    case = _case({"translation": None}, counts=UNEQUAL, global_features=("time", "score"))
    net, inputs = _network(case), net_inputs(case, frames(case))
    expected, _ = net(**inputs)
    inputs["values"]["Mine"] = inputs["values"]["Mine"][..., [1, 0, 0]]
    inputs["global_features"] = inputs["global_features"][:, [1, 1, 0]]
    grown = MINES | {"Mine": ["y", "heat", "x"], "Tree": ["x"]}
    inputs["values"]["Mine"][..., 1] = 9
    net.set_obs_filter(grown, ["score", "weather", "time"])
    assert th.equal(net(**inputs)[0]["Move"], expected["Move"])
    with pytest.raises(ConfigError, match=r"heat.*no such feature.*Allowed: x, y"):
        RogueNet({"Mine": ["heat"]}, [], {}, {}).set_obs_filter(MINES)
    with pytest.raises(ConfigError, match=r"Mines.*Did you mean 'Mine'"):
        RogueNet({"Mines": ["x"]}, [], {}, {}).set_obs_filter(MINES)


def test_a_frame_with_two_reference_entities():
    case = _case({"translation": {"reference_entity": "Robot", "position_features": ["x", "y"]}}, counts=UNEQUAL)
    with pytest.raises(MusterError, match=r"reference_entity=Robot: .* more than one"):
        _network(case)(**net_inputs(case, frames(case)))


@pytest.mark.parametrize("option", ["embd_pdrop", "resid_pdrop", "attn_pdrop"])
@pytest.mark.parametrize("relative", [None, GRID])
def test_dropout_is_of_training_only(option, relative):
    case = _case({option: 0.5, "relpos_encoding": relative}, counts=UNEQUAL, cells=True)
    net, inputs = _network(case), net_inputs(case, frames(case))
    once, again = (net(**inputs)[0]["Move"] for _ in range(2))
    assert not th.allclose(once, again)
    net.eval()
    once, again = (net(**inputs)[0]["Move"] for _ in range(2))
    assert th.equal(once, again)


def test_size_and_first_logits():
    """The parameters of rogue-net's default network on MineSweeper; it starts near uniform and values are 0."""
    net = RogueNet(MINES, [], FIRE, {}, {"value": 1})
    assert sum(parameter.numel() for parameter in net.parameters()) == 27110
    case = _case(counts=UNEQUAL)
    logits, outputs = net(**net_inputs(case, frames(case)))
    assert logits["Move"].abs().max() < 0.2 and not outputs["value"].any()


@th.no_grad()
def test_a_frame_without_entities_is_on_the_networks_device():
    embedding = EntityEmbedding({"Mine": ["x", "y"], "Robot": []}, 4).to("meta")
    none = embedding({"Mine": th.empty(0, 2, device="meta"), "Robot": th.empty(0, 0, device="meta")})
    assert (none.shape, none.device.type) == ((0, 4), "meta")
